/* SPDX-License-Identifier: Apache-2.0 */
/* HLO text, as XLA dumps it.
 *
 * HloModule NAME, attr=..., ... [%]NAME [(parameters) -> shape] {             the entry begins with ENTRY
 *
 *     [ROOT] [%]name = SHAPE opcode(operands), attr=value, ...
 *
 * }
 *
 * A shape is f32[2,3]{layout} or a tuple (a, b); layouts, tilings and memory spaces say nothing here.
 * Operands are names, perhaps behind their shapes; names are looked up when a computation is whole. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "tracer/convert/xla/xla.h"

enum { MOST_SHAPES = 4096, MOST_OPERANDS = 65000 };

bool xla_is(struct xla_text text, const char *word)
{
    size_t length = strlen(word);
    return (size_t)(text.end - text.at) == length && memcmp(text.at, word, length) == 0;
}

static struct xla_text without_percent(struct xla_text name)
{
    name.at += name.at < name.end && *name.at == '%';
    return name;
}

const struct xla_computation *xla_find(const struct xla_module *module, struct xla_text name)
{
    name = without_percent(name);
    for (uint64_t i = 0; i < module->count; i++) {
        const struct xla_text other = module->computations[i].name;
        if (other.end - other.at == name.end - name.at &&
            memcmp(other.at, name.at, (size_t)(name.end - name.at)) == 0)
            return &module->computations[i];
    }
    return NULL;
}

uint64_t xla_integers(struct xla_text text, int64_t *values, uint64_t most)
{
    uint64_t count = 0;
    while (text.at < text.end) {
        bool negative = *text.at == '-';
        const char *at = text.at + negative;
        if (at < text.end && *at >= '0' && *at <= '9') {
            int64_t value = 0;
            for (; at < text.end && *at >= '0' && *at <= '9'; at++)
                value = value > INT64_MAX / 10 - 10 ? value : 10 * value + (*at - '0');
            if (count++ < most)
                values[count - 1] = negative ? -value : value;
            text.at = at;
        } else {
            text.at++;
        }
    }
    return count;
}

struct ll_place xla_place(const struct xla_module *module, const struct xla_instruction *instruction)
{
    return (struct ll_place){.file = module->import->inputs[0].path,
                             .line = instruction ? instruction->line : 0};
}

struct parser {
    struct xla_module *module;
    const char *begin, *at, *end; /* of the line at work */
    uint64_t line;
    struct xla_text *names; /* room for those of operands */
};

static bool refuse(struct parser *p, const char *what)
{
    return ll_complain(p->module->import->diags,
                       (struct ll_place){.file = p->module->import->inputs[0].path,
                                         .line = p->line,
                                         .column = (uint64_t)(p->at - p->begin) + 1},
                       "%s", what);
}

static void blanks(struct parser *p)
{
    while (p->at < p->end) {
        if (*p->at == ' ' || *p->at == '\t' || *p->at == '\r') {
            p->at++;
        } else if (p->end - p->at > 3 && p->at[0] == '/' && p->at[1] == '*') { /* index=5 */
            const char *close = p->at + 2;
            while (close + 1 < p->end && (close[0] != '*' || close[1] != '/'))
                close++;
            p->at = close + 1 < p->end ? close + 2 : p->end;
        } else {
            return;
        }
    }
}

static bool takes(struct parser *p, char c)
{
    blanks(p);
    bool there = p->at < p->end && *p->at == c;
    p->at += there;
    return there;
}

static bool is_name(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '_' || c == '-' || c == '%';
}

static struct xla_text word(struct parser *p)
{
    blanks(p);
    const char *begin = p->at;
    while (p->at < p->end && is_name(*p->at))
        p->at++;
    return (struct xla_text){begin, p->at};
}

/* What stands in brackets that open here, without them; quotes hide brackets. */
static bool enclosed(struct parser *p, struct xla_text *inside)
{
    unsigned depth = 0;
    const char *begin = p->at;
    bool quoted = false;
    for (; p->at < p->end; p->at++) {
        char c = *p->at;
        if (c == '"' && p->at[-1] != '\\')
            quoted = !quoted;
        if (quoted)
            continue;
        depth += c == '(' || c == '{' || c == '[';
        if ((c == ')' || c == '}' || c == ']') && --depth == 0) {
            *inside = (struct xla_text){begin + 1, p->at++};
            return true;
        }
    }
    return refuse(p, "a bracket that opens in this line does not close in it");
}

static uint8_t dtype_of(struct xla_text name)
{
    static const struct {
        const char *name;
        uint8_t dtype;
    } types[] = {{"pred", LL_BOOL},  {"s2", LL_INT2}, {"s4", LL_INT4}, {"s8", LL_INT8},   {"s16", LL_I16},
                 {"s32", LL_I32},    {"s64", LL_I64}, {"u2", LL_INT2}, {"u4", LL_INT4},   {"u8", LL_U8},
                 {"u16", LL_I16},    {"u32", LL_I32}, {"u64", LL_I64}, {"bf16", LL_BF16}, {"f16", LL_F16},
                 {"f32", LL_F32},    {"f64", LL_F64}, {"c64", LL_C64}, {"c128", LL_C128}, {"token", LL_BOOL},
                 {"opaque", LL_BOOL}};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (xla_is(name, types[i].name))
            return types[i].dtype;
    if (name.end - name.at > 2 && memcmp(name.at, "f8", 2) == 0)
        return LL_F8;
    return name.end - name.at > 2 && memcmp(name.at, "f4", 2) == 0 ? LL_F4 : LL_DTYPE_COUNT;
}

/* A shape, or all of a tuple; adds to a list. */
static bool shapes(struct parser *p, struct ll_shape *list, uint32_t *count, unsigned depth)
{
    struct xla_text inside;
    if (takes(p, '(')) {
        if (depth > 16)
            return refuse(p, "tuples lie too deep in each other");
        while (!takes(p, ')')) {
            if (!shapes(p, list, count, depth + 1))
                return false;
            takes(p, ',');
        }
        return true;
    }
    struct ll_shape shape = {.dtype = dtype_of(word(p))};
    int64_t dims[LL_MAX_RANK];
    if (shape.dtype == LL_DTYPE_COUNT || p->at >= p->end || *p->at != '[')
        return refuse(p, "expected a shape, as f32[2,3], of a type that is known here");
    if (!enclosed(p, &inside))
        return false;
    uint64_t rank = xla_integers(inside, dims, LL_MAX_RANK);
    if (rank > LL_MAX_RANK || *count == MOST_SHAPES)
        return refuse(p, "a shape has too many dimensions, or a tuple too many parts");
    shape.rank = (uint8_t)rank;
    for (unsigned i = 0; i < rank; i++)
        shape.dim[i] = (uint64_t)dims[i];
    if (!ll_fits(ll_size_bytes(&shape)))
        return refuse(p, "the size of a shape does not fit in 64 bits");
    if (p->at < p->end && *p->at == '{' && !enclosed(p, &inside))
        return false;
    list[(*count)++] = shape;
    return true;
}

/* The line that is read next, without its end; false behind the last one. */
static bool next_line(struct parser *p, const char **rest, const char *end)
{
    if (*rest >= end)
        return false;
    const char *newline = memchr(*rest, '\n', (size_t)(end - *rest));
    p->begin = p->at = *rest;
    p->end = newline ? newline : end;
    *rest = newline ? newline + 1 : end;
    p->line++;
    blanks(p);
    return true;
}

static bool begins(const struct parser *p, const char *text)
{
    size_t length = strlen(text);
    return (size_t)(p->end - p->at) >= length && memcmp(p->at, text, length) == 0;
}

/* Whether brackets and quotes that open in a stretch of text close in it. */
static bool is_whole(struct xla_text text)
{
    uint64_t depth = 0;
    bool quoted = false;
    for (const char *at = text.at; at < text.end; at++) {
        quoted ^= *at == '"' && (at == text.at || at[-1] != '\\');
        depth += !quoted && (*at == '(' || *at == '{' || *at == '[');
        depth -= !quoted && depth > 0 && (*at == ')' || *at == '}' || *at == ']');
    }
    return depth == 0 && !quoted;
}

/* Attributes of a kernel may hold texts of several lines. */
static bool read_instruction(struct parser *p, struct xla_computation *c, struct ll_shape *room,
                             const char **rest, const char *end)
{
    enum { MOST_LINES = 1000 };
    struct xla_instruction in = {.line = p->line};
    struct ll_arena *arena = &p->module->import->arena;
    bool root = begins(p, "ROOT ");
    p->at += root ? 5 : 0;
    in.name = without_percent(word(p));
    if (in.name.at == in.name.end || !takes(p, '='))
        return refuse(p, "expected an instruction: name = shape opcode(operands)");
    if (!shapes(p, room, &in.shape_count, 0))
        return false;
    in.shapes = ll_copy(arena, room, in.shape_count * sizeof *room);
    in.opcode = word(p);
    if (in.opcode.at == in.opcode.end || p->at >= p->end || *p->at != '(')
        return refuse(p, "expected an opcode and its operands in parentheses");
    if (!enclosed(p, &in.inside))
        return false;
    in.attrs = (struct xla_text){p->at, p->end};
    for (unsigned i = 0; i < MOST_LINES && !is_whole(in.attrs) && next_line(p, rest, end); i++)
        in.attrs.end = p->end;
    if (!in.shapes || !ll_grow(&c->instructions, &c->capacity, c->count + 1, sizeof in))
        return ll_import_no_memory(p->module->import);
    c->root = root ? c->count : c->root;
    c->instructions[c->count++] = in;
    return true;
}

/* The names in a list of operands: the last word before each comma that no bracket hides. */
static uint64_t names_in(struct xla_text list, struct xla_text *names, uint64_t most)
{
    uint64_t count = 0;
    unsigned depth = 0;
    struct xla_text last = {NULL, NULL};
    for (const char *at = list.at; at <= list.end; at++) {
        char c = at < list.end ? *at : ',';
        if (c == '/' && at + 1 < list.end && at[1] == '*') { /* index=5 */
            for (at += 2; at < list.end && *at != '/'; at++)
                continue;
            continue;
        }
        depth += c == '(' || c == '{' || c == '[';
        depth -= (c == ')' || c == '}' || c == ']') && depth > 0;
        if (depth == 0 && is_name(c)) {
            const char *begin = at;
            while (at < list.end && is_name(*at))
                at++;
            last = (struct xla_text){begin, at--};
        } else if (c == ',' && (depth == 0 || at == list.end)) {
            if (last.at && count++ < most)
                names[count - 1] = without_percent(last);
            last.at = NULL;
        }
    }
    return count;
}

/* Operands by their numbers. Parameters and constants have none. */
static bool resolve(struct parser *p, struct xla_computation *c)
{
    struct ll_map map = {0};
    struct ll_arena *arena = &p->module->import->arena;
    struct xla_text *const names = p->names;
    bool right = true;
    for (uint64_t i = 0; i < c->count && right; i++) {
        struct xla_instruction *in = &c->instructions[i];
        bool plain =
            xla_is(in->opcode, "parameter") || xla_is(in->opcode, "constant") || xla_is(in->opcode, "iota");
        uint64_t count = plain ? 0 : names_in(in->inside, names, MOST_OPERANDS);
        in->operands = ll_alloc(arena, (size_t)ll_min(count, MOST_OPERANDS), sizeof *in->operands);
        right = in->operands || ll_import_no_memory(p->module->import);
        for (uint64_t k = 0; k < count && k < MOST_OPERANDS && right; k++) {
            uint32_t id = ll_map_find(&map, names[k].at, (size_t)(names[k].end - names[k].at));
            right = id != LL_NO_ID ||
                    ll_complain(p->module->import->diags, xla_place(p->module, in),
                                "no instruction before this one is called `%.*s`",
                                (int)ll_min(100, (uint64_t)(names[k].end - names[k].at)), names[k].at);
            in->operands[in->operand_count++] = id;
        }
        bool is_new = false;
        uint32_t own = ll_map_intern(&map, in->name.at, (size_t)(in->name.end - in->name.at), &is_new);
        if (right && own == LL_NO_ID)
            right = ll_import_no_memory(p->module->import);
        if (right && !is_new)
            right = ll_complain(p->module->import->diags, xla_place(p->module, in),
                                "another instruction has this name");
        assert(!right || own == i);
    }
    ll_map_release(&map);
    return right;
}

static bool read_computation(struct parser *p, const char **rest, const char *end, struct ll_shape *room)
{
    struct xla_module *m = p->module;
    bool entry = begins(p, "ENTRY ");
    p->at += entry ? 6 : 0;
    struct xla_computation c = {.name = without_percent(word(p)), .root = UINT64_MAX};
    bool right = true, closed = false;
    if (!ll_grow(&m->computations, &m->capacity, m->count + 1, sizeof c))
        return ll_import_no_memory(m->import);
    while (right && !closed && next_line(p, rest, end)) {
        closed = begins(p, "}");
        if (!closed && p->at < p->end && !begins(p, "//"))
            right = read_instruction(p, &c, room, rest, end);
    }
    if (right && !closed)
        right = refuse(p, "a computation does not end: there is no }");
    if (right && c.count == 0)
        right = refuse(p, "a computation has no instruction");
    c.root = c.root == UINT64_MAX ? c.count - 1 : c.root;
    right = right && resolve(p, &c);
    m->entry = entry ? m->count : m->entry;
    m->computations[m->count++] = c;
    return right;
}

bool xla_read_hlo(struct xla_module *module, struct xla_text text)
{
    struct parser p = {.module = module};
    const char *rest = text.at;
    const uint64_t size = (uint64_t)(text.end - text.at); /* each takes a byte and more */
    struct ll_shape *room = ll_alloc(&module->import->arena, ll_min(MOST_SHAPES, size), sizeof *room);
    p.names = ll_alloc(&module->import->arena, ll_min(MOST_OPERANDS, size), sizeof *p.names);
    if (!room || !p.names)
        return ll_import_no_memory(module->import);
    module->entry = UINT64_MAX;
    while (next_line(&p, &rest, text.end)) {
        if (begins(&p, "// -----") && module->entry != UINT64_MAX)
            break; /* another module begins */
        if (begins(&p, "HloModule ")) {
            p.at += 10;
            module->name = word(&p);
        } else if (p.end > p.at && p.end[-1 - (p.end[-1] == '\r')] == '{' && !begins(&p, "//")) {
            if (!read_computation(&p, &rest, text.end, room))
                return false;
        }
    }
    p.at = p.begin;
    return module->entry != UINT64_MAX ||
           refuse(&p, "this is no HLO text: there is no ENTRY computation in it");
}

/* Attributes lie behind commas; a value goes on to the next comma that no bracket and no quote hides. */
bool xla_attr(const struct xla_instruction *instruction, const char *name, struct xla_text *value)
{
    size_t length = strlen(name);
    unsigned depth = 0;
    bool quoted = false, fresh = true;
    const char *end = instruction->attrs.end;
    for (const char *at = instruction->attrs.at; at < end; at++) {
        if (fresh && depth == 0 && !quoted && (size_t)(end - at) > length && memcmp(at, name, length) == 0 &&
            at[length] == '=') {
            const char *begin = at + length + 1;
            for (at = begin; at < end && (depth > 0 || quoted || *at != ','); at++) {
                quoted ^= *at == '"' && at[-1] != '\\';
                depth += !quoted && (*at == '(' || *at == '{' || *at == '[');
                depth -= !quoted && depth > 0 && (*at == ')' || *at == '}' || *at == ']');
            }
            *value = (struct xla_text){begin, at};
            return true;
        }
        quoted ^= *at == '"' && at[-1] != '\\';
        depth += !quoted && (*at == '(' || *at == '{' || *at == '[');
        depth -= !quoted && depth > 0 && (*at == ')' || *at == '}' || *at == ']');
        fresh = *at == ' ' || *at == ',';
    }
    return false;
}

void xla_release(struct xla_module *module)
{
    for (uint64_t i = 0; i < module->count; i++)
        free(module->computations[i].instructions);
    free(module->computations);
}
