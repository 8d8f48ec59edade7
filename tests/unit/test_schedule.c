/* SPDX-License-Identifier: Apache-2.0 */
/* Pipelines against the closed forms of their papers: equal stages, messages that take no time. Times are
 * small whole numbers, so that sums are exact. */
#include "check.h"

#include "random.h"
#include "sim/parallel/pipeline.h"
#include "tracer/base/random.h"
#include "tracer/base/num.h"

enum { FORWARD = 12, BACKWARD = 24, MOST = 64 };

struct scene {
    struct ll_vstage_times vstages[MOST];
    struct ll_vstage_message messages[2 * MOST];
    struct ll_pipeline pipeline;
};

/* Pieces of 1 / chunks of the stage's time each, a message between neighbours in either direction. */
static void fill(struct scene *scene, struct ll_pipeline_shape shape, double message_s)
{
    uint64_t vstages = shape.stages * shape.chunks, count = 0;
    for (uint64_t i = 0; i < vstages; i++)
        scene->vstages[i] = (struct ll_vstage_times){.forward_s = FORWARD / (double)shape.chunks,
                                                     .backward_s = BACKWARD / (double)shape.chunks};
    for (uint32_t i = 0; i + 1 < vstages; i++) {
        if (ll_schedule_placement(shape.schedule) == LL_PLACED_BOTH_WAYS && i + 1 == shape.stages)
            continue; /* here one model ends, and the other begins */
        scene->messages[count++] = (struct ll_vstage_message){i, i + 1, false, message_s};
        scene->messages[count++] = (struct ll_vstage_message){i + 1, i, true, message_s};
    }
    scene->pipeline = (struct ll_pipeline){
        .shape = shape, .vstages = scene->vstages, .messages = scene->messages, .message_count = count};
}

static struct ll_pipeline_result run(struct scene *scene)
{
    struct ll_pipeline_result result;
    assert_true(ll_pipeline_run(&scene->pipeline, &result));
    return result;
}

static void expect_closed_form(struct ll_pipeline_shape shape)
{
    static struct scene scene;
    double m = (double)shape.micro_batches, p = (double)shape.stages, v = (double)shape.chunks;
    fill(&scene, shape, 0);
    struct ll_pipeline_result result = run(&scene);
    double expected = (m + (p - 1) / v) * (FORWARD + BACKWARD);
    if (result.time_s != expected)
        fail_msg("%s, %g stages of %g chunks, %g micro-batches: %g, expected %g",
                 ll_schedule_name(shape.schedule), p, v, m, result.time_s, expected);
    assert_near(result.idle_s / p / (m * (FORWARD + BACKWARD)), (p - 1) / (v * m), 1e-12);
}

static void gpipe_and_1f1b_take_their_closed_form(void **state)
{
    (void)state;
    for (uint64_t p = 1; p <= 8; p++)
        for (uint64_t m = 1; m <= 12; m++) {
            expect_closed_form((struct ll_pipeline_shape){LL_SCHEDULE_GPIPE, p, 1, m});
            expect_closed_form((struct ll_pipeline_shape){LL_SCHEDULE_ONE_F_ONE_B, p, 1, m});
        }
}

static void interleaving_divides_the_bubble_by_the_chunks(void **state)
{
    (void)state;
    for (uint64_t p = 1; p <= 8; p++)
        for (uint64_t v = 1; v <= 4; v++)
            for (uint64_t groups = 1; groups <= 3; groups++) {
                expect_closed_form((struct ll_pipeline_shape){LL_SCHEDULE_INTERLEAVED, p, v, groups * p});
                expect_closed_form((struct ll_pipeline_shape){LL_SCHEDULE_BREADTH_FIRST, p, v, groups * p});
            }
}

/* Times of a stage's forward pass and of the halves of its backward pass. */
struct halves {
    double forward_s, input_s, weights_s;
};

/* Idle times of a step: of the whole row of stages, each; and from a stage's first pass to its last, at
 * most. */
struct idle {
    double step_s, own_s;
};

static struct idle idle_of(struct ll_pipeline_shape shape, struct halves halves, double pair_s)
{
    static struct scene scene;
    static double start_s[1 << 14];
    static struct ll_schedule_slot slots[1 << 10];
    const uint64_t count = ll_schedule_slot_count(&shape);
    const double all_s = halves.forward_s + halves.input_s + halves.weights_s;
    const double parts = ll_schedule_placement(shape.schedule) == LL_PLACED_FOLDED ? 2 : 1;
    fill(&scene, shape, 0);
    for (uint64_t i = 0; i < shape.stages * shape.chunks; i++)
        scene.vstages[i] = (struct ll_vstage_times){.forward_s = halves.forward_s / parts,
                                                    .backward_s = (halves.input_s + halves.weights_s) / parts,
                                                    .weights_s = halves.weights_s / parts};
    scene.pipeline.start_s = start_s;
    scene.pipeline.pair_s = pair_s;
    struct idle idle = {run(&scene).time_s - (double)shape.micro_batches * all_s, 0};
    for (uint64_t stage = 0; stage < shape.stages; stage++) {
        const double *own_s = start_s + stage * count;
        assert_true(ll_schedule_order(&shape, stage, slots));
        double end_s = own_s[count - 1] + ll_slot_s(&scene.vstages[0], &slots[count - 1]);
        idle.own_s = fmax(idle.own_s, end_s - own_s[0] - (double)shape.micro_batches * all_s);
    }
    return idle;
}

/* Qi et al. (2023), table 1: ZB-H1 is as idle as gradients of weights leave it, ZB-H2 from its own first
 * pass on by as much less again. */
static void zero_bubbles_are_as_short_as_their_paper_says(void **state)
{
    static const struct halves equal = {1, 1, 1}, other = {10, 12, 8};
    (void)state;
    for (uint64_t p = 2; p <= 8; p++)
        for (uint64_t m = 2 * p - 1; m <= 2 * p + 5; m++) {
            const double gaps = (double)p - 1;
            assert_true(idle_of((struct ll_pipeline_shape){LL_SCHEDULE_ZB_H1, p, 1, m}, equal, 0).step_s ==
                        gaps);
            assert_true(idle_of((struct ll_pipeline_shape){LL_SCHEDULE_ZB_H1, p, 1, m}, other, 0).step_s ==
                        gaps * (10 + 12 - 8));
            assert_true(idle_of((struct ll_pipeline_shape){LL_SCHEDULE_ZB_H2, p, 1, m}, equal, 0).own_s == 0);
            assert_true(idle_of((struct ll_pipeline_shape){LL_SCHEDULE_ZB_H2, p, 1, m}, other, 0).own_s ==
                        gaps * (10 + 12 - 2 * 8));
            assert_true(
                idle_of((struct ll_pipeline_shape){LL_SCHEDULE_ZB_V, p, 2, m}, (struct halves){2, 2, 2}, 0)
                    .own_s == 0);
        }
}

/* DualPipe's README: (p / 2 - 1) (F&B + B - 2 W), where F = B = W; with other times as a replay of its
 * rules by another program gave: 72 and 80 with eight stages, 902 for a whole step whose pairs take 25. */
static void dualpipe_is_as_its_rules_say(void **state)
{
    static const struct halves equal = {1, 1, 1}, other = {10, 12, 8}, longer = {10, 14, 8};
    (void)state;
    for (uint64_t p = 8; p <= 16; p += 8) {
        double idle_s = ((double)p / 2 - 1) * (3 + 2 - 3);
        assert_true(
            idle_of((struct ll_pipeline_shape){LL_SCHEDULE_DUALPIPE, p, 2, 2 * p + 4}, equal, 0).step_s ==
            idle_s);
        assert_true(idle_of((struct ll_pipeline_shape){LL_SCHEDULE_DUALPIPE_V, p / 2, 2, 2 * p + 4},
                            (struct halves){2, 2, 2}, 0)
                        .step_s == idle_s);
    }
    struct ll_pipeline_shape shape = {LL_SCHEDULE_DUALPIPE, 8, 2, 20};
    assert_true(idle_of(shape, other, 0).step_s == 72);
    assert_true(idle_of(shape, longer, 0).step_s == 80);
    shape.micro_batches = 32;
    assert_true(idle_of(shape, other, 25).step_s + 32 * (10 + 12 + 8) == 902);
}

static void halves_keep_as_many_micro_batches_as_the_papers_say(void **state)
{
    (void)state;
    for (uint64_t p = 2; p <= 8; p += 2)
        for (uint64_t stage = 0; stage < p; stage++) {
            const uint64_t m = 4 * p;
            assert_int_equal(
                ll_slots_in_flight(&(struct ll_pipeline_shape){LL_SCHEDULE_ZB_H1, p, 1, m}, stage), p);
            assert_int_equal(
                ll_slots_in_flight(&(struct ll_pipeline_shape){LL_SCHEDULE_ZB_H2, p, 1, m}, stage),
                2 * p - 1);
            assert_int_equal(
                ll_slots_in_flight(&(struct ll_pipeline_shape){LL_SCHEDULE_ZB_V, p, 2, m}, stage), 2 * p);
            assert_int_equal(
                ll_slots_in_flight(&(struct ll_pipeline_shape){LL_SCHEDULE_DUALPIPE, p, 2, m}, stage), p + 1);
            assert_int_equal(
                ll_slots_in_flight(&(struct ll_pipeline_shape){LL_SCHEDULE_DUALPIPE_V, p, 2, m}, stage),
                2 * p + 1);
        }
}

/* GPipe keeps all, 1F1B as many as stages are behind and itself; interleaved on the first stage p v + p - 1
 * passes through a chunk (Korthikanti et al., 2022: p (1 + (p - 1) / (p v)) micro-batches of all chunks). */
static void as_many_micro_batches_are_kept_as_the_papers_say(void **state)
{
    (void)state;
    for (uint64_t p = 2; p <= 8; p++)
        for (uint64_t stage = 0; stage < p; stage++)
            for (uint64_t m = 1; m <= 12; m++) {
                struct ll_pipeline_shape shape = {LL_SCHEDULE_GPIPE, p, 1, m};
                assert_int_equal(ll_slots_in_flight(&shape, stage), m);
                shape.schedule = LL_SCHEDULE_ONE_F_ONE_B;
                assert_int_equal(ll_slots_in_flight(&shape, stage), ll_min(m, p - stage));
            }
    struct ll_pipeline_shape shape = {LL_SCHEDULE_INTERLEAVED, 4, 3, 8};
    assert_int_equal(ll_slots_in_flight(&shape, 0), 4 * 3 + 4 - 1);
}

static uint64_t chunks_of(enum ll_schedule schedule)
{
    bool two = ll_schedule_placement(schedule) != LL_PLACED_AROUND;
    return schedule == LL_SCHEDULE_INTERLEAVED || schedule == LL_SCHEDULE_BREADTH_FIRST ? 3 : two ? 2 : 1;
}

/* Counted on the slots themselves: every pass once, halves after their wholes, and never more in flight
 * than is said. */
static void every_slot_comes_once(void **state)
{
    static struct ll_schedule_slot slots[1 << 10];
    (void)state;
    for (int schedule = 0; schedule < LL_SCHEDULE_COUNT; schedule++)
        for (uint64_t turn = 0; turn < 6; turn++) {
            const bool few =
                turn % 2 == 1 && schedule != LL_SCHEDULE_INTERLEAVED && schedule < LL_SCHEDULE_DUALPIPE;
            const uint64_t p = 2 + turn / 2 * 2;
            struct ll_pipeline_shape shape = {(enum ll_schedule)schedule, p, chunks_of(schedule),
                                              few ? p / 2 + 1 : 4 * p};
            bool splits = ll_schedule_splits(shape.schedule);
            for (uint64_t stage = 0; stage < p; stage++) {
                int seen[3][3][32] = {{{0}}};
                uint64_t flying = 0, most = 0, passes = 0;
                assert_true(ll_schedule_order(&shape, stage, slots));
                for (uint64_t i = 0; i < ll_schedule_slot_count(&shape); i++) {
                    const struct ll_schedule_slot *slot = &slots[i];
                    int part = slot->half == LL_WEIGHT_HALF ? 2 : slot->backward;
                    bool ends = part == (splits ? 2 : 1);
                    passes += !seen[part][slot->chunk][slot->micro_batch]++;
                    assert_true(part == 0 || seen[part - 1][slot->chunk][slot->micro_batch] == 1);
                    most = ll_max(most, flying += part == 0);
                    flying -= ends;
                }
                assert_int_equal(flying, 0);
                assert_int_equal(most, ll_slots_in_flight(&shape, stage));
                assert_int_equal(passes, ll_schedule_slot_count(&shape)); /* none of them twice */
            }
        }
}

/* What a single micro-batch meets: all passes and all messages in a row. */
static void messages_delay_what_waits_for_them(void **state)
{
    (void)state;
    static struct scene scene;
    fill(&scene, (struct ll_pipeline_shape){LL_SCHEDULE_ONE_F_ONE_B, 4, 1, 1}, 5);
    assert_true(run(&scene).time_s == 4 * (FORWARD + BACKWARD) + 6 * 5);
    scene.vstages[3].tail_s = 100; /* the last stage is done with its pass first, but has most to do then */
    assert_true(run(&scene).time_s == 4 * FORWARD + 3 * 5 + BACKWARD + 100);
    assert_int_equal(run(&scene).slowest, 3);
}

/* The first stage ends its last pass after all others, 5 of its tail come before what all do together; the
 * last stage's part of that takes 40. */
static void a_norm_of_all_gradients_is_waited_for(void **state)
{
    (void)state;
    static struct scene scene;
    fill(&scene, (struct ll_pipeline_shape){LL_SCHEDULE_ONE_F_ONE_B, 4, 1, 1}, 0);
    scene.vstages[0].tail_s = 15;
    scene.vstages[0].joint_s = 10;
    scene.vstages[3].tail_s = scene.vstages[3].joint_s = 40;
    assert_true(run(&scene).time_s == 4 * (FORWARD + BACKWARD) + 5 + 40);
}

/* Slower stages and messages never make a step faster; it takes as long as its slowest stage works. */
static void a_slower_part_never_makes_a_step_faster(void **state)
{
    (void)state;
    static struct scene scene;
    uint64_t random = ll_seed(7);
    for (int i = 0; i < 300; i++) {
        enum ll_schedule schedule = (enum ll_schedule)ll_random_below(&random, LL_SCHEDULE_COUNT);
        uint64_t p = 2 + 2 * ll_random_below(&random, 3), v = chunks_of(schedule);
        fill(&scene, (struct ll_pipeline_shape){schedule, p, v, 4 * p}, 1);
        for (uint64_t vstage = 0; vstage < p * v; vstage++)
            scene.vstages[vstage] =
                (struct ll_vstage_times){.forward_s = (double)ll_random_below(&random, 9),
                                         .backward_s = 4 + (double)ll_random_below(&random, 9),
                                         .weights_s = (double)ll_random_below(&random, 4),
                                         .tail_s = (double)ll_random_below(&random, 9)};
        struct ll_pipeline_result before = run(&scene);
        assert_true(before.time_s >= before.busy_s);
        scene.vstages[ll_random_below(&random, p * v)].forward_s += 1;
        if (scene.pipeline.message_count > 0)
            scene.messages[ll_random_below(&random, scene.pipeline.message_count)].time_s += 3;
        assert_true(run(&scene).time_s >= before.time_s);
    }
}

/* Any times, of the messages too. */
static void roll(struct scene *scene, struct ll_pipeline_shape shape, double message_s[MOST], uint64_t *seed)
{
    fill(scene, shape, 0);
    for (uint64_t i = 0; i < shape.stages * shape.chunks; i++) {
        struct ll_vstage_times *vstage = &scene->vstages[i];
        message_s[i] = ll_random_fine_unit(ll_random(seed));
        *vstage = (struct ll_vstage_times){.forward_s = ll_random_fine_unit(ll_random(seed)),
                                           .backward_s = 1 + ll_random_fine_unit(ll_random(seed)),
                                           .weights_s = ll_random_fine_unit(ll_random(seed)),
                                           .tail_s = ll_random_fine_unit(ll_random(seed))};
    }
    for (uint64_t i = 0; i < scene->pipeline.message_count; i++) {
        struct ll_vstage_message *message = &scene->messages[i];
        message->time_s = message_s[message->backward ? message->to : message->from];
    }
}

static double turns_s(const struct scene *scene, const double *message_s)
{
    const struct ll_pipeline_estimate turns = {scene->pipeline.shape, scene->vstages, message_s};
    double time_s;
    assert_true(ll_pipeline_estimate_s(&turns, &time_s));
    return time_s;
}

/* The twin of a run: tasks of ranks that wait for one another (sim/parallel/ranks.c), a stage a rank, a task
 * a block of slots, a stream for computing and for either direction. */
static double tasks_s(const struct scene *scene)
{
    static struct ll_schedule_slot slots[1 << 12];
    const struct ll_pipeline *pipeline = &scene->pipeline;
    const struct ll_pipeline_shape *shape = &pipeline->shape;
    const uint64_t count = ll_schedule_slot_count(shape);
    struct ll_ranks *ranks = ll_ranks_new();
    struct ll_diags diags = {0};
    double time_s = 0, tail_s[MOST] = {0};
    uint32_t last[MOST];
    for (uint32_t stage = 0; stage < shape->stages; stage++) {
        assert_true(count <= 1 << 12 && ll_schedule_order(shape, stage, slots));
        for (uint64_t chunk = 0; chunk < shape->chunks; chunk++)
            tail_s[stage] +=
                scene->vstages[ll_vstage_at(shape->schedule, shape->stages, stage, chunk)].tail_s;
        for (uint64_t i = 0, end; i < count; i = end) {
            uint32_t after[2 * MOST], received = 0;
            double block_s = 0;
            for (end = i; end == i || (end < count && slots[end].joined); end++) {
                const uint64_t here = ll_vstage_at(shape->schedule, shape->stages, stage, slots[end].chunk);
                block_s += ll_slot_s(&scene->vstages[here], &slots[end]);
                for (uint64_t k = 0; slots[end].half != LL_WEIGHT_HALF && k < pipeline->message_count; k++) {
                    const struct ll_vstage_message *message = &pipeline->messages[k];
                    const struct ll_rank_task receive = {
                        .kind = LL_TASK_RECEIVE,
                        .rank = stage,
                        .stream = LL_NO_STREAM,
                        .other = (uint32_t)ll_vstage_lies_on(shape->schedule, shape->stages, message->from),
                        .tag = k * shape->micro_batches + slots[end].micro_batch,
                        .name = "receive"};
                    if (message->to == here && message->backward == slots[end].backward)
                        after[received++] = ll_ranks_add(ranks, &receive, NULL, 0);
                }
            }
            const struct ll_rank_task work = {
                .kind = LL_TASK_WORK, .rank = stage, .stream = 0, .time_s = block_s, .name = "work"};
            last[stage] = ll_ranks_add(ranks, &work, after, received);
            for (uint64_t at = i; at < end; at++) {
                const uint64_t here = ll_vstage_at(shape->schedule, shape->stages, stage, slots[at].chunk);
                for (uint64_t k = 0; slots[at].half != LL_WEIGHT_HALF && k < pipeline->message_count; k++) {
                    const struct ll_vstage_message *message = &pipeline->messages[k];
                    const struct ll_rank_task send = {
                        .kind = LL_TASK_SEND,
                        .rank = stage,
                        .stream = message->backward ? 2 : 1,
                        .time_s = message->time_s,
                        .other = (uint32_t)ll_vstage_lies_on(shape->schedule, shape->stages, message->to),
                        .tag = k * shape->micro_batches + slots[at].micro_batch,
                        .name = "send"};
                    if (message->from == here && message->backward == slots[at].backward)
                        ll_ranks_add(ranks, &send, &last[stage], 1);
                }
            }
        }
    }
    assert_true(ll_ranks_run(ranks, &diags));
    for (uint64_t stage = 0; stage < shape->stages; stage++)
        time_s = fmax(time_s, ll_ranks_end_s(ranks, last[stage]) + tail_s[stage]);
    ll_ranks_free(ranks);
    return time_s;
}

static void taking_turns_takes_as_long_as_the_tasks_do(void **state)
{
    static struct scene scene;
    double message_s[MOST];
    uint64_t seed = ll_seed(71);
    (void)state;
    for (unsigned kind = 0; kind < LL_SCHEDULE_COUNT; kind++)
        for (uint64_t p = 1; p <= 6; p++)
            for (uint64_t m = 1; m <= 4 * p + 2; m += 1 + m / 5) {
                struct ll_parallel plan = ll_plan_of_one();
                struct ll_plan_sizes sizes;
                struct ll_diags diags = {0};
                plan.schedule = (enum ll_schedule)kind;
                plan.pipeline = p;
                plan.chunks = chunks_of(plan.schedule);
                plan.batch = m;
                plan.micro_batch = 1;
                bool right = ll_plan_resolve(&plan, 0, p, &diags, &sizes);
                ll_diags_release(&diags);
                if (!right)
                    continue;
                roll(&scene, (struct ll_pipeline_shape){plan.schedule, p, plan.chunks, m}, message_s, &seed);
                double run_s = run(&scene).time_s;
                assert_true(run_s == tasks_s(&scene));
                if (m <= 4 * p)
                    assert_true(run_s == turns_s(&scene, message_s));
            }
}

/* Of 1000 micro-batches and more only the first are played. With stages that take so unequal times the two
 * models of dualpipe come to wait for one another later on. */
static void a_full_pipeline_goes_on_as_it_did(void **state)
{
    static struct scene scene;
    double message_s[MOST];
    uint64_t seed = ll_seed(72);
    (void)state;
    for (unsigned kind = 0; kind < LL_SCHEDULE_COUNT; kind++) {
        roll(&scene, (struct ll_pipeline_shape){kind, 4, chunks_of(kind), 1000}, message_s, &seed);
        assert_near(turns_s(&scene, message_s), run(&scene).time_s,
                    kind == LL_SCHEDULE_DUALPIPE ? 0.025 : 0.01);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gpipe_and_1f1b_take_their_closed_form),
        cmocka_unit_test(interleaving_divides_the_bubble_by_the_chunks),
        cmocka_unit_test(zero_bubbles_are_as_short_as_their_paper_says),
        cmocka_unit_test(dualpipe_is_as_its_rules_say),
        cmocka_unit_test(halves_keep_as_many_micro_batches_as_the_papers_say),
        cmocka_unit_test(as_many_micro_batches_are_kept_as_the_papers_say),
        cmocka_unit_test(every_slot_comes_once),
        cmocka_unit_test(messages_delay_what_waits_for_them),
        cmocka_unit_test(a_norm_of_all_gradients_is_waited_for),
        cmocka_unit_test(a_slower_part_never_makes_a_step_faster),
        cmocka_unit_test(taking_turns_takes_as_long_as_the_tasks_do),
        cmocka_unit_test(a_full_pipeline_goes_on_as_it_did),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
