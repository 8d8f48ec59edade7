/* SPDX-License-Identifier: Apache-2.0 */
/* The layers of a workload, and runs of layers that do the same.
 *
 * The layers of a workload, and to which of them each op belongs.
 *
 * A layer is what models number in their scopes: all of `encoder/layer3/...` is one, of `stage2/unit1/...`
 * as well where a stage consists of units alone. Where nothing is numbered a layer is what repeats with other
 * weights of the same shapes, and where nothing does each op that reads a weight begins one. Layers count
 * from zero in the order in which they first compute.
 *
 * Ops between layers (embeddings, losses, the optimizer's) follow the data: to the layer that made what they
 * read, or that reads what they make. What depends on no weight and no layer, such as masks, labels and the
 * optimizer's powers, is nobody's: whoever needs it makes it for himself. */
#ifndef LL_SIM_PARALLEL_PIPELINE_H
#define LL_SIM_PARALLEL_PIPELINE_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/memory/footprint.h"
#include "sim/parallel/plan.h"
#include "sim/replay/communication.h"
#include "sim/replay/replay.h"
#include "tracer/base/diag.h"
#include "tracer/ir/trace.h"

struct ll_layers {
    uint32_t count;
    const char **names;    /* scopes; "" where nothing is numbered */
    uint64_t *flops;       /* of all ops that belong to it */
    uint64_t *named_flops; /* of those whose scope says so */
    uint32_t *named;       /* by op: the layer that its scope names, LL_NONE for others */
    uint32_t *owner;       /* by op: the layer to which it belongs, LL_NONE for what is nobody's */
};

/* Fills *layers in time about linear in the trace; lists live in the arena. False when memory ran out. Pure
 * otherwise, thread-safe. */
bool ll_layers_find(const struct ll_trace *trace, struct ll_arena *arena, struct ll_layers *layers);

/* Layers of a workload whose scopes tell of none: what repeats. Private to sim/parallel/layers*.c. */

/* Layers of a workload that do the same, one behind the other, as most of those of a transformer do: what is
 * found out about one of them holds for all. */

struct ll_equal_layers {
    uint32_t first, count; /* layers first ... first + count - 1 do the same; count 0: no two neighbours do */
    uint32_t *place;       /* by op: its place among those of its layer; LL_NONE for nobody's */
    uint32_t *ops;         /* layer after layer, each in order */
    const uint64_t *begin; /* by layer: where its ops begin; layers.count + 1 of them */
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
 * only what other layers read is kept. SELECTIVE: the same for what lies from the product of queries and keys
 * to the product with the values. Collectives in between run again too. What random ops draw follows from
 * their attributes, so they draw the same. */

/* A trace with these ops repeated, in the phase backward; all else is as before. Free with ll_trace_free.
 * NULL and *trouble, a static sentence. Thread-safe. */
struct ll_trace *ll_recompute(const struct ll_trace *trace, enum ll_recompute recompute,
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
    uint64_t stages, chunks; /* at least 1 each */
    uint64_t vstage;         /* less than stages x chunks */
    uint64_t distance;       /* of devices of neighbouring stages: tensor x data */
};

/* The program of a virtual stage; free with ll_trace_free. NULL and *trouble, a static sentence: fewer layers
 * than virtual stages, for one. Thread-safe. */
struct ll_trace *ll_pipeline_partition(const struct ll_trace *trace,
                                       const struct ll_pipeline_partition *partition, const char **trouble);

/* Which virtual stage of a cut model does what, and what crosses between virtual stages. Private to
 * sim/parallel. */

/* Pieces that have the same weight, in order, and the op that adds their gradients: LL_NONE where none does
 * so in a way that an all_reduce could. */
struct ll_tie {
    bool *has;             /* by virtual stage */
    uint32_t sum;          /* op */
    uint32_t first_output; /* its tensor */
};

struct ll_virtual_stages {
    uint32_t count, stages; /* virtual stage i lies on stage i modulo stages */
    uint32_t *vstage_of;    /* by op, LL_NONE for what each virtual stage makes for itself */
    bool *is_view;          /* by signature: another look at the same memory, which costs nothing anywhere */
    uint32_t *tie_of;       /* by op: the tie whose weight it updates, LL_NONE for most */
    struct ll_tie *ties;
    uint32_t tie_count;
};

/* Cuts into `count` virtual stages on so many stages; lists live in the arena. NULL, or why it cannot be, a
 * static sentence. */
const char *ll_virtual_stages_find(const struct ll_trace *trace, uint32_t count, uint32_t stages,
                                   struct ll_arena *arena, struct ll_virtual_stages *vstages);

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

/* Pipeline schedules: the order of a stage's passes and how long a step in that order takes.
 *
 * In which order a stage of a pipeline takes up micro-batches.
 *
 * A slot is one pass of one micro-batch through one virtual stage of the model. With p stages of v chunks
 * each, virtual stage c p + s lies on stage s. GPipe (Huang et al., 2019) has all forward slots before all
 * backward ones; 1F1B (Narayanan et al., PipeDream, 2019) begins with p - 1 - s forward ones and then takes
 * one of each in turn; interleaved (Narayanan et al., 2021) the same with (p - 1 - s) 2 + (v - 1) p at the
 * beginning, chunk after chunk in groups of p micro-batches. With equal stages and messages that take no time
 * a step takes
 *
 *       (m + (p - 1) / v) (forward + backward)        v = 1 for the first two
 *
 * All functions are pure. */

struct ll_pipeline_shape {
    enum ll_schedule schedule;
    uint64_t stages, chunks; /* at least 1; chunks is 1 but for interleaved */
    uint64_t micro_batches;  /* at least 1; interleaved: a multiple of the stages */
};

struct ll_schedule_slot {
    bool backward;
    uint64_t chunk, micro_batch;
};

/* How many slots each stage has, and the i-th of them on a stage. */
uint64_t ll_schedule_slot_count(const struct ll_pipeline_shape *shape);
struct ll_schedule_slot ll_schedule_slot_at(const struct ll_pipeline_shape *shape, uint64_t stage,
                                            uint64_t i);

/* How many micro-batches of a chunk are on a stage at once at most: they have gone forward and not back. Sum
 * over the chunks. */
uint64_t ll_slots_in_flight(const struct ll_pipeline_shape *shape, uint64_t stage);

/* Its name as files and options spell it; static. */
const char *ll_schedule_name(enum ll_schedule schedule);

/* A pipeline's step: virtual stages of a model that hand micro-batches to one another.
 *
 * A virtual stage waits for what it needs, takes its time, and sends on; messages go while their stage
 * computes, one after the other in either direction. The last backward pass of a stage takes longer by what
 * follows it: gradients that are exchanged, weights that are updated. */

/* What a virtual stage does with a micro-batch. */
struct ll_vstage_times {
    double forward_s, backward_s;
    double tail_s; /* after its last backward pass, on the first chunk of a stage: exchange and update */
};

/* What one virtual stage sends another for each micro-batch. */
struct ll_vstage_message {
    uint32_t from, to; /* virtual stages; in the backward pass `from` lies behind `to` */
    bool backward;
    double time_s;
};

struct ll_pipeline {
    struct ll_pipeline_shape shape;
    const struct ll_vstage_times *vstages; /* stages x chunks; virtual stage i on stage i modulo stages */
    const struct ll_vstage_message *messages;
    uint64_t message_count;
};

struct ll_pipeline_result {
    double time_s;
    double busy_s;    /* of the stage that works longest */
    double idle_s;    /* of all stages together: time_s each less what they work */
    uint64_t slowest; /* that stage */
};

/* False when memory ran out. Deterministic. */
bool ll_pipeline_run(const struct ll_pipeline *pipeline, struct ll_pipeline_result *result);

/* How long a pipeline's step takes, for the many plans of a search: what sim/parallel/pipeline.h computes of
 * virtual stages that hand what they make to the next one alone, without a task for each slot.
 *
 * From so many micro-batches on that the pipeline has long been full, further ones are taken to take what the
 * ones before them took. */

struct ll_pipeline_estimate {
    struct ll_pipeline_shape shape;
    const struct ll_vstage_times *vstages; /* stages x chunks; virtual stage i on stage i modulo stages */
    const double *message_s;               /* by virtual stage: of what it hands to the next, and gets back */
};

/* False when memory ran out. Pure. */
bool ll_pipeline_estimate_s(const struct ll_pipeline_estimate *turns, double *time_s);

/* What replicas exchange beside the passes of a stage, layer by layer: the network takes one exchange after
 * the other, in the order in which layers come to ask (sim/parallel/exchange.h), and shows where a layer
 * waits for its weights, or where it is busy still when all layers are done.
 *
 * While the network is busy, what units hold back of a layer is slowed by the largest share of them that an
 * exchange so far keeps busy (`units_taken`).
 *
 * Assumed: devices that share a product do not use the same links meanwhile. */

struct ll_dp_overlap {
    const struct ll_layer_costs *costs; /* of one replica, at the plan's micro-batch */
    const uint32_t *part_of; /* by layer: its virtual stage, of pipeline x chunks; a stage has every
                                           pipeline-th */
    const struct ll_parallel *plan;
    struct ll_exchanges *exchanges;
    bool gathers;                     /* weights lie in parts */
    bool sums;                        /* gradients are exchanged */
    const struct ll_machine *machine; /* of the exchanges */
};

/* What a micro-batch takes the stage both ways, until the network is done as well. False when memory ran out.
 */
bool ll_dp_overlap_s(const struct ll_dp_overlap *overlap, uint64_t stage, double *time_s);

/* An exchange of so many bytes among the replicas of a stage, of parts among those that share; sums that come
 * out in parts are added up with those of the others. 0 without other replicas. False when memory ran out. */
bool ll_among_replicas_s(struct ll_exchanges *exchanges, const struct ll_parallel *plan, enum ll_op_kind kind,
                         double bytes, double *time_s);

/* Peak memory where a trace is not all of what a device holds: the fullest of several ranks, and a stage with
 * several micro-batches in flight. */

/* Fills *footprint with that of the rank that needs most, the first of equals; ops of a thread are those of
 * the rank of its number, below `ranks`, and a storage is of the rank whose op touches it first. Updates
 * stand where they were recorded. In time linear in the trace. False when memory ran out. Pure otherwise,
 * thread-safe. */
bool ll_fullest_rank(const struct ll_trace *trace, uint32_t ranks, struct ll_footprint *footprint);

/* What the memory of a stage holds while several micro-batches are under way.
 *
 *     weights, the optimizer's state and, with several micro-batches, the gradients that they add up
 *   + what each micro-batch has from the step before and leaves to the next: keys and values of its sentences
 *   + as often as passes are in flight, what a forward pass keeps for its backward pass
 *   + what there is besides at the worst moment of one pass
 *
 * Pieces of a stage differ in all of these, and not as many passes through each are in flight: the worst
 * moment is looked for along the slots of the schedule (sim/parallel/pipeline.h). */

/* Bytes by memory class. */
struct ll_class_bytes {
    uint64_t of[LL_MEMORY_COUNT];
};

struct ll_vstage_memory {
    struct ll_class_bytes peak;    /* at the worst moment of one micro-batch */
    struct ll_class_bytes lasting; /* of it: all the time */
    struct ll_class_bytes kept;    /* between the two passes, beside what lasts */
    /* The same of each kind of memory alone, wherever it has its own worst moment. */
    struct ll_kind_bytes {
        uint64_t peak, lasting, kept;
    } kinds[LL_HOLDS_COUNT];
};

/* Of a program with ops, for so many micro-batches a step. With several, gradients that are exchanged or used
 * once a step last all the time, and so does what the others carry from step to step. False when memory ran
 * out. Pure otherwise. */
bool ll_vstage_memory(const struct ll_trace *program, uint64_t micro_batches,
                      struct ll_vstage_memory *memory);

/* By storage, whether it is brought of the samples and an op writes it: the step after begins with it, so
 * that each micro-batch has one of its own all the time. In the arena; NULL when memory ran out. */
bool *ll_find_carried(const struct ll_trace *program, struct ll_arena *arena);

/* Bytes of the gradients that a program's backward pass makes and that are used once a step, for which those
 * of several micro-batches are added up. False when memory ran out. */
bool ll_added_gradients(const struct ll_trace *program, uint64_t *bytes);

/* The last op of the first step's forward pass; LL_NONE without any. */
uint32_t ll_end_of_forward(const struct ll_trace *program);

/* How many passes through virtual stages of a stage are in flight at most; a stage alone waits for nobody. */
uint64_t ll_stage_in_flight(const struct ll_pipeline_shape *shape, uint64_t stage);

/* Of a stage with shape->chunks virtual stages, which is alone only with one of them. The footprint has no
 * peak_op. False when memory ran out. */
bool ll_stage_memory(const struct ll_vstage_memory *vstages, const struct ll_pipeline_shape *shape,
                     uint64_t stage, struct ll_footprint *footprint);

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

/* What replicas can share out. */
struct ll_state_bytes {
    double weight, optimizer, gradient; /* of gradients that an update reads */
};

struct ll_layer_cost {
    double forward_s, backward_s, update_s; /* of the device, with what it waits for inside of the layer */
    double forward_units_s,
        backward_units_s;  /* of these, of ops that units hold back: exchanges may slow them */
    double again_s;        /* of forward_s, what comes twice where the layer is computed again */
    double update_start_s; /* of update_s, what starting ops takes, however little they then do */
    struct ll_state_bytes state, of_experts; /* of_experts: of the state, what ll_spread_experts divides */
    double forward_read_bytes, backward_read_bytes; /* of weights, also those that other layers read */
    double carried_bytes; /* that a micro-batch has from the step before: keys and values of its sentences */
    double kept_bytes;    /* from the forward to the backward pass */
    double held_bytes;    /* of kept_bytes, what is kept even where the layer is computed again */
    double peak_bytes;    /* the most that its ops have at once of what it keeps, and of what is not kept */
    double again_peak_bytes;     /* the same where it is computed again */
    double handed_bytes;         /* that ops of later layers read of it, going forward */
    uint64_t flops, named_flops; /* as struct ll_layers has them */
};

struct ll_layer_costs {
    struct ll_layer_cost *at;
    uint32_t count;
};

/* Of a replayed program of one device: times are the mean of its steps, bytes those of the first. Lists live
 * in the arena. False when memory ran out. */
bool ll_layer_costs(const struct ll_result *result, struct ll_arena *arena, struct ll_layer_costs *costs);

/* What a plan takes, put together from what layers take (sim/parallel/pipeline.h), without its programs.
 *
 * A pass of a micro-batch comes from going along a stage's layers with a clock for the device and one for the
 * network (sim/parallel/pipeline.h), the step from stages that take turns (sim/parallel/pipeline.h); exchange
 * and update come behind, less what the last backward pass hides. */

/* One after the other for many plans; what it needs lives in an arena. */
struct ll_estimator {
    const struct ll_machine *machine;
    struct ll_exchanges *exchanges;
    struct ll_estimated_stage *stages;
    struct ll_vstage_times *vstages;
    double *message_s;        /* by virtual stage: of what it hands on */
    uint32_t *part_of;        /* by layer: its virtual stage */
    uint64_t *loads, *totals; /* by layer */
    bool failed;              /* memory ran out, at some time */
};

/* For so many layers and stages at most. False when memory ran out. */
bool ll_estimator_open(struct ll_estimator *e, const struct ll_machine *machine,
                       struct ll_exchanges *exchanges, uint64_t layers, uint64_t stages,
                       struct ll_arena *arena);

/* Divides the layers among as many virtual stages, as ll_pipeline_partition does. */
void ll_estimate_divide(struct ll_estimator *e, const struct ll_layer_costs *costs, uint64_t vstages);

/* Counts what the stages hold, of layers that are divided; again for each recomputation. */
void ll_estimate_count(struct ll_estimator *e, const struct ll_layer_costs *costs,
                       const struct ll_parallel *plan);

/* A step, and the fullest device, of a plan whose stages are counted. */
double ll_estimate_s(struct ll_estimator *e, const struct ll_layer_costs *costs,
                     const struct ll_parallel *plan);
double ll_estimate_bytes(const struct ll_estimator *e, const struct ll_layer_costs *costs,
                         const struct ll_parallel *plan);

#endif
