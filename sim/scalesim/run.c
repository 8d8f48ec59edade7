/* SPDX-License-Identifier: Apache-2.0 */
/* SCALE-Sim 2, cycle by cycle: what the array asks for in each line of a fold, three buffers that answer, and
 * the cycles, utilizations and traffic that come out.
 *
 * The address of an operand's element is a sum of two table entries, across[i] + along[j]. `across` lies on a
 * side of the array, cut into folds of its width; `along` passes in time. In line t of a fold the array asks
 *
 *     moving operand:      across[c] and along[t - delay - c] for each column c: a skewed wavefront
 *     stationary operand:  across[c] and along[last of this fold - t] for t < height: bottom row first
 *
 * and the columns of a line are asked from left to right. */
#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>

#include "sim/scalesim/scalesim.h"
#include "tracer/base/num.h"

/* Skew alone: which columns of a line hold something, when each of `width` columns has `length` elements and
 * starts one line after its left neighbour. */
struct skew {
    uint64_t first, count;
};
static inline struct skew skewed(uint64_t line, uint64_t delay, uint64_t width, uint64_t length)
{
    if (line < delay || line - delay >= length + width - 1)
        return (struct skew){0, 0};
    uint64_t step = line - delay, first = step < length ? 0 : step - length + 1;
    return (struct skew){first, (step < width ? step : width - 1) - first + 1};
}

/* The addresses of one read operand, and how the array walks them. The tables live in the run's arena. */
struct demand {
    uint32_t *across, *along;
    uint64_t across_count, along_count;
    uint64_t width;     /* of a fold of `across` */
    uint64_t height;    /* of a fold of `along`, of a stationary operand */
    uint64_t delay;     /* line of a fold in which column 0 of a moving operand begins */
    bool stationary;    /* folds of `across` are column folds, of `along` row folds */
    bool across_rows;   /* of a moving operand: its folds are the array's row folds, not column folds */
    bool once;          /* across x along holds each address once */
    bool padded;        /* some addresses lie outside the image: nothing is asked for there */
    uint64_t addresses; /* all addresses are below */
    uint64_t image_h, image_w, plane_w, channels; /* of the ifmap; its padded image is plane_w wide */
};

/* The elements asked in one line: across[i] + *(along - i * back) for i < count. */
struct line {
    const uint32_t *across, *along;
    uint64_t count, back;
};

/* Does this address lie outside the image? Only of a padded ifmap. */
static inline bool outside(const struct demand *demand, uint64_t address)
{
    uint64_t pixel = address / demand->channels;
    return pixel / demand->plane_w >= demand->image_h || pixel % demand->plane_w >= demand->image_w;
}

/* What line t of a fold asks for. */
static inline struct line asked_line(const struct demand *demand, uint64_t row_fold, uint64_t column_fold,
                                     uint64_t t)
{
    bool by_rows = !demand->stationary && demand->across_rows;
    uint64_t begin = (by_rows ? row_fold : column_fold) * demand->width, left = demand->across_count - begin;
    uint64_t used = left < demand->width ? left : demand->width;
    assert(begin < demand->across_count);
    if (!demand->stationary) {
        struct skew skew = skewed(t, demand->delay, used, demand->along_count);
        if (!skew.count)
            return (struct line){0};
        return (struct line){demand->across + begin + skew.first,
                             demand->along + (t - demand->delay - skew.first), skew.count, 1};
    }
    uint64_t along = (row_fold + 1) * demand->height - 1 - t;
    if (t >= demand->height || along >= demand->along_count)
        return (struct line){0};
    return (struct line){demand->across + begin, demand->along + along, used, 0};
}

/* A read buffer in USER mode: words come in a fixed order at a fixed bandwidth, wanted or not.
 *
 * The fetch order walks the whole operand: of a moving one, folds stacked along time and read along their
 * anti-diagonals, as the skewed wavefront will ask for them; of a stationary one, row by row. Slots of edge
 * folds that hold nothing are fetched as empty words. The order is cut into sets of ceil(buffer / 100) words
 * (empty ones not counted); the active half of the buffer holds so many consecutive sets, cyclically.
 * A request that misses advances by the other half's sets, again and again until it hits; each advance takes
 * half / bandwidth + 1 cycles behind the one before, whenever that was. */

struct prefetch {
    const struct demand *demand;
    uint32_t *set;    /* by address: a set that holds it, when possible an active one */
    uint64_t *first;  /* by address, and one more: where its sets begin in `sets`; NULL when each has one */
    uint32_t *sets;   /* each address's sets, ascending */
    uint64_t *walked; /* by fold: advances so far when it was last walked from its beginning, plus 1 */
    uint64_t set_words;
    uint32_t set_count, active, step; /* sets in all, in the active half, of an advance */
    uint32_t start;                   /* the first active set */
    uint64_t advances;
    uint64_t fill_lines, advance_lines; /* memory cycles of the first fill, of an advance */
    bool all_hit;                       /* in the fold at hand */
};

/* A read buffer in CALC mode: it never stalls and finds out which traffic that takes.
 *
 * An address that was read since the window began is a hit; any other is read from memory and kept. When
 * 50 sets of floor(buffer / 100) words have come together, half the buffer, all is dropped and a new window
 * begins. */

/* How the fold at hand has to be looked at. */
enum look { EACH, ALL_HIT, ALL_MISS };

struct window {
    const struct demand *demand;
    uint16_t *seen;            /* by address: the mark of the window in which it was read last */
    uint64_t *walked;          /* by fold: the window in which it was last walked from its beginning */
    uint64_t set_words, words; /* of a set, of a window */
    enum look look;
    uint64_t number;                   /* of the window at hand, from 1 */
    uint16_t mark;                     /* the same, small */
    uint64_t held;                     /* words in it */
    uint64_t fetched;                  /* all words so far */
    int64_t first_cycle, change_cycle; /* of the first request, of the newest window's begin; -1 before */
};

/* The write buffer, the same in both modes.
 *
 * Words written fill lines as wide as the channel to memory. When less than half of the buffer is free and
 * nothing drains, the line at hand is closed as it is and half a buffer of lines drains, one a cycle from now
 * on. A word that finds the buffer full while it drains waits for the end. A line that was closed early
 * counts as full, unless it drains last. */

/* A line that was closed before it was full. */
struct short_line {
    uint64_t index, words;
};

/* Starts as the buffer's sizes and zeros; its heap memory is freed with drain_release. */
struct drain {
    int64_t buffer_words;
    uint64_t line_words;
    int64_t used_words;      /* negative when short lines drained as full ones */
    uint64_t open_words;     /* in the line at hand */
    uint64_t lines, drained; /* closed, and of these drained */
    int64_t first_cycle;     /* of the oldest drain */
    int64_t end_cycle;       /* of the last line of the newest drain */
    uint64_t words;          /* written to memory */
    bool began;
    struct short_line *short_lines; /* not yet drained, from the oldest_short-th on */
    uint64_t short_count, oldest_short, short_capacity;
    bool failed; /* memory ran out */
};

/* The ifmap's address of output m and tap k is that of the window's corner plus that of the tap within it.
 * Where the stride does not divide, windows reach outside the image; addresses are those of an image large
 * enough for all windows, so that each stands for one pixel, and those outside are known by their place in
 * it. */

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
                         struct ll_arena *arena, struct demand *demand, uint32_t **by_m, uint32_t **by_k)
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
                          struct demand *demand, uint32_t **by_n, uint32_t **by_k)
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
                  enum ll_scalesim_operand operand, uint32_t *by_outer, uint32_t *by_k, struct demand *demand)
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

/* Builds the demand of the ifmap or of the filter. False when memory ran out. */
static bool build_demand(const struct ll_scalesim_config *config, const struct ll_scalesim_layer *layer,
                         enum ll_scalesim_operand operand, struct ll_arena *arena, struct demand *demand)
{
    struct ll_scalesim_folds folds = ll_scalesim_fold(config, layer);
    uint32_t *by_outer, *by_k;
    assert(operand == LL_SCALESIM_IFMAP || operand == LL_SCALESIM_FILTER);
    *demand = (struct demand){0};
    bool built = operand == LL_SCALESIM_IFMAP ? ifmap_tables(layer, &folds, arena, demand, &by_outer, &by_k)
                                              : filter_tables(&folds, arena, demand, &by_outer, &by_k);
    if (built)
        place(config, &folds, operand, by_outer, by_k, demand);
    return built;
}

/* Whether anything in the line lies inside the image. */
static bool line_asks(const struct demand *demand, const struct line *line)
{
    if (!demand->padded)
        return line->count > 0;
    for (uint64_t i = 0; i < line->count; i++)
        if (!outside(demand, line->across[i] + *(line->along - i * line->back)))
            return true;
    return false;
}

/* SCALE-Sim looks for each address in each active set. Here each address knows one set that holds it, so that
 * a hit is one comparison; where that set is not active, its other sets are looked through, and how many
 * advances bring the nearest one into the active half is a division. */

enum { NOWHERE = UINT32_MAX }; /* the set of addresses outside the image */

/* Walks the fetch order: visit(prefetch, address, set) for each word that is not empty. */
typedef void visit_fn(struct prefetch *prefetch, uint32_t address, uint32_t set);

/* Where a walk of the fetch order stands. */
struct order {
    struct prefetch *prefetch;
    visit_fn *visit;
    uint64_t words; /* so far in the set at hand */
    uint32_t set;
};

static inline void fetch(struct order *order, uint32_t address)
{
    if (order->prefetch->demand->padded && outside(order->prefetch->demand, address))
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
    const struct demand *demand = order->prefetch->demand;
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
    const struct demand *demand = order->prefetch->demand;
    for (uint64_t begin = 0; begin < demand->across_count; begin += demand->width)
        for (uint64_t along = 0; along < demand->along_count; along++)
            for (uint64_t across = begin; across < ll_min(begin + demand->width, demand->across_count);
                 across++)
                fetch(order, demand->across[across] + demand->along[along]);
}

/* The number of sets, with the last, possibly empty one. */
static uint32_t walk_order(struct prefetch *prefetch, visit_fn *visit)
{
    struct order order = {prefetch, visit, 0, 0};
    if (prefetch->demand->stationary)
        fetch_rows(&order);
    else
        fetch_diagonals(&order);
    return order.set + 1;
}

static void note_set(struct prefetch *prefetch, uint32_t address, uint32_t set)
{
    prefetch->set[address] = set;
}

/* The order visits sets upwards: an address's newest set is in `set`. */
static void count_set(struct prefetch *prefetch, uint32_t address, uint32_t set)
{
    prefetch->first[address + 1] += prefetch->set[address] != set;
    prefetch->set[address] = set;
}

/* While filling, first[a] is where the next set of a goes; at the end it is where those of a + 1 begin. */
static void add_set(struct prefetch *prefetch, uint32_t address, uint32_t set)
{
    if (prefetch->set[address] != set)
        prefetch->sets[prefetch->first[address]++] = set;
    prefetch->set[address] = set;
}

static void forget_sets(struct prefetch *prefetch)
{
    for (uint64_t a = 0; a < prefetch->demand->addresses; a++)
        prefetch->set[a] = NOWHERE;
}

static bool list_sets(struct prefetch *prefetch, struct ll_arena *arena)
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

static uint64_t order_length(const struct demand *demand)
{
    return ll_ceil_div(demand->across_count, demand->width) * demand->width * demand->along_count;
}

/* False when memory ran out. */
static bool prefetch_open(struct prefetch *prefetch, const struct demand *demand,
                          const struct ll_scalesim_folds *folds, uint64_t buffer_words,
                          uint64_t words_per_cycle, struct ll_arena *arena)
{
    uint64_t half = buffer_words / 2, half_lines = ll_ceil_div(half, words_per_cycle);
    *prefetch = (struct prefetch){
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
    assert(prefetch->active > 0 && (prefetch->step > 0 || prefetch->active == prefetch->set_count));
    return true;
}

/* Before the first line of each fold, in order. */
static void prefetch_fold(struct prefetch *prefetch, uint64_t row_fold, uint64_t column_fold)
{
    const struct demand *demand = prefetch->demand;
    uint64_t *walked = &prefetch->walked[demand->across_rows ? row_fold : column_fold];
    prefetch->all_hit = !demand->stationary && *walked == prefetch->advances + 1;
    *walked = prefetch->advances + 1;
}

/* How far behind the first active set, cyclically. */
static inline uint32_t distance(const struct prefetch *prefetch, uint32_t set)
{
    return set - prefetch->start + (set < prefetch->start ? prefetch->set_count : 0);
}

/* Of the sets that hold an address, the one that is active or becomes so first. */
static uint32_t nearest_set(const struct prefetch *prefetch, uint32_t address)
{
    uint32_t nearest = prefetch->set[address];
    if (prefetch->first)
        for (uint64_t i = prefetch->first[address]; i < prefetch->first[address + 1]; i++)
            if (distance(prefetch, prefetch->sets[i]) < distance(prefetch, nearest))
                nearest = prefetch->sets[i];
    return nearest;
}

/* Advances until a set with this address is active. Addresses outside the image are asked for nowhere. */
static void miss(struct prefetch *prefetch, uint32_t address)
{
    if (prefetch->set[address] == NOWHERE)
        return;
    uint32_t set = nearest_set(prefetch, address), behind = distance(prefetch, set);
    prefetch->set[address] = set;
    if (behind < prefetch->active)
        return;
    assert(set < prefetch->set_count && prefetch->step > 0);
    uint64_t advances = ll_ceil_div(behind - prefetch->active + 1, prefetch->step);
    prefetch->advances += advances;
    prefetch->start = (uint32_t)((prefetch->start + advances * prefetch->step) % prefetch->set_count);
}

/* Serves one line; the cycle in which the newest advance has ended (the first fill ends in cycle -1). */
static int64_t prefetch_read(struct prefetch *prefetch, const struct line *line)
{
    for (uint64_t i = 0; !prefetch->all_hit && i < line->count; i++) {
        uint32_t address = line->across[i] + *(line->along - i * line->back);
        if (distance(prefetch, prefetch->set[address]) >= prefetch->active)
            miss(prefetch, address);
    }
    return (int64_t)(prefetch->advances * (prefetch->advance_lines + 1)) - 1;
}

/* After the last line: what went on at the memory's side. */
static struct ll_scalesim_port prefetch_close(const struct prefetch *prefetch, uint64_t words_per_cycle)
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

/* False when memory ran out. */
static bool window_open(struct window *window, const struct demand *demand,
                        const struct ll_scalesim_folds *folds, uint64_t buffer_words, struct ll_arena *arena)
{
    uint64_t set_words = buffer_words / 100;
    assert(set_words > 0);
    *window = (struct window){
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
        window->seen[a] = outside(demand, a) ? OUTSIDE : 0;
    return true;
}

/* How many words are asked between two requests of one address: a fold of the array's columns is walked again
 * and again before the next, folds of its rows take turns; what is stationary never comes back. */
static uint64_t period(const struct demand *demand, uint64_t column_fold)
{
    if (demand->across_rows)
        return demand->across_count * demand->along_count;
    return ll_min(demand->width, demand->across_count - column_fold * demand->width) * demand->along_count;
}

/* Before the first line of each fold, in order. */
static void window_fold(struct window *window, uint64_t row_fold, uint64_t column_fold)
{
    const struct demand *demand = window->demand;
    uint64_t *walked = &window->walked[demand->across_rows ? row_fold : column_fold];
    if (demand->once && (demand->stationary || period(demand, column_fold) >= window->words))
        window->look = ALL_MISS;
    else if (!demand->stationary && *walked == window->number)
        window->look = ALL_HIT;
    else
        window->look = EACH;
    *walked = window->number;
}

static void begin_window(struct window *window, int64_t cycle)
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

static void look_at_each(struct window *window, const struct line *line, int64_t cycle)
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

/* Serves one line, which asks for something, in this cycle. */
static void window_read(struct window *window, const struct line *line, int64_t cycle)
{
    if (window->first_cycle < 0)
        window->first_cycle = cycle;
    if (window->look == EACH)
        look_at_each(window, line, cycle);
    if (window->look != ALL_MISS)
        return;
    window->fetched += line->count;
    window->held += line->count;
    while (window->held >= window->words) {
        uint64_t rest = window->held - window->words;
        begin_window(window, cycle);
        window->held = rest;
    }
    assert(window->held < window->words && window->held <= window->fetched);
}

/* The first window is thought filled in advance at 10 words a cycle, up to two cycles before the first
 * request; a window that never filled, so far as whole sets go, up to cycle -1. Responses come a cycle later.
 */
static struct ll_scalesim_port window_close(const struct window *window)
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

static void close_line(struct drain *drain)
{
    if (drain->open_words == 0)
        return;
    drain->failed |= !ll_grow(&drain->short_lines, &drain->short_capacity, drain->short_count + 1,
                              sizeof *drain->short_lines);
    if (!drain->failed)
        drain->short_lines[drain->short_count++] = (struct short_line){drain->lines, drain->open_words};
    drain->lines++;
    drain->open_words = 0;
}

/* How many words less than a full line the line of this index holds; lines are asked in rising order. */
static uint64_t shortfall(struct drain *drain, uint64_t index)
{
    while (drain->oldest_short < drain->short_count && drain->short_lines[drain->oldest_short].index < index)
        drain->oldest_short++;
    if (drain->oldest_short == drain->short_count || drain->short_lines[drain->oldest_short].index != index)
        return 0;
    return drain->line_words - drain->short_lines[drain->oldest_short].words;
}

static void drain_half(struct drain *drain, int64_t cycle)
{
    uint64_t half_lines = ll_ceil_div((uint64_t)drain->buffer_words / 2, drain->line_words);
    assert(drain->drained <= drain->lines && drain->line_words > 0);
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

static void store(struct drain *drain, uint64_t words)
{
    drain->used_words += (int64_t)words;
    drain->open_words += words;
    drain->lines += drain->open_words / drain->line_words;
    drain->open_words %= drain->line_words;
}

/* Word by word: somewhere among them the buffer fills or a drain begins. */
static int64_t write_each(struct drain *drain, uint64_t words, int64_t cycle)
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

/* Takes so many words in this cycle; returns the cycle in which the last one was taken. */
static int64_t drain_write(struct drain *drain, uint64_t words, int64_t cycle)
{
    int64_t free_words = drain->buffer_words - drain->used_words - (int64_t)words;
    bool draining = cycle < drain->end_cycle;
    if (draining ? free_words <= 0 : free_words < drain->buffer_words - drain->buffer_words / 2)
        return write_each(drain, words, cycle);
    store(drain, words);
    return cycle;
}

/* After the last line, whose cycle this is: the rest drains. */
static void drain_all(struct drain *drain, int64_t cycle)
{
    close_line(drain);
    while (drain->drained < drain->lines) {
        drain_half(drain, cycle);
        cycle = drain->end_cycle + 1;
    }
}

static void drain_release(struct drain *drain)
{
    free(drain->short_lines);
    drain->short_lines = NULL;
}

/* The closed form. With Sr on rows, Sc on columns and T streamed through an array of R x C:
 *
 *                          Sr  Sc  T    lines of a fold
 *       output stationary  m   n   k    T + R + C - 2
 *       weight stationary  k   n   m    T + 2R + C - 2
 *       input stationary   k   m   n    T + 2R + C - 2
 *
 * ceil(Sr / R) ceil(Sc / C) folds follow each other without overlap; those at the edge cost as much as full
 * ones. An output height is ceil((H - FH + S) / S). */

/* Which sizes of the GEMM lie on the array's rows and columns, and which one streams. */
static void lay(enum ll_dataflow dataflow, struct ll_scalesim_folds *folds)
{
    bool os = dataflow == LL_OUTPUT_STATIONARY, is = dataflow == LL_INPUT_STATIONARY;
    folds->on_rows = os ? folds->m : folds->k;
    folds->on_columns = is ? folds->m : folds->n;
    folds->streamed = os ? folds->k : is ? folds->n : folds->m;
}

struct ll_scalesim_folds ll_scalesim_fold(const struct ll_scalesim_config *config,
                                          const struct ll_scalesim_layer *layer)
{
    assert(config->rows > 0 && config->columns > 0);
    struct ll_scalesim_folds folds = {
        .n = layer->filters,
        .k = ll_mul(ll_mul(layer->filter_h, layer->filter_w), layer->channels),
        .out_h = ll_scalesim_windows(layer->in_h, layer->filter_h, layer->stride_h),
        .out_w = ll_scalesim_windows(layer->in_w, layer->filter_w, layer->stride_w),
    };
    folds.m = ll_mul(folds.out_h, folds.out_w);
    lay(config->dataflow, &folds);
    folds.row_folds = ll_ceil_div(folds.on_rows, config->rows);
    folds.column_folds = ll_ceil_div(folds.on_columns, config->columns);
    uint64_t loading = config->dataflow == LL_OUTPUT_STATIONARY ? 0 : config->rows;
    folds.fold_lines = ll_add(folds.streamed, loading + config->rows + config->columns - 2);
    folds.lines = ll_mul(ll_mul(folds.row_folds, folds.column_folds), folds.fold_lines);
    return folds;
}

/* Every address, first_address included, must be an integer of 32 bits with a sign; beyond, utilizations
 * would not be exact either. */
const char *ll_scalesim_obstacle(const struct ll_scalesim_config *config,
                                 const struct ll_scalesim_layer *layer)
{
    struct ll_scalesim_folds folds = ll_scalesim_fold(config, layer);
    if (layer->batch > 1)
        return "it has a batch, and SCALE-Sim computes one sample; `leadline import scalesim` reads it";
    if (layer->zeros.of > 0)
        return "it is sparse, and SCALE-Sim 2 computes all; `leadline import scalesim` reads it";
    uint64_t words[LL_SCALESIM_OPERANDS] = {
        ll_mul(ll_mul(layer->in_h, layer->in_w), layer->channels),
        ll_mul(folds.k, folds.n),
        ll_mul(folds.m, folds.n),
    };
    for (int i = 0; i < LL_SCALESIM_OPERANDS; i++)
        if (ll_add(words[i], config->first_address[i]) > INT32_MAX)
            return "its addresses, with the offset of the configuration, pass 2^31 - 1, and SCALE-Sim keeps "
                   "them in 32 bits";
    uint64_t plane = ll_mul((folds.out_h - 1) * layer->stride_h + layer->filter_h,
                            (folds.out_w - 1) * layer->stride_w + layer->filter_w);
    if (ll_mul(plane, layer->channels) > INT32_MAX)
        return "its stride reaches so far outside the image that addresses pass 2^31 - 1";
    if (ll_mul(folds.m, folds.k) > UINT32_MAX)
        return "its windows hold more than 2^32 words, and SCALE-Sim writes all of them out";
    if (ll_mul(folds.lines, config->rows * config->columns) >= UINT64_C(1) << 53)
        return "it takes more than 2^53 steps of a processing element";
    if (ll_mul(ll_mul(ll_mul(folds.m, folds.n), folds.k), 100) >= UINT64_C(1) << 53)
        return "it has more than 2^53 / 100 multiply-accumulates";
    return NULL;
}

/* A layer, line by line: in each cycle the array asks both read buffers and writes what is ready, and all
 * three stand still for the one that waits longest. */

/* One of the two read buffers. */
struct reader {
    struct demand demand;
    bool user;
    union {
        struct window window;
        struct prefetch prefetch;
    };
};

/* One layer in progress. */
struct run {
    const struct ll_scalesim_config *config;
    struct ll_scalesim_folds folds;
    struct reader readers[2];
    struct drain drain;
    uint64_t output_delay;           /* line of a fold in which the left column's first output leaves */
    bool seen[LL_SCALESIM_OPERANDS]; /* operands whose SRAM was accessed before, so that start_cycle is set */
    struct ll_scalesim_result *result;
};

static bool open_reader(struct run *run, const struct ll_scalesim_layer *layer,
                        enum ll_scalesim_operand operand, struct ll_arena *arena)
{
    struct reader *reader = &run->readers[operand];
    uint64_t words = 1024 * run->config->buffer_kB[operand];
    reader->user = run->config->user_bandwidth;
    if (!build_demand(run->config, layer, operand, arena, &reader->demand))
        return false;
    if (!reader->user)
        return window_open(&reader->window, &reader->demand, &run->folds, words, arena);
    return prefetch_open(&reader->prefetch, &reader->demand, &run->folds, words, run->config->words_per_cycle,
                         arena);
}

static bool open(struct run *run, const struct ll_scalesim_layer *layer, struct ll_arena *arena)
{
    const struct ll_scalesim_config *config = run->config;
    bool os = config->dataflow == LL_OUTPUT_STATIONARY;
    run->folds = ll_scalesim_fold(config, layer);
    run->output_delay = os ? run->folds.streamed - 1 : 2 * config->rows - 1;
    run->drain.buffer_words = (int64_t)(1024 * config->buffer_kB[LL_SCALESIM_OFMAP]);
    run->drain.line_words = config->user_bandwidth ? config->words_per_cycle : config->columns;
    return open_reader(run, layer, LL_SCALESIM_IFMAP, arena) &&
           open_reader(run, layer, LL_SCALESIM_FILTER, arena);
}

static void begin_fold(struct reader *reader, uint64_t row_fold, uint64_t column_fold)
{
    if (reader->user)
        prefetch_fold(&reader->prefetch, row_fold, column_fold);
    else
        window_fold(&reader->window, row_fold, column_fold);
}

static void note_access(struct run *run, enum ll_scalesim_operand operand, int64_t cycle)
{
    struct ll_scalesim_port *port = &run->result->sram[operand];
    if (!run->seen[operand])
        port->start_cycle = cycle;
    port->stop_cycle = cycle;
    run->seen[operand] = true;
}

/* Cycles that the array waits for this operand. A hit takes one cycle, which the pipeline hides. */
static int64_t read_line(struct run *run, enum ll_scalesim_operand operand, const struct line *line,
                         int64_t cycle)
{
    struct reader *reader = &run->readers[operand];
    int64_t served = cycle + 1;
    if (!line_asks(&reader->demand, line))
        return 0;
    if (!reader->user) {
        window_read(&reader->window, line, cycle);
    } else {
        int64_t ready = prefetch_read(&reader->prefetch, line);
        served = ready > served ? ready : served;
    }
    note_access(run, operand, served);
    return served - cycle - 1;
}

/* Outputs leave os arrays bottom row first: those of rows not in use would come before. */
static struct skew outputs(const struct run *run, uint64_t row_fold, uint64_t column_fold, uint64_t t)
{
    const struct ll_scalesim_config *config = run->config;
    const struct ll_scalesim_folds *folds = &run->folds;
    uint64_t rows = ll_min(config->rows, folds->on_rows - row_fold * config->rows);
    uint64_t columns = ll_min(config->columns, folds->on_columns - column_fold * config->columns);
    if (config->dataflow == LL_OUTPUT_STATIONARY)
        return skewed(t, run->output_delay + config->rows - rows, columns, rows);
    return skewed(t, run->output_delay, columns, folds->streamed);
}

static void run_line(struct run *run, uint64_t row_fold, uint64_t column_fold, uint64_t t, int64_t line_index)
{
    struct ll_scalesim_result *result = run->result;
    int64_t cycle = line_index + result->stall_cycles, longest = 0, done = cycle;
    for (enum ll_scalesim_operand i = LL_SCALESIM_IFMAP; i <= LL_SCALESIM_FILTER; i++) {
        struct line line = asked_line(&run->readers[i].demand, row_fold, column_fold, t);
        int64_t waits = line.count ? read_line(run, i, &line, cycle) : 0;
        longest = waits > longest ? waits : longest;
    }
    uint64_t words = outputs(run, row_fold, column_fold, t).count;
    if (words) {
        done = drain_write(&run->drain, words, cycle);
        note_access(run, LL_SCALESIM_OFMAP, done);
    }
    result->total_cycles = done;
    result->stall_cycles += done - cycle > longest ? done - cycle : longest;
}

static void run_folds(struct run *run)
{
    const struct ll_scalesim_folds *folds = &run->folds;
    int64_t line = 0;
    for (uint64_t column_fold = 0; column_fold < folds->column_folds; column_fold++)
        for (uint64_t row_fold = 0; row_fold < folds->row_folds; row_fold++) {
            begin_fold(&run->readers[LL_SCALESIM_IFMAP], row_fold, column_fold);
            begin_fold(&run->readers[LL_SCALESIM_FILTER], row_fold, column_fold);
            for (uint64_t t = 0; t < folds->fold_lines; t++, line++)
                run_line(run, row_fold, column_fold, t, line);
        }
    drain_all(&run->drain, run->result->total_cycles);
}

/* Means over folds, added up in the order and in the precision in which SCALE-Sim does. Its fold length for
 * what stays in the array counts a skew of C - 1 that is not there. */
static void add_utilization(struct run *run)
{
    const struct ll_scalesim_config *config = run->config;
    const struct ll_scalesim_folds *folds = &run->folds;
    double elements = (double)(config->rows * config->columns), mapped = 0, computed = 0;
    bool os = config->dataflow == LL_OUTPUT_STATIONARY;
    double fold_cycles = (double)(folds->fold_lines + (os ? 0 : config->columns - 1));
    for (uint64_t c = 0; c < folds->column_folds; c++)
        for (uint64_t r = 0; r < folds->row_folds; r++) {
            uint64_t rows = ll_min(config->rows, folds->on_rows - r * config->rows);
            uint64_t columns = ll_min(config->columns, folds->on_columns - c * config->columns);
            mapped += (double)(rows * columns) / elements;
            computed += (double)(rows * columns * folds->streamed) / (elements * fold_cycles);
        }
    double count = (double)(folds->row_folds * folds->column_folds);
    uint64_t products = folds->m * folds->n * folds->k;
    run->result->overall_util_pct = (double)(products * 100) / ((double)run->result->total_cycles * elements);
    run->result->mapping_pct = mapped / count * 100;
    run->result->compute_util_pct = computed / count * 100;
}

/* What moves is read again for each fold of the other side; in an os array the counter of outputs goes on by
 * R + C in each fold. */
static void add_sram_words(struct run *run)
{
    const struct ll_scalesim_folds *f = &run->folds;
    bool os = run->config->dataflow == LL_OUTPUT_STATIONARY,
         is = run->config->dataflow == LL_INPUT_STATIONARY;
    bool ws = run->config->dataflow == LL_WEIGHT_STATIONARY;
    uint64_t extra = f->row_folds * f->column_folds * (run->config->rows + run->config->columns);
    run->result->sram[LL_SCALESIM_IFMAP].words = f->m * f->k * (is ? 1 : f->column_folds);
    run->result->sram[LL_SCALESIM_FILTER].words = f->k * f->n *
                                                  (os   ? f->row_folds
                                                   : ws ? 1
                                                        : f->column_folds);
    run->result->sram[LL_SCALESIM_OFMAP].words = f->m * f->n * (os ? 1 : f->row_folds) + (os ? extra : 0);
}

static void add_ports(struct run *run)
{
    struct ll_scalesim_result *result = run->result;
    const struct drain *drain = &run->drain;
    for (int i = LL_SCALESIM_IFMAP; i <= LL_SCALESIM_FILTER; i++) {
        const struct reader *reader = &run->readers[i];
        result->dram[i] = reader->user ? prefetch_close(&reader->prefetch, run->config->words_per_cycle)
                                       : window_close(&reader->window);
    }
    result->dram[LL_SCALESIM_OFMAP] = (struct ll_scalesim_port){
        .start_cycle = drain->first_cycle, .stop_cycle = drain->end_cycle, .words = drain->words};
    for (int i = 0; i < LL_SCALESIM_OPERANDS; i++) {
        struct ll_scalesim_port *dram = &result->dram[i], *sram = &result->sram[i];
        sram->bandwidth = (double)sram->words / (double)result->total_cycles;
        dram->bandwidth = (double)dram->words / (double)(dram->stop_cycle - dram->start_cycle + 1);
    }
}

bool ll_scalesim_run(const struct ll_scalesim_config *config, const struct ll_scalesim_layer *layer,
                     struct ll_scalesim_result *result)
{
    struct ll_arena arena = {0};
    assert(!ll_scalesim_obstacle(config, layer));
    *result = (struct ll_scalesim_result){0};
    struct run run = {.config = config, .result = result};
    bool opened = open(&run, layer, &arena);
    if (opened) {
        run_folds(&run);
        add_utilization(&run);
        add_sram_words(&run);
        add_ports(&run);
        assert(result->stall_cycles >= 0 && result->mapping_pct > 0 && result->mapping_pct <= 100 + 1e-9);
    }
    bool whole = opened && !run.drain.failed;
    drain_release(&run.drain);
    ll_arena_release(&arena);
    return whole;
}
