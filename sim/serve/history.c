/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/serve/history.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "tracer/base/num.h"

static const double first_width_s = 1. / 1024; /* so that all widths divide exactly */

struct ll_serve_history *ll_serve_history_make(struct ll_arena *arena)
{
    struct ll_serve_history *h = ll_alloc(arena, 1, sizeof *h);
    if (!h)
        return NULL;
    *h = (struct ll_serve_history){.width_s = first_width_s,
                                   .requests = ll_alloc(arena, LL_HISTORY_REQUESTS, sizeof *h->requests),
                                   .stride = 1,
                                   .arena = arena};
    return h->requests ? h : NULL;
}

static struct ll_pool_history *pool_of(struct ll_serve_history *h, uint64_t pool)
{
    assert(pool < sizeof h->pools / sizeof *h->pools);
    if (!h->pools[pool])
        h->pools[pool] = ll_alloc(h->arena, 1, sizeof *h->pools[pool]);
    h->failed |= !h->pools[pool];
    return h->pools[pool];
}

static struct ll_instance_history *instance_of(struct ll_serve_history *h, struct ll_pool_history *pool,
                                               uint64_t instance)
{
    if (instance >= pool->instance_count) {
        uint64_t count = ll_max(instance + 1, 2 * pool->instance_count);
        struct ll_instance_history *more = ll_alloc(h->arena, count, sizeof *more);
        if (!more) {
            h->failed = true;
            return NULL;
        }
        if (pool->instance_count > 0)
            memcpy(more, pool->instances, pool->instance_count * sizeof *more);
        pool->instances = more;
        pool->instance_count = count;
    }
    return &pool->instances[instance];
}

/* Two intervals become one, in all pools. */
static void widen(struct ll_serve_history *h)
{
    h->width_s *= 2;
    for (size_t p = 0; p < sizeof h->pools / sizeof *h->pools; p++)
        for (size_t i = 0; h->pools[p] && i < LL_HISTORY_INTERVALS; i++) {
            const struct ll_interval none = {0};
            struct ll_interval *of = h->pools[p]->intervals;
            const struct ll_interval a = 2 * i < LL_HISTORY_INTERVALS ? of[2 * i] : none,
                                     b = 2 * i < LL_HISTORY_INTERVALS ? of[2 * i + 1] : none;
            of[i] = (struct ll_interval){.made = a.made + b.made,
                                         .prompt_tokens = a.prompt_tokens + b.prompt_tokens,
                                         .running_s = a.running_s + b.running_s,
                                         .waiting_s = a.waiting_s + b.waiting_s,
                                         .kv_s = a.kv_s + b.kv_s,
                                         .peak_kv = fmax(a.peak_kv, b.peak_kv),
                                         .busy_s = a.busy_s + b.busy_s};
        }
}

/* Adds to the intervals between two times: `each` holds what a second adds. */
static void spread(struct ll_serve_history *h, struct ll_pool_history *pool, double begin_s, double end_s,
                   const struct ll_interval *each)
{
    while (end_s > h->width_s * LL_HISTORY_INTERVALS)
        widen(h);
    for (size_t i = (size_t)(begin_s / h->width_s); i < LL_HISTORY_INTERVALS; i++) {
        double from_s = fmax(begin_s, (double)i * h->width_s),
               part_s = fmin(end_s, (double)(i + 1) * h->width_s) - from_s;
        struct ll_interval *at = &pool->intervals[i];
        if (!(part_s > 0))
            break;
        at->made += each->made * part_s;
        at->prompt_tokens += each->prompt_tokens * part_s;
        at->running_s += each->running_s * part_s;
        at->waiting_s += each->waiting_s * part_s;
        at->kv_s += each->kv_s * part_s;
        at->busy_s += each->busy_s * part_s;
        at->peak_kv = fmax(at->peak_kv, each->peak_kv);
    }
}

/* The state of an instance holds from its last step's begin to the next one's, or to its end. */
static void settle(struct ll_serve_history *h, struct ll_pool_history *pool,
                   struct ll_instance_history *instance, double until_s)
{
    const struct ll_step_seen *last = &instance->last;
    const double end_s = fmin(until_s, last->end_s), length_s = end_s - last->start_s;
    if (!(length_s > 0))
        return;
    spread(h, pool, last->start_s, end_s,
           &(struct ll_interval){.running_s = (double)last->running,
                                 .waiting_s = (double)last->waiting,
                                 .kv_s = last->kv_share,
                                 .peak_kv = last->kv_share});
    instance->running_s += (double)last->running * length_s;
    instance->waiting_s += (double)last->waiting * length_s;
}

void ll_serve_history_step(struct ll_serve_history *h, const struct ll_step_seen *step)
{
    struct ll_pool_history *pool = pool_of(h, step->pool);
    struct ll_instance_history *instance = pool ? instance_of(h, pool, step->instance) : NULL;
    const double length_s = step->end_s - step->start_s;
    uint64_t sequences = step->sequences + step->prompts, size = 0;
    if (!instance || !(length_s > 0))
        return;
    settle(h, pool, instance, step->start_s);
    instance->last = *step;
    spread(h, pool, step->start_s, step->end_s,
           &(struct ll_interval){.made = (double)step->made / length_s,
                                 .prompt_tokens = (double)step->prompt_tokens / length_s,
                                 .busy_s = step->device_s / length_s});
    while (size + 1 < LL_HISTORY_SIZES && UINT64_C(1) << size < sequences)
        size++;
    pool->sizes[size].steps++;
    *(step->prompts > 0 ? &pool->sizes[size].mixed_s : &pool->sizes[size].alone_s) += length_s;
    instance->steps++;
    instance->made += step->made;
    instance->prompt_tokens += step->prompt_tokens;
    instance->busy_s += step->device_s;
    instance->peak_kv = fmax(instance->peak_kv, step->kv_share);
}

void ll_serve_history_served(struct ll_serve_history *h, const struct ll_served *served)
{
    if (served->number % h->stride != 0)
        return;
    if (h->request_count == LL_HISTORY_REQUESTS) {
        uint64_t kept = 0;
        h->stride *= 2;
        for (uint64_t i = 0; i < h->request_count; i++)
            if (h->requests[i].number % h->stride == 0)
                h->requests[kept++] = h->requests[i];
        h->request_count = kept;
        if (served->number % h->stride != 0)
            return;
    }
    h->requests[h->request_count++] = *served;
}

void ll_serve_history_end(struct ll_serve_history *h)
{
    for (size_t p = 0; p < sizeof h->pools / sizeof *h->pools; p++)
        for (uint64_t i = 0; h->pools[p] && i < h->pools[p]->instance_count; i++)
            settle(h, h->pools[p], &h->pools[p]->instances[i], INFINITY);
}
