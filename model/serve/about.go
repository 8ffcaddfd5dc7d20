package serve

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/ergoflow/ergoflow/data/equations/family"
)

// ModelInfo describes one model.
type ModelInfo struct {
	Name       string    `json:"name"`
	Version    string    `json:"version"`
	Experiment string    `json:"experiment"`
	Family     string    `json:"family"`
	Dimension  int       `json:"dimension"`
	Step       int64     `json:"step" doc:"of the training"`
	Run        string    `json:"run" doc:"hash of the configuration"`
	Engine     string    `json:"engine" doc:"of the default solver: table or network"`
	Solver     string    `json:"solver" doc:"the default one"`
	Formulas   bool      `json:"formulas" doc:"whether it reads formulas, or only functions of its family"`
	Grid       *Grid     `json:"grid,omitempty" doc:"at whose nodes it reads formulas, along every axis"`
	Times      []float64 `json:"times,omitempty" doc:"the shortest and the longest time, of models of laws at a time"`
	Loaded     time.Time `json:"loaded"`
}

// Grid is an interval with its nodes.
type Grid struct {
	Lo    float64 `json:"lo"`
	Hi    float64 `json:"hi"`
	Nodes int     `json:"nodes"`
}

func (m *Model) info() ModelInfo {
	i := ModelInfo{
		Name: m.Name, Version: m.Version, Experiment: m.experiment.Name, Family: m.family.Name(), Dimension: m.dim(),
		Step: m.step, Run: m.run, Engine: m.engine.Of(m.solver), Solver: m.solver.String(), Loaded: m.Loaded,
	}
	if g := m.grid(); g.N > 0 {
		i.Formulas, i.Grid = true, &Grid{g.Lo, g.Hi, g.N}
	}
	if _, ok := m.family.(family.Spatial); ok {
		i.Formulas = true
	}
	if timed, ok := m.family.(family.Timed); ok {
		times := timed.Times()
		i.Times = []float64{times[0], times[len(times)-1]}
	}
	return i
}

type modelsOutput struct {
	Body struct {
		Models []ModelInfo `json:"models"`
	}
}

type healthOutput struct {
	Body struct {
		Status string `json:"status"`
	}
}

func (s *Server) addAbout(api huma.API) {
	huma.Register(api, huma.Operation{
		OperationID: "models", Method: http.MethodGet, Path: "/v1/models", Tags: []string{"models"},
		Summary: "List the models",
	}, func(context.Context, *struct{}) (*modelsOutput, error) {
		out := &modelsOutput{}
		out.Body.Models = []ModelInfo{}
		for _, m := range s.models.list() {
			out.Body.Models = append(out.Body.Models, m.info())
		}
		return out, nil
	})
	huma.Register(api, huma.Operation{
		OperationID: "health", Method: http.MethodGet, Path: "/healthz", Tags: []string{"health"},
		Summary: "Whether the process answers",
	}, func(context.Context, *struct{}) (*healthOutput, error) {
		out := &healthOutput{}
		out.Body.Status = "ok"
		return out, nil
	})
	huma.Register(api, huma.Operation{
		OperationID: "ready", Method: http.MethodGet, Path: "/readyz", Tags: []string{"health"},
		Summary: "Whether a model is ready, and the server is not draining",
		Errors:  []int{http.StatusServiceUnavailable},
	}, func(context.Context, *struct{}) (*healthOutput, error) {
		switch {
		case s.isReady():
		case s.draining.Load():
			return nil, newProblem(http.StatusServiceUnavailable, "the server is draining")
		default:
			return nil, newProblem(http.StatusServiceUnavailable, "no model is ready yet")
		}
		out := &healthOutput{}
		out.Body.Status = "ready"
		return out, nil
	})
}

// isReady says whether a model is ready, and the server is not draining.
func (s *Server) isReady() bool { return !s.draining.Load() && len(s.models.list()) > 0 }
