/* SPDX-License-Identifier: Apache-2.0 */
/* The GEMM that work comes down to: its dimensions, the bytes per element of each operand, its dtype on a
 * unit, and how a library packs and partitions it.
 *
 * A convolution becomes an implicit GEMM whose operands have fewer bytes than elements, since neighbouring
 * windows overlap. The last section is the epilogue: vector work between and behind an op's GEMMs. */
#include <assert.h>
#include <inttypes.h>
#include <math.h>

#include "sim/cost/cost.h"
#include "sim/cost/cost_parts.h"
#include "tracer/base/plain.h"

double ll_work_bytes(const struct ll_work *work)
{
    return (double)work->a_bytes + (double)work->b_bytes + (double)work->c_bytes;
}

static struct ll_gemm product_of(const struct ll_work *work)
{
    switch (work->kind) {
    case LL_WORK_GEMM:
        return work->gemm;
    case LL_WORK_CONV:
        return ll_conv_as_gemm(&work->conv);
    case LL_WORK_SEQUENCE:
        return work->sequence.step;
    default:
        return (struct ll_gemm){0};
    }
}

/* An operand's bytes spread over the elements of all steps' products; b that stays is there once. */
static void spread_bytes(const struct ll_work *work, struct ll_task *task)
{
    const struct ll_gemm *d = &task->problem.dims;
    double batch = (double)d->batch, m = (double)d->m, n = (double)d->n, k = (double)d->k;
    double steps = (double)task->steps;
    task->problem.element[LL_OPERAND_A] = (double)work->a_bytes / (steps * batch * m * k);
    task->problem.element[LL_OPERAND_B] =
        (double)work->b_bytes / ((task->b_stays ? 1 : steps) * batch * k * n);
    task->problem.element[LL_OPERAND_C] = (double)work->c_bytes / (steps * batch * m * n);
    for (enum ll_operand i = 0; i < LL_OPERAND_COUNT; i++)
        task->unit_pass[i] = ll_operand_bytes(&task->problem, i);
}

static double share_along(uint64_t kernel, uint64_t stride)
{
    return kernel < stride ? (double)kernel / (double)stride : 1;
}

double ll_share_in_windows(const struct ll_conv *conv)
{
    return share_along(conv->kernel_h, conv->stride_h) * share_along(conv->kernel_w, conv->stride_w);
}

/* The image is A of the forward pass and of the filter's gradient, and C of the input's gradient, whose
 * windows are added up where they overlap. There the sums are formed inside the unit; elsewhere the unit
 * reads each window in full. */
static void overlap_windows(const struct ll_conv *conv, struct ll_task *task)
{
    const struct ll_gemm *d = &task->problem.dims;
    bool data = conv->pass == LL_CONV_DATA;
    double image = (double)conv->batch * (double)conv->in_h * (double)conv->in_w * (double)conv->in_c;
    image *= conv->pass == LL_CONV_FORWARD ? ll_share_in_windows(conv) : 1;
    double unrolled = (double)d->batch * (double)d->m * (double)(data ? d->n : d->k);
    struct ll_windows *w = &task->problem.windows;
    *w = (struct ll_windows){
        .overlap = true,
        .image = data ? LL_OPERAND_C : LL_OPERAND_A,
        .pixels_are_k = conv->pass == LL_CONV_FILTER,
        .high = {conv->in_h, conv->out_h, conv->kernel_h, conv->stride_h, conv->dilation_h},
        .wide = {conv->in_w, conv->out_w, conv->kernel_w, conv->stride_w, conv->dilation_w},
        .expansion = fmax(1, unrolled / image)};
    if (!data)
        task->unit_pass[LL_OPERAND_A] *= w->expansion;
}

/* Windows are added up in the pixels of their image. */
void ll_sum_in(struct ll_task *task, uint64_t bytes)
{
    struct ll_problem *problem = &task->problem;
    const struct ll_windows *w = &problem->windows;
    double result_bytes = problem->element[LL_OPERAND_C];
    if (w->overlap && w->image == LL_OPERAND_C)
        result_bytes *= w->expansion;
    task->sum_bytes = (double)bytes;
    problem->sum_width = result_bytes > 0 ? fmax(1, task->sum_bytes / result_bytes) : 1;
}

struct ll_task ll_task_of(const struct ll_work *work, enum ll_dtype dtype)
{
    struct ll_task task = {
        .work = work, .dtype = dtype, .steps = 1, .a_each = 1, .problem = {.dims = product_of(work)}};
    const struct ll_gemm *d = &task.problem.dims;
    if (work->kind == LL_WORK_SEQUENCE) {
        task.steps = work->sequence.steps;
        task.b_stays = task.steps > 1 && !work->sequence.fresh;
    }
    task.is_product = d->batch && d->m && d->n && d->k && task.steps;
    if (!task.is_product)
        return task;
    if (work->of > 0)
        task.zeros = (double)(work->of - work->kept) / (double)work->kept;
    spread_bytes(work, &task);
    if (work->kind == LL_WORK_CONV)
        overlap_windows(&work->conv, &task);
    ll_sum_in(&task, LL_SUM_BYTES);
    return task;
}

static double padding(uint64_t height, uint64_t width, uint64_t rows, uint64_t columns)
{
    double high = (double)ll_ceil_div(height, rows) * (double)rows / (double)height;
    return high * (double)ll_ceil_div(width, columns) * (double)columns / (double)width;
}

void ll_lay_in_tiles(struct ll_task *task, uint64_t rows, uint64_t columns, struct ll_explain *why)
{
    const struct ll_gemm *d = &task->problem.dims;
    if (!task->is_product || task->work->kind != LL_WORK_GEMM || (rows <= 1 && columns <= 1))
        return;
    const double more[LL_OPERAND_COUNT] = {[LL_OPERAND_A] = padding(d->m, d->k, rows, columns),
                                           [LL_OPERAND_B] = padding(d->k, d->n, rows, columns),
                                           [LL_OPERAND_C] = padding(d->m, d->n, rows, columns)};
    for (enum ll_operand i = 0; i < LL_OPERAND_COUNT; i++) {
        task->problem.element[i] *= more[i];
        task->unit_pass[i] *= more[i];
    }
    ll_say(why,
           "stored in whole tiles of %" PRIu64 " x %" PRIu64
           ", a is %.10g, b %.10g and c %.10g times as large",
           rows, columns, more[LL_OPERAND_A], more[LL_OPERAND_B], more[LL_OPERAND_C]);
}

void ll_take_whole_channels(struct ll_task *task, uint64_t channels, struct ll_explain *why)
{
    const struct ll_conv *c = &task->work->conv;
    struct ll_gemm *d = &task->problem.dims;
    if (task->work->kind != LL_WORK_CONV || c->pass == LL_CONV_FILTER || channels <= 1)
        return;
    uint64_t of_element = (c->pass == LL_CONV_DATA ? c->out_c : c->in_c) / c->groups;
    uint64_t whole = ll_mul(ll_ceil_div(of_element, channels), channels);
    double more = (double)whole / (double)of_element;
    if (whole == of_element)
        return;
    d->k = ll_mul(d->k / of_element, whole);
    task->problem.element[LL_OPERAND_A] /= more;
    task->problem.element[LL_OPERAND_B] /= more;
    ll_say(why,
           "%" PRIu64 " channels of an element are taken at once, so k is that of %" PRIu64
           " channels instead of %" PRIu64,
           channels, whole, of_element);
}

/* All bytes of an operand over so many elements in all steps: rows x columns of them in each product. */
static void tell_element(const struct ll_task *task, enum ll_operand operand, uint64_t bytes, uint64_t rows,
                         uint64_t columns, struct ll_explain *why)
{
    static const char *const names[] = {"a", "b", "c"};
    uint64_t steps = operand == LL_OPERAND_B && task->b_stays ? 1 : task->steps,
             batch = task->problem.dims.batch;
    double element = task->problem.element[operand];
    double even = (double)bytes / ((double)steps * (double)batch * (double)rows * (double)columns);
    if (bytes == 0 || fabs(element - ll_dtype_spread((enum ll_dtype)task->work->dtype)) <= 1e-9 * element)
        return;
    char larger[32] = "";
    if (fabs(element - even) > 1e-9 * element)
        ll_snprintf(larger, sizeof larger, " * %.10g", element / even);
    ll_say(why,
           "bytes for each element of %s: %" PRIu64 "%s / (%" PRIu64 " * %" PRIu64 " * %" PRIu64 " * %" PRIu64
           ") = %.10g B",
           names[operand], bytes, larger, steps, batch, rows, columns, element);
}

void ll_tell_elements(const struct ll_task *task, struct ll_explain *why)
{
    const struct ll_gemm *d = &task->problem.dims;
    const struct ll_work *work = task->work;
    if (!why || !task->is_product)
        return;
    const struct ll_windows *w = &task->problem.windows;
    if (w->overlap && w->image == LL_OPERAND_A && w->expansion > 1)
        ll_say(why,
               "one pass of a unit over a, pixels as often as windows have them: %.10g / %" PRIu64
               " = %.10g times a",
               task->unit_pass[LL_OPERAND_A], work->a_bytes,
               task->unit_pass[LL_OPERAND_A] / (double)work->a_bytes);
    tell_element(task, LL_OPERAND_A, work->a_bytes, d->m, d->k, why);
    tell_element(task, LL_OPERAND_B, work->b_bytes, d->k, d->n, why);
    tell_element(task, LL_OPERAND_C, work->c_bytes, d->m, d->n, why);
}

size_t ll_computed_as(enum ll_dtype dtype, enum ll_dtype types[LL_DTYPE_COUNT])
{
    /* Every list ends with f64, which holds the rest: the zero that fills a row is LL_F64. */
    static const uint8_t wider[LL_DTYPE_COUNT][LL_DTYPE_COUNT] = {
        [LL_TF32] = {LL_F32},
        [LL_F16] = {LL_TF32, LL_F32},
        [LL_BF16] = {LL_TF32, LL_F32},
        [LL_F8] = {LL_F16, LL_BF16, LL_TF32, LL_F32},
        [LL_F4] = {LL_F8, LL_F16, LL_BF16, LL_TF32, LL_F32},
        [LL_I32] = {LL_I64, LL_F32},
        [LL_I16] = {LL_I32, LL_F32, LL_I64},
        [LL_INT8] = {LL_I16, LL_F16, LL_BF16, LL_I32, LL_F32, LL_I64},
        [LL_INT4] = {LL_INT8, LL_I16, LL_F16, LL_BF16, LL_I32, LL_F32, LL_I64},
        [LL_U8] = {LL_I16, LL_F16, LL_BF16, LL_I32, LL_F32, LL_I64},
        [LL_BOOL] = {LL_U8, LL_INT8, LL_I16, LL_F16, LL_BF16, LL_I32, LL_F32, LL_I64},
    };
    static_assert(LL_F64 == 0, "f64 ends the lists");
    size_t count = 0;
    types[count++] = dtype;
    for (size_t i = 0; types[count - 1] != LL_F64; i++)
        types[count++] = (enum ll_dtype)wider[dtype][i];
    return count;
}

enum ll_dtype ll_computed_on(const struct ll_unit *unit, enum ll_dtype dtype)
{
    enum ll_dtype types[LL_DTYPE_COUNT];
    size_t count = ll_computed_as(dtype, types);
    for (size_t i = 0; i < count; i++)
        if (ll_unit_flops_per_cycle(unit, types[i]) > 0)
            return types[i];
    return dtype;
}

/* Whether some unit computes this type whatever the op: then none runs in a wider one. */
static bool takes_all(const struct ll_machine *machine, enum ll_dtype dtype)
{
    for (uint64_t i = 0; i < machine->unit_count; i++) {
        const struct ll_unit *unit = &machine->units[i];
        const struct ll_unit_model *model = ll_unit_model(unit->model);
        if (!unit->runs_listed && model->products && model->elements &&
            ll_unit_flops_per_cycle(unit, dtype) > 0)
            return true;
    }
    return false;
}

double ll_computed_peak_flops(const struct ll_machine *machine, enum ll_dtype dtype, enum ll_dtype *computed)
{
    enum ll_dtype types[LL_DTYPE_COUNT];
    size_t count = ll_computed_as(dtype, types);
    double highest = 0;
    *computed = dtype;
    for (size_t i = 0; i < count; i++) {
        double peak = ll_machine_peak_flops(machine, types[i]);
        *computed = peak > highest ? types[i] : *computed;
        highest = fmax(highest, peak);
        if (takes_all(machine, types[i]))
            break;
    }
    return highest;
}

/* The result's longer side is cut into slices of `slice` lines, dealt to the units in turn; of a convolution
 * it is the side of the pixels (of the taps, for the filter's gradient), and of a stack of products the
 * stack. Where there are no slices, units share everything evenly, in a stack several of them a product:
 *
 *       rounds = floor(floor(length / slice) / units),  left = length - rounds * slice * units
 *       busiest = (rounds * slice + min(left, slice)) / length               of the work
 *
 * Slices have more lines than `slice` where more of the operand that is cut make `slice_elements`, in steps
 * of `slice_step` and at most `slice_most`. The gradient of a convolution's input is a product for each phase
 * of the strides, one after the other, of an equal part of the pixels and of the filter's taps.
 *
 * A unit copies what it multiplies: its part of the side that is cut, and the whole other operand once for
 * each slice that it gets, a slice of few lines no less than a full one. A convolution's windows are gathered
 * from the image line by line (im2col): each line of a window is a piece of its own that costs `line`, since
 * it has to be found and its edges be filled up; of a filter's gradient a slice takes a part of each window.
 *
 *       copies = ceil(slices / units)                                         of the other operand
 *              = max(1, products / units)                                     where all is shared evenly
 *       layout = max(lines * busiest, windows * copies) * line + (cut * busiest + other * copies) / packing
 *
 * Libraries multiply a slice of at most `small` multiply-adds in place and copy nothing (OpenBLAS 0.3 under
 * AVX-512: 100^3, sgemm_small_kernel_permit).
 *
 * Work that is no product goes along lines too (unbroken runs of elements), and pays `line` for each that it
 * begins; the units share them evenly. */

/* What is cut and what is copied. */
struct sides {
    uint64_t length, parts;        /* of the side that is cut, and the products that share it */
    uint64_t stack;                /* products that each have such a side; 1 where the stack itself is cut */
    double cut_elements;           /* of the operand on that side */
    double cut_bytes, other_bytes; /* the latter of one of the stack */
    bool transposed;               /* lines of a product's right operand go along k */
    double macs;                   /* of a product; 0: of a convolution, of which no slice counts as small */
    /* Lines of windows, and windows of which each slice takes a part (0: none is cut). */
    double lines, windows;
};

static struct sides sides_of_conv(const struct ll_task *task)
{
    const struct ll_conv *c = &task->work->conv;
    const struct ll_gemm *d = &task->problem.dims;
    const double *element = task->problem.element;
    bool data = c->pass == LL_CONV_DATA;
    double products = ll_gemm_macs(d);
    /* A gathered element is multiplied once for each channel on the other side. */
    uint64_t reused = data ? c->in_c / c->groups : c->out_c / c->groups;
    uint64_t taps = data ? ll_ceil_div(c->kernel_w, c->stride_w) : c->kernel_w;
    uint64_t run = taps * (data ? c->out_c : c->in_c) / c->groups;
    double gathered = products / (double)reused;
    return (struct sides){.length = data ? c->batch * c->in_h * c->in_w : d->m,
                          .parts = data ? ll_max(1, ll_mul(c->stride_h, c->stride_w)) : 1,
                          .stack = 1,
                          .cut_elements = gathered,
                          .cut_bytes = gathered * element[LL_OPERAND_A],
                          .other_bytes = ll_operand_bytes(&task->problem, LL_OPERAND_B),
                          .lines = gathered / (double)run,
                          .windows = c->pass == LL_CONV_FILTER ? (double)d->k : 0};
}

static struct sides sides_of_product(const struct ll_task *task, bool in_slices)
{
    const struct ll_gemm *d = &task->problem.dims;
    double a = ll_operand_bytes(&task->problem, LL_OPERAND_A);
    double b = ll_operand_bytes(&task->problem, LL_OPERAND_B);
    double macs = ll_gemm_macs(d);
    bool transposed = task->work->along_k & LL_LINES_OF_B;
    if (d->batch > 1 && in_slices)
        return (struct sides){.length = d->batch,
                              .parts = 1,
                              .stack = 1,
                              .cut_bytes = a + b,
                              .transposed = transposed,
                              .macs = macs};
    bool by_rows = d->m >= d->n;
    uint64_t length = ll_max(d->m, d->n);
    return (struct sides){.length = length,
                          .parts = 1,
                          .stack = ll_max(d->batch, 1),
                          .cut_elements = (double)length * (double)d->k,
                          .cut_bytes = by_rows ? a : b,
                          .other_bytes = (by_rows ? b : a) / (double)ll_max(d->batch, 1),
                          .transposed = transposed,
                          .macs = macs};
}

/* Lines of a slice; 0: a product is dealt evenly. */
static uint64_t slice_of(const struct ll_kernel *kernel, const struct sides *s)
{
    double line_elements = s->cut_elements / (double)s->length;
    uint64_t fitting = (uint64_t)fmin((double)kernel->slice_elements / fmax(line_elements, 1), 0x1p50);
    fitting -= fitting % ll_max(kernel->slice_step, 1);
    if (kernel->slice_most > 0)
        fitting = ll_min(fitting, kernel->slice_most);
    return ll_max(kernel->slice, fitting);
}

/* The share of the unit that gets most: whole rounds of slices, then one more of what is left. */
static double busiest_of(uint64_t length, uint64_t slice, uint64_t units)
{
    uint64_t rounds = length / slice / units, dealt = rounds * slice;
    return (double)(dealt + ll_min(length - dealt * units, slice)) / (double)length;
}

/* What is no product only begins lines. */
static struct ll_layout begin_lines(const struct ll_kernel *kernel, const struct ll_work *work,
                                    uint64_t units, struct ll_explain *why)
{
    double line_s = ll_rows_at_hand(kernel, work) ? 0 : kernel->line_s;
    struct ll_layout layout = {units, 1, (double)work->lines * line_s / (double)units};
    if (layout.layout_s > 0)
        ll_say(why, "lines begun: %" PRIu64 " * %.10g / %" PRIu64 " = %.10g s", work->lines, line_s, units,
               layout.layout_s);
    return layout;
}

/* How the sides are dealt to units, and what laying them out takes the busiest of these. */
struct dealt {
    uint64_t units, length, slice, slices; /* length: of one product; slice 0: evenly */
    double busiest, copies;                /* its share of all work, and slices that it gets */
    double slice_macs;
    bool in_place; /* a slice is small */
    double lines_s, packing_s;
};

static struct dealt deal(const struct ll_kernel *kernel, const struct sides *s, uint64_t slice,
                         uint64_t units)
{
    struct dealt d = {.units = units, .length = ll_max(s->length / s->parts, 1), .slice = slice};
    d.slices = ll_mul(s->parts, slice ? ll_ceil_div(d.length, slice) : units);
    d.busiest = slice ? busiest_of(d.length, slice, units) : 1 / (double)units;
    d.copies = (double)s->parts * (slice ? (double)ll_ceil_div(d.slices / s->parts, units)
                                         : fmax(1, (double)s->stack / (double)units));
    d.lines_s = fmax(s->lines * d.busiest, s->windows * d.copies) * kernel->line_s;
    double bytes = s->cut_bytes * d.busiest + s->other_bytes / (double)s->parts * d.copies;
    d.slice_macs = s->macs / (double)s->length * (double)ll_min(slice, s->length);
    d.in_place = d.slice_macs > 0 && d.slice_macs <= (double)kernel->small && !s->transposed;
    d.packing_s = kernel->packing_Bps > 0 && !d.in_place ? bytes / kernel->packing_Bps : 0;
    return d;
}

static void tell_busiest(const struct dealt *d, struct ll_explain *why)
{
    uint64_t dealt = d->slice ? d->length / d->slice / d->units * d->slice : 0;
    if (!d->slice)
        return;
    ll_say(why,
           "lines of the busiest unit, in whole rounds: floor(floor(%" PRIu64 " / %" PRIu64 ") / %" PRIu64
           ") * %" PRIu64 " = %" PRIu64,
           d->length, d->slice, d->units, d->slice, dealt);
    ll_say(why,
           "its share of all, with what is left: (%" PRIu64 " + min(%" PRIu64 " - %" PRIu64 " * %" PRIu64
           ", %" PRIu64 ")) / %" PRIu64 " = %.10g",
           dealt, d->length, dealt, d->units, d->slice, d->length, d->busiest);
}

static void tell(const struct ll_kernel *kernel, const struct sides *s, const struct dealt *d, double at_work,
                 double imbalance, struct ll_explain *why)
{
    if (d->slice)
        ll_say(why, "slices: %" PRIu64 " * ceil(%" PRIu64 " / %" PRIu64 ") = %" PRIu64, s->parts, d->length,
               d->slice, d->slices);
    tell_busiest(d, why);
    ll_say(why,
           "the busiest of %" PRIu64
           " units has %.10g of all work, of an even share: max(1, %.10g * %.10g) = %.10g",
           d->units, d->busiest, d->busiest, at_work, imbalance);
    if (kernel->line_s > 0)
        ll_say(why, "laid out, lines found: max(%.10g * %.10g, %.10g * %.10g) * %.10g = %.10g s", s->lines,
               d->busiest, s->windows, d->copies, kernel->line_s, d->lines_s);
    if (kernel->packing_Bps > 0 && d->in_place)
        ll_say(why, "a slice has %.10g multiply-adds, no more than %" PRIu64 ": nothing is copied",
               d->slice_macs, kernel->small);
    else if (kernel->packing_Bps > 0)
        ll_say(why, "laid out, bytes copied: (%.10g * %.10g + %.10g * %.10g) / %.10g = %.10g s", s->cut_bytes,
               d->busiest, s->other_bytes / (double)s->parts, d->copies, kernel->packing_Bps, d->packing_s);
}

struct ll_layout ll_layout_of(const struct ll_kernel *kernel, const struct ll_task *task, uint64_t units,
                              double at_work, struct ll_explain *why)
{
    struct ll_layout layout = {units, 1, 0};
    if (!task->is_product)
        return begin_lines(kernel, task->work, units, why);
    if (!(kernel->slice || kernel->slice_elements || kernel->packing_Bps > 0 || kernel->line_s > 0))
        return layout;
    bool conv = task->work->kind == LL_WORK_CONV;
    bool in_slices = kernel->slice || kernel->slice_elements;
    struct sides s = conv ? sides_of_conv(task) : sides_of_product(task, in_slices);
    uint64_t slice = in_slices && task->problem.dims.batch > 1 && !conv ? 1 : slice_of(kernel, &s);
    struct dealt d = deal(kernel, &s, slice, units);
    layout.units = ll_min(units, d.slices);
    layout.imbalance = fmax(1, d.busiest * at_work);
    layout.layout_s = d.lines_s + d.packing_s;
    tell(kernel, &s, &d, at_work, layout.imbalance, why);
    return layout;
}

double ll_layout_rewriting(const struct ll_kernel *kernel, const struct ll_task *task, uint64_t level,
                           double once)
{
    bool counts = task->is_product || (level > 0 && !task->work->in_place);
    return counts && once > 0 ? 1 + kernel->rewrites * (double)task->work->c_bytes / once : 1;
}

uint64_t ll_layout_most_units(const struct ll_kernel *kernel, const struct ll_work *work, uint64_t units)
{
    uint64_t most = kernel->units ? ll_min(kernel->units, units) : units;
    bool in_pieces = work->kind == LL_WORK_CONV && kernel->channels > 0;
    return in_pieces ? ll_min(most, ll_max(1, ll_ceil_div(work->conv.out_c, kernel->channels))) : most;
}

double ll_layout_barrier_s(double each_s, uint64_t units, struct ll_explain *why)
{
    unsigned layers = 0;
    while (layers < 63 && UINT64_C(1) << layers < units)
        layers++;
    if (each_s > 0 && layers > 0)
        ll_say(why, "%" PRIu64 " units are joined in %u layers: %u * %.10g = %.10g s", units, layers, layers,
               each_s, layers * each_s);
    return layers * each_s;
}

/* So many of a unit's instances, and the type in which they compute. */
struct lanes {
    const struct ll_unit *unit;
    uint64_t count;
    enum ll_dtype dtype;
};

bool ll_between_any(const struct ll_work *work)
{
    return work->between > 0 || work->kind == LL_WORK_SEQUENCE;
}

/* The unit that would run this kind of op, or the one of the products where there is none. */
static struct lanes lanes_for(const struct ll_machine *machine, const struct ll_task *task,
                              const struct lanes *products, enum ll_op_kind kind, bool dealt)
{
    enum ll_dtype dtype = (enum ll_dtype)task->work->dtype;
    struct ll_work alone = {.kind = LL_WORK_VECTOR,
                            .dtype = ll_dtype_bytes(dtype) < LL_SUM_BYTES ? LL_F32 : dtype,
                            .flops = 1,
                            .vector = {.elements = 1}};
    uint32_t index = ll_choose_unit(machine, kind, &alone, &dtype);
    if (index == LL_NO_UNIT)
        return *products;
    const struct ll_unit *unit = &machine->units[index];
    return (struct lanes){unit, dealt ? ll_min(unit->count, products->count) : unit->count, dtype};
}

static bool has_specials(const struct ll_unit *unit)
{
    return unit->model == LL_UNIT_VECTOR && unit->vector.specials > 0;
}

/* So many of something of which a unit does so many a cycle. */
static double seconds_on(const struct lanes *lanes, const char *what, double operations, double each,
                         struct ll_explain *why)
{
    const struct ll_unit *unit = lanes->unit;
    double time_s = operations / (each * (double)lanes->count * unit->clock_hz * unit->efficiency);
    ll_say(why, "between products, %s %s: %.10g / (%.10g * %" PRIu64 " * %.10g * %.10g) = %.10g s", what,
           unit->name, operations, each, lanes->count, unit->clock_hz, unit->efficiency, time_s);
    return time_s;
}

/* So many operations of the work's, with all of its special functions. */
static double lanes_s(const struct lanes *lanes, const struct ll_work *work, double operations,
                      struct ll_explain *why)
{
    const struct ll_unit *unit = lanes->unit;
    double time_s = seconds_on(lanes, "on", operations, ll_unit_flops_per_cycle(unit, lanes->dtype), why);
    if (work->specials == 0 || !has_specials(unit))
        return time_s;
    double each = unit->vector.specials * (double)unit->vector.lanes;
    double special_s = seconds_on(lanes, "special functions of", (double)work->specials, each, why);
    ll_say(why, "at the same time: max(%.10g, %.10g) = %.10g s", time_s, special_s, fmax(time_s, special_s));
    return fmax(time_s, special_s);
}

/* Elements lane by lane; the last, partial vector takes as long as a full one. */
static double elements_s(const struct ll_unit *unit, const struct ll_work *work, struct ll_explain *why)
{
    double elements = (double)work->vector.elements, lanes = (double)unit->vector.lanes * (double)unit->count;
    double each = (double)work->specials / elements, vectors = ceil(elements / lanes);
    double time_s = vectors * each / (unit->vector.specials * unit->clock_hz * unit->efficiency);
    ll_say(why,
           "special functions of %s: ceil(%.10g / %.10g) * (%" PRIu64
           " / %.10g) / (%.10g * %.10g * %.10g) = %.10g s",
           unit->name, elements, lanes, work->specials, elements, unit->vector.specials, unit->clock_hz,
           unit->efficiency, time_s);
    return time_s;
}

struct ll_between ll_between_of(const struct ll_machine *machine, const struct ll_task *task,
                                const struct ll_unit *unit, bool dealt, struct ll_explain *why)
{
    const struct ll_work *work = task->work;
    struct lanes products = {unit, unit->count, task->dtype};
    struct ll_between between = {0};
    if (work->kind == LL_WORK_VECTOR && work->specials > 0 && has_specials(unit))
        between.meanwhile_s = elements_s(unit, work, why);
    if (!task->is_product)
        return between;
    double multiplying = 2 * (double)task->steps * ll_gemm_macs(&task->problem.dims);
    double gates = (double)work->flops - multiplying, softmax = (double)work->between;
    if (gates > 0) {
        struct lanes lanes = products;
        if (work->kind == LL_WORK_SEQUENCE)
            lanes = lanes_for(machine, task, &products, LL_OP_SIGMOID, dealt);
        between.after_s = lanes_s(&lanes, work, gates, why);
        between.flops = lanes.unit == unit ? 0 : gates;
    }
    if (softmax > 0) {
        struct lanes lanes = lanes_for(machine, task, &products, LL_OP_CAUSAL_SOFTMAX, dealt);
        double time_s = lanes_s(&lanes, work, softmax, why);
        if (unit->model == LL_UNIT_VECTOR || lanes.unit == unit)
            between.after_s += time_s;
        else
            between.meanwhile_s = time_s;
    }
    return between;
}
