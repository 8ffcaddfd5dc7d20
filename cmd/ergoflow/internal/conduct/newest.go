package conduct

import (
	"errors"
	"io/fs"

	"github.com/ergoflow/ergoflow/coordinator"
	"github.com/ergoflow/ergoflow/coordinator/checkpoint"
)

// Newest reads the checkpoint that a run in a directory would continue from; nil if there is
// none. No coordinator may have the directory.
func Newest(dir, run string) ([]byte, error) {
	store, err := checkpoint.Open(coordinator.CheckpointPath(dir), true)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	encoded, err := newest(store, run)
	return encoded, errors.Join(err, store.Close())
}

func newest(store *checkpoint.Store, run string) ([]byte, error) {
	infos, err := store.Run(run)
	if err != nil || len(infos) == 0 {
		return nil, err
	}
	last := infos[0]
	for _, info := range infos {
		if info.Mark().Compare(last.Mark()) > 0 {
			last = info
		}
	}
	_, encoded, err := store.Read(last.ID)
	return encoded, err
}
