/* SPDX-License-Identifier: Apache-2.0 */
/* Options of trainings of weeks, for `leadline goodput` and for plans that are ranked by it. */
#ifndef LL_SIM_CLI_GOODPUT_H
#define LL_SIM_CLI_GOODPUT_H

#include "sim/cli/command.h"
#include "sim/machine/machine.h"
#include "sim/parallel/parallel.h"

/* A time such as 30s, 10min, 3h or 54d, at least least_s; a number between two. `otherwise` where it was not
 * given. False after saying what is wrong. */
bool ll_goodput_time(const struct ll_args *args, const char *name, double otherwise, double least_s,
                     double *time_s);
bool ll_goodput_number(const struct ll_args *args, const char *name, double least, double most,
                       double otherwise, double *number);

/* What of its time a training on a machine is productive. */
struct ll_goodput_ranking {
    double mean_s;         /* between interruptions of the whole job */
    double restart_s;      /* with the wait for a repair, without reading the checkpoint */
    double host_Bps;       /* of one device to its host's memory; 0: checkpoints go to the storage at once */
    double checkpoint_Bps; /* of the storage, from all devices together */
};

/* The options of `leadline plan` that begin with those of failures, in place of the machine's `reliability`.
 * False after saying what is wrong, or what is not known. */
bool ll_goodput_read_ranking(const struct ll_args *args, const struct ll_machine *machine, uint64_t devices,
                             struct ll_goodput_ranking *ranking);

/* The effective time share at the best checkpoint interval, more than 0 to 1. A checkpoint stops the step
 * while it is copied to hosts, and can be restarted from once it is in the storage. `context` is a
 * struct ll_goodput_ranking. Pure. */
double ll_goodput_share(void *context, const struct ll_checkpoint_bytes *checkpoint);

#endif
