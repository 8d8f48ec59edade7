/* SPDX-License-Identifier: Apache-2.0 */
/* What the plan of a study asks for, recorded, simulated and read (study_recordings.c). One thread. */
#ifndef LL_SIM_CLI_STUDY_RECORDINGS_H
#define LL_SIM_CLI_STUDY_RECORDINGS_H

#include "sim/cli/commands.h"
#include "sim/study/study.h"

/* What a plan was answered with; {0} to begin with. */
struct ll_brought {
    const struct ll_trace **traces;
    struct ll_losses *losses;
    double *noise; /* of each trace: how much the time of fixed work varied during it */
    struct ll_machine **machines;
    uint64_t machine_count;
    const struct ll_experiment_result **experiments;
    bool quiet; /* nothing else ran while any of the traces was recorded */
};

/* Records what is missing, says so on standard error, and reads the machines. An exit status, after saying
 * what is wrong. The arrays live in the arena, traces and losses in the library; machines are freed by
 * ll_brought_release. */
int ll_bring_plan(struct ll_library *library, const struct ll_study_plan *plan, struct ll_arena *arena,
                  struct ll_brought *brought);

/* Frees the machines. */
void ll_brought_release(struct ll_brought *brought);

#endif
