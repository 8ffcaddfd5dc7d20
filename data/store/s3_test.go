package store_test

import (
	"bytes"
	"context"
	"encoding/pem"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"

	"github.com/ergoflow/ergoflow/data/store"
	"github.com/ergoflow/ergoflow/data/store/s3test"
	"github.com/ergoflow/ergoflow/data/store/storetest"
)

func open(t *testing.T, location string) store.Store {
	t.Helper()
	return storetest.Open(t, location, store.Options{})
}

func TestS3(t *testing.T) {
	server := s3test.Fake(t, nil)
	for _, prefix := range []string{"", "/a/b", "/odd é+%25%3F%23 &=~'(1)!*,;:@$"} {
		t.Run(prefix, func(t *testing.T) { storetest.Conform(t, open(t, s3test.Location(server.URL, prefix))) })
	}
}

// Errors that pass are met again until they have passed.
func TestS3Passing(t *testing.T) {
	for name, fail := range map[string]func(http.ResponseWriter, *http.Request){
		"500":      func(w http.ResponseWriter, _ *http.Request) { s3test.Refuse(w, 500, "InternalError") },
		"503":      func(w http.ResponseWriter, _ *http.Request) { s3test.Refuse(w, 503, "SlowDown") },
		"conflict": func(w http.ResponseWriter, _ *http.Request) { s3test.Refuse(w, 409, "ConditionalRequestConflict") },
		"cut":      func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
		"cut in the body": func(_ http.ResponseWriter, r *http.Request) {
			_, _ = io.CopyN(io.Discard, r.Body, 10)
			panic(http.ErrAbortHandler)
		},
		"500 on HEAD": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) },
		"wrong checksum": func(w http.ResponseWriter, _ *http.Request) {
			s3test.Refuse(w, 400, "XAmzContentSHA256Mismatch")
		},
		"wrong digest": func(w http.ResponseWriter, _ *http.Request) { s3test.Refuse(w, 400, "BadDigest") },
		"slow":         func(w http.ResponseWriter, _ *http.Request) { s3test.Refuse(w, 400, "RequestTimeout") },
		"429":          func(w http.ResponseWriter, _ *http.Request) { s3test.Refuse(w, 429, "TooManyRequests") },
		"expired":      func(w http.ResponseWriter, _ *http.Request) { s3test.Refuse(w, 400, "ExpiredToken") },
		"no XML":       func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "bad gateway", http.StatusBadGateway) },
	} {
		var requests, failures atomic.Int32
		server := s3test.Fake(t, func(w http.ResponseWriter, r *http.Request) bool {
			if requests.Add(1)%3 == 1 {
				failures.Add(1)
				fail(w, r)
				return true
			}
			return false
		})
		s := open(t, s3test.Location(server.URL, ""))
		for key, size := range map[string]int64{"a": 1000, "parts": store.Exclusive + 1} {
			want := storetest.Content(int(size), 1)
			storetest.Put(t, s, key, want)
			if got, err := storetest.Read(t.Context(), s, key, 0, size); err != nil || !bytes.Equal(got, want) {
				t.Errorf("%s: %v", name, err)
			}
		}
		if o, err := s.Stat(t.Context(), "a"); err != nil || o.Bytes != 1000 {
			t.Errorf("%s: %+v, %v", name, o, err)
		}
		if _, err := s.Stat(t.Context(), "none"); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("%s: %v", name, err)
		}
		if n, err := s.Sweep(t.Context(), "", time.Now()); err != nil || n != 0 {
			t.Errorf("%s: %d, %v", name, n, err)
		}
		if err := s.Delete(t.Context(), "parts"); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if all, err := s.List(t.Context(), ""); err != nil || len(all) != 1 {
			t.Errorf("%s: %v, %v", name, all, err)
		}
		if failures.Load() < 6 {
			t.Errorf("%s: only %d failures", name, failures.Load())
		}
	}
}

// An answer that is lost leaves the object: the put that is repeated says that it exists.
func TestS3LostAnswer(t *testing.T) {
	var lost atomic.Bool
	var server *httptest.Server
	server = s3test.Fake(t, func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method == http.MethodPut && r.Header.Get("X-Again") == "" && !lost.Swap(true) {
			again := r.Clone(r.Context())
			again.Header.Set("X-Again", "1")
			server.Config.Handler.ServeHTTP(httptest.NewRecorder(), again)
			panic(http.ErrAbortHandler)
		}
		return false
	})
	s := open(t, s3test.Location(server.URL, ""))
	if err := s.Put(t.Context(), "a", strings.NewReader("x"), 1); !errors.Is(err, store.ErrExists) {
		t.Error(err)
	}
	if got, err := storetest.Read(t.Context(), s, "a", 0, 1); err != nil || string(got) != "x" {
		t.Errorf("%q, %v", got, err)
	}
}

// What does not pass ends at once, with an error that says what to do about it.
func TestS3Refusals(t *testing.T) {
	for _, c := range []struct {
		status int
		code   string
		want   error
		says   string
		only   string // the one operation that is refused so; empty: each
	}{
		{403, "AccessDenied", store.ErrDenied, "AccessDenied", ""},
		{403, "SignatureDoesNotMatch", store.ErrDenied, "SignatureDoesNotMatch", ""},
		{403, "RequestTimeTooSkewed", store.ErrDenied, "this machine's clock and the server's differ too much", ""},
		{404, "NoSuchBucket", store.ErrGone, "the bucket does not exist", ""},
		{507, "XMinioStorageFull", store.ErrFull, "the store is full", "put"},
		{403, "QuotaExceeded", store.ErrFull, "the store is full", "put"},
		{412, "PreconditionFailed", store.ErrExists, "the object exists", "put"},
	} {
		var requests atomic.Int32
		server := s3test.Fake(t, func(w http.ResponseWriter, _ *http.Request) bool {
			requests.Add(1)
			s3test.Refuse(w, c.status, c.code)
			return true
		})
		s := open(t, s3test.Location(server.URL, ""))
		for what, do := range map[string]func() error{
			"put":    func() error { return s.Put(t.Context(), "a", strings.NewReader("x"), 1) },
			"parts":  func() error { return s.Put(t.Context(), "a", zeros{}, storetest.Big) },
			"get":    func() error { _, err := s.Get(t.Context(), "a", 0, 1); return err },
			"stat":   func() error { _, err := s.Stat(t.Context(), "a"); return err },
			"list":   func() error { _, err := s.List(t.Context(), ""); return err },
			"delete": func() error { return s.Delete(t.Context(), "a") },
			"sweep":  func() error { _, err := s.Sweep(t.Context(), "", time.Now()); return err },
		} {
			if c.only != "" && c.only != what {
				continue
			}
			requests.Store(0)
			err := do()
			if !errors.Is(err, c.want) || requests.Load() > 3 {
				t.Errorf("%s: %s: %v after %d requests", c.code, what, err, requests.Load())
				continue
			}
			if text := err.Error(); !strings.Contains(text, c.says) && what != "stat" || strings.Contains(text, "\n") || strings.Contains(text, s3test.Secret) {
				t.Errorf("%s: %s: %v", c.code, what, err)
			}
		}
	}
}

// zeros is content of any size.
type zeros struct{}

func (zeros) ReadAt(b []byte, _ int64) (int, error) {
	clear(b)
	return len(b), nil
}

// Credentials that never become valid end after some attempts.
func TestS3Expired(t *testing.T) {
	server := s3test.Fake(t, func(w http.ResponseWriter, _ *http.Request) bool {
		s3test.Refuse(w, 403, "ExpiredToken")
		return true
	})
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if err := open(t, s3test.Location(server.URL, "")).Put(ctx, "a", strings.NewReader("x"), 1); !errors.Is(err, store.ErrDenied) {
		t.Error(err)
	}
}

// A body that ends early is an error of the reader, not a shorter object.
func TestS3CutBody(t *testing.T) {
	var server *httptest.Server
	server = s3test.Fake(t, func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method != http.MethodGet || r.Header.Get("X-Again") != "" {
			return false
		}
		again := r.Clone(r.Context())
		again.Header.Set("X-Again", "1")
		whole := httptest.NewRecorder()
		server.Config.Handler.ServeHTTP(whole, again)
		for name, values := range whole.Header() {
			w.Header()[name] = values
		}
		w.Header().Set("Content-Length", "1000")
		w.WriteHeader(whole.Code)
		_, _ = w.Write(whole.Body.Bytes()[:300])
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	})
	s := open(t, s3test.Location(server.URL, ""))
	storetest.Put(t, s, "a", storetest.Content(1000, 1))
	got, err := storetest.Read(t.Context(), s, "a", 0, 1000)
	if !errors.Is(err, io.ErrUnexpectedEOF) || len(got) > 300 {
		t.Errorf("%d bytes, %v", len(got), err)
	}
}

// A server without conditional writes is found by the probe.
func TestS3Unsafe(t *testing.T) {
	server := s3test.Fake(t, func(_ http.ResponseWriter, r *http.Request) bool {
		r.Header.Del("If-None-Match")
		return false
	})
	if err := store.Probe(t.Context(), open(t, s3test.Location(server.URL, "")), "x"); !errors.Is(err, store.ErrUnsafe) {
		t.Error(err)
	}
	server = s3test.Fake(t, func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method == http.MethodPut {
			s3test.Refuse(w, 403, "AccessDenied")
			return true
		}
		return false
	})
	if err := store.Probe(t.Context(), open(t, s3test.Location(server.URL, "")), "x"); !errors.Is(err, store.ErrDenied) || !strings.Contains(err.Error(), "cannot write") {
		t.Error(err)
	}
}

// The server refuses bytes that changed on the way.
func TestS3ChangedUpload(t *testing.T) {
	var hash atomic.Value
	server := s3test.Fake(t, func(_ http.ResponseWriter, r *http.Request) bool {
		hash.Store(r.Header.Get("X-Amz-Content-Sha256"))
		return false
	})
	s := open(t, s3test.Location(server.URL, ""))
	storetest.Put(t, s, "a", []byte("x"))
	if got := hash.Load(); got != "2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881" { // echo -n x | sha256sum
		t.Errorf("the signature covers %v", got)
	}
}

func TestS3Credentials(t *testing.T) {
	server := s3test.Fake(t, nil)
	t.Setenv("AWS_ACCESS_KEY_ID", "")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "")
	l, err := store.Parse(s3test.Location(server.URL, ""))
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", server.URL+"/nothing") // the instance of a cloud that has no role
	if _, err := store.Open(t.Context(), l, store.Options{}); !errors.Is(err, store.ErrDenied) || !strings.Contains(err.Error(), "AWS_ACCESS_KEY_ID") {
		t.Error(err)
	}
	file := filepath.Join(t.TempDir(), "credentials")
	if err := os.WriteFile(file, []byte("[default]\naws_access_key_id = filed\naws_secret_access_key = hush\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", file)
	s, err := store.Open(t.Context(), l, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	storetest.Put(t, s, "a", []byte("x"))
}

// A certificate of one's own CA is accepted where the location names the CA.
func TestS3CA(t *testing.T) {
	s3test.Credentials(t)
	backend := s3mem.New()
	if err := backend.CreateBucket("bucket"); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(gofakes3.New(backend).Server())
	server.Config.ErrorLog = s3test.Quiet
	server.StartTLS()
	defer server.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if err := open(t, s3test.Location(server.URL, "")).Put(ctx, "a", strings.NewReader("x"), 1); err == nil || !strings.Contains(err.Error(), "unknown authority") {
		t.Error(err)
	}
	file := filepath.Join(t.TempDir(), "ca.pem")
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	if err := os.WriteFile(file, ca, 0o600); err != nil {
		t.Fatal(err)
	}
	s := open(t, s3test.Location(server.URL, "")+"&ca="+url.QueryEscape(file))
	if err := store.Probe(t.Context(), s, "x"); err != nil {
		t.Error(err)
	}
	for _, wrong := range []string{filepath.Join(t.TempDir(), "none"), os.Args[0]} {
		l, err := store.Parse(s3test.Location(server.URL, "") + "&ca=" + url.QueryEscape(wrong))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := store.Open(t.Context(), l, store.Options{}); err == nil {
			t.Errorf("%s: accepted", wrong)
		}
	}
}
