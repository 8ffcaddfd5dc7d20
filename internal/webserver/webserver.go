// Package webserver serves HTTP to the people and programs that watch a process: metrics,
// a sign of life, pages. It owns the listener's protection and the server's bounds.
package webserver

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

	"github.com/ergoflow/ergoflow/internal/trust"
)

// scrapes bounds the scrapes that are answered at once. Others get the status 503.
const scrapes = 4

// Protect has a listener beyond loopback show the certificate of a secured process, and ask for
// one of the cluster: of a viewer, an operator or the coordinator. On loopback and in plain text
// (own is nil) it is the listener itself.
func Protect(l net.Listener, own *trust.Credentials) net.Listener {
	if a, ok := l.Addr().(*net.TCPAddr); own == nil || ok && a.IP.IsLoopback() {
		return l
	}
	config := own.ServerConfig(trust.AllowRoles(trust.Viewer, trust.Operator, trust.Coordinator))
	config.NextProtos = []string{"h2", "http/1.1"}
	return tls.NewListener(l, config)
}

// Metrics answers a scrape with what the collector gives, and with the process's own metrics.
func Metrics(c prometheus.Collector) http.Handler {
	registry := prometheus.NewRegistry()
	registry.MustRegister(c, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return promhttp.HandlerFor(registry, promhttp.HandlerOpts{MaxRequestsInFlight: scrapes})
}

// Serve serves until ctx ends, and closes the listener. A handler that writes for longer than
// half a minute, as a stream does, moves its own deadline by http.ResponseController.
func Serve(ctx context.Context, l net.Listener, h http.Handler, log *slog.Logger) error {
	server := &http.Server{
		Handler: h, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 30 * time.Second, WriteTimeout: 30 * time.Second, IdleTimeout: 2 * time.Minute,
		MaxHeaderBytes: 16 << 10, ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug), // of strangers' handshakes
		BaseContext: func(net.Listener) context.Context { return ctx },
	}
	stop := context.AfterFunc(ctx, func() { server.Close() })
	defer stop()
	if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("HTTP on %s: %w", l.Addr(), err)
	}
	return nil
}
