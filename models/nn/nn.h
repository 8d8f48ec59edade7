/* SPDX-License-Identifier: Apache-2.0 */
/* A network as a list of ops: what one step of a model does.
 *
 * A model is built once: every call of ll_nn_do adds an op and gives its results as values to go on with.
 * Nothing is computed while building; a runner (runner.h) then carries the list out, step after step, or
 * only records it. So a dry run cannot differ from a native run, and memory is planned before the first
 * step. The list is also the tape from which gradients are derived (gradient.h), and what they add to it
 * can be derived again.
 *
 * Everything belongs to the network and is freed with it. Trouble (shapes that do not fit, no memory) is
 * kept and found by ll_nn_trouble; until then every function goes on, and results are values of rank 0, so
 * that a model need not ask after each layer. One thread at a time. */
#ifndef LL_NN_NN_H
#define LL_NN_NN_H

#include "tracer/base/arena.h"
#include "tracer/ops.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ll_nn_op;

/* The first contents of a variable, drawn element by element from a stream that depends on the seed and the
 * variable alone. Truncated: within two deviations, as TensorFlow draws it. */
enum ll_init_kind {
    LL_INIT_CONSTANT,
    LL_INIT_NORMAL,
    LL_INIT_TRUNCATED_NORMAL,
    LL_INIT_UNIFORM,
    LL_INIT_LIST
};
struct ll_init {
    enum ll_init_kind kind;
    double scale;       /* the constant, the deviation, or the uniform draw's bound on either side */
    const double *list; /* LL_INIT_LIST: all elements, kept by the caller */
};

/* What an op writes, or a variable: something that is there before the first op and outlives the step. */
struct ll_value {
    struct ll_shape shape;
    const char *name;
    enum ll_memory_class memory;
    uint32_t index;            /* among all values, in the order in which they were made */
    struct ll_nn_op *producer; /* NULL: a variable */
    struct ll_value *root;     /* whose memory this is: itself, unless it is a view or overwrites its input */
    uint32_t version;          /* which contents of that memory this is */
    uint32_t overwrites;       /* of a root: how often its memory was overwritten so far */
    struct ll_value *next;     /* of variables: the value that it has in the next step; itself by default */
    struct ll_init init;       /* of variables */
    bool kept;                 /* can be looked at after the step */
};

/* Where a host_input op gets its data: called before each step, outside of its time, for the whole batch. */
struct ll_feed {
    void (*fill)(const struct ll_feed *feed, uint64_t step, const struct ll_shape *shape, void *data);
    uint64_t seed;
    uint64_t classes;
};

struct ll_nn_op {
    struct ll_op_view view;
    enum ll_phase phase;
    const char *scope;
    uint32_t index;
    struct ll_value **inputs, **outputs;
    struct ll_feed feed; /* of host_input */
};

struct ll_nn {
    struct ll_arena arena;
    enum ll_dtype real; /* of everything that is not an index: LL_F32, or LL_F64 to check gradients */
    enum ll_phase phase;
    const char *scope;
    const char *trouble;
    struct ll_nn_op **ops;
    uint64_t op_count, op_capacity;
    struct ll_value **values;
    uint64_t value_count, value_capacity;
    struct ll_value nothing; /* stands for every result after trouble */
};

/* NULL when memory ran out. */
struct ll_nn *ll_nn_new(enum ll_dtype real);
void ll_nn_free(struct ll_nn *nn);

/* What is wrong, with the scope where it happened, or NULL. */
const char *ll_nn_trouble(const struct ll_nn *nn);

/* Keeps the first trouble; for builders that find something impossible. printf into the network. */
void ll_nn_fail(struct ll_nn *nn, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* A shape of the network's real type. Roles may be NULL. */
struct ll_shape ll_nn_shape(const struct ll_nn *nn, unsigned rank, const uint64_t *dims,
                            const enum ll_role *roles);

/* A variable: a weight, a state of the optimizer, a constant. Its name gets the scope in front. */
struct ll_value *ll_nn_variable(struct ll_nn *nn, const char *name, const struct ll_shape *shape,
                                enum ll_memory_class memory, struct ll_init init);

/* The variable holds this value from the next step on, so the value takes its name. An op that overwrites its
 * input does this by itself. */
void ll_nn_carry(struct ll_nn *nn, struct ll_value *variable, struct ll_value *value);

/* The value can be looked at after each step. */
void ll_nn_keep(struct ll_value *value);

/* One op. Outputs follow from the inputs by the op table's shape rule; rows whose rule asks for given outputs
 * read them from `given`. Memory class: what they overwrite or view; else input, activation or gradient, by
 * the phase. Returns its first result; the others are in value->producer->outputs. */
struct ll_call {
    enum ll_op_kind kind;
    uint32_t input_count, attr_count, given_count;
    struct ll_value *const *inputs;
    const struct ll_attr *attrs;
    const struct ll_shape *given;
    struct ll_feed feed;
};
struct ll_value *ll_nn_do(struct ll_nn *nn, const struct ll_call *call);

/* The everyday calls: one or two inputs, no attributes. */
struct ll_value *ll_nn_do1(struct ll_nn *nn, enum ll_op_kind kind, struct ll_value *x);
struct ll_value *ll_nn_do2(struct ll_nn *nn, enum ll_op_kind kind, struct ll_value *x, struct ll_value *y);

/* Names what follows until the matching pop: "encoder", inside it "encoder/lstm0". */
void ll_nn_push(struct ll_nn *nn, const char *name);
void ll_nn_pop(struct ll_nn *nn);

/* One attribute of a call. */
static inline struct ll_attr ll_attr_of_count(enum ll_attr_key key, int64_t value)
{
    return (struct ll_attr){.key = key, .count = value};
}

/* The same for an attribute that is a real number. */
static inline struct ll_attr ll_attr_of_real(enum ll_attr_key key, double value)
{
    return (struct ll_attr){.key = key, .real = value};
}

/* Elements of all weights, and FLOPs of the forward phase's products and convolutions; LL_NO_FIT past 64
 * bits. */
uint64_t ll_nn_parameters(const struct ll_nn *nn);
uint64_t ll_nn_forward_flops(const struct ll_nn *nn);

#endif
