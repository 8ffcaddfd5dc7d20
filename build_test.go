package ergoflow

import (
	"crypto/sha256"
	"fmt"
	"os"
	"runtime/debug"
	"testing"
)

func TestBuild(t *testing.T) {
	of := func(settings ...debug.BuildSetting) *debug.BuildInfo { return &debug.BuildInfo{Settings: settings} }
	revision := debug.BuildSetting{Key: "vcs.revision", Value: "1c73bc2a4f3e0123456789abcdef0123456789ab"}
	modified := debug.BuildSetting{Key: "vcs.modified", Value: "true"}
	hash := func() string { return "b9fc0bec9503" }
	for want, info := range map[string]*debug.BuildInfo{
		"0.1.0+sha256.b9fc0bec9503":             nil,
		"0.1.0+1c73bc2a4f3e":                    of(revision, debug.BuildSetting{Key: "vcs.modified", Value: "false"}),
		"0.1.0+1c73bc2a4f3e-dirty.b9fc0bec9503": of(modified, revision),
	} {
		if got := build(info, hash); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	if got := build(of(), hash); got != "0.1.0+sha256.b9fc0bec9503" {
		t.Errorf("without a repository: %s", got)
	}
}

// Go notes no commit in a test's binary, so that Build tells it by its hash.
func TestBuildOfAFile(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	file, err := os.ReadFile(self)
	if err != nil {
		t.Fatal(err)
	}
	want := fmt.Sprintf("0.1.0+sha256.%x", sha256.Sum256(file))[:len("0.1.0+sha256.")+hashLength]
	if got := Build(); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
