package message

import (
	"iter"

	"github.com/ergoflow/ergoflow"
)

// FromWorker is a message that a worker sends to the coordinator.
type FromWorker interface{ fromWorker() }

type (
	// Hello opens a session: it is the first message, and comes once.
	Hello struct {
		Worker   Worker
		Run      string // whose state the worker holds from before; empty: none
		HasState bool
		State    ergoflow.Mark
		Newest   ergoflow.Generation // the newest whose ring the process has joined; 0: none
	}
	// Heartbeat answers Ping. Every message is a sign of life; the Number of the last
	// heartbeat goes back with the next Ping.
	Heartbeat struct {
		Doing  string // shown in the status
		Number uint64 // counts the heartbeats of a session from 1
		Run    string // whose state the worker holds by following a member; empty: none
		State  ergoflow.Mark
	}
	// Prepared answers Prepare: shards are mapped, graphs compiled, and the worker may
	// become a member.
	Prepared struct {
		Run    string
		Number uint64 // of the Prepare
	}
	// Report answers Form with the state that the worker holds.
	Report struct {
		Generation ergoflow.Generation
		HasState   bool
		State      ergoflow.Mark
		Hash       string // SHA-256 of the parameters; the coordinator compares it only
		Links      []Link
		SumBytes   int64 // of the vectors that the run sums; 0: the worker does not know
	}
	// Ready answers Assign: the state is in place and the ring is connected.
	Ready struct{ Generation ergoflow.Generation }
	// Progress: the worker has applied one step.
	Progress struct {
		Generation ergoflow.Generation
		Step       ergoflow.Step // updates applied, this one included
		Loss       float64
		Samples    int64 // of the whole batch
		Timing     Timing
	}
	// Complaint: a neighbour in the ring failed, or the worker's own part did.
	Complaint struct {
		Generation ergoflow.Generation
		Step       ergoflow.Step
		Peer       ergoflow.WorkerID // about which the worker complains; empty: its own part failed
		Reason     string
		Silent     []ergoflow.WorkerID // members from which nothing comes, or to which there is no way
	}
	// LinkChecked answers CheckLink.
	LinkChecked struct {
		Peer    ergoflow.WorkerID
		Failure string // why the link does not work; empty: it works both ways
	}
	// Drain: the worker asks to leave.
	Drain struct{}
	// Failed: the worker cannot continue the run, for example because its graphs do
	// not compile.
	Failed struct {
		Run    string
		Reason string
	}
	// Refusal: the worker has refused a stream to its data port.
	Refusal struct {
		From   string // the stream's address
		Reason string
	}
)

// Worker is a process, as it describes itself.
type Worker struct {
	ID          ergoflow.WorkerID // unique per process
	Release     ergoflow.Release  // of the program
	DataAddress string            // host:port of its gradients and states
	Device      string            // for example "xla:cpu"
	PID         int
	// Secret is a random number that only the process and the coordinator know: no
	// other process can take over its session or upload in its name.
	Secret uint64
}

// Link is what a worker has measured of its link with another one.
type Link struct {
	Peer    ergoflow.WorkerID
	Latency float64 // seconds that a small message takes there and back; negative: unknown
	Rate    float64 // bytes a second that come from the peer; 0: unknown
}

// Timing is how long the parts of one step took on one worker, in seconds.
type Timing struct {
	Data     float64 // waiting for the batch
	Gradient float64 // including the batch's transfer to the device
	Copy     float64 // waiting for the gradient's transfer to the host
	Ring     float64 // including the wait for slower ranks
	Update   float64 // including the sum's transfer to the device
	Other    float64 // between these, since the last update
}

// Phases yields name and seconds of each phase in order. Other is between them.
func (t Timing) Phases() iter.Seq2[string, float64] {
	return func(yield func(string, float64) bool) {
		_ = yield("data", t.Data) && yield("gradient", t.Gradient) && yield("copy", t.Copy) && yield("ring", t.Ring) && yield("update", t.Update)
	}
}

func (Hello) fromWorker()       {}
func (Heartbeat) fromWorker()   {}
func (Prepared) fromWorker()    {}
func (Report) fromWorker()      {}
func (Ready) fromWorker()       {}
func (Progress) fromWorker()    {}
func (Complaint) fromWorker()   {}
func (LinkChecked) fromWorker() {}
func (Drain) fromWorker()       {}
func (Failed) fromWorker()      {}
func (Refusal) fromWorker()     {}
