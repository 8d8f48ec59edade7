/* SPDX-License-Identifier: Apache-2.0 */
#include "tracer/convert/period.h"

#include <stdlib.h>

/* border[i]: how long the longest beginning is that also ends at i, and is not all of it. */
uint64_t ll_period(const uint64_t *looks, uint64_t count)
{
    uint64_t *border = calloc(count + 1, sizeof *border), length = 0, period = count;
    if (!border)
        return count;
    for (uint64_t i = 1; i < count; i++) {
        while (length > 0 && looks[i] != looks[length])
            length = border[length - 1];
        length += looks[i] == looks[length];
        border[i] = length;
    }
    if (count > 0)
        period = count - border[count - 1];
    free(border);
    return period <= count / 2 ? period : count;
}
