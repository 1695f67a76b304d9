/* agents/schemes/schemes.h: the rows of the scheme table, one a file of this folder. Everyone else finds them through
 * agents/scheme.h. */
#ifndef LAGGARD_AGENTS_SCHEMES_SCHEMES_H
#define LAGGARD_AGENTS_SCHEMES_SCHEMES_H

#include "agents/scheme.h"

extern const struct scheme scheme_ps_sync;
extern const struct scheme scheme_backup;
extern const struct scheme scheme_ps_drop;
extern const struct scheme scheme_k_sync;
extern const struct scheme scheme_k_batch_sync;
extern const struct scheme scheme_k_async;
extern const struct scheme scheme_k_batch_async;
extern const struct scheme scheme_async;
extern const struct scheme scheme_ssp;
extern const struct scheme scheme_zeno;
extern const struct scheme scheme_easgd;
extern const struct scheme scheme_anytime;
extern const struct scheme scheme_ring;
extern const struct scheme scheme_halving_doubling;
extern const struct scheme scheme_recursive_doubling;
extern const struct scheme scheme_binomial_tree;
extern const struct scheme scheme_double_binary_tree;
extern const struct scheme scheme_hierarchical;
extern const struct scheme scheme_direct;
extern const struct scheme scheme_naive;
extern const struct scheme scheme_allreduce_auto;
extern const struct scheme scheme_local_sgd;
extern const struct scheme scheme_adacomm;
extern const struct scheme scheme_slowmo;
extern const struct scheme scheme_local_adaalter;
extern const struct scheme scheme_overlap_local_sgd;
extern const struct scheme scheme_d_psgd;
extern const struct scheme scheme_anytime_consensus;
extern const struct scheme scheme_quantimed_dsgd;
extern const struct scheme scheme_matcha;
extern const struct scheme scheme_gradient_coding;
extern const struct scheme scheme_polydot;
extern const struct scheme scheme_fedavg;
extern const struct scheme scheme_fedbuff;
extern const struct scheme scheme_safa;

#endif
