/* SPDX-License-Identifier: Apache-2.0 */
/* The ifmap's address of output m and tap k is that of the window's corner plus that of the tap within it.
 * Where the stride does not divide, windows reach outside the image; addresses are those of an image large
 * enough for all windows, so that each stands for one pixel, and those outside are known by their place in
 * it. */
#include "sim/scalesim/demand.h"

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
