package arrayfile

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Samples of several equations have a dimension for them, on the line and in the plane.
func TestEquations(t *testing.T) {
	line := Points32([]float32{1, 2, 3, 4, 5, 6}, 1)
	line.Equations = 2
	plane := Points32([]float32{1, 2, 3, 4, 5, 6, 7, 8}, 2)
	plane.Equations = 2
	for name, test := range map[string]struct {
		samples   Samples
		shape     []int
		csv, json string
	}{
		"line": {line, []int{2, 3}, "equation,draw,x\n0,0,1\n0,1,2\n0,2,3\n1,0,4\n1,1,5\n1,2,6\n", "{\"x\": [[1,2,3],\n[4,5,6]]}\n"},
		"plane": {
			plane, []int{2, 2, 2}, "equation,draw,x,y\n0,0,1,2\n0,1,3,4\n1,0,5,6\n1,1,7,8\n",
			"{\"x\": [[1,3],\n[5,7]],\n \"y\": [[2,4],\n[6,8]]}\n",
		},
	} {
		if got := test.samples.Shape(); !slices.Equal(got, test.shape) {
			t.Errorf("%s: shape %v, want %v", name, got, test.shape)
		}
		for suffix, want := range map[string]string{".csv": test.csv, ".json": test.json} {
			path := filepath.Join(t.TempDir(), "x"+suffix)
			if _, err := Write(context.Background(), path, test.samples); err != nil {
				t.Fatal(err)
			}
			if got, err := os.ReadFile(path); err != nil || strings.Join(strings.Fields(string(got)), "") != strings.Join(strings.Fields(want), "") {
				t.Errorf("%s%s: %q, want %q", name, suffix, got, want)
			}
		}
		for _, suffix := range []string{".npy", ".npz", ".parquet"} {
			if _, err := Write(context.Background(), filepath.Join(t.TempDir(), "x"+suffix), test.samples); err != nil {
				t.Errorf("%s%s: %v", name, suffix, err)
			}
		}
	}
	line.Equations = 4
	if _, err := Write(context.Background(), filepath.Join(t.TempDir(), "x.npy"), line); err == nil {
		t.Error("6 samples of 4 equations are written")
	}
}
