/* test_dataset.c: who gets which samples, files and damaged ones, the data set as agents get it, and the package's real images. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "agents/dataset.h"
#include "base/arena.h"
#include "base/cleanup.h"
#include "base/err.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* ---- batches ---- */

static void batches_belong_to_seed_worker_and_step(void **state)
{
    (void)state;
    enum { BATCH = 64 };
    uint32_t shard[500], first[BATCH], again[BATCH];
    for (uint32_t i = 0; i < 500; i++)
        shard[i] = 7 * i + 1;
    dataset_batch(1, 2, 3, shard, 500, BATCH, first);
    for (int i = 0; i < BATCH; i++)
        assert_true(first[i] % 7 == 1 && first[i] / 7 < 500);
    dataset_batch(1, 2, 3, shard, 500, BATCH, again);
    assert_memory_equal(first, again, sizeof(first));
    static const uint64_t others[][3] = {{2, 2, 3}, {1, 3, 3}, {1, 2, 4}, {1, 2, UINT64_C(0x100000003)}};
    for (size_t i = 0; i < COUNT(others); i++) {
        dataset_batch(others[i][0], (uint32_t)others[i][1], others[i][2], shard, 500, BATCH, again);
        assert_memory_not_equal(first, again, sizeof(first));
    }
}

/* ---- files made here ---- */

struct folder {
    char path[512];
};
static const char *const names[4] = {"train-images-idx3-ubyte.gz", "train-labels-idx1-ubyte.gz", "t10k-images-idx3-ubyte.gz",
                                     "t10k-labels-idx1-ubyte.gz"};

static void remove_folder(struct folder *folder)
{
    for (size_t i = 0; i < COUNT(names); i++) {
        char path[600];
        snprintf(path, sizeof(path), "%s/%s", folder->path, names[i]);
        unlink(path);
    }
    rmdir(folder->path);
}

static uint32_t crc32_of(const uint8_t *bytes, size_t length)
{
    uint32_t crc = UINT32_MAX;
    for (size_t i = 0; i < length; i++) {
        crc ^= bytes[i];
        for (int bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ (crc & 1 ? UINT32_C(0xedb88320) : 0);
    }
    return ~crc;
}

static void put_little_endian(uint8_t *bytes, uint32_t value, int count)
{
    for (int i = 0; i < count; i++)
        bytes[i] = (uint8_t)(value >> 8 * i);
}

static void write_file(const struct folder *folder, int which, const uint8_t *bytes, size_t length)
{
    char path[600];
    snprintf(path, sizeof(path), "%s/%s", folder->path, names[which]);
    cleanup(close_file) FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, length, file), length);
}

/* One stored block (RFC 1951, 3.2.4) in a gzip member (RFC 1952). Returns the length. */
static size_t make_gzip(const uint8_t *content, size_t length, uint8_t *out)
{
    static const uint8_t header[10] = {0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255};
    memcpy(out, header, sizeof(header));
    out[10] = 1;
    put_little_endian(out + 11, (uint32_t)length, 2);
    put_little_endian(out + 13, ~(uint32_t)length, 2);
    memcpy(out + 15, content, length);
    put_little_endian(out + 15 + length, crc32_of(content, length), 4);
    put_little_endian(out + 19 + length, (uint32_t)length, 4);
    return length + 23;
}

enum { TINY = 3, IMAGES_BYTES = 16 + TINY * 784, LABELS_BYTES = 8 + TINY };

/* The content of a tiny data set's image or label file. Returns its length. */
static size_t make_content(int which, uint8_t *content)
{
    static const uint8_t images[16] = {0, 0, 8, 3, 0, 0, 0, TINY, 0, 0, 0, 28, 0, 0, 0, 28},
                         labels[LABELS_BYTES] = {0, 0, 8, 1, 0, 0, 0, TINY, 9, 0, 4};
    if (which % 2 == 1) {
        memcpy(content, labels, sizeof(labels));
        return sizeof(labels);
    }
    memcpy(content, images, sizeof(images));
    for (int i = 0; i < TINY * 784; i++)
        content[16 + i] = (uint8_t)(i % 251 + which);
    return IMAGES_BYTES;
}

static struct folder make_folder(void)
{
    struct folder folder;
    const char *parent = getenv("TMPDIR");
    snprintf(folder.path, sizeof(folder.path), "%.400s/laggard-test-XXXXXX", parent ? parent : "/tmp");
    assert_non_null(mkdtemp(folder.path));
    for (int which = 0; which < 4; which++) {
        uint8_t content[IMAGES_BYTES], packed[IMAGES_BYTES + 23];
        write_file(&folder, which, packed, make_gzip(content, make_content(which, content), packed));
    }
    return folder;
}

static void a_folder_of_files_is_loaded(void **state)
{
    (void)state;
    cleanup(remove_folder) struct folder folder = make_folder();
    cleanup(arena_cleanup) struct arena *arena = arena_new();
    struct dataset dataset;
    struct err err = {0};
    assert_int_equal(dataset_check(DATASET_FASHION_MNIST, folder.path, &err), 0);
    assert_int_equal(dataset_load(DATASET_FASHION_MNIST, SPLIT_TEST, folder.path, arena, &dataset, &err), 0);
    assert_true(dataset.sample_count == TINY && dataset.inputs == 784 && dataset.classes == 10);
    assert_true(dataset.pixels[0] == 2 && dataset.pixels[252] == 3 && dataset.labels[2] == 4);
    dataset_release(&dataset);
}

static int load(const struct folder *folder, struct err *err)
{
    cleanup(arena_cleanup) struct arena *arena = arena_new();
    struct dataset dataset;
    return dataset_load(DATASET_FASHION_MNIST, SPLIT_TRAIN, folder->path, arena, &dataset, err);
}

static void a_missing_file_names_the_remedy(void **state)
{
    (void)state;
    struct err err = {0};
    assert_int_equal(dataset_check(DATASET_FASHION_MNIST, "/nowhere", &err), -ERR_HOST);
    assert_string_equal(err.text, "cannot open the data set's file /nowhere/train-images-idx3-ubyte.gz: No such file or directory: "
                                  "apt-get install dataset-fashion-mnist, or set workload.dataset_path");
    assert_int_equal(dataset_check(DATASET_FASHION_MNIST, "/nowhere", NULL), -ERR_HOST);
    int memfd = -7;
    assert_int_equal(dataset_export(DATASET_FASHION_MNIST, "/nowhere", &memfd, &err), -ERR_HOST);
    assert_int_equal(memfd, -7);
}

/* One damaged file after another: `which` is it, and the check before a campaign sees it too when `early`. */
static void damaged_files_are_refused(void **state)
{
    (void)state;
    static const struct {
        int which;
        size_t place; /* in the content */
        uint8_t value;
        bool early;
        const char *text;
    } damages[] = {
        {0, 2, 9, true, "byte 2: values of type 0x09"},
        {0, 11, 27, true, "byte 8: dimension 1 is 27, 28 is expected"},
        {0, 3, 1, true, "byte 3: 1 dimensions, 3 are expected"},
        {1, 3, 3, true, "truncated at byte 8"},
        {1, 7, 2, true, "has 3 images"},
        {0, 4, 255, true, "samples, at most 10000000 are read"},
        {1, 9, 10, false, "byte 9 of its content is label 10, 0 to 9 are allowed"},
    };
    for (size_t i = 0; i < COUNT(damages); i++) {
        cleanup(remove_folder) struct folder folder = make_folder();
        uint8_t content[IMAGES_BYTES], packed[IMAGES_BYTES + 23];
        struct err err = {0};
        size_t length = make_content(damages[i].which, content);
        content[damages[i].place] = damages[i].value;
        write_file(&folder, damages[i].which, packed, make_gzip(content, length, packed));
        assert_int_equal(dataset_check(DATASET_FASHION_MNIST, folder.path, &err), damages[i].early ? -ERR_USAGE : 0);
        assert_int_equal(load(&folder, &err), -ERR_USAGE);
        if (!strstr(err.text, damages[i].text) || !strstr(err.text, folder.path))
            fail_msg("%s", err.text);
    }
}

static void damaged_compression_is_refused(void **state)
{
    (void)state;
    uint8_t content[IMAGES_BYTES + 1], packed[IMAGES_BYTES + 24];
    struct err err = {0};
    cleanup(remove_folder) struct folder folder = make_folder();
    size_t length = make_content(0, content), packed_length = make_gzip(content, length, packed);

    write_file(&folder, 0, content, length); /* not compressed */
    assert_int_equal(load(&folder, &err), -ERR_USAGE);
    assert_non_null(strstr(err.text, "is not a gzip file"));

    static const size_t cuts[] = {0, 5, 20, 1000};
    for (size_t i = 0; i < COUNT(cuts); i++) {
        write_file(&folder, 0, packed, cuts[i]);
        assert_int_equal(load(&folder, &err), -ERR_USAGE);
        if (!strstr(err.text, "the file is damaged"))
            fail_msg("cut at %zu: %s", cuts[i], err.text);
    }
    write_file(&folder, 0, packed, packed_length - 8); /* without the checksum */
    assert_int_equal(load(&folder, &err), -ERR_USAGE);

    packed[500] ^= 1;
    write_file(&folder, 0, packed, packed_length);
    assert_int_equal(load(&folder, &err), -ERR_USAGE);
    assert_non_null(strstr(err.text, "content: incorrect data check: the file is damaged"));

    content[length] = 0;
    write_file(&folder, 0, packed, make_gzip(content, length + 1, packed));
    assert_int_equal(load(&folder, &err), -ERR_USAGE);
    assert_non_null(strstr(err.text, "bytes follow the last value, at byte 2368 of its content"));
}

/* ---- from the controller to the agents ---- */

static void the_shared_data_set_is_the_loaded_one(void **state)
{
    (void)state;
    cleanup(remove_folder) struct folder folder = make_folder();
    cleanup(arena_cleanup) struct arena *arena = arena_new();
    cleanup(close_fd) int memfd = -1;
    struct err err = {0};
    if (dataset_export(DATASET_FASHION_MNIST, folder.path, &memfd, &err) < 0)
        fail_msg("%s", err.text);
    assert_int_equal(fcntl(memfd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
    assert_int_equal(pwrite(memfd, "x", 1, 200), -1); /* sealed */
    assert_int_equal(ftruncate(memfd, 100), -1);
    for (int split = 0; split < SPLIT_COUNT; split++) {
        struct dataset loaded;
        cleanup(dataset_release) struct dataset imported = {0};
        assert_int_equal(dataset_load(DATASET_FASHION_MNIST, (enum dataset_split)split, folder.path, arena, &loaded, &err), 0);
        assert_int_equal(dataset_import(memfd, (enum dataset_split)split, &imported, &err), 0);
        assert_true(imported.sample_count == loaded.sample_count && imported.inputs == loaded.inputs &&
                    imported.classes == loaded.classes);
        assert_memory_equal(imported.pixels, loaded.pixels, TINY * 784);
        assert_memory_equal(imported.labels, loaded.labels, TINY);
        assert_int_equal((uintptr_t)imported.pixels % 64, 0);
    }
}

/* Copies the shared data set with one byte changed (place -1: none) and the length cut. */
static int tampered_copy(int memfd, long place, size_t length, bool sealed)
{
    static uint8_t bytes[16384];
    ssize_t got = pread(memfd, bytes, sizeof(bytes), 0);
    assert_true(got > 0 && (size_t)got < sizeof(bytes));
    if (place >= 0)
        bytes[place] ^= 0xff;
    int copy = memfd_create("tampered", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if ((size_t)got < length)
        length = (size_t)got;
    assert_int_equal(write(copy, bytes, length), length);
    if (sealed)
        assert_int_equal(fcntl(copy, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW), 0);
    return copy;
}

static void a_strange_descriptor_is_refused(void **state)
{
    (void)state;
    cleanup(remove_folder) struct folder folder = make_folder();
    cleanup(close_fd) int memfd = -1;
    assert_int_equal(dataset_export(DATASET_FASHION_MNIST, folder.path, &memfd, NULL), 0);
    struct dataset dataset = {.sample_count = 5};
    struct err err = {0};
    static const struct {
        long place;
        size_t length;
        bool sealed, good;
        const char *text;
    } copies[] = {
        {-1, SIZE_MAX, true, true, NULL},
        {-1, SIZE_MAX, false, false, "is not a sealed memfd"},
        {0, SIZE_MAX, true, false, "does not start with LAGDATA1"},
        {-1, 0, true, false, "has 0 bytes, its header alone has"},
        {-1, 40, true, false, "has 40 bytes, its header alone has"},
        {-1, 4000, true, true, NULL}, /* the train split is still whole */
        {-1, 2000, true, false, "shorter than its header says"},
        {9, SIZE_MAX, true, false, "shorter than its header says"},           /* inputs */
        {13, SIZE_MAX, true, false, "a count in the header is out of range"}, /* classes */
        {23, SIZE_MAX, true, false, "shorter than its header says"},          /* offset of the pixels, its highest byte */
        {35, SIZE_MAX, true, false, "shorter than its header says"},          /* number of samples */
        {2432, SIZE_MAX, true, false, "a label is out of range"},             /* behind 64 + 3 x 784 bytes, at a multiple of 64 */
    };
    for (size_t i = 0; i < COUNT(copies); i++) {
        cleanup(close_fd) int copy = tampered_copy(memfd, copies[i].place, copies[i].length, copies[i].sealed);
        int rc = dataset_import(copy, SPLIT_TRAIN, &dataset, &err);
        if (copies[i].good) {
            assert_int_equal(rc, 0);
            dataset_release(&dataset);
            dataset.sample_count = 5;
        } else if (rc != -ERR_USAGE || !strstr(err.text, copies[i].text)) {
            fail_msg("copy %zu: %s", i, err.text);
        }
        assert_int_equal(dataset.sample_count, 5);
    }
    cleanup(close_fd) int file = open("/dev/zero", O_RDONLY | O_CLOEXEC);
    assert_true(dataset_import(file, SPLIT_TRAIN, &dataset, NULL) < 0);
    assert_true(dataset_import(-1, SPLIT_TRAIN, &dataset, NULL) < 0);
}

/* ---- the package ---- */

static void the_package_has_all_its_images(void **state)
{
    (void)state;
    static const uint32_t sample_counts[SPLIT_COUNT] = {60000, 10000};
    uint32_t inputs, classes;
    struct err err = {0};
    dataset_dimensions(DATASET_FASHION_MNIST, &inputs, &classes);
    assert_true(inputs == 784 && classes == 10);
    if (dataset_check(DATASET_FASHION_MNIST, NULL, &err) < 0)
        fail_msg("%s", err.text);
    for (int split = 0; split < SPLIT_COUNT; split++) {
        cleanup(arena_cleanup) struct arena *arena = arena_new();
        struct dataset dataset;
        uint32_t of_class[10] = {0};
        assert_int_equal(dataset_load(DATASET_FASHION_MNIST, (enum dataset_split)split, NULL, arena, &dataset, &err), 0);
        assert_true(dataset.sample_count == sample_counts[split] && dataset.inputs == 784 && dataset.classes == 10);
        for (uint32_t i = 0; i < dataset.sample_count; i++)
            of_class[dataset.labels[i]]++;
        for (int i = 0; i < 10; i++)
            assert_int_equal(of_class[i], sample_counts[split] / 10);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(batches_belong_to_seed_worker_and_step), cmocka_unit_test(a_folder_of_files_is_loaded),
        cmocka_unit_test(a_missing_file_names_the_remedy),        cmocka_unit_test(damaged_files_are_refused),
        cmocka_unit_test(damaged_compression_is_refused),         cmocka_unit_test(the_shared_data_set_is_the_loaded_one),
        cmocka_unit_test(a_strange_descriptor_is_refused),        cmocka_unit_test(the_package_has_all_its_images),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
