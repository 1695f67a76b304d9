/* output_file.c: files that get their names when they are complete; see output_file.h.
 *
 * Where the file system can, a file has no name at all until then (O_TMPFILE): whoever is killed while writing leaves nothing. A
 * name can be given to it but not put in another file's place, so that it gets one beside it first, which lasts for two calls.
 * Elsewhere, or without /proc, it has that other name from its beginning. */
#include "harness/output_file.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/foreign_link.h"
#include "base/text.h"

/* With what to do, where the error tells. */
static int cannot_write(const char *path, int error, struct err *err)
{
    cleanup(free_pointer) char *copy = strdup(path); /* dirname() writes into it */
    const char *folder = copy ? dirname(copy) : ".";
    struct stat there;
    if (path[0] == '\0')
        return err_set(err, ERR_HOST, "the name of the file to write is empty; name one");
    if (error == 0)
        return err_set(err, ERR_HOST, "cannot write '%s': not all of it was taken; free space there, or name another file", path);
    if (error == ENOENT && stat(folder, &there) < 0)
        return err_set(err, ERR_HOST, "cannot write '%s': the folder '%s' does not exist; create it with: mkdir -p '%s'", path,
                       folder, folder);
    if (error == EISDIR)
        return err_set(err, ERR_HOST, "cannot write '%s': it is a folder; name a file in it", path);
    if (error == EACCES || error == EPERM || error == EROFS)
        return err_set_errno(err, ERR_HOST, error, "cannot write '%s' (name a place that this user may write to)", path);
    return err_set_errno(err, ERR_HOST, error, "cannot write '%s'", path);
}

static bool is_database(const char *path)
{
    static const char MAGIC[16] = "SQLite format 3"; /* the NUL behind it, too */
    char begin[sizeof(MAGIC)];
    cleanup(close_fd) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    return fd >= 0 && read(fd, begin, sizeof(begin)) == (ssize_t)sizeof(begin) && memcmp(begin, MAGIC, sizeof(begin)) == 0;
}

static mode_t usual_mode(void)
{
    const mode_t mask = umask(0);
    umask(mask);
    return 0644 & ~mask;
}

/* Beside `path`, and short, since that of `path` may be as long as a name can be. */
static char *name_beside(const char *path, const char *ending)
{
    struct text name = {0};
    cleanup(free_pointer) char *copy = strdup(path);
    text_printf(&name, "%s/.laggard-%s", copy ? dirname(copy) : ".", ending);
    return name.bytes;
}

static int make_beside(const char *path, char **temporary)
{
    cleanup(free_pointer) char *name = name_beside(path, "XXXXXX");
    int fd = mkostemp(name, O_CLOEXEC);
    if (fd >= 0)
        *temporary = steal_pointer(&name);
    return fd;
}

/* -1: this file system cannot, or it could not be named later. */
static int make_nameless(const char *path)
{
    cleanup(free_pointer) char *copy = strdup(path);
    cleanup(close_fd) int fd = copy ? open(dirname(copy), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600) : -1;
    return fd >= 0 && access("/proc/self/fd", X_OK) == 0 ? steal_fd(&fd) : -1;
}

/* With the rights that the file of this name has or would get. */
static int make(struct output_file *file, mode_t mode)
{
    cleanup(close_fd) int fd = make_nameless(file->path);
    file->nameless = fd >= 0;
    if (fd < 0)
        fd = make_beside(file->path, &file->temporary);
    return fd >= 0 && fchmod(fd, mode) == 0 ? steal_fd(&fd) : -1;
}

/* Signals wait: between the two calls it has the name that it is not to keep. */
static int replace(const char *nameless, const char *path)
{
    cleanup(free_pointer) char *name = NULL;
    char ending[9] = "";
    uint32_t draw;
    sigset_t all, before;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &before);
    int result = -1;
    do {
        if (getrandom(&draw, sizeof(draw), 0) != (ssize_t)sizeof(draw))
            break;
        snprintf(ending, sizeof(ending), "%08x", draw);
        free_pointer(&name);
        name = name_beside(path, ending);
        result = linkat(AT_FDCWD, nameless, AT_FDCWD, name, AT_SYMLINK_FOLLOW);
    } while (result < 0 && errno == EEXIST);
    if (result == 0 && rename(name, path) < 0) {
        const int error = errno;
        unlink(name);
        errno = error;
        result = -1;
    }
    const int error = errno;
    sigprocmask(SIG_SETMASK, &before, NULL);
    errno = error;
    return result;
}

static int give_name(int fd, const char *path)
{
    char nameless[40];
    snprintf(nameless, sizeof(nameless), "/proc/self/fd/%d", fd);
    int result = linkat(AT_FDCWD, nameless, AT_FDCWD, path, AT_SYMLINK_FOLLOW);
    return result < 0 && errno == EEXIST ? replace(nameless, path) : result;
}

int output_file_open(const char *path, bool append, struct output_file *out, struct err *err)
{
    cleanup(output_file_discard) struct output_file file = {0};
    struct stat there;
    if (foreign_link_refuse(path, err) < 0)
        return -ERR_HOST;
    file.path = realpath(path, NULL); /* a link stays one: what it leads to is replaced */
    if (!file.path)
        file.path = strdup(path);
    if (!file.path)
        return cannot_write(path, ENOMEM, err);
    const bool exists = stat(file.path, &there) == 0, regular = !exists || S_ISREG(there.st_mode);
    if (exists && regular && is_database(file.path))
        return err_set(err, ERR_USAGE, "cannot write '%s': it is a database, which nothing is written over; name another file",
                       path);
    cleanup(close_fd) int fd = regular && !append
                                   ? make(&file, exists ? there.st_mode & 0777 : usual_mode())
                                   : open(file.path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOCTTY | (append ? O_APPEND : 0), 0644);
    file.stream = fd >= 0 ? fdopen(fd, append ? "a" : "w") : NULL;
    if (!file.stream)
        return cannot_write(path, errno, err);
    steal_fd(&fd);
    *out = file;
    file = (struct output_file){0};
    return 0;
}

/* What a write failed for, unless something else has failed since: then nothing is known any more. */
static int of_writing(int error)
{
    return error == ENOSPC || error == EDQUOT || error == EFBIG || error == EIO ? error : 0;
}

int output_file_commit(struct output_file *file, struct err *err)
{
    cleanup(close_fd) int fd = file->nameless ? fcntl(fileno(file->stream), F_DUPFD_CLOEXEC, 0) : -1;
    if (file->nameless && fd < 0)
        return cannot_write(file->path, errno, err);
    const bool bad = ferror(file->stream) != 0;
    errno = bad ? of_writing(errno) : 0;
    if (fclose(steal_pointer(&file->stream)) != 0 || bad)
        return cannot_write(file->path, errno, err);
    if ((fd >= 0 && give_name(fd, file->path) < 0) || (file->temporary && rename(file->temporary, file->path) < 0))
        return cannot_write(file->path, errno, err);
    free_pointer(&file->temporary);
    return 0;
}

void output_file_discard(struct output_file *file)
{
    close_file(&file->stream);
    if (file->temporary)
        unlink(file->temporary);
    free_pointer(&file->temporary);
    free_pointer(&file->path);
}
