/* SPDX-License-Identifier: Apache-2.0 */
#define _POSIX_C_SOURCE 200809L
#include "check.h"
#include "toy_trace.h"

#include "sim/memory/footprint.h"

/* The dumb twin: for each op, walk over all storages and ask all ops whether it is live there. */
static bool touches(const struct ll_trace *trace, uint32_t op, uint32_t storage)
{
    const struct ll_op_view *view = &trace->forms[trace->ops[op].form].view;
    for (uint32_t i = 0; i < view->input_count; i++)
        if (trace->tensors[ll_op_input(trace, op, i)].storage == storage)
            return true;
    for (uint32_t i = 0; i < view->output_count; i++)
        if (trace->tensors[ll_op_output(trace, op, i)].storage == storage)
            return true;
    return false;
}

static bool live(const struct ll_trace *trace, uint32_t op, uint32_t storage, bool brought, uint32_t memory)
{
    bool before = brought, after = false;
    if (memory == LL_WEIGHT || memory == LL_OPTIMIZER)
        return true;
    for (uint32_t other = 0; other <= op; other++)
        before = before || touches(trace, other, storage);
    for (uint32_t other = op; other < trace->op_count; other++)
        after = after || touches(trace, other, storage);
    return before && after;
}

static uint64_t live_bytes(const struct ll_trace *trace, uint32_t op, uint64_t by_class[LL_MEMORY_COUNT])
{
    uint64_t sum = 0;
    memset(by_class, 0, LL_MEMORY_COUNT * sizeof *by_class);
    for (uint32_t storage = 0; storage < trace->storage_count; storage++) {
        uint64_t bytes = 0;
        bool met = false, brought = false;
        uint32_t memory = 0;
        for (uint64_t i = 0; i < trace->tensor_count; i++) {
            if (trace->tensors[i].storage != storage)
                continue;
            const struct ll_desc *desc = &trace->descs[trace->tensors[i].desc];
            memory = met ? memory : desc->memory;
            brought = brought || trace->tensors[i].producer == LL_NONE;
            bytes = ll_max(bytes, ll_size_bytes(&desc->shape));
            met = true;
        }
        if (!met || !live(trace, op, storage, brought, memory))
            continue;
        sum += bytes;
        by_class[memory] += bytes;
    }
    return sum;
}

static void the_peak_is_where_most_bytes_are_live(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 25; seed++) {
        struct ll_trace *trace = toy_trace(seed);
        struct ll_footprint footprint;
        uint64_t peak_bytes = 0, by_class[LL_MEMORY_COUNT], peak_class[LL_MEMORY_COUNT] = {0};
        uint32_t peak_op = LL_NONE;
        for (uint32_t op = 0; op < trace->op_count; op++) {
            uint64_t bytes = live_bytes(trace, op, by_class);
            if (bytes > peak_bytes) {
                peak_bytes = bytes;
                peak_op = op;
                memcpy(peak_class, by_class, sizeof peak_class);
            }
        }
        assert_true(ll_footprint(trace, &footprint));
        assert_int_equal(footprint.peak_bytes, peak_bytes);
        assert_int_equal(footprint.peak_op, peak_op);
        assert_memory_equal(footprint.class_bytes, peak_class, sizeof peak_class);
        ll_trace_free(trace);
    }
}

static void classes_sum_to_the_peak(void **state)
{
    (void)state;
    for (uint64_t seed = 100; seed <= 140; seed++) {
        struct ll_trace *trace = toy_trace(seed);
        struct ll_footprint footprint;
        uint64_t sum = 0;
        assert_true(ll_footprint(trace, &footprint));
        for (int i = 0; i < LL_MEMORY_COUNT; i++)
            sum += footprint.class_bytes[i];
        assert_int_equal(sum, footprint.peak_bytes);
        ll_trace_free(trace);
    }
}

/* Of storages that an update reads, a gradient is a weight's. */
static bool is_for_update(const struct ll_trace *trace, uint32_t storage)
{
    for (uint32_t op = 0; op < trace->op_count; op++) {
        const struct ll_form *form = &trace->forms[trace->ops[op].form];
        for (uint32_t i = 0; form->phase == LL_PHASE_UPDATE && i < form->view.input_count; i++)
            if (trace->tensors[ll_op_input(trace, op, i)].storage == storage)
                return true;
    }
    return false;
}

/* All weights together, all state and all input; no more of maps and gradients than there is of both at the
 * largest op by op, and all gradients of weights if they wait for the update's end. */
static void each_kind_of_training_memory_has_its_own_peak(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 25; seed++) {
        struct ll_trace *trace = toy_trace(seed);
        struct ll_footprint footprint;
        uint64_t by_class[LL_MEMORY_COUNT], weights = 0, others = 0, sum = 0;
        bool some = false;
        for (uint32_t op = 0; op < trace->op_count; op++) {
            live_bytes(trace, op, by_class);
            weights = ll_max(weights, by_class[LL_WEIGHT]);
            others = ll_max(others, by_class[LL_ACTIVATION] + by_class[LL_GRADIENT]);
        }
        for (uint32_t storage = 0; storage < trace->storage_count; storage++)
            some |= is_for_update(trace, storage);
        assert_true(ll_footprint(trace, &footprint));
        assert_int_equal(footprint.most_bytes[LL_HOLDS_WEIGHTS], weights);
        assert_true(footprint.most_bytes[LL_HOLDS_FEATURE_MAPS] <= others);
        assert_true(footprint.most_bytes[LL_HOLDS_FEATURE_MAPS] +
                        footprint.most_bytes[LL_HOLDS_WEIGHT_GRADIENTS] >=
                    others);
        assert_int_equal(footprint.most_bytes[LL_HOLDS_WEIGHT_GRADIENTS] > 0, some);
        for (int i = 0; i < LL_HOLDS_COUNT; i++)
            sum += footprint.most_bytes[i];
        assert_true(sum >= footprint.peak_bytes);
        ll_trace_free(trace);
    }
}

static void a_trace_without_ops_needs_nothing(void **state)
{
    (void)state;
    struct ll_trace trace = {0};
    struct ll_footprint footprint;
    assert_true(ll_footprint(&trace, &footprint));
    assert_int_equal(footprint.peak_bytes, 0);
    assert_int_equal(footprint.peak_op, LL_NONE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_peak_is_where_most_bytes_are_live),
        cmocka_unit_test(classes_sum_to_the_peak),
        cmocka_unit_test(each_kind_of_training_memory_has_its_own_peak),
        cmocka_unit_test(a_trace_without_ops_needs_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
