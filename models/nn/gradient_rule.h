/* SPDX-License-Identifier: Apache-2.0 */
/* For the files that hold gradient rules: how one begins, and what they have in common. */
#ifndef LL_NN_GRADIENT_RULE_H
#define LL_NN_GRADIENT_RULE_H

#include "models/nn/formula.h"
#include "models/nn/gradient.h"

ll_gradient_rule ll_gradient_UNKNOWN;

/* Begins the rule of a gradient word, which it declares as well: gradient.c binds it to its rows. */
#define LL_GRADIENT(word)                                                                                    \
    ll_gradient_rule ll_gradient_##word;                                                                     \
    void ll_gradient_##word(struct ll_nn *nn, const struct ll_gradient_call *call)

/* An op with the attributes of another, whose gradient it is part of; `given` is its result's shape where the
 * kind asks for one, else NULL. */
static inline struct ll_value *ll_with_attrs(struct ll_nn *nn, enum ll_op_kind kind,
                                             const struct ll_nn_op *forward, uint32_t input_count,
                                             struct ll_value *const *inputs, const struct ll_shape *given)
{
    return ll_nn_do(nn, &(struct ll_nn_call){
                            .kind = kind,
                            .input_count = input_count,
                            .inputs = inputs,
                            .attr_count = forward->view.attr_count,
                            .attrs = forward->view.attrs,
                            .given_count = given ? 1 : 0,
                            .given = given,
                        });
}

/* Zeros where nothing flows. */
static inline struct ll_value *ll_zero_flow(struct ll_nn *nn, const struct ll_shape *shape)
{
    return nn->as_tensorflow ? ll_made_zeros(nn, shape) : ll_zeros(nn, shape);
}

/* What flows into x where dy flows into y = softmax(x): y (dy - sum dy y), the sum over the last dimension.
 */
struct ll_value *ll_through_softmax(struct ll_nn *nn, struct ll_value *y, struct ll_value *dy);

#endif
