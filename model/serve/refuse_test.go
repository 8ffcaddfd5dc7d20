package serve

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Who tries tokens is told so some times, and then to come back later; requests with the token
// are answered meanwhile, and health is asked as before.
func TestRefusalsAreLimited(t *testing.T) {
	c := config()
	c.Token = "0123456789abcdef"
	s := New(c)
	count := map[int]int{}
	for range 3 * refusalBurst {
		code, _, header := ask(t, s, "/v1/models", "", "Authorization", "Bearer 0123456789abcdeg")
		count[code]++
		if late := code == http.StatusTooManyRequests; late != (header.Get("Retry-After") != "") || late != (header.Get("Connection") == "close") {
			t.Errorf("status %d has the header %v", code, header)
		}
	}
	// A few more are let through if the loop takes a second.
	if n := count[http.StatusUnauthorized]; n < refusalBurst || n > 2*refusalBurst || n+count[http.StatusTooManyRequests] != 3*refusalBurst {
		t.Errorf("answers by status: %v", count)
	}
	if err := s.refuseCall(t.Context(), newProblem(http.StatusUnauthorized, "a wrong token")); status.Code(err) != codes.ResourceExhausted {
		t.Errorf("by gRPC: %v", err)
	}
	for path, token := range map[string]string{"/v1/models": "Bearer " + c.Token, "/healthz": ""} {
		if code, _, _ := ask(t, s, path, "", "Authorization", token); code != http.StatusOK {
			t.Errorf("%s meanwhile: status %d", path, code)
		}
	}
}

// Browsers may not read answers for pages of other sites (CORS), and keep nothing that admits:
// there are no cookies, and one that has the token does not admit. What is not safe may not even
// be asked for another site's page.
func TestBrowsers(t *testing.T) {
	c := config()
	c.Token = "0123456789abcdef"
	s := New(c)
	for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodOptions, http.MethodDelete} {
		for _, path := range []string{"/", "/v1/models", "/v1/sample", "/v1/chain", "/v2/models/vn1d/infer", "/metrics", "/healthz", "/openapi.json"} {
			r := httptest.NewRequestWithContext(t.Context(), method, path, http.NoBody)
			for name, value := range map[string]string{"Origin": "https://elsewhere.example", "Sec-Fetch-Site": "cross-site", "Authorization": "Bearer " + c.Token,
				"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "authorization, content-type"} {
				r.Header.Set(name, value)
			}
			w := httptest.NewRecorder()
			s.Handler().ServeHTTP(w, r)
			for _, name := range []string{"Access-Control-Allow-Origin", "Access-Control-Allow-Credentials", "Access-Control-Allow-Headers", "Set-Cookie"} {
				if value := w.Header().Get(name); value != "" {
					t.Errorf("%s %s answers with %s: %s", method, path, name, value)
				}
			}
			if (method == http.MethodPost || method == http.MethodDelete) && w.Code != http.StatusForbidden {
				t.Errorf("%s %s for another site's page: status %d", method, path, w.Code)
			}
		}
	}
	for _, cookie := range []string{"token=" + c.Token, "Authorization=Bearer " + c.Token} {
		if code, _, _ := ask(t, s, "/v1/models", "", "Cookie", cookie); code != http.StatusUnauthorized {
			t.Errorf("a cookie %q: status %d", cookie, code)
		}
	}
}
