package expression

import (
	"go/format"
	"os"
	"regexp"
	"strings"
	"testing"
)

// The kernels for AVX2 are generated from those for AVX-512.
func TestGeneratedKernels(t *testing.T) {
	source, err := os.ReadFile("kernels_avx512_amd64.go")
	if err != nil {
		t.Fatal(err)
	}
	text := regexp.MustCompile(`(?m)^//go:generate.*\n`).ReplaceAllString(string(source), "")
	text = strings.NewReplacer("x8", "x4", "x16", "x8", "AVX512", "AVX2", "= 8 ", "= 4 ").Replace(text)
	want, err := format.Source([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile("kernels_avx2_amd64.go")
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != string(want) {
		t.Error("kernels_avx2_amd64.go is out of date: go generate ./data/equations/expression")
	}
}
