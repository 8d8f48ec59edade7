/* SPDX-License-Identifier: Apache-2.0 */
/* A recursive descent over the members of a document: each function begins at a place in the text and returns
 * the one behind what it read. Members are read three times, for `properties`, for `required`, and for what
 * other keys may hold. */
#include "sim/report/schemas.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

static const struct ll_schema schemas[] = {
#define LL_SHAPE(name, members)
#define LL_DOCUMENT(name, version, command, members) {#name, version, command, members},
#include "sim/report/schemas.def"
#undef LL_SHAPE
#undef LL_DOCUMENT
    {0},
};

static const struct shape {
    const char *name, *members;
} shapes[] = {
#define LL_SHAPE(name, members) {#name, members},
#define LL_DOCUMENT(name, version, command, members)
#include "sim/report/schemas.def"
#undef LL_SHAPE
#undef LL_DOCUMENT
};

const struct ll_schema *ll_schemas(void)
{
    return schemas;
}

enum pass { PROPERTIES, REQUIRED, OTHERS };

struct writer {
    const char *(*meaning)(const char *key);
    struct ll_json *json;
};

static const char *put_type(const struct writer *writer, const char *at, const char *key);

static const char *past_blanks(const char *at)
{
    return at + strspn(at, " ,");
}

/* Behind a type, with its `?`. */
static const char *past_type(const char *at)
{
    size_t depth = 0;
    do {
        depth += *at == '{' || *at == '[';
        depth -= *at == '}' || *at == ']';
        assert(*at);
        at++;
    } while (depth > 0 || strchr("abcdefghijklmnopqrstuvwxyz", *at ? *at : ','));
    return at + (*at == '?');
}

static const char *members_of(const char *name, size_t length)
{
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        if (strlen(shapes[i].name) == length && strncmp(shapes[i].name, name, length) == 0)
            return shapes[i].members;
    assert(false); /* schemas.def has it */
    return "";
}

static size_t word_length(const char *at)
{
    return strspn(at, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789");
}

/* Members up to the brace or the end that closes them. Of OTHERS the result is the type of all other keys,
 * NULL for none. */
static const char *put_members(const struct writer *writer, const char *at, enum pass pass)
{
    for (at = past_blanks(at); *at && *at != '}'; at = past_blanks(at)) {
        if (*at == '@') {
            size_t length = word_length(++at);
            const char *others = put_members(writer, members_of(at, length), pass);
            if (pass == OTHERS && others)
                return others;
            at += length;
            continue;
        }
        char key[64];
        size_t length = *at == '*' ? 1 : word_length(at);
        assert(length > 0 && length < sizeof key);
        snprintf(key, sizeof key, "%.*s", (int)length, at);
        bool may_lack = at[length] == '~', is_any = *at == '*';
        at = past_blanks(at + length + may_lack + 1);
        if (is_any && pass == OTHERS)
            return at;
        if (pass == REQUIRED && !may_lack && !is_any)
            ll_json_text(writer->json, key);
        if (pass == PROPERTIES && !is_any) {
            ll_json_key(writer->json, key);
            put_type(writer, at, key);
        }
        at = past_type(at);
    }
    return NULL;
}

/* The keys of an object's schema; with the name and the version that documents begin with. */
static void put_object(const struct writer *writer, const char *members, const struct ll_schema *document)
{
    struct ll_json *json = writer->json;
    ll_json_key(json, "properties");
    ll_json_open_object(json);
    if (document) {
        ll_json_key(json, "schema");
        ll_json_open_object(json);
        ll_json_put_text(json, "const", document->name);
        ll_json_close_object(json);
        ll_json_key(json, "version");
        ll_json_open_object(json);
        ll_json_put_count(json, "const", document->version);
        ll_json_close_object(json);
    }
    put_members(writer, members, PROPERTIES);
    ll_json_close_object(json);
    ll_json_key(json, "required");
    ll_json_open_list(json);
    if (document) {
        ll_json_text(json, "schema");
        ll_json_text(json, "version");
    }
    put_members(writer, members, REQUIRED);
    ll_json_close_list(json);
    const char *others = put_members(writer, members, OTHERS);
    ll_json_key(json, "additionalProperties");
    if (others)
        put_type(writer, others, NULL);
    else
        ll_json_bool(json, false);
}

static void put_type_name(const char *name, bool nullable, struct ll_json *json)
{
    ll_json_key(json, "type");
    if (!nullable) {
        ll_json_text(json, name);
        return;
    }
    ll_json_open_list(json);
    ll_json_text(json, name);
    ll_json_text(json, "null");
    ll_json_close_list(json);
}

/* The schema of a value of this type. */
static const char *put_type(const struct writer *writer, const char *at, const char *key)
{
    static const struct {
        const char *word, *type;
    } plain[] = {{"text", "string"}, {"number", "number"}, {"count", "integer"}, {"bool", "boolean"}};
    struct ll_json *json = writer->json;
    const char *end = past_type(at), *meaning = key && writer->meaning ? writer->meaning(key) : NULL;
    const bool nullable = end[-1] == '?';
    ll_json_open_object(json);
    if (*at == '{') {
        put_type_name("object", nullable, json);
        put_object(writer, at + 1, NULL);
    } else if (*at == '[') {
        put_type_name("array", nullable, json);
        ll_json_key(json, "items");
        put_type(writer, past_blanks(at + 1), NULL);
    }
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++)
        if (strncmp(at, plain[i].word, strlen(plain[i].word)) == 0)
            put_type_name(plain[i].type, nullable, json);
    if (strncmp(at, "count", strlen("count")) == 0)
        ll_json_put_count(json, "minimum", 0);
    if (meaning)
        ll_json_put_text(json, "description", meaning);
    ll_json_close_object(json);
    return end;
}

void ll_schema_json(const struct ll_schema *schema, const char *(*meaning)(const char *key),
                    struct ll_json *json)
{
    const struct writer writer = {.meaning = meaning, .json = json};
    char title[128];
    snprintf(title, sizeof title, "leadline %s --json", schema->command);
    ll_json_open_object(json);
    ll_json_put_text(json, "$schema", "https://json-schema.org/draft/2020-12/schema");
    ll_json_put_text(json, "title", title);
    ll_json_put_text(json, "type", "object");
    put_object(&writer, schema->members, schema);
    ll_json_close_object(json);
}
