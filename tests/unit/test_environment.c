/* test_environment.c: the facts that are stored with a campaign: each once, never empty, and the same when nothing changed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "harness/build_info.h"
#include "harness/environment.h"

static char *arguments[] = {"run", "ring vs ps.yaml", "--only", "3", NULL};

static const char *value_of(const struct environment_fact *facts, int count, const char *name)
{
    for (int i = 0; i < count; i++)
        if (strcmp(facts[i].name, name) == 0)
            return facts[i].value;
    fail_msg("no fact %s", name);
    return NULL;
}

static void every_fact_has_a_name_of_its_own_and_a_value(void **state)
{
    (void)state;
    cleanup(arena_cleanup) struct arena *arena = arena_new();
    const struct environment_fact *facts;
    int count, affecting = 0;
    environment_collect(arena, 0, 4, arguments, &facts, &count);
    assert_true(count > 20);
    for (int i = 0; i < count; i++) {
        assert_non_null(facts[i].value);
        assert_null(strpbrk(facts[i].value, "\n\t"));
        affecting += facts[i].affects_performance;
        for (int j = 0; j < i; j++)
            assert_string_not_equal(facts[i].name, facts[j].name);
    }
    assert_true(affecting > 0 && affecting < count);
}

static void facts_are_what_the_host_says(void **state)
{
    (void)state;
    cleanup(arena_cleanup) struct arena *arena = arena_new();
    const struct environment_fact *facts;
    int count;
    struct utsname name;
    char release[sizeof(name.sysname) + sizeof(name.release) + 1];
    assert_int_equal(uname(&name), 0);
    snprintf(release, sizeof(release), "%s %s", name.sysname, name.release);
    environment_collect(arena, 0, 4, arguments, &facts, &count);
    assert_string_equal(value_of(facts, count, "kernel_release"), release);
    assert_string_equal(value_of(facts, count, "machine"), name.machine);
    assert_string_equal(value_of(facts, count, "laggard_version"), build_info_version);
    assert_string_equal(value_of(facts, count, "arguments"), "run ring vs ps.yaml --only 3");
    environment_collect(arena, 0, 0, arguments, &facts, &count);
    assert_string_equal(value_of(facts, count, "arguments"), "");
}

/* The fingerprint by which campaigns compare is made of these: two looks at one host must agree. */
static void what_affects_performance_stays(void **state)
{
    (void)state;
    cleanup(arena_cleanup) struct arena *arena = arena_new();
    const struct environment_fact *first, *second;
    int first_count, second_count;
    environment_collect(arena, 0, 4, arguments, &first, &first_count);
    environment_collect(arena, 0, 1, arguments, &second, &second_count);
    assert_int_equal(first_count, second_count);
    for (int i = 0; i < first_count; i++) {
        assert_string_equal(first[i].name, second[i].name);
        if (first[i].affects_performance)
            assert_string_equal(first[i].value, second[i].value);
    }
    const char *host = value_of(first, first_count, "host_hash");
    assert_int_equal(strspn(host, "0123456789abcdef"), 16);
    assert_int_equal(strlen(host), 16);
    assert_string_equal(host, value_of(second, second_count, "host_hash"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_fact_has_a_name_of_its_own_and_a_value),
        cmocka_unit_test(facts_are_what_the_host_says),
        cmocka_unit_test(what_affects_performance_stays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
