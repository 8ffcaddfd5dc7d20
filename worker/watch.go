package worker

import (
	"context"
	"sync"
	"time"
)

// deviceGrace bounds how long the device may finish its work once the worker is to
// end at once. A device that hangs would keep the process alive for ever.
const deviceGrace = 3 * time.Second

// watchDevice calls stuck if ctx has ended and the device keeps the worker from
// ending. The caller ends the watch when the worker has ended.
func (w *worker) watchDevice(ctx context.Context, stuck func(doing string)) (end func()) {
	running, ended := context.WithCancel(context.Background())
	var watch sync.WaitGroup
	watch.Go(func() { w.reportStuck(ctx, running, stuck) })
	return func() {
		ended()
		watch.Wait()
	}
}

// reportStuck calls stuck if running has not ended deviceGrace after ctx. It first waits
// for an upload under way, which ends by itself: after stallTimeout without progress at
// the latest.
func (w *worker) reportStuck(ctx, running context.Context, stuck func(doing string)) {
	select {
	case <-ctx.Done():
	case <-running.Done():
		return
	}
	if w.uploads.busy() {
		w.log.Info("waiting for the upload of a checkpoint before the worker ends", "stall_timeout", stallTimeout)
	}
	if w.uploads.wait(running) != nil {
		return
	}
	select {
	case <-time.After(deviceGrace):
		if stuck != nil {
			stuck(w.doing())
		}
	case <-running.Done():
	}
}

// doing says what the worker does, for people.
func (w *worker) doing() string {
	if s := w.current.Load(); s != nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.work != nil {
			return s.work.what
		}
	}
	return "closing its connections and its data"
}
