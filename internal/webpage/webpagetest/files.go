// Package webpagetest has what tests of pages share: checks of a page's files, and a browser that
// notes errors of the console and requests to other hosts.
package webpagetest

import (
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/ergoflow/ergoflow/internal/webpage"
)

func get(t *testing.T, files webpage.Files, path, tag string) *httptest.ResponseRecorder {
	t.Helper()
	mux := http.NewServeMux()
	files.Register(mux)
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil)
	if tag != "" {
		r.Header.Set("If-None-Match", tag)
	}
	w := httptest.NewRecorder()
	mux.ServeHTTP(w, r)
	return w
}

// CheckFiles checks that every file has its type, the policy and a tag, by which a second request
// costs no bytes, and that what the files name is there, and on no other host. The server of the
// page has the paths elsewhere.
func CheckFiles(t *testing.T, files webpage.Files, elsewhere ...string) {
	t.Helper()
	for name, f := range files {
		path := "/page/" + name
		if name == "index.html" {
			path = "/"
		}
		w := get(t, files, path, "")
		tag := w.Header().Get("ETag")
		if w.Code != http.StatusOK || w.Body.Len() != len(f.Content) || w.Header().Get("Content-Type") == "" ||
			tag == "" || !strings.Contains(w.Header().Get("Content-Security-Policy"), "default-src 'self'") {
			t.Errorf("%s: code %d, %d bytes, %v", path, w.Code, w.Body.Len(), w.Header())
		}
		if w = get(t, files, path, tag); w.Code != http.StatusNotModified || w.Body.Len() != 0 {
			t.Errorf("%s again: code %d, %d bytes", path, w.Code, w.Body.Len())
		}
	}
	for _, path := range []string{"/page/", "/page/none.js", "/page/../page.go", "/other"} {
		if w := get(t, files, path, ""); w.Code == http.StatusOK {
			t.Errorf("%s: code %d", path, w.Code)
		}
	}
	checkReferences(t, files, elsewhere)
}

var named = regexp.MustCompile(`(?:src|href)="([^"]+)"|from "(\./[^"]+)"`)

func checkReferences(t *testing.T, files webpage.Files, elsewhere []string) {
	t.Helper()
	known := make(map[string]bool)
	for _, path := range elsewhere {
		known[path] = true
	}
	for name, f := range files {
		if strings.HasPrefix(name, "uplot/") {
			continue
		}
		for _, m := range named.FindAllStringSubmatch(string(f.Content), -1) {
			ref := m[1] + m[2]
			local := strings.TrimPrefix(strings.TrimPrefix(ref, "/page/"), "./")
			if files[local] == nil && !strings.HasPrefix(ref, "#") && !known[ref] {
				t.Errorf("%s names %s, which is not there", name, ref)
			}
		}
		if strings.Contains(string(f.Content), "style=") {
			t.Errorf("%s has a style attribute, which the policy forbids", name)
		}
	}
}
