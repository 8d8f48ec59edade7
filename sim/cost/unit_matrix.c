/* SPDX-License-Identifier: Apache-2.0 */
/* Matrix units: many equal units, each of which computes one tile of the output at a time from its registers,
 * as the tensor cores of a GPU do, or the cores of a CPU with a blocked kernel.
 *
 * The kernels offer one list of tiles, for GEMMs and for the implicit GEMMs of convolutions. The tiles of the
 * output are computed in waves of `count` tiles. A tile at the edge costs as much as a full one (tile
 * quantization), and so does the last wave, however few tiles are in it (wave quantization):
 *
 *       tiles = batch * ceil(m / tile.m) * ceil(n / tile.n) * parts
 *       step cycles = tile.k * (tile.m * tile.n / macs + (tile.m + tile.n) * size / feed)
 *       tile cycles = steps * step cycles + fill
 *       cycles = ceil(tiles / count) * tile cycles + reduce
 *
 * Loading the operands, of `size` bytes per element, occupies the same issue slots as multiplying them, so a
 * small tile spends a larger share of its time on loads (`feed`, the operand load bandwidth).
 *
 * With few tiles and a long k, units would idle. So kernels also offer split-k: k is cut into 2, 4, 8, ...
 * parts on different units, as long as all parts fit in one wave. The partial sums then meet in the memory
 * that the units share; starting to add them up takes `split_k_reduce_cycles`. There are as many steps of
 * tile.k as k, or its part, needs.
 *
 * Where an operand lies along k, a step takes a piece of a few bytes out of each of the tile's rows of it. Of
 * rows so long that their addresses and open rows of the memory are not all in reach (TLB reach), all units
 * together fetch no more than R pieces a second. A piece that another tile of the wave has just fetched is on
 * chip: of S tiles that have the rows in common one fetches it while they are in step, and each does when
 * they have drifted apart, as a random walk: after d elements along k, of a drift of D. Of units at work,
 *
 *       missed = (1 - (1 - 1 / S) / sqrt(1 + d / D)) * max(0, 1 - reach / row)
 *       a step takes at least   units * (missed rows of a + missed rows of b) / R
 *
 * Without a list of tiles the unit is ideal: any tile is possible, and the work is dealt evenly to as many
 * units as pays. The room in a private memory alone then decides what that memory takes in. */
#include "sim/cost/cost_parts.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* Split-k in at most 2^9 parts: no library's kernels gain by more. */
enum { PARTS_CHOICES = 10 };

/* The tiles of the kernels that a GEMM goes by: libraries have kernels of their own for few rows, of which
 * those serve that hold all rows and are the narrowest. */
struct menu {
    const struct ll_tile *tiles;
    uint64_t count;
};

__attribute__((noinline)) static struct menu few_rows_menu(const struct ll_matrix *matrix, uint64_t rows)
{
    const struct ll_tile *few = matrix->few_rows_tiles, *end = few + matrix->few_rows_tile_count;
    while (few < end && few->m < rows)
        few++;
    struct menu menu = {few, 0};
    for (; few < end && few->m == menu.tiles->m; few++)
        menu.count++;
    return menu;
}

static inline struct menu menu_of(const struct ll_unit *unit, const struct ll_task *task)
{
    const struct ll_matrix *matrix = &unit->matrix;
    struct menu few = {NULL, 0};
    if (matrix->few_rows_tile_count > 0 && task->work->kind == LL_WORK_GEMM)
        few = few_rows_menu(matrix, task->problem.dims.m);
    return few.count > 0 ? few : (struct menu){matrix->tiles, matrix->tile_count};
}

static inline const struct ll_tile *tile_at(const struct ll_unit *unit, const struct ll_task *task,
                                            uint64_t i)
{
    return unit->matrix.few_rows_tile_count == 0 ? &unit->matrix.tiles[i] : &menu_of(unit, task).tiles[i];
}

/* A tile with k cut into parts, laid over an output. */
struct layout {
    struct ll_tile tile;
    uint64_t parts, steps;  /* parts of k; steps of tile.k in one part */
    uint64_t rows, columns; /* tiles along m and along n */
    double tiles, waves;    /* all tiles, of all GEMMs of the batch and all parts; ceil(tiles / count) */
    double feed_cycles;     /* of one step: loading operands */
    double step_cycles;     /* of one step: loading and multiplying */
    double paced_cycles;    /* of one step: no less than fetching rows out of reach takes */
    double tile_cycles, reduce_cycles; /* one tile with its fill; starting to add up partial sums */
};

/* One step of a tile's k. Pipes see elements of the computed type. */
static void time_step(const struct ll_unit *unit, const struct ll_task *task, struct layout *l)
{
    const struct ll_matrix *matrix = &unit->matrix;
    double m = (double)l->tile.m, n = (double)l->tile.n, k = (double)l->tile.k;
    double bytes = (m * task->a_each + n) * k * ll_dtype_spread(task->dtype);
    l->feed_cycles = matrix->feed > 0 ? bytes / matrix->feed : 0;
    l->step_cycles = m * n * k / matrix->macs[task->dtype] + l->feed_cycles;
}

/* Tiles of which sizes, and how many of them. */
static inline void deal(const struct ll_task *task, const struct ll_tile *tile, uint32_t index,
                        struct layout *l)
{
    const struct ll_gemm *dims = &task->problem.dims;
    l->tile = *tile;
    l->parts = UINT64_C(1) << index % PARTS_CHOICES;
    l->rows = ll_ceil_div(dims->m, l->tile.m);
    l->columns = ll_ceil_div(dims->n, l->tile.n);
    l->tiles = (double)dims->batch * (double)l->rows * (double)l->columns * (double)l->parts;
}

/* Of a step of a tile whose operands lie along k, the rows that it fetches from out of reach. */
struct strided {
    double row_bytes, far, done;  /* of a row; share out of reach; elements along k */
    double sharers[2], missed[2]; /* tiles of a wave with the rows of a, of b, in common; rows missed */
    double units, cycles;
};

static struct strided strided_access(const struct ll_unit *unit, const struct ll_task *task,
                                     const struct layout *l)
{
    const struct ll_matrix *matrix = &unit->matrix;
    const uint64_t along = task->work->kind == LL_WORK_GEMM ? task->work->along_k : 0;
    const double tile[] = {(double)l->tile.m, (double)l->tile.n},
                 others[] = {(double)l->columns, (double)l->rows};
    struct strided s = {.row_bytes = (double)ll_dtype_size(task->dtype, task->problem.dims.k),
                        .units = fmin(l->tiles, (double)unit->count)};
    if (matrix->strided_rate_hz == 0 || along & LL_LINES_ELSEWHERE)
        return (struct strided){0};
    s.far = fmax(0, 1 - (double)matrix->strided_reach_bytes / s.row_bytes);
    s.done = (double)l->steps * (double)l->tile.k * l->tiles / (double)unit->count;
    for (int i = 0; i < 2; i++) {
        double in_step = matrix->strided_drift > 0 ? 1 / sqrt(1 + s.done / (double)matrix->strided_drift) : 0;
        s.sharers[i] = fmin(others[i], s.units);
        s.missed[i] = along & (i == 0 ? LL_LINES_OF_A : LL_LINES_OF_B)
                          ? tile[i] * s.far * (1 - (1 - 1 / s.sharers[i]) * in_step)
                          : 0;
    }
    s.cycles =
        s.units * (s.missed[0] + s.missed[1]) * unit->clock_hz * unit->efficiency / matrix->strided_rate_hz;
    return s;
}

/* Rows out of reach set the pace of a step, where fetching them takes longer. */
__attribute__((noinline)) static void pace_by_rows(const struct ll_unit *unit, const struct ll_task *task,
                                                   struct layout *l)
{
    l->paced_cycles = fmax(l->step_cycles, strided_access(unit, task, l).cycles);
}

/* The cycles of a layout whose tiles are known. */
static inline void time_tiles(const struct ll_unit *unit, const struct ll_task *task, struct layout *l)
{
    l->steps = ll_ceil_div(ll_ceil_div(task->problem.dims.k, l->tile.k), l->parts);
    l->waves = ceil(l->tiles / (double)unit->count);
    time_step(unit, task, l);
    l->paced_cycles = l->step_cycles;
    if (unit->matrix.strided_rate_hz > 0)
        pace_by_rows(unit, task, l);
    l->tile_cycles = (double)l->steps * l->paced_cycles + unit->matrix.fill_cycles;
    l->reduce_cycles = l->parts > 1 ? unit->matrix.split_k_reduce_cycles : 0;
}

/* Implicit GEMMs go along pixels: the kernels of a convolution have tiles of at least half as many pixels as
 * the largest tile of the list has (cuDNN's are scudnn_128x128, 128x64 and 128x32, never 32x128). */
static bool is_of_convolutions(const struct ll_unit *unit, const struct ll_tile *tile)
{
    uint64_t most = 0;
    for (uint64_t i = 0; i < unit->matrix.tile_count; i++)
        most = ll_max(most, unit->matrix.tiles[i].m);
    return 2 * tile->m >= most;
}

/* Lays a way out, unless it makes no sense, and then more parts of the same tile do not either. The first
 * tile of the list always serves; parts of k are worth it where all tiles of them are computed at once, of
 * which there are at least as many as parts. */
static bool lay_out(const struct ll_unit *unit, const struct ll_task *task, uint32_t index, struct layout *l)
{
    const struct ll_tile *tile = tile_at(unit, task, index / PARTS_CHOICES);
    uint64_t parts = UINT64_C(1) << index % PARTS_CHOICES;
    if (parts > 1 &&
        (task->whole_k || parts > unit->count || parts > ll_ceil_div(task->problem.dims.k, tile->k)))
        return false;
    deal(task, tile, index, l);
    if (parts > 1 && l->tiles > (double)unit->count)
        return false;
    return task->work->kind != LL_WORK_CONV || index < PARTS_CHOICES || is_of_convolutions(unit, tile);
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

static struct start start_with(const struct ll_unit *unit, const struct ll_task *task, uint64_t tile)
{
    const double *element = task->problem.element;
    struct layout l = {.tile = *tile_at(unit, task, tile)};
    double m = (double)l.tile.m, n = (double)l.tile.n, k = (double)l.tile.k;
    time_step(unit, task, &l);
    struct start start = {
        .layout = l,
        .cycles = l.step_cycles + unit->matrix.fill_cycles,
        .of = {m * k * element[LL_OPERAND_A], k * n * element[LL_OPERAND_B], m * n * element[LL_OPERAND_C]}};
    start.bytes = start.of[LL_OPERAND_A] + start.of[LL_OPERAND_B] + start.of[LL_OPERAND_C];
    return start;
}

/* The least that a unit can start on, over the whole list, so that it is the same for all configurations. */
struct starts {
    struct start soonest, smallest; /* by cycles, by bytes */
};

static struct starts find_starts(const struct ll_unit *unit, const struct ll_task *task)
{
    struct starts least = {.soonest = start_with(unit, task, 0)};
    least.smallest = least.soonest;
    const uint64_t count = menu_of(unit, task).count;
    for (uint64_t i = 1; i < count; i++) {
        struct start start = start_with(unit, task, i);
        if (start.cycles < least.soonest.cycles)
            least.soonest = start;
        if (start.bytes < least.smallest.bytes)
            least.smallest = start;
    }
    return least;
}

static bool tiled_way(const struct ll_unit *unit, const struct ll_task *task, uint32_t index,
                      struct ll_kernel_config *way)
{
    struct layout l;
    if (!lay_out(unit, task, index, &l))
        return false;
    time_tiles(unit, task, &l);
    *way = (struct ll_kernel_config){
        .units_used = l.tiles < (double)unit->count ? (uint64_t)l.tiles : unit->count,
        .at_work = l.tiles / l.waves,
        .cycles = l.waves * l.tile_cycles + l.reduce_cycles,
        .macs = tile_macs(&l) * l.tiles,
    };
    return true;
}

static void tiled_operands(const struct ll_unit *unit, const struct ll_task *task, uint32_t index,
                           struct ll_kernel_config *way)
{
    struct layout l;
    double tiles_of_share;
    deal(task, tile_at(unit, task, index / PARTS_CHOICES), index, &l);
    time_tiles(unit, task, &l);
    double sums = l.parts > 1 ? (double)l.parts * task->problem.sum_width : 1; /* in results */
    double passes[LL_OPERAND_COUNT] = {(double)l.columns, (double)l.rows, sums};
    way->share = block_of(&l, &task->problem.dims, &tiles_of_share);
    way->shares = l.tiles / tiles_of_share;
    way->joining_bytes = l.parts > 1 ? (sums + 1) * ll_operand_bytes(&task->problem, LL_OPERAND_C) : 0;
    way->unit_bytes = ll_unit_bytes(task, &task->problem.dims, 1, passes, way->asked_bytes);
}

static bool even_way(const struct ll_unit *unit, const struct ll_task *task, uint32_t index,
                     struct ll_kernel_config *way)
{
    const struct ll_gemm *d = &task->problem.dims;
    uint64_t count = ll_count_at_work(unit, task, index);
    struct ll_split split = ll_split_evenly(d, count);
    double macs = ll_gemm_macs(d), fill = unit->matrix.fill_cycles;
    *way = (struct ll_kernel_config){
        .units_used = count,
        .at_work = (double)count,
        .cycles = macs / ((double)count * unit->matrix.macs[task->dtype]) + fill,
        .any_tile = true,
        .share = split.share,
        .shares = (double)split.used,
        .macs = macs,
    };
    way->unit_bytes =
        ll_unit_bytes(task, &split.share, (double)split.used, (double[]){1, 1, 1}, way->asked_bytes);
    return true;
}

static uint32_t way_count(const struct ll_unit *unit, const struct ll_task *task)
{
    if (unit->matrix.tile_count == 0)
        return ll_counts_at_work(unit, task);
    return (uint32_t)menu_of(unit, task).count * PARTS_CHOICES;
}

static bool matrix_way(const struct ll_unit *unit, const struct ll_task *task, uint32_t index,
                       struct ll_kernel_config *way)
{
    return unit->matrix.tile_count > 0 ? tiled_way(unit, task, index, way) : even_way(unit, task, index, way);
}

static void matrix_operands(const struct ll_unit *unit, const struct ll_task *task, uint32_t index,
                            struct ll_kernel_config *way)
{
    if (unit->matrix.tile_count > 0)
        tiled_operands(unit, task, index, way);
}

static void matrix_first(const struct ll_unit *unit, const struct ll_task *task, struct ll_first_piece *first)
{
    first->cycles = unit->matrix.fill_cycles;
    if (unit->matrix.tile_count == 0)
        return;
    const struct starts starts = find_starts(unit, task);
    first->cycles = starts.soonest.cycles;
    memcpy(first->bytes, starts.smallest.of, sizeof first->bytes);
}

/* --- explain --- */

/* Where zeros of b are skipped, more elements of a than a step multiplies. */
static void explain_feed(const struct ll_unit *unit, const struct ll_task *task, const struct layout *l,
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

static void explain_start(const struct ll_unit *unit, const struct ll_task *task, const struct layout *l,
                          struct ll_explain *why)
{
    const struct starts starts = find_starts(unit, task);
    const struct start *soonest = &starts.soonest, *smallest = &starts.smallest;
    const struct ll_tile *one = &soonest->layout.tile, *other = &smallest->layout.tile;
    const double *element = task->problem.element;
    if (soonest->layout.feed_cycles != l->feed_cycles)
        explain_feed(unit, task, &soonest->layout, "first step, of the tile that begins soonest, takes in",
                     why);
    ll_say(why,
           "first step, of the tile that begins soonest: %" PRIu64 " * %" PRIu64 " * %" PRIu64
           " / %.10g + %.10g + %.10g = %.10g cycles",
           one->m, one->n, one->k, unit->matrix.macs[task->dtype], soonest->layout.feed_cycles,
           unit->matrix.fill_cycles, soonest->cycles);
    ll_say(why,
           "first step, of the smallest tile: %" PRIu64 " * %" PRIu64 " * %.10g + %" PRIu64 " * %" PRIu64
           " * %.10g + %" PRIu64 " * %" PRIu64 " * %.10g = %.10g B",
           other->m, other->k, element[LL_OPERAND_A], other->k, other->n, element[LL_OPERAND_B], other->m,
           other->n, element[LL_OPERAND_C], smallest->bytes);
}

static void explain_strided(const struct ll_unit *unit, const struct ll_task *task, const struct layout *l,
                            struct ll_explain *why)
{
    static const char *const names[] = {"a", "b"};
    const struct ll_matrix *matrix = &unit->matrix;
    const struct strided s = strided_access(unit, task, l);
    if (s.cycles == 0)
        return;
    ll_say(why, "rows along k out of reach: max(0, 1 - %" PRIu64 " / %.10g) = %.10g",
           matrix->strided_reach_bytes, s.row_bytes, s.far);
    for (int i = 0; i < 2; i++)
        if (s.missed[i] > 0)
            ll_say(why,
                   "rows of %s that a step fetches, of %" PRIu64
                   ", which %.10g tiles have in common: %.10g, in step "
                   "for %" PRIu64 " of %.10g elements along k",
                   names[i], i == 0 ? l->tile.m : l->tile.n, s.sharers[i], s.missed[i], matrix->strided_drift,
                   s.done);
    ll_say(why, "a step takes at least: %.10g * (%.10g + %.10g) * (%.10g * %.10g) / %.10g = %.10g cycles",
           s.units, s.missed[0], s.missed[1], unit->clock_hz, unit->efficiency, matrix->strided_rate_hz,
           s.cycles);
    if (l->paced_cycles > l->step_cycles)
        ll_say(why, "which is longer: max(%.10g, %.10g) = %.10g cycles", l->step_cycles, s.cycles,
               l->paced_cycles);
}

static void explain_tiles(const struct ll_unit *unit, const struct ll_task *task, const struct layout *l,
                          const struct ll_kernel_config *way, struct ll_explain *why)
{
    ll_say(why,
           "%s: %" PRIu64 " of %" PRIu64 " work, tiles of %" PRIu64 " x %" PRIu64 " x %" PRIu64
           ", k in %" PRIu64 " parts",
           unit->name, way->units_used, unit->count, l->tile.m, l->tile.n, l->tile.k, l->parts);
    ll_say(why, "tiles: %" PRIu64 " * %" PRIu64 " * %" PRIu64 " * %" PRIu64 " = %.10g",
           task->problem.dims.batch, l->rows, l->columns, l->parts, l->tiles);
    explain_feed(unit, task, l, "a step takes in operands", why);
    ll_say(why, "one step: %" PRIu64 " * %" PRIu64 " * %" PRIu64 " / %.10g + %.10g = %.10g cycles", l->tile.m,
           l->tile.n, l->tile.k, unit->matrix.macs[task->dtype], l->feed_cycles, l->step_cycles);
    explain_strided(unit, task, l, why);
    ll_say(why, "one tile: %" PRIu64 " * %.10g + %.10g = %.10g cycles", l->steps, l->paced_cycles,
           unit->matrix.fill_cycles, l->tile_cycles);
    ll_say(why,
           "multiply-accumulates, of whole tiles: %.10g * %" PRIu64 " * %" PRIu64 " * %" PRIu64 " * %" PRIu64
           " = %.10g",
           l->tiles, l->steps, l->tile.m, l->tile.n, l->tile.k, way->macs);
    ll_say(why, "in waves: ceil(%.10g / %" PRIu64 ") * %.10g + %.10g = %.10g cycles", l->tiles, unit->count,
           l->tile_cycles, l->reduce_cycles, way->cycles);
}

static void matrix_explain(const struct ll_unit *unit, const struct ll_task *task, uint32_t index,
                           const struct ll_kernel_config *way, struct ll_explain *why)
{
    if (unit->matrix.tile_count == 0) {
        ll_say(why, "%s, dealt evenly: %.10g / (%" PRIu64 " * %.10g) + %.10g = %.10g cycles", unit->name,
               way->macs, way->units_used, unit->matrix.macs[task->dtype], unit->matrix.fill_cycles,
               way->cycles);
        return;
    }
    struct layout l;
    deal(task, tile_at(unit, task, index / PARTS_CHOICES), index, &l);
    time_tiles(unit, task, &l);
    explain_tiles(unit, task, &l, way, why);
    explain_start(unit, task, &l, why);
}

const struct ll_unit_model ll_cost_MATRIX = {
    .products = true,
    .way_count = way_count,
    .series = PARTS_CHOICES,
    .way = matrix_way,
    .operands = matrix_operands,
    .first = matrix_first,
    .explain = matrix_explain,
};
