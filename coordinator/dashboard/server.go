package dashboard

import (
	"context"
	"embed"
	"encoding/json"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/ergoflow/ergoflow/internal/webpage"
)

//go:embed static
var static embed.FS

// Server serves the page. Its methods may be called concurrently.
type Server struct {
	source Source
	hub    *hub
	files  webpage.Files
	build  string // of the page
	limits limits
}

// limits bound what callers cost. Tests shorten them.
type limits struct {
	streams int           // at once
	write   time.Duration // for one write
	beat    time.Duration // between signs of life on a stream
	pause   time.Duration // between messages with events, at least
}

// interval is the time between two snapshots.
const interval = time.Second

var defaults = limits{streams: 128, write: 10 * time.Second, beat: 5 * time.Second, pause: 250 * time.Millisecond}

// New returns the page of a source.
func New(s Source) *Server {
	files := webpage.Load(static)
	return &Server{source: s, hub: newHub(s, interval), files: files, build: files.Build(), limits: defaults}
}

// Run takes snapshots until ctx ends.
func (s *Server) Run(ctx context.Context) {
	var group sync.WaitGroup
	group.Go(func() { s.hub.run(ctx) })
	group.Go(func() { s.hub.keepReading(ctx) })
	group.Wait()
}

// Register adds the page and its paths to a mux.
func (s *Server) Register(mux *http.ServeMux) {
	own := http.NewServeMux()
	s.files.Register(own)
	own.HandleFunc("GET /api/state", s.state)
	own.HandleFunc("GET /api/events", s.events)
	own.HandleFunc("GET /api/me", s.me)
	s.registerActions(own)
	protected := http.NewCrossOriginProtection().Handler(own)
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		if !here(r) {
			refuse(w, http.StatusMisdirectedRequest, "the page answers at an IP address, at localhost and at the machine's name, so that no other site can point a name of its own at it")
			return
		}
		if site := r.Header.Get("Sec-Fetch-Site"); strings.HasPrefix(r.URL.Path, "/api/") && (site == "cross-site" || site == "same-site") {
			refuse(w, http.StatusForbidden, "a page of another site asks") // it could not read the answer, and would hold a stream
			return
		}
		protected.ServeHTTP(w, r)
	})
}

// state answers with the newest snapshot.
func (s *Server) state(w http.ResponseWriter, r *http.Request) {
	if _, err := s.source.Access.judge(r); err != nil {
		refuse(w, http.StatusForbidden, err.Error())
		return
	}
	leave, ok := s.hub.enter(s.limits.streams)
	if !ok {
		s.refuseMore(w)
		return
	}
	defer leave()
	f, _ := s.hub.newest()
	if f == nil {
		refuse(w, http.StatusServiceUnavailable, "the coordinator ends")
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	_, _ = w.Write(f.event) // the caller may be gone
}

func (s *Server) me(w http.ResponseWriter, r *http.Request) {
	c, err := s.source.Access.judge(r)
	if err != nil {
		refuse(w, http.StatusForbidden, err.Error())
		return
	}
	answer(w, http.StatusOK, "application/json", c)
}

// problem is an error as RFC 9457 has it.
type problem struct {
	Title  string `json:"title"`
	Status int    `json:"status"`
	Detail string `json:"detail"`
}

func refuse(w http.ResponseWriter, status int, detail string) {
	answer(w, status, "application/problem+json", problem{http.StatusText(status), status, detail})
}

func (s *Server) refuseMore(w http.ResponseWriter) {
	w.Header().Set("Retry-After", "10")
	refuse(w, http.StatusServiceUnavailable, "too many pages are open: close some")
}

func answer(w http.ResponseWriter, status int, kind string, value any) {
	h := w.Header()
	h.Set("Content-Type", kind)
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(value) // the caller may be gone
}
