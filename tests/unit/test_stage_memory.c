/* SPDX-License-Identifier: Apache-2.0 */
/* Stages of two pieces, summed by hand: of the piece that has most in passing its worst moment, of the other
 * what lasts, and of both what passes in flight keep, the one under way already counted. */
#include "check.h"

#include "dry_model.h"
#include "sim/parallel/stage_memory.h"

/* Passing: 100 - 20 - 30 = 50 bytes, 210 - 10 - 20 = 180; of kind 0 5 and 17, of kind 1 17 and 5. */
static const struct ll_piece_memory small = {.peak.of = {[LL_WEIGHT] = 15, [LL_ACTIVATION] = 85},
                                             .lasting.of = {[LL_WEIGHT] = 15, [LL_ACTIVATION] = 5},
                                             .kept.of[LL_ACTIVATION] = 30,
                                             .kinds = {{10, 2, 3}, {20, 1, 2}}},
                                    large = {.peak.of[LL_ACTIVATION] = 210,
                                             .lasting.of[LL_ACTIVATION] = 10,
                                             .kept.of[LL_ACTIVATION] = 20,
                                             .kinds = {{20, 1, 2}, {10, 2, 3}}};

static struct ll_footprint stage(const struct ll_piece_memory *first, const struct ll_piece_memory *second,
                                 uint64_t in_flight)
{
    struct ll_footprint footprint;
    ll_stage_memory((const struct ll_piece_memory *[]){first, second}, second ? 2 : 1, in_flight, &footprint);
    assert_int_equal(footprint.class_bytes[LL_WEIGHT] + footprint.class_bytes[LL_ACTIVATION],
                     footprint.peak_bytes);
    return footprint;
}

static void a_piece_alone_keeps_all_passes_but_one_beside_its_peak(void **state)
{
    (void)state;
    assert_int_equal(ll_passing_bytes(&small), 50);
    assert_int_equal(ll_passing_bytes(&large), 180);
    assert_int_equal(stage(&small, NULL, 1).peak_bytes, 100);
    assert_int_equal(stage(&small, NULL, 3).peak_bytes, 100 + 2 * 30);
    assert_int_equal(stage(&small, NULL, 3).most_bytes[0], 10 + 2 * 3);
}

/* Of three passes the first piece has two. */
static void the_worst_piece_is_at_its_peak_while_the_others_wait(void **state)
{
    (void)state;
    assert_int_equal(stage(&small, &large, 2).peak_bytes, 210 + 20 + 30);
    assert_int_equal(stage(&large, &small, 2).peak_bytes, 210 + 20 + 30);
    assert_int_equal(stage(&small, &large, 3).peak_bytes, 210 + 20 + 2 * 30);
    assert_int_equal(stage(&large, &small, 3).peak_bytes, 210 + 20 + 20 + 30);
    assert_int_equal(stage(&small, &large, 1).peak_bytes, 210 + 20 + 30); /* a pass of the first alone */
}

static void each_kind_has_its_own_worst_piece(void **state)
{
    (void)state;
    struct ll_footprint two = stage(&small, &large, 2), three = stage(&small, &large, 3);
    assert_int_equal(two.most_bytes[0], 20 + 3 + 2);
    assert_int_equal(two.most_bytes[1], 20 + 3 + 2);
    assert_int_equal(three.most_bytes[0], 20 + 2 * 3 + 2);
    assert_int_equal(three.most_bytes[1], 20 + 2 + 3 + 2);
}

/* Later steps put their gradients where those of the first were. */
static void gradients_that_are_added_up_are_there_once(void **state)
{
    static const struct ll_setting sizes[] = {
        {"layers", "2"}, {"hidden", "64"}, {"heads", "4"}, {"vocabulary", "100"}, {"seq", "16"}};
    struct ll_piece_memory one, three;
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct ll_trace *trace = dry_steps("gpt", true, 2, i ? 3 : 1, sizes, 5);
        assert_true(ll_piece_memory(trace, 2, i ? &three : &one));
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
                                              {"key_heads", "2"}, {"inner", "64"},       {"seq", "16"},
                                              {"pass", "decode"}, {"vocabulary", "100"}, {"context", "1024"}};
    const uint64_t cache = 2 * 2 * 2 * 1024 * 2 * 16 * 4;
    struct ll_trace *trace = dry_model("llama", false, 2, sizes, sizeof sizes / sizeof *sizes);
    struct ll_piece_memory one, four;
    (void)state;
    assert_true(ll_piece_memory(trace, 1, &one));
    assert_true(ll_piece_memory(trace, 4, &four));
    assert_int_equal(one.lasting.of[LL_ACTIVATION], cache);
    assert_int_equal(four.lasting.of[LL_ACTIVATION], 4 * cache);
    assert_int_equal(four.peak.of[LL_ACTIVATION] - one.peak.of[LL_ACTIVATION], 3 * cache);
    assert_int_equal(ll_passing_bytes(&four), ll_passing_bytes(&one));
    ll_trace_free(trace);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_piece_alone_keeps_all_passes_but_one_beside_its_peak),
        cmocka_unit_test(the_worst_piece_is_at_its_peak_while_the_others_wait),
        cmocka_unit_test(gradients_that_are_added_up_are_there_once),
        cmocka_unit_test(what_sentences_carry_is_there_for_all_of_them),
        cmocka_unit_test(each_kind_has_its_own_worst_piece),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
