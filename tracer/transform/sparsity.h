/* SPDX-License-Identifier: Apache-2.0 */
/* Zeros that a trace does not know of: pruned weights, and activations that are zero, for all layers or
 * some. */
#ifndef LL_TRACER_TRANSFORM_SPARSITY_H
#define LL_TRACER_TRANSFORM_SPARSITY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tracer/base/arena.h"
#include "tracer/base/diag.h"
#include "tracer/ir/trace.h"

/* What is known of the zeros of layers. */
struct ll_sparsity {
    const char *layer; /* a pattern of scopes, as the shell has them (`conv1*`); the first that fits holds */
    struct ll_pattern weights; /* 0 of 0: nothing is said */
    uint64_t inputs_nonzero;   /* of 100 elements of the left operands, anywhere; 0: nothing is said */
};

/* A trace as if its weights had been pruned: of each so many neighbours along the dimension that products sum
 * over all but some are zero, as with the N:M sparsity of Zhou et al. (Learning N:M fine-grained structured
 * sparse neural networks from scratch, 2021); or, unstructured, some share of all, wherever they lie (Han et
 * al., Learning both weights and connections for efficient neural networks, 2015).
 *
 * Pruned weights are stored without their zeros, with the places of what is left. So less memory is taken and
 * moved on every machine (Xia et al., Flash-LLM, 2023: load as sparse, compute as dense); units that skip
 * zeros (`skips`, `skips_unstructured`) compute less, too. FLOPs are those of what is left. */

/* Activations (`inputs_nonzero`) stay where they are and as large; what GEMMs and convolutions, forward,
 * read as their left operand is known to hold zeros, which units may skip, gate or store apart
 * (`skips_inputs`, `packs_rows`, `gates_zeros`, `inputs_stored`). */

/* Applies the rules (in training, layers whose weights look alike share the first one's): of each layer the
 * first whose pattern fits its scope and that says something of weights, and of inputs. *weights and *inputs
 * are how many descs were pruned and how many signatures know of zeros in their inputs. Otherwise as
 * ll_trace_prune. */
bool ll_trace_sparsify(struct ll_trace *trace, const struct ll_sparsity *rules, size_t count,
                       uint64_t *weights, uint64_t *inputs, const char **trouble);

/* Reads rules from CSV: a header, then rows of a layer's pattern, its weights (2:4, 90 % as 90%, or nothing)
 * and its inputs (45%, or nothing: shares of zeros). *rules lives in the arena. False after complaints, or
 * when memory ran out. */
bool ll_sparsity_read(const char *text, size_t length, const char *name, struct ll_arena *arena,
                      struct ll_diags *diags, struct ll_sparsity **rules, size_t *count);

/* Prunes every weight that forward GEMMs and convolutions have as their right operand and nothing else of
 * the forward phase reads, whose dimension is a multiple of the pattern's and long enough, or, where that is
 * unstructured, is not empty; all others stay as they are, and so do gradients and what optimizers keep.
 * Counts flops and bytes of all signatures anew. *weights is how many descs were pruned. To be called before
 * the trace is shared. False when memory ran out (*trouble is NULL) or *trouble, a static sentence, says what
 * does not work out; the trace is then of no use. */
bool ll_trace_prune(struct ll_trace *trace, const struct ll_pattern *pattern, uint64_t *weights,
                    const char **trouble);

#endif
