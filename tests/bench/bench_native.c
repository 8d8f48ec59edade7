/* SPDX-License-Identifier: Apache-2.0 */
/* A training step of AlexNet against its matrix products alone: every product and convolution of the step as
 * one call of OpenBLAS (a convolution as the product of its gathered windows, the gathering not counted),
 * with as many threads of OpenBLAS's own as the step has. Then where the step spends its time, by op kind.
 *
 *     bench_native [BATCH [STEPS]] */
#define _GNU_SOURCE
#include "models/model.h"
#include "models/nn/blas.h"
#include "models/nn/nn.h"
#include "models/nn/runner.h"
#include "tracer/base/clock.h"
#include "tracer/profile.h"
#include "tracer/reader.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { REPEATS = 5 };

/* The product that an op is, if it is one. */
static bool product_of(const struct ll_op_view *op, struct ll_product *product, double *flops)
{
    struct ll_work work;
    if (!ll_op_lower(op, &work) || (work.kind != LL_WORK_GEMM && work.kind != LL_WORK_CONV))
        return false;
    struct ll_gemm gemm = work.kind == LL_WORK_GEMM ? work.gemm : ll_conv_as_gemm(&work.conv);
    bool ta = ll_attr_count(op, LL_ATTR_TRANSPOSE_A, 0) || op->kind == LL_OP_CONV2D_FILTER;
    bool tb = ll_attr_count(op, LL_ATTR_TRANSPOSE_B, 0) || op->kind == LL_OP_CONV2D_DATA;
    *product = (struct ll_product){.transpose_a = ta,
                                   .transpose_b = tb,
                                   .m = gemm.m,
                                   .n = gemm.n,
                                   .k = gemm.k,
                                   .lda = ta ? gemm.m : gemm.k,
                                   .ldb = tb ? gemm.k : gemm.n,
                                   .ldc = gemm.n};
    *flops = (double)work.flops;
    return true;
}

static float *filled(uint64_t elements)
{
    float *data = malloc(elements * sizeof *data);
    for (uint64_t i = 0; data && i < elements; i++)
        data[i] = (float)(i % 17) / 16;
    return data;
}

static double product_s(struct ll_product *product)
{
    float *a = filled(product->m * product->k), *b = filled(product->k * product->n);
    float *c = filled(product->m * product->n);
    uint64_t least_ns = UINT64_MAX;
    product->a = a;
    product->b = b;
    product->c = c;
    for (int i = 0; a && b && c && i < REPEATS; i++) {
        uint64_t start_ns = ll_now_ns();
        ll_blas_gemm_f32(product);
        least_ns = ll_min(least_ns, ll_now_ns() - start_ns);
    }
    free(a);
    free(b);
    free(c);
    return (double)least_ns * 1e-9;
}

/* All products of a trace's first step, each with its best time. */
static double products_s(const struct ll_trace *trace, unsigned threads)
{
    double total_s = 0, total_flops = 0;
    ll_blas_set_threads(threads);
    for (uint32_t i = 0; i < trace->steps[0].op_count; i++) {
        const struct ll_form *form = &trace->forms[trace->ops[i].form];
        struct ll_product product;
        double flops;
        if (!product_of(&form->view, &product, &flops))
            continue;
        double s = product_s(&product);
        total_s += s;
        total_flops += flops;
        printf("  %-20s %-8s %6" PRIu64 " %6" PRIu64 " %6" PRIu64 "  %8.3f ms  %6.1f GFLOP/s\n",
               ll_op_name(form->view.kind), trace->strings[form->scope], product.m, product.n, product.k,
               s * 1e3, flops / s * 1e-9);
    }
    ll_blas_set_threads(1);
    printf("  all products            %8.1f ms  %6.1f GFLOP/s, %s, %u threads\n", total_s * 1e3,
           total_flops / total_s * 1e-9, ll_blas_facts().core, threads);
    return total_s;
}

static void print_kinds(const struct ll_trace *trace)
{
    struct ll_arena arena = {0};
    const struct ll_profile *profile = ll_profile(trace, &arena);
    for (uint64_t i = 0; profile && i < profile->kind_count; i++)
        printf("  %-28s %-10s %9.3f ms  %5.1f %%\n", profile->kinds[i].kind,
               ll_phase_name(profile->kinds[i].phase), profile->kinds[i].time_s * 1e3,
               profile->kinds[i].share * 100);
    if (profile)
        printf("  outside of ops %.2f %% of a step\n", (1 - profile->ops_time_s / profile->wall_s) * 100);
    ll_arena_release(&arena);
}

/* The shortest step of a recorded run. */
static double least_step_s(const struct ll_trace *trace)
{
    uint64_t least_ns = UINT64_MAX;
    for (uint64_t i = 0; i < trace->step_count; i++)
        least_ns = ll_min(least_ns, trace->steps[i].wall_ns);
    return (double)least_ns * 1e-9;
}

static struct ll_trace *record(uint64_t batch, uint64_t steps)
{
    char path[] = "bench_native.XXXXXX";
    int file = mkstemp(path);
    struct ll_run_options options = {.train = true, .batch = batch, .steps = steps, .seed = 1, .path = path};
    struct ll_run_report report;
    struct ll_diags *diags = calloc(1, sizeof *diags);
    struct ll_trace *trace = NULL;
    enum ll_status status;
    if (file >= 0 && diags && ll_model_run(ll_model_find("alexnet"), &options, &report, diags))
        trace = ll_trace_read(path, diags, &status);
    if (file >= 0) {
        close(file);
        unlink(path);
    }
    if (diags)
        ll_diags_release(diags);
    free(diags);
    return trace;
}

int main(int count, char **words)
{
    uint64_t batch = count > 1 ? strtoull(words[1], NULL, 10) : 8,
             steps = count > 2 ? strtoull(words[2], NULL, 10) : 10;
    struct ll_trace *trace = record(batch, steps);
    struct ll_pool *pool = ll_pool_new(0);
    if (!trace || !pool) {
        fprintf(stderr, "bench_native: cannot run or record\n");
        return 1;
    }
    printf("alexnet, training, batch %" PRIu64 "\n", batch);
    double alone_s = products_s(trace, ll_pool_threads(pool)), step_s = least_step_s(trace);
    print_kinds(trace);
    printf("step %.1f ms, its products in OpenBLAS alone %.1f ms, ratio %.2f\n", step_s * 1e3, alone_s * 1e3,
           step_s / alone_s);
    ll_pool_free(pool);
    ll_trace_free(trace);
    return 0;
}
