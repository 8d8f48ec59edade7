/* SPDX-License-Identifier: Apache-2.0 */
/* Attention with several heads (Vaswani et al., 2017, section 3.2), in the ops that TensorFlow's
 * Tensor2Tensor has for it: what is looked for, what answers and the answers are matrices already; heads are
 * slices of their columns. */
#ifndef LL_NN_ATTENTION_H
#define LL_NN_ATTENTION_H

#include "models/nn/chance.h"

struct ll_attention_options {
    uint64_t heads;        /* a divisor of the features */
    struct ll_value *bias; /* added to the scores: repeats to [batch, heads, queries, keys]; NULL: nothing */
    struct ll_chance *chance; /* of dropping shares when training; NULL: none is dropped */
    double keep;
};

/* queries[batch, queries, features], keys and values[batch, keys, features] to [batch, queries, features]: of
 * each head softmax(q k^T / sqrt(features / heads) + bias) v. */
struct ll_value *ll_attention(struct ll_nn *nn, struct ll_value *queries, struct ll_value *keys,
                              struct ll_value *values, const struct ll_attention_options *options);

/* A bias that hides from each of so many positions those behind it: 0 or far below any score, a constant
 * [length, length]. */
struct ll_value *ll_causal_bias(struct ll_nn *nn, uint64_t length);

/* What a bias adds to hide something. */
extern const double ll_hidden_score;

/* Layer normalisation of the last dimension (Ba et al., 2016), epsilon under the root: weights "scale" and
 * "bias" of its extent, under the name. */
struct ll_value *ll_layer_norm(struct ll_nn *nn, const char *name, struct ll_value *x, double epsilon);

#endif
