package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/cmd/ergoflow/internal/hosts"
	"github.com/ergoflow/ergoflow/coordinator"
	"github.com/ergoflow/ergoflow/coordinator/wire"
)

// TestSecuredOneByOne: the processes of a cluster that speaks plain text are started again with
// certificates one by one, while it trains. No step is lost. In the end nothing passes in plain
// text, and nobody is heard who speaks it.
func TestSecuredOneByOne(t *testing.T) {
	needE2E(t)
	hosts.Isolated(t, securedOneByOne)
}

func securedOneByOne(t *testing.T) {
	network := hosts.New(t)
	e := tiny(t, 3000, false)
	plan, err := e.Plan()
	if err != nil {
		t.Fatal(err)
	}
	want := final(t, undisturbed(t, network.Host("alone"), e))
	a, b := network.Host("a"), network.Host("b")
	third, cable := network.Poor("c", 1)
	dir := t.TempDir()
	c := startPlain(t, []*hosts.Host{a, b, third}, dir, filepath.Join(dir, "shards"))
	c.until("three workers are there", func(st coordinator.Status) bool { return len(st.Workers) == 3 })
	var open, closed bytes.Buffer
	cable.Record(&open)
	c.submit(e)
	last := c.until("three train", training(3, 20))
	cable.Record(nil)
	// goesOn does something, and waits until that many train again, from where they were, in a new
	// generation.
	goesOn := func(members int, what string, do func()) {
		t.Helper()
		began := time.Now()
		do()
		st := c.until("they train "+what, func(st coordinator.Status) bool {
			if st.State == "training" && st.Step < last.Step {
				t.Errorf("%s: from step %d back to %d", what, last.Step, st.Step)
			}
			return training(members, int(last.Step)+1)(st) && st.Generation > last.Generation
		})
		t.Logf("%s: generation %d, step %d, %.1f s later", what, st.Generation, st.Step, time.Since(began).Seconds())
		last = c.until("they make 20 steps", training(members, int(st.Step)+20))
	}

	both := "--accept-plaintext=" + a.Address + ":7946"
	goesOn(3, "with a coordinator that accepts both", func() {
		c.restartCoordinator("--insecure", both)
		c.readToken()
		c.secured = true
		c.connect(c.operator())
	})
	if !last.Secured || !last.AcceptsPlaintext || len(last.Plaintext) != 3 {
		t.Errorf("status: secured %t, accepts plain text %t from %v", last.Secured, last.AcceptsPlaintext, last.Plaintext)
	}
	if said, _ := a.Command(t.Context(), c.program, "doctor", "--dir", dir).CombinedOutput(); !bytes.Contains(said, []byte("in plain text: "+strings.Join(last.Plaintext, ", "))) {
		t.Errorf("the doctor says\n%s", said)
	}
	unsecured := slices.Clone(c.workers)
	c.workers = nil
	for i, h := range c.hosts {
		goesOn(3, fmt.Sprintf("with %d secured workers", i+1), func() {
			c.leave(unsecured[i])
			c.add(h, h.Address)
		})
		if len(last.Plaintext) != 2-i {
			t.Errorf("in plain text are %v", last.Plaintext)
		}
		if i == 0 {
			c.pretend(last, dir)
		}
	}
	cable.Record(&closed)
	last = c.until("three make 100 steps, all of them with certificates", training(3, int(last.Step)+100))
	cable.Record(nil)
	var late *daemon
	goesOn(4, "with a fourth worker, in plain text", func() { late = c.addLike(unsecured[0], network.Host("d")) })
	goesOn(3, "with a coordinator that refuses plain text", func() { c.restartCoordinator(both, "") })
	cable.Record(&closed)
	for deadline := time.Now().Add(patience); !strings.Contains(c.read(late), "it may speak TLS, and this one plain text"); <-time.After(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("a worker in plain text does not say why it has no coordinator\n%s", c.read(late))
		}
	}
	c.leave(late)
	c.workers = c.workers[:3]
	if !last.Secured || last.AcceptsPlaintext || len(last.Plaintext) > 0 {
		t.Errorf("status: secured %t, accepts plain text %t from %v", last.Secured, last.AcceptsPlaintext, last.Plaintext)
	}
	refusePlaintext(t, c, unsecured[1])
	c.finish()
	c.end()
	cable.Record(nil)

	words := append(parameters(t, dir), []byte(plan.Run), []byte(plan.Experiment), []byte(greeting))
	for _, word := range words {
		if bytes.Contains(closed.Bytes(), word) {
			t.Errorf("%.40q passes in plain text after the change", word)
		}
	}
	if !bytes.Contains(open.Bytes(), []byte(plan.Run)) || closed.Len() < 1<<20 {
		t.Errorf("a record of %d bytes of plain text has no name of the run, or one of %d bytes is too short: they show nothing", open.Len(), closed.Len())
	}
	c.checkSecrets()
	equalToRounding(t, "a cluster that was secured one by one", final(t, dir), want)
}

// restartCoordinator kills the coordinator, and starts it again with another flag in the place of
// one. Its encrypted gossip has a port of its own.
func (c *hostCluster) restartCoordinator(before, after string) {
	c.t.Helper()
	c.coordinator.kill()
	first := c.hosts[0].Address
	command := slices.Clone(c.coordinator.command)
	for i, word := range command {
		switch word {
		case before:
			command[i] = after
		case first + ":7946":
			command[i] = first + ":7947"
		}
	}
	c.coordinator.command = slices.DeleteFunc(command, func(word string) bool { return word == "" })
	c.coordinator.start(c.t)
}

// addLike starts a worker on another host by the command of one.
func (c *hostCluster) addLike(w *daemon, on *hosts.Host) *daemon {
	c.t.Helper()
	command := slices.Clone(w.command)
	for i := range command[1:] {
		if option := command[i]; option == "--gossip" || option == "--listen" {
			command[i+1] = strings.Replace(command[i+1], w.host.Address+":", on.Address+":", 1)
		}
	}
	other := &daemon{name: "worker on " + on.Name, host: on, command: command, log: filepath.Join(filepath.Dir(w.log), "worker-"+on.Name+".log")}
	c.workers = append(c.workers, other)
	other.start(c.t)
	return other
}

// leave drains a worker.
func (c *hostCluster) leave(w *daemon) {
	c.t.Helper()
	w.signal(syscall.SIGTERM)
	select {
	case <-w.ended:
	case <-time.After(drainGrace + 3*time.Second):
		c.t.Fatalf("%s does not leave\n%s", w.name, c.logs())
	}
}

// pretend opens a session in plain text, by a process that says it is a worker which has a
// certificate. It is refused, and that worker stays.
func (c *hostCluster) pretend(st coordinator.Status, dir string) {
	c.t.Helper()
	at, err := coordinator.ReadAddresses(dir)
	if err != nil {
		c.t.Fatal(err)
	}
	conn, err := grpc.NewClient("passthrough:///"+at.Control, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		c.t.Fatal(err)
	}
	defer conn.Close()
	ctx, cancel := context.WithTimeout(c.t.Context(), patience)
	defer cancel()
	for _, w := range st.Workers {
		if slices.Contains(st.Plaintext, string(w.ID)) {
			continue
		}
		for _, hello := range []*wire.Hello{
			{Id: string(w.ID), DataAddress: "10.77.0.99:1"}, {Id: "another", DataAddress: w.Addr},
		} {
			hello.Version, hello.Protocol, hello.OldestProtocol, hello.Numerics = ergoflow.Build(), ergoflow.Protocol, ergoflow.OldestProtocol, ergoflow.Numerics
			hello.Device = "go"
			stream, err := wire.NewControlClient(conn).Session(ctx)
			if err == nil {
				err = stream.Send(&wire.WorkerMessage{Body: &wire.WorkerMessage_Hello{Hello: hello}})
			}
			if err != nil {
				c.t.Fatal(err)
			}
			if m, err := stream.Recv(); err != nil || !strings.Contains(m.GetRefuse().GetReason(), string(w.ID)) {
				c.t.Errorf("a process in plain text that pretends to be %s: %v, %v", w.ID, m, err)
			}
		}
	}
	if _, err := wire.NewControlClient(conn).CreateToken(ctx, &wire.CreateTokenRequest{Role: "worker", Uses: 1, Seconds: 60}); status.Code(err) != codes.Unauthenticated {
		c.t.Errorf("a token for one in plain text: %v", err)
	}
}

// refusePlaintext speaks plain text to every port, and starts a worker as before the change.
func refusePlaintext(t *testing.T, c *hostCluster, before *daemon) {
	t.Helper()
	for name, address := range c.ports() {
		conn, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if _, err := io.WriteString(conn, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00"); err != nil {
			t.Fatal(err)
		}
		conn.SetReadDeadline(time.Now().Add(20 * time.Second))
		if said, err := io.ReadAll(conn); len(said) > 0 && said[0] != 21 { // an alert of TLS
			t.Errorf("%s at %s answers plain text by %.80q, %v", name, address, said, err)
		}
	}
	st, ok := c.status()
	if !ok || !slices.ContainsFunc(st.Refused, func(r coordinator.Refusal) bool { return strings.Contains(r.Reason, "speaks plain text") }) {
		t.Errorf("the status does not say that plain text was refused: %+v", st.Refused)
	}
	command := slices.Clone(before.command)
	for i, word := range command {
		if regexp.MustCompile(`^10\.77\.\d+\.\d+:79\d\d$`).MatchString(word) && command[i-1] == "--join" {
			command[i] = c.hosts[0].Address + ":7947"
		}
		command[i] = strings.NewReplacer(":708", ":709", ":795", ":796").Replace(command[i])
	}
	said, err := before.host.Command(t.Context(), command[0], command[1:]...).CombinedOutput()
	if line := regexp.MustCompile(`(?m)^(?:ergoflow|error).*$`).FindString(string(said)); err == nil || !strings.Contains(string(said), "the gossip is encrypted, and this process sends plain text") {
		t.Errorf("a worker in plain text: %v, %s\n%s", err, line, said)
	}
}
