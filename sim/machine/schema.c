/* SPDX-License-Identifier: Apache-2.0 */
/* The walks over the rows: reading a map, and writing a struct. */
#include "sim/machine/schema_types.h"

#include <stdlib.h>
#include <string.h>

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
