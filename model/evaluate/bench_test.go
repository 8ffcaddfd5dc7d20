package evaluate

import (
	"context"
	"testing"
	"time"

	"github.com/ergoflow/ergoflow/data/family"
	"github.com/ergoflow/ergoflow/model/experiment"
)

func TestCostX(t *testing.T) {
	e, _ := experiment.ByName("vn1d", "demo")
	f, _ := family.ByName("vn1d")
	var fs []function
	for i := range 6 {
		c, err := f.Coefficients(1, i)
		if err != nil {
			t.Fatal(err)
		}
		l, _ := f.Law(1, i)
		ref := make([]float32, 4096)
		if err := f.Sample(context.Background(), ref, 1, i, e.Data.Reference, "reference"); err != nil {
			t.Fatal(err)
		}
		fs = append(fs, function{i, c, ref, l})
	}
	b, a := baselines(e, f, fs)
	for _, m := range append(b, a...) {
		s0 := time.Now()
		s, _, err := m.draw(context.Background(), nil)
		if err != nil {
			t.Fatal(err)
		}
		s1 := time.Now()
		rows, err := judge(context.Background(), e.Evaluation, fs, s, func(int, int) {})
		if err != nil {
			t.Fatal(err)
		}
		t.Log(m.row.Name, s1.Sub(s0), time.Since(s1)/6)
		for _, r := range rows {
			t.Logf("%+v", r)
		}
	}
}
