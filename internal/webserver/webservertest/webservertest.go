// Package webservertest compares a process's metrics with the page of them in deploy/prometheus,
// by which the tests there know what exists.
package webservertest

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/prometheus/common/expfmt"
)

var update = flag.Bool("update-metrics", false, "write deploy/prometheus/metrics instead of comparing with it")

// Page checks that the metrics of a collector keep Prometheus's rules for names and units, that
// docs/operations.md or docs/serve.md has each of them, and that they are the page
// deploy/prometheus/metrics/NAME.prom. root is the repository's root, replace pairs of texts that
// differ between builds and what stands for them.
func Page(t *testing.T, c prometheus.Collector, root, name string, replace ...string) {
	t.Helper()
	problems, err := testutil.CollectAndLint(c)
	if err != nil || len(problems) > 0 {
		t.Errorf("%v, %v", problems, err)
	}
	registry := prometheus.NewRegistry()
	registry.MustRegister(c)
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	var docs string
	for _, page := range []string{"operations.md", "serve.md"} {
		b, err := os.ReadFile(filepath.Join(root, "docs", page))
		if err != nil {
			t.Fatal(err)
		}
		docs += string(b)
	}
	for _, f := range families {
		if _, err := expfmt.MetricFamilyToText(&text, f); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(docs, "`"+f.GetName()+"`") {
			t.Errorf("the documentation has no %s", f.GetName())
		}
	}
	got := strings.NewReplacer(replace...).Replace(text.String())
	path := filepath.Join(root, "deploy", "prometheus", "metrics", name+".prom")
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("the metrics are not those of %s; go test ./coordinator ./worker ./model/serve -run Metrics -args -update-metrics writes it:\n%s", path, got)
	}
}
