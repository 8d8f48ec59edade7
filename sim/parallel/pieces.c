/* SPDX-License-Identifier: Apache-2.0 */
/* Tensor-parallel exchanges beside the GEMMs that wait for them, or for which they wait, piece by piece: what
 * is gathered goes around a ring while the GEMM of the piece before goes on; what is scattered leaves as soon
 * as a part of the GEMM has made it (Wang et al., Overlap communication with dependent computation via
 * decomposition in large deep learning models, ASPLOS 2023; Transformer Engine, module/base.py,
 * initialize_ub).
 */
#include "sim/parallel/framework.h"

#include <assert.h>
#include <string.h>

#include "sim/parallel/exchange.h"
#include "tracer/transform/rewrite.h"

enum { SPLITS = 4 }; /* of a GEMM before a reduce_scatter (Transformer Engine's num_splits) */

struct cutting {
    const struct ll_trace *trace;
    const struct ll_parallel *plan;
    struct ll_rewrite rewrite;
    uint32_t *partner; /* by op: the GEMM of an exchange, the exchange of a GEMM; LL_NONE: neither */
    bool *beside;      /* by op: an exchange beside which something else goes on as a whole */
    bool *late;        /* by op: another look at what is gathered, for the GEMM that reads it in pieces */
    uint32_t *readers; /* by tensor: how many inputs it is */
    uint32_t **pieces; /* by old tensor: what it is in pieces, of the new trace; NULL: it is whole */
};

static const struct ll_op_signature *signature_of(const struct cutting *c, uint32_t op)
{
    return &c->trace->signatures[c->trace->ops[op].signature];
}

static bool is_exchange(const struct cutting *c, uint32_t op, enum ll_op_kind kind)
{
    const struct ll_op_signature *signature = signature_of(c, op);
    const struct ll_op_view *view = &signature->view;
    return view->kind == kind && view->input_count == 1 && view->output_count == 1 &&
           (signature->phase == LL_PHASE_FORWARD || signature->phase == LL_PHASE_BACKWARD) &&
           ll_attr_count(view, LL_ATTR_DEVICES, 0) == (int64_t)c->plan->tensor &&
           ll_attr_count(view, LL_ATTR_STRIDE, 1) == 1;
}

static bool is_weight(const struct cutting *c, uint32_t tensor)
{
    const uint32_t memory = c->trace->descs[c->trace->tensors[tensor].desc].memory;
    return memory == LL_WEIGHT || memory == LL_WORKSPACE;
}

/* A GEMM of rows with a weight. */
static bool is_of_weight(const struct cutting *c, uint32_t op)
{
    const struct ll_op_view *view = &signature_of(c, op)->view;
    return view->kind == LL_OP_MATMUL && view->input_count == 2 && view->in[0].rank == 2 &&
           ll_attr_count(view, LL_ATTR_TRANSPOSE_A, 0) == 0 && is_weight(c, ll_op_input(c->trace, op, 1)) &&
           !is_weight(c, ll_op_input(c->trace, op, 0));
}

/* What a tensor is another look at, and the other way round, as long as nobody else reads it. */
static uint32_t seen_from(const struct cutting *c, uint32_t tensor)
{
    uint32_t op = c->trace->tensors[tensor].producer;
    while (op != LL_NONE && signature_of(c, op)->view.kind == LL_OP_RESHAPE) {
        tensor = ll_op_input(c->trace, op, 0);
        op = c->trace->tensors[tensor].producer;
    }
    return tensor;
}

/* Rows of a matrix, or of what is seen as one: all dimensions but the last. */
static uint64_t rows_of(const struct ll_shape *shape)
{
    return shape->rank > 0 && shape->dim[shape->rank - 1] > 0
               ? ll_elements(shape) / shape->dim[shape->rank - 1]
               : 0;
}

/* Whether a tensor is seen by a GEMM as it is, line by line. */
static bool same_lines(const struct ll_shape *tensor, const struct ll_shape *matrix)
{
    return tensor->rank > 0 && tensor->dim[tensor->rank - 1] == matrix->dim[1] &&
           rows_of(tensor) == matrix->dim[0];
}

static void pair_up(struct cutting *c, uint32_t gemm, uint32_t exchange)
{
    c->partner[exchange] = gemm;
    c->partner[gemm] = exchange;
}

/* Whether nobody but the GEMM, by looks of its own, reads what is gathered before the GEMM does. */
static bool is_first_reader(const struct cutting *c, uint32_t gather, uint32_t gemm)
{
    const uint32_t whole = ll_op_output(c->trace, gather, 0);
    uint32_t look = ll_op_input(c->trace, gemm, 0);
    for (uint32_t op = gather + 1; op < gemm; op++)
        for (uint32_t i = 0; i < signature_of(c, op)->view.input_count; i++)
            if (seen_from(c, ll_op_input(c->trace, op, i)) == whole &&
                signature_of(c, op)->view.kind != LL_OP_RESHAPE)
                return false;
    for (; look != whole; look = ll_op_input(c->trace, c->trace->tensors[look].producer, 0))
        if (c->trace->tensors[look].producer < gather)
            return false;
    return true;
}

/* A GEMM that reads what was just gathered, in pieces that come out even. */
static void find_gather(struct cutting *c, uint32_t op)
{
    const struct ll_op_view *view = &signature_of(c, op)->view;
    const uint32_t gather = c->trace->tensors[seen_from(c, ll_op_input(c->trace, op, 0))].producer;
    if (gather != LL_NONE && c->partner[gather] == LL_NONE && is_exchange(c, gather, LL_OP_ALL_GATHER) &&
        view->in[0].dim[0] % c->plan->tensor == 0 &&
        same_lines(&signature_of(c, gather)->view.out[0], &view->in[0]) && is_first_reader(c, gather, op)) {
        pair_up(c, op, gather);
        for (uint32_t look = gather + 1; look < op; look++) {
            const struct ll_op_view *other = &signature_of(c, look)->view;
            c->late[look] |= other->kind == LL_OP_RESHAPE && seen_from(c, ll_op_input(c->trace, look, 0)) ==
                                                                 ll_op_output(c->trace, gather, 0);
        }
    }
}

/* A GEMM of the forward pass that makes what is scattered next, and nothing else. */
static void find_scattered(struct cutting *c, uint32_t op)
{
    const struct ll_op_signature *signature = signature_of(c, op);
    const uint32_t made = seen_from(c, ll_op_input(c->trace, op, 0)), gemm = c->trace->tensors[made].producer;
    if (signature->phase == LL_PHASE_FORWARD && gemm != LL_NONE && c->readers[made] == 1 &&
        c->partner[gemm] == LL_NONE && is_of_weight(c, gemm) &&
        rows_of(&signature->view.in[0]) % (SPLITS * c->plan->tensor) == 0 &&
        same_lines(&signature->view.in[0], &signature_of(c, gemm)->view.out[0]))
        pair_up(c, gemm, op);
}

static void find_partners(struct cutting *c)
{
    for (uint32_t op = 0; op < c->trace->op_count; op++)
        if (is_of_weight(c, op))
            find_gather(c, op);
        else if (is_exchange(c, op, LL_OP_REDUCE_SCATTER))
            find_scattered(c, op);
}

/* Exchanges that go on as a whole beside a GEMM that does not wait for them: of what only the gradient of a
 * weight reads, and of the gradient of what was read, which the next layer waits for. */
static void find_beside(struct cutting *c)
{
    for (uint32_t op = 0; op < c->trace->op_count; op++)
        c->beside[op] = c->partner[op] == LL_NONE && signature_of(c, op)->phase == LL_PHASE_BACKWARD &&
                        (is_exchange(c, op, LL_OP_ALL_GATHER) || is_exchange(c, op, LL_OP_REDUCE_SCATTER));
}

static uint32_t add(struct cutting *c, uint32_t op, enum ll_op_kind kind, const uint32_t *inputs,
                    uint32_t count, uint32_t desc)
{
    const struct ll_op_signature *signature = signature_of(c, op);
    return ll_rewrite_add(&c->rewrite,
                          &(struct ll_record){.kind = kind,
                                              .phase = signature->phase,
                                              .scope = ll_rewrite_string(&c->rewrite, signature->scope),
                                              .inputs = inputs,
                                              .input_count = count,
                                              .outputs = &desc,
                                              .output_count = 1});
}

/* A desc with 1 / parts of the rows, as a matrix. */
static uint32_t desc_of_rows(struct cutting *c, uint32_t tensor, uint64_t parts)
{
    const struct ll_tensor_desc *old = &c->trace->descs[c->trace->tensors[tensor].desc];
    struct ll_shape shape = {.dtype = old->shape.dtype, .scales = old->shape.scales, .rank = 2};
    shape.dim[0] = rows_of(&old->shape) / parts;
    shape.dim[1] = old->shape.dim[old->shape.rank - 1];
    return ll_rewrite_new_desc(&c->rewrite, c->trace->strings[old->name], &shape,
                               (enum ll_memory_class)old->memory);
}

static uint32_t exchange(struct cutting *c, uint32_t op, enum ll_op_kind kind, uint32_t from, uint32_t desc,
                         int64_t piece)
{
    const struct ll_op_signature *signature = signature_of(c, op);
    const struct ll_attr attrs[] = {{.key = LL_ATTR_DEVICES, .count = (int64_t)c->plan->tensor},
                                    {.key = LL_ATTR_STRIDE, .count = 1},
                                    {.key = LL_ATTR_PIECE, .count = piece}};
    return ll_rewrite_add(&c->rewrite,
                          &(struct ll_record){.kind = kind,
                                              .phase = signature->phase,
                                              .scope = ll_rewrite_string(&c->rewrite, signature->scope),
                                              .inputs = &from,
                                              .input_count = 1,
                                              .outputs = &desc,
                                              .output_count = 1,
                                              .attrs = attrs,
                                              .attr_count = 3});
}

static uint32_t *room(struct cutting *c, uint64_t count)
{
    uint32_t *list = ll_alloc(&c->rewrite.arena, count, sizeof *list);
    if (!list)
        ll_rewrite_trouble(&c->rewrite, ll_status_text(LL_NO_MEMORY));
    return list;
}

/* Each device has its own rows and gets those of the next ones in turn, from its neighbour. */
static void gather_around(struct cutting *c, uint32_t op)
{
    const uint64_t devices = c->plan->tensor;
    const uint32_t whole = ll_op_output(c->trace, op, 0);
    uint32_t *pieces = room(c, devices);
    ll_rewrite_step(&c->rewrite, op);
    if (!pieces)
        return;
    const uint32_t own = ll_rewrite_tensor(&c->rewrite, ll_op_input(c->trace, op, 0));
    pieces[0] = add(c, op, LL_OP_SEEN_AS, &own, 1, desc_of_rows(c, whole, devices));
    for (uint64_t i = 1; i < devices && !c->rewrite.trouble; i++)
        pieces[i] =
            exchange(c, op, LL_OP_SHIFT, pieces[i - 1], desc_of_rows(c, whole, devices), LL_PIECE_COPIED);
    c->pieces[whole] = pieces;
    c->rewrite.ops[op] = c->rewrite.op_count - 1;
}

/* Pieces are seen as what they are of. */
static void join(struct cutting *c, uint32_t op, uint32_t tensor, const uint32_t *pieces, uint64_t count)
{
    const uint32_t desc = ll_rewrite_desc(&c->rewrite, c->trace->tensors[tensor].desc);
    const uint32_t joined = add(c, op, LL_OP_SEEN_AS, pieces, (uint32_t)count, desc);
    if (joined != LL_NONE)
        ll_rewrite_redirect(&c->rewrite, tensor, joined);
}

/* A GEMM of each piece, and with `scattered` its exchange behind it. */
static void multiply_pieces(struct cutting *c, uint32_t op, const uint32_t *pieces, uint64_t count,
                            uint32_t *scattered)
{
    const uint32_t whole = ll_op_output(c->trace, op, 0);
    uint32_t *made = room(c, count);
    struct ll_record record;
    if (!made || !ll_rewrite_record(&c->rewrite, op, &record))
        return;
    const uint32_t weight = c->rewrite.refs[1];
    for (uint64_t i = 0; i < count && !c->rewrite.trouble; i++) {
        const uint32_t inputs[] = {pieces[i], weight}, desc = desc_of_rows(c, whole, count);
        record.inputs = inputs;
        record.outputs = &desc;
        made[i] = ll_rewrite_add(&c->rewrite, &record);
        if (scattered)
            scattered[i] =
                exchange(c, c->partner[op], LL_OP_REDUCE_SCATTER, made[i],
                         desc_of_rows(c, ll_op_output(c->trace, c->partner[op], 0), count), LL_PIECE_SENT);
    }
    if (c->rewrite.trouble)
        return;
    join(c, op, whole, made, count);
    c->rewrite.ops[op] = c->rewrite.op_count - 1;
}

/* What others see of what is gathered comes behind. */
static void multiply_gathered(struct cutting *c, uint32_t op)
{
    const uint32_t gather = c->partner[op], whole = ll_op_output(c->trace, gather, 0);
    ll_rewrite_redirect(&c->rewrite, ll_op_input(c->trace, op, 0), c->pieces[whole][0]); /* not read itself */
    multiply_pieces(c, op, c->pieces[whole], c->plan->tensor, NULL);
    join(c, op, whole, c->pieces[whole], c->plan->tensor);
    for (uint32_t look = gather + 1; look < op && !c->rewrite.trouble; look++)
        if (c->late[look] && seen_from(c, ll_op_input(c->trace, look, 0)) == whole)
            ll_rewrite_keep(&c->rewrite, look);
}

static void multiply_to_scatter(struct cutting *c, uint32_t op)
{
    const uint32_t from = ll_op_input(c->trace, op, 0), whole = ll_op_output(c->trace, op, 0),
                   tensor = ll_rewrite_tensor(&c->rewrite, from);
    uint32_t *pieces = room(c, SPLITS), *parts = room(c, SPLITS);
    ll_rewrite_step(&c->rewrite, op);
    for (uint64_t i = 0; pieces && i < SPLITS; i++)
        pieces[i] = add(c, op, LL_OP_SEEN_AS, &tensor, 1, desc_of_rows(c, from, SPLITS));
    if (pieces && parts)
        multiply_pieces(c, op, pieces, SPLITS, parts);
    c->pieces[whole] = parts;
}

static void join_scattered(struct cutting *c, uint32_t op)
{
    const uint32_t *parts = c->pieces[ll_op_output(c->trace, c->partner[op], 0)];
    ll_rewrite_step(&c->rewrite, op);
    if (!c->rewrite.trouble)
        join(c, op, ll_op_output(c->trace, op, 0), parts, SPLITS);
    c->rewrite.ops[op] = c->rewrite.op_count - 1;
}

static void put_beside(struct cutting *c, uint32_t op)
{
    struct ll_record record;
    if (!ll_rewrite_record(&c->rewrite, op, &record))
        return;
    if (record.attr_count == LL_MAX_ATTRS) {
        ll_rewrite_trouble(&c->rewrite, "an exchange has no room for another attribute");
        return;
    }
    c->rewrite.attrs[record.attr_count++] = (struct ll_attr){.key = LL_ATTR_PIECE, .count = LL_PIECE_SENT};
    ll_rewrite_put(&c->rewrite, op, &record);
}

static void cut(struct cutting *c, uint32_t op)
{
    const bool gemm = is_of_weight(c, op), paired = c->partner[op] != LL_NONE;
    if (paired && gemm && is_exchange(c, c->partner[op], LL_OP_ALL_GATHER))
        multiply_gathered(c, op);
    else if (paired && gemm)
        multiply_to_scatter(c, op);
    else if (paired && is_exchange(c, op, LL_OP_ALL_GATHER))
        gather_around(c, op);
    else if (paired)
        join_scattered(c, op);
    else if (c->beside[op])
        put_beside(c, op);
    else if (!c->late[op])
        ll_rewrite_keep(&c->rewrite, op);
}

static bool begin(struct cutting *c)
{
    struct ll_arena *arena = &c->rewrite.arena;
    const uint64_t ops = c->trace->op_count + 1, tensors = c->trace->tensor_count + 1;
    c->partner = ll_alloc(arena, ops, sizeof *c->partner);
    c->beside = ll_alloc(arena, ops, sizeof *c->beside);
    c->late = ll_alloc(arena, ops, sizeof *c->late);
    c->readers = ll_alloc(arena, tensors, sizeof *c->readers);
    c->pieces = ll_alloc(arena, tensors, sizeof *c->pieces);
    if (!c->partner || !c->beside || !c->late || !c->readers || !c->pieces)
        return false;
    memset(c->partner, 0xff, ops * sizeof *c->partner);
    for (uint32_t op = 0; op < c->trace->op_count; op++)
        for (uint32_t i = 0; i < signature_of(c, op)->view.input_count; i++)
            c->readers[ll_op_input(c->trace, op, i)]++;
    return true;
}

struct ll_trace *ll_cut_exchanges(const struct ll_trace *trace, const struct ll_parallel *plan,
                                  const char **trouble)
{
    assert(plan->tensor > 1);
    struct cutting c = {.trace = trace, .plan = plan};
    ll_rewrite_begin(&c.rewrite, trace, NULL, 0);
    if (begin(&c)) {
        find_partners(&c);
        find_beside(&c);
    } else {
        ll_rewrite_trouble(&c.rewrite, ll_status_text(LL_NO_MEMORY));
    }
    for (uint32_t op = 0; op < trace->op_count && !c.rewrite.trouble; op++)
        cut(&c, op);
    return ll_rewrite_end(&c.rewrite, trouble);
}
