package display

import (
	"strings"
	"testing"
)

// The status says which workers run another version than the coordinator, and only then.
func TestVersions(t *testing.T) {
	st := training(6)
	st.Version = "0.2.0"
	shown := func() string {
		var b strings.Builder
		if err := Text(&b, st, Order{}); err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(b.String()) {
			if rest, ok := strings.CutPrefix(line, "versions "); ok {
				return strings.TrimSpace(rest)
			}
		}
		return ""
	}
	if got := shown(); got != "" {
		t.Errorf("an older coordinator does not say what the workers have: %q", got)
	}
	for i := range st.Workers {
		st.Workers[i].Version = "0.2.0"
	}
	if got := shown(); got != "" {
		t.Errorf("all have one version: %q", got)
	}
	st.Workers[1].Version = "0.1.0"
	if got, want := shown(), "0.2.0: the coordinator and 5 of 6 workers; 0.1.0: w-01"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	for i := range st.Workers {
		st.Workers[i].Version = "0.1.0"
	}
	if got, want := shown(), "0.2.0: the coordinator; 0.1.0: w-00, w-01, w-02 and 3 more"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
