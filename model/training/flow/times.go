package flow

import (
	"math"
	"math/rand/v2"
)

// Times is the law of the times t at which the velocity is learned. Whatever it
// is, the velocity with the least loss is the same at every t, since the loss is
// not reweighted: a law only says where the network's errors count.
type Times string

const (
	Uniform Times = "uniform" // on [0, 1], the paper's; the empty text means it too
	// LogitNormal is 1/(1 + e^−z) with z ~ N(0,1): more of the middle of the path,
	// where noise and samples are hardest to tell apart (Esser et al. 2024).
	LogitNormal Times = "logit_normal"
)

// TimeLaws lists the known ones.
func TimeLaws() []Times { return []Times{Uniform, LogitNormal} }

func (t Times) draw(r *rand.Rand) float32 {
	if t == LogitNormal {
		return float32(1 / (1 + math.Exp(-r.NormFloat64())))
	}
	return float32(r.Float64())
}
