/* SPDX-License-Identifier: Apache-2.0 */
#include "models/data/spectra.h"

#include "tracer/base/random.h"

#include <assert.h>
#include <math.h>

enum { LEAST_FRAMES = 10, TONES_A_SIDE = 8 };

/* Streams of an utterance's chances, beside those of tones.h. */
enum stream { HOLD = 100, PLACE, LOUDNESS, NOISE };

static uint64_t bits(const struct ll_tones *tones, uint64_t sample, enum stream stream, uint64_t i)
{
    return ll_random_bits(ll_random_key(ll_random_key(tones->seed, sample), stream), i);
}

static double jitter(const struct ll_tones *tones, uint64_t sample, enum stream stream, uint64_t i)
{
    return 2 * ll_random_fine_unit(bits(tones, sample, stream, i)) - 1;
}

uint64_t ll_spectra_most_labels(uint64_t frames)
{
    uint64_t silence = 2 * LL_SILENT_FRAMES;
    return frames < silence ? 0 : (frames - silence) / LL_SPECTRUM_FRAMES_A_TONE;
}

struct ll_spectra ll_spectra_of(uint64_t kinds, uint64_t frames, uint64_t bins, uint64_t seed)
{
    struct ll_spectra spectra = {.bins = bins};
    assert(ll_spectra_most_labels(frames) > 0);
    for (int part = 0; part < LL_PART_COUNT; part++)
        spectra.tones[part] =
            (struct ll_tones){ll_random_key(seed, (uint64_t)part), kinds, ll_spectra_most_labels(frames)};
    return spectra;
}

static uint64_t held_frames(const struct ll_tones *tones, uint64_t sample, uint64_t i)
{
    return LEAST_FRAMES + bits(tones, sample, HOLD, i) % (LL_SPECTRUM_FRAMES_A_TONE - LEAST_FRAMES + 1);
}

uint64_t ll_spectra_labels(const struct ll_spectra *spectra, enum ll_data_part part, uint64_t i,
                           int32_t *labels)
{
    return ll_tones_labels(&spectra->tones[part], i, labels);
}

uint64_t ll_spectra_frames(const struct ll_spectra *spectra, enum ll_data_part part, uint64_t i)
{
    const struct ll_tones *tones = &spectra->tones[part];
    uint64_t frames = 2 * LL_SILENT_FRAMES;
    for (uint64_t label = ll_tones_count(tones, i); label-- > 0;)
        frames += held_frames(tones, i, label);
    return frames;
}

/* Noise from -0.1 to 0.1. */
static void make_noise(const struct ll_tones *tones, uint64_t sample, uint64_t count, float *data)
{
    uint64_t key = ll_random_key(ll_random_key(tones->seed, sample), NOISE);
    for (uint64_t n = 0; n < count; n++)
        data[n] = 0.2f * ll_random_unit((uint32_t)ll_random_bits(key, n)) - 0.1f;
}

/* Adds a bump of this height around a bin to each frame. */
static void add_bump(float *features, uint64_t frames, uint64_t bins, double middle, double height)
{
    const double width = 0.02 * (double)bins;
    for (uint64_t bin = 0; bin < bins; bin++) {
        double away = ((double)bin - middle) / width;
        float loud = (float)(height * exp(-away * away / 2));
        for (uint64_t t = 0; t < frames; t++)
            features[t * bins + bin] += loud;
    }
}

/* The middle of a kind's bump in the lower or the upper half of the bins, up to a fortieth of the half off.
 */
static double middle_of(const struct ll_spectra *spectra, const struct ll_tones *tones, uint64_t sample,
                        uint64_t i, uint64_t kind, int side)
{
    double half = (double)spectra->bins / 2,
           place = (double)(side ? kind / TONES_A_SIDE : kind % TONES_A_SIDE);
    double off = 0.025 * jitter(tones, sample, PLACE, 2 * i + (uint64_t)side);
    return half * (side + (place + 0.5) / TONES_A_SIDE + off);
}

void ll_spectra_features(const struct ll_spectra *spectra, enum ll_data_part part, uint64_t i,
                         float *features)
{
    const struct ll_tones *tones = &spectra->tones[part];
    const uint64_t bins = spectra->bins, count = ll_tones_count(tones, i);
    uint64_t kind = 0;
    make_noise(tones, i, ll_spectra_frames(spectra, part, i) * bins, features);
    features += LL_SILENT_FRAMES * bins;
    for (uint64_t label = 0; label < count; label++) {
        uint64_t frames = held_frames(tones, i, label);
        double loud = 1 + 0.3 * jitter(tones, i, LOUDNESS, label);
        kind = ll_tones_after(tones, i, label, kind);
        for (int side = 0; side < 2; side++)
            add_bump(features, frames, bins, middle_of(spectra, tones, i, label, kind, side), loud);
        features += frames * bins;
    }
}
