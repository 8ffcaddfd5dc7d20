package topology

import (
	"math"
	"slices"
	"testing"
)

// The table of doc.go.
func TestCost(t *testing.T) {
	const n = 1 << 20
	for _, test := range []struct {
		each      []int
		algorithm Algorithm
		want      Cost
	}{
		{[]int{1, 1}, Exchange, Cost{1, n}},
		{[]int{4, 4}, Exchange, Cost{1, 16 * n}},
		{slices.Repeat([]int{1}, 16), Ring, Cost{30, 2 * 15. / 16 * n}},
		{slices.Repeat([]int{1}, 16), Doubling, Cost{8, 3 * 15. / 16 * n}},
		{slices.Repeat([]int{1}, 10), Doubling, Cost{8, 3 * 9. / 10 * n}},
		{[]int{4, 4}, Ring, Cost{2 * 7. / 8 * (2 + 6./4), 2 * 7. / 8 * n}},
		{slices.Repeat([]int{8}, 4), ByHost, Cost{6.5, 2 * 3. / 4 * n}},     // in a ring of hosts
		{slices.Repeat([]int{2}, 64), ByHost, Cost{12.5, 3 * 63. / 64 * n}}, // by doubling
		{[]int{16}, Ring, Cost{7.5, 2 * 15. / 16 * n}},                      // in memory
		{[]int{1}, Ring, Cost{}},
	} {
		got := Of(addresses(test.each...)).Cost(test.algorithm, n)
		if math.Abs(got.Messages-test.want.Messages) > 1e-9 || math.Abs(got.Bytes-test.want.Bytes) > 1e-3 {
			t.Errorf("%v %v: %+v, want %+v", test.each, test.algorithm, got, test.want)
		}
	}
}

// A ring of ranks that do not follow each other on their hosts leaves these more often.
func TestCostOfAlternatingHosts(t *testing.T) {
	apart, together := Of([]string{"a:1", "b:1", "a:2", "b:2"}), Of([]string{"a:1", "a:2", "b:1", "b:2"})
	if a, b := apart.Cost(Ring, 1000), together.Cost(Ring, 1000); a.Bytes != 2*b.Bytes || a.Messages <= b.Messages {
		t.Errorf("apart %+v, together %+v", a, b)
	}
}

// Long vectors go round a ring, short ones do not, and the longer the more ranks there are.
func TestChoose(t *testing.T) {
	before := 0
	for _, world := range []int{9, 16, 64, 256, 1024} {
		l := OneEach(world)
		limit := 1024
		for l.Choose(limit, Doubling, Ring) == Doubling {
			limit *= 2
			if limit > 1<<40 {
				t.Fatalf("world %d: never a ring", world)
			}
		}
		if limit <= before {
			t.Errorf("world %d: a ring from %d bytes on, for fewer ranks from %d", world, limit, before)
		}
		before = limit
	}
}

func TestLayout(t *testing.T) {
	l := Of([]string{"a:1", "b:1", "a:2", "b:2", "[::1]:5", "[::1]:6"})
	if l.World() != 6 || l.Hosts() != 3 || !l.Even() {
		t.Errorf("%+v", l)
	}
	if got := l.OfHost(3); !slices.Equal(got, []int{1, 3}) {
		t.Errorf("host of 3: %v", got)
	}
	if got := l.Column(4); !slices.Equal(got, []int{0, 1, 4}) {
		t.Errorf("column of 4: %v", got)
	}
	for name, each := range map[string][]int{"one host": {4}, "one each": {1, 1}, "uneven": {2, 1}, "one rank": {1}} {
		if Of(addresses(each...)).Even() {
			t.Errorf("%s is even", name)
		}
	}
	for a, name := range map[Algorithm]string{Exchange: "exchange", Ring: "ring", Doubling: "doubling", ByHost: "by host"} {
		if a.String() != name {
			t.Errorf("%v is not %s", a, name)
		}
	}
}
