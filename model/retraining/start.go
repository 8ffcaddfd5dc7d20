package retraining

import "fmt"

// Start says from which parameters training begins.
type Start struct {
	From From `yaml:"from"`
	// Steps and LearningRate are those of a warm start, relative to the experiment's steps
	// and peak learning rate.
	Steps        float64 `yaml:"steps"`
	LearningRate float64 `yaml:"learning_rate"`
}

// From is where a training begins.
type From string

const (
	Cold From = "cold" // random parameters
	Warm From = "warm" // the champion's parameters; cold while there is no champion
	Both From = "both" // both, and the better one is the candidate
)

func defaultStart() Start { return Start{From: Cold, Steps: 0.25, LearningRate: 0.5} }

func (s Start) validate() error {
	switch {
	case s.From != Cold && s.From != Warm && s.From != Both:
		return fmt.Errorf("from is %.40q, want %s, %s or %s", s.From, Cold, Warm, Both)
	case !(s.Steps > 0 && s.Steps <= 1):
		return fmt.Errorf("steps is %v, want a part of the experiment's steps, above 0 and at most 1", s.Steps)
	case !(s.LearningRate > 0 && s.LearningRate <= 1):
		return fmt.Errorf("learning_rate is %v, want a part of the experiment's peak, above 0 and at most 1", s.LearningRate)
	}
	return nil
}

// begins are the starts of one retraining.
func (s Start) begins(champion bool) []From {
	switch {
	case !champion || s.From == Cold:
		return []From{Cold}
	case s.From == Warm:
		return []From{Warm}
	}
	return []From{Cold, Warm}
}
