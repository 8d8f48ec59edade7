/* SPDX-License-Identifier: Apache-2.0 */
/* Optimizers: the ops that change the weights. */
#ifndef LL_NN_OPTIM_H
#define LL_NN_OPTIM_H

#include "models/nn/nn.h"

#include "models/nn/gradient.h"

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
    double clip_norm; /* or the size of an element */
    uint64_t warmup;  /* ADAM: in step t the rate is multiplied by min(t warmup^-1.5, t^-0.5), rising for so
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
