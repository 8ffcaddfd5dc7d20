package retraining

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/ergoflow/ergoflow/internal/disk"
	"github.com/ergoflow/ergoflow/model/experiment"
)

// ErrDisk means that a retraining would need more than budget.disk.
var ErrDisk = errors.New("budget.disk is too small")

// keptStates is how many encoded states one training has on disk at most: the checkpoints of
// its cluster, which share nothing, and the one that waits for the gate.
const keptStates = 5

// fits checks that the trainings fit into the budget, beside what the directory has.
func (b Budget) fits(dir string, has func(dataset string, k int) bool, trainings []training) error {
	if b.Disk == 0 {
		return nil
	}
	used, err := usage(dir)
	if err != nil {
		return err
	}
	var need int64
	for i, t := range trainings {
		e, err := experiment.Parse(t.Experiment)
		if err != nil {
			return err
		}
		if i == 0 { // all have the same data
			f, err := e.Family()
			if err != nil {
				return err
			}
			_, need = e.Data.Missing(f, has)
		}
		need += keptStates * 3 * 4 * int64(e.Velocity().Layout().Size()) // parameters and two moments, float32
	}
	if used+need <= int64(b.Disk) {
		return nil
	}
	return fmt.Errorf("%w: %s has %s, the retraining needs %s more, and the budget is %s",
		ErrDisk, dir, disk.Size(used), disk.Size(need), disk.Size(int64(b.Disk)))
}

// usage is the size of all files in a directory.
func usage(dir string) (bytes int64, err error) {
	err = filepath.WalkDir(dir, func(_ string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return ignoreGone(err)
		}
		info, err := e.Info()
		if err == nil {
			bytes += info.Size()
		}
		return ignoreGone(err)
	})
	return bytes, err
}

// ignoreGone takes a file that was removed meanwhile for one of no size.
func ignoreGone(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
