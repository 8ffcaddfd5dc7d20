package coordinator

import (
	"errors"
	"testing"

	"github.com/ergoflow/ergoflow/data/store"
	"github.com/ergoflow/ergoflow/data/store/storetest"
)

// A command on the coordinator's machine opens the bucket of its embedded server, of a secured one
// with the coordinator's credentials. Without these, or without a server, it is refused.
func TestOpenStore(t *testing.T) {
	bucket := func(text string) store.Location {
		l, err := store.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	for name, dir := range map[string]string{
		"plain":   start(t, t.TempDir()).dir,
		"secured": startSecuredWith(t, t.TempDir(), func(c *Config) { c.Store = "nats://shards" }).dir,
	} {
		s, err := OpenStore(t.Context(), dir, bucket("nats://shards"), "")
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		_, err = s.List(t.Context(), "")
		if name == "secured" { // and has a bucket
			storetest.Put(t, s, "a", []byte("x"))
			if got, err := storetest.Read(t.Context(), s, "a", 0, 1); err != nil || string(got) != "x" {
				t.Errorf("%q, %v", got, err)
			}
		} else if !errors.Is(err, store.ErrGone) {
			t.Errorf("a bucket that there is not: %v", err)
		}
		s.Close()
		a, err := ReadAddresses(dir)
		if err != nil {
			t.Fatal(err)
		}
		s, err = OpenStore(t.Context(), "", bucket("nats://shards?server="+a.NATS), "")
		if (err == nil) != (name == "plain") {
			t.Errorf("%s: without credentials: %v", name, err)
		}
		if s != nil {
			s.Close()
		}
	}
	if _, err := OpenStore(t.Context(), "", bucket("nats://shards"), ""); !errors.Is(err, ErrNoServer) {
		t.Error(err)
	}
	if _, err := OpenStore(t.Context(), t.TempDir(), bucket("nats://shards"), ""); !errors.Is(err, ErrNotRunning) {
		t.Error(err)
	}
}
