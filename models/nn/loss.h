/* SPDX-License-Identifier: Apache-2.0 */
/* Losses and what is measured beside them. */
#ifndef LL_NN_LOSS_H
#define LL_NN_LOSS_H

#include "models/nn/nn.h"

/* The mean over the batch of the cross entropy between softmax(logits[batch, classes]) and class numbers
 * labels[batch] (i32): a scalar. */
struct ll_value *ll_softmax_loss(struct ll_nn *nn, struct ll_value *logits, struct ll_value *labels);

/* The mean over the batch of the connectionist temporal classification loss (Graves et al., 2006) of
 * logits[steps, batch, classes] and labels[batch, most labels], i32: of an utterance the first lengths[batch]
 * labels and times[batch] steps count. A scalar. */
struct ll_value *ll_ctc_loss(struct ll_nn *nn, struct ll_value *logits, struct ll_value *labels,
                             struct ll_value *lengths, struct ll_value *times);

/* The share of rows whose largest logit is the label's: a scalar, kept. */
struct ll_value *ll_accuracy(struct ll_nn *nn, struct ll_value *logits, struct ll_value *labels);

/* The focal loss (Lin et al., 2017, equation 5) of each row of logits[rows, classes], one logistic regression
 * a class, summed: [rows], by labels[rows], i32. Label 0 is none of them, k is class k - 1, below 0 there is
 * no loss. */
struct ll_value *ll_focal_loss(struct ll_nn *nn, struct ll_value *logits, struct ll_value *labels,
                               double alpha, double gamma);

/* Of each element x^2 / (2 limit), from the limit on |x| - limit / 2 (Girshick, 2015, equation 3, whose limit
 * is 1); x's shape. */
struct ll_value *ll_smooth_l1(struct ll_nn *nn, struct ll_value *x, double limit);

#endif
