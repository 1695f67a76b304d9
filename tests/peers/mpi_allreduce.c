/* mpi_allreduce.c: times MPI_Allreduce; see peer.h. Rank 0 reports for all: a process that mpirun started on another node has no
 * report descriptor. For the same reason LAGGARD_REPORT should not be set, and mpirun's standard output go there. */
#include <mpi.h>

#include "peer.h"

int main(int argc, char **argv)
{
    struct peer peer;
    int rank, size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    peer_begin(&peer, argc, argv, rank, size);
    for (long i = 0; i < peer.iterations; i++) {
        peer_prepare(&peer, i);
        MPI_Allreduce(peer.mine, peer.sum, (int)peer.count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
        peer_note(&peer, i);
    }
    if (rank == 0)
        peer_report(&peer);
    peer_end(&peer);
    MPI_Finalize();
    return 0;
}
