/* SPDX-License-Identifier: Apache-2.0 */
/* Replaying a trace on a machine: when every op starts and ends, and what held it back.
 *
 * A replay is a pure function of trace and machine: same input, same bits. Traces and machines are only
 * read and may be shared by threads; a replay belongs to one thread. */
#ifndef LL_SIM_REPLAY_REPLAY_H
#define LL_SIM_REPLAY_REPLAY_H

#include "sim/cost/cost.h"
#include "sim/machine/machine.h"
#include "sim/memory/footprint.h"
#include "sim/memory/residency.h"
#include "tracer/ir/trace.h"

struct ll_exchanges;  /* sim/replay/communication.h */
struct ll_price;      /* there too */
struct ll_memo;       /* sim/cost/memo.h */
struct ll_remembered; /* there too */

/* How an op runs under a software stack that fuses element-wise ops. */
struct ll_fused {
    uint64_t held;   /* bit i: operand i (inputs, then outputs) passes through registers, not memory */
    bool follows;    /* it is part of the kernel of an op before it, and starts with that */
    uint32_t leader; /* the op whose kernel it is part of; that one may follow another */
    uint32_t next;   /* the op of the same kernel that alone reads what it makes; 0: there is none */
};

/* Steps of a trace in a row whose ops are the same on every machine whose caches keep no history, and wait
 * for ops that lie as far back, at most `reach` ops. */
struct ll_equal_steps {
    uint32_t first, last; /* of the trace's steps */
    uint32_t reach;
};

/* The same by op, packed: bit 0 follows, 1..3 how many ops back the leader is, 4..6 how many ops on the next
 * one is, from bit 7 on held; bit 31: what is held is among `wide`. */
struct ll_fused_ops {
    const uint32_t *packed; /* by op of the trace; NULL without fusion */
    const struct ll_fused_wide {
        uint32_t op;
        uint64_t held;
    } * wide; /* by op, in order */
    uint64_t wide_count;
};

/* What all machines share of a trace: dependencies, reuse distances, footprint, the work of each signature.
 * Made once, immutable afterwards. */
struct ll_prepared {
    const struct ll_trace *trace;
    uint32_t first_op, end_op; /* the ops that are replayed */
    uint64_t steps;            /* how many steps they are; at least 1 */
    const struct ll_deps *deps;
    const struct ll_residency *residency;
    struct ll_footprint footprint;
    struct ll_fused_ops fused[LL_FUSION_COUNT];
    const struct ll_work *works; /* by signature */
    const uint32_t *same;        /* by signature: the first of the same kind and work, for what it costs */
    /* By op, from first_op on: a number that ops share which are the same on every machine whose caches keep
     * no history (ll_history_matters): the same work and fusion, and the same reuse of bytes. LL_NONE: of
     * this op there is no second one. Numbers are below repeat_count. */
    const uint32_t *repeats;
    uint32_t repeat_count;
    const struct ll_equal_steps *equal_steps; /* in order */
    uint64_t equal_step_count;
    const uint32_t *firsts; /* ops, in order: of each signature that is replayed the first one */
    uint32_t first_count;
    double flops, bytes; /* algorithmic, a step */
    enum ll_dtype dtype; /* of most FLOPs */
    bool as_recorded;    /* ops that have a recorded time take that, whatever the machine */
    /* The machine that the trace was recorded on, or NULL: nobody knows, and kernels of unknown meaning take
     * their recorded time on all machines. */
    const struct ll_machine *recorded_on;
};

/* Whether a stack of this fusion joins ops of this kind to what is before them. Pure. */
bool ll_fusion_joins(enum ll_fusion fusion, enum ll_op_kind kind);

/* Whether a stack of this fusion joins such an op to what is right before it. Pure. */
bool ll_fusion_leads(enum ll_fusion fusion, const struct ll_work *work);

/* How an op runs whose bits these are; op is one of those. */
struct ll_fused ll_fused_of(const struct ll_fused_ops *ops, uint32_t op);

/* How an op runs under software that fuses so. */
static inline struct ll_fused ll_fused_as(const struct ll_prepared *prepared, enum ll_fusion fusion,
                                          uint32_t seq)
{
    const struct ll_fused_ops *ops = &prepared->fused[fusion];
    return ops->packed && ops->packed[seq] ? ll_fused_of(ops, seq) : (struct ll_fused){0};
}

/* NULL on no memory, or when the trace holds ops that cannot be simulated (then a complaint names them).
 * Lives in the arena. */
const struct ll_prepared *ll_prepare(const struct ll_trace *trace, struct ll_arena *arena,
                                     struct ll_diags *diags);

/* The same for a replay in which only exchanges between devices are simulated: every other op takes as long
 * as it was recorded to take, those without a recorded time what the machine takes. Complains, too, when no
 * op has one. */
const struct ll_prepared *ll_prepare_as_recorded(const struct ll_trace *trace, struct ll_arena *arena,
                                                 struct ll_diags *diags);

/* Says on which machine the trace was recorded; before the first replay. The machine outlives them all. */
void ll_prepared_on(const struct ll_prepared *prepared, const struct ll_machine *machine);

/* When an op runs. Times are in seconds from the begin of the first replayed op. */
struct ll_op_result {
    uint32_t unit;              /* index in machine->units; LL_NO_UNIT for ops that need none */
    uint32_t bound;             /* LL_BOUND_...: what takes most of time_s */
    enum ll_time_origin origin; /* of time_s, but for what it waits for */
    double start_s, time_s;
    double active_s; /* part of time_s in which the device works, without launch overhead */
    double taken_s;  /* part of active_s that overlapping communication adds by keeping units busy */
    double lead_s;   /* how long before the device could begin the software launched it; only with a queue */
    double launch_s; /* how long the software takes to launch it; 0: it is not launched */
};

/* What else is known of an op's run. */
struct ll_op_detail {
    double compute_cycles, stall_cycles; /* cycles of its unit's clock, computing and waiting for memory */
    double utilization;                  /* FLOPs over those of its unit at peak in compute_cycles, 0 to 1 */
    double traffic_bytes[LL_MAX_LEVELS]; /* bytes that pass between a level and the next one inward */
    double written_bytes[LL_MAX_LEVELS]; /* part of traffic_bytes that results and partial sums make */
    double operand_bytes[LL_MAX_LEVELS][LL_OPERAND_COUNT]; /* a GEMM's traffic_bytes by operand; else 0 */
    const struct ll_price *price; /* what the exchange takes; NULL of ops that are no exchange */
};

/* All replayed ops of a kind, per step. */
struct ll_kind_result {
    const char *kind; /* as the trace names it */
    enum ll_op_kind op_kind;
    enum ll_op_class op_class;
    uint32_t bound;                     /* what bound most of its time */
    double count, time_s, flops, bytes; /* per step; FLOPs and bytes are algorithmic */
    double share;                       /* of the time of all ops, summing to 1 over the kinds */
    uint32_t order;                     /* of first appearance */
    /* Of the ops that the bound bound: what they got of it a second (bytes out of a level, of the host, of
     * the network; else FLOP), and over its peak, 0 when it is no resource; and how long they took, a step.
     */
    double rate, peak_share, bound_s;
};

/* What becomes of a step's energy, in J; of what the network's links take, this device's share. Registers and
 * hops are those inside arrays of elements (`model: array`). */
struct ll_energy_parts {
    double compute_j, registers_j, hops_j, level_j[LL_MAX_LEVELS], host_j, network_j, static_j;
};

/* Adds so many times a term. */
void ll_energy_add(struct ll_energy_parts *sum, const struct ll_energy_parts *term, double times);

/* All parts together. Pure. */
double ll_energy_sum(const struct ll_energy_parts *parts);

/* A level of the network, a step. */
struct ll_network_use {
    double busy_s;    /* some exchange goes on that reaches it */
    double exposed_s; /* part of busy_s in which the device does nothing */
    double share;     /* part of the step's time that it bounds; the levels sum to shares[LL_BOUND_NETWORK] */
    double sent_bytes; /* bytes that a device sends in exchanges for which this is the outermost level */
};

/* What devices exchange in a step. */
struct ll_exposure {
    uint64_t count; /* exchanges in all replayed steps; 0: all other fields are 0 */
    double busy_s,
        exposed_s;  /* time in which any exchange goes on; part of it in which the device does nothing */
    double links_j; /* energy of the links, this device's share */
    struct ll_network_use levels[LL_MAX_LINKS]; /* in the order of the machine's networks */
};

struct ll_result {
    const struct ll_prepared *prepared;
    const struct ll_machine *machine;
    double time_s;                      /* a step */
    double device_active_s, starting_s; /* a step: the device works; a core of the host starts its ops */
    double flop_utilization;
    double shares[LL_BOUND_COUNT]; /* of time_s, summing to 1 */
    double
        gap_share; /* part of time_s in gaps and opaque calls, which take as long as they were recorded to */
    /* Parts of time_s that were measured, interpolated, modelled, along the critical path; they sum to 1. */
    double origin_shares[LL_TIME_ORIGIN_COUNT];
    double level_share[LL_MAX_LEVELS]; /* mean use of each level's bandwidth over the step */
    double level_bytes[LL_MAX_LEVELS]; /* traffic out of each level, a step */
    struct ll_exposure network;
    const struct ll_footprint *footprint; /* with updates where the machine's software puts them */
    bool fits;
    double energy_j;               /* a step; NaN when the machine does not say */
    struct ll_energy_parts energy; /* its parts; zero when the machine does not say */
    double host_bytes; /* from the host and to it, a step; zero when the machine has no energy section */
    double area_m2;    /* NaN when the machine does not say */
    const struct ll_op_result *ops;     /* for first_op .. end_op - 1 */
    const struct ll_cost *const *costs; /* of each, the way it was done; NULL of idle ones */
    const struct ll_cost *const *ways;  /* by signature: all algorithms, next to nothing; NULL of idle ones */
    struct ll_so_far so_far;            /* when the device began them, and what its caches have met */
    const struct ll_price *prices;      /* by signature, of exchanges; NULL when there are none */
    const struct ll_kind_result *kinds; /* by time, largest first */
    uint64_t kind_count;
    double slowed; /* what the device computed took so many times as long as the machine would; at least 1 */
};

/* NULL on no memory, or after complaining about every op kind that no unit of the machine can run. Lives in
 * the arena, like all it points to except prepared and what belongs to it, and machine. */
const struct ll_result *ll_replay(const struct ll_prepared *prepared, const struct ll_machine *machine,
                                  struct ll_arena *arena, struct ll_diags *diags);

/* The same with what goes along from machine to machine: costs and prices that the difference does not touch
 * are taken from there. */
const struct ll_result *ll_replay_remembering(const struct ll_prepared *prepared,
                                              const struct ll_machine *machine,
                                              struct ll_remembered *remembered, struct ll_arena *arena,
                                              struct ll_diags *diags);

/* Shares result->network.exposed_s out among kinds of exchanges, of which the forms of the trace are: to
 * by_kind_s[kinds[form]] it adds what shows of those. Where several go on, it is the one that began first
 * that shows. False when memory ran out. */
bool ll_exposed_by_kind(const struct ll_result *result, const uint8_t *kinds, double *by_kind_s);

/* busy_s and exposed_s of result->network anew, summed over the ranks, of which each has ops at times of its
 * own (its thread says whose an op is): what one rank computes covers no exchange of another. False when
 * memory ran out. */
bool ll_find_exposure_of_ranks(struct ll_result *result, uint32_t ranks);

/* What several replays on one machine share. */
struct ll_among {
    struct ll_exchanges *exchanges; /* NULL where prices are given */
    /* By signature, of exchanges, as a result has them; NULL: exchanges are asked. */
    const struct ll_price *prices;
    struct ll_memo *memo; /* turned to the machine */
    /* By signature, as a result on the same machine has them; NULL, also of one: costs are asked. */
    const struct ll_cost *const *ways;
    bool time_alone; /* nothing is asked but how long a step takes: a result has no more */
    const bool
        *idle;     /* by signature: as if such ops were not there but for what waits for what; NULL: none */
    bool apart;    /* ops of several devices: exchanges take no units from those behind them */
    double slowed; /* what the device computes takes so many times as long, at least 1; 0: as 1 */
    /* By signature: exchanges whose messages take slow_links times as long, at least 1; NULL: none. Given
     * prices have it in them. */
    const bool *over_slow_links;
    double slow_links;
};

/* ll_replay with all of that given. */
const struct ll_result *ll_replay_among(const struct ll_prepared *prepared, const struct ll_machine *machine,
                                        const struct ll_among *among, struct ll_arena *arena,
                                        struct ll_diags *diags);

/* Fills origin_shares by how long the parts of so much time come from where; what none does is modelled. */
void ll_share_origins(const double from_s[LL_TIME_ORIGIN_COUNT], double total_s, struct ll_result *result);

/* The cost of op seq, which is among the replayed ones, the way it was done; NULL of idle ones. Pure. */
static inline const struct ll_cost *ll_replay_cost(const struct ll_result *result, uint32_t seq)
{
    return result->costs[seq - result->prepared->first_op];
}

/* What else is known of op seq, which is among the replayed ones and not idle. Pure. */
struct ll_op_detail ll_replay_detail(const struct ll_result *result, uint32_t seq);

/* The energy of op seq, in J, beside the power that flows all the time: the sum over all ops, and that power
 * over all steps, make up result->energy_j. NaN when the machine does not say; op seq is among the replayed
 * ones and not idle. Pure. */
double ll_replay_energy_j(const struct ll_result *result, uint32_t seq);

/* How long ops of this signature, which is no exchange, take alone on an empty machine. Looks for the best
 * way anew. Pure. */
struct ll_bounds ll_replay_bounds(const struct ll_result *result, uint32_t signature);

/* The derivation of one op's time, which is not idle: lines of text with numbers filled in. False when seq is
 * not among the replayed ops. */
bool ll_replay_explain(const struct ll_result *result, uint32_t seq, struct ll_explain *why);

/* What turning one knob of the machine gains. */
struct ll_gain {
    struct ll_knob knob;
    double time_s, speedup;
};

/* All knobs of the machine, best first (ties in the order of the knobs); *count of them. NULL on no memory.
 * Of what is remembered no knob but those it depends on makes it be worked out again. */
const struct ll_gain *ll_what_if(const struct ll_result *result, struct ll_remembered *remembered,
                                 struct ll_arena *arena, size_t *count);

/* The same for whatever takes time_s on this machine, and on a turned one as long as `timed` says; negative
 * when memory ran out. */
typedef double ll_timed(const struct ll_machine *machine, void *context);
const struct ll_gain *ll_turn_knobs(const struct ll_machine *machine, double time_s, ll_timed timed,
                                    void *context, struct ll_arena *arena, size_t *count);

/* What people who train networks ask of a machine, as Zhu et al. define it ("Benchmarking and Analyzing Deep
 * Neural Network Training", IISWC 2018, section 3.4):
 *
 *     throughput           samples a second; of speech, seconds of audio a second
 *     device utilization   time in which the device works, over time
 *     FP32 utilization     FLOPs over (peak rate x the time in which the device works)
 *     CPU utilization      time in which cores work, summed up, over (cores x time)
 *
 * From which follows: throughput x FLOPs of a sample = device utilization x FP32 utilization x peak rate.
 * Of the host nothing is simulated but that one core starts the device's ops and waits meanwhile. */

struct ll_metrics {
    double samples; /* in a step, in units of throughput */
    double throughput_Hz;
    const char *unit;       /* "samples", "audio seconds": the trace's or static */
    double peak_flops;      /* a second, in the element type in which most FLOPs are computed: that of the
                               utilization */
    enum ll_dtype computed; /* the type in which most FLOPs are computed */
    double device_utilization, fp32_utilization;
    double cpu_utilization; /* NaN where the machine does not know its host's cores */
};

/* FLOPs over what the machine's peak in this type could do in that time; 0 where there is no peak or no time.
 * More than 1 only where fewer operations do (Winograd's way), not by rounding. Pure. */
double ll_flop_utilization(const struct ll_machine *machine, enum ll_dtype dtype, double flops,
                           double time_s);

/* Pure. A trace that does not say its batch counts steps. */
struct ll_metrics ll_metrics_of(const struct ll_result *result);

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

struct ll_infeed {
    double prepare_s, transfer_s; /* of a step's input; their sum is what the host takes */
    double device_s;              /* a step whose input is there already */
    double step_s;                /* of many steps */
    double share;                 /* part of step_s in which the device waits for its input */
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
