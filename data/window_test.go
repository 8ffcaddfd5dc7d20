package data

import (
	"math/rand/v2"
	"testing"
)

// Whatever the sizes, the training functions of a window are the newest of the sequence, its
// shards have them in order, and none of them is held out.
func TestWindow(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		share, shards := 1+rng.IntN(5), 1+rng.IntN(6)
		base := Dataset{Functions: share * shards, Shards: shards, HeldOut: 1 + rng.IntN(7), HeldOutFrom: share * rng.IntN(20)}
		total := base.Functions + share*rng.IntN(40)
		d := base.Window(total, base.Functions)
		if d.Functions != base.Functions || d.First+d.Functions != total || d.firstHeldOut() != base.firstHeldOut() {
			t.Fatalf("%+v of %d functions: %+v", base, total, d)
		}
		if err := d.heldOutBetweenShards(); err != nil {
			t.Fatalf("%+v: %v", d, err)
		}
		sequence := make([]int, 0, total) // of all training functions
		held, _ := d.ShardRange(d.HeldOutShard())
		for number := 0; len(sequence) < total; number++ {
			if number < held || number >= held+d.HeldOut {
				sequence = append(sequence, number)
			}
		}
		at := d.First
		for k := range d.Shards {
			first, count := d.ShardRange(k)
			for i := range count {
				if first+i != sequence[at] || d.TrainingFunction(at-d.First) != sequence[at] {
					t.Fatalf("%+v: place %d of shard %d is function %d, want %d", d, i, k, first+i, sequence[at])
				}
				at++
			}
		}
		if at != total {
			t.Fatalf("%+v: the shards end at %d of %d", d, at, total)
		}
	}
}

// A window that is not full has all functions; the first one is the data set itself.
func TestWindowGrows(t *testing.T) {
	d := tiny()
	if got := d.Window(12, 24); got.Hash() != d.Hash() {
		t.Errorf("the first window is %+v", got)
	}
	if got := d.Window(18, 24); got.First != 0 || got.Functions != 18 || got.HeldOutFrom != 12 {
		t.Errorf("a window that grows is %+v", got)
	}
}

// Windows of laws at times have no equation of a held-out function.
func TestWindowOfTimes(t *testing.T) {
	d := atTimes(tiny())
	d.HeldOut = 8
	for _, c := range []struct {
		total int
		apart bool
	}{{24, true}, {32, true}, {48, true}, {56, true}} {
		if _, err := d.Window(c.total, 24).Resolve(); (err == nil) != c.apart {
			t.Errorf("%d functions: %v", c.total, err)
		}
	}
	d.HeldOut = 5 // functions 29, 30 and 31 have the equation of 28
	if _, err := d.Window(24, 24).Resolve(); err != nil {
		t.Error(err)
	}
	if _, err := d.Window(32, 24).Resolve(); err == nil {
		t.Error("a window has equations of held-out functions")
	}
}
