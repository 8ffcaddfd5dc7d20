package checkpoint

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/internal/boltfile"
)

// Some tests need a process to kill or to limit: the test binary starts itself.
const (
	childMode = "CHECKPOINT_TEST_CHILD"
	childPath = "CHECKPOINT_TEST_PATH"
	childSize = 6*chunkSize + 1000
)

func child(mode string) {
	if mode == "full" { // a file of at most 2 MiB
		limit := syscall.Rlimit{Cur: 2 << 20, Max: 2 << 20}
		if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
			panic(err)
		}
	}
	s, err := Open(os.Getenv(childPath), false)
	if err != nil {
		panic(err)
	}
	for step := range 1000 {
		data := payload(step, childSize)
		fmt.Printf("saving %d\n", step)
		_, err := s.Save(Info{Run: "r", Step: ergoflow.Step(step), Size: childSize}, data)
		if err != nil {
			fmt.Printf("failed %v: %v\n", errors.Is(err, boltfile.ErrLimit) && !errors.Is(err, ErrSpace), err)
			break
		}
		fmt.Printf("saved %d\n", step)
		if _, err := s.Prune(3, 0); err != nil {
			panic(err)
		}
	}
	if _, err := s.List(); err != nil {
		panic(err)
	}
	if err := s.Close(); err != nil {
		panic(err)
	}
}

func startChild(t *testing.T, mode, path string) (*exec.Cmd, *bufio.Scanner) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), childMode+"="+mode, childPath+"="+path)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd, bufio.NewScanner(out)
}

// A process is killed in the middle of saves, over and over. Each time the
// store opens, verifies, lists only whole checkpoints, and has every one whose
// save had returned.
func TestKilledWhileSaving(t *testing.T) {
	path := filepath.Join(t.TempDir(), "checkpoints.db")
	for round := range 5 {
		cmd, lines := startChild(t, "save", path)
		saved := -1
		for lines.Scan() {
			if step, ok := strings.CutPrefix(lines.Text(), "saved "); ok {
				if _, err := fmt.Sscan(step, &saved); err != nil {
					t.Fatal(err)
				}
			} else if lines.Text() == fmt.Sprintf("saving %d", round+2) {
				if err := cmd.Process.Kill(); err != nil {
					t.Fatal(err)
				}
			}
		}
		if err := cmd.Wait(); err == nil {
			t.Fatal("the child was not killed")
		}
		s, err := Open(path, false)
		if err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
		all, err := s.List()
		if err != nil || len(all) == 0 || len(all) > 4 {
			t.Fatalf("round %d: %d checkpoints, %v", round, len(all), err)
		}
		if last := all[len(all)-1]; int(last.Step) < saved {
			t.Errorf("round %d: step %d was saved, the last is %d", round, saved, last.Step)
		}
		for _, info := range all {
			_, data, err := s.Read(info.ID)
			if err != nil || !bytes.Equal(data, payload(int(info.Step), childSize)) {
				t.Errorf("round %d: step %d: %v", round, info.Step, err)
			}
		}
		if err := s.Verify(t.Context()); err != nil {
			t.Errorf("round %d: %v", round, err)
		}
		for _, info := range all { // the next child begins anew
			if err := s.Delete(info.ID); err != nil {
				t.Fatal(err)
			}
		}
		if n := chunkCount(t, s); n != 0 {
			t.Errorf("round %d: %d chunks belong to no checkpoint", round, n)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestFullDisk(t *testing.T) {
	path := filepath.Join(t.TempDir(), "checkpoints.db")
	cmd, lines := startChild(t, "full", path)
	var said []string
	for lines.Scan() {
		said = append(said, lines.Text())
	}
	if err := cmd.Wait(); err != nil {
		t.Fatalf("%v after %v", err, said)
	}
	if last := said[len(said)-1]; !strings.HasPrefix(last, "failed true: ") || !strings.Contains(last, path) {
		t.Errorf("the child said %q", said)
	}
	s, err := Open(path, false)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	all, err := s.List()
	if err != nil || len(all) == 0 || s.Verify(t.Context()) != nil {
		t.Errorf("after the disk was full: %d checkpoints, %v, %v", len(all), err, s.Verify(t.Context()))
	}
}
