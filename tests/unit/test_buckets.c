/* SPDX-License-Identifier: Apache-2.0 */
#include "check.h"

#include "models/data/text.h"

#include <stdlib.h>
#include <string.h>

static const struct ll_bucket sizes[] = {{5, 10}, {10, 15}, {20, 25}};

struct sorted {
    struct ll_arena arena;
    struct ll_corpus corpus;
    struct ll_buckets buckets;
};

static int sort(void **state)
{
    struct sorted *sorted = calloc(1, sizeof *sorted);
    struct ll_reversal reversal = {.pairs = 4000, .letters = 12, .shortest = 1, .longest = 24, .seed = 3};
    *state = sorted;
    return ll_corpus_reverse(&sorted->corpus, &reversal) &&
                   ll_buckets_sort(&sorted->buckets, &sorted->corpus, sizes, 3, &sorted->arena)
               ? 0
               : -1;
}

static int release(void **state)
{
    struct sorted *sorted = *state;
    ll_corpus_release(&sorted->corpus);
    ll_arena_release(&sorted->arena);
    free(sorted);
    return 0;
}

/* TensorFlow's translate.py: the first bucket with len(source) < source_size and len(target + EOS) <
 * target_size. */
static void a_pair_is_in_the_smallest_bucket_that_it_fits_into(void **state)
{
    const struct sorted *sorted = *state;
    uint64_t found = sorted->buckets.too_long;
    for (uint32_t b = 0; b < 3; b++)
        for (int part = 0; part < LL_PART_COUNT; part++)
            for (uint64_t i = 0; i < sorted->buckets.of[b][part].count; i++, found++) {
                const struct ll_pair *pair = &sorted->corpus.pairs[sorted->buckets.of[b][part].pairs[i]];
                uint64_t words = pair->source_words;
                assert_true(words < sizes[b].source && words + 1 < sizes[b].target);
                assert_true(b == 0 || words >= sizes[b - 1].source || words + 1 >= sizes[b - 1].target);
            }
    assert_int_equal(found, sorted->corpus.pair_count);
    assert_true(sorted->buckets.too_long > 0);
    assert_int_equal(ll_bucket_words(&sizes[0]), 4);
    assert_int_equal(ll_bucket_words(&(struct ll_bucket){40, 20}), 18);
}

static bool same_source(const struct ll_corpus *corpus, uint64_t a, uint64_t b)
{
    uint64_t words = corpus->pairs[a].source_words;
    return words == corpus->pairs[b].source_words &&
           memcmp(corpus->words + corpus->pairs[a].first, corpus->words + corpus->pairs[b].first,
                  words * sizeof *corpus->words) == 0;
}

/* Of 12 letters many short sentences come twice. */
static void what_is_held_back_is_never_learned(void **state)
{
    const struct sorted *sorted = *state;
    uint64_t twice = 0;
    for (uint32_t b = 0; b < 3; b++) {
        uint64_t held = sorted->buckets.of[b][LL_HELD_BACK].count,
                 learned = sorted->buckets.of[b][LL_LEARNED].count;
        assert_in_range(held * 16, (held + learned) / 2, 2 * (held + learned));
        for (uint64_t i = 0; i < held; i++)
            for (uint64_t j = 0; j < learned; j++)
                assert_false(same_source(&sorted->corpus, sorted->buckets.of[b][LL_HELD_BACK].pairs[i],
                                         sorted->buckets.of[b][LL_LEARNED].pairs[j]));
        for (uint64_t i = 1; i < held; i++)
            twice += same_source(&sorted->corpus, sorted->buckets.of[b][LL_HELD_BACK].pairs[0],
                                 sorted->buckets.of[b][LL_HELD_BACK].pairs[i]);
    }
    assert_true(twice > 0);
}

static void buckets_are_chosen_as_often_as_they_have_pairs(void **state)
{
    const struct sorted *sorted = *state;
    enum { STEPS = 20000 };
    uint64_t chosen[3] = {0}, total = 0;
    for (uint64_t step = 0; step < STEPS; step++)
        chosen[ll_buckets_choose(&sorted->buckets, 5, step)]++;
    for (int b = 0; b < 3; b++)
        total += sorted->buckets.of[b][LL_LEARNED].count;
    for (int b = 0; b < 3; b++) {
        double share = (double)sorted->buckets.of[b][LL_LEARNED].count / (double)total;
        assert_true(fabs((double)chosen[b] / STEPS - share) < 0.02); /* five deviations of the mean */
    }
}

/* A pair (a b c, x y) by hand. */
static void sentences_are_padded_as_the_tutorial_pads_them(void **state)
{
    (void)state;
    int32_t words[] = {11, 12, 13, 21, 22};
    struct ll_pair pair = {0, 3, 2};
    uint64_t first = 0;
    struct ll_corpus corpus = {.words = words, .word_count = 5, .pairs = &pair, .pair_count = 1};
    struct ll_buckets buckets = {.corpus = &corpus, .sizes = {{5, 5}}, .count = 1};
    buckets.of[0][LL_LEARNED].pairs = &first;
    buckets.of[0][LL_LEARNED].count = 1;
    struct ll_batch batch = {&buckets, 0, LL_LEARNED, 2, 1, 0};
    int32_t source[10], target[12];
    float weights[10];
    ll_batch_source(&batch, source);
    ll_batch_target(&batch, target);
    ll_batch_weights(&batch, weights);
    static const int32_t encoder[] = {LL_WORD_PAD, LL_WORD_PAD, 13, 12, 11};
    static const int32_t decoder[] = {LL_WORD_GO, 21, 22, LL_WORD_EOS, LL_WORD_PAD, LL_WORD_PAD};
    static const float counts[] = {1, 1, 1, 0, 0};
    for (int i = 0; i < 2; i++) {
        for (int t = 0; t < 5; t++)
            assert_int_equal(source[2 * t + i], encoder[t]);
        for (int t = 0; t < 6; t++)
            assert_int_equal(target[2 * t + i], decoder[t]);
        for (int t = 0; t < 5; t++)
            assert_true(weights[2 * t + i] == counts[t]);
    }
}

static void held_back_pairs_come_in_order_and_again(void **state)
{
    const struct sorted *sorted = *state;
    uint64_t count = sorted->buckets.of[1][LL_HELD_BACK].count;
    struct ll_batch batch = {&sorted->buckets, 1, LL_HELD_BACK, 7, 9, 0};
    for (uint64_t i = 0; i < 2 * count; i++) {
        batch.step = i / 7;
        assert_ptr_equal(ll_batch_pair(&batch, i % 7),
                         &sorted->corpus.pairs[sorted->buckets.of[1][LL_HELD_BACK].pairs[i % count]]);
    }
}

static void every_step_learns_other_pairs(void **state)
{
    const struct sorted *sorted = *state;
    struct ll_batch batch = {&sorted->buckets, 2, LL_LEARNED, 16, 9, 0}, next = batch;
    next.step = 1;
    int same = 0;
    for (uint64_t i = 0; i < 16; i++) {
        assert_ptr_equal(ll_batch_pair(&batch, i), ll_batch_pair(&batch, i));
        same += ll_batch_pair(&batch, i) == ll_batch_pair(&next, i);
    }
    assert_true(same < 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_pair_is_in_the_smallest_bucket_that_it_fits_into),
        cmocka_unit_test(what_is_held_back_is_never_learned),
        cmocka_unit_test(buckets_are_chosen_as_often_as_they_have_pairs),
        cmocka_unit_test(sentences_are_padded_as_the_tutorial_pads_them),
        cmocka_unit_test(held_back_pairs_come_in_order_and_again),
        cmocka_unit_test(every_step_learns_other_pairs),
    };
    return cmocka_run_group_tests(tests, sort, release);
}
