package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/cmd/ergoflow/internal/hosts"
	"github.com/ergoflow/ergoflow/coordinator"
	"github.com/ergoflow/ergoflow/coordinator/convert"
	"github.com/ergoflow/ergoflow/coordinator/wire"
	"github.com/ergoflow/ergoflow/internal/trust"
	"github.com/ergoflow/ergoflow/internal/trust/secure"
	"github.com/ergoflow/ergoflow/model/experiment"
)

// A daemon is a process of the program on a host, as a service manager starts one.
type daemon struct {
	name    string
	host    *hosts.Host
	command []string
	log     string // file
	gossip  string // address, of a worker

	cmd   *exec.Cmd
	ended chan struct{} // closed when the process has
}

func (d *daemon) start(t *testing.T) {
	t.Helper()
	log, err := os.OpenFile(d.log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	said, err := os.OpenFile(d.said(), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer said.Close()
	d.cmd = d.host.Command(context.Background(), d.command[0], d.command[1:]...)
	d.cmd.Stdout, d.cmd.Stderr = said, log
	if err := d.cmd.Start(); err != nil {
		t.Fatalf("start %s: %v", d.name, err)
	}
	cmd, ended := d.cmd, make(chan struct{})
	d.ended = ended
	go func() { cmd.Wait(); close(ended) }()
}

// said is the file of its standard output.
func (d *daemon) said() string { return d.log + outputSuffix }

const outputSuffix = ".out"

func (d *daemon) signal(s syscall.Signal) { d.cmd.Process.Signal(s) }

// kill ends the process at once, and waits until it is gone.
func (d *daemon) kill() {
	d.signal(syscall.SIGKILL)
	<-d.ended
}

func (d *daemon) alive() bool {
	select {
	case <-d.ended:
		return false
	default:
		return true
	}
}

// A hostCluster is a coordinator on the first host and a worker on every host.
type hostCluster struct {
	t           *testing.T
	dir         string // of the coordinator
	program     string // beside it are the logs
	hosts       []*hosts.Host
	coordinator *daemon
	workers     []*daemon // by host, then those that are added
	control     wire.ControlClient
	secured     bool
	name        string // of the coordinator's host, for workers; empty: they have its address
	token       string // to join a secured one by; empty: workers have credentials
	workerFlags []string
	hidden      string // directory that workers do not see, and where each has its cache; empty: none
}

// startHosts starts a secured cluster on hosts, by the coordinator's command and the one that
// it prints.
func startHosts(t *testing.T, on []*hosts.Host, dir, store string, more ...string) *hostCluster {
	t.Helper()
	c := newHosts(t, on, dir, store, more...)
	c.coordinator.start(t)
	c.readToken()
	c.beginSecured()
	return c
}

// beginSecured is begin with the operator's credentials in the coordinator's directory.
func (c *hostCluster) beginSecured() {
	c.t.Helper()
	c.secured = true
	c.begin(c.operator())
}

// operator is how one connects with the operator's credentials in the coordinator's directory.
func (c *hostCluster) operator() credentials.TransportCredentials {
	c.t.Helper()
	operator, err := trust.OpenCredentials(coordinator.OperatorDir(c.dir))
	if err != nil {
		c.t.Fatal(err)
	}
	return secure.Dial(operator, trust.Coordinator)
}

// move starts the coordinator on another host, from the same directory.
func (c *hostCluster) move(to *hosts.Host) {
	c.t.Helper()
	for i, word := range c.coordinator.command {
		c.coordinator.command[i] = strings.Replace(word, c.hosts[0].Address+":", to.Address+":", 1)
	}
	c.coordinator.host, c.hosts = to, []*hosts.Host{to}
	c.coordinator.start(c.t)
	c.connect(c.operator())
}

// startPlain starts a cluster that speaks plain text. Each worker joins at one member, that of
// the host before its own.
func startPlain(t *testing.T, on []*hosts.Host, dir, store string, more ...string) *hostCluster {
	t.Helper()
	c := newHosts(t, on, dir, store, append(more, "--insecure")...)
	c.coordinator.start(t)
	c.begin(insecure.NewCredentials())
	return c
}

// newHosts is a cluster that has not begun.
func newHosts(t *testing.T, on []*hosts.Host, dir, store string, more ...string) *hostCluster {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	logs := t.TempDir()
	ergoflow := filepath.Join(logs, "ergoflow") // under this name the test binary is the program
	if err := os.Symlink(self, ergoflow); err != nil {
		t.Fatal(err)
	}
	first := on[0].Address
	c := &hostCluster{t: t, dir: dir, hosts: on, program: ergoflow}
	c.coordinator = &daemon{name: "coordinator", host: on[0], log: filepath.Join(logs, "coordinator.log"), command: []string{
		ergoflow, "coordinator", "--dir", dir, "--store", store, "--listen", first + ":7070", "--gossip", first + ":7946", "--join", first + ":7071"}}
	c.coordinator.command = append(c.coordinator.command, more...)
	t.Cleanup(c.kill)
	return c
}

// begin connects with the coordinator, and starts a worker on every host.
func (c *hostCluster) begin(transport credentials.TransportCredentials) {
	c.t.Helper()
	c.connect(transport)
	for _, h := range c.hosts {
		c.add(h, h.Address)
	}
}

// quickly has a client notice at once that a coordinator is back.
var quickly = grpc.WithConnectParams(grpc.ConnectParams{MinConnectTimeout: time.Second,
	Backoff: backoff.Config{BaseDelay: 10 * time.Millisecond, Multiplier: 1, MaxDelay: 10 * time.Millisecond}})

func (c *hostCluster) connect(transport credentials.TransportCredentials) {
	c.t.Helper()
	conn, err := grpc.NewClient("passthrough:///"+c.hosts[0].Address+":7070", grpc.WithTransportCredentials(transport), quickly)
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() { conn.Close() })
	c.control = wire.NewControlClient(conn)
	c.until("the coordinator answers", func(coordinator.Status) bool { return true })
}

// healthy waits until a check, a command of ergoflow, succeeds on the coordinator's host. Kubernetes and
// Compose ask again, too.
func (c *hostCluster) healthy(check []string) {
	c.t.Helper()
	for deadline := time.Now().Add(patience); c.hosts[0].Command(c.t.Context(), c.program, check...).Run() != nil; <-time.After(100 * time.Millisecond) {
		if time.Now().After(deadline) {
			c.t.Fatalf("%q fails\n%s", check, c.logs())
		}
	}
}

// addAs starts a worker on a host by a command of ergoflow that deploy has, on little.
func (c *hostCluster) addAs(h *hosts.Host, command []string) {
	c.t.Helper()
	w := &daemon{name: "worker on " + h.Name, host: h, log: filepath.Join(filepath.Dir(c.program), h.Name+".log"),
		command: append(append([]string{c.program}, command...), "--backend=go", "--threads=1")}
	c.workers = append(c.workers, w)
	w.start(c.t)
}

// add starts a worker on a host, with its data port at an address of that host.
func (c *hostCluster) add(h *hosts.Host, data string) {
	c.t.Helper()
	seed := c.hosts[0].Address + ":7946"
	if n := len(c.workers); n > 0 && c.workers[n-1].alive() {
		seed = c.workers[n-1].gossip
	}
	if c.name != "" {
		seed = c.name + ":7946"
	}
	// Ports differ too: hosts of one machine have one name, and workers are named by
	// name and port.
	i := len(c.workers)
	gossip := fmt.Sprintf("%s:%d", h.Address, 7950+i)
	as := []string{"--insecure"}
	if c.secured {
		seed = cmp.Or(c.name, c.hosts[0].Address) + ":7071"
		as = []string{"--credentials", c.credentials(h)}
		if c.token != "" {
			as = append(as, "--token", c.token)
		}
	}
	w := &daemon{name: "worker on " + h.Name, host: h, gossip: gossip, log: filepath.Join(filepath.Dir(c.program), "worker-"+h.Name+".log"),
		command: append([]string{c.program, "worker", "--join", seed, "--gossip", gossip, "--listen", fmt.Sprintf("%s:%d", data, 7080+i),
			"--backend", "go", "--threads", "1", "--flight", filepath.Join(filepath.Dir(c.program), "flight-"+h.Name)}, append(as, c.workerFlags...)...)}
	if c.hidden != "" { // a host's processes have mounts of their own
		w.command = append([]string{"sh", "-c", `mount -t tmpfs none "$0" && exec "$@"`, c.hidden}, append(w.command, "--shard-cache", filepath.Join(c.hidden, "cache"))...)
	}
	c.workers = append(c.workers, w)
	w.start(c.t)
}

// credentials is the directory of those of a host's worker.
func (c *hostCluster) credentials(h *hosts.Host) string {
	return filepath.Join(filepath.Dir(c.program), "credentials-"+h.Name)
}

func (c *hostCluster) daemons() []*daemon { return append([]*daemon{c.coordinator}, c.workers...) }

// kill ends all processes that still run.
func (c *hostCluster) kill() {
	for _, d := range c.daemons() {
		if d.cmd != nil {
			d.kill()
		}
	}
}

// submit hands the experiment to the coordinator.
func (c *hostCluster) submit(e experiment.Experiment) {
	c.t.Helper()
	plan, err := e.Plan()
	if err != nil {
		c.t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(c.t.Context(), patience)
	defer cancel()
	request := &wire.SubmitRequest{Plan: convert.PlanToWire(plan), Until: wire.Stage_STAGE_TRAIN, Protocol: ergoflow.Protocol, OldestProtocol: ergoflow.OldestProtocol}
	if _, err := c.control.Submit(ctx, request); err != nil {
		c.t.Fatal(err)
	}
}

// status asks the coordinator; ok is false while none answers.
func (c *hostCluster) status() (st coordinator.Status, ok bool) {
	ctx, cancel := context.WithTimeout(c.t.Context(), 500*time.Millisecond)
	defer cancel()
	reply, err := c.control.Status(ctx, &wire.StatusRequest{})
	return st, err == nil && json.Unmarshal(reply.Json, &st) == nil
}

// until polls the status until it is as wanted.
func (c *hostCluster) until(what string, wanted func(coordinator.Status) bool) coordinator.Status {
	c.t.Helper()
	var last coordinator.Status
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); {
		if st, ok := c.status(); ok {
			if wanted(st) {
				return st
			}
			if st.State == "failed" || st.State == "done" {
				c.t.Fatalf("the run is %s before %s: %s\n%s", st.State, what, st.Failure, c.logs())
			}
			last = st
		}
		<-time.After(10 * time.Millisecond) // another process's status is polled
	}
	c.t.Fatalf("waited too long until %s; the last status: %+v\n%s", what, last, c.logs())
	panic("unreachable")
}

// logs are the ends of the daemons' logs.
func (c *hostCluster) logs() string {
	var all strings.Builder
	for _, d := range c.daemons() {
		fmt.Fprintf(&all, "-- %s\n%s\n", d.name, strings.Join(tailLines(d.log, 4000), "\n"))
	}
	return all.String()
}

// end lets all daemons leave in order.
func (c *hostCluster) end() {
	for _, d := range c.daemons() {
		d.signal(syscall.SIGTERM)
	}
	for _, d := range c.daemons() {
		select {
		case <-d.ended:
		case <-time.After(drainGrace + 3*time.Second):
			c.t.Errorf("%s does not leave\n%s", d.name, c.logs())
			d.kill()
		}
	}
}

// run runs a command of the program on the first host.
func (c *hostCluster) run(args ...string) {
	c.t.Helper()
	if said, err := c.hosts[0].Command(c.t.Context(), c.program, args...).CombinedOutput(); err != nil {
		c.t.Fatalf("%s: %v\n%s\n%s", strings.Join(args, " "), err, said, c.logs())
	}
}

// tiny is an experiment of that many steps, which four workers on pure Go train in seconds.
func tiny(t *testing.T, steps int, reproducible bool) experiment.Experiment {
	t.Helper()
	e, err := experiment.Load("vn1d", "smoke", "", []string{"data.shards=8", "data.training.burn_in=50", "data.reference.burn_in=50",
		"training.checkpoint_every=25", fmt.Sprintf("training.steps=%d", steps), fmt.Sprintf("training.reproducible=%t", reproducible)})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// finish waits for the end of the run, as long as it makes steps.
func (c *hostCluster) finish() {
	c.t.Helper()
	for st := (coordinator.Status{}); !done(st); {
		before := st.Step
		st = c.until(fmt.Sprintf("the end, or a step after %d", before), func(now coordinator.Status) bool {
			return now.Step > before || done(now)
		})
	}
}

// undisturbed trains an experiment on one worker, without faults.
func undisturbed(t *testing.T, alone *hosts.Host, e experiment.Experiment) string {
	t.Helper()
	dir := t.TempDir()
	c := startPlain(t, []*hosts.Host{alone}, dir, filepath.Join(dir, "shards"))
	c.submit(e)
	c.finish()
	c.end()
	return dir
}

// limitedHosts are new hosts that send and receive at that rate, in tc's notation.
func limitedHosts(network *hosts.Network, rate string, names ...string) (on []*hosts.Host) {
	for _, name := range names {
		h := network.Host(name)
		h.Limit(rate)
		on = append(on, h)
	}
	return on
}

func done(st coordinator.Status) bool { return st.State == "done" }

// read returns a daemon's whole log.
func (c *hostCluster) read(d *daemon) string {
	b, err := os.ReadFile(d.log)
	if err != nil {
		c.t.Fatal(err)
	}
	return string(b)
}
