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

// said are the paths of a configuration that are not to be said path by path.
var said = []string{
	// Labels, seeds, and how the work is divided up.
	"name", "preset", "seed", "data.seed", "data.shards", "data.held_out", "data.held_out_from",
	"training.micro_batch", "training.wire", "training.reproducible", "training.checkpoint_every",
	"evaluation.mcmc", // rows with notes of their own
	// Sizes.
	"data.functions", "data.samples", "data.training.chains", "data.training.burn_in", "data.training.thin",
	"data.reference.chains", "data.reference.burn_in", "data.reference.thin",
	"training.batch_functions", "training.batch_samples", "training.epochs", "training.steps",
	"model.sensor.sensors", "model.sensor.steps",
	"evaluation.functions", "evaluation.samples", "evaluation.sensors",
	// Choices.
	"data.family", "data.draws", "data.training.dt", "data.reference.dt", "model.deeponet.fields",
	"training.coupling", "training.learning_rate", "training.weight_decay", "training.clip_norm", "training.times", "training.precision",
	"evaluation.solver",
}

// counted are the fields of networks that the number of parameters speaks for.
var counted = []string{
	"rank", "channels", "kernel", "hidden", "trunk_width", "trunk_depth", "time_embedding", "state_embedding",
	"features", "width", "latents", "encoder_blocks", "feed_forward", "dimension", "particle_dim", "decoder_width", "decoder_blocks",
}

// otherwise is whatever else e has otherwise than full, as "path value instead of
// value", so that a setting that has no name here is not kept back.
func otherwise(e, full experiment.Experiment) []string {
	resized := e.Velocity().Layout().Size() != full.Velocity().Layout().Size()
	all := e.StoredReference() == e.Evaluation.Samples // which are said
	ours, theirs := flat(e), flat(full)
	paths := maps.Clone(ours)
	maps.Copy(paths, theirs)
	var rest []string
	for _, path := range slices.Sorted(maps.Keys(paths)) {
		field := path[strings.LastIndex(path, ".")+1:]
		switch {
		case ours[path] == theirs[path]:
		case slices.Contains(said, path):
		case resized && strings.HasPrefix(path, "model.") && slices.Contains(counted, field):
		case all && path == "data.reference_samples":
		default:
			rest = append(rest, fmt.Sprintf("%s %s instead of %s", path, cmp.Or(ours[path], "none"), cmp.Or(theirs[path], "none")))
		}
	}
	return rest
}

// explicit has in words what a configuration may leave out, where that says the same.
func explicit(e experiment.Experiment) experiment.Experiment {
	d := &e.Data
	d.ReferenceDraws = cmp.Or(d.ReferenceDraws, data.Simulated)
	d.Training.Start, d.Reference.Start = cmp.Or(d.Training.Start, 1), cmp.Or(d.Reference.Start, 1)
	return e
}

// flat are the values of a configuration by their dotted paths, as JSON has them.
func flat(e experiment.Experiment) map[string]string {
	raw, err := json.Marshal(explicit(e))
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
