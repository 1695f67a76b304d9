/* netem/impairment.h: what happens to the packets of one direction beyond rate and delay: jitter, loss, duplication, corruption,
 * reordering. Pure and repeatable: the same seed gives the n-th packet of a direction the same fate in every run.
 *
 * Theory of operation. Both engines follow one set of rules, the kernel's where it has them: probabilities are counted in units of
 * 2^-32; a packet is first duplicated, then lost, then corrupted, then sent at once (reordered) or delayed by delay + jitter; a
 * duplicate goes through all but the first on its own.
 *
 * Two of netem's rules are not followed, since they do not give what was asked. Its correlated loss is an average of draws, which
 * moves the rate (5 % asked with a correlation of 25 % loses 0.2 %): loss p with correlation c is the two-state chain that goes
 * from keeping to losing with probability p (1 - c) and back with (1 - p)(1 - c); it loses p of all packets, each loss has the
 * correlation c with the one before, and netem can be told it as a Gilbert-Elliott model. Its correlated jitter takes the low bits
 * of such an average, which have no correlation at all: here normal numbers z' = c z + sqrt(1 - c^2) e choose the place in the
 * table, and engine netem has to be refused.
 *
 * Jitter comes from one table of quantiles a distribution, which the relay draws from and netem is sent: entry i of n is the
 * quantile (i + 1/2) / n of the distribution with mean 0 and standard deviation 1 (uniform: from -1 to 1), in units of 1/8192, cut
 * off at 4. */
#ifndef LAGGARD_NETEM_IMPAIRMENT_H
#define LAGGARD_NETEM_IMPAIRMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/rng.h"
#include "schemas/topology.h"

struct err;
struct text;

/* --- tables of quantiles (impairment_table.c)
 * --------------------------------------------------------------------------------------- */

enum {
    IMPAIRMENT_TABLE_SIZE = 4096,
    IMPAIRMENT_TABLE_MOST = 16384, /* entries of a table from a file: what netem takes */
    IMPAIRMENT_SCALE = 8192,       /* of an entry: one jitter */
};
struct impairment_table {
    const int16_t *entries;
    int size;
};
/* The table that these impairments draw from: their own, or the distribution's, which is made when first asked for. */
struct impairment_table impairment_table_for(const struct impairments *asked);
/* The place of a normal number among n quantiles: n times its probability, rounded down. */
int impairment_rank(double normal, int size);
/* The quantile of a distribution (not JITTER_TABLE) in units of the jitter, not cut off; 0 < probability < 1. */
double impairment_quantile(enum jitter_kind distribution, double probability);
/* A table as text: whole numbers from -32768 to 32767 with white space between, '#' starts a comment, as in iproute2's *.dist.
 * Returns the number of entries (at least 1), or a negative code with a sentence that names the line. */
int impairment_table_parse(const char *text, size_t length, int16_t entries[IMPAIRMENT_TABLE_MOST], struct err *err);

/* --- what was asked
 * ------------------------------------------------------------------------------------------------------------------ */

bool impairment_asked(const struct impairments *asked); /* anything at all */
bool impairment_any_loss(const struct impairments *asked);
bool impairment_any_probability(const struct impairments *asked); /* anything that is decided packet by packet on the wire */
bool impairment_needs_engine(const struct direction *direction);  /* a delay or an impairment, now or later */
/* Appends what is asked, beginning with a space; nothing where nothing is. Equal texts, equal impairments. */
void impairment_describe(const struct impairments *asked, struct text *out);
bool impairment_same(const struct impairments *a, const struct impairments *b);
int64_t impairment_jitter_most_ns(const struct impairments *asked); /* the largest offset that can be drawn; 0 or more */
uint32_t impairment_probability(double probability);                /* as netem counts it: x (2^32 - 1), rounded */

/* The two-state chain that stands for this loss; p 0: none, or random loss without correlation. */
struct gilbert_elliott impairment_bursts(const struct impairments *asked);

/* --- one direction's state
 * ----------------------------------------------------------------------------------------------------------- */

struct impairment {
    struct rng rng;
    struct impairment_table table;
    int64_t jitter_ns;
    double correlation, innovation, normal; /* c, sqrt(1 - c^2), and z of the last packet */
    uint32_t loss, duplicate, corrupt, reorder;
    uint32_t to_bad, to_good, loss_bad, loss_good; /* Gilbert-Elliott */
    bool gilbert_elliott, bad;
};
/* Stream (seed, link, direction, RNG_LINK). */
void impairment_begin(struct impairment *state, const struct impairments *asked, uint64_t seed, uint32_t link, uint32_t direction);
/* Asks for something else from the next packet on; the stream goes on, and so does a burst of losses. */
void impairment_change(struct impairment *state, const struct impairments *asked);
void impairment_prepare_tables(void); /* makes every distribution's: what follows takes no time for it */
bool impairment_duplicates(struct impairment *state);
bool impairment_loses(struct impairment *state);
bool impairment_corrupts(struct impairment *state);
bool impairment_reorders(struct impairment *state);
int64_t impairment_jitter_ns(struct impairment *state); /* to be added to the delay; may be negative */
/* Seeds (rng_u64) for netem's own generator, which takes one where the kernel is new enough: it begins anew with each change, so
 * each gets the next. */
struct rng impairment_netem_seeds(uint64_t seed, uint32_t link, uint32_t direction);

/* Flips one bit behind the Ethernet header of a packet (virtio_net_hdr and frame). A checksum that was left to the device is filled
 * in before, so that the receiver finds it wrong. Of a packet that is still to be cut into segments, a bit of the IP header. */
void impairment_flip_bit(struct impairment *state, unsigned char *packet, uint32_t length);

#endif
