package main

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/ergoflow/ergoflow/data/sets/depot"
	"github.com/ergoflow/ergoflow/data/sets/shard"
	"github.com/ergoflow/ergoflow/data/store"
	"github.com/ergoflow/ergoflow/data/store/s3test"
	"github.com/ergoflow/ergoflow/data/store/storetest"
)

// TestShardsOfBucket: a bucket is listed and verified as a directory is. Damage ends with code 1
// and is named; what is no damage of shards is said, too.
func TestShardsOfBucket(t *testing.T) {
	const dataset = "0123456789abcdef"
	var denies atomic.Bool
	server := s3test.Fake(t, func(w http.ResponseWriter, _ *http.Request) bool {
		if denies.Load() {
			s3test.Refuse(w, http.StatusForbidden, "AccessDenied")
			return true
		}
		return false
	})
	location := s3test.Location(server.URL, "/lab")
	s := storetest.Open(t, location, store.Options{})
	d, from := depot.New(s), shard.NewDir(t.TempDir())
	for k := range 2 {
		w, err := from.Create(shard.Header{Family: "vn1d", Dataset: dataset, Shard: k, First: k, Count: 1, Purpose: shard.Train, Dim: 1, Samples: 4})
		if err == nil {
			err = w.Samples([]float32{1, 2, 3, float32(k)})
		}
		if err == nil {
			_, err = w.Commit()
		}
		if err == nil {
			err = d.Upload(t.Context(), from, dataset, k)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	ran := func(args ...string) string { t.Helper(); return onBucket(t, location, args...) }
	if out := ran("shards", "list"); strings.Count(out, "vn1d-"+dataset[:12]) != 2 || strings.Contains(out, "warning") {
		t.Error(out)
	}
	var manifests []shard.Manifest
	if out := ran("shards", "list", "--json"); json.Unmarshal([]byte(out), &manifests) != nil || len(manifests) != 2 || manifests[1].Shard != 1 {
		t.Error(out)
	}
	if out := ran("shards", "verify"); !strings.Contains(out, "2 shards are whole") {
		t.Error(out)
	}

	key := "shards/" + dataset + "/shard-00000."
	orphan := key + strings.Repeat("0", 64) + ".safetensors"
	if err := s.Put(t.Context(), orphan, strings.NewReader("x"), 1); err != nil {
		t.Fatal(err)
	}
	if out := ran("shards", "list"); !strings.Contains(out, "warning: no manifest names "+orphan) {
		t.Error(out)
	}
	if err := s.Delete(t.Context(), key+manifests[0].SHA256+".safetensors"); err != nil {
		t.Fatal(err)
	}
	cmd, out := program(t.Context(), t, "shards", "verify", "--store", location)
	refused(t, cmd, out, exitFailure, key, "there is a manifest but no data")

	denies.Store(true)
	for _, command := range []string{"list", "verify"} {
		cmd, out := program(t.Context(), t, "shards", command, "--store", location)
		refused(t, cmd, out, exitFailure, "access denied")
		if strings.Contains(out.String(), s3test.Secret) {
			t.Errorf("the output has the secret:\n%s", out)
		}
	}
	for _, c := range [][]string{
		{"shards", "list", "--store", "nats://shards"},
		{"shards", "list", "--store", "nats://shards", "--dir", t.TempDir()},
	} {
		cmd, out := program(t.Context(), t, c...)
		refused(t, cmd, out, exitFailure, "nats://shards")
	}
}

// onBucket runs a command on a store, and returns what it says.
func onBucket(t *testing.T, location string, args ...string) string {
	t.Helper()
	cmd, out := program(t.Context(), t, slices.Concat(args, []string{"--store", location})...)
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v: %v\n%s", args, err, out)
	}
	return out.String()
}
