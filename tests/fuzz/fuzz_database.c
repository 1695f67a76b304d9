/* fuzz_database.c: damaged databases. Either bytes of the file are damaged (a page of it, its end), or its values are such as no
 * campaign would store: any number, any text, nothing. What reads it says a sentence or an answer, and nothing else happens.
 *
 * A database takes milliseconds, so that far fewer inputs run here than in other targets. */
#define FUZZ_LEAST 60
#include "results/database.h"

#include "base/arena.h"
#include "base/text.h"
#include "harness/gate_rules.h"
#include "results/baselines.h"
#include "results/export.h"
#include "results/gate.h"
#include "results/gate_output.h"
#include "results/history.h"
#include "results/plot.h"
#include "results/query.h"
#include "results/report.h"
#include "results/stored_campaign.h"
#include "tests/fuzz/fuzz.h"
#include "tests/unit/results_fixture.h"

enum { PAGE_BYTES = 4096, COLUMNS_MOST = 1000, READERS = 9 };

static struct fixture *fixture; /* its folder */
static uint8_t *whole;          /* the bytes of a database that is in order */
static size_t whole_length;
static struct column {
    char table[64], name[64];
} columns[COLUMNS_MOST];
static int column_count;

static void remove_folder(void)
{
    void *state = fixture;
    fixture_teardown(&state);
    free(whole);
}

static void read_columns(struct fuzz *fuzz)
{
    struct err err = {0};
    cleanup(sql_cleanup) struct sql *sql = NULL;
    struct sql_statement *rows = NULL;
    FUZZ_CHECK(fuzz, database_open(fixture->path, &sql, &err) == 0);
    FUZZ_CHECK(fuzz, sql_prepare(sql,
                                 "SELECT t.name, c.name FROM sqlite_schema t, pragma_table_info(t.name) c WHERE t.type = 'table' "
                                 "AND t.name NOT LIKE 'sqlite%' AND t.name IN (SELECT name FROM sqlite_schema)",
                                 &rows, &err) == 0);
    while (column_count < COLUMNS_MOST && sql_next(rows, &err) > 0) {
        struct column *column = &columns[column_count++];
        snprintf(column->table, sizeof(column->table), "%s", sql_text(rows, 0));
        snprintf(column->name, sizeof(column->name), "%s", sql_text(rows, 1));
    }
}

static void prepare(struct fuzz *fuzz)
{
    void *state = NULL;
    FUZZ_CHECK(fuzz, fixture_setup(&state) == 0);
    fixture = state;
    atexit(remove_folder);
    fixture_fill(fixture);
    fixture_close(fixture);
    FILE *file = fopen(fixture->path, "r");
    FUZZ_CHECK(fuzz, file && fseek(file, 0, SEEK_END) == 0 && ftell(file) > 0);
    whole_length = (size_t)ftell(file);
    whole = malloc(whole_length);
    rewind(file);
    FUZZ_CHECK(fuzz, whole && fread(whole, 1, whole_length, file) == whole_length);
    fclose(file);
    read_columns(fuzz);
    FUZZ_CHECK(fuzz, column_count > 0);
}

static void write_file(struct fuzz *fuzz, const uint8_t *bytes, size_t length)
{
    FILE *file = fopen(fixture->path, "w");
    FUZZ_CHECK(fuzz, file && fwrite(bytes, 1, length, file) == length);
    FUZZ_CHECK(fuzz, fclose(file) == 0);
}

static void damage_bytes(struct fuzz *fuzz)
{
    static uint8_t page[PAGE_BYTES];
    uint8_t *bytes = malloc(whole_length);
    FUZZ_CHECK(fuzz, bytes);
    memcpy(bytes, whole, whole_length);
    for (size_t damaged = 1 + fuzz_below(fuzz, 3); damaged > 0; damaged--) {
        const size_t at = PAGE_BYTES * (fuzz_below(fuzz, 3) ? fuzz_below(fuzz, whole_length / PAGE_BYTES) : 0);
        memcpy(page, bytes + at, PAGE_BYTES);
        const size_t length = fuzz_mutate(fuzz, page, PAGE_BYTES, PAGE_BYTES);
        memcpy(bytes + at, page, length);
    }
    write_file(fuzz, bytes, fuzz_below(fuzz, 4) ? whole_length : fuzz_below(fuzz, whole_length + 1));
    free(bytes);
}

static void damage_values(struct fuzz *fuzz)
{
    static const char *const values[] = {"NULL",
                                         "0",
                                         "-1",
                                         "1",
                                         "9223372036854775807",
                                         "-9223372036854775808",
                                         "9e999",
                                         "-9e999",
                                         "1e-300",
                                         "1.5",
                                         "4294967296",
                                         "2147483648",
                                         "''",
                                         "'<&\"''>'",
                                         "char(27, 10, 0, 133)",
                                         "zeroblob(3)",
                                         "x'ff80fe'",
                                         "'name: t'",
                                         "'name: [}'",
                                         "CAST(x'c3285c6e22' AS TEXT)",
                                         "replace(hex(zeroblob(500)), '0', 'long ')",
                                         "rowid",
                                         "-rowid"};
    struct err err = {0};
    cleanup(sql_cleanup) struct sql *sql = NULL;
    write_file(fuzz, whole, whole_length);
    FUZZ_CHECK(fuzz, sql_open(fixture->path, false, &sql, &err) == 0);
    FUZZ_CHECK(fuzz, sql_exec(sql,
                              "PRAGMA synchronous = OFF; PRAGMA journal_mode = MEMORY; PRAGMA ignore_check_constraints = ON; "
                              "PRAGMA foreign_keys = OFF",
                              &err) == 0);
    for (size_t damaged = 1 + fuzz_below(fuzz, 3); damaged > 0; damaged--) {
        const struct column *column = &columns[fuzz_below(fuzz, (size_t)column_count)];
        cleanup(text_free) struct text statement = {0};
        text_printf(&statement, "UPDATE OR REPLACE \"%s\" SET \"%s\" = %s WHERE rowid %% %zu = 0", column->table, column->name,
                    values[fuzz_below(fuzz, sizeof(values) / sizeof(values[0]))], 1 + fuzz_below(fuzz, 3));
        (void)sql_exec(sql, statement.bytes, &err); /* many a column refuses many a value */
    }
}

/* ---- readers ---- */

static int read_gate(struct sql *sql, struct arena *arena, struct text *out, struct err *err)
{
    static const struct gate_threshold thresholds[] = {{.text = "round_time_ns.p50 <= 25ms",
                                                        .metric = "round_time_ns.p50",
                                                        .lower = true,
                                                        .form = GATE_ABSOLUTE,
                                                        .number = 25e6,
                                                        .alpha = 0.05,
                                                        .place = "t:1:1"},
                                                       {.text = "accuracy >= baseline * 0.9",
                                                        .metric = "accuracy",
                                                        .form = GATE_RATIO,
                                                        .number = 0.9,
                                                        .alpha = 0.05,
                                                        .place = "t:2:1"}};
    struct gate_rules rules = {.thresholds = thresholds, .threshold_count = 2};
    const struct gate_rules *own = NULL;
    struct gate_data data;
    struct gate_result result;
    int status = gate_data_read(sql, 0, arena, &data, err);
    if (status == 0 && data.file_text)
        (void)gate_rules_of_campaign(data.file_path ? data.file_path : "t", data.file_text, arena, &own, &(struct err){0});
    const struct gate_question question = {.rules = own ? own : &rules, .campaign = &data, .baseline = &data, .now_unix_ns = 1};
    if (status == 0)
        status = gate_judge(&question, arena, &result, err);
    if (status == 0)
        gate_print_json(&result, out);
    return status;
}

static int read_stored(struct arena *arena, struct err *err)
{
    struct store *store = NULL;
    struct stored_campaign campaign = {0};
    int status = store_open_existing(fixture->path, &store, err);
    if (status == 0)
        status = stored_campaign_read(store, "tiny", arena, &campaign, err);
    return store ? store_close_after(store, status, err) : status;
}

static int read_pictures(struct fuzz *fuzz, struct sql *sql, struct err *err)
{
    int count = 0, status = 0;
    while (plot_kinds[count].name)
        count++;
    const struct plot_kind *kind = &plot_kinds[fuzz_below(fuzz, (size_t)count)];
    cleanup(picture_free) struct picture picture = {0};
    struct plot_asked asked = {.round = -1};
    status = plot_campaign(sql, 0, &asked.campaign_id, err);
    return status == 0 ? kind->draw(sql, &asked, &picture, err) : status;
}

static int read_with(struct fuzz *fuzz, struct sql *sql, struct err *err)
{
    cleanup(arena_cleanup) struct arena *arena = arena_new();
    cleanup(text_free) struct text out = {0};
    FILE *sink = fopen("/dev/null", "w");
    int status = 0, queries = 0;
    struct history history = {0};
    FUZZ_CHECK(fuzz, sink);
    while (canned_queries[queries].name)
        queries++;
    switch (fuzz_below(fuzz, READERS)) {
    case 0:
    case 1:
        status = query_print(sql, canned_queries[fuzz_below(fuzz, (size_t)queries)].sql,
                             (enum query_format)fuzz_below(fuzz, QUERY_FORMAT_COUNT), sink, err);
        break;
    case 2:
        status = report_write(sql, &(struct report_asked){.no_plots = true}, &out, err);
        break;
    case 3:
        status = read_gate(sql, arena, &out, err);
        break;
    case 4:
        status = history_read(sql, &(struct history_question){.rule = {.alpha = 0.05}}, arena, &history, err);
        if (status == 0)
            history_print_json(&history, &out);
        break;
    case 5:
        status = export_trace(sql, 0, (enum trace_form)fuzz_below(fuzz, TRACE_FORM_COUNT), sink, err);
        break;
    case 6:
        status = export_openmetrics(sql, 0, sink, err);
        break;
    case 7:
        status = read_pictures(fuzz, sql, err);
        break;
    default:
        status = baselines_show(sql, &out, err);
    }
    fclose(sink);
    return status;
}

static void fuzz_one(struct fuzz *fuzz)
{
    if (!fixture)
        prepare(fuzz);
    struct err err = {0};
    if (fuzz->bytes || fuzz_below(fuzz, 2))
        damage_bytes(fuzz);
    else
        damage_values(fuzz);
    struct sql *sql = NULL;
    int status = database_open(fixture->path, &sql, &err);
    FUZZ_CHECK(fuzz, (status == 0) == (sql != NULL) && (status == 0 || err.text[0]));
    if (status == 0) {
        status = read_with(fuzz, sql, &err);
        FUZZ_CHECK(fuzz, status >= 0 || err.text[0]);
        fuzz->accepted += status >= 0;
        sql_cleanup(&sql);
    }
    if (fuzz_below(fuzz, 8) == 0) {
        cleanup(arena_cleanup) struct arena *arena = arena_new();
        err = (struct err){0};
        FUZZ_CHECK(fuzz, read_stored(arena, &err) >= 0 || err.text[0]);
    }
}

FUZZ_MAIN("database")
