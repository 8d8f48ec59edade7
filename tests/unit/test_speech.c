/* SPDX-License-Identifier: Apache-2.0 */
/* Speech data: what is heard, what is made up, how labels are read off. */
#include "check.h"
#include "random.h"

#include "models/data/speech.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double pi = 3.14159265358979323846;

static void the_fast_transform_is_the_sum_of_the_definition(void **state)
{
    (void)state;
    uint64_t random = ll_seed(31);
    for (uint64_t count = 1; count <= 128; count *= 2) {
        double x[128], y[128], re[128], im[128];
        for (uint64_t i = 0; i < count; i++) {
            re[i] = x[i] = (double)ll_random_below(&random, 1000) / 500 - 1;
            im[i] = y[i] = (double)ll_random_below(&random, 1000) / 500 - 1;
        }
        ll_fourier(re, im, count);
        for (uint64_t k = 0; k < count; k++) {
            double a = 0, b = 0;
            for (uint64_t n = 0; n < count; n++) {
                double angle = -2 * pi * (double)(k * n) / (double)count;
                a += x[n] * cos(angle) - y[n] * sin(angle);
                b += x[n] * sin(angle) + y[n] * cos(angle);
            }
            assert_true(fabs(re[k] - a) < 1e-11 && fabs(im[k] - b) < 1e-11);
        }
    }
}

/* 16 kHz: a frame every 80 samples, each of 400. */
static void a_frame_comes_every_5_ms(void **state)
{
    (void)state;
    struct ll_arena arena = {0};
    const struct ll_cepstra *cepstra = ll_cepstra_new(&arena, 16000);
    assert_int_equal(ll_cepstra_frames(cepstra, 399), 0);
    assert_int_equal(ll_cepstra_frames(cepstra, 400), 1);
    assert_int_equal(ll_cepstra_frames(cepstra, 479), 1);
    assert_int_equal(ll_cepstra_frames(cepstra, 480), 2);
    for (uint64_t frames = 1; frames < 50; frames++)
        assert_int_equal(ll_cepstra_frames(cepstra, ll_cepstra_samples(cepstra, frames)), frames);
    ll_arena_release(&arena);
}

/* How loud all of it is cannot be heard after standardising, and silence is nothing at all. */
static void features_are_standardised(void **state)
{
    (void)state;
    enum { SAMPLES = 4000, FRAMES = 46 };
    struct ll_arena arena = {0};
    float sound[SAMPLES], features[FRAMES][LL_FEATURES], louder[FRAMES][LL_FEATURES];
    uint64_t random = ll_seed(32);
    const struct ll_cepstra *cepstra = ll_cepstra_new(&arena, 16000);
    assert_int_equal(ll_cepstra_frames(cepstra, SAMPLES), FRAMES);
    for (int i = 0; i < SAMPLES; i++)
        sound[i] = (float)(sin(0.1 * i) * (i < 2000) + (double)ll_random_below(&random, 100) / 500);
    ll_cepstra_of(cepstra, sound, SAMPLES, features[0]);
    for (int i = 0; i < SAMPLES; i++)
        sound[i] *= 4;
    ll_cepstra_of(cepstra, sound, SAMPLES, louder[0]);
    for (int f = 0; f < LL_FEATURES; f++) {
        double sum = 0, squares = 0;
        for (int t = 0; t < FRAMES; t++) {
            sum += (double)features[t][f];
            squares += pow((double)features[t][f], 2);
            assert_true(fabs((double)(features[t][f] - louder[t][f])) < 1e-3);
        }
        assert_true(fabs(sum / FRAMES) < 1e-5 && fabs(squares / FRAMES - 1) < 1e-5);
    }
    memset(sound, 0, sizeof sound);
    ll_cepstra_of(cepstra, sound, SAMPLES, features[0]);
    for (int i = 0; i < FRAMES * LL_FEATURES; i++)
        assert_true(features[i / LL_FEATURES][i % LL_FEATURES] == 0);
    ll_arena_release(&arena);
}

static void no_two_tones_alike_follow_each_other(void **state)
{
    (void)state;
    const struct ll_tones tones = {.seed = 5, .kinds = 3, .most_labels = 7};
    int32_t labels[7];
    for (uint64_t i = 0; i < 200; i++) {
        uint64_t count = ll_tones_labels(&tones, i, labels), frames = ll_tones_frames(&tones, i);
        assert_true(count >= 4 && count <= 7);
        assert_true(frames >= 10 * count && frames <= LL_FRAMES_A_TONE * count);
        for (uint64_t k = 0; k < count; k++)
            assert_true(labels[k] >= 0 && labels[k] < 3 && (k == 0 || labels[k] != labels[k - 1]));
    }
}

/* The middle of a tone is heard as another tone of that kind is: nearest to it among single tones. */
static void tones_of_one_kind_sound_alike(void **state)
{
    (void)state;
    enum { KINDS = 9, MOST = KINDS * LL_FRAMES_A_TONE, ROUNDS = 40 };
    const struct ll_tones tones = {.seed = 6, .kinds = KINDS, .most_labels = KINDS};
    struct ll_arena arena = {0};
    const struct ll_cepstra *cepstra = ll_cepstra_new(&arena, LL_TONES_RATE_HZ);
    float *sound = ll_alloc(&arena, ll_cepstra_samples(cepstra, MOST), sizeof *sound);
    float features[MOST][LL_FEATURES], means[KINDS][LL_CEPSTRA] = {{0}};
    int32_t labels[KINDS];
    int right = 0, asked = 0, seen[KINDS] = {0};
    for (uint64_t i = 0; i < 2 * ROUNDS; i++) {
        uint64_t count = ll_tones_labels(&tones, i, labels);
        ll_tones_speak(&tones, i, cepstra, sound, features[0]);
        const float *middle = features[5]; /* every tone has at least ten frames */
        int best = 0;
        double nearest = INFINITY;
        assert_true(count > 0);
        if (i < ROUNDS)
            seen[labels[0]]++;
        for (int c = 0; c < LL_CEPSTRA && i < ROUNDS; c++)
            means[labels[0]][c] += middle[c];
        for (int k = 0; k < KINDS; k++) {
            double distance = 0;
            for (int c = 0; c < LL_CEPSTRA && seen[k] > 0; c++)
                distance += pow((double)(means[k][c] / (float)seen[k] - middle[c]), 2);
            if (seen[k] > 0 && distance < nearest)
                nearest = distance, best = k;
        }
        asked += i >= ROUNDS;
        right += i >= ROUNDS && best == labels[0];
    }
    assert_true(right > asked * 3 / 4);
    ll_arena_release(&arena);
}

static void repeated_classes_are_merged_and_blanks_dropped(void **state)
{
    (void)state;
    const int best[] = {2, 0, 0, 2, 0, 1, 1, 2}; /* of three classes, 2 being the blank */
    float logits[8][4] = {{0}};
    int32_t labels[8];
    for (int t = 0; t < 8; t++)
        logits[t][best[t]] = 1, logits[t][3] = 9;
    assert_int_equal(ll_ctc_greedy_decode(logits[0], 8, 4, 3, labels), 3);
    assert_memory_equal(labels, ((const int32_t[]){0, 0, 1}), 3 * sizeof *labels);
    assert_int_equal(ll_ctc_greedy_decode(logits[0], 0, 4, 3, labels), 0);
}

/* The recursion without a table. */
static uint64_t distance(const int32_t *a, uint64_t m, const int32_t *b, uint64_t n)
{
    if (m == 0 || n == 0)
        return m + n;
    uint64_t least = distance(a + 1, m - 1, b + 1, n - 1) + (*a != *b);
    uint64_t without_a = distance(a + 1, m - 1, b, n) + 1, without_b = distance(a, m, b + 1, n - 1) + 1;
    least = without_a < least ? without_a : least;
    return without_b < least ? without_b : least;
}

static void the_distance_is_the_fewest_edits(void **state)
{
    (void)state;
    uint64_t random = ll_seed(33), row[7];
    for (int run = 0; run < 300; run++) {
        int32_t a[6], b[6];
        uint64_t m = ll_random_below(&random, 7), n = ll_random_below(&random, 7);
        for (int i = 0; i < 6; i++)
            a[i] = (int32_t)ll_random_below(&random, 3), b[i] = (int32_t)ll_random_below(&random, 3);
        assert_int_equal(ll_edit_distance(a, m, b, n, row), distance(a, m, b, n));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_fast_transform_is_the_sum_of_the_definition),
        cmocka_unit_test(a_frame_comes_every_5_ms),
        cmocka_unit_test(features_are_standardised),
        cmocka_unit_test(no_two_tones_alike_follow_each_other),
        cmocka_unit_test(tones_of_one_kind_sound_alike),
        cmocka_unit_test(repeated_classes_are_merged_and_blanks_dropped),
        cmocka_unit_test(the_distance_is_the_fewest_edits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
