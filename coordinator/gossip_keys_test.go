package coordinator

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/ergoflow/ergoflow/coordinator/gossip/keys"
)

// The keys survive a restart in each pass, and a step that cannot be stored is not made.
func TestGossipKeysAreDurable(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	g, err := openGossipKeys(dir)
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(filepath.Join(dir, gossipFile)); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	var told []keys.Key
	g.serve(func(list []keys.Key) error { told = list; return nil })
	first := g.now()
	for _, step := range []func() error{g.begin, func() error { return g.advance(nil) }, func() error { return g.advance(nil) }} {
		if err := step(); err != nil {
			t.Fatal(err)
		}
		again, err := openGossipKeys(dir)
		if err != nil {
			t.Fatal(err)
		}
		have, kept := g.now(), again.now()
		if have.Version != kept.Version || len(have.Keys) != len(kept.Keys) || !have.Keys[0].Equal(kept.Keys[0]) || !told[0].Equal(have.Keys[0]) {
			t.Errorf("keys %v of version %d, stored %v of %d, told %v", have.Keys, have.Version, kept.Keys, kept.Version, told)
		}
	}
	if last := g.now(); len(last.Keys) != 1 || last.Keys[0].Equal(first.Keys[0]) {
		t.Errorf("%v after %v", last, first)
	}
	before := g.now()
	if g.path = filepath.Join(dir, "nowhere", gossipFile); g.begin() == nil {
		t.Error("a step that is not stored succeeds")
	}
	if after := g.now(); after.Version != before.Version || len(after.Keys) != 1 || !told[0].Equal(after.Keys[0]) {
		t.Errorf("%v, before %v", after, before)
	}
	g.confirm("a", before.Version)
	if pass, missing := g.progress([]string{"a", "b"}); pass != keys.Steady || len(missing) != 1 || missing[0] != "b" {
		t.Errorf("%s, %v", pass, missing)
	}
	if err := os.WriteFile(filepath.Join(dir, gossipFile), []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := openGossipKeys(dir); err == nil {
		t.Error("a damaged file is read")
	}
}
