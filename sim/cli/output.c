/* SPDX-License-Identifier: Apache-2.0 */
/* What reaches the streams of the program: complaints, finished pages and documents, files; colours and the
 * width of the screen; JSON with the keys of version 0.1; progress, and interrupts of long work. */
#define _POSIX_C_SOURCE 200809L
#include "sim/cli/output.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sim/report/document.h"
#include "tracer/base/clock.h"
#include "tracer/base/file.h"
#include "tracer/base/num.h"
#include "tracer/format/format.h"

/* What the command line says of the output: a thread runs one command at a time. */
static _Thread_local struct ll_output output;
static _Thread_local unsigned held_width;         /* of ll_hold_screen_width; 0: as it is */
static _Thread_local bool hushed, refusal_told;   /* refusal_told: that memory ran out, which is said once */
static _Thread_local char hushed_text[1024];      /* the first complaint that was not printed */
static _Thread_local struct ll_kept_output *kept; /* NULL: the streams of the process */

void ll_keep_output(struct ll_kept_output *capture)
{
    assert(!kept);
    output = (struct ll_output){0};
    held_width = 0;
    hushed = refusal_told = false;
    kept = capture;
    ll_forget_no_memory();
}

void ll_keep_no_output(void)
{
    kept = NULL;
}

bool ll_keeps_output(void)
{
    return kept != NULL;
}

/* What is said to who called: on standard error, or kept. */
static void tell(const char *text, size_t length)
{
    if (kept)
        ll_str_add_bytes(&kept->said, text, length);
    else
        fprintf(stderr, "%.*s", (int)length, text);
}

void ll_cli_tell(const char *format, ...)
{
    char text[4096]; /* of its own: memory may have run out */
    va_list arguments;
    va_start(arguments, format);
    ll_vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    tell(text, strlen(text));
}

void ll_output_set(const struct ll_output *wanted)
{
    output = *wanted;
}

uint64_t ll_output_top(void)
{
    return output.top;
}

/* Whether commands write JSON documents, which are what CSV is made of. */
static bool prints_json(void)
{
    return output.format == LL_FORMAT_JSON || output.format == LL_FORMAT_CSV;
}

void ll_show_table(struct ll_table *table, struct ll_str *out)
{
    ll_table_top(table, output.top);
    ll_table_print(table, ll_terminal_width(), out);
    ll_table_free(table);
}

/* JSON as version 0.1 wrote it (old_names.def). The document is copied, and before each member whose key was
 * renamed since stands the same value under its old key. Objects and lists nest, so a copied value is
 * searched for renamed keys as well. */

static const struct old_key {
    const char *command; /* whose key it is; "" for that of all commands */
    const char *old, *name;
} old_keys[] = {
#define LL_OLD_COMMAND(old, name)
#define LL_OLD_OPTION(command, old, name)
#define LL_OLD_FIGURE(command, old, kind)
#define LL_OLD_KEY(command, old, name) {command, old, name},
#include "sim/cli/old_names.def"
#undef LL_OLD_COMMAND
#undef LL_OLD_OPTION
#undef LL_OLD_FIGURE
#undef LL_OLD_KEY
};
enum { OLD_KEY_COUNT = sizeof old_keys / sizeof *old_keys };

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
    for (size_t i = 0; i < OLD_KEY_COUNT; i++) {
        const struct old_key *row = &old_keys[i];
        bool is_of = row->command[0] == '\0' || strcmp(row->command, command) == 0;
        if (is_of && strlen(row->name) + 2 == length && strncmp(row->name, key + 1, length - 2) == 0)
            return row->old;
    }
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

/* Puts before each member of a JSON document whose key was renamed the same value under its old key. The
 * document is one that this command printed. The text is replaced; one that failed stays as it is. */
static void add_old_keys(const char *command, struct ll_str *text)
{
    struct ll_str out = {0};
    assert(text->failed || !text->text || text->text[text->length] == '\0');
    assert(command);
    if (text->failed || !text->text)
        return;
    copy(command, text->text, text->text + text->length, &out);
    ll_str_release(text);
    *text = out;
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
        tell(length ? text : *text == '\t' ? " " : "?", length ? length : 1);
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
    ll_cli_tell("%6" PRIu64 " | ", place->line);
    for (const char *at = place->source_line; *at && i < first + SHOWN; i++) {
        size_t length = character(at);
        if (i >= first)
            tell(length ? at : *at == '\t' ? " " : "?", length ? length : 1);
        at += length ? length : 1;
    }
    ll_cli_tell("\n       | %*s^", (int)(place->column - first), "");
    for (i = place->column + 1; i < place->column + place->width && i < first + SHOWN; i++)
        tell("~", 1);
    tell("\n", 1);
}

void ll_cli_hush(bool hush)
{
    hushed = hush;
    if (hush)
        *hushed_text = '\0';
}

const char *ll_cli_hushed(void)
{
    return hushed_text;
}

void ll_print_diags(const struct ll_diags *diags)
{
    if (hushed && !ll_memory_ran_out()) {
        for (size_t i = 0; i < diags->kept_count && !*hushed_text; i++)
            if (!diags->kept[i].remark)
                ll_snprintf(hushed_text, sizeof hushed_text, "%s", diags->kept[i].message);
        return;
    }
    if (ll_memory_ran_out()) {
        ll_end(LL_FAILED);
        return;
    }
    size_t unkept = diags->count;
    for (size_t i = 0; i < diags->kept_count; i++) {
        const struct ll_diag *diag = &diags->kept[i];
        unkept -= !diag->remark;
        if (diag->place.file) {
            print_shown(diag->place.file);
            tell(":", 1);
        }
        if (diag->place.line)
            ll_cli_tell("%" PRIu64 ":", diag->place.line);
        if (diag->place.line && diag->place.column)
            ll_cli_tell("%" PRIu64 ":", diag->place.column);
        ll_cli_tell("%s", diag->place.file || diag->place.line ? " " : "leadline: ");
        print_shown(diag->message);
        tell("\n", 1);
        print_caret(&diag->place);
    }
    if (unkept > 0)
        ll_cli_tell("... and %zu more\n", unkept);
}

static _Thread_local const struct ll_option_place *origins;
static _Thread_local size_t origin_count;

void ll_cli_origins(const struct ll_option_place *list, size_t count)
{
    origins = list;
    origin_count = count;
}

/* The place in a file of the option with which a message begins; NULL: it is of the command line. */
static const char *origin_of(const char *text)
{
    const size_t length = strncmp(text, "--", 2) == 0 ? strcspn(text + 2, " :") : 0;
    for (size_t i = 0; length > 0 && i < origin_count; i++)
        if (strlen(origins[i].name) == length && strncmp(origins[i].name, text + 2, length) == 0)
            return origins[i].place;
    return NULL;
}

/* Once memory ran out that is the only complaint: all others may stem from it. */
static int say(int status, const char *format, va_list arguments)
{
    char text[4096];
    ll_vsnprintf(text, sizeof text, format, arguments);
    if (ll_memory_ran_out()) {
        const char *why = ll_status_text(LL_NO_MEMORY);
        status = LL_FAILED;
        if (refusal_told)
            return status;
        refusal_told = true;
        if (!strstr(text, why))
            ll_snprintf(text, sizeof text, "%s", why);
    }
    if (hushed && !ll_memory_ran_out()) {
        if (status != LL_DONE && !*hushed_text)
            ll_snprintf(hushed_text, sizeof hushed_text, "%s", text);
        return status;
    }
    const char *origin = origin_of(text);
    print_shown(origin ? origin : "leadline");
    ll_cli_tell(": ");
    print_shown(origin ? text + 2 : text);
    tell("\n", 1);
    return status;
}

void ll_cli_warn(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    say(LL_DONE, format, arguments);
    va_end(arguments);
}

int ll_cli_reject(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int status = say(LL_WRONG, format, arguments);
    va_end(arguments);
    return status;
}

int ll_cli_fail(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int status = say(LL_FAILED, format, arguments);
    va_end(arguments);
    return status;
}

int ll_end(int status)
{
    return ll_memory_ran_out() ? ll_cli_fail("%s", ll_status_text(LL_NO_MEMORY)) : status;
}

int ll_cli_reject_unknown(const char *thing, const char *word, const char *const *candidates, size_t count,
                          const char *lister)
{
    assert(candidates || count == 0);
    const char *nearest = ll_nearest(word, candidates, count);
    if (nearest)
        return ll_cli_reject("there is no %s `%s`; did you mean `%s`? `%s` lists them", thing, word, nearest,
                             lister);
    return ll_cli_reject("there is no %s `%s`; `%s` lists them", thing, word, lister);
}

/* Whether standard output shows colours: --color, else that the environment asks for them (CLICOLOR_FORCE),
 * else that it is a terminal that can, and NO_COLOR (no-color.org) does not forbid them. */
static bool has_colour(void)
{
    const char *forbidden = getenv("NO_COLOR"), *forced = getenv("CLICOLOR_FORCE"), *kind = getenv("TERM");
    if (output.colour != LL_COLOUR_AUTO)
        return output.colour == LL_COLOUR_ALWAYS;
    if (forbidden && *forbidden)
        return false;
    if (forced && *forced && strcmp(forced, "0") != 0)
        return true;
    return isatty(STDOUT_FILENO) == 1 && kind && *kind && strcmp(kind, "dumb") != 0;
}

/* As the environment names the locale: the first of these that is set counts (POSIX, 8.2). */
static bool is_utf8(void)
{
    static const char *const variables[] = {"LC_ALL", "LC_CTYPE", "LANG"};
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++) {
        const char *locale = getenv(variables[i]), *charset = locale ? strchr(locale, '.') : NULL;
        if (locale && *locale)
            return charset &&
                   (strncasecmp(charset, ".utf-8", 6) == 0 || strncasecmp(charset, ".utf8", 5) == 0);
    }
    return false;
}

enum ll_bar_cells ll_output_bars(void)
{
    bool page = output.format == LL_FORMAT_TEXT && held_width == 0 && isatty(STDOUT_FILENO) == 1;
    return page && is_utf8() ? LL_BAR_BLOCKS : LL_BAR_ASCII;
}

/* Lines of prose become as long as the screen is wide, and marks become colours. */
static void paint(struct ll_str *text)
{
    struct ll_str wrapped = {0}, out = {0};
    if (text->failed || !text->text)
        return;
    if (output.format == LL_FORMAT_MARKDOWN) {
        ll_add_markdown(text->text, &out);
        ll_str_release(text);
        *text = out;
        return;
    }
    ll_wrap_all(text->text, ll_terminal_width(), &wrapped);
    if (!wrapped.failed && wrapped.text)
        ll_add_painted(wrapped.text, has_colour(), &out);
    out.failed |= wrapped.failed;
    ll_str_release(&wrapped);
    ll_str_release(text);
    *text = out;
}

static int print_bytes(struct ll_str *text);

int ll_print(struct ll_str *text)
{
    if (prints_json())
        return ll_print_data(text);
    paint(text);
    return print_bytes(text);
}

int ll_print_data(struct ll_str *text)
{
    if (output.old_keys)
        add_old_keys(output.old_keys, text);
    if (!text->failed && text->length)
        ll_hide_controls(text->text, text->length);
    if (output.format == LL_FORMAT_CSV && !text->failed && text->length && text->text[0] == '{') {
        struct ll_str rows = {0};
        rows.failed |= !ll_document_csv(text->text, text->length, output.rows, output.top, &rows);
        ll_str_release(text);
        *text = rows;
    }
    return print_bytes(text);
}

static int print_bytes(struct ll_str *text)
{
    bool whole = !text->failed && !ll_memory_ran_out(), written = whole;
    errno = 0;
    if (kept) {
        if (whole && text->length)
            ll_str_add_bytes(&kept->printed, text->text, text->length);
        ll_str_release(text);
        return whole && !kept->printed.failed ? LL_DONE : ll_cli_fail("memory ran out");
    }
    if (whole && text->length)
        written = fwrite(text->text, 1, text->length, stdout) == text->length;
    written = fflush(stdout) == 0 && written;
    ll_str_release(text);
    if (!whole)
        return ll_cli_fail("memory ran out");
    return written ? LL_DONE : ll_cli_fail("standard output cannot be written: %s", strerror(errno));
}

bool ll_make_folder(const char *path)
{
    struct stat there;
    if (mkdir(path, 0777) == 0 || (errno == EEXIST && stat(path, &there) == 0 && S_ISDIR(there.st_mode)))
        return true;
    ll_cli_fail("%s: %s", path, errno == EEXIST ? "this is no folder" : strerror(errno));
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
        ll_cli_fail("%s: %s", path, strerror(errno));
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
        ll_cli_fail("%s is a trace or a database: nothing is written over it", path);
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
        ll_cli_fail("%s: %s", path, ll_status_text(status));
    return status == LL_OK;
}

bool ll_hold_streams(void)
{
    for (int stream = STDIN_FILENO; stream <= STDERR_FILENO; stream++)
        if (fcntl(stream, F_GETFD) < 0 && open("/dev/null", O_RDWR) != stream) /* the lowest that is free */
            return false;
    return true;
}

/* Of the first of these that is a terminal: standard output, standard error, the one that the program was
 * started from. The last two know the width for a pager that reads what is printed. */
static long terminal_width(void)
{
    struct winsize size;
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 || ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0)
        return size.ws_col;
    int terminal = open("/dev/tty", O_RDONLY | O_NOCTTY | O_CLOEXEC);
    bool known = terminal >= 0 && ioctl(terminal, TIOCGWINSZ, &size) == 0;
    if (terminal >= 0)
        close(terminal);
    return known ? size.ws_col : 0;
}

unsigned ll_terminal_width(void)
{
    const char *columns = getenv("COLUMNS");
    long width = columns ? strtol(columns, NULL, 10) : 0;
    width = width < 20 ? terminal_width() : width;
    return width >= 20 && width <= 1000 ? (unsigned)width : 80;
}

void ll_hold_screen_width(unsigned columns)
{
    held_width = columns;
}

unsigned ll_screen_width(void)
{
    if (held_width)
        return held_width;
    return output.format == LL_FORMAT_MARKDOWN ? LL_MARKDOWN_WIDTH : ll_terminal_width();
}

/* What long commands share: interrupts, progress on the terminal. */

static volatile sig_atomic_t interrupted;

static void interrupt(int number)
{
    (void)number;
    interrupted = 1;
}

const volatile sig_atomic_t *ll_catch_interrupts(void)
{
    struct sigaction action = {.sa_handler = interrupt, .sa_flags = SA_RESETHAND};
    if (kept)
        return kept->stop;
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    return &interrupted;
}

static char last_words[512], half_done[4096]; /* of ll_on_interrupt */

static void end_interrupted(int number)
{
    if (half_done[0])
        unlink(half_done);
    ssize_t written = write(STDERR_FILENO, last_words, strlen(last_words));
    (void)written;
    raise(number); /* nobody catches it a second time */
}

void ll_on_interrupt(const char *part, const char *format, ...)
{
    struct sigaction action = {.sa_handler = end_interrupted, .sa_flags = SA_RESETHAND};
    sigset_t both, before;
    va_list arguments;
    if (kept) /* signals are the process's own */
        return;
    sigemptyset(&both);
    sigaddset(&both, SIGINT);
    sigaddset(&both, SIGTERM);
    sigprocmask(SIG_BLOCK, &both, &before); /* the words are whole when they are written */
    char words[sizeof last_words];
    va_start(arguments, format);
    ll_vsnprintf(words, sizeof words, format, arguments);
    va_end(arguments);
    ll_hide_controls(words, strlen(words));
    snprintf(last_words, sizeof last_words, "%sleadline: interrupted: %.400s\n",
             isatty(STDERR_FILENO) == 1 ? "\n" : "", words);
    snprintf(half_done, sizeof half_done, "%s", part ? part : "");
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    sigprocmask(SIG_SETMASK, &before, NULL);
}

enum { SHOWN_NS = 200000000 };
static const uint64_t LOGGED_NS = 10000000000;

struct ll_ticker ll_ticker_new(bool reports)
{
    bool terminal = isatty(STDERR_FILENO) == 1;
    reports = reports && !kept;
    uint64_t now_ns = ll_now_ns();
    return (struct ll_ticker){.terminal = reports && terminal,
                              .log = reports && !terminal,
                              .began_ns = now_ns,
                              .reported_ns = terminal ? 0 : now_ns};
}

void ll_ticker_clear(const struct ll_ticker *ticker)
{
    if (ticker->terminal) /* spaces: an escape sequence is not for every terminal */
        fprintf(stderr, "\r%*s\r", (int)ll_terminal_width() - 1, "");
}

void ll_ticker_tell(struct ll_ticker *ticker, const char *what, double done, double left_s,
                    const char *format, ...)
{
    if (!ticker->terminal && !ticker->log)
        return;
    const uint64_t now_ns = ll_now_ns(), since_ns = now_ns - ticker->reported_ns;
    const double passed_s = (double)(now_ns - ticker->began_ns) * 1e-9;
    if (ticker->log ? since_ns < LOGGED_NS : since_ns < SHOWN_NS && !(done >= 1))
        return;
    ticker->reported_ns = now_ns;
    struct ll_str line = {0};
    struct ll_human left;
    va_list arguments;
    ll_str_addf(&line, "%s", what);
    if (done >= 0)
        ll_str_addf(&line, "  %.0f %%", 100 * done);
    ll_str_add(&line, *format ? "  " : "");
    va_start(arguments, format);
    ll_str_addv(&line, format, arguments);
    va_end(arguments);
    if (isnan(left_s) && done > 0 && done < 1 && passed_s > 1)
        left_s = passed_s / done * (1 - done);
    if (left_s >= 0 && !(done >= 1))
        ll_str_addf(&line, "  %s left", ll_format_si(&left, left_s, "s"));
    ll_ticker_clear(ticker);
    size_t most = ticker->terminal ? ll_terminal_width() - 1 : line.length;
    fprintf(stderr, "%.*s%s", (int)ll_min(most, line.length), line.text ? line.text : "",
            ticker->log ? "\n" : "");
    fflush(stderr);
    ll_str_release(&line);
}

void ll_command_lines(const char *command, unsigned width, struct ll_str *out)
{
    const char *line = command, *last = NULL; /* the last space at which the line may end */
    bool quoted = false, last_quoted = false;
    for (const char *at = command; *at; at++) {
        quoted ^= *at == '\'';
        if (*at == ' ' && (quoted || at[1] == '-')) {
            last = at;
            last_quoted = quoted;
        }
        if ((size_t)(at - line) + sizeof "   \\" > width && last) {
            ll_str_addf(out, "%s%.*s%s\n", line > command ? "  " : "", (int)(last - line), line,
                        last_quoted ? "" : " \\");
            line = last + 1;
            last = NULL;
        }
    }
    ll_str_addf(out, "%s%s\n", line > command ? "  " : "", line);
}
