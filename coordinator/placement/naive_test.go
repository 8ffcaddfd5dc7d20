package placement

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// naive is the definition: all pairs by falling score, each matched if it can be.
func naive(t *testing.T, shards int, w []Worker) [][]int {
	weights, err := validate(w)
	if err != nil {
		t.Fatal(err)
	}
	room, extras := quotas(shards, weights)
	r := newRanking(w, weights)
	var pairs []pair
	for i := range w {
		for s := range shards {
			pairs = append(pairs, r.best(s, func(v int) bool { return v == i }))
		}
	}
	slices.SortFunc(pairs, func(a, b pair) int {
		if r.before(a, b) {
			return -1
		}
		return 1
	})
	placed, owned := make([][]int, len(w)), make([]bool, shards)
	for _, p := range pairs {
		switch n := len(placed[p.worker]); {
		case owned[p.shard] || n > room[p.worker] || n == room[p.worker] && extras == 0:
			continue
		case n == room[p.worker]:
			extras--
		}
		owned[p.shard] = true
		placed[p.worker] = append(placed[p.worker], p.shard)
	}
	for _, own := range placed {
		slices.Sort(own)
	}
	return placed
}

func TestAsDefined(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		w := workers(0, 1+random.IntN(40))
		if random.IntN(2) == 0 {
			for i := range w {
				w[i].Weight = 0.25 + 4*random.Float64()
			}
		}
		shards := random.IntN(120)
		if got, want := place(t, shards, w), naive(t, shards, w); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Fatalf("%d shards on %v:\n%v, want\n%v", shards, w, got, want)
		}
	}
}

func BenchmarkThousandWorkers(b *testing.B) {
	equal, unequal := workers(0, 1000), workers(0, 1000)
	for i := range unequal {
		unequal[i].Weight = 1 - 0.5*float64(i%100/99)
	}
	for _, test := range []struct {
		name    string
		workers []Worker
	}{{"equal", equal}, {"unequal", unequal}} {
		for _, shards := range []int{1000, 4000} {
			b.Run(fmt.Sprintf("%s/shards=%d", test.name, shards), func(b *testing.B) {
				for b.Loop() {
					if _, err := Place(shards, test.workers); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
