package evaluate

import (
	"context"
	"fmt"
	"strings"

	"github.com/ergoflow/ergoflow/data/equations/family"
	"github.com/ergoflow/ergoflow/data/simulation/simulate"
	"github.com/ergoflow/ergoflow/model/sampling/certificate"
)

// Verdicts counts the functions by the certificate of a row's samples.
type Verdicts struct {
	Good      int `json:"good"`
	Care      int `json:"use_with_care"`
	Refused   int `json:"do_not_use"`
	NotJudged int `json:"not_judged,omitempty"`
}

// certify judges samples of every function; nil for laws at a time, which are not invariant.
func certify(ctx context.Context, f family.Family, seed uint64, functions []heldOutFunction, samples [][]float32) (*Verdicts, error) {
	if _, timed := f.(family.Timed); timed {
		return nil, nil
	}
	found := make([]certificate.Verdict, len(functions))
	err := simulate.Each(ctx, len(functions), func(_ context.Context, i int) error {
		h := functions[i]
		found[i] = certificate.ByFunction(f, seed, h.index, h.function.System).Certify(samples[i], f.Dim()).Verdict
		return nil
	}, nil)
	var v Verdicts
	for _, verdict := range found {
		switch verdict {
		case certificate.Good:
			v.Good++
		case certificate.Care:
			v.Care++
		case certificate.Refused:
			v.Refused++
		default:
			v.NotJudged++
		}
	}
	return &v, err
}

// note says it in a sentence.
func (v *Verdicts) note(of string) string {
	total := v.Good + v.Care + v.Refused + v.NotJudged
	parts := []string{fmt.Sprintf("%d good", v.Good), fmt.Sprintf("%d to be used with care", v.Care), fmt.Sprintf("%d not to be used", v.Refused)}
	if v.NotJudged > 0 {
		parts = append(parts, fmt.Sprintf("%d not judged", v.NotJudged))
	}
	return fmt.Sprintf("Certificates of the samples of %s, as `ergoflow sample` gives them, for %d functions: %s.", of, total, strings.Join(parts, ", "))
}
