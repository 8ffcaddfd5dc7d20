package jobs

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"github.com/ergoflow/ergoflow/internal/trust"
)

// handshakeTimeout is in seconds. A busy machine may need some for a handshake.
const handshakeTimeout = 10

// plainPatience is how long a server that accepts plain text, too, waits for a handshake of TLS.
// A client in plain text waits for the server to begin, so all of them wait as long.
const plainPatience = 500 * time.Millisecond

// guard says who may do what on an embedded server.
//
// Permissions alone do not bind a client. The server answers on any subject that a request
// names for its answer, and does so with all rights of the client's account: a worker that
// asks for a job, to be sent to $JS.API.STREAM.DELETE.ERGOFLOW_JOBS, would have the server
// delete the stream. So workers have an account of their own. JetStream is in the
// coordinators' account, and out of the workers' account only the subjects in workerSubjects
// lead there. Answers stay in the account that asked.
//
// Workers in plain text, while a cluster changes from that, have a third account with the same
// subjects: they do not hear what the server answers to workers with certificates.
type guard struct {
	config *tls.Config
	nats   *server.Server
	plain  bool // whether clients in plain text count as workers
	// subjects are workerSubjects, and those of objects that the server keeps.
	subjects []string

	mu      sync.Mutex
	workers *server.Account                // nil: not made yet
	open    *server.Account                // of workers in plain text; nil: likewise
	shown   map[uint64][]*x509.Certificate // certificates of connections, by the server's number
}

// workerSubjects are those on which a worker may publish. Of JetStream it may only look at the
// consumers of jobs, ask them for jobs, and acknowledge these. It may not make consumers, since
// a consumer sends to any subject that its maker likes.
var workerSubjects = []string{
	"$JS.API.CONSUMER.INFO." + jobsStream + ".*",
	"$JS.API.CONSUMER.MSG.NEXT." + jobsStream + ".*",
	"$JS.ACK." + jobsStream + ".>",
	subject("done", "*", "*"), subject("failed", "*", "*"), subject("dead", "*", "*"), subject("returned", "*", "*"),
}

func newGuard(credentials *trust.Credentials, plain bool, objects []string) *guard {
	return &guard{
		plain:    plain,
		subjects: slices.Concat(workerSubjects, objects),
		config:   credentials.ServerConfig(trust.AllowRoles(trust.Coordinator, trust.Worker)),
		shown:    make(map[uint64][]*x509.Certificate),
	}
}

// protect sets a server's options. TLS comes first, so nobody without a certificate learns
// anything of the server.
func (g *guard) protect(o *server.Options) {
	o.TLSConfig = g.config
	o.TLSHandshakeFirst = true
	o.TLSTimeout = handshakeTimeout
	o.AuthTimeout = handshakeTimeout
	o.CustomClientAuthentication = g
	if g.plain {
		o.AllowNonTLS = true
		o.TLSHandshakeFirstFallback = plainPatience
	}
}

// start makes the workers' accounts, once the server has JetStream.
func (g *guard) start() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	workers, err := g.nats.RegisterAccount("workers")
	if err != nil {
		return err
	}
	accounts := []*server.Account{workers}
	var open *server.Account
	if g.plain {
		if open, err = g.nats.RegisterAccount("plaintext"); err != nil {
			return err
		}
		accounts = append(accounts, open)
	}
	main := g.nats.GlobalAccount()
	for _, subject := range g.subjects {
		if err := main.AddServiceExport(subject, accounts); err != nil {
			return fmt.Errorf("export %s: %w", subject, err)
		}
		for _, account := range accounts {
			if err := account.AddServiceImport(main, subject, subject); err != nil {
				return fmt.Errorf("import %s: %w", subject, err)
			}
		}
	}
	g.workers, g.open = workers, open
	return nil
}

// Check lets a client in whose handshake is over. It looks at the certificate again: it may
// have been revoked since the handshake, and recheck does not know the connection yet.
func (g *guard) Check(c server.ClientAuthentication) bool {
	state := c.GetTLSConnectionState()
	g.mu.Lock()
	defer g.mu.Unlock()
	if state == nil {
		if g.open == nil { // nobody in plain text is let in, or nobody yet
			return false
		}
		c.RegisterUser(&server.User{
			Username:    string(trust.Plaintext),
			Account:     g.open,
			Permissions: g.permissions(nats.InboxPrefix),
		})
		return true
	}
	if err := g.config.VerifyConnection(*state); err != nil {
		slog.Warn("job queue: refused a connection", "address", c.RemoteAddress(), "error", err)
		return false
	}
	certificate := state.PeerCertificates[0]
	id, err := trust.IdentityOf(certificate)
	if err != nil {
		return false
	}
	user := &server.User{
		Username:           id.String(),
		Account:            g.nats.GlobalAccount(),
		ConnectionDeadline: certificate.NotAfter, // the client connects again with its new one
	}
	if id.Role != trust.Coordinator {
		if g.workers == nil {
			return false // it tries again
		}
		user.Account = g.workers
		user.Permissions = g.permissions(inbox(id) + ".")
	}
	c.RegisterUser(user)
	if len(g.shown) > 2*g.nats.NumClients() {
		g.forget()
	}
	g.shown[c.GetID()] = state.PeerCertificates
	return true
}

// permissions are those of a worker that hears answers on subjects with a prefix.
func (g *guard) permissions(inbox string) *server.Permissions {
	return &server.Permissions{
		Publish:   &server.SubjectPermission{Allow: g.subjects},
		Subscribe: &server.SubjectPermission{Allow: []string{inbox + ">"}},
	}
}

// recheck ends connections whose certificates no longer count, and forgets those that ended.
func (g *guard) recheck() (ended int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.forget()
	for client, shown := range g.shown {
		if err := g.config.VerifyConnection(tls.ConnectionState{PeerCertificates: shown}); err != nil {
			slog.Info("job queue: ended a connection", "error", err)
			_ = g.nats.DisconnectClientByID(client) // an error: it has just ended
			ended++
		}
	}
	return ended
}

// forget drops the certificates of connections that have ended; mu is held.
func (g *guard) forget() {
	maps.DeleteFunc(g.shown, func(client uint64, _ []*x509.Certificate) bool { return g.nats.GetClient(client) == nil })
}

// inbox is the prefix of the subjects on which a client receives answers. Only a name may
// have dots, which would separate tokens: the inboxes of a.b would be among those of a.
func inbox(id trust.Identity) string {
	return "_INBOX." + string(id.Role) + "." + strings.ReplaceAll(id.Name, ".", "=")
}
