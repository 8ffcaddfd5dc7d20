package evaluate

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Kind says where the samples of a row come from.
type Kind string

const (
	Floor     Kind = "floor"     // a second reference set
	Split     Kind = "split"     // one half of the reference's chains, against the other
	MCMC      Kind = "mcmc"      // chains at a budget
	Model     Kind = "model"     // the trained state
	Shuffled  Kind = "shuffled"  // the trained state, given the input of another held-out function
	Longest   Kind = "longest"   // with physical times: the trained state, given the longest
	Untrained Kind = "untrained" // the same network at its initial parameters
	Invariant Kind = "invariant" // with physical times: the law that the function tends to
	Pooled    Kind = "pooled"    // in several dimensions: normal coordinates with the reference's means and variances
	Moments   Kind = "moments"   // N(m, Σ) with the reference's mean and covariance
	Normal    Kind = "normal"    // N(0, I)
)

// Kinds lists them in the order of a table.
func Kinds() []Kind {
	return []Kind{Floor, Split, MCMC, Model, Shuffled, Longest, Untrained, Invariant, Pooled, Moments, Normal}
}

// KindNames lists the names of the kinds.
func KindNames() []string {
	var names []string
	for _, k := range Kinds() {
		names = append(names, string(k))
	}
	return names
}

// ErrKind is a name that no kind of row has.
var ErrKind = errors.New("no kind of row")

// KindsOf are the kinds of those names.
func KindsOf(names []string) ([]Kind, error) {
	var kinds []Kind
	for _, name := range names {
		if !slices.Contains(Kinds(), Kind(name)) {
			return nil, fmt.Errorf("%w: %q (known: %s)", ErrKind, name, strings.Join(KindNames(), ", "))
		}
		kinds = append(kinds, Kind(name))
	}
	return kinds, nil
}
