package checkpoint

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ergoflow/ergoflow/internal/boltfile"
	"go.etcd.io/bbolt"
)

// Latest as an ID names the checkpoint from which the run that saved last would continue.
const Latest = "latest"

// stored is a checkpoint with its number.
type stored struct {
	key  []byte
	info Info
}

// list returns the checkpoints in the order in which they were saved, and an error for
// each one whose description cannot be read.
func list(tx *bbolt.Tx) (all []stored, damage []error) {
	records := tx.Bucket(bucketCheckpoints).Cursor()
	for k, v := records.First(); k != nil; k, v = records.Next() {
		var info Info
		record, err := boltfile.Unseal(v)
		if err == nil {
			err = json.Unmarshal(record, &info)
		}
		if err != nil || len(k) != 8 || info.Size < 1 || info.Size > MaxSize {
			damage = append(damage, fmt.Errorf("%w: checkpoint %x has no readable description", ErrCorrupt, k))
			continue
		}
		all = append(all, stored{bytes.Clone(k), info})
	}
	return all, damage
}

// find returns the checkpoint with this ID, the latest, or the only one whose ID has
// this prefix.
func find(tx *bbolt.Tx, id string) (stored, error) {
	all, damage := list(tx)
	if id == Latest && len(all) > 0 {
		latest := all[len(all)-1]
		for _, c := range slices.Backward(all) {
			if c.info.Run == latest.info.Run && c.info.Mark().Compare(latest.info.Mark()) > 0 {
				latest = c
			}
		}
		return latest, nil
	}
	var matches []stored
	for _, c := range all {
		if c.info.ID == id {
			return c, nil
		}
		if id != "" && strings.HasPrefix(c.info.ID, id) {
			matches = append(matches, c)
		}
	}
	switch len(matches) {
	case 1:
		return matches[0], nil
	case 0:
		return stored{}, errors.Join(append(damage, fmt.Errorf("%w: %q among %d", ErrNotFound, id, len(all)))...)
	}
	return stored{}, fmt.Errorf("%w: %d begin with %q", ErrAmbiguous, len(matches), id)
}

// List returns the checkpoints that have a readable description, the first saved
// first. Verify names the others.
func (s *Store) List() ([]Info, error) {
	infos := []Info{}
	err := s.view("list", func(tx *bbolt.Tx) error {
		all, _ := list(tx)
		for _, c := range all {
			infos = append(infos, c.info)
		}
		return nil
	})
	return infos, err
}

// Run returns a run's checkpoints: those of the latest generation first, and of a
// generation the most advanced first.
func (s *Store) Run(run string) ([]Info, error) {
	all, err := s.List()
	if err != nil {
		return nil, err
	}
	slices.Reverse(all)
	all = slices.DeleteFunc(all, func(i Info) bool { return i.Run != run })
	slices.SortStableFunc(all, func(a, b Info) int { return b.Mark().Compare(a.Mark()) })
	return all, nil
}

// Get describes a checkpoint, named by its ID, a unique prefix of that, or Latest.
func (s *Store) Get(id string) (info Info, err error) {
	err = s.view("get", func(tx *bbolt.Tx) error {
		c, err := find(tx, id)
		info = c.info
		return err
	})
	return info, err
}

// Read returns a checkpoint's bytes, after it has verified each chunk and the whole.
func (s *Store) Read(id string) (info Info, data []byte, err error) {
	err = s.view("read", func(tx *bbolt.Tx) error {
		c, err := find(tx, id)
		if err != nil {
			return err
		}
		info = c.info
		whole := sha256.New()
		err = eachChunk(tx, c, func(chunk []byte) {
			whole.Write(chunk)
			data = append(slices.Grow(data, int(info.Size)-len(data)), chunk...)
		})
		if err == nil && hex.EncodeToString(whole.Sum(nil)) != info.SHA256 {
			err = fmt.Errorf("%w: checkpoint %s as a whole has another SHA-256", ErrCorrupt, info.ID)
		}
		return err
	})
	if err != nil {
		data = nil
	}
	return info, data, err
}

// eachChunk verifies a checkpoint's chunks and visits them in order. The slices are valid
// only during the visit.
func eachChunk(tx *bbolt.Tx, c stored, visit func([]byte)) error {
	manifest := tx.Bucket(bucketManifests).Get(c.key)
	count := int((c.info.Size + chunkSize - 1) / chunkSize)
	if len(manifest) != count*sha256.Size {
		return fmt.Errorf("%w: the list of chunks of checkpoint %s has %d bytes, not %d",
			ErrCorrupt, c.info.ID, len(manifest), count*sha256.Size)
	}
	for i := range count {
		sum := manifest[i*sha256.Size:][:sha256.Size]
		entry := tx.Bucket(bucketIndex).Get(sum)
		var chunk []byte
		if len(entry) == 16 {
			chunk = tx.Bucket(bucketChunks).Get(entry[:8])
		}
		start := int64(i) * chunkSize
		want := min(chunkSize, c.info.Size-start)
		if got := sha256.Sum256(chunk); int64(len(chunk)) != want || !bytes.Equal(got[:], sum) {
			return fmt.Errorf("%w: checkpoint %s: chunk %d of %d (bytes %d to %d) does not have SHA-256 %x",
				ErrCorrupt, c.info.ID, i+1, count, start, start+want, sum)
		}
		visit(chunk)
	}
	return nil
}

func (s *Store) view(operation string, f func(*bbolt.Tx) error) error {
	return s.guard(operation, func() error { return s.db.View(f) })
}
