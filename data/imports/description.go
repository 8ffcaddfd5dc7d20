package imports

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"path/filepath"

	"github.com/goccy/go-yaml"

	"github.com/ergoflow/ergoflow/data/equations/family"
	"github.com/ergoflow/ergoflow/internal/yamltext"
)

// description is what a user says about arrays: in the metadata of a safetensors file, or in a
// JSON or YAML file beside an array.
type description struct {
	// Family is the family whose fields the arrays are; empty: not said.
	Family string `json:"family,omitempty" yaml:"family"`
	// Grid has the nodes of the fields. Fields without a grid are refused: other nodes would
	// be other equations.
	Grid *family.Nodes `json:"grid,omitempty" yaml:"grid"`
	// Equations are the formulas of every function, instead of fields.
	Equations []equation `json:"equations,omitempty" yaml:"equations"`
}

// equation has one formula for every component, as in a family's definition.
type equation struct {
	Drift     formulas `json:"drift" yaml:"drift"`
	Diffusion formulas `json:"diffusion" yaml:"diffusion"`
}

// formulas is a list of formulas; a single one, text or a number, needs no list.
type formulas []string

// UnmarshalJSON reads a formula or a list of them.
func (f *formulas) UnmarshalJSON(raw []byte) error {
	var list []formula
	if len(raw) > 0 && raw[0] == '[' {
		if err := json.Unmarshal(raw, &list); err != nil {
			return err
		}
	} else {
		list = make([]formula, 1)
		if err := json.Unmarshal(raw, &list[0]); err != nil {
			return err
		}
	}
	for _, one := range list {
		*f = append(*f, string(one))
	}
	return nil
}

// UnmarshalYAML reads a formula or a list of them.
func (f *formulas) UnmarshalYAML(decode func(any) error) error {
	var list family.Formulas
	err := list.UnmarshalYAML(decode)
	*f = formulas(list)
	return err
}

// formula is a formula, or a number.
type formula string

// UnmarshalJSON reads a text or a number.
func (f *formula) UnmarshalJSON(raw []byte) error {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		*f = formula(text)
		return nil
	}
	var number json.Number
	if err := json.Unmarshal(raw, &number); err != nil || number == "" {
		return fmt.Errorf("%.40s is no formula: must be a text", raw)
	}
	*f = formula(number)
	return nil
}

// maxDescription bounds a JSON file: formulas of 2^19 functions have about 60 bytes each.
const maxDescription = 64 << 20

// parseDescription reads the file of that name. Unknown fields are errors.
func parseDescription(name string, raw []byte) (d description, err error) {
	if len(raw) > maxDescription {
		return d, fmt.Errorf("it has more than %d bytes", maxDescription)
	}
	if filepath.Ext(name) == ".json" {
		decoder := json.NewDecoder(bytes.NewReader(raw))
		decoder.DisallowUnknownFields()
		if err := decoder.Decode(&d); err != nil {
			return d, fmt.Errorf("JSON: %w", err)
		}
		if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
			return d, errors.New("JSON: something follows the object")
		}
		return d, nil
	}
	if err := yamltext.Check(raw); err != nil {
		return d, fmt.Errorf("%w (write JSON for many equations)", err)
	}
	if err := yamltext.Decode(raw, &d); err != nil {
		return d, fmt.Errorf("YAML: %s", yaml.FormatError(yamltext.Plain(err), false, false))
	}
	return d, nil
}

// parseMetadata reads the entries family, grid and equations of a safetensors file; others are
// the user's.
func parseMetadata(metadata map[string]string) (d description, err error) {
	d.Family = metadata["family"]
	for key, to := range map[string]any{"grid": &d.Grid, "equations": &d.Equations} {
		text, ok := metadata[key]
		if !ok {
			continue
		}
		decoder := json.NewDecoder(bytes.NewReader([]byte(text)))
		decoder.DisallowUnknownFields()
		if err := decoder.Decode(to); err != nil {
			return d, fmt.Errorf("metadata %q: JSON: %w", key, err)
		}
	}
	return d, nil
}

// join adds what a file beside the arrays says. What both say is an error.
func (d *description) join(o description) error {
	twice := ""
	switch {
	case d.Family != "" && o.Family != "":
		twice = "family"
	case d.Grid != nil && o.Grid != nil:
		twice = "grid"
	case d.Equations != nil && o.Equations != nil:
		twice = "equations"
	}
	if twice != "" {
		return fmt.Errorf("%s is given twice, in the file and beside it", twice)
	}
	d.Family, d.Grid = cmp.Or(d.Family, o.Family), cmp.Or(d.Grid, o.Grid)
	if d.Equations == nil {
		d.Equations = o.Equations
	}
	return nil
}

// fits checks family and grid against the target.
func (d description) fits(t target) error {
	if d.Family != "" && d.Family != t.Name() {
		return fmt.Errorf("it is of the family %.80q, the experiment's is %s", d.Family, t.Name())
	}
	if d.Grid == nil {
		return nil
	}
	slack := 1e-6 * t.grid.Step()
	if d.Grid.Nodes != t.grid.N || !(math.Abs(d.Grid.Lo-t.grid.Lo) <= slack) || !(math.Abs(d.Grid.Hi-t.grid.Hi) <= slack) {
		return fmt.Errorf("its grid has %d nodes on [%g, %g], that of %s has %d on [%g, %g]: tabulate its equations there, or give formulas",
			d.Grid.Nodes, d.Grid.Lo, d.Grid.Hi, t.Name(), t.grid.N, t.grid.Lo, t.grid.Hi)
	}
	return nil
}
