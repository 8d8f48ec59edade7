/* SPDX-License-Identifier: Apache-2.0 */
/* Which layers each virtual stage has, as people write it: Megatron-LM's layout (megatron/core/transformer/
 * pipeline_parallel_layer_layout.py). Virtual stages stand in a row with | between; E is the embedding, t a
 * layer, L the head with the loss. What stands before *N, a letter, a | or a row in brackets, is there N
 * times; commas mean nothing. */
#include <assert.h>
#include <ctype.h>
#include <inttypes.h>
#include <string.h>

#include "sim/parallel/pipeline.h"
#include "tracer/base/num.h"
#include "tracer/base/str.h"

enum { MOST_LETTERS = 1 << 16, MOST_DEPTH = 16 };

struct reading {
    const char *at;
    struct ll_layout *layout;
    uint32_t *counts;
    uint32_t room, of_part, letters, depth;
};

/* One letter of a layout that is written out. False where it may not stand here. */
static bool take(struct reading *r, char letter)
{
    struct ll_layout *layout = r->layout;
    if (++r->letters > MOST_LETTERS || layout->loss) /* which is the last of all */
        return false;
    if (letter == '|') {
        if (r->of_part == 0)
            return false;
        if (r->counts && layout->parts <= r->room)
            r->counts[layout->parts - 1] = r->of_part;
        layout->parts++;
        r->of_part = 0;
        return true;
    }
    if (letter == 'E' && r->letters > 1)
        return false;
    layout->embedding |= letter == 'E';
    layout->loss |= letter == 'L';
    r->of_part++;
    return true;
}

static bool read_row(struct reading *r, bool counts);

/* A letter, or a row in brackets. */
static bool read_item(struct reading *r, bool counts)
{
    const char letter = *r->at;
    if (letter == '(') {
        if (++r->depth > MOST_DEPTH)
            return false;
        const uint32_t before = r->letters;
        r->at++;
        bool right = read_row(r, counts) && *r->at == ')' && (!counts || r->letters > before);
        r->at += right;
        r->depth--;
        return right;
    }
    if (letter == '\0' || !strchr("EtL|", letter))
        return false;
    r->at++;
    return !counts || take(r, letter);
}

/* *N behind an item: N, 1 without. */
static bool read_times(struct reading *r, uint64_t *times)
{
    *times = 1;
    if (*r->at != '*')
        return true;
    for (*times = 0, r->at++; isdigit((unsigned char)*r->at) && *times <= MOST_LETTERS; r->at++)
        *times = 10 * *times + (uint64_t)(*r->at - '0');
    return *times > 0 && *times <= MOST_LETTERS;
}

/* Items up to the end or a bracket. Each is passed over once for its times, then taken as often. */
static bool read_row(struct reading *r, bool counts)
{
    while (*r->at && *r->at != ')') {
        const char *begin = r->at, *end;
        uint64_t times;
        if (*r->at == ',') {
            r->at++;
            continue;
        }
        if (!read_item(r, false) || !read_times(r, &times))
            return false;
        end = r->at;
        for (uint64_t i = 0; counts && i < times; i++) {
            r->at = begin;
            if (!read_item(r, true))
                return false;
        }
        r->at = end;
    }
    return true;
}

bool ll_layout_read(const char *text, struct ll_layout *layout, uint32_t *counts, uint32_t room)
{
    struct reading r = {.at = text, .layout = layout, .counts = counts, .room = room};
    *layout = (struct ll_layout){.parts = 1};
    if (!read_row(&r, true) || *r.at || r.of_part == 0)
        return false;
    if (counts && layout->parts <= room)
        counts[layout->parts - 1] = r.of_part;
    layout->layers = r.letters - (layout->parts - 1) - layout->embedding - layout->loss;
    return layout->layers > 0;
}

void ll_layout_part(uint32_t count, bool embedding, bool loss, struct ll_str *out)
{
    const uint32_t layers = count - embedding - loss;
    ll_str_add(out, embedding ? "E" : "");
    if (layers > 0)
        ll_str_add(out, "t");
    if (layers > 1)
        ll_str_addf(out, "*%u", layers);
    ll_str_add(out, loss ? "L" : "");
}

bool ll_layout_write(const uint32_t *counts, uint32_t parts, bool embedding, bool loss,
                     char text[LL_LAYOUT_ROOM])
{
    struct ll_str out = {0};
    for (uint32_t part = 0, next; part < parts; part = next) {
        const bool first = part == 0 && embedding;
        for (next = part + 1; next < parts && counts[next] == counts[part];)
            next++;
        next -= next == parts && loss && next > part + 1; /* the last one has another letter */
        next = first || next - part < 3 ? part + 1 : next;
        ll_str_add(&out, part ? "|" : "");
        ll_str_add(&out, next - part > 1 ? "(" : "");
        ll_layout_part(counts[part], first, part == parts - 1 && loss, &out);
        if (next - part > 1) {
            ll_str_addf(&out, "|)*%u", next - part - 1);
            ll_layout_part(counts[part], false, false, &out);
        }
    }
    const bool fits = !out.failed && out.length < LL_LAYOUT_ROOM;
    if (fits)
        memcpy(text, out.text, out.length + 1);
    ll_str_release(&out);
    return fits;
}

const char *ll_layout_trouble(const struct ll_trace *trace, const struct ll_layer_split *split,
                              const char *trouble, struct ll_arena *arena)
{
    struct ll_layers layers;
    struct ll_layout layout;
    if (!*split->layout || ll_layers_of_split(trace, split, arena, &layers) ||
        !ll_layout_read(split->layout, &layout, NULL, 0))
        return trouble;
    const uint32_t ends = layout.embedding + layout.loss;
    if (layout.layers + ends == layers.count)
        return trouble;
    return ll_format(arena, "the layers of the model are %" PRIu32 ", those of the layout %" PRIu32,
                     layers.count - ends, layout.layers);
}

/* --- the ends as layers --- */

struct ll_ends ll_split_ends(const struct ll_layer_split *split)
{
    struct ll_layout layout = {.embedding = true, .loss = true}; /* by cost both are looked at alone */
    if (*split->layout && !ll_split_is_by_cost(split))
        ll_layout_read(split->layout, &layout, NULL, 0);
    return *split->layout ? (struct ll_ends){layout.embedding, layout.loss}
                          : (struct ll_ends){split->embedding, split->loss};
}

/* Scopes separate ops from those of numbered layers, also where they go backward. */
static const char *without_ends(const struct ll_trace *trace, const struct ll_layers *layers)
{
    bool backward = false, named = false;
    if (layers->count == 0 || !*layers->names[0])
        return "no layers are numbered in it, so that nobody knows what comes before and behind them";
    for (uint32_t op = 0; op < trace->op_count; op++)
        if (trace->signatures[trace->ops[op].signature].phase == LL_PHASE_BACKWARD) {
            backward = true;
            named |= layers->named[op] != LL_NONE;
        }
    return backward && !named
               ? "it does not say which layers its backward ops are of, so that nobody knows which are of "
                 "the embedding and of the loss"
               : NULL;
}

/* Layers of which the first, or the last, is one with its neighbour after all. */
static void join_end(const struct ll_trace *trace, bool first, struct ll_layers *layers)
{
    const uint32_t gone = first ? 0 : layers->count - 1, into = first ? 1 : layers->count - 2;
    layers->flops[into] = ll_add(layers->flops[into], layers->flops[gone]);
    for (uint32_t op = 0; op < trace->op_count; op++) {
        if (layers->owner[op] == gone)
            layers->owner[op] = into;
        layers->owner[op] -= first && layers->owner[op] != LL_NONE;
        layers->named[op] -= first && layers->named[op] != LL_NONE;
    }
    layers->count--;
    layers->names += first;
    layers->flops += first;
    layers->named_flops += first;
}

const char *ll_layers_of_split(const struct ll_trace *trace, const struct ll_layer_split *split,
                               struct ll_arena *arena, struct ll_layers *layers)
{
    const struct ll_ends ends = ll_split_ends(split);
    if (!ll_layers_find(trace, arena, layers))
        return "memory ran out";
    if (!ends.embedding && !ends.loss)
        return NULL;
    const char *trouble = without_ends(trace, layers);
    if (trouble)
        return trouble;
    if (!ll_layers_find_ends(trace, true, arena, layers))
        return "memory ran out";
    layers->named_flops[0] = layers->flops[0];
    layers->named_flops[layers->count - 1] = layers->flops[layers->count - 1];
    if (!ends.embedding)
        join_end(trace, true, layers);
    if (!ends.loss)
        join_end(trace, false, layers);
    return NULL;
}
