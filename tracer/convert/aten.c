/* SPDX-License-Identifier: Apache-2.0 */
/* The rows of aten.def, and what their rules share. */
#include "tracer/convert/aten.h"

#include <math.h>
#include <string.h>

#define LL_ATEN(name, rule, kind, tensors, weights) ll_aten_rule ll_aten_##rule;
#include "tracer/convert/aten.def"
#undef LL_ATEN

static const struct ll_aten_row rows[] = {
#define LL_ATEN(name, rule, kind, tensors, weights) {name, ll_aten_##rule, LL_OP_##kind, tensors, weights},
#include "tracer/convert/aten.def"
#undef LL_ATEN
};

static const struct ll_aten_row *find(const char *name, size_t length)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strncmp(rows[i].name, name, length) == 0 && rows[i].name[length] == '\0')
            return &rows[i];
    return NULL;
}

const struct ll_aten_row *ll_aten_find(const char *name)
{
    const char *dot = strchr(name, '.');
    size_t length = dot ? (size_t)(dot - name) : strlen(name);
    const struct ll_aten_row *row = find(name, length);
    bool changes = length > 0 && name[length - 1] == '_';
    return row || !changes ? row : find(name, length - 1);
}

const struct ll_torch_tensor *ll_aten_tensor(const struct ll_aten *call, uint32_t i)
{
    const struct ll_torch_value *value = i < call->node->input_count ? &call->node->inputs[i] : NULL;
    bool there = value && value->kind == LL_TORCH_TENSORS && value->count > 0 && !value->tensors->absent;
    return there ? value->tensors : NULL;
}

const struct ll_torch_tensor *ll_aten_result(const struct ll_aten *call, uint32_t i)
{
    const struct ll_torch_node *node = call->node;
    size_t length = strlen(node->name);
    if (!node->outputs_known)
        return i == 0 && length > 0 && node->name[length - 1] == '_' ? ll_aten_tensor(call, 0) : NULL;
    return i < node->output_count && !node->outputs[i].absent ? &node->outputs[i] : NULL;
}

double ll_aten_number(const struct ll_aten *call, uint32_t i, uint32_t at, double otherwise)
{
    const struct ll_torch_value *value = i < call->node->input_count ? &call->node->inputs[i] : NULL;
    if (!value || value->kind != LL_TORCH_NUMBERS || value->count == 0)
        return otherwise;
    return value->numbers[at < value->count ? at : value->count - 1];
}

int64_t ll_aten_integer(const struct ll_aten *call, uint32_t i, uint32_t at, int64_t otherwise)
{
    const double most = LL_ATEN_MOST;
    double value = ll_aten_number(call, i, at, (double)otherwise);
    return isnan(value) ? otherwise : (int64_t)fmax(fmin(value, most), -most);
}

const char *ll_aten_do(struct ll_aten *call, const struct ll_import_op *op, struct ll_imported *out)
{
    struct ll_import_op whole = *op;
    const uint32_t before = call->storages->ops - 1;
    whole.phase = call->phase;
    whole.scope = call->scope;
    whole.memory = call->memory;
    whole.thread = call->node->thread;
    whole.start_ns = ll_add(call->node->start_ns, call->timed ? call->node->duration_ns : 0);
    whole.duration_ns = call->timed ? 0 : call->node->duration_ns;
    whole.controls = &before;
    whole.control_count = call->storages->in_order && call->storages->ops > 0;
    const char *trouble = ll_import_record(call->import, &whole, out);
    call->timed = call->timed || !trouble;
    call->storages->ops += !trouble;
    return trouble;
}

const char *ll_aten_do_to(struct ll_aten *call, const struct ll_import_op *op)
{
    struct ll_imported out[LL_MAX_OUTPUTS] = {{0}};
    const char *trouble = ll_aten_do(call, op, out);
    if (!trouble)
        ll_aten_give(call, ll_aten_result(call, 0), out[0]);
    return trouble;
}

struct ll_imported ll_aten_constant(struct ll_aten *call, enum ll_dtype dtype)
{
    const struct ll_shape scalar = {.dtype = (uint8_t)dtype};
    return ll_import_tensor(call->import, "constant", &scalar, LL_WORKSPACE);
}

const char *ll_aten_cast(struct ll_aten *call, struct ll_imported from, enum ll_dtype dtype,
                         struct ll_imported *to)
{
    struct ll_shape given = from.shape;
    given.dtype = (uint8_t)dtype;
    return ll_aten_do(call,
                      &(struct ll_import_op){
                          .kind = LL_OP_CAST, .in = &from, .in_count = 1, .given = &given, .given_count = 1},
                      to);
}

struct ll_imported ll_aten_vector(struct ll_aten *call, uint32_t i, uint64_t length, enum ll_dtype dtype)
{
    const struct ll_shape shape = {.rank = 1, .dtype = (uint8_t)dtype, .dim = {length}};
    const struct ll_torch_tensor *tensor = ll_aten_tensor(call, i);
    return tensor ? ll_aten_hold(call, tensor, &shape)
                  : ll_import_tensor(call->import, "constant", &shape, LL_WORKSPACE);
}
