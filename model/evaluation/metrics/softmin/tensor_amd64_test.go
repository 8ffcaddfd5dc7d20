//go:build goexperiment.simd && amd64

package softmin

import (
	"math"
	"testing"

	"github.com/ergoflow/ergoflow/model/evaluation/metrics/internal/testclouds"
)

// Every kernel of grids that this processor can run agrees with the plain one.
func TestTensorKernelsAgree(t *testing.T) {
	source := testclouds.Law{Seed: 5}
	var a, v block
	var left, right panel
	for j := range a {
		a[j], v[j] = -900*math.Pow(source.Uniform(j, 0), 4), 30*(source.Uniform(j, 1)-0.5)
		for i := range gridStep {
			left[j/lanes][i][j%lanes], right[j/lanes][i][j%lanes] = source.Uniform(j, 2+i), source.Uniform(j, 5+i)
		}
	}
	u := [gridStep]float64{-1.5, 0, 3}
	const columns = 5
	plainSums := make([][lanes]float64, 2*columns+gridStep)
	plainSums[columns+1][3] = 7
	startSums := append([][lanes]float64(nil), plainSums...)
	outerPlain(plainSums, columns, &left, &right)
	var plainExps, plainProduct panel
	expsPlain(&plainExps, &a, &v, &u)
	multiplyPlain(&plainProduct, &left, &right, 1)

	agree := func(name string, got, want float64) {
		if !(math.Abs(got-want) <= 2e-10*want) {
			t.Errorf("%s: %v, plain %v", name, got, want)
		}
	}
	panels := func(name string, got, want *panel) {
		for j := range want {
			for i := range want[j] {
				for lane, w := range want[j][i] {
					agree(name, got[j][i][lane], w)
				}
			}
		}
	}
	var product panel
	multiply(&product, &left, &right, 1)
	panels("products", &product, &plainProduct)
	exponentials := map[string]func(dst *panel, a, v *block, u *[gridStep]float64){}
	outers := map[string]func(sums [][lanes]float64, columns int, left, right *panel){}
	if hasAVX2 {
		exponentials["AVX2"], outers["AVX2"] = expsAVX2, outerAVX2
	}
	if hasAVX512 {
		exponentials["AVX-512"] = expsAVX512
		outers["AVX-512"] = func(sums [][lanes]float64, columns int, left, right *panel) {
			outerAVX512(&sums[0], columns, left, right)
		}
	}
	for name, exps := range exponentials {
		var got panel
		exps(&got, &a, &v, &u)
		panels(name+" exponentials", &got, &plainExps)
	}
	for name, outer := range outers {
		got := append([][lanes]float64(nil), startSums...)
		outer(got, columns, &left, &right)
		for i := range got {
			for lane, w := range plainSums[i] {
				agree(name+" sums", got[i][lane], w)
			}
		}
	}
}

// The expansion's vectors agree with the plain loops, for every number of nodes.
func TestExpansionKernelsAgree(t *testing.T) {
	if !hasAVX512 {
		t.Log("no vectors to compare with")
		return
	}
	for n := gridStep; n <= gridNodes; n += gridStep {
		rest := 2 * gridStep
		value := make([]float64, n*rest)
		for i := range value {
			value[i] = math.Sin(float64(i * i))
		}
		want, got := make([]float64, len(value)), make([]float64, len(value))
		cosinesPlain(want, value, n)
		cosinesAVX512(got, value, n)
		for i, w := range want {
			if !(math.Abs(got[i]-w) <= 1e-14) {
				t.Errorf("%d nodes: coefficient %d is %v, plain %v", n, i, got[i], w)
			}
		}
	}
	plain, vectors := grid{nodes: [gridAxes]int{4, 9, 12}}, grid{nodes: [gridAxes]int{4, 9, 12}}
	for axis := range gridAxes {
		for i := range gridTargets {
			z := math.Sin(float64(10*axis + i))
			plain.polynomial[axis][1][i], vectors.polynomial[axis][1][i] = z, z
		}
		plain.polynomial[axis].extendPlain(12)
		vectors.polynomial[axis].extendAVX512(12)
	}
	plain.value = make([]float64, 4*9*12)
	for i := range plain.value {
		plain.value[i] = math.Sin(float64(i*i)) / float64(1+i)
	}
	vectors.value = plain.value
	for _, terms := range [][gridAxes]int{{1, 3, 3}, {4, 6, 9}, {3, 9, 12}} {
		var want, got [gridTargets]float64
		plain.evaluatePlain(&want, terms)
		vectors.evaluateAVX512(&got, terms)
		for i, w := range want {
			if !(math.Abs(got[i]-w) <= 1e-13) {
				t.Errorf("terms %v: %v at target %d, plain %v", terms, got[i], i, w)
			}
		}
	}
}
