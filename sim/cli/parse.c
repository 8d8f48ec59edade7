/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/cli/parse.h"

#include <assert.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "sim/report/human.h"

/* Help is for reading: its lines are shorter than a wide screen's. */
enum { MOST_OPTIONS = 64, MOST_HELP_WIDTH = 100, OPTION_WIDTH = 28 };

static const struct ll_option common[] = {
    {"json", 0, NULL, "one JSON document"},
    {"help", 'h', NULL, "this page"},
    {0},
};

static void add_options_help(const struct ll_option *option, unsigned width, struct ll_str *out)
{
    for (; option && option->name; option++) {
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
    add_options_help(command->options, width, &out);
    add_options_help(common, width, &out);
    return ll_print(&out);
}

/* The command's rows and the common ones, for getopt: options[i] belongs to long_options[i]. */
struct parser {
    const struct ll_option *options[MOST_OPTIONS];
    struct option long_options[MOST_OPTIONS + 1];
    char letters[3 * MOST_OPTIONS + 3];
    size_t count;
};

static void add_options(struct parser *parser, const struct ll_option *option)
{
    for (; option && option->name; option++) {
        assert(parser->count < MOST_OPTIONS);
        parser->long_options[parser->count] =
            (struct option){option->name, option->value ? required_argument : no_argument, NULL, 0};
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
    const char *names[MOST_OPTIONS];
    for (size_t i = 0; i < parser->count; i++)
        names[i] = parser->options[i]->name;
    char lister[64];
    snprintf(lister, sizeof lister, "leadline %s --help", command->name);
    return ll_unknown("option", text + strspn(text, "-"), names, parser->count, lister);
}

static const struct ll_option *by_letter(const struct parser *parser, int letter)
{
    for (size_t i = 0; i < parser->count; i++)
        if (parser->options[i]->letter == letter)
            return parser->options[i];
    return NULL;
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

static int check_given(const struct ll_command *command, const struct ll_args *args)
{
    for (size_t i = 0; i < args->given_count; i++) {
        const struct ll_option *option = args->given[i].option;
        if (ll_value_at(args, option->name, 1) && !may_repeat(command, option))
            return ll_wrong("--%s is given twice, as %s and %s; only one can count", option->name,
                            ll_value_at(args, option->name, 0), ll_value_at(args, option->name, 1));
    }
    return LL_DONE;
}

static int parse_and_run(const struct ll_command *command, int argc, char **argv, struct ll_arena *arena)
{
    struct parser parser = {.letters = ":"};
    add_options(&parser, command->options);
    add_options(&parser, common);
    struct ll_given *given = ll_alloc(arena, (size_t)argc + 1, sizeof *given);
    if (!given)
        return ll_failed("memory ran out");
    size_t given_count = 0;
    opterr = 0;
    for (int letter, which = 0;
         (letter = getopt_long(argc, argv, parser.letters, parser.long_options, &which)) != -1;) {
        if (letter == '?' || letter == ':')
            return complain_option(&parser, command, argv[optind - 1], letter == ':');
        const struct ll_option *option = letter ? by_letter(&parser, letter) : parser.options[which];
        if (strcmp(option->name, "help") == 0)
            return print_command_help(command);
        given[given_count++] = (struct ll_given){option, optarg};
    }
    bool dashes = strcmp(argv[optind - 1], "--") == 0 && argv[optind - 1] != optarg;
    struct ll_args args = {given,  given_count, (const char *const *)argv + optind, (size_t)(argc - optind),
                           dashes, arena};
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
