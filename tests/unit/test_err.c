/* test_err.c: an error's sentence, its truncation, its context and its exit code. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "base/err.h"

static void set_writes_kind_and_text(void **state)
{
    (void)state;
    struct err err = {0};
    assert_int_equal(err_set(&err, ERR_USAGE, "found '%d', allowed is %s", 7, "1 to 5"), -ERR_USAGE);
    assert_int_equal(err.kind, ERR_USAGE);
    assert_string_equal(err.text, "found '7', allowed is 1 to 5");
}

static void null_is_allowed_everywhere(void **state)
{
    (void)state;
    assert_int_equal(err_set(NULL, ERR_TRIAL, "x"), -ERR_TRIAL);
    assert_int_equal(err_set_errno(NULL, ERR_BASELINE, ENOENT, "x"), -ERR_BASELINE);
    assert_int_equal(err_wrap(NULL, "x"), -ERR_HOST);
}

static void errno_is_spelled_out(void **state)
{
    (void)state;
    struct err err = {0};
    assert_int_equal(err_set_errno(&err, ERR_HOST, ENOENT, "cannot open %s", "a.yaml"), -ERR_HOST);
    assert_string_equal(err.text, "cannot open a.yaml: No such file or directory");
}

static void wrap_adds_context_in_front_and_keeps_the_kind(void **state)
{
    (void)state;
    struct err err = {0};
    err_set(&err, ERR_TRIAL, "no answer");
    assert_int_equal(err_wrap(&err, "node %s", "w3"), -ERR_TRIAL);
    assert_int_equal(err_wrap(&err, "trial %d", 4), -ERR_TRIAL);
    assert_string_equal(err.text, "trial 4: node w3: no answer");
    err_wrap(&err, "again (%s)", err.text); /* an argument may be the text itself */
    assert_string_equal(err.text, "again (trial 4: node w3: no answer): trial 4: node w3: no answer");
}

static void a_trailing_newline_is_dropped(void **state)
{
    (void)state;
    struct err err = {0};
    err_set(&err, ERR_HOST, "two lines\nend\n\n");
    assert_string_equal(err.text, "two lines\nend");
}

static void long_texts_end_in_dots_and_in_whole_code_points(void **state)
{
    (void)state;
    char longer[3001];
    for (size_t shift = 0; shift < 3; shift++) {
        /* "€" is three bytes: with three shifts, each place of the cut is met */
        memset(longer, 'x', shift);
        for (size_t i = shift; i + 3 < sizeof(longer); i += 3)
            memcpy(longer + i, "\xe2\x82\xac", 4);
        struct err err = {0};
        err_set(&err, ERR_HOST, "%s", longer);
        size_t length = strlen(err.text);
        assert_true(length < sizeof(err.text));
        assert_true(length >= sizeof(err.text) - 4);
        assert_string_equal(err.text + length - 3, "...");
        assert_int_equal((length - 3 - shift) % 3, 0);
        err_wrap(&err, "context");
        assert_memory_equal(err.text, "context: ", 9);
        assert_string_equal(err.text + strlen(err.text) - 3, "...");
        err_set_errno(&err, ERR_HOST, EPERM, "%s", longer);
        assert_true(strlen(err.text) < sizeof(err.text));
    }
    struct err err = {0};
    char exact[sizeof(err.text)];
    memset(exact, 'y', sizeof(exact) - 1);
    exact[sizeof(exact) - 1] = '\0';
    err_set(&err, ERR_HOST, "%s", exact); /* just fits: no dots */
    assert_string_equal(err.text, exact);
}

static void each_kind_has_its_exit_code(void **state)
{
    (void)state;
    assert_int_equal(err_exit_code(ERR_NONE), 0);
    assert_int_equal(err_exit_code(ERR_USAGE), 2);
    assert_int_equal(err_exit_code(ERR_HOST), 3);
    assert_int_equal(err_exit_code(ERR_TRIAL), 4);
    assert_int_equal(err_exit_code(ERR_BASELINE), 6);
    assert_int_equal(err_exit_code(ERR_INTERRUPTED), 130);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(set_writes_kind_and_text),      cmocka_unit_test(null_is_allowed_everywhere),
        cmocka_unit_test(errno_is_spelled_out),          cmocka_unit_test(wrap_adds_context_in_front_and_keeps_the_kind),
        cmocka_unit_test(a_trailing_newline_is_dropped), cmocka_unit_test(long_texts_end_in_dots_and_in_whole_code_points),
        cmocka_unit_test(each_kind_has_its_exit_code),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
