package coordinator

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"strings"
	"testing"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"

	"github.com/ergoflow/ergoflow/coordinator/machine"
	"github.com/ergoflow/ergoflow/coordinator/wire"
	"github.com/ergoflow/ergoflow/data/jobs"
	"github.com/ergoflow/ergoflow/data/sets/depot"
	"github.com/ergoflow/ergoflow/data/sets/shard"
	"github.com/ergoflow/ergoflow/data/store"
	"github.com/ergoflow/ergoflow/data/store/storetest"
)

// A store that cannot be used ends the start of a coordinator with one clear line.
func TestRefusedStores(t *testing.T) {
	t.Setenv("AWS_ACCESS_KEY_ID", "key")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "hush")
	backend := s3mem.New()
	if err := backend.CreateBucket("bucket"); err != nil {
		t.Fatal(err)
	}
	fake := gofakes3.New(backend).Server()
	s3 := func(change func(http.ResponseWriter, *http.Request) bool) string {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if !change(w, r) {
				fake.ServeHTTP(w, r)
			}
		}))
		t.Cleanup(server.Close)
		return "?endpoint=" + url.QueryEscape(server.URL)
	}
	good := s3(func(http.ResponseWriter, *http.Request) bool { return false })
	unsafe := s3(func(_ http.ResponseWriter, r *http.Request) bool { r.Header.Del("If-None-Match"); return false })
	readOnly := s3(func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method != http.MethodPut {
			return false
		}
		w.WriteHeader(http.StatusForbidden)
		_, _ = w.Write([]byte("<Error><Code>AccessDenied</Code><Message>no</Message></Error>"))
		return true
	})
	for location, want := range map[string]string{
		"http://x":                 "want a directory",
		"nats://shards?replicas=3": "each coordinator keeps one replica",
		"s3://bucket" + unsafe:     "does not refuse to replace",
		"s3://bucket" + readOnly:   "cannot write",
		"s3://nobody" + good:       "does not exist",
	} {
		err := Run(t.Context(), Config{Dir: t.TempDir(), Store: location})
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hush") {
			t.Errorf("%s: %v", location, err)
		}
	}
}

// A coordinator finds the shards that are in the embedded server, also after it starts again, and
// has those made that are missing.
func TestShardsInNATS(t *testing.T) {
	dir := t.TempDir()
	with := func(c *Config) { c.Store = "nats://shards" }
	s := startWith(t, dir, with)
	upload := func(shards ...int) {
		in := storetest.Open(t, "nats://shards?server="+url.QueryEscape(s.NATS), store.Options{Access: jobs.Access{}})
		from := shard.NewDir(filepath.Join(t.TempDir(), "made"))
		for _, k := range shards {
			if err := makeShard(from, k); err != nil {
				t.Fatal(err)
			}
			if err := depot.New(in).Upload(t.Context(), from, dataset, k); err != nil {
				t.Fatal(err)
			}
		}
	}
	upload(0, 2)
	s.submit(plan, wire.Stage_STAGE_GENERATE)
	s.await("two shards are there", func(st Status) bool { return st.Shards.Done == 2 })
	upload(1)
	s.close()
	s = startWith(t, dir, with)
	s.await("three shards are there", func(st Status) bool { return st.Shards.Done == 3 })
	upload(3, 4)
	s.close()
	s = startWith(t, dir, with)
	s.await("all are there", func(st Status) bool { return st.State == machine.StateGenerated })
}
