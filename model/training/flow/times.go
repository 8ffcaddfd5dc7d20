package flow

import (
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/stat/distuv"
)

// Times is the law of the times t at which the velocity is learned. Every law has the
// same velocity with the least loss at every t. A law only weights the network's errors
// by t, since the loss is not reweighted.
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

// quantile inverts the distribution function of the law.
func (t Times) quantile(u float64) float64 {
	if t == LogitNormal {
		return 1 / (1 + math.Exp(-distuv.UnitNormal.Quantile(inside(u))))
	}
	return u
}
