/* SPDX-License-Identifier: Apache-2.0 */
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
#include "sim/cost/layout.h"

#include "sim/cost/rows.h"
#include "sim/cost/task.h"

#include <inttypes.h>
#include <math.h>

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
