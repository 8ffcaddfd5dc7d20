package serve

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"slices"
)

// The Open Inference Protocol, version 2, is what clients of KServe, Triton, Seldon and OpenVINO
// speak, over HTTP and gRPC. A model takes the inputs
//
//	drift, diffusion  BYTES [equations], or [equations, formulas] for several formulas each
//	function          INT64 [equations], instead of formulas
//
// and the parameters n, seed, solver, repair and timeout_s. Its outputs are samples, FP32
// [equations, n] or [equations, n, d], and verdict and certificate, BYTES [equations].

// tensor is an input as both transports give it. Data has strings or int64.
type tensor struct {
	name, datatype string
	shape          []int64
	data           []any
}

// inference is one request.
type inference struct {
	model, version string
	parameters     map[string]any // string, bool, int64, uint64 or float64
	inputs         []tensor
}

// inferred is the answer to one request.
type inferred struct {
	answers []Samples
	about   About
	shape   []int64 // of all samples
}

// invalid is an error about an input or a parameter.
func invalid(name, format string, args ...any) error {
	p := newProblem(http.StatusBadRequest, name+": "+fmt.Sprintf(format, args...))
	return p
}

// infer draws the samples of a request.
func (s *Server) infer(ctx context.Context, in inference) (*inferred, error) {
	equations, err := in.equations()
	if err != nil {
		return nil, err
	}
	draws, err := in.draws()
	if err != nil {
		return nil, err
	}
	draws.Model = in.model
	if in.version != "" {
		draws.Model += "@" + in.version
	}
	out := &inferred{}
	out.answers, out.about, err = s.sample(ctx, equations, 0, draws, func(i int) string { return fmt.Sprintf("[%d]", i) })
	if err != nil {
		return nil, err
	}
	out.shape = []int64{int64(len(equations))}
	for _, n := range out.answers[0].Shape {
		out.shape = append(out.shape, int64(n))
	}
	return out, nil
}

// equations reads the inputs.
func (in inference) equations() ([]Equation, error) {
	byName := map[string]tensor{}
	for _, t := range in.inputs {
		if _, twice := byName[t.name]; twice {
			return nil, invalid(t.name, "it is given twice")
		}
		if err := cmp.Or(t.kind(), t.check()); err != nil {
			return nil, err
		}
		byName[t.name] = t
	}
	var all []Equation
	fill := func(name string, set func(e *Equation, values []any)) error {
		t, ok := byName[name]
		if !ok {
			return nil
		}
		count := int(t.shape[0])
		if all == nil {
			all = make([]Equation, count)
		}
		if count != len(all) {
			return invalid(name, "it has %d equations, another input %d", count, len(all))
		}
		each := len(t.data) / count
		for i := range all {
			set(&all[i], t.data[i*each:(i+1)*each])
		}
		return nil
	}
	formulas := func(values []any) (f Formulas) {
		for _, v := range values {
			f = append(f, v.(string))
		}
		return f
	}
	for _, err := range []error{
		fill("drift", func(e *Equation, values []any) { e.Drift = formulas(values) }),
		fill("diffusion", func(e *Equation, values []any) { e.Diffusion = formulas(values) }),
		fill("function", func(e *Equation, values []any) { i := int(values[0].(int64)); e.Function = &i }),
	} {
		if err != nil {
			return nil, err
		}
	}
	if len(all) == 0 {
		return nil, invalid("inputs", "there is no equation: give drift and diffusion, or function")
	}
	return all, nil
}

// kind refuses tensors that no model has.
func (t tensor) kind() error {
	switch want := map[string]string{"drift": "BYTES", "diffusion": "BYTES", "function": "INT64"}[t.name]; {
	case want == "":
		return invalid(t.name, "there is no such input: the inputs are drift, diffusion and function")
	case t.datatype != want:
		return invalid(t.name, "its datatype is %q, must be %s", t.datatype, want)
	}
	return nil
}

// check refuses tensors whose shape and data do not fit.
func (t tensor) check() error {
	switch {
	case len(t.shape) < 1 || len(t.shape) > 2 || t.name == "function" && len(t.shape) > 1:
		return invalid(t.name, "its shape is %v, must be [equations] or, of formulas, [equations, formulas]", t.shape)
	}
	size := int64(1)
	for _, n := range t.shape {
		if n < 1 || n > maxEquations {
			return invalid(t.name, "its shape %v has a length that is not in 1…%d", t.shape, maxEquations)
		}
		size *= n
	}
	if len(t.shape) == 2 && t.shape[1] > maxFormulas {
		return invalid(t.name, "%d formulas of an equation, at most %d", t.shape[1], maxFormulas)
	}
	if size != int64(len(t.data)) {
		return invalid(t.name, "it has %d elements, its shape %v needs %d", len(t.data), t.shape, size)
	}
	for _, v := range t.data {
		if text, ok := v.(string); ok && len(text) > maxFormula {
			return invalid(t.name, "a formula has %d bytes, at most %d", len(text), maxFormula)
		}
	}
	return nil
}

// draws reads the parameters.
func (in inference) draws() (d Draws, err error) {
	d = Draws{N: 4096}
	for name, v := range in.parameters {
		whole, number := numberOf(v)
		text, isText := v.(string)
		switch {
		case name == "n" && whole >= 1:
			d.N = int(whole)
		case name == "seed" && whole >= 0:
			d.Seed = uint64(whole)
		case name == "timeout_s" && number > 0:
			d.TimeoutS = number
		case name == "solver" && isText:
			d.Solver = text
		case name == "repair" && (isText && (text == "none" || text == "auto" || text == "weights")):
			d.Repair = Repair{Asked: text != "none", Weights: text == "weights"}
		case name == "repair" && whole >= 0 && whole <= maxRepair:
			d.Repair = Repair{Asked: whole > 0, Steps: int(whole)}
		case slices.Contains([]string{"n", "seed", "timeout_s", "solver", "repair"}, name):
			return d, invalid(name, "%v is no value of this parameter", v)
		default:
			// Clients add parameters of their own, such as binary_data_output.
			continue
		}
	}
	return d, nil
}

// numberOf is a parameter as a whole number, −1 if it is none, and as any number, NaN if it is
// none.
func numberOf(v any) (whole int64, number float64) {
	switch v := v.(type) {
	case int64:
		return v, float64(v)
	case uint64:
		if v > math.MaxInt64 {
			return -1, float64(v)
		}
		return int64(v), float64(v)
	case float64:
		if v == math.Trunc(v) && math.Abs(v) <= 1<<53 {
			return int64(v), v
		}
		return -1, v
	}
	return -1, math.NaN()
}

// texts are the verdicts and the certificates, as JSON.
func (out *inferred) texts() (verdicts, certificates []string, err error) {
	for _, a := range out.answers {
		content, err := json.Marshal(a.Certificate)
		if err != nil {
			return nil, nil, err
		}
		verdicts, certificates = append(verdicts, string(a.Certificate.Verdict)), append(certificates, string(content))
	}
	return verdicts, certificates, nil
}

// flat are all samples, one equation after the other.
func (out *inferred) flat() []float32 {
	var all []float32
	for _, a := range out.answers {
		all = append(all, a.x...)
	}
	return all
}

// extensions of the protocol that the server has: none.
var extensions = []string{}

// described is an input or an output in a model's metadata.
type described struct {
	Name     string  `json:"name"`
	Datatype string  `json:"datatype"`
	Shape    []int64 `json:"shape"` // −1: any length
}

func (m *Model) tensors() (inputs, outputs []described) {
	samples := []int64{-1, -1}
	if m.dim() > 1 {
		samples = append(samples, int64(m.dim()))
	}
	if m.grid().N > 0 {
		inputs = []described{{"drift", "BYTES", []int64{-1, -1}}, {"diffusion", "BYTES", []int64{-1, -1}}}
	}
	inputs = append(inputs, described{"function", "INT64", []int64{-1}})
	return inputs, []described{{"samples", "FP32", samples}, {"verdict", "BYTES", []int64{-1}}, {"certificate", "BYTES", []int64{-1}}}
}
