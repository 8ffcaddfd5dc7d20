package trust

import (
	"os"
	"strings"
	"testing"
)

// A process that has switched core dumps off cannot switch them on again, and the system
// writes none.
func TestNoCoreDumps(t *testing.T) {
	if err := NoCoreDumps(); err != nil {
		t.Fatal(err)
	}
	limits, err := os.ReadFile("/proc/self/limits")
	if err != nil {
		t.Skipf("only /proc says what the limit is: %v", err)
	}
	for line := range strings.Lines(string(limits)) {
		if rest, ok := strings.CutPrefix(line, "Max core file size"); ok {
			if f := strings.Fields(rest); f[0] != "0" || f[1] != "0" {
				t.Error(line)
			}
			return
		}
	}
	t.Errorf("no limit of core dumps in\n%s", limits)
}
