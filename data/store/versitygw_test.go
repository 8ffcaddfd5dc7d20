package store_test

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/ergoflow/ergoflow/data/store"
	"github.com/ergoflow/ergoflow/data/store/s3test"
	"github.com/ergoflow/ergoflow/data/store/storetest"
)

func TestVersity(t *testing.T) {
	g := s3test.New(t)
	for _, prefix := range []string{"", "/a/b", "/odd é+%25%3F%23 &=~'(1)!,;:@$"} {
		t.Run(prefix, func(t *testing.T) { storetest.Conform(t, open(t, s3test.Location(g.URL, prefix))) })
	}
}

// Credentials that are wrong, a bucket that vanishes, and a server that is killed and comes back.
func TestVersityFaults(t *testing.T) {
	g := s3test.New(t)
	var away atomic.Bool
	var missed atomic.Int32 // requests while the server was away
	s := open(t, s3test.Location(s3test.Serve(t, g.Proxy(func(http.ResponseWriter, *http.Request) bool {
		if away.Load() && missed.Add(1) == 3 {
			if err := g.Start(t.Context()); err != nil {
				t.Error(err)
			}
		}
		return false
	})).URL, "/p"))
	storetest.Put(t, s, "a", []byte("one"))

	t.Setenv("AWS_SECRET_ACCESS_KEY", "wrong")
	if err := store.Probe(t.Context(), open(t, s3test.Location(g.URL, "/p")), "x"); !errors.Is(err, store.ErrDenied) {
		t.Errorf("wrong secret: %v", err)
	}
	t.Setenv("AWS_SECRET_ACCESS_KEY", s3test.Secret)

	g.Kill()
	away.Store(true)
	if got, err := storetest.Read(t.Context(), s, "a", 0, 3); err != nil || string(got) != "one" {
		t.Errorf("after a restart: %q, %v", got, err)
	}
	if n := missed.Load(); n < 3 {
		t.Errorf("%d requests while the server was away", n)
	}

	if err := os.RemoveAll(filepath.Join(g.Buckets, "bucket")); err != nil {
		t.Fatal(err)
	}
	if err := s.Put(t.Context(), "b", strings.NewReader("x"), 1); !errors.Is(err, store.ErrGone) {
		t.Errorf("the bucket is gone: %v", err)
	}
	if _, err := s.List(t.Context(), ""); !errors.Is(err, store.ErrGone) {
		t.Errorf("the bucket is gone: %v", err)
	}
}

// The server refuses bytes that changed on the way, and the put is repeated.
func TestVersityChangedUpload(t *testing.T) {
	g := s3test.New(t)
	var changed atomic.Int32
	s := open(t, s3test.Location(s3test.Serve(t, g.Proxy(func(_ http.ResponseWriter, r *http.Request) bool {
		if r.Method == http.MethodPut && changed.Add(1) <= 2 {
			body := bytes.Repeat([]byte("z"), int(r.ContentLength))
			r.Body = io.NopCloser(bytes.NewReader(body))
		}
		return false
	})).URL, ""))
	want := storetest.Content(1000, 1)
	storetest.Put(t, s, "a", want)
	if got, err := storetest.Read(t.Context(), s, "a", 0, 1000); err != nil || !bytes.Equal(got, want) {
		t.Errorf("not what was put: %v", err)
	}
	if n := changed.Load(); n != 3 {
		t.Errorf("%d puts, want 3", n)
	}
}

// A big object is put through a network on which every third request breaks.
func TestVersityPoorNetwork(t *testing.T) {
	g := s3test.New(t)
	var requests atomic.Int32
	s := open(t, s3test.Location(s3test.Serve(t, g.Proxy(func(w http.ResponseWriter, r *http.Request) bool {
		switch n := requests.Add(1); {
		case n%6 == 0:
			panic(http.ErrAbortHandler)
		case n%6 == 3:
			s3test.Refuse(w, 503, "SlowDown")
			return true
		}
		return false
	})).URL, "/poor"))
	want := storetest.Content(5*storetest.Big/2, 9)
	storetest.Put(t, s, "a", want)
	got, err := storetest.Read(t.Context(), s, "a", 0, int64(len(want)))
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("not what was put: %d bytes, %v", len(got), err)
	}
	if n := requests.Load(); n < 8 {
		t.Errorf("%d requests", n)
	}
}
