/* SPDX-License-Identifier: Apache-2.0 */
/* Definitions refer only backwards, so each is complete or lost at once: a string by its frame, a desc by its
 * strings, a form by its strings and descs. Names that this program does not know cost exactly what needs
 * them; only the kind of an op may be unknown. */
#include "tracer/base/arena.h"
#include "tracer/build.h"
#include "tracer/form.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

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
            count = ll_build_sum(columns->of[rule.like], count);
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
    if (ll_build_sum(columns.of[LL_DEF_STRING_SIZE], strings) != (uint64_t)(text.end - text.at))
        return ll_build_refuse(build, "its columns do not fit together");
    return reserve(build, &build->strings, first[0], strings) &&
           reserve(build, &build->descs, first[1], descs) && reserve(build, &build->forms, first[2], forms) &&
           reserve(build, &build->links, first[3], links) &&
           add_strings(build, &columns, first[0], strings) && add_descs(build, &columns, first[1], descs) &&
           add_forms(build, &columns, first[2], forms) && add_links(build, &columns, first[3], links);
}
