/* SPDX-License-Identifier: Apache-2.0 */
/* A network as a list of ops: what one step of a model does.
 *
 * A model is built once: every call of ll_nn_do adds an op and gives its results as values to go on with.
 * Nothing is computed while building; a runner (runner.h) then carries the list out, step after step, or
 * only records it. So a dry run cannot differ from a native run, and memory is planned before the first
 * step. The list is also the tape from which gradients are derived (training.h), and what they add to it
 * can be derived again.
 *
 * Where a model is more than one list (a player and a learner, a list for each length of sentence), a
 * network has several programs: lists over the same variables, of which one is run at a time.
 *
 * Everything belongs to the network and is freed with it. Trouble (shapes that do not fit, no memory) is
 * kept and found by ll_nn_trouble; until then every function goes on, and results are values of rank 0, so
 * that a model need not ask after each layer. One thread at a time. */
#ifndef LL_MODELS_NN_NN_H
#define LL_MODELS_NN_NN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tracer/base/arena.h"
#include "tracer/base/diag.h"
#include "tracer/base/pool.h"
#include "tracer/ir/ops.h"

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

/* What a value is to a loop: a state before the first step, one behind the last, something that every step
 * reads. Of a weight that is read several times the last goes without saying. */
enum ll_loop_part { LL_NO_LOOP, LL_ENTERS_LOOP, LL_LEAVES_LOOP, LL_READ_BY_LOOP };

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
    struct ll_value *narrow;   /* it in 8 bits, where a product has asked for that */
    struct ll_value *next; /* of variables: what the program being built leaves in it; itself by default */
    /* Of weights: the gradient of what ll_minimise minimises, before it is clipped. */
    struct ll_value *gradient;
    struct ll_value *gradient_rows; /* where that is rows: which ones of the weight; else NULL */
    struct ll_init init;            /* of variables */
    bool kept;                      /* can be looked at after the step */
    bool frozen;                    /* a weight that training leaves as it is */
    enum ll_loop_part loop;         /* what it is to a loop whose steps are a part of the list */
};

/* Where a host_input op gets its data: called before each step, outside of its time, for the whole batch. */
struct ll_feed {
    void (*fill)(const struct ll_feed *feed, uint64_t step, const struct ll_shape *shape, void *data);
    uint64_t seed;    /* of what is made up */
    uint64_t classes; /* labels are below it; 0 of data that is no label */
    void *context;    /* whatever `fill` needs; outlives the network */
};

/* An op of the list. */
struct ll_nn_op {
    struct ll_op_view view;
    enum ll_phase phase;
    const char *scope; /* "encoder/lstm0/gates" */
    uint32_t index;    /* in the network's list */
    struct ll_value **inputs, **outputs;
    struct ll_feed feed; /* where a host_input op gets its data; zero of all other kinds */
};

enum { LL_MAX_PROGRAMS = 16, LL_MOST_SCOPES = 32 };

/* Ops that are run as a whole: a stretch of the network's list, up to the next program's first. */
struct ll_nn_program {
    uint64_t first_op, first_value, first_carry;
    struct ll_value *result; /* a kept scalar that tells how a step went, its loss; NULL: nothing does */
};

/* A variable and what a program leaves in it. */
struct ll_carry {
    struct ll_value *variable, *value;
};

/* What a model does around its steps, beside its ops: choose data, act in a game. */
struct ll_runner;
struct ll_driver {
    void *context; /* the driver's own, NULL for none */
    /* Before each step, outside of its time: returns which program the step is. A dry run must choose the
     * same ones; in it values have no contents and ll_runner_run does nothing. NULL: always program 0. */
    uint32_t (*begin_step)(void *context, struct ll_runner *runner, uint64_t step);
    void (*release)(void *context); /* when the network is freed; NULL: nothing to release */
    /* When a runner that computes is made: takes what a dry run can do without. NULL: there is nothing. */
    enum ll_status (*prepare)(void *context);
};

struct ll_nn {
    struct ll_arena arena;
    enum ll_dtype real; /* type of all that is no index: LL_F32, or LL_F64 to check gradients */
    enum ll_dtype
        master; /* type of ll_nn_weight's variables: `real`, unless they are cast before their use */
    enum ll_phase phase;
    const char *scope, *outer_scopes[LL_MOST_SCOPES]; /* the open scope, and the scopes around it */
    uint32_t scope_depth;                             /* how many scopes are around it */
    const char *trouble;                              /* what went wrong first; NULL: nothing */
    bool frozen;                                      /* variables made now are not trained */
    bool as_tensorflow; /* gradients are those of TensorFlow's graphs, nothing left out (training.h) */
    struct ll_nn_op **ops;
    uint64_t op_count, op_capacity;
    struct ll_value **values;
    uint64_t value_count, value_capacity;
    struct ll_value **variables; /* the values that no op makes, in the order of `values` */
    uint64_t variable_count, variable_capacity;
    struct ll_nn_program programs[LL_MAX_PROGRAMS];
    uint32_t program_count;
    bool shares; /* variables of the program being built are found again, too */
    struct ll_carry *carries;
    uint64_t carry_count, carry_capacity;
    struct ll_driver driver;
    struct ll_value *nothings[LL_MAX_OUTPUTS]; /* the results of what failed: all of them `nothing` */
    struct ll_value nothing;                   /* stands for every result after trouble */
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

/* A variable: a weight, a state of the optimizer, a constant. Its name gets the scope in front. Where a
 * program before this one has a variable of that name, shape and class, it is that one. */
struct ll_value *ll_nn_variable(struct ll_nn *nn, const char *name, const struct ll_shape *shape,
                                enum ll_memory_class memory, struct ll_init init);

/* A weight as ops use it: a variable of type nn->master, and where the network's real type is another one,
 * what an op casts it to, once a step. Its shape's type is not looked at. */
struct ll_value *ll_nn_weight(struct ll_nn *nn, const char *name, const struct ll_shape *shape,
                              struct ll_init init);

/* Whether variables of this program are found again as those before it are, as what it has left in them so
 * far: a network built twice under one name is then one network, applied twice. */
void ll_nn_share(struct ll_nn *nn, bool shares);

/* Begins the next program and returns its number; what was built before is complete. Programs see each
 * other's variables, as the last program run has left them, and none of each other's values. */
uint32_t ll_nn_begin_program(struct ll_nn *nn);

/* How many ops a program has. */
uint64_t ll_nn_program_ops(const struct ll_nn *nn, uint32_t program);

/* Once a network, which owns the driver's context from then on, also after trouble. */
void ll_nn_drive(struct ll_nn *nn, const struct ll_driver *driver);

/* The variable, or what was left in it last, holds this value from the next step on, so the value takes its
 * name. An op that overwrites its input does this by itself. */
void ll_nn_carry(struct ll_nn *nn, struct ll_value *variable, struct ll_value *value);

/* The value can be looked at after each step. */
void ll_nn_keep(struct ll_value *value);

/* One op. Outputs follow from the inputs by the op table's shape rule; rows whose rule asks for given outputs
 * read them from `given`. Memory class: what they overwrite or view; else input, activation or gradient, by
 * the phase. Returns its first result; the others are in value->producer->outputs. */
struct ll_nn_call {
    enum ll_op_kind kind;
    uint32_t input_count, attr_count, given_count;
    struct ll_value *const *inputs;
    const struct ll_attr *attrs;
    const struct ll_shape *given;
    const enum ll_dtype *dtype; /* of the first result, where it is not what the op table gives; else NULL */
    struct ll_feed feed;
};
struct ll_value *ll_nn_do(struct ll_nn *nn, const struct ll_nn_call *call);

/* The everyday calls: one or two inputs, no attributes. */
struct ll_value *ll_nn_do1(struct ll_nn *nn, enum ll_op_kind kind, struct ll_value *x);
struct ll_value *ll_nn_do2(struct ll_nn *nn, enum ll_op_kind kind, struct ll_value *x, struct ll_value *y);

/* Names what follows until the matching pop: "encoder", inside it "encoder/lstm0". */
void ll_nn_push(struct ll_nn *nn, const char *name);
void ll_nn_push_numbered(struct ll_nn *nn, const char *name, unsigned number); /* "unit", 3: "unit3" */
void ll_nn_pop(struct ll_nn *nn);

/* The scope in which a variable was made. */
const char *ll_nn_scope_of(struct ll_nn *nn, const struct ll_value *variable);

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

/* Of the first program: elements of all weights; FLOPs of the products and convolutions in its forward phase.
 * LL_NO_FIT past 64 bits. */
uint64_t ll_nn_parameters(const struct ll_nn *nn);
uint64_t ll_nn_forward_flops(const struct ll_nn *nn);

/* FLOPs of all ops of the first program's forward phase, as a recording has them. LL_NO_FIT past 64 bits. */
uint64_t ll_nn_all_forward_flops(const struct ll_nn *nn);

/* First contents of variables. */

/* Normal weights of variance gain / inputs (fan-in): LeCun initialisation with gain 1; Kaiming initialisation
 * (He et al., 2015) with gain 2, which makes up for the half that a ReLU behind the GEMM cuts off. */
struct ll_init ll_init_fan_in(uint64_t inputs, double gain);

/* Fills `data` with the variable's first contents: elements of its type, each a pure function of the seed,
 * the variable's name and the element's number, so the same for any number of threads. */
void ll_init_fill(const struct ll_value *variable, uint64_t seed, struct ll_pool *pool, void *data);

/* Random ops of a network: every step draws anew, every run the same, at any number of threads.
 *
 * A number is a pure function of the seed, the op's stream, the step and the element (tracer/base/random.h).
 * Seed and stream are attributes and the same in each step; the step is a scalar that one `add` op advances,
 * in the network's real type: floats can tell 2^24 steps apart. */

struct ll_rng {
    struct ll_value *step;  /* of this step: 1, 2, ... */
    uint64_t seed, streams; /* streams: how many ops draw so far */
};

/* Adds the counter to the network; once a network, before the ops that draw. */
struct ll_rng ll_rng_begin(struct ll_nn *nn, uint64_t seed);

/* Normal numbers of deviation one, or uniform ones from 0 to 1, of this shape. */
struct ll_value *ll_random_normal(struct ll_nn *nn, struct ll_rng *rng, const struct ll_shape *shape);
struct ll_value *ll_random_uniform(struct ll_nn *nn, struct ll_rng *rng, const struct ll_shape *shape);

/* x with a share of `keep` of its elements over keep, the others zero (Srivastava et al., 2014, scaled when
 * training, so that inference needs no op). Its second result is what x was multiplied with. */
struct ll_value *ll_dropout_layer(struct ll_nn *nn, const char *name, struct ll_value *x, double keep,
                                  struct ll_rng *rng);

/* Formulas: the ops of arithmetic by name. Inputs that do not match repeat, as op kind `add` has it.
 *
 * Each adds ops to the network's list and returns what they give, of x's type where nothing else is said.
 * Results belong to the network; trouble, as shapes that do not fit, is kept there, and what is returned then
 * is of rank 0 (nn.h). One thread at a time. */

/* A scalar that no step changes. One a name and scope and value: asked for again, it is the same variable. */
struct ll_value *ll_constant(struct ll_nn *nn, const char *name, double value);

/* The same value everywhere, or zeros, of this shape: variables that no step changes. */
struct ll_value *ll_filled(struct ll_nn *nn, const char *name, const struct ll_shape *shape, double value);
struct ll_value *ll_zeros(struct ll_nn *nn, const struct ll_shape *shape);

/* Zeros of this shape that an op makes whenever it runs. */
struct ll_value *ll_made_zeros(struct ll_nn *nn, const struct ll_shape *shape);

/* a + b */
static inline struct ll_value *ll_add_of(struct ll_nn *nn, struct ll_value *a, struct ll_value *b)
{
    return ll_nn_do2(nn, LL_OP_ADD, a, b);
}

/* a - b */
static inline struct ll_value *ll_sub_of(struct ll_nn *nn, struct ll_value *a, struct ll_value *b)
{
    return ll_nn_do2(nn, LL_OP_SUB, a, b);
}

/* a b, element by element */
static inline struct ll_value *ll_mul_of(struct ll_nn *nn, struct ll_value *a, struct ll_value *b)
{
    return ll_nn_do2(nn, LL_OP_MUL, a, b);
}

/* a / b */
static inline struct ll_value *ll_div_of(struct ll_nn *nn, struct ll_value *a, struct ll_value *b)
{
    return ll_nn_do2(nn, LL_OP_DIV, a, b);
}

/* -x */
static inline struct ll_value *ll_neg(struct ll_nn *nn, struct ll_value *x)
{
    return ll_nn_do1(nn, LL_OP_NEG, x);
}

/* min(max(x, 0), limit) */
struct ll_value *ll_relu_clipped(struct ll_nn *nn, struct ll_value *x, double limit);

/* x times ll_constant(nn, name, factor). */
struct ll_value *ll_nn_mul_scalar(struct ll_nn *nn, struct ll_value *x, const char *name, double factor);

/* a where the condition (bool) holds, b elsewhere: all of one shape, or the condition of a's first dimensions
 * alone, one for each row. */
struct ll_value *ll_select(struct ll_nn *nn, struct ll_value *condition, struct ll_value *a,
                           struct ll_value *b);

/* The sum over `axes` dimensions from `axis` on, which the result has not: of [2, 3, 4] over one from 1 on
 * [2, 4]. */
struct ll_value *ll_sum_over(struct ll_nn *nn, struct ll_value *x, unsigned axis, unsigned axes);

/* Broadcast: x over and over along dimensions in front of its own, `shape` being that of the result: [3] as
 * [2, 3]. */
struct ll_value *ll_nn_broadcast(struct ll_nn *nn, struct ll_value *x, const struct ll_shape *shape);

/* Reshape: the same elements in another shape, a view; its type is x's. */
struct ll_value *ll_nn_reshape(struct ll_nn *nn, struct ll_value *x, const struct ll_shape *shape);

/* Quantize and dequantize: x in a type of at most 8 bits, whose neighbours share scales, and what is left of
 * it in x's type. Gradients flow as if nothing had been rounded. */
struct ll_value *ll_nn_quantized(struct ll_nn *nn, struct ll_value *x, enum ll_dtype dtype,
                                 enum ll_scales scales);

/* Unstack: the layers along the first dimension; in the network's arena. NULL after trouble. */
struct ll_value **ll_nn_unstack(struct ll_nn *nn, struct ll_value *stack);

/* Stack: layers of one shape along a new first dimension. */
struct ll_value *ll_nn_stack(struct ll_nn *nn, struct ll_value *const *layers, uint32_t count);

/* Split into equal parts along dimension `axis`, at most four; the list lives in the network's arena. */
struct ll_value *const *ll_nn_split(struct ll_nn *nn, struct ll_value *x, unsigned axis, unsigned parts);

/* Slice: elements begin to begin + size - 1 of dimension `axis`, all of the others. */
struct ll_value *ll_nn_slice(struct ll_nn *nn, struct ll_value *x, unsigned axis, uint64_t begin,
                             uint64_t size);

/* Gather: rows of a table [rows, ...] by their indices, i32 or i64: the dimensions of the indices, then those
 * of a row. */
struct ll_value *ll_nn_gather(struct ll_nn *nn, struct ll_value *table, struct ll_value *indices);

/* a b^T of matrices, or of each two of stacks of them: [m, k] and [n, k] give [m, n]. */
struct ll_value *ll_matmul_transposed(struct ll_nn *nn, struct ll_value *a, struct ll_value *b);

/* Concat along dimension `axis`, all others being equal. */
struct ll_value *ll_nn_concat(struct ll_nn *nn, struct ll_value *const *parts, uint32_t count, unsigned axis);

/* Upsample by nearest neighbour: every pixel of [batch, height, width, channels] becomes factor x factor. */
struct ll_value *ll_nn_upsample(struct ll_nn *nn, struct ll_value *image, uint64_t factor);

/* Transpose: result dimension i is input dimension digit i of the permutation; 021
 * exchanges the last two of three (in decimal: write 21). */
struct ll_value *ll_nn_transpose(struct ll_nn *nn, struct ll_value *x, int64_t permutation);

/* Indices or truth values as numbers of the network's real type. */
struct ll_value *ll_as_real(struct ll_nn *nn, struct ll_value *x);

/* Numbers in another type. */
struct ll_value *ll_cast_to(struct ll_nn *nn, struct ll_value *x, enum ll_dtype dtype);

/* The call of a product of x and weights, a matmul or a batch_matmul, or of one that gives a gradient of
 * theirs; narrow: it reads 8 bits, as casts or weights that are held so, and writes the network's real type
 * (tracer/transform/dtype.h makes the same of a trace). */
struct ll_value *ll_weight_gemm(struct ll_nn *nn, const struct ll_nn_call *product, bool narrow);

#endif
