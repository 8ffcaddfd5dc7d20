package jobs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	neturl "net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/ergoflow/ergoflow/internal/trust"
)

// ErrPlain: a process with certificates does not speak plain text to a NATS server.
var ErrPlain = errors.New("the URL of a NATS server must begin with tls:// where processes have certificates")

// ErrFiles: a directory has nothing that a NATS server asks for.
var ErrFiles = errors.New("it has neither ca.pem nor user.creds nor user.password nor cert.pem with key.pem")

// Access is how a process proves to a server who it is, and knows the server.
//
// The scheme of the URL says what protects a connection. Without credentials, nats:// is
// plain text. With them it is the embedded server of a coordinator, and both sides show
// certificates of the cluster. tls:// is another NATS server. Its name must fit its
// certificate, which a CA of the system or of the files has signed.
type Access struct {
	Credentials *trust.Credentials // of the cluster; nil: there are no certificates
	// Files is a directory with what another server asks for: ca.pem (CAs of the server),
	// user.creds (a JWT with its seed) or user.password (NAME:PASSWORD, or a token), cert.pem and
	// key.pem. Each may be missing. They are read again at every connection. An empty text: the
	// server needs none.
	Files string
	// Domain is that of the JetStream which keeps the streams, behind a server that may have none
	// or another, such as a leaf node. Empty: the server's own.
	Domain string
}

// Open connects to a server that outlives its callers, and creates missing streams, in files,
// each on as many servers as there are to be replicas. Of 0 replicas a stream keeps those that it
// has, and a new one has 1. With credentials its URL must begin with tls://.
func Open(ctx context.Context, url string, a Access, replicas int) (*Queue, error) {
	if a.Credentials != nil && !isTLS(url) {
		return nil, fmt.Errorf("job queue at %s: %w", Public(url), ErrPlain)
	}
	o := defaults
	o.replicas = replicas
	return open(ctx, url, a, o)
}

// OpenInMemory connects to a server that ends with its caller, and creates missing streams,
// in memory: the caller can publish the jobs again. A server that has once found its disk
// full refuses to write to a file for as long as it runs.
func OpenInMemory(ctx context.Context, url string, a Access) (*Queue, error) {
	o := defaults
	o.storage = jetstream.MemoryStorage
	return open(ctx, url, a, o)
}

// Connect is for workers: it creates no streams. Work waits for a server that is away.
func Connect(url string, a Access) (*Queue, error) { return connectWorker(url, a, defaults) }

func connectWorker(url string, a Access, o options) (*Queue, error) {
	// The first attempt ends soon if the server's host is gone: Work makes the others, and
	// stops with its context.
	return connect(url, a, o, nats.RetryOnFailedConnect(true), nats.Timeout(o.parting))
}

func open(ctx context.Context, url string, a Access, o options) (*Queue, error) {
	q, err := connect(url, a, o)
	if err != nil {
		return nil, err
	}
	if err := q.makeStreams(ctx); err != nil {
		q.Close()
		return nil, fmt.Errorf("job queue at %s: %w", public(url, a.Domain), err)
	}
	return q, nil
}

func connect(url string, a Access, o options, more ...nats.Option) (*Queue, error) {
	conn, err := Dial(url, a, append([]nats.Option{nats.Timeout(o.timeout)}, more...)...)
	if err != nil {
		return nil, err
	}
	q := &Queue{options: o, conn: conn}
	if q.js, err = a.JetStream(conn); err != nil {
		conn.Close()
		return nil, fmt.Errorf("job queue at %s: %w", Public(url), err)
	}
	return q, nil
}

// Dial connects to the server of the jobs, for others who keep something there. The connection
// is made again by itself until it is closed.
func Dial(url string, a Access, more ...nats.Option) (*nats.Conn, error) {
	proof, err := a.options(url)
	if err != nil {
		return nil, fmt.Errorf("job queue at %s: %w", Public(url), err)
	}
	var log connectionLog
	conn, err := nats.Connect(url, append(append([]nats.Option{
		nats.Name("ergoflow"),
		nats.MaxReconnects(-1),
		nats.ReconnectWait(200 * time.Millisecond),
		nats.PingInterval(pingInterval),
		nats.IgnoreAuthErrorAbort(), // it may have new files, or a new certificate, the next time
		nats.ReconnectErrHandler(log.failed),
		nats.ReconnectHandler(log.reconnected),
		nats.ErrorHandler(log.told),
	}, proof...), more...)...)
	if _, malformed := errors.AsType[*neturl.Error](err); malformed { // its text has the whole URL, with the password
		err = errors.New("it is no URL")
	}
	if err != nil {
		return nil, fmt.Errorf("connect to the job queue at %s: %w", Public(url), Judge(conn, err))
	}
	return conn, nil
}

// JetStream is that of the domain, by a connection.
func (a Access) JetStream(conn *nats.Conn) (jetstream.JetStream, error) {
	if a.Domain == "" {
		return jetstream.New(conn)
	}
	return jetstream.NewWithDomain(conn, a.Domain)
}

// pingInterval is between two questions whether the server is there. The third one without an
// answer ends the connection, and the client goes to another server: a host that lost its power
// does not end connections.
const pingInterval = 5 * time.Second

// options are what a connection to a server needs.
func (a Access) options(url string) ([]nats.Option, error) {
	var o []nats.Option
	if a.Credentials != nil {
		o = append(o, nats.CustomInboxPrefix(inbox(a.Credentials.Identity())))
		if isNATS(url) {
			return append(o, nats.Secure(a.Credentials.ClientConfig(trust.AllowRoles(trust.Coordinator))), nats.TLSHandshakeFirst()), nil
		}
		if !isTLS(url) {
			return nil, ErrPlain
		}
	}
	if a.Files == "" {
		return o, nil
	}
	files, err := fileOptions(a.Files)
	return append(o, files...), err
}

// fileOptions reads a directory of files, to say at once what is wrong with them.
func fileOptions(dir string) ([]nats.Option, error) {
	var o []nats.Option
	has := func(name string) bool {
		_, err := os.Stat(filepath.Join(dir, name))
		return !errors.Is(err, fs.ErrNotExist) // another error comes back when the file is read
	}
	if has("ca.pem") {
		o = append(o, nats.RootCAs(filepath.Join(dir, "ca.pem")))
	}
	if has("cert.pem") || has("key.pem") {
		o = append(o, nats.ClientCert(filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")))
	}
	if has("user.creds") {
		o = append(o, nats.UserCredentials(filepath.Join(dir, "user.creds")))
	}
	if file := filepath.Join(dir, "user.password"); has("user.password") {
		name, _, err := readPassword(file)
		switch {
		case err != nil:
			return nil, err
		case name == "":
			o = append(o, nats.TokenHandler(func() string { _, token, _ := readPassword(file); return token }))
		default:
			o = append(o, nats.UserInfoHandler(func() (name, password string) { name, password, _ = readPassword(file); return name, password }))
		}
	}
	if len(o) == 0 {
		return nil, fmt.Errorf("%s: %w", dir, ErrFiles)
	}
	return o, nil
}

// maxPassword is in bytes.
const maxPassword = 4096

// readPassword reads a file of one line, NAME:PASSWORD, or a token, which has no name.
func readPassword(file string) (name, password string, err error) {
	f, err := os.Open(file)
	if err != nil {
		return "", "", err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxPassword+1))
	if err != nil {
		return "", "", err
	}
	line := strings.TrimSpace(string(b))
	if line == "" || len(b) > maxPassword || strings.ContainsAny(line, "\r\n") {
		return "", "", fmt.Errorf("%s: want one line, NAME:PASSWORD or a token, of at most %d bytes", file, maxPassword)
	}
	name, password, ok := strings.Cut(line, ":")
	if !ok {
		return "", line, nil
	}
	return name, password, nil
}

// isTLS reports that all servers of a URL speak TLS with a certificate of their name.
func isTLS(servers string) bool { return allHave(servers, "tls") }

// isNATS reports that all servers of a URL are named as an embedded one is. A server without a
// scheme is as one with nats://.
func isNATS(servers string) bool { return allHave(servers, "nats") }

func allHave(servers, scheme string) bool {
	for server := range strings.SplitSeq(servers, ",") {
		before, _, ok := strings.Cut(strings.TrimSpace(server), "://")
		if !ok {
			before = "nats"
		}
		if before != scheme {
			return false
		}
	}
	return true
}

// connectionLog logs why a connection cannot be made again, each reason once.
type connectionLog struct {
	mu   sync.Mutex
	last string
}

func (l *connectionLog) failed(_ *nats.Conn, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err != nil && err.Error() != l.last {
		l.last = err.Error()
		slog.Warn("job queue: no connection; trying again", "error", err)
	}
}

func (l *connectionLog) reconnected(*nats.Conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last = ""
}

// told logs what the server says of its own accord, such as that a subject is forbidden.
func (*connectionLog) told(_ *nats.Conn, _ *nats.Subscription, err error) {
	if errors.Is(err, nats.ErrAuthExpired) {
		slog.Debug("job queue: connecting again, since the certificate of the connection has expired")
		return
	}
	slog.Warn("job queue: the server complains", "error", err)
}

// public is Public with the domain of JetStream, where it has a name.
func public(servers, domain string) string {
	if domain == "" {
		return Public(servers)
	}
	return Public(servers) + " in the domain " + domain
}

// Public is a server's URL, or several with commas between, without name, password and
// token.
func Public(servers string) string {
	list := strings.Split(servers, ",")
	for i, server := range list {
		if scheme, rest, ok := strings.Cut(server, "://"); ok {
			list[i] = scheme + "://" + rest[strings.LastIndex(rest, "@")+1:]
		} else {
			list[i] = server[strings.LastIndex(server, "@")+1:]
		}
	}
	return strings.Join(list, ",")
}
