/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/cli/served_settings.h"

#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "sim/explore/space.h"
#include "sim/machine/node.h"
#include "tracer/base/file.h"

/* The numbers of a row, in the order of struct ll_served_setting; then come the names. */
static const char *const numbers[] = {"input",    "output", "clients", "tensor",
                                      "pipeline", "data",   "expert",  "apart"};
enum { NUMBERS = sizeof numbers / sizeof *numbers, MOST_NAMES = 48 };

/* A name: an expression, or else a map of columns. A rule: `is` is its condition. */
struct named {
    const char *name;
    struct ll_expression *is; /* NULL: columns */
    const struct ll_node *columns;
};

struct rule {
    struct ll_expression *is;
    const struct ll_node *give, *set;
    struct ll_expression **computed; /* of the members of give, then of set; NULL: as they stand */
    const char *unknown;
    struct rule *next;
};

struct ll_served_rules {
    struct ll_arena *arena;
    struct named names[MOST_NAMES];
    size_t name_count;
    struct rule *first, **last;
    struct ll_names known;
};

/* --- reading --- */

static const char *name_at(void *context, size_t i)
{
    const struct ll_served_rules *rules = context;
    return i < NUMBERS ? numbers[i] : i - NUMBERS < rules->name_count ? rules->names[i - NUMBERS].name : NULL;
}

static bool find_name(void *context, const char *name, uint32_t *slot)
{
    const char *known;
    for (size_t i = 0; (known = name_at(context, i)); i++)
        if (strcmp(known, name) == 0) {
            *slot = (uint32_t)i;
            return true;
        }
    return false;
}

static struct ll_expression *parse(struct ll_served_rules *rules, const struct ll_node *node,
                                   struct ll_diags *diags)
{
    return ll_expression_parse(rules->arena, node->text, node->place, &rules->known, diags);
}

static void read_name(struct ll_served_rules *rules, const struct ll_node *node, struct ll_diags *diags)
{
    static const char *const columns[] = {"server", "model", "system", "precision", "version"};
    if (rules->name_count == MOST_NAMES) {
        ll_complain(diags, node->key_place, "expected at most %d names", MOST_NAMES);
        return;
    }
    for (const struct ll_node *at = node->type == LL_NODE_MAP ? node->first : NULL; at; at = at->next) {
        bool known = false;
        for (size_t i = 0; i < sizeof columns / sizeof *columns; i++)
            known |= strcmp(columns[i], at->key) == 0;
        if (!known || at->type == LL_NODE_MAP)
            ll_complain(diags, at->key_place,
                        "`%s`: expected server, model, system, precision or version with one text or a list",
                        ll_shown_text(at->key).text);
    }
    if (node->type == LL_NODE_LIST)
        ll_complain(diags, node->place, "`%s`: expected an expression, or columns with their texts",
                    node->key);
    else
        rules->names[rules->name_count] =
            (struct named){node->key, node->text ? parse(rules, node, diags) : NULL, node};
    rules->name_count++;
}

/* Values that begin with = are computed. */
static void read_values(struct ll_served_rules *rules, const struct ll_node *map,
                        struct ll_expression **computed, struct ll_diags *diags)
{
    for (const struct ll_node *at = map ? map->first : NULL; at; at = at->next, computed++) {
        struct ll_node value = *at;
        if (!at->text)
            ll_complain(diags, at->place, "`%s`: expected one value", ll_shown_text(at->key).text);
        else if (*at->text == '=') {
            value.text++;
            *computed = parse(rules, &value, diags);
        }
    }
}

/* Options as a file of settings spells them, in the arena; NULL when memory ran out. */
static const char *option_name(const char *key, struct ll_arena *arena)
{
    char *name = ll_copy_text(arena, key, strlen(key));
    for (char *c = name; c && *c; c++)
        *c = *c == '_' ? '-' : *c;
    return name;
}

static void check_options(const struct ll_served_rules *rules, const struct ll_node *give,
                          struct ll_diags *diags)
{
    for (const struct ll_node *at = give ? give->first : NULL; at; at = at->next) {
        const char *name = option_name(at->key, rules->arena);
        const struct ll_option *row = ll_command_serve.options;
        while (name && row->name && strcmp(row->name, name) != 0)
            row++;
        if (!row->name)
            ll_complain(diags, at->key_place, "`%s`: leadline serve has no such option",
                        ll_shown_text(at->key).text);
    }
}

static void read_rule(struct ll_served_rules *rules, const struct ll_node *node, struct ll_diags *diags)
{
    const struct ll_node *is = ll_node_get(node, "if"), *give = ll_node_get(node, "give"),
                         *set = ll_node_get(node, "set");
    const size_t given = give ? give->count : 0, all = given + (set ? set->count : 0);
    struct rule *rule = ll_alloc(rules->arena, 1, sizeof *rule);
    struct ll_expression **computed = ll_alloc(rules->arena, all + 1, sizeof *computed);
    const char *unknown = ll_node_get_text(node, "unknown");
    if (!is || !is->text || (give && give->type != LL_NODE_MAP) || (set && set->type != LL_NODE_MAP) ||
        node->count != 1u + (give != NULL) + (set != NULL) + (unknown != NULL)) {
        ll_complain(diags, node->place,
                    "a rule: expected `if`, and of `give`, `set` and `unknown` what it has");
        return;
    }
    if (!rule || !computed) {
        ll_complain(diags, node->place, "memory ran out");
        return;
    }
    *rule = (struct rule){
        .is = parse(rules, is, diags), .give = give, .set = set, .computed = computed, .unknown = unknown};
    check_options(rules, give, diags);
    read_values(rules, give, computed, diags);
    read_values(rules, set, computed + given, diags);
    *rules->last = rule;
    rules->last = &rule->next;
}

static bool read_file(struct ll_served_rules *rules, const char *path, struct ll_diags *diags)
{
    enum { MOST_BYTES = 1 << 20 };
    struct ll_contents text;
    const enum ll_status status = ll_read_whole(path, MOST_BYTES, rules->arena, &text);
    const size_t before = diags->count;
    if (status != LL_OK)
        return ll_complain(diags, (struct ll_place){.file = path}, "%s", ll_status_text(status));
    const struct ll_node *root = ll_node_parse(rules->arena, text.bytes, text.length, path, diags);
    const struct ll_node *names = root ? ll_node_get(root, "names") : NULL,
                         *list = root ? ll_node_get(root, "rules") : NULL;
    if (root &&
        (!names || names->type != LL_NODE_MAP || !list || list->type != LL_NODE_LIST || root->count != 2))
        ll_complain(diags, root->place, "expected a map `names` and a list `rules`");
    else if (root) {
        for (const struct ll_node *at = names->first; at; at = at->next)
            read_name(rules, at, diags);
        for (const struct ll_node *at = list->first; at; at = at->next)
            read_rule(rules, at, diags);
    }
    return diags->count == before;
}

const struct ll_served_rules *ll_served_rules_read(const char *const *folders, struct ll_arena *arena,
                                                   struct ll_diags *diags)
{
    struct ll_served_rules *rules = ll_alloc(arena, 1, sizeof *rules);
    if (!rules)
        return NULL;
    *rules = (struct ll_served_rules){
        .arena = arena, .last = &rules->first, .known = {.find = find_name, .at = name_at, .context = rules}};
    for (; *folders; folders++) {
        const char *path = ll_format(arena, "%s/served.yaml", *folders);
        if (path && access(path, R_OK) == 0)
            return read_file(rules, path, diags) ? rules : NULL;
    }
    return rules;
}

/* --- what a row is --- */

struct row {
    double values[NUMBERS + MOST_NAMES];
};

static double value_of(const void *context, uint32_t slot)
{
    return ((const struct row *)context)->values[slot];
}

/* Whether a column of the row has the text: as a whole, in part, or at its beginning. */
static bool has_text(const struct ll_served_setting *s, const char *column, const char *text)
{
    if (strcmp(column, "server") == 0)
        return strcmp(s->backend, text) == 0;
    if (strcmp(column, "model") == 0 || strcmp(column, "system") == 0)
        return strstr(*column == 'm' ? s->model : s->system, text) != NULL;
    return strncmp(*column == 'p' ? s->precision : s->version, text, strlen(text)) == 0;
}

static bool has_columns(const struct ll_served_setting *s, const struct ll_node *columns)
{
    bool all = true;
    for (const struct ll_node *at = columns->first; at; at = at->next) {
        bool any = at->text && has_text(s, at->key, at->text);
        for (const struct ll_node *one = at->first; one; one = one->next)
            any |= one->text && has_text(s, at->key, one->text);
        all &= any;
    }
    return all;
}

static struct row row_of(const struct ll_served_rules *rules, const struct ll_served_setting *s)
{
    struct row row = {{(double)s->input, (double)s->output, (double)s->clients, (double)s->tensor,
                       (double)s->pipeline, (double)s->data, (double)s->expert, s->apart}};
    for (size_t i = 0; i < rules->name_count; i++) {
        const struct named *named = &rules->names[i];
        row.values[NUMBERS + i] =
            named->is ? ll_expression_value(named->is, value_of, &row) : has_columns(s, named->columns);
    }
    return row;
}

bool ll_served_is_drawn(const struct ll_served_rules *rules, const struct ll_served_setting *s)
{
    const struct row row = row_of(rules, s);
    uint32_t slot;
    return find_name((void *)(uintptr_t)rules, "drawn", &slot) && row.values[slot] != 0;
}

/* Options as the settings of a file have them, with _ or -; of keys `set`. */
static void give_all(struct ll_serving_options *o, const struct ll_node *map, bool sets,
                     struct ll_expression *const *computed, const struct row *row)
{
    for (const struct ll_node *at = map ? map->first : NULL; at; at = at->next, computed++) {
        struct ll_arena *arena = o->args.arena;
        const char *value =
            *computed ? ll_format(arena, "%.9g", ll_expression_value(*computed, value_of, row)) : at->text;
        const char *name = option_name(at->key, arena);
        if (sets)
            ll_serving_give(o, "set", ll_format(arena, "%s=%s", at->key, value));
        else if (name)
            ll_serving_give(o, name, strcmp(value, "true") == 0 ? "" : value);
    }
}

const char *ll_served_settings(const struct ll_served_rules *rules, const struct ll_served_setting *s,
                               struct ll_serving_options *o)
{
    const struct row row = row_of(rules, s);
    const char *unknown = NULL;
    for (const struct rule *rule = rules->first; rule; rule = rule->next) {
        if (ll_expression_value(rule->is, value_of, &row) == 0)
            continue;
        give_all(o, rule->give, false, rule->computed, &row);
        give_all(o, rule->set, true, rule->computed + (rule->give ? rule->give->count : 0), &row);
        unknown = rule->unknown ? rule->unknown : unknown;
    }
    return unknown;
}
