package ergoflow

import (
	"runtime/debug"
	"sync"
)

// Build names what this program was built from: the release and, where the
// toolchain has noted it, the commit, as in "0.1.0+1c73bc2a4f3e-dirty". Processes of
// one cluster must agree on it: another build may round differently, or read a
// message in another way. Builds of uncommitted changes, or with -buildvcs=false,
// cannot be told apart.
var Build = sync.OnceValue(func() string {
	info, _ := debug.ReadBuildInfo()
	return build(info)
})

// commitLength is how much of a commit's name is enough.
const commitLength = 12

func build(info *debug.BuildInfo) string {
	if info == nil {
		return Version
	}
	var commit, dirty string
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			commit = "+" + s.Value[:min(len(s.Value), commitLength)]
		case s.Key == "vcs.modified" && s.Value == "true":
			dirty = "-dirty"
		}
	}
	if commit == "" {
		return Version
	}
	return Version + commit + dirty
}
