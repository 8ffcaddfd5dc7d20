// Package addresstest gives tests addresses at which nobody listens.
package addresstest

import (
	"fmt"
	"math/rand/v2"
	"net"
	"sync"
	"testing"
)

// Ports below those that systems give to connections (from 32768 on Linux, 49152 elsewhere). A port
// that the system chose and that is closed again can become the local end of anyone's connection
// before the test listens there.
const first, end = 20000, 32768

var given = struct {
	sync.Mutex
	ports map[int]bool
}{ports: make(map[int]bool)}

// Free is an address on loopback, HOST:PORT, at which nobody listens, and which it gives only once
// in this process.
func Free(t testing.TB) string {
	t.Helper()
	given.Lock()
	defer given.Unlock()
	var last error
	for range 100 {
		port := first + rand.IntN(end-first) // processes that run side by side want different ones
		if given.ports[port] {
			continue
		}
		address := fmt.Sprintf("127.0.0.1:%d", port)
		l, err := net.Listen("tcp", address)
		if err != nil {
			last = err
			continue
		}
		l.Close()
		given.ports[port] = true
		return address
	}
	t.Fatal("no port is free: ", last)
	return ""
}
