/* SPDX-License-Identifier: Apache-2.0 */
/* The calibration workload: how a run is timed and repeated, what the last-level cache keeps, and the list of
 * ops that is recorded. */
#define _GNU_SOURCE
#include "models/micro/micro.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "models/micro/recipes.h"
#include "models/nn/blas.h"
#include "models/nn/kernel.h"
#include "models/nn/kernel_parts.h"
#include "models/nn/runner.h"
#include "tracer/base/clock.h"
#include "tracer/base/map.h"
#include "tracer/base/num.h"
#include "tracer/record/host.h"

enum { RUNS = 128, LEAST_RUNS = 8 };

struct ll_figure ll_rate_of(struct ll_pool *pool, void (*body)(void *context), void *context, double amount)
{
    assert(amount > 0);
    static const uint64_t enough_ns = 1000000000;
    double rates[RUNS];
    size_t runs = 0;
    body(context);
    for (uint64_t begin_ns = ll_now_ns(), start_ns = begin_ns;
         runs < LEAST_RUNS || (runs < RUNS && start_ns - begin_ns < enough_ns); runs++) {
        ll_pool_settle(pool, ll_now_ns());
        start_ns = ll_now_ns();
        body(context);
        rates[runs] = amount * 1e9 / (double)(ll_now_ns() - start_ns + 1);
    }
    ll_sort_numbers(rates, runs);
    double lower = rates[runs / 4], upper = rates[runs * 3 / 4], middle = rates[runs / 2];
    return (struct ll_figure){rates[runs - 1], middle, (upper - lower) / middle};
}

void *ll_probe_memory(uint64_t bytes)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return NULL;
    madvise(memory, bytes, MADV_HUGEPAGE); /* a wish */
    return memset(memory, 0, bytes);
}

void ll_probe_release(void *memory, uint64_t bytes)
{
    munmap(memory, bytes);
}

/* As many sums as keep additions from waiting for each other, added up in pairs at the end. */
LL_FAST float ll_probe_sum(const float *x, uint64_t count)
{
    enum { SUMS = 128 };
    float sums[SUMS] = {0}, sum = 0;
    uint64_t i = 0;
    for (; i + SUMS <= count; i += SUMS)
        for (int j = 0; j < SUMS; j++)
            sums[j] += x[i + j];
    for (; i < count; i++)
        sum += x[i];
    for (int half = SUMS / 2; half > 0; half /= 2)
        for (int j = 0; j < half; j++)
            sums[j] += sums[j + half];
    return sum + sums[0];
}

/* From what fits for certain, even where a small part of a large cache is ours, to twice the cache; behind
 * them, what lies beyond. */
static const uint64_t sixteenths[LL_LOOK_ROUNDS - 1] = {1, 2, 4, 6, 8, 10, 12, 14, 16, 20, 24, 32};
static const double rests_s[LL_LOOK_RESTS] = {0.002, 0.004, 0.008, 0.016, 0.032, 0.064, 0.128};

struct ll_looks ll_looks_at(const char *level, uint64_t size, uint64_t least, uint64_t beyond)
{
    assert(least > 0);
    struct ll_looks looks = {.level = level, .size = size};
    for (int i = 0; i < LL_LOOK_ROUNDS - 1; i++)
        if (size / 16 * sixteenths[i] >= least)
            looks.round_bytes[looks.round_count++] = size / 16 * sixteenths[i];
    looks.round_bytes[looks.round_count++] = beyond;
    assert(looks.round_count <= LL_LOOK_ROUNDS);
    return looks;
}

/* The same at the second-level caches of all threads' cores together, or at the last cache of the host that
 * these facts describe. Pure. */
static struct ll_looks looks_at_l2(const struct ll_pool *pool, const struct ll_facts *facts)
{
    enum { TIMES_OVER = 8 };
    uint64_t size = ll_pool_threads(pool) * ll_facts_number(facts, "host.cache.l2");
    return ll_looks_at("l2", size, size / 4, TIMES_OVER * size);
}

static struct ll_looks looks_at_l3(const struct ll_pool *pool, const struct ll_facts *facts)
{
    return ll_looks_at("l3", ll_facts_number(facts, "host.cache.l3"), ll_probe_past_l2(pool, facts),
                       ll_probe_beyond(pool, facts));
}

static uint64_t timed_bytes(const struct ll_looks *looks)
{
    return looks->size / 8;
}

void ll_look_at_rounds(struct ll_looks *looks, struct ll_pool *pool)
{
    assert(looks->round_count <= LL_LOOK_ROUNDS);
    if (looks->size == 0 || looks->count == LL_LOOKS)
        return;
    for (size_t i = 0; i < looks->round_count; i++)
        looks->rounds[looks->count][i] = ll_probe_rounds(pool, looks->round_bytes[i]);
    looks->count++;
}

void ll_look_at_shared(struct ll_looks *looks, struct ll_pool *pool)
{
    if (looks->size == 0 || looks->count == LL_LOOKS)
        return;
    uint64_t bytes = timed_bytes(looks), beyond = looks->round_bytes[looks->round_count - 1];
    uint64_t others = ll_min(beyond, 4 * looks->size);
    looks->timed += ll_probe_times(pool, bytes, others, looks->times[looks->timed]) &&
                    ll_probe_rests(pool, bytes, others, LL_LOOK_RESTS, rests_s, looks->rests[looks->timed]);
    ll_look_at_rounds(looks, pool);
}

/* Rates of a few points, each row a look. */
struct rows {
    const double *rates;
    size_t width, points;
    unsigned looks;
};

/* X=RATE for each x. */
static void add_medians(struct ll_facts *facts, const char *key, const struct rows *rows, const double *x)
{
    const char *text = "";
    for (size_t i = 0; rows->looks > 0 && i < rows->points; i++) {
        double column[LL_LOOKS];
        for (unsigned look = 0; look < rows->looks; look++)
            column[look] = rows->rates[look * rows->width + i];
        text = ll_format(facts->arena, "%s%s%.15g=%.4g", text, i ? " " : "", x[i],
                         ll_median(column, rows->looks));
    }
    if (rows->looks > 0)
        ll_facts_add(facts, key, "%s", text);
}

static const char *key_of(const struct ll_looks *looks, const char *what, struct ll_facts *facts)
{
    return ll_format(facts->arena, "probe.%s.%s", looks->level, what);
}

/* The median of the looks, place by place, as text of pairs. */
void ll_looks_facts(const struct ll_looks *looks, struct ll_facts *facts)
{
    assert(looks->timed <= looks->count && looks->count <= LL_LOOKS);
    double round_bytes[LL_LOOK_ROUNDS], times[LL_PROBE_TIMES];
    const struct rows rows[] = {{*looks->rounds, LL_LOOK_ROUNDS, looks->round_count, looks->count},
                                {*looks->times, LL_PROBE_TIMES, LL_PROBE_TIMES, looks->timed},
                                {*looks->rests, LL_LOOK_RESTS, LL_LOOK_RESTS, looks->timed}};
    for (size_t i = 0; i < looks->round_count; i++)
        round_bytes[i] = (double)looks->round_bytes[i];
    for (int i = 0; i < LL_PROBE_TIMES; i++)
        times[i] = (double)timed_bytes(looks);
    add_medians(facts, key_of(looks, "rounds", facts), &rows[0], round_bytes);
    add_medians(facts, key_of(looks, "times", facts), &rows[1], times);
    add_medians(facts, key_of(looks, "rests", facts), &rows[2], rests_s);
}

/* Elements: what fits a core's first cache, its own caches, all caches, and none (of a result of 32 MiB a
 * cache of as much keeps a good part until it is overwritten); weights of a network. No powers of two, these
 * last two, or operands would lie 256 MiB apart: Zen's first cache tells lines apart by a hash of address
 * bits 12 to 27 (Lipp et al., "Take A Way", ASIACCS 2020), and throws each of such two out for the other
 * (measured: 28 in place of 46 GB/s). Nor do rows of a large transpose lie a multiple of a page apart. */
enum {
    LL_MICRO_SMALL = 1 << 12,
    LL_MICRO_NEAR = 1 << 14,
    LL_MICRO_MIDDLE = 1 << 21,
    LL_MICRO_LARGE = 17000 << 10,
    LL_MICRO_WEIGHTS = 33 << 20
};
enum { QUICK_SIZES = 2, QUICK_SIDE = 16, MOST_OPERANDS = 8 };
/* Close to each other where kernels begin to use a second thread. */
static const uint64_t sizes[] = {1 << 7,  1 << 10, 1 << 12, 1 << 14,        1 << 15,         1 << 16,
                                 1 << 17, 1 << 19, 1 << 21, LL_MICRO_LARGE, LL_MICRO_WEIGHTS};

static const struct micro {
    enum ll_op_kind kind;
    ll_recipe *recipe;
    uint64_t most;
} micros[] = {
#define LL_MICRO(kind, recipe, most) {LL_OP_##kind, ll_recipe_##recipe, most},
#include "models/micro/micro.def"
#undef LL_MICRO
};

static const struct ll_micro_gemm products[] = {
#define LL_PRODUCT(...) {__VA_ARGS__},
#include "models/micro/gemms.def"
#undef LL_PRODUCT
};

static const struct ll_micro_convolution convolutions[] = {
#define LL_CONVOLUTION(...) {__VA_ARGS__},
#include "models/micro/convolutions.def"
#undef LL_CONVOLUTION
};

static const char *const passes[] = {"cold", "warm", "warm", "handed"};
enum { HANDED = 3 };

/* The scope of a pass over an op of the kind. */
static void enter(struct ll_bench *bench, int pass, enum ll_op_kind kind)
{
    ll_nn_push(bench->nn, passes[pass]);
    ll_nn_push(bench->nn, ll_op_name(kind));
}

static void leave(struct ll_bench *bench)
{
    ll_nn_pop(bench->nn);
    ll_nn_pop(bench->nn);
}

/* Where an op has little to do, all that counts is whether the processor knows its branches: on Zen 5 the
 * sum of 128 elements took 460 ns the second and third time, 60 the sixth. In networks they come again. */
static void warm_up_small(struct ll_bench *bench, ll_recipe *recipe, enum ll_op_kind kind, uint64_t elements)
{
    enum { TIMES = 8 };
    ll_nn_push(bench->nn, "again");
    for (int i = 0; i < TIMES && elements <= LL_MICRO_SMALL; i++)
        recipe(bench, kind, elements);
    ll_nn_pop(bench->nn);
}

static void build_micro(struct ll_bench *bench, const struct micro *micro, uint64_t elements)
{
    for (int pass = 0; pass < HANDED && elements <= micro->most; pass++) {
        if (pass == 1)
            warm_up_small(bench, micro->recipe, micro->kind, elements);
        enter(bench, pass, micro->kind);
        micro->recipe(bench, micro->kind, elements);
        leave(bench);
    }
}

/* How a kind without a row is tried, if its operands have one shape; else the recipe is NULL. */
static struct micro plain_micro(enum ll_op_kind kind)
{
    const char *shape = ll_op_words(kind).shape;
    bool plain = ll_op_runs_natively(kind) && ll_op_class(kind) == LL_CLASS_ELEMENTWISE;
    for (size_t i = 0; i < sizeof micros / sizeof *micros; i++)
        plain = plain && micros[i].kind != kind;
    ll_recipe *recipe = strcmp(shape, "SAME_1") == 0   ? ll_recipe_one
                        : strcmp(shape, "SAME_2") == 0 ? ll_recipe_pair
                                                       : NULL;
    return (struct micro){kind, plain ? recipe : NULL, LL_MICRO_LARGE};
}

/* Of the largest size each kind takes operands that `turns` kinds before had. */
static void build_micros(struct ll_bench *bench, uint64_t elements, uint64_t turns)
{
    size_t count = sizeof micros / sizeof *micros;
    for (size_t i = 0; i < count; i++) {
        bench->turn = elements == LL_MICRO_LARGE ? i % turns : 0;
        build_micro(bench, &micros[i], elements);
    }
    for (int kind = 0; kind < ll_op_count(); kind++) {
        struct micro plain = plain_micro((enum ll_op_kind)kind);
        bench->turn = elements == LL_MICRO_LARGE ? count % turns : 0;
        if (plain.recipe) {
            build_micro(bench, &plain, elements);
            count++;
        }
    }
    bench->turn = 0;
}

/* Whether all it does is to read the right matrix once, or to write the result once. */
static bool is_stream(const struct ll_micro_gemm *p)
{
    return p->batch == 0 && (p->m <= LL_SKINNY_ROWS || ll_is_thin(p->transpose_a, p->transpose_b, p->k));
}

/* Weights of few rows are read at each step of a recurrent network, and their gradients written; they come
 * often before they count as warm. Of a stream that a last cache has not seen it may let in a tenth a time:
 * on Zen 4, behind larger streams, 2 x 1536 x 1280 took 200 us, then 160, 90 at the ninth time and 52 in the
 * end. What no half of the cache holds gets no better after some times. */
static void warm_up(struct ll_bench *bench, const struct ll_micro_gemm *product, uint64_t cache_bytes)
{
    enum { SOME = 6, MANY = 30 };
    bool fits = product->n * ll_max(product->m, product->k) * sizeof(float) <= cache_bytes / 2;
    ll_nn_push(bench->nn, "again");
    for (int i = 0; i < (fits ? MANY : SOME) && is_stream(product); i++)
        ll_bench_gemm(bench, product, false);
    ll_nn_pop(bench->nn);
}

/* In networks the operands of a product were often written just before, and other threads than those that
 * read them have done so. */
static void build_products(struct ll_bench *bench, bool quick, uint64_t cache_bytes)
{
    for (size_t i = 0; i < sizeof products / sizeof *products; i++) {
        int last = is_stream(&products[i]) ? HANDED - 1 : HANDED;
        for (int pass = 0; pass <= last && (!quick || products[i].n <= QUICK_SIDE); pass++) {
            if (pass == 1)
                warm_up(bench, &products[i], cache_bytes);
            enter(bench, pass, products[i].batch ? LL_OP_BATCH_MATMUL : LL_OP_MATMUL);
            ll_bench_gemm(bench, &products[i], pass == HANDED);
            leave(bench);
        }
    }
}

/* Nobody asks for the gradient of an image's colours. */
static bool wanted(const struct ll_micro_convolution *convolution, enum ll_op_kind kind, bool quick)
{
    enum { COLOURS = 3 };
    return (kind != LL_OP_CONV2D_DATA || convolution->in > COLOURS) &&
           (!quick || convolution->side < QUICK_SIDE);
}

static void build_convolutions(struct ll_bench *bench, bool quick)
{
    static const enum ll_op_kind kinds[] = {LL_OP_CONV2D, LL_OP_CONV2D_DATA, LL_OP_CONV2D_FILTER};
    for (size_t i = 0; i < sizeof convolutions / sizeof *convolutions; i++)
        for (int k = 0; k < 3; k++)
            for (int pass = 0; pass < HANDED && wanted(&convolutions[i], kinds[k], quick); pass++) {
                enter(bench, pass, kinds[k]);
                ll_bench_convolution(bench, kinds[k], &convolutions[i]);
                leave(bench);
            }
}

/* How many sets of operands with so many elements an eighth of memory has room for. */
static uint64_t room_for(const struct ll_facts *facts, uint64_t elements)
{
    return ll_facts_number(facts, "host.memory_bytes") / 8 / (MOST_OPERANDS * elements * sizeof(float));
}

/* How many sets of large operands it takes that nothing of the first is left in the caches when its turn
 * comes again; as far as there is room for them. */
static uint64_t turns_of(const struct ll_facts *facts)
{
    enum { MOST_TURNS = 32 };
    uint64_t operand = LL_MICRO_LARGE * sizeof(float), caches = ll_facts_number(facts, "host.cache.l3");
    uint64_t room = room_for(facts, LL_MICRO_LARGE);
    return ll_max(1, ll_min(room, ll_min(MOST_TURNS, 1 + 2 * caches / operand)));
}

static struct ll_nn *build(bool quick, const struct ll_facts *facts)
{
    struct ll_bench bench = {.nn = ll_nn_new(LL_F32)};
    if (!bench.nn)
        return NULL;
    for (size_t i = 0; i < (quick ? QUICK_SIZES : sizeof sizes / sizeof *sizes); i++)
        if (sizes[i] < LL_MICRO_WEIGHTS || room_for(facts, sizes[i]) > 0)
            build_micros(&bench, sizes[i], turns_of(facts));
    build_products(&bench, quick, ll_facts_number(facts, "host.cache.l3"));
    build_convolutions(&bench, quick);
    free(bench.operands);
    return bench.nn;
}

/* Looks when it is time for one: how long that took, in nanoseconds. */
static uint64_t look(struct ll_looks *looks, struct ll_pool *pool, double done)
{
    uint64_t begin_ns = ll_now_ns();
    if (done * LL_LOOKS >= looks->count)
        ll_look_at_shared(looks, pool);
    return ll_now_ns() - begin_ns;
}

/* What is told while it is done. */
static const char op_steps[] = "ops of every kind", memory_taken[] = "taking memory",
                  caches_shared[] = "who shares caches";

/* Steps until time is up: the first one only warms up and counts as well, since no step is special to who
 * reads the trace. Looks lie between them and take none of their time, nor does waiting for a good moment:
 * on a crowded machine there are as many steps as on a calm one. */
static void step_all(const struct ll_micro_options *options, struct ll_runner *runner, struct ll_pool *pool,
                     struct ll_recorder *recorder, struct ll_looks *looks)
{
    enum { LEAST_STEPS = 3 };
    uint64_t begin_ns = ll_now_ns(), step = 0;
    double done = 0;
    bool goes_on = ll_tell(&options->listener, op_steps, 0);
    while (goes_on && ll_recorder_status(recorder) == LL_OK) {
        begin_ns += look(looks, pool, done);
        uint64_t waited_ns = ll_pool_waited_ns(pool);
        ll_runner_step(runner, step++);
        begin_ns += ll_pool_waited_ns(pool) - waited_ns;
        double passed_s = (double)(ll_now_ns() - begin_ns) * 1e-9;
        done = options->steps ? (double)step / (double)options->steps : passed_s / options->seconds;
        goes_on = done < 1 || (!options->steps && step < LEAST_STEPS);
        goes_on &= ll_tell(&options->listener, op_steps, done < 1 ? done : 1);
    }
}

/* How the kernels cut their work, by the names of the ops. */
static void add_cuts(struct ll_facts *facts)
{
    unsigned small = ll_blas_facts().small;
    ll_facts_add(facts, "matmul.slice", "%u", LL_PRODUCT_SLICE);
    if (small > 0) {
        ll_facts_add(facts, "matmul.small", "%u", small);
        ll_facts_add(facts, "batch_matmul.small", "%u", small);
    }
    static const char *const windows[] = {"conv2d", "conv2d_data_grad"};
    static const struct {
        const char *key;
        unsigned value;
    } cuts[] = {{"slice", LL_CONV_LEAST_ROWS},
                {"slice_elements", LL_CONV_ELEMENTS},
                {"slice_step", LL_CONV_ROW_STEP},
                {"slice_most", LL_CONV_MOST_ROWS}};
    for (size_t i = 0; i < sizeof windows / sizeof *windows; i++)
        for (size_t j = 0; j < sizeof cuts / sizeof *cuts; j++) {
            char key[64];
            snprintf(key, sizeof key, "%s.%s", windows[i], cuts[j].key);
            ll_facts_add(facts, key, "%u", cuts[j].value);
        }
    ll_facts_add(facts, "conv2d_filter_grad.slice", "%u", LL_CONV_FILTER_SLICE);
    ll_facts_add(facts, "transpose.grain", "%zu", 2 * LL_TRANSPOSE_GRAIN * sizeof(float));
    if (LL_WRITES_PAST)
        ll_facts_add(facts, "transpose.past", "%u", LL_TRANSPOSE_PAST_BYTES);
}

static void add_facts(const struct ll_micro_options *options, struct ll_pool *pool, struct ll_facts *facts)
{
    ll_facts_add(facts, "model", "micro");
    ll_facts_add(facts, "threads", "%u", ll_pool_threads(pool));
    ll_facts_add(facts, "matmul.few_rows", "%u", LL_SKINNY_ROWS);
    ll_facts_add(facts, "matmul.few_rows.grain", "%u", LL_SKINNY_GRAIN);
    ll_facts_add(facts, "matmul.few_terms", "%u", LL_THIN_DEPTH);
    ll_facts_add(facts, "matmul.few_terms.grain", "%u", LL_THIN_GRAIN);
    add_cuts(facts);
    ll_facts_add(facts, "blas.core", "%s", ll_blas_facts().core);
    if (ll_blas_facts().better_core)
        ll_facts_add(facts, "blas.better_core", "%s", ll_blas_facts().better_core);
    if (!options->quick)
        ll_probe_facts(pool, facts, &options->listener);
}

static void measure(const struct ll_micro_options *options, struct ll_runner *runner, struct ll_pool *pool,
                    struct ll_recorder *recorder, struct ll_facts *facts)
{
    struct ll_looks l2 = {0}, l3 = {0};
    uint64_t known = facts->count;
    if (!options->quick) {
        ll_tell(&options->listener, caches_shared, 0);
        l2 = looks_at_l2(pool, facts);
        l3 = looks_at_l3(pool, facts);
        ll_tell(&options->listener, caches_shared, 1);
    }
    ll_look_at_rounds(&l2, pool);
    step_all(options, runner, pool, recorder, &l3);
    ll_looks_facts(&l2, facts);
    ll_looks_facts(&l3, facts);
    ll_pool_facts(pool, facts);
    if (!facts->failed)
        ll_recorder_facts(recorder, facts->items + known, facts->count - known);
}

/* Runs the workload step after step until the time is over or the listener ends it, and writes the trace
 * with the probes as facts of its header. */
static enum ll_status record(const struct ll_micro_options *options, struct ll_nn *nn, struct ll_pool *pool,
                             struct ll_facts *facts)
{
    enum ll_status status;
    ll_tell(&options->listener, memory_taken, 0);
    struct ll_runner *runner =
        ll_runner_new(nn, &(struct ll_runner_options){.pool = pool, .seed = 1}, &status);
    if (!runner)
        return status;
    ll_tell(&options->listener, memory_taken, 1);
    ll_pool_spread(pool);
    if (!options->quick)
        ll_pool_insist(pool);
    add_facts(options, pool, facts);
    struct ll_recorder *recorder =
        facts->failed ? NULL : ll_recorder_open(options->path, facts->items, facts->count, &status);
    status = facts->failed ? LL_NO_MEMORY : status;
    if (recorder) {
        status = ll_runner_record(runner, recorder);
        if (status == LL_OK)
            measure(options, runner, pool, recorder, facts);
        enum ll_status closed = ll_recorder_close(recorder);
        status = status == LL_OK && facts->failed ? LL_NO_MEMORY : status;
        status = status == LL_OK ? closed : status;
    }
    ll_runner_free(runner);
    return status;
}

enum ll_status ll_micro_record(const struct ll_micro_options *options)
{
    struct ll_arena arena = {0};
    struct ll_facts facts = {.arena = &arena};
    ll_host_facts("", &facts);
    struct ll_nn *nn = build(options->quick, &facts);
    struct ll_pool *pool = ll_pool_new(options->threads);
    bool ready = nn && pool && !ll_nn_trouble(nn);
    enum ll_status status = ready ? record(options, nn, pool, &facts) : LL_NO_MEMORY;
    ll_pool_free(pool);
    ll_nn_free(nn);
    ll_arena_release(&arena);
    return status;
}
