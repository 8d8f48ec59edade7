/* SPDX-License-Identifier: Apache-2.0 */
/* How long work takes on a machine, and what holds it back.
 *
 * Two questions, two functions. ll_cost_op asks how the work would go on an empty machine: on which unit,
 * for how many cycles, with how much traffic out of each memory level. The answer depends on machine, kind
 * and work alone, hence sim/cost/memo.h keeps it. ll_cost_time then takes off the traffic that earlier ops
 * made unnecessary and gives seconds.
 *
 * Work passes in pieces through the stages: each memory level, outermost first, then the unit. The first
 * piece finds all stages idle and passes them one after the other; from then on the stages overlap and the
 * slowest sets the pace:
 *
 *       time = latencies + sum of first_s + max(stage_s - first_s) + apart_s + gap_s      over the stages
 *
 * The last unit cannot start until its first piece arrives, which queues behind the first pieces of the
 * other units: the compute stage takes (pieces - 1) * first_s longer, for the level where that is longest.
 *
 * A level without double buffering holds one block at a time, so filling it does not overlap with the stages
 * further in. It separates the stages into groups; each group has its own maximum, and the maxima add up.
 *
 * A cache with non-overlapping transfers (the ECM model, cost_parts.h) and the level behind it are one stage.
 *
 * So an op takes at least as long as its slowest stage and at most as long as all of them in a row.
 *
 * All functions are pure and thread-safe. Nothing here is rounded; cycles and bytes are doubles because
 * padded counts may pass 64 bits, and exact below 2^53. */
#ifndef LL_SIM_COST_COST_H
#define LL_SIM_COST_COST_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/cost/kernel_table.h"
#include "sim/machine/warm_bytes.h"
#include "sim/machine/machine.h"
#include "tracer/base/arena.h"
#include "tracer/ir/ops.h"

/* The reasons of a number, kept in order.
 *
 * What computes fills structs with all that it goes by and prints nothing. What explains (`..._explain`)
 * reads those structs, or asks the same pure functions again, and adds a line for each formula, its numbers
 * filled in:
 *
 *       compute: 64 * (1024 + 382) = 89984 cycles
 *
 * Before the colon stand words, then a formula of numbers, + - * / ^ ( ), ceil() floor() max() min() sqrt()
 * exp(), then its value and unit: whoever has a pocket calculator can follow, and a test does. Lines without
 * `=` are plain sentences.
 *
 * It starts as {0}, belongs to one thread, and is released by its owner. */

struct ll_explain {
    struct ll_arena arena;
    const char **lines;
    struct ll_line_mark {
        const char *group; /* under which a report prints the line */
        bool wins;         /* of several ways to do something, the one that is done */
    } * marks;             /* one for each line */
    const char *group;     /* of lines to come; NULL: none */
    uint64_t line_count, capacity, mark_capacity;
    bool failed; /* memory ran out; the lines so far are good */
};

/* Adds a line, printf style, without line end. */
void ll_say(struct ll_explain *why, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Lines to come belong to a group of this name, which is copied. */
void ll_explain_group(struct ll_explain *why, const char *name);

/* The line that was added last is that of the way that is taken. */
void ll_explain_wins(struct ll_explain *why);

/* Frees the lines; why is empty and usable afterwards. */
void ll_explain_release(struct ll_explain *why);

#define LL_NO_UNIT UINT32_MAX

/* What can hold an op back. Level l of the machine is LL_BOUND_LEVEL + l, so that shares fit an array of
 * LL_BOUND_COUNT. DEPENDENCY: nothing is busy, something is waited for. */
enum {
    LL_BOUND_COMPUTE,
    LL_BOUND_NETWORK,
    LL_BOUND_HOST,
    LL_BOUND_OVERHEAD,
    LL_BOUND_DEPENDENCY,
    LL_BOUND_LEVEL,
    LL_BOUND_COUNT = LL_BOUND_LEVEL + LL_MAX_LEVELS
};

/* "compute", "network", "host", "overhead", "dependency", or the level's own name. Lives as long as the
 * machine. */
const char *ll_bound_name(const struct ll_machine *machine, uint32_t bound);

/* What can make another of the unit's ways the better one, or other tiles: nothing; what earlier ops left
 * of the near levels (fusion); what they left of any. */
enum ll_reuse_sensitivity { LL_REUSE_MATTERS_NEVER, LL_REUSE_MATTERS_NEAR, LL_REUSE_MATTERS };

/* How an overlay corrects a cost: ratios of measured to modelled time near the unit and in the outermost
 * memory; and the least that computing, the near levels and the outermost one may take, as a share of what
 * the model says, because nothing is faster than its peak. */
struct ll_correction {
    uint64_t shapes; /* measured ones in the table; 0: there is no table */
    double near, far;
    double least_compute, least_near, least_far;
};

/* How a table of measured kernels corrects a cost (kernel_table.h): of the time and of what starting the op
 * takes, the ratio of measured to modelled time; and what no measurement makes less. */
struct ll_tabled {
    struct ll_kernel_ratio from; /* ratio 0: there is no table, or it has nothing like the work */
    double least_s;              /* FLOPs at the peak */
    double least_bytes;          /* out of the outermost memory, on an empty machine */
};

/* Energy of an array of elements that is not arithmetic: of its registers, of hops between elements, and of
 * each memory level what its reads and writes take beyond the energy of its bytes. All 0 of other units. */
struct ll_array_energy {
    double registers_j, hops_j, level_j[LL_MAX_LEVELS];
};

struct ll_cost {
    enum ll_reuse_sensitivity reuse_sensitivity;
    bool next_to_found;     /* chosen next to what earlier ops left */
    uint32_t unit;          /* index in machine->units; LL_NO_UNIT for work that needs none (nothing, host) */
    uint32_t way, ways;     /* which algorithm this is, of how many a replay has to try */
    uint64_t units_used;    /* how many of its instances work */
    double clock_hz;        /* of that unit; zero without one */
    double compute_cycles;  /* of the busiest instance, with fills, drains and partial tiles */
    double compute_s;       /* compute_cycles over clock and efficiency, longer where power is short */
    double compute_first_s; /* of that, what the first piece takes */
    double host_s;          /* of input: being prepared and the way from the host, latency included */
    double prepare_s;       /* of that, being prepared */
    double apart_bytes;     /* passes over the outermost level before and after the rest */
    double apart_s;         /* what they take, and what lies between dependent steps */
    double around_s; /* starting and ending a library's GEMM kernel, and adding up parts of k behind it */
    double stream_s; /* host's time for a linear layer or attention that no graph holds; 0: one does */
    bool partly_overlaps; /* the outermost level with the rest, as a library's GEMMs (gemm_kernels.c) */
    double gap_s;         /* before it, on the device; not of an op that is joined to another */
    double serial;        /* share of the stages beside the slowest that does not overlap with it */
    double overhead_s;    /* what starting the op costs the software */
    double behind_s;      /* of that, what it takes while the device works already */
    double more_s;        /* beyond that, until the device begins what is done this way */
    double made;    /* FLOPs of its way for each of the work's: fewer in Winograd's, more between zeros */
    double zeros;   /* multiplications by zero for each of these */
    double array_j; /* energy of an array beyond its multiplications and what bytes out of levels tell */
    struct ll_array_energy array_parts;  /* of that: where it is taken; the rest is arithmetic */
    uint64_t mappings;                   /* that its search looked at */
    bool mapped_in_part;                 /* it left some out, so that another may be better, */
    double mapping_gap_s, mapping_gap_j; /* but by no more than this: what is left to the bounds of both */
    struct ll_correction overlay; /* to be applied when the op is timed; no other field depends on it */
    struct ll_tabled table;       /* the same, applied after the overlay */
    double utilization; /* algorithmic FLOPs of the unit over what it, all instances, could do meanwhile */
    /* Of each level; those behind the machine's last are 0. */
    double level_bytes[LL_MAX_LEVELS]; /* traffic out of (and back into) each level, all instances together */
    double level_written[LL_MAX_LEVELS];              /* of that, what comes back: results and partial sums */
    double level_of[LL_MAX_LEVELS][LL_OPERAND_COUNT]; /* of a GEMM's level_bytes, each operand's */
    double level_price[LL_MAX_LEVELS];                /* bytes that take both directions' bandwidth as long */
    double level_s[LL_MAX_LEVELS];                    /* that over the bandwidth that this work gets */
    double level_first_s[LL_MAX_LEVELS];              /* of that, what the first piece takes */
    double level_pieces[LL_MAX_LEVELS]; /* as many as one instance provides, for units that work */
    double level_wait_s[LL_MAX_LEVELS]; /* latencies of dependent accesses, not part of level_s */
};

/* False when no unit of this machine runs such work in this dtype, or when the work is a collective, which
 * is the network's; then *trouble is a static sentence. Otherwise *cost is filled. */
bool ll_cost_op(const struct ll_machine *machine, enum ll_op_kind kind, const struct ll_work *work,
                struct ll_cost *cost, const char **trouble);

/* The same of all algorithms, first the one that ll_cost_op takes: returns how many there are, as each cost's
 * `ways` says too; 0 where ll_cost_op is false. */
enum { LL_MOST_ALGORITHMS = LL_MAX_TRANSFORMS + 4 };
uint32_t ll_cost_algorithms(const struct ll_machine *machine, enum ll_op_kind kind,
                            const struct ll_work *work, struct ll_cost costs[LL_MOST_ALGORITHMS],
                            const char **trouble);

/* Makes costs that ll_cost_algorithms filled for one machine those of another one, which differs in no more
 * than what starting an op takes. False where more of them depends on that; then nothing is changed. */
bool ll_cost_restart(const struct ll_machine *machine, enum ll_op_kind kind, const struct ll_work *work,
                     struct ll_cost *costs);

/* What the unit's way and tiles are chosen next to, instead of on an empty machine. */
struct ll_cache_context {
    const struct ll_warm_bytes *found;
    const struct ll_cost
        *alone; /* the same algorithm's cost on an empty machine, which is kept where nothing is
                                  * faster; NULL: none is */
};

/* One of the algorithms, of work that ll_cost_op can cost, which says how many there are; it takes the one
 * that is the fastest on an empty machine. beside: NULL for an empty machine. */
void ll_cost_algorithm(const struct ll_machine *machine, enum ll_op_kind kind, const struct ll_work *work,
                       uint32_t way, const struct ll_cache_context *beside, struct ll_cost *cost);

/* Which algorithm, of ll_cost_algorithm: the one that ll_cost_op takes. */
#define LL_FASTEST UINT32_MAX

/* Prints how a cost of ll_cost_algorithm comes about, up to the times of all stages; ll_time_explain goes on
 * from there. False where ll_cost_op is false. */
bool ll_cost_explain(const struct ll_machine *machine, enum ll_op_kind kind, const struct ll_work *work,
                     uint32_t way, const struct ll_cache_context *beside, struct ll_explain *why);

/* Whether what earlier ops left may decide on another way of the unit, or on other tiles: then the work's
 * cost is that of ll_cost_algorithm next to it. */
bool ll_cost_is_reuse_sensitive(const struct ll_machine *machine, const struct ll_cost *cost,
                                const struct ll_warm_bytes *found);

/* The time on an empty machine, read twice: stages overlap but for the first piece (ll_cost_time); and tile
 * by tile (sim/cost/cost_parts.h), which is never less, and takes a search of its own. */
struct ll_bounds {
    double bound_s, pipelined_s;
};

/* Of work that ll_cost_op can cost; zero of what needs no unit. */
struct ll_bounds ll_cost_bounds(const struct ll_machine *machine, enum ll_op_kind kind,
                                const struct ll_work *work);

/* Of a level's bandwidth, what the kernel reaches. Pure. */
double ll_kernel_share(const struct ll_machine *machine, const struct ll_kernel *kernel, uint64_t level);

struct ll_timing {
    double time_s;              /* from start to end */
    double model_s;             /* the same without overlay and table */
    enum ll_time_origin origin; /* of time_s */
    double exposed_s;           /* of that, what no overlap hides: the first piece's way and latencies */
    double overhead_s;          /* what starting the op costs the software, beside time_s; 0 without a unit */
    double behind_s;            /* of that, what it takes while the device works already */
    double more_s;              /* beyond that, until the device begins */
    uint32_t bound; /* what its slowest stage is, or DEPENDENCY where latencies are longer; steps, passes and
                        * gaps apart, and overhead, are not asked */
};

/* An op alone: it ends when both the device and the software have done with it. */
static inline double ll_timing_alone_s(const struct ll_timing *timing)
{
    double time_s = timing->more_s + timing->time_s, behind_s = timing->behind_s;
    return timing->overhead_s + (time_s > behind_s ? time_s - behind_s : 0);
}

/* The op's time when saved_bytes[l] of the traffic out of level l did not happen, because earlier ops left
 * data further in (sim/memory/residency.h), and shared_bytes[l] are overwritten of which other units have to
 * drop their copies: line by line, each in the level's `invalidation`, shared by the units that work, and
 * behind what computing takes longer than moving. NULL when nothing was left; more saved than there is counts
 * as all there is. */
void ll_cost_time(const struct ll_machine *machine, const struct ll_cost *cost,
                  const struct ll_warm_bytes *found, struct ll_timing *timing);

/* Prints how that time comes about; its last line gives it. */
void ll_time_explain(const struct ll_machine *machine, const struct ll_cost *cost,
                     const struct ll_warm_bytes *found, struct ll_explain *why);

/* Until other units have dropped what so many units overwrite, were nothing else done. Pure. */
double ll_dropping_s(const struct ll_machine *machine, uint64_t units, const struct ll_warm_bytes *found);

/* What an op takes beside static power: computing, by its way (Winograd's multiplies less often, and zeros
 * that are multiplied take as much as anything else), and every byte in both memories between which it goes,
 * but for those that earlier ops saved (NULL: none); of other work than GEMMs, whose bytes are the same
 * whichever way, in the one that they come out of. 0 where the machine has no figures. Pure. */
double ll_cost_compute_j(const struct ll_machine *machine, const struct ll_work *work,
                         const struct ll_cost *cost);
double ll_cost_moving_j(const struct ll_machine *machine, const struct ll_cost *cost,
                        const struct ll_warm_bytes *found);

/* What ways to do an op are compared by: what the software wants least (`objective`), and of equals the
 * other: of equal times the least energy, else the least time. */
struct ll_merit {
    double first, second;
};

/* Of an op that takes so long, its software included. Pure. */
struct ll_merit ll_cost_merit(const struct ll_machine *machine, const struct ll_work *work,
                              const struct ll_cost *cost, const struct ll_warm_bytes *found, double time_s);

/* Whether one is better than the other, to the last digit. */
static inline bool ll_is_better(struct ll_merit one, struct ll_merit other)
{
    return one.first < other.first || (one.first == other.first && one.second < other.second);
}

#endif
