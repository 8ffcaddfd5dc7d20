package coordinator

import (
	"context"
	"fmt"
	"net"
	"net/http"

	"github.com/ergoflow/ergoflow/internal/webserver"
)

// openHTTP opens the address of Config.HTTP.
func openHTTP(c Config, s *security) (net.Listener, error) {
	l, err := listen(c.HTTP)
	if err != nil {
		return nil, err
	}
	return webserver.Protect(l, s.credentials()), nil
}

// serveHTTP answers GET /metrics and /healthz until ctx ends.
func (l *loop) serveHTTP(ctx context.Context, listener net.Listener) error {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", webserver.Metrics(newCollector(l.measure)))
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		if !l.do(func() {}) {
			http.Error(w, "the coordinator ends", http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintln(w, "ok")
	})
	return webserver.Serve(ctx, listener, mux, l.log)
}
