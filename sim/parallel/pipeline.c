/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/parallel/pipeline.h"

#include "sim/parallel/ranks.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

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
