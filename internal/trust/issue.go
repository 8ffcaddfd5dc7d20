package trust

import (
	"context"
	"crypto"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"syscall"
	"time"
)

// ErrRequest: the authority refuses to sign a request.
var ErrRequest = errors.New("not signed")

const (
	maxRequest = 16 << 10 // bytes of a CSR
	maxHosts   = 16       // DNS names, and addresses
)

// KeyPair is a certificate and its key.
type KeyPair struct {
	Certificate *x509.Certificate
	Key         crypto.Signer
}

// Request describes a certificate that an authority shall sign.
type Request struct {
	Role Role
	Name string
	Life time.Duration // 0: DefaultLife. The certificate ends with its CA at the latest
	// DNS and IPs are for programs that know no identities, such as browsers. Nothing here
	// looks at them.
	DNS []string
	IPs []netip.Addr
}

func (r Request) identity(cluster string) Identity { return Identity{cluster, r.Role, r.Name} }

func (r *Request) check() error {
	if r.Life == 0 {
		r.Life = DefaultLife
	}
	if longest := caYears * 366 * 24 * time.Hour; r.Life < minLife || r.Life > longest {
		return fmt.Errorf("%w: a life of %v is not between %v and %d years", ErrRequest, r.Life, minLife, caYears)
	}
	if len(r.DNS) > maxHosts || len(r.IPs) > maxHosts {
		return fmt.Errorf("%w: more than %d DNS names or addresses", ErrRequest, maxHosts)
	}
	for _, name := range r.DNS {
		if !isHost(name) {
			return fmt.Errorf("%w: %.80q is no DNS name", ErrRequest, name)
		}
	}
	for _, ip := range r.IPs {
		if !ip.IsValid() || ip.Zone() != "" {
			return fmt.Errorf("%w: %q is no address for a certificate", ErrRequest, ip)
		}
	}
	return nil
}

func isHost(name string) bool {
	return len(name) <= 253 && !slices.ContainsFunc(strings.Split(name, "."), func(label string) bool {
		return !isText(strings.ToLower(label), 63, func(c byte) bool { return isLower(c) || isDigit(c) }, "-")
	})
}

// NewRequest makes a key and a CSR for an identity, as PEM.
func NewRequest(id Identity) (csr []byte, key crypto.Signer, err error) {
	if err := id.Check(); err != nil {
		return nil, nil, err
	}
	return newRequest(&x509.CertificateRequest{URIs: []*url.URL{id.uri()}})
}

// NewJoinRequest makes a key and a CSR, as PEM, that names nobody: the one who signs gives the
// name.
func NewJoinRequest() (csr []byte, key crypto.Signer, err error) {
	return newRequest(&x509.CertificateRequest{})
}

func newRequest(template *x509.CertificateRequest) (csr []byte, key crypto.Signer, err error) {
	if key, err = newKey(); err != nil {
		return nil, nil, err
	}
	der, err := x509.CreateCertificateRequest(rand.Reader, template, key)
	if err != nil {
		return nil, nil, err
	}
	return pem.EncodeToMemory(&pem.Block{Type: pemRequest, Bytes: der}), key, nil
}

// ReadRequest reads the file of a CSR, for Sign.
func ReadRequest(path string) ([]byte, error) { return readFile(path, maxRequest) }

// parseRequest reads a CSR and takes its public key, whose owner has signed it. Of what else
// it asks for only an identity matters: it must be the one that is signed.
func parseRequest(csr []byte, id Identity) (public any, err error) {
	if len(csr) > maxRequest {
		return nil, fmt.Errorf("%w: the request has more than %d bytes", ErrRequest, maxRequest)
	}
	all, err := blocks(csr, pemRequest, 1)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrRequest, err)
	}
	r, err := x509.ParseCertificateRequest(all[0])
	if err != nil {
		return nil, fmt.Errorf("%w: %w: %w", ErrRequest, ErrFormat, err)
	}
	if err := checkKey(r.PublicKey); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrRequest, err)
	}
	if err := r.CheckSignature(); err != nil {
		return nil, fmt.Errorf("%w: its key did not sign the request: %w", ErrRequest, err)
	}
	for _, uri := range r.URIs {
		if asked, err := ParseIdentity(uri.String()); err != nil || asked != id {
			return nil, fmt.Errorf("%w: the request is of %.240q, not of %v", ErrRequest, uri, id)
		}
	}
	return r.PublicKey, nil
}

// Sign signs a CSR (PEM). It decides nothing: the caller has to know that the one who asks
// may have this role and name. The record is durable before Sign returns the certificate.
func (a *Authority) Sign(ctx context.Context, csr []byte, r Request, now time.Time) (*x509.Certificate, error) {
	public, err := parseRequest(csr, r.identity(a.cluster))
	if err != nil {
		return nil, err
	}
	return a.sign(ctx, public, r, now, exactly)
}

// SignNew signs a CSR (PEM) for a process that has no certificate yet. Where another has the
// name, or had it and was revoked, it adds a number to the name: nobody gets another's identity.
func (a *Authority) SignNew(ctx context.Context, csr []byte, r Request, now time.Time) (*x509.Certificate, error) {
	public, err := parseRequest(csr, r.identity(a.cluster))
	if err != nil {
		return nil, err
	}
	return a.sign(ctx, public, r, now, unused)
}

// Issue makes a key and signs its certificate.
func (a *Authority) Issue(ctx context.Context, r Request, now time.Time) (KeyPair, error) {
	key, err := newKey()
	if err != nil {
		return KeyPair{}, err
	}
	cert, err := a.sign(ctx, key.Public(), r, now, exactly)
	return KeyPair{cert, key}, err
}

// exactly is the identity that a request names.
func exactly(id Identity, _ []Issued, _ Revocations) Identity { return id }

// unused is the first of id, id-2, id-3, … that is on no record.
func unused(id Identity, issued []Issued, revoked Revocations) Identity {
	taken := func(id Identity) bool {
		return revoked.find("", id) != nil || slices.ContainsFunc(issued, func(i Issued) bool { return i.Identity == id })
	}
	free := id
	for n := 2; taken(free); n++ {
		suffix := fmt.Sprintf("-%d", n)
		free.Name = id.Name[:min(len(id.Name), maxName-len(suffix))] + suffix
	}
	return free
}

func (a *Authority) sign(ctx context.Context, public any, r Request, now time.Time,
	choose func(Identity, []Issued, Revocations) Identity) (cert *x509.Certificate, err error) {
	id := r.identity(a.cluster)
	if err := id.Check(); err != nil {
		return nil, err
	}
	if err := r.check(); err != nil {
		return nil, err
	}
	err = a.locked(ctx, syscall.LOCK_EX, func() error {
		h, err := a.read()
		if err != nil {
			return err
		}
		if err := checkTime(h.signing(), "the authority", now); err != nil {
			return err
		}
		revoked, err := readRevoked(a.dir)
		if err != nil {
			return err
		}
		issued, err := readIssued(a.dir)
		if err != nil {
			return err
		}
		id = choose(id, issued, revoked)
		if err := revoked.find("", id); err != nil {
			return err
		}
		if cert, err = signed(leaf(r, id, h.signing(), now), h.signing(), public, h.key); err != nil {
			return err
		}
		return writeIssued(a.dir, append(issued, issuedOf(cert, id, h.bundle)), now)
	})
	if err != nil {
		return nil, err
	}
	return cert, nil
}

// leaf is what is signed. The subject has nothing by which anybody could be recognised: the
// URI alone says who it is.
func leaf(r Request, id Identity, ca *x509.Certificate, now time.Time) *x509.Certificate {
	end := now.Add(r.Life)
	if end.After(ca.NotAfter) {
		end = ca.NotAfter
	}
	var ips []net.IP
	for _, ip := range r.IPs {
		ips = append(ips, ip.Unmap().AsSlice())
	}
	return &x509.Certificate{
		SerialNumber:          newSerial(),
		Subject:               pkix.Name{Organization: []string{"ergoflow"}, OrganizationalUnit: []string{string(r.Role)}},
		NotBefore:             now.Add(-backdate(r.Life)),
		NotAfter:              end,
		URIs:                  []*url.URL{id.uri()},
		DNSNames:              r.DNS,
		IPAddresses:           ips,
		BasicConstraintsValid: true,
		KeyUsage:              x509.KeyUsageDigitalSignature,
		ExtKeyUsage:           usages(r.Role),
	}
}

// usages are the sides of a connection on which a role may be. Workers serve each other, and
// a coordinator asks workers.
func usages(role Role) []x509.ExtKeyUsage {
	if role == Coordinator || role == Worker {
		return []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}
	}
	return []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
}
