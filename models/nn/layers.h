/* SPDX-License-Identifier: Apache-2.0 */
/* Layers as papers name them: each makes its variables and ops under a scope of its name. Activations are
 * batch, height, width, channel or batch, features. */
#ifndef LL_MODELS_NN_LAYERS_H
#define LL_MODELS_NN_LAYERS_H

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

/* A square convolution of so many channels whose filter starts by fan-in with this gain: 2 in front of a
 * ReLU, else 1. What else there is to say, padding, bias, activation, is that of zeroed options. */
struct ll_conv_options ll_conv_of(uint64_t channels, uint64_t kernel, uint64_t stride, uint64_t filters,
                                  double gain);

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
    bool narrow, held; /* the product is of 8 bits (ll_weight_gemm); its weights are held in them */
};

/* x[batch, features] times "weights" [features, units] plus "biases". */
struct ll_value *ll_dense_layer(struct ll_nn *nn, const char *name, struct ll_value *x,
                                const struct ll_dense_options *options);

/* The largest of each square window, and its mean; what the mean reads outside of the image is zero. */
struct ll_value *ll_max_pool_layer(struct ll_nn *nn, const char *name, struct ll_value *x, uint64_t kernel,
                                   uint64_t stride, enum ll_padding padding);
struct ll_value *ll_avg_pool_layer(struct ll_nn *nn, const char *name, struct ll_value *x, uint64_t kernel,
                                   uint64_t stride, enum ll_padding padding);

/* Windows that slide along the depth of volumes [batch, depth, height, width, channels], over zeros, or
 * whatever lies outside, before and after it. With the height and the width of a window they are convolutions
 * and pools in three dimensions: of images, one for each position along the depth, [batch positions, height,
 * width, ...], as libraries gather them. */
struct ll_depth_window {
    uint64_t size, stride, before, after;
};

/* Positions of such a window along so many slices. */
uint64_t ll_depth_positions(uint64_t slices, const struct ll_depth_window *window);

/* Images to convolve, [batch positions, height, width, size channels]: the channels of all slices that a
 * window reaches, side by side, or those of each group. A filter [height, width, size in, out] then weighs a
 * volume. */
struct ll_value *ll_volume_to_convolve(struct ll_nn *nn, struct ll_value *volume,
                                       const struct ll_depth_window *window, uint64_t groups);

/* Images to pool, [batch positions, height size, width, channels]: the rows of all slices that a window
 * reaches, those of one height side by side. A pool whose heights (kernel, stride, padding) are all `size`
 * times as large then pools a volume. `outside` is what a slice outside of the volume has. */
struct ll_value *ll_volume_to_pool(struct ll_nn *nn, struct ll_value *volume,
                                   const struct ll_depth_window *window, double outside);

/* Images [batch positions, height, width, channels] as volumes of so many slices. */
struct ll_value *ll_as_volume(struct ll_nn *nn, struct ll_value *images, uint64_t slices);

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

/* Attention with several heads (Vaswani et al., 2017, section 3.2), in the ops that TensorFlow's
 * Tensor2Tensor has for it: what is looked for, what answers and the answers are matrices already; heads are
 * slices of their columns. */

struct ll_attention_options {
    uint64_t heads;        /* a divisor of the features */
    struct ll_value *bias; /* added to the scores: repeats to [batch, heads, queries, keys]; NULL: nothing */
    struct ll_rng *rng;    /* of dropping shares when training; NULL: none is dropped */
    double keep;
};

/* queries[batch, queries, features], keys and values[batch, keys, features] to [batch, queries, features]: of
 * each head softmax(q k^T / sqrt(features / heads) + bias) v. */
struct ll_value *ll_attention(struct ll_nn *nn, struct ll_value *queries, struct ll_value *keys,
                              struct ll_value *values, const struct ll_attention_options *options);

/* A bias that hides from each of so many positions those behind it: 0 or far below any score, a constant
 * [length, length]. */
struct ll_value *ll_causal_bias(struct ll_nn *nn, uint64_t length);

/* What a bias adds to hide something. */
extern const double ll_hidden_score;

/* Layer normalisation of the last dimension (Ba et al., 2016), epsilon under the root: weights "scale" and
 * "bias" of its extent, under the name. */
struct ll_value *ll_layer_norm(struct ll_nn *nn, const char *name, struct ll_value *x, double epsilon);

/* What recurrent networks repeat at every step of a sequence: weights are made once, applied often.
 *
 * A layer belongs to the program in which it was made. Activations are [batch, features]. */

/* The products of several inputs with one matrix, and a bias: [x1 x2 ...] W + b, concatenated first, as
 * TensorFlow's `linear` of 2016. */
struct ll_linear {
    struct ll_value *weights, *biases;
};

/* Makes "NAME/weights" [inputs, units] and "NAME/biases", which start at zero. */
struct ll_linear ll_linear_begin(struct ll_nn *nn, const char *name, uint64_t inputs, uint64_t units,
                                 struct ll_init init);

/* Adds the ops to the current scope: concat (of more than one input), matmul, bias_add. */
struct ll_value *ll_linear_apply(struct ll_nn *nn, const struct ll_linear *linear, uint32_t count,
                                 struct ll_value *const *inputs);

/* A long short-term memory (Hochreiter and Schmidhuber, 1997; forget gate: Gers et al., 2000) as
 * TensorFlow's BasicLSTMCell: no peepholes, gates in the order input, candidate, forget, output,
 *
 *     c' = c sigmoid(f + 1) + sigmoid(i) tanh(j)          h' = tanh(c') sigmoid(o)                     */
struct ll_lstm {
    const char *name;
    struct ll_linear gates; /* [inputs + units, 4 units] */
    bool unbiased;          /* nothing is added to the forget gate: sigmoid(f) */
};
struct ll_lstm_state {
    struct ll_value *c, *h;
};

/* Makes the weights "NAME/weights" and "NAME/biases". */
struct ll_lstm ll_lstm_begin(struct ll_nn *nn, const char *name, uint64_t inputs, uint64_t units,
                             struct ll_init init);

/* One step, 14 ops, or 13 of an unbiased one, under the layer's name: x is the layer's input, the result the
 * state after it, of which h is the output. */
struct ll_lstm_state ll_lstm_step(struct ll_nn *nn, const struct ll_lstm *lstm, struct ll_value *x,
                                  struct ll_lstm_state state);

/* A long short-term memory as MXNet's LSTMCell: input and state have products and biases of their own, gates
 * in the order input, forget, candidate, output; the forget gate's one more is its input bias' first value.
 */
struct ll_split_lstm {
    const char *name;
    struct ll_linear input, state; /* [inputs, 4 units], [units, 4 units] */
};

/* Makes the weights "NAME/i2h/..." and "NAME/h2h/...". */
struct ll_split_lstm ll_split_lstm_begin(struct ll_nn *nn, const char *name, uint64_t inputs, uint64_t units,
                                         struct ll_init init);

/* One step, 15 ops. */
struct ll_lstm_state ll_split_lstm_step(struct ll_nn *nn, const struct ll_split_lstm *lstm,
                                        struct ll_value *x, struct ll_lstm_state state);

/* A gated recurrent unit (Cho et al., 2014) as MXNet's GRUCell, without the products of its input, which can
 * be taken of a whole sequence at once:
 *
 *     [r u] = sigmoid(input_gates + h G + b)       c = tanh(input_candidate + (r h) C + b)
 *     h' = h + u (c - h)                                                                               */
struct ll_gru {
    const char *name;
    struct ll_linear gates, candidate; /* of the state: [units, 2 units], [units, units] */
};

/* Makes the weights "NAME/gates_h2h/..." and "NAME/candidate_h2h/...". */
struct ll_gru ll_gru_begin(struct ll_nn *nn, const char *name, uint64_t units, struct ll_init init);

/* One step, 13 ops: the state after it. Inputs are [batch, 2 units] and [batch, units], biases included. */
struct ll_value *ll_gru_step(struct ll_nn *nn, const struct ll_gru *gru, struct ll_value *input_gates,
                             struct ll_value *input_candidate, struct ll_value *h);

/* Losses and what is measured beside them. */

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

/* Sampled softmax (Jean et al., 2015): where classes are many, the right one is told from a few hundred
 * others, drawn at random, instead of from all. As TensorFlow's sampled_softmax_loss of 2016 does it. */

struct ll_sampled_softmax {
    struct ll_value *weights; /* [classes, features]: of each class a row */
    struct ll_value *biases;  /* [classes] */
    uint64_t samples;         /* fewer than there are classes */
    struct ll_rng *rng;
};

/* The loss of each row of x[batch, features] whose right class is labels[batch] (i32): [batch]. Classes are
 * numbered by falling frequency; the samples are shared by the batch and drawn anew by each call. A sample
 * that is a row's right class does not count in this row. */
struct ll_value *ll_sampled_softmax_loss(struct ll_nn *nn, const struct ll_sampled_softmax *softmax,
                                         struct ll_value *x, struct ll_value *labels);

#endif
