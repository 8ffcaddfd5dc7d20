package ergoflow

import "testing"

func TestParseWorkerBounds(t *testing.T) {
	for text, want := range map[string]WorkerBounds{
		"3": {3, 3}, "2:4": {2, 4}, "2:": {2, 0}, ":4": {0, 4}, "4096": {4096, 4096},
	} {
		b, err := ParseWorkerBounds(text)
		if err != nil || b != want || b.String() != text {
			t.Errorf("%q: %+v %q %v, want %+v", text, b, b, err, want)
		}
	}
	for _, text := range []string{"", "x", "0", "-1", "4:2", "1:2:3", "10241", ":0", "0:", "1e3", " 2"} {
		if b, err := ParseWorkerBounds(text); err == nil {
			t.Errorf("%q: %+v", text, b)
		}
	}
	if b, err := ParseWorkerBounds(":"); err != nil || b != (WorkerBounds{}) || b.String() != "" {
		t.Errorf("all workers: %+v %v", b, err)
	}
}

func TestUseful(t *testing.T) {
	p := Plan{Shards: 6}
	for b, want := range map[WorkerBounds]int{{}: 6, {0, 2}: 2, {3, 9}: 6} {
		if n := b.Useful(p); n != want {
			t.Errorf("%+v: %d, want %d", b, n, want)
		}
	}
	if n := (WorkerBounds{}).Useful(Plan{Shards: 5000}); n != MaxWorld {
		t.Errorf("%d workers of a plan of 5000 shards", n)
	}
}
