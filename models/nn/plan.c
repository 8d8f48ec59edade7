/* SPDX-License-Identifier: Apache-2.0 */
/* The ops are gone through in order. Each new value takes the smallest free gap that holds it, or the end; a
 * value whose last reader has passed gives its place back, and neighbouring gaps grow together:
 *
 *      | conv1 | gap | relu1 | gap           | dy |        gaps sorted by offset
 */
#include "models/nn/plan.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

struct gap {
    uint64_t offset, bytes;
};

struct planner {
    const struct ll_nn *nn;
    struct ll_memory_plan *plan;
    uint32_t *last_reader; /* by value index of a root: op index */
    struct gap *gaps;
    uint64_t gap_count, gap_capacity;
};

static uint64_t padded_bytes(const struct ll_value *value)
{
    uint64_t bytes = ll_size_bytes(&value->shape);
    return ll_mul(ll_ceil_div(ll_max(bytes, 1), LL_MEMORY_PLAN_ALIGN), LL_MEMORY_PLAN_ALIGN);
}

static bool shares(const struct ll_value *root)
{
    return root->producer && !root->kept;
}

/* A view that is kept keeps its root. */
static void find_lifetimes(struct planner *p)
{
    for (uint64_t i = 0; i < p->nn->value_count; i++)
        if (p->nn->values[i]->kept)
            p->nn->values[i]->root->kept = true;
    for (uint64_t i = 0; i < p->nn->op_count; i++) {
        const struct ll_nn_op *op = p->nn->ops[i];
        for (uint32_t j = 0; j < op->view.input_count; j++)
            p->last_reader[op->inputs[j]->root->index] = (uint32_t)i;
        for (uint32_t j = 0; j < op->view.output_count; j++)
            p->last_reader[op->outputs[j]->root->index] = (uint32_t)i;
    }
}

static uint64_t take(struct planner *p, uint64_t bytes)
{
    uint64_t best = p->gap_count;
    for (uint64_t i = 0; i < p->gap_count; i++)
        if (p->gaps[i].bytes >= bytes && (best == p->gap_count || p->gaps[i].bytes < p->gaps[best].bytes))
            best = i;
    if (best == p->gap_count) {
        uint64_t offset = p->plan->shared_bytes;
        p->plan->shared_bytes = ll_add(offset, bytes);
        return offset;
    }
    uint64_t offset = p->gaps[best].offset;
    p->gaps[best].offset += bytes;
    p->gaps[best].bytes -= bytes;
    if (p->gaps[best].bytes == 0)
        memmove(&p->gaps[best], &p->gaps[best + 1], (--p->gap_count - best) * sizeof *p->gaps);
    return offset;
}

static bool give_back(struct planner *p, uint64_t offset, uint64_t bytes)
{
    if (!ll_grow(&p->gaps, &p->gap_capacity, p->gap_count + 1, sizeof *p->gaps))
        return false;
    uint64_t at = 0;
    while (at < p->gap_count && p->gaps[at].offset < offset)
        at++;
    bool joins_before = at > 0 && p->gaps[at - 1].offset + p->gaps[at - 1].bytes == offset;
    bool joins_after = at < p->gap_count && offset + bytes == p->gaps[at].offset;
    if (joins_before) {
        p->gaps[at - 1].bytes += bytes;
        if (joins_after) {
            p->gaps[at - 1].bytes += p->gaps[at].bytes;
            memmove(&p->gaps[at], &p->gaps[at + 1], (--p->gap_count - at) * sizeof *p->gaps);
        }
    } else if (joins_after) {
        p->gaps[at].offset = offset;
        p->gaps[at].bytes += bytes;
    } else {
        memmove(&p->gaps[at + 1], &p->gaps[at], (p->gap_count++ - at) * sizeof *p->gaps);
        p->gaps[at] = (struct gap){offset, bytes};
    }
    return true;
}

/* An op's results must not lie where its inputs do, so they are placed before anything is given back. */
static bool place_results(struct planner *p, const struct ll_nn_op *op)
{
    for (uint32_t i = 0; i < op->view.output_count; i++) {
        const struct ll_value *value = op->outputs[i];
        if (value->root == value && shares(value))
            p->plan->offset[value->index] = take(p, padded_bytes(value));
    }
    return ll_fits(p->plan->shared_bytes);
}

static bool release_dead(struct planner *p, const struct ll_nn_op *op)
{
    uint32_t count = op->view.input_count;
    for (uint32_t i = 0; i < count + op->view.output_count; i++) {
        const struct ll_value *root = (i < count ? op->inputs[i] : op->outputs[i - count])->root;
        if (!shares(root) || p->last_reader[root->index] != op->index)
            continue;
        p->last_reader[root->index] = UINT32_MAX; /* once, though it may be read twice */
        if (!give_back(p, p->plan->offset[root->index], padded_bytes(root)))
            return false;
    }
    return true;
}

static void place_owners(struct planner *p)
{
    p->plan->total_bytes = p->plan->shared_bytes;
    for (uint64_t i = 0; i < p->nn->value_count; i++) {
        const struct ll_value *value = p->nn->values[i];
        if (value->root != value || shares(value))
            continue;
        p->plan->offset[i] = p->plan->total_bytes;
        p->plan->total_bytes = ll_add(p->plan->total_bytes, padded_bytes(value));
    }
    for (uint64_t i = 0; i < p->nn->value_count; i++)
        p->plan->offset[i] = p->plan->offset[p->nn->values[i]->root->index];
}

bool ll_memory_plan_make(const struct ll_nn *nn, struct ll_arena *arena, struct ll_memory_plan *plan)
{
    *plan = (struct ll_memory_plan){.offset = ll_alloc(arena, nn->value_count, sizeof *plan->offset)};
    struct planner p = {nn, plan, calloc(nn->value_count + 1, sizeof *p.last_reader), NULL, 0, 0};
    bool done = plan->offset && p.last_reader;
    if (done)
        find_lifetimes(&p);
    for (uint64_t i = 0; done && i < nn->op_count; i++)
        done = place_results(&p, nn->ops[i]) && release_dead(&p, nn->ops[i]);
    if (done)
        place_owners(&p);
    free(p.last_reader);
    free(p.gaps);
    return done && ll_fits(plan->total_bytes);
}
