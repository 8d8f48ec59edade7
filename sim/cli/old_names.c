/* SPDX-License-Identifier: Apache-2.0 */
/* Names of version 0.1: look-ups in old_names.def, and JSON as that version wrote it. The document is
 * copied, and before each member whose key was renamed since stands the same value under its old key.
 * Objects and lists nest, so a copied value is searched for renamed keys as well. */
#include "sim/cli/old_names.h"

#include <assert.h>
#include <stdbool.h>
#include <string.h>

enum old_kind { OLD_COMMAND, OLD_OPTION, OLD_KEY };

struct old_name {
    enum old_kind kind;
    const char *command; /* whose option or key it is; "" for that of all commands */
    const char *old, *name;
};

static const struct old_name old_names[] = {
#define LL_OLD_COMMAND(old, name) {OLD_COMMAND, "", old, name},
#define LL_OLD_OPTION(command, old, name) {OLD_OPTION, command, old, name},
#define LL_OLD_KEY(command, old, name) {OLD_KEY, command, old, name},
#include "sim/cli/old_names.def"
#undef LL_OLD_COMMAND
#undef LL_OLD_OPTION
#undef LL_OLD_KEY
};
enum { OLD_NAME_COUNT = sizeof old_names / sizeof *old_names };

const char *ll_new_command(const char *old)
{
    for (size_t i = 0; i < OLD_NAME_COUNT; i++)
        if (old_names[i].kind == OLD_COMMAND && strcmp(old_names[i].old, old) == 0)
            return old_names[i].name;
    return NULL;
}

static bool is_of(const struct old_name *row, const char *command)
{
    return row->command[0] == '\0' || strcmp(row->command, command) == 0;
}

const char *ll_old_option(const char *command, const char *option)
{
    for (size_t i = 0; i < OLD_NAME_COUNT; i++)
        if (old_names[i].kind == OLD_OPTION && is_of(&old_names[i], command) &&
            strcmp(old_names[i].name, option) == 0)
            return old_names[i].old;
    return NULL;
}

/* The end of the string that begins here with its quotation mark: behind the closing one. */
static const char *string_end(const char *at, const char *end)
{
    for (at++; at < end && *at != '"'; at++)
        at += *at == '\\' && at + 1 < end;
    return at < end ? at + 1 : end;
}

/* The end of the value that begins here. */
static const char *value_end(const char *at, const char *end)
{
    assert(at <= end);
    size_t depth = 0;
    for (; at < end; at++) {
        if (*at == '"')
            at = string_end(at, end) - 1;
        else if (*at == '{' || *at == '[')
            depth++;
        else if ((*at == '}' || *at == ']') && depth > 0)
            depth--;
        else if (depth == 0 && strchr(",}]\n", *at))
            return at;
    }
    return end;
}

/* The old name of a key, with its quotation marks, in documents of this command; NULL where it is no other.
 */
static const char *old_key(const char *command, const char *key, size_t length)
{
    for (size_t i = 0; i < OLD_NAME_COUNT; i++)
        if (old_names[i].kind == OLD_KEY && is_of(&old_names[i], command) &&
            strlen(old_names[i].name) + 2 == length && strncmp(old_names[i].name, key + 1, length - 2) == 0)
            return old_names[i].old;
    return NULL;
}

static void copy(const char *command, const char *at, const char *end, struct ll_str *out)
{
    const char *line = at; /* behind the last end of a line: what indents the next member */
    while (at < end) {
        const char *text_end = *at == '"' ? string_end(at, end) : at + 1;
        const char *value = text_end + (text_end < end && *text_end == ':');
        const char *old = value > text_end ? old_key(command, at, (size_t)(text_end - at)) : NULL;
        if (*at == '\n')
            line = at + 1;
        if (old) {
            const char *after = value_end(value, end);
            ll_str_addf(out, "\"%s\":", old);
            copy(command, value, after, out);
            ll_str_addf(out, ",\n%.*s", (int)(at - line), line);
        }
        ll_str_add_bytes(out, at, (size_t)(text_end - at));
        at = text_end;
    }
}

void ll_add_old_keys(const char *command, struct ll_str *text)
{
    struct ll_str out = {0};
    assert(command);
    if (text->failed || !text->text)
        return;
    copy(command, text->text, text->text + text->length, &out);
    ll_str_release(text);
    *text = out;
}
