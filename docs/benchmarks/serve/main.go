// Command serve measures a running `ergoflow serve` under load, in Markdown:
//
//	go run ./docs/benchmarks/serve [-n SAMPLES] [-seconds S] URL
//
// Clients of one connection each first ask as fast as they are answered: that is the throughput.
// Then they ask at half and at 0.8 of that rate, whether answers come or not (an open loop), so
// that waiting counts as latency. Every request asks for another equation, and gets samples as
// .npy, with the certificate computed. In the first line all requests ask for the same equation.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"os"
	"sync/atomic"
	"time"

	vegeta "github.com/tsenart/vegeta/v12/lib"
)

func main() {
	n := flag.Int("n", 4096, "samples of a request")
	seconds := flag.Float64("seconds", 8, "time of each measurement")
	flag.Parse()
	if flag.NArg() != 1 {
		flag.Usage()
		os.Exit(2)
	}
	duration := time.Duration(*seconds * float64(time.Second))
	fmt.Println("| connections | asked | answered /s | p50, ms | p99, ms | refused (503) | failed |\n|---|---|---|---|---|---|---|")
	again := func() int64 { return 1 }
	report(1, "the same again, as fast as answered", attack(flag.Arg(0), *n, 1, vegeta.Rate{}, duration, again))
	var equations atomic.Int64
	another := func() int64 { return 1 + equations.Add(1)%1_000_000 }
	for _, clients := range []int{1, 16, 256} {
		fastest := attack(flag.Arg(0), *n, clients, vegeta.Rate{}, duration, another)
		report(clients, "as fast as answered", fastest)
		for _, part := range []float64{0.5, 0.8} {
			rate := vegeta.Rate{Freq: max(1, int(part*fastest.Throughput)), Per: time.Second}
			report(clients, fmt.Sprintf("%d /s", rate.Freq), attack(flag.Arg(0), *n, clients, rate, duration, another))
		}
	}
}

// attack asks for equations of the numbers that next gives, at a rate, or with as many workers as
// there are connections if it is zero.
func attack(url string, n, connections int, rate vegeta.Rate, duration time.Duration, next func() int64) *vegeta.Metrics {
	targeter := func(t *vegeta.Target) error {
		body, err := json.Marshal(map[string]any{
			"drift": fmt.Sprintf("-x + %.6f*x^2*exp(-x^2)", float64(next())/1e6), "diffusion": "1", "n": n,
		})
		t.Method, t.URL, t.Body = http.MethodPost, url+"/v1/sample", body
		t.Header = http.Header{"Content-Type": {"application/json"}, "Accept": {"application/x-npy"}}
		return err
	}
	options := []func(*vegeta.Attacker){vegeta.Connections(connections), vegeta.MaxConnections(connections), vegeta.KeepAlive(true), vegeta.HTTP2(false), vegeta.Timeout(time.Minute)}
	if rate.Freq == 0 {
		options = append(options, vegeta.Workers(uint64(connections)), vegeta.MaxWorkers(uint64(connections)))
	} else {
		options = append(options, vegeta.MaxWorkers(1<<14))
	}
	var m vegeta.Metrics
	for r := range vegeta.NewAttacker(options...).Attack(targeter, rate, duration, "serve") {
		m.Add(r)
	}
	m.Close()
	return &m
}

func report(clients int, asked string, m *vegeta.Metrics) {
	failed := 0
	for code, count := range m.StatusCodes {
		if code != "200" && code != "503" {
			failed += count
		}
	}
	fmt.Printf("| %d | %s | %.0f | %.2f | %.2f | %d | %d |\n", clients, asked, m.Throughput,
		m.Latencies.P50.Seconds()*1e3, m.Latencies.P99.Seconds()*1e3, m.StatusCodes["503"], failed)
}
