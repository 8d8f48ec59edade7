/* SPDX-License-Identifier: Apache-2.0 */
/* The JSON Schema (draft 7, which editors know) of machine files, a walk over the rows: what an editor
 * completes and checks while one types. It refuses what no machine file can say: a key that there is not, a
 * word that is none of the choices, a number where a unit belongs. What values mean together, reading a
 * machine tells. Keys are never required, since a file may inherit them. */
#include <assert.h>
#include <float.h>
#include <stdio.h>
#include <string.h>

#include "sim/machine/schema.h"
#include "tracer/base/json.h"

enum { MOST_TABLES = 64 };

/* The tables that have been met; each is written once, and pointed to by its place. */
struct walk {
    const struct ll_field_table *tables[MOST_TABLES];
    size_t count;
    struct ll_json *json;
};

static size_t place_of(struct walk *walk, const struct ll_field_table *table)
{
    size_t i = 0;
    while (i < walk->count && walk->tables[i] != table)
        i++;
    assert(i < MOST_TABLES);
    if (i == walk->count)
        walk->tables[walk->count++] = table;
    return i;
}

static void put_reference(struct walk *walk, const struct ll_field_table *table)
{
    char text[48];
    snprintf(text, sizeof text, "#/definitions/%zu", place_of(walk, table));
    ll_json_put_text(walk->json, "$ref", text);
}

static void put_types(struct ll_json *json, const char *first, const char *second)
{
    ll_json_key(json, "type");
    ll_json_open_list(json);
    ll_json_text(json, first);
    ll_json_text(json, second);
    ll_json_close_list(json);
}

static void put_choices(struct ll_json *json, const char *const *choices)
{
    ll_json_key(json, "enum");
    ll_json_open_list(json);
    for (; *choices; choices++) {
        ll_json_text(json, *choices);
        bool yes = strcmp(*choices, "true") == 0;
        if (yes || strcmp(*choices, "false") == 0) /* which YAML reads as no text */
            ll_json_bool(json, yes);
    }
    ll_json_close_list(json);
}

/* A number with its unit, or without one where it has none. */
static void put_quantity(struct ll_json *json, enum ll_dimension dimension)
{
    if (dimension == LL_DIMENSION_NUMBER) {
        put_types(json, "number", "string");
        return;
    }
    char what[128];
    ll_json_put_text(json, "type", "string");
    ll_json_put_text(json, "pattern", "^[-+]?[0-9.][-+0-9.eE_]*\\s*[A-Za-z\u00b5%].*$");
    snprintf(what, sizeof what, "expected %s, as %s", ll_dimension_name(dimension),
             ll_dimension_example(dimension));
    ll_json_put_text(json, "patternErrorMessage", what);
}

/* Bounds of a row are in the base unit, numbers in the file in the one that the key names. */
static double in_its_unit(const struct ll_field *field, double value)
{
    double number = value;
    ll_number_parse(ll_number_in(value, field->unit ? field->unit : "").text, "", &number);
    return number;
}

static void put_bounds(struct ll_json *json, const struct ll_field *field)
{
    if (!(field->max > 0))
        return;
    if (field->min == DBL_MIN)
        ll_json_put_number(json, "exclusiveMinimum", 0);
    else
        ll_json_put_number(json, "minimum", in_its_unit(field, field->min));
    ll_json_put_number(json, "maximum", in_its_unit(field, field->max));
}

/* One value of the row, into the object that is open. */
static void put_value(struct walk *walk, const struct ll_field *field)
{
    struct ll_json *json = walk->json;
    switch (field->type) {
    case LL_TYPE_OBJECT:
        put_reference(walk, field->table);
        return;
    case LL_TYPE_LIST:
        ll_json_put_text(json, "type", "array");
        ll_json_key(json, "items");
        ll_json_open_object(json);
        put_reference(walk, field->table);
        ll_json_close_object(json);
        return;
    case LL_TYPE_CHOICE:
        put_choices(json, field->choices);
        return;
    case LL_TYPE_BOOL:
        ll_json_put_text(json, "type", "boolean");
        return;
    case LL_TYPE_WHOLE:
        put_types(json, "integer", "string");
        put_bounds(json, field);
        return;
    case LL_TYPE_SIZE:
        put_quantity(json, LL_DIMENSION_SIZE);
        return;
    case LL_TYPE_QUANTITY:
        put_quantity(json, field->dimension);
        return;
    case LL_TYPE_NUMBER:
        put_types(json, "number", "string");
        put_bounds(json, field);
        return;
    case LL_TYPE_LEVELS:
        put_types(json, "number", "string");
        return;
    case LL_TYPE_TEXT:
    case LL_TYPE_NAME:
    case LL_TYPE_DATA_FILE:
        if (field->choices)
            put_choices(json, field->choices);
        else
            put_types(json, "string", "number");
        return;
    default: /* lists and maps of small things, which have a language of their own */
        return;
    }
}

/* A row; a key of levels stands for one of each level's name. */
static void put_row(struct walk *walk, const struct ll_field *field, const char *of)
{
    struct ll_json *json = walk->json;
    char help[512];
    snprintf(help, sizeof help, "%s%s%s%s%s%s", of, *of ? ": " : "", field->help ? field->help : "",
             field->otherwise ? " (default: " : "", field->otherwise ? field->otherwise : "",
             field->otherwise ? ")" : "");
    ll_json_open_object(json);
    if (field->type == LL_TYPE_OBJECT) { /* nothing stands beside a reference */
        ll_json_put_text(json, "description", help);
        ll_json_key(json, "allOf");
        ll_json_open_list(json);
        ll_json_open_object(json);
        put_value(walk, field);
        ll_json_close_object(json);
        ll_json_close_list(json);
    } else {
        put_value(walk, field);
        ll_json_put_text(json, "description", help);
    }
    ll_json_close_object(json);
}

static bool is_of_level(const struct ll_field *field)
{
    return field->type == LL_TYPE_LEVELS;
}

/* Whether a row before has the same key: of unit models the first counts, and says any value. */
static const struct ll_field *find_row(const struct ll_field_table *table, const char *key)
{
    for (size_t i = 0; i < table->count; i++)
        if (strcmp(table->fields[i].key, key) == 0)
            return &table->fields[i];
    return NULL;
}

static bool stands_before(const struct ll_field_table *table, size_t variant, const char *key)
{
    bool found = find_row(table, key) != NULL;
    for (size_t v = 0; v < variant && !found; v++)
        found = find_row(table->variants[v], key) != NULL;
    return found;
}

/* A key of several models that mean different things by it is not judged. */
static bool is_of_one_kind(const struct ll_field_table *table, size_t variant, const struct ll_field *field)
{
    for (size_t v = variant + 1; v < table->variant_count; v++) {
        const struct ll_field *other = find_row(table->variants[v], field->key);
        if (other &&
            (other->type != field->type || other->choices != field->choices || other->max != field->max))
            return false;
    }
    return true;
}

static void put_variants(struct walk *walk, const struct ll_field_table *table)
{
    for (size_t v = 0; v < table->variant_count; v++)
        for (size_t i = 0; i < table->variants[v]->count; i++) {
            const struct ll_field *field = &table->variants[v]->fields[i];
            if (is_of_level(field) || stands_before(table, v, field->key))
                continue;
            ll_json_key(walk->json, field->key);
            if (is_of_one_kind(table, v, field)) {
                put_row(walk, field, table->variants[v]->what);
            } else {
                ll_json_open_object(walk->json);
                ll_json_put_text(walk->json, "description", field->help);
                ll_json_close_object(walk->json);
            }
        }
}

/* Keys of levels by their ending: "<level>_pj_per_byte". */
static void put_patterns(struct walk *walk, const struct ll_field_table *table)
{
    bool any = false;
    for (size_t i = 0; i < table->count; i++)
        any |= is_of_level(&table->fields[i]);
    if (!any)
        return;
    ll_json_key(walk->json, "patternProperties");
    ll_json_open_object(walk->json);
    for (size_t i = 0; i < table->count; i++) {
        const char *behind = strchr(table->fields[i].key, '>');
        char pattern[128];
        if (!is_of_level(&table->fields[i]) || !behind)
            continue;
        snprintf(pattern, sizeof pattern, "^[A-Za-z0-9_-]+%s$", behind + 1);
        ll_json_key(walk->json, pattern);
        put_row(walk, &table->fields[i], "");
    }
    ll_json_close_object(walk->json);
}

/* What a file may say beside the rows: it is taken out before they are read. */
static void put_file_keys(struct ll_json *json)
{
    static const char *const keys[][2] = {
        {"family", "the devices whose libraries it has"},
        {"families", "of a stack: the families of devices that it is for"},
        {"over", "of a stack that is none by itself: the stack that it lies over"},
        {"aliases", "names under which data know the device"},
        {"system", "the system that several of it make"},
    };
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (!find_row(&ll_machine_table, keys[i][0])) {
            ll_json_key(json, keys[i][0]);
            ll_json_open_object(json);
            ll_json_put_text(json, "description", keys[i][1]);
            ll_json_close_object(json);
        }
}

static void put_table(struct walk *walk, const struct ll_field_table *table)
{
    struct ll_json *json = walk->json;
    ll_json_put_text(json, "type", "object");
    ll_json_put_bool(json, "additionalProperties", false);
    ll_json_key(json, "properties");
    ll_json_open_object(json);
    for (size_t i = 0; i < table->count; i++)
        if (!is_of_level(&table->fields[i])) {
            ll_json_key(json, table->fields[i].key);
            put_row(walk, &table->fields[i], "");
        }
    put_variants(walk, table);
    if (table == &ll_machine_table)
        put_file_keys(json);
    ll_json_close_object(json);
    put_patterns(walk, table);
}

void ll_machine_file_schema(struct ll_json *json)
{
    struct walk walk = {.json = json};
    ll_json_open_object(json);
    ll_json_put_text(json, "$schema", "http://json-schema.org/draft-07/schema#");
    ll_json_put_text(json, "title", "a machine of Leadline: device, stack or system");
    put_table(&walk, &ll_machine_table);
    ll_json_key(json, "definitions");
    ll_json_open_object(json);
    for (size_t i = 0; i < walk.count; i++) { /* which meets further tables */
        char key[24];
        snprintf(key, sizeof key, "%zu", i);
        ll_json_key(json, key);
        ll_json_open_object(json);
        ll_json_put_text(json, "title", walk.tables[i]->what);
        put_table(&walk, walk.tables[i]);
        ll_json_close_object(json);
    }
    ll_json_close_object(json);
    ll_json_close_object(json);
}
