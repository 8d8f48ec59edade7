/* SPDX-License-Identifier: Apache-2.0 */
/* Arrays that compute in memory: cells hold weights and multiply them where they lie. An input vector is
 * applied to the rows slice by slice (bit-serial, by DACs of some bits, or as a number of pulses), a column
 * sums up what its cells give, as charge or current that a converter reads, or by an adder tree. The terms
 * and what each action costs are those of CiMLoop (Andrulis et al., ISPASS 2024) and of ZigZag-IMC
 * (Houshmand et al., 2023):
 *
 *       columns of a weight = ceil(weight bits / cell bits) * cells      N = floor(columns / columns of a
 * weight)
 *       slices = ceil(input bits / DAC bits), or 2^bits - 1 pulses       groups = ceil(rows in use / rows
 * at once)
 *       cycles of a vector = slices * groups * slice + reads * min(columns per ADC, columns in use) *
 * conversion
 *
 * with reads = groups, times slices where each slice is converted; the larger of both terms where they are
 * pipelined. A GEMM is cut into tiles of rows x N weights. Tiles are dealt to the arrays; where there are
 * fewer tiles than arrays, several arrays have the same weights and share the vectors:
 *
 *       cycles = tiles of an array * (rows in use * write + vectors of an array * cycles of a vector)
 *
 * Weights are written for each op, whatever the one before left. Sums over several tiles of k are partial
 * sums: they go out of the array and come back.
 *
 * Energy counts cells, rows driven, conversions, additions of slices, slices of whole arrays and cells
 * written; multiply-accumulates take none beside these. */
#include <inttypes.h>
#include <math.h>

#include "sim/cost/cost_parts.h"

struct plan {
    struct ll_in_memory_steps steps; /* of a vector on a full tile */
    double rows, weights;            /* of a full tile */
    double row_tiles, weight_tiles, tiles;
    double copies;       /* arrays with the same weights */
    double groups;       /* of rows, in all tiles of k */
    double tiles_each;   /* of the busiest array */
    double vectors_each; /* that it multiplies with each */
    double load_cycles;  /* for a tile */
    double cycles;
    uint64_t count;
};

static struct plan plan_of(const struct ll_unit *unit, const struct ll_task *task, uint32_t index)
{
    const struct ll_in_memory *array = &unit->in_memory;
    const struct ll_gemm *d = &task->problem.dims;
    double k = (double)d->k, n = (double)d->n, m = (double)d->m, most = (double)array->rows;
    double side = ll_in_memory_steps(array, task->dtype, 1, 1).weights;
    struct plan p = {.count = ll_count_at_work(unit, task, index),
                     .rows = fmin(k, most),
                     .weights = fmin(n, side),
                     .row_tiles = ceil(k / most),
                     .weight_tiles = ceil(n / side)};
    p.steps = ll_in_memory_steps(array, task->dtype, p.rows, p.weights);
    p.tiles = (double)d->batch * p.row_tiles * p.weight_tiles;
    p.copies = fmin(fmax(1, floor((double)p.count / p.tiles)), m);
    p.tiles_each = ceil(p.tiles / (double)p.count);
    p.vectors_each = ceil(m / p.copies);
    double last = k - (p.row_tiles - 1) * most, at_once = (double)array->rows_at_once;
    p.groups = at_once > 0 ? (p.row_tiles - 1) * ceil(most / at_once) + ceil(last / at_once) : p.row_tiles;
    p.load_cycles = p.rows * array->write_cycles;
    p.cycles = p.tiles_each * (p.load_cycles + p.vectors_each * p.steps.cycles);
    return p;
}

/* What one step takes beside moving operands, all arrays together. */
struct energy {
    double cells, drives, conversions, additions, slices, writes; /* how many of each */
    double sum_j;
};

static double drive_j(const struct ll_in_memory *array)
{
    return array->drive_j > 0 ? array->drive_j : array->driving_j;
}

static double convert_j(const struct ll_in_memory *array)
{
    return array->convert_j > 0 ? array->convert_j : array->conversion_j;
}

static struct energy energy_of(const struct ll_in_memory *array, const struct ll_gemm *d,
                               const struct plan *p)
{
    double vectors = (double)d->batch * (double)d->m, k = (double)d->k, n = (double)d->n;
    double reads = array->converts == LL_CONVERTS_SLICES ? p->steps.slices : 1;
    struct energy e = {.cells = vectors * p->steps.slices * k * n * p->steps.columns_each,
                       .drives = vectors * p->steps.slices * k * p->weight_tiles,
                       .conversions = array->columns_per_adc > 0
                                          ? vectors * reads * p->groups * n * p->steps.columns_each
                                          : 0,
                       .additions = vectors * p->steps.slices * p->groups * n,
                       .slices = vectors * p->steps.slices * p->groups * p->weight_tiles,
                       .writes = p->copies * (double)d->batch * k * n * p->steps.columns_each};
    e.sum_j = e.cells * array->cell_j + e.drives * drive_j(array) + e.conversions * convert_j(array) +
              e.additions * array->add_j + e.slices * array->slice_j + e.writes * array->write_j;
    return e;
}

static uint32_t way_count(const struct ll_unit *unit, const struct ll_task *task)
{
    return ll_counts_at_work(unit, task);
}

static bool array_way(const struct ll_unit *unit, const struct ll_task *task, uint32_t index,
                      struct ll_kernel_config *way)
{
    const struct ll_gemm *d = &task->problem.dims;
    const struct plan p = plan_of(unit, task, index);
    double used = fmin((double)p.count, p.tiles * p.copies);
    double partial = 2 * (p.row_tiles - 1) * task->problem.sum_width;
    const double passes[LL_OPERAND_COUNT] = {p.weight_tiles, p.copies, 1 + partial};
    *way = (struct ll_kernel_config){
        .units_used = (uint64_t)used,
        .at_work = used,
        .cycles = p.cycles,
        .any_tile = true,
        .share = {.batch = 1, .m = (uint64_t)p.vectors_each, .n = (uint64_t)p.weights, .k = (uint64_t)p.rows},
        .shares = p.tiles * ceil((double)d->m / p.vectors_each),
        .macs = ll_gemm_macs(d),
        .array_j = energy_of(&unit->in_memory, d, &p).sum_j,
    };
    way->unit_bytes = ll_unit_bytes(task, d, 1, passes, way->asked_bytes);
    return true;
}

/* A vector, and weights for it. */
static void array_first(const struct ll_unit *unit, const struct ll_task *task, struct ll_first_piece *first)
{
    const struct plan p = plan_of(unit, task, 0);
    const double *element = task->problem.element;
    first->cycles = p.load_cycles + p.steps.cycles;
    first->bytes[LL_OPERAND_A] = p.rows * element[LL_OPERAND_A];
    first->bytes[LL_OPERAND_B] = p.rows * p.weights * element[LL_OPERAND_B];
    first->bytes[LL_OPERAND_C] = p.weights * element[LL_OPERAND_C];
}

/* --- explain --- */

static void explain_energy(const struct ll_in_memory *array, const struct energy *e, struct ll_explain *why)
{
    if (e->sum_j > 0)
        ll_say(
            why,
            "energy, of cells, rows driven, conversions, additions, slices of arrays and cells written: "
            "%.10g * %.10g + %.10g * %.10g + %.10g * %.10g + %.10g * %.10g + %.10g * %.10g + %.10g * %.10g = "
            "%.10g J",
            e->cells, array->cell_j, e->drives, drive_j(array), e->conversions, convert_j(array),
            e->additions, array->add_j, e->slices, array->slice_j, e->writes, array->write_j, e->sum_j);
}

static void array_explain(const struct ll_unit *unit, const struct ll_task *task, uint32_t index,
                          const struct ll_kernel_config *way, struct ll_explain *why)
{
    const struct ll_in_memory *array = &unit->in_memory;
    const struct ll_gemm *d = &task->problem.dims;
    const struct plan p = plan_of(unit, task, index);
    ll_say(why,
           "%s, %" PRIu64 " of %" PRIu64 " arrays work, each of %" PRIu64
           " rows and %.10g weights, of %.10g columns each",
           unit->name, way->units_used, unit->count, array->rows, p.steps.weights, p.steps.columns_each);
    ll_say(why, "tiles: %" PRIu64 " * ceil(%" PRIu64 " / %" PRIu64 ") * ceil(%" PRIu64 " / %.10g) = %.10g",
           d->batch, d->k, array->rows, d->n, p.steps.weights, p.tiles);
    ll_say(why,
           "arrays that share the vectors of a tile: min(max(1, floor(%" PRIu64 " / %.10g)), %" PRIu64
           ") = %.10g",
           p.count, p.tiles, d->m, p.copies);
    ll_say(why, "an input comes in %.10g slices, to %.10g groups of rows; a vector takes %.10g cycles",
           p.steps.slices, p.steps.groups, p.steps.cycles);
    ll_say(why,
           "cycles: ceil(%.10g / %" PRIu64 ") * (%.10g * %.10g + ceil(%" PRIu64
           " / %.10g) * %.10g) = %.10g cycles",
           p.tiles, p.count, p.rows, array->write_cycles, d->m, p.copies, p.steps.cycles, way->cycles);
    const struct energy energy = energy_of(array, d, &p);
    explain_energy(array, &energy, why);
}

const struct ll_unit_model ll_cost_IN_MEMORY = {
    .products = true,
    .way_count = way_count,
    .way = array_way,
    .first = array_first,
    .explain = array_explain,
};
