package retraining

import (
	"context"
	"fmt"
	"slices"

	"github.com/ergoflow/ergoflow/data/imports"
	"github.com/ergoflow/ergoflow/data/sets/shard"
	"github.com/ergoflow/ergoflow/model/experiment"
)

// collect imports new files of the watched directories, and returns the experiment with all
// imports. A file that is rejected is moved aside and does not stop the retraining.
func (r *run) collect(ctx context.Context, e experiment.Experiment) (experiment.Experiment, error) {
	if len(r.Config.Data.Watch) == 0 {
		return e, nil
	}
	f, err := e.Family()
	if err != nil {
		return e, err
	}
	if err := r.fetchImports(ctx); err != nil {
		return e, err
	}
	spec := e.Data.ImportSpec(f)
	spec.Watched = true
	r.imported = &Imported{}
	for _, w := range r.Config.Data.Watch {
		if w.Dir == "" {
			continue
		}
		found, err := imports.Collect(ctx, shard.NewDir(r.Config.store()), w.Name, w.Dir, spec)
		if err != nil {
			return e, err
		}
		if r.Depot != nil {
			if _, err := r.Depot.UploadImports(ctx, shard.NewDir(r.Config.store()), w.Name); err != nil {
				return e, fmt.Errorf("imports %s: %w", w.Name, err)
			}
		}
		r.imported.add(w.Name, found)
	}
	for _, line := range r.imported.Rejected {
		r.Log.Warn("a file of samples is rejected: " + line)
	}
	if e, err = r.withImports(ctx, e); err != nil {
		return e, err
	}
	return e, e.Data.CheckImports(ctx, f, shard.NewDir(r.Config.store()))
}

// add counts what a directory had.
func (im *Imported) add(name string, found imports.Result) {
	im.Accepted += len(found.Accepted)
	im.Known += len(found.Known)
	im.Waiting += len(found.Waiting)
	for _, f := range found.Rejected {
		im.Rejected = append(im.Rejected, fmt.Sprintf("%s/%s: %s", name, f.File, f.Reason))
	}
	im.Warnings = append(im.Warnings, found.Warnings...)
}

// fetchImports copies the imports of the watched names to this machine, where they are in a
// bucket.
func (r *run) fetchImports(ctx context.Context) error {
	if r.Depot == nil {
		return nil
	}
	for _, w := range r.Config.Data.Watch {
		if err := r.Depot.FetchNamed(ctx, shard.NewDir(r.Config.store()), w.Name); err != nil {
			return fmt.Errorf("imports %s: %w", w.Name, err)
		}
	}
	return nil
}

// records are the imports of a name.
func (r *run) records(ctx context.Context, name string) ([]imports.Record, error) {
	if r.Depot != nil {
		return r.Depot.Imports(ctx, name)
	}
	return imports.List(shard.NewDir(r.Config.store()), name)
}

// withImports is the experiment with all imports of the watched names, the newest last.
func (r *run) withImports(ctx context.Context, e experiment.Experiment) (experiment.Experiment, error) {
	if len(r.Config.Data.Watch) == 0 {
		return e, nil
	}
	f, err := e.Family()
	if err != nil {
		return e, err
	}
	var all []imports.Record
	for _, w := range r.Config.Data.Watch {
		records, err := r.records(ctx, w.Name)
		if err != nil {
			return e, fmt.Errorf("imports %s: %w", w.Name, err)
		}
		all = append(all, records...)
	}
	slices.SortStableFunc(all, func(a, b imports.Record) int { // of one name they are in this order
		if a.Name == b.Name {
			return 0
		}
		return a.Accepted.Compare(b.Accepted)
	})
	var warnings []string
	e.Data, warnings = e.Data.WithImports(all, f)
	if r.imported != nil {
		r.imported.Warnings = append(r.imported.Warnings, warnings...)
	}
	return e, e.Validate()
}

// hashes are those of the imports of an experiment.
func hashes(e experiment.Experiment) (all []string) {
	for _, im := range e.Data.Imports {
		all = append(all, im.Hash)
	}
	return all
}

// lines are the imports' findings for the outcome.
func (im *Imported) lines() []string {
	if im == nil {
		return nil
	}
	var all []string
	for _, line := range im.Rejected {
		all = append(all, "rejected "+line)
	}
	return append(all, im.Warnings...)
}
