/* SPDX-License-Identifier: Apache-2.0 */
#include "tracer/build.h"

#include "tracer/base/arena.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

bool ll_build_no_memory(struct ll_build *build)
{
    build->status = LL_NO_MEMORY;
    return false;
}

bool ll_build_refuse(struct ll_build *build, const char *why)
{
    return build->status == LL_OK && ll_walk_refuse(build->walk, build->frame, why);
}

bool ll_build_afford(struct ll_build *build, uint64_t count, uint64_t weight_each)
{
    uint64_t weight = ll_add(build->weight, ll_mul(count, weight_each));
    if (weight > build->weight_limit)
        return false;
    build->weight = weight;
    return true;
}

bool ll_build_charge(struct ll_build *build, uint64_t count, uint64_t weight_each)
{
    return ll_build_afford(build, count, weight_each) ||
           ll_build_refuse(build, "it holds more than a file of this size may");
}

static uint64_t sum(const uint64_t *values, uint64_t count)
{
    uint64_t total = 0;
    for (uint64_t i = 0; i < count; i++)
        total = ll_add(total, values[i]);
    return total;
}

/* A text of the file; NULL when it holds a NUL (or memory ran out). */
static const char *take_text(struct ll_build *build, struct ll_view *text, uint64_t size)
{
    char *copy = memchr(text->at, '\0', size)
                     ? NULL
                     : ll_copy_text(&build->trace->arena, (const char *)text->at, size);
    text->at += size;
    return copy;
}

bool ll_build_facts(struct ll_build *build)
{
    struct ll_block *block = &build->block;
    struct ll_trace *trace = build->trace;
    struct ll_view text;
    uint64_t count = ll_block_count(block, LL_FACTS_KEY_SIZE);
    if (!ll_block_bytes(block, LL_FACTS_TEXT, &text))
        return ll_build_refuse(build, "its text is of another encoding");
    uint64_t text_bytes = (uint64_t)(text.end - text.at);
    if (!ll_build_charge(build, count, LL_WEIGHT_FACT) || !ll_build_charge(build, text_bytes, 1))
        return false;
    const uint64_t *key_sizes = ll_block_numbers(block, LL_FACTS_KEY_SIZE, count);
    const uint64_t *value_sizes = ll_block_numbers(block, LL_FACTS_VALUE_SIZE, count);
    if (!key_sizes || !value_sizes || ll_add(sum(key_sizes, count), sum(value_sizes, count)) != text_bytes)
        return ll_build_refuse(build, "its columns do not fit together");
    if (!ll_grow((void **)&trace->facts, &build->fact_capacity, trace->fact_count + count,
                 sizeof *trace->facts))
        return ll_build_no_memory(build);
    for (uint64_t i = 0; i < count; i++) {
        struct ll_fact fact;
        fact.key = take_text(build, &text, key_sizes[i]);
        fact.value = take_text(build, &text, value_sizes[i]);
        if (fact.key && fact.value)
            trace->facts[trace->fact_count++] = fact;
    }
    return true;
}

bool ll_build_reach_step(struct ll_build *build, uint64_t step)
{
    struct ll_trace *trace = build->trace;
    if (step < trace->step_count)
        return true;
    uint64_t more = step - trace->step_count + 1;
    if (step >= LL_NONE || !ll_build_afford(build, more, LL_WEIGHT_STEP))
        return false;
    if (!ll_grow((void **)&trace->steps, &build->step_capacity, step + 1, sizeof *trace->steps) ||
        !ll_grow((void **)&build->step_recorded, &build->recorded_capacity, step + 1,
                 sizeof *build->step_recorded))
        return ll_build_no_memory(build);
    memset(trace->steps + trace->step_count, 0, more * sizeof *trace->steps);
    memset(build->step_recorded + trace->step_count, 0, more * sizeof *build->step_recorded);
    trace->step_count = step + 1;
    return true;
}

bool ll_build_steps(struct ll_build *build)
{
    struct ll_block *block = &build->block;
    uint64_t count = ll_block_count(block, LL_STEPS_FIRST_OP);
    const uint64_t *first = ll_block_numbers(block, LL_STEPS_FIRST, 1);
    if (!first || count == 0 || count > LL_MAX_COLUMN_VALUES)
        return ll_build_refuse(build, "its columns do not fit together");
    if (!ll_build_reach_step(build, ll_add(*first, count - 1)))
        return ll_build_refuse(build, "it holds more steps than a file of this size may");
    const uint64_t *first_op = ll_block_numbers(block, LL_STEPS_FIRST_OP, count);
    const uint64_t *ops = ll_block_numbers(block, LL_STEPS_OPS, count);
    const uint64_t *start = ll_block_numbers(block, LL_STEPS_START, count);
    const uint64_t *wall = ll_block_numbers(block, LL_STEPS_WALL, count);
    const uint64_t *recording = ll_block_numbers(block, LL_STEPS_RECORDING, count);
    if (!first_op || !ops || !start || !wall || !recording)
        return ll_build_refuse(build, "its columns do not fit together");
    for (uint64_t i = 0; i < count; i++) {
        bool sound = ops[i] < LL_NONE && first_op[i] < LL_NONE && ll_fits(ll_add(start[i], wall[i]));
        if (!sound)
            continue;
        build->step_recorded[*first + i] = true;
        build->trace->steps[*first + i] =
            (struct ll_step){(uint32_t)first_op[i], (uint32_t)ops[i], start[i], wall[i], recording[i], false};
    }
    return true;
}

bool ll_build_end(struct ll_build *build)
{
    const uint64_t *totals = ll_block_numbers(&build->block, LL_END_TOTALS, 3);
    if (!totals)
        return ll_build_refuse(build, "its columns do not fit together");
    build->ended = true;
    build->total_ops = totals[0];
    return true;
}

/* A desc for tensors of which nothing is known: of no size. */
static bool give_looks(struct ll_build *build)
{
    struct ll_trace *trace = build->trace;
    uint32_t lost = LL_NONE;
    for (uint64_t i = 0; i < trace->tensor_count; i++) {
        if (trace->tensors[i].desc != LL_NONE)
            continue;
        if (lost == LL_NONE) {
            lost = (uint32_t)trace->desc_count;
            if (!ll_grow((void **)&trace->strings, &build->string_capacity, trace->string_count + 1,
                         sizeof *trace->strings) ||
                !ll_grow((void **)&trace->descs, &build->desc_capacity, trace->desc_count + 1,
                         sizeof *trace->descs))
                return ll_build_no_memory(build);
            trace->strings[trace->string_count++] = "lost";
            trace->descs[trace->desc_count++] = (struct ll_desc){
                .name = (uint32_t)(trace->string_count - 1), .memory = LL_WORKSPACE, .shape = {.rank = 1}};
        }
        trace->tensors[i].desc = lost;
    }
    return true;
}

/* A step that was not recorded gets its times from its ops. */
static void time_by_ops(const struct ll_trace *trace, struct ll_step *step)
{
    uint64_t begin_ns = UINT64_MAX, end_ns = 0;
    for (uint64_t i = step->first_op; i < (uint64_t)step->first_op + step->op_count; i++) {
        begin_ns = ll_min(begin_ns, trace->ops[i].start_ns);
        end_ns = ll_max(end_ns, trace->ops[i].start_ns + trace->ops[i].duration_ns);
    }
    step->start_ns = step->op_count ? begin_ns : 0;
    step->wall_ns = step->op_count ? end_ns - begin_ns : 0;
}

/* The ops of a step stand one after the other, steps in order. */
static void count_steps(struct ll_build *build)
{
    struct ll_trace *trace = build->trace;
    uint64_t op = 0;
    for (uint64_t i = 0; i < trace->step_count; i++) {
        struct ll_step *step = &trace->steps[i];
        uint32_t recorded = step->op_count;
        step->first_op = (uint32_t)op;
        while (op < trace->op_count && trace->ops[op].step == i)
            op++;
        step->op_count = (uint32_t)op - step->first_op;
        step->complete = build->step_recorded[i] && recorded == step->op_count;
        if (!build->step_recorded[i])
            time_by_ops(trace, step);
    }
}

bool ll_build_finish(struct ll_build *build)
{
    struct ll_trace *trace = build->trace;
    if (!give_looks(build))
        return false;
    count_steps(build);
    uint64_t total = build->ended ? build->total_ops : ll_walk_indexed_ops(build->walk);
    if (!ll_fits(total) || total < build->next_op)
        total = build->next_op;
    trace->lost_ops = total - trace->op_count;
    trace->lost_bytes = build->walk->lost_bytes;
    trace->lost_frames = build->walk->lost_frames;
    trace->closed = build->ended || build->walk->index;
    return true;
}

void ll_build_release(struct ll_build *build)
{
    ll_block_release(&build->block);
    free(build->strings.at);
    free(build->descs.at);
    free(build->forms.at);
    free(build->links.at);
    free(build->stretches);
    free(build->step_recorded);
}
