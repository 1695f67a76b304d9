/* peer.h: what the programs share that measure other people's collectives: arguments, values whose sum is known, reports. C and
 * C++.
 *
 *     PROGRAM BYTES ITERATIONS
 *
 * All-reduces BYTES of float32 ITERATIONS times between LAGGARD_SIZE processes. Every rank contributes other values, those of
 * laggard's own synthetic gradient (docs/workloads.md): small whole numbers whose sums float32 holds exactly, in any order of
 * adding. A sample of each sum is checked, of the last one every element. When each iteration was over is written down and reported
 * at the end as lines `round N NS`, to the descriptor LAGGARD_REPORT or, without one, to standard output: while it measures, a
 * program does nothing else. */
#ifndef LAGGARD_TESTS_PEER_H
#define LAGGARD_TESTS_PEER_H

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct peer {
    const char *program;
    int rank, size;
    size_t count; /* floats */
    long iterations;
    float *mine, *sum; /* what this rank contributes, and what comes back */
    int64_t *ends_ns;  /* of each iteration, CLOCK_MONOTONIC */
};

__attribute__((noreturn)) static inline void peer_die(const struct peer *peer, const char *what)
{
    fprintf(stderr, "%s, rank %d: %s\n", peer->program, peer->rank, what);
    exit(1);
}

static inline long long peer_number(const char *text, long long least, long long most)
{
    char *end;
    errno = 0;
    long long value = strtoll(text, &end, 10);
    if (errno != 0 || end == text || *end || value < least || value > most) {
        fprintf(stderr, "found '%s', a whole number from %lld to %lld is needed\n", text, least, most);
        exit(2);
    }
    return value;
}

/* Of element j in an iteration: the mean over all ranks. */
static inline float peer_mean(size_t j, long iteration)
{
    return (float)(j % 61) - 30 + (j % 1024 == 0 ? (float)(1 + iteration % 97) : 0);
}

static inline float peer_part(const struct peer *peer, size_t j, long iteration)
{
    return peer_mean(j, iteration) + (float)(2 * peer->rank - (peer->size - 1)) * (float)(1 + j % 5);
}

static inline void peer_begin(struct peer *peer, int argc, char **argv, int rank, int size)
{
    memset(peer, 0, sizeof(*peer));
    peer->program = argv[0];
    peer->rank = rank;
    peer->size = size;
    if (argc != 3) {
        fprintf(stderr, "usage: %s BYTES ITERATIONS\n", argv[0]);
        exit(2);
    }
    peer->count = (size_t)peer_number(argv[1], 4, 1LL << 32) / sizeof(float);
    peer->iterations = (long)peer_number(argv[2], 1, 1000000);
    peer->mine = (float *)malloc(peer->count * sizeof(float));
    peer->sum = (float *)malloc(peer->count * sizeof(float));
    peer->ends_ns = (int64_t *)malloc((size_t)peer->iterations * sizeof(int64_t));
    if (!peer->mine || !peer->sum || !peer->ends_ns)
        peer_die(peer, "there is not enough memory");
    for (size_t j = 0; j < peer->count; j++)
        peer->mine[j] = peer_part(peer, j, 0);
    memset(peer->sum, 0, peer->count * sizeof(float)); /* so that its pages are there */
    memset(peer->ends_ns, 0, (size_t)peer->iterations * sizeof(int64_t));
}

/* Before an iteration: what differs from the one before. */
static inline void peer_prepare(struct peer *peer, long iteration)
{
    for (size_t j = 0; j < peer->count; j += 1024)
        peer->mine[j] = peer_part(peer, j, iteration);
}

static inline void peer_check(const struct peer *peer, long iteration, size_t step)
{
    for (size_t j = 0; j < peer->count; j += step)
        if (peer->sum[j] != (float)peer->size * peer_mean(j, iteration)) {
            fprintf(stderr, "%s, rank %d: iteration %ld, element %zu is %.9g, not %.9g\n", peer->program, peer->rank, iteration, j,
                    (double)peer->sum[j], (double)((float)peer->size * peer_mean(j, iteration)));
            exit(1);
        }
}

/* After an iteration. */
static inline void peer_note(struct peer *peer, long iteration)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    peer->ends_ns[iteration] = (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
    peer_check(peer, iteration, 1024);
}

static inline void peer_report(const struct peer *peer)
{
    const char *descriptor = getenv("LAGGARD_REPORT");
    FILE *out = descriptor ? fdopen((int)peer_number(descriptor, 3, 1 << 20), "w") : stdout;
    if (!out)
        peer_die(peer, "LAGGARD_REPORT names no open descriptor");
    for (long i = 0; i < peer->iterations; i++)
        fprintf(out, "round %ld %lld\n", i, (long long)peer->ends_ns[i]);
    if (fclose(out) != 0)
        peer_die(peer, "the report could not be written");
}

static inline void peer_end(struct peer *peer)
{
    peer_check(peer, peer->iterations - 1, 1);
    free(peer->mine);
    free(peer->sum);
    free(peer->ends_ns);
}

#endif
