/* SPDX-License-Identifier: Apache-2.0 */
/* A step on many devices, as other rooms use it: the programs that a plan makes of a recorded step, the step
 * of all programs, the search for the best plan, memory mitigations, traces of several ranks. */
#ifndef LL_SIM_PARALLEL_PARALLEL_H
#define LL_SIM_PARALLEL_PARALLEL_H

#include <signal.h>

#include "sim/parallel/plan.h"
#include "sim/replay/replay.h"
#include "tracer/ir/trace.h"

/* Whether two programs have the same ops on tensors of the same shapes, with the same dependencies. May say
 * no of equal programs where names made the recorder number tensors in another order. Pure. */
bool ll_same_program(const struct ll_trace *a, const struct ll_trace *b);

/* Whether two op signatures are equal apart from their scopes and the names of tensors. Pure. */
bool ll_same_signature(const struct ll_trace *a, const struct ll_op_signature *x, const struct ll_trace *b,
                       const struct ll_op_signature *y);

/* Whether a program runs the op once a step, not with every micro-batch: ops of the phases comm and update,
 * and casts of weights that serve a whole step. Pure. Private to sim/parallel. */
bool ll_is_per_step(const struct ll_trace *program, const struct ll_op_signature *form);

/* Whether the op casts a weight into memory of the class workspace, where the result stays until the weight
 * changes, as casts to the GEMM dtype do (tracer/transform/dtype.h): all micro-batches of a step read it.
 * Pure. Private to sim/parallel. */
bool ll_is_lasting_cast(const struct ll_trace *program, const struct ll_op_signature *form);

/* What each device does: the programs that a plan makes of a recorded step.
 *
 * The transformations, in this order: another batch, tensor parallelism, context parallelism, expert
 * parallelism, recomputation, casts, pipeline partition, exchanges of replicas, offload. A program is what
 * one device does with one micro-batch of one virtual stage, and what it does once a step: ops of the phases
 * comm and update. Devices that do the same have one program. */

struct ll_device_program {
    const struct ll_trace *trace;
    const struct ll_prepared *prepared; /* of `trace` (sim/replay/replay.h) */
};

/* The programs of a plan. Owns all it points to but the recorded trace, which outlives it. Immutable once
 * made, to be shared by threads. */
struct ll_spread {
    struct ll_arena arena;
    struct ll_parallel plan;
    struct ll_plan_sizes sizes; /* what follows from the plan for the trace */
    double whole_flops; /* FLOPs of a step of one micro-batch before tensor parallelism; 0 without any */
    double
        undivided_flops; /* part of whole_flops that tensor parallelism cannot divide: each rank repeats it */
    struct ll_device_program *programs; /* the different programs */
    uint32_t program_count;             /* length of `programs` */
    uint32_t *program_of;               /* by virtual stage: its index in `programs` */
    uint32_t vstage_count;   /* plan.pipeline x plan.chunks; i is on stage i modulo plan.pipeline */
    uint32_t *layers_of;     /* by virtual stage of a model: how many layers it has; NULL: not known */
    bool compresses;         /* some gradient goes between replicas in the form of plan.compression */
    struct ll_trace **owned; /* all traces that were derived on the way */
    uint32_t owned_count;    /* length of `owned` */
};

/* Makes the programs of a plan on `devices` devices. NULL after complaints about the plan or the trace (where
 * plan.tensor divides nothing, for one), or without any when memory ran out. Free with ll_spread_free. */
struct ll_spread *ll_spread_trace(const struct ll_trace *trace, const struct ll_parallel *plan,
                                  uint64_t devices, struct ll_diags *diags);

/* Where a plan has stages and says that layers are assigned by cost, or says nothing of layers on a machine
 * of several pools: puts a layout in its place, with which the slowest stage is as fast as can be. False
 * after complaints, or when memory ran out. */
bool ll_assign_layers(const struct ll_trace *trace, const struct ll_machine *machine,
                      struct ll_remembered *remembered, struct ll_parallel *plan, struct ll_diags *diags);

/* Changes the plan of a spread to one with another batch and the same micro-batch: its programs stay. False,
 * with nothing changed, when that plan needs programs of its own, or is wrong. */
bool ll_spread_take_batch(struct ll_spread *spread, const struct ll_parallel *plan, uint64_t devices);

/* The layers of a stage as a layout has them, its virtual stages with | between: Et*3, t*2|t*2. Nothing where
 * they are not known. */
void ll_stage_layers(const struct ll_spread *spread, uint64_t stage, struct ll_str *out);

/* Frees a spread with all traces that were derived for it, not the recorded one. NULL is fine. */
void ll_spread_free(struct ll_spread *spread);

/* A replay that runs several times in a step. Private to sim/parallel. */
struct ll_term {
    const struct ll_result *result;
    double times;      /* how many times it runs, at least 0 */
    double more_bytes; /* extra traffic of the outermost memory level each time: gradients accumulated */
    double more_s;     /* time of that traffic, each time */
    const struct ll_exposure *handed; /* messages between stages, each time; NULL: none */
};

/* Sums `count` terms (at least one, all of one machine) over a step of time_s, of which the device waits
 * wait_s. Ops and prepared are those of the first term, the footprint is given. Shares are of the step and
 * sum to 1, waiting counts as dependency. Lives in the arena; NULL when memory ran out. Private to
 * sim/parallel. */
const struct ll_result *ll_combine(const struct ll_term *terms, size_t count, double time_s, double wait_s,
                                   const struct ll_footprint *footprint, struct ll_arena *arena);

/* FLOPs of a device in all its terms, and their energy in J over a step of time_s, whose parts it fills; NaN
 * when the machine describes none. Pure. Private to sim/parallel. */
double ll_combined_flops(const struct ll_term *terms, size_t count);
double ll_combined_energy_j(const struct ll_term *terms, size_t count, double time_s,
                            struct ll_energy_parts *parts);

/* A step on many devices: its time, its exposed communication, its pipeline bubble, its memory.
 *
 * Each program of a plan is replayed once (sim/replay), however many devices run it. A stage with m
 * micro-batches runs
 *
 *       m - 1 times  its forward and backward pass, and its gradients added to those of the pass before,
 *       once         the same with its per-step ops: gradient exchange and weight update,
 *
 * and stages hand micro-batches to one another in the order of the schedule (sim/parallel/pipeline.h). A plan
 * of one device and one micro-batch is the replay itself, to the last bit. Deterministic; spreads and
 * machines are only read and may be shared by threads. */

/* What communication is for. Word, name, what it is. */
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

/* Memory that a training framework has beside the tensors of a program, as the machine's software.training
 * says. */
enum ll_framework_part {
    LL_FRAMEWORK_UNUSED,      /* lasting: a tensor for each distinct shape of weights */
    LL_FRAMEWORK_WORKSPACE,   /* lasting: of GEMM libraries */
    LL_FRAMEWORK_STATISTICS,  /* kept by each pass in flight: of norms */
    LL_FRAMEWORK_EXPERT_ROWS, /* likewise: of experts and of what routes tokens to them */
    LL_FRAMEWORK_PARTS
};

/* What a part is called; static. */
const char *ll_framework_part_name(enum ll_framework_part part);

/* The moment at which a stage has most memory. */
struct ll_stage_peak {
    uint64_t chunk; /* which of its virtual stages is at work */
    uint32_t op;    /* of that one's program; LL_NONE without ops */
    /* Parts of the peak beside what that virtual stage's pass has: what passes that wait keep, what other virtual
     * stages hold all along, and what the framework has while the op runs. */
    uint64_t waiting_bytes, others_bytes, passing_bytes;
};

/* What one device of a pipeline stage does in a step. */
struct ll_stage_use {
    double forward_s;        /* forward pass of one micro-batch through all its virtual stages */
    double backward_s;       /* backward pass of one micro-batch through all its virtual stages */
    double exposed_s;        /* part of both in which it waits for exchanges and computes nothing */
    double tail_s;           /* once a step, after the last backward pass: gradient exchange and update */
    double update_s;         /* part of tail_s in which it updates weights */
    double busy_s;           /* busy time in a step: all passes and the tail */
    double flops;            /* FLOPs in a step */
    uint64_t in_flight;      /* the largest number of passes whose activations it keeps at once, at least 1 */
    uint64_t memory_bytes;   /* peak memory */
    uint64_t capacity_bytes; /* memory that there is */
    bool fits;
    uint64_t class_bytes[LL_MEMORY_COUNT]; /* the parts of memory_bytes, by memory class */
    /* Of these bytes what no tensor of the trace has, with as many passes in flight as there are at most. */
    uint64_t framework_bytes[LL_FRAMEWORK_PARTS];
    struct ll_stage_peak peak;
    /* Beside memory_bytes: groups of devices and pairs that have a communicator, the buffers of all, and what a
     * process takes by itself. */
    uint64_t communicators, communicator_bytes, context_bytes;
};

/* How a program was replayed. */
struct ll_program_replay {
    const struct ll_result *again;    /* what it does with each micro-batch; ops once a step are idle */
    const struct ll_result *per_step; /* the same with its ops once a step */
    double forward_s;                 /* when the forward pass of `again` ends */
    double added_bytes, added_s;      /* gradients are read and written to be added to those before */
    double swept_bytes, swept_s;      /* once a step: they are zeroed, checked, averaged */
};

/* Stages on one kind of devices. */
struct ll_pool_use {
    const struct ll_machine *machine;
    uint64_t first_stage, stages, devices;
    double energy_j; /* of its devices in a step; NaN when the machine describes none */
};

/* Where a machine has pools, stage after stage lies on one after the other (ll_pool_of): programs are
 * replayed on the devices of their stages, and stages of different pools exchange over the slower of both
 * networks, of which each is taken to join all devices of the plan. */
struct ll_parallel_result {
    const struct ll_spread *spread;
    const struct ll_machine *machine;
    const struct ll_pool_use *pools;
    uint64_t pool_count; /* at least 1 */
    double step_s;       /* time of a step */
    double samples_Hz;   /* throughput of all devices; 0 where the trace does not say its batch */
    double flops;        /* FLOPs of all devices in a step */
    double bubble; /* pipeline bubble: share of the devices' time in which stages wait for others, 0 to < 1 */
    /* Exposed communication of a device of the slowest stage, by what it is for: the time in which it waits
     * for exchanges and computes nothing. The entries sum to result->network.exposed_s, except that the
     * latter counts no more of the messages between stages than these messages take. The pipeline entry is by
     * how much the step would be shorter if such messages took no time, plus waits for gradients of tied
     * weights. */
    double exposed_s[LL_TRAFFIC_COUNT];
    double energy_j;               /* energy of all devices in a step; NaN when the machine describes none */
    struct ll_energy_parts energy; /* the parts of energy_j */
    const struct ll_stage_use *stages; /* by stage; spread->plan.pipeline entries */
    uint64_t slowest;                  /* the bottleneck stage: the one that is busy longest */
    uint64_t fullest;               /* the stage with the largest peak memory, as a share of what there is */
    const struct ll_result *result; /* of a device of the slowest stage over the step: its time_s is step_s */
    const struct ll_pipeline *pipeline; /* private to sim/parallel: what ll_parallel_passes plays */
    const struct ll_program_replay *const *replays; /* by virtual stage */
    /* With stragglers or slow links in the plan all times are those of the pipeline that all others wait for,
     * and of its slowest devices. */
    double even_s;                     /* time of a step were none slower than the others */
    uint64_t slow_devices, slow_links; /* devices that compute more slowly, devices whose links are slow */
};

/* NULL after complaints, or without any when memory ran out. Lives in the arena, but for the spread and the
 * machine. What is remembered (sim/replay/communication.h) may come from other machines and spreads. */
const struct ll_parallel_result *ll_parallel_run(const struct ll_spread *spread,
                                                 const struct ll_machine *machine,
                                                 struct ll_remembered *remembered, struct ll_arena *arena,
                                                 struct ll_diags *diags);

/* The program at work when the fullest stage has most memory. Pure. */
const struct ll_trace *ll_parallel_peak_program(const struct ll_parallel_result *result);

/* A backward pass as a whole, or the half of it that gives gradients of inputs or of weights. */
enum ll_pass_half { LL_WHOLE_PASS, LL_INPUT_HALF, LL_WEIGHT_HALF };

/* One pass of one micro-batch through one virtual stage of a stage, in seconds from the start of the step. */
struct ll_pass {
    double start_s, end_s;
    uint64_t micro_batch;
    uint64_t chunk; /* which of the stage's virtual stages */
    bool backward;  /* the backward pass; else the forward pass */
    uint8_t half;   /* enum ll_pass_half: which half of a backward pass */
};

/* The passes of all stages, as the step was simulated: stage after stage, *per_stage of each, in the order in
 * which the stage runs them. After the last pass of a stage comes its tail (ll_stage_use). In the arena; NULL
 * when memory ran out. */
const struct ll_pass *ll_parallel_passes(const struct ll_parallel_result *result, struct ll_arena *arena,
                                         uint64_t *per_stage);

/* A message between stages, in seconds from the start of the step. */
struct ll_pass_message {
    double start_s, end_s;
    uint64_t from, to; /* passes, counted through all stages */
    bool backward;     /* of the backward pass; else of the forward pass */
};

/* The messages of a step whose passes are given, in the order of the passes that send them; *count of them.
 * In the arena; NULL when memory ran out. */
const struct ll_pass_message *ll_parallel_messages(const struct ll_parallel_result *result,
                                                   const struct ll_pass *passes, uint64_t per_stage,
                                                   struct ll_arena *arena, uint64_t *count);

/* Memory of a device around a pass. */
struct ll_pass_bytes {
    uint64_t most;  /* at its worst moment */
    uint64_t after; /* what stays between it and the next pass */
};

/* By pass; the largest `most` of a stage is its peak memory. In the arena; NULL when memory ran out. */
const struct ll_pass_bytes *ll_parallel_pass_bytes(const struct ll_parallel_result *result,
                                                   const struct ll_pass *passes, uint64_t per_stage,
                                                   struct ll_arena *arena);

/* The step time alone, for callers that need nothing else. Negative where ll_parallel_run returns NULL. */
double ll_parallel_time_s(const struct ll_spread *spread, const struct ll_machine *machine,
                          struct ll_remembered *remembered, struct ll_diags *diags);

/* What turning each knob of the machine gains, as ll_what_if. */
const struct ll_gain *ll_parallel_what_if(const struct ll_parallel_result *result,
                                          struct ll_remembered *remembered, struct ll_arena *arena,
                                          size_t *count);

/* The best plans for a step on so many devices.
 *
 * All ways to write the devices as data x context x tensor x pipeline are considered, with all schedules,
 * micro-batches, chunks, stages of ZeRO (also within a node, or a group of nodes, alone: HSDP) and kinds of
 * recomputation that go with them; with layers divided by their FLOPs and, where their times differ, by
 * those; where one does not fit also with the optimizer's state on the host; and other sizes of buckets.
 * Numbers of devices that share sequences grow until two in a row are no better than smaller ones; GEMMs are
 * shared within the innermost level of the network.
 *
 * A program of one device is made and replayed once for each way to share GEMMs and sequences and each
 * micro-batch; what its layers take gives the time and the memory of every plan built on it (estimate.c).
 * What cannot fit is left out, whole branches of it at a time, and so is what a lower bound of its time keeps
 * from the best LL_MOST_FOUND: no other plan is found for it. The best by estimate are then simulated in
 * full, as many as take a second or two, in a small space all, and at least those that are wanted and the
 * best of each stage of ZeRO, of which other sizes of buckets are tried. Deterministic; one thread. */

struct ll_search_result;

/* What a checkpoint of a plan has, in bytes: weights and the optimizer's state. Devices that hold the same
 * share the writing. */
struct ll_checkpoint_bytes {
    double all;    /* of all devices together */
    double device; /* the most that one device writes */
};

struct ll_plan_given;

struct ll_plan_search {
    /* What all plans hold, of keys with a value, or one of several (given.h); NULL: nothing is given. Keys
     * that no search varies are as in a plan of one without. */
    const struct ll_plan_given *given;
    uint64_t devices; /* all of them are used */
    uint64_t batch;   /* samples a step, over all devices */
    uint64_t
        simulated;    /* so many of the best plans are simulated at least, half as many of each ZeRO stage */
    double margin;    /* a plan leaves so large a share of each device's memory free, 0 to less than 1 */
    bool whole_nodes; /* a pipeline stage has whole nodes, or a node whole stages */
    bool divisible;   /* only plans whose numbers divide as Megatron-LM wants: heads and layers evenly */
    /* Plans are ranked by their step time over the share of the time that is productive, more than 0 to 1:
     * called for each checkpoint that differs. NULL: by their step time. */
    double (*time_share)(void *context, const struct ll_checkpoint_bytes *checkpoint);
    void *time_share_context;
    /* Progress: called now and then with the results so far; NULL: never. */
    void (*progress)(void *context, const struct ll_search_result *so_far);
    void *context;
    /* Once this is not 0 no further plan is considered, and the best one until then is simulated; NULL:
     * never. */
    const volatile sig_atomic_t *stop;
};

struct ll_found_plan {
    struct ll_parallel plan;
    double estimate_s; /* estimated step time */
    double
        estimate_bytes; /* estimated peak memory of the fullest device; NaN where the trace has no memory */
    double step_s;      /* simulated step time; 0: the plan was not simulated */
    double bubble;      /* simulated pipeline bubble, a share of the devices' time */
    double exposed_s;   /* simulated exposed communication, all kinds together */
    uint64_t memory_bytes; /* simulated peak memory of the fullest device */
    double energy_j;       /* simulated energy of all devices in a step; NaN: not known */
    double samples_Hz;     /* throughput by step_s, or else by estimate_s */
    struct ll_checkpoint_bytes checkpoint;
    double time_share; /* productive share of the time, as plan_search->time_share said; else 1 */
    uint64_t number;   /* in the order of enumeration: what else is equal is in that order */
};

struct ll_search_result {
    uint64_t considered; /* number of plans: too_large + estimated */
    uint64_t too_large;  /* plans that do not fit by their estimate */
    uint64_t estimated;  /* plans that fit by their estimate */
    uint64_t bounded; /* part of `estimated` that cannot be among the best LL_MOST_FOUND, by a bound alone */
    double least_bytes; /* smallest estimated peak memory of plans that do not fit; INFINITY: all fit */
    uint64_t programs;  /* programs that were made and replayed for the estimates */
    uint64_t layers;    /* of the workload, which stages divide; 0: none was measured */
    uint64_t branches, branches_done; /* ways to share GEMMs and recompute, and how many have been searched */
    bool stopped;       /* before all plans were considered, or as many simulated as were wanted */
    uint64_t simulated; /* plans that were simulated in full */
    const struct ll_found_plan *found; /* plans that fit, best first: simulated ones before the others */
    uint64_t found_count;              /* length of `found`, at most LL_MOST_FOUND */
    enum ll_dtype gradients; /* in which the trace has its gradients of weights; LL_F32 without any */
    const char *refusal; /* why the first of the plans that could not be simulated cannot be; NULL: all can */
    bool lacks_gradients; /* replicas would have no gradients to exchange: no plan with replicas is tried */
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
    const char *name, *help; /* of its row in mitigations.def; static storage */
    const char *with;        /* the options that apply it, such as --offload optimizer */
    const char *trouble;     /* why it cannot be applied or its time is not known; NULL: no trouble */
    bool done;               /* peak_bytes and fits are known */
    bool fits;               /* the step then fits the memory */
    uint64_t peak_bytes;     /* peak memory with the mitigation */
    double time_s;           /* step time with the mitigation; NaN: not known */
    double slowdown;         /* time per sample over that of the step as it is; NaN: not known */
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
 * the arena owns all. A smaller micro-batch is the largest divisor that fits. More ways to share GEMMs,
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
    double end_s;  /* end of the rank's last op, counted over all steps */
    double busy_s; /* time in which its device computes, over all steps */
};

struct ll_multi_rank_result {
    /* Times are those of all ops. Sums and energy are averages over ranks; shares are those of the critical
     * path through all ranks and sum to 1; memory is that of the rank with the largest peak. */
    const struct ll_result *result;
    const struct ll_rank_use *ranks; /* by rank */
    uint32_t rank_count;             /* length of `ranks` */
    uint32_t last;                   /* the rank that ends last */
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
