/* dataset.c: the data sets: reading their gzipped IDX files, and dealing the samples out to workers and mini-batches. */
#include "agents/dataset.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/err.h"

enum content { CONTENT_PIXELS, CONTENT_LABELS, CONTENT_COUNT };

static const struct dataset_row {
    const char *directory, *package;
    const char *files[SPLIT_COUNT][CONTENT_COUNT];
    uint32_t rows, columns, classes;
} table[] = {
    [DATASET_FASHION_MNIST] = {.directory = "/usr/share/datasets/fashion-mnist",
                               .package = "dataset-fashion-mnist",
                               .files = {{"train-images-idx3-ubyte.gz", "train-labels-idx1-ubyte.gz"},
                                         {"t10k-images-idx3-ubyte.gz", "t10k-labels-idx1-ubyte.gz"}},
                               .rows = 28,
                               .columns = 28,
                               .classes = 10},
};
static_assert(sizeof(table) / sizeof(table[0]) == DATASET_COUNT, "one row a data set");

void dataset_dimensions(enum dataset_kind kind, uint32_t *inputs, uint32_t *classes)
{
    *inputs = table[kind].rows * table[kind].columns;
    *classes = table[kind].classes;
}

/* ---- gzipped IDX files ---- */

enum { PATH_BYTES = 4096, SAMPLES_MAX = 10000000 };

struct idx_file {
    gzFile stream;
    struct idx header;
    char path[PATH_BYTES];
};

static void close_idx(struct idx_file *file)
{
    if (file->stream)
        gzclose_r(file->stream);
    file->stream = NULL;
}

static int stream_error(struct idx_file *file, struct err *err)
{
    int code;
    const char *reason = gzerror(file->stream, &code), *behind_name = strstr(reason, ">: "); /* "<fd:4>: incorrect data check" */
    if (code == Z_ERRNO)
        return err_set_errno(err, ERR_HOST, errno, "cannot read %s", file->path);
    return err_set(err, ERR_USAGE, "cannot decompress %s at byte %ld of its content: %s: the file is damaged", file->path,
                   (long)gztell(file->stream),
                   code == Z_OK  ? "it ends early"
                   : behind_name ? behind_name + 3
                                 : reason);
}

/* Exactly `length` bytes. */
static int read_fully(struct idx_file *file, uint8_t *bytes, size_t length, struct err *err)
{
    while (length > 0) {
        unsigned piece = length > (64u << 20) ? 64u << 20 : (unsigned)length;
        int got = gzread(file->stream, bytes, piece);
        if (got <= 0)
            return stream_error(file, err);
        bytes += got;
        length -= (size_t)got;
    }
    return 0;
}

static int check_dimensions(const struct dataset_row *row, enum content content, const struct idx *header, struct err *err)
{
    uint32_t expected[CONTENT_COUNT][IDX_DIMENSIONS_MAX] = {{0, row->rows, row->columns}, {0}};
    int count[CONTENT_COUNT] = {3, 1};
    if (header->dimension_count != count[content])
        return err_set(err, ERR_USAGE, "byte 3: %d dimensions, %d are expected", header->dimension_count, count[content]);
    if (header->dimensions[0] > SAMPLES_MAX)
        return err_set(err, ERR_USAGE, "byte 4: %u samples, at most %d are read", header->dimensions[0], SAMPLES_MAX);
    for (int i = 1; i < count[content]; i++)
        if (header->dimensions[i] != expected[content][i])
            return err_set(err, ERR_USAGE, "byte %d: dimension %d is %u, %u is expected", 4 + 4 * i, i, header->dimensions[i],
                           expected[content][i]);
    return 0;
}

/* Opens one file and checks its header; the stream then stands at the first value. `file` is to be closed in any case. */
static int open_idx(const struct dataset_row *row, const char *path, enum dataset_split split, enum content content,
                    struct idx_file *file, struct err *err)
{
    static const int header_bytes[CONTENT_COUNT] = {16, 8};
    uint8_t header[IDX_HEADER_MAX];
    int length = snprintf(file->path, sizeof(file->path), "%s/%s", path ? path : row->directory, row->files[split][content]);
    if (length < 0 || (size_t)length >= sizeof(file->path))
        return err_set(err, ERR_USAGE, "workload.dataset_path is longer than %d bytes", PATH_BYTES - 1);
    int fd = open(file->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY); /* whatever lies there, opening it does not wait */
    struct stat status;
    if (fd >= 0 && (fstat(fd, &status) < 0 || !S_ISREG(status.st_mode))) {
        close(fd);
        return err_set(err, ERR_USAGE, "the data set's file %s is not a regular file", file->path);
    }
    if (fd < 0)
        return err_set(err, ERR_HOST, "cannot open the data set's file %s: %s: apt-get install %s, or set workload.dataset_path",
                       file->path, strerror(errno), row->package);
    file->stream = gzdopen(fd, "rb");
    if (!file->stream) {
        close(fd);
        return err_set(err, ERR_HOST, "cannot read %s: out of memory", file->path);
    }
    int rc = read_fully(file, header, (size_t)header_bytes[content], err);
    if (rc < 0)
        return rc;
    if (gzdirect(file->stream))
        return err_set(err, ERR_USAGE, "%s is not a gzip file (byte 0 is not 0x1f or byte 1 is not 0x8b)", file->path);
    rc = idx_parse_header(header, (size_t)header_bytes[content], &file->header, err);
    if (rc >= 0)
        rc = check_dimensions(row, content, &file->header, err);
    return rc < 0 ? err_wrap(err, "%s, decompressed", file->path) : 0;
}

static int read_values(struct idx_file *file, uint8_t *values, struct err *err)
{
    uint8_t beyond;
    int rc = read_fully(file, values, file->header.value_count, err), code;
    if (rc < 0)
        return rc;
    int got = gzread(file->stream, &beyond, 1); /* also what makes zlib compare the checksum */
    gzerror(file->stream, &code);               /* a missing checksum is an error, but not a negative count */
    if (code != Z_OK)
        return stream_error(file, err);
    if (got > 0)
        return err_set(err, ERR_USAGE, "%s: bytes follow the last value, at byte %ld of its content", file->path,
                       (long)gztell(file->stream) - 1);
    return 0;
}

/* ---- a split: images and their labels ---- */

struct split_files {
    struct idx_file content[CONTENT_COUNT];
};

static void close_split(struct split_files *files)
{
    for (int i = 0; i < CONTENT_COUNT; i++)
        close_idx(&files->content[i]);
}

static int open_split(const struct dataset_row *row, const char *path, enum dataset_split split, struct split_files *files,
                      struct err *err)
{
    for (int i = 0; i < CONTENT_COUNT; i++) {
        int rc = open_idx(row, path, split, (enum content)i, &files->content[i], err);
        if (rc < 0)
            return rc;
    }
    const struct idx_file *images = &files->content[CONTENT_PIXELS], *labels = &files->content[CONTENT_LABELS];
    if (images->header.dimensions[0] != labels->header.dimensions[0])
        return err_set(err, ERR_USAGE, "%s has %u images, %s has %u labels: they do not belong together", images->path,
                       images->header.dimensions[0], labels->path, labels->header.dimensions[0]);
    return 0;
}

/* The first sample whose label is not below `classes`; sample_count when there is none. */
static uint32_t first_bad_label(const uint8_t *labels, uint32_t sample_count, uint32_t classes)
{
    uint32_t i = 0;
    while (i < sample_count && labels[i] < classes)
        i++;
    return i;
}

static int read_split(const struct dataset_row *row, struct split_files *files, uint8_t *pixels, uint8_t *labels, struct err *err)
{
    struct idx_file *label_file = &files->content[CONTENT_LABELS];
    uint32_t sample_count = label_file->header.dimensions[0];
    int rc = read_values(&files->content[CONTENT_PIXELS], pixels, err);
    if (rc == 0)
        rc = read_values(label_file, labels, err);
    if (rc < 0)
        return rc;
    uint32_t bad = first_bad_label(labels, sample_count, row->classes);
    if (bad < sample_count)
        return err_set(err, ERR_USAGE, "%s: byte %u of its content is label %u, 0 to %u are allowed", label_file->path, 8 + bad,
                       labels[bad], row->classes - 1);
    return 0;
}

int dataset_load(enum dataset_kind kind, enum dataset_split split, const char *path, struct arena *arena, struct dataset *dataset,
                 struct err *err)
{
    const struct dataset_row *row = &table[kind];
    cleanup(close_split) struct split_files files = {0};
    int rc = open_split(row, path, split, &files, err);
    if (rc < 0)
        return rc;
    uint8_t *pixels = arena_alloc(arena, files.content[CONTENT_PIXELS].header.value_count);
    uint8_t *labels = arena_alloc(arena, files.content[CONTENT_LABELS].header.value_count);
    rc = read_split(row, &files, pixels, labels, err);
    if (rc < 0)
        return rc;
    *dataset = (struct dataset){.sample_count = files.content[CONTENT_LABELS].header.dimensions[0],
                                .inputs = row->rows * row->columns,
                                .classes = row->classes,
                                .pixels = pixels,
                                .labels = labels};
    return 0;
}

int dataset_check(enum dataset_kind kind, const char *path, struct err *err)
{
    for (int split = 0; split < SPLIT_COUNT; split++) {
        cleanup(close_split) struct split_files files = {0};
        int rc = open_split(&table[kind], path, (enum dataset_split)split, &files, err);
        if (rc < 0)
            return rc;
    }
    return 0;
}

/* ---- who learns from what ---- */

void dataset_batch(uint64_t seed, uint32_t worker, uint64_t step, const uint32_t *shard, uint32_t shard_count, int batch,
                   uint32_t *out)
{
    /* A stream a step: no step needs the draws before it. What a counter word cannot hold of the step goes into the key. */
    uint64_t key = seed + (step >> 32) * UINT64_C(0x9e3779b97f4a7c15);
    struct rng rng = rng_stream(key, (uint32_t)step, worker, RNG_BATCH);
    for (int i = 0; i < batch; i++)
        out[i] = shard[rng_below(&rng, shard_count)];
}
