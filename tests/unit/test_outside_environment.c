/* test_outside_environment.c: the variables that tell an outside program where it is. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "netem/outside_environment.h"

static const struct place places[] = {{.name = "w0", .kind = PLACE_HOST, .address = 0x0a400001},
                                      {.name = "w1", .kind = PLACE_HOST, .address = 0x0a400002},
                                      {.name = "core", .kind = PLACE_ROUTER, .address = 0}};
static const struct topology topology = {.places = places, .place_count = 3, .host_count = 2};

static void assert_environment(char *const *found, const char *const *expected)
{
    for (; *expected; expected++, found++) {
        assert_non_null(*found);
        assert_string_equal(*found, *expected);
    }
    assert_null(*found);
}

static void a_host_learns_its_rank_and_its_peers(void **state)
{
    (void)state;
    cleanup(arena_cleanup) struct arena *arena = arena_new();
    /* what is the fabric's to say is replaced, wherever it stands; what only looks like it stays */
    char *const given[] = {"LAGGARD_RANK=7", "HOME=/root", "LAGGARD_RANKS=8", "LAGGARD_ENTER=old", "LAGGARD_AGENT=/a",
                           "EMPTY=",         NULL};
    const char *peers = outside_peers(&topology, arena);
    assert_string_equal(peers, "10.64.0.1,10.64.0.2");
    static const char *const expected[] = {"HOME=/root",
                                           "LAGGARD_RANKS=8",
                                           "LAGGARD_AGENT=/a",
                                           "EMPTY=",
                                           "LAGGARD_NODE=w1",
                                           "LAGGARD_SIZE=2",
                                           "LAGGARD_PEERS=10.64.0.1,10.64.0.2",
                                           "LAGGARD_ENTER=laggard/enter/0/5",
                                           "LAGGARD_RANK=1",
                                           "LAGGARD_ADDRESS=10.64.0.2",
                                           NULL};
    struct outside_place where = {.topology = &topology, .place = 1, .peers = peers, .enter_name = "laggard/enter/0/5"};
    assert_environment(outside_environment(&where, given, arena), expected);
}

static void a_router_has_no_rank(void **state)
{
    (void)state;
    cleanup(arena_cleanup) struct arena *arena = arena_new();
    char *const given[] = {"LAGGARD_RANK=7", "LAGGARD_ADDRESS=1.2.3.4", NULL};
    static const char *const expected[] = {"LAGGARD_NODE=core", "LAGGARD_SIZE=2", "LAGGARD_PEERS=x", NULL};
    struct outside_place where = {.topology = &topology, .place = 2, .peers = "x"};
    assert_environment(outside_environment(&where, given, arena), expected);
}

static const char *prompt(const char *given, bool terminal, bool root, struct arena *arena)
{
    char *const environment[] = {(char *)(given ? given : "HOME=/"), NULL};
    struct outside_place where = {.topology = &topology, .place = 0, .peers = "x", .terminal = terminal, .root = root};
    const char *found = NULL;
    for (char **made = outside_environment(&where, environment, arena); *made; made++)
        if (strncmp(*made, "PS1=", 4) == 0) {
            assert_null(found);
            found = *made;
        }
    return found ? found : "none";
}

static void a_prompt_shows_the_node(void **state)
{
    (void)state;
    cleanup(arena_cleanup) struct arena *arena = arena_new();
    assert_string_equal(prompt(NULL, true, true, arena), "PS1=w0# ");
    assert_string_equal(prompt("PS1=", true, false, arena), "PS1=w0$ ");
    assert_string_equal(prompt("PS1=> ", true, true, arena), "PS1=(w0) > ");
    assert_string_equal(prompt("PS1=\\u@\\h> ", true, true, arena), "PS1=\\u@\\h> ");
    assert_string_equal(prompt("PS1=%n@%m> ", true, true, arena), "PS1=%n@%m> ");
    assert_string_equal(prompt("PS1=> ", false, true, arena), "PS1=> "); /* no terminal: nothing is anybody's prompt */
    assert_string_equal(prompt(NULL, false, true, arena), "none");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_host_learns_its_rank_and_its_peers),
        cmocka_unit_test(a_router_has_no_rank),
        cmocka_unit_test(a_prompt_shows_the_node),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
