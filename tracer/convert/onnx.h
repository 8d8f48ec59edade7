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
 * where they are few, for they may be sizes. Private to tracer/convert/onnx*.c. */
#ifndef LL_TRACER_CONVERT_ONNX_H
#define LL_TRACER_CONVERT_ONNX_H

#include "tracer/convert/convert.h"
#include "tracer/convert/onnx_file.h"

enum onnx_layout {
    ONNX_PLAIN,  /* as the file has it */
    ONNX_IMAGE,  /* batch, height, width, channel */
    ONNX_FILTER, /* height, width, channels in, channels out */
    ONNX_LAYOUTS
};

enum { ONNX_MOST_NUMBERS = 4096, ONNX_MOST_DEPTH = 16 };

struct onnx_value {
    bool known;                       /* its shape */
    bool constant;                    /* depends on no input */
    bool weight;                      /* goes where networks have weights */
    bool steps_first;                 /* its batch is its second dimension */
    bool made;                        /* brought by the file, or given by a node */
    bool read;                        /* some other constant was made of it */
    bool untold;                      /* an output that the rule of its node does not make */
    struct ll_shape shape;            /* as ONNX has it */
    const struct onnx_tensor *tensor; /* its elements in the file, if they are there */
    const double *numbers;            /* its elements, where they are known and few */
    uint32_t base; /* the value whose elements these are, seen otherwise; itself if there is none such */
    enum ll_memory_class memory;
    bool has[ONNX_LAYOUTS];
    struct ll_imported held[ONNX_LAYOUTS];
};

struct onnx;
struct onnx_operator;
typedef bool onnx_rule(struct onnx *o);
typedef bool onnx_fold_rule(struct onnx *o, double *out, uint64_t count);

/* A row of onnx_operators.def. */
struct onnx_operator {
    const char *type;
    onnx_rule *rule;
    enum ll_op_kind kind; /* what it becomes, where that is one op; LL_OP_COUNT where the rule decides */
    onnx_fold_rule *fold; /* computes the elements of a constant; NULL: nobody does */
};

struct onnx {
    struct onnx_file file;
    struct ll_import *import;
    struct onnx_value *values; /* by number, as what is told */
    uint64_t value_count, value_room;
    const struct onnx_info **told; /* what the file says of what it computes; NULL: nothing */
    uint64_t numbers_left;         /* that may still be computed */
    uint64_t calls, nodes_left;    /* of functions: so far, and how many nodes may still become of them */

    /* The node at work. */
    const struct onnx_node *node;
    const struct onnx_operator *row;
    unsigned depth; /* of branches around it */
    bool folding;   /* all its inputs are constants */
};

/* Says what is wrong with the node at work. Always false. */
bool onnx_refuse(struct onnx *o, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Where a node is, and of which version: "node 3, domain ai.onnx, opset 17"; in the import's arena. */
const char *onnx_place(struct onnx *o, const struct onnx_node *node);

/* Input i of the node at work, NULL where it is left out. */
struct onnx_value *onnx_input(struct onnx *o, uint32_t i);

/* Input i, which has to be there; NULL after a complaint. */
struct onnx_value *onnx_need(struct onnx *o, uint32_t i);

/* Elements of an input whose values matter for shapes: true with *count of them, at most `most`; false after
 * a complaint when they are not known. */
bool onnx_need_integers(struct onnx *o, uint32_t i, int64_t *values, uint64_t most, uint64_t *count);

/* The numbers of a value; NULL when they are not known, or too many. */
const double *onnx_numbers(struct onnx *o, struct onnx_value *value);

/* Room for so many numbers; NULL when there are too many. */
double *onnx_room(struct onnx *o, uint64_t count);

/* The nearest integer of 64 bits. */
int64_t onnx_integer(double number);

/* Attributes of the node at work, or `otherwise`. */
int64_t onnx_attr_integer(struct onnx *o, const char *name, int64_t otherwise);
double onnx_attr_real(struct onnx *o, const char *name, double otherwise);
bool onnx_attr_is(struct onnx *o, const char *name, const char *text);
bool onnx_attr_has(struct onnx *o, const char *name);
uint64_t onnx_attr_list(struct onnx *o, const char *name, int64_t *values, uint64_t most);

/* An axis that may count from the end, of so many; false after a complaint. */
bool onnx_axis(struct onnx *o, int64_t axis, unsigned rank, unsigned *result);

/* Whether a value is a tensor of channels last in the trace and nothing else, so that ops that work on each
 * element should keep it so. */
bool onnx_is_image(const struct onnx *o, const struct onnx_value *value);

/* What a shape looks like in a layout. An image has rank 2 to 5, a filter 3 or 4. */
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

/* The row of a type of operators of a domain ("": the standard one); NULL when there is none. */
const struct onnx_operator *onnx_find_operator(const char *domain, const char *type);

/* A product of stacks of matrices, a[batch, m, k] with b[batch, k, n]; whatever the tensors' dimensions are.
 * In b, n and k may be exchanged. False after a complaint. */
bool onnx_product(struct onnx *o, struct ll_imported a, struct ll_imported b, const struct ll_gemm *gemm,
                  bool transposed, struct ll_imported *out);

#endif
