/* SPDX-License-Identifier: Apache-2.0 */
/* Training over weeks: what is left of the time when devices fail, steps since the last checkpoint are done
 * again, and checkpoints take their time. All functions are pure and thread-safe.
 *
 * Interruptions are a Poisson process with a mean time M between them. A checkpoint stops the step for delta,
 * an interruption costs R until the job computes again (to notice it, to restart, to read the checkpoint) and
 * the work since the last checkpoint. With tau of work between checkpoints a job that needs Ts of work takes
 *
 *       T = Ts / tau  M e^(R / M) (e^((tau + delta) / M) - 1)           Daly, 2006, equation 20
 *
 * whose effective time share is Ts / T. It is largest at
 *
 *       tau = M (1 + W0(-e^(-1 - delta / M)))                          W0: principal branch of Lambert's W
 *
 * which Daly (2006, equation 37) expands in x = sqrt(delta / 2 M) as
 *
 *       sqrt(2 delta M) (1 + x / 3 + x^2 / 9) - delta
 *
 * and Young (1974) takes the first term of. None of them depends on R. */
#ifndef LL_SIM_PARALLEL_GOODPUT_H
#define LL_SIM_PARALLEL_GOODPUT_H

#include <stdbool.h>
#include <stdint.h>

/* Best work between checkpoints, in seconds, for a mean time between interruptions and a blocking time of a
 * checkpoint, both more than 0 and finite: exact to about 1e-12 of it; by Daly; by Young. */
double ll_best_interval_s(double mean_s, double checkpoint_s);
double ll_daly_interval_s(double mean_s, double checkpoint_s);
double ll_young_interval_s(double mean_s, double checkpoint_s);

/* What happens to a job; seconds. */
struct ll_interruptions {
    double mean_s;       /* mean time between interruptions, more than 0 */
    double checkpoint_s; /* a checkpoint stops the step for so long */
    double durable_s;    /* so long after that it can be restarted from, while steps go on; 0: at once */
    double restart_s;    /* from an interruption until steps go on: detection, restart, reload */
    double interval_s;   /* work between checkpoints, more than 0 */
    /* A second tier: a share of interruptions loses the first tier's checkpoints (those that peers hold in
     * memory) and goes back to a durable one, taken every so many seconds of work. Share 0: one tier. */
    double lost_share, durable_interval_s, durable_restart_s;
};

/* The expected effective time share (ETTR): productive time over all of it, 0 to 1. With durable_s what is
 * lost grows by that, and with two tiers it is the mean of both. */
double ll_effective_time_share(const struct ll_interruptions *job);

/* For how long a job waits for a repair after an interruption, on average. What failed is back after
 * repair_s; meanwhile one of `spares` takes its place, where one is left. So many are under repair at a time
 * as a Poisson variable of mean repair_s / mean_s says (Palm, 1943); with k of them the next one is back
 * after repair_s / k. 0 with repair_s 0. */
double ll_spare_wait_s(double mean_s, double repair_s, double spares);

/* What a simulation of a job over so many seconds gave, averaged over `runs` of them. */
struct ll_goodput_run {
    double effective_time_share;
    double interruptions; /* of a run */
    double checkpoint_s, restart_s,
        repeated_s; /* of a run: time for checkpoints, for restarts, of lost work */
};

/* Plays the job event by event: random times between interruptions, by seed. Deterministic. */
struct ll_goodput_run ll_goodput_simulate(const struct ll_interruptions *job, double duration_s,
                                          uint64_t runs, uint64_t seed);

#endif
