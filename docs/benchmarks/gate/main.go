// Command gate measures how often the gate of package model/registry/gate promotes falsely,
// and its power:
//
//	go run ./docs/benchmarks/gate > docs/results/gate.md
//
// It simulates tables of candidate and champion, and counts decisions. Every number is a
// function of the seed alone.
package main

import (
	"flag"
	"fmt"
	"math"
	"runtime"
	"sync"
	"sync/atomic"

	"gonum.org/v1/gonum/stat"

	"github.com/ergoflow/ergoflow/data/random"
	"github.com/ergoflow/ergoflow/model/registry/gate"
	"github.com/ergoflow/ergoflow/model/report/figures"
)

var (
	tables    = flag.Int("tables", 10_000, "`number` of tables for each rate of the gate")
	compared  = flag.Int("compared", 1_000, "`number` of tables for each rate of other intervals")
	resamples = flag.Int("resamples", 999, "`number` of resamples of an interval where intervals are compared, and for power")
)

const (
	seed  = 1
	level = 0.05
)

var sizes = []int{8, 64, 128, 1024}

func main() {
	flag.Parse()
	fmt.Printf("# The gate of promotions: false promotions and power\n\n    go run ./docs/benchmarks/gate > docs/results/gate.md\n\nSimulated tables of candidate and champion; every number follows from the seed. [decisions/gate.md](../decisions/gate.md) says what the gate tests and what these tables mean. After the first table, intervals have %d resamples.\n\n", *resamples)
	falsePromotions()
	intervals()
	power()
	vetoes()
	year()
}

// configuration of the gate without checks, for which simulated tables have no controls.
func configuration(margin float64) gate.Config {
	c := gate.Default()
	c.Margin, c.Confidence, c.Normal, c.Untrained, c.Resamples = margin, 1-level, 0, 0, *resamples
	return c
}

// table of one metric, and of another one unless it is nil.
func table(row string, values, other []float64) gate.Table {
	t := gate.Table{Row: row, Metrics: []gate.Metric{{Name: "w2", Values: values}}}
	if other != nil {
		t.Metrics = append(t.Metrics, gate.Metric{Name: "ks", Values: other})
	}
	for i := range values {
		t.Functions = append(t.Functions, i)
	}
	return t
}

// parallel calls do for 0 to count − 1, on all cores.
func parallel(count int, do func(i uint64)) {
	var next atomic.Int64
	var group sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		group.Go(func() {
			for i := next.Add(1) - 1; i < int64(count); i = next.Add(1) - 1 {
				do(uint64(i))
			}
		})
	}
	group.Wait()
}

// rate is the part of count draws for which happens is true.
func rate(count int, happens func(i uint64) bool) float64 {
	var hits atomic.Int64
	parallel(count, func(i uint64) {
		if happens(i) {
			hits.Add(1)
		}
	})
	return float64(hits.Load()) / float64(count)
}

func promotes(c gate.Config, candidate, champion []float64) bool {
	theirs := table("champion", champion, nil)
	return gate.Decide(c, table("candidate", candidate, nil), &theirs, gate.Controls{}).Decision == gate.Promote
}

func header(first string, columns ...string) {
	fmt.Printf("| %s |", first)
	for _, c := range columns {
		fmt.Printf(" %s |", c)
	}
	fmt.Print("\n|---|")
	for range columns {
		fmt.Print("---:|")
	}
	fmt.Println()
}

func numbers(unit string) (names []string) {
	for _, n := range sizes {
		names = append(names, fmt.Sprintf("%d %s", n, unit))
	}
	return names
}

func falsePromotions() {
	fmt.Printf("## False promotions\n\nPart of the candidates that are promoted though candidate and champion have the same law: margin 0, confidence %.0f %%, %s resamples as by default, %s tables each. The standard error is %.4f where the rate is %.2f. Of 8 functions the smallest levels are multiples of 1/256: 12 of them are 0.0469.\n\n",
		100*(1-level), figures.Thousands(gate.Default().Resamples), figures.Thousands(*tables), math.Sqrt(level*(1-level)/float64(*tables)), level)
	header("law of the values", numbers("functions")...)
	for _, l := range exchangeable {
		fmt.Printf("| %s |", l.name)
		for _, n := range sizes {
			fmt.Printf(" %.4f |", rate(*tables, func(i uint64) bool {
				candidate, champion := l.draw(random.New(seed, "gate/"+l.name, uint64(n), i), n)
				c := configuration(0)
				c.Resamples = gate.Default().Resamples
				return promotes(c, candidate, champion)
			}))
		}
		fmt.Println()
	}
	fmt.Println()
}

func intervals() {
	fmt.Printf("## Other intervals\n\nThe same rates for the lower end of other one-sided intervals of the mean difference, %d tables each (standard error %.3f).\n\n", *compared, math.Sqrt(level*(1-level)/float64(*compared)))
	header("law, functions", "gate", "percentile", "BCa", "bootstrap-t", "Student's t")
	for _, laws := range [][]law{exchangeable, skewed} {
		for _, l := range laws {
			for _, n := range sizes {
				draw := newResampler(n, *resamples)
				var hits [4]atomic.Int64
				own := rate(*compared, func(i uint64) bool {
					candidate, champion := l.draw(random.New(seed, "intervals/"+l.name, uint64(n), i), n)
					for k, better := range draw.better(candidate, champion) {
						if better {
							hits[k].Add(1)
						}
					}
					return promotes(configuration(0), candidate, champion)
				})
				fmt.Printf("| %s, %d | %.3f |", l.name, n, own)
				for k := range hits {
					fmt.Printf(" %.3f |", float64(hits[k].Load())/float64(*compared))
				}
				fmt.Println()
			}
		}
	}
	fmt.Println()
}

func power() {
	c := gate.Default()
	fmt.Printf("## Power\n\nPart of the candidates that are promoted if each value of theirs is smaller by a part: W2 of two vn1d models, confidence %.0f %%, %d tables each.\n\n", 100*(1-level), *compared)
	header("margin, true improvement", numbers("functions")...)
	for _, margin := range []float64{0, c.Margin, 0.05} {
		for _, effect := range []float64{0, 0.01, 0.02, 0.05, 0.1, 0.2, 0.3} {
			fmt.Printf("| %.0f %%, %.0f %% |", 100*margin, 100*effect)
			for _, n := range sizes {
				fmt.Printf(" %.3f |", rate(*compared, func(i uint64) bool {
					candidate, champion := vn1d.draw(random.New(seed, "power", uint64(n), i), n)
					for k := range candidate {
						candidate[k] *= 1 - effect
					}
					return promotes(configuration(margin), candidate, champion)
				}))
			}
			fmt.Println()
		}
	}
	fmt.Println()
}

func vetoes() {
	c := configuration(0)
	fmt.Printf("## Vetoes\n\nPart of the candidates, better in the metric that decides, that another metric keeps from promotion: tolerance %.0f %%, confidence %.0f %%, %d tables each.\n\n", 100*c.Tolerance, 100*(1-level), *compared)
	header("true rise of the other metric", numbers("functions")...)
	for _, rise := range []float64{0, 0.1, 0.15, 0.2, 0.3, 0.5, 1} {
		fmt.Printf("| %.0f %% |", 100*rise)
		for _, n := range sizes {
			fmt.Printf(" %.3f |", rate(*compared, func(i uint64) bool {
				mine, theirs := vn1d.draw(random.New(seed, "vetoes", uint64(n), i), n)
				better, worse := make([]float64, n), make([]float64, n)
				for k := range mine {
					mine[k] *= 1 + rise
					better[k], worse[k] = 1, 2
				}
				champion := table("champion", worse, theirs)
				return gate.Decide(c, table("candidate", better, mine), &champion, gate.Controls{}).Decision == gate.Keep
			}))
		}
		fmt.Println()
	}
	fmt.Println()
}

// year retrains every night. A value is that of its function, times exp of the candidate's
// quality and of independent noise.
func year() {
	const nights, years, functions, noise = 365, 60, 128, 0.35
	fmt.Printf("## A year of nightly retrainings\n\nNo candidate learns anything new. Its values on %d held-out functions, the same every night, are the functions' times exp(q + %.2g·z), with q of the candidate and z of each value. Means over %d years of %d nights; margin 1 %%.\n\n", functions, noise, years, nights)
	header("deviation of q", "promotions", "true mean of the last champion over that of all candidates", "its mean on the held-out functions over the true one")
	for _, spread := range []float64{0, 0.02, 0.05} {
		var promotions, quality, optimism [years]float64
		parallel(years, func(y uint64) {
			rng := random.New(seed, "gate/year", math.Float64bits(spread), y)
			base := make([]float64, functions)
			for i := range base {
				base[i] = math.Exp(0.8 * rng.NormFloat64())
			}
			draw := func() (values []float64, q, expected, mean float64) {
				q = spread * rng.NormFloat64()
				for _, b := range base {
					v := b * math.Exp(q+noise*rng.NormFloat64())
					values = append(values, v)
					mean += v
					expected += b * math.Exp(q+noise*noise/2)
				}
				return values, q, expected, mean
			}
			champion, q, expected, mean := draw()
			count := 0
			for range nights {
				candidate, q2, expected2, mean2 := draw()
				if promotes(configuration(0.01), candidate, champion) {
					champion, q, expected, mean = candidate, q2, expected2, mean2
					count++
				}
			}
			promotions[y], quality[y], optimism[y] = float64(count), math.Exp(q-spread*spread/2), mean/expected
		})
		fmt.Printf("| %.0f %% | %.2f | %.3f | %.3f |\n", 100*spread, stat.Mean(promotions[:], nil), stat.Mean(quality[:], nil), stat.Mean(optimism[:], nil))
	}
}
