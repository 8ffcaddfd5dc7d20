package figures

import (
	"bytes"
	"encoding/csv"
	"slices"
	"strconv"
	"testing"

	"github.com/ergoflow/ergoflow/model/evaluation/evaluate"
	"github.com/ergoflow/ergoflow/model/report/reporttest"
)

// The figure of calibration has a panel for every number that is ranked, and its data are the
// distribution function of the ranks and the band. It is not there without ranks.
func TestCalibration(t *testing.T) {
	r, data := reporttest.Results(t), reporttest.FigureData()
	names, _ := drawAll(t, r, data)
	if slices.Contains(names, "calibration") {
		t.Error("a figure without ranks")
	}
	ranks := make([]int, 40)
	for i := range ranks {
		ranks[i] = i % 10 // of 20 draws: far too small
	}
	for i := range r.Rows {
		if r.Rows[i].Kind == evaluate.Model {
			r.Rows[i].Calibration = []evaluate.Calibration{{Of: "x", Draws: 20, Ranks: ranks}, {Of: "tarp", Draws: 20, Ranks: ranks}}
		}
	}
	names, csvs := drawAll(t, r, data)
	if !slices.Contains(names, "calibration") {
		t.Fatalf("figures %q", names)
	}
	all := csvs["calibration"]
	if len(all) != 1+2*20 {
		t.Fatalf("%d lines", len(all))
	}
	outside := 0
	for _, l := range all[1:21] {
		var v [4]float64
		for k := range v {
			var err error
			if v[k], err = strconv.ParseFloat(l[1+k], 64); err != nil {
				t.Fatal(err)
			}
		}
		if l[0] != "x" || v[2] > v[0] || v[3] < v[0] {
			t.Errorf("%q: the band does not contain the diagonal", l)
		}
		if v[1] > v[3] {
			outside++
		}
	}
	if outside < 5 {
		t.Errorf("%d points are above the band", outside)
	}
	d, follows, err := Redraw(r, "calibration")
	if err != nil || !follows {
		t.Fatal(follows, err)
	}
	if lines, err := csv.NewReader(bytes.NewReader(d.CSV)).ReadAll(); err != nil || len(lines) != len(all) {
		t.Errorf("%d lines drawn again, %v", len(lines), err)
	}
}
