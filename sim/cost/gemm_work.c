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
#include "tracer/base/str.h"

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

/* An operand's bytes spread over the elements of all steps' GEMMs; b that stays is there once. */
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
    task.is_gemm = d->batch && d->m && d->n && d->k && task.steps;
    if (!task.is_gemm)
        return task;
    if (work->of > 0)
        task.zeros = (double)(work->of - work->kept) / (double)work->kept;
    spread_bytes(work, &task);
    if (work->kind == LL_WORK_CONV)
        overlap_windows(&work->conv, &task);
    ll_sum_in(&task, LL_SUM_BYTES);
    return task;
}

/* All bytes of an operand over so many elements in all steps: rows x columns of them in each GEMM. */
static void explain_element(const struct ll_task *task, enum ll_operand operand, uint64_t bytes,
                            uint64_t rows, uint64_t columns, struct ll_explain *why)
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

void ll_elements_explain(const struct ll_task *task, struct ll_explain *why)
{
    const struct ll_gemm *d = &task->problem.dims;
    const struct ll_work *work = task->work;
    if (!task->is_gemm)
        return;
    const struct ll_windows *w = &task->problem.windows;
    if (w->overlap && w->image == LL_OPERAND_A && w->expansion > 1)
        ll_say(why,
               "one pass of a unit over a, pixels as often as windows have them: %.10g / %" PRIu64
               " = %.10g times a",
               task->unit_pass[LL_OPERAND_A], work->a_bytes,
               task->unit_pass[LL_OPERAND_A] / (double)work->a_bytes);
    explain_element(task, LL_OPERAND_A, work->a_bytes, d->m, d->k, why);
    explain_element(task, LL_OPERAND_B, work->b_bytes, d->k, d->n, why);
    explain_element(task, LL_OPERAND_C, work->c_bytes, d->m, d->n, why);
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
        [LL_INT2] = {LL_INT4, LL_INT8, LL_I16, LL_F16, LL_BF16, LL_I32, LL_F32, LL_I64},
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

/* A kernel that deals the result in pieces of `partition` lines: a GEMM's longer side is cut into them, or,
 * of a batch, the batch, and they go to the units in turn:
 *
 *       rounds = floor(floor(length / partition) / units),  left = length - rounds * partition * units
 *       busiest = (rounds * partition + min(left, partition)) / length        of the work */
struct ll_partitioned ll_partition(const struct ll_kernel *kernel, const struct ll_work *op,
                                   const struct ll_task *task, uint64_t units, double at_work)
{
    struct ll_partitioned p = {.units = units, .imbalance = 1};
    if (kernel->partition == 0 || !task->is_gemm || op->kind == LL_WORK_CONV)
        return p;
    const struct ll_gemm *d = &task->problem.dims;
    p.length = d->batch > 1 ? d->batch : ll_max(d->m, d->n);
    p.lines = d->batch > 1 ? 1 : kernel->partition;
    p.dealt = p.length / p.lines / units * p.lines;
    p.busiest = (double)(p.dealt + ll_min(p.length - p.dealt * units, p.lines)) / (double)p.length;
    p.units = ll_min(units, ll_ceil_div(p.length, p.lines));
    p.imbalance = fmax(1, p.busiest * at_work);
    assert(p.units >= 1 && p.busiest > 0 && p.busiest <= 1);
    return p;
}

uint64_t ll_partition_most_units(const struct ll_kernel *kernel, const struct ll_work *work, uint64_t units)
{
    uint64_t most = kernel->max_units ? ll_min(kernel->max_units, units) : units;
    bool in_pieces = work->kind == LL_WORK_CONV && kernel->partition > 0;
    return in_pieces ? ll_min(most, ll_max(1, ll_ceil_div(work->conv.out_c, kernel->partition))) : most;
}

/* So many of a unit's instances, and the type in which they compute. */
struct lanes {
    const struct ll_unit *unit;
    uint64_t count;
    enum ll_dtype dtype;
};

bool ll_epilogue_any(const struct ll_work *work)
{
    return work->between > 0 || work->kind == LL_WORK_SEQUENCE;
}

/* The unit that would run this kind of op, or the one of the GEMMs where there is none. */
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

/* So many operations of the work's on lanes, with all of its special functions at the same time. */
static struct ll_lane_time lane_time(const struct lanes *lanes, const struct ll_work *work, double operations)
{
    const struct ll_unit *unit = lanes->unit;
    double rate = (double)lanes->count * unit->clock_hz * unit->efficiency;
    struct ll_lane_time t = {.unit = unit,
                             .count = lanes->count,
                             .operations = operations,
                             .each = ll_unit_flops_per_cycle(unit, lanes->dtype)};
    t.operations_s = operations / (t.each * rate);
    if (work->specials > 0 && has_specials(unit)) {
        t.specials = (double)work->specials;
        t.special_each = unit->vector.specials * (double)unit->vector.lanes;
        t.specials_s = t.specials / (t.special_each * rate);
    }
    t.time_s = fmax(t.operations_s, t.specials_s);
    return t;
}

/* Elements lane by lane; the last, partial vector takes as long as a full one. */
static double elements_s(const struct ll_unit *unit, double efficiency, const struct ll_work *work)
{
    double elements = (double)work->vector.elements, lanes = (double)unit->vector.lanes * (double)unit->count;
    double each = (double)work->specials / elements, vectors = ceil(elements / lanes);
    return vectors * each / (unit->vector.specials * unit->clock_hz * efficiency);
}

/* Special functions of elements that no GEMM makes. */
static bool has_special_elements(const struct ll_task *task, const struct ll_unit *unit)
{
    return task->work->kind == LL_WORK_VECTOR && task->work->specials > 0 && has_specials(unit);
}

struct ll_epilogue ll_epilogue_of(const struct ll_machine *machine, const struct ll_task *task,
                                  const struct ll_unit *unit, double efficiency, bool dealt)
{
    const struct ll_work *work = task->work;
    struct lanes products = {unit, unit->count, task->dtype};
    struct ll_epilogue between = {0};
    if (has_special_elements(task, unit))
        between.meanwhile_s = elements_s(unit, efficiency, work);
    if (!task->is_gemm)
        return between;
    double multiplying = 2 * (double)task->steps * ll_gemm_macs(&task->problem.dims);
    double gates = task->skips_a ? 0 : (double)work->flops - multiplying, softmax = (double)work->between;
    if (gates > 0) {
        struct lanes lanes = products;
        if (work->kind == LL_WORK_SEQUENCE)
            lanes = lanes_for(machine, task, &products, LL_OP_SIGMOID, dealt);
        between.gates = lane_time(&lanes, work, gates);
        between.after_s = between.gates.time_s;
        between.flops = lanes.unit == unit ? 0 : gates;
    }
    if (softmax > 0) {
        struct lanes lanes = lanes_for(machine, task, &products, LL_OP_CAUSAL_SOFTMAX, dealt);
        between.softmax = lane_time(&lanes, work, softmax);
        if (unit->model == LL_UNIT_VECTOR || lanes.unit == unit)
            between.after_s += between.softmax.time_s;
        else
            between.meanwhile_s = between.softmax.time_s;
    }
    return between;
}

/* --- explain --- */

static void explain_operations(const struct ll_lane_time *t, const char *what, double operations, double each,
                               double time_s, struct ll_explain *why)
{
    ll_say(why, "between GEMMs, %s %s: %.10g / (%.10g * %" PRIu64 " * %.10g * %.10g) = %.10g s", what,
           t->unit->name, operations, each, t->count, t->unit->clock_hz, t->unit->efficiency, time_s);
}

static void explain_lanes(const struct ll_lane_time *t, struct ll_explain *why)
{
    if (!t->unit)
        return;
    explain_operations(t, "on", t->operations, t->each, t->operations_s, why);
    if (t->specials == 0)
        return;
    explain_operations(t, "special functions of", t->specials, t->special_each, t->specials_s, why);
    ll_say(why, "at the same time: max(%.10g, %.10g) = %.10g s", t->operations_s, t->specials_s, t->time_s);
}

void ll_epilogue_explain(const struct ll_epilogue *between, const struct ll_task *task,
                         const struct ll_unit *unit, double efficiency, struct ll_explain *why)
{
    const struct ll_work *work = task->work;
    if (has_special_elements(task, unit))
        ll_say(why,
               "special functions of %s: ceil(%.10g / %.10g) * (%" PRIu64
               " / %.10g) / (%.10g * %.10g * %.10g) = %.10g s",
               unit->name, (double)work->vector.elements, (double)unit->vector.lanes * (double)unit->count,
               work->specials, (double)work->vector.elements, unit->vector.specials, unit->clock_hz,
               efficiency, between->meanwhile_s);
    explain_lanes(&between->gates, why);
    explain_lanes(&between->softmax, why);
    if (between->gates.unit && between->softmax.unit && between->meanwhile_s == 0)
        ll_say(why, "between GEMMs, both: %.10g + %.10g = %.10g s", between->gates.time_s,
               between->softmax.time_s, between->after_s);
}
