/* SPDX-License-Identifier: Apache-2.0 */
/* Importing an ONNX network: values with shapes, and the rules of operators, which know what becomes of them.
 *
 * ONNX keeps images as batch, channel, height, width; a trace has the channel last. Nothing is moved for
 * that: a value may be seen in several layouts, each a tensor of the trace or a view of one, made when it is
 * first asked for. The same holds for constants and inputs of the network: what no op reads is not in the
 * trace.
 *
 * What depends on no input of the network is a constant. Its ops run when a network is loaded, not in each
 * inference, so they are not recorded; what comes out is brought like a weight, and its elements are computed
 * where they are few, for they may be sizes. Private to tracer/convert/onnx. */
#ifndef LL_TRACER_CONVERT_ONNX_ONNX_H
#define LL_TRACER_CONVERT_ONNX_ONNX_H

#include "tracer/base/diag.h"
#include "tracer/base/map.h"
#include "tracer/convert/convert.h"
#include "tracer/convert/wire.h"
#include "tracer/ir/tensor.h"

/* An ONNX file as it stands: nodes, tensors, inputs and outputs, without judging what they mean.
 *
 * Only the keys of fields are walked over: weights are neither read nor copied. Field numbers are those of
 * onnx.proto. Values are numbered by name. What is read here lives as long as the arena and the bytes. */

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
    bool list;             /* of such tensors */
    bool text;             /* its elements are strings */
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
    const char *type, *domain, *name, *overload; /* "" where the file says none */
    uint64_t number;                             /* in its graph */
    const struct onnx_call *call;                /* whose body it is part of; NULL: the model's */
    const uint32_t *inputs, *outputs;            /* values; LL_NO_ID for one that is left out */
    uint32_t input_count, output_count;
    struct ll_wire body; /* the whole node, in which attributes are looked up */
};

struct onnx_graph {
    const char *name;
    struct onnx_node *nodes;
    struct onnx_tensor *tensors; /* the initializers */
    /* what the file says of values: those that come in, those that go out, those in between */
    struct onnx_info *inputs, *outputs, *infos;
    uint64_t node_count, tensor_count, input_count, output_count, info_count;
};

struct onnx_file {
    struct ll_arena *arena;
    struct ll_diags *diags;
    const char *path;
    struct ll_map names;       /* of values; released with onnx_file_release */
    const char *producer;      /* who wrote the file; "" for nobody */
    int64_t opset;             /* of the standard operators, where the node at work is */
    struct onnx_opsets opsets; /* of the model; functions have their own */
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

enum onnx_layout {
    ONNX_PLAIN,  /* as the file has it */
    ONNX_IMAGE,  /* batch, height, width, channel */
    ONNX_FILTER, /* height, width, channels in, channels out */
    ONNX_LAYOUTS
};

enum { ONNX_MOST_NUMBERS = 4096, ONNX_MOST_DEPTH = 16 };

struct onnx_value {
    bool known;            /* its shape */
    bool constant;         /* depends on no input */
    bool weight;           /* goes where networks have weights */
    bool steps_first;      /* its batch is its second dimension */
    bool made;             /* brought by the file, or given by a node */
    bool read;             /* some other constant was made of it */
    bool untold;           /* an output that the rule of its node does not make */
    bool list;             /* no tensor, but `items` */
    bool absent;           /* no tensor, but what is not there */
    bool lasting;          /* the next trip of a loop does not forget it */
    const uint32_t *items; /* values, of a list */
    uint64_t item_count;
    struct ll_shape shape;            /* as ONNX has it */
    const struct onnx_tensor *tensor; /* its elements in the file, if they are there */
    const double *numbers;            /* its elements, where they are known and few */
    uint32_t base; /* the value whose elements these are, seen otherwise; itself if there is none such */
    enum ll_memory_class memory; /* of the tensor that it becomes */
    bool has[ONNX_LAYOUTS];      /* in which layouts a tensor of the trace holds it */
    struct ll_imported
        held[ONNX_LAYOUTS]; /* by layout: the recorded tensor, where `has` says that there is one */
};

struct onnx;
struct onnx_operator;
typedef bool onnx_rule(struct onnx *o);
typedef bool onnx_fold_rule(struct onnx *o, double *out, uint64_t count);

/* A row of onnx_operators.def. */
struct onnx_operator {
    const char *type;
    onnx_rule *rule;
    enum ll_op_kind kind; /* what it becomes, where that is one op; LL_OP_NONE where the rule decides */
    onnx_fold_rule *fold; /* computes the elements of a constant; NULL: nobody does */
};

struct onnx {
    struct onnx_file file;
    struct ll_import *import;
    struct onnx_value *values;        /* by number, as what is told */
    uint64_t value_count, value_room; /* values known; room for them */
    const struct onnx_info **told;    /* what the file says of what it computes; NULL: nothing */
    bool resized;                     /* the batch is another one than the file was written for */
    uint64_t numbers_left;            /* how many more constants may be computed, against hostile files */
    uint64_t calls, nodes_left;       /* of functions: so far, and how many nodes may still become of them */

    /* The node at work. */
    const struct onnx_node *node;
    const struct onnx_operator *row; /* its rule */
    unsigned depth;                  /* of branches around it */
    bool folding;                    /* all its inputs are constants */
};

/* Says what is wrong with the node at work. Always false. */
bool onnx_refuse(struct onnx *o, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Says something about the node at work that is worth a word but no error. */
void onnx_note(struct onnx *o, const char *words);

/* Where a node is, and of which version: "node 3, domain ai.onnx, opset 17"; in the import's arena. */
const char *onnx_place(struct onnx *o, const struct onnx_node *node);

/* Input i of the node at work, NULL where it is left out. */
struct onnx_value *onnx_input(struct onnx *o, uint32_t i);

/* Input i, which has to be there; NULL after a complaint. */
struct onnx_value *onnx_need(struct onnx *o, uint32_t i);

/* Elements of an input whose values matter for shapes: true with *count of them, at most `most`; false after
 * a complaint when they are not known. */
bool onnx_need_integers(struct onnx *o, uint32_t i, int64_t *values, uint64_t most, uint64_t *count);

/* Whether the elements of an input are known before it runs. */
bool onnx_knows(struct onnx *o, uint32_t i);

/* What the file says that output i of the node at work looks like: false where it says nothing, leaves a size
 * open that the user does not give, or was written for another batch than the user wants. Rules whose sizes
 * depend on what only a run knows take them from here. */
bool onnx_told(struct onnx *o, uint32_t i, struct ll_shape *shape);

/* The same, where input `from` is there and its elements are not known. */
bool onnx_told_instead(struct onnx *o, uint32_t from, struct ll_shape *shape);

/* The numbers of a value; NULL when they are not known, or too many. */
const double *onnx_numbers(struct onnx *o, struct onnx_value *value);

/* Room for so many numbers; NULL when there are too many. */
double *onnx_room(struct onnx *o, uint64_t count);

/* The nearest integer of 64 bits. */
int64_t onnx_integer(double number);

/* Attributes of the node at work, or `otherwise`. */
int64_t onnx_attr_integer(struct onnx *o, const char *name, int64_t otherwise);
double onnx_attr_real(struct onnx *o, const char *name, double otherwise);
bool onnx_attr_has(struct onnx *o, const char *name);
uint64_t onnx_attr_list(struct onnx *o, const char *name, int64_t *values, uint64_t most);

/* Whether an attribute is this text. */
bool onnx_attr_is(struct onnx *o, const char *name, const char *text);

/* An axis that may count from the end, of so many; false after a complaint. */
bool onnx_axis(struct onnx *o, int64_t axis, unsigned rank, unsigned *result);

/* Whether a value is a tensor of channels last in the trace and nothing else, so that ops that work on each
 * element should keep it so. */
bool onnx_is_image(const struct onnx *o, const struct onnx_value *value);

/* The layout in which an operator works on each element of the value. */
static inline enum onnx_layout onnx_layout_of(const struct onnx *o, const struct onnx_value *value)
{
    return onnx_is_image(o, value) ? ONNX_IMAGE : ONNX_PLAIN;
}

/* What a shape looks like in a layout. An image has rank 2 to 5, a filter 3 to 5, whose slices are
 * channels. */
struct ll_shape onnx_lay_out(const struct ll_shape *shape, enum onnx_layout layout);

/* The tensor of a value in a layout. */
struct ll_imported onnx_take(struct onnx *o, struct onnx_value *value, enum onnx_layout layout);

/* A part of a value that lies in one piece, in these dimensions; of a constant, a tensor of its own. */
struct ll_imported onnx_take_part(struct onnx *o, struct onnx_value *value, const struct ll_shape *shape);

/* A tensor seen with other dimensions of as many elements; the same when they are equal. */
struct ll_imported onnx_view(struct onnx *o, struct ll_imported held, const struct ll_shape *shape);

/* Records an op of the node at work, or only looks at it when the node is folded. False after a complaint. */
bool onnx_emit(struct onnx *o, const struct ll_import_op *op, struct ll_imported *out);

/* The simplest op: one output, told by the rules or given (NULL: not). False after a complaint. */
bool onnx_emit_simple(struct onnx *o, enum ll_op_kind kind, const struct ll_imported *in, uint32_t in_count,
                      const struct ll_shape *given, struct ll_imported *out);

/* Output i of the node at work is this tensor in this layout; what it is in ONNX is `shape`, whose type of
 * elements is that of the tensor. */
void onnx_put(struct onnx *o, uint32_t i, struct ll_imported held, enum onnx_layout layout,
              const struct ll_shape *shape);

/* Output i has the elements of a value, in another shape (or another order, where the value is a constant).
 */
void onnx_put_view(struct onnx *o, uint32_t i, const struct onnx_value *value, const struct ll_shape *shape);

/* Output i is known without any op; numbers may be NULL. */
void onnx_put_constant(struct onnx *o, uint32_t i, const struct ll_shape *shape, const double *numbers);

/* Shapes joined as NumPy broadcasts them; false when they do not fit. */
bool onnx_broadcast(const struct ll_shape *a, const struct ll_shape *b, struct ll_shape *out);

/* What a network is given: its inputs, their open dimensions, and its weights. Private to
 * tracer/convert/onnx. */

struct onnx_summary {
    uint64_t parameters; /* elements of all weights */
    uint64_t copies;     /* of which so many more had names before equal ones became one */
    uint64_t data;       /* inputs that are no weights */
    uint64_t batch;      /* of the first input, 0 when there is none */
};

/* The words of the last column of onnx_operators.def: each computes the elements of output 0 of the node at
 * work from those of its inputs, and is true when all are known. A node whose inputs are all constants is at
 * work, and its rule has been asked. Private to tracer/convert/onnx. */

onnx_fold_rule onnx_fold_SQRT, onnx_fold_NEG, onnx_fold_ABS, onnx_fold_FLOOR, onnx_fold_CEIL, onnx_fold_NOT;
onnx_fold_rule onnx_fold_ADD, onnx_fold_SUB, onnx_fold_MUL, onnx_fold_DIV, onnx_fold_MOD, onnx_fold_POW;
onnx_fold_rule onnx_fold_AND, onnx_fold_OR, onnx_fold_MAX, onnx_fold_MIN;
onnx_fold_rule onnx_fold_EQUAL, onnx_fold_LESS, onnx_fold_LESS_EQUAL, onnx_fold_GREATER,
    onnx_fold_GREATER_EQUAL;
onnx_fold_rule onnx_fold_WHERE, onnx_fold_EXPAND, onnx_fold_SAME, onnx_fold_CAST, onnx_fold_CONCAT,
    onnx_fold_SLICE, onnx_fold_TRANSPOSE, onnx_fold_GATHER, onnx_fold_SUM, onnx_fold_PROD;

/* The rules behind the words of operators.def, and what only they share. A rule looks at the node at work,
 * tells the shapes of its outputs and records the ops that it becomes; false after a complaint. Private to
 * tracer/convert/onnx. */

/* The number of a value that no name of the file means; LL_NO_ID when memory ran out. Pointers to values are
 * no longer valid behind it. */
uint32_t onnx_new_value(struct onnx *o, const struct onnx_value *value);

/* Room for all values that have numbers by now, and what a graph says about its own: pointers to values are
 * no longer valid behind it. False after a complaint. */
bool onnx_number_values(struct onnx *o, const struct onnx_graph *graph);

/* Follows the nodes of a graph within the node at work, of whose values all have numbers; another node is at
 * work behind it. False after complaints. */
bool onnx_follow_graph(struct onnx *o, const struct onnx_graph *graph);

/* Asks the user how often the loops run that a node is, or that lie within it: before anything is recorded,
 * when it is known what may be asked. False when memory ran out. */
bool onnx_asks_trips(struct onnx *o, struct ll_wire node, unsigned depth);

/* Each word of operators.def is a rule. */
#define LL_ONNX(type, rule, kind, fold) onnx_rule onnx_rule_##rule;
#include "tracer/convert/onnx/operators.def"
#undef LL_ONNX

/* What nobody has a rule for, kept as moving its bytes: import.c. */
onnx_rule onnx_rule_OPAQUE;

/* A shape as rows along an axis: all other dimensions, then this one. */
struct ll_shape onnx_rows(const struct ll_shape *shape, unsigned axis);

/* Along the last dimension of a matrix, by an op of a reduction. False after a complaint. */
bool onnx_reduce_rows(struct onnx *o, enum ll_op_kind kind, struct ll_imported x, struct ll_imported *out);

/* `size` of the elements along an axis of a tensor, from `begin` on. False after a complaint. */
bool onnx_cut(struct onnx *o, struct ll_imported in, int64_t axis, uint64_t begin, uint64_t size,
              struct ll_imported *out);

/* A batched GEMM of stacks of matrices, a[batch, m, k] with b[batch, k, n], whatever the tensors' dimensions
 * are. In b, n and k may be exchanged. False after a complaint. */
bool onnx_product(struct onnx *o, struct ll_imported a, struct ll_imported b, const struct ll_gemm *gemm,
                  bool transposed, struct ll_imported *out);

/* Dimension i comes from dimension from[i]. False after a complaint. */
bool onnx_transpose(struct onnx *o, struct ll_imported in, const int64_t *from, struct ll_imported *out);

/* x times the sigmoid of x. False after a complaint. */
bool onnx_swish(struct onnx *o, struct ll_imported x, struct ll_imported *out);

/* What a slice takes of each dimension. */
struct onnx_cuts {
    uint64_t begin[LL_MAX_RANK], size[LL_MAX_RANK];
    int64_t step[LL_MAX_RANK];
};

/* The cuts of the node at work, a Slice, out of a shape; *cuts is zeroed. False after a complaint. */
bool onnx_read_cuts(struct onnx *o, const struct ll_shape *shape, struct onnx_cuts *cuts);

/* The axes of the node at work, by attribute or (newer) by input 1: none where it says nothing. False after a
 * complaint. */
struct onnx_axes {
    int64_t list[LL_MAX_RANK];
    uint64_t count;
};
bool onnx_read_axes(struct onnx *o, struct onnx_axes *axes);

/* The same as bits, of so many dimensions. False after a complaint. */
bool onnx_axis_bits(struct onnx *o, const struct onnx_axes *axes, unsigned rank, unsigned *bits);

#endif
