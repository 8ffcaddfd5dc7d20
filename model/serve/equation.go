package serve

import (
	"encoding/json"
	"errors"

	"github.com/danielgtaylor/huma/v2"

	"github.com/ergoflow/ergoflow/model/sampling/request"
)

// Bounds of what a request may have.
const (
	maxFormulas  = 256  // a full matrix in 16 dimensions
	maxFormula   = 4096 // bytes
	maxEquations = 1024
	maxSamples   = 1 << 20 // of one equation
	maxNumbers   = 1 << 22 // coordinates of all samples of a request
)

// Formulas are one formula, or one for each coordinate: a string or a list of strings in JSON.
type Formulas []string

// UnmarshalJSON reads a string or a list of strings.
func (f *Formulas) UnmarshalJSON(raw []byte) error {
	return (*request.Formulas)(f).UnmarshalJSON(raw)
}

// MarshalJSON writes a single formula as a string.
func (f Formulas) MarshalJSON() ([]byte, error) {
	if len(f) == 1 {
		return json.Marshal(f[0])
	}
	return json.Marshal([]string(f))
}

// Schema implements huma.SchemaProvider.
func (Formulas) Schema(huma.Registry) *huma.Schema {
	least, most, length := 1, maxFormulas, maxFormula
	one := &huma.Schema{Type: huma.TypeString, MinLength: &least, MaxLength: &length}
	one.PrecomputeMessages()
	many := &huma.Schema{Type: huma.TypeArray, Items: one, MinItems: &least, MaxItems: &most}
	many.PrecomputeMessages()
	return &huma.Schema{OneOf: []*huma.Schema{one, many}, Examples: []any{"-2*(x-1)"}}
}

// Equation is what a request asks about: formulas, or a function of the model's family.
type Equation struct {
	Drift     Formulas           `json:"drift,omitempty" doc:"formula of the drift b(x); in the plane two, in x and y; of a model without a grid one for all coordinates, or one for each"`
	Diffusion Formulas           `json:"diffusion,omitempty" doc:"formula of the diffusion σ(x); in the plane one, two or four; of a model without a grid as the drift"`
	Params    map[string]float64 `json:"params,omitempty" nullable:"true" doc:"values of the names in the formulas besides x and y"`
	Function  *int               `json:"function,omitempty" minimum:"0" doc:"number of a function of the model's family, instead of formulas"`
	Time      *float64           `json:"time,omitempty" exclusiveMinimum:"0" doc:"physical time of the law, for models of laws at a time"`
}

// Repair says how samples are repaired: "none", "auto", "weights", or a number of steps.
type Repair struct {
	Asked   bool
	Weights bool
	Steps   int // 0: auto
}

// maxRepair bounds the steps of a repair; the deadline ends a long one.
const maxRepair = 1 << 20

// UnmarshalJSON reads none, auto, weights or a number of steps.
func (r *Repair) UnmarshalJSON(raw []byte) error {
	var word string
	if json.Unmarshal(raw, &word) == nil {
		*r = Repair{Asked: word == "auto" || word == "weights", Weights: word == "weights"}
		return nil
	}
	err := json.Unmarshal(raw, &r.Steps)
	r.Asked = r.Steps > 0
	return err
}

// MarshalJSON writes what UnmarshalJSON reads.
func (r Repair) MarshalJSON() ([]byte, error) {
	switch {
	case !r.Asked:
		return []byte(`"none"`), nil
	case r.Weights:
		return []byte(`"weights"`), nil
	case r.Steps == 0:
		return []byte(`"auto"`), nil
	}
	return json.Marshal(r.Steps)
}

// Schema implements huma.SchemaProvider.
func (Repair) Schema(huma.Registry) *huma.Schema {
	least, most := 0., float64(maxRepair)
	word := &huma.Schema{Type: huma.TypeString, Enum: []any{"none", "auto", "weights"}}
	word.PrecomputeMessages()
	steps := &huma.Schema{Type: huma.TypeInteger, Minimum: &least, Maximum: &most}
	steps.PrecomputeMessages()
	return &huma.Schema{
		OneOf: []*huma.Schema{word, steps}, Examples: []any{"auto"},
		Description: "move the samples by steps of the equation: none, auto, or a number of steps; or draw by importance weights where the density of the law is known, on the line, for gradient drifts in the plane and of particles: weights",
	}
}

// request is the equation for package request.
func (e Equation) request(at string) (request.Request, error) {
	r := request.Request{Drift: e.Drift, Diffusion: e.Diffusion, Parameters: e.Params, Time: e.Time}
	switch formulas := len(e.Drift) + len(e.Diffusion); {
	case formulas == 0 && e.Function == nil:
		return r, &fieldError{at, "drift", errors.New("the equation is missing: give drift and diffusion, or function")}
	case formulas > 0 && e.Function != nil:
		return r, &fieldError{at, "function", errors.New("there are formulas, too: give either")}
	case e.Function != nil:
		r.Function = *e.Function
	case len(e.Drift) == 0:
		return r, &fieldError{at, "drift", errors.New("it is missing")}
	case len(e.Diffusion) == 0:
		return r, &fieldError{at, "diffusion", errors.New("it is missing")}
	}
	return r, nil
}

// fieldError is an error about a field of the object at a place in the body.
type fieldError struct {
	at, field string
	err       error
}

func (e *fieldError) Error() string { return e.field + ": " + e.err.Error() }

func (e *fieldError) Unwrap() error { return e.err }

// place is the path of the field in the body.
func (e *fieldError) place() string {
	place := "body" + e.at
	if e.field != "" {
		place += "." + e.field
	}
	return place
}
