package deploy

import (
	"os/exec"
	"testing"
)

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
