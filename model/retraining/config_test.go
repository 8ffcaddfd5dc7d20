package retraining

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// The template is a configuration that works, and its values are the defaults.
func TestTemplate(t *testing.T) {
	path := filepath.Join(t.TempDir(), "retrain.yaml")
	if err := os.WriteFile(path, Template, 0o600); err != nil {
		t.Fatal(err)
	}
	c, e, err := Load(path)
	if err != nil || e.Name != "vn1d" || e.Preset != "smoke" {
		t.Fatalf("%s/%s, %v", e.Name, e.Preset, err)
	}
	least, err := parse([]byte("name: vn1d\nexperiment: {name: vn1d, preset: smoke}"))
	if err != nil {
		t.Fatal(err)
	}
	if c.Start != least.Start || c.Keep != least.Keep || c.Overlap != least.Overlap || c.Cluster != least.Cluster {
		t.Errorf("the template has %+v, the defaults are %+v", c, least)
	}
	if c.Registry != filepath.Join(filepath.Dir(path), "models") {
		t.Errorf("registry %s is not beside the file", c.Registry)
	}
	// What is commented out is valid too.
	all := strings.NewReplacer("  # wall", "  wall", "  # steps: 1", "  steps: 1", "  # disk", "  disk", "  # deadline", "  deadline", "  # zone", "  zone",
		"  # window: 65536 ", "  window: 1024 ", "  # watch:", "  watch:", "  #   - {name: lab", "    - {name: lab", "  # metric", "  metric", "  # addr", "  addr", "  # store", "  store").Replace(string(Template))
	if c, err = parse([]byte(all)); err != nil || len(c.Data.Watch) != 1 || c.Budget.Wall != Duration(6*time.Hour) || c.Budget.Disk != 50e9 || c.Gate.Metric != "w2" {
		t.Errorf("%+v, %v", c, err)
	}
}

func TestConfigRefuses(t *testing.T) {
	const start = "name: vn1d\nexperiment: {name: vn1d, preset: smoke}\n"
	for document, want := range map[string]string{
		"":                                            "name: ",
		"name: a/b":                                   "name: ",
		start + "colour: red":                         "unknown field",
		start + "keep: -1":                            "keep is -1",
		start + "keep: 1.5":                           "is not a whole number",
		start + "overlap: push":                       "overlap is \"push\"",
		start + "start: {from: hot}":                  "start.from is \"hot\"",
		start + "start: {from: warm, steps: 2}":       "start.steps is 2",
		start + "budget: {wall: soon}":                "no duration",
		start + "budget: {disk: much}":                "no size",
		start + "budget: {deadline: \"6\"}":           "budget.deadline",
		start + "data: {grow: -4}":                    "data.grow is -4",
		start + "gate: {metric: beauty}":              "beauty",
		start + "gate: {confidence: 2}":               "confidence is 2",
		start + "dir: ''":                             "dir: ",
		start + "registry: ''":                        "registry: ",
		start + "data: {grow: 7}":                     "data.grow is 7 functions, want a multiple",
		start + "data: {grow: 1048576}":               "more than the",
		"name: vn1d\nexperiment: {name: other}":       "other",
		"name: vn1d\nexperiment: {set: [\"a\"]}":      "experiment",
		start + "data: {watch: [{dir: inbox}]}":       "data.watch",
		start + "data: {window: -1}":                  "data.window is -1",
		start + "cluster: {addr: \"127.0.0.1:7070\"}": "cluster.store is missing",
		start + "cluster: {store: \"s3://b/p\"}":      "cluster.store: store \"s3://b/p\": want s3://BUCKET/PREFIX",
		start + "cluster: {workers: 99}":              "cluster.workers is 99, and",
		start + "cluster: {workers: 0}":               "cluster.workers is 0",
	} {
		path := filepath.Join(t.TempDir(), "retrain.yaml")
		if err := os.WriteFile(path, []byte(document), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, _, err := Load(path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", document, err, want)
		}
	}
	if _, _, err := Load(filepath.Join(t.TempDir(), "none")); err == nil {
		t.Error("a missing file is read")
	}
}
