/* netem/relay_lateness.c: the log-linear buckets in which the relay counts how late packets left, and their quantiles. Bucket 0 is
 * below 1 us; then each octave from 1 us on is cut into 8 equal parts, so a quantile is at most an eighth too large. */
#include <math.h>

#include "base/clock.h"
#include "netem/relay_internal.h"

enum { PARTS = 8, OCTAVES_EXACT = 50 }; /* 1 us x 2^50: 35 years */

unsigned relay_lateness_bucket(int64_t lateness_ns)
{
    if (lateness_ns < NS_PER_US)
        return 0;
    unsigned octave = 63 - (unsigned)__builtin_clzll((unsigned long long)(lateness_ns / NS_PER_US));
    if (octave >= OCTAVES_EXACT)
        return 1 + PARTS * OCTAVES_EXACT;
    int64_t begin_ns = NS_PER_US << octave;
    return 1 + PARTS * octave + (unsigned)((lateness_ns - begin_ns) * PARTS / begin_ns);
}

int64_t relay_lateness_bucket_end_ns(unsigned bucket)
{
    if (bucket == 0)
        return NS_PER_US - 1;
    unsigned octave = (bucket - 1) / PARTS, part = (bucket - 1) % PARTS;
    if (octave >= OCTAVES_EXACT)
        return INT64_MAX;
    int64_t begin_ns = NS_PER_US << octave;
    return begin_ns + begin_ns * (part + 1) / PARTS - 1;
}

int64_t relay_lateness_quantile_ns(const struct relay_counters *counters, double quantile)
{
    uint64_t total = 0, seen = 0;
    for (unsigned bucket = 0; bucket < RELAY_LATENESS_BUCKETS; bucket++)
        total += counters->lateness[bucket];
    if (total == 0)
        return -1;
    double rank = ceil(quantile * (double)total);
    for (unsigned bucket = 0; bucket < RELAY_LATENESS_BUCKETS; bucket++) {
        seen += counters->lateness[bucket];
        if (seen > 0 && (double)seen >= rank) {
            int64_t end_ns = relay_lateness_bucket_end_ns(bucket);
            return end_ns < counters->lateness_max_ns ? end_ns : counters->lateness_max_ns;
        }
    }
    return counters->lateness_max_ns;
}
