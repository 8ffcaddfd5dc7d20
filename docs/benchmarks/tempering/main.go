// Command tempering measures what replicas at higher temperatures are worth, in Markdown:
//
//	go run ./docs/benchmarks/tempering [-only Particles]
//
// For each equation all chains start in one well of the law. It measures the part of them that is in the
// other well after a number of evaluations of the drift, which replicas share among themselves, and
// compares it with the law's.
package main

import (
	"context"
	"flag"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/ergoflow/ergoflow/data/equations/expression"
	"github.com/ergoflow/ergoflow/data/equations/sde"
	"github.com/ergoflow/ergoflow/data/simulation/simulate"
)

// example is an equation with two wells.
type example struct {
	name, about string
	drift       []string
	diffusion   string
	box         []sde.Interval
	dt          float64
	ladder      simulate.Tempering
	start       simulate.Start
	other       func(x []float32) bool // in the other well than the start
	part        float64                // of the law in that well
}

const (
	chains = 1024
	every  = 50
)

// evaluations of the drift for a chain, before its only sample.
var evaluations = []int{8_000, 32_000, 128_000}

func main() {
	only := flag.String("only", "", "measure only examples with this in their name")
	flag.Parse()
	if err := measureAll(context.Background(), *only); err != nil {
		fmt.Fprintf(os.Stderr, "tempering: %v\n", err)
		os.Exit(1)
	}
}

func measureAll(ctx context.Context, only string) error {
	for _, e := range []example{doubleWell(), surface(), field()} {
		if !strings.Contains(e.name, only) {
			continue
		}
		system, err := e.system()
		if err != nil {
			return fmt.Errorf("%s: %w", e.name, err)
		}
		fmt.Printf("### %s\n\n%s The law has %.3f of its mass in the other well. Steps of %g.\n\n", e.name, e.about, e.part, e.dt)
		fmt.Printf("| evaluations | without replicas | seconds | %d temperatures up to %g | seconds | exchanges accepted |\n|---:|---:|---:|---:|---:|---:|\n", e.ladder.Temperatures, e.ladder.Hottest)
		for _, steps := range evaluations {
			plain := simulate.Scheme{DT: e.dt, BurnIn: steps, Thin: 1, Chains: chains, Start: e.start, Integrator: simulate.LeimkuhlerMatthews}
			tempered := plain
			tempered.BurnIn = steps / e.ladder.Temperatures
			tempered.Tempering = e.ladder
			fmt.Printf("| %d |", steps)
			for _, s := range []simulate.Scheme{plain, tempered} {
				part, took, err := e.measure(ctx, system, s)
				if err != nil {
					return fmt.Errorf("%s: %w", e.name, err)
				}
				fmt.Printf(" %.3f ± %.3f | %.2f |", part, math.Sqrt(e.part*(1-e.part)/chains), took.Seconds())
			}
			rates, err := simulate.Fastest().Exchanges(ctx, system, tempered, tempered.BurnIn, 1, 0, "rates")
			if err != nil {
				return fmt.Errorf("%s: %w", e.name, err)
			}
			fmt.Printf(" %.2f to %.2f |\n", slices.Min(rates), slices.Max(rates))
		}
		fmt.Println()
	}
	return particles(ctx, only)
}

// measure is the part of the chains that ends in the other well.
func (e example) measure(ctx context.Context, system sde.Space, s simulate.Scheme) (part float64, took time.Duration, err error) {
	d := system.Dim()
	x := make([]float32, chains*d)
	begin := time.Now()
	if err := simulate.Fastest().Chains(ctx, x, system, s, 1, 0, "tempering"); err != nil {
		return 0, 0, err
	}
	took = time.Since(begin)
	for i := range chains {
		if e.other(x[i*d:][:d]) {
			part += 1. / chains
		}
	}
	return part, took, nil
}

func (e example) system() (sde.Space, error) {
	c, err := expression.CompileSystem(len(e.drift), e.drift, []string{e.diffusion}, nil)
	if err != nil {
		return sde.Space{}, err
	}
	return c.Space(e.box, nil)
}

func doubleWell() example {
	density := func(x, _ float64) float64 { return math.Exp(-2 / 0.028 * (x*x*x*x/4 - x*x/2 + 0.02*x)) }
	return example{
		name: "Double well", about: "dX = (X − X³ − 0.02)dt + 0.167 dW, with a barrier of 18 kT.",
		drift: []string{"x0 - x0^3 - 0.02"}, diffusion: "sqrt(0.028)", box: []sde.Interval{{Lo: -2, Hi: 2}},
		dt: 0.02, ladder: simulate.Tempering{Temperatures: 4, Hottest: 20, Every: every}, start: "uniform(0.9, 1.1)",
		other: func(x []float32) bool { return x[0] < 0 },
		part:  part(density, func(x, _ float64) bool { return x < 0 }, sde.Interval{Lo: -3, Hi: 3}, sde.Interval{Lo: 0, Hi: 1}),
	}
}

// surface is docs/families/muller_brown.yaml with a = 1.2 and b = 1.
func surface() example {
	const temperature = 0.05
	terms := []struct{ depth, a, b, c, x, y float64 }{{-2.4, -1, 0, -10, 1, 0}, {-1, -1, 0, -10, 0, 0.5}, {-1.7, -6.5, 11, -6.5, -0.5, 1.5}, {0.15, 0.7, 0.6, 0.7, -1, 1}}
	density := func(x, y float64) float64 {
		u := 1.4 // about its least value, which leaves the ratio
		for _, t := range terms {
			u += t.depth * math.Exp(t.a*(x-t.x)*(x-t.x)+t.b*(x-t.x)*(y-t.y)+t.c*(y-t.y)*(y-t.y))
		}
		return math.Exp(-u / temperature)
	}
	var drift [2]string
	for i, t := range terms {
		energy := fmt.Sprintf("(%g)*exp((%g)*(x0 - (%g))^2 + (%g)*(x0 - (%g))*(x1 - (%g)) + (%g)*(x1 - (%g))^2)", t.depth, t.a, t.x, t.b, t.x, t.y, t.c, t.y)
		for k, slope := range []string{
			fmt.Sprintf("(2*(%g)*(x0 - (%g)) + (%g)*(x1 - (%g)))", t.a, t.x, t.b, t.y),
			fmt.Sprintf("((%g)*(x0 - (%g)) + 2*(%g)*(x1 - (%g)))", t.b, t.x, t.c, t.y),
		} {
			if i > 0 {
				drift[k] += " "
			}
			drift[k] += "- " + energy + "*" + slope
		}
	}
	upper := func(x, y float64) bool { return y > 0.624+(x+0.822)*(0.293-0.624)/(0.212+0.822) } // than the line between the saddles
	return example{
		name: "Surface of Müller and Brown", about: fmt.Sprintf("With a = 1.2 and b = 1, at the temperature %g.", temperature),
		drift: drift[:], diffusion: fmt.Sprintf("sqrt(2*%g)", temperature), box: []sde.Interval{{Lo: -1.8, Hi: 1.2}, {Lo: -0.5, Hi: 2.2}},
		dt: 0.002, ladder: simulate.Tempering{Temperatures: 4, Hottest: 12, Every: every}, start: "uniform(0.55, 0.7); uniform(0, 0.05)",
		other: func(x []float32) bool { return upper(float64(x[0]), float64(x[1])) },
		part:  part(density, upper, sde.Interval{Lo: -2.5, Hi: 2}, sde.Interval{Lo: -1.2, Hi: 2.7}),
	}
}

// field is docs/families/phi4.yaml with mass −3 and coupling 1.
func field() example {
	const sites = 32
	var drift []string
	for i := range sites {
		drift = append(drift, fmt.Sprintf("x%d + x%d + x%d - x%d^3", (i+1)%sites, (i+sites-1)%sites, i, i))
	}
	return example{
		name: "Field on a ring in two phases", about: "φ⁴ on 32 sites at temperature 1, mass −3 and coupling 1: all sites are positive, or all negative, for a long time.",
		drift: drift, diffusion: "sqrt(2)", box: slices.Repeat([]sde.Interval{{Lo: -4, Hi: 4}}, sites),
		dt: 0.02, ladder: simulate.Tempering{Temperatures: 8, Hottest: 6, Every: every}, start: "uniform(1.5, 2)",
		other: func(x []float32) bool {
			sum := float32(0)
			for _, v := range x {
				sum += v
			}
			return sum < 0
		},
		part: 0.5, // by symmetry
	}
}

// part is that of a density where inside holds, by a sum over midpoints.
func part(density func(x, y float64) float64, inside func(x, y float64) bool, xs, ys sde.Interval) float64 {
	const n = 2000
	some, all := 0., 0.
	for i := range n {
		for j := range n {
			x, y := xs.Lo+(xs.Hi-xs.Lo)*(float64(i)+0.5)/n, ys.Lo+(ys.Hi-ys.Lo)*(float64(j)+0.5)/n
			p := density(x, y)
			if all += p; inside(x, y) {
				some += p
			}
		}
	}
	return some / all
}
