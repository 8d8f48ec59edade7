/* SPDX-License-Identifier: Apache-2.0 */
#include "tracer/base/json.h"

#include "tracer/base/plain.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void break_line(struct ll_json *json)
{
    if (!json->indent)
        return;
    ll_str_add(json->out, "\n");
    for (unsigned i = 0; i < json->depth; i++)
        ll_str_add(json->out, "  ");
}

/* What stands between the previous item and the one that comes now. */
static void separate(struct ll_json *json)
{
    if (json->after_key) {
        json->after_key = false;
        return;
    }
    if (json->depth == 0)
        return;
    if (json->has_items[json->depth - 1])
        ll_str_add(json->out, ",");
    json->has_items[json->depth - 1] = true;
    break_line(json);
}

static void open(struct ll_json *json, const char *bracket)
{
    assert(json->depth < LL_JSON_DEPTH);
    separate(json);
    ll_str_add(json->out, bracket);
    json->has_items[json->depth++] = false;
}

static void close(struct ll_json *json, const char *bracket)
{
    assert(json->depth > 0 && !json->after_key);
    json->depth--;
    if (json->has_items[json->depth])
        break_line(json);
    ll_str_add(json->out, bracket);
    if (json->depth == 0 && json->indent)
        ll_str_add(json->out, "\n");
}

void ll_json_open_object(struct ll_json *json)
{
    open(json, "{");
}

void ll_json_close_object(struct ll_json *json)
{
    close(json, "}");
}

void ll_json_open_list(struct ll_json *json)
{
    open(json, "[");
}

void ll_json_close_list(struct ll_json *json)
{
    close(json, "]");
}

/* Length of the UTF-8 sequence at text, 0 when it is none (RFC 3629: no overlong form, no surrogate). */
static size_t utf8_length(const unsigned char *text)
{
    unsigned char first = text[0];
    size_t length = first < 0x80                    ? 1
                    : first >= 0xC2 && first < 0xE0 ? 2
                    : first >= 0xE0 && first < 0xF0 ? 3
                    : first >= 0xF0 && first < 0xF5 ? 4
                                                    : 0;
    for (size_t i = 1; i < length; i++)
        if ((text[i] & 0xC0) != 0x80)
            return 0;
    bool overlong = (first == 0xE0 && text[1] < 0xA0) || (first == 0xF0 && text[1] < 0x90);
    bool beyond = (first == 0xED && text[1] > 0x9F) || (first == 0xF4 && text[1] > 0x8F);
    return overlong || beyond ? 0 : length;
}

static void quote(struct ll_str *out, const char *text)
{
    ll_str_add(out, "\"");
    for (const unsigned char *p = (const unsigned char *)text; *p;) {
        size_t length = utf8_length(p);
        if (*p == '"' || *p == '\\')
            ll_str_addf(out, "\\%c", *p);
        else if (*p < 0x20 || *p == 0x7F)
            ll_str_addf(out, "\\u%04x", *p);
        else if (length == 2 && p[0] == 0xC2 && p[1] < 0xA0) /* controls, too, which terminals obey */
            ll_str_addf(out, "\\u%04x", p[1]);
        else if (length == 0)
            ll_str_add(out, "\xEF\xBF\xBD");
        else
            ll_str_add_bytes(out, (const char *)p, length);
        p += length ? length : 1;
    }
    ll_str_add(out, "\"");
}

void ll_json_key(struct ll_json *json, const char *key)
{
    assert(json->depth > 0 && !json->after_key);
    separate(json);
    quote(json->out, key);
    ll_str_add(json->out, json->indent ? ": " : ":");
    json->after_key = true;
}

void ll_json_text(struct ll_json *json, const char *text)
{
    if (!text) {
        ll_json_null(json);
        return;
    }
    separate(json);
    quote(json->out, text);
}

void ll_number_text(double value, char text[static 32])
{
    if (!isfinite(value)) {
        memcpy(text, "null", 5);
        return;
    }
    for (int digits = 1; digits <= 17; digits++) {
        ll_snprintf(text, 32, "%.*g", digits, value);
        if (ll_strtod(text, NULL) == value)
            break;
    }
    if (strstr(text, "e+") && fabs(value) < 1e15)
        ll_snprintf(text, 32, "%.0f", value);
}

static void raw(struct ll_json *json, const char *text)
{
    separate(json);
    ll_str_add(json->out, text);
}

void ll_json_number(struct ll_json *json, double value)
{
    char text[32];
    ll_number_text(value, text);
    raw(json, text);
}

void ll_json_count(struct ll_json *json, uint64_t value)
{
    char text[32];
    snprintf(text, sizeof text, "%" PRIu64, value);
    raw(json, text);
}

void ll_json_integer(struct ll_json *json, int64_t value)
{
    char text[32];
    snprintf(text, sizeof text, "%" PRId64, value);
    raw(json, text);
}

void ll_json_bool(struct ll_json *json, bool value)
{
    raw(json, value ? "true" : "false");
}

void ll_json_null(struct ll_json *json)
{
    raw(json, "null");
}

void ll_json_put_text(struct ll_json *json, const char *key, const char *text)
{
    ll_json_key(json, key);
    ll_json_text(json, text);
}

void ll_json_put_number(struct ll_json *json, const char *key, double value)
{
    ll_json_key(json, key);
    ll_json_number(json, value);
}

void ll_json_put_count(struct ll_json *json, const char *key, uint64_t value)
{
    ll_json_key(json, key);
    ll_json_count(json, value);
}

void ll_json_put_integer(struct ll_json *json, const char *key, int64_t value)
{
    ll_json_key(json, key);
    ll_json_integer(json, value);
}

void ll_json_put_bool(struct ll_json *json, const char *key, bool value)
{
    ll_json_key(json, key);
    ll_json_bool(json, value);
}
