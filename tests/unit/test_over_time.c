/* SPDX-License-Identifier: Apache-2.0 */
/* The course of memory holds its peak, and what lives at the peak sums to it. */
#include "check.h"

#include "dry_model.h"
#include "sim/memory/footprint.h"
#include "tracer/ir/trace.h"

static void each_moment_is_the_sum_of_what_lives_then(void **state)
{
    (void)state;
    struct ll_arena arena = {0};
    struct ll_trace *trace = dry_model("alexnet", true, 4, NULL, 0);
    const struct ll_over_time *course = ll_over_time(trace, UINT32_MAX, &arena);
    const struct ll_liveness *lives = ll_trace_liveness(trace, &arena);
    assert_int_equal(course->count, trace->op_count);
    for (uint32_t op = 0; op < trace->op_count; op++) {
        uint64_t bytes = 0, classes = 0;
        for (uint64_t s = 0; s < trace->storage_count; s++)
            bytes += lives[s].first <= op && lives[s].last >= op ? lives[s].bytes : 0;
        for (unsigned i = 0; i < LL_MEMORY_COUNT; i++)
            classes += course->at[op].class_bytes[i];
        assert_int_equal(course->at[op].op, op);
        assert_int_equal(course->at[op].bytes, bytes);
        assert_int_equal(classes, bytes);
    }
    ll_trace_free(trace);
    ll_arena_release(&arena);
}

static void few_points_still_hold_the_peak(void **state)
{
    (void)state;
    struct ll_arena arena = {0};
    struct ll_footprint footprint;
    struct ll_trace *trace = dry_model("transformer", true, 64, NULL, 0);
    assert_true(ll_footprint(trace, &footprint));
    for (uint32_t most = 1; most < 300; most += 37) {
        const struct ll_over_time *course = ll_over_time(trace, most, &arena);
        uint64_t peak = 0;
        assert_int_equal(course->count, most);
        for (uint32_t i = 0; i < most; i++) {
            assert_true(i == 0 || course->at[i].op > course->at[i - 1].op);
            peak = ll_max(peak, course->at[i].bytes);
        }
        assert_int_equal(peak, footprint.peak_bytes);
    }
    ll_trace_free(trace);
    ll_arena_release(&arena);
}

static void what_is_alive_at_the_peak_sums_to_it_largest_first(void **state)
{
    (void)state;
    struct ll_arena arena = {0};
    struct ll_footprint footprint;
    struct ll_trace *trace = dry_model("transformer", true, 64, NULL, 0);
    assert_true(ll_footprint(trace, &footprint));
    const struct ll_all_alive *alive = ll_alive_at(trace, footprint.peak_op, &arena);
    uint64_t bytes = 0;
    for (uint64_t i = 0; i < alive->count; i++) {
        bytes += alive->at[i].bytes;
        assert_true(i == 0 || alive->at[i].bytes <= alive->at[i - 1].bytes);
        assert_non_null(alive->at[i].name);
    }
    assert_int_equal(bytes, footprint.peak_bytes);
    /* 64 sentences of 32 words against 33,708 words, four bytes each: the logits */
    assert_int_equal(alive->at[0].bytes, 64ull * 32 * 33708 * 4);
    ll_trace_free(trace);
    ll_arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_moment_is_the_sum_of_what_lives_then),
        cmocka_unit_test(few_points_still_hold_the_peak),
        cmocka_unit_test(what_is_alive_at_the_peak_sums_to_it_largest_first),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
