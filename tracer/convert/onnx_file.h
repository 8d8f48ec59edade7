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
#include "tracer/tensor.h"

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

struct onnx_node {
    const char *type, *domain, *name;
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
    int64_t opset; /* of the standard operators */
    struct onnx_graph graph;
    struct ll_map functions; /* names of operators that the model defines; released with onnx_file_release */
};

/* Reads a model; file->arena, diags and path are set. False after a complaint. */
bool onnx_file_read(struct onnx_file *file, struct ll_wire bytes);

/* Reads a graph, as an attribute may have one within. Names that are new are numbered. False after a
 * complaint. */
bool onnx_graph_read(struct onnx_file *file, struct ll_wire bytes, struct onnx_graph *graph);

/* The elements of a tensor in another file, which has to lie beside this one; false when they cannot be
 * read, or are more than `most`. */
bool onnx_external_numbers(const struct onnx_file *file, const struct onnx_tensor *tensor, double *numbers,
                           uint64_t most);

/* Frees the names. */
void onnx_file_release(struct onnx_file *file);

/* An attribute of a node, as its value stands in the file: false when the node has none of this name. */
struct onnx_attr {
    int64_t integer;
    double real;
    struct ll_wire text;
    struct ll_wire tensor, graph; /* at is NULL: none */
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
