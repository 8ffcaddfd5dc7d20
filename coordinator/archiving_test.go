package coordinator

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/coordinator/archive"
	"github.com/ergoflow/ergoflow/coordinator/checkpoint"
	"github.com/ergoflow/ergoflow/coordinator/machine"
	"github.com/ergoflow/ergoflow/coordinator/wire"
	"github.com/ergoflow/ergoflow/data/sets/depot"
	"github.com/ergoflow/ergoflow/data/sets/shard"
	"github.com/ergoflow/ergoflow/data/store"
	"github.com/ergoflow/ergoflow/data/store/s3test"
	"github.com/ergoflow/ergoflow/data/store/storetest"
)

// lab is a bucket with the shards of the plan's run.
type lab struct {
	t        *testing.T
	store    store.Store
	location string
	refuses  atomic.Pointer[refusedBy] // puts of checkpoints; nil: it does not
}

// refusedBy is an answer of S3.
type refusedBy struct {
	status int
	code   string
}

func newLab(t *testing.T) *lab {
	t.Helper()
	b := &lab{t: t}
	server := s3test.Fake(t, func(w http.ResponseWriter, r *http.Request) bool {
		by := b.refuses.Load()
		if by == nil || r.Method != http.MethodPut || !strings.Contains(r.URL.Path, "/checkpoints/") {
			return false
		}
		s3test.Refuse(w, by.status, by.code)
		return true
	})
	b.location = s3test.Location(server.URL, "/odd é %25prefix")
	b.store = storetest.Open(t, b.location, store.Options{})
	from := shard.NewDir(t.TempDir())
	for k := range int(plan.Shards) + 1 {
		if err := makeShard(from, k); err != nil {
			t.Fatal(err)
		}
		if err := depot.New(b.store).Upload(t.Context(), from, dataset, k); err != nil {
			t.Fatal(err)
		}
	}
	return b
}

// start starts a coordinator that uses the bucket under a name; empty: it chooses one.
func (b *lab) start(dir, cluster string, log ...slog.Handler) *server {
	b.t.Helper()
	return startWith(b.t, dir, func(c *Config) {
		c.Store = b.location
		if cluster != "" {
			c.Store += "&cluster=" + cluster
		}
		for _, h := range log {
			c.Log = slog.New(h)
		}
	})
}

// archived waits until the newest checkpoint in the bucket is of a step or a later one.
func (s *server) archived(step ergoflow.Step) Status {
	s.t.Helper()
	return s.await("a checkpoint is in the store", func(st Status) bool { return st.Archive.Step >= step && st.Archive.Run != "" })
}

// The disk is lost: a coordinator with an empty directory continues from the bucket, and a disk
// with older checkpoints from the bucket, too. What is damaged there is passed over.
func TestDiskLost(t *testing.T) {
	b := newLab(t)
	first := t.TempDir()
	s := b.start(first, "lab")
	s.submit(plan, wire.Stage_STAGE_TRAIN)
	w := connect(t, s, "a", -1)
	s.archived(20)
	w.kill()
	s.close()
	b.forget("30") // a busy machine may have come to the end

	second := t.TempDir()
	s = b.start(second, "lab")
	s.submit(plan, wire.Stage_STAGE_TRAIN)
	w = connect(t, s, "b", -1) // it loads the state, and checks it
	s.await("the end", func(st Status) bool { return st.State == machine.StateDone })
	s.await("the end is in the store", func(Status) bool { return b.entries("lab")[0].Mark.Step == 30 })
	w.kill()
	s.close()
	if steps := stepsIn(t, second); !slices.Equal(steps, []ergoflow.Step{20, 30}) { // 10 would be a run that began again
		t.Errorf("the second disk has checkpoints at %v", steps)
	}

	forgetFrom(t, first, 30) // it is in the bucket alone
	s = b.start(first, "lab")
	s.submit(plan, wire.Stage_STAGE_TRAIN)
	s.await("the end comes from the store", func(st Status) bool { return st.Checkpoint != nil && *st.Checkpoint == 30 })
	s.close()

	entries := b.entries("lab")
	b.lie(entries[0])
	var said said
	s = b.start(t.TempDir(), "lab", &said)
	s.submit(plan, wire.Stage_STAGE_TRAIN)
	s.await("the one before is taken", func(st Status) bool { return st.Checkpoint != nil && *st.Checkpoint == 20 })
	s.close()
	if !said.has("skipping a checkpoint in the store that cannot be read") || !said.has("its SHA-256 is") {
		t.Error(said.text())
	}
}

// entries are the run's checkpoints in the bucket.
func (b *lab) entries(cluster string) []archive.Entry {
	b.t.Helper()
	a, err := archive.New(b.store, cluster)
	if err != nil {
		b.t.Fatal(err)
	}
	entries, err := a.Entries(b.t.Context(), plan.Run)
	if err != nil {
		b.t.Fatal(err)
	}
	return entries
}

// forget removes the run's checkpoints at a step from the bucket.
func (b *lab) forget(step string) {
	b.t.Helper()
	all, err := b.store.List(b.t.Context(), "checkpoints/")
	if err != nil {
		b.t.Fatal(err)
	}
	for _, o := range all {
		if !strings.Contains(o.Key, "-"+step+"/") && !strings.Contains(o.Key, "-"+step+".") {
			continue
		}
		if err := b.store.Delete(b.t.Context(), o.Key); err != nil {
			b.t.Fatal(err)
		}
	}
}

// lie has the bucket have other bytes of the same length in place of a checkpoint's chunk.
func (b *lab) lie(e archive.Entry) {
	b.t.Helper()
	all, err := b.store.List(b.t.Context(), "checkpoints/")
	if err != nil {
		b.t.Fatal(err)
	}
	changed := 0
	for _, o := range all {
		if !strings.Contains(o.Key, fmt.Sprintf("/%d-%d/", e.Mark.Generation, e.Mark.Step)) {
			continue
		}
		if err := b.store.Delete(b.t.Context(), o.Key); err != nil {
			b.t.Fatal(err)
		}
		if err := b.store.Put(b.t.Context(), o.Key, bytes.NewReader(make([]byte, o.Bytes)), o.Bytes); err != nil {
			b.t.Fatal(err)
		}
		changed++
	}
	if changed == 0 {
		b.t.Fatalf("no chunk of %v among %v", e, all)
	}
}

// eachIn calls f for each checkpoint in a coordinator's directory, in the order of saving.
func eachIn(t *testing.T, dir string, f func(*checkpoint.Store, checkpoint.Info) error) {
	t.Helper()
	in, err := checkpoint.Open(CheckpointPath(dir), false)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	all, err := in.List()
	if err != nil {
		t.Fatal(err)
	}
	for _, info := range all {
		if err := f(in, info); err != nil {
			t.Fatal(err)
		}
	}
}

// stepsIn are the steps of the checkpoints in a coordinator's directory.
func stepsIn(t *testing.T, dir string) (steps []ergoflow.Step) {
	t.Helper()
	eachIn(t, dir, func(_ *checkpoint.Store, info checkpoint.Info) error {
		steps = append(steps, info.Step)
		return nil
	})
	return steps
}

// forgetFrom deletes checkpoints at a step and later ones in a coordinator's directory.
func forgetFrom(t *testing.T, dir string, step ergoflow.Step) {
	t.Helper()
	eachIn(t, dir, func(in *checkpoint.Store, info checkpoint.Info) error {
		if info.Step < step {
			return nil
		}
		return in.Delete(info.ID)
	})
}

// A bucket that takes no checkpoints does not hold up the training. The status says why, and when
// it takes them again the newest is copied.
func TestArchiveAway(t *testing.T) {
	for code, c := range map[string]struct {
		status int
		says   string
	}{
		"AccessDenied":         {403, "access denied"}, // credentials that only read
		"NoSuchBucket":         {404, "the bucket does not exist"},
		"XMinioStorageFull":    {507, "the store is full"},
		"RequestTimeTooSkewed": {403, "this machine's clock and the server's differ too much"},
	} {
		t.Run(code, func(t *testing.T) {
			b := newLab(t)
			s := b.start(t.TempDir(), "lab")
			s.await("the checkpoints are taken over", func(Status) bool { return len(b.holders()) > 0 })
			b.refuses.Store(&refusedBy{c.status, code})
			s.submit(plan, wire.Stage_STAGE_TRAIN)
			connect(t, s, "a", -1)
			s.await("the end", func(st Status) bool { return st.State == machine.StateDone })
			st := s.await("a problem", func(st Status) bool { return st.Archive.Problem != "" })
			if text := st.Archive.Problem; !strings.Contains(text, c.says) || strings.Contains(text, s3test.Secret) || strings.Contains(text, "\n") {
				t.Errorf("%+v", st.Archive)
			}
			if n := len(b.entries("lab")); n != 0 {
				t.Errorf("%d checkpoints in the bucket", n)
			}
			b.refuses.Store(nil)
			s.await("the newest is in the bucket", func(st Status) bool { return st.Archive.Step == 30 && st.Archive.Problem == "" })
		})
	}
}

func (b *lab) holders() []store.Object {
	b.t.Helper()
	all, err := b.store.List(b.t.Context(), "checkpoints/lab/holder/")
	if err != nil {
		b.t.Fatal(err)
	}
	return all
}

// Clusters without names share the shards and keep their checkpoints apart; the second says that
// there are others. Of two with one name the first stops copying, and says so.
func TestClustersInOneBucket(t *testing.T) {
	b := newLab(t)
	one := b.start(t.TempDir(), "")
	one.submit(plan, wire.Stage_STAGE_TRAIN)
	connect(t, one, "a", -1)
	name := one.archived(30).Archive.Cluster

	var said said
	two := b.start(t.TempDir(), "", &said)
	two.submit(plan, wire.Stage_STAGE_TRAIN)
	st := two.await("all shards are there", func(st Status) bool { return st.Shards.Done == int(plan.Shards)+1 })
	if st.Archive.Cluster == name || st.Checkpoint != nil {
		t.Errorf("the second cluster has the first one's name or checkpoint: %+v, %v", st.Archive, st.Checkpoint)
	}
	two.await("it says that there are others", func(Status) bool { return said.has("checkpoints of other clusters") && said.has(name) })
	two.close()
	again := b.start(two.dir, "")
	if got := again.status().Archive.Cluster; got != st.Archive.Cluster {
		t.Errorf("the name is %s after a restart, and was %s", got, st.Archive.Cluster)
	}
	again.close()

	three := b.start(t.TempDir(), name)
	three.submit(plan, wire.Stage_STAGE_TRAIN)
	three.await("the checkpoint comes from the store", func(st Status) bool { return st.Checkpoint != nil && *st.Checkpoint == 30 })
	other := &wire.Plan{Run: "run2", Experiment: plan.Experiment, Dataset: plan.Dataset, Shards: plan.Shards, Steps: plan.Steps, CheckpointEvery: plan.CheckpointEvery, Config: plan.Config}
	one.submit(other, wire.Stage_STAGE_TRAIN)
	st = one.await("the first notices", func(st Status) bool { return st.Archive.Problem != "" })
	if !strings.Contains(st.Archive.Problem, "another coordinator") {
		t.Error(st.Archive.Problem)
	}
	one.await("and trains on", func(st Status) bool { return st.Run == "run2" && st.State == machine.StateDone })
}

// said is a log.
type said struct {
	mu  sync.Mutex
	all bytes.Buffer
}

func (s *said) Enabled(context.Context, slog.Level) bool { return true }

func (s *said) Handle(ctx context.Context, r slog.Record) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slog.NewTextHandler(&s.all, nil).Handle(ctx, r)
}

func (s *said) WithAttrs([]slog.Attr) slog.Handler { return s }
func (s *said) WithGroup(string) slog.Handler      { return s }

func (s *said) text() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.all.String()
}

func (s *said) has(text string) bool { return strings.Contains(s.text(), text) }
