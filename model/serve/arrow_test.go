package serve

import (
	"bytes"
	"encoding/json"
	"net/http"
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
)

// streamed is what a client of Arrow reads: columns of all batches, by name.
type streamed struct {
	batches  []int // rows
	names    []string
	numbers  map[string][]float32
	equation []int32
	metadata map[string]string
}

func readStream(t *testing.T, content []byte) (s streamed) {
	t.Helper()
	r, err := ipc.NewReader(bytes.NewReader(content))
	if err != nil {
		t.Fatalf("%v in %.100q", err, content)
	}
	defer r.Release()
	s.numbers, s.metadata = map[string][]float32{}, r.Schema().Metadata().ToMap()
	for _, f := range r.Schema().Fields() {
		s.names = append(s.names, f.Name)
	}
	for r.Next() {
		batch := r.RecordBatch()
		s.batches = append(s.batches, int(batch.NumRows()))
		for k, name := range s.names {
			switch c := batch.Column(k).(type) {
			case *array.Float32:
				s.numbers[name] = append(s.numbers[name], c.Float32Values()...)
			case *array.Int32:
				s.equation = append(s.equation, c.Int32Values()...)
			default:
				t.Fatalf("column %s is %v", name, c.DataType())
			}
			if batch.Column(k).NullN() > 0 {
				t.Errorf("column %s has nulls", name)
			}
		}
	}
	if r.Err() != nil {
		t.Fatal(r.Err())
	}
	return s
}

// A stream of Arrow has the samples of the JSON answer, and the rest of it beside them.
func TestArrow(t *testing.T) {
	s := line(t, config())
	const body = `{"drift": "-x", "diffusion": "1", "n": 300, "seed": 18446744073709551615}`
	_, content, _ := ask(t, s, "/v1/sample", body)
	want := decode[SampleAnswer](t, content)
	code, content, header := ask(t, s, "/v1/sample", body, "Accept", arrowStream)
	if code != http.StatusOK || header.Get("Content-Type") != arrowStream || header.Get("Ergoflow-Verdict") == "" {
		t.Fatalf("status %d, %v", code, header)
	}
	got := readStream(t, content)
	if !slices.Equal(got.batches, []int{300}) || !slices.Equal(got.names, []string{"x"}) || !sameNumbers(got.numbers["x"], want.Samples.Samples) {
		t.Errorf("batches %v of %v, first sample %v", got.batches, got.names, got.numbers["x"][:1])
	}
	if m := got.metadata; m["seed"] != "18446744073709551615" || m["model"] != "vn1d" || m["version"] != "1" || m["verdict"] != string(want.Certificate.Verdict) {
		t.Errorf("metadata %v", m)
	}
	rest := decode[SampleAnswer](t, []byte(got.metadata["answer"]))
	if rest.Samples.Samples != nil || *rest.Mean != *want.Mean || len(rest.Certificate.Checks) != len(want.Certificate.Checks) || rest.Shape[0] != 300 {
		t.Errorf("the rest of the answer is %.300s", got.metadata["answer"])
	}
}

// Every equation is a batch, with its number.
func TestArrowOfSeveral(t *testing.T) {
	s := line(t, config())
	const body = `{"equations": [{"function": 1}, {"function": 3}, {"function": 2}], "n": 50}`
	_, content, _ := ask(t, s, "/v1/samples", body)
	want := decode[BatchAnswer](t, content)
	_, content, _ = ask(t, s, "/v1/samples", body, "Accept", arrowStream)
	got := readStream(t, content)
	if !slices.Equal(got.batches, []int{50, 50, 50}) || !slices.Equal(got.names, []string{"equation", "x"}) {
		t.Fatalf("batches %v of %v", got.batches, got.names)
	}
	for i, a := range want.Answers {
		if !sameNumbers(got.numbers["x"][50*i:50*i+50], a.Samples) || got.equation[50*i] != int32(i) || got.equation[50*i+49] != int32(i) {
			t.Errorf("equation %d differs", i)
		}
	}
	if got.metadata["verdict"] != string(worst(want.Answers)) {
		t.Errorf("metadata %v", got.metadata)
	}
}

// Errors are problems whatever a client accepts, and the description names the formats.
func TestArrowProblems(t *testing.T) {
	s := line(t, config())
	code, content, header := ask(t, s, "/v1/sample", `{"drift": "-x("}`, "Accept", arrowStream)
	if code != http.StatusUnprocessableEntity || header.Get("Content-Type") != "application/problem+json" {
		t.Errorf("status %d, %s: %.100s", code, header.Get("Content-Type"), content)
	}
	_, content, _ = ask(t, s, "/openapi.json", "")
	var api struct {
		Paths map[string]map[string]struct {
			Responses map[string]struct{ Content map[string]any }
		}
	}
	if err := json.Unmarshal(content, &api); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/v1/sample", "/v1/samples"} {
		formats := api.Paths[path]["post"].Responses["200"].Content
		if len(formats) != 3 || formats["application/json"] == nil || formats[arrowStream] == nil || formats["application/x-npy"] == nil {
			t.Errorf("%s answers %v", path, formats)
		}
	}
}

// The columns of points are those of files.
func TestArrowOfPoints(t *testing.T) {
	var b bytes.Buffer
	x := []float32{1, 2, 3, 4, 5, 6}
	for dim, want := range map[int][]string{2: {"x", "y"}, 3: {"x1", "x2", "x3"}} {
		b.Reset()
		if err := marshalArrow(&b, SampleAnswer{Samples: Samples{Shape: []int{6 / dim, dim}, x: x}}); err != nil {
			t.Fatal(err)
		}
		got := readStream(t, b.Bytes())
		if !slices.Equal(got.names, want) || got.batches[0] != 6/dim || got.numbers[want[1]][1] != x[dim+1] {
			t.Errorf("%d dimensions: %+v", dim, got)
		}
	}
}

// sameNumbers compares samples with those of decoded JSON.
func sameNumbers(x []float32, decoded any) bool {
	list, ok := decoded.([]any)
	if !ok || len(list) != len(x) {
		return false
	}
	for i, v := range list {
		if float32(v.(float64)) != x[i] {
			return false
		}
	}
	return true
}
