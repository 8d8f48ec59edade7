/* SPDX-License-Identifier: Apache-2.0 */
/* CSV, read and written; whole files, read from anything and written so that a file is either the old or the
 * new one. */
#define _POSIX_C_SOURCE 200809L
#include "tracer/base/file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tracer/base/str.h"

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

/* The end of the line at hand; *most: fields that it can have. */
static const char *line_end(const struct ll_csv *csv, size_t *most)
{
    const char *at = csv->at;
    for (*most = 1; at < csv->end && !ends_line(*at); at++)
        *most += *at == ',';
    return at;
}

/* A text would end at it, and what stands behind it be lost. */
static bool is_text(struct ll_csv *csv, const char *end)
{
    const char *at = memchr(csv->at, '\0', (size_t)(end - csv->at));
    const struct ll_csv_field here = {.column = at ? (uint64_t)(at - csv->at) + 1 : 0};
    return !at ||
           ll_complain(csv->diags, ll_csv_place(csv, &here),
                       "here stands a byte of value 0, which no text has; lines of text were expected");
}

/* Of a line without quotes one copy is cut up. False when memory ran out. */
static bool cut_up(struct ll_csv *csv, const char *end, struct ll_csv_field *fields, size_t *count)
{
    char *line = ll_copy_text(csv->arena, csv->at, (size_t)(end - csv->at));
    csv->at = end;
    *count = 0;
    for (char *at = line; at; *count += 1) {
        fields[*count] = (struct ll_csv_field){at, (uint64_t)(at - line) + 1};
        at = strchr(at, ',');
        if (at)
            *at++ = '\0';
    }
    return line != NULL;
}

/* False after a complaint, or when memory ran out. */
static bool read_fields(struct ll_csv *csv, struct ll_csv_field *fields, size_t *count)
{
    const char *line_start = csv->at;
    bool more = true, right = true;
    for (*count = 0; more && right; csv->at += more) {
        right = read_field(csv, line_start, &fields[(*count)++]);
        more = right && csv->at < csv->end && *csv->at == ',';
    }
    return right;
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
    size_t most;
    const char *end = line_end(csv, &most);
    struct ll_csv_field *fields = ll_alloc(csv->arena, most, sizeof *fields);
    const bool is_quoted = memchr(csv->at, '"', (size_t)(end - csv->at)) != NULL;
    csv->failed = !fields || !is_text(csv, end) ||
                  !(is_quoted ? read_fields(csv, fields, count) : cut_up(csv, end, fields, count));
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

/* As many bytes as an ordinary file has; 0 where that is not known before they are read: of a pipe, of what
 * the kernel makes up. */
static uint64_t known_length(FILE *file)
{
    struct stat there;
    return fstat(fileno(file), &there) == 0 && S_ISREG(there.st_mode) ? (uint64_t)there.st_size : 0;
}

static enum ll_status read_known(FILE *file, uint64_t length, struct ll_arena *arena,
                                 struct ll_contents *text)
{
    char *bytes = length < SIZE_MAX ? ll_alloc(arena, length + 1, 1) : NULL;
    if (!bytes)
        return LL_NO_MEMORY;
    if (fread(bytes, 1, length, file) < length)
        return ferror(file) ? ll_status_of(errno, LL_CANNOT_READ) : LL_SHORTENED;
    *text = (struct ll_contents){bytes, length};
    return LL_OK;
}

/* Doubles a buffer until the file is in it. */
static enum ll_status read_stream(FILE *file, uint64_t most_bytes, char **bytes, uint64_t *length)
{
    uint64_t capacity = 0;
    for (*length = 0;;) {
        if (!ll_grow(bytes, &capacity, *length + 4096, 1))
            return LL_NO_MEMORY;
        size_t got = fread(*bytes + *length, 1, capacity - *length, file);
        *length += got;
        if (*length > most_bytes)
            return LL_FILE_TOO_LONG;
        if (got == 0)
            return ferror(file) ? ll_status_of(errno, LL_CANNOT_READ) : LL_OK;
    }
}

static enum ll_status copy_stream(FILE *file, uint64_t most_bytes, struct ll_arena *arena,
                                  struct ll_contents *text)
{
    char *bytes = NULL, *copy = NULL;
    uint64_t length;
    enum ll_status status = read_stream(file, most_bytes, &bytes, &length);
    if (status == LL_OK && !(copy = ll_copy_text(arena, bytes, length)))
        status = LL_NO_MEMORY;
    if (status == LL_OK)
        *text = (struct ll_contents){copy, length};
    free(bytes);
    return status;
}

enum ll_status ll_read_whole(const char *path, uint64_t most_bytes, struct ll_arena *arena,
                             struct ll_contents *text)
{
    FILE *file = fopen(path, "rb");
    if (!file)
        return ll_status_of(errno, LL_CANNOT_OPEN);
    uint64_t length = known_length(file);
    enum ll_status status = length > most_bytes ? LL_FILE_TOO_LONG
                            : length            ? read_known(file, length, arena, text)
                                                : copy_stream(file, most_bytes, arena, text);
    fclose(file);
    if (status == LL_OK && ll_is_gzipped(text->bytes, text->length))
        status = ll_gunzip(text->bytes, text->length, most_bytes, arena, text);
    return status;
}

const char *ll_path_target(struct ll_arena *arena, const char *path)
{
    enum { MOST_LINKS = 40 }; /* as the kernel */
    const char *target = path;
    for (int links = 0; links < MOST_LINKS; links++) {
        char text[4096];
        ssize_t length = readlink(target, text, sizeof text);
        if (length < 0 || (size_t)length == sizeof text)
            return target;
        int folder = *text == '/' ? 0 : (int)(ll_base_name(target) - target);
        target = ll_format(arena, "%.*s%.*s", folder, target, (int)length, text);
        if (!target)
            return NULL;
    }
    return path;
}

static bool may_write_beside(struct ll_arena *arena, const char *path)
{
    size_t length = (size_t)(ll_base_name(path) - path);
    const char *folder = length ? ll_copy_text(arena, path, length) : ".";
    return folder && access(folder, W_OK) == 0;
}

/* Whether standard output or error goes to it: another file in its place would not hold what they say. */
static bool is_stream(const struct stat *file)
{
    for (int stream = STDOUT_FILENO; stream <= STDERR_FILENO; stream++) {
        struct stat there;
        if (fstat(stream, &there) == 0 && there.st_dev == file->st_dev && there.st_ino == file->st_ino)
            return true;
    }
    return false;
}

const char *ll_path_beside(struct ll_arena *arena, const char *output)
{
    struct stat there;
    const char *target = ll_path_target(arena, output);
    if (!target)
        return NULL;
    bool exists = lstat(target, &there) == 0;
    if (exists && (!S_ISREG(there.st_mode) || is_stream(&there) || access(target, W_OK) != 0 ||
                   !may_write_beside(arena, target)))
        return output;
    return ll_format(arena, "%s.%ld.part", target, (long)getpid());
}

enum ll_status ll_path_keep(const char *part, const char *output, bool done)
{
    if (part == output)
        return LL_OK;
    struct ll_arena arena = {0};
    struct stat there;
    const char *target = done ? ll_path_target(&arena, output) : NULL;
    bool exists = target && stat(target, &there) == 0;
    enum ll_status status = target || !done ? LL_OK : LL_NO_MEMORY;
    errno = 0;
    if (target && ((exists && chmod(part, there.st_mode & 07777) != 0) || rename(part, target) != 0))
        status = ll_status_of(errno, LL_CANNOT_WRITE);
    if (!done || status != LL_OK)
        unlink(part);
    ll_arena_release(&arena);
    return status;
}

static enum ll_status write_new(const char *path, const struct ll_str *text)
{
    FILE *file = fopen(path, "wb");
    if (!file)
        return ll_status_of(errno, LL_CANNOT_OPEN);
    errno = 0;
    bool written = fwrite(text->text, 1, text->length, file) == text->length;
    int error = errno;
    if (fclose(file) != 0 && written) {
        written = false;
        error = errno;
    }
    return written ? LL_OK : ll_status_of(error, LL_CANNOT_WRITE);
}

enum ll_status ll_write_whole(const char *path, const struct ll_str *text)
{
    struct ll_arena arena = {0};
    const char *part = text->failed ? NULL : ll_path_beside(&arena, path);
    enum ll_status status = part && !ll_memory_ran_out() ? write_new(part, text) : LL_NO_MEMORY;
    enum ll_status kept = part ? ll_path_keep(part, path, status == LL_OK) : LL_OK;
    ll_arena_release(&arena);
    return status == LL_OK ? kept : status;
}
