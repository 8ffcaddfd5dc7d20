package serve

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"

	"github.com/danielgtaylor/huma/v2"
)

// registerInference adds the HTTP side of the Open Inference Protocol. Its errors have the form
// {"error": "…"} that its clients read.
func (s *Server) registerInference(mux *http.ServeMux) {
	live := func(w http.ResponseWriter, _ *http.Request) {
		writeInference(w, http.StatusOK, map[string]bool{"live": true})
	}
	mux.HandleFunc("GET /v2", func(w http.ResponseWriter, _ *http.Request) {
		writeInference(w, http.StatusOK, map[string]any{"name": "ergoflow", "version": s.config.Build, "extensions": extensions})
	})
	mux.HandleFunc("GET /v2/health/live", live)
	mux.HandleFunc("GET /v2/health/ready", func(w http.ResponseWriter, _ *http.Request) {
		if !s.isReady() {
			writeInference(w, http.StatusServiceUnavailable, map[string]bool{"ready": false})
			return
		}
		writeInference(w, http.StatusOK, map[string]bool{"ready": true})
	})
	for _, model := range []string{"/v2/models/{model}", "/v2/models/{model}/versions/{version}"} {
		mux.HandleFunc("GET "+model, s.withModel(func(w http.ResponseWriter, m *Model) {
			inputs, outputs := m.tensors()
			writeInference(w, http.StatusOK, map[string]any{
				"name": m.Name, "versions": []string{m.Version}, "platform": "ergoflow", "inputs": inputs, "outputs": outputs,
			})
		}))
		mux.HandleFunc("GET "+model+"/ready", s.withModel(func(w http.ResponseWriter, m *Model) {
			writeInference(w, http.StatusOK, map[string]any{"name": m.Name, "ready": true})
		}))
		mux.HandleFunc("POST "+model+"/infer", s.inferHTTP)
	}
}

// withModel finds the model that a path names.
func (s *Server) withModel(answer func(w http.ResponseWriter, m *Model)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		ref := r.PathValue("model")
		if v := r.PathValue("version"); v != "" {
			ref += "@" + v
		}
		m, leave, err := s.models.get(ref)
		if err != nil {
			writeInferenceError(w, err)
			return
		}
		defer leave()
		answer(w, m)
	}
}

// inferRequest is the body of a request.
type inferRequest struct {
	ID         string         `json:"id"`
	Parameters map[string]any `json:"parameters"`
	Inputs     []struct {
		Name       string         `json:"name"`
		Datatype   string         `json:"datatype"`
		Shape      []int64        `json:"shape"`
		Parameters map[string]any `json:"parameters"`
		Data       []any          `json:"data"` // nested as the shape, or flat
	} `json:"inputs"`
	Outputs []struct {
		Name string `json:"name"`
	} `json:"outputs"`
}

// inferOutput is one output of an answer.
type inferOutput struct {
	described
	Data any `json:"data"`
}

func (s *Server) inferHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Inference-Header-Content-Length") != "" {
		writeInferenceError(w, newProblem(http.StatusBadRequest, "the server does not read binary tensors: ask with binary_data=False"))
		return
	}
	content, err := io.ReadAll(http.MaxBytesReader(w, r.Body, s.config.MaxBody))
	if err != nil {
		var large *http.MaxBytesError
		if errors.As(err, &large) {
			err = tooLarge("body", int(r.ContentLength), int(large.Limit), "bytes")
		}
		writeInferenceError(w, err)
		return
	}
	var in inferRequest
	if err := json.Unmarshal(content, &in); err != nil {
		writeInferenceError(w, newProblem(http.StatusBadRequest, "the request is no JSON of the protocol: "+err.Error()))
		return
	}
	request := inference{model: r.PathValue("model"), version: r.PathValue("version"), parameters: in.Parameters}
	for _, input := range in.Inputs {
		t := tensor{name: input.Name, datatype: input.Datatype, shape: input.Shape}
		if err := t.kind(); err != nil {
			writeInferenceError(w, err)
			return
		}
		if t.data, err = flatten(nil, input.Data, input.Datatype); err != nil {
			writeInferenceError(w, invalid(input.Name, "%v", err))
			return
		}
		request.inputs = append(request.inputs, t)
	}
	out, err := s.infer(r.Context(), request)
	if err != nil {
		writeInferenceError(w, err)
		return
	}
	verdicts, certificates, err := out.texts()
	if err != nil {
		writeInferenceError(w, err)
		return
	}
	count := []int64{int64(len(out.answers))}
	outputs := []inferOutput{}
	for _, o := range []inferOutput{
		{described{"samples", "FP32", out.shape}, out.flat()},
		{described{"verdict", "BYTES", count}, verdicts},
		{described{"certificate", "BYTES", count}, certificates},
	} {
		wanted := len(in.Outputs) == 0
		for _, asked := range in.Outputs {
			wanted = wanted || asked.Name == o.Name
		}
		if wanted {
			outputs = append(outputs, o)
		}
	}
	answer := map[string]any{"model_name": out.about.Model, "model_version": out.about.Version, "outputs": outputs}
	if in.ID != "" {
		answer["id"] = in.ID
	}
	w.Header().Set("Server-Timing", out.about.Timing.header())
	writeInference(w, http.StatusOK, answer)
}

// maxNested is the deepest nesting of a tensor's data: that of its shape.
const maxNested = 2

// flatten appends the elements of nested lists, as the datatype has them.
func flatten(all, data []any, datatype string) ([]any, error) {
	return flattenTo(all, data, datatype, maxNested)
}

func flattenTo(all, data []any, datatype string, depth int) (_ []any, err error) {
	for _, v := range data {
		switch v := v.(type) {
		case []any:
			if depth == 1 {
				return nil, errors.New("its data are nested more than its shape")
			}
			if all, err = flattenTo(all, v, datatype, depth-1); err != nil {
				return nil, err
			}
			continue
		case string:
			if datatype == "BYTES" {
				all = append(all, v)
				continue
			}
		case float64:
			if whole, _ := numberOf(v); datatype == "INT64" && whole >= 0 {
				all = append(all, whole)
				continue
			}
		}
		return nil, errors.New("an element is not of its datatype, or negative")
	}
	return all, nil
}

func writeInference(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = huma.DefaultJSONFormat.Marshal(w, v)
}

// writeInferenceError writes an error as the protocol has it.
func writeInferenceError(w http.ResponseWriter, err error) {
	p := problemOf(err)
	if p.Status == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", retryAfter)
	}
	writeInference(w, p.Status, map[string]string{"error": p.sentence()})
}
