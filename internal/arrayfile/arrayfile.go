// Package arrayfile reads and writes samples in the formats that other programs read: NumPy's
// .npy and .npz, CSV, Parquet and JSON. The suffix of a file's name tells its format.
//
//	.npy      one array: [n], [chain, draw] or [n, d]
//	.npz      the same array, under the name x
//	.csv      a header and a row for each sample: x; chain,draw,x; x,y; x1,…,xd
//	.parquet  the same columns, float or double, chain and draw as 64-bit integers
//	.json     an object of columns: {"x": […]}; of chains {"x": [[…], …]}
//
// Numbers are written as float32 where that changes no statistic (package npy), and else as
// float64. Files appear complete or not at all.
package arrayfile

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ergoflow/ergoflow/internal/atomicfile"
	"github.com/ergoflow/ergoflow/internal/npy"
)

// Samples are numbers in C order: of one coordinate [n], or of Chains chains [chain, draw]; of
// several columns [n, d].
type Samples struct {
	Data    []float64
	Single  []float32 // in place of Data, where the numbers are in float32
	Columns []string  // at least one
	Chains  int       // 0 where the samples are not of chains; with one column only
	// Equations is the number of equations that the samples are of, as many of each: their array
	// is [equation, draw], or [equation, draw, coordinate]. 0 is one equation.
	Equations int
	// Unnamed means that the file does not say whether two dimensions are chains and draws, or
	// samples and coordinates. The columns then are as for coordinates.
	Unnamed bool
}

// Line are samples of one coordinate.
func Line(x []float64) Samples { return Samples{Data: x, Columns: []string{"x"}} }

// Points are samples in d dimensions: their columns are x; x and y; x1, x2, and so on.
func Points(x []float64, d int) Samples {
	columns := []string{"x", "y"}[:min(d, 2)]
	if d > 2 {
		columns = nil
		for k := range d {
			columns = append(columns, fmt.Sprint("x", k+1))
		}
	}
	return Samples{Data: x, Columns: columns}
}

// Points32 is Points of numbers in float32.
func Points32(x []float32, d int) Samples {
	s := Points(nil, d)
	s.Single = x
	return s
}

// count is that of all numbers.
func (s Samples) count() int { return max(len(s.Data), len(s.Single)) }

// Shape is the array's.
func (s Samples) Shape() []int {
	d := len(s.Columns)
	switch {
	case s.Equations > 0 && d > 1:
		return []int{s.Equations, s.count() / s.Equations / d, d}
	case s.Equations > 0:
		return []int{s.Equations, s.count() / s.Equations}
	case s.Chains > 0:
		return []int{s.Chains, s.count() / s.Chains}
	case d > 1 || s.Unnamed:
		return []int{s.count() / d, d}
	}
	return []int{s.count()}
}

// AsChains are samples of an unnamed array [chain, draw].
func (s Samples) AsChains() Samples {
	if !s.Unnamed {
		return s
	}
	return Samples{Data: s.Data, Columns: []string{"x"}, Chains: s.Shape()[0]}
}

// Beside decides what the two dimensions of an unnamed array are: chains and draws, if the
// samples with which it is compared are of one coordinate, or if there are more columns than
// points can have coordinates.
func (s Samples) Beside(other Samples, mostCoordinates int) Samples {
	if s.Unnamed && (len(s.Columns) > mostCoordinates || !other.Unnamed && len(other.Columns) == 1) {
		return s.AsChains()
	}
	return s
}

// fewDraws are more likely the coordinates of points than the draws of a chain.
const fewDraws = 4

// Doubt says what the two dimensions of an unnamed array were taken for, by Beside or not, where
// its shape suggests the other; empty otherwise.
func (s Samples) Doubt() string {
	shape := s.Shape()
	switch {
	case len(shape) < 2:
		return ""
	case s.Chains > 0 && shape[1] < fewDraws:
		return fmt.Sprintf("%v is taken as %d chains of %d samples on the line, since the samples beside it are on the line", shape, shape[0], shape[1])
	case s.Unnamed && shape[1] >= fewDraws && shape[0] < 4*shape[1]:
		return fmt.Sprintf("%v is taken as %d points in %d dimensions; --chains takes its rows as chains of samples on the line", shape, shape[0], shape[1])
	}
	return ""
}

// validate refuses what has no shape.
func (s Samples) validate() error {
	d := len(s.Columns)
	if d == 0 || s.Chains < 0 || s.Chains > 0 && (d > 1 || s.count()%s.Chains != 0) || s.count()%max(d, 1) != 0 {
		return fmt.Errorf("%d numbers in %d columns and %d chains", s.count(), d, s.Chains)
	}
	if s.Equations < 0 || s.Equations > 0 && (s.Chains > 0 || s.count()%(s.Equations*d) != 0) {
		return fmt.Errorf("%d numbers in %d columns of %d equations", s.count(), d, s.Equations)
	}
	return nil
}

// ErrSuffix means that a file's name ends in no known format.
var ErrSuffix = errors.New("unknown format")

// Suffixes are those of the known formats.
func Suffixes() []string { return []string{".npy", ".npz", ".csv", ".parquet", ".json"} }

// Known fails with ErrSuffix where the suffix of a name is of no known format. A name without
// one is .npy.
func Known(path string) error {
	suffix := filepath.Ext(path)
	if len(suffix) > 1 && !slices.Contains(Suffixes(), strings.ToLower(suffix)) {
		return fmt.Errorf("%w %s of %s", ErrSuffix, suffix, path)
	}
	return nil
}

// Write writes samples in the format of the suffix. It returns NumPy's name of their type,
// float32 or float64. The file appears complete or, after an error or if ctx ends, not at all.
func Write(ctx context.Context, path string, s Samples) (dtype string, err error) {
	t := tableOf(s)
	return t.dtype(), t.write(ctx, path)
}

// WriteCSV writes samples to a stream as CSV, and returns their type.
func WriteCSV(ctx context.Context, w io.Writer, s Samples) (dtype string, err error) {
	if err := s.validate(); err != nil {
		return "", err
	}
	t := tableOf(s)
	return t.dtype(), t.encode(ctx, w, ".csv")
}

// WriteColumns writes columns of equal length, such as the points of a curve, as float64.
func WriteColumns(ctx context.Context, path string, names []string, columns ...[]float64) error {
	s := Samples{Columns: names}
	for i := range columns[0] {
		for _, c := range columns {
			s.Data = append(s.Data, c[i])
		}
	}
	return table{Samples: s}.write(ctx, path)
}

// table is samples with their rounding.
type table struct {
	Samples
	single []float32 // nil where float32 would lose digits
}

func tableOf(s Samples) table {
	t := table{Samples: s, single: s.Single}
	if t.single != nil || s.validate() != nil {
		return t
	}
	if rounded, small := npy.Single(npy.Array[float64]{Shape: s.Shape(), Data: s.Data}); small {
		t.single = rounded.Data
	}
	return t
}

func (t table) dtype() string {
	if t.single != nil {
		return "float32"
	}
	return "float64"
}

func (t table) write(ctx context.Context, path string) error {
	if err := Known(path); err != nil {
		return err
	}
	if err := t.validate(); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	f, err := atomicfile.Create(path)
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	if err = t.encode(ctx, f, strings.ToLower(filepath.Ext(path))); err == nil {
		err = f.Commit()
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", path, errors.Join(err, f.Abort()))
	}
	return nil
}

func (t table) encode(ctx context.Context, w io.Writer, suffix string) error {
	switch suffix {
	case ".npz":
		return t.npz(ctx, w)
	case ".csv":
		return t.csv(ctx, w)
	case ".parquet":
		return t.parquet(ctx, w)
	case ".json":
		return t.json(ctx, w)
	}
	return t.npy(ctx, w)
}

func (t table) npy(ctx context.Context, w io.Writer) error {
	if t.single != nil {
		return npy.Encode(ctx, w, npy.Array[float32]{Shape: t.Shape(), Data: t.single})
	}
	return npy.Encode(ctx, w, npy.Array[float64]{Shape: t.Shape(), Data: t.Data})
}
