package store_test

import (
	"errors"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/ergoflow/ergoflow/data/jobs"
	"github.com/ergoflow/ergoflow/data/store"
	"github.com/ergoflow/ergoflow/data/store/storetest"
	"github.com/ergoflow/ergoflow/internal/addresstest"
	"github.com/ergoflow/ergoflow/internal/natstest"
)

// A server that is not set up for ergoflow ends an opening with an error of its kind.
func TestNATSRefuses(t *testing.T) {
	t.Parallel()
	const one = "accounts { A: { jetstream: %, users: [{user: u, password: p}] } }\n"
	limited := func(limits string) string { return strings.Replace(one, "%", limits, 1) }
	for name, c := range map[string]struct {
		servers  int
		config   string
		user     string
		domain   string
		replicas int
		want     error
	}{
		"wrong password":             {1, limited("enabled"), "u:x@", "", 0, jobs.ErrDenied},
		"no user":                    {1, limited("enabled"), "", "", 0, jobs.ErrDenied},
		"no permission":              {1, "accounts { A: { jetstream: enabled, users: [{user: u, password: p, permissions: {publish: {deny: \"$JS.API.STREAM.CREATE.>\"}}}] } }\n", "u:p@", "", 0, jobs.ErrDenied},
		"no permission to look":      {1, "accounts { A: { jetstream: enabled, users: [{user: u, password: p, permissions: {publish: \"ergoflow.>\"}}] } }\n", "u:p@", "", 0, jobs.ErrDenied},
		"JetStream is off":           {1, "jetstream: disabled\n", "", "", 0, jobs.ErrNoJetStream},
		"off for the account":        {1, limited("disabled"), "u:p@", "", 0, jobs.ErrNoJetStream},
		"too many streams":           {1, limited("{max_streams: 1}"), "u:p@", "", 0, jobs.ErrLimit},
		"max_bytes is required":      {1, limited("{max_bytes: true}"), "u:p@", "", 0, jobs.ErrLimit},
		"another domain":             {1, limited("enabled"), "u:p@", "hub", 0, jobs.ErrNoJetStream},
		"replicas on one server":     {1, limited("enabled"), "u:p@", "", 3, jobs.ErrReplicas},
		"more replicas than servers": {2, limited("enabled"), "u:p@", "", 3, jobs.ErrReplicas},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if c.servers > 1 && testing.Short() {
				t.Skip("-short: servers look for a leader for ten seconds")
			}
			s := natstest.Start(t, c.servers, c.config)
			at := strings.Replace(s[0].URL, "//", "//"+c.user, 1)
			q, err := jobs.Open(t.Context(), at, jobs.Access{Domain: c.domain}, c.replicas)
			if err == nil {
				q.Close()
			}
			if !errors.Is(err, c.want) || strings.Contains(err.Error(), ":p@") {
				t.Errorf("%v, want %v", err, c.want)
			}
		})
	}
}

// Where an account has no room, puts and publications say so.
func TestNATSAccountFull(t *testing.T) {
	c := natstest.Start(t, 1, "accounts { A: { jetstream: {max_file: 1MB}, users: [{user: u, password: p}] } }\n")
	at := strings.Replace(c[0].URL, "//", "//u:p@", 1)
	q, err := jobs.Open(t.Context(), at, jobs.Access{}, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer q.Close()
	s := storetest.Open(t, "nats://shards?server="+url.QueryEscape(at), store.Options{Create: true})
	if err := s.Put(t.Context(), "a", strings.NewReader(string(storetest.Content(2<<20, 1))), 2<<20); !errors.Is(err, store.ErrFull) {
		t.Error(err)
	}
	var list []jobs.Job
	for k := range 100 {
		list = append(list, jobs.Job{Run: "r", Shard: k, Dataset: []byte(`"` + strings.Repeat("x", 30_000) + `"`)})
	}
	if err := q.Publish(t.Context(), list); !errors.Is(err, jobs.ErrLimit) {
		t.Error(err)
	}
}

// Streams that somebody made beforehand keep what ergoflow does not decide.
func TestNATSOwnStreams(t *testing.T) {
	c := natstest.Start(t, 1, "accounts { A: { jetstream: {max_bytes: true}, users: [{user: u, password: p}] } }\n")
	at := strings.Replace(c[0].URL, "//", "//u:p@", 1)
	conn, err := jobs.Dial(at, jobs.Access{})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	js, err := jetstream.New(conn)
	if err != nil {
		t.Fatal(err)
	}
	names := []string{"ERGOFLOW_JOBS", "ERGOFLOW_RESULTS", "ERGOFLOW_STORE_shards"}
	for _, name := range names {
		own := jetstream.StreamConfig{Name: name, Subjects: []string{"x." + name}, MaxBytes: 1 << 20, Description: "ours"}
		if name == "ERGOFLOW_JOBS" {
			own.Retention = jetstream.WorkQueuePolicy
		}
		if _, err := js.CreateStream(t.Context(), own); err != nil {
			t.Fatal(err)
		}
	}
	q, err := jobs.Open(t.Context(), at, jobs.Access{}, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer q.Close()
	s := storetest.Open(t, "nats://shards?server="+url.QueryEscape(at), store.Options{Create: true})
	if err := store.Probe(t.Context(), s, "one"); err != nil {
		t.Error(err)
	}
	for _, name := range names {
		stream, err := js.Stream(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		if has := stream.CachedInfo().Config; has.MaxBytes != 1<<20 || has.Description != "ours" || !strings.HasPrefix(has.Subjects[0], "ergoflow.") {
			t.Errorf("%+v", has)
		}
	}
}

// Behind a leaf node, which has a JetStream of its own, the domain says which one keeps the jobs.
func TestNATSLeaf(t *testing.T) {
	text, err := os.ReadFile("../../deploy/nats/leaf.conf")
	if err != nil {
		t.Fatal(err)
	}
	port := addresstest.Free(t)
	hub := natstest.Start(t, 1, "jetstream { domain: hub, store_dir: \""+t.TempDir()+"\" }\nleafnodes { listen: \""+port+"\" }\n"+
		"accounts { ergoflow: { jetstream: enabled, users: [{ user: ergoflow, password: hush-hub }] } }\n")
	t.Setenv("HUB_URL", "nats-leaf://ergoflow:hush-hub@"+port)
	t.Setenv("LEAF_DATA", filepath.Join(t.TempDir(), "leaf"))
	t.Setenv("LEAF_PASSWORD", "hush-leaf")
	leaf := natstest.Start(t, 1, string(text))
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "user.password"), []byte("ergoflow:hush-leaf"), 0o600); err != nil {
		t.Fatal(err)
	}
	useAccounts(t, leaf, 1, jobs.Access{Files: dir}, jobs.Access{Files: dir}, "hub")
	conn, err := jobs.Dial(strings.Replace(hub.URL(), "//", "//ergoflow:hush-hub@", 1), jobs.Access{})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	js, err := jetstream.New(conn)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := js.Stream(t.Context(), "ERGOFLOW_STORE_shards"); err != nil {
		t.Errorf("at the hub: %v", err)
	}
	if _, err := jobs.Open(t.Context(), leaf.URL(), jobs.Access{Files: dir, Domain: "hubb"}, 0); !errors.Is(err, jobs.ErrNoJetStream) {
		t.Errorf("another domain: %v", err)
	}
}
