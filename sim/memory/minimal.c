/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/memory/minimal.h"

#include "tracer/ir/profile.h"

#include <string.h>

/* What the walk knows. A size of zero: the tensor takes no memory, or is gone. */
struct walk {
    const struct ll_trace *trace;
    struct ll_step step;
    const struct ll_account *forms;
    const uint32_t *loops; /* by string: which loop such a scope is in, LL_NONE for none */
    const bool *part;      /* by string: whether what has such a scope or name counts; NULL: all does */
    uint64_t *size_bytes;  /* by tensor */
    uint32_t *near_reads;  /* by tensor: how many inputs it is of ops of its producer's phase */
    uint32_t *reads;       /* by tensor: how many inputs it is of ops that take memory and count */
    uint32_t *readers;     /* of these, the ones still to come */
    uint64_t live_bytes, most_bytes;
};

/* The length of a scope up to the body of its innermost loop, 0 outside of loops. */
static size_t loop_length(const char *scope)
{
    static const char body[] = "while";
    size_t length = 0;
    for (const char *part = scope; *part;) {
        size_t size = strcspn(part, "/");
        if (size == sizeof body - 1 && memcmp(part, body, size) == 0)
            length = (size_t)(part - scope) + size;
        part += size + (part[size] == '/');
    }
    return length;
}

/* By string the first one that is in the same loop. Scopes are few. */
static uint32_t *find_loops(const struct ll_trace *trace, struct ll_arena *arena)
{
    uint32_t *loops = ll_alloc(arena, trace->string_count, sizeof *loops);
    for (uint32_t i = 0; loops && i < trace->string_count; i++) {
        size_t length = loop_length(trace->strings[i]);
        loops[i] = length ? i : LL_NONE;
        for (uint32_t j = 0; length && j < i; j++)
            if (loops[j] == j && loop_length(trace->strings[j]) == length &&
                memcmp(trace->strings[i], trace->strings[j], length) == 0)
                loops[i] = j;
    }
    return loops;
}

/* Whether what has this scope or name takes memory. */
static bool is_of_part(const struct walk *walk, uint32_t string)
{
    return !walk->part || walk->part[string];
}

static const struct ll_form *form_of(const struct walk *walk, uint32_t op)
{
    return &walk->trace->forms[walk->trace->ops[op].form];
}

static bool takes_memory(const struct walk *walk, const struct ll_form *form)
{
    return form->view.kind != LL_OP_STACK && walk->forms[form - walk->trace->forms].footprint_bytes > 0;
}

static uint32_t producer_of(const struct walk *walk, uint32_t tensor)
{
    return walk->trace->tensors[tensor].producer;
}

static bool is_near(const struct walk *walk, const struct ll_form *form, uint32_t tensor)
{
    uint32_t producer = producer_of(walk, tensor);
    return producer != LL_NONE && form_of(walk, producer)->phase == form->phase;
}

/* Whether this op is a product with something that repeats: what does not is kept as if read twice. */
static bool keeps(const struct ll_form *form, uint32_t input)
{
    if (form->view.kind != LL_OP_MUL)
        return false;
    const struct ll_shape *other = &form->view.in[1 - input];
    return other->rank > 0 && ll_elements(other) < ll_elements(&form->view.in[input]);
}

/* Whether this op is a sum in a forward step: its backward step asks for the shape of what it has read. */
static bool is_asked_for(const struct walk *walk, const struct ll_form *form)
{
    return form->view.kind == LL_OP_SUM && form->phase != LL_PHASE_BACKWARD &&
           walk->loops[form->scope] != LL_NONE;
}

/* Whether a reader is one for whom a forward step does not keep what it leaves. */
static bool is_left_behind(const struct walk *walk, const struct ll_form *form, uint32_t tensor)
{
    uint32_t producer = producer_of(walk, tensor);
    return producer != LL_NONE && walk->loops[form_of(walk, producer)->scope] != LL_NONE &&
           walk->near_reads[tensor] == 1 && !is_near(walk, form, tensor);
}

/* Whether an op overwrites this input: then it does not count as a reader. A view writes nothing. */
static bool overwrites(const struct ll_form *form, uint32_t input)
{
    for (uint32_t i = 0; form->bytes_written > 0 && i < form->view.output_count; i++)
        if (form->aliases[i] == input)
            return true;
    return false;
}

/* Whether the walk waits for this input of an op before the tensor goes. */
static bool counts(const struct walk *walk, const struct ll_form *form, uint32_t op, uint32_t input)
{
    return takes_memory(walk, form) && !overwrites(form, input) && !is_asked_for(walk, form) &&
           !is_left_behind(walk, form, ll_op_input(walk->trace, op, input));
}

static void count_readers(struct walk *walk)
{
    for (uint32_t op = walk->step.first_op; op < walk->step.first_op + walk->step.op_count; op++) {
        const struct ll_form *form = form_of(walk, op);
        for (uint32_t j = 0; j < form->view.input_count; j++) {
            uint32_t tensor = ll_op_input(walk->trace, op, j);
            walk->near_reads[tensor] += is_near(walk, form, tensor) ? 1 + keeps(form, j) : 0;
        }
    }
    for (uint32_t op = walk->step.first_op; op < walk->step.first_op + walk->step.op_count; op++) {
        const struct ll_form *form = form_of(walk, op);
        for (uint32_t j = 0; j < form->view.input_count; j++)
            walk->reads[ll_op_input(walk->trace, op, j)] += counts(walk, form, op, j);
    }
    memcpy(walk->readers, walk->reads, walk->trace->tensor_count * sizeof *walk->reads);
}

/* Weights as the step finds them: those that no op made, or the last ones left by a step before. */
static void begin(struct walk *walk)
{
    for (uint32_t i = 0; i < walk->trace->tensor_count; i++) {
        const struct ll_tensor *tensor = &walk->trace->tensors[i];
        const struct ll_desc *desc = &walk->trace->descs[tensor->desc];
        bool before = tensor->producer == LL_NONE || tensor->producer < walk->step.first_op;
        if (!before || desc->memory != LL_WEIGHT || !is_of_part(walk, desc->name))
            continue;
        bool left = walk->readers[i] > 0 || tensor->producer == LL_NONE;
        walk->size_bytes[i] = left ? ll_size_bytes(&desc->shape) : 0;
        walk->live_bytes = ll_add(walk->live_bytes, walk->size_bytes[i]);
    }
}

/* Whether the op is in a loop that reads the tensor, which comes from outside, again and again. */
static bool stays(const struct walk *walk, const struct ll_form *form, uint32_t tensor)
{
    uint32_t loop = walk->loops[form->scope], producer = producer_of(walk, tensor);
    return loop != LL_NONE && walk->reads[tensor] > 1 &&
           (producer == LL_NONE || walk->loops[form_of(walk, producer)->scope] != loop);
}

static void visit(struct walk *walk, uint32_t op)
{
    const struct ll_form *form = form_of(walk, op);
    if (!takes_memory(walk, form))
        return;
    if (is_of_part(walk, form->scope))
        walk->live_bytes = ll_add(walk->live_bytes, walk->forms[form - walk->trace->forms].footprint_bytes);
    walk->most_bytes = ll_max(walk->most_bytes, walk->live_bytes);
    for (uint32_t i = 0; i < form->view.output_count && is_of_part(walk, form->scope); i++)
        if (form->aliases[i] == LL_NONE || form->bytes_written == 0)
            walk->size_bytes[ll_op_output(walk->trace, op, i)] = ll_size_bytes(&form->view.out[i]);
    for (uint32_t i = 0; i < form->view.input_count; i++) {
        uint32_t tensor = ll_op_input(walk->trace, op, i);
        if (!counts(walk, form, op, i) || --walk->readers[tensor] > 0 || stays(walk, form, tensor))
            continue;
        walk->live_bytes = ll_sub(walk->live_bytes, walk->size_bytes[tensor]);
        walk->size_bytes[tensor] = 0;
    }
}

/* Whether an op outside of loops waits for nothing: it reads constants alone. */
static bool is_first(const struct walk *walk, uint32_t op)
{
    const struct ll_form *form = form_of(walk, op);
    bool waits = walk->loops[form->scope] != LL_NONE;
    for (uint32_t i = 0; i < form->view.input_count; i++) {
        uint32_t tensor = ll_op_input(walk->trace, op, i);
        waits |= walk->trace->descs[walk->trace->tensors[tensor].desc].memory != LL_WORKSPACE ||
                 producer_of(walk, tensor) != LL_NONE;
    }
    return !waits;
}

/* What waits for nothing first, then all others, in the order of recording. */
static void visit_all(struct walk *walk)
{
    for (uint32_t i = 0; i < walk->step.op_count; i++)
        if (is_first(walk, walk->step.first_op + i))
            visit(walk, walk->step.first_op + i);
    for (uint32_t i = 0; i < walk->step.op_count; i++)
        if (!is_first(walk, walk->step.first_op + i))
            visit(walk, walk->step.first_op + i);
}

bool ll_minimal_footprint(const struct ll_trace *trace, uint64_t *bytes)
{
    return ll_minimal_footprint_of(trace, NULL, bytes);
}

bool ll_minimal_footprint_of(const struct ll_trace *trace, const bool *part, uint64_t *bytes)
{
    struct ll_arena arena = {0};
    struct ll_account *forms = ll_alloc(&arena, trace->form_count, sizeof *forms);
    struct walk walk = {.trace = trace,
                        .step = ll_trace_typical_step(trace),
                        .forms = forms,
                        .loops = find_loops(trace, &arena),
                        .part = part,
                        .size_bytes = ll_alloc(&arena, trace->tensor_count, sizeof(uint64_t)),
                        .near_reads = ll_alloc(&arena, trace->tensor_count, sizeof(uint32_t)),
                        .reads = ll_alloc(&arena, trace->tensor_count, sizeof(uint32_t)),
                        .readers = ll_alloc(&arena, trace->tensor_count, sizeof(uint32_t))};
    bool enough = forms && walk.loops && walk.size_bytes && walk.near_reads && walk.reads && walk.readers;
    for (uint64_t i = 0; enough && i < trace->form_count; i++)
        forms[i] = ll_catamount_op(&trace->forms[i].view, trace->forms[i].phase);
    if (enough) {
        count_readers(&walk);
        begin(&walk);
        visit_all(&walk);
    }
    *bytes = ll_max(walk.most_bytes, walk.live_bytes);
    ll_arena_release(&arena);
    return enough;
}
