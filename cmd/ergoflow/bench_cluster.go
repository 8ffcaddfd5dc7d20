package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"text/tabwriter"

	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/cmd/ergoflow/internal/display"
	"github.com/ergoflow/ergoflow/coordinator/machine"
	"github.com/ergoflow/ergoflow/coordinator/wire"
	"github.com/ergoflow/ergoflow/model/compute/backend"
	"github.com/ergoflow/ergoflow/model/experiment"
)

// clusterMeasurement is the document of bench step with several workers: medians of the
// last steps, in seconds.
type clusterMeasurement struct {
	Experiment       string              `json:"experiment"`
	Batch            string              `json:"batch"` // functions × samples
	World            int                 `json:"world"`
	Steps            int                 `json:"steps"`
	Median           float64             `json:"median_s"`
	SamplesPerSecond float64             `json:"samples_per_s"`
	WaitsFor         *machine.WaitsFor   `json:"waits_for"`
	Workers          []workerMeasurement `json:"workers"`
}

type workerMeasurement struct {
	ID     ergoflow.WorkerID `json:"id"`
	Device string            `json:"device"`
	Timing machine.Timing    `json:"timing"`
}

// benchCluster trains for that many steps on a local cluster, on very few data, and takes
// the parts of a step from the coordinator's status.
func benchCluster(ctx context.Context, e experiment.Experiment, workers int, backendName string, steps int) (m clusterMeasurement, err error) {
	if err := within("world", []int{workers}, 1, maxWorkers); err != nil {
		return m, err
	}
	if e, err = e.Miniature(steps); err != nil {
		return m, usage(err)
	}
	dir, err := os.MkdirTemp("", "ergoflow-bench-")
	if err != nil {
		return m, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	local := localFlags{dir: dir, workers: workers, backend: backendName, engine: backend.Auto}
	result, err := local.run(ctx, e, wire.Stage_STAGE_TRAIN, nil)
	if err != nil {
		return m, err
	}
	b, s := e.Training.BatchFunctions, e.Training.BatchSamples
	m = clusterMeasurement{Experiment: e.Name, Batch: fmt.Sprintf("%d×%d", b, s), World: workers, Steps: steps, WaitsFor: result.Status.WaitsFor}
	for _, w := range result.Status.Workers {
		m.Workers = append(m.Workers, workerMeasurement{w.ID, w.Device, w.Timing})
		m.Median = max(m.Median, w.Timing.Step)
	}
	m.SamplesPerSecond = float64(b*s) / m.Median
	return m, nil
}

func (m clusterMeasurement) print() error {
	fmt.Fprintf(stdout, "%s, %s, %d workers: median %.1f ms, %.0f samples/s\n", m.Experiment, m.Batch, m.World, 1e3*m.Median, m.SamplesPerSecond)
	if m.WaitsFor != nil {
		fmt.Fprintf(stdout, "waits for %s\n", display.WaitsFor(m.WaitsFor))
	}
	t := tabwriter.NewWriter(stdout, 0, 4, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "ms\tdata\tgradient\tcopy\tring\twait\tupdate\tother\tall\t")
	for _, w := range m.Workers {
		p := w.Timing
		fmt.Fprintf(t, "%s\t%.2f\t%.2f\t%.2f\t%.2f\t%.2f\t%.2f\t%.2f\t%.2f\t\n", w.ID,
			1e3*p.Data, 1e3*p.Gradient, 1e3*p.Copy, 1e3*p.Ring, 1e3*p.Wait, 1e3*p.Update, 1e3*p.Other, 1e3*p.Step)
	}
	return t.Flush()
}
