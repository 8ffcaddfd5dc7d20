package worker

import (
	"context"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"
)

// A worker that is to end waits for an upload that moves, however long, and then a
// little for its device.
func TestHurry(t *testing.T) {
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
				w.saver = newSaver("a", 1, w.log)
				ctx, cancel := context.WithCancel(t.Context())
				running, ended := context.WithCancel(t.Context())
				begin := time.Now()
				if c.upload > 0 {
					w.saver.slot <- struct{}{}
					time.AfterFunc(c.upload, func() { <-w.saver.slot })
				}
				time.AfterFunc(c.ends, ended)
				cancel()
				var stuck time.Duration
				w.hurry(ctx, running, func() { stuck = time.Since(begin) })
				if want := c.upload + deviceGrace; c.stuck && stuck != want || !c.stuck && stuck != 0 {
					t.Errorf("stuck after %v, want %t", stuck, c.stuck)
				}
				ended()
				synctest.Wait()
			})
		})
	}
}

// A worker that ends by itself is nobody's trouble.
func TestHurryOfNone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &worker{log: slog.New(slog.DiscardHandler)}
		running, ended := context.WithCancel(t.Context())
		time.AfterFunc(time.Hour, ended)
		w.hurry(t.Context(), running, func() { t.Error("stuck") })
	})
}
