// Package webpage serves the embedded files of a web page, and has those that pages share: the
// style of light and dark, helpers of JavaScript, uPlot (static/uplot/LICENSE). A page asks the
// process that it comes from, and nobody else.
//
//	/              index.html
//	/page/…        style, modules, uPlot
//
// There is no build step: the files are what the browser reads.
package webpage

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"io/fs"
	"maps"
	"mime"
	"net/http"
	"path"
	"slices"
	"time"
)

//go:embed static
var shared embed.FS

// policy lets the page load and ask nothing but its own server. Images may also come from its
// own canvases.
const policy = "default-src 'self'; img-src 'self' data: blob:; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; object-src 'none'"

// Files are the files of one page, by their paths below /page/.
type Files map[string]*File

// File is one file as it is served.
type File struct {
	Content []byte
	kind    string // media type
	tag     string // of its content
}

// Load reads the files of a page below the directory static, and those that pages share.
func Load(own embed.FS) Files {
	all := make(Files)
	for _, files := range []embed.FS{shared, own} {
		root, err := fs.Sub(files, "static")
		if err == nil {
			err = all.add(root)
		}
		if err != nil {
			panic(err) // the files are in the program
		}
	}
	return all
}

func (all Files) add(root fs.FS) error {
	return fs.WalkDir(root, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := fs.ReadFile(root, name)
		sum := sha256.Sum256(content)
		all[name] = &File{content, kind(name), `"` + hex.EncodeToString(sum[:16]) + `"`}
		return err
	})
}

// Build names the content of all files: 16 hexadecimal digits.
func (all Files) Build() string {
	h := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(all)) {
		h.Write([]byte(name + all[name].tag))
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}

// Register adds the page to a mux.
func (all Files) Register(mux *http.ServeMux) {
	mux.Handle("GET /{$}", all["index.html"])
	mux.HandleFunc("GET /page/{name...}", func(w http.ResponseWriter, r *http.Request) {
		f, ok := all[r.PathValue("name")]
		if !ok {
			http.NotFound(w, r)
			return
		}
		f.ServeHTTP(w, r)
	})
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
func (f *File) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Type", f.kind)
	h.Set("Content-Security-Policy", policy)
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cache-Control", "no-cache")
	h.Set("ETag", f.tag)
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(f.Content))
}
