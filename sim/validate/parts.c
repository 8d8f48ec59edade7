/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/validate/parts.h"

enum { MASTER_BYTES = 4 }; /* of a weight that is trained, and of its gradient */

static uint64_t image(const struct ll_row_walk *w)
{
    return ll_mul(ll_mul(w->batch, w->c), ll_mul(w->h, w->w));
}

void ll_part_forward(struct ll_row_walk *w, enum ll_op_kind kind, uint64_t inputs, uint64_t flops_each)
{
    if (w->passes & LL_ROW_FORWARD)
        ll_row_vector(w->r, kind, image(w), inputs, flops_each);
}

void ll_part_backward(struct ll_row_walk *w, enum ll_op_kind kind, uint64_t inputs, uint64_t flops_each)
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
void ll_part_update(struct ll_row_walk *w, uint64_t weights)
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

void ll_part_add_bias(struct ll_row_walk *w)
{
    ll_part_forward(w, LL_OP_BIAS_ADD, 1, 1);
    if (w->passes & LL_ROW_BACKWARD)
        reduce(w, LL_OP_BIAS_GRAD, image(w), w->c);
}

void ll_part_activate(struct ll_row_walk *w, const struct ll_row_activation *activation)
{
    ll_part_forward(w, activation->kind, 1, activation->flops);
    ll_part_backward(w, activation->gradient, 2, activation->gradient_flops);
}

void ll_part_normalise(struct ll_row_walk *w)
{
    if (w->trains)
        whole_channels(w, LL_ROW_FORWARD, LL_OP_BATCH_NORM, 1);
    else
        ll_part_forward(w, LL_OP_BATCH_NORM_FIXED, 1, 2);
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

void ll_part_convolve(struct ll_row_walk *w, const struct ll_layer *l, uint64_t beside)
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
    ll_part_update(w, ll_mul(ll_add(ll_mul(ll_mul(kernel, kernel), w->c / groups), beside), filters));
    w->c = filters;
    w->h = ll_row_window(w->r, w->h, kernel, stride, padding);
    w->w = ll_row_window(w->r, w->w, kernel, stride, padding);
    w->first = false;
}

/* The gradient of a largest element looks for its place, in what came in and what went out. */
void ll_part_pool(struct ll_row_walk *w, enum ll_op_kind kind, uint64_t window, uint64_t stride,
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

void ll_part_mean(struct ll_row_walk *w)
{
    uint64_t in = image(w);
    ll_part_backward(w, LL_OP_MEAN_GRAD, 0, 1);
    w->h = w->w = 1;
    if (w->passes & LL_ROW_FORWARD)
        reduce(w, LL_OP_MEAN, in, image(w));
}

/* The numbers were made last, the image was not: software does not join this to what comes before. */
void ll_part_scale(struct ll_row_walk *w)
{
    uint64_t scales = ll_mul(w->batch, w->c);
    w->r->apart = true;
    if (w->passes & LL_ROW_FORWARD) {
        struct ll_work *work = ll_row_vector(w->r, LL_OP_MUL, image(w), 1, 1);
        work->a_bytes = ll_add(work->a_bytes, ll_mul(w->r->element_bytes, scales));
    }
    w->r->apart = false;
    ll_part_backward(w, LL_OP_MUL, 1, 1);
    ll_part_backward(w, LL_OP_MUL, 2, 1);
    if (w->passes & LL_ROW_BACKWARD)
        reduce(w, LL_OP_SUM, image(w), scales);
}

/* Weights that are trained are read, and their gradients written, in full precision. */
void ll_part_project(struct ll_row_walk *w, uint64_t outputs)
{
    uint64_t inputs = w->c, rows = ll_mul(w->batch, ll_mul(w->h, w->w));
    uint64_t element = w->passes & LL_ROW_UPDATE ? MASTER_BYTES : w->r->element_bytes;
    uint64_t weight_bytes = ll_mul(element, ll_mul(inputs, outputs));
    cast(w, ll_mul(inputs, outputs));
    if (w->passes & LL_ROW_FORWARD)
        ll_row_product(w->r, rows, outputs, inputs)->b_bytes = weight_bytes;
    if ((w->passes & LL_ROW_BACKWARD) && !w->first)
        ll_row_product(w->r, rows, inputs, outputs)->b_bytes = weight_bytes;
    if (w->passes & LL_ROW_BACKWARD)
        ll_row_product(w->r, inputs, outputs, rows)->c_bytes = weight_bytes;
    ll_part_update(w, ll_mul(ll_add(inputs, 1), outputs));
    w->c = outputs;
    w->first = false;
    ll_part_add_bias(w);
}

void ll_part_dense(struct ll_row_walk *w, uint64_t outputs)
{
    w->c = ll_mul(w->c, ll_mul(w->h, w->w));
    w->h = w->w = 1;
    ll_part_project(w, outputs);
}

/* An op that looks at a whole line before any element of it is done. */
static void on_lines(struct ll_row_walk *w, enum ll_op_kind kind, uint64_t lines, uint64_t line,
                     uint64_t inputs, uint64_t flops_each)
{
    struct ll_work *work = ll_row_vector(w->r, kind, ll_mul(lines, line), inputs, flops_each);
    work->vector.row = line;
    work->lines = lines;
}

void ll_part_layer_norm(struct ll_row_walk *w)
{
    uint64_t places = ll_mul(w->batch, ll_mul(w->h, w->w));
    if (w->passes & LL_ROW_FORWARD)
        on_lines(w, LL_OP_LAYER_NORM, places, w->c, 1, 7);
    if (w->passes & LL_ROW_BACKWARD)
        on_lines(w, LL_OP_LAYER_NORM_GRAD, places, w->c, 2, 10);
    ll_part_update(w, ll_mul(2, w->c));
}

/* Queries times keys are scores s, of whose softmax p times values v make the result y. Back from dy come
 * dp = dy v^T, dv = p^T dy, and from ds through the softmax those of queries and keys. */
void ll_part_attend(struct ll_row_walk *w, uint64_t heads)
{
    enum { BOTH = LL_LINES_OF_A | LL_LINES_OF_B };
    const uint64_t places = ll_mul(w->h, w->w), all = ll_mul(w->batch, heads), features = w->c / heads,
                   lines = ll_mul(all, places);
    const struct ll_gemm scores = {all, places, places, features}, mix = {all, places, features, places};
    if (w->passes & LL_ROW_FORWARD) {
        ll_row_products(w->r, scores)->along_k = BOTH;
        on_lines(w, LL_OP_SOFTMAX, lines, places, 1, 5);
        ll_row_products(w->r, mix)->along_k = LL_LINES_OF_A;
    }
    if (w->passes & LL_ROW_BACKWARD) {
        ll_row_products(w->r, scores)->along_k = BOTH;
        ll_row_products(w->r, mix);
        on_lines(w, LL_OP_SOFTMAX_GRAD, lines, places, 2, 4);
        ll_row_products(w->r, mix)->along_k = LL_LINES_OF_A;
        ll_row_products(w->r, mix);
    }
}

void ll_part_add_places(struct ll_row_walk *w)
{
    const uint64_t weights = ll_mul(w->c, ll_mul(w->h, w->w));
    ll_part_forward(w, LL_OP_ADD, 2, 1);
    if (w->passes & LL_ROW_BACKWARD)
        reduce(w, LL_OP_BIAS_GRAD, image(w), weights);
    ll_part_update(w, weights);
}

void ll_part_gather(struct ll_row_walk *w, unsigned ways)
{
    for (unsigned i = 1; i < ways; i++)
        ll_part_backward(w, LL_OP_ADD, 2, 1);
}

void ll_part_move(struct ll_row_walk *w, enum ll_row_pass pass, enum ll_op_kind kind)
{
    if (w->passes & pass) {
        struct ll_work *work = ll_row_add(w->r, LL_WORK_MOVE, kind);
        work->a_bytes = work->c_bytes = ll_mul(w->r->element_bytes, image(w));
    }
}
