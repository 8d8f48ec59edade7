/* SPDX-License-Identifier: Apache-2.0 */
/* Whole steps of whole networks: the layers of networks.def, or those that a row of ParaDnn's says, each with
 * the ops that a framework runs for it. What becomes of losses, labels and inputs is left out.
 *
 * The order of the parts is that of the layers, forward and backward side by side: times are summed. */
#include "sim/validate/layers.h"

#include <string.h>

enum { FORWARD = 1, BACKWARD = 2, UPDATE = 4 };
enum { MASTER_BYTES = 4 }; /* of a weight that is trained, and of its gradient */
enum { LABEL_BYTES = 4 };  /* of a class number, and of a number of the row that stands for it */

/* The image between two layers, and what is wanted of each of them. */
struct walk {
    struct ll_row_works *r;
    unsigned passes;
    uint64_t batch, c, h, w;
    enum ll_op_kind optimizer;
    bool first;  /* nothing flows back through the first layer */
    bool trains; /* statistics of normalisation are those of the batch */
    bool casts;  /* weights become the computed type at each use */
};

static uint64_t image(const struct walk *w)
{
    return ll_mul(ll_mul(w->batch, w->c), ll_mul(w->h, w->w));
}

static void forward(struct walk *w, enum ll_op_kind kind, uint64_t inputs, uint64_t flops_each)
{
    if (w->passes & FORWARD)
        ll_row_vector(w->r, kind, image(w), inputs, flops_each);
}

static void backward(struct walk *w, enum ll_op_kind kind, uint64_t inputs, uint64_t flops_each)
{
    if (w->passes & BACKWARD)
        ll_row_vector(w->r, kind, image(w), inputs, flops_each);
}

/* All elements of a channel are looked at before any of them is done. */
static void whole_channels(struct walk *w, unsigned pass, enum ll_op_kind kind, uint64_t inputs)
{
    if (w->passes & pass)
        ll_row_vector(w->r, kind, image(w), inputs, 6)->vector.row = ll_mul(w->batch, ll_mul(w->h, w->w));
}

/* Replicas add up their gradients and take the mean; then the optimizer reads weights, state and gradients
 * and writes all but the gradients. */
static void update(struct walk *w, uint64_t weights)
{
    bool two_states = w->optimizer == LL_OP_RMSPROP;
    struct ll_work *work;
    if (!(w->passes & UPDATE))
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

static void add_bias(struct walk *w)
{
    forward(w, LL_OP_BIAS_ADD, 1, 1);
    if (w->passes & BACKWARD) {
        struct ll_work *work = ll_row_add(w->r, LL_WORK_REDUCE, LL_OP_BIAS_GRAD);
        work->reduce.in_elements = work->flops = image(w);
        work->reduce.out_elements = w->c;
        work->a_bytes = ll_mul(w->r->element_bytes, image(w));
        work->c_bytes = ll_mul(w->r->element_bytes, w->c);
    }
}

static void rectify(struct walk *w)
{
    forward(w, LL_OP_RELU, 1, 1);
    backward(w, LL_OP_RELU_GRAD, 2, 1);
}

static void normalise(struct walk *w)
{
    if (w->trains)
        whole_channels(w, FORWARD, LL_OP_BATCH_NORM, 1);
    else
        forward(w, LL_OP_BATCH_NORM_FIXED, 1, 2);
    whole_channels(w, BACKWARD, LL_OP_BATCH_NORM_GRAD, 2);
}

static void cast(struct walk *w, uint64_t weights)
{
    if (!w->casts || !(w->passes & FORWARD))
        return;
    struct ll_work *work = ll_row_add(w->r, LL_WORK_MOVE, LL_OP_CAST);
    work->a_bytes = ll_mul(MASTER_BYTES, weights);
    work->c_bytes = ll_mul(w->r->element_bytes, weights);
}

/* `beside`: how many weights each filter has beside its own. */
static void convolve(struct walk *w, const struct ll_layer *l, uint64_t beside)
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
    if (w->passes & FORWARD)
        ll_row_conv(w->r, conv, padding, padding);
    conv.pass = LL_CONV_DATA;
    if ((w->passes & BACKWARD) && !w->first)
        ll_row_conv(w->r, conv, padding, padding);
    conv.pass = LL_CONV_FILTER;
    if (w->passes & BACKWARD)
        ll_row_conv(w->r, conv, padding, padding);
    update(w, ll_mul(ll_add(ll_mul(ll_mul(kernel, kernel), w->c / groups), beside), filters));
    w->c = filters;
    w->h = ll_row_window(w->r, w->h, kernel, stride, padding);
    w->w = ll_row_window(w->r, w->w, kernel, stride, padding);
    w->first = false;
}

static void layer_c(struct walk *w, const struct ll_layer *l)
{
    convolve(w, l, 1);
    add_bias(w);
    rectify(w);
}

/* Each channel with a filter of its own. */
static void convolve_channels(struct walk *w, uint64_t kernel, uint64_t stride)
{
    convolve(w, &(struct ll_layer){'h', w->c, kernel, stride, kernel / 2, .groups = w->c}, 2);
    normalise(w);
    rectify(w);
}

/* Without ReLU. */
static void convolve_and_normalise(struct walk *w, uint64_t filters, uint64_t kernel, uint64_t stride)
{
    convolve(w, &(struct ll_layer){'z', filters, kernel, stride, kernel / 2, .groups = 1}, 2);
    normalise(w);
}

static void layer_z(struct walk *w, const struct ll_layer *l)
{
    convolve_and_normalise(w, l->number, l->kernel, l->stride);
    rectify(w);
}

static void pool(struct walk *w, uint64_t window, uint64_t stride, uint64_t padding)
{
    uint64_t in = image(w), element = w->r->element_bytes;
    w->h = ll_row_window(w->r, w->h, window, stride, padding);
    w->w = ll_row_window(w->r, w->w, window, stride, padding);
    uint64_t out = image(w), flops = ll_mul(out, ll_mul(window, window));
    if (w->passes & FORWARD) {
        struct ll_work *work = ll_row_vector(w->r, LL_OP_MAX_POOL, out, 0, 0);
        work->flops = flops;
        work->a_bytes = ll_mul(element, in);
    }
    if (w->passes & BACKWARD) {
        struct ll_work *work = ll_row_vector(w->r, LL_OP_MAX_POOL_GRAD, in, 0, 0);
        work->flops = flops;
        work->a_bytes = ll_mul(element, ll_add(in, ll_mul(2, out)));
    }
}

static void layer_m(struct walk *w, const struct ll_layer *l)
{
    pool(w, l->number, l->stride, l->padding);
}

static void layer_a(struct walk *w, const struct ll_layer *l)
{
    (void)l;
    struct ll_work *work;
    uint64_t in = image(w), element = w->r->element_bytes;
    backward(w, LL_OP_MEAN_GRAD, 0, 1);
    w->h = w->w = 1;
    if (w->passes & FORWARD) {
        work = ll_row_add(w->r, LL_WORK_REDUCE, LL_OP_MEAN);
        work->reduce.in_elements = work->flops = in;
        work->reduce.out_elements = image(w);
        work->a_bytes = ll_mul(element, in);
        work->c_bytes = ll_mul(element, image(w));
    }
}

/* Over five channels: a square, five sums, scale, power, product (tracer/op_table.def). */
static void layer_n(struct walk *w, const struct ll_layer *l)
{
    (void)l;
    forward(w, LL_OP_LRN, 1, 9);
    backward(w, LL_OP_LRN_GRAD, 3, 18);
}

/* Weights that are trained are read, and their gradients written, in full precision. */
static void dense(struct walk *w, uint64_t outputs)
{
    uint64_t inputs = ll_mul(w->c, ll_mul(w->h, w->w));
    uint64_t element = w->passes & UPDATE ? MASTER_BYTES : w->r->element_bytes;
    uint64_t weight_bytes = ll_mul(element, ll_mul(inputs, outputs));
    cast(w, ll_mul(inputs, outputs));
    if (w->passes & FORWARD)
        ll_row_product(w->r, (struct ll_gemm){1, w->batch, outputs, inputs})->b_bytes = weight_bytes;
    if ((w->passes & BACKWARD) && !w->first)
        ll_row_product(w->r, (struct ll_gemm){1, w->batch, inputs, outputs})->b_bytes = weight_bytes;
    if (w->passes & BACKWARD)
        ll_row_product(w->r, (struct ll_gemm){1, inputs, outputs, w->batch})->c_bytes = weight_bytes;
    update(w, ll_mul(ll_add(inputs, 1), outputs));
    w->c = outputs;
    w->h = w->w = 1;
    w->first = false;
    add_bias(w);
}

static void layer_d(struct walk *w, const struct ll_layer *l)
{
    dense(w, l->number);
    rectify(w);
}

static void layer_o(struct walk *w, const struct ll_layer *l)
{
    dense(w, l->number);
}

/* Gradients that come back by several ways are added up, one to another. */
static void gather_ways(struct walk *w, unsigned ways)
{
    for (unsigned i = 1; i < ways; i++)
        backward(w, LL_OP_ADD, 2, 1);
}

/* The sum of a block and what goes around it, which is convolved where the shapes differ. */
static void join(struct walk *w, struct walk around, uint64_t stride)
{
    if (around.c != w->c || stride > 1)
        convolve_and_normalise(&around, w->c, 1, stride);
    forward(w, LL_OP_ADD, 2, 1);
    gather_ways(w, 2);
    rectify(w);
}

static void layer_r(struct walk *w, const struct ll_layer *l)
{
    const struct walk before = *w;
    convolve_and_normalise(w, l->number, 3, l->stride);
    rectify(w);
    convolve_and_normalise(w, l->number, 3, 1);
    join(w, before, l->stride);
}

static void layer_b(struct walk *w, const struct ll_layer *l)
{
    const struct walk before = *w;
    convolve_and_normalise(w, l->number, 1, 1);
    rectify(w);
    convolve_and_normalise(w, l->number, 3, l->stride);
    rectify(w);
    convolve_and_normalise(w, 4 * l->number, 1, 1);
    join(w, before, l->stride);
}

/* Before a convolution, which then has nothing beside its filters. */
static void layer_y(struct walk *w, const struct ll_layer *l)
{
    (void)l;
    update(w, 2 * w->c);
    normalise(w);
    rectify(w);
}

static void convolve_bare(struct walk *w, uint64_t filters, uint64_t kernel)
{
    layer_y(w, NULL);
    convolve(w, &(struct ll_layer){'e', filters, kernel, 1, kernel / 2, .groups = 1}, 0);
}

/* Channels of several ways one behind the other, and taken apart again. */
static void concatenate(struct walk *w, uint64_t channels)
{
    w->c = channels;
    for (unsigned pass = FORWARD; pass <= BACKWARD; pass++)
        if (w->passes & pass) {
            struct ll_work *work =
                ll_row_add(w->r, LL_WORK_MOVE, pass == FORWARD ? LL_OP_CONCAT : LL_OP_SPLIT);
            work->a_bytes = work->c_bytes = ll_mul(w->r->element_bytes, image(w));
        }
}

static void layer_e(struct walk *w, const struct ll_layer *l)
{
    uint64_t before = w->c;
    gather_ways(w, 2);
    convolve_bare(w, 4 * l->number, 1);
    convolve_bare(w, l->number, 3);
    concatenate(w, before + l->number);
}

static void layer_t(struct walk *w, const struct ll_layer *l)
{
    (void)l;
    convolve_bare(w, w->c / 2, 1);
    pool(w, 2, 2, 0);
}

static void convolve_biased(struct walk *w, uint64_t filters, uint64_t kernel)
{
    convolve(w, &(struct ll_layer){'c', filters, kernel, 1, kernel / 2, .groups = 1}, 1);
    add_bias(w);
    rectify(w);
}

/* Four ways side by side, their channels one behind the other. */
static void layer_i(struct walk *w, const struct ll_layer *l)
{
    enum { WAYS = 4 };
    struct walk way3 = *w, way5 = *w, pooled = *w;
    gather_ways(w, WAYS);
    convolve_biased(w, l->number, 1);
    convolve_biased(&way3, l->before3, 1);
    convolve_biased(&way3, l->kernel, 3);
    convolve_biased(&way5, l->before5, 1);
    convolve_biased(&way5, l->behind5, 5);
    pool(&pooled, 3, 1, 1);
    convolve_biased(&pooled, l->behind_pool, 1);
    concatenate(w, l->number + l->kernel + l->behind5 + l->behind_pool);
}

static void layer_f(struct walk *w, const struct ll_layer *l)
{
    convolve_biased(w, l->number, 1);
    struct walk wide = *w;
    gather_ways(w, 2);
    convolve_biased(w, 4 * l->number, 1);
    convolve_biased(&wide, 4 * l->number, 3);
    concatenate(w, 8 * l->number);
}

static void layer_h(struct walk *w, const struct ll_layer *l)
{
    convolve_channels(w, l->kernel, l->stride);
    convolve_and_normalise(w, l->number, 1, 1);
    rectify(w);
}

static void layer_u(struct walk *w, const struct ll_layer *l)
{
    const uint64_t before = w->c;
    if (l->before3 > 1) {
        convolve_and_normalise(w, ll_mul(l->before3, before), 1, 1);
        rectify(w);
    }
    convolve_channels(w, l->kernel, l->stride);
    convolve_and_normalise(w, l->number, 1, 1);
    if (before == l->number && l->stride == 1) {
        forward(w, LL_OP_ADD, 2, 1);
        gather_ways(w, 2);
    }
}

static void walk_layers(struct walk *w, const char *layers)
{
    static const struct {
        char what;
        void (*add)(struct walk *w, const struct ll_layer *l);
    } kinds[] = {{'c', layer_c}, {'z', layer_z}, {'m', layer_m}, {'a', layer_a},
                 {'n', layer_n}, {'d', layer_d}, {'o', layer_o}, {'r', layer_r},
                 {'b', layer_b}, {'i', layer_i}, {'e', layer_e}, {'t', layer_t},
                 {'y', layer_y}, {'f', layer_f}, {'h', layer_h}, {'u', layer_u}};
    while (*layers) {
        struct ll_layer l = ll_next_layer(&layers);
        for (uint64_t t = 0; t < l.times; t++, l.stride = l.what == 'm' ? l.stride : 1)
            for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
                if (kinds[i].what == l.what)
                    kinds[i].add(w, &l);
    }
}

/* What a step needs of the host, while the one before it computes. */
static void bring(struct walk *w, enum ll_op_kind kind, uint64_t bytes)
{
    ll_row_add(w->r, LL_WORK_HOST, kind)->c_bytes = ll_mul(w->batch, bytes);
}

/* ParaDnn's fully connected networks, with a batch of inputs and labels, of which the host makes rows, for
 * each step: all hidden layers but the first are the same. */
static void walk_dense(struct walk *w)
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
static void set_habits(struct walk *w)
{
    bool torch7 = driven_by(w->r, "Torch7");
    w->trains = torch7 || w->passes != FORWARD;
    w->first = !torch7;
    w->casts = driven_by(w->r, "PyTorch") && w->r->element_bytes < MASTER_BYTES;
}

void ll_row_network(struct ll_row_works *r)
{
    const struct ll_row_layers *network = ll_row_layers(r);
    uint64_t image_size = ll_row_dim_or(r, "image", network ? network->image : 1),
             batch = ll_row_dim(r, "batch");
    struct walk w = {r, 0, 0, 3, image_size, image_size, .optimizer = LL_OP_MOMENTUM};
    r->devices = ll_row_dim_or(r, "devices", 1);
    r->out->threads = ll_row_text(r, "threads") ? ll_row_dim(r, "threads") : 0;
    w.passes = strcmp(r->row->op, "e2e_infer") == 0 ? FORWARD
               : strcmp(r->row->op, "e2e_bwd") == 0 ? BACKWARD
                                                    : FORWARD | BACKWARD;
    set_habits(&w);
    w.passes |= ll_row_says(r, "mode", "train") ? UPDATE : 0;
    w.batch = r->devices > 0 ? batch / r->devices : 0;
    if (w.batch == 0)
        r->trouble = "the batch is smaller than the number of devices";
    else if (network)
        walk_layers(&w, network->layers);
    else if (ll_row_says(r, "model", "paradnn_fc"))
        walk_dense(&w);
    else
        r->trouble = "the network is not among those that can be built";
}
