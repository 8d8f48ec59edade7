/* SPDX-License-Identifier: Apache-2.0 */
#include "check.h"

#include "models/data/speech.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { FRAMES = 120, BINS = 80, KINDS = 10 };

static void utterances_fit_into_their_frames(void **state)
{
    (void)state;
    struct ll_spectra spectra = ll_spectra_of(KINDS, FRAMES, BINS, 4);
    assert_int_equal(ll_spectra_most_labels(FRAMES), (FRAMES - 24) / 16);
    assert_int_equal(ll_spectra_most_labels(24), 0);
    assert_int_equal(ll_spectra_most_labels(3), 0);
    for (uint64_t i = 0; i < 500; i++)
        for (int part = 0; part < LL_PART_COUNT; part++) {
            int32_t labels[6];
            uint64_t count = ll_spectra_labels(&spectra, (enum ll_data_part)part, i, labels);
            uint64_t frames = ll_spectra_frames(&spectra, (enum ll_data_part)part, i);
            assert_true(count >= 1 && count <= 6 && frames <= FRAMES && frames >= 24 + 10 * count);
            for (uint64_t n = 0; n < count; n++)
                assert_true(labels[n] >= 0 && labels[n] < KINDS && (n == 0 || labels[n] != labels[n - 1]));
        }
}

static double loudest(const float *frame, int from, int to, int *where)
{
    double most = -INFINITY;
    for (int bin = from; bin < to; bin++)
        if ((double)frame[bin] > most) {
            most = (double)frame[bin];
            *where = bin;
        }
    return most;
}

/* A bump in each half: the eighth of the half that the kind names, in the first frame of the first label. */
static void a_label_sounds_where_its_kind_says(void **state)
{
    (void)state;
    struct ll_spectra spectra = ll_spectra_of(KINDS, FRAMES, BINS, 4);
    float *features = calloc(FRAMES * BINS, sizeof *features);
    for (uint64_t i = 0; i < 50; i++) {
        int32_t labels[6];
        int low = 0, high = 0;
        ll_spectra_labels(&spectra, LL_LEARNED, i, labels);
        ll_spectra_features(&spectra, LL_LEARNED, i, features);
        const float *silence = features + 3 * BINS, *first = features + (LL_SILENT_FRAMES + 4) * BINS;
        assert_true(loudest(silence, 0, BINS, &low) <= 0.1);
        assert_true(loudest(first, 0, BINS / 2, &low) > 0.5);
        assert_true(loudest(first, BINS / 2, BINS, &high) > 0.5);
        assert_true(abs(low - (labels[0] % 8 * 5 + 2)) <= 3);
        assert_true(abs(high - (BINS / 2 + labels[0] / 8 * 5 + 2)) <= 3);
    }
    free(features);
}

static void the_parts_differ_and_repeat(void **state)
{
    (void)state;
    struct ll_spectra spectra = ll_spectra_of(KINDS, FRAMES, BINS, 4);
    float *a = calloc(FRAMES * BINS, sizeof *a), *b = calloc(FRAMES * BINS, sizeof *b);
    ll_spectra_features(&spectra, LL_LEARNED, 7, a);
    ll_spectra_features(&spectra, LL_HELD_BACK, 7, b);
    assert_true(memcmp(a, b, 24 * BINS * sizeof *a) != 0);
    memset(b, 0, FRAMES * BINS * sizeof *b);
    ll_spectra_features(&spectra, LL_LEARNED, 7, b);
    assert_memory_equal(a, b, ll_spectra_frames(&spectra, LL_LEARNED, 7) * BINS * sizeof *a);
    free(a);
    free(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(utterances_fit_into_their_frames),
        cmocka_unit_test(a_label_sounds_where_its_kind_says),
        cmocka_unit_test(the_parts_differ_and_repeat),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
