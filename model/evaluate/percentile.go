package evaluate

// Percentile is the function whose Sinkhorn divergence is at a percentile of
// the model's, with samples [n, d] to look at and, where it is known, the exact
// law as curves.
type Percentile struct {
	Percent   int
	Function  Function // the model's numbers
	Reference []float32
	MCMC      []float32 // of the last MCMC row, the largest budget; empty if there is none
	MCMCName  string
	Model     []float32
	// X are points over which PDF and CDF of the exact law are given.
	X, PDF, CDF []float64
}
