/* SPDX-License-Identifier: Apache-2.0 */
/* Pipeline schedules and the time of a pipeline's step.
 *
 * The sections: the order of passes on a stage (GPipe, 1F1B, interleaved), the time of that order for the
 * many plans of a search, the same as tasks of ranks that wait for each other (ranks.c), and exchanges among
 * replicas beside the passes. */
#include "sim/parallel/schedule.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "sim/parallel/ranks.h"
#include "tracer/base/num.h"

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

/* Stages take turns: each goes on with its slots as long as what they need has come. A stage has three
 * clocks, as it has streams in ll_pipeline_run: when it is done computing, and when each of its
 * links is free. */

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

/* Streams of a stage: it computes, it sends to those behind it, it sends to those before it. */
enum { STREAM_COMPUTE, STREAM_ON, STREAM_BACK };

struct builder {
    const struct ll_pipeline *pipeline;
    struct ll_ranks *ranks;
    uint32_t *after; /* receives of the slot under way */
    uint32_t *last;  /* by stage: its last slot */
};

/* Equal for the messages of a micro-batch from one piece to another. */
static uint64_t tag_of(const struct ll_pipeline *pipeline, const struct ll_piece_message *message,
                       uint64_t micro_batch)
{
    return (uint64_t)(message - pipeline->messages) * pipeline->shape.micro_batches + micro_batch;
}

static uint32_t receive_all(struct builder *b, uint64_t stage, uint64_t piece,
                            const struct ll_schedule_slot *slot)
{
    const struct ll_pipeline *pipeline = b->pipeline;
    uint32_t count = 0;
    for (uint64_t i = 0; i < pipeline->message_count; i++) {
        const struct ll_piece_message *message = &pipeline->messages[i];
        if (message->to != piece || message->backward != slot->backward)
            continue;
        struct ll_rank_task task = {.kind = LL_TASK_RECEIVE,
                                    .rank = (uint32_t)stage,
                                    .stream = LL_NO_STREAM,
                                    .other = (uint32_t)(message->from % pipeline->shape.stages),
                                    .tag = tag_of(pipeline, message, slot->micro_batch),
                                    .name = "receive"};
        b->after[count++] = ll_ranks_add(b->ranks, &task, NULL, 0);
    }
    return count;
}

static void send_all(struct builder *b, uint64_t stage, uint64_t piece, const struct ll_schedule_slot *slot,
                     uint32_t done)
{
    const struct ll_pipeline *pipeline = b->pipeline;
    for (uint64_t i = 0; i < pipeline->message_count; i++) {
        const struct ll_piece_message *message = &pipeline->messages[i];
        if (message->from != piece || message->backward != slot->backward)
            continue;
        struct ll_rank_task task = {.kind = LL_TASK_SEND,
                                    .rank = (uint32_t)stage,
                                    .stream = message->backward ? STREAM_BACK : STREAM_ON,
                                    .time_s = message->time_s,
                                    .other = (uint32_t)(message->to % pipeline->shape.stages),
                                    .tag = tag_of(pipeline, message, slot->micro_batch),
                                    .name = "send"};
        ll_ranks_add(b->ranks, &task, &done, 1);
    }
}

/* What is computed in the backward pass needs the forward pass of the same piece: it comes before it on the
 * stream. */
static void add_stage(struct builder *b, uint64_t stage)
{
    const struct ll_pipeline *pipeline = b->pipeline;
    uint64_t slots = ll_schedule_slot_count(&pipeline->shape);
    for (uint64_t i = 0; i < slots; i++) {
        struct ll_schedule_slot slot = ll_schedule_slot_at(&pipeline->shape, stage, i);
        uint64_t piece = slot.chunk * pipeline->shape.stages + stage;
        const struct ll_piece_times *times = &pipeline->pieces[piece];
        uint32_t received = receive_all(b, stage, piece, &slot);
        struct ll_rank_task task = {.kind = LL_TASK_WORK,
                                    .rank = (uint32_t)stage,
                                    .stream = STREAM_COMPUTE,
                                    .time_s = slot.backward ? times->backward_s : times->forward_s,
                                    .name = slot.backward ? "backward" : "forward"};
        b->last[stage] = ll_ranks_add(b->ranks, &task, b->after, received);
        send_all(b, stage, piece, &slot, b->last[stage]);
    }
}

static double tail_s(const struct ll_pipeline *pipeline, uint64_t stage)
{
    double sum_s = 0;
    for (uint64_t chunk = 0; chunk < pipeline->shape.chunks; chunk++)
        sum_s += pipeline->pieces[chunk * pipeline->shape.stages + stage].tail_s;
    return sum_s;
}

static double busy_s(const struct ll_pipeline *pipeline, uint64_t stage)
{
    double pass_s = 0;
    for (uint64_t chunk = 0; chunk < pipeline->shape.chunks; chunk++) {
        const struct ll_piece_times *times = &pipeline->pieces[chunk * pipeline->shape.stages + stage];
        pass_s += times->forward_s + times->backward_s;
    }
    return (double)pipeline->shape.micro_batches * pass_s + tail_s(pipeline, stage);
}

static void sum_up(const struct builder *b, struct ll_pipeline_result *result)
{
    const struct ll_pipeline *pipeline = b->pipeline;
    *result = (struct ll_pipeline_result){0};
    for (uint64_t stage = 0; stage < pipeline->shape.stages; stage++) {
        double busy = busy_s(pipeline, stage);
        result->time_s =
            fmax(result->time_s, ll_ranks_end_s(b->ranks, b->last[stage]) + tail_s(pipeline, stage));
        if (busy > result->busy_s) {
            result->busy_s = busy;
            result->slowest = stage;
        }
    }
    for (uint64_t stage = 0; stage < pipeline->shape.stages; stage++)
        result->idle_s += fmax(0, result->time_s - busy_s(pipeline, stage));
}

bool ll_pipeline_run(const struct ll_pipeline *pipeline, struct ll_pipeline_result *result)
{
    struct builder b = {.pipeline = pipeline, .ranks = ll_ranks_new()};
    struct ll_diags diags = {0};
    b.after = malloc((pipeline->message_count + 1) * sizeof *b.after);
    b.last = malloc(pipeline->shape.stages * sizeof *b.last);
    bool done = b.ranks && b.after && b.last;
    for (uint64_t stage = 0; done && stage < pipeline->shape.stages; stage++)
        add_stage(&b, stage);
    done = done && ll_ranks_run(b.ranks, &diags);
    assert(diags.count == 0); /* schedules are right for all shapes */
    if (done)
        sum_up(&b, result);
    ll_diags_release(&diags);
    ll_ranks_free(b.ranks);
    free(b.after);
    free(b.last);
    return done;
}

/* Two clocks go along the layers: when the device, and when the network, is done with what it was given. A
 * layer starts with its weights there, and asks for those of the next as soon as the one before it is done.
 * The first of a piece has nobody who asks early. */

struct beside_pass {
    const struct ll_beside *beside;
    uint64_t stage;
    double device_s, network_s; /* done at */
    double weights_s;           /* those of the next layer are there at */
    double bucket_bytes;        /* gradients that wait */
    double taken;               /* the largest share of the units that an exchange has kept busy */
    bool failed;                /* memory ran out */
};

/* Of so many replicas, as far apart; *levels: those of the network that it uses. */
static bool among_s(struct ll_exchanges *exchanges, enum ll_op_kind kind, double bytes, uint64_t replicas,
                    uint64_t apart, double *time_s, uint32_t *levels)
{
    struct ll_asked asked = {.kind = kind, .bytes = (uint64_t)bytes, .devices = replicas, .stride = apart};
    const struct ll_price *price = replicas > 1 ? ll_exchanges_price(exchanges, &asked) : NULL;
    *time_s = price && !price->trouble ? price->exchanged.time_s : 0;
    *levels |= price ? price->levels : 0;
    return price || replicas <= 1;
}

static bool among_replicas_s(struct ll_exchanges *exchanges, const struct ll_parallel *plan,
                             enum ll_op_kind kind, double bytes, double *time_s, uint32_t *levels)
{
    uint64_t sharing = ll_replicas_sharing(plan), alike = ll_replicas(plan) / sharing;
    double alike_s = 0;
    bool adds_alike = kind == LL_OP_REDUCE_SCATTER && alike > 1;
    if (kind == LL_OP_ALL_REDUCE)
        return among_s(exchanges, kind, bytes, ll_replicas(plan), plan->tensor, time_s, levels);
    bool priced = among_s(exchanges, kind, bytes, sharing, plan->tensor, time_s, levels) &&
                  (!adds_alike || among_s(exchanges, LL_OP_ALL_REDUCE, bytes / (double)sharing, alike,
                                          plan->tensor * sharing, &alike_s, levels));
    *time_s += alike_s;
    return priced;
}

bool ll_among_replicas_s(struct ll_exchanges *exchanges, const struct ll_parallel *plan, enum ll_op_kind kind,
                         double bytes, double *time_s)
{
    uint32_t levels = 0;
    return among_replicas_s(exchanges, plan, kind, bytes, time_s, &levels);
}

/* The network takes up an exchange once `since` is over. */
static void exchange(struct beside_pass *pass, enum ll_op_kind kind, double bytes, double since)
{
    const struct ll_beside *beside = pass->beside;
    double time_s = 0;
    uint32_t levels = 0;
    if (bytes <= 0)
        return;
    if (!among_replicas_s(beside->exchanges, beside->plan, kind, bytes, &time_s, &levels))
        pass->failed = true;
    pass->network_s = fmax(pass->network_s, since) + time_s;
    for (unsigned l = 0; levels >> l; l++)
        if (levels >> l & 1)
            pass->taken = fmax(pass->taken, beside->machine->networks[l].units_taken);
}

/* What is computed from start_s on, of which units hold back units_s, ends later beside exchanges: as
 * sim/replay/engine.c has it of an op. */
static double end_beside_s(const struct beside_pass *pass, double start_s, double alone_s, double units_s)
{
    double longer_s = alone_s + units_s * pass->taken / (1 - pass->taken);
    double beside_s = fmin(fmax(0, pass->network_s - start_s), longer_s);
    return start_s + alone_s + (longer_s > alone_s ? beside_s * (1 - alone_s / longer_s) : 0);
}

static void gather(struct beside_pass *pass, double bytes, double since)
{
    if (pass->beside->gathers)
        exchange(pass, LL_OP_ALL_GATHER, bytes, since);
    pass->weights_s = pass->beside->gathers && bytes > 0 ? pass->network_s : 0;
}

/* Gradients go when there is a bucket of them. */
static void sum(struct beside_pass *pass, double gradient_bytes, bool rest)
{
    const struct ll_parallel *plan = pass->beside->plan;
    pass->bucket_bytes += gradient_bytes;
    if (!pass->beside->sums || (!rest && pass->bucket_bytes < (double)plan->bucket_bytes))
        return;
    exchange(pass, plan->zero > 0 ? LL_OP_REDUCE_SCATTER : LL_OP_ALL_REDUCE, pass->bucket_bytes,
             pass->device_s);
    pass->bucket_bytes = 0;
}

/* A layer, whose weights have been asked for where it is not the first of its piece; `next` comes after it
 * there, NULL: none does. */
static void forward(struct beside_pass *pass, const struct ll_layer_cost *layer,
                    const struct ll_layer_cost *next, bool first)
{
    double before_s = pass->device_s;
    if (first)
        gather(pass, layer->forward_read_bytes, before_s);
    double start_s = fmax(before_s, pass->weights_s);
    gather(pass, next ? next->forward_read_bytes : 0, before_s);
    pass->device_s = end_beside_s(pass, start_s, layer->forward_s, layer->forward_units_s);
}

static void backward(struct beside_pass *pass, const struct ll_layer_cost *layer,
                     const struct ll_layer_cost *next, bool first)
{
    bool again = pass->beside->plan->recompute == LL_RECOMPUTE_FULL;
    double before_s = pass->device_s;
    if (first)
        gather(pass, layer->backward_read_bytes, before_s);
    double start_s = fmax(before_s, pass->weights_s);
    gather(pass, next ? next->backward_read_bytes : 0, before_s);
    double again_s = again ? layer->again_s : 0, units_s = layer->backward_units_s;
    if (again_s > 0) /* what comes twice is held back as all of the layer is going forward */
        units_s += layer->forward_units_s * (again_s / layer->forward_s);
    pass->device_s = end_beside_s(pass, start_s, layer->backward_s + again_s, units_s);
    sum(pass, layer->state.gradient, false);
}

static bool is_of(const struct beside_pass *pass, uint32_t layer)
{
    return pass->beside->part_of[layer] % pass->beside->plan->pipeline == pass->stage;
}

/* The layer, when it is of the same piece as the one beside it. */
static const struct ll_layer_cost *same_piece(const struct beside_pass *pass, uint32_t layer, uint32_t beside)
{
    const struct ll_beside *b = pass->beside;
    return layer < b->costs->count && b->part_of[layer] == b->part_of[beside] ? &b->costs->at[layer] : NULL;
}

bool ll_beside_s(const struct ll_beside *beside, uint64_t stage, double *time_s)
{
    struct beside_pass pass = {.beside = beside, .stage = stage};
    for (uint32_t i = 0; i < beside->costs->count; i++)
        if (is_of(&pass, i))
            forward(&pass, &beside->costs->at[i], same_piece(&pass, i + 1, i), !same_piece(&pass, i - 1, i));
    for (uint32_t i = beside->costs->count; i-- > 0;)
        if (is_of(&pass, i))
            backward(&pass, &beside->costs->at[i], same_piece(&pass, i - 1, i), !same_piece(&pass, i + 1, i));
    sum(&pass, 0, true);
    *time_s = fmax(pass.device_s, pass.network_s);
    return !pass.failed;
}
