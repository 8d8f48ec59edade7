/* SPDX-License-Identifier: Apache-2.0 */
/* Products beside exchanges that keep some of the units busy, small enough to be drawn on paper: a product
 * takes a second alone, and 1 / (1 - u) with the share u of the units gone. */
#include "check.h"

#include "scene.h"
#include "sim/parallel/parallel.h"
#include "toy_trace.h"

enum { SIDE = 1000 };

/* 10^9 multiply-accumulates at one a nanosecond; an exchange of 4 MB between two is one message each way. */
#define DEVICE                                                                                               \
    "name: slow\nclock: 1GHz\nunits:\n  - {name: array, model: matrix, macs: {f32: 1}}\n"                    \
    "  - {name: simd, model: vector, lanes: 1000, flops: {f32: 1000}}\n"                                     \
    "memory:\n  - {name: dram, size: 16GiB, bandwidth: 1000TB/s}\n"
#define NETWORK(rest)                                                                                        \
    "network:\n"                                                                                             \
    "  - {name: inside, topology: switch, devices: 2, bandwidth: 8MB/s" rest "}\n"                           \
    "  - {name: outside, topology: switch, devices: 2, bandwidth: 4MB/s, units_taken: 0.1}\n"
static const char taking[] = DEVICE NETWORK(", units_taken: 0.2") "software: {collectives: direct}\n";
static const char starting[] =
    DEVICE NETWORK(", units_taken: 0.2") "software: {collectives: direct, op_overhead: 250ms}\n";

/* What is the same to 9 places: memory takes some picoseconds. */
static const double tight = 1e-9;

/* A product, or a sum among two so far apart; `after`: the line whose result it reads, or -1. */
struct line {
    enum ll_op_kind kind;
    int64_t stride;
    int after;
};
static const struct line product = {LL_OP_MATMUL, 0, -1}, sum = {LL_OP_ALL_REDUCE, 1, -1},
                         far_sum = {LL_OP_ALL_REDUCE, 2, -1};

static struct ll_trace *record(const struct line *lines, unsigned count)
{
    struct toy *toy = calloc(1, sizeof *toy);
    char path[64];
    uint32_t made[8] = {0};
    toy_open(toy, path);
    uint32_t weight = toy_bring(toy, toy_matrix(SIDE, SIDE), LL_WEIGHT);
    ll_recorder_step_begin(toy->recorder);
    for (unsigned i = 0; i < count; i++) {
        uint32_t read = lines[i].after < 0 ? weight : made[lines[i].after];
        const struct ll_attr attrs[] = {{.key = LL_ATTR_DEVICES, .count = 2},
                                        {.key = LL_ATTR_STRIDE, .count = lines[i].stride}};
        bool exchanges = lines[i].kind == LL_OP_ALL_REDUCE;
        made[i] = toy_op(toy, lines[i].kind, LL_PHASE_BACKWARD, (uint32_t[]){read, weight},
                         lines[i].kind == LL_OP_MATMUL ? 2 : 1, attrs, exchanges ? 2 : 0, LL_GRADIENT, NULL);
    }
    ll_recorder_step_end(toy->recorder);
    return toy_close(toy, path);
}

static struct scene played(const char *yaml, const struct line *lines, unsigned count)
{
    struct scene scene = open_scene(record(lines, count), yaml);
    play(&scene);
    assert_non_null(scene.result);
    return scene;
}

static const struct ll_op_result *op(const struct scene *scene, uint32_t i)
{
    return &scene->result->ops[i];
}

/*  sum      |-----| 0.5 s, u = 0.2
 *  product  |-----xxxxxxx|     of a second of work, 0.5 (1 - u) = 0.4 is done beside it: 0.5 + 0.6 */
static void an_op_is_slowed_while_an_exchange_goes_on(void **state)
{
    (void)state;
    const struct line lines[] = {sum, product};
    struct scene scene = played(taking, lines, 2);
    assert_near(op(&scene, 0)->time_s, 0.5, tight);
    assert_near(op(&scene, 1)->start_s, 0, 0);
    assert_near(op(&scene, 1)->time_s, 1.1, tight);
    assert_near(op(&scene, 1)->taken_s, 0.1, tight);
    assert_near(op(&scene, 1)->active_s, 1.1, tight);
    assert_near(scene.result->time_s, 1.1, tight);
    assert_near(scene.result->device_active_s, 1.1, tight);
    assert_near(scene.result->shares[LL_BOUND_NETWORK], 0.1 / 1.1, tight);
    assert_near(scene.result->shares[LL_BOUND_COMPUTE], 1 / 1.1, tight);
    assert_near(scene.result->network.levels[0].share, 0.1 / 1.1, tight);
    close_scene(&scene);
}

/* 1.5 s of exchanges are longer than the product with four fifths of its units: 1.25 s. The next begins with
 * 0.25 s of them left: 0.25 + 0.8. */
static void an_op_within_an_exchange_is_slowed_from_end_to_end(void **state)
{
    (void)state;
    const struct line lines[] = {sum, sum, sum, product, product};
    struct scene scene = played(taking, lines, 5);
    assert_near(op(&scene, 3)->time_s, 1.25, tight);
    assert_near(op(&scene, 4)->time_s, 1.05, tight);
    close_scene(&scene);
}

/*  inside   |-----|            0.5 s, u = 0.2
 *  outside  |-----------|      1 s, u = 0.1
 *  product  |-----xxxxxxo|     0.4 s of work are done, then 0.45, and 0.15 are left: 0.5 + 0.5 + 0.15 */
static void of_exchanges_at_once_the_largest_share_counts(void **state)
{
    (void)state;
    const struct line lines[] = {far_sum, sum, product};
    struct scene scene = played(taking, lines, 3);
    assert_near(op(&scene, 0)->time_s, 1, tight);
    assert_near(op(&scene, 2)->time_s, 1.15, tight);
    assert_near(scene.result->network.levels[0].share, 0.15 / 1.15, tight);
    close_scene(&scene);
}

/* A product that waits for the exchange runs alone; one that was recorded before it does not know of it. */
static void an_op_before_or_behind_an_exchange_is_not_slowed(void **state)
{
    (void)state;
    const struct line waits[] = {sum, {LL_OP_MATMUL, 0, 0}}, before[] = {product, sum};
    struct scene behind = played(taking, waits, 2), early = played(taking, before, 2);
    assert_near(op(&behind, 1)->start_s, 0.5, tight);
    assert_near(op(&behind, 1)->time_s, 1, tight);
    assert_near(op(&early, 1)->start_s, 0, 0);
    assert_near(op(&early, 0)->time_s, 1, tight);
    close_scene(&behind);
    close_scene(&early);
}

/* Memory takes 1.2 s for what the units do in one: with four fifths of them they need 1.25 s and hold the op
 * back, with nine tenths 1.11 s, which memory hides. */
static void what_memory_holds_back_waits_for_units_when_they_are_slower(void **state)
{
    (void)state;
    const struct line near[] = {sum, sum, sum, product}, far[] = {far_sum, far_sum, product};
    for (int i = 0; i < 2; i++) {
        struct scene scene = open_scene_set(i ? record(far, 3) : record(near, 4), taking, "dram.bandwidth",
                                            "10MB/s"); /* three operands of 4 MB */
        play(&scene);
        const struct ll_op_result *last = op(&scene, i ? 2 : 3);
        assert_int_equal(last->bound, LL_BOUND_LEVEL);
        assert_in_range((uint64_t)(1e9 * last->time_s), i ? 1200000000 : 1250000000,
                        i ? 1201000000 : 1251000000);
        close_scene(&scene);
    }
}

/* Of 0.5 s of exchanges 0.25 s go by while the op is started. */
static void while_an_op_is_started_nothing_is_taken_from_it(void **state)
{
    (void)state;
    const struct line lines[] = {sum, product};
    struct scene scene = played(starting, lines, 2);
    assert_near(op(&scene, 1)->taken_s, 0.05, tight);
    assert_near(op(&scene, 1)->time_s, 0.25 + 1.05, tight);
    assert_near(scene.result->shares[LL_BOUND_OVERHEAD], 0.25 / 1.3, tight);
    close_scene(&scene);
}

/* Lines of a derivation end in what the op takes. */
static void a_slowed_op_explains_itself(void **state)
{
    (void)state;
    const struct line lines[] = {far_sum, sum, product};
    struct scene scene = played(starting, lines, 3);
    struct ll_explain why = {0};
    char end[64];
    unsigned added = 0;
    assert_true(ll_replay_explain(scene.result, 2, &why));
    for (uint64_t i = 0; i < why.line_count; i++)
        added += strncmp(why.lines[i], "time, some of it beside", 23) == 0;
    assert_int_equal(added, 2);
    snprintf(end, sizeof end, "= %.10g s", op(&scene, 2)->time_s);
    assert_non_null(strstr(why.lines[why.line_count - 1], end));
    ll_explain_release(&why);
    close_scene(&scene);
}

/* One rank's op stands behind another's exchange in the file, not on the device. */
static void ranks_of_one_trace_are_left_alone(void **state)
{
    (void)state;
    const struct line lines[] = {sum, product};
    struct scene scene = open_scene(record(lines, 2), taking);
    const struct ll_prepared *prepared = ll_prepare(scene.trace, &scene.arena, &scene.diags);
    const struct ll_multi_rank_result *multi_rank =
        ll_multi_rank_replay(prepared, scene.machine, &scene.remembered, &scene.arena, &scene.diags);
    assert_non_null(multi_rank);
    assert_near(multi_rank->result->ops[1].time_s, 1, tight);
    close_scene(&scene);
}

static void all_units_cannot_be_taken(void **state)
{
    static const char *const no_folders[] = {NULL}, *const values[] = {"1", "-0.1", "0.15s"};
    (void)state;
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        const struct ll_override set = {"inside.units_taken", values[i]};
        struct ll_diags diags = {0};
        assert_null(ll_machine_parse(taking, strlen(taking), "slow.yaml", no_folders, &set, 1, &diags));
        assert_non_null(strstr(diags.kept[0].message, "units_taken"));
        ll_diags_release(&diags);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_op_is_slowed_while_an_exchange_goes_on),
        cmocka_unit_test(an_op_within_an_exchange_is_slowed_from_end_to_end),
        cmocka_unit_test(of_exchanges_at_once_the_largest_share_counts),
        cmocka_unit_test(an_op_before_or_behind_an_exchange_is_not_slowed),
        cmocka_unit_test(what_memory_holds_back_waits_for_units_when_they_are_slower),
        cmocka_unit_test(while_an_op_is_started_nothing_is_taken_from_it),
        cmocka_unit_test(a_slowed_op_explains_itself),
        cmocka_unit_test(ranks_of_one_trace_are_left_alone),
        cmocka_unit_test(all_units_cannot_be_taken),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
