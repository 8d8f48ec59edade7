/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/cli/fields.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tracer/base/json.h"

static bool add_field(struct ll_fields *fields, const char *path, double value)
{
    uint32_t id = ll_map_intern(&fields->names, path, strlen(path), NULL);
    if (id == LL_NO_ID ||
        !ll_grow(&fields->values, &fields->capacity, id + UINT64_C(1), sizeof *fields->values) ||
        !ll_grow(&fields->texts, &fields->text_capacity, id + UINT64_C(1), sizeof *fields->texts))
        return false;
    fields->values[id] = value;
    fields->texts[id] = path;
    return true;
}

static const char *path_of(struct ll_fields *fields, const char *before, const char *name)
{
    return before[0] ? ll_format(fields->arena, "%s.%s", before, name) : name;
}

static bool flatten(struct ll_fields *fields, struct ll_json_reader *json, const char *path);

/* The reader is behind the brace. In a list the element's name is its first text, which stands before its
 * numbers. */
static bool flatten_object(struct ll_fields *fields, struct ll_json_reader *json, const char *path,
                           bool in_list)
{
    const char *own = path;
    while (ll_json_read(json) == LL_JSON_KEY) {
        const char *key = ll_json_copy(json, fields->arena);
        ll_json_read(json);
        if (in_list && own == path && json->token == LL_JSON_TEXT) {
            const char *name = ll_json_copy(json, fields->arena);
            own = name ? path_of(fields, path, name) : NULL;
        } else if (key && !flatten(fields, json, path_of(fields, own, key))) {
            return false;
        }
        if (!key || !own)
            return false;
    }
    return !json->failed;
}

/* The value whose first token was read. */
static bool flatten(struct ll_fields *fields, struct ll_json_reader *json, const char *path)
{
    if (!path)
        return false;
    if (json->token == LL_JSON_OBJECT)
        return flatten_object(fields, json, path, false);
    if (json->token == LL_JSON_LIST) {
        while (ll_json_read(json) != LL_JSON_LIST_END && !json->failed)
            if (json->token == LL_JSON_OBJECT && !flatten_object(fields, json, path, true))
                return false;
            else if (json->token == LL_JSON_LIST)
                ll_json_pass(json);
        return !json->failed;
    }
    if (json->token == LL_JSON_NUMBER)
        return add_field(fields, path, ll_json_as_real(json));
    if (json->token == LL_JSON_TRUE || json->token == LL_JSON_FALSE)
        return add_field(fields, path, json->token == LL_JSON_TRUE);
    return json->token != LL_JSON_NULL || add_field(fields, path, NAN);
}

/* What of an object's members counts: all but the machine. */
static bool flatten_members(struct ll_fields *fields, struct ll_json_reader *json)
{
    bool whole = true;
    while (whole && ll_json_read(json) == LL_JSON_KEY) {
        const char *key = ll_json_says(json, "config") ? NULL : ll_json_copy(json, fields->arena);
        if (key)
            ll_json_read(json);
        whole = !key || flatten(fields, json, key);
        if (!key)
            ll_json_pass(json);
    }
    return whole && !json->failed;
}

bool ll_fields_read(struct ll_fields *fields, const char *text, size_t length, const char *list,
                    struct ll_diags *diags)
{
    struct ll_json_reader json = {
        .file = "result", .begin = text, .at = text, .end = text + length, .diags = diags};
    assert(text);
    if (ll_json_read(&json) != LL_JSON_OBJECT)
        return false;
    if (!list)
        return flatten_members(fields, &json);
    while (ll_json_read(&json) == LL_JSON_KEY) {
        if (ll_json_says(&json, list))
            return ll_json_read(&json) == LL_JSON_LIST && ll_json_read(&json) == LL_JSON_OBJECT &&
                   flatten_members(fields, &json);
        ll_json_pass(&json);
    }
    return !json.failed;
}

bool ll_fields_find(const struct ll_fields *fields, const char *name, double *value)
{
    uint32_t id = ll_map_find(&fields->names, name, strlen(name));
    if (id != LL_NO_ID)
        *value = fields->values[id];
    return id != LL_NO_ID;
}

void ll_fields_release(struct ll_fields *fields)
{
    ll_map_release(&fields->names);
    free(fields->values);
    free(fields->texts);
}
