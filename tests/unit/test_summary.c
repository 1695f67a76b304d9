/* test_summary.c: the closing table, for people and for programs. */
#include "results_fixture.h"

#include "base/text.h"
#include "results/summary.h"

static void counts_by_state(void **state)
{
    struct fixture *fixture = *state;
    struct err err = {0};
    struct summary_counts counts;
    fixture_fill(fixture);
    must(summary_counts(fixture->store, fixture->campaign_id, &counts, &err), &err);
    assert_int_equal(counts.trials, 11);
    assert_int_equal(counts.finished, 9);
    assert_int_equal(counts.failed, 1);
    assert_int_equal(counts.interrupted, 0);
    assert_int_equal(counts.void_count, 1);
    assert_int_equal(counts.degraded, 1);
    fixture_close(fixture);
    fixture_open(fixture, NULL);
    must(summary_counts(fixture->store, fixture->campaign_id, &counts, &err), &err);
    assert_int_equal(counts.interrupted, 1);
}

static void table_for_people(void **state)
{
    struct fixture *fixture = *state;
    struct err err = {0};
    cleanup(text_free) struct text out = {0};
    fixture_fill(fixture);
    must(summary_table(fixture->store, fixture->campaign_id, false, &out, &err), &err);
    static const char expected[] =
        "scheme             workers  delay  trials  median round [95 % interval]     mean  predicted  mean/predicted  accuracy  "
        "fidelity\n"
        "ring                     4  250us       6  23 ms [20 ms, 26 ms]          26.3 ms      20 ms            1.32     0.530  "
        "void 1/7, degraded 1/7\n"
        "backup(backups=1)        4  250us       2  20.5 ms (too few trials)      23.8 ms          –               –     0.505  "
        "faithful\n"
        "1 trial void and left out; the first: 12 % of the host's CPU was stolen\n"
        "1 trial degraded, and counted; the first: timers were 2 ms late\n"
        "1 trial failed; the first: agent w2: exit status 3\n"
        "1 of 12 planned trials did not run\n"
        "too few trials: a 95 % interval needs 6 finished trials of a cell (repeats: 6)\n";
    assert_string_equal(out.bytes, expected);
}

/* A file that somebody else made: the table keeps its lines, and the terminal its colours and its title. */
static void names_and_reasons_do_not_speak_to_the_terminal(void **state)
{
    struct fixture *fixture = *state;
    struct err err = {0};
    cleanup(text_free) struct text out = {0};
    fixture_fill(fixture);
    cleanup(sql_cleanup) struct sql *sql = NULL;
    must(sql_open(fixture->path, false, &sql, &err), &err);
    must(sql_exec(sql,
                  "UPDATE trial SET arm = 'a' || char(10, 27) || ']0;b' || char(7, 155);"
                  "UPDATE trial SET reason = 'c' || char(13, 27) || '[31m' || CAST(x'ff' AS TEXT) WHERE reason IS NOT NULL",
                  &err),
         &err);
    must(summary_table(fixture->store, fixture->campaign_id, false, &out, &err), &err);
    assert_non_null(strstr(out.bytes, "  a??]0;b??  "));
    assert_non_null(strstr(out.bytes, "failed; the first: c??[31m\xef\xbf\xbd\n"));
}

static void colour_changes_no_text(void **state)
{
    struct fixture *fixture = *state;
    struct err err = {0};
    cleanup(text_free) struct text plain = {0}, coloured = {0}, stripped = {0};
    fixture_fill(fixture);
    must(summary_table(fixture->store, fixture->campaign_id, false, &plain, &err), &err);
    must(summary_table(fixture->store, fixture->campaign_id, true, &coloured, &err), &err);
    assert_null(memchr(plain.bytes, '\033', plain.length));
    assert_non_null(strstr(coloured.bytes, "\033[31mvoid 1/7, degraded 1/7\033[0m"));
    for (const char *p = coloured.bytes; *p; p++) {
        if (*p == '\033')
            p = strchr(p, 'm');
        else
            text_add_bytes(&stripped, p, 1);
    }
    assert_string_equal(stripped.bytes, plain.bytes);
}

static void an_empty_campaign_has_no_table(void **state)
{
    struct fixture *fixture = *state;
    struct err err = {0};
    cleanup(text_free) struct text out = {0};
    fixture_open(fixture, NULL);
    fixture_campaign(fixture);
    must(summary_table(fixture->store, fixture->campaign_id, false, &out, &err), &err);
    assert_string_equal(out.bytes, "12 of 12 planned trials did not run\n");
    assert_int_equal(summary_table(fixture->store, 77, false, &out, &err), -ERR_HOST);
    assert_non_null(strstr(err.text, "has no campaign 77"));
}

/* The document is read by SQLite's parser: jansson and base/text.h both own names such as json_string. */
static struct sql *parser;
static const char *document;

static double json_number(const char *path)
{
    struct err err = {0};
    struct sql_statement *query = NULL;
    must(sql_prepare(parser, "SELECT json_extract(?, ?)", &query, &err), &err);
    sql_start(query);
    sql_put_text(query, document);
    sql_put_text(query, path);
    assert_int_equal(sql_next(query, &err), 1);
    return sql_real(query, 0);
}

static void assert_json(const char *path, const char *type, const char *text)
{
    struct err err = {0};
    struct sql_statement *query = NULL;
    must(sql_prepare(parser, "SELECT json_type(?1, ?2), json_extract(?1, ?2)", &query, &err), &err);
    sql_start(query);
    sql_put_text(query, document);
    sql_put_text(query, path);
    assert_int_equal(sql_next(query, &err), 1);
    assert_non_null(sql_text(query, 0)); /* the key is there */
    assert_string_equal(sql_text(query, 0), type);
    if (text)
        assert_string_equal(sql_text(query, 1), text);
}

static void json_for_programs(void **state)
{
    struct fixture *fixture = *state;
    struct err err = {0};
    cleanup(text_free) struct text out = {0};
    cleanup(sql_cleanup) struct sql *memory = NULL;
    fixture_fill(fixture);
    must(summary_json(fixture->store, fixture->campaign_id, "a \"b\".db", &out, &err), &err);
    must(sql_open(NULL, true, &memory, &err), &err);
    parser = memory;
    document = out.bytes;
    struct sql_statement *valid = NULL;
    must(sql_prepare(parser, "SELECT json_valid(?)", &valid, &err), &err);
    sql_start(valid);
    sql_put_text(valid, document);
    assert_int_equal(sql_next(valid, &err), 1);
    assert_int_equal(sql_integer(valid, 0), 1);
    assert_json("$.campaign", "text", "tiny");
    assert_json("$.db", "text", "a \"b\".db");
    static const struct {
        const char *path;
        double value;
    } numbers[] = {
        {"$.trials", 11},
        {"$.failed", 1},
        {"$.void", 1},
        {"$.cells[0].workers", 4},
        {"$.cells[0].trials", 6},
        {"$.cells[0].round_time_p50_ns", 23000000},
        {"$.cells[0].round_time_low_ns", 20000000},
        {"$.cells[0].round_time_high_ns", 26000000},
        {"$.cells[0].round_time_mean_ns", 26333333},
        {"$.cells[0].round_time_p99_ns", 42600000},
        {"$.cells[0].predicted_round_ns", 20000000},
        {"$.cells[0].predicted_measured_round_ns", 25000000},
        {"$.cells[0].accuracy", 0.53},
        {"$.cells[0].payload_bytes", 1000000},
        {"$.cells[0].algbw_bytes_per_second", 37974684}, /* over the mean, 26 1/3 ms */
        {"$.cells[0].busbw_bytes_per_second", 56962025},
    };
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
        assert_near(json_number(numbers[i].path), numbers[i].value, 1e-12);
    assert_json("$.cells[0].scheme", "text", "ring");
    assert_json("$.cells[0].arm", "text", "");
    assert_json("$.cells[0].fidelity", "text", "void 1/7, degraded 1/7");
    assert_json("$.cells[0].\"topology.link.delay\"", "text", "250us");
    assert_json("$.cells[0].round_time_p50_ns", "integer", NULL);
    assert_json("$.cells[1].scheme", "text", "backup");
    assert_json("$.cells[1].label", "text", "scheme=backup(backups=1) workers=4 delay=250us");
    assert_json("$.cells[1].predicted_round_ns", "null", NULL);
    assert_json("$.cells[1].round_time_low_ns", "null", NULL);
    assert_json("$.cells[1].prediction_ratio", "null", NULL);
    assert_json("$.cells[1].busbw_bytes_per_second", "null", NULL);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(counts_by_state),        TEST(table_for_people),
        TEST(colour_changes_no_text), TEST(an_empty_campaign_has_no_table),
        TEST(json_for_programs),      TEST(names_and_reasons_do_not_speak_to_the_terminal),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
