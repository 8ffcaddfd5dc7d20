package queue

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// A request that comes again, because its answer was lost, adds nothing: also after a restart,
// after its run has ended, and where it joined the run of another request.
func TestRequests(t *testing.T) {
	b := newBench(t)
	plan := testPlan("hash")
	answered := func(e Event) ID {
		t.Helper()
		b.accept(e)
		i := slices.IndexFunc(b.effects, func(e Effect) bool { _, ok := e.(Answer); return ok })
		return b.effects[i].(Answer).ID
	}
	requests := []Event{
		Submit{Kind: Retrain, Config: "/c.yaml", Request: "a"},
		RunSchedule{Name: "nightly", Request: "b"},
		Submit{Kind: Train, Plan: &plan, Queue: true, Request: "c"},
		Submit{Kind: Train, Plan: &plan, Queue: true, Request: "d"},
	}
	want := []ID{1, 2, 3, 3}
	b.accept(AddSchedule{nightly()})
	disk := map[ID]Run{}
	send := func() {
		t.Helper()
		for i, e := range requests {
			if id := answered(e); id != want[i] {
				t.Fatalf("request %d is answered with run %d, want %d", i, id, want[i])
			}
			for _, effect := range b.effects {
				if p, ok := effect.(Persist); ok {
					for _, r := range p.Runs {
						disk[r.ID] = r
					}
				}
			}
		}
	}
	send()
	send()
	b.accept(Cancel{3})
	for _, r := range b.effects[0].(Persist).Runs {
		disk[r.ID] = r
	}
	b.start(Ledger{Next: 4, Runs: []Run{disk[1], disk[2], disk[3]}})
	send()
	b.want(3, Ended, Cancelled)
	if r := b.m.Runs(10); len(r) != 3 {
		t.Errorf("there are %d runs: %+v", len(r), r)
	}

	for i := range maxRequests { // more than a run remembers
		b.accept(Submit{Kind: Train, Plan: &plan, Queue: true, Request: fmt.Sprint(i)})
		b.accept(Submit{Kind: Train, Plan: &plan, Queue: true, Request: fmt.Sprint(i, "again")})
	}
	r := b.want(4, Running, "")
	if len(r.Requests) != maxRequests || b.m.requests["0"] != 0 || b.m.requests["15"] != 4 {
		t.Errorf("run 4 has the requests %q, and the machine %v", r.Requests, b.m.requests)
	}
	if err := r.Validate(); err != nil {
		t.Error(err)
	}
	if refusal := b.step(Submit{Kind: Retrain, Config: "/c.yaml", Request: strings.Repeat("x", maxRequest+1)}); refusal == "" {
		t.Error("a name of 129 bytes is accepted")
	}
	if refusal := b.step(RunSchedule{Name: "nightly", Request: strings.Repeat("x", maxRequest+1)}); refusal == "" {
		t.Error("a name of 129 bytes is accepted")
	}
}
