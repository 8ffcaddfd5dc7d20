package experiment

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"github.com/ergoflow/ergoflow/data/simulation/simulate"
	"github.com/ergoflow/ergoflow/internal/yamltext"
)

func write(t *testing.T, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "experiment.yaml")
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestLayers(t *testing.T) {
	path := write(t, `
name: vn1d
preset: smoke
seed: 7
training:
  learning_rate: 0.002
  batch_samples: 32
evaluation:
  solver: dopri5
  mcmc: []
`)
	e, err := Load("", "", path, []string{"training.batch_samples=64", "data.reference.chains=32", "model.deeponet.channels=[2, 3]"})
	if err != nil {
		t.Fatal(err)
	}
	want, err := ByName("vn1d", "smoke")
	if err != nil {
		t.Fatal(err)
	}
	want.Seed = 7
	want.Training.LearningRate = 0.002
	want.Training.BatchSamples = 64 // the setting wins over the file
	want.Data.Reference.Chains = 32 // its neighbours keep the preset's values
	want.Model.DeepONet.Channels = []int{2, 3}
	want.Evaluation.Solver = "dopri5"
	want.Evaluation.MCMC = []MCMC{}
	if !reflect.DeepEqual(e, want) {
		t.Errorf("got  %+v\nwant %+v", e, want)
	}
}

func TestFileAddsNothingWhenEmpty(t *testing.T) {
	for _, content := range []string{"", "\n", "# only a comment\n"} {
		e, err := Load("rare1d", "smoke", write(t, content), nil)
		if err != nil {
			t.Fatalf("%q: %v", content, err)
		}
		if want, _ := ByName("rare1d", "smoke"); !reflect.DeepEqual(e, want) {
			t.Errorf("%q: got %+v, want %+v", content, e, want)
		}
	}
}

// Errors shorten long settings, and name no Go types.
func TestShortErrors(t *testing.T) {
	long := strings.Repeat("ab", 10000)
	for _, setting := range []string{long, long + "=1", "training.epochs=" + long, "training.sensors=[" + long, "training.coupling=" + long,
		"training.epochs=" + strings.Repeat("1", 10000) + ".5", "training.sensors={a: [" + long + "]}", "training." + long + "=1"} {
		_, err := Load("vn1d", "smoke", "", []string{setting})
		if err == nil || len(err.Error()) > 500 {
			t.Errorf("%.40s…: error of %d bytes: %.200v", setting, len(fmt.Sprint(err)), err)
		}
	}
	_, err := Load("vn1d", "smoke", write(t, "training: {epochs: [1], coupling: "+long+"}"), nil)
	if err == nil || len(err.Error()) > 500 || !strings.Contains(err.Error(), "[1:20] list instead of whole number") {
		t.Errorf("a long line: %.200v", err)
	}
}

// A section that is set as a whole keeps the fields that it does not mention, as in a file.
func TestSetSection(t *testing.T) {
	e, err := Load("cn2d", "smoke", "", []string{"probes={kind: walk}"})
	if err != nil {
		t.Fatal(err)
	}
	preset, _ := ByName("cn2d", "smoke")
	if e.Probes.Kind != "walk" || e.Probes.DT != preset.Probes.DT {
		t.Errorf("probes are %+v", *e.Probes)
	}
}

const farAway = `
name: far
dim: 1
grid: {lo: 990, hi: 1010, nodes: 64}
parameters: {a: "uniform(1, 2)"}
drift: -a*(x - 1000)
diffusion: 1
`

// A start is written in a file as a law, a list of laws or a deviation. A family far from 0
// has its default in the configuration.
func TestStarts(t *testing.T) {
	far := "data: {family: " + write(t, farAway) + "}"
	for _, c := range []struct {
		experiment, yaml string
		sets             []string
		training, row    simulate.Start
	}{
		{"vn1d", "data: {training: {start: \"normal(3, 2)\"}}", nil, "normal(3, 2)", ""},
		{"vn1d", "", []string{"data.training.start=uniform(1, 2)"}, "uniform(1, 2)", ""},
		{"vn1d", "", []string{"data.training.start=0"}, "", ""},
		{"cn2d", "data: {training: {start: [\"normal(3, 2)\", \"normal(0, 1)\"]}}", nil, "normal(3, 2); normal(0, 1)", ""},
		{"particles64d", "", nil, "1.5", "1.5"},
		{"vn1d", far, nil, "normal(1000, 2)", "normal(1000, 2)"},
		{"vn1d", far, []string{"data.training.start=normal(999, 1)"}, "normal(999, 1)", "normal(1000, 2)"},
	} {
		e, err := Load(c.experiment, "smoke", write(t, c.yaml), c.sets)
		if err != nil {
			t.Fatalf("%s %v: %v", c.yaml, c.sets, err)
		}
		if e.Data.Training.Start != c.training || len(e.Evaluation.MCMC) > 0 && e.Evaluation.MCMC[0].Scheme.Start != c.row {
			t.Errorf("%s %v: training starts from %q, rows are %+v", c.yaml, c.sets, e.Data.Training.Start, e.Evaluation.MCMC)
		}
	}
}

// A row of chains that cannot reach the family is warned of, where the data are exact draws.
func TestRowsFarAway(t *testing.T) {
	e, err := Load("vn1d", "smoke", "", []string{
		"data.family=" + write(t, farAway),
		"data.draws=exact", "data.reference_draws=exact",
	})
	if err != nil {
		t.Fatal(err)
	}
	warnings, err := e.PilotRun(t.Context())
	if err != nil || len(warnings) != 1 || !strings.Contains(warnings[0], "evaluation.mcmc[0].scheme.start") {
		t.Errorf("warnings %q, error %v", warnings, err)
	}
}

func TestBadInput(t *testing.T) {
	for name, tt := range map[string]struct {
		experiment, preset string
		yaml               string
		sets               []string
		want               []string // all in the message
	}{
		"unknown experiment":   {experiment: "vn2d", want: []string{`"vn2d"`, "rare1d, vn1d"}},
		"no experiment":        {want: []string{`unknown experiment ""`, "rare1d, vn1d"}},
		"unknown preset":       {experiment: "vn1d", preset: "huge", want: []string{`"huge"`, "demo, full, scaled, smoke"}},
		"unknown field":        {experiment: "vn1d", yaml: "training:\n  learnig_rate: 1\n", want: []string{"[2:3]", "learnig_rate", "^"}},
		"start of a number":    {experiment: "vn1d", sets: []string{"data.training.start=constant(3, 2)"}, want: []string{"data.training: start", "constant", "uniform or normal"}},
		"start of a section":   {experiment: "vn1d", yaml: "data: {training: {start: {a: 1}}}", want: []string{"want a deviation, a law"}},
		"unknown section":      {experiment: "vn1d", yaml: "\noptimizer: {}\n", want: []string{"[2:1]", "optimizer"}},
		"malformed":            {experiment: "vn1d", yaml: "training:\n  epochs: [1\nseed: 2\n", want: []string{"experiment.yaml", "[", "^"}},
		"bad indentation":      {experiment: "vn1d", yaml: "training:\n  epochs: 1\n epochs: 2\n", want: []string{"[3:", "^"}},
		"tab":                  {experiment: "vn1d", yaml: "training:\n\tepochs: 1\n", want: []string{"[2:1]", "^"}},
		"duplicate":            {experiment: "vn1d", yaml: "seed: 1\nseed: 2\n", want: []string{"[2:1]", "seed"}},
		"text for a number":    {experiment: "vn1d", yaml: "training:\n  epochs: many\n", want: []string{"[2:11]", "^"}},
		"fraction":             {experiment: "vn1d", yaml: "training:\n  epochs: 1.5\n", want: []string{"[2:11]"}},
		"fraction in a list":   {experiment: "vn1d", yaml: "model:\n  deeponet:\n    channels: [8, 8.5]\n", want: []string{"[3:19]", "8.5"}},
		"too large a number":   {experiment: "vn1d", yaml: "seed: 18446744073709551616\n", want: []string{"[1:7]", "18446744073709551616 is too large"}},
		"set too large a one":  {experiment: "vn1d", sets: []string{"training.steps=1e19"}, want: []string{"training.steps", "1e19 is too large"}},
		"set a fraction":       {experiment: "vn1d", sets: []string{"training.epochs=1.5"}, want: []string{"training.epochs", "1.5"}},
		"two documents":        {experiment: "vn1d", yaml: "seed: 1\n---\nseed: 2\n", want: []string{"documents"}},
		"negative seed":        {experiment: "vn1d", yaml: "seed: -1\n", want: []string{"[1:7]"}},
		"list at the top":      {experiment: "vn1d", yaml: "- 1\n- 2\n", want: []string{"experiment.yaml", "[1:"}},
		"disagreeing name":     {experiment: "vn1d", yaml: "name: rare1d\n", want: []string{"name", "rare1d", "vn1d"}},
		"disagreeing preset":   {experiment: "vn1d", preset: "full", yaml: "preset: smoke\n", want: []string{"preset", "smoke", "full"}},
		"NaN in the file":      {experiment: "vn1d", yaml: "training: {learning_rate: .nan}\n", want: []string{"training.learning_rate", "NaN", "1e-12 to 1"}},
		"infinity":             {experiment: "vn1d", yaml: "training: {clip_norm: .inf}\n", want: []string{"training.clip_norm", "+Inf"}},
		"negative decay":       {experiment: "vn1d", sets: []string{"training.weight_decay=-1"}, want: []string{"training.weight_decay", "-1", "0 to 1"}},
		"zero shards":          {experiment: "vn1d", sets: []string{"data.shards=0"}, want: []string{"data.shards is 0", "from 1"}},
		"many samples":         {experiment: "vn1d", sets: []string{"data.samples=16777217"}, want: []string{"data.samples is 16777217", "1 to 4194304"}},
		"zero epochs":          {experiment: "vn1d", sets: []string{"training.epochs=0"}, want: []string{"training.epochs is 0"}},
		"shards and batch":     {experiment: "vn1d", sets: []string{"training.batch_functions=33"}, want: []string{"training.batch_functions is 33", "multiple of data.shards (32)"}},
		"shards and data":      {experiment: "vn1d", sets: []string{"data.functions=64513"}, want: []string{"data.functions is 64513", "multiple"}},
		"samples":              {experiment: "vn1d", sets: []string{"training.batch_samples=30"}, want: []string{"training.batch_samples is 30", "divisor of data.samples (512)"}},
		"too many held out":    {experiment: "vn1d", sets: []string{"evaluation.functions=129"}, want: []string{"evaluation.functions is 129", "1 to 128"}},
		"too many samples":     {experiment: "vn1d", sets: []string{"evaluation.samples=4097"}, want: []string{"evaluation.samples is 4097", "to 4096"}},
		"solver":               {experiment: "vn1d", sets: []string{"evaluation.solver=rk5-4"}, want: []string{"evaluation.solver", "rk5-4"}},
		"grid":                 {experiment: "vn1d", sets: []string{"model.deeponet.fields=[{name: drift, shape: [65]}]"}, want: []string{"model.deeponet", "[65]", "[64]", "vn1d"}},
		"field":                {experiment: "vn1d", sets: []string{"model.deeponet.fields=[{name: probes, shape: [64]}]"}, want: []string{"model.deeponet", `"probes" is no stored field of vn1d`}},
		"dimension":            {experiment: "vn1d", sets: []string{"model.deeponet.dimension=2"}, want: []string{"model.deeponet.dimension is 2", "must be 1", "vn1d"}},
		"no network":           {experiment: "vn1d", sets: []string{"model.deeponet=null"}, want: []string{"model: no network"}},
		"no sensors":           {experiment: "cn2d", sets: []string{"model.sensor.sensors=0"}, want: []string{"sensors is 0"}},
		"features":             {experiment: "cn2d", sets: []string{"model.sensor.features=4"}, want: []string{"model.sensor.features is 4", "8, the features of probes of kind trajectory"}},
		"steps of probes":      {experiment: "cn2d", sets: []string{"model.sensor.steps=5000"}, want: []string{"model.sensor.steps is 5000", "1 to 4096"}},
		"kind of probes":       {experiment: "cn2d", sets: []string{"probes.kind=jump"}, want: []string{"probes.kind", `"jump"`, "trajectory, walk, pairs or path"}},
		"pairs of a plane":     {experiment: "cn2d", sets: []string{"probes.kind=pairs", "model.sensor.features=4"}, want: []string{"probes.kind", "cn2d", "pairs of sde.Plane"}},
		"walks of particles":   {experiment: "particles64d", sets: []string{"probes.kind=walk", "model.sensor.features=8"}, want: []string{"probes.kind", "particles64d", "walk of sde.Particles"}},
		"probes of a line":     {experiment: "cn2d", sets: []string{"data.family=vn1d", "model.sensor.dimension=1"}, want: []string{"probes.kind", "vn1d", "trajectory of sde.Coefficients"}},
		"time of probes":       {experiment: "cn2d", sets: []string{"probes.dt=.inf"}, want: []string{"probes.dt", "a number from 1e-09 to 1"}},
		"no probes":            {experiment: "cn2d", sets: []string{"probes=null"}, want: []string{"probes: model.sensor needs them"}},
		"probes of a grid":     {experiment: "cn2d_grid", yaml: "probes: {kind: walk, dt: 0.1}\n", want: []string{"probes: model.deeponet has no sensors"}},
		"probes at nodes":      {experiment: "cn2d_grid", sets: []string{"probes={kind: walk, dt: 0.1, sensors: 4, steps: 5000}"}, want: []string{"probes.steps is 5000", "1 to 4096"}},
		"pairs at nodes":       {experiment: "cn2d_grid", sets: []string{"probes={kind: pairs, dt: 0.1, sensors: 4, steps: 5}"}, want: []string{"probes of kind pairs give no coefficients at nodes"}},
		"sensors twice":        {experiment: "cn2d", sets: []string{"probes.sensors=3"}, want: []string{"probes: model.sensor has the numbers of sensors and steps"}},
		"probes set on a line": {experiment: "vn1d", sets: []string{"probes={kind: walk, dt: 0.1}"}, want: []string{"probes: model.deeponet has no sensors"}},
		"no section":           {experiment: "vn1d", sets: []string{"probes=abc"}, want: []string{"set probes", "abc", "section"}},
		"no fields":            {experiment: "vn1d", sets: []string{"probes={}"}, want: []string{"probes: model.deeponet has no sensors"}},
		"field of probes":      {experiment: "cn2d", sets: []string{"probes={knd: walk}"}, want: []string{"set probes", "knd"}},
		"second network":       {experiment: "vn1d", sets: []string{"model.sensor={}"}, want: []string{"must be one network"}},
		"sensors of a grid":    {experiment: "cn2d_grid", sets: []string{"evaluation.sensors=3"}, want: []string{"evaluation.sensors is 3", "has no sensors"}},
		"sensors in turn":      {experiment: "cn2d_grid", sets: []string{"training.sensors=[3]"}, want: []string{"training.sensors is [3]", "has no sensors"}},
		"none in turn":         {experiment: "cn2d", sets: []string{"training.sensors=[64, 0]"}, want: []string{"training.sensors[1] is 0", "1 to 65536"}},
		"many in turn":         {experiment: "cn2d", sets: []string{"training.sensors=[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17]"}, want: []string{"training.sensors is a list of 17", "at most 16"}},
		"two networks":         {experiment: "cn2d", yaml: "model: {deeponet: {dimension: 2}}\n", want: []string{"deeponet sensor", "must be one network"}},
		"dimension of states":  {experiment: "particles64d", sets: []string{"model.sensor.dimension=62"}, want: []string{"model.sensor.dimension is 62", "must be 64"}},
		"part of a network":    {experiment: "cn2d", sets: []string{"model.sensor.aggregator=max"}, want: []string{"aggregator", `"max"`, "perceiver, mean, deepsets"}},
		"no sensor network":    {experiment: "cn2d_grid", sets: []string{"model.sensor.sensors=3"}, want: []string{"model.sensor.sensors", "no model.sensor"}},
		"points to couple":     {experiment: "cn2d", sets: []string{"data.samples=4096", "training.batch_samples=2048"}, want: []string{"training.batch_samples is 2048", "at most 1024"}},
		"into no network":      {experiment: "vn1d", sets: []string{"model.deeponet=null", "model.deeponet.rank=3"}, want: []string{"model.deeponet.rank", "no model.deeponet"}},
		"unknown network":      {experiment: "vn1d", sets: []string{"model.perceptron.rank=3"}, want: []string{"perceptron", "known here: deeponet"}},
		"integrator on a grid": {experiment: "vn1d", sets: []string{"data.training.integrator=heun"}, want: []string{"data.training.integrator heun is for families with a box", "have euler"}},
		"unknown integrator":   {experiment: "anyd", sets: []string{"data.reference.integrator=rk4"}, want: []string{`data.reference: integrator "rk4" is unknown`, "must be euler, leimkuhler-matthews"}},
		"no velocities":        {experiment: "anyd", sets: []string{"data.training.integrator=baoab"}, want: []string{"data.training.integrator baoab needs positions q and velocities v", "heun would do"}},
		"tempering on a grid":  {experiment: "vn1d", sets: []string{"data.reference.tempering.temperatures=4", "data.reference.tempering.hottest=9", "data.reference.tempering.every=5"}, want: []string{"data.reference.tempering is for families with a box"}},
		"half a tempering":     {experiment: "anyd", sets: []string{"data.reference.tempering.temperatures=4"}, want: []string{"data.reference: tempering.hottest is 0: must be above 1"}},
		"settled on a grid":    {experiment: "vn1d", sets: []string{"training.states=settled"}, want: []string{`training.states is "settled"`, "it has a grid"}},
		"settled with ends":    {experiment: "anyd", sets: []string{`data.family='{"name":"a","dim":2,"domain":"(0, inf)","box":[0.2,3],"drift":"1 - x","diffusion":"sqrt(x[i])"}'`, "training.states=settled"}, want: []string{`training.states is "settled"`, "whose domain has ends"}},
		"integrator of a row":  {experiment: "anyd", yaml: "evaluation: {mcmc: [{name: a, scheme: {dt: 0.01, burn_in: 10, thin: 1, chains: 1, integrator: rk4}}]}\n", want: []string{"evaluation.mcmc[0].scheme", `"rk4"`}},
		"wire":                 {experiment: "vn1d", sets: []string{"training.wire=f16"}, want: []string{`training.wire is "f16"`, "f32 bf16 int8"}},
		"rounds":               {experiment: "vn1d", sets: []string{"training.sync_every=1001"}, want: []string{"training.sync_every is 1001", "from 0 to 1000"}},
		"unfinished round":     {experiment: "vn1d", sets: []string{"training.steps=50", "training.sync_every=20"}, want: []string{"training.sync_every is 20", "a divisor of the number of updates (50)"}},
		"checkpoint in round":  {experiment: "vn1d", sets: []string{"training.steps=60", "training.sync_every=20", "training.checkpoint_every=30"}, want: []string{"training.sync_every is 20", "a divisor of training.checkpoint_every (30)"}},
		"reproducible rounds":  {experiment: "vn1d", sets: []string{"training.sync_every=2", "training.reproducible=true"}, want: []string{"training.sync_every is 2", "1 where training is reproducible"}},
		"wire of integers":     {experiment: "vn1d", sets: []string{"training.wire=bf16", "training.reproducible=true"}, want: []string{`training.wire is "bf16"`, "f32 where training is reproducible"}},
		"precision":            {experiment: "vn1d", sets: []string{"training.precision=float16"}, want: []string{`training.precision is "float16"`, "float32 bfloat16"}},
		"coupling":             {experiment: "vn1d", sets: []string{"training.coupling=sinkhorn"}, want: []string{`training.coupling is "sinkhorn"`, "ot independent quantile particles"}},
		"pairs in the plane":   {experiment: "cn2d", sets: []string{"model.sensor.decoder=pairs", "model.sensor.radial=8"}, want: []string{`decoder is "pairs"`, "no particles"}},
		"force in the plane":   {experiment: "cn2d", sets: []string{"model.sensor.representation=force", "model.sensor.radial=8"}, want: []string{"features is 8", "force"}},
		"no particles":         {experiment: "cn2d", sets: []string{"training.coupling=particles"}, want: []string{`training.coupling is "particles"`, "no particles"}},
		"points of pairs":      {experiment: "vn1d", sets: []string{"training.points=64"}, want: []string{`training.points is 64`, `0 with the coupling "ot"`}},
		"points below zero":    {experiment: "vn1d", sets: []string{"training.points=-1"}, want: []string{"training.points is -1"}},
		"few samples at points": {experiment: "vn1d", sets: []string{"training.points=64", "training.coupling=quantile", "training.batch_samples=8"},
			want: []string{"training.batch_samples is 8", "at least 16"}},
		"ranks in the plane":  {experiment: "cn2d", sets: []string{"training.coupling=quantile"}, want: []string{`training.coupling is "quantile"`, "one dimension"}},
		"family":              {experiment: "vn1d", sets: []string{"data.family=ou"}, want: []string{"family", `"ou"`, "vn1d"}},
		"network":             {experiment: "vn1d", sets: []string{"model.deeponet.rank=0"}, want: []string{"model", "rank", "0"}},
		"large network":       {experiment: "vn1d", sets: []string{"model.deeponet.trunk_width=16384"}, want: []string{"parameters", "a checkpoint has room for 960"}},
		"long training":       {experiment: "vn1d", sets: []string{"training.steps=1e8"}, want: []string{"940928 parameters after 100000000 updates takes 1537 MiB"}},
		"endless training":    {experiment: "vn1d", sets: []string{"training.epochs=1048576", "data.functions=16777216", "data.samples=4194304", "data.training.chains=1", "data.held_out_from=0"}, want: []string{"updates takes"}},
		"chains of a row":     {experiment: "vn1d", sets: []string{"evaluation.mcmc=[{name: a, scheme: {dt: 0.01, thin: 1, chains: 3}}]"}, want: []string{"evaluation.mcmc[0].scheme.chains is 3", "divisor"}},
		"unnamed row":         {experiment: "vn1d", sets: []string{"evaluation.mcmc=[{scheme: {dt: 0.01, thin: 1, chains: 1}}]"}, want: []string{"evaluation.mcmc[0].name"}},
		"equal rows":          {experiment: "vn1d", sets: []string{`evaluation.mcmc=[{scheme: {dt: 0.01, thin: 1, chains: 1}, name: a}, {scheme: {dt: 0.01, thin: 1, chains: 1}, name: b}, {scheme: {dt: 0.01, thin: 1, chains: 1}, name: a}]`}, want: []string{`evaluation.mcmc[2].name is "a"`, "another"}},
		"lines of a row":      {experiment: "vn1d", sets: []string{`evaluation.mcmc=[{scheme: {dt: 0.01, thin: 1, chains: 1}, name: "a\nb"}]`}, want: []string{`evaluation.mcmc[0].name is "a\nb"`, "printable"}},
		"blank row":           {experiment: "vn1d", sets: []string{`evaluation.mcmc=[{scheme: {dt: 0.01, thin: 1, chains: 1}, name: "  "}]`}, want: []string{"evaluation.mcmc[0].name", "printable"}},
		"long row":            {experiment: "vn1d", sets: []string{`evaluation.mcmc=[{scheme: {dt: 0.01, thin: 1, chains: 1}, name: xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx}]`}, want: []string{"evaluation.mcmc[0].name", "1 to 40"}},
		"field of a row":      {experiment: "vn1d", sets: []string{"evaluation.mcmc=[{nam: a}]"}, want: []string{"evaluation.mcmc", "nam"}},
		"set without a value": {experiment: "vn1d", sets: []string{"training.epochs"}, want: []string{`"training.epochs"`, "path=value"}},
		"set an empty value":  {experiment: "vn1d", sets: []string{"training.epochs="}, want: []string{"training.epochs", "no value"}},
		"set unknown field":   {experiment: "vn1d", sets: []string{"training.epoch=1"}, want: []string{"training.epoch", "batch_functions, batch_samples, micro_batch, precision, wire, reproducible, sync_every, coupling, points, times, states, sensors, epochs"}},
		"set into a number":   {experiment: "vn1d", sets: []string{"seed.low=1"}, want: []string{"seed.low", "no fields"}},
		"set text":            {experiment: "vn1d", sets: []string{"training.epochs=ten"}, want: []string{"training.epochs", `"ten"`, "whole number"}},
		"set a list":          {experiment: "vn1d", sets: []string{"training.learning_rate=[1]"}, want: []string{`"[1]" is no number: list instead of number`}},
		"set a negative seed": {experiment: "vn1d", sets: []string{"seed=-1"}, want: []string{`"-1" is no whole number ≥ 0: -1 is no whole number ≥ 0 in range`}},
		"list for text":       {experiment: "vn1d", yaml: "training:\n  coupling: [a]\n", want: []string{"[2:13] list instead of text", "^"}},
		"set the name":        {experiment: "vn1d", sets: []string{"name=rare1d"}, want: []string{"name"}},
		"set malformed":       {experiment: "vn1d", sets: []string{"model.deeponet.channels=[1, 2"}, want: []string{"model.deeponet.channels", "list"}},
	} {
		t.Run(name, func(t *testing.T) {
			path := ""
			if tt.yaml != "" {
				path = write(t, tt.yaml)
			}
			_, err := Load(tt.experiment, tt.preset, path, tt.sets)
			if err == nil {
				t.Fatal("no error")
			}
			for _, w := range tt.want {
				if !strings.Contains(err.Error(), w) {
					t.Errorf("%q is missing in:\n%v", w, err)
				}
			}
		})
	}
}

func TestMissingAndOversizedFile(t *testing.T) {
	if _, err := Load("vn1d", "", filepath.Join(t.TempDir(), "none.yaml"), nil); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("missing file: %v", err)
	}
	if _, err := Load("vn1d", "", write(t, strings.Repeat("#", yamltext.MaxBytes+1)), nil); err == nil || !strings.Contains(err.Error(), "more than 65536 bytes") {
		t.Errorf("oversized file: %v", err)
	}
}

// A file that is no text is refused before an excerpt of it reaches the terminal.
func TestBinaryFile(t *testing.T) {
	for _, content := range []string{"\x7fELF\x02\x01", "name: [\x1b[2J", "name: \xff\xfe", "data:\n  family: f\x00"} {
		if _, err := Load("vn1d", "", write(t, content), nil); err == nil || !strings.HasSuffix(err.Error(), "not text in UTF-8") {
			t.Errorf("%q: %q", content, err)
		}
	}
	if _, err := Load("vn1d", "smoke", write(t, "# größer\r\n\n"), nil); err != nil {
		t.Errorf("text: %v", err)
	}
}

// The YAML parser would need gigabytes for these.
func TestDeeplyNested(t *testing.T) {
	for _, brackets := range []string{strings.Repeat("[", 16000), strings.Repeat("{a: ", 8000), strings.Repeat("- ", 16000) + "1"} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, fromFile := Load("vn1d", "smoke", write(t, "training:\n  sensors:\n    "+brackets), nil)
		_, fromSet := Load("vn1d", "smoke", "", []string{"training.sensors=" + brackets})
		_, fromFamily := Load("vn1d", "smoke", "", []string{`data.family="{` + brackets + `"`})
		runtime.ReadMemStats(&after)
		for _, err := range []error{fromFile, fromSet, fromFamily} {
			if err == nil || !strings.Contains(err.Error(), "nested deeper than 64 levels") {
				t.Errorf("%.10s…: %.200v", brackets, err)
			}
		}
		if took := (after.TotalAlloc - before.TotalAlloc) >> 20; took > 60 {
			t.Errorf("%.10s…: refusing takes %d MiB", brackets, took)
		}
	}
}

// Every number of a configuration must refuse NaN, infinity and a negative
// value, found by walking the JSON so that a new field cannot be forgotten.
func TestEveryNumberIsChecked(t *testing.T) {
	for _, name := range Names() {
		e, err := Load(name, "smoke", "", nil)
		if err != nil {
			t.Fatal(err)
		}
		if e.Model.Sensor != nil {
			e.Training.Sensors = []int{3, 4}
		}
		everyNumberIsChecked(t, e)
	}
}

func everyNumberIsChecked(t *testing.T, e Experiment) {
	t.Helper()
	var walk func(v reflect.Value, path string)
	walk = func(v reflect.Value, path string) {
		switch v.Kind() {
		case reflect.Pointer:
			if !v.IsNil() {
				walk(v.Elem(), path)
			}
		case reflect.Struct:
			for i := range v.NumField() {
				walk(v.Field(i), path+"."+v.Type().Field(i).Name)
			}
		case reflect.Slice:
			for i := range v.Len() {
				walk(v.Index(i), path+"[]")
			}
		case reflect.Int:
			was := v.Int()
			v.SetInt(-1)
			if e.Validate() == nil {
				t.Errorf("%s: %s may be -1", e.Name, path)
			}
			v.SetInt(was)
		case reflect.Float64:
			was := v.Float()
			for _, bad := range []float64{math.NaN(), math.Inf(1), math.Inf(-1), -1} {
				v.SetFloat(bad)
				if e.Validate() == nil {
					t.Errorf("%s: %s may be %v", e.Name, path, bad)
				}
			}
			v.SetFloat(was)
		}
	}
	walk(reflect.ValueOf(&e).Elem(), "")
}

func TestParseIsTheInverseOfPlan(t *testing.T) {
	for _, name := range Names() {
		for _, preset := range Presets(name) {
			e, err := Load(name, preset, "", nil)
			if err != nil {
				t.Fatalf("%s/%s: %v", name, preset, err)
			}
			plan, err := e.Plan()
			if err != nil {
				t.Fatal(err)
			}
			back, err := Parse(plan.Config)
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(back, e) {
				t.Errorf("%s/%s: read back %+v, wrote %+v", name, preset, back, e)
			}
			if again, _ := json.Marshal(back); string(again) != string(plan.Config) {
				t.Errorf("%s/%s: the JSON is not canonical", name, preset)
			}
		}
	}
	for _, bad := range []string{"", "{}", "null", `{"name":"vn1d","extra":1}`, "[1]"} {
		if _, err := Parse([]byte(bad)); err == nil {
			t.Errorf("Parse(%q) accepted", bad)
		}
	}
}
