package worker

import (
	"testing"

	"google.golang.org/grpc"

	"github.com/ergoflow/ergoflow/allreduce"
	"github.com/ergoflow/ergoflow/coordinator/wire"
	"github.com/ergoflow/ergoflow/worker/peer"
)

// Everything that a worker serves is in the table of roles.
func TestServedMethodsHaveRoles(t *testing.T) {
	rings := allreduce.NewServer(nil)
	server := grpc.NewServer(rings.Options()...)
	rings.Register(server)
	wire.RegisterPeerServer(server, &peer.Server{})
	for service, info := range server.GetServiceInfo() {
		for _, m := range info.Methods {
			if method := "/" + service + "/" + m.Name; len(wire.Roles[method]) == 0 {
				t.Errorf("%s has no roles", method)
			}
		}
	}
}
