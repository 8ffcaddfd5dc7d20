package trainer

import (
	"github.com/ergoflow/ergoflow/data/random"
	"github.com/ergoflow/ergoflow/data/sets/batch"
	"github.com/ergoflow/ergoflow/data/sets/shard"
)

// noiseShard writes and opens a shard of the workload's functions, with standard
// normal numbers for their samples.
func noiseShard(dir string, plan batch.Plan, w Workload) (*shard.Shard, error) {
	const dataset = "00000000000000000000000000000000"
	store, dim := shard.NewDir(dir), w.Config.Model.Dim()
	to, err := store.Create(shard.Header{
		Family: "noise", Dataset: dataset, Purpose: shard.Train,
		Count: plan.FunctionsPerShard, Dim: dim, Fields: w.Fields, Samples: plan.Samples,
	})
	if err != nil {
		return nil, err
	}
	if err := writeNoise(to, plan, w, dim); err != nil {
		to.Abort()
		return nil, err
	}
	if _, err := to.Commit(); err != nil {
		return nil, err
	}
	return store.Open(dataset, 0)
}

func writeNoise(to *shard.Writer, plan batch.Plan, w Workload, dim int) error {
	for k := range w.Fields { // a shard stores field after field
		for i := range plan.FunctionsPerShard {
			values, err := w.Function(i)
			if err != nil {
				return err
			}
			if err := to.Field(k, values[k]); err != nil {
				return err
			}
		}
	}
	source := random.New(0, "benchmark")
	samples := make([]float32, plan.Samples*dim)
	for range plan.FunctionsPerShard {
		for i := range samples {
			samples[i] = float32(source.NormFloat64())
		}
		if err := to.Samples(samples); err != nil {
			return err
		}
	}
	return nil
}
