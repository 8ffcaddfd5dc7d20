package ergoflow

import (
	"errors"
	"strings"
	"testing"
)

func TestAgree(t *testing.T) {
	of := func(version string, oldest, newest uint32) Release {
		return Release{Version: version, Protocol: newest, OldestProtocol: oldest}
	}
	for _, c := range []struct {
		worker, coordinator Release
		agreed              uint32
		says                string // "": they agree
	}{
		{of("1", 1, 1), of("1", 1, 1), 1, ""},
		{of("2", 1, 2), of("1", 1, 1), 1, ""},
		{of("1", 1, 1), of("2", 1, 2), 1, ""},
		{of("3", 2, 4), of("2", 1, 3), 3, ""},
		{of("1", 1, 1), of("3", 2, 3), 0, "upgrade the worker"},
		{of("3", 2, 3), of("1", 1, 1), 0, "upgrade the coordinator"},
		{of("v", 0, 0), of("1", 1, 1), 0, "upgrade the worker"},
		{of("1", 1, 1), of("v", 0, 0), 0, "upgrade the coordinator"},
	} {
		agreed, err := c.worker.Agree("the worker", c.coordinator, "the coordinator")
		if agreed != c.agreed || (err == nil) != (c.says == "") {
			t.Errorf("%+v with %+v: %d, %v", c.worker, c.coordinator, agreed, err)
		}
		if err == nil {
			continue
		}
		text := err.Error()
		if !errors.Is(err, ErrProtocol) || !strings.HasSuffix(text, c.says) || !strings.Contains(text, "ergoflow "+c.worker.Version) ||
			!strings.Contains(text, "is "+c.coordinator.Version) || strings.Contains(text, "\n") {
			t.Errorf("%+v with %+v: %v", c.worker, c.coordinator, err)
		}
	}
	_, err := of("x\n\x1b"+strings.Repeat("x", 1000), 0, 0).Agree("a", of("1", 1, 1), "b")
	if text := err.Error(); len(text) > 300 || strings.ContainsAny(text, "\n\x1b") {
		t.Errorf("a version from outside: %q", text)
	}
}

// The numbers fit together: this program speaks with itself.
func TestThisRelease(t *testing.T) {
	r := ThisRelease()
	if agreed, err := r.Agree("a", r, "b"); err != nil || agreed != Protocol || r.Numerics != Numerics || r.Version != Build() || Protocol < 1 || Numerics < 1 {
		t.Errorf("%+v: %d, %v", r, agreed, err)
	}
}

func TestCheckFormat(t *testing.T) {
	for format := range 3 {
		if err := CheckFormat("x.db", format, 2); err != nil {
			t.Error(err)
		}
	}
	err := CheckFormat("x.db", 3, 2)
	if !errors.Is(err, ErrNewer) || !strings.Contains(err.Error(), "x.db has format 3") || !strings.Contains(err.Error(), "up to 2") {
		t.Error(err)
	}
}
