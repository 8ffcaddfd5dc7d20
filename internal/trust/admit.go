package trust

import (
	"crypto/subtle"
	"errors"
	"fmt"
	"slices"
	"time"
)

var (
	// ErrRefused: a token does not count. To one who does not have the secret it is the same
	// error for every reason.
	ErrRefused = errors.New("the token is refused")
	// ErrTokens: a token cannot be made.
	ErrTokens = errors.New("no token was made")
)

// Limits of tokens.
const (
	maxTokens   = 1000
	maxTokenTTL = 365 * 24 * time.Hour
	maxUses     = 100_000
)

// Joining is the record of a token. It has the hash of the secret, never the secret: one who
// reads the record cannot join. The secret has 256 random bits, so a plain hash will do.
type Joining struct {
	ID      string    `json:"id"`
	Hash    string    `json:"hash"` // SHA-256 of the secret, hexadecimal
	Role    Role      `json:"role"`
	Created time.Time `json:"created"`
	Expires time.Time `json:"expires"`
	Uses    int       `json:"uses"` // that are left
	Revoked bool      `json:"revoked"`
}

// MakeToken adds the record of a new token. It leaves out records of tokens that expired, so
// that they do not pile up.
func MakeToken(records []Joining, pin Fingerprint, role Role, ttl time.Duration, uses int, now time.Time) ([]Joining, Token, error) {
	if _, err := ParseRole(string(role)); err != nil {
		return nil, Token{}, err
	}
	switch {
	case ttl <= 0 || ttl > maxTokenTTL:
		return nil, Token{}, fmt.Errorf("%w: its life of %v is not above 0 and at most a year", ErrTokens, ttl)
	case uses < 1 || uses > maxUses:
		return nil, Token{}, fmt.Errorf("%w: %d uses are not 1 to %d", ErrTokens, uses, maxUses)
	}
	kept := slices.DeleteFunc(slices.Clone(records), func(j Joining) bool { return now.After(j.Expires) })
	if len(kept) >= maxTokens {
		return nil, Token{}, fmt.Errorf("%w: there are %d already", ErrTokens, len(kept))
	}
	t := newToken(pin)
	return append(kept, Joining{
		ID: t.ID, Hash: t.Secret.hash(), Role: role, Created: now.UTC(), Expires: now.Add(ttl).UTC(), Uses: uses,
	}), t, nil
}

// Admit takes one use of the token that has id and secret. The records that it returns must
// be durable before a certificate is given, or a token counts twice after a crash. A refusal
// changes nothing. Only one who has the secret learns why a token is refused.
func Admit(records []Joining, now time.Time, id string, secret Secret) ([]Joining, Role, error) {
	hash := secret.hash()
	found := -1
	for i, j := range records { // all of them: the time tells nothing about where an id is
		same := subtle.ConstantTimeCompare([]byte(j.ID), []byte(id)) & subtle.ConstantTimeCompare([]byte(j.Hash), []byte(hash))
		found = subtle.ConstantTimeSelect(same, i, found)
	}
	if found < 0 {
		return records, "", ErrRefused
	}
	j := records[found]
	switch {
	case j.Revoked:
		return records, "", fmt.Errorf("%w: it was revoked", ErrRefused)
	case now.After(j.Expires):
		return records, "", fmt.Errorf("%w: it expired at %s, and the clock of this machine says %s", ErrRefused, clock(j.Expires), clock(now))
	case j.Uses < 1:
		return records, "", fmt.Errorf("%w: it has no uses left", ErrRefused)
	}
	after := slices.Clone(records)
	after[found].Uses--
	return after, j.Role, nil
}

// RevokeToken ends a token before its time. Done again it changes nothing.
func RevokeToken(records []Joining, id string) ([]Joining, error) {
	at := slices.IndexFunc(records, func(j Joining) bool { return j.ID == id })
	if at < 0 {
		return records, fmt.Errorf("token %.20q: %w", id, ErrUnknown)
	}
	after := slices.Clone(records)
	after[at].Revoked = true
	return after, nil
}
