package data

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/ergoflow/ergoflow/data/equations/family"
	"github.com/ergoflow/ergoflow/data/imports"
	"github.com/ergoflow/ergoflow/data/sets/shard"
)

// Import names functions that a user gave (package imports), and their number.
type Import struct {
	Hash      string `json:"hash" yaml:"hash"`
	Functions int    `json:"functions" yaml:"functions"`
}

// maxImports bounds the length of a description.
const maxImports = 1024

// ErrImports means that the imports of a data set cannot be used: they are missing or damaged,
// have too few samples, or have an equation that is held out.
var ErrImports = errors.New("data.imports")

// ImportedFunctions is how many training functions are imported.
func (d Dataset) ImportedFunctions() int { return min(d.offered(), d.Functions) }

// Generated returns the first training function that is generated, and how many are. Where all
// are imported, those that would be generated stand for them.
func (d Dataset) Generated() (first, count int) {
	first = d.ImportedFunctions() % d.Functions
	return first, d.Functions - first
}

// offered is how many functions the imports have.
func (d Dataset) offered() int {
	n := 0
	for _, im := range d.Imports {
		n += im.Functions
	}
	return n
}

// imported returns the import that training function i is of, and its place in it. The
// imported functions take the place of the first ones of the window, the oldest that are
// generated, in the order of the imports. Where there are more than training functions, the
// first are left out.
func (d Dataset) imported(i int) (hash string, place int, ok bool) {
	if i >= d.ImportedFunctions() {
		return "", 0, false
	}
	place = i + d.offered() - d.ImportedFunctions()
	for _, im := range d.Imports {
		if place < im.Functions {
			return im.Hash, place, true
		}
		place -= im.Functions
	}
	return "", 0, false
}

// ImportsOf are the hashes of the imports that functions of shard k are of.
func (d Dataset) ImportsOf(k int) (hashes []string) {
	if k == d.HeldOutShard() {
		return nil
	}
	per := d.Functions / d.Shards
	for i := k * per; i < (k+1)*per; i++ {
		hash, _, ok := d.imported(i)
		if !ok {
			break
		}
		if len(hashes) == 0 || hashes[len(hashes)-1] != hash {
			hashes = append(hashes, hash)
		}
	}
	return hashes
}

func (d Dataset) validateImports(f family.Family) error {
	if len(d.Imports) == 0 {
		return nil
	}
	if len(d.Imports) > maxImports {
		return fmt.Errorf("data.imports has %d entries: must be at most %d; put more functions into a file", len(d.Imports), maxImports)
	}
	if err := imports.Supported(f); err != nil {
		return fmt.Errorf("data.imports: %w", err)
	}
	seen := make(map[string]bool)
	for i, im := range d.Imports {
		if err := imports.CheckHash(im.Hash); err != nil {
			return fmt.Errorf("data.imports[%d].hash: %w", i, err)
		}
		if seen[im.Hash] {
			return fmt.Errorf("data.imports[%d].hash is %s: it is there twice", i, im.Hash)
		}
		seen[im.Hash] = true
		if im.Functions < 1 || im.Functions > MaxPerShard {
			return fmt.Errorf("data.imports[%d].functions is %d: must be from 1 to %d", i, im.Functions, MaxPerShard)
		}
	}
	return nil
}

// importWarnings says which imported functions are left out.
func (d Dataset) importWarnings() []string {
	if over := d.offered() - d.Functions; over > 0 {
		return []string{fmt.Sprintf("data.imports has %d functions and data.functions is %d: the %d oldest imported ones are left out, and none is generated", d.offered(), d.Functions, over)}
	}
	return nil
}

// ImportSpec is what imports for the data set, whose family is f, must fit.
func (d Dataset) ImportSpec(f family.Family) imports.Spec {
	first, count := d.ShardRange(d.HeldOutShard())
	return imports.Spec{Family: f, Seed: d.Seed, Samples: d.Samples, HeldOutFirst: first, HeldOut: count}
}

// WithImports is the data set with these imports, the newest last, as imports.List gives them.
// It takes one content once, under whatever names it is stored. It leaves out imports that it
// cannot use and those whose functions would all be left out, and says so.
func (d Dataset) WithImports(list []imports.Record, f family.Family) (_ Dataset, warnings []string) {
	d.Imports = nil
	for _, r := range list {
		switch {
		case r.Family != f.Name():
			warnings = append(warnings, fmt.Sprintf("import %.12s (%s) is not used: it is of the family %s, not %s", r.Hash, r.File, r.Family, f.Name()))
		case r.Samples < d.Samples:
			warnings = append(warnings, fmt.Sprintf("import %.12s (%s) is not used: it has %d samples of a function, data.samples needs %d", r.Hash, r.File, r.Samples, d.Samples))
		case !slices.ContainsFunc(d.Imports, func(im Import) bool { return im.Hash == r.Hash }):
			d.Imports = append(d.Imports, Import{r.Hash, r.Functions})
		}
	}
	for len(d.Imports) > maxImports || len(d.Imports) > 1 && d.offered()-d.Imports[0].Functions >= d.Functions {
		warnings = append(warnings, fmt.Sprintf("import %.12s is not used: newer ones have %d functions", d.Imports[0].Hash, d.offered()-d.Imports[0].Functions))
		d.Imports = d.Imports[1:]
	}
	return d, append(warnings, d.importWarnings()...)
}

// takeImports notes the imported functions of shard k. It verifies the imports, and that their
// equations are not held out: they may have been collected for another experiment.
func (s *stored) takeImports(ctx context.Context, d Dataset, k int, f family.Family, store *shard.Dir) error {
	if k == d.HeldOutShard() || d.ImportedFunctions() <= k*len(s.rows) {
		return nil
	}
	open := make(map[string]*imports.Import)
	fit := imports.NewFit(d.ImportSpec(f))
	for at := range s.rows {
		hash, place, ok := d.imported(k*len(s.rows) + at)
		if !ok {
			break
		}
		if open[hash] == nil {
			im, err := imports.Open(store, hash)
			if err != nil {
				return fmt.Errorf("%w: %w", ErrImports, err)
			}
			s.open = append(s.open, im)
			open[hash] = im
			if err := d.checkImport(ctx, im, fit); err != nil {
				return err
			}
		}
		s.rows[at] = row{open[hash], place}
		s.found++
	}
	s.imported = s.found
	return nil
}

// checkImport verifies an import against the data set.
func (d Dataset) checkImport(ctx context.Context, im *imports.Import, fit *imports.Fit) error {
	if err := im.Verify(ctx); err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return fmt.Errorf("%w: %w", ErrImports, err)
	}
	r := im.Record()
	for _, want := range d.Imports {
		if want.Hash == r.Hash && want.Functions != r.Functions {
			return fmt.Errorf("%w: import %s has %d functions, the data set says %d", ErrImports, r.Hash, r.Functions, want.Functions)
		}
	}
	if err := fit.Check(ctx, im); err != nil {
		return fmt.Errorf("%w: import %s: %w", ErrImports, r.Hash, err)
	}
	return nil
}

// CheckImports verifies all imports of the data set, whose family is f, before shards are made
// of them.
func (d Dataset) CheckImports(ctx context.Context, f family.Family, store *shard.Dir) error {
	fit := imports.NewFit(d.ImportSpec(f))
	for _, want := range d.Imports {
		im, err := imports.Open(store, want.Hash)
		if err != nil {
			return fmt.Errorf("%w: %w", ErrImports, err)
		}
		if err := errors.Join(d.checkImport(ctx, im, fit), im.Close()); err != nil {
			return err
		}
	}
	return nil
}
