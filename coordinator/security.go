package coordinator

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"path/filepath"
	"sync"
	"time"

	"github.com/ergoflow/ergoflow/data/jobs"
	"github.com/ergoflow/ergoflow/internal/hostport"
	"github.com/ergoflow/ergoflow/internal/trust"
	"github.com/ergoflow/ergoflow/internal/upkeep"
)

// Directories below that of the coordinator.
const (
	authorityDir   = "ca"          // the authority of the cluster
	credentialsDir = "credentials" // those of the coordinator
	operatorDir    = "operator"    // of commands on the coordinator's machine
)

// Names in certificates that a coordinator makes at its first start.
const (
	clusterName     = "ergoflow"
	coordinatorName = "coordinator"
	operatorName    = "local"
)

// The token of the first start is for the machines that a new cluster begins with.
const (
	firstTokenLife = 24 * time.Hour
	firstTokenUses = 100
)

// OperatorDir is where a secured coordinator leaves credentials for the commands on its
// machine.
func OperatorDir(dir string) string { return filepath.Join(dir, operatorDir) }

// security is what a coordinator shows and signs. Nil stands for plain text.
type security struct {
	authority *trust.Authority // nil: somebody else signs
	revoked   *trust.RevocationList
	own       *trust.Credentials
	dir       string
	life      time.Duration // of certificates; 0: the authority's default
	keys      *gossipKeys
	plain     bool // whether workers without a certificate are accepted, too

	mu     sync.Mutex // of tokens, from reading to storing
	ledger *ledger
}

var (
	// ErrElsewhere: the coordinator has credentials, and not the authority that signed them.
	ErrElsewhere = errors.New("this coordinator signs no certificates: its authority is elsewhere")
	// ErrNotCoordinator: the credentials in the coordinator's directory are somebody else's.
	ErrNotCoordinator = errors.New("the credentials are not those of a coordinator")
	// ErrOneAuthority: several coordinators would each make an authority, and trust nobody else's.
	ErrOneAuthority = errors.New("several coordinators need one authority")
	// ErrNoRevocations: credentials of an authority elsewhere come without its list.
	ErrNoRevocations = errors.New("nothing says which certificates are revoked")
)

// openSecurity reads what secures the cluster: an authority in the directory, or credentials
// of one elsewhere. It makes an authority at the first start that needs one: where an address
// is beyond loopback and Insecure is not set, or AcceptPlaintext is.
func openSecurity(ctx context.Context, c Config, l *ledger) (*security, error) {
	if c.Insecure {
		return nil, nil
	}
	s := &security{dir: c.Dir, life: c.CertificateLife, ledger: l, plain: c.AcceptPlaintext != ""}
	path := filepath.Join(c.Dir, authorityDir)
	var err error
	s.authority, err = trust.OpenAuthority(ctx, path)
	if errors.Is(err, trust.ErrNoAuthority) {
		signed := filepath.Join(c.Dir, credentialsDir)
		s.own, err = trust.OpenCredentials(signed)
		switch {
		case err == nil:
			return s, s.openSigned(signed)
		case !errors.Is(err, fs.ErrNotExist):
			return nil, fmt.Errorf("the coordinator's credentials: %w", err)
		case c.isLocal() && !s.plain:
			return nil, nil
		case len(c.Peers) > 0:
			return nil, fmt.Errorf("%w: %s and %s are missing", ErrOneAuthority, path, signed)
		}
		s.authority, err = trust.CreateAuthority(ctx, path, clusterName, time.Now())
	}
	if err != nil {
		return nil, fmt.Errorf("the cluster's authority: %w", err)
	}
	return s, s.open(ctx, path)
}

// openSigned opens what secures a cluster whose authority is elsewhere.
func (s *security) openSigned(dir string) error {
	if id := s.own.Identity(); id.Role != trust.Coordinator {
		return fmt.Errorf("%w: %s has those of %v", ErrNotCoordinator, dir, id)
	}
	if err := s.judge(dir); err != nil {
		return fmt.Errorf("%w: %w", ErrNoRevocations, err)
	}
	return s.openKeys()
}

// open opens what secures the cluster of the authority in a directory, and makes what is
// missing.
func (s *security) open(ctx context.Context, dir string) (err error) {
	if s.own, err = s.hold(ctx, credentialsDir, trust.Coordinator, coordinatorName); err != nil {
		return err
	}
	if err := s.judge(dir); err != nil {
		return err
	}
	if err := s.openKeys(); err != nil {
		return err
	}
	_, err = s.hold(ctx, operatorDir, trust.Operator, operatorName)
	return err
}

// firstToken makes a token for workers if the cluster has had none, and otherwise returns nothing.
func (s *security) firstToken() (text string, err error) {
	if s == nil || s.authority == nil {
		return "", nil
	}
	var tokens []trust.Joining
	if err := s.ledger.load(keyTokens, &tokens); err != nil || len(tokens) > 0 {
		return "", err
	}
	return s.createToken(trust.Worker, firstTokenLife, firstTokenUses)
}

// judge has connections refuse what the list in a directory revokes.
func (s *security) judge(dir string) error {
	s.revoked = trust.RevocationsIn(dir)
	s.own.SetRevoked(s.revoked.Check)
	_, err := s.revoked.Read()
	return err
}

func (s *security) openKeys() (err error) {
	if s.keys, err = openGossipKeys(s.dir); err != nil {
		return fmt.Errorf("keys of the gossip: %w", err)
	}
	return nil
}

// hold opens the credentials in a directory below the coordinator's. Where there are none, they
// are due, or the authority trusts other CAs by now, it makes new ones.
func (s *security) hold(ctx context.Context, dir string, role trust.Role, name string) (*trust.Credentials, error) {
	bundle, err := s.authority.Bundle(ctx)
	if err != nil {
		return nil, err
	}
	dir = filepath.Join(s.dir, dir)
	c, err := trust.OpenCredentials(dir)
	if err == nil && !c.Due(time.Now()) && c.Trusts(bundle) {
		return c, nil
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("credentials of %s/%s: %w", role, name, err)
	}
	pair, err := s.authority.Issue(ctx, trust.Request{Role: role, Name: name, Life: s.life}, time.Now())
	if err != nil {
		return nil, fmt.Errorf("credentials of %s/%s: %w", role, name, err)
	}
	if err := trust.SaveCredentials(dir, pair, bundle); err != nil {
		return nil, err
	}
	return trust.OpenCredentials(dir)
}

// upkeepInterval is between two looks at certificates and keys.
const upkeepInterval = time.Second

// renewDue renews the credentials of the coordinator, and of its machine's commands, if they
// are due. Those of an authority elsewhere it only reads again.
func (s *security) renewDue(ctx context.Context) error {
	if s.authority == nil {
		_, err := s.own.Reload()
		if err == nil && s.own.Due(time.Now()) {
			err = fmt.Errorf("the coordinator's certificate ends at %v: %w", s.own.Certificate().NotAfter, ErrElsewhere)
		}
		return err
	}
	_, other := s.hold(ctx, operatorDir, trust.Operator, operatorName)
	_, err := s.hold(ctx, credentialsDir, trust.Coordinator, coordinatorName)
	if err == nil {
		_, err = s.own.Reload()
	}
	return errors.Join(err, other)
}

// renewed gives the sessions of an identity its new certificate.
func (l *loop) renewed(id trust.Identity, cert *x509.Certificate) {
	for _, s := range l.sessions {
		if s.cert == nil {
			continue
		}
		if had, err := trust.IdentityOf(s.cert); err == nil && had == id {
			s.cert = cert
		}
	}
}

// keepCredentials renews what is due until ctx ends.
func (s *security) keepCredentials(ctx context.Context, log *slog.Logger) {
	upkeep.Every(ctx, upkeepInterval, s.renewDue, upkeep.Log(log, "renewal of certificates"))
}

// keepSecure ends what no longer counts, and goes on with a rotation of the gossip's key, until
// ctx ends.
func (l *loop) keepSecure(ctx context.Context, nats *jobs.Server) {
	var group sync.WaitGroup
	for what, do := range map[string]func(context.Context) error{
		"ends of what is revoked":  func(context.Context) error { return l.endUntrusted(nats) },
		"rotation of gossip's key": func(context.Context) error { return l.advanceGossip() },
	} {
		group.Go(func() { upkeep.Every(ctx, upkeepInterval, do, upkeep.Log(l.log, what)) })
	}
	group.Wait()
}

// endUntrusted ends sessions, and connections to the job queue, whose certificates are revoked,
// or have expired without having been renewed.
func (l *loop) endUntrusted(nats *jobs.Server) error {
	if nats != nil {
		nats.Recheck()
	}
	revoked, err := l.security.revoked.Read()
	if err != nil {
		return err
	}
	l.do(func() {
		for _, s := range l.sessions {
			if s.cert == nil {
				continue
			}
			if err := revoked.Check(s.cert); err != nil {
				s.close(err.Error())
			} else if time.Now().After(s.cert.NotAfter) {
				s.close("its certificate has expired")
			}
		}
	})
	return nil
}

// acceptsPlaintext reports whether workers without a certificate are accepted beside others.
func (s *security) acceptsPlaintext() bool { return s != nil && s.plain }

// credentials are the coordinator's; nil in plain text.
func (s *security) credentials() *trust.Credentials {
	if s == nil {
		return nil
	}
	return s.own
}

// createToken makes a token; when it returns the record is durable.
func (s *security) createToken(role trust.Role, life time.Duration, uses int) (text string, err error) {
	if s.authority == nil {
		return "", ErrElsewhere
	}
	err = s.changeTokens(func(records []trust.Joining) ([]trust.Joining, error) {
		after, token, err := trust.MakeToken(records, s.own.Pin(), role, life, uses, time.Now())
		if err == nil {
			text = token.Text()
		}
		return after, err
	})
	return text, err
}

// changeTokens replaces the records of tokens by what change makes of them. Nothing changes
// where that fails.
func (s *security) changeTokens(change func([]trust.Joining) ([]trust.Joining, error)) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var records []trust.Joining
	if err := s.ledger.load(keyTokens, &records); err != nil {
		return err
	}
	after, err := change(records)
	if err != nil {
		return err
	}
	return s.ledger.store(keyTokens, after)
}

// isLocal reports whether all addresses are on loopback.
func (c Config) isLocal() bool {
	for _, address := range []string{c.Listen, c.Gossip, c.Jobs, c.HTTP} {
		if address != "" && !hostport.IsLoopback(address) {
			return false
		}
	}
	return true
}
