/* SPDX-License-Identifier: Apache-2.0 */
/* The loops stand like the wheels of a counter. A run is one turn of the innermost loop, the only place where
 * speed matters: there addresses advance by constants, and guards, being affine, hold for one interval of its
 * trips. After a run the wheels turn: outer loops write what they held, step on, and read what comes next.
 * A turn of the wheels touches each reference once at most, hence the room that ll_stream_fill wants. */
#include "sim/memory/streams.h"

#include "sim/memory/cache.h"
#include "tracer/base/num.h"
#include "tracer/base/random.h"

#include <assert.h>

/* Loops around and including the last one that moves the reference. */
static uint32_t depth_of(const struct ll_nest *nest, const struct ll_nest_ref *ref)
{
    for (uint32_t depth = nest->loop_count; depth > 0; depth--) {
        const struct ll_nest_loop *loop = &nest->loops[depth - 1];
        if (ref->stride[loop->dim] && nest->size[loop->dim] > 1)
            return depth;
    }
    return 0;
}

void ll_stream_begin(struct ll_stream *stream, const struct ll_nest *nest)
{
    assert(nest->loop_count > 0);
    *stream = (struct ll_stream){.nest = nest};
    for (uint32_t d = 0; d < LL_NEST_DIMS; d++)
        stream->stop[d] = nest->size[d];
    for (uint32_t r = 0; r < nest->ref_count; r++)
        stream->depth[r] = depth_of(nest, &nest->refs[r]);
}

/* Added, not put in: before a guard holds an address may lie below zero. */
static uint64_t address_of(const struct ll_nest_ref *ref, const uint64_t *x)
{
    uint64_t address = ref->base + (ref->write ? LL_CACHE_WRITE : 0);
    for (uint32_t d = 0; d < LL_NEST_DIMS; d++) {
        bool picked = ref->rows && d == ref->picked;
        address += ref->stride[d] * (picked ? ll_random_bits(ref->rows, x[d]) % ref->rows : x[d]);
    }
    return address;
}

static int64_t guarded(const struct ll_nest_guard *guard, const uint64_t *x)
{
    uint64_t value = (uint64_t)guard->offset;
    for (uint32_t d = 0; d < LL_NEST_DIMS; d++)
        value += guard->slope[d] * x[d];
    return (int64_t)value;
}

static bool holds(const struct ll_nest_ref *ref, const uint64_t *x)
{
    for (uint32_t g = 0; g < ref->guard_count; g++)
        if ((uint64_t)guarded(&ref->guards[g], x) >= ref->guards[g].limit)
            return false;
    return true;
}

/* The references of one depth that are read, or those that are written. */
static size_t touch(const struct ll_stream *stream, uint32_t depth, bool write, uint64_t *accesses, size_t n)
{
    for (uint32_t r = 0; r < stream->nest->ref_count; r++) {
        const struct ll_nest_ref *ref = &stream->nest->refs[r];
        if (stream->depth[r] == depth && ref->write == write && holds(ref, stream->x))
            accesses[n++] = address_of(ref, stream->x);
    }
    return n;
}

/* Sets loops from `loop` inward to their beginning. */
static size_t enter(struct ll_stream *stream, uint32_t loop, uint64_t *accesses, size_t n)
{
    const struct ll_nest *nest = stream->nest;
    for (; loop < nest->loop_count; loop++) {
        const struct ll_nest_loop *is = &nest->loops[loop];
        stream->start[loop] = stream->x[is->dim];
        stream->end[loop] = ll_min(ll_add(stream->start[loop], is->span), stream->stop[is->dim]);
        stream->outer_stop[loop] = stream->stop[is->dim];
        stream->stop[is->dim] = stream->end[loop];
        if (loop + 1 < nest->loop_count)
            n = touch(stream, loop + 1, false, accesses, n);
    }
    return n;
}

static void leave(struct ll_stream *stream, uint32_t loop)
{
    uint32_t dim = stream->nest->loops[loop].dim;
    stream->x[dim] = stream->start[loop];
    stream->stop[dim] = stream->outer_stop[loop];
}

/* The innermost loop has ended; the next one around it that has not takes a step. */
static size_t step(struct ll_stream *stream, uint64_t *accesses, size_t n)
{
    const struct ll_nest *nest = stream->nest;
    uint32_t loop = nest->loop_count - 1;
    leave(stream, loop);
    while (loop-- > 0) {
        const struct ll_nest_loop *is = &nest->loops[loop];
        n = touch(stream, loop + 1, true, accesses, n);
        stream->x[is->dim] += is->step;
        if (stream->x[is->dim] < stream->end[loop]) {
            n = touch(stream, loop + 1, false, accesses, n);
            return enter(stream, loop + 1, accesses, n);
        }
        leave(stream, loop);
    }
    stream->done = true;
    return touch(stream, 0, true, accesses, n);
}

/* A reference of the innermost loop: made in the trips from first to end. */
struct runner {
    uint64_t address, advance;
    uint64_t first, count;
};

/* Trips until offset + slope trip reaches a bound. */
static uint64_t trips_until(int64_t offset, uint64_t slope, uint64_t bound, uint64_t trips)
{
    if (offset >= 0 && (uint64_t)offset >= bound)
        return 0;
    uint64_t missing = bound - (uint64_t)offset;
    return slope == 0 ? trips : ll_min(trips, ll_ceil_div(missing, slope));
}

static struct runner runner_of(const struct ll_stream *stream, const struct ll_nest_ref *ref, uint64_t trips)
{
    const struct ll_nest_loop *inner = &stream->nest->loops[stream->nest->loop_count - 1];
    struct runner runner = {.address = address_of(ref, stream->x),
                            .advance = ref->stride[inner->dim] * inner->step};
    uint64_t end = trips;
    for (uint32_t g = 0; g < ref->guard_count; g++) {
        const struct ll_nest_guard *guard = &ref->guards[g];
        int64_t offset = guarded(guard, stream->x);
        uint64_t slope = guard->slope[inner->dim] * inner->step;
        runner.first = ll_max(runner.first, trips_until(offset, slope, 0, trips));
        end = ll_min(end, trips_until(offset, slope, guard->limit, trips));
    }
    runner.count = end > runner.first ? end - runner.first : 0;
    return runner;
}

/* As many trips of the innermost loop as there is room for; it has ended when x has come to its end. */
static size_t run(struct ll_stream *stream, uint64_t *accesses, size_t n, size_t room)
{
    const struct ll_nest *nest = stream->nest;
    uint32_t innermost = nest->loop_count - 1, count = 0;
    uint64_t *x = &stream->x[nest->loops[innermost].dim], by = nest->loops[innermost].step;
    uint64_t trips = ll_ceil_div(stream->end[innermost] - *x, by);
    struct runner runners[LL_NEST_REFS];
    for (int write = 0; write < 2; write++)
        for (uint32_t r = 0; r < nest->ref_count; r++)
            if (stream->depth[r] == innermost + 1 && nest->refs[r].write == write)
                runners[count++] = runner_of(stream, &nest->refs[r], trips);
    trips = ll_min(trips, (room - n) / (count ? count : 1));
    for (uint64_t trip = 0; trip < trips; trip++)
        for (uint32_t r = 0; r < count; r++) {
            accesses[n] = runners[r].address;
            n += trip - runners[r].first < runners[r].count;
            runners[r].address += runners[r].advance;
        }
    *x += trips * by;
    return n;
}

size_t ll_stream_fill(struct ll_stream *stream, uint64_t *accesses, size_t room)
{
    uint32_t innermost = stream->nest->loop_count - 1;
    const uint64_t *x = &stream->x[stream->nest->loops[innermost].dim];
    size_t n = 0;
    assert(room >= 4 * LL_NEST_REFS);
    if (!stream->begun) {
        stream->begun = true;
        n = touch(stream, 0, false, accesses, n);
        n = enter(stream, 0, accesses, n);
    }
    while (!stream->done && room - n >= 3 * LL_NEST_REFS) {
        n = run(stream, accesses, n, room - LL_NEST_REFS);
        if (*x >= stream->end[innermost])
            n = step(stream, accesses, n);
    }
    return n;
}
