package registry

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"
)

var (
	// ErrFenced: the lock of retrainings has passed to another holder.
	ErrFenced = errors.New("the lock has passed to another holder")
	// ErrChanged: an alias no longer names the version that a decision was about.
	ErrChanged = errors.New("the alias names another version by now")
	// ErrNoPrevious: an alias has no earlier version to go back to.
	ErrNoPrevious = errors.New("there is no earlier version to go back to")
)

// The actions of Entry.
const (
	ActionPromote  = "promote"
	ActionSet      = "set"
	ActionRollback = "rollback"
	ActionRemove   = "remove"
)

// Entry is one change of an alias.
type Entry struct {
	Number  int       `json:"number"` // in the model's history, from 1
	Time    time.Time `json:"time"`
	Action  string    `json:"action"`
	Alias   string    `json:"alias"`
	Version int       `json:"version"` // that the alias named afterwards; 0: none
	Before  int       `json:"before"`  // and before; 0: none
	By      string    `json:"by,omitempty"`
	Reasons []string  `json:"reasons,omitempty"`
	Key     string    `json:"key,omitempty"` // of a promotion
	Fence   uint64    `json:"fence,omitempty"`
	Undo    int       `json:"undo"` // entry that a rollback restores; 0: none
}

// Promotion says which version an alias shall name, and on which conditions.
type Promotion struct {
	Model   string
	Number  int
	Alias   string // empty: Champion
	By      string
	Reasons []string
	Fence   uint64 // of the Lease of a retraining; 0: a person promotes, who needs no lock
	Key     string // if not empty: a promotion with the key of an earlier one changes nothing
	Against *int   // if not nil: the version that the alias must still name, 0 for none
}

// Promote makes an alias name a version, in one transaction that also appends to the
// history. When it returns without error the change is durable. Where the alias names the
// version already, or the promotion was done before (Key), it changes nothing. It fails with
// ErrFenced or ErrChanged where a condition does not hold.
func (r *Registry) Promote(ctx context.Context, p Promotion) error {
	p.Alias = cmp.Or(p.Alias, Champion)
	return r.update(ctx, fmt.Sprintf("promote %s@%d to %s", p.Model, p.Number, p.Alias), on(p.Model, func(s shelf) error {
		h, err := s.head()
		if err != nil {
			return err
		}
		if p.Fence != 0 && p.Fence != h.Fence {
			return fmt.Errorf("%w: its fencing number is %d, this one's %d", ErrFenced, h.Fence, p.Fence)
		}
		if p.Key != "" && s.in(bucketPromotions).Get([]byte(p.Key)) != nil {
			return nil
		}
		e := Entry{Action: ActionPromote, Alias: p.Alias, Version: p.Number, By: p.By, Reasons: p.Reasons, Key: p.Key, Fence: p.Fence}
		return r.point(ctx, s, e, p.Against)
	}))
}

// SetAlias makes an alias name a version.
func (r *Registry) SetAlias(ctx context.Context, model string, number int, alias, by string) error {
	return r.update(ctx, fmt.Sprintf("alias %s@%d as %s", model, number, alias), on(model, func(s shelf) error {
		return r.point(ctx, s, Entry{Action: ActionSet, Alias: alias, Version: number, By: by}, nil)
	}))
}

// RemoveAlias removes an alias. Its version stays; Rollback restores the alias.
func (r *Registry) RemoveAlias(ctx context.Context, model, alias, by string) error {
	return r.update(ctx, "remove alias "+alias, on(model, func(s shelf) error {
		h, err := s.alias(alias)
		if err != nil {
			return err
		}
		_, err = s.append(Entry{Action: ActionRemove, Alias: alias, Before: h.Version, By: by, Undo: h.Entry})
		return err
	}))
}

// point appends an entry that makes an alias name a version, unless it does already.
func (r *Registry) point(ctx context.Context, s shelf, e Entry, against *int) error {
	if err := checkAlias(e.Alias); err != nil {
		return err
	}
	if err := r.loadable(ctx, s, e.Version); err != nil {
		return err
	}
	var h holding // the zero value for a new alias
	if _, err := s.get(bucketAliases, []byte(e.Alias), &h); err != nil {
		return err
	}
	switch {
	case h.Version == e.Version:
		return nil
	case against != nil && *against != h.Version:
		return fmt.Errorf("%w: %s names version %d, the decision was against version %d", ErrChanged, e.Alias, h.Version, *against)
	}
	e.Before, e.Undo = h.Version, h.Entry
	_, err := s.append(e)
	return err
}

// loadable refuses a version that does not exist, and one without its file of weights.
func (r *Registry) loadable(ctx context.Context, s shelf, n int) error {
	v, err := s.version(n)
	if err == nil && !r.hasWeights(ctx, v.Weights) {
		err = corrupt("%s has no weights: %s is missing or has another size", v.Ref(), r.place(v.Weights))
	}
	return err
}

// append adds an entry to the history and makes the alias follow it.
func (s shelf) append(e Entry) (Entry, error) {
	e.Number = 1
	if last, _ := s.in(bucketHistory).Cursor().Last(); last != nil {
		e.Number = number(last) + 1
	}
	e.Time = time.Now().UTC().Truncate(time.Millisecond)
	if err := s.put(bucketHistory, key(e.Number), e); err != nil {
		return e, err
	}
	if e.Key != "" {
		if err := s.in(bucketPromotions).Put([]byte(e.Key), key(e.Number)); err != nil {
			return e, err
		}
	}
	return e, s.put(bucketAliases, []byte(e.Alias), holding{e.Version, e.Number})
}

// Rollback makes an alias name the version that it named before, and returns the new entry
// of the history. Done again it goes further back: it passes over what it undid. It passes
// over versions that were pruned, too.
func (r *Registry) Rollback(ctx context.Context, model, alias, by string) (e Entry, err error) {
	alias = cmp.Or(alias, Champion)
	err = r.update(ctx, fmt.Sprintf("roll back %s of %s", alias, model), on(model, func(s shelf) error {
		var h holding
		found, err := s.get(bucketAliases, []byte(alias), &h)
		if err != nil {
			return err
		}
		if !found {
			_, err = s.alias(alias) // says which there are
			return err
		}
		target, err := s.target(h)
		if err != nil {
			return err
		}
		if target.Number == 0 {
			return fmt.Errorf("%w: %s has named no other version that is still there", ErrNoPrevious, alias)
		}
		if err := r.loadable(ctx, s, target.Version); err != nil {
			return err
		}
		e, err = s.append(Entry{Action: ActionRollback, Alias: alias, Version: target.Version, Before: h.Version, By: by, Undo: target.Undo})
		return err
	}))
	return e, err
}

// target is the entry that a rollback of an alias restores; the zero Entry for none.
func (s shelf) target(h holding) (target Entry, err error) {
	at, err := s.entry(h.Entry)
	if err != nil {
		return target, err
	}
	for at.Undo > 0 {
		if at, err = s.entry(at.Undo); err != nil {
			return target, err
		}
		if at.Version > 0 && at.Version != h.Version && s.has(at.Version) {
			return at, nil
		}
	}
	return target, nil
}

// entry reads one entry of the history.
func (s shelf) entry(n int) (e Entry, err error) {
	found, err := s.get(bucketHistory, key(n), &e)
	if err == nil && (!found || e.Number != n || e.Undo >= n) {
		err = corrupt("entry %d of the history of %s", n, s.model)
	}
	return e, err
}
