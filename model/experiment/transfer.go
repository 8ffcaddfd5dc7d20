package experiment

import (
	"errors"
	"fmt"
	"slices"

	"github.com/ergoflow/ergoflow/data/equations/family"
)

// ErrTransfer means that a network cannot be evaluated on a family.
var ErrTransfer = errors.New("the network cannot be evaluated on this family")

// Transferred is the experiment with the held-out functions of another family, which a network that
// the experiment trained is evaluated on. The reference is a name, a definition or the path of one,
// relative to dir. Chains that start where the experiment's family has them by default start where
// the other one has them. It fails with ErrTransfer if the network reads equations of another shape.
func (e Experiment) Transferred(reference, dir string) (Experiment, error) {
	text, err := family.Resolve(reference, dir)
	if err != nil {
		return e, err
	}
	other := e
	other.Evaluation.MCMC = slices.Clone(e.Evaluation.MCMC)
	other.forgetStarts()
	other.Data.Family, other.Data.Imports = text, nil
	if _, err := other.Family(); err != nil {
		return e, err
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
