package coordinator

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/ergoflow/ergoflow/coordinator/gossip/keys"
	"github.com/ergoflow/ergoflow/coordinator/wire"
	"github.com/ergoflow/ergoflow/internal/atomicfile"
	"github.com/ergoflow/ergoflow/internal/trust"
	"github.com/ergoflow/ergoflow/internal/trust/secure"
)

// gossipFile has the keys of the gossip. It is not in the ledger, which others may read.
const gossipFile = "gossip.json"

// maxGossipFile bounds what is read of it.
const maxGossipFile = 4 << 10

// gossipKeys owns the keys that encrypt a secured cluster's gossip.
type gossipKeys struct {
	path string

	mu       sync.Mutex
	rotation *keys.Rotation
	set      func([]keys.Key) error // of the coordinator's own member; nil before it has one
}

// openGossipKeys reads the keys in the coordinator's directory, or makes the first.
func openGossipKeys(dir string) (*gossipKeys, error) {
	g := &gossipKeys{path: filepath.Join(dir, gossipFile)}
	f, err := os.Open(g.path)
	if errors.Is(err, fs.ErrNotExist) {
		g.rotation = keys.Start(keys.New())
		return g, g.save()
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxGossipFile)) // a longer one is no JSON
	if err != nil {
		return nil, err
	}
	if g.rotation, err = keys.Decode(text); err != nil {
		return nil, fmt.Errorf("%s: %w", g.path, err)
	}
	return g, nil
}

func (g *gossipKeys) save() error {
	text, err := g.rotation.Encode()
	if err != nil {
		return err
	}
	return atomicfile.WritePrivate(g.path, text)
}

// now are the keys that every member should have.
func (g *gossipKeys) now() keys.Set {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.rotation.Set()
}

// serve has set called whenever the keys change.
func (g *gossipKeys) serve(set func([]keys.Key) error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.set = set
}

// begin begins a rotation to a new key.
func (g *gossipKeys) begin() error {
	return g.change(func(r *keys.Rotation) (bool, error) {
		err := r.Begin(keys.New())
		return err == nil, err
	})
}

// advance enters the next pass of a rotation, if all workers that are present have confirmed
// the present one.
func (g *gossipKeys) advance(present []string) error {
	return g.change(func(r *keys.Rotation) (bool, error) { return r.Advance(present), nil })
}

// change makes a step durable, and then known. Where it is not durable, nothing changes.
func (g *gossipKeys) change(step func(*keys.Rotation) (changed bool, err error)) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	before, err := g.rotation.Encode()
	if err != nil {
		return err
	}
	changed, err := step(g.rotation)
	if err != nil || !changed {
		return err
	}
	if err := g.save(); err != nil {
		kept, damaged := keys.Decode(before)
		if damaged == nil {
			g.rotation = kept
		}
		return errors.Join(err, damaged)
	}
	if g.set == nil {
		return nil
	}
	return g.set(g.rotation.Set().Keys)
}

// encoded is the rotation, for other coordinators.
func (g *gossipKeys) encoded() ([]byte, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.rotation.Encode()
}

// adopt takes over the rotation of the coordinator that leads.
func (g *gossipKeys) adopt(encoded []byte) error {
	if len(encoded) > maxGossipFile {
		return fmt.Errorf("%w: %d bytes of gossip keys", keys.ErrKey, len(encoded))
	}
	theirs, err := keys.Decode(encoded)
	if err != nil {
		return err
	}
	return g.change(func(r *keys.Rotation) (bool, error) {
		own, err := r.Encode()
		if err != nil || bytes.Equal(own, encoded) {
			return false, err
		}
		*r = *theirs
		return true, nil
	})
}

// confirm notes that a worker has the keys of a version.
func (g *gossipKeys) confirm(worker string, version uint64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.rotation.Confirm(worker, version)
}

// progress is the pass, and the workers of those present that have not confirmed it.
func (g *gossipKeys) progress(present []string) (keys.Pass, []string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.rotation.Pass(), g.rotation.Missing(present)
}

// keysToWire is what travels to a member: over TLS, never by gossip.
func keysToWire(set keys.Set) *wire.GossipKeysReply {
	r := &wire.GossipKeysReply{Version: set.Version}
	for _, k := range set.Keys {
		r.Keys = append(r.Keys, k.Bytes())
	}
	return r
}

// present are the workers with a certificate that have a session. It belongs to the loop.
func (l *loop) present() (workers []string) {
	for _, s := range l.sessions {
		if s.cert != nil {
			workers = append(workers, s.from)
		}
	}
	slices.Sort(workers)
	return workers
}

// advanceGossip enters the next pass of a rotation, if the workers that are present are ready.
func (l *loop) advanceGossip() error {
	var present []string
	l.do(func() { present = l.present() })
	return l.security.keys.advance(present)
}

// holds reports whether a worker with that identity has a session. It belongs to the loop.
func (l *loop) holds(worker string, id trust.Identity) bool {
	for _, s := range l.sessions {
		if s.cert == nil || s.from != worker {
			continue
		}
		if own, err := trust.IdentityOf(s.cert); err == nil && own == id {
			return true
		}
	}
	return false
}

// GossipKeys implements wire.ControlServer.
// A worker confirms for itself alone, and only while it has a session.
func (v *service) GossipKeys(ctx context.Context, r *wire.GossipKeysRequest) (*wire.GossipKeysReply, error) {
	id, ok := secure.Caller(ctx)
	if v.security == nil || !ok {
		return nil, errPlain
	}
	v.loop.do(func() {
		if v.loop.holds(r.GetWorker(), id) {
			v.security.keys.confirm(r.GetWorker(), r.GetVersion())
		}
	})
	return keysToWire(v.security.keys.now()), nil
}

// RotateGossip implements wire.ControlServer.
func (v *service) RotateGossip(_ context.Context, r *wire.RotateGossipRequest) (*wire.RotateGossipReply, error) {
	if v.security == nil {
		return nil, errPlain
	}
	if r.GetBegin() {
		if err := v.security.keys.begin(); err != nil && !errors.Is(err, keys.ErrUnderWay) { // one that is under way is the one that is asked for
			return nil, err
		}
	}
	var present []string
	if !v.loop.do(func() { present = v.loop.present() }) {
		return nil, errEnding
	}
	pass, missing := v.security.keys.progress(present)
	return &wire.RotateGossipReply{Pass: string(pass), Missing: missing}, nil
}
