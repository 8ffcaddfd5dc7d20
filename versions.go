package ergoflow

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
)

// These numbers decide which processes work together, whatever they were built from. One commit
// may change none of them, and a build with changes that are not committed has those of its code.
// CONTRIBUTING.md says when to raise which.
const (
	// Protocol numbers what processes of a cluster tell each other: the services of
	// coordinator/wire, the metadata of the gossip, and the jobs in the queue.
	Protocol = 1
	// OldestProtocol is the oldest that this program still speaks.
	OldestProtocol = 1
	// Numerics changes with the bits that a plan computes, and with what the ranks of a ring send
	// each other. Workers with different ones train in no generation together.
	Numerics = 1
)

// linked replaces the three numbers, as "2 1 1". A variable, since a test links the next version
// of the program with `-ldflags -X`: so it differs from this one in its numbers alone.
var linked string

// Release is what a process says of the program that it runs.
type Release struct {
	Version        string // its Build, for people
	Protocol       uint32 // the newest that it speaks
	OldestProtocol uint32
	Numerics       uint32
}

// ThisRelease is that of this program.
var ThisRelease = sync.OnceValue(func() Release {
	r := Release{Build(), Protocol, OldestProtocol, Numerics}
	if linked != "" {
		if n, err := fmt.Sscan(linked, &r.Protocol, &r.OldestProtocol, &r.Numerics); err != nil {
			panic(fmt.Sprintf("linked with %q: number %d: %v", linked, n+1, err)) // the linker's command is wrong
		}
	}
	return r
})

// ErrProtocol: two programs have no protocol in common.
var ErrProtocol = errors.New("no common protocol")

// Agree returns the newest protocol that two programs speak. It fails with ErrProtocol where
// there is none, and then says which side is to be upgraded. Names are those of the two sides,
// such as "the worker" and "the coordinator".
func (r Release) Agree(name string, with Release, withName string) (uint32, error) {
	agreed := min(r.Protocol, with.Protocol)
	if agreed >= max(r.OldestProtocol, with.OldestProtocol) {
		return agreed, nil
	}
	older := name
	if r.Protocol > with.Protocol {
		older = withName
	}
	return 0, fmt.Errorf("%w: %s is ergoflow %s and speaks %s, %s is %s and speaks %s: upgrade %s", ErrProtocol,
		name, shown(r.Version), r.protocols(), withName, shown(with.Version), with.protocols(), older)
}

// shown bounds a version that comes from outside.
func shown(version string) string {
	if version == "" {
		return "(unknown)"
	}
	return strings.Trim(strconv.Quote(version[:min(len(version), maxVersion)]), `"`)
}

const maxVersion = 64

func (r Release) protocols() string {
	switch {
	case r.Protocol == 0:
		return "one from before protocols had numbers"
	case r.OldestProtocol == r.Protocol:
		return fmt.Sprintf("protocol %d", r.Protocol)
	}
	return fmt.Sprintf("protocols %d to %d", r.OldestProtocol, r.Protocol)
}

// ErrNewer: a newer release of ergoflow has written something in a format that this one does not
// know.
var ErrNewer = errors.New("a newer ergoflow has written it")

// ErrOlder: an older release has written something in a format that this one reads no more.
var ErrOlder = errors.New("an older ergoflow has written it")

// CheckFormat fails with ErrNewer if the format of something that was stored is newer than ours.
// What names it, for example by its path.
func CheckFormat(what string, format, ours int) error {
	if format > ours {
		return fmt.Errorf("%w: %s has format %d, ergoflow %s reads formats up to %d", ErrNewer, what, format, Build(), ours)
	}
	return nil
}
