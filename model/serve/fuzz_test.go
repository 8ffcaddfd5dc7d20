package serve

import (
	"encoding/json"
	"mime"
	"net/http"
	"strings"
	"testing"
	"time"
)

// fuzzed are the paths that take bodies.
var fuzzed = []string{"/v1/sample", "/v1/samples", "/v1/density", "/v2/models/vn1d/infer"}

// Whatever a body has, the server answers with what is asked for, or with a problem that blames
// the request and not the server.
func FuzzBody(f *testing.F) {
	for path, bodies := range map[string][]string{
		"/v1/sample": {
			`{"drift": "-x", "diffusion": "1", "n": 10}`, `{"function": 3, "n": 2, "seed": 18446744073709551615, "solver": "rk4-1"}`,
			`{"drift": "-theta*(x-1)", "diffusion": "1", "params": {"theta": 2}, "n": 5, "repair": "auto", "timeout_s": 0.1}`,
			`{"drift": ["y", "x - x^3 - y"], "diffusion": "1", "model": "vn1d@1"}`, `{"drift": "` + strings.Repeat("(", 300) + `"}`,
			`{"drift": "1/0", "diffusion": "-1", "n": 1e999}`, `{"n": -1}`, `null`, `[`, ``,
		},
		"/v1/samples": {`{"equations": [{"drift": "-x", "diffusion": "1"}, {"function": 1}], "n": 3, "place": 7}`, `{"equations": []}`, `{"equations": [null]}`},
		"/v1/density": {`{"drift": "-x", "diffusion": "1", "grid": [-1, 0, 1]}`, `{"drift": "x", "diffusion": "1"}`, `{"quantiles": [2]}`},
		"/v2/models/vn1d/infer": {
			`{"id": "a", "parameters": {"n": 3, "seed": 1}, "inputs": [{"name": "drift", "shape": [1], "datatype": "BYTES", "data": ["-x"]}, {"name": "diffusion", "shape": [1], "datatype": "BYTES", "data": ["1"]}]}`,
			`{"inputs": [{"name": "function", "shape": [2, 1], "datatype": "INT64", "data": [[1], [2]]}], "outputs": [{"name": "verdict"}]}`,
			`{"inputs": [{"name": "drift", "shape": [-1, 9223372036854775807], "datatype": "BYTES", "data": [[[[]]]]}]}`,
		},
	} {
		for _, body := range bodies {
			for i, p := range fuzzed {
				if p == path {
					f.Add(uint8(i), body)
				}
			}
		}
	}
	c := config()
	c.Timeout = 100 * time.Millisecond // of answers; what is found is in the bodies
	s := line(f, c)
	f.Fuzz(func(t *testing.T, path uint8, body string) {
		code, content, header := ask(t, s, fuzzed[int(path)%len(fuzzed)], body+" ") // an empty one would be a GET
		kind, _, err := mime.ParseMediaType(header.Get("Content-Type"))
		if err != nil {
			t.Fatalf("status %d: %v", code, err)
		}
		if !json.Valid(content) || code != http.StatusOK && kind == "application/problem+json" && !strings.Contains(string(content), "detail") {
			t.Fatalf("status %d: %.300q", code, content)
		}
		if code >= http.StatusInternalServerError && code != http.StatusServiceUnavailable && code != http.StatusGatewayTimeout {
			t.Fatalf("status %d: %.300s", code, content)
		}
	})
}
