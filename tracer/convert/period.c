/* SPDX-License-Identifier: Apache-2.0 */
#include "tracer/convert/period.h"

#include <inttypes.h>
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

static bool repeats(const uint64_t *looks, uint64_t count, uint64_t period)
{
    for (uint64_t i = period; i < count; i++)
        if (looks[i] != looks[i - period])
            return false;
    return true;
}

bool ll_period_of_steps(struct ll_import *import, const uint64_t *looks, uint64_t count, uint64_t *period,
                        bool *chosen)
{
    uint64_t steps;
    *chosen = ll_import_choice(import, "steps") != NULL;
    if (!ll_import_count(import, "steps", 1, UINT64_C(1) << 30, 1, &steps))
        return false;
    *period = *chosen ? count / steps : ll_period(looks, count);
    if (!*chosen || (count % steps == 0 && repeats(looks, count, *period)))
        return true;
    return ll_complain(import->diags, (struct ll_place){.file = import->inputs[0].path},
                       "-p steps=%" PRIu64 ": the %" PRIu64 " calls in it do not repeat themselves so often",
                       steps, count);
}
