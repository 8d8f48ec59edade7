/* SPDX-License-Identifier: Apache-2.0 */
/* Types of value that are lists or maps of a machine file: unrolled loops, dtypes, levels, tiles, classes of
 * ops, sources, structs within structs. Each has a function that reads and one that writes. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "sim/machine/path.h"
#include "sim/machine/schema_types.h"
#include "sim/machine/steps.h"
#include "tracer/base/num.h"
#include "tracer/transform/dtype.h"

/* Lists of loops that run side by side, and within each element: [C32 K32, FY3 OY13 / FX3 K16]. */

enum { MOST_AT_ONCE = 65536 };

static const char *const loop_names[] = {
#define X(word, ...) #word,
    LL_LOOP_LIST(X)
#undef X
};

/* Takes "K16" off the text; false when it is none, or a loop that is there already. */
static bool parse_loop(const char **text, uint32_t by[LL_LOOP_COUNT])
{
    size_t letters = strspn(*text, "ABCDEFGHIJKLMNOPQRSTUVWXYZ");
    size_t digits = strspn(*text + letters, "0123456789");
    char number[8];
    uint64_t count;
    if (digits == 0 || digits >= sizeof number)
        return false;
    memcpy(number, *text + letters, digits);
    number[digits] = '\0';
    if (!ll_count_parse(number, &count) || count == 0 || count > MOST_AT_ONCE)
        return false;
    for (int i = 0; i < LL_LOOP_COUNT; i++) {
        if (strlen(loop_names[i]) != letters || memcmp(*text, loop_names[i], letters) != 0)
            continue;
        bool first = by[i] == 0;
        by[i] = (uint32_t)count;
        *text += letters + digits;
        return first;
    }
    return false;
}

/* Takes "C32 K32" off the text, at least one loop; others get one iteration. */
static bool parse_loops(const char **text, uint32_t by[LL_LOOP_COUNT])
{
    do {
        if (!parse_loop(text, by))
            return false;
        *text += strspn(*text, " ");
    } while (**text && **text != '/');
    return true;
}

static bool parse_unroll(const char *text, struct ll_unroll *unroll)
{
    *unroll = (struct ll_unroll){{0}, {0}};
    bool right = parse_loops(&text, unroll->by);
    if (right && *text == '/') {
        text++;
        text += strspn(text, " ");
        right = parse_loops(&text, unroll->each) && *text == '\0';
    }
    for (int i = 0; i < LL_LOOP_COUNT; i++) {
        unroll->by[i] = unroll->by[i] ? unroll->by[i] : 1;
        unroll->each[i] = unroll->each[i] ? unroll->each[i] : 1;
    }
    return right;
}

bool ll_read_UNROLLS(const struct ll_field *field, const struct ll_node *node, void *object,
                     struct ll_reading *reading)
{
    struct ll_unroll *unrolls = ll_at(object, field->offset);
    uint64_t *count = ll_at(object, field->count_offset);
    bool right = true;
    if (!ll_is_type(node, LL_NODE_LIST, "a list of loops side by side, as [C32 K32, C8 OX8 OY8]", reading) ||
        !ll_length_of(field, node, LL_MAX_UNROLLS, "ways", reading))
        return false;
    *count = 0;
    for (const struct ll_node *child = node->first; child; child = child->next) {
        if (!child->text || !parse_unroll(child->text, &unrolls[*count]))
            right = ll_expected(child, reading,
                                "loops (G, B, K, C, OY, OX, FY, FX), each once, with how many of its "
                                "iterations run side by side (1 to "
                                "65536), and behind a / how many each element does, as C32 K32 / FX3");
        ++*count;
    }
    return right;
}

static size_t print_loops(const uint32_t by[LL_LOOP_COUNT], const char *before, char *text, size_t room)
{
    size_t length = 0;
    for (int i = 0; i < LL_LOOP_COUNT; i++)
        if (by[i] > 1)
            length += (size_t)snprintf(text + length, room - length, "%s%s%u", length ? " " : before,
                                       loop_names[i], by[i]);
    return length;
}

void ll_unroll_print(const struct ll_unroll *unroll, char text[LL_UNROLL_TEXT])
{
    size_t length = print_loops(unroll->by, "", text, LL_UNROLL_TEXT);
    if (length == 0)
        length = (size_t)snprintf(text, LL_UNROLL_TEXT, "%s1", loop_names[0]);
    print_loops(unroll->each, " / ", text + length, LL_UNROLL_TEXT - length);
}

void ll_write_UNROLLS(const struct ll_field *field, const void *object, const struct ll_machine *machine,
                      struct ll_dump *dump)
{
    const struct ll_unroll *unrolls = ll_at_const(object, field->offset);
    char text[LL_UNROLL_TEXT];
    (void)machine;
    dump->verbs->open(dump->out, LL_NODE_LIST, true);
    for (uint64_t i = 0; i < ll_count_of(field, object); i++) {
        ll_unroll_print(&unrolls[i], text);
        dump->verbs->word(dump->out, text);
    }
    dump->verbs->close(dump->out, LL_NODE_LIST);
}

/* Values that are a list or a map of the file: numbers by dtype or level, tiles, what a unit runs, sources,
 * and the structs within structs. */

/* --- maps of numbers --- */

static bool read_dtype(const struct ll_field *field, const struct ll_node *node, double *values,
                       struct ll_reading *reading)
{
    const char *meant = ll_dtype_meant(node->key); /* a key has one spelling, so that none stands twice */
    enum ll_dtype dtype = meant ? LL_DTYPE_COUNT : ll_dtype_find(node->key);
    if (dtype != LL_DTYPE_COUNT)
        return ll_read_number(field, node, reading, &values[dtype]);
    if (meant)
        return ll_complain(reading->diags, node->key_place, "no dtype `%s`; did you mean `%s`?", node->key,
                           meant);
    struct ll_near_words words = {.count = 0};
    for (int i = 0; i < LL_DTYPE_COUNT; i++)
        ll_near_words_add(&words, ll_dtype_name((enum ll_dtype)i));
    return ll_complain(reading->diags, node->key_place, "no dtype `%s`%s", ll_shown_text(node->key).text,
                       ll_suggest(reading->diags, node->key, &words));
}

bool ll_read_DTYPES(const struct ll_field *field, const struct ll_node *node, void *object,
                    struct ll_reading *reading)
{
    bool right = true;
    if (!ll_is_type(node, LL_NODE_MAP, "a number for each dtype, as {bf16: 1, f32: 0.5}", reading))
        return false;
    if (node->count == 0)
        return ll_complain(reading->diags, node->place, "`%s`: expected at least one dtype, as {bf16: 1}",
                           field->key);
    for (const struct ll_node *child = node->first; child; child = child->next)
        right &= read_dtype(field, child, ll_at(object, field->offset), reading);
    return right;
}

void ll_write_DTYPES(const struct ll_field *field, const void *object, const struct ll_machine *machine,
                     struct ll_dump *dump)
{
    const double *values = ll_at_const(object, field->offset);
    (void)machine;
    dump->verbs->open(dump->out, LL_NODE_MAP, true);
    for (int i = 0; i < LL_DTYPE_COUNT; i++)
        if (values[i] != 0) {
            dump->verbs->key(dump->out, ll_dtype_name((enum ll_dtype)i));
            dump->verbs->number(dump->out, values[i], field->unit ? field->unit : "");
        }
    dump->verbs->close(dump->out, LL_NODE_MAP);
}

/* node is the map that may hold a key for each level. */
bool ll_read_LEVELS(const struct ll_field *field, const struct ll_node *node, void *object,
                    struct ll_reading *reading)
{
    bool right = true;
    double *values = ll_at(object, field->offset);
    for (const struct ll_node *child = node->first; child; child = child->next) {
        uint64_t level = ll_level_of_key(field, child->key, reading->machine);
        if (level < reading->machine->level_count)
            right &= ll_read_number(field, child, reading, &values[level]);
    }
    return right;
}

void ll_write_LEVELS(const struct ll_field *field, const void *object, const struct ll_machine *machine,
                     struct ll_dump *dump)
{
    const double *values = ll_at_const(object, field->offset);
    for (uint64_t i = 0; i < machine->level_count; i++) {
        char key[LL_NAME_LENGTH + 32];
        if (values[i] == 0)
            continue;
        snprintf(key, sizeof key, "%s%s", machine->levels[i].name, strchr(field->key, '>') + 1);
        dump->verbs->key(dump->out, key);
        dump->verbs->number(dump->out, values[i], field->unit);
    }
}

/* --- lists --- */

enum { LARGEST_SIDE = 65536 };
static const uint64_t MOST_SIDE = UINT64_C(1) << 50; /* elements or bytes */

/* "128x64x32": how many sides, at most `most`; 0 when it is no such text or a side is 0 or too large. */
static uint64_t parse_sides(const char *text, uint64_t most, uint64_t largest, uint64_t *sides)
{
    for (uint64_t i = 0; i < most; i++) {
        char digits[24];
        size_t length = strspn(text, "0123456789");
        if (length == 0 || length >= sizeof digits)
            return 0;
        memcpy(digits, text, length);
        digits[length] = '\0';
        if (!ll_count_parse(digits, &sides[i]) || sides[i] == 0 || sides[i] > largest)
            return 0;
        if (text[length] == '\0')
            return i + 1;
        if (text[length] != 'x')
            return 0;
        text += length + 1;
    }
    return 0;
}

bool ll_tile_parse(const char *text, uint64_t largest, struct ll_tile *tile)
{
    uint64_t sides[3];
    bool right = parse_sides(text, 3, largest, sides) == 3;
    if (right)
        *tile = (struct ll_tile){sides[0], sides[1], sides[2]};
    return right;
}

bool ll_read_EXTENTS(const struct ll_field *field, const struct ll_node *node, void *object,
                     struct ll_reading *reading)
{
    struct ll_extents *extents = ll_at(object, field->offset);
    extents->count = node->text ? parse_sides(node->text, LL_MAX_EXTENTS, LARGEST_SIDE, extents->at) : 0;
    return extents->count > 0 || ll_expected(node, reading, "1 to 6 extents of 1 to 65536, as 4x4x4");
}

void ll_write_EXTENTS(const struct ll_field *field, const void *object, const struct ll_machine *machine,
                      struct ll_dump *dump)
{
    const struct ll_extents *extents = ll_at_const(object, field->offset);
    char text[LL_MAX_EXTENTS * 8];
    size_t length = 0;
    (void)machine;
    for (uint64_t i = 0; i < extents->count; i++)
        length +=
            (size_t)snprintf(text + length, sizeof text - length, "%s%" PRIu64, i ? "x" : "", extents->at[i]);
    dump->verbs->word(dump->out, text);
}

bool ll_read_PATTERN(const struct ll_field *field, const struct ll_node *node, void *object,
                     struct ll_reading *reading)
{
    struct ll_pattern *pattern = ll_at(object, field->offset);
    return (node->text && ll_pattern_parse(node->text, pattern)) ||
           ll_expected(node, reading, LL_PATTERN_WANTED);
}

void ll_write_PATTERN(const struct ll_field *field, const void *object, const struct ll_machine *machine,
                      struct ll_dump *dump)
{
    const struct ll_pattern *pattern = ll_at_const(object, field->offset);
    char text[16];
    (void)machine;
    snprintf(text, sizeof text, "%u:%u", pattern->kept, pattern->of);
    dump->verbs->word(dump->out, text);
}

size_t ll_length_of(const struct ll_field *field, const struct ll_node *node, size_t most, const char *items,
                    struct ll_reading *reading)
{
    if (node->count > 0 && node->count <= most)
        return node->count;
    ll_complain(reading->diags, node->place, "`%s`: expected 1 to %zu %s, there are %zu", field->key, most,
                items, node->count);
    return 0;
}

bool ll_read_NUMBERS(const struct ll_field *field, const struct ll_node *node, void *object,
                     struct ll_reading *reading)
{
    double *numbers = ll_at(object, field->offset);
    uint64_t *count = ll_at(object, field->count_offset);
    bool right = true;
    if (!ll_is_type(node, LL_NODE_LIST, "a list of numbers, as [1, 0.8, 0.5]", reading) ||
        !ll_length_of(field, node, LL_MAX_NUMBERS, "numbers", reading))
        return false;
    *count = 0;
    for (const struct ll_node *child = node->first; child; child = child->next)
        right &= ll_read_number(field, child, reading, &numbers[(*count)++]);
    return right;
}

void ll_write_NUMBERS(const struct ll_field *field, const void *object, const struct ll_machine *machine,
                      struct ll_dump *dump)
{
    const double *numbers = ll_at_const(object, field->offset);
    (void)machine;
    dump->verbs->open(dump->out, LL_NODE_LIST, true);
    for (uint64_t i = 0; i < ll_count_of(field, object); i++)
        dump->verbs->number(dump->out, numbers[i], field->unit ? field->unit : "");
    dump->verbs->close(dump->out, LL_NODE_LIST);
}

bool ll_read_TILE(const struct ll_field *field, const struct ll_node *node, void *object,
                  struct ll_reading *reading)
{
    return (node->text && ll_tile_parse(node->text, MOST_SIDE, ll_at(object, field->offset))) ||
           ll_expected(node, reading, "a tile m x n x k, as 128x128x32, with sides of at least 1");
}

static void write_tile(const struct ll_tile *tile, struct ll_dump *dump)
{
    char text[72];
    snprintf(text, sizeof text, "%" PRIu64 "x%" PRIu64 "x%" PRIu64, tile->m, tile->n, tile->k);
    dump->verbs->word(dump->out, text);
}

void ll_write_TILE(const struct ll_field *field, const void *object, const struct ll_machine *machine,
                   struct ll_dump *dump)
{
    (void)machine;
    write_tile(ll_at_const(object, field->offset), dump);
}

bool ll_read_TILES(const struct ll_field *field, const struct ll_node *node, void *object,
                   struct ll_reading *reading)
{
    struct ll_tile *tiles = ll_at(object, field->offset);
    uint64_t *count = ll_at(object, field->count_offset);
    bool right = true;
    if (!ll_is_type(node, LL_NODE_LIST, "a list of tiles, as [128x128x32, 64x64x32]", reading) ||
        !ll_length_of(field, node, LL_MAX_TILES, "tiles", reading))
        return false;
    *count = 0;
    for (const struct ll_node *child = node->first; child; child = child->next) {
        if (!child->text || !ll_tile_parse(child->text, LARGEST_SIDE, &tiles[*count]))
            right = ll_expected(child, reading, "a tile m x n x k with sides of 1 to 65536, as 128x128x32");
        ++*count;
    }
    return right;
}

void ll_write_TILES(const struct ll_field *field, const void *object, const struct ll_machine *machine,
                    struct ll_dump *dump)
{
    const struct ll_tile *tiles = ll_at_const(object, field->offset);
    (void)machine;
    dump->verbs->open(dump->out, LL_NODE_LIST, true);
    for (uint64_t i = 0; i < ll_count_of(field, object); i++)
        write_tile(&tiles[i], dump);
    dump->verbs->close(dump->out, LL_NODE_LIST);
}

/* "64x32x256=1.1/0.9" */
static bool parse_residual(const char *text, struct ll_shape_ratio *seen)
{
    enum { LONGEST = 160 };
    static const double most = 1e6;
    char copy[LONGEST];
    size_t length = strlen(text);
    if (length >= sizeof copy)
        return false;
    memcpy(copy, text, length + 1);
    char *equals = strchr(copy, '='), *slash = equals ? strchr(equals, '/') : NULL;
    if (!slash)
        return false;
    *equals = *slash = '\0';
    return parse_sides(copy, 3, MOST_SIDE, seen->shape) == 3 &&
           ll_number_parse(equals + 1, "", &seen->near) && ll_number_parse(slash + 1, "", &seen->far) &&
           fmin(seen->near, seen->far) >= 1 / most && fmax(seen->near, seen->far) <= most;
}

bool ll_read_RESIDUALS(const struct ll_field *field, const struct ll_node *node, void *object,
                       struct ll_reading *reading)
{
    bool right = ll_is_type(node, LL_NODE_LIST, "a list of shapes, as [64x32x256=1.1/0.9]", reading);
    struct ll_shape_ratio *seen = right ? ll_alloc(reading->arena, node->count, sizeof *seen) : NULL;
    if (!seen)
        return right && ll_no_memory(node, reading);
    uint64_t count = 0;
    for (const struct ll_node *child = node->first; child; child = child->next)
        if (!child->text || !parse_residual(child->text, &seen[count++]))
            right =
                ll_expected(child, reading, "a shape and two ratios of 1e-6 to 1e6, as 64x32x256=1.1/0.9");
    *(const struct ll_shape_ratio **)ll_at(object, field->offset) = seen;
    *(uint64_t *)ll_at(object, field->count_offset) = count;
    return right;
}

void ll_write_RESIDUALS(const struct ll_field *field, const void *object, const struct ll_machine *machine,
                        struct ll_dump *dump)
{
    const struct ll_shape_ratio *seen =
        *(const struct ll_shape_ratio *const *)ll_at_const(object, field->offset);
    (void)machine;
    dump->verbs->open(dump->out, LL_NODE_LIST, true);
    for (uint64_t i = 0; i < ll_count_of(field, object); i++) {
        const uint64_t *shape = seen[i].shape;
        char text[160];
        snprintf(text, sizeof text, "%" PRIu64 "x%" PRIu64 "x%" PRIu64 "=%s/%s", shape[0], shape[1], shape[2],
                 ll_number_in(seen[i].near, "").text, ll_number_in(seen[i].far, "").text);
        dump->verbs->text(dump->out, text);
    }
    dump->verbs->close(dump->out, LL_NODE_LIST);
}

static bool mark_class(enum ll_op_class op_class, bool *runs)
{
    for (int k = 0; k < ll_op_count(); k++)
        runs[k] |= ll_op_class((enum ll_op_kind)k) == op_class;
    return true;
}

/* Marks the kinds that a word means: all of a class, also where one of them has the name of all, or a kind
 * itself. Who multiplies matrices does so in stacks, adds the product to something and solves equations with
 * it, too. */
static bool mark_runs(const char *word, bool *runs)
{
    enum ll_op_kind kind = ll_op_find(word);
    for (int c = 0; c < LL_CLASS_COUNT; c++)
        if (strcmp(ll_class_name((enum ll_op_class)c), word) == 0)
            return mark_class((enum ll_op_class)c, runs);
    if (kind == LL_OP_MATMUL)
        return mark_class(LL_CLASS_MATRIX, runs);
    return kind != LL_OP_NONE && (runs[kind] = true);
}

static bool complain_of_runs(const struct ll_node *node, struct ll_reading *reading)
{
    struct ll_near_words words = {.count = 0};
    for (int c = 0; c < LL_CLASS_COUNT; c++)
        ll_near_words_add(&words, ll_class_name((enum ll_op_class)c));
    size_t classes = words.count;
    for (int k = 0; k < ll_op_count(); k++)
        ll_near_words_add(&words, ll_op_name((enum ll_op_kind)k));
    if (!node->text || !ll_nearest(node->text, words.words, words.count))
        words.count = classes; /* nothing near: the classes are list enough */
    return ll_complain(reading->diags, node->place, "no op class or kind `%s`%s", ll_node_shown(node).text,
                       ll_suggest(reading->diags, node->text ? node->text : "", &words));
}

bool ll_read_RUNS(const struct ll_field *field, const struct ll_node *node, void *object,
                  struct ll_reading *reading)
{
    bool right = true;
    if (!ll_is_type(node, LL_NODE_LIST, "a list of op classes and kinds, as [matrix, conv]", reading))
        return false;
    ll_set_given(field, object);
    for (const struct ll_node *child = node->first; child; child = child->next)
        if (!child->text || !mark_runs(child->text, ll_at(object, field->offset)))
            right = complain_of_runs(child, reading);
    return right;
}

/* --- operands --- */

static const char *const operand_words[][LL_OPERAND_COUNT] = {{"input", "weight", "output"}, {"a", "b", "c"}};

const char *ll_operand_name(enum ll_operand operand)
{
    return operand_words[1][operand];
}

static bool mark_operand(const char *word, bool *holds)
{
    for (size_t names = 0; names < 2; names++)
        for (int i = 0; i < LL_OPERAND_COUNT; i++)
            if (!strcmp(operand_words[names][i], word))
                return holds[i] = true;
    return false;
}

bool ll_read_OPERANDS(const struct ll_field *field, const struct ll_node *node, void *object,
                      struct ll_reading *reading)
{
    static const char what[] = "a list of operands: input, weight, output, or a, b, c";
    bool right = ll_is_type(node, LL_NODE_LIST, what, reading);
    if (right && node->count == 0)
        right = ll_complain(reading->diags, node->place, "`%s`: expected at least one operand", field->key);
    if (!right)
        return false;
    ll_set_given(field, object);
    for (const struct ll_node *child = node->first; child; child = child->next)
        if (!child->text || !mark_operand(child->text, ll_at(object, field->offset)))
            right = ll_expected(child, reading, "one of input, weight, output, a, b, c");
    return right;
}

void ll_write_OPERANDS(const struct ll_field *field, const void *object, const struct ll_machine *machine,
                       struct ll_dump *dump)
{
    const bool *holds = ll_at_const(object, field->offset);
    (void)machine;
    dump->verbs->open(dump->out, LL_NODE_LIST, true);
    for (int i = 0; i < LL_OPERAND_COUNT; i++)
        if (holds[i])
            dump->verbs->word(dump->out, operand_words[0][i]);
    dump->verbs->close(dump->out, LL_NODE_LIST);
}

/* Classes of which all kinds are marked, then the kinds that are left. */
void ll_write_RUNS(const struct ll_field *field, const void *object, const struct ll_machine *machine,
                   struct ll_dump *dump)
{
    const bool *runs = ll_at_const(object, field->offset);
    bool any[LL_CLASS_COUNT] = {false}, lacks[LL_CLASS_COUNT] = {false};
    (void)machine;
    for (int k = 0, count = ll_op_count(); k < count; k++)
        (runs[k] ? any : lacks)[ll_op_class((enum ll_op_kind)k)] = true;
    dump->verbs->open(dump->out, LL_NODE_LIST, true);
    for (int c = 0; c < LL_CLASS_COUNT; c++)
        if (any[c] && !lacks[c])
            dump->verbs->word(dump->out, ll_class_name((enum ll_op_class)c));
    for (int k = 0, count = ll_op_count(); k < count; k++)
        if (runs[k] && lacks[ll_op_class((enum ll_op_kind)k)])
            dump->verbs->word(dump->out, ll_op_name((enum ll_op_kind)k));
    dump->verbs->close(dump->out, LL_NODE_LIST);
}

/* Which of the choices a word is; their count where it is none. */
static unsigned choice_of(const struct ll_field *field, const char *word)
{
    unsigned i = 0;
    while (field->choices[i] && (!word || strcmp(field->choices[i], word) != 0))
        i++;
    return i;
}

bool ll_read_WORDS(const struct ll_field *field, const struct ll_node *node, void *object,
                   struct ll_reading *reading)
{
    uint64_t *set = ll_at(object, field->offset);
    struct ll_near_words words = {.count = 0};
    bool right = ll_is_type(node, LL_NODE_LIST, "a list of words", reading);
    for (unsigned i = 0; field->choices[i]; i++)
        ll_near_words_add(&words, field->choices[i]);
    *set = 0;
    for (const struct ll_node *child = right ? node->first : NULL; child; child = child->next) {
        unsigned choice = choice_of(field, child->text);
        if (field->choices[choice])
            *set |= UINT64_C(1) << choice;
        else
            right = ll_complain(reading->diags, child->place, "`%s`: no such word for `%s`%s",
                                ll_node_shown(child).text, field->key,
                                ll_suggest(reading->diags, child->text ? child->text : "", &words));
    }
    return right;
}

void ll_write_WORDS(const struct ll_field *field, const void *object, const struct ll_machine *machine,
                    struct ll_dump *dump)
{
    uint64_t set = *(const uint64_t *)ll_at_const(object, field->offset);
    (void)machine;
    dump->verbs->open(dump->out, LL_NODE_LIST, true);
    for (unsigned i = 0; field->choices[i]; i++)
        if (set >> i & 1)
            dump->verbs->word(dump->out, field->choices[i]);
    dump->verbs->close(dump->out, LL_NODE_LIST);
}

bool ll_read_TEXTS(const struct ll_field *field, const struct ll_node *node, void *object,
                   struct ll_reading *reading)
{
    if (!ll_is_type(node, LL_NODE_LIST, "a list of texts", reading))
        return false;
    const char **texts = ll_alloc(reading->arena, node->count, sizeof *texts);
    if (!texts)
        return ll_no_memory(node, reading);
    uint64_t count = 0;
    for (const struct ll_node *child = node->first; child; child = child->next) {
        if (!child->text || !*child->text)
            return ll_expected(child, reading, "a text");
        texts[count++] = ll_copy_text(reading->arena, child->text, strlen(child->text));
        if (!texts[count - 1])
            return ll_no_memory(child, reading);
    }
    *(const char ***)ll_at(object, field->offset) = texts;
    *(uint64_t *)ll_at(object, field->count_offset) = count;
    return true;
}

void ll_write_TEXTS(const struct ll_field *field, const void *object, const struct ll_machine *machine,
                    struct ll_dump *dump)
{
    const char *const *texts = *(const char *const *const *)ll_at_const(object, field->offset);
    (void)machine;
    dump->verbs->open(dump->out, LL_NODE_LIST, true);
    for (uint64_t i = 0; i < ll_count_of(field, object); i++)
        dump->verbs->text(dump->out, texts[i]);
    dump->verbs->close(dump->out, LL_NODE_LIST);
}

static bool read_source(const struct ll_node *node, struct ll_source *source, struct ll_reading *reading)
{
    struct ll_machine_path found;
    struct ll_node *root = (struct ll_node *)reading->root; /* only looked at: nothing is created */
    if (!node->text || !*node->text)
        return ll_expected(node, reading, "a text: where the value comes from");
    source->path = ll_copy_text(reading->arena, node->key, strlen(node->key));
    source->text = ll_copy_text(reading->arena, node->text, strlen(node->text));
    if (!source->path || !source->text)
        return ll_no_memory(node, reading);
    return ll_machine_path_find(root, node->key, false, node->key_place, reading->arena, reading->diags,
                                &found);
}

bool ll_read_SOURCES(const struct ll_field *field, const struct ll_node *node, void *object,
                     struct ll_reading *reading)
{
    bool right = true;
    if (!ll_is_type(node, LL_NODE_MAP, "a text for each path, as {clock: \"datasheet, table 2\"}", reading))
        return false;
    struct ll_source *sources = ll_alloc(reading->arena, node->count, sizeof *sources);
    if (!sources)
        return ll_no_memory(node, reading);
    uint64_t count = 0;
    for (const struct ll_node *child = node->first; child; child = child->next)
        right &= read_source(child, &sources[count++], reading);
    *(struct ll_source **)ll_at(object, field->offset) = sources;
    *(uint64_t *)ll_at(object, field->count_offset) = count;
    return right;
}

void ll_write_SOURCES(const struct ll_field *field, const void *object, const struct ll_machine *machine,
                      struct ll_dump *dump)
{
    const struct ll_source *sources = *(struct ll_source *const *)ll_at_const(object, field->offset);
    (void)machine;
    dump->verbs->open(dump->out, LL_NODE_MAP, false);
    for (uint64_t i = 0; i < ll_count_of(field, object); i++) {
        dump->verbs->key(dump->out, sources[i].path);
        dump->verbs->text(dump->out, sources[i].text);
    }
    dump->verbs->close(dump->out, LL_NODE_MAP);
}

/* --- structs within structs --- */

bool ll_read_OBJECT(const struct ll_field *field, const struct ll_node *node, void *object,
                    struct ll_reading *reading)
{
    ll_set_given(field, object);
    return ll_field_table_read(field->table, node, ll_at(object, field->offset), reading);
}

void ll_write_OBJECT(const struct ll_field *field, const void *object, const struct ll_machine *machine,
                     struct ll_dump *dump)
{
    dump->verbs->open(dump->out, LL_NODE_MAP, false);
    ll_field_table_write(field->table, ll_at_const(object, field->offset), machine, dump);
    dump->verbs->close(dump->out, LL_NODE_MAP);
}

bool ll_read_LIST(const struct ll_field *field, const struct ll_node *node, void *object,
                  struct ll_reading *reading)
{
    uint64_t *count = ll_at(object, field->count_offset);
    bool right = true;
    if (!ll_is_type(node, LL_NODE_LIST, "a list", reading))
        return false;
    if (node->count > (size_t)field->max)
        return ll_complain(reading->diags, node->place, "`%s`: at most %.0f items, there are %zu", field->key,
                           field->max, node->count);
    if (node->count == 0 && field->required)
        return ll_complain(reading->diags, node->place, "`%s`: expected at least one %s", field->key,
                           field->table->what);
    for (const struct ll_node *child = node->first; child; child = child->next) {
        void *item = ll_at(object, field->offset + *count * field->table->size);
        ++*count; /* before its members are read: levels are asked for by name */
        right &= ll_field_table_read(field->table, child, item, reading);
    }
    return right;
}

void ll_write_LIST(const struct ll_field *field, const void *object, const struct ll_machine *machine,
                   struct ll_dump *dump)
{
    dump->verbs->open(dump->out, LL_NODE_LIST, false);
    for (uint64_t i = 0; i < ll_count_of(field, object); i++) {
        dump->verbs->open(dump->out, LL_NODE_MAP, false);
        ll_field_table_write(field->table, ll_at_const(object, field->offset + i * field->table->size),
                             machine, dump);
        dump->verbs->close(dump->out, LL_NODE_MAP);
    }
    dump->verbs->close(dump->out, LL_NODE_LIST);
}
