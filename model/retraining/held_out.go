package retraining

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/ergoflow/ergoflow/data"
	"github.com/ergoflow/ergoflow/data/simulation/simulate"
)

// ErrHeldOut means that a model's versions were judged on other held-out functions.
var ErrHeldOut = errors.New("the held-out functions are not those of the model")

// heldOut is one hash of the functions that versions of a model are judged on, with their
// reference samples. It is frozen by the model's first version: versions that were judged on
// different functions could not be compared, and a new one might have learned from what an
// old one was judged on.
func heldOut(d data.Dataset) string {
	first, count := d.ShardRange(d.HeldOutShard())
	raw, err := json.Marshal(struct {
		Family       string
		Seed         uint64
		First, Count int
		Samples      int
		Reference    simulate.Scheme
		Draws        data.Draws
	}{d.Family, d.Seed, first, count, d.StoredReference(), d.Reference, d.ReferenceDraws})
	if err != nil {
		panic(fmt.Sprintf("retraining: hash of an unvalidated data set: %v", err))
	}
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:16])
}

// holdsOut checks that a data set holds out what the model's versions were judged on.
func (k known) holdsOut(d data.Dataset) error {
	if k.last == nil || k.last.HeldOut == "" || k.last.HeldOut == heldOut(d) {
		return nil
	}
	return fmt.Errorf("%w %s: give the retraining another name, or the seed, functions and held_out of version %d", ErrHeldOut, k.last.Model, k.last.Number)
}
