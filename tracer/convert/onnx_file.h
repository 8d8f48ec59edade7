/* SPDX-License-Identifier: Apache-2.0 */
/* An ONNX file as it stands: nodes, tensors, inputs and outputs, without judging what they mean.
 *
 * Only the keys of fields are walked over: weights are neither read nor copied. Field numbers are those of
 * onnx.proto. Values are numbered by name. What is read here lives as long as the arena and the bytes. */
#ifndef LL_TRACER_CONVERT_ONNX_FILE_H
#define LL_TRACER_CONVERT_ONNX_FILE_H

#include "tracer/base/diag.h"
#include "tracer/base/map.h"
#include "tracer/convert/wire.h"
#include "tracer/ir/tensor.h"

/* A constant: what it looks like, and where its elements are. A dimension that is no size is LL_NO_FIT. */
struct onnx_tensor {
    uint32_t value; /* whose, LL_NO_ID for that of an attribute */
    struct ll_shape shape;
    bool supported;          /* a type and a rank that traces know */
    struct ll_wire raw;      /* raw_data, or the packed list that takes its place */
    uint64_t data_field;     /* where they were: 4, 5, 7, 9 (raw), 10 or 11; 0 for nowhere */
    struct ll_wire location; /* the name of another file that has them; at is NULL: none */
    uint64_t offset;         /* where in that file they begin */
};

/* An input or output of the graph, or what the file says about a value in between. */
struct onnx_info {
    uint32_t value;
    struct ll_shape shape; /* open dimensions are 0 */
    bool known;            /* a tensor with a shape, of a type and a rank that traces know */
    /* What an open dimension is called, "" for nothing; NULL where it is not. */
    const char *open[LL_MAX_RANK];
};

/* The version of a domain's operators; the standard ones' is called ai.onnx. */
struct onnx_opset {
    const char *domain;
    int64_t version;
};
struct onnx_opsets {
    struct onnx_opset *items;
    uint64_t count;
};

/* Operators that the model defines, by nodes of others. Its values have names of their own in each call. */
struct onnx_function {
    const char *domain, *name, *overload;
    struct ll_wire *inputs, *outputs; /* names */
    uint64_t input_count, output_count;
    struct onnx_opsets opsets;
    struct ll_wire body; /* with the nodes, and the attributes that have a value unless the call gives one */
    bool refused;        /* there is an operator without a rule in it; said */
};

struct onnx_call {
    const struct onnx_function *function;
    const struct onnx_node *node; /* who calls */
    uint64_t number;              /* among all calls */
};

struct onnx_node {
    const char *type, *domain, *name, *overload;
    uint64_t number;                  /* in its graph */
    const struct onnx_call *call;     /* whose body it is part of; NULL: the model's */
    const uint32_t *inputs, *outputs; /* values; LL_NO_ID for one that is left out */
    uint32_t input_count, output_count;
    struct ll_wire body;
};

struct onnx_graph {
    const char *name;
    struct onnx_node *nodes;
    struct onnx_tensor *tensors; /* the initializers */
    struct onnx_info *inputs, *outputs, *infos;
    uint64_t node_count, tensor_count, input_count, output_count, info_count;
};

struct onnx_file {
    struct ll_arena *arena;
    struct ll_diags *diags;
    const char *path;
    struct ll_map names; /* of values; released with onnx_file_release */
    const char *producer;
    int64_t opset; /* of the standard operators, where the node at work is */
    struct onnx_opsets opsets;
    struct onnx_graph graph;
    struct onnx_function *functions;
    uint64_t function_count;
    const struct onnx_call *call; /* in which names that are read lie; NULL: none */
};

/* Reads a model; file->arena, diags and path are set. False after a complaint. */
bool onnx_file_read(struct onnx_file *file, struct ll_wire bytes);

/* Reads a graph, as an attribute may have one within. Names that are new are numbered. False after a
 * complaint. */
bool onnx_graph_read(struct onnx_file *file, struct ll_wire bytes, struct onnx_graph *graph);

/* The body of a function as a call makes it: what the function calls its inputs and outputs are the caller's.
 * The names of nodes begin with the caller's. False after a complaint. */
bool onnx_function_read(struct onnx_file *file, const struct onnx_call *call, struct onnx_graph *graph);

/* The function that a node calls, NULL for none. */
struct onnx_function *onnx_function_of(const struct onnx_file *file, const struct onnx_node *node);

/* Whether an output of a function is one of its inputs. */
bool onnx_is_passed_on(const struct onnx_function *function, uint64_t output, uint64_t input);

/* The version of a domain's operators where a node is ("": the standard ones); 0 when nothing tells it. */
int64_t onnx_version(const struct onnx_file *file, const struct onnx_node *node, const char *domain);

/* The elements of a tensor in another file, which has to lie beside this one; false when they cannot be
 * read, or are more than `most`. */
bool onnx_external_numbers(const struct onnx_file *file, const struct onnx_tensor *tensor, double *numbers,
                           uint64_t most);

/* Frees the names. */
void onnx_file_release(struct onnx_file *file);

/* An attribute of a node, as its value stands in the file, in the body of a function perhaps in the call or
 * among what the function gives: false when the node has none of this name. */
struct onnx_attr {
    int64_t integer;
    double real;
    struct ll_wire text;
    struct ll_wire tensor, graph; /* at is NULL: none */
    struct ll_wire refers;        /* the name of the function's attribute that it is; at is NULL: none */
    struct ll_wire body;
};
bool onnx_attr_find(const struct onnx_node *node, const char *name, struct onnx_attr *attr);

/* The integers of an attribute, at most so many; how many there are. */
uint64_t onnx_attr_integers(const struct onnx_attr *attr, int64_t *values, uint64_t most);

/* The reals of an attribute, in the same way. */
uint64_t onnx_attr_reals(const struct onnx_attr *attr, double *values, uint64_t most);

/* A tensor by itself; of one that an attribute has, file is NULL, for its name means nothing. False when it
 * is broken. */
bool onnx_tensor_read(struct onnx_file *file, struct ll_wire bytes, struct onnx_tensor *tensor);

/* The type of elements with this number (TensorProto.DataType); LL_DTYPE_COUNT when we have none such. */
uint8_t onnx_dtype(int64_t type);

/* All elements of a constant as numbers, if they are in the file and at most so many; false otherwise. */
bool onnx_tensor_numbers(const struct onnx_tensor *tensor, double *numbers, uint64_t most);

#endif
