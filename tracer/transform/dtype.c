/* SPDX-License-Identifier: Apache-2.0 */
/* Traces in other dtypes: all floating-point tensors (ll_trace_change_dtype), weights alone
 * (ll_trace_quantize_weights), or the GEMMs of weights with casts around them
 * (ll_trace_change_gemm_dtype). */
#include "tracer/transform/dtype.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "tracer/base/str.h"
#include "tracer/ir/ops_rules.h"
#include "tracer/ir/trace.h"
#include "tracer/transform/rewrite.h"

bool ll_dtype_is_floating(enum ll_dtype dtype)
{
    return dtype == LL_F64 || dtype == LL_F32 || dtype == LL_TF32 || dtype == LL_F16 || dtype == LL_BF16 ||
           dtype == LL_F8 || dtype == LL_F4;
}

bool ll_dtype_is_multiplied(enum ll_dtype dtype)
{
    return ll_dtype_is_floating(dtype) || dtype == LL_INT8 || dtype == LL_INT4 || dtype == LL_INT2;
}

/* A complex number is of two f64 or two f32; no machine has smaller ones. */
static uint8_t retyped(uint8_t from, enum ll_dtype to)
{
    if (from == LL_C64 || from == LL_C128)
        return to == LL_F64 ? LL_C128 : LL_C64;
    return ll_dtype_is_floating((enum ll_dtype)from) ? (uint8_t)to : from;
}

bool ll_trace_change_dtype(struct ll_trace *trace, enum ll_dtype dtype, const char **trouble)
{
    assert(dtype < LL_DTYPE_COUNT);
    bool right = true;
    *trouble = NULL;
    for (uint64_t i = 0; i < trace->desc_count && right; i++) {
        struct ll_shape *shape = &trace->descs[i].shape;
        uint8_t before = shape->dtype;
        shape->dtype = retyped(before, dtype);
        shape->scales = shape->dtype == before ? shape->scales : (uint8_t)LL_SCALES_NONE;
        right = ll_fits(ll_size_bytes(shape));
        if (!right)
            *trouble = "a size does not fit in 64 bits";
    }
    for (uint64_t i = 0; i < trace->signature_count && right; i++)
        right = ll_signature_renew(trace, &trace->signatures[i], trouble);
    return right;
}

/* What frameworks and data sheets call the types. */
static const struct {
    const char *theirs;
    enum ll_dtype ours;
} spellings[] = {
    {"double", LL_F64},       {"float64", LL_F64},    {"fp64", LL_F64},      {"float", LL_F32},
    {"float32", LL_F32},      {"fp32", LL_F32},       {"half", LL_F16},      {"float16", LL_F16},
    {"fp16", LL_F16},         {"bfloat16", LL_BF16},  {"bfloat", LL_BF16},   {"float8", LL_F8},
    {"fp8", LL_F8},           {"e4m3", LL_F8},        {"e5m2", LL_F8},       {"float4", LL_F4},
    {"fp4", LL_F4},           {"e2m1", LL_F4},        {"long", LL_I64},      {"int64", LL_I64},
    {"int", LL_I32},          {"int32", LL_I32},      {"int16", LL_I16},     {"i8", LL_INT8},
    {"float8_e4m3fn", LL_F8}, {"float8_e5m2", LL_F8}, {"fp8_e4m3", LL_F8},   {"fp8_e5m2", LL_F8},
    {"s8", LL_INT8},          {"s4", LL_INT4},        {"i2", LL_INT2},       {"tfloat32", LL_TF32},
    {"i4", LL_INT4},          {"uint8", LL_U8},       {"complex64", LL_C64}, {"complex128", LL_C128},
};

const char *ll_dtype_meant(const char *name)
{
    for (size_t i = 0; i < sizeof spellings / sizeof *spellings; i++)
        if (ll_same_but_case(name, spellings[i].theirs))
            return ll_dtype_name(spellings[i].ours);
    return NULL;
}

enum ll_dtype ll_dtype_find(const char *name)
{
    const char *meant = ll_dtype_meant(name);
    unsigned dtype = 0;
    while (dtype < LL_DTYPE_COUNT && strcmp(name, ll_dtype_name((enum ll_dtype)dtype)) != 0 &&
           (!meant || strcmp(meant, ll_dtype_name((enum ll_dtype)dtype)) != 0))
        dtype++;
    return (enum ll_dtype)dtype;
}

/* Elements of this type, with the scales that activations or weights have in it. */
static void set_numeric(struct ll_shape *shape, enum ll_numeric numeric, bool of_weights)
{
    shape->dtype = (uint8_t)ll_numeric_dtype(numeric);
    shape->scales = (uint8_t)ll_numeric_scales(numeric, of_weights);
}

/* How a desc is used. */
enum use { UNUSED, MULTIPLIED, OTHERWISE };

struct usage {
    const bool *views; /* by signature */
    uint8_t *uses;     /* enum use, by desc */
    bool *of_weight;   /* a weight, or one seen otherwise; by desc */
};

/* What a product reads of its right operand: all, or the matrices of a stack that it computes. */
static uint64_t read_of(const struct ll_op_view *view)
{
    bool stack = view->kind == LL_OP_BATCH_MATMUL;
    return stack ? ll_stack_bytes(view, &view->in[1]) : ll_size_bytes(&view->in[1]);
}

/* Whether input 1 is the right operand of a product. */
static bool is_multiplied(const struct ll_op_view *view)
{
    struct ll_work work;
    return view->kind != LL_OP_NONE && view->input_count > 1 && ll_op_lower(view, &work) &&
           ll_is_gemm(&work) && work.b_bytes == read_of(view);
}

static void look_at(const struct ll_op_signature *signature, uint8_t *uses)
{
    bool product = is_multiplied(&signature->view);
    for (uint32_t i = 0; i < signature->view.input_count; i++) {
        uint8_t *use = &uses[signature->inputs[i]];
        *use = product && i == 1 && *use != OTHERWISE ? MULTIPLIED : OTHERWISE;
    }
    for (uint32_t i = 0; i < signature->view.output_count; i++)
        uses[signature->outputs[i]] = OTHERWISE;
}

/* A look at a weight is one. Whether anything is new. */
static bool pass_weight(const struct ll_op_signature *signature, struct usage *usage)
{
    bool from = usage->of_weight[signature->inputs[0]], *to = &usage->of_weight[signature->outputs[0]];
    bool new = from && !*to;
    *to |= from;
    return new;
}

/* A tensor and a look at it are used alike, and otherwise where the same desc is a look at something else,
 * too. Whether anything is new. */
static bool pass_use(const struct ll_op_signature *signature, struct usage *usage)
{
    uint32_t in = signature->inputs[0], out = signature->outputs[0];
    uint8_t *of = &usage->uses[in], *as = &usage->uses[out], was_of = *of, was_as = *as;
    bool alike = usage->of_weight[in] == usage->of_weight[out];
    *of = *as = alike ? (uint8_t)ll_max(*of, *as) : OTHERWISE;
    return *of != was_of || *as != was_as;
}

static void pass_on(const struct ll_trace *trace, struct usage *usage,
                    bool (*pass)(const struct ll_op_signature *signature, struct usage *usage))
{
    for (bool new = true; new;) {
        new = false;
        for (uint64_t i = 0; i < trace->signature_count; i++)
            if (usage->views[i])
                new |= pass(&trace->signatures[i], usage);
    }
}

static void find_uses(const struct ll_trace *trace, struct usage *usage)
{
    for (uint64_t i = 0; i < trace->desc_count; i++)
        usage->of_weight[i] = trace->descs[i].memory == LL_WEIGHT;
    for (uint64_t i = 0; i < trace->signature_count; i++)
        if (!usage->views[i])
            look_at(&trace->signatures[i], usage->uses);
    pass_on(trace, usage, pass_weight);
    pass_on(trace, usage, pass_use);
}

static void retype(struct ll_trace *trace, const struct usage *usage, enum ll_numeric numeric,
                   uint64_t *weights)
{
    for (uint64_t i = 0; i < trace->desc_count; i++) {
        struct ll_shape *shape = &trace->descs[i].shape;
        if (!usage->of_weight[i] || usage->uses[i] != MULTIPLIED ||
            !ll_dtype_is_multiplied((enum ll_dtype)shape->dtype))
            continue;
        set_numeric(shape, numeric, true);
        *weights += trace->descs[i].memory == LL_WEIGHT;
    }
}

bool ll_trace_quantize_weights(struct ll_trace *trace, enum ll_numeric numeric, uint64_t *weights,
                               const char **trouble)
{
    assert(numeric < LL_NUMERIC_COUNT && numeric != LL_NUMERIC_NONE);
    struct ll_arena arena = {0};
    struct usage usage = {ll_views(trace, &arena),
                          ll_alloc(&arena, trace->desc_count + 1, sizeof *usage.uses),
                          ll_alloc(&arena, trace->desc_count + 1, sizeof *usage.of_weight)};
    bool right = usage.views && usage.uses && usage.of_weight;
    *weights = 0;
    *trouble = NULL;
    if (right) {
        find_uses(trace, &usage);
        retype(trace, &usage, numeric, weights);
    }
    for (uint64_t i = 0; right && i < trace->signature_count; i++)
        right = ll_signature_renew(trace, &trace->signatures[i], trouble);
    ll_arena_release(&arena);
    return right && ll_trace_note(trace, "weights", ll_numeric_name(numeric));
}

/* First which ops are GEMMs of weights, then the trace anew with what they read cast.
 *
 * The gradient of a weight is a product in which no weight takes part: x, which the forward product read
 * beside the weight, times dy. So all pairs of such an x and the size of its weight are noted and sorted,
 * and a product that reads an x and writes as much is one. */

/* A tensor that a product reads beside a weight of so many elements. */
struct beside {
    uint64_t elements;
    uint32_t tensor; /* as it was before it was only moved */
};

/* A tensor of the new trace, and the step in which it was made; no tensor: LL_NONE. */
struct cast {
    uint32_t tensor, step;
};

struct products {
    const struct ll_trace *trace;
    enum ll_numeric numeric;
    bool trains;
    bool *multiplies;    /* by signature: a product of two matrices, or windows, of reals */
    bool *of_weights;    /* by op: such a product, of weights */
    bool *weight;        /* by tensor: a weight, or one moved */
    uint32_t *origin;    /* by tensor: what it was before it was only moved, itself where it was not */
    uint32_t *whole;     /* by tensor: what it was before it was only looked at */
    bool *written;       /* by storage: some op writes it after it was brought */
    bool *wide;          /* by tensor: somebody reads it in the type it had */
    bool *read;          /* by tensor: by somebody */
    uint32_t *writer;    /* by storage: the last op that wrote it, up to the one at work */
    struct cast *casts;  /* by tensor: it in the type */
    struct cast *firsts; /* by tensor: the first look at it, or itself, in the type */
    struct beside *besides;
    uint64_t beside_count;
    struct ll_arena arena;
    struct ll_rewrite rewrite;
};

static const struct ll_op_signature *signature_of(const struct products *p, uint32_t op)
{
    return &p->trace->signatures[p->trace->ops[op].signature];
}

static const struct ll_tensor_desc *desc_of(const struct products *p, uint32_t tensor)
{
    return &p->trace->descs[p->trace->tensors[tensor].desc];
}

static bool is_multiplied_type(const struct ll_shape *shape)
{
    return ll_dtype_is_multiplied((enum ll_dtype)shape->dtype);
}

/* Words are picked, not computed. */
static bool is_of_words(const struct ll_shape *shape)
{
    for (unsigned i = 0; i < shape->rank; i++)
        if (shape->role[i] == LL_ROLE_VOCABULARY)
            return true;
    return false;
}

static bool multiplies(const struct ll_op_view *view)
{
    struct ll_work work;
    return view->kind != LL_OP_NONE && ll_class_is_gemm(ll_op_class(view->kind)) && view->input_count == 2 &&
           view->output_count == 1 && is_multiplied_type(&view->in[0]) && is_multiplied_type(&view->in[1]) &&
           !is_of_words(&view->in[0]) && !is_of_words(&view->in[1]) && ll_op_lower(view, &work) &&
           (work.kind == LL_WORK_GEMM || work.kind == LL_WORK_CONV || work.kind == LL_WORK_EXPERTS);
}

/* Whether what comes out is what came in, elsewhere, in another order or another type. */
static bool only_moves(const struct ll_op_view *view)
{
    if (view->kind == LL_OP_NONE || view->kind == LL_OP_FOREIGN || view->input_count == 0)
        return false;
    return view->kind == LL_OP_CAST || view->kind == LL_OP_ALL_GATHER ||
           ll_op_class(view->kind) == LL_CLASS_MOVEMENT;
}

/* Whether what comes out is all that came in, seen otherwise. */
static bool is_look(const struct ll_op_view *view)
{
    if (view->kind == LL_OP_RESHAPE)
        return true;
    return view->kind == LL_OP_SEEN_AS && view->input_count == 1 && view->in[0].dtype == view->out[0].dtype &&
           ll_elements(&view->in[0]) == ll_elements(&view->out[0]);
}

/* Which products are of weights. */

static void note_beside(struct products *p, uint32_t tensor, uint64_t elements)
{
    p->besides[p->beside_count++] = (struct beside){elements, p->origin[tensor]};
}

/* Up to two are noted of an op. What an optimizer multiplies is none of a network's products. */
static void look_at_product(struct products *p, uint32_t op)
{
    const struct ll_op_signature *signature = signature_of(p, op);
    bool candidate = p->multiplies[p->trace->ops[op].signature] && signature->phase != LL_PHASE_UPDATE;
    for (uint32_t i = 0; candidate && i < 2; i++)
        if (p->weight[ll_op_input(p->trace, op, i)]) {
            p->of_weights[op] = true;
            note_beside(p, ll_op_input(p->trace, op, 1 - i), ll_elements(&signature->view.in[i]));
        }
}

static bool all_are_weights(const struct products *p, uint32_t op)
{
    for (uint32_t i = 0; i < signature_of(p, op)->view.input_count; i++)
        if (!p->weight[ll_op_input(p->trace, op, i)])
            return false;
    return true;
}

/* What is moved whole keeps its origin; weights that are moved, also in parts or joined, stay weights. */
static void follow_moves(struct products *p, uint32_t op)
{
    const struct ll_op_view *view = &signature_of(p, op)->view;
    if (!only_moves(view))
        return;
    bool weights = all_are_weights(p, op);
    bool one = view->input_count == 1 && view->output_count == 1;
    for (uint32_t o = 0; o < view->output_count; o++) {
        uint32_t tensor = ll_op_output(p->trace, op, o), from = ll_op_input(p->trace, op, 0);
        p->weight[tensor] |= weights;
        if (one && ll_elements(&view->in[0]) == ll_elements(&view->out[0]))
            p->origin[tensor] = p->origin[from];
        if (is_look(view))
            p->whole[tensor] = p->whole[from];
    }
}

static void find_direct(struct products *p)
{
    const struct ll_trace *trace = p->trace;
    for (uint32_t i = 0; i < trace->signature_count; i++)
        p->multiplies[i] = multiplies(&trace->signatures[i].view);
    for (uint32_t i = 0; i < trace->tensor_count; i++) {
        p->weight[i] = desc_of(p, i)->memory == LL_WEIGHT;
        p->origin[i] = p->whole[i] = i;
    }
    for (uint32_t op = 0; op < trace->op_count; op++) {
        enum ll_phase phase = signature_of(p, op)->phase;
        p->trains |= phase == LL_PHASE_BACKWARD || phase == LL_PHASE_UPDATE;
        look_at_product(p, op);
        follow_moves(p, op);
    }
}

static int compare(const void *left, const void *right)
{
    const struct beside *a = left, *b = right;
    if (a->tensor != b->tensor)
        return a->tensor < b->tensor ? -1 : 1;
    return (a->elements > b->elements) - (a->elements < b->elements);
}

static void find_gradients(struct products *p)
{
    const struct ll_trace *trace = p->trace;
    if (p->beside_count)
        qsort(p->besides, p->beside_count, sizeof *p->besides, compare);
    for (uint32_t op = 0; op < trace->op_count && p->beside_count; op++) {
        const struct ll_op_signature *signature = signature_of(p, op);
        bool candidate = p->multiplies[trace->ops[op].signature] && signature->phase == LL_PHASE_BACKWARD;
        for (uint32_t i = 0; candidate && !p->of_weights[op] && i < 2; i++) {
            const struct beside wanted = {ll_elements(&signature->view.out[0]),
                                          p->origin[ll_op_input(trace, op, i)]};
            p->of_weights[op] = bsearch(&wanted, p->besides, p->beside_count, sizeof wanted, compare) != NULL;
        }
    }
}

/* Leaves out what stays as it is: a product of the backward pass reads a weight, or gives the gradient of
 * one. */
static void leave_out(struct products *p, struct ll_gemms gemms, const bool *kept)
{
    for (uint32_t op = 0; op < p->trace->op_count; op++) {
        const bool backward = signature_of(p, op)->phase == LL_PHASE_BACKWARD,
                   reads = p->of_weights[op] && (p->weight[ll_op_input(p->trace, op, 0)] ||
                                                 p->weight[ll_op_input(p->trace, op, 1)]);
        p->of_weights[op] &= !(kept && kept[op]) && (!backward ? gemms.forward
                                                     : reads   ? gemms.data
                                                               : gemms.weight);
    }
}

/* Whether what an input of a product holds is to be cast. */
static bool wants_cast(const struct products *p, uint32_t op, uint32_t input)
{
    return p->of_weights[op] && signature_of(p, op)->view.in[input].dtype != ll_numeric_dtype(p->numeric);
}

/* Held weights. */

static bool is_held(const struct products *p, uint32_t tensor)
{
    const struct ll_tensor *at = &p->trace->tensors[tensor];
    return !p->trains && at->producer == LL_NONE && desc_of(p, tensor)->memory == LL_WEIGHT &&
           !p->written[at->storage];
}

/* A look at a held weight at which only products look is one at what is held. */
static bool is_left_out(const struct products *p, uint32_t op)
{
    const struct ll_op_view *view = &signature_of(p, op)->view;
    if (!is_look(view) || p->trains)
        return false;
    uint32_t tensor = ll_op_output(p->trace, op, 0);
    return p->read[tensor] && !p->wide[tensor] && is_held(p, p->whole[tensor]);
}

static void find_wide(struct products *p)
{
    const struct ll_trace *trace = p->trace;
    for (uint32_t op = 0; op < trace->op_count; op++)
        for (uint32_t o = 0;
             signature_of(p, op)->bytes_written > 0 && o < signature_of(p, op)->view.output_count; o++)
            p->written[trace->tensors[ll_op_output(trace, op, o)].storage] = true;
    for (uint32_t op = (uint32_t)trace->op_count; op-- > 0;) {
        bool gone = is_left_out(p, op);
        for (uint32_t i = 0; i < signature_of(p, op)->view.input_count; i++) {
            uint32_t tensor = ll_op_input(trace, op, i);
            p->read[tensor] = true;
            p->wide[tensor] |= !gone && !wants_cast(p, op, i);
        }
    }
}

/* Writing. */

static uint32_t desc_as(struct products *p, uint32_t tensor, enum ll_memory_class memory)
{
    const struct ll_tensor_desc *old = desc_of(p, tensor);
    struct ll_shape shape = old->shape;
    const char *name =
        ll_format(&p->rewrite.arena, "%s:%s", p->trace->strings[old->name], ll_numeric_name(p->numeric));
    set_numeric(&shape, p->numeric, p->weight[tensor]);
    if (!name)
        ll_rewrite_trouble(&p->rewrite, ll_status_text(LL_NO_MEMORY));
    return ll_rewrite_new_desc(&p->rewrite, name ? name : "", &shape, memory);
}

/* What is cast of a weight is there as long as the weight is as it was; all else is for the passes of a
 * step. */
static enum ll_memory_class memory_of(const struct products *p, uint32_t op, uint32_t tensor)
{
    if (p->weight[tensor])
        return LL_WORKSPACE;
    return signature_of(p, op)->phase == LL_PHASE_BACKWARD ? LL_GRADIENT : LL_ACTIVATION;
}

/* An op of one input for the product at work. */
static uint32_t add(struct products *p, uint32_t op, enum ll_op_kind kind, uint32_t from, uint32_t looks)
{
    const struct ll_op_signature *signature = signature_of(p, op);
    uint32_t desc = desc_as(p, looks, memory_of(p, op, looks));
    if (from == LL_NONE || desc == LL_NONE)
        return LL_NONE;
    return ll_rewrite_add(&p->rewrite,
                          &(struct ll_record){.kind = kind,
                                              .phase = signature->phase,
                                              .scope = ll_rewrite_string(&p->rewrite, signature->scope),
                                              .thread = p->trace->ops[op].thread,
                                              .inputs = &from,
                                              .input_count = 1,
                                              .outputs = &desc,
                                              .output_count = 1});
}

/* What is in the type of all that a tensor is a look at: held, or the first look that was cast; LL_NONE when
 * there is none yet, or what is looked at has changed since. */
static uint32_t cast_of_whole(struct products *p, uint32_t whole, uint32_t op)
{
    const struct ll_tensor *at = &p->trace->tensors[whole];
    struct cast *first = &p->firsts[whole];
    bool held = is_held(p, whole);
    if (first->tensor == LL_NONE && held)
        first->tensor = ll_rewrite_bring(&p->rewrite, desc_as(p, whole, LL_WEIGHT));
    bool now = held || first->step == p->trace->ops[op].step;
    return now && p->writer[at->storage] == at->producer ? first->tensor : LL_NONE;
}

/* As a tensor itself is a look; what is looked at is seen otherwise than the first look that was cast. */
static enum ll_op_kind look_of(const struct products *p, uint32_t tensor)
{
    uint32_t producer = p->trace->tensors[tensor].producer;
    bool looks = producer != LL_NONE && is_look(&signature_of(p, producer)->view);
    return looks ? signature_of(p, producer)->view.kind : LL_OP_RESHAPE;
}

/* A tensor in the type; another look at what is so already is a look, too. */
static uint32_t cast_of(struct products *p, uint32_t tensor, uint32_t op)
{
    uint32_t step = p->trace->ops[op].step, whole = p->whole[tensor];
    struct cast *cast = &p->casts[tensor];
    if (cast->tensor != LL_NONE && cast->step == step)
        return cast->tensor;
    uint32_t first = cast_of_whole(p, whole, op);
    *cast = (struct cast){first, step};
    if (first == LL_NONE) {
        cast->tensor = add(p, op, LL_OP_CAST, ll_rewrite_tensor(&p->rewrite, tensor), tensor);
        p->firsts[whole] = *cast;
    } else if (tensor != whole || !is_held(p, whole)) {
        cast->tensor = add(p, op, look_of(p, tensor), first, tensor);
    }
    return cast->tensor;
}

/* The product reads casts; whoever reads the tensors otherwise reads them as they were. */
static void put_product(struct products *p, uint32_t op)
{
    struct ll_record record;
    uint32_t tensors[2], casts[2], before[2];
    for (uint32_t i = 0; i < 2; i++) {
        tensors[i] = ll_op_input(p->trace, op, i);
        casts[i] = wants_cast(p, op, i) ? cast_of(p, tensors[i], op) : LL_NONE;
    }
    if (p->rewrite.trouble)
        return;
    for (uint32_t i = 0; i < 2; i++) {
        before[i] = p->rewrite.tensors[tensors[i]];
        if (casts[i] != LL_NONE)
            ll_rewrite_redirect(&p->rewrite, tensors[i], casts[i]);
    }
    if (ll_rewrite_record(&p->rewrite, op, &record))
        ll_rewrite_put(&p->rewrite, op, &record);
    for (uint32_t i = 2; i-- > 0;)
        if (casts[i] != LL_NONE)
            ll_rewrite_redirect(&p->rewrite, tensors[i], before[i]);
}

static void put(struct products *p, uint32_t op)
{
    const struct ll_op_signature *signature = signature_of(p, op);
    if (is_left_out(p, op))
        return;
    ll_rewrite_step(&p->rewrite, op);
    if (p->of_weights[op])
        put_product(p, op);
    else
        ll_rewrite_keep(&p->rewrite, op);
    for (uint32_t o = 0; signature->bytes_written > 0 && o < signature->view.output_count; o++)
        p->writer[p->trace->tensors[ll_op_output(p->trace, op, o)].storage] = op;
}

static struct ll_trace *write(struct products *p, const char **trouble)
{
    const struct ll_fact fact = {"products", ll_numeric_name(p->numeric)};
    ll_rewrite_begin(&p->rewrite, p->trace, &fact, 1);
    for (uint32_t op = 0; op < p->trace->op_count && !p->rewrite.trouble; op++)
        put(p, op);
    return ll_rewrite_end(&p->rewrite, trouble);
}

/* All bits set: of numbers, LL_NONE. */
static void *no_numbers(struct products *p, uint64_t count, size_t size)
{
    void *list = ll_alloc(&p->arena, count + 1, size);
    if (list)
        memset(list, 0xff, (count + 1) * size);
    return list;
}

static bool begin(struct products *p)
{
    const struct ll_trace *trace = p->trace;
    uint64_t tensors = trace->tensor_count + 1, ops = trace->op_count + 1;
    p->multiplies = ll_alloc(&p->arena, trace->signature_count + 1, sizeof *p->multiplies);
    p->of_weights = ll_alloc(&p->arena, ops, sizeof *p->of_weights);
    p->weight = ll_alloc(&p->arena, tensors, sizeof *p->weight);
    p->wide = ll_alloc(&p->arena, tensors, sizeof *p->wide);
    p->read = ll_alloc(&p->arena, tensors, sizeof *p->read);
    p->written = ll_alloc(&p->arena, trace->storage_count + 1, sizeof *p->written);
    p->besides = ll_alloc(&p->arena, 2 * ops, sizeof *p->besides);
    p->origin = ll_alloc(&p->arena, tensors, sizeof *p->origin);
    p->whole = ll_alloc(&p->arena, tensors, sizeof *p->whole);
    p->casts = no_numbers(p, trace->tensor_count, sizeof *p->casts);
    p->firsts = no_numbers(p, trace->tensor_count, sizeof *p->firsts);
    p->writer = no_numbers(p, trace->storage_count, sizeof *p->writer);
    return p->multiplies && p->of_weights && p->weight && p->wide && p->read && p->written && p->besides &&
           p->origin && p->whole && p->casts && p->firsts && p->writer;
}

struct ll_trace *ll_trace_change_gemm_dtype(const struct ll_trace *trace, enum ll_numeric numeric,
                                            uint64_t *products, const char **trouble)
{
    return ll_trace_change_some_gemms(trace, numeric, (struct ll_gemms){true, true, true}, NULL, products,
                                      trouble);
}

struct ll_trace *ll_trace_change_some_gemms(const struct ll_trace *trace, enum ll_numeric numeric,
                                            struct ll_gemms gemms, const bool *kept, uint64_t *products,
                                            const char **trouble)
{
    assert(ll_dtype_is_multiplied(ll_numeric_dtype(numeric)));
    struct products p = {.trace = trace, .numeric = numeric};
    struct ll_trace *made = NULL;
    *products = 0;
    *trouble = NULL;
    if (begin(&p)) {
        find_direct(&p);
        find_gradients(&p);
        leave_out(&p, gemms, kept);
        find_wide(&p);
        for (uint32_t op = 0; op < trace->op_count; op++)
            *products += p.of_weights[op];
        made = *products ? write(&p, trouble) : ll_trace_copy(trace);
    }
    ll_arena_release(&p.arena);
    return made;
}
