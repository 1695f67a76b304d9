/* output_file.c: files that are written beside their place and moved there; see output_file.h. */
#include "harness/output_file.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdlib.h>
#include <string.h>
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

/* A file beside `path`, with the rights that the one of this name has or would get. */
static int make_beside(const char *path, mode_t mode, char **temporary)
{
    cleanup(text_free) struct text name = {0};
    text_printf(&name, "%s.XXXXXX", path);
    int fd = mkostemp(name.bytes, O_CLOEXEC);
    if (fd < 0)
        return -1;
    *temporary = steal_pointer(&name.bytes);
    return fchmod(fd, mode) < 0 ? (close(fd), -1) : fd;
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
                                   ? make_beside(file.path, exists ? there.st_mode & 0777 : usual_mode(), &file.temporary)
                                   : open(file.path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOCTTY | (append ? O_APPEND : 0), 0644);
    file.stream = fd >= 0 ? fdopen(fd, append ? "a" : "w") : NULL;
    if (!file.stream)
        return cannot_write(path, errno, err);
    steal_fd(&fd);
    *out = file;
    file = (struct output_file){0};
    return 0;
}

int output_file_commit(struct output_file *file, struct err *err)
{
    const bool bad = ferror(file->stream) != 0;
    if (fclose(steal_pointer(&file->stream)) != 0 || bad || (file->temporary && rename(file->temporary, file->path) < 0))
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
