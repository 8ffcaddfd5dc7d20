// Package metrics measures how far two samples are from being draws of the same
// law. Lower is better; equal samples are at 0. One metric per file:
//
//	sinkhorn.go            debiased Sinkhorn divergence, with GeomLoss's schedule
//	sinkhorn_converged.go  the same at the fixed point, whatever the schedule
//	w2.go                  Wasserstein-2 distance on the line
//	w2_assignment.go       Wasserstein-2 distance of small clouds in any dimension
//	sliced_w2.go           sliced Wasserstein-2 distance, and those of marginals
//	energy.go              energy distance
//	ks.go                  Kolmogorov–Smirnov test on the line
//
// The sums of Sinkhorn's iterations are in package softmin; its path.go chooses
// the fast path. Package ondevice computes Sinkhorn on a GPU.
//
// Points are float32, sums float64. On the line W2 and KS take points of float64
// too; centre.go makes clouds of float32 of such points for the other metrics.
// Work is spread over GOMAXPROCS goroutines that end before a function returns;
// results do not depend on their number.
//
// To add a metric, add a file with its formula, validate the clouds with
// validatePair, and enter it in the lists above and of bad_input_test.go.
// NewDistances (distances.go) measures it for two files; package evaluate measures
// it for tables (compare.go, results.go, summary.go, columns.go).
package metrics
