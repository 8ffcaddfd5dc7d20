package main

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/ergoflow/ergoflow/data/sets/shard"
	"github.com/ergoflow/ergoflow/data/store/s3test"
)

// TestImportsInBucket: samples are imported into a bucket, once, also from another machine. A
// cluster whose shards are in the bucket makes its first shard of them.
func TestImportsInBucket(t *testing.T) {
	location := s3test.Location(s3test.Fake(t, nil).URL, "/lab")
	samples := t.TempDir()
	if err := os.CopyFS(samples, os.DirFS("../../data/imports/testdata/fields")); err != nil {
		t.Fatal(err)
	}
	sets := []string{"--set", "data.samples=64", "--set", "data.training.burn_in=50", "--set", "data.reference.burn_in=50"}
	ran := func(args ...string) string { t.Helper(); return onBucket(t, location, args...) }
	use := ""
	for _, machine := range []string{t.TempDir(), t.TempDir()} {
		t.Setenv("XDG_CACHE_HOME", machine)
		out := ran(slices.Concat([]string{"shards", "import", samples, "--name", "mine", "--experiment", "vn1d", "--preset", "smoke"}, sets)...)
		want := "accepted"
		if use != "" {
			want = "known"
		}
		_, use, _ = strings.Cut(out, "data.imports=")
		if !strings.Contains(out, want) || use == "" {
			t.Fatalf("the output does not say %s:\n%s", want, out)
		}
	}
	ran(slices.Concat([]string{"generate", "vn1d", "--preset", "smoke", "--backend", "go", "--local", "--dir", t.TempDir(), "--set", "data.imports=" + strings.TrimSpace(use)}, sets)...)
	if out := ran("shards", "list", "--imports"); !strings.Contains(out, "mine") || !strings.Contains(out, "ou.safetensors") {
		t.Error(out)
	}
	if out := ran("shards", "verify"); !strings.Contains(out, "and 1 imports are whole") {
		t.Error(out)
	}
	var manifests []shard.Manifest
	if err := json.Unmarshal([]byte(ran("shards", "list", "--json")), &manifests); err != nil {
		t.Fatal(err)
	}
	imported := 0
	for _, m := range manifests {
		imported += m.Imported
	}
	if imported != 5 {
		t.Errorf("%d imported functions, want 5", imported)
	}
}
