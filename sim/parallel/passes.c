/* SPDX-License-Identifier: Apache-2.0 */
/* What goes on between the passes of a step: messages from stage to stage, and the memory that stays. */
#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "sim/parallel/parallel.h"
#include "sim/parallel/pipeline.h"
#include "tracer/base/num.h"

const struct ll_pass *ll_parallel_passes(const struct ll_parallel_result *result, struct ll_arena *arena,
                                         uint64_t *per_stage)
{
    struct ll_pipeline pipeline = *result->pipeline;
    struct ll_pipeline_result played;
    uint64_t slots = ll_schedule_slot_count(&pipeline.shape), stages = pipeline.shape.stages;
    struct ll_pass *passes = ll_alloc(arena, ll_mul(stages, slots), sizeof *passes);
    struct ll_schedule_slot *order = calloc(slots, sizeof *order);
    pipeline.start_s = calloc(ll_mul(stages, slots), sizeof *pipeline.start_s);
    bool done = passes && order && pipeline.start_s && ll_pipeline_run(&pipeline, &played);
    for (uint64_t s = 0; done && s < stages; s++) {
        done = ll_schedule_order(&pipeline.shape, s, order);
        for (uint64_t i = 0; done && i < slots; i++) {
            const struct ll_schedule_slot *slot = &order[i];
            uint64_t vstage = ll_vstage_at(pipeline.shape.schedule, stages, s, slot->chunk);
            double start_s = pipeline.start_s[s * slots + i];
            passes[s * slots + i] =
                (struct ll_pass){start_s,           start_s + ll_slot_s(&pipeline.vstages[vstage], slot),
                                 slot->micro_batch, slot->chunk,
                                 slot->backward,    (uint8_t)slot->half};
        }
    }
    free(order);
    free(pipeline.start_s);
    *per_stage = slots;
    return done ? passes : NULL;
}

/* The pass of a stage with this chunk, direction and micro-batch, counted through all stages. */
static uint64_t *place_of(uint64_t *places, const struct ll_pipeline_shape *shape, uint64_t vstage,
                          bool backward, uint64_t micro_batch)
{
    return &places[(2 * vstage + backward) * shape->micro_batches + micro_batch];
}

/* Of each virtual stage, direction and micro-batch, its pass. NULL when memory ran out. */
static uint64_t *find_places(const struct ll_pipeline_shape *shape, const struct ll_pass *passes,
                             uint64_t per_stage, struct ll_arena *arena)
{
    uint64_t *places =
        ll_alloc(arena, ll_mul(2 * shape->stages * shape->chunks, shape->micro_batches), sizeof *places);
    for (uint64_t i = 0; places && i < per_stage * shape->stages; i++) {
        uint64_t vstage = ll_vstage_at(shape->schedule, shape->stages, i / per_stage, passes[i].chunk);
        if (passes[i].half != LL_WEIGHT_HALF) /* for which nobody waits */
            *place_of(places, shape, vstage, passes[i].backward, passes[i].micro_batch) = i;
    }
    return places;
}

/* A stage has a link in each direction, which takes one message after the other in the order in which passes
 * hand them over, as in ll_pipeline_run. */
const struct ll_pass_message *ll_parallel_messages(const struct ll_parallel_result *result,
                                                   const struct ll_pass *passes, uint64_t per_stage,
                                                   struct ll_arena *arena, uint64_t *count)
{
    const struct ll_pipeline *pipeline = result->pipeline;
    const struct ll_pipeline_shape *shape = &pipeline->shape;
    struct ll_pass_message *sent =
        ll_alloc(arena, ll_mul(pipeline->message_count, shape->micro_batches) + 1, sizeof *sent);
    uint64_t *places = find_places(shape, passes, per_stage, arena);
    double free_s[2] = {0, 0};
    *count = 0;
    for (uint64_t i = 0; sent && places && i < per_stage * shape->stages; i++) {
        const struct ll_pass *pass = &passes[i];
        if (i % per_stage == 0)
            free_s[0] = free_s[1] = 0;
        for (uint64_t k = 0; k < pipeline->message_count; k++) {
            const struct ll_vstage_message *message = &pipeline->messages[k];
            if (message->from != ll_vstage_at(shape->schedule, shape->stages, i / per_stage, pass->chunk) ||
                message->backward != pass->backward || pass->half == LL_WEIGHT_HALF)
                continue;
            double start_s = fmax(pass->end_s, free_s[message->backward]);
            free_s[message->backward] = start_s + message->time_s;
            sent[(*count)++] = (struct ll_pass_message){
                start_s, start_s + message->time_s, i,
                *place_of(places, shape, message->to, message->backward, pass->micro_batch),
                message->backward};
        }
    }
    return sent && places ? sent : NULL;
}

/* Fills the memory of the virtual stages of a stage. False when memory ran out. */
static bool look_at(const struct ll_parallel_result *result, uint64_t stage, struct ll_vstage_memory *memory)
{
    const struct ll_spread *spread = result->spread;
    bool done = true;
    for (uint64_t c = 0; done && c < spread->plan.chunks; c++)
        done = ll_vstage_memory(spread
                                    ->programs[spread->program_of[ll_vstage_at(
                                        spread->plan.schedule, spread->plan.pipeline, stage, c)]]
                                    .trace,
                                spread->sizes.micro_batches, &result->result->machine->software.training,
                                &memory[c]);
    return done;
}

static uint64_t sum(const struct ll_class_bytes *bytes)
{
    uint64_t all = 0;
    for (int c = 0; c < LL_MEMORY_COUNT; c++)
        all = ll_add(all, bytes->of[c]);
    return all;
}

/* As in ll_stage_memory: what lasts, what passes in flight keep, and what the pass at work has besides. A
 * stage that is alone has one pass in flight, whatever the schedule. */
static void walk(const struct ll_vstage_memory *memory, uint64_t chunks, bool alone,
                 const struct ll_pass *passes, uint64_t count, struct ll_pass_bytes *bytes)
{
    uint64_t held = 0, lasting = 0;
    for (uint64_t c = 0; c < chunks; c++)
        lasting = ll_add(lasting, sum(&memory[c].lasting));
    for (uint64_t i = 0; i < count; i++) {
        const struct ll_vstage_memory *at = &memory[passes[i].chunk];
        uint64_t kept = sum(&at->kept), here = ll_add(sum(&at->lasting), kept), peak = sum(&at->peak);
        held = alone ? kept : passes[i].backward ? held : ll_add(held, kept);
        bytes[i].most = ll_add(ll_add(lasting, held), ll_sub(peak, ll_min(peak, here)));
        held = passes[i].backward && passes[i].half != LL_INPUT_HALF ? ll_sub(held, kept) : held;
        bytes[i].after = ll_add(lasting, held);
    }
}

const struct ll_pass_bytes *ll_parallel_pass_bytes(const struct ll_parallel_result *result,
                                                   const struct ll_pass *passes, uint64_t per_stage,
                                                   struct ll_arena *arena)
{
    uint64_t stages = result->spread->plan.pipeline, chunks = result->spread->plan.chunks;
    struct ll_arena scratch = {0};
    struct ll_vstage_memory *memory = ll_alloc(&scratch, chunks, sizeof *memory);
    struct ll_pass_bytes *bytes = ll_alloc(arena, ll_mul(per_stage, stages), sizeof *bytes);
    bool done = memory && bytes;
    for (uint64_t s = 0; done && s < stages; s++) {
        done = look_at(result, s, memory);
        if (done)
            walk(memory, chunks, stages == 1, passes + s * per_stage, per_stage, bytes + s * per_stage);
    }
    /* One pass each way is the replay itself, and has its footprint. */
    for (uint64_t i = 0;
         done && result->spread->vstage_count * result->spread->sizes.micro_batches == 1 && i < 2; i++)
        bytes[i].most = result->stages[0].memory_bytes;
    ll_arena_release(&scratch);
    return done ? bytes : NULL;
}

const struct ll_trace *ll_parallel_peak_program(const struct ll_parallel_result *result)
{
    const struct ll_spread *spread = result->spread;
    const uint64_t vstage = ll_vstage_at(spread->plan.schedule, spread->plan.pipeline, result->fullest,
                                         result->stages[result->fullest].peak.chunk);
    return spread->programs[spread->program_of[vstage]].trace;
}

double ll_behind_norm_s(const struct ll_result *result)
{
    const struct ll_prepared *prepared = result->prepared;
    const struct ll_trace *trace = prepared->trace;
    double normed_s = -1, end_s = 0;
    uint64_t from = prepared->end_op;
    while (from > prepared->first_op && trace->ops[from - 1].step == trace->ops[prepared->end_op - 1].step)
        from--;
    for (uint64_t seq = from; seq < prepared->end_op; seq++) {
        const struct ll_op_signature *signature = &trace->signatures[trace->ops[seq].signature];
        const struct ll_op_result *op = &result->ops[seq - prepared->first_op];
        end_s = fmax(end_s, op->start_s + op->time_s);
        if (signature->phase == LL_PHASE_UPDATE && signature->view.kind == LL_OP_L2_LOSS)
            normed_s = fmax(normed_s, op->start_s + op->time_s);
    }
    return normed_s < 0 ? 0 : fmax(0, end_s - normed_s);
}
