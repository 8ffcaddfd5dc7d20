package main

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"syscall"

	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/cmd/ergoflow/internal/conduct"
	"github.com/ergoflow/ergoflow/coordinator"
	"github.com/ergoflow/ergoflow/coordinator/archive"
	"github.com/ergoflow/ergoflow/coordinator/checkpoint"
	"github.com/ergoflow/ergoflow/coordinator/consensus"
	"github.com/ergoflow/ergoflow/coordinator/gossip"
	"github.com/ergoflow/ergoflow/data"
	"github.com/ergoflow/ergoflow/data/equations/closure"
	"github.com/ergoflow/ergoflow/data/equations/family"
	"github.com/ergoflow/ergoflow/data/equations/sde"
	"github.com/ergoflow/ergoflow/data/imports"
	"github.com/ergoflow/ergoflow/data/jobs"
	"github.com/ergoflow/ergoflow/data/sets/shard"
	"github.com/ergoflow/ergoflow/data/simulation/probe"
	"github.com/ergoflow/ergoflow/data/simulation/simulate"
	"github.com/ergoflow/ergoflow/data/store"
	"github.com/ergoflow/ergoflow/internal/atomicfile"
	"github.com/ergoflow/ergoflow/internal/boltfile"
	"github.com/ergoflow/ergoflow/internal/flight/explain"
	"github.com/ergoflow/ergoflow/internal/gitlfs"
	"github.com/ergoflow/ergoflow/internal/memory"
	"github.com/ergoflow/ergoflow/internal/trust"
	"github.com/ergoflow/ergoflow/internal/trust/secure"
	"github.com/ergoflow/ergoflow/model/compute/backend"
	"github.com/ergoflow/ergoflow/model/evaluation/metrics"
	"github.com/ergoflow/ergoflow/model/experiment"
	"github.com/ergoflow/ergoflow/model/registry"
	"github.com/ergoflow/ergoflow/model/report/reproduce"
	"github.com/ergoflow/ergoflow/model/sampling/request"
	"github.com/ergoflow/ergoflow/model/training/flow"
	"github.com/ergoflow/ergoflow/model/training/state"
	"github.com/ergoflow/ergoflow/model/training/trainer"
	"github.com/ergoflow/ergoflow/worker/enroll"
	"github.com/ergoflow/ergoflow/worker/termination"
)

// hints say what the user can do about an error; the first match counts.
var hints = []struct {
	err  error
	hint string
}{
	{gossip.ErrEncrypted, "this cluster is secured: join by the command that its coordinator prints, or that `ergoflow tokens create` makes"},
	{gossip.ErrPlaintext, "this cluster speaks plain text: start the worker with --insecure and without --token, or the coordinator without --insecure"},
	{gossip.ErrNoSeed, "give --join the gossip address of a member; `coordinator.json` in the coordinator's directory has one; a secured cluster needs --token, too"},
	{ergoflow.ErrNewer, "upgrade this program, or restore the backup that was made before the upgrade (docs/operations.md, Upgrading)"},
	{ergoflow.ErrProtocol, "docs/operations.md, Upgrading, has the order; `ergoflow version` shows the protocols of a program"},
	{gossip.ErrIncompatible, "upgrade the older processes (docs/operations.md, Upgrading)"},
	{gossip.ErrNoCoordinator, "start one: ergoflow coordinator --dir DIR"},
	{conduct.ErrUnreachable, "check that it runs; `coordinator.json` in its directory has its address"},
	{enroll.ErrNoToken, "give --token: a coordinator prints one at its first start, and `ergoflow tokens create` makes others"},
	{enroll.ErrUnreachable, "check that the coordinator runs; \"join\" in `coordinator.json` in its directory is the address to join at"},
	{termination.ErrCommand, "try it in a shell: code 0 means that the machine is about to end, any other that it is not; an image of pure Go has no shell"},
	{enroll.ErrDirectory, "choose another: `worker --credentials`, or `join --context`"},
	{trust.ErrToken, "copy the whole token, from ERGO1 on; `ergoflow tokens create` makes another"},
	{trust.ErrPin, "the token is of another cluster, or another machine answers at that address: compare with `ergoflow certs show`"},
	{secure.ErrUntrusted, "on the coordinator's machine give --dir; elsewhere get credentials with `ergoflow join`, and give --context"},
	{coordinator.ErrNotRunning, "start one that stays with `ergoflow coordinator`; that of `ergoflow run` ends with the run"},
	{conduct.ErrNoStart, "give the same command --start again: it stores the state"},
	{explain.ErrNoDumps, "processes dump when something stops; `ergoflow explain` on a running cluster has them do it now"},
	{coordinator.ErrRunning, "end it, or choose another --dir"},
	{gossip.ErrInsecure, "give --token: a coordinator prints one at its first start, and `ergoflow tokens create` makes others; on a network that you trust, --insecure"},
	{backend.ErrUnknown, "`ergoflow backend list` shows the backends of this machine"},
	{backend.ErrNotInstalled, "ergoflow backend install cpu; in an image, build its target cpu, which has the plugin (docs/deploy.md)"},
	{backend.ErrDamaged, "install it again: ergoflow backend install cpu (or cuda)"},
	{backend.ErrNoGPU, backend.GPUHint + "; to compute without one, give --backend xla:cpu or go"},
	{backend.ErrNoCgo, "use --backend go, or build with cgo; in a container, the image of target cpu (docs/deploy.md)"},
	{backend.ErrPip, "on Debian: apt install python3 python3-pip"},
	{store.ErrUnsafe, "take a server of S3 that refuses a put with `If-None-Match: *` of a key that is taken (docs/operations.md)"},
	{jobs.ErrDenied, "give the user what docs/operations.md lists under “An existing NATS cluster”; --nats-files or the URL says who the user is"},
	{jobs.ErrNoJetStream, "turn JetStream on, for the server and for the account; if it is that of a domain, name it: --nats-domain"},
	{jobs.ErrLimit, "raise the limits of the account, or make the streams yourself with max_bytes: the coordinator keeps that (docs/operations.md)"},
	{jobs.ErrAbsent, "start the servers of the NATS cluster that are down, or give fewer replicas: --nats-replicas, and ?replicas= of --store"},
	{jobs.ErrReplicas, "start more servers of the NATS cluster, or give fewer replicas: --nats-replicas, and ?replicas= of --store"},
	{store.ErrDenied, "give credentials that read, write, list and delete below the prefix: AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, ~/.aws/credentials or a role"},
	{store.ErrGone, "make the bucket, or name another"},
	{coordinator.ErrNoServer, "give --dir of the coordinator whose server it is, or name one: nats://BUCKET?server=nats://HOST:PORT"},
	{store.ErrLocation, "for example s3://shards/lab?endpoint=https://10.0.0.9:9000 (docs/operations.md)"},
	{shard.ErrCorrupt, "delete the files of each shard named; `ergoflow run` or `generate` generates them again"},
	{data.ErrImports, "import its file again with `ergoflow shards import`, or leave it out of data.imports"},
	{imports.ErrCorrupt, "delete its two files in the store and import its file again with `ergoflow shards import`"},
	{shard.ErrLink, "remove the link: each data set has a directory of its own"},
	{coordinator.ErrLedger, "move coordinator.db away; the same command then continues from checkpoints.db"},
	{registry.ErrExport, "name a directory that `ergoflow models export` made, or export the version again"},
	{checkpoint.ErrCorrupt, "`ergoflow checkpoints verify` names what is damaged; import an export, or train again in another --dir"},
	{archive.ErrCorrupt, "a coordinator takes the next older checkpoint; delete the objects named with the store's own tools"},
	{checkpoint.ErrNotFound, "`ergoflow checkpoints list` shows the checkpoints of a directory"},
	{checkpoint.ErrLocked, "end the ergoflow process that works in this directory, or choose another --dir"},
	{checkpoint.ErrAmbiguous, "give more of the ID; `ergoflow checkpoints list` shows all IDs"},
	{registry.ErrNoRegistry, "name the directory of a registry; `ergoflow retrain` and `ergoflow models add` make one"},
	{registry.ErrNotFound, "`ergoflow models list` shows the models of a registry, their versions and aliases"},
	{registry.ErrFormat, "use the ergoflow that wrote it, or a newer one"},
	{registry.ErrFenced, "another retraining took over: its outcome counts"},
	{registry.ErrChanged, "compare again with the version that it names now"},
	{registry.ErrNoPrevious, "`ergoflow models history` shows what the alias named; `models promote` takes any version"},
	{registry.ErrExists, "name a directory that does not exist yet"},
	{registry.ErrLocked, "wait until it has ended"},
	{coordinator.ErrElsewhere, "make credentials where the authority is: ergoflow certs issue ROLE/NAME -o DIR --ca DIR (docs/security.md)"},
	{coordinator.ErrNotCoordinator, "ergoflow certs issue coordinator/NAME -o DIR --ca DIR makes those of a coordinator"},
	{coordinator.ErrNoRevocations, "copy revoked.json of the authority to there; if the authority is lost, move the credentials away, and let all join again"},
	{trust.ErrNoAuthority, "make one: ergoflow certs init --cluster NAME --ca DIR"},
	{trust.ErrExists, "`ergoflow certs show` shows it; for another one name another --ca"},
	{trust.ErrUnknown, "`ergoflow certs list` shows names and serials; ROLE/NAME can be revoked without a record"},
	{trust.ErrAmbiguous, "write ROLE/NAME, such as worker/gpu-1"},
	{trust.ErrRevoked, "choose another name: a revoked one does not come back"},
	{trust.ErrKey, "make another key: openssl req -new -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes"},
	{trust.ErrNoRotation, "begin one: ergoflow certs rotate --ca DIR"},
	{trust.ErrNotUsed, "let it sign first: ergoflow certs rotate --use --ca DIR"},
	{trust.ErrNotRenewed, "a cluster that runs renews them within seconds: --wait 1m; revoke what does not come back, or --force the step"},
	{trust.ErrNotYetValid, "set this machine's clock, if it is the wrong one"},
	{trust.ErrExpired, "set this machine's clock, if it is the wrong one; otherwise make a new certificate or authority"},
	{trust.ErrFormat, "restore the file from a copy"},
	{reproduce.ErrCorrupt, "delete the directory of the file; the same command makes it again"},
	{state.ErrCorrupt, "export it again: the file is damaged or is not a checkpoint of ergoflow"},
	{request.ErrFormulas, "name one of its functions with --function"},
	{request.ErrCount, `in the plane: --drift "y" --drift "x - x^3 - y" --diffusion "1"`},
	{request.ErrPlaneFormula, "give formulas in x and y"},
	{request.ErrSpaceFormula, "give formulas in x[0], x[1], … or one in x[i]; docs/families.md lists what they may contain"},
	{request.ErrDiffusion, "give the diffusion of the model's family: the network was trained with no other"},
	{request.ErrTimeless, "leave --time out, or train vn1d_time"},
	{request.ErrUnlearned, "give an equation like those of the training set; nothing was written"},
	{coordinator.ErrCommonStore, "give --store: nats://shards, of which each coordinator keeps a copy, s3://…, or a directory that all machines see"},
	{coordinator.ErrOneAtATime, "start it without --peers, and with --peers once no worker speaks plain text"},
	{coordinator.ErrOneOfSeveral, "give --peers; if the others are lost for ever, see `ergoflow coordinators recover --help`"},
	{coordinator.ErrOneAuthority, "copy DIR/ca of one coordinator to the others, or give each DIR/credentials (docs/security.md)"},
	{consensus.ErrPeers, "give all coordinators the same --peers, each address as the others reach it, this one's among them"},
	{consensus.ErrReplaced, "ergoflow coordinators remove HOST:PORT, then start it with an empty --dir, and add it"},
	{consensus.ErrOldCopy, "its newer directory is elsewhere, or lost: then remove it, start it with an empty --dir, and add it"},
	{consensus.ErrRemoved, "to have it take part again, start it with an empty --dir, and add it"},
	{consensus.ErrNotLost, "see `ergoflow coordinators list`; the majority goes on by itself"},
	{consensus.ErrNoCluster, "give the --dir of a coordinator that was started with --peers"},
	{conduct.ErrForgotten, "it was started again in another --dir; the same command submits the run there"},
	{conduct.ErrCancelled, "the same command submits the run again: it continues from its checkpoint"},
	{conduct.ErrReplaced, "give the same command with --replace: it continues this run and suspends the other"},
	{data.ErrTimeStep, "choose smaller data.training.dt and data.reference.dt, or a drift that is less steep (docs/families.md)"},
	{data.ErrNoise, "choose a larger diffusion, or larger data.training.dt and data.reference.dt (docs/families.md)"},
	{data.ErrRounded, "write the formulas in x − c, where c is the family's centre, and shift the grid by c (docs/families.md)"},
	{data.ErrLeavesDomain, "bring the ends of the grid nearer to those of the domain: beyond the grid coefficients are constant (docs/families.md)"},
	{data.ErrLeavesGrid, "choose a drift that points back into the grid, or a wider grid (docs/families.md)"},
	{experiment.ErrProbesOutOfRange, "choose a smaller probes.dt, or a drift that is less steep (docs/families.md)"},
	{probe.ErrDiverged, "choose a smaller probes.dt, or a drift that is less steep (docs/families.md)"},
	{closure.ErrSettled, "choose a smaller probes.dt, or other training.states (docs/families.md)"},
	{simulate.ErrTempering, "leave the tempering out, or change its fields (docs/families.md#tempering)"},
	{simulate.ErrIntegrator, "set data.training.integrator and data.reference.integrator (docs/families.md)"},
	{simulate.ErrStuck, "choose a smaller time step (data.training.dt, data.reference.dt), or a start nearer to where the law is (docs/families.md)"},
	{simulate.ErrDiverged, "choose a smaller time step (data.training.dt, data.reference.dt), or a drift that points inward; with a box the integrator tamed is another way (docs/families.md)"},
	{family.ErrInterpolation, "give the grid more nodes, or smooth the formulas: a simulation uses their values at the nodes, linear in between (docs/families.md)"},
	{sde.ErrNotPositive, "give a diffusion that is positive everywhere on the grid; a negative one has the same law as abs(…) of it"},
	{family.ErrNoEquation, "change the definition's formulas or the laws of its parameters, so that every function has an equation (docs/families.md)"},
	{data.ErrFamily, "docs/families.md explains the definition of a family"},
	{flow.ErrInput, "change model.deeponet.fields or data.family: the network reads only fields that the family stores"},
	{simulate.ErrEngine, "use --engine auto, which takes the fastest one here; all but device give the same samples"},
	{metrics.ErrEmpty, "give arrays of at least one row"},
	{metrics.ErrShape, fmt.Sprintf("give two arrays [n], or [n, d] of the same d, 1 to %d, with at most %d rows; --chains takes arrays [chain, draw]", metrics.MaxDimension, metrics.MaxPoints)},
	{metrics.ErrNonFinite, "leave out rows that are not finite; chains that diverged have such rows"},
	{metrics.ErrRange, "divide both arrays by the same number; distances divide by it too"},
	{metrics.ErrOption, "see `ergoflow metrics --help`"},
	{trainer.ErrDiverged, "choose a smaller training.learning_rate"},
	{atomicfile.ErrDangling, "make what the link points to, or remove the link"},
	{memory.ErrShort, "raise the limit, start fewer workers on this machine, or compute fewer functions at once: --set training.micro_batch=N"},
	{boltfile.ErrLimit, "raise the limit on the size of files: ulimit -f unlimited"},
	{syscall.EFBIG, "raise the limit on the size of files: ulimit -f unlimited"},
	{syscall.EDQUOT, "free space in this user's quota, then give the same command again: it continues"},
	{syscall.EMFILE, "raise the limit on open files: ulimit -n"},
	{syscall.ENOMEM, "give the process more memory, or raise the limit on its address space: ulimit -v unlimited"},
	{syscall.EAGAIN, "raise the limit on processes and threads: ulimit -u"},
	{syscall.ENOSPC, "free space on the disk, then give the same command again: it continues"},
	{fs.ErrPermission, "choose another place, or change its permissions: this user may not do that there"},
	{syscall.EROFS, "choose another directory: the file system is read-only"},
	{syscall.ENOTDIR, "choose another directory, or move the file that is in its place"},
	{syscall.EADDRINUSE, "choose another port, or 0 for any that is free: another process listens on this one"},
	{conduct.ErrFailed, "read the workers' logs"}, // of no kind above
}

// hintFor returns the hint for an error, its own or that of its kind.
func hintFor(err error) string {
	if errors.Is(err, gitlfs.ErrPointer) { // before the hint of the command that reads the file
		return "git lfs pull"
	}
	var own *hinted
	if errors.As(err, &own) {
		return own.hint
	}
	var ended *conduct.ProcessError
	if errors.As(err, &ended) {
		if strings.Contains(strings.ToLower(ended.Reason), syscall.EAGAIN.Error()) { // of pthread_create
			return hintFor(syscall.EAGAIN)
		}
		return cmp.Or(ended.Hint, "the same command continues where this one stopped; the log is "+ended.Log)
	}
	var inputs *experiment.InputsError
	if errors.As(err, &inputs) {
		return fmt.Sprintf("--set %q", inputs.Setting)
	}
	var start *data.StartError
	if errors.As(err, &start) {
		return fmt.Sprintf("start the chains inside the grid: --set %q", start.Setting())
	}
	for _, h := range hints {
		if errors.Is(err, h.err) {
			return h.hint
		}
	}
	return ""
}
