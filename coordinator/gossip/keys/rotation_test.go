package keys

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

func equal(a, b []Key) bool { return slices.EqualFunc(a, b, Key.Equal) }

// A rotation takes three passes, each after all that are present have confirmed.
func TestPasses(t *testing.T) {
	old, next := New(), New()
	r := Start(old)
	present := []string{"a", "b"}
	if r.Advance(present) || r.Pass() != Steady {
		t.Error("it advances without a rotation")
	}
	for _, step := range []struct {
		pass Pass
		keys []Key
	}{{Install, []Key{old, next}}, {Use, []Key{next, old}}, {Steady, []Key{next}}} {
		if step.pass == Install {
			if err := r.Begin(next); err != nil {
				t.Fatal(err)
			}
		} else {
			before := r.Set().Version
			r.Confirm("a", before)
			r.Confirm("b", before-1) // of the pass before
			r.Confirm("c", before)   // not present
			if missing := r.Missing(present); r.Advance(present) || !slices.Equal(missing, []string{"b"}) {
				t.Fatalf("pass %s: waits for %v", step.pass, missing)
			}
			r.Confirm("b", before)
			r.Forget("a") // it has come anew
			if r.Advance(present) {
				t.Fatal("it advances without a member that came anew")
			}
			r.Confirm("a", before)
			if !r.Advance(present) {
				t.Fatal("it does not advance")
			}
		}
		if s := r.Set(); r.Pass() != step.pass || !equal(s.Keys, step.keys) {
			t.Fatalf("pass %s with %v, want %s with %v", r.Pass(), s.Keys, step.pass, step.keys)
		}
		if missing := r.Missing(present); len(missing) != 2 {
			t.Fatalf("after a pass it waits for %v alone", missing)
		}
	}
}

func TestRefused(t *testing.T) {
	old := New()
	r := Start(old)
	for _, k := range []Key{old, {}} {
		if err := r.Begin(k); !errors.Is(err, ErrKey) {
			t.Errorf("%v: %v", k, err)
		}
	}
	if err := r.Begin(New()); err != nil {
		t.Fatal(err)
	}
	if err := r.Begin(New()); !errors.Is(err, ErrUnderWay) {
		t.Error(err)
	}
	if _, err := Of(make([]byte, 16)); !errors.Is(err, ErrKey) {
		t.Error(err)
	}
}

// A process that starts goes on from what it stored, and asks all members again.
func TestEncode(t *testing.T) {
	r := Start(New())
	for range 4 {
		b, err := r.Encode()
		if err != nil {
			t.Fatal(err)
		}
		again, err := Decode(b)
		if err != nil {
			t.Fatal(err)
		}
		if again.Pass() != r.Pass() || again.Set().Version != r.Set().Version || !equal(again.Set().Keys, r.Set().Keys) {
			t.Fatalf("%+v became %+v", r, again)
		}
		if missing := again.Missing([]string{"a"}); len(missing) != 1 {
			t.Error("confirmations are stored")
		}
		r.Confirm("a", r.Set().Version)
		if !r.Advance([]string{"a"}) {
			if err := r.Begin(New()); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func TestDecodeRefuses(t *testing.T) {
	key := base64.StdEncoding.EncodeToString(New().Bytes())
	two := `["` + key + `","` + base64.StdEncoding.EncodeToString(New().Bytes()) + `"]`
	for _, text := range []string{
		``, `[]`, `{}`, `{"version":1}`, `{"version":1,"pass":"steady","keys":[]}`,
		`{"version":0,"pass":"steady","keys":["` + key + `"]}`,
		`{"version":1,"pass":"remove","keys":["` + key + `"]}`,
		`{"version":1,"pass":"steady","keys":` + two + `}`,
		`{"version":1,"pass":"use","keys":["` + key + `"]}`,
		`{"version":1,"pass":"use","keys":["` + key + `","` + key + `"]}`,
		`{"version":1,"pass":"steady","keys":["` + key[:20] + `"]}`,
		`{"version":1,"pass":"steady","keys":"` + key + `"}`,
		`{"version":-1,"pass":"steady","keys":["` + key + `"]}`,
	} {
		_, err := Decode([]byte(text))
		if !errors.Is(err, ErrFormat) {
			t.Errorf("%s: %v", text, err)
		}
		if err != nil && strings.Contains(err.Error(), key[:12]) {
			t.Errorf("the error shows a key: %v", err)
		}
	}
}

// Nothing that prints or marshals shows a key.
func TestNothingShowsAKey(t *testing.T) {
	k := New()
	r := Start(k)
	if err := r.Begin(New()); err != nil {
		t.Fatal(err)
	}
	type holder struct {
		Key  Key
		key  Key
		r    *Rotation
		keys []Key
	}
	held := holder{k, k, r, []Key{k}}
	var out bytes.Buffer
	for _, v := range []any{k, &k, []Key{k}, r, *r, r.Set(), held, &held, map[string]Key{"k": k}} {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d"} {
			fmt.Fprintf(&out, verb, v)
		}
		for _, h := range []slog.Handler{slog.NewTextHandler(&out, nil), slog.NewJSONHandler(&out, nil)} {
			slog.New(h).Info("keys", "value", v)
		}
		b, _ := json.Marshal(v)
		out.Write(b)
	}
	b := k.Bytes()
	for what, secret := range map[string]string{
		"the bytes": string(b), "hexadecimal digits": hex.EncodeToString(b), "base64": base64.StdEncoding.EncodeToString(b),
		"decimal numbers": strings.Trim(fmt.Sprint(b[:6]), "[]"), "%#v": strings.Trim(fmt.Sprintf("%#v", b[:6]), "[]byte{}"),
	} {
		if strings.Contains(strings.ToLower(out.String()), strings.ToLower(secret)) {
			t.Errorf("%s are shown", what)
		}
	}
	if !strings.Contains(out.String(), k.String()) {
		t.Error("a key has no name")
	}
}

// member is one process in the simulation: what it has, and whether the coordinator hears it.
type member struct {
	set     Set
	present bool
	inbox   []Set // on their way to it, in order
}

// simulate runs rotations among members that come, go and are slow. Whenever two that are
// present have had a first message, each can read what the other sends; it reports the first
// pair for which that is not so.
func simulate(seed uint64, patience bool) error {
	rng := rand.New(rand.NewPCG(seed, 1))
	r := Start(New())
	members := map[string]*member{}
	names := []string{"a", "b", "c", "d"}
	present := func() (list []string) {
		for _, n := range names {
			if m := members[n]; m != nil && m.present {
				list = append(list, n)
			}
		}
		return list
	}
	send := func() {
		for _, n := range present() {
			members[n].inbox = append(members[n].inbox, r.Set())
		}
	}
	for range 400 {
		name := names[rng.IntN(len(names))]
		m := members[name]
		switch rng.IntN(7) {
		case 0: // a session begins: the keys come with it, before the process joins the gossip
			if m == nil || !m.present {
				r.Forget(name)
				members[name] = &member{present: true, set: r.Set()}
			}
		case 1:
			if m != nil {
				m.present = false
				r.Forget(name)
			}
		case 2, 3: // a message arrives, and is confirmed
			if m != nil && m.present && len(m.inbox) > 0 {
				m.set, m.inbox = m.inbox[0], m.inbox[1:]
				r.Confirm(name, m.set.Version)
			}
			if m != nil && m.present {
				r.Confirm(name, m.set.Version)
			}
		case 4:
			if r.Begin(New()) == nil {
				send()
			}
		case 5:
			all := present()
			if !patience {
				all = nil
			}
			if r.Advance(all) {
				send()
			}
		case 6: // the coordinator starts again
			b, err := r.Encode()
			if err != nil {
				return err
			}
			if r, err = Decode(b); err != nil {
				return err
			}
			send()
		}
		for _, from := range present() {
			for _, to := range present() {
				if !slices.ContainsFunc(members[to].set.Keys, members[from].set.Keys[0].Equal) {
					return fmt.Errorf("seed %d: %s with %v does not understand %s with %v", seed, to, members[to].set, from, members[from].set)
				}
			}
		}
	}
	return nil
}

// Under any order of events all that are present understand one another. Without the wait for
// confirmations they do not.
func TestSimulation(t *testing.T) {
	broken := 0
	for seed := range uint64(200) {
		if err := simulate(seed, true); err != nil {
			t.Fatal(err)
		}
		if simulate(seed, false) != nil {
			broken++
		}
	}
	if broken < 160 {
		t.Errorf("without patience only %d of 200 rotations broke", broken)
	}
}
