package evaluate

// Percentile is the function whose Sinkhorn divergence is at a percentile of
// the model's, with samples to look at and the exact law as curves.
type Percentile struct {
	Percent   int
	Function  Function // the model's numbers
	Reference []float32
	MCMC      []float32 // empty if there is no such row
	Model     []float32
	// X are points over which PDF and CDF of the exact law are given.
	X, PDF, CDF []float64
}
