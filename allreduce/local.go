package allreduce

import (
	"errors"
	"net"

	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc"
)

// Serve lets a server made with [Server.Options] serve l until it is stopped. Others
// reach l at address. On Linux, processes of the same user on the same machine connect
// by a local socket instead, which carries the same stream with the numbers in shared
// memory (docs/decisions/allreduce.md). An empty address makes no local socket.
func (s *Server) Serve(g *grpc.Server, l net.Listener, address string) error {
	listeners := []net.Listener{l}
	if address != "" {
		if local := listenLocally(address); local != nil {
			listeners = append(listeners, local)
		}
	}
	var group errgroup.Group
	for _, l := range listeners {
		group.Go(func() error {
			defer g.Stop() // if one listener ends, so does the other
			if err := g.Serve(listener{l, s}); !errors.Is(err, grpc.ErrServerStopped) {
				return err
			}
			return nil
		})
	}
	return group.Wait()
}
