package main

import (
	"errors"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.etcd.io/bbolt"

	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/cmd/ergoflow/internal/hosts"
	"github.com/ergoflow/ergoflow/coordinator"
	"github.com/ergoflow/ergoflow/coordinator/checkpoint"
	"github.com/ergoflow/ergoflow/coordinator/consensus"
	"github.com/ergoflow/ergoflow/coordinator/machine"
)

// nextVersion builds this tree with other numbers: protocol, oldest protocol and numerics. The
// linker sets them, so the next version differs from this one as a release does, in its build
// and in what it says of itself, and its code needs no switch for tests.
func nextVersion(t *testing.T, numbers string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "ergoflow")
	build := exec.CommandContext(t.Context(), "go", "build", "-ldflags=-X 'github.com/ergoflow/ergoflow.linked="+numbers+"'", "-o", path, ".")
	if said, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build the next version: %v\n%s", err, said)
	}
	return path
}

// TestRollingUpgrade: three coordinators and two workers are replaced by the next version, one
// process at a time, while they train. No step is lost, and the parameters have the bits of an
// undisturbed run.
func TestRollingUpgrade(t *testing.T) {
	needE2E(t)
	hosts.Isolated(t, rollingUpgrade)
}

func rollingUpgrade(t *testing.T) {
	next := nextVersion(t, "2 1 1")
	e := tiny(t, 600, true)
	network := hosts.New(t)
	want := final(t, undisturbed(t, network.Host("alone"), e))
	c := startSeveral(t, network, 3, 2)
	c.submit(e)
	st := c.until("two workers train", training(2, 20))
	old := st.Version

	// Followers first, the leader last: leadership moves once.
	lead := c.leading()
	order := append(slices.DeleteFunc(slices.Clone(c.coordinators), func(d *daemon) bool { return d == lead }), lead)
	for i, d := range append(order, c.workers...) {
		before := c.until("two workers train", training(2, int(st.Step)+10))
		d.signal(syscall.SIGTERM)
		<-d.ended
		d.command[0] = next
		began := time.Now()
		d.start(t)
		if i < len(order) {
			c.agree()
		}
		st = c.until("two workers train after "+d.name+" was upgraded", training(2, int(before.Step)+1))
		t.Logf("%s upgraded at step %d; two train at step %d, %v after its start", d.name, before.Step, st.Step, time.Since(began).Round(time.Millisecond))
		if i == 0 {
			c.mixed(old)
		}
		if i == len(order)-1 { // the coordinators are new, and the workers old
			if st.Version == old || st.Protocol != 2 || slices.ContainsFunc(st.Workers, hasNot(old, 1)) {
				t.Errorf("between coordinators and workers: version %s, protocol %d, workers %+v", st.Version, st.Protocol, st.Workers)
			}
		}
	}
	if slices.ContainsFunc(st.Workers, hasNot(st.Version, 2)) {
		t.Errorf("in the end: version %s, workers %+v", st.Version, st.Workers)
	}
	for _, w := range c.workers {
		w.host.Unlimit() // nothing is left to disturb
	}
	c.finish()
	said := c.read(c.workers[0])
	if !strings.Contains(said, "protocol=1") || !strings.Contains(said, "protocol=2") {
		t.Errorf("the first worker has not spoken both protocols\n%s", said)
	}
	lead = c.leading()
	c.end()
	equalBits(t, "after a rolling upgrade", final(t, directoryOf(lead)), want)
}

// hasNot finds workers of another version or protocol.
func hasNot(version string, protocol uint32) func(w machine.WorkerStatus) bool {
	return func(w machine.WorkerStatus) bool { return w.Version != version || w.Protocol != protocol }
}

// mixed checks that the list of coordinators has two versions, of which the first is old.
func (c *severalCluster) mixed(old string) {
	c.t.Helper()
	versions := make(map[string]uint32)
	for _, m := range c.list().Members {
		versions[m.Version] = m.Protocol
	}
	if len(versions) != 2 || versions[old] != 1 {
		c.t.Errorf("the coordinators have versions and protocols %v, %s among them", versions, old)
	}
}

// TestUpgradeOfNumerics: a worker that computes by other numerics waits, and says why in the
// status. When the others have left, it goes on with their last step.
func TestUpgradeOfNumerics(t *testing.T) {
	needE2E(t)
	hosts.Isolated(t, upgradeOfNumerics)
}

func upgradeOfNumerics(t *testing.T) {
	next := nextVersion(t, "2 1 2")
	network := hosts.New(t)
	on := limitedHosts(network, "10mbit", "a", "b")
	dir := t.TempDir()
	c := startPlain(t, on, dir, filepath.Join(dir, "shards"))
	c.submit(tiny(t, 500, false))
	st := c.until("two workers train", training(2, 20))

	c.program = next
	third := network.Host("c")
	c.add(third, third.Address)
	c.until("a worker waits", func(st coordinator.Status) bool {
		return slices.ContainsFunc(st.Workers, func(w machine.WorkerStatus) bool {
			return w.State == "aside" && w.Numerics == 2 && strings.Contains(w.Reason, "numerics 2, and the run goes on by 1")
		})
	})
	shown, err := on[0].Command(t.Context(), next, "status", "--addr", on[0].Address+":7070").CombinedOutput()
	if text := string(shown); err != nil || !strings.Contains(text, "waits: it computes by numerics 2") || !strings.Contains(text, "versions  ") {
		t.Errorf("the next version's status: %v\n%s", err, text)
	}
	for _, w := range c.workers[:2] {
		st = c.until("the old ones train", func(now coordinator.Status) bool { return now.State == "training" && now.Step > st.Step })
		w.signal(syscall.SIGTERM)
		<-w.ended
	}
	first := c.until("the new one trains", func(now coordinator.Status) bool {
		return now.State == "training" && now.WorldSize == 1 && slices.ContainsFunc(now.Workers, func(w machine.WorkerStatus) bool { return w.Numerics == 2 && w.Rank == 0 })
	})
	if first.Step < st.Step {
		t.Errorf("step %d after step %d", first.Step, st.Step)
	}
	c.finish()
	if said := c.read(c.coordinator); !strings.Contains(said, "goes on by numerics 2 after 1") {
		t.Errorf("the coordinator does not warn\n%s", said)
	}
	c.workers = c.workers[2:]
	c.end()
}

// TestDowngradeRefused: a coordinator says which file a newer version has written, and leaves it
// as it is.
func TestDowngradeRefused(t *testing.T) {
	for name, path := range map[string]string{
		"coordinator.db": coordinator.LedgerPath("."), "checkpoints.db": coordinator.CheckpointPath("."), "raft.db": consensus.LogPath("."),
	} {
		dir := t.TempDir()
		stampFormat(t, filepath.Join(dir, path), "2")
		cmd, out := program(t.Context(), t, "coordinator", "--dir", dir)
		refused(t, cmd, out, exitFailure, "a newer ergoflow has written it", name+" has format 2", "reads formats up to 1")
		if !strings.Contains(out.String(), "restore the backup") {
			t.Errorf("no hint to upgrade\n%s", out)
		}
	}
	dir := t.TempDir()
	path := coordinator.CheckpointPath(dir)
	stampFormat(t, path, "2")
	if _, err := checkpoint.Open(path, true); !errors.Is(err, ergoflow.ErrNewer) {
		t.Error(err)
	}
}

// stampFormat makes a file of bbolt that says its format.
func stampFormat(t *testing.T, path, format string) {
	t.Helper()
	db, err := bbolt.Open(path, 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	err = db.Update(func(tx *bbolt.Tx) error {
		meta, err := tx.CreateBucket([]byte("meta"))
		if err != nil {
			return err
		}
		return meta.Put([]byte("format"), []byte(format))
	})
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
}
