/* results/store_processes.c: outside programs of a trial: how each ended, and what it wrote. */
#include "base/err.h"
#include "results/store_internal.h"

static int store_process(struct store *store, int64_t trial_id, int node, const struct process_result *process, struct err *err)
{
    struct sql_statement *row = store_row(store, ROW_PROCESS, err);
    if (!row)
        return -ERR_HOST;
    sql_put_integer(row, trial_id);
    sql_put_integer(row, node);
    sql_put_text(row, process->command);
    sql_put_integer(row, 0); /* a trial's time counts from when all were started */
    sql_put_unsigned_or_null(row, (uint64_t)process->end_ns, process->ended);
    sql_put_unsigned_or_null(row, (uint64_t)process->how.status, process->ended && process->how.exited);
    sql_put_unsigned_or_null(row, (uint64_t)process->how.status, process->ended && !process->how.exited);
    for (int i = 0; i < 2; i++) {
        sql_put_text(row, process->streams[i].text);
        sql_put_unsigned(row, process->streams[i].bytes);
        sql_put_integer(row, process->streams[i].truncated);
    }
    return sql_run(row, err);
}

int store_processes(struct store *store, int64_t trial_id, const struct trial_end *end, struct err *err)
{
    for (int node = 0; node < end->process_count; node++)
        if (store_process(store, trial_id, node, &end->processes[node], err) < 0)
            return err_wrap(err, "the process of node %d", node);
    return 0;
}
