/* test_campaign.c: campaign files that are at fault are refused with a sentence at its place; the committed schema and the manual's
 * table are those of the field table.
 *
 * tests/golden/bad-*.yaml each have one fault and the whole message in a file beside it; good-*.yaml have none. After a wanted
 * change, `test_campaign --update` writes messages, schema and table anew: read the difference before you commit it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <glob.h>
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/text.h"
#include "harness/campaign.h"
#include "harness/campaign_internal.h"
#include "tests/unit/campaign_rig.h"

static const char schema_path[] = "schemas/campaign.schema.json", manual_path[] = "docs/campaign-file.md";
static const char table_begin[] = "<!-- fields: begin -->\n", table_end[] = "<!-- fields: end -->\n";

static void read_file(const char *path, struct text *out)
{
    cleanup(close_file) FILE *file = fopen(path, "r");
    if (!file)
        fail_msg("cannot open %s", path);
    char buffer[4096];
    for (size_t got; (got = fread(buffer, 1, sizeof(buffer), file)) > 0;)
        text_add_bytes(out, buffer, got);
}

static void write_file(const char *path, const struct text *text)
{
    cleanup(close_file) FILE *file = fopen(path, "w");
    if (!file || fwrite(text->bytes, 1, text->length, file) != text->length)
        fail_msg("cannot write %s", path);
}

static void refuse(const char *text, size_t length, const char *expected)
{
    cleanup(arena_cleanup) struct arena *arena = arena_new();
    struct plan plan = {.cell_count = -7};
    struct err err = {0};
    assert_int_equal(campaign_parse("t.yaml", text, length, arena, &plan, &err), -ERR_USAGE);
    assert_int_equal(err.kind, ERR_USAGE);
    assert_string_equal(err.text, expected);
    assert_int_equal(plan.cell_count, -7);
    assert_int_equal(campaign_parse("t.yaml", text, length, arena, &plan, NULL), -ERR_USAGE);
}

#define REFUSE(text, expected) refuse(text, sizeof(text) - 1, expected)

/* ---- golden files ---- */
static void expected_path(const char *yaml, char *path, size_t size)
{
    snprintf(path, size, "%.*s.expected", (int)(strlen(yaml) - strlen(".yaml")), yaml);
}

static void refusal_of(const char *path, struct text *message)
{
    cleanup(arena_cleanup) struct arena *arena = arena_new();
    cleanup(text_free) struct text text = {0};
    struct plan plan = {0};
    struct err err = {0};
    read_file(path, &text);
    if (campaign_parse(strrchr(path, '/') + 1, text.bytes, text.length, arena, &plan, &err) != -ERR_USAGE)
        fail_msg("%s is accepted", path);
    text_printf(message, "%s\n", err.text);
}

static void bad_files_are_refused_with_the_expected_sentence(void **state)
{
    (void)state;
    cleanup(globfree) glob_t files = {0};
    assert_int_equal(glob("tests/golden/bad-*.yaml", 0, NULL, &files), 0);
    assert_true(files.gl_pathc >= 90);
    for (size_t i = 0; i < files.gl_pathc; i++) {
        cleanup(text_free) struct text found = {0}, expected = {0};
        char path[256];
        refusal_of(files.gl_pathv[i], &found);
        expected_path(files.gl_pathv[i], path, sizeof(path));
        read_file(path, &expected);
        assert_string_equal(found.bytes, expected.bytes);
    }
}

/* ---- what no file in the tree should hold ---- */
static void broken_bytes_are_refused(void **state)
{
    (void)state;
    REFUSE("", "t.yaml:1:1: the file is empty");
    REFUSE("name: t\nmtu: \xff\n", "t.yaml:2:6: this is not text in UTF-8 (invalid leading UTF-8 octet, byte 13 of the file)");
    REFUSE("name: \"a\\0b\"\n", "t.yaml:1:7: a value must not hold a NUL character");
    REFUSE("name: t\0u\n", "t.yaml:1:8: this is not text in UTF-8 (control characters are not allowed, byte 7 of the file)");
    REFUSE(HEAD "\"a\\nb\\e[31m\": 1\n", "t.yaml:5:1: unknown key 'a?b?[31m'. `laggard fields` lists the known ones");
    REFUSE(HEAD "\"b\\x9b31m\": 1\n", "t.yaml:5:1: unknown key 'b?31m'. `laggard fields` lists the known ones");
    REFUSE("name: t\nworkers: 4\nscheme: ring\nworkload: {model: mlp, rounds: 10, dataset_path: \"/a\xe2\x80\xa8z\"}\n",
           "t.yaml:4:50: workload.dataset_path: found '/a?z', allowed are 1 to 1024 printable characters");
    REFUSE(HEAD "\xc3\xa4\xc3\xb6: 1\n", "t.yaml:5:1: unknown key '\xc3\xa4\xc3\xb6'. `laggard fields` lists the known ones");
}

static void large_texts_are_refused_soon(void **state)
{
    (void)state;
    cleanup(text_free) struct text text = {0}, keys = {0};
    while (text.length <= 1 << 20)
        text_add(&text, "# 1 MiB and more\n");
    refuse(text.bytes, text.length, "t.yaml:1:1: the file has 1048577 bytes, allowed are 1048576");
    for (int i = 0; i < 50000; i++)
        text_printf(&keys, "key%d: 1\n", i);
    refuse(keys.bytes, keys.length, "t.yaml:1001:1: this mapping has too many keys, allowed are 1000");
    struct err err;
    struct plan plan = {.cell_count = -7};
    cleanup(arena_cleanup) struct arena *arena = arena_new();
    assert_int_equal(campaign_load("/dev/zero", NULL, arena, &plan, &err), -ERR_USAGE); /* endless */
    assert_string_equal(err.text, "/dev/zero:1:1: the file is larger than a campaign may be, allowed are 1048576 bytes");
    assert_int_equal(campaign_load("tests", NULL, arena, &plan, &err), -ERR_USAGE);
    assert_string_equal(err.text, "cannot read the campaign file 'tests': Is a directory");
    assert_int_equal(campaign_load("tests/golden/none.yaml", NULL, arena, &plan, &err), -ERR_USAGE);
    assert_string_equal(err.text, "cannot open the campaign file 'tests/golden/none.yaml': No such file or directory");
    assert_int_equal(plan.cell_count, -7);
}

static void long_values_have_short_labels(void **state)
{
    (void)state;
    cleanup(arena_cleanup) struct arena *arena = arena_new();
    cleanup(text_free) struct text text = {0};
    text_add(&text, HEAD "matrix: {workload.dataset_path: [");
    for (int i = 0; i < 2; i++)
        text_printf(&text, "/%0300d/%d, ", 0, i);
    text_add(&text, "]}\n");
    struct plan plan;
    parse_good(text.bytes, arena, &plan);
    assert_int_equal(plan.cell_count, 2);
    assert_true(strlen(plan.cells[0].label) < 150);
    assert_string_not_equal(plan.cells[0].label, plan.cells[1].label);
    assert_int_equal(strlen(plan.cells[1].settings.workload.dataset_path), 303);
}

/* ---- what is made of the field table ---- */
static void the_committed_schema_is_the_generated_one(void **state)
{
    (void)state;
    cleanup(text_free) struct text committed = {0}, generated = {0};
    read_file(schema_path, &committed);
    campaign_json_schema(&generated);
    assert_string_equal(committed.bytes, generated.bytes);
}

/* The manual's text before, in and after the table. */
static char *find_table(const struct text *manual, char **end)
{
    char *begin = strstr(manual->bytes, table_begin);
    *end = strstr(manual->bytes, table_end);
    assert_true(begin && *end);
    return begin + strlen(table_begin);
}

static void the_manual_has_the_generated_table(void **state)
{
    (void)state;
    cleanup(text_free) struct text manual = {0}, table = {0};
    char *end;
    read_file(manual_path, &manual);
    campaign_fields_markdown(&table);
    char *begin = find_table(&manual, &end);
    *end = '\0';
    assert_string_equal(begin, table.bytes);
}

static void every_field_is_listed(void **state)
{
    (void)state;
    cleanup(text_free) struct text list = {0};
    campaign_print_fields(&list);
    for (int i = 0; i < campaign_field_count; i++)
        assert_non_null(strstr(list.bytes, campaign_fields[i].path));
}

static int update(void)
{
    cleanup(globfree) glob_t files = {0};
    cleanup(text_free) struct text schema = {0}, manual = {0}, updated = {0};
    char *end;
    glob("tests/golden/bad-*.yaml", 0, NULL, &files);
    for (size_t i = 0; i < files.gl_pathc; i++) {
        cleanup(text_free) struct text message = {0};
        char path[256];
        refusal_of(files.gl_pathv[i], &message);
        expected_path(files.gl_pathv[i], path, sizeof(path));
        write_file(path, &message);
    }
    campaign_json_schema(&schema);
    write_file(schema_path, &schema);
    read_file(manual_path, &manual);
    text_add_bytes(&updated, manual.bytes, (size_t)(find_table(&manual, &end) - manual.bytes));
    campaign_fields_markdown(&updated);
    text_add(&updated, end);
    write_file(manual_path, &updated);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "--update") == 0)
        return update();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bad_files_are_refused_with_the_expected_sentence),
        cmocka_unit_test(broken_bytes_are_refused),
        cmocka_unit_test(large_texts_are_refused_soon),
        cmocka_unit_test(long_values_have_short_labels),
        cmocka_unit_test(the_committed_schema_is_the_generated_one),
        cmocka_unit_test(the_manual_has_the_generated_table),
        cmocka_unit_test(every_field_is_listed),
    };
    return cmocka_run_group_tests_name("campaign", tests, NULL, NULL);
}
