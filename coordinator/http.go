package coordinator

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/ergoflow/ergoflow/coordinator/gossip"
	"github.com/ergoflow/ergoflow/internal/trust"
)

// scrapes bounds the scrapes that are answered at once. Others get the status 503.
const scrapes = 4

// openHTTP opens the address of Config.HTTP. Beyond loopback a secured coordinator shows its
// certificate, and asks for one of the cluster.
func openHTTP(c Config, s *security) (net.Listener, error) {
	l, err := listen(c.HTTP)
	if err != nil || s == nil || gossip.IsLoopback(c.HTTP) {
		return l, err
	}
	config := s.own.ServerConfig(trust.AllowRoles(trust.Viewer, trust.Operator, trust.Coordinator))
	config.NextProtos = []string{"h2", "http/1.1"}
	return tls.NewListener(l, config), nil
}

// serveHTTP answers GET /metrics and /healthz until ctx ends.
func (l *loop) serveHTTP(ctx context.Context, listener net.Listener) error {
	registry := prometheus.NewRegistry()
	registry.MustRegister(newCollector(l.measure), collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{MaxRequestsInFlight: scrapes}))
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		if !l.do(func() {}) {
			http.Error(w, "the coordinator ends", http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintln(w, "ok")
	})
	server := &http.Server{
		Handler: mux, ReadHeaderTimeout: 5 * time.Second, WriteTimeout: 30 * time.Second, IdleTimeout: 2 * time.Minute,
		MaxHeaderBytes: 16 << 10, ErrorLog: slog.NewLogLogger(l.log.Handler(), slog.LevelDebug), // of strangers' handshakes
		BaseContext: func(net.Listener) context.Context { return ctx },
	}
	stop := context.AfterFunc(ctx, func() { server.Close() })
	defer stop()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("HTTP on %s: %w", listener.Addr(), err)
	}
	return nil
}
