package ergoflow

import (
	"runtime/debug"
	"testing"
)

func TestBuild(t *testing.T) {
	of := func(settings ...debug.BuildSetting) *debug.BuildInfo { return &debug.BuildInfo{Settings: settings} }
	revision := debug.BuildSetting{Key: "vcs.revision", Value: "1c73bc2a4f3e0123456789abcdef0123456789ab"}
	for want, info := range map[string]*debug.BuildInfo{
		"0.1.0":                    nil,
		"0.1.0+1c73bc2a4f3e":       of(revision, debug.BuildSetting{Key: "vcs.modified", Value: "false"}),
		"0.1.0+1c73bc2a4f3e-dirty": of(debug.BuildSetting{Key: "vcs.modified", Value: "true"}, revision),
	} {
		if got := build(info); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	if got := build(of()); got != Version {
		t.Errorf("without a repository: %s", got)
	}
}
