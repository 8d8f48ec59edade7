/* SPDX-License-Identifier: Apache-2.0 */
/* The time of a pipeline's step, whose stages run their passes in the order of the schedule (orders.c).
 *
 * The sections: passes and messages played one after the other; the same for the many plans of a search, of
 * whose micro-batches only the first are played; the peak memory of a stage with several micro-batches in
 * flight. */
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sim/memory/footprint.h"
#include "sim/parallel/exchange.h"
#include "sim/parallel/framework.h"
#include "sim/parallel/parallel.h"
#include "sim/parallel/pipeline.h"
#include "tracer/base/num.h"

/* Stages take turns: each goes on with its slots as long as what they need has come. A stage has three
 * clocks: when it is done computing, and when its link to the stages behind it and that to those before it
 * are free. Messages go on a link in the order in which they are made. */

struct clocks {
    double done_s, link_s[2]; /* link_s: of messages of the forward pass, and of the backward pass */
    double saved_s;           /* what its blocks take less than their slots one by one */
    uint64_t next;            /* slot */
};

/* Messages of virtual stages, by 2 x virtual stage + backward: those from first[i] up to first[i + 1]. */
struct lists {
    uint32_t *first, *at;
};

struct playing {
    const struct ll_pipeline *pipeline;
    uint64_t slots;                  /* of a stage */
    struct ll_schedule_slot *orders; /* stage after stage */
    struct lists arriving, leaving;
    double *there_s;       /* by message and micro-batch: when it has come, < 0: not yet */
    struct clocks *clocks; /* by stage */
};

static uint64_t vstage_of(const struct ll_pipeline *pipeline, uint64_t stage, uint64_t chunk)
{
    return ll_vstage_at(pipeline->shape.schedule, pipeline->shape.stages, stage, chunk);
}

/* In the order in which they are given; counted two places on, so that filling moves each count to its
 * place. False when memory ran out. */
static bool list_messages(const struct ll_pipeline *pipeline, bool arriving, struct lists *lists)
{
    const uint64_t keys = 2 * pipeline->shape.stages * pipeline->shape.chunks;
    lists->first = calloc(keys + 2, sizeof *lists->first);
    lists->at = malloc((pipeline->message_count + 1) * sizeof *lists->at);
    if (!lists->first || !lists->at)
        return false;
    for (int filling = 0; filling < 2; filling++) {
        for (uint32_t i = 0; i < pipeline->message_count; i++) {
            const struct ll_vstage_message *message = &pipeline->messages[i];
            const uint64_t key = 2 * (uint64_t)(arriving ? message->to : message->from) + message->backward;
            assert(key < keys);
            if (filling)
                lists->at[lists->first[key + 1]++] = i;
            else
                lists->first[key + 2]++;
        }
        for (uint64_t key = 2; !filling && key < keys + 2; key++)
            lists->first[key] += lists->first[key - 1];
    }
    return true;
}

double ll_slot_s(const struct ll_vstage_times *times, const struct ll_schedule_slot *slot)
{
    assert(times->weights_s <= times->backward_s);
    if (!slot->backward)
        return times->forward_s;
    return slot->half == LL_WHOLE_PASS   ? times->backward_s
           : slot->half == LL_INPUT_HALF ? times->backward_s - times->weights_s
                                         : times->weights_s;
}

/* When all has come that slots from `first` up to `end` need of others, at least since_s; negative: not yet.
 * Gradients of weights need nothing, and what is computed in the backward pass comes after the forward pass
 * of the same virtual stage on the stage itself. */
static double ready_s(const struct playing *p, uint64_t stage, const struct ll_schedule_slot *slots,
                      uint64_t count, double since_s)
{
    const uint64_t micro_batches = p->pipeline->shape.micro_batches;
    for (uint64_t k = 0; k < count; k++) {
        if (slots[k].half == LL_WEIGHT_HALF)
            continue;
        const uint32_t *list =
            &p->arriving.first[2 * vstage_of(p->pipeline, stage, slots[k].chunk) + slots[k].backward];
        for (uint32_t i = list[0]; i < list[1]; i++) {
            double there_s = p->there_s[p->arriving.at[i] * micro_batches + slots[k].micro_batch];
            if (there_s < 0)
                return there_s;
            since_s = there_s > since_s ? there_s : since_s;
        }
    }
    return since_s;
}

static void hand_on(struct playing *p, uint64_t stage, const struct ll_schedule_slot *slot)
{
    const struct ll_pipeline *pipeline = p->pipeline;
    struct clocks *clocks = &p->clocks[stage];
    if (slot->half == LL_WEIGHT_HALF)
        return;
    const uint32_t *list = &p->leaving.first[2 * vstage_of(pipeline, stage, slot->chunk) + slot->backward];
    for (uint32_t i = list[0]; i < list[1]; i++) {
        const uint32_t message = p->leaving.at[i];
        double *link_s = &clocks->link_s[slot->backward];
        *link_s = (*link_s > clocks->done_s ? *link_s : clocks->done_s) + pipeline->messages[message].time_s;
        p->there_s[message * pipeline->shape.micro_batches + slot->micro_batch] = *link_s;
    }
}

/* The time of slots that run as one. */
static double block_s(struct playing *p, uint64_t stage, const struct ll_schedule_slot *slots, uint64_t count)
{
    double sum_s = 0;
    bool forward = false, backward = false;
    for (uint64_t i = 0; i < count; i++) {
        sum_s += ll_slot_s(&p->pipeline->vstages[vstage_of(p->pipeline, stage, slots[i].chunk)], &slots[i]);
        forward |= !slots[i].backward;
        backward |= slots[i].backward;
    }
    if (!forward || !backward || p->pipeline->pair_s <= 0)
        return sum_s;
    p->clocks[stage].saved_s += sum_s - p->pipeline->pair_s;
    return p->pipeline->pair_s;
}

/* Slots of a block are noted one after the other, those of a faster block from its start. */
static void note_starts(const struct playing *p, uint64_t stage, uint64_t first, uint64_t end, double start_s)
{
    const struct ll_pipeline *pipeline = p->pipeline;
    for (uint64_t k = first; pipeline->start_s && k < end; k++) {
        const struct ll_schedule_slot *slot = &p->orders[stage * p->slots + k];
        pipeline->start_s[stage * p->slots + k] = start_s;
        start_s += pipeline->pair_s > 0
                       ? 0
                       : ll_slot_s(&pipeline->vstages[vstage_of(pipeline, stage, slot->chunk)], slot);
    }
}

/* As many slots of a stage as can be; their number. */
static uint64_t take_turn(struct playing *p, uint64_t stage)
{
    struct clocks *clocks = &p->clocks[stage];
    const struct ll_schedule_slot *slots = &p->orders[stage * p->slots];
    const uint64_t before = clocks->next;
    while (clocks->next < p->slots) {
        const uint64_t first = clocks->next;
        uint64_t end = first + 1;
        while (end < p->slots && slots[end].joined)
            end++;
        double start_s = ready_s(p, stage, &slots[first], end - first, clocks->done_s);
        if (start_s < 0)
            break;
        clocks->done_s = start_s + block_s(p, stage, &slots[first], end - first);
        note_starts(p, stage, first, end, start_s);
        for (uint64_t k = first; k < end; k++)
            hand_on(p, stage, &slots[k]);
        clocks->next = end;
    }
    return clocks->next - before;
}

static double tail_s(const struct ll_pipeline *pipeline, uint64_t stage)
{
    double sum_s = 0;
    for (uint64_t chunk = 0; chunk < pipeline->shape.chunks; chunk++)
        sum_s += pipeline->vstages[vstage_of(pipeline, stage, chunk)].tail_s;
    return sum_s;
}

static double joint_s(const struct ll_pipeline *pipeline, uint64_t stage)
{
    double sum_s = 0;
    for (uint64_t chunk = 0; chunk < pipeline->shape.chunks; chunk++)
        sum_s += pipeline->vstages[vstage_of(pipeline, stage, chunk)].joint_s;
    return sum_s;
}

/* Without what blocks of a forward beside a backward pass save. */
static double busy_s(const struct playing *p, uint64_t stage)
{
    const struct ll_pipeline *pipeline = p->pipeline;
    const uint64_t parts = ll_schedule_splits(pipeline->shape.schedule) ? 3 : 2;
    double pass_s = 0;
    for (uint64_t chunk = 0; chunk < pipeline->shape.chunks; chunk++) {
        const struct ll_vstage_times *times = &pipeline->vstages[vstage_of(pipeline, stage, chunk)];
        pass_s += times->forward_s + times->backward_s;
    }
    return (double)(p->slots / pipeline->shape.chunks / parts) * pass_s - p->clocks[stage].saved_s +
           tail_s(pipeline, stage);
}

static void sum_up(const struct playing *p, struct ll_pipeline_result *result)
{
    const uint64_t stages = p->pipeline->shape.stages;
    double met_s = 0; /* when the last stage is so far that all go on together */
    *result = (struct ll_pipeline_result){0};
    for (uint64_t stage = 0; stage < stages; stage++) {
        double busy = busy_s(p, stage);
        if (p->pipeline->done_s)
            p->pipeline->done_s[stage] = p->clocks[stage].done_s;
        const double tail = tail_s(p->pipeline, stage), joint = joint_s(p->pipeline, stage);
        result->time_s = fmax(result->time_s, p->clocks[stage].done_s + tail);
        met_s = fmax(met_s, p->clocks[stage].done_s + tail - joint);
        if (busy > result->busy_s) {
            result->busy_s = busy;
            result->slowest = stage;
        }
    }
    for (uint64_t stage = 0; stage < stages; stage++)
        if (joint_s(p->pipeline, stage) > 0)
            result->time_s = fmax(result->time_s, met_s + joint_s(p->pipeline, stage));
    assert(result->slowest < stages && result->busy_s <= result->time_s * (1 + 1e-9));
    for (uint64_t stage = 0; stage < stages; stage++)
        result->idle_s += fmax(0, result->time_s - busy_s(p, stage));
}

/* False when memory ran out. */
static bool open_playing(struct playing *p, const struct ll_pipeline *pipeline)
{
    const uint64_t stages = pipeline->shape.stages, slots = ll_schedule_slot_count(&pipeline->shape),
                   places = pipeline->message_count * pipeline->shape.micro_batches;
    *p = (struct playing){.pipeline = pipeline, .slots = slots};
    p->orders = calloc(stages * slots, sizeof *p->orders);
    p->clocks = calloc(stages, sizeof *p->clocks);
    p->there_s = calloc(places + 1, sizeof *p->there_s);
    bool done = p->orders && p->clocks && p->there_s && list_messages(pipeline, true, &p->arriving) &&
                list_messages(pipeline, false, &p->leaving);
    for (uint64_t i = 0; done && i < places; i++)
        p->there_s[i] = -1;
    for (uint64_t stage = 0; done && stage < stages; stage++)
        done = ll_schedule_order(&pipeline->shape, stage, &p->orders[stage * slots]);
    return done;
}

static void close_playing(struct playing *p)
{
    free(p->orders);
    free(p->clocks);
    free(p->there_s);
    free(p->arriving.first);
    free(p->arriving.at);
    free(p->leaving.first);
    free(p->leaving.at);
}

bool ll_pipeline_run(const struct ll_pipeline *pipeline, struct ll_pipeline_result *result)
{
    struct playing p;
    const uint64_t stages = pipeline->shape.stages;
    for (uint64_t i = 0; i < pipeline->message_count; i++)
        assert(pipeline->messages[i].time_s >= 0 && pipeline->messages[i].from != pipeline->messages[i].to);
    bool done = open_playing(&p, pipeline);
    for (uint64_t left = stages * p.slots, moved = 1; done && left > 0; left -= moved) {
        moved = 0;
        for (uint64_t stage = 0; stage < stages; stage++)
            moved += take_turn(&p, stage);
        assert(moved > 0); /* schedules are right for all shapes */
    }
    if (done)
        sum_up(&p, result);
    close_playing(&p);
    return done;
}

/* Micro-batches for each stage, of which the last ones tell what further ones take; where halves of passes
 * run apart, it takes longer until those do. */
enum { FULL = 4, FULL_OF_HALVES = 6 };

static bool play(const struct ll_pipeline *pipeline, uint64_t micro_batches, double *time_s)
{
    struct ll_pipeline part = *pipeline;
    struct ll_pipeline_result result;
    part.shape.micro_batches = micro_batches;
    bool done = ll_pipeline_run(&part, &result);
    *time_s = done ? result.time_s : 0;
    return done;
}

/* What a further micro-batch takes at least: the passes of the stage that has most. */
static double busiest_s(const struct ll_pipeline_estimate *turns)
{
    const struct ll_pipeline_shape *shape = &turns->shape;
    const double models = ll_schedule_placement(shape->schedule) == LL_PLACED_BOTH_WAYS ? 2 : 1;
    double most_s = 0;
    for (uint64_t stage = 0; stage < shape->stages; stage++) {
        double pass_s = 0;
        for (uint64_t chunk = 0; chunk < shape->chunks; chunk++) {
            const struct ll_vstage_times *times =
                &turns->vstages[ll_vstage_at(shape->schedule, shape->stages, stage, chunk)];
            pass_s += times->forward_s + times->backward_s;
        }
        most_s = fmax(most_s, pass_s / models);
    }
    return most_s;
}

bool ll_pipeline_estimate_s(const struct ll_pipeline_estimate *turns, double *time_s)
{
    const struct ll_pipeline_shape shape = turns->shape;
    const bool twice = ll_schedule_placement(shape.schedule) == LL_PLACED_BOTH_WAYS;
    const uint64_t full = ll_schedule_splits(shape.schedule) ? FULL_OF_HALVES : FULL;
    const uint64_t vstages = shape.stages * shape.chunks, all = shape.micro_batches,
                   most = full * shape.stages;
    assert(all > 0 && shape.stages > 0 && shape.chunks > 0);
    struct ll_vstage_message *messages = malloc(2 * vstages * sizeof *messages);
    struct ll_pipeline pipeline = {.shape = shape, .vstages = turns->vstages, .messages = messages};
    for (uint32_t i = 0; messages && i + 1 < vstages; i++) {
        if (twice && i + 1 == shape.stages) /* here one model ends, and the other begins */
            continue;
        messages[pipeline.message_count++] = (struct ll_vstage_message){i, i + 1, false, turns->message_s[i]};
        messages[pipeline.message_count++] = (struct ll_vstage_message){i + 1, i, true, turns->message_s[i]};
    }
    double before_s = 0, full_s = 0;
    bool done = messages && play(&pipeline, ll_min(all, most), &full_s) &&
                (all <= most || play(&pipeline, most - shape.stages, &before_s));
    free(messages);
    *time_s = full_s;
    if (all > most)
        *time_s += (double)(all - most) * fmax(busiest_s(turns), (full_s - before_s) / (double)shape.stages);
    return done;
}

/* Peak memory of a pipeline stage with several micro-batches in flight. The first section finds the rank that
 * needs most in a trace of several ranks. */

bool ll_added_gradients(const struct ll_trace *program, uint64_t *bytes, uint64_t *of_experts)
{
    struct ll_arena scratch = {0};
    bool *added = ll_alloc(&scratch, program->storage_count + 1, sizeof *added);
    *bytes = *of_experts = 0;
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
            *of_experts = ll_add(*of_experts, ll_is_of_experts(desc) ? ll_size_bytes(&desc->shape) : 0);
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
        for (uint32_t i = 0; i < program->signatures[program->ops[op].signature].view.output_count; i++) {
            struct ll_liveness *life = &lives[program->tensors[ll_op_output(program, op, i)].storage];
            life->first = program->ops[op].step != program->ops[0].step ? LL_NONE : 0;
            life->last = (uint32_t)(program->op_count - 1);
        }
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

/* What the framework has beside tensors: the framework's own kinds of memory count as workspace, what
 * passes in flight keep as activations. */
static void add_framework(const struct ll_framework_memory *framework, struct ll_vstage_memory *memory)
{
    for (int part = 0; part < LL_FRAMEWORK_PARTS; part++) {
        const uint64_t bytes = framework->part_bytes[part];
        const bool lasts = part == LL_FRAMEWORK_UNUSED || part == LL_FRAMEWORK_WORKSPACE;
        struct ll_kind_bytes *kind = &memory->kinds[lasts ? LL_HOLDS_WORKSPACE : LL_HOLDS_FEATURE_MAPS];
        add(&memory->peak, lasts ? LL_WORKSPACE : LL_ACTIVATION, bytes);
        add(lasts ? &memory->lasting : &memory->kept, lasts ? LL_WORKSPACE : LL_ACTIVATION, bytes);
        kind->peak = ll_add(kind->peak, bytes);
        *(lasts ? &kind->lasting : &kind->kept) = ll_add(*(lasts ? &kind->lasting : &kind->kept), bytes);
    }
}

/* What passes with an op is there while it runs; of kinds workspace, and all. */
static void add_passing(const struct ll_framework_memory *framework, uint64_t op_count, uint64_t *changes)
{
    for (uint64_t op = 0; op < op_count; op++) {
        changes[2 * op] = ll_add(changes[2 * op], framework->passing_bytes[op]);
        changes[2 * op + 1] = ll_add(changes[2 * op + 1], framework->passing_bytes[op]);
    }
}

bool ll_vstage_memory(const struct ll_trace *program, uint64_t micro_batches,
                      const struct ll_training *training, struct ll_vstage_memory *memory)
{
    assert(micro_batches > 0);
    static const struct ll_training none;
    struct ll_arena arena = {0};
    struct ll_framework_memory framework;
    struct ll_liveness *lives = ll_trace_liveness(program, &arena);
    uint64_t *changes = ll_alloc(&arena, 2 * program->op_count, sizeof *changes);
    training = training ? training : &none;
    bool done = lives && changes && ll_framework_memory(program, training, &arena, &framework);
    uint32_t peak;
    *memory = (struct ll_vstage_memory){0};
    if (done && (micro_batches > 1 || training->gradient_buffers)) {
        keep_gradients(program, lives);
        keep_casts(program, lives);
    }
    if (done)
        ll_framework_gathers(program, training, lives);
    for (unsigned kind = 0; done && kind <= LL_HOLDS_COUNT; kind++) {
        find_changes(program, lives, kind, changes);
        if (kind == LL_HOLDS_WORKSPACE || kind == LL_HOLDS_COUNT)
            add_passing(&framework, program->op_count, changes);
        uint64_t most_bytes = find_peak(program->op_count, changes, &peak);
        if (kind < LL_HOLDS_COUNT)
            memory->kinds[kind].peak = most_bytes;
        else
            sum_peak(program, lives, peak, memory);
    }
    if (done) {
        memory->peak_op = program->op_count > 0 ? peak : LL_NONE;
        memory->passing_bytes = framework.passing_bytes[peak];
        add(&memory->peak, LL_WORKSPACE, memory->passing_bytes);
        sum_kept(program, lives, memory);
        add_framework(&framework, memory);
    }
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
static void walk(const struct ll_kind_bytes *vstages, const struct ll_pipeline_shape *shape,
                 const struct ll_schedule_slot *slots, uint64_t *flying, struct moment *worst)
{
    assert(shape->chunks > 1);
    uint64_t held_bytes = 0;
    for (uint64_t c = 0; c < shape->chunks; c++)
        held_bytes = ll_add(held_bytes, vstages[c].lasting);
    for (uint64_t i = 0; i < ll_schedule_slot_count(shape); i++) {
        const struct ll_schedule_slot slot = slots[i];
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
        bool ends = slot.backward && slot.half != LL_INPUT_HALF;
        flying[slot.chunk] -= ends;
        held_bytes = ll_sub(held_bytes, ends ? vstage->kept : 0);
    }
}

/* A virtual stage alone has most in flight whenever it goes back. */
static bool find_worst(const struct ll_vstage_memory *memory, const struct ll_pipeline_shape *shape,
                       uint64_t stage, int kind, struct ll_arena *arena, struct moment *worst)
{
    struct ll_kind_bytes *vstages = ll_alloc(arena, shape->chunks, sizeof *vstages);
    uint64_t *flying = ll_alloc(arena, shape->chunks, sizeof *flying);
    struct ll_schedule_slot *slots = ll_alloc(arena, ll_schedule_slot_count(shape), sizeof *slots);
    *worst = (struct moment){.waiting = ll_alloc(arena, shape->chunks, sizeof *worst->waiting)};
    if (!vstages || !flying || !slots || !worst->waiting)
        return false;
    for (uint64_t c = 0; c < shape->chunks; c++)
        vstages[c] = bytes_of(&memory[c], kind);
    if (shape->chunks > 1) {
        if (!ll_schedule_order(shape, stage, slots))
            return false;
        walk(vstages, shape, slots, flying, worst);
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

/* What the worst moment is made of. */
static void describe_peak(const struct ll_vstage_memory *vstages, const struct ll_pipeline_shape *shape,
                          const struct moment *worst, struct ll_stage_peak *peak)
{
    const struct ll_vstage_memory *at_work = &vstages[worst->at_work];
    *peak = (struct ll_stage_peak){
        .chunk = worst->at_work, .op = at_work->peak_op, .passing_bytes = at_work->passing_bytes};
    for (uint64_t c = 0; c < shape->chunks; c++) {
        const uint64_t lasting = c == worst->at_work ? 0 : all_of(&vstages[c].lasting);
        peak->others_bytes = ll_add(peak->others_bytes, lasting);
        peak->waiting_bytes =
            ll_add(peak->waiting_bytes, ll_mul(worst->waiting[c], all_of(&vstages[c].kept)));
    }
}

bool ll_stage_memory(const struct ll_vstage_memory *vstages, const struct ll_pipeline_shape *shape,
                     uint64_t stage, struct ll_footprint *footprint, struct ll_stage_peak *peak)
{
    struct ll_arena arena = {0};
    struct moment worst;
    bool done = find_worst(vstages, shape, stage, LL_HOLDS_COUNT, &arena, &worst);
    *footprint = (struct ll_footprint){.peak_op = LL_NONE};
    if (done) {
        describe_peak(vstages, shape, &worst, peak);
        footprint->peak_op = peak->op;
    }
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
