package evaluate

import (
	"testing"

	"github.com/ergoflow/ergoflow/data/equations/family"
	"github.com/ergoflow/ergoflow/data/random"
)

// Exact draws of functions are good, moved ones are not; ten samples are not judged, and neither
// are laws at a time.
func TestCertify(t *testing.T) {
	f, err := family.ByName("vn1d")
	if err != nil {
		t.Fatal(err)
	}
	held, samples := make([]heldOutFunction, 9), make([][]float32, 9)
	for i := range held {
		held[i].index = i
		if held[i].function, err = f.Function(1, i); err != nil {
			t.Fatal(err)
		}
		law, err := f.(family.KnownLaw).Law(1, i)
		if err != nil {
			t.Fatal(err)
		}
		samples[i] = make([]float32, 4096)
		law.Sample(samples[i], random.New(1, "evaluate/certify", uint64(i)))
		switch {
		case i >= 7:
			samples[i] = samples[i][:10]
		case i >= 4:
			for k := range samples[i] {
				samples[i][k] += 3
			}
		}
	}
	v, err := certify(t.Context(), f, 1, held, samples)
	if err != nil || *v != (Verdicts{Good: 4, Refused: 3, NotJudged: 2}) {
		t.Errorf("%+v, %v", v, err)
	}
	if got, want := v.note("model"), "Certificates of the samples of model, as `ergoflow sample` gives them, for 9 functions: 4 good, 0 to be used with care, 3 not to be used, 2 not judged."; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	timed, err := family.ByName("vn1d_time")
	if err != nil {
		t.Fatal(err)
	}
	if v, err := certify(t.Context(), timed, 1, held, samples); v != nil || err != nil {
		t.Errorf("laws at a time: %+v, %v", v, err)
	}
}
