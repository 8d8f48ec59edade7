/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/cli/parse.h"

#include <assert.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "sim/cli/outputs.h"
#include "sim/report/table.h"

/* Help is for reading: its lines are shorter than a wide screen's. */
enum { MOST_OPTIONS = 64, MOST_HELP_WIDTH = 100, OPTION_WIDTH = 28 };

/* What getopt tells long options by, past all letters: where two rows look the same to it, it takes the
 * beginning of both for the first. */
enum { FIRST_LONG = 256 };

static const struct ll_option common[] = {
    {"json", 0, NULL, "one JSON document"},
    {"help", 'h', NULL, "this page"},
    {0},
};

/* A command may tell in its own words what a common option does. */
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

static int print_command_help(const struct ll_command *command)
{
    struct ll_str out = {0};
    unsigned width = ll_screen_width() < MOST_HELP_WIDTH ? ll_screen_width() : MOST_HELP_WIDTH;
    ll_str_addf(&out, "%s\n\nleadline %s %s\n\n%s\n", command->summary, command->name, command->synopsis,
                command->examples);
    if (command->details)
        add_details(command->details, width, &out);
    ll_str_add(&out, "Options:\n");
    add_options_help(command->options, NULL, width, &out);
    add_options_help(common, command->options, width, &out);
    return ll_print(&out);
}

/* The command's rows and the common ones, for getopt: options[i] belongs to long_options[i]. */
struct parser {
    const struct ll_option *options[MOST_OPTIONS];
    struct option long_options[MOST_OPTIONS + 1];
    char letters[3 * MOST_OPTIONS + 3];
    size_t count;
};

static void add_options(struct parser *parser, const struct ll_option *option, const struct ll_option *but)
{
    for (; option && option->name; option++) {
        if (is_told(but, option->name))
            continue;
        assert(parser->count < MOST_OPTIONS);
        parser->long_options[parser->count] =
            (struct option){option->name, option->value ? required_argument : no_argument, NULL,
                            FIRST_LONG + (int)parser->count};
        parser->options[parser->count++] = option;
        char *end = parser->letters + strlen(parser->letters);
        if (option->letter)
            snprintf(end, 3, "%c%s", option->letter, option->value ? ":" : "");
    }
}

static int complain_option(const struct parser *parser, const struct ll_command *command, const char *text,
                           bool lacks_value)
{
    if (lacks_value)
        return ll_wrong("%s needs a value; see leadline %s --help", text, command->name);
    const char *names[MOST_OPTIONS], *word = text + strspn(text, "-");
    int length = (int)strcspn(word, "="), beginning = 0;
    struct ll_str longer = {0};
    for (size_t i = 0; i < parser->count; i++) {
        names[i] = parser->options[i]->name;
        if (text[1] == '-' && length > 0 && strncmp(names[i], word, (size_t)length) == 0)
            ll_str_addf(&longer, "%s--%s", beginning++ ? ", " : "", names[i]);
    }
    char lister[64];
    snprintf(lister, sizeof lister, "leadline %s --help", command->name);
    int status = beginning > 1 && !longer.failed
                     ? ll_wrong("--%.*s begins several options: %s", length, word, longer.text)
                     : ll_unknown("option", word, names, parser->count, lister);
    ll_str_release(&longer);
    return status;
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
    return ll_wrong("%s; expected leadline %s %s, see leadline %s --help", trouble, command->name,
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

static int check_given(const struct ll_command *command, const struct ll_args *args)
{
    for (size_t i = 0; i < args->given_count; i++) {
        const struct ll_option *option = args->given[i].option;
        for (size_t j = 0; j < i; j++)
            if (sets_the_same(&args->given[i], &args->given[j]))
                return ll_wrong("--%s sets the same twice, as %s and %s; only one can count", option->name,
                                args->given[j].value, args->given[i].value);
        if (ll_value_at(args, option->name, 1) && !may_repeat(command, option))
            return ll_wrong("--%s is given twice, as %s and %s; only one can count", option->name,
                            ll_value_at(args, option->name, 0), ll_value_at(args, option->name, 1));
    }
    return ll_outputs_are_sound(args) ? LL_DONE : LL_WRONG;
}

static int parse_and_run(const struct ll_command *command, int argc, char **argv, struct ll_arena *arena)
{
    struct parser parser = {.letters = ":"};
    add_options(&parser, command->options, NULL);
    add_options(&parser, common, command->options);
    struct ll_given *given = ll_alloc(arena, (size_t)argc + 1, sizeof *given);
    if (!given)
        return ll_failed("memory ran out");
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
        status = check_given(command, &args);
    return status == LL_DONE ? command->run(&args) : status;
}

int ll_command_run(const struct ll_command *command, int argc, char **argv)
{
    struct ll_arena arena = {0};
    int status = parse_and_run(command, argc, argv, &arena);
    ll_arena_release(&arena);
    return status;
}
