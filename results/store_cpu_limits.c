/* results/store_cpu_limits.c: nodes that may use only so much of the processors, and how long they were stopped for it. */
#include "base/err.h"
#include "results/store_internal.h"

int store_cpu_limits(struct store *store, int64_t trial_id, const struct trial_end *end, struct err *err)
{
    for (int i = 0; i < end->cpu_limit_count; i++) {
        const struct cpu_limit_result *result = &end->cpu_limits[i];
        struct sql_statement *row = store_row(store, ROW_CPU_LIMIT, err);
        if (!row)
            return -ERR_HOST;
        sql_put_integer(row, trial_id);
        sql_put_integer(row, result->node);
        sql_put_real(row, result->asked.processors);
        sql_put_integer(row, result->asked.period_ns);
        sql_put_unsigned_or_null(row, result->usage.period_count, result->counted);
        sql_put_unsigned_or_null(row, result->usage.throttled_count, result->counted);
        sql_put_unsigned_or_null(row, (uint64_t)result->usage.throttled_ns, result->counted);
        if (sql_run(row, err) < 0)
            return err_wrap(err, "the limit of node %d", result->node);
    }
    return 0;
}
