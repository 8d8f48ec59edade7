/* SPDX-License-Identifier: Apache-2.0 */
/* StableHLO, the text of MLIR, as jax.jit(f).lower(x).as_text() prints it (openxla/stablehlo, docs/spec.md),
 * in its pretty and its generic spelling. Functions become computations of a module as HLO has them: opcodes
 * get HLO's names, attributes its form. A loop's state is a tuple there, to which values are added that its
 * regions take from around them; a branch is part of what is around it, the longest one.
 *
 * One file because operations hold regions, and regions operations: each part calls the others. */
#define _GNU_SOURCE /* memmem */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "tracer/convert/xla/xla.h"

enum { MOST_TYPES = 1024, MOST_NAMES = 4096, MOST_RESULTS = 256, MOST_REGIONS = 16 };

/* Names of values in a function or a region of a loop, each an instruction. */
struct scope {
    struct scope *around; /* NULL: a function */
    struct ll_map names;
    uint32_t *ids; /* by the number of the name */
    uint64_t id_room;
    struct xla_computation computation;
    struct captures *captures; /* of a loop; NULL: none may be taken from around */
};

/* What regions of a loop take from around it. */
struct captures {
    uint32_t ids[MOST_NAMES]; /* of the scope around */
    struct xla_text names[MOST_NAMES];
    uint32_t count, first; /* how many; which part of the state the first of them is */
};

/* How far lines have been counted, and room for what an operation has at most. */
struct room {
    const char *counted;
    uint64_t line; /* in which `counted` stands */
    uint32_t ids[MOST_NAMES];
    struct ll_shape results[MOST_RESULTS];
};

struct mlir {
    struct xla_module *module;
    const char *begin, *at, *end;
    unsigned depth;
    struct room *room; /* of all regions */
};

static bool read_block(struct mlir *m, struct scope *scope, uint32_t **returned, uint32_t *count);

static struct ll_place place(const struct mlir *m, const char *at)
{
    uint64_t line = 1;
    const char *from = m->begin;
    for (const char *c = m->begin; c < at; c++)
        if (*c == '\n') {
            line++;
            from = c + 1;
        }
    return (struct ll_place){
        .file = m->module->import->inputs[0].path, .line = line, .column = (uint64_t)(at - from) + 1};
}

/* The line of an operation: counted from the one before, as operations follow each other. */
static uint64_t line_of(struct mlir *m, const char *at)
{
    struct room *room = m->room;
    assert(at >= room->counted);
    for (; room->counted < at; room->counted++)
        room->line += *room->counted == '\n';
    return room->line;
}

static bool refuse(struct mlir *m, const char *at, const char *what)
{
    return ll_complain(m->module->import->diags, place(m, at), "%s", what);
}

static void blanks(struct mlir *m)
{
    while (m->at < m->end) {
        if (*m->at == ' ' || *m->at == '\t' || *m->at == '\n' || *m->at == '\r') {
            m->at++;
        } else if (m->end - m->at > 1 && m->at[0] == '/' && m->at[1] == '/') {
            const char *line = memchr(m->at, '\n', (size_t)(m->end - m->at));
            m->at = line ? line : m->end;
        } else {
            return;
        }
    }
}

static bool begins(const char *at, const char *end, const char *word)
{
    size_t length = strlen(word);
    return (size_t)(end - at) >= length && memcmp(at, word, length) == 0;
}

static bool is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '.' || c == '$' || c == '-';
}

/* %name, perhaps with #k: the name of a value. */
static struct xla_text value_at(const char *at, const char *end)
{
    const char *begin = at++;
    while (at < end && ((is_word(*at) && !(*at == '-' && at + 1 < end && at[1] == '>')) || *at == '#'))
        at++;
    return (struct xla_text){begin, at};
}

static const char *find(struct xla_text text, const char *word)
{
    return memmem(text.at, (size_t)(text.end - text.at), word, strlen(word));
}

/* Passes what brackets enclose, quotes and all; the first of them is at `at`. NULL: it does not close. */
static const char *behind_brackets(const char *at, const char *end)
{
    uint64_t depth = 0;
    bool quoted = false;
    for (; at < end; at++) {
        if (*at == '"' && at[-1] != '\\')
            quoted = !quoted;
        if (quoted)
            continue;
        if (at + 1 < end && at[0] == '/' && at[1] == '/') {
            const char *line = memchr(at, '\n', (size_t)(end - at));
            at = line ? line : end - 1;
            continue;
        }
        depth += *at == '(' || *at == '{' || *at == '[' || *at == '<';
        bool closes = *at == ')' || *at == '}' || *at == ']' || (*at == '>' && at[-1] != '-');
        if (closes && --depth == 0)
            return at + 1;
    }
    return NULL;
}

static bool opens(char c)
{
    return c == '(' || c == '{' || c == '[' || c == '<';
}

static uint8_t dtype_of(struct xla_text name)
{
    static const struct {
        const char *name;
        uint8_t dtype;
    } types[] = {{"i1", LL_BOOL},  {"i2", LL_INT2},   {"i4", LL_INT4},          {"i8", LL_INT8},
                 {"i16", LL_I16},  {"i32", LL_I32},   {"i64", LL_I64},          {"ui2", LL_INT2},
                 {"ui4", LL_INT4}, {"ui8", LL_U8},    {"ui16", LL_I16},         {"ui32", LL_I32},
                 {"ui64", LL_I64}, {"si8", LL_INT8},  {"si16", LL_I16},         {"si32", LL_I32},
                 {"si64", LL_I64}, {"bf16", LL_BF16}, {"f16", LL_F16},          {"f32", LL_F32},
                 {"f64", LL_F64},  {"tf32", LL_TF32}, {"complex<f32>", LL_C64}, {"complex<f64>", LL_C128}};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (xla_is(name, types[i].name))
            return types[i].dtype;
    if (begins(name.at, name.end, "f8"))
        return LL_F8;
    if (begins(name.at, name.end, "f4"))
        return LL_F4;
    return begins(name.at, name.end, "!quant.uniform<i4")   ? LL_INT4
           : begins(name.at, name.end, "!quant.uniform<u8") ? LL_U8
           : begins(name.at, name.end, "!quant")            ? LL_INT8
                                                            : LL_DTYPE_COUNT;
}

/* A type at a place: tensor<4x8xf32>; others are scalars that nobody computes with. Returns what is behind
 * it. */
static const char *read_type(struct mlir *m, const char *at, const char *end, struct ll_shape *shape)
{
    static const char tensor[] = "tensor<";
    *shape = (struct ll_shape){.dtype = LL_BOOL};
    const char *bracket = at;
    while (bracket < end && (is_word(*bracket) || *bracket == '!' || *bracket == '_'))
        bracket++;
    const char *behind = bracket < end && *bracket == '<' ? behind_brackets(bracket, end) : bracket;
    if (!behind || behind == at)
        return refuse(m, at, "expected a type, as tensor<2x3xf32>"), NULL;
    if (!begins(at, end, tensor))
        return behind;
    for (at = bracket + 1; at < behind;) {
        const char *digits = at;
        uint64_t size = 0;
        for (; at < behind && *at >= '0' && *at <= '9'; at++)
            size = ll_add(ll_mul(size, 10), (uint64_t)(*at - '0'));
        if (at < behind && *at == '?')
            return refuse(m, digits, "a size is open; lower the program with all sizes"), NULL;
        if (at == digits || at >= behind || *at != 'x') {
            at = digits;
            break;
        }
        if (shape->rank == LL_MAX_RANK)
            return refuse(m, digits, "more than eight dimensions"), NULL;
        shape->dim[shape->rank++] = size;
        at++;
    }
    struct xla_text name = {at, behind - 1};
    for (unsigned depth = 0; at < name.end; at++) { /* an encoding may stand behind a comma */
        depth += *at == '<';
        depth -= *at == '>' && depth > 0;
        if (depth == 0 && *at == ',') {
            name.end = at;
            break;
        }
    }
    shape->dtype = dtype_of(name);
    if (shape->dtype == LL_DTYPE_COUNT || !ll_fits(ll_size_bytes(shape)))
        return refuse(m, name.at, "a type of elements that is not known here, or a size that does not fit"),
               NULL;
    return behind;
}

static uint32_t add(struct mlir *m, struct scope *s, const struct xla_instruction *in)
{
    struct xla_computation *c = &s->computation;
    if (!ll_grow(&c->instructions, &c->capacity, c->count + 1, sizeof *in)) {
        ll_import_no_memory(m->module->import);
        return UINT32_MAX;
    }
    c->instructions[c->count] = *in;
    return (uint32_t)c->count++;
}

static struct xla_text text_of(const char *text)
{
    return (struct xla_text){text, text + strlen(text)};
}

static bool define(struct mlir *m, struct scope *s, struct xla_text name, uint32_t id)
{
    uint32_t number = ll_map_intern(&s->names, name.at, (size_t)(name.end - name.at), NULL);
    if (number == LL_NO_ID || !ll_grow(&s->ids, &s->id_room, (uint64_t)number + 1, sizeof *s->ids))
        return ll_import_no_memory(m->module->import);
    s->ids[number] = id;
    return true;
}

static struct ll_shape *shapes_in(struct mlir *m, const struct ll_shape *shapes, uint32_t count)
{
    struct ll_shape *copy = ll_copy(&m->module->import->arena, shapes, count * sizeof *copy);
    if (!copy)
        ll_import_no_memory(m->module->import);
    return copy;
}

/* Part `index` of a tuple, as an instruction. */
static uint32_t add_part(struct mlir *m, struct scope *s, uint32_t tuple, uint32_t index,
                         const struct ll_shape *shape)
{
    char *attrs = ll_format(&m->module->import->arena, ", index=%u", index);
    uint32_t *operands = ll_alloc(&m->module->import->arena, 1, sizeof *operands);
    struct xla_instruction in = {.name = text_of("part"),
                                 .opcode = text_of("get-tuple-element"),
                                 .shapes = shapes_in(m, shape, 1),
                                 .shape_count = 1,
                                 .operands = operands,
                                 .operand_count = 1};
    if (!attrs || !operands || !in.shapes)
        return UINT32_MAX;
    operands[0] = tuple;
    in.attrs = text_of(attrs);
    return add(m, s, &in);
}

/* The instruction of a name; taken from around a loop where it is not in the loop itself. UINT32_MAX after a
 * complaint. */
static uint32_t look_up(struct mlir *m, struct scope *s, struct xla_text name)
{
    uint32_t number = ll_map_find(&s->names, name.at, (size_t)(name.end - name.at));
    if (number != LL_NO_ID)
        return s->ids[number];
    if (!s->captures || !s->around || s->captures->count == MOST_NAMES) {
        ll_complain(m->module->import->diags, place(m, name.at), "nothing before this is called `%.*s`",
                    (int)ll_min(100, (uint64_t)(name.end - name.at)), name.at);
        return UINT32_MAX;
    }
    struct captures *taken = s->captures;
    uint32_t at = 0, outer = look_up(m, s->around, name);
    if (outer == UINT32_MAX)
        return UINT32_MAX;
    while (at < taken->count && taken->ids[at] != outer)
        at++;
    taken->ids[at] = outer;
    taken->count = at == taken->count ? at + 1 : taken->count;
    const struct xla_instruction *there = &s->around->computation.instructions[outer];
    const struct ll_shape shape = there->shape_count ? there->shapes[0] : (struct ll_shape){.dtype = LL_BOOL};
    uint32_t id = UINT32_MAX;
    if (xla_is(there->opcode, "constant")) { /* is the same wherever it stands */
        const struct xla_instruction copy = *there;
        id = add(m, s, &copy);
    } else {
        id = add_part(m, s, 0, taken->first + at, &shape);
    }
    return id != UINT32_MAX && define(m, s, name, id) ? id : UINT32_MAX;
}

/* An operation as it stands. */
struct statement {
    struct xla_text names[MOST_REGIONS]; /* of results */
    uint64_t counts[MOST_REGIONS];       /* %r:3 are three */
    unsigned name_count;
    uint64_t line;
    struct xla_text op, head, whole; /* head: from behind the op to the types or the first region */
    struct ll_shape *results;
    uint32_t result_count;
    struct xla_text regions[MOST_REGIONS]; /* with their braces */
    unsigned region_count;
};

/* Whether what follows a line's end begins another operation. */
static bool starts_anew(const struct mlir *m, const char *at)
{
    struct mlir ahead = *m;
    ahead.at = at;
    blanks(&ahead);
    if (ahead.at >= m->end || *ahead.at == '%' || *ahead.at == '}' || *ahead.at == '^' || *ahead.at == '"' ||
        *ahead.at == '#')
        return true;
    const char *begin = ahead.at;
    while (ahead.at < m->end && is_word(*ahead.at))
        ahead.at++;
    const struct xla_text word = {begin, ahead.at};
    return memchr(begin, '.', (size_t)(ahead.at - begin)) || xla_is(word, "return") || xla_is(word, "call") ||
           xla_is(word, "func");
}

/* The types of results: (a, b) -> c, (a) -> (b, c), or types alone; `types` is NULL where there are none. */
static bool read_types(struct mlir *m, struct statement *st, const char *types, const char *at)
{
    if (!types)
        return true;
    /* (a, b) -> c, (a) -> (b, c), or types alone */
    while (types < at && (*types == ' ' || *types == '\n'))
        types++;
    const char *arrow = NULL;
    for (const char *from = types; from < at && !arrow; from++) {
        if (opens(*from) && behind_brackets(from, at))
            from = behind_brackets(from, at) - 1;
        else if (from + 1 < at && from[0] == '-' && from[1] == '>')
            arrow = from;
    }
    if (arrow)
        for (types = arrow + 2; types < at && (*types == ' ' || *types == '\n' || *types == '('); types++)
            continue;
    else if (types < at && *types == '(')
        return refuse(m, types, "expected the types of results behind ->");
    if (types < at && *types == ')')
        return true; /* it has no result */
    while (types < at && st->result_count < MOST_RESULTS) {
        if (!(types = read_type(m, types, at, &m->room->results[st->result_count++])))
            return false;
        while (types < at && (*types == ' ' || *types == '\n'))
            types++;
        if (types >= at || *types != ',')
            break;
        for (types++; types < at && (*types == ' ' || *types == '\n'); types++)
            continue;
    }
    return true;
}

/* The same, of which there is at least room for one. */
static bool read_results(struct mlir *m, struct statement *st, const char *types, const char *at)
{
    if (!read_types(m, st, types, at))
        return false;
    st->results = ll_alloc(&m->module->import->arena, st->result_count + 1u, sizeof *st->results);
    if (!st->results)
        return ll_import_no_memory(m->module->import);
    memcpy(st->results, m->room->results, st->result_count * sizeof *st->results);
    return true;
}

/* Finds the regions, the types and the end of the operation whose name was read. */
static bool measure(struct mlir *m, struct statement *st)
{
    static const char unclosed[] = "a bracket that opens here does not close";
    const char *types = NULL, *at = m->at;
    st->head = (struct xla_text){at, NULL};
    for (; at < m->end; at++) {
        if (*at == '\n' && starts_anew(m, at))
            break;
        if (*at == '}')
            break;
        if (*at == '/' && at + 1 < m->end && at[1] == '/') {
            const char *line = memchr(at, '\n', (size_t)(m->end - at));
            at = line ? line - 1 : m->end - 1;
            continue;
        }
        if (*at == '"') {
            for (at++; at < m->end && (*at != '"' || at[-1] == '\\'); at++)
                continue;
            continue;
        }
        if (*at == ':' && !types) {
            types = at + 1;
            st->head.end = at;
        }
        if (!opens(*at))
            continue;
        const char *close = behind_brackets(at, m->end);
        if (!close)
            return refuse(m, at, unclosed);
        const char *inside = at + 1;
        while (inside < close && (*inside == ' ' || *inside == '\n' || *inside == '\t'))
            inside++;
        bool regions = *at == '(' && inside < close && *inside == '{';
        bool region = *at == '{' && memchr(at, '%', (size_t)(close - at)) &&
                      (memchr(at, '\n', (size_t)(close - at)) || types);
        if (regions || region) {
            const char *from = regions ? inside : at;
            if (!st->head.end)
                st->head.end = at;
            while (from < close && *from == '{' && st->region_count < MOST_REGIONS) {
                const char *behind = behind_brackets(from, m->end);
                if (!behind)
                    return refuse(m, from, unclosed);
                st->regions[st->region_count++] = (struct xla_text){from, behind};
                for (from = behind; regions && from < close && *from != '{'; from++)
                    continue;
                if (!regions)
                    break;
            }
        }
        at = close - 1;
    }
    at = at < m->end ? at : m->end; /* quotes that do not close */
    m->at = at;
    st->head.end = st->head.end ? st->head.end : at;
    st->whole = (struct xla_text){st->head.at, at};
    return read_results(m, st, types, at);
}

/* The names of operands in a head: those outside braces; of a reduction inputs first, then where they begin.
 * UINT32_MAX after a complaint. */
static uint32_t operands_in(struct mlir *m, struct scope *s, const struct statement *st, uint32_t **operands)
{
    uint32_t count = 0, *ids = m->room->ids;
    for (unsigned pass = 0; pass < 2; pass++) {
        bool begins_with = false;
        unsigned depth = 0;
        for (const char *at = st->head.at; at < st->head.end; at++) {
            depth += *at == '{';
            depth -= *at == '}' && depth > 0;
            begins_with |= begins(at, st->head.end, "init:");
            begins_with &= *at != ')';
            if (*at != '%' || depth > 0)
                continue;
            const struct xla_text name = value_at(at, st->head.end);
            const char *behind = name.end;
            while (behind < st->head.end && *behind == ' ')
                behind++;
            at = name.end - 1;
            if ((behind < st->head.end && *behind == '=') || begins_with != (pass == 1) ||
                count == MOST_NAMES)
                continue;
            ids[count] = look_up(m, s, name);
            if (ids[count++] == UINT32_MAX)
                return UINT32_MAX;
        }
    }
    *operands = ll_copy(&m->module->import->arena, ids, count * sizeof *ids);
    if (!*operands)
        ll_import_no_memory(m->module->import);
    return *operands ? count : UINT32_MAX;
}

/* The brackets behind a key, `key = [..]` or `key = array<i64: ..>`, as {..}; the second of a pair `[..] x
 * [..]` is passed. Empty where there is no such key. */
static struct xla_text list_behind(const struct statement *st, const char *key)
{
    const char *at = find(st->whole, key);
    for (at = at ? at + strlen(key) : NULL; at && at < st->whole.end && !opens(*at); at++)
        if (*at != ' ' && *at != '=' && !is_word(*at))
            return text_of("");
    if (!at || at >= st->whole.end)
        return text_of("");
    const char *close = behind_brackets(at, st->whole.end);
    if (close && begins(at, st->whole.end, "<i64:"))
        at += 4;
    return close ? (struct xla_text){at + 1, close - 1} : text_of("");
}

static void add_list(struct ll_str *attrs, const char *name, struct xla_text list)
{
    int64_t numbers[64];
    uint64_t count = xla_integers(list, numbers, 64);
    ll_str_addf(attrs, ", %s={", name);
    for (uint64_t i = 0; i < count && i < 64; i++)
        ll_str_addf(attrs, "%s%lld", i ? "," : "", (long long)numbers[i]);
    ll_str_addf(attrs, "}");
}

static void add_number(struct ll_str *attrs, const struct statement *st, const char *key, const char *name)
{
    int64_t number;
    const char *at = find(st->whole, key);
    const char *end = at ? at + strlen(key) : NULL;
    while (end && end < st->whole.end && (*end == ' ' || *end == '=' || (*end >= '0' && *end <= '9')))
        end++;
    if (at && xla_integers((struct xla_text){at, end}, &number, 1) > 0)
        ll_str_addf(attrs, ", %s=%lld", name, (long long)number);
}

/* [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], in HLO's form; windows by the filter's sizes. */
static void add_convolution(struct ll_str *attrs, const struct statement *st, const struct ll_shape *filter)
{
    const char *at = find(st->whole, "dim_numbers");
    const char *names = at ? at : find(st->whole, "#stablehlo.conv<");
    char labels[3][16] = {"", "", ""};
    unsigned which = 0, length = 0;
    for (names = names ? memchr(names, '[', (size_t)(st->whole.end - names)) : NULL;
         names && names < st->whole.end && which < 3; names++) {
        if (((*names >= '0' && *names <= '9') || *names == 'b' || *names == 'f' || *names == 'i' ||
             *names == 'o') &&
            length < 15 && names[-1] != '-') {
            labels[which][length++] = *names;
        } else if (*names == ']') {
            which++;
            length = 0;
            while (names + 1 < st->whole.end && names[1] != '[' && which < 3)
                names++;
        }
    }
    ll_str_addf(attrs, ", dim_labels=%s_%s->%s, window={size=", labels[0], labels[1], labels[2]);
    unsigned sides = 0;
    for (unsigned d = 0; d < 6; d++)
        for (unsigned i = 0; labels[1][i] && i < filter->rank; i++)
            if (labels[1][i] == (char)('0' + d))
                ll_str_addf(attrs, "%s%llu", sides++ ? "x" : "", (unsigned long long)filter->dim[i]);
    static const char *const keys[][3] = {{"stride", "window_strides", "stride"},
                                          {"lhs_dilate", "lhs_dilation", "lhs_dilate"},
                                          {"rhs_dilate", "rhs_dilation", "rhs_dilate"},
                                          {"pad", "padding", "pad"}};
    for (size_t k = 0; k < 4; k++) {
        struct xla_text list = list_behind(st, keys[k][0]);
        list = list.at == list.end ? list_behind(st, keys[k][1]) : list;
        int64_t numbers[32];
        uint64_t count = xla_integers(list, numbers, 32);
        for (uint64_t i = 0; i < count && i < 32; i++)
            if (k < 3)
                ll_str_addf(attrs, "%s%lld",
                            i        ? "x"
                            : k == 0 ? " stride="
                            : k == 1 ? " lhs_dilate="
                                     : " rhs_dilate=",
                            (long long)numbers[i]);
            else
                ll_str_addf(attrs, "%s%lld", i == 0 ? " pad=" : i % 2 ? "_" : "x", (long long)numbers[i]);
    }
    ll_str_addf(attrs, "}");
    add_number(attrs, st, "feature_group_count", "feature_group_count");
    add_number(attrs, st, "batch_group_count", "batch_group_count");
}

/* What HLO calls an operation. */
static const char *opcode_of(struct mlir *m, struct xla_text op)
{
    static const char *const names[][2] = {{"stablehlo.dot_general", "dot"},
                                           {"stablehlo.broadcast_in_dim", "broadcast"},
                                           {"stablehlo.dynamic_broadcast_in_dim", "broadcast"},
                                           {"stablehlo.optimization_barrier", "opt-barrier"},
                                           {"stablehlo.real_dynamic_slice", "dynamic-slice"},
                                           {"stablehlo.dynamic_pad", "pad"},
                                           {"stablehlo.get_dimension_size", "constant"},
                                           {"stablehlo.uniform_quantize", "convert"},
                                           {"stablehlo.uniform_dequantize", "convert"},
                                           {"stablehlo.dynamic_iota", "iota"},
                                           {"stablehlo.dynamic_gather", "gather"},
                                           {"stablehlo.dynamic_conv", "convolution"},
                                           {"chlo.erf", "erf"},
                                           {"chlo.top_k", "topk"},
                                           {"call", "call"},
                                           {"func.call", "call"},
                                           {"stablehlo.rng", "rng"}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (xla_is(op, names[i][0]))
            return names[i][1];
    if (begins(op.at, op.end, "util.") || begins(op.at, op.end, "arith.constant"))
        return "constant";
    if (begins(op.at, op.end, "sdy."))
        return "opt-barrier";
    const char *dot = memchr(op.at, '.', (size_t)(op.end - op.at));
    bool known = begins(op.at, op.end, "stablehlo.") || begins(op.at, op.end, "mhlo.");
    const char *from = known && dot ? dot + 1 : op.at;
    char *name = ll_copy_text(&m->module->import->arena, from, (size_t)(op.end - from));
    for (char *at = name; known && at && *at; at++)
        *at = *at == '_' ? '-' : *at;
    return name;
}

/* Attributes in HLO's form. */
static const char *attrs_of(struct mlir *m, struct scope *s, const struct statement *st, const char *opcode,
                            const uint32_t *ids, uint32_t count)
{
    struct ll_str attrs = {0};
    const struct ll_shape *first = count > 0 && s->computation.instructions[ids[0]].shape_count
                                       ? s->computation.instructions[ids[0]].shapes
                                       : NULL,
                          *second = count > 1 && s->computation.instructions[ids[1]].shape_count
                                        ? s->computation.instructions[ids[1]].shapes
                                        : NULL;
    ll_str_addf(&attrs, ", ");
    if (xla_is(st->op, "stablehlo.dot")) {
        ll_str_addf(&attrs, "lhs_contracting_dims={%d}", first && first->rank ? first->rank - 1 : 0);
    } else if (strcmp(opcode, "dot") == 0) {
        struct xla_text k = list_behind(st, "contracting_dims"), b = list_behind(st, "batching_dims");
        add_list(&attrs, "lhs_contracting_dims",
                 find(st->whole, "lhs_contracting_dimensions") ? list_behind(st, "lhs_contracting_dimensions")
                                                               : k);
        add_list(&attrs, "lhs_batch_dims",
                 find(st->whole, "lhs_batching_dimensions") ? list_behind(st, "lhs_batching_dimensions") : b);
    } else if (strcmp(opcode, "broadcast") == 0) {
        add_list(&attrs, "dimensions",
                 find(st->whole, "broadcast_dimensions") ? list_behind(st, "broadcast_dimensions")
                                                         : list_behind(st, "dims"));
    } else if (strcmp(opcode, "concatenate") == 0 || strcmp(opcode, "sort") == 0) {
        struct ll_str one = {0};
        add_number(&one, st, find(st->whole, "dimension =") ? "dimension =" : "dim =", "x");
        ll_str_addf(&attrs, "dimensions={%s}",
                    one.text && strchr(one.text, '=') ? strchr(one.text, '=') + 1 : "0");
        ll_str_release(&one);
    } else if (strcmp(opcode, "gather") == 0) {
        add_list(&attrs, "slice_sizes", list_behind(st, "slice_sizes"));
    } else if (strcmp(opcode, "convolution") == 0 && second) {
        add_convolution(&attrs, st, second);
    } else if (strcmp(opcode, "reduce-window") == 0) {
        int64_t sizes[16];
        uint64_t n = xla_integers(list_behind(st, "window_dimensions"), sizes, 16);
        ll_str_addf(&attrs, "window={size=");
        for (uint64_t i = 0; i < n && i < 16; i++)
            ll_str_addf(&attrs, "%s%lld", i ? "x" : "", (long long)sizes[i]);
        ll_str_addf(&attrs, "}");
    } else if (strcmp(opcode, "custom-call") == 0) {
        const char *at = find(st->head, "@"), *end = at;
        const char *named = find(st->whole, "call_target_name = \"");
        if (named)
            for (at = end = named + 20; end < st->whole.end && *end != '"'; end++)
                continue;
        else
            for (end = at ? ++at : NULL; end && end < st->head.end && is_word(*end); end++)
                continue;
        ll_str_addf(&attrs, "custom_call_target=\"%.*s\"", (int)(at ? ll_min(200, (uint64_t)(end - at)) : 0),
                    at ? at : "");
    } else if (strcmp(opcode, "call") == 0) {
        const char *at = find(st->head, "@"), *end = at ? at + 1 : NULL;
        while (end && end < st->head.end && is_word(*end))
            end++;
        ll_str_addf(&attrs, "to_apply=%.*s", (int)(at ? end - at - 1 : 0), at ? at + 1 : "");
    }
    bool picks = find(st->whole, "stablehlo.maximum") || find(st->whole, "stablehlo.minimum") ||
                 find(st->whole, "stablehlo.and") || find(st->whole, "stablehlo.or");
    ll_str_addf(&attrs, ", to_apply=%s", strcmp(opcode, "call") == 0 ? "" : picks ? "#max" : "#add");
    const char *groups = find(st->whole, "replica_groups");
    const char *type = groups ? memmem(groups, (size_t)(st->whole.end - groups), "tensor<", 7) : NULL;
    int64_t sides[2] = {0, 0};
    if (type && xla_integers((struct xla_text){type, type + 24 < st->whole.end ? type + 24 : st->whole.end},
                             sides, 2) >= 2)
        ll_str_addf(&attrs, ", replica_groups=[%lld,%lld]<=[%lld]", (long long)sides[0], (long long)sides[1],
                    (long long)(sides[0] * sides[1]));
    const char *text =
        attrs.failed ? NULL : ll_copy_text(&m->module->import->arena, attrs.text, attrs.length);
    ll_str_release(&attrs);
    return text;
}

/* Names of results: one instruction with several parts, or one each. */
static bool name_results(struct mlir *m, struct scope *s, const struct statement *st, uint32_t id)
{
    uint32_t part = 0;
    bool several = st->result_count > 1;
    for (unsigned n = 0; n < st->name_count; n++)
        for (uint64_t k = 0; k < st->counts[n]; k++, part++) {
            uint32_t one =
                several && part < st->result_count ? add_part(m, s, id, part, &st->results[part]) : id;
            struct xla_text name = st->names[n];
            if (st->counts[n] > 1) {
                const char *numbered = ll_format(&m->module->import->arena, "%.*s#%llu",
                                                 (int)ll_min(200, (uint64_t)(name.end - name.at)), name.at,
                                                 (unsigned long long)k);
                name = text_of(numbered ? numbered : "");
            }
            if (one == UINT32_MAX || !define(m, s, name, one))
                return false;
        }
    return true;
}

static bool read_region(struct mlir *m, struct scope *s, struct xla_text region, uint32_t **returned,
                        uint32_t *count)
{
    struct mlir inner = *m;
    inner.at = region.at + 1;
    inner.end = region.end - 1;
    inner.depth++;
    if (inner.depth > 32)
        return refuse(m, region.at, "regions lie too deep in each other");
    return read_block(&inner, s, returned, count);
}

/* A region of a loop as a computation of its own: a tuple comes in and goes out (or, of a condition, a
 * truth). */
static bool add_region(struct mlir *m, struct scope *around, struct captures *captures,
                       const struct statement *st, unsigned which, const struct xla_text *arguments,
                       const struct ll_shape *shapes, uint32_t count, const char *name, bool tuple,
                       struct scope *s)
{
    uint32_t *returned = NULL, results = 0;
    *s = (struct scope){.around = around, .captures = captures, .computation = {.name = text_of(name)}};
    const struct xla_instruction state = {.name = text_of("state"),
                                          .opcode = text_of("parameter"),
                                          .inside = text_of("0"),
                                          .attrs = text_of(""),
                                          .shapes = shapes_in(m, shapes, count),
                                          .shape_count = count};
    if (!state.shapes || add(m, s, &state) == UINT32_MAX)
        return false;
    for (uint32_t i = 0; i < count; i++)
        if (arguments[i].at && !define(m, s, arguments[i], add_part(m, s, 0, i, &shapes[i])))
            return false;
    if (!read_region(m, s, st->regions[which], &returned, &results))
        return false;
    if (!tuple) {
        s->computation.root = results > 0 ? returned[0] : s->computation.count - 1;
        return true;
    }
    const struct xla_instruction root = {.name = text_of("next"),
                                         .opcode = text_of("tuple"),
                                         .attrs = text_of(""),
                                         .operands = returned,
                                         .operand_count = results,
                                         .shapes = state.shapes,
                                         .shape_count = count};
    s->computation.root = add(m, s, &root);
    return results == count || refuse(m, st->op.at, "a loop must give as many values as it takes");
}

/* Adds to the state of a loop what its regions took from around it. */
static bool widen(struct mlir *m, struct scope *s, const struct captures *captures,
                  const struct ll_shape *all, uint32_t count, bool tuple)
{
    struct xla_computation *c = &s->computation;
    c->instructions[0].shapes = shapes_in(m, all, count);
    c->instructions[0].shape_count = count;
    if (!c->instructions[0].shapes || !tuple)
        return c->instructions[0].shapes != NULL;
    struct xla_instruction root = c->instructions[c->root];
    uint32_t *operands = ll_alloc(&m->module->import->arena, count, sizeof *operands);
    if (!operands)
        return ll_import_no_memory(m->module->import);
    if (root.operand_count > 0)
        memcpy(operands, root.operands, root.operand_count * sizeof *operands);
    for (uint32_t i = captures->first; i < count; i++)
        operands[i] = add_part(m, s, 0, i, &all[i]);
    root.operands = operands;
    root.operand_count = count;
    root.shapes = c->instructions[0].shapes;
    root.shape_count = count;
    c->root = add(m, s, &root);
    return c->root != UINT32_MAX;
}

static bool keep(struct mlir *m, struct scope *s)
{
    struct xla_module *module = m->module;
    ll_map_release(&s->names);
    free(s->ids);
    s->ids = NULL;
    if (!ll_grow(&module->computations, &module->capacity, module->count + 1, sizeof s->computation))
        return ll_import_no_memory(module->import);
    module->computations[module->count++] = s->computation;
    return true;
}

/* while(%a = %x, ...): condition and body as computations, the state as a tuple. */
static bool read_while(struct mlir *m, struct scope *s, struct statement *st)
{
    struct ll_arena *arena = &m->module->import->arena;
    uint32_t *taken_in = NULL, count = operands_in(m, s, st, &taken_in), arguments = 0;
    if (count == UINT32_MAX)
        return false;
    struct captures *captures = ll_alloc(arena, 1, sizeof *captures);
    struct xla_text *names = ll_alloc(arena, count, sizeof *names);
    struct scope regions[2] = {{0}, {0}};
    if (!captures || !names)
        return ll_import_no_memory(m->module->import);
    if (st->region_count != 2 || count != st->result_count)
        return refuse(m, st->op.at, "a loop has a condition, a body, and a type for each value");
    for (const char *at = st->head.at; at < st->head.end; at++) /* pretty: %a = %x; generic: ^bb0(%a: type) */
        if (*at == '%') {
            const struct xla_text name = value_at(at, st->head.end);
            const char *behind = name.end;
            while (behind < st->head.end && *behind == ' ')
                behind++;
            if (behind < st->head.end && *behind == '=' && arguments < count)
                names[arguments++] = name;
            at = name.end - 1;
        }
    captures->first = count;
    const char *labels[2] = {ll_format(arena, "#cond%u", (unsigned)(st->op.at - m->begin)),
                             ll_format(arena, "#body%u", (unsigned)(st->op.at - m->begin))};
    bool right = labels[0] && labels[1];
    for (unsigned i = 0; i < 2 && right; i++) {
        right = add_region(m, s, captures, st, i, names, st->results, count, labels[i], i == 1, &regions[i]);
    }
    uint32_t whole = count + (right ? captures->count : 0);
    struct ll_shape *all = ll_alloc(arena, (size_t)whole + 1, sizeof *all);
    uint32_t *ids = ll_alloc(arena, (size_t)whole + 1, sizeof *ids);
    right = right && all && ids && whole < MOST_NAMES;
    for (uint32_t i = 0; right && i < whole; i++) {
        const uint32_t taken = i < count ? 0 : captures->ids[i - count];
        all[i] = i < count ? st->results[i]
                 : s->computation.instructions[taken].shape_count
                     ? s->computation.instructions[taken].shapes[0]
                     : st->results[0];
        ids[i] = i < count ? taken_in[i] : taken;
    }
    for (unsigned i = 0; i < 2 && right; i++)
        right = widen(m, &regions[i], captures, all, whole, i == 1);
    for (unsigned i = 0; i < 2; i++)
        if (!right || !keep(m, &regions[i])) {
            ll_map_release(&regions[i].names);
            free(regions[i].ids);
            free(regions[i].computation.instructions);
            right = false;
        }
    uint32_t *loop = ll_alloc(arena, 1, sizeof *loop);
    const char *attrs = right ? ll_format(arena, ", condition=%s, body=%s", labels[0], labels[1]) : NULL;
    const struct xla_instruction tuple = {.name = text_of("state"),
                                          .opcode = text_of("tuple"),
                                          .attrs = text_of(""),
                                          .operands = ids,
                                          .operand_count = whole,
                                          .shapes = all,
                                          .shape_count = whole};
    if (!attrs || !loop || (loop[0] = add(m, s, &tuple)) == UINT32_MAX)
        return false;
    const struct xla_instruction in = {
        .name = st->names[0].at ? (struct xla_text){st->names[0].at + 1, st->names[0].end} : text_of("while"),
        .opcode = text_of("while"),
        .attrs = text_of(attrs),
        .operands = loop,
        .operand_count = 1,
        .shapes = all,
        .shape_count = whole,
        .line = st->line};
    uint32_t id = add(m, s, &in);
    struct statement named = *st;
    if (whole > 1 && st->result_count == 1) { /* one value, but a tuple with what it took */
        uint32_t one = add_part(m, s, id, 0, &st->results[0]);
        return one != UINT32_MAX && st->name_count == 1 && define(m, s, st->names[0], one);
    }
    return id != UINT32_MAX && name_results(m, s, &named, id);
}

/* A branch: the longest region takes its place. */
static bool read_branch(struct mlir *m, struct scope *s, const struct statement *st)
{
    uint32_t *returned = NULL, count = 0, part = 0;
    unsigned longest = 0;
    for (unsigned i = 1; i < st->region_count; i++)
        if (st->regions[i].end - st->regions[i].at > st->regions[longest].end - st->regions[longest].at)
            longest = i;
    if (st->region_count == 0 || st->result_count > MOST_REGIONS)
        return refuse(m, st->op.at, "it has no branch, or too many results");
    if (m->module->import->notes)
        ll_complain(m->module->import->notes, place(m, st->op.at),
                    "which branch runs is not known; the longest is taken");
    if (!read_region(m, s, st->regions[longest], &returned, &count))
        return false;
    for (unsigned n = 0; n < st->name_count; n++)
        for (uint64_t k = 0; k < st->counts[n]; k++, part++) {
            struct xla_text name = st->names[n];
            if (st->counts[n] > 1) {
                const char *numbered = ll_format(&m->module->import->arena, "%.*s#%llu",
                                                 (int)ll_min(200, (uint64_t)(name.end - name.at)), name.at,
                                                 (unsigned long long)k);
                name = text_of(numbered ? numbered : "");
            }
            if (part >= count || !define(m, s, name, returned[part]))
                return refuse(m, st->op.at, "a branch gives fewer results than it has names");
        }
    return true;
}

static bool read_op(struct mlir *m, struct scope *s, uint32_t **returned, uint32_t *count)
{
    struct statement st = {0};
    while (m->at < m->end && *m->at == '%') {
        if (st.name_count == MOST_REGIONS)
            return refuse(m, m->at, "too many names of results");
        struct xla_text name = value_at(m->at, m->end);
        m->at = name.end;
        st.names[st.name_count] = name;
        st.counts[st.name_count] = 1;
        if (m->at < m->end && *m->at == ':') {
            int64_t several = 1;
            const char *digits = ++m->at;
            while (m->at < m->end && *m->at >= '0' && *m->at <= '9')
                m->at++;
            xla_integers((struct xla_text){digits, m->at}, &several, 1);
            st.counts[st.name_count] = (uint64_t)ll_min(1024, (uint64_t)ll_max(1, (uint64_t)several));
        }
        st.name_count++;
        blanks(m);
        m->at += m->at < m->end && (*m->at == ',' || *m->at == '=');
        blanks(m);
    }
    m->at += m->at < m->end && *m->at == '"';
    st.op.at = m->at;
    while (m->at < m->end && is_word(*m->at))
        m->at++;
    st.op.end = m->at;
    m->at += m->at < m->end && *m->at == '"';
    if (st.op.at == st.op.end)
        return refuse(m, m->at, "expected an operation, as %0 = stablehlo.add %a, %b : tensor<4xf32>");
    st.line = line_of(m, st.op.at);
    if (!measure(m, &st))
        return false;
    if (begins(st.op.at, st.op.end, "check.") || begins(st.op.at, st.op.end, "util.global.address"))
        return true;
    if (xla_is(st.op, "stablehlo.while") || xla_is(st.op, "mhlo.while"))
        return read_while(m, s, &st);
    if (xla_is(st.op, "stablehlo.if") || xla_is(st.op, "stablehlo.case"))
        return read_branch(m, s, &st);
    uint32_t *ids = NULL;
    bool indirect = begins(st.op.at, st.op.end, "util.");
    uint32_t operands = indirect ? 0 : operands_in(m, s, &st, &ids);
    if (operands == UINT32_MAX)
        return false;
    if (xla_is(st.op, "stablehlo.return") || xla_is(st.op, "return") || xla_is(st.op, "func.return") ||
        xla_is(st.op, "mhlo.return")) {
        *returned = ids;
        *count = operands;
        return true;
    }
    const char *opcode = opcode_of(m, st.op);
    const char *attrs = opcode ? attrs_of(m, s, &st, opcode, ids, operands) : NULL;
    if (st.result_count > 1 && st.name_count == 1 &&
        st.counts[0] == 1) { /* types of operands, then of the result */
        st.results[0] = st.results[st.result_count - 1];
        st.result_count = 1;
    }
    struct xla_instruction in = {
        .name = st.name_count ? (struct xla_text){st.names[0].at + 1, st.names[0].end} : st.op,
        .opcode = text_of(opcode ? opcode : ""),
        .inside = st.head,
        .attrs = text_of(attrs ? attrs : ""),
        .shapes = st.results,
        .shape_count = st.result_count,
        .operands = ids,
        .operand_count = operands,
        .line = st.line};
    uint32_t id = attrs ? add(m, s, &in) : UINT32_MAX;
    return id != UINT32_MAX && name_results(m, s, &st, id);
}

/* Operations up to the brace that closes them; what the last one returns. */
static bool read_block(struct mlir *m, struct scope *scope, uint32_t **returned, uint32_t *count)
{
    *count = 0;
    for (blanks(m); m->at < m->end && *m->at != '}'; blanks(m)) {
        if (*m->at == '^') { /* ^bb0(%a: type, ...): whose names are those of arguments */
            const char *line = memchr(m->at, '\n', (size_t)(m->end - m->at));
            m->at = line ? line : m->end;
            continue;
        }
        if (!read_op(m, scope, returned, count))
            return false;
    }
    return true;
}

/* Where the body of a function opens: results and attributes stand before it, in braces, too. */
static const char *find_body(const struct mlir *m, const char *behind)
{
    const char *body = behind;
    while (body < m->end && *body != '{') {
        if (begins(body, m->end, "attributes")) {
            body += 10;
            while (body < m->end && *body != '{')
                body++;
            body = body < m->end && behind_brackets(body, m->end) ? behind_brackets(body, m->end) : m->end;
        } else if (*body == '\n') {
            break;
        } else {
            body = opens(*body) && behind_brackets(body, m->end) ? behind_brackets(body, m->end) : body + 1;
        }
    }
    return body;
}

/* func.func @name(%a: type {..}, ...) -> .. { .. } */
static bool read_function(struct mlir *m, bool *entry)
{
    const char *name = memchr(m->at, '@', (size_t)(m->end - m->at)), *end = name ? name + 1 : NULL;
    if (end && end < m->end && *end == '"') { /* any text may be a name */
        const char *quote = memchr(end + 1, '"', (size_t)(m->end - end - 1));
        end = quote ? quote + 1 : end;
    }
    while (end && end < m->end && is_word(*end))
        end++;
    const char *list = end && end < m->end && *end == '(' ? end : NULL,
               *behind = list ? behind_brackets(list, m->end) : NULL;
    uint32_t *returned = NULL, count = 0, number = 0;
    struct scope s = {.computation = {.name = {name ? name + 1 : NULL, end}}};
    bool right = behind;
    if (!behind)
        return refuse(m, m->at, "expected a function: func.func @name(%argument: type) { ... }");
    for (const char *at = list + 1; at < behind - 1 && right; at++) {
        if (*at != '%')
            continue;
        const struct xla_text argument = value_at(at, behind);
        const char *type = memchr(argument.end, ':', (size_t)(behind - argument.end));
        struct ll_shape shape;
        if (!type)
            break;
        for (type++; type < behind && *type == ' '; type++)
            continue;
        at = read_type(m, type, behind, &shape);
        if (!at) {
            right = false;
            break;
        }
        const char *digits = ll_format(&m->module->import->arena, "%u", number++);
        struct xla_instruction in = {.name = argument,
                                     .opcode = text_of("parameter"),
                                     .inside = text_of(digits ? digits : ""),
                                     .attrs = text_of(""),
                                     .shapes = shapes_in(m, &shape, 1),
                                     .shape_count = 1};
        uint32_t id = digits && in.shapes ? add(m, &s, &in) : UINT32_MAX;
        right = id != UINT32_MAX && define(m, &s, argument, id);
        while (right && at < behind - 1 && *at != '%' && *at != ',') /* attributes of the argument */
            at = opens(*at) && behind_brackets(at, behind) ? behind_brackets(at, behind) : at + 1;
        at -= right && *at == '%';
        if (!right)
            break;
    }
    const char *body = right ? find_body(m, behind) : behind;
    if (right && (body >= m->end || *body != '{')) { /* it is only declared */
        m->at = body;
        ll_map_release(&s.names);
        free(s.ids);
        free(s.computation.instructions);
        return true;
    }
    m->at = body + 1;
    right = right && read_block(m, &s, &returned, &count);
    const struct xla_instruction root = {.name = text_of("results"),
                                         .opcode = text_of("tuple"),
                                         .attrs = text_of(""),
                                         .operands = returned,
                                         .operand_count = count};
    if (right && count == 1)
        s.computation.root = returned[0];
    else if (right)
        right = (s.computation.root = add(m, &s, &root)) != UINT32_MAX;
    m->at += m->at < m->end && *m->at == '}';
    bool is_main = xla_is(s.computation.name, "main");
    bool kept = right && keep(m, &s);
    if (!kept) {
        ll_map_release(&s.names);
        free(s.ids);
        free(s.computation.instructions);
        return false;
    }
    if (is_main || !*entry)
        m->module->entry = m->module->count - 1;
    *entry = true;
    return true;
}

/* Small computations that reductions name. */
static bool add_reductions(struct mlir *m)
{
    static const char *const names[2][2] = {{"#add", "add"}, {"#max", "maximum"}};
    for (unsigned i = 0; i < 2; i++) {
        struct scope s = {.computation = {.name = {names[i][0], names[i][0] + 4}}};
        const struct xla_instruction in = {
            .name = text_of("root"), .opcode = text_of(names[i][1]), .attrs = text_of("")};
        if (add(m, &s, &in) == UINT32_MAX || !keep(m, &s))
            return false;
    }
    return true;
}

bool xla_read_stablehlo(struct xla_module *module, struct xla_text text)
{
    struct mlir m = {.module = module, .begin = text.at, .at = text.at, .end = text.end};
    bool entry = false;
    m.room = ll_alloc(&module->import->arena, 1, sizeof *m.room);
    if (!m.room)
        return ll_import_no_memory(module->import);
    m.room->counted = text.at;
    m.room->line = 1;
    if (!add_reductions(&m))
        return false;
    if (text.end - text.at > 4 && memcmp(text.at, "ML\xEFR", 4) == 0)
        return refuse(&m, text.at,
                      "this is bytecode; print the module as text (stablehlo-translate --deserialize)");
    module->name = text_of("module");
    while (m.at < m.end) {
        blanks(&m);
        const char *next = memmem(m.at, (size_t)(m.end - m.at), "func.func", 9);
        const char *line = memchr(m.at, '\n', (size_t)(m.end - m.at));
        if (begins(m.at, m.end, "func.func")) {
            if (!read_function(&m, &entry))
                return false;
            struct mlir ahead = m;
            while (ahead.at < ahead.end && (*ahead.at == ' ' || *ahead.at == '\n'))
                ahead.at++;
            if (begins(ahead.at, ahead.end, "// -----"))
                break; /* another module begins */
        } else {
            m.at = line ? line + 1 : m.end;
        }
        if (!next)
            break;
    }
    return entry || refuse(&m, text.at, "this is no StableHLO text: there is no func.func in it");
}
