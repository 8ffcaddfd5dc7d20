package backend

import (
	"fmt"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/graph"
)

// Buffer is an array on the device, of float32 unless said otherwise. Only Finalize
// frees its memory: Go's garbage collector does not see it.
type Buffer = compute.Buffer

// Program is a graph compiled for fixed shapes.
type Program struct {
	backend *Backend
	graph   *graph.Graph
	inputs  []shapes.Shape
}

// Shape makes the shape of a float32 input; without dimensions, of a scalar.
func Shape(dimensions ...int) shapes.Shape { return shapes.Make(dtypes.Float32, dimensions...) }

// Compile builds the graph that takes inputs of these shapes and returns what
// build returns, and compiles it. Panics of the graph library become errors.
func (b *Backend) Compile(name string, inputs []shapes.Shape, build func([]*graph.Node) []*graph.Node) (p *Program, err error) {
	defer recoverPanic(&err, "compile "+name)
	g := graph.NewGraph(b.compute, name)
	nodes := make([]*graph.Node, len(inputs))
	for i, shape := range inputs {
		nodes[i] = graph.Parameter(g, fmt.Sprintf("input%d", i), shape)
	}
	if err := g.Compile(build(nodes)...); err != nil {
		g.Finalize()
		return nil, fmt.Errorf("compile %s: %w", name, err)
	}
	return &Program{backend: b, graph: g, inputs: inputs}, nil
}

// Input is the shape of input i.
func (p *Program) Input(i int) shapes.Shape { return p.inputs[i] }

// Run executes the program. The inputs stay valid, also after an error. The outputs
// belong to the caller, which must free them.
func (p *Program) Run(inputs ...Buffer) (outputs []Buffer, err error) {
	defer recoverPanic(&err, "run "+p.graph.Name())
	outputs, err = p.graph.Executable().Execute(inputs, nil, 0)
	if err != nil {
		return nil, fmt.Errorf("run %s: %w", p.graph.Name(), err)
	}
	return outputs, nil
}

// Close frees the program.
func (p *Program) Close() { p.graph.Finalize() }

// Upload copies data to the device as an array of that shape.
func (b *Backend) Upload(data []float32, dimensions ...int) (Buffer, error) {
	return b.upload(data, len(data), Shape(dimensions...))
}

// UploadUint32 is Upload for an array of uint32.
func (b *Backend) UploadUint32(data []uint32, dimensions ...int) (Buffer, error) {
	return b.upload(data, len(data), shapes.Make(dtypes.Uint32, dimensions...))
}

func (b *Backend) upload(data any, n int, shape shapes.Shape) (buffer Buffer, err error) {
	defer recoverPanic(&err, "upload")
	if n != shape.Size() {
		return nil, fmt.Errorf("upload: %d values for shape %v", n, shape.Dimensions)
	}
	buffer, err = b.compute.BufferFromFlatData(0, data, shape)
	if err != nil {
		return nil, fmt.Errorf("upload %v: %w", shape.Dimensions, err)
	}
	return buffer, nil
}

// Download copies a buffer of exactly len(dst) elements from the device.
func Download(dst []float32, buffer Buffer) (err error) {
	defer recoverPanic(&err, "download")
	shape, err := buffer.Shape()
	if err != nil {
		return fmt.Errorf("download: %w", err)
	}
	if shape.DType != dtypes.Float32 || shape.Size() != len(dst) {
		return fmt.Errorf("download: buffer is %s, destination has %d float32", shape, len(dst))
	}
	if err := buffer.ToFlatData(dst); err != nil {
		return fmt.Errorf("download: %w", err)
	}
	return nil
}

// Free finalizes the buffers that are not nil. This fails only after the backend was
// closed, and then there is nothing to free.
func Free(buffers ...Buffer) {
	for _, b := range buffers {
		if b != nil {
			_ = b.Finalize()
		}
	}
}

// recoverPanic turns a panic into an error: the compute libraries report errors in a
// graph by panics.
func recoverPanic(err *error, doing string) {
	switch r := recover().(type) {
	case nil:
	case error:
		*err = fmt.Errorf("%s: %w", doing, r)
	default:
		*err = fmt.Errorf("%s: %v", doing, r)
	}
}
