package coordinator

import (
	"context"
	"fmt"
	"net/http"

	"github.com/ergoflow/ergoflow/coordinator/dashboard"
	"github.com/ergoflow/ergoflow/internal/webserver"
)

// shownPage is what the HTTP listener serves while the coordinator leads.
type shownPage struct {
	mux   *http.ServeMux
	leads context.Context // ends when it does not any more
}

// serveHTTP is what the HTTP listener serves: the page and the metrics of the run while the
// coordinator leads.
func (k *coordinator) serveHTTP(w http.ResponseWriter, r *http.Request) {
	if p := k.page.Load(); p != nil {
		ctx, cancel := context.WithCancel(r.Context())
		defer cancel()
		defer context.AfterFunc(p.leads, cancel)() // a stream of events ends with it
		p.mux.ServeHTTP(w, r.WithContext(ctx))
		return
	}
	said := "this coordinator starts"
	if k.node != nil {
		said = "this coordinator does not lead; none does at the moment"
		if leader, _ := k.node.Leader(); leader != "" {
			said = "this coordinator follows that of " + leader
		}
	}
	switch { // a follower does what it is for
	case k.node != nil && r.URL.Path == "/healthz":
		fmt.Fprintln(w, said)
		return
	case k.node != nil && r.URL.Path == "/metrics":
		webserver.Metrics(k.newFollowing()).ServeHTTP(w, r)
		return
	}
	http.Error(w, said, http.StatusServiceUnavailable)
}

// newMux answers GET /metrics and /healthz, and shows the page, which needs its Run.
func (l *loop) newMux(c Config) (*http.ServeMux, *dashboard.Server, error) {
	source, err := l.pageSource(c)
	if err != nil {
		return nil, nil, err
	}
	page := dashboard.New(source)
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
	return mux, page, nil
}
