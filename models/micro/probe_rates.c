/* SPDX-License-Identifier: Apache-2.0 */
/* Arithmetic in registers, and large products. Eight vectors of numbers grow side by side, so that none waits
 * for the one before it; multiplication and addition round apart, as in the kernels. */
#include "models/micro/probe.h"

#include "models/micro/repeat.h"
#include "models/nn/blas.h"
#include "models/nn/kernel.h"

enum { ADDITIONS = 1 << 20, ROUNDS = 1 << 15, VECTORS = 8, VECTOR_BYTES = 64, SIDE = 640 };

static void count_up(void *context)
{
    uint64_t *sum = context, x = *sum;
    for (uint64_t i = 0; i < ADDITIONS; i++) {
        x += i;
        __asm__ volatile("" : "+r"(x)); /* nobody may add several at once */
    }
    *sum = x;
}

struct ll_figure ll_probe_clock(void)
{
    uint64_t sum = 1;
    return ll_rate_of(count_up, &sum, ADDITIONS);
}

/* One piece of work for each thread. */
struct arithmetic {
    struct ll_pool *pool;
    ll_pool_body *body;
    double result; /* so that nothing is left out */
    uint64_t element_bytes;
    char *matrices; /* three for each thread, the first for what is written */
};

#define GROWING(type, name)                                                                                  \
    typedef type name##_vector __attribute__((vector_size(VECTOR_BYTES)));                                   \
    LL_FAST static void name(void *context, uint64_t begin, uint64_t end, uint64_t chunk)                    \
    {                                                                                                        \
        (void)begin, (void)end, (void)chunk;                                                                 \
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
        ((struct arithmetic *)context)->result = (double)x[0];                                               \
    }
GROWING(float, grow_f32)
GROWING(double, grow_f64)

static void run_arithmetic(void *context)
{
    struct arithmetic *a = context;
    ll_pool_run(a->pool, ll_pool_threads(a->pool), 1, a->body, a);
}

static struct ll_figure vector_rate(struct ll_pool *pool, ll_pool_body *body, uint64_t element_bytes)
{
    struct arithmetic a = {.pool = pool, .body = body};
    double each = 2.0 * ROUNDS * VECTORS * (VECTOR_BYTES / (double)element_bytes);
    return ll_rate_of(run_arithmetic, &a, each * ll_pool_threads(pool));
}

struct ll_figure ll_probe_vector_f32(struct ll_pool *pool)
{
    return vector_rate(pool, grow_f32, sizeof(float));
}

struct ll_figure ll_probe_vector_f64(struct ll_pool *pool)
{
    return vector_rate(pool, grow_f64, sizeof(double));
}

static void multiply(void *context, uint64_t begin, uint64_t end, uint64_t chunk)
{
    const struct arithmetic *a = context;
    uint64_t matrix = SIDE * SIDE * a->element_bytes;
    char *c = a->matrices + begin * 3 * matrix;
    struct ll_product product = {.m = SIDE,
                                 .n = SIDE,
                                 .k = SIDE,
                                 .a = c + matrix,
                                 .b = c + 2 * matrix,
                                 .c = c,
                                 .lda = SIDE,
                                 .ldb = SIDE,
                                 .ldc = SIDE};
    (void)end, (void)chunk;
    (a->element_bytes == sizeof(float) ? ll_blas_gemm_f32 : ll_blas_gemm_f64)(&product);
}

static struct ll_figure product_rate(struct ll_pool *pool, uint64_t element_bytes)
{
    unsigned threads = ll_pool_threads(pool);
    struct arithmetic a = {.pool = pool, .body = multiply, .element_bytes = element_bytes};
    uint64_t bytes = 3 * SIDE * SIDE * element_bytes * threads;
    a.matrices = ll_probe_memory(bytes);
    if (!a.matrices)
        return (struct ll_figure){0, 0};
    struct ll_figure rate = ll_rate_of(run_arithmetic, &a, 2.0 * SIDE * SIDE * SIDE * threads);
    ll_probe_release(a.matrices, bytes);
    return rate;
}

struct ll_figure ll_probe_product_f32(struct ll_pool *pool)
{
    return product_rate(pool, sizeof(float));
}

struct ll_figure ll_probe_product_f64(struct ll_pool *pool)
{
    return product_rate(pool, sizeof(double));
}
