package experiment_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/ergoflow/ergoflow/model/experiment"
)

const (
	wells  = `{"name":"wells","dim":2,"box":[-3,3],"parameters":{"a":"uniform(1, 2)"},"drift":"a*x - x^3","diffusion":"1"}`
	turned = `{"name":"turned","dim":2,"box":[[-2,2],[0,9]],"drift":["x1 - x0","-x0 - x1"],"diffusion":["0","1"]}`
	both   = `{"name":"both","dim":2,"mixture":[{"family":` + wells + `,"weight":1},{"family":` + turned + `,"weight":2}]}`
)

// A trained network is evaluated on the same numbers of another family, whose chains start in that
// family's box. What a user chose stays.
func TestTransferred(t *testing.T) {
	e := load(t, "anyd", "data.family='"+both+"'", "data.held_out_from=900")
	if e.Data.Training.Start != "box" || e.Evaluation.MCMC[0].Scheme.Start != "box" {
		t.Errorf("chains of a mixture start from %q and %q", e.Data.Training.Start, e.Evaluation.MCMC[0].Scheme.Start)
	}
	own := e.Data.Family
	other, err := e.Transferred(turned, ".")
	if err != nil {
		t.Fatal(err)
	}
	const start = "uniform(-1, 1); uniform(2.25, 6.75)"
	if d := other.Data; d.Family == own || d.HeldOutFrom != 900 || d.Reference.Start != start || other.Evaluation.MCMC[0].Scheme.Start != start {
		t.Errorf("held out from %d, start %q", d.HeldOutFrom, d.Reference.Start)
	}
	if e.Data.Family != own || e.Evaluation.MCMC[0].Scheme.Start != "box" {
		t.Error("the experiment itself has changed")
	}
	same, err := e.Transferred(both, ".")
	if err != nil || same.Hash() != e.Hash() || same.Data.Hash() != e.Data.Hash() {
		t.Errorf("to its own family: %v, run %s, not %s", err, same.Hash(), e.Hash())
	}
	chosen := load(t, "anyd", "data.family='"+both+"'", "data.reference.start='normal(1, 2)'")
	if other, err = chosen.Transferred(wells, "."); err != nil || other.Data.Reference.Start != "normal(1, 2)" {
		t.Errorf("a start of the user's became %q, %v", other.Data.Reference.Start, err)
	}
	for family, want := range map[string]string{
		strings.Replace(wells, `"dim":2`, `"dim":3`, 1):                                                 "tensor",
		`{"name":"line","dim":2,"grid":{"lo":-1,"hi":1,"nodes":8},"drift":["-x","-y"],"diffusion":"1"}`: "no box",
		"vn1d": "no box",
	} {
		if _, err := e.Transferred(family, "."); !errors.Is(err, experiment.ErrTransfer) || !strings.Contains(fmt.Sprint(err), want) {
			t.Errorf("%.40s: %v", family, err)
		}
	}
	if _, err := e.Transferred("nowhere.yaml", t.TempDir()); err == nil {
		t.Error("a file that does not exist was read")
	}
	if _, err := e.Transferred("nothing", "."); err == nil {
		t.Error("a name that does not exist was found")
	}
}

// A network of a mixture can begin a run on a component's family, or on another one: none of their
// functions are the mixture's.
func TestStartFromMixture(t *testing.T) {
	_, encoded := trained(t, load(t, "anyd", "data.family='"+both+"'"))
	for _, family := range []string{wells, turned, strings.Replace(wells, "x^3", "x^5", 1)} {
		if _, _, err := load(t, "anyd", "data.family='"+family+"'", "data.functions=64").StartFrom(encoded); err != nil {
			t.Errorf("%.30s: %v", family, err)
		}
	}
}
