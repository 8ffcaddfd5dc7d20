package store_test

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/ergoflow/ergoflow/data/jobs"
	"github.com/ergoflow/ergoflow/data/store"
	"github.com/ergoflow/ergoflow/data/store/storetest"
	"github.com/ergoflow/ergoflow/internal/natstest"
	"github.com/ergoflow/ergoflow/internal/trust"
	"github.com/ergoflow/ergoflow/internal/trust/trusttest"
)

// A secured cluster of ergoflow has its jobs and objects at three NATS servers. These speak TLS with
// each other and with clients, both sides show certificates of the servers' CA, and users are those
// of the documented accounts. Each server is killed in turn while workers work, and started again.
// Processes are told the address of one server: the others they hear from that.
func TestNATSClusterTLS(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: three servers elect leaders again and again, which takes half a minute")
	}
	t.Parallel()
	text, coordinatorFiles, workerFiles := accounts(t)
	servers, cluster := natstest.NewAuthority(t), trusttest.Authority(t, "lab")
	servers.Write(t, coordinatorFiles)
	servers.Write(t, workerFiles)
	coordinator := jobs.Access{Files: coordinatorFiles, Credentials: trusttest.Credentials(t, cluster, trust.Coordinator, "main")}
	worker := jobs.Access{Files: workerFiles, Credentials: trusttest.Credentials(t, cluster, trust.Worker, "gpu-1")}

	c := natstest.StartSecured(t, 3, text, servers)
	stranger := t.TempDir()
	natstest.NewAuthority(t).Write(t, stranger)
	for _, s := range c {
		if err := joins(t, s, servers, coordinatorFiles); err != nil {
			t.Errorf("%s does not take another server: %v", s.Name, err)
		}
		if err := joins(t, s, servers, stranger); err == nil || !strings.Contains(err.Error(), "tls: ") {
			t.Errorf("%s takes a server with a stranger's certificate: %v", s.Name, err)
		}
	}
	queue := opened(t, c, coordinator, 3)
	defer queue.Close()
	refusesStrangers(t, c, coordinator)
	one := c[0].URL
	at := "nats://shards?replicas=3&server=" + url.QueryEscape(one)
	own := storetest.Open(t, at, store.Options{Access: coordinator, Create: true})
	conn, err := jobs.Dial(one, coordinator)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	js, err := jetstream.New(conn)
	if err != nil {
		t.Fatal(err)
	}
	for _, stream := range []string{"ERGOFLOW_JOBS", "ERGOFLOW_RESULTS", "ERGOFLOW_STORE_shards"} {
		if info, err := js.Stream(t.Context(), stream); err != nil || info.CachedInfo().Config.Replicas != 3 {
			t.Errorf("%s: %+v, %v", stream, info, err)
		}
	}
	for i, s := range c {
		t.Run(s.Name, func(t *testing.T) { // one after the other, on one cluster
			underDisturbance(t, queue, own, at, fmt.Sprint("run", i), one, worker, s.Kill)
			s.Restart()
			c.Await()
		})
	}
	for i := range c { // also after everything that came later
		verify(t, own, fmt.Sprint("run", i))
	}
}

// refusesStrangers tries to open the queue without what the servers ask for.
func refusesStrangers(t *testing.T, c natstest.Cluster, coordinator jobs.Access) {
	t.Helper()
	text := func(a jobs.Access, at string) string {
		q, err := jobs.Open(t.Context(), at, a, 3)
		if err == nil {
			q.Close()
			return ""
		}
		return err.Error()
	}
	_, password, _ := accounts(t) // and neither a CA nor a certificate
	_, foreign, _ := accounts(t)
	natstest.NewAuthority(t).Write(t, foreign)
	for name, try := range map[string]struct {
		files, at, want string
	}{
		"a password alone":    {password, c.URL(), "unknown authority"},
		"another CA":          {foreign, c.URL(), "unknown authority"},
		"plain text in a URL": {coordinator.Files, "nats://" + strings.TrimPrefix(c[0].URL, "tls://"), jobs.ErrPlain.Error()},
	} {
		a := coordinator
		a.Files = try.files
		if said := text(a, try.at); !strings.Contains(said, try.want) {
			t.Errorf("%s: %q", name, said)
		}
	}
}

// joins tries to begin a connection as another server of the cluster does, by the certificate in a
// directory.
func joins(t *testing.T, s *natstest.Server, servers natstest.Authority, dir string) error {
	t.Helper()
	cert, err := tls.LoadX509KeyPair(filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem"))
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(servers.Certificate)
	dialer := tls.Dialer{NetDialer: &net.Dialer{Timeout: 20 * time.Second}, Config: &tls.Config{Certificates: []tls.Certificate{cert}, RootCAs: pool}}
	conn, err := dialer.DialContext(t.Context(), "tcp", s.Route)
	if err != nil {
		return err
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
		return err
	}
	line, err := bufio.NewReader(conn).ReadString('\n')
	if err == nil && !strings.HasPrefix(line, "INFO ") {
		err = fmt.Errorf("it says %q", line)
	}
	return err
}
