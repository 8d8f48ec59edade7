/* SPDX-License-Identifier: Apache-2.0 */
/* Which weights are pruned, which inputs hold zeros. */
#include "tracer/transform/sparsity.h"

#include <assert.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "tracer/base/file.h"
#include "tracer/ir/ops.h"
#include "tracer/ir/work.h"

/* How a desc is read by the forward phase: along which dimension products sum over it, once and for all. */
enum { UNREAD = -1, OTHERWISE = -2 };

static void read_as(int *along, int dim)
{
    *along = *along == UNREAD || *along == dim ? dim : OTHERWISE;
}

/* The dimension of its right operand that an op sums over, as its lowering tells of zeros that lie there;
 * OTHERWISE where it has none. */
static int summed_dim(const struct ll_op_view *view)
{
    if (view->kind == LL_OP_NONE || view->input_count != 2)
        return OTHERWISE;
    for (int dim = 0; dim < view->in[1].rank; dim++) {
        struct ll_shape in[2] = {view->in[0], view->in[1]};
        struct ll_op_view tried = *view;
        struct ll_work work;
        in[1].kept = 1;
        in[1].of = 2;
        in[1].along = (uint8_t)dim;
        tried.in = in;
        if (ll_op_lower(&tried, &work) && work.of > 0)
            return dim;
    }
    return OTHERWISE;
}

/* Of a desc: how it is read, and the rule of the first layer that reads it. */
struct known {
    int along;
    const struct ll_pattern *pattern; /* NULL: none says anything */
};

/* The first rule for this scope that says something of weights, or of inputs; NULL: none. */
static const struct ll_sparsity *rule_of(const struct ll_sparsity *rules, size_t count, const char *scope,
                                         bool inputs)
{
    for (size_t i = 0; i < count; i++)
        if ((inputs ? rules[i].inputs_nonzero > 0 : rules[i].weights.of > 0) &&
            fnmatch(rules[i].layer, scope, 0) == 0)
            return &rules[i];
    return NULL;
}

/* Layers whose weights look alike share a desc. Where rules tell them apart, each rule has one of its own. */
struct parting {
    struct ll_trace *trace;
    const struct ll_sparsity *rules;
    size_t count;
    const struct ll_sparsity **rule_of_desc; /* by desc, that of the first layer that reads it */
    bool *met;                               /* by desc: a layer has read it */
    uint32_t *next;                          /* by desc: another one of the same look; LL_NONE */
    uint64_t capacity;                       /* of the trace's descs, and of the lists above */
};

/* The desc for this rule beside `desc`, which looks as it does. LL_NONE where there is no more room. */
static uint32_t part(struct parting *p, uint32_t desc, const struct ll_sparsity *rule)
{
    uint32_t last = desc;
    for (uint32_t at = desc; at != LL_NONE; last = at, at = p->next[at])
        if (!p->met[at] || p->rule_of_desc[at] == rule) {
            p->met[at] = true;
            p->rule_of_desc[at] = rule;
            return at;
        }
    if (p->trace->desc_count == p->capacity)
        return LL_NONE;
    uint32_t made = (uint32_t)p->trace->desc_count++;
    p->trace->descs[made] = p->trace->descs[desc];
    p->rule_of_desc[made] = rule;
    p->met[made] = true;
    p->next[made] = LL_NONE;
    p->next[last] = made;
    return made;
}

/* Weights among the inputs of a signature under the desc of its rule. False when memory ran out. */
static bool part_inputs(struct parting *p, struct ll_op_signature *signature)
{
    const struct ll_sparsity *rule = rule_of(p->rules, p->count, p->trace->strings[signature->scope], false);
    uint32_t *inputs = ll_alloc(&p->trace->arena, (size_t)signature->view.input_count + 1, sizeof *inputs);
    if (!inputs)
        return false;
    for (uint32_t i = 0; i < signature->view.input_count; i++) {
        uint32_t desc = signature->inputs[i];
        uint32_t mine = p->trace->descs[desc].memory == LL_WEIGHT ? part(p, desc, rule) : desc;
        inputs[i] = mine == LL_NONE ? desc : mine;
    }
    signature->inputs = inputs;
    return true;
}

static bool open_parting(struct parting *p)
{
    struct ll_arena *arena = &p->trace->arena;
    p->capacity = p->trace->desc_count + p->trace->signature_count * 2;
    uint64_t had = p->trace->desc_count;
    bool grown = ll_grow(&p->trace->descs, &had, p->capacity + 1, sizeof *p->trace->descs);
    p->rule_of_desc = ll_alloc(arena, (size_t)p->capacity + 1, sizeof *p->rule_of_desc);
    p->met = ll_alloc(arena, (size_t)p->capacity + 1, sizeof *p->met);
    p->next = ll_alloc(arena, (size_t)p->capacity + 1, sizeof *p->next);
    if (!grown || !p->rule_of_desc || !p->met || !p->next)
        return false;
    for (uint64_t i = 0; i < p->trace->desc_count; i++)
        p->next[i] = LL_NONE;
    return true;
}

/* Of a trace of forward passes alone: gradients and optimizers go by other scopes. False when memory ran
 * out. */
static bool part_layers(struct ll_trace *trace, const struct ll_sparsity *rules, size_t count)
{
    struct parting p = {.trace = trace, .rules = rules, .count = count};
    for (uint64_t i = 0; i < trace->signature_count; i++)
        if (trace->signatures[i].phase != LL_PHASE_FORWARD)
            return true;
    if (!open_parting(&p))
        return false;
    for (uint64_t i = 0; i < trace->signature_count; i++)
        if (!part_inputs(&p, &trace->signatures[i]))
            return false;
    for (uint32_t op = 0; op < trace->op_count; op++) {
        const struct ll_op_signature *signature = &trace->signatures[trace->ops[op].signature];
        for (uint32_t i = 0; i < signature->view.input_count; i++)
            if (trace->descs[signature->inputs[i]].memory == LL_WEIGHT)
                trace->tensors[ll_op_input(trace, op, i)].desc = signature->inputs[i];
    }
    return true;
}

static void look_at(const struct ll_trace *trace, const struct ll_op_signature *signature,
                    const struct ll_sparsity *rules, size_t count, struct known *known)
{
    const struct ll_sparsity *rule = rule_of(rules, count, trace->strings[signature->scope], false);
    for (uint32_t i = 0; i < signature->view.input_count; i++) {
        struct known *k = &known[signature->inputs[i]];
        if (trace->descs[signature->inputs[i]].memory != LL_WEIGHT)
            continue;
        read_as(&k->along, i == 1 ? summed_dim(&signature->view) : OTHERWISE);
        if (!k->pattern && rule && i == 1)
            k->pattern = &rule->weights;
    }
}

static bool can_be_pruned(const struct ll_shape *shape, int along, const struct ll_pattern *pattern)
{
    return along >= 0 && shape->of == 0 && shape->dim[along] > 0 &&
           (pattern->unstructured || shape->dim[along] % pattern->of == 0);
}

/* What is read of forward ops, and only these. */
static void prune_descs(struct ll_trace *trace, const struct known *known, uint64_t *weights)
{
    *weights = 0;
    for (uint64_t i = 0; i < trace->desc_count; i++) {
        struct ll_shape *shape = &trace->descs[i].shape;
        const struct ll_pattern *pattern = known[i].pattern;
        if (!pattern || !can_be_pruned(shape, known[i].along, pattern))
            continue;
        shape->kept = (uint8_t)pattern->kept;
        shape->of = (uint8_t)pattern->of;
        shape->along = (uint8_t)known[i].along;
        shape->unstructured = pattern->unstructured;
        (*weights)++;
    }
}

/* One attribute more, where zeros of the left operand mean something to the op. False when memory ran out. */
static bool know_inputs(struct ll_trace *trace, struct ll_op_signature *signature, uint64_t nonzero,
                        uint64_t *inputs)
{
    struct ll_op_view tried = signature->view;
    struct ll_work work;
    struct ll_attr attrs[LL_MAX_ATTRS];
    if (tried.kind == LL_OP_NONE || tried.attr_count >= LL_MAX_ATTRS)
        return true;
    if (tried.attr_count > 0)
        memcpy(attrs, tried.attrs, tried.attr_count * sizeof *attrs);
    attrs[tried.attr_count++] = (struct ll_attr){.key = LL_ATTR_INPUT_NONZERO, .count = (int64_t)nonzero};
    tried.attrs = attrs;
    if (!ll_op_lower(&tried, &work) || !ll_is_gemm(&work) || work.a_nonzero == 0)
        return true;
    struct ll_attr *kept = ll_alloc(&trace->arena, tried.attr_count, sizeof *kept);
    if (!kept)
        return false;
    memcpy(kept, attrs, tried.attr_count * sizeof *kept);
    signature->view.attrs = kept;
    signature->view.attr_count = tried.attr_count;
    ++*inputs;
    return true;
}

static bool know_all_inputs(struct ll_trace *trace, const struct ll_sparsity *rules, size_t count,
                            uint64_t *inputs)
{
    *inputs = 0;
    for (uint64_t i = 0; i < trace->signature_count; i++) {
        struct ll_op_signature *signature = &trace->signatures[i];
        const struct ll_sparsity *rule = rule_of(rules, count, trace->strings[signature->scope], true);
        if (rule && signature->phase == LL_PHASE_FORWARD &&
            !know_inputs(trace, signature, rule->inputs_nonzero, inputs))
            return false;
    }
    return true;
}

bool ll_trace_sparsify(struct ll_trace *trace, const struct ll_sparsity *rules, size_t count,
                       uint64_t *weights, uint64_t *inputs, const char **trouble)
{
    *trouble = NULL;
    if (count > 1 && !part_layers(trace, rules, count))
        return false;
    struct known *known = calloc(trace->desc_count + 1, sizeof *known);
    bool right = known != NULL;
    for (uint64_t i = 0; right && i < trace->desc_count; i++)
        known[i].along = UNREAD;
    for (uint64_t i = 0; right && i < trace->signature_count; i++)
        if (trace->signatures[i].phase == LL_PHASE_FORWARD)
            look_at(trace, &trace->signatures[i], rules, count, known);
    if (right)
        prune_descs(trace, known, weights);
    right = right && know_all_inputs(trace, rules, count, inputs);
    for (uint64_t i = 0; right && i < trace->signature_count; i++)
        right = ll_signature_renew(trace, &trace->signatures[i], trouble);
    free(known);
    return right;
}

bool ll_trace_prune(struct ll_trace *trace, const struct ll_pattern *pattern, uint64_t *weights,
                    const char **trouble)
{
    assert(pattern->kept <= pattern->of);
    const struct ll_sparsity all = {.layer = "*", .weights = *pattern};
    uint64_t inputs;
    char text[LL_PATTERN_TEXT];
    ll_pattern_print(pattern, text);
    return ll_trace_sparsify(trace, &all, 1, weights, &inputs, trouble) &&
           ll_trace_note(trace, "pruned", text);
}

/* --- rules from a file --- */

static bool complain(struct ll_csv *csv, const struct ll_csv_field *field, const char *expected)
{
    struct ll_place place = ll_csv_place(csv, field);
    place.width = strlen(field->text);
    csv->failed = true;
    return ll_complain(csv->diags, place, "`%.40s`: expected %s", field->text, expected);
}

/* Blanks on both sides off, in place. */
static const char *trimmed(const struct ll_csv_field *field, struct ll_arena *arena)
{
    const char *text = field->text + strspn(field->text, " \t");
    size_t length = strlen(text);
    while (length > 0 && strchr(" \t\r", text[length - 1]))
        length--;
    const char *copy = ll_copy_text(arena, text, length);
    return copy ? copy : "";
}

static bool read_rule(struct ll_csv *csv, const struct ll_csv_field *fields, size_t count,
                      struct ll_sparsity *rule)
{
    const char *weights = count > 1 ? trimmed(&fields[1], csv->arena) : "",
               *inputs = count > 2 ? trimmed(&fields[2], csv->arena) : "";
    struct ll_pattern zeros = {0};
    *rule = (struct ll_sparsity){.layer = trimmed(&fields[0], csv->arena)};
    if (*weights && !ll_sparsity_parse(weights, &rule->weights))
        return complain(csv, &fields[1], LL_SPARSITY_WANTED);
    if (*inputs && (!ll_sparsity_parse(inputs, &zeros) || !zeros.unstructured))
        return complain(csv, &fields[2], "the share of the inputs that is zero, as 45%");
    if (*inputs)
        rule->inputs_nonzero = zeros.kept * 100 / zeros.of;
    return *rule->layer != '\0' || complain(csv, &fields[0], "a pattern of layers, as conv1* or *");
}

bool ll_sparsity_read(const char *text, size_t length, const char *name, struct ll_arena *arena,
                      struct ll_diags *diags, struct ll_sparsity **rules, size_t *count)
{
    struct ll_csv csv = {.file = name, .at = text, .end = text + length, .arena = arena, .diags = diags};
    const struct ll_csv_field *fields;
    size_t fields_count, lines = 1;
    for (size_t i = 0; i < length; i++)
        lines += text[i] == '\n';
    *count = 0;
    *rules = ll_alloc(arena, lines, sizeof **rules);
    if (!*rules)
        return false;
    for (bool header = true; (fields = ll_csv_next(&csv, &fields_count)); header = false) {
        bool blank = fields_count == 1 && !*trimmed(&fields[0], arena);
        if (!header && !blank && *count < lines && read_rule(&csv, fields, fields_count, &(*rules)[*count]))
            ++*count;
    }
    if (!csv.failed && *count == 0)
        ll_complain(diags, (struct ll_place){.file = name},
                    "no layer stands in this file; expected rows of layer, weights, inputs below a header");
    return !csv.failed && *count > 0;
}
