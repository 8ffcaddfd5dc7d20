package retraining

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"github.com/ergoflow/ergoflow/model/experiment"
)

// inputs is one hash of what a retraining learns from, and how: the experiment with its
// family, its window of data and the imports in it, and how training starts. The versions of
// formats in the experiment's hash stand for the product: they change when results do.
func inputs(cold experiment.Experiment, start Start) string {
	raw, err := json.Marshal(struct {
		Run   string
		Start Start
	}{cold.Hash(), start})
	if err != nil {
		panic(fmt.Sprintf("retraining: hash of an unvalidated configuration: %v", err))
	}
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:16])
}
