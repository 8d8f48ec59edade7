/* SPDX-License-Identifier: Apache-2.0 */
/* Everything about a step in stages: layers, recomputation, the pipeline partition, schedules, the memory of
 * a stage, ranks that wait for one another, the costs of layers and the estimate of a plan. Private to
 * sim/parallel and its tests, but for ll_layers_find and ll_pipeline_partition.
 *
 * Layers: to which layer each op belongs. A layer is what models number in their scopes: all of
 * `encoder/layer3/...` is one, of `stage2/unit1/...` as well where a stage consists of units alone. Where
 * nothing is numbered a layer is what repeats with other weights of the same shapes, and where nothing does
 * each op that reads a weight begins one. Layers count from zero in the order in which they first compute.
 *
 * Ops between layers (embeddings, losses, the optimizer's) follow the data: to the layer that made what they
 * read, or that reads what they make. What depends on no weight and no layer, such as masks, labels and the
 * optimizer's powers, is nobody's: whoever needs it makes it for himself. */
#ifndef LL_SIM_PARALLEL_PIPELINE_H
#define LL_SIM_PARALLEL_PIPELINE_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/memory/footprint.h"
#include "sim/parallel/parallel.h"
#include "sim/parallel/plan.h"
#include "sim/replay/communication.h"
#include "sim/replay/replay.h"
#include "tracer/base/diag.h"
#include "tracer/ir/trace.h"

struct ll_layers {
    uint32_t count;        /* number of layers; 0: none was found */
    const char **names;    /* by layer: its scope; "" where scopes have no numbers */
    uint64_t *flops;       /* by layer: FLOPs of all ops that belong to it */
    uint64_t *named_flops; /* by layer: FLOPs of the ops whose scope names it; at most `flops` */
    uint32_t *named;       /* by op: the layer that its scope names, LL_NONE for others */
    uint32_t *owner;       /* by op: the layer to which it belongs, LL_NONE for what is nobody's */
};

/* Fills *layers in time about linear in the trace; lists live in the arena. False when memory ran out. Pure
 * otherwise, thread-safe. */
bool ll_layers_find(const struct ll_trace *trace, struct ll_arena *arena, struct ll_layers *layers);

/* Why a step cannot be cut as `split` says, in numbers where a layout has other layers than the model;
 * `trouble` else. In the arena; NULL when memory ran out. */
const char *ll_layout_trouble(const struct ll_trace *trace, const struct ll_layer_split *split,
                              const char *trouble, struct ll_arena *arena);

/* As ll_layers_find; with `ends`, what comes before and behind numbered layers are the first and the last
 * one. */
bool ll_layers_find_ends(const struct ll_trace *trace, bool ends, struct ll_arena *arena,
                         struct ll_layers *layers);

/* As a plan divides them: with the embedding before the numbered layers and the head with the loss behind
 * them as layers of their own, where the split says so. NULL, or why that cannot be, a static sentence. */
const char *ll_layers_of_split(const struct ll_trace *trace, const struct ll_layer_split *split,
                               struct ll_arena *arena, struct ll_layers *layers);

/* Whether the embedding, and the head with the loss, are layers of their own. Pure. */
struct ll_ends {
    bool embedding, loss;
};
struct ll_ends ll_split_ends(const struct ll_layer_split *split);

/* The longest run of equal layers, one behind the other, as most layers of a transformer are. What is
 * measured of one of them holds for all. */

struct ll_equal_layers {
    uint32_t first, count; /* layers first ... first + count - 1 are equal; count 0: no two neighbours are */
    uint32_t *place;       /* by op: its place among the ops of its layer; LL_NONE: it belongs to no layer */
    uint32_t *ops;         /* the ops of all layers, layer after layer, in recorded order within a layer */
    const uint64_t *begin; /* by layer: the index in `ops` of its first op; layers.count + 1 entries */
    struct ll_layers layers;
};

/* The longest run of layers that have equal ops, which read equal ones of themselves. Lists live in the
 * arena. False when memory ran out. */
bool ll_equal_layers_find(const struct ll_trace *trace, struct ll_arena *arena,
                          struct ll_equal_layers *equal);

/* The same workload with fewer such layers, two at the beginning and two at the end of the run: what read one
 * that was left out reads one of these. The trace has one step. Free with ll_trace_free; NULL and *trouble
 * (NULL itself when the run is too short for that to save anything). */
struct ll_trace *ll_drop_layers(const struct ll_trace *trace, const struct ll_equal_layers *equal,
                                const char **trouble);

/* How many layers that leaves out. */
uint32_t ll_dropped_layers(const struct ll_equal_layers *equal);

/* Activations that are computed again instead of being kept (Chen et al., Training deep nets with sublinear
 * memory cost, 2016; Korthikanti et al., Reducing activation recomputation, 2022).
 *
 * FULL: a layer's forward ops run once more before the first of its backward ops that reads what they made;
 * only what other layers read is kept. SELECTIVE: the same for what lies from the GEMM of queries and keys
 * to the GEMM with the values. Collectives in between run again too. What random ops draw follows from
 * their attributes, so they draw the same. */

/* A trace with these ops repeated, in the phase backward; all else is as before. Free with ll_trace_free.
 * NULL and *trouble, a static sentence. Thread-safe. */
struct ll_trace *ll_recompute(const struct ll_trace *trace, enum ll_recompute recompute,
                              const char **trouble);

/* The same with FULL, of which `except` is not made again. */
struct ll_trace *ll_recompute_but(const struct ll_trace *trace, const struct ll_recompute_except *except,
                                  const char **trouble);

/* Whether a trace has a backward pass or an update: an inference keeps nothing and has no gradients. Pure. */
bool ll_trains(const struct ll_trace *trace);

/* Pipeline partition: which op belongs to which virtual stage of a model (ll_virtual_stages), and the program
 * of a virtual stage (ll_pipeline_partition), which is what a pipeline stage does with one micro-batch.
 *
 * With `stages` devices in a row and `chunks` virtual stages on each, there are stages x chunks virtual
 * stages of neighbouring layers; virtual stage i is on stage i modulo stages. Where all layers do the same
 * work, virtual stages have equally many layers (the first virtual stages take the remainder). Where layers
 * differ, the largest number of FLOPs in a virtual stage is as small as possible. Backward and update ops are
 * where their layer is. A tensor that one virtual stage makes and others read is sent once to each of them
 * and received before its first use. Ops that belong to no layer (sim/parallel/pipeline.h) are done by each
 * virtual stage for itself.
 *
 * A weight that several virtual stages read exists on each of them. Their gradients are summed by an
 * all_reduce if the virtual stages are equally far apart; otherwise one virtual stage sums them and sends the
 * sum back. Then each virtual stage updates its own copy.
 *
 * Sends and receives carry LL_ATTR_PEER, the distance to the other device (0: the virtual stage's own), and
 * the phase in which both happen. A tensor of the forward pass is received before the virtual stage's
 * backward pass. A tensor that only updates read is sent once a step, in the phase comm; a tensor that
 * updates make is sent in the phase update. Within a phase, the messages between two virtual stages have the
 * same order in both programs. Parallel layers do the same with one micro-batch. */

struct ll_pipeline_partition {
    uint64_t stages;   /* devices in a row, at least 1 */
    uint64_t chunks;   /* virtual stages on each device, at least 1 */
    uint64_t vstage;   /* the virtual stage whose program is wanted, below stages x chunks */
    uint64_t distance; /* how far apart devices of neighbouring stages are numbered: tensor x replicas */
    enum ll_schedule schedule;   /* which says on which devices virtual stages lie */
    struct ll_layer_split split; /* how layers are divided */
    const uint32_t *part_of;     /* by layer: its virtual stage, of so many layers; NULL: as `split` says */
    uint32_t layers;
};

/* The program of a virtual stage; free with ll_trace_free. NULL and *trouble, a static sentence: fewer layers
 * than virtual stages, for one. Thread-safe. */
struct ll_trace *ll_pipeline_partition(const struct ll_trace *trace,
                                       const struct ll_pipeline_partition *partition, const char **trouble);

/* Which virtual stage of a cut model does what, and what crosses between virtual stages. Private to
 * sim/parallel. */

/* A weight that several virtual stages read (tied embeddings, for one). */
struct ll_tie {
    bool *has;    /* by virtual stage: it reads the weight and holds a copy */
    uint32_t sum; /* op that adds the copies' gradients; LL_NONE: no op that an all_reduce replaces */
    uint32_t first_output; /* tensor that `sum` makes */
};

struct ll_virtual_stages {
    uint32_t count;            /* number of virtual stages */
    uint32_t stages;           /* number of devices */
    enum ll_schedule schedule; /* on which of them a virtual stage lies: ll_vstage_lies_on */
    uint32_t *vstage_of;       /* by op: its virtual stage; LL_NONE: each virtual stage runs it for itself */
    bool *is_view;             /* by form: it makes a view of the same memory, which costs nothing anywhere */
    uint32_t *tie_of;          /* by op: index of the tie whose weight it updates; LL_NONE: of none */
    struct ll_tie *ties;       /* weights that several virtual stages read */
    uint32_t tie_count;        /* length of `ties` */
};

/* Cuts into stages x chunks virtual stages, whichever of them is wanted; lists live in the arena. NULL, or
 * why it cannot be, a static sentence. */
const char *ll_virtual_stages_find(const struct ll_trace *trace,
                                   const struct ll_pipeline_partition *partition, struct ll_arena *arena,
                                   struct ll_virtual_stages *vstages);

/* The program of partition->vstage, of virtual stages that were found before; as ll_pipeline_partition. */
struct ll_trace *ll_vstage_program(const struct ll_trace *trace,
                                   const struct ll_pipeline_partition *partition,
                                   const struct ll_virtual_stages *vstages, const char **trouble);

/* Virtual stages that do the same, known by their layers (twins.c): their programs need not all be made. */

struct ll_twins {
    uint32_t vstages;  /* of a model */
    uint32_t *twin_of; /* by virtual stage: the first that has its program; itself: none before it has */
    const uint32_t *part_of; /* by layer: its virtual stage; NULL where layers cannot be divided so */
    uint32_t layers;         /* length of part_of */
};

/* Fills *twins; lists live in the arena. False when memory ran out. */
bool ll_twins_find(const struct ll_trace *trace, const struct ll_parallel *plan, uint32_t vstages,
                   struct ll_arena *arena, struct ll_twins *twins);

/* The rest of a step of which most layers of such virtual stages were left out. */
struct ll_kept_layers {
    struct ll_twins twins; /* of the whole step */
    uint32_t count;        /* layers that were kept; the lists below have one for each */
    const char **names;
    uint32_t *part_of;    /* the virtual stage */
    uint32_t *stands_for; /* of how many layers of the whole step it is one, itself included */
    bool *alike;          /* it has to be equal to its neighbours, for it stands for other layers */
    uint32_t *place;      /* by layer of the whole step: the one that was kept and stands for it */
};

/* The recorded step without the layers of virtual stages that do what another does, but for those next to a
 * virtual stage that is kept: after any transformations that treat equal layers alike the programs of those
 * come out as from the whole step (ll_kept_layers_hold). Free with ll_trace_free. NULL where that cannot be,
 * saves little, or memory ran out. Lists live in the arena. */
struct ll_trace *ll_leave_twins_out(const struct ll_trace *trace, const struct ll_parallel *plan,
                                    uint32_t vstages, struct ll_arena *arena, struct ll_kept_layers *kept);

/* Whether transformations of such a step made the same of it as of the whole one: its layers are still these,
 * they are still equal, and all would still be divided among virtual stages as they were. */
bool ll_kept_layers_hold(const struct ll_trace *made, const struct ll_parallel *plan,
                         const struct ll_kept_layers *kept, struct ll_arena *arena);

/* FLOPs of a step; ll_whole_step_flops: of the whole step of which layers were left out (kept->count > 0).
 * False when memory ran out, or the layers are others. */
double ll_step_flops(const struct ll_trace *trace);
bool ll_whole_step_flops(const struct ll_trace *trace, const struct ll_kept_layers *kept, double *flops);

/* The stages on which terms of a tie's sum are made: how many, and how far apart neighbours are; 0 apart
 * where two are on one stage or they are not equally far apart. */
struct ll_apart {
    uint32_t stages, stride;
};

/* Divides loads in a row into `parts` runs so that the largest sum is as small as can be; where all loads are
 * equal into runs of equal length, the first ones longer by one if need be. Writes by load its run. Needs
 * parts <= count. */
void ll_balance_loads(const uint64_t *loads, const uint64_t *totals, uint32_t count, uint32_t parts,
                      uint32_t *part_of);

/* The same as a plan says, of the layers of ll_layers_of_split. False where the first and the last part leave
 * too few layers for the others, or a layout has other layers than there are. */
bool ll_divide_layers(const struct ll_layer_split *split, const uint64_t *loads, const uint64_t *totals,
                      uint32_t count, uint32_t parts, uint32_t *part_of);

/* Pipeline schedules: the order in which a stage processes micro-batches, and how long a step in that order
 * takes.
 *
 * A slot is one pass of one micro-batch through one virtual stage of the model, or a half of a backward pass.
 * GPipe (Huang et al., 2019) has all forward slots before all backward ones; 1F1B (Narayanan et al.,
 * PipeDream, 2019) begins with p - 1 - s forward ones and then takes one of each in turn; interleaved
 * (Narayanan et al., 2021) the same with (p - 1 - s) 2 + (v - 1) p at the beginning, chunk after chunk in
 * groups of p micro-batches; breadth-first (Lamy-Poirier, 2022) has all micro-batches of a chunk before those
 * of the next. With p equal stages of v chunks, messages that take no time, F, B and W the times of a stage's
 * forward pass and of the halves of its backward pass, a stage idles in a step for
 *
 *       (p - 1) (F + B + W)          GPipe, 1F1B
 *       (p - 1) (F + B + W) / v      interleaved, breadth-first
 *       (p - 1) (F + B - W)          ZB-H1
 *       (p - 1) (F + B - 2 W)        ZB-H2, from each stage's first pass to its last
 *       0                            ZB-V, likewise, F = B = W
 *       (p / 2 - 1) (F&B + B - 2 W)  DualPipe, F = B = W, with F&B a forward beside a backward pass; so is
 *                                    DualPipe-V, whose p / 2 stages have as many virtual stages
 *
 * All functions are pure. */

struct ll_pipeline_shape {
    enum ll_schedule schedule;
    uint64_t stages; /* devices in a row, at least 1; dualpipe: even */
    uint64_t chunks; /* virtual stages on each device, at least 1; as ll_schedule_chunks says */
    uint64_t
        micro_batches; /* in a step, at least 1; interleaved: a multiple of `stages`; dualpipe: even, and at
                               least twice the virtual stages of a model, which dualpipe_v needs as well */
};

/* How virtual stages lie on stages, and whether backward passes come in halves. */
enum ll_placement ll_schedule_placement(enum ll_schedule schedule);
bool ll_schedule_splits(enum ll_schedule schedule);

/* The virtual stage that a stage has as a chunk, and the stage on which a virtual stage lies. */
uint64_t ll_vstage_at(enum ll_schedule schedule, uint64_t stages, uint64_t stage, uint64_t chunk);
uint64_t ll_vstage_lies_on(enum ll_schedule schedule, uint64_t stages, uint64_t vstage);

/* One pass of one micro-batch through one virtual stage of a device. */
struct ll_schedule_slot {
    bool backward;          /* the backward pass; else the forward pass */
    enum ll_pass_half half; /* of a backward pass, where it comes in halves */
    bool joined;    /* runs as one block with the slot before it: what either makes is there at its end */
    uint64_t chunk; /* which of the device's virtual stages, below shape.chunks */
    uint64_t micro_batch; /* below shape.micro_batches */
};

/* The number of slots of each stage: two for each micro-batch and chunk, three where backward passes come in
 * halves. */
uint64_t ll_schedule_slot_count(const struct ll_pipeline_shape *shape);

/* Writes a stage's slots, as many as that, in time order. False when memory ran out. */
bool ll_schedule_order(const struct ll_pipeline_shape *shape, uint64_t stage, struct ll_schedule_slot *slots);

/* The largest number of passes in flight on a stage, summed over its chunks: micro-batches whose forward pass
 * has run and whose backward pass has not ended. */
uint64_t ll_slots_in_flight(const struct ll_pipeline_shape *shape, uint64_t stage);

/* A pipeline's step: virtual stages of a model that hand micro-batches to one another.
 *
 * A virtual stage waits for what it needs, takes its time, and sends on; messages go while their stage
 * computes, one after the other in either direction. The last backward pass of a stage takes longer by what
 * follows it: gradients that are exchanged, weights that are updated. */

/* The time of a virtual stage; all finite and at least 0. */
struct ll_vstage_times {
    double forward_s;  /* forward pass of one micro-batch */
    double backward_s; /* backward pass of one micro-batch */
    double weights_s;  /* part of backward_s that gives gradients of weights alone; at most all of it */
    double tail_s;     /* once a step, after its last backward pass: gradient exchange and weight update */
    double joint_s;    /* part of tail_s that begins when all stages are so far, as behind a norm of all
                        * gradients; at most all of it */
};

/* How long a slot takes of itself. */
double ll_slot_s(const struct ll_vstage_times *times, const struct ll_schedule_slot *slot);

/* A message from one virtual stage to another, sent with each micro-batch. */
struct ll_vstage_message {
    uint32_t from, to; /* numbers of virtual stages; from > to in the backward pass */
    bool backward;     /* sent in the backward pass; else in the forward pass */
    double time_s;     /* time on the link, latency included */
};

struct ll_pipeline {
    struct ll_pipeline_shape shape;
    const struct ll_vstage_times *vstages; /* stages x chunks, by virtual stage */
    const struct ll_vstage_message *messages;
    uint64_t message_count;
    double pair_s;   /* a forward and a backward pass as one block (DualPipe); 0: the sum of both */
    double *start_s; /* room for the start of each slot, stage after stage; NULL: nobody asks */
    double *done_s;  /* room for the end of each stage's last pass, before its tail; NULL: nobody asks */
};

struct ll_pipeline_result {
    double time_s;    /* of the step */
    double busy_s;    /* busy time of the bottleneck stage */
    double idle_s;    /* pipeline bubble: sum over all stages of time_s less the stage's busy time */
    uint64_t slowest; /* the bottleneck stage: the one that is busy longest */
};

/* False when memory ran out. Deterministic. */
bool ll_pipeline_run(const struct ll_pipeline *pipeline, struct ll_pipeline_result *result);

/* The step time of a pipeline for the many plans of a search: as ll_pipeline_run where each virtual stage
 * sends to the next one of its model alone.
 *
 * Beyond warm-up the time grows linearly with the number of micro-batches, so at most four for each stage, or
 * six where halves of passes run apart, are played. */

struct ll_pipeline_estimate {
    struct ll_pipeline_shape shape;
    const struct ll_vstage_times *vstages; /* stages x chunks, by virtual stage */
    const double *message_s; /* by virtual stage: time of its message to the next, and of the one back */
};

/* False when memory ran out. Pure. */
bool ll_pipeline_estimate_s(const struct ll_pipeline_estimate *turns, double *time_s);

/* DP overlap: what replicas exchange during the passes of a stage, layer by layer. The network serves one
 * exchange after the other, in the order in which layers ask for them (sim/parallel/exchange.h). An exchange
 * is exposed where a layer waits for its weights, and where the network is still busy when all layers are
 * done.
 *
 * While the network is busy, the compute of a layer is slowed by the largest SM share of the exchanges so far
 * (`units_taken` of their levels).
 *
 * Assumed: tensor-parallel devices do not use the same links at the same time. */

struct ll_dp_overlap {
    const struct ll_layer_costs *costs; /* of one replica, at the plan's micro-batch */
    const uint32_t *part_of; /* by layer: its virtual stage; stage s has every pipeline-th of them */
    const struct ll_parallel *plan;
    struct ll_exchanges *exchanges;   /* prices exchanges on `machine` */
    bool gathers;                     /* weights are sharded and gathered before each pass (ZeRO 3) */
    bool sums;                        /* gradients are exchanged during the backward pass */
    const struct ll_machine *machine; /* the machine of `exchanges` */
};

/* *time_s: from the start of a micro-batch's forward pass on a stage until its backward pass and its
 * exchanges have ended. False when memory ran out. */
bool ll_dp_overlap_s(const struct ll_dp_overlap *overlap, uint64_t stage, double *time_s);

/* *time_s of an exchange of `bytes` among the replicas of a stage; of a reduce_scatter or all_gather among
 * those that share states (plan->within), after which a reduce_scatter's parts are summed over the groups. 0
 * with one replica. False when memory ran out. */
bool ll_among_replicas_s(struct ll_exchanges *exchanges, const struct ll_parallel *plan, enum ll_op_kind kind,
                         double bytes, double *time_s);

/* Peak memory where a trace is not all of what a device holds: the fullest of several ranks, and a stage with
 * several micro-batches in flight. */

/* Fills *footprint with the footprint of the rank with the largest peak memory, the first of equals. The
 * thread of an op is its rank, below `ranks`; a storage belongs to the rank whose op touches it first.
 * Updates run where they were recorded. Linear in the trace. False when memory ran out. Pure otherwise,
 * thread-safe. */
bool ll_fullest_rank(const struct ll_trace *trace, uint32_t ranks, struct ll_footprint *footprint);

/* What the memory of a stage holds while several micro-batches are under way.
 *
 *     weights, the optimizer's state and, with several micro-batches, the gradients that they add up
 *   + what each micro-batch has from the step before and leaves to the next: keys and values of its sentences
 *   + as often as passes are in flight, what a forward pass keeps for its backward pass
 *   + what there is besides at the worst moment of one pass
 *
 * The virtual stages of a device differ in all of these and in their passes in flight, so the worst moment is
 * searched along the slots of the schedule. */

/* Bytes by memory class. */
struct ll_class_bytes {
    uint64_t of[LL_MEMORY_COUNT];
};

/* The memory of one virtual stage. */
struct ll_vstage_memory {
    struct ll_class_bytes peak;    /* all that lives at the worst moment of one micro-batch's two passes */
    struct ll_class_bytes lasting; /* what lives during the whole step: weights, optimizer state, ... */
    struct ll_class_bytes kept;    /* activations kept from the forward to the backward pass */
    uint32_t peak_op;              /* the first op at which `peak` is reached; LL_NONE without ops */
    uint64_t passing_bytes;        /* of `peak`: what the framework has while that op runs alone */
    /* The same three amounts of each kind of memory; `peak` is at the worst moment of that kind alone. */
    struct ll_kind_bytes {
        uint64_t peak, lasting, kept;
    } kinds[LL_HOLDS_COUNT];
};

/* Fills *memory for a program that runs `micro_batches` times a step, at least once. With several, the
 * gradients that are exchanged or used once a step live during the whole step, and so does what each
 * micro-batch carries from step to step. What a training framework has beside tensors is counted (NULL:
 * nothing is). False when memory ran out. Pure otherwise. */
bool ll_vstage_memory(const struct ll_trace *program, uint64_t micro_batches,
                      const struct ll_training *training, struct ll_vstage_memory *memory);

/* By storage: whether it comes with the samples and an op writes it (a KV cache). The next step begins with
 * it, so each micro-batch has one of its own during the whole step. In the arena; NULL when memory ran out.
 */
bool *ll_find_carried(const struct ll_trace *program, struct ll_arena *arena);

/* *bytes of the gradients that are accumulated over micro-batches: made by the backward pass, read once a
 * step; *of_experts: those of experts' weights among them. False when memory ran out. */
bool ll_added_gradients(const struct ll_trace *program, uint64_t *bytes, uint64_t *of_experts);

/* The last op of the first step's forward pass; LL_NONE without any. */
uint32_t ll_end_of_forward(const struct ll_trace *program);

/* The largest number of passes in flight on a stage, at least 1; 1 where there is one stage alone. */
uint64_t ll_stage_in_flight(const struct ll_pipeline_shape *shape, uint64_t stage);

/* Fills *footprint, whose peak_op is one of the virtual stage peak->chunk, with the peak memory of a stage
 * that has shape->chunks virtual stages, and *peak. False when memory ran out. */
bool ll_stage_memory(const struct ll_vstage_memory *vstages, const struct ll_pipeline_shape *shape,
                     uint64_t stage, struct ll_footprint *footprint, struct ll_stage_peak *peak);

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

/* What each layer of a program costs, and the estimate of a plan's step time and memory that is put together
 * from these costs. */

/* By op of a program's steps that count, from its first: whether it belongs to the half of a backward pass
 * that gives gradients of weights alone: no other op of the passes waits for it, and it is no exchange. In
 * the arena; NULL when memory ran out. */
bool *ll_find_weight_halves(const struct ll_prepared *prepared, struct ll_arena *arena);

/* What ZeRO shards over replicas, in bytes. */
struct ll_state_bytes {
    double weight;    /* weights */
    double optimizer; /* optimizer state */
    double gradient;  /* gradients that an update reads */
};

struct ll_layer_cost {
    double forward_s;  /* forward pass of a micro-batch, with the waits inside the layer */
    double backward_s; /* backward pass of a micro-batch, without recomputation */
    double update_s;   /* weight update, once a step */
    double weights_s;  /* part of backward_s that gives gradients of weights alone (ll_find_weight_halves) */
    double forward_units_s;  /* part of forward_s in ops that are compute-bound: exchanges may slow them */
    double backward_units_s; /* part of backward_s in ops that are compute-bound */
    double again_s;          /* part of forward_s that runs twice with full recomputation */
    double update_start_s; /* part of update_s that is launch overhead, the same for any share of the state */
    struct ll_state_bytes state;      /* what training keeps for all its weights */
    struct ll_state_bytes of_experts; /* part of `state` that expert parallelism divides */
    double forward_read_bytes;   /* weights that its forward pass reads, those of other layers included */
    double backward_read_bytes;  /* weights that its backward pass reads, those of other layers included */
    double carried_bytes;        /* what a micro-batch brings from the step before: its KV cache */
    double kept_bytes;           /* activations kept from the forward to the backward pass */
    double held_bytes;           /* part of kept_bytes that is kept even with full recomputation */
    double peak_bytes;           /* peak of its kept and passing activations */
    double again_peak_bytes;     /* peak_bytes with full recomputation */
    double handed_bytes;         /* activations that later layers read in the forward pass */
    uint64_t flops, named_flops; /* as in struct ll_layers */
};

struct ll_layer_costs {
    struct ll_layer_cost *at;
    uint32_t count;
};

/* Fills *costs from a replayed program of one device, of whose layers a split says which there are (NULL: the
 * numbered ones). Times are means over its steps, bytes are those of the first step; the times of all layers
 * sum to the step time. Lists live in the arena. False when memory ran out, or there are no such layers. */
bool ll_layer_costs(const struct ll_result *result, const struct ll_layer_split *split,
                    struct ll_arena *arena, struct ll_layer_costs *costs);

/* Divides the layers of a plan by what each takes on the devices of each pool (`costs`, of the same layers),
 * so that the virtual stage that takes longest takes as little as can be: by virtual stage of a model how
 * many it has. Needs no more virtual stages than layers. False when memory ran out. */
bool ll_divide_by_cost(const struct ll_parallel *plan, const struct ll_layer_costs *costs, uint64_t pools,
                       struct ll_arena *arena, uint32_t *counts);

/* What shares of GEMMs, sequences and experts, recomputation and a framework make of a trace, in which GEMMs
 * are narrow already; NULL when that cannot be, or is nothing new; *failed when memory ran out. Free with
 * ll_trace_free. */
struct ll_trace *ll_shared_program(const struct ll_trace *trace, const struct ll_parallel *plan,
                                   bool *failed);

/* The kind of parallelism that asks for an exchange of a plan's program. Pure. */
enum ll_traffic_kind ll_traffic_of(const struct ll_parallel *plan, const struct ll_op_signature *signature);

/* What follows the norm of all gradients in a step, which all stages know when the last one has its part:
 * seconds. Pure. */
double ll_behind_norm_s(const struct ll_result *result);

/* The memory of a program's passes, once it was asked for. */
struct ll_known_memory {
    struct ll_vstage_memory memory;
    bool is_known;
};

/* Fills the memory of a device of a stage, on such a machine, in *use, whose in_flight is known, and
 * *footprint; `alone` is that of a replay of its first program, `known` has one for each program of the plan
 * on such machines. False when memory ran out. */
bool ll_use_memory(const struct ll_spread *spread, const struct ll_machine *machine, uint64_t stage,
                   const struct ll_footprint *alone, struct ll_known_memory *known,
                   struct ll_footprint *footprint, struct ll_stage_use *use);

/* The estimate of a plan from the costs of layers, without making its programs (estimate.c).
 *
 * ll_dp_overlap_s gives the passes of a micro-batch through each stage, ll_pipeline_estimate_s the step;
 * exchange and update follow, less what the last backward pass hides. */

/* Room for estimates, one plan after the other. All lists live in the arena of ll_estimator_open. */
struct ll_estimator {
    const struct ll_machine *machines[LL_MOST_POOLS]; /* by pool */
    struct ll_exchanges *exchanges[LL_MOST_POOLS];
    uint64_t pool_count;
    /* Devices that compute more slowly, whose stages take plan->stragglers.factor times as long. */
    const uint64_t *slow;
    uint64_t slow_count;
    struct ll_estimated_stage *stages;
    struct ll_estimated_part *parts; /* by virtual stage of a model, and one more */
    struct ll_vstage_times *alone;   /* by virtual stage: its passes, without what replicas exchange */
    struct ll_vstage_times *vstages; /* by virtual stage: with it */
    double *message_s;               /* by virtual stage: time of its message to the next */
    uint32_t *part_of;               /* by layer: its virtual stage */
    uint64_t *loads;                 /* by layer: FLOPs that its scope names */
    uint64_t *totals;                /* by layer: all its FLOPs */
    bool failed;                     /* memory ran out in some estimate; results since then mean nothing */
};

/* Makes room for at most `layers` layers and `stages` stages. False when memory ran out. */
bool ll_estimator_open(struct ll_estimator *e, const struct ll_machine *machine,
                       struct ll_exchanges *exchanges, uint64_t layers, uint64_t stages,
                       struct ll_arena *arena);

/* Stages lie on one more pool of devices (ll_pool_of), of at most LL_MOST_POOLS. From now on the costs of
 * layers that are given below are a list, of the same layers by pool, which differ in times alone. */
void ll_estimator_add_pool(struct ll_estimator *e, const struct ll_machine *machine,
                           struct ll_exchanges *exchanges);

/* Divides the layers among the virtual stages of a plan, as ll_pipeline_partition does. False where there are
 * too few layers. Plans with the same stages, chunks, placement and split of layers share it. */
bool ll_estimate_divide(struct ll_estimator *e, const struct ll_layer_costs *costs,
                        const struct ll_parallel *plan);

/* Sums what each stage computes and keeps, after ll_estimate_divide; anew for each kind of recomputation. */
void ll_estimate_count(struct ll_estimator *e, const struct ll_layer_costs *costs,
                       const struct ll_parallel *plan);

/* Sums what a replica holds of it, after ll_estimate_count; anew for each stage of ZeRO, group that shares,
 * and size of buckets. */
void ll_estimate_share(struct ll_estimator *e, const struct ll_layer_costs *costs,
                       const struct ll_parallel *plan);

/* What a checkpoint has, after ll_estimate_count: weights and the state of the optimizer, as traced. */
struct ll_checkpoint_bytes ll_estimate_checkpoint(const struct ll_estimator *e,
                                                  const struct ll_parallel *plan);

/* The peak memory of the fullest device (of several pools: as many times the first one's memory as it has of
 * its own), a time that ll_estimate_s is never below, and the step time, of a plan for which
 * ll_estimate_share was called; they may differ in schedules of the same placement, and in offloading. */
double ll_estimate_bytes(const struct ll_estimator *e, const struct ll_parallel *plan);
double ll_estimate_bound_s(const struct ll_estimator *e, const struct ll_parallel *plan);
double ll_estimate_s(struct ll_estimator *e, const struct ll_layer_costs *costs,
                     const struct ll_parallel *plan);

#endif
