/* results/digest.c: SHA-256 by nettle. */
#include "results/digest.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <nettle/base64.h>
#include <nettle/sha2.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"

struct digest {
    struct sha256_ctx context;
};

struct digest *digest_new(void)
{
    struct digest *digest = malloc(sizeof(*digest));
    if (!digest) {
        fprintf(stderr, "laggard: out of memory (a digest)\n");
        _exit(err_exit_code(ERR_HOST));
    }
    sha256_init(&digest->context);
    return digest;
}

void digest_cleanup(struct digest **digest)
{
    free_pointer(digest);
}

static void add_bytes(struct digest *digest, const void *bytes, size_t length)
{
    sha256_update(&digest->context, length, bytes);
}

void digest_add_text(struct digest *digest, const char *text)
{
    add_bytes(digest, text, strlen(text) + 1);
}

/* Little-endian everywhere. */
static void put_integer(uint8_t bytes[static 8], int64_t value)
{
    for (int i = 0; i < 8; i++)
        bytes[i] = (uint8_t)((uint64_t)value >> (8 * i));
}

void digest_add_integer(struct digest *digest, int64_t value)
{
    uint8_t bytes[8];
    put_integer(bytes, value);
    add_bytes(digest, bytes, sizeof(bytes));
}

void digest_add_integers(struct digest *digest, const int64_t *values, size_t count)
{
    enum { AT_ONCE = 32 };
    uint8_t bytes[AT_ONCE * 8];
    for (size_t first = 0; first < count; first += AT_ONCE) {
        const size_t taken = count - first < AT_ONCE ? count - first : AT_ONCE;
        for (size_t i = 0; i < taken; i++)
            put_integer(bytes + 8 * i, values[first + i]);
        add_bytes(digest, bytes, 8 * taken);
    }
}

void digest_add_real(struct digest *digest, double value)
{
    uint64_t bits = UINT64_C(0x7ff8000000000000);
    if (!isnan(value))
        memcpy(&bits, &value, sizeof(bits));
    digest_add_integer(digest, (int64_t)bits);
}

void digest_spell(const uint8_t sha256[static 32], char hex[static DIGEST_HEX_BYTES])
{
    for (int i = 0; i < 32; i++)
        snprintf(hex + 2 * i, 3, "%02x", sha256[i]);
}

void digest_hex(struct digest *digest, char hex[static DIGEST_HEX_BYTES])
{
    uint8_t sha256[SHA256_DIGEST_SIZE];
    sha256_digest(&digest->context, sizeof(sha256), sha256);
    digest_spell(sha256, hex);
}

void digest_of_text(const char *text, char hex[static DIGEST_HEX_BYTES])
{
    cleanup(digest_cleanup) struct digest *digest = digest_new();
    add_bytes(digest, text, strlen(text));
    digest_hex(digest, hex);
}

int digest_of_file(const char *path, char hex[static DIGEST_HEX_BYTES])
{
    cleanup(close_fd) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a pipe must not hold us up */
    cleanup(digest_cleanup) struct digest *digest = digest_new();
    struct stat about;
    uint8_t buffer[16384];
    ssize_t got;
    if (fd < 0 || fstat(fd, &about) < 0)
        return errno;
    if (!S_ISREG(about.st_mode))
        return EINVAL;
    while ((got = read(fd, buffer, sizeof(buffer))) != 0) {
        if (got < 0 && errno != EINTR)
            return errno;
        if (got > 0)
            add_bytes(digest, buffer, (size_t)got);
    }
    digest_hex(digest, hex);
    return 0;
}

void digest_base64_of_text(const char *text, char base64[static DIGEST_BASE64_BYTES])
{
    cleanup(digest_cleanup) struct digest *digest = digest_new();
    uint8_t sha256[SHA256_DIGEST_SIZE];
    add_bytes(digest, text, strlen(text));
    sha256_digest(&digest->context, sizeof(sha256), sha256);
    base64_encode_raw(base64, sizeof(sha256), sha256);
    base64[DIGEST_BASE64_BYTES - 1] = 0;
}
