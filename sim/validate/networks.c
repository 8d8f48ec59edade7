/* SPDX-License-Identifier: Apache-2.0 */
/* Whole networks as work: the parts that layers are made of (convolution, norm, attention, optimizer update),
 * one function per layer letter of networks.def, and the walk over a network's layers. */
#include "sim/validate/networks.h"

#include <stdlib.h>
#include <string.h>

enum { MASTER_BYTES = 4 }; /* of a weight that is trained, and of its gradient */

static uint64_t image(const struct ll_row_walk *w)
{
    return ll_mul(ll_mul(w->batch, w->c), ll_mul(w->h, w->w));
}

/* An op on each element of the image; it reads `inputs` tensors of that size. */
static void part_forward(struct ll_row_walk *w, enum ll_op_kind kind, uint64_t inputs, uint64_t flops_each)
{
    if (w->passes & LL_ROW_FORWARD)
        ll_row_vector(w->r, kind, image(w), inputs, flops_each);
}

static void part_backward(struct ll_row_walk *w, enum ll_op_kind kind, uint64_t inputs, uint64_t flops_each)
{
    if (w->passes & LL_ROW_BACKWARD)
        ll_row_vector(w->r, kind, image(w), inputs, flops_each);
}

/* All elements of a channel are looked at before any of them is done. */
static void whole_channels(struct ll_row_walk *w, unsigned pass, enum ll_op_kind kind, uint64_t inputs)
{
    if (w->passes & pass)
        ll_row_vector(w->r, kind, image(w), inputs, 6)->vector.row = ll_mul(w->batch, ll_mul(w->h, w->w));
}

/* Replicas add up their gradients and take the mean; then the optimizer reads weights, state and gradients
 * and writes all but the gradients. */
static void part_update(struct ll_row_walk *w, uint64_t weights)
{
    bool two_states = w->optimizer == LL_OP_RMSPROP;
    struct ll_work *work;
    if (!(w->passes & LL_ROW_UPDATE))
        return;
    if (w->r->devices > 1) {
        work = ll_row_add(w->r, LL_WORK_COLLECTIVE, LL_OP_ADD_N);
        work->a_bytes = work->c_bytes = ll_mul(weights, MASTER_BYTES);
        work = ll_row_vector(w->r, LL_OP_MUL, weights, 1, 1);
        work->a_bytes = work->c_bytes = ll_mul(weights, MASTER_BYTES);
    }
    work = ll_row_vector(w->r, w->optimizer, weights, 0, two_states ? 9 : 4);
    work->a_bytes = ll_mul(weights, MASTER_BYTES * (two_states ? 4 : 3));
    work->c_bytes = ll_mul(weights, MASTER_BYTES * (two_states ? 3 : 2));
}

static void reduce(struct ll_row_walk *w, enum ll_op_kind kind, uint64_t inputs, uint64_t outputs)
{
    struct ll_work *work = ll_row_add(w->r, LL_WORK_REDUCE, kind);
    work->reduce.in_elements = work->flops = inputs;
    work->reduce.out_elements = outputs;
    work->a_bytes = ll_mul(w->r->element_bytes, inputs);
    work->c_bytes = ll_mul(w->r->element_bytes, outputs);
}

/* A number for each channel is added to the image: a weight of the convolution or GEMM before. */
static void part_add_bias(struct ll_row_walk *w)
{
    part_forward(w, LL_OP_BIAS_ADD, 1, 1);
    if (w->passes & LL_ROW_BACKWARD)
        reduce(w, LL_OP_BIAS_GRAD, image(w), w->c);
}

/* The gradient is made of what flows in and of another tensor of that size. */
static void part_activate(struct ll_row_walk *w, const struct ll_row_activation *activation)
{
    part_forward(w, activation->kind, 1, activation->flops);
    part_backward(w, activation->gradient, 2, activation->gradient_flops);
}

/* Batch normalisation, whose weights belong to the convolution before. */
static void part_normalise(struct ll_row_walk *w)
{
    if (w->trains)
        whole_channels(w, LL_ROW_FORWARD, LL_OP_BATCH_NORM, 1);
    else
        part_forward(w, LL_OP_BATCH_NORM_FIXED, 1, 2);
    whole_channels(w, LL_ROW_BACKWARD, LL_OP_BATCH_NORM_GRAD, 2);
}

static void cast(struct ll_row_walk *w, uint64_t weights)
{
    if (!w->casts || w->r->element_bytes >= MASTER_BYTES || !(w->passes & LL_ROW_FORWARD))
        return;
    struct ll_work *work = ll_row_add(w->r, LL_WORK_MOVE, LL_OP_CAST);
    work->a_bytes = ll_mul(MASTER_BYTES, weights);
    work->c_bytes = ll_mul(w->r->element_bytes, weights);
}

/* A convolution as the layer says it. `beside`: how many weights each filter has beside its own. */
static void part_convolve(struct ll_row_walk *w, const struct ll_layer *l, uint64_t beside)
{
    uint64_t filters = l->number, kernel = l->kernel, stride = l->stride, padding = l->padding,
             groups = l->groups;
    struct ll_conv conv = {.batch = w->batch,
                           .in_h = w->h,
                           .in_w = w->w,
                           .in_c = w->c,
                           .out_c = filters,
                           .kernel_h = kernel,
                           .kernel_w = kernel,
                           .stride_h = stride,
                           .stride_w = stride,
                           .groups = groups,
                           .pass = LL_CONV_FORWARD};
    cast(w, ll_mul(ll_mul(kernel, kernel), ll_mul(w->c / groups, filters)));
    if (w->passes & LL_ROW_FORWARD)
        ll_row_conv(w->r, conv, padding, padding);
    conv.pass = LL_CONV_DATA;
    if ((w->passes & LL_ROW_BACKWARD) && !w->first)
        ll_row_conv(w->r, conv, padding, padding);
    conv.pass = LL_CONV_FILTER;
    if (w->passes & LL_ROW_BACKWARD)
        ll_row_conv(w->r, conv, padding, padding);
    part_update(w, ll_mul(ll_add(ll_mul(ll_mul(kernel, kernel), w->c / groups), beside), filters));
    w->c = filters;
    w->h = ll_row_window(w->r, w->h, kernel, stride, padding);
    w->w = ll_row_window(w->r, w->w, kernel, stride, padding);
    w->first = false;
}

/* The gradient of a largest element looks for its place, in what came in and what went out. */
static void part_pool(struct ll_row_walk *w, enum ll_op_kind kind, uint64_t window, uint64_t stride,
                      uint64_t padding)
{
    bool largest = kind == LL_OP_MAX_POOL;
    uint64_t in = image(w), element = w->r->element_bytes;
    w->h = ll_row_window(w->r, w->h, window, stride, padding);
    w->w = ll_row_window(w->r, w->w, window, stride, padding);
    uint64_t out = image(w), flops = ll_mul(out, ll_mul(window, window));
    if (w->passes & LL_ROW_FORWARD) {
        struct ll_work *work = ll_row_vector(w->r, kind, out, 0, 0);
        work->flops = flops;
        work->a_bytes = ll_mul(element, in);
    }
    if (w->passes & LL_ROW_BACKWARD) {
        enum ll_op_kind back = largest ? LL_OP_MAX_POOL_GRAD : LL_OP_AVG_POOL_GRAD;
        struct ll_work *work = ll_row_vector(w->r, back, in, 0, 0);
        work->flops = flops;
        work->a_bytes = ll_mul(element, largest ? ll_add(in, ll_mul(2, out)) : out);
    }
}

/* The mean of each channel. */
static void part_mean(struct ll_row_walk *w)
{
    uint64_t in = image(w);
    part_backward(w, LL_OP_MEAN_GRAD, 0, 1);
    w->h = w->w = 1;
    if (w->passes & LL_ROW_FORWARD)
        reduce(w, LL_OP_MEAN, in, image(w));
}

/* The numbers were made last, the image was not: software does not join this to what comes before. */
static void part_scale(struct ll_row_walk *w)
{
    uint64_t scales = ll_mul(w->batch, w->c);
    w->r->apart = true;
    if (w->passes & LL_ROW_FORWARD) {
        struct ll_work *work = ll_row_vector(w->r, LL_OP_MUL, image(w), 1, 1);
        work->a_bytes = ll_add(work->a_bytes, ll_mul(w->r->element_bytes, scales));
    }
    w->r->apart = false;
    part_backward(w, LL_OP_MUL, 1, 1);
    part_backward(w, LL_OP_MUL, 2, 1);
    if (w->passes & LL_ROW_BACKWARD)
        reduce(w, LL_OP_SUM, image(w), scales);
}

/* Weights that are trained are read, and their gradients written, in full precision. */
static void part_project(struct ll_row_walk *w, uint64_t outputs)
{
    uint64_t inputs = w->c, rows = ll_mul(w->batch, ll_mul(w->h, w->w));
    uint64_t element = w->passes & LL_ROW_UPDATE ? MASTER_BYTES : w->r->element_bytes;
    uint64_t weight_bytes = ll_mul(element, ll_mul(inputs, outputs));
    cast(w, ll_mul(inputs, outputs));
    if (w->passes & LL_ROW_FORWARD)
        ll_row_gemm(w->r, rows, outputs, inputs)->b_bytes = weight_bytes;
    if ((w->passes & LL_ROW_BACKWARD) && !w->first)
        ll_row_gemm(w->r, rows, inputs, outputs)->b_bytes = weight_bytes;
    if (w->passes & LL_ROW_BACKWARD)
        ll_row_gemm(w->r, inputs, outputs, rows)->c_bytes = weight_bytes;
    part_update(w, ll_mul(ll_add(inputs, 1), outputs));
    w->c = outputs;
    w->first = false;
    part_add_bias(w);
}

/* All elements of an image times a matrix, and a bias; or the channels of each place alone. */
static void part_dense(struct ll_row_walk *w, uint64_t outputs)
{
    w->c = ll_mul(w->c, ll_mul(w->h, w->w));
    w->h = w->w = 1;
    part_project(w, outputs);
}

/* An op that looks at a whole line before any element of it is done. */
static void on_lines(struct ll_row_walk *w, enum ll_op_kind kind, uint64_t lines, uint64_t line,
                     uint64_t inputs, uint64_t flops_each)
{
    struct ll_work *work = ll_row_vector(w->r, kind, ll_mul(lines, line), inputs, flops_each);
    work->vector.row = line;
    work->lines = lines;
}

/* Layer normalisation of the channels of each place, weights included. */
static void part_layer_norm(struct ll_row_walk *w)
{
    uint64_t places = ll_mul(w->batch, ll_mul(w->h, w->w));
    if (w->passes & LL_ROW_FORWARD)
        on_lines(w, LL_OP_LAYER_NORM, places, w->c, 1, 7);
    if (w->passes & LL_ROW_BACKWARD)
        on_lines(w, LL_OP_LAYER_NORM_GRAD, places, w->c, 2, 10);
    part_update(w, ll_mul(2, w->c));
}

/* Queries times keys are scores s, of whose softmax p times values v make the result y. Back from dy come
 * dp = dy v^T, dv = p^T dy, and from ds through the softmax those of queries and keys. */
static void part_attend(struct ll_row_walk *w, uint64_t heads)
{
    enum { BOTH = LL_LINES_OF_A | LL_LINES_OF_B };
    const uint64_t places = ll_mul(w->h, w->w), all = ll_mul(w->batch, heads), features = w->c / heads,
                   lines = ll_mul(all, places);
    const struct ll_gemm scores = {all, places, places, features}, mix = {all, places, features, places};
    if (w->passes & LL_ROW_FORWARD) {
        ll_row_gemms(w->r, scores)->along_k = BOTH;
        on_lines(w, LL_OP_SOFTMAX, lines, places, 1, 5);
        ll_row_gemms(w->r, mix)->along_k = LL_LINES_OF_A;
    }
    if (w->passes & LL_ROW_BACKWARD) {
        ll_row_gemms(w->r, scores)->along_k = BOTH;
        ll_row_gemms(w->r, mix);
        on_lines(w, LL_OP_SOFTMAX_GRAD, lines, places, 2, 4);
        ll_row_gemms(w->r, mix)->along_k = LL_LINES_OF_A;
        ll_row_gemms(w->r, mix);
    }
}

/* A weight for each element of an image is added to it. */
static void part_add_places(struct ll_row_walk *w)
{
    const uint64_t weights = ll_mul(w->c, ll_mul(w->h, w->w));
    part_forward(w, LL_OP_ADD, 2, 1);
    if (w->passes & LL_ROW_BACKWARD)
        reduce(w, LL_OP_BIAS_GRAD, image(w), weights);
    part_update(w, weights);
}

/* Gradients that come back by several ways are added up, one to another. */
static void part_gather(struct ll_row_walk *w, unsigned ways)
{
    for (unsigned i = 1; i < ways; i++)
        part_backward(w, LL_OP_ADD, 2, 1);
}

/* In one pass, the image is read and written somewhere else. */
static void part_move(struct ll_row_walk *w, enum ll_row_pass pass, enum ll_op_kind kind)
{
    if (w->passes & pass) {
        struct ll_work *work = ll_row_add(w->r, LL_WORK_MOVE, kind);
        work->a_bytes = work->c_bytes = ll_mul(w->r->element_bytes, image(w));
    }
}

const struct ll_row_layers *ll_row_layers(const struct ll_row_works *r)
{
    static const struct ll_row_layers networks[] = {
#define LL_NETWORK(name, image, layers) {name, image, layers},
#include "sim/validate/networks.def"
#undef LL_NETWORK
    };
    for (size_t i = 0; i < sizeof networks / sizeof *networks; i++)
        if (ll_row_says(r, "model", networks[i].name))
            return &networks[i];
    return NULL;
}

static uint64_t number_at(const char **at)
{
    char *end;
    uint64_t number = strtoull(*at, &end, 10);
    *at = end;
    return number;
}

/* Takes the next layer off a network's text, which is one of ours and right. */
static struct ll_layer next_layer(const char **at)
{
    struct ll_layer l = {
        .what = **at, .kernel = 3, .stride = 1, .groups = 1, .times = 1, .padding = UINT64_MAX};
    ++*at;
    l.number = number_at(at);
    while (**at && **at != ' ') {
        char key = *(*at)++;
        const struct {
            char key;
            uint64_t *value;
        } keys[] = {{'k', &l.kernel},      {'s', &l.stride},  {'p', &l.padding}, {'g', &l.groups},
                    {'x', &l.times},       {'f', &l.before3}, {'v', &l.before5}, {'w', &l.behind5},
                    {'q', &l.behind_pool}, {'e', &l.expanded}};
        for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
            if (keys[i].key == key)
                *keys[i].value = number_at(at);
    }
    while (**at == ' ')
        ++*at;
    if (l.padding == UINT64_MAX)
        l.padding = l.what == 'm' ? 0 : l.kernel / 2;
    return l;
}

/* Whole steps of whole networks: the layers of networks.def, or those that a row of ParaDnn's says, each with
 * the ops that a framework runs for it (parts.h). What becomes of losses, labels and inputs is left out. */

enum { LABEL_BYTES = 4 }; /* of a class number, and of a number of the row that stands for it */

static const struct ll_row_activation relu = {LL_OP_RELU, LL_OP_RELU_GRAD, 1, 1},
                                      hard_swish = {LL_OP_HARD_SWISH, LL_OP_RELU_CLIPPED_GRAD, 5, 5},
                                      swish = {LL_OP_SIGMOID, LL_OP_SIGMOID_GRAD, 5, 9},
                                      hard_sigmoid = {LL_OP_HARD_SIGMOID, LL_OP_RELU_CLIPPED_GRAD, 4, 3},
                                      sigmoid = {LL_OP_SIGMOID, LL_OP_SIGMOID_GRAD, 4, 3},
                                      gelu = {LL_OP_GELU, LL_OP_GELU_GRAD, 10, 16};

static void layer_R(struct ll_row_walk *w, const struct ll_layer *l)
{
    (void)l;
    w->activation = &relu;
}

static void layer_H(struct ll_row_walk *w, const struct ll_layer *l)
{
    (void)l;
    w->activation = &hard_swish;
}

static void layer_S(struct ll_row_walk *w, const struct ll_layer *l)
{
    (void)l;
    w->activation = &swish;
}

static void activate(struct ll_row_walk *w)
{
    part_activate(w, w->activation);
}

static void layer_c(struct ll_row_walk *w, const struct ll_layer *l)
{
    part_convolve(w, l, 1);
    part_add_bias(w);
    activate(w);
}

/* Each channel with a filter of its own; without activation. */
static void convolve_channels(struct ll_row_walk *w, uint64_t kernel, uint64_t stride)
{
    part_convolve(w, &(struct ll_layer){'h', w->c, kernel, stride, kernel / 2, .groups = w->c}, 2);
    part_normalise(w);
}

/* Without activation. */
static void convolve_and_normalise(struct ll_row_walk *w, uint64_t filters, uint64_t kernel, uint64_t stride)
{
    part_convolve(w, &(struct ll_layer){'z', filters, kernel, stride, kernel / 2, .groups = 1}, 2);
    part_normalise(w);
}

static void layer_z(struct ll_row_walk *w, const struct ll_layer *l)
{
    convolve_and_normalise(w, l->number, l->kernel, l->stride);
    activate(w);
}

static void layer_m(struct ll_row_walk *w, const struct ll_layer *l)
{
    part_pool(w, LL_OP_MAX_POOL, l->number, l->stride, l->padding);
}

static void layer_a(struct ll_row_walk *w, const struct ll_layer *l)
{
    (void)l;
    part_mean(w);
}

/* Over five channels: a square, five sums, scale, power, product (tracer/ir/op_table.def). */
static void layer_n(struct ll_row_walk *w, const struct ll_layer *l)
{
    (void)l;
    part_forward(w, LL_OP_LRN, 1, 9);
    part_backward(w, LL_OP_LRN_GRAD, 3, 18);
}

static void layer_d(struct ll_row_walk *w, const struct ll_layer *l)
{
    part_dense(w, l->number);
    activate(w);
}

static void layer_o(struct ll_row_walk *w, const struct ll_layer *l)
{
    part_dense(w, l->number);
}

/* The sum of a block and what goes around it. */
static void add_around(struct ll_row_walk *w)
{
    part_forward(w, LL_OP_ADD, 2, 1);
    part_gather(w, 2);
}

/* What goes around is convolved where the shapes differ. */
static void join(struct ll_row_walk *w, struct ll_row_walk around, uint64_t stride)
{
    if (around.c != w->c || stride > 1)
        convolve_and_normalise(&around, w->c, 1, stride);
    add_around(w);
    activate(w);
}

static void layer_r(struct ll_row_walk *w, const struct ll_layer *l)
{
    const struct ll_row_walk before = *w;
    convolve_and_normalise(w, l->number, 3, l->stride);
    activate(w);
    convolve_and_normalise(w, l->number, 3, 1);
    join(w, before, l->stride);
}

static void layer_b(struct ll_row_walk *w, const struct ll_layer *l)
{
    const struct ll_row_walk before = *w;
    convolve_and_normalise(w, l->number, 1, 1);
    activate(w);
    convolve_and_normalise(w, l->number, 3, l->stride);
    activate(w);
    convolve_and_normalise(w, 4 * l->number, 1, 1);
    join(w, before, l->stride);
}

/* Before a convolution, which then has nothing beside its filters. */
static void layer_y(struct ll_row_walk *w, const struct ll_layer *l)
{
    (void)l;
    part_update(w, 2 * w->c);
    part_normalise(w);
    activate(w);
}

static void convolve_bare(struct ll_row_walk *w, uint64_t filters, uint64_t kernel)
{
    layer_y(w, NULL);
    part_convolve(w, &(struct ll_layer){'e', filters, kernel, 1, kernel / 2, .groups = 1}, 0);
}

/* Channels of several ways one behind the other, and taken apart again on the way back. */
static void concatenate(struct ll_row_walk *w, uint64_t channels)
{
    w->c = channels;
    part_move(w, LL_ROW_FORWARD, LL_OP_CONCAT);
    part_move(w, LL_ROW_BACKWARD, LL_OP_SPLIT);
}

static void layer_e(struct ll_row_walk *w, const struct ll_layer *l)
{
    uint64_t before = w->c;
    part_gather(w, 2);
    convolve_bare(w, 4 * l->number, 1);
    convolve_bare(w, l->number, 3);
    concatenate(w, before + l->number);
}

static void layer_t(struct ll_row_walk *w, const struct ll_layer *l)
{
    (void)l;
    convolve_bare(w, w->c / 2, 1);
    part_pool(w, LL_OP_AVG_POOL, 2, 2, 0);
}

static void convolve_biased(struct ll_row_walk *w, uint64_t filters, uint64_t kernel)
{
    part_convolve(w, &(struct ll_layer){'c', filters, kernel, 1, kernel / 2, .groups = 1}, 1);
    part_add_bias(w);
    activate(w);
}

/* Four ways side by side, their channels one behind the other. */
static void layer_i(struct ll_row_walk *w, const struct ll_layer *l)
{
    enum { WAYS = 4 };
    struct ll_row_walk way3 = *w, way5 = *w, pooled = *w;
    part_gather(w, WAYS);
    convolve_biased(w, l->number, 1);
    convolve_biased(&way3, l->before3, 1);
    convolve_biased(&way3, l->kernel, 3);
    convolve_biased(&way5, l->before5, 1);
    convolve_biased(&way5, l->behind5, 5);
    part_pool(&pooled, LL_OP_MAX_POOL, 3, 1, 1);
    convolve_biased(&pooled, l->behind_pool, 1);
    concatenate(w, l->number + l->kernel + l->behind5 + l->behind_pool);
}

static void layer_f(struct ll_row_walk *w, const struct ll_layer *l)
{
    convolve_biased(w, l->number, 1);
    struct ll_row_walk wide = *w;
    part_gather(w, 2);
    convolve_biased(w, 4 * l->number, 1);
    convolve_biased(&wide, 4 * l->number, 3);
    concatenate(w, 8 * l->number);
}

static void layer_h(struct ll_row_walk *w, const struct ll_layer *l)
{
    convolve_channels(w, l->kernel, l->stride);
    activate(w);
    convolve_and_normalise(w, l->number, 1, 1);
    activate(w);
}

/* Squeeze and excitation: two dense layers make weights of the channels' means. Beside swish these have swish
 * and a sigmoid behind them (Tan 2019), otherwise ReLU and a hard sigmoid (Howard 2019). */
static void weigh_channels(struct ll_row_walk *w, uint64_t squeezed)
{
    bool smooth = w->activation == &swish;
    struct ll_row_walk means = *w;
    part_gather(w, 2);
    part_mean(&means);
    part_dense(&means, squeezed);
    part_activate(&means, smooth ? &swish : &relu);
    part_dense(&means, w->c);
    part_activate(&means, smooth ? &sigmoid : &hard_sigmoid);
    part_scale(w);
}

static void layer_u(struct ll_row_walk *w, const struct ll_layer *l)
{
    const uint64_t before = w->c, expanded = l->expanded > 0 ? l->expanded : ll_mul(l->before3, before);
    if (expanded != before) {
        convolve_and_normalise(w, expanded, 1, 1);
        activate(w);
    }
    convolve_channels(w, l->kernel, l->stride);
    activate(w);
    if (l->behind_pool > 0)
        weigh_channels(w, l->behind_pool);
    convolve_and_normalise(w, l->number, 1, 1);
    if (before == l->number && l->stride == 1)
        add_around(w);
}

static void halve(struct ll_row_walk *w)
{
    part_move(w, LL_ROW_FORWARD, LL_OP_SPLIT);
    part_move(w, LL_ROW_BACKWARD, LL_OP_CONCAT);
    w->c /= 2;
}

/* The first channels of all groups come first, then their second ones. */
static void shuffle(struct ll_row_walk *w)
{
    part_move(w, LL_ROW_FORWARD, LL_OP_TRANSPOSE);
    part_move(w, LL_ROW_BACKWARD, LL_OP_TRANSPOSE);
}

/* By 1x1, in groups; without activation. */
static void convolve_groups(struct ll_row_walk *w, uint64_t filters, uint64_t groups)
{
    part_convolve(w, &(struct ll_layer){'s', filters, .kernel = 1, .stride = 1, .groups = groups}, 2);
    part_normalise(w);
}

/* What goes around a unit is added to it or, where the image shrinks, comes behind its channels. */
static void layer_s(struct ll_row_walk *w, const struct ll_layer *l)
{
    bool shrinks = l->stride > 1;
    struct ll_row_walk around = *w;
    uint64_t groups = l->before3 > 0 ? l->before3 : l->groups, made = l->number - (shrinks ? w->c : 0);
    part_gather(w, 2);
    convolve_groups(w, made / 4, groups);
    activate(w);
    if (groups > 1)
        shuffle(w);
    convolve_channels(w, l->kernel, l->stride);
    convolve_groups(w, made, l->groups);
    if (shrinks) {
        part_pool(&around, LL_OP_AVG_POOL, 3, l->stride, 1);
        concatenate(w, l->number);
    } else
        part_forward(w, LL_OP_ADD, 2, 1);
    activate(w);
}

/* Half of the channels go around a unit or, where the image shrinks, all go both ways. */
static void layer_v(struct ll_row_walk *w, const struct ll_layer *l)
{
    struct ll_row_walk around = *w;
    if (l->stride > 1) {
        part_gather(w, 2);
        convolve_channels(&around, l->kernel, l->stride);
        convolve_and_normalise(&around, l->number / 2, 1, 1);
        activate(&around);
    } else
        halve(w);
    convolve_and_normalise(w, l->number / 2, 1, 1);
    activate(w);
    convolve_channels(w, l->kernel, l->stride);
    convolve_and_normalise(w, l->number / 2, 1, 1);
    activate(w);
    concatenate(w, l->number);
    shuffle(w);
}

/* Tokens are an image of one column: the patches, row by row, behind the class. */
static void layer_p(struct ll_row_walk *w, const struct ll_layer *l)
{
    part_convolve(w, &(struct ll_layer){'p', l->number, l->kernel, l->kernel, .groups = 1}, 1);
    part_add_bias(w);
    w->h = ll_add(ll_mul(w->h, w->w), 1);
    w->w = 1;
    part_update(w, w->c);
    part_move(w, LL_ROW_FORWARD, LL_OP_CONCAT);
    part_move(w, LL_ROW_BACKWARD, LL_OP_SPLIT);
    part_add_places(w);
}

static void layer_l(struct ll_row_walk *w, const struct ll_layer *l)
{
    enum { QUERIES_KEYS_VALUES = 3, WIDER = 4 };
    const uint64_t features = w->c;
    part_layer_norm(w);
    part_gather(w, QUERIES_KEYS_VALUES);
    for (unsigned i = 0; i < QUERIES_KEYS_VALUES; i++)
        part_project(w, features);
    part_attend(w, l->number);
    part_project(w, features);
    add_around(w);
    part_layer_norm(w);
    part_project(w, ll_mul(WIDER, features));
    part_activate(w, &gelu);
    part_project(w, features);
    add_around(w);
}

/* No gradient comes back to the other tokens. */
static void layer_g(struct ll_row_walk *w, const struct ll_layer *l)
{
    (void)l;
    part_layer_norm(w);
    part_move(w, LL_ROW_BACKWARD, LL_OP_PAD);
    w->h = 1;
    part_move(w, LL_ROW_FORWARD, LL_OP_SLICE);
}

static void walk_layers(struct ll_row_walk *w, const char *layers)
{
    static const struct {
        char what;
        void (*add)(struct ll_row_walk *w, const struct ll_layer *l);
    } kinds[] = {{'c', layer_c}, {'z', layer_z}, {'m', layer_m}, {'a', layer_a}, {'n', layer_n},
                 {'d', layer_d}, {'o', layer_o}, {'r', layer_r}, {'b', layer_b}, {'i', layer_i},
                 {'e', layer_e}, {'t', layer_t}, {'y', layer_y}, {'f', layer_f}, {'h', layer_h},
                 {'u', layer_u}, {'s', layer_s}, {'v', layer_v}, {'p', layer_p}, {'l', layer_l},
                 {'g', layer_g}, {'R', layer_R}, {'H', layer_H}, {'S', layer_S}};
    while (*layers) {
        struct ll_layer l = next_layer(&layers);
        for (uint64_t t = 0; t < l.times; t++, l.stride = l.what == 'm' ? l.stride : 1)
            for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
                if (kinds[i].what == l.what)
                    kinds[i].add(w, &l);
    }
}

/* What a step needs of the host, while the one before it computes. */
static void bring(struct ll_row_walk *w, enum ll_op_kind kind, uint64_t bytes)
{
    ll_row_add(w->r, LL_WORK_HOST, kind)->c_bytes = ll_mul(w->batch, bytes);
}

/* ParaDnn's fully connected networks, with a batch of inputs and labels, of which the host makes rows, for
 * each step: all hidden layers but the first are the same. */
static void walk_dense(struct ll_row_walk *w)
{
    struct ll_row_works *r = w->r;
    const struct ll_layer hidden = {.number = ll_row_dim(r, "nodes")},
                          last = {.number = ll_row_dim(r, "output")};
    uint64_t layers = ll_row_dim(r, "layers");
    w->c = ll_row_dim(r, "input");
    w->h = w->w = 1;
    w->optimizer = LL_OP_RMSPROP;
    bring(w, LL_OP_HOST_INPUT, ll_mul(r->element_bytes, w->c));
    bring(w, LL_OP_HOST_INPUT, LABEL_BYTES);
    bring(w, LL_OP_ONE_HOT, ll_mul(LABEL_BYTES, last.number));
    layer_d(w, &hidden);
    r->times = layers - 1;
    if (layers > 1)
        layer_d(w, &hidden);
    r->times = 1;
    layer_o(w, &last);
}

static bool driven_by(const struct ll_row_works *r, const char *software)
{
    return r->row->notes && strncmp(r->row->notes, software, strlen(software)) == 0;
}

/* Torch7's benchmarks leave the network in its training mode, forward too, and its `backward` wants the
 * gradient of the image as of any other input. PyTorch keeps weights in full precision, whatever it computes
 * in. */
static void set_habits(struct ll_row_walk *w)
{
    bool torch7 = driven_by(w->r, "Torch7");
    w->trains = torch7 || w->passes != LL_ROW_FORWARD;
    w->first = !torch7;
    w->casts = driven_by(w->r, "PyTorch");
}

#define NETWORK_KEYS " model batch mode threads powersave devices tp pp dp cp "
static const char layers_keys[] = NETWORK_KEYS "image ",
                  dense_keys[] = NETWORK_KEYS "input nodes layers output ";

/* What a network's own layers say the row cannot say. */
static void refuse_strays(struct ll_row_works *r, const char *keys)
{
    const char *stray = ll_measured_stray(r->row, keys);
    if (stray)
        ll_row_refuse(r, stray);
}

void ll_row_network(struct ll_row_works *r)
{
    const struct ll_row_layers *network = ll_row_layers(r);
    uint64_t image_size = ll_row_dim_or(r, "image", network ? network->image : 1),
             batch = ll_row_dim(r, "batch");
    struct ll_row_walk w = {
        r, 0, 0, 3, image_size, image_size, .optimizer = LL_OP_MOMENTUM, .activation = &relu};
    if (!network && !ll_row_says(r, "model", "paradnn_fc"))
        ll_row_refuse(r, "the network is not among those that can be built");
    r->devices = ll_row_replicas(r);
    r->out->threads = ll_row_text(r, "threads") ? ll_row_dim(r, "threads") : 0;
    w.passes = strcmp(r->row->op, "e2e_infer") == 0 ? LL_ROW_FORWARD
               : strcmp(r->row->op, "e2e_bwd") == 0 ? LL_ROW_BACKWARD
                                                    : LL_ROW_FORWARD | LL_ROW_BACKWARD;
    set_habits(&w);
    w.passes |= ll_row_says(r, "mode", "train") ? LL_ROW_UPDATE : 0;
    w.batch = batch / r->devices;
    if (w.batch == 0)
        ll_row_refuse(r, "the batch is smaller than the number of devices");
    refuse_strays(r, network ? layers_keys : dense_keys);
    if (r->trouble)
        return;
    if (network)
        walk_layers(&w, network->layers);
    else
        walk_dense(&w);
}
