package deploy

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// The address of the cluster in the booted system. It has no network but this interface.
const bootAddress = "10.99.0.1"

// enterScript makes the system in the directory $1, which $2 mounts, the whole of what is to be
// seen, with a network of its own and the address $3 there. It makes device nodes in the system:
// with those of this machine, getty would change their permissions here. $4 mounts cgroups, $5
// goes on in the system.
const enterScript = `set -e
mount --make-rprivate /
eval "$2"
cd "$1"
mount -t proc none proc
mount -t tmpfs none run
mount -t tmpfs none dev
address=$3 cgroups=$4 then=$5
for node in "null 1 3" "zero 1 5" "full 1 7" "random 1 8" "urandom 1 9" "tty 5 0"; do
  set -- $node; mknod -m 666 dev/$1 c $2 $3
done
ln -s /proc/self/fd dev/fd
ln -s fd/0 dev/stdin
mkdir -p dev/shm dev/pts
mount -t tmpfs none dev/shm
mount -t sysfs -o ro none sys
eval "$cgroups"
hostname debian
ip link set lo up
ip link add cluster type bridge
ip addr add $address/24 dev cluster
ip link set cluster up
mkdir -p oldroot
pivot_root . oldroot
umount -l oldroot
export PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/srv
eval "$then"
`

// A machine is a system in namespaces of its own.
type machine struct {
	t       *testing.T
	root    string   // directory
	console string   // file
	init    int      // its process, as this machine sees it
	command []string // before `ergoflow status`, where the coordinator is in a container
}

// The script that mounts a system's directory, where it is all that the system has.
const inPlace = `mount --bind "$1" "$1"`

// Cgroups of a machine's own.
const ownCgroups = "mount -t tmpfs none sys/fs/cgroup; mount -t cgroup2 none sys/fs/cgroup"

// enter starts a machine in a directory that a script mounts: with an address, with cgroups
// mounted by a script, and the script that is its first process.
func enter(t *testing.T, root, disk, address, cgroups, script string) *machine {
	t.Helper()
	log, err := os.Create(filepath.Join(t.TempDir(), "console"))
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	cmd := exec.Command("unshare", "--mount", "--pid", "--uts", "--ipc", "--cgroup", "--net", "--fork", "--kill-child", "sh", "-c", enterScript, "sh", root, disk, address, cgroups, script)
	cmd.Stdout, cmd.Stderr = log, log
	// It ends with this test, also where that is killed: with the thread that has started it.
	runtime.LockOSThread()
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Signal(syscall.SIGKILL) // unshare ignores SIGTERM
		cmd.Wait()
	})
	m := &machine{t: t, root: root, console: log.Name()}
	children := fmt.Sprintf("/proc/%d/task/%d/children", cmd.Process.Pid, cmd.Process.Pid)
	m.until("it has a first process", func() bool {
		text, _ := os.ReadFile(children)
		m.init, _ = strconv.Atoi(strings.TrimSpace(string(text)))
		return m.init != 0
	})
	return m
}

// boot starts a machine with systemd.
func boot(t *testing.T, root, disk, address string) *machine {
	t.Helper()
	m := enter(t, root, disk, address, ownCgroups, "mount --make-rshared /; exec env -i container=unshare PATH=$PATH /sbin/init")
	m.until("systemd is up", func() bool {
		said, _ := m.try("systemctl", "is-system-running")
		return said == "running" || said == "degraded"
	})
	m.root = fmt.Sprintf("/proc/%d/root", m.init) // with what is mounted there
	return m
}

// until polls another system.
func (m *machine) until(what string, done func() bool) {
	m.t.Helper()
	for deadline := time.Now().Add(5 * time.Minute); !done(); {
		if time.Now().After(deadline) {
			m.t.Fatalf("waited too long until %s\n%s", what, m.said())
		}
		<-time.After(100 * time.Millisecond)
	}
}

// try runs a command in the machine, and returns what it prints.
func (m *machine) try(command ...string) (string, error) {
	if m.init == 0 {
		return "", os.ErrProcessDone
	}
	out, err := exec.Command("nsenter", append([]string{"-t", strconv.Itoa(m.init), "-a", "--"}, command...)...).Output()
	return strings.TrimSpace(string(out)), err
}

// said is the end of the journal, and of the console.
func (m *machine) said() string {
	journal, _ := m.try("journalctl", "-o", "cat", "-n", "60")
	console, _ := os.ReadFile(m.console)
	return journal + "\n-- console\n" + string(console)
}

func (m *machine) run(command ...string) string {
	m.t.Helper()
	said, err := m.try(command...)
	if err != nil {
		if exit, is := errors.AsType[*exec.ExitError](err); is {
			said += "\n" + string(exit.Stderr)
		}
		m.t.Fatalf("%s: %v\n%s\n%s", strings.Join(command, " "), err, said, m.said())
	}
	return said
}

// property is one of a unit's.
func (m *machine) property(unit, name string) string {
	m.t.Helper()
	return m.run("systemctl", "show", "--value", "-p", name, unit)
}

// write writes a file of the machine.
func (m *machine) write(path, text string) {
	m.t.Helper()
	path = filepath.Join(m.root, path)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		m.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		m.t.Fatal(err)
	}
}

// clusterStatus is what the test reads of `ergoflow status --json`.
type clusterStatus struct {
	State   string `json:"state"`
	World   int    `json:"world_size"`
	Step    int    `json:"step"`
	Failure string `json:"failure"`
}

func (m *machine) status() (st clusterStatus) {
	m.t.Helper()
	said, _ := m.try(append(slices.Clone(m.command), "ergoflow", "status", "--dir", "/var/lib/ergoflow", "--json")...)
	_ = json.Unmarshal([]byte(said), &st) // while the coordinator restarts there is none
	return st
}

// trains waits until that many workers have made some steps more.
func (m *machine) trains(workers, more int) clusterStatus {
	m.t.Helper()
	var st clusterStatus
	from := -1
	m.until(fmt.Sprintf("%d train", workers), func() bool {
		st = m.status()
		if st.State != "training" || st.World != workers {
			return false
		}
		if from < 0 {
			from = st.Step
		}
		return st.Step >= from+more
	})
	return st
}

// The units of the cluster.
const coordinator = "ergoflow-coordinator"

var workers = []string{"ergoflow-worker@0", "ergoflow-worker@1"}

// bootable removes what an earlier test has left in a Debian system, so that it can be booted.
func bootable(t *testing.T, root string) *machine {
	t.Helper()
	for _, old := range []string{"var/lib/private", "var/lib/ergoflow", "var/log/journal", "srv/ergoflow", "etc/systemd/system/console-getty.service"} {
		if err := os.RemoveAll(filepath.Join(root, old)); err != nil {
			t.Fatal(err)
		}
	}
	enabled, err := filepath.Glob(filepath.Join(root, "etc/systemd/system/multi-user.target.wants/ergoflow*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, link := range enabled {
		if err := os.Remove(link); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("/dev/null", filepath.Join(root, "etc/systemd/system/console-getty.service")); err != nil {
		t.Fatal(err)
	}
	return &machine{t: t, root: root}
}

// coordinates starts the coordinator's unit, as docs/deploy.md says, and returns the token that it
// prints.
func (m *machine) coordinates() (token string) {
	m.t.Helper()
	m.write("etc/default/ergoflow-coordinator", fmt.Sprintf("OPTIONS=--listen %[1]s:7070 --gossip %[1]s:7946 --join %[1]s:7071 --store /srv/ergoflow/shards\n", bootAddress))
	m.run("install", "-d", "-o", "ergoflow", "/srv/ergoflow")
	m.run("systemctl", "enable", "--now", coordinator) // returns when it is ready
	found := regexp.MustCompile(`--token (ERGO1\S+)`).FindStringSubmatch(m.run("journalctl", "-o", "cat", "-u", coordinator))
	if found == nil {
		m.t.Fatal("the coordinator's journal has no command to join by")
	}
	return found[1]
}

// works starts units of workers, which join the coordinator of bootAddress from another address.
func (m *machine) works(token, address string, units ...string) {
	m.t.Helper()
	m.write("etc/default/ergoflow-worker", fmt.Sprintf("OPTIONS=--join %s:7071 --listen %[2]s:0 --gossip %[2]s:0 --backend go --threads 1\n", bootAddress, address))
	m.write("etc/ergoflow/token", token+"\n")
	m.run(append([]string{"systemctl", "enable", "--now"}, units...)...)
}

// train starts a training of so many steps, and returns how the command that watches it ends.
func (m *machine) train(steps int) (watches <-chan error) {
	m.t.Helper()
	train := exec.Command("nsenter", "-t", strconv.Itoa(m.init), "-a", "--", "ergoflow", "train", "vn1d", "--preset", "smoke", "--dir", "/var/lib/ergoflow",
		"--set", "data.shards=8", fmt.Sprintf("--set=training.steps=%d", steps), "--set", "training.checkpoint_every=50")
	if err := train.Start(); err != nil {
		m.t.Fatal(err)
	}
	result, ended := make(chan error, 1), make(chan struct{})
	go func() {
		result <- train.Wait()
		close(ended)
	}()
	m.t.Cleanup(func() {
		train.Process.Kill()
		<-ended
	})
	return result
}

// begin starts the units of coordinator and workers on one machine, and a training.
func (m *machine) begin(steps int) (watches <-chan error) {
	m.t.Helper()
	m.works(m.coordinates(), bootAddress, workers...)
	watches = m.train(steps)
	m.trains(2, 20)
	return watches
}

// server is the unit of the server.
const server = "ergoflow-server.service"

// serves runs the server's unit: it waits for a model, answers once there is one, drains at its
// stop, and starts again after a kill.
func (m *machine) serves() {
	m.t.Helper()
	m.write("etc/default/ergoflow-server", "OPTIONS=--listen 127.0.0.1:8080\n")
	if _, err := m.try("systemctl", "start", server); err == nil {
		m.t.Error("the server starts without a model")
	}
	m.run("ergoflow", "models", "add", "vn1d", "--registry", "/var/lib/ergoflow/models", "--checkpoint", "/var/lib/ergoflow")
	m.run("ergoflow", "models", "promote", "vn1d@1", "--registry", "/var/lib/ergoflow/models")
	m.run("chown", "-R", "--reference=/var/lib/ergoflow/", "/var/lib/ergoflow/models")
	m.until("it serves", func() bool { return m.property(server, "ActiveState") == "active" })
	ask := func() string {
		return m.run("bash", "-c", `exec 3<>/dev/tcp/127.0.0.1/8080; body='{"drift":"-x","diffusion":"1","n":10}'; printf 'POST /v1/sample HTTP/1.0\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s' ${#body} "$body" >&3; cat <&3`)
	}
	if answer := ask(); !strings.Contains(answer, "200 OK") || !strings.Contains(answer, "certificate") {
		m.t.Errorf("the server answers %s", answer)
	}
	m.run("systemctl", "kill", "-s", "KILL", server)
	m.until("it is started again", func() bool {
		return m.property(server, "ActiveState") == "active" && m.property(server, "NRestarts") != "0"
	})
	ask()
	m.run("systemctl", "stop", server)
	if result := m.property(server, "Result"); result != "success" {
		m.t.Errorf("%s ends with %s", server, result)
	}
}

// TestBoot runs a cluster by the units, in a Debian system that systemd has booted: it starts,
// a worker is killed, one has notice of its machine's end, one is drained, one stands still, and
// all are upgraded, while training goes on.
func TestBoot(t *testing.T) {
	root := debian(t, "systemd", "systemd", "systemd-sysv", "dbus", "iproute2")
	build(t, filepath.Join(root, "usr/bin/ergoflow"))
	fresh := bootable(t, root)
	for _, name := range []string{"ergoflow-coordinator.service", "ergoflow-worker@.service", "ergoflow-server.service"} {
		fresh.write("etc/systemd/system/"+name, read(t, "systemd/"+name))
	}
	fresh.write("etc/default/ergoflow-worker-1", "ERGOFLOW_DRAIN_WHEN=test -e /run/notice\n")
	fresh.write("etc/systemd/system/ergoflow-worker@.service.d/short.conf", "[Service]\nWatchdogSec=3\n")

	m := boot(t, root, inPlace, bootAddress)
	if _, err := m.try("id", "ergoflow"); err != nil {
		m.run("useradd", "--system", "ergoflow")
	}
	watches := m.begin(8000)
	if text := m.property(workers[0], "StatusText"); !strings.Contains(text, "joined") {
		t.Errorf("systemctl status says %q", text)
	}

	// A worker is killed: systemd starts it again.
	m.run("systemctl", "kill", "-s", "KILL", workers[1])
	m.until("it is started again", func() bool { return m.property(workers[1], "NRestarts") == "1" })
	m.trains(2, 20)

	// Its machine is about to end: it drains, and what is started then waits.
	m.run("touch", "/run/notice")
	m.until("it has left", func() bool { return m.property(workers[1], "ActiveState") == "activating" })
	m.trains(1, 20)
	if state := m.property(workers[1], "ActiveState"); state != "activating" {
		t.Errorf("after the notice it is %s", state)
	}
	m.run("rm", "/run/notice")
	m.trains(2, 20)

	// One is drained: it leaves by itself, long before the time limit of its stop.
	began := time.Now()
	m.run("systemctl", "stop", workers[1])
	took := time.Since(began)
	if result := m.property(workers[1], "Result"); result != "success" || took > 10*time.Second {
		t.Errorf("the drain took %v, with the result %s", took, result)
	}
	m.trains(1, 20)
	m.run("systemctl", "start", workers[1])
	m.trains(2, 20)

	// One stands still: the watchdog ends it.
	m.run("systemctl", "kill", "-s", "STOP", workers[1])
	m.until("the watchdog has ended it", func() bool { return m.property(workers[1], "NRestarts") == "1" })
	m.trains(2, 20)

	// All are upgraded, one after the other, and training does not go back behind a step that the
	// status has shown.
	replaced := filepath.Join(root, "usr/bin/ergoflow")
	text, err := os.ReadFile(replaced)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(replaced+".new", text, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(replaced+".new", replaced); err != nil {
		t.Fatal(err)
	}
	for _, unit := range append([]string{coordinator}, workers...) {
		before := m.status().Step
		m.run("systemctl", "restart", unit)
		after := m.trains(2, 5)
		t.Logf("%s restarted at step %d; two train at step %d", unit, before, after.Step)
		if after.Step < before {
			t.Errorf("%s: step %d after step %d", unit, after.Step, before)
		}
	}
	if err := <-watches; err != nil {
		t.Errorf("the training: %v\n%s", err, m.run("ergoflow", "status", "--dir", "/var/lib/ergoflow"))
	}
	m.run("ergoflow", "verify", "run", "--dir", "/var/lib/ergoflow")
	m.serves()
	for _, unit := range append(workers, coordinator) {
		m.run("systemctl", "stop", unit)
		if result := m.property(unit, "Result"); result != "success" {
			t.Errorf("%s ends with %s", unit, result)
		}
	}
}
