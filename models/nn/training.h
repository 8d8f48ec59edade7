/* SPDX-License-Identifier: Apache-2.0 */
/* Gradients and the optimizers that use them. Gradients are ops, added to the network's list in the backward
 * phase.
 *
 * Every differentiable op kind has a rule ll_gradient_WORD (gradient_rules.c), named in the op table. What
 * the rules add are ops like any others, so gradients of gradients come from the same call.
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
#ifndef LL_MODELS_NN_TRAINING_H
#define LL_MODELS_NN_TRAINING_H

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

/* Begins the rule of a gradient word, which it declares as well: training.c binds it to its rows. */
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

/* Optimizers: the ops that change the weights. */

/* How gradients are kept small before weights change, by ops as TensorFlow has them. NORM: each gradient is
 * scaled to at most this Euclidean norm. GLOBAL_NORM: all of them by one factor, so that the norm of all
 * together is at most this; rows that stay rows count as they are (Pascanu et al., 2013). VALUE: each element
 * to at most this size. */
enum ll_clip { LL_CLIP_NONE, LL_CLIP_NORM, LL_CLIP_GLOBAL_NORM, LL_CLIP_VALUE };

/* Weights of 16 bits have a master copy and moments of 32 with ADAM: 16 bytes a parameter with the gradient.
 *
 * The names and constants are those of the papers; what a kind does not use is zero. RMSProp's epsilon stands
 * under the root, as TensorFlow has it. */
enum ll_optimizer_kind { LL_SGD, LL_MOMENTUM, LL_ADAM, LL_RMSPROP };
struct ll_optimizer {
    enum ll_optimizer_kind kind;
    double rate, momentum, beta1, beta2, decay, epsilon;
    enum ll_clip clip;
    double clip_norm;    /* or the size of an element */
    bool clips_in_place; /* GLOBAL_NORM: gradients are scaled where they lie, as PyTorch does */
    uint64_t warmup; /* ADAM: in step t the rate is multiplied by min(t warmup^-1.5, t^-0.5), rising for so
                         many steps (Vaswani et al., 2017); 0: the rate stays */
    /* Of filters and matrices, with momentum: so much of the weight joins its gradient. */
    double weight_decay;
    double average; /* how much of a moving average of each weight is left after a step; 0: there is none */
    /* What else happens to a gradient that is whole, after clipping; NULL: nothing. */
    struct ll_value *(*transform)(void *context, struct ll_nn *nn, const struct ll_value *weight,
                                  struct ll_value *gradient);
    void *context;
    const char *only;      /* weights whose names begin so, "critic/"; NULL: all of them */
    bool tells_norm;       /* GLOBAL_NORM: that of what they have become is computed, too */
    const char *unclipped; /* GLOBAL_NORM: weights whose names begin so are left out of it; NULL: none */
};

/* Adds the gradients of the loss with respect to all weights made so far that it depends on, but for frozen
 * ones, then, in the
 * update phase, what keeps them small and one op for each weight, in the order in which the weights were
 * made. Their state (momentum, averages) are variables beside the weight. Gradients that are rows stay rows
 * for SGD and are made whole for the others. A loss that depends on no weight is trouble. */
void ll_minimise(struct ll_nn *nn, struct ll_value *loss, const struct ll_optimizer *optimizer);

/* The same in two steps, where an update is to follow several losses: the gradients of each are added to
 * those of the ones before, then they change the weights. Begun empty, {0}; ll_descend frees what it holds.
 */
struct ll_descent {
    struct ll_value **weights;
    struct ll_nn_gradient *gradients;
    size_t count;
};
void ll_descent_add(struct ll_nn *nn, struct ll_descent *descent, struct ll_value *loss,
                    const struct ll_optimizer *optimizer);
void ll_descend(struct ll_nn *nn, struct ll_descent *descent, const struct ll_optimizer *optimizer);

#endif
