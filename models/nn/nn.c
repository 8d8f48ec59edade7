/* SPDX-License-Identifier: Apache-2.0 */
/* Building: an op is inferred, given results, and put at the end of the list. */
#include "models/nn/nn.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct ll_nn *ll_nn_new(enum ll_dtype real)
{
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
bool ll_nn_is_readable(const struct ll_nn *nn, const struct ll_value *value)
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
        bool readable = ll_nn_is_readable(nn, call->inputs[i]);
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
