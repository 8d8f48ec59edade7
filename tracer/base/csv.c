/* SPDX-License-Identifier: Apache-2.0 */
#include "tracer/base/csv.h"

#include "tracer/base/plain.h"

#include <string.h>

struct ll_place ll_csv_place(const struct ll_csv *csv, const struct ll_csv_field *field)
{
    return (struct ll_place){.file = csv->file, .line = csv->line, .column = field ? field->column : 0};
}

static bool ends_line(char c)
{
    return c == '\n' || c == '\r';
}

static bool at_line_end(const struct ll_csv *csv)
{
    return csv->at == csv->end || ends_line(*csv->at);
}

static void pass_line_end(struct ll_csv *csv)
{
    csv->at += csv->end - csv->at >= 2 && memcmp(csv->at, "\r\n", 2) == 0;
    csv->at += csv->at < csv->end;
    csv->lines++;
}

/* Where the quote stands that closes the field, or the line's end. */
static const char *find_closing(const struct ll_csv *csv)
{
    const char *at = csv->at;
    while (at < csv->end && !ends_line(*at) && (*at != '"' || (at + 1 < csv->end && at[1] == '"')))
        at += *at == '"' ? 2 : 1;
    return at;
}

/* What a spreadsheet would compute; and what stands behind the apostrophe that keeps it from that. */
static bool is_formula(const char *text, size_t length)
{
    return length && memchr("=+-@\t\r\n", *text, 7);
}

static bool is_guarded(const char *text, const char *end)
{
    const char *at = text;
    while (at < end && *at == '\'')
        at++;
    return at > text && is_formula(at, (size_t)(end - at));
}

static char *quoted(struct ll_csv *csv, const struct ll_csv_field *field)
{
    csv->at++;
    const char *closing = find_closing(csv);
    if (closing >= csv->end || *closing != '"') {
        ll_complain(csv->diags, ll_csv_place(csv, field),
                    "a quote begins here and does not end in this line");
        return NULL;
    }
    csv->at += is_guarded(csv->at, closing);
    char *text = ll_alloc(csv->arena, (size_t)(closing - csv->at) + 1, 1), *to = text;
    for (; text && csv->at < closing; csv->at++) {
        *to++ = *csv->at;
        csv->at += *csv->at == '"';
    }
    csv->at = closing + 1;
    return text;
}

static const char *plain(struct ll_csv *csv)
{
    const char *start = csv->at;
    while (!at_line_end(csv) && *csv->at != ',')
        csv->at++;
    return ll_copy_text(csv->arena, start, (size_t)(csv->at - start));
}

static bool read_field(struct ll_csv *csv, const char *line_start, struct ll_csv_field *field)
{
    field->column = (uint64_t)(csv->at - line_start) + 1;
    bool in_quotes = csv->at < csv->end && *csv->at == '"';
    field->text = in_quotes ? quoted(csv, field) : plain(csv);
    if (field->text && !at_line_end(csv) && *csv->at != ',')
        return ll_complain(csv->diags, ll_csv_place(csv, field),
                           "behind the quote that ends a field there must be a comma or the end of the line");
    return field->text != NULL;
}

/* The most fields that the line at hand can have. */
static size_t count_commas(const struct ll_csv *csv)
{
    size_t commas = 0;
    for (const char *at = csv->at; at < csv->end && !ends_line(*at); at++)
        commas += *at == ',';
    return commas;
}

/* A text would end at it, and what stands behind it be lost. */
static bool is_text(struct ll_csv *csv)
{
    const char *at = csv->at;
    while (at < csv->end && *at && !ends_line(*at))
        at++;
    const struct ll_csv_field here = {.column = (uint64_t)(at - csv->at) + 1};
    return at == csv->end || *at ||
           ll_complain(csv->diags, ll_csv_place(csv, &here),
                       "here stands a byte of value 0, which no text has; lines of text were expected");
}

const struct ll_csv_field *ll_csv_next(struct ll_csv *csv, size_t *count)
{
    static const char mark[] = "\xEF\xBB\xBF"; /* of UTF-8, which some programs put first */
    if (csv->lines == 0 && csv->end - csv->at >= 3 && memcmp(csv->at, mark, 3) == 0)
        csv->at += 3;
    while (csv->at < csv->end && at_line_end(csv))
        pass_line_end(csv);
    if (csv->failed || csv->at == csv->end)
        return NULL;
    csv->line = csv->lines + 1;
    const char *line_start = csv->at;
    struct ll_csv_field *fields = ll_alloc(csv->arena, count_commas(csv) + 1, sizeof *fields);
    csv->failed = !fields || !is_text(csv);
    bool more = !csv->failed;
    for (*count = 0; more && !csv->failed; csv->at += more) {
        csv->failed = !read_field(csv, line_start, &fields[(*count)++]);
        more = !csv->failed && csv->at < csv->end && *csv->at == ',';
    }
    if (csv->failed)
        return NULL;
    pass_line_end(csv);
    return fields;
}

/* Of digits, so that it stands for nothing else. */
static bool is_plain_number(const char *text)
{
    char *end;
    ll_strtod(text, &end);
    return end != text && !*end && strspn(text, "0123456789+-.eE") == (size_t)(end - text);
}

void ll_csv_put(struct ll_str *out, const char *text)
{
    size_t length = strlen(text);
    bool guarded = is_guarded(text, text + length) || (is_formula(text, length) && !is_plain_number(text));
    bool quoted = guarded || strpbrk(text, ",\"\r\n") != NULL;
    ll_str_add(out, quoted ? "\"" : "");
    ll_str_add(out, guarded ? "'" : "");
    for (; *text; text++) {
        ll_str_add(out, *text == '"' ? "\"" : "");
        ll_str_add_bytes(out, *text == '\n' || *text == '\r' ? " " : text, 1);
    }
    ll_str_add(out, quoted ? "\"" : "");
}
