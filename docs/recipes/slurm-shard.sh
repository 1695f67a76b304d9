#!/bin/bash
# One share of a campaign on each of several nodes, as a job array; submit it from the folder of the campaign file:
#
#     jobs=$(sbatch --parsable --array=1-4 slurm-shard.sh ring-or-server.yaml)
#     sbatch --dependency="afterok:$jobs" slurm-merge.sh ring-or-server.yaml
#
# --exclusive: another job on the same node would be heard in the timings. A job that was preempted or ran out of time goes on where it was when it is
# requeued. Each share has a database of its own, on the shared file system.
#SBATCH --job-name=laggard
#SBATCH --nodes=1
#SBATCH --ntasks=1
#SBATCH --exclusive
#SBATCH --requeue
#SBATCH --time=04:00:00
#SBATCH --signal=B:TERM@120
set -eu
file=$1
name=$(basename "$file" .yaml)
# Slurm's TERM ends the trial that runs, in good order: the shell must hand it on, and wait for the end.
"${LAGGARD:-laggard}" run "$file" --shard "$SLURM_ARRAY_TASK_ID/$SLURM_ARRAY_TASK_COUNT" --db "$name-$SLURM_ARRAY_TASK_ID.db" \
    --resume --retries 2 --quiet &
trap 'kill -TERM $!' TERM
wait $! && exit || code=$?
trap - TERM
[ $code -le 128 ] || wait $! || code=$? # `wait` itself was interrupted: now for what laggard says
exit $code
