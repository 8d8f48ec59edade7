/* SPDX-License-Identifier: Apache-2.0 */
/* Sounds from files: RIFF WAVE (Microsoft and IBM, 1991) and NIST SPHERE (as TIMIT comes in), one channel of
 * uncompressed 16-bit samples. What is read was written by anybody. A reader stops at the first mistake,
 * since what follows it cannot be told, and is one thread's. */
#ifndef LL_MODELS_DATA_SPECTRA_H
#define LL_MODELS_DATA_SPECTRA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "models/data/part.h"
#include "tracer/base/arena.h"
#include "tracer/base/diag.h"

struct ll_sound {
    uint64_t rate_Hz; /* from LL_LEAST_RATE_HZ to LL_MOST_RATE_HZ below */
    uint64_t count;
    const float *samples; /* from -1 to 1 */
};

/* The samples of a file's bytes, copied into the arena; `name` is for complaints. False after a complaint:
 * another format, a header that promises more bytes than there are, compressed samples, more than one
 * channel, other than 16 bits, a rate out of bounds, no memory. The sound is then as it was. */
bool ll_sound_parse(const void *bytes, size_t size, const char *name, struct ll_arena *arena,
                    struct ll_sound *sound, struct ll_diags *diags);

/* The same of a file of at most 1 GiB; one that cannot be read is a complaint, too. */
bool ll_sound_load(const char *path, struct ll_arena *arena, struct ll_sound *sound, struct ll_diags *diags);

/* What speech recognisers hear: mel-frequency cepstral coefficients (Davis and Mermelstein, 1980).
 *
 * Every 5 ms, 25 ms of sound become 26 numbers: coefficients 1 to 12 of the cosine transform of the
 * logarithms of 26 mel-spaced bands of the power spectrum, the logarithm of the energy, and how fast each of
 * the 13 changes (the slope of a line through five frames). Then each of the 26 is standardised over the
 * utterance: mean 0, variance 1, or all 0 where it never changes. Bands are triangles from 100 Hz to half
 * the rate, evenly spaced in mel, 1127 ln(1 + f / 700) (O'Shaughnessy, 1987). Thread-safe after it is made.
 */

enum { LL_CEPSTRA = 12, LL_FEATURES = 2 * (LL_CEPSTRA + 1) };
enum { LL_LEAST_RATE_HZ = 8000, LL_MOST_RATE_HZ = 48000 };

/* Tables for one rate of samples; in an arena. */
struct ll_cepstra;

/* Lives in the arena. NULL when memory ran out; the rate is within the bounds above. */
struct ll_cepstra *ll_cepstra_new(struct ll_arena *arena, uint64_t rate_Hz);

/* How many frames so many samples are, 0 where they are less than a window of 25 ms; and how many samples so
 * many frames (at least 1) need at least. */
uint64_t ll_cepstra_frames(const struct ll_cepstra *cepstra, uint64_t samples);
uint64_t ll_cepstra_samples(const struct ll_cepstra *cepstra, uint64_t frames);

/* Writes features[ll_cepstra_frames(count), LL_FEATURES] of samples from -1 to 1. */
void ll_cepstra_of(const struct ll_cepstra *cepstra, const float *samples, uint64_t count, float *features);

/* Fourier transform in place of `count` (a power of two) complex numbers: x_k becomes
 * sum_n x_n exp(-2 pi i k n / count) (Cooley and Tukey, 1965). Pure. */
void ll_fourier(double *real, double *imaginary, uint64_t count);

/* Speech that nobody spoke: a phoneme is a pair of tones, held for 50 to 95 ms, its pitch and loudness never
 * quite the same, with noise around it; its sound goes through the cepstra below as speech would. Utterance
 * i of a seed is always the same one. Thread-safe. */

/* Frames of 5 ms for each phoneme that an utterance may have, so that all of them fit; different pairs of
 * tones; samples a second. */
enum { LL_FRAMES_A_TONE = 20, LL_MOST_TONES = 64, LL_TONES_RATE_HZ = 16000 };

struct ll_tones {
    uint64_t seed;
    uint64_t kinds;       /* of phonemes: from 2 to LL_MOST_TONES */
    uint64_t most_labels; /* of an utterance, at least 1 */
};

/* Writes the phonemes of an utterance, each from 0 to kinds - 1, and returns how many they are: at least
 * half as many as there may be. No two alike follow each other. */
uint64_t ll_tones_labels(const struct ll_tones *tones, uint64_t sample, int32_t *labels);

/* How many frames it has: at most LL_FRAMES_A_TONE for each of most_labels. */
uint64_t ll_tones_frames(const struct ll_tones *tones, uint64_t sample);

/* Writes features[frames, LL_FEATURES]; cepstra at LL_TONES_RATE_HZ. `sound` has room for the samples of
 * these frames (ll_cepstra_samples), and then holds them, about -0.6 to 0.6. */
void ll_tones_speak(const struct ll_tones *tones, uint64_t sample, const struct ll_cepstra *cepstra,
                    float *sound, float *features);

/* Spectrograms of speech that nobody spoke: utterances as loudness over frequency bins, a frame every
 * 10 ms. A label is two bumps among the bins, one in each half, held for 100 to 160 ms, never quite in place,
 * with noise around; silence goes before and behind. Utterance i of a part is always the same one.
 * Thread-safe. */

/* Frames of silence on each side; the most that a label is held. */
enum { LL_SILENT_FRAMES = 12, LL_SPECTRUM_FRAMES_A_TONE = 16 };

struct ll_spectra {
    struct ll_tones tones[LL_PART_COUNT];
    uint64_t bins;
};

/* Of so many kinds of tones, from 2 to LL_MOST_TONES, and as many labels as fit into so many frames, one at
 * least. */
struct ll_spectra ll_spectra_of(uint64_t kinds, uint64_t frames, uint64_t bins, uint64_t seed);

/* How many labels an utterance of so many frames has at most; 0 when not even one fits. */
uint64_t ll_spectra_most_labels(uint64_t frames);

/* Writes what an utterance says, at most ll_spectra_most_labels of its frames, and returns how many labels
 * that is. */
uint64_t ll_spectra_labels(const struct ll_spectra *spectra, enum ll_data_part part, uint64_t i,
                           int32_t *labels);

/* Its frames of 10 ms, and features[frames, bins], which the second writes: silence about 0, a label about
 * 1. */
uint64_t ll_spectra_frames(const struct ll_spectra *spectra, enum ll_data_part part, uint64_t i);
void ll_spectra_features(const struct ll_spectra *spectra, enum ll_data_part part, uint64_t i,
                         float *features);

#endif
