package worker

import "testing"

func TestRecentLoss(t *testing.T) {
	losses := make([]float64, 250)
	for i := range losses {
		losses[i] = float64(i)
	}
	if got := recentLoss(losses); got != (150+249)/2.0 {
		t.Errorf("got %g", got)
	}
	if got := recentLoss([]float64{2, 4}); got != 3 {
		t.Errorf("got %g", got)
	}
	if got := recentLoss(nil); got != 0 {
		t.Errorf("got %g", got)
	}
}
