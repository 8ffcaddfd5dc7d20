package keys

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/ergoflow/ergoflow"
)

var (
	// ErrUnderWay: a rotation begins only when the last one is over.
	ErrUnderWay = errors.New("a rotation of the gossip's key is under way")
	// ErrFormat: the stored state of a rotation is damaged.
	ErrFormat = errors.New("damaged state of the gossip's keys")
)

// format is that of the state as JSON.
const format = 1

// Pass is how far a rotation is.
type Pass string

const (
	Steady  Pass = "steady"  // one key: no rotation is under way
	Install Pass = "install" // all learn the new key, and encrypt with the old one
	Use     Pass = "use"     // all encrypt with the new key, and still know the old one
)

// Rotation is the state of a cluster's keys: those that each member should have now, and who
// has confirmed that it has them. It does no I/O.
//
//	Steady [old] ─Begin─► Install [old new] ─Advance─► Use [new old] ─Advance─► Steady [new]
//
// Two members understand one another if each knows the first key of the other. So each pass
// begins when all that are present have confirmed the one before. The owner
// of a Rotation makes it durable after Begin and Advance, before it tells the members: otherwise
// it might forget a key that they use.
type Rotation struct {
	version   uint64 // of keys
	pass      Pass
	keys      []Key // the first encrypts
	confirmed map[string]struct{}
}

// Set is what a member should have, and what it confirms by the version.
type Set struct {
	Version uint64
	Keys    []Key // the first encrypts, all decrypt
}

// Start begins with a cluster's first key.
func Start(first Key) *Rotation {
	return &Rotation{version: 1, pass: Steady, keys: []Key{first}, confirmed: make(map[string]struct{})}
}

// Set is what every member should have now.
func (r *Rotation) Set() Set { return Set{r.version, slices.Clone(r.keys)} }

// Pass is how far the rotation is.
func (r *Rotation) Pass() Pass { return r.pass }

// Begin begins a rotation to the next key.
func (r *Rotation) Begin(next Key) error {
	if r.pass != Steady {
		return fmt.Errorf("%w: pass %q", ErrUnderWay, r.pass)
	}
	if len(next.Bytes()) != Size || next.Equal(r.keys[0]) {
		return fmt.Errorf("%w: %v does not follow %v", ErrKey, next, r.keys[0])
	}
	r.enter(Install, r.keys[0], next)
	return nil
}

// Confirm notes that a member has the keys of a version. Only the newest version counts.
func (r *Rotation) Confirm(member string, version uint64) {
	if version == r.version {
		r.confirmed[member] = struct{}{}
	}
}

// Forget notes that a member has gone, or has come anew and may have other keys.
func (r *Rotation) Forget(member string) { delete(r.confirmed, member) }

// Missing lists those that are present and have not confirmed the keys of now.
func (r *Rotation) Missing(present []string) []string {
	return slices.DeleteFunc(slices.Clone(present), func(member string) bool {
		_, ok := r.confirmed[member]
		return ok
	})
}

// Advance enters the next pass of a rotation if all that are present have confirmed this one,
// and reports whether it did. Who is not present is locked out of the gossip until it learns
// the keys otherwise.
func (r *Rotation) Advance(present []string) bool {
	if r.pass == Steady || len(r.Missing(present)) > 0 {
		return false
	}
	if r.pass == Install {
		r.enter(Use, r.keys[1], r.keys[0])
	} else {
		r.enter(Steady, r.keys[0])
	}
	return true
}

func (r *Rotation) enter(p Pass, keys ...Key) {
	r.version++
	r.pass, r.keys = p, keys
	clear(r.confirmed)
}

// stored is a Rotation as JSON. Confirmations are not in it: members confirm again to a
// process that starts.
type stored struct {
	Format  int      `json:"format"` // 0: from before it was there
	Version uint64   `json:"version"`
	Pass    Pass     `json:"pass"`
	Keys    [][]byte `json:"keys"` // base64
}

// Encode is the state as JSON, with the keys: it belongs into a file that only its user may
// read. There is no MarshalJSON, so that no log has them.
func (r *Rotation) Encode() ([]byte, error) {
	s := stored{Format: format, Version: r.version, Pass: r.pass}
	for _, k := range r.keys {
		s.Keys = append(s.Keys, k.Bytes())
	}
	return json.Marshal(s)
}

// Decode reads what Encode wrote. Its errors do not show keys.
func Decode(b []byte) (*Rotation, error) {
	var s stored
	if err := json.Unmarshal(b, &s); err != nil {
		return nil, fmt.Errorf("%w: no JSON of a rotation", ErrFormat)
	}
	if err := ergoflow.CheckFormat("the gossip's keys", s.Format, format); err != nil {
		return nil, err
	}
	r := Rotation{version: s.Version, pass: s.Pass, confirmed: make(map[string]struct{})}
	for _, b := range s.Keys {
		k, err := Of(b)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrFormat, err)
		}
		r.keys = append(r.keys, k)
	}
	want := map[Pass]int{Steady: 1, Install: 2, Use: 2}[r.pass]
	if want == 0 || len(r.keys) != want || r.version == 0 {
		return nil, fmt.Errorf("%w: version %d, pass %.20q, %d keys", ErrFormat, r.version, string(r.pass), len(r.keys))
	}
	if want == 2 && r.keys[0].Equal(r.keys[1]) {
		return nil, fmt.Errorf("%w: twice %v", ErrFormat, r.keys[0])
	}
	return &r, nil
}
