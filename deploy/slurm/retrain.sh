#!/bin/bash
# Retrains by Slurm: `scrontab -e`, then the lines
#   #SCRON --time=06:00:00 --cpus-per-task=8 --signal=B:TERM@120
#   0 2 * * * /usr/local/share/ergoflow/retrain.sh
# Where Slurm has no scrontab, as in Debian 12, cron can run `sbatch` of this script.
# Slurm sends SIGTERM to this script two to three minutes before the time limit. The retraining ends in
# order, with code 1, and the next job goes on where it was.
# The configuration, the registry and the data are in a directory that every node sees.
#SBATCH --job-name=ergoflow-retrain
#SBATCH --time=06:00:00
#SBATCH --cpus-per-task=8
#SBATCH --signal=B:TERM@120
#SBATCH --requeue
set -u
trap 'kill -TERM $!; wait $!; exit $?' TERM
ergoflow retrain --config "${ERGOFLOW_RETRAIN:-$HOME/ergoflow/retrain.yaml}" &
wait $!
