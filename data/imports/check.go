package imports

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/ergoflow/ergoflow/data/equations/density"
	"github.com/ergoflow/ergoflow/data/equations/family"
	"github.com/ergoflow/ergoflow/data/equations/sde"
)

// Bounds of warnings. Functions of vn1d and cn2d have at most 2 % of their samples outside the
// grid. Chains that did not mix are a Kolmogorov–Smirnov distance of up to 0.2 or so from the
// law of their equation; samples of another equation of vn1d are about 0.3 from it.
const (
	warnedOutside = 0.02
	warnedApart   = 0.25
	chance        = 1.63 // of the distance, over the root of the samples: exceeded once in 100
	mostCompared  = 256  // functions whose law is computed
)

// checked is what check learns of a source.
type checked struct {
	equations [][sha256.Size]byte // of every function's fields
	functions [][sha256.Size]byte // of these and the samples
	order     []int               // of the functions by the second
	warnings  []string
}

// sorted are the hashes of the functions, in order.
func (c checked) sorted() [][sha256.Size]byte {
	all := make([][sha256.Size]byte, len(c.order))
	for place, i := range c.order {
		all[place] = c.functions[i]
	}
	return all
}

// check reads every function. It refuses values that are not finite, constant samples,
// equations that occur twice, and those of held-out functions.
func (s *source) check(ctx context.Context, held *heldOut) (c checked, err error) {
	first := make(map[[sha256.Size]byte]int)
	judge := newJudge(s)
	for i := range s.functions {
		if err := ctx.Err(); err != nil {
			return c, err
		}
		f, err := s.equation(i)
		if err != nil {
			return c, err
		}
		equation := hashOf(nil, f.Fields...)
		if other, ok := first[equation]; ok {
			return c, fmt.Errorf("functions %d and %d have the same equation", other, i)
		}
		first[equation] = i
		if number, ok := held.find(f.Fields); ok {
			return c, fmt.Errorf("function %d is held-out function %d of %s, on which models are judged: training must not see it", i, number, s.Name())
		}
		x, err := s.samplesOf(i)
		if err != nil {
			return c, err
		}
		for axis := range s.Dim() {
			if constant(x[axis:], s.Dim()) && s.each > 1 {
				return c, fmt.Errorf("all samples of function %d are %g along axis %d", i, x[axis], axis)
			}
		}
		if err := judge.add(i, f, x); err != nil {
			return c, err
		}
		c.equations = append(c.equations, equation)
		c.functions = append(c.functions, hashOf(equation[:], x))
	}
	c.order = make([]int, s.functions)
	for i := range c.order {
		c.order[i] = i
	}
	slices.SortFunc(c.order, func(a, b int) int { return slices.Compare(c.functions[a][:], c.functions[b][:]) })
	c.warnings = judge.warnings()
	return c, nil
}

// hashOf is the SHA-256 of bytes and then of values, little-endian.
func hashOf(before []byte, values ...[]float32) (sum [sha256.Size]byte) {
	h := sha256.New()
	h.Write(before)
	var buffer [4096]byte
	for _, v := range values {
		for len(v) > 0 {
			n := min(len(v), len(buffer)/4)
			for i, x := range v[:n] {
				binary.LittleEndian.PutUint32(buffer[4*i:], math.Float32bits(x))
			}
			h.Write(buffer[:4*n])
			v = v[n:]
		}
	}
	h.Sum(sum[:0])
	return sum
}

// constant reports whether every step-th value is the same.
func constant(x []float32, step int) bool {
	for i := step; i < len(x); i += step {
		if x[i] != x[0] {
			return false
		}
	}
	return true
}

// judge collects what contradicts the equations.
type judge struct {
	s                *source
	outside, samples int
	every            int // one of that many functions is compared with its law
	compared         int
	apart            []int
	farthest         float64
	lawless          int
	without          error // the first reason
}

func newJudge(s *source) *judge {
	return &judge{s: s, every: (s.functions + mostCompared - 1) / mostCompared}
}

// add judges one function. It refuses samples outside the domain, where the equation does not
// exist.
func (j *judge) add(i int, f family.Function, x []float32) error {
	if at, domain := family.Outside(j.s.Family, x); at >= 0 {
		return fmt.Errorf("function %d has the sample %g, outside the domain %v of %s", i, x[at], domain, j.s.Name())
	}
	dim := j.s.Dim()
	for n := 0; n < len(x); n += dim {
		for _, v := range x[n : n+dim] {
			if float64(v) < j.s.grid.Lo || float64(v) > j.s.grid.Hi {
				j.outside++
				break
			}
		}
	}
	j.samples += len(x) / dim
	c, line := f.System.(sde.Coefficients)
	if _, draws := j.s.Family.(family.Sampler); !line || draws || i%j.every != 0 {
		return nil // the laws of families that draw are not those of their tables
	}
	law, err := density.New(c)
	switch {
	case errors.Is(err, density.ErrNotNormalisable):
		if j.lawless++; j.without == nil {
			j.without = fmt.Errorf("function %d: %w", i, err)
		}
	case err == nil:
		j.compared++
		if apart := distance(x, law); apart > warnedApart+chance/math.Sqrt(float64(len(x))) {
			j.apart = append(j.apart, i)
			j.farthest = max(j.farthest, apart)
		}
	}
	return nil
}

// distance is that of Kolmogorov and Smirnov between samples and a law.
func distance(x []float32, law *density.Density) (most float64) {
	sorted := slices.Sorted(slices.Values(x))
	n := float64(len(sorted))
	for i, v := range sorted {
		p := law.CDF(float64(v))
		most = max(most, math.Abs(p-float64(i)/n), math.Abs(p-float64(i+1)/n))
	}
	return most
}

func (j *judge) warnings() (all []string) {
	if part := float64(j.outside) / float64(j.samples); part > warnedOutside {
		all = append(all, fmt.Sprintf("%.2g %% of the samples are outside the grid [%g, %g], where the coefficients of %s are constant",
			100*part, j.s.grid.Lo, j.s.grid.Hi, j.s.Name()))
	}
	if len(j.apart) > 0 {
		all = append(all, fmt.Sprintf("the samples of %d of %d functions do not have the law of their equation, first of function %d (Kolmogorov–Smirnov distance up to %.2g): check the order of equations and samples, and that chains were long enough",
			len(j.apart), j.compared, j.apart[0], j.farthest))
	}
	if j.lawless > 0 {
		all = append(all, fmt.Sprintf("%d equations have no invariant law on the grid: %v", j.lawless, j.without))
	}
	return all
}
