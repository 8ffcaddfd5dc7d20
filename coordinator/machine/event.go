package machine

import (
	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/coordinator/message"
)

// Session numbers one worker's connection. The adapter never reuses a number, so the
// machine recognises and ignores events of a closed session.
type Session uint64

// An Event is something that happens to the machine.
type Event interface{ event() }

// Events of sessions. Received and Closed are ignored where the session is unknown.
type (
	// Opened: a worker opened a session with its Hello.
	Opened struct {
		Session Session
		Hello   message.Hello
		// The coordinator sees whether the worker is on another host, and whether its data
		// address is a loopback address.
		Elsewhere, Loopback bool
		Host                string // the IP address from which the session comes
		Identity            string // in the certificate of the session, or as message.Member
		Refusal             string // why the workers of other runs do not have it; empty: they do
		Others              int    // workers of other runs
	}
	// Arrived: a process opens a session with the machine of another run. Where it was a
	// worker of this one, or takes the place of a silent worker, that is gone.
	Arrived struct{ Opened Opened }
	// Transfer has workers leave the run in order, as if they had asked to, and open other
	// sessions.
	Transfer struct{ Workers []Transferred }
	// Drain has a worker leave in order, as if it had asked to. It is answered.
	Drain struct {
		Worker ergoflow.WorkerID
		By     string // who wants that
	}
	// Received is any other message of a session.
	Received struct {
		Session Session
		Message message.FromWorker
	}
	// Closed: the stream broke or ended.
	Closed struct {
		Session Session
		Reason  string
	}
	// Alive: a part of a checkpoint arrived from a process. On a slow link its heartbeats
	// queue behind such parts.
	Alive struct {
		Worker ergoflow.WorkerID
		Secret uint64
	}
)

// Transferred is a worker that leaves for another run, and why.
type Transferred struct {
	Session Session
	Reason  string
}

// Events of the run.
type (
	// Start is the first event, and occurs once.
	Start struct{}
	// Tick tells the time.
	Tick struct{}
	// Submit sets the run to conduct.
	Submit struct {
		Plan    ergoflow.Plan
		Until   Stage
		Replace bool   // suspend another run that is not finished
		Entry   uint64 // of the coordinator's queue, by which the run is known there; 0: none
	}
	// Withdraw takes the run of an entry away, if the machine has that. Workers forget it.
	Withdraw struct {
		Entry  uint64
		Reason string
	}
	// Scanned answers Scan with the shards that exist, of 0..Plan.Shards, where the last
	// is the held-out one, and with the newest readable checkpoint.
	Scanned struct {
		Run           string
		Present       []int
		HasCheckpoint bool
		Checkpoint    ergoflow.Mark
	}
	// Unreadable: a checkpoint could not be read; Checkpoint is the newest that can.
	Unreadable struct {
		Run           string
		Damaged       ergoflow.Mark
		HasCheckpoint bool
		Checkpoint    ergoflow.Mark
	}
	// Unpublished: the jobs of these shards could not be put into the queue.
	Unpublished struct {
		Run    string
		Shards []int
		Reason string
	}
	// Generated: the shard exists now.
	Generated struct {
		Run   string
		Shard int
	}
	// Dead: the shard's job has failed for the last time.
	Dead struct {
		Run    string
		Shard  int
		Reason string
	}
	// Saved: a checkpoint is durable.
	Saved struct {
		Run   string
		State ergoflow.Mark
		Final bool // the worker that saved it makes no step after it
	}
	// NotSaved: a checkpoint could not be stored.
	NotSaved struct {
		Run    string
		Step   ergoflow.Step
		Reason string
		Short  *Shortage // nil: the disk is not the reason
	}
	// Room answers AwaitRoom: there may be room.
	Room struct{}
	// Stop: the coordinator is asked to end.
	Stop struct{}
)

// RunEvent is an event of one run.
type RunEvent interface {
	Event
	OfRun() string // its hash
}

func (e Scanned) OfRun() string     { return e.Run }
func (e Unreadable) OfRun() string  { return e.Run }
func (e Unpublished) OfRun() string { return e.Run }
func (e Generated) OfRun() string   { return e.Run }
func (e Dead) OfRun() string        { return e.Run }
func (e Saved) OfRun() string       { return e.Run }
func (e NotSaved) OfRun() string    { return e.Run }

// Shortage is the room that a full disk lacks.
type Shortage struct {
	Path  string `json:"path"`  // a directory on that disk
	Bytes int64  `json:"bytes"` // that must be free there
	What  string `json:"what"`  // is not stored
}

// Stage is the last stage that a run shall reach.
type Stage int

const (
	StageGenerate Stage = 1
	StageTrain    Stage = 2
)

func (Opened) event()      {}
func (Arrived) event()     {}
func (Transfer) event()    {}
func (Drain) event()       {}
func (Received) event()    {}
func (Closed) event()      {}
func (Alive) event()       {}
func (Start) event()       {}
func (Tick) event()        {}
func (Submit) event()      {}
func (Withdraw) event()    {}
func (Scanned) event()     {}
func (Unreadable) event()  {}
func (Unpublished) event() {}
func (Generated) event()   {}
func (Dead) event()        {}
func (Saved) event()       {}
func (NotSaved) event()    {}
func (Room) event()        {}
func (Stop) event()        {}
