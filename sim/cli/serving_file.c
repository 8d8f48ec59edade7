/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/cli/serving_file.h"

#include <inttypes.h>
#include <string.h>

#include "sim/cli/serving.h"
#include "sim/machine/node.h"
#include "tracer/base/file.h"
#include "tracer/base/str.h"

enum { MOST_BYTES = 1 << 20, MOST_SETTINGS = 512 };

/* Options that are no keys: where results go, and the file itself. */
static bool is_key(const struct ll_option *option)
{
    static const char *const others[] = {"settings", "per-request", "timeline", "html"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (strcmp(option->name, others[i]) == 0)
            return false;
    return true;
}

/* A key is the option's name with _ for -. */
static const char *key_of(const struct ll_option *option, struct ll_arena *arena)
{
    char *key = ll_copy_text(arena, option->name, strlen(option->name));
    for (char *c = key; c && *c; c++)
        *c = *c == '-' ? '_' : *c;
    return key;
}

struct reading {
    const struct ll_args *args;
    struct ll_diags diags;
    struct ll_given given[MOST_SETTINGS];
    struct ll_option_place origins[MOST_SETTINGS];
    size_t count;
};

static bool is_opposite(const char *a, const char *b)
{
    static const char *const pair[] = {"enable-prefix-caching", "no-prefix-caching"};
    return (strcmp(a, pair[0]) == 0 && strcmp(b, pair[1]) == 0) ||
           (strcmp(a, pair[1]) == 0 && strcmp(b, pair[0]) == 0);
}

static bool is_replaced(const struct reading *r, const char *name)
{
    bool replaced = false;
    for (size_t i = 0; strcmp(name, "set") != 0 && i < r->args->given_count; i++) {
        const char *given = r->args->given[i].option->name;
        replaced |= strcmp(given, name) == 0 || is_opposite(given, name);
    }
    return replaced;
}

static bool give(struct reading *r, const struct ll_option *option, const char *value, struct ll_place place)
{
    if (is_replaced(r, option->name))
        return true;
    const char *text =
        ll_format(r->args->arena, "%s:%" PRIu64 ":%" PRIu64, place.file, place.line, place.column);
    if (r->count == MOST_SETTINGS || !text || (option->value && !value))
        return ll_complain(&r->diags, place,
                           r->count == MOST_SETTINGS ? "more than %d settings" : "memory ran out",
                           MOST_SETTINGS);
    r->origins[r->count] = (struct ll_option_place){option->name, text};
    r->given[r->count++] = (struct ll_given){option, value};
    return true;
}

static const struct ll_option *row_of(const struct ll_command *command, const char *name)
{
    for (const struct ll_option *row = command->options; row->name; row++)
        if (strcmp(row->name, name) == 0)
            return row;
    return NULL;
}

/* true or false, of an option without value. */
static bool read_flag(struct reading *r, const struct ll_option *option, const struct ll_node *node)
{
    const bool on = node->text && strcmp(node->text, "true") == 0,
               off = node->text && strcmp(node->text, "false") == 0;
    if (!on && !off)
        return ll_complain(&r->diags, node->place, "`%s`: expected true or false", ll_node_shown(node).text);
    for (const struct ll_option *row = r->args->command->options; off && row->name; row++)
        if (is_opposite(row->name, option->name))
            return give(r, row, NULL, node->place);
    return off || give(r, option, NULL, node->place);
}

/* {instances: 2, tp: 2} as "2 x tp=2". */
static const char *workers_of(struct reading *r, const struct ll_node *node)
{
    const char *instances = "1", *rest = "";
    for (const struct ll_node *at = node->first; at; at = at->next) {
        if (at->type != LL_NODE_SCALAR) {
            ll_complain(&r->diags, at->place, "`%s`: expected a number or a name", ll_node_shown(at).text);
            return NULL;
        }
        if (strcmp(at->key, "instances") == 0)
            instances = at->text;
        else
            rest = ll_format(r->args->arena, "%s%s%s=%s", rest, *rest ? "," : "", at->key, at->text);
        if (!rest)
            return NULL;
    }
    return ll_format(r->args->arena, "%s x %s", instances, rest);
}

/* A list as words with commas between them; each of its own where the option may be given several times. */
static bool read_list(struct reading *r, const struct ll_option *option, const struct ll_node *node)
{
    const char *all = "";
    bool repeats = false;
    for (const char *const *name = r->args->command->repeated; name && *name; name++)
        repeats |= strcmp(*name, option->name) == 0;
    for (const struct ll_node *at = node->first; at; at = at->next) {
        if (at->type != LL_NODE_SCALAR)
            return ll_complain(&r->diags, at->place, "`%s`: expected text or a number",
                               ll_node_shown(at).text);
        if (repeats && !give(r, option, at->text, at->place))
            return false;
        all = ll_format(r->args->arena, "%s%s%s", all, *all ? "," : "", at->text);
        if (!all)
            return ll_complain(&r->diags, at->place, "memory ran out");
    }
    return repeats || give(r, option, all, node->place);
}

static bool read_overrides(struct reading *r, const struct ll_option *option, const struct ll_node *node)
{
    bool good = true;
    for (const struct ll_node *at = node->first; at; at = at->next)
        if (at->type != LL_NODE_SCALAR)
            good = ll_complain(&r->diags, at->place, "`%s`: expected one value, as --set takes it",
                               ll_node_shown(at).text);
        else
            good &= give(r, option, ll_format(r->args->arena, "%s=%s", at->key, at->text), at->place);
    return good;
}

static bool read_value(struct reading *r, const struct ll_option *option, const struct ll_node *node)
{
    const bool sets = strcmp(option->name, "set") == 0,
               workers = strcmp(option->name, "prefill") == 0 || strcmp(option->name, "decode") == 0;
    if (!option->value)
        return read_flag(r, option, node);
    if (node->type == LL_NODE_MAP && sets)
        return read_overrides(r, option, node);
    if (node->type == LL_NODE_MAP && workers) {
        const char *text = workers_of(r, node);
        return text && give(r, option, text, node->place);
    }
    if (node->type == LL_NODE_LIST)
        return read_list(r, option, node);
    if (node->type == LL_NODE_MAP)
        return ll_complain(&r->diags, node->place, "`%s`: expected a value, as --%s takes it",
                           ll_node_shown(node).text, option->name);
    return give(r, option, node->text, node->place);
}

static bool read_key(struct reading *r, const struct ll_node *node)
{
    const struct ll_command *command = r->args->command;
    const char *names[128];
    size_t count = 0;
    char *name = ll_copy_text(r->args->arena, node->key, strlen(node->key));
    for (char *c = name; c && *c; c++)
        *c = *c == '_' ? '-' : *c;
    for (size_t i = 0; name && command->aliases && command->aliases[i][0]; i++)
        if (strcmp(command->aliases[i][0], name) == 0)
            name = ll_copy_text(r->args->arena, command->aliases[i][1], strlen(command->aliases[i][1]));
    const struct ll_option *option = name ? row_of(command, name) : NULL;
    if (option && is_key(option))
        return read_value(r, option, node);
    for (const struct ll_option *row = command->options; row->name && count < sizeof names / sizeof *names;
         row++)
        if (is_key(row))
            names[count++] = key_of(row, r->args->arena);
    const char *nearest = ll_nearest(node->key, names, count);
    return nearest ? ll_complain(&r->diags, node->key_place, "no setting `%s` here; did you mean `%s`?",
                                 ll_shown_text(node->key).text, nearest)
                   : ll_complain(&r->diags, node->key_place,
                                 "no setting `%s` here; leadline %s --help lists them as options",
                                 ll_shown_text(node->key).text, command->name);
}

static bool read_file(struct reading *r, const char *path)
{
    struct ll_contents text;
    enum ll_status status = ll_read_whole(path, MOST_BYTES, r->args->arena, &text);
    if (status != LL_OK)
        return ll_complain(&r->diags, (struct ll_place){.file = path}, "%s; expected a file of settings",
                           ll_status_text(status));
    const struct ll_node *root = ll_node_parse(r->args->arena, text.bytes, text.length, path, &r->diags);
    if (!root || r->diags.count > 0)
        return false;
    if (root->type != LL_NODE_MAP)
        return ll_complain(&r->diags, root->place, "expected settings, as `rate: 10`");
    bool good = true;
    for (const struct ll_node *at = root->first; at; at = at->next)
        good &= read_key(r, at);
    return good;
}

bool ll_serving_settings(const struct ll_args *args, struct ll_args *all)
{
    const char *path = ll_value(args, "settings", NULL);
    *all = *args;
    if (!path)
        return true;
    struct reading *r = ll_alloc(args->arena, 1, sizeof *r);
    struct ll_given *given = ll_alloc(args->arena, MOST_SETTINGS + args->given_count, sizeof *given);
    if (!r || !given) {
        ll_cli_fail("memory ran out");
        return false;
    }
    r->args = args;
    bool good = read_file(r, path);
    ll_print_diags(&r->diags);
    ll_diags_release(&r->diags);
    memcpy(given, r->given, r->count * sizeof *given);
    if (args->given_count > 0)
        memcpy(given + r->count, args->given, args->given_count * sizeof *given);
    all->given = given;
    all->given_count = r->count + args->given_count;
    ll_cli_origins(r->origins, r->count);
    return good;
}

/* --- the schema --- */

/* By the word that stands for the value in the help. */
static const char *type_of(const struct ll_option *option)
{
    static const char *const counts[] = {"N", "K"}, *const numbers[] = {"R", "B", "P", "G", "X", "SHARE"};
    if (!option->value)
        return "boolean";
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        if (strcmp(option->value, counts[i]) == 0)
            return "integer";
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (strcmp(option->value, numbers[i]) == 0)
            return "number";
    return "string";
}

void ll_serving_file_schema(struct ll_json *json)
{
    struct ll_arena arena = {0};
    for (const struct ll_option *row = ll_command_serve.options; row->name; row++) {
        const char *key = is_key(row) ? key_of(row, &arena) : NULL;
        if (!key)
            continue;
        ll_json_key(json, key);
        ll_json_open_object(json);
        if (strcmp(key, "set") == 0 || strcmp(key, "prefill") == 0 || strcmp(key, "decode") == 0) {
            ll_json_key(json, "type");
            ll_json_open_list(json);
            ll_json_text(json, "string");
            ll_json_text(json, "object");
            ll_json_close_list(json);
        } else {
            ll_json_put_text(json, "type", type_of(row));
        }
        ll_json_put_text(json, "description", row->help);
        ll_json_close_object(json);
    }
    ll_arena_release(&arena);
}
