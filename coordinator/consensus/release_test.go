package consensus

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/coordinator/wire"
	"github.com/ergoflow/ergoflow/internal/addresstest"
)

// Members of a later version take part as long as they speak a protocol of the others. One that
// does not is refused, whether it starts, is to be added, or connects.
func TestMembersOfOtherVersions(t *testing.T) {
	members := cluster(t, 3)
	lead, term := leader(t, members...)
	propose(t, term, "before")
	other := members[0]
	if other == lead {
		other = members[1]
	}
	peers := []string{members[0].address, members[1].address, members[2].address}
	if err := other.stop(); err != nil {
		t.Fatal(err)
	}
	other.release = ergoflow.Release{Version: "v2", Protocol: 2, OldestProtocol: 1}
	other.start(peers...)
	propose(t, term, "after")
	until(t, "the new version has the entries", func() bool { return slices.Equal(other.state.list(), []string{"before", "after"}) })

	strange := ergoflow.Release{Version: "v4", Protocol: 4, OldestProtocol: 3}
	if err := other.stop(); err != nil {
		t.Fatal(err)
	}
	other.release = strange
	other.start(peers...)
	err := <-other.ended
	other.ended <- nil // for stop
	if !errors.Is(err, ergoflow.ErrProtocol) || !strings.Contains(err.Error(), "v4") || !strings.Contains(err.Error(), "upgrade the one at") {
		t.Errorf("it starts: %v", err)
	}
	other.stop()

	added := &member{t: t, dir: t.TempDir(), address: addresstest.Free(t), state: &words{}, release: strange}
	added.start(added.address) // alone it has nobody to disagree with
	defer added.stop()
	if err := lead.Add(t.Context(), added.address); !errors.Is(err, ergoflow.ErrProtocol) {
		t.Errorf("it is added: %v", err)
	}
	for _, caller := range []metadata.MD{metadataOf(strange), {}, metadata.Pairs(keyRelease, "x")} {
		if err := connects(t, lead.address, caller); status.Code(err) != codes.FailedPrecondition || !strings.Contains(err.Error(), "no common protocol") {
			t.Errorf("%v connects: %v", caller, err)
		}
	}
	if err := connects(t, lead.address, metadataOf(firstRelease)); err != nil {
		t.Errorf("the first version connects: %v", err)
	}
}

// connects opens a connection of the consensus, and returns why it is refused.
func connects(t *testing.T, address string, as metadata.MD) error {
	t.Helper()
	conn, err := dial(address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	ctx, cancel := context.WithCancel(metadata.NewOutgoingContext(t.Context(), as))
	defer cancel()
	stream, err := wire.NewCoordinatorsClient(conn).Link(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if header, err := stream.Header(); err != nil || header != nil {
		return err
	}
	_, err = stream.Recv()
	return err
}
