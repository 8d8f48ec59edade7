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
            for (uint64_t groups = 1; groups <= 3; groups++)
                expect_closed_form((struct ll_pipeline_shape){LL_SCHEDULE_INTERLEAVED, p, v, groups * p});
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

/* Counted on the slots themselves: every pass once, and never more in flight than is said. */
static void every_slot_comes_once(void **state)
{
    (void)state;
    for (int schedule = 0; schedule < LL_SCHEDULE_COUNT; schedule++)
        for (uint64_t p = 1; p <= 5; p++) {
            uint64_t chunks = schedule == LL_SCHEDULE_INTERLEAVED ? 3 : 1;
            struct ll_pipeline_shape shape = {(enum ll_schedule)schedule, p, chunks, 2 * p};
            for (uint64_t stage = 0; stage < p; stage++) {
                int seen[2][3][16] = {{{0}}};
                uint64_t flying = 0, most = 0;
                for (uint64_t i = 0; i < ll_schedule_slot_count(&shape); i++) {
                    struct ll_schedule_slot slot = ll_schedule_slot_at(&shape, stage, i);
                    seen[slot.backward][slot.chunk][slot.micro_batch]++;
                    assert_true(!slot.backward || seen[0][slot.chunk][slot.micro_batch] == 1);
                    flying = slot.backward ? flying - 1 : flying + 1;
                    most = ll_max(most, flying);
                }
                assert_int_equal(flying, 0);
                assert_int_equal(most, ll_slots_in_flight(&shape, stage));
                for (uint64_t c = 0; c < chunks; c++)
                    for (uint64_t m = 0; m < 2 * p; m++)
                        assert_true(seen[0][c][m] == 1 && seen[1][c][m] == 1);
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

/* Slower stages and messages never make a step faster; it takes as long as its slowest stage works. */
static void a_slower_part_never_makes_a_step_faster(void **state)
{
    (void)state;
    static struct scene scene;
    uint64_t random = ll_seed(7);
    for (int i = 0; i < 300; i++) {
        enum ll_schedule schedule = (enum ll_schedule)ll_random_below(&random, LL_SCHEDULE_COUNT);
        uint64_t p = 1 + ll_random_below(&random, 6),
                 v = schedule == LL_SCHEDULE_INTERLEAVED ? 1 + ll_random_below(&random, 3) : 1;
        fill(&scene, (struct ll_pipeline_shape){schedule, p, v, p * (1 + ll_random_below(&random, 3))}, 1);
        for (uint64_t vstage = 0; vstage < p * v; vstage++)
            scene.vstages[vstage] = (struct ll_vstage_times){(double)ll_random_below(&random, 9),
                                                             (double)ll_random_below(&random, 9),
                                                             (double)ll_random_below(&random, 9)};
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
                                           .backward_s = 2 * ll_random_fine_unit(ll_random(seed)),
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

static void taking_turns_takes_as_long_as_the_tasks_do(void **state)
{
    static struct scene scene;
    double message_s[MOST];
    uint64_t seed = ll_seed(71);
    (void)state;
    for (uint64_t p = 1; p <= 5; p++)
        for (uint64_t v = 1; v <= 3; v++)
            for (uint64_t groups = 1; groups <= 4; groups++)
                for (unsigned kind = 0; kind < 3; kind++) {
                    bool interleaved = kind == LL_SCHEDULE_INTERLEAVED;
                    roll(&scene, (struct ll_pipeline_shape){kind, p, interleaved ? v : 1, groups * p},
                         message_s, &seed);
                    assert_near(turns_s(&scene, message_s), run(&scene).time_s, 1e-12);
                }
}

/* Of 1000 micro-batches and more only the first are played. */
static void a_full_pipeline_goes_on_as_it_did(void **state)
{
    static struct scene scene;
    double message_s[MOST];
    uint64_t seed = ll_seed(72);
    (void)state;
    for (unsigned kind = 0; kind < 3; kind++) {
        bool interleaved = kind == LL_SCHEDULE_INTERLEAVED;
        roll(&scene, (struct ll_pipeline_shape){kind, 4, interleaved ? 3 : 1, 1000}, message_s, &seed);
        assert_near(turns_s(&scene, message_s), run(&scene).time_s, 0.01);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gpipe_and_1f1b_take_their_closed_form),
        cmocka_unit_test(interleaving_divides_the_bubble_by_the_chunks),
        cmocka_unit_test(as_many_micro_batches_are_kept_as_the_papers_say),
        cmocka_unit_test(every_slot_comes_once),
        cmocka_unit_test(messages_delay_what_waits_for_them),
        cmocka_unit_test(a_slower_part_never_makes_a_step_faster),
        cmocka_unit_test(taking_turns_takes_as_long_as_the_tasks_do),
        cmocka_unit_test(a_full_pipeline_goes_on_as_it_did),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
