package bench

import (
	"context"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/ergoflow/ergoflow/allreduce"
	"github.com/ergoflow/ergoflow/internal/trust"
)

func TestMeasure(t *testing.T) {
	net := allreduce.NewInProcess()
	peers := []string{"a", "b"}
	servers := []*allreduce.Server{net.Listen("a"), net.Listen("b")}
	type outcome struct {
		results []Result
		err     error
	}
	run := func(rank int) (o outcome) {
		ring, err := servers[rank].Join(t.Context(), allreduce.Identity{Generation: 1, Rank: rank, World: 2}, peers, allreduce.Options{Wire: allreduce.BFloat16})
		if err != nil {
			return outcome{err: err}
		}
		if o.results, o.err = Measure(t.Context(), ring, []int{4, 100_000}, 5); o.err == nil {
			o.err = ring.Close()
		}
		return o
	}
	other := make(chan outcome)
	go func() { other <- run(1) }()
	mine, theirs := run(0), <-other
	for _, o := range []outcome{mine, theirs} {
		if o.err != nil {
			t.Fatal(o.err)
		}
		if len(o.results) != 2 || o.results[1].Bytes != 100_000 || o.results[1].World != 2 || o.results[1].Wire != "bf16" {
			t.Fatalf("results %+v", o.results)
		}
		for _, r := range o.results {
			if want := float64(r.Bytes) / r.Median / 1e6; !(r.Median > 0 && r.P99 >= r.Median) || !near(r.BusBandwidth, want) {
				t.Errorf("implausible %+v", r)
			}
		}
	}
}

// With certificates, ranks connect by TLS alone.
func TestCertified(t *testing.T) {
	dirs, err := Certify(t.Context(), t.TempDir(), 2)
	if err != nil {
		t.Fatal(err)
	}
	run := func(own ...*trust.Credentials) (errs [2]error) {
		ctx, cancel := context.WithCancel(t.Context())
		var listeners []net.Listener
		part := Part{TCP: true, Sizes: []int{4, 100_000}, Rounds: 2}
		for range own {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			listeners, part.Peers = append(listeners, l), append(part.Peers, l.Addr().String())
		}
		var group sync.WaitGroup
		for rank, own := range own {
			part := part
			part.Rank, part.Credentials = rank, own
			group.Go(func() {
				if _, errs[rank] = part.Run(ctx, listeners[rank]); errs[rank] != nil {
					cancel()
				}
			})
		}
		group.Wait()
		cancel()
		return errs
	}
	var own []*trust.Credentials
	for _, dir := range dirs {
		c, err := trust.OpenCredentials(dir)
		if err != nil {
			t.Fatal(err)
		}
		own = append(own, c)
	}
	if errs := run(own...); errs != [2]error{} {
		t.Errorf("with certificates: %v", errs)
	}
	// The one that hears of it first ends the other; TestNoCertificate has what they say.
	if errs := run(own[0], nil); errs[0] == nil || errs[1] == nil {
		t.Errorf("one has none: %v", errs)
	}
}

func near(a, b float64) bool { return a > 0.999*b && a < 1.001*b }

func TestMeasureRefusesNonsense(t *testing.T) {
	ring, err := allreduce.NewInProcess().Listen("a").Join(t.Context(), allreduce.Identity{Generation: 1, World: 1}, []string{"a"}, allreduce.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Measure(t.Context(), ring, []int{4}, -1); err == nil {
		t.Error("negative rounds: no error")
	}
	if _, err := Measure(t.Context(), ring, []int{6}, 1); err == nil {
		t.Error("6 bytes: no error")
	}
}

func TestQuantile(t *testing.T) {
	times := make([]time.Duration, 200)
	for i := range times {
		times[i] = time.Duration(i+1) * time.Second
	}
	for q, want := range map[float64]float64{0.5: 100, 0.99: 198, 1: 200, 0: 1} {
		if got := quantile(times, q); got != want {
			t.Errorf("quantile %v of 1…200 s: %v, want %v", q, got, want)
		}
	}
}
