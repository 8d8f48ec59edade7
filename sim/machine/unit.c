/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/machine/unit.h"

static struct ll_arithmetic arithmetic_SYSTOLIC(const struct ll_unit *unit)
{
    const struct ll_systolic *array = &unit->systolic;
    return (struct ll_arithmetic){(double)array->rows * (double)array->cols, array->macs, 2};
}

static struct ll_arithmetic arithmetic_MATRIX(const struct ll_unit *unit)
{
    return (struct ll_arithmetic){1, unit->matrix.macs, 2};
}

static struct ll_arithmetic arithmetic_SPATIAL(const struct ll_unit *unit)
{
    return (struct ll_arithmetic){(double)unit->spatial.elements, unit->spatial.macs, 2};
}

static struct ll_arithmetic arithmetic_VECTOR(const struct ll_unit *unit)
{
    return (struct ll_arithmetic){(double)unit->vector.lanes, unit->vector.flops, 1};
}

struct ll_arithmetic ll_unit_arithmetic(const struct ll_unit *unit)
{
    static struct ll_arithmetic (*const by_model[])(const struct ll_unit *) = {
#define LL_UNIT_MODEL(word, ...) arithmetic_##word,
#include "sim/machine/unit_models.def"
#undef LL_UNIT_MODEL
    };
    return by_model[unit->model](unit);
}

double ll_unit_flops_per_cycle(const struct ll_unit *unit, enum ll_dtype dtype)
{
    struct ll_arithmetic arithmetic = ll_unit_arithmetic(unit);
    return arithmetic.flops * arithmetic.elements * arithmetic.rates[dtype];
}
