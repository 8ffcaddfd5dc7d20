package serve

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ergoflow/ergoflow/data/sets/shard"
	"github.com/ergoflow/ergoflow/model/experiment"
	"github.com/ergoflow/ergoflow/model/training/state"
)

// encoded is an untrained state of an experiment.
func encoded(t testing.TB, name string, seed uint64) []byte {
	t.Helper()
	e, err := experiment.Load(name, "smoke", "", nil)
	if err != nil {
		t.Fatal(err)
	}
	st := state.Fresh(e.Velocity().Layout(), seed)
	if st.Config, err = json.Marshal(e); err != nil {
		t.Fatal(err)
	}
	st.Run, st.Normalisation = e.Hash(), shard.Normalisation{"drift": {Std: 1}, "diffusion": {Mean: 1, Std: 1}}
	content, err := st.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return content
}

func config() Config {
	return Config{Timeout: 10 * time.Second, MaxBody: 1 << 20, Build: "test", Log: slog.New(slog.DiscardHandler), Backend: "go"}
}

// line is a server with an untrained model of the line, named vn1d.
func line(t testing.TB, c Config) *Server {
	t.Helper()
	s := New(c)
	t.Cleanup(s.models.close)
	if err := s.Add(t.Context(), Source{Name: "vn1d", Version: "1", Encoded: encoded(t, "vn1d", 1)}); err != nil {
		t.Fatal(err)
	}
	return s
}

// ask posts a body and returns the status and the answer.
func ask(t testing.TB, s *Server, path, body string, headers ...string) (int, []byte, http.Header) {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, path, strings.NewReader(body))
	if body == "" {
		r.Method = http.MethodGet
	}
	r.Header.Set("Content-Type", "application/json")
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	s.Handler().ServeHTTP(w, r)
	return w.Code, w.Body.Bytes(), w.Header()
}

// decode reads an answer.
func decode[T any](t testing.TB, content []byte) (v T) {
	t.Helper()
	if err := json.Unmarshal(content, &v); err != nil {
		t.Fatalf("%v in %.300s", err, content)
	}
	return v
}

// lineAnswer is a SampleAnswer on the line, as a client reads it.
type lineAnswer struct {
	Samples     []float32
	Shape       []int
	Mean        float64
	Quantiles   map[string]float64
	Exact       *Moments
	Warnings    []string
	Certificate struct {
		Verdict string
		Checks  []struct {
			Name      string
			Effect, Z float64
			Pass      bool
		}
	}
	Repair *struct{ Steps int }
	Model  string
	Seed   uint64
}

func TestSample(t *testing.T) {
	s := line(t, config())
	const body = `{"drift": "-theta*x", "diffusion": "1", "params": {"theta": 2}, "n": 500, "seed": 7}`
	code, content, header := ask(t, s, "/v1/sample", body)
	if code != http.StatusOK {
		t.Fatalf("status %d: %s", code, content)
	}
	a := decode[lineAnswer](t, content)
	if len(a.Samples) != 500 || a.Shape[0] != 500 || a.Seed != 7 || a.Model != "vn1d" || len(a.Certificate.Checks) == 0 {
		t.Errorf("the answer is %.300s", content)
	}
	if v := *a.Exact.Variance; math.Abs(v-0.25) > 1e-9 {
		t.Errorf("the exact variance is %g, want 1/4", v)
	}
	if header.Get("Ergoflow-Verdict") != a.Certificate.Verdict || !strings.Contains(header.Get("Server-Timing"), "total;dur=") {
		t.Errorf("headers %v", header)
	}
	if a.Quantiles["0.025"] >= a.Quantiles["0.975"] {
		t.Errorf("quantiles %v", a.Quantiles)
	}
	if _, again, _ := ask(t, s, "/v1/sample", body); !equalSamples(t, content, again) {
		t.Error("the same seed gives other samples")
	}
	if _, other, _ := ask(t, s, "/v1/sample", strings.Replace(body, "7", "8", 1)); equalSamples(t, content, other) {
		t.Error("another seed gives the same samples")
	}
	_, packed, _ := ask(t, s, "/v1/sample", strings.Replace(body, "{", `{"encoding": "base64", `, 1))
	raw := decode[struct{ Samples []byte }](t, packed).Samples
	for i, v := range a.Samples {
		if math.Float32frombits(binary.LittleEndian.Uint32(raw[4*i:])) != v {
			t.Fatalf("sample %d is another one in base64", i)
		}
	}
	_, npy, header := ask(t, s, "/v1/sample", body, "Accept", "application/x-npy")
	if header.Get("Content-Type") != "application/x-npy" || !bytes.HasPrefix(npy, []byte("\x93NUMPY")) || len(npy) != 128+4*500 {
		t.Errorf("%d bytes of %s", len(npy), header.Get("Content-Type"))
	}
}

func equalSamples(t testing.TB, a, b []byte) bool {
	x, y := decode[lineAnswer](t, a).Samples, decode[lineAnswer](t, b).Samples
	for i := range x {
		if x[i] != y[i] {
			return false
		}
	}
	return len(x) == len(y)
}

// Chains bring an untrained model's samples to the law of −2x, and the certificate says so.
func TestRepair(t *testing.T) {
	s := line(t, config())
	code, content, _ := ask(t, s, "/v1/sample", `{"drift": "-2*x", "diffusion": "1", "n": 4096, "repair": "auto"}`)
	if code != http.StatusOK {
		t.Fatalf("status %d: %s", code, content)
	}
	a := decode[lineAnswer](t, content)
	if a.Certificate.Verdict != "good" || a.Repair == nil || a.Repair.Steps == 0 {
		t.Errorf("verdict %q after the repair %+v", a.Certificate.Verdict, a.Repair)
	}
	code, content, _ = ask(t, s, "/v1/sample", `{"drift": "-2*x", "diffusion": "1", "n": 64, "repair": 30}`)
	if a := decode[lineAnswer](t, content); code != http.StatusOK || a.Repair == nil || a.Repair.Steps != 30 {
		t.Errorf("status %d, repair %+v", code, a.Repair)
	}
}

// Equations of one request have the samples that each has alone, in the order of the request.
func TestSamples(t *testing.T) {
	s := line(t, config())
	code, content, _ := ask(t, s, "/v1/samples", `{"equations": [{"drift": "-x", "diffusion": "1"}, {"function": 3}], "n": 50}`)
	if code != http.StatusOK {
		t.Fatalf("status %d: %s", code, content)
	}
	batch := decode[struct{ Answers []lineAnswer }](t, content)
	_, alone, _ := ask(t, s, "/v1/sample", `{"drift": "-x", "diffusion": "1", "n": 50}`)
	one := decode[lineAnswer](t, alone)
	for i, v := range one.Samples {
		if math.Abs(float64(v-batch.Answers[0].Samples[i])) > 1e-5 {
			t.Fatalf("sample %d is %g alone, %g beside another equation", i, v, batch.Answers[0].Samples[i])
		}
	}
	_, content, _ = ask(t, s, "/v1/samples", `{"equations": [{"function": 3}], "place": 1, "n": 50}`)
	if placed := decode[struct{ Answers []lineAnswer }](t, content).Answers[0]; math.Abs(float64(placed.Samples[0]-batch.Answers[1].Samples[0])) > 1e-5 {
		t.Error("an equation at its place in a longer list has other samples")
	}
	if len(batch.Answers) != 2 || len(batch.Answers[1].Samples) != 50 {
		t.Errorf("%d answers", len(batch.Answers))
	}
	if _, npy, _ := ask(t, s, "/v1/samples", `{"equations": [{"function": 1}, {"function": 3}], "n": 50}`, "Accept", "application/x-npy"); !bytes.Contains(npy[:128], []byte("(2, 50)")) {
		t.Errorf("the array's header is %q", npy[:128])
	}
}

func TestDensity(t *testing.T) {
	s := line(t, config())
	code, content, _ := ask(t, s, "/v1/density", `{"drift": "-x", "diffusion": "sqrt(2)", "points": 2001}`)
	if code != http.StatusOK {
		t.Fatalf("status %d: %s", code, content)
	}
	a := decode[DensityAnswer](t, content)
	sum := 0.
	for i, x := range a.X {
		want := math.Exp(-x*x/2) / math.Sqrt(2*math.Pi)
		if d := math.Abs(a.Exact[i] - want); d > 1e-6 {
			t.Fatalf("the exact density at %g is %g, want %g", x, a.Exact[i], want)
		}
		sum += a.Density[i] * (a.X[1] - a.X[0])
	}
	if math.Abs(sum-1) > 0.01 {
		t.Errorf("the model's density integrates to %g", sum)
	}
}

// Every bad request has a problem with a status, a reason, and the path of the field.
func TestBadRequests(t *testing.T) {
	s := line(t, config())
	long := strings.Repeat("(", 10_000) + "x" + strings.Repeat(")", 10_000)
	for name, test := range map[string]struct {
		path, body string
		status     int
		place      string
	}{
		"no equation":        {"", `{}`, 422, "body.drift"},
		"no diffusion":       {"", `{"drift": "-x"}`, 422, "body.diffusion"},
		"both":               {"", `{"drift": "-x", "diffusion": "1", "function": 1}`, 422, "body.function"},
		"syntax":             {"", `{"drift": "-x^", "diffusion": "1"}`, 422, "body.drift"},
		"brackets":           {"", `{"drift": "` + long + `", "diffusion": "1"}`, 422, "body.drift"},
		"brackets, short":    {"", `{"drift": "` + strings.Repeat("(", 2000) + "x" + strings.Repeat(")", 2000) + `", "diffusion": "1"}`, 422, "body.drift"},
		"no law":             {"", `{"drift": "x", "diffusion": "1"}`, 422, "body.drift"},
		"vanishing":          {"", `{"drift": "-x", "diffusion": "x"}`, 422, "body.diffusion"},
		"pole":               {"", `{"drift": "-1/(x-5)", "diffusion": "1"}`, 422, ""},
		"unknown name":       {"", `{"drift": "-k*x", "diffusion": "1"}`, 422, "body.drift"},
		"not finite":         {"", `{"drift": "-x", "diffusion": "1", "params": {"k": NaN}}`, 400, "body"},
		"many samples":       {"", `{"drift": "-x", "diffusion": "1", "n": 1048577}`, 413, "body.n"},
		"no samples":         {"", `{"drift": "-x", "diffusion": "1", "n": 0}`, 422, "body.n"},
		"solver":             {"", `{"drift": "-x", "diffusion": "1", "solver": "leapfrog"}`, 422, "body.solver"},
		"repair":             {"", `{"drift": "-x", "diffusion": "1", "repair": "please"}`, 422, "body.repair"},
		"repair, negative":   {"", `{"drift": "-x", "diffusion": "1", "repair": -3}`, 422, "body.repair"},
		"time":               {"", `{"drift": "-x", "diffusion": "1", "time": 3}`, 422, "body.time"},
		"model":              {"", `{"drift": "-x", "diffusion": "1", "model": "other"}`, 404, ""},
		"version":            {"", `{"drift": "-x", "diffusion": "1", "model": "vn1d@9"}`, 404, ""},
		"plane":              {"", `{"drift": ["-x", "-y"], "diffusion": "1"}`, 422, "body.drift"},
		"unknown field":      {"", `{"drift": "-x", "diffusion": "1", "samples": 3}`, 422, "body.samples"},
		"cut":                {"", `{"drift": "-x", "diffu`, 400, "body"},
		"not JSON":           {"", `drift=-x`, 400, "body"},
		"nested":             {"", strings.Repeat("[", 500_000), 400, "body"},
		"large":              {"", `{"drift": "` + strings.Repeat("x", 1<<20) + `"}`, 413, ""},
		"second of several":  {"/v1/samples", `{"equations": [{"function": 1}, {"drift": "-x^", "diffusion": "1"}]}`, 422, "body.equations[1].drift"},
		"many of several":    {"/v1/samples", `{"equations": [{"function": 1}, {"function": 2}], "n": 4194304}`, 413, "body.n"},
		"none of several":    {"/v1/samples", `{"equations": []}`, 422, "body.equations"},
		"null of several":    {"/v1/samples", `{"equations": null}`, 422, "body.equations"},
		"no density":         {"/v1/density", `{"drift": "-x"}`, 422, "body.diffusion"},
		"density, no points": {"/v1/density", `{"drift": "-x", "diffusion": "1", "points": 1}`, 422, "body.points"},
		"unknown path":       {"/v1/nothing", `{}`, 404, ""},
	} {
		path := test.path
		if path == "" {
			path = "/v1/sample"
		}
		code, content, header := ask(t, s, path, test.body)
		if code != test.status {
			t.Errorf("%s: status %d, want %d: %.300s", name, code, test.status, content)
			continue
		}
		if path == "/v1/nothing" {
			continue
		}
		p := decode[Problem](t, content)
		if p.Status != code || p.Detail == "" || header.Get("Content-Type") != "application/problem+json" {
			t.Errorf("%s: problem %.300s of type %s", name, content, header.Get("Content-Type"))
		}
		if test.place != "" && (len(p.Errors) == 0 || p.Errors[0].Location != test.place) {
			t.Errorf("%s: no error at %s: %.300s", name, test.place, content)
		}
	}
}

// A request that takes longer than it may has an answer; its work ends.
func TestDeadline(t *testing.T) {
	s := line(t, config())
	code, content, _ := ask(t, s, "/v1/sample", `{"drift": "-x", "diffusion": "1", "n": 100000, "solver": "rk4-500", "timeout_s": 0.01}`)
	if p := decode[Problem](t, content); code != http.StatusGatewayTimeout || p.Hint == "" {
		t.Errorf("status %d: %s", code, content)
	}
}

// While all room is taken, a bounded number of requests waits, and the others are told when to
// come back.
func TestOverload(t *testing.T) {
	s := line(t, config())
	leave, err := s.gate.enter(t.Context(), room)
	if err != nil {
		t.Fatal(err)
	}
	s.gate.most = 2
	const body = `{"drift": "-x", "diffusion": "1", "n": 10}`
	var group sync.WaitGroup
	codes := make(chan int, 2)
	for range 2 {
		group.Go(func() {
			code, _, _ := ask(t, s, "/v1/sample", body)
			codes <- code
		})
	}
	for s.gate.waiting.Load() < 2 {
		runtime.Gosched()
	}
	code, content, header := ask(t, s, "/v1/sample", body)
	if code != http.StatusServiceUnavailable || header.Get("Retry-After") != retryAfter {
		t.Errorf("status %d, headers %v: %s", code, header, content)
	}
	leave()
	group.Wait()
	for range 2 {
		if code := <-codes; code != http.StatusOK {
			t.Errorf("a request that waited has status %d", code)
		}
	}
}

// Requests at the same time have the samples that each has alone.
func TestTogether(t *testing.T) {
	s := line(t, config())
	body := func(i int) string {
		return fmt.Sprintf(`{"drift": "-x+0.0%d", "diffusion": "1", "n": %d, "seed": %d}`, i, 100+i, i)
	}
	var alone [24]lineAnswer
	for i := range alone {
		_, content, _ := ask(t, s, "/v1/sample", body(i))
		alone[i] = decode[lineAnswer](t, content)
	}
	var group sync.WaitGroup
	for i := range alone {
		group.Go(func() {
			code, content, _ := ask(t, s, "/v1/sample", body(i))
			if code != http.StatusOK {
				t.Errorf("status %d: %s", code, content)
				return
			}
			for j, v := range decode[lineAnswer](t, content).Samples {
				if math.Abs(float64(v-alone[i].Samples[j])) > 1e-5 {
					t.Errorf("request %d: sample %d is %g, alone %g", i, j, v, alone[i].Samples[j])
					return
				}
			}
		})
	}
	group.Wait()
}

func TestToken(t *testing.T) {
	c := config()
	c.Token = "0123456789abcdef"
	s := line(t, c)
	const body = `{"drift": "-x", "diffusion": "1", "n": 10}`
	for name, test := range map[string]struct {
		path, body, token string
		status            int
	}{
		"none":    {"/v1/sample", body, "", 401},
		"wrong":   {"/v1/sample", body, "Bearer 0123456789abcdeg", 401},
		"right":   {"/v1/sample", body, "Bearer 0123456789abcdef", 200},
		"models":  {"/v1/models", "", "", 401},
		"metrics": {"/metrics", "", "", 401},
		"health":  {"/healthz", "", "", 200},
		"ready":   {"/readyz", "", "", 200},
		"openapi": {"/openapi.json", "", "", 200},
	} {
		if code, content, _ := ask(t, s, test.path, test.body, "Authorization", test.token); code != test.status {
			t.Errorf("%s: status %d, want %d: %.200s", name, code, test.status, content)
		}
	}
}

// Pages of other sites cannot ask through a visitor's browser.
func TestCrossOrigin(t *testing.T) {
	s := line(t, config())
	code, _, _ := ask(t, s, "/v1/sample", `{"function": 1}`, "Origin", "https://elsewhere.example", "Sec-Fetch-Site", "cross-site")
	if code != http.StatusForbidden {
		t.Errorf("status %d", code)
	}
}

func TestMetrics(t *testing.T) {
	s := line(t, config())
	ask(t, s, "/v1/sample", `{"function": 1, "n": 10}`)
	ask(t, s, "/v1/sample", `{"function": -1}`)
	_, content, _ := ask(t, s, "/metrics", "")
	for _, want := range []string{
		`ergoflow_requests_total{code="200",route="POST /v1/sample"} 1`,
		`ergoflow_requests_total{code="422",route="POST /v1/sample"} 1`,
		`ergoflow_samples_total{model="vn1d"} 10`, `ergoflow_models 1`,
		`ergoflow_model_info{model="vn1d",run="`, `ergoflow_sampling_seconds_total{model="vn1d",part="sample"} `, `ergoflow_verdicts_total{model="vn1d",verdict="`,
	} {
		if !bytes.Contains(content, []byte(want)) {
			t.Errorf("the metrics lack %s", want)
		}
	}
}

// A model in the plane is sampled by its network; its samples have two numbers.
func TestPlane(t *testing.T) {
	s := New(config())
	t.Cleanup(s.models.close)
	if err := s.Add(t.Context(), Source{Version: "1", Encoded: encoded(t, "cn2d_grid", 1)}); err != nil {
		t.Fatal(err)
	}
	code, content, _ := ask(t, s, "/v1/sample", `{"drift": ["-x", "-y"], "diffusion": "sqrt(2)", "n": 30, "solver": "euler-1"}`)
	if code != http.StatusOK {
		t.Fatalf("status %d: %s", code, content)
	}
	a := decode[struct {
		Samples [][2]float32
		Engine  string
	}](t, content)
	if len(a.Samples) != 30 || a.Engine != "processor" {
		t.Errorf("%d samples by %s", len(a.Samples), a.Engine)
	}
	if code, content, _ := ask(t, s, "/v1/density", `{"drift": ["-x", "-y"], "diffusion": "sqrt(2)"}`); code != http.StatusUnprocessableEntity {
		t.Errorf("density in the plane: status %d: %s", code, content)
	}
}

// serving is a server on a free port of this machine.
func serving(t *testing.T, c Config) (url string, s *Server, stop func() error) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ready := make(chan struct{})
	c.Ready = func() { close(ready) }
	s = New(c)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx, listener) }()
	select {
	case <-ready:
	case err := <-ended:
		t.Fatalf("the server ended: %v", err)
	}
	var once sync.Once
	var failed error
	stop = func() error { once.Do(func() { cancel(); failed = <-ended }); return failed }
	t.Cleanup(func() { _ = stop() })
	return "http://" + listener.Addr().String(), s, stop
}

// When the server ends, requests under way have their answers, streams end, and new requests
// find no server.
func TestDrain(t *testing.T) {
	c := config()
	c.Models = One(Source{Name: "vn1d", Version: "1", Encoded: encoded(t, "vn1d", 1)})
	url, s, stop := serving(t, c)
	stream, err := http.Get(url + "/v1/chain?drift=-x&diffusion=1&chains=8&seconds=60")
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Body.Close()
	leave, err := s.gate.enter(t.Context(), room-1<<16) // but for the stream's
	if err != nil {
		t.Fatal(err)
	}
	answered := make(chan int, 1)
	go func() {
		r, err := http.Post(url+"/v1/sample", "application/json", strings.NewReader(`{"function": 1, "n": 10}`))
		if err != nil {
			answered <- 0
			return
		}
		r.Body.Close()
		answered <- r.StatusCode
	}()
	for s.gate.waiting.Load() < 1 {
		runtime.Gosched()
	}
	stopped := make(chan error, 1)
	go func() { stopped <- stop() }()
	events, err := io.ReadAll(stream.Body)
	if err != nil || !bytes.Contains(events, []byte("event: end")) {
		t.Errorf("the stream ends with %v after %.100s", err, events)
	}
	leave()
	if code := <-answered; code != http.StatusOK {
		t.Errorf("the request under way has status %d", code)
	}
	if err := <-stopped; err != nil {
		t.Error(err)
	}
	if r, err := http.Get(url + "/healthz"); err == nil {
		r.Body.Close()
		t.Error("the server answers after its end")
	}
}
