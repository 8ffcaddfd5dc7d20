package deploy

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/model/retraining"
)

// unit are the settings of a systemd unit, as "Section.Key".
func unit(t *testing.T, path string) map[string]string {
	t.Helper()
	settings := make(map[string]string)
	section := ""
	setting := regexp.MustCompile(`^[A-Z][A-Za-z]*=`)
	for line := range strings.Lines(read(t, path)) {
		line = strings.TrimSuffix(line, "\n")
		switch {
		case line == "" || strings.HasPrefix(line, "#"):
		case strings.HasPrefix(line, "["):
			section = strings.Trim(line, "[]")
		case section != "" && setting.MatchString(line):
			key, value, _ := strings.Cut(line, "=")
			if _, twice := settings[section+"."+key]; twice && key != "EnvironmentFile" {
				t.Errorf("%s: %s is there twice", path, key)
			}
			settings[section+"."+key] = value
		default:
			t.Errorf("%s: %q is neither a section nor a setting", path, line)
		}
	}
	return settings
}

func TestService(t *testing.T) {
	s := unit(t, "systemd/ergoflow-retrain.service")
	command := strings.Fields(s["Service.ExecStart"])
	if len(command) == 0 || filepath.Base(command[0]) != "ergoflow" || !filepath.IsAbs(command[0]) {
		t.Fatalf("ExecStart=%s", s["Service.ExecStart"])
	}
	checkRetrain(t, command[1:])
	// A retraining goes on for hours: only a oneshot has no time limit of its start.
	if s["Service.Type"] != "oneshot" || s["Service.User"] != "ergoflow" {
		t.Errorf("Type=%s, User=%s", s["Service.Type"], s["Service.User"])
	}
	// Nothing outside the state directory can be written under ProtectSystem=strict.
	config := command[slices.Index(command, "--config")+1]
	if filepath.Dir(config) != "/var/lib/"+s["Service.StateDirectory"] {
		t.Errorf("the configuration %s is not in the state directory", config)
	}
	want := fmt.Sprint(ergoflow.RetrainKept, ergoflow.RetrainSkipped)
	if s["Service.SuccessExitStatus"] != want {
		t.Errorf("SuccessExitStatus=%s, want %s", s["Service.SuccessExitStatus"], want)
	}
}

// The units of a cluster start commands that exist, with flags that they have, and tell
// systemd how they are.
func TestClusterUnits(t *testing.T) {
	for name, command := range map[string]string{"ergoflow-coordinator.service": "coordinator", "ergoflow-worker@.service": "worker", "ergoflow-server.service": "serve"} {
		s := unit(t, "systemd/"+name)
		words := strings.Fields(s["Service.ExecStart"])
		if len(words) < 2 || words[0] != "/usr/bin/ergoflow" || words[1] != command {
			t.Fatalf("%s: ExecStart=%s", name, s["Service.ExecStart"])
		}
		checkFlags(t, command, words[2:])
		for key, want := range map[string]string{
			"Service.Type": "notify", "Service.Restart": "always", "Service.KillMode": "mixed", "Service.DynamicUser": "yes",
			"Service.WatchdogSec": "30", "Install.WantedBy": "multi-user.target",
		} {
			if s[key] != want {
				t.Errorf("%s: %s=%s, want %s", name, key, s[key], want)
			}
		}
	}
}

func TestTimer(t *testing.T) {
	s := unit(t, "systemd/ergoflow-retrain.timer")
	if at := s["Timer.OnCalendar"]; !strings.HasSuffix(at, " UTC") {
		t.Errorf("OnCalendar=%s: systemd leaves out times that daylight saving skips, unless it is in UTC", at)
	}
	for key, want := range map[string]string{"Timer.Persistent": "true", "Install.WantedBy": "timers.target"} {
		if s[key] != want {
			t.Errorf("%s=%s, want %s", key, s[key], want)
		}
	}
}

// systemd itself reads the units. It says of an unknown setting only that, with code 0, so any
// output is an error.
func TestSystemdVerifies(t *testing.T) {
	analyze := tool(t, "systemd-analyze")
	root := t.TempDir()
	units, bin := filepath.Join(root, "etc/systemd/system"), filepath.Join(root, "usr/local/bin")
	for _, dir := range []string{units, bin, filepath.Join(root, "usr/bin")} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	put := func(dir, name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	program(t, filepath.Join(bin, "ergoflow"), "#!/bin/sh\n")
	for _, target := range []string{"basic", "multi-user", "network-online", "shutdown", "sysinit", "timers"} {
		put(units, target+".target", "[Unit]\nDescription="+target+"\n")
	}
	names := []string{"ergoflow-retrain.service", "ergoflow-retrain.timer", "ergoflow-coordinator.service", "ergoflow-worker@.service", "ergoflow-server.service"}
	for _, name := range names {
		put(units, name, read(t, "systemd/"+name))
	}
	program(t, filepath.Join(bin, "../../bin/ergoflow"), "#!/bin/sh\n")
	verify := func() string {
		out, err := exec.Command(analyze, append([]string{"verify", "--man=no", "--root=" + root}, names...)...).CombinedOutput()
		if err != nil {
			return err.Error() + "\n" + string(out)
		}
		return string(out)
	}
	if said := verify(); said != "" {
		t.Errorf("systemd-analyze verify: %s", said)
	}
	for _, name := range names {
		if !strings.HasSuffix(name, ".service") {
			continue
		}
		out, err := exec.Command(analyze, "security", "--offline=true", "--threshold=30", "--root="+root, name).CombinedOutput()
		lines := strings.Split(strings.TrimSpace(string(out)), "\n")
		t.Log(lines[len(lines)-1])
		if err != nil {
			t.Errorf("systemd-analyze security, %s: more exposed than 3.0: %v", name, err)
		}
	}
	put(units, names[0], strings.Replace(read(t, "systemd/"+names[0]), "NoNewPrivileges", "NoNewPrivilege", 1))
	if verify() == "" {
		t.Error("systemd-analyze verify passes an unknown setting: this test shows nothing")
	}
}

// codes are the exit codes of a retraining that another try would not change.
func codes() []int {
	const wrongConfiguration = 2
	return []int{wrongConfiguration, ergoflow.RetrainKept, ergoflow.RetrainRefused, ergoflow.RetrainOutOfBudget, ergoflow.RetrainSkipped}
}

// The comment and the guide name the codes.
func TestCodesAreDocumented(t *testing.T) {
	guide := read(t, "../docs/retraining.md")
	service := read(t, "systemd/ergoflow-retrain.service")
	for _, d := range []retraining.Decision{retraining.Kept, retraining.Refused, retraining.OutOfBudget, retraining.Skipped} {
		code := strconv.Itoa(d.Code())
		if !strings.Contains(guide, fmt.Sprintf("| %s | `%s` |", code, d)) {
			t.Errorf("docs/retraining.md does not say %s for %s", code, d)
		}
		if !strings.Contains(service, code+": ") {
			t.Errorf("the service does not explain %s", code)
		}
	}
}
