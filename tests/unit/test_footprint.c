/* SPDX-License-Identifier: Apache-2.0 */
#define _POSIX_C_SOURCE 200809L
#include "check.h"
#include "toy_trace.h"

#include "sim/memory/footprint.h"
#include "sim/parallel/pipeline.h"

/* The dumb twin: for each op, walk over all storages and ask all ops whether it is live there. */
static bool touches(const struct ll_trace *trace, uint32_t op, uint32_t storage)
{
    const struct ll_op_view *view = &trace->signatures[trace->ops[op].signature].view;
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

/* The thread of the first op that touches it. */
static uint32_t rank_of(const struct ll_trace *trace, uint32_t storage)
{
    for (uint32_t op = 0; op < trace->op_count; op++)
        if (touches(trace, op, storage))
            return trace->ops[op].thread;
    return LL_NONE;
}

/* Of the storages of a rank, or of all. */
enum { ALL = 1000 };

static uint64_t live_bytes(const struct ll_trace *trace, uint32_t rank, uint32_t op,
                           uint64_t by_class[LL_MEMORY_COUNT])
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
            const struct ll_tensor_desc *desc = &trace->descs[trace->tensors[i].desc];
            memory = met ? memory : desc->memory;
            brought = brought || trace->tensors[i].producer == LL_NONE;
            bytes = ll_max(bytes, ll_size_bytes(&desc->shape));
            met = true;
        }
        if (!met || !live(trace, op, storage, brought, memory) ||
            (rank != ALL && rank_of(trace, storage) != rank))
            continue;
        sum += bytes;
        by_class[memory] += bytes;
    }
    return sum;
}

/* All but most_bytes. */
static struct ll_footprint twin(const struct ll_trace *trace, uint32_t rank)
{
    struct ll_footprint most = {.peak_op = LL_NONE};
    for (uint32_t op = 0; op < trace->op_count; op++) {
        struct ll_footprint here = {.peak_op = op};
        here.peak_bytes = live_bytes(trace, rank, op, here.class_bytes);
        most = here.peak_bytes > most.peak_bytes ? here : most;
    }
    return most;
}

static void assert_same_peak(const struct ll_footprint *got, const struct ll_footprint *expected)
{
    assert_int_equal(got->peak_bytes, expected->peak_bytes);
    assert_int_equal(got->peak_op, expected->peak_op);
    assert_memory_equal(got->class_bytes, expected->class_bytes, sizeof got->class_bytes);
}

static void the_peak_is_where_most_bytes_are_live(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 25; seed++) {
        struct ll_trace *trace = toy_trace(seed);
        struct ll_footprint footprint, expected = twin(trace, ALL);
        assert_true(ll_footprint(trace, &footprint));
        assert_same_peak(&footprint, &expected);
        ll_trace_free(trace);
    }
}

/* Ops are done by whatever rank; what one made, another may read. */
static void of_several_ranks_the_fullest_counts(void **state)
{
    enum { RANKS = 3 };
    bool was_fullest[RANKS] = {false};
    (void)state;
    for (uint64_t seed = 1; seed <= 25; seed++) {
        struct ll_trace *trace = toy_trace(seed);
        struct ll_footprint footprint, fullest = {.peak_op = LL_NONE};
        uint64_t random = seed;
        uint32_t which = 0;
        for (uint32_t op = 0; op < trace->op_count; op++)
            trace->ops[op].thread = (uint32_t)ll_random_below(&random, RANKS);
        for (uint32_t rank = 0; rank < RANKS; rank++) {
            struct ll_footprint its = twin(trace, rank);
            which = its.peak_bytes > fullest.peak_bytes ? rank : which;
            fullest = its.peak_bytes > fullest.peak_bytes ? its : fullest;
        }
        was_fullest[which] = true;
        assert_true(ll_fullest_rank(trace, RANKS, &footprint));
        assert_same_peak(&footprint, &fullest);
        ll_trace_free(trace);
    }
    assert_true(was_fullest[0] && was_fullest[1] && was_fullest[2]);
}

/* Each makes as much as it reads, two of them 2 x 4 MB, one of which is an optimizer's. The halves that the
 * first one makes are its own, though the rank before reads one. A weight that nobody reads, though larger,
 * is nobody's, and the fourth rank has nothing at all. */
static void of_ranks_as_full_the_first_counts(void **state)
{
    (void)state;
    const struct ll_shape small = toy_matrix(10, 10), large = toy_matrix(1000, 1000),
                          huge = toy_matrix(9000, 1000);
    const struct ll_attr halves[] = {{.key = LL_ATTR_AXIS, .count = 1}, {.key = LL_ATTR_PARTS, .count = 2}};
    struct toy *toy = calloc(1, sizeof *toy);
    char path[64];
    toy_open(toy, path);
    toy_bring(toy, huge, LL_WEIGHT);
    const uint32_t none = toy_bring(toy, small, LL_WEIGHT), weight = toy_bring(toy, large, LL_WEIGHT),
                   moments = toy_bring(toy, large, LL_OPTIMIZER);
    toy_op(toy, LL_OP_RELU, LL_PHASE_FORWARD, &none, 1, NULL, 0, LL_ACTIVATION, NULL);
    const uint32_t made =
        toy_op(toy, LL_OP_SPLIT, LL_PHASE_FORWARD, &weight, 1, halves, 2, LL_ACTIVATION, NULL);
    toy_op(toy, LL_OP_RELU, LL_PHASE_FORWARD, &moments, 1, NULL, 0, LL_ACTIVATION, NULL);
    toy_op(toy, LL_OP_SUM, LL_PHASE_FORWARD, (uint32_t[]){made + 1}, 1, NULL, 0, LL_ACTIVATION, NULL);
    struct ll_trace *trace = toy_close(toy, path);
    struct ll_footprint footprint;
    for (uint32_t op = 0; op < 4; op++)
        trace->ops[op].thread = op % 3;
    assert_true(ll_fullest_rank(trace, 4, &footprint));
    assert_int_equal(footprint.peak_bytes, 2 * 4000000);
    assert_int_equal(footprint.peak_op, 1);
    assert_int_equal(footprint.class_bytes[LL_WEIGHT], 4000000);
    assert_int_equal(footprint.class_bytes[LL_OPTIMIZER], 0);
    ll_trace_free(trace);
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
        const struct ll_op_signature *signature = &trace->signatures[trace->ops[op].signature];
        for (uint32_t i = 0; signature->phase == LL_PHASE_UPDATE && i < signature->view.input_count; i++)
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
            live_bytes(trace, ALL, op, by_class);
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
        cmocka_unit_test(of_several_ranks_the_fullest_counts),
        cmocka_unit_test(of_ranks_as_full_the_first_counts),
        cmocka_unit_test(classes_sum_to_the_peak),
        cmocka_unit_test(each_kind_of_training_memory_has_its_own_peak),
        cmocka_unit_test(a_trace_without_ops_needs_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
