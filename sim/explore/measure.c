/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/explore/measure.h"

static const struct row {
    const char *name, *unit, *help;
} rows[] = {
#define X(word, name, unit, help) [LL_MEASURE_##word] = {name, unit, help},
    LL_MEASURE_LIST(X)
#undef X
};

const char *ll_measure_name(enum ll_measure measure)
{
    return rows[measure].name;
}

const char *ll_measure_unit(enum ll_measure measure)
{
    return rows[measure].unit;
}

const char *ll_measure_help(enum ll_measure measure)
{
    return rows[measure].help;
}
