/* SPDX-License-Identifier: Apache-2.0 */
/* The closed form. With Sr on rows, Sc on columns and T streamed through an array of R x C:
 *
 *                          Sr  Sc  T    lines of a fold
 *       output stationary  m   n   k    T + R + C - 2
 *       weight stationary  k   n   m    T + 2R + C - 2
 *       input stationary   k   m   n    T + 2R + C - 2
 *
 * ceil(Sr / R) ceil(Sc / C) folds follow each other without overlap; those at the edge cost as much as full
 * ones. An output height is ceil((H - FH + S) / S). */
#include "sim/scalesim/scalesim.h"

#include "tracer/base/num.h"

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
        return "it has more than 2^53 / 100 products";
    return NULL;
}
