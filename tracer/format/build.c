/* SPDX-License-Identifier: Apache-2.0 */
/* A trace from the frames of a file: definitions, facts, steps, and the end, where what was lost is accounted
 * for (build_ops.c takes the ops).
 *
 * Definitions refer only backwards, so each is complete or lost at once: a string by its frame, a desc by its
 * strings, a form by its strings and descs. Names that this program does not know cost exactly what needs
 * them; only the kind of an op may be unknown. */
#include "tracer/format/build.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tracer/base/arena.h"
#include "tracer/ir/trace.h"

static const char *const dtype_names[] = {
#define X(word, name, bytes) name,
    LL_DTYPE_LIST(X)
#undef X
};
static const char *const role_names[] = {
#define X(word, name) name,
    LL_ROLE_LIST(X)
#undef X
};
static const char *const memory_names[] = {
#define X(word, name) name,
    LL_MEMORY_LIST(X)
#undef X
};
static const char *const phase_names[] = {
#define X(word, name) name,
    LL_PHASE_LIST(X)
#undef X
};
static const char *const attr_names[] = {
#define X(word, name, type) name,
    LL_ATTR_LIST(X)
#undef X
};

/* The columns of the frame; those of items are used up from the front. */
struct columns {
    const uint64_t *of[LL_DEF_TAGS];
};

static uint64_t next(struct columns *columns, enum ll_definitions_tag tag)
{
    return *columns->of[tag]++;
}

/* The same of a column that may be absent: zeros. */
static uint64_t next_or_none(struct columns *columns, enum ll_definitions_tag tag)
{
    return columns->of[tag] ? next(columns, tag) : 0;
}

/* The place of a text among names, `count` when it is none of them or is lost. */
static uint32_t find_name(const struct ll_trace_build *build, uint64_t string, const char *const *names,
                          uint32_t count)
{
    uint32_t at = ll_build_place(&build->strings, string), i = 0;
    if (at == LL_NONE)
        return count;
    const char *text = build->trace->strings[at]; /* most differ in the first letter */
    while (i < count && (names[i][0] != text[0] || strcmp(names[i], text) != 0))
        i++;
    return i;
}

#define FIND(build, string, names) find_name(build, string, names, sizeof names / sizeof names[0])

static bool lose(struct ll_trace_build *build, const char *what, uint64_t number, const char *why)
{
    return ll_walk_complain(build->walk, "frame %" PRIu32 " at byte %" PRIu64 ": %s %" PRIu64 " is lost: %s",
                            build->frame->number, build->frame->offset, what, number, why);
}

/* Room for numbers from `first` on; those that no frame defined stay lost. */
static bool reserve(struct ll_trace_build *build, struct ll_places *places, uint64_t first, uint64_t count)
{
    uint64_t end = ll_add(first, count);
    if (first < places->count)
        return ll_build_refuse(build, "it defines again what was defined before");
    if (end >= LL_NONE)
        return ll_build_refuse(build, "it defines more than there can be");
    if (!ll_build_charge(build, first - places->count, sizeof *places->at))
        return false;
    if (!ll_grow(&places->at, &places->capacity, end, sizeof *places->at))
        return ll_build_no_memory(build);
    while (places->count < end)
        places->at[places->count++] = LL_NONE;
    return true;
}

static bool add_strings(struct ll_trace_build *build, struct columns *columns, uint64_t first, uint64_t count)
{
    struct ll_trace *trace = build->trace;
    struct ll_view text;
    ll_block_bytes(&build->block, LL_DEF_TEXT, &text);
    if (!ll_grow(&trace->strings, &build->string_capacity, trace->string_count + count,
                 sizeof *trace->strings))
        return ll_build_no_memory(build);
    for (uint64_t i = 0; i < count; i++) {
        uint64_t size = next(columns, LL_DEF_STRING_SIZE);
        const uint8_t *begin = text.at;
        text.at += size;
        if (size && memchr(begin, '\0', size)) {
            lose(build, "string", first + i, "it holds a NUL");
            continue;
        }
        const char *copy = ll_copy_text(&trace->arena, (const char *)begin, size);
        if (!copy)
            return ll_build_no_memory(build);
        build->strings.at[first + i] = (uint32_t)trace->string_count;
        trace->strings[trace->string_count++] = copy;
    }
    return true;
}

static bool take_zeros(uint64_t packed, struct ll_shape *shape)
{
    shape->kept = (uint8_t)packed;
    shape->of = (uint8_t)(packed >> 8);
    shape->along = (uint8_t)(packed >> 16);
    shape->unstructured = (uint8_t)(packed >> 24);
    return packed >> 32 == 0 && ll_zeros_fit(shape);
}

/* NULL, or why the desc is lost. */
static const char *take_desc(struct ll_trace_build *build, struct columns *columns, struct ll_desc *desc)
{
    uint32_t dtype = FIND(build, next(columns, LL_DEF_DESC_DTYPE), dtype_names);
    uint64_t rank = next(columns, LL_DEF_DESC_RANK);
    desc->name = ll_build_place(&build->strings, next(columns, LL_DEF_DESC_NAME));
    desc->memory = FIND(build, next(columns, LL_DEF_DESC_MEMORY), memory_names);
    desc->shape = (struct ll_shape){.dtype = (uint8_t)dtype, .rank = (uint8_t)rank};
    for (uint64_t i = 0; i < rank; i++) {
        uint64_t dim = next(columns, LL_DEF_DESC_DIM), role_name = next(columns, LL_DEF_DESC_ROLE);
        uint32_t role = FIND(build, role_name, role_names);
        if (i < LL_MAX_RANK) {
            desc->shape.dim[i] = dim;
            desc->shape.role[i] = role < LL_ROLE_COUNT ? (uint8_t)role : LL_ROLE_PLAIN;
        }
    }
    if (desc->name == LL_NONE)
        return "its name is lost";
    if (desc->memory == LL_MEMORY_COUNT)
        return "its memory class is lost or not known here";
    if (dtype == LL_DTYPE_COUNT)
        return "its dtype is lost or not known here";
    if (rank > LL_MAX_RANK)
        return "it has too many dimensions";
    if (!take_zeros(next_or_none(columns, LL_DEF_DESC_ZEROS), &desc->shape))
        return "its zeros lie nowhere";
    return ll_fits(ll_size_bytes(&desc->shape)) ? NULL : "its size does not fit in 64 bits";
}

static bool add_descs(struct ll_trace_build *build, struct columns *columns, uint64_t first, uint64_t count)
{
    struct ll_trace *trace = build->trace;
    if (!ll_grow(&trace->descs, &build->desc_capacity, trace->desc_count + count, sizeof *trace->descs))
        return ll_build_no_memory(build);
    for (uint64_t i = 0; i < count; i++) {
        const char *why = take_desc(build, columns, &trace->descs[trace->desc_count]);
        if (why)
            lose(build, "desc", first + i, why);
        else
            build->descs.at[first + i] = (uint32_t)trace->desc_count++;
    }
    return true;
}

/* Attributes of keys that are not known here are left out of an op that is not known either. */
static bool take_attrs(struct ll_trace_build *build, struct columns *columns, uint64_t count,
                       struct ll_attr *attrs, struct ll_op_view *view)
{
    bool known = true;
    for (uint64_t i = 0; i < count; i++) {
        uint32_t key = FIND(build, next(columns, LL_DEF_FORM_ATTR_KEY), attr_names);
        uint64_t value = next(columns, LL_DEF_FORM_ATTR_VALUE);
        known &= key < LL_ATTR_COUNT;
        if (key == LL_ATTR_COUNT || view->attr_count == LL_MAX_ATTRS)
            continue;
        attrs[view->attr_count].key = key;
        if (!ll_attr_is_real((enum ll_attr_key)key))
            value = ll_unzigzag(value);
        memcpy(&attrs[view->attr_count++].count, &value, sizeof value);
    }
    return known && count <= LL_MAX_ATTRS;
}

/* Descs of inputs or outputs with their shapes; false when one is lost. */
static bool take_descs(struct ll_trace_build *build, struct columns *columns, enum ll_definitions_tag tag,
                       uint32_t count, uint32_t *descs, struct ll_shape *shapes)
{
    bool known = true;
    for (uint32_t i = 0; i < count; i++) {
        descs[i] = ll_build_place(&build->descs, next(columns, tag));
        known &= descs[i] != LL_NONE;
        if (descs[i] != LL_NONE)
            shapes[i] = build->trace->descs[descs[i]].shape;
    }
    return known;
}

static bool take_aliases(struct columns *columns, const struct ll_op_view *view, uint32_t *aliases)
{
    bool sound = true;
    for (uint32_t i = 0; i < view->output_count; i++) {
        uint64_t alias = next(columns, LL_DEF_FORM_ALIAS);
        sound &= alias <= view->input_count;
        aliases[i] = alias && sound ? (uint32_t)alias - 1 : LL_NONE;
        if (view->kind < LL_OP_COUNT)
            sound &= aliases[i] == ll_op_alias(view, i);
    }
    return sound;
}

/* The counts of a known kind are those of the op table here, or the form is not to be trusted. */
static const char *check_counts(const struct ll_form *form)
{
    struct ll_form_counts counts;
    if (!ll_fits(form->flops) || !ll_fits(form->bytes_read) || !ll_fits(form->bytes_written))
        return "a count does not fit in 64 bits";
    if (form->view.kind == LL_OP_COUNT)
        return NULL;
    const char *trouble = ll_form_count(&form->view, &counts);
    if (!trouble && (counts.flops != form->flops || counts.bytes_read != form->bytes_read ||
                     counts.bytes_written != form->bytes_written))
        trouble = "its FLOPs or bytes are not those that the op table here gives";
    return trouble;
}

/* What of a form could be understood. */
struct known {
    bool descs, attrs, aliases;
};

/* Inputs, outputs and attributes, whose numbers are in the view; false when memory ran out. */
static bool take_lists(struct ll_trace_build *build, struct columns *columns, uint64_t attr_count,
                       struct ll_form *form, struct known *known)
{
    struct ll_arena *arena = &build->trace->arena;
    struct ll_op_view *view = &form->view;
    uint64_t kept_attrs = attr_count < LL_MAX_ATTRS ? attr_count : LL_MAX_ATTRS;
    struct ll_shape *in = ll_alloc(arena, view->input_count, sizeof *in);
    struct ll_shape *out = ll_alloc(arena, view->output_count, sizeof *out);
    struct ll_attr *attrs = ll_alloc(arena, kept_attrs, sizeof *attrs);
    uint32_t *inputs = ll_alloc(arena, view->input_count, sizeof *inputs);
    uint32_t *outputs = ll_alloc(arena, view->output_count, sizeof *outputs);
    uint32_t *aliases = ll_alloc(arena, view->output_count, sizeof *aliases);
    if (!in || !out || !attrs || !inputs || !outputs || !aliases)
        return ll_build_no_memory(build);
    known->descs = take_descs(build, columns, LL_DEF_FORM_INPUT, view->input_count, inputs, in);
    known->descs &= take_descs(build, columns, LL_DEF_FORM_OUTPUT, view->output_count, outputs, out);
    known->attrs = take_attrs(build, columns, attr_count, attrs, view);
    view->attrs = attrs;
    known->aliases = take_aliases(columns, view, aliases);
    view->in = in;
    view->out = out;
    form->inputs = inputs;
    form->outputs = outputs;
    form->aliases = aliases;
    return true;
}

/* NULL, or why the form is lost. */
static const char *judge_form(const struct ll_form *form, const struct known *known)
{
    const struct ll_op_view *view = &form->view;
    if (form->kind_name == LL_NONE || form->scope == LL_NONE)
        return "its kind or scope is lost";
    if (form->phase == LL_PHASE_COUNT)
        return "its phase is lost or not known here";
    if (!known->descs)
        return "a desc that it needs is lost";
    if (view->output_count > LL_MAX_OP_REFS || view->input_count > LL_MAX_OP_REFS)
        return "it has too many inputs or outputs";
    if (!known->attrs && view->kind < LL_OP_COUNT)
        return "an attribute of it is lost or not known here";
    return known->aliases ? check_counts(form)
                          : "its outputs do not take over storages as this kind of op does";
}

/* The same. All items of the columns are used up in any case. */
static const char *take_form(struct ll_trace_build *build, struct columns *columns, struct ll_form *form)
{
    uint64_t kind = next(columns, LL_DEF_FORM_KIND), phase = next(columns, LL_DEF_FORM_PHASE);
    uint64_t attr_count = next(columns, LL_DEF_FORM_ATTRS);
    struct ll_op_view *view = &form->view;
    struct known known = {false};
    *form = (struct ll_form){.kind_name = ll_build_place(&build->strings, kind)};
    form->scope = ll_build_place(&build->strings, next(columns, LL_DEF_FORM_SCOPE));
    view->input_count = (uint32_t)next(columns, LL_DEF_FORM_INPUTS);
    view->output_count = (uint32_t)next(columns, LL_DEF_FORM_OUTPUTS);
    view->kind =
        form->kind_name == LL_NONE ? LL_OP_COUNT : ll_op_find(build->trace->strings[form->kind_name]);
    form->phase = (enum ll_phase)FIND(build, phase, phase_names);
    if (!take_lists(build, columns, attr_count, form, &known))
        return "memory ran out";
    form->flops = next(columns, LL_DEF_FORM_FLOPS);
    form->bytes_read = next(columns, LL_DEF_FORM_READ);
    form->bytes_written = next(columns, LL_DEF_FORM_WRITTEN);
    return judge_form(form, &known);
}

static bool add_forms(struct ll_trace_build *build, struct columns *columns, uint64_t first, uint64_t count)
{
    struct ll_trace *trace = build->trace;
    if (!ll_grow(&trace->forms, &build->form_capacity, trace->form_count + count, sizeof *trace->forms))
        return ll_build_no_memory(build);
    for (uint64_t i = 0; i < count && build->status == LL_OK; i++) {
        const char *why = take_form(build, columns, &trace->forms[trace->form_count]);
        if (why)
            lose(build, "form", first + i, why);
        else
            build->forms.at[first + i] = (uint32_t)trace->form_count++;
    }
    return build->status == LL_OK;
}

static bool add_links(struct ll_trace_build *build, struct columns *columns, uint64_t first, uint64_t count)
{
    struct ll_trace *trace = build->trace;
    if (!ll_grow(&trace->links, &build->links_capacity, trace->links_count + count, sizeof *trace->links))
        return ll_build_no_memory(build);
    for (uint64_t i = 0; i < count; i++) {
        uint64_t inputs = next(columns, LL_DEF_LINKS_INPUTS), controls = next(columns, LL_DEF_LINKS_CONTROLS);
        const uint64_t *input = columns->of[LL_DEF_LINKS_INPUT], *control = columns->of[LL_DEF_LINKS_CONTROL];
        uint64_t storage = next_or_none(columns, LL_DEF_LINKS_STORAGE);
        uint64_t gaps = next_or_none(columns, LL_DEF_LINKS_GAPS);
        columns->of[LL_DEF_LINKS_INPUT] += inputs;
        columns->of[LL_DEF_LINKS_CONTROL] += controls;
        if (inputs > LL_MAX_OP_REFS || controls > LL_MAX_OP_REFS) {
            lose(build, "links", first + i, "they are too many");
            continue;
        }
        if (ll_add(storage, gaps) > controls) {
            lose(build, "links", first + i, "they give reasons for more than there are");
            continue;
        }
        struct ll_links links = {ll_copy(&trace->arena, input, inputs * sizeof *input),
                                 ll_copy(&trace->arena, control, controls * sizeof *control),
                                 (uint32_t)inputs,
                                 (uint32_t)controls,
                                 (uint32_t)storage,
                                 (uint32_t)gaps};
        if (!links.inputs || !links.controls)
            return ll_build_no_memory(build);
        build->links.at[first + i] = (uint32_t)trace->links_count;
        trace->links[trace->links_count++] = links;
    }
    return true;
}

/* How many values a column must have: as many as another, or the sum of another (then `summed`). */
static const struct shape_of_column {
    uint8_t like;
    bool summed;
} column_rules[LL_DEF_TAGS] = {
    [LL_DEF_STRING_SIZE] = {LL_DEF_STRING_SIZE, false},
    [LL_DEF_DESC_NAME] = {LL_DEF_DESC_NAME, false},
    [LL_DEF_DESC_MEMORY] = {LL_DEF_DESC_NAME, false},
    [LL_DEF_DESC_DTYPE] = {LL_DEF_DESC_NAME, false},
    [LL_DEF_DESC_RANK] = {LL_DEF_DESC_NAME, false},
    [LL_DEF_DESC_DIM] = {LL_DEF_DESC_RANK, true},
    [LL_DEF_DESC_ROLE] = {LL_DEF_DESC_RANK, true},
    [LL_DEF_FORM_KIND] = {LL_DEF_FORM_KIND, false},
    [LL_DEF_FORM_PHASE] = {LL_DEF_FORM_KIND, false},
    [LL_DEF_FORM_SCOPE] = {LL_DEF_FORM_KIND, false},
    [LL_DEF_FORM_INPUTS] = {LL_DEF_FORM_KIND, false},
    [LL_DEF_FORM_OUTPUTS] = {LL_DEF_FORM_KIND, false},
    [LL_DEF_FORM_ATTRS] = {LL_DEF_FORM_KIND, false},
    [LL_DEF_FORM_INPUT] = {LL_DEF_FORM_INPUTS, true},
    [LL_DEF_FORM_OUTPUT] = {LL_DEF_FORM_OUTPUTS, true},
    [LL_DEF_FORM_ALIAS] = {LL_DEF_FORM_OUTPUTS, true},
    [LL_DEF_FORM_ATTR_KEY] = {LL_DEF_FORM_ATTRS, true},
    [LL_DEF_FORM_ATTR_VALUE] = {LL_DEF_FORM_ATTRS, true},
    [LL_DEF_FORM_FLOPS] = {LL_DEF_FORM_KIND, false},
    [LL_DEF_FORM_READ] = {LL_DEF_FORM_KIND, false},
    [LL_DEF_FORM_WRITTEN] = {LL_DEF_FORM_KIND, false},
    [LL_DEF_LINKS_INPUTS] = {LL_DEF_LINKS_INPUTS, false},
    [LL_DEF_LINKS_CONTROLS] = {LL_DEF_LINKS_INPUTS, false},
    [LL_DEF_LINKS_INPUT] = {LL_DEF_LINKS_INPUTS, true},
    [LL_DEF_LINKS_CONTROL] = {LL_DEF_LINKS_CONTROLS, true},
    [LL_DEF_LINKS_STORAGE] = {LL_DEF_LINKS_INPUTS, false},
    [LL_DEF_LINKS_GAPS] = {LL_DEF_LINKS_INPUTS, false},
    [LL_DEF_DESC_ZEROS] = {LL_DEF_DESC_NAME, false},
};

/* Everything the frame claims to hold, before any of it is decoded. Ranks and attributes are charged by their
 * items: dimensions as a desc's eighth. */
static bool charge(struct ll_trace_build *build)
{
    static const struct {
        uint8_t tag, weight;
    } charged[] = {
        {LL_DEF_STRING_SIZE, LL_WEIGHT_STRING},      {LL_DEF_DESC_NAME, LL_WEIGHT_DESC},
        {LL_DEF_FORM_KIND, LL_WEIGHT_FORM},          {LL_DEF_FORM_INPUT, LL_WEIGHT_FORM_REF},
        {LL_DEF_FORM_OUTPUT, LL_WEIGHT_FORM_REF},    {LL_DEF_FORM_ATTR_KEY, LL_WEIGHT_ATTR},
        {LL_DEF_LINKS_INPUTS, LL_WEIGHT_LINKS},      {LL_DEF_LINKS_INPUT, LL_WEIGHT_LINKS_REF},
        {LL_DEF_LINKS_CONTROL, LL_WEIGHT_LINKS_REF},
    };
    struct ll_view text;
    for (size_t i = 0; i < sizeof charged / sizeof charged[0]; i++)
        if (!ll_build_charge(build, ll_block_count(&build->block, charged[i].tag), charged[i].weight))
            return false;
    if (ll_block_count(&build->block, LL_DEF_DESC_DIM) >
        LL_MAX_RANK * ll_block_count(&build->block, LL_DEF_DESC_NAME))
        return ll_build_refuse(build, "a desc has too many dimensions");
    if (!ll_block_bytes(&build->block, LL_DEF_TEXT, &text))
        return ll_build_refuse(build, "its text is of another encoding");
    return ll_build_charge(build, (uint64_t)(text.end - text.at), 1);
}

/* Columns that files of older versions lack, and files without such edges and zeros. */
static bool may_be_absent(unsigned tag)
{
    return tag == LL_DEF_LINKS_STORAGE || tag == LL_DEF_LINKS_GAPS || tag == LL_DEF_DESC_ZEROS;
}

static uint64_t build_sum(const uint64_t *values, uint64_t count);

/* Decodes all columns, each of the length that the others ask for. */
static bool decode(struct ll_trace_build *build, struct columns *columns)
{
    struct ll_block *block = &build->block;
    for (unsigned tag = LL_DEF_STRING_SIZE; tag < LL_DEF_TAGS; tag++) {
        struct shape_of_column rule = column_rules[tag];
        if (tag == LL_DEF_TEXT)
            continue;
        uint64_t count = ll_block_count(block, rule.like);
        if (rule.summed)
            count = build_sum(columns->of[rule.like], count);
        if (may_be_absent(tag) && ll_block_count(block, tag) == 0)
            continue;
        columns->of[tag] = ll_block_numbers(block, tag, count);
        if (!columns->of[tag])
            return ll_build_refuse(build, "its columns do not fit together");
    }
    return true;
}

bool ll_build_definitions(struct ll_trace_build *build)
{
    struct ll_block *block = &build->block;
    struct columns columns = {0};
    const uint64_t *first = ll_block_numbers(block, LL_DEF_FIRST, 4);
    if (!first)
        return ll_build_refuse(build, "it does not say where it belongs");
    if (!charge(build) || !decode(build, &columns))
        return false;
    uint64_t strings = ll_block_count(block, LL_DEF_STRING_SIZE),
             descs = ll_block_count(block, LL_DEF_DESC_NAME);
    uint64_t forms = ll_block_count(block, LL_DEF_FORM_KIND),
             links = ll_block_count(block, LL_DEF_LINKS_INPUTS);
    struct ll_view text;
    ll_block_bytes(block, LL_DEF_TEXT, &text);
    if (build_sum(columns.of[LL_DEF_STRING_SIZE], strings) != (uint64_t)(text.end - text.at))
        return ll_build_refuse(build, "its columns do not fit together");
    return reserve(build, &build->strings, first[0], strings) &&
           reserve(build, &build->descs, first[1], descs) && reserve(build, &build->forms, first[2], forms) &&
           reserve(build, &build->links, first[3], links) &&
           add_strings(build, &columns, first[0], strings) && add_descs(build, &columns, first[1], descs) &&
           add_forms(build, &columns, first[2], forms) && add_links(build, &columns, first[3], links);
}

bool ll_build_no_memory(struct ll_trace_build *build)
{
    build->status = LL_NO_MEMORY;
    return false;
}

bool ll_build_refuse(struct ll_trace_build *build, const char *why)
{
    return build->status == LL_OK && ll_walk_refuse(build->walk, build->frame, why);
}

/* Adds so much to what was counted so far, if it stays within the limit. */
static bool afford(const struct ll_trace_build *build, uint64_t *so_far, uint64_t count, uint64_t weight_each)
{
    uint64_t weight = ll_add(*so_far, ll_mul(count, weight_each));
    if (weight > build->weight_limit)
        return false;
    *so_far = weight;
    return true;
}

bool ll_build_afford(struct ll_trace_build *build, uint64_t count, uint64_t weight_each)
{
    return afford(build, &build->weight, count, weight_each);
}

bool ll_build_charge(struct ll_trace_build *build, uint64_t count, uint64_t weight_each)
{
    return ll_build_afford(build, count, weight_each) ||
           ll_build_refuse(build, "it holds more than a file of this size may");
}

/* LL_NO_FIT past 64 bits. */
static uint64_t build_sum(const uint64_t *values, uint64_t count)
{
    uint64_t total = 0;
    for (uint64_t i = 0; i < count; i++)
        total = ll_add(total, values[i]);
    return total;
}

/* A text of the file; NULL when it holds a NUL (or memory ran out). */
static const char *take_text(struct ll_trace_build *build, struct ll_view *text, uint64_t size)
{
    char *copy = memchr(text->at, '\0', size)
                     ? NULL
                     : ll_copy_text(&build->trace->arena, (const char *)text->at, size);
    text->at += size;
    return copy;
}

bool ll_build_facts(struct ll_trace_build *build)
{
    struct ll_block *block = &build->block;
    struct ll_trace *trace = build->trace;
    struct ll_view text;
    uint64_t count = ll_block_count(block, LL_FACTS_KEY_SIZE);
    if (!ll_block_bytes(block, LL_FACTS_TEXT, &text))
        return ll_build_refuse(build, "its text is of another encoding");
    uint64_t text_bytes = (uint64_t)(text.end - text.at);
    if (!ll_build_charge(build, count, LL_WEIGHT_FACT) || !ll_build_charge(build, text_bytes, 1))
        return false;
    const uint64_t *key_sizes = ll_block_numbers(block, LL_FACTS_KEY_SIZE, count);
    const uint64_t *value_sizes = ll_block_numbers(block, LL_FACTS_VALUE_SIZE, count);
    if (!key_sizes || !value_sizes ||
        ll_add(build_sum(key_sizes, count), build_sum(value_sizes, count)) != text_bytes)
        return ll_build_refuse(build, "its columns do not fit together");
    if (!ll_grow(&trace->facts, &build->fact_capacity, trace->fact_count + count, sizeof *trace->facts))
        return ll_build_no_memory(build);
    for (uint64_t i = 0; i < count; i++) {
        struct ll_fact fact;
        fact.key = take_text(build, &text, key_sizes[i]);
        fact.value = take_text(build, &text, value_sizes[i]);
        if (fact.key && fact.value)
            trace->facts[trace->fact_count++] = fact;
    }
    return true;
}

bool ll_build_reach_step(struct ll_trace_build *build, uint64_t step)
{
    struct ll_trace *trace = build->trace;
    if (step < trace->step_count)
        return true;
    uint64_t more = step - trace->step_count + 1;
    if (step >= LL_NONE || !afford(build, &build->step_weight, more, LL_WEIGHT_STEP))
        return false;
    if (!ll_grow(&trace->steps, &build->step_capacity, step + 1, sizeof *trace->steps) ||
        !ll_grow(&build->step_recorded, &build->recorded_capacity, step + 1, sizeof *build->step_recorded))
        return ll_build_no_memory(build);
    memset(trace->steps + trace->step_count, 0, more * sizeof *trace->steps);
    memset(build->step_recorded + trace->step_count, 0, more * sizeof *build->step_recorded);
    trace->step_count = step + 1;
    return true;
}

/* The columns of a frame of steps. */
struct steps {
    const uint64_t *first_op, *ops, *start, *wall, *recording;
    uint64_t first, count;
};

/* What the frame claims, before any of it is decoded. */
static bool find_steps(struct ll_trace_build *build, struct steps *steps)
{
    const uint64_t *first = ll_block_numbers(&build->block, LL_STEPS_FIRST, 1);
    steps->count = ll_block_count(&build->block, LL_STEPS_FIRST_OP);
    steps->first = first ? *first : 0;
    return (first && steps->count > 0 && steps->count <= LL_MAX_COLUMN_VALUES) ||
           ll_build_refuse(build, "its columns do not fit together");
}

static bool decode_steps(struct ll_trace_build *build, struct steps *steps)
{
    struct ll_block *block = &build->block;
    steps->first_op = ll_block_numbers(block, LL_STEPS_FIRST_OP, steps->count);
    steps->ops = ll_block_numbers(block, LL_STEPS_OPS, steps->count);
    steps->start = ll_block_numbers(block, LL_STEPS_START, steps->count);
    steps->wall = ll_block_numbers(block, LL_STEPS_WALL, steps->count);
    steps->recording = ll_block_numbers(block, LL_STEPS_RECORDING, steps->count);
    return (steps->first_op && steps->ops && steps->start && steps->wall && steps->recording) ||
           ll_build_refuse(build, "its columns do not fit together");
}

/* False when step i of the frame cannot be. */
static bool take_step(const struct steps *steps, uint64_t i, struct ll_step *step)
{
    *step = (struct ll_step){(uint32_t)steps->first_op[i],
                             (uint32_t)steps->ops[i],
                             steps->start[i],
                             steps->wall[i],
                             steps->recording[i],
                             false};
    return steps->ops[i] < LL_NONE && steps->first_op[i] < LL_NONE &&
           ll_fits(ll_add(steps->start[i], steps->wall[i]));
}

bool ll_build_steps(struct ll_trace_build *build)
{
    struct steps steps;
    if (!find_steps(build, &steps))
        return false;
    if (!ll_build_reach_step(build, ll_add(steps.first, steps.count - 1)))
        return ll_build_refuse(build, "it holds more steps than a file of this size may");
    if (!decode_steps(build, &steps))
        return false;
    for (uint64_t i = 0; i < steps.count; i++) {
        struct ll_step step;
        if (!take_step(&steps, i, &step))
            continue;
        build->step_recorded[steps.first + i] = true;
        build->trace->steps[steps.first + i] = step;
    }
    return true;
}

/* Cuts come in a row without gap, or not at all. */
bool ll_build_cuts(struct ll_trace_build *build)
{
    struct steps steps;
    if (!find_steps(build, &steps) || !ll_build_charge(build, steps.count, LL_WEIGHT_STEP) ||
        !decode_steps(build, &steps))
        return false;
    const uint64_t *partial = ll_block_numbers(&build->block, LL_STEPS_PARTIAL, steps.count);
    if (!partial)
        return ll_build_refuse(build, "its columns do not fit together");
    if (!ll_grow(&build->cuts, &build->cut_capacity, build->cut_count + steps.count, sizeof *build->cuts))
        return ll_build_no_memory(build);
    uint64_t next = build->cut_count ? (uint64_t)build->cuts[build->cut_count - 1].first_op +
                                           build->cuts[build->cut_count - 1].op_count
                                     : 0;
    for (uint64_t i = 0; i < steps.count; i++) {
        struct ll_step *cut = &build->cuts[build->cut_count];
        if (!take_step(&steps, i, cut) || cut->first_op != next || steps.first + i != build->cut_count)
            return ll_build_refuse(build, "its steps do not follow one another");
        cut->complete = partial[i] == 0;
        next += cut->op_count;
        build->cut_count++;
    }
    return true;
}

bool ll_build_end(struct ll_trace_build *build)
{
    const uint64_t *totals = ll_block_numbers(&build->block, LL_END_TOTALS, 3);
    if (!totals)
        return ll_build_refuse(build, "its columns do not fit together");
    build->ended = true;
    build->total_ops = totals[0];
    return true;
}

/* A desc for tensors of which nothing is known: of no size. */
static bool give_looks(struct ll_trace_build *build)
{
    struct ll_trace *trace = build->trace;
    uint32_t lost = LL_NONE;
    for (uint64_t i = 0; i < trace->tensor_count; i++) {
        if (trace->tensors[i].desc != LL_NONE)
            continue;
        if (lost == LL_NONE) {
            lost = (uint32_t)trace->desc_count;
            if (!ll_grow(&trace->strings, &build->string_capacity, trace->string_count + 1,
                         sizeof *trace->strings) ||
                !ll_grow(&trace->descs, &build->desc_capacity, trace->desc_count + 1, sizeof *trace->descs))
                return ll_build_no_memory(build);
            trace->strings[trace->string_count++] = "lost";
            trace->descs[trace->desc_count++] = (struct ll_desc){
                .name = (uint32_t)(trace->string_count - 1), .memory = LL_WORKSPACE, .shape = {.rank = 1}};
        }
        trace->tensors[i].desc = lost;
    }
    return true;
}

/* A step that was not recorded gets its times from its ops. */
static void time_by_ops(const struct ll_trace *trace, struct ll_step *step)
{
    uint64_t begin_ns = UINT64_MAX, end_ns = 0;
    for (uint64_t i = step->first_op; i < (uint64_t)step->first_op + step->op_count; i++) {
        begin_ns = ll_min(begin_ns, trace->ops[i].start_ns);
        end_ns = ll_max(end_ns, trace->ops[i].start_ns + trace->ops[i].duration_ns);
    }
    step->start_ns = step->op_count ? begin_ns : 0;
    step->wall_ns = step->op_count ? end_ns - begin_ns : 0;
}

/* The ops of a step stand one after the other, steps in order. */
static void count_steps(struct ll_trace_build *build)
{
    struct ll_trace *trace = build->trace;
    uint64_t op = 0;
    for (uint64_t i = 0; i < trace->step_count; i++) {
        struct ll_step *step = &trace->steps[i];
        uint32_t recorded = step->op_count;
        step->first_op = (uint32_t)op;
        while (op < trace->op_count && trace->ops[op].step == i)
            op++;
        step->op_count = (uint32_t)op - step->first_op;
        step->complete = build->step_recorded[i] && recorded == step->op_count;
        if (!build->step_recorded[i])
            time_by_ops(trace, step);
    }
}

/* Gives the ops to the cuts instead of the steps; ops that are lost leave their step incomplete. False when
 * memory ran out. */
static bool cut(struct ll_trace_build *build)
{
    struct ll_trace *trace = build->trace;
    uint32_t last_op = ll_build_ops_before(build, build->next_op);
    const struct ll_step *last = &build->cuts[build->cut_count - 1];
    if (build->next_op > (uint64_t)last->first_op + last->op_count)
        return true; /* they do not reach to the end: what was recorded stays */
    if (!ll_grow(&trace->steps, &build->step_capacity, build->cut_count, sizeof *trace->steps))
        return ll_build_no_memory(build);
    trace->step_count = build->cut_count;
    for (uint64_t i = 0; i < build->cut_count; i++) {
        const struct ll_step *cut = &build->cuts[i];
        uint32_t first = ll_build_ops_before(build, cut->first_op);
        uint32_t end = i + 1 < build->cut_count ? ll_build_ops_before(build, cut[1].first_op) : last_op;
        trace->steps[i] = *cut;
        trace->steps[i].first_op = first;
        trace->steps[i].op_count = end - first;
        trace->steps[i].complete = cut->complete && end - first == cut->op_count;
        for (uint32_t op = first; op < end; op++)
            trace->ops[op].step = (uint32_t)i;
    }
    return true;
}

bool ll_build_finish(struct ll_trace_build *build)
{
    struct ll_trace *trace = build->trace;
    if (!give_looks(build))
        return false;
    count_steps(build);
    if (build->cut_count && !cut(build))
        return false;
    uint64_t total = build->ended ? build->total_ops : ll_walk_indexed_ops(build->walk);
    if (!ll_fits(total) || total < build->next_op)
        total = build->next_op;
    trace->lost_ops = total - trace->op_count;
    trace->lost_bytes = build->walk->lost_bytes;
    trace->lost_frames = build->walk->lost_frames;
    trace->closed = build->walk->index; /* what comes last */
    return true;
}

void ll_build_release(struct ll_trace_build *build)
{
    ll_block_release(&build->block);
    free(build->strings.at);
    free(build->descs.at);
    free(build->forms.at);
    free(build->links.at);
    free(build->stretches);
    free(build->step_recorded);
    free(build->cuts);
}
