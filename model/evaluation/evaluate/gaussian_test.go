package evaluate

import (
	"math"
	"testing"
)

// Samples of a matched normal have the mean and covariance of what it was
// matched to, correlations and directions without variance included.
func TestMatchedGaussian(t *testing.T) {
	const n, d = 20_000, 4
	// x = a + Bz with z standard normal; the last number repeats the first.
	source := make([]float32, n*3)
	standardNormal(3).draw(source, 1, "test", 0)
	samples := make([]float32, 0, n*d)
	for i := range n {
		z := source[3*i : 3*i+3]
		x := 1 + 2*z[0]
		samples = append(samples, x, -3+z[0]+0.5*z[1], z[2]-z[1], x)
	}
	wantMean, want := moments(samples, d)
	for _, c := range []struct {
		k, l int
		want float64
	}{{0, 0, 4}, {1, 0, 2}, {1, 1, 1.25}, {2, 1, -0.5}, {2, 2, 2}, {3, 0, 4}, {3, 3, 4}} {
		if got := want[c.k][c.l]; !(math.Abs(got-c.want) <= 0.1) {
			t.Errorf("covariance %d,%d is %.3f, want %.3f", c.k, c.l, got, c.want)
		}
	}
	g := matched(samples, d)
	drawn := make([]float32, n*d)
	g.draw(drawn, 2, "test", 0)
	gotMean, got := moments(drawn, d)
	for k := range d {
		if !(math.Abs(gotMean[k]-wantMean[k]) <= 5*math.Sqrt(want[k][k]/n)) {
			t.Errorf("mean %d is %.3f, want %.3f", k, gotMean[k], wantMean[k])
		}
		for l := range k + 1 {
			// The standard error of a covariance is √((σₖ²σₗ² + c²)/n).
			se := math.Sqrt((want[k][k]*want[l][l] + want[k][l]*want[k][l]) / n)
			if !(math.Abs(got[k][l]-want[k][l]) <= 5*se) {
				t.Errorf("covariance %d,%d is %.3f, want %.3f", k, l, got[k][l], want[k][l])
			}
		}
	}
	for i := 0; i < len(drawn); i += d {
		if !(math.Abs(float64(drawn[i]-drawn[i+3])) <= 1e-4) {
			t.Fatalf("sample %d: %v and %v, which were equal in all samples", i/d, drawn[i], drawn[i+3])
		}
	}
	if !(trace(got) >= 0.95*trace(want)) {
		t.Errorf("variances sum to %v, want %v", trace(got), trace(want))
	}
}

// Two samples that differ in their number of dimensions alone keep their points
// whole when they are thinned.
func TestSubsampleKeepsPoints(t *testing.T) {
	stored := make([]float32, 3*12)
	for i := range stored {
		stored[i] = float32(i)
	}
	part := subsample(stored, 4, 3)
	if len(part) != 12 {
		t.Fatalf("%d numbers of 4 points", len(part))
	}
	for i, x := range part {
		if want := float32(9*(i/3) + i%3); x != want {
			t.Errorf("number %d of point %d is %v, want %v", i%3, i/3, x, want)
		}
	}
}
