package allreduce

import (
	"errors"
	"net"

	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc"
)

// Serve has a server made with [ServerOptions] serve l until it is stopped.
// address is where others reach l. Processes of the same user on the same machine
// that dial it come by a local socket instead, where the system has those: the same
// stream, with the numbers in shared memory (docs/decisions/allreduce.md).
func Serve(g *grpc.Server, l net.Listener, address string) error {
	listeners := []net.Listener{l}
	if local := listenLocally(address); local != nil {
		listeners = append(listeners, local)
	}
	var group errgroup.Group
	for _, l := range listeners {
		group.Go(func() error {
			defer g.Stop() // neither serves without the other
			if err := g.Serve(listener{l}); !errors.Is(err, grpc.ErrServerStopped) {
				return err
			}
			return nil
		})
	}
	return group.Wait()
}
