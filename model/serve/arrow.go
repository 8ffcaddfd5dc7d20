package serve

import (
	"encoding/json"
	"io"
	"strconv"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/danielgtaylor/huma/v2"

	"github.com/ergoflow/ergoflow/internal/arrayfile"
)

// arrowStream is the media type of Arrow's streams (IANA).
const arrowStream = "application/vnd.apache.arrow.stream"

// marshalArrow writes the samples of an answer as a stream of Arrow; everything else as JSON. Every
// equation is a record batch of the coordinates, float32, named as in files (package arrayfile):
// x; x and y; x1, x2, …. Of several equations the first column is the number of the equation,
// int32. The schema's metadata have model, version, seed and verdict, and the answer as JSON
// without its samples.
func marshalArrow(w io.Writer, v any) error {
	switch v := v.(type) {
	case SampleAnswer:
		answers := []Samples{v.Samples}
		v.Samples.Samples = nil
		return writeArrow(w, answers, false, v.About, v)
	case BatchAnswer:
		rest := BatchAnswer{Answers: make([]Samples, len(v.Answers)), About: v.About}
		for i, a := range v.Answers {
			a.Samples = nil
			rest.Answers[i] = a
		}
		return writeArrow(w, v.Answers, true, v.About, rest)
	}
	return huma.DefaultJSONFormat.Marshal(w, v)
}

func writeArrow(w io.Writer, answers []Samples, several bool, about About, rest any) error {
	text, err := json.Marshal(rest)
	if err != nil {
		return err
	}
	metadata := arrow.NewMetadata(
		[]string{"model", "version", "seed", "verdict", "answer"},
		[]string{about.Model, about.Version, strconv.FormatUint(about.Seed, 10), string(worst(answers)), string(text)})
	dim := 1
	if shape := answers[0].Shape; len(shape) > 1 {
		dim = shape[1]
	}
	var fields []arrow.Field
	if several {
		fields = append(fields, arrow.Field{Name: "equation", Type: arrow.PrimitiveTypes.Int32})
	}
	for _, name := range arrayfile.Points(nil, dim).Columns {
		fields = append(fields, arrow.Field{Name: name, Type: arrow.PrimitiveTypes.Float32})
	}
	schema := arrow.NewSchema(fields, &metadata)
	stream := ipc.NewWriter(w, ipc.WithSchema(schema))
	for i, a := range answers {
		n := len(a.x) / dim
		columns := make([]arrow.Array, 0, len(fields))
		if several {
			numbers := make([]int32, n)
			for k := range numbers {
				numbers[k] = int32(i)
			}
			columns = append(columns, column(arrow.PrimitiveTypes.Int32, n, arrow.Int32Traits.CastToBytes(numbers)))
		}
		for k := range dim {
			values := a.x
			if dim > 1 {
				values = make([]float32, n)
				for row := range values {
					values[row] = a.x[row*dim+k]
				}
			}
			columns = append(columns, column(arrow.PrimitiveTypes.Float32, n, arrow.Float32Traits.CastToBytes(values)))
		}
		if err := stream.Write(array.NewRecordBatch(schema, columns, int64(n))); err != nil {
			return err
		}
	}
	return stream.Close()
}

// column is an array of n values without nulls.
func column(of arrow.DataType, n int, values []byte) arrow.Array {
	return array.MakeFromData(array.NewData(of, n, []*memory.Buffer{nil, memory.NewBufferBytes(values)}, nil, 0, 0))
}
