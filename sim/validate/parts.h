/* SPDX-License-Identifier: Apache-2.0 */
/* What the layers of network.c are made of: each part asks a machine for some ops, in the passes that are
 * wanted, on an image that is on its way through a network. Private to sim/validate.
 *
 * A part adds its ops to the row's works, and leaves the walk with the image that comes out of it. The order
 * is that of the layers, forward and backward side by side: times are summed. */
#ifndef LL_SIM_VALIDATE_PARTS_H
#define LL_SIM_VALIDATE_PARTS_H

#include "sim/validate/layers.h"

#include <stdbool.h>

enum ll_row_pass { LL_ROW_FORWARD = 1, LL_ROW_BACKWARD = 2, LL_ROW_UPDATE = 4 };

/* What follows a convolution or product, element by element, and what flows back through it. */
struct ll_row_activation {
    enum ll_op_kind kind, gradient;
    uint64_t flops, gradient_flops; /* of an element */
};

/* The image between two layers, and what is wanted of each of them. A copy goes another way from there. */
struct ll_row_walk {
    struct ll_row_works *r;
    unsigned passes; /* bits of enum ll_row_pass */
    uint64_t batch, c, h, w;
    enum ll_op_kind optimizer;
    const struct ll_row_activation *activation; /* where a layer does not have another one; static storage */
    bool first;                                 /* nothing flows back through the first layer */
    bool trains;                                /* statistics of normalisation are those of the batch */
    bool casts; /* weights become the computed type, where that is narrower, at each use */
};

/* An op on each element of the image; it reads `inputs` tensors of that size. */
void ll_part_forward(struct ll_row_walk *w, enum ll_op_kind kind, uint64_t inputs, uint64_t flops_each);
void ll_part_backward(struct ll_row_walk *w, enum ll_op_kind kind, uint64_t inputs, uint64_t flops_each);

/* The optimizer's work on so many weights. */
void ll_part_update(struct ll_row_walk *w, uint64_t weights);

/* A number for each channel is added to the image: a weight of the convolution or product before. */
void ll_part_add_bias(struct ll_row_walk *w);

/* The gradient is made of what flows in and of another tensor of that size. */
void ll_part_activate(struct ll_row_walk *w, const struct ll_row_activation *activation);

/* Batch normalisation, whose weights belong to the convolution before. */
void ll_part_normalise(struct ll_row_walk *w);

/* A convolution as the layer says it. `beside`: how many weights each filter has beside its own. */
void ll_part_convolve(struct ll_row_walk *w, const struct ll_layer *l, uint64_t beside);

/* Each window's largest element, LL_OP_MAX_POOL, or its mean, LL_OP_AVG_POOL. */
void ll_part_pool(struct ll_row_walk *w, enum ll_op_kind kind, uint64_t window, uint64_t stride,
                  uint64_t padding);

/* The mean of each channel. */
void ll_part_mean(struct ll_row_walk *w);

/* Each channel times a number of its own, which has come another way. */
void ll_part_scale(struct ll_row_walk *w);

/* All elements of an image times a matrix, and a bias; or the channels of each place alone. */
void ll_part_dense(struct ll_row_walk *w, uint64_t outputs);
void ll_part_project(struct ll_row_walk *w, uint64_t outputs);

/* Layer normalisation of the channels of each place, weights included. */
void ll_part_layer_norm(struct ll_row_walk *w);

/* Attention of each place to all places, between projections, in heads that share the channels. */
void ll_part_attend(struct ll_row_walk *w, uint64_t heads);

/* A weight for each element of an image is added to it. */
void ll_part_add_places(struct ll_row_walk *w);

/* Gradients that come back by several ways are added up, one to another. */
void ll_part_gather(struct ll_row_walk *w, unsigned ways);

/* In one pass, the image is read and written somewhere else. */
void ll_part_move(struct ll_row_walk *w, enum ll_row_pass pass, enum ll_op_kind kind);

#endif
