/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/cost/lines.h"

#include "tracer/base/num.h"

#include <inttypes.h>
#include <math.h>

static uint64_t channels_met(const struct ll_matrix *matrix, uint64_t line)
{
    uint64_t all = matrix->line_channels;
    if (line % matrix->line_interleave > 0)
        return all;
    return all / ll_common_divisor(line / matrix->line_interleave, all);
}

static double crowded(const struct ll_matrix *matrix, uint64_t line, struct ll_explain *why)
{
    if (matrix->line_channels < 2)
        return 1;
    uint64_t all = matrix->line_channels, met = channels_met(matrix, line);
    double crowd = ((double)all / (double)met - 1) / ((double)all - 1);
    if (crowd > 0)
        ll_say(why,
               "lines of %" PRIu64 " B begin in %" PRIu64 " of %" PRIu64 " channels: (%" PRIu64 " / %" PRIu64
               " - 1) / (%" PRIu64 " - 1) = %.10g",
               line, met, all, all, met, all, crowd);
    return crowd;
}

static double apart(const struct ll_matrix *matrix, const struct ll_tile_lines *lines, struct ll_explain *why)
{
    if (matrix->line_drift == 0)
        return 1;
    double done = (double)lines->steps * (double)lines->depth * lines->tiles / (double)lines->units;
    double share = 1 - 1 / sqrt(1 + done / (double)matrix->line_drift);
    ll_say(why,
           "tiles out of step: 1 - 1 / sqrt(1 + %" PRIu64 " * %" PRIu64 " * %.10g / %" PRIu64 " / %" PRIu64
           ") = %.10g",
           lines->steps, lines->depth, lines->tiles, lines->units, matrix->line_drift, share);
    return share;
}

double ll_line_waits(const struct ll_matrix *matrix, const struct ll_tile_lines *lines,
                     struct ll_explain *why)
{
    double far = fmax(0, 1 - (double)matrix->line_reach / (double)lines->bytes);
    if (lines->count == 0 || matrix->line_cycles == 0 || far == 0)
        return 0;
    double crowd = crowded(matrix, lines->bytes, why);
    if (crowd == 0)
        return 0;
    double share = apart(matrix, lines, why);
    double cycles = (double)lines->count * matrix->line_cycles * far * crowd * share;
    ll_say(why,
           "and waits for lines along k: %" PRIu64 " * %.10g * (1 - %" PRIu64 " / %" PRIu64
           ") * %.10g * %.10g = %.10g cycles",
           lines->count, matrix->line_cycles, matrix->line_reach, lines->bytes, crowd, share, cycles);
    return cycles;
}
