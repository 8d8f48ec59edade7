/* SPDX-License-Identifier: Apache-2.0 */
/* Problems and mappings of arrays as text, read and written. */
#include "sim/array/notation.h"

#include <assert.h>
#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tracer/base/num.h"

static bool complain(struct ll_str *complaint, const char *format, ...) __attribute__((format(printf, 2, 3)));

static bool complain(struct ll_str *complaint, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    ll_str_addv(complaint, format, arguments);
    va_end(arguments);
    return false;
}

const char *ll_array_operand_name(enum ll_operand operand)
{
    static const char *const names[LL_OPERAND_COUNT] = {"input", "weight", "output"};
    assert(operand < LL_OPERAND_COUNT);
    return names[operand];
}

/* --- problems --- */

/* Sizes by their names. */
enum { MOST_SIZES = 32 };
struct sizes {
    char name[MOST_SIZES][12];
    uint64_t of[MOST_SIZES];
    bool used[MOST_SIZES];
    size_t count;
    double bits[4]; /* weight, input, partial sum, result */
};

static bool read_bits(const char *text, struct sizes *sizes)
{
    char *end = (char *)text;
    for (int i = 0; i < 4; i++, end += *end == '/') {
        const char *start = end;
        sizes->bits[i] = (double)strtoul(start, &end, 10);
        if (end == start || sizes->bits[i] < 1 || sizes->bits[i] > 1024)
            return false;
    }
    return true;
}

/* "IX = 2*OX + 1*FX": the steps of an image's axis, as stride and dilation. */
static void read_relation(const char *text, struct sizes *sizes)
{
    for (const char *at = text; (at = strchr(at, '*')) != NULL; at++) {
        const char *digits = at;
        while (digits > text && isdigit((unsigned char)digits[-1]))
            digits--;
        if (sizes->count == MOST_SIZES || digits == at || strlen(at) < 3)
            return;
        bool tap = at[1] == 'F' || at[1] == 'f';
        bool wide = at[2] == 'X' || at[2] == 'x';
        snprintf(sizes->name[sizes->count], sizeof *sizes->name, "%s%s", wide ? "W" : "H",
                 tap ? "dilation" : "stride");
        sizes->of[sizes->count++] = strtoull(digits, NULL, 10);
    }
}

static bool read_size(char *word, struct sizes *sizes, struct ll_str *complaint)
{
    char *equals = strchr(word, '='), *end;
    if (!equals || equals == word || (size_t)(equals - word) >= sizeof *sizes->name)
        return complain(complaint, "`%.40s`: expected a dimension and its size, as K=64", word);
    *equals = '\0';
    if (!strcmp(word, "bits"))
        return read_bits(equals + 1, sizes) ||
               complain(complaint, "`bits=%.40s`: expected weight/input/partial sum/result, as 8/8/16/8",
                        equals + 1);
    if (sizes->count == MOST_SIZES)
        return complain(complaint, "more than %d sizes", MOST_SIZES);
    uint64_t of = strtoull(equals + 1, &end, 10);
    bool may_be_zero = strstr(word, "pad") != NULL;
    if (end == equals + 1 || *end || (of == 0 && !may_be_zero) || of > UINT32_MAX)
        return complain(complaint, "`%.40s=%.40s`: expected a whole number from 1 to %u", word, equals + 1,
                        UINT32_MAX);
    snprintf(sizes->name[sizes->count], sizeof *sizes->name, "%.*s", (int)sizeof *sizes->name - 1, word);
    sizes->of[sizes->count++] = of;
    return true;
}

static bool read_sizes(const char *text, struct sizes *sizes, struct ll_str *complaint)
{
    const char *end;
    for (const char *at = text; *at; at = end) {
        char word[80];
        at += strspn(at, " ,;\t\n");
        end = at + strcspn(at, " ,;\t\n");
        if (at == end)
            break;
        snprintf(word, sizeof word, "%.*s", (int)ll_min((uint64_t)(end - at), sizeof word - 1), at);
        if (!strcmp(word, "IX") || !strcmp(word, "IY")) {
            end = at + strcspn(at, ";\n");
            snprintf(word, sizeof word, "%.*s", (int)ll_min((uint64_t)(end - at), sizeof word - 1), at);
            read_relation(word, sizes);
            continue;
        }
        if (!read_size(word, sizes, complaint))
            return false;
    }
    return true;
}

static uint64_t size_of(struct sizes *sizes, const char *name, uint64_t otherwise)
{
    for (size_t i = 0; i < sizes->count; i++)
        if (!strcmp(sizes->name[i], name)) {
            sizes->used[i] = true;
            return sizes->of[i];
        }
    return otherwise;
}

static bool has_size(struct sizes *sizes, const char *name)
{
    return size_of(sizes, name, 0) > 0;
}

static void rename_dims(struct ll_array_problem *problem, const char *const *names)
{
    for (int d = 0; d < problem->dims; d++)
        snprintf(problem->name[d], sizeof *problem->name, "%s", names[d]);
}

/* A convolution whose loops have these names, in the order of LL_LOOP_LIST. */
static struct ll_array_problem conv_of(struct sizes *sizes, const char *const names[LL_LOOP_COUNT])
{
    uint64_t of[LL_LOOP_COUNT];
    for (int i = 0; i < LL_LOOP_COUNT; i++)
        of[i] = size_of(sizes, names[i], 1);
    struct ll_conv conv = {.batch = of[LL_LOOP_B],
                           .groups = of[LL_LOOP_G],
                           .in_c = of[LL_LOOP_C] * of[LL_LOOP_G],
                           .out_c = of[LL_LOOP_K] * of[LL_LOOP_G],
                           .out_h = of[LL_LOOP_OY],
                           .out_w = of[LL_LOOP_OX],
                           .kernel_h = of[LL_LOOP_FY],
                           .kernel_w = of[LL_LOOP_FX],
                           .stride_h = size_of(sizes, "Hstride", 1),
                           .stride_w = size_of(sizes, "Wstride", 1),
                           .dilation_h = size_of(sizes, "Hdilation", 1),
                           .dilation_w = size_of(sizes, "Wdilation", 1),
                           .in_h = size_of(sizes, "IY", 0),
                           .in_w = size_of(sizes, "IX", 0)};
    struct ll_array_problem problem = ll_array_conv(&conv);
    rename_dims(&problem, names);
    return problem;
}

static struct ll_array_problem gemm_of(struct sizes *sizes, const char *const names[4])
{
    struct ll_array_problem problem = ll_array_gemm(size_of(sizes, names[0], 1), size_of(sizes, names[1], 1),
                                                    size_of(sizes, names[2], 1), size_of(sizes, names[3], 1));
    rename_dims(&problem, names);
    return problem;
}

/* Which letters they are follows from which there are. */
static struct ll_array_problem problem_of(struct sizes *sizes)
{
    static const char *const zigzag[LL_LOOP_COUNT] = {"G", "B", "K", "C", "OY", "OX", "FY", "FX"};
    static const char *const timeloop_k[LL_LOOP_COUNT] = {"G", "N", "K", "C", "Q", "P", "S", "R"};
    static const char *const timeloop_m[LL_LOOP_COUNT] = {"G", "N", "M", "C", "Q", "P", "S", "R"};
    static const char *const gemm[] = {"B", "M", "N", "K"}, *const lettered[] = {"B", "D0", "D1", "D2"},
                             *const linear[] = {"B", "D", "K", "C"};
    bool windows = has_size(sizes, "OX") || has_size(sizes, "FX") || has_size(sizes, "OY");
    if (windows)
        return conv_of(sizes, zigzag);
    if (has_size(sizes, "D0"))
        return gemm_of(sizes, lettered);
    if (has_size(sizes, "D"))
        return gemm_of(sizes, linear);
    bool pixels = has_size(sizes, "P") || has_size(sizes, "Q") || has_size(sizes, "C");
    if (pixels)
        return conv_of(sizes, has_size(sizes, "M") ? timeloop_m : timeloop_k);
    return gemm_of(sizes, gemm);
}

bool ll_array_problem_parse(const char *text, struct ll_array_problem *problem, struct ll_str *complaint)
{
    struct sizes sizes = {.bits = {8, 8, 8, 8}};
    static const char *const ignored[] = {"H", "W", "Hpad", "Wpad"}; /* follow from the others */
    if (!read_sizes(text, &sizes, complaint))
        return false;
    *problem = problem_of(&sizes);
    for (size_t i = 0; i < sizeof ignored / sizeof *ignored; i++)
        size_of(&sizes, ignored[i], 0);
    for (size_t i = 0; i < sizes.count; i++)
        if (!sizes.used[i])
            return complain(complaint, "`%s`: no dimension of such a problem", sizes.name[i]);
    problem->operand[LL_OPERAND_B].bits = sizes.bits[0];
    problem->operand[LL_OPERAND_A].bits = sizes.bits[1];
    problem->operand[LL_OPERAND_C].sum_bits = sizes.bits[2];
    problem->operand[LL_OPERAND_C].bits = sizes.bits[3];
    return true;
}

/* --- reading mappings --- */

/* A dimension at the beginning of a text, the longest that fits; its length in *length. */
static int find_dim(const struct ll_array_problem *problem, const char *text, size_t *length)
{
    int found = -1;
    *length = 0;
    for (int d = 0; d < problem->dims; d++) {
        size_t l = strlen(problem->name[d]);
        if (l > *length && !strncmp(text, problem->name[d], l) &&
            (isdigit((unsigned char)text[l]) || text[l] == '=')) {
            found = d;
            *length = l;
        }
    }
    return found;
}

/* "K64", "K=64" and what stands behind. */
static bool read_loop(const struct ll_array_problem *problem, const char **text, struct ll_array_loop *loop,
                      struct ll_str *complaint)
{
    size_t length;
    char *end;
    int dim = find_dim(problem, *text, &length);
    if (dim < 0)
        return complain(complaint, "`%.30s`: no loop over a dimension of the problem", *text);
    const char *digits = *text + length + ((*text)[length] == '=');
    uint64_t by = strtoull(digits, &end, 10);
    if (end == digits || by == 0)
        return complain(complaint, "`%.30s`: expected a loop, as K64", *text);
    *loop = (struct ll_array_loop){(uint8_t)dim, by};
    *text = end;
    return true;
}

/* Words of a line: from one to the next, brackets included. */
static const char *next_word(const char *at, const char **end)
{
    at += strspn(at, " \t\n");
    const char *to = at;
    for (int depth = 0; *to && (depth > 0 || !isspace((unsigned char)*to)); to++)
        depth += (*to == '[' || *to == '(') - (*to == ']' || *to == ')');
    *end = to;
    return at;
}

static int find_store(const struct ll_array *array, const char *name, size_t length)
{
    for (int s = 0; s < array->stores; s++)
        if (strlen(array->store[s].name) == length && !strncmp(array->store[s].name, name, length))
            return s;
    return -1;
}

static const struct {
    const char *word;
    enum ll_operand operand;
} operand_words[] = {{"inputs", LL_OPERAND_A}, {"input", LL_OPERAND_A},   {"I", LL_OPERAND_A},
                     {"A", LL_OPERAND_A},      {"weights", LL_OPERAND_B}, {"weight", LL_OPERAND_B},
                     {"W", LL_OPERAND_B},      {"B", LL_OPERAND_B},       {"outputs", LL_OPERAND_C},
                     {"output", LL_OPERAND_C}, {"O", LL_OPERAND_C},       {"Z", LL_OPERAND_C},
                     {"C", LL_OPERAND_C}};

static bool read_operand(const char *text, size_t length, enum ll_operand *operand)
{
    for (size_t i = 0; i < sizeof operand_words / sizeof *operand_words; i++) {
        const char *word = operand_words[i].word;
        size_t l = strlen(word), same = 0;
        while (same < l && same < length &&
               (l > 1 ? tolower((unsigned char)text[same]) == word[same] : text[same] == word[same]))
            same++;
        if (same == l && l == length) {
            *operand = operand_words[i].operand;
            return true;
        }
    }
    return false;
}

/* "[Weights:96 (96) Inputs:18]", "[weight input]", or nothing, which is all that the store holds. */
static bool read_kept(const struct ll_array_store *store, const char *text, const char *end,
                      bool keeps[LL_OPERAND_COUNT], struct ll_str *complaint)
{
    memset(keeps, 0, LL_OPERAND_COUNT * sizeof *keeps);
    if (text == end) {
        memcpy(keeps, store->holds, sizeof store->holds);
        return true;
    }
    for (text++; text < end && *text != ']';) {
        enum ll_operand operand;
        text += strspn(text, " ,");
        size_t length = strcspn(text, ": ,](");
        if (*text == '(') {
            text += strcspn(text, ")") + 1;
            continue;
        }
        if (length == 0)
            break;
        if (!read_operand(text, length, &operand))
            return complain(complaint, "`%.*s`: expected input, weight or output", (int)length, text);
        if (!store->holds[operand])
            return complain(complaint, "`%s` does not hold the %s", store->name,
                            ll_array_operand_name(operand));
        keeps[operand] = true;
        text += length;
        text += *text == ':' ? strcspn(text, " ]") : 0;
    }
    return true;
}

/* Reading a mapping from the outermost store inwards. */
struct reader {
    const struct ll_array *array;
    const struct ll_array_problem *problem;
    struct ll_str *complaint;
    int store;                                  /* the last one named; `stores` before any */
    struct ll_array_loop loops[LL_ARRAY_LOOPS]; /* outermost first */
    struct ll_array_unroll unrolls[LL_ARRAY_LOOPS];
    int sides[LL_ARRAY_LOOPS];  /* of unrolls: 'x', 'y', or -1 where the axis is known */
    int inside[LL_ARRAY_LOOPS]; /* of unrolls: the store outside of them */
    int count, unrolled;
    bool keeps[LL_OPERAND_COUNT][LL_ARRAY_STORES];
    int outside[LL_ARRAY_STORES]; /* loops outside of each store named; -1: not named */
};

static bool read_store(struct reader *r, const char *at, const char *end)
{
    const char *bracket = memchr(at, '[', (size_t)(end - at)), *name_end = bracket ? bracket : end;
    bool keeps[LL_OPERAND_COUNT];
    int s = find_store(r->array, at + 1, (size_t)(name_end - at - 1));
    if (s < 0 && bracket && bracket[1] == ']')
        return true; /* a container of elements */
    if (s < 0)
        return complain(r->complaint, "`%.*s`: the array has no store of this name", (int)(name_end - at - 1),
                        at + 1);
    if (s >= r->store)
        return complain(r->complaint, "`%s` stands inside of `%s`; stores come outermost first",
                        r->array->store[s].name, r->array->store[r->store].name);
    if (!read_kept(&r->array->store[s], name_end, end, keeps, r->complaint))
        return false;
    for (enum ll_operand o = 0; o < LL_OPERAND_COUNT; o++)
        r->keeps[o][s] = keeps[o];
    r->outside[s] = r->count;
    r->store = s;
    return true;
}

static bool read_word(struct reader *r, const char *at, const char *end)
{
    struct ll_array_loop loop;
    if (*at == '@')
        return read_store(r, at, end);
    if (*at == '(')
        return complain(r->complaint, "`%.*s`: loops with a residue are not read", (int)(end - at), at);
    const char *behind = at;
    if (!read_loop(r->problem, &behind, &loop, r->complaint))
        return false;
    if (behind == end || *behind == '(') {
        if (r->count == LL_ARRAY_LOOPS)
            return complain(r->complaint, "more than %d loops", LL_ARRAY_LOOPS);
        r->loops[r->count++] = loop;
        return true;
    }
    if (r->unrolled == LL_ARRAY_LOOPS)
        return complain(r->complaint, "more than %d loops", LL_ARRAY_LOOPS);
    int axis = -1, side = *behind;
    if (*behind == ':' && (behind[1] == 'D' || behind[1] == 'd')) {
        axis = (int)strtol(behind + 2, NULL, 10) - 1;
        side = -1;
    }
    if (side != 'x' && side != 'y' && (axis < 0 || axis >= r->array->axes))
        return complain(r->complaint, "`%.*s`: expected an axis of the array, as K8:D1", (int)(end - at), at);
    r->sides[r->unrolled] = side;
    r->inside[r->unrolled] = r->store;
    r->unrolls[r->unrolled++] = (struct ll_array_unroll){
        loop.dim, (uint8_t)ll_max(0, (uint64_t)(axis < 0 ? 0 : axis)), (double)loop.by};
    return true;
}

/* The axis that x or y means between two stores: the first or the second of those that the outer one
 * serves and the inner one does not. */
static bool settle_axis(struct reader *r, int i)
{
    const struct ll_array *array = r->array;
    int inner = r->inside[i] - 1, found[2] = {-1, -1}, count = 0;
    while (inner >= 0 && r->outside[inner] < 0)
        inner--;
    uint32_t outer = r->inside[i] < array->stores ? array->store[r->inside[i]].serves : UINT32_MAX;
    uint32_t served = inner < 0 ? 0 : array->store[inner].serves;
    for (int a = 0; a < array->axes && count < 2; a++)
        if ((outer & ~served) >> a & 1)
            found[count++] = a;
    int axis = r->sides[i] == 'y' && found[1] >= 0 ? found[1] : found[0];
    if (axis < 0)
        return complain(r->complaint, "no axis of elements lies between `%s` and the store inside of it",
                        array->store[r->inside[i]].name);
    r->unrolls[i].axis = (uint8_t)axis;
    return true;
}

static bool read_nested(struct reader *r, const char *text, struct ll_array_mapping *mapping)
{
    const char *end;
    for (const char *at = next_word(text, &end); at < end; at = next_word(end, &end))
        if (!(*at == '(' && r->count + r->unrolled > 0) && !read_word(r, at, end))
            return false;
    *mapping = (struct ll_array_mapping){.loops = (uint8_t)r->count, .unrolls = (uint8_t)r->unrolled};
    for (int i = 0; i < r->count; i++)
        mapping->loop[i] = r->loops[r->count - 1 - i];
    for (int i = 0; i < r->unrolled; i++) {
        if (r->sides[i] != -1 && !settle_axis(r, i))
            return false;
        mapping->unroll[i] = r->unrolls[r->unrolled - 1 - i];
    }
    for (int i = 0; i < r->unrolled; i++)
        mapping->unroll[i] = r->unrolls[r->unrolled - 1 - i];
    memcpy(mapping->keeps, r->keeps, sizeof mapping->keeps);
    for (enum ll_operand o = 0; o < LL_OPERAND_COUNT; o++)
        for (int s = 0; s < r->array->stores; s++)
            mapping->holds[o][s] = r->outside[s] < 0 ? 0 : (uint8_t)(r->count - r->outside[s]);
    return true;
}

/* --- ZigZag's lists --- */

/* The spatial loops: "D1:K=32; D2:C=3". */
static bool read_axes(struct reader *r, const char *text, const char *end, struct ll_array_mapping *mapping)
{
    int axis = -1;
    while (text < end) {
        text += strspn(text, " ;,[]'\"");
        if (text >= end)
            break;
        if (*text == 'D' && isdigit((unsigned char)text[1]) && strchr(text, ':') &&
            text[strspn(text + 1, "0123456789") + 1] == ':') {
            axis = (int)strtol(text + 1, NULL, 10) - 1;
            text = strchr(text, ':') + 1;
            if (axis < 0 || axis >= r->array->axes)
                return complain(r->complaint, "D%d: the array has %d axes", axis + 1, r->array->axes);
            continue;
        }
        struct ll_array_loop loop;
        if (!read_loop(r->problem, &text, &loop, r->complaint))
            return false;
        if (axis < 0 || mapping->unrolls == LL_ARRAY_LOOPS)
            return complain(r->complaint, "expected axes with their loops, as D1:K=32");
        mapping->unroll[mapping->unrolls++] =
            (struct ll_array_unroll){loop.dim, (uint8_t)axis, (double)loop.by};
    }
    return true;
}

/* Stores that hold an operand, innermost first. */
static int store_of(const struct ll_array *array, enum ll_operand o, int place)
{
    for (int s = 0; s < array->stores; s++)
        if (array->store[s].holds[o] && place-- == 0)
            return s;
    return -1;
}

/* One operand's loops, which are all the same but for where stores begin. */
static bool read_list(struct reader *r, enum ll_operand o, const char *text, const char *end, bool first,
                      struct ll_array_mapping *mapping)
{
    int place = 0, count = 0, s = store_of(r->array, o, 0);
    for (text += strspn(text, " "); text < end; text += strspn(text, " ")) {
        struct ll_array_loop loop;
        if (*text == '/' || *text == '-') {
            if (*text++ == '-')
                continue;
            if (s < 0)
                return complain(r->complaint, "more stores than hold the %s", ll_array_operand_name(o));
            mapping->keeps[o][s] = true;
            mapping->holds[o][s] = (uint8_t)count;
            s = store_of(r->array, o, ++place);
            continue;
        }
        if (!read_loop(r->problem, &text, &loop, r->complaint))
            return false;
        if (count == LL_ARRAY_LOOPS ||
            (!first && (count >= mapping->loops || mapping->loop[count].dim != loop.dim ||
                        mapping->loop[count].by != loop.by)))
            return complain(r->complaint, "the %s has other loops than the operands before it",
                            ll_array_operand_name(o));
        mapping->loop[count++] = loop;
    }
    if (s < 0)
        return complain(r->complaint, "more stores than hold the %s", ll_array_operand_name(o));
    mapping->loops = (uint8_t)count;
    mapping->keeps[o][s] = true;
    mapping->holds[o][s] = (uint8_t)count;
    return true;
}

/* What loops make more than a dimension has, the one over its last axis lacks in the mean. */
static void even_out(const struct ll_array_problem *problem, struct ll_array_mapping *mapping)
{
    for (int d = 0; d < problem->dims; d++) {
        double all = 1;
        for (int i = 0; i < mapping->loops; i++)
            all *= mapping->loop[i].dim == d ? (double)mapping->loop[i].by : 1;
        for (int i = 0; i < mapping->unrolls; i++)
            all *= mapping->unroll[i].dim == d ? mapping->unroll[i].by : 1;
        int last = -1;
        for (int i = 0; i < mapping->unrolls; i++)
            if (mapping->unroll[i].dim == d &&
                (last < 0 || mapping->unroll[i].axis > mapping->unroll[last].axis))
                last = i;
        if (last >= 0 && all > (double)problem->of[d])
            mapping->unroll[last].by = fmax(1, mapping->unroll[last].by * (double)problem->of[d] / all);
    }
}

static bool read_lists(struct reader *r, const char *text, struct ll_array_mapping *mapping)
{
    bool first = true;
    *mapping = (struct ll_array_mapping){.loops = 0};
    while (*text) {
        text += strspn(text, " |;\n");
        size_t length = strcspn(text, "|;\n");
        const char *end = text + length, *colon = memchr(text, ':', length);
        enum ll_operand o;
        if (length == 0)
            break;
        if (!colon)
            return complain(r->complaint, "`%.30s`: expected an operand or an axis and a colon", text);
        if (read_operand(text, (size_t)(colon - text), &o)) {
            if (!read_list(r, o, colon + 1, end, first, mapping))
                return false;
            first = false;
        } else if (!read_axes(r, text, end, mapping)) {
            return false;
        }
        text = end;
    }
    for (enum ll_operand o = 0; o < LL_OPERAND_COUNT; o++)
        if (!mapping->keeps[o][r->array->stores - 1]) {
            mapping->keeps[o][r->array->stores - 1] = true;
            mapping->holds[o][r->array->stores - 1] = mapping->loops;
        }
    return true;
}

bool ll_array_mapping_parse(const struct ll_array *array, const struct ll_array_problem *problem,
                            const char *text, struct ll_array_mapping *mapping, struct ll_str *complaint)
{
    struct reader r = {.array = array, .problem = problem, .complaint = complaint, .store = array->stores};
    const char *why;
    for (int s = 0; s < LL_ARRAY_STORES; s++)
        r.outside[s] = -1;
    bool nested = strchr(text, '@') != NULL;
    if (nested ? !read_nested(&r, text, mapping) : !read_lists(&r, text, mapping))
        return false;
    even_out(problem, mapping);
    return ll_array_mapping_check(array, problem, mapping, &why) || complain(complaint, "%s", why);
}

/* --- writing --- */

/* Whether all operands that a store keeps share its loops, and stores nest. */
static bool nests_evenly(const struct ll_array *array, const struct ll_array_mapping *mapping)
{
    int inside = 0;
    for (int s = 0; s < array->stores; s++)
        for (enum ll_operand o = 0; o < LL_OPERAND_COUNT; o++) {
            if (!mapping->keeps[o][s])
                continue;
            int other = -1;
            for (enum ll_operand p = 0; p < o; p++)
                other = mapping->keeps[p][s] ? mapping->holds[p][s] : other;
            if ((other >= 0 && other != mapping->holds[o][s]) || mapping->holds[o][s] < inside)
                return false;
            inside = mapping->holds[o][s];
        }
    return true;
}

static bool is_kept(const struct ll_array_mapping *mapping, int s)
{
    return mapping->keeps[0][s] || mapping->keeps[1][s] || mapping->keeps[2][s];
}

static int loops_of_store(const struct ll_array_mapping *mapping, int s)
{
    for (enum ll_operand o = 0; o < LL_OPERAND_COUNT; o++)
        if (mapping->keeps[o][s])
            return mapping->holds[o][s];
    return 0;
}

static int next_inside(const struct ll_array_mapping *mapping, int s)
{
    for (s--; s >= 0 && !is_kept(mapping, s);)
        s--;
    return s;
}

void ll_array_mapping_print(const struct ll_array *array, const struct ll_array_problem *problem,
                            const struct ll_array_mapping *mapping, struct ll_str *out)
{
    if (!nests_evenly(array, mapping)) {
        ll_array_mapping_print_zigzag(array, problem, mapping, out);
        return;
    }
    for (int s = array->stores - 1; s >= 0; s = next_inside(mapping, s)) {
        int inner = next_inside(mapping, s), from = inner < 0 ? 0 : loops_of_store(mapping, inner);
        uint32_t between = array->store[s].serves & ~(inner < 0 ? 0 : array->store[inner].serves);
        const char *gap = "";
        ll_str_addf(out, "%s@%s[", s == array->stores - 1 ? "" : " ", array->store[s].name);
        for (enum ll_operand o = 0; o < LL_OPERAND_COUNT; o++)
            if (mapping->keeps[o][s]) {
                ll_str_addf(out, "%s%s", gap, ll_array_operand_name(o));
                gap = " ";
            }
        ll_str_add(out, "]");
        for (int i = loops_of_store(mapping, s) - 1; i >= from; i--)
            ll_str_addf(out, " %s%" PRIu64, problem->name[mapping->loop[i].dim], mapping->loop[i].by);
        for (int i = mapping->unrolls - 1; i >= 0; i--)
            if (between >> mapping->unroll[i].axis & 1)
                ll_str_addf(out, " %s%.10g:D%d", problem->name[mapping->unroll[i].dim],
                            ceil(mapping->unroll[i].by), mapping->unroll[i].axis + 1);
    }
}

void ll_array_mapping_print_zigzag(const struct ll_array *array, const struct ll_array_problem *problem,
                                   const struct ll_array_mapping *mapping, struct ll_str *out)
{
    static const char letters[LL_OPERAND_COUNT] = {'I', 'W', 'O'};
    for (int i = 0; i < LL_OPERAND_COUNT; i++) {
        enum ll_operand o = (enum ll_operand)(LL_OPERAND_COUNT - 1 - i);
        int from = 0;
        ll_str_addf(out, "%s%c:", i ? " | " : "", letters[o]);
        for (int s = 0; s < array->stores; s++) {
            if (!mapping->keeps[o][s])
                continue;
            if (from == mapping->holds[o][s])
                ll_str_add(out, " -");
            for (; from < mapping->holds[o][s]; from++)
                ll_str_addf(out, " %s=%" PRIu64, problem->name[mapping->loop[from].dim],
                            mapping->loop[from].by);
            if (s + 1 < array->stores)
                ll_str_add(out, " /");
        }
    }
    for (int i = 0; i < mapping->unrolls; i++)
        ll_str_addf(out, " ; D%d:%s=%.10g", mapping->unroll[i].axis + 1,
                    problem->name[mapping->unroll[i].dim], ceil(mapping->unroll[i].by));
}

static void print_factors(const struct ll_array_problem *problem, const double by[LL_ARRAY_DIMS],
                          struct ll_str *out)
{
    for (int d = 0; d < problem->dims; d++)
        ll_str_addf(out, "%s%s=%.10g", d ? " " : "", problem->name[d], by[d]);
}

/* Loops of one store as one list of factors and a permutation; a dimension that comes twice stands where
 * it is innermost. */
static void print_target(const struct ll_array_problem *problem, const struct ll_array_mapping *mapping,
                         int from, int to, struct ll_str *out)
{
    double by[LL_ARRAY_DIMS];
    bool placed[LL_ARRAY_DIMS] = {false};
    for (int d = 0; d < LL_ARRAY_DIMS; d++)
        by[d] = 1;
    for (int i = from; i < to; i++)
        by[mapping->loop[i].dim] *= (double)mapping->loop[i].by;
    ll_str_add(out, "    factors: \"");
    print_factors(problem, by, out);
    ll_str_add(out, "\"\n    permutation: \"");
    for (int i = from; i < to; i++)
        if (!placed[mapping->loop[i].dim]) {
            placed[mapping->loop[i].dim] = true;
            ll_str_addf(out, "%s ", problem->name[mapping->loop[i].dim]);
        }
    for (int d = 0; d < problem->dims; d++)
        if (!placed[d])
            ll_str_addf(out, "%s ", problem->name[d]);
    ll_str_add(out, "\"\n");
}

static void print_spatial(const struct ll_array *array, const struct ll_array_problem *problem,
                          const struct ll_array_mapping *mapping, int s, struct ll_str *out)
{
    int inner = next_inside(mapping, s);
    uint32_t between = array->store[s].serves & ~(inner < 0 ? 0 : array->store[inner].serves);
    double by[LL_ARRAY_DIMS];
    bool any = false;
    for (int d = 0; d < LL_ARRAY_DIMS; d++)
        by[d] = 1;
    for (int i = 0; i < mapping->unrolls; i++)
        if (between >> mapping->unroll[i].axis & 1) {
            by[mapping->unroll[i].dim] *= ceil(mapping->unroll[i].by);
            any = true;
        }
    if (!any)
        return;
    ll_str_addf(out, "  - target: %s\n    type: spatial\n    factors: \"", array->store[s].name);
    print_factors(problem, by, out);
    ll_str_add(out, "\"\n");
}

void ll_array_mapping_print_timeloop(const struct ll_array *array, const struct ll_array_problem *problem,
                                     const struct ll_array_mapping *mapping, struct ll_str *out)
{
    static const char *const names[LL_OPERAND_COUNT] = {"Inputs", "Weights", "Outputs"};
    ll_str_add(out, "mapping:\n");
    for (int s = array->stores - 1; s >= 0; s--) {
        if (is_kept(mapping, s)) {
            int inner = next_inside(mapping, s), from = inner < 0 ? 0 : loops_of_store(mapping, inner);
            ll_str_addf(out, "  - target: %s\n    type: temporal\n", array->store[s].name);
            print_target(problem, mapping, from, loops_of_store(mapping, s), out);
            print_spatial(array, problem, mapping, s, out);
        }
        for (int keep = 1; keep >= 0; keep--) {
            if (keep)
                ll_str_addf(out, "  - target: %s\n    type: datatype\n", array->store[s].name);
            ll_str_addf(out, "    %s: [", keep ? "keep" : "bypass");
            const char *gap = "";
            for (enum ll_operand o = 0; o < LL_OPERAND_COUNT; o++)
                if (mapping->keeps[o][s] == (keep == 1)) {
                    ll_str_addf(out, "%s%s", gap, names[o]);
                    gap = ", ";
                }
            ll_str_add(out, "]\n");
        }
    }
}
