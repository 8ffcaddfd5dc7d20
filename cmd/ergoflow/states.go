package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	grpcstatus "google.golang.org/grpc/status"

	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/coordinator"
	"github.com/ergoflow/ergoflow/coordinator/checkpoint"
	"github.com/ergoflow/ergoflow/coordinator/wire"
	"github.com/ergoflow/ergoflow/data/equations/family"
	"github.com/ergoflow/ergoflow/model/experiment"
	"github.com/ergoflow/ergoflow/model/registry"
	"github.com/ergoflow/ergoflow/model/training/state"
)

// checkpointUsage is the help of --checkpoint.
const checkpointUsage = "exported .safetensors file, DIR or DIR@ID of a run's checkpoint, or REGISTRY/NAME@ALIAS of a model"

// checkpointOrOnly is the name of a --checkpoint argument; where it is empty, the only run in
// the directory of runs.
func checkpointOrOnly(name string) (string, error) {
	if name != "" {
		return name, nil
	}
	runs := runsWithCheckpoints()
	switch len(runs) {
	case 0:
		return "", withHint(usagef("--checkpoint is not given, and there is no run in %s", runsDirectory), "train a model with `ergoflow run vn1d --preset demo`, or name one: --checkpoint DIR")
	case 1:
		return runs[0], nil
	}
	return "", withHint(usagef("--checkpoint is not given, and %s has %d runs", runsDirectory, len(runs)), "name one of them: --checkpoint %s", strings.Join(runs[:min(len(runs), 5)], " or "))
}

// runsWithCheckpoints are the runs in the directory of runs that have saved a state.
func runsWithCheckpoints() (runs []string) {
	entries, err := os.ReadDir(runsDirectory)
	if err != nil {
		return nil
	}
	for _, entry := range entries {
		if dir := filepath.Join(runsDirectory, entry.Name()); exists(coordinator.CheckpointPath(dir)) {
			runs = append(runs, dir)
		}
	}
	return runs
}

// readState reads the state that a --checkpoint argument names.
func readState(ctx context.Context, name string) (experiment.Experiment, *state.State, error) {
	encoded, _, err := readEncoded(ctx, name)
	if err != nil {
		return experiment.Experiment{}, nil, err
	}
	return decodeState(name, encoded)
}

// readTrained reads the state that a --checkpoint argument names, with its experiment as it is
// sampled and its family. The state has the name of its run.
func readTrained(ctx context.Context, name string) (experiment.Experiment, family.Family, *state.State, error) {
	trained, st, err := readState(ctx, name)
	if err != nil {
		return experiment.Experiment{}, nil, nil, err
	}
	st.Run = cmp.Or(st.Run, trained.Hash())
	e := trained.Inference()
	f, err := e.Family()
	return e, f, st, err
}

// readEncoded reads the encoded state that a --checkpoint argument names, and says whether it
// is the latest of a directory, which is another one as soon as a run saves there. A path
// that exists comes before a model of a registry.
func readEncoded(ctx context.Context, name string) (encoded []byte, latest bool, err error) {
	info, err := os.Stat(name)
	at := strings.LastIndexByte(name, '@')
	switch {
	case err == nil && info.Mode().IsRegular(), err != nil && filepath.Ext(name) == ".safetensors":
		encoded, err = readExport(name)
	case err == nil && registry.Exists(name) && !exists(coordinator.CheckpointPath(name)):
		err = withHint(fmt.Errorf("%s is a registry", name), "name one of its models: %s", filepath.Join(name, "NAME@champion"))
	case err != nil && at >= 0 && exists(name[:at]): // directories may have an @ in their names
		encoded, err = readStored(ctx, name[:at], name[at+1:])
	case err != nil && (at >= 0 || registry.Exists(filepath.Dir(name))):
		encoded, err = readModel(ctx, filepath.Dir(name), filepath.Base(name))
	default:
		latest = true
		encoded, err = readStored(ctx, name, checkpoint.Latest)
	}
	return encoded, latest, err
}

// tablesBeside is the directory of the sampler's tables beside what a --checkpoint argument
// names.
func tablesBeside(name string) string {
	dir := name
	if info, err := os.Stat(name); err != nil || !info.IsDir() {
		dir = filepath.Dir(name)
		if at := strings.LastIndexByte(name, '@'); err != nil && at >= 0 && exists(name[:at]) {
			dir = name[:at]
		}
	}
	return filepath.Join(dir, "tables")
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// readModel reads the weights of a version in a registry.
func readModel(ctx context.Context, dir, ref string) ([]byte, error) {
	if !registry.Exists(dir) {
		return nil, withHint(fmt.Errorf("checkpoint %s: there is no such directory of a run, and no registry in %s", filepath.Join(dir, ref), dir),
			"name the directory of a run, such as ergoflow-runs/vn1d-demo, or REGISTRY/NAME@ALIAS")
	}
	r, err := registry.Open(dir)
	if err != nil {
		return nil, err
	}
	v, err := r.Get(ctx, ref)
	warn(r.Warnings())
	if err != nil {
		return nil, damageHint(err)
	}
	encoded, err := r.Load(ctx, v)
	return encoded, damageHint(err)
}

// readStateOf reads the newest state of a run in a directory that may have others.
func readStateOf(ctx context.Context, dir, run string) (experiment.Experiment, *state.State, error) {
	store, done, err := readCheckpoints(ctx, dir)
	if err != nil {
		return experiment.Experiment{}, nil, err
	}
	defer done()
	own, err := store.Run(run)
	if err != nil {
		return experiment.Experiment{}, nil, err
	}
	id := checkpoint.Latest // of another run, which the caller names in its error
	if len(own) > 0 {
		id = own[0].ID
	}
	_, encoded, err := store.Read(id)
	if err != nil {
		return experiment.Experiment{}, nil, err
	}
	return decodeState(dir, encoded)
}

func decodeState(name string, encoded []byte) (experiment.Experiment, *state.State, error) {
	e, st, err := experiment.DecodeState(encoded)
	if err != nil {
		return e, st, fmt.Errorf("checkpoint %s: %w", name, err)
	}
	return e, st, nil
}

// maxExport bounds an exported checkpoint: its state, and the seal.
const maxExport = ergoflow.MaxState + 1<<20

func readExport(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, withHint(fmt.Errorf("read checkpoint: %w", err), "name a file that `ergoflow checkpoints export` wrote")
	}
	defer f.Close()
	encoded, err := io.ReadAll(io.LimitReader(f, maxExport+1))
	if err == nil && len(encoded) > maxExport {
		err = fmt.Errorf("%s is larger than %d bytes", path, maxExport)
	}
	return encoded, err
}

func readStored(ctx context.Context, dir, id string) ([]byte, error) {
	store, done, err := readCheckpoints(ctx, dir)
	if err != nil {
		return nil, err
	}
	defer done()
	_, encoded, err := store.Read(id)
	return encoded, err
}

// snapshotWait is how long a coordinator, which may have crashed, may take to answer.
const snapshotWait = 5 * time.Second

// checkpointsIn is the path of a run's checkpoints. It fails where there is no such file.
func checkpointsIn(dir string) (string, error) {
	path := coordinator.CheckpointPath(dir)
	if _, err := os.Stat(path); err != nil {
		return "", withHint(fmt.Errorf("no checkpoints in %s: %w", dir, err), "name the directory of a run, such as ergoflow-runs/vn1d-demo")
	}
	return path, nil
}

// readCheckpoints opens the checkpoints of a run's directory for reading. While a
// coordinator has the file open, it reads a consistent copy that the coordinator sends. It
// prints the store's warning. done closes the store.
func readCheckpoints(ctx context.Context, dir string) (store *checkpoint.Store, done func(), err error) {
	defer func() {
		if err == nil {
			warn(said(store.Warning()))
		}
	}()
	path, err := checkpointsIn(dir)
	if err != nil {
		return nil, nil, err
	}
	store, err = checkpoint.Open(path, true)
	if err == nil {
		return store, func() { store.Close() }, nil
	}
	if !errors.Is(err, checkpoint.ErrLocked) {
		return nil, nil, err
	}
	copied, err := snapshot(ctx, dir)
	if err != nil {
		return nil, nil, err
	}
	store, err = checkpoint.OpenCopy(copied, path)
	if err != nil {
		os.Remove(copied)
		return nil, nil, err
	}
	return store, func() { store.Close(); os.Remove(copied) }, nil
}

// snapshot fetches a copy of the coordinator's checkpoint store into a
// temporary file.
func snapshot(ctx context.Context, dir string) (path string, err error) {
	client, err := clusterFlags{dir: dir}.dial(ctx)
	if err != nil {
		return "", err
	}
	defer client.Close()
	f, err := os.CreateTemp("", "ergoflow-checkpoints-")
	if err != nil {
		return "", err
	}
	defer func() {
		err = errors.Join(err, f.Close())
		if err != nil {
			os.Remove(f.Name())
		}
	}()
	answer, cancel := context.WithCancel(ctx)
	defer cancel()
	late := time.AfterFunc(snapshotWait, cancel)
	stream, err := client.Control.Snapshot(answer, &wire.SnapshotRequest{})
	for err == nil {
		var chunk *wire.Chunk
		if chunk, err = stream.Recv(); err == nil {
			late.Stop()
			_, err = f.Write(chunk.Data)
		}
	}
	switch {
	case errors.Is(err, io.EOF):
		return f.Name(), nil
	case ctx.Err() != nil:
		return "", ctx.Err()
	case grpcstatus.Code(err) == codes.Unavailable, grpcstatus.Code(err) == codes.Canceled:
		return "", withHint(fmt.Errorf("checkpoints in %s are in use by a coordinator that does not answer: %w", dir, err), "wait until it answers, or end that process")
	}
	return "", fmt.Errorf("copy the coordinator's checkpoints: %w", err)
}
