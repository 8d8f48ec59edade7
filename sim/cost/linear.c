/* SPDX-License-Identifier: Apache-2.0 */
/* Quantized linear layers: which kernel of the software runs one, and how long quantizing its activations
 * takes.
 *
 * Activations of 16 bits are read, once or more often, and written in fewer, by blocks of threads, each with
 * a row or a part of one, two on a unit:
 *
 *       time = launch + max(bytes / (units that have a block * bandwidth of one),
 *                           ceil(rows / (2 * units)) * life of a block, bytes / outermost level)
 *
 * A measured layer does this within; in a trace it is a cast before the GEMM, whose activations then come
 * quantized. */
#include "sim/cost/linear.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>

static const struct {
    enum ll_dtype dtype; /* of the arithmetic */
    bool quantizes;      /* whether activations of 16 bits are quantized first */
} formats[] = {
#define X(word, name, weight, activation, dtype, quantized) {LL_##dtype, quantized},
    LL_LINEAR_FORMAT_LIST(X)
#undef X
};

/* --- which kernel --- */

/* The first kernel for a format, of the backend that is asked for if it has one. */
static const struct ll_linear_kernel *kernel_for(const struct ll_software *software, unsigned format,
                                                 unsigned backend)
{
    const struct ll_linear_kernel *first = NULL;
    for (uint64_t i = 0; i < software->linear_count; i++) {
        const struct ll_linear_kernel *kernel = &software->linear[i];
        if (!(kernel->formats >> format & 1))
            continue;
        if (kernel->backend == LL_LINEAR_BY_ANY || kernel->backend == backend)
            return kernel;
        first = first ? first : kernel;
    }
    return first;
}

const struct ll_linear_kernel *ll_linear_kernel_of(const struct ll_machine *machine,
                                                   const struct ll_work *work, enum ll_dtype computed)
{
    const struct ll_software *software = &machine->software;
    if (work->linear == 0 || software->linear_count == 0)
        return NULL;
    unsigned asked = work->linear - 1;
    uint64_t bits = ll_dtype_bits(computed);
    const struct ll_linear_kernel *kernel = NULL, *other = NULL;
    if (ll_dtype_bits(formats[asked].dtype) == bits)
        kernel = kernel_for(software, asked, work->linear_backend);
    for (unsigned i = 0; !kernel && i < LL_LINEAR_FORMAT_COUNT; i++) {
        if (ll_dtype_bits(formats[i].dtype) != bits)
            continue;
        if (formats[i].quantizes == formats[asked].quantizes)
            kernel = kernel_for(software, i, work->linear_backend);
        else
            other = other ? other : kernel_for(software, i, work->linear_backend);
    }
    return kernel ? kernel : other;
}

/* --- quantizing --- */

/* What a cache of C bytes keeps from one kernel to the next: all where it has to hold less than .4 C, nothing
 * above .8 C, evenly less in between; as save_activations (sim/validate/predict.c). */
static double kept(double bytes, double size)
{
    return fmax(0, fmin(1, 2 - bytes / size / 0.4));
}

/* Rows of so many bytes in all before and after. */
static struct ll_quantizing quantize(const struct ll_machine *machine, const struct ll_unit *unit,
                                     const struct ll_linear_kernel *kernel, double rows, double wide,
                                     double narrow)
{
    const struct ll_level *outermost = &machine->levels[machine->level_count - 1];
    double count = (double)unit->count;
    double size = machine->level_count > 1
                      ? (double)outermost[-1].size_bytes *
                            (double)ll_machine_instances(machine, machine->level_count - 2)
                      : 1;
    struct ll_quantizing q = {.moved = fmax(1, kernel->quantize_passes) * wide + narrow,
                              .busy = fmin(count, rows * (double)ll_max(1, kernel->row_blocks)),
                              .rows_s = ceil(rows / (2 * count)) * kernel->quantize_row_s,
                              .kept = kept(2 * wide, size),
                              .warm = kept(3 * narrow, size)};
    q.units_s = q.moved / (q.busy * kernel->quantize_bandwidth * unit->clock_hz);
    q.memory_s =
        q.moved * (1 - q.kept) / (ll_machine_memory_Bps(machine) * unit->matrix.gemm.dram_efficiency);
    q.time_s = kernel->quantize_s + fmax(q.units_s, fmax(q.rows_s, q.memory_s));
    return q;
}

struct ll_quantizing ll_quantize(const struct ll_machine *machine, const struct ll_unit *unit,
                                 const struct ll_task *task)
{
    const struct ll_linear_kernel *kernel = task->linear;
    const struct ll_gemm *d = &task->problem.dims;
    if (!formats[task->work->linear - 1].quantizes || kernel->quantize_bandwidth == 0)
        return (struct ll_quantizing){.time_s = kernel->quantize_s};
    if (task->work->quantized || (machine->software.serves && kernel->quantize_fused))
        return (struct ll_quantizing){0};
    double rows = (double)d->batch * (double)d->m;
    return quantize(machine, unit, kernel, rows, 2 * rows * (double)d->k, (double)task->work->a_bytes);
}

/* As an op of its own. */
struct alone {
    const struct ll_linear_kernel *kernel;
    const struct ll_unit *unit; /* that multiplies what is quantized */
    uint32_t unit_index;
    struct ll_quantizing q;
};

static bool solve(const struct ll_machine *machine, const struct ll_work *work, struct alone *a)
{
    assert(work->kind == LL_WORK_MOVE && work->linear > 0);
    enum ll_dtype computed;
    const struct ll_work gemm = {.kind = LL_WORK_GEMM,
                                 .dtype = formats[work->linear - 1].dtype,
                                 .along_k = LL_LINES_ELSEWHERE,
                                 .gemm = {1, 128, 128, ll_max(1, work->quantize.columns)}};
    a->unit_index = machine->software.linear_count > 0 && work->quantize.rows > 0
                        ? ll_choose_unit(machine, LL_OP_MATMUL, &gemm, &computed)
                        : LL_NO_UNIT;
    if (a->unit_index == LL_NO_UNIT)
        return false;
    a->unit = &machine->units[a->unit_index];
    a->kernel = ll_linear_kernel_of(machine, work, computed);
    if (!a->kernel || a->kernel->quantize_bandwidth == 0 || a->unit->model != LL_UNIT_MATRIX ||
        a->unit->matrix.gemm.tile_count == 0)
        return false;
    a->q = quantize(machine, a->unit, a->kernel, (double)work->quantize.rows, (double)work->a_bytes,
                    (double)work->c_bytes);
    return true;
}

/* What earlier ops left on the chip comes off when the op is timed, so all bytes count here. In a server's
 * step what is cast goes into the KV cache, by the kernel that writes it. */
bool ll_quantize_cost(const struct ll_machine *machine, const struct ll_work *work, struct ll_cost *cost)
{
    struct alone a;
    if (machine->software.serves) {
        *cost = (struct ll_cost){.unit = LL_NO_UNIT, .ways = 1};
        return true;
    }
    if (!solve(machine, work, &a))
        return false;
    uint64_t outermost = machine->level_count - 1;
    *cost = (struct ll_cost){.unit = a.unit_index,
                             .ways = 1,
                             .units_used = (uint64_t)a.q.busy,
                             .clock_hz = a.unit->clock_hz,
                             .made = 1,
                             .compute_s = fmax(a.q.units_s, a.q.rows_s),
                             .gap_s = a.kernel->quantize_s};
    cost->compute_cycles = cost->compute_s * cost->clock_hz;
    cost->level_bytes[outermost] = cost->level_price[outermost] = a.q.moved;
    cost->level_written[outermost] = (double)work->c_bytes;
    cost->level_s[outermost] =
        a.q.moved / (ll_machine_memory_Bps(machine) * a.unit->matrix.gemm.dram_efficiency);
    cost->level_pieces[outermost] = 1;
    return true;
}

/* --- explain --- */

static void explain_blocks(const struct ll_unit *unit, const struct ll_linear_kernel *kernel,
                           const struct ll_quantizing *q, uint64_t rows, struct ll_explain *why)
{
    ll_say(why, "quantizing reads and writes %.10g B in blocks on %.10g of %s", q->moved, q->busy,
           unit->name);
    ll_say(why, "quantizing, in these: %.10g / (%.10g * %.10g * %.10g) = %.10g s", q->moved, q->busy,
           kernel->quantize_bandwidth, unit->clock_hz, q->units_s);
    ll_say(why, "quantizing, blocks in turn: ceil(%" PRIu64 " / (2 * %" PRIu64 ")) * %.10g = %.10g s", rows,
           unit->count, kernel->quantize_row_s, q->rows_s);
}

void ll_quantize_explain(const struct ll_machine *machine, const struct ll_unit *unit,
                         const struct ll_task *task, struct ll_explain *why)
{
    const struct ll_linear_kernel *kernel = task->linear;
    const struct ll_quantizing q = ll_quantize(machine, unit, task);
    const struct ll_gemm *d = &task->problem.dims;
    ll_say(why, "linear layer by %s", kernel->name);
    if (task->work->quantized && q.time_s == 0) {
        ll_say(why, "its activations come quantized");
        return;
    }
    if (q.moved > 0) {
        explain_blocks(unit, kernel, &q, d->batch * d->m, why);
        ll_say(why, "quantizing, in memory: %.10g * (1 - %.10g) / (%.10g * %.10g) = %.10g s", q.moved, q.kept,
               ll_machine_memory_Bps(machine), unit->matrix.gemm.dram_efficiency, q.memory_s);
        ll_say(why, "share of the quantized activations that the GEMM finds on the chip: %.10g", q.warm);
    }
    ll_say(why, "quantizing, and what is launched beside: %.10g + max(%.10g, max(%.10g, %.10g)) = %.10g s",
           kernel->quantize_s, q.units_s, q.rows_s, q.memory_s, q.time_s);
}

void ll_quantize_cost_explain(const struct ll_machine *machine, const struct ll_work *work,
                              struct ll_explain *why)
{
    struct alone a;
    if (!solve(machine, work, &a))
        return;
    const struct ll_level *outermost = &machine->levels[machine->level_count - 1];
    double memory_Bps = ll_machine_memory_Bps(machine), share = a.unit->matrix.gemm.dram_efficiency;
    ll_explain_group(why, "kernel");
    ll_say(why, "activations are quantized for %s", a.kernel->name);
    ll_explain_group(why, "compute");
    explain_blocks(a.unit, a.kernel, &a.q, work->quantize.rows, why);
    ll_explain_group(why, outermost->name);
    ll_say(why, "%s: %.10g / (%.10g * %.10g) = %.10g s", outermost->name, a.q.moved, memory_Bps, share,
           a.q.moved / (memory_Bps * share));
}
