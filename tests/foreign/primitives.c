/* SPDX-License-Identifier: Apache-2.0 */
/* A program that runs one of each of oneDNN's primitives, forward and on the way back: primitives.sh records
 * it. Version 2 of the library. */
#include <dnnl.h>

#include <stdio.h>
#include <stdlib.h>

static dnnl_engine_t engine;
static dnnl_stream_t stream;
static unsigned asked_for = ~0u; /* of scales and shifts: dnnl_normalization_flags_t */

static void must(dnnl_status_t status, const char *what)
{
    if (status == dnnl_success)
        return;
    fprintf(stderr, "%s: status %d\n", what, (int)status);
    exit(1);
}

static dnnl_memory_desc_t shape(int rank, const dnnl_dim_t *dims)
{
    static const dnnl_format_tag_t tags[] = {dnnl_a, dnnl_ab, dnnl_abc, dnnl_abcd, dnnl_abcde};
    dnnl_memory_desc_t memory;
    must(dnnl_memory_desc_init_by_tag(&memory, rank, dims, dnnl_f32, tags[rank - 1]), "memory");
    return memory;
}
#define SHAPE(...)                                                                                           \
    shape(sizeof((dnnl_dim_t[]){__VA_ARGS__}) / sizeof(dnnl_dim_t), (dnnl_dim_t[]){__VA_ARGS__})

/* Scales and shifts come in one or in two, whatever the library says that it takes. */
static int is_superfluous(int argument)
{
    int together = argument == DNNL_ARG_SCALE_SHIFT || argument == DNNL_ARG_DIFF_SCALE_SHIFT;
    int apart = argument == DNNL_ARG_SCALE || argument == DNNL_ARG_SHIFT || argument == DNNL_ARG_DIFF_SCALE ||
                argument == DNNL_ARG_DIFF_SHIFT;
    return (together && !(asked_for & dnnl_use_scaleshift)) || (apart && !(asked_for & dnnl_use_scale));
}

static void execute(dnnl_primitive_desc_t described, int count, const dnnl_exec_arg_t *arguments)
{
    dnnl_primitive_t primitive;
    must(dnnl_primitive_create(&primitive, described), "primitive");
    must(dnnl_primitive_execute(primitive, stream, count, arguments), "execute");
    must(dnnl_stream_wait(stream), "wait");
    dnnl_primitive_destroy(primitive);
}

/* Runs what is described, with memory for each argument that it has. */
static void run(dnnl_primitive_desc_t described)
{
    enum { MOST = 64, MULTIPLE = 1024 };
    static const int known[] = {1,   2,   3,   17,  18,  19,  33,  34,       35,          36,
                                41,  49,  50,  51,  52,  64,  129, 130,      131,         145,
                                146, 147, 161, 162, 169, 255, 256, MULTIPLE, MULTIPLE + 1};
    dnnl_exec_arg_t arguments[MOST];
    int count = 0;
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        const dnnl_memory_desc_t *memory =
            dnnl_primitive_desc_query_md(described, dnnl_query_exec_arg_md, known[i]);
        if (!memory || memory->ndims == 0 || is_superfluous(known[i]))
            continue;
        arguments[count].arg = known[i];
        must(dnnl_memory_create(&arguments[count++].memory, memory, engine, DNNL_MEMORY_ALLOCATE), "create");
    }
    execute(described, count, arguments);
    for (int i = 0; i < count; i++)
        dnnl_memory_destroy(arguments[i].memory);
}

/* Describes, runs, and leaves the description to whoever goes the way back. */
static dnnl_primitive_desc_t forward(const void *asked, const_dnnl_primitive_attr_t attributes)
{
    dnnl_primitive_desc_t described;
    must(dnnl_primitive_desc_create(&described, asked, attributes, engine, NULL), "forward");
    run(described);
    return described;
}

static void backward(const void *asked, dnnl_primitive_desc_t hint)
{
    dnnl_primitive_desc_t described;
    must(dnnl_primitive_desc_create(&described, asked, NULL, engine, hint), "backward");
    run(described);
    dnnl_primitive_desc_destroy(described);
}

enum { N = 2, C = 8, H = 6, W = 6 };

static void normalise(unsigned flags)
{
    const dnnl_memory_desc_t image = SHAPE(N, C, H, W), rows = SHAPE(5, N, C);
    dnnl_batch_normalization_desc_t batch;
    dnnl_layer_normalization_desc_t layer;
    asked_for = flags;
    must(dnnl_batch_normalization_forward_desc_init(&batch, dnnl_forward_training, &image, 1e-5f, flags),
         "bn");
    dnnl_primitive_desc_t hint = forward(&batch, NULL);
    must(dnnl_batch_normalization_backward_desc_init(&batch, dnnl_backward, &image, &image, 1e-5f, flags),
         "bn");
    backward(&batch, hint);
    dnnl_primitive_desc_destroy(hint);
    must(dnnl_batch_normalization_forward_desc_init(&batch, dnnl_forward_inference, &image, 1e-5f,
                                                    flags | dnnl_use_global_stats),
         "bn");
    dnnl_primitive_desc_destroy(forward(&batch, NULL));
    must(dnnl_layer_normalization_forward_desc_init(&layer, dnnl_forward_training, &rows, NULL, 1e-5f, flags),
         "ln");
    hint = forward(&layer, NULL);
    must(dnnl_layer_normalization_backward_desc_init(&layer, dnnl_backward, &rows, &rows, NULL, 1e-5f, flags),
         "ln");
    backward(&layer, hint);
    dnnl_primitive_desc_destroy(hint);
    asked_for = ~0u;
}

static void pool(dnnl_alg_kind_t algorithm)
{
    const dnnl_memory_desc_t image = SHAPE(N, C, H, W), pooled = SHAPE(N, C, H / 2, W / 2);
    const dnnl_dims_t two = {2, 2}, none = {0, 0};
    dnnl_pooling_desc_t asked;
    must(dnnl_pooling_forward_desc_init(&asked, dnnl_forward_training, algorithm, &image, &pooled, two, two,
                                        none, none),
         "pool");
    dnnl_primitive_desc_t hint = forward(&asked, NULL);
    must(dnnl_pooling_backward_desc_init(&asked, algorithm, &image, &pooled, two, two, none, none), "pool");
    backward(&asked, hint);
    dnnl_primitive_desc_destroy(hint);
}

static void apply(dnnl_alg_kind_t algorithm, dnnl_alg_kind_t back)
{
    const dnnl_memory_desc_t image = SHAPE(N, C, H, W);
    dnnl_eltwise_desc_t asked;
    must(dnnl_eltwise_forward_desc_init(&asked, dnnl_forward_training, back, &image, 0, 0), "eltwise");
    dnnl_primitive_desc_t hint = forward(&asked, NULL);
    must(dnnl_eltwise_backward_desc_init(&asked, back, &image, &image, 0, 0), "eltwise");
    backward(&asked, hint);
    dnnl_primitive_desc_destroy(hint);
    must(dnnl_eltwise_forward_desc_init(&asked, dnnl_forward_inference, algorithm, &image, 0, 0), "eltwise");
    dnnl_primitive_desc_destroy(forward(&asked, NULL));
}

static void soften(void)
{
    const dnnl_memory_desc_t rows = SHAPE(N, C);
    dnnl_softmax_desc_t soft;
    dnnl_logsoftmax_desc_t log_soft;
    must(dnnl_softmax_forward_desc_init(&soft, dnnl_forward_training, &rows, 1), "softmax");
    dnnl_primitive_desc_t hint = forward(&soft, NULL);
    must(dnnl_softmax_backward_desc_init(&soft, &rows, &rows, 1), "softmax");
    backward(&soft, hint);
    dnnl_primitive_desc_destroy(hint);
    must(dnnl_logsoftmax_forward_desc_init(&log_soft, dnnl_forward_training, &rows, 1), "logsoftmax");
    hint = forward(&log_soft, NULL);
    must(dnnl_logsoftmax_backward_desc_init(&log_soft, &rows, &rows, 1), "logsoftmax");
    backward(&log_soft, hint);
    dnnl_primitive_desc_destroy(hint);
}

/* An LSTM of one layer: 3 steps, 2 samples, 4 features to 5. */
static void recur(void)
{
    enum { T = 3, IN = 4, OUT = 5 };
    const dnnl_memory_desc_t x = SHAPE(T, N, IN), state = SHAPE(1, 1, N, OUT), y = SHAPE(T, N, OUT),
                             bias = SHAPE(1, 1, 4, OUT);
    dnnl_memory_desc_t w = SHAPE(1, 1, IN, 4, OUT), u = SHAPE(1, 1, OUT, 4, OUT);
    dnnl_rnn_desc_t asked;
    must(dnnl_lstm_forward_desc_init(&asked, dnnl_forward_training, dnnl_unidirectional_left2right, &x,
                                     &state, &state, &w, &u, &bias, &y, &state, &state, 0),
         "lstm");
    dnnl_primitive_desc_t hint = forward(&asked, NULL);
    dnnl_memory_desc_init_by_tag(&w, 5, w.dims, dnnl_f32, dnnl_format_tag_any);
    dnnl_memory_desc_init_by_tag(&u, 5, u.dims, dnnl_f32, dnnl_format_tag_any);
    must(dnnl_lstm_backward_desc_init(&asked, dnnl_backward, dnnl_unidirectional_left2right, &x, &state,
                                      &state, &w, &u, &bias, &y, &state, &state, &x, &state, &state, &w, &u,
                                      &bias, &y, &state, &state, 0),
         "lstm");
    backward(&asked, hint);
    dnnl_primitive_desc_destroy(hint);
}

/* A convolution and a product, each followed by a relu of its own and by something that is added. */
static void multiply(void)
{
    const dnnl_memory_desc_t image = SHAPE(N, C, H, W), filter = SHAPE(C, C, 3, 3), a = SHAPE(7, C),
                             b = SHAPE(C, 5), c = SHAPE(7, 5);
    const dnnl_dims_t one = {1, 1};
    dnnl_convolution_desc_t convolution;
    dnnl_matmul_desc_t product;
    dnnl_primitive_attr_t attributes;
    dnnl_post_ops_t after;
    must(dnnl_post_ops_create(&after), "post-operations");
    must(dnnl_post_ops_append_sum(after, 1), "sum");
    must(dnnl_post_ops_append_eltwise(after, 1, dnnl_eltwise_relu, 0, 0), "relu");
    must(dnnl_primitive_attr_create(&attributes), "attributes");
    must(dnnl_primitive_attr_set_post_ops(attributes, after), "attributes");
    must(dnnl_convolution_forward_desc_init(&convolution, dnnl_forward_training, dnnl_convolution_direct,
                                            &image, &filter, NULL, &image, one, one, one),
         "convolution");
    dnnl_primitive_desc_t hint = forward(&convolution, attributes);
    must(dnnl_convolution_backward_data_desc_init(&convolution, dnnl_convolution_direct, &image, &filter,
                                                  &image, one, one, one),
         "convolution");
    backward(&convolution, hint);
    must(dnnl_convolution_backward_weights_desc_init(&convolution, dnnl_convolution_direct, &image, &filter,
                                                     NULL, &image, one, one, one),
         "convolution");
    backward(&convolution, hint);
    dnnl_primitive_desc_destroy(hint);
    must(dnnl_matmul_desc_init(&product, &a, &b, NULL, &c), "matmul");
    dnnl_primitive_desc_destroy(forward(&product, attributes));
    dnnl_primitive_attr_destroy(attributes);
    dnnl_post_ops_destroy(after);
}

static void scale_responses(void)
{
    const dnnl_memory_desc_t image = SHAPE(N, C, H, W);
    dnnl_lrn_desc_t asked;
    must(dnnl_lrn_forward_desc_init(&asked, dnnl_forward_training, dnnl_lrn_across_channels, &image, 5, 1e-4f,
                                    0.75f, 1),
         "lrn");
    dnnl_primitive_desc_t hint = forward(&asked, NULL);
    must(dnnl_lrn_backward_desc_init(&asked, dnnl_lrn_across_channels, &image, &image, 5, 1e-4f, 0.75f, 1),
         "lrn");
    backward(&asked, hint);
    dnnl_primitive_desc_destroy(hint);
}

static void bend(void)
{
    const dnnl_memory_desc_t image = SHAPE(N, C, H, W), slopes = SHAPE(1, C, 1, 1);
    dnnl_prelu_desc_t asked;
    must(dnnl_prelu_forward_desc_init(&asked, dnnl_forward_training, &image, &slopes), "prelu");
    dnnl_primitive_desc_t hint = forward(&asked, NULL);
    must(dnnl_prelu_backward_desc_init(&asked, &image, &slopes, &image, &slopes), "prelu");
    backward(&asked, hint);
    dnnl_primitive_desc_destroy(hint);
}

static void resize(dnnl_alg_kind_t algorithm)
{
    const dnnl_memory_desc_t image = SHAPE(N, C, H, W), large = SHAPE(N, C, 2 * H, 2 * W);
    dnnl_resampling_desc_t asked;
    must(dnnl_resampling_forward_desc_init(&asked, dnnl_forward_training, algorithm, NULL, &image, &large),
         "resize");
    dnnl_primitive_desc_t hint = forward(&asked, NULL);
    must(dnnl_resampling_backward_desc_init(&asked, algorithm, NULL, &image, &large), "resize");
    backward(&asked, hint);
    dnnl_primitive_desc_destroy(hint);
}

/* Two or more become one, and one is stored otherwise. */
static void join(void)
{
    const dnnl_memory_desc_t image = SHAPE(N, C, H, W), two[] = {image, image}, one = SHAPE(N, 1, 1, 1);
    dnnl_memory_desc_t last;
    dnnl_primitive_desc_t described;
    dnnl_binary_desc_t binary;
    dnnl_reduction_desc_t reduction;
    dnnl_shuffle_desc_t shuffle;
    must(dnnl_binary_desc_init(&binary, dnnl_binary_mul, &image, &one, &image), "binary");
    dnnl_primitive_desc_destroy(forward(&binary, NULL));
    must(dnnl_reduction_desc_init(&reduction, dnnl_reduction_mean, &image, &one, 0, 0), "reduction");
    dnnl_primitive_desc_destroy(forward(&reduction, NULL));
    must(dnnl_shuffle_forward_desc_init(&shuffle, dnnl_forward_training, &image, 1, 4), "shuffle");
    dnnl_primitive_desc_t hint = forward(&shuffle, NULL);
    must(dnnl_shuffle_backward_desc_init(&shuffle, &image, 1, 4), "shuffle");
    backward(&shuffle, hint);
    dnnl_primitive_desc_destroy(hint);
    must(dnnl_concat_primitive_desc_create(&described, NULL, 2, 1, two, NULL, engine), "concat");
    run(described);
    dnnl_primitive_desc_destroy(described);
    must(dnnl_sum_primitive_desc_create(&described, &image, 2, (const float[]){1, 1}, two, NULL, engine),
         "sum");
    run(described);
    dnnl_primitive_desc_destroy(described);
    must(dnnl_memory_desc_init_by_tag(&last, 4, image.dims, dnnl_f32, dnnl_nhwc), "memory");
    must(dnnl_reorder_primitive_desc_create(&described, &image, engine, &last, engine, NULL), "reorder");
    run(described);
    dnnl_primitive_desc_destroy(described);
}

/* Half of the channels of what a function gave, the second half, in another order. */
static void take_part(void)
{
    const dnnl_memory_desc_t image = SHAPE(N, C, H, W);
    const dnnl_dims_t dims = {N, C / 2, H, W}, at = {0, C / 2, 0, 0};
    dnnl_memory_desc_t half, last;
    dnnl_eltwise_desc_t asked;
    dnnl_primitive_desc_t described;
    dnnl_memory_t whole, part, turned;
    must(dnnl_memory_desc_init_submemory(&half, &image, dims, at), "part");
    must(dnnl_memory_desc_init_by_tag(&last, 4, dims, dnnl_f32, dnnl_nhwc), "memory");
    must(dnnl_memory_create(&whole, &image, engine, DNNL_MEMORY_ALLOCATE), "create");
    must(dnnl_memory_create(&turned, &last, engine, DNNL_MEMORY_ALLOCATE), "create");
    void *data;
    must(dnnl_memory_get_data_handle(whole, &data), "address");
    must(dnnl_memory_create(&part, &half, engine, data), "create");
    must(dnnl_eltwise_forward_desc_init(&asked, dnnl_forward_inference, dnnl_eltwise_abs, &image, 0, 0),
         "abs");
    must(dnnl_primitive_desc_create(&described, &asked, NULL, engine, NULL), "abs");
    execute(described, 2, (dnnl_exec_arg_t[]){{DNNL_ARG_SRC, whole}, {DNNL_ARG_DST, whole}});
    dnnl_primitive_desc_destroy(described);
    must(dnnl_reorder_primitive_desc_create(&described, &half, engine, &last, engine, NULL), "reorder");
    execute(described, 2, (dnnl_exec_arg_t[]){{DNNL_ARG_SRC, part}, {DNNL_ARG_DST, turned}});
    dnnl_primitive_desc_destroy(described);
    dnnl_memory_destroy(part);
    dnnl_memory_destroy(whole);
    dnnl_memory_destroy(turned);
}

int main(void)
{
    must(dnnl_engine_create(&engine, dnnl_cpu, 0), "engine");
    must(dnnl_stream_create(&stream, engine, dnnl_stream_default_flags), "stream");
    normalise(dnnl_use_scale | dnnl_use_shift);
    normalise(dnnl_use_scaleshift);
    pool(dnnl_pooling_max);
    pool(dnnl_pooling_avg_include_padding);
    apply(dnnl_eltwise_relu, dnnl_eltwise_relu);
    apply(dnnl_eltwise_tanh, dnnl_eltwise_tanh_use_dst_for_bwd);
    apply(dnnl_eltwise_gelu_tanh, dnnl_eltwise_gelu_tanh);
    apply(dnnl_eltwise_swish, dnnl_eltwise_swish);
    soften();
    recur();
    multiply();
    scale_responses();
    bend();
    resize(dnnl_resampling_nearest);
    resize(dnnl_resampling_linear);
    join();
    take_part();
    puts("done");
    dnnl_stream_destroy(stream);
    dnnl_engine_destroy(engine);
    return 5;
}
