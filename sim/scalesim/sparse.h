/* SPDX-License-Identifier: Apache-2.0 */
/* Filters as version 3 compresses them; for the files of this room alone.
 *
 * Layer-wise, a filter keeps N of every M neighbours along k, the first ones, and the ifmap's words that meet
 * the others are left out as well. Row-wise, each filter keeps its own N of every M, at most M / 2, drawn at
 * random; two blocks of M become one of M, the kept ones at the front of each half, holes behind them. */
#ifndef LL_SIM_SCALESIM_SPARSE_H
#define LL_SIM_SCALESIM_SPARSE_H

#include "sim/scalesim/scalesim.h"

/* Which of k's dense elements an operand's compressed ones are. */
struct ll_scalesim_taps {
    uint64_t count, dense; /* compressed elements, dense ones */
    uint64_t kept, of;     /* layer-wise: so many of so many */
    uint64_t block;        /* row-wise: neighbours in a block; 0: not row-wise */
};

enum { LL_SCALESIM_NO_TAP = UINT32_MAX };

/* The taps of an operand of this layer, whose k has `dense` elements. Row-wise, the ifmap keeps all. */
struct ll_scalesim_taps ll_scalesim_taps(const struct ll_scalesim_config *config,
                                         const struct ll_scalesim_layer *layer,
                                         enum ll_scalesim_operand operand, uint64_t dense);

/* The dense element behind the i-th compressed one, and its rank in its block; LL_SCALESIM_NO_TAP for both
 * where row-wise padding lies. i < taps->count. */
uint64_t ll_scalesim_tap(const struct ll_scalesim_taps *taps, uint64_t i);
uint64_t ll_scalesim_rank(const struct ll_scalesim_taps *taps, uint64_t i);

/* How many of each block the filters keep, drawn as numpy.random.randint does from a legacy seed (Matsumoto
 * and Nishimura's MT19937, masked rejection). */
void ll_scalesim_draw(const struct ll_scalesim_config *config, uint64_t filters, uint32_t *kept);

/* The storage of the filters in *result; kept is what ll_scalesim_draw wrote, NULL layer-wise. */
void ll_scalesim_store(const struct ll_scalesim_config *config, const struct ll_scalesim_layer *layer,
                       const struct ll_scalesim_folds *folds, const uint32_t *kept,
                       struct ll_scalesim_result *result);

#endif
