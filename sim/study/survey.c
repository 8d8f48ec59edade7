/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/study/survey.h"

#include <assert.h>
#include <string.h>

size_t ll_family_axes(const struct ll_family *family)
{
    size_t count = 0;
    while (count < LL_MOST_FAMILY_AXES && family->axes[count].key)
        count++;
    return count;
}

size_t ll_family_axis_values(const struct ll_family_axis *axis)
{
    size_t count = 0;
    while (count < LL_MOST_FAMILY_VALUES && axis->values[count])
        count++;
    return count;
}

uint64_t ll_family_size(const struct ll_family *family)
{
    uint64_t size = 1;
    for (size_t i = 0; i < ll_family_axes(family); i++)
        size *= ll_family_axis_values(&family->axes[i]);
    return size;
}

void ll_family_point(const struct ll_family *family, uint64_t i, uint64_t values[LL_MOST_FAMILY_AXES])
{
    assert(i < ll_family_size(family));
    for (size_t axis = ll_family_axes(family); axis-- > 0;) {
        size_t count = ll_family_axis_values(&family->axes[axis]);
        values[axis] = family->axes[axis].values[i % count];
        i /= count;
    }
}

size_t ll_family_axis(const struct ll_family *family, const char *key)
{
    size_t axis = 0;
    while (strcmp(family->axes[axis].key, key) != 0)
        axis++;
    assert(axis < ll_family_axes(family));
    return axis;
}

uint64_t ll_surveyed_value(const struct ll_survey_result *result, uint64_t i, size_t axis)
{
    uint64_t values[LL_MOST_FAMILY_AXES];
    ll_family_point(result->survey.family, i, values);
    return values[axis];
}

double ll_surveyed_utilization(const struct ll_surveyed *surveyed)
{
    return surveyed->flops / (surveyed->peak_flops * surveyed->step_s);
}

double ll_surveyed_rate(const struct ll_surveyed *surveyed)
{
    return surveyed->samples / surveyed->step_s;
}
