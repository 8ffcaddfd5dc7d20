package journal

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

func texts(events []Event) (list []string) {
	for _, e := range events {
		list = append(list, e.Text)
	}
	return list
}

// TestAfter: a follower gets every kept event once, in order, whatever it had before.
func TestAfter(t *testing.T) {
	j := New(time.Unix(7, 0))
	if events, _ := j.After(Position{}); len(events) != 0 {
		t.Fatalf("an empty journal has %v", events)
	}
	var p Position
	seen := uint64(0)
	for i := range 5*Kept + 17 {
		j.Add(time.Unix(int64(i), 0), Training, false, "x")
		if i%(Kept-3) == 0 {
			events, _ := j.After(p)
			for _, e := range events {
				if e.Number != seen+1 {
					t.Fatalf("event %d after %d", e.Number, seen)
				}
				seen = e.Number
			}
			p = Position{j.start, seen}
		}
	}
	last := uint64(5*Kept + 17)
	for _, c := range []struct {
		p     Position
		first uint64
	}{
		{Position{}, last - Kept + 1},
		{Position{j.start, 1}, last - Kept + 1}, // the next ones are gone
		{Position{j.start, last - Kept}, last - Kept + 1},
		{Position{j.start, last - Kept + 1}, last - Kept + 2},
		{Position{j.start, last - 1}, last},
		{Position{j.start, last}, last + 1},
		{Position{j.start, last + 100}, last + 1},
		{Position{j.start + 1, last - 1}, last - Kept + 1}, // of another start
	} {
		events, _ := j.After(c.p)
		if len(events) != int(last+1-c.first) || len(events) > 0 && events[0].Number != c.first {
			t.Errorf("after %+v: %d events, want them from %d", c.p, len(events), c.first)
		}
	}
}

// TestMore: the channel of After closes with the next event.
func TestMore(t *testing.T) {
	j := New(time.Now())
	_, more := j.After(Position{})
	select {
	case <-more:
		t.Fatal("there is nothing more")
	default:
	}
	j.Add(time.Now(), Data, true, "y")
	<-more
}

// TestLogger: records go to both, the journal gets them whatever the log's level.
func TestLogger(t *testing.T) {
	var out bytes.Buffer
	j := New(time.Now())
	log := j.Logger(slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.LevelWarn})), Data)
	log.Debug("a detail")
	log.Info("a run begins")
	log.With("shard", 3).Warn("a job failed", "worker", "w-1", "error", errors.New("no room"))
	events, _ := j.After(Position{})
	if got := strings.Join(texts(events), "|"); got != "a run begins|a job failed: shard 3, worker w-1, no room" {
		t.Errorf("the journal has %q", got)
	}
	if events[0].Warning || !events[1].Warning || events[1].Topic != Data {
		t.Errorf("the events are %+v", events)
	}
	if s := out.String(); strings.Contains(s, "begins") || !strings.Contains(s, "shard=3 worker=w-1") {
		t.Errorf("the log has %q", s)
	}
}

// TestClip: a text is one line of valid UTF-8 of bounded length.
func TestClip(t *testing.T) {
	for _, text := range []string{strings.Repeat("é", maxText), "a\nb\xff", strings.Repeat("x", maxText+1)} {
		got := clip(text)
		if len(got) > maxText || !utf8.ValidString(got) || strings.ContainsRune(got, '\n') {
			t.Errorf("clip(%.20q) is %q", text, got)
		}
	}
}
