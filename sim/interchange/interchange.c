/* SPDX-License-Identifier: Apache-2.0 */
/* The table of formats, and what readers and writers share.
 *
 * A reader takes members out of a tree by their keys, which marks them; what is not marked at the end is what
 * was left out. So nothing that a file says is lost without a word, however little of it is understood. */
#include "sim/interchange/interchange.h"

#include <assert.h>
#include <ctype.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "sim/interchange/exchange.h"

static const struct ll_peer_format formats[] = {
#define LL_PEER_FORMAT(word, name, most, ending, second, files) {name, files, most, {ending, second}},
#include "sim/interchange/formats.def"
#undef LL_PEER_FORMAT
};

enum peer {
#define LL_PEER_FORMAT(word, ...) PEER_##word,
#include "sim/interchange/formats.def"
#undef LL_PEER_FORMAT
    PEERS
};

static bool (*const importers[])(struct ll_interchange *, const struct ll_peer_import *, struct ll_str *) = {
#define LL_PEER_FORMAT(word, ...) [PEER_##word] = ll_peer_import_##word,
#include "sim/interchange/formats.def"
#undef LL_PEER_FORMAT
};

static bool (*const exporters[])(struct ll_interchange *, const struct ll_machine *, struct ll_str *) = {
#define LL_PEER_FORMAT(word, ...) [PEER_##word] = ll_peer_export_##word,
#include "sim/interchange/formats.def"
#undef LL_PEER_FORMAT
};

const struct ll_peer_format *ll_peer_format_at(size_t i)
{
    return i < PEERS ? &formats[i] : NULL;
}

bool ll_peer_import(const struct ll_peer_format *format, const struct ll_peer_import *import,
                    struct ll_arena *arena, struct ll_str *yaml, struct ll_left_list *left,
                    struct ll_diags *diags)
{
    struct ll_interchange x = {.arena = arena, .left = left, .diags = diags};
    assert(import->count > 0);
    return importers[format - formats](&x, import, yaml);
}

bool ll_peer_export(const struct ll_peer_format *format, const struct ll_machine *machine,
                    struct ll_arena *arena, struct ll_str out[LL_PEER_OUTPUTS], struct ll_left_list *left,
                    struct ll_diags *diags)
{
    struct ll_interchange x = {.arena = arena, .left = left, .diags = diags};
    return exporters[format - formats](&x, machine, out);
}

/* --- what was left out --- */

const char *ll_said(struct ll_interchange *x, const char *format, ...)
{
    struct ll_str text = {0};
    va_list arguments;
    va_start(arguments, format);
    ll_str_addv(&text, format, arguments);
    va_end(arguments);
    const char *said = text.text ? ll_copy_text(x->arena, text.text, text.length) : NULL;
    ll_str_release(&text);
    return said ? said : "";
}

static void add_left(struct ll_interchange *x, const char *key, struct ll_place place, const char *why,
                     bool assumed)
{
    x->left->assumed += assumed;
    struct ll_left *left = x->left->count++ < LL_LEFT_LIMIT ? ll_alloc(x->arena, 1, sizeof *left) : NULL;
    if (!left)
        return;
    *left = (struct ll_left){ll_said(x, "%s", key), why, place, assumed, NULL};
    *(x->left->last ? &x->left->last->next : &x->left->first) = left;
    x->left->last = left;
}

void ll_leave(struct ll_interchange *x, const char *key, struct ll_place place, const char *why)
{
    add_left(x, key, place, why, false);
}

void ll_assume(struct ll_interchange *x, const char *key, const char *why)
{
    add_left(x, key, (struct ll_place){0}, why, true);
}

static const char *reason_of(const char *key, const struct ll_why *reasons)
{
    while (reasons->key && strcmp(reasons->key, key) != 0)
        reasons++;
    return reasons->why;
}

/* Items of lists are called by their names, else by their numbers. */
static const char *path_of(struct ll_interchange *x, const char *path, const struct ll_node *child,
                           size_t index)
{
    const char *name = child->key ? child->key : ll_node_get_text(child, "name"), *dot = *path ? "." : "";
    return name ? ll_said(x, "%s%s%s", path, dot, ll_shown_text(name).text)
                : ll_said(x, "%s%s%zu", path, dot, index);
}

/* A map in a list that nobody has taken. */
static bool is_whole(const struct ll_node *item)
{
    return !item->key && item->type == LL_NODE_MAP && !item->taken;
}

void ll_leave_rest(struct ll_interchange *x, const struct ll_node *root, const char *path,
                   const struct ll_why *reasons)
{
    size_t index = 0;
    for (const struct ll_node *child = root->first; child; child = child->next, index++) {
        const char *at = child->type != LL_NODE_SCALAR || child->key ? path_of(x, path, child, index) : path;
        if (is_whole(child))
            ll_leave(x, at, child->place, reason_of(ll_said(x, "%s[]", root->key ? root->key : ""), reasons));
        else if (child->text && (!*child->text || !strcmp(child->text, "null") || !strcmp(child->text, "~")))
            continue;
        else if (child->key && !child->taken)
            ll_leave(x, at, child->key_place, reason_of(child->key, reasons));
        else
            ll_leave_rest(x, child, at, reasons);
    }
}

/* --- members of maps --- */

struct ll_node *ll_take(const struct ll_node *map, const char *key)
{
    struct ll_node *node = ll_node_get(map, key);
    if (node)
        node->taken = true;
    return node;
}

void ll_take_all(struct ll_node *node)
{
    node->taken = true;
    for (struct ll_node *child = node->first; child; child = child->next)
        ll_take_all(child);
}

const char *ll_take_text(const struct ll_node *map, const char *key)
{
    const struct ll_node *node = ll_take(map, key);
    bool none =
        !node || !node->text || !*node->text || !strcmp(node->text, "null") || !strcmp(node->text, "~");
    return none ? NULL : node->text;
}

bool ll_is_number(const char *text, double *value)
{
    char digits[64], *end;
    size_t length = 0;
    for (; *text && length + 1 < sizeof digits; text++)
        if (*text != '_' || length == 0)
            digits[length++] = *text;
    digits[length] = '\0';
    bool begins = isdigit((unsigned char)digits[0]) ||
                  ((digits[0] == '-' || digits[0] == '+' || digits[0] == '.') && length > 1 &&
                   (isdigit((unsigned char)digits[1]) || digits[1] == '.'));
    *value = begins ? ll_strtod(digits, &end) : 0;
    return begins && !*text && !*end;
}

bool ll_take_number(struct ll_interchange *x, const struct ll_node *map, const char *key, double least,
                    double most, double otherwise, double *value)
{
    const struct ll_node *node = ll_node_get(map, key);
    const char *text = ll_take_text(map, key);
    *value = otherwise;
    if (!text && (!node || node->type == LL_NODE_SCALAR))
        return true;
    if (text && ll_is_number(text, value) && *value >= least && *value <= most)
        return true;
    return ll_complain(x->diags, node->place, "`%s`: expected a number from %.10g to %.10g",
                       ll_node_shown(node).text, least, most);
}

bool ll_take_bool(const struct ll_node *map, const char *key, bool otherwise)
{
    const char *text = ll_take_text(map, key);
    return text ? ll_same_but_case(text, "true") || ll_same_but_case(text, "yes") || !strcmp(text, "1")
                : otherwise;
}

/* --- pieces of machine files --- */

enum { MOST_NAME = 40 };

const char *ll_fit_name(struct ll_interchange *x, const char *name)
{
    char fit[MOST_NAME + 1];
    size_t length = 0;
    if (!isalpha((unsigned char)*name))
        fit[length++] = 'm';
    for (; *name && length < MOST_NAME; name++)
        fit[length++] = isalnum((unsigned char)*name) || *name == '-' || *name == '_' ? *name : '_';
    fit[length] = '\0';
    return ll_said(x, "%s", fit);
}

void ll_put_quoted(struct ll_str *out, const char *text)
{
    ll_str_add(out, "\"");
    for (size_t length; *text; text += length) {
        size_t whole = ll_utf8_length((const unsigned char *)text);
        length = whole > 0 ? whole : 1;
        if (*text == '"' || *text == '\\')
            ll_str_addf(out, "\\%c", *text);
        else if ((unsigned char)*text < ' ' || *text == 0x7F)
            ll_str_add(out, " ");
        else if (whole == 0)
            ll_str_add(out, "?");
        else
            ll_str_add_bytes(out, text, length);
    }
    ll_str_add(out, "\"");
}

/* No place in what was written to be read, and no word of what says nothing. */
static void settle_tree(struct ll_node *node)
{
    static const char *const nothing[] = {"0", "0s", "0B", "false", "none"};
    static const char *const usual[][2] = {
        {"count", "1"},       {"rate_of_full", "1"},      {"efficiency", "1"},       {"row_step", "1"},
        {"column_step", "1"}, {"inputs_stored", "dense"}, {"place_bits", "4"},       {"cluster", "1"},
        {"scope", "device"},  {"double_buffer", "true"},  {"oversubscription", "1"}, {"accumulators", "0"}};
    for (size_t i = 0; node->text && i < sizeof nothing / sizeof *nothing; i++)
        node->taken |= !strcmp(node->text, nothing[i]);
    for (size_t i = 0; node->text && node->key && i < sizeof usual / sizeof *usual; i++)
        node->taken |= !strcmp(node->key, usual[i][0]) && !strcmp(node->text, usual[i][1]);
    node->place = (struct ll_place){.file = node->place.file};
    node->key_place = node->place;
    for (struct ll_node *child = node->first; child; child = child->next)
        settle_tree(child);
}

struct ll_node *ll_machine_tree(struct ll_interchange *x, const struct ll_machine *machine)
{
    struct ll_str yaml = {0};
    ll_machine_yaml(machine, &yaml);
    struct ll_node *root =
        yaml.failed ? NULL : ll_node_parse(x->arena, yaml.text, yaml.length, machine->stem, x->diags);
    ll_str_release(&yaml);
    if (root)
        settle_tree(root);
    return root;
}

void ll_put_number(struct ll_str *out, double value)
{
    char text[32];
    for (int digits = 10; digits <= 17; digits++) {
        ll_snprintf(text, sizeof text, "%.*g", digits, value);
        if (ll_strtod(text, NULL) == value)
            break;
    }
    ll_str_add(out, text);
}

struct ll_node *ll_take_path(struct ll_node *root, const char *path)
{
    struct ll_node *node = root;
    while (node && *path) {
        size_t length = strcspn(path, ".");
        struct ll_node *child = node->first;
        for (; child; child = child->next) {
            const char *name = child->key ? child->key : ll_node_get_text(child, "name");
            if (name && strlen(name) == length && !memcmp(name, path, length))
                break;
        }
        node = child;
        if (node)
            node->taken = true;
        path += length + (path[length] == '.');
    }
    return node;
}
