package explain

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/ergoflow/ergoflow/internal/flight"
)

// many is a cluster of 64 workers with so many steps and events, one of which stood still.
func many(steps, events int) *stage {
	s := trained(64)
	for _, a := range s.all() {
		a.records = a.records[:1]
		a.ends = 500
	}
	s.steps(7, 0, 1, 1+float64(steps)/10)
	for _, a := range s.all() {
		for i := range events {
			a.add(401, flight.Record{Kind: flight.Ordered, Text: fmt.Sprint("generation 7 makes step ", i)})
		}
	}
	w := s.workers[41]
	s.lose(401.6, w, 1.6, "silent for 1.6s")
	for rank, other := range s.workers {
		if rank != 41 {
			other.wait(401.6, w, 41, 1.6)
		}
	}
	w.add(412, flight.Record{Kind: flight.Paused, Seconds: 12})
	return s
}

// stored stores the dumps of a stage.
func (s *stage) stored(t testing.TB) (dir string) {
	t.Helper()
	dir = t.TempDir()
	for _, d := range s.dumps() {
		encoded, err := d.Encode()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := flight.Store(dir).Write(d.Header, encoded); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func explainDir(t testing.TB, dir string) (Verdict, []string) {
	t.Helper()
	files, err := Files(dir)
	if err != nil {
		t.Fatal(err)
	}
	dumps, notes := Read(files, nil)
	return Explain(dumps), notes
}

// Of 64 members the culprit is found.
func TestManyMembers(t *testing.T) {
	v, notes := explainDir(t, many(100, 50).stored(t))
	check(t, v, causePaused, Culprit{Kind: Worker, Worker: "w41"}, []string{"rank 41", "stood still for 12.0 s"})
	if len(notes) > 0 {
		t.Error(notes)
	}
}

// All recorders are full.
func BenchmarkManyMembers(b *testing.B) {
	dir := many(4000, 8000).stored(b)
	processor := func() float64 {
		var used unix.Rusage
		if err := unix.Getrusage(unix.RUSAGE_SELF, &used); err != nil {
			b.Fatal(err)
		}
		return float64(used.Utime.Nano()+used.Stime.Nano()) / 1e9
	}
	begin := processor()
	for b.Loop() {
		if v, _ := explainDir(b, dir); !v.Decided {
			b.Fatalf("%+v", v)
		}
	}
	b.ReportMetric((processor()-begin)/float64(b.N), "cpu-s/op")
}

// Half dumps are read as far as they go, and named; the others still decide.
func TestHalfDumps(t *testing.T) {
	s := trained(3)
	faults["a paused process"].play(s)
	dir := s.stored(t)
	files, err := Files(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range files {
		encoded, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		switch {
		case strings.Contains(path, "-w0-"):
			err = os.WriteFile(path, encoded[:len(encoded)/2], 0o600)
		case strings.Contains(path, "-w1-"):
			err = os.WriteFile(path, []byte("no dump"), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	v, notes := explainDir(t, dir)
	check(t, v, causePaused, Culprit{Kind: Worker, Worker: "w2"}, nil)
	if all := strings.Join(notes, "\n"); len(notes) != 2 || !strings.Contains(all, "cut off") || !strings.Contains(all, "not a flight dump") {
		t.Errorf("notes: %s", all)
	}
}

// Of one process alone, or of halves alone, no culprit is invented.
func TestOnlyHalves(t *testing.T) {
	for name, f := range faults {
		t.Run(name, func(t *testing.T) {
			s := trained(f.world)
			f.play(s)
			for _, d := range s.dumps() {
				d.Records = d.Records[:len(d.Records)/3]
				if v := Explain([]*flight.Dump{d}); v.Decided || v.Culprit != nil {
					t.Errorf("a third of one dump decides: %+v", v)
				}
			}
		})
	}
}

// The last dumps of each process are read, from a run's directory too.
func TestFiles(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "flight"), 0o700); err != nil {
		t.Fatal(err)
	}
	for pid := range 100 {
		for minute := range 5 {
			name := fmt.Sprintf("20261127T12%02d00.000Z-w-%d-0%s", minute, pid+1, flight.Suffix)
			if err := os.WriteFile(filepath.Join(dir, "flight", name), []byte("x"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	files, err := Files(dir)
	if err != nil || len(files) != maxFiles {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, path := range files {
		if base := filepath.Base(path); base < "20261127T120200" {
			t.Errorf("it reads %s, and there are three newer dumps of that process", base)
		}
	}
	one, err := Files(files[0])
	if err != nil || len(one) != 1 || one[0] != files[0] {
		t.Errorf("of one file: %v, %v", one, err)
	}
	if _, err := Files(t.TempDir()); err == nil {
		t.Error("an empty directory has dumps")
	}
}
