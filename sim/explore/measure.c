/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/explore/measure.h"

#include <math.h>

static const struct row {
    const char *name;
    enum ll_dimension dimension;
} rows[] = {
#define X(word, name, dimension, meaning) [LL_MEASURE_##word] = {name, LL_DIMENSION_##dimension},
    LL_MEASURE_LIST(X)
#undef X
};

const char *ll_measure_name(enum ll_measure measure)
{
    return rows[measure].name;
}

enum ll_dimension ll_measure_dimension(enum ll_measure measure)
{
    return rows[measure].dimension;
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
