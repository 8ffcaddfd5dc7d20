// Package natstest runs NATS servers as processes, which tests kill.
package natstest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/ergoflow/ergoflow/internal/addresstest"
)

// Variable names the configuration file of a server. A test's program that has it is the server.
const Variable = "ERGOFLOW_NATSTEST"

func init() {
	file := os.Getenv(Variable)
	if file == "" {
		return
	}
	if err := serve(file); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

func serve(file string) error {
	o, err := server.ProcessConfigFile(file)
	if err != nil {
		return err
	}
	s, err := server.NewServer(o)
	if err != nil {
		return err
	}
	s.ConfigureLogger()
	s.Start()
	s.WaitForShutdown()
	return nil
}

// A Server is a process on loopback.
type Server struct {
	Name   string
	URL    string
	Route  string // address at which other servers of the cluster connect
	t      testing.TB
	file   string // its configuration
	health string // URL
	cmd    *exec.Cmd
}

// A Cluster is servers with JetStream.
type Cluster []*Server

// Start starts servers that form a cluster, or one that is alone. Their configuration ends with
// more.
func Start(t testing.TB, servers int, more string) Cluster {
	t.Helper()
	return start(t, servers, more, nil)
}

// StartSecured starts servers as Start does. They and their clients show certificates of an
// authority to each other.
func StartSecured(t testing.TB, servers int, more string, a Authority) Cluster {
	t.Helper()
	return start(t, servers, more, &a)
}

func start(t testing.TB, servers int, more string, a *Authority) Cluster {
	t.Helper()
	var c Cluster
	var routes []string
	scheme := "nats://"
	if a != nil {
		scheme = "tls://"
	}
	for i := range servers {
		dir := t.TempDir() // removed after the cleanup below
		client, monitor, route := addresstest.Free(t), addresstest.Free(t), addresstest.Free(t)
		c = append(c, &Server{Name: fmt.Sprint("s", i), URL: scheme + client, Route: route, t: t, file: filepath.Join(dir, "nats.conf"), health: "http://" + monitor})
		routes = append(routes, "nats://"+route)
	}
	for _, s := range c {
		dir, tls := filepath.Dir(s.file), ""
		if a != nil {
			a.Write(t, dir)
			tls = mutual(dir)
		}
		text := Config(s.Name, dir, strings.TrimPrefix(s.URL, scheme), strings.TrimPrefix(s.health, "http://"), s.Route, routes, tls) + more
		if err := os.WriteFile(s.file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		s.Start()
	}
	t.Cleanup(func() {
		for _, s := range c {
			s.Kill()
		}
	})
	c.Await()
	return c
}

// Config is the configuration of a server of a cluster, as far as all have one. Its clients and the
// other servers reach it by tls, a block of the configuration, or in plain text where that is empty.
func Config(name, dir, listen, monitor, cluster string, routes []string, tls string) string {
	text := fmt.Sprintf("server_name: %s\nlisten: %q\nhttp: %q\nlog_file: %q\nlame_duck_duration: 30s\nlame_duck_grace_period: 1s\n%s\n",
		name, listen, monitor, filepath.Join(dir, "nats.log"), tls)
	if len(routes) > 1 {
		text += fmt.Sprintf("cluster { name: three, listen: %q, routes: [%s], %s }\n", cluster, strings.Join(routes, ", "), tls)
	}
	return text + fmt.Sprintf("jetstream { store_dir: %q, sync_interval: always }\n", filepath.Join(dir, "data"))
}

// Start starts the process of a server that has ended.
func (s *Server) Start() {
	s.t.Helper()
	s.cmd = exec.Command(os.Args[0])
	s.cmd.Env = append(os.Environ(), Variable+"="+s.file)
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	s.cmd.Stderr = os.Stderr
	if err := s.cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
}

// Restart starts the process if it has ended.
func (s *Server) Restart() {
	s.t.Helper()
	if s.cmd.ProcessState != nil {
		s.Start()
	}
}

// Kill ends the process at once.
func (s *Server) Kill() {
	_ = s.cmd.Process.Kill()
	_ = s.cmd.Wait()
}

// Leave has the process leave in order: it sends its clients to others, hands over what it leads,
// and ends.
func (s *Server) Leave() {
	_ = s.cmd.Process.Signal(syscall.SIGUSR2) // of nats-server: lame duck mode
	_ = s.cmd.Wait()
}

// URL has the addresses of all servers.
func (c Cluster) URL() string {
	var all []string
	for _, s := range c {
		all = append(all, s.URL)
	}
	return strings.Join(all, ",")
}

// patience is how long servers may take to find each other and a leader on a busy machine.
const patience = time.Minute

// Await waits until every server is healthy: it has a leader, and what it lacked.
func (c Cluster) Await() {
	for _, s := range c {
		s.t.Helper()
		s.await("/healthz", func(*http.Response) bool { return true })
	}
}

// MetaLeader is the server that decides where streams are.
func (c Cluster) MetaLeader() (leader *Server) {
	c[0].t.Helper()
	c[0].await("/jsz", func(r *http.Response) bool {
		var said struct {
			Meta struct {
				Leader string `json:"leader"`
			} `json:"meta_cluster"`
		}
		if json.NewDecoder(r.Body).Decode(&said) != nil {
			return false
		}
		leader = c.Named(said.Meta.Leader)
		return leader != nil
	})
	return leader
}

// Named is the server with a name, or nil.
func (c Cluster) Named(name string) *Server {
	for _, s := range c {
		if s.Name == name {
			return s
		}
	}
	return nil
}

// await asks a server until it answers well: another process does not say when it is ready.
func (s *Server) await(path string, good func(*http.Response) bool) {
	s.t.Helper()
	client := http.Client{Timeout: time.Second}
	said := "nothing"
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); <-time.After(20 * time.Millisecond) {
		r, err := client.Get(s.health + path)
		if err != nil {
			continue
		}
		ok := r.StatusCode == http.StatusOK && good(r)
		said = r.Status
		r.Body.Close()
		if ok {
			return
		}
	}
	log, _ := os.ReadFile(filepath.Join(filepath.Dir(s.file), "nats.log"))
	s.t.Fatalf("%s: %s: it says %s\n%s", s.Name, path, said, log)
}

// Logs are the servers' logs.
func (c Cluster) Logs() string {
	var all strings.Builder
	for _, s := range c {
		log, _ := os.ReadFile(filepath.Join(filepath.Dir(s.file), "nats.log"))
		fmt.Fprintf(&all, "-- %s\n%s", s.Name, log)
	}
	return all.String()
}
