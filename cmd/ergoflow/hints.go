package main

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"syscall"

	"github.com/ergoflow/ergoflow/cmd/ergoflow/internal/conduct"
	"github.com/ergoflow/ergoflow/coordinator"
	"github.com/ergoflow/ergoflow/coordinator/checkpoint"
	"github.com/ergoflow/ergoflow/coordinator/gossip"
	"github.com/ergoflow/ergoflow/data"
	"github.com/ergoflow/ergoflow/data/equations/family"
	"github.com/ergoflow/ergoflow/data/sets/shard"
	"github.com/ergoflow/ergoflow/data/simulation/probe"
	"github.com/ergoflow/ergoflow/data/simulation/simulate"
	"github.com/ergoflow/ergoflow/model/compute/backend"
	"github.com/ergoflow/ergoflow/model/evaluation/metrics"
	"github.com/ergoflow/ergoflow/model/experiment"
	"github.com/ergoflow/ergoflow/model/report/reproduce"
	"github.com/ergoflow/ergoflow/model/sampling/request"
	"github.com/ergoflow/ergoflow/model/training/flow"
	"github.com/ergoflow/ergoflow/model/training/state"
	"github.com/ergoflow/ergoflow/model/training/train"
)

// hints say what the user could do about an error, first match first.
var hints = []struct {
	err  error
	hint string
}{
	{gossip.ErrNoSeed, "--join takes the gossip address of any member; `coordinator.json` in the coordinator's directory has one"},
	{gossip.ErrNoCoordinator, "start one: ergoflow coordinator --dir DIR"},
	{conduct.ErrUnreachable, "is it running? `coordinator.json` in its directory has its address"},
	{coordinator.ErrNotRunning, "a run's coordinator lives only as long as the run; `ergoflow coordinator` starts one that stays"},
	{coordinator.ErrRunning, "end it, or choose another --dir"},
	{gossip.ErrInsecure, "on a network that you trust, add --insecure"},
	{backend.ErrUnknown, "`ergoflow backend list` shows what there is"},
	{backend.ErrNotInstalled, "ergoflow backend install cpu"},
	{backend.ErrDamaged, "install it again: ergoflow backend install cpu (or cuda)"},
	{backend.ErrNoGPU, "use --backend xla:cpu"},
	{backend.ErrNoCgo, "use --backend go, or build with cgo"},
	{backend.ErrPip, "on Debian: apt install python3 python3-pip"},
	{shard.ErrCorrupt, "delete the files of each shard named; `ergoflow run` or `generate` makes it again"},
	{coordinator.ErrLedger, "move coordinator.db away: the same command goes on from checkpoints.db"},
	{checkpoint.ErrCorrupt, "`ergoflow checkpoints verify` names what is damaged; import an export, or train again in another --dir"},
	{checkpoint.ErrNotFound, "`ergoflow checkpoints list` shows what there is"},
	{checkpoint.ErrLocked, "another ergoflow works in this directory; end it or choose another --dir"},
	{checkpoint.ErrAmbiguous, "`ergoflow checkpoints list` shows them; give more of the ID"},
	{reproduce.ErrCorrupt, "delete the directory that the file is in; the same command makes it again"},
	{state.ErrCorrupt, "the file is no checkpoint of ergoflow, or is damaged; export it again"},
	{request.ErrFormulas, "name one of its functions with --function"},
	{request.ErrCount, `in the plane: --drift "y" --drift "x - x^3 - y" --diffusion "1"`},
	{request.ErrPlaneFormula, "formulas are in x and y"},
	{request.ErrDiffusion, "give the diffusion of the model's family; a network knows no other kind than it was trained with"},
	{request.ErrTimeless, "leave --time out, or train vn1d_time"},
	{request.ErrUnlearned, "nothing was written; give an equation like those of the training set"},
	{conduct.ErrForgotten, "it was started again in another --dir; the same command submits the run there"},
	{conduct.ErrReplaced, "the same command with --replace continues this run and suspends the other"},
	{data.ErrTimeStep, "a smaller data.training.dt and data.reference.dt, or a drift that is less steep (docs/families.md)"},
	{data.ErrNoise, "a larger diffusion, or a larger data.training.dt and data.reference.dt (docs/families.md)"},
	{data.ErrLeavesGrid, "a drift that leads back into the grid, or a wider grid (docs/families.md)"},
	{experiment.ErrProbesOutOfRange, "a smaller probes.dt, or a drift that is less steep (docs/families.md)"},
	{probe.ErrDiverged, "a smaller probes.dt, or a drift that is less steep (docs/families.md)"},
	{simulate.ErrDiverged, "a smaller time step (data.training.dt, data.reference.dt) may help, or the family's drift runs away (docs/families.md)"},
	{family.ErrInterpolation, "more nodes, or formulas without what is between them: simulated are the values at nodes with lines between (docs/families.md)"},
	{family.ErrNoEquation, "the definition's formulas have to give every function of the data set one: change them or the laws of the parameters (docs/families.md)"},
	{data.ErrFamily, "docs/families.md says what a family is, and what is refused"},
	{flow.ErrInput, "the network has to read fields that the family stores: change model.deeponet.fields or data.family"},
	{simulate.ErrEngine, "--engine auto takes the fastest of those here; all but device give the same samples"},
	{metrics.ErrEmpty, "both arrays need at least one row"},
	{metrics.ErrShape, fmt.Sprintf("both arrays have to be [n], or [n, d] of the same d, 1 to %d, with at most %d rows", metrics.MaxDimension, metrics.MaxPoints)},
	{metrics.ErrNonFinite, "leave rows out that are not finite; chains that diverged have such"},
	{metrics.ErrOption, "see `ergoflow metrics --help`"},
	{train.ErrDiverged, "a smaller training.learning_rate may help"},
	{syscall.ENOSPC, "the disk is full; free space, then give the same command again: it goes on"},
	{fs.ErrPermission, "this user may not do that there; choose another place, or change its permissions"},
	{syscall.EROFS, "the file system is read-only; choose another directory"},
	{syscall.ENOTDIR, "a file is where a directory should be; choose another one, or move the file away"},
	{syscall.EADDRINUSE, "another process listens there; choose another port, or 0 for any"},
	{conduct.ErrFailed, "the workers' logs say more"}, // where its kind is none of the above
}

// hintFor returns the hint for an error, its own or that of its kind.
func hintFor(err error) string {
	var own *hinted
	if errors.As(err, &own) {
		return own.hint
	}
	var ended *conduct.ProcessError
	if errors.As(err, &ended) {
		return cmp.Or(ended.Hint, "the same command continues this run; the log is "+ended.Log)
	}
	var inputs *experiment.InputsError
	if errors.As(err, &inputs) {
		return fmt.Sprintf("--set %q", inputs.Setting)
	}
	for _, h := range hints {
		if errors.Is(err, h.err) {
			return h.hint
		}
	}
	return ""
}
