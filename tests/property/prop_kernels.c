/* SPDX-License-Identifier: Apache-2.0 */
/* Every kernel against its dumb twin, on random ops: the same values, the same count of FLOPs, and the same
 * bits whatever the number of threads. */
#define LL_ALL_OP_KINDS /* op_table.def is bound here */
#include "check.h"
#include "op_samples.h"
#include "twins.h"
#include "twins_ctc.h"
#include "twins_decoder.h"
#include "twins_detect.h"
#include "twins_layer_norm.h"
#include "twins_move.h"
#include "twins_optimizer.h"
#include "twins_pool.h"
#include "twins_random.h"
#include "twins_scan.h"

#include "models/nn/blas.h"
#include "models/nn/kernel.h"

#include <stdlib.h>

#define LL_OP(word, name, op_class, shape, flops, bytes, storage, work, gradient, runs)                      \
    [LL_OP_##word] = LL_TWIN_##runs(word),
#define LL_TWIN_NATIVE(word) twin_##word
#define LL_TWIN_TRACED(word) NULL
static twin *const twins[LL_OP_NONE] = {
#include "tracer/ir/op_table.def"
};
#undef LL_OP

enum { RUNS = 100 / ONE_IN, BUFFERS = SAMPLE_INPUTS + LL_MAX_OUTPUTS };

/* An op with its operands, as the kernel and as the twin read them. Buffers are as long as the shapes say, so
 * that a sanitizer sees what lies outside. */
struct trial {
    struct op_sample sample;
    void *in[SAMPLE_INPUTS], *out[LL_MAX_OUTPUTS];
    double *twin_in[SAMPLE_INPUTS], *twin_out[LL_MAX_OUTPUTS];
    void *taken[BUFFERS * 2];
    int taken_count;
};

static void *take(struct trial *t, uint64_t bytes)
{
    return t->taken[t->taken_count++] = aligned_alloc(64, (bytes + 63) / 64 * 64);
}

static double load(const void *data, enum ll_dtype dtype, uint64_t i)
{
    return dtype == LL_F64   ? ((const double *)data)[i]
           : dtype == LL_F32 ? (double)((const float *)data)[i]
           : dtype == LL_I32 ? ((const int32_t *)data)[i]
                             : ((const uint8_t *)data)[i];
}

static void save(void *data, enum ll_dtype dtype, uint64_t i, double value)
{
    if (dtype == LL_F64)
        ((double *)data)[i] = value;
    else if (dtype == LL_F32)
        ((float *)data)[i] = (float)value;
    else if (dtype == LL_I32)
        ((int32_t *)data)[i] = (int32_t)value;
    else
        ((uint8_t *)data)[i] = (uint8_t)value;
}

/* Inputs that are never negative: the variance of Adam and the powers of its betas, the variance of a
 * normalisation, what has a root, a logarithm or a power. Nothing is divided by zero. */
static bool is_positive(enum ll_op_kind kind, uint32_t input)
{
    if (kind == LL_OP_SQRT || kind == LL_OP_LOG || kind == LL_OP_POW)
        return true;
    if (kind == LL_OP_DIV || kind == LL_OP_SQRT_GRAD)
        return input == 1;
    bool norm = shape_word(kind, "NORM_GRAD") || shape_word(kind, "NORM_FIXED");
    return (kind == LL_OP_ADAM && (input == 2 || input == 4)) || (kind == LL_OP_RMSPROP && input == 1) ||
           (norm && input == 4);
}

/* Values in eighths around zero, so that comparisons also meet equals; indices are small. Where they must be
 * positive they are from (0, 1). */
static double draw_value(uint64_t *state, const struct trial *t, uint32_t input)
{
    enum ll_dtype dtype = (enum ll_dtype)t->sample.in[input].dtype;
    const struct ll_shape *first = &t->sample.in[0];
    if (t->sample.view.kind == LL_OP_FOCAL_LOSS && input == 1) /* nothing, the background, classes */
        return (double)ll_random_below(state, first->dim[1] + 2) - 1;
    uint64_t classes =
        shape_word(t->sample.view.kind, "XENT") || shape_word(t->sample.view.kind, "XENT_SMOOTH")
            ? first->dim[1]
            : 2;
    if (t->sample.view.kind == LL_OP_CTC_LOSS) /* labels, their number, that of the frames */
        classes = input == 1   ? first->dim[2] - 1
                  : input == 2 ? t->sample.in[1].dim[1] + 1
                               : first->dim[0] + 1;
    if (dtype == LL_U8)
        return (double)ll_random_below(state, 256);
    if (dtype == LL_F8 || dtype == LL_INT8) /* a code that is a number, and its sign */
        return (double)(ll_random_below(state, 127) + 128 * ll_random_below(state, 2));
    if (dtype == LL_I32 || dtype == LL_BOOL)
        return (double)ll_random_below(state, classes);
    double value = ((double)ll_random_below(state, 64) - 32) / 8;
    return is_positive(t->sample.view.kind, input) ? (value + 4.125) / 10 : value;
}

static void fill_inputs(uint64_t *state, struct trial *t)
{
    for (uint32_t i = 0; i < t->sample.view.input_count; i++) {
        const struct ll_shape *shape = &t->sample.in[i];
        t->in[i] = take(t, ll_size_bytes(shape));
        t->twin_in[i] = take(t, ll_elements(shape) * sizeof(double));
        for (uint64_t j = 0; j < ll_elements(shape); j++) {
            double value = draw_value(state, t, i);
            save(t->in[i], (enum ll_dtype)shape->dtype, j, value);
            t->twin_in[i][j] = load(t->in[i], (enum ll_dtype)shape->dtype, j);
        }
    }
}

/* What a gradient takes from its forward op must be what the forward op gives. */
static void complete_inputs(struct trial *t)
{
    static const struct {
        enum ll_op_kind gradient, forward;
        uint32_t inputs, outputs; /* of the forward op, the latter inputs of its gradient as well */
    } taken[] = {{LL_OP_LRN_GRAD, LL_OP_LRN, 1, 1},
                 {LL_OP_MAX_POOL_GRAD, LL_OP_MAX_POOL, 1, 1},
                 {LL_OP_CAUSAL_ATTENTION_GRAD, LL_OP_CAUSAL_ATTENTION, 3, 2}};
    for (size_t k = 0; k < sizeof taken / sizeof *taken; k++) {
        struct op_sample forward = t->sample;
        uint32_t first = 1 + taken[k].inputs;
        if (t->sample.view.kind != taken[k].gradient)
            continue;
        forward.view.kind = taken[k].forward;
        forward.view.in = &t->sample.in[1];
        forward.view.out = &t->sample.in[first];
        forward.view.input_count = taken[k].inputs;
        twins[forward.view.kind](&forward.view, &t->twin_in[1], &t->twin_in[first]);
        for (uint32_t i = first; i < first + taken[k].outputs; i++)
            for (uint64_t j = 0; j < ll_elements(&t->sample.in[i]); j++)
                save(t->in[i], (enum ll_dtype)t->sample.in[i].dtype, j, t->twin_in[i][j]);
    }
}

static void make_outputs(struct trial *t)
{
    for (uint32_t i = 0; i < t->sample.view.output_count; i++) {
        uint32_t alias = ll_op_alias(&t->sample.view, i);
        t->twin_out[i] = take(t, ll_elements(&t->sample.out[i]) * sizeof(double));
        t->out[i] = alias == UINT32_MAX ? take(t, ll_size_bytes(&t->sample.out[i])) : t->in[alias];
    }
    if (t->sample.view.kind == LL_OP_HOST_INPUT) {
        t->in[0] = take(t, ll_size_bytes(&t->sample.out[0]));
        t->twin_in[0] = take(t, ll_elements(&t->sample.out[0]) * sizeof(double));
        for (uint64_t i = 0; i < ll_elements(&t->sample.out[0]); i++)
            save(t->in[0], (enum ll_dtype)t->sample.out[0].dtype, i, t->twin_in[0][i] = (double)i);
    }
}

static void run_kernel(struct trial *t, struct ll_pool *pool, enum ll_dtype dtype)
{
    uint64_t bytes = ll_kernel_workspace(&t->sample.view, ll_pool_threads(pool));
    void *workspace = aligned_alloc(64, (bytes + 64) / 64 * 64);
    memset(workspace, 0xff, bytes);
    ll_kernel_of(t->sample.view.kind, dtype)(
        &(struct ll_kernel_call){&t->sample.view, (const void *const *)t->in, t->out, pool, workspace, NULL});
    free(workspace);
}

static void compare(const struct trial *t, enum ll_dtype dtype)
{
    double tolerance = dtype == LL_F32 ? 2e-5 : 1e-12;
    for (uint32_t i = 0; i < t->sample.view.output_count; i++) {
        double scale = 1;
        for (uint64_t j = 0; j < ll_elements(&t->sample.out[i]); j++)
            scale = fmax(scale, fabs(t->twin_out[i][j]));
        for (uint64_t j = 0; j < ll_elements(&t->sample.out[i]); j++) {
            double value = load(t->out[i], (enum ll_dtype)t->sample.out[i].dtype, j);
            if (!(fabs(value - t->twin_out[i][j]) <= tolerance * scale))
                fail_msg("%s: output %u, element %llu is %.9g, its twin %.9g",
                         ll_op_name(t->sample.view.kind), i, (unsigned long long)j, value, t->twin_out[i][j]);
        }
    }
}

/* One random op: by the twin, by the kernel here, and again by the kernel on several threads. */
static void one_trial(uint64_t *state, enum ll_op_kind kind, enum ll_dtype dtype, struct ll_pool *pool)
{
    struct trial t = {0};
    draw_op(state, kind, dtype, &t.sample);
    fill_inputs(state, &t);
    complete_inputs(&t);
    make_outputs(&t);
    assert_int_equal(twins[kind](&t.sample.view, t.twin_in, t.twin_out), ll_op_flops(&t.sample.view));
    void *before[LL_MAX_OUTPUTS], *first[LL_MAX_OUTPUTS];
    for (uint32_t i = 0; i < t.sample.view.output_count; i++) {
        uint64_t bytes = ll_size_bytes(&t.sample.out[i]);
        before[i] = memcpy(take(&t, bytes), t.out[i], bytes);
    }
    run_kernel(&t, NULL, dtype);
    compare(&t, dtype);
    for (uint32_t i = 0; i < t.sample.view.output_count; i++) {
        uint64_t bytes = ll_size_bytes(&t.sample.out[i]);
        first[i] = memcpy(take(&t, bytes), t.out[i], bytes);
        memcpy(t.out[i], before[i], bytes);
    }
    run_kernel(&t, pool, dtype);
    for (uint32_t i = 0; i < t.sample.view.output_count; i++)
        assert_memory_equal(t.out[i], first[i], ll_size_bytes(&t.sample.out[i]));
    while (t.taken_count > 0)
        free(t.taken[--t.taken_count]);
}

static void kernels_do_what_their_twins_do(void **state)
{
    uint64_t random = ll_seed(11);
    assert_int_equal(ll_blas_open(), LL_OK);
    for (int kind = 0; kind < ll_op_count(); kind++)
        for (int run = 0; twins[kind] && run < RUNS; run++)
            one_trial(&random, (enum ll_op_kind)kind, run % 2 ? LL_F32 : LL_F64, *state);
}

static int start_pool(void **state)
{
    return (*state = ll_pool_new(3)) ? 0 : -1;
}

static int stop_pool(void **state)
{
    ll_pool_free(*state);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(kernels_do_what_their_twins_do, start_pool, stop_pool),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
