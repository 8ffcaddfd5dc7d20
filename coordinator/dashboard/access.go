package dashboard

import (
	"crypto/subtle"
	"crypto/x509"
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/ergoflow/ergoflow/internal/trust"
)

// Access says who may change something.
type Access struct {
	// Key is what a caller without a certificate must bring, as `Authorization: Bearer KEY`, to a
	// secured coordinator. Empty: the cluster speaks plain text, where everybody may who reaches it.
	Key     string
	KeyFile string // that has it, for people
	// Check returns why a certificate no longer counts; nil: none is revoked.
	Check func(*x509.Certificate) error
}

// caller is who makes a request.
type caller struct {
	Who string `json:"who"` // for the log
	May bool   `json:"may"` // change something
	Why string `json:"why"` // not
	// TakesKey says that the caller may with the key of KeyFile.
	TakesKey bool `json:"takes_key"`
}

// anybody is a person who changes something in a cluster of plain text.
const anybody = "somebody at the page"

// judge says who makes a request. An error is why even looking is over.
func (a Access) judge(r *http.Request) (caller, error) {
	if r.TLS != nil {
		return a.judgeCertificate(r.TLS.PeerCertificates)
	}
	if a.Key == "" {
		return caller{Who: anybody, May: true}, nil
	}
	given, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	switch {
	case ok && subtle.ConstantTimeCompare([]byte(given), []byte(a.Key)) == 1:
		return caller{Who: "operator/local", May: true}, nil
	case ok:
		return caller{Who: anybody, TakesKey: true, Why: "the key is not that of " + a.KeyFile}, nil
	}
	return caller{Who: anybody, TakesKey: true, Why: "this needs an operator: give the key that is in " + a.KeyFile}, nil
}

// judgeCertificate says whose certificates these are. The handshake has judged them, maybe long
// ago.
func (a Access) judgeCertificate(chain []*x509.Certificate) (caller, error) {
	if len(chain) == 0 {
		return caller{}, trust.ErrNoCertificate
	}
	if a.Check != nil {
		if err := a.Check(chain[0]); err != nil {
			return caller{}, err
		}
	}
	if end := chain[0].NotAfter; time.Now().After(end) {
		return caller{}, fmt.Errorf("the certificate ended at %v", end)
	}
	id, err := trust.IdentityOf(chain[0])
	if err != nil {
		return caller{}, err
	}
	c := caller{Who: fmt.Sprintf("%s/%s", id.Role, id.Name), May: id.Role == trust.Operator}
	if !c.May {
		c.Why = fmt.Sprintf("this needs an operator, and the certificate is that of %s", c.Who)
	}
	return c, nil
}

// here reports whether a request names this machine in a way that no other site can: a page of
// another site may point a name of its own at this address, and would then count as the same
// site. TLS has no such names.
func here(r *http.Request) bool {
	if r.TLS != nil {
		return true
	}
	host := r.Host
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	host = strings.ToLower(strings.TrimSuffix(strings.Trim(host, "[]"), "."))
	if net.ParseIP(host) != nil || host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return true
	}
	own, err := os.Hostname()
	return err == nil && host == strings.ToLower(own)
}
