/* SPDX-License-Identifier: Apache-2.0 */
/* What runs out of memory: the grid that was tried on a TPU v2, all of whose outcomes are known. */
#include "sim/study/paradnn_memory.h"

/* The released runs: two inputs, two outputs, all else as in table 2. */
const struct ll_family ll_paradnn_tried = {
    "tried", "fully connected, as tried", "paradnn_fc",
    .axes = {{"layers", {4, 8, 16, 32, 64, 128}},
             {"nodes", {32, 64, 128, 256, 512, 1024, 2048, 4096, 8192}},
             {"input", {2000, 8000}},
             {"output", {200, 1000}},
             {"batch", {64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384}}}};

static double parameters(const double v[LL_MOST_FAMILY_AXES])
{
    return v[2] * v[1] + v[1] + (v[0] - 1) * (v[1] * v[1] + v[1]) + v[1] * v[3] + v[3];
}

bool ll_paradnn_ran(const struct ll_survey_result *survey, uint64_t i)
{
    double v[LL_MOST_FAMILY_AXES], widths, samples, bytes;
    for (size_t axis = 0; axis < LL_MOST_FAMILY_AXES; axis++)
        v[axis] = (double)ll_surveyed_value(survey, i, axis);
    widths = v[0] * v[1] + v[3];
    samples = v[4] / 8;
    bytes = 12 * parameters(v) + 4 * samples * widths;
    return bytes <= 8 * 1024.0 * 1024 * 1024;
}

const struct ll_surveyed *ll_paradnn_simulated(const struct ll_survey_result *survey,
                                               enum ll_paradnn_platform platform,
                                               const struct ll_paradnn_measured *row)
{
    const uint64_t wanted[] = {row->layers, row->nodes, row->input, row->output, row->batch};
    uint64_t point = 0;
    for (size_t axis = 0; axis < LL_MOST_FAMILY_AXES; axis++) {
        const struct ll_family_axis *of = &survey->survey.family->axes[axis];
        uint64_t place = 0, count = ll_family_axis_values(of);
        while (place < count && of->values[place] != wanted[axis])
            place++;
        if (place == count)
            return NULL;
        point = point * count + place;
    }
    const struct ll_surveyed *at = ll_surveyed_at(survey, point, platform);
    return at->simulated ? at : NULL;
}
