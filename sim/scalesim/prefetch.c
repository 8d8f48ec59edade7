/* SPDX-License-Identifier: Apache-2.0 */
/* SCALE-Sim looks for each address in each active set. Here each address knows one set that holds it, so that
 * a hit is one comparison; where that set is not active, its other sets are looked through, and how many
 * advances bring the nearest one into the active half is a division. */
#include "sim/scalesim/prefetch.h"

#include "tracer/base/num.h"

enum { NOWHERE = UINT32_MAX }; /* the set of addresses outside the image */

/* Walks the fetch order: visit(prefetch, address, set) for each word that is not empty. */
typedef void visit_fn(struct ll_scalesim_prefetch *prefetch, uint32_t address, uint32_t set);

struct order {
    struct ll_scalesim_prefetch *prefetch;
    visit_fn *visit;
    uint64_t words; /* so far in the set at hand */
    uint32_t set;
};

static inline void fetch(struct order *order, uint32_t address)
{
    if (order->prefetch->demand->padded && ll_scalesim_outside(order->prefetch->demand, address))
        return;
    order->visit(order->prefetch, address, order->set);
    if (++order->words < order->prefetch->set_words)
        return;
    order->words = 0;
    order->set++;
}

/* Row `row` of the stacked folds is element row % length of fold row / length. */
static void fetch_diagonals(struct order *order)
{
    const struct ll_scalesim_demand *demand = order->prefetch->demand;
    uint64_t length = demand->along_count, width = demand->width;
    uint64_t rows = ll_ceil_div(demand->across_count, width) * length;
    for (uint64_t diagonal = 0; diagonal < rows + width - 1; diagonal++) {
        uint64_t column = diagonal < rows ? 0 : diagonal - rows + 1, row = diagonal - column;
        uint64_t fold = row / length, element = row % length;
        for (; column < width && column <= diagonal; column++) {
            if (fold * width + column < demand->across_count)
                fetch(order, demand->across[fold * width + column] + demand->along[element]);
            fold -= element == 0;
            element = element == 0 ? length - 1 : element - 1;
        }
    }
}

static void fetch_rows(struct order *order)
{
    const struct ll_scalesim_demand *demand = order->prefetch->demand;
    for (uint64_t begin = 0; begin < demand->across_count; begin += demand->width)
        for (uint64_t along = 0; along < demand->along_count; along++)
            for (uint64_t across = begin; across < ll_min(begin + demand->width, demand->across_count);
                 across++)
                fetch(order, demand->across[across] + demand->along[along]);
}

/* The number of sets, with the last, possibly empty one. */
static uint32_t walk_order(struct ll_scalesim_prefetch *prefetch, visit_fn *visit)
{
    struct order order = {prefetch, visit, 0, 0};
    if (prefetch->demand->stationary)
        fetch_rows(&order);
    else
        fetch_diagonals(&order);
    return order.set + 1;
}

static void note_set(struct ll_scalesim_prefetch *prefetch, uint32_t address, uint32_t set)
{
    prefetch->set[address] = set;
}

/* The order visits sets upwards: an address's newest set is in `set`. */
static void count_set(struct ll_scalesim_prefetch *prefetch, uint32_t address, uint32_t set)
{
    prefetch->first[address + 1] += prefetch->set[address] != set;
    prefetch->set[address] = set;
}

/* While filling, first[a] is where the next set of a goes; at the end it is where those of a + 1 begin. */
static void add_set(struct ll_scalesim_prefetch *prefetch, uint32_t address, uint32_t set)
{
    if (prefetch->set[address] != set)
        prefetch->sets[prefetch->first[address]++] = set;
    prefetch->set[address] = set;
}

static void forget_sets(struct ll_scalesim_prefetch *prefetch)
{
    for (uint64_t a = 0; a < prefetch->demand->addresses; a++)
        prefetch->set[a] = NOWHERE;
}

static bool list_sets(struct ll_scalesim_prefetch *prefetch, struct ll_arena *arena)
{
    uint64_t count = prefetch->demand->addresses;
    prefetch->first = ll_alloc(arena, (size_t)count + 1, sizeof *prefetch->first);
    if (!prefetch->first)
        return false;
    forget_sets(prefetch);
    prefetch->set_count = walk_order(prefetch, count_set);
    for (uint64_t a = 0; a < count; a++)
        prefetch->first[a + 1] += prefetch->first[a];
    prefetch->sets = ll_alloc(arena, (size_t)prefetch->first[count], sizeof *prefetch->sets);
    if (!prefetch->sets)
        return false;
    forget_sets(prefetch);
    walk_order(prefetch, add_set);
    for (uint64_t a = count; a > 0; a--)
        prefetch->first[a] = prefetch->first[a - 1];
    prefetch->first[0] = 0;
    return true;
}

static uint64_t order_length(const struct ll_scalesim_demand *demand)
{
    return ll_ceil_div(demand->across_count, demand->width) * demand->width * demand->along_count;
}

bool ll_scalesim_prefetch_open(struct ll_scalesim_prefetch *prefetch, const struct ll_scalesim_demand *demand,
                               const struct ll_scalesim_folds *folds, uint64_t buffer_words,
                               uint64_t words_per_cycle, struct ll_arena *arena)
{
    uint64_t half = buffer_words / 2, half_lines = ll_ceil_div(half, words_per_cycle);
    *prefetch = (struct ll_scalesim_prefetch){
        .demand = demand,
        .set = ll_alloc(arena, (size_t)demand->addresses, sizeof *prefetch->set),
        .walked = ll_alloc(arena, (size_t)(folds->row_folds + folds->column_folds), sizeof *prefetch->walked),
        .set_words = ll_ceil_div(buffer_words, 100),
        .fill_lines = ll_min(half_lines, ll_ceil_div(order_length(demand), words_per_cycle)),
        .advance_lines = half_lines,
    };
    if (!prefetch->set || !prefetch->walked)
        return false;
    if (demand->once)
        prefetch->set_count = walk_order(prefetch, note_set);
    else if (!list_sets(prefetch, arena))
        return false;
    uint64_t half_sets = ll_ceil_div(half, prefetch->set_words);
    prefetch->active = (uint32_t)ll_min(half_sets, prefetch->set_count);
    prefetch->step = (uint32_t)ll_min(half_sets, prefetch->set_count - prefetch->active);
    return true;
}

void ll_scalesim_prefetch_fold(struct ll_scalesim_prefetch *prefetch, uint64_t row_fold, uint64_t column_fold)
{
    const struct ll_scalesim_demand *demand = prefetch->demand;
    uint64_t *walked = &prefetch->walked[demand->across_rows ? row_fold : column_fold];
    prefetch->all_hit = !demand->stationary && *walked == prefetch->advances + 1;
    *walked = prefetch->advances + 1;
}

/* How far behind the first active set, cyclically. */
static inline uint32_t distance(const struct ll_scalesim_prefetch *prefetch, uint32_t set)
{
    return set - prefetch->start + (set < prefetch->start ? prefetch->set_count : 0);
}

/* Of the sets that hold an address, the one that is active or becomes so first. */
static uint32_t nearest_set(const struct ll_scalesim_prefetch *prefetch, uint32_t address)
{
    uint32_t nearest = prefetch->set[address];
    if (prefetch->first)
        for (uint64_t i = prefetch->first[address]; i < prefetch->first[address + 1]; i++)
            if (distance(prefetch, prefetch->sets[i]) < distance(prefetch, nearest))
                nearest = prefetch->sets[i];
    return nearest;
}

static void miss(struct ll_scalesim_prefetch *prefetch, uint32_t address)
{
    if (prefetch->set[address] == NOWHERE)
        return;
    uint32_t set = nearest_set(prefetch, address), behind = distance(prefetch, set);
    prefetch->set[address] = set;
    if (behind < prefetch->active)
        return;
    uint64_t advances = ll_ceil_div(behind - prefetch->active + 1, prefetch->step);
    prefetch->advances += advances;
    prefetch->start = (uint32_t)((prefetch->start + advances * prefetch->step) % prefetch->set_count);
}

int64_t ll_scalesim_prefetch_read(struct ll_scalesim_prefetch *prefetch, const struct ll_scalesim_line *line)
{
    for (uint64_t i = 0; !prefetch->all_hit && i < line->count; i++) {
        uint32_t address = line->across[i] + *(line->along - i * line->back);
        if (distance(prefetch, prefetch->set[address]) >= prefetch->active)
            miss(prefetch, address);
    }
    return (int64_t)(prefetch->advances * (prefetch->advance_lines + 1)) - 1;
}

struct ll_scalesim_port ll_scalesim_prefetch_close(const struct ll_scalesim_prefetch *prefetch,
                                                   uint64_t words_per_cycle)
{
    uint64_t lines = prefetch->fill_lines + prefetch->advances * prefetch->advance_lines;
    return (struct ll_scalesim_port){
        .start_cycle = -(int64_t)prefetch->fill_lines,
        .stop_cycle = (int64_t)(prefetch->advances * (prefetch->advance_lines + 1)) - 1,
        .words = lines * words_per_cycle,
    };
}
