package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"github.com/ergoflow/ergoflow/cmd/ergoflow/internal/hosts"
	"github.com/ergoflow/ergoflow/coordinator"
)

// pod is what a manifest of deploy/kubernetes has a pod run.
type pod struct {
	args, probe []string
}

func readPod(t *testing.T, path string) pod {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var manifest struct {
		Spec struct {
			Template struct {
				Spec struct {
					Containers []struct {
						Args         []string `yaml:"args"`
						StartupProbe struct {
							Exec struct {
								Command []string `yaml:"command"`
							} `yaml:"exec"`
						} `yaml:"startupProbe"`
					} `yaml:"containers"`
				} `yaml:"spec"`
			} `yaml:"template"`
		} `yaml:"spec"`
	}
	if err := yaml.NewDecoder(strings.NewReader(string(text))).Decode(&manifest); err != nil { // the first document
		t.Fatal(err)
	}
	containers := manifest.Spec.Template.Spec.Containers
	if len(containers) != 1 || len(containers[0].Args) == 0 {
		t.Fatalf("%s has no container with arguments", path)
	}
	return pod{containers[0].Args, containers[0].StartupProbe.Exec.Command}
}

// inPod are words for a pod on a host. Volumes are below root: the store is shared, other paths
// are the pod's own.
func inPod(words []string, h *hosts.Host, root string) (placed []string) {
	r := strings.NewReplacer("$(POD_IP)", h.Address, "/srv/", filepath.Join(root, "srv")+"/",
		"/var/lib/", filepath.Join(root, h.Name)+"/", "/run/secrets/", filepath.Join(root, "secrets")+"/")
	for _, word := range words {
		placed = append(placed, r.Replace(word))
	}
	return placed
}

// TestPods runs the commands of the pods of deploy/kubernetes on hosts, which have the pods'
// addresses and the headless service's name, and does what the chart's notes say.
func TestPods(t *testing.T) {
	needE2E(t)
	hosts.Isolated(t, pods)
}

func pods(t *testing.T) {
	const manifests = "../../deploy/kubernetes/"
	network := hosts.New(t)
	a, b, d := network.Host("a"), network.Host("b"), network.Host("d")
	network.Names("ergoflow-coordinator-headless", a.Address)
	root := t.TempDir()
	dir := filepath.Join(root, "a", "ergoflow", "coordinator")
	c := newHosts(t, []*hosts.Host{a}, dir, "")
	first := readPod(t, manifests+"coordinator.yaml")
	c.coordinator.command = append([]string{c.program}, inPod(first.args, a, root)...)
	c.coordinator.start(t)

	probe := inPod(first.probe[1:], a, root)
	c.healthy(probe)
	said, err := a.Command(t.Context(), c.program, "tokens", "create", "--dir", dir, "--ttl", "8760h", "--uses", "10000").Output()
	words := strings.Fields(string(said))
	if err != nil || len(words) == 0 {
		t.Fatalf("tokens create: %q, %v", said, err)
	}
	secret := filepath.Join(root, "secrets", "ergoflow")
	if err := os.MkdirAll(secret, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(secret, "token"), []byte(words[len(words)-1]), 0o400); err != nil {
		t.Fatal(err)
	}

	worker := readPod(t, manifests+"workers.yaml")
	for _, h := range []*hosts.Host{b, d} {
		c.addAs(h, inPod(worker.args, h, root))
	}
	c.connect(c.operator())
	st := c.until("two workers are there", func(st coordinator.Status) bool { return len(st.Workers) == 2 && st.Secured })
	for _, w := range st.Workers {
		if !strings.HasSuffix(w.Addr, ":7072") {
			t.Errorf("a worker's data port is at %s", w.Addr)
		}
	}
	at, err := coordinator.ReadAddresses(dir)
	if err != nil || at.Control != a.Address+":7070" || at.Join != a.Address+":7071" || at.NATS != "nats://"+a.Address+":7073" || at.Gossip != a.Address+":7946" {
		t.Errorf("the coordinator is at %+v, %v", at, err)
	}

	// Another pod with the same volume does not start, and says who has it.
	second := append(inPod(first.args, b, root), "--dir="+dir)
	refused, err := b.Command(t.Context(), c.program, second...).CombinedOutput()
	if err == nil || !strings.Contains(string(refused), "another coordinator runs on this directory: "+dir) || !strings.Contains(string(refused), at.Control) {
		t.Errorf("a second coordinator says %q, %v", refused, err)
	}

	c.submit(tiny(t, 50, false))
	c.finish()
	c.end()
}
