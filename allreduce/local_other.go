//go:build !linux

package allreduce

import (
	"context"
	"net"
)

// Abstract sockets are Linux's.

func listenLocally(string) net.Listener { return nil }

func dialLocally(context.Context, string) net.Conn { return nil }
