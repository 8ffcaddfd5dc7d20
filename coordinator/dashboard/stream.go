package dashboard

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/ergoflow/ergoflow/coordinator/journal"
	"github.com/ergoflow/ergoflow/internal/finitejson"
)

// openingEvents is how many of the events that the journal keeps a new page gets.
const openingEvents = 1000

// hello is the first event of a stream.
type hello struct {
	Build string `json:"build"` // of the page: another one means that it must be loaded again
	caller
}

// events is the stream of one page.
func (s *Server) events(w http.ResponseWriter, r *http.Request) {
	who, err := s.source.Access.judge(r)
	if err != nil {
		refuse(w, http.StatusForbidden, err.Error())
		return
	}
	leave, ok := s.hub.enter(s.limits.streams)
	if !ok {
		s.refuseMore(w)
		return
	}
	defer leave()
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Accel-Buffering", "no")
	t := &stream{server: s, w: w, control: http.NewResponseController(w), r: r, at: position(r)}
	if err := t.control.SetReadDeadline(time.Time{}); err != nil { // that of the server would end the stream
		refuse(w, http.StatusInternalServerError, "streams are not possible here: "+err.Error())
		return
	}
	t.run(hello{s.build, who})
}

// stream is a page that is open.
type stream struct {
	server  *Server
	w       http.ResponseWriter
	control *http.ResponseController
	r       *http.Request
	at      journal.Position // of the last event that was sent
	sent    *frame
	err     error // of a write; those after it do nothing
}

// run sends until the page is gone, does not read, or the coordinator ends.
func (t *stream) run(first hello) {
	t.begin()
	t.write([]byte("retry: 1000\n\n"))
	t.document("hello", "", first)
	past, err := t.server.hub.history()
	if err != nil {
		t.server.source.Log.Warn("a page does not get the history", "error", err)
		return
	}
	t.event("history", "", past)
	beat := time.NewTicker(t.server.limits.beat)
	defer beat.Stop()
	most := openingEvents
	for t.err == nil {
		f, changed := t.server.hub.newest()
		if f != nil && f != t.sent {
			t.event("state", "", f.event)
			t.sent = f
		}
		more := t.addEvents(most)
		most = journal.Kept
		t.flush()
		t.wait(changed, more, beat.C)
	}
}

// wait waits until there is something to send.
func (t *stream) wait(changed, more <-chan struct{}, beat <-chan time.Time) {
	ended := t.r.Context().Done()
	select {
	case <-changed:
	case <-more: // there may be many in a row
		pause := time.NewTimer(t.server.limits.pause)
		defer pause.Stop()
		select {
		case <-pause.C:
		case <-ended:
		}
	case <-beat:
		if _, err := t.server.source.Access.judge(t.r); err != nil {
			t.err = err // its certificate has ended, or is revoked
		}
		t.begin()
		t.event("beat", "", []byte("{}"))
		return
	case <-ended:
	}
	if err := t.r.Context().Err(); err != nil {
		t.err = err
	}
	t.begin()
}

// addEvents sends the events of the journal after the last that was sent, the newest of them.
func (t *stream) addEvents(most int) (more <-chan struct{}) {
	list, more := t.server.source.Events.After(t.at)
	if len(list) == 0 {
		return more
	}
	list = list[max(0, len(list)-most):]
	last := list[len(list)-1]
	t.at = journal.Position{Start: last.Start, Number: last.Number}
	t.document("log", fmt.Sprintf("%d-%d", last.Start, last.Number), list)
	return more
}

// begin begins a round of writes, which must end in time.
func (t *stream) begin() {
	if t.err == nil {
		t.err = t.control.SetWriteDeadline(time.Now().Add(t.server.limits.write))
	}
}

func (t *stream) write(b []byte) {
	if t.err == nil {
		_, t.err = t.w.Write(b)
	}
}

func (t *stream) flush() {
	if t.err == nil {
		t.err = t.control.Flush()
	}
}

// document sends an event of a value as JSON.
func (t *stream) document(name, id string, value any) {
	b, _, err := finitejson.Marshal(value, "")
	if err != nil {
		t.err = fmt.Errorf("encode the event %s: %w", name, err)
		return
	}
	t.event(name, id, b)
}

// event sends an event. data is JSON, which has no line breaks.
func (t *stream) event(name, id string, data []byte) {
	head := "event: " + name + "\ndata: "
	if id != "" {
		head = "id: " + id + "\n" + head
	}
	t.write([]byte(head))
	t.write(data)
	t.write([]byte("\n\n"))
}

// position is the last event that a page has, as its browser or the page says. What is no
// position is none.
func position(r *http.Request) journal.Position {
	text := r.Header.Get("Last-Event-ID")
	if text == "" {
		text = r.URL.Query().Get("after")
	}
	start, number, ok := strings.Cut(text, "-")
	if !ok || len(text) > 64 {
		return journal.Position{}
	}
	var p journal.Position
	var err error
	if p.Start, err = strconv.ParseInt(start, 10, 64); err != nil {
		return journal.Position{}
	}
	if p.Number, err = strconv.ParseUint(number, 10, 64); err != nil {
		return journal.Position{}
	}
	return p
}
