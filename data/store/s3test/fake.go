package s3test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"
)

// Fake is a server of S3 in this process, with a bucket named "bucket", behind a handler that may
// fail in its place. It puts credentials into the environment.
func Fake(t *testing.T, before func(http.ResponseWriter, *http.Request) (answered bool)) *httptest.Server {
	t.Helper()
	Credentials(t)
	backend := s3mem.New()
	if err := backend.CreateBucket("bucket"); err != nil {
		t.Fatal(err)
	}
	s3 := gofakes3.New(backend).Server()
	return Serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if before == nil || !before(w, r) {
			s3.ServeHTTP(w, r)
		}
	}))
}

// Serve serves until the test ends.
func Serve(t *testing.T, handler http.Handler) *httptest.Server {
	t.Helper()
	server := httptest.NewUnstartedServer(handler)
	server.Config.ErrorLog = Quiet
	server.Start()
	t.Cleanup(server.Close)
	return server
}

// Location is where the bucket of a server is, below a path: "" or "/PREFIX".
func Location(server, path string) string {
	return "s3://bucket" + path + "?endpoint=" + url.QueryEscape(server)
}

// Refuse answers as S3 refuses.
func Refuse(w http.ResponseWriter, status int, code string) {
	w.Header().Set("Content-Type", "application/xml")
	w.WriteHeader(status)
	fmt.Fprintf(w, "<?xml version=\"1.0\"?><Error><Code>%s</Code><Message>%s</Message></Error>", code, code)
}
