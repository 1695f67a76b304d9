/* doctor_measured.c: what only a measurement tells, each a fraction of a second: how late sleepers wake up, how fast the disk is,
 * and what OpenBLAS is worth. Nothing is left behind: the file on the disk never has a name, or loses it at once. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "agents/model.h"
#include "base/arena.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "harness/doctor_internal.h"

enum {
    SLEEPS = 200,
    PIECES = 4,
    PIECE_BYTES = 1 << 20,
    BATCH = 64, /* the first layer of an mlp */
    OUTPUTS = 128,
    INPUTS = 784,
    GRADIENTS = 3
};
static const int64_t step_ns = 500 * NS_PER_US, late_most_ns = NS_PER_MS;
static const double disk_least_bps = 10e6; /* bytes a second */

void doctor_sleep_late(int64_t *late_ns, int count, int64_t step)
{
    int64_t due = clock_now_ns();
    for (int i = 0; i < count; i++) {
        due += step;
        clock_sleep_until(due);
        int64_t now = clock_now_ns();
        late_ns[i] = now - due;
        if (now > due + step)
            due = now; /* one that was very late must not make the next ones late */
    }
    clock_sort(late_ns, (size_t)count);
}

void doctor_timer(const struct doctor_host *host, struct doctor_finding *finding)
{
    int64_t late[SLEEPS];
    struct timespec resolution = {0};
    clock_getres(CLOCK_MONOTONIC, &resolution);
    doctor_sleep_late(late, SLEEPS, step_ns);
    int64_t median = late[SLEEPS / 2], most = late[SLEEPS * 99 / 100],
            resolution_ns = resolution.tv_sec * NS_PER_S + resolution.tv_nsec;
    doctor_answer(finding, most <= late_most_ns && resolution_ns <= NS_PER_US,
                  arena_printf(host->arena, "resolution %lld ns; woken up late by %.3f ms (median), %.3f ms (99 %%)",
                               (long long)resolution_ns, (double)median / 1e6, (double)most / 1e6),
                  resolution_ns > NS_PER_US ? "boot with highres=on"
                                            : "end other programs, and let trials keep processors awake: run laggard as root");
    doctor_count(finding, "resolution_ns", (double)resolution_ns);
    doctor_count(finding, "late_median_ns", (double)median);
    doctor_count(finding, "late_p99_ns", (double)most);
}

static int open_nameless(const struct doctor_host *host)
{
    int fd = open(host->folder, O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
    if (fd >= 0 || (errno != EOPNOTSUPP && errno != EISDIR))
        return fd;
    char *path = arena_printf(host->arena, "%s/.laggard-doctor-XXXXXX", host->folder);
    fd = mkostemp(path, O_CLOEXEC);
    if (fd >= 0)
        unlink(path);
    return fd;
}

void doctor_disk(const struct doctor_host *host, struct doctor_finding *finding)
{
    static char piece[PIECE_BYTES];
    cleanup(close_fd) int fd = open_nameless(host);
    int failure = fd < 0 ? errno : 0;
    memset(piece, 0x5a, sizeof(piece));
    int64_t begin = clock_now_ns();
    for (int i = 0; i < PIECES && failure == 0; i++) {
        ssize_t written = write(fd, piece, sizeof(piece));
        if (written != (ssize_t)sizeof(piece))
            failure = written < 0 ? errno : ENOSPC;
        else if (fsync(fd) < 0)
            failure = errno;
    }
    if (failure != 0) {
        doctor_answer(finding, false,
                      arena_printf(host->arena, "nothing can be written into %s: %s", host->folder, strerror(failure)),
                      "put the database elsewhere: laggard run FILE --db /tmp/NAME.db");
        return;
    }
    double speed = (double)PIECES * PIECE_BYTES / ((double)(clock_now_ns() - begin) / 1e9);
    doctor_answer(finding, speed >= disk_least_bps, arena_printf(host->arena, "%.0f MB/s, written and synchronised", speed / 1e6),
                  "put the database on a faster disk: laggard run FILE --db /dev/shm/NAME.db, and copy it after the run");
    doctor_count(finding, "bytes_per_second", speed);
}

/* The fastest of a few: outputs = batch x weights, as in a layer's forward pass. */
static double layer_ns(const float *batch, const float *weights, float *outputs)
{
    double least = 0;
    for (int i = 0; i < GRADIENTS; i++) {
        int64_t begin = clock_now_ns();
        blas_sgemm(false, true, BATCH, OUTPUTS, INPUTS, 1, batch, INPUTS, weights, INPUTS, 0, outputs, OUTPUTS);
        double took = (double)(clock_now_ns() - begin);
        least = i == 0 || took < least ? took : least;
    }
    return least;
}

void doctor_blas(const struct doctor_host *host, struct doctor_finding *finding)
{
    float *batch = arena_new_array(host->arena, float, BATCH *INPUTS),
          *weights = arena_new_array(host->arena, float, OUTPUTS *INPUTS),
          *outputs = arena_new_array(host->arena, float, BATCH *OUTPUTS);
    for (int i = 0; i < BATCH * INPUTS; i++)
        batch[i] = (float)(i % 17) / 17;
    for (int i = 0; i < OUTPUTS * INPUTS; i++)
        weights[i] = (float)(i % 13) / 13;
    double naive = layer_ns(batch, weights, outputs);
    struct err err = {0};
    const char *description;
    if (blas_load(&description, &err) < 0) {
        doctor_answer(finding, false, NULL, arena_strdup(host->arena, err.text));
        return;
    }
    double loaded = layer_ns(batch, weights, outputs);
    doctor_answer(finding, true,
                  arena_printf(host->arena, "%s, %.1f times as fast as the naive kernel", description, naive / loaded), NULL);
    doctor_count(finding, "naive_ns", naive);
    doctor_count(finding, "openblas_ns", loaded);
    doctor_count(finding, "ratio", naive / loaded);
}
