// Package archive keeps checkpoints in a store of objects, for a coordinator whose disk may be
// lost.
//
// A checkpoint is cut into chunks, whose keys have their SHA-256. Its record is put when the
// chunks are there, and commits it: readers never see half of it. The record's key has the
// SHA-256 of the record, so what a store changed is noticed.
//
//	checkpoints/<cluster>/holder/<n>.json
//	checkpoints/<cluster>/run/<run>/<generation>-<step>/<SHA-256>
//	checkpoints/<cluster>/run/<run>/<generation>-<step>.<SHA-256>.json
//
// Clusters of other names in the same bucket are left alone. Of coordinators with one name the
// one that began last holds the checkpoints: it put the holder with the highest number, and puts
// of a number succeed once. The others notice before they commit or delete.
//
// Chunks belong to one state of one run. States of other steps have no bytes in common, and so
// nothing has to count references.
package archive

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/data/store"
)

var (
	// ErrCorrupt: a checkpoint in the store is damaged.
	ErrCorrupt = errors.New("damaged checkpoint")
	// ErrTaken: another coordinator began later with the same name.
	ErrTaken = errors.New("another coordinator keeps its checkpoints there under the same name")
)

const (
	chunkBytes = 8 << 20 // one request; at most store.Exclusive
	maxRecord  = 64 << 10
	root       = "checkpoints/"
	suffix     = ".json"
	reads      = 4 // requests for one checkpoint at a time
)

// named is what may be the name of a run or a cluster in a key.
var named = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// Entry names a checkpoint in the store.
type Entry struct {
	Cluster string
	Run     string
	Mark    ergoflow.Mark
	sum     string // of its record
}

// folder is before the keys of the state's chunks.
func (e Entry) folder() string {
	return fmt.Sprintf("%s%s/run/%s/%d-%d", root, e.Cluster, e.Run, e.Mark.Generation, e.Mark.Step)
}

func (e Entry) chunk(sum string) string { return e.folder() + "/" + sum }

func (e Entry) key() string { return e.folder() + "." + e.sum + suffix }

func (e Entry) String() string { return fmt.Sprintf("%.12s at %s", e.Run, e.Mark) }

// ours are keys of checkpoints: of a record, or of a chunk.
var ours = regexp.MustCompile(`^checkpoints/([A-Za-z0-9_-]{1,64})/run/([A-Za-z0-9_-]{1,64})/([0-9]{1,19})-([0-9]{1,18})(?:\.([0-9a-f]{64})\.json|/([0-9a-f]{64}))$`)

// parse is the state that a key is of. Of a chunk, chunk is its SHA-256, and the entry has no
// sum.
func parse(key string) (e Entry, chunk string, ok bool) {
	parts := ours.FindStringSubmatch(key)
	if parts == nil {
		return e, "", false
	}
	e = Entry{Cluster: parts[1], Run: parts[2], sum: parts[5]}
	_, err := fmt.Sscan(parts[3], &e.Mark.Generation)
	if err == nil {
		_, err = fmt.Sscan(parts[4], &e.Mark.Step)
	}
	canonical := strings.HasPrefix(key, e.folder())
	return e, parts[6], err == nil && canonical
}

// Archive is the checkpoints of one cluster, for one coordinator.
type Archive struct {
	store   store.Store
	cluster string
	number  int // that this process holds; 0: none
}

// New uses a store, which the caller closes, under the name of a cluster.
func New(s store.Store, cluster string) (*Archive, error) {
	if !named.MatchString(cluster) {
		return nil, fmt.Errorf("name of a cluster %.80q: want 1 to 64 letters, digits, '-' and '_'", cluster)
	}
	return &Archive{store: s, cluster: cluster}, nil
}

// String names the store.
func (a *Archive) String() string { return a.store.String() }

// Cluster is the name under which the checkpoints are kept.
func (a *Archive) Cluster() string { return a.cluster }
