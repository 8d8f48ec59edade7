/* SPDX-License-Identifier: Apache-2.0 */
/* Sizes of storages are added at births and taken off after deaths on a walk over the ops, and the classes
 * collected at the peak that was found. */
#include "sim/memory/footprint.h"

#include <stdlib.h>
#include <string.h>

/* Per op, what is born with it and what dies after it. */
struct flow {
    uint64_t born_bytes, dead_bytes;
};

static void find_peak(const struct ll_trace *trace, const struct ll_life *lives, struct flow *flows,
                      struct ll_footprint *footprint)
{
    uint64_t live_bytes = 0;
    for (uint64_t s = 0; s < trace->storage_count; s++) {
        if (lives[s].first == LL_NONE)
            continue;
        flows[lives[s].first].born_bytes = ll_add(flows[lives[s].first].born_bytes, lives[s].bytes);
        flows[lives[s].last].dead_bytes = ll_add(flows[lives[s].last].dead_bytes, lives[s].bytes);
    }
    for (uint32_t op = 0; op < trace->op_count; op++) {
        live_bytes = ll_add(live_bytes, flows[op].born_bytes);
        if (footprint->peak_op == LL_NONE || live_bytes > footprint->peak_bytes) {
            footprint->peak_op = op;
            footprint->peak_bytes = live_bytes;
        }
        live_bytes = ll_sub(live_bytes, flows[op].dead_bytes);
    }
}

enum ll_training_memory ll_training_memory_of(const struct ll_life *life)
{
    static const enum ll_training_memory of[LL_MEMORY_COUNT] = {
        [LL_WEIGHT] = LL_HOLDS_WEIGHTS,          [LL_GRADIENT] = LL_HOLDS_FEATURE_MAPS,
        [LL_ACTIVATION] = LL_HOLDS_FEATURE_MAPS, [LL_OPTIMIZER] = LL_HOLDS_DYNAMIC,
        [LL_WORKSPACE] = LL_HOLDS_WORKSPACE,     [LL_INPUT] = LL_HOLDS_DYNAMIC,
    };
    return life->memory == LL_GRADIENT && life->updates ? LL_HOLDS_WEIGHT_GRADIENTS : of[life->memory];
}

/* The peak of one kind of memory alone; flows are scratch. */
static uint64_t find_most(const struct ll_trace *trace, const struct ll_life *lives,
                          enum ll_training_memory which, struct flow *flows)
{
    uint64_t live_bytes = 0, most_bytes = 0;
    memset(flows, 0, trace->op_count * sizeof *flows);
    for (uint64_t s = 0; s < trace->storage_count; s++)
        if (lives[s].first != LL_NONE && ll_training_memory_of(&lives[s]) == which) {
            flows[lives[s].first].born_bytes = ll_add(flows[lives[s].first].born_bytes, lives[s].bytes);
            flows[lives[s].last].dead_bytes = ll_add(flows[lives[s].last].dead_bytes, lives[s].bytes);
        }
    for (uint32_t op = 0; op < trace->op_count; op++) {
        live_bytes = ll_add(live_bytes, flows[op].born_bytes);
        most_bytes = ll_max(most_bytes, live_bytes);
        live_bytes = ll_sub(live_bytes, flows[op].dead_bytes);
    }
    return most_bytes;
}

const char *ll_training_memory_name(enum ll_training_memory memory)
{
    static const char *const names[LL_HOLDS_COUNT] = {
#define X(word, name) [LL_HOLDS_##word] = name,
        LL_TRAINING_MEMORY_LIST(X)
#undef X
    };
    return names[memory];
}

static void sum_classes(const struct ll_trace *trace, const struct ll_life *lives,
                        struct ll_footprint *footprint)
{
    for (uint64_t s = 0; s < trace->storage_count; s++) {
        const struct ll_life *life = &lives[s];
        if (life->first != LL_NONE && life->first <= footprint->peak_op && life->last >= footprint->peak_op)
            footprint->class_bytes[life->memory] = ll_add(footprint->class_bytes[life->memory], life->bytes);
    }
}

bool ll_memory_is_known(const struct ll_trace *trace)
{
    return !ll_trace_fact(trace, "memory.unknown");
}

bool ll_footprint_of_lives(const struct ll_trace *trace, const struct ll_life *lives,
                           struct ll_footprint *footprint)
{
    *footprint = (struct ll_footprint){.peak_op = LL_NONE, .unknown = !ll_memory_is_known(trace)};
    if (trace->op_count == 0)
        return true;
    struct flow *flows = calloc(trace->op_count, sizeof *flows);
    if (!flows)
        return false;
    find_peak(trace, lives, flows, footprint);
    sum_classes(trace, lives, footprint);
    for (int i = 0; i < LL_HOLDS_COUNT; i++)
        footprint->most_bytes[i] = find_most(trace, lives, (enum ll_training_memory)i, flows);
    free(flows);
    return true;
}

bool ll_footprint(const struct ll_trace *trace, struct ll_footprint *footprint)
{
    struct ll_arena arena = {0};
    const struct ll_life *lives = trace->op_count ? ll_lives(trace, &arena) : NULL;
    *footprint = (struct ll_footprint){.peak_op = LL_NONE, .unknown = !ll_memory_is_known(trace)};
    bool done = trace->op_count == 0 || (lives && ll_footprint_of_lives(trace, lives, footprint));
    ll_arena_release(&arena);
    return done;
}
