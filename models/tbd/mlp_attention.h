/* SPDX-License-Identifier: Apache-2.0 */
/* Attention by a small network (Bahdanau et al., 2015): a query meets each step of a memory,
 *
 *     share = softmax over steps of (v . tanh(memory K + query Q) + bias)      context = sum share memory
 *
 * Hypotheses of one sentence ask the same memory. Belongs to the program in which it was begun. */
#ifndef LL_TBD_MLP_ATTENTION_H
#define LL_TBD_MLP_ATTENTION_H

#include "models/nn/nn.h"

struct ll_mlp_attention {
    const char *name;
    struct ll_value *memory;         /* [batch, steps, features] */
    struct ll_value *keys;           /* [batch, 1, steps, units] */
    struct ll_value *bias;           /* [batch, 1, steps] */
    struct ll_value *query, *vector; /* weights [queries' features, units], [units] */
};

/* Makes the weights "NAME/key", "NAME/query" and "NAME/vector", as many units as the memory has features, and
 * the keys. The bias is [batch, steps]. */
struct ll_mlp_attention ll_mlp_attention_begin(struct ll_nn *nn, const char *name, struct ll_value *memory,
                                               struct ll_value *bias, uint64_t query_features);

/* The contexts [batch width, features] of queries[batch width, query_features]. */
struct ll_value *ll_mlp_attend(struct ll_nn *nn, const struct ll_mlp_attention *attention,
                               struct ll_value *queries);

#endif
