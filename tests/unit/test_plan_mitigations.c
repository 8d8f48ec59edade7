/* SPDX-License-Identifier: Apache-2.0 */
/* What is said to make a step on many devices fit does so, and costs what its plan takes. */
#include "check.h"

#include "dry_model.h"
#include "sim/parallel/parallel.h"
#include "sim/replay/communication.h"
#include "toy_machine.h"

struct cured {
    struct ll_arena arena;
    struct ll_diags diags;
    struct ll_trace *trace;
    struct ll_machine *machine;
    struct ll_spread *spread;
    struct ll_remembered remembered;
    const struct ll_parallel_result *step;
    const struct ll_mitigation *mitigations;
};

/* Memories of so many bytes, sixteen of them on a switch, a link to the host. */
static struct ll_machine *machine_of(uint64_t size_bytes, struct ll_arena *arena)
{
    const char *text =
        ll_format(arena,
                  "name: One\nclock: 1GHz\nunits:\n"
                  "  - {name: all, model: vector, lanes: 50000, flops: {f32: 2}}\n"
                  "memory:\n  - {name: hbm, size: %lluB, bandwidth: 1TB/s}\n"
                  "host: {bandwidth: 16GB/s, latency: 1us}\n"
                  "network:\n  - {name: switch, topology: switch, devices: 16, bandwidth: 100GB/s}\n",
                  (unsigned long long)size_bytes);
    struct ll_machine *machine = ll_toy_machine(text);
    assert_non_null(machine);
    return machine;
}

static const struct ll_parallel_result *run(struct cured *c, const struct ll_parallel *plan,
                                            struct ll_spread **spread)
{
    *spread = ll_spread_trace(c->trace, plan, ll_machine_devices(c->machine), &c->diags);
    assert_non_null(*spread);
    const struct ll_parallel_result *step =
        ll_parallel_run(*spread, c->machine, &c->remembered, &c->arena, &c->diags);
    assert_non_null(step);
    return step;
}

/* 4 replicas of 2 stages, with micro-batches of 4 of 64 sentences. */
static void mitigation(struct cured *c, uint64_t size_bytes)
{
    const struct ll_setting settings[] = {
        {"layers", "8"}, {"hidden", "128"}, {"heads", "4"}, {"seq", "64"}, {"vocabulary", "512"}};
    struct ll_parallel plan = ll_plan_of_one();
    *c = (struct cured){.trace = dry_model("gpt", true, 4, settings, sizeof settings / sizeof *settings)};
    c->machine = machine_of(size_bytes, &c->arena);
    plan.data = 4;
    plan.pipeline = 2;
    plan.batch = 64;
    plan.micro_batch = 4;
    plan.schedule = LL_SCHEDULE_ONE_F_ONE_B;
    plan.bucket_bytes = 1 << 16;
    c->step = run(c, &plan, &c->spread);
    c->mitigations = ll_plan_mitigations(c->trace, c->step, &c->arena);
    assert_non_null(c->mitigations);
}

static void release(struct cured *c)
{
    ll_spread_free(c->spread);
    ll_machine_free(c->machine);
    ll_trace_free(c->trace);
    ll_diags_release(&c->diags);
    ll_remembered_release(&c->remembered);
    ll_arena_release(&c->arena);
}

static void each_cure_frees_memory_or_says_why_not(void **state)
{
    (void)state;
    struct cured c;
    mitigation(&c, 1 << 30);
    uint64_t before = c.step->stages[c.step->fullest].memory_bytes;
    for (unsigned i = 0; i < LL_PLAN_MITIGATION_COUNT; i++) {
        assert_true(c.mitigations[i].done != (c.mitigations[i].trouble != NULL));
        if (c.mitigations[i].done && c.mitigations[i].peak_bytes >= before)
            fail_msg("%s frees nothing", c.mitigations[i].name);
    }
    release(&c);
}

/* The plan that a cure names, simulated by itself. */
static void a_cure_costs_what_its_plan_takes(void **state)
{
    (void)state;
    struct cured c;
    struct ll_spread *spread;
    mitigation(&c, 1 << 30);
    struct ll_parallel plan = c.spread->plan;
    plan.tensor = 2;
    plan.data = 2;
    const struct ll_parallel_result *by_hand = run(&c, &plan, &spread);
    const struct ll_mitigation *reported = &c.mitigations[LL_PLAN_MITIGATION_TENSOR];
    assert_string_equal(reported->with, "--tp 2 --dp 2");
    assert_near(reported->time_s, by_hand->step_s, 0);
    assert_near(reported->slowdown, by_hand->step_s / c.step->step_s, 1e-12);
    assert_int_equal(reported->peak_bytes, by_hand->stages[by_hand->fullest].memory_bytes);
    ll_spread_free(spread);
    plan.tensor = 1;
    plan.context = 2;
    by_hand = run(&c, &plan, &spread);
    reported = &c.mitigations[LL_PLAN_MITIGATION_CONTEXT];
    assert_string_equal(reported->with, "--cp 2 --dp 2");
    assert_near(reported->time_s, by_hand->step_s, 0);
    assert_int_equal(reported->peak_bytes, by_hand->stages[by_hand->fullest].memory_bytes);
    ll_spread_free(spread);
    release(&c);
}

/* The largest divisor that fits: of memory that a micro-batch of four is just too large for, two. */
static void a_smaller_micro_batch_is_the_largest_that_fits(void **state)
{
    (void)state;
    struct cured c;
    mitigation(&c, 1 << 30);
    uint64_t most = c.step->stages[c.step->fullest].memory_bytes;
    release(&c);
    mitigation(&c, most - 1);
    const struct ll_mitigation *smaller = &c.mitigations[LL_PLAN_MITIGATION_MICRO_BATCH];
    assert_false(c.step->result->fits);
    assert_true(smaller->done && smaller->fits);
    assert_string_equal(smaller->with, "--micro-batch 2");
    release(&c);
}

static void what_is_done_already_is_no_cure(void **state)
{
    (void)state;
    struct cured c;
    struct ll_spread *spread;
    mitigation(&c, 1 << 30);
    struct ll_parallel plan = c.spread->plan;
    plan.zero = 2;
    plan.recompute = LL_RECOMPUTE_FULL;
    plan.micro_batch = 1;
    const struct ll_mitigation *mitigations = ll_plan_mitigations(c.trace, run(&c, &plan, &spread), &c.arena);
    static const enum ll_plan_mitigation_kind done[] = {LL_PLAN_MITIGATION_MICRO_BATCH,
                                                        LL_PLAN_MITIGATION_SELECTIVE, LL_PLAN_MITIGATION_FULL,
                                                        LL_PLAN_MITIGATION_ZERO_1, LL_PLAN_MITIGATION_ZERO_2};
    for (size_t i = 0; i < sizeof done / sizeof *done; i++)
        assert_true(!mitigations[done[i]].done && mitigations[done[i]].trouble);
    assert_true(mitigations[LL_PLAN_MITIGATION_ZERO_3].done);
    ll_spread_free(spread);
    release(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_cure_frees_memory_or_says_why_not),
        cmocka_unit_test(a_cure_costs_what_its_plan_takes),
        cmocka_unit_test(a_smaller_micro_batch_is_the_largest_that_fits),
        cmocka_unit_test(what_is_done_already_is_no_cure),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
