/* SPDX-License-Identifier: Apache-2.0 */
/* How much of a step the device waits for its input, as Wang et al. define it (ParaDnn, MLSys 2020,
 * section 4.4).
 *
 * The host prepares a step's input and sends it while the device computes an earlier step. Of many steps each
 * takes as long as the slower of the two:
 *
 *     step = max(device, host)        infeed share = 1 - device / step
 *
 * or as both together where only one step's input finds room (`host.buffered_steps: 1`).
 *
 * So a share of i is what would be gained by input that is there already: 1 / (1 - i) - 1. */
#ifndef LL_SIM_REPLAY_INFEED_H
#define LL_SIM_REPLAY_INFEED_H

#include "sim/replay/replay.h"

struct ll_infeed {
    double prepare_s, transfer_s; /* of a step's input; their sum is what the host takes */
    double device_s;              /* a step whose input is there already */
    double step_s;                /* of many steps */
    double share;                 /* of it */
};

/* False when memory ran out. Replays the result's ops once more, exchanges taking what they took; otherwise
 * pure, thread-safe. */
bool ll_infeed_of(const struct ll_result *result, struct ll_infeed *infeed);

/* Preparing and sending the input of a step alone; the rest of *infeed is left as it is. */
void ll_infeed_host(const struct ll_prepared *prepared, const struct ll_machine *machine,
                    struct ll_infeed *infeed);

/* The same machine where all input is there already. A shallow copy: not to be freed, to be used no longer
 * than the machine. */
struct ll_machine ll_machine_with_input(const struct ll_machine *machine);

/* Fills step_s and share; the rest is there. */
void ll_infeed_share(const struct ll_machine *machine, struct ll_infeed *infeed);

#endif
