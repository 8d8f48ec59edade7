/* SPDX-License-Identifier: Apache-2.0 */
/* Optimizers: the ops that change the weights. */
#ifndef LL_NN_OPTIM_H
#define LL_NN_OPTIM_H

#include "models/nn/nn.h"

/* The names and constants are those of the papers; what a kind does not use is zero. */
enum ll_optimizer_kind { LL_SGD, LL_MOMENTUM, LL_ADAM };
struct ll_optimizer {
    enum ll_optimizer_kind kind;
    double rate, momentum, beta1, beta2, epsilon;
};

/* Adds the gradients of the loss with respect to all weights made so far that it depends on, then, in the
 * update phase, one op for each weight, in the order in which the weights were made. Their state (momentum,
 * Adam's two averages) are variables beside the weight. */
void ll_minimise(struct ll_nn *nn, struct ll_value *loss, const struct ll_optimizer *optimizer);

#endif
