package trainer_test

import (
	"math"
	"slices"
	"testing"

	"github.com/ergoflow/ergoflow/model/compute/backend"
	"github.com/ergoflow/ergoflow/model/compute/backend/backendtest"
	"github.com/ergoflow/ergoflow/model/network/layers"
	"github.com/ergoflow/ergoflow/model/training/trainer"
)

func bfloat16(c trainer.Config) trainer.Config {
	c.Precision = layers.BFloat16
	return c
}

// The gradient of products of bfloat16 is that of float32 up to their rounding,
// 2⁻⁹ for each factor, and not the same.
func TestBFloat16Gradient(t *testing.T) {
	for name, c := range map[string]trainer.Config{"line": config(1), "plane": planeConfig()} {
		t.Run(name, func(t *testing.T) {
			batch := noise(0, 6, samples, c.Model)
			backendtest.Each(t, func(t *testing.T, b *backend.Backend) {
				full, _ := newTrainer(t, b, c)
				half, _ := newTrainer(t, b, bfloat16(c))
				want, got := total(t, full, batch), total(t, half, batch)
				var difference, length float64
				for i := range want[:full.Size()] {
					difference += math.Pow(float64(got[i])-float64(want[i]), 2)
					length += math.Pow(float64(want[i]), 2)
				}
				if d := math.Sqrt(difference / length); !(d > 1e-5 && d < 0.02) {
					t.Errorf("gradient is %.2g from that of float32, relative to its length", d)
				}
				loss, _ := trainer.Loss(got)
				if exact, _ := trainer.Loss(want); !(math.Abs(loss-exact) <= 0.01*exact) {
					t.Errorf("loss is %g, in float32 %g", loss, exact)
				}
			})
		})
	}
}

// Parameters and moments are float32 whatever the gradient: a step far below the
// resolution of bfloat16 changes them as it does in float32, bit for bit. Batches
// of one sum are added up in float32 too.
func TestBFloat16KeepsTheState(t *testing.T) {
	c := config(1)
	c.Optimizer.Schedule.Peak = 1e-3 // 4e-5 in the first step, where bfloat16 resolves 1e-3
	backendtest.Each(t, func(t *testing.T, b *backend.Backend) {
		full, start := newTrainer(t, b, c)
		half, _ := newTrainer(t, b, bfloat16(c))
		first, second := noise(0, 6, samples, c.Model), noise(6, 6, samples, c.Model)
		sum, one, other := total(t, half, first, second), total(t, half, first), total(t, half, second)
		for i := range sum {
			if want := one[i] + other[i]; sum[i] != want {
				t.Fatalf("sum[%d] is %g, want %g", i, sum[i], want)
			}
		}
		var states [2][3][]float32
		for k, tr := range []*trainer.Trainer{full, half} {
			if err := tr.Apply(sum, 0); err != nil {
				t.Fatal(err)
			}
			for i := range states[k] {
				states[k][i] = make([]float32, tr.Size())
			}
			if err := tr.State(states[k][0], states[k][1], states[k][2]); err != nil {
				t.Fatal(err)
			}
		}
		for i, name := range []string{"parameters", "first moment", "second moment"} {
			if !slices.Equal(states[0][i], states[1][i]) {
				t.Errorf("%s differ from those of float32", name)
			}
		}
		if slices.Equal(states[1][0], start) {
			t.Error("the step changed nothing")
		}
	})
}

// A few hundred steps on one batch reduce the loss as much as in float32.
func TestBFloat16Learns(t *testing.T) {
	const steps = 300
	c := config(steps)
	b := backendtest.Fast(t)
	batch := noise(0, 32, samples, c.Model)
	var losses, drops []float64
	for _, c := range []trainer.Config{c, bfloat16(c)} {
		tr, _ := newTrainer(t, b, c)
		var first, last float64
		for step := range int64(steps) {
			sum := total(t, tr, batch)
			last, _ = trainer.Loss(sum)
			if step == 0 {
				first = last
			}
			if err := tr.Apply(sum, step); err != nil {
				t.Fatal(err)
			}
		}
		losses, drops = append(losses, last), append(drops, first-last)
	}
	if !(drops[0] > 4*losses[0]) {
		t.Errorf("float32 learns nothing: loss %g after %g less", losses[0], drops[0])
	}
	if !(math.Abs(losses[1]-losses[0]) <= 0.02*drops[0]) {
		t.Errorf("loss is %g, in float32 %g, which lost %g", losses[1], losses[0], drops[0])
	}
}
