/* SPDX-License-Identifier: Apache-2.0 */
/* Sampled softmax (Jean et al., 2015): where classes are many, the right one is told from a few hundred
 * others, drawn at random, instead of from all. As TensorFlow's sampled_softmax_loss of 2016 does it. */
#ifndef LL_NN_SAMPLED_H
#define LL_NN_SAMPLED_H

#include "models/nn/chance.h"

struct ll_sampled_softmax {
    struct ll_value *weights; /* [classes, features]: of each class a row */
    struct ll_value *biases;  /* [classes] */
    uint64_t samples;         /* fewer than there are classes */
    struct ll_chance *chance;
};

/* The loss of each row of x[batch, features] whose right class is labels[batch] (i32): [batch]. Classes are
 * numbered by falling frequency; the samples are shared by the batch and drawn anew by each call. A sample
 * that is a row's right class does not count in this row. */
struct ll_value *ll_sampled_softmax_loss(struct ll_nn *nn, const struct ll_sampled_softmax *softmax,
                                         struct ll_value *x, struct ll_value *labels);

#endif
