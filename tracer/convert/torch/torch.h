/* SPDX-License-Identifier: Apache-2.0 */
/* What PyTorch tells of a run: operators called within each other, their arguments, tensors by number.
 *
 * Two files tell it. An execution graph (ExecutionGraphObserver of 1.13, ExecutionTraceObserver later) has
 * the numbers of tensors and storages and no times; a profiler's trace has times and shapes and no numbers.
 * Both become a list of nodes here; aten.c turns the operators among them into ops. Nodes live in the arena
 * of the import. Private to tracer/convert/torch. */
#ifndef LL_TRACER_CONVERT_TORCH_TORCH_H
#define LL_TRACER_CONVERT_TORCH_TORCH_H

#include "tracer/base/json.h"
#include "tracer/base/map.h"
#include "tracer/convert/convert.h"
#include "tracer/convert/recorded/recorded.h"

/* A tensor as an argument or a result. Where nobody knows whose memory it is, its storage is one of its own.
 */
struct ll_torch_tensor {
    uint64_t id, storage;
    struct ll_shape shape;
    bool absent;   /* there could have been one */
    bool typeless; /* the file does not say of what type, as in lists of a profile */
};

enum ll_torch_kind { LL_TORCH_NONE, LL_TORCH_TENSORS, LL_TORCH_NUMBERS, LL_TORCH_OTHER };

/* An argument: one or several tensors, one or several numbers (booleans are 0 or 1), or something else. */
struct ll_torch_value {
    enum ll_torch_kind kind;
    bool list;
    bool untold; /* it may have been a number, which the file does not tell */
    uint32_t count;
    struct ll_torch_tensor *tensors;
    const double *numbers;
};

enum { LL_TORCH_MOST_RANKS = 1 << 30 };

/* What a communicator says of an exchange (record_param_comms). */
struct ll_torch_exchange {
    const char *name;                                          /* "allreduce"; NULL: not told */
    uint64_t read_elements, written_elements, devices, stride; /* 0: not told */
    int64_t peer;                                              /* distance to the other end; 0: not told */
    enum ll_dtype dtype;
};

struct ll_torch_node {
    const char *name;    /* of the operator, "aten::mm" */
    uint64_t id, parent; /* of the node, and of that which called it */
    int64_t sequence;    /* of autograd: equal for an operator and its backward node; -1: none */
    int64_t scope;       /* PyTorch's RecordScope: 1 is a backward node */
    uint32_t thread;     /* number of the thread, from 0 */
    uint32_t input_count, output_count;
    struct ll_torch_value *inputs;
    const struct ll_torch_tensor *outputs; /* result tensors; lists are laid out one after the other */
    bool outputs_known;                    /* else they are what the operator makes of its inputs */
    uint64_t start_ns, duration_ns;        /* zero when nobody measured */
    uint64_t begin_ns, end_ns;             /* on the host, as the file has them; zero when nobody measured */
    uint64_t device_ns;                    /* of the kernels that it started itself */
    uint64_t external;                     /* the number by which kernels name it; 0: none */
    const struct ll_torch_exchange *exchange; /* NULL: it is none */
    uint64_t correlation; /* of a call of the driver that starts kernels, which has no name here; 0: none */
    bool compiled;        /* a kernel that a compiler wrote */
    uint64_t kernel_first, kernel_count; /* those of nodes->kernels that it started itself */
};

/* What ran on a device, beside the node that started it. */
struct ll_torch_kernel {
    const char *name;
    uint64_t start_ns, duration_ns;
    uint64_t place; /* of the node, from 1 */
    enum ll_device_event_kind kind;
};

struct ll_torch_nodes {
    struct ll_torch_node *at; /* in the order in which they began; a parent comes before its children */
    uint64_t count, capacity;
    bool measured;                   /* there are kernels: times are those of a device */
    bool left_out;                   /* of these, no operator was recorded */
    struct ll_torch_kernel *kernels; /* by node, then by time; to be freed */
    uint64_t kernel_count, kernel_capacity;
};

/* Reads an execution graph: schema 1.0.1 of PyTorch 1.13 and the later ones of 2.x. False after complaints,
 * or with import->status set; the nodes are to be freed with free() in any case. */
bool ll_torch_read_graph(struct ll_import *import, struct ll_torch_nodes *nodes);

/* The type of elements by PyTorch's name of it ("float", "long int", "c10::Half"), LL_DTYPE_COUNT for none.
 */
enum ll_dtype ll_torch_dtype(const char *name, size_t length);

/* Nodes in the order of their numbers, each parent found. False after complaints. */
bool ll_torch_sort(struct ll_import *import, struct ll_torch_nodes *nodes);

/* Records what the nodes did: facts, steps, ops. Of a profile nobody knows which tensor is which, so each op
 * waits for the one before it. False after complaints. */
enum ll_torch_file { LL_TORCH_GRAPH, LL_TORCH_PROFILE };
bool ll_torch_record(struct ll_import *import, struct ll_torch_nodes *nodes, enum ll_torch_file file);

/* PyTorch's operators as ops: a row of aten.def each, and a rule (aten*.c) that records it.
 *
 * Memory is followed by storage. A storage holds one tensor at a time, the one that was written last; whoever
 * reads the storage as another tensor gets a view of that, made when it is asked for. So PyTorch's own views
 * record nothing, and a write is seen by all who read later. A storage that was allocated anew holds nothing
 * until it is written; what is read without ever having been written was there before. Where nobody knows
 * storages every tensor is one of its own.
 *
 * Images, which PyTorch names batch, channel, height, width, are batch, height, width, channel here: a matter
 * of names, whatever their memory looks like. Private to tracer/convert/torch. */

/* So many views of what a storage holds are kept, for the next one who asks. */
enum { LL_SEEN_KEPT = 4 };

/* How much an operator does: nothing that counts, something that nobody knows, something that has a row. */
enum ll_torch_work { LL_TORCH_NOTHING, LL_TORCH_SOMETHING, LL_TORCH_KNOWN };

struct ll_storage {
    bool live;               /* it holds something */
    bool decided;            /* what was there before the first op is what its first reader takes it for */
    struct ll_imported held; /* the tensor that was written last */
    enum ll_memory_class memory;           /* of what it holds */
    enum ll_memory_class brought;          /* of what was there before the first op */
    struct ll_imported seen[LL_SEEN_KEPT]; /* views of it that were made, to be used again */
    uint32_t seen_count;
    uint64_t got_by; /* 1 + the operator without a row that got this memory, until it is written; else 0 */
    uint64_t next_write[LL_TORCH_KNOWN + 1]; /* 1 + the next node that writes it and does so much; 0: none */
};

struct ll_storages {
    struct ll_map numbers;
    struct ll_storage *at; /* by the number's place in the map */
    uint64_t capacity;
    uint32_t ops;  /* recorded so far */
    bool in_order; /* each op waits for the one before it */
};

#define LL_ATEN_WANTS_TENSORS "its arguments are not the tensors that it takes"

/* The rules that rows of aten.def name; each is a function ll_aten_WORD in an aten*.c. */
#define LL_ATEN_RULE_LIST(X)                                                                                 \
    X(MM)                                                                                                    \
    X(ADDMM)                                                                                                 \
    X(LINEAR)                                                                                                \
    X(QKV)                                                                                                   \
    X(MV)                                                                                                    \
    X(ADDMV)                                                                                                 \
    X(ATTENTION)                                                                                             \
    X(ATTENTION_BACKWARD)                                                                                    \
    X(CONVOLUTION)                                                                                           \
    X(CONV_BACKWARD)                                                                                         \
    X(BATCH_NORM)                                                                                            \
    X(NORM_BACKWARD)                                                                                         \
    X(NORM_BACKWARD_CUDNN)                                                                                   \
    X(LAYER_NORM)                                                                                            \
    X(LAYER_BACKWARD)                                                                                        \
    X(GROUP_NORM)                                                                                            \
    X(GROUP_BACKWARD)                                                                                        \
    X(MAX_POOL)                                                                                              \
    X(MAX_POOL_BACKWARD)                                                                                     \
    X(AVERAGE_POOL)                                                                                          \
    X(AVERAGE_BACKWARD)                                                                                      \
    X(ADAPTIVE_POOL)                                                                                         \
    X(ADAPTIVE_BACKWARD)                                                                                     \
    X(RESIZE)                                                                                                \
    X(SOFTMAX)                                                                                               \
    X(NLL_LOSS)                                                                                              \
    X(NLL_BACKWARD)                                                                                          \
    X(SQUARED_LOSS)                                                                                          \
    X(SQUARED_BACKWARD)                                                                                      \
    X(EMBEDDING)                                                                                             \
    X(INDEX_SELECT)                                                                                          \
    X(INDEX)                                                                                                 \
    X(GATHER)                                                                                                \
    X(INDEX_PUT)                                                                                             \
    X(SCATTER)                                                                                               \
    X(TOP_K)                                                                                                 \
    X(SORT)                                                                                                  \
    X(EMBEDDING_BACKWARD)                                                                                    \
    X(DROPOUT)                                                                                               \
    X(DRAW)                                                                                                  \
    X(REDUCE)                                                                                                \
    X(JOIN)                                                                                                  \
    X(ELEMENTS)                                                                                              \
    X(PRODUCT_ADDED)                                                                                         \
    X(FOREACH)                                                                                               \
    X(FOREACH_PRODUCT)                                                                                       \
    X(SCALED_MM)                                                                                             \
    X(PACKED_MM)                                                                                             \
    X(GROUPED_MM)                                                                                            \
    X(FUSED_ADAM)                                                                                            \
    X(FUSED_SGD)                                                                                             \
    X(WHERE)                                                                                                 \
    X(MASKED_FILL)                                                                                           \
    X(ASSIGN)                                                                                                \
    X(COPY)                                                                                                  \
    X(REPEAT)                                                                                                \
    X(PADDED)                                                                                                \
    X(FILL)                                                                                                  \
    X(VIEW)                                                                                                  \
    X(ALLOCATE)                                                                                              \
    X(NOTHING)                                                                                               \
    X(EXCHANGE)                                                                                              \
    X(NOTED_EXCHANGE)

enum ll_aten_word {
#define X(word) LL_ATEN_##word,
    LL_ATEN_RULE_LIST(X)
#undef X
};

struct ll_aten;

/* Records a call. NULL, or why its arguments make no sense; static storage. */
typedef const char *ll_aten_rule(struct ll_aten *call);
#define X(word) ll_aten_rule ll_aten_##word;
LL_ATEN_RULE_LIST(X)
#undef X

/* A row of aten.def. */
struct ll_aten_row {
    const char *name;
    ll_aten_rule *rule;
    enum ll_aten_word word; /* the rule as an enum, to compare with */
    enum ll_op_kind kind;   /* what the rule records, where it can be several; LL_OP_NONE: it knows */
    uint32_t tensors;       /* how many arguments an element-wise op takes */
    uint32_t weights;       /* bit i: argument i is a weight, unless an op made it */
};

/* A call of an operator at work. */
struct ll_aten {
    struct ll_import *import;
    struct ll_storages *storages;
    const struct ll_torch_node *node;
    const struct ll_aten_row *row;
    enum ll_phase phase;
    enum ll_memory_class memory; /* of what the call writes */
    const char *scope;
    bool timed;           /* its time went with an op already */
    uint64_t below_count; /* of nodes that follow it in the list and may lie within it */
    uint64_t
        reads_of; /* 1 + an operator without a row whose memory it reads, which no op has written; else 0 */
};

/* The row of an operator, by name, with or without an overload (`aten::add.Tensor`); NULL for none. What
 * changes its first argument (`aten::add_`) has the row of what does not, unless there is one for it. */
const struct ll_aten_row *ll_aten_find(const char *name);

/* The first tensor of argument i; NULL when it is none. */
const struct ll_torch_tensor *ll_aten_tensor(const struct ll_aten *call, uint32_t i);

/* Result i; NULL when there are not so many, or none are known. */
const struct ll_torch_tensor *ll_aten_result(const struct ll_aten *call, uint32_t i);

/* Number `at` of argument i, a list or a number that counts for all places; otherwise when there is none. */
double ll_aten_number(const struct ll_aten *call, uint32_t i, uint32_t at, double otherwise);

/* The same as a whole number, at most this in size, so that products of two fit. */
enum { LL_ATEN_MOST = 1 << 30 };
int64_t ll_aten_integer(const struct ll_aten *call, uint32_t i, uint32_t at, int64_t otherwise);

/* The shape of an image: its channels come last, and where it has one dimension it is of height one. NULL, or
 * why it is none; static storage. */
const char *ll_image_shape(const struct ll_shape *shape, struct ll_shape *image);

/* The slot of a tensor's storage, valid until that of another is asked for; NULL when memory ran out. */
struct ll_storage *ll_storage_of(struct ll_aten *call, const struct ll_torch_tensor *tensor);

/* What a tensor holds, seen in this shape (NULL: its own). A view is recorded when it is another than that of
 * what was written. */
struct ll_imported ll_aten_hold(struct ll_aten *call, const struct ll_torch_tensor *tensor,
                                const struct ll_shape *as);

/* From now on the tensor's storage holds this. NULL tensors hold nothing. */
void ll_aten_give(struct ll_aten *call, const struct ll_torch_tensor *tensor, struct ll_imported held);

/* What was already held, seen otherwise. */
struct ll_imported ll_aten_see(struct ll_aten *call, struct ll_imported held, const struct ll_shape *as);

/* Records an op of the call: phase, scope, times, class and order are filled in. As ll_import_record. The
 * times are those of the call's first op; what else a call records takes none. */
const char *ll_aten_do(struct ll_aten *call, const struct ll_import_op *op, struct ll_imported *out);

/* The same; the call's first result is what the op gives. */
const char *ll_aten_do_to(struct ll_aten *call, const struct ll_import_op *op);

/* A number as a tensor without dimensions. */
struct ll_imported ll_aten_constant(struct ll_aten *call, enum ll_dtype dtype);

/* Argument i as a vector, something that was there when it is no tensor. */
struct ll_imported ll_aten_vector(struct ll_aten *call, uint32_t i, uint64_t length, enum ll_dtype dtype);

/* Copies of one tensor to another type, or of the same. */
const char *ll_aten_cast(struct ll_aten *call, struct ll_imported from, enum ll_dtype dtype,
                         struct ll_imported *to);

/* Forgets what the storages hold; frees them. */
void ll_storages_release(struct ll_storages *storages);

/* What a run of PyTorch repeats: where its steps begin when nothing marks them, and which tensors of a
 * profile are the same in each of them. Private to tracer/convert/torch. */

/* A call that is recorded, and what it is part of. */
struct ll_torch_leaf {
    struct ll_torch_node *node;
    const struct ll_aten_row *row; /* NULL: nobody knows the operator; only ll_torch_find_marks wants these */
    enum ll_phase phase;
    uint64_t place; /* of the node */
};

/* Finds the numbers that an older profile does not tell (inferred.c): strides, windows, sizes, from the
 * shapes of what a call takes and of what others take that came out of it. NULL when all is known that its
 * rule needs; else the sentence that says what lacks, static storage. *assumed: what was taken for true
 * though the shapes allow other numbers, too; NULL: nothing. Of a call without any such numbers nothing is
 * looked for. import->status is set when memory ran out. */
const char *ll_torch_tell(struct ll_import *import, const struct ll_torch_nodes *nodes,
                          const struct ll_torch_leaf *leaves, uint64_t count, uint64_t at, bool training,
                          const char **assumed);

/* How many calls a step has; count where all of them are one. The choice `steps` tells how many steps
 * there are, where it is given. Otherwise layers of a network repeat, too: steps read a weight again,
 * where the file says so, and where it does not (file is a profile) what one makes cannot be what the next
 * one reads. False after complaints, or with import->status set. */
bool ll_torch_period(struct ll_import *import, const struct ll_torch_leaf *leaves, uint64_t count,
                     enum ll_torch_file file, uint64_t *period);

/* Steps as PyTorch marks them: ProfilerStep#N, on one thread or several. A mark without a call is no step,
 * nor is what lies before the first mark or behind the last, nor a first step that is but the end of the
 * second one or a last step that is but the beginning of the one before, where no other step is like it. */
#define LL_TORCH_NO_STEP UINT64_MAX
struct ll_torch_mark {
    uint64_t begin, end, place; /* times, where nodes have them; place of the node */
    const char *name;
    uint64_t calls, look; /* of the calls in it */
    bool kept;
};
struct ll_torch_marks {
    struct ll_torch_mark *at; /* in order */
    uint64_t count, capacity;
    uint64_t step_count;  /* steps that are kept; 0: nothing marks a step */
    bool timed, spanning; /* nodes have times; marks last as long as their steps */
    const char *warning;  /* what is left out, which steps differ; NULL: nothing */
};

/* False when memory ran out. To be released in any case. */
bool ll_torch_find_marks(struct ll_import *import, const struct ll_torch_nodes *nodes,
                         const struct ll_torch_leaf *leaves, uint64_t count, struct ll_torch_marks *marks);

/* The number of the mark that a node belongs to, of those that are kept; else LL_TORCH_NO_STEP. */
uint64_t ll_torch_step_of(const struct ll_torch_marks *marks, const struct ll_torch_node *node,
                          uint64_t place);

void ll_torch_marks_release(struct ll_torch_marks *marks);

/* A weight that the step has read, for its gradient. */
struct ll_torch_read {
    struct ll_shape shape;
    uint64_t storage;
    bool taken;
};

/* The tensors of a profile that stay from step to step; starts as zeros. */
struct ll_torch_kept {
    struct ll_map places;       /* kind of call, argument, shape; the how manieth of the step */
    uint64_t *storages;         /* by place */
    struct ll_map looks;        /* of this step, the same without their number */
    uint64_t *counts;           /* of each look in this step */
    struct ll_torch_read *read; /* in this step, forwards */
    uint64_t storage_capacity, count_capacity, read_capacity, read_count;
};

/* A new step begins. */
void ll_torch_keep_step(struct ll_torch_kept *kept);

/* Gives weights of the call, and what an optimizer's call takes, the storages that they had in the step
 * before; weights of backward calls those of the forward ones of this step whose shape they have. False
 * when memory ran out. */
bool ll_torch_keep(struct ll_torch_kept *kept, const struct ll_torch_leaf *leaf);

/* Frees what it keeps. */
void ll_torch_keep_release(struct ll_torch_kept *kept);

#endif
