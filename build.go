package ergoflow

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"os"
	"runtime/debug"
	"sync"
)

// Build names what this program was built from, for people: the release and the commit, as in
// "0.1.0+1c73bc2a4f3e". The numbers of ThisRelease decide which builds work together. Where no
// commit describes the program, a hash of its file does: "0.1.0+1c73bc2a4f3e-dirty.b9fc0bec9503"
// has changes that are not committed, "0.1.0+sha256.b9fc0bec9503" was built with -buildvcs=false.
var Build = sync.OnceValue(func() string {
	info, _ := debug.ReadBuildInfo()
	return build(info, fileHash)
})

// How much of a commit's name, and of a hash, is enough.
const (
	commitLength = 12
	hashLength   = 12
)

// build calls hash only where it is needed: reading the file takes a tenth of a second.
func build(info *debug.BuildInfo, hash func() string) string {
	var commit string
	var dirty bool
	if info != nil {
		for _, s := range info.Settings {
			switch {
			case s.Key == "vcs.revision":
				commit = s.Value[:min(len(s.Value), commitLength)]
			case s.Key == "vcs.modified":
				dirty = s.Value == "true"
			}
		}
	}
	switch {
	case commit == "":
		return Version + "+sha256." + hash()
	case dirty:
		return Version + "+" + commit + "-dirty." + hash()
	}
	return Version + "+" + commit
}

// fileHash is the beginning of the SHA-256 of this program's file, or "unknown".
func fileHash() string {
	// What runs, though another file may have its path by now.
	f, err := os.Open("/proc/self/exe")
	if err != nil {
		return "unknown"
	}
	defer f.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		return "unknown"
	}
	return hex.EncodeToString(sum.Sum(nil))[:hashLength]
}
