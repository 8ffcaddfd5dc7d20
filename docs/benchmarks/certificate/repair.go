package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/ergoflow/ergoflow/data/random"
	"github.com/ergoflow/ergoflow/model/sampling/certificate"
	"github.com/ergoflow/ergoflow/model/sampling/repair"
)

// limit is that of auto for each function.
const limit = 300 * time.Millisecond

// ofRepair repairs samples of the model, and of N(0, 1), and judges them.
func ofRepair(m *model) error {
	fmt.Printf("## Repair\n\nThe samples of the model on the same functions, after steps of their equation, and those that start from N(0, 1). W2 is from the exact law, in deviations of the law; %d exact draws have the W2 of the last row. The limit of auto is %v here; the numbers of its rows depend on the speed of the machine.\n\n| start | --repair | W2, median | 90 %% | good | use with care | do not use | settled | seconds, median |\n|---|---|---:|---:|---:|---:|---:|---:|---:|\n", samples, limit)
	at := func(v []float64, u float64) float64 { slices.Sort(v); return v[int(u*float64(len(v)-1)+0.5)] }
	for _, start := range []string{"model", "N(0, 1)"} {
		for _, steps := range []int{-1, 100, 300, 1000, 10000, 0} {
			verdicts, settled := tally{}, 0
			var w2, seconds []float64
			for i := range functions {
				f, s, err := m.heldOut(i)
				if err != nil {
					return err
				}
				x, err := m.starts(start, i)
				if err != nil {
					return err
				}
				if steps >= 0 {
					right := func(x []float32) bool { return s.Certify(x, 1).Verdict == certificate.Good }
					r, err := repair.Run(context.Background(), x, repair.Equation{System: f.System}, repair.Options{Steps: steps, Limit: limit, Seed: seed}, right)
					if err != nil {
						return err
					}
					seconds = append(seconds, r.Seconds)
					if r.Settled {
						settled++
					}
				}
				c := s.Certify(x, 1)
				verdicts[c.Verdict]++
				w2 = append(w2, effect(c, "w2"))
			}
			name, took, part := fmt.Sprint(steps), "", ""
			switch steps {
			case -1:
				name = "none"
			case 0:
				name, part = "auto", fmt.Sprintf("%.1f %%", 100*float64(settled)/functions)
			}
			if seconds != nil {
				took = fmt.Sprintf("%.2g", at(seconds, 0.5))
			}
			fmt.Printf("| %s | %s | %.3f | %.3f | %s | %s | %s |\n", start, name, at(w2, 0.5), at(w2, 0.9), verdicts.row(functions), part, took)
		}
	}
	var w2 []float64
	verdicts := tally{}
	for i := range functions {
		_, s, err := m.heldOut(i)
		if err != nil {
			return err
		}
		x := make([]float32, samples)
		rng := random.New(seed, "certificate/floor", uint64(i))
		for k := range x {
			x[k] = float32(s.Law.Quantile(rng.Float64()))
		}
		c := s.Certify(x, 1)
		verdicts[c.Verdict]++
		w2 = append(w2, effect(c, "w2"))
	}
	fmt.Printf("| exact draws | none | %.3f | %.3f | %s | | |\n\n", at(w2, 0.5), at(w2, 0.9), verdicts.row(functions))
	return nil
}

// starts are the samples that a repair of function i starts from.
func (m *model) starts(start string, i int) ([]float32, error) {
	if start == "model" {
		f, _, err := m.heldOut(i)
		if err != nil {
			return nil, err
		}
		return m.draw(f)
	}
	x, rng := make([]float32, samples), random.New(seed, "certificate/start", uint64(i))
	for k := range x {
		x[k] = float32(rng.NormFloat64())
	}
	return x, nil
}
