package request

import (
	"context"
	"errors"
	"math"

	"github.com/ergoflow/ergoflow/data/equations/sde"
	"github.com/ergoflow/ergoflow/model/sampling/certificate"
	"github.com/ergoflow/ergoflow/model/sampling/repair"
)

// ErrNotInvariant means that samples of a law at a time cannot be repaired: steps of the
// equation go on in time.
var ErrNotInvariant = errors.New("a law at a time cannot be repaired")

// Repair moves samples x [n, d] of the target by steps of its equation, in place, and certifies
// them. On the line chains follow the formulas, so that neither the model's grid nor its training
// set matter any more; elsewhere they follow the tables.
func (t Target) Repair(ctx context.Context, x []float32, o repair.Options) (repair.Result, certificate.Certificate, error) {
	system := t.Subject.Function.System
	if t.subject.Equation == nil && t.subject.Law == nil {
		return repair.Result{}, certificate.Certificate{}, ErrNotInvariant
	}
	repaired := t
	repaired.subject.Unlearned = math.NaN()
	if t.formulas.Formulas != nil {
		repaired.subject.Grid = sde.Grid{}
	}
	equation := t.formulas
	equation.System = system
	free := repaired
	free.subject.Doubt = "" // no number of steps removes it
	result, err := repair.Run(ctx, x, equation, o, func(x []float32) bool {
		v := free.Certify(x).Verdict
		return v == certificate.Good || v == certificate.NotJudged
	})
	if err != nil {
		return result, certificate.Certificate{}, err
	}
	c := repaired.Certify(x)
	if c.Advice != "" {
		c.Advice = "more steps bring the samples closer, as fast as chains move between the wells of the law"
	}
	return result, c, nil
}

// Walk moves states x [n, d], wherever they are, by steps of the target's equation, in place.
func (t Target) Walk(ctx context.Context, x []float32, o repair.Options) (repair.Result, error) {
	equation := t.formulas
	equation.System = t.Subject.Function.System
	return repair.Run(ctx, x, equation, o, func([]float32) bool { return true })
}
