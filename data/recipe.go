package data

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/ergoflow/ergoflow/data/equations/family"
	"github.com/ergoflow/ergoflow/data/sets/shard"
	"github.com/ergoflow/ergoflow/data/simulation/simulate"
)

// processor stands for all engines of processors, which make the same samples.
const processor = "processor"

// recipe names what the fields and samples of a function of that purpose depend on besides
// its number: 32 hexadecimal digits. simulator is the name of the one that simulates, and
// does not enter where there is nothing to simulate.
func (d Dataset) recipe(purpose string, f family.Family, simulator string) string {
	spec, stored := d.SampleSpec(purpose, 0, 0), d.Samples
	if purpose != shard.Train {
		stored = d.StoredReference()
	}
	if slices.Contains([]string{"go", "avx2", "avx512"}, simulator) {
		simulator = processor
	}
	if _, draws := f.(family.Sampler); draws || spec.Exact {
		spec.Scheme, simulator = simulate.Scheme{}, ""
	}
	canonical, err := json.Marshal(struct {
		Format    int             `json:"format"`
		Family    string          `json:"family"`
		Seed      uint64          `json:"seed"`
		Purpose   string          `json:"purpose"`
		Samples   int             `json:"samples"`
		Exact     bool            `json:"exact"`
		Scheme    simulate.Scheme `json:"scheme"`
		Simulator string          `json:"simulator"`
	}{format, d.Family, d.Seed, purpose, stored, spec.Exact, spec.Scheme, simulator})
	if err != nil { // only numbers that JSON lacks, which Resolve refuses
		panic(fmt.Sprintf("data: recipe of an invalid description: %v", err))
	}
	sum := sha256.Sum256(canonical)
	return hex.EncodeToString(sum[:16])
}

// recipeOf is the recipe of a shard's functions. Shards of older builds do not say it: their
// recipe is known where they belong to the data set from which d has grown.
func (d Dataset) recipeOf(m shard.Manifest, f family.Family) string {
	if m.Recipe != "" {
		return m.Recipe
	}
	for _, earlier := range d.earlier() {
		if earlier.Hash() == m.Dataset {
			return earlier.recipe(m.Purpose, f, m.Simulator)
		}
	}
	return ""
}

// earlier are descriptions from which Window may have made d: with the first functions of the
// sequence, as many as now or as there are before the held-out ones, in as many shards or in
// shards of as many functions.
func (d Dataset) earlier() []Dataset {
	share := d.Functions / d.Shards
	d.First, d.Imports = 0, nil
	all := []Dataset{d}
	d.Functions = d.firstHeldOut()
	for _, shards := range []int{d.Shards, d.Functions / share} {
		if d.Shards = shards; shards > 0 && d.Functions%shards == 0 {
			all = append(all, d)
		}
	}
	return all
}
