package allreduce

import (
	"bytes"
	"errors"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"golang.org/x/sys/unix"
)

// memories are those of a ring's links.
func memories(r *Ring) (all []*sharedMemory) {
	for _, to := range r.sinks {
		all = append(all, to.out.(*streamOutgoing).memory)
	}
	for _, from := range r.sources {
		all = append(all, from.in.(streamIncoming).memory)
	}
	return all
}

// localPair are the ends of a local socket.
func localPair(t *testing.T) (a, b *net.UnixConn) {
	t.Helper()
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	var ends [2]*net.UnixConn
	for i, fd := range fds {
		f := os.NewFile(uintptr(fd), "")
		c, err := net.FileConn(f)
		if err := errors.Join(err, f.Close()); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		ends[i] = c.(*net.UnixConn)
	}
	return ends[0], ends[1]
}

// descriptors is how many this process has open.
func descriptors(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}

// twoRings join over local sockets, which need that both serve already.
func twoRings(t *testing.T, c cluster) []*Ring {
	t.Helper()
	joined(t, c)
	rings, err := c.join(t.Context(), 3, Options{})
	if err != nil {
		t.Fatal(err)
	}
	return rings
}

// Long vectors go through memory, which ends with its connection.
func TestOneMachineSharesMemory(t *testing.T) {
	var all []*sharedMemory
	t.Cleanup(func() { // when the servers have stopped
		for _, m := range all {
			if m.pages != nil {
				t.Error("memory of a connection that is over")
			}
		}
	})
	c := grpcCluster(t, 3)
	rings := twoRings(t, c)
	in := inputs(3, 300_000, 5)
	sums := make([][]float32, 3)
	if err := errors.Join(each(3, func(rank int) error {
		sums[rank] = slices.Clone(in[rank])
		return rings[rank].AllReduce(0, sums[rank])
	})...); err != nil {
		t.Fatal(err)
	}
	checkSum(t, in, sums, Float32)
	for rank, r := range rings {
		for _, m := range memories(r) {
			if m == nil || !bytes.ContainsFunc(m.slot(0), func(r rune) bool { return r != 0 }) {
				t.Fatalf("rank %d: a link did without memory", rank)
			}
			all = append(all, m)
		}
	}
	if err := errors.Join(each(3, func(rank int) error { return rings[rank].Close() })...); err != nil {
		t.Fatal(err)
	}
}

// What finds no slot goes in the message, in its place between the others.
func TestMoreThanTheSlotsHold(t *testing.T) {
	c := grpcCluster(t, 2)
	rings := twoRings(t, c)
	out, in := rings[0].sinks[0].out, rings[1].sources[0].in
	const messages = sharedSlots + slots // as many as either way holds
	head := func(i int) header {
		return header{generation: 3, segment: uint16(i), phase: phaseReduce, length: sharedLeast}
	}
	for round := range 3 {
		for i := range messages {
			if err := out.send(head(i), filled(sharedLeast, byte(round*messages+i))); err != nil {
				t.Fatal(err)
			}
		}
		if err := out.settle(0); err != nil {
			t.Fatal(err)
		}
		for i := range messages {
			var f frame
			if err := in.receive(&f); err != nil {
				t.Fatal(err)
			}
			if inMemory := f.taken != nil; f.header != head(i) || inMemory != (i < sharedSlots) {
				t.Fatalf("message %d: %v, in memory: %t", i, f.header, inMemory)
			}
			var got []byte
			f.payload(func(p []byte) { got = append(got, p...) })
			f.free()
			if want := bytes.Repeat([]byte{byte(round*messages + i)}, sharedLeast); !bytes.Equal(got, want) {
				t.Fatalf("message %d of round %d begins with %x", i, round, got[:8])
			}
		}
	}
}

// Who does not begin a local link with memory of the right kind gets no further, and
// leaves no descriptor behind.
func TestOddMemory(t *testing.T) {
	open := func(fd int, err error) int {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { unix.Close(fd) })
		return fd
	}
	anonymous := func(size int64, seals int) int {
		t.Helper()
		fd := open(unix.MemfdCreate("test", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING))
		if err := unix.Ftruncate(fd, size); err != nil {
			t.Fatal(err)
		}
		if _, err := unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, seals); err != nil {
			t.Fatal(err)
		}
		return fd
	}
	path := filepath.Join(t.TempDir(), "memory")
	if err := os.WriteFile(path, make([]byte, sharedBytes), 0o600); err != nil {
		t.Fatal(err)
	}
	good := anonymous(sharedBytes, sealed)
	for name, test := range map[string]struct {
		count byte
		fds   []int
		good  bool
	}{
		"sealed":          {1, []int{good}, true},
		"none":            {0, nil, true},
		"missing":         {1, nil, false},
		"unannounced":     {0, []int{good}, false},
		"two":             {1, []int{good, good}, false},
		"many":            {1, []int{good, good, good, good, good}, false},
		"HTTP/2":          {'P', nil, false},
		"not sealed":      {1, []int{anonymous(sharedBytes, unix.F_SEAL_GROW)}, false},
		"too small":       {1, []int{anonymous(sharedBytes-1, sealed)}, false},
		"a file":          {1, []int{open(unix.Open(path, unix.O_RDWR|unix.O_CLOEXEC, 0))}, false},
		"only to be read": {1, []int{open(unix.Open("/proc/self/fd/"+strconv.Itoa(good), unix.O_RDONLY|unix.O_CLOEXEC, 0))}, false},
	} {
		t.Run(name, func(t *testing.T) {
			ours, theirs := localPair(t)
			before := descriptors(t)
			if _, _, err := theirs.WriteMsgUnix([]byte{test.count}, unix.UnixRights(test.fds...), nil); err != nil {
				t.Fatal(err)
			}
			c := newLocalConn(ours)
			if err := c.accept(); (err == nil) != test.good {
				t.Errorf("accepted: %v", err)
			}
			if n := descriptors(t); n != before {
				t.Errorf("%d descriptors more", n-before)
			}
			if has := c.address.memory.pages != nil; has != (test.good && len(test.fds) > 0) {
				t.Errorf("has memory: %t", has)
			}
			if err := c.Close(); err != nil || c.address.memory.pages != nil {
				t.Error("memory of a closed connection", err)
			}
		})
	}
}
