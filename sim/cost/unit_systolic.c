/* SPDX-License-Identifier: Apache-2.0 */
/* A systolic array of R rows and C columns. Two dimensions of the GEMM lie on the array, the third streams:
 *
 *                          on rows  on columns  streams   one fold takes
 *       output stationary  m        n           k         T + R + C - 2
 *       weight stationary  k        n           m         T + 2R + C - 2
 *       input stationary   k        m           n         T + 2R + C - 2
 *
 * T is the streamed length over the multiply-accumulates that a processing element does per cycle. The skew
 * of R + C - 2 is the path of a wavefront from corner to corner. A stationary operand takes R more cycles to
 * shift in, one row per cycle, unless the array loads it over more wires (`load_cycles` replaces that R). The
 * dimensions on the array are cut into folds of R x C; edge folds cost as much as full ones. These are the
 * closed forms of SCALE-Sim v2 (Samajdar et al., ISPASS 2020), which reports the index of the last cycle: one
 * less than the count here.
 *
 * With overlap_folds the array is loaded behind the wavefront (ws, is: through a second register per
 * element) or drained behind it (os: results shift out for R cycles while the next tile streams):
 *
 *       | load R | stream T       | skew |
 *                | load R | wait  | stream T       | skew |      T > R: streaming sets the pace
 *
 * so each further fold costs max(T, R). With ws and is, the partial sums of further folds along k meet in
 * accumulators below the array, as in the TPU, T for each column. Where there are fewer accumulators, the
 * software takes the faster of two alternatives. Either the sums that find no room are written to the
 * innermost memory and read back for each further fold, in at least four bytes each; or the streamed operand
 * is cut into pieces whose sums find room, and the stationary operand is loaded again for each piece, which
 * costs max(T, pieces R) per fold behind the wavefront.
 *
 * A convolution is a GEMM whose k has the channels of all taps of the filter, as im2col lays them out. An
 * array that takes it tap by tap (`tap_by_tap`) has folds of channels alone along k:
 *
 *       folds along k = taps * ceil(channels / R)      for ceil(taps * channels / R)
 *
 * Where weights lie in memory in whole tiles (`whole_tiles`), there is room for folds R C of them, not k n.
 *
 * Several arrays share the output: the batch first, then columns and rows in whole folds; the array with the
 * largest share counts. How the output is cut and how many arrays work are kernel configurations. Fewer
 * arrays can be better where each has a private memory, since more of them load more copies of the
 * operands. */
#include "sim/cost/cost_parts.h"
#include "tracer/base/str.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* How a dataflow lays a share on the array. */
struct folds {
    double rows, columns; /* folds along rows and columns of the array */
    double length;        /* elements that stream past each of those that stay */
    double streamed;      /* T: the cycles they take */
    double pieces;        /* of them, each of which passes all folds before the next one does */
    double load;          /* cycles in which what stays comes or, output stationary, leaves */
    double filling;       /* cycles of a fold beside T */
    double one, further;  /* cycles of the first fold and of each that follows, all pieces together */
    double count;
    double cycles;
};

/* How many pieces make the sums of each column fit into the accumulators. */
static double pieces_of(const struct ll_systolic *array, double length)
{
    double room = (double)array->accumulators;
    return array->dataflow == LL_OUTPUT_STATIONARY || room == 0 ? 1 : ceil(length / room);
}

/* Taps of a filter whose channels make up k, where the array takes them one after the other; else 1. */
static uint64_t taps_in_turn(const struct ll_systolic *array, const struct ll_task *task)
{
    const struct ll_work *work = task->work;
    bool takes = array->tap_by_tap && work->kind == LL_WORK_CONV && work->conv.pass != LL_CONV_FILTER;
    return takes ? ll_mul(work->conv.kernel_h, work->conv.kernel_w) : 1;
}

/* Folds along k. Of a strided gradient each phase has some of the taps: at most as many as there are of k. */
static uint64_t folds_of_k(const struct ll_systolic *array, const struct ll_task *task, uint64_t k)
{
    uint64_t taps = ll_min(taps_in_turn(array, task), k);
    return taps > 0 ? ll_mul(taps, ll_ceil_div(ll_ceil_div(k, taps), array->rows)) : 0;
}

void ll_systolic_pack(const struct ll_unit *unit, struct ll_task *task)
{
    const struct ll_systolic *array = &unit->systolic;
    if (unit->model != LL_UNIT_SYSTOLIC || !task->is_gemm || !array->whole_tiles ||
        array->dataflow != LL_WEIGHT_STATIONARY)
        return;
    const struct ll_gemm *d = &task->problem.dims;
    double tiles = (double)folds_of_k(array, task, d->k) * (double)ll_ceil_div(d->n, array->cols);
    double stored = tiles * (double)array->rows * (double)array->cols / ((double)d->k * (double)d->n);
    task->problem.element[LL_OPERAND_B] *= stored;
    task->unit_pass[LL_OPERAND_B] *= stored;
}

static struct folds lay(const struct ll_systolic *array, const struct ll_task *task, const struct ll_gemm *g,
                        bool in_pieces)
{
    bool os = array->dataflow == LL_OUTPUT_STATIONARY, is = array->dataflow == LL_INPUT_STATIONARY;
    double r = (double)array->rows, c = (double)array->cols;
    double length = (double)(os ? g->k : is ? g->n : g->m);
    struct folds f = {
        .length = length,
        .rows = (double)(os ? ll_ceil_div(g->m, array->rows) : folds_of_k(array, task, g->k)),
        .columns = (double)ll_ceil_div(is ? g->m : g->n, array->cols),
        .streamed = ceil(length / array->macs[task->dtype]),
        .pieces = in_pieces ? pieces_of(array, length) : 1,
        .load = r,
    };
    f.filling = (os ? 0 : f.load) + r + c - 2;
    double loads = f.pieces * f.load;
    if (array->overlap_folds) {
        f.one = (f.pieces > 1 ? fmax(f.streamed, loads) : f.streamed) + f.filling;
        f.further = fmin(f.one, fmax(f.streamed, loads));
    } else {
        f.one = f.streamed + f.pieces * f.filling;
        f.further = f.one;
    }
    f.count = (double)g->batch * f.rows * f.columns;
    f.cycles = f.one + (f.count - 1) * f.further;
    return f;
}

/* How often the output passes between array and memory: once, and what the accumulators cannot hold twice
 * more for each further fold along k. */
static double output_passes(const struct ll_systolic *array, const struct ll_task *task,
                            const struct folds *f)
{
    double room = (double)array->accumulators, element = task->problem.element[LL_OPERAND_C];
    if (array->dataflow == LL_OUTPUT_STATIONARY || room == 0 || room * f->pieces >= f->length || element == 0)
        return 1;
    return 1 + 2 * (f->rows - 1) * (1 - room / f->length) * fmax(task->sum_bytes, element) / element;
}

static double unit_bytes(const struct ll_systolic *array, const struct ll_task *task,
                         const struct ll_split *split, const struct folds *f, double *by_operand)
{
    double passes[LL_OPERAND_COUNT] = {1, 1, 1};
    passes[LL_OPERAND_C] = output_passes(array, task, f);
    passes[LL_OPERAND_A] = array->dataflow == LL_INPUT_STATIONARY ? f->pieces : f->columns;
    passes[LL_OPERAND_B] = array->dataflow == LL_OUTPUT_STATIONARY  ? f->rows
                           : array->dataflow == LL_INPUT_STATIONARY ? f->columns
                                                                    : f->pieces;
    return ll_unit_bytes(task, &split->share, (double)split->used, passes, by_operand);
}

/* How the output is dealt to the arrays. A way is how many of them work at most, whether the batch is dealt
 * to them or each GEMM of it, and into how many columns: rows get the arrays that remain. All that streams
 * whole, then all in pieces. */
struct dealing {
    uint64_t batches, rows, columns;
};

/* Columns are a power of two or as many as there are arrays; or so many that each array gets one, two, four,
 * ... folds of them; or what is left by so many rows. */
enum { COLUMN_RULES = 3 };

static uint32_t dealings(const struct ll_unit *unit, const struct ll_task *task)
{
    uint32_t powers = ll_counts_at_work(unit, task);
    return powers > 1 ? 2 * powers * COLUMN_RULES * powers : 1;
}

static uint32_t systolic_ways(const struct ll_unit *unit, const struct ll_task *task)
{
    const struct ll_systolic *array = &unit->systolic;
    bool cut = array->accumulators > 0 && array->dataflow != LL_OUTPUT_STATIONARY;
    return dealings(unit, task) * (cut ? 2 : 1);
}

/* In what rows and columns of the output come: folds, or single ones of what streams. */
struct grains {
    uint64_t row, column;
};

static struct grains grains_of(const struct ll_systolic *array)
{
    bool os = array->dataflow == LL_OUTPUT_STATIONARY, is = array->dataflow == LL_INPUT_STATIONARY;
    return (struct grains){.row = os ? array->rows : is ? array->cols : 1, .column = is ? 1 : array->cols};
}

/* 1, 2, 4, ... columns, and all of them: power 4 of 3 arrays is 3. 0 behind that, and where a rule asks for
 * more than there are. */
static uint64_t columns_by(uint32_t rule, const struct ll_systolic *array, const struct ll_gemm *dims,
                           uint64_t arrays, uint64_t power)
{
    struct grains grains = grains_of(array);
    uint64_t parts = ll_ceil_div(ll_ceil_div(dims->n, grains.column), power);
    if (rule == 0)
        return power <= arrays ? power : power / 2 < arrays ? arrays : 0;
    if (rule == 2)
        parts = arrays / ll_ceil_div(ll_ceil_div(dims->m, grains.row), power);
    return parts <= arrays ? parts : 0;
}

/* 0 as well when an earlier index is the same. */
static uint64_t columns_of(const struct ll_systolic *array, const struct ll_gemm *dims, uint64_t arrays,
                           uint32_t powers, uint32_t index)
{
    uint64_t columns = columns_by(index / powers, array, dims, arrays, UINT64_C(1) << index % powers);
    for (uint32_t i = 0; i < index && index >= powers; i++)
        if (columns_by(i / powers, array, dims, arrays, UINT64_C(1) << i % powers) == columns)
            return 0;
    return columns;
}

/* False when another way is the same. */
static bool decode(const struct ll_unit *unit, const struct ll_task *task, uint32_t way, struct dealing *d)
{
    uint32_t powers = ll_counts_at_work(unit, task), rules = powers > 1 ? COLUMN_RULES * powers : 1;
    uint64_t count = ll_count_at_work(unit, task, way / (2 * rules)), batch = task->problem.dims.batch;
    bool over_batch = way / rules % 2 == 0;
    d->batches = over_batch ? ll_min(batch, count) : 1;
    uint64_t arrays = count / d->batches; /* for each part of the batch */
    d->columns = columns_of(&unit->systolic, &task->problem.dims, arrays, powers, way % rules);
    d->rows = d->columns > 0 ? arrays / d->columns : 0;
    return d->rows > 0 && (over_batch || batch > 1);
}

static struct ll_split deal(const struct ll_systolic *array, const struct ll_gemm *dims,
                            const struct dealing *d)
{
    struct grains grains = grains_of(array);
    return ll_split(dims, d->batches, d->rows, d->columns, grains.row, grains.column);
}

/* What one array needs before it can start, and gives when it ends: the tile that stays, and a line of each
 * of the two operands that stream. */
struct first_piece {
    double rows, columns; /* of the array */
    double stays_bytes, per_row_bytes,
        per_column_bytes;               /* of an element of what stays, streams past rows, columns */
    double of[LL_OPERAND_COUNT], bytes; /* by operand, and in all */
};

static struct first_piece first_piece_of(const struct ll_systolic *array, const struct ll_task *task)
{
    static const enum ll_operand stays[] = {LL_OPERAND_C, LL_OPERAND_B, LL_OPERAND_A};
    static const enum ll_operand along_rows[] = {LL_OPERAND_A, LL_OPERAND_A, LL_OPERAND_B};
    static const enum ll_operand along_columns[] = {LL_OPERAND_B, LL_OPERAND_C, LL_OPERAND_C};
    const double *element = task->problem.element;
    struct first_piece p = {.rows = (double)array->rows,
                            .columns = (double)array->cols,
                            .stays_bytes = element[stays[array->dataflow]],
                            .per_row_bytes = element[along_rows[array->dataflow]],
                            .per_column_bytes = element[along_columns[array->dataflow]]};
    p.of[stays[array->dataflow]] = p.rows * p.columns * p.stays_bytes;
    p.of[along_rows[array->dataflow]] = p.rows * p.per_row_bytes;
    p.of[along_columns[array->dataflow]] = p.columns * p.per_column_bytes;
    p.bytes = p.rows * p.columns * p.stays_bytes + p.rows * p.per_row_bytes + p.columns * p.per_column_bytes;
    return p;
}

static bool systolic_way(const struct ll_unit *unit, const struct ll_task *task, uint32_t index,
                         struct ll_kernel_config *way)
{
    struct dealing dealing;
    uint32_t whole = dealings(unit, task);
    bool in_pieces = index >= whole;
    if (!decode(unit, task, index % whole, &dealing))
        return false;
    struct ll_split split = deal(&unit->systolic, &task->problem.dims, &dealing);
    struct folds f = lay(&unit->systolic, task, &split.share, in_pieces);
    if (in_pieces && (f.pieces == 1 || f.rows == 1)) /* the same as whole, or no sums to come back */
        return false;
    *way = (struct ll_kernel_config){
        .units_used = split.used,
        .at_work = ll_gemm_macs(&task->problem.dims) / ll_gemm_macs(&split.share),
        .cycles = f.cycles,
        .first.cycles = f.filling,
        .share = split.share,
        .shares = (double)split.used,
        .macs = ll_gemm_macs(&task->problem.dims),
    };
    const struct first_piece first = first_piece_of(&unit->systolic, task);
    memcpy(way->first.bytes, first.of, sizeof way->first.bytes);
    way->unit_bytes = unit_bytes(&unit->systolic, task, &split, &f, way->asked_bytes);
    return true;
}

/* --- explain --- */

static void explain_pieces(const struct ll_systolic *array, const struct folds *f, struct ll_explain *why)
{
    ll_say(why,
           "accumulators hold %" PRIu64
           " sums of a column: %.10g stream in %.10g pieces, and what stays is loaded "
           "for each",
           array->accumulators, f->length, f->pieces);
    if (array->overlap_folds)
        ll_say(why,
               "one fold, all pieces, loaded behind the wavefront: max(%.10g, %.10g * %.10g) + %.10g = %.10g "
               "cycles",
               f->streamed, f->pieces, f->load, f->filling, f->one);
    else
        ll_say(why, "one fold, all pieces, streaming and filling: %.10g + %.10g * %.10g = %.10g cycles",
               f->streamed, f->pieces, f->filling, f->one);
}

static void explain_folds(const struct ll_unit *unit, const struct ll_task *task,
                          const struct ll_split *split, const struct folds *f, struct ll_explain *why)
{
    static const char *const names[] = {"output", "weight", "input"};
    const struct ll_systolic *array = &unit->systolic;
    const struct ll_gemm *g = &split->share;
    bool os = array->dataflow == LL_OUTPUT_STATIONARY, is = array->dataflow == LL_INPUT_STATIONARY;
    char load[32] = "";
    if (!os)
        ll_snprintf(load, sizeof load, "%.10g + ", f->load);
    uint64_t on_rows = os ? g->m : g->k, on_columns = is ? g->m : g->n, taps = taps_in_turn(array, task);
    ll_say(why,
           "%s: %" PRIu64 " of %" PRIu64 " arrays work, each on %" PRIu64 " product%s of m %" PRIu64
           ", n %" PRIu64 ", k %" PRIu64 ", %s stationary",
           unit->name, split->used, unit->count, split->share.batch, split->share.batch == 1 ? "" : "s",
           split->share.m, split->share.n, split->share.k, names[array->dataflow]);
    if (!os && taps > 1)
        ll_say(why,
               "folds along k, taps of a filter in turn: %" PRIu64 " * ceil(%" PRIu64 " / %" PRIu64
               ") = %.10g",
               ll_min(taps, g->k), ll_ceil_div(g->k, ll_min(taps, g->k)), array->rows, f->rows);
    ll_say(why, "folds of %" PRIu64 " x %" PRIu64 ": %" PRIu64 " * %.10g * %.10g = %.10g", array->rows,
           array->cols, split->share.batch, f->rows, f->columns, f->count);
    ll_say(why,
           "of their elements are in use: %" PRIu64 " * %" PRIu64 " * %" PRIu64 " / (%.10g * %" PRIu64
           " * %" PRIu64 ") = %.10g",
           g->batch, on_rows, on_columns, f->count, array->rows, array->cols,
           (double)g->batch * (double)on_rows * (double)on_columns /
               (f->count * (double)array->rows * (double)array->cols));
    ll_say(why, "filling: %s%" PRIu64 " + %" PRIu64 " - 2 = %.10g cycles", load, array->rows, array->cols,
           f->filling);
    if (f->pieces > 1)
        explain_pieces(array, f, why);
    else
        ll_say(why, "one fold, streaming and filling: %.10g + %.10g = %.10g cycles", f->streamed, f->filling,
               f->one);
    ll_say(why, "all folds%s: %.10g + (%.10g - 1) * %.10g = %.10g cycles",
           array->overlap_folds ? ", each further one behind the wavefront" : "", f->one, f->count,
           f->further, f->cycles);
    if (output_passes(array, task, f) > 1)
        ll_say(why,
               "accumulators hold %" PRIu64
               " of %.10g sums of a column: the output passes %.10g times between "
               "array and memory",
               array->accumulators, f->length, output_passes(array, task, f));
}

static void systolic_explain(const struct ll_unit *unit, const struct ll_task *task, uint32_t index,
                             const struct ll_kernel_config *way, struct ll_explain *why)
{
    uint32_t whole = dealings(unit, task);
    const struct ll_split split = {way->share, way->units_used};
    const struct folds f = lay(&unit->systolic, task, &way->share, index >= whole);
    const struct first_piece p = first_piece_of(&unit->systolic, task);
    explain_folds(unit, task, &split, &f, why);
    ll_say(why, "first piece of an array: %.10g * %.10g * %.10g + %.10g * %.10g + %.10g * %.10g = %.10g B",
           p.rows, p.columns, p.stays_bytes, p.rows, p.per_row_bytes, p.columns, p.per_column_bytes, p.bytes);
}

const struct ll_unit_model ll_cost_SYSTOLIC = {
    .products = true,
    .way_count = systolic_ways,
    .way = systolic_way,
    .explain = systolic_explain,
};
