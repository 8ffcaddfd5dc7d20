package filelock

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

func TestLocks(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	open := func() *os.File {
		f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { f.Close() })
		return f
	}
	first, second, third, fourth := open(), open(), open(), open()
	for _, f := range []*os.File{first, second} {
		if err := Wait(t.Context(), f, syscall.LOCK_SH); err != nil {
			t.Fatal(err)
		}
	}
	if taken, err := Try(third, syscall.LOCK_EX); taken || err != nil {
		t.Errorf("beside two others: taken %v, %v", taken, err)
	}
	ended := errors.New("ended")
	ctx, cancel := context.WithTimeoutCause(t.Context(), 3*poll, ended)
	defer cancel()
	if err := Wait(ctx, third, syscall.LOCK_EX); !errors.Is(err, ended) {
		t.Errorf("beside two others: %v", err)
	}
	second.Close()
	time.AfterFunc(3*poll, func() { first.Close() })
	if err := Wait(t.Context(), third, syscall.LOCK_EX); err != nil {
		t.Error(err)
	}
	if taken, err := Try(fourth, syscall.LOCK_SH); taken || err != nil {
		t.Errorf("beside a writer: taken %v, %v", taken, err)
	}
	third.Close()
	if taken, err := Try(fourth, syscall.LOCK_SH); !taken || err != nil {
		t.Errorf("a free lock: taken %v, %v", taken, err)
	}
	if taken, err := Try(third, syscall.LOCK_EX); taken || err == nil {
		t.Error("a closed file is locked")
	}
	fourth.Close()
	if err := Wait(t.Context(), third, syscall.LOCK_EX); err == nil {
		t.Error("a closed file is locked")
	}
	if err := Wait(ctx, open(), syscall.LOCK_EX); err != nil {
		t.Errorf("a free lock after the end: %v", err)
	}
}
