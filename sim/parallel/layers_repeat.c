/* SPDX-License-Identifier: Apache-2.0 */
/* A token is the kind of the op that begins a layer and the shape of its weight. The row of tokens is held
 * against itself at every distance; the distance at which most agree, without a gap and on other weights, is
 * that of layers. Time steps of a recurrent layer agree too, but on the same weights. */
#include "sim/parallel/layers_repeat.h"

#include "tracer/base/map.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_TOKENS = 4096 }; /* the search takes their square */

struct token {
    uint32_t look, storage;
};

/* Packed: compared as bytes. */
struct look {
    uint64_t kind;
    struct ll_shape shape;
};

struct repetition {
    /* Tokens first ... first + agreeing - 1 agree with those at the distance. */
    uint32_t first, distance, agreeing;
};

static bool read_token(const struct ll_trace *trace, uint32_t op, struct ll_map *looks, struct token *token)
{
    const struct ll_form *form = &trace->forms[trace->ops[op].form];
    for (uint32_t i = 0; i < form->view.input_count; i++) {
        const struct ll_tensor *tensor = &trace->tensors[ll_op_input(trace, op, i)];
        if (trace->descs[tensor->desc].memory != LL_WEIGHT)
            continue;
        struct look look = {form->view.kind, trace->descs[tensor->desc].shape};
        *token = (struct token){ll_map_intern(looks, &look, sizeof look, NULL), tensor->storage};
        return token->look != LL_NO_ID;
    }
    return true;
}

/* Of the ops that begin layers, as they first come. */
static struct token *read_tokens(const struct ll_trace *trace, const struct ll_layers *layers,
                                 struct ll_arena *arena)
{
    struct token *tokens = ll_alloc(arena, layers->count + 1u, sizeof *tokens);
    struct ll_map looks = {0};
    bool right = tokens;
    uint32_t next = 0;
    for (uint32_t op = 0; right && op < trace->op_count && next < layers->count; op++)
        if (layers->named[op] == next)
            right = read_token(trace, op, &looks, &tokens[next++]);
    ll_map_release(&looks);
    return right ? tokens : NULL;
}

/* The longest run of tokens that agree with those at this distance. */
static struct repetition longest_run(const struct token *tokens, uint32_t count, uint32_t distance)
{
    struct repetition best = {0, distance, 0};
    for (uint32_t i = 0, run = 0; i + distance < count; i++) {
        const struct token *a = &tokens[i], *b = &tokens[i + distance];
        run = a->look == b->look && a->storage != b->storage ? run + 1 : 0;
        if (run > best.agreeing)
            best = (struct repetition){i + 1 - run, distance, run};
    }
    return best;
}

/* The distance that covers most tokens, the least of equals. */
static struct repetition find_repetition(const struct token *tokens, uint32_t count)
{
    struct repetition best = {0};
    for (uint32_t distance = 1; distance <= count / 2; distance++) {
        struct repetition run = longest_run(tokens, count, distance);
        uint32_t times = run.agreeing / distance + 1;
        if (times > 1 &&
            times * distance > (best.agreeing ? (best.agreeing / best.distance + 1) * best.distance : 0))
            best = run;
    }
    return best;
}

/* The layer of a token: before, one of the times, behind. */
static uint32_t layer_of(const struct repetition *r, uint32_t token)
{
    uint32_t times = r->agreeing / r->distance + 1, before = r->first > 0;
    if (token < r->first)
        return 0;
    uint32_t time = (token - r->first) / r->distance;
    return before + (time < times ? time : times);
}

bool ll_layers_repeat(const struct ll_trace *trace, struct ll_arena *arena, struct ll_layers *layers)
{
    if (layers->count > MOST_TOKENS || layers->count < 2)
        return true;
    const struct token *tokens = read_tokens(trace, layers, arena);
    if (!tokens)
        return false;
    struct repetition r = find_repetition(tokens, layers->count);
    if (r.agreeing == 0 || 2 * (r.agreeing / r.distance + 1) * r.distance < layers->count)
        return true;
    for (uint32_t op = 0; op < trace->op_count; op++)
        if (layers->named[op] != LL_NONE)
            layers->named[op] = layer_of(&r, layers->named[op]);
    layers->count = layer_of(&r, layers->count - 1) + 1;
    return true;
}
