package retraining

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ergoflow/ergoflow/data/sets/shard"
	"github.com/ergoflow/ergoflow/internal/disk"
	"github.com/ergoflow/ergoflow/model/experiment"
	"github.com/ergoflow/ergoflow/model/registry"
)

// Forecast says what a retraining would do now.
type Forecast struct {
	Model     string `json:"model"`
	Would     string `json:"would"` // train, resume or nothing
	Reason    string `json:"reason"`
	Champion  int    `json:"champion"` // version; 0: none
	Trainings []Plan `json:"trainings"`
	Shards    int    `json:"shards"`
	Missing   []int  `json:"missing_shards"` // that are generated first
	Bytes     int64  `json:"missing_bytes"`  // that they take
	// Seconds is how long it would take, from the last retraining; null where there was none.
	Seconds *float64 `json:"seconds"`
	// Lock is the retraining that runs now; null: none.
	Lock     *registry.Held `json:"lock"`
	Warnings []string       `json:"warnings,omitempty"`
}

// Plan is a training that would be made.
type Plan struct {
	From  From   `json:"from"`
	Run   string `json:"run"`
	Steps int    `json:"steps"`
}

// words for Forecast.Would.
var would = map[step]string{begin: "train", resume: "resume", nothing: "nothing"}

// Check says what Run would do, and changes nothing. It does not look into watched
// directories: their files are imported by Run.
func Check(ctx context.Context, o Options) (Forecast, error) {
	c := o.Config
	f := Forecast{Model: c.Name, Trainings: []Plan{}, Missing: []int{}}
	r := &run{Options: o, began: time.Now()}
	var err error
	if r.registry, err = registry.Open(c.Registry); err != nil {
		return f, err
	}
	j, err := readJournal(c.Dir)
	if err != nil {
		return f, err
	}
	if registry.Exists(c.Registry) {
		if f.Lock, err = r.registry.Locked(ctx, c.Name); err != nil && !errors.Is(err, registry.ErrNoRegistry) { // a bucket may have none yet
			return f, err
		}
	}
	what, reason, cold, err := r.decide(ctx, j, r.withImports)
	if err != nil {
		return f, err
	}
	f.Would, f.Reason, f.Champion = would[what], reason, r.known.number()
	f.Warnings = c.Notify.Check()
	if what == nothing {
		return f, nil
	}
	warnings, err := cold.PilotRun(ctx)
	if err != nil {
		return f, err
	}
	f.Warnings = append(f.Warnings, warnings...)
	var trainings []training
	if what == resume {
		trainings = j.Trained
	} else {
		champion, err := r.warm(ctx)
		if err != nil {
			return f, err
		}
		if trainings, err = c.trainings(cold, r.known, champion); err != nil {
			return f, err
		}
	}
	return f, r.forecast(ctx, &f, trainings, j)
}

// forecast fills in what trainings need.
func (r *run) forecast(ctx context.Context, f *Forecast, trainings []training, last *journal) error {
	steps := 0
	for _, t := range trainings {
		f.Trainings = append(f.Trainings, Plan{t.From, t.Run, t.Planned})
		if !t.Done {
			steps += t.Planned
		}
	}
	e, err := experiment.Parse(trainings[0].Experiment)
	if err != nil {
		return err
	}
	family, err := e.Family()
	if err != nil {
		return err
	}
	f.Shards = e.Data.Shards + 1
	has := shard.NewDir(r.Config.store()).Has
	if r.Depot != nil {
		present, err := r.Depot.Present(ctx, e.Data.Hash(), f.Shards)
		if err != nil {
			return err
		}
		has = func(_ string, k int) bool { return slices.Contains(present, k) }
	}
	missing, bytes := e.Data.Missing(family, has)
	f.Missing, f.Bytes = append(f.Missing, missing...), bytes
	if last != nil && last.Outcome != nil && last.steps() > 0 {
		seconds := last.Outcome.Seconds * float64(steps) / float64(last.steps())
		f.Seconds = &seconds
	}
	return nil
}

// steps are those of all trainings.
func (j *journal) steps() (n int) {
	for _, t := range j.Trained {
		n += t.Steps
	}
	return n
}

// String is what `retrain check` prints.
func (f Forecast) String() string {
	var b strings.Builder
	champion := "no champion"
	if f.Champion > 0 {
		champion = fmt.Sprintf("champion version %d", f.Champion)
	}
	fmt.Fprintf(&b, "%s: %s, %s\n", f.Model, champion, f.Reason)
	if f.Lock != nil {
		fmt.Fprintf(&b, "runs now   %v since %s\n", f.Lock.Holder, f.Lock.Since.Local().Format(time.DateTime))
	}
	for _, t := range f.Trainings {
		fmt.Fprintf(&b, "would train %d steps from %s start, run %.12s\n", t.Steps, t.From, t.Run)
	}
	if len(f.Trainings) > 0 {
		fmt.Fprintf(&b, "shards     %d of %d are missing, %s\n", len(f.Missing), f.Shards, disk.Size(f.Bytes))
		took := "not known: no retraining has ended here"
		if f.Seconds != nil {
			took = "about " + time.Duration(*f.Seconds*float64(time.Second)).Round(time.Second).String()
		}
		fmt.Fprintf(&b, "time       %s\n", took)
	}
	return b.String()
}
