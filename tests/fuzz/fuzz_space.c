/* SPDX-License-Identifier: Apache-2.0 */
/* A sweep file from any bytes. The machine that is varied is always the same, and models are asked for by
 * name only; whatever is accepted has points, and each number is one. */
#include "sim/explore/space.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_points(const struct ll_space *space)
{
    uint64_t numbers[] = {0, space->point_count / 2, space->point_count - 1};
    uint32_t point[LL_MOST_AXES];
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        ll_space_point(space, numbers[i], point);
        for (size_t a = 0; a < space->axis_count; a++)
            if (point[a] >= space->axes[a].value_count)
                abort();
        if (ll_space_number(space, point) != numbers[i])
            abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const folders[] = {"hwconfigs", NULL};
    struct ll_diags diags = {0};
    struct ll_space *space = ll_space_parse((const char *)data, size, "fuzz.yaml", folders, &diags);
    if ((space != NULL) != (diags.count == 0))
        abort();
    if (space)
        check_points(space);
    ll_space_free(space);
    ll_diags_release(&diags);
    return 0;
}
