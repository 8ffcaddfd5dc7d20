package sde

// System is an SDE in the form in which simulators take it: Coefficients on a
// line, a Plane, or Particles.
type System interface {
	// Dim is how many numbers one state has.
	Dim() int
	// Validate reports what no simulator should be given.
	Validate() error
}

// Dim is 1.
func (c Coefficients) Dim() int { return 1 }
