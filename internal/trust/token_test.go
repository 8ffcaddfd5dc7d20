package trust

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
)

func TestToken(t *testing.T) {
	tok := newToken(Fingerprint{1, 2, 3})
	parsed, err := ParseToken(tok.Text())
	if err != nil || parsed.Text() != tok.Text() || parsed.Pin != tok.Pin {
		t.Errorf("%v, %v", parsed, err)
	}
	text := tok.Text()
	secret := text[strings.IndexByte(text, '.')+1:]
	for _, bad := range []string{
		"", "ERGO1", "ERGO2" + text[5:], text + "0", text[:len(text)-1], strings.ToUpper(text), " " + text[:len(text)-1],
		strings.Replace(text, "::", ":x", 1), strings.Replace(text, ".", ":", 1), text[:len(text)-1] + "g",
		text[:80] + "." + text[81:], strings.Repeat(text, 1000),
	} {
		if parsed, err := ParseToken(bad); !errors.Is(err, ErrToken) || strings.Contains(err.Error(), secret[:20]) {
			t.Errorf("%q: %v, %v", bad, parsed, err)
		}
	}
	first := tok.Secret.reveal()
	// No way of printing shows the secret by accident.
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%x", "%q", "%d"} {
		for _, v := range []any{tok, &tok, tok.Secret, &tok.Secret, struct{ T Token }{tok}, struct{ t Token }{tok}, struct{ t *Token }{&tok}, []Secret{tok.Secret}} {
			if printed := fmt.Sprintf(verb, v); strings.Contains(printed, secret[:8]) || strings.Contains(printed, strings.Trim(fmt.Sprint(first[:4]), "[]")) {
				t.Errorf("%s of %T shows the secret: %s", verb, v, printed)
			}
		}
	}
	if encoded, err := json.Marshal(tok); err == nil {
		t.Errorf("as JSON: %s", encoded)
	}
}

func FuzzToken(f *testing.F) {
	f.Add(newToken(Fingerprint{}).Text())
	f.Add("ERGO1::.")
	f.Fuzz(func(t *testing.T, text string) {
		tok, err := ParseToken(text)
		if err == nil && tok.Text() != text || err != nil && !errors.Is(err, ErrToken) {
			t.Errorf("%q: %v, %v", text, tok, err)
		}
	})
}

func TestAdmit(t *testing.T) {
	records, other, err := MakeToken(nil, Fingerprint{}, Viewer, time.Hour, 1, today)
	if err != nil {
		t.Fatal(err)
	}
	records, tok, err := MakeToken(records, Fingerprint{}, Worker, time.Hour, 2, today)
	if err != nil {
		t.Fatal(err)
	}
	if encoded, err := json.Marshal(records); err != nil || strings.Contains(string(encoded), tok.Text()[len(tok.Text())-64:]) {
		t.Errorf("the records hold the secret: %s, %v", encoded, err)
	}
	refused := func(why string, now time.Time, id string, secret Secret) string {
		t.Helper()
		after, role, err := Admit(records, now, id, secret)
		if !errors.Is(err, ErrRefused) || role != "" || fmt.Sprint(after) != fmt.Sprint(records) {
			t.Errorf("%s: %v, %q, %v", why, after, role, err)
			return ""
		}
		return err.Error()
	}
	// A guesser gets one answer.
	near := tok.Secret.reveal()
	near[31] ^= 1
	wrong := newSecret(near)
	hash := [secretBytes]byte([]byte(records[1].Hash)[:secretBytes])
	answer := refused("an unknown id", today, "0123456789abcdef", wrong)
	for why, got := range map[string]string{
		"a wrong secret":            refused("a wrong secret", today, tok.ID, wrong),
		"a wrong one, expired":      refused("a wrong one, expired", today.Add(2*time.Hour), tok.ID, wrong),
		"another token's secret":    refused("another token's secret", today, tok.ID, other.Secret),
		"an empty id":               refused("an empty id", today, "", tok.Secret),
		"a right secret, wrong id":  refused("a right secret, wrong id", today, other.ID, tok.Secret),
		"the hash in place of it":   refused("the hash", today, tok.ID, newSecret(hash)),
		"no secret":                 refused("no secret", today, tok.ID, Secret{}),
		"an id that goes on longer": refused("a long id", today, tok.ID+"x", tok.Secret),
	} {
		if got != answer {
			t.Errorf("%s: %q, an unknown id: %q", why, got, answer)
		}
	}
	// One who has the secret learns the reason.
	if got := refused("expired", today.Add(time.Hour+time.Second), tok.ID, tok.Secret); !strings.Contains(got, "13:00:01") {
		t.Error(got)
	}
	before := records
	for range 2 {
		var role Role
		if records, role, err = Admit(records, today, tok.ID, tok.Secret); err != nil || role != Worker {
			t.Fatalf("%q, %v", role, err)
		}
	}
	if before[1].Uses != 2 || records[0].Uses != 1 {
		t.Errorf("before %+v, after %+v", before, records)
	}
	if got := refused("used up", today, tok.ID, tok.Secret); !strings.Contains(got, "no uses left") {
		t.Error(got)
	}
	if records, err = RevokeToken(records, other.ID); err != nil {
		t.Fatal(err)
	}
	if got := refused("revoked", today, other.ID, other.Secret); !strings.Contains(got, "revoked") {
		t.Error(got)
	}
	if _, err := RevokeToken(records, "0123456789abcdef"); !errors.Is(err, ErrUnknown) {
		t.Error(err)
	}
}

func TestMakeToken(t *testing.T) {
	for _, test := range []struct {
		role Role
		ttl  time.Duration
		uses int
		want error
	}{
		{"root", time.Hour, 1, ErrIdentity}, {Worker, 0, 1, ErrTokens}, {Worker, -time.Hour, 1, ErrTokens},
		{Worker, 10 * maxTokenTTL, 1, ErrTokens}, {Worker, time.Hour, 0, ErrTokens}, {Worker, time.Hour, maxUses + 1, ErrTokens},
	} {
		if _, tok, err := MakeToken(nil, Fingerprint{}, test.role, test.ttl, test.uses, today); !errors.Is(err, test.want) || tok.ID != "" {
			t.Errorf("%+v: %v", test, err)
		}
	}
	var records []Joining
	var err error
	for range maxTokens {
		if records, _, err = MakeToken(records, Fingerprint{}, Worker, time.Hour, 1, today); err != nil {
			t.Fatal(err)
		}
	}
	if _, _, err := MakeToken(records, Fingerprint{}, Worker, time.Hour, 1, today); !errors.Is(err, ErrTokens) {
		t.Errorf("too many: %v", err)
	}
	if records, _, err = MakeToken(records, Fingerprint{}, Worker, time.Hour, 1, today.Add(2*time.Hour)); err != nil || len(records) != 1 {
		t.Errorf("%d records once the others have expired, %v", len(records), err)
	}
}
