/* SPDX-License-Identifier: Apache-2.0 */
#include "models/data/cepstra.h"

#include <math.h>
#include <string.h>

static const double pi = 3.14159265358979323846;

enum { HOPS_A_SECOND = 200, WINDOWS_A_SECOND = 40, BANDS = 26, MOST_POINTS = 2048, STATIC = LL_CEPSTRA + 1 };

/* A band is a triangle over points of the spectrum. */
struct band {
    uint64_t first, peak, last;
};

struct ll_cepstra {
    uint64_t window, hop, points; /* in samples; points: a power of two that holds a window */
    double *hamming;              /* [window] */
    struct band bands[BANDS];
    double cosines[LL_CEPSTRA][BANDS];
};

/* O'Shaughnessy, 1987. */
static double mel_of(double frequency_Hz)
{
    return 1127 * log1p(frequency_Hz / 700);
}

static double frequency_of(double mel)
{
    return 700 * expm1(mel / 1127);
}

/* The point of the spectrum at one of the BANDS + 2 corners, evenly spaced on the mel scale. */
static uint64_t corner(const struct ll_cepstra *c, uint64_t rate_Hz, uint64_t i)
{
    const double low = mel_of(100), high = mel_of((double)rate_Hz / 2);
    double at_Hz = frequency_of(low + (high - low) * (double)i / (BANDS + 1));
    return (uint64_t)lround(at_Hz / (double)rate_Hz * (double)c->points);
}

struct ll_cepstra *ll_cepstra_new(struct ll_arena *arena, uint64_t rate_Hz)
{
    struct ll_cepstra *c = ll_alloc(arena, 1, sizeof *c);
    if (!c)
        return NULL;
    c->window = rate_Hz / WINDOWS_A_SECOND;
    c->hop = rate_Hz / HOPS_A_SECOND;
    for (c->points = 1; c->points < c->window;)
        c->points *= 2;
    c->hamming = ll_alloc(arena, c->window, sizeof *c->hamming);
    for (uint64_t i = 0; c->hamming && i < c->window; i++)
        c->hamming[i] = 0.54 - 0.46 * cos(2 * pi * (double)i / (double)(c->window - 1));
    for (uint64_t b = 0; b < BANDS; b++)
        c->bands[b] =
            (struct band){corner(c, rate_Hz, b), corner(c, rate_Hz, b + 1), corner(c, rate_Hz, b + 2)};
    for (int k = 0; k < LL_CEPSTRA; k++)
        for (int b = 0; b < BANDS; b++)
            c->cosines[k][b] = cos(pi * (k + 1) * (b + 0.5) / BANDS);
    return c->hamming ? c : NULL;
}

uint64_t ll_cepstra_frames(const struct ll_cepstra *c, uint64_t samples)
{
    return samples < c->window ? 0 : 1 + (samples - c->window) / c->hop;
}

uint64_t ll_cepstra_samples(const struct ll_cepstra *c, uint64_t frames)
{
    return (frames - 1) * c->hop + c->window;
}

static void exchange(double *a, double *b)
{
    double was = *a;
    *a = *b;
    *b = was;
}

/* Each number goes where the reversed digits of its index say. */
static void reverse_digits(double *re, double *im, uint64_t count)
{
    for (uint64_t i = 1, j = 0; i < count; i++) {
        uint64_t bit = count / 2;
        for (; j & bit; bit /= 2)
            j ^= bit;
        j ^= bit;
        if (i < j) {
            exchange(&re[i], &re[j]);
            exchange(&im[i], &im[j]);
        }
    }
}

/* Cooley and Tukey, 1965: pairs of transforms become one of twice the length. The outer loop is the factor's,
 * so that each is computed once a length. */
void ll_fourier(double *re, double *im, uint64_t count)
{
    reverse_digits(re, im, count);
    for (uint64_t half = 1; half < count; half *= 2)
        for (uint64_t k = 0; k < half; k++) {
            double angle = -pi * (double)k / (double)half, c = cos(angle), s = sin(angle);
            for (uint64_t i = k; i < count; i += 2 * half) {
                double x = re[i + half] * c - im[i + half] * s, y = re[i + half] * s + im[i + half] * c;
                re[i + half] = re[i] - x;
                im[i + half] = im[i] - y;
                re[i] += x;
                im[i] += y;
            }
        }
}

/* Nothing is quieter than this: far below one step of 16 bits. */
static const double least_power = 1e-10;

static double log_power_of_band(const struct band *band, const double *power)
{
    double sum = 0;
    for (uint64_t p = band->first; p < band->last; p++) {
        double rise = p < band->peak ? (double)(p - band->first) / (double)(band->peak - band->first)
                                     : (double)(band->last - p) / (double)(band->last - band->peak);
        sum += rise * power[p];
    }
    return log(sum + least_power);
}

/* The 13 numbers that one window gives. */
static void hear(const struct ll_cepstra *c, const float *samples, float *out)
{
    double re[MOST_POINTS] = {0}, im[MOST_POINTS] = {0}, bands[BANDS], energy = 0;
    for (uint64_t i = 0; i < c->window; i++) {
        energy += (double)samples[i] * (double)samples[i];
        re[i] = (double)samples[i] * c->hamming[i];
    }
    ll_fourier(re, im, c->points);
    for (uint64_t p = 0; p <= c->points / 2; p++)
        re[p] = re[p] * re[p] + im[p] * im[p];
    for (int b = 0; b < BANDS; b++)
        bands[b] = log_power_of_band(&c->bands[b], re);
    for (int k = 0; k < LL_CEPSTRA; k++) {
        double sum = 0;
        for (int b = 0; b < BANDS; b++)
            sum += c->cosines[k][b] * bands[b];
        out[k] = (float)sum;
    }
    out[LL_CEPSTRA] = (float)log(energy + least_power);
}

/* Least squares over frames t - 2 .. t + 2; the first and last frame go on for ever. */
static void add_slopes(float *features, uint64_t frames)
{
    for (uint64_t t = 0; t < frames; t++)
        for (uint64_t i = 0; i < STATIC; i++) {
            float slope = 0;
            for (uint64_t k = 1; k <= 2; k++) {
                uint64_t before = t < k ? 0 : t - k, after = t + k < frames ? t + k : frames - 1;
                slope += (float)k * (features[after * LL_FEATURES + i] - features[before * LL_FEATURES + i]);
            }
            features[t * LL_FEATURES + STATIC + i] = slope / 10;
        }
}

static void standardise(float *features, uint64_t frames)
{
    for (uint64_t i = 0; i < LL_FEATURES; i++) {
        double sum = 0, squares = 0;
        for (uint64_t t = 0; t < frames; t++)
            sum += (double)features[t * LL_FEATURES + i];
        double mean = sum / (double)frames;
        for (uint64_t t = 0; t < frames; t++)
            squares += pow((double)features[t * LL_FEATURES + i] - mean, 2);
        double deviation = sqrt(squares / (double)frames), scale = deviation > 1e-6 ? 1 / deviation : 0;
        for (uint64_t t = 0; t < frames; t++) {
            float *x = &features[t * LL_FEATURES + i];
            *x = (float)(((double)*x - mean) * scale);
        }
    }
}

void ll_cepstra_of(const struct ll_cepstra *c, const float *samples, uint64_t count, float *features)
{
    uint64_t frames = ll_cepstra_frames(c, count);
    for (uint64_t t = 0; t < frames; t++)
        hear(c, samples + t * c->hop, features + t * LL_FEATURES);
    add_slopes(features, frames);
    standardise(features, frames);
}
