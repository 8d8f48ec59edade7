/* SPDX-License-Identifier: Apache-2.0 */
/* Gradients: ops that compute them, added to the network's list in the backward phase.
 *
 * Every differentiable op kind has a rule ll_gradient_WORD (gradient_rules.c), named in the op
 * table. What the rules add are ops like any others, so gradients of gradients come from the same call.
 *
 * A network `as_tensorflow` gets the ops that TensorFlow 1 puts into the graph of a recurrent network whose
 * batch is not known beforehand, which is what Catamount counts:
 *   - what flows into a side of an elementwise op is summed over the dimensions along which that side
 *     repeats, though there be none, and seen in its shape;
 *   - an op on the way gives the gradients of all its inputs, wanted or not;
 *   - what arrives at a value is added by one `add_n` when all of it has arrived;
 *   - a weight that is read several times is read by a loop: its gradient starts as zeros, to which each
 *     step adds its own;
 *   - zeros are made by ops: for those, for what nothing flows into, and for what leaves a loop unread. */
#ifndef LL_MODELS_NN_GRADIENT_H
#define LL_MODELS_NN_GRADIENT_H

#include "models/nn/nn.h"

/* Adds the ops that compute the gradients of `loss` (a scalar) with respect to `count` values, and writes the
 * results to `gradients`; NULL where the loss does not depend on a value. Only what these need is computed:
 * the first layer's input has no gradient unless it is asked for. A value that is used several times has the
 * sum, in the order in which the uses are met going backward; from the third on they are added over it. */
void ll_nn_gradients(struct ll_nn *nn, struct ll_value *loss, struct ll_value *const *values, size_t count,
                     struct ll_value **gradients);

/* A gradient, or the rows of it that are not zero: row i of `value` is to be added to row indices[i] of the
 * gradient, several times perhaps (TensorFlow's IndexedSlices). indices is NULL where it is whole; value is
 * NULL where the loss does not depend on what was asked about. */
struct ll_nn_gradient {
    struct ll_value *value, *indices;
};

/* The same, where gradients that only come from picking rows stay rows. */
void ll_nn_sparse_gradients(struct ll_nn *nn, struct ll_value *loss, struct ll_value *const *values,
                            size_t count, struct ll_nn_gradient *gradients);

/* The whole gradient, of this shape. */
struct ll_value *ll_gradient_whole(struct ll_nn *nn, struct ll_nn_gradient gradient,
                                   const struct ll_shape *shape);

/* A rule: from the gradients of the op's results (NULL: nothing flows) those of its inputs, for each i with
 * wanted[i]; dx[i] is NULL before and may stay so where nothing flows. Where indices[i] is set, dx[i] is
 * rows. */
struct ll_gradient_call {
    const struct ll_nn_op *op;
    struct ll_value *const *dy;
    const bool *wanted;
    struct ll_value **dx, **indices;
};
typedef void ll_gradient_rule(struct ll_nn *nn, const struct ll_gradient_call *call);

/* For the files that hold gradient rules: how one begins, and what they have in common. */

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

#endif
