/* byzantine_outlook.c: see byzantine_outlook.h. How many an update withstands is the scheme's to know: scheme_tolerates(). */
#include "harness/byzantine_outlook.h"

#include <string.h>

#include "agents/scheme.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "base/text.h"
#include "schemas/plan.h"

bool byzantine_outlook(const struct settings *settings, struct text *out)
{
    const int count = settings->workload.byzantine.worker_count;
    if (count == 0)
        return false;
    struct scheme_setup setup = {.scheme = scheme_find(settings->scheme.name), .workers = settings->workers};
    memcpy(setup.values, settings->scheme.values, sizeof(setup.values));
    const int withstood = scheme_tolerates(&setup);
    if (count <= withstood)
        return false;
    text_printf(out, "%d of %d workers %s Byzantine, and scheme '%s' with these parameters withstands ", count, settings->workers,
                count == 1 ? "is" : "are", settings->scheme.name);
    if (withstood > 0)
        text_printf(out, "%d", withstood);
    text_add(out, withstood > 0 ? ": they may lead its model anywhere" : "none: they may lead its model anywhere");
    return true;
}

void byzantine_outlook_warn(const struct cell *cell)
{
    cleanup(text_free) struct text text = {0};
    if (byzantine_outlook(&cell->settings, &text))
        log_warning("cell %d (%s): %s", cell->index, cell_title(cell), text.bytes);
}
