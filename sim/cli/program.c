/* SPDX-License-Identifier: Apache-2.0 */
/* The program: finds the command and runs it. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sim/cli/command.h"

#include "sim/report/table.h"

#define LL_COMMAND(word) extern const struct ll_command ll_command_##word;
#include "sim/cli/commands.def"
#undef LL_COMMAND

static const struct ll_command *const commands[] = {
#define LL_COMMAND(word) &ll_command_##word,
#include "sim/cli/commands.def"
#undef LL_COMMAND
};
enum { COMMAND_COUNT = sizeof commands / sizeof commands[0] };

const struct ll_command *ll_command_at(size_t i)
{
    return i < COMMAND_COUNT ? commands[i] : NULL;
}

static void add_help(struct ll_str *out)
{
    ll_str_add(
        out, "Record a deep-learning workload once, then ask any machine how long it would take and why.\n\n"
             "  leadline record alexnet --train --batch 8 -o alexnet.llt\n"
             "  leadline sim -c v100_sxm_16gb -c custom_example alexnet.llt\n\nCommands:\n");
    for (size_t i = 0; i < COMMAND_COUNT; i++)
        ll_str_addf(out, "  %-10s  %s\n", commands[i]->name, commands[i]->summary);
    ll_str_add(out, "\n");
    ll_wrap_behind(
        out, 0,
        "A file that is written replaces one of that name when it is whole, and not before; behind "
        "a symbolic link it is where the link points. leadline help COMMAND describes a command; "
        "leadline --version prints the version.",
        0, ll_screen_width());
}

const struct ll_command *ll_command_find(const char *name)
{
    const char *successor = ll_new_command(name);
    if (successor)
        ll_cli_warn("%s is now %s; the old name will not be read from version 0.3 on", name, successor);
    name = successor ? successor : name;
    const char *names[COMMAND_COUNT];
    for (size_t i = 0; i < COMMAND_COUNT; i++) {
        names[i] = commands[i]->name;
        if (strcmp(name, names[i]) == 0)
            return commands[i];
    }
    ll_cli_reject_unknown("command", name, names, COMMAND_COUNT, "leadline --help");
    return NULL;
}

static bool is_any_of(const char *word, const char *const *words)
{
    while (*words && strcmp(word, *words) != 0)
        words++;
    return *words != NULL;
}

static int answer(int argc, char **argv)
{
    static const char *const help_words[] = {"--help", "-h", "help", NULL};
    static char asked_help[] = "--help";
    static const char *const version_words[] = {"--version", "-V", NULL};
    struct ll_str out = {0};
    if (argc == 3 && strcmp(argv[1], "help") == 0) {
        const struct ll_command *command = ll_command_find(argv[2]);
        char *asked[] = {argv[2], (char[]){"--help"}, NULL};
        return command ? ll_command_run(command, 2, asked) : LL_WRONG;
    }
    if (argc < 2 || is_any_of(argv[1], help_words)) {
        add_help(&out);
        if (argc > 1)
            return ll_print(&out);
        fputs(out.text ? out.text : "", stderr);
        ll_str_release(&out);
        return LL_WRONG;
    }
    if (is_any_of(argv[1], version_words)) {
        ll_str_add(&out, "leadline " LL_VERSION "\n");
        return ll_print(&out);
    }
    const struct ll_command *command = ll_command_find(argv[1]);
    if (argc == 3 && strcmp(argv[2], "help") == 0 && access("help", F_OK) != 0)
        argv[2] = asked_help;
    return command ? ll_command_run(command, argc - 1, argv + 1) : LL_WRONG;
}

/* A reader that went away ends the program quietly, as `| head` expects; a file that may not grow is an error
 * like a full disk. */
int ll_program(int argc, char **argv)
{
    if (!ll_hold_streams())
        return LL_FAILED;
    signal(SIGPIPE, SIG_DFL);
    signal(SIGXFSZ, SIG_IGN);
    return ll_end(answer(argc, argv));
}
