package notice

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
)

func TestTextfile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ergoflow.prom")
	c := Config{Textfile: path}
	tell := func(e Event) string {
		t.Helper()
		if d := one(t, Send(t.Context(), c, e)); d.Error != "" || d.Note != "" || d.Target != "textfile "+path {
			t.Fatalf("%+v", d)
		}
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		problems, err := promlint.New(bytes.NewReader(content)).Lint()
		if err != nil || len(problems) > 0 {
			t.Errorf("promlint: %v %v", problems, err)
		}
		return string(content)
	}
	tell(Event{Name: "vn1d", Began: promoted.Began})
	want := `# HELP ergoflow_retrain_champion_version Version of the champion in the registry.
# TYPE ergoflow_retrain_champion_version gauge
ergoflow_retrain_champion_version{name="vn1d"} 4
# HELP ergoflow_retrain_last_duration_seconds Duration of the last retraining.
# TYPE ergoflow_retrain_last_duration_seconds gauge
ergoflow_retrain_last_duration_seconds{name="vn1d"} 90
# HELP ergoflow_retrain_last_exit_code Exit code of the last retraining.
# TYPE ergoflow_retrain_last_exit_code gauge
ergoflow_retrain_last_exit_code{name="vn1d"} 0
# HELP ergoflow_retrain_last_finish_timestamp_seconds Time at which the last retraining ended.
# TYPE ergoflow_retrain_last_finish_timestamp_seconds gauge
ergoflow_retrain_last_finish_timestamp_seconds{name="vn1d"} 1.70000009e+09
# HELP ergoflow_retrain_last_start_timestamp_seconds Time at which the last retraining began.
# TYPE ergoflow_retrain_last_start_timestamp_seconds gauge
ergoflow_retrain_last_start_timestamp_seconds{name="vn1d"} 1.7e+09
# HELP ergoflow_retrain_last_success_timestamp_seconds Time at which a retraining last ended without failure.
# TYPE ergoflow_retrain_last_success_timestamp_seconds gauge
ergoflow_retrain_last_success_timestamp_seconds{name="vn1d"} 1.70000009e+09
`
	if got := tell(promoted); got != want {
		t.Errorf("after a promotion:\n%s", got)
	}
	// A failure keeps the time of the last success and the champion.
	failed := Event{Name: "vn1d", Decision: Failed, ExitCode: 1, Began: time.Unix(1.8e9, 0), Ended: time.Unix(1.8e9+5, 0)}
	got := tell(failed)
	for _, line := range []string{`last_success_timestamp_seconds{name="vn1d"} 1.70000009e+09`, `last_finish_timestamp_seconds{name="vn1d"} 1.800000005e+09`, `last_exit_code{name="vn1d"} 1`, `champion_version{name="vn1d"} 4`} {
		if !strings.Contains(got, prefix+line+"\n") {
			t.Errorf("after a failure there is no %s:\n%s", line, got)
		}
	}
	// Another name, with every awkward character, has its own numbers.
	failed.Name = "a\"b\\c\nd"
	if got := tell(failed); !strings.Contains(got, `last_exit_code{name="vn1d"} 1`) || !strings.Contains(got, `last_exit_code{name="a\"b\\c\nd"} 1`) {
		t.Errorf("two names:\n%s", got)
	}
	if again := tell(failed); strings.Count(again, "exit_code{") != 2 {
		t.Errorf("told twice:\n%s", again)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o644 { // node_exporter is another user
		t.Error(info.Mode(), err)
	}
	entries, _ := os.ReadDir(filepath.Dir(path))
	if len(entries) != 1 {
		t.Errorf("files are left: %v", entries)
	}
}

func TestTextfileDamaged(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ergoflow.prom")
	for _, old := range []string{"no metrics {{{", strings.Repeat("#\n", maxTextfile), prefix + "last_exit_code{name=\"vn1d\"} x\n"} {
		if err := os.WriteFile(path, []byte(old), 0o644); err != nil {
			t.Fatal(err)
		}
		d := one(t, Send(t.Context(), Config{Textfile: path}, promoted))
		content, _ := os.ReadFile(path)
		if d.Error != "" || !strings.Contains(d.Note, "is replaced") || !bytes.Contains(content, []byte("champion_version")) || len(content) > 4096 {
			t.Errorf("%.20q: %+v, %d bytes", old, d, len(content))
		}
	}
	d := one(t, Send(t.Context(), Config{Textfile: filepath.Join(path, "x.prom")}, promoted))
	if d.Error == "" {
		t.Errorf("a file below a file: %+v", d)
	}
	d = one(t, Send(t.Context(), Config{Textfile: filepath.Join(t.TempDir(), "no", "x.prom")}, promoted))
	if !strings.Contains(d.Error, "no such file") {
		t.Errorf("no directory: %+v", d)
	}
}
