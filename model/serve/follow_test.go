package serve

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ergoflow/ergoflow/model/registry"
)

// promote adds a version to a registry and makes it the champion.
func promote(t *testing.T, r *registry.Registry, content []byte) int {
	t.Helper()
	v, err := r.Add(t.Context(), registry.Version{Model: "vn1d", Metrics: map[string]registry.Metric{}}, content)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.SetAlias(t.Context(), "vn1d", v.Number, registry.Champion, "test"); err != nil {
		t.Fatal(err)
	}
	return v.Number
}

// A promoted champion takes the place of the one before, while requests are answered. One that
// cannot be loaded leaves it.
func TestChampions(t *testing.T) {
	r, err := registry.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	promote(t, r, encoded(t, "vn1d", 1))
	s := New(config())
	t.Cleanup(s.models.close)
	refused := map[string]string{}
	follow := func(want string) {
		t.Helper()
		_, _ = s.follow(t.Context(), r, refused)
		if have := s.models.versions()["vn1d"]; have != want {
			t.Fatalf("version %s is served, want %s", have, want)
		}
	}
	follow("1")
	// Requests go on all the while; none may fail.
	ctx, cancel := context.WithCancel(t.Context())
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			for ctx.Err() == nil {
				if code, content, _ := ask(t, s, "/v1/sample", `{"function": 1, "n": 50}`); code != http.StatusOK {
					t.Errorf("status %d: %s", code, content)
					return
				}
			}
		})
	}
	promote(t, r, encoded(t, "vn1d", 2))
	follow("2")
	if promote(t, r, encoded(t, "particles64d", 2)) != 3 { // whose network needs probes that the state lacks
		t.Fatal("the third version has another number")
	}
	follow("2")
	follow("2") // not tried again
	promote(t, r, encoded(t, "vn1d", 4))
	follow("4")
	cancel()
	group.Wait()
	if code, _, _ := ask(t, s, "/v1/sample", `{"function": 1, "n": 50, "model": "vn1d@1"}`); code != http.StatusNotFound {
		t.Errorf("a version that was replaced has status %d", code)
	}
	if err := r.RemoveAlias(t.Context(), "vn1d", registry.Champion, "test"); err != nil {
		t.Fatal(err)
	}
	follow("")
	if code, content, _ := ask(t, s, "/v1/sample", `{"function": 1}`); code != http.StatusServiceUnavailable {
		t.Errorf("without a model: status %d: %s", code, content)
	}
}

// A registry without a champion is an error in the beginning.
func TestNoChampion(t *testing.T) {
	r, err := registry.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := Champions(r)(ctx, New(config())); err == nil || !strings.Contains(err.Error(), "registry") {
		t.Errorf("error %v", err)
	}
}
