/* SPDX-License-Identifier: Apache-2.0 */
/* What PyTorch tells of a run: operators called within each other, their arguments, tensors by number.
 *
 * Two files tell it. An execution graph (ExecutionGraphObserver of 1.13, ExecutionTraceObserver later) has
 * the numbers of tensors and storages and no times; a profiler's trace has times and shapes and no numbers.
 * Both become a list of nodes here; aten.h turns the operators among them into ops. Nodes live in the arena
 * of the import. Private to tracer/convert/torch*.c and aten*.c. */
#ifndef LL_CONVERT_TORCH_H
#define LL_CONVERT_TORCH_H

#include "tracer/base/json.h"
#include "tracer/convert/convert.h"

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
    const char *name;
    uint64_t id, parent;
    int64_t sequence; /* of autograd: equal for an operator and its backward node; -1: none */
    int64_t scope;    /* PyTorch's RecordScope: 1 is a backward node */
    uint32_t thread;
    uint32_t input_count, output_count;
    struct ll_torch_value *inputs;
    const struct ll_torch_tensor *outputs; /* those of lists one after the other */
    bool outputs_known;                    /* else they are what the operator makes of its inputs */
    uint64_t start_ns, duration_ns;        /* zero when nobody measured */
    uint64_t begin_ns, end_ns;             /* on the host, as the file has them; zero when nobody measured */
    uint64_t device_ns;                    /* of the kernels that it started itself */
    uint64_t external;                     /* the number by which kernels name it; 0: none */
    const struct ll_torch_exchange *exchange; /* NULL: it is none */
    uint64_t correlation; /* of a call of the driver that starts kernels, which has no name here; 0: none */
    bool compiled;        /* a kernel that a compiler wrote */
};

struct ll_torch_nodes {
    struct ll_torch_node *at; /* in the order in which they began; a parent comes before its children */
    uint64_t count, capacity;
    uint64_t strange_ns; /* of kernels that nobody knows who started */
    bool measured;       /* there are kernels: times are those of a device */
};

/* Reads an execution graph: schema 1.0.1 of PyTorch 1.13 and the later ones of 2.x. False after complaints,
 * or with import->status set; the nodes are to be freed with free() in any case. */
bool ll_torch_read_graph(struct ll_import *import, struct ll_torch_nodes *nodes);

/* The same of a profiler's trace (Chrome's JSON). Parents are found by time. */
bool ll_torch_read_profile(struct ll_import *import, struct ll_torch_nodes *nodes);

/* The type of elements by PyTorch's name of it ("float", "long int", "c10::Half"), LL_DTYPE_COUNT for none.
 */
enum ll_dtype ll_torch_dtype(const char *name, size_t length);

/* Nodes in the order of their numbers, each parent found. False after complaints. */
bool ll_torch_sort(struct ll_import *import, struct ll_torch_nodes *nodes);

/* Records what the nodes did: facts, steps, ops. Of a profile nobody knows which tensor is which, so each op
 * waits for the one before it. False after complaints. */
enum ll_torch_file { LL_TORCH_GRAPH, LL_TORCH_PROFILE };
bool ll_torch_record(struct ll_import *import, struct ll_torch_nodes *nodes, enum ll_torch_file file);

#endif
