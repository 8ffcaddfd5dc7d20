package coordinator

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/ergoflow/ergoflow/internal/addresstest"
)

// One that follows has metrics and health, too, and says who leads in place of the page.
func TestFollowerOverHTTP(t *testing.T) {
	t.Parallel()
	peers := []string{addresstest.Free(t), addresstest.Free(t)}
	store := t.TempDir()
	var list []*server
	for _, address := range peers {
		list = append(list, startMemberWith(t, t.TempDir(), store, address, peers, func(c *Config) { c.HTTP = "127.0.0.1:0" }))
	}
	lead := leading(t, list...)
	get := func(s *server, path string) (int, string) {
		r, err := http.Get("http://" + s.HTTP + path)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Body.Close()
		b, err := io.ReadAll(r.Body)
		if err != nil {
			t.Fatal(err)
		}
		return r.StatusCode, string(b)
	}
	for _, s := range list {
		leads, follows := "ergoflow_coordinator_leads 0", "that of "+lead.Control
		if s == lead {
			leads, follows = "ergoflow_coordinator_leads 1", "ok"
		}
		if code, text := get(s, "/metrics"); code != http.StatusOK || !strings.Contains(text, leads) {
			t.Errorf("metrics of %s: %d, without %q", s.Control, code, leads)
		}
		if code, text := get(s, "/healthz"); code != http.StatusOK || !strings.Contains(text, follows) {
			t.Errorf("health of %s: %d, %q", s.Control, code, text)
		}
		if code, text := get(s, "/"); s != lead && (code != http.StatusServiceUnavailable || !strings.Contains(text, follows)) {
			t.Errorf("page of %s: %d, %q", s.Control, code, text)
		}
	}
}
