/* SPDX-License-Identifier: Apache-2.0 */
/* The steps of a replay that come after the ops have their times. Private to sim/replay. */
#ifndef LL_SIM_REPLAY_REPLAY_PARTS_H
#define LL_SIM_REPLAY_REPLAY_PARTS_H

#include "sim/replay/exchanges.h"
#include "sim/replay/replay.h"

/* What an op's time is made of, beside the work that its bound names, and the op whose end let it start. */
struct ll_op_parts {
    double overhead_s, exposed_s;
    uint32_t taken_level; /* where the op has taken_s: the level of the network that took most at first */
    uint32_t waited_for;  /* op, LL_NONE when it could start at once */
};

/* What residency and fusion take off the op's traffic. */
void ll_save_traffic(const struct ll_prepared *prepared, const struct ll_machine *machine, uint32_t seq,
                     struct ll_so_far so_far, struct ll_leftovers *found);

/* The op's time on an empty stream, with what it `found` taken off the traffic that its cost says. */
void ll_time_op(const struct ll_prepared *prepared, const struct ll_machine *machine, uint32_t seq,
                const struct ll_cost *cost, const struct ll_leftovers *found, struct ll_timing *timing,
                struct ll_explain *why);

/* When the device begins the work of an op that starts at start_s and is late by late_s. */
static inline double ll_work_begins_s(const struct ll_machine *machine, double start_s, double late_s,
                                      const struct ll_timing *timing)
{
    double alone_s = timing->overhead_s - timing->behind_s + timing->more_s;
    return start_s + (machine->software.queue > 0 ? late_s : alone_s);
}

/* An op that exchanges may slow: as for ll_time_op, which says that it takes alone_s. */
struct ll_slowed {
    const struct ll_prepared *prepared;
    const struct ll_machine *machine;
    uint32_t seq;
    const struct ll_cost *cost;
    const struct ll_leftovers *found;
    double alone_s;
};

/* Seconds that exchanges under way add to an op that begins at begin_s; level_end_s[l]: when the exchanges
 * over level l of the network are over. *level is the one that takes most units at first, set where the sum
 * is more than 0. With later ends, larger shares or a later begin the op never ends sooner. */
double ll_taken_s(const struct ll_slowed *slowed, const double *level_end_s, double begin_s, uint32_t *level,
                  struct ll_explain *why);

/* What element-wise fusion would do to each op of the trace; works and range are there. In the arena, NULL
 * when memory ran out. */
const struct ll_fused *ll_find_fusion(const struct ll_prepared *prepared, enum ll_fusion fusion,
                                      struct ll_arena *arena);

/* Bytes a second of level l, all its instances, efficiency applied. */
double ll_level_Bps(const struct ll_machine *machine, uint64_t l);

/* Fills shares, level_share, flop_utilization and fits; time_s, level_bytes and ops are there. parts as long
 * as ops. behind_s: what the software takes in all once the last op has ended. */
void ll_find_bottlenecks(struct ll_result *result, const struct ll_op_parts *parts, double behind_s);

/* Fills network but for the shares; time_s, prices and ops are there. False when memory ran out. */
bool ll_find_exposure(struct ll_result *result);

/* The lines of an exchange's derivation, the last of which ends in its time. */
void ll_tell_price(const struct ll_machine *machine, const struct ll_asked *asked,
                   const struct ll_price *price, struct ll_explain *why);

/* Adds the bytes that an op reads out of each level or writes into it, whether it moves them further in or
 * fills it with them, from the host or further out. Of a machine whose energy nobody described, none. */
void ll_count_accesses(const struct ll_machine *machine, const struct ll_work *work,
                       const struct ll_op_detail *detail, double accessed_bytes[LL_MAX_LEVELS]);

/* Fills energy_j and area_m2, when times and network are there; accessed_bytes: of all ops. idle, by form:
 * such ops take none; NULL: all do. */
void ll_sum_energy(struct ll_result *result, const bool *idle, const double *accessed_bytes);

/* Op kinds, summed op by op while these are replayed. In the arena of the first call. */
struct ll_kind_sums;
struct ll_kind_sums *ll_kind_sums_new(struct ll_arena *arena);
void ll_kind_sums_add(struct ll_kind_sums *sums, const struct ll_result *result, uint32_t seq,
                      const struct ll_op_detail *detail);

/* Fills kinds. */
void ll_kind_sums_end(struct ll_kind_sums *sums, struct ll_result *result);

#endif
