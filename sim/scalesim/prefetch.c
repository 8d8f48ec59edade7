/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <stdlib.h>

#include "sim/scalesim/buffers.h"
#include "tracer/base/num.h"

/* SCALE-Sim looks for each address in each active set. Here each address knows one set that holds it, so that
 * a hit is one comparison; where that set is not active, its other sets are looked through, and how many
 * advances bring the nearest one into the active half is a division. */

enum { NOWHERE = UINT32_MAX }; /* the set of addresses outside the image */

/* Walks the fetch order: visit(prefetch, address, set) for each word that is not empty. */
typedef void visit_fn(struct ll_scalesim_prefetch *prefetch, uint32_t address, uint32_t set);

/* Where a walk of the fetch order stands. */
struct order {
    struct ll_scalesim_prefetch *prefetch;
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
                if (!demand->rank || demand->rank[along] < demand->kept[across])
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

/* Where the order is regular it need not be walked: the place of an element in it is a formula.
 *
 * Of a moving operand the folds are stacked, H rows of W columns; in a diagonal columns rise. The last fold
 * may lack columns from `used` on, so that a rectangle at the lower right is empty. */

/* Elements of a rectangle whose row and column sum to less than `diagonal`. */
static uint64_t before_diagonal(uint64_t width, uint64_t height, uint64_t diagonal)
{
    const struct ll_scalesim_ramp ramp = {.width = width, .length = height};
    return diagonal > 0 && width > 0 && height > 0 ? ll_scalesim_ramp_words(&ramp, diagonal - 1) : 0;
}

static uint64_t moving_place(const struct ll_scalesim_demand *demand, uint64_t across, uint64_t along)
{
    uint64_t length = demand->along_count, width = demand->width,
             folds = ll_ceil_div(demand->across_count, width);
    uint64_t column = across % width, last = (folds - 1) * length,
             used = demand->across_count - (folds - 1) * width;
    uint64_t diagonal = across / width * length + along + column;
    uint64_t place = before_diagonal(width, folds * length, diagonal);
    if (diagonal > last + used)
        place -= before_diagonal(width - used, length, diagonal - last - used);
    uint64_t first =
        diagonal + 1 > folds * length ? diagonal + 1 - folds * length : 0; /* column of the diagonal */
    place += column - first;
    if (diagonal >= last + used && column > used)
        place -= ll_min(column - 1, diagonal - last) - used + 1;
    return place;
}

static uint64_t stationary_place(const struct ll_scalesim_demand *demand, uint64_t across, uint64_t along)
{
    uint64_t begin = across / demand->width * demand->width;
    return begin * demand->along_count + along * ll_min(demand->width, demand->across_count - begin) +
           across - begin;
}

static uint64_t place_of(const struct ll_scalesim_demand *demand, uint64_t across, uint64_t along)
{
    return demand->stationary ? stationary_place(demand, across, along) : moving_place(demand, across, along);
}

static uint32_t own_set(const struct ll_scalesim_prefetch *prefetch, uint64_t across, uint64_t along)
{
    return (uint32_t)(place_of(prefetch->demand, across, along) / prefetch->set_words);
}

static uint64_t order_length(const struct ll_scalesim_demand *demand)
{
    return ll_ceil_div(demand->across_count, demand->width) * demand->width * demand->along_count;
}

/* By address: its bank, and room for what a line asks of each. */
static bool open_banks(struct ll_scalesim_prefetch *prefetch, const struct ll_scalesim_config *config,
                       const struct ll_scalesim_layer *layer, enum ll_scalesim_operand operand,
                       struct ll_arena *arena, uint64_t *words)
{
    const struct ll_scalesim_demand *demand = prefetch->demand;
    prefetch->banks = config->banks[operand];
    prefetch->ports = config->ports[operand];
    prefetch->line_width = ll_max(config->rows, config->columns);
    if (demand->words)
        prefetch->line_width = ll_max(config->columns, demand->blocks * demand->copies * demand->block);
    prefetch->set = ll_alloc(arena, (size_t)demand->addresses, sizeof *prefetch->set);
    prefetch->bank = ll_alloc(arena, (size_t)demand->addresses, sizeof *prefetch->bank);
    prefetch->asked =
        ll_alloc(arena, (size_t)(prefetch->banks * prefetch->line_width), sizeof *prefetch->asked);
    prefetch->asked_count = ll_alloc(arena, (size_t)prefetch->banks, sizeof *prefetch->asked_count);
    if (!prefetch->set || !prefetch->bank || !prefetch->asked || !prefetch->asked_count)
        return false;
    prefetch->set_count =
        ll_scalesim_lay_out(config, layer, operand, demand, arena, prefetch->set, prefetch->bank, words);
    return prefetch->set_count > 0;
}

/* The fetch order in sets; *words is its length, empty words included. */
static bool order_sets(struct ll_scalesim_prefetch *prefetch, const struct ll_scalesim_config *config,
                       const struct ll_scalesim_layer *layer, enum ll_scalesim_operand operand,
                       struct ll_arena *arena, uint64_t *words)
{
    *words = order_length(prefetch->demand);
    if (config->version3 && config->own_layout[operand])
        return open_banks(prefetch, config, layer, operand, arena, words);
    const struct ll_scalesim_demand *demand = prefetch->demand;
    prefetch->computed = !demand->padded && !demand->words && demand->run > 1;
    if (prefetch->computed) {
        prefetch->set_count =
            (uint32_t)(demand->across_count * demand->along_count / prefetch->set_words + 1);
        return true;
    }
    prefetch->set = ll_alloc(arena, (size_t)demand->addresses, sizeof *prefetch->set);
    if (!prefetch->set)
        return false;
    if (!demand->once)
        return list_sets(prefetch, arena);
    prefetch->set_count = walk_order(prefetch, note_set);
    return true;
}

bool ll_scalesim_prefetch_open(struct ll_scalesim_prefetch *prefetch, const struct ll_scalesim_config *config,
                               const struct ll_scalesim_layer *layer, enum ll_scalesim_operand operand,
                               const struct ll_scalesim_demand *demand, const struct ll_scalesim_folds *folds,
                               struct ll_arena *arena)
{
    uint64_t buffer_words = 1024 * config->buffer_kB[operand], half = buffer_words / 2, words;
    uint64_t bandwidth = read_bandwidth(config, operand), half_lines = ll_ceil_div(half, bandwidth);
    bool own = config->version3 && config->own_layout[operand];
    assert(bandwidth > 0);
    *prefetch = (struct ll_scalesim_prefetch){
        .demand = demand,
        .walked = ll_alloc(arena, (size_t)(folds->row_folds + folds->column_folds), sizeof *prefetch->walked),
        .set_words = own ? bandwidth : ll_ceil_div(buffer_words, 100),
        .advance_lines = half_lines,
        .words_per_cycle = bandwidth,
        .version3 = config->version3,
    };
    if (!prefetch->walked || !order_sets(prefetch, config, layer, operand, arena, &words))
        return false;
    prefetch->fill_lines = ll_min(half_lines, ll_ceil_div(words, bandwidth));
    uint64_t half_sets = ll_ceil_div(half, prefetch->set_words);
    prefetch->active = (uint32_t)ll_min(half_sets, prefetch->set_count);
    prefetch->step = (uint32_t)ll_min(half_sets, prefetch->set_count - prefetch->active);
    assert(prefetch->active > 0 && (prefetch->step > 0 || prefetch->active == prefetch->set_count));
    return true;
}

void ll_scalesim_prefetch_fold(struct ll_scalesim_prefetch *prefetch, uint64_t row_fold, uint64_t column_fold)
{
    const struct ll_scalesim_demand *demand = prefetch->demand;
    uint64_t *walked = &prefetch->walked[demand->across_rows ? row_fold : column_fold];
    prefetch->all_hit = !demand->stationary && *walked == prefetch->advances + 1;
    *walked = prefetch->advances + 1;
    prefetch->quiet_from = prefetch->quiet_until = 0;
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

/* Advances until this set is active; by how many. */
static uint64_t advance_to(struct ll_scalesim_prefetch *prefetch, uint32_t set)
{
    uint32_t behind = distance(prefetch, set);
    if (behind < prefetch->active)
        return 0;
    assert(set < prefetch->set_count && prefetch->step > 0);
    uint64_t advances = ll_ceil_div(behind - prefetch->active + 1, prefetch->step);
    prefetch->advances += advances;
    prefetch->start = (uint32_t)((prefetch->start + advances * prefetch->step) % prefetch->set_count);
    return advances;
}

/* Advances until a set with this address is active; by how many. Addresses outside the image are asked for
 * nowhere. */
static uint64_t miss(struct ll_scalesim_prefetch *prefetch, uint32_t address)
{
    if (prefetch->set[address] == NOWHERE)
        return 0;
    prefetch->set[address] = nearest_set(prefetch, address);
    return advance_to(prefetch, prefetch->set[address]);
}

/* Whether a stride divides a distance, and how often: most strides are 1, and a division is slow. */
static bool divides(uint64_t distance_of_taps, uint64_t stride, uint64_t *times)
{
    *times = stride == 1 ? distance_of_taps : distance_of_taps / stride;
    return *times * stride == distance_of_taps;
}

/* As nearest_set, of an ifmap whose sets are computed: windows that hold the pixel of output m and tap k, by
 * the tap that meets it. The first that is active will do. */
static uint32_t nearest_window(struct ll_scalesim_prefetch *prefetch, uint64_t address, uint64_t own_m,
                               uint32_t own)
{
    const struct ll_scalesim_demand *d = prefetch->demand;
    uint64_t channel = address % d->channels, pixel = address / d->channels;
    uint64_t h = pixel / d->plane_w, w = pixel % d->plane_w;
    uint32_t nearest = own;
    for (uint64_t y = 0; y < d->filter_h && y <= h; y++) {
        uint64_t row;
        if (!divides(h - y, d->stride_h, &row) || row >= d->out_h)
            continue;
        for (uint64_t x = 0; x < d->filter_w && x <= w; x++) {
            uint64_t column;
            if (!divides(w - x, d->stride_w, &column) || column >= d->out_w)
                continue;
            uint64_t m = row * d->out_w + column, k = (y * d->filter_w + x) * d->channels + channel;
            uint32_t set = d->k_across ? own_set(prefetch, k, m) : own_set(prefetch, m, k);
            if (distance(prefetch, set) >= distance(prefetch, nearest))
                continue;
            nearest = set;
            prefetch->down = (int64_t)row - (int64_t)(own_m / d->out_w);
            prefetch->right = (int64_t)column - (int64_t)(own_m % d->out_w);
            if (distance(prefetch, set) < prefetch->active)
                return set;
        }
    }
    return nearest;
}

/* The place of a line's first element in the order, where sets are computed; its others follow one by one. */
static uint64_t first_place(const struct ll_scalesim_prefetch *prefetch, const struct ll_scalesim_line *line)
{
    const struct ll_scalesim_demand *demand = prefetch->demand;
    if (!prefetch->computed)
        return 0;
    return place_of(demand, (uint64_t)(line->across - demand->across),
                    (uint64_t)(line->along - demand->along));
}

/* The sets of the first and the last element of a line, between which lie those of all others. */
struct span {
    uint32_t low, high;
};

static bool is_active(const struct ll_scalesim_prefetch *prefetch, struct span span)
{
    uint32_t low = distance(prefetch, span.low), high = distance(prefetch, span.high);
    return low < prefetch->active && high < prefetch->active && low <= high;
}

/* Words of a line that another window holds: that of the output so far down and to the right, whose tap is as
 * far up and to the left. The words' places follow one another there, too, fold by fold. */

/* First and last of what a line asks for along m and along k. */
struct reach {
    int64_t low, high;
};

static bool within(struct reach reach, int64_t by, uint64_t size)
{
    return reach.low + by >= 0 && reach.high + by < (int64_t)size;
}

/* Whether the window that lies so far off has all outputs of the line. */
static bool has_outputs(const struct ll_scalesim_prefetch *prefetch, struct reach m)
{
    const struct ll_scalesim_demand *d = prefetch->demand;
    const int64_t out_w = (int64_t)d->out_w;
    const struct reach rows = {m.low / out_w, m.high / out_w}, columns = {m.low % out_w, m.high % out_w};
    return within(rows, prefetch->down, d->out_h) &&
           (prefetch->right == 0 || (rows.low == rows.high && within(columns, prefetch->right, d->out_w)));
}

/* Whether it has all taps. */
static bool has_taps(const struct ll_scalesim_prefetch *prefetch, struct reach k)
{
    const struct ll_scalesim_demand *d = prefetch->demand;
    const int64_t channels = (int64_t)d->channels, filter_w = (int64_t)d->filter_w;
    bool has = true;
    for (int64_t tap = k.low / channels; has && tap <= k.high / channels; tap++) {
        const struct reach row = {tap / filter_w, tap / filter_w}, column = {tap % filter_w, tap % filter_w};
        has = within(row, -prefetch->down * (int64_t)d->stride_h, d->filter_h) &&
              within(column, -prefetch->right * (int64_t)d->stride_w, d->filter_w);
    }
    return has;
}

/* Whether `count` words from this element on are active, each one further across and `back` back along; they
 * lie in one fold or in several. */
static bool are_active(const struct ll_scalesim_prefetch *prefetch, uint64_t across, uint64_t along,
                       uint64_t back, uint64_t count)
{
    const uint64_t width = prefetch->demand->width;
    bool active = true;
    while (active && count > 0) {
        uint64_t piece = ll_min(count, width - across % width);
        uint64_t place = place_of(prefetch->demand, across, along);
        active = is_active(prefetch, (struct span){(uint32_t)(place / prefetch->set_words),
                                                   (uint32_t)((place + piece - 1) / prefetch->set_words)});
        across += piece;
        along -= back * piece;
        count -= piece;
    }
    return active;
}

/* How far off the words of a line are in the window in which a word was found last that was not active in its
 * own. */
struct shift {
    int64_t across, along;
};

static struct shift shift_of(const struct ll_scalesim_prefetch *prefetch)
{
    const struct ll_scalesim_demand *d = prefetch->demand;
    const int64_t taps =
        prefetch->down * (int64_t)(d->stride_h * d->filter_w) + prefetch->right * (int64_t)d->stride_w;
    const int64_t m_by = prefetch->down * (int64_t)d->out_w + prefetch->right,
                  k_by = -taps * (int64_t)d->channels;
    return d->k_across ? (struct shift){k_by, m_by} : (struct shift){m_by, k_by};
}

/* Whether that window has these words of a line, all of them active. */
static bool is_elsewhere(const struct ll_scalesim_prefetch *prefetch, const struct ll_scalesim_line *line,
                         uint64_t from, uint64_t count)
{
    const struct ll_scalesim_demand *d = prefetch->demand;
    if (d->once || (prefetch->down == 0 && prefetch->right == 0))
        return false;
    assert(count > 0 && from + count <= line->count);
    const int64_t across = line->across - d->across + (int64_t)from, last = (int64_t)count - 1;
    const int64_t along = line->along - d->along - (int64_t)(line->back * from);
    const struct reach rising = {across, across + last},
                       falling = {along - last * (int64_t)line->back, along};
    const struct shift by = shift_of(prefetch);
    if (!has_outputs(prefetch, d->k_across ? falling : rising) ||
        !has_taps(prefetch, d->k_across ? rising : falling))
        return false;
    return are_active(prefetch, (uint64_t)(across + by.across), (uint64_t)(along + by.along), line->back,
                      count);
}

/* Whether the words of `count` columns of a stationary operand from this one on are active in all lines from
 * `low` to `high` along: in a fold, line by line, places follow one another. */
static bool block_is_active(const struct ll_scalesim_prefetch *prefetch, uint64_t across, uint64_t low,
                            uint64_t high, uint64_t count)
{
    const struct ll_scalesim_demand *d = prefetch->demand;
    bool active = true;
    assert(d->stationary && low <= high && high < d->along_count);
    while (active && count > 0) {
        uint64_t piece = ll_min(count, d->width - across % d->width);
        uint64_t first = stationary_place(d, across, low),
                 last = stationary_place(d, across + piece - 1, high);
        active = is_active(prefetch, (struct span){(uint32_t)(first / prefetch->set_words),
                                                   (uint32_t)(last / prefetch->set_words)});
        across += piece;
        count -= piece;
    }
    return active;
}

/* Lines of a stationary operand from this one on, of one tap or one row of outputs, that the window has in
 * which a word was found last (is_elsewhere), as far as halving finds them; 0: no two of them. */
static uint64_t lines_elsewhere(const struct ll_scalesim_prefetch *prefetch,
                                const struct ll_scalesim_line *line, uint64_t lines)
{
    const struct ll_scalesim_demand *d = prefetch->demand;
    if (d->once || (prefetch->down == 0 && prefetch->right == 0))
        return 0;
    const int64_t across = line->across - d->across, high = line->along - d->along;
    const struct reach columns = {across, across + (int64_t)line->count - 1};
    const struct shift by = shift_of(prefetch);
    lines = ll_min(lines, (uint64_t)high % (d->k_across ? d->out_w : d->channels) + 1);
    for (; lines > 1; lines /= 2) {
        const struct reach rows = {high - (int64_t)lines + 1, high};
        if (has_outputs(prefetch, d->k_across ? rows : columns) &&
            has_taps(prefetch, d->k_across ? columns : rows) &&
            block_is_active(prefetch, (uint64_t)(across + by.across), (uint64_t)(rows.low + by.along),
                            (uint64_t)(rows.high + by.along), line->count))
            return lines;
    }
    return 0;
}

/* How many words of a line from this one on lie in the row of outputs and the tap of this one. */
static uint64_t alike(const struct ll_scalesim_demand *d, const struct ll_scalesim_line *line, uint64_t from)
{
    const uint64_t across = (uint64_t)(line->across - d->across) + from,
                   along = (uint64_t)(line->along - d->along) - line->back * from;
    const uint64_t side = d->k_across ? d->channels : d->out_w, other = d->k_across ? d->out_w : d->channels;
    uint64_t count = ll_min(line->count - from, side - across % side);
    return line->back > 0 ? ll_min(count, along % other + 1) : count;
}

/* The first word from this one on that may be missing; line->count where none may. `place` is that of the
 * line's first word, where sets are computed; else each may. */
static uint64_t first_in_doubt(const struct ll_scalesim_prefetch *prefetch,
                               const struct ll_scalesim_line *line, uint64_t place, uint64_t from)
{
    while (prefetch->computed && from < line->count) {
        uint64_t at = place + from, same = prefetch->demand->once ? 1 : alike(prefetch->demand, line, from);
        if (distance(prefetch, (uint32_t)(at / prefetch->set_words)) < prefetch->active)
            from += ll_min(line->count - from, prefetch->set_words - at % prefetch->set_words);
        else if (is_elsewhere(prefetch, line, from, same))
            from += same;
        else
            break;
    }
    return from;
}

/* Element i of a line; by how much the window advances for it. */
static uint64_t ask(struct ll_scalesim_prefetch *prefetch, const struct ll_scalesim_line *line,
                    uint64_t place, uint64_t i)
{
    uint32_t address = line_address(line, i);
    if (!prefetch->computed)
        return distance(prefetch, prefetch->set[address]) < prefetch->active ? 0 : miss(prefetch, address);
    uint32_t set = (uint32_t)((place + i) / prefetch->set_words);
    if (distance(prefetch, set) < prefetch->active)
        return 0;
    if (prefetch->demand->once)
        return advance_to(prefetch, set);
    const struct ll_scalesim_demand *demand = prefetch->demand;
    uint64_t m = demand->k_across ? (uint64_t)(line->along - demand->along) - i * line->back
                                  : (uint64_t)(line->across - demand->across) + i;
    return advance_to(prefetch, nearest_window(prefetch, address, m, set));
}

static struct span span_of(const struct ll_scalesim_prefetch *prefetch, uint64_t row_fold,
                           uint64_t column_fold, uint64_t t)
{
    struct ll_scalesim_line line = asked_line(prefetch->demand, row_fold, column_fold, t);
    uint64_t place = first_place(prefetch, &line);
    assert(line.count > 0);
    return (struct span){(uint32_t)(place / prefetch->set_words),
                         (uint32_t)((place + line.count - 1) / prefetch->set_words)};
}

/* Whether a word of this line may be missing. */
static bool in_doubt(const struct ll_scalesim_prefetch *prefetch, const struct ll_scalesim_line *line)
{
    return !is_elsewhere(prefetch, line, 0, line->count) &&
           first_in_doubt(prefetch, line, first_place(prefetch, line), 0) < line->count;
}

/* Words of lines [first, until) of a stationary operand lie one behind the other, the last line's first. */
static bool rest_is_active(const struct ll_scalesim_prefetch *prefetch, uint64_t row_fold,
                           uint64_t column_fold, uint64_t first, uint64_t until)
{
    const struct span begin = span_of(prefetch, row_fold, column_fold, first);
    return distance(prefetch, begin.high) < prefetch->active &&
           is_active(prefetch,
                     (struct span){span_of(prefetch, row_fold, column_fold, until - 1).low, begin.high});
}

/* Sets rise from line to line of a moving operand, so that the first line that leaves the active half is
 * found by halving. */
static uint64_t leaves(const struct ll_scalesim_prefetch *prefetch, uint64_t row_fold, uint64_t column_fold,
                       uint64_t first, uint64_t until)
{
    const struct span begin = span_of(prefetch, row_fold, column_fold, first);
    if (!is_active(prefetch, begin))
        return first;
    const struct span end = span_of(prefetch, row_fold, column_fold, until - 1);
    if (end.high >= begin.low && is_active(prefetch, (struct span){begin.low, end.high}))
        return until;                                 /* it mostly has all */
    uint64_t low = first + 1, high = until, step = 1; /* all before low are active; high is not, or the end */
    while (low < high) {
        uint64_t middle = ll_min(low + step, low + (high - low) / 2);
        struct span span = span_of(prefetch, row_fold, column_fold, middle);
        if (span.low >= begin.low && is_active(prefetch, (struct span){begin.low, span.high})) {
            low = middle + 1;
            step *= 2; /* it mostly is near */
        } else {
            high = middle;
        }
    }
    return low;
}

/* As ll_scalesim_prefetch_next, of lines [first, until) in which something is asked. */
static uint64_t next_in_doubt(const struct ll_scalesim_prefetch *prefetch, uint64_t row_fold,
                              uint64_t column_fold, uint64_t first, uint64_t until, bool flat)
{
    if (!flat)
        first = leaves(prefetch, row_fold, column_fold, first, until);
    else if (rest_is_active(prefetch, row_fold, column_fold, first, until))
        return until;
    while (first < until) {
        const struct ll_scalesim_line line = asked_line(prefetch->demand, row_fold, column_fold, first);
        uint64_t lines = flat ? lines_elsewhere(prefetch, &line, until - first) : 0;
        if (lines == 0 && in_doubt(prefetch, &line))
            break;
        first += ll_max(lines, 1);
    }
    return first;
}

/* What is active stays so until the window advances, and so what was found is found but once. */
uint64_t ll_scalesim_prefetch_next(struct ll_scalesim_prefetch *prefetch, uint64_t row_fold,
                                   uint64_t column_fold, uint64_t t, uint64_t end)
{
    if (prefetch->all_hit)
        return end;
    if (!prefetch->computed)
        return t;
    struct ll_scalesim_ramp ramp = ask_ramp(prefetch->demand, row_fold, column_fold);
    uint64_t first = ll_max(t, ramp.delay), until = ll_min(end, ramp_last(&ramp) + 1);
    bool known = prefetch->quiet_advances == prefetch->advances && first >= prefetch->quiet_from;
    if (known)
        first = ll_max(first, prefetch->quiet_until);
    if (first >= until)
        return end;
    uint64_t last = ramp.flat ? until : ramp_last(&ramp) + 1; /* of a moving operand all is found at once */
    if (!known || t > prefetch->quiet_until)
        prefetch->quiet_from = t;
    first = next_in_doubt(prefetch, row_fold, column_fold, first, last, ramp.flat);
    prefetch->quiet_until = first;
    prefetch->quiet_advances = prefetch->advances;
    return first < until ? first : end;
}

/* The cycle in which the newest advance has ended; the first fill ends in cycle -1. */
static inline int64_t ready_cycle(const struct ll_scalesim_prefetch *prefetch)
{
    return (int64_t)(prefetch->advances * (prefetch->advance_lines + 1)) - 1;
}

/* Without a layout, version 3 adds to the cycle in which a line is served what an advance ends later than
 * it, which may be negative, and adds it again where it is positive. An advance ends `length` cycles after
 * the one before, so a line that is served d cycles after an end is served length - d after the next one, or
 * at it where d is larger. */
static int64_t served_after(int64_t served, int64_t ready, uint64_t advances, int64_t length)
{
    int64_t late = served - (ready - (int64_t)advances * length);
    assert(length > 0);
    for (; advances > 0 && (late < 0 || late > length); advances--)
        late = late > length ? 0 : length - late;
    return ready + (advances % 2 ? length - late : late);
}

/* Notes that the line at hand asks for this address, and how many lines of sets its bank must open by now. */
static uint64_t ask_bank(struct ll_scalesim_prefetch *prefetch, uint32_t address)
{
    uint64_t bank = prefetch->bank[address];
    uint32_t *asked = prefetch->asked + bank * prefetch->line_width, *count = &prefetch->asked_count[bank];
    for (uint32_t i = 0; i < *count; i++)
        if (asked[i] == prefetch->set[address])
            return *count;
    assert(*count < prefetch->line_width);
    asked[(*count)++] = prefetch->set[address];
    return *count;
}

/* Bank conflicts of version 3: a line waits for the bank that opens the most sets. */
static int64_t conflicts(struct ll_scalesim_prefetch *prefetch, const struct ll_scalesim_line *line)
{
    uint64_t most = 0;
    for (uint64_t bank = 0; bank < prefetch->banks; bank++)
        prefetch->asked_count[bank] = 0;
    for (uint64_t i = 0; i < line->count; i++)
        if (prefetch->set[line_address(line, i)] != NOWHERE)
            most = ll_max(most, ask_bank(prefetch, line_address(line, i)));
    return (int64_t)ll_ceil_div(most, prefetch->ports) - 1;
}

static int64_t read_as_version3(struct ll_scalesim_prefetch *prefetch, const struct ll_scalesim_line *line,
                                int64_t cycle)
{
    int64_t served = cycle + 1;
    uint64_t place = first_place(prefetch, line), i = prefetch->all_hit ? line->count : 0;
    for (; (i = first_in_doubt(prefetch, line, place, i)) < line->count; i++) {
        uint64_t advances = ask(prefetch, line, place, i);
        if (advances && prefetch->bank)
            served = ready_cycle(prefetch) > served ? ready_cycle(prefetch) : served;
        else if (advances)
            served =
                served_after(served, ready_cycle(prefetch), advances, (int64_t)prefetch->advance_lines + 1);
    }
    return served + (prefetch->bank ? conflicts(prefetch, line) : 0);
}

int64_t ll_scalesim_prefetch_read(struct ll_scalesim_prefetch *prefetch, const struct ll_scalesim_line *line,
                                  int64_t cycle)
{
    if (prefetch->version3)
        return read_as_version3(prefetch, line, cycle);
    uint64_t place = first_place(prefetch, line), i = prefetch->all_hit ? line->count : 0;
    for (; (i = first_in_doubt(prefetch, line, place, i)) < line->count; i++)
        ask(prefetch, line, place, i);
    int64_t ready = ready_cycle(prefetch);
    return ready > cycle + 1 ? ready : cycle + 1;
}

struct ll_scalesim_port ll_scalesim_prefetch_close(const struct ll_scalesim_prefetch *prefetch)
{
    uint64_t lines = prefetch->fill_lines + prefetch->advances * prefetch->advance_lines;
    return (struct ll_scalesim_port){
        .start_cycle = -(int64_t)prefetch->fill_lines,
        .stop_cycle = ready_cycle(prefetch),
        .words = lines * prefetch->words_per_cycle,
    };
}
