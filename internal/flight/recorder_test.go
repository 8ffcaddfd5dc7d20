package flight

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
	"unsafe"

	"github.com/ergoflow/ergoflow"
)

// A recorder keeps the last events and steps, and one step a second from before; it numbers all.
func TestRecorderKeepsTheLast(t *testing.T) {
	r := New(Worker)
	r.Name("w")
	r.Run("abc")
	for i := range 3 * maxEvents {
		r.Add(Record{Kind: Decided, Step: ergoflow.Step(i), Text: "x"})
	}
	for i := range 3 * maxSteps {
		r.Step(1, ergoflow.Step(i), 0.5, Phases{Gradient: 1})
	}
	d := r.Dump("test", Record{Kind: Waits, Text: "now"})
	if h := d.Header; h.Process.ID != "w" || h.Run != "abc" || h.Process.Role != Worker || h.Process.PID == 0 || h.Occasion != "test" {
		t.Errorf("header %+v", h)
	}
	kinds := make(map[Kind]int)
	last := uint64(0)
	for _, e := range d.Records {
		kinds[e.Kind]++
		if e.Seq <= last {
			t.Fatalf("record %d comes after %d", e.Seq, last)
		}
		last = e.Seq
	}
	if kinds[Decided] != maxEvents || kinds[Waits] != 1 || kinds[Stepped] < maxSteps || kinds[Stepped] > maxSteps+maxOldSteps {
		t.Errorf("kinds %v", kinds)
	}
	if e := d.Records[len(d.Records)-1]; e.Kind != Waits || e.Since < d.Header.Since {
		t.Errorf("the last record is %+v", e)
	}
	var newest ergoflow.Step
	for _, e := range d.Records {
		if e.Kind == Stepped {
			newest = e.Step
		}
	}
	if newest != 3*maxSteps-1 {
		t.Errorf("the newest step is %d", newest)
	}
}

// One step a second is kept from longer ago.
func TestOldSteps(t *testing.T) {
	r := New(Worker)
	r.began = r.began.Add(-time.Hour)
	for i := range maxSteps {
		r.Step(1, ergoflow.Step(i), 1, Phases{})
	}
	for i := range r.steps.list { // they were made in 410 seconds
		r.steps.list[i].Since = float64(i) / 10
	}
	for i := range maxSteps {
		r.Step(1, ergoflow.Step(maxSteps+i), 1, Phases{})
	}
	old := r.oldSteps.all()
	if len(old) != 410 {
		t.Errorf("%d old steps of 410 seconds", len(old))
	}
	for i := range old[1:] {
		if gap := old[i+1].Since - old[i].Since; gap < 1 || gap > 1.2 {
			t.Fatalf("%g s between old steps", gap)
		}
	}
}

// Texts are bounded together, too.
func TestRecorderBoundsTexts(t *testing.T) {
	r := New(Coordinator)
	for i := range 3 * maxEvents {
		r.Add(Record{Kind: Assigned, Generation: ergoflow.Generation(i), Members: strings.Repeat("worker-id ", 900)})
	}
	texts := 0
	for _, e := range r.Dump("").Records {
		texts += e.size()
	}
	if texts > maxTexts || texts < maxTexts/2 || texts != r.texts {
		t.Errorf("%d bytes of text, counted as %d, of at most %d", texts, r.texts, maxTexts)
	}
	d := r.Dump("")
	if e := d.Records[len(d.Records)-1]; e.Generation != 3*maxEvents-1 {
		t.Errorf("the newest is %d", e.Generation)
	}
}

// A full recorder takes less than the 32 MiB that a process may spend on it.
func TestRecorderMemory(t *testing.T) {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	r := New(Worker)
	for i := range 2 * maxEvents {
		r.Add(Record{Kind: Decided, Text: fmt.Sprint(i, strings.Repeat("x", maxText))})
	}
	for i := range 2 * maxSteps {
		r.Step(1, ergoflow.Step(i), 1, Phases{})
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	took := after.HeapAlloc - before.HeapAlloc
	t.Logf("%d bytes a record; a full recorder has %.1f MiB", unsafe.Sizeof(Record{}), float64(took)/(1<<20))
	if took > 16<<20 {
		t.Errorf("a full recorder has %d bytes", took)
	}
	runtime.KeepAlive(r)
}

// Numbers that JSON has no words for, and secrets, are not in a dump.
func TestClean(t *testing.T) {
	r := New(Worker)
	r.Step(1, 2, math.NaN(), Phases{Ring: math.Inf(1)})
	r.Add(Record{Kind: Failed, Value: math.Inf(-1), Seconds: math.NaN(), Text: "nats://user:geheim@host:4222 and ERGO1abc::id.geheim, Bearer geheim, -----BEGIN PRIVATE KEY-----\ngeheim\n-----END PRIVATE KEY----- \x1b[31m" + strings.Repeat("ü", 600)})
	encoded, err := r.Dump("asked with ERGO1geheim").Encode()
	if err != nil {
		t.Fatal(err)
	}
	d, err := Read(bytes.NewReader(encoded))
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range append(texts(d), d.Header.Occasion) {
		if strings.Contains(text, "geheim") || strings.ContainsRune(text, '\x1b') || len(text) > maxText {
			t.Errorf("a dump has %q", text)
		}
	}
	if !strings.Contains(strings.Join(texts(d), ""), "nats://…@host:4222") && !strings.Contains(strings.Join(texts(d), ""), "nats://…") {
		t.Errorf("the address is gone, too: %q", texts(d))
	}
}

func texts(d *Dump) (all []string) {
	for _, e := range d.Records {
		all = append(all, e.Text)
	}
	return all
}

// What a process does is in the dump with the time since when.
func TestDoing(t *testing.T) {
	r := New(Worker)
	r.Begin("rank", "computes", 3, 4)
	r.Begin("work", "training", 0, 0)
	r.Begin("work", "", 0, 0)
	var doing []Record
	for _, e := range r.Dump("").Records {
		if e.Kind == Doing {
			doing = append(doing, e)
		}
	}
	if len(doing) != 1 || doing[0].Text != "rank: computes" || doing[0].Generation != 3 || doing[0].Step != 4 || doing[0].Seconds < 0 {
		t.Errorf("%+v", doing)
	}
}

// A nil recorder records nothing.
func TestNoRecorder(t *testing.T) {
	var r *Recorder
	r.Add(Record{})
	r.Step(1, 1, 1, Phases{})
	r.Begin("a", "b", 1, 1)
	r.Name("w")
	r.Run("x")
	r.Watch(t.Context(), nil)
	if r.Dump("") != nil || r.Identity() != (Identity{}) {
		t.Error("it has something")
	}
}

// Many goroutines record while one dumps.
func TestConcurrently(t *testing.T) {
	r := New(Worker)
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			for i := range 2000 {
				r.Add(Record{Kind: Decided, Text: "x"})
				r.Step(1, ergoflow.Step(i), 1, Phases{})
				r.Begin("rank", "computes", 1, 1)
			}
		})
	}
	for range 10 {
		if _, err := r.Dump("").Encode(); err != nil {
			t.Error(err)
		}
	}
	group.Wait()
	if r.seq < 1+4*4000 {
		t.Errorf("%d records", r.seq)
	}
}

// Dumps survive a way through a file; half of one is read as far as it goes, with ErrCut.
func TestReadDumps(t *testing.T) {
	r := New(Coordinator)
	for i := range 2000 {
		r.Add(Record{Kind: Lost, Worker: "w", Peer: "v", Members: "w v", PID: i, Chunk: 1, Rank: 2, Seconds: 0.5, Value: 3, Limit: 4, Text: "because", Phases: Phases{Data: 1}})
	}
	d := r.Dump("test")
	encoded, err := d.Encode()
	if err != nil {
		t.Fatal(err)
	}
	back, err := Read(bytes.NewReader(encoded))
	if err != nil {
		t.Fatal(err)
	}
	if len(back.Records) != len(d.Records) || back.Records[7] != d.Records[7] || back.Header != d.Header {
		t.Errorf("%+v came back as %+v", d.Records[7], back.Records[7])
	}
	if h, err := ReadHeader(encoded); err != nil || h != d.Header {
		t.Errorf("header %+v, %v", h, err)
	}
	for n := range encoded {
		if n > 200 && n%997 != 0 && n < len(encoded)-20 {
			continue
		}
		half, err := Read(bytes.NewReader(encoded[:n]))
		switch {
		case err == nil && len(half.Records) == len(d.Records) && n > len(encoded)-20: // the checksum alone is missing
		case err == nil:
			t.Fatalf("%d of %d bytes are a whole dump", n, len(encoded))
		case errors.Is(err, ErrCut) && (half == nil || len(half.Records) > len(d.Records)):
			t.Fatalf("%d of %d bytes: %v, and no records", n, len(encoded), err)
		case !errors.Is(err, ErrCut) && !errors.Is(err, ErrFormat):
			t.Fatalf("%d of %d bytes: %v", n, len(encoded), err)
		}
	}
	half, err := Read(bytes.NewReader(encoded[:len(encoded)/2]))
	if !errors.Is(err, ErrCut) || len(half.Records) < 100 {
		t.Errorf("half a dump has %d records: %v", len(half.Records), err)
	}
}
