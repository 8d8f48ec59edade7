/* SPDX-License-Identifier: Apache-2.0 */
/* What the array asks of one read operand, line by line; for the files of this room alone.
 *
 * The address of an operand's element is a sum of two table entries, across[i] + along[j]. `across` lies on a
 * side of the array, cut into folds of its width; `along` passes in time. In line t of a fold the array asks
 *
 *     moving operand:      across[c] and along[t - delay - c] for each column c: a skewed wavefront
 *     stationary operand:  across[c] and along[last of this fold - t] for t < height: bottom row first
 *
 * and the columns of a line are asked from left to right. */
#ifndef LL_SIM_SCALESIM_DEMAND_H
#define LL_SIM_SCALESIM_DEMAND_H

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

/* How many words the lines of a fold hold: a skewed wavefront, or where `flat` `length` lines of `width`
 * words. Nothing is asked outside of its lines. */
struct ll_scalesim_ramp {
    uint64_t delay, width, length; /* the line in which it begins; words and lines when it is flat */
    bool flat;
};

/* The ramp's last line, which holds something. width and length are at least 1. */
static inline uint64_t ramp_last(const struct ll_scalesim_ramp *ramp)
{
    return ramp->delay + ramp->length - 1 + (ramp->flat ? 0 : ramp->width - 1);
}

/* Words of all lines up to t. */
uint64_t ll_scalesim_ramp_words(const struct ll_scalesim_ramp *ramp, uint64_t t);

/* The first line up to which there are so many words, from 1 to all of the ramp. */
uint64_t ll_scalesim_ramp_line(const struct ll_scalesim_ramp *ramp, uint64_t words);

/* The addresses of one read operand, and how the array walks them. The tables live in the run's arena. */
struct ll_scalesim_demand {
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
    uint64_t run;       /* so many neighbours along k have neighbouring addresses; 1: none */
    bool k_across;      /* k lies in `across`, not in `along` */
    uint64_t reach;     /* outputs that ask for one word lie at most so far apart along m; of the ifmap */
    uint64_t filter_h, filter_w, stride_h, stride_w, out_h, out_w; /* of the ifmap */
    uint64_t image_h, image_w, plane_w, channels; /* of the ifmap; its padded image is plane_w wide */
    /* Row-wise sparsity (version 3) leaves holes: element j of `along` is the rank-th of its block, and column
     * i of `across` keeps so many of each block. NULL: no holes. */
    const uint32_t *rank, *kept;
    /* Blocks of the ifmap's row that a line asks under row-wise sparsity; 0 of any other demand. */
    uint64_t block, blocks, copies;
    uint32_t *words; /* of the line that was asked last, where it is written out */
};

/* The elements asked in one line: words[i], or where that is NULL across[i] + *(along - i * back), i <
 * count. */
struct ll_scalesim_line {
    const uint32_t *across, *along;
    uint64_t count, back;
    const uint32_t *words;
};

static inline uint32_t line_address(const struct ll_scalesim_line *line, uint64_t i)
{
    return line->words ? line->words[i] : line->across[i] + *(line->along - i * line->back);
}

/* Does this address lie outside the image? Only of a padded ifmap. */
static inline bool outside(const struct ll_scalesim_demand *demand, uint64_t address)
{
    uint64_t pixel = address / demand->channels;
    return pixel / demand->plane_w >= demand->image_h || pixel % demand->plane_w >= demand->image_w;
}

/* Line t of a fold under row-wise sparsity, written out into demand->words, holes left out. */
struct ll_scalesim_line ll_scalesim_sparse_line(const struct ll_scalesim_demand *demand, uint64_t row_fold,
                                                uint64_t column_fold, uint64_t t);

/* What line t of a fold asks for. */
static inline struct ll_scalesim_line asked_line(const struct ll_scalesim_demand *demand, uint64_t row_fold,
                                                 uint64_t column_fold, uint64_t t)
{
    if (demand->words)
        return ll_scalesim_sparse_line(demand, row_fold, column_fold, t);
    bool by_rows = !demand->stationary && demand->across_rows;
    uint64_t begin = (by_rows ? row_fold : column_fold) * demand->width, left = demand->across_count - begin;
    uint64_t used = left < demand->width ? left : demand->width;
    assert(begin < demand->across_count);
    if (!demand->stationary) {
        struct skew skew = skewed(t, demand->delay, used, demand->along_count);
        if (!skew.count)
            return (struct ll_scalesim_line){0};
        return (struct ll_scalesim_line){demand->across + begin + skew.first,
                                         demand->along + (t - demand->delay - skew.first), skew.count, 1,
                                         NULL};
    }
    uint64_t along = (row_fold + 1) * demand->height - 1 - t;
    if (t >= demand->height || along >= demand->along_count)
        return (struct ll_scalesim_line){0};
    return (struct ll_scalesim_line){demand->across + begin, demand->along + along, used, 0, NULL};
}

/* The words of a fold, which is not row-wise sparse. */
static inline struct ll_scalesim_ramp ask_ramp(const struct ll_scalesim_demand *demand, uint64_t row_fold,
                                               uint64_t column_fold)
{
    uint64_t begin = (!demand->stationary && demand->across_rows ? row_fold : column_fold) * demand->width;
    struct ll_scalesim_ramp ramp = {.delay = demand->delay,
                                    .width = ll_min(demand->width, demand->across_count - begin),
                                    .length = demand->along_count};
    if (demand->stationary) {
        ramp.flat = true;
        ramp.length = ll_min(demand->height, demand->along_count - row_fold * demand->height);
        ramp.delay = demand->height - ramp.length;
    }
    return ramp;
}

/* Builds the demand of the ifmap or of the filter in the arena. False when memory ran out. */
bool ll_scalesim_demand(const struct ll_scalesim_config *config, const struct ll_scalesim_layer *layer,
                        enum ll_scalesim_operand operand, struct ll_arena *arena,
                        struct ll_scalesim_demand *demand);

/* Whether anything in the line lies inside the image. */
bool ll_scalesim_line_asks(const struct ll_scalesim_demand *demand, const struct ll_scalesim_line *line);

#endif
