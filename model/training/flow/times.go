package flow

import (
	"math"
	"math/rand/v2"
)

// Times is the law of the time t of a training sample. The velocity with the least
// loss is the same for every law, since it is a minimum at each t; the law only
// weights the network's errors over t.
type Times string

const (
	Uniform Times = "uniform" // on [0, 1], as in the paper; also the empty string
	// LogitNormal is 1/(1 + e^−z) with z ~ N(0,1): more of the middle of the path,
	// where noise and samples are hardest to tell apart (Esser et al. 2024).
	LogitNormal Times = "logit_normal"
)

// TimeLaws lists the laws.
func TimeLaws() []Times { return []Times{Uniform, LogitNormal} }

func (t Times) draw(r *rand.Rand) float32 {
	if t == LogitNormal {
		return float32(1 / (1 + math.Exp(-r.NormFloat64())))
	}
	return float32(r.Float64())
}
