// Package trainer takes the steps of a training run on one device. The state is
// three flat float32 vectors of length P: parameters θ and Adam's moments m and v.
// A step is
//
//	for every micro-batch: Accumulate   adds its gradient to the sum on the device
//	TakeSum                             the sum [P+2] to the host
//	                                    … summed over workers by the caller …
//	Apply                               update by the total
//
// with sum = [gradient of the summed squared error, summed squared error,
// number of samples]. These are sums, not means, so that adding up micro-batches of
// different sizes gives the exact gradient of the whole batch.
package trainer

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"

	"github.com/ergoflow/ergoflow/model/compute/backend"
	"github.com/ergoflow/ergoflow/model/network/layers"
	"github.com/ergoflow/ergoflow/model/network/velocity"
	"github.com/ergoflow/ergoflow/model/training/flow"
	"github.com/ergoflow/ergoflow/model/training/optim"
)

// ErrDiverged means that the loss or the gradient is not finite. The state is still
// the one before the step.
var ErrDiverged = errors.New("training diverged")

// Config has everything that the compiled graphs depend on.
type Config struct {
	Model velocity.Model
	// Others have the parameters of Model and inputs of other shapes. A batch is
	// for the first network whose inputs have its shapes.
	Others    []velocity.Model
	Optimizer optim.AdamW
	Samples   int              // S, samples of each function in a batch
	Points    int              // J of flow.Batch, for networks that are velocity.Shared; 0: none
	Precision layers.Precision // of matrix products in the gradient
}

// Trainer holds a training state on a device. Only Precompile may be called
// while another method runs.
type Trainer struct {
	backend *backend.Backend
	config  Config
	size    int // P
	update  *backend.Program

	theta, m, v backend.Buffer   // [P]
	bounds      []int            // where the arrays of sum and zeros begin, then P+2
	sum         []backend.Buffer // [P+2] in arrays, nil stands for zeros
	zeros       []backend.Buffer // [P+2] in arrays

	mutex     sync.Mutex
	gradients map[variant]*backend.Program
}

// New compiles the update and makes a trainer without a state: call SetState
// first.
func New(b *backend.Backend, config Config) (*Trainer, error) {
	layout := config.Model.Layout()
	for _, model := range config.models() {
		if err := model.Validate(); err != nil {
			return nil, err
		}
		if !model.Layout().Equal(layout) || model.Dim() != config.Model.Dim() {
			return nil, errors.New("trainer: the networks have different parameters")
		}
	}
	if err := config.Optimizer.Validate(); err != nil {
		return nil, err
	}
	if config.Samples < 1 {
		return nil, fmt.Errorf("trainer: %d samples in a batch, need at least 1", config.Samples)
	}
	t := &Trainer{
		backend: b, config: config, size: layout.Size(),
		gradients: make(map[variant]*backend.Program),
	}
	var err error
	if t.update, err = config.Optimizer.Compile(b, t.size); err != nil {
		return nil, err
	}
	t.bounds = arrayBounds(b, t.size+2)
	if t.zeros, err = t.newZeros(); err != nil {
		t.update.Close()
		return nil, err
	}
	return t, nil
}

// models lists Model and Others.
func (c Config) models() []velocity.Model {
	return append([]velocity.Model{c.Model}, c.Others...)
}

// Size is P, the number of parameters. TakeSum and Apply exchange Size()+2 values.
func (t *Trainer) Size() int { return t.size }

// SetState puts parameters and moments, Size() values each, on the device. An
// unfinished sum is dropped.
func (t *Trainer) SetState(theta, m, v []float32) error {
	var fresh [3]backend.Buffer
	for i, values := range [][]float32{theta, m, v} {
		buffer, err := t.backend.Upload(values, t.size)
		if err != nil {
			backend.Free(fresh[:]...)
			return fmt.Errorf("set training state: %w", err)
		}
		fresh[i] = buffer
	}
	backend.Free(t.theta, t.m, t.v)
	t.theta, t.m, t.v = fresh[0], fresh[1], fresh[2]
	t.Reset()
	return nil
}

// State copies parameters and moments from the device into Size() values each. It
// skips nil destinations.
func (t *Trainer) State(theta, m, v []float32) error {
	for _, part := range []struct {
		dst []float32
		src backend.Buffer
	}{{theta, t.theta}, {m, t.m}, {v, t.v}} {
		if part.dst == nil {
			continue
		}
		if part.src == nil {
			return errors.New("trainer has no state")
		}
		if err := backend.Download(part.dst, part.src); err != nil {
			return err
		}
	}
	return nil
}

// Precompile compiles the gradient for micro-batches of these numbers of
// functions, so that no step waits for a compilation.
func (t *Trainer) Precompile(functions ...int) error {
	for _, n := range functions {
		for network := range t.config.models() {
			if _, err := t.gradient(variant{network, n}); err != nil {
				return err
			}
		}
	}
	return nil
}

// Accumulate adds the gradient of a micro-batch to the sum. On an error the sum is
// as before.
func (t *Trainer) Accumulate(b *flow.Batch) error {
	if t.theta == nil {
		return errors.New("trainer has no state")
	}
	if err := b.Validate(); err != nil {
		return err
	}
	network, err := t.network(b)
	if err != nil {
		return err
	}
	program, err := t.gradient(variant{network, b.Functions})
	if err != nil {
		return err
	}
	inputs := append([]backend.Buffer{t.theta}, t.accumulated()...)
	kept := len(inputs)
	defer func() { backend.Free(inputs[kept:]...) }()
	pairs := [][]float32{b.X0, b.X1, b.T}
	if b.Points > 0 {
		pairs = [][]float32{b.X, b.T, b.Velocity, b.Weight}
	}
	for i, values := range slices.Concat(pairs, b.Inputs) {
		buffer, err := t.backend.Upload(values, program.Input(kept+i).Dimensions...)
		if err != nil {
			return err
		}
		inputs = append(inputs, buffer)
	}
	outputs, err := program.Run(inputs...)
	if err != nil {
		return err
	}
	t.Reset()
	t.sum = outputs
	return nil
}

// network returns the index in Config.models of the network that a batch is for.
// It is an error if there is none, or if the batch has other sizes than the trainer.
func (t *Trainer) network(b *flow.Batch) (int, error) {
	if dim := t.config.Model.Dim(); b.Samples != t.config.Samples || b.Dim != dim {
		return 0, fmt.Errorf("batch has %d samples in %d dimensions, the trainer is for %d in %d",
			b.Samples, b.Dim, t.config.Samples, dim)
	}
	if b.Points != t.config.Points {
		return 0, fmt.Errorf("batch has %d shared points, the trainer is for %d", b.Points, t.config.Points)
	}
	var first error
	for i, model := range t.config.models() {
		err := checkInputs(b, model.Inputs())
		if err == nil {
			return i, nil
		}
		if first == nil {
			first = err
		}
	}
	return 0, first
}

// checkInputs reports a batch with other inputs than the network's.
func checkInputs(b *flow.Batch, inputs []velocity.Input) error {
	if len(b.Inputs) != len(inputs) {
		return fmt.Errorf("batch has %d inputs, the network takes %d", len(b.Inputs), len(inputs))
	}
	for k, input := range inputs {
		if got := len(b.Inputs[k]); got != b.Functions*input.Size() {
			return fmt.Errorf("batch has %d values of %s for %d functions, the network takes %v of each", got, input.Name, b.Functions, input.Shape)
		}
	}
	return nil
}

// Apply updates the state by the sum [P+2] of a whole batch, with the learning rate
// of that step, counted from zero. On an error, such as ErrDiverged, the state is as
// before.
func (t *Trainer) Apply(sum []float32, step int64) error {
	if t.theta == nil {
		return errors.New("trainer has no state")
	}
	if len(sum) != t.size+2 {
		return fmt.Errorf("sum has %d values instead of %d", len(sum), t.size+2)
	}
	if total := t.config.Optimizer.Schedule.Total; step < 0 || step >= total {
		return fmt.Errorf("step %d is outside the schedule of %d", step, total)
	}
	if loss, count := Loss(sum); count <= 0 {
		return fmt.Errorf("step %d: batch of %g samples", step, count)
	} else if math.IsNaN(loss) || math.IsInf(loss, 0) {
		return fmt.Errorf("step %d: %w: loss is %g", step, ErrDiverged, loss)
	}
	total, err := t.backend.Upload(sum, t.size+2)
	if err != nil {
		return err
	}
	defer backend.Free(total)
	values := t.config.Optimizer.Scalars(step)
	scalars, err := t.backend.Upload(values, len(values))
	if err != nil {
		return err
	}
	defer backend.Free(scalars)
	outputs, err := t.update.Run(t.theta, t.m, t.v, total, scalars)
	if err != nil {
		return err
	}
	defer backend.Free(outputs[3])
	var result [1]float32
	err = backend.Download(result[:], outputs[3])
	if norm := float64(result[0]); err == nil && (math.IsNaN(norm) || math.IsInf(norm, 0)) {
		err = fmt.Errorf("step %d: %w: gradient norm is %g", step, ErrDiverged, norm)
	}
	if err != nil {
		backend.Free(outputs[:3]...)
		return err
	}
	backend.Free(t.theta, t.m, t.v)
	t.theta, t.m, t.v = outputs[0], outputs[1], outputs[2]
	return nil
}

// Loss returns the mean squared error and the number of samples of a sum.
func Loss(sum []float32) (loss, samples float64) {
	n := len(sum)
	samples = float64(sum[n-1])
	return float64(sum[n-2]) / samples, samples
}

// Close frees everything on the device.
func (t *Trainer) Close() {
	t.Reset()
	backend.Free(t.theta, t.m, t.v)
	backend.Free(t.zeros...)
	t.theta, t.m, t.v, t.zeros = nil, nil, nil, nil
	t.update.Close()
	t.mutex.Lock()
	defer t.mutex.Unlock()
	for _, program := range t.gradients {
		program.Close()
	}
	clear(t.gradients)
}
