package imports

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/ergoflow/ergoflow/data/sets/shard"
	"github.com/ergoflow/ergoflow/internal/atomicfile"
	"github.com/ergoflow/ergoflow/internal/safetensors"
)

// failpoint is called between the steps of write; tests kill the program there.
var failpoint = func(string) {}

// write stores a checked source: the functions first, which are read back and verified, then
// the record, with which the import exists.
func (s *source) write(ctx context.Context, store *shard.Dir, r Record, c checked) error {
	failpoint("begin")
	dir := directory(store, r.Name)
	if err := atomicfile.MakeDirs(dir); err != nil {
		return err
	}
	path := r.path(store)
	file, err := atomicfile.Create(path)
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	if err := s.writeFunctions(ctx, file, r, c); err != nil {
		return errors.Join(err, file.Abort())
	}
	failpoint("written")
	if err := file.Commit(); err != nil {
		return errors.Join(fmt.Errorf("write %s: %w", path, err), file.Abort())
	}
	failpoint("in place")
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	r.Bytes = info.Size()
	im, err := r.Open(store)
	if err != nil {
		return err
	}
	if err := errors.Join(im.Verify(ctx), im.Close()); err != nil {
		if s.unchanged() != nil {
			err = errChanged
		}
		return errors.Join(err, os.Remove(path))
	}
	encoded, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	if err := atomicfile.Write(filepath.Join(dir, r.Hash+recordSuffix), append(encoded, '\n')); err != nil {
		return err
	}
	failpoint("published")
	return nil
}

// writeFunctions writes tensor after tensor, the functions in order of their hashes.
func (s *source) writeFunctions(ctx context.Context, file *atomicfile.File, r Record, c checked) error {
	infos := r.tensors()
	var size int64
	for _, info := range infos {
		n, err := info.Bytes()
		if err != nil {
			return err
		}
		size += int64(n)
	}
	if err := file.Reserve(size); err != nil {
		return err
	}
	buffer := bufio.NewWriterSize(file, 1<<20)
	w, err := safetensors.NewWriter(buffer, infos, map[string]string{"format": fmt.Sprintf("ergoflow-import-%d", Format), "family": r.Family, "hash": r.Hash})
	if err != nil {
		return err
	}
	for k, info := range infos {
		for _, i := range c.order {
			if err := ctx.Err(); err != nil {
				return err
			}
			switch {
			case k < len(r.Fields):
				f, err := s.equation(i)
				if err != nil {
					return errors.Join(errChanged, err) // it was read before
				}
				if err := w.WriteFloat32s(f.Fields[k]); err != nil {
					return err
				}
			case info.Name == samplesName:
				x, err := s.samplesOf(i)
				if err != nil {
					return errors.Join(errChanged, err)
				}
				if err := w.WriteFloat32s(x); err != nil {
					return err
				}
			default:
				if _, err := w.Write(c.equations[i][:]); err != nil {
					return err
				}
			}
		}
	}
	if err := w.Close(); err != nil {
		return err
	}
	return buffer.Flush()
}
