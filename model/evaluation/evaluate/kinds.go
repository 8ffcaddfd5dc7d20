package evaluate

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
