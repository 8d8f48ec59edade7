/* SPDX-License-Identifier: Apache-2.0 */
/* Streams as McCalpin's STREAM has them, and a walk along pointers (McVoy and Staelin, "lmbench", USENIX
 * 1996): the lines of a block are strung to one ring in no order, so that nothing can be fetched ahead. */
#include "models/micro/probe.h"

#include "models/micro/repeat.h"
#include "models/nn/kernel.h"
#include "tracer/base/clock.h"
#include "tracer/base/num.h"
#include "tracer/base/map.h"
#include "tracer/base/random.h"

enum { LINE_BYTES = 64, LEAST_BYTES = 1 << 27 }; /* bytes that a run streams at least */

struct stream {
    struct ll_pool *pool;
    float *memory;
    uint64_t floats; /* of one thread's part */
    uint64_t passes;
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

struct ll_streams ll_probe_streams(struct ll_pool *pool, unsigned threads, uint64_t bytes)
{
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

struct ll_figure ll_probe_latency(uint64_t bytes)
{
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
