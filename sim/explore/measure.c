/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/explore/measure.h"

#include <math.h>

static const struct row {
    const char *name, *unit;
    enum ll_dimension dimension;
    const char *help;
} rows[] = {
#define X(word, name, unit, dimension, help)                                                                 \
    [LL_MEASURE_##word] = {name, unit, LL_DIMENSION_##dimension, help},
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

enum ll_dimension ll_measure_dimension(enum ll_measure measure)
{
    return rows[measure].dimension;
}

const char *ll_measure_help(enum ll_measure measure)
{
    return rows[measure].help;
}

double ll_workload_mean(const double *values, size_t count, bool plain)
{
    double logs = 0, sum = 0;
    bool positive = true, equal = true;
    for (size_t i = 0; i < count; i++) {
        equal &= values[i] == values[0];
        positive &= values[i] > 0;
        logs += log(values[i]);
        sum += values[i];
    }
    if (equal) /* the logarithm and back would round */
        return values[0];
    return positive && !plain ? exp(logs / (double)count) : sum / (double)count;
}
