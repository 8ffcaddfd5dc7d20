package trainer_test

import (
	"testing"

	"github.com/ergoflow/ergoflow/model/compute/backend"
	"github.com/ergoflow/ergoflow/model/compute/backend/backendtest"
)

func TestStepsLeakNothing(t *testing.T) {
	const steps = 200
	c := config(2 * steps)
	tr, _ := newTrainer(t, backendtest.Fast(t), c)
	batch := noise(0, 2, samples, c.Model)
	step := int64(0)
	run := func() {
		for range steps {
			sum := total(t, tr, batch, batch)
			if err := tr.Apply(sum, step); err != nil {
				t.Fatal(err)
			}
			step++
		}
	}
	before := backend.LiveBuffers()
	run()
	if after := backend.LiveBuffers(); after != before {
		t.Errorf("%d buffers before and %d after %d steps", before, after, steps)
	}
	// Failures leak nothing either.
	broken := make([]float32, tr.Size()+2)
	for range 10 {
		if err := tr.Apply(broken, 0); err == nil {
			t.Fatal("an empty batch was applied")
		}
	}
	if after := backend.LiveBuffers(); after != before {
		t.Errorf("%d buffers before and %d after failures", before, after)
	}
}
