#!/bin/bash
# Retrains by Slurm: `scrontab -e`, then the line
#   #SCRON --time=06:00:00 --cpus-per-task=8 --signal=B:TERM@120
#   0 2 * * * /usr/local/share/ergoflow/retrain.sh
# Slurm sends SIGTERM two minutes before the time limit. The retraining ends in order, and the
# next job goes on where it was.
#SBATCH --job-name=ergoflow-retrain
#SBATCH --time=06:00:00
#SBATCH --cpus-per-task=8
#SBATCH --signal=B:TERM@120
#SBATCH --requeue
set -u
ergoflow retrain --config "${ERGOFLOW_RETRAIN:-/etc/ergoflow/retrain.yaml}" &
child=$!
trap 'kill -TERM "$child"' TERM
wait "$child"
code=$?
if kill -0 "$child" 2>/dev/null; then # the trap has ended the first wait
	wait "$child"
	code=$?
fi
exit "$code"
