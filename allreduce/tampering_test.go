package allreduce

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/internal/trust"
	"github.com/ergoflow/ergoflow/internal/trust/trusttest"
)

// between forwards connections to target: what a client sends by forward, the answers by back.
func between(t *testing.T, target string, forward, back func(to io.Writer, from io.Reader)) (address string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	all.Go(func() {
		for {
			from, err := l.Accept()
			if err != nil {
				return
			}
			to, err := net.Dial("tcp", target)
			if err != nil {
				t.Error(err)
				return
			}
			all.Go(func() {
				defer from.Close()
				back(from, to)
			})
			all.Go(func() {
				defer to.Close()
				forward(to, from)
			})
		}
	})
	t.Cleanup(func() {
		l.Close()
		all.Wait()
	})
	return l.Addr().String()
}

// meddler is between two processes and changes the records that one sends to the other.
type meddler struct {
	address string
	change  func(i int, record []byte) [][]byte // what it sends in place of record i
	mu      sync.Mutex
	sent    []byte // what came to it
}

func meddle(t *testing.T, target string, change func(i int, record []byte) [][]byte) *meddler {
	t.Helper()
	m := &meddler{change: change}
	m.address = between(t, target, m.pass, func(to io.Writer, from io.Reader) { io.Copy(to, from) })
	return m
}

// pass sends records on.
func (m *meddler) pass(to io.Writer, from io.Reader) {
	for i := 0; ; i++ {
		var head [5]byte
		if _, err := io.ReadFull(from, head[:]); err != nil {
			return
		}
		body := make([]byte, binary.BigEndian.Uint16(head[3:]))
		if _, err := io.ReadFull(from, body); err != nil {
			return
		}
		record := slices.Concat(head[:], body)
		m.mu.Lock()
		m.sent = append(m.sent, record...)
		m.mu.Unlock()
		for _, r := range m.change(i, record) {
			if _, err := to.Write(r); err != nil {
				return
			}
		}
	}
}

// Who is between the members can change, repeat, drop or swap nothing that is added.
func TestChangedRecords(t *testing.T) {
	const world, n = 2, 200_000 // dozens of records
	const at = 20               // past handshake and greeting
	var held []byte
	for name, change := range map[string]func(i int, record []byte) [][]byte{
		"one bit": func(i int, r []byte) [][]byte {
			if i == at {
				r[len(r)/2] ^= 1
			}
			return [][]byte{r}
		},
		"repeated": func(i int, r []byte) [][]byte {
			if i == at {
				return [][]byte{r, r}
			}
			return [][]byte{r}
		},
		"dropped": func(i int, r []byte) [][]byte {
			if i == at {
				return nil
			}
			return [][]byte{r}
		},
		"swapped": func(i int, r []byte) [][]byte {
			switch i {
			case at:
				held = r
				return nil
			case at + 1:
				return [][]byte{r, held}
			}
			return [][]byte{r}
		},
		"cut off": func(i int, r []byte) [][]byte {
			if i == at {
				return [][]byte{r[:len(r)-1], {recordHandshake, 3, 3, 0, 1}, {0}}
			}
			return [][]byte{r}
		},
	} {
		t.Run(name, func(t *testing.T) {
			own := workers(t, trusttest.Authority(t, "lab"), world)
			c := tcpCluster(t, own...)
			m := meddle(t, c.peers[1], change)
			rings := make([]*Ring, world)
			if err := errors.Join(each(world, func(r int) (err error) {
				peers := slices.Clone(c.peers)
				if r == 0 {
					peers[1] = m.address
				}
				rings[r], err = c.servers[r].Join(t.Context(), Identity{1, r, world}, peers, Options{Identities: identities(own)})
				return err
			})...); err != nil {
				t.Fatal(err)
			}
			errs := each(world, func(r int) error {
				v := make([]float32, n)
				for step := range ergoflow.Step(50) {
					for i := range v {
						v[i] = float32(r + 1)
					}
					if err := rings[r].AllReduce(step, v); err != nil {
						return err
					}
					if i := slices.IndexFunc(v, func(x float32) bool { return x != 3 }); i >= 0 {
						return fmt.Errorf("element %d of a sum is %v", i, v[i])
					}
				}
				return nil
			})
			for r, err := range errs {
				if !errors.Is(err, ErrPeerLost) {
					t.Errorf("rank %d: %v", r, err)
				}
			}
			if err := c.refusal(t); !errors.Is(err, ErrProtocol) || !strings.Contains(err.Error(), "bad record MAC") {
				t.Errorf("reported: %v", err)
			}
		})
	}
}

// What a member has sent is worth nothing to who repeats it, in the same generation.
func TestReplayedConnection(t *testing.T) {
	own := workers(t, trusttest.Authority(t, "lab"), 2)
	c := tcpCluster(t, own...)
	m := meddle(t, c.peers[1], func(_ int, r []byte) [][]byte { return [][]byte{r} })
	rings := make([]*Ring, 2)
	if err := errors.Join(each(2, func(r int) (err error) {
		peers := slices.Clone(c.peers)
		if r == 0 {
			peers[1] = m.address
		}
		rings[r], err = c.servers[r].Join(t.Context(), Identity{1, r, 2}, peers, Options{Identities: identities(own)})
		return err
	})...); err != nil {
		t.Fatal(err)
	}
	testSums(t, rings, []int{1000})
	m.mu.Lock()
	recorded := bytes.Clone(m.sent)
	m.mu.Unlock()
	again, err := net.Dial("tcp", c.peers[1])
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	if _, err := again.Write(recorded); err != nil {
		t.Fatal(err)
	}
	if err := c.refusal(t); !errors.Is(err, ErrRefused) && !errors.Is(err, ErrProtocol) || !strings.Contains(err.Error(), "tls") {
		t.Errorf("reported: %v", err)
	}
	closeAll(t, rings)
}

// wiretap is between two processes and records what both send.
type wiretap struct {
	address string
	mu      sync.Mutex
	heard   []byte
}

func tap(t *testing.T, target string) *wiretap {
	t.Helper()
	w := &wiretap{}
	record := func(to io.Writer, from io.Reader) { io.Copy(io.MultiWriter(to, w), from) }
	w.address = between(t, target, record, record)
	return w
}

func (w *wiretap) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.heard = append(w.heard, b...)
	return len(b), nil
}

// Somebody between the members reads no gradient: 32 bytes that a member adds, and that are
// sums, pass in plain text and not over TLS.
func TestGradientsAreEncrypted(t *testing.T) {
	const n = 4096
	gradient := func(rank int) []float32 {
		rng, v := rand.New(rand.NewPCG(uint64(rank), 7)), make([]float32, n)
		for i := range v {
			v[i] = rng.Float32() - 0.5
		}
		return v
	}
	for _, encrypted := range []bool{false, true} {
		own := make([]*trust.Credentials, 2)
		var o Options
		if encrypted {
			own = workers(t, trusttest.Authority(t, "lab"), 2)
			o.Identities = identities(own)
		}
		c := tcpCluster(t, own...)
		w := tap(t, c.peers[1])
		added, sum := gradient(0), make([]float32, n)
		rings := make([]*Ring, 2)
		if err := errors.Join(each(2, func(r int) (err error) {
			peers := slices.Clone(c.peers)
			if r == 0 {
				peers[1] = w.address
			}
			if rings[r], err = c.servers[r].Join(t.Context(), Identity{1, r, 2}, peers, o); err != nil {
				return err
			}
			v := gradient(r)
			err = rings[r].AllReduce(0, v)
			if r == 0 {
				copy(sum, v)
			}
			return err
		})...); err != nil {
			t.Fatal(err)
		}
		closeAll(t, rings)
		w.mu.Lock()
		heard := bytes.Clone(w.heard)
		w.mu.Unlock()
		found := 0
		for i := 0; i+8 <= n; i += 8 {
			for _, v := range [][]float32{added, sum} {
				var known [32]byte
				for k, x := range v[i : i+8] {
					binary.LittleEndian.PutUint32(known[4*k:], math.Float32bits(x))
				}
				if bytes.Contains(heard, known[:]) {
					found++
				}
			}
		}
		if encrypted && found > 0 || !encrypted && found < n/8/2 {
			t.Errorf("encrypted %t: %d of %d pieces are on the wire", encrypted, found, 2*n/8)
		}
		if len(heard) < 4*n {
			t.Errorf("encrypted %t: %d bytes passed the tap", encrypted, len(heard))
		}
	}
}
