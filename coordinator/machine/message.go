package machine

import (
	"fmt"
	"strings"
	"time"

	"github.com/ergoflow/ergoflow"
)

// A Message is what the coordinator tells a worker. The types below mirror
// coordinator/wire, where their meaning is written.
type Message interface {
	fmt.Stringer
	message()
}

type (
	Welcome struct{ PingInterval, Patience, Lease time.Duration }
	Refuse  struct{ Reason string }
	Ping    struct{ Heard uint64 }

	Generate struct{ Plan ergoflow.Plan }
	// Prepare for a run, and meanwhile follow a member that trains. The zero Member
	// is nobody. Prepared answers with the number: an answer to an earlier order may be
	// of other settings.
	Prepare struct {
		Number uint64
		Plan   ergoflow.Plan
		Follow Member
	}

	Form struct {
		Generation ergoflow.Generation
		Reason     string
	}
	Assign struct {
		Generation ergoflow.Generation
		Rank       int
		Members    []Member // by rank; shared, not to be changed
		Shards     []int
		Source     Source
		Saves      bool
	}
	Go    struct{ Generation ergoflow.Generation }
	Abort struct {
		Generation ergoflow.Generation
		Reason     string
	}
	Finish struct{ Run string }
	Save   struct{ Generation ergoflow.Generation }
	Leave  struct{ Reason string }
)

// Member is a worker as the others reach it.
type Member struct {
	ID          ergoflow.WorkerID
	DataAddress string
}

// Kind of a Source.
type Kind int

const (
	Own        Kind = iota + 1 // the member holds it
	Peer                       // fetch it from Source.Peer
	Checkpoint                 // load the checkpoint of Source.State
	Fresh                      // initialise from the seed
)

func (k Kind) String() string {
	return [...]string{"unspecified", "own", "peer", "checkpoint", "fresh"}[k]
}

// Source says where a member takes the generation's state from.
type Source struct {
	Kind  Kind
	State ergoflow.Mark
	Peer  Member // where Kind is Peer
}

func (s Source) String() string {
	if s.Kind == Peer {
		return fmt.Sprintf("peer %s at %s", s.Peer.ID, s.State)
	}
	return fmt.Sprintf("%s at %s", s.Kind, s.State)
}

func (Welcome) message()  {}
func (Refuse) message()   {}
func (Ping) message()     {}
func (Generate) message() {}
func (Prepare) message()  {}
func (Form) message()     {}
func (Assign) message()   {}
func (Go) message()       {}
func (Abort) message()    {}
func (Finish) message()   {}
func (Save) message()     {}
func (Leave) message()    {}

func (Welcome) String() string    { return "welcome" }
func (m Refuse) String() string   { return "refuse: " + m.Reason }
func (Ping) String() string       { return "ping" }
func (m Generate) String() string { return "generate " + m.Plan.Run }
func (m Form) String() string     { return fmt.Sprintf("form %d: %s", m.Generation, m.Reason) }
func (m Go) String() string       { return fmt.Sprintf("go %d", m.Generation) }
func (m Abort) String() string    { return fmt.Sprintf("abort %d: %s", m.Generation, m.Reason) }
func (m Finish) String() string   { return "finish " + m.Run }
func (m Save) String() string     { return fmt.Sprintf("save %d", m.Generation) }
func (m Leave) String() string    { return "leave: " + m.Reason }

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
