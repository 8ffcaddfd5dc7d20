package coordinator

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/ergoflow/ergoflow/coordinator/machine"
	"github.com/ergoflow/ergoflow/coordinator/wire"
	"github.com/ergoflow/ergoflow/data/jobs"
	"github.com/ergoflow/ergoflow/data/sets/depot"
	"github.com/ergoflow/ergoflow/data/sets/shard"
	"github.com/ergoflow/ergoflow/data/store"
	"github.com/ergoflow/ergoflow/internal/addresstest"
	"github.com/ergoflow/ergoflow/internal/trust"
	"github.com/ergoflow/ergoflow/internal/trust/trusttest"
)

// bucketOf is the bucket in the embedded server of a coordinator, for who shows credentials if
// there are any.
func bucketOf(t *testing.T, s *server, c *trust.Credentials) *depot.Depot {
	t.Helper()
	objects, err := store.Open(t.Context(), store.Location{Scheme: store.NATS, Bucket: "shards", Server: s.NATS}, store.Options{Access: jobs.Access{Credentials: c}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { objects.Close() })
	return depot.New(objects)
}

// putShards puts shards into a bucket, as workers do.
func putShards(t *testing.T, to *depot.Depot, shards ...int) {
	t.Helper()
	dir := t.TempDir()
	makeShards(t, dir, shards...)
	for _, k := range shards {
		if err := to.Upload(t.Context(), shard.NewDir(filepath.Join(dir, "shards")), dataset, k); err != nil {
			t.Fatal(err)
		}
	}
}

// awaitShards waits until a bucket has these shards.
func awaitShards(t *testing.T, in *depot.Depot, shards ...int) {
	t.Helper()
	until(t, "the bucket has the shards", func() bool {
		present, err := in.Present(t.Context(), dataset, 5)
		return err == nil && slices.Equal(present, shards)
	})
}

// Of several coordinators each has a bucket in its own server, and what the workers put into the
// leader's is soon in all. So the next leader goes on without any shard that is made again.
func TestBuckets(t *testing.T) {
	t.Parallel()
	list := severalWith(t, 3, "nats://shards?replicas=3", func(*Config) {})
	first := leading(t, list...)
	// One that is put at a coordinator that does not lead counts before jobs are published.
	for _, s := range list {
		if s != first {
			putShards(t, bucketOf(t, s, nil), 4)
			break
		}
	}
	putShards(t, bucketOf(t, first, nil), 0, 1, 2, 3)
	first.submit(plan, wire.Stage_STAGE_TRAIN)
	a := connect(t, first, "a", -1)
	first.await("a checkpoint", func(st Status) bool { return st.Step >= 12 && st.Checkpoint != nil })
	for _, s := range list {
		awaitShards(t, bucketOf(t, s, nil), 0, 1, 2, 3, 4)
	}
	var sizes []uint64
	for _, m := range first.coordinators().Members {
		sizes = append(sizes, m.BucketBytes)
	}
	if slices.Min(sizes) != slices.Max(sizes) || slices.Max(sizes) == 0 {
		t.Errorf("the buckets have %v bytes", sizes)
	}
	a.kill()
	first.close()

	second := leading(t, list...)
	b := connect(t, second, "b", -1)
	second.await("the end", func(st Status) bool { return st.State == machine.StateDone })
	b.kill()

	// One that was away has afterwards what came meanwhile, and one that is added has everything.
	putShards(t, bucketOf(t, second, nil), 5)
	again := startMember(t, first.dir, "nats://shards", first.Control, []string{list[0].Control, list[1].Control, list[2].Control})
	until(t, "the shard that came meanwhile is there", func() bool {
		has, err := bucketOf(t, again, nil).Has(t.Context(), dataset, 5)
		return err == nil && has
	})
	address := addresstest.Free(t)
	added := startMember(t, t.TempDir(), "nats://shards", address, []string{address, second.Control})
	if _, err := wire.NewCoordinatorsClient(second.conn).Change(t.Context(), &wire.ChangeCoordinatorsRequest{Add: address}); err != nil {
		t.Fatal(err)
	}
	awaitShards(t, bucketOf(t, added, nil), 0, 1, 2, 3, 4)
}

// With certificates coordinators copy from one another's buckets, and the server of one that does
// not lead refuses whom it should, also who was connected when the certificate was revoked.
func TestBucketsSecured(t *testing.T) {
	t.Parallel()
	dirs, peers := []string{t.TempDir(), t.TempDir(), t.TempDir()}, []string{addresstest.Free(t), addresstest.Free(t), addresstest.Free(t)}
	ca := filepath.Join(dirs[0], authorityDir)
	authority, err := trust.CreateAuthority(t.Context(), ca, clusterName, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	var list []*server
	for i, dir := range dirs {
		if i > 0 {
			if err := os.CopyFS(filepath.Join(dir, authorityDir), os.DirFS(ca)); err != nil {
				t.Fatal(err)
			}
		}
		list = append(list, startMember(t, dir, "nats://shards", peers[i], peers))
	}
	own, worker := trusttest.Credentials(t, authority, trust.Coordinator, "own"), trusttest.Credentials(t, authority, trust.Worker, "w")
	putShards(t, bucketOf(t, list[0], worker), 0, 1)
	putShards(t, bucketOf(t, list[1], worker), 2)
	for _, s := range list {
		awaitShards(t, bucketOf(t, s, own), 0, 1, 2)
		for name, c := range map[string]*trust.Credentials{"nobody": nil, "a viewer": trusttest.Credentials(t, authority, trust.Viewer, "v")} {
			if conn, err := jobs.Dial(s.NATS, jobs.Access{Credentials: c}); err == nil {
				conn.Close()
				t.Errorf("%s: %s is let in", s.NATS, name)
			}
		}
	}
	var connected []*nats.Conn
	for _, s := range list {
		conn, err := jobs.Dial(s.NATS, jobs.Access{Credentials: worker}, nats.NoReconnect())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		connected = append(connected, conn)
	}
	if err := authority.RevokeIdentity(t.Context(), worker.Identity(), time.Now()); err != nil {
		t.Fatal(err)
	}
	for i, conn := range connected {
		until(t, list[i].NATS+" ends the connection", conn.IsClosed)
	}
}
