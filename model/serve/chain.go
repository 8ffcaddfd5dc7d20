package serve

import (
	"context"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/sse"

	"github.com/ergoflow/ergoflow/model/sampling/repair"
	"github.com/ergoflow/ergoflow/model/sampling/sampler"
)

// ChainRequest asks to watch Euler–Maruyama chains of an equation from N(0, I).
type ChainRequest struct {
	Drift     []string `query:"drift,explode" required:"true" minItems:"1" maxItems:"2" doc:"formula of the drift; in the plane twice"`
	Diffusion []string `query:"diffusion,explode" required:"true" minItems:"1" maxItems:"4" doc:"formula of the diffusion"`
	Param     []string `query:"param,explode" maxItems:"64" doc:"NAME=VALUE of a name in the formulas besides x and y; once for each"`
	Model     string   `query:"model" maxLength:"160" doc:"NAME or NAME@VERSION; the default is the only model"`
	Chains    int      `query:"chains" minimum:"1" maximum:"4096" default:"1024"`
	Seed      uint64   `query:"seed"`
	Seconds   float64  `query:"seconds" exclusiveMinimum:"0" maximum:"60" default:"10" doc:"after which the stream ends"`
}

// Resolve implements huma.Resolver: NaN is neither above nor below a bound.
func (r *ChainRequest) Resolve(huma.Context) []error {
	if math.IsNaN(r.Seconds) {
		return []error{&huma.ErrorDetail{Message: "expected a number", Location: "query.seconds"}}
	}
	return nil
}

// ChainStates are the states of the chains after so many steps.
type ChainStates struct {
	Steps int       `json:"steps"`
	DT    float64   `json:"dt"`
	TookS float64   `json:"took_s" doc:"of computing, without the pauses between events"`
	X     []float32 `json:"x" doc:"[chains] on the line, [chains·d] in d dimensions"`
	Shape []int     `json:"shape"`
}

// ChainEnd is the last event. A problem says why the chains end early.
type ChainEnd struct {
	Steps   int    `json:"steps"`
	Problem string `json:"problem,omitempty"`
}

// every is the time between two events.
const every = 50 * time.Millisecond

func (s *Server) addChain(api huma.API) {
	sse.Register(api, huma.Operation{
		OperationID: "chain", Method: http.MethodGet, Path: "/v1/chain", Tags: []string{"simulation"},
		Summary: "Watch chains of an equation, as server-sent events",
		Errors:  failures,
	}, map[string]any{"states": ChainStates{}, "end": ChainEnd{}}, func(ctx context.Context, in *ChainRequest, send sse.Sender) {
		steps, err := s.chain(ctx, in, send)
		end := ChainEnd{Steps: steps}
		if err != nil && ctx.Err() == nil {
			end.Problem = err.Error()
		}
		_ = send.Data(end)
	})
}

// parameters reads NAME=VALUE.
func parameters(given []string) (map[string]float64, error) {
	all := make(map[string]float64, len(given))
	for _, text := range given {
		name, value, _ := strings.Cut(text, "=")
		number, err := strconv.ParseFloat(value, 64)
		if _, twice := all[name]; twice || err != nil || name == "" {
			p := newProblem(http.StatusUnprocessableEntity, fmt.Sprintf("param %q is not NAME=NUMBER with a new name", text))
			p.Hint = "give, for example, param=theta=2"
			return nil, p
		}
		all[name] = number
	}
	return all, nil
}

// chain sends the states of chains until the time is over, and returns the number of steps.
func (s *Server) chain(ctx context.Context, in *ChainRequest, send sse.Sender) (steps int, err error) {
	m, leave, err := s.models.get(in.Model)
	if err != nil {
		return 0, err
	}
	defer leave()
	ctx, cancel := context.WithTimeout(ctx, time.Duration(in.Seconds*float64(time.Second)))
	defer cancel()
	leave, err = s.gate.enter(ctx, 1<<16)
	if err != nil {
		return 0, err
	}
	defer leave()
	params, err := parameters(in.Param)
	if err != nil {
		return 0, err
	}
	r, err := (Equation{Drift: in.Drift, Diffusion: in.Diffusion, Params: params}).request("")
	if err != nil {
		return 0, err
	}
	target, err := m.reader.Resolve(ctx, r)
	if err != nil {
		return 0, err
	}
	x := sampler.Noise(in.Seed, 0, in.Chains*m.dim())
	shape := []int{in.Chains}
	if m.dim() > 1 {
		shape = append(shape, m.dim())
	}
	event := ChainStates{X: x, Shape: shape}
	for round := uint64(1); ; round++ {
		event.Steps = steps
		if err := send.Data(event); err != nil {
			return steps, err
		}
		done, err := target.Walk(ctx, x, repair.Options{Steps: 10, Seed: in.Seed + round})
		if err != nil {
			if ctx.Err() != nil {
				return steps, nil
			}
			return steps, err
		}
		steps, event.DT, event.TookS = steps+done.Steps, done.DT, event.TookS+done.Seconds
		select {
		case <-ctx.Done():
			return steps, nil
		case <-s.ending:
			return steps, nil
		case <-time.After(every):
		}
	}
}
