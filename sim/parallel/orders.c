/* SPDX-License-Identifier: Apache-2.0 */
/* Pipeline schedules: in which order a stage runs its passes.
 *
 * The first section has those that follow from the number of a pass alone (GPipe, 1F1B, interleaved,
 * breadth-first). The second writes those that have phases: zero bubble (Qi et al., Zero bubble pipeline
 * parallelism, 2023; ZB-V: Qi et al., Pipeline parallelism with controllable memory, 2024) and DualPipe
 * (DeepSeek-AI, DeepSeek-V3, 2024). F is a forward pass, B the half of a backward pass that gives the
 * gradient of the input, W the half that gives those of weights. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "sim/parallel/pipeline.h"
#include "tracer/base/num.h"

static const struct {
    const char *name;
    enum ll_placement placement;
    bool splits; /* B and W are passes of their own */
} kinds[LL_SCHEDULE_COUNT] = {
#define X(word, name, placement, splits, help) [LL_SCHEDULE_##word] = {name, LL_PLACED_##placement, splits},
    LL_SCHEDULE_LIST(X)
#undef X
};

const char *ll_schedule_name(enum ll_schedule schedule)
{
    assert(schedule < LL_SCHEDULE_COUNT);
    return kinds[schedule].name;
}

enum ll_placement ll_schedule_placement(enum ll_schedule schedule)
{
    assert(schedule < LL_SCHEDULE_COUNT);
    return kinds[schedule].placement;
}

bool ll_schedule_splits(enum ll_schedule schedule)
{
    assert(schedule < LL_SCHEDULE_COUNT);
    return kinds[schedule].splits;
}

/* Virtual stage c stages + s lies on stage s, or with FOLDED every second row of them on stages - 1 - s. With
 * BOTH_WAYS there are two models, the second of which begins on the last stage. */

uint64_t ll_vstage_at(enum ll_schedule schedule, uint64_t stages, uint64_t stage, uint64_t chunk)
{
    assert(stage < stages);
    bool back = ll_schedule_placement(schedule) != LL_PLACED_AROUND && chunk % 2 == 1;
    return chunk * stages + (back ? stages - 1 - stage : stage);
}

uint64_t ll_vstage_lies_on(enum ll_schedule schedule, uint64_t stages, uint64_t vstage)
{
    return ll_vstage_at(schedule, stages, vstage % stages, vstage / stages) % stages;
}

/* Passes of one direction through a stage. */
static uint64_t passes(const struct ll_pipeline_shape *shape)
{
    assert(shape->stages > 0 && shape->chunks > 0 && shape->micro_batches > 0);
    bool half = ll_schedule_placement(shape->schedule) == LL_PLACED_BOTH_WAYS;
    return ll_mul(shape->micro_batches, shape->chunks) / (half ? 2 : 1);
}

uint64_t ll_schedule_slot_count(const struct ll_pipeline_shape *shape)
{
    return (ll_schedule_splits(shape->schedule) ? 3 : 2) * passes(shape);
}

/* --- by number --- */

/* Forward passes before the first backward one. */
static uint64_t warm_up(const struct ll_pipeline_shape *shape, uint64_t stage)
{
    assert(stage < shape->stages);
    uint64_t behind = shape->stages - 1 - stage, all = passes(shape);
    switch (shape->schedule) {
    case LL_SCHEDULE_ONE_F_ONE_B:
        return ll_min(behind, all);
    case LL_SCHEDULE_INTERLEAVED:
        return shape->micro_batches == shape->stages
                   ? all
                   : ll_min(2 * behind + (shape->chunks - 1) * shape->stages, all);
    default:
        return all;
    }
}

/* The k-th pass of a direction: the chunks in turn, each for as many micro-batches as there are stages, or
 * breadth first for all of them. */
static struct ll_schedule_slot pass(const struct ll_pipeline_shape *shape, uint64_t k, bool backward)
{
    assert(k < passes(shape));
    uint64_t run = shape->schedule == LL_SCHEDULE_INTERLEAVED ? shape->stages : shape->micro_batches;
    uint64_t group = k / (run * shape->chunks), within = k % (run * shape->chunks), chunk = within / run;
    return (struct ll_schedule_slot){.backward = backward,
                                     .chunk = backward ? shape->chunks - 1 - chunk : chunk,
                                     .micro_batch = group * run + within % run};
}

/* Slot i of a schedule whose backward passes are whole. */
static struct ll_schedule_slot slot_at(const struct ll_pipeline_shape *shape, uint64_t stage, uint64_t i)
{
    assert(!ll_schedule_splits(shape->schedule));
    uint64_t ahead = warm_up(shape, stage), all = passes(shape);
    assert(stage < shape->stages && i < 2 * all);
    if (i < ahead)
        return pass(shape, i, false);
    uint64_t in_turn = i - ahead, pairs = all - ahead;
    if (in_turn >= 2 * pairs)
        return pass(shape, i - all, true);
    return in_turn % 2 == 0 ? pass(shape, ahead + in_turn / 2, false) : pass(shape, in_turn / 2, true);
}

/* --- by phases --- */

struct writing {
    const struct ll_pipeline_shape *shape;
    struct ll_schedule_slot *slots;
    uint64_t count;
    uint64_t done[3][2]; /* F, B, W by chunk: how many micro-batches have been written */
    uint64_t most;       /* micro-batches of a chunk; those beyond the shape's are left out */
    uint64_t first[2];   /* by chunk: its first micro-batch */
    uint8_t *queue;      /* chunks whose W waits, oldest first */
    uint64_t queued, begun;
};

enum { F, B, W };

static void put_slot(struct writing *w, int part, uint64_t chunk, bool joined)
{
    uint64_t micro_batch = w->done[part][chunk]++;
    assert(micro_batch < w->most);
    if (micro_batch >= w->shape->micro_batches)
        return;
    assert(w->count < ll_schedule_slot_count(w->shape));
    w->slots[w->count++] = (struct ll_schedule_slot){.backward = part != F,
                                                     .half = part == F   ? LL_WHOLE_PASS
                                                             : part == B ? LL_INPUT_HALF
                                                                         : LL_WEIGHT_HALF,
                                                     .joined = joined,
                                                     .chunk = chunk,
                                                     .micro_batch = w->first[chunk] + micro_batch};
}

/* ZB-H1 and ZB-H2: after `ahead` F, each B is followed by the W of `behind` micro-batches before it and by
 * an F. */
static void write_handcrafted(struct writing *w, uint64_t ahead, uint64_t behind)
{
    uint64_t all = w->most;
    for (uint64_t i = 0; i < ll_min(ahead, all); i++)
        put_slot(w, F, 0, false);
    for (uint64_t k = 0; k < all; k++) {
        put_slot(w, B, 0, false);
        if (k >= behind)
            put_slot(w, W, 0, false);
        if (w->done[F][0] < all)
            put_slot(w, F, 0, false);
    }
    while (w->done[W][0] < all)
        put_slot(w, W, 0, false);
}

static void write_parts(struct writing *w, uint64_t times, const char *parts)
{
    for (uint64_t i = 0; i < times; i++)
        for (const char *at = parts; *at; at += 2)
            put_slot(w, *at == 'F' ? F : *at == 'B' ? B : W, (uint64_t)(at[1] - '0'), false);
}

/* PyTorch's ScheduleZBVZeroBubble. */
static void write_zb_v(struct writing *w, uint64_t stage)
{
    const uint64_t p = w->shape->stages, all = w->most;
    write_parts(w, 2 * (p - stage) - 1, "F0");
    write_parts(w, stage, "F1F0");
    write_parts(w, p - stage, "F1B1W1");
    while (w->done[F][0] < all || w->done[F][1] < w->done[F][0]) {
        if (w->done[F][0] < all)
            put_slot(w, F, 0, false);
        write_parts(w, 1, "B0W0F1B1W1");
    }
    write_parts(w, stage, "B0B1");
    write_parts(w, p - stage, "B0W0");
    for (uint64_t chunk = 2; chunk-- > 0;)
        while (w->done[W][chunk] < w->done[B][chunk])
            put_slot(w, W, chunk, false);
}

/* A backward pass with both halves. */
static void write_backward(struct writing *w, uint64_t chunk, bool joined)
{
    put_slot(w, B, chunk, joined);
    put_slot(w, W, chunk, true);
}

static void write_split(struct writing *w, uint64_t chunk)
{
    put_slot(w, B, chunk, false);
    w->queue[w->queued++] = (uint8_t)chunk;
}

static void write_queued(struct writing *w)
{
    assert(w->begun < w->queued);
    put_slot(w, W, w->queue[w->begun++], false);
}

static void write_pair(struct writing *w, uint64_t forward, uint64_t backward, bool joined)
{
    put_slot(w, F, forward, false);
    write_backward(w, backward, joined);
}

/* DeepSeek's dualpipe.py and dualpipev.py: `half` ranks meet another one with which they share two stages,
 * q is this one's distance from the end, `a` the chunk with the smaller stage. */
static void write_dualpipe(struct writing *w, uint64_t half, uint64_t q, uint64_t a, uint64_t pairs)
{
    const uint64_t b = 1 - a, between = half - q - 1;
    for (uint64_t i = 0; i < 2 * between; i++)
        put_slot(w, F, a, false);
    for (uint64_t i = 0; i < q + 1; i++) {
        put_slot(w, F, a, false);
        put_slot(w, F, b, false);
    }
    for (uint64_t i = 0; i < between; i++) {
        write_split(w, b);
        write_queued(w);
        put_slot(w, F, b, false);
    }
    for (uint64_t i = 0; i < pairs; i++) {
        write_pair(w, a, b, i > 0 || between > 0);
        write_pair(w, b, a, true);
    }
    for (uint64_t i = 0; i < between; i++) {
        write_backward(w, b, false);
        write_pair(w, b, a, true);
    }
    for (uint64_t i = 0, split = (q + 1) / 2; i < q + 1; i++) {
        bool from_b = i > split || (i == split && q % 2 == 1);
        if (from_b)
            write_split(w, b);
        else
            write_backward(w, b, false);
        if (i >= split)
            write_split(w, a);
        else
            write_backward(w, a, false);
    }
    for (uint64_t i = 0; i < between; i++) {
        write_queued(w);
        write_split(w, a);
    }
    while (w->begun < w->queued)
        write_queued(w);
}

static void write_phases(struct writing *w, uint64_t stage)
{
    const uint64_t p = w->shape->stages, m = w->shape->micro_batches;
    switch (w->shape->schedule) {
    case LL_SCHEDULE_ZB_H1:
        write_handcrafted(w, p - stage, stage);
        break;
    case LL_SCHEDULE_ZB_H2:
        write_handcrafted(w, 2 * (p - stage) - 1, 2 * stage);
        break;
    case LL_SCHEDULE_ZB_V:
        write_zb_v(w, stage);
        break;
    case LL_SCHEDULE_DUALPIPE_V:
        write_dualpipe(w, p, stage, 0, m - 2 * p + stage + 1);
        break;
    default: {
        uint64_t q = ll_min(stage, p - 1 - stage);
        write_dualpipe(w, p / 2, q, stage < p / 2 ? 0 : 1, m / 2 - p + q + 1);
    }
    }
}

bool ll_schedule_order(const struct ll_pipeline_shape *shape, uint64_t stage, struct ll_schedule_slot *slots)
{
    assert(stage < shape->stages);
    uint64_t count = ll_schedule_slot_count(shape);
    for (uint64_t i = 0; !ll_schedule_splits(shape->schedule) && i < count; i++)
        slots[i] = slot_at(shape, stage, i);
    if (!ll_schedule_splits(shape->schedule))
        return true;
    struct writing w = {.shape = shape, .slots = slots, .most = shape->micro_batches};
    if (shape->schedule == LL_SCHEDULE_ZB_V)
        w.most = ll_max(w.most, 2 * shape->stages - 1);
    if (ll_schedule_placement(shape->schedule) == LL_PLACED_BOTH_WAYS)
        w.first[1] = w.most = shape->micro_batches / 2;
    w.queue = malloc(count);
    if (!w.queue)
        return false;
    write_phases(&w, stage);
    assert(w.count == count);
    free(w.queue);
    return true;
}

/* Counted along the order: what a forward pass keeps is free when all of its backward pass is done. */
static uint64_t count_in_flight(const struct ll_pipeline_shape *shape, uint64_t stage)
{
    uint64_t count = ll_schedule_slot_count(shape), flying = 0, most = 0;
    struct ll_schedule_slot *slots = malloc(count * sizeof *slots);
    if (!slots || !ll_schedule_order(shape, stage, slots))
        most = passes(shape); /* never more than these */
    for (uint64_t i = 0; slots && i < count; i++) {
        flying += !slots[i].backward;
        most = ll_max(most, flying);
        flying -= slots[i].half == LL_WEIGHT_HALF;
    }
    free(slots);
    return most;
}

/* Passes in flight of schedules whose backward passes come in halves: a stage of ZB-H1 keeps as many as there
 * are stages, of ZB-H2 as many as pass the last stage until the first one is back, ZB-V twice as many halves
 * of stages as there are stages, DualPipe one pass more than there are virtual stages of a model. */
static uint64_t split_in_flight(const struct ll_pipeline_shape *shape, uint64_t stage)
{
    const uint64_t p = shape->stages;
    switch (shape->schedule) {
    case LL_SCHEDULE_ZB_H1:
        return ll_min(p, passes(shape));
    case LL_SCHEDULE_ZB_H2:
        return ll_min(2 * p - 1, passes(shape));
    case LL_SCHEDULE_ZB_V: /* of so few micro-batches some of those in its order are left out */
        return shape->micro_batches < 2 * p - 1 ? count_in_flight(shape, stage) : 2 * p;
    case LL_SCHEDULE_DUALPIPE_V:
        return 2 * p + 1;
    default:
        return p + 1;
    }
}

uint64_t ll_slots_in_flight(const struct ll_pipeline_shape *shape, uint64_t stage)
{
    if (ll_schedule_splits(shape->schedule))
        return split_in_flight(shape, stage);
    return ll_min(warm_up(shape, stage) + 1, passes(shape));
}
