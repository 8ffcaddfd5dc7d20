package notice

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// key and its text are those of the specification's example.
const keyText = "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

var promoted = Event{
	ID: "r17", Name: "vn1d", Decision: "promoted", Began: time.Unix(1.7e9, 0), Ended: time.Unix(1.7e9+90, 0),
	Champion: 4, Text: "w2 is 12 % lower", Outcome: json.RawMessage(`{"decision":"promoted"}`),
}

// The example of the specification of Standard Webhooks.
func TestSignature(t *testing.T) {
	key, err := base64.StdEncoding.DecodeString(keyText)
	if err != nil {
		t.Fatal(err)
	}
	got := sign(key, "msg_p5jXN8AQM9LWM0D4loKWxJek", "1614265330", []byte(`{"test": 2432232314}`))
	if want := "g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="; got != want {
		t.Errorf("signature %s, want %s", got, want)
	}
}

// hook is a receiver that answers by a list of codes, and keeps what it got.
type hook struct {
	*httptest.Server
	mu       sync.Mutex
	requests []*http.Request
	bodies   []string
}

func newHook(t *testing.T, answer func(n int, w http.ResponseWriter, r *http.Request)) *hook {
	h := new(hook)
	h.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		h.mu.Lock()
		h.requests, h.bodies = append(h.requests, r), append(h.bodies, string(body))
		n := len(h.requests)
		h.mu.Unlock()
		answer(n, w, r)
	}))
	t.Cleanup(h.Close)
	return h
}

func codes(codes ...int) func(int, http.ResponseWriter, *http.Request) {
	return func(n int, w http.ResponseWriter, _ *http.Request) { w.WriteHeader(codes[min(n, len(codes))-1]) }
}

func withSecret(t *testing.T, url string) Config {
	path := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(path, []byte(secretPrefix+keyText+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c := Config{Webhooks: []Webhook{{URL: url, SecretFile: path}}}
	if err := c.Resolve("/"); err != nil {
		t.Fatal(err)
	}
	return c
}

func one(t *testing.T, list []Delivery) Delivery {
	t.Helper()
	if len(list) != 1 {
		t.Fatalf("deliveries: %+v", list)
	}
	return list[0]
}

func TestWebhook(t *testing.T) {
	h := newHook(t, codes(500, 200))
	d := one(t, Send(t.Context(), withSecret(t, h.URL+"/secret?token=secret"), promoted))
	if d.Error != "" || d.Attempts != 2 || d.Target != "webhook "+h.URL || d.Event != "promoted" {
		t.Errorf("%+v", d)
	}
	key, _ := base64.StdEncoding.DecodeString(keyText)
	for i, r := range h.requests {
		at, err := strconv.ParseInt(r.Header.Get("webhook-timestamp"), 10, 64)
		if since := time.Since(time.Unix(at, 0)); err != nil || since < -time.Minute || since > time.Minute {
			t.Errorf("timestamp %s", r.Header.Get("webhook-timestamp"))
		}
		mac := hmac.New(sha256.New, key)
		io.WriteString(mac, r.Header.Get("webhook-id")+"."+r.Header.Get("webhook-timestamp")+"."+h.bodies[i])
		if want := "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil)); r.Header.Get("webhook-signature") != want {
			t.Errorf("attempt %d: signature %s, want %s", i, r.Header.Get("webhook-signature"), want)
		}
		if r.Method != http.MethodPost || r.Header.Get("webhook-id") != "msg_r17" || r.Header.Get("content-type") != "application/json" {
			t.Errorf("attempt %d: %s %v", i, r.Method, r.Header)
		}
	}
	var m struct {
		Type      string
		Timestamp time.Time
		Data      struct {
			Name, Decision, Text string
			Seconds              float64
			Champion             int
			Outcome              struct{ Decision string }
		}
	}
	if err := json.Unmarshal([]byte(h.bodies[0]), &m); err != nil {
		t.Fatal(err)
	}
	if m.Type != "retrain.promoted" || !m.Timestamp.Equal(promoted.Ended) || m.Data.Name != "vn1d" || m.Data.Seconds != 90 || m.Data.Champion != 4 || m.Data.Outcome.Decision != "promoted" {
		t.Errorf("%+v", m)
	}
	if h.bodies[1] != h.bodies[0] {
		t.Error("the second attempt has another body")
	}
}

// Answers that no attempt can change are final; those of a busy receiver are not.
func TestAnswers(t *testing.T) {
	other := newHook(t, codes(200))
	for _, test := range []struct {
		name     string
		answer   func(int, http.ResponseWriter, *http.Request)
		attempts int
		why      string
	}{
		{"gone", codes(410), 1, "410 Gone: the receiver wants no more"},
		{"refused", codes(403), 1, "answered 403 Forbidden"},
		{"redirected", func(_ int, w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, other.URL+"/?secret", http.StatusPermanentRedirect)
		}, 1, "a redirect, which is not followed"},
		{"busy", func(n int, w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "1")
			w.WriteHeader([]int{429, 204}[n-1])
		}, 2, ""},
		{"huge answer", func(_ int, w http.ResponseWriter, r *http.Request) {
			chunk := make([]byte, 1<<20)
			for range 1 << 20 { // a terabyte, until the connection is closed
				if _, err := w.Write(chunk); err != nil {
					return
				}
			}
		}, 1, ""},
		{"endless headers", func(_ int, w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("X-Long", strings.Repeat("x", 1<<20))
			w.WriteHeader(http.StatusGone)
		}, 5, "response headers exceeded"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if test.attempts > 2 && testing.Short() {
				t.Skip("-short: 15 s of pauses")
			}
			t.Parallel()
			h := newHook(t, test.answer)
			d := one(t, Send(t.Context(), withSecret(t, h.URL), promoted))
			if d.Attempts != test.attempts || (d.Error == "") != (test.why == "") || !strings.Contains(d.Error, test.why) || strings.Contains(d.Error, "secret") {
				t.Errorf("%+v", d)
			}
		})
	}
	t.Cleanup(func() {
		if len(other.requests) > 0 {
			t.Error("a redirect was followed")
		}
	})
}

func TestUnreachable(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	ctx, cancel := context.WithCancel(t.Context())
	c := withSecret(t, "http://user:hidden@"+l.Addr().String()+"/hidden?hidden=1")
	time.AfterFunc(50*time.Millisecond, cancel) // in the first pause
	d := one(t, Send(ctx, c, promoted))
	if !strings.Contains(d.Error, "connection refused") || !strings.Contains(d.Error, "cancelled") || strings.Contains(d.Error+d.Target, "hidden") {
		t.Errorf("%+v", d)
	}
}

// silent receives requests and never answers.
type silent struct{ asked int }

func (s *silent) RoundTrip(r *http.Request) (*http.Response, error) {
	s.asked++
	<-r.Context().Done()
	return nil, r.Context().Err()
}

// A receiver that hangs costs no more than MaxTime, and a cancelled context ends it at once.
func TestHangs(t *testing.T) {
	c := withSecret(t, "https://example.org/hook")
	synctest.Test(t, func(t *testing.T) {
		s, begun := new(silent), time.Now()
		d := one(t, send(t.Context(), s, c, promoted))
		if took := time.Since(begun); took > MaxTime || s.asked != 3 { // 8 + 1 + 8 + 2 + 8, and no 4 more
			t.Errorf("it took %v and %d attempts", took, s.asked)
		}
		if !strings.Contains(d.Error, "no answer within 8s") || !strings.Contains(d.Error, "no time is left") || d.Attempts != 3 {
			t.Errorf("%+v", d)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(3*time.Second, cancel)
		begun := time.Now()
		d := one(t, send(ctx, new(silent), c, promoted))
		if took := time.Since(begun); took != 3*time.Second || !strings.Contains(d.Error, "given up") {
			t.Errorf("%v: %+v", took, d)
		}
	})
}

// answers give codes in turn, with a Retry-After.
type answers struct {
	codes []int
	after string
	at    []time.Time
}

func (a *answers) RoundTrip(r *http.Request) (*http.Response, error) {
	code := a.codes[min(len(a.at), len(a.codes)-1)]
	a.at = append(a.at, time.Now())
	return &http.Response{StatusCode: code, Status: http.StatusText(code), Header: http.Header{"Retry-After": {a.after}}, Body: http.NoBody, Request: r}, nil
}

func TestPauses(t *testing.T) {
	c := withSecret(t, "https://example.org/hook")
	for _, test := range []struct {
		after, want string
		attempts    int
	}{
		{"", "1s 2s 4s 8s", 5},
		{"3", "3s 3s 4s 8s", 5},
		{"nonsense", "1s 2s 4s 8s", 5},
		{"100000", "15s", 2}, // 15 s is the bound, and a second pause has no time
	} {
		synctest.Test(t, func(t *testing.T) {
			a := &answers{codes: []int{503}, after: test.after}
			d := one(t, send(t.Context(), a, c, promoted))
			var pauses []string
			for i := range a.at[1:] {
				pauses = append(pauses, a.at[i+1].Sub(a.at[i]).String())
			}
			if got := strings.Join(pauses, " "); got != test.want || d.Attempts != test.attempts || d.Error == "" {
				t.Errorf("Retry-After %q: pauses %s, %+v", test.after, got, d)
			}
		})
	}
}

func TestSecret(t *testing.T) {
	dir := t.TempDir()
	for name, content := range map[string]string{
		"plain": keyText, "short": "whsec_c2hvcnQ=", "long": strings.Repeat("x", 5000), "raw": "whsec_!!", "empty": "",
	} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := Webhook{SecretFile: path}.secret()
		if err == nil || content != "" && strings.Contains(err.Error(), content) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := (Webhook{SecretFile: filepath.Join(dir, "none")}).secret(); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
	t.Setenv("ERGOFLOW_TEST_SECRET", secretPrefix+keyText)
	if key, err := (Webhook{SecretEnv: "ERGOFLOW_TEST_SECRET"}).secret(); err != nil || len(key) != 24 {
		t.Error(err)
	}
	if _, err := (Webhook{SecretEnv: "ERGOFLOW_TEST_NONE"}).secret(); err == nil || !strings.Contains(err.Error(), "is not set") {
		t.Error(err)
	}
	// A secret that is missing fails the notice, and nothing else.
	d := one(t, Send(t.Context(), Config{Webhooks: []Webhook{{URL: "http://127.0.0.1:1", SecretEnv: "ERGOFLOW_TEST_NONE"}}}, promoted))
	if d.Attempts != 0 || !strings.Contains(d.Error, "is not set") {
		t.Errorf("%+v", d)
	}
}

func TestCheck(t *testing.T) {
	c := withSecret(t, "https://example.org")
	c.Textfile = filepath.Join(t.TempDir(), "ergoflow.prom")
	if problems := c.Check(); len(problems) != 0 {
		t.Error(problems)
	}
	if err := os.Chmod(c.Webhooks[0].SecretFile, 0o644); err != nil {
		t.Fatal(err)
	}
	c.Webhooks = append(c.Webhooks, Webhook{SecretEnv: "ERGOFLOW_TEST_NONE"})
	c.Textfile = filepath.Join(t.TempDir(), "no", "ergoflow.prom")
	problems := strings.Join(c.Check(), "\n")
	for _, why := range []string{"webhooks[0].secret_file: others can read", "webhooks[1].secret_env: $ERGOFLOW_TEST_NONE is not set", "textfile: "} {
		if !strings.Contains(problems, why) || strings.Contains(problems, keyText) {
			t.Errorf("%s\nhas no %q", problems, why)
		}
	}
}

func TestID(t *testing.T) {
	dotted, spaced := Event{ID: "a.b"}.id(), Event{ID: "a b"}.id()
	if strings.Contains(dotted, ".") || dotted == spaced || dotted != (Event{ID: "a.b"}).id() || !plainID.MatchString(dotted) {
		t.Error(dotted, spaced)
	}
	if a, b := (Event{}).id(), (Event{}).id(); a == b || !plainID.MatchString(a) {
		t.Error(a, b)
	}
}
