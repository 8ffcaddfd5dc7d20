package serve

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/iotest"
)

// A server refuses what it cannot read before it looks for a model.
func TestUnreadableRequests(t *testing.T) {
	handler := New(config()).Handler()
	cut := io.MultiReader(strings.NewReader(`{"drift"`), iotest.ErrReader(io.ErrUnexpectedEOF))
	for name, test := range map[string]struct {
		request *http.Request
		want    int
	}{
		"cut short": {httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/v1/sample", cut), http.StatusBadRequest},
		"NaN":       {httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/v1/chain?drift=-x&diffusion=1&seconds=NaN", http.NoBody), http.StatusUnprocessableEntity},
	} {
		test.request.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, test.request)
		if w.Code != test.want || !strings.Contains(w.Body.String(), "detail") {
			t.Errorf("%s: status %d, want %d: %s", name, w.Code, test.want, w.Body)
		}
	}
}
