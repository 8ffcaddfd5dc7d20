package gossip

import (
	"bytes"
	"context"
	"crypto/aes"
	"crypto/cipher"
	"log/slog"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/memberlist"

	"github.com/ergoflow/ergoflow/coordinator/gossip/keys"
)

// A recorder is a member of memberlist that keeps all that it reads from its sockets.
type recorder struct {
	*memberlist.NetTransport
	packets chan *memberlist.Packet
	streams chan net.Conn
	done    chan struct{}

	mu     sync.Mutex
	packet [][]byte
	stream []*bytes.Buffer // what was read of each connection
}

func record(t *testing.T, list []keys.Key) (*memberlist.Memberlist, *recorder) {
	t.Helper()
	inner, err := memberlist.NewNetTransport(&memberlist.NetTransportConfig{BindAddrs: []string{"127.0.0.1"}, Logger: slog.NewLogLogger(slog.DiscardHandler, 0)})
	if err != nil {
		t.Fatal(err)
	}
	r := &recorder{NetTransport: inner, packets: make(chan *memberlist.Packet), streams: make(chan net.Conn), done: make(chan struct{})}
	var group sync.WaitGroup
	group.Go(func() {
		for {
			select {
			case p := <-inner.PacketCh():
				r.mu.Lock()
				r.packet = append(r.packet, bytes.Clone(p.Buf))
				r.mu.Unlock()
				select {
				case r.packets <- p:
				case <-r.done:
				}
			case conn := <-inner.StreamCh():
				select {
				case r.streams <- r.taped(conn):
				case <-r.done:
				}
			case <-r.done:
				return
			}
		}
	})
	g := &Gossip{meta: metaOf(Meta{Role: RoleWorker}), members: map[string]known{}, coordinators: map[string]Member{}, changed: make(chan struct{})}
	conf := g.profile(Config{Name: "recorder"}, "127.0.0.1", inner.GetAutoBindPort())
	if err := encrypt(conf, list); err != nil {
		t.Fatal(err)
	}
	conf.Transport = r
	g.versions = conf.BuildVsnArray()
	m, err := memberlist.Create(conf)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = m.Shutdown(); close(r.done); group.Wait() })
	return m, r
}

func (r *recorder) PacketCh() <-chan *memberlist.Packet { return r.packets }
func (r *recorder) StreamCh() <-chan net.Conn           { return r.streams }

func (r *recorder) DialAddressTimeout(a memberlist.Address, timeout time.Duration) (net.Conn, error) {
	conn, err := r.DialTimeout(a.Addr, timeout)
	if err != nil {
		return nil, err
	}
	return r.taped(conn), nil
}

func (r *recorder) taped(conn net.Conn) net.Conn {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stream = append(r.stream, new(bytes.Buffer))
	return &tapedConn{conn, r, r.stream[len(r.stream)-1]}
}

type tapedConn struct {
	net.Conn
	*recorder
	tape *bytes.Buffer
}

func (c *tapedConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.tape.Write(b[:n])
	return n, err
}

// opens reports whether a key opens what was on the wire, as memberlist's formats say: one byte
// of version, 12 of nonce, and the sealed text. A stream has five more bytes before, which are
// authenticated.
func opens(k keys.Key, wire []byte, isStream bool) bool {
	var additional []byte
	if isStream {
		if len(wire) < 5 {
			return false
		}
		additional, wire = wire[:5], wire[5:]
	}
	block, err := aes.NewCipher(k.Bytes())
	if err != nil {
		return false
	}
	gcm, err := cipher.NewGCM(block)
	if err != nil || len(wire) < 13 {
		return false
	}
	_, err = gcm.Open(nil, wire[1:13], wire[13:], additional)
	return err == nil
}

// Whatever a member with keys sends is sealed with AES-256-GCM under the first key.
func TestNoPlaintextOnTheWire(t *testing.T) {
	t.Parallel() // it waits for seconds
	first, second := keys.New(), keys.New()
	for name, list := range map[string][]keys.Key{"encrypted": {first, second}, "plain": nil} {
		t.Run(name, func(t *testing.T) {
			tape, r := record(t, list)
			seed := tape.LocalNode().Address()
			a := keyed(t, "first-member", list, seed)
			b := keyed(t, "second-member", list, seed)
			together(t, a, b)
			listed(t, a, "recorder", true)
			if _, err := tape.Join([]string{b.Address()}); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			enough := func() bool {
				r.mu.Lock()
				defer r.mu.Unlock()
				streams := 0
				for _, s := range r.stream {
					streams += min(s.Len(), 1)
				}
				return len(r.packet) >= 5 && streams >= 3 // what is asked for below
			}
			for tick := time.NewTicker(10 * time.Millisecond); !enough(); {
				select {
				case <-tick.C:
				case <-ctx.Done():
					t.Fatal("no five packets and three streams")
				}
			}
			r.mu.Lock()
			defer r.mu.Unlock()
			sealed, plain, named := 0, 0, false
			count := func(wire []byte, isStream bool) {
				switch {
				case opens(first, wire, isStream):
					sealed++
				case len(wire) > 0:
					plain++
				}
				named = named || bytes.Contains(wire, []byte("member"))
			}
			for _, p := range r.packet {
				count(p, false)
			}
			for _, s := range r.stream {
				count(s.Bytes(), true)
			}
			if list != nil && (plain > 0 || sealed < 8 || named) || list == nil && (sealed > 0 || plain < 8 || !named) {
				t.Errorf("%d messages are sealed and %d are not; names are seen: %v", sealed, plain, named)
			}
			if len(r.stream) < 3 {
				t.Errorf("%d streams", len(r.stream))
			}
		})
	}
}

// A flood of forged packets does nothing to a member with keys: not even the forged members of
// TestForgedMembers that live for seconds.
func TestForgedWithoutKey(t *testing.T) {
	k := []keys.Key{keys.New()}
	a := keyed(t, "a", k)
	b := keyed(t, "b", k, a.Address())
	together(t, a, b)
	f := forged{"made up", []byte{127, 0, 0, 1}, 9, metaOf(Meta{Role: RoleWorker}), spoken, 1}
	defer watch(t, a, a, b)()
	for range 100 {
		send(t, "udp", a.Address(), f.packet(aliveMsg))
	}
	send(t, "udp", a.Address(), forged{name: "b", incarnation: 1 << 31}.packet(deadMsg))
	send(t, "tcp", a.Address(), f.exchange(stateAlive))
	allUnderstand(t, "after the forgeries", a, b)
	for _, m := range a.Members() {
		if m.Name == f.name {
			t.Error("a lists a forged member")
		}
	}
}

// Packets and streams that somebody has recorded and sends again, under the key of then, bring no
// member back that has left, and take none away.
func TestReplayedGossip(t *testing.T) {
	t.Parallel() // it waits for seconds
	k := []keys.Key{keys.New()}
	tape, r := record(t, k)
	seed := tape.LocalNode().Address()
	a := keyed(t, "a", k, seed)
	gone := keyed(t, "gone", k, seed)
	together(t, a, gone)
	listed(t, a, "recorder", true)
	if _, err := tape.Join([]string{gone.Address()}); err != nil { // a stream with its state
		t.Fatal(err)
	}
	if err := gone.Close(); err != nil { // its farewell is recorded, too
		t.Fatal(err)
	}
	listed(t, a, "gone", false)
	b := keyed(t, "b", k, a.Address())
	together(t, a, b)
	r.mu.Lock()
	packets, streams := r.packet, r.stream
	r.mu.Unlock()
	if len(packets) == 0 || len(streams) == 0 {
		t.Fatalf("recorded are %d packets and %d streams", len(packets), len(streams))
	}
	defer watch(t, a, a, b)()
	defer watch(t, b, a, b)()
	for _, to := range []*Gossip{a, b} {
		for range 10 {
			for _, p := range packets {
				send(t, "udp", to.Address(), p)
			}
		}
		r.mu.Lock()
		for _, s := range streams {
			send(t, "tcp", to.Address(), s.Bytes())
		}
		r.mu.Unlock()
	}
	allUnderstand(t, "after the replay", a, b)
	for _, m := range a.Members() {
		if m.Name == "gone" {
			t.Error("a lists a member that has left")
		}
	}
}
