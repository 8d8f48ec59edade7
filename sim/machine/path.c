/* SPDX-License-Identifier: Apache-2.0 */
/* Paths to values of a machine file: from a path to the schema's row and a place in the tree (first section),
 * to a place in the struct of a machine (second), to its numbers by name (third), and `--set`, which changes
 * the tree. */
#include "sim/machine/path.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "sim/machine/schema.h"
#include "sim/machine/steps.h"

/* A walk down the schema and the tree at once, a step a segment of the path. */

struct walk {
    struct ll_node *root;
    const char *path; /* the whole */
    bool create;
    struct ll_place place;
    struct ll_arena *arena;
    struct ll_diags *diags;
    const char *rest;    /* what is still to be followed; NULL at the end */
    const char *segment; /* the step being taken */
    size_t before;       /* length of the path before that segment */
};

/* Cuts off the next segment; false when memory ran out. */
static bool next_segment(struct walk *walk)
{
    size_t length = strcspn(walk->rest, ".");
    walk->before = (size_t)(walk->rest - walk->path);
    walk->segment = ll_copy_text(walk->arena, walk->rest, length);
    walk->rest = walk->rest[length] ? walk->rest + length + 1 : NULL;
    return walk->segment || (walk->diags && ll_complain(walk->diags, walk->place, "memory ran out"));
}

/* The whole path with the wrong segment replaced by each of the words, so that the suggestion can be typed.
 */
static bool complain(const struct walk *walk, const char *what, const struct ll_near_words *words)
{
    if (!walk->diags)
        return false;
    const char *nearest = ll_nearest(walk->segment, words->words, words->count);
    struct ll_shown path = ll_shown_text(walk->path), segment = ll_shown_text(walk->segment);
    if (!nearest || walk->before > 100)
        return ll_complain(walk->diags, walk->place, "`%s`: no %s `%s`%s", path.text, what, segment.text,
                           ll_suggest(walk->diags, walk->segment, words));
    return ll_complain(walk->diags, walk->place, "`%s`: no %s `%s`; did you mean `%.*s%s%s%s`?", path.text,
                       what, segment.text, (int)walk->before, walk->path, nearest, walk->rest ? "." : "",
                       walk->rest ? ll_shown_text(walk->rest).text : "");
}

/* No list of named items may be longer than this, which is complained of elsewhere: so no path searches for
 * long. */
enum { MOST_ITEMS = LL_MAX_KERNELS };

static struct ll_node *find_item(const struct ll_node *list, const char *name)
{
    struct ll_node *item = list && list->type == LL_NODE_LIST ? list->first : NULL;
    for (size_t i = 0; item && i < MOST_ITEMS; item = item->next, i++) {
        const char *text = ll_node_get_text(item, "name");
        if (text && !strcmp(text, name))
            return item;
    }
    return NULL;
}

static void add_names(struct ll_near_words *words, const struct ll_node *list)
{
    const struct ll_node *item = list && list->type == LL_NODE_LIST ? list->first : NULL;
    for (size_t i = 0; item && i < MOST_ITEMS; item = item->next, i++)
        if (ll_node_get_text(item, "name"))
            ll_near_words_add(words, ll_node_get_text(item, "name"));
}

/* The i-th name of a level, NULL past the last. */
static const char *level_name(const struct walk *walk, size_t index)
{
    struct ll_near_words names;
    names.count = 0;
    add_names(&names, ll_node_get(walk->root, "memory"));
    return index < names.count ? names.words[index] : NULL;
}

static void add_keys(const struct walk *walk, struct ll_near_words *words, const struct ll_field_table *table)
{
    for (size_t i = 0; i < table->count; i++) {
        const char *key = table->fields[i].key, *name;
        if (key[0] != '<')
            ll_near_words_add(words, key);
        for (size_t j = 0; key[0] == '<' && (name = level_name(walk, j)); j++) {
            const char *expanded = ll_format(walk->arena, "%s%s", name, strchr(key, '>') + 1);
            if (expanded)
                ll_near_words_add(words, expanded);
        }
    }
}

/* The member of a map, made when it may be. */
static struct ll_node *enter(const struct walk *walk, struct ll_node *map, const struct ll_field *field)
{
    struct ll_node *child = ll_node_get(map, field->key);
    if (child || !walk->create || !map || map->type != LL_NODE_MAP)
        return child;
    child = ll_node_new(walk->arena, LL_NODE_MAP, walk->place);
    if (child) {
        child->key = field->key;
        child->key_place = walk->place;
        ll_node_add(map, child);
    }
    return child;
}

/* The row for keys "<level>_suffix", when the key is made of the name of a level and the suffix. */
static const struct ll_field *find_pattern(const struct walk *walk, const struct ll_field_table *table,
                                           const char *key)
{
    for (size_t i = 0; i < table->count; i++) {
        const char *suffix = table->fields[i].key[0] == '<' ? strchr(table->fields[i].key, '>') + 1 : NULL,
                   *name;
        for (size_t j = 0; suffix && (name = level_name(walk, j)); j++)
            if (!strncmp(key, name, strlen(name)) && !strcmp(key + strlen(name), suffix))
                return &table->fields[i];
    }
    return NULL;
}

static bool follow_table(struct walk *walk, const struct ll_field_table *table, struct ll_node *map,
                         struct ll_machine_path *found);

static bool end_at(struct ll_machine_path *found, const struct ll_field *field, struct ll_node *map,
                   const char *key)
{
    *found = (struct ll_machine_path){.field = field, .map = map, .key = key};
    return true;
}

static bool nothing_below(const struct walk *walk, const char *key)
{
    return walk->diags && ll_complain(walk->diags, walk->place, "`%s`: there is nothing below `%s`",
                                      ll_shown_text(walk->path).text, key);
}

static bool follow_dtype(struct walk *walk, const struct ll_field *field, struct ll_node *map,
                         struct ll_machine_path *found)
{
    struct ll_near_words words;
    words.count = 0;
    struct ll_node *dtypes = enter(walk, map, field);
    if (!next_segment(walk))
        return false;
    for (int i = 0; i < LL_DTYPE_COUNT; i++) {
        const char *name = ll_dtype_name((enum ll_dtype)i);
        if (!strcmp(walk->segment, name))
            return walk->rest ? nothing_below(walk, name) : end_at(found, field, dtypes, name);
        ll_near_words_add(&words, name);
    }
    return complain(walk, "dtype", &words);
}

static bool follow_item(struct walk *walk, const struct ll_field *field, struct ll_node *item,
                        struct ll_machine_path *found)
{
    return walk->rest ? follow_table(walk, field->table, item, found) : end_at(found, field, item, NULL);
}

static bool follow_list(struct walk *walk, const struct ll_field *field, struct ll_node *map,
                        struct ll_machine_path *found)
{
    struct ll_near_words words;
    words.count = 0;
    struct ll_node *list = ll_node_get(map, field->key);
    if (!next_segment(walk))
        return false;
    struct ll_node *item = find_item(list, walk->segment);
    if (item)
        return follow_item(walk, field, item, found);
    add_names(&words, list);
    return complain(walk, field->table->what, &words);
}

static bool follow_field(struct walk *walk, const struct ll_field *field, struct ll_node *map,
                         struct ll_machine_path *found)
{
    if (!walk->rest)
        return end_at(found, field, map, walk->segment);
    if (field->type == LL_TYPE_OBJECT)
        return follow_table(walk, field->table, enter(walk, map, field), found);
    if (field->type == LL_TYPE_LIST)
        return follow_list(walk, field, map, found);
    if (field->type == LL_TYPE_DTYPES)
        return follow_dtype(walk, field, map, found);
    return nothing_below(walk, field->key);
}

/* `hbm.bandwidth` for `memory.hbm.bandwidth`. */
static bool follow_short(struct walk *walk, struct ll_machine_path *found, bool *right)
{
    const struct ll_field_table *table = &ll_machine_table;
    for (size_t i = 0; i < table->count; i++) {
        const struct ll_field *field = &table->fields[i];
        if (field->type != LL_TYPE_LIST)
            continue;
        struct ll_node *item = find_item(ll_node_get(walk->root, field->key), walk->segment);
        if (item) {
            *right = follow_item(walk, field, item, found);
            return true;
        }
    }
    return false;
}

static bool complain_of_segment(struct walk *walk, const struct ll_field_table *table)
{
    struct ll_near_words words;
    words.count = 0;
    if (!walk->diags)
        return false;
    add_keys(walk, &words, table);
    for (size_t i = 0; i < table->variant_count; i++)
        add_keys(walk, &words, table->variants[i]);
    if (table == &ll_machine_table)
        for (size_t i = 0; i < table->count; i++)
            if (table->fields[i].type == LL_TYPE_LIST)
                add_names(&words, ll_node_get(walk->root, table->fields[i].key));
    return complain(walk, "key", &words);
}

/* A key that version 0.1 had under another name, or that is ignored now; false when it is neither. */
static bool follow_old_key(struct walk *walk, const struct ll_field_table *table, struct ll_node *map,
                           struct ll_machine_path *found, bool *right)
{
    const char *now;
    if (!ll_old_key(table, walk->segment, &now))
        return false;
    *right = true;
    if (!now) {
        *found = (struct ll_machine_path){.ignored = true};
        if (walk->diags)
            ll_remark(walk->diags, walk->place, "ignored, for the model has this key no more: `%s`",
                      walk->path);
        return true;
    }
    if (walk->diags)
        ll_remark(walk->diags, walk->place,
                  "old name of a key, which the next version will not read: `%s` is `%s`", walk->segment,
                  now);
    walk->segment = now;
    *right = follow_field(walk, ll_field_table_find(table, now), map, found);
    return true;
}

static bool follow_table(struct walk *walk, const struct ll_field_table *table, struct ll_node *map,
                         struct ll_machine_path *found)
{
    bool right;
    if (!next_segment(walk))
        return false;
    const struct ll_field *field = ll_field_table_find(table, walk->segment);
    if (!field)
        field = find_pattern(walk, table, walk->segment);
    if (field)
        return follow_field(walk, field, map, found);
    if (table == &ll_machine_table && follow_short(walk, found, &right))
        return right;
    return follow_old_key(walk, table, map, found, &right) ? right : complain_of_segment(walk, table);
}

bool ll_machine_path_find(struct ll_node *root, const char *path, bool create, struct ll_place place,
                          struct ll_arena *arena, struct ll_diags *diags, struct ll_machine_path *found)
{
    struct walk walk = {.root = root,
                        .path = path,
                        .create = create,
                        .place = place,
                        .arena = arena,
                        .diags = diags,
                        .rest = path};
    return follow_table(&walk, &ll_machine_table, root, found);
}

/* A walk down the rows and the struct at once, a step a segment of the path. */

struct locate_walk {
    const struct ll_machine *machine;
    const char *segment; /* the rest of the path */
    struct ll_location *location;
};

static bool walk_table(struct locate_walk *walk, const struct ll_field_table *table, const char *object);

static size_t length_of(const char *segment)
{
    return strcspn(segment, ".");
}

static bool is_segment(const struct locate_walk *walk, const char *name)
{
    size_t length = length_of(walk->segment);
    return name && strlen(name) == length && !strncmp(name, walk->segment, length);
}

/* To the next segment; false at the last. */
static bool next(struct locate_walk *walk)
{
    size_t length = length_of(walk->segment);
    bool more = walk->segment[length] == '.';
    walk->segment += more ? length + 1 : length;
    return more;
}

static bool located_end(struct locate_walk *walk, const void *place, const struct ll_field *field, bool whole)
{
    *walk->location =
        (struct ll_location){.offset = (size_t)((const char *)place - (const char *)walk->machine),
                             .whole = whole,
                             .dimension = ll_field_dimension(field)};
    return !next(walk);
}

static bool walk_dtypes(struct locate_walk *walk, const struct ll_field *field, const double *values)
{
    bool more = next(walk);
    for (unsigned i = 0; more && i < LL_DTYPE_COUNT; i++)
        if (is_segment(walk, ll_dtype_name((enum ll_dtype)i)))
            return located_end(walk, &values[i], field, false);
    return false;
}

static bool walk_items(struct locate_walk *walk, const struct ll_field *field, const char *object)
{
    const char *item = object + field->offset;
    uint64_t count = *(const uint64_t *)(const void *)(object + field->count_offset);
    if (field->table->fields[0].type != LL_TYPE_NAME)
        return false;
    for (uint64_t i = 0; i < count; i++, item += field->table->size) {
        const char *const *name = (const char *const *)(const void *)(item + field->table->fields[0].offset);
        if (is_segment(walk, *name))
            return next(walk) && walk_table(walk, field->table, item);
    }
    return false;
}

static bool walk_field(struct locate_walk *walk, const struct ll_field *field, const char *object)
{
    const char *place = object + field->offset;
    switch (field->type) {
    case LL_TYPE_WHOLE:
    case LL_TYPE_SIZE:
        return located_end(walk, place, field, true);
    case LL_TYPE_QUANTITY:
    case LL_TYPE_NUMBER:
        return located_end(walk, place, field, false);
    case LL_TYPE_DTYPES:
        return walk_dtypes(walk, field, (const double *)(const void *)place);
    case LL_TYPE_OBJECT:
        return next(walk) && walk_table(walk, field->table, place);
    case LL_TYPE_LIST:
        return next(walk) && walk_items(walk, field, object);
    default:
        return false;
    }
}

static bool find_field(struct locate_walk *walk, const struct ll_field_table *table, const char *object,
                       bool *right)
{
    for (size_t i = 0; table && i < table->count; i++)
        if (is_segment(walk, table->fields[i].key)) {
            *right = walk_field(walk, &table->fields[i], object);
            return true;
        }
    return false;
}

/* `hbm.bandwidth` for `memory.hbm.bandwidth`. */
static bool walk_short(struct locate_walk *walk, const char *object)
{
    const char *segment = walk->segment;
    for (size_t i = 0; i < ll_machine_table.count; i++) {
        walk->segment = segment;
        if (ll_machine_table.fields[i].type == LL_TYPE_LIST &&
            walk_items(walk, &ll_machine_table.fields[i], object))
            return true;
    }
    return false;
}

static bool walk_table(struct locate_walk *walk, const struct ll_field_table *table, const char *object)
{
    bool right;
    if (find_field(walk, table, object, &right) ||
        find_field(walk, ll_field_table_variant(table, object), object, &right))
        return right;
    return table == &ll_machine_table && walk_short(walk, object);
}

bool ll_machine_locate(const struct ll_machine *machine, const char *path, struct ll_location *location)
{
    struct locate_walk walk = {machine, path, location};
    return walk_table(&walk, &ll_machine_table, (const char *)machine);
}

double ll_located(const struct ll_machine *machine, const struct ll_location *location)
{
    const void *place = (const char *)machine + location->offset;
    return location->whole ? (double)*(const uint64_t *)place : *(const double *)place;
}

/* One more walk over the rows of the schema, which collects where the doubles stand. */

/* Where the walk is. */
struct number_walk {
    const struct ll_machine *machine;
    struct ll_arena *arena;
    struct ll_machine_number *numbers; /* of malloc */
    uint64_t count, capacity;
    struct ll_machine_number here; /* the segments so far */
    bool failed;
};

static void walk_number_table(struct number_walk *walk, const struct ll_field_table *table,
                              const char *object);

static void enter_number(struct number_walk *walk, const char *segment, bool is_item)
{
    assert(walk->here.segment_count < LL_MOST_SEGMENTS);
    walk->here.is_item[walk->here.segment_count] = is_item;
    walk->here.segments[walk->here.segment_count++] = segment;
}

static void leave(struct number_walk *walk)
{
    walk->here.segment_count--;
}

static const char *joined(struct number_walk *walk)
{
    struct ll_str text = {0};
    for (size_t i = 0; i < walk->here.segment_count; i++)
        ll_str_addf(&text, "%s%s", i ? "." : "", walk->here.segments[i]);
    const char *path = text.failed ? NULL : ll_copy_text(walk->arena, text.text, text.length);
    ll_str_release(&text);
    return path;
}

static void take(struct number_walk *walk, const struct ll_field *field, const char *place)
{
    if (!ll_grow(&walk->numbers, &walk->capacity, walk->count + 1, sizeof *walk->numbers)) {
        walk->failed = true;
        return;
    }
    struct ll_machine_number *number = &walk->numbers[walk->count++];
    *number = walk->here;
    number->path = joined(walk);
    number->offset = (size_t)(place - (const char *)walk->machine);
    number->min = field->min;
    number->max = field->max;
    number->dimension = field->dimension;
    number->unit = field->type == LL_TYPE_QUANTITY ? NULL : field->unit ? field->unit : "";
    walk->failed |= !number->path;
}

static void take_dtypes(struct number_walk *walk, const struct ll_field *field, const char *place)
{
    const double *values = (const double *)(const void *)place;
    for (unsigned i = 0; i < LL_DTYPE_COUNT; i++) {
        if (values[i] == 0)
            continue;
        enter_number(walk, ll_dtype_name((enum ll_dtype)i), false);
        take(walk, field, (const char *)&values[i]);
        leave(walk);
    }
}

/* The name of an item: of the first row of its table. */
static void walk_number_items(struct number_walk *walk, const struct ll_field *field, const char *first,
                              uint64_t count)
{
    assert(field->table->fields[0].type == LL_TYPE_NAME);
    for (uint64_t i = 0; i < count; i++) {
        const char *item = first + i * field->table->size;
        const char *const *name = (const char *const *)(const void *)(item + field->table->fields[0].offset);
        enter_number(walk, *name, true);
        walk_number_table(walk, field->table, item);
        leave(walk);
    }
}

static void walk_number_field(struct number_walk *walk, const struct ll_field *field, const char *object)
{
    const char *place = object + field->offset;
    enter_number(walk, field->key, false);
    if (field->type == LL_TYPE_QUANTITY || field->type == LL_TYPE_NUMBER)
        take(walk, field, place);
    else if (field->type == LL_TYPE_DTYPES)
        take_dtypes(walk, field, place);
    else if (field->type == LL_TYPE_OBJECT)
        walk_number_table(walk, field->table, place);
    else if (field->type == LL_TYPE_LIST && field->table->fields[0].type == LL_TYPE_NAME)
        walk_number_items(walk, field, place,
                          *(const uint64_t *)(const void *)(object + field->count_offset));
    leave(walk);
}

static void walk_number_table(struct number_walk *walk, const struct ll_field_table *table,
                              const char *object)
{
    const struct ll_field_table *variant = ll_field_table_variant(table, object);
    for (size_t i = 0; i < table->count; i++)
        walk_number_field(walk, &table->fields[i], object);
    for (size_t i = 0; variant && i < variant->count; i++)
        walk_number_field(walk, &variant->fields[i], object);
}

const struct ll_machine_number *ll_machine_numbers(const struct ll_machine *machine, struct ll_arena *arena,
                                                   size_t *count)
{
    static const char *const parts[] = {"units", "memory", "software", "host", "network", "core_links"};
    struct number_walk walk = {.machine = machine, .arena = arena};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        const struct ll_field *field = ll_field_table_find(&ll_machine_table, parts[i]);
        assert(field);
        walk_number_field(&walk, field, (const char *)machine);
    }
    *count = walk.count;
    const struct ll_machine_number *numbers =
        walk.failed ? NULL : ll_copy(arena, walk.numbers, walk.count * sizeof *walk.numbers);
    free(walk.numbers);
    return numbers;
}

double ll_number_get(const struct ll_machine *machine, const struct ll_machine_number *number)
{
    return *(const double *)(const void *)((const char *)machine + number->offset);
}

void ll_number_set(struct ll_machine *machine, const struct ll_machine_number *number, double value)
{
    *(double *)(void *)((char *)machine + number->offset) = value;
}

struct ll_quantity_text ll_number_words(const struct ll_machine_number *number, double value)
{
    return number->unit ? ll_number_in(value, number->unit) : ll_quantity_text(value, number->dimension);
}

/* --set units.array.rows=128: a value of the tree is replaced, or put where it could have stood. */

/* An item as a whole has no key of its own in the tree, and its list would lose it. */
static bool refuse_item(const char *path, struct ll_place place, struct ll_diags *diags)
{
    return ll_complain(diags, place, "`%s` is more than one value; set one of its keys",
                       ll_shown_text(path).text);
}

static void put(const struct ll_machine_path *found, struct ll_node *value)
{
    struct ll_node *there = ll_node_get(found->map, found->key);
    value->key = found->key;
    value->key_place = value->place;
    if (there) {
        value->next = there->next;
        *there = *value;
    } else {
        ll_node_add(found->map, value);
    }
}

bool ll_override_apply(struct ll_node *tree, const struct ll_override *override, struct ll_arena *arena,
                       struct ll_diags *diags)
{
    struct ll_machine_path found;
    const char *label = ll_format(arena, "--set %s=%s", override->path, override->value);
    struct ll_place place = {.file = label};
    if (!label)
        return ll_complain(diags, place, "memory ran out");
    if (!ll_machine_path_find(tree, override->path, true, place, arena, diags, &found))
        return false;
    if (found.ignored)
        return true;
    if (!found.key)
        return refuse_item(override->path, place, diags);
    if (!found.map || found.map->type != LL_NODE_MAP)
        return ll_complain(diags, place, "`%s`: what should hold it is not a map in the file",
                           ll_shown_text(override->path).text);
    struct ll_node *value = ll_node_parse_value(arena, override->value, label, diags);
    if (!value)
        return false;
    put(&found, value);
    return found.map == ll_node_get(tree, "sources") ||
           ll_sources_set(tree, override->path, &found, place, arena) ||
           ll_complain(diags, place, "memory ran out");
}
