/* SPDX-License-Identifier: Apache-2.0 */
/* What every command needs: parsing its options, help, values of options, names of version 0.1, and the check
 * that no output overwrites an input or another output. */
#define _POSIX_C_SOURCE 200809L
#include "sim/cli/command.h"

#include <assert.h>
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "sim/machine/quantity.h"
#include "sim/report/table.h"
#include "tracer/base/file.h"
#include "tracer/base/str.h"

/* Help is for reading: its lines are shorter than a wide screen's. */
enum { MOST_OPTIONS = 128, MOST_HELP_WIDTH = 100, OPTION_WIDTH = 28 };

/* What getopt knows long options by, past all letters: where two rows look the same to it, it takes the
 * beginning of both for the first. */
enum { FIRST_LONG = 256 };

static const struct ll_option common[] = {
    {"json", 0, NULL,
     "one JSON document; --json=0.1 also has the keys of version 0.1 that have other names now"},
    {"format", 0, "FORMAT", "text (default), csv, json (the same as --json) or markdown"},
    {"top", 0, "N", "rows of each table"},
    {"color", 0, "WHEN",
     "colours: auto (default: on a terminal, unless NO_COLOR is set or TERM is dumb), always, never"},
    {"help", 'h', NULL, "this page"},
    {0},
};

static bool has_option(const struct ll_option *rows, const char *name)
{
    for (; rows && rows->name; rows++)
        if (strcmp(rows->name, name) == 0)
            return true;
    return false;
}

/* Whether a command takes a common option: not one of which it says in its own words what it does, not --top
 * where it would cut nothing, and no format where what it prints is JSON by nature. */
static bool takes(const struct ll_command *command, const char *name)
{
    if (has_option(command->options, name))
        return false;
    if (strcmp(name, "format") == 0)
        return !has_option(command->options, "json");
    return strcmp(name, "top") != 0 || command->cuts_tables;
}

const struct ll_option *ll_option_at(const struct ll_command *command, size_t i)
{
    for (const struct ll_option *option = command->options; option && option->name; option++)
        if (i-- == 0)
            return option;
    for (const struct ll_option *option = common; option->name; option++)
        if (takes(command, option->name) && i-- == 0)
            return option;
    return NULL;
}

static void add_option_help(const struct ll_option *option, unsigned width, struct ll_str *out)
{
    char left[64];
    snprintf(left, sizeof left, "%c%c%s --%s%s%s", option->letter ? '-' : ' ',
             option->letter ? option->letter : ' ', option->letter ? "," : " ", option->name,
             option->value ? " " : "", option->value ? option->value : "");
    ll_str_addf(out, "  %-*s", OPTION_WIDTH, left);
    ll_wrap_behind(out, 2 + OPTION_WIDTH, option->help, 2 + OPTION_WIDTH + 1, width);
}

static void add_options_help(const struct ll_command *command, unsigned width, struct ll_str *out)
{
    for (const struct ll_option *option = command->options; option && option->name; option++)
        add_option_help(option, width, out);
    for (const struct ll_option *option = common; option->name; option++)
        if (takes(command, option->name))
            add_option_help(option, width, out);
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
    add_options_help(command, width, &out);
    return ll_print(&out);
}

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

static const char *old_option(const char *command, const char *option, size_t i);
static const char *kind_of_old(const char *command, const char *given);

static void add_option(struct parser *parser, const struct ll_command *command,
                       const struct ll_option *option)
{
    bool is_json = strcmp(option->name, "json") == 0;
    int argument = option->value ? required_argument : is_json ? optional_argument : no_argument;
    add_spelling(parser, option, option->name, argument);
    for (size_t i = 0; old_option(command->name, option->name, i); i++)
        add_spelling(parser, option, old_option(command->name, option->name, i), argument);
    for (size_t i = 0; command->aliases && command->aliases[i][0]; i++)
        if (strcmp(command->aliases[i][1], option->name) == 0)
            add_spelling(parser, option, command->aliases[i][0], argument);
    char *end = parser->letters + strlen(parser->letters);
    if (option->letter)
        snprintf(end, 3, "%c%s", option->letter, option->value ? ":" : "");
}

static void add_options(struct parser *parser, const struct ll_command *command)
{
    for (const struct ll_option *option = command->options; option && option->name; option++)
        add_option(parser, command, option);
    for (const struct ll_option *option = common; option->name; option++)
        if (takes(command, option->name))
            add_option(parser, command, option);
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

/* The place of a word in a list that NULL ends; its length where it is none of them. */
static size_t place_in(const char *const *words, const char *word)
{
    size_t i = 0;
    while (words[i] && strcmp(words[i], word) != 0)
        i++;
    return i;
}

/* What the common options say of the output. CSV is made of the JSON document. */
static int read_output(const struct ll_args *args, struct ll_output *output)
{
    static const char *const times[] = {"auto", "always", "never", NULL}, *const formats[] = {
                                                                              "text", "csv", "json",
                                                                              "markdown", NULL};
    const char *version = ll_value(args, "json", NULL), *format = ll_value(args, "format", NULL),
               *when = ll_value(args, "color", "auto");
    output->rows = args->command->rows;
    output->colour = (enum ll_colour)place_in(times, when);
    if (output->colour > LL_COLOUR_NEVER)
        return ll_cli_reject("--color %s: expected auto, always or never", when);
    if (version && strcmp(version, "0.1") != 0 && strcmp(version, "0.2") != 0)
        return ll_cli_reject("--json=%s: expected 0.1 or 0.2, or no version", version);
    output->old_keys = version && strcmp(version, "0.1") == 0 ? args->command->name : NULL;
    output->format = format ? (enum ll_page_format)place_in(formats, format) : LL_FORMAT_TEXT;
    if (output->format > LL_FORMAT_MARKDOWN)
        return ll_cli_reject("--format %s: expected text, csv, json or markdown", format);
    if (ll_flag(args, "json") && format && output->format != LL_FORMAT_JSON)
        return ll_cli_reject("--json and --format %s are two formats; only one can count", format);
    if (ll_flag(args, "json"))
        output->format = LL_FORMAT_JSON;
    if (!ll_value(args, "top", NULL))
        return LL_DONE;
    if (output->format == LL_FORMAT_JSON && !has_option(args->command->options, "top"))
        return ll_cli_reject("--top is for tables; a JSON document is whole");
    return ll_value_count(args, "top", 1, UINT64_MAX, 0, &output->top) ? LL_DONE : LL_WRONG;
}

/* --format json and csv are --json to commands: the option is added to what was given. */
static void add_json(struct ll_args *args, struct ll_given *given, const struct ll_output *output)
{
    const struct ll_option *json = common;
    assert(strcmp(json->name, "json") == 0);
    if (!ll_flag(args, "json") && (output->format == LL_FORMAT_JSON || output->format == LL_FORMAT_CSV))
        given[args->given_count++] = (struct ll_given){json, NULL};
}

static bool is_alias(const struct ll_command *command, const char *spelling)
{
    for (size_t i = 0; command->aliases && command->aliases[i][0]; i++)
        if (strcmp(command->aliases[i][0], spelling) == 0)
            return true;
    return false;
}

/* One message for an old spelling; it is read on for one minor version. */
static void report_old_spelling(const struct parser *parser, const struct ll_command *command, int letter)
{
    if (letter < FIRST_LONG)
        return;
    const char *name = parser->options[letter - FIRST_LONG]->name,
               *given = parser->long_options[letter - FIRST_LONG].name,
               *kind = kind_of_old(command->name, given);
    if (strcmp(name, given) != 0 && !is_alias(command, given))
        ll_cli_warn("--%s is now --%s%s%s; the old name will not be read from version 0.3 on", given, name,
                    kind ? " FILE --kind " : "", kind ? kind : "");
}

static const struct ll_option *by_name(const struct parser *parser, const char *name)
{
    for (size_t i = 0; i < parser->count; i++)
        if (strcmp(parser->options[i]->name, name) == 0)
            return parser->options[i];
    return NULL;
}

/* The kind of figure that an old option asked for by its own name; an option NULL where this is none. */
static struct ll_given kind_given(const struct parser *parser, const char *command, int letter)
{
    const char *kind =
        letter >= FIRST_LONG ? kind_of_old(command, parser->long_options[letter - FIRST_LONG].name) : NULL;
    return (struct ll_given){kind ? by_name(parser, "kind") : NULL, kind};
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
    add_options(&parser, command);
    struct ll_given *given = ll_alloc(arena, 2 * (size_t)argc + 1, sizeof *given), kind;
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
        report_old_spelling(&parser, command, letter);
        given[given_count++] = (struct ll_given){option, optarg};
        if ((kind = kind_given(&parser, command->name, letter)).option)
            given[given_count++] = kind;
    }
    bool dashes = strcmp(argv[optind - 1], "--") == 0 && argv[optind - 1] != optarg;
    struct ll_args args = {.command = command,
                           .given = given,
                           .given_count = given_count,
                           .words = (const char *const *)argv + optind,
                           .word_count = (size_t)(argc - optind),
                           .dashes = dashes,
                           .arena = arena};
    struct ll_output output = {.top = 0};
    int status = read_output(&args, &output);
    add_json(&args, given, &output);
    ll_output_set(&output);
    if (status == LL_DONE)
        status = check_words(command, &args);
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

/* Options and words that another program gives. */

static size_t count_texts(const char *const *texts)
{
    size_t count = 0;
    while (texts && texts[count])
        count++;
    return count;
}

/* "name=value" or "name", with dashes before it or without; the letter of an option is a name, too. */
static int take_option(const struct parser *parser, const struct ll_command *command, const char *text,
                       struct ll_given *given)
{
    const char *name = text + strspn(text, "-"), *equals = strchr(name, '=');
    size_t length = equals ? (size_t)(equals - name) : strlen(name);
    const struct ll_option *option = length == 1 ? by_letter(parser, name[0]) : NULL;
    for (size_t i = 0; i < parser->count && !option; i++)
        if (strlen(parser->options[i]->name) == length &&
            strncmp(parser->options[i]->name, name, length) == 0)
            option = parser->options[i];
    if (!option)
        return complain_option(parser, command, text, false);
    if (!option->value != !equals && strcmp(option->name, "json") != 0)
        return ll_cli_reject(option->value ? "%s needs a value, as in %s=%s" : "%s takes no value",
                             option->name, option->name, option->value);
    *given = (struct ll_given){option, equals ? equals + 1 : NULL};
    return LL_DONE;
}

int ll_args_of(const struct ll_command *command, const char *const *options, const char *const *words,
               struct ll_arena *arena, struct ll_args *args)
{
    struct parser parser = {.letters = ":"};
    size_t count = count_texts(options);
    struct ll_given *given = ll_alloc(arena, count + 2, sizeof *given);
    const char **copies = ll_alloc(arena, count_texts(words) + 1, sizeof *copies);
    if (!given || !copies)
        return ll_cli_fail("memory ran out");
    add_options(&parser, command);
    *args = (struct ll_args){.command = command,
                             .given = given,
                             .words = copies,
                             .word_count = count_texts(words),
                             .arena = arena};
    for (size_t i = 0; i < args->word_count; i++)
        copies[i] = words[i];
    for (size_t i = 0; i < count; i++)
        if (take_option(&parser, command, options[i], &given[args->given_count++]) != LL_DONE)
            return LL_WRONG;
    if (!ll_flag(args, "json") && !ll_value(args, "format", NULL))
        given[args->given_count++] = (struct ll_given){common, NULL};
    struct ll_output output = {.top = 0};
    int status = read_output(args, &output);
    add_json(args, given, &output);
    ll_output_set(&output);
    if (status == LL_DONE)
        status = check_words(command, args);
    return status == LL_DONE ? check_given(command, args) : status;
}

int ll_command_ask(const struct ll_command *command, const char *const *options, const char *const *words)
{
    struct ll_arena arena = {0};
    struct ll_args args;
    int status = ll_args_of(command, options, words, &arena, &args);
    status = status == LL_DONE ? command->run(&args) : status;
    ll_arena_release(&arena);
    return status;
}

const char *ll_value_at(const struct ll_args *args, const char *name, size_t i)
{
    assert(has_option(common, name) || has_option(args->command->options, name));
    for (size_t g = 0; g < args->given_count; g++)
        if (strcmp(args->given[g].option->name, name) == 0 && i-- == 0)
            return args->given[g].value;
    return NULL;
}

bool ll_flag(const struct ll_args *args, const char *name)
{
    assert(has_option(common, name) || has_option(args->command->options, name));
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

/* Names of version 0.1: commands and options (old_names.def); keys of JSON are output.c's. */

enum old_kind { OLD_COMMAND, OLD_OPTION };

struct old_name {
    enum old_kind what;
    const char *command; /* whose option it is; "" for that of all commands */
    const char *old, *name;
    const char *kind; /* of the figure that an option drew; NULL: it did not */
};

static const struct old_name old_names[] = {
#define LL_OLD_COMMAND(old, name) {OLD_COMMAND, "", old, name, NULL},
#define LL_OLD_OPTION(command, old, name) {OLD_OPTION, command, old, name, NULL},
#define LL_OLD_FIGURE(command, old, kind) {OLD_OPTION, command, old, "figure", kind},
#define LL_OLD_KEY(command, old, name)
#include "sim/cli/old_names.def"
#undef LL_OLD_COMMAND
#undef LL_OLD_OPTION
#undef LL_OLD_FIGURE
#undef LL_OLD_KEY
};
enum { OLD_NAME_COUNT = sizeof old_names / sizeof *old_names };

const char *ll_new_command(const char *old)
{
    for (size_t i = 0; i < OLD_NAME_COUNT; i++)
        if (old_names[i].what == OLD_COMMAND && strcmp(old_names[i].old, old) == 0)
            return old_names[i].name;
    return NULL;
}

static bool is_of(const struct old_name *row, const char *command)
{
    return row->command[0] == '\0' || strcmp(row->command, command) == 0;
}

/* What version 0.1 called this option of a command; NULL where it had no further name. */
static const char *old_option(const char *command, const char *option, size_t i)
{
    for (size_t n = 0; n < OLD_NAME_COUNT; n++)
        if (old_names[n].what == OLD_OPTION && is_of(&old_names[n], command) &&
            strcmp(old_names[n].name, option) == 0 && i-- == 0)
            return old_names[n].old;
    return NULL;
}

/* Of which kind a figure was that this option drew; NULL: it drew none, or is no old option. */
static const char *kind_of_old(const char *command, const char *given)
{
    for (size_t n = 0; n < OLD_NAME_COUNT; n++)
        if (old_names[n].what == OLD_OPTION && is_of(&old_names[n], command) &&
            strcmp(old_names[n].old, given) == 0)
            return old_names[n].kind;
    return NULL;
}

/* Output files, none of which is written twice or also read. */

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
    {"PMIX_RANK", "PMIX_SIZE", false}, /* any other that speaks PMIx, which has no size */
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
