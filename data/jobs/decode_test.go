package jobs

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/ergoflow/ergoflow"
)

func TestDecodeRefuses(t *testing.T) {
	for data, want := range map[string]string{
		`{`:                                      "JSON",
		`{"run":"r","shard":-1}`:                 "shard -1",
		`{"run":"r","shard":65537}`:              "shard 65537",
		`{"run":"r.*","shard":1}`:                "letters",
		`{"run":"","shard":1}`:                   "1 to 128",
		`{"run":"q","shard":1}`:                  "subject ergoflow.jobs.q.1",
		strings.Repeat(" ", maxMessage+1) + `{}`: "more than",
	} {
		if _, err := decodeJob("ergoflow.jobs.r.1", []byte(data)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("job %.40s: %v, want %q", data, err, want)
		}
	}
	for data, want := range map[string]string{
		`[]`:                         "cannot unmarshal",
		`{"run":"q","shard":1}`:      `run "q"`,
		`{"run":"r","shard":-1}`:     "shard -1",
		`{"run":"r","shard":100000}`: "shard 100000",
		`{"run":"r","error":"` + strings.Repeat("x", maxError+1) + `"}`: "its error",
	} {
		if _, err := decodeResult("r", []byte(data)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("result %.40s: %v, want %q", data, err, want)
		}
	}
}

// What is taken for a job or a result can be written and read again.
func FuzzDecode(f *testing.F) {
	f.Add("r", []byte(`{"run":"r","shard":1,"dataset":{"family":"vn1d"}}`))
	f.Add("r", []byte(`{"run":"r","shard":2,"worker":"w","seconds":1.5,"attempt":1,"error":"e","dead":true}`))
	f.Add("*", []byte(`{"run":"*","shard":1}`))
	f.Fuzz(func(t *testing.T, run string, data []byte) {
		if job, err := decodeJob(subject("jobs", run, "1"), data); err == nil {
			if job.Run != run || job.Shard != 1 {
				t.Fatalf("job %+v on the subject of run %q, shard 1", job, run)
			}
			if again, err := json.Marshal(job); err != nil {
				t.Fatal(err)
			} else if _, err := decodeJob(job.subject("jobs"), again); err != nil && len(again) <= maxMessage {
				t.Fatalf("%s: %v", again, err)
			}
		}
		if result, err := decodeResult(run, data); err == nil && (result.Run != run || result.Shard < 0 || result.Shard > ergoflow.MaxShards) {
			t.Fatalf("result %+v of run %q", result, run)
		}
	})
}

func TestPublic(t *testing.T) {
	for servers, want := range map[string]string{
		"nats://10.0.0.1:4222":                              "nats://10.0.0.1:4222",
		"nats://user:p@ss@10.0.0.1:4222":                    "nats://10.0.0.1:4222",
		"nats://token@a:4222,tls://user:secret@b:4222,c:42": "nats://a:4222,tls://b:4222,c:42",
		"user:secret@c":                                     "c",
	} {
		if got := Public(servers); got != want {
			t.Errorf("%s becomes %s, not %s", servers, got, want)
		}
	}
}

// What is wrong with a URL is said without its password, also where it is no URL.
func TestMalformedURL(t *testing.T) {
	for _, url := range []string{
		"nats://user:hush@host:port", "nats://user:hu/sh@10.0.0.1:4222", "nats://user:hu%sh@10.0.0.1:4222",
		"nats://hush@[::1", "user:hush@\x7f:1",
	} {
		q, err := Open(t.Context(), url, Access{}, 0)
		if err == nil {
			q.Close()
		}
		if err == nil || strings.Contains(err.Error(), "hu") {
			t.Errorf("%q: %v", url, err)
		}
	}
}
