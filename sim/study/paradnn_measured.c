/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/study/paradnn.h"

const struct ll_paradnn_measured ll_paradnn_measured[] = {
#define LL_MEASURED(layers, nodes, input, output, batch, time_s)                                             \
    {layers, nodes, input, output, batch, time_s},
#include "sim/study/paradnn_measured.def"
#undef LL_MEASURED
};
const size_t ll_paradnn_measured_count = sizeof ll_paradnn_measured / sizeof *ll_paradnn_measured;
