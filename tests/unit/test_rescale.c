/* SPDX-License-Identifier: Apache-2.0 */
/* Scaling a trace on small traces; prop_rescale.c holds it for every workload. */
#include "check.h"

#include "toy_trace.h"
#include "tracer/transform/rescale.h"

static struct toy *begin(const char *batch)
{
    struct toy *toy = calloc(1, sizeof *toy);
    const struct ll_fact facts[] = {{"model", "toy"}, {"batch", batch}};
    enum ll_status status;
    toy->recorder = ll_recorder_open_memory(facts, batch ? 2 : 1, &status);
    assert_non_null(toy->recorder);
    toy->scope = ll_recorder_string(toy->recorder, "toy");
    ll_recorder_step_begin(toy->recorder);
    return toy;
}

static struct ll_trace *end(struct toy *toy)
{
    enum ll_status status;
    struct ll_trace *trace = ll_recorder_take(toy->recorder, &status);
    assert_non_null(trace);
    free(toy);
    return trace;
}

static struct ll_shape rows_of(uint64_t rows, enum ll_role role)
{
    return (struct ll_shape){.dim = {rows, 3}, .role = {(uint8_t)role}, .dtype = LL_F32, .rank = 2};
}

/* So many rows of the batch and so many others, joined; then one part is taken, and put between zeros. */
static struct ll_trace *record_joined(uint64_t batch, uint64_t others, bool first)
{
    char said[24];
    snprintf(said, sizeof said, "%d", (int)batch);
    struct toy *toy = begin(said);
    uint32_t parts[] = {toy_bring(toy, rows_of(batch, LL_ROLE_BATCH), LL_INPUT),
                        toy_bring(toy, rows_of(others, LL_ROLE_PLAIN), LL_WORKSPACE)};
    uint32_t all = toy_op(toy, LL_OP_CONCAT, LL_PHASE_FORWARD, parts, 2, NULL, 0, LL_ACTIVATION, NULL);
    const uint64_t at = first ? 0 : batch, size = first ? batch : others, all_rows = batch + others;
    const struct ll_attr slice[] = {{.key = LL_ATTR_BEGIN, .count = (int64_t)at},
                                    {.key = LL_ATTR_SIZE, .count = (int64_t)size}};
    const struct ll_attr pad[] = {{.key = LL_ATTR_BEFORE, .count = (int64_t)at},
                                  {.key = LL_ATTR_AFTER, .count = (int64_t)(all_rows - at - size)}};
    uint32_t part = toy_op(toy, LL_OP_SLICE, LL_PHASE_FORWARD, &all, 1, slice, 2, LL_ACTIVATION, NULL);
    toy_op(toy, LL_OP_PAD, LL_PHASE_BACKWARD, &part, 1, pad, 2, LL_GRADIENT, NULL);
    return end(toy);
}

static void what_lies_beside_the_batch_stays_as_long_as_it_is(void **state)
{
    (void)state;
    for (int first = 0; first < 2; first++) {
        struct ll_trace *trace = record_joined(4, 5, first), *there = record_joined(12, 5, first);
        const char *trouble;
        struct ll_trace *scaled = ll_trace_rescale(trace, 12, &trouble);
        assert_non_null(scaled);
        assert_string_equal(ll_trace_fact(scaled, "batch"), "12");
        assert_int_equal(scaled->signatures[0].view.out[0].dim[0], 12 + 5);
        for (uint64_t i = 0; i < there->signature_count; i++) {
            const struct ll_op_signature *a = &scaled->signatures[i], *b = &there->signatures[i];
            assert_memory_equal(a->view.out, b->view.out, sizeof *a->view.out);
            assert_memory_equal(a->view.attrs, b->view.attrs, b->view.attr_count * sizeof *b->view.attrs);
            assert_int_equal(a->bytes_read, b->bytes_read);
        }
        ll_trace_free(trace);
        ll_trace_free(there);
        ll_trace_free(scaled);
    }
}

static void expect_refusal(struct ll_trace *trace, uint64_t batch, const char *expected)
{
    const char *trouble;
    assert_null(ll_trace_rescale(trace, batch, &trouble));
    assert_string_equal(trouble, expected);
    ll_trace_free(trace);
}

static struct ll_trace *record_relu(const char *batch, uint64_t rows, enum ll_role role)
{
    struct toy *toy = begin(batch);
    uint32_t x = toy_bring(toy, rows_of(rows, role), LL_INPUT);
    toy_op(toy, LL_OP_RELU, LL_PHASE_FORWARD, &x, 1, NULL, 0, LL_ACTIVATION, NULL);
    return end(toy);
}

static void what_cannot_be_scaled_is_refused(void **state)
{
    (void)state;
    expect_refusal(record_relu(NULL, 4, LL_ROLE_BATCH), 8, "its header does not say what the batch was");
    expect_refusal(record_relu("-4", 4, LL_ROLE_BATCH), 8, "its header does not say what the batch was");
    expect_refusal(record_relu("4", 4, LL_ROLE_HIDDEN), 8,
                   "no dimension of this trace is known to be the batch");
    expect_refusal(record_relu("4", 6, LL_ROLE_BATCH), 8,
                   "an extent that goes with the batch is no multiple of it, or becomes too large");
    expect_refusal(record_relu("1", 2, LL_ROLE_BATCH), UINT64_MAX,
                   "an extent that goes with the batch is no multiple of it, or becomes too large");
    /* 4 of the batch and 4 others: which of them a slice takes cannot be said */
    expect_refusal(record_joined(4, 4, true), 8,
                   "an extent that goes with the batch is no multiple of it, or becomes too large");
}

static void the_batch_that_was_is_the_batch_that_is(void **state)
{
    (void)state;
    struct ll_trace *trace = record_joined(4, 4, true);
    const char *trouble;
    struct ll_trace *same = ll_trace_rescale(trace, 4, &trouble);
    assert_non_null(same);
    assert_memory_equal(same->descs, trace->descs, trace->desc_count * sizeof *trace->descs);
    ll_trace_free(trace);
    ll_trace_free(same);
}

/* What was measured was measured at the old batch. */
static void times_are_forgotten_with_the_batch(void **state)
{
    (void)state;
    struct ll_trace *trace = record_joined(4, 4, true);
    const char *trouble;
    for (uint64_t op = 0; op < trace->op_count; op++)
        trace->ops[op].start_ns = trace->ops[op].duration_ns = 7;
    struct ll_trace *same = ll_trace_rescale(trace, 4, &trouble);
    assert_non_null(same);
    assert_int_equal(same->ops[0].duration_ns, 7);
    ll_trace_free(same);
    ll_trace_free(trace);
    trace = record_relu("4", 4, LL_ROLE_BATCH);
    for (uint64_t op = 0; op < trace->op_count; op++)
        trace->ops[op].start_ns = trace->ops[op].duration_ns = 7;
    struct ll_trace *larger = ll_trace_rescale(trace, 8, &trouble);
    assert_non_null(larger);
    for (uint64_t op = 0; op < larger->op_count; op++)
        assert_true(larger->ops[op].start_ns == 0 && larger->ops[op].duration_ns == 0);
    ll_trace_free(larger);
    ll_trace_free(trace);
}

/* A product of f8 that writes bf16, seen otherwise, which keeps the type. */
static void what_a_product_writes_keeps_its_type(void **state)
{
    (void)state;
    struct toy *toy = begin("4");
    struct ll_shape x = rows_of(4, LL_ROLE_BATCH), w = rows_of(3, LL_ROLE_PLAIN), y = x, seen = x;
    x.dtype = w.dtype = LL_F8;
    y.dtype = seen.dtype = LL_BF16;
    uint32_t inputs[] = {toy_bring(toy, x, LL_INPUT), toy_bring(toy, w, LL_WEIGHT)};
    uint32_t desc = ll_recorder_desc(toy->recorder, "y", &y, LL_ACTIVATION);
    uint32_t product = ll_recorder_op(toy->recorder, &(struct ll_record){.kind = LL_OP_MATMUL,
                                                                         .phase = LL_PHASE_FORWARD,
                                                                         .scope = toy->scope,
                                                                         .inputs = inputs,
                                                                         .input_count = 2,
                                                                         .outputs = &desc,
                                                                         .output_count = 1});
    toy->shape[product] = y;
    toy_op(toy, LL_OP_RESHAPE, LL_PHASE_FORWARD, &product, 1, NULL, 0, LL_ACTIVATION, &seen);
    struct ll_trace *trace = end(toy);
    const char *trouble;
    struct ll_trace *larger = ll_trace_rescale(trace, 8, &trouble);
    assert_non_null(larger);
    assert_int_equal(larger->signatures[0].view.in[0].dtype, LL_F8);
    assert_int_equal(larger->signatures[0].view.out[0].dtype, LL_BF16);
    assert_int_equal(larger->signatures[0].bytes_read, 8 * 3 + 3 * 3);
    assert_int_equal(larger->signatures[0].bytes_written, 2 * 8 * 3);
    ll_trace_free(larger);
    ll_trace_free(trace);
}

static void a_batch_is_found_in_front_of_what_comes_in(void **state)
{
    (void)state;
    struct ll_trace *trace = record_relu(NULL, 4, LL_ROLE_PLAIN);
    const char *trouble;
    assert_false(ll_trace_knows_batch(trace));
    assert_false(ll_trace_find_batch(trace, 7, &trouble));
    assert_string_equal(trouble, "no input has a dimension as long as the batch");
    assert_true(ll_trace_find_batch(trace, 4, &trouble));
    assert_true(ll_trace_knows_batch(trace));
    assert_int_equal(ll_trace_batch(trace), 4);
    assert_int_equal(trace->descs[trace->signatures[0].outputs[0]].shape.role[0], LL_ROLE_BATCH);
    ll_trace_free(trace);
}

static void what_only_waits_waits_as_long_at_any_batch(void **state)
{
    (void)state;
    struct toy *toy = begin("4");
    const char *trouble;
    uint32_t in = toy_bring(toy, rows_of(4, LL_ROLE_BATCH), LL_INPUT);
    const struct ll_record gap = {.kind = LL_OP_GAP, .scope = toy->scope, .start_ns = 7, .duration_ns = 5000};
    ll_recorder_op(toy->recorder, &gap);
    toy_op(toy, LL_OP_RELU, LL_PHASE_FORWARD, &in, 1, NULL, 0, LL_ACTIVATION, NULL);
    struct ll_trace *trace = end(toy), *scaled = ll_trace_rescale(trace, 8, &trouble);
    assert_non_null(scaled);
    assert_int_equal(scaled->ops[0].duration_ns, 5000);
    assert_int_equal(scaled->ops[1].duration_ns, 0);
    ll_trace_free(trace);
    ll_trace_free(scaled);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_lies_beside_the_batch_stays_as_long_as_it_is),
        cmocka_unit_test(what_cannot_be_scaled_is_refused),
        cmocka_unit_test(what_only_waits_waits_as_long_at_any_batch),
        cmocka_unit_test(the_batch_that_was_is_the_batch_that_is),
        cmocka_unit_test(times_are_forgotten_with_the_batch),
        cmocka_unit_test(what_a_product_writes_keeps_its_type),
        cmocka_unit_test(a_batch_is_found_in_front_of_what_comes_in),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
