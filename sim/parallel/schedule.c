/* SPDX-License-Identifier: Apache-2.0 */
/* Pipeline schedules and the time of a pipeline's step.
 *
 * The sections: the order of passes on a stage (GPipe, 1F1B, interleaved), the time of that order for the
 * many plans of a search, the same as tasks of ranks that wait for each other (ranks.c), and the peak memory
 * of a stage with several micro-batches in flight. */
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sim/memory/footprint.h"
#include "sim/parallel/parallel.h"
#include "sim/parallel/pipeline.h"
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
    assert(shape->stages > 0 && shape->chunks > 0 && shape->micro_batches > 0);
    return shape->micro_batches * shape->chunks;
}

uint64_t ll_schedule_slot_count(const struct ll_pipeline_shape *shape)
{
    return 2 * passes(shape);
}

/* Forward passes before the first backward one. */
static uint64_t warm_up(const struct ll_pipeline_shape *shape, uint64_t stage)
{
    assert(stage < shape->stages && shape->schedule < LL_SCHEDULE_COUNT);
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
    assert(k < passes(shape));
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
    const struct ll_pipeline_estimate *turns;
    struct ll_pipeline_shape shape; /* with the micro-batches that are played */
    struct clocks *clocks;          /* by stage */
    double *there_s
        [2]; /* forward, backward; by virtual stage and micro-batch: what it needs has come, < 0: not yet */
};

static double *there(const struct playing *p, bool backward, uint64_t vstage, uint64_t micro_batch)
{
    assert(vstage < p->shape.stages * p->shape.chunks && micro_batch < p->shape.micro_batches);
    return &p->there_s[backward][vstage * p->shape.micro_batches + micro_batch];
}

static void hand_on(struct playing *p, struct clocks *clocks, const struct ll_schedule_slot *slot,
                    uint64_t vstage)
{
    uint64_t last = p->shape.stages * p->shape.chunks - 1;
    if (slot->backward ? vstage == 0 : vstage == last) {
        if (!slot->backward) /* what the last virtual stage made of it goes back at once */
            *there(p, true, last, slot->micro_batch) = clocks->done_s;
        return;
    }
    double *link_s = slot->backward ? &clocks->back_s : &clocks->on_s;
    uint64_t to = slot->backward ? vstage - 1 : vstage + 1;
    *link_s = fmax(*link_s, clocks->done_s) + p->turns->message_s[slot->backward ? to : vstage];
    *there(p, slot->backward, to, slot->micro_batch) = *link_s;
}

/* As many slots of a stage as can be; their number. */
static uint64_t take_turn(struct playing *p, uint64_t stage, uint64_t slots)
{
    struct clocks *clocks = &p->clocks[stage];
    uint64_t before = clocks->next;
    for (; clocks->next < slots; clocks->next++) {
        struct ll_schedule_slot slot = ll_schedule_slot_at(&p->shape, stage, clocks->next);
        uint64_t vstage = slot.chunk * p->shape.stages + stage;
        double there_s = *there(p, slot.backward, vstage, slot.micro_batch);
        if (there_s < 0)
            break;
        const struct ll_vstage_times *times = &p->turns->vstages[vstage];
        clocks->done_s =
            fmax(clocks->done_s, there_s) + (slot.backward ? times->backward_s : times->forward_s);
        hand_on(p, clocks, &slot, vstage);
    }
    return clocks->next - before;
}

static double end_s(const struct playing *p)
{
    double end_s = 0;
    for (uint64_t stage = 0; stage < p->shape.stages; stage++) {
        double tail_s = 0;
        for (uint64_t chunk = 0; chunk < p->shape.chunks; chunk++)
            tail_s += p->turns->vstages[chunk * p->shape.stages + stage].tail_s;
        end_s = fmax(end_s, p->clocks[stage].done_s + tail_s);
    }
    return end_s;
}

static bool play(const struct ll_pipeline_estimate *turns, uint64_t micro_batches, double *time_s)
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
        p.there_s[false][i] = i < micro_batches ? 0 : -1; /* of the first virtual stage all are there */
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

bool ll_pipeline_estimate_s(const struct ll_pipeline_estimate *turns, double *time_s)
{
    uint64_t all = turns->shape.micro_batches, stages = turns->shape.stages, most = FULL * stages;
    assert(all > 0 && stages > 0 && turns->shape.chunks > 0);
    double before_s, full_s;
    if (all <= most)
        return play(turns, all, time_s);
    if (!play(turns, most - stages, &before_s) || !play(turns, most, &full_s))
        return false;
    assert(full_s >= before_s); /* further micro-batches never shorten a step */
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
    uint32_t *tasks; /* by stage and slot; NULL where nobody asks when they start */
};

/* Equal for the messages of a micro-batch from one virtual stage to another. */
static uint64_t tag_of(const struct ll_pipeline *pipeline, const struct ll_vstage_message *message,
                       uint64_t micro_batch)
{
    return (uint64_t)(message - pipeline->messages) * pipeline->shape.micro_batches + micro_batch;
}

static uint32_t receive_all(struct builder *b, uint64_t stage, uint64_t vstage,
                            const struct ll_schedule_slot *slot)
{
    const struct ll_pipeline *pipeline = b->pipeline;
    uint32_t count = 0;
    for (uint64_t i = 0; i < pipeline->message_count; i++) {
        const struct ll_vstage_message *message = &pipeline->messages[i];
        if (message->to != vstage || message->backward != slot->backward)
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

static void send_all(struct builder *b, uint64_t stage, uint64_t vstage, const struct ll_schedule_slot *slot,
                     uint32_t done)
{
    const struct ll_pipeline *pipeline = b->pipeline;
    for (uint64_t i = 0; i < pipeline->message_count; i++) {
        const struct ll_vstage_message *message = &pipeline->messages[i];
        if (message->from != vstage || message->backward != slot->backward)
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

/* What is computed in the backward pass needs the forward pass of the same virtual stage: it comes before it
 * on the stream. */
static void add_stage(struct builder *b, uint64_t stage)
{
    const struct ll_pipeline *pipeline = b->pipeline;
    uint64_t slots = ll_schedule_slot_count(&pipeline->shape);
    for (uint64_t i = 0; i < slots; i++) {
        struct ll_schedule_slot slot = ll_schedule_slot_at(&pipeline->shape, stage, i);
        uint64_t vstage = slot.chunk * pipeline->shape.stages + stage;
        const struct ll_vstage_times *times = &pipeline->vstages[vstage];
        uint32_t received = receive_all(b, stage, vstage, &slot);
        struct ll_rank_task task = {.kind = LL_TASK_WORK,
                                    .rank = (uint32_t)stage,
                                    .stream = STREAM_COMPUTE,
                                    .time_s = slot.backward ? times->backward_s : times->forward_s,
                                    .name = slot.backward ? "backward" : "forward"};
        b->last[stage] = ll_ranks_add(b->ranks, &task, b->after, received);
        if (b->tasks)
            b->tasks[stage * slots + i] = b->last[stage];
        send_all(b, stage, vstage, &slot, b->last[stage]);
    }
}

static double tail_s(const struct ll_pipeline *pipeline, uint64_t stage)
{
    double sum_s = 0;
    for (uint64_t chunk = 0; chunk < pipeline->shape.chunks; chunk++)
        sum_s += pipeline->vstages[chunk * pipeline->shape.stages + stage].tail_s;
    return sum_s;
}

static double busy_s(const struct ll_pipeline *pipeline, uint64_t stage)
{
    double pass_s = 0;
    for (uint64_t chunk = 0; chunk < pipeline->shape.chunks; chunk++) {
        const struct ll_vstage_times *times = &pipeline->vstages[chunk * pipeline->shape.stages + stage];
        pass_s += times->forward_s + times->backward_s;
    }
    return (double)pipeline->shape.micro_batches * pass_s + tail_s(pipeline, stage);
}

static void note_starts(const struct builder *b)
{
    uint64_t count = b->pipeline->shape.stages * ll_schedule_slot_count(&b->pipeline->shape);
    for (uint64_t i = 0; b->tasks && i < count; i++)
        b->pipeline->start_s[i] = ll_ranks_start_s(b->ranks, b->tasks[i]);
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

    assert(result->slowest < pipeline->shape.stages && result->busy_s <= result->time_s * (1 + 1e-9));
    for (uint64_t stage = 0; stage < pipeline->shape.stages; stage++)
        result->idle_s += fmax(0, result->time_s - busy_s(pipeline, stage));
}

bool ll_pipeline_run(const struct ll_pipeline *pipeline, struct ll_pipeline_result *result)
{
    struct builder b = {.pipeline = pipeline, .ranks = ll_ranks_new()};
    struct ll_diags diags = {0};
    for (uint64_t i = 0; i < pipeline->message_count; i++)
        assert(pipeline->messages[i].time_s >= 0 && pipeline->messages[i].from != pipeline->messages[i].to);
    b.after = malloc((pipeline->message_count + 1) * sizeof *b.after);
    b.last = malloc(pipeline->shape.stages * sizeof *b.last);
    if (pipeline->start_s)
        b.tasks = calloc(pipeline->shape.stages * ll_schedule_slot_count(&pipeline->shape), sizeof *b.tasks);
    bool done = b.ranks && b.after && b.last && (b.tasks || !pipeline->start_s);
    for (uint64_t stage = 0; done && stage < pipeline->shape.stages; stage++)
        add_stage(&b, stage);
    done = done && ll_ranks_run(b.ranks, &diags);
    assert(diags.count == 0); /* schedules are right for all shapes */
    if (done) {
        sum_up(&b, result);
        note_starts(&b);
    }
    ll_diags_release(&diags);
    ll_ranks_free(b.ranks);
    free(b.tasks);
    free(b.after);
    free(b.last);
    return done;
}

/* Peak memory of a pipeline stage with several micro-batches in flight. The first section finds the rank that
 * needs most in a trace of several ranks. */

bool ll_added_gradients(const struct ll_trace *program, uint64_t *bytes)
{
    struct ll_arena scratch = {0};
    bool *added = ll_alloc(&scratch, program->storage_count + 1, sizeof *added);
    *bytes = 0;
    for (uint32_t op = 0; added && op < program->op_count; op++) {
        const struct ll_op_signature *signature = &program->signatures[program->ops[op].signature];
        for (uint32_t i = 0; ll_is_per_step(program, signature) && i < signature->view.input_count; i++) {
            const struct ll_tensor *tensor = &program->tensors[ll_op_input(program, op, i)];
            const struct ll_tensor_desc *desc = &program->descs[tensor->desc];
            bool made =
                tensor->producer != LL_NONE &&
                !ll_is_per_step(program, &program->signatures[program->ops[tensor->producer].signature]);
            if (!made || desc->memory != LL_GRADIENT || added[tensor->storage])
                continue;
            added[tensor->storage] = true;
            *bytes = ll_add(*bytes, ll_size_bytes(&desc->shape));
        }
    }
    ll_arena_release(&scratch);
    return added;
}

/* Gradients that an op of the phases comm or update reads are there when the next micro-batch comes. Those of
 * a later step take the place of the first one's. */
static void keep_gradients(const struct ll_trace *program, struct ll_liveness *lives)
{
    for (uint32_t op = 0; op < program->op_count; op++) {
        const struct ll_op_signature *signature = &program->signatures[program->ops[op].signature];
        if (!ll_is_per_step(program, signature))
            continue;
        for (uint32_t i = 0; i < signature->view.input_count; i++) {
            struct ll_liveness *life = &lives[program->tensors[ll_op_input(program, op, i)].storage];
            if (life->memory != LL_GRADIENT || life->first == LL_NONE)
                continue;
            bool later = program->ops[life->first].step != program->ops[0].step;
            life->first = later ? LL_NONE : 0;
            life->last = (uint32_t)(program->op_count - 1);
        }
    }
}

/* Casts that several micro-batches read are there all along; those of a later step take the place of the
 * first one's. */
static void keep_casts(const struct ll_trace *program, struct ll_liveness *lives)
{
    for (uint32_t op = 0; op < program->op_count; op++) {
        if (!ll_is_lasting_cast(program, &program->signatures[program->ops[op].signature]))
            continue;
        struct ll_liveness *life = &lives[program->tensors[ll_op_output(program, op, 0)].storage];
        life->first = program->ops[op].step != program->ops[0].step ? LL_NONE : 0;
        life->last = (uint32_t)(program->op_count - 1);
    }
}

uint32_t ll_end_of_forward(const struct ll_trace *program)
{
    uint32_t last = LL_NONE;
    for (uint32_t op = 0; op < program->op_count && program->ops[op].step == program->ops[0].step; op++)
        if (program->signatures[program->ops[op].signature].phase == LL_PHASE_FORWARD)
            last = op;
    return last;
}

static bool lasts(const struct ll_trace *program, const struct ll_liveness *life)
{
    return life->first == 0 && life->last == program->op_count - 1 && life->memory != LL_ACTIVATION;
}

static void add(struct ll_class_bytes *sum, uint32_t memory, uint64_t bytes)
{
    sum->of[memory] = ll_add(sum->of[memory], bytes);
}

static uint64_t all_of(const struct ll_class_bytes *bytes)
{
    uint64_t all = 0;
    for (int c = 0; c < LL_MEMORY_COUNT; c++)
        all = ll_add(all, bytes->of[c]);
    return all;
}

static void sum_kept(const struct ll_trace *program, const struct ll_liveness *lives,
                     struct ll_vstage_memory *memory)
{
    uint32_t boundary = ll_end_of_forward(program);
    for (uint64_t s = 0; s < program->storage_count; s++) {
        const struct ll_liveness *life = &lives[s];
        if (life->first == LL_NONE)
            continue;
        struct ll_kind_bytes *kind = &memory->kinds[ll_training_memory_of(life)];
        if (lasts(program, life)) {
            add(&memory->lasting, life->memory, life->bytes);
            kind->lasting = ll_add(kind->lasting, life->bytes);
        } else if (boundary != LL_NONE && life->first <= boundary && life->last > boundary) {
            add(&memory->kept, life->memory, life->bytes);
            kind->kept = ll_add(kind->kept, life->bytes);
        }
    }
}

/* Births and deaths of a kind of memory, of all with LL_HOLDS_COUNT: [2 op] is born with an op, [2 op + 1]
 * dies after it. */
static void find_changes(const struct ll_trace *program, const struct ll_liveness *lives, unsigned kind,
                         uint64_t *changes)
{
    memset(changes, 0, 2 * program->op_count * sizeof *changes);
    for (uint64_t s = 0; s < program->storage_count; s++) {
        if (lives[s].first == LL_NONE || (kind < LL_HOLDS_COUNT && ll_training_memory_of(&lives[s]) != kind))
            continue;
        uint64_t born = 2 * (uint64_t)lives[s].first, dead = 2 * (uint64_t)lives[s].last + 1;
        changes[born] = ll_add(changes[born], lives[s].bytes);
        changes[dead] = ll_add(changes[dead], lives[s].bytes);
    }
}

/* The most that lives at once, and the first op at which it does. */
static uint64_t find_peak(uint64_t op_count, const uint64_t *changes, uint32_t *peak)
{
    uint64_t live_bytes = 0, most_bytes = 0;
    *peak = 0;
    for (uint32_t op = 0; op < op_count; op++) {
        live_bytes = ll_add(live_bytes, changes[2 * (uint64_t)op]);
        if (live_bytes > most_bytes) {
            most_bytes = live_bytes;
            *peak = op;
        }
        live_bytes = ll_sub(live_bytes, changes[2 * (uint64_t)op + 1]);
    }
    return most_bytes;
}

static void sum_peak(const struct ll_trace *program, const struct ll_liveness *lives, uint32_t peak,
                     struct ll_vstage_memory *memory)
{
    for (uint64_t s = 0; s < program->storage_count; s++)
        if (lives[s].first != LL_NONE && lives[s].first <= peak && lives[s].last >= peak)
            add(&memory->peak, lives[s].memory, lives[s].bytes);
}

static bool is_of_samples(const struct ll_shape *shape)
{
    for (unsigned i = 0; i < shape->rank; i++)
        if (shape->role[i] == LL_ROLE_BATCH)
            return true;
    return false;
}

bool *ll_find_carried(const struct ll_trace *program, struct ll_arena *arena)
{
    bool *brought = ll_alloc(arena, program->storage_count + 1, sizeof *brought);
    bool *carried = ll_alloc(arena, program->storage_count + 1, sizeof *carried);
    for (uint64_t i = 0; brought && carried && i < program->tensor_count; i++) {
        const struct ll_tensor *tensor = &program->tensors[i];
        const struct ll_tensor_desc *desc = &program->descs[tensor->desc];
        if (tensor->producer == LL_NONE)
            brought[tensor->storage] |= desc->memory == LL_ACTIVATION && is_of_samples(&desc->shape);
        else if (program->signatures[program->ops[tensor->producer].signature].bytes_written > 0)
            carried[tensor->storage] |= brought[tensor->storage];
    }
    return brought ? carried : NULL;
}

/* What all micro-batches carry is there all along, of which a pass alone has that of one. */
static bool add_carried(const struct ll_trace *program, const struct ll_liveness *lives,
                        uint64_t micro_batches, struct ll_arena *arena, struct ll_vstage_memory *memory)
{
    const bool *carried = ll_find_carried(program, arena);
    struct ll_kind_bytes *kind = &memory->kinds[LL_HOLDS_FEATURE_MAPS];
    uint64_t bytes = 0;
    for (uint64_t s = 0; carried && s < program->storage_count; s++)
        bytes = carried[s] ? ll_add(bytes, lives[s].bytes) : bytes;
    uint64_t all = ll_mul(bytes, micro_batches), others = ll_sub(all, bytes);
    add(&memory->peak, LL_ACTIVATION, others);
    add(&memory->lasting, LL_ACTIVATION, all);
    kind->peak = ll_add(kind->peak, others);
    kind->lasting = ll_add(kind->lasting, all);
    return carried;
}

bool ll_vstage_memory(const struct ll_trace *program, uint64_t micro_batches, struct ll_vstage_memory *memory)
{
    assert(micro_batches > 0);
    struct ll_arena arena = {0};
    struct ll_liveness *lives = ll_trace_liveness(program, &arena);
    uint64_t *changes = ll_alloc(&arena, 2 * program->op_count, sizeof *changes);
    bool done = lives && changes;
    uint32_t peak;
    *memory = (struct ll_vstage_memory){0};
    if (done && micro_batches > 1) {
        keep_gradients(program, lives);
        keep_casts(program, lives);
    }
    for (unsigned kind = 0; done && kind <= LL_HOLDS_COUNT; kind++) {
        find_changes(program, lives, kind, changes);
        uint64_t most_bytes = find_peak(program->op_count, changes, &peak);
        if (kind < LL_HOLDS_COUNT)
            memory->kinds[kind].peak = most_bytes;
        else
            sum_peak(program, lives, peak, memory);
    }
    if (done)
        sum_kept(program, lives, memory);
    assert(!done || memory->lasting.of[LL_WEIGHT] <= memory->peak.of[LL_WEIGHT]);
    assert(!done || memory->lasting.of[LL_OPTIMIZER] <= memory->peak.of[LL_OPTIMIZER]);
    done = done && add_carried(program, lives, micro_batches, &arena, memory);
    ll_arena_release(&arena);
    return done;
}

/* A kind of memory of a virtual stage; of all kinds with LL_HOLDS_COUNT. */
static struct ll_kind_bytes bytes_of(const struct ll_vstage_memory *vstage, int kind)
{
    if (kind < LL_HOLDS_COUNT)
        return vstage->kinds[kind];
    return (struct ll_kind_bytes){all_of(&vstage->peak), all_of(&vstage->lasting), all_of(&vstage->kept)};
}

/* The worst one of a kind of memory on a stage. */
struct moment {
    uint64_t bytes, at_work; /* at_work: a virtual stage */
    uint64_t *waiting;       /* by virtual stage: passes in flight but for the one at work */
};

/* Either pass of a virtual stage is taken to have its worst moment. */
static void walk(const struct ll_kind_bytes *vstages, const struct ll_pipeline_shape *shape, uint64_t stage,
                 uint64_t *flying, struct moment *worst)
{
    assert(shape->chunks > 1 && stage < shape->stages);
    uint64_t slots = ll_schedule_slot_count(shape), held_bytes = 0;
    for (uint64_t c = 0; c < shape->chunks; c++)
        held_bytes = ll_add(held_bytes, vstages[c].lasting);
    for (uint64_t i = 0; i < slots; i++) {
        struct ll_schedule_slot slot = ll_schedule_slot_at(shape, stage, i);
        const struct ll_kind_bytes *vstage = &vstages[slot.chunk];
        flying[slot.chunk] += !slot.backward;
        held_bytes = ll_add(held_bytes, slot.backward ? 0 : vstage->kept);
        uint64_t here = ll_add(vstage->lasting, vstage->kept);
        uint64_t bytes = ll_add(held_bytes, ll_sub(vstage->peak, ll_min(vstage->peak, here)));
        if (bytes > worst->bytes) {
            worst->bytes = bytes;
            worst->at_work = slot.chunk;
            memcpy(worst->waiting, flying, shape->chunks * sizeof *flying);
            worst->waiting[slot.chunk]--;
        }
        assert(flying[slot.chunk] > 0);
        flying[slot.chunk] -= slot.backward;
        held_bytes = ll_sub(held_bytes, slot.backward ? vstage->kept : 0);
    }
}

/* A virtual stage alone has most in flight whenever it goes back. */
static bool find_worst(const struct ll_vstage_memory *memory, const struct ll_pipeline_shape *shape,
                       uint64_t stage, int kind, struct ll_arena *arena, struct moment *worst)
{
    struct ll_kind_bytes *vstages = ll_alloc(arena, shape->chunks, sizeof *vstages);
    uint64_t *flying = ll_alloc(arena, shape->chunks, sizeof *flying);
    *worst = (struct moment){.waiting = ll_alloc(arena, shape->chunks, sizeof *worst->waiting)};
    if (!vstages || !flying || !worst->waiting)
        return false;
    for (uint64_t c = 0; c < shape->chunks; c++)
        vstages[c] = bytes_of(&memory[c], kind);
    if (shape->chunks > 1) {
        walk(vstages, shape, stage, flying, worst);
        return true;
    }
    worst->waiting[0] = ll_stage_in_flight(shape, stage) - 1;
    worst->bytes = ll_add(vstages[0].peak, ll_mul(worst->waiting[0], vstages[0].kept));
    return true;
}

/* `times` as much of each class. */
static void add_times(struct ll_footprint *footprint, const struct ll_class_bytes *bytes, uint64_t times)
{
    for (int c = 0; c < LL_MEMORY_COUNT; c++)
        footprint->class_bytes[c] = ll_add(footprint->class_bytes[c], ll_mul(times, bytes->of[c]));
}

uint64_t ll_stage_in_flight(const struct ll_pipeline_shape *shape, uint64_t stage)
{
    return shape->stages == 1 ? 1 : ll_slots_in_flight(shape, stage);
}

bool ll_stage_memory(const struct ll_vstage_memory *vstages, const struct ll_pipeline_shape *shape,
                     uint64_t stage, struct ll_footprint *footprint)
{
    struct ll_arena arena = {0};
    struct moment worst;
    bool done = find_worst(vstages, shape, stage, LL_HOLDS_COUNT, &arena, &worst);
    *footprint = (struct ll_footprint){.peak_op = LL_NONE};
    for (uint64_t c = 0; done && c < shape->chunks; c++) {
        add_times(footprint, c == worst.at_work ? &vstages[c].peak : &vstages[c].lasting, 1);
        add_times(footprint, &vstages[c].kept, worst.waiting[c]);
    }
    for (int c = 0; c < LL_MEMORY_COUNT; c++)
        footprint->peak_bytes = ll_add(footprint->peak_bytes, footprint->class_bytes[c]);
    for (int kind = 0; done && kind < LL_HOLDS_COUNT; kind++) {
        done = find_worst(vstages, shape, stage, kind, &arena, &worst);
        footprint->most_bytes[kind] = worst.bytes;
        assert(worst.bytes <= footprint->peak_bytes); /* a kind alone never holds more than all */
    }
    ll_arena_release(&arena);
    return done;
}
