/* test_report_parts.c: tables of a report, whatever a database that somebody else made holds. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/text.h"
#include "results/report_internal.h"
#include "results/sqlite_wrap.h"

static void table_of(const char *query, struct text *page)
{
    cleanup(sql_cleanup) struct sql *sql = NULL;
    struct err err = {0};
    assert_int_equal(sql_open(NULL, true, &sql, &err), 0);
    struct report report = {.sql = sql, .page = page};
    const struct report_table table = {.caption = "t", .query = query};
    if (report_add_table(&report, &table, &err) < 0)
        fail_msg("%s", err.text);
}

static void numbers_are_rounded_and_words_have_colours(void **state)
{
    (void)state;
    cleanup(text_free) struct text page = {0};
    table_of("SELECT 'a<b' AS name, 1.25 AS \"#1ms\", 'faithful' AS verdict, NULL AS reason", &page);
    assert_non_null(strstr(page.bytes, "<th scope=\"row\" class=\"name\">a&lt;b</th><td class=\"number\">1.2</td>"
                                       "<td class=\"faithful\">faithful</td><td class=\"none\">–</td>"));
}

/* In a column of words, too: what has no value is none. */
static void what_is_no_finite_number_is_left_out(void **state)
{
    (void)state;
    cleanup(text_free) struct text page = {0};
    table_of("SELECT 9e999 AS name, -9e999 AS reason, 9e999 AS \"#\"", &page);
    assert_non_null(strstr(page.bytes, "<th scope=\"row\" class=\"none\">–</th><td class=\"none\">–</td>"
                                       "<td class=\"number\">–</td>"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_are_rounded_and_words_have_colours),
        cmocka_unit_test(what_is_no_finite_number_is_left_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
