/* SPDX-License-Identifier: Apache-2.0 */
/* Random ops that the op table accepts: small shapes, odd sizes, strides, paddings, groups; now and then one
 * that is large enough to be cut into several blocks. */
#ifndef LL_TESTS_OP_SAMPLES_H
#define LL_TESTS_OP_SAMPLES_H

#include "op_samples_decoder.h"

static inline struct ll_shape draw_image(uint64_t *state, enum ll_dtype dtype, uint64_t channels)
{
    bool large = draw(state, 0, 7) == 0; /* more pixels than any block of a kernel has rows */
    uint64_t least = large ? 20 : 1, most = large ? 24 : 7, batch = large ? 3 : draw(state, 1, 3);
    return shape_of(dtype, 4,
                    (uint64_t[]){batch, draw(state, least, most), draw(state, least, most), channels});
}

/* A window that fits into the padded image, and less padding than the window is long. */
static inline void draw_window(uint64_t *state, struct op_sample *s, const struct ll_shape *image,
                               uint64_t k[2])
{
    static const enum ll_attr_key before[] = {LL_ATTR_PAD_TOP, LL_ATTR_PAD_LEFT};
    static const enum ll_attr_key after[] = {LL_ATTR_PAD_BOTTOM, LL_ATTR_PAD_RIGHT};
    static const enum ll_attr_key stride[] = {LL_ATTR_STRIDE_H, LL_ATTR_STRIDE_W};
    for (int i = 0; i < 2; i++) {
        k[i] = draw(state, 1, image->dim[1 + i] < 5 ? image->dim[1 + i] : 5);
        add_attr(s, before[i], (int64_t)draw(state, 0, k[i] - 1));
        add_attr(s, after[i], (int64_t)draw(state, 0, k[i] - 1));
        add_attr(s, stride[i], (int64_t)draw(state, 1, 3));
    }
}

/* A forward convolution; its two gradients exchange what is given and what is found. */
static inline void draw_conv(uint64_t *state, struct op_sample *s, enum ll_dtype dtype)
{
    uint64_t groups = draw(state, 1, 3), in = draw(state, 1, 5), out = draw(state, 1, 5), k[2];
    bool depthwise = draw(state, 0, 3) == 0;
    if (depthwise)
        groups = draw(state, 1, 70), in = out = 1;
    struct ll_shape image = draw_image(state, dtype, groups * in);
    if (depthwise || draw(state, 0, 2) == 0)
        add_attr(s, LL_ATTR_GROUPS, (int64_t)groups);
    else
        image.dim[3] = in, groups = 1;
    draw_window(state, s, &image, k);
    enum ll_op_kind kind = s->view.kind;
    struct ll_shape filter = shape_of(dtype, 4, (uint64_t[]){k[0], k[1], in, out * groups});
    add_input(s, image);
    add_input(s, filter);
    s->view.kind = LL_OP_CONV2D;
    const char *wrong = ll_op_infer(&s->view);
    assert(!wrong), (void)wrong;
    struct ll_shape result = s->out[0];
    s->view.kind = kind;
    if (kind == LL_OP_CONV2D_DATA)
        s->in[0] = result, s->out[0] = image;
    if (kind == LL_OP_CONV2D_FILTER)
        s->in[1] = result, s->out[0] = filter;
}

static inline void draw_pool(uint64_t *state, struct op_sample *s, enum ll_dtype dtype)
{
    uint64_t k[2];
    struct ll_shape image = draw_image(state, dtype, draw(state, 1, 70));
    draw_window(state, s, &image, k);
    add_attr(s, LL_ATTR_KERNEL_H, (int64_t)k[0]);
    add_attr(s, LL_ATTR_KERNEL_W, (int64_t)k[1]);
    enum ll_op_kind kind = s->view.kind;
    s->view.kind = LL_OP_MAX_POOL;
    add_input(s, image);
    const char *wrong = ll_op_infer(&s->view);
    assert(!wrong), (void)wrong;
    s->view.kind = kind;
    if (kind == LL_OP_MAX_POOL || kind == LL_OP_AVG_POOL)
        return;
    if (kind == LL_OP_AVG_POOL_GRAD) {
        s->in[0] = s->out[0];
        s->out[0] = image;
        return;
    }
    s->in[1] = image;
    s->in[0] = s->in[2] = s->out[0];
    s->view.input_count = 3;
}

static inline void draw_product(uint64_t *state, struct op_sample *s, enum ll_dtype dtype)
{
    uint64_t most = draw(state, 0, 3) ? 12 : 300, m = draw(state, 1, most), n = draw(state, 1, most);
    uint64_t k = draw(state, 1, most), ta = draw(state, 0, 1), tb = draw(state, 0, 1);
    add_input(s, shape_of(dtype, 2, (uint64_t[]){ta ? k : m, ta ? m : k}));
    add_input(s, shape_of(dtype, 2, (uint64_t[]){tb ? n : k, tb ? k : n}));
    if (ta)
        add_attr(s, LL_ATTR_TRANSPOSE_A, 1);
    if (tb)
        add_attr(s, LL_ATTR_TRANSPOSE_B, 1);
}

static inline void draw_lrn(uint64_t *state, struct op_sample *s, enum ll_dtype dtype)
{
    struct ll_shape image = draw_image(state, dtype, draw(state, 1, 20));
    for (int i = 0; i < (s->view.kind == LL_OP_LRN ? 1 : 3); i++)
        add_input(s, image);
    add_attr(s, LL_ATTR_RADIUS, (int64_t)draw(state, 0, 6));
    add_real(s, LL_ATTR_BIAS, 1.5);
    add_real(s, LL_ATTR_ALPHA, 0.3);
    add_real(s, LL_ATTR_BETA, draw(state, 0, 1) ? 0.75 : 0.6);
}

/* Any dimensions in a row; the wide shape is the input of a sum and the result of its gradient. */
static inline void draw_reduction(uint64_t *state, struct op_sample *s, enum ll_dtype dtype)
{
    enum ll_op_kind kind = s->view.kind;
    struct ll_shape wide = draw_image(state, dtype, draw(state, 1, 300));
    uint64_t axis = draw(state, 0, 4);
    if (draw(state, 0, 2)) {
        add_attr(s, LL_ATTR_AXIS, (int64_t)axis);
        add_attr(s, LL_ATTR_AXES, (int64_t)draw(state, 0, 4 - axis));
    }
    add_input(s, wide);
    s->view.kind = LL_OP_SUM;
    const char *wrong = ll_op_infer(&s->view);
    assert(!wrong), (void)wrong;
    s->view.kind = kind;
    if (kind == LL_OP_TILE || kind == LL_OP_MEAN_GRAD) {
        s->in[0] = s->out[0];
        s->out[0] = wide;
    }
}

static inline void draw_norm(uint64_t *state, struct op_sample *s, enum ll_dtype dtype)
{
    struct ll_shape image = draw_image(state, dtype, draw(state, 1, 20));
    for (int i = 0; i < (shape_word(s->view.kind, "NORM_GRAD") ? 2 : 1); i++)
        add_input(s, image);
    while (s->view.input_count < (s->view.kind == LL_OP_BATCH_NORM ? 3 : 5))
        add_input(s, shape_of(dtype, 1, &image.dim[3]));
    if (draw(state, 0, 1))
        add_real(s, LL_ATTR_EPSILON, 0.125);
}

static inline void draw_layer_norm(uint64_t *state, struct op_sample *s, enum ll_dtype dtype)
{
    bool gradient = s->view.kind == LL_OP_LAYER_NORM_GRAD || s->view.kind == LL_OP_RMS_NORM_GRAD;
    struct ll_shape image = draw_image(state, dtype, draw(state, 1, 20));
    for (int i = 0; i < (gradient ? 2 : 1); i++)
        add_input(s, image);
    add_input(s, shape_of(dtype, 1, &image.dim[3]));
    if (s->view.kind == LL_OP_LAYER_NORM && draw(state, 0, 1))
        add_input(s, s->in[1]);
    add_real(s, LL_ATTR_EPSILON, 0.125);
}

static inline void draw_group_norm(uint64_t *state, struct op_sample *s, enum ll_dtype dtype)
{
    const uint64_t groups = draw(state, 1, 3), channels = groups * draw(state, 1, 3);
    const struct ll_shape image =
        shape_of(dtype, 4, (uint64_t[]){draw(state, 1, 3), draw(state, 1, 3), draw(state, 1, 3), channels});
    for (int i = 0; i < (s->view.kind == LL_OP_GROUP_NORM_GRAD ? 2 : 1); i++)
        add_input(s, image);
    add_input(s, shape_of(dtype, 1, &channels));
    if (s->view.kind == LL_OP_GROUP_NORM && draw(state, 0, 1))
        add_input(s, s->in[1]);
    add_attr(s, LL_ATTR_GROUPS, (int64_t)groups);
    add_real(s, LL_ATTR_EPSILON, 0.125);
}

/* Now and then all classes there are. Some kernels are tried with classes 0 and 1 alone: there are these. */
static inline void draw_sampler(uint64_t *state, struct op_sample *s, enum ll_dtype dtype)
{
    uint64_t range = draw(state, 2, draw(state, 0, 3) ? 60 : 100000);
    uint64_t most = range < 80 ? range : 80;
    add_input(s, (struct ll_shape){.dtype = (uint8_t)dtype});
    add_input(s, shape_of(LL_I32, 1, (uint64_t[]){draw(state, 1, 40)}));
    add_attr(s, LL_ATTR_SEED, (int64_t)ll_random(state));
    add_attr(s, LL_ATTR_STREAM, (int64_t)draw(state, 0, 9));
    add_attr(s, LL_ATTR_SAMPLES, (int64_t)(draw(state, 0, 3) ? draw(state, 1, most) : most));
    add_attr(s, LL_ATTR_RANGE, (int64_t)range);
}

static inline void draw_random(uint64_t *state, struct op_sample *s, enum ll_dtype dtype)
{
    struct ll_shape x = shape_of(dtype, 2, (uint64_t[]){draw(state, 1, 200), draw(state, 1, 200)});
    if (s->view.kind == LL_OP_DROPOUT)
        add_input(s, x);
    else
        s->out[s->view.output_count++] = x;
    add_input(s, (struct ll_shape){.dtype = (uint8_t)dtype});
    add_attr(s, LL_ATTR_SEED, (int64_t)ll_random(state));
    add_attr(s, LL_ATTR_STREAM, (int64_t)draw(state, 0, 9));
    add_real(s, LL_ATTR_KEEP, draw(state, 0, 1) ? 0.75 : 0.25);
}

static inline void draw_optimizer(uint64_t *state, struct op_sample *s, enum ll_dtype dtype, int tensors)
{
    struct ll_shape shape = shape_of(dtype, 1, (uint64_t[]){draw(state, 1, 40000)});
    for (int i = 0; i < tensors; i++)
        add_input(s, shape);
    add_real(s, LL_ATTR_LEARNING_RATE, 0.1);
    if (s->view.kind == LL_OP_MOVING_AVERAGE)
        add_real(s, LL_ATTR_DECAY, 0.75);
    if (s->view.kind == LL_OP_MOMENTUM)
        add_real(s, LL_ATTR_MOMENTUM, 0.9);
    if (s->view.kind == LL_OP_MOMENTUM && draw(state, 0, 1))
        add_real(s, LL_ATTR_DECAY, 0.25);
    if (s->view.kind == LL_OP_RMSPROP) {
        add_real(s, LL_ATTR_DECAY, 0.75);
        add_real(s, LL_ATTR_MOMENTUM, 0.5);
        add_real(s, LL_ATTR_EPSILON, 0.01);
    }
    if (s->view.kind != LL_OP_ADAM)
        return;
    add_input(s, shape_of(dtype, 1, (uint64_t[]){2}));
    if (draw(state, 0, 1))
        add_input(s, shape_of(dtype, 0, (uint64_t[]){0}));
    add_real(s, LL_ATTR_BETA1, 0.9);
    add_real(s, LL_ATTR_BETA2, 0.999);
    add_real(s, LL_ATTR_EPSILON, 1e-3);
}

/* Two shapes that repeat along dimensions of each other, or one of them along none it has. */
static inline void draw_pair(uint64_t *state, struct op_sample *s, enum ll_dtype dtype)
{
    unsigned rank = (unsigned)draw(state, 0, 4);
    uint64_t most = draw(state, 0, 3) ? 6 : 24;
    struct ll_shape in[2] = {{.dtype = (uint8_t)dtype, .rank = (uint8_t)rank}};
    for (unsigned i = 0; i < rank; i++)
        in[0].dim[i] = draw(state, 1, most);
    in[1] = in[0];
    for (unsigned i = 0; i < rank; i++)
        if (draw(state, 0, 2) == 0)
            in[draw(state, 0, 1)].dim[i] = 1;
    unsigned dropped = draw(state, 0, 2) ? 0 : (unsigned)draw(state, 0, rank);
    in[1] = shape_of(dtype, rank - dropped, in[1].dim + dropped);
    uint64_t first = draw(state, 0, 1);
    add_input(s, in[first]);
    add_input(s, in[!first]);
    if (s->view.kind == LL_OP_EQUAL && draw(state, 0, 1))
        s->in[0].dtype = s->in[1].dtype = LL_I32;
}

static inline void draw_choice(uint64_t *state, struct op_sample *s, enum ll_dtype dtype)
{
    struct ll_shape x = shape_of(dtype, 2, (uint64_t[]){draw(state, 1, 200), draw(state, 1, 90)});
    struct ll_shape condition = x;
    condition.dtype = LL_BOOL;
    if (draw(state, 0, 1))
        condition = shape_of(LL_BOOL, 1, x.dim); /* of rows */
    add_input(s, condition);
    add_input(s, x);
    add_input(s, x);
}

static inline void draw_transpose(uint64_t *state, struct op_sample *s, enum ll_dtype dtype)
{
    static const int64_t permutations[] = {12, 21, 102, 120, 201, 210};
    struct ll_shape x = draw_box(state, draw(state, 0, 4) ? dtype : LL_I32);
    add_input(s, x);
    add_attr(s, LL_ATTR_PERMUTATION, permutations[draw(state, 0, 5)]);
}

/* Joining and cutting along an axis. */
static inline void draw_move(uint64_t *state, struct op_sample *s, enum ll_dtype dtype)
{
    enum ll_op_kind kind = s->view.kind;
    struct ll_shape x = draw_box(state, dtype);
    uint64_t axis = draw(state, 0, 2), parts = draw(state, 1, 4);
    if (kind == LL_OP_SPLIT)
        x.dim[axis] *= parts;
    add_input(s, x);
    add_attr(s, LL_ATTR_AXIS, (int64_t)axis);
    for (uint64_t i = 1; kind == LL_OP_CONCAT && i < parts; i++) {
        x.dim[axis] = draw(state, 1, 9);
        add_input(s, x);
    }
    if (kind == LL_OP_SPLIT)
        add_attr(s, LL_ATTR_PARTS, (int64_t)parts);
    if (kind == LL_OP_SLICE) {
        uint64_t begin = draw(state, 0, x.dim[axis]);
        add_attr(s, LL_ATTR_BEGIN, (int64_t)begin);
        add_attr(s, LL_ATTR_SIZE, (int64_t)draw(state, 0, x.dim[axis] - begin));
    }
    if (kind == LL_OP_PAD) {
        add_attr(s, LL_ATTR_BEFORE, (int64_t)draw(state, 0, 3));
        add_attr(s, LL_ATTR_AFTER, (int64_t)draw(state, 0, 3));
    }
}

static inline void draw_stack(uint64_t *state, struct op_sample *s, enum ll_dtype dtype)
{
    uint64_t layers = draw(state, 1, LL_MAX_OUTPUTS);
    struct ll_shape layer = draw_box(state, dtype);
    if (s->view.kind == LL_OP_STACK) {
        for (uint64_t i = 0; i < layers; i++)
            add_input(s, layer);
        return;
    }
    add_input(s, shape_of(dtype, 4, (uint64_t[]){layers, layer.dim[0], layer.dim[1], layer.dim[2]}));
    while (s->view.output_count < layers)
        s->out[s->view.output_count++] = layer;
}

/* Tables have two rows at least: indices are 0 and 1. */
static inline void draw_rows(uint64_t *state, struct op_sample *s, enum ll_dtype dtype)
{
    enum ll_op_kind kind = s->view.kind;
    uint64_t length = draw(state, 1, draw(state, 0, 3) ? 9 : 300), count = draw(state, 1, 40);
    struct ll_shape table = shape_of(dtype, 2, (uint64_t[]){draw(state, 2, 50), length});
    struct ll_shape rows = shape_of(dtype, 2, (uint64_t[]){count, length});
    struct ll_shape indices = shape_of(LL_I32, 1, &count),
                    pairs = shape_of(LL_I32, 2, (uint64_t[]){count, 2});
    if (kind == LL_OP_ONE_HOT) {
        add_input(s, draw(state, 0, 1) ? indices : pairs);
        add_attr(s, LL_ATTR_DEPTH, (int64_t)length);
        s->out[0] = s->in[0];
        s->out[0].dtype = (uint8_t)dtype;
        s->out[0].dim[s->out[0].rank++] = length;
        s->view.output_count = 1;
        return;
    }
    if (kind != LL_OP_SEGMENT_SUM)
        add_input(s, table);
    if (kind != LL_OP_GATHER)
        add_input(s, rows);
    add_input(s, kind == LL_OP_GATHER && draw(state, 0, 1) ? pairs : indices);
    if (kind == LL_OP_SGD_ROWS)
        add_real(s, LL_ATTR_LEARNING_RATE, 0.1);
    if (kind == LL_OP_SEGMENT_SUM)
        s->out[s->view.output_count++] = table;
}

static inline void draw_stacked_product(uint64_t *state, struct op_sample *s, enum ll_dtype dtype)
{
    draw_product(state, s, dtype);
    uint64_t batch = draw(state, 1, 5);
    for (int i = 0; i < 2; i++)
        s->in[i] = shape_of(dtype, 3, (uint64_t[]){batch, s->in[i].dim[0], s->in[i].dim[1]});
}

static inline void draw_ctc(uint64_t *state, struct op_sample *s, enum ll_dtype dtype)
{
    uint64_t batch = draw(state, 1, 4), labels = draw(state, 1, 3);
    add_input(s, shape_of(dtype, 3, (uint64_t[]){draw(state, 1, 6), batch, draw(state, 2, 4)}));
    add_input(s, shape_of(LL_I32, 2, (uint64_t[]){batch, labels}));
    add_input(s, shape_of(LL_I32, 1, &batch));
    add_input(s, shape_of(LL_I32, 1, &batch));
}

static inline void draw_blocks(uint64_t *state, struct op_sample *s, enum ll_dtype dtype)
{
    uint64_t k[] = {draw(state, 1, 3), draw(state, 1, 3)};
    struct ll_shape image = draw_image(state, dtype, draw(state, 1, 40));
    for (int i = 0; i < 2; i++) {
        image.dim[1 + i] *= s->view.kind == LL_OP_UPSAMPLE_GRAD ? k[i] : 1;
        add_attr(s, i ? LL_ATTR_KERNEL_W : LL_ATTR_KERNEL_H, (int64_t)k[i]);
    }
    add_input(s, image);
}

static inline void draw_regions(uint64_t *state, struct op_sample *s, enum ll_dtype dtype)
{
    struct ll_shape image = draw_image(state, dtype, draw(state, 1, 40));
    uint64_t boxes = draw(state, 1, 4), size = draw(state, 1, 4);
    struct ll_shape pooled = image;
    pooled.dim[0] *= boxes;
    pooled.dim[1] = pooled.dim[2] = size;
    if (s->view.kind == LL_OP_ROI_POOL) {
        add_input(s, image);
        add_input(s, shape_of(dtype, 3, (uint64_t[]){image.dim[0], boxes, 4}));
        add_attr(s, LL_ATTR_SIZE, (int64_t)size);
        add_real(s, LL_ATTR_SCALE, draw(state, 0, 1) ? 0.5 : 3);
        return;
    }
    add_input(s, pooled);
    add_input(s, shape_of(LL_I32, 4, pooled.dim));
    s->out[s->view.output_count++] = image;
}

/* What detectors do with boxes. */
static inline void draw_boxes(uint64_t *state, struct op_sample *s, enum ll_dtype dtype)
{
    enum ll_op_kind kind = s->view.kind;
    uint64_t batch = draw(state, 1, 3), n = draw(state, 1, draw(state, 0, 3) ? 9 : 100);
    if (kind == LL_OP_BOX_DECODE)
        add_input(s, shape_of(dtype, 2, (uint64_t[]){n, 4}));
    add_input(s, shape_of(dtype, 3, (uint64_t[]){batch, n, 4}));
    if (kind == LL_OP_BOX_SAMPLE) {
        add_input(s, shape_of(dtype, 3, (uint64_t[]){batch, draw(state, 1, 5), 5}));
        add_input(s, (struct ll_shape){.dtype = (uint8_t)dtype});
        add_attr(s, LL_ATTR_CLASSES, (int64_t)draw(state, 2, 6));
        add_attr(s, LL_ATTR_SEED, (int64_t)ll_random(state));
        add_real(s, LL_ATTR_OVERLAP, 0.125);
        add_real(s, LL_ATTR_KEEP, 0.5);
    }
    if (kind == LL_OP_NMS)
        add_real(s, LL_ATTR_OVERLAP, draw(state, 0, 1) ? 0.5 : 0);
    if (kind != LL_OP_BOX_DECODE) {
        add_attr(s, LL_ATTR_SIZE, (int64_t)draw(state, 1, 20));
        return;
    }
    add_attr(s, LL_ATTR_HEIGHT, (int64_t)draw(state, 1, 20));
    add_attr(s, LL_ATTR_WIDTH, (int64_t)draw(state, 1, 20));
    add_real(s, LL_ATTR_LEAST, 2);
}

/* Lines of some length, as long as asked for; of some of each the best, or where such indices lie. */
static inline void draw_ranking(uint64_t *state, struct op_sample *s, enum ll_dtype dtype)
{
    uint64_t size = draw(state, 1, draw(state, 0, 3) ? 10 : 100), pieces = draw(state, 1, 9),
             lines = draw(state, 1, 50);
    if (s->view.kind == LL_OP_TOP_K) {
        add_input(s, shape_of(dtype, 2, (uint64_t[]){lines, size + draw(state, 0, 300)}));
        add_attr(s, LL_ATTR_SIZE, (int64_t)size);
        return;
    }
    add_input(s, shape_of(LL_I32, 2, (uint64_t[]){lines, size}));
    add_attr(s, LL_ATTR_SIZE, (int64_t)size + 1);
    add_attr(s, LL_ATTR_RANGE, (int64_t)(pieces * (size + 1)));
}

/* What the other kinds take, by the op table's comment on their inputs. */
static inline void draw_plain(uint64_t *state, struct op_sample *s, enum ll_dtype dtype)
{
    struct ll_shape x = shape_of(dtype, 2, (uint64_t[]){draw(state, 1, 200), draw(state, 1, 90)});
    x.dim[1] += s->view.kind == LL_OP_SOFTMAX_XENT_SMOOTH; /* two classes at least */
    struct ll_shape row = shape_of(dtype, 1, &x.dim[1]), column = shape_of(dtype, 1, &x.dim[0]);
    struct ll_shape labels = column;
    labels.dtype = LL_I32;
    enum ll_op_kind kind = s->view.kind;
    if (kind == LL_OP_HOST_INPUT || kind == LL_OP_CAST || kind == LL_OP_RESHAPE) {
        s->out[0] = x;
        s->view.output_count = 1;
    }
    if (kind == LL_OP_CAST)
        x.dtype = (uint8_t[]){LL_BOOL, LL_U8, LL_I32, (uint8_t)dtype}[draw(state, 0, 3)];
    if (kind == LL_OP_QUANTIZE || kind == LL_OP_DEQUANTIZE) {
        struct ll_shape *narrow = kind == LL_OP_QUANTIZE ? &s->out[0] : &x;
        s->out[0] = x;
        s->view.output_count = 1;
        narrow->dtype = draw(state, 0, 1) ? LL_F8 : LL_INT8;
        narrow->scales = kind == LL_OP_QUANTIZE && draw(state, 0, 1) ? LL_SCALES_E8M0 : LL_SCALES_NONE;
    }
    if (kind == LL_OP_RESHAPE)
        x = shape_of(dtype, 1, (uint64_t[]){x.dim[0] * x.dim[1]});
    if (kind != LL_OP_HOST_INPUT)
        add_input(s, x);
    if (shape_word(kind, "SAME_2") || kind == LL_OP_ASSIGN)
        add_input(s, x);
    for (uint64_t more = shape_word(kind, "SAME_N") ? draw(state, 0, 3) : 0; more > 0; more--)
        add_input(s, x);
    if (kind == LL_OP_DROPOUT_GRAD) {
        add_input(s, shape_of(LL_BOOL, 2, x.dim));
        add_real(s, LL_ATTR_KEEP, draw(state, 0, 1) ? 0.75 : 0.25);
    }
    if (kind == LL_OP_BIAS_ADD)
        add_input(s, row);
    if (kind == LL_OP_SOFTMAX_XENT_GRAD)
        add_input(s, column);
    if (shape_word(kind, "XENT") || kind == LL_OP_SOFTMAX_XENT_SMOOTH)
        add_input(s, labels);
    if (kind == LL_OP_SOFTMAX_XENT_SMOOTH)
        add_real(s, LL_ATTR_SMOOTHING, 0.25);
    if (kind == LL_OP_SOFTMAX_XENT_DENSE)
        add_input(s, x);
    if (kind == LL_OP_SMOOTH_L1 || kind == LL_OP_SMOOTH_L1_GRAD || kind == LL_OP_RELU_CLIPPED ||
        kind == LL_OP_RELU_CLIPPED_GRAD)
        add_real(s, LL_ATTR_LIMIT, 1.25);
}

/* A random op of this kind, complete with its outputs. */
static inline void draw_op(uint64_t *state, enum ll_op_kind kind, enum ll_dtype dtype, struct op_sample *s)
{
    memset(s, 0, sizeof *s);
    s->view = (struct ll_op_view){.kind = kind, .in = s->in, .out = s->out, .attrs = s->attrs};
    if (shape_word(kind, "SCAN") || shape_word(kind, "SCAN_GRAD"))
        draw_scan(state, s, dtype, shape_word(kind, "SCAN_GRAD"));
    else if (shape_word(kind, "CAUSAL_CONV") || shape_word(kind, "CAUSAL_CONV_GRAD"))
        draw_causal_conv(state, s, dtype, shape_word(kind, "CAUSAL_CONV_GRAD"));
    else if (ll_op_class(kind) == LL_CLASS_CONV)
        draw_conv(state, s, dtype);
    else if (kind == LL_OP_MATMUL)
        draw_product(state, s, dtype);
    else if (shape_word(kind, "POOL") || shape_word(kind, "POOL_GRAD") || shape_word(kind, "SPREAD"))
        draw_pool(state, s, dtype);
    else if (kind == LL_OP_LRN || kind == LL_OP_LRN_GRAD)
        draw_lrn(state, s, dtype);
    else if (shape_word(kind, "REDUCED") || shape_word(kind, "EXPAND"))
        draw_reduction(state, s, dtype);
    else if (shape_word(kind, "BATCH_NORM") || shape_word(kind, "NORM_GRAD") ||
             shape_word(kind, "NORM_FIXED"))
        draw_norm(state, s, dtype);
    else if (kind == LL_OP_LAYER_NORM || kind == LL_OP_LAYER_NORM_GRAD || kind == LL_OP_RMS_NORM ||
             kind == LL_OP_RMS_NORM_GRAD)
        draw_layer_norm(state, s, dtype);
    else if (kind == LL_OP_GROUP_NORM || kind == LL_OP_GROUP_NORM_GRAD)
        draw_group_norm(state, s, dtype);
    else if (kind == LL_OP_LOG_UNIFORM_SAMPLE)
        draw_sampler(state, s, dtype);
    else if (shape_word(kind, "UPSAMPLE") || shape_word(kind, "SHRUNK"))
        draw_blocks(state, s, dtype);
    else if (shape_word(kind, "ROI_POOL") || shape_word(kind, "ROI_POOL_GRAD"))
        draw_regions(state, s, dtype);
    else if (shape_word(kind, "BOX_DECODE") || shape_word(kind, "NMS") || shape_word(kind, "BOX_SAMPLE"))
        draw_boxes(state, s, dtype);
    else if (ll_op_class(kind) == LL_CLASS_RANDOM)
        draw_random(state, s, dtype);
    else if (kind == LL_OP_SGD_ROWS)
        draw_rows(state, s, dtype);
    else if (ll_op_class(kind) == LL_CLASS_OPTIMIZATION)
        draw_optimizer(state, s, dtype,
                       kind == LL_OP_MOMENTUM                        ? 3
                       : kind == LL_OP_ADAM || kind == LL_OP_RMSPROP ? 4
                                                                     : 2);
    else if (shape_word(kind, "BROADCAST") || shape_word(kind, "COMPARE"))
        draw_pair(state, s, dtype);
    else if (kind == LL_OP_SELECT)
        draw_choice(state, s, dtype);
    else if (kind == LL_OP_TRUE_INDICES)
        add_input(s, shape_of(LL_BOOL, 1, (uint64_t[]){draw(state, 1, 500)}));
    else if (kind == LL_OP_TRANSPOSE)
        draw_transpose(state, s, dtype);
    else if (kind == LL_OP_CONCAT || kind == LL_OP_SPLIT || kind == LL_OP_SLICE || kind == LL_OP_PAD)
        draw_move(state, s, dtype);
    else if (kind == LL_OP_STACK || kind == LL_OP_UNSTACK)
        draw_stack(state, s, dtype);
    else if (kind == LL_OP_GATHER || kind == LL_OP_SEGMENT_SUM || kind == LL_OP_ONE_HOT)
        draw_rows(state, s, dtype);
    else if (kind == LL_OP_BATCH_MATMUL)
        draw_stacked_product(state, s, dtype);
    else if (kind == LL_OP_TOP_K || kind == LL_OP_UNRAVEL)
        draw_ranking(state, s, dtype);
    else if (kind == LL_OP_ROTARY || kind == LL_OP_ROUTE || kind == LL_OP_SILU_MUL_GRAD)
        draw_decoder(state, s, dtype);
    else if (kind == LL_OP_CAUSAL_ATTENTION || kind == LL_OP_CAUSAL_ATTENTION_GRAD)
        draw_attention(state, s, dtype);
    else if (kind == LL_OP_LATENT_ATTENTION)
        draw_latent(state, s, dtype);
    else if (kind == LL_OP_KV_CACHE_UPDATE)
        draw_put(state, s, dtype);
    else if (kind == LL_OP_CAUSAL_SOFTMAX)
        draw_causal(state, s, dtype);
    else if (kind == LL_OP_CTC_LOSS)
        draw_ctc(state, s, dtype);
    else
        draw_plain(state, s, dtype);
    const char *wrong = ll_op_infer(&s->view);
    assert(!wrong), (void)wrong;
}

#endif
