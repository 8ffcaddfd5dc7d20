package registry

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"go.etcd.io/bbolt"
)

// ErrReplaced: another wants to hold the lock, and this holder should end.
var ErrReplaced = errors.New("another retraining asks for the lock")

// Lease is a hold of a model's lock. Only Promote with its Fence is certain that nobody
// else holds the lock by then: a process may sleep, and learn of its loss late.
type Lease struct {
	Fence uint64 // grows with every holder of the model's lock
	Took  string // why the lock was taken from another holder; empty where it was free

	registry *Registry
	model    string
	holder   Holder
	stop     context.CancelFunc
	ended    chan struct{} // closed when the renewal has ended

	lost  chan struct{} // closed when reason is set
	mu    sync.Mutex
	cause error
}

// Lock takes the lock of a model's retrainings. Where another holder has it, that depends
// on the policy. A holder that has ended, also by a restart of its machine, or that gave no
// sign of life for a minute loses the lock; its fencing number is then too low for Promote.
// A holder on another machine must be watched for that: Skip can take until its next sign
// of life, which is 10 s. The lease is renewed until ctx ends or Release is called.
func (r *Registry) Lock(ctx context.Context, model string, holder Holder, policy Policy) (*Lease, error) {
	if policy != Wait && policy != Skip && policy != Replace {
		return nil, r.name("lock", fmt.Errorf("%w: policy %q is none of %s, %s, %s", ErrInvalid, policy, Wait, Skip, Replace))
	}
	if err := r.make(); err != nil {
		return nil, r.name("lock", err)
	}
	lease := &Lease{registry: r, model: model, holder: holder, ended: make(chan struct{}), lost: make(chan struct{})}
	for watched := (watch{}); ; {
		granted, err := lease.try(ctx, policy, &watched)
		if err != nil {
			return nil, err
		}
		if granted {
			renewing, stop := context.WithCancel(ctx)
			lease.stop = stop
			go lease.renew(renewing)
			return lease, nil
		}
		select {
		case <-time.After(pollTime):
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// try looks at the lock once, and takes it if it may. It writes only where that changes
// something, since many may wait for long.
func (l *Lease) try(ctx context.Context, policy Policy, watched *watch) (granted bool, err error) {
	r := l.registry
	decision := take
	look := func(s shelf) (held lock, err error) {
		found, err := s.get(nil, keyLock, &held)
		if err != nil {
			return held, err
		}
		decision, l.Took = take, ""
		if found {
			now := r.clock()
			*watched = watched.look(held, now)
			decision, l.Took = judge(l.holder, policy, held, *watched, l.holder.gone(held.Holder), now)
		}
		if decision == fail {
			err = &LockedError{l.model, held.Holder}
		}
		return held, err
	}
	err = r.view(ctx, "lock", on(l.model, func(s shelf) error {
		_, err := look(s)
		return err
	}))
	if err != nil && !errors.Is(err, ErrNoRegistry) && !errors.Is(err, ErrNotFound) || decision == stay {
		return false, err
	}
	err = r.change(ctx, "lock", func(models *bbolt.Bucket) error {
		s, err := obtain(models, l.model)
		if err != nil {
			return err
		}
		held, err := look(s) // again: it may have changed
		switch {
		case err != nil || decision == stay:
			return err
		case decision == ask:
			held.Asked = true
			watched.asked = r.clock()
			return s.put(nil, keyLock, held)
		}
		granted = true
		return l.grant(s, r.clock())
	}, nil)
	return granted && err == nil, err
}

// grant writes the lease under a new fencing number.
func (l *Lease) grant(s shelf, now time.Duration) error {
	h, err := s.head()
	if err != nil {
		return err
	}
	h.Fence++
	l.Fence = h.Fence
	if err := s.put(nil, keyHead, h); err != nil {
		return err
	}
	return s.put(nil, keyLock, lock{Holder: l.holder, Fence: h.Fence, Clock: now, Since: time.Now().UTC().Truncate(time.Second)})
}

// renew gives signs of life until ctx ends or the lock has another holder. A sign that
// cannot be written, as on a full disk, is left out: the next may succeed in time.
func (l *Lease) renew(ctx context.Context) {
	defer close(l.ended)
	tick := time.NewTicker(beatTime)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		err := l.beat(ctx)
		if errors.Is(err, ErrFenced) || errors.Is(err, ErrReplaced) {
			l.lose(err)
		}
		if errors.Is(err, ErrFenced) {
			return
		}
	}
}

// beat gives a sign of life. It fails with ErrFenced where the lock has another holder, and
// with ErrReplaced where one asks for it.
func (l *Lease) beat(ctx context.Context) error {
	asked := false
	err := l.registry.update(ctx, "renew the lock of "+l.model, func(models *bbolt.Bucket) error {
		s, held, err := l.held(models)
		if err != nil {
			return err
		}
		asked = held.Asked
		held.Beat++
		held.Clock = l.registry.clock()
		return s.put(nil, keyLock, held)
	})
	if err == nil && asked {
		err = ErrReplaced
	}
	return err
}

// held reads the record of the lock. It fails with ErrFenced unless it is this lease's.
func (l *Lease) held(models *bbolt.Bucket) (s shelf, held lock, err error) {
	if s, err = find(models, l.model); err != nil {
		return s, held, err
	}
	found, err := s.get(nil, keyLock, &held)
	if err == nil && (!found || held.Fence != l.Fence || held.Holder.ID != l.holder.ID) {
		err = ErrFenced
		if found {
			err = fmt.Errorf("%w: %v", ErrFenced, held.Holder)
		}
	}
	return s, held, err
}

func (l *Lease) lose(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.cause == nil {
		l.cause = err
		close(l.lost)
	}
}

// Lost is closed when the holder should end: Err says why.
func (l *Lease) Lost() <-chan struct{} { return l.lost }

// Err is ErrFenced when the lock has another holder, ErrReplaced when one waits for the
// lock to be released, and nil before Lost is closed.
func (l *Lease) Err() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.cause
}

// Release ends the renewal and gives the lock back. A lock that another holder has by now
// stays as it is.
func (l *Lease) Release(ctx context.Context) error {
	l.stop()
	<-l.ended
	err := l.registry.update(ctx, "release the lock of "+l.model, func(models *bbolt.Bucket) error {
		s, _, err := l.held(models)
		if err != nil {
			return err
		}
		return s.in(nil).Delete(keyLock)
	})
	if errors.Is(err, ErrFenced) {
		return nil
	}
	return err
}

// Locked returns who holds the lock of a model's retrainings, and since when, or nil. It
// may be one that has ended.
func (r *Registry) Locked(ctx context.Context, model string) (held *Held, err error) {
	err = r.view(ctx, "lock", on(model, func(s shelf) error {
		var l lock
		if found, err := s.get(nil, keyLock, &l); err != nil || !found {
			return err
		}
		held = &Held{Holder: l.Holder, Fence: l.Fence, Since: l.Since}
		return nil
	}))
	return held, err
}

// Held is a lock that a process holds.
type Held struct {
	Holder Holder    `json:"holder"`
	Fence  uint64    `json:"fence"`
	Since  time.Time `json:"since"`
}
