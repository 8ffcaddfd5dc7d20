package worker

import (
	"context"
	"errors"
	"time"

	"github.com/ergoflow/ergoflow/worker/enroll"
)

// seeds are gossip addresses of members. In plain text they are given. Otherwise the
// coordinator names one to a worker with a certificate.
func (w *worker) seeds(ctx context.Context, join []string) ([]string, error) {
	if w.trust == nil {
		return join, nil
	}
	began := time.Now()
	for {
		var failed error
		for _, address := range join {
			at, err := enroll.Introduce(ctx, w.trust, address)
			if err == nil {
				return []string{at.Gossip}, nil
			}
			failed = errors.Join(failed, err)
		}
		if !errors.Is(failed, enroll.ErrUnreachable) || time.Since(began) > introduceWait {
			return nil, failed
		}
		select {
		case <-time.After(introducePause):
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// A worker that begins waits for a coordinator that restarts.
const (
	introduceWait  = 30 * time.Second
	introducePause = 250 * time.Millisecond
)

// renewCheck is between two looks at whether the certificate is due.
const renewCheck = time.Second

// renewCertificate keeps the certificate fresh until ctx ends. Another process with the same
// credentials may have renewed it: then it takes that one.
func (w *worker) renewCertificate(ctx context.Context) {
	tick := time.NewTicker(renewCheck)
	defer tick.Stop()
	last := ""
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		_, err := w.trust.Reload()
		if s := w.current.Load(); err == nil && s != nil && w.trust.Due(time.Now()) {
			err = enroll.Renew(ctx, w.trust, w.trustDir, s.control)
		}
		text := ""
		if err != nil && ctx.Err() == nil {
			if text = err.Error(); text != last {
				w.log.Error("the certificate is not renewed", "error", err, "ends", w.trust.Certificate().NotAfter)
			}
		}
		last = text
	}
}
