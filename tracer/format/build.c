/* SPDX-License-Identifier: Apache-2.0 */
/* A trace from the frames of a file: its definitions, then its ops (reader.c takes all else).
 *
 * Definitions refer only backwards, so each is complete or lost at once: a string by its frame, a desc by its
 * strings, a signature by its strings and descs. Names that this program does not know cost exactly what
 * needs them; only the kind of an op may be unknown. */
#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tracer/base/arena.h"
#include "tracer/format/walk.h"
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

/* Names that files of version 0.1 have for what is called otherwise now. */
static const struct {
    const char *old, *now;
} renamed[] = {{"inner", "ffn_hidden"}};

static uint32_t find_text(const char *text, const char *const *names, uint32_t count)
{
    uint32_t i = 0; /* most differ in the first letter */
    while (i < count && (names[i][0] != text[0] || strcmp(names[i], text) != 0))
        i++;
    return i;
}

/* The place of a text among names, `count` when it is none of them or is lost. */
static uint32_t find_name(const struct ll_trace_build *build, uint64_t string, const char *const *names,
                          uint32_t count)
{
    uint32_t at = ll_build_place(&build->strings, string);
    if (at == LL_NONE)
        return count;
    uint32_t found = find_text(build->trace->strings[at], names, count);
    for (size_t i = 0; found == count && i < sizeof renamed / sizeof *renamed; i++)
        if (strcmp(build->trace->strings[at], renamed[i].old) == 0)
            found = find_text(renamed[i].now, names, count);
    return found;
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

/* Cuts the text of the frame into its strings and copies them with a NUL each. Strings that hold a NUL
 * themselves are lost, for whoever reads the trace takes them as C strings. */
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
    shape->scales = (uint8_t)(packed >> 32);
    return packed >> 40 == 0 && ll_zeros_fit(shape) && ll_scales_fit(shape);
}

/* NULL, or why the desc is lost. */
static const char *take_desc(struct ll_trace_build *build, struct columns *columns,
                             struct ll_tensor_desc *desc)
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
        return "its zeros lie nowhere, or its elements share no such scales";
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
        if (view->kind < LL_OP_NONE)
            sound &= aliases[i] == ll_op_alias(view, i);
    }
    return sound;
}

/* The counts of a known kind are those of the op table here, or the signature is not to be trusted. Until
 * version 1.3 an attention counted as many keys for each query as it sees on average, rounded up. */
static const char *check_counts(struct ll_op_signature *signature)
{
    struct ll_signature_counts counts;
    if (!ll_fits(signature->flops) || !ll_fits(signature->bytes_read) || !ll_fits(signature->bytes_written))
        return "a count does not fit in 64 bits";
    if (signature->view.kind == LL_OP_NONE)
        return NULL;
    const char *trouble = ll_signature_count(&signature->view, &counts);
    if (!trouble && signature->flops != counts.flops &&
        signature->flops == ll_op_flops_of_1_3(&signature->view))
        signature->flops = counts.flops;
    if (!trouble && (counts.flops != signature->flops || counts.bytes_read != signature->bytes_read ||
                     counts.bytes_written != signature->bytes_written))
        trouble = "its FLOPs or bytes are not those that the op table here gives";
    return trouble;
}

/* What of a signature could be understood. */
struct known {
    bool descs, attrs, aliases;
};

/* Inputs, outputs and attributes, whose numbers are in the view; false when memory ran out. */
static bool take_lists(struct ll_trace_build *build, struct columns *columns, uint64_t attr_count,
                       struct ll_op_signature *signature, struct known *known)
{
    struct ll_arena *arena = &build->trace->arena;
    struct ll_op_view *view = &signature->view;
    uint64_t kept_attrs = attr_count < LL_MAX_ATTRS ? attr_count : LL_MAX_ATTRS;
    struct ll_shape *in = ll_alloc(arena, view->input_count, sizeof *in);
    struct ll_shape *out = ll_alloc(arena, view->output_count, sizeof *out);
    struct ll_attr *attrs = ll_alloc(arena, kept_attrs, sizeof *attrs);
    /* What every op of the signature is compared with lies together. */
    uint32_t *inputs = ll_alloc(arena, view->input_count + 2 * (uint64_t)view->output_count, sizeof *inputs);
    if (!in || !out || !attrs || !inputs)
        return ll_build_no_memory(build);
    uint32_t *outputs = inputs + view->input_count, *aliases = outputs + view->output_count;
    known->descs = take_descs(build, columns, LL_DEF_FORM_INPUT, view->input_count, inputs, in);
    known->descs &= take_descs(build, columns, LL_DEF_FORM_OUTPUT, view->output_count, outputs, out);
    known->attrs = take_attrs(build, columns, attr_count, attrs, view);
    view->attrs = attrs;
    known->aliases = take_aliases(columns, view, aliases);
    view->in = in;
    view->out = out;
    signature->inputs = inputs;
    signature->outputs = outputs;
    signature->aliases = aliases;
    return true;
}

/* NULL, or why the signature is lost. */
static const char *judge_signature(struct ll_op_signature *signature, const struct known *known)
{
    const struct ll_op_view *view = &signature->view;
    if (signature->kind_name == LL_NONE || signature->scope == LL_NONE)
        return "its kind or scope is lost";
    if (signature->phase == LL_PHASE_COUNT)
        return "its phase is lost or not known here";
    if (!known->descs)
        return "a desc that it needs is lost";
    if (view->output_count > LL_MAX_OP_REFS || view->input_count > LL_MAX_OP_REFS)
        return "it has too many inputs or outputs";
    if (!known->attrs && view->kind < LL_OP_NONE)
        return "an attribute of it is lost or not known here";
    return known->aliases ? check_counts(signature)
                          : "its outputs do not take over storages as this kind of op does";
}

/* The same. All items of the columns are used up in any case. */
static const char *take_signature(struct ll_trace_build *build, struct columns *columns,
                                  struct ll_op_signature *signature)
{
    uint64_t kind = next(columns, LL_DEF_FORM_KIND), phase = next(columns, LL_DEF_FORM_PHASE);
    uint64_t attr_count = next(columns, LL_DEF_FORM_ATTRS);
    struct ll_op_view *view = &signature->view;
    struct known known = {false};
    *signature = (struct ll_op_signature){.kind_name = ll_build_place(&build->strings, kind)};
    signature->scope = ll_build_place(&build->strings, next(columns, LL_DEF_FORM_SCOPE));
    view->input_count = (uint32_t)next(columns, LL_DEF_FORM_INPUTS);
    view->output_count = (uint32_t)next(columns, LL_DEF_FORM_OUTPUTS);
    view->kind = signature->kind_name == LL_NONE ? LL_OP_NONE
                                                 : ll_op_find(build->trace->strings[signature->kind_name]);
    signature->phase = (enum ll_phase)FIND(build, phase, phase_names);
    if (!take_lists(build, columns, attr_count, signature, &known))
        return "memory ran out";
    signature->flops = next(columns, LL_DEF_FORM_FLOPS);
    signature->bytes_read = next(columns, LL_DEF_FORM_READ);
    signature->bytes_written = next(columns, LL_DEF_FORM_WRITTEN);
    return judge_signature(signature, &known);
}

static bool add_signatures(struct ll_trace_build *build, struct columns *columns, uint64_t first,
                           uint64_t count)
{
    struct ll_trace *trace = build->trace;
    if (!ll_grow(&trace->signatures, &build->signature_capacity, trace->signature_count + count,
                 sizeof *trace->signatures))
        return ll_build_no_memory(build);
    for (uint64_t i = 0; i < count && build->status == LL_OK; i++) {
        const char *why = take_signature(build, columns, &trace->signatures[trace->signature_count]);
        if (why)
            lose(build, "form", first + i, why);
        else
            build->signatures.at[first + i] = (uint32_t)trace->signature_count++;
    }
    return build->status == LL_OK;
}

/* Links of a frame: inputs and controls are copied as they are; whether they lead anywhere is judged op by
 * op, because links are shared by many ops. */
static bool add_links(struct ll_trace_build *build, struct columns *columns, uint64_t first, uint64_t count)
{
    struct ll_trace *trace = build->trace;
    if (!ll_grow(&trace->edges, &build->links_capacity, trace->edges_count + count, sizeof *trace->edges))
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
        struct ll_op_edges edges = {ll_copy(&trace->arena, input, inputs * sizeof *input),
                                    ll_copy(&trace->arena, control, controls * sizeof *control),
                                    (uint32_t)inputs,
                                    (uint32_t)controls,
                                    (uint32_t)storage,
                                    (uint32_t)gaps};
        if (!edges.inputs || !edges.controls)
            return ll_build_no_memory(build);
        build->edges.at[first + i] = (uint32_t)trace->edges_count;
        trace->edges[trace->edges_count++] = edges;
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
    uint64_t signatures = ll_block_count(block, LL_DEF_FORM_KIND),
             edges = ll_block_count(block, LL_DEF_LINKS_INPUTS);
    struct ll_view text;
    ll_block_bytes(block, LL_DEF_TEXT, &text);
    if (ll_build_sum(columns.of[LL_DEF_STRING_SIZE], strings) != (uint64_t)(text.end - text.at))
        return ll_build_refuse(build, "its columns do not fit together");
    return reserve(build, &build->strings, first[0], strings) &&
           reserve(build, &build->descs, first[1], descs) &&
           reserve(build, &build->signatures, first[2], signatures) &&
           reserve(build, &build->edges, first[3], edges) &&
           add_strings(build, &columns, first[0], strings) && add_descs(build, &columns, first[1], descs) &&
           add_signatures(build, &columns, first[2], signatures) &&
           add_links(build, &columns, first[3], edges);
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

bool ll_build_afford(const struct ll_trace_build *build, uint64_t *so_far, uint64_t count,
                     uint64_t weight_each)
{
    assert(weight_each > 0);
    uint64_t weight = ll_add(*so_far, ll_mul(count, weight_each));
    if (weight > build->weight_limit)
        return false;
    *so_far = weight;
    return true;
}

bool ll_build_charge(struct ll_trace_build *build, uint64_t count, uint64_t weight_each)
{
    assert(build->weight <= build->weight_limit); /* the limit grows with the file */
    return ll_build_afford(build, &build->weight, count, weight_each) ||
           ll_build_refuse(build, "it holds more than a file of this size may");
}

uint64_t ll_build_sum(const uint64_t *values, uint64_t count)
{
    uint64_t total = 0;
    for (uint64_t i = 0; i < count; i++)
        total = ll_add(total, values[i]);
    return total;
}

/* Ops of a frame, one after the other: each is checked against the tensors that are there before it is
 * believed. An op whose definitions are lost leaves its tensors behind as if the model had brought them; the
 * frame says how many they are, so that all later numbers stay right. */

/* The columns of the frame, and what was lost of it. */
struct ops {
    const uint64_t *signature, *edges, *step, *thread, *outputs, *gap, *duration, *brought_before,
        *brought_desc;
    uint64_t first_op, first_tensor, base_ns, count, brought;
    uint64_t without_definitions, contradicting, beyond; /* of the ops of more steps than a file may hold */
    uint64_t end_ns[LL_TRACKS];
};

/* Appends a tensor; room was made before. */
static void add_tensor(struct ll_trace_build *build, uint32_t desc, uint32_t storage, uint32_t producer)
{
    assert(producer == LL_NONE || producer == build->trace->op_count);
    assert(build->trace->tensor_count < build->tensor_capacity);
    struct ll_trace *trace = build->trace;
    if (storage == LL_NONE)
        storage = (uint32_t)trace->storage_count++;
    trace->tensors[trace->tensor_count++] = (struct ll_tensor){desc, storage, producer};
}

static void add_brought(struct ll_trace_build *build, const struct ops *ops, uint64_t *brought,
                        uint64_t ops_before)
{
    for (; *brought < ops->brought && ops->brought_before[*brought] == ops_before; ++*brought)
        add_tensor(build, ll_build_place(&build->descs, ops->brought_desc[*brought]), LL_NONE, LL_NONE);
}

/* Outputs of an op that is lost; their descs, where its signature is known. */
static void add_orphans(struct ll_trace_build *build, const struct ll_op_signature *signature, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++)
        add_tensor(build, signature ? signature->outputs[i] : LL_NONE, LL_NONE, LL_NONE);
}

/* The tensor that a link means; LL_NONE when it is not one that exists before the op. */
static uint32_t resolve(const struct ll_trace *trace, uint64_t link)
{
    uint64_t first_output = trace->tensor_count, tensor = link >> 1;
    if (!(link & 1)) {
        if (tensor == 0 || tensor > first_output)
            return LL_NONE;
        tensor = first_output - tensor;
    }
    return tensor < first_output ? (uint32_t)tensor : LL_NONE;
}

/* Whether the inputs are there and look as the signature says. One that a lost op made, of unknown looks,
 * gets them now. */
static bool inputs_agree(const struct ll_trace *trace, const struct ll_op_signature *signature,
                         const struct ll_op_edges *edges)
{
    if (edges->input_count != signature->view.input_count)
        return false;
    for (uint32_t i = 0; i < edges->input_count; i++) {
        uint32_t number = resolve(trace, edges->inputs[i]);
        if (number == LL_NONE)
            return false;
        struct ll_tensor *tensor = &trace->tensors[number];
        if (tensor->desc == LL_NONE)
            tensor->desc = signature->inputs[i];
        if (tensor->desc != signature->inputs[i])
            return false;
    }
    return true;
}

/* How many stretches begin at this op of the file or before it. */
static uint64_t stretches_upto(const struct ll_trace_build *build, uint64_t file_op)
{
    uint64_t low = 0, high = build->stretch_count;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        if (build->stretches[middle].file_op <= file_op)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Where in the trace the first `count` stretches (not none) end. */
static uint64_t end_of(const struct ll_trace_build *build, uint64_t count)
{
    return count < build->stretch_count ? build->stretches[count].op : build->trace->op_count;
}

uint32_t ll_build_ops_before(const struct ll_trace_build *build, uint64_t file_op)
{
    uint64_t count = file_op ? stretches_upto(build, file_op - 1) : 0;
    if (count == 0)
        return 0;
    const struct ll_stretch *stretch = &build->stretches[count - 1];
    assert(stretch->op <= build->trace->op_count);
    return (uint32_t)ll_min(end_of(build, count), stretch->op + (file_op - stretch->file_op));
}

/* The op of this number in the file, as it is numbered in the trace; LL_NONE when it is lost. */
static uint32_t find_op(const struct ll_trace_build *build, uint64_t file_op)
{
    uint64_t count = stretches_upto(build, file_op);
    if (count == 0)
        return LL_NONE;
    const struct ll_stretch *stretch = &build->stretches[count - 1];
    uint64_t op = stretch->op + (file_op - stretch->file_op);
    return op < end_of(build, count) ? (uint32_t)op : LL_NONE;
}

/* Controls are distances between ops, and a hole changes those that reach across it: such an op gets links of
 * its own, without the controls that are lost. */
static bool renumber_controls(struct ll_trace_build *build, uint64_t file_op, uint32_t *number)
{
    struct ll_trace *trace = build->trace;
    const struct ll_op_edges old = trace->edges[*number];
    uint64_t refs = (uint64_t)old.input_count + old.control_count;
    if (!ll_build_afford(build, &build->weight, 1, LL_WEIGHT_LINKS) ||
        !ll_build_afford(build, &build->weight, refs, LL_WEIGHT_LINKS_REF))
        return false;
    uint64_t *controls = ll_alloc(&trace->arena, old.control_count, sizeof *controls);
    if (!controls ||
        !ll_grow(&trace->edges, &build->links_capacity, trace->edges_count + 1, sizeof *trace->edges))
        return ll_build_no_memory(build);
    uint32_t ordered = old.control_count - old.storage_count - old.gap_count;
    struct ll_op_edges new = {.inputs = old.inputs, .controls = controls, .input_count = old.input_count};
    for (uint32_t i = 0; i < old.control_count; i++) {
        uint32_t op = old.controls[i] <= file_op ? find_op(build, file_op - old.controls[i]) : LL_NONE;
        if (op == LL_NONE)
            continue;
        controls[new.control_count++] = trace->op_count - op;
        new.storage_count += i >= ordered &&i < ordered + old.storage_count;
        new.gap_count += i >= ordered + old.storage_count;
    }
    *number = (uint32_t)trace->edges_count;
    trace->edges[trace->edges_count++] = new;
    return true;
}

static bool controls_agree(const struct ll_trace *trace, const struct ll_op_edges *edges)
{
    for (uint32_t i = 0; i < edges->control_count; i++)
        if (edges->controls[i] == 0 || edges->controls[i] > trace->op_count)
            return false;
    return true;
}

/* Remembers where numbering begins anew: at the first op, and after each hole. */
static bool note_stretch(struct ll_trace_build *build, uint64_t file_op)
{
    const struct ll_trace *trace = build->trace;
    const struct ll_stretch *last = build->stretch_count ? &build->stretches[build->stretch_count - 1] : NULL;
    if (last && file_op - last->file_op == trace->op_count - last->op)
        return true;
    if (!ll_grow(&build->stretches, &build->stretch_capacity, build->stretch_count + 1,
                 sizeof *build->stretches))
        return ll_build_no_memory(build);
    build->stretches[build->stretch_count++] = (struct ll_stretch){file_op, (uint32_t)trace->op_count};
    assert(trace->op_count < LL_NONE);
    return true;
}

/* The op without its outputs; false when something about it cannot be. */
static bool take_op(struct ll_trace_build *build, struct ops *ops, uint64_t i, uint32_t signature_number,
                    uint32_t edges, struct ll_op *op)
{
    struct ll_trace *trace = build->trace;
    const struct ll_op_signature *signature = &trace->signatures[signature_number];
    uint64_t file_op = ops->first_op + i, *end_ns = &ops->end_ns[ops->thread[i] % LL_TRACKS];
    uint64_t start_ns = *end_ns + ll_unzigzag(ops->gap[i]);
    *end_ns = start_ns + ops->duration[i];
    uint32_t last_step = trace->op_count ? trace->ops[trace->op_count - 1].step : 0;
    if (ops->outputs[i] != signature->view.output_count || ops->step[i] < last_step ||
        ops->thread[i] >= LL_NONE || !ll_fits(ll_add(start_ns, ops->duration[i])) ||
        !inputs_agree(trace, signature, &trace->edges[edges]))
        return false;
    if (!ll_build_reach_step(build, ops->step[i])) {
        ops->beyond++;
        return false;
    }
    if (!note_stretch(build, file_op))
        return false;
    if (file_op != trace->op_count && trace->edges[edges].control_count > 0 &&
        !renumber_controls(build, file_op, &edges))
        return false;
    if (!controls_agree(trace, &trace->edges[edges]))
        return false;
    *op = (struct ll_op){.signature = signature_number,
                         .edges = edges,
                         .step = (uint32_t)ops->step[i],
                         .thread = (uint32_t)ops->thread[i],
                         .first_output = (uint32_t)trace->tensor_count,
                         .start_ns = start_ns,
                         .duration_ns = ops->duration[i]};
    return true;
}

static void add_outputs(struct ll_trace_build *build, const struct ll_op_signature *signature,
                        const struct ll_op_edges *edges)
{
    struct ll_trace *trace = build->trace;
    uint32_t producer = (uint32_t)trace->op_count;
    if (signature->view.output_count == 0)
        return;
    struct ll_tensor *outputs = &trace->tensors[trace->tensor_count];
    for (uint32_t i = 0; i < signature->view.output_count;
         i++) { /* resolved before the first output is there */
        uint32_t alias = signature->aliases[i];
        outputs[i].storage =
            alias == LL_NONE ? LL_NONE : trace->tensors[resolve(trace, edges->inputs[alias])].storage;
    }
    for (uint32_t i = 0; i < signature->view.output_count; i++)
        add_tensor(build, signature->outputs[i], outputs[i].storage, producer);
}

static void add_op(struct ll_trace_build *build, struct ops *ops, uint64_t i)
{
    struct ll_trace *trace = build->trace;
    uint32_t signature_number = ll_build_place(&build->signatures, ops->signature[i]),
             edges = ll_build_place(&build->edges, ops->edges[i]);
    const struct ll_op_signature *signature =
        signature_number == LL_NONE ? NULL : &trace->signatures[signature_number];
    struct ll_op op;
    if (signature_number == LL_NONE || edges == LL_NONE) {
        ops->without_definitions++;
        ops->end_ns[ops->thread[i] % LL_TRACKS] += ll_unzigzag(ops->gap[i]) + ops->duration[i];
    } else if (take_op(build, ops, i, signature_number, edges, &op)) {
        add_outputs(build, signature, &trace->edges[op.edges]);
        trace->ops[trace->op_count++] = op;
        return;
    } else {
        ops->contradicting++;
    }
    bool known = signature && signature->view.output_count == ops->outputs[i];
    add_orphans(build, known ? signature : NULL, ops->outputs[i]);
}

/* Inputs, outputs and controls of all ops: what following them will cost. */
static uint64_t count_refs(const struct ll_trace_build *build, const struct ops *ops)
{
    uint64_t refs = 0;
    for (uint64_t i = 0; i < ops->count; i++) {
        uint32_t edges = ll_build_place(&build->edges, ops->edges[i]);
        refs += ops->outputs[i];
        if (edges != LL_NONE)
            refs +=
                (uint64_t)build->trace->edges[edges].input_count + build->trace->edges[edges].control_count;
    }
    return refs;
}

/* Decodes the columns of an ops frame and checks what can be checked without following a reference: counts,
 * order, limits. Charges for them first. */
static bool decode_ops(struct ll_trace_build *build, struct ops *ops)
{
    struct ll_block *block = &build->block;
    const uint64_t *first = ll_block_numbers(block, LL_OPS_FIRST, 3);
    if (!first)
        return ll_build_refuse(build, "it does not say where it belongs");
    ops->first_op = first[0];
    ops->first_tensor = first[1];
    ops->base_ns = first[2];
    ops->count = ll_block_count(block, LL_OPS_FORM);
    ops->brought = ll_block_count(block, LL_OPS_BROUGHT_BEFORE);
    if (ops->count > LL_MAX_FRAME_OPS)
        return ll_build_refuse(build, "it holds too many ops");
    if (!ll_build_charge(build, ops->count, LL_WEIGHT_OP) ||
        !ll_build_charge(build, ops->brought, LL_WEIGHT_TENSOR))
        return false;
    ops->signature = ll_block_numbers(block, LL_OPS_FORM, ops->count);
    ops->edges = ll_block_numbers(block, LL_OPS_LINKS, ops->count);
    ops->step = ll_block_numbers(block, LL_OPS_STEP, ops->count);
    ops->thread = ll_block_numbers(block, LL_OPS_THREAD, ops->count);
    ops->outputs = ll_block_numbers(block, LL_OPS_OUTPUTS, ops->count);
    ops->gap = ll_block_numbers(block, LL_OPS_GAP, ops->count);
    ops->duration = ll_block_numbers(block, LL_OPS_DURATION, ops->count);
    ops->brought_before = ll_block_numbers(block, LL_OPS_BROUGHT_BEFORE, ops->brought);
    ops->brought_desc = ll_block_numbers(block, LL_OPS_BROUGHT_DESC, ops->brought);
    if (!ops->signature || !ops->edges || !ops->step || !ops->thread || !ops->outputs || !ops->gap ||
        !ops->duration || !ops->brought_before || !ops->brought_desc)
        return ll_build_refuse(build, "its columns do not fit together");
    for (uint64_t i = 0; i < ops->count; i++)
        if (ops->outputs[i] > LL_MAX_OP_REFS)
            return ll_build_refuse(build, "an op has too many outputs");
    for (uint64_t i = 0; i < ops->brought; i++)
        if (ops->brought_before[i] > ops->count || (i && ops->brought_before[i] < ops->brought_before[i - 1]))
            return ll_build_refuse(build, "its tensors are out of order");
    return true;
}

/* Room for all that the frame holds, and for the tensors that are missing before it. */
static bool make_room(struct ll_trace_build *build, const struct ops *ops)
{
    struct ll_trace *trace = build->trace;
    if (ops->first_op < build->next_op || ops->first_tensor < trace->tensor_count)
        return ll_build_refuse(build, "its ops or tensors were there before");
    uint64_t outputs = 0, refs = count_refs(build, ops);
    for (uint64_t i = 0; i < ops->count; i++)
        outputs += ops->outputs[i];
    uint64_t missing = ops->first_tensor - trace->tensor_count;
    uint64_t tensors = ll_add(ops->first_tensor, ops->brought + outputs);
    if (tensors >= LL_NONE || ll_add(ops->first_op, ops->count) >= LL_NONE)
        return ll_build_refuse(build, "it holds more than there can be");
    if (!ll_build_charge(build, missing + outputs, LL_WEIGHT_TENSOR) ||
        !ll_build_charge(build, refs, LL_WEIGHT_OP_REF))
        return false;
    if (!ll_grow(&trace->tensors, &build->tensor_capacity, tensors, sizeof *trace->tensors) ||
        !ll_grow(&trace->ops, &build->op_capacity, trace->op_count + ops->count, sizeof *trace->ops))
        return ll_build_no_memory(build);
    add_orphans(build, NULL, missing);
    return true;
}

static void report(const struct ll_trace_build *build, const struct ops *ops)
{
    const struct ll_frame *frame = build->frame;
    const struct {
        uint64_t count;
        const char *why;
    } lost[] = {{ops->without_definitions, "definitions that they need are"},
                {ops->contradicting - ops->beyond, "they contradict what stands before them"},
                {ops->beyond, "they are of more steps than a file of this size may hold"}};
    for (size_t i = 0; i < sizeof lost / sizeof lost[0]; i++)
        if (lost[i].count)
            ll_walk_complain(build->walk,
                             "frame %" PRIu32 " at byte %" PRIu64 ": %" PRIu64 " of its %" PRIu64
                             " ops are lost: %s",
                             frame->number, frame->offset, lost[i].count, ops->count, lost[i].why);
}

bool ll_build_ops(struct ll_trace_build *build)
{
    struct ops ops = {0};
    if (!decode_ops(build, &ops) || !make_room(build, &ops))
        return false;
    for (int i = 0; i < LL_TRACKS; i++)
        ops.end_ns[i] = ops.base_ns;
    uint64_t brought = 0;
    for (uint64_t i = 0; i < ops.count && build->status == LL_OK; i++) {
        add_brought(build, &ops, &brought, i);
        add_op(build, &ops, i);
    }
    add_brought(build, &ops, &brought, ops.count);
    assert(build->status != LL_OK || brought == ops.brought);
    assert(build->trace->tensor_count <= build->tensor_capacity);
    assert(build->trace->storage_count <= build->trace->tensor_count);
    build->next_op = ops.first_op + ops.count;
    report(build, &ops);
    return build->status == LL_OK;
}
