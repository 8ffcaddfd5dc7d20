package experiment

import (
	"errors"
	"fmt"

	"github.com/ergoflow/ergoflow/data/equations/family"
	"github.com/ergoflow/ergoflow/data/simulation/simulate"
)

// ErrTransfer means that a network cannot be evaluated on a family.
var ErrTransfer = errors.New("the network cannot be evaluated on this family")

// Transferred is the experiment with the held-out functions of another family, which a network that
// the experiment trained is evaluated on. The reference is a name, a definition or the path of one,
// relative to dir. Chains that start where the experiment's family has them by default start where
// the other one has them. It fails with ErrTransfer if the network reads equations of another shape.
func (e Experiment) Transferred(reference, dir string) (Experiment, error) {
	own, err := e.Family()
	if err != nil {
		return e, err
	}
	other := e
	if other.Data.Family, err = family.Resolve(reference, dir); err != nil {
		return e, err
	}
	if _, err := other.Family(); err != nil {
		return e, err
	}
	other.Data.Imports = nil
	usual := e.Data.DefaultStart(own)
	other.Evaluation.MCMC = append([]MCMC(nil), e.Evaluation.MCMC...)
	schemes := []*simulate.Scheme{&other.Data.Training, &other.Data.Reference}
	for i := range other.Evaluation.MCMC {
		schemes = append(schemes, &other.Evaluation.MCMC[i].Scheme)
	}
	for _, s := range schemes {
		if s.Start == usual {
			s.Start = ""
		}
	}
	other.fitSpace()
	other.setStarts()
	if err := other.Validate(); err != nil {
		return e, fmt.Errorf("%w: %w", ErrTransfer, err)
	}
	if err := other.sameNetwork(e); err != nil {
		return e, fmt.Errorf("%w: %w", ErrTransfer, err)
	}
	return other, nil
}
