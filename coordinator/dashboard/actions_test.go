package dashboard

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/ergoflow/ergoflow/coordinator/journal"
)

// post sends a body as the page does.
func (s site) post(t *testing.T, path, body string, headers ...string) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	for i := 0; i+1 < len(headers); i += 2 {
		if headers[i] == "Host" {
			r.Host = headers[i+1]
		}
		r.Header.Set(headers[i], headers[i+1])
	}
	response, err := s.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	b, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(b)
}

// In plain text everybody who reaches the page may do what the commands may.
func TestActions(t *testing.T) {
	w := newWorld(8)
	s := serve(t, w.source(), nil)
	for _, c := range []struct{ path, body, did, detail string }{
		{"/api/drain", `{"worker": "host-0001"}`, anybody + " drains host-0001", "worker host-0001 leaves"},
		{"/api/cancel", `{"id": 3}`, "queue.Cancel {3}", "run 3 is cancelled"},
		{"/api/schedule", `{"name": "nightly", "action": "run"}`, "queue.RunSchedule {nightly }", "schedule nightly is started as run 9"},
		{"/api/schedule", `{"name": "nightly", "action": "pause"}`, "queue.PauseSchedule {nightly}", "schedule nightly is paused"},
		{"/api/schedule", `{"name": "nightly", "action": "resume"}`, "queue.ResumeSchedule {nightly}", "schedule nightly goes on"},
		{"/api/promote", `{"model": "vn1d", "version": 2, "reason": "smoother"}`, anybody + " promotes vn1d@2: smoother", "version 2 is the champion of vn1d"},
		{"/api/rollback", `{"model": "vn1d"}`, anybody + " rolls back vn1d", "version 1 is the champion of vn1d again"},
	} {
		status, body := s.post(t, c.path, c.body)
		if status != http.StatusOK || w.last() != c.did || !strings.Contains(body, c.detail) {
			t.Errorf("%s: %d %s, did %q", c.path, status, body, w.last())
		}
	}
	all, _ := w.events.After(journal.Position{})
	var said []string
	for _, e := range all {
		said = append(said, e.Text)
	}
	for _, want := range []string{anybody + " cancels run 3", anybody + " starts schedule nightly now", anybody + " promotes version 2 of model vn1d", anybody + " rolls model vn1d back to version 1"} {
		if !strings.Contains(strings.Join(said, "\n"), want) {
			t.Errorf("the journal does not say %q: %q", want, said)
		}
	}
}

// What is no request of this page has no effect.
func TestBadRequests(t *testing.T) {
	w := newWorld(8)
	s := serve(t, w.source(), nil)
	const right = `{"worker": "host-0001"}`
	for name, c := range map[string]struct {
		path, body string
		headers    []string
		status     int
		says       string
	}{
		"unknown worker":       {"/api/drain", `{"worker": "x"}`, nil, 409, "there is no worker x"},
		"unknown action":       {"/api/schedule", `{"name": "a", "action": "explode"}`, nil, 409, "run, pause or resume"},
		"field of an old page": {"/api/drain", `{"worker": "host-0001", "now": true}`, nil, 400, "load the page again"},
		"no JSON":              {"/api/drain", `worker=host-0001`, nil, 400, "load the page again"},
		"empty":                {"/api/drain", ``, nil, 400, "load the page again"},
		"too long":             {"/api/drain", `{"worker": "` + strings.Repeat("x", 10_000) + `"}`, nil, 400, "too large"},
		"a form":               {"/api/drain", right, []string{"Content-Type", "application/x-www-form-urlencoded"}, 415, "not application/json"},
		"text":                 {"/api/drain", right, []string{"Content-Type", "text/plain"}, 415, "not application/json"},
		"another site":         {"/api/drain", right, []string{"Sec-Fetch-Site", "cross-site"}, 403, ""},
		"another port":         {"/api/drain", right, []string{"Sec-Fetch-Site", "same-site"}, 403, ""},
		"another origin":       {"/api/drain", right, []string{"Origin", "http://evil.example"}, 403, ""},
		"another name":         {"/api/drain", right, []string{"Host", "evil.example"}, 421, "no other site"},
		"its own name, forged": {"/api/drain", right, []string{"Host", "localhost.evil.example", "Origin", "http://localhost.evil.example"}, 421, "no other site"},
	} {
		status, body := s.post(t, c.path, c.body, c.headers...)
		if status != c.status || !strings.Contains(body, c.says) {
			t.Errorf("%s: %d %s", name, status, body)
		}
	}
	if did := w.last(); did != "" {
		t.Errorf("one of them did something: %s", did)
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL+"/api/events", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Sec-Fetch-Site", "cross-site")
	if response, err := s.Client().Do(r); err != nil || response.StatusCode != http.StatusForbidden {
		t.Errorf("another site follows the events: %v, %v", response, err)
	} else {
		response.Body.Close()
	}
	for _, path := range []string{"/api/drain", "/api/none", "/elsewhere"} {
		if r, err := s.Client().Get(s.URL + path); err != nil || r.StatusCode < 400 {
			t.Errorf("GET %s: %v, %v", path, r, err)
		} else {
			r.Body.Close()
		}
	}
}
