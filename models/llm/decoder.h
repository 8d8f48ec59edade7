/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of a language model share while it is built: sequences, rows, matrices.
 *
 * All new tokens of a step are rows [rows, features], sequence after sequence. Sequences of equal length are
 * a group; attention is an op for each group, all else one for all rows. Views say what a kernel reads where
 * it lies: of a matrix that one GEMM makes, queries, keys and values are columns; heads of rows are seen as
 * [batch, heads, tokens, features]. Trouble is the network's (nn.h). One thread at a time. */
#ifndef LL_MODELS_LLM_DECODER_H
#define LL_MODELS_LLM_DECODER_H

#include "models/llm/config.h"
#include "models/nn/nn.h"

/* So many sequences, each with new tokens behind those that were before. */
struct ll_llm_group {
    uint64_t count, tokens, past;
    uint64_t first; /* row of the first one's first token */
};

enum { LL_LLM_MOST_GROUPS = 64 };

struct ll_llm_decoder {
    struct ll_nn *nn;
    const struct ll_llm *llm;
    bool train;
    bool remembers;      /* keys, values and states are kept in a memory */
    bool asks_last;      /* the next token of each sequence is asked for, of no other */
    enum ll_dtype cache; /* of keys and values in that memory */
    struct ll_llm_formats formats;
    struct ll_llm_group groups[LL_LLM_MOST_GROUPS];
    uint32_t group_count;
    uint64_t rows, sequences;
    /* Keys and values that later layers may take: of the last layer without a window, and with one. */
    struct ll_value *kv[2][LL_LLM_MOST_GROUPS][2];
};

/* x times a weight matrix "NAME/weights" [features, units]; roles of both. */
struct ll_llm_matrix {
    const char *name;
    uint64_t units;
    enum ll_role from, to;
    bool biased;
    bool whole; /* of 16 bits, whatever the format: routers, heads */
};
struct ll_value *ll_llm_dense(struct ll_llm_decoder *d, struct ll_value *x,
                              const struct ll_llm_matrix *matrix);

/* Several of one x: one GEMM whose columns they are. parts: count results. */
void ll_llm_dense_parts(struct ll_llm_decoder *d, const char *name, struct ll_value *x,
                        const struct ll_llm_matrix *matrices, uint32_t count, struct ll_value **parts);

/* Rows over the root of their mean square, by a weight "NAME/scale" of the last dimension. */
struct ll_value *ll_llm_norm(struct ll_llm_decoder *d, const char *name, struct ll_value *x);

/* What lies in memory already, seen in another shape; of `count` pieces as one. */
struct ll_value *ll_llm_seen(struct ll_llm_decoder *d, struct ll_value *const *pieces, uint32_t count,
                             unsigned rank, const uint64_t *dims, const enum ll_role *roles);

/* Elements begin to begin + size - 1 of dimension `axis`, where they lie. */
struct ll_value *ll_llm_part(struct ll_llm_decoder *d, struct ll_value *x, unsigned axis, uint64_t begin,
                             uint64_t size);

/* A weight that is a line of so many. */
struct ll_value *ll_llm_line(struct ll_llm_decoder *d, const char *name, uint64_t size, enum ll_role role);

/* One op without further ado. */
struct ll_value *ll_llm_op(struct ll_llm_decoder *d, enum ll_op_kind kind, uint32_t count,
                           struct ll_value *const *inputs, const struct ll_attr *attrs, uint32_t attr_count);

/* --- what mixers share (mixers.c) --- */

/* A variable that outlives the step, no weight: a cache, a state, of group `group`. */
struct ll_value *ll_llm_kept(struct ll_llm_decoder *d, const char *name, uint32_t group, enum ll_dtype dtype,
                             unsigned rank, const uint64_t *dims, const enum ll_role *roles);

/* x, [batch, ..., tokens, ...] with tokens along `axis`, put behind what was in a memory of so many; the
 * memory, or x where nothing is kept. */
struct ll_value *ll_llm_remembered(struct ll_llm_decoder *d, const char *name, uint32_t group,
                                   struct ll_value *x, unsigned axis, uint64_t keys);

/* Tokens of a sequence that an attention has at hand: those that a query of its new tokens may see. */
uint64_t ll_llm_keys_of(const struct ll_llm_layer *layer, const struct ll_llm_group *group);

/* Rows of a group, of x; what the groups gave, as rows of all. */
struct ll_value *ll_llm_rows_of(struct ll_llm_decoder *d, struct ll_value *x, const struct ll_llm_group *g);
struct ll_value *ll_llm_all_rows(struct ll_llm_decoder *d, struct ll_value *const *of_groups,
                                 uint64_t features, enum ll_role role);

/* Rows [rows, heads features] with each head turned by its token's place. */
struct ll_value *ll_llm_turned(struct ll_llm_decoder *d, struct ll_value *x, uint64_t heads,
                               uint64_t features);

/* A stack of GEMMs by weights "NAME/weights" [heads, from, to], of rows [rows, heads from]. */
struct ll_value *ll_llm_by_head(struct ll_llm_decoder *d, const char *name, struct ll_value *x,
                                uint64_t heads, uint64_t from, uint64_t to);

/* Whether all sequences have few new tokens, so that attention to latent vectors works in their space. */
bool ll_llm_absorbs(const struct ll_llm_decoder *d);

/* Compressed attention (compressed.c). */
struct ll_value *ll_llm_compressed(struct ll_llm_decoder *d, const struct ll_llm_layer *layer,
                                   struct ll_value *n);

/* What a layer adds to x [rows, hidden], of n = norm(x): its mixer (mixers.c), its feed-forward part
 * (feed_forward.c). */
struct ll_value *ll_llm_mixed(struct ll_llm_decoder *d, const struct ll_llm_layer *layer, struct ll_value *n);
struct ll_value *ll_llm_fed(struct ll_llm_decoder *d, const struct ll_llm_layer *layer, struct ll_value *n);

#endif
