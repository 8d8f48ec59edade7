/* SPDX-License-Identifier: Apache-2.0 */
/* A trace in memory: one or more recorded steps of a workload.
 *
 *   strings     names and scopes, each once
 *   descs       what tensors look like: name, shape, memory class, each once
 *   signatures  what ops look like: kind, phase, scope, attributes, descs of inputs and outputs, counts
 *   edges       which tensors an op reads, mostly as distances back from the first tensor it writes
 *   ops         signature + edges + step + time
 *   tensors     desc + storage + producer
 *
 * A training loop repeats itself, so signatures and edges are few and ops are small. A tensor is written
 * once; an in-place op or a view makes a new tensor on the same storage, so that dependencies are exact and
 * memory is not counted twice. Numbers of tensors, storages and ops count from zero in the order of
 * recording.
 *
 * A trace is built by the reader (tracer/format/reader.h), immutable afterwards, and may be shared by
 * threads. It owns all it points to. */
#ifndef LL_TRACER_IR_TRACE_H
#define LL_TRACER_IR_TRACE_H

#include "tracer/base/arena.h"
#include "tracer/base/str.h"
#include "tracer/ir/ops.h"

struct ll_device_timeline; /* tracer/ir/timeline.h */

#define LL_NONE UINT32_MAX /* no op, no tensor, no alias */

/* What a tensor looks like. */
struct ll_tensor_desc {
    uint32_t name;   /* string */
    uint32_t memory; /* enum ll_memory_class */
    struct ll_shape shape;
};

/* What repeats of an op. `view` is ready for the rules of tracer/ir/ops.h. */
struct ll_op_signature {
    struct ll_op_view view;
    enum ll_phase phase;
    uint32_t kind_name; /* string; differs from the table's name only for kinds this program does not know */
    uint32_t scope;     /* string */
    const uint32_t *inputs;  /* descs, view.input_count of them */
    const uint32_t *outputs; /* descs, view.output_count of them */
    const uint32_t *aliases; /* for each output the input whose storage it takes over, or LL_NONE */
    uint64_t flops, bytes_read, bytes_written;
};

/* What an op reads and must wait for although no data passes. An input is 2 distance, where tensor = first
 * output of the op - distance, or 2 tensor + 1 for one that no op made (a weight that is never updated has no
 * constant distance); ll_op_input resolves it. A control is a distance: op = this op - distance. The last
 * gap_count controls stand beside time in which nothing is known of the program, the storage_count before
 * them are there because memory is overwritten, all others because the program did one after the other. */
struct ll_op_edges {
    const uint64_t *inputs;
    const uint64_t *controls;
    uint32_t input_count, control_count, storage_count, gap_count;
};

struct ll_op {
    uint32_t signature, edges, step, thread;
    uint32_t first_output; /* tensor; outputs are numbered one after the other */
    uint64_t start_ns;     /* from the beginning of the recording */
    uint64_t duration_ns;  /* both zero in a dry run */
};

struct ll_tensor {
    uint32_t desc;
    uint32_t storage;
    uint32_t producer; /* op; LL_NONE when the model brought it (weights, constants) */
};

struct ll_step {
    uint32_t first_op, op_count;
    uint64_t start_ns, wall_ns;
    uint64_t recording_ns; /* spent on recording while the step ran, not between steps */
    bool complete;
};

/* A key and its value as text; the header is a list of them, in the order written. Keys of the header:
 * model, mode (train, infer, program), batch, pruned (the pattern of its weights), weights (the type that
 * they are stored in), gaps (by which recorded time in
 * them was multiplied) and products (that of products of weights), each where it is one of their own, native
 * (yes, no), and param.KEY for each parameter, parameters, seed, threads, host.cpu, host.cores, host.cpus,
 * host.memory_bytes, host.cache.l1d and so on, program.build_id, library.NAME (build id), blas.core,
 * blas.better_core (what this CPU could run), blas.config, blas.threads, clock.resolution_ns, leadline
 * (version). A dry run has nothing about the host. Behind the steps of a native run: what ll_pool_facts
 * adds, and rehearsed (yes) where the ops of the first step had run before it, so that it found what they
 * leave. In any trace: warning.KEY, a sentence for everybody who uses it, as why its times may mislead. Of an
 * imported profile: coverage (the share of the recorded device time that its ops took, 0 to 1, where device
 * time was recorded) and memory.unknown (yes, where nobody knows which tensors are the same), and device
 * (what the profiler called the device). */
struct ll_fact {
    const char *key, *value;
};

struct ll_trace {
    struct ll_arena arena;
    struct ll_fact *facts;
    uint64_t fact_count;
    const char **strings;
    uint64_t string_count;
    struct ll_tensor_desc *descs;
    uint64_t desc_count;
    struct ll_op_signature *signatures;
    uint64_t signature_count;
    struct ll_op_edges *edges;
    uint64_t edges_count;
    struct ll_op *ops;
    uint64_t op_count;
    struct ll_tensor *tensors;
    uint64_t tensor_count;
    uint64_t storage_count;
    struct ll_step *steps;
    uint64_t step_count;
    struct ll_device_timeline *timeline; /* what devices did when, on the heap; NULL: nobody recorded it */
    uint64_t file_bytes;                 /* 0: it is of no file */
    bool closed;                         /* the recording ended normally, and the file's end is there */
    uint64_t lost_bytes;                 /* of the file, unreadable */
    uint64_t lost_frames;                /* complete but damaged, or needing a damaged one */
    uint64_t lost_ops;                   /* known to be missing; a cut-off tail is of unknown length */
};

/* Frees everything; NULL is fine. */
void ll_trace_free(struct ll_trace *trace);

/* Whether ops are missing that were recorded. A tensor that one of them made seems to be brought by the
 * model. */
static inline bool ll_trace_has_holes(const struct ll_trace *trace)
{
    return trace->lost_ops > 0 || trace->lost_frames > 0;
}

/* The value of a header key, or NULL. */
const char *ll_trace_fact(const struct ll_trace *trace, const char *key);

/* Whether it was recorded of a program that says nothing of itself (mode program). */
bool ll_trace_is_of_program(const struct ll_trace *trace);

/* How many ranks a trace has; 1 when it does not say, or when its ops are not of as many threads. */
uint32_t ll_trace_ranks(const struct ll_trace *trace);

/* Says in the header that this is the value of a key, a static text, whatever it said before. To be called
 * before the trace is shared. False when memory ran out. */
bool ll_trace_note(struct ll_trace *trace, const char *key, const char *value);

/* The number that a header key's value begins with; `otherwise` without the key, and where that is not
 * positive and finite. */
double ll_trace_number(const struct ll_trace *trace, const char *key, double otherwise);

/* Tensor i of an op's inputs, as an index into the trace's tensors; i is less than the op's input_count. */
static inline uint32_t ll_op_input(const struct ll_trace *trace, uint32_t op, uint32_t i)
{
    uint64_t link = trace->edges[trace->ops[op].edges].inputs[i];
    return link & 1 ? (uint32_t)(link >> 1) : trace->ops[op].first_output - (uint32_t)(link >> 1);
}

/* Tensor i of an op's outputs likewise. */
static inline uint32_t ll_op_output(const struct ll_trace *trace, uint32_t op, uint32_t i)
{
    return trace->ops[op].first_output + i;
}

/* The ops that op must wait for: producers of its inputs, its controls and, when it overwrites a storage, the
 * last one that wrote the storage and all that have read it since, as whatever tensor (what came before these
 * follows). A view takes over a storage without writing. In a recorded program (mode program) the controls
 * tell who has touched the same bytes of a storage, and no other has to be waited for. Sorted, each once. */
struct ll_deps {
    const uint64_t *first; /* op_count + 1 offsets into `ops` */
    const uint32_t *ops;
};

/* Computes the dependencies of all ops at once, in time linear in their number. NULL when memory ran out.
 * Lives in the given arena. */
const struct ll_deps *ll_trace_deps(const struct ll_trace *trace, struct ll_arena *arena);

/* Why an op waits for another. */
#define LL_EDGE_LIST(X)                                                                                      \
    X(DATA, "data", "it reads what the other wrote")                                                         \
    X(STORAGE, "storage", "it overwrites what the other read or wrote")                                      \
    X(ORDER, "order", "the program did one after the other")                                                 \
    X(GAP, "gap", "between them the program did something that was not recorded")

enum ll_edge_kind {
#define X(word, name, doc) LL_EDGE_##word,
    LL_EDGE_LIST(X)
#undef X
        LL_EDGE_COUNT
};

/* The first of these reasons that holds for a dependency of ll_trace_deps; its name, static storage. */
enum ll_edge_kind ll_edge_of(const struct ll_trace *trace, uint32_t op, uint32_t dep);
const char *ll_edge_name(enum ll_edge_kind edge);

/* Checks every invariant of a trace: NULL when every reference points to something, every
 * input exists before it is read, sizes fit and the counts of known kinds are those of the op table;
 * otherwise what is wrong, as text in the arena. The reader calls it on whatever it accepts. */
const char *ll_trace_check(const struct ll_trace *trace, struct ll_arena *arena);

/* What lives when: the storages of a trace, from birth to death.
 *
 * A storage is live from the op that first writes it (from the start when the model brought it) to the last
 * op that touches it; weights and optimizer state are live throughout. Where ops are missing
 * (ll_trace_has_holes) nobody knows what is brought: all begins with the op that first touches it, and ends
 * with the last. Its size is that of the largest tensor on it, its class that of its first tensor. */

struct ll_liveness {
    uint64_t bytes;
    uint32_t first,
        last; /* ops, both inclusive; first is LL_NONE when no tensor lies on it, or no op touches it */
    uint32_t memory; /* enum ll_memory_class */
    bool updates;    /* an op of the update phase reads it */
};

/* By storage, in the arena, in time linear in the trace; NULL when memory ran out. The trace has ops. Pure
 * otherwise, thread-safe. */
struct ll_liveness *ll_trace_liveness(const struct ll_trace *trace, struct ll_arena *arena);

/* What the op table says of a signature. */

struct ll_signature_counts {
    uint64_t flops, bytes_read, bytes_written;
};

/* The counts of an op of a known kind whose outputs are there already. NULL on success; otherwise what is
 * wrong: shapes that the rule refuses, or outputs that it does not give, as a static sentence. Counts past
 * 64 bits are LL_NO_FIT. Pure. */
const char *ll_signature_count(const struct ll_op_view *view, struct ll_signature_counts *counts);

/* What follows of the trace's descs, which have changed: shapes, flops and bytes of a signature, whose lists
 * are those of the trace's arena; counts of kinds that this program does not know stay. False when memory ran
 * out or *trouble, a static sentence, says what does not work out. */
bool ll_signature_renew(struct ll_trace *trace, struct ll_op_signature *signature, const char **trouble);

/* Appends tensors as text, "f32[64,3] f32[3,8]", and those of an op, inputs before outputs:
 * "f32[64,3] f32[3,8] -> f32[64,8]". */
void ll_shapes_text(const struct ll_shape *shapes, uint32_t count, struct ll_str *out);
void ll_signature_text(const struct ll_op_view *view, struct ll_str *out);

/* By signature: whether it is another look at the same memory, which costs nothing. In the arena; NULL when
 * memory ran out. */
bool *ll_views(const struct ll_trace *trace, struct ll_arena *arena);

#endif
