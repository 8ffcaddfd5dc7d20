package registry

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/ergoflow/ergoflow/data/simulation/simulate"
)

// configured is what a card says of the experiment's configuration. What a configuration of
// another build lacks is zero and left out.
type configured struct {
	Name, Preset string
	Seed         uint64
	Data         struct {
		Family             string
		Functions, Samples int
		Seed               uint64
		Draws              string
		Training           struct {
			DT         float64
			BurnIn     int `json:"burn_in"`
			Chains     int
			Integrator simulate.Integrator
			Tempering  simulate.Tempering
		}
	}
}

// Card is the model card of a version, in Markdown: what it was trained on, how it was
// judged, where it ends, and how to use it.
func (v Version) Card() string {
	var c configured
	if err := json.Unmarshal(v.Config, &c); err != nil {
		c = configured{} // the card says nothing of it
	}
	var b strings.Builder
	line := func(text string, args ...any) { fmt.Fprintf(&b, text+"\n", args...) }
	line("# %s, version %d\n", v.Model, v.Number)
	line("A network that samples the invariant measure of a stochastic differential equation dX = b(X)dt + σ(X)dW, given the equation, without simulation. Made by ergoflow %s.\n", v.Build)
	v.cardTraining(line, c)
	v.cardJudgement(line)
	v.cardLimits(line, c)
	line("## Use\n")
	line("With ergoflow: `ergoflow sample --checkpoint %s --function 0 -o x.npy`, or `ergoflow models import . --registry DIR`.\n", WeightsFile)
	line("In Python, with numpy and safetensors alone:\n")
	line("```python\nimport json\nfrom safetensors import safe_open\n")
	line("with safe_open(%q, framework=\"numpy\") as f:", WeightsFile)
	line("    config = json.loads(f.metadata()[\"config\"])          # the whole experiment")
	line("    normalisation = json.loads(f.metadata()[\"normalisation\"])  # of the network's inputs")
	line("    parameters = {k.removeprefix(\"parameters/\"): f.get_tensor(k) for k in f.keys() if k.startswith(\"parameters/\")}\n```\n")
	line("`%s` is the whole training state, %d bytes, SHA-256 `%s`: parameters, moments of the optimizer and losses, so that training can continue. `%s` has all that this card says, and more, as JSON.", WeightsFile, v.Weights.Bytes, v.Weights.SHA256, VersionFile)
	return b.String()
}

func (v Version) cardTraining(line func(string, ...any), c configured) {
	line("## Trained on\n")
	if c.Name != "" {
		line("- Experiment: %s", code(strings.Trim(c.Name+"/"+c.Preset, "/")))
	}
	if c.Data.Family != "" {
		line("- Family of equations: %s", code(c.Data.Family))
	}
	if c.Data.Functions > 0 {
		line("- Data: %d equations with %d samples each, seed %d", c.Data.Functions, c.Data.Samples, c.Data.Seed)
	}
	switch t := c.Data.Training; {
	case c.Data.Draws == "exact":
		line("- Samples: independent draws from the exact law")
	case t.DT > 0:
		tempered := ""
		if t.Tempering.On() {
			tempered = fmt.Sprintf(" at %v", t.Tempering)
		}
		line("- Samples: %d %s chains an equation%s, time step %g, %d steps of burn-in", t.Chains, t.Integrator.Title(), tempered, t.DT, t.BurnIn)
	}
	if v.Dataset != "" {
		line("- Data set: %s", code(v.Dataset))
	}
	if n := len(v.Imports); n > 0 {
		line("- Imported samples: %d sets, by their hashes %s", n, code(strings.Join(v.Imports, " ")))
	}
	if v.Parent > 0 {
		line("- Started from version %d", v.Parent)
	}
	line("- Steps: %d", v.Step)
	for _, name := range slices.Sorted(maps.Keys(v.Seeds)) {
		line("- Seed of %s: %d", name, v.Seeds[name])
	}
	if v.Run != "" {
		line("- Run: %s", code(v.Run))
	}
	line("- Added: %s%s\n", v.Created.Format(time.RFC3339), prefixed(" by ", v.By))
}

func (v Version) cardJudgement(line func(string, ...any)) {
	line("## Judged\n")
	if len(v.Metrics) == 0 {
		line("It was not judged: nothing is known of how good it is.\n")
	} else {
		heldOut := ""
		if v.HeldOut != "" {
			heldOut = " (hash " + code(v.HeldOut) + ")"
		}
		line("On equations of the same family that it was not trained on%s. Lower is better.\n", heldOut)
		line("| metric | mean | interval | equations |\n|---|---|---|---|")
		for _, name := range slices.Sorted(maps.Keys(v.Metrics)) {
			m := v.Metrics[name]
			interval, equations := "", ""
			if m.Low != m.Value || m.High != m.Value {
				interval = fmt.Sprintf("%.4g … %.4g%s", m.Low, m.High, level(m.Level))
			}
			if m.Functions > 0 {
				equations = fmt.Sprint(m.Functions)
			}
			line("| %s | %.4g | %s | %s |", name, m.Value, interval, equations)
		}
		line("")
	}
	if v.Decision != "" {
		line("Decision of the gate: %s.\n", v.Decision)
	}
	for _, reason := range v.Reasons {
		line("- %s", oneLine(reason))
	}
	if len(v.Reasons) > 0 {
		line("")
	}
}

func (v Version) cardLimits(line func(string, ...any), c configured) {
	line("## Limits\n")
	line("- It knows equations like those of its family%s. Of others its samples may be wrong; `ergoflow sample` warns of many of them, not of all.", prefixed(" ", code(c.Data.Family)))
	line("- It samples the law that its training samples have. What their simulation got wrong, as by its time step or by chains that did not mix, it has learned.")
	line("- The metrics are means over equations. Of a single equation it can be much worse.")
	line("- Rare events and tails beyond the training samples are extrapolated.\n")
}

func code(text string) string {
	if text == "" {
		return ""
	}
	return "`" + strings.ReplaceAll(oneLine(text), "`", "'") + "`"
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

func prefixed(before, text string) string {
	if text == "" {
		return ""
	}
	return before + text
}

func level(x float64) string {
	if x == 0 {
		return ""
	}
	return fmt.Sprintf(" (%g %%)", 100*x)
}
