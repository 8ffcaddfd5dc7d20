package serve

import (
	"context"
	"crypto/subtle"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"
	"golang.org/x/net/netutil"

	"github.com/ergoflow/ergoflow/internal/npy"
	"github.com/ergoflow/ergoflow/internal/tracing"
	"github.com/ergoflow/ergoflow/internal/trust"
	"github.com/ergoflow/ergoflow/model/serve/page"
)

// Config of a server.
type Config struct {
	Models  func(ctx context.Context, s *Server) error // loads the models, and follows them until ctx ends
	Backend string                                     // of models without tables, as backend.Open takes it
	Token   string                                     // that requests must bring
	Clients *trust.Clients                             // whose certificates count as the token; without both all are admitted
	Timeout time.Duration                              // of one answer
	MaxBody int64                                      // bytes of a request
	TLS     *tls.Config                                // nil: plain text
	Build   string                                     // of the program, for the description
	Ready   func()                                     // called once, when a model is ready; may be nil
	Beat    func()                                     // called every few seconds while the server runs; may be nil
	Log     *slog.Logger
	Tracer  *tracing.Tracer // nil: no traces
}

// Bounds of the server.
const (
	maxConnections = 4096
	maxWaiting     = 512     // requests that wait for room
	room           = 1 << 24 // numbers of the samples of all requests under way
	// writing is how long a client may take to read an answer.
	writing = time.Minute
	// drain is how long the server waits for requests under way when it ends.
	drain = 30 * time.Second
)

// Server answers requests. Its methods may be called concurrently.
type Server struct {
	config   Config
	models   *models
	gate     *gate
	metrics  *metrics
	refusals *refusals
	handler  http.Handler
	draining atomic.Bool
	ending   chan struct{} // closed when it drains: streams end
	ready    sync.Once
}

// New makes a server without models.
func New(c Config) *Server {
	s := &Server{config: c, models: newModels(), gate: newGate(room, maxWaiting), refusals: newRefusals(), ending: make(chan struct{})}
	s.metrics = newMetrics(s.gate, s.models)
	s.metrics.tracer = c.Tracer
	mux := http.NewServeMux()
	s.register(mux)
	// Pages of other sites may not ask through their visitors' browsers.
	web := s.bound(http.NewCrossOriginProtection().Handler(s.authorise(mux)))
	calls := s.newGRPC()
	s.handler = s.metrics.observe(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if isGRPC(r) {
			calls.ServeHTTP(w, r)
			return
		}
		web.ServeHTTP(w, r)
	}))
	return s
}

// Handler is the server's without a listener.
func (s *Server) Handler() http.Handler { return s.handler }

// Add loads a model, makes it ready and serves it, in place of the one of this name.
func (s *Server) Add(ctx context.Context, source Source) error {
	begin := time.Now()
	m, err := load(ctx, source, s.config.Backend)
	if err != nil {
		s.metrics.reloads.WithLabelValues("failed").Inc()
		return err
	}
	s.models.put(m)
	s.metrics.reloads.WithLabelValues("ready").Inc()
	s.config.Log.Info("a model is ready", "model", m.Name, "version", m.Version, "engine", m.engine.Of(m.solver), "took", time.Since(begin).Round(time.Millisecond))
	if s.config.Ready != nil {
		s.ready.Do(s.config.Ready)
	}
	return nil
}

// register adds all routes to a mux.
func (s *Server) register(mux *http.ServeMux) {
	config := huma.DefaultConfig("ergoflow", s.config.Build)
	config.Info.Description = "Samples of the invariant laws of stochastic differential equations, with a certificate of how good they are."
	config.DocsPath, config.SchemasPath, config.CreateHooks = "", "", nil
	config.Formats = map[string]huma.Format{
		"application/json":  huma.DefaultJSONFormat,
		"json":              huma.DefaultJSONFormat,
		"application/x-npy": {Marshal: marshalNPY, Unmarshal: unreadable},
		arrowStream:         {Marshal: marshalArrow, Unmarshal: unreadable},
	}
	huma.NewError = func(status int, message string, errs ...error) huma.StatusError {
		if status == http.StatusInternalServerError && message == "cannot read request body" {
			status = http.StatusBadRequest // the client sent less than it announced
		}
		return newProblem(status, message, errs...)
	}
	api := humago.New(mux, config)
	s.addSample(api)
	s.addDensity(api)
	s.addChain(api)
	s.addAbout(api)
	s.registerInference(mux)
	mux.Handle("GET /metrics", s.metrics.handler())
	page.Files().Register(mux)
}

// marshalNPY writes the samples of an answer as NumPy's .npy, [n] or [n, d], and of several
// equations [equations, n] or [equations, n, d]; everything else as JSON.
func marshalNPY(w io.Writer, v any) error {
	switch v := v.(type) {
	case SampleAnswer:
		return npy.Encode(context.Background(), w, npy.Array[float32]{Shape: v.Shape, Data: v.x})
	case BatchAnswer:
		var all []float32
		for _, a := range v.Answers {
			all = append(all, a.x...)
		}
		shape := append([]int{len(v.Answers)}, v.Answers[0].Shape...)
		return npy.Encode(context.Background(), w, npy.Array[float32]{Shape: shape, Data: all})
	}
	return huma.DefaultJSONFormat.Marshal(w, v)
}

func unreadable([]byte, any) error { return errors.New("requests are JSON") }

// admitted are the roles whose certificates count as the token.
var admitted = trust.AllowRoles(trust.Operator, trust.Viewer)

// admits is nil if an Authorization header has the token, or the client's certificate counts. The
// connection is nil for plain text.
func (s *Server) admits(header string, connection *tls.ConnectionState) *Problem {
	if s.config.Token == "" && s.config.Clients == nil ||
		s.config.Token != "" && subtle.ConstantTimeCompare([]byte(header), []byte("Bearer "+s.config.Token)) == 1 {
		return nil
	}
	p := newProblem(http.StatusUnauthorized, "the request lacks the server's token")
	p.Hint = "send the header Authorization: Bearer TOKEN"
	if s.config.Clients == nil {
		return p
	}
	_, err := s.config.Clients.Check(connection, admitted)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, trust.ErrNoCertificate) && s.config.Token == "":
		p.Detail, p.Hint = "the client has shown no certificate", "show one of the cluster's operators or viewers"
	case errors.Is(err, trust.ErrNoCertificate):
		p.Hint += ", or show a certificate of the cluster's operators or viewers"
	default:
		if p.Detail, p.Hint = "the client's certificate does not count: "+err.Error(), ""; errors.Is(err, trust.ErrRole) {
			p.Status, p.Title = http.StatusForbidden, http.StatusText(http.StatusForbidden)
		}
	}
	return p
}

// authorise admits requests with the token or a certificate, and everybody to health and to the
// page.
func (s *Server) authorise(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		open := strings.HasPrefix(r.URL.Path, "/v2/health/") || r.Method == http.MethodGet && !guarded(r.URL.Path)
		if open {
			next.ServeHTTP(w, r)
			return
		}
		if p := s.admits(r.Header.Get("Authorization"), r.TLS); p != nil {
			switch p = s.refuse(r.RemoteAddr, p); p.Status {
			case http.StatusUnauthorized:
				w.Header().Set("WWW-Authenticate", `Bearer realm="ergoflow"`)
			case http.StatusTooManyRequests:
				w.Header().Set("Retry-After", retryAfter)
				w.Header().Set("Connection", "close")
			}
			writeProblem(w, p)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// guarded paths need the token also for reading.
func guarded(path string) bool {
	for _, prefix := range []string{"/v1/", "/v2", "/metrics"} {
		if len(path) >= len(prefix) && path[:len(prefix)] == prefix {
			return true
		}
	}
	return false
}

// bound gives every answer a deadline for its client to read it, and turns panics into answers.
func (s *Server) bound(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			if failed := recover(); failed != nil {
				if failed == http.ErrAbortHandler { //nolint:errorlint // net/http compares it so
					panic(failed)
				}
				s.config.Log.Error("a request ended in a panic", "path", r.URL.Path, "reason", failed)
				writeProblem(w, newProblem(http.StatusInternalServerError, "the server failed on this request"))
			}
		}()
		// Not for handlers that stream: they set their own deadlines.
		_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(s.config.Timeout + writing))
		w.Header().Set("X-Content-Type-Options", "nosniff")
		if r.Header.Get("Content-Type") == "application/x-www-form-urlencoded" { // of curl -d
			r.Header.Set("Content-Type", "application/json")
		}
		next.ServeHTTP(w, r)
	})
}

func writeProblem(w http.ResponseWriter, p *Problem) {
	w.Header().Set("Content-Type", p.ContentType(""))
	w.WriteHeader(p.Status)
	_ = huma.DefaultJSONFormat.Marshal(w, p)
}

// beat gives signs of life until ctx ends, as long as the server answers itself.
func (s *Server) beat(ctx context.Context) {
	ticks := time.NewTicker(look)
	defer ticks.Stop()
	for {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, "/healthz", http.NoBody)
		if err != nil {
			return
		}
		answer := &discarded{header: http.Header{}}
		if s.handler.ServeHTTP(answer, r); answer.status == http.StatusOK {
			s.config.Beat()
		}
		select {
		case <-ctx.Done():
			return
		case <-ticks.C:
		}
	}
}

// discarded keeps the status of an answer alone.
type discarded struct {
	header http.Header
	status int
}

func (d *discarded) Header() http.Header { return d.header }

func (d *discarded) WriteHeader(status int) { d.status = status }

func (d *discarded) Write(b []byte) (int, error) { return len(b), nil }

// protocols are those of the port: gRPC needs HTTP/2, also in plain text.
func protocols() *http.Protocols {
	p := new(http.Protocols)
	p.SetHTTP1(true)
	p.SetHTTP2(true)
	p.SetUnencryptedHTTP2(true)
	return p
}

// Serve answers on the listener until ctx ends. Then it takes no more requests, and waits for
// those under way.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	server := &http.Server{
		Handler: s.handler, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 1 << 16,
		Protocols: protocols(), ErrorLog: slog.NewLogLogger(s.config.Log.Handler(), slog.LevelDebug),
	}
	followed := make(chan error, 1)
	follow, stop := context.WithCancel(ctx)
	defer stop()
	go func() { followed <- s.config.Models(follow, s) }()
	if s.config.Beat != nil {
		go s.beat(follow)
	}
	ended := make(chan error, 1)
	l = netutil.LimitListener(l, maxConnections)
	if secure := s.config.TLS; secure != nil {
		if s.config.Clients != nil {
			secure = s.config.Clients.Ask(secure)
		}
		l = tls.NewListener(l, secure)
	}
	go func() { ended <- server.Serve(l) }()
	var err error
	select {
	case err = <-ended:
		err = fmt.Errorf("serve: %w", err)
	case err = <-followed:
		followed <- nil
	case <-ctx.Done():
	}
	s.draining.Store(true)
	close(s.ending)
	if ctx.Err() != nil {
		s.config.Log.Info("the server drains", "bound", drain)
		err = nil
	}
	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), drain)
	defer cancel()
	if late := server.Shutdown(end); late != nil {
		err = errors.Join(err, fmt.Errorf("requests were still under way after %v: %w", drain, late), server.Close())
	}
	stop()
	if late := <-followed; ctx.Err() == nil {
		err = errors.Join(err, late)
	}
	s.models.close()
	return err
}
