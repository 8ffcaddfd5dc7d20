package gossip

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ergoflow/ergoflow/coordinator/gossip/keys"
)

// keyed starts a member with keys.
func keyed(t *testing.T, name string, list []keys.Key, seeds ...string) *Gossip {
	t.Helper()
	g, err := Join(t.Context(), Config{Name: name, Bind: "127.0.0.1:0", Seeds: seeds, Meta: Meta{Role: RoleWorker, Device: name}, Keys: list})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := g.Close(); err != nil {
			t.Error(err)
		}
	})
	return g
}

// understand reports whether a message, and its answer, pass from one member to another: by
// packets and by streams.
func understand(from, to *Gossip) error {
	address, err := net.ResolveUDPAddr("udp", to.Address())
	if err != nil {
		return err
	}
	var packets error
	for range 3 { // the time-out of one is short for a busy machine
		if _, packets = from.list.Ping(to.list.LocalNode().Name, address); packets == nil {
			break
		}
	}
	_, streams := from.list.Join([]string{to.Address()})
	return errors.Join(packets, streams)
}

// allUnderstand checks all pairs.
func allUnderstand(t *testing.T, what string, members ...*Gossip) {
	t.Helper()
	for _, from := range members {
		for _, to := range members {
			if from == to {
				continue
			}
			if err := understand(from, to); err != nil {
				t.Errorf("%s: %s does not reach %s: %v", what, from.list.LocalNode().Name, to.list.LocalNode().Name, err)
			}
		}
	}
}

// together waits until all members list one another.
func together(t *testing.T, members ...*Gossip) {
	t.Helper()
	for _, g := range members {
		for _, other := range members {
			listed(t, g, other.list.LocalNode().Name, true)
		}
	}
}

// watch reports, when stop is called, members that a member has ceased to list.
func watch(t *testing.T, g *Gossip, others ...*Gossip) (stop func()) {
	t.Helper()
	done := make(chan struct{})
	var group sync.WaitGroup
	group.Go(func() {
		for {
			changed := g.Changed()
			for _, other := range others {
				// LocalNode waits for memberlist, which holds its lock while it waits for g.mu.
				name := other.list.LocalNode().Name
				g.mu.Lock()
				_, ok := g.members[name]
				g.mu.Unlock()
				if !ok {
					t.Errorf("%s has lost %s", g.list.LocalNode().Name, name)
					return
				}
			}
			select {
			case <-changed:
			case <-done:
				return
			}
		}
	})
	return func() { close(done); group.Wait() }
}

// A rotation in three passes, one member after the other: at no moment two members fail to
// understand each other, and none is ever lost. A member that was away comes back with the
// new key alone, and one with the old key does not.
func TestRotation(t *testing.T) {
	t.Parallel() // it waits for seconds
	old, next := keys.New(), keys.New()
	a := keyed(t, "a", []keys.Key{old})
	b := keyed(t, "b", []keys.Key{old}, a.Address())
	c := keyed(t, "c", []keys.Key{old}, a.Address())
	away := keyed(t, "away", []keys.Key{old}, a.Address())
	members := []*Gossip{a, b, c}
	together(t, a, b, c, away)
	if err := away.Close(); err != nil {
		t.Fatal(err)
	}
	listed(t, a, "away", false)
	for _, g := range members {
		defer watch(t, g, members...)()
	}
	r := keys.Start(old)
	if err := r.Begin(next); err != nil {
		t.Fatal(err)
	}
	present := []string{"a", "b", "c"}
	for advanced := true; advanced; {
		set := r.Set()
		for i, g := range members {
			if err := g.SetKeys(set.Keys); err != nil {
				t.Fatal(err)
			}
			allUnderstand(t, fmt.Sprintf("%s, %d of 3", r.Pass(), i+1), members...)
			r.Confirm(present[i], set.Version)
		}
		advanced = r.Advance(present)
	}
	if set := r.Set(); r.Pass() != keys.Steady || !set.Keys[0].Equal(next) {
		t.Fatalf("ends with pass %s and %v", r.Pass(), set.Keys)
	}
	if have := a.ring.GetKeys(); len(have) != 1 || !bytes.Equal(have[0], next.Bytes()) {
		t.Errorf("a has %d keys", len(have))
	}
	back := keyed(t, "back", r.Set().Keys, c.Address())
	together(t, a, b, c, back)
	if _, err := Join(t.Context(), Config{Name: "late", Bind: "127.0.0.1:0", Seeds: []string{b.Address()}, Meta: Meta{Role: RoleWorker},
		Keys: []keys.Key{old}, Wait: time.Second}); !errors.Is(err, ErrWrongKey) {
		t.Errorf("with the old key: %v", err)
	}
}

// The order of the passes matters: who uses a key that others lack is not understood.
func TestUseBeforeInstall(t *testing.T) {
	t.Parallel() // it waits for seconds
	old, next := keys.New(), keys.New()
	a := keyed(t, "a", []keys.Key{old})
	b := keyed(t, "b", []keys.Key{old}, a.Address())
	together(t, a, b)
	if err := b.SetKeys([]keys.Key{next, old}); err != nil {
		t.Fatal(err)
	}
	if understand(b, a) == nil {
		t.Error("a understands a key that it does not have")
	}
	if err := a.SetKeys([]keys.Key{old, next}); err != nil {
		t.Fatal(err)
	}
	allUnderstand(t, "installed", a, b)
}

// Any change of one list of keys to another ends with just these, in this order. The list is
// read meanwhile, for the race detector.
func TestSetKeys(t *testing.T) {
	k := []keys.Key{keys.New(), keys.New(), keys.New()}
	g := keyed(t, "a", k[:1])
	stop := make(chan struct{})
	var group sync.WaitGroup
	defer func() { close(stop); group.Wait() }()
	group.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				for _, key := range g.ring.GetKeys() {
					if len(key) != keys.Size {
						t.Error("half a key")
						return
					}
				}
			}
		}
	})
	var lists [][]keys.Key
	for i := range k {
		lists = append(lists, []keys.Key{k[i]})
		for j := range k {
			if i != j {
				lists = append(lists, []keys.Key{k[i], k[j]})
			}
		}
	}
	for range 20000 { // a chance for the race detector: two removals, the first of them in the middle
		if err := errors.Join(g.SetKeys(k[:2]), g.SetKeys(k[2:])); err != nil {
			t.Fatal(err)
		}
	}
	for _, before := range lists {
		for _, after := range lists {
			if err := errors.Join(g.SetKeys(before), g.SetKeys(after)); err != nil {
				t.Fatal(err)
			}
			have := g.ring.GetKeys()
			if len(have) != len(after) {
				t.Fatalf("%v after %v: %d keys", after, before, len(have))
			}
			for i := range have {
				if !bytes.Equal(have[i], after[i].Bytes()) {
					t.Fatalf("%v after %v: another key at %d", after, before, i)
				}
			}
		}
	}
	for _, list := range [][]keys.Key{nil, k, {{}}} {
		if err := g.SetKeys(list); err == nil {
			t.Errorf("it takes %v", list)
		}
		if list == nil {
			continue
		}
		if _, err := Join(t.Context(), Config{Name: "b", Bind: "127.0.0.1:0", Meta: Meta{Role: RoleWorker}, Keys: list}); err == nil {
			t.Errorf("a member starts with %v", list)
		}
	}
	if err := join(t, "plain", Meta{Role: RoleWorker}).SetKeys(k[:1]); err == nil {
		t.Error("a member in plain text takes keys")
	}
}

// lines is a handler that keeps what is logged.
type lines struct {
	mu   *sync.Mutex
	text *[]string
}

func (l lines) Enabled(_ context.Context, level slog.Level) bool { return level >= slog.LevelInfo }
func (l lines) WithAttrs([]slog.Attr) slog.Handler               { return l }
func (l lines) WithGroup(string) slog.Handler                    { return l }
func (l lines) Handle(_ context.Context, r slog.Record) error {
	text := r.Level.String() + " " + r.Message
	r.Attrs(func(a slog.Attr) bool { text += " " + a.String(); return true })
	l.mu.Lock()
	defer l.mu.Unlock()
	*l.text = append(*l.text, text)
	return nil
}

func (l lines) of(err error) (n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, line := range *l.text {
		if strings.HasPrefix(line, "WARN") && strings.Contains(line, err.Error()) {
			n++
		}
	}
	return n
}

func newLines() lines { return lines{new(sync.Mutex), new([]string)} }

// logging has members log to a list of lines.
func logging(t *testing.T) lines {
	t.Helper()
	l, before := newLines(), slog.Default()
	slog.SetDefault(slog.New(l))
	t.Cleanup(func() { slog.SetDefault(before) })
	return l
}

// When processes with other keys meet, each of them says so in one line, and the one that
// joins says it in its error too.
func TestMeetings(t *testing.T) {
	t.Parallel() // it waits for seconds
	k := []keys.Key{keys.New()}
	for name, c := range map[string]struct {
		seed, joiner     []keys.Key
		atSeed, atJoiner error
	}{
		"without key to key": {k, nil, ErrPlaintext, ErrEncrypted},
		"key to without key": {nil, k, ErrEncrypted, ErrPlaintext},
		"key to another key": {k, []keys.Key{keys.New()}, ErrWrongKey, ErrWrongKey},
	} {
		t.Run(name, func(t *testing.T) {
			atSeed := logging(t)
			seed := keyed(t, "seed", c.seed)
			atJoiner := logging(t)
			_, err := Join(t.Context(), Config{Name: "joiner", Bind: "127.0.0.1:0", Seeds: []string{seed.Address()}, Meta: Meta{Role: RoleWorker}, Keys: c.joiner, Wait: time.Second})
			if !errors.Is(err, c.atJoiner) || !strings.Contains(err.Error(), seed.Address()) {
				t.Errorf("the joiner: %v", err)
			}
			// It asked several times.
			if n := atSeed.of(c.atSeed); n != 1 {
				t.Errorf("the seed has %d lines: %q", n, *atSeed.text)
			}
			if n := atJoiner.of(c.atJoiner); n != 1 {
				t.Errorf("the joiner has %d lines: %q", n, *atJoiner.text)
			}
			if len(seed.Members()) != 1 {
				t.Errorf("the seed lists %v", seed.Members())
			}
		})
	}
}

// Each kind of trouble comes once a minute, and other messages stay at debug level.
func TestQuiet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLines()
		log := slog.NewLogLogger(newQuiet(l), slog.LevelDebug)
		for range 150 { // seconds
			log.Print("[ERR] memberlist: failed to receive: encryption is configured but remote state is not encrypted from=10.0.0.7:5")
			log.Print("[ERR] memberlist: Decrypt packet failed: no installed keys could decrypt the message from=10.0.0.7:5")
			log.Print("[ERR] memberlist: Failed fallback TCP ping: timeout")
			time.Sleep(time.Second) // on the bubble's clock
		}
		for err, want := range map[error]int{ErrPlaintext: 3, ErrWrongKey: 3, ErrEncrypted: 0} {
			if n := l.of(err); n != want {
				t.Errorf("%v: %d lines, want %d", err, n, want)
			}
		}
		if len(*l.text) != 6 || !strings.Contains((*l.text)[0], "10.0.0.7:5") {
			t.Errorf("%q", *l.text)
		}
	})
}

// What a member prints of itself does not show its keys.
func TestConfigHidesKeys(t *testing.T) {
	k := keys.New()
	c := Config{Name: "a", Keys: []keys.Key{k}}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%x"} {
		text := fmt.Sprintf(verb, c)
		if strings.Contains(text, string(k.Bytes())) || strings.Contains(text, fmt.Sprintf("%x", k.Bytes()[:6])) || !strings.Contains(text, k.String()) {
			t.Errorf("%s: %s", verb, text)
		}
	}
}
