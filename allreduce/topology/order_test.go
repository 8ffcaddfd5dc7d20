package topology

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

func addresses(each ...int) []string {
	var all []string
	for h, n := range each {
		for p := range n {
			all = append(all, fmt.Sprintf("10.0.%d.%d:%d", h/250, h%250, p+1))
		}
	}
	return all
}

func costs(rng *rand.Rand, n int) [][]float64 {
	c := make([][]float64, n)
	for i := range c {
		c[i] = make([]float64, n)
		for j := range c[i] {
			if i != j {
				c[i][j] = 0.1 + rng.ExpFloat64()
			}
		}
	}
	return c
}

// permutations of 1 … n-1 behind 0.
func permutations(n int, visit func([]int)) {
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	var permute func(int)
	permute = func(k int) {
		if k == n {
			visit(order)
			return
		}
		for i := k; i < n; i++ {
			order[k], order[i] = order[i], order[k]
			permute(k + 1)
			order[k], order[i] = order[i], order[k]
		}
	}
	permute(1)
}

func isCircle(t *testing.T, order []int, n int) {
	t.Helper()
	sorted := slices.Sorted(slices.Values(order))
	for i := range n {
		if len(sorted) != n || sorted[i] != i || order[0] != 0 {
			t.Fatalf("%v is no circle of %d from 0 on", order, n)
		}
	}
}

// Up to eight hosts every order is tried: none is shorter.
func TestShortestIsShortest(t *testing.T) {
	for n := 2; n <= 8; n++ {
		for seed := range uint64(10) {
			c := costs(rand.New(rand.NewPCG(seed, uint64(n))), n)
			got := shortest(c)
			isCircle(t, got, n)
			best := math.Inf(1)
			permutations(n, func(o []int) { best = min(best, length(c, o)) })
			if l := length(c, got); l > best*(1+1e-12) {
				t.Errorf("%d hosts, seed %d: %v is %v long, the shortest %v", n, seed, got, l, best)
			}
		}
	}
}

// Where the order is improved only, it is never longer than the given one, and on average
// within a quarter of the shortest.
func TestImprove(t *testing.T) {
	ratio, count := 0.0, 0
	for _, n := range []int{4, 8, 12, 40, 200} {
		for seed := range uint64(10) {
			c := costs(rand.New(rand.NewPCG(seed, uint64(n))), n)
			given := make([]int, n)
			for i := range given {
				given[i] = i
			}
			got := slices.Clone(given)
			improve(c, got)
			isCircle(t, got, n)
			if length(c, got) > length(c, given) {
				t.Errorf("%d hosts, seed %d: longer than given", n, seed)
			}
			if n <= exactly {
				ratio += length(c, got) / length(c, shortest(c))
				count++
			}
		}
	}
	if ratio /= float64(count); ratio > 1.25 {
		t.Errorf("on average %.2f of the shortest", ratio)
	}
}

// Three sites whose hosts alternate: the ring passes each site once.
func TestOrderFindsSites(t *testing.T) {
	for _, hosts := range []int{9, 30} {
		l := Of(addresses(slices.Repeat([]int{2}, hosts)...))
		site := func(rank int) int { return rank / 2 % 3 }
		latency := func(a, b int) float64 {
			switch {
			case (a+b)%5 == 0:
				return -1 // not measured
			case site(a) == site(b):
				return 0.2
			}
			return 20 + float64(site(b))
		}
		order := Order(l, Links{Latency: latency})
		isCircle(t, order, 2*hosts)
		changes := 0
		for i, r := range order {
			if site(r) != site(order[(i+1)%len(order)]) {
				changes++
			}
		}
		if changes != 3 {
			t.Errorf("%d hosts: the ring changes the site %d times: %v", hosts, changes, order)
		}
	}
}

// Ranks of a host follow each other, and hosts keep their order where nothing is known, or
// nothing is gained.
func TestOrderKeeps(t *testing.T) {
	scattered := []string{"a:1", "b:1", "a:2", "c:1", "b:2", "a:3"}
	unknown := func(a, b int) float64 { return -1 }
	want := []int{0, 2, 5, 1, 4, 3}
	if got := Order(Of(scattered), Links{Latency: unknown, Rate: unknown, Bytes: 1e6}); !slices.Equal(got, want) {
		t.Errorf("unknown latencies: %v", got)
	}
	rng := rand.New(rand.NewPCG(1, 2))
	similar := func(a, b int) float64 { return 1 + rng.Float64()/20 }
	if got := Order(Of(scattered), Links{Latency: similar}); !slices.Equal(got, want) {
		t.Errorf("similar latencies: %v", got)
	}
	for _, world := range []int{1, 2, 3} {
		if got := Order(Of(addresses(slices.Repeat([]int{1}, world)...)), Links{Latency: unknown}); len(got) != world || got[0] != 0 {
			t.Errorf("world %d: %v", world, got)
		}
	}
}

// racks are hosts that alternate between two racks, with a tenth of the rate from one to the other,
// in bytes a second.
func racks(a, b int) float64 {
	if (a-b)%2 == 0 {
		return 125e6
	}
	return 12.5e6
}

// same is a latency of 100 µs everywhere.
func same(int, int) float64 { return 100e-6 }

// Where latencies say nothing, rates do: the ring leaves each rack once.
func TestOrderFollowsRates(t *testing.T) {
	for _, hosts := range []int{4, 8, 12, 40} {
		l := Of(addresses(slices.Repeat([]int{1}, hosts)...))
		order := Order(l, Links{Latency: same, Rate: racks, Bytes: 4 << 20})
		isCircle(t, order, hosts)
		crossings := 0
		for i, r := range order {
			if next := order[(i+1)%hosts]; (r-next)%2 != 0 {
				crossings++
			}
		}
		if crossings != 2 {
			t.Errorf("%d hosts: the ring goes from rack to rack %d times: %v", hosts, crossings, order)
		}
		if tiny := Order(l, Links{Latency: same, Rate: racks, Bytes: 4}); !slices.Equal(tiny, consecutive(hosts)) {
			t.Errorf("%d hosts: for 4 bytes the order is %v", hosts, tiny)
		}
	}
}

func consecutive(n int) []int {
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	return order
}

// One slow direction of one link of the ring holds up all others, however many there are.
func TestOrderAvoidsTheSlowest(t *testing.T) {
	for _, hosts := range []int{4, 12, 60, 256} {
		rate := func(a, b int) float64 {
			if a == 2 && b == 3 {
				return 12.5e6
			}
			return 125e6
		}
		order := Order(OneEach(hosts), Links{Latency: same, Rate: rate, Bytes: 4 << 20})
		isCircle(t, order, hosts)
		if at := slices.Index(order, 2); order[(at+1)%hosts] == 3 {
			t.Errorf("%d hosts: %v", hosts, order)
		}
	}
}

// For links of all kinds the ring takes hardly longer than the best of all orders.
func TestCircleIsNearlyTheBest(t *testing.T) {
	total, count := 0.0, 0
	for n := 3; n <= 7; n++ {
		for seed := range uint64(20) {
			rng := rand.New(rand.NewPCG(seed, uint64(n)))
			p := paths{latency: costs(rng, n), passing: costs(rng, n)}
			best := math.Inf(1)
			permutations(n, func(o []int) { best = min(best, p.time(o)) })
			order := p.circle()
			isCircle(t, order, n)
			ratio := p.time(order) / best
			if total, count = total+ratio, count+1; ratio > 1.25 {
				t.Errorf("%d hosts, seed %d: %.2f times the least time", n, seed, ratio)
			}
		}
	}
	if mean := total / float64(count); mean > 1.04 {
		t.Errorf("%.3f times the least time on average", mean)
	} else {
		t.Logf("%.3f times the least time on average", mean)
	}
}

func FuzzOrder(f *testing.F) {
	f.Add([]byte{1, 2, 3, 1, 2, 3}, uint64(1))
	f.Fuzz(func(t *testing.T, hosts []byte, seed uint64) {
		if len(hosts) == 0 || len(hosts) > 40 {
			return
		}
		var names []string
		for _, h := range hosts {
			names = append(names, fmt.Sprintf("%d:1", h%16))
		}
		rng := rand.New(rand.NewPCG(seed, 0))
		strange := []float64{-1, math.NaN(), math.Inf(1), 0, 1e300}
		known := func(a, b int) float64 {
			if k := rng.IntN(10); k < len(strange) {
				return strange[k]
			}
			return rng.Float64()
		}
		isCircle(t, Order(Of(names), Links{known, known, float64(seed % 3 * 1e6)}), len(names))
	})
}

func BenchmarkOrder(b *testing.B) {
	for _, hosts := range []int{12, 64, 1024} {
		b.Run(fmt.Sprint(hosts), func(b *testing.B) {
			c := costs(rand.New(rand.NewPCG(1, 1)), hosts)
			l := OneEach(hosts)
			for b.Loop() {
				Order(l, Links{
					Latency: func(a, b int) float64 { return c[a][b] / 1e4 },
					Rate:    func(a, b int) float64 { return 125e6 * c[b][a] },
					Bytes:   4 << 20,
				})
			}
		})
	}
}
