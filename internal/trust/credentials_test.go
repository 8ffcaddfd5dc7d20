package trust

import (
	"crypto"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func writeOver(t testing.TB, path, content string) {
	t.Helper()
	if err := os.WriteFile(path+".new", []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		t.Fatal(err)
	}
}

func save(t testing.TB, dir string, a *Authority, pair KeyPair) {
	t.Helper()
	if err := SaveCredentials(dir, pair, bundle(t, a)); err != nil {
		t.Fatal(err)
	}
}

func TestSaveAndReload(t *testing.T) {
	a := authority(t, "lab")
	dir := filepath.Join(t.TempDir(), "w1")
	first, second := issue(t, a, Worker, "w1", today), issue(t, a, Worker, "w1", today.Add(time.Hour))
	save(t, dir, a, first)
	c, err := OpenCredentials(dir)
	if err != nil {
		t.Fatal(err)
	}
	if !c.Certificate().Equal(first.Certificate) || c.Identity() != (Identity{"lab", Worker, "w1"}) {
		t.Errorf("%v", c.Identity())
	}
	for path, want := range map[string]fs.FileMode{"": 0o700 | fs.ModeDir, privateFile: 0o600} {
		if info, err := os.Stat(filepath.Join(dir, path)); err != nil || info.Mode() != want {
			t.Errorf("%q has mode %v, %v", path, info.Mode(), err)
		}
	}
	if changed, err := c.Reload(); changed || err != nil {
		t.Errorf("without a change: %v, %v", changed, err)
	}
	save(t, dir, a, second)
	if changed, err := c.Reload(); !changed || err != nil || !c.Certificate().Equal(second.Certificate) {
		t.Errorf("after a renewal: %v, %v", changed, err)
	}
	if keys, err := readPEM(filepath.Join(dir, privateFile), parseKeys); err != nil || len(keys) != 1 {
		t.Errorf("%d keys, %v", len(keys), err)
	}
	// Files that do not belong together change nothing.
	foreign := authority(t, "lab")
	for name, replace := range map[string]func(){
		"another's key": func() {
			text, err := encodeKeys(issue(t, a, Worker, "w2", today).Key)
			if err != nil {
				t.Fatal(err)
			}
			writeOver(t, filepath.Join(dir, privateFile), string(text))
		},
		"a foreign bundle": func() {
			writeOver(t, filepath.Join(dir, bundleFile), string(EncodeCertificates(bundle(t, foreign)...)))
		},
		"no bundle":      func() { writeOver(t, filepath.Join(dir, bundleFile), "") },
		"no certificate": func() { os.Remove(filepath.Join(dir, certFile)) },
	} {
		replace()
		if changed, err := c.Reload(); changed || err == nil || !c.Certificate().Equal(second.Certificate) {
			t.Errorf("%s: %v, %v", name, changed, err)
		}
		if _, err := OpenCredentials(dir); err == nil {
			t.Errorf("%s: opened", name)
		}
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
		save(t, dir, a, second)
		if _, err := c.Reload(); err != nil {
			t.Errorf("after %s: %v", name, err)
		}
	}
	// A process stays who it is.
	if err := c.Replace(issue(t, a, Worker, "w2", today), bundle(t, a)); !errors.Is(err, ErrOther) {
		t.Errorf("another identity: %v", err)
	}
	if err := c.Replace(KeyPair{first.Certificate, second.Key}, bundle(t, a)); !errors.Is(err, ErrFormat) {
		t.Errorf("another key: %v", err)
	}
	if err := c.Replace(first, nil); !errors.Is(err, ErrFormat) {
		t.Errorf("no authority: %v", err)
	}
	if err := SaveCredentials(dir, issue(t, foreign, Worker, "w1", today), bundle(t, a)); !errors.Is(err, ErrAuthority) {
		t.Errorf("saved what does not belong together: %v", err)
	}
}

// A renewal that was killed leaves two keys: the one of the certificate counts.
func TestTwoKeys(t *testing.T) {
	a := authority(t, "lab")
	dir := filepath.Join(t.TempDir(), "w1")
	pair := issue(t, a, Worker, "w1", today)
	save(t, dir, a, pair)
	other, err := newKey()
	if err != nil {
		t.Fatal(err)
	}
	for _, keys := range [][]crypto.Signer{{other, pair.Key}, {pair.Key, other}} {
		text, err := encodeKeys(keys...)
		if err != nil {
			t.Fatal(err)
		}
		writeOver(t, filepath.Join(dir, privateFile), string(text))
		if c, err := OpenCredentials(dir); err != nil || !c.Certificate().Equal(pair.Certificate) {
			t.Error(err)
		}
	}
}

// What would be lost is not overwritten: a key without a certificate, another's
// credentials, an authority.
func TestSaveDestroysNothing(t *testing.T) {
	a := authority(t, "lab")
	pair := issue(t, a, Worker, "w1", today)
	keyAlone, other := t.TempDir(), filepath.Join(t.TempDir(), "w2")
	if err := os.WriteFile(filepath.Join(keyAlone, privateFile), []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	save(t, other, a, issue(t, a, Worker, "w2", today))
	for dir, want := range map[string]error{keyAlone: fs.ErrNotExist, other: ErrOther, a.dir: ErrExists} {
		before, err := os.ReadFile(filepath.Join(dir, privateFile))
		if err != nil && dir != a.dir {
			t.Fatal(err)
		}
		if err := SaveCredentials(dir, pair, bundle(t, a)); !errors.Is(err, want) {
			t.Errorf("%v, want %v", err, want)
		}
		if err := CheckPlace(dir, Identity{"lab", Worker, "w1"}); !errors.Is(err, want) {
			t.Errorf("%v, want %v", err, want)
		}
		if after, _ := os.ReadFile(filepath.Join(dir, privateFile)); string(after) != string(before) {
			t.Error("the key has changed")
		}
	}
}

// Errors of a process's own certificate name it and both clocks.
func TestOwnCertificateExpired(t *testing.T) {
	c := credentials(t, authority(t, "lab"), Worker, "w1", today)
	c.now = func() time.Time { return today.AddDate(0, 1, 0) }
	if _, err := c.own(); !errors.Is(err, ErrExpired) || !strings.Contains(err.Error(), "ergoflow://lab/worker/w1 (this process)") || !strings.Contains(err.Error(), "2026-12-25") || !strings.Contains(err.Error(), "2026-11-26") {
		t.Error(err)
	}
}
