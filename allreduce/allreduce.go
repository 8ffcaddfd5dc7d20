package allreduce

import (
	"fmt"

	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/allreduce/topology"
	"github.com/ergoflow/ergoflow/internal/trust"
)

// Identity is one rank's place in one generation.
type Identity struct {
	Generation  ergoflow.Generation
	Rank, World int
}

func (id Identity) String() string {
	return fmt.Sprintf("generation %d rank %d of %d", id.Generation, id.Rank, id.World)
}

func (id Identity) validate() error {
	switch {
	case id.Generation == 0:
		return fmt.Errorf("generation 0 is before the first")
	case id.World < 1 || id.World > ergoflow.MaxWorld:
		return fmt.Errorf("world size %d outside 1..%d", id.World, ergoflow.MaxWorld)
	case id.Rank < 0 || id.Rank >= id.World:
		return fmt.Errorf("rank %d outside 0..%d", id.Rank, id.World-1)
	}
	return nil
}

// Options are what all ranks of a ring must agree on; the handshake compares
// all but Identities.
type Options struct {
	Wire     Wire     // number format of long vectors; zero: Float32
	Topology Topology // which ranks are connected; zero: by world size

	Plan     string // what is computed, e.g. the run's hash; printable ASCII, at most 64 bytes
	Numerics string // by which it is computed; as Plan
	Token    Token  // shared by the members of the generation and no other process

	// Identities are those in the certificates of the ranks' processes, by rank. A process
	// that shows another certificate is refused. trust.Plaintext: this one has none, and others
	// have. Nil: any worker with a certificate of the cluster may be any rank. Where the process
	// itself has none they do not matter.
	Identities []string
}

// A Token is a random number that the coordinator gives to the members alone.
type Token [tokenBytes]byte

const tokenBytes = 16

// maxLabel bounds Plan and Numerics.
const maxLabel = 64

func (o Options) validate() error {
	if o.Wire > Int8 {
		return fmt.Errorf("unknown wire format %d", o.Wire)
	}
	if o.Topology > Hosts {
		return fmt.Errorf("unknown topology %d", o.Topology)
	}
	for _, label := range []string{o.Plan, o.Numerics} {
		if !isLabel(label) {
			return fmt.Errorf("plan or numerics %.80q is not printable ASCII of at most %d bytes", label, maxLabel)
		}
	}
	return nil
}

// isPlain reports a rank that has no certificate, while others have.
func (o Options) isPlain(rank int) bool {
	return o.Identities != nil && o.Identities[rank] == string(trust.Plaintext)
}

// checkIdentity refuses the holder of a certificate, or of none, as a rank.
func (o Options) checkIdentity(rank int, identity string) error {
	switch plain := identity == string(trust.Plaintext); {
	case o.Identities == nil && !plain, o.Identities != nil && o.Identities[rank] == identity:
		return nil
	case plain:
		return fmt.Errorf("%w: rank %d speaks plain text, and the coordinator named it with a certificate", ErrRefused, rank)
	}
	return fmt.Errorf("%w: rank %d has a certificate of %s, and the coordinator named %q", ErrRefused, rank, identity, o.Identities[rank])
}

func isLabel(s string) bool {
	for _, c := range []byte(s) {
		if c < ' ' || c > '~' {
			return false
		}
	}
	return len(s) <= maxLabel
}

// Topology says which ranks are connected.
type Topology uint8

const (
	ByWorld  Topology = iota // Mesh up to MeshWorld ranks (long sums between hosts still go round a ring); else Hosts, or Doubling
	Mesh                     // every rank with every other
	Circle                   // every rank with its two neighbours
	Doubling                 // every rank with those 1, 2, 4 … places away
	Hosts                    // every rank with those of its host, and with one on each of the hosts 1, 2, 4 … away
)

// MeshWorld is the largest world in which all ranks are connected with each other. See
// docs/decisions/allreduce.md.
const MeshWorld = 8

// in resolves ByWorld for a layout of ranks on hosts.
func (t Topology) in(l topology.Layout) Topology {
	switch {
	case t != ByWorld:
		return t
	case l.World() <= MeshWorld:
		return Mesh
	case l.Even() && l.World()/l.Hosts() <= MeshWorld:
		return Hosts
	}
	return Doubling
}

func (t Topology) String() string {
	switch t {
	case ByWorld:
		return "auto"
	case Mesh:
		return "mesh"
	case Circle:
		return "ring"
	case Doubling:
		return "doubling"
	case Hosts:
		return "hosts"
	}
	return fmt.Sprintf("topology(%d)", uint8(t))
}

// ParseTopology reads what String writes.
func ParseTopology(name string) (Topology, error) {
	for _, t := range []Topology{ByWorld, Mesh, Circle, Doubling, Hosts} {
		if t.String() == name {
			return t, nil
		}
	}
	return 0, fmt.Errorf("unknown topology %q: auto, mesh, ring, doubling or hosts", name)
}
