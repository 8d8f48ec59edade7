/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/cli/rebatch.h"

#include "tracer/transform/rescale.h"

#include <inttypes.h>

enum { MOST_SAMPLES = 1 << 30 };

/* Whether the trace knows which dimensions are its batch, or can be told. */
static bool find_batch(struct ll_trace *trace, uint64_t was, const char **trouble)
{
    uint64_t said = ll_trace_batch(trace);
    *trouble = NULL;
    if (ll_trace_knows_batch(trace) && (was == 0 || was == said))
        return true;
    if (was == 0 && said == 0)
        *trouble = "it does not say what its batch is: give it by --batch-was";
    else if (ll_trace_knows_batch(trace))
        *trouble = "its batch is known, and is not what --batch-was says";
    return !*trouble && ll_trace_find_batch(trace, was ? was : said, trouble);
}

/* The trace at this batch, 0: at the one it was recorded at, which `was` says where it does not itself. */
static struct ll_trace *take_batch(struct ll_trace *trace, uint64_t batch, uint64_t was, const char *path,
                                   int *status)
{
    const char *trouble = NULL;
    struct ll_trace *other = NULL;
    if (batch == 0 && was == 0)
        return trace;
    if (find_batch(trace, was, &trouble))
        other = ll_trace_rescale(trace, batch ? batch : was, &trouble);
    if (!other)
        *status = trouble ? ll_wrong("%s at a batch of %" PRIu64 ": %s", path, batch ? batch : was, trouble)
                          : ll_failed("memory ran out");
    ll_trace_free(trace);
    return other;
}

static struct ll_trace *give_up(struct ll_trace *trace, int *status)
{
    *status = LL_WRONG;
    ll_trace_free(trace);
    return NULL;
}

struct ll_trace *ll_rebatch(const struct ll_args *args, struct ll_trace *trace, const char *path, int *status)
{
    uint64_t batch, was;
    *status = LL_DONE;
    if (!ll_value_count(args, "batch", 1, MOST_SAMPLES, 0, &batch) ||
        !ll_value_count(args, "batch-was", 1, MOST_SAMPLES, 0, &was))
        return give_up(trace, status);
    return take_batch(trace, batch, was, path, status);
}

struct ll_trace *ll_know_batch(const struct ll_args *args, struct ll_trace *trace, const char *path,
                               int *status)
{
    uint64_t was;
    *status = LL_DONE;
    if (!ll_value_count(args, "batch-was", 1, MOST_SAMPLES, 0, &was))
        return give_up(trace, status);
    if (was == 0 && ll_trace_batch(trace) == 0) {
        ll_wrong("%s does not say how many samples a step has: give them by --batch-was", path);
        return give_up(trace, status);
    }
    const char *trouble = NULL;
    if (was == 0 && !ll_trace_knows_batch(trace) && !find_batch(trace, 0, &trouble) && !trouble) {
        *status = ll_failed("memory ran out");
        ll_trace_free(trace);
        return NULL;
    }
    if (trouble)
        ll_wrong("%s: only micro-batches of its own %" PRIu64 " samples can be tried: %s", path,
                 ll_trace_batch(trace), trouble);
    return take_batch(trace, 0, was, path, status);
}
