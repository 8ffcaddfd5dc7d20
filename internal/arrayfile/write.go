package arrayfile

import (
	"archive/zip"
	"bufio"
	"context"
	"io"
	"strconv"
	"time"

	"github.com/parquet-go/parquet-go"
)

// stretch is how many rows are written between two checks of ctx.
const stretch = 1 << 14

func (t table) npz(ctx context.Context, w io.Writer) error {
	archive := zip.NewWriter(w)
	// The oldest time of the format: equal samples give equal bytes.
	entry, err := archive.CreateHeader(&zip.FileHeader{Name: "x.npy", Method: zip.Store, Modified: time.Date(1980, 1, 1, 0, 0, 0, 0, time.UTC)})
	if err != nil {
		return err
	}
	if err := t.npy(ctx, entry); err != nil {
		return err
	}
	return archive.Close()
}

// append writes number i in decimals, as few as give it back.
func (t table) append(text []byte, i int) []byte {
	if t.single != nil {
		return strconv.AppendFloat(text, float64(t.single[i]), 'g', -1, 32)
	}
	return strconv.AppendFloat(text, t.Data[i], 'g', -1, 64)
}

// groups is how many chains or equations the samples are of, and which of the two; 0 if of one.
func (t table) groups() (count int, name string) {
	if t.Equations > 0 {
		return t.Equations, "equation"
	}
	return t.Chains, "chain"
}

func (t table) csv(ctx context.Context, w io.Writer) error {
	b := bufio.NewWriterSize(w, 1<<16)
	d := len(t.Columns)
	groups, group := t.groups()
	if groups > 0 {
		b.WriteString(group + ",draw,")
	}
	for k, name := range t.Columns {
		if k > 0 {
			b.WriteString(",")
		}
		b.WriteString(name)
	}
	b.WriteString("\n")
	var row []byte
	for i := range t.count() / d {
		if i%stretch == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		row = row[:0]
		if groups > 0 {
			draws := t.count() / d / groups
			row = append(strconv.AppendInt(row, int64(i/draws), 10), ',')
			row = append(strconv.AppendInt(row, int64(i%draws), 10), ',')
		}
		for k := range d {
			row = append(t.append(row, i*d+k), ',')
		}
		row[len(row)-1] = '\n'
		b.Write(row)
	}
	return b.Flush() // the first error of all writes
}

func (t table) json(ctx context.Context, w io.Writer) error {
	b := bufio.NewWriterSize(w, 1<<16)
	d := len(t.Columns)
	list := func(from, to, step int) {
		var text []byte
		b.WriteString("[")
		for i := from; i < to; i += step {
			text = text[:0]
			if i > from {
				text = append(text, ',')
			}
			b.Write(t.append(text, i))
		}
		b.WriteString("]")
	}
	for k, name := range t.Columns {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		b.WriteString(map[bool]string{true: "{", false: ",\n "}[k == 0] + strconv.Quote(name) + ": ")
		groups, _ := t.groups()
		if groups == 0 {
			list(k, t.count(), d)
			continue
		}
		size := t.count() / groups
		for c := range groups {
			b.WriteString(map[bool]string{true: "[", false: ",\n"}[c == 0])
			list(c*size+k, (c+1)*size, d)
		}
		b.WriteString("]")
	}
	b.WriteString("}\n")
	return b.Flush()
}

func (t table) parquet(ctx context.Context, w io.Writer) error {
	number := parquet.Leaf(parquet.DoubleType)
	if t.single != nil {
		number = parquet.Leaf(parquet.FloatType)
	}
	root := parquet.Group{}
	for _, name := range t.Columns {
		root[name] = number
	}
	groups, group := t.groups()
	if groups > 0 {
		root[group], root["draw"] = parquet.Leaf(parquet.Int64Type), parquet.Leaf(parquet.Int64Type)
	}
	schema := parquet.NewSchema("samples", root)
	place := map[string]int{} // the library orders the columns of a group by name
	for _, path := range schema.Columns() {
		leaf, _ := schema.Lookup(path...)
		place[path[0]] = leaf.ColumnIndex
	}
	out := parquet.NewGenericWriter[any](w, schema, parquet.Compression(&parquet.Zstd))
	d, rows := len(t.Columns), make([]parquet.Row, 0, stretch)
	for i := range t.count() / d {
		row := make(parquet.Row, len(place))
		put := func(name string, v parquet.Value) { row[place[name]] = v.Level(0, 0, place[name]) }
		if groups > 0 {
			draws := t.count() / d / groups
			put(group, parquet.Int64Value(int64(i/draws)))
			put("draw", parquet.Int64Value(int64(i%draws)))
		}
		for k, name := range t.Columns {
			if t.single != nil {
				put(name, parquet.FloatValue(t.single[i*d+k]))
			} else {
				put(name, parquet.DoubleValue(t.Data[i*d+k]))
			}
		}
		if rows = append(rows, row); len(rows) == stretch {
			if err := write(ctx, out, rows); err != nil {
				return err
			}
			rows = rows[:0]
		}
	}
	if err := write(ctx, out, rows); err != nil {
		return err
	}
	return out.Close()
}

func write(ctx context.Context, out *parquet.GenericWriter[any], rows []parquet.Row) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	_, err := out.WriteRows(rows)
	return err
}
