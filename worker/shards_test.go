package worker

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"

	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/coordinator"
	"github.com/ergoflow/ergoflow/data"
	"github.com/ergoflow/ergoflow/data/sets/depot"
	"github.com/ergoflow/ergoflow/data/sets/shard"
	"github.com/ergoflow/ergoflow/data/store/storetest"
)

// inBucket starts a coordinator whose shards are in a bucket, of which a test may answer requests.
func inBucket(t *testing.T, answer func(http.ResponseWriter, *http.Request) bool) *harness {
	t.Helper()
	t.Setenv("AWS_ACCESS_KEY_ID", "key")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "hush")
	backend := s3mem.New()
	if err := backend.CreateBucket("bucket"); err != nil {
		t.Fatal(err)
	}
	s3 := gofakes3.New(backend).Server()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !answer(w, r) {
			s3.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(server.Close)
	return startHarnessOn(t, "s3://bucket/lab?endpoint="+url.QueryEscape(server.URL))
}

// refusal answers as S3 does.
func refusal(w http.ResponseWriter, status int, code string) bool {
	w.WriteHeader(status)
	_, _ = w.Write([]byte("<Error><Code>" + code + "</Code><Message>" + code + "</Message></Error>"))
	return true
}

func isData(r *http.Request) bool { return strings.HasSuffix(r.URL.Path, ".safetensors") }

// While the bucket is full, and later gone, workers wait and say why. Then the run goes on to its
// end.
func TestStoreThatFails(t *testing.T) {
	var fault atomic.Value
	fault.Store("full")
	h := inBucket(t, func(w http.ResponseWriter, r *http.Request) bool {
		switch f := fault.Load(); {
		case f == "full" && r.Method == http.MethodPut && isData(r):
			return refusal(w, http.StatusInsufficientStorage, "XMinioStorageFull")
		case f == "gone" && strings.Contains(r.URL.Path, "/shards/"):
			return refusal(w, http.StatusNotFound, "NoSuchBucket")
		}
		return false
	})
	cache := t.TempDir()
	for range 2 {
		h.configured(func(c *Config) { c.Cache, c.CacheBytes = cache, 1<<30 })
	}
	h.submit("training.steps=20")
	waits := func(why string) func(coordinator.Status) bool {
		return func(st coordinator.Status) bool {
			for _, w := range st.Workers {
				if strings.Contains(w.Doing, "waits for the store") && strings.Contains(w.Doing, why) {
					return true
				}
			}
			return false
		}
	}
	h.until("a worker waits for room", waits("the store is full"))
	fault.Store("gone")
	h.until("a worker waits for the bucket", waits("the bucket does not exist"))
	fault.Store("")
	h.until("the end", done)
}

// A worker whose cache is too small for the run says so, and the others train.
func TestSmallCache(t *testing.T) {
	h := inBucket(t, func(http.ResponseWriter, *http.Request) bool { return false })
	cache := t.TempDir()
	h.configured(func(c *Config) { c.Cache, c.CacheBytes = cache, 1<<30 })
	h.configured(func(c *Config) { c.Cache, c.CacheBytes = cache, 1000 })
	h.submitFor(ergoflow.WorkerBounds{}, "training.steps=5000")
	h.until("one says that its cache is too small", func(st coordinator.Status) bool {
		for _, w := range st.Workers {
			if strings.Contains(w.Reason, "the cache is too small") {
				return st.State == "training" && st.WorldSize == 1
			}
		}
		return false
	})
}

// Credentials that cannot write end the run with the store's answer, after some workers' attempts.
func TestReadOnlyWorkers(t *testing.T) {
	h := inBucket(t, func(w http.ResponseWriter, r *http.Request) bool {
		return r.Method == http.MethodPut && isData(r) && refusal(w, http.StatusForbidden, "AccessDenied")
	})
	cache := t.TempDir()
	h.configured(func(c *Config) { c.Cache, c.CacheBytes = cache, 1<<30 })
	h.submit("training.steps=20")
	st := h.until("the run has failed", func(st coordinator.Status) bool { return st.State == "failed" })
	if !strings.Contains(st.Failure, "access denied") || strings.Contains(st.Failure, "hush") {
		t.Errorf("the run failed: %s", st.Failure)
	}
}

// An import that the store does not have fails the job for good, and is named.
func TestMissingImport(t *testing.T) {
	in := &shards{dir: shard.NewDir(t.TempDir()), depot: depot.New(storetest.NewDir(t.TempDir()))}
	hash := strings.Repeat("0", 32)
	d := data.Dataset{Functions: 4, Shards: 2, Imports: []data.Import{{Hash: hash, Functions: 1}}}
	if err := (&worker{}).makeShard(t.Context(), d, 0, in, func(string) {}); !errors.Is(err, data.ErrImports) || !strings.Contains(err.Error(), hash) {
		t.Error(err)
	}
}
