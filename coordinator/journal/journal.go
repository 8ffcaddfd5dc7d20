// Package journal keeps the last events of a coordinator in plain sentences, for those who
// follow a cluster from elsewhere: `ergoflow logs` and the page. It owns no goroutine.
package journal

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"
	"unicode/utf8"
)

// Kept is the number of events that a journal keeps, and maxText the bytes of a text: it has at
// most about 2 MiB.
const (
	Kept    = 2048
	maxText = 1024
)

// Topic is what an event is about.
type Topic string

// The topics.
const (
	Training    Topic = "training" // runs, generations and their workers
	Queue       Topic = "queue"    // runs that wait, and schedules
	Data        Topic = "data"     // jobs and shards
	Checkpoint  Topic = "checkpoint"
	Security    Topic = "security" // refusals, certificates
	Coordinator Topic = "coordinator"
)

// Topics has all topics.
var Topics = []Topic{Training, Queue, Data, Checkpoint, Security, Coordinator}

// An Event is one thing that happened.
type Event struct {
	Start   int64     `json:"start"`  // of the coordinator: nanoseconds since 1970; numbers begin again with each
	Number  uint64    `json:"number"` // from 1, without gaps
	Time    time.Time `json:"time"`
	Warning bool      `json:"warning"` // somebody should look at it
	Topic   Topic     `json:"topic"`
	Text    string    `json:"text"`
}

// A Position is the last event that a follower has; the zero value: none.
type Position struct {
	Start  int64
	Number uint64
}

// A Journal may be used concurrently.
type Journal struct {
	start int64

	mu     sync.Mutex
	events []Event // the last, oldest first
	number uint64  // of the last
	more   chan struct{}
}

// New makes an empty journal of a coordinator that starts now.
func New(now time.Time) *Journal {
	return &Journal{start: now.UnixNano(), more: make(chan struct{})}
}

// Add adds an event.
func (j *Journal) Add(now time.Time, topic Topic, warning bool, text string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.number++
	if len(j.events) >= 2*Kept { // copied once in Kept events
		j.events = append(j.events[:0], j.events[len(j.events)-Kept+1:]...)
	}
	j.events = append(j.events, Event{Start: j.start, Number: j.number, Time: now.UTC(), Warning: warning, Topic: topic, Text: clip(text)})
	close(j.more)
	j.more = make(chan struct{})
}

// After returns the kept events after a position, and a channel that is closed when there are
// more. All kept events are after a position of another start.
func (j *Journal) After(p Position) (events []Event, more <-chan struct{}) {
	j.mu.Lock()
	defer j.mu.Unlock()
	kept := j.events[max(0, len(j.events)-Kept):]
	if p.Start == j.start && len(kept) > 0 {
		first := kept[0].Number
		if p.Number >= first {
			kept = kept[min(p.Number-first+1, uint64(len(kept))):]
		}
	}
	return append([]Event{}, kept...), j.more
}

// Logger returns a logger whose records of the level Info and above are also events of a topic.
func (j *Journal) Logger(log *slog.Logger, topic Topic) *slog.Logger {
	return slog.New(handler{log.Handler(), j, topic, ""})
}

// handler hands records to another one, and adds them to the journal.
type handler struct {
	slog.Handler
	journal *Journal
	topic   Topic
	attrs   string // that With has added
}

// Enabled implements slog.Handler.
func (h handler) Enabled(ctx context.Context, level slog.Level) bool {
	return level >= slog.LevelInfo || h.Handler.Enabled(ctx, level)
}

// Handle implements slog.Handler.
func (h handler) Handle(ctx context.Context, r slog.Record) error {
	if r.Level >= slog.LevelInfo {
		text := h.attrs
		r.Attrs(func(a slog.Attr) bool { text += ", " + sentence(a); return len(text) <= maxText })
		if text != "" {
			text = ": " + strings.TrimPrefix(text, ", ")
		}
		h.journal.Add(r.Time, h.topic, r.Level >= slog.LevelWarn, r.Message+text)
	}
	if !h.Handler.Enabled(ctx, r.Level) {
		return nil
	}
	return h.Handler.Handle(ctx, r)
}

// WithAttrs implements slog.Handler.
func (h handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	h.Handler = h.Handler.WithAttrs(attrs)
	for _, a := range attrs {
		h.attrs += ", " + sentence(a)
	}
	return h
}

// WithGroup implements slog.Handler.
func (h handler) WithGroup(name string) slog.Handler {
	h.Handler = h.Handler.WithGroup(name)
	return h
}

// sentence is a detail as people read it. An error speaks for itself.
func sentence(a slog.Attr) string {
	if a.Key == "error" || a.Key == "reason" {
		return a.Value.String()
	}
	return fmt.Sprintf("%s %s", a.Key, a.Value)
}

// clip bounds a text, and makes it valid UTF-8 of one line.
func clip(text string) string {
	text = strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\n", " ")
	if len(text) <= maxText {
		return text
	}
	end := maxText - len("…")
	for !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + "…"
}
