/* SPDX-License-Identifier: Apache-2.0 */
/* What every command needs: parsing its options, help, values of options, messages, writing files; the
 * names of version 0.1; interrupts, progress, and the check that no output overwrites an input or another
 * output. */
#define _POSIX_C_SOURCE 200809L
#include "sim/cli/command.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sim/machine/quantity.h"
#include "sim/report/table.h"
#include "tracer/base/clock.h"
#include "tracer/base/file.h"
#include "tracer/base/str.h"
#include "tracer/format/format.h"

/* Help is for reading: its lines are shorter than a wide screen's. */
enum { MOST_OPTIONS = 64, MOST_HELP_WIDTH = 100, OPTION_WIDTH = 28 };

/* What getopt tells long options by, past all letters: where two rows look the same to it, it takes the
 * beginning of both for the first. */
enum { FIRST_LONG = 256 };

static const struct ll_option common[] = {
    {"json", 0, NULL,
     "one JSON document; --json=0.1 also has the keys of version 0.1 that have other names now"},
    {"help", 'h', NULL, "this page"},
    {0},
};

/* Whether these rows have an option of this name. A command may tell in its own words what a common option
 * does. */
static bool is_told(const struct ll_option *own, const char *name)
{
    for (; own && own->name; own++)
        if (strcmp(own->name, name) == 0)
            return true;
    return false;
}

static void add_options_help(const struct ll_option *option, const struct ll_option *but, unsigned width,
                             struct ll_str *out)
{
    for (; option && option->name; option++) {
        if (is_told(but, option->name))
            continue;
        char left[64];
        snprintf(left, sizeof left, "%c%c%s --%s%s%s", option->letter ? '-' : ' ',
                 option->letter ? option->letter : ' ', option->letter ? "," : " ", option->name,
                 option->value ? " " : "", option->value ? option->value : "");
        ll_str_addf(out, "  %-*s", OPTION_WIDTH, left);
        ll_wrap_behind(out, 2 + OPTION_WIDTH, option->help, 2 + OPTION_WIDTH + 1, width);
    }
}

/* Each line of the details is a paragraph, or an item of a list when spaces lead it. */
static void add_details(const char *details, unsigned width, struct ll_str *out)
{
    while (*details) {
        size_t length = strcspn(details, "\n"), leading = strspn(details, " ");
        size_t before = leading ? leading - 1 : 0; /* the first word brings one space itself */
        struct ll_str line = {0};
        ll_str_add_bytes(&line, details + leading, length - leading);
        ll_str_addf(out, "%*s", (int)before, "");
        ll_wrap_behind(out, before, line.text ? line.text : "", leading ? (unsigned)leading + 2 : 0, width);
        ll_str_release(&line);
        details += length + (details[length] == '\n');
    }
    ll_str_add(out, "\n");
}

/* A command that is wider than the screen goes on behind a backslash, so that it can be pasted; what is said
 * of it, behind three spaces, stands below then. */
static void add_example(const char *line, size_t length, unsigned width, struct ll_str *out)
{
    enum { INDENT = 6 };
    const char *remark = NULL;
    for (size_t i = strspn(line, " "); i + 3 < length && !remark; i++)
        remark = strncmp(line + i, "   ", 3) == 0 ? line + i : NULL;
    if (length <= width || (remark && (size_t)(remark - line) > width)) {
        ll_str_add_bytes(out, line, length);
        ll_str_add(out, "\n");
        return;
    }
    size_t command = remark ? (size_t)(remark - line) : length;
    for (size_t room = width - 2; command > room; room = width - 2 - INDENT) {
        size_t cut = room;
        while (cut > 0 && line[cut] != ' ')
            cut--;
        if (cut == 0)
            break;
        ll_str_add_bytes(out, line, cut);
        ll_str_addf(out, " \\\n%*s", INDENT, "");
        line += cut + 1;
        command -= cut + 1;
    }
    ll_str_add_bytes(out, line, command);
    ll_str_add(out, "\n");
    if (remark) {
        remark += strspn(remark, " ");
        ll_str_addf(out, "%*s%.*s\n", INDENT, "", (int)strcspn(remark, "\n"), remark);
    }
}

static void add_examples(const char *examples, unsigned width, struct ll_str *out)
{
    while (*examples) {
        size_t length = strcspn(examples, "\n");
        add_example(examples, length, width, out);
        examples += length + (examples[length] == '\n');
    }
}

static int print_command_help(const struct ll_command *command)
{
    struct ll_str out = {0};
    unsigned width = ll_screen_width() < MOST_HELP_WIDTH ? ll_screen_width() : MOST_HELP_WIDTH;
    ll_str_addf(&out, "%s\n\nleadline %s %s\n\n", command->summary, command->name, command->synopsis);
    add_examples(command->examples, width, &out);
    ll_str_add(&out, "\n");
    if (command->details)
        add_details(command->details, width, &out);
    ll_str_add(&out, "Options:\n");
    add_options_help(command->options, NULL, width, &out);
    add_options_help(common, command->options, width, &out);
    return ll_print(&out);
}

/* The command whose JSON is printed with the keys of version 0.1 beside those of today; NULL: without. */
static const char *with_old_keys;
static bool prints_json;

/* The command's rows and the common ones, for getopt: options[i] belongs to long_options[i]. An old spelling
 * of an option has an element of its own. */
struct parser {
    const struct ll_option *options[MOST_OPTIONS];
    struct option long_options[MOST_OPTIONS + 1];
    char letters[3 * MOST_OPTIONS + 3];
    size_t count;
};

static void add_spelling(struct parser *parser, const struct ll_option *option, const char *name,
                         int argument)
{
    assert(parser->count < MOST_OPTIONS);
    parser->long_options[parser->count] =
        (struct option){name, argument, NULL, FIRST_LONG + (int)parser->count};
    parser->options[parser->count++] = option;
}

static const char *old_option(const char *command, const char *option);

static void add_options(struct parser *parser, const char *command, const struct ll_option *option,
                        const struct ll_option *but)
{
    for (; option && option->name; option++) {
        if (is_told(but, option->name))
            continue;
        bool is_json = strcmp(option->name, "json") == 0;
        int argument = option->value ? required_argument : is_json ? optional_argument : no_argument;
        add_spelling(parser, option, option->name, argument);
        const char *old = old_option(command, option->name);
        if (old)
            add_spelling(parser, option, old, argument);
        char *end = parser->letters + strlen(parser->letters);
        if (option->letter)
            snprintf(end, 3, "%c%s", option->letter, option->value ? ":" : "");
    }
}

static int complain_option(const struct parser *parser, const struct ll_command *command, const char *text,
                           bool lacks_value)
{
    if (lacks_value)
        return ll_cli_reject("%s needs a value; see leadline %s --help", text, command->name);
    const char *names[MOST_OPTIONS], *word = text + strspn(text, "-");
    int length = (int)strcspn(word, "="), beginning = 0;
    struct ll_str longer = {0};
    for (size_t i = 0; i < parser->count; i++) {
        names[i] = parser->options[i]->name;
        bool is_old = strcmp(names[i], parser->long_options[i].name) != 0;
        if (!is_old && text[1] == '-' && length > 0 && strncmp(names[i], word, (size_t)length) == 0)
            ll_str_addf(&longer, "%s--%s", beginning++ ? ", " : "", names[i]);
    }
    char lister[64];
    snprintf(lister, sizeof lister, "leadline %s --help", command->name);
    int status = beginning > 1 && !longer.failed
                     ? ll_cli_reject("--%.*s begins several options: %s", length, word, longer.text)
                     : ll_cli_reject_unknown("option", word, names, parser->count, lister);
    ll_str_release(&longer);
    return status;
}

/* What --json is given: nothing, or a version. */
static int read_json_version(const struct ll_command *command, const char *version)
{
    if (version && strcmp(version, "0.1") != 0 && strcmp(version, "0.2") != 0)
        return ll_cli_reject("--json=%s: expected 0.1 or 0.2, or no version", version);
    with_old_keys = version && strcmp(version, "0.1") == 0 ? command->name : NULL;
    return LL_DONE;
}

/* One message for an old spelling; it is read on for one minor version. */
static void report_old_spelling(const struct parser *parser, int letter)
{
    if (letter < FIRST_LONG)
        return;
    const char *name = parser->options[letter - FIRST_LONG]->name,
               *given = parser->long_options[letter - FIRST_LONG].name;
    if (strcmp(name, given) != 0)
        ll_cli_warn("--%s is now --%s; the old name will not be read from version 0.3 on", given, name);
}

static const struct ll_option *by_letter(const struct parser *parser, int letter)
{
    for (size_t i = 0; i < parser->count; i++)
        if (parser->options[i]->letter == letter)
            return parser->options[i];
    return NULL;
}

/* Whether a word that was taken for a value is an option: its value was forgotten. A file of such a name is
 * named as ./-c. */
static bool is_option(const struct parser *parser, const char *word)
{
    if (strncmp(word, "--", 2) != 0)
        return word[0] == '-' && strlen(word) == 2 && by_letter(parser, word[1]);
    size_t length = strcspn(word + 2, "=");
    for (size_t i = 0; i < parser->count; i++)
        if (length > 0 && strncmp(parser->options[i]->name, word + 2, length) == 0)
            return true;
    return false;
}

static int check_words(const struct ll_command *command, const struct ll_args *args)
{
    const char *trouble = args->word_count < command->least_words  ? "arguments are missing"
                          : args->word_count > command->most_words ? "too many arguments"
                                                                   : NULL;
    if (!trouble)
        return LL_DONE;
    return ll_cli_reject("%s; expected leadline %s %s, see leadline %s --help", trouble, command->name,
                         command->synopsis, command->name);
}

static bool may_repeat(const struct ll_command *command, const struct ll_option *option)
{
    for (const char *const *name = command->repeated; name && *name; name++)
        if (strcmp(*name, option->name) == 0)
            return true;
    return !option->value;
}

/* Of KEY=VALUE one value counts for a key. */
static bool sets_the_same(const struct ll_given *a, const struct ll_given *b)
{
    size_t length = a->value ? strcspn(a->value, "=") : 0;
    return a->option == b->option && length > 0 && strcmp(a->option->value, "KEY=VALUE") == 0 &&
           strncmp(a->value, b->value, length + 1) == 0 && a->value[length] == '=';
}

static bool outputs_are_sound(const struct ll_args *args);

static int check_given(const struct ll_command *command, const struct ll_args *args)
{
    for (size_t i = 0; i < args->given_count; i++) {
        const struct ll_option *option = args->given[i].option;
        for (size_t j = 0; j < i; j++)
            if (sets_the_same(&args->given[i], &args->given[j]))
                return ll_cli_reject("--%s sets the same twice, as %s and %s; only one can count",
                                     option->name, args->given[j].value, args->given[i].value);
        if (ll_value_at(args, option->name, 1) && !may_repeat(command, option))
            return ll_cli_reject("--%s is given twice, as %s and %s; only one can count", option->name,
                                 ll_value_at(args, option->name, 0), ll_value_at(args, option->name, 1));
    }
    return outputs_are_sound(args) ? LL_DONE : LL_WRONG;
}

/* A word "-" is standard input, which can be read once. The words are those of the command line, replaced in
 * place. */
static int name_standard_input(const struct ll_command *command, char **words, size_t count)
{
    static char standard_input[] = "/dev/stdin";
    size_t dashes = 0;
    for (size_t i = 0; i < count && command->reads_input; i++)
        if (strcmp(words[i], "-") == 0) {
            words[i] = standard_input;
            dashes++;
        }
    return dashes < 2 ? LL_DONE : ll_cli_reject("- is given twice; standard input can be read once");
}

/* getopt over the command's rows and the common ones; then words and values are checked, and the command
 * runs. A value that looks like an option is taken for a forgotten value. */
static int parse_and_run(const struct ll_command *command, int argc, char **argv, struct ll_arena *arena)
{
    struct parser parser = {.letters = ":"};
    assert(command->least_words <= command->most_words);
    add_options(&parser, command->name, command->options, NULL);
    add_options(&parser, command->name, common, command->options);
    struct ll_given *given = ll_alloc(arena, (size_t)argc + 1, sizeof *given);
    if (!given)
        return ll_cli_fail("memory ran out");
    size_t given_count = 0;
    opterr = 0;
    for (int letter; (letter = getopt_long(argc, argv, parser.letters, parser.long_options, NULL)) != -1;) {
        if (letter == '?' || letter == ':')
            return complain_option(&parser, command, argv[optind - 1], letter == ':');
        if (optarg && optarg == argv[optind - 1] && is_option(&parser, optarg))
            return complain_option(&parser, command, argv[optind - 2], true);
        const struct ll_option *option =
            letter >= FIRST_LONG ? parser.options[letter - FIRST_LONG] : by_letter(&parser, letter);
        if (strcmp(option->name, "help") == 0)
            return print_command_help(command);
        report_old_spelling(&parser, letter);
        prints_json |= strcmp(option->name, "json") == 0;
        if (strcmp(option->name, "json") == 0 && read_json_version(command, optarg) != LL_DONE)
            return LL_WRONG;
        given[given_count++] = (struct ll_given){option, optarg};
    }
    bool dashes = strcmp(argv[optind - 1], "--") == 0 && argv[optind - 1] != optarg;
    const struct ll_args args = {.command = command,
                                 .given = given,
                                 .given_count = given_count,
                                 .words = (const char *const *)argv + optind,
                                 .word_count = (size_t)(argc - optind),
                                 .dashes = dashes,
                                 .arena = arena};
    int status = check_words(command, &args);
    if (status == LL_DONE)
        status = name_standard_input(command, argv + optind, args.word_count);
    if (status == LL_DONE)
        status = check_given(command, &args);
    return status == LL_DONE ? command->run(&args) : status;
}

int ll_command_run(const struct ll_command *command, int argc, char **argv)
{
    assert(argc > 0 && argv[0] && command->run);
    struct ll_arena arena = {0};
    int status = parse_and_run(command, argc, argv, &arena);
    ll_arena_release(&arena);
    return status;
}

const char *ll_value_at(const struct ll_args *args, const char *name, size_t i)
{
    assert(is_told(common, name) || is_told(args->command->options, name));
    for (size_t g = 0; g < args->given_count; g++)
        if (strcmp(args->given[g].option->name, name) == 0 && i-- == 0)
            return args->given[g].value;
    return NULL;
}

bool ll_flag(const struct ll_args *args, const char *name)
{
    assert(is_told(common, name) || is_told(args->command->options, name));
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
            ll_cli_reject("--%s %s", *names, why);
            return false;
        }
    return true;
}

bool ll_value_count(const struct ll_args *args, const char *name, uint64_t least, uint64_t most,
                    uint64_t otherwise, uint64_t *count)
{
    assert(least <= most);
    const char *text = ll_value(args, name, NULL);
    *count = otherwise;
    if (!text)
        return true;
    char *end;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    if (errno || end == text || *end || text[0] == '-' || value < least || value > most) {
        ll_cli_reject("--%s %s: expected a whole number from %" PRIu64 " to %" PRIu64, name, text, least,
                      most);
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
    size_t unkept = diags->count;
    for (size_t i = 0; i < diags->kept_count; i++) {
        const struct ll_diag *diag = &diags->kept[i];
        unkept -= !diag->remark;
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
    if (unkept > 0)
        fprintf(stderr, "... and %zu more\n", unkept);
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

static void add_old_keys(const char *command, struct ll_str *text);

/* Lines of prose become as long as the screen is wide. */
static void fit_to_screen(struct ll_str *text)
{
    struct ll_str out = {0};
    if (text->failed || !text->text)
        return;
    ll_wrap_all(text->text, ll_screen_width(), &out);
    ll_str_release(text);
    *text = out;
}

int ll_print(struct ll_str *text)
{
    if (!prints_json)
        fit_to_screen(text);
    return ll_print_data(text);
}

int ll_print_data(struct ll_str *text)
{
    if (with_old_keys)
        add_old_keys(with_old_keys, text);
    bool whole = !text->failed && !ll_memory_ran_out(), written = whole;
    errno = 0;
    if (whole && text->length) {
        ll_hide_controls(text->text, text->length);
        written = fwrite(text->text, 1, text->length, stdout) == text->length;
    }
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

unsigned ll_screen_width(void)
{
    const char *columns = getenv("COLUMNS");
    long width = columns ? strtol(columns, NULL, 10) : 0;
    width = width < 20 ? terminal_width() : width;
    return width >= 20 && width <= 1000 ? (unsigned)width : 80;
}

/* Names of version 0.1: look-ups in old_names.def, and JSON as that version wrote it. The document is
 * copied, and before each member whose key was renamed since stands the same value under its old key.
 * Objects and lists nest, so a copied value is searched for renamed keys as well. */

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

/* What version 0.1 called this option of a command; NULL where it had no other name. */
static const char *old_option(const char *command, const char *option)
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

/* What long commands share: interrupts, progress on the terminal, and output files, none of which is written
 * twice or also read. */

static volatile sig_atomic_t interrupted;

static void interrupt(int number)
{
    (void)number;
    interrupted = 1;
}

const volatile sig_atomic_t *ll_catch_interrupts(void)
{
    struct sigaction action = {.sa_handler = interrupt, .sa_flags = SA_RESETHAND};
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    return &interrupted;
}

enum { EVERY_NS = 200000000 };

struct ll_ticker ll_ticker_new(bool tells)
{
    return (struct ll_ticker){.terminal = tells && isatty(STDERR_FILENO) == 1};
}

void ll_ticker_clear(const struct ll_ticker *ticker)
{
    if (ticker->terminal)
        fputs("\r\033[K", stderr);
}

bool ll_ticker_due(struct ll_ticker *ticker, bool at_end)
{
    uint64_t now_ns = ticker->terminal ? ll_now_ns() : 0;
    if (!ticker->terminal || (!at_end && now_ns - ticker->told_ns < EVERY_NS))
        return false;
    ticker->told_ns = now_ns;
    ll_ticker_clear(ticker);
    return true;
}

static bool is_one_of(const char *const *names, const char *name)
{
    for (; names && *names; names++)
        if (strcmp(*names, name) == 0)
            return true;
    return false;
}

static bool is_same(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* The folder that a file would be in. */
static bool folder_of(const char *path, struct stat *folder)
{
    char text[4096];
    int length = snprintf(text, sizeof text, "%.*s.", (int)(ll_base_name(path) - path), path);
    return length > 0 && (size_t)length < sizeof text && stat(text, folder) == 0;
}

bool ll_is_same_file(const char *a, const char *b)
{
    struct stat there_a, there_b;
    bool has_a = stat(a, &there_a) == 0, has_b = stat(b, &there_b) == 0;
    if (has_a && has_b)
        return S_ISREG(there_a.st_mode) && is_same(&there_a, &there_b);
    if (has_a || has_b)
        return false;
    struct ll_arena arena = {0};
    a = ll_path_target(&arena, a);
    b = ll_path_target(&arena, b);
    bool same = a && b && strcmp(ll_base_name(a), ll_base_name(b)) == 0 && folder_of(a, &there_a) &&
                folder_of(b, &there_b) && is_same(&there_a, &there_b);
    ll_arena_release(&arena);
    return same;
}

/* Variables that launchers set for the processes that they start. Without the number of processes there may
 * be many; but Slurm sets the number only for those that srun has started, not for the script of a job, and
 * torchrun's variables have names that others use too. */
static const struct launcher {
    const char *rank, *size;
    bool sets_size;
} launchers[] = {
    {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", false}, /* Open MPI */
    {"PMI_RANK", "PMI_SIZE", false},                         /* MPICH, Intel MPI, Cray MPICH */
    {"MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE", false},   /* MVAPICH2 */
    {"PALS_RANKID", "PALS_SIZE", false},                     /* HPE Cray */
    {"FLUX_TASK_RANK", "FLUX_JOB_SIZE", false},              /* Flux */
    {"SLURM_PROCID", "SLURM_STEP_NUM_TASKS", true},          /* Slurm */
    {"RANK", "WORLD_SIZE", true},                            /* torchrun */
    {"PMIX_RANK", "PMIX_SIZE", false}, /* any other that speaks PMIx, which tells no size */
};

static bool has_count(const char *variable, uint64_t *count)
{
    const char *value = getenv(variable);
    return value && ll_count_parse(value, count);
}

/* Whether this process is one of several, and which. The first launcher that is known decides: what it rests
 * on, as PMIx, may know less. */
static bool is_rank(uint64_t *rank)
{
    for (size_t i = 0; i < sizeof launchers / sizeof launchers[0]; i++) {
        uint64_t size;
        bool has_size = has_count(launchers[i].size, &size);
        if (has_count(launchers[i].rank, rank) && (has_size || !launchers[i].sets_size))
            return !has_size || size > 1;
    }
    return false;
}

const char *ll_output_of_rank(const char *path, struct ll_arena *arena)
{
    struct stat there;
    uint64_t rank;
    if (!path || !is_rank(&rank) || (stat(path, &there) == 0 && !S_ISREG(there.st_mode)))
        return path;
    size_t length = strlen(path);
    bool ends = length > 4 && strcmp(path + length - 4, ".llt") == 0;
    return ll_format(arena, "%.*s.%" PRIu64 ".llt", (int)(ends ? length - 4 : length), path, rank);
}

/* A file that is read must be there. */
static bool is_read_from(const char *path, const char *named)
{
    struct stat there;
    return stat(named, &there) == 0 && ll_is_same_file(path, named);
}

bool ll_spares_inputs(const struct ll_args *args, const char *what, const char *path)
{
    const char *read = NULL;
    for (size_t i = 0; i < args->word_count && !read; i++)
        read = is_read_from(path, args->words[i]) ? args->words[i] : NULL;
    for (size_t i = 0; i < args->given_count && !read; i++)
        if (is_one_of(args->command->reads, args->given[i].option->name) &&
            is_read_from(path, args->given[i].value))
            read = args->given[i].value;
    if (read)
        ll_cli_reject("%s %s: this is also named as a file to read, %s; nothing is written over it", what,
                      path, read);
    return !read;
}

/* One option, compared with those before it. */
static bool is_sound(const struct ll_args *args, size_t number)
{
    char what[64];
    const struct ll_given *given = &args->given[number];
    snprintf(what, sizeof what, "--%s", given->option->name);
    if (!given->value[0]) {
        ll_cli_reject("%s: the name is empty; expected that of what to write", what);
        return false;
    }
    for (size_t i = 0; i < number; i++)
        if (is_one_of(args->command->writes, args->given[i].option->name) &&
            ll_is_same_file(given->value, args->given[i].value)) {
            ll_cli_reject("--%s and %s name the same file, %s; one of them would be lost",
                          args->given[i].option->name, what, given->value);
            return false;
        }
    return ll_spares_inputs(args, what, given->value);
}

/* Whether every option that names a file to write (ll_command.writes) names one, none that is read, and no
 * two of them the same. False after saying what is wrong. */
static bool outputs_are_sound(const struct ll_args *args)
{
    for (size_t i = 0; i < args->given_count; i++)
        if (is_one_of(args->command->writes, args->given[i].option->name) && !is_sound(args, i))
            return false;
    return true;
}
