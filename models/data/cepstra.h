/* SPDX-License-Identifier: Apache-2.0 */
/* What speech recognisers hear: mel-frequency cepstral coefficients (Davis and Mermelstein, 1980).
 *
 * Every 5 ms, 25 ms of sound become 26 numbers: coefficients 1 to 12 of the cosine transform of the
 * logarithms of 26 mel-spaced bands of the power spectrum, the logarithm of the energy, and how fast each of
 * the 13 changes (the slope of a line through five frames). Then each of the 26 is standardised over the
 * utterance: mean 0, variance 1, or all 0 where it never changes. Bands are triangles from 100 Hz to half
 * the rate, evenly spaced in mel, 1127 ln(1 + f / 700) (O'Shaughnessy, 1987). Thread-safe after it is made.
 */
#ifndef LL_DATA_CEPSTRA_H
#define LL_DATA_CEPSTRA_H

#include "tracer/base/arena.h"

#include <stdint.h>

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

#endif
