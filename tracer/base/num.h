/* SPDX-License-Identifier: Apache-2.0 */
/* Sizes and counts that cannot silently wrap.
 *
 * Every product of dimensions goes through these. A result that does not fit in 64 bits becomes
 * LL_NO_FIT and stays so through all further arithmetic, hence one ll_fits at the end of a formula
 * is enough. All functions are pure. */
#ifndef LL_BASE_NUM_H
#define LL_BASE_NUM_H

#include <stdbool.h>
#include <stdint.h>

#define LL_NO_FIT UINT64_MAX

/* Whether a formula's result is a number. */
static inline bool ll_fits(uint64_t value)
{
    return value != LL_NO_FIT;
}

/* LL_NO_FIT when either is, or when the sum does not fit. */
static inline uint64_t ll_add(uint64_t a, uint64_t b)
{
    uint64_t sum;
    if (!ll_fits(a) || !ll_fits(b) || __builtin_add_overflow(a, b, &sum))
        return LL_NO_FIT;
    return sum;
}

/* Zero times anything that fits is zero; zero times LL_NO_FIT stays LL_NO_FIT. */
static inline uint64_t ll_mul(uint64_t a, uint64_t b)
{
    uint64_t product;
    if (!ll_fits(a) || !ll_fits(b) || __builtin_mul_overflow(a, b, &product))
        return LL_NO_FIT;
    return product;
}

/* LL_NO_FIT when b is larger than a: a difference of sizes is never negative. */
static inline uint64_t ll_sub(uint64_t a, uint64_t b)
{
    return ll_fits(a) && ll_fits(b) && a >= b ? a - b : LL_NO_FIT;
}

/* The number of pieces of size b that cover a. b is not zero. */
static inline uint64_t ll_ceil_div(uint64_t a, uint64_t b)
{
    return ll_fits(a) && ll_fits(b) ? a / b + (a % b != 0) : LL_NO_FIT;
}

/* The greatest number that divides both; the other one where one is zero. */
static inline uint64_t ll_common_divisor(uint64_t a, uint64_t b)
{
    while (b) {
        uint64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* How far a window of so many taps, at least 1, reaches that lie `apart` (1: side by side). */
static inline uint64_t ll_window_reach(uint64_t taps, uint64_t apart)
{
    return ll_add(ll_mul(taps - 1, apart), 1);
}

/* 1, 2, 4, ...; LL_NO_FIT is none. */
static inline bool ll_is_power_of_two(uint64_t value)
{
    return value != 0 && (value & (value - 1)) == 0;
}

/* LL_NO_FIT counts as larger than any number. */
static inline uint64_t ll_min(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* LL_NO_FIT when either is. */
static inline uint64_t ll_max(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

#endif
