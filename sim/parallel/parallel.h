/* SPDX-License-Identifier: Apache-2.0 */
/* The programs that a plan makes of a recorded step, and how programs are compared. */
#ifndef LL_SIM_PARALLEL_PARALLEL_H
#define LL_SIM_PARALLEL_PARALLEL_H

#include "sim/parallel/plan.h"
#include "sim/replay/replay.h"
#include "tracer/ir/trace.h"

/* Same ops on tensors of the same looks, with the same dependencies. Programs that do may be found to differ
 * where names made the recorder number things otherwise. Pure. */
bool ll_same_program(const struct ll_trace *a, const struct ll_trace *b);

/* Whether two forms of ops say the same but for their scopes and the names of tensors. Pure. */
bool ll_same_signature(const struct ll_trace *a, const struct ll_op_signature *x, const struct ll_trace *b,
                       const struct ll_op_signature *y);

/* What a program does once a step, not with every micro-batch. Private to sim/parallel. */

/* Ops of the phases comm and update, and casts that serve a whole step. Pure. */
bool ll_is_per_step(const struct ll_trace *program, const struct ll_op_signature *signature);

/* Whether it casts a weight to memory of the class workspace, where the cast lies until the weight changes,
 * as casts to the type of products do (tracer/transform/dtype.h): several micro-batches read the same. Pure.
 */
bool ll_is_lasting_cast(const struct ll_trace *program, const struct ll_op_signature *signature);

/* What each device does: the programs that a plan makes of a recorded step.
 *
 * The step is taken to another batch, shared between the devices of a product and then between those of a
 * sequence, told what to compute again, cut into virtual stages and given the exchanges of replicas, in this
 * order. A program is what one device does with one micro-batch of one virtual stage of the model, and what
 * it does once a step besides: ops of the phases comm and update. Devices that do the same have one program.
 */

struct ll_device_program {
    const struct ll_trace *trace;
    const struct ll_prepared *prepared;
};

/* Owns all it points to but the recorded trace, which outlives it. Immutable once made, to be shared by
 * threads. */
struct ll_spread {
    struct ll_arena arena;
    struct ll_parallel plan;
    struct ll_plan_sizes sizes;
    /* Of a step with one micro-batch: FLOPs before products are shared, and of these what could not be shared
     * and is done on each of plan.tensor devices. */
    double whole_flops, undivided_flops;
    struct ll_device_program *programs; /* that differ */
    uint32_t program_count;
    uint32_t *program_of; /* by virtual stage: virtual stage i is on stage i modulo plan.pipeline */
    uint32_t vstage_count;
    struct ll_trace **owned; /* traces that were made on the way */
    uint32_t owned_count;
};

/* NULL after complaints about plan or trace, as where plan.tensor divides nothing, or without any when memory
 * ran out; `devices` are those that there are. Free with ll_spread_free. */
struct ll_spread *ll_spread_trace(const struct ll_trace *trace, const struct ll_parallel *plan,
                                  uint64_t devices, struct ll_diags *diags);

/* Makes a spread one for this plan, which may differ in its batch alone: programs do not depend on it where
 * the micro-batch is given. False, and nothing is changed, when it needs a spread of its own, or is wrong. */
bool ll_spread_take_batch(struct ll_spread *spread, const struct ll_parallel *plan, uint64_t devices);

/* With all traces that were derived for it; those it was given stay. NULL is fine. */
void ll_spread_free(struct ll_spread *spread);

/* A step on many devices: its time, what it exposes of communication, its pipeline bubble, its memory; and
 * the sums of replays that its result consists of. The sums are private to sim/parallel. */

/* A replay that comes so many times, each time with so many bytes more to and from the outermost memory,
 * which take so long. */
struct ll_term {
    const struct ll_result *result;
    double times, more_bytes, more_s;
    const struct ll_exposure *handed; /* exchanges that come each time besides; NULL: none */
};

/* Sums the terms, of one machine, over a step of time_s, of which they do not take wait_s. Ops and prepared
 * are those of the first term, the footprint is given; shares are of the step, waiting counts as dependency.
 * NULL when memory ran out. */
const struct ll_result *ll_combine(const struct ll_term *terms, size_t count, double time_s, double wait_s,
                                   const struct ll_footprint *footprint, struct ll_arena *arena);

/* A step on many devices: how long, how much of it devices wait for one another, and what to change.
 *
 * Each program of a plan is replayed once (sim/replay), whatever number of devices has it. Of a stage with m
 * micro-batches
 *
 *       m - 1 times  its forward and backward pass, and its gradients added to those of the pass before,
 *       once         the same with what a step has besides: gradients that are exchanged, weights that are
 *                    updated,
 *
 * and stages hand micro-batches to one another in the order of the schedule (sim/parallel/pipeline.h). A plan
 * of one device and one micro-batch is the replay itself, to the last bit. Deterministic; spreads and
 * machines are only read and may be shared by threads. */

/* What devices tell one another for. Word, name, what it is. */
#define LL_TRAFFIC_LIST(X)                                                                                   \
    X(TENSOR, "tensor", "tensor parallel: partial results of a GEMM are combined")                           \
    X(CONTEXT, "context",                                                                                    \
      "context parallel: keys and values of a sequence are gathered, and their gradients reduced")           \
    X(PIPELINE, "pipeline",                                                                                  \
      "pipeline parallel: stages send activations, and reduce gradients of weights they share")              \
    X(DATA, "data", "data parallel: replicas reduce gradients and gather weights")                           \
    X(EXPERT, "expert", "expert parallel: tokens go to their experts and back")

enum ll_traffic_kind {
#define X(word, name, help) LL_TRAFFIC_##word,
    LL_TRAFFIC_LIST(X)
#undef X
        LL_TRAFFIC_COUNT
};

/* As in the list; static storage. */
const char *ll_traffic_name(enum ll_traffic_kind traffic);

/* A device of a stage. */
struct ll_stage_use {
    double forward_s, backward_s; /* a micro-batch through all its virtual stages */
    double tail_s;                /* once a step, behind the last backward pass: exchange and update */
    double busy_s;                /* in a step */
    double flops;                 /* in a step, of one device */
    uint64_t in_flight;           /* passes whose activations it keeps at once, at most */
    uint64_t memory_bytes;        /* at the worst moment */
};

struct ll_parallel_result {
    const struct ll_spread *spread;
    double step_s;
    double samples_Hz; /* of all devices; 0 where the trace does not say its batch */
    double flops;      /* of all devices, a step */
    double bubble;     /* share of the devices' time in which their stage waits for others */
    /* A device of the slowest stage waits so long for exchanges while it computes nothing: they sum to
     * result->network.exposed_s, but that this has no more of messages between stages than these take.
     * Pipeline: the step would be so much shorter, took such messages no time; besides, what a device waits
     * for gradients of weights that stages share. */
    double exposed_s[LL_TRAFFIC_COUNT];
    double energy_j;                   /* of all devices, a step; NaN when the machine does not say */
    struct ll_energy_parts energy;     /* its parts */
    const struct ll_stage_use *stages; /* spread->plan.pipeline of them */
    uint64_t slowest, fullest;         /* stages: that work longest, that need most memory */
    /* Of a device of the slowest stage over the whole step: its time_s is step_s. */
    const struct ll_result *result;
};

/* NULL after complaints, or without any when memory ran out. Lives in the arena, but for the spread and the
 * machine. What is remembered (sim/replay/communication.h) may come from other machines and spreads. */
const struct ll_parallel_result *ll_parallel_run(const struct ll_spread *spread,
                                                 const struct ll_machine *machine,
                                                 struct ll_remembered *remembered, struct ll_arena *arena,
                                                 struct ll_diags *diags);

/* The step's time alone, as a function of the machine. Negative where ll_parallel_run gives NULL. */
double ll_parallel_time_s(const struct ll_spread *spread, const struct ll_machine *machine,
                          struct ll_remembered *remembered, struct ll_diags *diags);

/* What turning each knob of the machine gains, as ll_what_if. */
const struct ll_gain *ll_parallel_what_if(const struct ll_parallel_result *result,
                                          struct ll_remembered *remembered, struct ll_arena *arena,
                                          size_t *count);

/* The best plans for a step on so many devices.
 *
 * All ways to write the devices as data x context x tensor x pipeline are considered, with all
 * micro-batches, chunks, stages of ZeRO (also within a node, or a group of nodes, alone) and kinds of
 * recomputation that go with them, where one does not fit also with the optimizer's state on the host, and
 * other sizes of buckets. Numbers of devices that share sequences grow until two in a row are no better than
 * smaller ones; products are shared within the innermost level of the network. A program of one device is
 * made and replayed once for each way to share products and sequences and each micro-batch; what its layers
 * take (sim/parallel/pipeline.h) gives the time and the memory of every plan built on it
 * (sim/parallel/pipeline.h). What cannot fit is left out, whole branches of it at a time. The best by this
 * estimate are then simulated in full, as many as take a second or two, in a small space all, and at least
 * those that are wanted and the best of each stage of ZeRO, of which other sizes of buckets are tried.
 * Deterministic; one thread. */

struct ll_search_result;

struct ll_plan_search {
    uint64_t devices; /* all of them are used */
    uint64_t batch;   /* samples a step */
    /* So many of the best come out as simulated; at least as many, and half as many of each stage of ZeRO,
     * are. */
    uint64_t simulated;
    /* Called now and then with what there is so far, for who watches; NULL: never. */
    void (*progress)(void *context, const struct ll_search_result *so_far);
    void *context;
};

struct ll_found_plan {
    struct ll_parallel plan;
    double estimate_s;        /* of a step */
    double estimate_bytes;    /* of the fullest device; NaN where the trace does not tell its memory */
    double step_s;            /* as simulated; 0: was not */
    double bubble, exposed_s; /* of it, as simulated; of all kinds of traffic together */
    uint64_t memory_bytes;    /* as simulated */
    double samples_Hz;        /* by the best knowledge */
};

struct ll_search_result {
    uint64_t considered;               /* plans, each of which came out as one of these by its estimate, */
    uint64_t too_large, estimated;     /* however many are simulated: */
    double least_bytes;                /* of a device, of what is too large; INFINITY: nothing is */
    uint64_t programs, simulated;      /* that were made for it; plans that were simulated in full */
    const struct ll_found_plan *found; /* those that fit, best first: simulated ones before the others */
    uint64_t found_count;              /* at most LL_MOST_FOUND */
    bool lacks_gradients;              /* that replicas would exchange: plans with any are not tried */
};

enum { LL_MOST_FOUND = 1000 };

/* NULL after complaints, or without any when memory ran out. Lives in the arena. */
const struct ll_search_result *ll_search_plans(const struct ll_trace *trace, const struct ll_machine *machine,
                                               const struct ll_plan_search *search, struct ll_arena *arena,
                                               struct ll_diags *diags);

/* What would make a step fit into a machine's memory, and what that costs: each way is tried, its footprint
 * taken and the step replayed. */

enum ll_mitigation_kind {
#define LL_MITIGATION(word, ...) LL_MITIGATION_##word,
#define LL_MITIGATION_ALONE(word, ...) LL_MITIGATION_##word,
#include "sim/parallel/mitigations.def"
    LL_MITIGATION_COUNT
};

struct ll_mitigation {
    const char *name, *help; /* static storage */
    const char *with;        /* the options that do it, as --offload optimizer */
    const char *trouble;     /* why it cannot be done or its time is not known; NULL: nothing */
    bool done;               /* the footprint is known */
    bool fits;
    uint64_t peak_bytes;
    double time_s;   /* a step; NaN when it is not known */
    double slowdown; /* of a sample, over the step as it is; NaN as well */
};

/* LL_MITIGATION_COUNT of them, in the order of mitigations.def; the arena owns all. A smaller batch is the
 * largest that fits. Replicas are the machine's devices, eight where it has no network. NULL when memory ran
 * out. */
const struct ll_mitigation *ll_memory_mitigations(const struct ll_result *result, struct ll_arena *arena);

/* What would make a step on many devices fit into their memories, and what that costs: each way is another
 * plan for the same batch, whose programs are made and whose step is simulated. */

enum ll_plan_mitigation_kind {
#define LL_MITIGATION(word, ...) LL_PLAN_MITIGATION_##word,
#define LL_MITIGATION_OF_PLAN(word, ...) LL_PLAN_MITIGATION_##word,
#include "sim/parallel/mitigations.def"
    LL_PLAN_MITIGATION_COUNT
};

/* LL_PLAN_MITIGATION_COUNT of them, in the order of mitigations.def, of a step that `trace` was spread for;
 * the arena owns all. A smaller micro-batch is the largest divisor that fits. More ways to share products,
 * and more stages, are taken from the replicas where these are even, else devices are added. NULL when memory
 * ran out. */
const struct ll_mitigation *ll_plan_mitigations(const struct ll_trace *trace,
                                                const struct ll_parallel_result *step,
                                                struct ll_arena *arena);

/* Traces of several ranks, replayed together: each rank is a device, and they wait for one another.
 *
 * Such a trace says in its header how many `ranks` it has; the thread of an op is its rank (as imports of
 * Chakra's files have it). Each rank has streams as in sim/replay/engine.c, which ops take in recorded order,
 * or, where the header has a `ranks.order`, as they become ready: files of others tell what waits for what,
 * and the order of their nodes means nothing. A collective begins when all members of its group have come, a
 * receive ends when what was sent is there. That exchanges keep units of the device busy (`units_taken`) is
 * left out: each op takes as long as it does alone. */

/* False after a complaint where a trace has several ranks: what each of them does is not a step that other
 * devices could share. */
bool ll_is_of_one_rank(const struct ll_trace *trace, struct ll_diags *diags);

struct ll_rank_use {
    double end_s;  /* of its last op, all steps */
    double busy_s; /* the device works */
};

struct ll_multi_rank_result {
    const struct ll_result *result; /* times of all ops; sums and energy are those of a rank, on average,
                                       shares those of the chain that was waited for, memory that of the
                                       rank that needs most */
    const struct ll_rank_use *ranks;
    uint32_t rank_count;
    uint32_t last; /* rank to end */
};

/* As ll_replay_remembering. Complaints name ops that wait for each other, or for what never comes. */
const struct ll_multi_rank_result *ll_multi_rank_replay(const struct ll_prepared *prepared,
                                                        const struct ll_machine *machine,
                                                        struct ll_remembered *remembered,
                                                        struct ll_arena *arena, struct ll_diags *diags);

/* What turning each knob of the machine gains, as ll_what_if. */
const struct ll_gain *ll_multi_rank_what_if(const struct ll_multi_rank_result *multi_rank,
                                            struct ll_remembered *remembered, struct ll_arena *arena,
                                            size_t *count);

#endif
