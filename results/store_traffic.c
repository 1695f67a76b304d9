/* results/store_traffic.c: the flows of cross traffic: as asked, and what became of them. */
#include <math.h>

#include "base/err.h"
#include "results/store_internal.h"

/* Bits that arrived, over the time that the flow was on. */
static double measured_bps(const struct traffic_counters *counters)
{
    return counters->active_ns > 0 ? 8e9 * (double)counters->received_bytes / (double)counters->active_ns : NAN;
}

int store_traffic(struct store *store, int64_t trial_id, const struct trial_end *end, struct err *err)
{
    for (int i = 0; i < end->flow_count; i++) {
        const struct traffic_flow *flow = &end->flows[i];
        const struct traffic_setting *asked = &flow->asked;
        const struct traffic_counters *seen = &end->traffic[i];
        bool packets = asked->transport == TRANSPORT_UDP, turns = asked->on_ns > 0;
        struct sql_statement *row = store_row(store, ROW_TRAFFIC_FLOW, err);
        if (!row)
            return -ERR_HOST;
        sql_put_integer(row, trial_id);
        sql_put_integer(row, i);
        sql_put_integer(row, flow->from);
        sql_put_integer(row, flow->to);
        sql_put_text(row, transport_names[asked->transport]);
        sql_put_unsigned(row, asked->rate_bps);
        sql_put_unsigned_or_null(row, asked->packet_bytes, packets);
        sql_put_unsigned_or_null(row, (uint64_t)asked->on_ns, turns);
        sql_put_unsigned_or_null(row, (uint64_t)asked->off_ns, turns);
        sql_put_text(row, turns ? spread_names[asked->spread] : NULL);
        sql_put_integer(row, asked->start_ns);
        sql_put_unsigned_or_null(row, (uint64_t)asked->stop_ns, asked->stop_ns > 0);
        sql_put_integer(row, seen->active_ns);
        sql_put_unsigned(row, seen->asked_bytes);
        sql_put_unsigned(row, seen->sent_bytes);
        sql_put_unsigned(row, seen->received_bytes);
        const uint64_t counts[] = {seen->asked_packets, seen->sent_packets, seen->refused_packets, seen->late_packets,
                                   seen->received_packets};
        for (size_t c = 0; c < sizeof(counts) / sizeof(counts[0]); c++)
            sql_put_unsigned_or_null(row, counts[c], packets);
        sql_put_real(row, measured_bps(seen));
        if (sql_run(row, err) < 0)
            return err_wrap(err, "flow %d of the cross traffic", i);
    }
    return 0;
}
