package trust

import (
	"crypto/x509"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
)

// ErrIdentity: a text or a certificate names no process or person of a cluster.
var ErrIdentity = errors.New("invalid identity")

// Role is what the holder of a certificate may be.
type Role string

const (
	Coordinator Role = "coordinator" // decides
	Worker      Role = "worker"      // trains, and serves other workers
	Operator    Role = "operator"    // a person or program that may change the cluster
	Viewer      Role = "viewer"      // a person or program that may only look
)

// Plaintext stands for a process without a certificate, in tables of roles and in the place of
// an identity, while a cluster changes from plain text (docs/security.md). No certificate has it.
const Plaintext Role = "plaintext"

// Roles lists all roles of certificates.
func Roles() []Role { return []Role{Coordinator, Worker, Operator, Viewer} }

// ParseRole is the role with a name.
func ParseRole(name string) (Role, error) {
	if r := Role(name); slices.Contains(Roles(), r) {
		return r, nil
	}
	return "", fmt.Errorf("%w: role %.40q is not coordinator, worker, operator or viewer", ErrIdentity, name)
}

// Limits of an identity. Names are names of files too, and a worker's name has its host's.
const (
	maxCluster = 63
	maxName    = 128
	scheme     = "ergoflow://"
	// maxIdentity is the length of the longest identity. A longer text is refused unread.
	maxIdentity = len(scheme) + maxCluster + 1 + 16 + 1 + maxName
)

// Identity names a process or person of one cluster.
type Identity struct {
	Cluster string // lower-case letters, digits and hyphens
	Role    Role
	Name    string // letters, digits, hyphens, dots and underscores
}

// String is ergoflow://CLUSTER/ROLE/NAME.
func (id Identity) String() string {
	return scheme + id.Cluster + "/" + string(id.Role) + "/" + id.Name
}

// ParseIdentity reads what String writes, and nothing else: no escapes, ports, queries.
func ParseIdentity(text string) (Identity, error) {
	if len(text) > maxIdentity {
		return Identity{}, fmt.Errorf("%w: it has more than %d bytes", ErrIdentity, maxIdentity)
	}
	rest, found := strings.CutPrefix(text, scheme)
	parts := strings.Split(rest, "/")
	if !found || len(parts) != 3 {
		return Identity{}, fmt.Errorf("%w: %q is not ergoflow://CLUSTER/ROLE/NAME", ErrIdentity, text)
	}
	id := Identity{parts[0], Role(parts[1]), parts[2]}
	return id, id.Check()
}

// ParseSubject reads ROLE/NAME, as people write an identity of a cluster that is known.
func ParseSubject(text string) (Role, string, error) {
	role, name, found := strings.Cut(text[:min(len(text), maxIdentity)], "/")
	if !found {
		return "", "", fmt.Errorf("%w: %.140q is not ROLE/NAME", ErrIdentity, text)
	}
	r, err := ParseRole(role)
	if err != nil {
		return "", "", err
	}
	return r, name, CheckName(name)
}

// Subject is ROLE/NAME.
func (id Identity) Subject() string { return string(id.Role) + "/" + id.Name }

// MarshalText is String.
func (id Identity) MarshalText() ([]byte, error) { return []byte(id.String()), id.Check() }

// UnmarshalText is ParseIdentity.
func (id *Identity) UnmarshalText(text []byte) (err error) {
	*id, err = ParseIdentity(string(text))
	return err
}

// Check refuses an identity that cannot be written or has an unknown role.
func (id Identity) Check() error {
	if err := CheckCluster(id.Cluster); err != nil {
		return err
	}
	if _, err := ParseRole(string(id.Role)); err != nil {
		return err
	}
	return CheckName(id.Name)
}

// CheckCluster refuses what cannot name a cluster.
func CheckCluster(cluster string) error {
	if isText(cluster, maxCluster, func(c byte) bool { return isLower(c) || isDigit(c) }, "-") {
		return nil
	}
	return fmt.Errorf("%w: cluster %.80q is not 1 to %d lower-case letters, digits and hyphens that begin with a letter or digit", ErrIdentity, cluster, maxCluster)
}

// CheckName refuses what cannot name a process or person. What it accepts is safe as a
// file's name: it is neither empty nor begins with a dot, and has no slash.
func CheckName(name string) error {
	if isText(name, maxName, func(c byte) bool { return isLower(c) || isDigit(c) || 'A' <= c && c <= 'Z' }, "-._") {
		return nil
	}
	return fmt.Errorf("%w: name %.140q is not 1 to %d letters, digits, hyphens, dots and underscores that begin with a letter or digit", ErrIdentity, name, maxName)
}

// isText reports 1 to limit bytes, all alphanumeric or, after the first, of further.
func isText(text string, limit int, alphanumeric func(byte) bool, further string) bool {
	if text == "" || len(text) > limit || !alphanumeric(text[0]) {
		return false
	}
	for i := range len(text) {
		if !alphanumeric(text[i]) && strings.IndexByte(further, text[i]) < 0 {
			return false
		}
	}
	return true
}

func isLower(c byte) bool { return 'a' <= c && c <= 'z' }
func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// IdentityOf is the identity in a certificate. It says nothing of who signed it.
func IdentityOf(cert *x509.Certificate) (Identity, error) {
	if n := len(cert.URIs); n != 1 {
		return Identity{}, fmt.Errorf("%w: the certificate has %d URIs, not one", ErrIdentity, n)
	}
	return ParseIdentity(cert.URIs[0].String())
}

// uri is the identity as certificates carry it.
func (id Identity) uri() *url.URL {
	return &url.URL{Scheme: "ergoflow", Host: id.Cluster, Path: "/" + string(id.Role) + "/" + id.Name}
}
