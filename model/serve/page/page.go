// Package page is the web page of the server: one HTML file, its style and its JavaScript
// modules, embedded as they are. The page asks the server that it comes from, and nobody else.
//
//	/              index.html
//	/page/…        style, modules, uPlot (uplot/LICENSE)
//
// There is no build step: the files are what the browser reads.
package page

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"time"
)

//go:embed static
var static embed.FS

// policy lets the page load and ask nothing but its own server. Images may also come from its
// own canvases.
const policy = "default-src 'self'; img-src 'self' data: blob:; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; object-src 'none'"

// file is one embedded file as it is served.
type file struct {
	content []byte
	kind    string // media type
	tag     string // of its content
}

// Register adds the page to a mux.
func Register(mux *http.ServeMux) {
	files := load()
	mux.Handle("GET /{$}", files["index.html"])
	mux.HandleFunc("GET /page/{name...}", func(w http.ResponseWriter, r *http.Request) {
		f, ok := files[r.PathValue("name")]
		if !ok {
			http.NotFound(w, r)
			return
		}
		f.ServeHTTP(w, r)
	})
}

// load reads the embedded files, by their paths below static.
func load() map[string]*file {
	all := map[string]*file{}
	root, err := fs.Sub(static, "static")
	if err == nil {
		err = fs.WalkDir(root, ".", func(name string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() {
				return err
			}
			content, err := fs.ReadFile(root, name)
			sum := sha256.Sum256(content)
			all[name] = &file{content, kind(name), `"` + hex.EncodeToString(sum[:16]) + `"`}
			return err
		})
	}
	if err != nil {
		panic(err) // the files are in the program
	}
	return all
}

// kind is the media type of a file. It does not depend on the machine's list of types.
func kind(name string) string {
	switch path.Ext(name) {
	case ".js":
		return "text/javascript; charset=utf-8"
	case ".css":
		return "text/css; charset=utf-8"
	case ".html":
		return "text/html; charset=utf-8"
	case ".svg":
		return "image/svg+xml"
	case "":
		return "text/plain; charset=utf-8"
	}
	return mime.TypeByExtension(path.Ext(name))
}

// ServeHTTP answers with the file, or says that the browser's copy is still right. Browsers ask
// each time, so that a new program is never shown with an old page.
func (f *file) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Type", f.kind)
	h.Set("Content-Security-Policy", policy)
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cache-Control", "no-cache")
	h.Set("ETag", f.tag)
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(f.content))
}
