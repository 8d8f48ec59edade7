/* SPDX-License-Identifier: Apache-2.0 */
/* What the generators of ParaDnn have in common (Wang, Wei, Brooks, "A Systematic Methodology for Analysis of
 * Deep Learning Hardware and Software Platforms", MLSys 2020): types of numbers, labels, loss, optimizer.
 *
 * Weights are held in f32. In a narrower type each is cast once a step before its use, the logits back after
 * it. The host makes a row of zeros and a one of each label; the loss is their mean cross entropy. RMSProp
 * trains, with decay and momentum of 0.9 and 1 under the root. */
#ifndef LL_PARADNN_GENERATED_H
#define LL_PARADNN_GENERATED_H

#include "models/data/images.h"
#include "models/model.h"
#include "models/nn/nn.h"

/* The words of a parameter `dtype`, f32 being the first; others can be recorded, not computed. */
extern const char *const ll_paradnn_dtypes[];

/* Its row in a model's table of parameters. */
#define LL_PARADNN_DTYPE                                                                                     \
    {                                                                                                        \
        "dtype", 0, 0, 2, "type of activations; all but f32 with --dry-run"                                  \
    }

/* To be called first: what is built from here on computes in the type with this number. */
void ll_paradnn_begin(struct ll_nn *nn, int64_t dtype);

/* Logits as numbers of full precision; what is built from here on computes in it. */
struct ll_value *ll_paradnn_logits(struct ll_nn *nn, struct ll_value *logits);

/* The loss of full logits [batch, classes] for labelled samples: one that the host has made rows of. */
struct ll_value *ll_paradnn_loss(struct ll_nn *nn, struct ll_value *logits, const struct ll_images *samples);

/* Trains all weights on it; the rate is in thousandths. */
void ll_paradnn_minimise(struct ll_nn *nn, struct ll_value *loss, int64_t rate);

#endif
