package store_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/ergoflow/ergoflow/data/jobs"
	"github.com/ergoflow/ergoflow/data/store"
	"github.com/ergoflow/ergoflow/data/store/storetest"
	"github.com/ergoflow/ergoflow/internal/trust"
	"github.com/ergoflow/ergoflow/internal/trust/trusttest"
)

func bucket(t *testing.T, server string, o store.Options) store.Store {
	t.Helper()
	return storetest.Open(t, "nats://shards?server="+url.QueryEscape(server), o)
}

func natsServer(t *testing.T, dir, address string, credentials *trust.Credentials) *jobs.Server {
	t.Helper()
	server, err := jobs.Serve(dir, address, credentials, store.WorkerSubjects("shards")...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	return server
}

// connect is a connection beside those of stores.
func connect(t *testing.T, server *jobs.Server, a jobs.Access) (*nats.Conn, jetstream.JetStream) {
	t.Helper()
	conn, err := jobs.Dial(server.URL(), a)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	js, err := jetstream.New(conn)
	if err != nil {
		t.Fatal(err)
	}
	return conn, js
}

func TestNATS(t *testing.T) {
	server := natsServer(t, t.TempDir(), "", nil)
	storetest.Conform(t, bucket(t, server.URL(), store.Options{Create: true}))
}

// Objects are there after the server comes back, and puts and reads wait for it.
func TestNATSRestart(t *testing.T) {
	t.Parallel() // it waits for seconds
	dir := t.TempDir()
	server := natsServer(t, dir, "", nil)
	s := bucket(t, server.URL(), store.Options{Create: true})
	want := storetest.Content(2_000_000, 1)
	storetest.Put(t, s, "a/b", want)
	r, err := s.Get(t.Context(), "a/b", 0, 2_000_000)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Read(make([]byte, 10)); err != nil {
		t.Fatal(err)
	}
	server.Close()
	put := make(chan error, 1)
	go func() { put <- s.Put(t.Context(), "c", bytes.NewReader(want), 2_000_000) }()
	natsServer(t, dir, strings.TrimPrefix(server.URL(), "nats://"), nil)
	if err := <-put; err != nil {
		t.Error(err)
	}
	for _, key := range []string{"a/b", "c"} {
		if got, err := storetest.Read(t.Context(), s, key, 0, 2_000_000); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s: %v", key, err)
		}
	}
	if _, err := r.Read(make([]byte, 300_000)); err != nil {
		t.Errorf("a reader that waited: %v", err)
	}
}

// A worker with a certificate puts and reads. It can neither list, delete, replace nor make
// consumers.
func TestNATSWorker(t *testing.T) {
	authority := trusttest.Authority(t, "lab")
	main, worker := trusttest.Credentials(t, authority, trust.Coordinator, "main"), trusttest.Credentials(t, authority, trust.Worker, "w1")
	server := natsServer(t, t.TempDir(), "", main)
	own := bucket(t, server.URL(), store.Options{Access: jobs.Access{Credentials: main}, Create: true})
	s := bucket(t, server.URL(), store.Options{Access: jobs.Access{Credentials: worker}})
	want := storetest.Content(2_000_000, 1)
	storetest.Put(t, s, "a/b", want)
	for _, reader := range []store.Store{own, s} {
		if got, err := storetest.Read(t.Context(), reader, "a/b", 100, 1_999_900); err != nil || !bytes.Equal(got, want[100:]) {
			t.Error(err)
		}
	}
	if err := s.Put(t.Context(), "a/b", strings.NewReader("x"), 1); !errors.Is(err, store.ErrExists) {
		t.Error(err)
	}
	if _, err := s.Stat(t.Context(), "a/c"); !errors.Is(err, store.ErrNotFound) {
		t.Error(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if all, err := s.List(ctx, ""); err == nil {
		t.Errorf("it lists %v", all)
	}
	conn, js := connect(t, server, jobs.Access{Credentials: worker})
	if _, err := js.CreateConsumer(ctx, "ERGOFLOW_STORE_shards", jetstream.ConsumerConfig{}); err == nil {
		t.Error("it makes a consumer")
	}
	message := nats.NewMsg("ergoflow.store.shards.key.YQ.Yg") // a/b
	message.Data = []byte(`{"id":"x","bytes":1,"chunk":1}`)
	ctx, cancel = context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	if _, err := js.PublishMsg(ctx, message); err == nil { // without the condition that Put has
		t.Error("it replaces an object")
	}
	// An answer that would delete the stream stays in the worker's account.
	if err := conn.PublishRequest("$JS.API.DIRECT.GET.ERGOFLOW_STORE_shards", "$JS.API.STREAM.DELETE.ERGOFLOW_STORE_shards", []byte(`{"last_by_subj":"x"}`)); err != nil {
		t.Error(err)
	}
	if err := conn.Flush(); err != nil {
		t.Error(err)
	}
	if got, err := storetest.Read(t.Context(), own, "a/b", 0, 2_000_000); err != nil || !bytes.Equal(got, want) {
		t.Errorf("afterwards: %v", err)
	}
}

// A record that a worker made up does not make a reader take memory, or read for ever.
func TestNATSForgedRecords(t *testing.T) {
	server := natsServer(t, t.TempDir(), "", nil)
	s := bucket(t, server.URL(), store.Options{Create: true})
	_, js := connect(t, server, jobs.Access{})
	for key, record := range map[string]string{
		"YQ": `{"id":"x","bytes":10,"chunk":0}`, "Yg": `{"id":"x","bytes":-1,"chunk":1}`, "Yw": `{"id":"x.>","bytes":10,"chunk":5}`,
		"ZA": `{"id":"","bytes":10,"chunk":5}`, "ZQ": `{"id":"x","bytes":9000000000000000000,"chunk":5}`, "Zg": `{"id":"x","bytes":10,"chunk":1000000000}`, "Zw": `nothing`,
		"aA": `{"id":"x","bytes":10,"chunk":5}`, // no chunks
	} {
		if _, err := js.Publish(t.Context(), "ergoflow.store.shards.key."+key, []byte(record)); err != nil {
			t.Fatal(err)
		}
	}
	for _, key := range []string{"a", "b", "c", "d", "e", "f", "g", "h"} {
		if got, err := storetest.Read(t.Context(), s, key, 0, 10); err == nil {
			t.Errorf("%s: %q", key, got)
		}
		if err := s.Delete(t.Context(), key); err != nil {
			t.Errorf("%s: %v", key, err)
		}
	}
}

// A server without room says so.
func TestNATSFull(t *testing.T) {
	server := natsServer(t, t.TempDir(), "", nil)
	s := bucket(t, server.URL(), store.Options{Create: true})
	_, js := connect(t, server, jobs.Access{})
	stream, err := js.Stream(t.Context(), "ERGOFLOW_STORE_shards")
	if err != nil {
		t.Fatal(err)
	}
	small := stream.CachedInfo().Config
	small.MaxBytes = 1 << 20
	if _, err := js.UpdateStream(t.Context(), small); err != nil {
		t.Fatal(err)
	}
	if err := s.Put(t.Context(), "a", bytes.NewReader(storetest.Content(2<<20, 1)), 2<<20); !errors.Is(err, store.ErrFull) {
		t.Error(err)
	}
	if err := js.DeleteStream(t.Context(), "ERGOFLOW_STORE_shards"); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if _, err := s.Stat(ctx, "a"); !errors.Is(err, store.ErrGone) {
		t.Errorf("without the stream: %v", err)
	}
}

// A server that is killed has every object whose put succeeded, whole. It is killed after some
// puts, while another is under way.
func TestNATSKilled(t *testing.T) {
	if dir := os.Getenv("ERGOFLOW_TEST_NATS"); dir != "" {
		fmt.Println(natsServer(t, dir, os.Getenv("ERGOFLOW_TEST_ADDRESS"), nil).URL())
		select {} // until it is killed
	}
	if testing.Short() {
		t.Skip("-short: it starts a server as a process of its own and kills it")
	}
	dir := t.TempDir()
	start := func(address string) (*exec.Cmd, string) {
		cmd := exec.Command(os.Args[0], "-test.run=^TestNATSKilled$")
		cmd.Env = append(os.Environ(), "ERGOFLOW_TEST_NATS="+dir, "ERGOFLOW_TEST_ADDRESS="+address)
		cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { kill(cmd) })
		said, err := bufio.NewReader(out).ReadString('\n')
		if err != nil {
			t.Fatalf("the server does not start: it says %q, %v", said, err)
		}
		return cmd, strings.TrimSpace(said)
	}
	cmd, at := start("")
	s := bucket(t, at, store.Options{Create: true})
	content := func(i int) []byte { return storetest.Content(700_000, uint64(i)) }
	for round := range 5 {
		folder := fmt.Sprint(round)
		const puts = 100
		last := 1 + 4*round                     // put before the kill
		acknowledged := make(chan string, puts) // so that the next put does not wait
		ctx, cancel := context.WithCancel(t.Context())
		var failure error
		go func() {
			defer close(acknowledged)
			for i := range puts {
				key := fmt.Sprint(folder, "/", i)
				if failure = s.Put(ctx, key, bytes.NewReader(content(i)), 700_000); failure != nil {
					return
				}
				acknowledged <- key
			}
		}()
		var kept []string
		for key := range acknowledged {
			if kept = append(kept, key); len(kept) == last {
				kill(cmd)
				cancel() // the put would wait for the server
			}
		}
		cancel()
		if len(kept) < last {
			t.Fatalf("round %d: after %d puts: %v", round, len(kept), failure)
		}
		cmd, _ = start(strings.TrimPrefix(at, "nats://"))
		for i, key := range kept {
			if got, err := storetest.Read(t.Context(), s, key, 0, 700_000); err != nil || !bytes.Equal(got, content(i)) {
				t.Errorf("round %d: %s of %d: %v", round, key, len(kept), err)
			}
		}
		all, err := s.List(t.Context(), folder+"/")
		if err != nil || len(all) < len(kept) {
			t.Errorf("round %d: %d of %d objects, %v", round, len(all), len(kept), err)
		}
		t.Logf("round %d: %d objects", round, len(kept))
	}
}

func kill(cmd *exec.Cmd) {
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
}
