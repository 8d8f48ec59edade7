/* SPDX-License-Identifier: Apache-2.0 */
#include "check.h"

#include "models/data/text.h"
#include "tracer/base/random.h"

#include <string.h>

static const struct ll_reversals language = {
    .seed = 3, .letters = 9, .batch = 20, .longest = 7, .missing = 55};

static void a_batch_has_as_many_words_as_it_should(void **state)
{
    (void)state;
    for (uint64_t step = 0; step < 200; step++) {
        int32_t lengths[20];
        int64_t sum = 0;
        ll_reversals_lengths(&language, LL_LEARNED, step, lengths);
        for (uint64_t i = 0; i < language.batch; i++) {
            assert_true(lengths[i] >= 1 && lengths[i] <= 7);
            sum += lengths[i];
        }
        assert_int_equal(sum, 20 * 7 - 55);
    }
}

static void as_few_words_as_there_may_be_are_one_a_sentence(void **state)
{
    (void)state;
    struct ll_reversals least = language;
    int32_t lengths[20];
    least.missing = 20 * 6;
    ll_reversals_lengths(&least, LL_LEARNED, 1, lengths);
    for (uint64_t i = 0; i < least.batch; i++)
        assert_int_equal(lengths[i], 1);
}

/* The rule of models/data/text.c: by the words alone. */
static bool is_held_back(const int32_t *words, uint64_t length)
{
    uint64_t hash = 0;
    for (uint64_t t = 0; t < length; t++)
        hash = ll_random_key(hash, (uint64_t)words[t]);
    return hash % LL_ONE_HELD_BACK_OF == 0;
}

static void no_sentence_that_is_held_back_is_learned(void **state)
{
    (void)state;
    for (uint64_t step = 0; step < 300; step++)
        for (int part = 0; part < LL_PART_COUNT; part++) {
            int32_t words[7];
            ll_reversals_words(&language, (enum ll_data_part)part, step, step % 20, 5, words);
            for (int t = 0; t < 5; t++)
                assert_true(words[t] >= LL_SPECIAL_WORDS && words[t] < LL_SPECIAL_WORDS + 9);
            assert_int_equal(is_held_back(words, 5), part == LL_HELD_BACK);
        }
}

static void a_language_without_such_sentences_still_has_some(void **state)
{
    (void)state;
    struct ll_reversals tiny = language;
    int32_t words[1];
    tiny.letters = 2;
    for (int part = 0; part < LL_PART_COUNT; part++) {
        ll_reversals_words(&tiny, (enum ll_data_part)part, 0, 0, 1, words);
        assert_true(words[0] >= LL_SPECIAL_WORDS && words[0] < LL_SPECIAL_WORDS + 2);
    }
}

static void sentences_are_the_same_whenever_they_are_asked_for(void **state)
{
    (void)state;
    int32_t first[7], again[7], other[7];
    ll_reversals_words(&language, LL_LEARNED, 12, 4, 7, first);
    ll_reversals_words(&language, LL_LEARNED, 12, 5, 7, other);
    ll_reversals_words(&language, LL_LEARNED, 12, 4, 7, again);
    assert_memory_equal(first, again, sizeof first);
    assert_true(memcmp(first, other, sizeof first) != 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_batch_has_as_many_words_as_it_should),
        cmocka_unit_test(as_few_words_as_there_may_be_are_one_a_sentence),
        cmocka_unit_test(no_sentence_that_is_held_back_is_learned),
        cmocka_unit_test(a_language_without_such_sentences_still_has_some),
        cmocka_unit_test(sentences_are_the_same_whenever_they_are_asked_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
