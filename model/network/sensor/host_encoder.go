package sensor

import (
	"context"
	"fmt"
	"math"

	"github.com/ergoflow/ergoflow/data/simulation/simulate"
	"github.com/ergoflow/ergoflow/model/network/kernels"
)

// crossAttention reads the sensors in a block of the perceiver, as Network's does: keys and
// values are never computed for the sensors.
type crossAttention struct {
	query, output *kernels.Dense
	toSensors     []*kernels.Dense // by head: query [head] → [embedding], with 1/√head
	fromSensors   []*kernels.Dense // by head: [embedding] → value [head]
}

// hostSensors is how many sensors are embedded together.
const hostSensors = 32

func (h *Host) makeEncoder() {
	c := h.config
	switch c.Representation {
	case Trajectory:
		in := c.Features
		for i, out := range c.Channels {
			name := fmt.Sprintf("sensor.conv%d", i)
			h.dense[name] = kernels.NewDense(h.weight(name), h.bias(name), c.Kernel*in, out)
			in = out
		}
	case Point, Endpoint:
		h.keepPerceptron("sensor")
	}
	switch c.Aggregator {
	case DeepSets:
		h.keepPerceptron("element")
		fallthrough
	case MeanPool, Ratio:
		h.keepPerceptron("pool")
	case Perceiver:
		for i := range c.EncoderBlocks {
			block := fmt.Sprintf("perceiver.block%d", i)
			h.cross = append(h.cross, h.makeCross(block+".cross"))
			weight, bias := h.joint(block+".self", 0, c.Width)
			h.queries[block] = kernels.NewDense(weight, bias, c.Width, 3*c.Width)
			h.keep(block + ".self.output")
			h.keepPerceptron(block)
		}
		h.keep("perceiver.output")
	}
}

func (h *Host) makeCross(name string) crossAttention {
	h.keep(name+".query", name+".output")
	c := h.config
	head, embedding := c.Width/c.Heads, c.embedding()
	scale := float32(1 / math.Sqrt(float64(head)))
	embedded := func(kind string) []float32 { // P_e W [embedding, Width]
		all := make([]float32, embedding*c.Width)
		kernels.NewDense(h.weight(name+kind), nil, c.Width, c.Width).Apply(all, h.weight("perceiver.embed"), kernels.Linear)
		return all
	}
	key, value := embedded(".key"), embedded(".value")
	a := crossAttention{query: h.dense[name+".query"], output: h.dense[name+".output"]}
	for i := range c.Heads {
		to, from := kernels.EmptyDense(head, embedding), kernels.EmptyDense(embedding, head)
		column := make([]float32, head)
		for e := range embedding {
			for k, v := range key[e*c.Width+i*head:][:head] {
				column[k] = scale * v
			}
			to.SetColumn(e, column)
			from.SetRow(e, value[e*c.Width+i*head:][:head])
		}
		a.toSensors = append(a.toSensors, to)
		a.fromSensors = append(a.fromSensors, from.WithBias(h.bias(name + ".value")[i*head:(i+1)*head]))
	}
	return a
}

// Encode returns the codes [n, Width] of n functions, which Network's Encode defines, for probes
// [n, sensors, steps, features]. All processors compute.
func (h *Host) Encode(ctx context.Context, inputs [][]float32, n int) ([]float32, error) {
	c := h.config
	probe := c.Steps * c.Features
	if len(inputs) != 1 || len(inputs[0]) != n*c.Sensors*probe {
		return nil, fmt.Errorf("sensor: the inputs are not the %d×%d×%d numbers of each of %d functions", c.Sensors, c.Steps, c.Features, n)
	}
	embedded := make([]float32, n*c.Sensors*c.embedding())
	groups := (n*c.Sensors + hostSensors - 1) / hostSensors
	err := simulate.Each(ctx, groups, func(_ context.Context, i int) error {
		first, last := i*hostSensors, min((i+1)*hostSensors, n*c.Sensors)
		h.embed(embedded[first*c.embedding():last*c.embedding()], inputs[0][first*probe:last*probe])
		return nil
	}, nil)
	if err != nil {
		return nil, err
	}
	codes := make([]float32, n*c.Width)
	err = simulate.Each(ctx, n, func(_ context.Context, i int) error {
		copy(codes[i*c.Width:(i+1)*c.Width], h.aggregate(embedded[i*c.Sensors*c.embedding():(i+1)*c.Sensors*c.embedding()]))
		return nil
	}, nil)
	return codes, err
}

// embed writes the vectors e [sensors, embedding] of probes [sensors, steps, features] to dst.
func (h *Host) embed(dst, probes []float32) {
	c := h.config
	probe := c.Steps * c.Features
	each := func(embed func(dst, probe []float32)) {
		for i := range len(probes) / probe {
			embed(dst[i*c.embedding():(i+1)*c.embedding()], probes[i*probe:(i+1)*probe])
		}
	}
	switch c.Representation {
	case Trajectory:
		each(h.trajectory)
		return
	case Force:
		each(h.force)
		return
	}
	var points []float32
	for i := 0; i < len(probes); i += probe {
		first, last := probes[i:i+c.Features], probes[i+probe-c.Features:i+probe]
		points = append(points, first...)
		if c.Representation == Endpoint {
			points = append(points, last...)
			for k, v := range last {
				points = append(points, v-first[k])
			}
		}
	}
	copy(dst, h.perceptron("sensor", points))
}

// trajectory writes the vector e [embedding] of one probe [steps, features] to dst.
func (h *Host) trajectory(dst, probe []float32) {
	c := h.config
	half, in := c.Kernel/2, c.Features
	for i, out := range c.Channels {
		// With zeros around it, the layer's windows are slices of its input.
		padded := make([]float32, (c.Steps+2*half)*in)
		copy(padded[half*in:], probe)
		probe = make([]float32, c.Steps*out)
		h.dense[fmt.Sprintf("sensor.conv%d", i)].ApplyStrided(probe, padded, c.Steps, in, kernels.Linear)
		h.norm(fmt.Sprintf("sensor.norm%d", i), probe, kernels.GELU)
		in = out
	}
	addRows(dst, probe)
	for k := range dst {
		dst[k] /= float32(c.Steps)
	}
}

// addRows adds the rows of x [n, len(dst)] to dst.
func addRows(dst, x []float32) {
	for i := 0; i < len(x); i += len(dst) {
		for k, v := range x[i : i+len(dst)] {
			dst[k] += v
		}
	}
}

// aggregate returns the code [Width] of e [sensors, embedding].
func (h *Host) aggregate(e []float32) []float32 {
	c := h.config
	pooled := make([]float32, c.embedding())
	switch c.Aggregator {
	case MeanPool:
		addRows(pooled, e)
		for k := range pooled {
			pooled[k] /= float32(c.Sensors)
		}
		return h.perceptron("pool", pooled)
	case DeepSets:
		addRows(pooled, h.perceptron("element", e))
		return h.perceptron("pool", pooled)
	case Ratio:
		addRows(pooled, e)
		k := len(pooled) / 2
		for i := range k {
			pooled[i] /= pooled[k+i] + leastWeight*float32(c.Sensors)
		}
		return h.perceptron("pool", pooled[:k])
	}
	return h.perceive(e)
}

// perceive returns the code [Width] of e [sensors, embedding] by the perceiver.
func (h *Host) perceive(e []float32) []float32 {
	c := h.config
	sensors := kernels.NewDense(e, nil, c.Sensors, c.embedding())
	z := append([]float32(nil), h.parts["perceiver.latents"]...) // [Latents, Width]
	plus := func(name string, added []float32) {
		for i, v := range added {
			z[i] += v
		}
		h.norm(name, z, kernels.Linear)
	}
	self := kernels.NewAttention(c.Latents, c.Heads, c.Width/c.Heads)
	for i := range c.EncoderBlocks {
		block := fmt.Sprintf("perceiver.block%d", i)
		plus(block+".norm0", h.read(h.cross[i], z, e, sensors))
		joint, mixed, added := make([]float32, 3*len(z)), make([]float32, len(z)), make([]float32, len(z))
		h.queries[block].Apply(joint, z, kernels.Linear)
		self.Apply(mixed, joint)
		h.dense[block+".self.output"].Apply(added, mixed, kernels.Linear)
		plus(block+".norm1", added)
		plus(block+".norm2", h.perceptron(block, z))
	}
	code := make([]float32, c.Width)
	h.dense["perceiver.output"].Apply(code, z, kernels.Linear)
	return code
}

// read is the cross-attention of the tokens z [Latents, Width] to e [m, embedding], which is
// also a layer from weights of the sensors [m] to [embedding].
func (h *Host) read(a crossAttention, z, e []float32, sensors *kernels.Dense) []float32 {
	c := h.config
	head, embedding, m := c.Width/c.Heads, c.embedding(), c.Sensors
	query := make([]float32, len(z))
	a.query.Apply(query, z, kernels.Linear)
	count := c.Heads * c.Latents
	toScores := kernels.EmptyDense(embedding, count)
	mapped := make([]float32, c.Latents*embedding)
	for i, to := range a.toSensors {
		to.ApplyStrided(mapped, query[i*head:], c.Latents, c.Width, kernels.Linear)
		for k := range c.Latents {
			toScores.SetColumn(i*c.Latents+k, mapped[k*embedding:(k+1)*embedding])
		}
	}
	bySensor := make([]float32, m*count)
	toScores.Apply(bySensor, e, kernels.Linear)
	scores := make([]float32, count*m)
	for i := range m {
		for j := range count {
			scores[j*m+i] = bySensor[i*count+j]
		}
	}
	kernels.Softmax(scores, m)
	read := make([]float32, count*embedding)
	sensors.Apply(read, scores, kernels.Linear)
	mixed, own := make([]float32, len(z)), make([]float32, c.Latents*head)
	for i, from := range a.fromSensors {
		from.Apply(own, read[i*c.Latents*embedding:(i+1)*c.Latents*embedding], kernels.Linear)
		for k := range c.Latents {
			copy(mixed[k*c.Width+i*head:][:head], own[k*head:])
		}
	}
	added := make([]float32, len(z))
	a.output.Apply(added, mixed, kernels.Linear)
	return added
}
