package gossip

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net"
	"strings"
	"testing"
	"time"
)

// forged is what anyone who reaches the gossip can say of a member. Versions are, in
// memberlist's order: protocol least, most and spoken, then the same of the delegate.
type forged struct {
	name        string
	addr        []byte
	port        uint16
	meta        []byte
	versions    []byte
	incarnation uint32
}

// Kinds of memberlist's messages, and states in its lists.
const (
	suspectMsg, aliveMsg, deadMsg, pushPullMsg = 3, 4, 5, 6

	stateAlive, stateSuspect, stateDead, stateLeft = 0, 1, 2, 3
)

// raw, number and mapping write MessagePack, as far as memberlist needs it.
func raw[T string | []byte](b []byte, value T) []byte {
	b = append(b, 0xdb)
	b = binary.BigEndian.AppendUint32(b, uint32(len(value)))
	return append(b, value...)
}

func number(b []byte, n uint64) []byte { return binary.BigEndian.AppendUint64(append(b, 0xcf), n) }

func mapping(b []byte, entries int) []byte { return append(b, 0x80|byte(entries)) }

// packet is a message of one kind about the member.
func (f forged) packet(kind byte) []byte {
	b := []byte{kind}
	if kind != aliveMsg {
		b = number(raw(mapping(b, 3), "Incarnation"), uint64(f.incarnation))
		b = raw(raw(b, "Node"), f.name)
		return raw(raw(b, "From"), "somebody")
	}
	b = number(raw(mapping(b, 6), "Incarnation"), uint64(f.incarnation))
	b = raw(raw(b, "Node"), f.name)
	b = raw(raw(b, "Addr"), f.addr)
	b = number(raw(b, "Port"), uint64(f.port))
	b = raw(raw(b, "Meta"), f.meta)
	return raw(raw(b, "Vsn"), f.versions)
}

// exchange is a list of the member alone, as a process sends it that joins.
func (f forged) exchange(state byte) []byte {
	b := number(raw(mapping([]byte{pushPullMsg}, 3), "Nodes"), 1)
	b = number(raw(b, "UserStateLen"), 0)
	b = append(raw(b, "Join"), 0xc3)
	b = raw(raw(mapping(b, 7), "Name"), f.name)
	b = raw(raw(b, "Addr"), f.addr)
	b = number(raw(b, "Port"), uint64(f.port))
	b = raw(raw(b, "Meta"), f.meta)
	b = number(raw(b, "Incarnation"), uint64(f.incarnation))
	b = number(raw(b, "State"), uint64(state))
	return raw(raw(b, "Vsn"), f.versions)
}

// send sends to a member over one network, and waits until a connection is closed: the
// exchange is over then.
func send(t *testing.T, network, address string, message []byte) {
	t.Helper()
	conn, err := net.Dial(network, address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := conn.Write(message); err != nil && network == "udp" {
		t.Log(err) // too long for a packet
	}
	if network == "tcp" {
		conn.(*net.TCPConn).CloseWrite()
		_, _ = io.Copy(io.Discard, conn)
	}
}

var spoken = []byte{1, 5, 2, 0, 0, 0} // by this version of memberlist

// patience is for what takes a few seconds on an idle machine.
const patience = time.Minute

// listed waits until a member lists another, or does not.
func listed(t *testing.T, g *Gossip, name string, want bool) Member {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for {
		changed := g.Changed()
		g.mu.Lock()
		m, ok := g.members[name]
		g.mu.Unlock()
		if ok == want {
			return m.Member
		}
		select {
		case <-changed:
		case <-ctx.Done():
			t.Fatalf("lists %s: %v", name, ok)
		}
	}
}

const control = "127.0.0.1:7000"

func coordinating(t *testing.T) *Gossip {
	return join(t, CoordinatorName(control, 1), Meta{Role: RoleCoordinator, ControlAddress: control})
}

func metaOf(m Meta) []byte {
	b, err := json.Marshal(m)
	if err != nil {
		panic(err)
	}
	return b
}

// Nobody can be made a member that would keep others from joining: exchanges of lists
// succeed, with the member itself and with newcomers.
func TestForgedMembers(t *testing.T) {
	t.Parallel() // it waits for seconds
	worker := metaOf(Meta{Role: RoleWorker})
	here := []byte{127, 0, 0, 1}
	g := coordinating(t)
	for what, f := range map[string]forged{
		"no versions":            {"a", here, 9, worker, nil, 1},
		"five versions":          {"b", here, 9, worker, spoken[:5], 1},
		"zero versions":          {"c", here, 9, worker, make([]byte, 6), 1},
		"newer protocol":         {"d", here, 9, worker, []byte{3, 9, 9, 0, 0, 0}, 1},
		"older protocol":         {"e", here, 9, worker, []byte{1, 1, 1, 0, 0, 0}, 1},
		"another of the range":   {"f", here, 9, worker, []byte{2, 5, 5, 0, 0, 0}, 1},
		"the range reversed":     {"g", here, 9, worker, []byte{5, 1, 2, 0, 0, 0}, 1},
		"newer delegate":         {"h", here, 9, worker, []byte{1, 5, 2, 1, 1, 1}, 1},
		"no name":                {"", here, 9, worker, spoken, 1},
		"a long name":            {strings.Repeat("x", maxName+1), here, 9, worker, spoken, 1},
		"a name of escapes":      {"\x1b[31m", here, 9, worker, spoken, 1},
		"a name that is no text": {"\xff", here, 9, worker, spoken, 1},
		"no address":             {"i", nil, 9, worker, spoken, 1},
		"an address of 3 bytes":  {"j", here[:3], 9, worker, spoken, 1},
		"all interfaces":         {"k", make([]byte, 4), 9, worker, spoken, 1},
		"multicast":              {"l", []byte{224, 0, 0, 1}, 9, worker, spoken, 1},
		"broadcast":              {"m", []byte{255, 255, 255, 255}, 9, worker, spoken, 1},
		"no metadata":            {"n", here, 9, nil, spoken, 1},
		"metadata of bytes":      {"o", here, 9, []byte{0xff}, spoken, 1},
		"an unknown role":        {"p", here, 9, []byte(`{"role":"king"}`), spoken, 1},
		"another's control":      {"q", here, 9, metaOf(Meta{Role: RoleCoordinator, ControlAddress: "127.0.0.1:1"}), spoken, 1},
	} {
		send(t, "udp", g.Address(), f.packet(aliveMsg))
		send(t, "tcp", g.Address(), f.exchange(stateAlive))
		if _, err := g.list.Join([]string{g.Address()}); err != nil {
			t.Errorf("%s: %v", what, err)
		}
		for _, m := range g.Members() {
			if m.Name != g.list.LocalNode().Name {
				t.Fatalf("%s: lists %+v", what, m)
			}
		}
	}
	// One that cannot be told from a member is listed until it does not answer.
	made := forged{"made up", here, 9, worker, spoken, 1}
	send(t, "udp", g.Address(), made.packet(aliveMsg))
	listed(t, g, made.name, true)
	w := join(t, "w", Meta{Role: RoleWorker}, g.Address())
	if found, err := w.Coordinator(t.Context(), ""); err != nil || found != control {
		t.Errorf("a newcomer finds %q, %v", found, err)
	}
	listed(t, w, made.name, false)
}

// A message under a coordinator's name cannot send the workers elsewhere, and one that makes
// it dead, under the greatest number, does so for seconds.
func TestForgedCoordinator(t *testing.T) {
	t.Parallel() // it waits for seconds
	g := coordinating(t)
	w := join(t, "w", Meta{Role: RoleWorker}, g.Address())
	own := g.list.LocalNode()
	name := own.Name
	listed(t, w, name, true)
	untrue := forged{name, own.Addr.To4(), own.Port, nil, spoken, math.MaxUint32}
	for _, elsewhere := range []string{"127.0.0.1:1", control[1:]} { // the latter is a part of the name
		untrue.meta = metaOf(Meta{Role: RoleCoordinator, ControlAddress: elsewhere, Started: math.MaxInt64})
		send(t, "udp", w.Address(), untrue.packet(aliveMsg))
		send(t, "tcp", w.Address(), untrue.exchange(stateAlive))
	}
	last := forged{"last", untrue.addr, 9, metaOf(Meta{Role: RoleWorker}), spoken, 1}
	send(t, "udp", w.Address(), last.packet(aliveMsg))
	listed(t, w, last.name, true) // the packets before are read
	if found := listed(t, w, name, true); found.Meta.ControlAddress != control {
		t.Errorf("the coordinator is at %s", found.Meta.ControlAddress)
	}
	send(t, "udp", w.Address(), untrue.packet(deadMsg))
	listed(t, w, name, false)
	listed(t, w, name, true)
}

// A made-up coordinator that was started later than the true one is avoided once it has
// not answered.
func TestAvoid(t *testing.T) {
	t.Parallel() // it waits for seconds
	g := coordinating(t)
	const other = "127.0.0.1:1"
	f := forged{CoordinatorName(other, 1), []byte{127, 0, 0, 1}, 9, metaOf(Meta{Role: RoleCoordinator, ControlAddress: other, Started: math.MaxInt64}), spoken, 1}
	send(t, "udp", g.Address(), f.packet(aliveMsg))
	listed(t, g, f.name, true)
	for avoid, want := range map[string]string{"": other, other: control, control: other} {
		if found, err := g.Coordinator(t.Context(), avoid); err != nil || found != want {
			t.Errorf("avoiding %q: %q, %v", avoid, found, err)
		}
	}
	listed(t, g, f.name, false)
	if found, err := g.Coordinator(t.Context(), control); err != nil || found != control { // there is no other
		t.Errorf("%q, %v", found, err)
	}
}

// A flood of names is bounded.
func TestFullList(t *testing.T) {
	g := coordinating(t)
	g.mu.Lock()
	for i := range maxMembers {
		g.members[fmt.Sprint(i)] = known{}
	}
	g.mu.Unlock()
	f := forged{"one more", []byte{127, 0, 0, 1}, 9, metaOf(Meta{Role: RoleWorker}), spoken, 1}
	send(t, "tcp", g.Address(), f.exchange(stateAlive))
	g.mu.Lock()
	defer g.mu.Unlock()
	if _, ok := g.members[f.name]; ok {
		t.Error("it was added")
	}
}

// FuzzPackets tells a member anything about another, in packets and in exchanges of lists.
// In all cases it exchanges lists afterwards, on which joins depend, it lists itself, and
// all that it lists is well-formed.
func FuzzPackets(f *testing.F) {
	here, worker := []byte{127, 0, 0, 1}, metaOf(Meta{Role: RoleWorker, DataAddress: "127.0.0.1:7001"})
	f.Add("a", here, uint16(9), worker, []byte(nil), uint32(1), byte(aliveMsg), byte(stateAlive))
	f.Add("a", here, uint16(9), worker, spoken, uint32(1), byte(aliveMsg), byte(stateSuspect))
	f.Add(CoordinatorName(control, 1), here, uint16(9), metaOf(Meta{Role: RoleCoordinator, ControlAddress: control}), spoken, uint32(math.MaxUint32), byte(aliveMsg), byte(stateLeft))
	f.Add(CoordinatorName(control, 1), here, uint16(0), worker, []byte{1, 5, 2, 0, 0}, uint32(7), byte(deadMsg), byte(stateDead))
	f.Add("\xff", []byte{1, 2, 3}, uint16(0), []byte(`{"role":"worker","version":"\u0000"}`), []byte{2, 5, 5, 0, 0, 0}, uint32(0), byte(suspectMsg), byte(9))
	var g *Gossip
	open := func() {
		var err error
		g, err = Join(context.Background(), Config{Name: CoordinatorName(control, 1), Bind: "127.0.0.1:0", Meta: Meta{Role: RoleCoordinator, ControlAddress: control}})
		if err != nil {
			f.Fatal(err)
		}
	}
	open()
	f.Cleanup(func() { g.Close() })
	f.Fuzz(func(t *testing.T, name string, addr []byte, port uint16, meta, versions []byte, incarnation uint32, kind, state byte) {
		m := forged{name, addr, port, meta, versions, incarnation}
		send(t, "udp", g.Address(), m.packet(kind))
		send(t, "tcp", g.Address(), m.exchange(state))
		for range 2 {
			if _, err := g.list.Join([]string{g.Address()}); err != nil {
				t.Fatal(err)
			}
		}
		own := false
		members := g.Members()
		for _, m := range members {
			if err := checkName(m.Name, m.Meta); err != nil || m.Meta.check() != nil {
				t.Fatalf("lists %+v: %v", m, err)
			}
			own = own || m.Meta.ControlAddress == control
		}
		if !own {
			t.Fatal("does not list itself")
		}
		if len(members) > 100 { // made-up members are slow to go
			g.Close()
			open()
		}
	})
}
