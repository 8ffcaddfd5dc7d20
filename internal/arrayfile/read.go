package arrayfile

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

	"github.com/parquet-go/parquet-go"

	"github.com/ergoflow/ergoflow/internal/npy"
)

// Read reads samples of a file in the format of its suffix; of an unknown one, or none, .npy.
// It refuses numbers that are not finite. Decimals as short as those of float32 numbers are read
// as such. Errors name the file.
func Read(path string) (Samples, error) {
	read, known := map[string]func(*os.File) (Samples, error){".csv": readCSV, ".json": readJSON, ".parquet": readParquet}[strings.ToLower(filepath.Ext(path))]
	if !known {
		return readNPY(path)
	}
	f, err := os.Open(path)
	if err != nil {
		return Samples{}, err
	}
	defer f.Close()
	s, err := read(f)
	if strings.ToLower(filepath.Ext(path)) != ".parquet" {
		restoreSingle(s.Data)
	}
	if err == nil {
		err = s.validate()
	}
	if err != nil {
		return Samples{}, fmt.Errorf("%s: %w", path, err)
	}
	return s, nil
}

// restoreSingle makes float32 numbers again of decimals that are no longer than theirs. If one
// of the numbers is longer, all stay as they are.
func restoreSingle(x []float64) {
	var text []byte
	for _, v := range x {
		text = strconv.AppendFloat(text[:0], float64(float32(v)), 'g', -1, 32)
		if back, err := strconv.ParseFloat(string(text), 64); err != nil || back != v {
			return
		}
	}
	for i, v := range x {
		x[i] = float64(float32(v))
	}
}

func readNPY(path string) (Samples, error) {
	a, err := npy.Read(path)
	if err != nil {
		return Samples{}, err
	}
	if len(a.Shape) == 1 {
		return Line(a.Data), nil
	}
	if a.Shape[1] == 0 {
		return Samples{}, fmt.Errorf("%s: it has no columns", path)
	}
	s := Points(a.Data, a.Shape[1])
	s.Unnamed = true
	return s, nil
}

// rows collects rows of named columns.
type rows struct {
	Samples
	chain int   // place of the column that counts chains; −1 if there is none
	skip  []int // places of chain and draw
	last  float64
}

func newRows(names []string) (*rows, error) {
	r := &rows{chain: -1, last: math.NaN()}
	for k, name := range names {
		switch name = strings.TrimSpace(name); name {
		case "chain", "draw":
			r.skip = append(r.skip, k)
		default:
			r.Columns = append(r.Columns, name)
		}
	}
	if len(r.Columns) == 0 {
		return nil, errors.New("it has no column of samples")
	}
	if len(r.Columns) == 1 {
		r.chain = slices.Index(names, "chain")
	}
	return r, nil
}

func (r *rows) add(values []float64) error {
	for k, v := range values {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return fmt.Errorf("row %d has a number that is not finite", len(r.Data)/len(r.Columns)+1)
		}
		if k == r.chain && v != r.last {
			r.Chains, r.last = r.Chains+1, v
		}
		if !slices.Contains(r.skip, k) {
			r.Data = append(r.Data, v)
		}
	}
	return nil
}

func readCSV(f *os.File) (Samples, error) {
	in := csv.NewReader(f)
	in.ReuseRecord, in.TrimLeadingSpace = true, true
	header, err := in.Read()
	if err != nil {
		return Samples{}, fmt.Errorf("read the header: %w", err)
	}
	if _, err := strconv.ParseFloat(header[0], 64); err == nil {
		return Samples{}, errors.New("its first line is of numbers, must be the names of the columns, such as x or x,y")
	}
	r, err := newRows(header)
	if err != nil {
		return Samples{}, err
	}
	values := make([]float64, len(header))
	for {
		row, err := in.Read()
		if errors.Is(err, io.EOF) {
			return r.Samples, nil
		}
		if err != nil {
			return Samples{}, err
		}
		for k, text := range row {
			if values[k], err = strconv.ParseFloat(text, 64); err != nil {
				line, _ := in.FieldPos(k)
				return Samples{}, fmt.Errorf("line %d: %.40q is not a number", line, text)
			}
		}
		if err := r.add(values); err != nil {
			return Samples{}, err
		}
	}
}

func readJSON(f *os.File) (Samples, error) {
	var columns map[string]json.RawMessage
	if err := json.NewDecoder(f).Decode(&columns); err != nil {
		return Samples{}, err
	}
	var chains [][]float64
	if len(columns) == 1 && json.Unmarshal(columns["x"], &chains) == nil && len(chains) > 0 {
		s := Samples{Columns: []string{"x"}, Chains: len(chains)}
		for _, c := range chains {
			if len(c) != len(chains[0]) {
				return Samples{}, errors.New("its chains have different lengths")
			}
			s.Data = append(s.Data, c...)
		}
		return s, nil
	}
	var names []string
	for name := range columns {
		names = append(names, name)
	}
	// x2 comes before x10.
	slices.SortFunc(names, func(a, b string) int {
		if len(a) != len(b) {
			return len(a) - len(b)
		}
		return strings.Compare(a, b)
	})
	r, err := newRows(names)
	if err != nil {
		return Samples{}, err
	}
	lists := make([][]float64, len(names))
	for k, name := range names {
		if err := json.Unmarshal(columns[name], &lists[k]); err != nil {
			return Samples{}, fmt.Errorf("%.40s is not a list of numbers", name)
		}
		if len(lists[k]) != len(lists[0]) {
			return Samples{}, fmt.Errorf("%.40s and %.40s have different lengths", names[0], name)
		}
	}
	values := make([]float64, len(names))
	for i := range lists[0] {
		for k := range lists {
			values[k] = lists[k][i]
		}
		if err := r.add(values); err != nil {
			return Samples{}, err
		}
	}
	return r.Samples, nil
}

func readParquet(f *os.File) (Samples, error) {
	stat, err := f.Stat()
	if err != nil {
		return Samples{}, err
	}
	file, err := parquet.OpenFile(f, stat.Size())
	if err != nil {
		return Samples{}, err
	}
	var names []string
	for _, path := range file.Schema().Columns() {
		names = append(names, strings.Join(path, "."))
	}
	in := parquet.NewReader(file)
	defer in.Close()
	r, err := newRows(names)
	if err != nil {
		return Samples{}, err
	}
	values, batch := make([]float64, len(names)), make([]parquet.Row, 1024)
	for {
		n, err := in.ReadRows(batch)
		for _, row := range batch[:n] {
			if len(row) != len(names) {
				return Samples{}, fmt.Errorf("a row has %d values, want %d", len(row), len(names))
			}
			for _, v := range row {
				switch v.Kind() {
				case parquet.Float:
					values[v.Column()] = float64(v.Float())
				case parquet.Double:
					values[v.Column()] = v.Double()
				case parquet.Int64:
					values[v.Column()] = float64(v.Int64())
				case parquet.Int32:
					values[v.Column()] = float64(v.Int32())
				default:
					return Samples{}, fmt.Errorf("column %.40s is not of numbers", names[v.Column()])
				}
			}
			if err := r.add(values); err != nil {
				return Samples{}, err
			}
		}
		if errors.Is(err, io.EOF) {
			return r.Samples, nil
		}
		if err != nil {
			return Samples{}, err
		}
	}
}
