package reproduce

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A loss that is not finite is stored as null, with a warning, and comes back as NaN.
func TestStoredNumberThatIsNotFinite(t *testing.T) {
	d := Directory(t.TempDir())
	if err := d.writeTraining(TrainingRecord{Run: "r", Loss: math.Inf(1)}); err != nil {
		t.Fatal(err)
	}
	stored, err := os.ReadFile(filepath.Join(d.run("r"), "training.json"))
	if err != nil || !strings.Contains(string(stored), `"loss": null`) || !strings.Contains(string(stored), "loss is +Inf") {
		t.Errorf("%s (%v)", stored, err)
	}
	if got, err := d.training("r"); err != nil || !math.IsNaN(got.Loss) || got.Run != "r" {
		t.Errorf("%+v (%v)", got, err)
	}
}
