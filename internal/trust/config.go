package trust

import (
	"crypto/tls"
	"crypto/x509"
)

// ServerConfig accepts peers that show a certificate of this cluster which allow accepts.
// allow is called at every handshake, also where a session is resumed. Go asks the same clock
// whether a session may be resumed.
func (c *Credentials) ServerConfig(allow func(Identity) error) *tls.Config {
	return &tls.Config{
		Time:             c.now,
		MinVersion:       tls.VersionTLS13,
		GetCertificate:   func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return c.own() },
		ClientAuth:       tls.RequireAnyClientCert, // VerifyConnection checks it
		VerifyConnection: c.peer(x509.ExtKeyUsageClientAuth, allow),
	}
}

// ClientConfig connects to servers that show a certificate of this cluster which allow
// accepts, and shows its own. The name of the host does not matter.
func (c *Credentials) ClientConfig(allow func(Identity) error) *tls.Config {
	return &tls.Config{
		Time:                 c.now,
		MinVersion:           tls.VersionTLS13,
		GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return c.own() },
		InsecureSkipVerify:   true, // of host names and system CAs: VerifyConnection checks instead
		VerifyConnection:     c.peer(x509.ExtKeyUsageServerAuth, allow),
	}
}

// JoinServerConfig is for the port at which processes without a certificate ask for one, and
// those with one ask where the others are. It shows the CA's certificate too, since the first
// know only the hash of its key. A certificate that is shown must be one of this cluster.
func (c *Credentials) JoinServerConfig() *tls.Config {
	check := c.peer(x509.ExtKeyUsageClientAuth, AllowRoles(Roles()...))
	return &tls.Config{
		Time:       c.now,
		MinVersion: tls.VersionTLS13,
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
			s := c.current.Load()
			own, err := s.own(c.now())
			if err != nil {
				return nil, err
			}
			own.Certificate = append(own.Certificate, s.bundle[s.signer].Raw)
			return own, nil
		},
		ClientAuth: tls.RequestClientCert,
		VerifyConnection: func(cs tls.ConnectionState) error {
			if len(cs.PeerCertificates) == 0 {
				return nil
			}
			return check(cs)
		},
	}
}
