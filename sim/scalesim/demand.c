/* SPDX-License-Identifier: Apache-2.0 */
/* The tables behind what the array asks for. */
#include <assert.h>

#include "sim/scalesim/demand.h"
#include "sim/scalesim/sparse.h"

/* Words of a skew grow by one a line up to the smaller side, stay, and fall by one a line. */
uint64_t ll_scalesim_ramp_words(const struct ll_scalesim_ramp *ramp, uint64_t t)
{
    if (t < ramp->delay)
        return 0;
    uint64_t lines = t - ramp->delay + 1;
    if (ramp->flat)
        return ll_min(lines, ramp->length) * ramp->width;
    uint64_t side = ll_min(ramp->width, ramp->length), all = ramp->width + ramp->length - 1;
    if (lines <= side)
        return lines * (lines + 1) / 2;
    if (lines <= all - side)
        return side * (side + 1) / 2 + (lines - side) * side;
    uint64_t left = lines < all ? all - lines : 0;
    return ramp->width * ramp->length - left * (left + 1) / 2;
}

uint64_t ll_scalesim_ramp_line(const struct ll_scalesim_ramp *ramp, uint64_t words)
{
    uint64_t low = ramp->delay, high = ramp_last(ramp), side = ll_min(ramp->width, ramp->length);
    assert(words > 0 && words <= ramp->width * ramp->length);
    if (!ramp->flat && words > side * (side + 1) / 2) { /* where it is flat in the middle, a division */
        uint64_t line = ramp->delay + side - 1 + ll_ceil_div(words - side * (side + 1) / 2, side);
        if (line < ramp_last(ramp) - side + 1)
            return line;
        low = ramp_last(ramp) - ll_min(side, ramp_last(ramp) - ramp->delay);
    }
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        if (ll_scalesim_ramp_words(ramp, middle) >= words)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

/* The ifmap's address of output m and tap k is that of the window's corner plus that of the tap within it.
 * Where the stride does not divide, windows reach outside the image; addresses are those of an image large
 * enough for all windows, so that each stands for one pixel, and those outside are known by their place in
 * it. */

static uint32_t *address_table(struct ll_arena *arena, uint64_t count)
{
    return ll_alloc(arena, (size_t)count, sizeof(uint32_t));
}

static void add_windows(const struct ll_scalesim_layer *layer, const struct ll_scalesim_folds *folds,
                        uint64_t plane_w, const struct ll_scalesim_taps *kept, uint32_t *corners,
                        uint32_t *taps)
{
    for (uint64_t h = 0; h < folds->out_h; h++)
        for (uint64_t w = 0; w < folds->out_w; w++)
            *corners++ = (uint32_t)((h * layer->stride_h * plane_w + w * layer->stride_w) * layer->channels);
    for (uint64_t i = 0; i < kept->count; i++) {
        uint64_t tap = ll_scalesim_tap(kept, i), pixel = tap / layer->channels;
        *taps++ = (uint32_t)((pixel / layer->filter_w * plane_w + pixel % layer->filter_w) * layer->channels +
                             tap % layer->channels);
    }
}

/* Windows that follow each other share pixels when they step by less than their size. */
static bool overlap(uint64_t windows, uint64_t stride, uint64_t size)
{
    return windows > 1 && stride < size;
}

static bool ifmap_tables(const struct ll_scalesim_layer *layer, const struct ll_scalesim_folds *folds,
                         const struct ll_scalesim_taps *kept, struct ll_arena *arena,
                         struct ll_scalesim_demand *demand, uint32_t **by_m, uint32_t **by_k)
{
    uint64_t plane_h = (folds->out_h - 1) * layer->stride_h + layer->filter_h;
    uint64_t plane_w = (folds->out_w - 1) * layer->stride_w + layer->filter_w;
    *by_m = address_table(arena, folds->m);
    *by_k = address_table(arena, kept->count);
    if (!*by_m || !*by_k)
        return false;
    add_windows(layer, folds, plane_w, kept, *by_m, *by_k);
    demand->addresses = plane_h * plane_w * layer->channels;
    demand->padded = plane_h > layer->in_h || plane_w > layer->in_w;
    demand->once = !demand->padded && !overlap(folds->out_h, layer->stride_h, layer->filter_h) &&
                   !overlap(folds->out_w, layer->stride_w, layer->filter_w);
    demand->run = kept->count == kept->dense ? layer->filter_w * layer->channels : 1;
    demand->reach =
        (layer->filter_h - 1) / layer->stride_h * folds->out_w + (layer->filter_w - 1) / layer->stride_w;
    demand->filter_h = layer->filter_h;
    demand->filter_w = layer->filter_w;
    demand->stride_h = layer->stride_h;
    demand->stride_w = layer->stride_w;
    demand->out_h = folds->out_h;
    demand->out_w = folds->out_w;
    demand->image_h = layer->in_h;
    demand->image_w = layer->in_w;
    demand->plane_w = plane_w;
    demand->channels = layer->channels;
    return true;
}

static bool filter_tables(const struct ll_scalesim_folds *folds, const struct ll_scalesim_taps *kept,
                          struct ll_arena *arena, struct ll_scalesim_demand *demand, uint32_t **by_n,
                          uint32_t **by_k)
{
    *by_n = address_table(arena, folds->n);
    *by_k = address_table(arena, kept->count);
    if (!*by_n || !*by_k)
        return false;
    for (uint64_t n = 0; n < folds->n; n++)
        (*by_n)[n] = (uint32_t)(n * folds->dense_k);
    for (uint64_t i = 0; i < kept->count; i++)
        (*by_k)[i] = (uint32_t)ll_scalesim_tap(kept, i);
    demand->addresses = folds->dense_k * folds->n;
    demand->run = kept->count == kept->dense ? kept->dense : 1;
    demand->once = true;
    return true;
}

/* Which table lies on which side. outer is m or n. */
static void place(const struct ll_scalesim_config *config, const struct ll_scalesim_folds *folds,
                  enum ll_scalesim_operand operand, uint32_t *by_outer, uint32_t *by_k, uint64_t taps,
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
    demand->k_across = !outer_across;
    demand->across = outer_across ? by_outer : by_k;
    demand->across_count = outer_across ? outer_count : taps;
    demand->along = outer_across ? by_k : by_outer;
    demand->along_count = outer_across ? taps : outer_count;
}

/* Holes and blocks of row-wise sparsity, and room for a line written out. */
static bool add_holes(const struct ll_scalesim_config *config, const struct ll_scalesim_taps *taps,
                      enum ll_scalesim_operand operand, struct ll_arena *arena,
                      struct ll_scalesim_demand *demand)
{
    uint64_t most = config->columns;
    assert(config->dataflow == LL_WEIGHT_STATIONARY);
    demand->once = false;
    if (operand == LL_SCALESIM_IFMAP) {
        demand->block = config->block;
        demand->blocks = 2 * config->rows / config->block;
        demand->copies = config->block / 2;
        most = demand->blocks * demand->copies * demand->block;
    } else {
        uint32_t *rank = address_table(arena, taps->count),
                 *kept = address_table(arena, demand->across_count);
        if (!rank || !kept)
            return false;
        for (uint64_t i = 0; i < taps->count; i++)
            rank[i] = (uint32_t)ll_scalesim_rank(taps, i);
        ll_scalesim_draw(config, demand->across_count, kept);
        demand->rank = rank;
        demand->kept = kept;
    }
    demand->words = address_table(arena, most);
    return demand->words != NULL;
}

bool ll_scalesim_demand(const struct ll_scalesim_config *config, const struct ll_scalesim_layer *layer,
                        enum ll_scalesim_operand operand, struct ll_arena *arena,
                        struct ll_scalesim_demand *demand)
{
    struct ll_scalesim_folds folds = ll_scalesim_fold(config, layer);
    struct ll_scalesim_taps taps = ll_scalesim_taps(config, layer, operand, folds.dense_k);
    uint32_t *by_outer, *by_k;
    assert(operand == LL_SCALESIM_IFMAP || operand == LL_SCALESIM_FILTER);
    *demand = (struct ll_scalesim_demand){0};
    bool built = operand == LL_SCALESIM_IFMAP
                     ? ifmap_tables(layer, &folds, &taps, arena, demand, &by_outer, &by_k)
                     : filter_tables(&folds, &taps, arena, demand, &by_outer, &by_k);
    if (!built)
        return false;
    place(config, &folds, operand, by_outer, by_k, taps.count, demand);
    return !config->sparse || !config->row_wise || add_holes(config, &taps, operand, arena, demand);
}

/* A stationary filter: columns that keep something in this row. */
static uint64_t filter_words(const struct ll_scalesim_demand *demand, uint64_t row_fold, uint64_t column_fold,
                             uint64_t t)
{
    uint64_t begin = column_fold * demand->width, count = 0;
    uint64_t end = ll_min(begin + demand->width, demand->across_count);
    uint64_t along = (row_fold + 1) * demand->height - 1 - t;
    for (uint64_t i = begin; t < demand->height && along < demand->along_count && i < end; i++)
        if (demand->rank[along] < demand->kept[i])
            demand->words[count++] = demand->across[i] + demand->along[along];
    return count;
}

/* The ifmap streams by blocks of k, two folds of them at once: each enters `copies` times, each time one line
 * later. */
static uint64_t ifmap_words(const struct ll_scalesim_demand *demand, uint64_t row_fold, uint64_t t)
{
    uint64_t count = 0, step = t - demand->delay, begin = row_fold * demand->blocks * demand->block;
    if (t < demand->delay || step + 1 >= demand->along_count + demand->width)
        return 0;
    for (uint64_t j = 0; j < demand->blocks * demand->copies && j <= step; j++) {
        uint64_t first = begin + j / demand->copies * demand->block;
        uint64_t end = ll_min(first + demand->block, demand->across_count);
        for (uint64_t k = first; step - j < demand->along_count && k < end; k++)
            demand->words[count++] = demand->across[k] + demand->along[step - j];
    }
    return count;
}

struct ll_scalesim_line ll_scalesim_sparse_line(const struct ll_scalesim_demand *demand, uint64_t row_fold,
                                                uint64_t column_fold, uint64_t t)
{
    uint64_t count =
        demand->block ? ifmap_words(demand, row_fold, t) : filter_words(demand, row_fold, column_fold, t);
    return (struct ll_scalesim_line){.words = demand->words, .count = count};
}

bool ll_scalesim_line_asks(const struct ll_scalesim_demand *demand, const struct ll_scalesim_line *line)
{
    if (!demand->padded)
        return line->count > 0;
    for (uint64_t i = 0; i < line->count; i++)
        if (!outside(demand, line_address(line, i)))
            return true;
    return false;
}
