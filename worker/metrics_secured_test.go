package worker

import (
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/ergoflow/ergoflow/internal/trust"
	"github.com/ergoflow/ergoflow/internal/trust/trusttest"
	"github.com/ergoflow/ergoflow/internal/webserver"
	"github.com/ergoflow/ergoflow/model/compute/backend"
)

// Beyond loopback a worker of a secured cluster answers holders of a viewer's certificate, and
// neither other workers nor those who have none.
func TestMetricsBeyondLoopback(t *testing.T) {
	authority := trusttest.Authority(t, "lab")
	of := func(role trust.Role, name string) *trust.Credentials {
		t.Helper()
		return trusttest.Credentials(t, authority, role, name)
	}
	l, err := net.Listen("tcp", "0.0.0.0:0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(l.Addr().String())
	w := &worker{id: "w", backend: &backend.Backend{Name: "go"}, meter: newMeter(), log: slog.New(slog.DiscardHandler)}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- w.serveHTTP(ctx, webserver.Protect(l, of(trust.Worker, "w"))) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	get := func(scheme string, transport *http.Transport) (string, bool) {
		t.Helper()
		defer transport.CloseIdleConnections()
		response, err := (&http.Client{Transport: transport}).Get(scheme + "://127.0.0.1:" + port + "/metrics")
		if err != nil {
			return "", false
		}
		defer response.Body.Close()
		body, err := io.ReadAll(response.Body)
		return string(body), err == nil && response.StatusCode == http.StatusOK
	}
	by := func(c *trust.Credentials) *http.Transport {
		return &http.Transport{TLSClientConfig: c.ClientConfig(trust.AllowRoles(trust.Worker))}
	}
	if text, ok := get("https", by(of(trust.Viewer, "prometheus"))); !ok || !strings.Contains(text, `ergoflow_self_info{device="go",engine=`) {
		t.Errorf("a viewer gets %q", text)
	}
	if text, ok := get("https", by(of(trust.Worker, "v"))); ok {
		t.Errorf("another worker gets %q", text)
	}
	if text, ok := get("http", &http.Transport{}); ok {
		t.Errorf("in plain text there is %q", text)
	}
}

// Where nobody asks for traces a step costs nothing.
func TestNoTraces(t *testing.T) {
	r := &rank{session: &session{w: &worker{}}}
	if n := testing.AllocsPerRun(100, r.traceStep); n != 0 {
		t.Errorf("%g allocations", n)
	}
}
