/* SPDX-License-Identifier: Apache-2.0 */
/* Units and memory levels from the probes of a trace's header. */
#ifndef LL_SIM_CALIBRATE_BASE_H
#define LL_SIM_CALIBRATE_BASE_H

#include "sim/machine/machine.h"
#include "tracer/ir/trace.h"

/* A machine without kernels; NULL after complaining about what the header lacks. Free with ll_machine_free.
 */
struct ll_machine *ll_calibrate_base(const struct ll_trace *micro, struct ll_diags *diags);

#endif
