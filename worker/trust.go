package worker

import (
	"context"
	"errors"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/ergoflow/ergoflow/coordinator/gossip"
	"github.com/ergoflow/ergoflow/coordinator/gossip/keys"
	"github.com/ergoflow/ergoflow/coordinator/wire"
	"github.com/ergoflow/ergoflow/internal/trust/secure"
	"github.com/ergoflow/ergoflow/worker/enroll"
)

// introduction says how to gossip: the addresses of members, and keys. In plain text the
// addresses are given, and there are no keys. Otherwise the coordinator says it to a worker
// with a certificate.
func (w *worker) introduction(ctx context.Context, join []string) (seeds []string, set keys.Set, err error) {
	if w.trust == nil {
		return join, keys.Set{}, nil
	}
	began := time.Now()
	for {
		at, failed := w.introduced(ctx, join)
		if failed == nil {
			return []string{at.Gossip}, at.Keys, nil
		}
		restarting := errors.Is(failed, enroll.ErrUnreachable) || errors.Is(failed, secure.ErrEnded)
		if !restarting || time.Since(began) > introduceWait {
			return nil, keys.Set{}, failed
		}
		select {
		case <-time.After(introducePause):
		case <-ctx.Done():
			return nil, keys.Set{}, context.Cause(ctx)
		}
	}
}

// introduced asks the addresses to join at, one after the other, where the cluster is.
func (w *worker) introduced(ctx context.Context, join []string) (at enroll.Introduction, err error) {
	var failed error
	for _, address := range join {
		if at, err = enroll.Introduce(ctx, w.trust, address); err == nil {
			return at, nil
		}
		failed = errors.Join(failed, err)
	}
	return at, failed
}

// seek is gossip.Config.Seek: the addresses to join at may lead to a coordinator that has moved,
// as to a pod that starts again on another node. In plain text they are the seeds themselves.
func (w *worker) seek(join []string) func(context.Context) []string {
	if w.trust == nil {
		return nil
	}
	return func(ctx context.Context) []string {
		at, err := w.introduced(ctx, join)
		if err != nil {
			w.log.Debug("no coordinator where the cluster is joined", "error", err)
			return nil
		}
		return []string{at.Gossip}
	}
}

// A worker that begins waits for a coordinator that restarts.
const (
	introduceWait  = 30 * time.Second
	introducePause = 250 * time.Millisecond
)

// upkeepInterval is between two looks at the certificate and at the gossip's keys.
const upkeepInterval = time.Second

// renewCertificate renews it if it is due, or if the cluster's CAs change. Another process with
// the same credentials may have renewed it: then this one takes that.
func (w *worker) renewCertificate(ctx context.Context) error {
	_, err := w.trust.Reload()
	if s := w.current.Load(); err == nil && s != nil {
		err = enroll.KeepCurrent(ctx, w.trust, w.trustDir, s.control)
	}
	if status.Code(err) == codes.Unavailable {
		return nil // the session says so
	}
	return err
}

// refreshKeys takes the keys that the coordinator names, and tells it by their version that
// this member has them.
func (w *worker) refreshKeys(ctx context.Context, members *gossip.Gossip, has *uint64) error {
	s := w.current.Load()
	if s == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	reply, err := s.control.GossipKeys(ctx, &wire.GossipKeysRequest{Worker: string(w.id), Version: *has})
	if status.Code(err) == codes.Unavailable {
		return nil // the session says so
	}
	if err != nil || reply.GetVersion() == *has {
		return err
	}
	set, err := enroll.Keys(reply)
	if err != nil {
		return err
	}
	if err := members.SetKeys(set.Keys); err != nil {
		return err
	}
	*has = set.Version
	return nil
}

// answerTime bounds the wait for an answer.
const answerTime = 5 * time.Second
