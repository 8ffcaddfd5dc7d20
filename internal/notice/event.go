package notice

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// Event is what is told.
type Event struct {
	// ID names the event, so that receivers recognise a repetition. Empty: a random one.
	ID   string
	Name string // of the retraining
	// Decision is one of Decisions; empty: the retraining begins.
	Decision string
	ExitCode int
	Began    time.Time
	Ended    time.Time
	Champion int             // version of the champion afterwards; 0: none
	Text     string          // what happened, in one or two sentences
	Outcome  json.RawMessage // the whole, as `retrain --json` prints it
}

// begins tells whether the event is the beginning of a retraining.
func (e Event) begins() bool { return e.Decision == "" }

// kind is the last part of the event's type and subject.
func (e Event) kind() string {
	if e.begins() {
		return "started"
	}
	return e.Decision
}

// maxOutcome is the size up to which an outcome is part of a message.
const maxOutcome = 256 << 10 // bytes

// message is the JSON of webhooks and of NATS, in the form of Standard Webhooks.
func (e Event) message() ([]byte, error) {
	type data struct {
		Name     string          `json:"name"`
		Decision string          `json:"decision,omitempty"`
		ExitCode int             `json:"exit_code"`
		Began    time.Time       `json:"began"`
		Ended    time.Time       `json:"ended,omitzero"`
		Seconds  float64         `json:"seconds,omitempty"`
		Champion int             `json:"champion,omitempty"`
		Text     string          `json:"text,omitempty"`
		Outcome  json.RawMessage `json:"outcome,omitempty"`
	}
	m := struct {
		Type      string    `json:"type"`
		Timestamp time.Time `json:"timestamp"`
		Data      data      `json:"data"`
	}{"retrain." + e.kind(), e.Began.UTC(), data{Name: e.Name, Decision: e.Decision, ExitCode: e.ExitCode, Began: e.Began.UTC(), Champion: e.Champion, Text: e.Text}}
	if !e.begins() {
		m.Timestamp, m.Data.Ended, m.Data.Seconds = e.Ended.UTC(), e.Ended.UTC(), e.seconds()
	}
	if len(e.Outcome) <= maxOutcome {
		m.Data.Outcome = e.Outcome
	}
	encoded, err := json.Marshal(m)
	if err != nil {
		return nil, fmt.Errorf("encode the event: %w", err)
	}
	return encoded, nil
}

func (e Event) seconds() float64 { return max(0, e.Ended.Sub(e.Began).Seconds()) }

// subject is where NATS has the event. Dots separate its parts, so a name keeps none.
func (e Event) subject() string {
	name := strings.Map(func(r rune) rune {
		if r <= ' ' || r == 0x7f || strings.ContainsRune(".*>", r) {
			return '_'
		}
		return r
	}, e.Name)
	if name == "" {
		name = "_"
	}
	return "ergoflow.retrain." + name + "." + e.kind()
}
