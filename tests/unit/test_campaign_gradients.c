/* test_campaign_gradients.c: workload.gradients with each model, in the file and swept: `real` goes everywhere, `none` in the
 * virtual world alone. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "harness/campaign.h"

/* One campaign of that model, with `gradients` in its place. Returns what campaign_parse() does. */
static int parse(struct arena *arena, enum model_kind model, const char *inside, const char *behind, struct plan *plan,
                 struct err *err)
{
    const char *text = arena_printf(arena,
                                    "name: t\nscheme: ring\nworkers: 2\nworkload: {model: %s, %srounds: 1%s}\n"
                                    "compute: {time: {distribution: constant, value: 1ms}}\n%s",
                                    model_names[model], model == MODEL_SYNTHETIC ? "size: 4KB, " : "", inside, behind);
    return campaign_parse("t.yaml", text, strlen(text), arena, plan, err);
}

static void real_gradients_go_with_every_model(void **state)
{
    (void)state;
    for (enum model_kind model = 0; model < MODEL_COUNT; model++) {
        cleanup(arena_cleanup) struct arena *arena = arena_new();
        struct plan plan;
        struct err err;
        if (parse(arena, model, ", gradients: real", "", &plan, &err) < 0)
            fail_msg("%s", err.text);
        assert_int_equal(plan.cells[0].settings.workload.gradients, GRADIENTS_REAL);
        if (parse(arena, model, "", "", &plan, &err) < 0)
            fail_msg("%s", err.text);
        assert_int_equal(plan.cells[0].settings.workload.gradients, GRADIENTS_REAL);
    }
}

static void gradients_are_left_out_in_the_virtual_world_alone(void **state)
{
    (void)state;
    static const struct {
        const char *inside, *behind;
        bool good;
    } places[] = {{", gradients: none", "", false},
                  {"", "matrix: {workload.gradients: [real, none]}\n", false},
                  {", gradients: none", "matrix: {world: [virtual, emulated]}\n", false},
                  {", gradients: none", "world: virtual\n", true},
                  {"", "world: virtual\nmatrix: {workload.gradients: [real, none]}\n", true}};
    for (enum model_kind model = 0; model < MODEL_COUNT; model++)
        for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
            cleanup(arena_cleanup) struct arena *arena = arena_new();
            struct plan plan;
            struct err err = {0};
            int status = parse(arena, model, places[i].inside, places[i].behind, &plan, &err);
            if (places[i].good && status < 0)
                fail_msg("%s", err.text);
            if (places[i].good)
                assert_int_equal(plan.cells[plan.cell_count - 1].settings.workload.gradients, GRADIENTS_NONE);
            else {
                assert_int_equal(status, -ERR_USAGE);
                assert_non_null(strstr(
                    err.text, "workload.gradients: gradients can be left out only in the virtual world: set world: virtual"));
            }
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(real_gradients_go_with_every_model),
        cmocka_unit_test(gradients_are_left_out_in_the_virtual_world_alone),
    };
    return cmocka_run_group_tests_name("campaign_gradients", tests, NULL, NULL);
}
