package family

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"

	"github.com/goccy/go-yaml"

	"github.com/ergoflow/ergoflow/data/equations/expression"
	"github.com/ergoflow/ergoflow/data/equations/sde"
	"github.com/ergoflow/ergoflow/data/simulation/simulate"
	"github.com/ergoflow/ergoflow/internal/yamltext"
)

// Definition is a family given by formulas for its coefficients. The formulas use the
// coordinates, and random parameters that every function draws for itself. With a grid it is in
// one or two dimensions, and tabulated. Without one it has a box, up to 64 dimensions, and the
// formulas of expression.System. docs/families.md explains it with examples.
//
//	name: double_well
//	dim: 1
//	grid: {lo: -4, hi: 4, nodes: 64}
//	parameters: {a: "uniform(0.5, 2)", b: "normal(0, 1)"}
//	drift: a*x - x^3 + b
//	diffusion: 1 + 0.2*cos(x)
type Definition struct {
	Name string `json:"name" yaml:"name"`
	Dim  int    `json:"dim" yaml:"dim"` // 1 or 2 with a grid, 1 to 64 with a box
	// Grid is where the coefficients are tabulated, the same along both axes. They are
	// linear or bilinear between nodes, and constant outside.
	Grid Nodes `json:"grid,omitzero" yaml:"grid"`
	// Box is where the laws are expected, for a family without a grid.
	Box Box `json:"box,omitempty" yaml:"box"`
	// Mixture are the families of which this one is a mixture. It has a name and a dim beside them.
	Mixture []MixtureEntry `json:"mixture,omitempty" yaml:"mixture"`
	// Domain is where the equations live, one range for all coordinates or one for each; empty: the
	// whole space. With a grid it is an open interval, in one dimension.
	Domain Ranges `json:"domain,omitempty" yaml:"domain"`
	// Parameters are laws by name: uniform(lo, hi) and normal(mean, deviation); with a grid
	// field(length, deviation), a Gaussian random field; with a box vector(LAW) and matrix(LAW).
	Parameters map[string]string `json:"parameters,omitempty" yaml:"parameters"`
	// Drift has one formula for every dimension; with a box also one for all.
	Drift Formulas `json:"drift,omitempty" yaml:"drift"`
	// Diffusion has one formula for σ·I, two for a diagonal, or four, row after
	// row, for a matrix in the plane.
	Diffusion Formulas `json:"diffusion,omitempty" yaml:"diffusion"`
}

// Nodes is a uniform grid, both ends included.
type Nodes struct {
	Lo    float64 `json:"lo" yaml:"lo"`
	Hi    float64 `json:"hi" yaml:"hi"`
	Nodes int     `json:"nodes" yaml:"nodes"`
}

// Formulas is a list of formulas. In YAML a single formula needs no list.
type Formulas []string

// UnmarshalYAML reads a scalar or a list of them.
func (f *Formulas) UnmarshalYAML(decode func(any) error) error {
	var one string
	if decode(&one) == nil {
		*f = Formulas{one}
		return nil
	}
	var list []string
	if err := decode(&list); err != nil {
		return errors.New("want a formula or a list of formulas")
	}
	*f = list
	return nil
}

const (
	maxLineNodes     = 4096
	maxPlaneNodes    = 256 // along each axis
	maxLaws          = 60  // parameters
	checkedFunctions = 16  // by Parse
)

var definitionName = regexp.MustCompile(`^[a-z][a-z0-9_]{0,39}$`)

// Load reads the definition of a family from a YAML file.
func Load(path string) (Definition, error) {
	raw, err := readFile(path)
	if err != nil {
		return Definition{}, fmt.Errorf("family: %w", err)
	}
	d, err := parse(raw, filepath.Dir(path))
	if err != nil {
		return Definition{}, fmt.Errorf("%s: %w", path, err)
	}
	return d, nil
}

// readFile reads a file up to one byte more than a definition may have.
func readFile(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, yamltext.MaxBytes+1))
}

// Parse reads a definition in YAML. It refuses unknown fields, what Family refuses, and
// formulas that cannot be simulated: it makes the first functions of seed 0 and compares
// their formulas with their tables between the nodes (Written). The paths of a mixture are
// relative to the working directory.
func Parse(raw []byte) (Definition, error) { return parse(raw, ".") }

func parse(raw []byte, dir string) (Definition, error) {
	d, err := decode(raw)
	if err == nil && d.Mixture != nil {
		d, err = d.readComponents(dir)
	}
	if err != nil {
		return Definition{}, err
	}
	f, err := d.Family()
	if err != nil {
		return Definition{}, err
	}
	all := []Family{f}
	if m, ok := f.(Mixed); ok {
		all = nil
		for _, c := range m.Components() {
			all = append(all, c.Family)
		}
	}
	for _, f := range all {
		if err := checkFirst(f); err != nil {
			return Definition{}, err
		}
	}
	return d, nil
}

// checkFirst makes the first functions of seed 0.
func checkFirst(f Family) (err error) {
	for i := range checkedFunctions {
		switch f := f.(type) {
		case Spatial:
			err = f.Check(0, i)
		case Interpolated:
			_, err = f.CheckInterpolation(0, i)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func decode(raw []byte) (Definition, error) {
	d, err := decodeYAML(raw)
	if advice := quote(raw); err != nil && advice != "" {
		return Definition{}, fmt.Errorf("%w: %s", err, advice)
	}
	return d, err
}

func decodeYAML(raw []byte) (Definition, error) {
	if err := yamltext.Check(raw); err != nil {
		return Definition{}, fmt.Errorf("family: %w", err)
	}
	var d Definition
	if err := yamltext.Decode(raw, &d); err != nil {
		return Definition{}, fmt.Errorf("family: %s", yaml.FormatError(yamltext.Plain(err), false, false)) // without an excerpt: one line
	}
	if reflect.ValueOf(d).IsZero() {
		return Definition{}, errors.New("family: the definition is empty")
	}
	return d, nil
}

var (
	// formulaOfLine is a line of YAML with a formula: its key or dash, and the formula.
	formulaOfLine = regexp.MustCompile(`^\s*((?:drift|diffusion)\s*:|-)\s+(\S.*?)\s*$`)
	// misread are formulas that YAML takes for something else, if it reads them at all.
	misread = regexp.MustCompile(`^[-*&!|>%@{?` + "`" + `]\s|^[*&!|>%@{` + "`" + `].|: |:$`)
	// entry is one of a mixture.
	entry = regexp.MustCompile(`^\{?\s*family\s*:`)
	// block and quoted are what YAML has for long texts and for whole quoted ones.
	block  = regexp.MustCompile(`^[|>][-+\d]*$`)
	quoted = regexp.MustCompile(`^(?:"[^"]*"|'[^']*')$`)
	quotes = strings.NewReplacer(`"`, "", "'", "")
)

// quote finds the first formula that YAML misreads without quotes, such as x > 0 ? 1 : 2,
// and says how to write it; empty if there is none.
func quote(raw []byte) string {
	for i, line := range strings.Split(string(raw), "\n") {
		line, _, _ = strings.Cut(line, " #")
		m := formulaOfLine.FindStringSubmatch(line)
		if m == nil || entry.MatchString(m[2]) || block.MatchString(m[2]) || quoted.MatchString(m[2]) {
			continue
		}
		switch formula := m[2]; {
		case strings.HasPrefix(formula, "["):
			if strings.Contains(formula, ": ") && !strings.ContainsAny(formula, `"'`) {
				return fmt.Sprintf("quote the formulas of the list in line %d", i+1)
			}
		case misread.MatchString(formula), strings.ContainsAny(formula[:1], `"'`):
			return fmt.Sprintf(`quote the formula in line %d: %s "%.80s"`, i+1, m[1], quotes.Replace(formula))
		}
	}
	return ""
}

// Family compiles the definition. It reports the first field that is out of range or
// that it cannot read.
//
// The family's name is the definition's, followed by 16 hexadecimal digits of the
// SHA-256 of its contents, so that a changed formula makes another data set. The random
// streams of parameters depend on the definition's name and the parameter's alone, so
// that a changed formula leaves their values as they are.
func (d Definition) Family() (Family, error) {
	if !definitionName.MatchString(d.Name) {
		return nil, errors.New("family: name: must be up to 40 lower-case letters, digits and underscores, a letter first")
	}
	if len(d.Parameters) > maxLaws {
		return nil, fmt.Errorf("family %s: parameters: there are %d, must be at most %d", d.Name, len(d.Parameters), maxLaws)
	}
	if d.Mixture != nil {
		return d.mixture()
	}
	if len(d.Box) > 0 {
		return d.withoutGrid()
	}
	f, err := d.compile()
	if err != nil {
		return nil, fmt.Errorf("family %s: %w", d.Name, err)
	}
	if d.Dim == 1 {
		return formulaLine{f, line{f.grid}}, nil
	}
	return formulaPlane{f}, nil
}

// withoutGrid compiles a definition with a box.
func (d Definition) withoutGrid() (Family, error) {
	if d.Grid != (Nodes{}) {
		return nil, fmt.Errorf("family %s: it has a grid and a box: must have one of them", d.Name)
	}
	s, err := newSpatial(d)
	if err != nil {
		return nil, fmt.Errorf("family %s: %w", d.Name, err)
	}
	return s, nil
}

// compile checks the parts of a definition with a grid and compiles its formulas.
func (d Definition) compile() (*formula, error) {
	if d.Dim != 1 && d.Dim != 2 {
		return nil, fmt.Errorf("dim is %d: must be 1 or 2 with a grid; with a box, such as box: [-4, 4], up to %d", d.Dim, expression.MaxDim)
	}
	least, most := 2, maxLineNodes
	if d.Dim == 2 {
		least, most = 3, maxPlaneNodes
	}
	grid := sde.Grid{Lo: d.Grid.Lo, Hi: d.Grid.Hi, N: d.Grid.Nodes}
	if grid.N < least || grid.N > most {
		return nil, fmt.Errorf("grid.nodes is %d: must be from %d to %d in dimension %d", grid.N, least, most, d.Dim)
	}
	if err := grid.Validate(); err != nil {
		return nil, fmt.Errorf("grid: %w", err)
	}
	if grid.Lo < -simulate.Reach || grid.Hi > simulate.Reach {
		return nil, fmt.Errorf("grid is [%g, %g]: must be within ±%g, since states count as diverged at ±%g", grid.Lo, grid.Hi, simulate.Reach, simulate.Bound)
	}
	domain, err := d.openInterval()
	if err != nil {
		return nil, err
	}
	if len(d.Drift) != d.Dim {
		return nil, fmt.Errorf("drift has %d formulas in %d dimensions", len(d.Drift), d.Dim)
	}
	if n := len(d.Diffusion); n != 1 && (d.Dim == 1 || n != 2 && n != 4) {
		return nil, fmt.Errorf("diffusion has %d formulas: must be 1 on the line, and 1, 2 or 4 in the plane", n)
	}
	return newFormula(d, grid, domain)
}

// id is the full name of the family.
func (d Definition) id() string {
	sum := sha256.Sum256([]byte(d.String()))
	return d.Name + "_" + hex.EncodeToString(sum[:8])
}
