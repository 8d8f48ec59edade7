/* SPDX-License-Identifier: Apache-2.0 */
/* What a summary says of a replay is what the replay says, to the last bit, whatever varies. */
#include "check.h"
#include "samples.h"

#include "models/model.h"
#include "sim/cost/cost_parts.h"
#include "sim/replay/summary.h"

static const char *const folders[] = {"hwconfigs", NULL};
static const char *const machines[] = {"custom_example", "tpu_v1",    "tpu_v3_core", "trainium_1",
                                       "v100_sxm_16gb",  "epyc_7742", "t4"};

static struct ll_trace *record(const char *model, bool train)
{
    struct ll_diags diags = {0};
    struct ll_trace *trace = NULL;
    struct ll_run_report report;
    const struct ll_run_options options = {
        .train = train, .dry_run = true, .batch = 2, .steps = 2, .trace = &trace};
    if (!ll_model_run(ll_model_find(model), &options, &report, &diags))
        fail_msg("%s: %s", model, diags.kept[0].message);
    return trace;
}

static double scale(struct dice *dice)
{
    static const double by[] = {0.25, 0.5, 0.9, 1.1, 2, 4};
    return by[roll_between(dice, 0, sizeof by / sizeof *by - 1)];
}

/* Another machine, by one thing that a sweep may vary. */
static void change(struct ll_machine *machine, struct dice *dice)
{
    struct ll_level *level = &machine->levels[roll_between(dice, 0, machine->level_count - 1)];
    struct ll_unit *unit = &machine->units[roll_between(dice, 0, machine->unit_count - 1)];
    switch (roll_between(dice, 0, 15)) {
    case 0:
        unit->clock_hz *= scale(dice);
        break;
    case 1:
        level->latency_s = level->latency_s > 0 ? 0 : 1e-6;
        break;
    case 2:
        level->unit_Bps = level->bandwidth_Bps * scale(dice) / 8;
        break;
    case 3:
        level->size_bytes = ll_max(1024, (uint64_t)((double)level->size_bytes * scale(dice)));
        break;
    case 4:
        machine->software.op_overhead_s = 1e-6 * scale(dice);
        break;
    case 5:
        machine->energy.static_w = 10 * scale(dice);
        break;
    case 6:
        machine->energy.mac_j[LL_F32] = 1e-12 * scale(dice);
        break;
    case 7:
        machine->host.bandwidth_Bps = 1e10 * scale(dice);
        break;
    case 8:
        unit->systolic.rows *= unit->model == LL_UNIT_SYSTOLIC ? 2 : 1;
        break;
    case 9:
        unit->count += roll_between(dice, 0, 3);
        break;
    case 10:
        machine->software.queue = roll_between(dice, 0, 4);
        break;
    case 11:
        machine->software.fusion = (enum ll_fusion)roll_between(dice, 0, LL_FUSION_COUNT - 1);
        break;
    case 12:
        machine->software.gap_s = 1e-7 * scale(dice);
        break;
    default: /* more often than others */
        level->bandwidth_Bps *= scale(dice);
    }
}

static void assert_same(const struct ll_result *a, const struct ll_result *b)
{
#define SAME(field) assert_memory_equal(&a->field, &b->field, sizeof a->field)
    SAME(time_s);
    SAME(device_active_s);
    SAME(starting_s);
    SAME(flop_utilization);
    SAME(shares);
    SAME(gap_share);
    SAME(fits);
    SAME(energy_j);
    SAME(energy);
    SAME(host_bytes);
    SAME(area_m2);
#undef SAME
    assert_true(a->footprint->peak_bytes == b->footprint->peak_bytes);
}

/* Machines that differ from one to the next, some of them the same as one before. How many have summaries. */
static unsigned compare(const char *name, const struct ll_prepared *prepared, struct dice *dice)
{
    enum { MACHINES = ONE_IN > 1 ? 6 : 24 };
    struct ll_diags diags = {0};
    struct ll_machine *machine = ll_machine_read(name, folders, NULL, 0, &diags);
    struct ll_summaries summaries = {.at = NULL};
    struct ll_remembered remembered = {.costs = {.machine = NULL}};
    unsigned summed = 0;
    if (!machine)
        fail_msg("%s: %s", name, diags.kept[0].message);
    for (int i = 0; i < MACHINES; i++) {
        struct ll_arena arena = {0};
        const struct ll_result *whole = ll_replay(prepared, machine, &arena, &diags);
        const struct ll_result *summary =
            ll_replay_summary(prepared, machine, &summaries, &remembered, &arena, &diags);
        assert_true((whole == NULL) == (summary == NULL));
        if (whole) {
            assert_same(whole, summary);
            summed += summary->costs == NULL;
        }
        ll_diags_release(&diags);
        ll_arena_release(&arena);
        change(machine, dice);
    }
    ll_summaries_release(&summaries);
    ll_remembered_release(&remembered);
    ll_machine_free(machine);
    return summed;
}

static void compare_all(const char *model, bool train, int32_t seed)
{
    struct ll_arena arena = {0};
    struct ll_diags diags = {0};
    struct ll_trace *trace = record(model, train);
    const struct ll_prepared *prepared = ll_prepare(trace, &arena, &diags);
    struct dice dice = {(uint64_t)seed};
    unsigned summed = 0;
    assert_non_null(prepared);
    for (size_t i = 0; i < sizeof machines / sizeof *machines; i++)
        summed += compare(machines[i], prepared, &dice);
    assert_true(summed > 0);
    ll_arena_release(&arena);
    ll_trace_free(trace);
}

static void a_summary_of_a_training_is_its_replay(void **state)
{
    (void)state;
    compare_all("alexnet", true, 1);
    compare_all("resnet", true, 2);
}

static void a_summary_of_an_inference_is_its_replay(void **state)
{
    (void)state;
    compare_all("alexnet", false, 3);
    compare_all("word_lm", false, 4);
    compare_all("gpt", false, 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_summary_of_a_training_is_its_replay),
        cmocka_unit_test(a_summary_of_an_inference_is_its_replay),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
