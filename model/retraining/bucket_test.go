package retraining

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ergoflow/ergoflow/data/sets/depot"
	"github.com/ergoflow/ergoflow/data/sets/shard"
	"github.com/ergoflow/ergoflow/data/store/storetest"
	"github.com/ergoflow/ergoflow/model/evaluation/evaluate"
)

// A retraining whose shards are in a bucket collects samples into the bucket, trains with the
// bucket's location, and judges on the bucket's held-out shard. On another machine it finds the
// samples there.
func TestBucket(t *testing.T) {
	const location = "s3://bucket/p?endpoint=http://127.0.0.1:1"
	d := depot.New(storetest.NewDir(t.TempDir()))
	inbox := t.TempDir()
	if err := os.CopyFS(inbox, os.DirFS("../../data/imports/testdata/fields")); err != nil {
		t.Fatal(err)
	}
	old := time.Now().Add(-time.Hour) // a watched file that has just changed waits
	if err := os.Chtimes(filepath.Join(inbox, "ou.safetensors"), old, old); err != nil {
		t.Fatal(err)
	}
	document := "name: vn1d\nexperiment: {name: vn1d, preset: smoke, set: [data.samples=64]}\ncluster: {store: \"" + location + "\"}\ndata: {watch: [{name: mine, dir: \"" + inbox + "\"}]}\n"
	options := func(w *world, dir string) Options {
		path := filepath.Join(dir, "retrain.yaml")
		if err := os.WriteFile(path, []byte(document), 0o600); err != nil {
			t.Fatal(err)
		}
		c, e, err := Load(path)
		if err != nil {
			t.Fatal(err)
		}
		return Options{Config: c, Experiment: e, By: "test", Depot: d, Log: slog.New(slog.DiscardHandler),
			Train: func(ctx context.Context, j Job) ([]byte, error) {
				if j.Store != location || len(j.Experiment.Data.Imports) != 1 {
					t.Errorf("trains with %s and the imports %v", j.Store, j.Experiment.Data.Imports)
				}
				if records, err := d.Imports(ctx, "mine"); err != nil || len(records) != 1 {
					t.Errorf("the bucket has the imports %v, %v", records, err)
				}
				upload(t, d, j.Experiment.Data.Hash(), j.Experiment.Data.HeldOutShard())
				return w.train(ctx, j)
			},
			Evaluate: func(ctx context.Context, e Evaluation) (*evaluate.Results, error) {
				if x := e.Experiment.Data; !shard.NewDir(e.Store).Has(x.Hash(), x.HeldOutShard()) {
					t.Errorf("%s lacks the held-out shard", e.Store)
				}
				return w.evaluate(ctx, e)
			},
		}
	}
	first, second := t.TempDir(), t.TempDir()
	w := &world{quality: 1}
	o := options(w, first)
	forecast, err := Check(t.Context(), o)
	if err != nil || len(forecast.Missing) != forecast.Shards {
		t.Fatalf("%+v, %v", forecast, err)
	}
	out, err := Run(t.Context(), o)
	if err != nil || out.Decision.Code() != 0 || w.trained != 1 {
		t.Fatalf("%+v, %v", out, err)
	}
	if forecast, err = Check(t.Context(), options(w, second)); err != nil || len(forecast.Missing) != forecast.Shards-1 {
		t.Errorf("%+v, %v", forecast, err)
	}
	if out, err := Run(t.Context(), options(w, second)); err != nil || w.trained != 2 {
		t.Errorf("%+v, %v", out, err)
	}
	if _, err := os.Stat(filepath.Join(second, "retrain", "shards", "imports", "mine")); err != nil {
		t.Error(err)
	}
	if c, _, err := Load(filepath.Join(first, "retrain.yaml")); err != nil || c.Cluster.Store != location || strings.Contains(c.store(), "s3:") {
		t.Errorf("%+v, %v", c, err)
	}
}

// upload puts a shard with little in it.
func upload(t *testing.T, d *depot.Depot, dataset string, k int) {
	t.Helper()
	from := shard.NewDir(t.TempDir())
	w, err := from.Create(shard.Header{Family: "vn1d", Dataset: dataset, Shard: k, First: 0, Count: 1, Purpose: shard.Reference, Dim: 1, Samples: 1})
	if err == nil {
		err = w.Samples([]float32{1})
	}
	if err == nil {
		_, err = w.Commit()
	}
	if err == nil {
		err = d.Upload(t.Context(), from, dataset, k)
	}
	if err != nil {
		t.Fatal(err)
	}
}
