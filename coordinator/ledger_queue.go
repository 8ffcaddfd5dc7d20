package coordinator

import (
	"encoding/binary"
	"encoding/json"
	"fmt"

	"go.etcd.io/bbolt"

	"github.com/ergoflow/ergoflow/coordinator/queue"
	"github.com/ergoflow/ergoflow/internal/boltfile"
)

// loadQueue reads the queue of runs, which a ledger of an earlier version has not.
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
		value, err := boltfile.Unseal(sealed)
		var v T
		if err == nil {
			err = json.Unmarshal(value, &v)
		}
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
	err := boltfile.Guard(func() error {
		return l.db.Update(func(tx *bbolt.Tx) error {
			return putQueue(tx, p)
		})
	})
	if err != nil {
		return fmt.Errorf("ledger %s: write the queue: %w", l.db.Path(), err)
	}
	return nil
}

func putQueue(tx *bbolt.Tx, p queue.Persist) error {
	var buckets [3]*bbolt.Bucket
	for i, name := range [][]byte{bucketCoordinator, bucketRuns, bucketSchedules} {
		var err error
		if buckets[i], err = tx.CreateBucketIfNotExists(name); err != nil {
			return err
		}
	}
	if err := put(buckets[0], keyNext, p.Next); err != nil {
		return err
	}
	for _, r := range p.Runs {
		if err := put(buckets[1], runKey(r.ID), r); err != nil {
			return err
		}
	}
	for _, id := range p.RemovedRuns {
		if err := buckets[1].Delete(runKey(id)); err != nil {
			return err
		}
	}
	for _, s := range p.Schedules {
		if err := put(buckets[2], []byte(s.Name), s); err != nil {
			return err
		}
	}
	for _, name := range p.RemovedSchedules {
		if err := buckets[2].Delete([]byte(name)); err != nil {
			return err
		}
	}
	return nil
}

func put(b *bbolt.Bucket, key []byte, v any) error {
	value, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return b.Put(key, boltfile.Seal(value))
}

// runKey orders runs by number.
func runKey(id queue.ID) []byte { return binary.BigEndian.AppendUint64(nil, uint64(id)) }
