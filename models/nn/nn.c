/* SPDX-License-Identifier: Apache-2.0 */
/* Building: an op is inferred, given results, and put at the end of the list. Then the first contents of
 * variables, and arithmetic by name. */
#include "models/nn/nn.h"

#include <assert.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tracer/base/random.h"

struct ll_nn *ll_nn_new(enum ll_dtype real)
{
    assert(real < LL_DTYPE_COUNT);
    struct ll_nn *nn = calloc(1, sizeof *nn);
    if (!nn)
        return NULL;
    nn->real = nn->master = real;
    nn->scope = "";
    nn->phase = LL_PHASE_FORWARD;
    nn->nothing.name = "";
    nn->nothing.root = nn->nothing.next = &nn->nothing;
    nn->program_count = 1;
    for (int i = 0; i < LL_MAX_OUTPUTS; i++)
        nn->nothings[i] = &nn->nothing;
    return nn;
}

void ll_nn_free(struct ll_nn *nn)
{
    if (!nn)
        return;
    if (nn->driver.release)
        nn->driver.release(nn->driver.context);
    ll_arena_release(&nn->arena);
    free(nn->ops);
    free(nn->values);
    free(nn->variables);
    free(nn->carries);
    free(nn);
}

const char *ll_nn_trouble(const struct ll_nn *nn)
{
    return nn->trouble;
}

void ll_nn_fail(struct ll_nn *nn, const char *format, ...)
{
    if (nn->trouble)
        return;
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    nn->trouble = ll_copy_text(&nn->arena, text, strlen(text));
    if (!nn->trouble)
        nn->trouble = "memory ran out";
}

static void *fail_no_memory(struct ll_nn *nn)
{
    ll_nn_fail(nn, "memory ran out");
    return NULL;
}

struct ll_shape ll_nn_shape(const struct ll_nn *nn, unsigned rank, const uint64_t *dims,
                            const enum ll_role *roles)
{
    assert(rank <= LL_MAX_RANK);
    struct ll_shape shape = {.rank = (uint8_t)rank, .dtype = (uint8_t)nn->real};
    for (unsigned i = 0; i < rank; i++) {
        shape.dim[i] = dims[i];
        shape.role[i] = roles ? (uint8_t)roles[i] : LL_ROLE_PLAIN;
    }
    return shape;
}

static struct ll_value *add_value(struct ll_nn *nn, const char *name, const struct ll_shape *shape,
                                  enum ll_memory_class memory)
{
    if (!ll_grow(&nn->values, &nn->value_capacity, nn->value_count + 1, sizeof *nn->values))
        return fail_no_memory(nn);
    struct ll_value *value = ll_alloc(&nn->arena, 1, sizeof *value);
    if (!value || !name)
        return fail_no_memory(nn);
    value->shape = *shape;
    value->name = name;
    value->memory = memory;
    value->index = (uint32_t)nn->value_count;
    value->root = value->next = value;
    nn->values[nn->value_count++] = value;
    return value;
}

static const char *scoped(struct ll_nn *nn, const char *name)
{
    return nn->scope[0] ? ll_format(&nn->arena, "%s/%s", nn->scope, name)
                        : ll_copy_text(&nn->arena, name, strlen(name));
}

/* A variable of the programs before this one, or of this one, too. */
static struct ll_value *find_shared(const struct ll_nn *nn, const char *name, const struct ll_shape *shape,
                                    enum ll_memory_class memory)
{
    uint64_t end = nn->shares ? nn->value_count : nn->programs[nn->program_count - 1].first_value;
    for (uint64_t i = 0; i < nn->variable_count && nn->variables[i]->index < end; i++) {
        struct ll_value *value = nn->variables[i];
        if (value->memory == memory && strcmp(value->name, name) == 0 &&
            memcmp(&value->shape, shape, sizeof *shape) == 0)
            return value;
    }
    return NULL;
}

struct ll_value *ll_nn_variable(struct ll_nn *nn, const char *name, const struct ll_shape *shape,
                                enum ll_memory_class memory, struct ll_init init)
{
    assert(shape->rank <= LL_MAX_RANK && memory < LL_MEMORY_COUNT);
    if (nn->trouble)
        return &nn->nothing;
    if (!ll_fits(ll_size_bytes(shape)))
        ll_nn_fail(nn, "%s/%s: its size does not fit in 64 bits", nn->scope, name);
    const char *whole_name = scoped(nn, name);
    struct ll_value *value = whole_name ? find_shared(nn, whole_name, shape, memory) : NULL;
    if (value)
        return value->next;
    value = add_value(nn, whole_name, shape, memory);
    if (!value)
        return &nn->nothing;
    value->init = init;
    value->kept = true;
    if (ll_grow(&nn->variables, &nn->variable_capacity, nn->variable_count + 1, sizeof *nn->variables))
        nn->variables[nn->variable_count++] = value;
    else
        fail_no_memory(nn);
    value->frozen = nn->frozen;
    return value;
}

struct ll_value *ll_nn_weight(struct ll_nn *nn, const char *name, const struct ll_shape *shape,
                              struct ll_init init)
{
    struct ll_shape held = *shape, used = *shape;
    held.dtype = (uint8_t)nn->master;
    used.dtype = (uint8_t)nn->real;
    struct ll_value *weight = ll_nn_variable(nn, name, &held, LL_WEIGHT, init);
    if (nn->master == nn->real)
        return weight;
    return ll_nn_do(
        nn, &(struct ll_nn_call){
                .kind = LL_OP_CAST, .input_count = 1, .inputs = &weight, .given_count = 1, .given = &used});
}

void ll_nn_share(struct ll_nn *nn, bool shares)
{
    nn->shares = shares;
}

uint32_t ll_nn_begin_program(struct ll_nn *nn)
{
    if (nn->program_count == LL_MAX_PROGRAMS)
        ll_nn_fail(nn, "a network may have %d programs", LL_MAX_PROGRAMS);
    if (nn->trouble)
        return 0;
    for (uint64_t i = 0; i < nn->variable_count; i++) {
        nn->variables[i]->overwrites = 0;
        nn->variables[i]->next = nn->variables[i];
    }
    nn->phase = LL_PHASE_FORWARD;
    nn->programs[nn->program_count] =
        (struct ll_nn_program){nn->op_count, nn->value_count, nn->carry_count, NULL};
    return nn->program_count++;
}

static uint64_t end_of_program(const struct ll_nn *nn, uint32_t program)
{
    return program + 1 < nn->program_count ? nn->programs[program + 1].first_op : nn->op_count;
}

uint64_t ll_nn_program_ops(const struct ll_nn *nn, uint32_t program)
{
    assert(program < nn->program_count);
    return end_of_program(nn, program) - nn->programs[program].first_op;
}

void ll_nn_drive(struct ll_nn *nn, const struct ll_driver *driver)
{
    assert(!nn->driver.context && !nn->driver.release);
    nn->driver = *driver;
}

/* Of the program being built: the variable's carry, a new one when it has none. */
static struct ll_carry *carry_of(struct ll_nn *nn, struct ll_value *variable)
{
    if (variable->next != variable)
        for (uint64_t i = nn->carry_count; i-- > nn->programs[nn->program_count - 1].first_carry;)
            if (nn->carries[i].variable == variable)
                return &nn->carries[i];
    if (!ll_grow(&nn->carries, &nn->carry_capacity, nn->carry_count + 1, sizeof *nn->carries))
        return fail_no_memory(nn);
    return &nn->carries[nn->carry_count++];
}

/* The variable that this program has left a value in, or the variable itself. */
static struct ll_value *variable_of(const struct ll_nn *nn, struct ll_value *value)
{
    for (uint64_t i = nn->carry_count;
         value->producer && i-- > nn->programs[nn->program_count - 1].first_carry;)
        if (nn->carries[i].value == value)
            return nn->carries[i].variable;
    return value;
}

void ll_nn_carry(struct ll_nn *nn, struct ll_value *variable, struct ll_value *value)
{
    variable = variable_of(nn, variable);
    struct ll_carry *carry = nn->trouble ? NULL : carry_of(nn, variable);
    if (!carry)
        return;
    assert(!variable->producer && ll_size_bytes(&variable->shape) == ll_size_bytes(&value->shape));
    *carry = (struct ll_carry){variable, value};
    variable->next = value;
    value->kept = true;
    value->name = variable->name;
    value->memory = variable->memory;
}

void ll_nn_keep(struct ll_value *value)
{
    value->kept = true;
}

/* What an update leaves behind is its variables' and takes their class; the rest, a clipped gradient or a
 * norm, goes with the step. */
static enum ll_memory_class memory_of_phase(enum ll_phase phase)
{
    static const enum ll_memory_class classes[LL_PHASE_COUNT] = {
        [LL_PHASE_FORWARD] = LL_ACTIVATION, [LL_PHASE_BACKWARD] = LL_GRADIENT,
        [LL_PHASE_UPDATE] = LL_GRADIENT,    [LL_PHASE_INPUT] = LL_INPUT,
        [LL_PHASE_COMM] = LL_GRADIENT,
    };
    return classes[phase];
}

static const char *result_name(struct ll_nn *nn, const struct ll_nn_op *op, uint32_t i)
{
    const char *name = ll_op_name(op->view.kind);
    if (i > 0)
        name = ll_format(&nn->arena, "%s:%u", name, i);
    return name ? scoped(nn, name) : NULL;
}

/* What was made of the memory before may no longer be read. */
static void note_overwritten(struct ll_nn *nn, struct ll_value *value)
{
    value->root->overwrites++;
    if (!value->root->producer)
        ll_nn_carry(nn, value->root, value);
}

/* Result i: memory of its own, or that of the input it views or overwrites. */
static struct ll_value *add_result(struct ll_nn *nn, struct ll_nn_op *op, uint32_t i)
{
    uint32_t alias = ll_op_alias(&op->view, i);
    struct ll_value *source = alias == UINT32_MAX ? NULL : op->inputs[alias];
    struct ll_value *value = add_value(nn, result_name(nn, op, i), &op->view.out[i],
                                       source ? source->memory : memory_of_phase(op->phase));
    if (!value)
        return NULL;
    value->producer = op;
    if (source) {
        value->root = source->root;
        if (ll_op_bytes_written(&op->view) > 0)
            note_overwritten(nn, value);
        value->version = value->root->overwrites;
    }
    return value;
}

/* A value of another program has no contents when this one runs; one that was overwritten, no longer the
 * right ones. */
static bool nn_is_readable(const struct ll_nn *nn, const struct ll_value *value)
{
    bool here = !value->producer || value->producer->index >= nn->programs[nn->program_count - 1].first_op;
    return here && value->version == value->root->overwrites;
}

static struct ll_nn_op *copy_call(struct ll_nn *nn, const struct ll_nn_call *call)
{
    struct ll_nn_op *op = ll_alloc(&nn->arena, 1, sizeof *op);
    struct ll_shape *in = ll_alloc(&nn->arena, call->input_count, sizeof *in);
    uint32_t outputs = call->given_count > LL_MAX_OUTPUTS ? call->given_count : LL_MAX_OUTPUTS;
    struct ll_shape *out = ll_alloc(&nn->arena, outputs, sizeof *out);
    struct ll_attr *attrs = ll_copy(&nn->arena, call->attrs, call->attr_count * sizeof *attrs);
    if (!op || !in || !out || !attrs)
        return fail_no_memory(nn);
    op->inputs = ll_copy(&nn->arena, call->inputs, call->input_count * sizeof(struct ll_value *));
    op->outputs = ll_alloc(&nn->arena, outputs, sizeof(struct ll_value *));
    if (!op->inputs || !op->outputs)
        return fail_no_memory(nn);
    for (uint32_t i = 0; i < call->input_count; i++) {
        bool readable = nn_is_readable(nn, call->inputs[i]);
        assert(readable);
        (void)readable;
        in[i] = call->inputs[i]->shape;
    }
    for (uint32_t i = 0; i < call->given_count; i++)
        out[i] = call->given[i];
    op->view = (struct ll_op_view){
        call->kind, call->input_count, call->given_count, call->attr_count, in, out, attrs};
    op->phase = nn->phase;
    op->scope = nn->scope;
    op->feed = call->feed;
    return op;
}

static bool infer(struct ll_nn *nn, struct ll_nn_op *op, const enum ll_dtype *dtype)
{
    const char *wrong = ll_op_infer(&op->view);
    if (!wrong && dtype)
        op->view.out[0].dtype = (uint8_t)*dtype;
    for (uint32_t i = 0; !wrong && i < op->view.output_count; i++)
        if (!ll_fits(ll_size_bytes(&op->view.out[i])))
            wrong = "the size of a result does not fit in 64 bits";
    if (!wrong && !ll_op_counts_fit(&op->view))
        wrong = "what it computes or moves does not fit in 64 bits";
    if (wrong)
        ll_nn_fail(nn, "%s in %s: %s", ll_op_name(op->view.kind), nn->scope[0] ? nn->scope : "the model",
                   wrong);
    return !wrong;
}

static bool add_op(struct ll_nn *nn, struct ll_nn_op *op)
{
    if (!ll_grow(&nn->ops, &nn->op_capacity, nn->op_count + 1, sizeof(struct ll_nn_op *))) {
        ll_nn_fail(nn, "memory ran out");
        return false;
    }
    for (uint32_t i = 0; i < op->view.output_count; i++)
        if (!(op->outputs[i] = add_result(nn, op, i)))
            return false;
    op->index = (uint32_t)nn->op_count;
    nn->ops[nn->op_count++] = op;
    return true;
}

struct ll_value *ll_nn_do(struct ll_nn *nn, const struct ll_nn_call *call)
{
    assert(call->given_count <= LL_MAX_OP_REFS && call->attr_count <= LL_MAX_ATTRS);
    struct ll_nn_op *op = nn->trouble ? NULL : copy_call(nn, call);
    return op && infer(nn, op, call->dtype) && add_op(nn, op) ? op->outputs[0] : &nn->nothing;
}

struct ll_value *ll_nn_do1(struct ll_nn *nn, enum ll_op_kind kind, struct ll_value *x)
{
    return ll_nn_do(nn, &(struct ll_nn_call){.kind = kind, .input_count = 1, .inputs = &x});
}

struct ll_value *ll_nn_do2(struct ll_nn *nn, enum ll_op_kind kind, struct ll_value *x, struct ll_value *y)
{
    struct ll_value *inputs[] = {x, y};
    return ll_nn_do(nn, &(struct ll_nn_call){.kind = kind, .input_count = 2, .inputs = inputs});
}

void ll_nn_push(struct ll_nn *nn, const char *name)
{
    if (nn->trouble)
        return;
    const char *scope = scoped(nn, name);
    assert(nn->scope_depth < LL_MOST_SCOPES);
    nn->outer_scopes[nn->scope_depth++] = nn->scope;
    if (scope)
        nn->scope = scope;
    else
        fail_no_memory(nn);
}

void ll_nn_push_numbered(struct ll_nn *nn, const char *name, unsigned number)
{
    char text[64];
    snprintf(text, sizeof text, "%s%u", name, number);
    ll_nn_push(nn, text);
}

void ll_nn_pop(struct ll_nn *nn)
{
    if (nn->trouble)
        return;
    assert(nn->scope_depth > 0);
    nn->scope = nn->outer_scopes[--nn->scope_depth];
}

const char *ll_nn_scope_of(struct ll_nn *nn, const struct ll_value *variable)
{
    const char *slash = strrchr(variable->name, '/');
    const char *scope =
        slash ? ll_copy_text(&nn->arena, variable->name, (size_t)(slash - variable->name)) : "";
    if (!scope)
        ll_nn_fail(nn, "memory ran out");
    return scope ? scope : "";
}

uint64_t ll_nn_parameters(const struct ll_nn *nn)
{
    uint64_t count = 0, end = nn->program_count > 1 ? nn->programs[1].first_value : nn->value_count;
    for (uint64_t i = 0; i < end; i++)
        if (!nn->values[i]->producer && nn->values[i]->memory == LL_WEIGHT)
            count = ll_add(count, ll_elements(&nn->values[i]->shape));
    return count;
}

uint64_t ll_nn_forward_flops(const struct ll_nn *nn)
{
    uint64_t flops = 0;
    for (uint64_t i = 0; i < end_of_program(nn, 0); i++) {
        const struct ll_nn_op *op = nn->ops[i];
        enum ll_op_class op_class = ll_op_class(op->view.kind);
        if (op->phase == LL_PHASE_FORWARD && (op_class == LL_CLASS_MATRIX || op_class == LL_CLASS_CONV))
            flops = ll_add(flops, ll_op_flops(&op->view));
    }
    return flops;
}

uint64_t ll_nn_all_forward_flops(const struct ll_nn *nn)
{
    uint64_t flops = 0;
    for (uint64_t i = 0; i < end_of_program(nn, 0); i++) {
        if (nn->ops[i]->phase == LL_PHASE_FORWARD)
            flops = ll_add(flops, ll_op_flops(&nn->ops[i]->view));
    }
    return flops;
}

/* First contents of variables, and random ops that repeat from run to run. */

/* Normal numbers by Box and Muller (1958), two from 64 random bits. A truncated draw outside of two
 * deviations is drawn again, from the next numbers of a stream of the element's own. */

enum { GRAIN = 1 << 14 };

struct filling {
    struct ll_init init;
    uint64_t key;
    bool wide; /* double */
    void *data;
};

static void put(const struct filling *f, uint64_t i, double value)
{
    if (f->wide)
        ((double *)f->data)[i] = value;
    else
        ((float *)f->data)[i] = (float)value;
}

static void normal_pair(uint64_t bits, float pair[2])
{
    float radius = sqrtf(-2 * logf(ll_random_unit((uint32_t)(bits >> 32))));
    float angle = 6.28318530718f * ll_random_unit((uint32_t)bits);
    pair[0] = radius * cosf(angle);
    pair[1] = radius * sinf(angle);
}

static void fill_normal(const struct filling *f, uint64_t begin, uint64_t end)
{
    assert(begin % 2 == 0);
    for (uint64_t i = begin; i < end; i += 2) {
        float pair[2];
        normal_pair(ll_random_bits(f->key, i / 2), pair);
        put(f, i, f->init.scale * (double)pair[0]);
        if (i + 1 < end)
            put(f, i + 1, f->init.scale * (double)pair[1]);
    }
}

static void fill_truncated(const struct filling *f, uint64_t begin, uint64_t end)
{
    for (uint64_t i = begin; i < end; i++) {
        float pair[2];
        uint64_t own = ll_random_key(f->key, i), draw = 0;
        do
            normal_pair(ll_random_bits(own, draw++), pair);
        while (fabsf(pair[0]) > 2);
        put(f, i, f->init.scale * (double)pair[0]);
    }
}

static void fill_uniform(const struct filling *f, uint64_t begin, uint64_t end)
{
    for (uint64_t i = begin; i < end; i++) {
        double unit = (double)ll_random_unit((uint32_t)ll_random_bits(f->key, i));
        put(f, i, f->init.scale * (2 * unit - 1));
    }
}

static void fill_constant(const struct filling *f, uint64_t begin, uint64_t end)
{
    for (uint64_t i = begin; i < end; i++)
        put(f, i, f->init.scale);
}

static void fill_list(const struct filling *f, uint64_t begin, uint64_t end)
{
    for (uint64_t i = begin; i < end; i++)
        put(f, i, f->init.list[i]);
}

static void fill(void *context, uint64_t begin, uint64_t end, uint64_t chunk)
{
    static void (*const fills[])(const struct filling *, uint64_t, uint64_t) = {
        [LL_INIT_CONSTANT] = fill_constant,
        [LL_INIT_NORMAL] = fill_normal,
        [LL_INIT_TRUNCATED_NORMAL] = fill_truncated,
        [LL_INIT_UNIFORM] = fill_uniform,
        [LL_INIT_LIST] = fill_list,
    };
    (void)chunk;
    const struct filling *f = context;
    fills[f->init.kind](f, begin, end);
}

struct ll_init ll_init_fan_in(uint64_t inputs, double gain)
{
    return (struct ll_init){LL_INIT_NORMAL, sqrt(gain / (double)inputs), NULL};
}

void ll_init_fill(const struct ll_value *variable, uint64_t seed, struct ll_pool *pool, void *data)
{
    assert(!variable->producer);
    assert(variable->shape.dtype == LL_F32 || variable->shape.dtype == LL_F64);
    uint64_t key = seed;
    for (const char *c = variable->name; *c; c++)
        key = ll_random_key(key, (uint64_t)*c);
    struct filling filling = {variable->init, key, variable->shape.dtype == LL_F64, data};
    ll_pool_run(pool, ll_elements(&variable->shape), GRAIN, fill, &filling);
}

struct ll_rng ll_rng_begin(struct ll_nn *nn, uint64_t seed)
{
    static const struct ll_init zero = {LL_INIT_CONSTANT, 0, NULL}, one = {LL_INIT_CONSTANT, 1, NULL};
    struct ll_shape scalar = ll_nn_shape(nn, 0, NULL, NULL);
    enum ll_phase phase = nn->phase;
    nn->phase = LL_PHASE_UPDATE;
    ll_nn_push(nn, "chance");
    struct ll_value *counter = ll_nn_variable(nn, "step", &scalar, LL_WORKSPACE, zero);
    struct ll_value *step =
        ll_nn_do2(nn, LL_OP_ADD, counter, ll_nn_variable(nn, "one", &scalar, LL_WORKSPACE, one));
    ll_nn_carry(nn, counter, step);
    ll_nn_pop(nn);
    nn->phase = phase;
    return (struct ll_rng){step, seed, 0};
}

static struct ll_value *drawn(struct ll_nn *nn, enum ll_op_kind kind, struct ll_rng *rng,
                              const struct ll_shape *shape)
{
    struct ll_attr attrs[] = {
        ll_attr_of_count(LL_ATTR_SEED, (int64_t)rng->seed),
        ll_attr_of_count(LL_ATTR_STREAM, (int64_t)rng->streams++),
    };
    return ll_nn_do(nn, &(struct ll_nn_call){.kind = kind,
                                             .input_count = 1,
                                             .inputs = &rng->step,
                                             .attr_count = sizeof attrs / sizeof *attrs,
                                             .attrs = attrs,
                                             .given_count = 1,
                                             .given = shape});
}

struct ll_value *ll_random_normal(struct ll_nn *nn, struct ll_rng *rng, const struct ll_shape *shape)
{
    return drawn(nn, LL_OP_RANDOM_NORMAL, rng, shape);
}

struct ll_value *ll_random_uniform(struct ll_nn *nn, struct ll_rng *rng, const struct ll_shape *shape)
{
    return drawn(nn, LL_OP_RANDOM_UNIFORM, rng, shape);
}

struct ll_value *ll_dropout_layer(struct ll_nn *nn, const char *name, struct ll_value *x, double keep,
                                  struct ll_rng *rng)
{
    struct ll_attr attrs[] = {
        ll_attr_of_count(LL_ATTR_SEED, (int64_t)rng->seed),
        ll_attr_of_count(LL_ATTR_STREAM, (int64_t)rng->streams++),
        ll_attr_of_real(LL_ATTR_KEEP, keep),
    };
    ll_nn_push(nn, name);
    struct ll_value *y = ll_nn_do(nn, &(struct ll_nn_call){.kind = LL_OP_DROPOUT,
                                                           .input_count = 2,
                                                           .inputs = (struct ll_value *[]){x, rng->step},
                                                           .attr_count = sizeof attrs / sizeof *attrs,
                                                           .attrs = attrs});
    ll_nn_pop(nn);
    return y;
}

/* Arithmetic by name: functions that each add one or a few ops to a network. */

/* Of the program being built, a variable of this whole name and these contents. */
static struct ll_value *find(const struct ll_nn *nn, const char *name, const struct ll_shape *shape,
                             double value)
{
    uint64_t first = nn->programs[nn->program_count - 1].first_value;
    for (uint64_t i = 0; i < nn->variable_count; i++) {
        struct ll_value *v = nn->variables[i];
        if (v->index >= first && v->memory == LL_WORKSPACE && v->init.kind == LL_INIT_CONSTANT &&
            v->init.scale == value && v->overwrites == 0 && memcmp(&v->shape, shape, sizeof *shape) == 0 &&
            strcmp(v->name, name) == 0)
            return v;
    }
    return NULL;
}

struct ll_value *ll_filled(struct ll_nn *nn, const char *name, const struct ll_shape *shape, double value)
{
    const char *scope = nn->scope;
    nn->scope = "constants";
    const char *whole = ll_format(&nn->arena, "constants/%s", name);
    struct ll_value *found = whole ? find(nn, whole, shape, value) : NULL;
    if (!found)
        found =
            ll_nn_variable(nn, name, shape, LL_WORKSPACE, (struct ll_init){LL_INIT_CONSTANT, value, NULL});
    nn->scope = scope;
    return found;
}

struct ll_value *ll_constant(struct ll_nn *nn, const char *name, double value)
{
    struct ll_shape scalar = ll_nn_shape(nn, 0, NULL, NULL);
    return ll_filled(nn, name, &scalar, value);
}

struct ll_value *ll_zeros(struct ll_nn *nn, const struct ll_shape *shape)
{
    return ll_filled(nn, "zeros", shape, 0);
}

struct ll_value *ll_made_zeros(struct ll_nn *nn, const struct ll_shape *shape)
{
    struct ll_shape scalar = ll_nn_shape(nn, 0, NULL, NULL);
    return ll_nn_broadcast(nn, ll_zeros(nn, &scalar), shape);
}

struct ll_value *ll_nn_mul_scalar(struct ll_nn *nn, struct ll_value *x, const char *name, double factor)
{
    assert(!isnan(factor));
    return ll_mul_of(nn, x, ll_constant(nn, name, factor));
}

struct ll_value *ll_select(struct ll_nn *nn, struct ll_value *condition, struct ll_value *a,
                           struct ll_value *b)
{
    struct ll_value *inputs[] = {condition, a, b};
    return ll_nn_do(nn, &(struct ll_nn_call){.kind = LL_OP_SELECT, .input_count = 3, .inputs = inputs});
}

struct ll_value *ll_sum_over(struct ll_nn *nn, struct ll_value *x, unsigned axis, unsigned axes)
{
    assert(axis + axes <= LL_MAX_RANK);
    struct ll_attr attrs[] = {ll_attr_of_count(LL_ATTR_AXIS, axis), ll_attr_of_count(LL_ATTR_AXES, axes)};
    return ll_nn_do(nn, &(struct ll_nn_call){.kind = LL_OP_SUM,
                                             .input_count = 1,
                                             .inputs = &x,
                                             .attr_count = axis == 0 ? 1 : 2,
                                             .attrs = axis == 0 ? &attrs[1] : attrs});
}

struct ll_value *ll_nn_broadcast(struct ll_nn *nn, struct ll_value *x, const struct ll_shape *shape)
{
    assert(nn->trouble || x->shape.rank <= shape->rank);
    struct ll_attr axes = ll_attr_of_count(LL_ATTR_AXES, shape->rank - x->shape.rank);
    return ll_nn_do(nn, &(struct ll_nn_call){.kind = LL_OP_TILE,
                                             .input_count = 1,
                                             .inputs = &x,
                                             .attr_count = 1,
                                             .attrs = &axes,
                                             .given_count = 1,
                                             .given = shape});
}

struct ll_value *ll_nn_reshape(struct ll_nn *nn, struct ll_value *x, const struct ll_shape *shape)
{
    struct ll_shape seen = *shape;
    seen.dtype = x->shape.dtype;
    return ll_nn_do(
        nn, &(struct ll_nn_call){
                .kind = LL_OP_RESHAPE, .input_count = 1, .inputs = &x, .given_count = 1, .given = &seen});
}

static struct ll_value *as_given(struct ll_nn *nn, enum ll_op_kind kind, struct ll_value *x,
                                 const struct ll_shape *shape)
{
    return ll_nn_do(nn, &(struct ll_nn_call){
                            .kind = kind, .input_count = 1, .inputs = &x, .given_count = 1, .given = shape});
}

struct ll_value *ll_nn_quantized(struct ll_nn *nn, struct ll_value *x, enum ll_dtype dtype,
                                 enum ll_scales scales)
{
    assert(ll_dtype_bits(dtype) <= 8);
    struct ll_shape narrow = x->shape;
    narrow.dtype = (uint8_t)dtype;
    narrow.scales = (uint8_t)scales;
    if (nn->trouble)
        return x;
    const struct ll_shape whole = x->shape;
    return as_given(nn, LL_OP_DEQUANTIZE, as_given(nn, LL_OP_QUANTIZE, x, &narrow), &whole);
}

struct ll_value *ll_cast_to(struct ll_nn *nn, struct ll_value *x, enum ll_dtype dtype)
{
    assert(dtype < LL_DTYPE_COUNT);
    struct ll_shape shape = x->shape;
    shape.dtype = (uint8_t)dtype;
    return ll_nn_do(
        nn, &(struct ll_nn_call){
                .kind = LL_OP_CAST, .input_count = 1, .inputs = &x, .given_count = 1, .given = &shape});
}

struct ll_value *ll_as_real(struct ll_nn *nn, struct ll_value *x)
{
    return ll_cast_to(nn, x, nn->real);
}

/* Cast once for all products that read it; what is cast of a weight lasts as long as the weight does. */
static struct ll_value *narrowed(struct ll_nn *nn, struct ll_value *x)
{
    if (x->shape.dtype == LL_F8)
        return x;
    if (!x->narrow || !nn_is_readable(nn, x->narrow))
        x->narrow = ll_cast_to(nn, x, LL_F8);
    if (x->memory == LL_WEIGHT && !nn->trouble)
        x->narrow->memory = LL_WORKSPACE;
    return x->narrow;
}

struct ll_value *ll_weight_gemm(struct ll_nn *nn, const struct ll_nn_call *product, bool narrow)
{
    if (!narrow || nn->trouble)
        return ll_nn_do(nn, product);
    struct ll_nn_call call = *product;
    call.inputs = (struct ll_value *[]){narrowed(nn, call.inputs[0]), narrowed(nn, call.inputs[1])};
    call.dtype = &nn->real;
    return ll_nn_do(nn, &call);
}

struct ll_value **ll_nn_unstack(struct ll_nn *nn, struct ll_value *stack)
{
    struct ll_shape layer = {.dtype = stack->shape.dtype};
    uint64_t count = nn->trouble || stack->shape.rank == 0 ? 0 : stack->shape.dim[0];
    for (unsigned i = 1; i < stack->shape.rank; i++) {
        layer.dim[layer.rank] = stack->shape.dim[i];
        layer.role[layer.rank++] = stack->shape.role[i];
    }
    if (count > LL_MAX_OP_REFS)
        ll_nn_fail(nn, "a stack of more than %d layers cannot be taken apart", LL_MAX_OP_REFS);
    struct ll_shape *given = nn->trouble ? NULL : ll_alloc(&nn->arena, count, sizeof *given);
    for (uint64_t i = 0; given && i < count; i++)
        given[i] = layer;
    const struct ll_value *first =
        ll_nn_do(nn, &(struct ll_nn_call){.kind = LL_OP_UNSTACK,
                                          .input_count = 1,
                                          .inputs = &stack,
                                          .given_count = given ? (uint32_t)count : 0,
                                          .given = given});
    return nn->trouble ? NULL : first->producer->outputs;
}

struct ll_value *ll_nn_stack(struct ll_nn *nn, struct ll_value *const *layers, uint32_t count)
{
    return ll_nn_do(nn, &(struct ll_nn_call){.kind = LL_OP_STACK, .input_count = count, .inputs = layers});
}

struct ll_value *ll_nn_concat(struct ll_nn *nn, struct ll_value *const *parts, uint32_t count, unsigned axis)
{
    assert(count > 0 && axis < LL_MAX_RANK);
    struct ll_attr attr = ll_attr_of_count(LL_ATTR_AXIS, axis);
    return ll_nn_do(
        nn,
        &(struct ll_nn_call){
            .kind = LL_OP_CONCAT, .input_count = count, .inputs = parts, .attr_count = 1, .attrs = &attr});
}

struct ll_value *ll_nn_transpose(struct ll_nn *nn, struct ll_value *x, int64_t permutation)
{
    struct ll_attr attr = ll_attr_of_count(LL_ATTR_PERMUTATION, permutation);
    return ll_nn_do(
        nn, &(struct ll_nn_call){
                .kind = LL_OP_TRANSPOSE, .input_count = 1, .inputs = &x, .attr_count = 1, .attrs = &attr});
}

struct ll_value *const *ll_nn_split(struct ll_nn *nn, struct ll_value *x, unsigned axis, unsigned parts)
{
    assert(parts > 0 && axis < LL_MAX_RANK);
    struct ll_attr attrs[] = {ll_attr_of_count(LL_ATTR_AXIS, axis), ll_attr_of_count(LL_ATTR_PARTS, parts)};
    const struct ll_value *first = ll_nn_do(
        nn, &(struct ll_nn_call){
                .kind = LL_OP_SPLIT, .input_count = 1, .inputs = &x, .attr_count = 2, .attrs = attrs});
    return first->producer ? first->producer->outputs : nn->nothings;
}

struct ll_value *ll_nn_slice(struct ll_nn *nn, struct ll_value *x, unsigned axis, uint64_t begin,
                             uint64_t size)
{
    assert(axis < LL_MAX_RANK);
    struct ll_attr attrs[] = {ll_attr_of_count(LL_ATTR_AXIS, axis),
                              ll_attr_of_count(LL_ATTR_BEGIN, (int64_t)begin),
                              ll_attr_of_count(LL_ATTR_SIZE, (int64_t)size)};
    return ll_nn_do(
        nn, &(struct ll_nn_call){
                .kind = LL_OP_SLICE, .input_count = 1, .inputs = &x, .attr_count = 3, .attrs = attrs});
}

struct ll_value *ll_nn_gather(struct ll_nn *nn, struct ll_value *table, struct ll_value *indices)
{
    return ll_nn_do2(nn, LL_OP_GATHER, table, indices);
}

struct ll_value *ll_relu_clipped(struct ll_nn *nn, struct ll_value *x, double limit)
{
    assert(limit > 0);
    struct ll_attr attr = ll_attr_of_real(LL_ATTR_LIMIT, limit);
    return ll_nn_do(
        nn, &(struct ll_nn_call){
                .kind = LL_OP_RELU_CLIPPED, .input_count = 1, .inputs = &x, .attr_count = 1, .attrs = &attr});
}

struct ll_value *ll_matmul_transposed(struct ll_nn *nn, struct ll_value *a, struct ll_value *b)
{
    struct ll_attr attr = ll_attr_of_count(LL_ATTR_TRANSPOSE_B, 1);
    struct ll_value *inputs[] = {a, b};
    return ll_nn_do(nn, &(struct ll_nn_call){.kind = a->shape.rank > 2 ? LL_OP_BATCH_MATMUL : LL_OP_MATMUL,
                                             .input_count = 2,
                                             .inputs = inputs,
                                             .attr_count = 1,
                                             .attrs = &attr});
}

struct ll_value *ll_nn_upsample(struct ll_nn *nn, struct ll_value *image, uint64_t factor)
{
    assert(factor > 0);
    struct ll_attr attrs[] = {ll_attr_of_count(LL_ATTR_KERNEL_H, (int64_t)factor),
                              ll_attr_of_count(LL_ATTR_KERNEL_W, (int64_t)factor)};
    return ll_nn_do(
        nn, &(struct ll_nn_call){
                .kind = LL_OP_UPSAMPLE, .input_count = 1, .inputs = &image, .attr_count = 2, .attrs = attrs});
}
