package page

import (
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
)

func get(t *testing.T, path, tag string) *httptest.ResponseRecorder {
	t.Helper()
	mux := http.NewServeMux()
	Register(mux)
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil)
	if tag != "" {
		r.Header.Set("If-None-Match", tag)
	}
	w := httptest.NewRecorder()
	mux.ServeHTTP(w, r)
	return w
}

// Every file has its type, the policy and a tag, by which a second request costs no bytes.
func TestFiles(t *testing.T) {
	for name, f := range load() {
		path := "/page/" + name
		if name == "index.html" {
			path = "/"
		}
		w := get(t, path, "")
		tag := w.Header().Get("ETag")
		if w.Code != http.StatusOK || w.Body.Len() != len(f.content) || w.Header().Get("Content-Type") == "" ||
			tag == "" || !strings.Contains(w.Header().Get("Content-Security-Policy"), "default-src 'self'") {
			t.Errorf("%s: code %d, %d bytes, %v", path, w.Code, w.Body.Len(), w.Header())
		}
		if w = get(t, path, tag); w.Code != http.StatusNotModified || w.Body.Len() != 0 {
			t.Errorf("%s again: code %d, %d bytes", path, w.Code, w.Body.Len())
		}
	}
	for _, path := range []string{"/page/", "/page/none.js", "/page/../page.go", "/other"} {
		if w := get(t, path, ""); w.Code == http.StatusOK {
			t.Errorf("%s: code %d", path, w.Code)
		}
	}
}

// What the files name is there, and on no other host.
func TestReferences(t *testing.T) {
	files := load()
	named := regexp.MustCompile(`(?:src|href)="([^"]+)"|from "(\./[^"]+)"`)
	for name, f := range files {
		if strings.HasPrefix(name, "uplot/") {
			continue
		}
		for _, m := range named.FindAllStringSubmatch(string(f.content), -1) {
			ref := m[1] + m[2]
			local := strings.TrimPrefix(strings.TrimPrefix(ref, "/page/"), "./")
			if _, ok := files[local]; !ok && !strings.HasPrefix(ref, "#") && ref != "/openapi.json" {
				t.Errorf("%s names %s, which is not there", name, ref)
			}
		}
		if strings.Contains(string(f.content), "style=") {
			t.Errorf("%s has a style attribute, which the policy forbids", name)
		}
	}
}
