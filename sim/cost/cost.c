/* SPDX-License-Identifier: Apache-2.0 */
/* From work to a cost: which unit computes it, by which algorithm and kernel configuration, and what dtype
 * casts and transfers from the host add.
 *
 * ll_cost_op chooses a unit, lowers the work to a GEMM (gemm_work.c), tries every convolution algorithm
 * (conv_algorithms.c) and lets kernel_model.c find the best configuration of each; it keeps the fastest.
 * cost_parts.h has the types that pass between these chapters. */
#include "sim/cost/cost.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>

#include "sim/cost/attention.h"
#include "sim/cost/conv_core.h"
#include "sim/cost/cost_parts.h"
#include "sim/cost/experts.h"
#include "sim/cost/gemm_kernels.h"
#include "sim/cost/linear.h"
#include "sim/cost/outline.h"
#include "tracer/ir/experts.h"

/* What the workers of the host take to prepare an op's result; 0: nothing is known of that. */
static double prepare_Bps(const struct ll_host *host, enum ll_op_kind kind)
{
    return kind == LL_OP_HOST_INPUT ? host->prepare_Bps : host->encode_Bps;
}

/* The latency of bringing input at all: what is made of input that came before goes with it. */
static double host_latency_s(const struct ll_host *host, enum ll_op_kind kind)
{
    return kind == LL_OP_HOST_INPUT ? host->latency_s : 0;
}

/* Prepared, then on its way. */
static void host_sends(const struct ll_host *host, enum ll_op_kind kind, const struct ll_work *work,
                       struct ll_cost *cost)
{
    double rate_Bps = prepare_Bps(host, kind), bytes = (double)work->c_bytes;
    if (host->bandwidth_Bps == 0)
        return;
    if (rate_Bps > 0)
        cost->prepare_s = bytes / (rate_Bps * (double)ll_max(1, host->workers));
    cost->host_s = host_latency_s(host, kind) + bytes / host->bandwidth_Bps + cost->prepare_s;
}

/* To the host or back: over the same link, nothing to prepare. */
static void host_swaps(const struct ll_host *host, const struct ll_work *work, struct ll_cost *cost)
{
    if (host->bandwidth_Bps > 0)
        cost->host_s = host->latency_s + (double)ll_max(work->a_bytes, work->c_bytes) / host->bandwidth_Bps;
}

static const struct ll_unit *caster(const struct ll_machine *machine, enum ll_dtype dtype)
{
    for (uint64_t i = 0; i < machine->unit_count; i++)
        if (machine->units[i].model == LL_UNIT_VECTOR && machine->units[i].vector.casts[dtype] > 0)
            return &machine->units[i];
    return NULL;
}

/* A task's elements cast on lanes. */
struct casting {
    const struct ll_unit *unit;       /* NULL: none are */
    double bytes, size, each, time_s; /* read and written; of an element; elements a cycle */
};

static struct casting cast(const struct ll_machine *machine, const struct ll_kernel *kernel,
                           const struct ll_task *task)
{
    enum ll_dtype stored = (enum ll_dtype)task->work->dtype;
    bool needed = stored != task->dtype && task->work->flops > 0;
    const struct ll_unit *unit = needed ? caster(machine, stored) : NULL;
    if (!unit)
        return (struct casting){0};
    bool plain_product = task->is_gemm && task->work->kind == LL_WORK_GEMM;
    struct casting c = {.unit = unit,
                        .bytes = plain_product ? ll_compulsory_bytes(&task->problem)
                                               : ll_rows_bytes(kernel, task->work),
                        .size = ll_dtype_spread(stored),
                        .each = unit->vector.casts[stored]};
    c.time_s = c.bytes / c.size / (c.each * (double)unit->count * unit->clock_hz);
    return c;
}

double ll_cast_s(const struct ll_machine *machine, const struct ll_kernel *kernel, const struct ll_task *task)
{
    return cast(machine, kernel, task).time_s;
}

void ll_cast_explain(const struct ll_machine *machine, const struct ll_kernel *kernel,
                     const struct ll_task *task, struct ll_explain *why)
{
    const struct casting c = cast(machine, kernel, task);
    if (!c.unit)
        return;
    if (!task->is_gemm || task->work->kind != LL_WORK_GEMM)
        ll_rows_bytes_explain(kernel, task->work, why);
    ll_say(why, "%s, %s to %s and back: %.10g / %.10g / (%.10g * %" PRIu64 " * %.10g) = %.10g s",
           c.unit->name, ll_dtype_name((enum ll_dtype)task->work->dtype), ll_dtype_name(task->dtype), c.bytes,
           c.size, c.each, c.unit->count, c.unit->clock_hz, c.time_s);
}

/* What starting any op with a kernel costs the software. */
static double usual_start_s(const struct ll_machine *machine, const struct ll_kernel *kernel)
{
    return kernel->launch_overhead_s > 0 ? kernel->launch_overhead_s : machine->software.op_overhead_s;
}

/* Fills overhead_s, behind_s and more_s; way_s: what starting this way costs in all, 0: as any. Pure. */
static void cost_start(const struct ll_machine *machine, const struct ll_kernel *kernel, double way_s,
                       struct ll_cost *cost)
{
    cost->overhead_s = usual_start_s(machine, kernel);
    cost->behind_s = kernel->launch_overlap * cost->overhead_s;
    cost->more_s = fmax(0, way_s - (cost->overhead_s - cost->behind_s));
}

static bool moves_only(const struct ll_work *work)
{
    return work->kind == LL_WORK_MOVE || work->kind == LL_WORK_GATHER;
}

static bool can_run(const struct ll_machine *machine, const struct ll_unit *unit, const struct ll_work *work,
                    enum ll_dtype dtype)
{
    const struct ll_unit_model *model = ll_unit_model(unit->model);
    bool product = ll_is_gemm(work) && !ll_on_lanes(&machine->software, work);
    if (product ? !model->products : !model->elements)
        return false;
    return moves_only(work) || ll_unit_flops_per_cycle(unit, dtype) > 0;
}

/* Special kernels take single plain GEMMs whose sides suit them. */
static bool sides_suit(const struct ll_unit *unit, const struct ll_work *work)
{
    const struct ll_gemm *d = &work->gemm;
    uint64_t align = unit->align;
    return align == 0 || (work->kind == LL_WORK_GEMM && d->batch == 1 &&
                          (d->m % align == 0) + (d->n % align == 0) + (d->k % align == 0) >= 2);
}

/* Kernels that load pieces of lines take GEMMs whose lines are whole pieces: they run along n and k, but
 * for a left operand that is given transposed, whose m is not asked. Of convolutions by implicit GEMM these
 * are the channels of the image and of the result, which a pass that lays them out anew pads; others are
 * another library's. */
static bool lines_suit(const struct ll_machine *machine, const struct ll_unit *unit,
                       const struct ll_work *work)
{
    const struct ll_gemm *d = work->kind == LL_WORK_SEQUENCE ? &work->sequence.step : &work->gemm;
    const struct ll_conv *c = &work->conv;
    uint64_t each = ll_dtype_bits((enum ll_dtype)work->dtype), piece = 8 * unit->line_align;
    if (piece > 0 && work->kind == LL_WORK_CONV && unit->model == LL_UNIT_MATRIX &&
        unit->matrix.implicit_gemm_given && machine->software.layout_transform[work->dtype] == 0)
        return c->in_c / c->groups * each % piece == 0 && c->out_c / c->groups * each % piece == 0;
    bool asked = piece > 0 && !(work->along_k & LL_LINES_ELSEWHERE) &&
                 (work->kind == LL_WORK_GEMM || work->kind == LL_WORK_SEQUENCE);
    return !asked || (d->n * each % piece == 0 && d->k * each % piece == 0);
}

static bool suits(const struct ll_machine *machine, const struct ll_unit *unit, const struct ll_work *work)
{
    return sides_suit(unit, work) && lines_suit(machine, unit, work);
}

/* The first unit that names this kind in its `runs` and suits the work, or names it, or is without `runs`. */
static uint32_t unit_for(const struct ll_machine *machine, enum ll_op_kind kind, const struct ll_work *work,
                         enum ll_dtype dtype)
{
    enum { SUITS, LISTED, UNLISTED, TRIES };
    for (int try = SUITS; try < TRIES; try++)
        for (uint32_t i = 0; i < machine->unit_count; i++) {
            const struct ll_unit *unit = &machine->units[i];
            bool meant = try == UNLISTED ? !unit->runs_listed : unit->runs_listed && unit->runs[kind];
            if (meant && can_run(machine, unit, work, dtype) && (try != SUITS || suits(machine, unit, work)))
                return i;
        }
    return LL_NO_UNIT;
}

/* A batch of one GEMM is one GEMM to a library, whatever it was called for. */
static enum ll_op_kind run_as(enum ll_op_kind kind, const struct ll_work *work)
{
    bool single = kind == LL_OP_BATCH_MATMUL && work->kind == LL_WORK_GEMM && work->gemm.batch == 1;
    return single ? LL_OP_MATMUL : kind;
}

uint32_t ll_choose_unit(const struct ll_machine *machine, enum ll_op_kind kind, const struct ll_work *work,
                        enum ll_dtype *dtype)
{
    enum ll_dtype types[LL_DTYPE_COUNT];
    size_t count = ll_computed_as((enum ll_dtype)work->dtype, types);
    for (size_t i = 0; i < count; i++) {
        uint32_t unit = unit_for(machine, run_as(kind, work), work, types[i]);
        *dtype = types[i];
        if (unit != LL_NO_UNIT)
            return unit;
    }
    return LL_NO_UNIT;
}

const struct ll_unit_model *ll_unit_model(enum ll_unit_kind kind)
{
    static const struct ll_unit_model *const models[] = {
#define LL_UNIT_MODEL(word, ...) &ll_cost_##word,
#include "sim/machine/unit_models.def"
#undef LL_UNIT_MODEL
    };
    assert(kind < LL_UNIT_MODEL_COUNT);
    return models[kind];
}

/* The most, of all instances halved again and again, that are fewer than the unit employs. */
static uint64_t fewer_at_work(const struct ll_unit *unit, const struct ll_task *task)
{
    uint64_t count = ll_max(unit->count, task->instances);
    while (count >= unit->count && count > 1)
        count = ll_ceil_div(count, 2);
    return count;
}

uint32_t ll_counts_at_work(const struct ll_unit *unit, const struct ll_task *task)
{
    if (unit->count <= 1)
        return 1;
    uint32_t ways = 2;
    for (uint64_t count = fewer_at_work(unit, task); count > 1; count = ll_ceil_div(count, 2))
        ways++;
    return ways;
}

uint64_t ll_count_at_work(const struct ll_unit *unit, const struct ll_task *task, uint32_t way)
{
    if (way == 0)
        return unit->count;
    uint64_t count = fewer_at_work(unit, task);
    for (uint32_t i = 1; i < way; i++)
        count = ll_ceil_div(count, 2);
    return count;
}

static uint64_t part(uint64_t size, uint64_t parts, uint64_t grain)
{
    uint64_t grains = ll_ceil_div(ll_ceil_div(size, grain), parts);
    return ll_min(size, ll_mul(grains, grain));
}

double ll_gemm_macs(const struct ll_gemm *dims)
{
    return (double)dims->batch * (double)dims->m * (double)dims->n * (double)dims->k;
}

struct ll_split ll_split(const struct ll_gemm *dims, uint64_t batches, uint64_t rows, uint64_t columns,
                         uint64_t row_grain, uint64_t column_grain)
{
    struct ll_gemm share = {.batch = part(dims->batch, batches, 1),
                            .m = part(dims->m, rows, row_grain),
                            .n = part(dims->n, columns, column_grain),
                            .k = dims->k};
    return (struct ll_split){.share = share,
                             .used = ll_ceil_div(dims->batch, share.batch) * ll_ceil_div(dims->m, share.m) *
                                     ll_ceil_div(dims->n, share.n)};
}

/* Rows and columns of operands that a part loads, of so many parts of a GEMM side by side in `columns`. */
static uint64_t loaded(const struct ll_gemm *dims, uint64_t parts, uint64_t columns)
{
    return ll_ceil_div(dims->n, columns) + ll_ceil_div(dims->m, parts / columns);
}

struct ll_split ll_split_evenly(const struct ll_gemm *dims, uint64_t count)
{
    uint64_t batches = ll_min(dims->batch, count), rest = count / batches, most = ll_min(dims->n, rest);
    double m = (double)dims->m, n = (double)dims->n, all = (double)rest;
    /* Were all numbers whole, n / columns + m * columns / rest would be loaded, which is least at their
     * geometric mean and grows on both sides of it: no number is better from where that is worse. */
    uint64_t middle = (uint64_t)fmin(fmax(sqrt(all * n / m), 1), (double)most), best = middle;
    for (int step = -1; step <= 1; step += 2)
        for (uint64_t columns = middle + (uint64_t)step; columns >= 1 && columns <= most;
             columns += (uint64_t)step) {
            if (n / (double)columns + m * (double)columns / all >= (double)loaded(dims, rest, best))
                break;
            if (loaded(dims, rest, columns) < loaded(dims, rest, best))
                best = columns;
        }
    return ll_split(dims, batches, rest / best, best, 1, 1);
}

double ll_unit_bytes(const struct ll_task *task, const struct ll_gemm *share, double shares,
                     const double passes[LL_OPERAND_COUNT], double by_operand[LL_OPERAND_COUNT])
{
    const struct ll_gemm *whole = &task->problem.dims;
    double batch = (double)share->batch / (double)whole->batch, m = (double)share->m / (double)whole->m;
    double n = (double)share->n / (double)whole->n, k = (double)share->k / (double)whole->k;
    const double parts[LL_OPERAND_COUNT] = {passes[LL_OPERAND_A] * task->unit_pass[LL_OPERAND_A] * m * k,
                                            passes[LL_OPERAND_B] * task->unit_pass[LL_OPERAND_B] * k * n,
                                            passes[LL_OPERAND_C] * task->unit_pass[LL_OPERAND_C] * m * n};
    for (int i = 0; by_operand && i < LL_OPERAND_COUNT; i++)
        by_operand[i] = shares * batch * parts[i];
    return shares * batch * (parts[LL_OPERAND_A] + parts[LL_OPERAND_B] + parts[LL_OPERAND_C]);
}

/* The order of a cost: which unit, which variant of the work, which of the unit's ways; the rest follows
 * (kernel_model.c). */

/* What dependent steps cost beside their work: the device waits for each, however far ahead the host is. */
static double steps_s(const struct ll_kernel_timing *s)
{
    bool sequence = s->task.work->kind == LL_WORK_SEQUENCE;
    return sequence ? (double)s->task.steps * s->machine->software.step_overhead_s : 0;
}

/* The unit to which work is assigned, the kernel that drives it, the type in which it computes. */
struct assignment {
    const struct ll_machine *machine;
    const struct ll_kernel *kernel;
    const struct ll_work *work; /* of the op */
    const struct ll_warm_bytes *found;
    const struct ll_cost *alone; /* what was chosen without them; NULL: not asked for */
    uint32_t unit;
    enum ll_dtype dtype;
};

/* The kernel of a variant. GEMMs between the passes of a transform are those of a library, whose stages all
 * overlap. */
static struct ll_kernel kernel_of(const struct assignment *assigned, const struct ll_variant *variant)
{
    struct ll_kernel kernel = *assigned->kernel;
    const struct ll_work *work = &variant->work;
    bool strided = work->kind == LL_WORK_CONV && (work->conv.stride_h > 1 || work->conv.stride_w > 1);
    if (strided && kernel.strided_efficiency > 0)
        kernel.compute_efficiency *= kernel.strided_efficiency;
    if (variant->transform && !variant->transform->fused)
        kernel.serial = 0;
    return kernel;
}

/* What moving bytes before and behind the work proper takes, by kernels that do nothing else: in seconds. */
static double pass_apart_s(const struct ll_machine *machine, const struct ll_kernel *kernel,
                           const struct ll_variant *variant)
{
    double share = variant->apart_share > 0 ? variant->apart_share : 1;
    return variant->apart_bytes / (ll_machine_memory_Bps(machine) * (kernel->bandwidth_efficiency * share));
}

/* How the cost of an op on a unit comes about. Fields refer to each other: it stays where it is. */
struct derivation {
    bool kept; /* the cost is that on an empty machine, since nothing is faster: nothing was derived */
    const struct ll_variant *variant;
    struct ll_kernel kernel;
    struct ll_task whole; /* before zeros are skipped */
    struct ll_kernel_timing sized;
    struct ll_chosen chosen;
    double apart_s; /* of the variant, before and after the rest */
};

/* Whether the kernels of a library do it (gemm_kernels.c): not what goes on between the GEMMs of an
 * attention. */
static bool by_library(const struct ll_kernel_timing *s)
{
    const struct ll_work *work = s->task.work;
    if (s->unit.model != LL_UNIT_MATRIX || !s->task.is_gemm)
        return false;
    if (work->kind == LL_WORK_CONV)
        return s->unit.matrix.implicit_gemm_given;
    return s->unit.matrix.gemm_given && work->between == 0 && !(work->along_k & LL_LINES_ELSEWHERE) &&
           ll_dtype_bits(s->task.dtype) <= 16;
}

/* Which unit, kernel and type a variant runs on, and how many units. */
static void size_up(const struct assignment *assigned, const struct ll_variant *variant, struct derivation *d)
{
    const struct ll_machine *machine = assigned->machine;
    const struct ll_unit *unit = &machine->units[assigned->unit];
    const struct ll_work *work = &variant->work;
    struct ll_kernel_timing *s = &d->sized;
    d->variant = variant;
    d->kernel = kernel_of(assigned, variant);
    *s = (struct ll_kernel_timing){
        .machine = machine,
        .kernel = &d->kernel,
        .unit = *unit,
        .all = unit->count,
        .task = ll_task_of(work, assigned->dtype),
        .op = assigned->work,
        .found = assigned->found,
        .unit_index = assigned->unit,
        .made = assigned->work->flops > 0 ? (double)work->flops / (double)assigned->work->flops : 1,
    };
    s->task.instances = unit->count;
    if (unit->sum_bytes > 0 && s->task.is_gemm)
        ll_sum_in(&s->task, unit->sum_bytes);
    ll_conv_core_pack(unit, &s->task);
    ll_systolic_pack(unit, &s->task);
    s->unit.efficiency *= ll_rows_compute(s->kernel, work) * variant->rate;
    ll_variant_binds(variant, &s->task);
    if (variant->skips) {
        d->whole = s->task;
        ll_skip_zeros(&s->task, unit);
    }
    ll_store_zeros(&s->task, unit);
    s->unit.count = ll_kernel_time_units(s);
    s->by_library = by_library(s);
    if (s->by_library && work->kind == LL_WORK_CONV)
        s->unit.matrix.gemm = s->unit.matrix.implicit_gemm;
    s->task.linear = s->by_library ? ll_linear_kernel_of(machine, work, assigned->dtype) : NULL;
    ll_kernel_time_start(s);
}

/* What weights take that come while nothing else goes on. */
static double weights_wait_s(const struct derivation *d)
{
    const struct ll_kernel_timing *s = &d->sized;
    return (double)s->task.steps * d->chosen.way.wait_cycles / (s->unit.clock_hz * s->unit.efficiency);
}

/* False, without a cost, where the variant alone takes longer than limit_s, its launch included. */
static bool cost_variant(const struct assignment *assigned, const struct ll_variant *variant, double limit_s,
                         struct ll_cost *cost, struct derivation *d)
{
    const struct ll_machine *machine = assigned->machine;
    size_up(assigned, variant, d);
    const struct ll_kernel_timing *s = &d->sized;
    *cost = (struct ll_cost){.unit = assigned->unit,
                             .clock_hz = s->unit.clock_hz,
                             .serial = d->kernel.serial,
                             .made = s->made,
                             .zeros = s->task.zeros};
    cost_start(machine, &d->kernel, variant->overhead_s, cost);
    cost->apart_s = steps_s(s);
    cost->gap_s = machine->software.gap_s;
    d->kept = assigned->alone && ll_kernel_time_keeps(s, assigned->alone);
    if (d->kept) {
        *cost = *assigned->alone;
        return true;
    }
    d->apart_s = 0;
    if (variant->apart_bytes > 0) {
        d->apart_s = pass_apart_s(machine, assigned->kernel, variant) +
                     variant->layout_kernels * machine->software.step_overhead_s;
        cost->apart_bytes = variant->apart_bytes;
        cost->apart_s += d->apart_s;
    }
    double other_s = cost->overhead_s - cost->behind_s + cost->more_s + cost->apart_s + cost->gap_s;
    if (isfinite(limit_s) && !ll_kernel_time_is_within(s, limit_s - other_s))
        return false;
    ll_kernel_time(s, cost, &d->chosen);
    cost->apart_s += weights_wait_s(d);
    cost->array_j = (double)s->task.steps * d->chosen.way.array_j;
    cost->made *= d->chosen.way.made > 0 ? d->chosen.way.made : 1;
    return true;
}

/* What is asked: of an op's work on a machine, one way or whichever is the fastest. */
struct question {
    const struct ll_machine *machine;
    enum ll_op_kind kind;
    const struct ll_work *work;
    uint32_t way;
    const struct ll_cache_context *beside; /* NULL: on an empty machine */
    struct ll_cost
        *each; /* of whichever is the fastest: room for the costs of all, by variant; NULL: for none */
};

/* Of work that no unit does; true where it is such, and *cost is filled. */
static bool needs_no_unit(const struct question *q, struct ll_cost *cost)
{
    switch (q->work->kind) {
    case LL_WORK_WAIT: /* only the recording knows how long */
    case LL_WORK_NOTHING:
        return true;
    case LL_WORK_SWAP:
        host_swaps(&q->machine->host, q->work, cost);
        return true;
    case LL_WORK_HOST:
        host_sends(&q->machine->host, q->kind, q->work, cost);
        return true;
    default:
        return false;
    }
}

/* The kernel, the unit and the type of number; false when no unit takes the work. */
static bool assign_unit(const struct question *q, struct assignment *assigned)
{
    *assigned = (struct assignment){
        .machine = q->machine, .kernel = ll_machine_kernel(q->machine, q->kind, q->work), .work = q->work};
    if (q->beside) {
        assigned->found = q->beside->found;
        assigned->alone = q->beside->alone;
    }
    assigned->unit = ll_choose_unit(q->machine, q->kind, q->work, &assigned->dtype);
    return assigned->unit != LL_NO_UNIT;
}

/* The variants of the work, and how the cost of the one that is taken comes about. */
struct answer {
    struct assignment assigned;
    struct ll_variant variants[LL_MOST_VARIANTS];
    struct derivation tried[2], *derivation; /* the best one so far, and the one that is tried next */
    bool fused;                              /* the software has a kernel for all of the op (attention.h) */
    bool whole;                              /* or its unit does it as a whole, */
    const char *trouble;                     /* unless it cannot; NULL: it can */
    struct ll_work as_gemm;                  /* what stands for it where it has none */
};

/* What follows from the cost of a variant, of so many. */
static void end_cost(const struct question *q, const struct answer *a, uint32_t way, uint32_t count,
                     struct ll_cost *cost)
{
    const struct ll_variant *variant = &a->variants[way];
    if (q->machine->overlay_count > 0)
        cost->overlay = ll_overlay_of(q->machine, a->assigned.kernel, q->work, cost);
    cost->next_to_found = q->beside != NULL;
    cost->way = way;
    cost->ways = count;
    if (variant->name && variant->work.flops > 0)
        cost->utilization *= (double)q->work->flops / (double)variant->work.flops;
}

/* The best variant so far. */
struct best {
    uint32_t index;
    struct ll_merit merit;
    double device_s;
};
static const struct best no_best = {0, {INFINITY, INFINITY}, INFINITY};

/* Whether this one is better, which then takes its place. */
static bool takes_place(const struct assignment *assigned, const struct ll_cost *tried, uint32_t index,
                        struct best *best)
{
    struct ll_timing timing;
    ll_cost_time(assigned->machine, tried, assigned->found, &timing);
    double alone_s = ll_timing_alone_s(&timing);
    struct ll_merit merit = ll_cost_merit(assigned->machine, assigned->work, tried, assigned->found, alone_s);
    bool sooner = merit.first == best->merit.first && timing.time_s != best->device_s;
    if (sooner ? timing.time_s >= best->device_s : !ll_is_better(merit, best->merit))
        return false;
    *best = (struct best){index, merit, timing.time_s};
    return true;
}

/* Which of the variants is the best, with what earlier ops left, and its cost; of equals that which leaves
 * the device sooner, the first of these. One that cannot be the best is costed only where each is asked
 * for. */
static uint32_t best_variant(const struct question *q, struct answer *a, uint32_t count, struct ll_cost *cost)
{
    const struct assignment *assigned = &a->assigned;
    const bool limited = assigned->machine->software.objective == LL_OBJECTIVE_TIME && !q->each;
    uint32_t spare = 0;
    struct best best = no_best;
    for (uint32_t i = 0; i < count; i++) {
        struct ll_cost tried;
        if (!cost_variant(assigned, &a->variants[i], limited ? best.merit.first * (1 + 1e-9) : INFINITY,
                          &tried, &a->tried[spare]))
            continue;
        if (q->each) {
            q->each[i] = tried;
            end_cost(q, a, i, count, &q->each[i]);
        }
        if (!takes_place(assigned, &tried, i, &best))
            continue;
        *cost = tried;
        a->derivation = &a->tried[spare];
        spare = 1 - spare;
    }
    return best.index;
}

static void cost_on_unit(const struct question *q, struct answer *a, struct ll_cost *cost)
{
    const struct ll_unit_model *model = ll_unit_model(q->machine->units[a->assigned.unit].model);
    if (model->whole) {
        a->whole = a->fused = true;
        cost->unit = a->assigned.unit;
        cost_start(q->machine, a->assigned.kernel, 0, cost);
        cost->gap_s = q->machine->software.gap_s;
        a->trouble = model->whole(q->machine, a->assigned.unit, q->work, a->assigned.dtype, cost);
        return;
    }
    uint32_t count = (uint32_t)ll_variants(&q->machine->software, q->work, a->variants), taken = q->way;
    a->derivation = &a->tried[0];
    if (q->way == LL_FASTEST && count > 1)
        taken = best_variant(q, a, count, cost);
    else
        cost_variant(&a->assigned, &a->variants[taken = taken == LL_FASTEST ? 0 : taken], INFINITY, cost,
                     a->derivation);
    if (!a->derivation->kept)
        end_cost(q, a, taken, count, cost);
}

/* Whether software may have one kernel for all of such work (attention.h, experts.h). */
static bool may_be_fused(const struct ll_work *work)
{
    return work->kind == LL_WORK_ATTENTION || work->kind == LL_WORK_EXPERTS;
}

/* Whether it is a cast for a quantized linear layer, for which software may have a kernel (linear.h). */
static bool quantizes(const struct ll_work *work)
{
    return work->kind == LL_WORK_MOVE && work->linear > 0;
}

static const char no_unit[] = "no unit of this machine runs such work in this dtype or a wider one";

/* Where the software has no kernel for it, such work is done as a GEMM. */
static bool cost_fused(const struct question *q, struct ll_cost *cost, struct answer *answer,
                       const char **trouble)
{
    bool attends = q->work->kind == LL_WORK_ATTENTION, launches;
    answer->fused = attends ? ll_attention_cost(q->machine, q->kind, q->work, cost, &launches)
                            : ll_experts_cost(q->machine, q->kind, q->work, cost, &launches, trouble);
    if (answer->fused && !launches) {
        cost_start(q->machine, ll_machine_kernel(q->machine, q->kind, q->work), 0, cost);
        cost->gap_s = q->machine->software.gap_s;
    }
    if (answer->fused || *trouble)
        return answer->fused;
    struct question as_gemm = *q;
    answer->as_gemm = attends ? ll_attention_as_gemm(q->work) : ll_experts_as_gemm(q->work);
    as_gemm.work = &answer->as_gemm;
    if (!assign_unit(&as_gemm, &answer->assigned)) {
        *trouble = no_unit;
        return false;
    }
    cost_on_unit(&as_gemm, answer, cost);
    *trouble = answer->trouble;
    return *trouble == NULL;
}

/* *answer is filled where the cost has a unit. */
static bool cost_op(const struct question *q, struct ll_cost *cost, struct answer *answer,
                    const char **trouble)
{
    assert(q->kind < LL_OP_NONE && q->work->kind < LL_WORK_COUNT && q->machine->level_count > 0);
    *cost = (struct ll_cost){.unit = LL_NO_UNIT, .ways = 1};
    *trouble = NULL;
    answer->fused = answer->whole = false;
    answer->trouble = NULL;
    if (needs_no_unit(q, cost))
        return true;
    bool fused = may_be_fused(q->work);
    answer->fused = quantizes(q->work) && ll_quantize_cost(q->machine, q->work, cost);
    if (answer->fused)
        return true;
    if (q->work->kind == LL_WORK_COLLECTIVE)
        *trouble = "devices exchange data here, which one device alone cannot be asked about";
    else if (fused)
        return cost_fused(q, cost, answer, trouble);
    else if (!assign_unit(q, &answer->assigned))
        *trouble = no_unit;
    else
        cost_on_unit(q, answer, cost);
    if (answer->trouble)
        *trouble = answer->trouble;
    return *trouble == NULL;
}

/* What the machine's table of measured kernels says of the work, whichever way it is done. */
static void look_up(const struct question *q, struct ll_cost *cost)
{
    if (!q->machine->table || cost->unit == LL_NO_UNIT)
        return;
    cost->table = (struct ll_tabled){ll_kernel_table_ask(q->machine, q->kind, q->work),
                                     ll_kernel_least_s(q->machine, q->work, cost->unit, cost->made),
                                     ll_kernel_least_bytes(q->work)};
}

bool ll_cost_op(const struct ll_machine *machine, enum ll_op_kind kind, const struct ll_work *work,
                struct ll_cost *cost, const char **trouble)
{
    const struct question question = {machine, kind, work, LL_FASTEST, NULL, NULL};
    struct answer answer;
    bool costed = cost_op(&question, cost, &answer, trouble);
    if (costed)
        look_up(&question, cost);
    return costed;
}

uint32_t ll_cost_algorithms(const struct ll_machine *machine, enum ll_op_kind kind,
                            const struct ll_work *work, struct ll_cost costs[LL_MOST_ALGORITHMS],
                            const char **trouble)
{
    const struct question question = {machine, kind, work, LL_FASTEST, NULL, costs};
    struct answer answer;
    struct ll_cost fastest;
    if (!cost_op(&question, &fastest, &answer, trouble))
        return 0;
    costs[fastest.way] = costs[0];
    costs[0] = fastest;
    for (uint32_t i = 0; i < fastest.ways; i++)
        look_up(&question, &costs[i]);
    return fastest.ways;
}

/* The first of the costs and that of the variant which is there, so that those of all variants are in
 * order, or the fastest is the first. */
static void change_places(struct ll_cost *costs, uint32_t way)
{
    const struct ll_cost first = costs[0];
    costs[0] = costs[way];
    costs[way] = first;
}

/* Whether what starting takes is more to a variant than a launch: dependent steps, or kernels that lay out
 * operands anew. */
static bool starts_often(const struct ll_variant *variants, uint32_t count)
{
    bool often = false;
    for (uint32_t i = 0; i < count; i++)
        often = often || variants[i].work.kind == LL_WORK_SEQUENCE || variants[i].layout_kernels > 0;
    return often;
}

bool ll_cost_restart(const struct ll_machine *machine, enum ll_op_kind kind, const struct ll_work *work,
                     struct ll_cost *costs)
{
    const struct question question = {machine, kind, work, LL_FASTEST, NULL, NULL};
    struct ll_variant variants[LL_MOST_VARIANTS];
    struct assignment assigned;
    struct best best = no_best;
    if (costs->unit == LL_NO_UNIT)
        return true;
    if (machine->overlay_count > 0 || machine->table || may_be_fused(work) || quantizes(work) ||
        !assign_unit(&question, &assigned))
        return false;
    if (ll_unit_model(machine->units[assigned.unit].model)->whole) {
        cost_start(machine, assigned.kernel, 0, costs);
        return true;
    }
    uint32_t count = (uint32_t)ll_variants(&machine->software, work, variants);
    assert(count == costs->ways && assigned.unit == costs->unit);
    if (starts_often(variants, count))
        return false;
    change_places(costs, costs->way);
    for (uint32_t i = 0; i < count; i++) {
        const struct ll_kernel kernel = kernel_of(&assigned, &variants[i]);
        cost_start(machine, &kernel, variants[i].overhead_s, &costs[i]);
        if (count > 1)
            takes_place(&assigned, &costs[i], i, &best);
    }
    change_places(costs, best.index);
    return true;
}

void ll_cost_algorithm(const struct ll_machine *machine, enum ll_op_kind kind, const struct ll_work *work,
                       uint32_t way, const struct ll_cache_context *beside, struct ll_cost *cost)
{
    const struct question question = {machine, kind, work, way, beside, NULL};
    struct answer answer;
    const char *trouble;
    if (cost_op(&question, cost, &answer, &trouble))
        look_up(&question, cost);
}

bool ll_cost_ask_timing(const struct ll_machine *machine, enum ll_op_kind kind, const struct ll_work *work,
                        ll_timing_ask *ask, void *context)
{
    const struct question question = {machine, kind, work, LL_FASTEST, NULL, NULL};
    struct ll_variant variants[LL_MOST_VARIANTS];
    struct derivation d;
    struct assignment assigned;
    struct ll_cost none;
    if (needs_no_unit(&question, &none) || may_be_fused(work) || quantizes(work) ||
        work->kind == LL_WORK_COLLECTIVE || !assign_unit(&question, &assigned) ||
        ll_unit_model(machine->units[assigned.unit].model)->whole ||
        ll_variants(&machine->software, work, variants) != 1 || variants->apart_bytes != 0 ||
        variants->overhead_s != 0)
        return false;
    size_up(&assigned, variants, &d);
    return ask(&d.sized, context);
}

bool ll_cost_is_reuse_sensitive(const struct ll_machine *machine, const struct ll_cost *cost,
                                const struct ll_warm_bytes *found)
{
    bool near = false, any = false, shared = false;
    uint64_t near_levels = ll_private_levels(machine);
    for (uint64_t l = 0; l < machine->level_count; l++) {
        near = near || (l < near_levels && found->saved_bytes[l] > 0);
        any = any || found->saved_bytes[l] > 0;
        shared = shared || found->shared_bytes[l] > 0; /* more units are sooner done with that */
    }
    return cost->reuse_sensitivity == LL_REUSE_MATTERS
               ? any || shared
               : cost->reuse_sensitivity == LL_REUSE_MATTERS_NEAR && (near || shared);
}

struct ll_bounds ll_cost_bounds(const struct ll_machine *machine, enum ll_op_kind kind,
                                const struct ll_work *work)
{
    const struct question question = {machine, kind, work, LL_FASTEST, NULL, NULL};
    struct answer answer;
    struct ll_cost cost;
    struct ll_timing timing;
    struct ll_tile_nest nest;
    const char *trouble;
    if (!cost_op(&question, &cost, &answer, &trouble) || cost.unit == LL_NO_UNIT)
        return (struct ll_bounds){0};
    if (answer.fused) {
        ll_cost_time(machine, &cost, NULL, &timing);
        return (struct ll_bounds){timing.time_s, timing.time_s};
    }
    const struct derivation *d = answer.derivation;
    cost.overlay = (struct ll_correction){0};
    cost.table = (struct ll_tabled){0};
    cost.apart_s = steps_s(&d->sized) + weights_wait_s(d); /* no tile waits for passes of their own */
    ll_cost_time(machine, &cost, NULL, &timing);
    struct ll_bounds bounds = {timing.time_s, timing.time_s};
    if (ll_kernel_time_tiles(&d->sized, &d->chosen, &nest))
        bounds.pipelined_s = ll_tiled_s(machine, &cost, &nest);
    bounds.bound_s += d->apart_s;
    bounds.pipelined_s += d->apart_s;
    return bounds;
}

/* --- explain --- */

static void explain_input(const struct ll_host *host, enum ll_op_kind kind, const struct ll_work *work,
                          const struct ll_cost *cost, struct ll_explain *why)
{
    if (host->bandwidth_Bps == 0) {
        ll_say(why, "inputs are there already: 0 = 0 s");
        return;
    }
    double way_s = host_latency_s(host, kind) + (double)work->c_bytes / host->bandwidth_Bps;
    if (cost->prepare_s > 0)
        ll_say(why, "prepared by the host: %" PRIu64 " / (%.10g * %.10g) = %.10g s", work->c_bytes,
               prepare_Bps(host, kind), (double)ll_max(1, host->workers), cost->prepare_s);
    ll_say(why, "from the host: %.10g + %" PRIu64 " / %.10g = %.10g s", host_latency_s(host, kind),
           work->c_bytes, host->bandwidth_Bps, way_s);
    if (cost->prepare_s > 0)
        ll_say(why, "both: %.10g + %.10g = %.10g s", cost->prepare_s, way_s, cost->host_s);
}

/* Of work that no unit does. */
static void explain_without_unit(const struct question *q, const struct ll_cost *cost, struct ll_explain *why)
{
    const struct ll_host *host = &q->machine->host;
    ll_explain_group(why, "total");
    if (q->work->kind == LL_WORK_NOTHING)
        ll_say(why, "a view, which moves and computes nothing: 0 = 0 s");
    else if (q->work->kind == LL_WORK_HOST)
        explain_input(host, q->kind, q->work, cost, why);
    else if (q->work->kind == LL_WORK_SWAP && host->bandwidth_Bps == 0)
        ll_say(why, "nothing is known of the way to the host: 0 = 0 s");
    else if (q->work->kind == LL_WORK_SWAP)
        ll_say(why, "between host and device: %.10g + %" PRIu64 " / %.10g = %.10g s", host->latency_s,
               ll_max(q->work->a_bytes, q->work->c_bytes), host->bandwidth_Bps, cost->host_s);
}

/* What starting the op takes beside the usual overhead, and dependent steps. */
static void explain_start(const struct derivation *d, const struct ll_cost *cost, struct ll_explain *why)
{
    const struct ll_kernel_timing *s = &d->sized;
    double each_s = s->machine->software.step_overhead_s, all_s = steps_s(s);
    if (cost->behind_s > 0)
        ll_say(why, "of the overhead, while the device works already: %.10g * %.10g = %.10g s",
               d->kernel.launch_overlap, cost->overhead_s, cost->behind_s);
    if (cost->more_s > 0)
        ll_say(why, "to start all kernels of this way, beyond that: %.10g - (%.10g - %.10g) = %.10g s",
               d->variant->overhead_s, cost->overhead_s, cost->behind_s, cost->more_s);
    if (all_s > 0)
        ll_say(why, "between steps: %" PRIu64 " * %.10g = %.10g s", s->task.steps, each_s, all_s);
}

static void explain_unit(const struct answer *a, const struct ll_cost *cost, struct ll_explain *why)
{
    const struct derivation *d = a->derivation;
    const struct ll_machine *machine = a->assigned.machine;
    const struct ll_unit *unit = &machine->units[a->assigned.unit];
    const struct ll_work *work = &d->variant->work;
    ll_explain_group(why, "shape");
    ll_variant_explain(d->variant, a->assigned.work, why);
    if (d->variant->skips)
        ll_zeros_explain(&d->whole, unit, why);
    ll_elements_explain(&d->sized.task, why);
    ll_explain_group(why, "kernel");
    if (d->variant->rate != 1)
        ll_say(why, "%s, share of its rate by this algorithm: %.10g * %.10g = %.10g", unit->name,
               unit->efficiency, d->variant->rate, unit->efficiency * d->variant->rate);
    ll_say(why, "%s of %s runs on %s, computed in %s", ll_work_name((enum ll_work_kind)work->kind),
           ll_dtype_name((enum ll_dtype)work->dtype), unit->name, ll_dtype_name(a->assigned.dtype));
    ll_kernel_time_explain(&d->sized, why);
    explain_start(d, cost, why);
    ll_chosen_explain(&d->sized, &d->chosen, cost, why);
    ll_explain_group(why, "tile by tile");
    struct ll_tile_nest nest;
    struct ll_cost proper = *cost; /* no tile waits for passes of their own */
    proper.apart_s = steps_s(&d->sized) + weights_wait_s(d);
    proper.overlay = (struct ll_correction){0};
    proper.table = (struct ll_tabled){0};
    if (ll_kernel_time_tiles(&d->sized, &d->chosen, &nest))
        ll_tiled_explain(machine, &proper, &nest, why);
    ll_explain_group(why, "overlap");
    if (d->chosen.way.wait_cycles > 0)
        ll_say(why,
               "weights that come while nothing else goes on: %" PRIu64
               " * %.10g / (%.10g * %.10g) = %.10g s",
               d->sized.task.steps, d->chosen.way.wait_cycles, d->sized.unit.clock_hz,
               d->sized.unit.efficiency, weights_wait_s(d));
    if (d->apart_s > 0) {
        const struct ll_level *outermost = &machine->levels[machine->level_count - 1];
        ll_say(why, "passes apart: %.10g / (%.10g * %.10g * %.10g * %.10g) + %.10g * %.10g = %.10g s",
               d->variant->apart_bytes, outermost->bandwidth_Bps, outermost->efficiency,
               a->assigned.kernel->bandwidth_efficiency,
               d->variant->apart_share > 0 ? d->variant->apart_share : 1, d->variant->layout_kernels,
               machine->software.step_overhead_s, d->apart_s);
    }
}

bool ll_cost_explain(const struct ll_machine *machine, enum ll_op_kind kind, const struct ll_work *work,
                     uint32_t way, const struct ll_cache_context *beside, struct ll_explain *why)
{
    const struct question question = {machine, kind, work, way, beside, NULL};
    struct answer answer;
    struct ll_cost cost;
    const char *trouble;
    if (!cost_op(&question, &cost, &answer, &trouble))
        return false;
    if (cost.unit == LL_NO_UNIT)
        explain_without_unit(&question, &cost, why);
    else if (answer.whole)
        ll_unit_model(machine->units[cost.unit].model)
            ->whole_explain(machine, cost.unit, may_be_fused(work) ? &answer.as_gemm : work,
                            answer.assigned.dtype, why);
    else if (answer.fused && work->kind == LL_WORK_EXPERTS)
        ll_experts_explain(machine, kind, work, why);
    else if (answer.fused && quantizes(work))
        ll_quantize_cost_explain(machine, work, why);
    else if (answer.fused)
        ll_attention_explain(machine, kind, work, why);
    else if (!answer.derivation->kept)
        explain_unit(&answer, &cost, why);
    return true;
}
