/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels that memory should bound: an op on 2,000 elements, where starting it is what counts, and one on ten
 * million, beside adding two arrays, which is nothing but traffic. A name given as argument picks one kind.
 */
#include "bench.h"

#include "models/nn/kernel.h"

#include <stdlib.h>
#include <string.h>

enum { INPUTS = 5 };

/* Dimensions of each input, ended by 0; none for a scalar. */
struct row {
    enum ll_op_kind kind;
    uint64_t dims[INPUTS][LL_MAX_RANK];
    uint32_t inputs;
    struct ll_attr attrs[4];
    struct ll_shape given; /* of the output, where inputs do not tell it */
};

#define IMAGES                                                                                               \
    {                                                                                                        \
        32, 56, 56, 100                                                                                      \
    }
#define CHANNELS                                                                                             \
    {                                                                                                        \
        100                                                                                                  \
    }
#define AXIS(n)                                                                                              \
    {.key = LL_ATTR_AXIS, .count = n},                                                                       \
    {                                                                                                        \
        .key = LL_ATTR_AXES, .count = 1                                                                      \
    }
#define TURNED                                                                                               \
    {                                                                                                        \
        .key = LL_ATTR_PERMUTATION, .count = 10                                                              \
    }
#define WINDOW                                                                                               \
    {.key = LL_ATTR_KERNEL_H, .count = 2}, {.key = LL_ATTR_KERNEL_W, .count = 2},                            \
        {.key = LL_ATTR_STRIDE_H, .count = 2},                                                               \
    {                                                                                                        \
        .key = LL_ATTR_STRIDE_W, .count = 2                                                                  \
    }

static const struct row rows[] = {
    {.kind = LL_OP_ADD, .dims = {{2000}, {2000}}, .inputs = 2},
    {.kind = LL_OP_TANH, .dims = {{2000}}, .inputs = 1},
    {.kind = LL_OP_LOG, .dims = {{2000}}, .inputs = 1},
    {.kind = LL_OP_SOFTMAX, .dims = {{20, 100}}, .inputs = 1},
    {.kind = LL_OP_MUL, .dims = {{32, 10, 20}, {32, 10, 20}}, .inputs = 2},
    {.kind = LL_OP_MUL, .dims = {{32, 10, 20}, {20}}, .inputs = 2},
    {.kind = LL_OP_MUL, .dims = {{32, 10, 20}, {32, 1, 20}}, .inputs = 2},
    {.kind = LL_OP_MUL, .dims = {{32, 10, 20}, {32, 10, 1}}, .inputs = 2},
    {.kind = LL_OP_MUL, .dims = {{1600, 4}, {1600, 1}}, .inputs = 2},
    {.kind = LL_OP_SUM, .dims = {{32, 10, 20}}, .inputs = 1, .attrs = {AXIS(2)}},
    {.kind = LL_OP_SUM, .dims = {{32, 10, 20}}, .inputs = 1, .attrs = {AXIS(1)}},
    {.kind = LL_OP_SUM, .dims = {{320, 100}}, .inputs = 1, .attrs = {AXIS(1)}},
    {.kind = LL_OP_SUM, .dims = {{32, 100, 4}}, .inputs = 1, .attrs = {AXIS(1)}},
    {.kind = LL_OP_TRANSPOSE, .dims = {{20, 30}}, .inputs = 1, .attrs = {TURNED}},
    {.kind = LL_OP_TRANSPOSE,
     .dims = {{32, 10, 20}},
     .inputs = 1,
     .attrs = {{.key = LL_ATTR_PERMUTATION, .count = 21}}},
    {.kind = LL_OP_TRANSPOSE,
     .dims = {{32, 10, 20}},
     .inputs = 1,
     .attrs = {{.key = LL_ATTR_PERMUTATION, .count = 102}}},
    {.kind = LL_OP_TRANSPOSE,
     .dims = {{8, 16, 4, 32}},
     .inputs = 1,
     .attrs = {{.key = LL_ATTR_PERMUTATION, .count = 213}}},
    {.kind = LL_OP_ADD, .dims = {{10000, 1000}, {10000, 1000}}, .inputs = 2},
    {.kind = LL_OP_ADD, .dims = {{10000, 1000}, {1000}}, .inputs = 2},
    {.kind = LL_OP_MUL, .dims = {{10000, 1000}, {10000, 1}}, .inputs = 2},
    {.kind = LL_OP_EXP, .dims = {{10000, 1000}}, .inputs = 1},
    {.kind = LL_OP_LOG, .dims = {{10000, 1000}}, .inputs = 1},
    {.kind = LL_OP_TANH, .dims = {{10000, 1000}}, .inputs = 1},
    {.kind = LL_OP_SIGMOID, .dims = {{10000, 1000}}, .inputs = 1},
    {.kind = LL_OP_RELU_CLIPPED,
     .dims = {{10000, 1000}},
     .inputs = 1,
     .attrs = {{.key = LL_ATTR_LIMIT, .real = 20}}},
    {.kind = LL_OP_SUM, .dims = {{10000, 1000}}, .inputs = 1, .attrs = {AXIS(0)}},
    {.kind = LL_OP_SUM, .dims = {{10000, 1000}}, .inputs = 1, .attrs = {AXIS(1)}},
    {.kind = LL_OP_BIAS_GRAD, .dims = {{10000, 1000}}, .inputs = 1},
    {.kind = LL_OP_L2_LOSS, .dims = {{10000, 1000}}, .inputs = 1},
    {.kind = LL_OP_MAX, .dims = {{10000, 1000}}, .inputs = 1, .attrs = {AXIS(0)}},
    {.kind = LL_OP_MAX, .dims = {{10000, 1000}}, .inputs = 1, .attrs = {AXIS(1)}},
    {.kind = LL_OP_ARGMAX, .dims = {{10000, 1000}}, .inputs = 1},
    {.kind = LL_OP_SOFTMAX, .dims = {{10000, 1000}}, .inputs = 1},
    {.kind = LL_OP_SOFTMAX_XENT_DENSE, .dims = {{10000, 1000}, {10000, 1000}}, .inputs = 2},
    {.kind = LL_OP_BATCH_NORM, .dims = {IMAGES, CHANNELS, CHANNELS}, .inputs = 3},
    {.kind = LL_OP_BATCH_NORM_GRAD, .dims = {IMAGES, IMAGES, CHANNELS, CHANNELS, CHANNELS}, .inputs = 5},
    {.kind = LL_OP_MAX_POOL, .dims = {IMAGES}, .inputs = 1, .attrs = {WINDOW}},
    {.kind = LL_OP_MAX_POOL_GRAD,
     .dims = {{32, 28, 28, 100}, IMAGES, {32, 28, 28, 100}},
     .inputs = 3,
     .attrs = {WINDOW}},
    {.kind = LL_OP_TRANSPOSE, .dims = {{256, 40000}}, .inputs = 1, .attrs = {TURNED}},
    {.kind = LL_OP_TRANSPOSE, .dims = {{40000, 256}}, .inputs = 1, .attrs = {TURNED}},
    {.kind = LL_OP_TRANSPOSE, .dims = {{400000, 25}}, .inputs = 1, .attrs = {TURNED}},
    {.kind = LL_OP_TRANSPOSE, .dims = {{25, 400000}}, .inputs = 1, .attrs = {TURNED}},
    {.kind = LL_OP_DROPOUT,
     .dims = {{10000, 1000}, {0}},
     .inputs = 2,
     .attrs = {{.key = LL_ATTR_KEEP, .real = 0.5}}},
    {.kind = LL_OP_RANDOM_UNIFORM,
     .dims = {{0}},
     .inputs = 1,
     .given = {.dtype = LL_F32, .rank = 2, .dim = {10000, 1000}}},
    {.kind = LL_OP_RANDOM_NORMAL,
     .dims = {{0}},
     .inputs = 1,
     .given = {.dtype = LL_F32, .rank = 2, .dim = {10000, 1000}}},
};

static struct ll_shape shape_of(const uint64_t *dims)
{
    struct ll_shape shape = {.dtype = LL_F32};
    for (; shape.rank < LL_MAX_RANK && dims[shape.rank]; shape.rank++)
        shape.dim[shape.rank] = dims[shape.rank];
    return shape;
}

static void *taken(uint64_t bytes)
{
    void *memory = aligned_alloc(64, (bytes + 64) / 64 * 64);
    if (!memory)
        exit(1);
    return memset(memory, 0, bytes);
}

/* Numbers from 1/256 to 1, in no order. */
static float *filled(const struct ll_shape *shape)
{
    float *data = taken(ll_size_bytes(shape));
    for (uint64_t i = 0; i < ll_elements(shape); i++)
        data[i] = (float)(i * 2654435761u >> 8 & 255) / 256 + 1.0f / 256;
    return data;
}

static void run_kernel(void *context)
{
    const struct ll_kernel_call *call = context;
    ll_kernel_of(call->op->kind, LL_F32)(call);
}

static void name_of(const struct row *row, const struct ll_op_view *op, char *name, size_t size)
{
    int used = snprintf(name, size, "%s", ll_op_name(row->kind));
    for (uint32_t k = 0; k < op->input_count && k < 2; k++)
        for (unsigned i = 0; i < op->in[k].rank && used > 0 && (size_t)used < size; i++)
            used += snprintf(name + used, size - (size_t)used, "%c%llu", i ? 'x' : ' ',
                             (unsigned long long)op->in[k].dim[i]);
}

static void bench_row(const struct row *row, struct ll_pool *pool)
{
    struct ll_shape in[INPUTS], out[LL_MAX_OUTPUTS] = {row->given};
    struct ll_op_view op = {.kind = row->kind,
                            .input_count = row->inputs,
                            .in = in,
                            .out = out,
                            .output_count = row->given.rank ? 1 : 0,
                            .attrs = row->attrs};
    void *inputs[INPUTS], *outputs[LL_MAX_OUTPUTS];
    for (uint32_t i = 0; i < row->inputs; i++) {
        in[i] = shape_of(row->dims[i]);
        inputs[i] = filled(&in[i]);
    }
    while (op.attr_count < 4 && (row->attrs[op.attr_count].key || row->attrs[op.attr_count].count))
        op.attr_count++;
    const char *wrong = ll_op_infer(&op);
    if (wrong) {
        fprintf(stderr, "%s: %s\n", ll_op_name(row->kind), wrong);
        exit(1);
    }
    for (uint32_t i = 0; i < op.output_count; i++)
        outputs[i] = taken(ll_size_bytes(&out[i]));
    struct ll_kernel_call call = {&op,
                                  (const void *const *)inputs,
                                  outputs,
                                  pool,
                                  taken(ll_kernel_workspace(&op, ll_pool_threads(pool))),
                                  NULL};
    char name[80];
    name_of(row, &op, name, sizeof name);
    ll_bench(name, run_kernel, &call, 1, ll_op_bytes_read(&op) + ll_op_bytes_written(&op));
    for (uint32_t i = 0; i < row->inputs; i++)
        free(inputs[i]);
    for (uint32_t i = 0; i < op.output_count; i++)
        free(outputs[i]);
    free(call.workspace);
}

int main(int argc, char **argv)
{
    struct ll_pool *pool = ll_pool_new(0);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (argc < 2 || strcmp(argv[1], ll_op_name(rows[i].kind)) == 0)
            bench_row(&rows[i], pool);
    ll_pool_free(pool);
    return 0;
}
