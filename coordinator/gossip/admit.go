package gossip

import (
	"bytes"
	"errors"
	"fmt"
	"net"

	"github.com/hashicorp/memberlist"

	"github.com/ergoflow/ergoflow"
)

// maxMembers bounds the members that a flood of made-up ones can add: as many workers as a
// coordinator takes, and as many that have been replaced and are not forgotten yet.
const maxMembers = 2 * ergoflow.MaxWorkers

// NotifyAlive is called with every member that a message says is alive, before memberlist
// notes it, and refuses those that are impossible. memberlist itself checks little, and only
// when two members exchange their lists: one member without a protocol version would then
// make every exchange fail, and with them every join, for as long as it is listed.
//
// A message can still say that a member is dead, or that there is one more. A member that is
// not there does not answer probes, and is removed. Gossip decides nothing.
func (d delegate) NotifyAlive(n *memberlist.Node) error { return d.g.admit(n) }

var errNotListed = errors.New("it is not to be listed")

func (g *Gossip) admit(n *memberlist.Node) error {
	if g.lists != nil && !g.lists(n.Name) {
		return errNotListed
	}
	g.mu.Lock()
	m, listed := g.members[n.Name]
	count := len(g.members)
	g.mu.Unlock()
	if !listed || !bytes.Equal(m.encoded, n.Meta) { // otherwise they were checked, and its name with them
		meta, err := decodeMeta(n.Meta)
		if err != nil {
			return fmt.Errorf("metadata: %w", err)
		}
		if err := checkName(n.Name, meta); err != nil {
			return err
		}
	}
	if err := errors.Join(checkIP(n.Addr), g.checkVersions(n)); err != nil {
		return err
	}
	if !listed && count >= maxMembers {
		return fmt.Errorf("there are %d members already", maxMembers)
	}
	return nil
}

// checkVersions admits those that speak the versions spoken here. All pairs of members then
// understand one another: with a range alone, two could meet with no version in common.
func (g *Gossip) checkVersions(n *memberlist.Node) error {
	ours := g.versions
	for _, v := range []struct {
		what          string
		min, max, now uint8
		ours          uint8
	}{
		{"protocol", n.PMin, n.PMax, n.PCur, ours[2]},
		{"delegate", n.DMin, n.DMax, n.DCur, ours[5]},
	} {
		if v.now != v.ours || v.min > v.ours || v.max < v.ours {
			return fmt.Errorf("%s version %d of %d to %d, not %d", v.what, v.now, v.min, v.max, v.ours)
		}
	}
	return nil
}

// checkIP refuses addresses at which no member can be.
func checkIP(ip net.IP) error {
	if ip.To16() == nil || ip.IsUnspecified() || ip.IsMulticast() || ip.Equal(net.IPv4bcast) {
		return fmt.Errorf("address %q is no host's", ip)
	}
	return nil
}
