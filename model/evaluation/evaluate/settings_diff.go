package evaluate

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ergoflow/ergoflow/data"
	"github.com/ergoflow/ergoflow/model/experiment"
)

// ignoredPaths are the paths of settings that do not change what a table shows: labels,
// seeds, how work is divided.
var ignoredPaths = []string{
	"name", "preset", "seed", "data.seed", "data.shards", "data.held_out", "data.held_out_from",
	"training.micro_batch", "training.wire", "training.reproducible", "training.checkpoint_every",
	"training.epochs",                // the note has the steps
	"evaluation.mcmc",                // rows with notes of their own
	"probes.sensors", "probes.steps", // named as those of a network with sensors
}

// namedPaths are the paths of settings that a note calls by a name.
func namedPaths(e experiment.Experiment) (paths []string) {
	for _, s := range sizes(e) {
		paths = append(paths, s.path)
	}
	for _, c := range choices(e) {
		paths = append(paths, c.path)
	}
	return paths
}

// sizeFields are the fields of networks that only change the number of parameters,
// which the note has.
var sizeFields = []string{
	"rank", "channels", "kernel", "hidden", "trunk_width", "trunk_depth", "time_embedding", "state_embedding",
	"features", "width", "latents", "encoder_blocks", "feed_forward", "dimension", "particle_dim", "decoder_width", "decoder_blocks",
}

// settingsDiff lists all other settings in which e differs from full, as "path value
// instead of value", so that a note hides no setting for which it has no name.
func settingsDiff(e, full experiment.Experiment) []string {
	resized := e.Velocity().Layout().Size() != full.Velocity().Layout().Size()
	other := architecture(e) != architecture(full)
	usesAll := e.Data.StoredReference() == e.Evaluation.Samples // of which the note has the number
	known := slices.Concat(ignoredPaths, namedPaths(e))
	ours, theirs := valuesByPath(e), valuesByPath(full)
	paths := maps.Clone(ours)
	maps.Copy(paths, theirs)
	var rest []string
	for _, path := range slices.Sorted(maps.Keys(paths)) {
		field := path[strings.LastIndex(path, ".")+1:]
		switch {
		case ours[path] == theirs[path]:
		case slices.Contains(known, path):
		case resized && strings.HasPrefix(path, "model.") && slices.Contains(sizeFields, field):
		case other && strings.HasPrefix(path, "model."):
		case usesAll && path == "data.reference_samples":
		default:
			rest = append(rest, fmt.Sprintf("%s %s instead of %s", path, cmp.Or(ours[path], "none"), cmp.Or(theirs[path], "none")))
		}
	}
	return rest
}

// withDefaults fills in the defaults of optional fields, so that a default compares
// equal to the same value written out.
func withDefaults(e experiment.Experiment) experiment.Experiment {
	d := &e.Data
	d.ReferenceDraws = cmp.Or(d.ReferenceDraws, data.Simulated)
	d.Training.Start, d.Reference.Start = cmp.Or(d.Training.Start, "1"), cmp.Or(d.Reference.Start, "1")
	return e
}

// valuesByPath has the values of a configuration by their dotted paths, as in JSON.
func valuesByPath(e experiment.Experiment) map[string]string {
	raw, err := json.Marshal(withDefaults(e))
	if err != nil {
		panic(fmt.Sprintf("evaluate: note on an unvalidated configuration: %v", err))
	}
	values := map[string]string{}
	flatten(values, "", raw)
	return values
}

func flatten(values map[string]string, path string, raw json.RawMessage) {
	var fields map[string]json.RawMessage
	if !bytes.HasPrefix(raw, []byte("{")) || json.Unmarshal(raw, &fields) != nil {
		values[path] = strings.Trim(string(raw), `"`)
		return
	}
	for name, field := range fields {
		flatten(values, strings.TrimPrefix(path+"."+name, "."), field)
	}
}
