/* SPDX-License-Identifier: Apache-2.0 */
/* The library is opened at run time, not linked, because OPENBLAS_CORETYPE is read when it is loaded. */
#define _GNU_SOURCE
#include "models/nn/blas.h"

#include <assert.h>
#include <cblas.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static struct {
    enum ll_status status;
    __typeof__(cblas_sgemm) *sgemm;
    __typeof__(cblas_dgemm) *dgemm;
    __typeof__(openblas_set_num_threads) *set_threads;
    __typeof__(openblas_get_num_threads) *get_threads;
    __typeof__(openblas_get_corename) *core;
    __typeof__(openblas_get_config) *config;
} blas;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static bool has_avx512(void)
{
#if defined(__x86_64__)
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512cd") &&
           __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512vl");
#else
    return false;
#endif
}

/* The address of a function as C wants it; POSIX promises that it fits. */
static bool find(void *library, const char *name, void *function)
{
    void *address = dlsym(library, name);
    *(void **)function = address;
    return address != NULL;
}

static const char best_core[] = "SkylakeX"; /* of OpenBLAS 0.3.21, for a CPU that has_avx512 */
enum { SMALL = 100 * 100 * 100 };           /* its products of no more multiply-adds are not copied first */

static void open_library(void)
{
    if (has_avx512())
        setenv("OPENBLAS_CORETYPE", best_core, 0);
    /* It starts with one thread: those of our pool compute. Where it cannot start the others, it waits for them at
     * the end. */
    setenv("OPENBLAS_NUM_THREADS", "1", 0);
    blas.status = LL_NO_LIBRARY;
    void *library = dlopen("libopenblas.so.0", RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        /* Without memory: "... Cannot allocate memory", "out of memory", "cannot create ...", or nothing at all. */
        const char *why = dlerror();
        if (!why || strstr(why, "memory") || strstr(why, "cannot create"))
            blas.status = LL_NO_MEMORY;
        return;
    }
    if (!find(library, "cblas_sgemm", &blas.sgemm) || !find(library, "cblas_dgemm", &blas.dgemm) ||
        !find(library, "openblas_set_num_threads", &blas.set_threads) ||
        !find(library, "openblas_get_num_threads", &blas.get_threads) ||
        !find(library, "openblas_get_corename", &blas.core) ||
        !find(library, "openblas_get_config", &blas.config))
        return;
    blas.set_threads(1);
    blas.status = LL_OK;
}

enum ll_status ll_blas_open(void)
{
    pthread_once(&once, open_library);
    return blas.status;
}

struct ll_blas_facts ll_blas_facts(void)
{
    assert(blas.status == LL_OK && blas.core);
    static const char *const lesser[] = {"Haswell", "Zen", "Sandybridge", "Nehalem", "Prescott", "Core2"};
    struct ll_blas_facts facts = {blas.core(), NULL, blas.config(), (unsigned)blas.get_threads(), 0};
    facts.small = strcmp(facts.core, best_core) == 0 ? SMALL : 0;
    for (size_t i = 0; i < sizeof lesser / sizeof lesser[0] && has_avx512(); i++)
        if (strcmp(facts.core, lesser[i]) == 0)
            facts.better_core = best_core;
    return facts;
}

void ll_blas_set_threads(unsigned threads)
{
    assert(blas.status == LL_OK && blas.set_threads);
    blas.set_threads((int)threads);
}

static void check_sizes(const struct ll_blas_product *p)
{
    (void)p;
    assert(p->m <= LL_PRODUCT_MOST && p->n <= LL_PRODUCT_MOST && p->k <= LL_PRODUCT_MOST);
    assert(p->lda <= LL_PRODUCT_MOST && p->ldb <= LL_PRODUCT_MOST && p->ldc <= LL_PRODUCT_MOST);
}

static CBLAS_TRANSPOSE turned(bool transposed)
{
    return transposed ? CblasTrans : CblasNoTrans;
}

void ll_blas_gemm_f32(const struct ll_blas_product *p)
{
    assert(blas.sgemm);
    check_sizes(p);
    blas.sgemm(CblasRowMajor, turned(p->transpose_a), turned(p->transpose_b), (blasint)p->m, (blasint)p->n,
               (blasint)p->k, 1, p->a, (blasint)p->lda, p->b, (blasint)p->ldb, (float)p->beta, p->c,
               (blasint)p->ldc);
}

void ll_blas_gemm_f64(const struct ll_blas_product *p)
{
    assert(blas.dgemm);
    check_sizes(p);
    blas.dgemm(CblasRowMajor, turned(p->transpose_a), turned(p->transpose_b), (blasint)p->m, (blasint)p->n,
               (blasint)p->k, 1, p->a, (blasint)p->lda, p->b, (blasint)p->ldb, p->beta, p->c,
               (blasint)p->ldc);
}
