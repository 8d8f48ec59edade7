/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers of few bits, and the scales that neighbours share (tracer/ir/tensor.h).
 *
 *     scale s of a block   max |x| / most, rounded to the scale's format; of E8M0 a power of two,
 *                          2^(floor(log2 max |x|) - floor(log2 most)) (OCP Microscaling, 2023, section 6.3)
 *     code of x            the nearest of the type to x / s, of two the even one; beyond `most` that
 *
 * where `most` is the largest number of the type: 448 of f8 (E4M3), 6 of f4 (E2M1), 127 and 7 of integers. In
 * memory the codes come first, two of 4 bits a byte with the first one in its low half, then the scales. */
#include <assert.h>
#include <math.h>
#include <string.h>

#include "models/nn/kernel.h"

/* A floating-point format without infinities: bits of the mantissa, bias of the exponent, largest code. */
struct format {
    int mantissa, bias;
    unsigned last;
};
static const struct format e4m3 = {3, 7, 0x7E}, e2m1 = {1, 1, 7}, half = {10, 15, 0x7BFF};

static double decoded(const struct format *f, unsigned code)
{
    const unsigned fraction = code & ((1u << f->mantissa) - 1), exponent = code >> f->mantissa;
    return exponent == 0
               ? ldexp(fraction, 1 - f->bias - f->mantissa)
               : ldexp(fraction + (double)(1u << f->mantissa), (int)exponent - f->bias - f->mantissa);
}

/* The code of the nearest number to x >= 0. Past the mantissa's end the next exponent begins. */
static unsigned encoded(const struct format *f, double x)
{
    if (!(x < decoded(f, f->last)))
        return f->last;
    const int least = 1 - f->bias, own = x > 0 ? ilogb(x) : least, exponent = own > least ? own : least;
    const double steps = nearbyint(ldexp(x, f->mantissa - exponent));
    const unsigned code = ((unsigned)(exponent - least) << f->mantissa) + (unsigned)steps;
    return code < f->last ? code : f->last;
}

/* How the elements of a tensor are stored, and where. */
struct stored {
    enum ll_dtype dtype;
    enum ll_scales scales;
    uint64_t elements, block; /* elements that share a scale; without one, that are worked on at a time */
    uint64_t scale_bytes, scales_at;
};

static struct stored stored_as(const struct ll_shape *shape)
{
    enum { GRAIN = 1 << 12 };
    static const struct {
        uint64_t elements, bytes;
    } shared[LL_SCALES_COUNT] = {
#define X(word, elements, bytes) {elements, bytes},
        LL_SCALES_LIST(X)
#undef X
    };
    const enum ll_dtype dtype = (enum ll_dtype)shape->dtype;
    assert(dtype == LL_F8 || dtype == LL_F4 || dtype == LL_INT8 || dtype == LL_INT4);
    struct stored s = {dtype, (enum ll_scales)shape->scales, ll_elements(shape), GRAIN, 0, 0};
    if (s.scales != LL_SCALES_NONE)
        s.block = shared[s.scales].elements;
    s.scale_bytes = shared[s.scales].bytes;
    s.scales_at = ll_dtype_size(dtype, s.elements);
    return s;
}

static bool is_narrow(const struct stored *s)
{
    return s->dtype == LL_F4 || s->dtype == LL_INT4;
}

static double most_of(const struct stored *s)
{
    return s->dtype == LL_F8 ? 448 : s->dtype == LL_F4 ? 6 : s->dtype == LL_INT8 ? 127 : 7;
}

static uint8_t code_of(const struct stored *s, double x)
{
    const double most = most_of(s), near = nearbyint(fmin(fmax(x, -most), most));
    if (s->dtype == LL_INT8)
        return (uint8_t)(int8_t)near;
    if (s->dtype == LL_INT4)
        return (uint8_t)((int8_t)near & 0xF);
    if (isnan(x) && s->dtype == LL_F8)
        return 0x7F;
    return (uint8_t)(encoded(s->dtype == LL_F8 ? &e4m3 : &e2m1, fabs(x)) |
                     (signbit(x) ? (s->dtype == LL_F8 ? 0x80u : 8u) : 0));
}

static double number_of(const struct stored *s, uint8_t code)
{
    if (s->dtype == LL_INT8)
        return (int8_t)code;
    if (s->dtype == LL_INT4)
        return code & 8 ? (double)code - 16 : code;
    const unsigned sign = s->dtype == LL_F8 ? 0x80 : 8, magnitude = code & (sign - 1);
    const double x =
        s->dtype == LL_F8 && magnitude == 0x7F ? NAN : decoded(s->dtype == LL_F8 ? &e4m3 : &e2m1, magnitude);
    return code & sign ? -x : x;
}

/* Stores the scale of a block whose largest magnitude this is; the scale as it is stored, at least the least
 * that is. */
static double put_scale(const struct stored *s, double largest, uint8_t *at)
{
    const double wanted = largest / most_of(s);
    if (s->scales == LL_SCALES_NONE || !(largest > 0) || !isfinite(largest)) {
        static const uint8_t one[] = {[LL_SCALES_E8M0] = 127, [LL_SCALES_E4M3] = 0x38};
        const uint16_t half_one = 0x3C00;
        const float whole = 1;
        if (s->scales == LL_SCALES_E8M0 || s->scales == LL_SCALES_E4M3)
            *at = one[s->scales];
        else if (s->scales == LL_SCALES_F16)
            memcpy(at, &half_one, sizeof half_one);
        else if (s->scales != LL_SCALES_NONE)
            memcpy(at, &whole, sizeof whole);
        return 1;
    }
    if (s->scales == LL_SCALES_E8M0) {
        const int power = ilogb(largest) - ilogb(most_of(s));
        *at = (uint8_t)(power < -127 ? 0 : power > 127 ? 254 : power + 127);
        return ldexp(1, *at - 127);
    }
    if (s->scales == LL_SCALES_E4M3) {
        const unsigned code = encoded(&e4m3, wanted);
        *at = (uint8_t)(code > 0 ? code : 1);
        return decoded(&e4m3, *at);
    }
    if (s->scales == LL_SCALES_F16) {
        const unsigned code = encoded(&half, wanted);
        const uint16_t stored = (uint16_t)(code > 0 ? code : 1);
        memcpy(at, &stored, sizeof stored);
        return decoded(&half, stored);
    }
    const float single = (float)wanted;
    memcpy(at, &single, sizeof single);
    return single > 0 ? (double)single : 1;
}

static double scale_at(const struct stored *s, const uint8_t *at)
{
    uint16_t code;
    float single;
    switch (s->scales) {
    case LL_SCALES_NONE:
        return 1;
    case LL_SCALES_E8M0:
        return ldexp(1, *at - 127);
    case LL_SCALES_E4M3:
        return decoded(&e4m3, *at & 0x7Fu);
    case LL_SCALES_F16:
        memcpy(&code, at, sizeof code);
        return decoded(&half, code & 0x7FFFu);
    default:
        memcpy(&single, at, sizeof single);
        return single > 0 ? (double)single : 1;
    }
}

struct job {
    struct stored s;
    const void *from;
    void *to;
};

/* Chunk: blocks. */
static void quantize(void *context, uint64_t begin, uint64_t end, uint64_t chunk)
{
    (void)chunk;
    const struct job *job = context;
    const struct stored *s = &job->s;
    const real *x = job->from;
    uint8_t *codes = job->to;
    for (uint64_t block = begin; block < end; block++) {
        const uint64_t first = block * s->block, last = ll_min(first + s->block, s->elements);
        double largest = 0;
        for (uint64_t i = first; i < last; i++)
            largest = fmax(largest, fabs((double)x[i]));
        const double scale = put_scale(s, largest, codes + s->scales_at + block * s->scale_bytes);
        for (uint64_t i = first; i < last; i++) {
            const uint8_t code = code_of(s, (double)x[i] / scale);
            if (!is_narrow(s))
                codes[i] = code;
            else if (i % 2 == 0)
                codes[i / 2] = code;
            else
                codes[i / 2] = (uint8_t)(codes[i / 2] | code << 4);
        }
    }
}

/* Chunk: blocks. */
static void dequantize(void *context, uint64_t begin, uint64_t end, uint64_t chunk)
{
    (void)chunk;
    const struct job *job = context;
    const struct stored *s = &job->s;
    const uint8_t *codes = job->from;
    real *x = job->to;
    for (uint64_t block = begin; block < end; block++) {
        const uint64_t first = block * s->block, last = ll_min(first + s->block, s->elements);
        const double scale = scale_at(s, codes + s->scales_at + block * s->scale_bytes);
        for (uint64_t i = first; i < last; i++) {
            const uint8_t code = !is_narrow(s) ? codes[i] : codes[i / 2] >> 4 * (i % 2) & 0xF;
            x[i] = (real)(number_of(s, code) * scale);
        }
    }
}

static void over_blocks(const struct ll_kernel_call *call, const struct ll_shape *narrow, ll_pool_body *body)
{
    struct job job = {stored_as(narrow), call->in[0], call->out[0]};
    const uint64_t grain = ll_max(1, (1 << 12) / job.s.block);
    ll_pool_run(call->pool, ll_ceil_div(job.s.elements, job.s.block), grain, body, &job);
}

LL_KERNEL(QUANTIZE)
{
    over_blocks(call, &call->op->out[0], quantize);
}

LL_KERNEL(DEQUANTIZE)
{
    over_blocks(call, &call->op->in[0], dequantize);
}
