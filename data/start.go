package data

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/ergoflow/ergoflow/data/equations/family"
	"github.com/ergoflow/ergoflow/data/equations/sde"
	"github.com/ergoflow/ergoflow/data/simulation/simulate"
)

// StartError means that chains start outside the grid, and do not reach it.
type StartError struct {
	Path   string // of the scheme, such as data.training
	Start  string // the law along the first axis whose grid is elsewhere
	Grid   sde.Grid
	Within simulate.Start // a start in the middle of the grid
}

func (e *StartError) Error() string {
	return fmt.Sprintf("its chains start from %s, outside the grid %g … %g, and do not reach it", e.Start, e.Grid.Lo, e.Grid.Hi)
}

// Setting is the setting that starts the chains inside the grid.
func (e *StartError) Setting() string { return e.Path + ".start=" + string(e.Within) }

// startOutside is a StartError if the middle of a scheme's start is outside the grid.
func startOutside(path string, s simulate.Scheme, axes []sde.Grid) error {
	for k, g := range axes {
		law, err := s.Start.Along(k)
		if err != nil {
			return err
		}
		if x := law.Mean(); x < g.Lo || x > g.Hi {
			return &StartError{Path: path, Start: law.String(), Grid: g, Within: middle(g)}
		}
	}
	return nil
}

// StartOutside is a *StartError if the middle of the start of the scheme at a path is outside
// the grid of a family.
func StartOutside(path string, s simulate.Scheme, f family.Family) error {
	tabulated, ok := f.(gridded)
	if !ok {
		return nil
	}
	return startOutside(path, s, slices.Repeat([]sde.Grid{tabulated.Grid()}, f.Dim()))
}

// gridded is a family whose equations are tabulated on a grid, the same along both axes.
type gridded interface{ Grid() sde.Grid }

// middle is a start in the middle of a grid, with a tenth of its width as deviation.
func middle(g sde.Grid) simulate.Start {
	return simulate.Start(fmt.Sprintf("normal(%.6g, %.6g)", (g.Lo+g.Hi)/2, (g.Hi-g.Lo)/10))
}

// DefaultStart is the start of the data set's schemes that name none: N(0, 1), unless a pilot
// run from there is sure to fail, since the grid is elsewhere and some of its functions lead
// too slowly to it. Then it is the middle of the grid, with a tenth of its width as deviation.
// No data set that could be generated before gets another start by this rule. In a domain that
// does not contain the starts from N(0, 1), it is uniform on the middle half of the grid, and
// so it is in the box of a family without a grid, and in those of a mixture's components.
func (d Dataset) DefaultStart(f family.Family) simulate.Start {
	if _, ok := f.(family.Mixed); ok {
		return simulate.InBox
	}
	if s, ok := f.(family.Spatial); ok {
		return inBox(s.Box())
	}
	tabulated, ok := f.(gridded)
	if !ok {
		return ""
	}
	grid := tabulated.Grid()
	if simulate.Start("").Within(family.DomainOf(f)) != nil {
		quarter := (grid.Hi - grid.Lo) / 4
		return simulate.Start(fmt.Sprintf("uniform(%.6g, %.6g)", grid.Lo+quarter, grid.Hi-quarter))
	}
	if grid.Lo <= 0 && grid.Hi >= 0 {
		return ""
	}
	for _, part := range d.simulated() {
		if part.scheme.Start != "" || part.scheme.Validate() != nil {
			continue
		}
		time := part.scheme.DT * float64(min(part.scheme.Steps(part.samples/part.scheme.Chains), pilotSteps))
		for i := range pilotFunctions {
			if function, err := f.Function(d.Seed, i); err == nil && !reaches(function.System, grid, time) {
				return middle(grid)
			}
		}
	}
	return ""
}

// inBox is uniform on the middle half of a box, one law for each coordinate or one for all.
func inBox(box []sde.Interval) simulate.Start {
	var laws []string
	for _, b := range box {
		law := simulate.MiddleHalf(b)
		laws = append(laws, fmt.Sprintf("uniform(%.6g, %.6g)", law.A, law.B))
	}
	if len(slices.Compact(slices.Clone(laws))) == 1 {
		laws = laws[:1]
	}
	return simulate.Start(strings.Join(laws, "; "))
}

// reaches reports whether chains from N(0, 1), outside the grid, may be in it at that time.
// Outside the coefficients are those at the edge: along an axis no chain is faster than at
// the node of the edge with the largest drift, and six deviations of its noise and its start
// cover all chains of a pilot run.
func reaches(system sde.System, grid sde.Grid, time float64) bool {
	distance, edge, inward := grid.Lo, 0, 1.
	if grid.Hi < 0 {
		distance, edge, inward = -grid.Hi, grid.N-1, -1
	}
	within := func(drift, diffusion float64) bool {
		return drift*time+6*math.Sqrt(1+diffusion*diffusion*time) >= distance
	}
	switch s := system.(type) {
	case sde.Coefficients:
		return within(inward*float64(s.Drift[edge]), float64(s.Diffusion[edge]))
	case sde.Plane:
		largest := 0. // a bound of the diffusion, in any direction
		for _, v := range s.Diffusion {
			largest = max(largest, math.Sqrt2*math.Abs(float64(v)))
		}
		for axis := range 2 {
			fastest := math.Inf(-1)
			for k := range grid.N {
				node := edge*grid.N + k // the edge along x
				if axis == 0 {
					node = k*grid.N + edge
				}
				fastest = max(fastest, inward*float64(s.Drift[2*node+axis]))
			}
			if !within(fastest, largest) {
				return false
			}
		}
	}
	return true
}
