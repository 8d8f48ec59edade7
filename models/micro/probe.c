/* SPDX-License-Identifier: Apache-2.0 */
/* Streams as McCalpin's STREAM has them, and a walk along pointers (McVoy and Staelin, "lmbench", USENIX
 * 1996): the lines of a block are strung to one ring in no order, so that nothing can be fetched ahead. */
#include "models/micro/micro.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "models/nn/blas.h"
#include "models/nn/kernel.h"
#include "tracer/base/clock.h"
#include "tracer/base/map.h"
#include "tracer/base/num.h"
#include "tracer/base/random.h"
#include "tracer/record/host.h"

enum { LINE_BYTES = 64, LEAST_BYTES = 1 << 27 }; /* bytes that a run streams at least */

struct stream {
    struct ll_pool *pool; /* whose threads stream, each through a part of its own */
    float *memory;        /* the parts of all threads, one behind the other */
    uint64_t floats;      /* of one thread's part */
    uint64_t passes;      /* how often each thread goes through its part */
    unsigned threads;
    float sums[64]; /* so that nothing is left out */
    ll_pool_body *body;
};

LL_FAST static void add_scaled(float *restrict a, const float *restrict b, const float *restrict c, float x,
                               uint64_t count)
{
    for (uint64_t i = 0; i < count; i++)
        a[i] = b[i] + x * c[i];
}

static void read_part(void *context, uint64_t begin, uint64_t end, uint64_t chunk)
{
    struct stream *s = context;
    (void)end;
    for (uint64_t pass = 0; pass < s->passes; pass++)
        s->sums[chunk % 64] += ll_probe_sum(s->memory + begin * s->floats, s->floats);
}

static void triad_part(void *context, uint64_t begin, uint64_t end, uint64_t chunk)
{
    struct stream *s = context;
    float *part = s->memory + begin * s->floats;
    uint64_t third = s->floats / 3 / 16 * 16;
    (void)end, (void)chunk;
    for (uint64_t pass = 0; pass < s->passes; pass++)
        add_scaled(part, part + third, part + 2 * third, 0.5f, third);
}

/* Of each of the four arrays of an update. They do not lie a power of two apart, or Zen's first cache throws
 * lines of one out for those of another (models/micro/micro.c): 34 in place of 57 GB/s, 128 MiB apart. */
static uint64_t updated(const struct stream *s)
{
    return s->floats * 15 / 64 / 16 * 16;
}

/* In place, as weights are updated: three arrays are read and written, a fourth is read. */
LL_FAST static void update(float *restrict a, float *restrict b, float *restrict c, const float *restrict d,
                           uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        b[i] = 0.5f * b[i] + 0.5f * d[i];
        c[i] = 0.5f * c[i] + 0.5f * d[i] * d[i];
        a[i] -= b[i] * c[i];
    }
}

static void update_part(void *context, uint64_t begin, uint64_t end, uint64_t chunk)
{
    struct stream *s = context;
    float *part = s->memory + begin * s->floats;
    uint64_t count = updated(s);
    (void)end, (void)chunk;
    for (uint64_t pass = 0; pass < s->passes; pass++)
        update(part, part + count, part + 2 * count, part + 3 * count, count);
}

static void run_stream(void *context)
{
    struct stream *s = context;
    ll_pool_run(s->threads > 1 ? s->pool : NULL, s->threads, 1, s->body, s);
}

static struct ll_figure rate(struct stream *s, ll_pool_body *body)
{
    s->body = body;
    return ll_rate_of(s->threads > 1 ? s->pool : NULL, run_stream, s,
                      (double)s->passes * (double)s->threads * (double)s->floats * sizeof(float));
}

static uint64_t whole_bytes(const struct stream *s)
{
    return s->threads * s->floats * sizeof(float);
}

/* Is read once; memory is NULL when it ran out. */
static struct stream stream_of(struct ll_pool *pool, unsigned threads, uint64_t bytes)
{
    struct stream s = {.pool = pool, .threads = threads, .passes = 1, .body = read_part};
    s.floats = ll_max(LINE_BYTES, bytes / threads / LINE_BYTES * LINE_BYTES) / sizeof(float);
    s.memory = ll_probe_memory(whole_bytes(&s));
    return s;
}

static void release_stream(struct stream *s)
{
    if (s->memory)
        ll_probe_release(s->memory, whole_bytes(s));
}

static struct stream long_stream(struct ll_pool *pool, unsigned threads, uint64_t bytes)
{
    struct stream s = stream_of(pool, threads, bytes);
    s.passes = ll_max(1, LEAST_BYTES / whole_bytes(&s));
    return s;
}

/* Each thread streams through a part of its own: reading, a triad, and an update as optimizers make it.
 * Rates are scaled to all bytes that move. */
struct ll_streams ll_probe_streams(struct ll_pool *pool, unsigned threads, uint64_t bytes)
{
    assert(bytes > 0 && threads > 0);
    struct stream s = long_stream(pool, threads, bytes);
    if (!s.memory)
        return (struct ll_streams){0};
    struct ll_streams streams = {rate(&s, read_part), rate(&s, triad_part), rate(&s, update_part)};
    streams.triad.value *= 4.0 / 3;
    streams.update.value *= 7.0 * (double)updated(&s) / (double)s.floats;
    release_stream(&s);
    return streams;
}

double ll_probe_rounds(struct ll_pool *pool, uint64_t bytes)
{
    assert(bytes > 0);
    struct stream s = long_stream(pool, ll_pool_threads(pool), bytes);
    double Bps = s.memory ? rate(&s, read_part).typical : 0;
    release_stream(&s);
    return Bps;
}

enum { TRIES = 9 };

/* Bytes that cross a second. */
static double timed_read(struct stream *s)
{
    uint64_t begin_ns = ll_now_ns();
    run_stream(s);
    return (double)whole_bytes(s) * 1e9 / (double)(ll_now_ns() - begin_ns + 1);
}

/* A stream to be timed, and one that takes its place in the caches: not in one pass, since some let in what
 * is read once only where nothing has been read again and again. */
static bool open_both(struct ll_pool *pool, uint64_t bytes, uint64_t others, struct stream *timed,
                      struct stream *away)
{
    unsigned threads = ll_pool_threads(pool);
    *timed = stream_of(pool, threads, bytes);
    *away = stream_of(pool, threads, others);
    away->passes = 4;
    return timed->memory && away->memory;
}

bool ll_probe_times(struct ll_pool *pool, uint64_t bytes, uint64_t others, double Bps[LL_PROBE_TIMES])
{
    struct stream s, away;
    double tries[LL_PROBE_TIMES][TRIES];
    bool ready = open_both(pool, bytes, others, &s, &away);
    for (int i = 0; ready && i < TRIES; i++) {
        ll_pool_settle(pool, ll_now_ns());
        run_stream(&away);
        for (int j = 0; j < LL_PROBE_TIMES; j++)
            tries[j][i] = timed_read(&s);
    }
    for (int j = 0; ready && j < LL_PROBE_TIMES; j++)
        Bps[j] = ll_median(tries[j], TRIES);
    release_stream(&s);
    release_stream(&away);
    return ready;
}

static void nothing(void *context, uint64_t begin, uint64_t end, uint64_t chunk)
{
    (void)context, (void)begin, (void)end, (void)chunk;
}

/* Nobody sleeps: to wake a thread would take as long as what is measured. */
static void rest(struct ll_pool *pool, double rest_s)
{
    uint64_t end_ns = ll_now_ns() + (uint64_t)(rest_s * 1e9);
    while (ll_now_ns() < end_ns)
        ll_pool_run(pool, ll_pool_threads(pool), 1, nothing, NULL);
}

bool ll_probe_rests(struct ll_pool *pool, uint64_t bytes, uint64_t others, size_t count,
                    const double *rests_s, double *Bps)
{
    struct stream s, away;
    bool ready = open_both(pool, bytes, others, &s, &away);
    for (size_t i = 0; ready && i < count; i++) {
        double tries[TRIES];
        for (int try = 0; try < TRIES; try++) {
            ll_pool_settle(pool, ll_now_ns());
            run_stream(&away);
            for (int time = 0; time < LL_PROBE_TIMES; time++)
                run_stream(&s);
            rest(pool, rests_s[i]);
            tries[try] = timed_read(&s);
        }
        Bps[i] = ll_median(tries, TRIES);
    }
    release_stream(&s);
    release_stream(&away);
    return ready;
}

struct ring {
    void **at;
    uint64_t steps;
};

static void walk(void *context)
{
    struct ring *ring = context;
    void **at = ring->at;
    for (uint64_t i = 0; i < ring->steps; i++)
        at = *at;
    ring->at = at;
}

/* Every line points to the next of a random order of all lines (Sattolo's shuffle gives one ring). */
static void **string_lines(char *memory, uint64_t lines)
{
    uint64_t key = ll_random_key(1, 1);
    for (uint64_t i = 0; i < lines; i++)
        *(void **)(memory + i * LINE_BYTES) = memory + i * LINE_BYTES;
    for (uint64_t i = lines; i-- > 1;) {
        void **a = (void **)(memory + i * LINE_BYTES);
        void **b = (void **)(memory + ll_random_bits(key, i) % i * LINE_BYTES), *other = *b;
        *b = *a;
        *a = other;
    }
    return (void **)memory;
}

/* A chain of dependent loads in random order over the bytes, so that neither prefetching nor overlap hides
 * the latency. */
struct ll_figure ll_probe_latency(uint64_t bytes)
{
    assert(bytes > 0);
    enum { STEPS = 1 << 17 };
    uint64_t lines = ll_max(2, bytes / LINE_BYTES);
    char *memory = ll_probe_memory(lines * LINE_BYTES);
    if (!memory)
        return (struct ll_figure){0};
    struct ring ring = {string_lines(memory, lines), ll_max(STEPS, ll_min(lines, 4 * STEPS))};
    struct ll_figure figure = ll_rate_of(NULL, walk, &ring, (double)ring.steps);
    figure.value = 1 / figure.value;
    ll_probe_release(memory, lines * LINE_BYTES);
    return figure;
}

/* Arithmetic in registers, and large products. Vectors of numbers grow side by side, so that none waits
 * for the one before it; multiplication and addition round apart, as in the kernels. */

enum { ADDITIONS = 1 << 20, ROUNDS = 1 << 15, SIDE = 640 };
/* Vectors of 16, 32 and 64 bytes. Twelve, since Zen begins two multiplications and two additions a cycle that
 * take three each; as many fit into sixteen registers. */
enum { VECTORS = 12, WIDTHS = 3, LEAST_VECTOR_BYTES = 16 };

static LL_INLINE uint64_t added(uint64_t x, uint64_t i)
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

static struct ll_figure gemm_rate(void (*multiply)(void *product), uint64_t element_bytes)
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

/* FLOP/s of a large product by OpenBLAS, on one core; ll_blas_open has succeeded. Zeros when memory ran out.
 */
static struct ll_figure probe_product_f32(void)
{
    return gemm_rate(multiply_f32, sizeof(float));
}

static struct ll_figure probe_product_f64(void)
{
    return gemm_rate(multiply_f64, sizeof(double));
}

/* Lines of which several cores have copies: who writes one has to have the others drop it first. All threads
 * read the same block; then each writes its own part, which takes so much longer than where it has read that
 * part alone. */

enum { PROBE_SHARED_LINE_BYTES = 64 };

struct block {
    struct ll_pool *pool;
    float *memory, *away;         /* shared; every thread's own, which displaces it (NULL: nothing does) */
    uint64_t floats, away_floats; /* of one thread's part of either */
    bool whole;                   /* all of the block is read, not the own part */
    float value;
    float sums[64]; /* so that nothing is left out */
};

LL_FAST static void fill(float *x, uint64_t count, float value)
{
    for (uint64_t i = 0; i < count; i++)
        x[i] = value;
}

static void read_shared_part(void *context, uint64_t begin, uint64_t end, uint64_t part)
{
    struct block *b = context;
    uint64_t threads = ll_pool_threads(b->pool), first = b->whole ? 0 : begin;
    (void)end;
    float sum = ll_probe_sum(b->memory + first * b->floats, (b->whole ? threads : 1) * b->floats);
    if (b->away)
        sum += ll_probe_sum(b->away + begin * b->away_floats, b->away_floats);
    b->sums[part % 64] += sum;
}

static void write_part(void *context, uint64_t begin, uint64_t end, uint64_t part)
{
    struct block *b = context;
    (void)end, (void)part;
    fill(b->memory + begin * b->floats, b->floats, b->value++);
}

/* Seconds in which all threads write their parts after they have read. */
static double written_s(struct block *b, bool whole)
{
    uint64_t threads = ll_pool_threads(b->pool);
    b->whole = whole;
    ll_pool_settle(b->pool, ll_now_ns());
    ll_pool_run(b->pool, threads, 1, write_part, b);
    ll_pool_run(b->pool, threads, 1, read_shared_part, b);
    uint64_t begin_ns = ll_now_ns();
    ll_pool_run(b->pool, threads, 1, write_part, b);
    return (double)(ll_now_ns() - begin_ns) * 1e-9;
}

double ll_probe_invalidation(struct ll_pool *pool, uint64_t bytes, uint64_t away)
{
    enum { PROBE_SHARED_TRIES = 201 };
    uint64_t threads = ll_pool_threads(pool),
             part = bytes / threads / PROBE_SHARED_LINE_BYTES * PROBE_SHARED_LINE_BYTES;
    if (threads < 2 || part == 0)
        return 0;
    struct block b = {.pool = pool,
                      .memory = ll_probe_memory(threads * part),
                      .away = away > 0 ? ll_probe_memory(threads * away) : NULL,
                      .floats = part / sizeof(float),
                      .away_floats = away / sizeof(float)};
    double alone[PROBE_SHARED_TRIES], shared[PROBE_SHARED_TRIES], line_s = 0;
    if (b.memory && (b.away || away == 0)) {
        for (int i = 0; i < PROBE_SHARED_TRIES; i++) {
            alone[i] = written_s(&b, false);
            shared[i] = written_s(&b, true);
        }
        line_s = (ll_median(shared, PROBE_SHARED_TRIES) - ll_median(alone, PROBE_SHARED_TRIES)) *
                 PROBE_SHARED_LINE_BYTES / (double)part;
    }
    if (b.memory)
        ll_probe_release(b.memory, threads * part);
    if (b.away)
        ll_probe_release(b.away, threads * away);
    return line_s > 0 ? line_s : 0;
}

/* A cache is asked with a part of it in use: of the last one with no more than inner caches can do nothing
 * for, since it may be large and only partly ours. Memory is asked with many times what the largest cache
 * holds, since that may keep a part of what streams through it. */

static void add_figure(struct ll_facts *facts, const char *level, const char *what, struct ll_figure figure)
{
    char key[64];
    snprintf(key, sizeof key, "probe.%s%s%s", level, *level ? "." : "", what);
    ll_facts_add(facts, key, "%.6g", figure.value);
    ll_facts_add(facts, ll_format(facts->arena, "%s.spread", key), "%.3f", figure.spread);
}

static struct ll_figure faster(struct ll_figure a, struct ll_figure b)
{
    return a.value > b.value ? a : b;
}

struct rates {
    struct ll_figure fastest, read;
};

static struct rates rates_of(struct ll_pool *pool, unsigned threads, uint64_t bytes)
{
    struct ll_streams streams = ll_probe_streams(pool, threads, bytes);
    return (struct rates){faster(streams.update, faster(streams.triad, streams.read)), streams.read};
}

/* `bytes` in use by all threads, `alone` by one. What all threads share is asked twice, some seconds apart:
 * others may share it, too. */
static void add_level(struct ll_facts *facts, struct ll_pool *pool, const char *level, uint64_t size,
                      uint64_t bytes, uint64_t alone)
{
    ll_facts_add(facts, ll_format(facts->arena, "probe.%s.size_bytes", level), "%" PRIu64, size);
    struct rates before = rates_of(pool, ll_pool_threads(pool), bytes), one = rates_of(pool, 1, alone);
    add_figure(facts, level, "alone_Bps", one.fastest);
    add_figure(facts, level, "alone_read_Bps", one.read);
    add_figure(facts, level, "latency_s", ll_probe_latency(alone));
    struct rates after = rates_of(pool, ll_pool_threads(pool), bytes);
    add_figure(facts, level, "bandwidth_Bps", faster(before.fastest, after.fastest));
    add_figure(facts, level, "read_Bps", faster(before.read, after.read));
}

/* Blocks that the caches of a core hold, still there or displaced. */
static void add_invalidation(struct ll_facts *facts, struct ll_pool *pool, uint64_t l2, uint64_t l3)
{
    if (l2 == 0 || ll_pool_threads(pool) < 2)
        return;
    ll_facts_add(facts, "probe.l2.invalidation_s", "%.4g", ll_probe_invalidation(pool, l2 / 4, 0));
    if (l3 > 0)
        ll_facts_add(facts, "probe.l3.invalidation_s", "%.4g", ll_probe_invalidation(pool, l2 / 4, 2 * l2));
}

static void add_rates(struct ll_facts *facts)
{
    add_figure(facts, "", "clock_hz", ll_probe_clock());
    add_figure(facts, "vector", "f32", ll_probe_vector_f32());
    add_figure(facts, "vector", "f64", ll_probe_vector_f64());
    add_figure(facts, "product", "f32", probe_product_f32());
    add_figure(facts, "product", "f64", probe_product_f64());
}

uint64_t ll_probe_past_l2(const struct ll_pool *pool, const struct ll_facts *facts)
{
    enum { TIMES_OVER = 4 };
    uint64_t l2 = ll_facts_number(facts, "host.cache.l2"), l3 = ll_facts_number(facts, "host.cache.l3");
    uint64_t past = TIMES_OVER * ll_pool_threads(pool) * l2;
    return past > 0 ? ll_min(past, l3 / 4) : l3 / 4;
}

uint64_t ll_probe_beyond(const struct ll_pool *pool, const struct ll_facts *facts)
{
    enum { LEAST_MEMORY = 1 << 27 };
    uint64_t l2 = ll_facts_number(facts, "host.cache.l2"), l3 = ll_facts_number(facts, "host.cache.l3");
    uint64_t caches = ll_max(l3, ll_pool_threads(pool) * l2);
    return ll_max(LEAST_MEMORY, ll_min(16 * caches, ll_facts_number(facts, "host.memory_bytes") / 8));
}

/* The probes from the fast to the slow ones, each told to the listener, who may end it between two. A level
 * is probed with sets that fill half of it, so that what else lies there disturbs little. */
void ll_probe_facts(struct ll_pool *pool, struct ll_facts *facts, const struct ll_listener *listener)
{
    static const char what[] = "cores and memory";
    uint64_t threads = ll_pool_threads(pool), l1 = ll_facts_number(facts, "host.cache.l1d");
    uint64_t l2 = ll_facts_number(facts, "host.cache.l2"), l3 = ll_facts_number(facts, "host.cache.l3");
    uint64_t all = ll_facts_number(facts, "host.memory_bytes"), largest = ll_probe_beyond(pool, facts);
    uint64_t past_l2 = ll_probe_past_l2(pool, facts);
    bool goes_on = ll_tell(listener, what, 0);
    add_rates(facts);
    goes_on = goes_on && ll_tell(listener, what, 0.1);
    if (goes_on && l1)
        add_level(facts, pool, "l1", l1, threads * l1 / 2, l1 / 2);
    if (goes_on && l2)
        add_level(facts, pool, "l2", l2, threads * l2 / 2, l2 / 2);
    if (goes_on)
        add_invalidation(facts, pool, l2, l3);
    goes_on = goes_on && ll_tell(listener, what, 0.3);
    if (goes_on && l3)
        add_level(facts, pool, "l3", l3, past_l2, past_l2);
    if (goes_on && ll_tell(listener, what, 0.6))
        add_level(facts, pool, "dram", all, largest, largest);
    ll_tell(listener, what, 1);
}
