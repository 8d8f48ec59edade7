/* SPDX-License-Identifier: Apache-2.0 */
/* Optimizers: the ops that change the weights. */
#ifndef LL_NN_OPTIM_H
#define LL_NN_OPTIM_H

#include "models/nn/nn.h"

#include "models/nn/gradient.h"

/* How gradients are kept small before weights change, by ops as TensorFlow has them. NORM: each gradient is
 * scaled to at most this Euclidean norm. GLOBAL_NORM: all of them by one factor, so that the norm of all
 * together is at most this; rows that stay rows count as they are (Pascanu et al., 2013). */
enum ll_clip { LL_CLIP_NONE, LL_CLIP_NORM, LL_CLIP_GLOBAL_NORM };

/* The names and constants are those of the papers; what a kind does not use is zero. RMSProp's epsilon stands
 * under the root, as TensorFlow has it. */
enum ll_optimizer_kind { LL_SGD, LL_MOMENTUM, LL_ADAM, LL_RMSPROP };
struct ll_optimizer {
    enum ll_optimizer_kind kind;
    double rate, momentum, beta1, beta2, decay, epsilon;
    enum ll_clip clip;
    double clip_norm;
    double weight_decay; /* of filters and matrices, with momentum: so much of the weight joins its gradient */
    double average; /* how much of a moving average of each weight is left after a step; 0: there is none */
    /* What else happens to a gradient that is whole, after clipping; NULL: nothing. */
    struct ll_value *(*transform)(void *context, struct ll_nn *nn, const struct ll_value *weight,
                                  struct ll_value *gradient);
    void *context;
};

/* Adds the gradients of the loss with respect to all weights made so far that it depends on, but for frozen
 * ones, then, in the
 * update phase, what keeps them small and one op for each weight, in the order in which the weights were
 * made. Their state (momentum, averages) are variables beside the weight. Gradients that are rows stay rows
 * for SGD and are made whole for the others. A loss that depends on no weight is trouble. */
void ll_minimise(struct ll_nn *nn, struct ll_value *loss, const struct ll_optimizer *optimizer);

#endif
