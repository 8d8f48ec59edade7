/* SPDX-License-Identifier: Apache-2.0 */
/* Equal steps that are replayed once give what they give one after the other, to the bit. */
#include "check.h"

#include "random_machine.h"
#include "sim/replay/communication.h"
#include "sim/replay/replay.h"
#include "sim/replay/replay_parts.h"
#include "tracer/record/recorder.h"

#include <stdlib.h>
#include <string.h>

enum { CASES = 40, SUMS = 300, LAYERS_MOST = 5, DEVICES = 8 };

static uint64_t seed; /* of the first case */

struct layer {
    uint32_t weight, rows, x, y, dw; /* a tensor, a number, descs */
};

#define LIST(...) (const uint32_t[]){__VA_ARGS__}, sizeof((const uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t)

static uint32_t op(struct ll_recorder *recorder, enum ll_op_kind kind, enum ll_phase phase,
                   const uint32_t *inputs, size_t input_count, uint32_t output, const struct ll_attr *attrs,
                   uint32_t attr_count)
{
    const struct ll_record record = {.kind = kind,
                                     .phase = phase,
                                     .scope = ll_recorder_string(recorder, "layer"),
                                     .inputs = inputs,
                                     .input_count = (uint32_t)input_count,
                                     .outputs = &output,
                                     .output_count = 1,
                                     .attrs = attrs,
                                     .attr_count = attr_count};
    return ll_recorder_op(recorder, &record);
}

static uint32_t desc(struct ll_recorder *recorder, const char *name, enum ll_memory_class memory,
                     uint64_t rows, uint64_t cols)
{
    const struct ll_shape shape = {.dtype = LL_F32, .rank = 2, .dim = {rows, cols}};
    return ll_recorder_desc(recorder, name, &shape, memory);
}

/* Training on several devices, some step in the middle of another size. */
static struct ll_trace *record(uint64_t *random, uint64_t steps)
{
    static const struct ll_fact facts[] = {{"model", "equal"}, {"mode", "train"}};
    static const struct ll_attr turned[] = {{.key = LL_ATTR_TRANSPOSE_A, .count = 1}};
    static const struct ll_attr group[] = {{.key = LL_ATTR_DEVICES, .count = DEVICES}};
    static const struct ll_attr rate[] = {{.key = LL_ATTR_LEARNING_RATE, .real = 0.5}};
    enum ll_status status;
    struct ll_recorder *recorder = ll_recorder_open_memory(facts, 2, &status);
    const uint32_t layers = 1 + (uint32_t)ll_random_below(random, LAYERS_MOST);
    const uint64_t width = 8 << ll_random_below(random, 7), odd = ll_random_below(random, steps);
    uint32_t weights[LAYERS_MOST];
    for (uint32_t i = 0; i < layers; i++)
        weights[i] = ll_recorder_tensor(recorder, desc(recorder, "w", LL_WEIGHT, width, width));
    const uint64_t usual = 1 + ll_random_below(random, 600);
    const bool exchanges = ll_random_below(random, 2);
    for (uint64_t s = 0; s < steps; s++) {
        const uint64_t rows = s == odd ? usual + 3 : usual;
        const uint32_t x_desc = desc(recorder, "x", LL_INPUT, rows, width),
                       y_desc = desc(recorder, "y", LL_ACTIVATION, rows, width),
                       dw_desc = desc(recorder, "dw", LL_GRADIENT, width, width);
        ll_recorder_step_begin(recorder);
        uint32_t x = op(recorder, LL_OP_HOST_INPUT, LL_PHASE_INPUT, NULL, 0, x_desc, NULL, 0);
        for (uint32_t i = 0; i < layers; i++) {
            const uint32_t y =
                op(recorder, LL_OP_MATMUL, LL_PHASE_FORWARD, LIST(x, weights[i]), y_desc, NULL, 0);
            uint32_t dw = op(recorder, LL_OP_MATMUL, LL_PHASE_BACKWARD, LIST(x, y), dw_desc, turned, 1);
            if (exchanges)
                dw = op(recorder, LL_OP_ALL_REDUCE, LL_PHASE_BACKWARD, LIST(dw), dw_desc, group, 1);
            x = op(recorder, LL_OP_RELU, LL_PHASE_FORWARD, LIST(y), y_desc, NULL, 0);
            weights[i] = op(recorder, LL_OP_SGD, LL_PHASE_UPDATE, LIST(weights[i], dw),
                            desc(recorder, "w", LL_WEIGHT, width, width), rate, 1);
        }
        ll_recorder_step_end(recorder);
    }
    struct ll_trace *trace = ll_recorder_take(recorder, &status);
    assert_non_null(trace);
    return trace;
}

static struct ll_machine *build(uint64_t *random, struct ll_arena *arena)
{
    static const char *const no_folders[] = {NULL};
    static const char *const fusions[] = {"none", "elementwise", "chains"};
    struct ll_diags diags = {0};
    const char *fusion = fusions[ll_random_below(random, 3)];
    const char *yaml = ll_format(
        arena,
        "%snetwork:\n  - {name: links, topology: switch, devices: %d, bandwidth: %.0fGB/s, latency: 1us, "
        "units_taken: 0.%d}\n",
        ll_random_machine(random, arena, fusion), DEVICES, ll_epilogue(random, 1, 1000),
        (int)ll_random_below(random, 9));
    const struct ll_override overrides[] = {
        {"software.queue",
         ll_format(arena, "%d", (int)(ll_random_below(random, 3) * ll_random_below(random, 70)))},
        {"host.buffered_steps", ll_format(arena, "%d", 1 + (int)ll_random_below(random, 3))}};
    struct ll_machine *machine =
        ll_machine_parse(yaml, strlen(yaml), "random.yaml", no_folders, overrides, 2, &diags);
    for (size_t i = 0; i < diags.kept_count; i++)
        print_error("%s\n%s\n", yaml, diags.kept[i].message);
    ll_diags_release(&diags);
    assert_non_null(machine);
    return machine;
}

static const struct ll_result *replay(const struct ll_prepared *prepared, const struct ll_machine *machine,
                                      bool time_alone, struct ll_arena *arena)
{
    struct ll_diags diags = {0};
    struct ll_remembered remembered = {0};
    ll_memo_turn(&remembered.costs, machine);
    struct ll_exchanges *exchanges = ll_exchanges_new(machine, 0, &remembered.prices);
    const struct ll_among among = {
        .exchanges = exchanges, .memo = &remembered.costs, .time_alone = time_alone};
    const struct ll_result *result = ll_replay_among(prepared, machine, &among, arena, &diags);
    assert_non_null(result);
    ll_exchanges_free(exchanges);
    ll_remembered_release(&remembered);
    ll_diags_release(&diags);
    return result;
}

#define ASSERT_SAME(a, b) assert_memory_equal(&(a), &(b), sizeof(a))

static void agree(const struct ll_result *once, const struct ll_result *each)
{
    const uint32_t ops = once->prepared->end_op - once->prepared->first_op;
    ASSERT_SAME(once->time_s, each->time_s);
    ASSERT_SAME(once->device_active_s, each->device_active_s);
    ASSERT_SAME(once->starting_s, each->starting_s);
    ASSERT_SAME(once->shares, each->shares);
    ASSERT_SAME(once->level_bytes, each->level_bytes);
    ASSERT_SAME(once->origin_shares, each->origin_shares);
    ASSERT_SAME(once->network, each->network);
    assert_int_equal(once->kind_count, each->kind_count);
    for (uint64_t i = 0; i < once->kind_count; i++) {
        ASSERT_SAME(once->kinds[i].count, each->kinds[i].count);
        ASSERT_SAME(once->kinds[i].time_s, each->kinds[i].time_s);
        ASSERT_SAME(once->kinds[i].flops, each->kinds[i].flops);
        ASSERT_SAME(once->kinds[i].bytes, each->kinds[i].bytes);
        ASSERT_SAME(once->kinds[i].rate, each->kinds[i].rate);
        ASSERT_SAME(once->kinds[i].peak_share, each->kinds[i].peak_share);
    }
    for (uint32_t i = 0; i < ops; i++) {
        ASSERT_SAME(once->ops[i].start_s, each->ops[i].start_s);
        ASSERT_SAME(once->ops[i].time_s, each->ops[i].time_s);
        ASSERT_SAME(once->ops[i].active_s, each->ops[i].active_s);
        ASSERT_SAME(once->ops[i].taken_s, each->ops[i].taken_s);
        ASSERT_SAME(once->ops[i].lead_s, each->ops[i].lead_s);
        ASSERT_SAME(once->ops[i].launch_s, each->ops[i].launch_s);
        ASSERT_SAME(once->so_far.begun_s[i], each->so_far.begun_s[i]);
        assert_int_equal(once->ops[i].unit, each->ops[i].unit);
        assert_int_equal(once->ops[i].bound, each->ops[i].bound);
        assert_int_equal(once->ops[i].origin, each->ops[i].origin);
    }
}

static void equal_steps_give_what_each_of_them_gives(void **state)
{
    uint64_t found = 0;
    (void)state;
    for (uint64_t i = 0; i < CASES; i++) {
        uint64_t random = seed + i;
        struct ll_arena arena = {0};
        struct ll_diags diags = {0};
        struct ll_trace *trace = record(&random, 60 + ll_random_below(&random, 500));
        struct ll_machine *machine = build(&random, &arena);
        const struct ll_prepared *prepared = ll_prepare(trace, &arena, &diags);
        assert_non_null(prepared);
        struct ll_prepared each = *prepared;
        each.equal_step_count = 0;
        found += prepared->equal_step_count;
        agree(replay(prepared, machine, false, &arena), replay(&each, machine, false, &arena));
        ASSERT_SAME(replay(prepared, machine, true, &arena)->time_s,
                    replay(&each, machine, false, &arena)->time_s);
        ll_machine_free(machine);
        ll_trace_free(trace);
        ll_diags_release(&diags);
        ll_arena_release(&arena);
    }
    assert_true(found >= CASES);
}

/* Terms of one size and of many, of few digits and of all that a double has. */
static double some_term(uint64_t *random)
{
    double term = (double)(1 + ll_random_below(random, 1000));
    if (ll_random_below(random, 2))
        term /= 1 + (double)ll_random_below(random, 1000);
    return ldexp(term, (int)ll_random_below(random, 3) * -10);
}

static void terms_add_up_as_one_after_the_other(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < SUMS; i++) {
        uint64_t random = seed + i;
        struct ll_terms terms = {0};
        double before[2] = {0, some_term(&random)}, sums[2] = {before[0], before[1]}, kept[8];
        const uint64_t count = 1 + ll_random_below(&random, 8), times = ll_random_below(&random, 30000);
        for (uint64_t k = 0; k < count; k++) {
            kept[k] = some_term(&random);
            ll_terms_add(&terms, &sums[k % 2], kept[k]);
        }
        for (uint64_t t = 0; t < times; t++)
            for (uint64_t k = 0; k < count; k++)
                before[k % 2] += kept[k];
        assert_true(ll_terms_sum(&terms, times));
        ASSERT_SAME(sums, before);
    }
}

int main(void)
{
    seed = ll_seed(20261130);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_steps_give_what_each_of_them_gives),
        cmocka_unit_test(terms_add_up_as_one_after_the_other),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
