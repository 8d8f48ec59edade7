/* SPDX-License-Identifier: Apache-2.0 */
/* Stages take turns: each goes on with its slots as long as what they need has come. A stage has three
 * clocks, as it has streams in pipeline.c: when it is done computing, and when each of its links is free. */
#include "sim/parallel/turns.h"

#include "tracer/base/num.h"

#include <math.h>
#include <stdlib.h>

enum { FULL = 4 }; /* micro-batches for each stage, of which the last ones tell what further ones take */

struct clocks {
    double done_s, on_s, back_s;
    uint64_t next; /* slot */
};

struct playing {
    const struct ll_turns *turns;
    struct ll_pipeline_shape shape; /* with the micro-batches that are played */
    struct clocks *clocks;          /* by stage */
    double
        *there_s[2]; /* forward, backward; by piece and micro-batch: what it needs has come, < 0: not yet */
};

static double *there(const struct playing *p, bool backward, uint64_t piece, uint64_t micro_batch)
{
    return &p->there_s[backward][piece * p->shape.micro_batches + micro_batch];
}

static void hand_on(struct playing *p, struct clocks *clocks, const struct ll_schedule_slot *slot,
                    uint64_t piece)
{
    uint64_t last = p->shape.stages * p->shape.chunks - 1;
    if (slot->backward ? piece == 0 : piece == last) {
        if (!slot->backward) /* what the last piece made of it goes back at once */
            *there(p, true, last, slot->micro_batch) = clocks->done_s;
        return;
    }
    double *link_s = slot->backward ? &clocks->back_s : &clocks->on_s;
    uint64_t to = slot->backward ? piece - 1 : piece + 1;
    *link_s = fmax(*link_s, clocks->done_s) + p->turns->message_s[slot->backward ? to : piece];
    *there(p, slot->backward, to, slot->micro_batch) = *link_s;
}

/* As many slots of a stage as can be; their number. */
static uint64_t take_turn(struct playing *p, uint64_t stage, uint64_t slots)
{
    struct clocks *clocks = &p->clocks[stage];
    uint64_t before = clocks->next;
    for (; clocks->next < slots; clocks->next++) {
        struct ll_schedule_slot slot = ll_schedule_slot_at(&p->shape, stage, clocks->next);
        uint64_t piece = slot.chunk * p->shape.stages + stage;
        double there_s = *there(p, slot.backward, piece, slot.micro_batch);
        if (there_s < 0)
            break;
        const struct ll_piece_times *times = &p->turns->pieces[piece];
        clocks->done_s =
            fmax(clocks->done_s, there_s) + (slot.backward ? times->backward_s : times->forward_s);
        hand_on(p, clocks, &slot, piece);
    }
    return clocks->next - before;
}

static double end_s(const struct playing *p)
{
    double end_s = 0;
    for (uint64_t stage = 0; stage < p->shape.stages; stage++) {
        double tail_s = 0;
        for (uint64_t chunk = 0; chunk < p->shape.chunks; chunk++)
            tail_s += p->turns->pieces[chunk * p->shape.stages + stage].tail_s;
        end_s = fmax(end_s, p->clocks[stage].done_s + tail_s);
    }
    return end_s;
}

static bool play(const struct ll_turns *turns, uint64_t micro_batches, double *time_s)
{
    struct playing p = {.turns = turns, .shape = turns->shape};
    p.shape.micro_batches = micro_batches;
    uint64_t places = ll_mul(p.shape.stages * p.shape.chunks, micro_batches);
    uint64_t slots = ll_schedule_slot_count(&p.shape), left = ll_mul(slots, p.shape.stages);
    p.clocks = calloc(p.shape.stages, sizeof *p.clocks);
    for (int way = 0; way < 2; way++)
        p.there_s[way] = calloc(places, sizeof *p.there_s[way]);
    bool done = p.clocks && p.there_s[0] && p.there_s[1];
    for (uint64_t i = 0; done && i < places; i++) {
        p.there_s[false][i] = i < micro_batches ? 0 : -1; /* of the first piece all are there */
        p.there_s[true][i] = -1;
    }
    while (done && left > 0)
        for (uint64_t stage = 0; stage < p.shape.stages; stage++)
            left -= take_turn(&p, stage, slots);
    if (done)
        *time_s = end_s(&p);
    free(p.clocks);
    free(p.there_s[0]);
    free(p.there_s[1]);
    return done;
}

bool ll_turns_s(const struct ll_turns *turns, double *time_s)
{
    uint64_t all = turns->shape.micro_batches, stages = turns->shape.stages, most = FULL * stages;
    double before_s, full_s;
    if (all <= most)
        return play(turns, all, time_s);
    if (!play(turns, most - stages, &before_s) || !play(turns, most, &full_s))
        return false;
    *time_s = full_s + (double)(all - most) / (double)stages * (full_s - before_s);
    return true;
}
