/* SPDX-License-Identifier: Apache-2.0 */
/* Layers as papers name them: each makes its variables and ops under a scope of its name. Activations are
 * batch, height, width, channel or batch, features. */
#ifndef LL_NN_LAYERS_H
#define LL_NN_LAYERS_H

#include "models/nn/nn.h"

/* SAME: as many results as the stride allows, ceil(size / stride), the padding split evenly and the odd one
 * after, as TensorFlow does. HALF: half the kernel, rounded down, on every side, as He et al. VALID: no
 * padding. */
enum ll_padding { LL_SAME, LL_HALF, LL_VALID };

enum ll_activation { LL_LINEAR, LL_RELU, LL_RELU6 }; /* LL_RELU6: min(max(x, 0), 6) */

/* What is added to a product: a bias by an op of its own, a bias by the elementwise sum (whose gradient is a
 * sum, as in the TensorFlow of 2016), or nothing. */
enum ll_bias { LL_BIAS, LL_BIAS_BY_ADD, LL_NO_BIAS };

struct ll_conv_options {
    uint64_t kernel, filters; /* 0 filters: one for each channel, which it alone reads (depthwise) */
    uint64_t kernel_w;        /* 0: square, as high as wide */
    uint64_t stride;          /* 0: 1 */
    uint64_t groups;          /* of channels, each with filters of its own; 0: 1 */
    enum ll_padding padding;
    enum ll_bias bias;
    enum ll_activation activation;
    struct ll_init init; /* of the filter */
    double bias_start;   /* each element of the bias, at first */
};

/* Filters, the bias, and what comes after. Weights: "weights" [kernel, kernel_w, in / groups, filters],
 * "biases". */
struct ll_value *ll_conv_layer(struct ll_nn *nn, const char *name, struct ll_value *x,
                               const struct ll_conv_options *options);

/* The two halves of it, for filters that several inputs of so many channels share. Weights are made in the
 * scope that is open; the options say what happens to x. */
struct ll_conv_weights {
    struct ll_value *filter, *biases; /* biases: NULL where there are none */
};
struct ll_conv_weights ll_conv_weights(struct ll_nn *nn, uint64_t channels,
                                       const struct ll_conv_options *options);
struct ll_value *ll_conv_apply(struct ll_nn *nn, struct ll_value *x, struct ll_conv_weights weights,
                               const struct ll_conv_options *options);

struct ll_dense_options {
    uint64_t units;
    enum ll_activation activation;
    struct ll_init init;
    enum ll_bias bias;
    double bias_start; /* each element of the bias, at first */
    bool narrow, held; /* the product is of 8 bits (ll_weight_product); its weights are held in them */
};

/* x[batch, features] times "weights" [features, units] plus "biases". */
struct ll_value *ll_dense_layer(struct ll_nn *nn, const char *name, struct ll_value *x,
                                const struct ll_dense_options *options);

/* The largest of each square window, and its mean; what the mean reads outside of the image is zero. */
struct ll_value *ll_max_pool_layer(struct ll_nn *nn, const char *name, struct ll_value *x, uint64_t kernel,
                                   uint64_t stride, enum ll_padding padding);
struct ll_value *ll_avg_pool_layer(struct ll_nn *nn, const char *name, struct ll_value *x, uint64_t kernel,
                                   uint64_t stride, enum ll_padding padding);

/* Batch normalisation over all but the channels (Ioffe and Szegedy, 2015, algorithm 1), epsilon under the
 * root: weights "gamma" and "beta" [channels]. When training, mean and variance are the batch's, and their
 * moving averages "mean" and "variance" follow; else they are these averages. */
struct ll_batch_norm_options {
    bool train;
    bool frozen;           /* gamma and beta are not trained */
    bool unscaled;         /* gamma stays one and is no weight (MXNet's fix_gamma) */
    bool silent;           /* gamma is zero at first: nothing but the shortcut passes (Goyal et al., 2017) */
    bool still;            /* the averages stay as they are */
    double epsilon, decay; /* decay: how much of an average is left after a step */
};
struct ll_value *ll_batch_norm_layer(struct ll_nn *nn, const char *name, struct ll_value *x,
                                     const struct ll_batch_norm_options *options);

/* A convolution without bias, normalised, and what the convolution's options have for activation behind both.
 * Without an init its filters keep the size of what passes. */
struct ll_value *ll_conv_norm_layer(struct ll_nn *nn, const char *name, struct ll_value *x,
                                    const struct ll_conv_options *conv,
                                    const struct ll_batch_norm_options *norm);

/* The mean of each channel of [batch, height, width, channel]: [batch, channel]. */
struct ll_value *ll_global_average_pool(struct ll_nn *nn, const char *name, struct ll_value *x);

/* Local response normalisation over 2 radius + 1 channels (Krizhevsky et al., 2012, section 3.3, with
 * TensorFlow's alpha): x / (bias + alpha sum x^2)^beta. */
struct ll_lrn_options {
    int64_t radius;
    double bias, alpha, beta;
};
struct ll_value *ll_lrn_layer(struct ll_nn *nn, const char *name, struct ll_value *x,
                              const struct ll_lrn_options *options);

/* [batch, ...] seen as [batch, features]. */
struct ll_value *ll_flatten(struct ll_nn *nn, struct ll_value *x);

#endif
