/* campaign_rig.h: campaign files that a test writes out, read as "t.yaml". */
#ifndef LAGGARD_TESTS_CAMPAIGN_RIG_H
#define LAGGARD_TESTS_CAMPAIGN_RIG_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "base/err.h"
#include "harness/campaign.h"

static inline int parse(const char *text, struct arena *arena, struct plan *plan, struct err *err)
{
    return campaign_parse("t.yaml", text, strlen(text), arena, plan, err);
}

static inline void parse_good(const char *text, struct arena *arena, struct plan *plan)
{
    struct err err;
    if (parse(text, arena, plan, &err) < 0)
        fail_msg("%s", err.text);
}

#define HEAD "name: t\nworkers: 4\nscheme: ring\nworkload: {model: mlp, rounds: 10}\n"

#endif
