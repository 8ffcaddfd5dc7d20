package trust

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"path/filepath"
	"sync"
	"time"
)

// Clients judges the certificates of clients for a server that has no credentials of their cluster
// itself. It reads ca.pem and revoked.json in a directory, that of an authority or one with copies
// of these files, and reads them again when they have changed. It is safe for concurrent use.
type Clients struct {
	dir     string
	now     func() time.Time
	revoked *RevocationList

	mu      sync.Mutex
	stamp   stamp
	bundle  []*x509.Certificate
	pool    *x509.CertPool
	cluster string
}

// OpenClients reads the files of a directory. Both must be there.
func OpenClients(dir string) (*Clients, error) {
	c := &Clients{dir: dir, now: time.Now, revoked: RevocationsIn(dir)}
	if _, err := c.revoked.Read(); err != nil {
		return nil, err
	}
	_, err := c.read()
	return c, err
}

// read returns who is trusted now: nobody, with an error, where the file cannot be read.
func (c *Clients) read() (checker, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	path := filepath.Join(c.dir, bundleFile)
	now, err := stampOf(path) // before reading: a later change is seen the next time
	if err != nil {
		return checker{}, err
	}
	if c.stamp == nil || !c.stamp.equal(now) {
		bundle, err := readPEM(path, ParseBundle)
		if err != nil {
			return checker{}, err
		}
		cluster, err := clusterOf(bundle[0])
		if err != nil {
			return checker{}, fmt.Errorf("%s: %w", path, err)
		}
		c.stamp, c.bundle, c.cluster, c.pool = now, bundle, cluster, x509.NewCertPool()
		for _, ca := range bundle {
			c.pool.AddCert(ca)
		}
	}
	return checker{bundle: c.bundle, cluster: c.cluster, usage: x509.ExtKeyUsageClientAuth, revoked: c.revoked.Check}, nil
}

// Check is who the client of a connection is, if allow accepts it; ErrNoCertificate for one that
// has shown none. That the client has the certificate's key was for TLS to check.
func (c *Clients) Check(connection *tls.ConnectionState, allow func(Identity) error) (Identity, error) {
	if connection == nil {
		return Identity{}, ErrNoCertificate
	}
	who, err := c.read()
	if err != nil {
		return Identity{}, err
	}
	who.allow = allow
	return who.check(connection.PeerCertificates, c.now())
}

// Ask is a configuration of a server that asks clients for a certificate of this cluster, and
// leaves the judgement of the one that they show, if any, to Check.
func (c *Clients) Ask(server *tls.Config) *tls.Config {
	asking := server.Clone()
	asking.ClientAuth = tls.RequestClientCert
	asking.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) {
		if _, err := c.read(); err != nil {
			return nil, err
		}
		named := asking.Clone()
		named.GetConfigForClient = nil
		c.mu.Lock()
		named.ClientCAs = c.pool // so that browsers offer no certificates of others
		c.mu.Unlock()
		return named, nil
	}
	return asking
}
