/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of this room offer to each other: the time of an op, the steps that follow once all ops have
 * their times, and the costs of a trace's forms. Private to sim/replay. */
#ifndef LL_SIM_REPLAY_REPLAY_PARTS_H
#define LL_SIM_REPLAY_REPLAY_PARTS_H

#include "sim/replay/communication.h"
#include "sim/replay/replay.h"
#include "tracer/base/map.h"

/* What an op's time is made of, beside the work that its bound names, and the op whose end let it start. */
struct ll_op_parts {
    double overhead_s, exposed_s;
    uint32_t taken_level; /* where the op has taken_s: the level of the network that took most at first */
    uint32_t waited_for;  /* op, LL_NONE when it could start at once */
};

/* What ops run on, one after the other. */
enum ll_replay_stream {
    LL_STREAM_DEVICE,
    LL_STREAM_HOST,
    LL_STREAM_TO_HOST, /* what waits on the host goes and comes beside input; links are duplex */
    LL_STREAM_FROM_HOST,
    LL_STREAM_PROGRAM,
    LL_STREAM_NETWORK, /* and a level of it */
    LL_STREAM_COUNT = LL_STREAM_NETWORK + LL_MAX_LINKS
};

/* When ops run, of those that have been placed so far, and from when on others may. Arrays are by op of the
 * replay. */
struct ll_placed {
    struct ll_op_result *ops;
    const struct ll_cost **costs;
    struct ll_op_parts *parts;
    double *begun_s;                /* how long the device had worked when the op began */
    uint32_t *queued, queued_count; /* ops that go through the software's queue: those of the device */
    double stream_end_s[LL_STREAM_COUNT];
    uint32_t
        stream_last[LL_STREAM_COUNT]; /* the op that ended last on the stream, LL_NONE before the first */
    double taken_end_s[LL_MAX_LINKS]; /* of exchanges over each level that keep units busy */
    double end_s;                     /* of all */
    double started_s;                 /* when the software has started the last op */
    double low_s, reach_s; /* the earliest and the latest of all times that were looked at in this step */
    double active_s, starting_s; /* all that the device works, all that the software takes to start */
};

/* Equal steps (steps.c). */

/* Fills equal_steps; all else is there. False when memory ran out. */
bool ll_find_equal_steps(struct ll_prepared *prepared, struct ll_arena *arena);

/* How all stood when a step had ended, fields as of ll_placed. */
struct ll_step_mark {
    double stream_end_s[LL_STREAM_COUNT], taken_end_s[LL_MAX_LINKS];
    double end_s, started_s, reach_s, low_s;
    uint32_t stream_last[LL_STREAM_COUNT], queued_count;
};

/* From step to step of a replay. */
struct ll_turnover {
    const struct ll_prepared *prepared;
    bool queues; /* the software has a queue, of so many ops */
    uint64_t queue;
    uint64_t least_steps; /* that the input of a step may wait for, and one */
    uint32_t step;        /* of the trace, that is at work */
    uint64_t equal;       /* which equal steps come next or go on */
    uint64_t same;        /* steps in a row that went as those two before, later by shift_s */
    double shift_s;
    uint32_t kept_steps; /* that the next one may look at */
    struct ll_step_mark marks[3];
};

/* With the first replayed step at work. */
void ll_turnover_begin(struct ll_turnover *turnover, const struct ll_prepared *prepared,
                       const struct ll_machine *machine);

/* A step has ended, the next one is at work: how many periods of two steps will go as the last two went. */
uint32_t ll_turnover_end_step(struct ll_turnover *turnover, struct ll_placed *placed);

/* Leaves out so many periods, as ll_turnover_end_step has said: places all their ops, or those alone that
 * later ones may look at. on_device: of the ops of the last period. The sums active_s (unless all ops are
 * placed) and starting_s are left. */
void ll_turnover_skip(struct ll_turnover *turnover, struct ll_placed *placed, uint32_t periods, bool all_ops,
                      const bool *on_device);

/* Terms of sums, in the order in which they are added; none is negative. Starts as {0}. */
struct ll_terms {
    struct ll_term {
        double *sum;
        uint64_t order;
        double term;
    } * at;
    uint64_t count, capacity;
    bool failed; /* memory ran out */
};
void ll_terms_add(struct ll_terms *terms, double *sum, double term);

/* Adds all terms to their sums so many times, to the bit as if one after the other. Frees them; false when
 * memory ran out. */
bool ll_terms_sum(struct ll_terms *terms, uint64_t times);

/* Whether the op takes as long as it was recorded to take. */
static inline bool ll_takes_recorded(const struct ll_prepared *prepared, uint32_t seq)
{
    return prepared->as_recorded && prepared->trace->ops[seq].duration_ns > 0;
}

/* Whether ops of the signature are kernels of which nothing is known but their names and times. Pure. */
static inline bool ll_is_kernel(const struct ll_prepared *prepared, uint32_t signature)
{
    return prepared->trace->signatures[signature].view.kind == LL_OP_KERNEL;
}

/* How long op seq, which waits for what was recorded or is such a kernel, takes on this machine, and what
 * holds it back (LL_BOUND_...; sim/replay/kernels.c). Pure. */
double ll_wait_s(const struct ll_prepared *prepared, const struct ll_machine *machine, uint32_t seq,
                 uint32_t *bound);

/* Why op seq, which waits for what was recorded or is such a kernel, takes its time. Always true. */
bool ll_explain_wait(const struct ll_prepared *prepared, const struct ll_machine *machine, uint32_t seq,
                     struct ll_explain *why);

/* Under `fusion: layers`, what the first op of a pipeline moves for the others is taken off what it finds (so
 * that it may find less than nothing), and all that another op moves is found. Nothing changes under another
 * fusion, or without a pipeline (pipeline.c). */
void ll_pipeline_moves(const struct ll_prepared *prepared, const struct ll_machine *machine, uint32_t seq,
                       struct ll_warm_bytes *found);

/* The cost of an op where it stands: one that is joined to the one before leaves no gap, and in a pipeline of
 * layers the first computes as long as the slowest unit, others no time; in *room where it differs. */
const struct ll_cost *ll_pipeline_cost(const struct ll_prepared *prepared, const struct ll_machine *machine,
                                       uint32_t seq, const struct ll_cost *cost, struct ll_cost *room);

/* When the device begins the work of an op that starts at start_s and is late by late_s. */
static inline double ll_work_begins_s(const struct ll_machine *machine, double start_s, double late_s,
                                      const struct ll_timing *timing)
{
    double alone_s = timing->overhead_s - timing->behind_s + timing->more_s;
    return start_s + (machine->software.queue > 0 ? late_s : alone_s);
}

/* By op of the replay: whether it begins a further turn of a loop over time, which a trace holds unrolled. A
 * turn begins with an op that reads a weight which an op of its kind and phase has read before in its step,
 * more often than the ops of the turn so far have read theirs: of a stack of layers in one loop the first
 * one. In the arena; NULL when memory ran out. */
const bool *ll_loop_turns(const struct ll_prepared *prepared, struct ll_arena *arena);

/* An op that exchanges may slow: as for ll_time_op, which says that it takes alone_s. */
struct ll_slowed {
    const struct ll_prepared *prepared;
    const struct ll_machine *machine;
    uint32_t seq;
    const struct ll_cost *cost;
    const struct ll_warm_bytes *found;
    double alone_s;
    double slowed; /* as the result's; in alone_s */
};

/* Of an op's time, how long a level's share of the units is gone, and what that adds. Starts as {.left_s =
 * alone_s, .at_s = begin_s}. */
struct ll_slow_stretch {
    double left_s, at_s; /* of the op, still to be done where the stretch begins; where the next one begins */
    double before_s;     /* what earlier stretches have added */
    uint32_t level;      /* of the network */
    double less_s;       /* what the op takes with these units gone from end to end */
    double time_s, added_s;
};

/* What residency and fusion take off the op's traffic. */
void ll_find_saved(const struct ll_prepared *prepared, const struct ll_machine *machine, uint32_t seq,
                   struct ll_so_far so_far, struct ll_warm_bytes *found);

/* The op's time on an empty stream: residency and fusion, which `found` tells, take traffic off its cost. On
 * a device that is slowed it takes so many times as long. */
void ll_time_op(const struct ll_prepared *prepared, const struct ll_machine *machine, uint32_t seq,
                const struct ll_cost *cost, const struct ll_warm_bytes *found, double slowed,
                struct ll_timing *timing);

/* The op's cost with that level's share of the units gone from end to end. */
struct ll_cost ll_cost_without_units(const struct ll_slowed *slowed, const struct ll_network *level);

/* The next stretch; false behind the last, when before_s has all that was added. */
bool ll_next_stretch(const struct ll_slowed *slowed, const double *level_end_s,
                     struct ll_slow_stretch *stretch);

/* Fills shares, level_share, flop_utilization and fits; time_s, level_bytes and ops are there. parts as long
 * as ops. behind_s: what the software takes in all once the last op has ended. */
void ll_find_bottlenecks(struct ll_result *result, const struct ll_op_parts *parts, double behind_s);

/* Fills network but for the shares; time_s, prices and ops are there. False when memory ran out. */
bool ll_find_exposure(struct ll_result *result);

/* What an op adds to the sums of a replay, done in one of its ways. */
struct ll_tally {
    double traffic_bytes[LL_MAX_LEVELS]; /* out of each level, as in ll_op_detail */
    double peak_s; /* what computing would take at the unit's peak; 0 of what needs no unit */
    /* Bytes that it reads out of a level or writes into it, whether it moves them further in or fills it with
     * them, from the host or further out; in the order in which they are added up. Of a machine whose energy
     * nobody described, none. */
    uint32_t access_count;
    struct ll_access {
        uint32_t level;
        double bytes;
    } accesses[1 + LL_MAX_LEVELS * (1 + LL_OPERAND_COUNT)];
};

/* What is known of an op that is done so, finds this and takes so long. Pure. */
void ll_fill_detail(const struct ll_machine *machine, const struct ll_cost *cost,
                    const struct ll_warm_bytes *found, double time_s, struct ll_op_detail *detail);

/* All of a tally; detail->price is not asked. */
void ll_tally_op(const struct ll_machine *machine, const struct ll_work *work, const struct ll_cost *cost,
                 const struct ll_op_detail *detail, struct ll_tally *tally);

/* Bytes that an op brings from the host, or takes there. Pure. */
double ll_host_bytes(const struct ll_work *work);

/* Fills energy_j and its parts, of which the units' and host_bytes are those of all steps. */
void ll_end_energy(struct ll_result *result, const double *accessed_bytes);

/* Fills energy_j and area_m2, when times and network are there; accessed_bytes: of all ops. idle, by
 * signature: such ops take none; NULL: all do. False when memory ran out. */
bool ll_sum_energy(struct ll_result *result, const bool *idle, const double *accessed_bytes);

/* Op kinds, summed op by op while these are replayed. In the arena of the first call. */
struct ll_kind_sums;
struct ll_kind_sums *ll_kind_sums_new(struct ll_arena *arena);
void ll_kind_sums_add(struct ll_kind_sums *sums, const struct ll_result *result, uint32_t seq,
                      const struct ll_tally *tally);

/* The terms that this adds, of an op whose kind has been added before. */
void ll_kind_sums_terms(struct ll_kind_sums *sums, const struct ll_result *result, uint32_t seq,
                        const struct ll_tally *tally, struct ll_terms *terms);

/* Fills kinds. */
void ll_kind_sums_end(struct ll_kind_sums *sums, struct ll_result *result);

/* What each form of a trace costs, or its exchange: asked once, for ops differ by what they find alone.
 * Private to sim/replay. */

/* Ranks of a trace that have ops of a signature, from the lowest number to the highest; none: end is 0. */
struct ll_signature_ranks {
    uint32_t first, end;
};

struct ll_signatures {
    const struct ll_prepared *prepared;
    const struct ll_machine *machine;
    const struct ll_among *among;
    const struct ll_cost **ways;      /* by signature: each way to do it, in no order; NULL of idle ones */
    struct ll_price *prices;          /* by signature; NULL without exchanges */
    bool *known;                      /* by signature */
    struct ll_signature_ranks *ranks; /* by signature; NULL where a trace is of one rank */
    /* The ways next to what earlier ops left, where that decides: by signature and what is saved. */
    struct ll_map keys;
    const struct ll_cost **next_to;
    uint64_t capacity;
};

/* Whether ops of this signature are left out. Pure. */
static inline bool ll_signature_is_idle(const struct ll_among *among, uint32_t signature)
{
    return among->idle && among->idle[signature];
}

/* Costs of all signatures that the replayed ops use, in the arena. The first three fields are there, the rest
 * is zero. False when memory ran out, or after complaining, once for each kind, of what the machine cannot
 * run. */
bool ll_signatures_cost(struct ll_signatures *signatures, struct ll_arena *arena, struct ll_diags *diags);

/* The ways to do this signature next to what was found: `ways` of the first of them. NULL when memory ran
 * out. */
const struct ll_cost *ll_signatures_algorithms(struct ll_signatures *signatures, uint32_t signature,
                                               const struct ll_warm_bytes *found, struct ll_arena *arena);

/* What does not lie in an arena. */
void ll_signatures_release(struct ll_signatures *signatures);

#endif
