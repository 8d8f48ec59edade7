/* SPDX-License-Identifier: Apache-2.0 */
#include "tracer/build.h"

#include "tracer/base/arena.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

bool ll_build_no_memory(struct ll_trace_build *build)
{
    build->status = LL_NO_MEMORY;
    return false;
}

bool ll_build_refuse(struct ll_trace_build *build, const char *why)
{
    return build->status == LL_OK && ll_walk_refuse(build->walk, build->frame, why);
}

/* Adds so much to what was counted so far, if it stays within the limit. */
static bool afford(const struct ll_trace_build *build, uint64_t *so_far, uint64_t count, uint64_t weight_each)
{
    uint64_t weight = ll_add(*so_far, ll_mul(count, weight_each));
    if (weight > build->weight_limit)
        return false;
    *so_far = weight;
    return true;
}

bool ll_build_afford(struct ll_trace_build *build, uint64_t count, uint64_t weight_each)
{
    return afford(build, &build->weight, count, weight_each);
}

bool ll_build_charge(struct ll_trace_build *build, uint64_t count, uint64_t weight_each)
{
    return ll_build_afford(build, count, weight_each) ||
           ll_build_refuse(build, "it holds more than a file of this size may");
}

uint64_t ll_build_sum(const uint64_t *values, uint64_t count)
{
    uint64_t total = 0;
    for (uint64_t i = 0; i < count; i++)
        total = ll_add(total, values[i]);
    return total;
}

/* A text of the file; NULL when it holds a NUL (or memory ran out). */
static const char *take_text(struct ll_trace_build *build, struct ll_view *text, uint64_t size)
{
    char *copy = memchr(text->at, '\0', size)
                     ? NULL
                     : ll_copy_text(&build->trace->arena, (const char *)text->at, size);
    text->at += size;
    return copy;
}

bool ll_build_facts(struct ll_trace_build *build)
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
    if (!key_sizes || !value_sizes ||
        ll_add(ll_build_sum(key_sizes, count), ll_build_sum(value_sizes, count)) != text_bytes)
        return ll_build_refuse(build, "its columns do not fit together");
    if (!ll_grow(&trace->facts, &build->fact_capacity, trace->fact_count + count, sizeof *trace->facts))
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

bool ll_build_reach_step(struct ll_trace_build *build, uint64_t step)
{
    struct ll_trace *trace = build->trace;
    if (step < trace->step_count)
        return true;
    uint64_t more = step - trace->step_count + 1;
    if (step >= LL_NONE || !afford(build, &build->step_weight, more, LL_WEIGHT_STEP))
        return false;
    if (!ll_grow(&trace->steps, &build->step_capacity, step + 1, sizeof *trace->steps) ||
        !ll_grow(&build->step_recorded, &build->recorded_capacity, step + 1, sizeof *build->step_recorded))
        return ll_build_no_memory(build);
    memset(trace->steps + trace->step_count, 0, more * sizeof *trace->steps);
    memset(build->step_recorded + trace->step_count, 0, more * sizeof *build->step_recorded);
    trace->step_count = step + 1;
    return true;
}

/* The columns of a frame of steps. */
struct steps {
    const uint64_t *first_op, *ops, *start, *wall, *recording;
    uint64_t first, count;
};

/* What the frame claims, before any of it is decoded. */
static bool find_steps(struct ll_trace_build *build, struct steps *steps)
{
    const uint64_t *first = ll_block_numbers(&build->block, LL_STEPS_FIRST, 1);
    steps->count = ll_block_count(&build->block, LL_STEPS_FIRST_OP);
    steps->first = first ? *first : 0;
    return (first && steps->count > 0 && steps->count <= LL_MAX_COLUMN_VALUES) ||
           ll_build_refuse(build, "its columns do not fit together");
}

static bool decode_steps(struct ll_trace_build *build, struct steps *steps)
{
    struct ll_block *block = &build->block;
    steps->first_op = ll_block_numbers(block, LL_STEPS_FIRST_OP, steps->count);
    steps->ops = ll_block_numbers(block, LL_STEPS_OPS, steps->count);
    steps->start = ll_block_numbers(block, LL_STEPS_START, steps->count);
    steps->wall = ll_block_numbers(block, LL_STEPS_WALL, steps->count);
    steps->recording = ll_block_numbers(block, LL_STEPS_RECORDING, steps->count);
    return (steps->first_op && steps->ops && steps->start && steps->wall && steps->recording) ||
           ll_build_refuse(build, "its columns do not fit together");
}

/* False when step i of the frame cannot be. */
static bool take_step(const struct steps *steps, uint64_t i, struct ll_step *step)
{
    *step = (struct ll_step){(uint32_t)steps->first_op[i],
                             (uint32_t)steps->ops[i],
                             steps->start[i],
                             steps->wall[i],
                             steps->recording[i],
                             false};
    return steps->ops[i] < LL_NONE && steps->first_op[i] < LL_NONE &&
           ll_fits(ll_add(steps->start[i], steps->wall[i]));
}

bool ll_build_steps(struct ll_trace_build *build)
{
    struct steps steps;
    if (!find_steps(build, &steps))
        return false;
    if (!ll_build_reach_step(build, ll_add(steps.first, steps.count - 1)))
        return ll_build_refuse(build, "it holds more steps than a file of this size may");
    if (!decode_steps(build, &steps))
        return false;
    for (uint64_t i = 0; i < steps.count; i++) {
        struct ll_step step;
        if (!take_step(&steps, i, &step))
            continue;
        build->step_recorded[steps.first + i] = true;
        build->trace->steps[steps.first + i] = step;
    }
    return true;
}

/* Cuts come in a row without gap, or not at all. */
bool ll_build_cuts(struct ll_trace_build *build)
{
    struct steps steps;
    if (!find_steps(build, &steps) || !ll_build_charge(build, steps.count, LL_WEIGHT_STEP) ||
        !decode_steps(build, &steps))
        return false;
    const uint64_t *partial = ll_block_numbers(&build->block, LL_STEPS_PARTIAL, steps.count);
    if (!partial)
        return ll_build_refuse(build, "its columns do not fit together");
    if (!ll_grow(&build->cuts, &build->cut_capacity, build->cut_count + steps.count, sizeof *build->cuts))
        return ll_build_no_memory(build);
    uint64_t next = build->cut_count ? (uint64_t)build->cuts[build->cut_count - 1].first_op +
                                           build->cuts[build->cut_count - 1].op_count
                                     : 0;
    for (uint64_t i = 0; i < steps.count; i++) {
        struct ll_step *cut = &build->cuts[build->cut_count];
        if (!take_step(&steps, i, cut) || cut->first_op != next || steps.first + i != build->cut_count)
            return ll_build_refuse(build, "its steps do not follow one another");
        cut->complete = partial[i] == 0;
        next += cut->op_count;
        build->cut_count++;
    }
    return true;
}

bool ll_build_end(struct ll_trace_build *build)
{
    const uint64_t *totals = ll_block_numbers(&build->block, LL_END_TOTALS, 3);
    if (!totals)
        return ll_build_refuse(build, "its columns do not fit together");
    build->ended = true;
    build->total_ops = totals[0];
    return true;
}

/* A desc for tensors of which nothing is known: of no size. */
static bool give_looks(struct ll_trace_build *build)
{
    struct ll_trace *trace = build->trace;
    uint32_t lost = LL_NONE;
    for (uint64_t i = 0; i < trace->tensor_count; i++) {
        if (trace->tensors[i].desc != LL_NONE)
            continue;
        if (lost == LL_NONE) {
            lost = (uint32_t)trace->desc_count;
            if (!ll_grow(&trace->strings, &build->string_capacity, trace->string_count + 1,
                         sizeof *trace->strings) ||
                !ll_grow(&trace->descs, &build->desc_capacity, trace->desc_count + 1, sizeof *trace->descs))
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
static void count_steps(struct ll_trace_build *build)
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

/* Gives the ops to the cuts instead of the steps; ops that are lost leave their step incomplete. False when
 * memory ran out. */
static bool cut(struct ll_trace_build *build)
{
    struct ll_trace *trace = build->trace;
    uint32_t last_op = ll_build_ops_before(build, build->next_op);
    const struct ll_step *last = &build->cuts[build->cut_count - 1];
    if (build->next_op > (uint64_t)last->first_op + last->op_count)
        return true; /* they do not reach to the end: what was recorded stays */
    if (!ll_grow(&trace->steps, &build->step_capacity, build->cut_count, sizeof *trace->steps))
        return ll_build_no_memory(build);
    trace->step_count = build->cut_count;
    for (uint64_t i = 0; i < build->cut_count; i++) {
        const struct ll_step *cut = &build->cuts[i];
        uint32_t first = ll_build_ops_before(build, cut->first_op);
        uint32_t end = i + 1 < build->cut_count ? ll_build_ops_before(build, cut[1].first_op) : last_op;
        trace->steps[i] = *cut;
        trace->steps[i].first_op = first;
        trace->steps[i].op_count = end - first;
        trace->steps[i].complete = cut->complete && end - first == cut->op_count;
        for (uint32_t op = first; op < end; op++)
            trace->ops[op].step = (uint32_t)i;
    }
    return true;
}

bool ll_build_finish(struct ll_trace_build *build)
{
    struct ll_trace *trace = build->trace;
    if (!give_looks(build))
        return false;
    count_steps(build);
    if (build->cut_count && !cut(build))
        return false;
    uint64_t total = build->ended ? build->total_ops : ll_walk_indexed_ops(build->walk);
    if (!ll_fits(total) || total < build->next_op)
        total = build->next_op;
    trace->lost_ops = total - trace->op_count;
    trace->lost_bytes = build->walk->lost_bytes;
    trace->lost_frames = build->walk->lost_frames;
    trace->closed = build->ended || build->walk->index;
    return true;
}

void ll_build_release(struct ll_trace_build *build)
{
    ll_block_release(&build->block);
    free(build->strings.at);
    free(build->descs.at);
    free(build->forms.at);
    free(build->links.at);
    free(build->stretches);
    free(build->step_recorded);
    free(build->cuts);
}
