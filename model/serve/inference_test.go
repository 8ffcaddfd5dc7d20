package serve

import (
	"encoding/binary"
	"math"
	"net/http"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/ergoflow/ergoflow/model/serve/oip"
)

const twoEquations = `{"id": "a", "parameters": {"n": 20, "seed": 3, "binary_data_output": false}, "inputs": [
	{"name": "drift", "shape": [2], "datatype": "BYTES", "data": ["-x", "-2*x"]},
	{"name": "diffusion", "shape": [2, 1], "datatype": "BYTES", "data": [["1"], ["1"]]}]}`

// The protocol gives the samples of our own one.
func TestInferHTTP(t *testing.T) {
	s := line(t, config())
	code, content, _ := ask(t, s, "/v2/models/vn1d/versions/1/infer", twoEquations)
	if code != http.StatusOK {
		t.Fatalf("status %d: %s", code, content)
	}
	a := decode[struct {
		ID      string
		Outputs []struct {
			Name, Datatype string
			Shape          []int
			Data           []any
		}
	}](t, content)
	if a.ID != "a" || len(a.Outputs) != 3 || len(a.Outputs[0].Data) != 40 || a.Outputs[0].Shape[1] != 20 {
		t.Fatalf("the answer is %.400s", content)
	}
	_, content, _ = ask(t, s, "/v1/samples", `{"equations": [{"drift": "-x", "diffusion": "1"}, {"drift": "-2*x", "diffusion": "1"}], "n": 20, "seed": 3}`)
	own := decode[struct{ Answers []lineAnswer }](t, content)
	for i, v := range a.Outputs[0].Data {
		if want := own.Answers[i/20].Samples[i%20]; math.Abs(v.(float64)-float64(want)) > 1e-6 {
			t.Fatalf("sample %d is %v, want %g", i, v, want)
		}
	}
	for path, want := range map[string]string{
		"/v2": `"ergoflow"`, "/v2/health/live": "true", "/v2/health/ready": "true", "/v2/models/vn1d": `"samples"`,
		"/v2/models/vn1d/ready": "true", "/v2/models/vn1d/versions/1/ready": "true",
	} {
		if code, content, _ := ask(t, s, path, ""); code != http.StatusOK || !strings.Contains(string(content), want) {
			t.Errorf("%s: status %d: %s", path, code, content)
		}
	}
}

func TestInferBadRequests(t *testing.T) {
	s := line(t, config())
	for name, test := range map[string]struct {
		body   string
		status int
		want   string
	}{
		"no inputs":    {`{}`, 400, "there is no equation"},
		"unknown":      {`{"inputs": [{"name": "x", "shape": [1], "datatype": "FP32", "data": [1]}]}`, 400, "no such input"},
		"datatype":     {`{"inputs": [{"name": "function", "shape": [1], "datatype": "FP32", "data": [1]}]}`, 400, "datatype"},
		"shape":        {`{"inputs": [{"name": "function", "shape": [2], "datatype": "INT64", "data": [1]}]}`, 400, "has 1 elements"},
		"no shape":     {`{"inputs": [{"name": "function", "datatype": "INT64", "data": [1]}]}`, 400, "shape"},
		"huge shape":   {`{"inputs": [{"name": "drift", "shape": [1000000000000, 4], "datatype": "BYTES", "data": []}]}`, 400, "not in 1…"},
		"negative":     {`{"inputs": [{"name": "function", "shape": [1], "datatype": "INT64", "data": [-1]}]}`, 400, "negative"},
		"nested":       {`{"inputs": [{"name": "function", "shape": [1], "datatype": "INT64", "data": [[[1]]]}]}`, 400, "nested"},
		"twice":        {strings.Replace(twoEquations, "diffusion", "drift", 1), 400, "twice"},
		"counts":       {strings.Replace(twoEquations, `"shape": [2, 1], "datatype": "BYTES", "data": [["1"], ["1"]]`, `"shape": [1], "datatype": "BYTES", "data": ["1"]`, 1), 400, "another input"},
		"parameter":    {strings.Replace(twoEquations, `"n": 20`, `"n": "many"`, 1), 400, "n: many"},
		"formula":      {strings.Replace(twoEquations, `"-2*x"`, `"-2*"`, 1), 422, "cannot read the formula"},
		"many samples": {strings.Replace(twoEquations, `"n": 20`, `"n": 100000000`, 1), 413, "the limit is"},
		"not JSON":     {`{"inputs`, 400, "no JSON"},
		"nested JSON":  {strings.Repeat(`{"a":`, 50_000), 400, "no JSON"},
		"large":        {`{"id": "` + strings.Repeat("x", 1<<20) + `"}`, 413, "too many"},
	} {
		code, content, _ := ask(t, s, "/v2/models/vn1d/infer", test.body)
		if code != test.status || !strings.Contains(decode[struct{ Error string }](t, content).Error, test.want) {
			t.Errorf("%s: status %d, want %d with %q: %.300s", name, code, test.status, test.want, content)
		}
	}
	if code, _, _ := ask(t, s, "/v2/models/other/infer", twoEquations); code != http.StatusNotFound {
		t.Errorf("another model: status %d", code)
	}
}

// gRPC has the samples of HTTP, raw or not, on the same port.
func TestInferGRPC(t *testing.T) {
	c := config()
	c.Token = "0123456789abcdef"
	c.Models = One(Source{Name: "vn1d", Version: "1", Encoded: encoded(t, "vn1d", 1)})
	url, s, _ := serving(t, c)
	connection, err := grpc.NewClient(strings.TrimPrefix(url, "http://"), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer connection.Close()
	client := oip.NewGRPCInferenceServiceClient(connection)
	bytesOf := func(text ...string) *oip.InferTensorContents {
		contents := &oip.InferTensorContents{}
		for _, v := range text {
			contents.BytesContents = append(contents.BytesContents, []byte(v))
		}
		return contents
	}
	request := &oip.ModelInferRequest{
		ModelName: "vn1d", Id: "b",
		Parameters: map[string]*oip.InferParameter{"n": {ParameterChoice: &oip.InferParameter_Int64Param{Int64Param: 20}}, "seed": {ParameterChoice: &oip.InferParameter_Uint64Param{Uint64Param: 3}}},
		Inputs: []*oip.ModelInferRequest_InferInputTensor{
			{Name: "drift", Datatype: "BYTES", Shape: []int64{1}, Contents: bytesOf("-x")},
			{Name: "diffusion", Datatype: "BYTES", Shape: []int64{1}, Contents: bytesOf("1")},
		},
	}
	if _, err := client.ModelInfer(t.Context(), request); status.Code(err) != codes.Unauthenticated {
		t.Errorf("without the token: %v", err)
	}
	ctx := metadata.AppendToOutgoingContext(t.Context(), "authorization", "Bearer "+c.Token)
	a, err := client.ModelInfer(ctx, request)
	if err != nil {
		t.Fatal(err)
	}
	samples := a.GetOutputs()[0].GetContents().GetFp32Contents()
	_, content, _ := ask(t, s, "/v1/sample", `{"drift": "-x", "diffusion": "1", "n": 20, "seed": 3}`, "Authorization", "Bearer "+c.Token)
	for i, want := range decode[lineAnswer](t, content).Samples {
		if math.Abs(float64(samples[i]-want)) > 1e-6 {
			t.Fatalf("sample %d is %g, want %g", i, samples[i], want)
		}
	}
	for i, text := range []string{"-x", "1"} {
		request.Inputs[i].Contents = nil
		request.RawInputContents = append(request.RawInputContents, append(binary.LittleEndian.AppendUint32(nil, uint32(len(text))), text...))
	}
	request.Outputs = []*oip.ModelInferRequest_InferRequestedOutputTensor{{Name: "samples"}}
	raw, err := client.ModelInfer(ctx, request)
	if err != nil {
		t.Fatal(err)
	}
	if len(raw.GetOutputs()) != 1 || math.Float32frombits(binary.LittleEndian.Uint32(raw.GetRawOutputContents()[0])) != samples[0] {
		t.Errorf("raw outputs %v", raw.GetOutputs())
	}
	for _, test := range []struct {
		name   string
		change func()
		code   codes.Code
	}{
		{"cut", func() { request.RawInputContents[0] = request.RawInputContents[0][:5] }, codes.InvalidArgument},
		{"count", func() { request.RawInputContents = request.RawInputContents[:1] }, codes.InvalidArgument},
		{"no data", func() { request.RawInputContents = nil }, codes.InvalidArgument},
	} {
		test.change()
		if _, err := client.ModelInfer(ctx, request); status.Code(err) != test.code {
			t.Errorf("%s: %v", test.name, err)
		}
	}
	if ready, err := client.ServerReady(t.Context(), &oip.ServerReadyRequest{}); err != nil || !ready.GetReady() {
		t.Errorf("ready %v, error %v", ready, err)
	}
	if m, err := client.ModelMetadata(ctx, &oip.ModelMetadataRequest{Name: "vn1d"}); err != nil || len(m.GetInputs()) != 3 {
		t.Errorf("metadata %v, error %v", m, err)
	}
	if _, err := client.ModelMetadata(ctx, &oip.ModelMetadataRequest{Name: "other"}); status.Code(err) != codes.NotFound {
		t.Errorf("another model: %v", err)
	}
}
