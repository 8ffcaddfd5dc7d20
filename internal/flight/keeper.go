package flight

import (
	"bytes"
	"cmp"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"runtime/pprof"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/internal/atomicfile"
)

// Asked gets a value when the process gets SIGQUIT, which then no longer ends it: it asks for a
// dump.
func Asked() <-chan os.Signal {
	asked := make(chan os.Signal, 1)
	signal.Notify(asked, syscall.SIGQUIT)
	return asked
}

// A Keeper has the recorder of a process and the directory where its dumps go.
type Keeper struct {
	*Recorder
	Tracer *Tracer // nil: no execution trace is kept
	Log    *slog.Logger

	mu        sync.Mutex
	dir       string // empty: a temporary one is made for the first file
	temporary bool
}

// NewKeeper returns a keeper whose files go to dir; empty: to a temporary directory.
func NewKeeper(role, dir string, log *slog.Logger) *Keeper {
	return &Keeper{Recorder: New(role), Log: log, dir: dir}
}

// KeepTrace has the keeper keep an execution trace, too.
func (k *Keeper) KeepTrace() {
	var err error
	if k.Tracer, err = NewTracer(); err != nil {
		k.Log.Warn("dumps come without an execution trace", "error", err)
	}
}

// Store is where the files go.
func (k *Keeper) Store() (Store, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.dir == "" {
		dir, err := os.MkdirTemp("", "ergoflow-flight-")
		if err != nil {
			return "", err
		}
		k.dir, k.temporary = dir, true
	}
	return Store(k.dir), nil
}

// Forget removes a dump that somebody else has now, if it is in a temporary directory.
func (k *Keeper) Forget(path string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.temporary {
		_ = os.Remove(path)
	}
}

// Close ends the trace, and removes the temporary directory, if there is one and it is empty.
func (k *Keeper) Close() {
	k.Tracer.Stop()
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.temporary {
		_ = os.Remove(k.dir) // fails where dumps are left
	}
}

// Step records a step that was applied. By its time the execution trace is kept or not.
func (k *Keeper) Step(generation ergoflow.Generation, step ergoflow.Step, loss float64, phases Phases) {
	k.Recorder.Step(generation, step, loss, phases)
	k.Tracer.pace(phases.total())
}

// Save makes a dump and stores it. It logs where, or why not.
func (k *Keeper) Save(occasion string, more ...Record) {
	header, encoded, err := k.Take(occasion, true, more...)
	if err != nil {
		k.Log.Warn("cannot dump the flight recorder", "error", err)
		return
	}
	_, _ = k.Write(header, encoded) // it logs why not
}

// Take makes a dump, with the execution trace beside where one is kept and wanted.
func (k *Keeper) Take(occasion string, traced bool, more ...Record) (Header, []byte, error) {
	d := k.Dump(occasion, more...)
	if traced {
		path, err := k.saveTrace(d.Header)
		if err != nil {
			k.Log.Warn("cannot store the execution trace", "error", err)
		}
		d.Header.Trace = path
	}
	encoded, err := d.Encode()
	return d.Header, encoded, err
}

// saveTrace writes the execution trace and returns its path; empty: none is kept.
func (k *Keeper) saveTrace(h Header) (path string, err error) {
	trace, err := k.Tracer.Bytes()
	if trace == nil {
		return "", err
	}
	store, err := k.Store()
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(string(store), 0o700); err != nil {
		return "", err
	}
	path = filepath.Join(string(store), strings.TrimSuffix(nameOf(h), Suffix)+TraceSuffix)
	return path, cmp.Or(atomicfile.WritePrivate(path, trace), store.prune())
}

// Write stores a dump and logs where.
func (k *Keeper) Write(h Header, encoded []byte) (path string, err error) {
	store, err := k.Store()
	if err == nil {
		path, err = store.Write(h, encoded)
	}
	if err != nil {
		k.Log.Warn("cannot store what the flight recorder holds", "occasion", h.Occasion, "error", err)
		return "", err
	}
	k.Log.Info("stored what the flight recorder holds", "occasion", h.Occasion, "file", path)
	return path, nil
}

// stacksMost bounds the record of the goroutines' stacks. More would not fit into a dump.
const stacksMost = 256

// Stacks are the stacks of all goroutines, one record for those that are alike.
func Stacks() (records []Record) {
	var text bytes.Buffer
	if err := pprof.Lookup("goroutine").WriteTo(&text, 1); err != nil {
		return nil
	}
	for stack := range strings.SplitSeq(text.String(), "\n\n") {
		if len(records) == stacksMost {
			break
		}
		var calls []string
		for line := range strings.Lines(stack) {
			words := strings.Fields(line) // "#", address, function+offset, file:line
			if len(words) >= 4 && words[0] == "#" {
				calls = append(calls, words[2])
			} else if len(words) > 0 && strings.Contains(line, " @ ") {
				calls = append(calls, words[0]+" goroutines:")
			}
		}
		if len(calls) == 0 {
			continue
		}
		records = append(records, Record{Kind: Stack, Text: strings.Join(calls, " ")})
	}
	return records
}

// A Spacing keeps a stall from being dumped again and again.
type Spacing struct{ last time.Time }

// DumpEvery is the least time between two dumps that nobody asked for.
const DumpEvery = 5 * time.Second

// Due reports whether another dump may be made now, and notes that it is.
func (s *Spacing) Due(now time.Time) bool {
	if !s.last.IsZero() && now.Sub(s.last) < DumpEvery {
		return false
	}
	s.last = now
	return true
}
