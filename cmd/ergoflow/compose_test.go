package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"github.com/ergoflow/ergoflow/cmd/ergoflow/internal/hosts"
	"github.com/ergoflow/ergoflow/coordinator"
)

const composeDir = "../../deploy/compose"

// A service is what compose.yaml says of one.
type service struct {
	Entrypoint  []string `yaml:"entrypoint"`
	Command     []string `yaml:"command"`
	Volumes     []string `yaml:"volumes"`
	Tmpfs       []string `yaml:"tmpfs"`
	Healthcheck struct {
		Test []string `yaml:"test"`
	} `yaml:"healthcheck"`
}

func readCompose(t *testing.T) map[string]service {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(composeDir, "compose.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Services map[string]service `yaml:"services"`
	}
	text = regexp.MustCompile(`\$\{[A-Z_]+:-([^}]*)\}`).ReplaceAll(text, []byte("$1")) // no variable is set
	if err := yaml.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	return file.Services
}

// A container is a service on a host: its volumes are directories below root, which services
// share where compose.yaml says so.
type container struct {
	service
	paths *strings.Replacer // of the container → of this machine
}

func contain(t *testing.T, s service, h *hosts.Host, root string) container {
	t.Helper()
	var pairs []string
	place := func(target, source string) {
		if strings.HasPrefix(source, "./") {
			source = filepath.Join(root, source)
		} else {
			source = filepath.Join(root, "volumes", source)
			if err := os.MkdirAll(source, 0o700); err != nil {
				t.Fatal(err)
			}
		}
		pairs = append(pairs, target, source)
	}
	for _, volume := range s.Volumes {
		parts := strings.Split(volume, ":")
		place(parts[1], parts[0])
	}
	for _, target := range s.Tmpfs {
		place(target, h.Name+target)
	}
	return container{s, strings.NewReplacer(pairs...)}
}

// words are those of the container for this machine.
func (c container) words(list []string) []string {
	placed := slices.Clone(list)
	for i, word := range placed {
		placed[i] = c.paths.Replace(word)
	}
	return placed
}

// TestCompose runs the commands of deploy/compose on hosts, which have the services' names: a
// NATS server, with its certificates made by the script, a coordinator, and two workers, which
// join by the token that the service token has made. No container engine runs.
func TestCompose(t *testing.T) {
	needE2E(t)
	hosts.Isolated(t, compose)
}

func compose(t *testing.T) {
	services := readCompose(t)
	root := t.TempDir()
	server := filepath.Join(root, "nats-server")
	for _, command := range [][]string{
		{"go", "build", "-o", server, "github.com/nats-io/nats-server/v2"},
		{filepath.Join(composeDir, "certificates.sh"), filepath.Join(root, "certificates")},
	} {
		if said, err := exec.Command(command[0], command[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%q: %v\n%s", command, err, said)
		}
	}
	network := hosts.New(t)
	n, a, b, d := network.Host("n"), network.Host("a"), network.Host("b"), network.Host("d")
	network.Names("nats", n.Address)
	network.Names("coordinator", a.Address)

	queue := contain(t, services["nats"], n, root)
	conf, err := os.ReadFile(filepath.Join(composeDir, "nats.conf"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(root, "nats.conf"), []byte(queue.paths.Replace(string(conf))), 0o600); err != nil {
		t.Fatal(err)
	}
	nats := &daemon{name: "nats", host: n, log: filepath.Join(root, "nats.log"), command: append([]string{server}, queue.words(queue.Command)...)}
	nats.start(t)
	defer nats.kill()

	leader := contain(t, services["coordinator"], a, root)
	c := newHosts(t, []*hosts.Host{a}, leader.paths.Replace("/var/lib/ergoflow"), "")
	c.coordinator.command = append([]string{c.program}, leader.words(leader.Command)...)
	c.coordinator.start(t)
	health := leader.words(leader.Healthcheck.Test)
	if health[0] != "CMD" || health[1] != "ergoflow" {
		t.Fatalf("the coordinator's health check is %q", health)
	}
	c.healthy(health[2:])

	token := contain(t, services["token"], a, root)
	command := token.words(append(slices.Clone(token.Entrypoint), token.Command...))
	for range 2 { // each `docker compose up` runs it
		script := a.Command(t.Context(), command[0], command[1:]...)
		script.Env = append(os.Environ(), "PATH="+filepath.Dir(c.program)+":"+os.Getenv("PATH"))
		if said, err := script.CombinedOutput(); err != nil || len(said) > 0 {
			t.Fatalf("the service token: %v\n%s", err, said)
		}
	}

	for _, h := range []*hosts.Host{b, d} {
		follower := contain(t, services["worker"], h, root)
		c.addAs(h, follower.words(follower.Command))
	}
	c.connect(c.operator())
	c.until("two workers are there", func(st coordinator.Status) bool { return len(st.Workers) == 2 && st.Secured })
	at, err := coordinator.ReadAddresses(c.dir)
	if err != nil || at.NATS != "tls://nats:4222" {
		t.Errorf("the jobs are at %s, %v", at.NATS, err)
	}
	c.submit(tiny(t, 50, false))
	c.finish()
	if streams, err := os.ReadDir(filepath.Join(queue.paths.Replace("/data"), "jetstream")); err != nil || len(streams) == 0 {
		t.Errorf("the NATS server has stored nothing: %v, %v", streams, err)
	}
	c.end()
}
