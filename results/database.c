/* results/database.c: looks at a file's first bytes before SQLite does, so that the sentence says what the
 * file is; see database.h. */
#include "results/database.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/nearest_file.h"
#include "base/text.h"
#include "results/store_internal.h"

static int check_kind(const char *path, struct err *err)
{
    struct stat status;
    if (path[0] == 0)
        return err_set(err, ERR_USAGE, "the name of the database is empty; name a file that `laggard run` made");
    if (stat(path, &status) < 0 && (errno == ENOENT || errno == ENOTDIR))
        return err_set(err, ERR_USAGE, "there is no database '%s'%s; `laggard run` makes one, NAME.db unless --db says otherwise",
                       path, nearest_file(path, ".db").text);
    if (stat(path, &status) < 0)
        return err_set_errno(err, ERR_HOST, errno, "cannot open the database '%s'", path);
    if (S_ISDIR(status.st_mode))
        return err_set(err, ERR_USAGE, "cannot read '%s' as a database: it is a folder; name the file in it", path);
    if (!S_ISREG(status.st_mode))
        return err_set(err, ERR_USAGE, "cannot read '%s' as a database: it is not a regular file", path);
    return 0;
}

int database_refuse_foreign(const char *path, struct err *err)
{
    static const char *const endings[] = {"-wal", "-journal"};
    struct stat own, beside;
    cleanup(free_pointer) char *file = realpath(path, NULL);
    if (!file || stat(file, &own) < 0 || own.st_mode & (S_IWGRP | S_IWOTH)) /* then others may write to it anyway */
        return 0;
    for (size_t i = 0; i < sizeof(endings) / sizeof(endings[0]); i++) {
        cleanup(text_free) struct text name = {0};
        text_printf(&name, "%s%s", file, endings[i]);
        if (lstat(name.bytes, &beside) < 0 || beside.st_uid == geteuid() || beside.st_uid == own.st_uid || beside.st_uid == 0)
            continue;
        return err_set(err, ERR_HOST,
                       "cannot use the database '%s': user %u, who may not write to it, has made '%s', from which SQLite would "
                       "change it; remove that file, or copy the database alone into a folder where nobody else makes files",
                       path, (unsigned)beside.st_uid, name.bytes);
    }
    return 0;
}

/* SQLite's file format: the magic at 0, user_version at 60, application_id at 68. */
static int check_header(const char *path, uint32_t *schema_version, struct err *err)
{
    uint8_t header[100] = {0};
    cleanup(close_fd) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (fd < 0)
        return err_set_errno(err, ERR_HOST, errno, "cannot open the database '%s'", path);
    ssize_t length = pread(fd, header, sizeof(header), 0);
    if (length < 0)
        return err_set_errno(err, ERR_HOST, errno, "cannot read the database '%s'", path);
    if (length == 0)
        return err_set(err, ERR_USAGE, "the database '%s' is empty: no campaign has been stored there", path);
    if ((size_t)length < sizeof(header) || memcmp(header, "SQLite format 3", 16) != 0)
        return err_set(err, ERR_USAGE, "cannot read '%s' as a database: it is not an SQLite file; name one that `laggard run` made",
                       path);
    uint32_t version = store_big_endian(header + 60), application_id = store_big_endian(header + 68);
    if (application_id != STORE_APPLICATION_ID && application_id != 0)
        return err_set(err, ERR_USAGE,
                       "cannot read '%s': it is an SQLite file of another program (application_id %u); name one that `laggard run` "
                       "made",
                       path, application_id);
    if (application_id == STORE_APPLICATION_ID && version > STORE_VERSION)
        return err_set(
            err, ERR_USAGE,
            "cannot read the database '%s': it has schema version %u and this laggard knows versions up to %d; use a newer "
            "laggard",
            path, version, STORE_VERSION);
    *schema_version = application_id == STORE_APPLICATION_ID ? version : 0;
    return 0;
}

int database_refuse_older(const char *path, uint32_t version, enum err_kind kind, struct err *err)
{
    return err_set(err, kind,
                   "cannot use the database '%s': an earlier laggard made it, with schema version %u, and this one has version %d; "
                   "bring it there with `laggard migrate '%s'`, which keeps a copy",
                   path, version, STORE_VERSION, path);
}

/* The header in the file may be behind that in the log, where a campaign runs: now SQLite's word counts. */
static int check_content(struct sql *sql, struct err *err)
{
    int64_t application_id = 0, version = 0, objects = 0;
    if (sql_ask_integer(sql, "SELECT count(*) FROM sqlite_schema", &objects, err) < 0 ||
        sql_ask_integer(sql, "PRAGMA application_id", &application_id, err) < 0 ||
        sql_ask_integer(sql, "PRAGMA user_version", &version, err) < 0)
        return -ERR_HOST;
    if (application_id == STORE_APPLICATION_ID && version == STORE_VERSION)
        return 0;
    if (application_id == STORE_APPLICATION_ID && version > 0 && version < STORE_VERSION)
        return database_refuse_older(sql_path(sql), (uint32_t)version, ERR_USAGE, err);
    return err_set(
        err, ERR_USAGE,
        "cannot read '%s': it is no database of laggard (application_id %lld, schema version %lld); name one that `laggard "
        "run` made",
        sql_path(sql), (long long)application_id, (long long)version);
}

int database_version(const char *path, uint32_t *version, struct err *err)
{
    int result = check_kind(path, err);
    if (result == 0)
        result = database_refuse_foreign(path, err);
    return result == 0 ? check_header(path, version, err) : result;
}

int database_open(const char *path, struct sql **out, struct err *err)
{
    cleanup(sql_cleanup) struct sql *sql = NULL;
    uint32_t version;
    int result = database_version(path, &version, err);
    if (result == 0)
        result = sql_open_read(path, &sql, err);
    if (result == 0)
        result = check_content(sql, err);
    if (result == 0)
        result = sql_exec(sql, "BEGIN", err); /* one moment of the file for all that is read, also while a campaign runs */
    if (result == 0)
        *out = steal_pointer(&sql);
    return result;
}

int database_check_whole(struct sql *sql, struct err *err)
{
    cleanup(sql_finish_cleanup) struct sql_statement *check = NULL;
    if (sql_prepare(sql, "PRAGMA quick_check(1)", &check, err) < 0)
        return -ERR_HOST;
    int found = sql_next(check, err);
    if (found < 0)
        return -ERR_HOST;
    const char *said = found > 0 ? sql_text(check, 0) : NULL;
    if (said && strcmp(said, "ok") == 0)
        return 0;
    const char *line = said && said[0] == '*' ? strchr(said, '\n') : NULL; /* "*** in database main ***" comes first */
    return err_set(err, ERR_HOST,
                   "the database '%s' is damaged (%s); restore it from a copy, or recover what is left with: sqlite3 FILE .recover",
                   sql_path(sql),
                   line   ? line + 1
                   : said ? said
                          : "SQLite says nothing");
}
