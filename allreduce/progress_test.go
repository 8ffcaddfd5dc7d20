package allreduce

import (
	"testing"
	"time"
)

// Progress tells the last chunks of every link, and for which a ring waits.
func TestProgress(t *testing.T) {
	rings := mustJoin(t, memoryCluster(t, 3), 1, Options{})
	defer closeAll(t, rings)
	done := make(chan error, 2)
	for _, r := range rings[:2] {
		go func() { done <- r.AllReduce(5, make([]float32, 100_000)) }()
	}
	// Rank 2 does not sum: the others wait for its chunks.
	var p Progress
	for begin := time.Now(); p.Waits == nil || p.Waits.From != 2; p = rings[0].Progress() {
		if time.Since(begin) > time.Minute {
			t.Fatalf("rank 0 waits for %+v", p.Waits)
		}
	}
	if c := p.Waits.Chunk; c.Step != 5 || c.Bucket != 0 || time.Since(p.Waits.Since) > time.Minute {
		t.Errorf("rank 0 waits for %+v", p.Waits)
	}
	if p.Rank != 0 || len(p.Links) != 2 || p.Links[0].Rank != 1 || p.Links[1].Rank != 2 {
		t.Fatalf("%+v", p)
	}
	if l := p.Links[1]; l.Sent == nil || l.Sent.Step != 5 || l.Received != nil {
		t.Errorf("link to rank 2: sent %+v, received %+v", l.Sent, l.Received)
	}
	if err := rings[2].AllReduce(5, make([]float32, 100_000)); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := <-done; err != nil {
			t.Fatal(err)
		}
	}
	for _, r := range rings {
		p := r.Progress()
		if p.Waits != nil {
			t.Errorf("rank %d waits after the sum: %+v", p.Rank, p.Waits)
		}
		for _, l := range p.Links {
			if l.Sent == nil || l.Received == nil || l.Received.Step != 5 {
				t.Errorf("rank %d, link to %d: %+v, %+v", p.Rank, l.Rank, l.Sent, l.Received)
			}
		}
	}
}

// Segments that come while nothing new does are counted; new bytes begin the count anew.
func TestRepeatedSegments(t *testing.T) {
	var s silence
	for i, look := range []struct {
		arrivals, segments, want uint64
	}{{1, 10, 0}, {1, 10, 0}, {1, 12, 2}, {1, 13, 3}, {2, 20, 0}, {2, 21, 1}} {
		s.look(look.arrivals, true, beatInterval)
		s.count(look.segments)
		if got := s.repeated.Load(); got != look.want {
			t.Errorf("look %d: %d repeated, want %d", i, got, look.want)
		}
	}
}
