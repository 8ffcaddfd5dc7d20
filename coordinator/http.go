package coordinator

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"sync"

	"github.com/ergoflow/ergoflow/coordinator/dashboard"
	"github.com/ergoflow/ergoflow/internal/webserver"
)

// serveHTTP answers GET /metrics and /healthz, and shows the page, until ctx ends.
func (l *loop) serveHTTP(ctx context.Context, c Config, listener net.Listener) error {
	source, err := l.pageSource(c)
	if err != nil {
		return err
	}
	page := dashboard.New(source)
	watching, stop := context.WithCancel(ctx)
	var group sync.WaitGroup
	group.Go(func() { page.Run(watching) })
	defer group.Wait()
	defer stop()
	mux := http.NewServeMux()
	page.Register(mux)
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
