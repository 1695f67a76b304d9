/* dataset_share.c: handing a data set from the controller to its agents without decompressing it again.
 *
 * A shared data set is a memfd: struct shared_header, then for each split the pixels and the labels, each at a multiple of 64
 * bytes. Byte order and layout are the host's: it never leaves the host. It is sealed against writing, growing and shrinking before
 * anyone else sees it, so what was checked at import stays true, and reading the mapping cannot fault. */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "agents/dataset.h"
#include "base/arena.h"
#include "base/cleanup.h"
#include "base/err.h"

enum { ALIGNMENT = 64, SEALS = F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK };
static const char magic[8] = {'L', 'A', 'G', 'D', 'A', 'T', 'A', '1'};

struct shared_split {
    uint64_t pixels_offset, labels_offset; /* bytes from the start */
    uint32_t sample_count;
};
struct shared_header {
    char magic[sizeof(magic)];
    uint32_t inputs, classes;
    struct shared_split split[SPLIT_COUNT];
};

static uint64_t align(uint64_t offset)
{
    return (offset + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

static int write_at(int fd, const void *bytes, size_t length, uint64_t offset, struct err *err)
{
    const uint8_t *next = bytes;
    while (length > 0) {
        ssize_t written = pwrite(fd, next, length, (off_t)offset);
        if (written < 0 && errno != EINTR)
            return err_set_errno(err, ERR_HOST, errno, "cannot write the shared data set");
        if (written > 0) {
            next += written;
            offset += (uint64_t)written;
            length -= (size_t)written;
        }
    }
    return 0;
}

/* Loads one split and writes it from *end on; *end moves behind it. */
static int export_split(enum dataset_kind kind, enum dataset_split which, const char *path, int fd, uint64_t *end,
                        struct shared_header *header, struct err *err)
{
    cleanup(arena_cleanup) struct arena *scratch = arena_new();
    struct dataset dataset;
    int rc = dataset_load(kind, which, path, scratch, &dataset, err);
    if (rc < 0)
        return rc;
    struct shared_split *split = &header->split[which];
    size_t pixel_bytes = (size_t)dataset.sample_count * dataset.inputs;
    header->inputs = dataset.inputs;
    header->classes = dataset.classes;
    split->sample_count = dataset.sample_count;
    split->pixels_offset = align(*end);
    split->labels_offset = align(split->pixels_offset + pixel_bytes);
    *end = split->labels_offset + dataset.sample_count;
    rc = write_at(fd, dataset.pixels, pixel_bytes, split->pixels_offset, err);
    return rc < 0 ? rc : write_at(fd, dataset.labels, dataset.sample_count, split->labels_offset, err);
}

int dataset_export(enum dataset_kind kind, const char *path, int *memfd, struct err *err)
{
    struct shared_header header = {.inputs = 0};
    uint64_t end = sizeof(header);
    memcpy(header.magic, magic, sizeof(magic));
    cleanup(close_fd) int fd = memfd_create("laggard-dataset", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd < 0)
        return err_set_errno(err, ERR_HOST, errno, "cannot create memory for the shared data set");
    for (int split = 0; split < SPLIT_COUNT; split++) {
        int rc = export_split(kind, (enum dataset_split)split, path, fd, &end, &header, err);
        if (rc < 0)
            return rc;
    }
    int rc = write_at(fd, &header, sizeof(header), 0, err);
    if (rc < 0)
        return rc;
    if (fcntl(fd, F_ADD_SEALS, SEALS | F_SEAL_SEAL) < 0)
        return err_set_errno(err, ERR_HOST, errno, "cannot seal the shared data set");
    *memfd = steal_fd(&fd);
    return 0;
}

static bool within(uint64_t offset, uint64_t length, uint64_t total)
{
    return offset <= total && length <= total - offset;
}

/* Why the mapped bytes are not a data set, or NULL. */
static const char *find_fault(const uint8_t *bytes, uint64_t total, enum dataset_split which)
{
    const struct shared_header *header = (const struct shared_header *)bytes;
    const struct shared_split *split = &header->split[which];
    if (memcmp(header->magic, magic, sizeof(magic)) != 0)
        return "it does not start with LAGDATA1";
    if (header->inputs == 0 || header->classes == 0 || header->classes > UINT8_MAX + 1 || split->sample_count == 0)
        return "a count in the header is out of range";
    if (!within(split->pixels_offset, (uint64_t)split->sample_count * header->inputs, total) ||
        !within(split->labels_offset, split->sample_count, total))
        return "it is shorter than its header says";
    for (uint32_t i = 0; i < split->sample_count; i++)
        if (bytes[split->labels_offset + i] >= header->classes)
            return "a label is out of range";
    return NULL;
}

int dataset_import(int memfd, enum dataset_split which, struct dataset *dataset, struct err *err)
{
    struct stat status;
    if (fstat(memfd, &status) < 0)
        return err_set_errno(err, ERR_HOST, errno, "cannot read the shared data set (descriptor %d)", memfd);
    int seals = fcntl(memfd, F_GET_SEALS);
    if (seals < 0 || (seals & SEALS) != SEALS)
        return err_set(err, ERR_USAGE, "the shared data set (descriptor %d) is not a sealed memfd", memfd);
    if (status.st_size < (off_t)sizeof(struct shared_header))
        return err_set(err, ERR_USAGE, "the shared data set has %lld bytes, its header alone has %zu", (long long)status.st_size,
                       sizeof(struct shared_header));
    size_t total = (size_t)status.st_size;
    uint8_t *bytes = mmap(NULL, total, PROT_READ, MAP_SHARED, memfd, 0);
    if (bytes == MAP_FAILED)
        return err_set_errno(err, ERR_HOST, errno, "cannot map the shared data set of %zu bytes", total);
    const char *fault = find_fault(bytes, total, which);
    if (fault) {
        munmap(bytes, total);
        return err_set(err, ERR_USAGE, "the shared data set is damaged: %s", fault);
    }
    const struct shared_header *header = (const struct shared_header *)bytes;
    *dataset = (struct dataset){.sample_count = header->split[which].sample_count,
                                .inputs = header->inputs,
                                .classes = header->classes,
                                .pixels = bytes + header->split[which].pixels_offset,
                                .labels = bytes + header->split[which].labels_offset,
                                .mapping = bytes,
                                .mapping_bytes = total};
    return 0;
}

void dataset_release(struct dataset *dataset)
{
    if (dataset->mapping)
        munmap(dataset->mapping, dataset->mapping_bytes);
    *dataset = (struct dataset){.sample_count = 0};
}
