package message

import (
	"fmt"
	"strings"
	"time"

	"github.com/ergoflow/ergoflow"
)

// FromCoordinator is a message that the coordinator sends to a worker. Its String
// is one line for logs and traces.
type FromCoordinator interface {
	fmt.Stringer
	fromCoordinator()
}

type (
	// Welcome answers Hello: the session is open.
	Welcome struct {
		PingInterval time.Duration
		Patience     time.Duration // the coordinator's silence after which the worker looks for it elsewhere
		Protocol     uint32        // the newest that worker and coordinator speak
		Lease        time.Duration // for which the worker may apply steps after a heartbeat that was heard
		// AcceptPlaintext: a worker with a certificate lets workers without one connect. Filled
		// in where the message is sent.
		AcceptPlaintext bool
		// Term in which the coordinator leads, where there are several; 0: there is one. Likewise.
		Term uint64
	}
	// Refuse answers Hello: there is no session, and the stream ends.
	Refuse struct {
		Reason string
		Term   uint64 // as in Welcome
	}
	// Ping asks for a Heartbeat.
	Ping struct {
		Heard    uint64        // number of the last heartbeat that came; 0: none yet
		Patience time.Duration // as in Welcome, from now on; 0: as before
	}

	// Generate: pull jobs of this run from the queue.
	Generate struct {
		Plan       ergoflow.Plan
		NATS       string // URL of the queue; filled in where the message is sent
		NATSDomain string // of JetStream; empty: the server's own; likewise
		Store      string // directory of the shard store; likewise
	}
	// Prepare: map shards and compile graphs for this run, and meanwhile follow a
	// member that trains. The zero Member is none. Prepared answers with the Number,
	// since an answer to an earlier Prepare may belong to other settings.
	Prepare struct {
		Number uint64
		Plan   ergoflow.Plan
		Follow Member
		Store  string // directory of the shard store; filled in where the message is sent
	}

	// Form: stop stepping, and report the state you hold.
	Form struct {
		Generation ergoflow.Generation
		Reason     string
	}
	// Assign gives a worker its place in a generation.
	Assign struct {
		Generation ergoflow.Generation
		Rank       int
		Members    []Member // by rank
		Shards     []int    // of this member
		Source     Source
		Saves      bool   // this rank writes the checkpoints
		Token      []byte // by which the ring knows its members; filled in where the message is sent
	}
	// Go: all members are ready; step.
	Go struct{ Generation ergoflow.Generation }
	// Abort: the generation has ended; cancel its work at once.
	Abort struct {
		Generation ergoflow.Generation
		Reason     string
	}
	// Finish: the run is complete and its last checkpoint stored.
	Finish struct{ Run string }
	// Save: upload a checkpoint of the state you hold at the next step boundary, and
	// make no step after it. It goes to a worker that leaves with the only copy.
	Save struct{ Generation ergoflow.Generation }
	// CheckLink: find out whether you and another worker reach each other's data ports.
	CheckLink struct{ Peer Member }
	// Leave: the worker is drained, or the coordinator ends.
	Leave struct{ Reason string }
	// Transfer: the worker is for another run now. It forgets this one with its state, and
	// opens a new session.
	Transfer struct{ Reason string }
	// Dump: send what the flight recorder holds. The number is 0 where nobody waits for it.
	Dump struct {
		Number   uint64
		Occasion string
	}
)

// Member is a worker as the others reach it.
type Member struct {
	ID          ergoflow.WorkerID
	DataAddress string
	Identity    string // in its certificate; trust.Plaintext: it has none, others have; empty: nobody has
}

// SourceKind is where a state comes from.
type SourceKind int

const (
	SourceOwn        SourceKind = iota + 1 // the member holds it
	SourcePeer                             // fetch it from Source.Peer
	SourceCheckpoint                       // load the coordinator's checkpoint of Source.State
	SourceFresh                            // initialise it from the seed
)

func (k SourceKind) String() string {
	names := [...]string{"unspecified", "own", "peer", "checkpoint", "fresh"}
	if k < 0 || int(k) >= len(names) { // from a newer coordinator
		return fmt.Sprintf("source %d", int(k))
	}
	return names[k]
}

// Source says where a member takes the generation's state from.
type Source struct {
	Kind  SourceKind
	State ergoflow.Mark
	Peer  Member // where Kind is SourcePeer
}

func (s Source) String() string {
	if s.Kind == SourcePeer {
		return fmt.Sprintf("peer %s at %s", s.Peer.ID, s.State)
	}
	return fmt.Sprintf("%s at %s", s.Kind, s.State)
}

func (Welcome) fromCoordinator()   {}
func (Refuse) fromCoordinator()    {}
func (Ping) fromCoordinator()      {}
func (Generate) fromCoordinator()  {}
func (Prepare) fromCoordinator()   {}
func (Form) fromCoordinator()      {}
func (Assign) fromCoordinator()    {}
func (Go) fromCoordinator()        {}
func (Abort) fromCoordinator()     {}
func (Finish) fromCoordinator()    {}
func (Save) fromCoordinator()      {}
func (CheckLink) fromCoordinator() {}
func (Leave) fromCoordinator()     {}
func (Transfer) fromCoordinator()  {}
func (Dump) fromCoordinator()      {}

func (Welcome) String() string     { return "welcome" }
func (m Refuse) String() string    { return "refuse: " + m.Reason }
func (Ping) String() string        { return "ping" }
func (m Generate) String() string  { return "generate " + m.Plan.Run }
func (m Form) String() string      { return fmt.Sprintf("form %d: %s", m.Generation, m.Reason) }
func (m Go) String() string        { return fmt.Sprintf("go %d", m.Generation) }
func (m Abort) String() string     { return fmt.Sprintf("abort %d: %s", m.Generation, m.Reason) }
func (m Finish) String() string    { return "finish " + m.Run }
func (m Save) String() string      { return fmt.Sprintf("save %d", m.Generation) }
func (m CheckLink) String() string { return fmt.Sprintf("check the link to %s", m.Peer.ID) }
func (m Leave) String() string     { return "leave: " + m.Reason }
func (m Transfer) String() string  { return "transfer: " + m.Reason }
func (m Dump) String() string      { return "dump: " + m.Occasion }

func (m Prepare) String() string {
	if m.Follow == (Member{}) {
		return "prepare " + m.Plan.Run
	}
	return fmt.Sprintf("prepare %s, following %s", m.Plan.Run, m.Follow.ID)
}

func (m Assign) String() string {
	var ids []string
	for _, member := range m.Members {
		ids = append(ids, string(member.ID))
	}
	saves := ""
	if m.Saves {
		saves = ", saves"
	}
	return fmt.Sprintf("assign %d: rank %d of %s, shards %v, %s%s",
		m.Generation, m.Rank, strings.Join(ids, " "), m.Shards, m.Source, saves)
}
