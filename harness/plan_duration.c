/* harness/plan_duration.c: sums of seconds, and their words; see plan_duration.h. */
#include "harness/plan_duration.h"

#include <math.h>

#include "base/text.h"
#include "schemas/settings.h"

void plan_duration_add(struct plan_duration *duration, const struct settings *settings, double seconds)
{
    if (settings->world == WORLD_VIRTUAL)
        duration->virtual_seconds += seconds;
    else
        duration->seconds += seconds;
}

static void print_minutes(double seconds, struct text *out)
{
    text_printf(out, "about %lld min %02d s", (long long)(seconds / 60), (int)fmod(seconds, 60));
}

void plan_duration_print(const struct plan_duration *duration, struct text *out)
{
    if (!isfinite(duration->seconds))
        text_add(out, "as long as the outside programs take");
    else if (duration->seconds > 0)
        print_minutes(duration->seconds, out);
    if (duration->virtual_seconds > 0) {
        text_add(out, duration->seconds == 0 ? "" : " and ");
        print_minutes(duration->virtual_seconds, out);
        text_add(out, " of virtual time");
    }
}
