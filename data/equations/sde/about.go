package sde

// About moves a system on a grid, so that the point (x, y) becomes 0: the state y of the new
// system is the state x + y of the old one. Far from 0 single precision holds such states to
// more digits. Other systems, such as particles in a trap at 0, and the point 0 change nothing.
func About(s System, x, y float64) System {
	moved := func(g Grid, by float64) Grid {
		if by != 0 {
			g.Lo, g.Hi = g.Lo-by, g.Hi-by
		}
		return g
	}
	switch s := s.(type) {
	case Coefficients:
		s.Grid = moved(s.Grid, x)
		return s
	case Plane:
		s.X, s.Y = moved(s.X, x), moved(s.Y, y)
		return s
	}
	return s
}
