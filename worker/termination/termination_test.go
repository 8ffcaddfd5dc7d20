package termination

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func watching(command string) watcher {
	return watcher{command, slog.New(slog.DiscardHandler), time.Millisecond, time.Minute}
}

// The context ends when the command succeeds, and not before.
func TestWatch(t *testing.T) {
	notice := filepath.Join(t.TempDir(), "notice")
	asked := notice + ".asked"
	until, stop, err := watching("echo >> " + asked + "; test -e " + notice).start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	for lines := 0; lines < 3; {
		text, err := os.ReadFile(asked)
		if err != nil {
			t.Fatal(err)
		}
		if until.Err() != nil {
			t.Fatal("it ends without a notice")
		}
		lines = len(text)
	}
	if err := os.WriteFile(notice, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	<-until.Done()
	if t.Context().Err() != nil {
		t.Error("it ends what it was given")
	}
}

// What starts after a notice waits until it is taken back.
func TestNoticeAtTheStart(t *testing.T) {
	notice := filepath.Join(t.TempDir(), "notice")
	if err := os.WriteFile(notice, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	// The second call takes it back.
	until, stop, err := watching("test -e " + notice + ".once && rm -f " + notice + "; touch " + notice + ".once; test -e " + notice).start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(notice); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("it has not waited: %v", err)
	}
	stop()
	if !errors.Is(until.Err(), context.Canceled) {
		t.Errorf("after stop: %v", until.Err())
	}

	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, _, err := watching("true").start(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a wait that is ended: %v", err)
	}
}

// A command that cannot be run is refused at the start, and one that hangs says nothing and is
// ended with all its processes.
func TestCommands(t *testing.T) {
	for _, command := range []string{"no-such-program --now", "/dev/null", "true; no-such-program"} {
		if _, _, err := watching(command).start(t.Context()); !errors.Is(err, ErrCommand) {
			t.Errorf("%s: %v", command, err)
		}
	}
	w := watching("sleep 1000 & sleep 1000")
	w.patience = 10 * time.Millisecond
	if ending, err := w.ask(t.Context()); ending || err != nil {
		t.Errorf("a command that hangs: %v, %v", ending, err)
	}
}
