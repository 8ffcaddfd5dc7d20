package optim_test

import (
	"encoding/json"
	"math"
	"os"
	"testing"

	"github.com/ergoflow/ergoflow/model/compute/backend"
	"github.com/ergoflow/ergoflow/model/compute/backend/backendtest"
	"github.com/ergoflow/ergoflow/model/training/optim"
)

// golden is what testdata/golden.py writes.
type golden struct {
	Schedules []struct {
		Total, Step int64
		Rate, Beta1 float64
	}
	Total       int64
	WeightDecay float64 `json:"weight_decay"`
	Count       float32
	Theta       []float32
	Updates     []struct {
		Sum         []float32
		Norm        float64
		Theta, M, V []float64
	}
}

func readGolden(t *testing.T) golden {
	t.Helper()
	text, err := os.ReadFile("testdata/golden.json")
	if err != nil {
		t.Fatal(err)
	}
	var g golden
	if err := json.Unmarshal(text, &g); err != nil {
		t.Fatal(err)
	}
	return g
}

func TestOneCycleIsPyTorchs(t *testing.T) {
	for _, want := range readGolden(t).Schedules {
		rate, beta1 := optim.OneCycle{Peak: 1e-3, Total: want.Total}.At(want.Step)
		if !(math.Abs(rate-want.Rate) <= 1e-12*want.Rate+1e-18 && math.Abs(beta1-want.Beta1) <= 1e-12) {
			t.Errorf("step %d of %d: rate %.15g, beta1 %.15g; want %.15g, %.15g",
				want.Step, want.Total, rate, beta1, want.Rate, want.Beta1)
		}
	}
}

func TestAdamWIsPyTorchs(t *testing.T) {
	g := readGolden(t)
	adam := optim.AdamW{WeightDecay: g.WeightDecay, ClipNorm: 1, Schedule: optim.OneCycle{Peak: 1e-2, Total: g.Total}}
	if err := adam.Validate(); err != nil {
		t.Fatal(err)
	}
	backendtest.Each(t, func(t *testing.T, b *backend.Backend) {
		size := len(g.Theta)
		update, err := adam.Compile(b, size)
		if err != nil {
			t.Fatal(err)
		}
		defer update.Close()
		upload := func(values []float32) backend.Buffer {
			buffer, err := b.Upload(values, len(values))
			if err != nil {
				t.Fatal(err)
			}
			return buffer
		}
		state := []backend.Buffer{upload(g.Theta), upload(make([]float32, size)), upload(make([]float32, size))}
		for step, want := range g.Updates {
			sum := append(append([]float32(nil), want.Sum...), 123, g.Count)
			total, scalars := upload(sum), upload(adam.Scalars(int64(step)))
			next, err := update.Run(state[0], state[1], state[2], total, scalars)
			if err != nil {
				t.Fatal(err)
			}
			backend.Free(append(state, total, scalars)...)
			state = next[:3]
			for i, values := range [][]float64{want.Theta, want.M, want.V, {want.Norm}} {
				got := make([]float32, len(values))
				if err := backend.Download(got, next[i]); err != nil {
					t.Fatal(err)
				}
				for j, w := range values {
					if !(math.Abs(float64(got[j])-w) <= 1e-6*max(math.Abs(w), 0.1)) {
						t.Errorf("step %d, output %d, element %d is %.9g, want %.9g", step, i, j, got[j], w)
					}
				}
			}
			backend.Free(next[3])
		}
		backend.Free(state...)
	})
}

func TestAdamWValidate(t *testing.T) {
	good := optim.AdamW{WeightDecay: 1e-4, ClipNorm: 1, Schedule: optim.OneCycle{Peak: 1e-3, Total: 10}}
	for name, spoil := range map[string]func(*optim.AdamW){
		"no steps":       func(a *optim.AdamW) { a.Schedule.Total = 0 },
		"rate NaN":       func(a *optim.AdamW) { a.Schedule.Peak = math.NaN() },
		"rate zero":      func(a *optim.AdamW) { a.Schedule.Peak = 0 },
		"negative decay": func(a *optim.AdamW) { a.WeightDecay = -1 },
		"no clip":        func(a *optim.AdamW) { a.ClipNorm = 0 },
	} {
		a := good
		spoil(&a)
		if a.Validate() == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}
