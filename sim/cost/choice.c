/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/cost/choice.h"

#include "sim/cost/cost.h"
#include "sim/cost/task.h"
#include "sim/cost/variants.h"

static bool moves_only(const struct ll_work *work)
{
    return work->kind == LL_WORK_MOVE || work->kind == LL_WORK_GATHER;
}

static bool can_run(const struct ll_machine *machine, const struct ll_unit *unit, const struct ll_work *work,
                    enum ll_dtype dtype)
{
    const struct ll_unit_model *model = ll_unit_model(unit->model);
    bool product = ll_is_product(work) && !ll_on_lanes(&machine->software, work);
    if (product ? !model->products : !model->elements)
        return false;
    return moves_only(work) || ll_unit_flops_per_cycle(unit, dtype) > 0;
}

/* Special kernels take single plain products whose sides suit them. */
static bool sides_suit(const struct ll_unit *unit, const struct ll_work *work)
{
    const struct ll_gemm *d = &work->gemm;
    uint64_t align = unit->align;
    return align == 0 || (work->kind == LL_WORK_GEMM && d->batch == 1 &&
                          (d->m % align == 0) + (d->n % align == 0) + (d->k % align == 0) >= 2);
}

/* Kernels that load pieces of lines take products whose lines are whole pieces: they run along n and k, but
 * for a left operand that is given transposed, whose m is not asked. Convolutions are another library's. */
static bool lines_suit(const struct ll_unit *unit, const struct ll_work *work)
{
    const struct ll_gemm *d = work->kind == LL_WORK_SEQUENCE ? &work->sequence.step : &work->gemm;
    uint64_t each = ll_dtype_bits((enum ll_dtype)work->dtype), piece = unit->line_align;
    bool asked = piece > 0 && !(work->along_k & LL_LINES_ELSEWHERE) &&
                 (work->kind == LL_WORK_GEMM || work->kind == LL_WORK_SEQUENCE);
    return !asked || (d->n * each % (8 * piece) == 0 && d->k * each % (8 * piece) == 0);
}

static bool suits(const struct ll_unit *unit, const struct ll_work *work)
{
    return sides_suit(unit, work) && lines_suit(unit, work);
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
            if (meant && can_run(machine, unit, work, dtype) && (try != SUITS || suits(unit, work)))
                return i;
        }
    return LL_NO_UNIT;
}

/* A batch of one product is one product to a library, whatever it was called for. */
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
