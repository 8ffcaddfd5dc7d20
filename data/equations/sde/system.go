package sde

// System is an SDE that simulators accept: Coefficients on the line, a Plane, Particles, or a
// Space.
type System interface {
	// Dim is the dimension of a state.
	Dim() int
	// Validate reports why simulators refuse the system.
	Validate() error
}

// Dim is 1.
func (c Coefficients) Dim() int { return 1 }
