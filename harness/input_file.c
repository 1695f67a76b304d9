/* input_file.c: reads a text file that a campaign names; see input_file.h. */
#include "harness/input_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/nearest_file.h"
#include "base/text.h"
#include "harness/yaml_document.h"

static const char byte_order_mark[] = "\xef\xbb\xbf";
enum { MARK_BYTES = sizeof(byte_order_mark) - 1 };

static void leave_mark_out(struct text *text)
{
    if (text->length < MARK_BYTES || memcmp(text->bytes, byte_order_mark, MARK_BYTES) != 0)
        return;
    text->length -= MARK_BYTES;
    memmove(text->bytes, text->bytes + MARK_BYTES, text->length + 1); /* with the NUL */
}

int input_file_read(const char *path, const char *what, size_t most, struct text *out, struct err *err)
{
    cleanup(close_fd) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a pipe must not hold us up */
    struct stat about;
    if (fd < 0 || fstat(fd, &about) < 0)
        return err_set_errno(err, ERR_USAGE, errno, "cannot open the %s '%s'%s", what, yaml_document_printable(path).text,
                             errno == ENOENT ? nearest_file(path, NULL).text : "");
    if (!S_ISREG(about.st_mode) || (size_t)about.st_size > most)
        return err_set(err, ERR_USAGE, "the %s '%s' is not a file of at most %zu MiB", what, yaml_document_printable(path).text,
                       most >> 20);
    char buffer[16384];
    ssize_t got;
    while (out->length <= most && (got = read(fd, buffer, sizeof(buffer))) != 0) {
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return err_set_errno(err, ERR_USAGE, errno, "cannot read the %s '%s'", what, yaml_document_printable(path).text);
        text_add_bytes(out, buffer, (size_t)got);
    }
    leave_mark_out(out);
    return 0;
}
