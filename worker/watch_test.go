package worker

import (
	"context"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"
)

// A worker that is to end waits for an upload that makes progress, however long, and
// then for its device, up to deviceGrace.
func TestReportStuck(t *testing.T) {
	for name, c := range map[string]struct {
		upload time.Duration // how long it goes on; 0: there is none
		ends   time.Duration // Run returns
		stuck  bool
	}{
		"in time":             {0, deviceGrace / 2, false},
		"a device hangs":      {0, time.Hour, true},
		"a long upload":       {10 * time.Minute, 10*time.Minute + deviceGrace/2, false},
		"both":                {10 * time.Minute, time.Hour, true},
		"it ends before that": {time.Hour, time.Minute, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := &worker{log: slog.New(slog.DiscardHandler)}
				w.uploads = newUploader("a", 1, nil, w.log, newMeter())
				ctx, cancel := context.WithCancel(t.Context())
				running, ended := context.WithCancel(t.Context())
				begin := time.Now()
				if c.upload > 0 {
					w.uploads.slot <- struct{}{}
					time.AfterFunc(c.upload, func() { <-w.uploads.slot })
				}
				time.AfterFunc(c.ends, ended)
				cancel()
				var stuck time.Duration
				w.reportStuck(ctx, running, func(string) { stuck = time.Since(begin) })
				if want := c.upload + deviceGrace; c.stuck && stuck != want || !c.stuck && stuck != 0 {
					t.Errorf("stuck after %v, want %t", stuck, c.stuck)
				}
				ended()
				synctest.Wait()
			})
		})
	}
}

// A worker that ends by itself is not reported.
func TestNothingStuck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &worker{log: slog.New(slog.DiscardHandler)}
		running, ended := context.WithCancel(t.Context())
		time.AfterFunc(time.Hour, ended)
		w.reportStuck(t.Context(), running, func(string) { t.Error("stuck") })
	})
}
