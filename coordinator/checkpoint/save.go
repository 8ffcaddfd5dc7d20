package checkpoint

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"time"

	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/internal/boltfile"
	"go.etcd.io/bbolt"
)

// MaxSize bounds one checkpoint, in bytes.
const MaxSize = ergoflow.MaxState

// Room is how many bytes of the disk are enough to save a checkpoint of that size.
func Room(size int64) int64 { return size + size/16 + boltfile.Growth }

// Info describes a checkpoint.
type Info struct {
	ID         string              `json:"id"`
	Run        string              `json:"run"`
	Experiment string              `json:"experiment"`
	Generation ergoflow.Generation `json:"generation"` // that made the last step
	Step       ergoflow.Step       `json:"step"`
	Loss       Loss                `json:"loss"`
	Size       int64               `json:"size"`   // bytes
	SHA256     string              `json:"sha256"` // of the bytes, hexadecimal
	Time       time.Time           `json:"time"`
}

// Mark names the state.
func (i Info) Mark() ergoflow.Mark { return ergoflow.Mark{Generation: i.Generation, Step: i.Step} }

// Loss of a checkpoint. One that is not finite is null in JSON, and NaN after decoding.
type Loss float64

// MarshalJSON implements json.Marshaler.
func (l Loss) MarshalJSON() ([]byte, error) {
	if f := float64(l); math.IsNaN(f) || math.IsInf(f, 0) {
		return []byte("null"), nil
	}
	return json.Marshal(float64(l))
}

// UnmarshalJSON implements json.Unmarshaler.
func (l *Loss) UnmarshalJSON(b []byte) error {
	if string(b) == "null" {
		*l = Loss(math.NaN())
		return nil
	}
	return json.Unmarshal(b, (*float64)(l))
}

// Save stores data and returns its description with the ID. Data must have info.Size
// bytes, and the hash info.SHA256 unless that is empty. After Save has returned without
// error the checkpoint is durable; after an error nothing has changed. For data that is
// stored already Save returns that checkpoint, and repairs damaged chunks of it.
func (s *Store) Save(info Info, data []byte) (Info, error) {
	err := s.guard("save", func() error {
		if err := complete(&info, data); err != nil {
			return err
		}
		return s.db.Update(func(tx *bbolt.Tx) error { return publish(tx, &info, data) })
	})
	if err != nil {
		return Info{}, err
	}
	return info, nil
}

// complete checks the description against the bytes and fills in the rest of it.
func complete(info *Info, data []byte) error {
	switch {
	case info.Size < 1 || info.Size > MaxSize:
		return fmt.Errorf("%w: %d bytes, not 1 to %d", ErrMismatch, info.Size, int64(MaxSize))
	case info.Run == "" || info.Step < 0:
		return fmt.Errorf("%w: run %q, step %d", ErrMismatch, info.Run, info.Step)
	case int64(len(data)) != info.Size:
		return fmt.Errorf("%w: %d bytes instead of %d", ErrMismatch, len(data), info.Size)
	}
	sum := sha256.Sum256(data)
	h := hex.EncodeToString(sum[:])
	if info.SHA256 != "" && info.SHA256 != h {
		return fmt.Errorf("%w: SHA-256 is %s instead of %.64s", ErrMismatch, h, info.SHA256)
	}
	info.SHA256 = h
	if info.Time.IsZero() {
		info.Time = time.Now()
	}
	info.Time = info.Time.UTC().Truncate(time.Millisecond)
	info.ID = fmt.Sprintf("%.8s-%06d-%.8s", info.Run, info.Step, info.SHA256)
	return nil
}

// publish is the transaction of Save.
func publish(tx *bbolt.Tx, info *Info, data []byte) error {
	all, _ := list(tx)
	for _, old := range all {
		if old.info.ID == info.ID && old.info.SHA256 == info.SHA256 && old.info.Run == info.Run {
			made := max(info.Generation, old.info.Generation) // a later generation may have made the same bytes
			*info = old.info
			info.Generation = made
			if _, err := addChunks(tx, data, 0); err != nil {
				return err
			}
			return describe(tx, old.key, info)
		}
	}
	manifest, err := addChunks(tx, data, 1)
	if err != nil {
		return err
	}
	n, err := tx.Bucket(bucketCheckpoints).NextSequence()
	if err != nil {
		return err
	}
	if err := tx.Bucket(bucketManifests).Put(number(n), manifest); err != nil {
		return err
	}
	return describe(tx, number(n), info)
}

func describe(tx *bbolt.Tx, key []byte, info *Info) error {
	record, err := json.Marshal(info)
	if err != nil {
		return err
	}
	return tx.Bucket(bucketCheckpoints).Put(key, boltfile.Seal(record))
}

// addChunks adds references to every chunk of data and returns their hashes.
func addChunks(tx *bbolt.Tx, data []byte, references uint64) (manifest []byte, err error) {
	for start := 0; start < len(data); start += chunkSize {
		chunk := data[start:min(start+chunkSize, len(data))]
		sum := sha256.Sum256(chunk)
		if err := addChunk(tx, sum, chunk, references); err != nil {
			return nil, err
		}
		manifest = append(manifest, sum[:]...)
	}
	return manifest, nil
}

// addChunk adds references to a chunk. It stores the chunk where it is missing or
// damaged.
func addChunk(tx *bbolt.Tx, sum [32]byte, chunk []byte, more uint64) error {
	index, chunks := tx.Bucket(bucketIndex), tx.Bucket(bucketChunks)
	if entry := index.Get(sum[:]); entry != nil {
		n, references, err := parseEntry(entry)
		if err != nil {
			return err
		}
		if !bytes.Equal(chunks.Get(number(n)), chunk) {
			if err := chunks.Put(number(n), chunk); err != nil {
				return err
			}
		}
		return index.Put(sum[:], append(number(n), number(references+more)...))
	}
	n, err := chunks.NextSequence()
	if err != nil {
		return err
	}
	if err := chunks.Put(number(n), chunk); err != nil {
		return err
	}
	return index.Put(sum[:], append(number(n), number(more)...))
}

// dropChunk removes one reference, and with the last one the chunk.
func dropChunk(tx *bbolt.Tx, sum []byte) error {
	index := tx.Bucket(bucketIndex)
	n, references, err := parseEntry(index.Get(sum))
	if err != nil {
		return err
	}
	if references > 1 {
		return index.Put(sum, append(number(n), number(references-1)...))
	}
	if err := tx.Bucket(bucketChunks).Delete(number(n)); err != nil {
		return err
	}
	return index.Delete(sum)
}

func number(n uint64) []byte { return binary.BigEndian.AppendUint64(nil, n) }

func parseEntry(entry []byte) (n, references uint64, err error) {
	if len(entry) != 16 {
		return 0, 0, fmt.Errorf("%w: an index entry has %d bytes", ErrCorrupt, len(entry))
	}
	return binary.BigEndian.Uint64(entry), binary.BigEndian.Uint64(entry[8:]), nil
}
