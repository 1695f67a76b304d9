#!/bin/sh
# open-mpi.sh BYTES ITERATIONS [OPTIONS OF mpirun]: mpi_allreduce on all nodes of a trial; what it reports goes to laggard.
set -eu
[ "$LAGGARD_RANK" = 0 ] || exit 0 # mpirun starts the other ranks
bytes=$1 iterations=$2
shift 2
report=$LAGGARD_REPORT
unset LAGGARD_REPORT # no rank has that descriptor: rank 0 prints, and mpirun's output is the report
# Each rank has a node of its own, so Open MPI would let it wait for messages in a loop that never sleeps; but all share these processors.
exec mpirun --allow-run-as-root --host "$(seq -s , -f w%g 0 $((LAGGARD_SIZE - 1)))" --mca plm_rsh_agent "laggard enter" \
    --mca mpi_yield_when_idle 1 "$@" mpi_allreduce "$bytes" "$iterations" >&"$report"
