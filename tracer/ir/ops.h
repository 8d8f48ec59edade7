/* SPDX-License-Identifier: Apache-2.0 */
/* Op kinds: everything known of one stands in a row of op_table.def; this is how the row is asked.
 *
 * The rules are pure functions and thread-safe. A rule sees an op as an ll_op_view: its kind, the shapes
 * of its inputs and outputs and its attributes. */
#ifndef LL_TRACER_IR_OPS_H
#define LL_TRACER_IR_OPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tracer/ir/op_kinds.h"
#include "tracer/ir/tensor.h"
#include "tracer/ir/work.h"

/* Fathom's seven classes of op (Adolf et al., 2016, figure 3), and two that a single device has not. */
#define LL_CLASS_LIST(X)                                                                                     \
    X(MATRIX, "matrix")                                                                                      \
    X(CONV, "conv")                                                                                          \
    X(ELEMENTWISE, "elementwise")                                                                            \
    X(REDUCTION, "reduction")                                                                                \
    X(RANDOM, "random")                                                                                      \
    X(OPTIMIZATION, "optimization")                                                                          \
    X(MOVEMENT, "movement")                                                                                  \
    X(COMMUNICATION, "communication")                                                                        \
    X(INPUT, "input")

#define LL_PHASE_LIST(X)                                                                                     \
    X(FORWARD, "forward")                                                                                    \
    X(BACKWARD, "backward")                                                                                  \
    X(UPDATE, "update")                                                                                      \
    X(INPUT, "input")                                                                                        \
    X(COMM, "comm")

/* Attributes: word, name in dumps, whether a count (int64) or a real (double). Absent means the rule's
 * default, which is named in the comment of the rule that reads it. */
#define LL_ATTR_LIST(X)                                                                                      \
    X(TRANSPOSE_A, "transpose_a", COUNT)                                                                     \
    X(TRANSPOSE_B, "transpose_b", COUNT)                                                                     \
    X(STRIDE_H, "stride_h", COUNT)                                                                           \
    X(STRIDE_W, "stride_w", COUNT)                                                                           \
    X(PAD_TOP, "pad_top", COUNT)                                                                             \
    X(PAD_LEFT, "pad_left", COUNT)                                                                           \
    X(PAD_BOTTOM, "pad_bottom", COUNT)                                                                       \
    X(PAD_RIGHT, "pad_right", COUNT)                                                                         \
    X(KERNEL_H, "kernel_h", COUNT)                                                                           \
    X(KERNEL_W, "kernel_w", COUNT)                                                                           \
    X(DILATION_H, "dilation_h", COUNT)                                                                       \
    X(DILATION_W, "dilation_w", COUNT)                                                                       \
    X(GROUPS, "groups", COUNT)                                                                               \
    X(AXIS, "axis", COUNT)                                                                                   \
    X(AXES, "axes", COUNT)                                                                                   \
    X(RADIUS, "radius", COUNT)                                                                               \
    X(BIAS, "bias", REAL)                                                                                    \
    X(ALPHA, "alpha", REAL)                                                                                  \
    X(BETA, "beta", REAL)                                                                                    \
    X(SEED, "seed", COUNT)                                                                                   \
    X(STREAM, "stream", COUNT)                                                                               \
    X(SAMPLES, "samples", COUNT)                                                                             \
    X(RANGE, "range", COUNT)                                                                                 \
    X(PERMUTATION, "permutation", COUNT)                                                                     \
    X(PARTS, "parts", COUNT)                                                                                 \
    X(BEGIN, "begin", COUNT)                                                                                 \
    X(SIZE, "size", COUNT)                                                                                   \
    X(BEFORE, "before", COUNT)                                                                               \
    X(AFTER, "after", COUNT)                                                                                 \
    X(DEPTH, "depth", COUNT)                                                                                 \
    X(HEIGHT, "height", COUNT)                                                                               \
    X(WIDTH, "width", COUNT)                                                                                 \
    X(CLASSES, "classes", COUNT)                                                                             \
    X(LEAST, "least", REAL)                                                                                  \
    X(OVERLAP, "overlap", REAL)                                                                              \
    X(SCALE, "scale", REAL)                                                                                  \
    X(GAMMA, "gamma", REAL)                                                                                  \
    X(SMOOTHING, "smoothing", REAL)                                                                          \
    X(LIMIT, "limit", REAL)                                                                                  \
    X(KEEP, "keep", REAL)                                                                                    \
    X(LEARNING_RATE, "learning_rate", REAL)                                                                  \
    X(MOMENTUM, "momentum", REAL)                                                                            \
    X(BETA1, "beta1", REAL)                                                                                  \
    X(BETA2, "beta2", REAL)                                                                                  \
    X(DECAY, "decay", REAL)                                                                                  \
    X(EPSILON, "epsilon", REAL)                                                                              \
    X(VECTORS, "vectors", COUNT)                                                                             \
    X(LOWER, "lower", COUNT)                                                                                 \
    X(UPPER, "upper", COUNT)                                                                                 \
    X(DEVICES, "devices", COUNT)                                                                             \
    X(PEER, "peer", COUNT)                                                                                   \
    X(STRIDE, "stride", COUNT)                                                                               \
    X(GROUP, "group", COUNT)                                                                                 \
    X(TAG, "tag", COUNT)                                                                                     \
    X(FLOPS, "flops", COUNT)                                                                                 \
    X(POST_OPS, "post_ops", COUNT)                                                                           \
    X(NODES, "nodes", COUNT)                                                                                 \
    X(IN_PLACE, "in_place", COUNT)                                                                           \
    X(BASE, "base", REAL)                                                                                    \
    X(UNIT_DIAGONAL, "unit_diagonal", COUNT)                                                                 \
    X(CAPACITY, "capacity", COUNT)                                                                           \
    X(FILLED, "filled", COUNT)                                                                               \
    X(CHANCE, "chance", REAL)                                                                                \
    X(WINDOW, "window", COUNT)                                                                               \
    X(FORMAT, "format", COUNT)                                                                               \
    X(COPIES, "copies", COUNT)                                                                               \
    X(BOUND_BY, "bound_by", COUNT)                                                                           \
    X(INPUT_NONZERO, "input_nonzero", COUNT)                                                                 \
    X(PIECE, "piece", COUNT)

enum ll_op_class {
#define X(word, name) LL_CLASS_##word,
    LL_CLASS_LIST(X)
#undef X
        LL_CLASS_COUNT
};
enum ll_phase {
#define X(word, name) LL_PHASE_##word,
    LL_PHASE_LIST(X)
#undef X
        LL_PHASE_COUNT
};
enum ll_attr_key {
#define X(word, name, type) LL_ATTR_##word,
    LL_ATTR_LIST(X)
#undef X
        LL_ATTR_COUNT
};

/* Of the attribute `piece`, of an exchange that goes on beside what waits for it: in buffers that are known
 * to all devices, so that nothing has to be agreed upon first, copied by the device's copy engines or sent by
 * kernels, which take units; or a message of the library as others are. */
enum { LL_PIECE_COPIED = 1, LL_PIECE_SENT = 2, LL_PIECE_MESSAGE = 3 };

/* Of the attribute `vectors`, where an op tells left ones from right ones; elsewhere 1 is some and 2 all. */
enum { LL_VECTORS_LEFT = 1, LL_VECTORS_RIGHT = 2 };

/* One attribute: which member of the value counts is a matter of the key. Zeroed padding. */
struct ll_attr {
    uint64_t key; /* enum ll_attr_key */
    union {
        int64_t count;
        double real;
    };
};

/* An op as the rules see it. `out` may be written only by ll_op_infer. */
struct ll_op_view {
    enum ll_op_kind kind;
    uint32_t input_count, output_count, attr_count;
    const struct ll_shape *in;
    struct ll_shape *out;
    const struct ll_attr *attrs;
};

/* The most outputs that follow from the inputs, and the most attributes of one op; of inputs, of outputs that
 * the caller gives and of controls there may be LL_MAX_OP_REFS each. */
enum { LL_MAX_OUTPUTS = 6, LL_MAX_ATTRS = 16, LL_MAX_OP_REFS = 65535 };

/* How many kinds there are: they are numbered from 0. */
int ll_op_count(void);

/* What a kind's row says, and names as files and reports spell them; static storage. The argument is in
 * range. */
const char *ll_op_name(enum ll_op_kind kind);
enum ll_op_class ll_op_class(enum ll_op_kind kind);
const char *ll_class_name(enum ll_op_class op_class);
const char *ll_phase_name(enum ll_phase phase);
const char *ll_attr_name(enum ll_attr_key key);
bool ll_attr_is_real(enum ll_attr_key key);

/* The attribute whose number stands at the beginning of a text; *end is what follows it, the text itself
 * where there is no number that the attribute can be. Pure. */
struct ll_attr ll_attr_of_text(enum ll_attr_key key, const char *text, const char **end);
bool ll_op_runs_natively(enum ll_op_kind kind);

/* Whether ops of the class multiply matrices, or windows as matrices. */
static inline bool ll_class_is_gemm(enum ll_op_class op_class)
{
    return op_class == LL_CLASS_MATRIX || op_class == LL_CLASS_CONV;
}

/* Whether an op of the kind does; false for kinds that nobody here knows. */
static inline bool ll_kind_is_gemm(enum ll_op_kind kind)
{
    return kind < LL_OP_NONE && ll_class_is_gemm(ll_op_class(kind));
}

/* The kind of this name, or of one that it had in version 0.1; else LL_OP_NONE. */
enum ll_op_kind ll_op_find(const char *name);

/* The words of a kind's row, for lists and documentation; static storage. */
struct ll_op_words {
    const char *word, *name, *op_class, *shape, *flops, *bytes, *work, *gradient, *runs;
};
struct ll_op_words ll_op_words(enum ll_op_kind kind);

/* Whether such an op does nothing but last as long as it did. */
bool ll_op_waits(enum ll_op_kind kind);

/* The attribute's value, or otherwise when the op has none of that key. */
int64_t ll_attr_count(const struct ll_op_view *op, enum ll_attr_key key, int64_t otherwise);
double ll_attr_real(const struct ll_op_view *op, enum ll_attr_key key, double otherwise);

/* Fills op->out (room for LL_MAX_OUTPUTS shapes or all that are given, zeroed) and op->output_count from
 * inputs and attributes. NULL on success; otherwise what is impossible about these inputs, as a static
 * sentence. Where inputs do not tell the outputs (shape words GIVEN, CONV_DATA, CONV_FILTER: a reshape, a
 * gradient's target), the caller has set them and they are checked. The name and memory class of outputs are
 * the caller's. */
const char *ll_op_infer(struct ll_op_view *op);

/* The input whose storage an output takes over (a view, or an in-place update), UINT32_MAX for none. */
uint32_t ll_op_alias(const struct ll_op_view *op, uint32_t output);

/* What follows holds for views that ll_op_infer accepts: it is the guard of the other rules.
 *
 * Algorithmic FLOPs and bytes (outputs known). LL_NO_FIT past 64 bits. What products, convolutions and the
 * gradients of their inputs multiply with zeros that are known of input 1 is not counted. */
uint64_t ll_op_flops(const struct ll_op_view *op);
uint64_t ll_op_bytes_read(const struct ll_op_view *op);

/* FLOPs as traces up to version 1.3 have them: of attention, which counted otherwise then; 0 of other kinds.
 */
uint64_t ll_op_flops_of_1_3(const struct ll_op_view *op);
uint64_t ll_op_bytes_written(const struct ll_op_view *op);

/* Of the operations on an element, those that are special functions, as its row says. Pure. */
uint64_t ll_op_specials(enum ll_op_kind kind);

/* What the op asks of a machine. False when a size does not fit in 64 bits. */
bool ll_op_lower(const struct ll_op_view *op, struct ll_work *work);

/* Whether all of these counts fit: only such an op can be recorded. */
bool ll_op_counts_fit(const struct ll_op_view *op);

#endif
