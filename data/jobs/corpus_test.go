package jobs

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/ergoflow/ergoflow/internal/corpus"
)

// Messages that each release has put into the queue are read.
func TestCorpus(t *testing.T) {
	job := Job{Run: "0123abcd", Shard: 7, Dataset: json.RawMessage(`{"family":"vn1d","seed":9}`)}
	corpus.Check(t, "jobs",
		func(dir string) {
			for name, m := range map[string]any{
				"job.json":      job,
				"result.json":   Result{Run: job.Run, Shard: 7, Worker: "w1", Seconds: 1.5, Attempt: 2, Error: "no room", Dead: true},
				"returned.json": returned{Run: job.Run, Shard: 7, Sequence: 1 << 60},
			} {
				b, err := json.Marshal(m)
				if err != nil {
					t.Fatal(err)
				}
				corpus.Put(t, dir, name, b)
			}
		},
		func(dir string) any {
			j, errJob := decodeJob(job.subject("jobs"), corpus.Get(t, dir, "job.json"))
			r, errResult := decodeResult(job.Run, corpus.Get(t, dir, "result.json"))
			back, errReturned := decodeReturn(job.Run, corpus.Get(t, dir, "returned.json"))
			if err := errors.Join(errJob, errResult, errReturned); err != nil {
				t.Error(err)
			}
			return map[string]any{"job": j, "subject": j.subject("jobs"), "result": r, "returned": back}
		})
}
