/* SPDX-License-Identifier: Apache-2.0 */
/* What a training framework makes of a recorded step. The first section widens gradients of weights, the
 * second fuses cross entropies, the third lets exchanges stand alone, the last two count memory. */
#include "sim/parallel/framework.h"

#include <assert.h>
#include <stdlib.h>

#include "sim/parallel/exchange.h"
#include "tracer/transform/rewrite.h"

static const struct ll_op_signature *signature_of(const struct ll_trace *trace, uint32_t op)
{
    return &trace->signatures[trace->ops[op].signature];
}

/* --- gradients of 32 bits --- */

static bool is_narrow(const struct ll_shape *shape)
{
    return shape->dtype == LL_BF16 || shape->dtype == LL_F16;
}

static uint32_t wide_desc(struct ll_rewrite *rewrite, uint32_t tensor)
{
    const struct ll_trace *trace = rewrite->old;
    struct ll_shape shape = trace->descs[trace->tensors[tensor].desc].shape;
    shape.dtype = LL_F32;
    return ll_rewrite_reshaped(rewrite, trace->tensors[tensor].desc, &shape);
}

struct widening {
    struct ll_rewrite rewrite;
    struct ll_gradients gradients;
    bool *wide; /* by tensor: it has 32 bits now */
};

static bool reads_wide(const struct widening *w, uint32_t op)
{
    const struct ll_trace *trace = w->rewrite.old;
    const struct ll_op_signature *signature = signature_of(trace, op);
    bool reads = false;
    for (uint32_t i = 0; i < signature->view.input_count && signature->phase != LL_PHASE_BACKWARD; i++)
        reads |= w->wide[ll_op_input(trace, op, i)];
    return reads;
}

/* Whether an output becomes wide: a gradient of a weight, or what an exchange or an update makes of one,
 * but for the weight and its states. */
static bool becomes_wide(const struct widening *w, uint32_t op, uint32_t tensor)
{
    const struct ll_trace *trace = w->rewrite.old;
    const struct ll_tensor_desc *desc = &trace->descs[trace->tensors[tensor].desc];
    const bool state = desc->memory == LL_WEIGHT || desc->memory == LL_OPTIMIZER;
    return (w->gradients.kind[tensor] == LL_DENSE_GRADIENT || (!state && reads_wide(w, op))) &&
           is_narrow(&desc->shape);
}

/* Numbers that are computed with wide ones are cast. */
static void cast_numbers(struct widening *w, uint32_t op, uint32_t *inputs)
{
    struct ll_rewrite *rewrite = &w->rewrite;
    const struct ll_op_signature *signature = signature_of(rewrite->old, op);
    for (uint32_t i = 0; i < signature->view.input_count && reads_wide(w, op); i++) {
        uint32_t tensor = ll_op_input(rewrite->old, op, i), desc;
        if (w->wide[tensor] || signature->view.in[i].rank > 0 || !is_narrow(&signature->view.in[i]))
            continue;
        desc = wide_desc(rewrite, tensor);
        inputs[i] =
            ll_rewrite_add(rewrite, &(struct ll_record){.kind = LL_OP_CAST,
                                                        .phase = signature->phase,
                                                        .scope = ll_rewrite_string(rewrite, signature->scope),
                                                        .inputs = &inputs[i],
                                                        .input_count = 1,
                                                        .outputs = &desc,
                                                        .output_count = 1});
    }
}

/* The gradient as it was made, added to the one of 32 bits: a tensor of its own, free from then on. */
static void cast(struct ll_rewrite *rewrite, uint32_t op, uint32_t tensor)
{
    const struct ll_op_signature *signature = signature_of(rewrite->old, op);
    uint32_t made = ll_rewrite_tensor(rewrite, tensor), desc = wide_desc(rewrite, tensor);
    ll_rewrite_redirect(
        rewrite, tensor,
        ll_rewrite_add(rewrite, &(struct ll_record){.kind = LL_OP_CAST,
                                                    .phase = signature->phase,
                                                    .scope = ll_rewrite_string(rewrite, signature->scope),
                                                    .inputs = &made,
                                                    .input_count = 1,
                                                    .outputs = &desc,
                                                    .output_count = 1}));
}

/* GEMMs write wide gradients by themselves, and what reads wide ones makes such; what other ops of the
 * backward pass make is cast. */
static void widen(struct widening *w, uint32_t op)
{
    struct ll_rewrite *rewrite = &w->rewrite;
    const struct ll_op_signature *signature = signature_of(rewrite->old, op);
    const struct ll_op_view *view = &signature->view;
    const bool itself = signature->phase != LL_PHASE_BACKWARD || ll_kind_is_gemm(view->kind);
    struct ll_record record;
    uint32_t *inputs = ll_alloc(&rewrite->arena, view->input_count + 1u, sizeof *inputs),
             *outputs = ll_alloc(&rewrite->arena, view->output_count + 1u, sizeof *outputs);
    if (!inputs || !outputs) {
        ll_rewrite_trouble(rewrite, ll_status_text(LL_NO_MEMORY));
        return;
    }
    ll_rewrite_step(rewrite, op);
    for (uint32_t i = 0; i < view->input_count; i++)
        inputs[i] = ll_rewrite_tensor(rewrite, ll_op_input(rewrite->old, op, i));
    cast_numbers(w, op, inputs);
    if (!ll_rewrite_record(rewrite, op, &record))
        return;
    for (uint32_t i = 0; i < record.output_count; i++) {
        uint32_t tensor = ll_op_output(rewrite->old, op, i);
        w->wide[tensor] = becomes_wide(w, op, tensor);
        outputs[i] = itself && w->wide[tensor] ? wide_desc(rewrite, tensor) : record.outputs[i];
    }
    record.inputs = inputs;
    record.outputs = outputs;
    ll_rewrite_put(rewrite, op, &record);
    for (uint32_t i = 0; i < view->output_count && !itself; i++)
        if (w->wide[ll_op_output(rewrite->old, op, i)])
            cast(rewrite, op, ll_op_output(rewrite->old, op, i));
}

struct ll_trace *ll_main_gradients(const struct ll_trace *trace, const char **trouble)
{
    struct widening w = {0};
    ll_rewrite_begin(&w.rewrite, trace, NULL, 0);
    w.wide = ll_alloc(&w.rewrite.arena, trace->tensor_count + 1, sizeof *w.wide);
    if (!w.wide || !ll_gradients_find(trace, &w.rewrite.arena, &w.gradients))
        ll_rewrite_trouble(&w.rewrite, ll_status_text(LL_NO_MEMORY));
    for (uint32_t op = 0; op < trace->op_count && !w.rewrite.trouble; op++)
        widen(&w, op);
    return ll_rewrite_end(&w.rewrite, trouble);
}

/* --- cross entropies in place --- */

/*      logits --cast--> wide logits --cross entropy--> loss, wide gradient --times dloss, cast--> gradient
 *
 * becomes, with all of the lower line in the memory of the logits,
 *
 *      logits --cross entropy--> loss, gradient --times dloss--> gradient */

struct fusing {
    const struct ll_trace *trace;
    struct ll_rewrite rewrite;
    uint32_t *readers; /* by tensor: how many inputs of ops it is */
    bool *narrow;      /* by tensor: of a fused loss, with the bits of the logits */
    bool *gone;        /* by op: a cast that is left out */
};

/* The tensor that a cast to more bits made this one of, which nobody else reads; LL_NONE: none did. */
static uint32_t widened_from(const struct fusing *f, uint32_t tensor)
{
    uint32_t cast = f->trace->tensors[tensor].producer;
    if (cast == LL_NONE || signature_of(f->trace, cast)->view.kind != LL_OP_CAST || f->readers[tensor] != 1)
        return LL_NONE;
    uint32_t from = ll_op_input(f->trace, cast, 0);
    bool alone = f->readers[from] == 1 && is_narrow(&signature_of(f->trace, cast)->view.in[0]);
    return alone ? from : LL_NONE;
}

static bool is_entropy(const struct ll_op_view *view)
{
    return view->kind == LL_OP_SOFTMAX_XENT && view->output_count == 2;
}

/* Marks the ops of each loss that can be fused. */
static void find_losses(struct fusing *f)
{
    for (uint32_t op = 0; op < f->trace->op_count; op++) {
        const struct ll_op_view *view = &signature_of(f->trace, op)->view;
        uint32_t input = view->input_count ? ll_op_input(f->trace, op, 0) : LL_NONE;
        if (is_entropy(view) && widened_from(f, input) != LL_NONE) {
            f->gone[f->trace->tensors[input].producer] = true;
            f->narrow[ll_op_output(f->trace, op, 1)] = true;
        } else if (view->kind == LL_OP_SOFTMAX_XENT_GRAD && f->narrow[input]) {
            f->narrow[ll_op_output(f->trace, op, 0)] = true;
        } else if (view->kind == LL_OP_CAST && f->narrow[input] && f->readers[input] == 1) {
            f->gone[op] = true;
        }
    }
}

static void put_narrow(struct fusing *f, uint32_t op, uint32_t output)
{
    const struct ll_op_signature *signature = signature_of(f->trace, op);
    struct ll_record record;
    if (!ll_rewrite_record(&f->rewrite, op, &record))
        return;
    if (record.attr_count == LL_MAX_ATTRS) {
        ll_rewrite_trouble(&f->rewrite, "a cross entropy has no room for another attribute");
        return;
    }
    struct ll_shape shape = signature->view.out[output];
    shape.dtype = ll_rewrite_shape(&f->rewrite, record.inputs[0])->dtype;
    uint32_t outputs[2] = {record.outputs[0], record.output_count > 1 ? record.outputs[1] : LL_NONE};
    outputs[output] = ll_rewrite_reshaped(&f->rewrite, signature->outputs[output], &shape);
    f->rewrite.attrs[record.attr_count++] = (struct ll_attr){.key = LL_ATTR_IN_PLACE, .count = 0};
    record.attrs = f->rewrite.attrs;
    record.outputs = outputs;
    ll_rewrite_put(&f->rewrite, op, &record);
}

static void fuse(struct fusing *f, uint32_t op)
{
    const struct ll_op_view *view = &signature_of(f->trace, op)->view;
    uint32_t last = view->output_count ? ll_op_output(f->trace, op, view->output_count - 1) : LL_NONE;
    if (f->gone[op])
        ll_rewrite_redirect(&f->rewrite, last, ll_rewrite_tensor(&f->rewrite, ll_op_input(f->trace, op, 0)));
    else if (last != LL_NONE && f->narrow[last])
        put_narrow(f, op, view->output_count - 1);
    else
        ll_rewrite_keep(&f->rewrite, op);
}

struct ll_trace *ll_fuse_loss(const struct ll_trace *trace, const char **trouble)
{
    struct fusing f = {.trace = trace};
    ll_rewrite_begin(&f.rewrite, trace, NULL, 0);
    f.readers = ll_alloc(&f.rewrite.arena, trace->tensor_count + 1, sizeof *f.readers);
    f.narrow = ll_alloc(&f.rewrite.arena, trace->tensor_count + 1, sizeof *f.narrow);
    f.gone = ll_alloc(&f.rewrite.arena, trace->op_count + 1, sizeof *f.gone);
    if (!f.readers || !f.narrow || !f.gone)
        ll_rewrite_trouble(&f.rewrite, ll_status_text(LL_NO_MEMORY));
    for (uint32_t op = 0; op < trace->op_count && !f.rewrite.trouble; op++)
        for (uint32_t i = 0; i < signature_of(trace, op)->view.input_count; i++)
            f.readers[ll_op_input(trace, op, i)]++;
    if (!f.rewrite.trouble)
        find_losses(&f);
    for (uint32_t op = 0; op < trace->op_count && !f.rewrite.trouble; op++)
        fuse(&f, op);
    return ll_rewrite_end(&f.rewrite, trouble);
}

/* --- exchanges that nothing goes on beside --- */

static bool stops_pass(const struct ll_op_signature *signature)
{
    const enum ll_op_kind kind = signature->view.kind;
    return (signature->phase == LL_PHASE_FORWARD || signature->phase == LL_PHASE_BACKWARD) &&
           kind != LL_OP_NONE && ll_op_class(kind) == LL_CLASS_COMMUNICATION && kind != LL_OP_SEND &&
           kind != LL_OP_RECEIVE && ll_attr_count(&signature->view, LL_ATTR_PIECE, 0) == 0;
}

struct ll_trace *ll_wait_for_exchanges(const struct ll_trace *trace, const char **trouble)
{
    struct ll_rewrite rewrite;
    struct ll_record record;
    uint32_t awaited = LL_NONE; /* op of the new trace: the last exchange, which the next op waits for */
    ll_rewrite_begin(&rewrite, trace, NULL, 0);
    for (uint32_t op = 0; op < trace->op_count && ll_rewrite_record(&rewrite, op, &record); op++) {
        const bool stops = stops_pass(signature_of(trace, op));
        uint32_t before = stops && rewrite.op_count > 0 ? rewrite.op_count - 1 : awaited;
        uint32_t controls[] = {before};
        if (before != LL_NONE && record.control_count == 0) {
            record.controls = controls;
            record.control_count = 1;
        }
        ll_rewrite_put(&rewrite, op, &record);
        awaited = stops ? rewrite.op_count - 1 : LL_NONE;
    }
    return ll_rewrite_end(&rewrite, trouble);
}

/* --- memory beside tensors --- */

const char *ll_framework_part_name(enum ll_framework_part part)
{
    static const char *const names[LL_FRAMEWORK_PARTS] = {[LL_FRAMEWORK_UNUSED] = "unused weight gradients",
                                                          [LL_FRAMEWORK_WORKSPACE] =
                                                              "workspaces of GEMM libraries",
                                                          [LL_FRAMEWORK_STATISTICS] = "statistics of norms",
                                                          [LL_FRAMEWORK_EXPERT_ROWS] = "rows of experts"};
    assert(part < LL_FRAMEWORK_PARTS);
    return names[part];
}

/* Numbers of 16 bits, or fewer, which gradients are never in. */
static bool has_few_bits(const struct ll_shape *shape)
{
    return is_narrow(shape) || shape->dtype == LL_F8 || shape->dtype == LL_F4;
}

/* A gradient of a weight that a GEMM adds to one of 32 bits. */
static bool is_added(const struct ll_trace *program, const struct ll_op_signature *signature, uint32_t output)
{
    const struct ll_op_view *view = &signature->view;
    return signature->phase == LL_PHASE_BACKWARD && ll_kind_is_gemm(view->kind) && view->input_count > 0 &&
           has_few_bits(&view->in[0]) && view->out[output].dtype == LL_F32 &&
           program->descs[signature->outputs[output]].memory == LL_GRADIENT && view->out[output].rank > 1;
}

static bool is_of_tokens(const struct ll_shape *weight)
{
    return weight->role[weight->rank - 1] == LL_ROLE_VOCABULARY || weight->role[0] == LL_ROLE_VOCABULARY;
}

/* The bytes of one matrix of a gradient in 16 bits: of experts that of one. */
static uint64_t unused_bytes(const struct ll_shape *gradient)
{
    return ll_mul(ll_mul(gradient->dim[gradient->rank - 1], gradient->dim[gradient->rank - 2]),
                  ll_dtype_bytes(LL_BF16));
}

enum { MOST_SHAPES = 256 };

/* Shapes of weights that have such a gradient; more than so many share the last one's place, which counts
 * none. */
struct shapes {
    uint64_t dims[MOST_SHAPES][2];
    uint32_t count;
};

static bool is_new_shape(struct shapes *shapes, const struct ll_shape *gradient)
{
    const uint64_t *dims = &gradient->dim[gradient->rank - 2];
    for (uint32_t i = 0; i < shapes->count; i++)
        if (shapes->dims[i][0] == dims[0] && shapes->dims[i][1] == dims[1])
            return false;
    if (shapes->count == MOST_SHAPES)
        return false;
    shapes->dims[shapes->count][0] = dims[0];
    shapes->dims[shapes->count++][1] = dims[1];
    return true;
}

static void add_to(uint64_t *sum, uint64_t bytes)
{
    *sum = ll_add(*sum, bytes);
}

/* Transformer Engine keeps the unused gradients of its own layers; Megatron-core's projection onto tokens
 * makes one each time. */
static void count_unused(const struct ll_trace *program, uint32_t op, struct shapes *shapes,
                         struct ll_framework_memory *memory)
{
    const struct ll_op_signature *signature = signature_of(program, op);
    for (uint32_t i = 0; i < signature->view.output_count; i++) {
        const struct ll_shape *gradient = &signature->view.out[i];
        if (!is_added(program, signature, i))
            continue;
        if (is_of_tokens(gradient))
            add_to(&memory->passing_bytes[op], unused_bytes(gradient));
        else if (is_new_shape(shapes, gradient))
            add_to(&memory->part_bytes[LL_FRAMEWORK_UNUSED], unused_bytes(gradient));
    }
}

/* Rows of T tokens with k experts each, h features, f inside: what the first GEMM reads (2 R h), makes (4
 * R f) and the second one reads (2 R f), with R = T k rows, and a probability of 32 bits for each; logits
 * and probabilities of the router of 32 bits, about three a token and expert, and the map of fused
 * permutation, two and one numbers of 32 bits. The backward pass has three times the rows at once,
 * beside those that it reads: exchanged, sorted, and multiplied. */
static void count_expert_rows(const struct ll_op_view *view, bool backward, uint64_t *kept, uint64_t *passing)
{
    enum { ROWS_AT_ONCE = 3, PER_EXPERT = 12 + 4 * 2, PER_TOKEN = 4 };
    const struct ll_shape *x = &view->in[backward], *chosen = &view->in[backward + 2u],
                          *up = &view->in[backward + 3u], *down = &view->in[backward + 4u];
    const uint64_t rows = ll_mul(x->dim[0], chosen->dim[1]),
                   element = ll_dtype_bytes((enum ll_dtype)x->dtype);
    const uint64_t experts = ll_mul(up->dim[0], (uint64_t)ll_attr_count(view, LL_ATTR_DEVICES, 1));
    const uint64_t read = ll_mul(ll_add(up->dim[1], down->dim[1]), element), /* perhaps in few bits */
        made = ll_mul(up->dim[2], ll_max(element, ll_dtype_bytes(LL_BF16)));
    if (backward) {
        add_to(passing, ll_mul(ROWS_AT_ONCE, ll_mul(rows, ll_mul(up->dim[1], element))));
        return;
    }
    add_to(kept, ll_mul(rows, ll_add(ll_add(read, made), 4)));
    add_to(kept, ll_mul(x->dim[0], ll_add(ll_mul(PER_EXPERT, experts), PER_TOKEN)));
}

bool ll_framework_memory(const struct ll_trace *program, const struct ll_training *training,
                         struct ll_arena *arena, struct ll_framework_memory *memory)
{
    struct shapes *shapes = ll_alloc(arena, 1, sizeof *shapes);
    *memory = (struct ll_framework_memory){
        .passing_bytes = ll_alloc(arena, program->op_count + 1, sizeof *memory->passing_bytes)};
    bool experts = false;
    uint64_t *parts = memory->part_bytes;
    if (!shapes || !memory->passing_bytes)
        return false;
    for (uint32_t op = 0; op < program->op_count; op++) {
        const struct ll_op_signature *signature = signature_of(program, op);
        const struct ll_op_view *view = &signature->view;
        const bool norm = view->kind == LL_OP_RMS_NORM || view->kind == LL_OP_LAYER_NORM,
                   of_experts = view->kind == LL_OP_EXPERTS || view->kind == LL_OP_EXPERTS_GRAD;
        if (training->unused_weight_gradients)
            count_unused(program, op, shapes, memory);
        if (norm && training->norm_statistics && signature->phase == LL_PHASE_FORWARD)
            add_to(&parts[LL_FRAMEWORK_STATISTICS],
                   ll_mul(view->kind == LL_OP_LAYER_NORM ? 8 : 4,
                          ll_elements(&view->in[0]) / ll_max(1, view->in[0].dim[view->in[0].rank - 1])));
        if (of_experts && training->expert_rows)
            count_expert_rows(view, view->kind == LL_OP_EXPERTS_GRAD, &parts[LL_FRAMEWORK_EXPERT_ROWS],
                              &memory->passing_bytes[op]);
        experts |= of_experts;
    }
    parts[LL_FRAMEWORK_WORKSPACE] =
        ll_add(training->workspace_bytes, experts ? training->expert_workspace_bytes : 0);
    return true;
}

/* The op that gathers what a projection onto tokens reads, or its gradient; LL_NONE: none does. */
static uint32_t gather_of(const struct ll_trace *program, uint32_t op)
{
    const struct ll_op_view *view = &signature_of(program, op)->view;
    bool of_tokens = false;
    uint32_t found = LL_NONE;
    for (uint32_t i = 0; view->kind == LL_OP_MATMUL && i < view->input_count; i++) {
        uint32_t from = program->tensors[ll_op_input(program, op, i)].producer;
        of_tokens |= view->in[i].rank == 2 && is_of_tokens(&view->in[i]);
        if (from != LL_NONE && signature_of(program, from)->view.kind == LL_OP_ALL_GATHER)
            found = from;
    }
    return of_tokens ? found : LL_NONE;
}

void ll_framework_gathers(const struct ll_trace *program, const struct ll_training *training,
                          struct ll_liveness *lives)
{
    bool found = false;
    for (uint32_t op = 0; training->gather_buffer && op < program->op_count; op++) {
        uint32_t gather = gather_of(program, op);
        if (gather == LL_NONE)
            continue;
        struct ll_liveness *life = &lives[program->tensors[ll_op_output(program, gather, 0)].storage];
        if (life->first == 0 || life->first == LL_NONE)
            continue; /* the buffer itself, or seen before */
        life->first = found ? LL_NONE : 0;
        life->last = (uint32_t)(program->op_count - 1);
        life->memory = LL_WORKSPACE;
        found = true;
    }
}

/* --- memory beside the allocator --- */

/* Groups of devices, as a list of what has been met. */
struct groups {
    struct group {
        uint64_t devices, stride; /* of a message: 0, and the distance */
        bool each;                /* everybody sends to everybody */
    } * at;
    uint64_t count, capacity;
};

static bool meet_group(struct groups *groups, const struct ll_op_view *view)
{
    const bool message = view->kind == LL_OP_SEND || view->kind == LL_OP_RECEIVE;
    const int64_t peer = ll_attr_count(view, LL_ATTR_PEER, 1);
    const struct group met = {.devices = message ? 0 : (uint64_t)ll_attr_count(view, LL_ATTR_DEVICES, 1),
                              .stride = (uint64_t)(!message   ? ll_attr_count(view, LL_ATTR_STRIDE, 1)
                                                   : peer < 0 ? -peer
                                                              : peer),
                              .each = view->kind == LL_OP_ALL_TO_ALL};
    for (uint64_t i = 0; i < groups->count; i++)
        if (groups->at[i].devices == met.devices && groups->at[i].stride == met.stride) {
            groups->at[i].each |= met.each;
            return true;
        }
    if (!ll_grow(&groups->at, &groups->capacity, groups->count + 1, sizeof *groups->at))
        return false;
    groups->at[groups->count++] = met;
    return true;
}

static bool is_by_library(const struct ll_op_view *view)
{
    const int64_t piece = ll_attr_count(view, LL_ATTR_PIECE, 0);
    return view->kind < LL_OP_NONE && ll_op_class(view->kind) == LL_CLASS_COMMUNICATION &&
           (piece == 0 || piece == LL_PIECE_MESSAGE) &&
           (view->kind == LL_OP_SEND || view->kind == LL_OP_RECEIVE ||
            ll_attr_count(view, LL_ATTR_DEVICES, 0) > 1);
}

/* Channels to other devices: around the ring, to each near one where everybody sends to everybody, and of a
 * message both to whom it goes and from whom one comes. */
static uint64_t channels_of(const struct group *group, const struct ll_training *training, uint64_t near)
{
    const uint64_t stride = ll_max(1, group->stride),
                   others =
                       ll_min(group->devices > 0 ? group->devices - 1 : 1, (ll_max(near, 1) - 1) / stride);
    if (group->devices == 0)
        return ll_mul(training->message_channels, ll_max(1, others));
    return ll_add(training->collective_channels,
                  group->each ? ll_mul(others, training->message_channels) : 0);
}

bool ll_framework_outside(const struct ll_trace *const *programs, uint64_t count,
                          const struct ll_training *training, uint64_t near, struct ll_outside *outside)
{
    struct groups groups = {0};
    bool done = true;
    *outside = (struct ll_outside){.context_bytes = training->context_bytes};
    for (uint64_t p = 0; done && p < count && training->channel_bytes > 0; p++)
        for (uint64_t i = 0; done && i < programs[p]->signature_count; i++)
            if (is_by_library(&programs[p]->signatures[i].view))
                done = meet_group(&groups, &programs[p]->signatures[i].view);
    for (uint64_t i = 0; done && i < groups.count; i++)
        outside->communicator_bytes =
            ll_add(outside->communicator_bytes,
                   ll_mul(channels_of(&groups.at[i], training, near), training->channel_bytes));
    outside->communicators = groups.count;
    free(groups.at);
    return done;
}
