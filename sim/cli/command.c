/* SPDX-License-Identifier: Apache-2.0 */
#define _POSIX_C_SOURCE 200809L
#include "sim/cli/command.h"
#include "sim/report/table.h"
#include "tracer/base/file.h"
#include "tracer/base/plain.h"
#include "tracer/format/format.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

const char *ll_value_at(const struct ll_args *args, const char *name, size_t i)
{
    for (size_t g = 0; g < args->given_count; g++)
        if (strcmp(args->given[g].option->name, name) == 0 && i-- == 0)
            return args->given[g].value;
    return NULL;
}

bool ll_flag(const struct ll_args *args, const char *name)
{
    for (size_t g = 0; g < args->given_count; g++)
        if (strcmp(args->given[g].option->name, name) == 0)
            return true;
    return false;
}

const char *ll_value(const struct ll_args *args, const char *name, const char *otherwise)
{
    const char *value = otherwise;
    for (size_t g = 0; g < args->given_count; g++)
        if (strcmp(args->given[g].option->name, name) == 0)
            value = args->given[g].value;
    return value;
}

bool ll_without(const struct ll_args *args, const char *const *names, const char *why)
{
    for (; *names; names++)
        if (ll_flag(args, *names)) {
            ll_wrong("--%s %s", *names, why);
            return false;
        }
    return true;
}

bool ll_value_count(const struct ll_args *args, const char *name, uint64_t least, uint64_t most,
                    uint64_t otherwise, uint64_t *count)
{
    const char *text = ll_value(args, name, NULL);
    *count = otherwise;
    if (!text)
        return true;
    char *end;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    if (errno || end == text || *end || text[0] == '-' || value < least || value > most) {
        ll_wrong("--%s %s: expected a whole number from %" PRIu64 " to %" PRIu64, name, text, least, most);
        return false;
    }
    *count = value;
    return true;
}

/* Bytes of the UTF-8 character here, 0 when it is none or would do something to a terminal. */
static size_t character(const char *text)
{
    const unsigned char *bytes = (const unsigned char *)text;
    size_t length = bytes[0] < 0x80 ? 1 : bytes[0] < 0xC2 ? 0 : bytes[0] < 0xE0 ? 2 : bytes[0] < 0xF0 ? 3 : 4;
    if (bytes[0] < ' ' || bytes[0] == 0x7F || bytes[0] > 0xF4 || (bytes[0] == 0xC2 && bytes[1] < 0xA0))
        return 0;
    for (size_t i = 1; i < length; i++)
        if ((bytes[i] & 0xC0) != 0x80)
            return 0;
    return length;
}

/* What does something to a terminal becomes `?`, but for ends of lines. */
static void print_shown(const char *text)
{
    while (*text) {
        size_t length = *text == '\n' ? 1 : character(text);
        fprintf(stderr, "%.*s", length ? (int)length : 1, length ? text : *text == '\t' ? " " : "?");
        text += length ? length : 1;
    }
}

/* The part of the line around the place, `?` for what cannot be shown, and a caret below. */
static void print_caret(const struct ll_place *place)
{
    enum { SHOWN = 120, BEFORE = 80 };
    if (!place->source_line || !place->line || !place->column)
        return;
    uint64_t first = place->column > SHOWN ? place->column - BEFORE : 1, i = 1;
    fprintf(stderr, "%6" PRIu64 " | ", place->line);
    for (const char *at = place->source_line; *at && i < first + SHOWN; i++) {
        size_t length = character(at);
        if (i >= first)
            fprintf(stderr, "%.*s", length ? (int)length : 1, length ? at : *at == '\t' ? " " : "?");
        at += length ? length : 1;
    }
    fprintf(stderr, "\n       | %*s^", (int)(place->column - first), "");
    for (i = place->column + 1; i < place->column + place->width && i < first + SHOWN; i++)
        fputc('~', stderr);
    fputc('\n', stderr);
}

void ll_print_diags(const struct ll_diags *diags)
{
    if (ll_memory_ran_out()) {
        ll_end(LL_FAILED);
        return;
    }
    for (size_t i = 0; i < diags->kept_count; i++) {
        const struct ll_diag *diag = &diags->kept[i];
        if (diag->place.file) {
            print_shown(diag->place.file);
            fputc(':', stderr);
        }
        if (diag->place.line)
            fprintf(stderr, "%" PRIu64 ":", diag->place.line);
        if (diag->place.line && diag->place.column)
            fprintf(stderr, "%" PRIu64 ":", diag->place.column);
        fputs(diag->place.file || diag->place.line ? " " : "leadline: ", stderr);
        print_shown(diag->message);
        fputc('\n', stderr);
        print_caret(&diag->place);
    }
    if (diags->count > diags->kept_count)
        fprintf(stderr, "... and %zu more\n", diags->count - diags->kept_count);
}

/* Once memory ran out that is the only complaint: all others may stem from it. */
static int say(int status, const char *format, va_list arguments)
{
    static bool said;
    char text[4096];
    ll_vsnprintf(text, sizeof text, format, arguments);
    if (ll_memory_ran_out()) {
        const char *why = ll_status_text(LL_NO_MEMORY);
        status = LL_FAILED;
        if (said)
            return status;
        said = true;
        if (!strstr(text, why))
            ll_snprintf(text, sizeof text, "%s", why);
    }
    fputs("leadline: ", stderr);
    print_shown(text);
    fputc('\n', stderr);
    return status;
}

int ll_wrong(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int status = say(LL_WRONG, format, arguments);
    va_end(arguments);
    return status;
}

int ll_failed(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int status = say(LL_FAILED, format, arguments);
    va_end(arguments);
    return status;
}

int ll_end(int status)
{
    return ll_memory_ran_out() ? ll_failed("%s", ll_status_text(LL_NO_MEMORY)) : status;
}

int ll_unknown(const char *thing, const char *word, const char *const *candidates, size_t count,
               const char *lister)
{
    const char *nearest = ll_nearest(word, candidates, count);
    if (nearest)
        return ll_wrong("there is no %s `%s`; did you mean `%s`? `%s` lists them", thing, word, nearest,
                        lister);
    return ll_wrong("there is no %s `%s`; `%s` lists them", thing, word, lister);
}

int ll_print(struct ll_str *text)
{
    bool whole = !text->failed && !ll_memory_ran_out(), written = whole;
    errno = 0;
    if (whole && text->length) {
        ll_hide_controls(text->text, text->length);
        written = fwrite(text->text, 1, text->length, stdout) == text->length;
    }
    written = fflush(stdout) == 0 && written;
    ll_str_release(text);
    if (!whole)
        return ll_failed("memory ran out");
    return written ? LL_DONE : ll_failed("standard output cannot be written: %s", strerror(errno));
}

bool ll_make_folder(const char *path)
{
    struct stat there;
    if (mkdir(path, 0777) == 0 || (errno == EEXIST && stat(path, &there) == 0 && S_ISDIR(there.st_mode)))
        return true;
    ll_failed("%s: %s", path, errno == EEXIST ? "this is no folder" : strerror(errno));
    return false;
}

/* Opens it as it is; a file that was not there is none afterwards. Of a pipe the opening waits for who reads.
 */
bool ll_can_write(const char *path)
{
    struct stat there;
    bool exists = stat(path, &there) == 0;
    if (exists && !S_ISREG(there.st_mode) && !S_ISDIR(there.st_mode))
        return true;
    int file = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
    if (file < 0) {
        ll_failed("%s: %s", path, strerror(errno));
        return false;
    }
    close(file);
    struct ll_arena arena = {0};
    const char *made = exists ? NULL : ll_path_target(&arena, path);
    if (made)
        unlink(made);
    ll_arena_release(&arena);
    return true;
}

static bool is_irreplaceable(const char *path)
{
    static const char database[] = "SQLite format 3";
    unsigned char begin[4 * LL_HEADER_BYTES];
    struct ll_version version;
    struct stat there;
    if (stat(path, &there) != 0 || !S_ISREG(there.st_mode))
        return false;
    FILE *file = fopen(path, "rb");
    size_t length = file ? fread(begin, 1, sizeof begin, file) : 0;
    if (file)
        fclose(file);
    struct ll_view view = {begin, begin + length};
    return ll_take_header(&view, &version) ||
           (length >= sizeof database && !memcmp(begin, database, sizeof database));
}

bool ll_may_replace(const char *path)
{
    bool may = !is_irreplaceable(path);
    if (!may)
        ll_failed("%s is a trace or a database: nothing is written over it", path);
    return may;
}

bool ll_write_file(const char *path, struct ll_str *text)
{
    if (!text->failed && !ll_may_replace(path)) {
        ll_str_release(text);
        return false;
    }
    enum ll_status status = ll_write_whole(path, text);
    ll_str_release(text);
    if (status != LL_OK)
        ll_failed("%s: %s", path, ll_status_text(status));
    return status == LL_OK;
}

bool ll_hold_streams(void)
{
    for (int stream = STDIN_FILENO; stream <= STDERR_FILENO; stream++)
        if (fcntl(stream, F_GETFD) < 0 && open("/dev/null", O_RDWR) != stream) /* the lowest that is free */
            return false;
    return true;
}

unsigned ll_screen_width(void)
{
    const char *columns = getenv("COLUMNS");
    long width = columns ? strtol(columns, NULL, 10) : 0;
    struct winsize size;
    if (width < 20 && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0)
        width = size.ws_col;
    return width >= 20 && width <= 1000 ? (unsigned)width : 120;
}
