/* SPDX-License-Identifier: Apache-2.0 */
/* One trace on one machine, both in memory, as `leadline sim` simulates them with the same options: what the
 * library (sim/api) does for its callers. */
#ifndef LL_SIM_CLI_SIM_STEP_H
#define LL_SIM_CLI_SIM_STEP_H

#include "sim/cli/load.h"
#include "sim/replay/communication.h"
#include "sim/report/sim_report.h"

struct ll_sim_step {
    /* What the options say: ll_sim_step_read. */
    struct ll_changes changes;
    struct ll_parallel plan;
    bool planned, several; /* there is a plan; it is for more than one device */
    bool changed;          /* options change the trace: it goes through ll_sim_step_change */

    /* What is simulated; the caller's. */
    struct ll_machine *machine; /* of several devices: with their network, as ll_load_system finds it */
    struct ll_trace *trace;
    const struct ll_prepared *prepared; /* of the trace, by ll_prepare or, with as-recorded, its like; not
                                           looked at with a plan */
    struct ll_remembered *remembered;
    const struct ll_residuals *residuals; /* for error bars, from that folder; NULL: there are none */
    const char *residual_folder;
    struct ll_diags *diags;

    /* What a plan made, on which the report rests: to be freed with ll_spread_free after it. */
    struct ll_spread *spread;
};

/* Reads options of ll_command_sim, whose rows `args` has; LL_WRONG after saying what is wrong, as with
 * options of files, machines, several results. */
int ll_sim_step_read(const struct ll_args *args, struct ll_sim_step *step);

/* The trace, the caller's own, as the options change it, in its place; NULL or to be freed in any case. An
 * exit status, other than LL_DONE after saying why. */
int ll_sim_step_change(const struct ll_args *args, const struct ll_sim_step *step, const char *name,
                       struct ll_trace **trace);

/* Simulates: fills the report, which lives in the arguments' arena; args->words[0] names the trace. An exit
 * status; complaints are in step->diags, or said. */
int ll_sim_step_run(const struct ll_args *args, struct ll_sim_step *step, struct ll_report *report);

/* The machine on which kernels of unknown meaning took their recorded times, if the trace says which and it
 * is a known one; *machine, NULL where not, is the caller's to free after `prepared`. False after
 * complaints. */
bool ll_find_recorded_on(const struct ll_prepared *prepared, struct ll_arena *arena,
                         struct ll_machine **machine);

extern const struct ll_command ll_command_sim;

#endif
