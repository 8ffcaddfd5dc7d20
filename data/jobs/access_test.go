package jobs

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/ergoflow/ergoflow/internal/trust"
	"github.com/ergoflow/ergoflow/internal/trust/trusttest"
)

// secure is a cluster with certificates, its server, and the coordinator's connection.
func secure(t *testing.T) (l *lab, s *Server, coordinator *Queue) {
	t.Helper()
	l = certified(t)
	s = l.serve(t, t.TempDir())
	return l, s, l.connected(t, s, patient)
}

// bare is a worker's connection as a program of its own would make it.
func bare(t *testing.T, s *Server, c *trust.Credentials) *nats.Conn {
	t.Helper()
	o, err := Access{Credentials: c}.options(s.URL())
	if err != nil {
		t.Fatal(err)
	}
	conn, err := nats.Connect(s.URL(), append(o, nats.NoReconnect(), nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}))...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	return conn
}

// A worker may do what its work needs, and nothing else.
func TestWorkerPermissions(t *testing.T) {
	l, s, q := secure(t)
	subscribe(t, q)
	publish(t, q, makeJobs(3))
	w1 := l.of(t, trust.Worker, "w1")
	conn := bare(t, s, w1)
	// The server answers in order: what it refuses, it refuses before it answers a ping.
	refused := func(subject string) bool {
		t.Helper()
		if err := conn.FlushTimeout(20 * time.Second); err != nil {
			t.Fatalf("%s: %v", subject, err)
		}
		err := conn.LastError()
		return errors.Is(err, nats.ErrPermissionViolation) && strings.HasSuffix(err.Error(), ` to "`+subject+`"`)
	}
	own := inbox(w1.Identity())
	for subject, allowed := range map[string]bool{
		"$JS.API.CONSUMER.INFO.ERGOFLOW_JOBS.run-r":     true,
		"$JS.API.CONSUMER.MSG.NEXT.ERGOFLOW_JOBS.run-r": true,
		"$JS.ACK.ERGOFLOW_JOBS.run-r.1.1.1.1.1":         true,
		"ergoflow.done.r.1":                             true,
		"ergoflow.failed.r.1":                           true,
		"ergoflow.dead.r.1":                             true,
		"ergoflow.returned.r.1":                         true,

		"ergoflow.jobs.r.1":                                               false,
		"ergoflow.retrain.daily.started":                                  false,
		"$JS.API.INFO":                                                    false,
		"$JS.API.STREAM.CREATE.MINE":                                      false,
		"$JS.API.STREAM.UPDATE.ERGOFLOW_JOBS":                             false,
		"$JS.API.STREAM.DELETE.ERGOFLOW_JOBS":                             false,
		"$JS.API.STREAM.PURGE.ERGOFLOW_JOBS":                              false,
		"$JS.API.STREAM.PURGE.ERGOFLOW_RESULTS":                           false,
		"$JS.API.STREAM.MSG.DELETE.ERGOFLOW_JOBS":                         false,
		"$JS.API.STREAM.MSG.GET.ERGOFLOW_RESULTS":                         false,
		"$JS.API.DIRECT.GET.ERGOFLOW_RESULTS":                             false,
		"$JS.API.STREAM.INFO.ERGOFLOW_RESULTS":                            false,
		"$JS.API.STREAM.LIST":                                             false,
		"$JS.API.STREAM.SNAPSHOT.ERGOFLOW_RESULTS":                        false,
		"$JS.API.CONSUMER.CREATE.ERGOFLOW_JOBS":                           false,
		"$JS.API.CONSUMER.CREATE.ERGOFLOW_JOBS.run-r.ergoflow.jobs.r.*":   false,
		"$JS.API.CONSUMER.CREATE.ERGOFLOW_RESULTS.x.ergoflow.done.r.*":    false,
		"$JS.API.CONSUMER.DURABLE.CREATE.ERGOFLOW_JOBS.run-r":             false,
		"$JS.API.CONSUMER.DELETE.ERGOFLOW_JOBS.run-r":                     false,
		"$JS.API.CONSUMER.PAUSE.ERGOFLOW_JOBS.run-r":                      false,
		"$JS.API.CONSUMER.RESET.ERGOFLOW_JOBS.run-r":                      false,
		"$JS.API.CONSUMER.LIST.ERGOFLOW_JOBS":                             false,
		"$JS.API.CONSUMER.MSG.NEXT.ERGOFLOW_RESULTS.x":                    false,
		"$JS.ACK.ERGOFLOW_RESULTS.x.1.1.1.1.1":                            false,
		"$SYS.REQ.SERVER.PING":                                            false,
		inbox(trust.Identity{Role: trust.Worker, Name: "w2"}) + ".answer": false,
		own + ".answer":                                                   false,
	} {
		if err := conn.Publish(subject, []byte("{}")); err != nil {
			t.Fatal(err)
		}
		if got := refused(subject); got == allowed {
			t.Errorf("publish to %s: refused %v", subject, got)
		}
	}
	for subject, allowed := range map[string]bool{
		own + ".*":          true,
		own + ".token.more": true,

		own:                  false,
		">":                  false,
		"_INBOX.>":           false,
		"_INBOX.worker.*.>":  false,
		"_INBOX.worker.w2.>": false,
		inbox(trust.Identity{Role: trust.Worker, Name: "w1.b"}) + ".>":    false,
		inbox(trust.Identity{Role: trust.Coordinator, Name: "w1"}) + ".>": false,
		"ergoflow.>":        false,
		"ergoflow.jobs.r.*": false,
		"ergoflow.done.r.*": false,
		"$JS.API.>":         false,
		"$JS.ACK.>":         false,
		"$JS.EVENT.>":       false,
		"$SYS.>":            false,
		"_R_.>":             false,
		"$SYS.ACCOUNT.$G.>": false,
	} {
		sub, err := conn.SubscribeSync(subject)
		if err != nil {
			t.Fatal(err)
		}
		if got := refused(subject); got == allowed {
			t.Errorf("subscribe to %s: refused %v", subject, got)
		}
		_ = sub.Unsubscribe()
	}
	if n := pending(t, q); n != 3 {
		t.Errorf("%d jobs, want 3", n)
	}
}

// The server answers on any subject that a client names. A worker cannot so have the server say
// to JetStream, or to others, what the worker may not say itself.
func TestForgedReply(t *testing.T) {
	l, s, q := secure(t)
	subscribe(t, q)
	publish(t, q, makeJobs(3))
	conn := bare(t, s, l.of(t, trust.Worker, "w1"))
	for _, request := range []string{
		"$JS.API.CONSUMER.INFO.ERGOFLOW_JOBS.run-" + run, "$JS.API.CONSUMER.INFO.ERGOFLOW_JOBS.none",
		"$JS.API.CONSUMER.MSG.NEXT.ERGOFLOW_JOBS.run-" + run,
		subject("done", run, "1"), subject("returned", run, "7"),
	} {
		for _, reply := range []string{
			"$JS.API.STREAM.PURGE.ERGOFLOW_JOBS", "$JS.API.STREAM.DELETE.ERGOFLOW_JOBS", "$JS.API.CONSUMER.DELETE.ERGOFLOW_JOBS.run-" + run,
			"$JS.API.STREAM.PURGE.ERGOFLOW_RESULTS", "$JS.API.STREAM.DELETE.ERGOFLOW_RESULTS", "$SYS.REQ.SERVER.PING",
		} {
			for _, body := range []string{"", `{"no_wait":true,"batch":1}`, `{"batch":-1}`, `{"expires":1000000,"batch":1}`, "x"} {
				if err := conn.PublishRequest(request, reply, []byte(body)); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	if err := conn.FlushTimeout(20 * time.Second); err != nil {
		t.Fatal(err)
	}
	if err := conn.PublishRequest("$JS.API.CONSUMER.MSG.NEXT.ERGOFLOW_JOBS.run-"+run, subject("jobs", run, "77"), nil); err != nil {
		t.Fatal(err)
	}
	if err := conn.FlushTimeout(20 * time.Second); err != nil {
		t.Fatal(err)
	}
	conn.Close()
	if n := pending(t, q); n != 3 {
		t.Errorf("%d jobs, want 3", n)
	}
	if _, err := q.js.Consumer(t.Context(), jobsStream, consumerName(run)); err != nil {
		t.Errorf("the consumer: %v", err)
	}
	stream, err := q.js.Stream(t.Context(), resultsStream)
	if err != nil {
		t.Fatal(err)
	}
	if n := stream.CachedInfo().State.Msgs; n == 0 {
		t.Error("the results are gone")
	}
}

// Those without a certificate of this cluster, with the wrong role, or with a revoked
// certificate get no connection.
func TestStrangersAreRefused(t *testing.T) {
	l, s, _ := secure(t)
	foreign := certified(t)
	trusting := func(c *trust.Credentials) []nats.Option { // of a client that trusts every server
		config := c.ClientConfig(trust.AllowRoles(trust.Coordinator))
		config.VerifyConnection = nil
		return []nats.Option{nats.Secure(config), nats.TLSHandshakeFirst()}
	}
	revoked := l.of(t, trust.Worker, "lost")
	if err := l.authority.RevokeIdentity(t.Context(), revoked.Identity(), time.Now()); err != nil {
		t.Fatal(err)
	}
	for name, options := range map[string][]nats.Option{
		"plain text":                  nil,
		"TLS without a certificate":   {nats.Secure(insecure()), nats.TLSHandshakeFirst()},
		"TLS after the server's word": trusting(l.of(t, trust.Worker, "late"))[:1],
		"another cluster's authority": trusting(foreign.of(t, trust.Worker, "w1")),
		"an operator":                 trusting(l.of(t, trust.Operator, "ada")),
		"a viewer":                    trusting(l.of(t, trust.Viewer, "ada")),
		"a revoked worker":            trusting(revoked),
		"another's coordinator":       trusting(foreign.of(t, trust.Coordinator, "main")),
		"a name and a password":       {nats.UserInfo("main", "hush")},
	} {
		t.Run(name, func(t *testing.T) {
			conn, err := nats.Connect(s.URL(), append(options, nats.NoReconnect(), nats.Timeout(time.Second))...)
			if err == nil {
				conn.Close()
				t.Error("it is let in")
			}
		})
	}
	if _, err := nats.Connect(s.URL(), append(trusting(l.of(t, trust.Worker, "w1")), nats.NoReconnect())...); err != nil {
		t.Errorf("a worker: %v", err)
	}
}

func insecure() *tls.Config { return &tls.Config{InsecureSkipVerify: true} }

// A server of another authority, or of another role, is refused by workers and coordinators.
func TestFalseServerIsRefused(t *testing.T) {
	l, foreign := certified(t), certified(t)
	for name, c := range map[string]*trust.Credentials{
		"another cluster's": foreign.of(t, trust.Coordinator, "main"),
		"a worker's":        l.of(t, trust.Worker, "w2"),
		"plain text":        nil,
	} {
		t.Run(name, func(t *testing.T) {
			s, err := Serve(t.TempDir(), "", c)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(s.Close)
			quickly := patient
			quickly.timeout = 2 * time.Second
			if q, err := open(t.Context(), s.URL(), Access{Credentials: l.of(t, trust.Coordinator, "main")}, quickly); err == nil {
				q.Close()
				t.Error("the coordinator connects")
			}
		})
	}
}

// closed waits until a connection has ended.
func closed(t *testing.T, q *Queue) {
	t.Helper()
	await(t, "a connection ends", func() bool { return q.conn.Status() != nats.CONNECTED })
}

func await(t *testing.T, what string, done func() bool) {
	t.Helper()
	deadline := time.Now().Add(20 * time.Second)
	for !done() {
		if time.Now().After(deadline) {
			t.Fatalf("%s: not in 20 seconds", what)
		}
		wait(t.Context(), time.Millisecond)
	}
}

// After a revocation, Recheck ends the connections of the revoked worker alone, and they do not
// come back.
func TestRecheck(t *testing.T) {
	l, s, q := secure(t)
	lost, kept := l.worker(t, s, quick), l.worker(t, s, quick)
	if n := s.Recheck(); n != 0 {
		t.Errorf("%d connections ended without a revocation", n)
	}
	name := trust.Identity{Cluster: "lab", Role: trust.Worker, Name: "w1"}
	if err := l.authority.RevokeIdentity(t.Context(), name, time.Now()); err != nil {
		t.Fatal(err)
	}
	before := kept.conn.Stats().Reconnects
	if n := s.Recheck(); n != 1 {
		t.Errorf("%d connections ended, want 1", n)
	}
	closed(t, lost)
	// It tries again and again; the other and the coordinator are served.
	for range 10 {
		if _, err := kept.conn.RTT(); err != nil {
			t.Fatal(err)
		}
		wait(t.Context(), 20*time.Millisecond)
	}
	if lost.conn.Status() == nats.CONNECTED || kept.conn.Stats().Reconnects != before {
		t.Errorf("the revoked worker is %v, the other reconnected %d times", lost.conn.Status(), kept.conn.Stats().Reconnects-before)
	}
	results := subscribe(t, q)
	publish(t, q, makeJobs(1))
	work(t, kept, "kept", func(context.Context, Job) error { return nil })
	if r := next(t, results); r.Error != "" {
		t.Errorf("result %+v", r)
	}
	if n := s.Recheck(); n != 0 {
		t.Errorf("%d connections ended by a second look", n)
	}
	if n := len(s.guard.shown); n != 2 {
		t.Errorf("the server keeps the certificates of %d connections, want 2", n)
	}
}

// A revocation between handshake and admission counts: nobody slips past Recheck.
func TestRevokedAfterTheHandshake(t *testing.T) {
	l, s, _ := secure(t)
	w1 := l.of(t, trust.Worker, "w1")
	var pauses pausing
	pauses.handshaken, pauses.on = make(chan struct{}), make(chan struct{})
	o, err := Access{Credentials: w1}.options(s.URL())
	if err != nil {
		t.Fatal(err)
	}
	result := make(chan error)
	go func() {
		conn, err := nats.Connect(s.URL(), append(o, nats.NoReconnect(), nats.SetCustomDialer(&pauses))...)
		if err == nil {
			conn.Close()
		}
		result <- err
	}()
	<-pauses.handshaken
	if err := l.authority.RevokeIdentity(t.Context(), w1.Identity(), time.Now()); err != nil {
		t.Fatal(err)
	}
	s.Recheck()
	close(pauses.on)
	if err := <-result; err == nil {
		t.Error("it is let in")
	}
}

// pausing holds back what its client sends after the handshake.
type pausing struct {
	handshaken, on chan struct{}
}

func (p *pausing) Dial(network, address string) (net.Conn, error) {
	conn, err := net.Dial(network, address)
	return &pausingConn{Conn: conn, pausing: p}, err
}

type pausingConn struct {
	net.Conn
	*pausing
	reads atomic.Int32
}

// Write waits before the third flight of a client: ClientHello, certificate and Finished,
// CONNECT.
func (c *pausingConn) Write(b []byte) (int, error) {
	if c.reads.Add(1) == 3 {
		close(c.handshaken)
		<-c.on
	}
	return c.Conn.Write(b)
}

// A certificate counts from the next connection on, on both sides, without a restart.
func TestRenewal(t *testing.T) {
	l := certified(t)
	main, w1 := l.of(t, trust.Coordinator, "main"), l.of(t, trust.Worker, "w1")
	s, err := Serve(t.TempDir(), "", main)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	worker, err := connectWorker(s.URL(), Access{Credentials: w1}, quick)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(worker.Close)
	shown := func() (serial string) {
		s.guard.mu.Lock()
		defer s.guard.mu.Unlock()
		s.guard.forget()
		for _, shown := range s.guard.shown {
			serial += shown[0].SerialNumber.String()
		}
		return serial
	}
	for _, c := range []*trust.Credentials{main, w1} {
		if err := c.Replace(trusttest.Issue(t, l.authority, c.Identity().Role, c.Identity().Name), c.Bundle()); err != nil {
			t.Fatal(err)
		}
	}
	if err := worker.conn.ForceReconnect(); err != nil {
		t.Fatal(err)
	}
	await(t, "the worker shows its new certificate", func() bool {
		return shown() == w1.Certificate().SerialNumber.String() && worker.conn.Status() == nats.CONNECTED
	})
	state, err := worker.conn.TLSConnectionState()
	if err != nil {
		t.Fatal(err)
	}
	if !state.PeerCertificates[0].Equal(main.Certificate()) {
		t.Error("the server shows its old certificate")
	}
}

// A connection ends with the certificate by which it was made, and comes back with the next.
func TestConnectionEndsWithItsCertificate(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: it waits for a certificate to expire, whose shortest life is ten seconds")
	}
	l, s, _ := secure(t)
	w1 := l.of(t, trust.Worker, "w1")
	bundle := w1.Bundle()
	short, err := l.authority.Issue(t.Context(), trust.Request{Role: trust.Worker, Name: "w1", Life: 10 * time.Second}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	if err := w1.Replace(short, bundle); err != nil {
		t.Fatal(err)
	}
	worker, err := connectWorker(s.URL(), Access{Credentials: w1}, quick)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(worker.Close)
	await(t, "it connects", func() bool { return worker.conn.Status() == nats.CONNECTED })
	closed(t, worker)
	if err := w1.Replace(trusttest.Issue(t, l.authority, trust.Worker, "w1"), bundle); err != nil {
		t.Fatal(err)
	}
	await(t, "it connects again", func() bool { return worker.conn.Status() == nats.CONNECTED })
}

// Names with dots have inboxes of their own.
func TestInbox(t *testing.T) {
	seen := map[string]bool{}
	for _, name := range []string{"a", "a.b", "a-b", "a_b", "A", "a.b.c"} {
		prefix := inbox(trust.Identity{Role: trust.Worker, Name: name})
		if seen[prefix] || strings.Count(prefix, ".") != 2 || strings.ContainsAny(prefix, "*> ") {
			t.Errorf("%s has the inbox %s", name, prefix)
		}
		seen[prefix] = true
	}
}
