/* SPDX-License-Identifier: Apache-2.0 */
/* A training step of each reference workload against its matrix products alone: every product and convolution
 * of the step as one call of OpenBLAS (a convolution as the product of its gathered windows, the gathering
 * not counted), with as many threads of OpenBLAS's own as the step has. Beside it the roofline: what the
 * step would take if every op ran at the rate of a large product, or at that of memory where that is slower
 * (Williams et al., 2009), as a share of what it takes, and where it spends its time. What stays in caches
 * may pass it.
 *
 *     bench_native [MODEL [BATCH [STEPS]]]      one of them, and by op kind */
#define _GNU_SOURCE
#include "models/model.h"
#include "models/nn/blas.h"
#include "models/nn/nn.h"
#include "models/nn/runner.h"
#include "tracer/base/clock.h"
#include "tracer/ir/profile.h"
#include "tracer/format/reader.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { REPEATS = 5, MOST_SETTINGS = 3, MOST_PRODUCTS = 4096 };

/* What is quick enough on two cores and large enough to tell something. */
static const struct preset {
    const char *model;
    uint64_t batch, steps;
    struct ll_setting settings[MOST_SETTINGS];
    size_t setting_count;
} presets[] = {
    {"alexnet", 1, 8, {{NULL, NULL}}, 0},
    {"vgg_code", 1, 3, {{NULL, NULL}}, 0},
    {"residual", 1, 6, {{NULL, NULL}}, 0},
    {"resnet", 1, 4, {{NULL, NULL}}, 0},
    {"inception_v3", 1, 3, {{NULL, NULL}}, 0},
    {"deepq", 32, 20, {{"replay", "10000"}}, 1},
    {"autoenc", 128, 50, {{NULL, NULL}}, 0},
    {"memnet", 32, 200, {{NULL, NULL}}, 0},
    {"speech", 2, 3, {{"frames", "200"}}, 1},
    {"seq2seq", 8, 6, {{"bucket", "1"}}, 1},
    {"transformer", 4, 4, {{NULL, NULL}}, 0},
    {"nmt", 8, 4, {{"source", "10"}, {"target", "10"}}, 2},
    {"sockeye", 8, 4, {{"source", "10"}, {"target", "10"}}, 2},
    {"deepspeech2", 2, 2, {{"frames", "100"}}, 1},
    {"lstm", 32, 10, {{NULL, NULL}}, 0},
    {"bert", 8, 4, {{"layers", "4"}, {"hidden", "512"}, {"heads", "8"}}, 3},
};

/* A product, how often the step has it, and its best time. */
struct timed {
    struct ll_blas_product product;
    uint64_t count;
    double flops, time_s; /* of one */
};

struct products {
    struct timed at[MOST_PRODUCTS];
    size_t count;
    double time_s;
};

/* What this machine does at best, of all threads. */
struct rates {
    double flops_per_s, bytes_per_s;
};

/* The product that an op is, if it is one, and how many of them. */
static bool product_of(const struct ll_op_view *op, struct ll_blas_product *product, uint64_t *batch,
                       double *flops)
{
    struct ll_work work;
    if (!ll_op_lower(op, &work) || (work.kind != LL_WORK_GEMM && work.kind != LL_WORK_CONV))
        return false;
    struct ll_gemm gemm = work.kind == LL_WORK_GEMM ? work.gemm : ll_conv_as_gemm(&work.conv);
    bool ta = ll_attr_count(op, LL_ATTR_TRANSPOSE_A, 0) || op->kind == LL_OP_CONV2D_FILTER;
    bool tb = ll_attr_count(op, LL_ATTR_TRANSPOSE_B, 0) || op->kind == LL_OP_CONV2D_DATA;
    *product = (struct ll_blas_product){.transpose_a = ta,
                                        .transpose_b = tb,
                                        .m = gemm.m,
                                        .n = gemm.n,
                                        .k = gemm.k,
                                        .lda = ta ? gemm.m : gemm.k,
                                        .ldb = tb ? gemm.k : gemm.n,
                                        .ldc = gemm.n};
    *batch = work.kind == LL_WORK_GEMM ? gemm.batch : 1;
    *flops = (double)work.flops / (double)*batch;
    return true;
}

static float *filled(uint64_t elements)
{
    float *data = malloc(elements * sizeof *data);
    for (uint64_t i = 0; data && i < elements; i++)
        data[i] = (float)(i % 17) / 16;
    return data;
}

static double product_s(struct ll_blas_product *product)
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

/* z = x + 3 y over a part of arrays that no cache holds (McCalpin's triad, 1995). */
struct triad {
    float *x, *y, *z;
};

static void triad_part(void *context, uint64_t begin, uint64_t end, uint64_t chunk)
{
    const struct triad *t = context;
    (void)chunk;
    for (uint64_t i = begin; i < end; i++)
        t->z[i] = t->x[i] + 3 * t->y[i];
}

/* The best of several; of bytes that the program names: lines that are read to be overwritten are not
 * counted, as an op's bytes do not count them. */
static double triad_bytes_per_s(unsigned threads)
{
    const uint64_t elements = UINT64_C(1) << 26;
    struct ll_pool *pool = ll_pool_new(threads);
    struct triad triad = {filled(elements), filled(elements), filled(elements)};
    uint64_t least_ns = UINT64_MAX;
    for (int i = 0; pool && triad.x && triad.y && triad.z && i < REPEATS; i++) {
        uint64_t start_ns = ll_now_ns();
        ll_pool_run(pool, elements, elements / threads, triad_part, &triad);
        least_ns = ll_min(least_ns, ll_now_ns() - start_ns);
    }
    free(triad.x);
    free(triad.y);
    free(triad.z);
    ll_pool_free(pool);
    return 3.0 * sizeof(float) * (double)elements / ((double)least_ns * 1e-9);
}

static struct rates measure_rates(unsigned threads)
{
    enum { SIDE = 2048 };
    struct ll_blas_product square = {.m = SIDE, .n = SIDE, .k = SIDE, .lda = SIDE, .ldb = SIDE, .ldc = SIDE};
    ll_blas_set_threads(threads);
    double time_s = product_s(&square);
    ll_blas_set_threads(1);
    return (struct rates){2.0 * SIDE * SIDE * SIDE / time_s, triad_bytes_per_s(threads)};
}

/* Of the last step's ops of a kind and phase, or of all: LL_OP_NONE. */
static double roofline_s(const struct ll_trace *trace, const struct rates *rates, enum ll_op_kind kind,
                         enum ll_phase phase)
{
    const struct ll_step *step = &trace->steps[trace->step_count - 1];
    double time_s = 0;
    for (uint32_t i = step->first_op; i < step->first_op + step->op_count; i++) {
        const struct ll_op_signature *s = &trace->signatures[trace->ops[i].signature];
        double bytes = (double)(s->bytes_read + s->bytes_written);
        if (kind == LL_OP_NONE || (s->view.kind == kind && s->phase == phase))
            time_s += fmax((double)s->flops / rates->flops_per_s, bytes / rates->bytes_per_s);
    }
    return time_s;
}

static bool is_same(const struct ll_blas_product *a, const struct ll_blas_product *b)
{
    return a->m == b->m && a->n == b->n && a->k == b->k && a->transpose_a == b->transpose_a &&
           a->transpose_b == b->transpose_b;
}

/* Different products of a trace's last step. */
static void collect(const struct ll_trace *trace, struct products *products)
{
    const struct ll_step *step = &trace->steps[trace->step_count - 1];
    for (uint32_t i = step->first_op; i < step->first_op + step->op_count; i++) {
        struct ll_blas_product product;
        uint64_t batch;
        double flops;
        size_t at = 0;
        if (!product_of(&trace->signatures[trace->ops[i].signature].view, &product, &batch, &flops))
            continue;
        while (at < products->count && !is_same(&products->at[at].product, &product))
            at++;
        if (at == products->count && at < MOST_PRODUCTS)
            products->at[products->count++] = (struct timed){product, 0, flops, 0};
        if (at < products->count)
            products->at[at].count += batch;
    }
}

static void time_products(struct products *products, unsigned threads)
{
    ll_blas_set_threads(threads);
    for (size_t i = 0; i < products->count; i++) {
        struct timed *timed = &products->at[i];
        timed->time_s = product_s(&timed->product);
        products->time_s += (double)timed->count * timed->time_s;
    }
    ll_blas_set_threads(1);
}

static void print_products(const struct products *products)
{
    for (size_t i = 0; i < products->count; i++) {
        const struct timed *t = &products->at[i];
        printf("  %4" PRIu64 " x %6" PRIu64 " %6" PRIu64 " %6" PRIu64 "%s%s  %8.3f ms  %6.1f GFLOP/s\n",
               t->count, t->product.m, t->product.n, t->product.k, t->product.transpose_a ? " a^T" : "",
               t->product.transpose_b ? " b^T" : "", t->time_s * 1e3, t->flops / t->time_s * 1e-9);
    }
}

/* By kind: mean time in a step, its share, and how near to the roofline it comes. */
static void print_kinds(const struct ll_trace *trace, const struct ll_profile *profile,
                        const struct rates *rates)
{
    for (uint64_t i = 0; i < profile->kind_count; i++) {
        const struct ll_kind_total *k = &profile->kinds[i];
        printf("  %-28s %-10s %9.3f ms  %5.1f %%  roofline %5.1f %%\n", k->kind, ll_phase_name(k->phase),
               k->time_s * 1e3, k->share * 100,
               roofline_s(trace, rates, k->op_kind, k->phase) / k->time_s * 100);
    }
}

static void print_classes(const struct ll_profile *profile)
{
    for (int c = 0; c < LL_CLASS_COUNT; c++) {
        double share = 0;
        for (uint64_t i = 0; i < profile->kind_count; i++)
            if (ll_op_class(profile->kinds[i].op_kind) == (enum ll_op_class)c)
                share += profile->kinds[i].share;
        if (share >= 0.005)
            printf(" %s %.0f %%", ll_class_name((enum ll_op_class)c), share * 100);
    }
}

/* The shortest step of a recorded run. */
static double least_step_s(const struct ll_trace *trace)
{
    uint64_t least_ns = UINT64_MAX;
    for (uint64_t i = 0; i < trace->step_count; i++)
        least_ns = ll_min(least_ns, trace->steps[i].wall_ns);
    return (double)least_ns * 1e-9;
}

static struct ll_trace *record(const struct preset *preset)
{
    char path[] = "bench_native.XXXXXX";
    int file = mkstemp(path);
    struct ll_run_options options = {.train = true,
                                     .batch = preset->batch,
                                     .steps = preset->steps,
                                     .seed = 1,
                                     .path = path,
                                     .settings = preset->settings,
                                     .setting_count = preset->setting_count};
    struct ll_run_report report;
    struct ll_diags *diags = calloc(1, sizeof *diags);
    const struct ll_model *model = ll_model_find(preset->model);
    struct ll_trace *trace = NULL;
    enum ll_status status;
    if (file >= 0 && diags && model && ll_model_run(model, &options, &report, diags))
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

static bool bench(const struct preset *preset, const struct rates *rates, bool closely)
{
    struct ll_arena arena = {0};
    struct products *products = calloc(1, sizeof *products);
    struct ll_trace *trace = record(preset);
    const struct ll_profile *profile = trace ? ll_profile(trace, &arena) : NULL;
    bool good = products && profile;
    if (good) {
        double step_s = least_step_s(trace);
        collect(trace, products);
        time_products(products, ll_pool_usable_cpus());
        printf("%-14s %6" PRIu64 " %10.2f %10.2f %6.2f  roofline %3.0f %%, outside of ops %.1f %%,",
               preset->model, preset->batch, step_s * 1e3, products->time_s * 1e3, step_s / products->time_s,
               roofline_s(trace, rates, LL_OP_NONE, LL_PHASE_FORWARD) / step_s * 100,
               (1 - profile->ops_time_s / profile->wall_s) * 100);
        print_classes(profile);
        printf("\n");
        if (closely) {
            print_products(products);
            print_kinds(trace, profile, rates);
        }
    } else {
        fprintf(stderr, "bench_native: %s cannot be run or recorded\n", preset->model);
    }
    free(products);
    ll_trace_free(trace);
    ll_arena_release(&arena);
    return good;
}

int main(int count, char **words)
{
    struct preset asked = {words[1], 8, 10, {{NULL, NULL}}, 0};
    bool good = true;
    for (size_t i = 0; count > 1 && i < sizeof presets / sizeof *presets; i++)
        if (strcmp(presets[i].model, words[1]) == 0)
            asked = presets[i];
    if (count > 2)
        asked.batch = strtoull(words[2], NULL, 10);
    if (count > 3)
        asked.steps = strtoull(words[3], NULL, 10);
    if (ll_blas_open() != LL_OK) {
        fprintf(stderr, "bench_native: OpenBLAS is not there\n");
        return 77;
    }
    const struct rates rates = measure_rates(ll_pool_usable_cpus());
    printf("a large product %.0f GFLOP/s, memory %.1f GB/s\n", rates.flops_per_s * 1e-9,
           rates.bytes_per_s * 1e-9);
    printf("training        batch    step ms  products ms  ratio\n");
    if (count > 1)
        return !bench(&asked, &rates, true);
    for (size_t i = 0; i < sizeof presets / sizeof *presets; i++)
        good &= bench(&presets[i], &rates, false);
    return !good;
}
