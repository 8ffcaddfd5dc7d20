package registry

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"go.etcd.io/bbolt"
)

// large makes a registry whose model has that many versions. Their weights are one file.
func large(b testing.TB, versions int) *Registry {
	b.Helper()
	r := open(b, b.TempDir())
	v := add(b, r, "vn1d", 1)
	v, err := r.Get(b.Context(), v.Ref())
	if err != nil {
		b.Fatal(err)
	}
	for _, metric := range []string{"sinkhorn", "ks", "mean", "variance"} {
		v.Metrics[metric] = v.Metrics["w2"]
	}
	v.Config = append(append([]byte(`{"name":"`), bytes.Repeat([]byte("a"), 2000)...), `"}`...)
	if err := r.update(b.Context(), "fill", func(models *bbolt.Bucket) error {
		for i := 2; i <= versions; i++ {
			v.Key = "retraining " + strconv.Itoa(i)
			if _, err := publish(models, v); err != nil {
				return err
			}
		}
		return nil
	}); err != nil {
		b.Fatal(err)
	}
	return r
}

// each times the rounds one by one and reports the least and the median: other programs make
// some rounds longer, none shorter.
func each(b *testing.B, prepare, round func(i int)) {
	b.Helper()
	var times []time.Duration
	for i := 0; b.Loop(); i++ {
		b.StopTimer()
		prepare(i)
		b.StartTimer()
		begin := time.Now()
		round(i)
		times = append(times, time.Since(begin))
	}
	slices.Sort(times)
	b.ReportMetric(float64(times[0].Microseconds())/1000, "ms-least")
	b.ReportMetric(float64(times[len(times)/2].Microseconds())/1000, "ms-median")
}

func nothing(int) {}

func BenchmarkList(b *testing.B) {
	for _, versions := range []int{100, 10000} {
		r := large(b, versions)
		b.Run(fmt.Sprint(versions), func(b *testing.B) {
			each(b, nothing, func(int) {
				if all, err := r.List(b.Context(), ""); err != nil || len(all) != versions {
					b.Fatal(err)
				}
			})
		})
	}
}

// BenchmarkPromote is of a promotion alone: its weights are there.
func BenchmarkPromote(b *testing.B) {
	for _, versions := range []int{100, 10000} {
		r := large(b, versions)
		b.Run(fmt.Sprint(versions), func(b *testing.B) {
			each(b, nothing, func(i int) {
				if err := r.Promote(b.Context(), Promotion{Model: "vn1d", Number: 1 + i%2}); err != nil {
					b.Fatal(err)
				}
			})
		})
	}
}

func BenchmarkRollback(b *testing.B) {
	r := large(b, 10000)
	each(b, func(i int) {
		for n := range 2 {
			if err := r.Promote(b.Context(), Promotion{Model: "vn1d", Number: 1 + (i+n)%2}); err != nil {
				b.Fatal(err)
			}
		}
	}, func(int) {
		if _, err := r.Rollback(b.Context(), "vn1d", "", ""); err != nil {
			b.Fatal(err)
		}
	})
}

// BenchmarkPromoteBesideReaders is of a promotion while four readers ask for the champion
// without a pause.
func BenchmarkPromoteBesideReaders(b *testing.B) {
	r := large(b, 100)
	if err := r.Promote(b.Context(), Promotion{Model: "vn1d", Number: 3}); err != nil {
		b.Fatal(err)
	}
	var readers sync.WaitGroup
	done := make(chan struct{})
	for range 4 {
		readers.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				if _, err := r.Get(b.Context(), "vn1d"); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	each(b, nothing, func(i int) {
		if err := r.Promote(b.Context(), Promotion{Model: "vn1d", Number: 1 + i%2}); err != nil {
			b.Error(err)
		}
	})
	close(done)
	readers.Wait()
}
