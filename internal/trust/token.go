package trust

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
)

// ErrToken: a text is no token.
var ErrToken = errors.New("not a token of ergoflow")

// Sizes of a token's parts, in bytes.
const (
	tokenPrefix = "ERGO1"
	idBytes     = 8
	secretBytes = 32
	// tokenLength is that of the text: all its parts have fixed lengths.
	tokenLength = len(tokenPrefix) + 2*sha256.Size + len("::") + 2*idBytes + len(".") + 2*secretBytes
)

// Token is what a process needs to join: by the pin it knows the coordinator, by the secret
// the coordinator knows it.
type Token struct {
	Pin    Fingerprint
	ID     string // 16 hexadecimal digits; no secret
	Secret Secret
}

// Secret is shown by Token.Text alone, so that no log has it by accident. It is behind a
// function since fmt does not ask Format in fields that are not exported, and prints what
// pointers point to.
type Secret struct{ reveal func() [secretBytes]byte }

func newSecret(b [secretBytes]byte) Secret { return Secret{func() [secretBytes]byte { return b }} }

// hash is what is stored of a secret. That of no secret is equal to none.
func (s Secret) hash() string {
	if s.reveal == nil {
		return "none"
	}
	b := s.reveal()
	sum := sha256.Sum256(b[:])
	return hex.EncodeToString(sum[:])
}

// Format hides the secret from every verb.
func (Secret) Format(f fmt.State, _ rune) { fmt.Fprint(f, "(secret)") }

// MarshalText refuses: a secret is stored as its hash alone.
func (Secret) MarshalText() ([]byte, error) { return nil, errors.New("a secret is not stored") }

// String names the token without its secret.
func (t Token) String() string { return "token " + t.ID }

// Text is the whole token: ERGO1PIN::ID.SECRET, in lower-case hexadecimal.
func (t Token) Text() string {
	secret := t.Secret.reveal()
	return tokenPrefix + t.Pin.String() + "::" + t.ID + "." + hex.EncodeToString(secret[:])
}

// ParseToken reads what Text writes. Its errors do not show the text, which may be a secret
// with a letter too many.
func ParseToken(text string) (Token, error) {
	rest, found := strings.CutPrefix(text, tokenPrefix)
	if !found {
		return Token{}, fmt.Errorf("%w: it does not begin with %s", ErrToken, tokenPrefix)
	}
	if len(text) != tokenLength {
		return Token{}, fmt.Errorf("%w: it has %d characters, not %d", ErrToken, len(text), tokenLength)
	}
	pin, rest, found := strings.Cut(rest, "::")
	id, secret, dot := strings.Cut(rest, ".")
	var t Token
	var b [secretBytes]byte
	if !found || !dot || fromHex(t.Pin[:], pin) != nil || fromHex(make([]byte, idBytes), id) != nil || fromHex(b[:], secret) != nil {
		return Token{}, fmt.Errorf("%w: it is not %sPIN::ID.SECRET in lower-case hexadecimal digits", ErrToken, tokenPrefix)
	}
	t.ID, t.Secret = id, newSecret(b)
	return t, nil
}

func fromHex(to []byte, text string) error {
	decoded, err := decodeHex(text, len(to))
	copy(to, decoded)
	return err
}

// newToken draws id and secret.
func newToken(pin Fingerprint) Token {
	id, secret := make([]byte, idBytes), [secretBytes]byte{}
	rand.Read(id) // never fails
	rand.Read(secret[:])
	return Token{pin, hex.EncodeToString(id), newSecret(secret)}
}
