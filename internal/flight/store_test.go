package flight

import (
	"bytes"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// A store keeps the newest files, readable by their user alone.
func TestStore(t *testing.T) {
	s := Store(filepath.Join(t.TempDir(), "flight"))
	at := time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)
	if err := os.Mkdir(string(s), 0o700); err != nil {
		t.Fatal(err)
	}
	for i := range maxFiles + 10 {
		name := filepath.Join(string(s), fmt.Sprintf("%04d%s", i, Suffix))
		if err := os.WriteFile(name, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		old := at.Add(time.Duration(i) * time.Second)
		if err := os.Chtimes(name, old, old); err != nil {
			t.Fatal(err)
		}
	}
	var last string
	for i := range 3 {
		h := Header{At: at.Add(time.Duration(i) * time.Second), Process: Identity{Role: Worker, ID: "../w/é", PID: 7, Began: at}}
		path, err := s.Write(h, []byte("x"))
		if err != nil {
			t.Fatal(err)
		}
		if filepath.Dir(path) != string(s) {
			t.Fatalf("it writes %s", path)
		}
		last = path
	}
	files, err := s.Files(1 << 20)
	if err != nil || len(files) != maxFiles || files[len(files)-1] != last {
		t.Errorf("%d files, the last %s: %v", len(files), files[len(files)-1], err)
	}
	if files, _ := s.Files(3); len(files) != 3 || files[2] != last {
		t.Errorf("the newest three are %v", files)
	}
	for path, want := range map[string]os.FileMode{last: 0o600, string(s): 0o700 | os.ModeDir} {
		if info, err := os.Stat(path); err != nil || info.Mode() != want {
			t.Errorf("%s has mode %v, %v", path, info.Mode(), err)
		}
	}
}

// The bound on bytes counts, too.
func TestStoreBytes(t *testing.T) {
	s := Store(t.TempDir())
	for _, name := range []string{"a", "b", "c"} {
		path := filepath.Join(string(s), name+Suffix)
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Truncate(path, maxBytes/2-1); err != nil { // without blocks
			t.Fatal(err)
		}
		old := time.Now().Add(-time.Hour)
		if err := os.Chtimes(path, old, old); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.Write(Header{At: time.Now()}, []byte("x")); err != nil {
		t.Fatal(err)
	}
	if files, _ := s.Files(10); len(files) != 3 {
		t.Errorf("%v are left", files)
	}
}

// On a full disk the reserve makes room for one dump.
func TestReserve(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("a small file system can be mounted by root alone")
	}
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=4M"); err != nil {
		t.Skipf("no file system can be mounted here: %v", err)
	}
	defer unix.Unmount(dir, unix.MNT_DETACH)
	s := Store(filepath.Join(dir, "flight"))
	if err := s.Reserve(); err != nil {
		t.Fatal(err)
	}
	os.WriteFile(filepath.Join(dir, "ballast"), make([]byte, 8<<20), 0o644) // as much as fits
	path, err := s.Write(Header{At: time.Now()}, bytes.Repeat([]byte("x"), 500<<10))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); err != nil {
		t.Error(err)
	}
	if _, err := s.Write(Header{At: time.Now().Add(time.Second)}, make([]byte, 2<<20)); err == nil {
		t.Error("a second dump found room on a full disk")
	}
	if err := s.Reserve(); err == nil {
		t.Error("there is room for a reserve on a full disk")
	}
}

// A keeper without a directory makes a temporary one, for the trace and for dumps.
func TestKeeper(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	var said bytes.Buffer
	k := NewKeeper(Worker, "", slog.New(slog.NewTextHandler(&said, nil)))
	k.KeepTrace()
	defer k.Close()
	h, encoded, err := k.Take("test", true, Stacks()...)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasSuffix(h.Trace, TraceSuffix) {
		t.Errorf("the trace is in %q", h.Trace)
	}
	if trace, err := os.ReadFile(h.Trace); err != nil || !bytes.HasPrefix(trace, []byte("go 1.")) {
		t.Errorf("the trace begins with %.20q: %v", trace, err)
	}
	path, err := k.Write(h, encoded)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(said.String(), path) {
		t.Errorf("the log does not name the file:\n%s", said.String())
	}
	d, err := Read(bytes.NewReader(encoded))
	if err != nil {
		t.Fatal(err)
	}
	found := false
	for _, e := range d.Records {
		found = found || e.Kind == Stack && strings.Contains(e.Text, "TestKeeper")
	}
	if !found {
		t.Error("no stack is of this test")
	}
}

// No trace is kept where steps are so short that it would cost a hundredth of them.
func TestTracerFollowsThePace(t *testing.T) {
	tracer, err := NewTracer()
	if err != nil {
		t.Fatal(err)
	}
	defer tracer.Stop()
	kept := func() bool {
		b, err := tracer.Bytes()
		if err != nil {
			t.Fatal(err)
		}
		return b != nil
	}
	for _, phase := range []struct {
		step  float64
		steps int
		want  bool
	}{
		{0.001, steadySteps - 1, true}, // not yet
		{0.001, 1, false},
		{0.012, 10 * steadySteps, false}, // between the bounds nothing changes
		{0.030, 10 * steadySteps, true},
		{0.012, 10 * steadySteps, true},
		{5, 1, true},
		{0.002, 20 * steadySteps, false},
	} {
		for range phase.steps {
			tracer.pace(phase.step)
		}
		if kept() != phase.want {
			t.Errorf("after %d steps of %g s a trace is kept: %t", phase.steps, phase.step, kept())
		}
	}
	tracer.Stop()
	another, err := NewTracer()
	if err != nil {
		t.Errorf("another tracer: %v", err)
	}
	another.Stop()
	var none *Tracer
	none.pace(1)
	none.Stop()
	if b, err := none.Bytes(); b != nil || err != nil {
		t.Errorf("no tracer has %d bytes, %v", len(b), err)
	}
}

func TestSpacing(t *testing.T) {
	var s Spacing
	at := time.Now()
	for i, want := range []bool{true, false, false, true, false} {
		if got := s.Due(at.Add(time.Duration(i) * 2 * time.Second)); got != want {
			t.Errorf("after %d s: %t", 2*i, got)
		}
	}
}
