package archive

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/ergoflow/ergoflow/data/store"
)

// Holder is a coordinator that keeps its checkpoints in the store.
type Holder struct {
	Host    string    `json:"host"`
	PID     int       `json:"pid"`
	Version string    `json:"version"`
	Began   time.Time `json:"began"`
}

const (
	maxHolder   = 4 << 10
	keptHolders = 3 // newest, for people
)

func (a *Archive) holders() string { return root + a.cluster + "/holder/" }

func (a *Archive) holderKey(n int) string { return fmt.Sprintf("%s%d%s", a.holders(), n, suffix) }

// Take has this process hold the checkpoints, in place of the one that did. It returns the one before;
// nil if there was none, or it cannot be read. Call it once, before anything else is written.
func (a *Archive) Take(ctx context.Context, h Holder) (before *Holder, err error) {
	content, err := json.Marshal(h)
	if err != nil {
		return nil, err
	}
	for {
		last, err := a.last(ctx)
		if err != nil {
			return nil, err
		}
		err = a.store.Put(ctx, a.holderKey(last+1), bytes.NewReader(content), int64(len(content)))
		if errors.Is(err, store.ErrExists) { // another one was faster, or an answer was lost
			continue
		}
		if err != nil {
			return nil, err
		}
		// The number may have been another's that was forgotten since.
		if now, err := a.last(ctx); err != nil {
			return nil, err
		} else if now >= last+1+keptHolders {
			continue
		}
		a.number = last + 1
		if last > 0 {
			before = a.holder(ctx, last)
		}
		return before, a.forget(ctx, last+1-keptHolders)
	}
}

// Held fails with ErrTaken where another coordinator has taken over, and before Take.
func (a *Archive) Held(ctx context.Context) error {
	last, err := a.last(ctx)
	if err != nil {
		return err
	}
	if last == a.number && last > 0 {
		return nil
	}
	if h := a.holder(ctx, last); h != nil {
		return fmt.Errorf("%w: cluster %s in %s: process %d on %.80s, since %s", ErrTaken, a.cluster, a, h.PID, h.Host, h.Began.Format(time.RFC3339))
	}
	return fmt.Errorf("%w: cluster %s in %s", ErrTaken, a.cluster, a)
}

// last is the highest number of a holder; 0 if there is none.
func (a *Archive) last(ctx context.Context) (last int, err error) {
	objects, err := a.store.List(ctx, a.holders())
	if err != nil {
		return 0, err
	}
	for _, o := range objects {
		if n, ok := a.numberOf(o.Key); ok {
			last = max(last, n)
		}
	}
	return last, nil
}

func (a *Archive) numberOf(key string) (n int, ok bool) {
	n, err := strconv.Atoi(strings.TrimSuffix(strings.TrimPrefix(key, a.holders()), suffix))
	return n, err == nil && n > 0 && key == a.holderKey(n)
}

// holder reads a holder; nil if it cannot be read.
func (a *Archive) holder(ctx context.Context, n int) *Holder {
	o, err := a.store.Stat(ctx, a.holderKey(n))
	if err != nil || o.Bytes > maxHolder {
		return nil
	}
	b, err := store.Read(ctx, a.store, o.Key, o.Bytes)
	if err != nil {
		return nil
	}
	var h Holder
	if json.Unmarshal(b, &h) != nil {
		return nil
	}
	return &h
}

// forget removes holders up to a number.
func (a *Archive) forget(ctx context.Context, upTo int) error {
	objects, err := a.store.List(ctx, a.holders())
	if err != nil {
		return err
	}
	for _, o := range objects {
		if n, ok := a.numberOf(o.Key); ok && n <= upTo {
			if err := a.store.Delete(ctx, o.Key); err != nil {
				return err
			}
		}
	}
	return nil
}
