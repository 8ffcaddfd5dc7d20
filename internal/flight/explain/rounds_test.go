package explain

import (
	"testing"

	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/internal/flight"
)

// Consecutive steps are those of consecutive records where none is missing; with local steps a
// record is of a round.
func TestStepsApart(t *testing.T) {
	for _, c := range []struct {
		steps []ergoflow.Step
		want  ergoflow.Step
	}{
		{nil, 1},
		{[]ergoflow.Step{7}, 1},
		{[]ergoflow.Step{7, 8, 10}, 1},
		{[]ergoflow.Step{20, 80, 100, 100, 140}, 20},
	} {
		m := new(member)
		for _, s := range c.steps {
			m.events = append(m.events, &event{Record: flight.Record{Kind: flight.Stepped, Step: s}})
		}
		if got := m.stepsApart(); got != c.want {
			t.Errorf("steps %d: %d apart, want %d", c.steps, got, c.want)
		}
	}
}
