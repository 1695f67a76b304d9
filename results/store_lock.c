/* results/store_lock.c: looks at a path before SQLite does, and holds the lock that makes this process the only writer.
 *
 * The lock is an open-file-description lock on one byte of the database file itself, far beyond its end and apart from the bytes at
 * 1 GiB that SQLite locks. The kernel drops it when the process ends in any way, so nothing stale can remain, and readers never see
 * it. SQLite's own locks are traditional record locks, which a process loses as soon as it closes any descriptor of the file.
 * Therefore the descriptor here is opened before SQLite's and closed after it, and a file that this process already writes is
 * recognised by its inode (the list `held`), without being opened a second time. */
#include "results/store_lock.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/foreign_link.h"
#include "results/database.h"
#include "results/store_internal.h"

static const off_t WRITER_BYTE = (off_t)1 << 40;

struct store_lock {
    int fd;
    dev_t device, log_device;
    ino_t inode, log_inode; /* log_inode 0: no log was seen */
    bool created;
    struct store_lock *next;
};

static struct store_lock *held; /* files that this process writes; the controller's one thread opens and closes them */

static int in_use(const char *path, struct err *err)
{
    return err_set(
        err, ERR_HOST,
        "cannot write to the database '%s': another run is writing to it; wait until it has ended, or choose another file "
        "(laggard run: --db)",
        path);
}

static int check_folder(const char *path, struct err *err)
{
    char copy[PATH_MAX]; /* dirname() writes into it */
    if ((size_t)snprintf(copy, sizeof(copy), "%s", path) >= sizeof(copy))
        return err_set_errno(err, ERR_HOST, ENAMETOOLONG, "cannot create the database '%s'", path);
    const char *folder = dirname(copy);
    struct stat status;
    if (stat(folder, &status) < 0 && errno == ENOENT)
        return err_set(err, ERR_HOST,
                       "cannot create the database '%s': the folder '%s' does not exist; create it with: mkdir -p '%s'", path,
                       folder, folder);
    if (stat(folder, &status) < 0)
        return err_set_errno(err, ERR_HOST, errno, "cannot create the database '%s': the folder '%s' cannot be reached", path,
                             folder);
    if (!S_ISDIR(status.st_mode))
        return err_set(err, ERR_HOST,
                       "cannot create the database '%s': '%s' is not a folder; choose another place (laggard run: --db)", path,
                       folder);
    if (faccessat(AT_FDCWD, folder, W_OK | X_OK, AT_EACCESS) < 0)
        return err_set_errno(
            err, ERR_HOST, errno,
            "cannot write the database '%s' (choose another place; laggard run: --db): the folder '%s' is not writable", path,
            folder);
    return 0;
}

static int check_kind(const char *path, const struct stat *status, struct err *err)
{
    if (S_ISDIR(status->st_mode))
        return err_set(err, ERR_HOST, "cannot use '%s' as the database: it is a folder; name a file in it, such as '%s/results.db'",
                       path, path);
    if (!S_ISREG(status->st_mode))
        return err_set(err, ERR_HOST,
                       "cannot use '%s' as the database: it is not a regular file; choose another one (laggard run: --db)", path);
    return 0;
}

/* SQLite's file format: the magic at 0, user_version at 60, application_id at 68; at 100 the root page of the schema: kind 13 (a
 * leaf) and at 103 the number of its rows. */
static int check_content(const char *path, int fd, bool older_too, struct err *err)
{
    uint8_t header[108] = {0};
    ssize_t length = pread(fd, header, sizeof(header), 0);
    if (length < 0)
        return err_set_errno(err, ERR_HOST, errno, "cannot read the database '%s'", path);
    if (length == 0)
        return 0;
    if ((size_t)length < sizeof(header) || memcmp(header, "SQLite format 3", 16) != 0)
        return err_set(
            err, ERR_HOST,
            "cannot use '%s' as the database: it exists and is not an SQLite file; choose another name (laggard run: --db), or "
            "move it away",
            path);
    uint32_t version = store_big_endian(header + 60), application_id = store_big_endian(header + 68);
    bool empty = header[100] == 13 && header[103] == 0 && header[104] == 0;
    if (application_id == 0 && empty)
        return 0;
    if (application_id != STORE_APPLICATION_ID)
        return err_set(
            err, ERR_HOST,
            "cannot use '%s' as the database: it is an SQLite file of another program (application_id %u); choose another "
            "name (laggard run: --db)",
            path, application_id);
    if (version > STORE_VERSION)
        return err_set(
            err, ERR_HOST,
            "cannot write to the database '%s': it has schema version %u and this laggard knows versions up to %d; use a "
            "newer laggard, or another file (laggard run: --db)",
            path, version, STORE_VERSION);
    if (version < STORE_VERSION && !older_too)
        return database_refuse_older(path, version, ERR_HOST, err);
    return 0;
}

static bool is_held(const struct stat *status)
{
    for (const struct store_lock *lock = held; lock; lock = lock->next)
        if (lock->device == status->st_dev && lock->inode == status->st_ino)
            return true;
    return false;
}

static int check(const char *path, bool older_too, struct err *err)
{
    struct stat status;
    if (path[0] == '\0')
        return err_set(err, ERR_HOST, "the name of the database is empty; give a file name (laggard run: --db)");
    if (foreign_link_refuse(path, err) < 0)
        return -ERR_HOST;
    if (stat(path, &status) < 0) {
        if (errno != ENOENT && errno != ENOTDIR)
            return err_set_errno(err, ERR_HOST, errno, "cannot use '%s' as the database", path);
        return check_folder(path, err);
    }
    if (check_kind(path, &status, err) < 0)
        return -ERR_HOST;
    if (database_refuse_foreign(path, err) < 0)
        return -ERR_HOST;
    if (is_held(&status))
        return in_use(path, err);
    if (faccessat(AT_FDCWD, path, R_OK | W_OK, AT_EACCESS) < 0)
        return err_set_errno(err, ERR_HOST, errno,
                             "cannot write to the database '%s' (make it writable, or choose another; laggard run: --db)", path);
    cleanup(close_fd) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (fd < 0)
        return err_set_errno(err, ERR_HOST, errno, "cannot open the database '%s'", path);
    if (check_content(path, fd, older_too, err) < 0)
        return -ERR_HOST;
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = WRITER_BYTE, .l_len = 1};
    if (fcntl(fd, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK)
        return in_use(path, err);
    return check_folder(path, err);
}

int store_lock_check(const char *path, struct err *err)
{
    return check(path, false, err);
}

static int take(const char *path, bool older_too, struct store_lock **out, struct err *err)
{
    if (check(path, older_too, err) < 0)
        return -ERR_HOST;
    bool created = access(path, F_OK) < 0;
    cleanup(close_fd) int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOCTTY, 0644);
    struct stat status;
    if (fd < 0 && errno == ENOENT) /* its own folder was looked at */
        return err_set(err, ERR_HOST,
                       "cannot create the database '%s': it is a link that leads into a folder that does not exist; create that "
                       "folder, or remove the link",
                       path);
    if (fd < 0 || fstat(fd, &status) < 0)
        return err_set_errno(err, ERR_HOST, errno, "cannot open the database '%s' for writing", path);
    struct flock range = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = WRITER_BYTE, .l_len = 1};
    if (fcntl(fd, F_OFD_SETLK, &range) < 0) {
        if (errno == EAGAIN || errno == EACCES)
            return in_use(path, err);
        return err_set_errno(err, ERR_HOST, errno,
                             "cannot lock the database '%s' (its file system has no locks: choose a local one; laggard run: --db)",
                             path);
    }
    struct store_lock *lock = malloc(sizeof(*lock));
    if (!lock)
        return err_set(err, ERR_HOST, "cannot open the database '%s': out of memory", path);
    *lock =
        (struct store_lock){.fd = steal_fd(&fd), .device = status.st_dev, .inode = status.st_ino, .created = created, .next = held};
    held = *out = lock;
    return 0;
}

int store_lock_take(const char *path, struct store_lock **lock, struct err *err)
{
    return take(path, false, lock, err);
}

int store_lock_take_older(const char *path, struct store_lock **lock, struct err *err)
{
    return take(path, true, lock, err);
}

void store_lock_free(struct store_lock *lock)
{
    if (!lock)
        return;
    for (struct store_lock **link = &held; *link; link = &(*link)->next) {
        if (*link == lock) {
            *link = lock->next;
            break;
        }
    }
    close(lock->fd);
    free(lock);
}

int store_lock_verify(const struct store_lock *lock, const char *path, struct err *err)
{
    struct stat status;
    if (stat(path, &status) == 0 && status.st_dev == lock->device && status.st_ino == lock->inode)
        return 0;
    return err_set(
        err, ERR_HOST,
        "the database '%s' was removed, renamed or replaced while this run was writing to it; run again, and leave it in "
        "its place until the run has ended",
        path);
}

static int look_at(const char *path, const char *suffix, struct stat *status)
{
    char name[PATH_MAX];
    int length = snprintf(name, sizeof(name), "%s%s", path, suffix);
    return length < (int)sizeof(name) ? stat(name, status) : -1;
}

void store_lock_note_log(struct store_lock *lock, const char *path)
{
    struct stat status;
    if (look_at(path, "-wal", &status) == 0) {
        lock->log_device = status.st_dev;
        lock->log_inode = status.st_ino;
    }
}

void store_lock_remove_log(const struct store_lock *lock, const char *path)
{
    struct stat log, file;
    char name[PATH_MAX];
    if (store_lock_verify(lock, path, NULL) == 0 || look_at(path, "-wal", &log) < 0 || log.st_ino != lock->log_inode ||
        log.st_dev != lock->log_device || fstat(lock->fd, &file) < 0 || (file.st_nlink > 0 && log.st_size > 0))
        return;
    snprintf(name, sizeof(name), "%s-wal", path);
    unlink(name);
    snprintf(name, sizeof(name), "%s-shm", path);
    unlink(name);
}

char *store_lock_created(const struct store_lock *lock, const char *path)
{
    return lock->created ? realpath(path, NULL) : NULL;
}

bool store_on_network(const char *path)
{
    static const uint32_t network[] = {NFS_SUPER_MAGIC,  SMB_SUPER_MAGIC,  CIFS_SUPER_MAGIC, SMB2_SUPER_MAGIC,
                                       V9FS_MAGIC,       FUSE_SUPER_MAGIC, CEPH_SUPER_MAGIC, AFS_SUPER_MAGIC,
                                       CODA_SUPER_MAGIC, 0x0bd00bd0 /* Lustre */};
    struct statfs status;
    if (statfs(path, &status) < 0)
        return false;
    for (size_t i = 0; i < sizeof(network) / sizeof(network[0]); i++)
        if ((uint32_t)status.f_type == network[i])
            return true;
    return false;
}
