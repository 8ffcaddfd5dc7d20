package archive

import (
	"testing"

	"github.com/ergoflow/ergoflow/data/store/storetest"
	"github.com/ergoflow/ergoflow/internal/corpus"
)

// Checkpoints that each release has put into a bucket are read, and its coordinator is known.
func TestCorpus(t *testing.T) {
	corpus.Check(t, "archive",
		func(dir string) {
			a := open(t, storetest.NewDir(dir), "lab")
			for step := range 2 {
				info, data := made(3, 10*(step+1), 100, 0.5)
				save(t, a, info, data)
			}
		},
		func(dir string) any {
			s := storetest.NewDir(dir)
			a, err := New(s, "lab")
			if err != nil {
				t.Fatal(err)
			}
			before, err := a.Take(t.Context(), Holder{Host: "there", PID: 2})
			if err != nil {
				t.Fatal(err)
			}
			entries, err := a.Entries(t.Context(), run)
			if err != nil {
				t.Fatal(err)
			}
			var all []any
			for _, e := range entries {
				info, data, err := Read(t.Context(), s, e)
				if err != nil {
					t.Fatal(err)
				}
				all = append(all, map[string]any{"info": info, "data": data})
			}
			return map[string]any{"checkpoints": all, "before": before}
		})
}
