// Package s3test runs a real server of S3 for tests, versitygw, and a proxy before it that fails.
package s3test

import (
	"context"
	"flag"
	"io"
	"log"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/ergoflow/ergoflow/data/store/storetest"
	"github.com/ergoflow/ergoflow/internal/addresstest"
)

var program = flag.String("s3.server", "", "program versitygw, for tests with a real server of S3 (make stores)")

// Need skips the test where no server is given.
func Need(t *testing.T) {
	t.Helper()
	if *program == "" {
		t.Skip("no -s3.server: `make stores` builds the server, and runs this test with it")
	}
}

// The credentials of a server.
const (
	accessKey = "key"
	// Secret may be in no error.
	Secret = "hush"
)

// Credentials puts credentials into the environment, and none elsewhere.
func Credentials(t *testing.T) {
	t.Helper()
	t.Setenv("AWS_ACCESS_KEY_ID", accessKey)
	t.Setenv("AWS_SECRET_ACCESS_KEY", Secret)
	t.Setenv("AWS_SESSION_TOKEN", "")
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", filepath.Join(t.TempDir(), "none"))
	t.Setenv("AWS_EC2_METADATA_DISABLED", "true")
}

// Quiet drops what servers say of connections that tests cut.
var Quiet = log.New(io.Discard, "", 0)

// Server is a server of S3 on this machine, with a bucket named "bucket".
type Server struct {
	URL     string
	Buckets string // their directory
	cmd     *exec.Cmd
	args    []string
}

// New starts a server, and puts its credentials into the environment.
func New(t *testing.T) *Server {
	t.Helper()
	Need(t)
	Credentials(t)
	// The file system has extended attributes: without them the server keeps no ETags, and then it
	// refuses no put. A temporary directory may be in memory, without attributes.
	dir, err := os.MkdirTemp(".", "gateway-") //nolint:usetesting // see above
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Mkdir(filepath.Join(dir, "bucket"), 0o755); err != nil {
		t.Fatal(err)
	}
	address := addresstest.Free(t)
	s := &Server{URL: "http://" + address, Buckets: dir, args: []string{"--access", accessKey, "--secret", Secret, "--port", address, "posix", dir}}
	if err := s.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Kill)
	return s
}

// Start starts the server again after Kill, and waits until it answers.
func (s *Server) Start(ctx context.Context) error {
	s.cmd = exec.CommandContext(context.WithoutCancel(ctx), *program, s.args...) // Kill ends it
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := s.cmd.Start(); err != nil {
		return err
	}
	return storetest.Await(ctx, func() error {
		r, err := http.Get(s.URL)
		if err == nil {
			r.Body.Close()
		}
		return err
	})
}

// Kill ends the server with SIGKILL.
func (s *Server) Kill() {
	_ = s.cmd.Process.Kill()
	_ = s.cmd.Wait()
}

// Proxy passes requests to the server, unless before answers in its place. It cuts connections
// while the server is away.
func (s *Server) Proxy(before func(http.ResponseWriter, *http.Request) (answered bool)) http.Handler {
	proxy := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(&url.URL{Scheme: "http", Host: strings.TrimPrefix(s.URL, "http://")})
			r.Out.Host = r.In.Host // it is signed
		},
		ErrorHandler: func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
		ErrorLog:     Quiet,
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !before(w, r) {
			proxy.ServeHTTP(w, r)
		}
	})
}
