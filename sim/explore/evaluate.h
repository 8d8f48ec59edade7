/* SPDX-License-Identifier: Apache-2.0 */
/* From a point to its results.
 *
 * An evaluator binds the axes of a space to places in a machine once; a point then costs no reading of files:
 * a machine of the thread's own is changed in place, checked, and the workloads are replayed on it. What does
 * not differ from one point to the next is not costed again. Results are those of `leadline sim --set`, bit
 * for bit, whatever the number of threads. */
#ifndef LL_SIM_EXPLORE_EVALUATE_H
#define LL_SIM_EXPLORE_EVALUATE_H

#include "sim/explore/measure.h"
#include "sim/explore/search.h"
#include "sim/explore/space.h"
#include "tracer/base/pool.h"
#include "tracer/ir/trace.h"

/* Why a point is not valid. */
enum ll_point_verdict {
    LL_VERDICT_VALID,
    LL_VERDICT_UNFIT, /* a constraint does not hold, or an objective is no finite number; there are results */
    LL_VERDICT_IMPOSSIBLE, /* no such machine can be, or it cannot run a workload; there are none */
    LL_VERDICT_BEATEN      /* was not tried: a known point is better than it can be; there are none */
};

/* All of a point. */
struct ll_evaluation {
    uint64_t number;
    uint64_t key; /* hash of version, workloads and everything of the resolved machine that varies */
    enum ll_point_verdict verdict;
    /* Of a point that is not valid: the constraint, or what is wrong; static, the space's or the
     * evaluator's. */
    const char *why;
    struct ll_answer outcome;
    struct ll_readings *measured; /* by workload */
};

/* Brings the trace of a workload; the settings are the workload's with those of the point's model axes laid
 * over. NULL after a complaint. The evaluator frees it. */
typedef struct ll_trace *ll_bring(void *context, const struct ll_space_workload *workload,
                                  const struct ll_space_setting *settings, size_t count,
                                  struct ll_diags *diags);

struct ll_evaluator;

/* NULL after complaints. The space lives longer. */
struct ll_evaluator *ll_evaluator_new(const struct ll_space *space, ll_bring *bring, void *context,
                                      struct ll_pool *pool, struct ll_diags *diags);
void ll_evaluator_free(struct ll_evaluator *evaluator);

/* From now on, points that one of this front beats whatever they are (prune.h) get no results. The front is
 * the caller's, and does not change while points are evaluated; NULL: every point is evaluated. */
struct ll_archive;
void ll_evaluator_prune(struct ll_evaluator *evaluator, const struct ll_archive *front);

/* Evaluates the points evaluations[i].number on the pool's threads; measured points to room for each
 * workload, given by the caller. False after complaints: a model refuses its parameters, or memory ran out.
 */
bool ll_evaluate(struct ll_evaluator *evaluator, struct ll_evaluation *evaluations, size_t count,
                 struct ll_diags *diags);

/* The base machine as it is, with the first of each model's parameters and of the plan's; number and key are
 * not set, measured points to room for each workload. */
void ll_evaluator_base(struct ll_evaluator *evaluator, struct ll_evaluation *base);

/* What sim would warn of on the base machine, or else on one that differs from the first point in a single
 * value, each workload with its name: numbers that are sound, but hardly those that were meant, as where no
 * unit for products computes in a workload's type. False: nothing. */
bool ll_evaluator_warn(struct ll_evaluator *evaluator, struct ll_str *out);

/* The key of a point, with which its results are known again. */
uint64_t ll_evaluator_key(const struct ll_evaluator *evaluator, uint64_t number);

/* A hash of what each workload is, but for parameters that vary. */
const uint64_t *ll_evaluator_workload_hashes(const struct ll_evaluator *evaluator);

#endif
