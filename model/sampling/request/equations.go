package request

import (
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/ergoflow/ergoflow/data/equations/expression"
)

const (
	// MostEquations bounds a file of equations, and maxEquationsFile its bytes.
	MostEquations    = 1 << 16
	maxEquationsFile = 64 << 20
)

// ErrEquations means that a file of equations cannot be read.
var ErrEquations = errors.New("not a file of equations")

// ReadEquations reads requests from a file. A .csv file has the columns drift and diffusion, and
// the other columns are parameters of the formulas. A .json file has a list of objects:
//
//	{"drift": "-k*x", "diffusion": "1", "params": {"k": 2}}, or {"function": 7}
//
// where drift and diffusion in the plane are lists.
func ReadEquations(path string) ([]Request, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	content, err := io.ReadAll(io.LimitReader(f, maxEquationsFile+1))
	if err != nil {
		return nil, err
	}
	if len(content) > maxEquationsFile {
		return nil, fmt.Errorf("%s: %w: it has more than %d bytes", path, ErrEquations, maxEquationsFile)
	}
	var all []Request
	switch suffix := strings.ToLower(filepath.Ext(path)); suffix {
	case ".csv":
		all, err = equationsOfCSV(string(content))
	case ".json":
		all, err = equationsOfJSON(content)
	default:
		err = fmt.Errorf("its suffix is %q, not .csv or .json", suffix)
	}
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s: %w: %w", path, ErrEquations, err)
	case len(all) == 0:
		return nil, fmt.Errorf("%s: %w: it has no equation", path, ErrEquations)
	case len(all) > MostEquations:
		return nil, fmt.Errorf("%s: %w: it has %d equations, at most %d", path, ErrEquations, len(all), MostEquations)
	}
	return all, nil
}

func equationsOfCSV(text string) (all []Request, err error) {
	r := csv.NewReader(strings.NewReader(text))
	r.TrimLeadingSpace = true
	header, err := r.Read()
	if err != nil {
		return nil, fmt.Errorf("its first line: %w", err)
	}
	drift, diffusion := slices.Index(header, "drift"), slices.Index(header, "diffusion")
	if drift < 0 || diffusion < 0 {
		return nil, fmt.Errorf("its columns are %s, without drift or diffusion", strings.Join(header, ", "))
	}
	for {
		row, err := r.Read()
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return nil, err
		}
		request := Request{Drift: []string{row[drift]}, Diffusion: []string{row[diffusion]}}
		for k, name := range header {
			if k == drift || k == diffusion {
				continue
			}
			v, err := strconv.ParseFloat(row[k], 64)
			if err != nil || math.IsNaN(v) || math.IsInf(v, 0) {
				return nil, fmt.Errorf("equation %d: the parameter %s is %q, not a number", len(all)+1, name, row[k])
			}
			if request.Parameters == nil {
				request.Parameters = expression.Parameters{}
			}
			request.Parameters[name] = v
		}
		all = append(all, request)
	}
}

func equationsOfJSON(content []byte) (all []Request, err error) {
	var list []struct {
		Drift     Formulas              `json:"drift"`
		Diffusion Formulas              `json:"diffusion"`
		Params    expression.Parameters `json:"params"`
		Function  *int                  `json:"function"`
		Time      *float64              `json:"time"`
	}
	d := json.NewDecoder(strings.NewReader(string(content)))
	d.DisallowUnknownFields()
	if err := d.Decode(&list); err != nil {
		return nil, err
	}
	for i, e := range list {
		r := Request{Drift: e.Drift, Diffusion: e.Diffusion, Parameters: e.Params, Time: e.Time}
		switch {
		case e.Function != nil && len(e.Drift)+len(e.Diffusion) > 0:
			return nil, fmt.Errorf("equation %d: it has formulas and a function's number", i+1)
		case e.Function != nil:
			r.Function = *e.Function
		case len(e.Drift) == 0 || len(e.Diffusion) == 0:
			return nil, fmt.Errorf("equation %d: drift or diffusion is missing", i+1)
		}
		all = append(all, r)
	}
	return all, nil
}

// Formulas are one formula, or one for each coordinate: a string or a list of strings in JSON.
type Formulas []string

// UnmarshalJSON reads either.
func (f *Formulas) UnmarshalJSON(raw []byte) error {
	var one string
	if json.Unmarshal(raw, &one) == nil {
		*f = Formulas{one}
		return nil
	}
	return json.Unmarshal(raw, (*[]string)(f))
}
