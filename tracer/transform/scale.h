/* SPDX-License-Identifier: Apache-2.0 */
/* Changes that scale a trace in place: recorded time that no machine makes shorter, and pruned weights. */
#ifndef LL_TRACER_TRANSFORM_SCALE_H
#define LL_TRACER_TRANSFORM_SCALE_H

#include "tracer/ir/trace.h"

/* What becomes of recorded time that no machine makes shorter: gaps, in which a program did something that
 * was not recorded, and opaque calls. */

#define LL_GAPS_WANTED "keep, drop, or a factor such as 0.1"

/* By what such time is multiplied: keep is 1, drop 0, else a number from 0 to a million. False for other
 * texts. */
bool ll_gaps_parse(const char *text, double *factor);

/* Multiplies the recorded time of such ops, and says so in the header (gaps). To be called before the trace
 * is shared. False when memory ran out. */
bool ll_gaps_scale(struct ll_trace *trace, double factor);

/* A trace as if its weights had been pruned: of each so many neighbours along the dimension that products sum
 * over all but some are zero, as with the N:M sparsity of Zhou et al. (Learning N:M fine-grained structured
 * sparse neural networks from scratch, 2021); or, unstructured, some share of all, wherever they lie (Han et
 * al., Learning both weights and connections for efficient neural networks, 2015).
 *
 * Pruned weights are stored without their zeros, with the places of what is left. So less memory is taken and
 * moved on every machine (Xia et al., Flash-LLM, 2023: load as sparse, compute as dense); units that skip
 * zeros (`skips`, `skips_unstructured`) compute less, too. FLOPs are those of what is left. */

/* Prunes every weight that forward products and convolutions have as their right operand and nothing else of
 * the forward phase reads, whose dimension is a multiple of the pattern's and long enough, or, where that is
 * unstructured, is not empty; all others stay as they are, and so do gradients and what optimizers keep.
 * Counts flops and bytes of all forms anew. *weights is how many descs were pruned. To be called before the
 * trace is shared. False when memory ran out (*trouble is NULL) or *trouble, a static sentence, says what
 * does not work out; the trace is then of no use. */
bool ll_trace_prune(struct ll_trace *trace, const struct ll_pattern *pattern, uint64_t *weights,
                    const char **trouble);

#endif
