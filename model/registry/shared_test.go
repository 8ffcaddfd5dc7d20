package registry

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/ergoflow/ergoflow/data/store"
	"github.com/ergoflow/ergoflow/data/store/s3test"
	"github.com/ergoflow/ergoflow/data/store/storetest"
)

// replica is a registry in a store, with the copy of one machine.
func replica(t testing.TB, s store.Store) *Registry { return share(s, t.TempDir()) }

// Random operations, each on one of three machines, leave the registry on every machine equal to
// the plain one.
func TestSharedOperations(t *testing.T) {
	worlds := 6
	if testing.Short() {
		worlds = 1
	}
	for seed := range worlds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			random := rand.New(rand.NewPCG(uint64(seed), 2))
			s := storetest.NewDir(t.TempDir())
			machines := []*Registry{replica(t, s), replica(t, s), replica(t, s)}
			p := &plain{versions: map[int]plainVersion{}, keys: map[string]int{}, aliases: map[string][]int{}}
			for range 80 {
				p.operate(t, machines[random.IntN(len(machines))], random)
				p.compare(t, machines[random.IntN(len(machines))])
			}
			for _, r := range append(machines, replica(t, s)) { // the last one begins now
				p.compare(t, r)
				if found := verified(t, r); len(found.LeftOver) > 0 {
					t.Errorf("%+v", found)
				}
			}
		})
	}
}

// Two promote at once against the version that they have judged: one wins, and the other hears
// that the alias names another version by now. What a reader has seen stays in the history, in
// its place.
func TestSharedPromotions(t *testing.T) {
	s := storetest.NewDir(t.TempDir())
	first := replica(t, s)
	for seed := range 3 {
		add(t, first, "m", seed)
	}
	if err := first.Promote(t.Context(), Promotion{Model: "m", Number: 1}); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	var readers sync.WaitGroup
	for range 2 {
		r := replica(t, s)
		readers.Go(func() {
			var seen []Entry
			for ctx.Err() == nil {
				now, err := r.History(t.Context(), "m", "")
				if err != nil {
					t.Error(err)
					return
				}
				if len(now) < len(seen) {
					t.Errorf("%d changes were seen, and %d are there", len(seen), len(now))
					return
				}
				for i, e := range seen {
					if now[i].Number != e.Number || now[i].Version != e.Version || now[i].By != e.By {
						t.Errorf("entry %+v became %+v", e, now[i])
					}
				}
				seen = now
			}
		})
	}
	const rounds, promoters = 8, 3
	machines := []*Registry{replica(t, s), replica(t, s), replica(t, s)}
	for round := range rounds {
		against := 1 + round%2
		target := 3 - against
		var won atomic.Int32
		var all sync.WaitGroup
		for i, r := range machines {
			all.Go(func() {
				err := r.Promote(t.Context(), Promotion{Model: "m", Number: 3, By: fmt.Sprint(round, "/", i), Against: &against})
				switch {
				case err == nil:
					won.Add(1)
				case !errors.Is(err, ErrChanged):
					t.Error(err)
				}
			})
		}
		all.Wait()
		// Who comes second finds that the alias names version 3 already, which is no error, or
		// another one; the history has one change.
		if won.Load() < 1 {
			t.Errorf("round %d: nobody won", round)
		}
		if err := first.Promote(t.Context(), Promotion{Model: "m", Number: target}); err != nil {
			t.Fatal(err)
		}
	}
	stop()
	readers.Wait()
	history, err := first.History(t.Context(), "m", "")
	if err != nil || len(history) != 1+2*rounds {
		t.Errorf("%d changes, want %d: %v", len(history), 1+2*rounds, err)
	}
	for i, e := range history {
		if e.Number != i+1 || i > 0 && e.Before != history[i-1].Version {
			t.Errorf("entry %d is %+v after %+v", i, e, history[max(0, i-1)])
		}
	}
}

// Different promotions at once against one version: exactly one is made.
func TestSharedRivals(t *testing.T) {
	s := storetest.NewDir(t.TempDir())
	first := replica(t, s)
	for seed := range 5 {
		add(t, first, "m", seed)
	}
	none := 0
	var won atomic.Int32
	var all sync.WaitGroup
	for n := 1; n <= 5; n++ {
		r := replica(t, s)
		all.Go(func() {
			err := r.Promote(t.Context(), Promotion{Model: "m", Number: n, Against: &none})
			if err == nil {
				won.Add(1)
			} else if !errors.Is(err, ErrChanged) {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if won.Load() != 1 {
		t.Errorf("%d won", won.Load())
	}
}

// uncertain puts, and says that it failed, or fails before it puts.
type uncertain struct {
	store.Store
	before, after atomic.Bool
}

func (u *uncertain) Put(ctx context.Context, key string, content io.ReaderAt, size int64) error {
	if u.before.Load() && strings.Contains(key, "/record/") {
		return errors.New("no connection")
	}
	err := u.Store.Put(ctx, key, content, size)
	if err == nil && u.after.Load() && strings.Contains(key, "/record/") {
		return errors.New("the connection broke")
	}
	return err
}

// A change whose outcome is not known is made or not, for all alike, and the next begins with it.
func TestSharedUncertain(t *testing.T) {
	u := &uncertain{Store: storetest.NewDir(t.TempDir())}
	r, other := replica(t, u), replica(t, u)
	add(t, r, "m", 1)
	add(t, r, "m", 2)
	promote := func(r *Registry, n int) error {
		return r.Promote(t.Context(), Promotion{Model: "m", Number: n})
	}
	champion := func(r *Registry) int {
		v, err := r.Get(t.Context(), "m")
		if err != nil && !errors.Is(err, ErrNotFound) {
			t.Fatal(err)
		}
		return v.Number
	}
	u.before.Store(true)
	if err := promote(r, 1); err == nil || champion(r) != 0 || champion(other) != 0 {
		t.Errorf("%v, %d, %d", err, champion(r), champion(other))
	}
	u.before.Store(false)
	u.after.Store(true)
	if err := promote(r, 2); err == nil {
		t.Error("the answer was lost, and nobody says so")
	}
	u.after.Store(false)
	if champion(r) != 2 || champion(other) != 2 {
		t.Errorf("%d, %d", champion(r), champion(other))
	}
	if err := promote(other, 1); err != nil || champion(r) != 1 {
		t.Errorf("%v, %d", err, champion(r))
	}
	if history, err := r.History(t.Context(), "m", ""); err != nil || len(history) != 2 {
		t.Errorf("%+v, %v", history, err)
	}
}

// counting counts reads.
type counting struct {
	store.Store
	gets atomic.Int32
}

func (c *counting) Get(ctx context.Context, key string, offset, length int64) (io.ReadCloser, error) {
	c.gets.Add(1)
	return c.Store.Get(ctx, key, offset, length)
}

// A machine that begins late reads a snapshot and the records after it. The lock of retrainings
// holds between machines. Weights that are damaged in the bucket are named; a damaged copy is
// made anew.
func TestSharedLate(t *testing.T) {
	dir := t.TempDir()
	s := storetest.NewDir(dir)
	r := replica(t, s)
	v := add(t, r, "m", 1)
	for i := range snapshotEvery + 5 {
		if err := r.Tag(t.Context(), "m", 1, map[string]string{"i": fmt.Sprint(i)}); err != nil {
			t.Fatal(err)
		}
	}
	if list, err := s.List(t.Context(), "registry/snapshot/"); err != nil || len(list) != 1 {
		t.Fatal(list, err)
	}
	reads := &counting{Store: s}
	late := replica(t, reads)
	if got, err := late.Get(t.Context(), "m@1"); err != nil || got.Tags["i"] != fmt.Sprint(snapshotEvery+4) {
		t.Errorf("%+v, %v", got, err)
	}
	if n := reads.gets.Load(); n > 20 {
		t.Errorf("%d reads", n)
	}
	lease, err := r.Lock(t.Context(), "m", Self("here"), Wait)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := late.Lock(t.Context(), "m", Self("there"), Skip); !errors.Is(err, ErrLocked) {
		t.Error(err)
	}
	if err := lease.Release(t.Context()); err != nil {
		t.Error(err)
	}
	if err := late.Promote(t.Context(), Promotion{Model: "m", Number: 1, Fence: lease.Fence - 1 + 2}); !errors.Is(err, ErrFenced) {
		t.Error(err)
	}

	flip(t, databasePath(late.dir), 100)
	if content, err := late.Load(t.Context(), v); err != nil || describe(content).SHA256 != v.Weights.SHA256 {
		t.Error(err)
	}
	if err := os.WriteFile(databasePath(late.dir), []byte("damaged"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := late.Get(t.Context(), "m@1"); err != nil || got.Number != 1 {
		t.Errorf("with a damaged copy: %+v, %v", got, err)
	}
	flip(t, filepath.Join(dir, filepath.FromSlash(v.Weights.key())), 2000)
	if _, err := late.Verify(t.Context()); !errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), v.Weights.SHA256) {
		t.Error(err)
	}
	last := filepath.Join(dir, "registry", "record", fmt.Sprint(snapshotEvery+7))
	flip(t, last, 80)
	if _, err := replica(t, s).Get(t.Context(), "m@1"); !errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), "record") {
		t.Error(err)
	}
}

// A registry at s3:// is one, by its location alone.
func TestSharedLocation(t *testing.T) {
	server := s3test.Fake(t, nil)
	at := s3test.Location(server.URL, "/lab")
	var numbers []int
	for seed := range 2 {
		t.Setenv("XDG_CACHE_HOME", t.TempDir()) // two machines
		r := open(t, at)
		if !Exists(at) || !strings.HasPrefix(r.String(), "s3://bucket/lab?") {
			t.Errorf("%s is %s", at, r)
		}
		if _, err := r.List(t.Context(), "m"); seed == 0 && !errors.Is(err, ErrNoRegistry) {
			t.Error(err)
		}
		numbers = append(numbers, add(t, r, "m", seed).Number)
	}
	if !slices.Equal(numbers, []int{1, 2}) {
		t.Errorf("versions %v", numbers)
	}
	if _, err := Open("nats://bucket"); !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), "s3://") {
		t.Error(err)
	}
}
