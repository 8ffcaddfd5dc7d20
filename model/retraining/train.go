package retraining

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/ergoflow/ergoflow"

	"github.com/ergoflow/ergoflow/data/store"
	"github.com/ergoflow/ergoflow/internal/atomicfile"
	"github.com/ergoflow/ergoflow/model/experiment"
	"github.com/ergoflow/ergoflow/model/training/state"
)

// noteEvery is the time between two notes of the wall time that a training has used.
const noteEvery = time.Minute

// ErrBudget is the cause of the end of a training's context where its budget is used up.
var ErrBudget = errors.New("the budget is used up")

// train makes all trainings of the journal that are not done.
func (r *run) train(ctx context.Context) error {
	for i := range r.journal.Trained {
		t := &r.journal.Trained[i]
		if t.Done {
			continue
		}
		if err := r.trainOne(ctx, t); err != nil {
			return fmt.Errorf("train from %s start: %w", t.From, err)
		}
		if err := r.note(); err != nil {
			return err
		}
		r.reached("trained")
	}
	return nil
}

// trainOne trains until the last step, or until the budget ends. Its state is on disk before
// the journal says that it is done.
func (r *run) trainOne(ctx context.Context, t *training) error {
	job, err := r.job(ctx, t)
	if err != nil {
		return err
	}
	until, why := r.Config.Budget.trainUntil(r.journal.Began, time.Now(), time.Duration(r.spent()))
	within, cancel := ctx, context.CancelFunc(func() {})
	if !until.IsZero() {
		within, cancel = context.WithDeadlineCause(ctx, until, fmt.Errorf("%w: %s", ErrBudget, why))
	}
	encoded, err := r.trainNoting(within, job)
	ended := context.Cause(within)
	cancel()
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err == nil:
	case errors.Is(ended, ErrBudget) && errors.Is(err, context.DeadlineExceeded):
		t.StoppedBy = why
		r.warn("%s ended the training from %s start", why, t.From)
	default:
		return err
	}
	t.Done = true
	if encoded == nil {
		return nil // the budget ended it before its first checkpoint
	}
	_, st, err := experiment.DecodeState(encoded)
	if err != nil {
		return err
	}
	if st.Run != t.Run {
		return fmt.Errorf("the state is of run %.12s instead of %.12s", st.Run, t.Run)
	}
	t.Steps = int(st.Step)
	return atomicfile.Write(r.statePath(t), encoded)
}

// trainNoting trains, and notes in the journal now and then how long it took.
func (r *run) trainNoting(ctx context.Context, job Job) ([]byte, error) {
	type result struct {
		state []byte
		err   error
	}
	done := make(chan result, 1)
	go func() {
		encoded, err := r.Train(ctx, job)
		done <- result{encoded, err}
	}()
	ticker := time.NewTicker(noteEvery)
	defer ticker.Stop()
	for {
		select {
		case got := <-done:
			return got.state, got.err
		case <-ticker.C:
			if err := r.note(); err != nil {
				r.Log.Warn(err.Error()) // the disk may be full; the training waits for room by itself
			}
		}
	}
}

// job is what Train needs for a training.
func (r *run) job(ctx context.Context, t *training) (Job, error) {
	e, err := experiment.Parse(t.Experiment)
	if err != nil {
		return Job{}, err
	}
	j := Job{Experiment: e, Dir: filepath.Join(r.runDir(), string(t.From)), Store: cmp.Or(r.Config.Cluster.Store, r.Config.store()), Cluster: r.Config.Cluster}
	if err := atomicfile.MakeDirs(j.Dir); err != nil {
		return Job{}, err
	}
	if t.From == Warm {
		v, err := r.version(ctx, r.journal.Parent)
		if err != nil {
			return Job{}, err
		}
		champion, err := r.registry.Load(ctx, v)
		if err != nil {
			return Job{}, err
		}
		e.Training.Start = nil // StartFrom sets it
		if j.Experiment, j.Start, err = e.StartFrom(champion); err != nil {
			return Job{}, err
		}
	}
	return j, nil
}

// trained reads the state of a training; nil if it has none.
func (r *run) trained(t *training) (*state.State, []byte, error) {
	f, err := os.Open(r.statePath(t))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	encoded, err := io.ReadAll(io.LimitReader(f, ergoflow.MaxState))
	if err != nil {
		return nil, nil, err
	}
	_, st, err := experiment.DecodeState(encoded)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", f.Name(), err)
	}
	return st, encoded, nil
}

// statePath is where the state of a training waits for the gate.
func (r *run) statePath(t *training) string {
	return filepath.Join(r.runDir(), string(t.From)+".safetensors")
}

func (r *run) runDir() string { return runDir(r.Config.Dir, r.journal.ID) }

// Bucket is the location of the shards, where that is no directory.
func (c Config) Bucket() (l store.Location, ok bool) { return bucket(c.Cluster.Store) }

// bucket is the location of a bucket, if a text is one.
func bucket(text string) (l store.Location, ok bool) {
	l, err := store.Parse(text)
	return l, err == nil && l.Scheme != store.File
}

// store is the directory of the shards. Where they are in a bucket, it has copies of imports and
// of held-out shards.
func (c Config) store() string {
	if c.ownsStore() {
		return filepath.Join(c.Dir, "shards")
	}
	return c.Cluster.Store
}

// ownsStore reports whether the directory is of this directory's retrainings alone.
func (c Config) ownsStore() bool {
	_, isBucket := c.Bucket()
	return isBucket || c.Cluster.Store == ""
}
