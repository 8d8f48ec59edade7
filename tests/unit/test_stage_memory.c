/* SPDX-License-Identifier: Apache-2.0 */
/* Stages of one piece and of two, gone through by hand: the piece at work is at its worst moment, of the
 * other there is what lasts, and of both what other passes in flight keep. */
#include "check.h"

#include "dry_model.h"
#include "sim/parallel/pipeline.h"

/* Passing: 100 - 20 - 30 = 50 bytes, 210 - 10 - 20 = 180; of kind 0 5 and 17, of kind 1 17 and 5. */
static const struct ll_vstage_memory small = {.peak.of = {[LL_WEIGHT] = 15, [LL_ACTIVATION] = 85},
                                              .lasting.of = {[LL_WEIGHT] = 15, [LL_ACTIVATION] = 5},
                                              .kept.of[LL_ACTIVATION] = 30,
                                              .kinds = {{10, 2, 3}, {20, 1, 2}}},
                                     large = {.peak.of[LL_ACTIVATION] = 210,
                                              .lasting.of[LL_ACTIVATION] = 10,
                                              .kept.of[LL_ACTIVATION] = 20,
                                              .kinds = {{20, 1, 2}, {10, 2, 3}}};

static struct ll_footprint stage(const struct ll_vstage_memory *vstages,
                                 const struct ll_pipeline_shape *shape, uint64_t index)
{
    struct ll_footprint footprint;
    struct ll_stage_peak peak;
    assert_true(ll_stage_memory(vstages, shape, index, &footprint, &peak));
    assert_int_equal(footprint.class_bytes[LL_WEIGHT] + footprint.class_bytes[LL_ACTIVATION],
                     footprint.peak_bytes);
    return footprint;
}

static void a_piece_alone_keeps_all_passes_but_one_beside_its_peak(void **state)
{
    struct ll_pipeline_shape shape = {
        .schedule = LL_SCHEDULE_ONE_F_ONE_B, .stages = 3, .chunks = 1, .micro_batches = 8};
    (void)state;
    assert_int_equal(stage(&small, &shape, 2).peak_bytes, 100);
    assert_int_equal(stage(&small, &shape, 0).peak_bytes, 100 + 2 * 30);
    assert_int_equal(stage(&small, &shape, 0).most_bytes[0], 10 + 2 * 3);
    shape.stages = 1;
    assert_int_equal(stage(&small, &shape, 0).peak_bytes, 100);
}

/* The last of two stages goes forward through its first piece twice, through the second and back twice, and
 * then through the first again, before it goes back there: once three passes of the first are in flight. The
 * first stage has begun with four through the first and two through the second by the time it goes back. */
static void what_is_in_flight_differs_from_piece_to_piece(void **state)
{
    const struct ll_pipeline_shape shape = {
        .schedule = LL_SCHEDULE_INTERLEAVED, .stages = 2, .chunks = 2, .micro_batches = 4};
    const struct ll_vstage_memory rising[] = {small, large}, falling[] = {large, small};
    (void)state;
    assert_int_equal(stage(rising, &shape, 1).peak_bytes, 210 + 20 + 2 * 30);
    assert_int_equal(stage(falling, &shape, 1).peak_bytes, 210 + 20 + 2 * 20);
    assert_int_equal(stage(rising, &shape, 1).most_bytes[0], 20 + 2 + 2 * 3);
    assert_int_equal(stage(rising, &shape, 1).most_bytes[1], 20 + 2 + 2 * 2);
    assert_int_equal(stage(rising, &shape, 0).peak_bytes, 210 + 20 + 4 * 30);
}

/* Later steps put their gradients where those of the first were. */
static void gradients_that_are_added_up_are_there_once(void **state)
{
    static const struct ll_setting sizes[] = {
        {"layers", "2"}, {"hidden", "64"}, {"heads", "4"}, {"vocabulary", "100"}, {"seq", "16"}};
    struct ll_vstage_memory one, three;
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct ll_trace *trace = dry_steps("gpt", true, 2, i ? 3 : 1, sizes, 5);
        assert_true(ll_vstage_memory(trace, 2, NULL, i ? &three : &one));
        ll_trace_free(trace);
    }
    assert_true(one.lasting.of[LL_GRADIENT] > 0);
    assert_int_equal(three.lasting.of[LL_GRADIENT], one.lasting.of[LL_GRADIENT]);
}

/* Keys and values of 1024 words of 2 sentences, in f32, of 2 layers of 2 key heads of 16 features: there for
 * each of the micro-batches, of which one is at work. */
static void what_sentences_carry_is_there_for_all_of_them(void **state)
{
    static const struct ll_setting sizes[] = {{"layers", "2"},    {"hidden", "64"},      {"heads", "4"},
                                              {"kv_heads", "2"},  {"ffn_hidden", "64"},  {"seq", "16"},
                                              {"pass", "decode"}, {"vocabulary", "100"}, {"context", "1024"}};
    const uint64_t cache = 2 * 2 * 2 * 1024 * 2 * 16 * 4;
    struct ll_trace *trace = dry_model("llama", false, 2, sizes, sizeof sizes / sizeof *sizes);
    struct ll_vstage_memory one, four;
    (void)state;
    assert_true(ll_vstage_memory(trace, 1, NULL, &one));
    assert_true(ll_vstage_memory(trace, 4, NULL, &four));
    assert_int_equal(one.lasting.of[LL_ACTIVATION], cache);
    assert_int_equal(four.lasting.of[LL_ACTIVATION], 4 * cache);
    assert_int_equal(four.peak.of[LL_ACTIVATION] - one.peak.of[LL_ACTIVATION], 3 * cache);
    ll_trace_free(trace);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_piece_alone_keeps_all_passes_but_one_beside_its_peak),
        cmocka_unit_test(what_is_in_flight_differs_from_piece_to_piece),
        cmocka_unit_test(gradients_that_are_added_up_are_there_once),
        cmocka_unit_test(what_sentences_carry_is_there_for_all_of_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
