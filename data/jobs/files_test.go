package jobs

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nkeys"

	"github.com/ergoflow/ergoflow/internal/natstest"
	"github.com/ergoflow/ergoflow/internal/trust"
)

// must panics: what it is for fails only where the test is wrong.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// users are what a server of the other kind knows its users by: JWTs of one account.
type users struct{ operator, account nkeys.KeyPair }

func newUsers() users { return users{must(nkeys.CreateOperator()), must(nkeys.CreateAccount())} }

// creds is the file of a new user, and the user's public key.
func (u users) creds() (file []byte, user string) {
	key := must(nkeys.CreateUser())
	user = must(key.PublicKey())
	token := must(jwt.NewUserClaims(user).Encode(u.account))
	return must(jwt.FormatUserConfig(token, must(key.Seed()))), user
}

// other runs a NATS server that is not ergoflow's: with a host's certificate, which asks for a
// client's certificate and for a user's JWT.
func other(t *testing.T, authority natstest.Authority, u users) *server.Server {
	t.Helper()
	der, key := authority.Issue(t)
	cas := x509.NewCertPool()
	cas.AddCert(authority.Certificate)
	claims := jwt.NewAccountClaims(must(u.account.PublicKey()))
	claims.Limits.JetStreamLimits = jwt.JetStreamLimits{MemoryStorage: jwt.NoLimit, DiskStorage: jwt.NoLimit, Streams: jwt.NoLimit, Consumer: jwt.NoLimit}
	system := must(must(nkeys.CreateAccount()).PublicKey())
	resolver := &server.MemAccResolver{}
	for account, claims := range map[string]*jwt.AccountClaims{system: jwt.NewAccountClaims(system), claims.Subject: claims} {
		if err := resolver.Store(account, must(claims.Encode(u.operator))); err != nil {
			t.Fatal(err)
		}
	}
	return started(t, &server.Options{
		Host: "127.0.0.1", Port: server.RANDOM_PORT, NoSigs: true, NoLog: true, JetStream: true, StoreDir: t.TempDir(),
		TLSConfig: &tls.Config{
			Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}},
			ClientAuth:   tls.RequireAndVerifyClientCert, ClientCAs: cas, MinVersion: tls.VersionTLS13,
		},
		TLSTimeout:      10,
		TrustedKeys:     []string{must(u.operator.PublicKey())},
		AccountResolver: resolver,
		SystemAccount:   system,
	})
}

// started runs a NATS server that is not ergoflow's.
func started(t *testing.T, o *server.Options) *server.Server {
	t.Helper()
	s, err := server.NewServer(o)
	if err != nil {
		t.Fatal(err)
	}
	go s.Start()
	t.Cleanup(func() { s.Shutdown(); s.WaitForShutdown() })
	if !s.ReadyForConnections(20 * time.Second) {
		t.Fatal("the server does not start")
	}
	return s
}

func write(t *testing.T, dir, name string, content []byte) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
		t.Fatal(err)
	}
}

// files writes all that a server of the other kind asks for.
func files(t *testing.T, authority natstest.Authority, u users) (dir, user string) {
	t.Helper()
	dir = t.TempDir()
	authority.Write(t, dir)
	creds, user := u.creds()
	write(t, dir, "user.creds", creds)
	return dir, user
}

// The files of a directory open a server that is not ergoflow's, for coordinators and workers,
// with certificates of a cluster and without.
func TestOtherServer(t *testing.T) {
	both(t, func(t *testing.T, l *lab) {
		authority, u := natstest.NewAuthority(t), newUsers()
		s := other(t, authority, u)
		dir, first := files(t, authority, u)
		q, err := Open(t.Context(), s.ClientURL(), Access{Credentials: l.of(t, trust.Coordinator, "main"), Files: dir}, 0)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(q.Close)
		results := subscribe(t, q)
		publish(t, q, makeJobs(1))
		w, err := Connect(s.ClientURL(), Access{Credentials: l.of(t, trust.Worker, "w1"), Files: dir})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(w.Close)
		work(t, w, "w1", func(context.Context, Job) error { return nil })
		if r := next(t, results); r.Error != "" {
			t.Errorf("result %+v", r)
		}

		// A new file counts from the next connection on.
		creds, second := u.creds()
		write(t, dir, "user.creds", creds)
		is := func(user string) bool {
			c, err := s.Connz(&server.ConnzOptions{Username: true, User: user})
			return err == nil && len(c.Conns) > 0
		}
		if !is(first) || is(second) {
			t.Errorf("the first user: %v, the second: %v", is(first), is(second))
		}
		if err := w.conn.ForceReconnect(); err != nil {
			t.Fatal(err)
		}
		await(t, "the worker is the second user", func() bool { return is(second) })
	})
}

func TestOtherServerRefuses(t *testing.T) {
	authority, u := natstest.NewAuthority(t), newUsers()
	s := other(t, authority, u)
	for name, c := range map[string]struct {
		change func(dir string) error
		want   string
	}{
		"no CA":   {func(dir string) error { return os.Remove(filepath.Join(dir, "ca.pem")) }, "unknown authority"},
		"no user": {func(dir string) error { return os.Remove(filepath.Join(dir, "user.creds")) }, "Authorization"},
		"no certificate": {func(dir string) error {
			return errors.Join(os.Remove(filepath.Join(dir, "cert.pem")), os.Remove(filepath.Join(dir, "key.pem")))
		}, "tls"},
		"no key":           {func(dir string) error { return os.Remove(filepath.Join(dir, "key.pem")) }, "key.pem"},
		"no certificate 2": {func(dir string) error { return os.Remove(filepath.Join(dir, "cert.pem")) }, "cert.pem"},
		"bad CA":           {func(dir string) error { return os.WriteFile(filepath.Join(dir, "ca.pem"), nil, 0o600) }, "ca.pem"},
		"empty":            {func(dir string) error { return errors.Join(os.RemoveAll(dir), os.Mkdir(dir, 0o700)) }, "neither ca.pem"},
		"no directory":     {os.RemoveAll, "neither ca.pem"},
		"foreign CA": {func(dir string) error {
			foreign, _ := files(t, natstest.NewAuthority(t), u)
			return os.Rename(filepath.Join(foreign, "ca.pem"), filepath.Join(dir, "ca.pem"))
		}, "unknown authority"},
	} {
		t.Run(name, func(t *testing.T) {
			dir, _ := files(t, authority, u)
			if err := c.change(dir); err != nil {
				t.Fatal(err)
			}
			q, err := Open(t.Context(), s.ClientURL(), Access{Files: dir}, 0)
			if err == nil {
				q.Close()
				t.Fatal("no error")
			}
			if !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %q does not say %q", err, c.want)
			}
		})
	}
}

// A process with certificates speaks plain text to nobody.
func TestNoPlainText(t *testing.T) {
	l := certified(t)
	main := Access{Credentials: l.of(t, trust.Coordinator, "main")}
	for _, url := range []string{"nats://127.0.0.1:1", "127.0.0.1:1", "ws://127.0.0.1:1", "tls://127.0.0.1:1,nats://127.0.0.1:1", "wss://127.0.0.1:1", ""} {
		if q, err := Open(t.Context(), url, main, 0); !errors.Is(err, ErrPlain) {
			t.Errorf("%s: %v", url, err)
			if err == nil {
				q.Close()
			}
		}
	}
	for _, url := range []string{"ws://127.0.0.1:1", "tls://127.0.0.1:1,nats://127.0.0.1:1"} {
		if q, err := Connect(url, Access{Credentials: l.of(t, trust.Worker, "w1")}); !errors.Is(err, ErrPlain) {
			t.Errorf("%s: %v", url, err)
			if err == nil {
				q.Close()
			}
		}
	}
}

// A file has a user's password, or a token, and counts anew at each connection.
func TestPasswordFile(t *testing.T) {
	for text, authorization := range map[string]string{
		"ada:hush:2\n": `user: ada, password: "hush:2"`,
		"hush":         `token: hush`,
	} {
		c := natstest.Start(t, 1, "authorization { "+authorization+" }\n")
		dir := t.TempDir()
		write(t, dir, "user.password", []byte(text))
		q, err := Open(t.Context(), c.URL(), Access{Files: dir}, 0)
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		q.Close()
		write(t, dir, "user.password", []byte(strings.Replace(text, "hush", "wrong", 1)))
		if _, err := Open(t.Context(), c.URL(), Access{Files: dir}, 0); !errors.Is(err, ErrDenied) {
			t.Errorf("a wrong one: %v", err)
		}
	}
	for _, text := range []string{"", "\n", "a:b\nc:d\n", strings.Repeat("x", 5000)} {
		dir := t.TempDir()
		write(t, dir, "user.password", []byte(text))
		if _, err := Open(t.Context(), "nats://127.0.0.1:1", Access{Files: dir}, 0); err == nil || !strings.Contains(err.Error(), "want one line") {
			t.Errorf("%.20q: %v", text, err)
		}
	}
}
