package sde

import (
	"fmt"
	"math"
	"slices"
)

// Ends is what happens at the ends of a Range.
type Ends uint8

const (
	// NoEnds are those of the whole line.
	NoEnds Ends = iota
	// Open ends are never reached: the equation stays between them by itself.
	Open
	// Reflecting ends send the state back. The equation is that of Skorokhod's problem, with
	// dX = b dt + S dW + dL, where L grows at the ends alone and points inside along the coordinate.
	Reflecting
	// Joined ends are one point of a circle.
	Joined
)

// Range is where a coordinate lives. The ends of Open and Reflecting ranges may be infinite, one at
// most. A circle is [Lo, Hi).
type Range struct {
	Ends   Ends
	Lo, Hi float64
}

// Domain is where an equation lives, a Range for each coordinate. An empty one is the whole space.
type Domain []Range

// WholeLine is the range of a coordinate without ends.
var WholeLine = Range{Lo: math.Inf(-1), Hi: math.Inf(1)}

// At is the range of coordinate k.
func (d Domain) At(k int) Range {
	if len(d) == 0 {
		return WholeLine
	}
	return d[k]
}

// Has reports whether a coordinate has such ends.
func (d Domain) Has(ends Ends) bool {
	return slices.ContainsFunc(d, func(r Range) bool { return r.Ends == ends })
}

// Restricts reports whether a coordinate has ends.
func (d Domain) Restricts() bool {
	return slices.ContainsFunc(d, func(r Range) bool { return r.Ends != NoEnds })
}

// Outside is the place of the first number outside the domain, among states [n, dim]; −1: none.
func (d Domain) Outside(states []float32) int {
	if !d.Restricts() {
		return -1
	}
	for at, v := range states {
		if !d[at%len(d)].Contains(float64(v)) {
			return at
		}
	}
	return -1
}

// String is how definitions of families write the range.
func (r Range) String() string {
	switch r.Ends {
	case Reflecting:
		left, right := "[", "]"
		if math.IsInf(r.Lo, 0) {
			left = "("
		}
		if math.IsInf(r.Hi, 0) {
			right = ")"
		}
		return fmt.Sprintf("reflect %s%s, %s%s", left, EndText(r.Lo), EndText(r.Hi), right)
	case Joined:
		return fmt.Sprintf("circle [%s, %s)", EndText(r.Lo), EndText(r.Hi))
	}
	return fmt.Sprintf("(%s, %s)", EndText(r.Lo), EndText(r.Hi))
}

// EndText writes one end of a range.
func EndText(x float64) string {
	if math.IsInf(x, 0) {
		return map[bool]string{true: "inf", false: "-inf"}[x > 0]
	}
	return fmt.Sprint(x)
}

// Width is from end to end.
func (r Range) Width() float64 { return r.Hi - r.Lo }

// Contains says whether a state of the range may be x. Infinite numbers and NaN may not.
func (r Range) Contains(x float64) bool {
	switch {
	case math.IsNaN(x) || math.IsInf(x, 0):
		return false
	case r.Ends == Open:
		return x > r.Lo && x < r.Hi
	case r.Ends == Joined:
		return x >= r.Lo && x < r.Hi
	}
	return x >= r.Lo && x <= r.Hi
}

// Wrap moves x by whole periods into the circle.
func (r Range) Wrap(x float64) float64 {
	if x >= r.Lo && x < r.Hi {
		return x
	}
	width := r.Width()
	x -= float64(width * math.Floor((x-r.Lo)/width))
	if x < r.Lo || x >= r.Hi { // rounding
		return r.Lo
	}
	return x
}

// Fold reflects x into a range with Reflecting ends, as often as it takes. It tells whether that
// turns the direction round.
func (r Range) Fold(x float64) (folded float64, turned bool) {
	if x >= r.Lo && x <= r.Hi {
		return x, false
	}
	switch {
	case math.IsInf(r.Hi, 0):
		return r.Lo + (r.Lo - x), true
	case math.IsInf(r.Lo, 0):
		return r.Hi - (x - r.Hi), true
	}
	width := r.Width()
	y := math.Mod(x-r.Lo, 2*width)
	if y < 0 {
		y += 2 * width
	}
	if y <= width {
		return min(r.Lo+y, r.Hi), false
	}
	return max(r.Hi-(y-width), r.Lo), true
}

// Single is x in single precision, moved into the range where rounding would lead out. What is not
// finite stays so.
func (r Range) Single(x float64) float32 {
	v := float32(x)
	switch {
	case r.Ends == NoEnds || r.Contains(float64(v)) || v-v != 0:
		return v
	case r.Ends == Joined:
		return up(float32(r.Lo), func(v float32) bool { return float64(v) >= r.Lo })
	case float64(v) <= r.Lo:
		return up(float32(r.Lo), func(v float32) bool { return r.Contains(float64(v)) })
	default:
		v = float32(r.Hi)
		for !r.Contains(float64(v)) {
			v = math.Nextafter32(v, float32(math.Inf(-1)))
		}
		return v
	}
}

// up is the first number from v on that is inside.
func up(v float32, inside func(float32) bool) float32 {
	for !inside(v) {
		v = math.Nextafter32(v, float32(math.Inf(1)))
	}
	return v
}

// validate reports ranges that are no domain of a box.
func (d Domain) validate(box []Interval) error {
	if len(d) == 0 {
		return nil
	}
	if len(d) != len(box) {
		return fmt.Errorf("domain has %d ranges in %d dimensions", len(d), len(box))
	}
	for k, r := range d {
		switch infinite := math.IsInf(r.Lo, 0) || math.IsInf(r.Hi, 0); {
		case !(r.Lo < r.Hi):
			return fmt.Errorf("domain of coordinate %d is %v: the first end must be below the second", k, r)
		case r.Ends == Joined && infinite:
			return fmt.Errorf("domain of coordinate %d is %v: a circle needs finite ends", k, r)
		case r.Ends == Open && (box[k].Lo <= r.Lo || box[k].Hi >= r.Hi):
			return fmt.Errorf("box of coordinate %d is [%g, %g]: must be inside the domain %v and not touch its ends, since probes and chains start in it", k, box[k].Lo, box[k].Hi, r)
		case box[k].Lo < r.Lo || box[k].Hi > r.Hi:
			return fmt.Errorf("box of coordinate %d is [%g, %g]: must be within the domain %v", k, box[k].Lo, box[k].Hi, r)
		}
	}
	return nil
}
