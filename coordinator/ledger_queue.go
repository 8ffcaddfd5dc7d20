package coordinator

import (
	"encoding/binary"
	"errors"
	"fmt"

	"go.etcd.io/bbolt"

	"github.com/ergoflow/ergoflow/coordinator/queue"
	"github.com/ergoflow/ergoflow/internal/boltfile"
)

// loadQueue reads the queue of runs, which a ledger of an earlier version does not have.
func (l *ledger) loadQueue() (q queue.Ledger, err error) {
	if err := l.load(keyNext, &q.Next); err != nil {
		return q, err
	}
	err = boltfile.Guard(func() error {
		return l.db.View(func(tx *bbolt.Tx) error {
			err := each(tx.Bucket(bucketRuns), func(key []byte, r queue.Run) error {
				if string(key) != string(runKey(r.ID)) {
					return fmt.Errorf("it is run %d", r.ID)
				}
				q.Runs = append(q.Runs, r)
				return nil
			})
			if err != nil {
				return err
			}
			return each(tx.Bucket(bucketSchedules), func(key []byte, s queue.Schedule) error {
				if string(key) != s.Name {
					return fmt.Errorf("it is schedule %.64q", s.Name)
				}
				q.Schedules = append(q.Schedules, s)
				return nil
			})
		})
	})
	if err != nil {
		return q, fmt.Errorf("%w: %s: %w", ErrLedger, l.db.Path(), err)
	}
	return q, nil
}

// each calls f for every entry of a bucket, which may be missing.
func each[T any](b *bbolt.Bucket, f func(key []byte, v T) error) error {
	if b == nil {
		return nil
	}
	return b.ForEach(func(key, sealed []byte) error {
		var v T
		err := decode(sealed, &v)
		if err == nil {
			err = f(key, v)
		}
		if err != nil {
			return fmt.Errorf("entry %.64q: %w", key, err)
		}
		return nil
	})
}

// persistQueue makes a change of the queue durable, in one transaction.
func (l *ledger) persistQueue(p queue.Persist) error {
	changes, err := queueChanges(p)
	if err == nil {
		err = l.change(changes)
	}
	if err != nil {
		return fmt.Errorf("ledger %s: write the queue: %w", l.db.Path(), err)
	}
	return nil
}

func queueChanges(p queue.Persist) (list []change, err error) {
	add := func(bucket, key []byte, v any) {
		c, failed := set(bucket, key, v)
		list, err = append(list, c), errors.Join(err, failed)
	}
	add(bucketCoordinator, keyNext, p.Next)
	for _, r := range p.Runs {
		add(bucketRuns, runKey(r.ID), r)
	}
	for _, id := range p.RemovedRuns {
		list = append(list, change{Bucket: bucketRuns, Key: runKey(id)})
	}
	for _, s := range p.Schedules {
		add(bucketSchedules, []byte(s.Name), s)
	}
	for _, name := range p.RemovedSchedules {
		list = append(list, change{Bucket: bucketSchedules, Key: []byte(name)})
	}
	return list, err
}

// runKey orders runs by number.
func runKey(id queue.ID) []byte { return binary.BigEndian.AppendUint64(nil, uint64(id)) }
