package imports

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/data/equations/family"
	"github.com/ergoflow/ergoflow/data/sets/shard"
)

// Spec is what imports must fit.
type Spec struct {
	Family  family.Family
	Seed    uint64
	Samples int // that training needs of every function; more are thinned
	// HeldOutFirst and HeldOut are the functions on which models are judged. No import may
	// have one of their equations.
	HeldOutFirst, HeldOut int
	// Watched leaves files that changed in the last seconds for the next time: in a directory
	// into which programs write, they may be incomplete.
	Watched bool
	Now     time.Time // zero: the time of the call
}

// Result says what became of the files. Its lists are never nil.
type Result struct {
	Accepted []Record  `json:"accepted"`
	Known    []Record  `json:"known"`    // of the same content as an import that was there
	Rejected []Refused `json:"rejected"` // moved aside
	Waiting  []Refused `json:"waiting"`  // left for the next time
	Warnings []string  `json:"warnings"`
}

// Refused is a file that was not imported.
type Refused struct {
	File   string `json:"file"` // its name
	Reason string `json:"reason"`
	Moved  string `json:"moved,omitempty"` // where it is now
}

// Collect imports the files at path, a directory or a file in one, under a name. It stores
// what it accepts. Files of a directory that it rejects are moved to its folder rejected, with
// FILE.reason.txt beside them; the others go on. The order of files in time does not matter
// within one call: which of two files with the same equation is accepted depends on their
// names, and the order of what is accepted on the hashes.
//
// The error is of the store, the family or the context, never of a file's content.
func Collect(ctx context.Context, store *shard.Dir, name, path string, spec Spec) (Result, error) {
	if err := CheckName(name); err != nil {
		return Result{}, err
	}
	t, err := targetOf(spec.Family)
	if err != nil {
		return Result{}, err
	}
	if spec.Now.IsZero() {
		spec.Now = time.Now()
	}
	c := &collector{store: store, name: name, spec: spec, target: t, held: newHeldOut(spec), seen: readSeen(store, name),
		result: Result{Accepted: []Record{}, Known: []Record{}, Rejected: []Refused{}, Waiting: []Refused{}, Warnings: []string{}}}
	if err = c.list(); err == nil {
		err = errors.Join(c.collect(ctx, path), c.unlock())
	}
	if err != nil {
		return c.result, fmt.Errorf("imports %s: %w", name, err)
	}
	slices.SortFunc(c.result.Accepted, func(a, b Record) int { return strings.Compare(a.Hash, b.Hash) })
	return c.result, nil
}

// collector is one call of Collect.
type collector struct {
	store   *shard.Dir
	name    string
	spec    Spec
	target  target
	records []Record
	batch   int
	held    *heldOut
	seen    *seen
	// equations are those of the family's imports, with their hash; made when the first file is
	// read, under the lock.
	equations map[[sha256.Size]byte]string
	locked    *os.File
	result    Result
}

// list reads the records of the store.
func (c *collector) list() (err error) {
	if c.records, err = List(c.store, c.name); err != nil {
		return err
	}
	c.batch = 1
	for _, r := range c.records {
		c.batch = max(c.batch, r.Batch+1)
	}
	return nil
}

func (c *collector) unlock() error {
	if c.locked == nil {
		return nil
	}
	return c.locked.Close()
}

func (c *collector) collect(ctx context.Context, path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	dir, only := path, ""
	if !info.IsDir() {
		dir, only = filepath.Dir(path), filepath.Base(path)
	}
	all, err := scan(dir, c.target.fieldNames())
	if err != nil {
		return err
	}
	matched := false
	for _, g := range all.groups {
		if only != "" && filepath.Base(g.main) != only {
			continue
		}
		matched = true
		if err := c.take(ctx, g, only == ""); err != nil {
			return err
		}
	}
	switch {
	case only == "":
		for _, name := range all.unfinished {
			c.wait(name, "its name says that it is still being written")
		}
		for _, name := range all.orphans {
			c.result.Warnings = append(c.result.Warnings, name+" belongs to no samples")
		}
	case !matched:
		return fmt.Errorf("%s: must be .safetensors, or .npy with samples", path)
	}
	c.remember()
	return nil
}

// remember keeps the cache. Without it files are read again, and nothing else changes.
func (c *collector) remember() {
	if err := c.seen.write(); err != nil {
		c.result.Warnings = append(c.result.Warnings, err.Error())
	}
}

// take imports one group of files.
func (c *collector) take(ctx context.Context, g group, aside bool) error {
	name := filepath.Base(g.main)
	fingerprint, changed, err := g.fingerprint()
	if err == nil && c.spec.Watched {
		// A file from a clock that is ahead is not waited for.
		if age := c.spec.Now.Sub(changed); age < settled && age > -settled {
			c.wait(name, fmt.Sprintf("it changed in the last %g s and may still be being written", settled.Seconds()))
			return nil
		}
	}
	if err == nil {
		if r, ok := c.known(c.seen.hash(g, fingerprint, c.target.Name())); ok {
			c.result.Known = append(c.result.Known, r)
			return nil
		}
		var r Record
		if r, err = c.accept(ctx, g); err == nil {
			c.seen.note(g, fingerprint, c.target.Name(), r.Hash)
			return nil
		}
		if now, _, again := g.fingerprint(); again != nil || now != fingerprint {
			err = errors.Join(errChanged, again)
		}
	}
	var fatal *storeError
	var unreadable *fs.PathError
	switch {
	case errors.As(err, &fatal):
		return fatal.err
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, errChanged):
		c.wait(name, errChanged.Error()+": it is still being written")
	case errors.As(err, &unreadable):
		c.wait(name, unreadable.Error())
	default:
		c.reject(g, err, aside)
	}
	return nil
}

// storeError is an error that is not the file's.
type storeError struct{ err error }

func (e *storeError) Error() string { return e.err.Error() }

// accept stores a group of files unless its content is known.
func (c *collector) accept(ctx context.Context, g group) (r Record, err error) {
	if g.conflict != "" {
		return r, errors.New(g.conflict)
	}
	if err := c.prepare(ctx); err != nil {
		return r, &storeError{err}
	}
	s, err := g.open(c.target)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	if s.each < c.spec.Samples {
		return r, fmt.Errorf("%d samples of every function: data.samples needs %d", s.each, c.spec.Samples)
	}
	// The equations of an import are known when the content is, so the content is hashed first.
	r = Record{
		Format: Format, Name: c.name, Family: c.target.Name(), Functions: s.functions, Samples: s.each, Dim: s.Dim(),
		Fields: s.Fields(), Batch: c.batch, Accepted: c.spec.Now.UTC().Truncate(time.Millisecond),
		File: filepath.Base(g.main), CreatedBy: "ergoflow " + ergoflow.Version,
	}
	found, err := s.check(ctx, c.held)
	if err != nil {
		return r, err
	}
	r.Hash = r.contentHash(found.sorted())
	if known, ok := c.known(r.Hash); ok {
		c.result.Known = append(c.result.Known, known)
		return known, nil
	}
	for i, equation := range found.equations {
		if hash, ok := c.equations[equation]; ok {
			return r, fmt.Errorf("function %d has an equation that import %.12s has already", i, hash)
		}
	}
	if err := s.unchanged(); err != nil {
		return r, err
	}
	r.Warnings = found.warnings
	if err := s.write(ctx, c.store, r, found); err != nil {
		if errors.Is(err, errChanged) {
			return r, errChanged
		}
		return r, &storeError{err}
	}
	for _, equation := range found.equations {
		c.equations[equation] = r.Hash
	}
	c.records = append(c.records, r)
	c.result.Accepted = append(c.result.Accepted, r)
	for _, w := range r.Warnings {
		c.result.Warnings = append(c.result.Warnings, r.File+": "+w)
	}
	return r, nil
}

// known is the import of that hash, under the collector's name.
func (c *collector) known(hash string) (Record, bool) {
	for _, r := range c.records {
		if r.Hash == hash {
			return r, true
		}
	}
	return Record{}, false
}

// prepare makes what files are compared with, and keeps other collections of the name out.
func (c *collector) prepare(ctx context.Context) (err error) {
	if c.equations != nil {
		return nil
	}
	if c.locked, err = lock(ctx, c.store, c.name); err != nil {
		return err
	}
	if err := cmp.Or(c.list(), c.held.prepare()); err != nil {
		return err
	}
	equations := make(map[[sha256.Size]byte]string)
	for _, r := range c.records {
		if r.Family != c.target.Name() {
			continue
		}
		im, err := r.Open(c.store)
		if err != nil {
			return err
		}
		for i := range r.Functions {
			equations[[sha256.Size]byte(im.equations[i*sha256.Size:])] = r.Hash
		}
		if err := im.Close(); err != nil {
			return err
		}
	}
	c.equations = equations
	return nil
}

func (c *collector) wait(name, reason string) {
	c.result.Waiting = append(c.result.Waiting, Refused{File: name, Reason: reason})
}
