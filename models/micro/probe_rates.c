/* SPDX-License-Identifier: Apache-2.0 */
/* Arithmetic in registers, and large products. Vectors of numbers grow side by side, so that none waits
 * for the one before it; multiplication and addition round apart, as in the kernels. */
#include "models/micro/probe.h"

#include "models/micro/repeat.h"
#include "models/nn/blas.h"
#include "models/nn/kernel.h"

#include <string.h>

enum { ADDITIONS = 1 << 20, ROUNDS = 1 << 15, SIDE = 640 };
/* Vectors of 16, 32 and 64 bytes. Twelve, since Zen begins two multiplications and two additions a cycle that
 * take three each; as many fit into sixteen registers. */
enum { VECTORS = 12, WIDTHS = 3, LEAST_VECTOR_BYTES = 16 };

LL_INLINE uint64_t added(uint64_t x, uint64_t i)
{
    x += i;
    __asm__ volatile("" : "+r"(x)); /* nobody may add several at once */
    return x;
}

/* Eight at a time: a loop of one, where it lies across a line or page of code, takes two cycles. */
static void count_up(void *context)
{
    uint64_t *sum = context, x = *sum;
    for (uint64_t i = 0; i < ADDITIONS; i += 8)
        x = added(added(added(added(added(added(added(added(x, i), i), i), i), i), i), i), i);
    *sum = x;
}

struct ll_figure ll_probe_clock(void)
{
    uint64_t sum = 1;
    return ll_rate_of(NULL, count_up, &sum, ADDITIONS);
}

#define GROWING(type, bytes)                                                                                 \
    typedef type type##bytes __attribute__((vector_size(bytes)));                                            \
    LL_FAST static void grow_##type##bytes(void *context)                                                    \
    {                                                                                                        \
        type *seeds = context;                                                                               \
        const type##bytes zero = {0}, factor = zero + (type)0.999, more = zero + (type)0.001;                \
        type##bytes vectors[VECTORS], sum = zero;                                                            \
        for (int i = 0; i < VECTORS; i++)                                                                    \
            vectors[i] = zero + seeds[i];                                                                    \
        for (uint64_t round = 0; round < ROUNDS; round++)                                                    \
            for (int i = 0; i < VECTORS; i++)                                                                \
                vectors[i] = vectors[i] * factor + more;                                                     \
        for (int i = 0; i < VECTORS; i++)                                                                    \
            sum += vectors[i];                                                                               \
        seeds[0] = sum[0]; /* so that nothing is left out */                                                 \
    }
GROWING(float, 16)
GROWING(float, 32)
GROWING(float, 64)
GROWING(double, 16)
GROWING(double, 32)
GROWING(double, 64)

/* The fastest: vectors wider than registers do not stay in them. */
static struct ll_figure fastest(void (*const grow[WIDTHS])(void *seeds), void *seeds, uint64_t element_bytes)
{
    struct ll_figure best = {0};
    for (uint64_t i = 0; i < WIDTHS; i++) {
        uint64_t elements = VECTORS * (LEAST_VECTOR_BYTES << i) / element_bytes;
        struct ll_figure figure = ll_rate_of(NULL, grow[i], seeds, 2.0 * ROUNDS * (double)elements);
        best = figure.value > best.value ? figure : best;
    }
    return best;
}

/* No two alike, so that no two vectors are computed as one. */
static const float seeds[VECTORS] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};

struct ll_figure ll_probe_vector_f32(void)
{
    static void (*const grow[WIDTHS])(void *seeds) = {grow_float16, grow_float32, grow_float64};
    float from[VECTORS];
    memcpy(from, seeds, sizeof from);
    return fastest(grow, from, sizeof *from);
}

struct ll_figure ll_probe_vector_f64(void)
{
    static void (*const grow[WIDTHS])(void *seeds) = {grow_double16, grow_double32, grow_double64};
    double from[VECTORS];
    for (size_t i = 0; i < VECTORS; i++)
        from[i] = seeds[i];
    return fastest(grow, from, sizeof *from);
}

static void multiply_f32(void *product)
{
    ll_blas_gemm_f32(product);
}

static void multiply_f64(void *product)
{
    ll_blas_gemm_f64(product);
}

static struct ll_figure product_rate(void (*multiply)(void *product), uint64_t element_bytes)
{
    uint64_t matrix = SIDE * SIDE * element_bytes;
    char *c = ll_probe_memory(3 * matrix);
    struct ll_blas_product product = {.m = SIDE,
                                      .n = SIDE,
                                      .k = SIDE,
                                      .a = c + matrix,
                                      .b = c + 2 * matrix,
                                      .c = c,
                                      .lda = SIDE,
                                      .ldb = SIDE,
                                      .ldc = SIDE};
    if (!c)
        return (struct ll_figure){0};
    struct ll_figure rate = ll_rate_of(NULL, multiply, &product, 2.0 * SIDE * SIDE * SIDE);
    ll_probe_release(c, 3 * matrix);
    return rate;
}

struct ll_figure ll_probe_product_f32(void)
{
    return product_rate(multiply_f32, sizeof(float));
}

struct ll_figure ll_probe_product_f64(void)
{
    return product_rate(multiply_f64, sizeof(double));
}
