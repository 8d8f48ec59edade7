/* SPDX-License-Identifier: Apache-2.0 */
/* The schema's rows at work: reading a map into a struct, unknown keys, sources of values, the key reference,
 * and machines written as JSON and YAML. */
#include "sim/machine/schema.h"

#include <assert.h>
#include <float.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/machine/path.h"
#include "sim/machine/schema_types.h"
#include "sim/machine/steps.h"
#include "tracer/base/hash.h"

/* The walks over the rows: reading a map, and writing a struct. */

const struct ll_field_table *ll_field_table_variant(const struct ll_field_table *table, const void *object)
{
    unsigned chosen;
    if (!table->variants)
        return NULL;
    memcpy(&chosen, (const char *)object + table->variant_offset, sizeof chosen);
    return chosen < table->variant_count ? table->variants[chosen] : NULL;
}

static const struct ll_field *find_here(const struct ll_field_table *table, const char *key)
{
    for (size_t i = 0; i < table->count; i++)
        if (!strcmp(table->fields[i].key, key))
            return &table->fields[i];
    return NULL;
}

enum ll_dimension ll_field_dimension(const struct ll_field *field)
{
    return field->unit ? ll_unit_dimension(field->unit) : field->dimension;
}

const struct ll_field *ll_field_table_find(const struct ll_field_table *table, const char *key)
{
    const struct ll_field *found = find_here(table, key);
    for (size_t i = 0; i < table->variant_count && !found; i++)
        found = find_here(table->variants[i], key);
    return found;
}

void ll_near_words_add(struct ll_near_words *words, const char *word)
{
    if (words->count < LL_MAX_WORDS)
        words->words[words->count++] = word;
}

enum { MOST_LISTED = 20 };

struct near_word {
    const char *word;
    size_t distance, order;
};

static int by_distance(const void *a, const void *b)
{
    const struct near_word *x = a, *y = b;
    if (x->distance != y->distance)
        return x->distance < y->distance ? -1 : 1;
    return x->order < y->order ? -1 : x->order > y->order;
}

/* All in their order, or of many those next to what stands there. */
static size_t choose_words(const char *wrong, const struct ll_near_words *words,
                           struct near_word chosen[LL_MAX_WORDS])
{
    bool all = words->count <= MOST_LISTED;
    for (size_t i = 0; i < words->count; i++)
        chosen[i] = (struct near_word){words->words[i], all ? 0 : ll_distance(wrong, words->words[i]), i};
    if (!all)
        qsort(chosen, words->count, sizeof *chosen, by_distance);
    return all ? words->count : MOST_LISTED;
}

static const char *list_words(struct ll_diags *diags, const char *wrong, const struct ll_near_words *words)
{
    struct ll_str list = {0};
    struct near_word chosen[LL_MAX_WORDS];
    size_t count = choose_words(wrong, words, chosen), more = words->count - count;
    for (size_t i = 0; i < count; i++) {
        ll_str_add(&list, i == 0 ? "; expected " : i + 1 < count || more ? ", " : " or ");
        ll_str_add(&list, chosen[i].word);
    }
    if (more)
        ll_str_addf(&list, " or one of %zu more", more);
    const char *kept = list.text && !list.failed ? ll_copy_text(&diags->arena, list.text, list.length) : NULL;
    ll_str_release(&list);
    return kept ? kept : "";
}

const char *ll_suggest(struct ll_diags *diags, const char *wrong, const struct ll_near_words *words)
{
    if (diags->kept_count == LL_DIAG_LIMIT)
        return "";
    const char *nearest = ll_nearest(wrong, words->words, words->count);
    if (!nearest)
        return list_words(diags, wrong, words);
    const char *kept = ll_format(&diags->arena, "; did you mean `%s`?", nearest);
    return kept ? kept : "";
}

static bool is_pattern(const struct ll_field *field)
{
    return field->key[0] == '<';
}

uint64_t ll_level_of_key(const struct ll_field *field, const char *key, const struct ll_machine *machine)
{
    const char *suffix = strchr(field->key, '>') + 1;
    for (uint64_t i = 0; i < machine->level_count; i++) {
        const char *level = machine->levels[i].name;
        if (level && !strncmp(key, level, strlen(level)) && !strcmp(key + strlen(level), suffix))
            return i;
    }
    return machine->level_count;
}

static bool takes_key(const struct ll_field *field, const char *key, const struct ll_machine *machine)
{
    return is_pattern(field) ? ll_level_of_key(field, key, machine) < machine->level_count
                             : !strcmp(field->key, key);
}

static bool table_takes(const struct ll_field_table *table, const char *key, const struct ll_machine *machine)
{
    for (size_t i = 0; i < table->count; i++)
        if (takes_key(&table->fields[i], key, machine))
            return true;
    return false;
}

static void add_keys(struct ll_near_words *words, const struct ll_field_table *table,
                     const struct ll_reading *reading)
{
    for (size_t i = 0; i < table->count; i++) {
        const struct ll_field *field = &table->fields[i];
        if (!is_pattern(field)) {
            ll_near_words_add(words, field->key);
            continue;
        }
        for (uint64_t j = 0; j < reading->machine->level_count; j++) {
            const char *level = reading->machine->levels[j].name;
            const char *key =
                level ? ll_format(reading->arena, "%s%s", level, strchr(field->key, '>') + 1) : NULL;
            if (key)
                ll_near_words_add(words, key);
        }
    }
}

/* The table below this one that has exactly this key, NULL when there is none. */
static const struct ll_field_table *home_of(const struct ll_field_table *table, const char *key)
{
    const struct ll_field_table *home = find_here(table, key) ? table : NULL;
    for (size_t i = 0; i < table->variant_count && !home; i++)
        home = home_of(table->variants[i], key);
    for (size_t i = 0; i < table->count && !home; i++)
        if (table->fields[i].table)
            home = home_of(table->fields[i].table, key);
    return home;
}

static bool complain_of_key(const struct ll_field_table *table, const struct ll_field_table *variant,
                            const struct ll_node *child, struct ll_reading *reading)
{
    struct ll_near_words words = {.count = 0};
    const struct ll_field_table *home = home_of(&ll_machine_table, child->key);
    const char *what = variant ? variant->what : table->what;
    if (home)
        return ll_complain(reading->diags, child->key_place, "no key `%s` in this %s; it belongs in a %s",
                           child->key, what, home->what);
    add_keys(&words, table, reading);
    if (variant)
        add_keys(&words, variant, reading);
    return ll_complain(reading->diags, child->key_place, "no key `%s` in this %s%s",
                       ll_shown_text(child->key).text, what, ll_suggest(reading->diags, child->key, &words));
}

static bool check_keys(const struct ll_field_table *table, const struct ll_field_table *variant,
                       const struct ll_node *node, struct ll_reading *reading)
{
    bool right = true;
    for (const struct ll_node *child = node->first; child; child = child->next) {
        bool known = table_takes(table, child->key, reading->machine);
        if (!known && table->variants) /* with the variant unknown, any variant's key will do */
            known = variant ? table_takes(variant, child->key, reading->machine)
                            : ll_field_table_find(table, child->key) != NULL;
        if (!known)
            right = complain_of_key(table, variant, child, reading);
    }
    return right;
}

static bool read_default(const struct ll_field *field, const struct ll_node *map, void *object,
                         struct ll_reading *reading)
{
    struct ll_node node = {
        .type = LL_NODE_SCALAR, .key = field->key, .place = map->place, .text = field->otherwise};
    return ll_types[field->type].read(field, &node, object, reading);
}

/* Whether some unknown key was probably meant to be this one; then the complaint of that key says it all. */
static bool is_misspelt(const struct ll_field_table *table, const struct ll_node *map, const char *key)
{
    for (const struct ll_node *child = map->first; child; child = child->next)
        if (ll_nearest(child->key, &key, 1) && !ll_field_table_find(table, child->key))
            return true;
    return false;
}

static bool read_field(const struct ll_field_table *table, const struct ll_field *field,
                       const struct ll_node *map, void *object, struct ll_reading *reading)
{
    static const struct ll_node nothing = {.type = LL_NODE_MAP};
    const struct ll_node *node = is_pattern(field) ? map : ll_node_get(map, field->key);
    if (node)
        return ll_types[field->type].read(field, node, object, reading);
    if (field->required)
        return is_misspelt(table, map, field->key)
                   ? false
                   : ll_complain(reading->diags, map->place, "this %s needs `%s`: %s", table->what,
                                 field->key, field->help);
    if (field->otherwise)
        return read_default(field, map, object, reading);
    if (field->type == LL_TYPE_OBJECT && !field->given_offset)
        return ll_types[field->type].read(field, &nothing, object, reading);
    return true;
}

static bool read_fields(const struct ll_field_table *table, const struct ll_node *node, void *object,
                        struct ll_reading *reading)
{
    bool right = true;
    for (size_t i = 0; i < table->count; i++) {
        if (read_field(table, &table->fields[i], node, object, reading))
            continue;
        right = false;
        if (table == &ll_machine_table)
            reading->failed |= UINT64_C(1) << i;
    }
    return right;
}

/* As in a machine of which nothing was read. */
static void clear(const struct ll_field *field, struct ll_machine *machine)
{
    char *here = (char *)machine + field->offset;
    if (field->type == LL_TYPE_LIST) {
        memset(here, 0, (size_t)field->max * field->table->size);
        *(uint64_t *)ll_at(machine, field->count_offset) = 0;
    }
    if (field->type == LL_TYPE_OBJECT)
        memset(here, 0, field->table->size);
    if (field->type == LL_TYPE_OBJECT && field->given_offset)
        *(bool *)ll_at(machine, field->given_offset) = false;
}

bool ll_section_read(size_t i, struct ll_reading *reading)
{
    const struct ll_field_table *table = &ll_machine_table;
    clear(&table->fields[i], reading->machine);
    if (read_field(table, &table->fields[i], reading->root, reading->machine, reading))
        return true;
    reading->failed |= UINT64_C(1) << i;
    return false;
}

bool ll_read_well(const struct ll_reading *reading, const char *key)
{
    if (reading->failed == 0)
        return true;
    const struct ll_field *field = find_here(&ll_machine_table, key);
    return !(reading->failed >> (field - ll_machine_table.fields) & 1);
}

/* Until the choice is read: an index past all variants. */
static void choose_none(const struct ll_field_table *table, void *object)
{
    memset((char *)object + table->variant_offset, 0xFF, sizeof(unsigned));
}

static bool expected_map(const struct ll_field_table *table, const struct ll_node *node,
                         struct ll_reading *reading)
{
    const char *what = ll_format(reading->arena, "a map with the keys of a %s", table->what);
    return what ? ll_expected(node, reading, what) : ll_no_memory(node, reading);
}

bool ll_field_table_read(const struct ll_field_table *table, const struct ll_node *node, void *object,
                         struct ll_reading *reading)
{
    if (node->type != LL_NODE_MAP)
        return expected_map(table, node, reading);
    if (table->variants)
        choose_none(table, object);
    bool right = read_fields(table, node, object, reading);
    const struct ll_field_table *variant = ll_field_table_variant(table, object);
    right &= check_keys(table, variant, node, reading);
    return (!variant || read_fields(variant, node, object, reading)) && right;
}

static void write_fields(const struct ll_field_table *table, const void *object,
                         const struct ll_machine *machine, struct ll_dump *dump)
{
    for (size_t i = 0; i < table->count; i++) {
        const struct ll_field *field = &table->fields[i];
        const struct ll_type *type = &ll_types[field->type];
        if ((dump->results_only && field->wording) || !type->given(field, object))
            continue;
        if (!is_pattern(field))
            dump->verbs->key(dump->out, field->key);
        type->write(field, object, machine, dump);
    }
}

void ll_field_table_write(const struct ll_field_table *table, const void *object,
                          const struct ll_machine *machine, struct ll_dump *dump)
{
    const struct ll_field_table *variant = ll_field_table_variant(table, object);
    write_fields(table, object, machine, dump);
    if (variant)
        write_fields(variant, object, machine, dump);
}

/* A source goes with its value: when a value is replaced, what was said of the old one is no longer true. */

/* Follows a path without complaints. */
static bool find(const struct ll_node *tree, const char *path, struct ll_arena *arena,
                 struct ll_machine_path *found)
{
    return ll_machine_path_find((struct ll_node *)tree, path, false, (struct ll_place){0}, arena, NULL,
                                found);
}

/* Whether the path leads to a value of its own in this tree: not to a part, which may be replaced in part. */
static bool says(const struct ll_node *tree, const char *path, struct ll_arena *arena)
{
    struct ll_machine_path found;
    if (!find(tree, path, arena, &found) || !found.key)
        return false;
    const struct ll_node *value = ll_node_get(found.map, found.key);
    return value && value->type == LL_NODE_SCALAR;
}

void ll_sources_outdate(struct ll_node *base, const struct ll_node *own, struct ll_arena *arena)
{
    struct ll_node *sources = ll_node_get(base, "sources");
    for (struct ll_node *source = sources ? sources->first : NULL, *next; source; source = next) {
        next = source->next;
        if (sources->type == LL_NODE_MAP && says(own, source->key, arena))
            ll_node_remove(sources, source->key);
    }
}

static struct ll_node *sources_of(struct ll_node *tree, struct ll_place place, struct ll_arena *arena)
{
    struct ll_node *sources = ll_node_get(tree, "sources");
    if (sources || tree->type != LL_NODE_MAP)
        return sources;
    sources = ll_node_new(arena, LL_NODE_MAP, place);
    if (sources) {
        sources->key = "sources";
        sources->key_place = place;
        ll_node_add(tree, sources);
    }
    return sources;
}

static void drop_same(struct ll_node *tree, struct ll_node *sources, const struct ll_machine_path *target,
                      struct ll_arena *arena)
{
    for (struct ll_node *source = sources->first, *next; source; source = next) {
        struct ll_machine_path found;
        next = source->next;
        if (find(tree, source->key, arena, &found) && found.map == target->map && found.key &&
            !strcmp(found.key, target->key))
            ll_node_remove(sources, source->key);
    }
}

bool ll_sources_set(struct ll_node *tree, const char *path, const struct ll_machine_path *target,
                    struct ll_place place, struct ll_arena *arena)
{
    struct ll_node *sources = sources_of(tree, place, arena);
    struct ll_node *source = sources ? ll_node_new(arena, LL_NODE_SCALAR, place) : NULL;
    if (!source || sources->type != LL_NODE_MAP)
        return source != NULL; /* what is no map is complained of when it is read */
    drop_same(tree, sources, target, arena);
    source->key = path;
    source->key_place = place;
    source->text = "given by --set";
    ll_node_add(sources, source);
    return true;
}

/* The key reference: a table for each table of rows, as Markdown. */

/* What may be written, with its bounds: "size, as 16GiB", "ws, os or is", "whole number, 1 to 65536". */
static void write_choices(struct ll_str *out, const struct ll_field *field)
{
    for (size_t i = 0; field->choices[i]; i++)
        ll_str_addf(out, "%s`%s`", i == 0 ? "" : field->choices[i + 1] ? ", " : " or ", field->choices[i]);
}

static void write_bounds(struct ll_str *out, const struct ll_field *field)
{
    bool named = field->type == LL_TYPE_QUANTITY || field->type == LL_TYPE_SIZE;
    const char *unit = field->unit ? field->unit : "";
    struct ll_quantity_text least =
        named ? ll_quantity_text(field->min, field->dimension) : ll_number_in(field->min, unit);
    struct ll_quantity_text most =
        named ? ll_quantity_text(field->max, field->dimension) : ll_number_in(field->max, unit);
    if (field->min == DBL_MIN)
        ll_str_addf(out, ", more than 0 to %s", most.text);
    else
        ll_str_addf(out, ", %s to %s", least.text, most.text);
}

/* To the table of that name: a heading's anchor has no blanks. */
static void write_link(struct ll_str *out, const char *what)
{
    ll_str_addf(out, ", see [%s](#keys-of-", what);
    for (; *what; what++)
        ll_str_add_bytes(out, *what == ' ' ? "-" : what, 1);
    ll_str_add(out, ")");
}

static void write_type(struct ll_str *out, const struct ll_field *field)
{
    if (field->choices) {
        write_choices(out, field);
        return;
    }
    if (field->type == LL_TYPE_QUANTITY || field->type == LL_TYPE_SIZE)
        ll_str_addf(out, "%s, as %s", ll_dimension_name(field->dimension),
                    ll_dimension_example(field->dimension));
    else
        ll_str_add(out, ll_types[field->type].name);
    if (field->table)
        write_link(out, field->table->what);
    else if (field->max > 0)
        write_bounds(out, field);
}

static void write_row(struct ll_str *out, const struct ll_field *field)
{
    ll_str_addf(out, "| `%s` | ", field->key);
    write_type(out, field);
    ll_str_addf(out, " | %s%s%s | %s |\n", field->otherwise ? "`" : "",
                field->required    ? "required"
                : field->otherwise ? field->otherwise
                                   : "",
                field->otherwise ? "`" : "", field->help);
}

/* Whether a row before this one has the same table, which stands there already. */
static bool repeats_table(const struct ll_field_table *table, size_t row)
{
    for (size_t i = 0; i < row; i++)
        if (table->fields[i].table == table->fields[row].table)
            return true;
    return false;
}

static void write_table(struct ll_str *out, const struct ll_field_table *table)
{
    ll_str_addf(out, "\n### Keys of %s\n\n| key | value | default | meaning |\n|---|---|---|---|\n",
                table->what);
    for (size_t i = 0; i < table->count; i++)
        write_row(out, &table->fields[i]);
    for (size_t i = 0; i < table->variant_count; i++)
        write_table(out, table->variants[i]);
    for (size_t i = 0; i < table->count; i++)
        if (table->fields[i].table && !repeats_table(table, i))
            write_table(out, table->fields[i].table);
}

static void write_models(struct ll_str *out)
{
    ll_str_add(out, "\n### Unit models\n\n");
#define LL_UNIT_MODEL(word, name, member, doc) ll_str_add(out, "- `" name "`: " doc "\n");
#include "sim/machine/unit_models.def"
#undef LL_UNIT_MODEL
}

static void write_dtypes(struct ll_str *out)
{
    ll_str_add(out, "\nDtypes:");
    for (int i = 0; i < LL_DTYPE_COUNT; i++)
        ll_str_addf(out, "%s `%s`", i ? "," : "", ll_dtype_name((enum ll_dtype)i));
    ll_str_add(out, ".\nOp classes:");
    for (int i = 0; i < LL_CLASS_COUNT; i++)
        ll_str_addf(out, "%s `%s`", i ? "," : "", ll_class_name((enum ll_op_class)i));
    ll_str_add(out, "; the kinds of each: `leadline ops`.\n");
}

struct key_search {
    const char *key;
    void (*found)(void *context, const char *table, const char *key, const char *meaning);
    void *context;
};

static void search_table(const struct key_search *search, const struct ll_field_table *table)
{
    for (size_t i = 0; i < table->count; i++)
        if (strcmp(table->fields[i].key, search->key) == 0)
            search->found(search->context, table->what, search->key, table->fields[i].help);
    for (size_t i = 0; i < table->variant_count; i++)
        search_table(search, table->variants[i]);
    for (size_t i = 0; i < table->count; i++)
        if (table->fields[i].table && !repeats_table(table, i))
            search_table(search, table->fields[i].table);
}

void ll_machine_key_meanings(const char *key,
                             void (*found)(void *context, const char *table, const char *key,
                                           const char *meaning),
                             void *context)
{
    const struct key_search search = {key, found, context};
    search_table(&search, &ll_machine_table);
}

void ll_machine_reference(struct ll_str *out)
{
    write_table(out, &ll_machine_table);
    write_models(out);
    write_dtypes(out);
}

/* A resolved machine written out, as JSON and as YAML: one walk over the rows, two sets of verbs. */

/* --- JSON: quantities in base units, numbers in the unit that their key names --- */

static void json_open(void *out, enum ll_node_type type, bool short_one)
{
    (void)short_one;
    if (type == LL_NODE_MAP)
        ll_json_open_object(out);
    else
        ll_json_open_list(out);
}

static void json_close(void *out, enum ll_node_type type)
{
    if (type == LL_NODE_MAP)
        ll_json_close_object(out);
    else
        ll_json_close_list(out);
}

static void json_key(void *out, const char *key)
{
    ll_json_key(out, key);
}

static void json_text(void *out, const char *text)
{
    ll_json_text(out, text);
}

static void json_truth(void *out, bool value)
{
    ll_json_bool(out, value);
}

static void json_count(void *out, uint64_t value)
{
    ll_json_count(out, value);
}

static void json_quantity(void *out, double value, enum ll_dimension dimension)
{
    (void)dimension;
    ll_json_number(out, value);
}

static void json_number(void *out, double value, const char *unit)
{
    double in_unit = value;
    bool right = !*unit || ll_number_parse(ll_number_in(value, unit).text, "", &in_unit);
    assert(right);
    ll_json_number(out, right ? in_unit : value);
}

static const struct ll_dump_verbs json_verbs = {json_open,  json_close, json_key,      json_text,  json_text,
                                                json_truth, json_count, json_quantity, json_number};

void ll_machine_json_keys(const struct ll_machine *machine, struct ll_json *json)
{
    struct ll_dump dump = {.verbs = &json_verbs, .out = json};
    ll_field_table_write(&ll_machine_table, machine, machine, &dump);
}

void ll_machine_json(const struct ll_machine *machine, struct ll_json *json)
{
    ll_json_open_object(json);
    ll_machine_json_keys(machine, json);
    ll_json_close_object(json);
}

bool ll_machine_hash(struct ll_machine *machine)
{
    struct ll_str text = {0};
    struct ll_json json = {.out = &text};
    struct ll_dump dump = {.verbs = &json_verbs, .out = &json, .results_only = true};
    ll_json_open_object(&json);
    ll_field_table_write(&ll_machine_table, machine, machine, &dump);
    ll_json_close_object(&json);
    machine->config_hash = ll_digest(text.text, text.length);
    bool right = !text.failed;
    ll_str_release(&text);
    return right;
}

/* --- YAML: a key a line, short lists and maps in brackets --- */

enum { YAML_DEPTH = 8 };

struct yaml_frame {
    enum ll_node_type type;
    bool brackets, has_items;
    unsigned column; /* where its lines begin */
};
struct yaml {
    struct ll_str *out;
    struct yaml_frame frames[YAML_DEPTH];
    unsigned depth;
    bool after_key;
};

static struct yaml_frame *top(struct yaml *yaml)
{
    assert(yaml->depth > 0);
    return &yaml->frames[yaml->depth - 1];
}

static void break_line(struct yaml *yaml, unsigned column)
{
    ll_str_addf(yaml->out, "\n%*s", (int)column, "");
}

/* What stands before the next key of a map or the next item of a list. */
static void separate(struct yaml *yaml)
{
    struct yaml_frame *frame = top(yaml);
    bool of_item = yaml->depth > 1 && frame[-1].type == LL_NODE_LIST; /* its first key stands behind "- " */
    if (frame->brackets)
        ll_str_add(yaml->out, frame->has_items ? ", " : "");
    else if (frame->type == LL_NODE_LIST)
        break_line(yaml, frame->column);
    else if (frame->has_items || (!of_item && yaml->depth > 1))
        break_line(yaml, frame->column);
    if (!frame->brackets && frame->type == LL_NODE_LIST)
        ll_str_add(yaml->out, "- ");
    frame->has_items = true;
}

/* What stands before a value. */
static void begin_value(struct yaml *yaml)
{
    if (yaml->after_key)
        ll_str_add(yaml->out, " ");
    else if (yaml->depth > 0)
        separate(yaml);
    yaml->after_key = false;
}

static void yaml_open(void *out, enum ll_node_type type, bool short_one)
{
    struct yaml *yaml = out;
    unsigned column = yaml->depth > 0 ? top(yaml)->column + 2 : 0;
    assert(yaml->depth < YAML_DEPTH);
    if (short_one || !yaml->after_key)
        begin_value(yaml);
    yaml->after_key = false;
    yaml->frames[yaml->depth++] = (struct yaml_frame){type, short_one, false, column};
    if (short_one)
        ll_str_add(yaml->out, type == LL_NODE_MAP ? "{" : "[");
}

static void yaml_close(void *out, enum ll_node_type type)
{
    struct yaml *yaml = out;
    if (top(yaml)->brackets)
        ll_str_add(yaml->out, type == LL_NODE_MAP ? "}" : "]");
    else if (!top(yaml)->has_items)
        ll_str_add(yaml->out, " {}"); /* only maps can be empty here: lists have items or are not written */
    yaml->depth--;
}

static void yaml_key(void *out, const char *key)
{
    struct yaml *yaml = out;
    separate(yaml);
    ll_str_addf(yaml->out, "%s:", key);
    yaml->after_key = true;
}

static void yaml_word(void *out, const char *word)
{
    struct yaml *yaml = out;
    begin_value(yaml);
    ll_str_add(yaml->out, word);
}

/* In double quotes. Texts hold no control characters but newline and tab (node.h). */
static void yaml_text(void *out, const char *text)
{
    struct yaml *yaml = out;
    begin_value(yaml);
    ll_str_add(yaml->out, "\"");
    for (; *text; text++) {
        const char *escape = *text == '\n' ? "\\n" : *text == '\t' ? "\\t" : *text == '"' ? "\\\"" : "\\\\";
        if (strchr("\n\t\"\\", *text))
            ll_str_add(yaml->out, escape);
        else
            ll_str_add_bytes(yaml->out, text, 1);
    }
    ll_str_add(yaml->out, "\"");
}

static void yaml_truth(void *out, bool value)
{
    yaml_word(out, value ? "true" : "false");
}

static void yaml_count(void *out, uint64_t value)
{
    char text[24];
    snprintf(text, sizeof text, "%" PRIu64, value);
    yaml_word(out, text);
}

static void yaml_quantity(void *out, double value, enum ll_dimension dimension)
{
    yaml_word(out, ll_quantity_text(value, dimension).text);
}

static void yaml_number(void *out, double value, const char *unit)
{
    yaml_word(out, ll_number_in(value, unit).text);
}

static const struct ll_dump_verbs yaml_verbs = {yaml_open,  yaml_close, yaml_key,      yaml_text,  yaml_word,
                                                yaml_truth, yaml_count, yaml_quantity, yaml_number};

void ll_machine_yaml(const struct ll_machine *machine, struct ll_str *out)
{
    struct yaml yaml = {.out = out};
    struct ll_dump dump = {.verbs = &yaml_verbs, .out = &yaml};
    yaml_open(&yaml, LL_NODE_MAP, false);
    ll_field_table_write(&ll_machine_table, machine, machine, &dump);
    yaml_close(&yaml, LL_NODE_MAP);
    ll_str_add(out, "\n");
}
