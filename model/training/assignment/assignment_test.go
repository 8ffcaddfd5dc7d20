package assignment

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
)

func solve(t *testing.T, s *Solver, x, y []float32, d int) ([]int32, float64) {
	t.Helper()
	match := make([]int32, len(x)/d)
	cost, err := s.Solve(match, x, y, d)
	if err != nil {
		t.Fatal(err)
	}
	permutation(t, match)
	if want := costOf(match, x, y, d); !(math.Abs(cost-want) <= 1e-12*want) {
		t.Fatalf("cost %v, that of the permutation is %v", cost, want)
	}
	return match, cost
}

// All permutations, for up to 7 points.
func TestSolveEqualsEnumeration(t *testing.T) {
	var s Solver
	eachCloud(t, []int{1, 2, 3, 5, 7}, func(t *testing.T, x, y []float32, n, d int) {
		_, got := solve(t, &s, x, y, d)
		want := math.Inf(1)
		match := make([]int32, n)
		for i := range match {
			match[i] = int32(i)
		}
		permute(match, 0, func() { want = min(want, costOf(match, x, y, d)) })
		if !(got <= want*(1+1e-6)) {
			t.Errorf("cost %v, the least is %v", got, want)
		}
	})
}

func permute(p []int32, k int, f func()) {
	if k == len(p) {
		f()
		return
	}
	for i := k; i < len(p); i++ {
		p[k], p[i] = p[i], p[k]
		permute(p, k+1, f)
		p[k], p[i] = p[i], p[k]
	}
}

// gap bounds what any other matching could save, relatively, by weak duality:
// with u_i = c_iπ(i) − v_π(i), no permutation costs less than Σ_i c_iπ(i) minus
// the sum over the rows of their largest violation of u_i + v_j ≤ c_ij. Costs
// are those that the solver rounded, v its dual variables.
func gap(s *Solver, match []int32) float64 {
	var cost, saving float64
	for i, matched := range match {
		row := s.row(i)
		u := float64(row[matched]) - s.v[matched]
		var most float64
		for j := range match {
			most = max(most, u+s.v[j]-float64(row[j]))
		}
		cost += float64(row[matched])
		saving += most
	}
	if saving == 0 {
		return 0
	}
	return saving / cost
}

// The duals prove that a matching is optimal.
func TestSolveProvesItselfOptimal(t *testing.T) {
	var s Solver
	eachCloud(t, []int{2, 8, 31, 64, 130}, func(t *testing.T, x, y []float32, n, d int) {
		match, _ := solve(t, &s, x, y, d)
		if g := gap(&s, match); !(g <= 1e-13) {
			t.Errorf("others may be better by %g of the cost", g)
		}
	})
}

// The proof must be able to fail.
func TestProofFailsForAnotherMatching(t *testing.T) {
	x, y := clouds("uniform", 16, 2, 1)
	var s Solver
	match, _ := solve(t, &s, x, y, 2)
	match[0], match[1] = match[1], match[0]
	if g := gap(&s, match); !(g >= 1e-3) {
		t.Errorf("gap of %g only", g)
	}
}

// On the line the monotone coupling is optimal: the general algorithm, on the
// same points with a second coordinate that is always 0, must find its cost.
func TestLineEqualsPlane(t *testing.T) {
	var s Solver
	for _, kind := range cloudKinds {
		for _, n := range []int{1, 2, 9, 64, 200} {
			x, y := clouds(kind, n, 1, uint64(n))
			match, got := solve(t, &s, x, y, 1)
			flat := func(c []float32) (p []float32) {
				for _, v := range c {
					p = append(p, v, 0)
				}
				return p
			}
			_, want := solve(t, &s, flat(x), flat(y), 2)
			if !(math.Abs(got-want) <= 1e-6*want) {
				t.Errorf("%s, %d points: cost %v sorted, %v in the plane", kind, n, got, want)
			}
			for i := range n {
				for k := range n {
					if x[i] < x[k] && !(y[match[i]] <= y[match[k]]) {
						t.Fatalf("%s: %v < %v but %v > %v", kind, x[i], x[k], y[match[i]], y[match[k]])
					}
				}
			}
		}
	}
}

func TestKeyHasTheOrderOfNumbers(t *testing.T) {
	values := []float32{
		-math.MaxFloat32, -1, -math.SmallestNonzeroFloat32, float32(math.Copysign(0, -1)), 0,
		math.SmallestNonzeroFloat32, 1, 1.0000001, math.MaxFloat32,
	}
	for i, v := range values[1:] {
		if key(values[i], 1023) >= key(v, 0) {
			t.Errorf("key of %v is not less than that of %v", values[i], v)
		}
	}
	if key(2, 3) >= key(2, 4) {
		t.Error("equal numbers are not ordered by index")
	}
}

// The order of points must not change the cost, and permutes a unique match.
func TestOrderDoesNotMatter(t *testing.T) {
	var s Solver
	eachCloud(t, []int{12, 50}, func(t *testing.T, x, y []float32, n, d int) {
		_, want := solve(t, &s, x, y, d)
		r := source(uint64(n))
		for range 3 {
			_, got := solve(t, &s, shuffled(x, d, r.Perm(n)), shuffled(y, d, r.Perm(n)), d)
			if !(math.Abs(got-want) <= 1e-6*want) {
				t.Errorf("cost %v after shuffling, %v before", got, want)
			}
		}
	})
	x, _ := clouds("uniform", 40, 3, 9)
	order := source(5).Perm(40)
	match, cost := solve(t, &s, shuffled(x, 3, order), x, 3)
	for i, j := range match {
		if int(j) != order[i] {
			t.Errorf("point %d goes with %d instead of itself, %d", i, j, order[i])
		}
	}
	if cost != 0 {
		t.Errorf("a cloud is %v from itself", cost)
	}
}

// layout keeps accuracy under translation and scaling. After a large translation of y
// the match must be as good as before; powers of two change nothing.
func TestMovedAndStretched(t *testing.T) {
	var s Solver
	for _, n := range []int{8, 64} {
		x, y := clouds("lattice", n, 2, 3)
		want, wantCost := solve(t, &s, x, y, 2)
		for _, shift := range []float32{16, 1 << 20, -(1 << 22)} { // the sums are exact
			moved := slices.Clone(y)
			for i := range moved {
				moved[i] += shift
			}
			match, _ := solve(t, &s, x, moved, 2)
			if got := costOf(match, x, y, 2); !(math.Abs(got-wantCost) <= 1e-9*wantCost) {
				t.Errorf("moved by %v the match costs %v, not %v", shift, got, wantCost)
			}
		}
		for _, scale := range []float64{0x1p-120, 0x1p-60, 0x1p60, 0x1p120} {
			a, b := slices.Clone(x), slices.Clone(y)
			for i := range a {
				a[i], b[i] = float32(float64(a[i])*scale), float32(float64(b[i])*scale)
			}
			match, cost := solve(t, &s, a, b, 2)
			if !slices.Equal(match, want) || cost != wantCost*scale*scale {
				t.Errorf("stretched by %g the match differs, or costs %v instead of %v", scale, cost, wantCost*scale*scale)
			}
		}
	}
}

// With two points at 1e30 the solver still matches those near the origin.
func TestOutlierLeavesTheRest(t *testing.T) {
	var s Solver
	x, y := clouds("uniform", 40, 2, 4)
	_, want := solve(t, &s, x, y, 2)
	_, got := solve(t, &s, append(slices.Clone(x), 1e30, 1e30), append(slices.Clone(y), 1e30, 1e30), 2)
	if !(math.Abs(got-want) <= 1e-6*want) {
		t.Errorf("cost %v with two equal points far out, %v without", got, want)
	}
}

// The result does not depend on what a Solver solved before.
func TestSolverForgets(t *testing.T) {
	var used Solver
	for i, n := range []int{64, 7, 8, 9, 1, 130, 2, 64} {
		for _, d := range []int{3, 1, 2} {
			x, y := clouds(cloudKinds[(i+d)%len(cloudKinds)], n, d, uint64(i))
			got, gotCost := solve(t, &used, x, y, d)
			want, wantCost := solve(t, new(Solver), x, y, d)
			if !slices.Equal(got, want) || gotCost != wantCost {
				t.Errorf("%d points in %d dimensions: a used solver finds something else", n, d)
			}
		}
	}
}

func TestSolverDoesNotAllocate(t *testing.T) {
	var s Solver
	for _, d := range []int{1, 2} {
		x, y := clouds("uniform", 64, d, 1)
		match := make([]int32, 64)
		if allocations := testing.AllocsPerRun(10, func() { s.Solve(match, x, y, d) }); allocations != 0 {
			t.Errorf("%v allocations in %d dimensions", allocations, d)
		}
	}
}

func TestSolveRefuses(t *testing.T) {
	nan, inf := float32(math.NaN()), float32(math.Inf(-1))
	for _, tt := range []struct {
		name     string
		n        int
		x, y     []float32
		d        int
		want     error
		contains string
	}{
		{"no points", 0, nil, nil, 2, ErrShape, "0 points"},
		{"too many", MaxPoints + 1, make([]float32, MaxPoints+1), make([]float32, MaxPoints+1), 1, ErrShape, "1025 points"},
		{"no dimension", 1, nil, nil, 0, ErrShape, "dimension 0"},
		{"large dimension", 1, nil, nil, math.MaxInt, ErrShape, "dimension"},
		{"lengths", 2, make([]float32, 4), make([]float32, 3), 2, ErrShape, "4 and 3 coordinates"},
		{"NaN in x", 3, []float32{0, 0, 0, 0, 0, nan}, make([]float32, 6), 2, ErrNonFinite, "pair (2, 0) is NaN"},
		{"NaN in y", 3, make([]float32, 6), []float32{0, 0, nan, 0, 0, 0}, 2, ErrNonFinite, "pair (0, 1) is NaN"},
		{"infinite in y", 3, make([]float32, 6), []float32{0, 0, 0, 0, inf, 0}, 2, ErrNonFinite, "pair (0, 2) is +Inf"},
		{"infinite in both", 1, []float32{inf}, []float32{inf}, 1, ErrNonFinite, "pair (0, 0) is NaN"},
		{"NaN on the line", 2, []float32{0, nan}, []float32{1, 2}, 1, ErrNonFinite, "pair (1, 0) is NaN"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var s Solver
			_, err := s.Solve(make([]int32, tt.n), tt.x, tt.y, tt.d)
			if !errors.Is(err, tt.want) || !strings.Contains(err.Error(), tt.contains) {
				t.Errorf("error %v, want %v with %q", err, tt.want, tt.contains)
			}
			var pair *PairError
			if errors.As(err, &pair) != errors.Is(tt.want, ErrNonFinite) {
				t.Errorf("%T in %v", pair, err)
			}
		})
	}
	var s Solver
	huge := []float32{math.MaxFloat32, -math.MaxFloat32, 1, 2}
	if _, err := s.Solve(make([]int32, 2), huge, []float32{0, 0, -math.MaxFloat32, math.MaxFloat32}, 2); err != nil {
		t.Errorf("finite coordinates of any size have finite costs: %v", err)
	}
}
