package serve

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
)

// Chains take the values of names in their formulas, and name the ones that are wrong.
func TestChainParameters(t *testing.T) {
	s := New(Config{Models: nil, Backend: "go", Timeout: 1e9, MaxBody: 1 << 20, Log: quiet})
	m, err := untrained(t.Context(), "vn1d")
	if err != nil {
		t.Fatal(err)
	}
	s.models.put(m)
	t.Cleanup(func() { s.models.remove("vn1d") })
	for _, c := range []struct {
		drift  string
		params []string
		want   string
	}{
		{"-theta*(x-mu)", []string{"theta=2", "mu=-1e-1"}, `"steps":10,`},
		{"-theta*x", nil, "unknown name theta"},
		{"-theta*x", []string{"theta"}, "is not NAME=NUMBER"},
		{"-theta*x", []string{"theta=two"}, "is not NAME=NUMBER"},
		{"-theta*x", []string{"theta=2", "theta=3"}, "with a new name"},
		{"-theta*x", []string{"=2"}, "is not NAME=NUMBER"},
	} {
		query := url.Values{"drift": {c.drift}, "diffusion": {"1"}, "param": c.params, "chains": {"3"}, "seconds": {"0.2"}}
		w := httptest.NewRecorder()
		s.Handler().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/v1/chain?"+query.Encode(), nil))
		if !strings.Contains(w.Body.String(), c.want) {
			t.Errorf("%s with %v: %s", c.drift, c.params, w.Body)
		}
	}
}
