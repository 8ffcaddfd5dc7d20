package simulation

import (
	"testing"

	"github.com/ergoflow/ergoflow"
)

// TestMissingStart: a run that begins from an earlier state fails where that state is not
// stored, whatever else goes wrong, and no worker makes a step.
func TestMissingStart(t *testing.T) {
	for seed := uint64(0); seed < 300; seed += 3 {
		w := newWorld(seed, sabotage{noStart: true, alone: true}, false)
		for w.runs[0].failure == "" && w.broken == "" && w.now < patience {
			w.next()
		}
		if w.broken != "" || w.runs[0].failure == "" || w.runs[0].madeAt != 0 {
			t.Errorf("seed %d: broken: %q, failure: %q, first step at %v", seed, w.broken, w.runs[0].failure, w.runs[0].madeAt)
		}
	}
}

// TestLostStart: if the checkpoint at step 0 is lost while no worker has a state, the run fails
// as well, also after generations have formed.
func TestLostStart(t *testing.T) {
	lost := 0
	for seed := uint64(0); seed < 300; seed += 3 {
		w := newWorld(seed, sabotage{alone: true, one: true}, false) // of several, a copy may be under way
		for w.runs[0].newest == nil && w.broken == "" && w.now < patience {
			w.next()
		}
		for _, p := range w.alive() {
			p.crash()
		}
		if n := w.runs[0].newestCheckpoint(); n != nil && n.mark != (ergoflow.Mark{}) {
			continue // a later checkpoint is there
		}
		lost++
		w.runs[0].checkpoints = nil
		clear(w.leader().stored)
		w.leader().crash()
		for w.runs[0].failure == "" && w.broken == "" && w.now < 2*patience {
			w.next()
		}
		if w.broken != "" || w.runs[0].failure == "" {
			t.Errorf("seed %d: broken: %q, failure: %q", seed, w.broken, w.runs[0].failure)
		}
	}
	if lost < 50 {
		t.Errorf("only %d worlds lost their start", lost)
	}
}
