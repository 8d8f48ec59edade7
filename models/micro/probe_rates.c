/* SPDX-License-Identifier: Apache-2.0 */
/* Arithmetic in registers, and large products. Eight vectors of numbers grow side by side, so that none waits
 * for the one before it; multiplication and addition round apart, as in the kernels. */
#include "models/micro/probe.h"

#include "models/micro/repeat.h"
#include "models/nn/blas.h"
#include "models/nn/kernel.h"

enum { ADDITIONS = 1 << 20, ROUNDS = 1 << 15, VECTORS = 8, VECTOR_BYTES = 64, SIDE = 640 };

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

#define GROWING(type, name)                                                                                  \
    typedef type name##_vector __attribute__((vector_size(VECTOR_BYTES)));                                   \
    LL_FAST static void name(void *context)                                                                  \
    {                                                                                                        \
        name##_vector x = {0}, v0 = x, v1 = x, v2 = x, v3 = x, v4 = x, v5 = x, v6 = x, v7 = x;               \
        name##_vector factor = x + (type)0.999, more = x + (type)0.001;                                      \
        for (uint64_t i = 0; i < ROUNDS; i++) {                                                              \
            v0 = v0 * factor + more;                                                                         \
            v1 = v1 * factor + more;                                                                         \
            v2 = v2 * factor + more;                                                                         \
            v3 = v3 * factor + more;                                                                         \
            v4 = v4 * factor + more;                                                                         \
            v5 = v5 * factor + more;                                                                         \
            v6 = v6 * factor + more;                                                                         \
            v7 = v7 * factor + more;                                                                         \
        }                                                                                                    \
        x = v0 + v1 + v2 + v3 + v4 + v5 + v6 + v7;                                                           \
        *(double *)context = (double)x[0]; /* so that nothing is left out */                                 \
    }
GROWING(float, grow_f32)
GROWING(double, grow_f64)

static struct ll_figure vector_rate(void (*grow)(void *context), uint64_t element_bytes)
{
    double result;
    return ll_rate_of(NULL, grow, &result, 2.0 * ROUNDS * VECTORS * (VECTOR_BYTES / (double)element_bytes));
}

struct ll_figure ll_probe_vector_f32(void)
{
    return vector_rate(grow_f32, sizeof(float));
}

struct ll_figure ll_probe_vector_f64(void)
{
    return vector_rate(grow_f64, sizeof(double));
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
        return (struct ll_figure){0, 0};
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
