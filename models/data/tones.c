/* SPDX-License-Identifier: Apache-2.0 */
#include "models/data/tones.h"

#include "tracer/base/random.h"

#include <math.h>

enum { LEAST_FRAMES = 10, FRAME_CHOICES = 10, TONES_A_SIDE = 8 };

/* Streams of an utterance's chances. */
enum stream { COUNT, KIND, LENGTH, PITCH, LOUDNESS, NOISE };

static uint64_t bits(const struct ll_tones *tones, uint64_t sample, enum stream stream, uint64_t i)
{
    return ll_random_bits(ll_random_key(ll_random_key(tones->seed, sample), stream), i);
}

/* Uniform from -1 to 1. */
static double jitter(const struct ll_tones *tones, uint64_t sample, enum stream stream, uint64_t i)
{
    return 2 * ll_random_fine_unit(bits(tones, sample, stream, i)) - 1;
}

uint64_t ll_tones_count(const struct ll_tones *tones, uint64_t sample)
{
    uint64_t least = (tones->most_labels + 1) / 2;
    return least + bits(tones, sample, COUNT, 0) % (tones->most_labels - least + 1);
}

static uint64_t tone_frames(const struct ll_tones *tones, uint64_t sample, uint64_t i)
{
    return LEAST_FRAMES + bits(tones, sample, LENGTH, i) % FRAME_CHOICES;
}

uint64_t ll_tones_after(const struct ll_tones *tones, uint64_t sample, uint64_t i, uint64_t kind)
{
    uint64_t chance = bits(tones, sample, KIND, i);
    return i == 0 ? chance % tones->kinds : (kind + 1 + chance % (tones->kinds - 1)) % tones->kinds;
}

uint64_t ll_tones_labels(const struct ll_tones *tones, uint64_t sample, int32_t *labels)
{
    uint64_t count = ll_tones_count(tones, sample), kind = 0;
    for (uint64_t i = 0; i < count; i++)
        labels[i] = (int32_t)(kind = ll_tones_after(tones, sample, i, kind));
    return count;
}

uint64_t ll_tones_frames(const struct ll_tones *tones, uint64_t sample)
{
    uint64_t frames = 0;
    for (uint64_t i = ll_tones_count(tones, sample); i-- > 0;)
        frames += tone_frames(tones, sample, i);
    return frames;
}

/* Radians a sample of the lower and the upper tone: eight from 350 Hz and eight from 1400 Hz, each 17 % above
 * the one before; up to 3 % off. */
static void pitches(const struct ll_tones *tones, uint64_t sample, uint64_t i, int32_t label, double steps[2])
{
    const double lowest_Hz[2] = {350, 1400};
    for (int side = 0; side < 2; side++) {
        int place = side ? label / TONES_A_SIDE : label % TONES_A_SIDE;
        double off = 1 + 0.03 * jitter(tones, sample, PITCH, 2 * i + (uint64_t)side);
        steps[side] = 6.283185307179586 * lowest_Hz[side] * pow(1.17, place) * off / LL_TONES_RATE_HZ;
    }
}

void ll_tones_speak(const struct ll_tones *tones, uint64_t sample, const struct ll_cepstra *cepstra,
                    float *sound, float *features)
{
    uint64_t count = ll_tones_count(tones, sample), frames = ll_tones_frames(tones, sample), n = 0, end = 0;
    uint64_t samples = ll_cepstra_samples(cepstra, frames), key = ll_random_key(tones->seed, sample);
    uint64_t kind = 0, noise = ll_random_key(key, NOISE);
    double phase[2] = {0, 0}, steps[2];
    for (uint64_t i = 0; i < count; i++) {
        kind = ll_tones_after(tones, sample, i, kind);
        pitches(tones, sample, i, (int32_t)kind, steps);
        double loud = 0.2 * (1 + 0.4 * jitter(tones, sample, LOUDNESS, i));
        end = i + 1 < count ? end + tone_frames(tones, sample, i) * (samples / frames) : samples;
        for (; n < end; n++) {
            for (int side = 0; side < 2; side++)
                phase[side] += steps[side];
            double around = 0.05 * (2 * ll_random_fine_unit(ll_random_bits(noise, n)) - 1);
            sound[n] = (float)(loud * (sin(phase[0]) + sin(phase[1])) + around);
        }
    }
    ll_cepstra_of(cepstra, sound, samples, features);
}
