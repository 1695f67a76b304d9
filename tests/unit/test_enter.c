/* test_enter.c: the words of a request to enter, read as they are announced or not at all. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "netem/enter.h"
#include "netem/enter_wire.h"

static const char good[] = "w1\0/root\0ls\0-l\0\0HOME=/root\0A="; /* its last NUL counts */

static int parse(const char *bytes, size_t length, struct enter_header header, struct enter_words *words, struct arena *arena)
{
    char *copy = arena_copy(arena, bytes, length ? length : 1);
    struct err err = {0};
    int code = enter_parse(&header, copy, length, arena, words, &err);
    if (code < 0)
        assert_string_equal(err.text, "the request to enter is malformed: it comes from no laggard of this version");
    return code;
}

static const struct enter_header announced = {
    .magic = ENTER_MAGIC, .version = ENTER_VERSION, .argument_count = 3, .environment_count = 2};

static void words_are_read_as_announced(void **state)
{
    (void)state;
    cleanup(arena_cleanup) struct arena *arena = arena_new();
    struct enter_words words;
    assert_int_equal(parse(good, sizeof(good), announced, &words, arena), 0);
    assert_string_equal(words.node, "w1");
    assert_string_equal(words.directory, "/root");
    static const char *const expected[] = {"ls", "-l", "", NULL, "HOME=/root", "A=", NULL};
    for (int i = 0; i < 3; i++)
        assert_string_equal(words.arguments[i], expected[i]);
    assert_null(words.arguments[3]);
    for (int i = 0; i < 2; i++)
        assert_string_equal(words.environment[i], expected[4 + i]);
    assert_null(words.environment[2]);
}

static void anything_else_is_refused(void **state)
{
    (void)state;
    cleanup(arena_cleanup) struct arena *arena = arena_new();
    struct enter_words words;
    for (size_t length = 0; length < sizeof(good); length++) /* cut anywhere */
        assert_int_equal(parse(good, length, announced, &words, arena), -ERR_USAGE);
    static const char more[] = "w1\0/root\0ls\0-l\0\0HOME=/root\0A=\0more";
    assert_int_equal(parse(more, sizeof(more), announced, &words, arena), -ERR_USAGE);
    static const char relative[] = "w1\0root\0ls\0-l\0\0HOME=/root\0A=";
    assert_int_equal(parse(relative, sizeof(relative), announced, &words, arena), -ERR_USAGE);
    struct enter_header wrong = announced;
    wrong.version++;
    assert_int_equal(parse(good, sizeof(good), wrong, &words, arena), -ERR_USAGE);
    wrong = announced;
    wrong.magic ^= 1;
    assert_int_equal(parse(good, sizeof(good), wrong, &words, arena), -ERR_USAGE);
    wrong = announced;
    wrong.argument_count = 0;
    wrong.environment_count = 5;
    assert_int_equal(parse(good, sizeof(good), wrong, &words, arena), -ERR_USAGE);
    wrong = announced;
    wrong.environment_count = UINT32_MAX; /* more than there are bytes: no memory is taken for them */
    assert_int_equal(parse(good, sizeof(good), wrong, &words, arena), -ERR_USAGE);
}

static void a_network_is_called_after_its_process(void **state)
{
    (void)state;
    char name[ENTER_NAME_BYTES];
    enter_name(name, 1000, 4242);
    assert_string_equal(name, "laggard/enter/1000/4242");
    enter_name(name, UINT32_MAX, INT32_MAX);
    assert_string_equal(name, "laggard/enter/4294967295/2147483647");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_are_read_as_announced),
        cmocka_unit_test(anything_else_is_refused),
        cmocka_unit_test(a_network_is_called_after_its_process),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
