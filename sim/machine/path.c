/* SPDX-License-Identifier: Apache-2.0 */
/* A walk down the schema and the tree at once, a step a segment of the path. */
#include "sim/machine/path.h"

#include <string.h>

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
    return walk->segment || ll_complain(walk->diags, walk->place, "memory ran out");
}

/* The whole path with the wrong segment replaced by each of the words, so that the suggestion can be typed.
 */
static bool complain(const struct walk *walk, const char *what, const struct ll_near_words *words)
{
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
    struct ll_near_words names = {.count = 0};
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
    *found = (struct ll_machine_path){field, map, key};
    return true;
}

static bool nothing_below(const struct walk *walk, const char *key)
{
    return ll_complain(walk->diags, walk->place, "`%s`: there is nothing below `%s`",
                       ll_shown_text(walk->path).text, key);
}

static bool follow_dtype(struct walk *walk, const struct ll_field *field, struct ll_node *map,
                         struct ll_machine_path *found)
{
    struct ll_near_words words = {.count = 0};
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
    struct ll_near_words words = {.count = 0};
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
    struct ll_near_words words = {.count = 0};
    add_keys(walk, &words, table);
    for (size_t i = 0; i < table->variant_count; i++)
        add_keys(walk, &words, table->variants[i]);
    if (table == &ll_machine_table)
        for (size_t i = 0; i < table->count; i++)
            if (table->fields[i].type == LL_TYPE_LIST)
                add_names(&words, ll_node_get(walk->root, table->fields[i].key));
    return complain(walk, "key", &words);
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
    return complain_of_segment(walk, table);
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
