/* SPDX-License-Identifier: Apache-2.0 */
/* JSON, written value by value, and read token by token with places for complaints. */
#include "tracer/base/json.h"

#include <assert.h>
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tracer/base/str.h"

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

/* How many bytes stand in quotes as they are, one a character. */
static size_t plain_length(const unsigned char *text)
{
    size_t length = 0;
    while (text[length] >= 0x20 && text[length] < 0x7F && text[length] != '"' && text[length] != '\\')
        length++;
    return length;
}

static void quote(struct ll_str *out, const char *text)
{
    ll_str_add(out, "\"");
    for (const unsigned char *p = (const unsigned char *)text;;) {
        size_t plain = plain_length(p);
        ll_str_add_bytes(out, (const char *)p, plain);
        p += plain;
        if (!*p)
            break;
        size_t length = ll_utf8_length(p);
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

static void write_whole(int64_t value, char *text)
{
    char digits[20];
    int count = 0;
    uint64_t left = value < 0 ? (uint64_t)-value : (uint64_t)value;
    do
        digits[count++] = (char)('0' + left % 10);
    while ((left /= 10) > 0);
    if (value < 0)
        *text++ = '-';
    while (count > 0)
        *text++ = digits[--count];
    *text = '\0';
}

void ll_number_text(double value, char text[static 32])
{
    if (!isfinite(value)) {
        memcpy(text, "null", 5);
        return;
    }
    if (fabs(value) < 1e15 && value == (double)(int64_t)value && !(value == 0 && signbit(value))) {
        write_whole((int64_t)value, text);
        return;
    }
    /* A decimal of up to 15 digits means one double alone, down to the least that has all of its bits, and %g
     * writes no zeros behind it: so 15 are as short as the fewest that will do. */
    for (int digits = fabs(value) < DBL_MIN ? 1 : 15; digits <= 17; digits++) {
        ll_snprintf(text, 32, "%.*g", digits, value);
        if (ll_strtod(text, NULL) == value)
            break;
    }
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

void ll_json_open_document(struct ll_json *json, const char *schema, uint64_t version)
{
    assert(json->depth == 0);
    ll_json_open_object(json);
    ll_json_key(json, "schema");
    ll_json_text(json, schema);
    ll_json_key(json, "version");
    ll_json_count(json, version);
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

struct ll_place ll_json_place(const struct ll_json_reader *reader)
{
    const char *at = reader->text ? reader->text : reader->at, *line = at;
    uint64_t lines = 1;
    while (line > reader->begin && line[-1] != '\n')
        line--;
    for (const char *c = reader->begin; (c = memchr(c, '\n', (size_t)(line - c))); c++)
        lines++;
    return (struct ll_place){.file = reader->file, .line = lines, .column = (uint64_t)(at - line) + 1};
}

/* What ends the reading. */
static enum ll_json_token stop(struct ll_json_reader *reader, const char *at, const char *why)
{
    reader->text = at;
    ll_complain(reader->diags, ll_json_place(reader), "%s", why);
    reader->failed = true;
    reader->text = NULL;
    reader->length = 0;
    return reader->token = LL_JSON_END;
}

bool ll_json_expected(struct ll_json_reader *reader, const char *what)
{
    if (reader->failed)
        return false;
    ll_complain(reader->diags, ll_json_place(reader), "expected %s", what);
    reader->failed = true;
    return false;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

static void pass_blanks(struct ll_json_reader *reader)
{
    while (reader->at < reader->end && is_blank(*reader->at))
        reader->at++;
}

static bool in_object(const struct ll_json_reader *reader)
{
    return reader->depth > 0 && (reader->objects >> (reader->depth - 1) & 1);
}

static enum ll_json_token give(struct ll_json_reader *reader, enum ll_json_token token, const char *text,
                               size_t length)
{
    reader->text = text;
    reader->length = length;
    return reader->token = token;
}

static enum ll_json_token open_one(struct ll_json_reader *reader, bool object)
{
    if (reader->depth == LL_JSON_MOST_DEPTH)
        return stop(reader, reader->at, "objects and lists lie too deep within each other");
    uint64_t bit = UINT64_C(1) << reader->depth++;
    reader->objects = object ? reader->objects | bit : reader->objects & ~bit;
    reader->filled = false;
    return give(reader, object ? LL_JSON_OBJECT : LL_JSON_LIST, reader->at++, 1);
}

static enum ll_json_token close_one(struct ll_json_reader *reader, bool object)
{
    if (reader->depth == 0 || in_object(reader) != object)
        return stop(reader, reader->at, "nothing is open that this could close");
    reader->depth--;
    reader->filled = true;
    return give(reader, object ? LL_JSON_OBJECT_END : LL_JSON_LIST_END, reader->at++, 1);
}

/* A text between quotes; the reader stands at the first one. */
static enum ll_json_token read_text(struct ll_json_reader *reader, enum ll_json_token token)
{
    const char *start = reader->at + 1, *at = start;
    while (at < reader->end && *at != '"' && (unsigned char)*at >= ' ')
        at += *at == '\\' ? 2 : 1;
    if (at >= reader->end || *at != '"')
        return stop(reader, reader->at, "a quote begins here and does not end in this line");
    reader->at = at + 1;
    return give(reader, token, start, (size_t)(at - start));
}

static enum ll_json_token read_key(struct ll_json_reader *reader)
{
    if (*reader->at != '"')
        return stop(reader, reader->at, "expected a key in quotes");
    read_text(reader, LL_JSON_KEY);
    pass_blanks(reader);
    if (reader->failed || reader->at == reader->end || *reader->at != ':')
        return reader->failed ? LL_JSON_END : stop(reader, reader->at, "expected a colon behind the key");
    reader->at++;
    return LL_JSON_KEY;
}

static bool is_one_of(const char *at, const char *end, const char *characters)
{
    return at < end && *at && strchr(characters, *at);
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static const char *pass_digits(const char *at, const char *end)
{
    while (at < end && is_digit(*at))
        at++;
    return at;
}

/* Digits from `at` to `end`, at least one. */
static bool are_digits(const char *at, const char *end)
{
    return at < end && pass_digits(at, end) == end;
}

/* number = ["-"] ("0" / digit without 0 *digit) ["." 1*digit] [("e" / "E") ["-" / "+"] 1*digit] */
static bool is_number(const char *at, const char *end)
{
    at += is_one_of(at, end, "-");
    const char *whole = pass_digits(at, end);
    if (!are_digits(at, whole) || (*at == '0' && whole - at > 1))
        return false;
    const char *behind = whole;
    if (is_one_of(behind, end, ".")) {
        behind = pass_digits(whole + 1, end);
        if (!are_digits(whole + 1, behind))
            return false;
    }
    if (!is_one_of(behind, end, "eE"))
        return behind == end;
    behind++;
    behind += is_one_of(behind, end, "-+");
    return are_digits(behind, end);
}

static enum ll_json_token read_number(struct ll_json_reader *reader)
{
    const char *start = reader->at, *at = start;
    while (at < reader->end && (is_digit(*at) || is_one_of(at, reader->end, "+-.eE")))
        at++;
    if (at == start)
        return stop(reader, start, "expected a value");
    if (!is_number(start, at))
        return stop(reader, start, "this is no number as JSON writes them");
    if (at - start > LL_JSON_LONGEST_NUMBER)
        return stop(reader, start, "a number of so many characters is not read here");
    reader->at = at;
    return give(reader, LL_JSON_NUMBER, start, (size_t)(at - start));
}

static enum ll_json_token read_word(struct ll_json_reader *reader)
{
    static const struct {
        const char *word;
        enum ll_json_token token;
    } words[] = {{"true", LL_JSON_TRUE},        {"false", LL_JSON_FALSE},     {"null", LL_JSON_NULL},
                 {"-Infinity", LL_JSON_NUMBER}, {"Infinity", LL_JSON_NUMBER}, {"NaN", LL_JSON_NUMBER}};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        size_t length = strlen(words[i].word);
        if ((size_t)(reader->end - reader->at) >= length && memcmp(reader->at, words[i].word, length) == 0) {
            reader->at += length;
            return give(reader, words[i].token, reader->at - length, length);
        }
    }
    return read_number(reader);
}

static enum ll_json_token read_value(struct ll_json_reader *reader)
{
    enum ll_json_token token = LL_JSON_END;
    if (reader->at == reader->end)
        return stop(reader, reader->at, "the file ends where a value was expected");
    reader->filled = true;
    if (*reader->at == '{' || *reader->at == '[')
        token = open_one(reader, *reader->at == '{');
    else if (*reader->at == '"')
        token = read_text(reader, LL_JSON_TEXT);
    else
        token = read_word(reader);
    return token;
}

enum ll_json_token ll_json_read(struct ll_json_reader *reader)
{
    bool after_key = reader->token == LL_JSON_KEY;
    pass_blanks(reader);
    if (reader->failed)
        return reader->token = LL_JSON_END;
    if (after_key)
        return read_value(reader);
    if (reader->depth == 0 && reader->filled)
        return reader->at == reader->end ? give(reader, LL_JSON_END, NULL, 0)
                                         : stop(reader, reader->at, "expected the end of the file");
    if (reader->at < reader->end && (*reader->at == '}' || *reader->at == ']'))
        return close_one(reader, *reader->at == '}');
    if (reader->depth > 0 && reader->filled) {
        if (reader->at == reader->end || *reader->at != ',')
            return stop(reader, reader->at, "expected a comma, or the end of the object or list");
        reader->at++;
        pass_blanks(reader);
    }
    if (reader->at == reader->end)
        return stop(reader, reader->at, "the file ends before it is complete");
    return in_object(reader) ? read_key(reader) : read_value(reader);
}

void ll_json_pass(struct ll_json_reader *reader)
{
    if (reader->token == LL_JSON_KEY)
        ll_json_read(reader);
    if (reader->token != LL_JSON_OBJECT && reader->token != LL_JSON_LIST)
        return;
    unsigned outside = reader->depth - 1;
    while (reader->depth > outside && ll_json_read(reader) != LL_JSON_END)
        ;
}

bool ll_json_says(const struct ll_json_reader *reader, const char *text)
{
    if (!reader->text || (reader->length && *reader->text != *text)) /* which is most of them */
        return false;
    return strlen(text) == reader->length && memcmp(reader->text, text, reader->length) == 0;
}

/* Four hexadecimal digits, or -1. */
static long hex4(const char *at, const char *end)
{
    long value = 0;
    for (int i = 0; i < 4; i++) {
        static const char digits[] = "0123456789abcdefABCDEF";
        const char *digit = at + i < end && at[i] ? strchr(digits, at[i]) : NULL;
        if (!digit)
            return -1;
        long worth = digit - digits;
        value = value * 16 + (worth < 16 ? worth : worth - 6);
    }
    return value;
}

static char *put_utf8(char *to, unsigned long c)
{
    if (c < 0x80) {
        *to++ = (char)c;
        return to;
    }
    if (c < 0x800) {
        *to++ = (char)(0xc0 | c >> 6);
    } else {
        if (c < 0x10000) {
            *to++ = (char)(0xe0 | c >> 12);
        } else {
            *to++ = (char)(0xf0 | c >> 18);
            *to++ = (char)(0x80 | (c >> 12 & 0x3f));
        }
        *to++ = (char)(0x80 | (c >> 6 & 0x3f));
    }
    *to++ = (char)(0x80 | (c & 0x3f));
    return to;
}

/* What stands behind a backslash and a u: one character, or two halves of one. Halves alone, wrong digits and
 * zero, which would end the text, become U+FFFD. */
static char *put_number(const char **at, const char *end, char *to)
{
    enum { REPLACEMENT = 0xfffd };
    long c = hex4(*at, end), low = -1;
    *at += c >= 0 ? 4 : 0;
    if (c >= 0xd800 && c < 0xdc00 && end - *at >= 6 && (*at)[0] == '\\' && (*at)[1] == 'u')
        low = hex4(*at + 2, end);
    if (low >= 0xdc00 && low < 0xe000) {
        *at += 6;
        return put_utf8(to, 0x10000 + ((unsigned long)(c - 0xd800) << 10) + (unsigned long)(low - 0xdc00));
    }
    return put_utf8(to, c <= 0 || (c >= 0xd800 && c < 0xe000) ? REPLACEMENT : (unsigned long)c);
}

/* An escape is never shorter than what it stands for, but for a wrong one of two characters that becomes
 * three bytes. */
const char *ll_json_copy(const struct ll_json_reader *reader, struct ll_arena *arena)
{
    static const char names[] = "nrtbf", meant[] = "\n\r\t\b\f";
    const char *at = reader->text, *end = at + reader->length;
    char *text = ll_alloc(arena, reader->length + reader->length / 2 + 2, 1), *to = text;
    while (text && at < end) {
        if (*at != '\\') {
            *to++ = *at++;
            continue;
        }
        const char *name = at + 1 < end && at[1] ? strchr(names, at[1]) : NULL;
        bool numbered = at + 1 < end && at[1] == 'u';
        char plain = name ? meant[name - names] : at + 1 < end ? at[1] : '\\';
        at += 2;
        if (numbered)
            to = put_number(&at, end, to);
        else
            *to++ = plain;
    }
    return text;
}

double ll_json_as_real(const struct ll_json_reader *reader)
{
    char number[LL_JSON_LONGEST_NUMBER + 1] = "";
    if (reader->token != LL_JSON_NUMBER)
        return 0;
    assert(reader->length < sizeof number);
    memcpy(number, reader->text, reader->length);
    return ll_strtod(number, NULL);
}

int64_t ll_json_as_integer(const struct ll_json_reader *reader)
{
    bool negative = reader->token == LL_JSON_NUMBER && *reader->text == '-';
    uint64_t value = 0, most = (uint64_t)INT64_MAX + negative;
    bool whole = reader->token == LL_JSON_NUMBER;
    for (size_t i = negative; whole && i < reader->length; i++) {
        char c = reader->text[i];
        whole = c >= '0' && c <= '9';
        if (whole && __builtin_mul_overflow(value, 10, &value))
            value = most;
        else if (whole)
            value = value > most - (uint64_t)(c - '0') ? most : value + (uint64_t)(c - '0');
    }
    if (whole)
        return negative ? (int64_t)(0 - value) : (int64_t)value;
    double real = ll_json_as_real(reader);
    if (isnan(real))
        return 0;
    return real >= 0x1p63 ? INT64_MAX : real <= -0x1p63 ? INT64_MIN : (int64_t)real;
}
