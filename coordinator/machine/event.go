package machine

import "github.com/ergoflow/ergoflow"

// Session numbers one worker's connection. The adapter never reuses a number,
// so that events of a session that was closed are recognised and ignored.
type Session uint64

// An Event is what may befall the machine.
type Event interface{ event() }

// Events of sessions. All but Hello are ignored where the session is unknown.
type (
	// Hello opens a session. State is what the worker holds of Run from before.
	Hello struct {
		Session  Session
		Worker   Worker
		Run      string
		HasState bool
		State    ergoflow.Mark
		Newest   ergoflow.Generation // that the process has joined the ring of; 0: none
	}
	// Closed: the stream broke or ended.
	Closed struct {
		Session Session
		Reason  string
	}
	// Heartbeat answers Ping. Every message of a session is a sign of life; the
	// Number of the last heartbeat goes back with the next Ping.
	Heartbeat struct {
		Session Session
		Doing   string
		Number  uint64
		Run     string // whose state it has come to hold by following; empty: none
		State   ergoflow.Mark
	}
	// Prepared: shards mapped, graphs compiled.
	Prepared struct {
		Session Session
		Run     string
		Number  uint64 // of the order
	}
	// Alive: parts of a checkpoint come from a process. Where the link is slow its
	// heartbeats are behind them.
	Alive struct {
		Worker ergoflow.WorkerID
		Secret uint64
	}
	// Report answers Form.
	Report struct {
		Session    Session
		Generation ergoflow.Generation
		HasState   bool
		State      ergoflow.Mark
		Hash       string // of the parameters; compared, not interpreted
	}
	// Ready answers Assign.
	Ready struct {
		Session    Session
		Generation ergoflow.Generation
	}
	// Progress: one step applied.
	Progress struct {
		Session    Session
		Generation ergoflow.Generation
		Step       ergoflow.Step
		Loss       float64
		Samples    int64 // of the whole batch
		Timing     Timing
	}
	// Complaint: a neighbour, or what the worker was told to do, failed.
	Complaint struct {
		Session    Session
		Generation ergoflow.Generation
		Step       ergoflow.Step
		Peer       ergoflow.WorkerID
		Reason     string
	}
	// Drain: the worker wants to leave.
	Drain struct{ Session Session }
	// Failed: the worker cannot go on with the run.
	Failed struct {
		Session Session
		Run     string
		Reason  string
	}
	// Refusal: the worker has refused somebody's stream.
	Refusal struct {
		Session Session
		From    string // an address
		Reason  string
	}
)

// Events of the run.
type (
	// Start comes once, first.
	Start struct{}
	// Tick tells the time.
	Tick struct{}
	// Submit sets the run to conduct.
	Submit struct {
		Plan    ergoflow.Plan
		Until   Stage
		Replace bool // put aside another run that is not finished
	}
	// Scanned answers Scan: which of the shards 0..Plan.Shards (the last is the
	// held-out one) exist, and the newest checkpoint that can be read.
	Scanned struct {
		Run           string
		Present       []int
		HasCheckpoint bool
		Checkpoint    ergoflow.Mark
	}
	// Unreadable: a checkpoint could not be read; this is what is left.
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
	// Dead: the shard's job failed as often as it may.
	Dead struct {
		Run    string
		Shard  int
		Reason string
	}
	// Saved: a checkpoint is durable.
	Saved struct {
		Run   string
		State ergoflow.Mark
		Final bool // who saved it makes no step after it
	}
	// NotSaved: a checkpoint could not be stored.
	NotSaved struct {
		Run    string
		Step   ergoflow.Step
		Reason string
	}
	// Stop: the coordinator is asked to end.
	Stop struct{}
)

// Worker is what a process says of itself in Hello.
type Worker struct {
	ID          ergoflow.WorkerID
	Version     string
	DataAddress string
	Device      string
	PID         int
	// Secret is a number that the process alone knows, so that a session of it can be
	// taken over by it alone. The status does not tell it.
	Secret uint64
	// What the coordinator sees of it: whether it is on another host, and whether its
	// data address is one of its own host alone.
	Elsewhere, Loopback bool
}

// Stage is how far a run shall go.
type Stage int

const (
	StageGenerate Stage = 1
	StageTrain    Stage = 2
)

func (Hello) event()       {}
func (Alive) event()       {}
func (Closed) event()      {}
func (Heartbeat) event()   {}
func (Prepared) event()    {}
func (Report) event()      {}
func (Ready) event()       {}
func (Progress) event()    {}
func (Complaint) event()   {}
func (Drain) event()       {}
func (Failed) event()      {}
func (Refusal) event()     {}
func (Start) event()       {}
func (Tick) event()        {}
func (Submit) event()      {}
func (Scanned) event()     {}
func (Unreadable) event()  {}
func (Unpublished) event() {}
func (Generated) event()   {}
func (Dead) event()        {}
func (Saved) event()       {}
func (NotSaved) event()    {}
func (Stop) event()        {}
