/* SPDX-License-Identifier: Apache-2.0 */
/* The rows of aten.def, and what their rules share. */
#include <assert.h>
#include <math.h>
#include <string.h>

#include "tracer/convert/torch/torch.h"

static const struct ll_aten_row rows[] = {
#define LL_ATEN(name, rule, kind, tensors, weights)                                                          \
    {name, ll_aten_##rule, LL_ATEN_##rule, LL_OP_##kind, tensors, weights},
#include "tracer/convert/torch/aten.def"
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
    assert(call->node);
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
    assert(call->node);
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
    assert(op->kind < LL_OP_NONE);
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
    assert(dtype < LL_DTYPE_COUNT);
    const struct ll_shape scalar = {.dtype = (uint8_t)dtype};
    return ll_import_tensor(call->import, "constant", &scalar, LL_WORKSPACE);
}

const char *ll_aten_cast(struct ll_aten *call, struct ll_imported from, enum ll_dtype dtype,
                         struct ll_imported *to)
{
    assert(dtype < LL_DTYPE_COUNT);
    struct ll_shape given = from.shape;
    given.dtype = (uint8_t)dtype;
    return ll_aten_do(call,
                      &(struct ll_import_op){
                          .kind = LL_OP_CAST, .in = &from, .in_count = 1, .given = &given, .given_count = 1},
                      to);
}

struct ll_imported ll_aten_vector(struct ll_aten *call, uint32_t i, uint64_t length, enum ll_dtype dtype)
{
    assert(dtype < LL_DTYPE_COUNT);
    const struct ll_shape shape = {.rank = 1, .dtype = (uint8_t)dtype, .dim = {length}};
    const struct ll_torch_tensor *tensor = ll_aten_tensor(call, i);
    return tensor ? ll_aten_hold(call, tensor, &shape)
                  : ll_import_tensor(call->import, "constant", &shape, LL_WORKSPACE);
}

/* What devices exchange: the operators of torch.distributed (c10d).
 *
 * Each calls its communicator, which PyTorch's profiler notes as `record_param_comms`: elements read and
 * written, their type, the devices of the group. Shapes of tensors come first, what the communicator says
 * where they lack; alone, without an operator around it, the note is the exchange. The group's size follows
 * from it, or from what is gathered or scattered; where neither tells, it is all devices. */

static const char no_sizes[] = "the file does not say how much it exchanges";

/* The kind of an exchange by the name that a communicator gives it, in whatever way it writes that:
 * "_allgather_base", "all_gather", "nccl:all_gather", "ALLGATHER"; LL_OP_NONE: it only waits, or nobody
 * knows it. */
static enum ll_op_kind kind_of(const char *name)
{
    static const struct {
        const char *begins;
        enum ll_op_kind kind;
    } kinds[] = {{"allreduce", LL_OP_ALL_REDUCE},
                 {"allgather", LL_OP_ALL_GATHER},
                 {"reducescatter", LL_OP_REDUCE_SCATTER},
                 {"alltoall", LL_OP_ALL_TO_ALL},
                 {"broadcast", LL_OP_BROADCAST},
                 {"gather", LL_OP_COLLECT},
                 {"scatter", LL_OP_DISTRIBUTE},
                 {"reduce", LL_OP_REDUCE},
                 {"send", LL_OP_SEND},
                 {"isend", LL_OP_SEND},
                 {"recv", LL_OP_RECEIVE},
                 {"irecv", LL_OP_RECEIVE},
                 {"barrier", LL_OP_BARRIER},
                 {"monitoredbarrier", LL_OP_BARRIER}};
    char plain[32] = "";
    size_t length = 0;
    const char *library = strrchr(name, ':');
    for (name = library ? library + 1 : name; *name && length + 1 < sizeof plain; name++)
        if (*name != '_')
            plain[length++] = *name >= 'A' && *name <= 'Z' ? (char)(*name + 'a' - 'A') : *name;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strncmp(plain, kinds[i].begins, strlen(kinds[i].begins)) == 0)
            return kinds[i].kind;
    return LL_OP_NONE;
}

static bool gathers(enum ll_op_kind kind)
{
    return kind == LL_OP_ALL_GATHER || kind == LL_OP_COLLECT;
}

static bool scatters(enum ll_op_kind kind)
{
    return kind == LL_OP_REDUCE_SCATTER || kind == LL_OP_DISTRIBUTE;
}

/* What one exchange reads and writes, as far as it is known: elements of 0 are not. */
struct exchanged {
    struct ll_shape read, written;
    const struct ll_torch_tensor *from, *to; /* NULL: nobody knows which */
};

static struct ll_shape flat(uint64_t elements, enum ll_dtype dtype)
{
    return (struct ll_shape){
        .rank = 1, .dtype = (uint8_t)(dtype == LL_DTYPE_COUNT ? LL_F32 : dtype), .dim = {elements}};
}

/* The side that is not known follows from the other one. False when neither is, or the group's size lacks. */
static bool complete(enum ll_op_kind kind, uint64_t devices, struct exchanged *e)
{
    uint64_t read = ll_elements(&e->read), written = ll_elements(&e->written);
    enum ll_dtype dtype = (enum ll_dtype)(read ? e->read.dtype : e->written.dtype);
    bool alike = !gathers(kind) && !scatters(kind);
    if ((read == 0 && written == 0) || (!alike && (read == 0 || written == 0) && devices == 0))
        return false;
    if (alike) /* parts of all-to-all may differ: the larger side takes the time */
        e->read = e->written = read >= written ? e->read : e->written;
    else if (read == 0)
        e->read = flat(gathers(kind) ? written / devices : ll_mul(written, devices), dtype);
    else if (written == 0)
        e->written = flat(gathers(kind) ? ll_mul(read, devices) : read / devices, dtype);
    return ll_elements(&e->read) > 0 && ll_elements(&e->written) > 0;
}

/* Devices of the group: as told, or as many parts as the whole has. 0: nobody knows. */
static uint64_t group_of(enum ll_op_kind kind, const struct ll_torch_exchange *told,
                         const struct exchanged *e)
{
    uint64_t read = ll_elements(&e->read), written = ll_elements(&e->written);
    if (told && told->devices > 0)
        return told->devices;
    uint64_t part = gathers(kind) ? read : written, whole = gathers(kind) ? written : read;
    bool divides = (gathers(kind) || scatters(kind)) && part > 0 && whole % part == 0;
    return divides ? whole / part : 0;
}

/* Records a collective or a message. Where the profile tells no sizes they follow from the group, or from
 * one side of the exchange; the phase is communication for this op alone, and the result takes the memory
 * class of the storage that it overwrites. */
static const char *record_exchange(struct ll_aten *call, enum ll_op_kind kind,
                                   const struct ll_torch_exchange *told, struct exchanged e)
{
    struct ll_attr attrs[3];
    uint32_t count = 0;
    bool two = kind == LL_OP_SEND || kind == LL_OP_RECEIVE, in_place = kind == LL_OP_ALL_REDUCE;
    uint64_t devices = group_of(kind, told, &e);
    if (kind == LL_OP_BARRIER)
        e.read = e.written = flat(1, LL_U8);
    if (!complete(kind, devices, &e))
        return no_sizes;
    if (in_place)
        attrs[count++] = (struct ll_attr){.key = LL_ATTR_IN_PLACE, .count = 0};
    if (two && told && told->peer)
        attrs[count++] = (struct ll_attr){.key = LL_ATTR_PEER, .count = told->peer};
    if (!two && devices > 0 && devices <= LL_TORCH_MOST_RANKS) {
        attrs[count++] = (struct ll_attr){.key = LL_ATTR_DEVICES, .count = (int64_t)devices};
        if (told && told->stride > 1 && told->stride <= LL_TORCH_MOST_RANKS)
            attrs[count++] = (struct ll_attr){.key = LL_ATTR_STRIDE, .count = (int64_t)told->stride};
    }
    enum ll_memory_class memory = call->memory;
    enum ll_phase phase = call->phase;
    const struct ll_torch_tensor *to = in_place ? e.from : e.to;
    struct ll_imported out = {0}, in = e.from
                                           ? ll_aten_hold(call, e.from, &e.read)
                                           : ll_import_tensor(call->import, "message", &e.read, LL_WORKSPACE);
    const struct ll_storage *slot = to ? ll_storage_of(call, to) : NULL;
    call->memory = slot && slot->live ? slot->memory : memory;
    call->phase = LL_PHASE_COMM;
    const char *trouble = ll_aten_do(call,
                                     &(struct ll_import_op){.kind = kind,
                                                            .in = &in,
                                                            .in_count = 1,
                                                            .attrs = attrs,
                                                            .attr_count = count,
                                                            .given = in_place ? NULL : &e.written,
                                                            .given_count = !in_place},
                                     &out);
    if (!trouble)
        ll_aten_give(call, to ? to : ll_aten_result(call, 0), out);
    call->memory = memory;
    call->phase = phase;
    return trouble;
}

/* Tensor t of argument i; NULL where the file does not have it. */
static const struct ll_torch_tensor *tensor_at(const struct ll_aten *call, uint32_t i, uint32_t t)
{
    const struct ll_torch_value *value = i < call->node->input_count ? &call->node->inputs[i] : NULL;
    bool there = value && value->kind == LL_TORCH_TENSORS && t < value->count && !value->tensors[t].absent;
    return there ? &value->tensors[t] : NULL;
}

static struct ll_shape shape_of(const struct ll_torch_tensor *tensor, const struct ll_torch_exchange *told)
{
    struct ll_shape shape = tensor ? tensor->shape : flat(0, LL_F32);
    if (told && told->dtype != LL_DTYPE_COUNT) /* lists of tensors have none in a profile */
        shape.dtype = (uint8_t)told->dtype;
    return shape;
}

static struct exchanged noted(const struct ll_torch_exchange *told)
{
    return (struct exchanged){.read = flat(told->read_elements, told->dtype),
                              .written = flat(told->written_elements, told->dtype)};
}

/* Tensor by tensor: argument `from` is read, argument `to` written. */
static const char *record_tensors(struct ll_aten *call, enum ll_op_kind kind,
                                  const struct ll_torch_exchange *told, uint32_t from, uint32_t to)
{
    const char *trouble = NULL;
    for (uint32_t t = 0; !trouble && (tensor_at(call, from, t) || tensor_at(call, to, t)); t++) {
        struct exchanged e = {.from = tensor_at(call, from, t),
                              .to = from == to ? NULL : tensor_at(call, to, t)};
        e.read = shape_of(e.from, told);
        e.written = shape_of(e.to, told);
        trouble = record_exchange(call, kind, told, e);
    }
    return trouble;
}

/* Whether a note is of an exchange, known here or not: "coalesced" ends several that have notes of their own,
 * and what only waits has no size. */
static bool is_exchange(const struct ll_torch_exchange *told)
{
    bool sized = told->read_elements > 0 || told->written_elements > 0;
    return !told->name || kind_of(told->name) != LL_OP_NONE || (sized && !strstr(told->name, "coalesced"));
}

/* The next note of a communicator below the call, from place *at on, that does not only wait; NULL: there is
 * none. */
static const struct ll_torch_exchange *next_note(const struct ll_aten *call, uint64_t *at)
{
    while (++*at <= call->below_count) {
        const struct ll_torch_node *node = call->node + *at;
        if (node->thread == call->node->thread && node->exchange && is_exchange(node->exchange))
            return node->exchange;
    }
    return NULL;
}

/* An operator that reads the tensors of one argument, the row's, and writes those of the first where that is
 * another one; without their shapes, all that its communicators noted. */
const char *ll_aten_EXCHANGE(struct ll_aten *call)
{
    const enum ll_op_kind kind = call->row->kind;
    const uint32_t before = call->storages->ops, from = call->row->tensors;
    uint64_t at = 0;
    const struct ll_torch_exchange *told = next_note(call, &at);
    /* Functional ones say how many there are: all_gather_into_tensor(x, devices, group),
     * reduce_scatter_tensor(x, reduction, devices, group). */
    const int64_t devices = from || told ? 0 : ll_aten_integer(call, gathers(kind) ? 1 : 2, 0, 0);
    const struct ll_torch_exchange said = {.devices = devices > 0 ? (uint64_t)devices : 0,
                                           .dtype = LL_DTYPE_COUNT};
    if (devices > 0 && (gathers(kind) || scatters(kind)))
        told = &said;
    const char *trouble = record_tensors(call, kind, told, from, 0);
    bool shaped = trouble || call->storages->ops > before;
    for (; !shaped && told != &said && !trouble && told; told = next_note(call, &at))
        trouble = record_exchange(call, kind, told, noted(told));
    if (trouble || call->storages->ops > before)
        return trouble;
    return kind == LL_OP_BARRIER ? record_exchange(call, kind, NULL, (struct exchanged){.from = NULL})
                                 : no_sizes;
}

/* record_param_comms without an operator around it that tells more, or nccl:all_reduce where that is all.
 * What only waits is no exchange; an execution graph has the operators. */
const char *ll_aten_NOTED_EXCHANGE(struct ll_aten *call)
{
    const struct ll_torch_exchange *told = call->node->exchange;
    const struct ll_torch_tensor *tensor = tensor_at(call, 0, 0);
    if (!told && kind_of(call->node->name) != LL_OP_NONE)
        return tensor ? record_tensors(call, kind_of(call->node->name), NULL, 0, 0) : no_sizes;
    if (!told)
        return NULL;
    if (!told->name)
        return tensor && ll_elements(&tensor->shape) > 0 ? "the file does not say which exchange it is"
                                                         : NULL;
    enum ll_op_kind kind = kind_of(told->name);
    if (kind == LL_OP_NONE) {
        const char *why = ll_format(&call->import->arena, "nobody knows the exchange `%s`", told->name);
        return !is_exchange(told) ? NULL : why ? why : ll_status_text(LL_NO_MEMORY);
    }
    if (told->read_elements > 0 || told->written_elements > 0 || kind == LL_OP_BARRIER)
        return record_exchange(call, kind, told, noted(told));
    return tensor ? record_tensors(call, kind, told, 0, 0) : no_sizes;
}

/* Products of matrices. */

/* The product of arguments a and b. */
static const char *product(struct ll_aten *call, enum ll_op_kind kind, uint32_t a, uint32_t b,
                           struct ll_imported *out)
{
    if (!ll_aten_tensor(call, a) || !ll_aten_tensor(call, b))
        return LL_ATEN_WANTS_TENSORS;
    const struct ll_imported in[] = {ll_aten_hold(call, ll_aten_tensor(call, a), NULL),
                                     ll_aten_hold(call, ll_aten_tensor(call, b), NULL)};
    return ll_aten_do(call, &(struct ll_import_op){.kind = kind, .in = in, .in_count = 2}, out);
}

const char *ll_aten_MM(struct ll_aten *call)
{
    struct ll_imported out = {0};
    const char *trouble = product(call, call->row->kind, 0, 1, &out);
    if (!trouble)
        ll_aten_give(call, ll_aten_result(call, 0), out);
    return trouble;
}

/* What is added is a bias where it has one dimension, as long as a row; one number may stand for a row. */
static const char *add(struct ll_aten *call, const struct ll_torch_tensor *c, struct ll_imported *sum)
{
    const struct ll_imported in[] = {*sum, ll_aten_hold(call, c, NULL)};
    bool bias = c->shape.rank == 1 && c->shape.dim[0] == sum->shape.dim[sum->shape.rank - 1u];
    return ll_aten_do(
        call, &(struct ll_import_op){.kind = bias ? LL_OP_BIAS_ADD : LL_OP_ADD, .in = in, .in_count = 2},
        sum);
}

/* addmm(c, a, b, beta, alpha): beta c + alpha a b. _addmm_activation goes on with a ReLU, or GELU when its
 * last argument says so. */
const char *ll_aten_ADDMM(struct ll_aten *call)
{
    bool activated = call->row->kind == LL_OP_RELU, gelu = ll_aten_integer(call, 5, 0, 0) != 0;
    const struct ll_torch_tensor *c = ll_aten_tensor(call, 0);
    struct ll_imported out = {0};
    const char *trouble = product(call, activated ? LL_OP_MATMUL : call->row->kind, 1, 2, &out);
    if (!trouble && c && ll_aten_number(call, 3, 0, 1) != 0)
        trouble = add(call, c, &out);
    if (!trouble && activated)
        trouble = ll_aten_do(
            call, &(struct ll_import_op){.kind = gelu ? LL_OP_GELU : LL_OP_RELU, .in = &out, .in_count = 1},
            &out);
    if (!trouble)
        ll_aten_give(call, ll_aten_result(call, 0), out);
    return trouble;
}

/* x[..., k] w[n, k]^T + b[n] */
const char *ll_aten_LINEAR(struct ll_aten *call)
{
    const struct ll_torch_tensor *x = ll_aten_tensor(call, 0), *w = ll_aten_tensor(call, 1),
                                 *b = ll_aten_tensor(call, 2);
    const struct ll_attr turned = {.key = LL_ATTR_TRANSPOSE_B, .count = 1};
    struct ll_imported out = {0};
    if (!x || !w || x->shape.rank == 0)
        return LL_ATEN_WANTS_TENSORS;
    struct ll_shape flat = {.rank = 2, .dtype = x->shape.dtype, .dim = {1, x->shape.dim[x->shape.rank - 1u]}};
    for (unsigned i = 0; i + 1u < x->shape.rank; i++)
        flat.dim[0] = ll_mul(flat.dim[0], x->shape.dim[i]);
    const struct ll_imported in[] = {ll_aten_hold(call, x, &flat), ll_aten_hold(call, w, NULL)};
    const char *trouble =
        ll_aten_do(call,
                   &(struct ll_import_op){
                       .kind = LL_OP_MATMUL, .in = in, .in_count = 2, .attrs = &turned, .attr_count = 1},
                   &out);
    if (!trouble && b)
        trouble = add(call, b, &out);
    if (!trouble)
        ll_aten_give(call, ll_aten_result(call, 0), out);
    return trouble;
}

/* _transform_bias_rescale_qkv(x w, bias, heads): queries, keys and values are parts of one tensor; that the
 * queries are scaled is left out. */
const char *ll_aten_QKV(struct ll_aten *call)
{
    const struct ll_torch_tensor *x = ll_aten_tensor(call, 0), *b = ll_aten_tensor(call, 1);
    if (!x || !b || x->shape.rank == 0)
        return LL_ATEN_WANTS_TENSORS;
    struct ll_imported out = ll_aten_hold(call, x, NULL);
    const char *trouble = add(call, b, &out);
    for (uint32_t i = 0; !trouble && i < 3; i++)
        ll_aten_give(call, ll_aten_result(call, i), out);
    return trouble;
}

/* A matrix, or a vector that lies, times a vector that stands: argument a and the one behind it. */
static const char *vector_product(struct ll_aten *call, uint32_t i, struct ll_imported *out)
{
    const struct ll_torch_tensor *a = ll_aten_tensor(call, i), *x = ll_aten_tensor(call, i + 1);
    if (!a || !x || x->shape.rank != 1 || a->shape.rank == 0 || a->shape.rank > 2)
        return LL_ATEN_WANTS_TENSORS;
    struct ll_shape standing = {.rank = 2, .dtype = x->shape.dtype, .dim = {x->shape.dim[0], 1}};
    struct ll_shape lying =
        a->shape.rank == 2
            ? a->shape
            : (struct ll_shape){.rank = 2, .dtype = a->shape.dtype, .dim = {1, a->shape.dim[0]}};
    const struct ll_imported in[] = {ll_aten_hold(call, a, &lying), ll_aten_hold(call, x, &standing)};
    return ll_aten_do(call, &(struct ll_import_op){.kind = LL_OP_MATMUL, .in = in, .in_count = 2}, out);
}

const char *ll_aten_MV(struct ll_aten *call)
{
    struct ll_imported out = {0};
    const char *trouble = vector_product(call, 0, &out);
    if (!trouble)
        ll_aten_give(call, ll_aten_result(call, 0), out);
    return trouble;
}

/* addmv(c, a, x, beta, alpha): beta c + alpha a x */
const char *ll_aten_ADDMV(struct ll_aten *call)
{
    const struct ll_torch_tensor *c = ll_aten_tensor(call, 0);
    struct ll_imported both[2] = {{0}};
    const char *trouble = vector_product(call, 1, &both[0]);
    if (!trouble && c && ll_aten_number(call, 3, 0, 1) != 0) {
        const struct ll_shape standing = {
            .rank = 2, .dtype = c->shape.dtype, .dim = {ll_elements(&c->shape), 1}};
        both[1] = ll_aten_hold(call, c, &standing);
        trouble =
            ll_aten_do(call, &(struct ll_import_op){.kind = LL_OP_ADD, .in = both, .in_count = 2}, both);
    }
    if (!trouble)
        ll_aten_give(call, ll_aten_result(call, 0), both[0]);
    return trouble;
}

/* A product of stacks, operands turned or not. */
static const char *stacked(struct ll_aten *call, struct ll_imported a, bool turn_a, struct ll_imported b,
                           bool turn_b, struct ll_imported *out)
{
    const struct ll_imported in[] = {a, b};
    const struct ll_attr turned[] = {{.key = LL_ATTR_TRANSPOSE_A, .count = turn_a},
                                     {.key = LL_ATTR_TRANSPOSE_B, .count = turn_b}};
    return ll_aten_do(
        call,
        &(struct ll_import_op){
            .kind = LL_OP_BATCH_MATMUL, .in = in, .in_count = 2, .attrs = turned, .attr_count = 2},
        out);
}

/* An argument of attention, [batch, heads, places, features]. Where several heads of queries share one of
 * keys, whatever belongs to queries is seen as of fewer heads with more places: the products are the same. */
static struct ll_imported heads(struct ll_aten *call, uint32_t argument, uint32_t k)
{
    const struct ll_torch_tensor *tensor = ll_aten_tensor(call, argument), *keys = ll_aten_tensor(call, k);
    struct ll_shape shape = tensor->shape;
    uint64_t of_keys = keys->shape.rank == 4 ? keys->shape.dim[1] : 0;
    if (shape.rank == 4 && of_keys > 0 && shape.dim[1] > of_keys && shape.dim[1] % of_keys == 0) {
        shape.dim[2] = ll_mul(shape.dim[2], shape.dim[1] / of_keys);
        shape.dim[1] = of_keys;
    }
    return ll_aten_hold(call, tensor, &shape);
}

/* softmax(q k^T), of the arguments q[batch, heads, asking, features] and k behind it. */
static const char *shares(struct ll_aten *call, uint32_t q, struct ll_imported *out)
{
    if (!ll_aten_tensor(call, q) || !ll_aten_tensor(call, q + 1) || !ll_aten_tensor(call, q + 2))
        return LL_ATEN_WANTS_TENSORS;
    const char *trouble = stacked(call, heads(call, q, q + 1), false, heads(call, q + 1, q + 1), true, out);
    return trouble ? trouble
                   : ll_aten_do(call, &(struct ll_import_op){.kind = LL_OP_SOFTMAX, .in = out, .in_count = 1},
                                out);
}

/* _scaled_dot_product_flash_attention(q, k, v, ...) and the like: as the ops that it stands for. Who asks for
 * what it keeps for the way back asks for its result. */
const char *ll_aten_ATTENTION(struct ll_aten *call)
{
    struct ll_imported p = {0}, out = {0};
    const char *trouble = shares(call, 0, &p);
    if (!trouble)
        trouble = stacked(call, p, false, heads(call, 2, 1), false, &out);
    for (uint32_t i = 0; !trouble && i < 2; i++)
        ll_aten_give(call, ll_aten_result(call, i), out);
    return trouble;
}

/* _scaled_dot_product_flash_attention_backward(dy, q, k, v, ...): the shares p are computed again, then
 * dv = p^T dy, ds = the softmax' gradient of dy v^T, dq = ds k, dk = ds^T q. */
const char *ll_aten_ATTENTION_BACKWARD(struct ll_aten *call)
{
    struct ll_imported p = {0}, dv = {0}, dp = {0}, ds = {0}, dq = {0}, dk = {0};
    const struct ll_torch_tensor *gradient = ll_aten_tensor(call, 0);
    const char *trouble = gradient ? shares(call, 1, &p) : LL_ATEN_WANTS_TENSORS;
    if (trouble)
        return trouble;
    const struct ll_imported dy = heads(call, 0, 2), q = heads(call, 1, 2), k = heads(call, 2, 2),
                             v = heads(call, 3, 2);
    trouble = stacked(call, p, true, dy, false, &dv);
    if (!trouble)
        trouble = stacked(call, dy, false, v, true, &dp);
    const struct ll_imported both[] = {dp, p};
    if (!trouble)
        trouble = ll_aten_do(
            call, &(struct ll_import_op){.kind = LL_OP_SOFTMAX_GRAD, .in = both, .in_count = 2}, &ds);
    if (!trouble)
        trouble = stacked(call, ds, false, k, false, &dq);
    if (!trouble)
        trouble = stacked(call, ds, true, q, false, &dk);
    const struct ll_imported results[] = {dq, dk, dv};
    for (uint32_t i = 0; !trouble && i < 3; i++)
        ll_aten_give(call, ll_aten_result(call, i), results[i]);
    return trouble;
}
