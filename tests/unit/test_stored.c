/* SPDX-License-Identifier: Apache-2.0 */
/* Types of 4 bits, and weights that are stored in another type than they are multiplied in. */
#include "array_and_lanes.h"
#include "check.h"
#include "samples.h"

#include "toy_trace.h"
#include "tracer/transform/dtype.h"

static struct ll_shape vector_of(uint64_t elements, enum ll_dtype dtype)
{
    return (struct ll_shape){.dim = {elements}, .rank = 1, .dtype = (uint8_t)dtype};
}

static void two_elements_of_four_bits_share_a_byte(void **state)
{
    (void)state;
    struct ll_shape odd = vector_of(7, LL_INT4), even = vector_of(8, LL_F4),
                    many = vector_of(UINT64_C(1) << 63, LL_INT4), bytes = vector_of(7, LL_F8);
    assert_int_equal(ll_size_bytes(&odd), 4);
    assert_int_equal(ll_size_bytes(&even), 4);
    assert_int_equal(ll_size_bytes(&many), UINT64_C(1) << 62);
    assert_int_equal(ll_size_bytes(&bytes), 7);
    assert_int_equal(ll_dtype_bytes(LL_INT4), 1);
    assert_true(ll_dtype_spread(LL_INT4) == 0.5);
    assert_true(ll_dtype_spread(LL_C128) == 16);
    assert_int_equal(ll_dtype_count(LL_INT4, 4), 8);
    assert_int_equal(ll_dtype_count(LL_F32, 7), 2);
    assert_int_equal(ll_dtype_count(LL_INT4, UINT64_C(1) << 63), LL_NO_FIT);
}

static struct ll_shape in_format(uint64_t elements, enum ll_numeric format, bool of_weights)
{
    struct ll_shape shape = vector_of(elements, ll_numeric_dtype(format));
    shape.scales = (uint8_t)ll_numeric_scales(format, of_weights);
    return shape;
}

/* Blocks that are begun have a scale each. */
static void scales_are_stored_beside_elements(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        uint64_t elements, of_activations, of_weights;
    } cases[] = {{"int4_g128", 100, 50 + 2, 50 + 2},
                 {"int4_g128", 257, 129 + 6, 129 + 6},
                 {"fp8_block", 130, 130 + 8, 130 + 4},
                 {"mxfp8", 65, 65 + 3, 65 + 3},
                 {"nvfp4", 33, 17 + 3, 17 + 3},
                 {"mxfp4", 33, 17 + 2, 17 + 2},
                 {"f8", 33, 33, 33},
                 {"int4", 33, 17, 17}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        enum ll_numeric format = ll_numeric_find(cases[i].name);
        assert_string_equal(ll_numeric_name(format), cases[i].name);
        struct ll_shape a = in_format(cases[i].elements, format, false),
                        w = in_format(cases[i].elements, format, true);
        assert_int_equal(ll_size_bytes(&a), cases[i].of_activations);
        assert_int_equal(ll_size_bytes(&w), cases[i].of_weights);
        assert_true(ll_scales_fit(&a));
    }
    struct ll_shape wide = vector_of(33, LL_BF16);
    wide.scales = LL_SCALES_E4M3;
    assert_false(ll_scales_fit(&wide));
    assert_int_equal(ll_numeric_find("fp9"), LL_NUMERIC_NONE);
}

/* A file gives back what is quantized so; in another type nothing shares a scale. */
static void scales_are_written_and_read(void **state)
{
    (void)state;
    struct toy *toy = calloc(1, sizeof *toy);
    struct ll_shape w = in_format(256, ll_numeric_find("nvfp4"), true);
    char path[64];
    const char *trouble;
    toy_open(toy, path);
    uint32_t weight = toy_bring(toy, w, LL_WEIGHT);
    ll_recorder_step_begin(toy->recorder);
    toy_op(toy, LL_OP_CAST, LL_PHASE_FORWARD, &weight, 1, NULL, 0, LL_ACTIVATION, &w);
    ll_recorder_step_end(toy->recorder);
    struct ll_trace *trace = toy_close(toy, path);
    assert_int_equal(trace->signatures[0].bytes_read, 128 + 16);
    assert_int_equal(trace->signatures[0].view.in[0].scales, LL_SCALES_E4M3);
    assert_true(ll_trace_change_dtype(trace, LL_F8, &trouble));
    assert_int_equal(trace->signatures[0].bytes_read, 256);
    ll_trace_free(trace);
}

enum { LOOKED_UP, TIED, INNER, UPDATED, UPDATE };

/* Rows of a table, a product with this table, two layers, and a step of the second one's weights. */
static struct ll_trace *record_network(void)
{
    static const struct ll_attr across = {LL_ATTR_TRANSPOSE_B, {.count = 1}},
                                rate = {LL_ATTR_LEARNING_RATE, {.real = 0.1}};
    struct toy *toy = calloc(1, sizeof *toy);
    struct ll_shape indices = {.dim = {10}, .dtype = LL_I32, .rank = 1};
    char path[64];
    toy_open(toy, path);
    uint32_t table = toy_bring(toy, toy_matrix(100, 64), LL_WEIGHT),
             inner = toy_bring(toy, toy_matrix(64, 33), LL_WEIGHT),
             updated = toy_bring(toy, toy_matrix(33, 20), LL_WEIGHT),
             gradient = toy_bring(toy, toy_matrix(33, 20), LL_GRADIENT),
             which = toy_bring(toy, indices, LL_INPUT);
    ll_recorder_step_begin(toy->recorder);
    uint32_t x = toy_op(toy, LL_OP_GATHER, LL_PHASE_FORWARD, (uint32_t[]){table, which}, 2, NULL, 0,
                        LL_ACTIVATION, NULL);
    toy_op(toy, LL_OP_MATMUL, LL_PHASE_FORWARD, (uint32_t[]){x, table}, 2, &across, 1, LL_ACTIVATION, NULL);
    uint32_t y =
        toy_op(toy, LL_OP_MATMUL, LL_PHASE_FORWARD, (uint32_t[]){x, inner}, 2, NULL, 0, LL_ACTIVATION, NULL);
    toy_op(toy, LL_OP_MATMUL, LL_PHASE_FORWARD, (uint32_t[]){y, updated}, 2, NULL, 0, LL_ACTIVATION, NULL);
    toy_op(toy, LL_OP_SGD, LL_PHASE_UPDATE, (uint32_t[]){updated, gradient}, 2, &rate, 1, LL_WEIGHT, NULL);
    ll_recorder_step_end(toy->recorder);
    return toy_close(toy, path);
}

/* What is looked up or updated stays in 4 bytes; 64 x 33 weights take 4 bits each. */
static void weights_of_products_alone_are_stored(void **state)
{
    (void)state;
    struct ll_trace *trace = record_network();
    const struct ll_op_signature *signatures = trace->signatures;
    struct ll_arena arena = {0};
    const char *trouble;
    uint64_t weights, flops = signatures[INNER].flops;
    assert_true(ll_trace_quantize_weights(trace, (enum ll_numeric)LL_INT4, &weights, &trouble));
    assert_null(trouble);
    assert_int_equal(weights, 1);
    assert_null(ll_trace_check(trace, &arena));
    assert_string_equal(ll_trace_fact(trace, "weights"), "int4");
    assert_int_equal(signatures[TIED].bytes_read, 4 * (10 * 64 + 100 * 64));
    assert_int_equal(signatures[INNER].bytes_read, 4 * 10 * 64 + 64 * 33 / 2);
    assert_int_equal(signatures[INNER].view.out[0].dtype, LL_F32);
    assert_int_equal(signatures[INNER].flops, flops);
    assert_int_equal(signatures[UPDATED].bytes_read, 4 * (10 * 33 + 33 * 20));
    assert_int_equal(signatures[UPDATE].view.in[0].dtype, LL_F32);
    ll_arena_release(&arena);
    ll_trace_free(trace);
}

/* 64 x 33 weights have 16.5 groups of 128, each with a scale of two bytes; activations of 16 bits mean that
 * the product's kernel expands them. */
static void a_format_stores_scales_of_weights(void **state)
{
    (void)state;
    struct ll_trace *trace = record_network();
    const struct ll_op_signature *signatures = trace->signatures;
    const char *trouble;
    uint64_t weights;
    struct ll_work work;
    assert_true(ll_trace_change_dtype(trace, LL_BF16, &trouble));
    assert_true(ll_trace_quantize_weights(trace, ll_numeric_find("int4_g128"), &weights, &trouble));
    assert_int_equal(weights, 1);
    assert_string_equal(ll_trace_fact(trace, "weights"), "int4_g128");
    assert_int_equal(signatures[INNER].bytes_read, 2 * 10 * 64 + 64 * 33 / 2 + 2 * 17);
    assert_true(ll_op_lower(&signatures[INNER].view, &work));
    assert_int_equal(work.linear, 1 + LL_LINEAR_INT4_WO);
    assert_int_equal(work.dtype, LL_BF16);
    ll_trace_free(trace);
}

/* Four bits of weights for products of eight, as quantised networks are served. */
static void weights_of_integer_products_are_stored_too(void **state)
{
    (void)state;
    struct ll_trace *trace = record_network();
    const struct ll_op_signature *signatures = trace->signatures;
    const char *trouble;
    uint64_t weights;
    assert_true(ll_trace_change_dtype(trace, LL_INT8, &trouble));
    assert_true(ll_trace_quantize_weights(trace, (enum ll_numeric)LL_INT4, &weights, &trouble));
    assert_int_equal(weights, 1);
    assert_int_equal(signatures[INNER].bytes_read, 10 * 64 + 64 * 33 / 2);
    assert_int_equal(signatures[LOOKED_UP].view.in[1].dtype, LL_I32);
    ll_trace_free(trace);
}

/* A weight, seen with 32 and 8 columns, and a product of each; a look at what was computed is none at a
 * weight. */
static void a_look_at_a_weight_is_one(void **state)
{
    (void)state;
    struct toy *toy = calloc(1, sizeof *toy);
    struct ll_shape wide = toy_matrix(16, 32), narrow = toy_matrix(64, 8), square = toy_matrix(32, 32);
    char path[64];
    toy_open(toy, path);
    uint32_t w = toy_bring(toy, toy_matrix(512, 1), LL_WEIGHT),
             x = toy_bring(toy, toy_matrix(4, 16), LL_INPUT), z = toy_bring(toy, toy_matrix(4, 64), LL_INPUT),
             v = toy_bring(toy, toy_matrix(64, 16), LL_INPUT);
    ll_recorder_step_begin(toy->recorder);
    uint32_t a = toy_op(toy, LL_OP_RESHAPE, LL_PHASE_FORWARD, &w, 1, NULL, 0, LL_WEIGHT, &wide);
    uint32_t b = toy_op(toy, LL_OP_RESHAPE, LL_PHASE_FORWARD, &a, 1, NULL, 0, LL_ACTIVATION, &narrow);
    uint32_t c = toy_op(toy, LL_OP_RESHAPE, LL_PHASE_FORWARD, &v, 1, NULL, 0, LL_ACTIVATION, &square);
    toy_op(toy, LL_OP_MATMUL, LL_PHASE_FORWARD, (uint32_t[]){x, a}, 2, NULL, 0, LL_ACTIVATION, NULL);
    toy_op(toy, LL_OP_MATMUL, LL_PHASE_FORWARD, (uint32_t[]){z, b}, 2, NULL, 0, LL_ACTIVATION, NULL);
    toy_op(toy, LL_OP_MATMUL, LL_PHASE_FORWARD, (uint32_t[]){c, c}, 2, NULL, 0, LL_ACTIVATION, NULL);
    ll_recorder_step_end(toy->recorder);
    struct ll_trace *trace = toy_close(toy, path);
    const struct ll_op_signature *signatures = trace->signatures;
    struct ll_arena arena = {0};
    const char *trouble;
    uint64_t weights;
    assert_true(ll_trace_quantize_weights(trace, (enum ll_numeric)LL_INT4, &weights, &trouble));
    assert_int_equal(weights, 2); /* the weight, and the first look, which the trace calls a weight */
    assert_null(ll_trace_check(trace, &arena));
    assert_int_equal(signatures[3].bytes_read, 4 * 4 * 16 + 256);
    assert_int_equal(signatures[4].bytes_read, 4 * 4 * 64 + 256);
    assert_int_equal(signatures[5].bytes_read, 2 * 4 * 32 * 32);
    ll_arena_release(&arena);
    ll_trace_free(trace);
}

/* One row times 1000 x 1000: from a memory of 1 GB/s as many bytes as there are of the weights count. */
static void they_are_read_as_stored_and_multiplied_as_before(void **state)
{
    (void)state;
    struct ll_machine machine = array_and_lanes_on(1e9);
    struct ll_work work = gemm_work(LL_F16, 1, 1, 1000, 1000);
    assert_near(cost_of(&machine, LL_OP_MATMUL, &work).level_s[0], 2e-3 + 4e-6, 1e-12);
    double compute_s = cost_of(&machine, LL_OP_MATMUL, &work).compute_s;
    work.b_bytes = 500000;
    assert_near(cost_of(&machine, LL_OP_MATMUL, &work).level_s[0], 0.5e-3 + 4e-6, 1e-12);
    assert_near(cost_of(&machine, LL_OP_MATMUL, &work).compute_s, compute_s, 1e-12);
}

/* Products of f4 run as f16 where there is nothing nearer, and as f4 where there is. */
static void four_bits_have_a_rate_of_their_own(void **state)
{
    (void)state;
    struct ll_machine machine = array_and_lanes_on(1e18);
    struct ll_work work = gemm_work(LL_F16, 1, 100, 100, 100), narrow = work;
    narrow.dtype = LL_F4;
    double wide_s = cost_of(&machine, LL_OP_MATMUL, &work).compute_s;
    assert_near(cost_of(&machine, LL_OP_MATMUL, &narrow).compute_s, wide_s, 1e-12);
    machine.units[0].matrix.macs[LL_F4] = 4000;
    assert_near(cost_of(&machine, LL_OP_MATMUL, &narrow).compute_s, wide_s / 4, 1e-12);
    assert_near(cost_of(&machine, LL_OP_MATMUL, &work).compute_s, wide_s, 1e-12);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_elements_of_four_bits_share_a_byte),
        cmocka_unit_test(scales_are_stored_beside_elements),
        cmocka_unit_test(scales_are_written_and_read),
        cmocka_unit_test(a_format_stores_scales_of_weights),
        cmocka_unit_test(weights_of_products_alone_are_stored),
        cmocka_unit_test(weights_of_integer_products_are_stored_too),
        cmocka_unit_test(a_look_at_a_weight_is_one),
        cmocka_unit_test(they_are_read_as_stored_and_multiplied_as_before),
        cmocka_unit_test(four_bits_have_a_rate_of_their_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
