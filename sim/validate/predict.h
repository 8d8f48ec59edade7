/* SPDX-License-Identifier: Apache-2.0 */
/* How long the pieces of work of a measured row take on a machine, one after the other. */
#ifndef LL_SIM_VALIDATE_PREDICT_H
#define LL_SIM_VALIDATE_PREDICT_H

#include "sim/machine/machine.h"
#include "sim/validate/row.h"

struct ll_predicted {
    double time_s;
    double flops, bytes; /* of all pieces: algorithmic, each operand once; of an exchange what is exchanged */
    double roofline_s;   /* of all pieces one after the other */
    double overhead_s;   /* of the time, what starting the ops costs */
};

/* False when the machine cannot run one of the pieces; *trouble is then a static sentence. Pure,
 * thread-safe. */
bool ll_predict(const struct ll_machine *machine, const struct ll_measured_works *works,
                struct ll_predicted *predicted, const char **trouble);

/* What a work reads and writes, each operand once. Pure. */
double ll_work_operand_bytes(const struct ll_work *work);

/* A plain roofline: the larger of FLOPs over the datasheet's peak and bytes over its bandwidth. Pure. */
double ll_work_roofline_s(const struct ll_machine *machine, const struct ll_work *work);

#endif
