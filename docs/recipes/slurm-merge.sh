#!/bin/bash
# When all shares have ended: one database and its report. See slurm-shard.sh.
#SBATCH --job-name=laggard-merge
#SBATCH --ntasks=1
#SBATCH --time=00:30:00
set -eu
name=$(basename "$1" .yaml)
"${LAGGARD:-laggard}" merge "$name.db" "$name"-[0-9]*.db
"${LAGGARD:-laggard}" report "$name.db" -o "$name.html"
