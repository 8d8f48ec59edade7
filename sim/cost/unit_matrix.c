/* SPDX-License-Identifier: Apache-2.0 */
/* Matrix units: many equal units, each of which computes one tile of the output at a time from its registers,
 * as the tensor cores of a GPU do, or the cores of a CPU with a blocked kernel.
 *
 * The kernels offer a list of tiles; convolutions and each transform have lists of their own. The tiles of
 * the output are computed in waves of `count` tiles. A tile at the edge costs as much as a full one (tile
 * quantization), and so does the last wave, however few tiles are in it (wave quantization):
 *
 *       tiles = batch * ceil(m / tile.m) * ceil(n / tile.n) * parts
 *       step cycles = max(tile.k * (tile.m * tile.n / macs + (tile.m + tile.n) * size / feed), step)
 *       tile cycles = steps * (step cycles + waits) + fill
 *       cycles = ceil(tiles / count) * tile cycles + join
 *
 * Loading the operands, of `size` bytes per element, occupies the same issue slots as multiplying them, so a
 * small tile spends a larger share of its time on loads. No step along k is shorter than its loads and the
 * barrier behind them.
 *
 * A unit whose registers hold the results of several tiles (`resident`, its occupancy) has as many in
 * progress: while some wait for loads and barriers, or drain, others multiply. The tiles of a unit then take
 *
 *       rounds = ceil(tiles of the unit / tiles in progress)
 *       cycles = steps * (max(tiles * (multiply + feed), rounds * step) + tiles * waits) + rounds * fill
 *
 * Where the lines of an operand run along k, steps also wait for strided access (kernel_model.c).
 *
 * With few tiles and a long k, units would idle. So kernels also offer split-k: k is cut into 2, 4, 8, ...
 * parts (`most_parts`) on different units, as long as all parts fit in one wave. The partial sums then meet
 * in the memory that the units share; starting to add them up takes `join`. The k of filter gradients is all
 * pixels. Each unit adds its part to the shared sum when it ends, so these parts may take a few waves
 * (`filter_waves`). There are as many steps of tile.k as k, or its part, needs.
 *
 * Where the library chooses by a catalogue of sizes for which its kernels were tuned
 * (sim/machine/catalogue.h), the kernel of the nearest size computes the GEMM, with its tile and its parts.
 * It may not use the unit's best instructions, and reach only a share of its rate.
 *
 * Without a list of tiles the unit is ideal: any tile is possible, and the work is dealt evenly to as many
 * units as pays. The room in a private memory alone then decides what that memory takes in. */
#include "sim/cost/cost_parts.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* A tile with k cut into parts, laid over an output. */
struct layout {
    struct ll_tile tile;
    const struct ll_catalogue_size *tuned; /* whose kernel it is; NULL: of the menu */
    double macs;                           /* a cycle */
    uint64_t parts, steps;                 /* of k; steps of one part */
    uint64_t rows, columns;                /* tiles along m and n */
    double tiles, waves;
    double multiply_cycles, feed_cycles, step_cycles; /* of one step */
    double wait_cycles;                               /* of one step, for lines along k */
    double tile_cycles, join_cycles;
    double abreast, rounds; /* tiles in progress in a unit; how often until all are done */
    double cycles;          /* of all tiles of a unit */
};

/* One step of a tile's k. Pipes see elements of the computed type. */
static void time_step(const struct ll_unit *unit, const struct ll_task *task, struct layout *l)
{
    const struct ll_matrix *matrix = &unit->matrix;
    double m = (double)l->tile.m, n = (double)l->tile.n, k = (double)l->tile.k;
    double bytes = (m * task->a_each + n) * k * ll_dtype_spread(task->dtype);
    l->multiply_cycles = m * n * k / l->macs;
    l->feed_cycles = matrix->feed > 0 ? bytes / matrix->feed : 0;
    l->step_cycles = fmax(l->multiply_cycles + l->feed_cycles, matrix->step_cycles);
}

/* Convolutions are another library's. */
static bool goes_by_catalogue(const struct ll_unit *unit, const struct ll_task *task)
{
    const struct ll_catalogue *catalogue = unit->matrix.catalogue;
    return catalogue && catalogue->dtype == task->dtype && task->work->kind != LL_WORK_CONV;
}

static struct layout tuned_kernel(const struct ll_unit *unit, const struct ll_task *task)
{
    const struct ll_catalogue *catalogue = unit->matrix.catalogue;
    const struct ll_gemm *d = &task->problem.dims;
    const struct ll_catalogue_size *nearest =
        ll_catalogue_nearest(catalogue, &(struct ll_tile){d->m, d->n, d->k});
    const struct ll_catalogue_kernel *kernel = &catalogue->kernels[nearest->kernel];
    return (struct layout){.tile = kernel->tile,
                           .tuned = nearest,
                           .macs = unit->matrix.macs[task->dtype] * kernel->rate,
                           .parts = kernel->parts};
}

static struct layout of_menu(const struct ll_unit *unit, const struct ll_task *task, uint64_t tile,
                             uint64_t parts)
{
    return (struct layout){
        .tile = unit->matrix.tiles[tile], .macs = unit->matrix.macs[task->dtype], .parts = parts};
}

/* Lines of a tile that run along k; what the operands of a convolution look like in memory is not asked. */
static uint64_t lines_of(const struct ll_task *task, const struct ll_tile *tile)
{
    uint64_t along_k = task->work->along_k;
    return (along_k & LL_LINES_OF_A ? tile->m : 0) + (along_k & LL_LINES_OF_B ? tile->n : 0);
}

static double time_waits(const struct ll_unit *unit, const struct ll_task *task, const struct layout *l,
                         struct ll_explain *why)
{
    struct ll_tile_lines lines = {
        .count = lines_of(task, &l->tile),
        .bytes = ll_dtype_size(task->dtype, task->problem.dims.k),
        .steps = l->steps,
        .depth = l->tile.k,
        .units = unit->count,
        .tiles = l->tiles,
    };
    return ll_line_waits(&unit->matrix, &lines, why);
}

/* How many there are of 1, 2, 4, ... parts of k. */
static uint32_t parts_choices(const struct ll_matrix *matrix)
{
    uint32_t choices = 1;
    while (matrix->most_parts >> choices > 0)
        choices++;
    return choices;
}

/* All tiles of a unit, one after the other. */
static void time_waves(const struct ll_unit *unit, struct layout *l)
{
    l->tile_cycles = (double)l->steps * (l->step_cycles + l->wait_cycles) + unit->matrix.fill_cycles;
    l->cycles = l->waves * l->tile_cycles;
}

/* All tiles of a unit, several in progress. */
static void time_rounds(const struct ll_unit *unit, struct layout *l)
{
    double result = (double)l->tile.m * (double)l->tile.n;
    l->abreast = fmin(l->waves, fmax(1, floor((double)unit->matrix.resident / result)));
    l->rounds = ceil(l->waves / l->abreast);
    double busy = l->waves * (l->multiply_cycles + l->feed_cycles);
    double step = fmax(busy, l->rounds * unit->matrix.step_cycles) + l->waves * l->wait_cycles;
    l->cycles = (double)l->steps * step + l->rounds * unit->matrix.fill_cycles;
}

static struct layout lay(const struct ll_unit *unit, const struct ll_task *task, uint32_t index)
{
    const struct ll_gemm *dims = &task->problem.dims;
    uint32_t choices = parts_choices(&unit->matrix);
    struct layout l = goes_by_catalogue(unit, task)
                          ? tuned_kernel(unit, task)
                          : of_menu(unit, task, index / choices, UINT64_C(1) << index % choices);
    l.steps = ll_ceil_div(ll_ceil_div(dims->k, l.tile.k), l.parts);
    uint64_t bands = ll_max(1, task->bands);
    l.rows = ll_mul(bands, ll_ceil_div(ll_ceil_div(dims->m, bands), l.tile.m));
    l.columns = ll_ceil_div(dims->n, l.tile.n);
    l.tiles = (double)dims->batch * (double)l.rows * (double)l.columns * (double)l.parts;
    l.waves = ceil(l.tiles / (double)unit->count);
    time_step(unit, task, &l);
    l.wait_cycles = time_waits(unit, task, &l, NULL);
    if (unit->matrix.resident > 0)
        time_rounds(unit, &l);
    else
        time_waves(unit, &l);
    l.join_cycles = l.parts > 1 ? unit->matrix.join_cycles : 0;
    return l;
}

static bool makes_sense(const struct ll_unit *unit, const struct ll_task *task, const struct layout *l)
{
    uint64_t steps = ll_ceil_div(task->problem.dims.k, l->tile.k);
    const struct ll_windows *windows = &task->problem.windows;
    uint64_t waves = windows->pixels_are_k ? ll_max(1, unit->matrix.filter_waves) : 1;
    double most = (double)waves * (double)unit->count;
    return l->tuned || l->parts == 1 || (!task->whole_k && l->parts <= steps && l->tiles <= most);
}

/* Lanes issue their instructions for what lies beyond the edge of an operand too. */
static double tile_macs(const struct layout *l)
{
    return (double)l->steps * (double)l->tile.m * (double)l->tile.n * (double)l->tile.k;
}

/* The tiles of one unit as a block of the output, as square as they allow. */
static struct ll_gemm block_of(const struct layout *l, const struct ll_gemm *dims, double *tiles)
{
    double plane = (double)l->rows * (double)l->columns, waves = l->waves;
    double batch = fmax(1, floor(waves / plane));
    double mine = fmin(plane, ceil(waves / batch));
    double rows = fmin((double)l->rows, fmax(1, floor(sqrt(mine))));
    double columns = fmin((double)l->columns, floor(mine / rows));
    rows = fmin((double)l->rows, floor(mine / columns));
    *tiles = batch * rows * columns;
    return (struct ll_gemm){
        .batch = (uint64_t)batch,
        .m = ll_min(dims->m, (uint64_t)rows * l->tile.m),
        .n = ll_min(dims->n, (uint64_t)columns * l->tile.n),
        .k = ll_min(dims->k, l->steps * l->tile.k),
    };
}

/* The first step of a tile: before the first result, and what it takes in and gives. */
struct start {
    struct layout layout;
    double cycles, bytes;
    double of[LL_OPERAND_COUNT]; /* the bytes, by operand */
};

static struct start start_with(const struct ll_unit *unit, const struct ll_task *task, struct layout l)
{
    const double *element = task->problem.element;
    double m = (double)l.tile.m, n = (double)l.tile.n, k = (double)l.tile.k;
    time_step(unit, task, &l);
    struct start start = {
        .layout = l,
        .cycles = l.step_cycles + unit->matrix.fill_cycles,
        .of = {m * k * element[LL_OPERAND_A], k * n * element[LL_OPERAND_B], m * n * element[LL_OPERAND_C]}};
    start.bytes = start.of[LL_OPERAND_A] + start.of[LL_OPERAND_B] + start.of[LL_OPERAND_C];
    return start;
}

/* Of a, that is more elements than a step multiplies where zeros of b are skipped. */
static void tell_feed(const struct ll_unit *unit, const struct ll_task *task, const struct layout *l,
                      const char *what, struct ll_explain *why)
{
    double size = ll_dtype_spread(task->dtype);
    if (l->feed_cycles == 0)
        return;
    if (task->a_each == 1)
        ll_say(why, "%s: (%" PRIu64 " + %" PRIu64 ") * %" PRIu64 " * %.10g / %.10g = %.10g cycles", what,
               l->tile.m, l->tile.n, l->tile.k, size, unit->matrix.feed, l->feed_cycles);
    else
        ll_say(why, "%s: (%" PRIu64 " * %.10g + %" PRIu64 ") * %" PRIu64 " * %.10g / %.10g = %.10g cycles",
               what, l->tile.m, task->a_each, l->tile.n, l->tile.k, size, unit->matrix.feed, l->feed_cycles);
}

static void tell_start(const struct ll_unit *unit, const struct ll_task *task, const struct layout *l,
                       const struct start *soonest, const struct start *smallest, struct ll_explain *why)
{
    const struct ll_tile *one = &soonest->layout.tile, *other = &smallest->layout.tile;
    const double *element = task->problem.element;
    if (soonest->layout.feed_cycles != l->feed_cycles)
        tell_feed(unit, task, &soonest->layout, "first step, of the tile that begins soonest, takes in", why);
    ll_say(why,
           "first step, of the tile that begins soonest: max(%" PRIu64 " * %" PRIu64 " * %" PRIu64
           " / %.10g + %.10g, %.10g) + %.10g = %.10g cycles",
           one->m, one->n, one->k, soonest->layout.macs, soonest->layout.feed_cycles,
           unit->matrix.step_cycles, unit->matrix.fill_cycles, soonest->cycles);
    ll_say(why,
           "first step, of the smallest tile: %" PRIu64 " * %" PRIu64 " * %.10g + %" PRIu64 " * %" PRIu64
           " * %.10g + %" PRIu64 " * %" PRIu64 " * %.10g = %.10g B",
           other->m, other->k, element[LL_OPERAND_A], other->k, other->n, element[LL_OPERAND_B], other->m,
           other->n, element[LL_OPERAND_C], smallest->bytes);
}

/* The least that a unit can start on, over the whole menu, so that it is the same for all ways. */
static void first_piece(const struct ll_unit *unit, const struct ll_task *task, const struct layout *l,
                        struct ll_way *way, struct ll_explain *why)
{
    struct start soonest = start_with(unit, task, l->tuned ? *l : of_menu(unit, task, 0, 1));
    struct start smallest = soonest;
    for (uint64_t i = 1; !l->tuned && i < unit->matrix.tile_count; i++) {
        struct start start = start_with(unit, task, of_menu(unit, task, i, 1));
        soonest = start.cycles < soonest.cycles ? start : soonest;
        smallest = start.bytes < smallest.bytes ? start : smallest;
    }
    way->first_cycles = soonest.cycles;
    memcpy(way->first_bytes, smallest.of, sizeof way->first_bytes);
    if (why)
        tell_start(unit, task, l, &soonest, &smallest, why);
}

static void tell_rounds(const struct ll_unit *unit, const struct layout *l, const struct ll_way *way,
                        struct ll_explain *why)
{
    ll_say(why, "tiles of a unit: ceil(%.10g / %" PRIu64 ") = %.10g", l->tiles, unit->count, l->waves);
    ll_say(why,
           "of these in progress at once: min(%.10g, max(1, floor(%" PRIu64 " / (%" PRIu64 " * %" PRIu64
           ")))) = %.10g",
           l->waves, unit->matrix.resident, l->tile.m, l->tile.n, l->abreast);
    ll_say(why, "rounds: ceil(%.10g / %.10g) = %.10g", l->waves, l->abreast, l->rounds);
    ll_say(why,
           "all of them: %" PRIu64
           " * (max(%.10g * (%.10g + %.10g), %.10g * %.10g) + %.10g * %.10g) + %.10g * %.10g + "
           "%.10g = %.10g cycles",
           l->steps, l->waves, l->multiply_cycles, l->feed_cycles, l->rounds, unit->matrix.step_cycles,
           l->waves, l->wait_cycles, l->rounds, unit->matrix.fill_cycles, l->join_cycles, way->cycles);
}

static void tell_tiles(const struct ll_unit *unit, const struct ll_task *task, const struct layout *l,
                       const struct ll_way *way, struct ll_explain *why)
{
    if (l->tuned)
        ll_say(why,
               "of the sizes in %s, %" PRIu64 " x %" PRIu64 " x %" PRIu64 " is nearest: its kernel is taken",
               unit->matrix.catalogue->name, l->tuned->size.m, l->tuned->size.n, l->tuned->size.k);
    ll_say(why,
           "%s: %" PRIu64 " of %" PRIu64 " work, tiles of %" PRIu64 " x %" PRIu64 " x %" PRIu64
           ", k in %" PRIu64 " parts",
           unit->name, way->units_used, unit->count, l->tile.m, l->tile.n, l->tile.k, l->parts);
    ll_say(why, "tiles: %" PRIu64 " * %" PRIu64 " * %" PRIu64 " * %" PRIu64 " = %.10g",
           task->problem.dims.batch, l->rows, l->columns, l->parts, l->tiles);
    if (l->macs < unit->matrix.macs[task->dtype])
        ll_say(why, "the kernel's instructions reach a share of the unit's rate: %.10g / %.10g = %.10g",
               l->macs, unit->matrix.macs[task->dtype], l->macs / unit->matrix.macs[task->dtype]);
    tell_feed(unit, task, l, "a step takes in operands", why);
    ll_say(
        why, "one step: max(%" PRIu64 " * %" PRIu64 " * %" PRIu64 " / %.10g + %.10g, %.10g) = %.10g cycles",
        l->tile.m, l->tile.n, l->tile.k, l->macs, l->feed_cycles, unit->matrix.step_cycles, l->step_cycles);
    time_waits(unit, task, l, why);
    if (unit->matrix.resident == 0 && l->wait_cycles > 0)
        ll_say(why, "one tile: %" PRIu64 " * (%.10g + %.10g) + %.10g = %.10g cycles", l->steps,
               l->step_cycles, l->wait_cycles, unit->matrix.fill_cycles, l->tile_cycles);
    else if (unit->matrix.resident == 0)
        ll_say(why, "one tile: %" PRIu64 " * %.10g + %.10g = %.10g cycles", l->steps, l->step_cycles,
               unit->matrix.fill_cycles, l->tile_cycles);
    ll_say(why,
           "multiply-accumulates, of whole tiles: %.10g * %" PRIu64 " * %" PRIu64 " * %" PRIu64 " * %" PRIu64
           " = %.10g",
           l->tiles, l->steps, l->tile.m, l->tile.n, l->tile.k, way->macs);
    if (unit->matrix.resident > 0)
        tell_rounds(unit, l, way, why);
    else
        ll_say(why, "in waves: ceil(%.10g / %" PRIu64 ") * %.10g + %.10g = %.10g cycles", l->tiles,
               unit->count, l->tile_cycles, l->join_cycles, way->cycles);
}

static bool tiled_way(const struct ll_unit *unit, const struct ll_task *task, uint32_t index,
                      struct ll_way *way, struct ll_explain *why)
{
    struct layout l = lay(unit, task, index);
    if (!makes_sense(unit, task, &l))
        return false;
    double tiles_of_share,
        sums = l.parts > 1 ? (double)l.parts * task->problem.sum_width : 1; /* in results */
    *way = (struct ll_way){
        .units_used = l.tiles < (double)unit->count ? (uint64_t)l.tiles : unit->count,
        .at_work = l.tiles / l.waves,
        .cycles = l.cycles + l.join_cycles,
        .share = block_of(&l, &task->problem.dims, &tiles_of_share),
        .joining_bytes = l.parts > 1 ? (sums + 1) * ll_operand_bytes(&task->problem, LL_OPERAND_C) : 0,
    };
    way->shares = l.tiles / tiles_of_share;
    way->macs = tile_macs(&l) * l.tiles;
    double passes[LL_OPERAND_COUNT] = {(double)l.columns, (double)l.rows, sums};
    way->unit_bytes = ll_unit_bytes(task, &task->problem.dims, 1, passes, way->asked_bytes);
    if (why)
        tell_tiles(unit, task, &l, way, why);
    first_piece(unit, task, &l, way, why);
    return true;
}

static bool even_way(const struct ll_unit *unit, const struct ll_task *task, uint32_t index,
                     struct ll_way *way, struct ll_explain *why)
{
    const struct ll_gemm *d = &task->problem.dims;
    uint64_t count = ll_count_at_work(unit, task, index);
    struct ll_split split = ll_split_evenly(d, count);
    double products = ll_gemm_macs(d);
    double macs = unit->matrix.macs[task->dtype], fill = unit->matrix.fill_cycles;
    *way = (struct ll_way){
        .units_used = count,
        .at_work = (double)count,
        .cycles = products / ((double)count * macs) + fill,
        .first_cycles = fill,
        .any_tile = true,
        .share = split.share,
        .shares = (double)split.used,
        .macs = products,
    };
    way->unit_bytes =
        ll_unit_bytes(task, &split.share, (double)split.used, (double[]){1, 1, 1}, way->asked_bytes);
    ll_say(why, "%s, dealt evenly: %.10g / (%" PRIu64 " * %.10g) + %.10g = %.10g cycles", unit->name,
           products, count, macs, fill, way->cycles);
    return true;
}

static uint32_t way_count(const struct ll_unit *unit, const struct ll_task *task)
{
    if (goes_by_catalogue(unit, task))
        return 1;
    if (unit->matrix.tile_count == 0)
        return ll_counts_at_work(unit, task);
    return (uint32_t)unit->matrix.tile_count * parts_choices(&unit->matrix);
}

static bool matrix_way(const struct ll_unit *unit, const struct ll_task *task, uint32_t index,
                       struct ll_way *way, struct ll_explain *why)
{
    bool tiled = goes_by_catalogue(unit, task) || unit->matrix.tile_count > 0;
    return tiled ? tiled_way(unit, task, index, way, why) : even_way(unit, task, index, way, why);
}

const struct ll_unit_model ll_cost_MATRIX = {
    .products = true,
    .way_count = way_count,
    .way = matrix_way,
};
