package trust

import (
	"crypto/x509"
	"errors"
	"fmt"
	"time"
)

var (
	// ErrExpired: a certificate's time is over.
	ErrExpired = errors.New("expired")
	// ErrNotYetValid: a certificate's time has not come.
	ErrNotYetValid = errors.New("not valid yet")
)

// Times of certificates.
const (
	DefaultLife = 30 * 24 * time.Hour // of a leaf
	minLife     = 10 * time.Second
	caYears     = 10
	// maxBackdate is how far a machine's clock may be behind that of the authority. A short
	// life is backdated by a tenth, since the time before now is part of its two thirds.
	maxBackdate = 5 * time.Minute
)

// backdate is how long before now a certificate of a life begins.
func backdate(life time.Duration) time.Duration { return min(maxBackdate, life/10) }

// DueAt is when a certificate should be renewed: after two thirds of its life.
func DueAt(cert *x509.Certificate) time.Time { return due(cert.NotBefore, cert.NotAfter) }

func due(begin, end time.Time) time.Time { return end.Add(-end.Sub(begin) / 3) }

// checkTime refuses a certificate at a time that is not in its life. It names both clocks:
// mostly one of them is wrong. Whose says whose certificate it is.
func checkTime(cert *x509.Certificate, whose string, now time.Time) error {
	switch {
	case now.Before(cert.NotBefore):
		return fmt.Errorf("certificate of %s is %w: it begins at %s by the clock of its authority, and this machine's clock says %s",
			whose, ErrNotYetValid, clock(cert.NotBefore), clock(now))
	case now.After(cert.NotAfter):
		return fmt.Errorf("certificate of %s has %w: it ended at %s by the clock of its authority, and this machine's clock says %s",
			whose, ErrExpired, clock(cert.NotAfter), clock(now))
	}
	return nil
}
