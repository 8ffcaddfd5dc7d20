package consensus

import (
	"context"
	"fmt"

	"google.golang.org/grpc/metadata"

	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/coordinator/wire"
)

// agree fails with ergoflow.ErrProtocol where another coordinator speaks no protocol of this one.
func (n *Node) agree(address string, other *wire.Coordinator) error {
	theirs := ergoflow.Release{Version: other.GetVersion(), Protocol: other.GetProtocol(), OldestProtocol: other.GetOldestProtocol()}
	_, err := n.config.Release.Agree("this coordinator", theirs, "the one at "+address)
	return err
}

// keyRelease is the metadata of a Link by which the caller says what it speaks.
const keyRelease = "ergoflow-release"

func metadataOf(r ergoflow.Release) metadata.MD {
	return metadata.Pairs(keyRelease, fmt.Sprintf("%d %d %s", r.OldestProtocol, r.Protocol, r.Version))
}

// releaseIn is what metadataOf wrote; zero: nothing, or something else.
func releaseIn(ctx context.Context) (r ergoflow.Release) {
	if said := metadata.ValueFromIncomingContext(ctx, keyRelease); len(said) == 1 {
		if _, err := fmt.Sscan(said[0], &r.OldestProtocol, &r.Protocol, &r.Version); err != nil {
			return ergoflow.Release{}
		}
	}
	return r
}
