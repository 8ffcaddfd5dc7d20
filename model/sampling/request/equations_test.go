package request

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/ergoflow/ergoflow/data/equations/expression"
)

func TestReadEquations(t *testing.T) {
	dir := t.TempDir()
	read := func(name, text string) ([]Request, error) {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return ReadEquations(path)
	}
	line := Request{Drift: []string{"-k*x"}, Diffusion: []string{"max(1, x)"}, Parameters: expression.Parameters{"k": 2}}
	for name, test := range map[string]struct {
		text string
		want []Request
	}{
		"a.csv":  {"drift,k,diffusion\n-k*x, 2, \"max(1, x)\"\n", []Request{line}},
		"a.json": {`[{"drift": "-k*x", "diffusion": "max(1, x)", "params": {"k": 2}}, {"function": 7}]`, []Request{line, {Function: 7}}},
		"b.json": {`[{"drift": ["-x", "-y"], "diffusion": ["1"]}]`, []Request{{Drift: []string{"-x", "-y"}, Diffusion: []string{"1"}}}},
	} {
		got, err := read(name, test.text)
		if err != nil || !reflect.DeepEqual(got, test.want) {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
	for name, text := range map[string]string{
		"empty.csv": "", "header.csv": "drift,diffusion\n", "columns.csv": "b,sigma\n-x,1\n", "ragged.csv": "drift,diffusion\n-x\n",
		"parameter.csv": "drift,diffusion,k\n-k*x,1,two\n", "infinite.csv": "drift,diffusion,k\n-k*x,1,inf\n",
		"list.json": `{"drift": "-x"}`, "none.json": `[]`, "missing.json": `[{"drift": "-x"}]`, "both.json": `[{"drift": "-x", "diffusion": "1", "function": 3}]`,
		"unknown.json": `[{"drift": "-x", "diffusion": "1", "sigma": 3}]`, "number.json": `[{"drift": 3, "diffusion": "1"}]`,
		"nested.json": strings.Repeat("[", 100_000), "x.txt": "-x 1",
	} {
		if _, err := read(name, text); !errors.Is(err, ErrEquations) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
