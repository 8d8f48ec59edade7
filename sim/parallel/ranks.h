/* SPDX-License-Identifier: Apache-2.0 */
/* Devices that do unlike things and wait for one another.
 *
 * Each rank has a list of tasks. A task starts when those that it comes after have ended and the one before
 * it on its stream has:
 *
 *       work       takes its time
 *       send       takes its time on its stream, then is there; it does not wait for its receiver
 *       receive    ends when what was sent is there
 *       join       begins when all members of a group have come, takes the longest time of theirs
 *
 * Tasks take their turns on a stream in the order in which they were added, as those of a program do; or,
 * where the order of a list means nothing (ll_ranks_by_readiness), first come, first served: nobody waits on
 * a stream for one that still waits for others.
 *
 * The first send from one rank to another with a tag meets the first receive there with that tag, and so on;
 * the first join of each member of a group is one exchange, and so on. What cannot be met, or waits for
 * itself, is complained about with the names of all concerned; nothing hangs.
 *
 * Ranks that do the same are one rank: who builds the tasks sees to that. Time and memory grow with tasks and
 * edges alone. Deterministic; one thread at a time. */
#ifndef LL_SIM_PARALLEL_RANKS_H
#define LL_SIM_PARALLEL_RANKS_H

#include "tracer/base/diag.h"

#include <stdbool.h>
#include <stdint.h>

#define LL_NO_TASK UINT32_MAX
#define LL_NO_STREAM UINT32_MAX /* beside all streams */

enum ll_rank_task_kind { LL_TASK_WORK, LL_TASK_SEND, LL_TASK_RECEIVE, LL_TASK_JOIN };

struct ll_rank_task {
    enum ll_rank_task_kind kind;
    uint32_t rank, stream;
    double time_s;    /* of a receive: not looked at */
    uint32_t other;   /* of messages: the rank at the other end. Of a join: how many members its group has */
    uint64_t tag;     /* of messages: equal at both ends. Of a join: the number of its group */
    const char *name; /* for complaints; outlives the ranks */
};

struct ll_ranks;

/* Without tasks; NULL when memory ran out. */
struct ll_ranks *ll_ranks_new(void);
void ll_ranks_free(struct ll_ranks *ranks);

/* From now on a stream serves tasks as they become ready, of equals the one added first; before any is added.
 */
void ll_ranks_by_readiness(struct ll_ranks *ranks);

/* One more task of its rank, after `count` others of that rank, all added before (LL_NO_TASK among them
 * stands for none). Its number, from 0 in the order of adding; LL_NO_TASK when memory ran out: ll_ranks_run
 * says so. */
uint32_t ll_ranks_add(struct ll_ranks *ranks, const struct ll_rank_task *task, const uint32_t *after,
                      uint32_t count);

/* Finds when every task starts and ends. False after complaints, or without any when memory ran out. Once. */
bool ll_ranks_run(struct ll_ranks *ranks, struct ll_diags *diags);

/* After a run. Of a receive or a join the start is when it begins to wait. */
double ll_ranks_start_s(const struct ll_ranks *ranks, uint32_t task);
double ll_ranks_end_s(const struct ll_ranks *ranks, uint32_t task);

/* The task for whose end this one waited last, perhaps of another rank; LL_NO_TASK: for none. */
uint32_t ll_ranks_waited_for(const struct ll_ranks *ranks, uint32_t task);

/* The end of all. */
double ll_ranks_time_s(const struct ll_ranks *ranks);

#endif
