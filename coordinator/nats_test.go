package coordinator

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/coordinator/machine"
	"github.com/ergoflow/ergoflow/coordinator/wire"
	"github.com/ergoflow/ergoflow/data/jobs"
	"github.com/ergoflow/ergoflow/data/sets/shard"
	"github.com/ergoflow/ergoflow/data/store"
	"github.com/ergoflow/ergoflow/internal/natstest"
)

// What a NATS server loses, streams, consumers and jobs, is made and published again, while the
// coordinator stays.
func TestJobsLost(t *testing.T) {
	t.Parallel()
	for name, lose := range map[string]func(context.Context, jetstream.JetStream) error{
		"jobs": func(ctx context.Context, js jetstream.JetStream) error {
			stream, err := js.Stream(ctx, "ERGOFLOW_JOBS")
			return errors.Join(err, stream.Purge(ctx))
		},
		"some jobs": func(ctx context.Context, js jetstream.JetStream) error {
			stream, err := js.Stream(ctx, "ERGOFLOW_JOBS")
			return errors.Join(err, stream.Purge(ctx, jetstream.WithPurgeSubject("ergoflow.jobs.*.3")))
		},
		"the consumer": func(ctx context.Context, js jetstream.JetStream) error {
			return js.DeleteConsumer(ctx, "ERGOFLOW_JOBS", "run-"+plan.Run)
		},
		"all streams": func(ctx context.Context, js jetstream.JetStream) error {
			return errors.Join(js.DeleteStream(ctx, "ERGOFLOW_JOBS"), js.DeleteStream(ctx, "ERGOFLOW_RESULTS"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := natstest.Start(t, 1, "")
			dir := t.TempDir()
			s := startWith(t, dir, func(config *Config) { config.NATS = c.URL() })
			s.submit(plan, wire.Stage_STAGE_GENERATE)
			conn, err := jobs.Dial(c.URL(), jobs.Access{})
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			js, err := jetstream.New(conn)
			if err != nil {
				t.Fatal(err)
			}
			s.await("five jobs are in the queue", func(Status) bool {
				consumer, err := js.Consumer(t.Context(), "ERGOFLOW_JOBS", "run-"+plan.Run)
				return err == nil && consumer.CachedInfo().NumPending == 5
			})
			if err := lose(t.Context(), js); err != nil {
				t.Fatal(err)
			}
			queue, err := jobs.Connect(s.NATS, jobs.Access{})
			if err != nil {
				t.Fatal(err)
			}
			defer queue.Close()
			ctx, cancel := context.WithCancel(t.Context())
			store, worked := shard.NewDir(filepath.Join(dir, "shards")), make(chan error, 1)
			go func() {
				worked <- queue.Work(ctx, plan.Run, "a", func(_ context.Context, j jobs.Job) error { return makeShard(store, j.Shard) })
			}()
			s.await("all are there", func(st Status) bool { return st.State == machine.StateGenerated })
			cancel()
			if err := <-worked; !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
		})
	}
}

// lost tells jobs that a server lost from those that workers have just done.
func TestLost(t *testing.T) {
	p := ergoflow.Plan{Shards: 4}
	for name, c := range map[string]struct {
		present []int
		queued  int
		want    int
	}{
		"not known":            {nil, -1, 0},
		"all waiting":          {nil, 5, 0},
		"some done":            {[]int{1, 4}, 3, 0},
		"done since the count": {[]int{1, 4}, 4, 0},
		"one lost":             {[]int{1, 4}, 2, 3},
		"all lost":             {nil, 0, 5},
		"all there":            {[]int{0, 1, 2, 3, 4}, 0, 0},
	} {
		if got := lost(p, c.present, c.queued); len(got) != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// A coordinator that begins to lead while the NATS server is away waits for it.
func TestNATSAwayInATerm(t *testing.T) {
	t.Parallel()
	c := natstest.Start(t, 1, "")
	waits := make(chan error, 100)
	list := severalWith(t, 3, filepath.Join(t.TempDir(), "shards"), func(config *Config) {
		config.NATS, config.NATSReplicas = c.URL(), 1
		config.Log = slog.New(listening{slog.DiscardHandler, "cannot open the jobs", waits})
	})
	first := leading(t, list...)
	c[0].Kill()
	first.close()
	select {
	case <-waits:
	case <-time.After(patience):
		t.Fatal("nobody waits for the server")
	}
	c[0].Start()
	next := leading(t, list...)
	next.submit(plan, wire.Stage_STAGE_GENERATE)
	next.await("it conducts", func(st Status) bool { return st.State == machine.StateGenerating })
}

// A coordinator that starts with a cluster of NATS waits for the server that comes last. Without it
// there are too few for the replicas, which passes.
func TestNATSServerComesLast(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("-short: servers look for a leader for ten seconds")
	}
	c := natstest.Start(t, 3, "")
	for _, s := range c {
		s.Kill()
	}
	c[0].Start()
	c[1].Start()
	absent := make(chan error, 100)
	config := Config{
		NATS: c.URL(), NATSReplicas: 3, location: store.Location{Scheme: store.File, Dir: t.TempDir()}, patience: patience,
		Log: slog.New(listening{slog.DiscardHandler, "cannot open the jobs", absent}),
	}
	closing := &closer{}
	defer closing.close()
	opened := make(chan error, 1)
	go func() {
		_, err := openServices(t.Context(), config, Addresses{}, nil, nil, closing)
		opened <- err
	}()
	for err := error(nil); !errors.Is(err, jobs.ErrAbsent); {
		select {
		case err = <-absent:
		case err = <-opened:
			t.Fatal("it does not wait: ", err)
		case <-time.After(patience):
			t.Fatal("nobody misses the server")
		}
	}
	c[2].Start()
	if err := <-opened; err != nil {
		t.Fatal(err)
	}
}

// listening tells the errors with which a message was logged that begins with a text.
type listening struct {
	slog.Handler
	text string
	told chan<- error
}

func (listening) Enabled(context.Context, slog.Level) bool { return true }

func (s listening) WithAttrs([]slog.Attr) slog.Handler { return s }

func (s listening) Handle(_ context.Context, r slog.Record) error {
	if strings.HasPrefix(r.Message, s.text) {
		var err error
		r.Attrs(func(a slog.Attr) bool {
			err, _ = a.Value.Any().(error)
			return err == nil
		})
		select {
		case s.told <- err:
		default:
		}
	}
	return nil
}

// What several coordinators, or one, cannot do with NATS ends their start with a clear error.
func TestNATSSetup(t *testing.T) {
	alone := natstest.Start(t, 1, "")
	several := []string{"192.0.2.1:1", "192.0.2.2:1", "127.0.0.1:1"}
	for name, c := range map[string]struct {
		config Config
		want   error
		text   string
	}{
		"more replicas than coordinators": {Config{Store: "nats://shards?replicas=4", Peers: several}, nil, "and there are 3"},
		"replicas of the embedded":        {Config{NATSReplicas: 3}, nil, "need NATS"},
		"a domain of the embedded":        {Config{NATSDomain: "hub"}, nil, "need NATS"},
		"a wrong domain":                  {Config{NATS: alone.URL(), NATSDomain: "hub"}, jobs.ErrNoJetStream, "in the domain hub"},
		"a wrong domain of the bucket":    {Config{NATS: alone.URL(), Store: "nats://shards?domain=hub"}, jobs.ErrNoJetStream, "nats://shards"},
		"more replicas than servers":      {Config{NATS: alone.URL(), NATSReplicas: 3}, jobs.ErrReplicas, "ERGOFLOW_JOBS"},
		"more replicas of bucket":         {Config{NATS: alone.URL(), Store: "nats://shards?replicas=3"}, jobs.ErrReplicas, "ERGOFLOW_STORE_shards"},
		"nobody is there, and one alone":  {Config{NATS: "nats://127.0.0.1:1"}, nats.ErrNoServers, "127.0.0.1:1"},
	} {
		c.config.Dir, c.config.Log, c.config.patience = t.TempDir(), slog.New(slog.DiscardHandler), time.Nanosecond
		err := Run(t.Context(), c.config)
		if err == nil || c.want != nil && !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
