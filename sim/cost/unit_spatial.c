/* SPDX-License-Identifier: Apache-2.0 */
/* Spatial units: processing elements that run some loops of a convolution side by side, the others in turn.
 *
 * A convolution is a nest of eight loops (LL_LOOP_LIST), each iteration of which is one
 * multiply-accumulate. Its gradients are such nests as well, in which other loops do what these do:
 *
 *       loop     forward               input's gradient      filter's gradient
 *       K        filters               channels              filters
 *       C        channels              filters               images
 *       B        images                images                channels
 *       OY, OX   output                output                filter
 *       FY, FX   filter                filter, by phases     output
 *
 * (of a strided convolution, each pixel of the input's gradient sums the taps of one remainder by the
 * stride, so that a window's taps come in as many phases). A matrix product is a convolution with filters
 * of 1x1, its rows the pixels of images of whatever form suits; or one with filters as large as its images,
 * its rows the images and the terms of its sums channels and taps as suits. Gradients of filters may be
 * computed as products, too.
 *
 * Loops side by side leave steps, the last of each loop with idle elements. Of these an element may do some
 * with what it has in its registers, a block of them; and units share the blocks of the result:
 *
 *       steps = product over loops of ceil(iterations / side by side)
 *       blocks = product over loops of ceil(iterations / (side by side * in each element))
 *       tiles = blocks of the loops G, B, K, OY and OX
 *       cycles = ceil(steps * (ceil(tiles / count) / tiles) / macs) + fill
 *
 * In a block an operand goes to all elements that need it at once: what its loops share counts once, as do
 * the pixels that windows share where both OY and FY, or OX and FX, are among them. From block to block one
 * operand stays in the elements while loops run that do not concern it. With rows = blocks of B, OY and OX,
 * columns = blocks of K, reductions = blocks of C, FY and FX (of one phase), and share = distinct pixels of
 * all blocks over those in windows, operands come
 *
 *       stationary   a                  b       c
 *       output       columns * share    rows    1
 *       weight       columns * share    1       1 + 2 (reductions - 1) (1 - kept)
 *       input        share              rows    1 + 2 (reductions - 1) (1 - kept)
 *
 * times. The sums that are under way are those of all rows (weights stay) or of all columns (inputs stay),
 * of which accumulators keep some; or what stays comes once more for each piece of the rows or columns
 * whose sums are kept.
 *
 * The names and the counting are those of ZigZag (Mei et al., IEEE TC 70, 2021) and Timeloop (Parashar et
 * al., ISPASS 2019). */
#include "sim/cost/unit_model.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

enum { Y, X, AXES };

/* One direction of the windows: pixel p and tap t of a phase meet at pixel_step * p + tap_step * t. */
struct axis {
    uint64_t phases, pixel_step, tap_step;
};

/* The nest of a task: how much of it lies side by side, and how much with what elements do in turn. */
struct nest {
    uint64_t of[LL_LOOP_COUNT], aside[LL_LOOP_COUNT], by[LL_LOOP_COUNT];
    struct axis axis[AXES];
    bool windows;        /* pixels are shared by windows */
    double taps_in_pass; /* of an axis pair (Y and X), in one pass over a: 1, or as many as windows have */
    const char *as;      /* what it is seen as; NULL: a convolution, as it is */
};

/* A way is so many units at work, one of their unrollings, one of the views of a task, whole or in pieces. */
struct choice {
    uint64_t units;
    uint32_t unroll, view;
    bool in_pieces;
};

/* How units do it. */
struct plan {
    struct choice choice;
    struct nest nest;
    double steps[LL_LOOP_COUNT], all_steps;
    double blocks[LL_LOOP_COUNT];     /* of steps that an element does with what it has */
    double rows, columns, reductions; /* of blocks: of B, OY and OX, of K, of C, FY and FX */
    double phases;                    /* that results come in, each with taps of its own */
    double tiles, waves;              /* blocks of the result, of all units and of one */
    double share;                     /* distinct pixels of all steps, over those of one pass over a */
    double distinct[AXES];
    double sums, pieces, kept;
    double passes[LL_OPERAND_COUNT];
    double cycles;
};

static const enum ll_loop pixel_loop[] = {LL_LOOP_OY, LL_LOOP_OX}, tap_loop[] = {LL_LOOP_FY, LL_LOOP_FX};

static uint64_t common_divisor(uint64_t a, uint64_t b)
{
    while (b) {
        uint64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* --- nests --- */

static struct axis window_axis(uint64_t pass, uint64_t stride, uint64_t dilation)
{
    uint64_t shared = common_divisor(stride, dilation);
    switch (pass) {
    case LL_CONV_FORWARD:
        return (struct axis){1, stride, dilation};
    case LL_CONV_DATA:
        return (struct axis){stride / shared, 1, dilation / shared};
    default:
        return (struct axis){1, dilation, stride};
    }
}

static struct nest convolution_nest(const struct ll_conv *c)
{
    uint64_t in_c = c->in_c / c->groups, out_c = c->out_c / c->groups;
    uint64_t out[] = {c->out_h, c->out_w}, kernel[] = {c->kernel_h, c->kernel_w};
    uint64_t stride[] = {c->stride_h, c->stride_w}, dilation[] = {c->dilation_h, c->dilation_w};
    bool data = c->pass == LL_CONV_DATA, filter = c->pass == LL_CONV_FILTER;
    struct nest nest = {.windows = true};
    nest.of[LL_LOOP_G] = c->groups;
    nest.of[LL_LOOP_B] = filter ? in_c : c->batch;
    nest.of[LL_LOOP_K] = data ? in_c : out_c;
    nest.of[LL_LOOP_C] = data ? out_c : filter ? c->batch : in_c;
    nest.taps_in_pass = 1;
    for (int i = 0; i < AXES; i++) {
        nest.of[pixel_loop[i]] = filter ? kernel[i] : out[i];
        nest.of[tap_loop[i]] = filter ? out[i] : kernel[i];
        nest.axis[i] = window_axis(c->pass, ll_max(1, stride[i]), ll_max(1, dilation[i]));
        nest.taps_in_pass *= data ? 1 : (double)nest.of[tap_loop[i]];
    }
    return nest;
}

/* Zeros that are skipped leave fewer channels. */
static void skip_channels(const struct ll_task *task, struct nest *nest)
{
    uint64_t all = ll_conv_as_gemm(&task->work->conv).k, left = task->problem.dims.k;
    double channels = (double)nest->of[LL_LOOP_C];
    if (left < all)
        nest->of[LL_LOOP_C] = (uint64_t)ceil(channels * (double)left / (double)all);
}

/* All rows of a product as pixels of one row, or as images. */
static struct nest product_nest(const struct ll_gemm *dims, bool as_windows)
{
    struct nest nest = {.of = {[LL_LOOP_G] = dims->batch, [LL_LOOP_K] = dims->n, [LL_LOOP_C] = dims->k},
                        .axis = {{1, 1, 1}, {1, 1, 1}},
                        .taps_in_pass = 1,
                        .as =
                            as_windows ? "one with filters as large as its images" : "one with 1x1 filters"};
    nest.of[LL_LOOP_OX] = as_windows ? 1 : dims->m;
    nest.of[LL_LOOP_B] = as_windows ? dims->m : 1;
    nest.of[LL_LOOP_OY] = nest.of[LL_LOOP_FY] = nest.of[LL_LOOP_FX] = 1;
    return nest;
}

static void join_loops(uint64_t by[LL_LOOP_COUNT], enum ll_loop into, enum ll_loop from)
{
    by[into] = ll_mul(by[into], by[from]);
    by[from] = 1;
}

/* What is seen as pixels, or as taps, may be cut into rows and columns, images and channels at will. */
static void unroll(const struct ll_unroll *unroll, bool as_pixels, bool as_windows, struct nest *nest)
{
    uint64_t *const both[] = {nest->aside, nest->by};
    for (int i = 0; i < LL_LOOP_COUNT; i++) {
        nest->aside[i] = unroll->by[i];
        nest->by[i] = ll_mul(unroll->by[i], unroll->each[i]);
    }
    for (int i = 0; i < 2; i++) {
        if (as_pixels) {
            join_loops(both[i], LL_LOOP_OX, LL_LOOP_OY);
            join_loops(both[i], LL_LOOP_OX, LL_LOOP_B);
        }
        if (as_windows) {
            join_loops(both[i], LL_LOOP_C, LL_LOOP_FY);
            join_loops(both[i], LL_LOOP_C, LL_LOOP_FX);
        }
    }
}

static uint32_t views_of(const struct ll_task *task)
{
    const struct ll_work *work = task->work;
    return work->kind != LL_WORK_CONV ? 2 : work->conv.pass == LL_CONV_FILTER ? 3 : 1;
}

static struct nest nest_of(const struct ll_unit *unit, const struct ll_task *task, uint32_t view,
                           uint32_t way)
{
    bool conv = task->work->kind == LL_WORK_CONV, as_it_is = conv && view == 0;
    bool as_windows = !as_it_is && view == (conv ? 2u : 1u), as_pixels = !as_it_is && !as_windows;
    struct nest nest =
        as_it_is ? convolution_nest(&task->work->conv) : product_nest(&task->problem.dims, as_windows);
    if (as_it_is)
        skip_channels(task, &nest);
    unroll(&unit->spatial.unrolls[way], as_pixels, as_windows, &nest);
    return nest;
}

/* --- windows --- */

/* Distinct values of pixel_step * p + tap_step * t, p and t below so many: steps without a common divisor
 * repeat a value wherever p grows by the one and t falls by the other. */
static double distinct_of(const struct axis *axis, uint64_t pixels, uint64_t taps)
{
    uint64_t shared = common_divisor(axis->pixel_step, axis->tap_step);
    uint64_t p = axis->tap_step / shared, t = axis->pixel_step / shared;
    double again = pixels > p && taps > t ? (double)(pixels - p) * (double)(taps - t) : 0;
    return (double)pixels * (double)taps - again;
}

/* A loop in blocks: so many whole ones, and a last one of the rest. */
struct cut {
    uint64_t whole, size, rest;
};

static struct cut cut_loop(uint64_t of, uint64_t by)
{
    return (struct cut){of / by, by, of % by};
}

/* Of the taps of a phase. */
static uint64_t taps_of(uint64_t taps, const struct axis *axis, uint64_t phase)
{
    return taps > phase ? ll_ceil_div(taps - phase, axis->phases) : 0;
}

/* Pixels that all blocks along an axis take in, each distinct one of a block once. */
static double distinct_along(const struct nest *nest, int axis)
{
    const struct axis *a = &nest->axis[axis];
    struct cut pixels = cut_loop(nest->of[pixel_loop[axis]], nest->by[pixel_loop[axis]]);
    double sum = 0;
    for (uint64_t phase = 0; phase < a->phases; phase++) {
        struct cut taps = cut_loop(taps_of(nest->of[tap_loop[axis]], a, phase), nest->by[tap_loop[axis]]);
        sum += (double)pixels.whole * (double)taps.whole * distinct_of(a, pixels.size, taps.size) +
               (double)taps.whole * distinct_of(a, pixels.rest, taps.size) +
               (double)pixels.whole * distinct_of(a, pixels.size, taps.rest) +
               distinct_of(a, pixels.rest, taps.rest);
    }
    return sum;
}

/* In how many pieces a loop is run; the taps of each phase apart. */
static double pieces_of(const struct nest *nest, enum ll_loop loop, uint64_t by)
{
    const struct axis *axis = loop == LL_LOOP_FY   ? &nest->axis[Y]
                              : loop == LL_LOOP_FX ? &nest->axis[X]
                                                   : NULL;
    double sum = 0;
    if (!axis)
        return (double)ll_ceil_div(nest->of[loop], by);
    for (uint64_t phase = 0; phase < axis->phases; phase++)
        sum += (double)ll_ceil_div(taps_of(nest->of[loop], axis, phase), by);
    return sum;
}

/* --- plans --- */

static void count_steps(const struct ll_unit *unit, const struct ll_task *task, struct plan *plan)
{
    const struct nest *nest = &plan->nest;
    const double *blocks = plan->blocks;
    plan->all_steps = 1;
    for (enum ll_loop i = 0; i < LL_LOOP_COUNT; i++) {
        plan->steps[i] = pieces_of(nest, i, nest->aside[i]);
        plan->blocks[i] = pieces_of(nest, i, nest->by[i]);
        plan->all_steps *= plan->steps[i];
    }
    plan->rows = blocks[LL_LOOP_B] * blocks[LL_LOOP_OY] * blocks[LL_LOOP_OX];
    plan->columns = blocks[LL_LOOP_K];
    plan->phases = (double)nest->axis[Y].phases * (double)nest->axis[X].phases;
    plan->tiles = blocks[LL_LOOP_G] * plan->rows * plan->columns * plan->phases;
    plan->reductions = fmax(1, blocks[LL_LOOP_C] * blocks[LL_LOOP_FY] * blocks[LL_LOOP_FX] / plan->phases);
    plan->waves = ceil(plan->tiles / (double)plan->choice.units);
    double steps = plan->all_steps * (plan->waves / plan->tiles);
    plan->cycles = ceil(steps / unit->spatial.macs[task->dtype]) + unit->spatial.fill_cycles;
}

static void share_pixels(struct plan *plan)
{
    const struct nest *nest = &plan->nest;
    double in_pass = nest->taps_in_pass;
    plan->share = 1;
    for (int i = 0; nest->windows && i < AXES; i++) {
        plan->distinct[i] = distinct_along(nest, i);
        in_pass *= (double)nest->of[pixel_loop[i]];
    }
    if (nest->windows)
        plan->share = plan->distinct[Y] * plan->distinct[X] / in_pass;
}

static uint64_t at_once(const struct nest *nest, enum ll_loop loop)
{
    return ll_min(nest->of[loop], nest->by[loop]);
}

/* Sums under way in a unit, and which of them it keeps. False where pieces make no sense. */
static bool keep_sums(const struct ll_spatial *spatial, bool in_pieces, struct plan *plan)
{
    const struct nest *nest = &plan->nest;
    bool weights_stay = spatial->dataflow == LL_WEIGHT_STATIONARY;
    double room = (double)spatial->accumulators;
    double steps = weights_stay ? plan->rows : plan->columns;
    plan->pieces = plan->kept = 1;
    plan->sums = steps * (double)at_once(nest, LL_LOOP_G) * (double)at_once(nest, LL_LOOP_K) *
                 (double)at_once(nest, LL_LOOP_B) * (double)at_once(nest, LL_LOOP_OY) *
                 (double)at_once(nest, LL_LOOP_OX);
    bool all_kept =
        spatial->dataflow == LL_OUTPUT_STATIONARY || room == 0 || plan->sums <= room || plan->reductions <= 1;
    if (all_kept)
        return !in_pieces;
    if (in_pieces)
        plan->pieces = ceil(plan->sums / room);
    else
        plan->kept = room / plan->sums;
    return plan->pieces <= steps;
}

static void count_passes(const struct ll_spatial *spatial, const struct ll_task *task, struct plan *plan)
{
    enum ll_dataflow stays = spatial->dataflow;
    double out_and_back = 2 * (plan->reductions - 1) * (1 - plan->kept) * task->problem.sum_width;
    plan->passes[LL_OPERAND_A] = plan->share * (stays == LL_INPUT_STATIONARY ? plan->pieces : plan->columns);
    plan->passes[LL_OPERAND_B] = stays == LL_WEIGHT_STATIONARY ? plan->pieces : plan->rows;
    plan->passes[LL_OPERAND_C] = 1 + out_and_back;
}

static struct choice decode(const struct ll_unit *unit, const struct ll_task *task, uint32_t index)
{
    uint32_t views = views_of(task), unrolls = (uint32_t)unit->spatial.unroll_count;
    return (struct choice){.units = ll_count_at_work(unit, task, index / (2 * views * unrolls)),
                           .unroll = index / (2 * views) % unrolls,
                           .view = index / 2 % views,
                           .in_pieces = index % 2 == 1};
}

static bool make_plan(const struct ll_unit *unit, const struct ll_task *task, uint32_t index,
                      struct plan *plan)
{
    *plan = (struct plan){.choice = decode(unit, task, index)};
    plan->nest = nest_of(unit, task, plan->choice.view, plan->choice.unroll);
    count_steps(unit, task, plan);
    share_pixels(plan);
    if (!keep_sums(&unit->spatial, plan->choice.in_pieces, plan))
        return false;
    count_passes(&unit->spatial, task, plan);
    return true;
}

/* --- the first piece --- */

/* What one block takes in and gives, at most. */
static double block_bytes(const struct ll_task *task, const struct nest *nest, double of[LL_OPERAND_COUNT])
{
    const struct ll_windows *windows = &task->problem.windows;
    double pixels = (double)at_once(nest, LL_LOOP_B) * (double)at_once(nest, LL_LOOP_G);
    double sums = pixels * (double)at_once(nest, LL_LOOP_K),
           inputs = pixels * (double)at_once(nest, LL_LOOP_C);
    double weights = (double)at_once(nest, LL_LOOP_G) * (double)at_once(nest, LL_LOOP_K) *
                     (double)at_once(nest, LL_LOOP_C),
           bytes = 0;
    for (int i = 0; i < AXES; i++) {
        uint64_t side = at_once(nest, pixel_loop[i]), taps = at_once(nest, tap_loop[i]);
        sums *= (double)side;
        weights *= (double)taps;
        inputs *= nest->windows ? distinct_of(&nest->axis[i], side, taps) : (double)side;
    }
    of[LL_OPERAND_A] = inputs;
    of[LL_OPERAND_B] = weights;
    of[LL_OPERAND_C] = sums;
    for (enum ll_operand i = 0; i < LL_OPERAND_COUNT; i++) {
        double expansion = windows->overlap && windows->image == i ? windows->expansion : 1;
        bytes += of[i] *= task->problem.element[i] * expansion;
    }
    return bytes;
}

/* The least that a unit can start on, over all ways, so that it is the same for each. */
static void first_piece(const struct ll_unit *unit, const struct ll_task *task, struct ll_way *way,
                        struct ll_explain *why)
{
    double least = INFINITY, of[LL_OPERAND_COUNT];
    for (uint32_t u = 0; u < unit->spatial.unroll_count; u++)
        for (uint32_t view = 0; view < views_of(task); view++) {
            struct nest nest = nest_of(unit, task, view, u);
            double bytes = block_bytes(task, &nest, of);
            if (bytes >= least)
                continue;
            least = bytes;
            memcpy(way->first_bytes, of, sizeof of);
        }
    double macs = unit->spatial.macs[task->dtype], fill = unit->spatial.fill_cycles;
    way->first_cycles = ceil(1 / macs) + fill;
    ll_say(why, "first block, of the way that begins with the least: %.10g + %.10g + %.10g = %.10g B",
           way->first_bytes[LL_OPERAND_A], way->first_bytes[LL_OPERAND_B], way->first_bytes[LL_OPERAND_C],
           least);
    ll_say(why, "first step: ceil(1 / %.10g) + %.10g = %.10g cycles", macs, fill, way->first_cycles);
}

/* --- words --- */

static const char *const loop_words[] = {
#define X(word, what) what,
    LL_LOOP_LIST(X)
#undef X
};

static void tell_pieces(const struct nest *nest, enum ll_loop loop, const char *how, uint64_t by,
                        double pieces, struct ll_explain *why)
{
    const struct axis *axis = loop == LL_LOOP_FY   ? &nest->axis[Y]
                              : loop == LL_LOOP_FX ? &nest->axis[X]
                                                   : NULL;
    if (axis && axis->phases > 1)
        ll_say(why, "%s, %" PRIu64 " %s, those of %" PRIu64 " phases apart: %.10g = %.10g", loop_words[loop],
               by, how, axis->phases, pieces, pieces);
    else if (by > 1)
        ll_say(why, "%s, %" PRIu64 " %s: ceil(%" PRIu64 " / %" PRIu64 ") = %.10g", loop_words[loop], by, how,
               nest->of[loop], by, pieces);
}

static void tell_product(const char *what, const double factors[LL_LOOP_COUNT], double product,
                         struct ll_explain *why)
{
    ll_say(why,
           "%s, of groups, images, filters, channels, output rows and columns, filter rows and columns: "
           "%.10g * %.10g "
           "* %.10g * %.10g * %.10g * %.10g * %.10g * %.10g = %.10g",
           what, factors[LL_LOOP_G], factors[LL_LOOP_B], factors[LL_LOOP_K], factors[LL_LOOP_C],
           factors[LL_LOOP_OY], factors[LL_LOOP_OX], factors[LL_LOOP_FY], factors[LL_LOOP_FX], product);
}

static void tell_loops(const struct plan *plan, struct ll_explain *why)
{
    const struct nest *nest = &plan->nest;
    bool in_turn = false;
    for (enum ll_loop i = 0; i < LL_LOOP_COUNT; i++) {
        tell_pieces(nest, i, "side by side", nest->aside[i], plan->steps[i], why);
        in_turn = in_turn || nest->by[i] > nest->aside[i];
    }
    tell_product("steps", plan->steps, plan->all_steps, why);
    if (!in_turn)
        return;
    for (enum ll_loop i = 0; i < LL_LOOP_COUNT; i++)
        tell_pieces(nest, i, "with those in each element", nest->by[i], plan->blocks[i], why);
    double all = 1;
    for (enum ll_loop i = 0; i < LL_LOOP_COUNT; i++)
        all *= plan->blocks[i];
    tell_product("blocks that elements have in turn", plan->blocks, all, why);
}

static void tell_operands(const struct ll_spatial *spatial, const struct ll_task *task,
                          const struct plan *plan, struct ll_explain *why)
{
    static const char *const names[] = {"output", "weight", "input"};
    const struct nest *nest = &plan->nest;
    bool inputs_stay = spatial->dataflow == LL_INPUT_STATIONARY;
    if (nest->windows)
        ll_say(why,
               "distinct pixels of all blocks over those of one pass: %.10g * %.10g / (%" PRIu64 " * %" PRIu64
               " * %.10g) = %.10g",
               plan->distinct[Y], plan->distinct[X], nest->of[LL_LOOP_OY], nest->of[LL_LOOP_OX],
               nest->taps_in_pass, plan->share);
    if (plan->pieces > 1)
        ll_say(why,
               "accumulators hold %" PRIu64 " of %.10g sums, which come in pieces: ceil(%.10g / %" PRIu64
               ") = %.10g",
               spatial->accumulators, plan->sums, plan->sums, spatial->accumulators, plan->pieces);
    if (plan->kept < 1)
        ll_say(why, "accumulators keep of the sums: %" PRIu64 " / %.10g = %.10g", spatial->accumulators,
               plan->sums, plan->kept);
    ll_say(why, "%s stationary, a comes so many times: %.10g * %.10g = %.10g", names[spatial->dataflow],
           inputs_stay ? plan->pieces : plan->columns, plan->share, plan->passes[LL_OPERAND_A]);
    ll_say(why, "blocks that are summed up in a result: max(1, %.10g * %.10g * %.10g / %.10g) = %.10g",
           plan->blocks[LL_LOOP_C], plan->blocks[LL_LOOP_FY], plan->blocks[LL_LOOP_FX], plan->phases,
           plan->reductions);
    ll_say(why, "c goes out and comes back so many times: 1 + 2 * (%.10g - 1) * (1 - %.10g) * %.10g = %.10g",
           plan->reductions, plan->kept, task->problem.sum_width, plan->passes[LL_OPERAND_C]);
}

static void tell(const struct ll_unit *unit, const struct ll_task *task, const struct plan *plan,
                 struct ll_explain *why)
{
    char loops[LL_UNROLL_TEXT];
    const double *b = plan->blocks;
    ll_unroll_print(&unit->spatial.unrolls[plan->choice.unroll], loops);
    ll_say(why, "%s, %" PRIu64 " elements, loops side by side: %s%s%s", unit->name, unit->spatial.elements,
           loops, plan->nest.as ? "; the product is taken for a convolution, " : "",
           plan->nest.as ? plan->nest.as : "");
    tell_loops(plan, why);
    ll_say(why, "blocks of the result: %.10g * (%.10g * %.10g * %.10g) * %.10g * %.10g = %.10g", b[LL_LOOP_G],
           b[LL_LOOP_B], b[LL_LOOP_OY], b[LL_LOOP_OX], b[LL_LOOP_K], plan->phases, plan->tiles);
    ll_say(why, "dealt to %" PRIu64 " of %" PRIu64 " units: ceil(%.10g / %" PRIu64 ") = %.10g",
           plan->choice.units, unit->count, plan->tiles, plan->choice.units, plan->waves);
    ll_say(why, "steps of a unit: ceil(%.10g * (%.10g / %.10g) / %.10g) + %.10g = %.10g cycles",
           plan->all_steps, plan->waves, plan->tiles, unit->spatial.macs[task->dtype],
           unit->spatial.fill_cycles, plan->cycles);
    tell_operands(&unit->spatial, task, plan, why);
}

/* --- ways --- */

/* What one unit gets: a block of the tiles. */
static struct ll_gemm block_of(const struct plan *plan, const struct ll_gemm *dims, double *tiles)
{
    double all_rows = plan->rows * plan->phases, plane = all_rows * plan->columns;
    double batch = fmax(1, floor(plan->waves / plane)), mine = fmin(plane, plan->waves);
    double columns = fmin(plan->columns, mine), rows = fmax(1, floor(mine / columns));
    double groups = plan->blocks[LL_LOOP_G];
    *tiles = batch * rows * columns;
    return (struct ll_gemm){.batch =
                                ll_min(dims->batch, (uint64_t)ceil((double)dims->batch * batch / groups)),
                            .m = ll_min(dims->m, (uint64_t)ceil((double)dims->m * rows / all_rows)),
                            .n = ll_min(dims->n, (uint64_t)ceil((double)dims->n * columns / plan->columns)),
                            .k = dims->k};
}

static uint32_t way_count(const struct ll_unit *unit, const struct ll_task *task)
{
    return ll_counts_at_work(unit, task) * (uint32_t)unit->spatial.unroll_count * views_of(task) * 2;
}

static bool spatial_way(const struct ll_unit *unit, const struct ll_task *task, uint32_t index,
                        struct ll_way *way, struct ll_explain *why)
{
    struct plan plan;
    double tiles_of_share;
    if (!make_plan(unit, task, index, &plan))
        return false;
    uint64_t units = plan.choice.units;
    *way = (struct ll_way){
        .units_used = plan.tiles < (double)units ? (uint64_t)plan.tiles : units,
        .at_work = plan.tiles / plan.waves,
        .cycles = plan.cycles,
        .share = block_of(&plan, &task->problem.dims, &tiles_of_share),
        .macs = ll_gemm_macs(&task->problem.dims),
    };
    way->shares = plan.tiles / tiles_of_share;
    way->unit_bytes = ll_unit_bytes(task, &task->problem.dims, 1, plan.passes, way->asked_bytes);
    if (why)
        tell(unit, task, &plan, why);
    first_piece(unit, task, way, why);
    return true;
}

const struct ll_unit_model ll_cost_SPATIAL = {
    .products = true,
    .way_count = way_count,
    .way = spatial_way,
};
