/* SPDX-License-Identifier: Apache-2.0 */
/* First what crosses to and from the piece is listed, each tensor once for each piece that reads it: by early
 * readers at once when it is made, where only updates read it when updating begins. Then the trace is written
 * anew: ops of the piece, before each of them what it reads. What comes from another piece is received in the
 * order in which that one made it, so both programs agree on the order. */
#include "sim/parallel/cut.h"

#include "sim/parallel/pieces.h"
#include "tracer/transform/rewrite.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct transfer {
    uint32_t tensor, from, to; /* pieces */
    uint32_t made;             /* op */
    enum ll_phase phase;       /* in which it is sent and received */
    bool sent;
};

struct list {
    struct transfer *at;
    uint64_t count, capacity;
};

/* What one piece sends in one phase: neighbours in the list of what comes in. */
struct row {
    uint64_t next, end; /* the next to be received; behind the last */
};

struct cutting {
    const struct ll_trace *trace;
    const struct ll_cut *cut;
    struct ll_pieces pieces;
    struct ll_rewrite rewrite;
    struct list in, out; /* by sender, phase and tensor; by tensor and receiver */
    uint32_t *in_at;     /* by tensor: its place in `in` */
    struct row *rows;    /* of `in` */
    uint32_t *row_of;    /* by place in `in` */
    uint32_t row_count;
    bool *is_read; /* by tensor */
    uint32_t step;
    bool backward, updating; /* in this step backward ops have been; after them updates, too */
};

static const struct ll_form *form_of(const struct cutting *c, uint32_t op)
{
    return &c->trace->forms[c->trace->ops[op].form];
}

/* What crosses. */

static bool add_transfer(struct list *list, const struct transfer *transfer)
{
    if (!ll_grow(&list->at, &list->capacity, list->count + 1, sizeof *list->at))
        return false;
    list->at[list->count++] = *transfer;
    return true;
}

static const struct ll_tie *tie_summed_by(const struct cutting *c, uint32_t op)
{
    for (uint32_t i = 0; i < c->pieces.tie_count; i++)
        if (c->pieces.ties[i].sum == op)
            return &c->pieces.ties[i];
    return NULL;
}

/* What is made for others soon goes when it is made. What only an update reads goes once a step: as it is,
 * before replicas exchange it, or as an update has made it. */
static enum ll_phase phase_of(const struct cutting *c, uint32_t made, uint32_t read)
{
    enum ll_phase making = form_of(c, made)->phase;
    if (form_of(c, read)->phase != LL_PHASE_UPDATE)
        return making;
    return making == LL_PHASE_UPDATE || tie_summed_by(c, made) ? LL_PHASE_UPDATE : LL_PHASE_COMM;
}

/* A piece's op reads a tensor: listed if it crosses and we send or receive it. */
static bool list_reading(struct cutting *c, uint32_t piece, uint32_t op, uint32_t tensor)
{
    uint32_t self = (uint32_t)c->cut->piece;
    tensor = ll_piece_source(c->trace, &c->pieces, piece, tensor);
    uint32_t from = ll_piece_sender(c->trace, &c->pieces, piece, tensor);
    if (from == LL_NONE || (from != self && piece != self))
        return true;
    uint32_t made = c->trace->tensors[tensor].producer;
    const struct transfer transfer = {tensor, from, piece, made, phase_of(c, made, op), false};
    return add_transfer(piece == self ? &c->in : &c->out, &transfer);
}

/* What the op reads, on each piece that runs it. */
static bool list_op(struct cutting *c, uint32_t op)
{
    uint32_t tie = c->pieces.tie_of[op], first = tie == LL_NONE ? c->pieces.piece_of[op] : 0;
    uint32_t end = tie == LL_NONE ? first + 1 : c->pieces.count;
    if (first == LL_NONE || tie_summed_by(c, op))
        return true;
    for (uint32_t i = 0; i < form_of(c, op)->view.input_count; i++)
        for (uint32_t piece = first; piece < end; piece++)
            if (ll_piece_runs(&c->pieces, piece, op) &&
                !list_reading(c, piece, op, ll_op_input(c->trace, op, i)))
                return false;
    return true;
}

static int compare_numbers(uint64_t a, uint64_t b)
{
    return a < b ? -1 : a > b;
}

/* Of equals those read early come first: theirs is the phase that counts. */
static int by_tensor(const void *left, const void *right)
{
    const struct transfer *a = left, *b = right;
    int order = compare_numbers(a->tensor, b->tensor);
    order = order ? order : compare_numbers(a->to, b->to);
    return order ? order : compare_numbers(a->phase, b->phase);
}

static int by_sender(const void *left, const void *right)
{
    const struct transfer *a = left, *b = right;
    int order = compare_numbers(a->from, b->from);
    order = order ? order : compare_numbers(a->phase, b->phase);
    return order ? order : compare_numbers(a->tensor, b->tensor);
}

/* Each tensor once for each reader. */
static void settle(struct list *list)
{
    uint64_t kept = 0;
    if (list->count == 0)
        return;
    qsort(list->at, list->count, sizeof *list->at, by_tensor);
    for (uint64_t i = 0; i < list->count; i++)
        if (i == 0 || list->at[i].tensor != list->at[kept - 1].tensor ||
            list->at[i].to != list->at[kept - 1].to)
            list->at[kept++] = list->at[i];
    list->count = kept;
}

static bool same_row(const struct transfer *a, const struct transfer *b)
{
    return a->from == b->from && a->phase == b->phase;
}

static bool list_transfers(struct cutting *c)
{
    for (uint32_t op = 0; op < c->trace->op_count; op++)
        if (!list_op(c, op))
            return false;
    settle(&c->in);
    settle(&c->out);
    if (c->in.count)
        qsort(c->in.at, c->in.count, sizeof *c->in.at, by_sender);
    c->in_at = ll_alloc(&c->rewrite.arena, c->trace->tensor_count + 1, sizeof *c->in_at);
    c->rows = ll_alloc(&c->rewrite.arena, c->in.count + 1, sizeof *c->rows);
    c->row_of = ll_alloc(&c->rewrite.arena, c->in.count + 1, sizeof *c->row_of);
    c->is_read = ll_alloc(&c->rewrite.arena, c->trace->tensor_count + 1, sizeof *c->is_read);
    if (!c->in_at || !c->rows || !c->row_of || !c->is_read)
        return false;
    memset(c->in_at, 0xff, c->trace->tensor_count * sizeof *c->in_at);
    for (uint64_t i = 0; i < c->in.count; i++) {
        c->in_at[c->in.at[i].tensor] = (uint32_t)i;
        if (i == 0 || !same_row(&c->in.at[i - 1], &c->in.at[i]))
            c->rows[c->row_count++].next = i;
        c->row_of[i] = c->row_count - 1;
        c->rows[c->row_count - 1].end = i + 1;
    }
    for (uint32_t op = 0; op < c->trace->op_count; op++)
        for (uint32_t i = 0; i < form_of(c, op)->view.input_count; i++)
            c->is_read[ll_op_input(c->trace, op, i)] = true;
    return true;
}

/* Writing. */

static int64_t distance_to(const struct cutting *c, uint32_t piece)
{
    int64_t here = (int64_t)(c->cut->piece % c->cut->stages), there = (int64_t)(piece % c->cut->stages);
    return (there - here) * (int64_t)c->cut->distance;
}

static void receive(struct cutting *c, const struct transfer *transfer)
{
    const struct ll_attr peer = {.key = LL_ATTR_PEER, .count = distance_to(c, transfer->from)};
    uint32_t desc = ll_rewrite_desc(&c->rewrite, c->trace->tensors[transfer->tensor].desc);
    const struct ll_record record = {.kind = LL_OP_RECEIVE,
                                     .phase = transfer->phase,
                                     .scope =
                                         ll_rewrite_string(&c->rewrite, form_of(c, transfer->made)->scope),
                                     .outputs = &desc,
                                     .output_count = 1,
                                     .attrs = &peer,
                                     .attr_count = 1};
    ll_rewrite_redirect(&c->rewrite, transfer->tensor, ll_rewrite_add(&c->rewrite, &record));
}

/* All of a sender and phase up to this one. */
static void receive_up_to(struct cutting *c, uint64_t place)
{
    for (struct row *row = &c->rows[c->row_of[place]]; row->next <= place; row->next++)
        receive(c, &c->in.at[row->next]);
}

/* Everything that was made going forward in this step, before the piece goes backward; of a row, what comes
 * earlier was made earlier. */
static void receive_forward(struct cutting *c, uint32_t before_op)
{
    for (struct row *row = c->rows; row < c->rows + c->row_count; row++)
        for (; row->next < row->end; row->next++) {
            const struct transfer *transfer = &c->in.at[row->next];
            if (transfer->phase != LL_PHASE_FORWARD || transfer->made >= before_op)
                break;
            receive(c, transfer);
        }
}

static uint32_t here(struct cutting *c, uint32_t tensor);

/* The piece's own terms of a gradient, and then all pieces' by an exchange. */
static void add_tied(struct cutting *c, const struct ll_tie *tie)
{
    const struct ll_form *form = form_of(c, tie->sum);
    uint32_t count = 0, *terms = ll_alloc(&c->rewrite.arena, form->view.input_count, sizeof *terms);
    uint32_t desc = ll_rewrite_desc(&c->rewrite, form->outputs[0]);
    uint32_t scope = ll_rewrite_string(&c->rewrite, form->scope);
    if (!terms) {
        ll_rewrite_trouble(&c->rewrite, "memory ran out");
        return;
    }
    for (uint32_t i = 0; i < form->view.input_count; i++) {
        uint32_t tensor = ll_op_input(c->trace, tie->sum, i);
        if (c->pieces.piece_of[c->trace->tensors[tensor].producer] == c->cut->piece)
            terms[count++] = here(c, tensor);
    }
    if (count > 1)
        terms[0] = ll_rewrite_add(&c->rewrite, &(struct ll_record){.kind = LL_OP_ADD_N,
                                                                   .phase = LL_PHASE_UPDATE,
                                                                   .scope = scope,
                                                                   .inputs = terms,
                                                                   .input_count = count,
                                                                   .outputs = &desc,
                                                                   .output_count = 1});
    struct ll_apart apart = ll_tie_apart(c->trace, &c->pieces, tie);
    const struct ll_exchange_place place = {scope, LL_PHASE_UPDATE, apart.stages,
                                            apart.stride * c->cut->distance};
    uint32_t sum = ll_rewrite_exchange(&c->rewrite, LL_OP_ALL_REDUCE, terms[0], desc, &place);
    ll_rewrite_redirect(&c->rewrite, tie->first_output, sum);
}

/* What every piece makes for itself, views included: with what it reads. */
static void make_here(struct cutting *c, uint32_t op)
{
    for (uint32_t i = 0; i < form_of(c, op)->view.input_count; i++)
        here(c, ll_op_input(c->trace, op, i));
    ll_rewrite_keep(&c->rewrite, op);
}

/* Sees to it that a tensor is in the piece. Its new number. */
static uint32_t here(struct cutting *c, uint32_t tensor)
{
    uint32_t made = c->trace->tensors[tensor].producer, now = ll_rewrite_tensor(&c->rewrite, tensor);
    if (c->rewrite.trouble || now != LL_NONE)
        return now;
    const struct ll_tie *tie = tie_summed_by(c, made);
    if (c->in_at[tensor] != LL_NONE)
        receive_up_to(c, c->in_at[tensor]);
    else if (tie)
        add_tied(c, tie);
    else
        make_here(c, made);
    return ll_rewrite_tensor(&c->rewrite, tensor);
}

static void send(struct cutting *c, struct transfer *transfer)
{
    const struct ll_attr attrs[] = {{.key = LL_ATTR_PEER, .count = distance_to(c, transfer->to)},
                                    {.key = LL_ATTR_IN_PLACE, .count = 0}};
    if (transfer->sent)
        return;
    transfer->sent = true;
    uint32_t tensor = here(c, transfer->tensor);
    uint32_t desc = ll_rewrite_desc(&c->rewrite, c->trace->tensors[transfer->tensor].desc);
    ll_rewrite_add(&c->rewrite, &(struct ll_record){.kind = LL_OP_SEND,
                                                    .phase = transfer->phase,
                                                    .scope = ll_rewrite_string(
                                                        &c->rewrite, form_of(c, transfer->made)->scope),
                                                    .inputs = &tensor,
                                                    .input_count = 1,
                                                    .outputs = &desc,
                                                    .output_count = 1,
                                                    .attrs = attrs,
                                                    .attr_count = 2});
}

/* What was just made and others read soon. */
static void send_made(struct cutting *c, uint32_t op)
{
    uint64_t low = 0, high = c->out.count;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        if (c->out.at[middle].made < op)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < c->out.count && c->out.at[low].made == op; low++)
        if (c->out.at[low].phase == form_of(c, op)->phase)
            send(c, &c->out.at[low]);
}

/* What only updates read is sent, and gradients of tied weights are added: nothing of it waits for others'
 * updates. */
static void begin_updates(struct cutting *c, uint32_t before_op)
{
    for (uint64_t i = 0; i < c->out.count && c->out.at[i].made < before_op; i++)
        if (c->out.at[i].phase == LL_PHASE_COMM)
            send(c, &c->out.at[i]);
    for (uint64_t i = 0; i < c->out.count && c->out.at[i].made < before_op; i++)
        if (c->out.at[i].phase == LL_PHASE_UPDATE)
            send(c, &c->out.at[i]);
    for (uint32_t i = 0; i < c->pieces.tie_count; i++) {
        const struct ll_tie *tie = &c->pieces.ties[i];
        if (tie->sum < before_op && ll_piece_adds(c->trace, &c->pieces, tie, (uint32_t)c->cut->piece))
            here(c, tie->first_output);
    }
    c->updating = true;
}

static void follow_phase(struct cutting *c, uint32_t op)
{
    enum ll_phase phase = form_of(c, op)->phase;
    ll_rewrite_step(&c->rewrite, op);
    if (c->trace->ops[op].step != c->step)
        c->backward = c->updating = false;
    c->step = c->trace->ops[op].step;
    if (phase == LL_PHASE_BACKWARD && !c->backward) {
        receive_forward(c, op);
        c->backward = true;
    }
    if (phase == LL_PHASE_UPDATE && c->backward && !c->updating)
        begin_updates(c, op);
}

/* What nobody reads and nobody owns is done once: by the first piece. */
static bool is_left_over(const struct cutting *c, uint32_t op)
{
    bool read = c->pieces.piece_of[op] != LL_NONE || c->pieces.tie_of[op] != LL_NONE || c->cut->piece != 0;
    for (uint32_t i = 0; i < form_of(c, op)->view.output_count; i++)
        read |= c->is_read[ll_op_output(c->trace, op, i)];
    return !read;
}

static void write_op(struct cutting *c, uint32_t op)
{
    bool left_over = is_left_over(c, op);
    if (tie_summed_by(c, op) || (!left_over && !ll_piece_runs(&c->pieces, (uint32_t)c->cut->piece, op)))
        return;
    if (!left_over)
        follow_phase(c, op);
    make_here(c, op);
    send_made(c, op);
}

static const char *prepare(struct cutting *c, struct ll_arena *arena)
{
    uint64_t count = ll_mul(c->cut->stages, c->cut->chunks);
    if (count > UINT32_MAX / 2)
        return "there are fewer layers than pieces";
    return ll_pieces_find(c->trace, (uint32_t)count, (uint32_t)c->cut->stages, arena, &c->pieces);
}

struct ll_trace *ll_cut(const struct ll_trace *trace, const struct ll_cut *cut, const char **trouble)
{
    struct cutting c = {.trace = trace, .cut = cut, .step = LL_NONE};
    struct ll_arena arena = {0};
    const char *refusal = prepare(&c, &arena);
    const char *piece =
        ll_format(&arena, "%" PRIu64 " of %" PRIu64, cut->piece + 1, cut->stages * cut->chunks);
    ll_rewrite_begin(&c.rewrite, trace, &(struct ll_fact){"piece", piece ? piece : ""}, 1);
    if (refusal)
        ll_rewrite_trouble(&c.rewrite, refusal);
    else if (!list_transfers(&c))
        ll_rewrite_trouble(&c.rewrite, ll_status_text(LL_NO_MEMORY));
    for (uint32_t op = 0; op < trace->op_count && !c.rewrite.trouble; op++)
        write_op(&c, op);
    if (!c.rewrite.trouble)
        begin_updates(&c, (uint32_t)trace->op_count);
    struct ll_trace *new = ll_rewrite_end(&c.rewrite, trouble);
    free(c.in.at);
    free(c.out.at);
    ll_arena_release(&arena);
    return new;
}
