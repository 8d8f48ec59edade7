/* SPDX-License-Identifier: Apache-2.0 */
/* Spatial units: processing elements that run some loops of a convolution in parallel and the others in
 * sequence. The loop nests of a convolution, its gradients and a GEMM are in mapper.c.
 *
 * Parallel loops leave sequential steps, the last of which in each loop has idle elements. An element may do
 * several of these steps, a block of them, on what it holds in its registers:
 *
 *       steps = product over loops of ceil(iterations / parallel)
 *       blocks = product over loops of ceil(iterations / (parallel * in each element))
 *       rows = blocks of B, OY and OX; columns = blocks of K; reductions = blocks of C, FY and FX
 *       cycles = ceil(steps / macs) + fill
 *
 * Several units share the groups, then rows and columns. (The rows of all phases are dealt as one sequence;
 * the unit with the most taps is the slowest.) How rows and columns are cut and how many units work are
 * kernel configurations.
 *
 * Within a block an operand is multicast to all elements that need it: its shared loops count once, and so
 * do the pixels that windows share where both OY and FY, or OX and FX, are among the block's loops. From
 * block to block one operand stays in the elements while loops run that do not index it. With share =
 * distinct pixels of all blocks over those in windows, and rows, columns and reductions of one unit, the
 * operands of a unit are loaded
 *
 *       stationary   a                  b       c
 *       output       columns * share    rows    1
 *       weight       columns * share    1       1 + 2 (reductions - 1) (1 - kept)
 *       input        share              rows    1 + 2 (reductions - 1) (1 - kept)
 *
 * times. The partial sums in progress are those of all rows (weight stationary) or of all columns (input
 * stationary); accumulators keep some of them. Or the stationary operand is loaded again for each piece of
 * the rows or columns whose sums are kept.
 *
 * Names and counting follow ZigZag (Mei et al., IEEE TC 70, 2021) and Timeloop (Parashar et al., ISPASS
 * 2019). */
#include "sim/cost/cost_parts.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* How rows and columns are dealt to units: rows as far as they go, columns as far as they go, or both. */
enum deal { DEAL_ROWS, DEAL_COLUMNS, DEAL_BOTH, DEALS };

/* A way is so many units at work, how they are dealt the work, one of their unrollings, one of the views of a
 * task, whole or in pieces. */
struct choice {
    uint64_t units;
    enum deal deal;
    uint32_t unroll, view;
    bool in_pieces;
};

/* How units do it. */
struct plan {
    struct choice choice;
    struct ll_loop_nest nest;
    double steps[LL_LOOP_COUNT], all_steps;
    double blocks[LL_LOOP_COUNT];                /* of steps that an element does with what it has */
    double rows, columns;                        /* blocks of B, OY and OX, in all phases; of K */
    double phase_rows, row_steps;                /* of one phase; steps of B, OY and OX in a block of rows */
    double phases_each;                          /* of which a unit has rows */
    double phases;                               /* that results come in, each with taps of its own */
    double reductions;                           /* blocks of C, FY and FX, in the mean of phases */
    double most_taps, taps;                      /* steps of FY and FX: in the largest phase, in all */
    double groups_each, rows_each, columns_each; /* blocks that a unit gets at most */
    double group_parts, row_parts, column_parts; /* into which all are cut, for a unit each */
    double unit_steps;
    double share; /* distinct pixels of all blocks, over those of one pass over a */
    double distinct[LL_NEST_AXES];
    double load_cycles; /* for which elements wait for weights */
    double sums, pieces, kept;
    double passes[LL_OPERAND_COUNT];
    double cycles;
};

/* --- plans --- */

static void count_steps(struct plan *plan)
{
    const struct ll_loop_nest *nest = &plan->nest;
    const double *blocks = plan->blocks;
    plan->all_steps = 1;
    for (enum ll_loop i = 0; i < LL_LOOP_COUNT; i++) {
        plan->steps[i] = ll_nest_pieces(nest, i, nest->aside[i]);
        plan->blocks[i] = ll_nest_pieces(nest, i, nest->by[i]);
        plan->all_steps *= plan->steps[i];
    }
    plan->phases = (double)nest->axis[LL_NEST_Y].phases * (double)nest->axis[LL_NEST_X].phases;
    plan->phase_rows = blocks[LL_LOOP_B] * blocks[LL_LOOP_OY] * blocks[LL_LOOP_OX];
    plan->rows = plan->phase_rows * plan->phases;
    plan->row_steps =
        plan->steps[LL_LOOP_B] * plan->steps[LL_LOOP_OY] * plan->steps[LL_LOOP_OX] / plan->phase_rows;
    plan->columns = blocks[LL_LOOP_K];
    plan->reductions = fmax(1, blocks[LL_LOOP_C] * blocks[LL_LOOP_FY] * blocks[LL_LOOP_FX] / plan->phases);
    plan->taps = plan->steps[LL_LOOP_FY] * plan->steps[LL_LOOP_FX];
    plan->most_taps = ll_nest_most_taps(nest, LL_LOOP_FY) * ll_nest_most_taps(nest, LL_LOOP_FX);
}

/* Blocks of the result to units. */
static void deal_blocks(struct plan *plan)
{
    double groups = plan->blocks[LL_LOOP_G], units = (double)plan->choice.units, batch = fmin(groups, units);
    double each = floor(units / batch), rows, columns;
    if (plan->choice.deal == DEAL_ROWS) {
        rows = fmin(plan->rows, each);
        columns = fmin(plan->columns, floor(each / rows));
    } else {
        double most = plan->choice.deal == DEAL_COLUMNS ? each : floor(sqrt(each));
        columns = fmin(plan->columns, most);
        rows = fmin(plan->rows, floor(each / columns));
    }
    plan->groups_each = ceil(groups / batch);
    plan->rows_each = ceil(plan->rows / rows);
    plan->phases_each = ceil(plan->rows_each / plan->phase_rows);
    plan->columns_each = ceil(plan->columns / columns);
    plan->group_parts = ceil(groups / plan->groups_each);
    plan->row_parts = ceil(plan->rows / plan->rows_each);
    plan->column_parts = ceil(plan->columns / plan->columns_each);
}

/* Those of the unit that gets the rows with the most taps. */
static void time_steps(const struct ll_unit *unit, const struct ll_task *task, struct plan *plan)
{
    const double *steps = plan->steps, *blocks = plan->blocks;
    plan->unit_steps =
        steps[LL_LOOP_G] / blocks[LL_LOOP_G] * plan->groups_each *
        (steps[LL_LOOP_K] / blocks[LL_LOOP_K] * plan->columns_each) * steps[LL_LOOP_C] *
        (plan->row_steps * fmin(plan->phase_rows * plan->taps, plan->rows_each * plan->most_taps));
    plan->cycles = ceil(plan->unit_steps / unit->spatial.macs[task->dtype]) + unit->spatial.fill_cycles;
}

static void share_pixels(struct plan *plan)
{
    const struct ll_loop_nest *nest = &plan->nest;
    double in_pass = nest->taps_in_pass;
    plan->share = 1;
    for (int i = 0; nest->windows && i < LL_NEST_AXES; i++) {
        plan->distinct[i] = ll_nest_distinct_along(nest, i);
        in_pass *= (double)nest->of[ll_pixel_loops[i]];
    }
    if (nest->windows)
        plan->share = plan->distinct[LL_NEST_Y] * plan->distinct[LL_NEST_X] / in_pass;
}

static uint64_t at_once(const struct ll_loop_nest *nest, enum ll_loop loop)
{
    return ll_min(nest->of[loop], nest->by[loop]);
}

/* Sums under way in a unit, and which of them it keeps. False where pieces make no sense. */
static bool keep_sums(const struct ll_spatial *spatial, struct plan *plan)
{
    const struct ll_loop_nest *nest = &plan->nest;
    bool weights_stay = spatial->dataflow == LL_WEIGHT_STATIONARY, in_pieces = plan->choice.in_pieces;
    double room = (double)spatial->accumulators;
    double steps = weights_stay ? fmin(plan->rows_each, plan->phase_rows) : plan->columns_each;
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

/* Of all units together. Each needs the weights of the phases of which it has rows. */
static void count_passes(const struct ll_spatial *spatial, const struct ll_task *task, struct plan *plan)
{
    enum ll_dataflow stays = spatial->dataflow;
    double columns = plan->column_parts * plan->columns_each, rows = plan->row_parts * plan->rows_each;
    double out_and_back = 2 * (plan->reductions - 1) * (1 - plan->kept) * task->problem.sum_width;
    plan->passes[LL_OPERAND_A] =
        plan->share * (stays == LL_INPUT_STATIONARY ? plan->column_parts * plan->pieces : columns);
    bool once = stays == LL_WEIGHT_STATIONARY && spatial->pass_room_bytes == 0;
    plan->passes[LL_OPERAND_B] =
        (once ? plan->row_parts * plan->phases_each * plan->pieces : rows) / plan->phases;
    plan->passes[LL_OPERAND_C] = 1 + out_and_back;
}

static void wait_for_weights(const struct ll_unit *unit, const struct ll_task *task, struct plan *plan)
{
    const struct ll_gemm *d = &task->problem.dims;
    double parts = plan->group_parts * plan->row_parts * plan->column_parts;
    double weights = plan->passes[LL_OPERAND_B] * (double)d->batch * (double)d->k * (double)d->n;
    if (unit->spatial.weight_load > 0)
        plan->load_cycles = weights / parts / unit->spatial.weight_load;
}

/* --- passes that find room --- */

/* Bytes of a pass in the memory in front of the unit: sums of whole rows, and twice the rows that come in. */
static double pass_bytes(const struct ll_task *task, const struct ll_loop_nest *nest)
{
    double images = (double)at_once(nest, LL_LOOP_B) * (double)at_once(nest, LL_LOOP_G);
    double sums = images * (double)at_once(nest, LL_LOOP_K) * (double)at_once(nest, LL_LOOP_OY) *
                  (double)nest->of[LL_LOOP_OX];
    double rows = ll_nest_distinct(&nest->axis[LL_NEST_Y], at_once(nest, LL_LOOP_OY), nest->of[LL_LOOP_FY]),
           pixels = ll_nest_distinct(&nest->axis[LL_NEST_X], nest->of[LL_LOOP_OX], nest->of[LL_LOOP_FX]);
    double element = ll_dtype_spread((enum ll_dtype)task->work->dtype);
    return sums * fmax(task->sum_bytes, element) +
           2 * images * (double)at_once(nest, LL_LOOP_C) * rows * pixels * element;
}

/* The first unroll that suits a convolution, with rows of the output that it divides, or else without; as
 * many as there are where none does. */
static uint32_t first_that_suits(const struct ll_unit *unit, const struct ll_task *task)
{
    const struct ll_spatial *spatial = &unit->spatial;
    for (int divides = 1; divides >= 0; divides--)
        for (uint32_t i = 0; spatial->pass_room_bytes > 0 && i < spatial->unroll_count; i++) {
            const struct ll_loop_nest nest = ll_nest_of(unit, task, 0, i);
            if (nest.windows && nest.of[LL_LOOP_FY] == nest.by[LL_LOOP_FY] &&
                nest.of[LL_LOOP_FX] == nest.by[LL_LOOP_FX] &&
                (!divides || nest.of[LL_LOOP_OY] % nest.by[LL_LOOP_OY] == 0) &&
                pass_bytes(task, &nest) <= (double)spatial->pass_room_bytes)
                return i;
        }
    return (uint32_t)spatial->unroll_count;
}

/* One unit is dealt everything. */
static uint32_t deals_of(const struct ll_unit *unit, const struct ll_task *task)
{
    return ll_counts_at_work(unit, task) > 1 ? DEALS : 1;
}

static struct choice decode(const struct ll_unit *unit, const struct ll_task *task, uint32_t index)
{
    uint32_t views = ll_nest_views(task), unrolls = (uint32_t)unit->spatial.unroll_count,
             deals = deals_of(unit, task), mapped = 2 * views * unrolls;
    return (struct choice){.units = ll_count_at_work(unit, task, index / (mapped * deals)),
                           .deal = (enum deal)(index / mapped % deals),
                           .unroll = index / (2 * views) % unrolls,
                           .view = index / 2 % views,
                           .in_pieces = index % 2 == 1};
}

static bool make_plan(const struct ll_unit *unit, const struct ll_task *task, uint32_t index,
                      struct plan *plan)
{
    *plan = (struct plan){.choice = decode(unit, task, index)};
    const uint32_t first = first_that_suits(unit, task);
    if (first < unit->spatial.unroll_count && plan->choice.unroll > 0)
        return false;
    if (first < unit->spatial.unroll_count)
        plan->choice.unroll = first;
    plan->nest = ll_nest_of(unit, task, plan->choice.view, plan->choice.unroll);
    if (unit->spatial.pass_room_bytes > 0 && plan->nest.windows)
        plan->nest.by[LL_LOOP_OX] = ll_max(plan->nest.by[LL_LOOP_OX], plan->nest.of[LL_LOOP_OX]);
    count_steps(plan);
    deal_blocks(plan);
    time_steps(unit, task, plan);
    share_pixels(plan);
    if (!keep_sums(&unit->spatial, plan))
        return false;
    count_passes(&unit->spatial, task, plan);
    wait_for_weights(unit, task, plan);
    return true;
}

/* --- the first piece --- */

/* What one block takes in and gives, at most. */
static double block_bytes(const struct ll_task *task, const struct ll_loop_nest *nest,
                          double of[LL_OPERAND_COUNT])
{
    const struct ll_windows *windows = &task->problem.windows;
    double pixels = (double)at_once(nest, LL_LOOP_B) * (double)at_once(nest, LL_LOOP_G);
    double sums = pixels * (double)at_once(nest, LL_LOOP_K),
           inputs = pixels * (double)at_once(nest, LL_LOOP_C);
    double weights = (double)at_once(nest, LL_LOOP_G) * (double)at_once(nest, LL_LOOP_K) *
                     (double)at_once(nest, LL_LOOP_C),
           bytes = 0;
    for (int i = 0; i < LL_NEST_AXES; i++) {
        uint64_t side = at_once(nest, ll_pixel_loops[i]), taps = at_once(nest, ll_tap_loops[i]);
        sums *= (double)side;
        weights *= (double)taps;
        inputs *= nest->windows ? ll_nest_distinct(&nest->axis[i], side, taps) : (double)side;
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
static void spatial_first(const struct ll_unit *unit, const struct ll_task *task,
                          struct ll_first_piece *first)
{
    double least = INFINITY, of[LL_OPERAND_COUNT];
    for (uint32_t u = 0; u < unit->spatial.unroll_count; u++)
        for (uint32_t view = 0; view < ll_nest_views(task); view++) {
            struct ll_loop_nest nest = ll_nest_of(unit, task, view, u);
            double bytes = block_bytes(task, &nest, of);
            if (bytes >= least)
                continue;
            least = bytes;
            memcpy(first->bytes, of, sizeof of);
        }
    first->cycles = ceil(1 / unit->spatial.macs[task->dtype]) + unit->spatial.fill_cycles;
}

/* --- ways --- */

/* A part of a side, cut where blocks end or a little behind. */
static uint64_t cut_side(uint64_t side, double blocks, double all)
{
    return ll_min(side, (uint64_t)ceil((double)side * (blocks / all)));
}

static struct ll_gemm share_of(const struct plan *plan, const struct ll_gemm *dims)
{
    return (struct ll_gemm){.batch = cut_side(dims->batch, plan->groups_each, plan->blocks[LL_LOOP_G]),
                            .m = cut_side(dims->m, plan->rows_each, plan->rows),
                            .n = cut_side(dims->n, plan->columns_each, plan->columns),
                            .k = dims->k};
}

static uint32_t way_count(const struct ll_unit *unit, const struct ll_task *task)
{
    uint32_t mapped = (uint32_t)unit->spatial.unroll_count * ll_nest_views(task) * 2;
    return ll_counts_at_work(unit, task) * deals_of(unit, task) * mapped;
}

static bool spatial_way(const struct ll_unit *unit, const struct ll_task *task, uint32_t index,
                        struct ll_kernel_config *way)
{
    struct plan plan;
    if (!make_plan(unit, task, index, &plan))
        return false;
    double shares = plan.group_parts * plan.row_parts * plan.column_parts;
    *way = (struct ll_kernel_config){
        .units_used = (uint64_t)shares,
        .at_work = fmin(shares, plan.all_steps / plan.unit_steps),
        .cycles = plan.cycles,
        .wait_cycles = plan.load_cycles,
        .share = share_of(&plan, &task->problem.dims),
        .shares = shares,
        .macs = ll_gemm_macs(&task->problem.dims),
    };
    way->unit_bytes = ll_unit_bytes(task, &task->problem.dims, 1, plan.passes, way->asked_bytes);
    return true;
}

/* --- explain --- */

static const char *const loop_words[] = {
#define X(word, what) what,
    LL_LOOP_LIST(X)
#undef X
};

static void explain_pieces(const struct ll_loop_nest *nest, enum ll_loop loop, const char *how, uint64_t by,
                           double pieces, struct ll_explain *why)
{
    struct ll_loop_phase phases[2] = {{0, 0}, {0, 0}};
    bool is_tap = loop == LL_LOOP_FY || loop == LL_LOOP_FX;
    if (is_tap)
        ll_nest_phases(nest, loop, phases);
    if (is_tap && phases[0].count + phases[1].count > 1)
        ll_say(why,
               "%s, %" PRIu64 " %s, those of each phase apart: %" PRIu64 " * ceil(%" PRIu64 " / %" PRIu64
               ") + %" PRIu64 " * ceil(%" PRIu64 " / %" PRIu64 ") = %.10g",
               loop_words[loop], by, how, phases[0].count, phases[0].taps, by, phases[1].count,
               phases[1].taps, by, pieces);
    else if (by > 1)
        ll_say(why, "%s, %" PRIu64 " %s: ceil(%" PRIu64 " / %" PRIu64 ") = %.10g", loop_words[loop], by, how,
               nest->of[loop], by, pieces);
}

static void explain_gemm(const char *what, const double factors[LL_LOOP_COUNT], double product,
                         struct ll_explain *why)
{
    ll_say(why,
           "%s, of groups, images, filters, channels, output rows and columns, filter rows and columns: "
           "%.10g * %.10g "
           "* %.10g * %.10g * %.10g * %.10g * %.10g * %.10g = %.10g",
           what, factors[LL_LOOP_G], factors[LL_LOOP_B], factors[LL_LOOP_K], factors[LL_LOOP_C],
           factors[LL_LOOP_OY], factors[LL_LOOP_OX], factors[LL_LOOP_FY], factors[LL_LOOP_FX], product);
}

static void explain_loops(const struct plan *plan, struct ll_explain *why)
{
    const struct ll_loop_nest *nest = &plan->nest;
    bool in_turn = false;
    for (enum ll_loop i = 0; i < LL_LOOP_COUNT; i++) {
        explain_pieces(nest, i, "side by side", nest->aside[i], plan->steps[i], why);
        in_turn = in_turn || nest->by[i] > nest->aside[i];
    }
    explain_gemm("steps", plan->steps, plan->all_steps, why);
    if (!in_turn)
        return;
    for (enum ll_loop i = 0; i < LL_LOOP_COUNT; i++)
        explain_pieces(nest, i, "with those in each element", nest->by[i], plan->blocks[i], why);
    double all = 1;
    for (enum ll_loop i = 0; i < LL_LOOP_COUNT; i++)
        all *= plan->blocks[i];
    explain_gemm("blocks that elements have in turn", plan->blocks, all, why);
}

static void explain_sums(const struct ll_spatial *spatial, const struct ll_task *task,
                         const struct plan *plan, struct ll_explain *why)
{
    if (plan->pieces > 1)
        ll_say(why,
               "accumulators hold %" PRIu64 " of %.10g sums, which come in pieces: ceil(%.10g / %" PRIu64
               ") = %.10g",
               spatial->accumulators, plan->sums, plan->sums, spatial->accumulators, plan->pieces);
    if (plan->kept < 1)
        ll_say(why, "accumulators keep of the sums: %" PRIu64 " / %.10g = %.10g", spatial->accumulators,
               plan->sums, plan->kept);
    ll_say(why, "blocks that are summed up in a result: max(1, %.10g * %.10g * %.10g / %.10g) = %.10g",
           plan->blocks[LL_LOOP_C], plan->blocks[LL_LOOP_FY], plan->blocks[LL_LOOP_FX], plan->phases,
           plan->reductions);
    ll_say(why, "c goes out and comes back so many times: 1 + 2 * (%.10g - 1) * (1 - %.10g) * %.10g = %.10g",
           plan->reductions, plan->kept, task->problem.sum_width, plan->passes[LL_OPERAND_C]);
}

static void explain_operands(const struct ll_spatial *spatial, const struct plan *plan,
                             struct ll_explain *why)
{
    static const char *const names[] = {"output", "weight", "input"};
    const struct ll_loop_nest *nest = &plan->nest;
    double times[] = {plan->columns_each, plan->columns_each, plan->pieces};
    if (nest->windows)
        ll_say(why,
               "distinct pixels of all blocks over those of one pass: %.10g * %.10g / (%" PRIu64 " * %" PRIu64
               " * %.10g) = %.10g",
               plan->distinct[LL_NEST_Y], plan->distinct[LL_NEST_X], nest->of[LL_LOOP_OY],
               nest->of[LL_LOOP_OX], nest->taps_in_pass, plan->share);
    ll_say(why, "%s stationary, a comes so many times: %.10g * %.10g * %.10g = %.10g",
           names[spatial->dataflow], plan->column_parts, times[spatial->dataflow], plan->share,
           plan->passes[LL_OPERAND_A]);
    if (spatial->dataflow == LL_WEIGHT_STATIONARY && spatial->pass_room_bytes == 0)
        ll_say(why, "b comes so many times: %.10g * %.10g * %.10g / %.10g = %.10g", plan->row_parts,
               plan->phases_each, plan->pieces, plan->phases, plan->passes[LL_OPERAND_B]);
    else
        ll_say(why, "b comes so many times: %.10g * %.10g / %.10g = %.10g", plan->row_parts, plan->rows_each,
               plan->phases, plan->passes[LL_OPERAND_B]);
}

static void explain_units(const struct ll_unit *unit, const struct ll_task *task, const struct plan *plan,
                          struct ll_explain *why)
{
    const double *b = plan->blocks, *s = plan->steps;
    if (unit->count > 1) {
        ll_say(why, "blocks of rows, in all phases: %.10g * %.10g * %.10g * %.10g = %.10g", b[LL_LOOP_B],
               b[LL_LOOP_OY], b[LL_LOOP_OX], plan->phases, plan->rows);
        ll_say(why,
               "%" PRIu64 " of %" PRIu64
               " units work, each with as many blocks of groups, rows and columns: %.10g "
               "* %.10g * %.10g = %.10g",
               (uint64_t)(plan->group_parts * plan->row_parts * plan->column_parts), unit->count,
               plan->groups_each, plan->rows_each, plan->columns_each,
               plan->groups_each * plan->rows_each * plan->columns_each);
    }
    ll_say(why,
           "steps of a unit: (%.10g / %.10g * %.10g) * (%.10g / %.10g * %.10g) * %.10g * %.10g * min(%.10g * "
           "%.10g, "
           "%.10g * %.10g) = %.10g",
           s[LL_LOOP_G], b[LL_LOOP_G], plan->groups_each, s[LL_LOOP_K], b[LL_LOOP_K], plan->columns_each,
           s[LL_LOOP_C], plan->row_steps, plan->phase_rows, plan->taps, plan->rows_each, plan->most_taps,
           plan->unit_steps);
    if (plan->load_cycles > 0)
        ll_say(why, "weights that elements wait for: %.10g * %.10g / (%.10g * %.10g) = %.10g cycles",
               plan->passes[LL_OPERAND_B],
               (double)task->problem.dims.batch * (double)task->problem.dims.k * (double)task->problem.dims.n,
               plan->group_parts * plan->row_parts * plan->column_parts, unit->spatial.weight_load,
               plan->load_cycles);
    ll_say(why, "all of them: ceil(%.10g / %.10g) + %.10g = %.10g cycles", plan->unit_steps,
           unit->spatial.macs[task->dtype], unit->spatial.fill_cycles, plan->cycles);
}

static void explain_plan(const struct ll_unit *unit, const struct ll_task *task, const struct plan *plan,
                         struct ll_explain *why)
{
    char loops[LL_UNROLL_TEXT];
    ll_unroll_print(&unit->spatial.unrolls[plan->choice.unroll], loops);
    ll_say(why, "%s, %" PRIu64 " elements, loops side by side: %s%s%s", unit->name, unit->spatial.elements,
           loops, plan->nest.as ? "; the product is taken for a convolution, " : "",
           plan->nest.as ? plan->nest.as : "");
    if (plan->nest.windows && plan->nest.of[LL_LOOP_C] < plan->nest.channels)
        ll_say(why,
               "channels of which something is not zero: ceil(%" PRIu64 " * %" PRIu64 " / %" PRIu64
               ") = %" PRIu64,
               plan->nest.channels, task->problem.dims.k, ll_conv_as_gemm(&task->work->conv).k,
               plan->nest.of[LL_LOOP_C]);
    explain_loops(plan, why);
    explain_units(unit, task, plan, why);
    explain_operands(&unit->spatial, plan, why);
    explain_sums(&unit->spatial, task, plan, why);
}

static void spatial_explain(const struct ll_unit *unit, const struct ll_task *task, uint32_t index,
                            const struct ll_kernel_config *way, struct ll_explain *why)
{
    const double *a = way->first.bytes;
    struct plan plan;
    make_plan(unit, task, index, &plan);
    explain_plan(unit, task, &plan, why);
    ll_say(why, "first block, of the way that begins with the least: %.10g + %.10g + %.10g = %.10g B",
           a[LL_OPERAND_A], a[LL_OPERAND_B], a[LL_OPERAND_C],
           a[LL_OPERAND_A] + a[LL_OPERAND_B] + a[LL_OPERAND_C]);
    ll_say(why, "first step: ceil(1 / %.10g) + %.10g = %.10g cycles", unit->spatial.macs[task->dtype],
           unit->spatial.fill_cycles, way->first.cycles);
}

const struct ll_unit_model ll_cost_SPATIAL = {
    .products = true,
    .way_count = way_count,
    .way = spatial_way,
    .first = spatial_first,
    .explain = spatial_explain,
};
