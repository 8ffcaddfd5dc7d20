package dashboard

import (
	"bytes"
	"context"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/ergoflow/ergoflow/internal/finitejson"
)

// frame is one snapshot as all streams send it. It does not change.
type frame struct {
	state []byte // JSON
	event []byte // the state, and when it was first so
}

// hub takes the snapshots.
type hub struct {
	source   Source
	interval time.Duration // between two snapshots

	taking  sync.Mutex // of what follows
	past    past
	encoded []byte // past, as it was at the last frame; nil: nobody has asked

	reading chan struct{} // asks for the registry

	mu       sync.Mutex
	taken    time.Time     // when the state was as frame has it
	frame    *frame        // the newest; nil: none yet
	changed  chan struct{} // closed when there is a newer one
	watchers int
	registry Registry
}

func newHub(s Source, interval time.Duration) *hub {
	return &hub{source: s, interval: interval, past: make(past), changed: make(chan struct{}), reading: make(chan struct{}, 1), registry: Registry{Known: s.Models != nil, Models: []Model{}}}
}

// run takes a snapshot every interval until ctx ends. While nobody watches it only notes the
// course of the runs.
func (h *hub) run(ctx context.Context) {
	ticker := time.NewTicker(h.interval)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			h.take()
		case <-ctx.Done():
			return
		}
	}
}

// take takes a snapshot. It wakes the streams if the snapshot differs from the last.
func (h *hub) take() {
	h.taking.Lock()
	defer h.taking.Unlock()
	h.mu.Lock()
	whole, last, registry := h.watchers > 0, h.frame, h.registry
	h.mu.Unlock()
	now := time.Now()
	s, ok := h.source.State(whole)
	if !ok {
		return
	}
	h.past.note(now, s.Runs, h.interval)
	h.encoded = nil
	if !whole {
		return
	}
	s.Registry = registry
	next, err := h.encode(now, s)
	if err != nil {
		h.source.Log.Warn("the page does not get the state", "error", err)
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.taken = now
	if last == nil || !bytes.Equal(last.state, next.state) {
		h.frame = next
		close(h.changed)
		h.changed = make(chan struct{})
	}
}

// encode makes the frame of a snapshot.
func (*hub) encode(now time.Time, s State) (*frame, error) {
	state, _, err := finitejson.Marshal(s, "")
	if err != nil {
		return nil, fmt.Errorf("encode the state: %w", err)
	}
	event := append([]byte(`{"time":`), strconv.FormatFloat(float64(now.UnixMilli())/1000, 'f', 3, 64)...)
	event = append(append(append(event, `,"state":`...), state...), '}')
	return &frame{state: state, event: event}, nil
}

// history is the course of all runs, JSON. It is encoded once for all who open the page between
// two snapshots.
func (h *hub) history() ([]byte, error) {
	h.taking.Lock()
	defer h.taking.Unlock()
	if h.encoded == nil {
		b, _, err := finitejson.Marshal(h.past, "")
		if err != nil {
			return nil, fmt.Errorf("encode the history: %w", err)
		}
		h.encoded = b
	}
	return h.encoded, nil
}

// enter counts a watcher, up to a bound, and takes a snapshot if the last is old. leave ends
// what it began.
func (h *hub) enter(most int) (leave func(), ok bool) {
	h.mu.Lock()
	if h.watchers >= most {
		h.mu.Unlock()
		return nil, false
	}
	h.watchers++
	stale := h.frame == nil || time.Since(h.taken) > 2*h.interval
	h.mu.Unlock()
	if stale {
		h.readSoon()
		h.take()
	}
	return func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.watchers--
	}, true
}

// newest is the last frame, nil where there is none, and a channel that is closed when there is
// a newer one.
func (h *hub) newest() (*frame, <-chan struct{}) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.frame, h.changed
}
