/* SPDX-License-Identifier: Apache-2.0 */
/* Arithmetic that several kernel files share: exponentials and logarithms, maxima, random streams.
 *
 * Exponentials and logarithms are written without calls and branches, so that a loop of them becomes vector
 * code. For float within 2 units in the last place of the exact value; for double, which only checks
 * gradients, those of the C library. Same bits on every CPU. For kernel files only. */
#ifndef LL_MODELS_NN_ELEMENTARY_H
#define LL_MODELS_NN_ELEMENTARY_H

#include <math.h>
#include <string.h>

#include "models/nn/kernel.h"
#include "tracer/base/random.h"

#ifdef LL_DOUBLE

/* As below, by the C library: exp, tanh, log of a normal number, log, log1p. */
static LL_INLINE real ll_exp(real x)
{
    return exp(x);
}
static LL_INLINE real ll_tanh(real x)
{
    return tanh(x);
}
static LL_INLINE real ll_log_of_normal(real x)
{
    return log(x);
}
static LL_INLINE real ll_log(real x)
{
    return log(x);
}
static LL_INLINE real ll_log1p(real x)
{
    return log1p(x);
}

#else

/* 2^n for n from -126 to 127. */
static LL_INLINE float power_of_two(float n)
{
    int32_t bits = ((int32_t)n + 127) << 23;
    float power;
    memcpy(&power, &bits, sizeof power);
    return power;
}

/* x = n log 2 + r with |r| at most half of log 2; e^r by a polynomial of degree 6 (Cephes, expf), 2^n by its
 * exponent, in two factors where one would not do. Below what a float can hold is 0, above it infinity. */
static LL_INLINE real ll_exp(real x)
{
    const float rounder = 12582912.0f; /* 1.5 * 2^23: adding it leaves no digits behind the point */
    float clamped = x < -104.0f ? -104.0f : x > 89.0f ? 89.0f : x != x ? 0.0f : x;
    float n = (clamped * 1.44269504088896341f + rounder) - rounder;
    float r = (clamped - n * 0.693359375f) - n * -2.12194440e-4f;
    float p = 1.9875691500e-4f;
    p = p * r + 1.3981999507e-3f;
    p = p * r + 8.3334519073e-3f;
    p = p * r + 4.1665795894e-2f;
    p = p * r + 1.6666665459e-1f;
    p = p * r + 5.0000001201e-1f;
    p = p * (r * r) + r + 1.0f;
    float half = (n * 0.5f + rounder) - rounder;
    float result = p * power_of_two(half) * power_of_two(n - half);
    return x != x ? x : result;
}

/* Near zero an odd polynomial (Cephes, tanhf), elsewhere 1 - 2 / (e^2x + 1). */
static LL_INLINE real ll_tanh(real x)
{
    float z = x * x;
    float p = -5.70498872745e-3f;
    p = p * z + 2.06390887954e-2f;
    p = p * z - 5.37397155531e-2f;
    p = p * z + 1.33314422036e-1f;
    p = p * z - 3.33332819422e-1f;
    float near = p * z * x + x;
    float size = x < 0 ? -x : x;
    float far = 1.0f - 2.0f / (ll_exp(2.0f * size) + 1.0f);
    return size < 0.625f ? near : x < 0 ? -far : far;
}

/* Of positive normal numbers: x = m 2^n with m around 1, log m by a polynomial (Cephes, logf). */
static LL_INLINE float ll_log_of_normal(float x)
{
    const uint32_t below_one = 0x3f3504f3; /* the bits of the root of 1/2 */
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    int32_t n = (int32_t)(bits - below_one) >> 23;
    bits -= (uint32_t)n << 23;
    memcpy(&x, &bits, sizeof x);
    x -= 1;
    float z = x * x, whole = (float)n, p = 7.0376836292e-2f;
    p = p * x - 1.1514610310e-1f;
    p = p * x + 1.1676998740e-1f;
    p = p * x - 1.2420140846e-1f;
    p = p * x + 1.4249322787e-1f;
    p = p * x - 1.6668057665e-1f;
    p = p * x + 2.0000714765e-1f;
    p = p * x - 2.4999993993e-1f;
    p = p * x + 3.3333331174e-1f;
    return x + (p * z * x - 2.12194440e-4f * whole - 0.5f * z) + 0.693359375f * whole;
}

/* Numbers below the normal ones are lifted by 2^24 first. */
static LL_INLINE real ll_log(real x)
{
    const float least_normal = 0x1p-126f, log_of_lift = 16.635532333438687f;
    float lifted = x < least_normal ? x * 0x1p24f : x;
    float normal = lifted >= least_normal && lifted < INFINITY ? lifted : 1.0f;
    float result = ll_log_of_normal(normal) - (x < least_normal ? log_of_lift : 0.0f);
    float outside = x == 0 ? -INFINITY : x < 0 ? NAN : x;
    return x > 0 && x < INFINITY ? result : outside;
}

/* log(1 + x) of x from 0 to 1. What is rounded away of 1 + x is put back by the slope around there. */
static LL_INLINE real ll_log1p(real x)
{
    float sum = 1 + x, kept = sum - 1;
    return ll_log_of_normal(sum) + (x - kept) / sum;
}

#endif

/* The density of the normal distribution, and the chance of a number below x. Of floats the latter is right
 * to 3e-7, by Abramowitz and Stegun's 7.1.26; what is far below zero is not a difference from one. */
static LL_INLINE real ll_normal_density(real x)
{
    return (real)0.39894228040143268 * ll_exp(-x * x / 2);
}

/* The share of a standard normal distribution below x: erfc(-x / sqrt(2)) / 2. */
static LL_INLINE real ll_normal_below(real x)
{
#ifdef LL_DOUBLE
    return erfc(-x * 0.70710678118654752) / 2;
#else
    float size = (x < 0 ? -x : x) * 0.70710678f, t = 1 / (1 + 0.3275911f * size);
    float p = 1.061405429f;
    p = p * t - 1.453152027f;
    p = p * t + 1.421413741f;
    p = p * t - 0.284496736f;
    p = p * t + 0.254829592f;
    float tail = p * t * ll_exp(-size * size) / 2;
    return x < 0 ? tail : 1 - tail;
#endif
}

/* The logistic function. */
static LL_INLINE real ll_sigmoid(real x)
{
    return 1 / (1 + ll_exp(-x));
}

/* Maxima as vector code. A comparison that fails keeps what there was: what is no number is passed over,
 * except in the first place. For kernel files only. */

/* Raises each element of `most` to that of x. */
static LL_INLINE void ll_take_largest(const real *restrict x, real *restrict most, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++)
        most[i] = x[i] > most[i] ? x[i] : most[i];
}

/* The largest of at least one number. Lanes that do not wait for each other share the work. */
static LL_INLINE real ll_largest(const real *x, uint64_t count)
{
    enum { LANES = 32 };
    real lane[LANES], most = x[0];
    uint64_t i = 0;
    for (int k = 0; k < LANES; k++)
        lane[k] = most;
    for (; i + LANES <= count; i += LANES)
        ll_take_largest(x + i, lane, LANES);
    for (; i < count; i++)
        most = x[i] > most ? x[i] : most;
    for (int k = 0; k < LANES; k++)
        most = lane[k] > most ? lane[k] : most;
    return most;
}

/* What kernels of random ops share. */

/* The stream of an op in this step. */
static inline uint64_t ll_drawing_key(const struct ll_op_view *op, const real *step)
{
    uint64_t seed = (uint64_t)ll_attr_count(op, LL_ATTR_SEED, 0);
    uint64_t stream = (uint64_t)ll_attr_count(op, LL_ATTR_STREAM, 0);
    return ll_random_key(ll_random_key(seed, stream), (uint64_t)(int64_t)*step);
}

#endif
