package coordinator

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"go.etcd.io/bbolt"

	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/coordinator/machine"
	"github.com/ergoflow/ergoflow/coordinator/queue"
	"github.com/ergoflow/ergoflow/coordinator/schedule"
	"github.com/ergoflow/ergoflow/data/random"
	"github.com/ergoflow/ergoflow/internal/boltfile"
)

func exampleLedger(generation ergoflow.Generation) machine.Ledger {
	p := ergoflow.Plan{
		Run: "0123456789abcdef", Experiment: "vn1d/smoke", Dataset: "fedcba9876543210", Shards: 4, Steps: 100, CheckpointEvery: 10,
		Config: json.RawMessage(`{"name":"vn1d"}`),
	}
	return machine.Ledger{
		Generation: generation, Plan: &p, Until: machine.StageTrain,
		Holders: &machine.Holders{Generation: generation, Members: []ergoflow.WorkerID{"a", "b"}, Base: ergoflow.Mark{Generation: generation - 1, Step: 17}},
	}
}

// writeLedger writes coordinator.db as a coordinator does.
func writeLedger(t *testing.T, dir string) (machine.Ledger, Addresses) {
	t.Helper()
	l, err := openLedger(dir)
	if err != nil {
		t.Fatal(err)
	}
	addresses := Addresses{PID: 7, Version: "v1", Control: "127.0.0.1:1", Gossip: "127.0.0.1:2", NATS: "nats://127.0.0.1:3"}
	if err := l.store(keyAddresses, addresses); err != nil {
		t.Fatal(err)
	}
	for generation := range ergoflow.Generation(5) {
		if err := l.persist(0, exampleLedger(generation+1)); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.close(); err != nil {
		t.Fatal(err)
	}
	return exampleLedger(5), addresses
}

// writeQueue adds runs and a schedule to a ledger.
func writeQueue(t *testing.T, dir string) queue.Ledger {
	t.Helper()
	l, err := openLedger(dir)
	if err != nil {
		t.Fatal(err)
	}
	at := time.Date(2026, 3, 1, 2, 30, 0, 0, time.UTC)
	p := queue.Persist{Next: 3,
		Runs: []queue.Run{
			{ID: 1, Kind: queue.Retrain, State: queue.Ended, Name: "/c.yaml", Config: "/c.yaml", Schedule: "nightly", Scheduled: at, Submitted: at, Ended: at, Outcome: queue.Skipped, Reason: "paused"},
			{ID: 2, Kind: queue.Train, State: queue.Running, Name: "vn1d/smoke", Run: "0123456789abcdef", Plan: exampleLedger(1).Plan, Place: 2, Submitted: at, Started: at, Attempt: 1},
		},
		Schedules: []queue.Schedule{{Name: "nightly", Spec: "30 2 * * *", Zone: "Europe/Berlin", Config: "/c.yaml", PauseAfter: 5, Added: at, State: schedule.State{Decided: at}}},
	}
	if err := errors.Join(l.persistQueue(p), l.close()); err != nil {
		t.Fatal(err)
	}
	return queue.Ledger{Next: p.Next, Runs: p.Runs, Schedules: p.Schedules}
}

// readQueue returns what a coordinator finds.
func readQueue(dir string) (queue.Ledger, error) {
	db, err := boltfile.Open(LedgerPath(dir), true)
	if err != nil {
		return queue.Ledger{}, err
	}
	l := &ledger{db: db}
	queued, err := l.loadQueue()
	return queued, errors.Join(err, l.close())
}

// readLedger returns what a coordinator finds.
func readLedger(dir string) (known machine.Ledger, addresses Addresses, err error) {
	db, err := boltfile.Open(LedgerPath(dir), true)
	if err != nil {
		return known, addresses, err
	}
	l := &ledger{db: db}
	err = errors.Join(l.load(keyAddresses, &addresses), l.load(keyLedger, &known), l.close())
	return known, addresses, err
}

// A bit that flips in coordinator.db is found or said, or a coordinator finds the same.
func TestFlippedBitOfLedger(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	wantLedger, wantAddresses := writeLedger(t, dir)
	wantQueue := writeQueue(t, dir)
	if warning, err := VerifyLedger(dir); err != nil || warning != "" {
		t.Fatalf("before: %q, %v", warning, err)
	}
	file, err := os.ReadFile(LedgerPath(dir))
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(LedgerPath(dir), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	used := len(bytes.TrimRight(file, "\x00"))
	r := random.New(1, "coordinator/flip")
	counts := map[string]int{}
	try := func(bit int) {
		put := func(b byte) {
			if _, err := f.WriteAt([]byte{b}, int64(bit/8)); err != nil {
				t.Fatal(err)
			}
		}
		put(file[bit/8] ^ 1<<(bit%8))
		defer put(file[bit/8])
		warning, err := VerifyLedger(dir)
		switch {
		case err != nil:
			counts["found"]++
			if !strings.Contains(err.Error(), "coordinator.db") || !errors.Is(err, ErrLedger) {
				t.Errorf("bit %d: %v", bit, err)
			}
		case warning != "":
			counts["warned"]++
		default:
			counts["harmless"]++
			known, addresses, err := readLedger(dir)
			if err != nil || !reflect.DeepEqual(known, wantLedger) || addresses != wantAddresses {
				t.Errorf("bit %d: %+v, %+v, %v", bit, known, addresses, err)
			}
			if queued, err := readQueue(dir); err != nil || !reflect.DeepEqual(queued, wantQueue) {
				t.Errorf("bit %d: %+v, %v", bit, queued, err)
			}
		}
	}
	for range 1000 {
		try(r.IntN(8 * used))
	}
	// All bits of the ledger that counts. Pages that are free now may have older copies of the
	// same text, and a flip there is harmless.
	value := boltfile.Seal(must(json.Marshal(wantLedger)))
	at := -1
	for from := 0; at < 0; {
		next := bytes.Index(file[from:], value)
		if next < 0 {
			t.Fatal("the ledger is not in the file")
		}
		before := counts["found"]
		if try(8 * (from + next)); counts["found"] > before {
			at = from + next
		}
		from += next + 1
	}
	found := counts["found"]
	for i := range 8 * len(value) {
		try(8*at + i)
	}
	t.Logf("of flips in %d bytes: %v", used, counts)
	// Those of "sum" make the field another one, which is ignored: three letters, and the
	// quotes and comma that end a text elsewhere.
	if found = counts["found"] - found; found < 8*len(value)-8*len("sum") {
		t.Errorf("of %d bits of the ledger %d are found", 8*len(value), found)
	}
}

func must(b []byte, err error) []byte {
	if err != nil {
		panic(err)
	}
	return b
}

// Files of older builds have no checksums, a directory may have no file, and values that no
// coordinator writes are named.
func TestVerifyLedger(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if warning, err := VerifyLedger(dir); warning != "" || err != nil {
		t.Errorf("no file: %q, %v", warning, err)
	}
	running, err := openLedger(dir)
	if err != nil {
		t.Fatal(err)
	}
	if warning, err := VerifyLedger(dir); err != nil || !strings.Contains(warning, "coordinator.db: not verified") {
		t.Errorf("while it is open: %q, %v", warning, err)
	}
	if err := running.close(); err != nil {
		t.Fatal(err)
	}
	put := func(bucket, key, value string) func(*bbolt.Tx) error {
		return func(tx *bbolt.Tx) error {
			b, err := tx.CreateBucketIfNotExists([]byte(bucket))
			if err != nil {
				return err
			}
			return b.Put([]byte(key), []byte(value))
		}
	}
	sealed := string(boltfile.Seal(must(json.Marshal(exampleLedger(3)))))
	for _, c := range []struct {
		name, want string
		change     func(*bbolt.Tx) error
	}{
		{"an older build", "", put("coordinator", "ledger", string(must(json.Marshal(exampleLedger(3)))))},
		{"another generation", "checksum", put("coordinator", "ledger", strings.Replace(sealed, `"generation":3`, `"generation":2`, 1))},
		{"another sum", "checksum", put("coordinator", "ledger", sealed[:len(sealed)-3]+"x\"}")},
		{"no JSON", "invalid character", put("coordinator", "ledger", "ledger")},
		{"another key", `unknown key "ledges"`, put("coordinator", "ledges", sealed)},
		{"another bucket", `unknown bucket "coordinates"`, put("coordinates", "ledger", sealed)},
		{"no shards", "0 shards", put("coordinator", "ledger", `{"generation":1,"until":1,"plan":{"run":"r","experiment":"e","dataset":"d","shards":0}}`)},
		{"holders without a run", "", put("coordinator", "ledger", `{"generation":1,"holders":{"generation":1,"members":["a"]}}`)},
		{"a later generation's holders", "generation 9", put("coordinator", "ledger", strings.Replace(string(must(json.Marshal(exampleLedger(3)))), `"holders":{"generation":3`, `"holders":{"generation":9`, 1))},
	} {
		dir := t.TempDir()
		writeLedger(t, dir)
		db, err := boltfile.Open(LedgerPath(dir), false)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(db.Update(c.change), db.Close()); err != nil {
			t.Fatal(err)
		}
		warning, err := VerifyLedger(dir)
		ok := c.name == "an older build"
		if warning != "" || ok != (err == nil) || err != nil && (!errors.Is(err, ErrLedger) || !strings.Contains(fmt.Sprint(err), c.want)) {
			t.Errorf("%s: %q, %v", c.name, warning, err)
		}
	}
}
