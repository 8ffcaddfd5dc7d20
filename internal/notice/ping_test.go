package notice

import (
	"net/http"
	"strings"
	"testing"
	"time"
)

func TestPing(t *testing.T) {
	for _, test := range []struct {
		event Event
		path  string
		body  string
	}{
		{Event{Name: "vn1d", Began: time.Unix(1.7e9, 0)}, "/uuid/start", "vn1d: started\n"},
		{promoted, "/uuid", "vn1d: promoted, exit code 0, 90 s\nw2 is 12 % lower\n"},
		{Event{Name: "vn1d", Decision: "kept", ExitCode: 10}, "/uuid", "vn1d: kept, exit code 10, 0 s\n"},
		{Event{Name: "vn1d", Decision: Failed, ExitCode: 1, Text: strings.Repeat("é", 6000)}, "/uuid/fail", "vn1d: failed, exit code 1, 0 s\né"},
		{Event{Name: "vn1d", Decision: "skipped"}, "", ""},
	} {
		h := newHook(t, codes(200))
		c := Config{Ping: h.URL + "/uuid?create=1"}
		deliveries := Send(t.Context(), c, test.event)
		if test.path == "" {
			if len(deliveries) != 0 || len(h.requests) != 0 {
				t.Errorf("skipped: %+v", deliveries)
			}
			continue
		}
		if d := one(t, deliveries); d.Error != "" || d.Target != "ping "+h.URL {
			t.Errorf("%+v", d)
		}
		if got := h.requests[0]; got.URL.Path != test.path || got.URL.RawQuery != "create=1" || got.Method != http.MethodPost {
			t.Errorf("%s %s, want %s", got.Method, got.URL, test.path)
		}
		if got := h.bodies[0]; !strings.HasPrefix(got, test.body) || len(got) > maxPing+1 || strings.ToValidUTF8(got, "") != got {
			t.Errorf("body %.80q of %d bytes, want %q", got, len(got), test.body)
		}
	}
}
