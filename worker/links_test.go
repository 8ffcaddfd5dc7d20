package worker

import (
	"fmt"
	"testing"

	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/coordinator/message"
)

// A worker measures each other one once, from the next after itself on, and at most a number.
func TestUnknownRates(t *testing.T) {
	var all []message.Member
	for k := range 100 {
		all = append(all, message.Member{ID: ergoflow.WorkerID(fmt.Sprintf("w%02d", k))})
	}
	others := func(own int) (list []message.Member) {
		for k, m := range all {
			if k != own {
				list = append(list, m)
			}
		}
		return list
	}
	var r rates
	if next := r.unknown("w50", others(50)); len(next) != mostRates || next[0].ID != "w51" || next[49].ID != "w00" {
		t.Fatalf("%d, from %v on", len(next), next[0].ID)
	}
	r.set("w51", 5)
	r.set("w52", 0) // it could not be measured
	next := r.unknown("w50", others(50))
	if len(next) != mostRates-2 || next[0].ID != "w53" || r.get("w51") != 5 {
		t.Errorf("%d, from %v on", len(next), next[0].ID)
	}
	if known, least, most := r.summary(); known != 1 || least != 5 || most != 5 {
		t.Errorf("%d are known, from %v to %v", known, least, most)
	}
	// Those that have gone are forgotten: the next process may be elsewhere.
	if next := r.unknown("w50", all[:3]); len(next) != 3 || r.get("w51") != 0 {
		t.Errorf("%v, and %v", next, r.get("w51"))
	}
	if next := r.unknown("w50", nil); len(next) != 0 {
		t.Errorf("%v", next)
	}
}
