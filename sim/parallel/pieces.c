/* SPDX-License-Identifier: Apache-2.0 */
/* Layers are divided among pieces; ops follow their layers; ties are found among the weights. */
#include "sim/parallel/pieces.h"

#include "sim/parallel/layers.h"
#include "tracer/ir/trace.h"

#include <string.h>

static bool all_equal(const uint64_t *loads, uint32_t count)
{
    for (uint32_t i = 1; i < count; i++)
        if (loads[i] != loads[0])
            return false;
    return true;
}

/* How many parts it takes if none may exceed the limit, leaving at least one load for each part to come. */
static uint32_t fill(const uint64_t *totals, uint32_t count, uint32_t parts, uint64_t limit,
                     uint32_t *part_of)
{
    uint32_t part = 0;
    uint64_t sum = 0;
    for (uint32_t i = 0; i < count; i++) {
        bool must = count - i < parts - part && i > 0; /* one part for each that is left */
        if (i > 0 && (must || ll_add(sum, totals[i]) > limit)) {
            part++;
            sum = 0;
        }
        sum = ll_add(sum, totals[i]);
        part_of[i] = part;
    }
    return part + 1;
}

void ll_divide(const uint64_t *loads, const uint64_t *totals, uint32_t count, uint32_t parts,
               uint32_t *part_of)
{
    uint64_t low = 0, high = 0;
    for (uint32_t i = 0; i < count; i++) {
        low = ll_max(low, totals[i]);
        high = ll_add(high, totals[i]);
    }
    if (all_equal(loads, count)) {
        uint32_t each = count / parts, longer = count % parts, in_longer = longer * (each + 1);
        for (uint32_t i = 0; i < count; i++)
            part_of[i] = i < in_longer ? i / (each + 1) : longer + (i - in_longer) / each;
        return;
    }
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        if (fill(totals, count, parts, middle, part_of) <= parts)
            high = middle;
        else
            low = middle + 1;
    }
    fill(totals, count, parts, low, part_of);
}

struct finding {
    const struct ll_trace *trace;
    struct ll_arena *arena;
    struct ll_pieces *pieces;
    uint32_t *only;   /* by storage: the first piece that reads it as a weight */
    uint32_t *tie_at; /* by storage */
};

static const struct ll_form *form_of(const struct ll_trace *trace, uint32_t op)
{
    return &trace->forms[trace->ops[op].form];
}

static uint32_t *none(struct ll_arena *arena, uint64_t count)
{
    uint32_t *list = ll_alloc(arena, count + 1, sizeof *list);
    if (list)
        memset(list, 0xff, (count + 1) * sizeof *list);
    return list;
}

static const char *divide_layers(struct finding *f)
{
    struct ll_layers layers;
    struct ll_pieces *pieces = f->pieces;
    if (!ll_layers_find(f->trace, f->arena, &layers))
        return "memory ran out";
    if (layers.count < pieces->count)
        return "there are fewer layers than pieces";
    uint32_t *part_of = ll_alloc(f->arena, layers.count, sizeof *part_of);
    if (!part_of)
        return "memory ran out";
    ll_divide(layers.named_flops, layers.flops, layers.count, pieces->count, part_of);
    for (uint32_t op = 0; op < f->trace->op_count; op++)
        pieces->piece_of[op] = layers.owner[op] == LL_NONE ? LL_NONE : part_of[layers.owner[op]];
    return NULL;
}

static bool is_update(const struct ll_trace *trace, uint32_t op)
{
    return form_of(trace, op)->phase == LL_PHASE_UPDATE;
}

static bool is_gradient(const struct ll_trace *trace, uint32_t tensor)
{
    const struct ll_desc *desc = &trace->descs[trace->tensors[tensor].desc];
    return desc->memory == LL_GRADIENT && desc->shape.rank > 0 && trace->tensors[tensor].producer != LL_NONE;
}

/* Whatever is done to a gradient when updating is done where its weight is: from the update backward through
 * what makes its gradient, and then what else reads that (its norm). */
static bool bring_gradients_home(struct finding *f)
{
    const struct ll_trace *trace = f->trace;
    uint32_t *piece_of = f->pieces->piece_of, *home = none(f->arena, trace->tensor_count);
    for (uint64_t at = home ? trace->op_count : 0; at-- > 0;) {
        uint32_t op = (uint32_t)at;
        const struct ll_form *form = form_of(trace, op);
        bool updates = is_update(trace, op) && form->view.output_count > 0 && form->view.out[0].rank > 0;
        for (uint32_t i = 0; updates && piece_of[op] != LL_NONE && i < form->view.input_count; i++) {
            uint32_t tensor = ll_op_input(trace, op, i);
            if (!is_gradient(trace, tensor))
                continue;
            home[tensor] = piece_of[op];
            if (is_update(trace, trace->tensors[tensor].producer))
                piece_of[trace->tensors[tensor].producer] = piece_of[op];
        }
    }
    for (uint32_t op = 0; home && op < trace->op_count; op++)
        for (uint32_t i = 0; is_update(trace, op) && i < form_of(trace, op)->view.input_count; i++) {
            uint32_t tensor = ll_op_input(trace, op, i);
            bool sums =
                form_of(trace, op)->view.output_count > 0 && form_of(trace, op)->view.out[0].rank == 0;
            if (sums && home[tensor] != LL_NONE)
                piece_of[op] = home[tensor];
        }
    return home;
}

static bool find_views(struct finding *f)
{
    f->pieces->is_view = ll_views(f->trace, f->arena);
    return f->pieces->is_view;
}

/* A piece reads a weight: the second one to do so makes it a tie. */
static bool note_reader(struct finding *f, uint32_t storage, uint32_t piece)
{
    struct ll_pieces *pieces = f->pieces;
    if (f->only[storage] == LL_NONE)
        f->only[storage] = piece;
    if (f->tie_at[storage] == LL_NONE && f->only[storage] != piece) {
        struct ll_tie *tie = &pieces->ties[pieces->tie_count];
        *tie = (struct ll_tie){ll_alloc(f->arena, pieces->count, sizeof *tie->has), LL_NONE, LL_NONE};
        if (!tie->has)
            return false;
        tie->has[f->only[storage]] = true;
        f->tie_at[storage] = pieces->tie_count++;
    }
    if (f->tie_at[storage] != LL_NONE)
        pieces->ties[f->tie_at[storage]].has[piece] = true;
    return true;
}

static bool find_ties(struct finding *f)
{
    const struct ll_trace *trace = f->trace;
    f->only = none(f->arena, trace->storage_count);
    f->tie_at = none(f->arena, trace->storage_count);
    f->pieces->tie_of = none(f->arena, trace->op_count);
    f->pieces->ties = ll_alloc(f->arena, trace->storage_count + 1, sizeof *f->pieces->ties);
    if (!f->only || !f->tie_at || !f->pieces->tie_of || !f->pieces->ties)
        return false;
    for (uint32_t op = 0; op < trace->op_count; op++) {
        const struct ll_form *form = form_of(trace, op);
        uint32_t piece = f->pieces->piece_of[op];
        bool computes = form->phase == LL_PHASE_FORWARD || form->phase == LL_PHASE_BACKWARD;
        for (uint32_t i = 0; computes && piece != LL_NONE && i < form->view.input_count; i++) {
            const struct ll_tensor *tensor = &trace->tensors[ll_op_input(trace, op, i)];
            if (trace->descs[tensor->desc].memory == LL_WEIGHT && !note_reader(f, tensor->storage, piece))
                return false;
        }
    }
    return true;
}

/* Updates of a tied weight happen on all that have it. */
static void tie_updates(struct finding *f)
{
    for (uint32_t op = 0; op < f->trace->op_count; op++) {
        const struct ll_form *form = form_of(f->trace, op);
        for (uint32_t i = 0; form->phase == LL_PHASE_UPDATE && i < form->view.input_count; i++) {
            uint32_t tie = f->tie_at[f->trace->tensors[ll_op_input(f->trace, op, i)].storage];
            if (tie != LL_NONE)
                f->pieces->tie_of[op] = tie;
        }
    }
}

/* So does what is done to the gradient itself before, such as clipping. */
static void tie_what_updates_read(struct finding *f)
{
    const struct ll_trace *trace = f->trace;
    for (uint64_t at = trace->op_count; at-- > 0;) {
        uint32_t op = (uint32_t)at, tie = f->pieces->tie_of[op];
        const struct ll_form *form = form_of(trace, op);
        for (uint32_t i = 0; tie != LL_NONE && i < form->view.input_count; i++) {
            const struct ll_tensor *tensor = &trace->tensors[ll_op_input(trace, op, i)];
            const struct ll_desc *desc = &trace->descs[tensor->desc];
            if (tensor->producer != LL_NONE && desc->memory == LL_GRADIENT && desc->shape.rank > 0 &&
                form_of(trace, tensor->producer)->phase == LL_PHASE_UPDATE)
                f->pieces->tie_of[tensor->producer] = tie;
        }
    }
}

static bool is_sum(const struct ll_form *form)
{
    if (form->phase != LL_PHASE_BACKWARD || (form->view.kind != LL_OP_ADD && form->view.kind != LL_OP_ADD_N))
        return false;
    for (uint32_t i = 1; i < form->view.input_count; i++)
        if (memcmp(form->view.in[i].dim, form->view.in[0].dim, sizeof form->view.in[0].dim) != 0)
            return false;
    return form->view.input_count > 1;
}

struct ll_apart ll_tie_apart(const struct ll_trace *trace, const struct ll_pieces *pieces,
                             const struct ll_tie *tie)
{
    struct ll_apart apart = {0};
    uint32_t last = LL_NONE;
    bool even = true;
    for (uint32_t stage = 0; stage < pieces->stages; stage++)
        for (uint32_t piece = stage; piece < pieces->count; piece += pieces->stages) {
            if (!ll_piece_adds(trace, pieces, tie, piece))
                continue;
            uint32_t gap = last == LL_NONE ? 0 : stage - last;
            even &= apart.stages == 0 || (gap > 0 && (apart.stages == 1 || gap == apart.stride));
            apart.stride = gap;
            apart.stages++;
            last = stage;
        }
    if (!even)
        apart.stride = 0;
    return apart;
}

/* Whether all pieces that make terms have the weight, and an all_reduce could add them. */
static bool spans(const struct ll_trace *trace, const struct ll_pieces *pieces, const struct ll_tie *tie)
{
    for (uint32_t i = 0; i < form_of(trace, tie->sum)->view.input_count; i++) {
        uint32_t from = trace->tensors[ll_op_input(trace, tie->sum, i)].producer;
        uint32_t piece = from == LL_NONE ? LL_NONE : pieces->piece_of[from];
        if (piece == LL_NONE || !tie->has[piece])
            return false;
    }
    struct ll_apart apart = ll_tie_apart(trace, pieces, tie);
    return apart.stages > 1 && apart.stride > 0;
}

/* By op the tie whose updates read what it makes. */
static uint32_t *ties_fed(struct finding *f)
{
    const struct ll_trace *trace = f->trace;
    uint32_t *fed = none(f->arena, trace->op_count);
    for (uint32_t op = 0; fed && op < trace->op_count; op++)
        for (uint32_t i = 0; f->pieces->tie_of[op] != LL_NONE && i < form_of(trace, op)->view.input_count;
             i++) {
            uint32_t from = trace->tensors[ll_op_input(trace, op, i)].producer;
            if (from != LL_NONE)
                fed[from] = f->pieces->tie_of[op];
        }
    return fed;
}

/* Readers that must have a tie's sum where it is made: they only update, and lie on pieces that have it. */
static bool may_read(const struct finding *f, uint32_t reader, uint32_t tie)
{
    uint32_t piece = f->pieces->piece_of[reader];
    if (form_of(f->trace, reader)->phase != LL_PHASE_UPDATE)
        return false;
    return f->pieces->tie_of[reader] == tie || (piece != LL_NONE && f->pieces->ties[tie].has[piece]);
}

/* The ops that add gradients of tied weights, read by nothing but what updates. */
static bool find_sums(struct finding *f)
{
    const struct ll_trace *trace = f->trace;
    struct ll_pieces *pieces = f->pieces;
    uint32_t *fed = ties_fed(f);
    for (uint32_t op = 0; fed && op < trace->op_count; op++)
        for (uint32_t i = 0; i < form_of(trace, op)->view.input_count; i++) {
            uint32_t from = trace->tensors[ll_op_input(trace, op, i)].producer;
            if (from != LL_NONE && fed[from] != LL_NONE && !may_read(f, op, fed[from]))
                fed[from] = LL_NONE;
        }
    for (uint32_t op = 0; fed && op < trace->op_count; op++) {
        if (fed[op] == LL_NONE || !is_sum(form_of(trace, op)))
            continue;
        struct ll_tie *tie = &pieces->ties[fed[op]], summed = {tie->has, op, ll_op_output(trace, op, 0)};
        if (tie->sum == LL_NONE && spans(trace, pieces, &summed))
            *tie = summed;
    }
    return fed;
}

const char *ll_pieces_find(const struct ll_trace *trace, uint32_t count, uint32_t stages,
                           struct ll_arena *arena, struct ll_pieces *pieces)
{
    struct finding finding = {.trace = trace, .arena = arena, .pieces = pieces};
    *pieces = (struct ll_pieces){.count = count, .stages = stages};
    pieces->piece_of = none(arena, trace->op_count);
    if (!pieces->piece_of)
        return "memory ran out";
    const char *trouble = divide_layers(&finding);
    if (trouble)
        return trouble;
    if (!bring_gradients_home(&finding) || !find_views(&finding) || !find_ties(&finding))
        return "memory ran out";
    tie_updates(&finding);
    tie_what_updates_read(&finding);
    return find_sums(&finding) ? NULL : "memory ran out";
}

bool ll_piece_runs(const struct ll_pieces *pieces, uint32_t piece, uint32_t op)
{
    uint32_t tie = pieces->tie_of[op];
    return tie != LL_NONE ? pieces->ties[tie].has[piece] : pieces->piece_of[op] == piece;
}

bool ll_piece_adds(const struct ll_trace *trace, const struct ll_pieces *pieces, const struct ll_tie *tie,
                   uint32_t piece)
{
    for (uint32_t i = 0; i < form_of(trace, tie->sum)->view.input_count; i++) {
        uint32_t from = trace->tensors[ll_op_input(trace, tie->sum, i)].producer;
        if (from != LL_NONE && pieces->piece_of[from] == piece)
            return true;
    }
    return false;
}

uint32_t ll_piece_source(const struct ll_trace *trace, const struct ll_pieces *pieces, uint32_t piece,
                         uint32_t tensor)
{
    uint32_t from = trace->tensors[tensor].producer;
    while (from != LL_NONE && pieces->is_view[trace->ops[from].form] && pieces->piece_of[from] != LL_NONE &&
           !ll_piece_runs(pieces, piece, from)) {
        tensor = ll_op_input(trace, from, 0);
        from = trace->tensors[tensor].producer;
    }
    return tensor;
}

uint32_t ll_piece_sender(const struct ll_trace *trace, const struct ll_pieces *pieces, uint32_t piece,
                         uint32_t tensor)
{
    uint32_t from = trace->tensors[tensor].producer;
    if (from == LL_NONE || pieces->piece_of[from] == LL_NONE)
        return LL_NONE;
    uint32_t owner = pieces->piece_of[from];
    for (uint32_t i = 0; i < pieces->tie_count; i++)
        if (pieces->ties[i].sum == from) {
            if (ll_piece_adds(trace, pieces, &pieces->ties[i], piece))
                return LL_NONE;
            for (owner = 0; !ll_piece_adds(trace, pieces, &pieces->ties[i], owner);)
                owner++;
            return owner;
        }
    if (ll_piece_runs(pieces, piece, from))
        return LL_NONE;
    while (!ll_piece_runs(pieces, owner, from))
        owner = (owner + 1) % pieces->count;
    return owner;
}
