/* SPDX-License-Identifier: Apache-2.0 */
/* Layouts of version 3: where the words of an operand lie in its buffer, and the bank of each.
 *
 * A dimension is cut into pieces of its factor. The words are visited in an order of pieces and of places
 * within them; what a last piece lacks is empty and takes no place. Lines of the buffer, sets here, fill in
 * this order. SCALE-Sim keeps a line as a Python set of floats and takes for a word's column its place in
 * the set's order. That is the order of CPython's hash table, so the table is rebuilt here. */
#include <assert.h>
#include <string.h>

#include "sim/scalesim/buffers.h"
#include "tracer/base/num.h"

enum { MOST_DIMS = 4, LEAST_TABLE = 8, PROBES = 9, PERTURB_SHIFT = 5, NOT_HERE = UINT32_MAX };

/* A tensor in its own order, its pieces, and how they are visited. */
struct tensor {
    unsigned dims;
    uint64_t size[MOST_DIMS], factor[MOST_DIMS];
    const unsigned *lines, *in_line; /* which dimension is the slowest, ... */
};

/* CPython's set of floats that are whole numbers, which hash to themselves (Objects/setobject.c, since
 * 3.7). */
struct table {
    uint64_t *slots, *spare; /* values + 1, 0 for empty */
    uint64_t mask, used;
};

static void put_clean(uint64_t *slots, uint64_t mask, uint64_t value)
{
    uint64_t perturb = value, i = value & mask;
    for (;; i = (i * 5 + 1 + (perturb >>= PERTURB_SHIFT)) & mask) {
        uint64_t more = i + PROBES <= mask ? PROBES : 0;
        for (uint64_t at = i; at <= i + more; at++)
            if (!slots[at]) {
                slots[at] = value + 1;
                return;
            }
    }
}

/* Values are added once each. A table that is three fifths full grows to more than four times its values, or
 * twice from 50,001 on. */
static void add_value(struct table *table, uint64_t value)
{
    put_clean(table->slots, table->mask, value);
    if (++table->used * 5 < table->mask * 3)
        return;
    uint64_t least = table->used > 50000 ? table->used * 2 : table->used * 4, size = LEAST_TABLE;
    while (size <= least)
        size *= 2;
    memset(table->spare, 0, (size_t)size * sizeof *table->spare);
    for (uint64_t i = 0; i <= table->mask; i++)
        if (table->slots[i])
            put_clean(table->spare, size - 1, table->slots[i] - 1);
    uint64_t *old = table->slots;
    table->slots = table->spare;
    table->spare = old;
    table->mask = size - 1;
}

/* What the walk writes. */
struct walk {
    const struct ll_scalesim_demand *demand;
    enum ll_scalesim_operand operand;
    uint64_t base, in_w; /* added to a tensor's index for its address in SCALE-Sim; of the ifmap */
    uint64_t set_words, bank_words;
    uint32_t *set, count; /* sets so far */
    uint16_t *bank;
    uint64_t *values; /* of the set at hand */
    uint64_t held;
    struct table table;
};

/* Our address of a tensor's index: our ifmap is as wide as the windows reach. */
static uint64_t our_address(const struct walk *walk, uint64_t index)
{
    if (walk->operand == LL_SCALESIM_FILTER)
        return index;
    uint64_t pixel = index / walk->demand->channels;
    return (pixel / walk->in_w * walk->demand->plane_w + pixel % walk->in_w) * walk->demand->channels +
           index % walk->demand->channels;
}

static void close_set(struct walk *walk)
{
    struct table *table = &walk->table;
    memset(table->slots, 0, LEAST_TABLE * sizeof *table->slots);
    table->mask = LEAST_TABLE - 1;
    table->used = 0;
    for (uint64_t i = 0; i < walk->held; i++)
        add_value(table, walk->values[i] + walk->base);
    uint64_t column = 0;
    for (uint64_t i = 0; i <= table->mask; i++) {
        if (!table->slots[i])
            continue;
        uint64_t address = our_address(walk, table->slots[i] - 1 - walk->base);
        walk->set[address] = walk->count;
        walk->bank[address] = (uint16_t)(column++ / walk->bank_words);
    }
    walk->held = 0;
}

/* The dense index of the word at this place of the visit, or NOT_HERE where a piece has none. Version 3 reads
 * its two orders the wrong way round: it visits the places within pieces slowly, in the order of the lines,
 * and the pieces fast, in the order within a line. */
static uint64_t index_of(const struct tensor *tensor, uint64_t place, uint64_t piece)
{
    uint64_t at[MOST_DIMS] = {0}, index = 0;
    for (unsigned i = tensor->dims; i-- > 0;) {
        unsigned slow = tensor->lines[i], fast = tensor->in_line[i];
        uint64_t pieces = ll_ceil_div(tensor->size[fast], tensor->factor[fast]);
        at[slow] += place % tensor->factor[slow];
        place /= tensor->factor[slow];
        at[fast] += piece % pieces * tensor->factor[fast];
        piece /= pieces;
    }
    for (unsigned i = 0; i < tensor->dims; i++) {
        if (at[i] >= tensor->size[i])
            return NOT_HERE;
        index = index * tensor->size[i] + at[i];
    }
    return index;
}

static void walk_tensor(struct walk *walk, const struct tensor *tensor, uint64_t *words)
{
    uint64_t pieces = 1, places = 1;
    for (unsigned i = 0; i < tensor->dims; i++) {
        pieces *= ll_ceil_div(tensor->size[i], tensor->factor[i]);
        places *= tensor->factor[i];
    }
    *words = pieces * places;
    for (uint64_t place = 0; place < places; place++)
        for (uint64_t piece = 0; piece < pieces; piece++) {
            uint64_t index = index_of(tensor, place, piece);
            if (index == NOT_HERE)
                continue;
            walk->values[walk->held++] = index;
            if (walk->held < walk->set_words)
                continue;
            close_set(walk);
            walk->count++;
        }
    if (walk->held > 0)
        close_set(walk);
}

static bool open_walk(struct walk *walk, struct ll_arena *arena)
{
    uint64_t slots = LEAST_TABLE;
    while (slots <= walk->set_words * 4)
        slots *= 2;
    walk->values = ll_alloc(arena, (size_t)walk->set_words, sizeof *walk->values);
    walk->table.slots = ll_alloc(arena, (size_t)slots, sizeof *walk->table.slots);
    walk->table.spare = ll_alloc(arena, (size_t)slots, sizeof *walk->table.spare);
    for (uint64_t a = 0; a < walk->demand->addresses; a++)
        walk->set[a] = NOT_HERE;
    return walk->values && walk->table.slots && walk->table.spare;
}

uint32_t ll_scalesim_lay_out(const struct ll_scalesim_config *config, const struct ll_scalesim_layer *layer,
                             enum ll_scalesim_operand operand, const struct ll_scalesim_demand *demand,
                             struct ll_arena *arena, uint32_t *set, uint16_t *bank, uint64_t *words)
{
    const struct ll_scalesim_layout *layout = config->layout;
    assert(layout && config->read_words[operand] % config->banks[operand] == 0);
    struct tensor tensor = {.dims = 3,
                            .size = {layer->in_h, layer->in_w, layer->channels},
                            .lines = layout->ifmap_lines,
                            .in_line = layout->ifmap_in_line};
    memcpy(tensor.factor, layout->ifmap_factor, sizeof layout->ifmap_factor);
    if (operand == LL_SCALESIM_FILTER) {
        tensor = (struct tensor){.dims = 4,
                                 .size = {layer->filters, layer->channels, layer->filter_h, layer->filter_w},
                                 .lines = layout->filter_lines,
                                 .in_line = layout->filter_in_line};
        memcpy(tensor.factor, layout->filter_factor, sizeof layout->filter_factor);
    }
    struct walk walk = {.demand = demand,
                        .operand = operand,
                        .base = operand == LL_SCALESIM_FILTER ? config->first_address[operand] : 0,
                        .in_w = layer->in_w,
                        .set_words = config->read_words[operand],
                        .bank_words = config->read_words[operand] / config->banks[operand],
                        .set = set,
                        .bank = bank};
    if (!open_walk(&walk, arena))
        return 0;
    walk_tensor(&walk, &tensor, words);
    return walk.count + 1;
}
