/* SPDX-License-Identifier: Apache-2.0 */
/* What flows make of the messages of a step (sim/net/flow.h), remembered: a program exchanges the same way
 * with other bytes again and again, and flows take as long as there are bytes. So each pattern of messages is
 * solved once, for one byte in the first of them, and what comes out does not depend on what was solved
 * before. Belongs to one thread at a time; deterministic. */
#ifndef LL_SIM_NET_SOLVER_H
#define LL_SIM_NET_SOLVER_H

#include "sim/net/collective.h"
#include "sim/net/flow.h"

/* The number of an exchange's groups; LL_NO_ID when memory ran out. Members are copied. */
uint32_t ll_solver_groups(struct ll_solver *solver, const struct ll_exchange *exchange);

/* One more message between two ranks of a group; UINT64_MAX: of each. */
void ll_solver_send(struct ll_solver *solver, uint64_t group, uint64_t from_rank, uint64_t to_rank,
                    double bytes);

/* How many there are, and an end of them. */
uint64_t ll_solver_sends(const struct ll_solver *solver);
void ll_solver_forget(struct ll_solver *solver);

/* What is worth solving: messages that cross so many links, one counted for each message on it, and whose
 * bytes take no longer than that on the link where they take longest. */
struct ll_worth {
    uint64_t links;
    double time_s;
};

/* What messages take, and how many links they cross. Of what is not worth it the times are zero; where links
 * are the reason, `links` is some number above those that are. */
struct ll_solved {
    struct ll_flow_times times;
    uint64_t links;
    bool too_slow;
};

/* Those sent since the last end, done by all groups of the exchange, whose number this is. Forgets them.
 * False when memory ran out. */
bool ll_solver_run(struct ll_solver *solver, const struct ll_exchange *exchange, uint32_t groups,
                   const struct ll_worth *worth, struct ll_solved *solved);

#endif
