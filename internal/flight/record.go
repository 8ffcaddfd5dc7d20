package flight

import (
	"regexp"
	"strings"
	"time"
	"unicode"

	"github.com/ergoflow/ergoflow"
)

// Kind says what a record is about.
type Kind string

// Kinds of any process.
const (
	Began   Kind = "began"   // the process
	Ends    Kind = "ends"    // the process, in order; Text: why
	Unclean Kind = "unclean" // the process before this one, in the same directory, did not end in order
	Paused  Kind = "paused"  // the process stood still for Seconds, until At
	Clock   Kind = "clock"   // the wall clock jumped by Seconds against the monotonic one
	Memory  Kind = "memory"  // Value bytes are used of the limit Limit; Text: of what
	Slow    Kind = "slow"    // what Text says took Seconds, and is usually fast: a write, a call of the device
	Full    Kind = "full"    // a disk has no room; Value bytes are needed; Text: where
	Failed  Kind = "failed"  // what Text says
	Doing   Kind = "doing"   // at the dump: what Text says, for Seconds
	Stored  Kind = "stored"  // a checkpoint, in Seconds
	Stack   Kind = "stack"   // of goroutines: their number and the functions, the innermost first
)

// Kinds of a worker.
const (
	Joined   Kind = "joined"   // a session with the coordinator is open
	Left     Kind = "left"     // the session with the coordinator ended; Text: why
	Ordered  Kind = "ordered"  // the coordinator's message
	Sent     Kind = "sent"     // a message to the coordinator
	Assigned Kind = "assigned" // Rank in Generation; Members: all of its members by rank
	Stepped  Kind = "stepped"  // an update was applied; Value: the loss
	Diverged Kind = "diverged" // loss or gradient not finite
	Waits    Kind = "waits"    // the ring waits Seconds for chunk Chunk of Step from Worker
	Link     Kind = "link"     // Worker's stream: nothing new has come for Seconds, and Value segments again; Text: the last chunks
	Broken   Kind = "broken"   // the rank's part in a generation broke; Worker: to blame
)

// Kinds of a coordinator.
const (
	Decided   Kind = "decided"   // Text: a decision with its reason
	Stalled   Kind = "stalled"   // a generation has made no step for a long time
	Complains Kind = "complains" // Worker, about Peer if that is not empty
	Silent    Kind = "silent"    // Worker hears nothing from Peer
	Lost      Kind = "lost"      // the session of Worker ended; Seconds: its silence, or 0
	Unfit     Kind = "unfit"     // Worker cannot continue the run
	Checked   Kind = "checked"   // Worker looked whether it reaches Peer; Text: why not, or empty
	Session   Kind = "session"   // at the dump: Worker was heard Seconds ago, at Generation and Step
	Process   Kind = "process"   // the operating system's state of Worker's process: Text
	NoAnswer  Kind = "no answer" // Worker did not send its dump
)

// Child is a kind of a command that starts processes: process PID ended; Text: how.
const Child Kind = "child"

// A Record is something that happened in a process.
type Record struct {
	Seq        uint64              `json:"seq"` // from 1 in the process
	Wall       time.Time           `json:"at"`  // as the process had it
	Since      float64             `json:"t"`   // seconds since the process began, by the monotonic clock
	Kind       Kind                `json:"kind"`
	Generation ergoflow.Generation `json:"generation,omitempty"`
	Step       ergoflow.Step       `json:"step,omitempty"`
	Rank       int                 `json:"rank,omitempty"`
	Chunk      int                 `json:"chunk,omitempty"`
	PID        int                 `json:"pid,omitempty"`
	Worker     ergoflow.WorkerID   `json:"worker,omitempty"`
	Peer       ergoflow.WorkerID   `json:"peer,omitempty"`
	Members    string              `json:"members,omitempty"` // ids by rank, with spaces between them
	Seconds    float64             `json:"seconds,omitempty"`
	Value      float64             `json:"value,omitempty"`
	Limit      float64             `json:"limit,omitempty"`
	Text       string              `json:"text,omitempty"`
	Phases     Phases              `json:"phases,omitzero"`
}

// Phases are the parts of a step, in seconds. It has the fields of message.Timing, so that one is
// the other's conversion.
type Phases struct {
	Data     float64 `json:"data"`
	Gradient float64 `json:"gradient"`
	Copy     float64 `json:"copy"`
	Ring     float64 `json:"ring"`
	Update   float64 `json:"update"`
	Other    float64 `json:"other"`
}

func (p Phases) total() float64 { return p.Data + p.Gradient + p.Copy + p.Ring + p.Update + p.Other }

// Bounds of the texts of a record, in bytes. Sixty-four members with the longest ids fit.
const (
	maxText    = 512
	maxMembers = 10 << 10
)

// secret matches what no text may hold: user and password in a URL, tokens to join with or to
// ask a server with, and blocks of PEM.
var secret = regexp.MustCompile(`(://)[^/@\s]+@|ERGO1[^\s"]*|(?:[Bb]earer|BEARER)\s+[^\s"]+|-----BEGIN[^-]*-----[^-]*(-----END[^-]*-----)?`)

// Clean makes a text fit to be recorded: without secrets and control characters, and of at most
// 512 bytes.
func Clean(text string) string {
	if maySecret(text) {
		text = secret.ReplaceAllString(text, "$1…")
	}
	return clip(text, maxText)
}

// maySecret is a quick look whether secret can match.
func maySecret(text string) bool {
	for _, part := range [...]string{"://", "ERGO1", "earer", "EARER", "-----BEGIN"} {
		if strings.Contains(text, part) {
			return true
		}
	}
	return false
}

func clip(text string, most int) string {
	if len(text) > most {
		text = text[:most-len("…")] + "…"
	}
	if isPlain(text) {
		return text
	}
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return ' '
	}, strings.ToValidUTF8(text, ""))
}

// isPlain reports whether a text has printable ASCII alone.
func isPlain(text string) bool {
	for i := range len(text) {
		if text[i] < ' ' || text[i] > '~' {
			return false
		}
	}
	return true
}

// clean bounds what comes from outside in a record.
func (e *Record) clean() {
	e.Text = Clean(e.Text)
	e.Worker, e.Peer = ergoflow.WorkerID(clip(string(e.Worker), 128)), ergoflow.WorkerID(clip(string(e.Peer), 128))
	e.Members = clip(e.Members, maxMembers)
}

// size is how many bytes of text a record holds.
func (e *Record) size() int { return len(e.Text) + len(e.Worker) + len(e.Peer) + len(e.Members) }
