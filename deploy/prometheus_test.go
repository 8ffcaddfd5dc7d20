package deploy

import (
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
)

// The pages of the metrics are as Prometheus wants them.
func TestMetricsPages(t *testing.T) {
	promtool, err := exec.LookPath("promtool")
	if err != nil {
		t.Skip("promtool, of Debian's prometheus, is not installed")
	}
	for _, name := range []string{"coordinator", "worker", "server"} {
		cmd := exec.CommandContext(t.Context(), promtool, "check", "metrics")
		cmd.Stdin = strings.NewReader(read(t, "prometheus/metrics/"+name+".prom"))
		if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
	}
}

// Prometheus reads the rules, and they fire when they should and not otherwise.
func TestAlertRules(t *testing.T) {
	promtool, err := exec.LookPath("promtool")
	if err != nil {
		t.Skip("promtool, of Debian's prometheus, is not installed")
	}
	for _, arguments := range [][]string{
		{"check", "rules", "prometheus/ergoflow.rules.yaml"},
		{"check", "config", "prometheus/prometheus.yaml"},
		{"test", "rules", "prometheus/ergoflow.rules.test.yaml"},
	} {
		if out, err := exec.CommandContext(t.Context(), promtool, arguments...).CombinedOutput(); err != nil {
			t.Errorf("promtool %v: %v\n%s", arguments, err, out)
		}
	}
}

// What finds the pods in Kubernetes names their labels and their port. Debian's Prometheus does not
// know Kubernetes, so that nothing reads the file here.
func TestDiscoveryInKubernetes(t *testing.T) {
	var config struct {
		Jobs []struct {
			Relabel []struct {
				Source []string `yaml:"source_labels"`
				Regex  string   `yaml:"regex"`
				Action string   `yaml:"action"`
			} `yaml:"relabel_configs"`
		} `yaml:"scrape_configs"`
	}
	if err := yaml.Unmarshal([]byte(read(t, "prometheus/kubernetes.yaml")), &config); err != nil {
		t.Fatal(err)
	}
	keep := config.Jobs[0].Relabel[0]
	if keep.Action != "keep" || !slices.Equal(keep.Source, []string{"__meta_kubernetes_pod_label_app_kubernetes_io_name", "__meta_kubernetes_pod_container_port_name"}) {
		t.Fatalf("it keeps %+v", keep)
	}
	name, port, _ := strings.Cut(keep.Regex, ";")
	for _, component := range []string{"coordinator", "workers"} {
		manifest := read(t, "kubernetes/"+component+".yaml")
		for _, want := range []string{"app.kubernetes.io/name: " + name + "\n", "{name: " + port + ", containerPort: 9464}", "--http=[$(POD_IP)]:9464"} {
			if !strings.Contains(manifest, want) {
				t.Errorf("the %s have no %q", component, want)
			}
		}
	}
}
