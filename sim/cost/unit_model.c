/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/cost/unit_model.h"

#include <assert.h>
#include <math.h>

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

/* Rows and columns of operands that a part loads, of so many parts of a product side by side in `columns`. */
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
