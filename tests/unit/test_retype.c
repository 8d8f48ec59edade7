/* SPDX-License-Identifier: Apache-2.0 */
#include "check.h"

#include "toy_trace.h"
#include "tracer/transform/dtype.h"

/* A product of 64 x 64 and what becomes of it. */
static struct ll_trace *record_layer(void)
{
    struct toy *toy = calloc(1, sizeof *toy);
    char path[64];
    toy_open(toy, path);
    uint32_t x = toy_bring(toy, toy_matrix(64, 64), LL_INPUT),
             w = toy_bring(toy, toy_matrix(64, 64), LL_WEIGHT);
    ll_recorder_step_begin(toy->recorder);
    uint32_t y =
        toy_op(toy, LL_OP_MATMUL, LL_PHASE_FORWARD, (uint32_t[]){x, w}, 2, NULL, 0, LL_ACTIVATION, NULL);
    toy_op(toy, LL_OP_RELU, LL_PHASE_FORWARD, &y, 1, NULL, 0, LL_ACTIVATION, NULL);
    toy_op(toy, LL_OP_ARGMAX, LL_PHASE_FORWARD, &y, 1, NULL, 0, LL_ACTIVATION, NULL);
    ll_recorder_step_end(toy->recorder);
    return toy_close(toy, path);
}

static void floats_become_the_type_and_integers_stay(void **state)
{
    (void)state;
    struct ll_trace *trace = record_layer();
    const char *trouble;
    uint64_t flops = trace->signatures[0].flops;
    assert_true(ll_trace_change_dtype(trace, LL_INT8, &trouble));
    assert_null(trouble);
    assert_int_equal(trace->signatures[0].flops, flops);
    assert_int_equal(trace->signatures[0].bytes_read, 2 * 64 * 64);
    assert_int_equal(trace->signatures[0].bytes_written, 64 * 64);
    assert_int_equal(trace->signatures[0].view.in[1].dtype, LL_INT8);
    assert_int_equal(trace->signatures[2].view.in[0].dtype, LL_INT8);
    assert_int_equal(trace->signatures[2].view.out[0].dtype, LL_I32); /* the places of maxima */
    ll_trace_free(trace);
}

/* A complex number is two of its type: c128 of f64, c64 of anything narrower. */
static void complex_numbers_stay_complex(void **state)
{
    (void)state;
    static const struct {
        enum ll_dtype from, to, expected;
    } cases[] = {{LL_C64, LL_F64, LL_C128}, {LL_C64, LL_F32, LL_C64}, {LL_C128, LL_F32, LL_C64}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct toy *toy = calloc(1, sizeof *toy);
        char path[64];
        struct ll_shape shape = toy_matrix(8, 8);
        shape.dtype = (uint8_t)cases[i].from;
        toy_open(toy, path);
        uint32_t x = toy_bring(toy, shape, LL_INPUT);
        ll_recorder_step_begin(toy->recorder);
        toy_op(toy, LL_OP_MATMUL, LL_PHASE_FORWARD, (uint32_t[]){x, x}, 2, NULL, 0, LL_ACTIVATION, NULL);
        ll_recorder_step_end(toy->recorder);
        struct ll_trace *trace = toy_close(toy, path);
        const char *trouble;
        assert_true(ll_trace_change_dtype(trace, cases[i].to, &trouble));
        assert_int_equal(trace->signatures[0].view.in[0].dtype, cases[i].expected);
        assert_int_equal(trace->signatures[0].view.out[0].dtype, cases[i].expected);
        ll_trace_free(trace);
    }
}

static void a_retyped_trace_is_sound(void **state)
{
    (void)state;
    for (unsigned i = 0; i < LL_DTYPE_COUNT; i++) {
        struct ll_trace *trace = record_layer();
        struct ll_arena arena = {0};
        const char *trouble;
        assert_true(ll_trace_change_dtype(trace, (enum ll_dtype)i, &trouble));
        assert_null(ll_trace_check(trace, &arena));
        ll_arena_release(&arena);
        ll_trace_free(trace);
    }
}

static void what_was_f32_and_becomes_f32_is_the_same(void **state)
{
    (void)state;
    struct ll_trace *trace = record_layer(), *same = record_layer();
    const char *trouble;
    assert_true(ll_trace_change_dtype(trace, LL_BF16, &trouble));
    assert_true(ll_trace_change_dtype(trace, LL_F32, &trouble));
    for (uint64_t i = 0; i < trace->signature_count; i++) {
        assert_int_equal(trace->signatures[i].bytes_read, same->signatures[i].bytes_read);
        assert_int_equal(trace->signatures[i].bytes_written, same->signatures[i].bytes_written);
    }
    ll_trace_free(trace);
    ll_trace_free(same);
}

static void a_signature_that_the_op_table_refuses_keeps_its_counts(void **state)
{
    (void)state;
    struct ll_trace *trace = record_layer();
    const char *trouble;
    trace->descs[trace->signatures[0].inputs[1]].shape.dim[0] = 63; /* rows of the right matrix */
    assert_false(ll_trace_change_dtype(trace, LL_BF16, &trouble));
    assert_string_equal(trouble,
                        "the columns of the left matrix must be as many as the rows of the right one");
    assert_int_equal(trace->signatures[0].flops, 2 * 64 * 64 * 64);
    assert_int_equal(trace->signatures[0].bytes_written, 4 * 64 * 64);
    ll_trace_free(trace);
}

static void a_type_is_found_by_its_name(void **state)
{
    (void)state;
    assert_int_equal(ll_dtype_find("bf16"), LL_BF16);
    assert_int_equal(ll_dtype_find("bf17"), LL_DTYPE_COUNT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(floats_become_the_type_and_integers_stay),
        cmocka_unit_test(complex_numbers_stay_complex),
        cmocka_unit_test(a_retyped_trace_is_sound),
        cmocka_unit_test(what_was_f32_and_becomes_f32_is_the_same),
        cmocka_unit_test(a_signature_that_the_op_table_refuses_keeps_its_counts),
        cmocka_unit_test(a_type_is_found_by_its_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
