package grafana

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/promql/parser"
	"go.yaml.in/yaml/v3"
)

// exported has the labels of every metric, as the pages of the processes' tests have them.
func exported(t *testing.T) map[string][]string {
	t.Helper()
	target := []string{"instance", "job"}
	metrics := map[string][]string{ // of Prometheus itself, and of client_golang's collectors
		"up": target, "ALERTS": {"alertname", "alertstate"},
		"process_cpu_seconds_total": target, "process_resident_memory_bytes": target, "go_goroutines": target,
	}
	pages, err := filepath.Glob("../prometheus/metrics/*.prom")
	if err != nil || len(pages) != 3 {
		t.Fatalf("pages %v, %v", pages, err)
	}
	for _, page := range pages {
		f, err := os.Open(page)
		if err != nil {
			t.Fatal(err)
		}
		reader := expfmt.NewTextParser(model.LegacyValidation)
		families, err := reader.TextToMetricFamilies(f)
		f.Close()
		if err != nil {
			t.Fatalf("%s: %v", page, err)
		}
		for name, family := range families {
			labels := slices.Clone(target)
			for _, m := range family.GetMetric() {
				for _, l := range m.GetLabel() {
					labels = append(labels, l.GetName())
				}
			}
			if family.GetType() == dto.MetricType_HISTOGRAM {
				metrics[name+"_sum"], metrics[name+"_count"] = labels, labels
				name, labels = name+"_bucket", append(slices.Clone(labels), "le")
			}
			metrics[name] = append(metrics[name], labels...)
		}
	}
	return metrics
}

// check says what is wrong with an expression: it must parse, its metrics and their labels must
// exist, and so must labels by which it groups and matches. It returns the labels of its metrics.
func check(expr string, metrics map[string][]string) (labels, wrong []string) {
	expr = strings.ReplaceAll(expr, "$__rate_interval", "5m")
	parsed, err := parser.NewParser(parser.Options{}).ParseExpr(expr)
	if err != nil {
		return nil, []string{err.Error()}
	}
	below := func(n parser.Node) (known []string) {
		parser.Inspect(n, func(n parser.Node, _ []parser.Node) error {
			if s, ok := n.(*parser.VectorSelector); ok {
				known = append(known, metrics[s.Name]...)
			}
			return nil
		})
		return known
	}
	has := func(n parser.Node, labels []string) {
		for _, label := range labels {
			if !slices.Contains(below(n), label) {
				wrong = append(wrong, n.String()+" has no label "+label)
			}
		}
	}
	parser.Inspect(parsed, func(n parser.Node, _ []parser.Node) error {
		switch n := n.(type) {
		case *parser.VectorSelector:
			if metrics[n.Name] == nil {
				wrong = append(wrong, n.Name+" is not exported")
			}
			for _, m := range n.LabelMatchers {
				if m.Name != "__name__" {
					has(n, []string{m.Name})
				}
			}
		case *parser.AggregateExpr:
			has(n.Expr, n.Grouping)
		case *parser.BinaryExpr:
			if n.VectorMatching != nil && n.VectorMatching.On {
				has(n.LHS, n.VectorMatching.MatchingLabels)
				has(n.RHS, n.VectorMatching.MatchingLabels)
			}
		}
		return nil
	})
	return below(parsed), wrong
}

// file is what the test reads of a dashboard's file.
type file struct {
	UID        string `json:"uid"`
	Inputs     any    `json:"__inputs"`
	Templating struct {
		List []struct {
			Name       string          `json:"name"`
			Type       string          `json:"type"`
			Definition string          `json:"definition"`
			Source     json.RawMessage `json:"datasource"`
		} `json:"list"`
	} `json:"templating"`
	Panels []struct {
		Type    string `json:"type"`
		Title   string `json:"title"`
		Source  struct{ UID string }
		Targets []struct {
			Expr   string               `json:"expr"`
			Legend string               `json:"legendFormat"`
			Source struct{ UID string } `json:"datasource"`
		} `json:"targets"`
	} `json:"panels"`
}

var (
	inLegend   = regexp.MustCompile(`\{\{ *([a-z_]+) *\}\}`)
	definition = regexp.MustCompile(`^label_values\(([a-z_]+), ([a-z_]+)\)$`)
	chosen     = regexp.MustCompile(`\$([a-z]+)`)
)

// Every query of a dashboard asks for what is exported, with the labels that it has, and every
// variable that it names is there.
func TestDashboardsAskForWhatIsExported(t *testing.T) {
	metrics := exported(t)
	paths, err := filepath.Glob("dashboards/*.json")
	if err != nil || len(paths) != len(dashboards) {
		t.Fatalf("dashboards %v, %v", paths, err)
	}
	for _, path := range paths {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var d file
		if err := json.Unmarshal(b, &d); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		if d.UID+".json" != filepath.Base(path) || d.Inputs != nil {
			t.Errorf("%s: uid %s, inputs %v", path, d.UID, d.Inputs)
		}
		variables := []string{}
		for _, v := range d.Templating.List {
			variables = append(variables, v.Name)
			if v.Type == "datasource" {
				continue
			}
			m := definition.FindStringSubmatch(v.Definition)
			if m == nil || !slices.Contains(metrics[m[1]], m[2]) {
				t.Errorf("%s: variable %s is %s", path, v.Name, v.Definition)
			}
		}
		if !slices.Contains(variables, "datasource") {
			t.Errorf("%s has no variable datasource", path)
		}
		queries := 0
		for _, p := range d.Panels {
			for _, q := range p.Targets {
				queries++
				where := path + ", " + p.Title
				labels, wrong := check(q.Expr, metrics)
				for _, w := range wrong {
					t.Errorf("%s: %s: %s", where, q.Expr, w)
				}
				for _, l := range inLegend.FindAllStringSubmatch(q.Legend, -1) {
					if !slices.Contains(labels, l[1]) {
						t.Errorf("%s: the legend names %s, which %s has not", where, l[1], q.Expr)
					}
				}
				for _, v := range chosen.FindAllStringSubmatch(strings.ReplaceAll(q.Expr, "$__rate_interval", ""), -1) {
					if !slices.Contains(variables, v[1]) {
						t.Errorf("%s: %s names $%s, which is no variable", where, q.Expr, v[1])
					}
				}
				if q.Source.UID != "${datasource}" {
					t.Errorf("%s: the source is %q", where, q.Source.UID)
				}
			}
			if p.Type != "row" && len(p.Targets) == 0 {
				t.Errorf("%s: %s asks for nothing", path, p.Title)
			}
		}
		if queries < 10 {
			t.Errorf("%s has %d queries", path, queries)
		}
	}
}

var inText = regexp.MustCompile(`\$labels\.([a-z_]+)`)

// The same of the rules of alerts, and of the labels in their texts.
func TestAlertsAskForWhatIsExported(t *testing.T) {
	metrics := exported(t)
	b, err := os.ReadFile("../prometheus/ergoflow.rules.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var rules struct {
		Groups []struct {
			Rules []struct {
				Alert       string            `yaml:"alert"`
				Expr        string            `yaml:"expr"`
				Annotations map[string]string `yaml:"annotations"`
			} `yaml:"rules"`
		} `yaml:"groups"`
	}
	if err := yaml.Unmarshal(b, &rules); err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, g := range rules.Groups {
		for _, r := range g.Rules {
			n++
			labels, wrong := check(r.Expr, metrics)
			for _, w := range wrong {
				t.Errorf("%s: %s: %s", r.Alert, r.Expr, w)
			}
			for _, text := range r.Annotations {
				for _, l := range inText.FindAllStringSubmatch(text, -1) {
					if !slices.Contains(labels, l[1]) {
						t.Errorf("%s: the text names %s, which %s has not", r.Alert, l[1], r.Expr)
					}
				}
			}
		}
	}
	if n < 10 {
		t.Errorf("only %d rules", n)
	}
}

// Every metric that a process exports is on a dashboard, in a rule, or known to be for people who
// look for it.
func TestNothingIsForgotten(t *testing.T) {
	var used strings.Builder
	for _, pattern := range []string{"dashboards/*.json", "../prometheus/ergoflow.rules.yaml"} {
		paths, _ := filepath.Glob(pattern)
		for _, path := range paths {
			b, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			used.Write(b)
		}
	}
	seldom := []string{
		"ergoflow_build_info", "ergoflow_run_generation", "ergoflow_run_checkpoint_step", "ergoflow_worker_info",
		"ergoflow_self_generation", "ergoflow_self_run_info", "ergoflow_self_shards",
		"ergoflow_request_duration_seconds_sum", "ergoflow_request_duration_seconds_count",
	}
	for name := range exported(t) {
		if !strings.Contains(used.String(), name) && !slices.Contains(seldom, name) {
			t.Errorf("%s is on no dashboard and in no rule", name)
		}
	}
}

// What would be wrong is found.
func TestCheckFindsFaults(t *testing.T) {
	metrics := exported(t)
	for _, expr := range []string{
		"ergoflow_run_stepp", "sum by (worker) (ergoflow_run_step)", `ergoflow_run_step{worker="a"}`, "rate(ergoflow_run_step[)",
		"ergoflow_run_step / on (worker) ergoflow_run_steps", "sum(ergoflow_self_steps)",
	} {
		if _, wrong := check(expr, metrics); len(wrong) == 0 {
			t.Errorf("%s passes", expr)
		}
	}
}
