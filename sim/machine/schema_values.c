/* SPDX-License-Identifier: Apache-2.0 */
/* Types of value that are one word or number.
 *
 * Binds each type of value to its verbs, and holds what the verbs share. */
#include <ctype.h>
#include <float.h>
#include <math.h>
#include <string.h>

#include "sim/machine/schema_types.h"
#include "sim/machine/steps.h"
#include "tracer/base/file.h"
#include "tracer/base/hash.h"

void *ll_at(void *object, size_t offset)
{
    return (char *)object + offset;
}

const void *ll_at_const(const void *object, size_t offset)
{
    return (const char *)object + offset;
}

uint64_t ll_count_of(const struct ll_field *field, const void *object)
{
    return *(const uint64_t *)ll_at_const(object, field->count_offset);
}

void ll_set_given(const struct ll_field *field, void *object)
{
    if (field->given_offset)
        *(bool *)ll_at(object, field->given_offset) = true;
}

bool ll_no_memory(const struct ll_node *node, struct ll_reading *reading)
{
    return ll_complain(reading->diags, node->place, "memory ran out");
}

/* "`key: value`: expected ...": most complaints have this form. A list or map is only named. */
bool ll_expected(const struct ll_node *node, struct ll_reading *reading, const char *what)
{
    struct ll_shown shown = ll_node_shown(node);
    if (node->type == LL_NODE_SCALAR)
        return ll_complain(reading->diags, node->place, "`%s`: expected %s", shown.text, what);
    return ll_complain(reading->diags, node->place, "%s%s%sexpected %s, this is %s", node->key ? "`" : "",
                       node->key ? shown.text : "", node->key ? "`: " : "", what,
                       ll_node_type_name(node->type));
}

bool ll_is_type(const struct ll_node *node, enum ll_node_type type, const char *what,
                struct ll_reading *reading)
{
    return node->type == type || ll_expected(node, reading, what);
}

static bool not_zero(const struct ll_field *field, const void *object)
{
    return *(const double *)ll_at_const(object, field->offset) != 0 || field->otherwise;
}

static bool not_zero_whole(const struct ll_field *field, const void *object)
{
    return *(const uint64_t *)ll_at_const(object, field->offset) != 0 || field->otherwise;
}

static bool not_null(const struct ll_field *field, const void *object)
{
    return *(const char *const *)ll_at_const(object, field->offset) != NULL;
}

static bool always(const struct ll_field *field, const void *object)
{
    (void)field;
    (void)object;
    return true;
}

static bool never(const struct ll_field *field, const void *object)
{
    (void)field;
    (void)object;
    return false;
}

static bool any_item(const struct ll_field *field, const void *object)
{
    return ll_count_of(field, object) > 0;
}

static bool when_given(const struct ll_field *field, const void *object)
{
    return !field->given_offset || *(const bool *)ll_at_const(object, field->given_offset);
}

static bool any_dtype(const struct ll_field *field, const void *object)
{
    const double *values = ll_at_const(object, field->offset);
    for (int i = 0; i < LL_DTYPE_COUNT; i++)
        if (values[i] != 0)
            return true;
    return false;
}

static bool any_extent(const struct ll_field *field, const void *object)
{
    return ((const struct ll_extents *)ll_at_const(object, field->offset))->count > 0;
}

static bool any_tile(const struct ll_field *field, const void *object)
{
    const struct ll_tile *tile = ll_at_const(object, field->offset);
    return tile->m > 0;
}

static bool any_pattern(const struct ll_field *field, const void *object)
{
    const struct ll_pattern *pattern = ll_at_const(object, field->offset);
    return pattern->of > 0;
}

/* Files are merged before they are read: what is left can only come from an override. */
static bool refuse_INHERITS(const struct ll_field *field, const struct ll_node *node, void *object,
                            struct ll_reading *reading)
{
    (void)object;
    return ll_complain(reading->diags, node->place, "`%s` can only stand in a file", field->key);
}

const struct ll_type ll_types[LL_TYPE_COUNT] = {
#define X(word, name, given) [LL_TYPE_##word] = {name, ll_read_##word, given, ll_write_##word},
    LL_TYPE_LIST(X)
#undef X
        [LL_TYPE_INHERITS] = {"name, or a list of names", refuse_INHERITS, never, NULL},
};

/* Values that are one scalar of the file: texts, choices, whole numbers, quantities. */

static struct ll_near_words choice_words(const struct ll_field *field)
{
    struct ll_near_words words = {.count = 0};
    for (const char *const *choice = field->choices; *choice; choice++)
        ll_near_words_add(&words, *choice);
    return words;
}

/* The index in `choices`; their number after a complaint. */
static size_t choose(const struct ll_field *field, const struct ll_node *node, struct ll_reading *reading)
{
    struct ll_near_words words = choice_words(field);
    for (size_t i = 0; i < words.count && node->text; i++)
        if (!strcmp(words.words[i], node->text))
            return i;
    const char *wrong = node->text ? node->text : ll_node_type_name(node->type);
    ll_complain(reading->diags, node->place, "no %s `%s`%s", field->key, ll_shown_text(wrong).text,
                ll_suggest(reading->diags, wrong, &words));
    return words.count;
}

bool ll_read_TEXT(const struct ll_field *field, const struct ll_node *node, void *object,
                  struct ll_reading *reading)
{
    if (!ll_is_type(node, LL_NODE_SCALAR, "a text", reading))
        return false;
    if (!*node->text)
        return ll_expected(node, reading, "a text; there is none");
    /* Of choices, the one itself: the same word lies at the same place, as who compares levels byte by byte
     * expects. */
    const char *text = field->choices ? field->choices[choose(field, node, reading)]
                                      : ll_copy_text(reading->arena, node->text, strlen(node->text));
    if (field->choices && !text)
        return false;
    *(const char **)ll_at(object, field->offset) = text;
    return text || ll_no_memory(node, reading);
}

void ll_write_TEXT(const struct ll_field *field, const void *object, const struct ll_machine *machine,
                   struct ll_dump *dump)
{
    (void)machine;
    dump->verbs->text(dump->out, *(const char *const *)ll_at_const(object, field->offset));
}

enum { MOST_DATA_BYTES = 1 << 28 };

/* The digest of a file's bytes; false after a complaint. */
static bool digest_file(const char *path, const struct ll_node *node, struct ll_reading *reading,
                        uint32_t *digest)
{
    struct ll_arena scratch = {0};
    struct ll_contents text;
    enum ll_status status = ll_read_whole(path, MOST_DATA_BYTES, &scratch, &text);
    if (status == LL_OK)
        *digest = ll_digest(text.bytes, text.length);
    else
        ll_complain(reading->diags, node->place, "%s: %s", path, ll_status_text(status));
    ll_arena_release(&scratch);
    return status == LL_OK;
}

bool ll_read_DATA_FILE(const struct ll_field *field, const struct ll_node *node, void *object,
                       struct ll_reading *reading)
{
    struct ll_data_file *file = ll_at(object, field->offset);
    const bool by_file = node->place.file && strncmp(node->place.file, "--set ", strlen("--set ")) != 0;
    const char *beside = by_file ? node->place.file : NULL;
    struct ll_place place = node->place;
    if (!node->text || !*node->text)
        return ll_expected(node, reading, "the name of a file");
    place.file = beside;
    const char *path = ll_file_find_data(node->text, place, reading->folders, reading->arena, reading->diags);
    if (!path || !digest_file(path, node, reading, &file->digest))
        return false;
    file->path = ll_copy_text(reading->arena, path, strlen(path));
    file->beside = beside ? ll_copy_text(reading->arena, beside, strlen(beside)) : NULL;
    return (file->path && (file->beside || !beside)) || ll_no_memory(node, reading);
}

/* Results depend on what stands in the file, people want to know where it is. */
void ll_write_DATA_FILE(const struct ll_field *field, const void *object, const struct ll_machine *machine,
                        struct ll_dump *dump)
{
    const struct ll_data_file *file = ll_at_const(object, field->offset);
    (void)machine;
    if (dump->results_only)
        dump->verbs->count(dump->out, file->digest);
    else
        dump->verbs->text(dump->out, file->path);
}

static bool is_name(const char *text)
{
    size_t length = strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-");
    return isalpha((unsigned char)*text) && length <= LL_NAME_LENGTH && !text[length];
}

bool ll_read_NAME(const struct ll_field *field, const struct ll_node *node, void *object,
                  struct ll_reading *reading)
{
    if (!node->text || !is_name(node->text))
        return ll_expected(node, reading, "a name: a letter, then at most 39 letters, digits, - and _");
    return ll_read_TEXT(field, node, object, reading);
}

void ll_write_NAME(const struct ll_field *field, const void *object, const struct ll_machine *machine,
                   struct ll_dump *dump)
{
    ll_write_TEXT(field, object, machine, dump);
}

bool ll_read_CHOICE(const struct ll_field *field, const struct ll_node *node, void *object,
                    struct ll_reading *reading)
{
    unsigned chosen = (unsigned)choose(field, node, reading);
    if (!field->choices[chosen])
        return false;
    memcpy(ll_at(object, field->offset), &chosen, sizeof chosen);
    return true;
}

void ll_write_CHOICE(const struct ll_field *field, const void *object, const struct ll_machine *machine,
                     struct ll_dump *dump)
{
    unsigned chosen;
    (void)machine;
    memcpy(&chosen, ll_at_const(object, field->offset), sizeof chosen);
    dump->verbs->word(dump->out, field->choices[chosen]);
}

bool ll_read_BOOL(const struct ll_field *field, const struct ll_node *node, void *object,
                  struct ll_reading *reading)
{
    bool yes = node->text && !strcmp(node->text, "true"), no = node->text && !strcmp(node->text, "false");
    if (!yes && !no)
        return ll_expected(node, reading, "true or false");
    *(bool *)ll_at(object, field->offset) = yes;
    ll_set_given(field, object);
    return true;
}

void ll_write_BOOL(const struct ll_field *field, const void *object, const struct ll_machine *machine,
                   struct ll_dump *dump)
{
    (void)machine;
    dump->verbs->truth(dump->out, *(const bool *)ll_at_const(object, field->offset));
}

/* --- numbers --- */

/* Smaller numbers are no figures of machines, and quotients and powers of them overflow. */
static const double LEAST_MAGNITUDE = 1e-30;

static bool check_bounds(double value, const struct ll_field *field, const struct ll_node *node,
                         struct ll_reading *reading)
{
    bool tiny = value != 0 && fabs(value) < LEAST_MAGNITUDE;
    if (value >= field->min && value <= field->max && !tiny)
        return true;
    const char *unit = field->unit ? field->unit : "";
    struct ll_shown shown = ll_node_shown(node);
    if (tiny)
        return ll_complain(reading->diags, node->place,
                           "`%s`: expected a larger number: none below %g is a figure of a machine",
                           shown.text, LEAST_MAGNITUDE);
    bool named = field->type == LL_TYPE_QUANTITY || field->type == LL_TYPE_SIZE;
    double bound = value < field->min ? field->min : field->max;
    struct ll_quantity_text text =
        named ? ll_quantity_text(bound, field->dimension) : ll_number_in(bound, unit);
    if (value < field->min && field->min == DBL_MIN)
        return ll_complain(reading->diags, node->place, "`%s`: expected more than 0", shown.text);
    return ll_complain(reading->diags, node->place, "`%s`: expected at %s %s", shown.text,
                       value < field->min ? "least" : "most", text.text);
}

/* Whether a text that is no number by itself would be one with its unit taken off. */
static bool has_unit(const char *text)
{
    struct ll_quantity quantity;
    const char *unit;
    return ll_quantity_parse(text, &quantity, &unit) == LL_QUANTITY_FINE && *unit;
}

bool ll_read_WHOLE(const struct ll_field *field, const struct ll_node *node, void *object,
                   struct ll_reading *reading)
{
    uint64_t count = UINT64_MAX;
    if (!node->text || (!ll_count_parse(node->text, &count) && has_unit(node->text)))
        return ll_expected(node, reading, node->text ? "a number without unit" : "a whole number");
    if (!*node->text || strspn(node->text, "0123456789") < strlen(node->text))
        return ll_expected(node, reading, "a whole number");
    if (!check_bounds((double)count, field, node, reading)) /* also of digits that do not fit in 64 bits */
        return false;
    *(uint64_t *)ll_at(object, field->offset) = count;
    return true;
}

void ll_write_WHOLE(const struct ll_field *field, const void *object, const struct ll_machine *machine,
                    struct ll_dump *dump)
{
    (void)machine;
    dump->verbs->count(dump->out, *(const uint64_t *)ll_at_const(object, field->offset));
}

/* A text that begins with a number, but what follows is no unit. */
static bool complain_of_unit(const struct ll_node *node, enum ll_dimension dimension, const char *unit,
                             struct ll_reading *reading)
{
    const char *nearest = ll_unit_nearest(unit);
    const char *sizes = dimension == LL_DIMENSION_SIZE ? " (kB is 1000 bytes, KiB 1024)" : "";
    struct ll_shown shown = ll_node_shown(node), wrong = ll_shown_text(unit);
    if (*unit == ',' && unit[1] >= '0' && unit[1] <= '9')
        return ll_complain(reading->diags, node->place,
                           "`%s`: a comma in a number; write a point before a fraction, and nothing between "
                           "thousands",
                           shown.text);
    if (strstr(unit, "bit") || strstr(unit, "bps"))
        return ll_complain(reading->diags, node->place, "`%s`: in bits; expected %s, in bytes, as %s",
                           shown.text, ll_dimension_name(dimension), ll_dimension_example(dimension));
    if (!nearest)
        return ll_complain(reading->diags, node->place, "`%s`: no unit `%s`; expected %s, as %s", shown.text,
                           wrong.text, ll_dimension_name(dimension), ll_dimension_example(dimension));
    if (strchr(unit, 'b') && strchr(nearest, 'B'))
        return ll_complain(reading->diags, node->place,
                           "`%s`: `b` could be bits or bytes; for bytes write `%s`%s", shown.text, nearest,
                           sizes);
    return ll_complain(reading->diags, node->place, "`%s`: no unit `%s`; did you mean `%s`?%s", shown.text,
                       wrong.text, nearest, sizes);
}

/* "`key: value`: expected a size, as 16GiB or 512B", and why this is none. */
static bool expected_quantity(const struct ll_field *field, const struct ll_node *node,
                              struct ll_reading *reading, const char *why)
{
    return ll_complain(reading->diags, node->place, "`%s`: expected %s, as %s%s", ll_node_shown(node).text,
                       ll_dimension_name(field->dimension), ll_dimension_example(field->dimension), why);
}

/* Bytes per cycle become bytes per second by the machine's clock. */
static bool resolve_cycles(struct ll_quantity *quantity, const struct ll_node *node,
                           struct ll_reading *reading)
{
    if (reading->machine->clock_hz == 0 && ll_node_get(reading->root, "clock"))
        return false; /* the clock was complained of already */
    if (reading->machine->clock_hz == 0)
        return ll_complain(reading->diags, node->place, "`%s` needs a clock; give the machine's `clock`",
                           ll_node_shown(node).text);
    *quantity = (struct ll_quantity){quantity->value * reading->machine->clock_hz, LL_DIMENSION_BANDWIDTH};
    return true;
}

/* What follows "expected ..., as ..." when more can be said than that this is none. */
static const char *why_none(enum ll_quantity_status status)
{
    return status == LL_QUANTITY_NEGATIVE    ? "; it is negative"
           : status == LL_QUANTITY_TOO_LARGE ? "; it is too large"
                                             : "";
}

static bool parse_quantity(const struct ll_field *field, const struct ll_node *node,
                           struct ll_reading *reading, struct ll_quantity *quantity)
{
    const char *unit;
    if (!node->text)
        return expected_quantity(field, node, reading, "");
    enum ll_quantity_status status = ll_quantity_parse(node->text, quantity, &unit);
    if (status == LL_QUANTITY_NO_UNIT)
        return complain_of_unit(node, field->dimension, unit, reading);
    return status == LL_QUANTITY_FINE || expected_quantity(field, node, reading, why_none(status));
}

static bool read_quantity(const struct ll_field *field, const struct ll_node *node,
                          struct ll_reading *reading, double *value)
{
    struct ll_quantity quantity;
    if (!parse_quantity(field, node, reading, &quantity))
        return false;
    if (quantity.dimension == LL_DIMENSION_NUMBER)
        return expected_quantity(field, node, reading, "; a unit is missing");
    bool per_cycle =
        quantity.dimension == LL_DIMENSION_PER_CYCLE && field->dimension == LL_DIMENSION_BANDWIDTH;
    if (per_cycle && !resolve_cycles(&quantity, node, reading))
        return false;
    if (quantity.dimension != field->dimension)
        return ll_complain(reading->diags, node->place, "`%s`: expected %s, as %s; this is %s",
                           ll_node_shown(node).text, ll_dimension_name(field->dimension),
                           ll_dimension_example(field->dimension), ll_dimension_name(quantity.dimension));
    *value = quantity.value;
    return check_bounds(quantity.value, field, node, reading);
}

bool ll_read_QUANTITY(const struct ll_field *field, const struct ll_node *node, void *object,
                      struct ll_reading *reading)
{
    return read_quantity(field, node, reading, ll_at(object, field->offset));
}

void ll_write_QUANTITY(const struct ll_field *field, const void *object, const struct ll_machine *machine,
                       struct ll_dump *dump)
{
    (void)machine;
    dump->verbs->quantity(dump->out, *(const double *)ll_at_const(object, field->offset), field->dimension);
}

bool ll_read_SIZE(const struct ll_field *field, const struct ll_node *node, void *object,
                  struct ll_reading *reading)
{
    double bytes;
    if (!read_quantity(field, node, reading, &bytes))
        return false;
    if (bytes != floor(bytes))
        return ll_expected(node, reading, "whole bytes");
    *(uint64_t *)ll_at(object, field->offset) = (uint64_t)bytes;
    return true;
}

void ll_write_SIZE(const struct ll_field *field, const void *object, const struct ll_machine *machine,
                   struct ll_dump *dump)
{
    (void)machine;
    double bytes =
        (double)*(const uint64_t *)ll_at_const(object, field->offset); /* exact: max is below 2^53 */
    dump->verbs->quantity(dump->out, bytes, LL_DIMENSION_SIZE);
}

bool ll_read_number(const struct ll_field *field, const struct ll_node *node, struct ll_reading *reading,
                    double *value)
{
    const char *unit = field->unit ? field->unit : "";
    if (!node->text)
        return ll_expected(node, reading, "a number");
    if (ll_number_parse(node->text, unit, value))
        return check_bounds(*value, field, node, reading);
    struct ll_quantity quantity;
    const char *behind;
    enum ll_quantity_status status = ll_quantity_parse(node->text, &quantity, &behind);
    if (status != LL_QUANTITY_FINE || !*behind)
        return ll_complain(reading->diags, node->place, "`%s`: expected a number, as 0.85%s",
                           ll_node_shown(node).text, why_none(status));
    if (!*unit)
        return ll_expected(node, reading, "a number without unit");
    return ll_complain(reading->diags, node->place, "`%s`: expected a number without unit; the key says %s",
                       ll_node_shown(node).text, unit);
}

bool ll_read_NUMBER(const struct ll_field *field, const struct ll_node *node, void *object,
                    struct ll_reading *reading)
{
    return ll_read_number(field, node, reading, ll_at(object, field->offset));
}

void ll_write_NUMBER(const struct ll_field *field, const void *object, const struct ll_machine *machine,
                     struct ll_dump *dump)
{
    (void)machine;
    double value = *(const double *)ll_at_const(object, field->offset);
    dump->verbs->number(dump->out, value, field->unit ? field->unit : "");
}
