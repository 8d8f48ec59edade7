/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/cost/start.h"

#include <math.h>

void ll_cost_start(const struct ll_machine *machine, const struct ll_kernel *kernel, double way_s,
                   struct ll_cost *cost, struct ll_explain *why)
{
    double usual_s = kernel->overhead_s > 0 ? kernel->overhead_s : machine->software.op_overhead_s;
    cost->overhead_s = usual_s;
    cost->behind_s = kernel->behind * usual_s;
    cost->more_s = fmax(0, way_s - (cost->overhead_s - cost->behind_s));
    if (cost->behind_s > 0)
        ll_say(why, "of the overhead, while the device works already: %.10g * %.10g = %.10g s",
               kernel->behind, usual_s, cost->behind_s);
    if (cost->more_s > 0)
        ll_say(why, "to start all kernels of this way, beyond that: %.10g - (%.10g - %.10g) = %.10g s", way_s,
               cost->overhead_s, cost->behind_s, cost->more_s);
}
