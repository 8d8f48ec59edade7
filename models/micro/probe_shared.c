/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of which several cores have copies: who writes one has to have the others drop it first. All threads
 * read the same block; then each writes its own part, which takes so much longer than where it has read that
 * part alone. */
#include "models/micro/probe.h"

#include "models/micro/repeat.h"
#include "models/nn/kernel.h"
#include "tracer/base/clock.h"
#include "tracer/base/num.h"
#include "tracer/base/map.h"

enum { LINE_BYTES = 64 };

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

static void read_part(void *context, uint64_t begin, uint64_t end, uint64_t part)
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
    ll_pool_run(b->pool, threads, 1, read_part, b);
    uint64_t begin_ns = ll_now_ns();
    ll_pool_run(b->pool, threads, 1, write_part, b);
    return (double)(ll_now_ns() - begin_ns) * 1e-9;
}

double ll_probe_invalidation(struct ll_pool *pool, uint64_t bytes, uint64_t away)
{
    enum { TRIES = 201 };
    uint64_t threads = ll_pool_threads(pool), part = bytes / threads / LINE_BYTES * LINE_BYTES;
    if (threads < 2 || part == 0)
        return 0;
    struct block b = {.pool = pool,
                      .memory = ll_probe_memory(threads * part),
                      .away = away > 0 ? ll_probe_memory(threads * away) : NULL,
                      .floats = part / sizeof(float),
                      .away_floats = away / sizeof(float)};
    double alone[TRIES], shared[TRIES], line_s = 0;
    if (b.memory && (b.away || away == 0)) {
        for (int i = 0; i < TRIES; i++) {
            alone[i] = written_s(&b, false);
            shared[i] = written_s(&b, true);
        }
        line_s = (ll_median(shared, TRIES) - ll_median(alone, TRIES)) * LINE_BYTES / (double)part;
    }
    if (b.memory)
        ll_probe_release(b.memory, threads * part);
    if (b.away)
        ll_probe_release(b.away, threads * away);
    return line_s > 0 ? line_s : 0;
}
