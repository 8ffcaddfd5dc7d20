package trust

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ergoflow/ergoflow"
)

func TestCreateAndOpen(t *testing.T) {
	a := authority(t, "lab")
	key, err := os.ReadFile(a.path(keyFile))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := CreateAuthority(t.Context(), a.dir, "lab", today); !errors.Is(err, ErrExists) {
		t.Errorf("made again: %v", err)
	}
	if again, err := os.ReadFile(a.path(keyFile)); err != nil || string(again) != string(key) {
		t.Error("the key has changed")
	}
	for path, want := range map[string]fs.FileMode{"": 0o700 | fs.ModeDir, keyFile: 0o600} {
		if info, err := os.Stat(a.path(path)); err != nil || info.Mode() != want {
			t.Errorf("%q has mode %v, %v", path, info.Mode(), err)
		}
	}
	b, err := OpenAuthority(t.Context(), a.dir)
	if err != nil || b.Cluster() != "lab" {
		t.Fatal(err)
	}
	one, err := a.Fingerprint(t.Context())
	two, err2 := b.Fingerprint(t.Context())
	if err != nil || err2 != nil || one != two {
		t.Errorf("%v %v, %v %v", one, two, err, err2)
	}
	empty := t.TempDir()
	if _, err := OpenAuthority(t.Context(), empty); !errors.Is(err, ErrNoAuthority) {
		t.Error(err)
	}
	if entries, err := os.ReadDir(empty); err != nil || len(entries) > 0 {
		t.Errorf("opening made %v, %v", entries, err)
	}
	for _, cluster := range []string{"", "Lab", "a/b", "..", strings.Repeat("a", 64)} {
		if _, err := CreateAuthority(t.Context(), filepath.Join(t.TempDir(), "ca"), cluster, today); !errors.Is(err, ErrIdentity) {
			t.Errorf("cluster %q: %v", cluster, err)
		}
	}
}

// Damage is an error that names the file, and nothing is signed.
func TestDamagedAuthority(t *testing.T) {
	other := authority(t, "lab")
	otherKey, err := os.ReadFile(other.path(keyFile))
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		file, content string
		want          error
	}{
		"an empty bundle":     {bundleFile, "", ErrFormat},
		"another's key":       {keyFile, string(otherKey), ErrFormat},
		"no key":              {keyFile, "", ErrFormat},
		"records cut off":     {issuedFile, `{"format":1,"certificates":[`, ErrFormat},
		"records of format 2": {issuedFile, `{"format":2}`, ergoflow.ErrNewer},
		"records of format 0": {issuedFile, `{"format":0}`, ErrFormat},
		"a wrong identity":    {issuedFile, `{"format":1,"certificates":[{"serial":"1","identity":"x"}]}`, ErrIdentity},
		"no list":             {revokedFile, "", ErrFormat},
		"two lists":           {revokedFile, `{"format":1}{"format":1}`, ErrFormat},
	} {
		a := authority(t, "lab")
		writeOver(t, a.path(test.file), test.content)
		if _, err := a.Issue(t.Context(), Request{Role: Worker, Name: "w1"}, today); !errors.Is(err, test.want) || !strings.Contains(err.Error(), test.file) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, file := range []string{keyFile, issuedFile, revokedFile} {
		a := authority(t, "lab")
		if err := os.Remove(a.path(file)); err != nil {
			t.Fatal(err)
		}
		if _, err := a.Issue(t.Context(), Request{Role: Worker, Name: "w1"}, today); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("without %s: %v", file, err)
		}
	}
}

// Several processes sign, revoke and rotate in one directory; no record is lost.
func TestConcurrent(t *testing.T) {
	dir := authority(t, "lab").dir
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			a, err := OpenAuthority(t.Context(), dir)
			if err != nil {
				t.Error(err)
				return
			}
			name := string(rune('a' + i))
			for range 4 {
				if _, err := a.Issue(t.Context(), Request{Role: Worker, Name: name}, today); err != nil {
					t.Error(err)
				}
			}
			if err := a.RevokeIdentity(t.Context(), Identity{"lab", Worker, name}, today); err != nil {
				t.Error(err)
			}
			if err := a.BeginRotation(t.Context(), today); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	a, err := OpenAuthority(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	issued, err := a.Issued(t.Context())
	r, err2 := a.Revocations()
	if err != nil || err2 != nil || len(issued) != 32 || len(r.Identities) != 8 || len(bundle(t, a)) != 2 {
		t.Errorf("%d issued, %d revoked, %v, %v", len(issued), len(r.Identities), err, err2)
	}
}

func TestStateAndChoose(t *testing.T) {
	a := authority(t, "lab")
	for _, name := range []string{"w1", "w2", "w3"} {
		issue(t, a, Worker, name, today)
	}
	issue(t, a, Operator, "w3", today)
	issued, err := a.Issued(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var r Revocations
	r.addSerial(issued[1].Serial, today)
	r.addIdentity(issued[2].Identity, today)
	for _, test := range []struct {
		i     int
		after time.Duration
		want  State
	}{{0, 0, Valid}, {0, 15 * time.Hour, Valid}, {0, 17 * time.Hour, Due}, {0, 25 * time.Hour, Expired}, {1, 0, Revoked}, {2, 25 * time.Hour, Revoked}, {3, 0, Valid}} {
		if got := issued[test.i].State(r, today.Add(test.after)); got != test.want {
			t.Errorf("%v after %v: %s, want %s", issued[test.i].Identity, test.after, got, test.want)
		}
	}
	first := issued[0]
	for text, want := range map[string]struct {
		serial Serial
		id     Identity
		err    error
	}{
		"w1":                                  {"", first.Identity, nil},
		"worker/w1":                           {"", first.Identity, nil},
		"ergoflow://lab/worker/w1":            {"", first.Identity, nil},
		string(first.Serial):                  {first.Serial, Identity{}, nil},
		strings.ToUpper(string(first.Serial)): {first.Serial, Identity{}, nil},
		"operator/unknown":                    {"", Identity{"lab", Operator, "unknown"}, nil},
		"w3":                                  {"", Identity{}, ErrAmbiguous},
		"w4":                                  {"", Identity{}, ErrUnknown},
		"0123456789abcdef0123456789abcdef":    {"", Identity{}, ErrUnknown},
		"root/w1":                             {"", Identity{}, ErrIdentity},
		"worker/../w1":                        {"", Identity{}, ErrIdentity},
		"":                                    {"", Identity{}, ErrUnknown},
	} {
		serial, id, err := Choose(issued, "lab", text)
		if serial != want.serial || !errors.Is(err, want.err) || err == nil && id != want.id {
			t.Errorf("%q: %q, %v, %v", text, serial, id, err)
		}
	}
}
