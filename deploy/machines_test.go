package deploy

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"
)

// threeMachines boots copies of one system on one network, with the package installed. They share
// what is below /srv/ergoflow, as by NFS, and the number of the user to whom it belongs.
func threeMachines(t *testing.T) (machines [3]*machine, addresses [3]string) {
	t.Helper()
	root := upgradable(t)
	store := t.TempDir()
	for i := range machines {
		dir := t.TempDir()
		for _, name := range []string{"root", "work", "upper/srv/ergoflow"} {
			if err := os.MkdirAll(filepath.Join(dir, name), 0o755); err != nil {
				t.Fatal(err)
			}
		}
		disk := fmt.Sprintf(`mount -t overlay none -o lowerdir=%s,upperdir=%s/upper,workdir=%s/work "$1"; mount --bind %s "$1/srv/ergoflow"`, root, dir, dir, store)
		addresses[i] = fmt.Sprintf("10.99.0.%d", i+1)
		machines[i] = boot(t, filepath.Join(dir, "root"), disk, addresses[i])
		if i > 0 {
			machines[0].plug(machines[i])
		}
		machines[i].run("dpkg", "--purge", "ergoflow")
		_, _ = machines[i].try("userdel", "ergoflow") // of an earlier test, of any number
		machines[i].run("useradd", "--system", "--uid", "990", "ergoflow")
		machines[i].install(packaged(t, "amd64"))
	}
	return machines, addresses
}

// plug connects another machine's network by a cable.
func (m *machine) plug(other *machine) {
	m.t.Helper()
	ip := func(at *machine, words ...string) {
		m.t.Helper()
		command := append([]string{"-t", strconv.Itoa(at.init), "-n", "ip", "link"}, words...)
		if out, err := exec.Command("nsenter", command...).CombinedOutput(); err != nil {
			m.t.Fatalf("ip link %v: %v\n%s", words, err, out)
		}
	}
	pid := strconv.Itoa(other.init)
	ip(m, "add", "to"+pid, "type", "veth", "peer", "name", "uplink", "netns", pid)
	ip(m, "set", "to"+pid, "master", "cluster", "up")
	ip(other, "set", "uplink", "master", "cluster", "up")
}

// redone counts, from the journals of machines of which the first has the coordinator, the steps
// that a worker which left had made and the next generation made again, and the generations that
// ended: each may have interrupted a step, which was begun again.
func redone(t *testing.T, machines []*machine) (steps, ended int) {
	t.Helper()
	number := func(text string) int {
		n, err := strconv.Atoi(text)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	base, last := make(map[int]int), 0 // the steps behind each generation when it began
	journal := machines[0].run("journalctl", "-o", "cat", "-u", coordinator)
	for _, found := range regexp.MustCompile(`generation (\d+) goes: \d+ workers from step (\d+)`).FindAllStringSubmatch(journal, -1) {
		last = max(last, number(found[1]))
		base[number(found[1])] = number(found[2])
	}
	left := 0
	leaving := regexp.MustCompile(`msg=leaving .*generation=(\d+) step=(\d+)`)
	for _, m := range machines {
		for _, found := range leaving.FindAllStringSubmatch(m.run("journalctl", "-o", "cat", "-u", "ergoflow-worker@*"), -1) {
			left++
			for next := number(found[1]) + 1; next <= last; next++ {
				if from, goes := base[next]; goes {
					steps += max(0, number(found[2])-from)
					break
				}
			}
		}
	}
	if len(base) < 2 || left == 0 {
		t.Fatalf("the journals tell of %d generations, and of %d workers that left\n%s", len(base), left, journal)
	}
	return steps, len(base) - 1
}

// TestThreeMachines trains on three machines that systemd has booted, each with its own network
// and a worker, the first with the coordinator, too. Then the units of all are upgraded, machine
// by machine: once to a package with the same program, once to another build of it.
func TestThreeMachines(t *testing.T) {
	machines, addresses := threeMachines(t)
	first := machines[0]
	token := first.coordinates()
	for i, m := range machines {
		m.works(token, addresses[i], workers[0])
	}
	watches := first.train(1000000)
	first.trains(3, 20)

	another := filepath.Join(t.TempDir(), "ergoflow")
	build(t, another, "-buildvcs=false")
	restarts := 0
	for _, upgrade := range []struct {
		name, program string
		remain        [3]int // workers that train after each machine
	}{
		{"the same build", "", [3]int{3, 3, 3}},
		{"another build", another, [3]int{3, 3, 3}}, // its numbers are the same
	} {
		deb := higher(t, upgrade.program)
		for k, i := range []int{2, 1, 0} { // the coordinator's machine is the last
			before := first.status().Step
			machines[i].install(deb)
			restarts++
			if i == 0 {
				restarts++
			}
			after := first.trains(upgrade.remain[k], 20)
			t.Logf("%s: machine %d upgraded at step %d; %d train at step %d", upgrade.name, i+1, before, after.World, after.Step)
			if after.Step < before {
				t.Errorf("step %d after step %d", after.Step, before)
			}
		}
	}
	select {
	case err := <-watches:
		t.Errorf("the command that watches the training has ended: %v", err)
	default:
	}
	steps, ended := redone(t, machines[:])
	t.Logf("%d restarts: %d steps made again; %d generations ended, and a step of each at most was begun again", restarts, steps, ended)
	if steps > restarts {
		t.Errorf("%d restarts, and %d steps were made again", restarts, steps)
	}
	t.Log("\n" + first.run("ergoflow", "status", "--dir", "/var/lib/ergoflow"))
	first.run("systemctl", "stop", coordinator) // the workers save
	t.Log("\n" + first.run("ergoflow", "verify", "run", "--dir", "/var/lib/ergoflow"))
}
