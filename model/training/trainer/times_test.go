package trainer_test

import (
	"math"
	"slices"
	"testing"

	"github.com/ergoflow/ergoflow/data/equations/family"
	"github.com/ergoflow/ergoflow/data/random"
	"github.com/ergoflow/ergoflow/data/sets/shard"
	"github.com/ergoflow/ergoflow/model/compute/backend/backendtest"
	"github.com/ergoflow/ergoflow/model/network/deeponet"
	"github.com/ergoflow/ergoflow/model/network/velocity"
	"github.com/ergoflow/ergoflow/model/sampling/ode"
	"github.com/ergoflow/ergoflow/model/sampling/sampler"
	"github.com/ergoflow/ergoflow/model/training/flow"
	"github.com/ergoflow/ergoflow/model/training/optim"
	"github.com/ergoflow/ergoflow/model/training/state"
	"github.com/ergoflow/ergoflow/model/training/trainer"
)

// A network with the input log τ learns the law of X_τ for dX = θ(μ − X)dt + s·dW
// from N(0, 1), which is normal with mean μ(1 − e^{−θτ}) and variance
// e^{−2θτ} + s²/(2θ)·(1 − e^{−2θτ}). Its samples have both at times that it was not
// trained on, for μ = ±1.5, which is a field. Every batch has new times. The error of a
// network that ignores them would be the distance between the laws, up to 1.5 in the
// mean and 0.6 in the deviation.
func TestLearnsTheLawAtATime(t *testing.T) {
	const (
		theta, noise, mu      = 0.4, 0.36, 1.5
		shortest, longest     = 0.05, 50.0
		functions, samples, n = 16, 64, 400
	)
	law := func(time, sign float64) gaussian {
		decay := math.Exp(-theta * time)
		return gaussian{[]float64{sign * mu * (1 - decay)}, math.Sqrt(decay*decay + noise*noise/(2*theta)*(1-decay*decay))}
	}
	inputs := []velocity.Input{{Name: "drift", Shape: []int{4}}, {Name: "log_time", Shape: []int{1}}}
	told := func(time, sign float64) [][]float32 {
		return [][]float32{slices.Repeat([]float32{float32(sign)}, 4), {float32(math.Log(time))}}
	}
	c := trainer.Config{
		Model: deeponet.Config{
			Dimension: 1, Fields: inputs, Rank: 8, Channels: []int{4}, Kernel: 3, Hidden: 32, TrunkWidth: 32, TrunkDepth: 2,
			TimeEmbedding: 4, StateEmbedding: 4, FMin: .125, FMax: .25,
		},
		Optimizer: optim.AdamW{WeightDecay: 1e-4, ClipNorm: 1, Schedule: optim.OneCycle{Peak: 1e-2, Total: n}},
		Samples:   samples,
	}
	normalisation := shard.Normalisation{"drift": {Std: 1}, "log_time": {Mean: math.Log(shortest*longest) / 2, Std: 2}}
	var fields []family.Field
	for _, in := range inputs {
		fields = append(fields, family.Field(in))
	}
	conditioner, err := flow.NewStored(inputs, fields, flow.Grid{}, normalisation)
	if err != nil {
		t.Fatal(err)
	}
	b := backendtest.Fast(t)
	tr, parameters := newTrainer(t, b, c)
	coupler, source := flow.NewCoupler(1), random.New(1, "test/times")
	batch := new(flow.Batch)
	for step := range n {
		batch.Reset(samples, 1, len(inputs))
		var subjects []flow.Subject
		for i := range functions {
			sign := float64(1 - 2*(i%2))
			time := shortest * math.Pow(longest/shortest, (float64(i)+source.Float64())/functions)
			g := law(time, sign)
			for range samples {
				batch.X0 = append(batch.X0, float32(source.NormFloat64()))
				batch.X1 = append(batch.X1, float32(g.mean[0]+g.std*source.NormFloat64()))
				batch.T = append(batch.T, source.Float32())
			}
			subjects = append(subjects, flow.Subject{Function: family.Function{Fields: told(time, sign)}})
			batch.Functions++
		}
		if err := conditioner.Condition(t.Context(), batch.Inputs, subjects); err != nil {
			t.Fatal(err)
		}
		if err := coupler.Couple(t.Context(), samples, batch.X0, batch.X1); err != nil {
			t.Fatal(err)
		}
		if err := tr.Apply(total(t, tr, batch), int64(step)); err != nil {
			t.Fatal(err)
		}
	}
	if err := tr.State(parameters, nil, nil); err != nil {
		t.Fatal(err)
	}
	s, err := sampler.New(b, c.Model, conditioner, &state.State{Layout: c.Model.Layout(), Parameters: parameters})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for _, time := range []float64{0.07, 0.5, 1.5, 4, 12, 40} {
		for _, sign := range []float64{1, -1} {
			const drawn = 4096
			x, err := s.Sample(t.Context(), []flow.Subject{{Function: family.Function{Fields: told(time, sign)}}}, drawn, ode.RK4{Steps: 4}, 1)
			if err != nil {
				t.Fatal(err)
			}
			var mean, square float64
			for _, v := range x[0] {
				mean, square = mean+float64(v)/drawn, square+float64(v)*float64(v)/drawn
			}
			g, std := law(time, sign), math.Sqrt(square-mean*mean)
			if !(math.Abs(mean-g.mean[0]) <= 0.1 && math.Abs(std-g.std) <= 0.1) {
				t.Errorf("τ = %g, μ = %g: mean %.3f, deviation %.3f, want %.3f, %.3f", time, sign*mu, mean, std, g.mean[0], g.std)
			}
		}
	}
}
