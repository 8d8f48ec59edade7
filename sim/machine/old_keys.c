/* SPDX-License-Identifier: Apache-2.0 */
/* Keys that version 0.1 had under other names, or that the model has no more (old_keys.def).
 *
 * A file is modernized as soon as it is a tree, before it is laid over what it inherits, so that old and new
 * names of one key meet. Each file gets one remark that lists what was read under another name, and one that
 * lists what was ignored. */
#include <assert.h>
#include <string.h>

#include "sim/machine/schema.h"
#include "sim/machine/steps.h"
#include "tracer/base/str.h"

static const struct old_key {
    const char *table, *old, *now;
} old_keys[] = {
#define LL_OLD_KEY(table, old, now) {table, old, now},
#include "sim/machine/old_keys.def"
#undef LL_OLD_KEY
};

bool ll_old_key(const struct ll_field_table *table, const char *key, const char **now)
{
    for (size_t i = 0; key && i < sizeof old_keys / sizeof *old_keys; i++)
        if (!strcmp(old_keys[i].table, table->what) && !strcmp(old_keys[i].old, key)) {
            assert(!old_keys[i].now || ll_field_table_find(table, old_keys[i].now));
            *now = old_keys[i].now;
            return true;
        }
    return false;
}

/* What was met in a file, each key once. */
struct met {
    struct ll_str renamed, ignored;
    struct ll_place first_renamed, first_ignored;
};

static void note(struct ll_str *list, struct ll_place *first, struct ll_place place, const char *text)
{
    if (list->text && strstr(list->text, text))
        return;
    if (!list->text)
        *first = place;
    ll_str_addf(list, "%s%s", list->text ? ", " : "", text);
}

static void note_key(struct met *met, const struct ll_node *child, const char *now, struct ll_arena *arena)
{
    const char *text =
        now ? ll_format(arena, "`%s` is `%s`", child->key, now) : ll_format(arena, "`%s`", child->key);
    if (text && now)
        note(&met->renamed, &met->first_renamed, child->key_place, text);
    else if (text)
        note(&met->ignored, &met->first_ignored, child->key_place, text);
}

static void modernize_map(const struct ll_field_table *table, struct ll_node *map, struct met *met,
                          struct ll_arena *arena)
{
    if (map->type != LL_NODE_MAP)
        return;
    for (struct ll_node *child = map->first, *next; child; child = next) {
        next = child->next;
        const struct ll_field *field = ll_field_table_find(table, child->key);
        const char *now;
        if (field && field->table && child->type == LL_NODE_LIST)
            for (struct ll_node *item = child->first; item; item = item->next)
                modernize_map(field->table, item, met, arena);
        else if (field && field->table)
            modernize_map(field->table, child, met, arena);
        if (field || !ll_old_key(table, child->key, &now))
            continue;
        note_key(met, child, now, arena);
        if (now && !ll_node_get(map, now))
            child->key = now;
        else
            ll_node_remove(map, child->key);
    }
}

/* A source whose path ends in an old key: renamed likewise, or left out. */
static void modernize_sources(struct ll_node *sources, struct ll_arena *arena)
{
    if (!sources || sources->type != LL_NODE_MAP)
        return;
    for (struct ll_node *source = sources->first, *next; source; source = next) {
        next = source->next;
        const char *dot = strrchr(source->key, '.'), *now = NULL;
        bool old = false;
        for (size_t i = 0; dot && !old && i < sizeof old_keys / sizeof *old_keys; i++) {
            bool kernel = strstr(source->key, "kernels.") != NULL,
                 of_kernel = !strcmp(old_keys[i].table, "kernel");
            old = kernel == of_kernel && !strcmp(old_keys[i].old, dot + 1);
            now = old ? old_keys[i].now : NULL;
        }
        if (old && now)
            source->key = ll_format(arena, "%.*s%s", (int)(dot + 1 - source->key), source->key, now);
        if (old && (!now || !source->key))
            ll_node_remove(sources, source->key);
    }
}

void ll_old_keys_modernize(struct ll_node *tree, struct ll_arena *arena, struct ll_diags *diags)
{
    struct met met = {.renamed = {0}};
    modernize_map(&ll_machine_table, tree, &met, arena);
    if (met.renamed.text || met.ignored.text)
        modernize_sources(ll_node_get(tree, "sources"), arena);
    if (met.renamed.text)
        ll_remark(diags, met.first_renamed, "old names of keys, which the next version will not read: %s",
                  met.renamed.text);
    if (met.ignored.text)
        ll_remark(diags, met.first_ignored, "ignored, for the model has these keys no more: %s",
                  met.ignored.text);
    ll_str_release(&met.renamed);
    ll_str_release(&met.ignored);
}
