/* capture_files.c: where the files of captures are, and what they are called.
 *
 * They are opened by the controller, outside the network and as the user who runs it, and only their descriptors go inside. */
#include "harness/capture_files.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"

int capture_files_check(const char *directory, struct err *err)
{
    char path[PATH_MAX];
    if (snprintf(path, sizeof(path), "%s", directory) >= (int)sizeof(path))
        return err_set_errno(err, ERR_HOST, ENAMETOOLONG, "captures cannot be written to '%s'", directory);
    struct stat status;
    while (stat(path, &status) < 0) { /* up to what exists */
        char *slash = strrchr(path, '/');
        if (errno == ENOENT && lstat(path, &status) == 0)
            return err_set(
                err, ERR_HOST,
                "captures cannot be written to '%s': '%s' is a link that leads nowhere; make the directory that it leads "
                "to, or remove it",
                directory, path);
        if (errno != ENOENT || strcmp(path, ".") == 0 || strcmp(path, "/") == 0)
            return err_set_errno(err, ERR_HOST, errno, "captures cannot be written to '%s'", directory);
        if (slash && slash != path)
            *slash = 0;
        else
            strcpy(path, slash ? "/" : ".");
    }
    if (!S_ISDIR(status.st_mode))
        return err_set(err, ERR_HOST, "captures cannot be written to '%s': '%s' is no directory", directory, path);
    char probe[PATH_MAX + 32]; /* permissions do not tell: root may write everywhere, and /proc takes no files */
    snprintf(probe, sizeof(probe), "%s/.laggard-%d", path, (int)getpid());
    if (mkdir(probe, 0700) < 0 || rmdir(probe) < 0)
        return err_set_errno(err, ERR_HOST, errno, "captures cannot be written to '%s' (choose another place: capture.directory)",
                             directory);
    return 0;
}

int capture_files_directory(const char *directory, int *directory_fd, struct err *err)
{
    char path[PATH_MAX];
    if (snprintf(path, sizeof(path), "%s", directory) >= (int)sizeof(path))
        return err_set_errno(err, ERR_HOST, ENAMETOOLONG, "cannot make the directory '%s' for captures", directory);
    for (char *slash = strchr(path + 1, '/');; slash = strchr(slash + 1, '/')) {
        if (slash)
            *slash = 0;
        if (mkdir(path, 0755) < 0 && errno != EEXIST)
            return err_set_errno(err, ERR_HOST, errno, "cannot make the directory '%s' for captures", path);
        if (!slash)
            break;
        *slash = '/';
    }
    int fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return err_set_errno(err, ERR_HOST, errno, "cannot open the directory '%s' for captures", directory);
    *directory_fd = fd;
    return 0;
}

const char *capture_files_name(const struct capture_file_name *name, struct arena *arena)
{
    time_t seconds = name->started_unix_ns / NS_PER_S;
    struct tm utc = {0};
    char stamp[32] = "";
    gmtime_r(&seconds, &utc);
    strftime(stamp, sizeof(stamp), "%Y%m%dT%H%M%S", &utc);
    const char *order = name->order < 0 ? "exec" : arena_printf(arena, "%04d", name->order);
    return arena_printf(arena, "%s-%s-%s.%03dZ-%s-%s.pcap", name->campaign, order, stamp,
                        (int)(name->started_unix_ns % NS_PER_S / NS_PER_MS), name->link, name->direction);
}

int capture_files_open(int directory_fd, const char *directory, const char *name, int *fd, struct err *err)
{
    int opened = openat(directory_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
    if (opened < 0)
        return err_set_errno(err, ERR_HOST, errno, "cannot make the capture file '%s/%s'%s", directory, name,
                             errno == EEXIST   ? " (it is never written over: move it away)"
                             : errno == EMFILE ? " (raise the limit of open files: ulimit -n)"
                                               : "");
    *fd = opened;
    return 0;
}
