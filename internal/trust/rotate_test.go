package trust

import (
	"context"
	"crypto/x509"
	"errors"
	"strings"
	"testing"
	"time"
)

// A CA is rotated while two processes connect again after each step, each in its own time.
func TestRotation(t *testing.T) {
	a := authority(t, "lab")
	main, w1 := credentials(t, a, Coordinator, "main", today), credentials(t, a, Worker, "w1", today)
	old := bundle(t, a)[0]
	connected := func(at string) {
		t.Helper()
		if m := meet(t, main.ServerConfig(AllowRoles(Worker)), w1.ClientConfig(AllowRoles(Coordinator))); !m.ok() {
			t.Errorf("%s: %v, %v", at, m.server, m.client)
		}
		if m := meet(t, w1.ServerConfig(AllowRoles(Coordinator)), main.ClientConfig(AllowRoles(Worker))); !m.ok() {
			t.Errorf("%s, the other way: %v, %v", at, m.server, m.client)
		}
	}
	twice := func(step func() error) { // done again it changes nothing
		t.Helper()
		if err := step(); err != nil {
			t.Fatal(err)
		}
		before := EncodeCertificates(bundle(t, a)...)
		if err := step(); err != nil || string(EncodeCertificates(bundle(t, a)...)) != string(before) {
			t.Errorf("again: %v", err)
		}
	}
	at := func(want Rotation) {
		t.Helper()
		if got, err := a.Rotation(t.Context()); err != nil || got != want {
			t.Errorf("it is at %q, %v; want %q", got, err, want)
		}
	}
	renew := func(c *Credentials) {
		t.Helper()
		if err := c.Replace(issue(t, a, c.Identity().Role, c.Identity().Name, today), bundle(t, a)); err != nil {
			t.Fatal(err)
		}
	}
	trust := func(c *Credentials) { // the new bundle alone
		t.Helper()
		if err := c.Replace(c.current.Load().pair, bundle(t, a)); err != nil {
			t.Fatal(err)
		}
	}
	due := func(want bool) {
		t.Helper()
		if main.Due(today) != want || w1.Due(today) != want || main.Pin() != w1.Pin() {
			t.Errorf("due: %v, %v; pins %v, %v", main.Due(today), w1.Due(today), main.Pin(), w1.Pin())
		}
	}
	joined := func(at string) {
		t.Helper()
		if m := meet(t, main.JoinServerConfig(), joinConfig(main.Pin(), main.now)); !m.ok() {
			t.Errorf("join, %s: %v, %v", at, m.server, m.client)
		}
	}
	at(Resting)
	due(false)
	if err := a.UseNext(t.Context(), today, false); !errors.Is(err, ErrNoRotation) {
		t.Error(err)
	}

	twice(func() error { return a.BeginRotation(t.Context(), today) })
	at(Trusted)
	if err := a.FinishRotation(t.Context(), today, false); !errors.Is(err, ErrNotUsed) {
		t.Error(err)
	}
	if got := issue(t, a, Viewer, "v1", today).Certificate; got.CheckSignatureFrom(old) != nil {
		t.Error("the new CA signs before it is used")
	}
	connected("begun")
	err := a.UseNext(t.Context(), today, false)
	if !errors.Is(err, ErrNotRenewed) || !strings.Contains(err.Error(), "coordinator/main") || !strings.Contains(err.Error(), "worker/w1") || strings.Contains(err.Error(), "v1") {
		t.Errorf("used too early: %v", err)
	}
	renew(main)
	connected("the server trusts both")
	renew(w1)
	connected("both trust both")
	joined("both trusted")
	due(false)

	twice(func() error { return a.UseNext(t.Context(), today, false) })
	at(InUse)
	if err := a.BeginRotation(t.Context(), today); err != nil {
		t.Error(err)
	}
	at(InUse)
	trust(main)
	trust(w1)
	due(true)
	joined("the new CA signs, the coordinator has the old one's")
	renew(w1)
	connected("the client has the new CA's")
	err = a.FinishRotation(t.Context(), today, false)
	if !errors.Is(err, ErrNotRenewed) || !strings.Contains(err.Error(), "coordinator/main") || !strings.Contains(err.Error(), "viewer/v1") || strings.Contains(err.Error(), "w1") {
		t.Errorf("finished too early: %v", err)
	}
	renew(main)
	connected("both have the new CA's")
	if err := a.RevokeIdentity(t.Context(), Identity{"lab", Viewer, "v1"}, today); err != nil { // it does not come back
		t.Fatal(err)
	}

	twice(func() error { return a.FinishRotation(t.Context(), today, false) })
	at(Resting)
	trust(main)
	connected("the server has removed the old one")
	trust(w1)
	connected("the end")
	joined("the end")
	due(false)
	if all := bundle(t, a); len(all) != 1 || FingerprintOf(all[0]) == FingerprintOf(old) {
		t.Errorf("%d certificates", len(all))
	}
	if err := w1.Replace(w1.current.Load().pair, []*x509.Certificate{old}); !errors.Is(err, ErrAuthority) {
		t.Errorf("the old CA alone: %v", err)
	}
	// The next rotation makes another key.
	if err := a.BeginRotation(t.Context(), today); err != nil {
		t.Fatal(err)
	}
	if all := bundle(t, a); len(all) != 2 || FingerprintOf(all[0]) == FingerprintOf(all[1]) || all[0].Subject.CommonName == all[1].Subject.CommonName {
		t.Error("the next rotation has the same key")
	}
}

// Certificates that have expired do not hold a rotation up.
func TestFinishAfterExpiry(t *testing.T) {
	a := authority(t, "lab")
	issue(t, a, Worker, "w1", today)
	if err := a.BeginRotation(t.Context(), today); err != nil {
		t.Fatal(err)
	}
	for _, step := range []func(context.Context, time.Time, bool) error{a.UseNext, a.FinishRotation} {
		if err := step(t.Context(), today.Add(time.Hour), false); !errors.Is(err, ErrNotRenewed) {
			t.Error(err)
		}
		if err := step(t.Context(), today.Add(25*time.Hour), false); err != nil {
			t.Error(err)
		}
	}
}

// A rotation that is forced cuts off those that have not renewed.
func TestForcedRotation(t *testing.T) {
	a := authority(t, "lab")
	w1 := credentials(t, a, Worker, "w1", today)
	if err := errors.Join(a.BeginRotation(t.Context(), today), a.UseNext(t.Context(), today, true), a.FinishRotation(t.Context(), today, true)); err != nil {
		t.Fatal(err)
	}
	main := credentials(t, a, Coordinator, "main", today)
	if m := meet(t, main.ServerConfig(AllowRoles(Worker)), w1.ClientConfig(AllowRoles(Coordinator))); !errors.Is(m.client, ErrAuthority) {
		t.Errorf("%v, %v", m.server, m.client)
	}
}
