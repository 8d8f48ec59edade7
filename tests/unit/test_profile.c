/* SPDX-License-Identifier: Apache-2.0 */
#include "check.h"

#include "tracer/ir/profile.h"

/* A trace put together by hand: steps of two ops, the first of a signature that does 10 FLOPs, 3 bytes. */
enum { STEPS = 3, OPS = 2 * STEPS };

static struct ll_op_signature signatures[2] = {
    {.view = {.kind = LL_OP_RELU},
     .phase = LL_PHASE_FORWARD,
     .kind_name = 0,
     .flops = 10,
     .bytes_read = 1,
     .bytes_written = 2},
    {.view = {.kind = LL_OP_RELU_GRAD},
     .phase = LL_PHASE_BACKWARD,
     .kind_name = 1,
     .flops = 4,
     .bytes_read = 5},
};
static struct ll_op ops[OPS];
static struct ll_step steps[STEPS];
static const char *strings[] = {"relu", "relu_grad"};

static struct ll_trace hand_made(void)
{
    const uint64_t recording_ns[STEPS] = {9000, 200, 400};
    for (uint32_t i = 0; i < OPS; i++)
        ops[i] = (struct ll_op){.signature = i % 2, .step = i / 2, .duration_ns = i % 2 ? 300 : 100};
    for (uint32_t i = 0; i < STEPS; i++)
        steps[i] = (struct ll_step){2 * i, 2, 0, 500, recording_ns[i], true};
    return (struct ll_trace){.signatures = signatures,
                             .signature_count = 2,
                             .ops = ops,
                             .op_count = OPS,
                             .steps = steps,
                             .step_count = STEPS,
                             .strings = strings,
                             .string_count = 2};
}

static void totals_are_a_steps(void **state)
{
    (void)state;
    struct ll_arena arena = {0};
    struct ll_trace trace = hand_made();
    const struct ll_profile *profile = ll_profile(&trace, &arena);
    assert_int_equal(profile->steps, STEPS);
    assert_near(profile->ops, 2, 1e-15);
    assert_near(profile->flops, 14, 1e-15);
    assert_near(profile->bytes, 8, 1e-15);
    assert_near(profile->ops_time_s, 400e-9, 1e-12);
    assert_near(profile->wall_s, 500e-9, 1e-12);
    ll_arena_release(&arena);
}

static void kinds_come_by_time(void **state)
{
    (void)state;
    struct ll_arena arena = {0};
    struct ll_trace trace = hand_made();
    const struct ll_profile *profile = ll_profile(&trace, &arena);
    assert_int_equal(profile->kind_count, 2);
    assert_string_equal(profile->kinds[0].kind, "relu_grad");
    assert_near(profile->kinds[0].share, 0.75, 1e-12);
    assert_string_equal(profile->kinds[1].kind, "relu");
    ll_arena_release(&arena);
}

static void the_cost_of_recording_is_that_of_the_median_step(void **state)
{
    (void)state;
    struct ll_arena arena = {0};
    struct ll_trace trace = hand_made();
    const struct ll_profile *profile = ll_profile(&trace, &arena);
    assert_near(profile->record_ns_per_op, 200, 1e-12);
    assert_near(profile->recording_s, 9600e-9, 1e-12);
    ll_arena_release(&arena);
}

static void a_step_cut_off_does_not_count(void **state)
{
    (void)state;
    struct ll_arena arena = {0};
    struct ll_trace trace = hand_made();
    steps[STEPS - 1].complete = false;
    uint32_t first, end;
    uint64_t count;
    ll_trace_range(&trace, &first, &end, &count);
    assert_int_equal(count, STEPS - 1);
    assert_int_equal(end, OPS - 2);
    ll_arena_release(&arena);
}

static void without_a_complete_step_all_ops_count(void **state)
{
    (void)state;
    struct ll_trace trace = hand_made();
    trace.step_count = 0;
    uint32_t first, end;
    uint64_t count;
    ll_trace_range(&trace, &first, &end, &count);
    assert_int_equal(count, 0);
    assert_int_equal(end - first, OPS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(totals_are_a_steps),
        cmocka_unit_test(kinds_come_by_time),
        cmocka_unit_test(the_cost_of_recording_is_that_of_the_median_step),
        cmocka_unit_test(a_step_cut_off_does_not_count),
        cmocka_unit_test(without_a_complete_step_all_ops_count),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
