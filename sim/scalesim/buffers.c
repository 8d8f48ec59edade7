/* SPDX-License-Identifier: Apache-2.0 */
/* The ifmap's address of output m and tap k is that of the window's corner plus that of the tap within it.
 * Where the stride does not divide, windows reach outside the image; addresses are those of an image large
 * enough for all windows, so that each stands for one pixel, and those outside are known by their place in
 * it. */
#include "sim/scalesim/buffers.h"

#include <stdlib.h>

#include "tracer/base/num.h"

static uint32_t *address_table(struct ll_arena *arena, uint64_t count)
{
    return ll_alloc(arena, (size_t)count, sizeof(uint32_t));
}

static void add_windows(const struct ll_scalesim_layer *layer, const struct ll_scalesim_folds *folds,
                        uint64_t plane_w, uint32_t *corners, uint32_t *taps)
{
    for (uint64_t h = 0; h < folds->out_h; h++)
        for (uint64_t w = 0; w < folds->out_w; w++)
            *corners++ = (uint32_t)((h * layer->stride_h * plane_w + w * layer->stride_w) * layer->channels);
    for (uint64_t h = 0; h < layer->filter_h; h++)
        for (uint64_t w = 0; w < layer->filter_w; w++)
            for (uint64_t c = 0; c < layer->channels; c++)
                *taps++ = (uint32_t)((h * plane_w + w) * layer->channels + c);
}

/* Windows that follow each other share pixels when they step by less than their size. */
static bool overlap(uint64_t windows, uint64_t stride, uint64_t size)
{
    return windows > 1 && stride < size;
}

static bool ifmap_tables(const struct ll_scalesim_layer *layer, const struct ll_scalesim_folds *folds,
                         struct ll_arena *arena, struct ll_scalesim_demand *demand, uint32_t **by_m,
                         uint32_t **by_k)
{
    uint64_t plane_h = (folds->out_h - 1) * layer->stride_h + layer->filter_h;
    uint64_t plane_w = (folds->out_w - 1) * layer->stride_w + layer->filter_w;
    *by_m = address_table(arena, folds->m);
    *by_k = address_table(arena, folds->k);
    if (!*by_m || !*by_k)
        return false;
    add_windows(layer, folds, plane_w, *by_m, *by_k);
    demand->addresses = plane_h * plane_w * layer->channels;
    demand->padded = plane_h > layer->in_h || plane_w > layer->in_w;
    demand->once = !demand->padded && !overlap(folds->out_h, layer->stride_h, layer->filter_h) &&
                   !overlap(folds->out_w, layer->stride_w, layer->filter_w);
    demand->image_h = layer->in_h;
    demand->image_w = layer->in_w;
    demand->plane_w = plane_w;
    demand->channels = layer->channels;
    return true;
}

static bool filter_tables(const struct ll_scalesim_folds *folds, struct ll_arena *arena,
                          struct ll_scalesim_demand *demand, uint32_t **by_n, uint32_t **by_k)
{
    *by_n = address_table(arena, folds->n);
    *by_k = address_table(arena, folds->k);
    if (!*by_n || !*by_k)
        return false;
    for (uint64_t n = 0; n < folds->n; n++)
        (*by_n)[n] = (uint32_t)(n * folds->k);
    for (uint64_t k = 0; k < folds->k; k++)
        (*by_k)[k] = (uint32_t)k;
    demand->addresses = folds->k * folds->n;
    demand->once = true;
    return true;
}

/* Which table lies on which side. outer is m or n. */
static void place(const struct ll_scalesim_config *config, const struct ll_scalesim_folds *folds,
                  enum ll_scalesim_operand operand, uint32_t *by_outer, uint32_t *by_k,
                  struct ll_scalesim_demand *demand)
{
    static const enum ll_dataflow stays[] = {LL_INPUT_STATIONARY, LL_WEIGHT_STATIONARY};
    bool os = config->dataflow == LL_OUTPUT_STATIONARY, ifmap = operand == LL_SCALESIM_IFMAP;
    uint64_t outer_count = ifmap ? folds->m : folds->n;
    demand->stationary = config->dataflow == stays[operand];
    demand->across_rows = ifmap || !os;
    demand->width = demand->stationary || !demand->across_rows ? config->columns : config->rows;
    demand->height = config->rows;
    demand->delay = os ? 0 : config->rows;
    bool outer_across = os || demand->stationary;
    demand->across = outer_across ? by_outer : by_k;
    demand->across_count = outer_across ? outer_count : folds->k;
    demand->along = outer_across ? by_k : by_outer;
    demand->along_count = outer_across ? folds->k : outer_count;
}

bool ll_scalesim_demand(const struct ll_scalesim_config *config, const struct ll_scalesim_layer *layer,
                        enum ll_scalesim_operand operand, struct ll_arena *arena,
                        struct ll_scalesim_demand *demand)
{
    struct ll_scalesim_folds folds = ll_scalesim_fold(config, layer);
    uint32_t *by_outer, *by_k;
    *demand = (struct ll_scalesim_demand){0};
    bool built = operand == LL_SCALESIM_IFMAP ? ifmap_tables(layer, &folds, arena, demand, &by_outer, &by_k)
                                              : filter_tables(&folds, arena, demand, &by_outer, &by_k);
    if (built)
        place(config, &folds, operand, by_outer, by_k, demand);
    return built;
}

bool ll_scalesim_line_asks(const struct ll_scalesim_demand *demand, const struct ll_scalesim_line *line)
{
    if (!demand->padded)
        return line->count > 0;
    for (uint64_t i = 0; i < line->count; i++)
        if (!ll_scalesim_outside(demand, line->across[i] + *(line->along - i * line->back)))
            return true;
    return false;
}

/* SCALE-Sim looks for each address in each active set. Here each address knows one set that holds it, so that
 * a hit is one comparison; where that set is not active, its other sets are looked through, and how many
 * advances bring the nearest one into the active half is a division. */

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

/* Three observations save most of the looking, without changing a count:
 *
 * - What was walked from beginning to end since the window began is all in it: a second walk only hits.
 * - Where each address occurs once and comes back only after more words than a window holds, it is never
 *   there any more: all miss, and a line needs counting only.
 * - Addresses outside the image carry a mark larger than any window's and so never miss. */

enum { SETS = 50, WORDS_PER_CYCLE = 10, OUTSIDE = UINT16_MAX };

bool ll_scalesim_window_open(struct ll_scalesim_window *window, const struct ll_scalesim_demand *demand,
                             const struct ll_scalesim_folds *folds, uint64_t buffer_words,
                             struct ll_arena *arena)
{
    uint64_t set_words = buffer_words / 100;
    *window = (struct ll_scalesim_window){
        .demand = demand,
        .seen = ll_alloc(arena, (size_t)demand->addresses, sizeof *window->seen),
        .walked = ll_alloc(arena, (size_t)(folds->row_folds + folds->column_folds), sizeof *window->walked),
        .set_words = set_words,
        .words = SETS * set_words,
        .number = 1,
        .mark = 1,
        .first_cycle = -1,
        .change_cycle = -1,
    };
    if (!window->seen || !window->walked)
        return false;
    for (uint64_t a = 0; demand->padded && a < demand->addresses; a++)
        window->seen[a] = ll_scalesim_outside(demand, a) ? OUTSIDE : 0;
    return true;
}

/* How many words are asked between two requests of one address: a fold of the array's columns is walked again
 * and again before the next, folds of its rows take turns; what is stationary never comes back. */
static uint64_t period(const struct ll_scalesim_demand *demand, uint64_t column_fold)
{
    if (demand->across_rows)
        return demand->across_count * demand->along_count;
    return ll_min(demand->width, demand->across_count - column_fold * demand->width) * demand->along_count;
}

void ll_scalesim_window_fold(struct ll_scalesim_window *window, uint64_t row_fold, uint64_t column_fold)
{
    const struct ll_scalesim_demand *demand = window->demand;
    uint64_t *walked = &window->walked[demand->across_rows ? row_fold : column_fold];
    if (demand->once && (demand->stationary || period(demand, column_fold) >= window->words))
        window->look = LL_SCALESIM_ALL_MISS;
    else if (!demand->stationary && *walked == window->number)
        window->look = LL_SCALESIM_ALL_HIT;
    else
        window->look = LL_SCALESIM_EACH;
    *walked = window->number;
}

static void begin_window(struct ll_scalesim_window *window, int64_t cycle)
{
    window->number++;
    window->held = 0;
    window->change_cycle = cycle;
    if (++window->mark < OUTSIDE)
        return;
    window->mark = 1;
    for (uint64_t a = 0; a < window->demand->addresses; a++)
        window->seen[a] = window->seen[a] == OUTSIDE ? OUTSIDE : 0;
}

static void look_at_each(struct ll_scalesim_window *window, const struct ll_scalesim_line *line,
                         int64_t cycle)
{
    uint16_t *seen = window->seen;
    for (uint64_t i = 0; i < line->count; i++) {
        uint32_t address = line->across[i] + *(line->along - i * line->back);
        if (seen[address] >= window->mark)
            continue;
        seen[address] = window->mark;
        window->fetched++;
        if (++window->held == window->words)
            begin_window(window, cycle);
    }
}

void ll_scalesim_window_read(struct ll_scalesim_window *window, const struct ll_scalesim_line *line,
                             int64_t cycle)
{
    if (window->first_cycle < 0)
        window->first_cycle = cycle;
    if (window->look == LL_SCALESIM_EACH)
        look_at_each(window, line, cycle);
    if (window->look != LL_SCALESIM_ALL_MISS)
        return;
    window->fetched += line->count;
    window->held += line->count;
    while (window->held >= window->words) {
        uint64_t rest = window->held - window->words;
        begin_window(window, cycle);
        window->held = rest;
    }
}

/* The first window is thought filled in advance at 10 words a cycle, up to two cycles before the first
 * request; a window that never filled, so far as whole sets go, up to cycle -1. Responses come a cycle later.
 */
struct ll_scalesim_port ll_scalesim_window_close(const struct ll_scalesim_window *window)
{
    bool changed = window->change_cycle >= 0;
    uint64_t words =
        changed ? window->words : ll_ceil_div(window->fetched, window->set_words) * window->set_words;
    int64_t cycles = (int64_t)ll_ceil_div(words, WORDS_PER_CYCLE);
    return (struct ll_scalesim_port){
        .start_cycle = changed ? window->first_cycle - cycles : -cycles,
        .stop_cycle = changed ? window->change_cycle + 1 : -1,
        .words = window->fetched,
    };
}

static void close_line(struct ll_scalesim_drain *drain)
{
    if (drain->open_words == 0)
        return;
    drain->failed |= !ll_grow(&drain->short_lines, &drain->short_capacity, drain->short_count + 1,
                              sizeof *drain->short_lines);
    if (!drain->failed)
        drain->short_lines[drain->short_count++] =
            (struct ll_scalesim_short_line){drain->lines, drain->open_words};
    drain->lines++;
    drain->open_words = 0;
}

/* How many words less than a full line the line of this index holds; lines are asked in rising order. */
static uint64_t shortfall(struct ll_scalesim_drain *drain, uint64_t index)
{
    while (drain->oldest_short < drain->short_count && drain->short_lines[drain->oldest_short].index < index)
        drain->oldest_short++;
    if (drain->oldest_short == drain->short_count || drain->short_lines[drain->oldest_short].index != index)
        return 0;
    return drain->line_words - drain->short_lines[drain->oldest_short].words;
}

static void drain_half(struct ll_scalesim_drain *drain, int64_t cycle)
{
    uint64_t half_lines = ll_ceil_div((uint64_t)drain->buffer_words / 2, drain->line_words);
    uint64_t lines = ll_min(half_lines, drain->lines - drain->drained);
    drain->drained += lines;
    uint64_t words = lines * drain->line_words - shortfall(drain, drain->drained - 1);
    drain->words += words;
    drain->used_words -= (int64_t)words;
    drain->end_cycle = cycle + (int64_t)lines - 1;
    if (!drain->began)
        drain->first_cycle = cycle;
    drain->began = true;
}

static void store(struct ll_scalesim_drain *drain, uint64_t words)
{
    drain->used_words += (int64_t)words;
    drain->open_words += words;
    drain->lines += drain->open_words / drain->line_words;
    drain->open_words %= drain->line_words;
}

/* Word by word: somewhere among them the buffer fills or a drain begins. */
static int64_t write_each(struct ll_scalesim_drain *drain, uint64_t words, int64_t cycle)
{
    for (; words > 0; words--) {
        store(drain, 1);
        int64_t free_words = drain->buffer_words - drain->used_words;
        if (cycle < drain->end_cycle) {
            if (free_words <= 0)
                cycle = drain->end_cycle;
        } else if (free_words < drain->buffer_words - drain->buffer_words / 2) {
            close_line(drain);
            drain_half(drain, cycle);
        }
    }
    return cycle;
}

int64_t ll_scalesim_drain_write(struct ll_scalesim_drain *drain, uint64_t words, int64_t cycle)
{
    int64_t free_words = drain->buffer_words - drain->used_words - (int64_t)words;
    bool draining = cycle < drain->end_cycle;
    if (draining ? free_words <= 0 : free_words < drain->buffer_words - drain->buffer_words / 2)
        return write_each(drain, words, cycle);
    store(drain, words);
    return cycle;
}

void ll_scalesim_drain_all(struct ll_scalesim_drain *drain, int64_t cycle)
{
    close_line(drain);
    while (drain->drained < drain->lines) {
        drain_half(drain, cycle);
        cycle = drain->end_cycle + 1;
    }
}

void ll_scalesim_drain_release(struct ll_scalesim_drain *drain)
{
    free(drain->short_lines);
    drain->short_lines = NULL;
}
