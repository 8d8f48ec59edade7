/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/parallel/schedule.h"

#include "tracer/base/num.h"

#include <assert.h>

static const char *const names[LL_SCHEDULE_COUNT] = {
#define X(word, name, help) name,
    LL_SCHEDULE_LIST(X)
#undef X
};

const char *ll_schedule_name(enum ll_schedule schedule)
{
    assert(schedule < LL_SCHEDULE_COUNT);
    return names[schedule];
}

/* Passes of one direction through a stage. */
static uint64_t passes(const struct ll_pipeline_shape *shape)
{
    return shape->micro_batches * shape->chunks;
}

uint64_t ll_schedule_slot_count(const struct ll_pipeline_shape *shape)
{
    return 2 * passes(shape);
}

/* Forward passes before the first backward one. */
static uint64_t warm_up(const struct ll_pipeline_shape *shape, uint64_t stage)
{
    uint64_t behind = shape->stages - 1 - stage, all = passes(shape);
    switch (shape->schedule) {
    case LL_SCHEDULE_GPIPE:
        return all;
    case LL_SCHEDULE_ONE_F_ONE_B:
        return ll_min(behind, all);
    default:
        return shape->micro_batches == shape->stages
                   ? all
                   : ll_min(2 * behind + (shape->chunks - 1) * shape->stages, all);
    }
}

/* The k-th pass of a direction: the chunks in turn, each for as many micro-batches as there are stages. */
static struct ll_schedule_slot pass(const struct ll_pipeline_shape *shape, uint64_t k, bool backward)
{
    if (shape->schedule != LL_SCHEDULE_INTERLEAVED)
        return (struct ll_schedule_slot){.backward = backward, .micro_batch = k};
    uint64_t group = k / (shape->stages * shape->chunks), within = k % (shape->stages * shape->chunks);
    uint64_t chunk = within / shape->stages;
    return (struct ll_schedule_slot){.backward = backward,
                                     .chunk = backward ? shape->chunks - 1 - chunk : chunk,
                                     .micro_batch = group * shape->stages + within % shape->stages};
}

struct ll_schedule_slot ll_schedule_slot_at(const struct ll_pipeline_shape *shape, uint64_t stage, uint64_t i)
{
    uint64_t ahead = warm_up(shape, stage), all = passes(shape);
    assert(stage < shape->stages && i < 2 * all);
    if (i < ahead)
        return pass(shape, i, false);
    uint64_t in_turn = i - ahead, pairs = all - ahead;
    if (in_turn >= 2 * pairs)
        return pass(shape, i - all, true);
    return in_turn % 2 == 0 ? pass(shape, ahead + in_turn / 2, false) : pass(shape, in_turn / 2, true);
}

uint64_t ll_slots_in_flight(const struct ll_pipeline_shape *shape, uint64_t stage)
{
    return ll_min(warm_up(shape, stage) + 1, passes(shape));
}
