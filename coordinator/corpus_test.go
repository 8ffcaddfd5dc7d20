package coordinator

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"go.etcd.io/bbolt"

	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/coordinator/machine"
	"github.com/ergoflow/ergoflow/coordinator/queue"
	"github.com/ergoflow/ergoflow/coordinator/schedule"
	"github.com/ergoflow/ergoflow/internal/corpus"
	"github.com/ergoflow/ergoflow/internal/trust"
)

// What a coordinator of each release has in its directory is read: its ledger, alone and as
// several share it, and its addresses.
func TestCorpus(t *testing.T) {
	corpus.Check(t, "coordinator", func(dir string) { writeCorpus(t, dir) }, func(dir string) any { return readCorpus(t, dir) })
}

func writeCorpus(t *testing.T, dir string) {
	l, err := openLedger(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer l.close()
	at := time.Unix(1_700_000_000, 0).UTC()
	one := exampleLedger(7)
	one.Entry, one.Numerics = 2, 1
	ended := machine.Ledger{Generation: 3, Plan: one.Plan, Until: machine.StageGenerate, Finished: true}
	tokens := []trust.Joining{{ID: "t", Hash: "00ff", Role: trust.Worker, Created: at, Expires: at.Add(time.Hour), Uses: 3, Revoked: true}}
	addresses := Addresses{PID: 7, Version: "v1", Control: "127.0.0.1:1", Gossip: "127.0.0.1:2", Join: "127.0.0.1:4", HTTP: "127.0.0.1:5", NATS: "nats://127.0.0.1:3"}
	for _, err := range []error{
		l.persist(0, one), l.persist(2, ended), l.store(keyTokens, tokens), l.store(keyCluster, "lab"),
		l.storeHere(keyAddresses, addresses), addresses.write(dir),
		l.persistQueue(queue.Persist{Next: 3,
			Runs: []queue.Run{
				{ID: 1, Kind: queue.Retrain, State: queue.Ended, Name: "/c.yaml", Config: "/c.yaml", Schedule: "nightly", Scheduled: at, Submitted: at, Ended: at, Outcome: queue.Skipped, Reason: "paused"},
				{ID: 2, Kind: queue.Train, State: queue.Running, Name: "vn1d/smoke", Run: one.Plan.Run, Plan: one.Plan, Priority: 5, Place: 2, Submitted: at, Started: at, Attempt: 1, Requests: []string{"r"}},
			},
			Schedules: []queue.Schedule{{Name: "nightly", Spec: "30 2 * * *", Zone: "Europe/Berlin", Config: "/c.yaml", PauseAfter: 5, Added: at, State: schedule.State{Decided: at}}},
		}),
		l.revoke(trust.Revocations{
			Serials:    []trust.RevokedSerial{{Serial: "0123456789abcdef0123456789abcdef", Time: at}},
			Identities: []trust.RevokedIdentity{{Identity: trust.Identity{Cluster: "lab", Role: trust.Worker, Name: "gpu-1"}, Time: at}},
		}),
		l.Apply(41, nil),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	started, err := set(bucketStarts, []byte("id"), uint64(4))
	if err != nil {
		t.Fatal(err)
	}
	entry, err := json.Marshal([]change{started})
	if err == nil {
		err = l.Apply(42, entry)
	}
	if err != nil {
		t.Fatal(err)
	}
	snapshot, err := l.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	corpus.Put(t, dir, "entry.json", entry)
	corpus.Put(t, dir, "snapshot.json", snapshot)
}

func readCorpus(t *testing.T, dir string) any {
	addresses, err := ReadAddresses(dir)
	if err != nil {
		t.Fatal(err)
	}
	l, err := openLedger(dir)
	if err != nil {
		t.Fatal(err)
	}
	own := ledgerOf(t, l)
	// An entry and a snapshot come from another coordinator.
	other, err := openLedger(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := other.Apply(1, corpus.Get(t, dir, "entry.json")); err != nil {
		t.Fatal(err)
	}
	applied := ledgerOf(t, other)
	if err := other.Restore(corpus.Get(t, dir, "snapshot.json")); err != nil {
		t.Fatal(err)
	}
	restored := ledgerOf(t, other)
	for _, l := range []*ledger{l, other} {
		if err := l.close(); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := VerifyLedger(dir); err != nil {
		t.Error(err)
	}
	return map[string]any{"ledger": own, "entry": applied, "snapshot": restored, "addresses": addresses}
}

func ledgerOf(t *testing.T, l *ledger) any {
	t.Helper()
	slots, err := l.loadSlots()
	if err != nil {
		t.Fatal(err)
	}
	queued, err := l.loadQueue()
	if err != nil {
		t.Fatal(err)
	}
	var tokens []trust.Joining
	if err := l.load(keyTokens, &tokens); err != nil {
		t.Fatal(err)
	}
	var cluster string
	if err := l.load(keyCluster, &cluster); err != nil {
		t.Fatal(err)
	}
	starts := map[string]uint64{}
	if err := l.eachStart(func(id string, n uint64) { starts[id] = n }); err != nil {
		t.Fatal(err)
	}
	applied, err := l.Applied()
	if err != nil {
		t.Fatal(err)
	}
	revoked, err := l.revoked()
	if err != nil {
		t.Fatal(err)
	}
	return map[string]any{"revoked": revoked, "slots": slots, "queue": queued, "tokens": tokens, "cluster": cluster, "starts": starts, "applied": applied}
}

// A directory, an entry and a snapshot of a later format are refused by name, and the directory is
// as it was.
func TestNewerLedger(t *testing.T) {
	dir := t.TempDir()
	writeCorpus(t, dir)
	stamp(t, dir, "2")
	before := corpus.Get(t, dir, "coordinator.db")
	l, err := openLedger(dir)
	if err == nil {
		l.close()
	}
	refusedAsNewer(t, err, "coordinator.db has format 2")
	if string(corpus.Get(t, dir, "coordinator.db")) != string(before) {
		t.Error("the file was written")
	}
	if _, err := VerifyLedger(dir); err == nil {
		t.Error("the file is verified")
	}

	l, err = openLedger(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer l.close()
	refusedAsNewer(t, l.Apply(1, []byte(`{"format":2,"changes":[]}`)), "an entry of the ledger has format 2")
	refusedAsNewer(t, l.Restore([]byte(`{"format":2,"applied":9,"entries":[]}`)), "a snapshot of the ledger has format 2")
	if applied, err := l.Applied(); applied != 0 || err != nil {
		t.Errorf("applied %d, %v", applied, err)
	}
}

func stamp(t *testing.T, dir, format string) {
	t.Helper()
	db, err := bbolt.Open(LedgerPath(dir), 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	err = db.Update(func(tx *bbolt.Tx) error { return tx.Bucket(bucketMeta).Put([]byte("format"), []byte(format)) })
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
}

func refusedAsNewer(t *testing.T, err error, says string) {
	t.Helper()
	if !errors.Is(err, ergoflow.ErrNewer) || !strings.Contains(err.Error(), says) || strings.Contains(err.Error(), "\n") {
		t.Errorf("%v, want %q", err, says)
	}
}
