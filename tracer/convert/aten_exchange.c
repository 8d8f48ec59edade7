/* SPDX-License-Identifier: Apache-2.0 */
/* What devices exchange: the operators of torch.distributed (c10d).
 *
 * Each calls its communicator, which PyTorch's profiler notes as `record_param_comms`: elements read and
 * written, their type, the devices of the group. Shapes of tensors come first, what the communicator says
 * where they lack; alone, without an operator around it, the note is the exchange. The group's size follows
 * from it, or from what is gathered or scattered; where neither tells, it is all devices. */
#include "tracer/convert/aten.h"

#include <string.h>

ll_aten_rule ll_aten_EXCHANGE, ll_aten_NOTED_EXCHANGE;

static const char no_sizes[] = "the file does not say how much it exchanges";

/* The kind of an exchange by the name that a communicator gives it, in whatever way it writes that:
 * "_allgather_base", "all_gather"; LL_OP_COUNT: it only waits, or nobody knows it. */
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
                 {"recv", LL_OP_RECEIVE},
                 {"barrier", LL_OP_BARRIER}};
    char plain[32] = "";
    size_t length = 0;
    for (; *name && length + 1 < sizeof plain; name++)
        if (*name != '_')
            plain[length++] = *name;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strncmp(plain, kinds[i].begins, strlen(kinds[i].begins)) == 0)
            return kinds[i].kind;
    return LL_OP_COUNT;
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

/* The next note of a communicator below the call, from place *at on; NULL: there is none. */
static const struct ll_torch_exchange *next_note(const struct ll_aten *call, uint64_t *at)
{
    while (++*at <= call->below_count) {
        const struct ll_torch_node *node = call->node + *at;
        if (node->thread == call->node->thread && node->exchange &&
            (!node->exchange->name || kind_of(node->exchange->name) != LL_OP_COUNT))
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
    const char *library = strchr(call->node->name, ':');
    if (!told && library && kind_of(library + 1) != LL_OP_COUNT)
        return tensor ? record_tensors(call, kind_of(library + 1), NULL, 0, 0) : no_sizes;
    if (!told)
        return NULL;
    if (!told->name)
        return tensor && ll_elements(&tensor->shape) > 0 ? "the file does not say which exchange it is"
                                                         : NULL;
    enum ll_op_kind kind = kind_of(told->name);
    if (kind == LL_OP_COUNT)
        return NULL;
    bool sized = told->read_elements > 0 || told->written_elements > 0 || kind == LL_OP_BARRIER;
    if (sized)
        return record_exchange(call, kind, told, noted(told));
    return tensor ? record_tensors(call, kind, told, 0, 0) : no_sizes;
}
