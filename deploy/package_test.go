package deploy

import (
	"debug/elf"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/ergoflow/ergoflow"
)

// release makes the packages once for all tests.
var release = sync.OnceValue(func() error {
	out, err := exec.Command("make", "-C", "..", "release", "ALLOW_DIRTY=1").CombinedOutput()
	if err != nil {
		return fmt.Errorf("make release: %w\n%s", err, out)
	}
	return nil
})

// packaged makes the packages, and returns the path of that for a kind of processor.
func packaged(t *testing.T, arch string) string {
	t.Helper()
	if err := release(); err != nil {
		t.Fatal(err)
	}
	return filepath.Join("../bin/release", "ergoflow_"+ergoflow.Version+"_"+arch+".deb")
}

// TestDebianPackage makes the packages, and installs, upgrades, removes and purges that of this
// machine's kind in a Debian system.
func TestDebianPackage(t *testing.T) {
	root := debian(t, "package", "passwd", "bash-completion")
	in := func(command ...string) (string, error) {
		cmd := exec.Command("chroot", append([]string{root}, command...)...)
		cmd.Env = []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "DEBIAN_FRONTEND=noninteractive"}
		out, err := cmd.CombinedOutput()
		return strings.TrimSpace(string(out)), err
	}
	run := func(command ...string) string {
		t.Helper()
		said, err := in(command...)
		if err != nil {
			t.Fatalf("%s: %v\n%s", strings.Join(command, " "), err, said)
		}
		return said
	}
	run("dpkg", "--purge", "ergoflow")

	// Each package has a program for its processor.
	for arch, machine := range map[string]elf.Machine{"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64} {
		dir := t.TempDir()
		if out, err := exec.Command("dpkg-deb", "-x", packaged(t, arch), dir).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		f, err := elf.Open(filepath.Join(dir, "usr/bin/ergoflow"))
		if err != nil {
			t.Fatal(err)
		}
		if f.Machine != machine {
			t.Errorf("%s: the program is for %v", arch, f.Machine)
		}
		if libraries, err := f.ImportedLibraries(); arch == "arm64" && (err != nil || len(libraries) > 0) {
			t.Errorf("arm64: the program needs %v (%v)", libraries, err)
		}
		f.Close()
	}

	install := func(from string) {
		t.Helper()
		text, err := os.ReadFile(from)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(root, "ergoflow.deb"), text, 0o644); err != nil {
			t.Fatal(err)
		}
		run("dpkg", "-i", "/ergoflow.deb")
	}
	install(packaged(t, "amd64"))
	if said := run("ergoflow", "version"); !strings.HasPrefix(said, "ergoflow "+ergoflow.Version) {
		t.Errorf("ergoflow version: %s", said)
	}
	run("getent", "passwd", "ergoflow")
	for file, want := range map[string]string{
		"/usr/bin/ergoflow": "root:root 755",
		"/lib/systemd/system/ergoflow-coordinator.service": "root:root 644",
		"/lib/systemd/system/ergoflow-server.service":      "root:root 644",
		"/usr/share/bash-completion/completions/ergoflow":  "root:root 644",
		"/usr/share/man/man1/ergoflow-worker.1.gz":         "root:root 644",
		"/usr/share/ergoflow/spot/aws":                     "root:root 755",
		"/usr/share/ergoflow/slurm/cluster.sbatch":         "root:root 644",
		"/usr/share/doc/ergoflow/copyright":                "root:root 644",
		"/etc/default/ergoflow-worker":                     "root:root 644",
		"/lib/systemd/system":                              "root:root 755",
	} {
		if got := run("stat", "-c", "%U:%G %a", file); got != want {
			t.Errorf("%s: %s, want %s", file, got, want)
		}
	}
	if said := run("bash", "-c", `. /usr/share/bash-completion/bash_completion; . /usr/share/bash-completion/completions/ergoflow; complete -p ergoflow`); !strings.Contains(said, "ergoflow") {
		t.Errorf("completion: %s", said)
	}

	// An upgrade keeps what an administrator has written.
	if err := os.WriteFile(filepath.Join(root, "etc/default/ergoflow-worker"), []byte("OPTIONS=mine\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	install(higher(t, ""))
	if got := run("dpkg-query", "-W", "-f", "${Version}", "ergoflow"); got != ergoflow.Version+".1" {
		t.Errorf("after the upgrade: version %s", got)
	}
	if got := run("cat", "/etc/default/ergoflow-worker"); got != "OPTIONS=mine" {
		t.Errorf("after the upgrade: %q", got)
	}

	run("mkdir", "-p", "/var/lib/private/ergoflow", "/var/lib/ergoflow-worker-0", "/var/cache/ergoflow", "/srv/ergoflow/shards")
	run("dpkg", "-r", "ergoflow")
	run("stat", "/etc/default/ergoflow-worker", "/var/lib/private/ergoflow")
	run("dpkg", "--purge", "ergoflow")
	if said := run("find", "/usr", "/etc", "/var", "/lib/systemd", "-name", "*ergoflow*"); said != "" {
		t.Errorf("the purge leaves %s", said)
	}
	run("stat", "/srv/ergoflow/shards")
}

// repack makes the package $1 one of a higher version, $2.deb. If $3 is a program, it has that one.
const repack = `set -e
dpkg-deb -R "$1" "$2"
sed -i 's/^Version: .*/&.1/' "$2/DEBIAN/control"
[ -z "$3" ] || cp "$3" "$2/usr/bin/ergoflow"
dpkg-deb --root-owner-group -Znone -b "$2" "$2.deb"
`

// higher is the package in a higher version, with another program if one is named.
func higher(t *testing.T, program string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "higher")
	if out, err := exec.Command("sh", "-c", repack, "sh", packaged(t, "amd64"), path, program).CombinedOutput(); err != nil {
		t.Fatalf("repack: %v\n%s", err, out)
	}
	return path + ".deb"
}

// upgradable is a system that systemd boots, for the package.
func upgradable(t *testing.T) (root string) {
	t.Helper()
	return bootable(t, debian(t, "upgrade", "systemd", "systemd-sysv", "dbus", "iproute2", "passwd")).root
}

// install installs a package, or upgrades to it. What an administrator has written stays.
func (m *machine) install(path string) {
	m.t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		m.t.Fatal(err)
	}
	m.write("ergoflow.deb", string(text))
	m.run("dpkg", "--install", "--force-confold", "/ergoflow.deb")
}

// TestPackageUpgrade installs the package in a booted system, trains by its units, and installs
// it again: dpkg takes that for an upgrade. All units start anew, and training goes on. Removing it
// stops them.
func TestPackageUpgrade(t *testing.T) {
	m := boot(t, upgradable(t), inPlace, bootAddress)
	m.run("dpkg", "--purge", "ergoflow") // of an earlier test
	m.install(packaged(t, "amd64"))
	watches := m.begin(8000)

	units := append([]string{coordinator}, workers...)
	started := make(map[string]string)
	for _, unit := range units {
		started[unit] = m.property(unit, "InvocationID")
	}
	before := m.status().Step
	m.install(packaged(t, "amd64"))
	after := m.trains(2, 20)
	t.Logf("upgraded at step %d; two train at step %d", before, after.Step)
	if after.Step < before {
		t.Errorf("step %d after step %d", after.Step, before)
	}
	for _, unit := range units {
		if m.property(unit, "InvocationID") == started[unit] {
			t.Errorf("%s was not restarted", unit)
		}
	}
	if err := <-watches; err != nil {
		t.Errorf("the training: %v\n%s", err, m.said())
	}
	m.run("ergoflow", "verify", "run", "--dir", "/var/lib/ergoflow")

	m.run("dpkg", "--remove", "ergoflow")
	for _, unit := range units {
		if state := m.property(unit, "ActiveState"); state == "active" {
			t.Errorf("%s is still %s", unit, state)
		}
	}
}
