/* SPDX-License-Identifier: Apache-2.0 */
/* Real kernels for cachegrind.sh to watch: C = A B in doubles, in blocks that divide its sizes, one function
 * for each row of products.def. The operands lie in one piece of memory as sim/memory/streams.h lays them,
 * each at a multiple of 4096, and the piece itself at a multiple of anything that picks a set. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct product {
    size_t m, n, k, block_m, block_n, block_k;
};

/* One block into c; `first` begins its sums. */
static inline __attribute__((always_inline)) void block(const struct product *is, const double *restrict a,
                                                        const double *restrict b, double *restrict c,
                                                        int first)
{
    for (size_t i = 0; i < is->block_m; i++)
        for (size_t j = 0; j < is->block_n; j++) {
            double sum = first ? 0 : c[i * is->n + j];
            for (size_t p = 0; p < is->block_k; p++)
                sum += a[i * is->k + p] * b[p * is->n + j];
            c[i * is->n + j] = sum;
        }
}

/* A block's function has so few variables that registers hold them all. */
#define PRODUCT(name, d1, d1_ways, ll, ll_ways, line, ...)                                                   \
    __attribute__((noinline)) static void block_##name(const double *a, const double *b, double *c,          \
                                                       int first)                                            \
    {                                                                                                        \
        block(&(const struct product){__VA_ARGS__}, a, b, c, first);                                         \
    }
#include "products.def"
#undef PRODUCT

static const struct {
    const char *name;
    void (*block)(const double *a, const double *b, double *c, int first);
    struct product is;
} products[] = {
#define PRODUCT(name, d1, d1_ways, ll, ll_ways, line, ...) {#name, block_##name, {__VA_ARGS__}},
#include "products.def"
#undef PRODUCT
};

__attribute__((noinline)) static void multiply(size_t p, const double *a, const double *b, double *c)
{
    const struct product *is = &products[p].is;
    for (size_t i = 0; i < is->m; i += is->block_m)
        for (size_t j = 0; j < is->n; j += is->block_n)
            for (size_t k = 0; k < is->k; k += is->block_k)
                products[p].block(a + i * is->k + k, b + k * is->n + j, c + i * is->n + j, k == 0);
}

static size_t pages(size_t elements)
{
    return (elements * sizeof(double) + 4095) / 4096 * 4096;
}

/* The memory behind the operands is touched last before the product: the caches know nothing of them. */
static int run(size_t p)
{
    const struct product *is = &products[p].is;
    size_t a = pages(is->m * is->k), b = pages(is->k * is->n), c = pages(is->m * is->n), far = 1 << 24;
    char *memory = a + b + c < far / 2 ? aligned_alloc(far, far) : NULL;
    if (!memory)
        return 1;
    memset(memory, 0, far);
    multiply(p, (double *)memory, (double *)(memory + a), (double *)(memory + a + b));
    free(memory);
    return 0;
}

int main(int count, char **words)
{
    for (size_t p = 0; count == 2 && p < sizeof products / sizeof products[0]; p++)
        if (strcmp(words[1], products[p].name) == 0)
            return run(p);
    return 2;
}
