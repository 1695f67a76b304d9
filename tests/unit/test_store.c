/* test_store.c: the database as a file: what is refused and left as it was, who may write, and what a killed controller leaves. */
#include "results_fixture.h"

#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/text.h"

static void read_whole(const char *path, struct text *out)
{
    cleanup(close_file) FILE *file = fopen(path, "re");
    assert_non_null(file);
    char bytes[4096];
    for (size_t got; (got = fread(bytes, 1, sizeof(bytes), file)) > 0;)
        text_add_bytes(out, bytes, got);
}

static int count_files(const char *path)
{
    DIR *folder = opendir(path);
    assert_non_null(folder);
    int count = 0;
    for (struct dirent *entry; (entry = readdir(folder));)
        count += entry->d_name[0] != '.';
    closedir(folder);
    return count;
}

/* Both ways in refuse `path`, say `expected`, and change no byte and no file. */
static void assert_refused(const struct fixture *fixture, const char *path, const char *expected)
{
    struct stat status;
    cleanup(text_free) struct text before = {0}, after = {0};
    bool regular = stat(path, &status) == 0 && S_ISREG(status.st_mode);
    if (regular)
        read_whole(path, &before);
    int files = count_files(fixture->folder);
    struct err err = {0};
    assert_int_equal(store_check(path, &err), -ERR_HOST);
    if (!strstr(err.text, expected))
        fail_msg("store_check: '%s' is not in '%s'", expected, err.text);
    err = (struct err){0};
    struct store *store = NULL;
    assert_int_equal(store_open(path, NULL, &store, &err), -ERR_HOST);
    if (!strstr(err.text, expected))
        fail_msg("store_open: '%s' is not in '%s'", expected, err.text);
    assert_null(store);
    assert_int_equal(count_files(fixture->folder), files);
    if (regular) {
        read_whole(path, &after);
        assert_int_equal(before.length, after.length);
        assert_memory_equal(before.bytes ? before.bytes : "", after.bytes ? after.bytes : "", before.length);
    }
}

static void write_file(const char *path, const char *text)
{
    cleanup(close_file) FILE *file = fopen(path, "we");
    assert_non_null(file);
    fputs(text, file);
}

static void run_sql(const char *path, const char *text)
{
    struct err err = {0};
    cleanup(sql_cleanup) struct sql *sql = NULL;
    must(sql_open(path, true, &sql, &err), &err);
    must(sql_exec(sql, text, &err), &err);
}

static void a_check_creates_nothing(void **state)
{
    struct fixture *fixture = *state;
    struct err err = {0};
    assert_int_equal(store_check(fixture->path, &err), 0);
    assert_int_equal(count_files(fixture->folder), 0);
}

static void closing_leaves_one_file_of_ours(void **state)
{
    struct fixture *fixture = *state;
    fixture_fill(fixture);
    assert_true(count_files(fixture->folder) > 1); /* with its log */
    fixture_close(fixture);
    assert_int_equal(count_files(fixture->folder), 1);
    cleanup(text_free) struct text bytes = {0};
    read_whole(fixture->path, &bytes);
    assert_memory_equal(bytes.bytes, "SQLite format 3", 16);
    assert_memory_equal(bytes.bytes + 18, "\1\1", 2);     /* no write-ahead log */
    assert_memory_equal(bytes.bytes + 60, "\0\0\0\2", 4); /* user_version */
    assert_memory_equal(bytes.bytes + 68, "Lagg", 4);     /* application_id */
    assert_asked_text(fixture, "PRAGMA integrity_check", "ok");
    assert_asked(fixture, "SELECT count(*) FROM pragma_foreign_key_check", 0);
    assert_asked(fixture, "SELECT count(*) FROM sqlite_schema WHERE type = 'index' AND name = 'span_by_round'", 1);
    assert_int_equal(store_check(fixture->path, NULL), 0);
}

static void an_empty_file_becomes_a_database(void **state)
{
    struct fixture *fixture = *state;
    write_file(fixture->path, "");
    fixture_open(fixture, NULL);
    fixture_close(fixture);
    assert_asked(fixture, "SELECT count(*) FROM schema_migration WHERE version = 2", 1);
}

static void paths_that_cannot_be_are_refused(void **state)
{
    struct fixture *fixture = *state;
    char path[160];
    assert_refused(fixture, "", "is empty");
    assert_refused(fixture, fixture->folder, "it is a folder; name a file in it");
    snprintf(path, sizeof(path), "%s/no/such.db", fixture->folder);
    assert_refused(fixture, path, "mkdir -p");
    snprintf(path, sizeof(path), "%s/pipe", fixture->folder);
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_refused(fixture, path, "not a regular file");
    snprintf(path, sizeof(path), "%s/file", fixture->folder);
    write_file(path, "x");
    snprintf(path, sizeof(path), "%s/file/such.db", fixture->folder);
    assert_refused(fixture, path, "is not a folder");
}

static void files_of_others_are_refused(void **state)
{
    struct fixture *fixture = *state;
    write_file(fixture->path, "name: tiny\nseed: 1\n");
    assert_refused(fixture, fixture->path, "is not an SQLite file");
    unlink(fixture->path);
    run_sql(fixture->path, "CREATE TABLE precious (x); INSERT INTO precious VALUES (1)");
    assert_refused(fixture, fixture->path, "SQLite file of another program (application_id 0)");
    unlink(fixture->path);
    run_sql(fixture->path, "PRAGMA application_id = 252006673");
    assert_refused(fixture, fixture->path, "SQLite file of another program (application_id 252006673)");
}

static void a_newer_version_is_refused(void **state)
{
    struct fixture *fixture = *state;
    fixture_open(fixture, NULL);
    fixture_close(fixture);
    run_sql(fixture->path, "PRAGMA user_version = 3");
    assert_refused(fixture, fixture->path, "it has schema version 3 and this laggard knows versions up to 2; use a newer laggard");
}

/* Root may write anywhere, so root looks as somebody else. */
static void what_is_not_writable_is_refused(void **state)
{
    struct fixture *fixture = *state;
    fixture_open(fixture, NULL);
    fixture_close(fixture);
    uid_t user = geteuid();
    assert_int_equal(chmod(fixture->folder, 0555), 0);
    assert_int_equal(chmod(fixture->path, 0444), 0);
    char path[160];
    snprintf(path, sizeof(path), "%s/new.db", fixture->folder);
    if (user == 0)
        assert_int_equal(seteuid(65534), 0);
    assert_refused(fixture, fixture->path, "make it writable");
    assert_refused(fixture, path, "is not writable");
    if (user == 0)
        assert_int_equal(seteuid(0), 0);
    assert_int_equal(chmod(fixture->folder, 0755), 0);
}

static void a_second_writer_is_refused(void **state)
{
    struct fixture *fixture = *state;
    fixture_fill(fixture);
    struct err err = {0};
    struct store *second = NULL;
    assert_int_equal(store_open(fixture->path, NULL, &second, &err), -ERR_HOST);
    assert_non_null(strstr(err.text, "another run is writing to it"));
    assert_int_equal(store_check(fixture->path, &err), -ERR_HOST);
    char command[320];
    snprintf(command, sizeof(command), "sqlite3 '%s' \"SELECT count(*) FROM trial WHERE status = 'running'\" > '%s/count'",
             fixture->path, fixture->folder);
    assert_int_equal(system(command), 0); /* a reader is welcome */
    cleanup(text_free) struct text count = {0};
    snprintf(command, sizeof(command), "%s/count", fixture->folder);
    read_whole(command, &count);
    assert_string_equal(count.bytes, "1\n");
    assert_asked(fixture, "SELECT count(*) FROM trial WHERE status = 'running'", 1); /* nobody marked it */
    fixture_close(fixture);
    fixture_open(fixture, NULL);
}

/* A child writes, is refused company, and is killed in the middle of a trial: what it committed is there, what it was at is
 * marked. */
static void a_killed_writer_leaves_no_lock_and_a_mark(void **state)
{
    struct fixture *fixture = *state;
    int ready[2];
    assert_int_equal(pipe(ready), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        struct fixture_content content;
        fixture_open(fixture, NULL);
        fixture_campaign(fixture);
        fixture_content(&content, 0);
        fixture_end(fixture, fixture_begin(fixture, 0, 0, ""), &content.end);
        fixture_begin(fixture, 0, 1, "");
        if (write(ready[1], "r", 1) != 1)
            _exit(1);
        for (;;)
            pause();
    }
    char byte;
    close(ready[1]);
    assert_int_equal(read(ready[0], &byte, 1), 1);
    close(ready[0]);
    struct err err = {0};
    assert_int_equal(store_check(fixture->path, &err), -ERR_HOST);
    assert_non_null(strstr(err.text, "another run is writing to it"));
    struct store *store = NULL;
    assert_int_equal(store_open(fixture->path, NULL, &store, &err), -ERR_HOST);
    assert_non_null(strstr(err.text, "another run is writing to it"));
    assert_int_equal(kill(child, SIGKILL), 0);
    assert_int_equal(waitpid(child, NULL, 0), child);
    int interrupted = 0;
    fixture_open(fixture, &interrupted);
    assert_int_equal(interrupted, 1);
    assert_asked_text(fixture, "SELECT group_concat(status, ' ') FROM trials", "finished interrupted");
    assert_asked(fixture, "SELECT count(*) FROM span", FIXTURE_WORKERS * FIXTURE_SPANS);
    fixture_close(fixture);
    assert_int_equal(count_files(fixture->folder), 1);
}

static void a_running_trial_is_interrupted_at_the_next_open(void **state)
{
    struct fixture *fixture = *state;
    int interrupted = -1;
    fixture_open(fixture, &interrupted);
    assert_int_equal(interrupted, 0);
    fixture_campaign(fixture);
    int64_t trial_id = fixture_begin(fixture, 0, 0, "");
    fixture_close(fixture); /* nothing ended the trial */
    assert_asked_text(fixture, "SELECT status FROM trial", "running");
    fixture_open(fixture, &interrupted);
    assert_int_equal(interrupted, 1);
    assert_asked_text(fixture, "SELECT status FROM trials", "interrupted");
    assert_asked_text(fixture, "SELECT reason FROM trials", "the controller ended before this trial did");
    assert_asked(fixture, "SELECT count(*) FROM event WHERE kind = 'interrupted' AND trial_id = 1 AND at_unix_ns > 1e18", 1);
    struct fixture_content content; /* and it can no longer end */
    struct err err = {0};
    fixture_content(&content, 0);
    assert_int_equal(store_trial_end(fixture->store, trial_id, &content.end, &err), -ERR_HOST);
    assert_non_null(strstr(err.text, "is not running there"));
    assert_asked(fixture, "SELECT count(*) FROM span", 0);
}

static void a_second_campaign_is_appended(void **state)
{
    struct fixture *fixture = *state;
    fixture_fill(fixture);
    int64_t first = fixture->campaign_id;
    fixture_close(fixture);
    int interrupted = 0;
    fixture_open(fixture, &interrupted);
    assert_int_equal(interrupted, 1);
    fixture_campaign(fixture);
    assert_true(fixture->campaign_id != first);
    fixture_end(fixture, fixture_begin(fixture, 0, 0, ""), &(struct trial_end){.status = TRIAL_FAILED, .reason = "x"});
    fixture_close(fixture);
    assert_asked(fixture, "SELECT count(*) FROM campaign", 2);
    assert_asked(fixture, "SELECT count(*) FROM trials", 12);
    assert_asked(fixture, "SELECT count(*) FROM cells", 3);
    assert_asked(fixture, "SELECT count(DISTINCT fingerprint) FROM environment", 1);
}

static void every_column_is_described(void **state)
{
    struct fixture *fixture = *state;
    fixture_open(fixture, NULL);
    fixture_close(fixture);
    assert_asked_text(fixture,
                      "SELECT group_concat(t.name || '.' || c.name) FROM sqlite_schema t, pragma_table_info(t.name) c "
                      "LEFT JOIN column_doc d ON d.table_name = t.name AND d.column_name = c.name "
                      "WHERE t.type IN ('table', 'view') AND t.name NOT LIKE 'sqlite%' AND coalesce(d.text, '') = ''",
                      NULL);
    assert_asked_text(
        fixture,
        "SELECT group_concat(t.name) FROM sqlite_schema t LEFT JOIN column_doc d ON d.table_name = t.name AND "
        "d.column_name = '' WHERE t.type IN ('table', 'view') AND t.name NOT LIKE 'sqlite%' AND coalesce(d.text, '') = ''",
        NULL);
    assert_asked_text(fixture,
                      "SELECT group_concat(table_name || '.' || column_name) FROM column_doc d WHERE column_name <> '' AND "
                      "NOT EXISTS (SELECT 1 FROM pragma_table_info(d.table_name) c WHERE c.name = d.column_name)",
                      NULL);
    assert_asked(fixture, "SELECT count(*) >= 9 FROM sqlite_schema WHERE type = 'view'", 1);
    /* What the end of a name says of the unit, the description says, too. */
    assert_asked_text(fixture,
                      "WITH named (ending, unit) AS (VALUES ('*_unix_ns', 'ns since 1970'), ('*_ns', 'ns'), ('*_bytes', 'bytes'), "
                      "('*_bps', 'bit/s'), ('*_ratio', 'ratio'), ('*_per_second', 'bytes/s')) "
                      "SELECT group_concat(d.table_name || '.' || d.column_name) FROM column_doc d WHERE d.unit <> "
                      "(SELECT n.unit FROM named n WHERE d.column_name GLOB n.ending ORDER BY length(n.ending) DESC LIMIT 1)",
                      NULL);
}

static void the_fixed_rows_agree_with_the_program(void **state)
{
    struct fixture *fixture = *state;
    fixture_open(fixture, NULL);
    fixture_close(fixture);
    assert_asked(fixture, "SELECT count(*) FROM span_kind", SPAN_COUNT);
    for (int kind = 0; kind < SPAN_COUNT; kind++) {
        char query[96];
        snprintf(query, sizeof(query), "SELECT name FROM span_kind WHERE kind = %d", kind);
        assert_asked_text(fixture, query, span_names[kind]);
    }
    assert_asked(fixture, "SELECT min(value_count) FROM median_rank", 6);
    assert_asked(fixture, "SELECT low_rank FROM median_rank WHERE value_count = 10", 2);
    assert_asked(fixture, "SELECT coverage_ratio FROM median_rank WHERE value_count = 6", 0.96875);
    struct fixture_content content; /* every status and every verdict passes the table's checks */
    fixture_open(fixture, NULL);
    fixture_campaign(fixture);
    for (int fidelity = 0; fidelity < FIDELITY_COUNT; fidelity++) {
        fixture_content(&content, 0);
        content.end.fidelity = (enum fidelity)fidelity;
        fixture_end(fixture, fixture_begin(fixture, 0, fidelity, ""), &content.end);
    }
    for (int status = 0; status < TRIAL_STATUS_COUNT; status++)
        fixture_end(fixture, fixture_begin(fixture, 0, 10 + status, ""),
                    &(struct trial_end){.status = (enum trial_status)status, .reason = "made up"});
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_check_creates_nothing),
        TEST(closing_leaves_one_file_of_ours),
        TEST(an_empty_file_becomes_a_database),
        TEST(paths_that_cannot_be_are_refused),
        TEST(files_of_others_are_refused),
        TEST(a_newer_version_is_refused),
        TEST(what_is_not_writable_is_refused),
        TEST(a_second_writer_is_refused),
        TEST(a_killed_writer_leaves_no_lock_and_a_mark),
        TEST(a_running_trial_is_interrupted_at_the_next_open),
        TEST(a_second_campaign_is_appended),
        TEST(every_column_is_described),
        TEST(the_fixed_rows_agree_with_the_program),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
