package store_test

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/ergoflow/ergoflow/data/store"
	"github.com/ergoflow/ergoflow/data/store/storetest"
)

// s3Server is the program versitygw (make stores). Tests with a real server skip without it.
var s3Server = flag.String("s3.server", "", "program versitygw, for tests with a real server of S3")

// A gateway is a running server of S3 with a bucket.
type gateway struct {
	url string
	dir string // of buckets
	cmd *exec.Cmd
	run []string
}

// startGateway starts a server on a directory whose file system has extended attributes: without
// them the server keeps no ETags, and then it refuses no put.
func startGateway(t *testing.T) *gateway {
	t.Helper()
	if *s3Server == "" {
		t.Skip("no -s3.server")
	}
	credentials(t)
	dir, err := os.MkdirTemp(".", "gateway-") //nolint:usetesting // a temporary directory may be in memory, without attributes
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.MkdirAll(filepath.Join(dir, "bucket"), 0o755); err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	listener.Close()
	g := &gateway{url: "http://" + address, dir: dir, run: []string{"--access", "key", "--secret", "hush", "--port", address, "posix", dir}}
	g.start(t)
	t.Cleanup(func() { g.kill() })
	return g
}

func (g *gateway) start(t *testing.T) {
	t.Helper()
	g.cmd = exec.CommandContext(context.WithoutCancel(t.Context()), *s3Server, g.run...)
	g.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := g.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	until := time.Now().Add(20 * time.Second)
	for time.Now().Before(until) {
		if r, err := http.Get(g.url); err == nil {
			r.Body.Close()
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatal("the server does not answer")
}

func (g *gateway) kill() {
	_ = g.cmd.Process.Kill()
	_ = g.cmd.Wait()
}

// behind is a proxy before the server that may fail in its place.
func (g *gateway) behind(t *testing.T, before func(http.ResponseWriter, *http.Request) (answered bool)) string {
	t.Helper()
	to, err := url.Parse(g.url)
	if err != nil {
		t.Fatal(err)
	}
	proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(to)
		r.Out.Host = r.In.Host // it is signed
	}, ErrorLog: quiet}
	server := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !before(w, r) {
			proxy.ServeHTTP(w, r)
		}
	}))
	return server.URL
}

func TestVersity(t *testing.T) {
	g := startGateway(t)
	for _, prefix := range []string{"", "/a/b", "/odd é+%25%3F%23 &=~'(1)!,;:@$"} {
		t.Run(prefix, func(t *testing.T) { storetest.Conform(t, open(t, at(g.url, prefix))) })
	}
}

// Credentials that are wrong, a bucket that vanishes, and a server that is killed and comes back.
func TestVersityFaults(t *testing.T) {
	g := startGateway(t)
	s := open(t, at(g.url, "/p"))
	storetest.Put(t, s, "a", []byte("one"))

	t.Setenv("AWS_SECRET_ACCESS_KEY", "wrong")
	if err := store.Probe(t.Context(), open(t, at(g.url, "/p")), "x"); !errors.Is(err, store.ErrDenied) {
		t.Errorf("wrong secret: %v", err)
	}
	t.Setenv("AWS_SECRET_ACCESS_KEY", "hush")

	g.kill()
	go func() {
		time.Sleep(500 * time.Millisecond) // a server is away for a while
		g.start(t)
	}()
	if got, err := storetest.Read(t.Context(), s, "a", 0, 3); err != nil || string(got) != "one" {
		t.Errorf("after a restart: %q, %v", got, err)
	}

	if err := os.RemoveAll(filepath.Join(g.dir, "bucket")); err != nil {
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
	g := startGateway(t)
	var changed atomic.Int32
	s := open(t, at(g.behind(t, func(_ http.ResponseWriter, r *http.Request) bool {
		if r.Method == http.MethodPut && changed.Add(1) <= 2 {
			body := bytes.Repeat([]byte("z"), int(r.ContentLength))
			r.Body = io.NopCloser(bytes.NewReader(body))
		}
		return false
	}), ""))
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
	g := startGateway(t)
	var requests atomic.Int32
	s := open(t, at(g.behind(t, func(w http.ResponseWriter, r *http.Request) bool {
		switch n := requests.Add(1); {
		case n%6 == 0:
			panic(http.ErrAbortHandler)
		case n%6 == 3:
			refusal(w, 503, "SlowDown")
			return true
		}
		return false
	}), "/poor"))
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
