/* SPDX-License-Identifier: Apache-2.0 */
/* leadline manual: manual pages, in the language of man(7), out of the rows that --help prints. */
#include <stdio.h>
#include <string.h>

#include "sim/cli/command.h"
#include "tracer/base/arena.h"

/* Text as roff takes it: a hyphen that is typed, no backslash and no dot that would command. */
static void add_roff(const char *text, size_t length, bool begins, struct ll_str *out)
{
    for (size_t i = 0; i < length; i++) {
        if (begins && (text[i] == '.' || text[i] == '\''))
            ll_str_add(out, "\\&");
        begins = text[i] == '\n';
        if (text[i] == '-')
            ll_str_add(out, "\\-");
        else if (text[i] == '\\')
            ll_str_add(out, "\\e");
        else
            ll_str_add_bytes(out, &text[i], 1);
    }
}

static void add_text(const char *text, struct ll_str *out)
{
    add_roff(text, strlen(text), true, out);
}

static void add_head(const char *name, const char *summary, struct ll_str *out)
{
    char title[64];
    snprintf(title, sizeof title, "%s", name);
    for (char *c = title; *c; c++)
        *c = *c >= 'a' && *c <= 'z' ? (char)(*c - 'a' + 'A') : *c;
    ll_str_addf(out, ".TH \"%s\" 1 \"\" \"leadline " LL_VERSION "\" \"User Commands\"\n.SH NAME\n", title);
    add_text(name, out);
    ll_str_add(out, " \\- ");
    add_text(summary, out);
    ll_str_add(out, "\n");
}

/* The lines of a synopsis each begin with the program, or stand behind it. */
static void add_synopsis(const struct ll_command *command, struct ll_str *out)
{
    const char *line = command->synopsis ? command->synopsis : "";
    ll_str_add(out, ".SH SYNOPSIS\n");
    for (bool first = true; first || *line; first = false) {
        size_t length = strcspn(line, "\n"), skipped = strspn(line, " ");
        ll_str_add(out, first ? ".B leadline " : ".br\n");
        if (first)
            ll_str_addf(out, "%s\n", command->name);
        add_roff(line + skipped, length - skipped, true, out);
        ll_str_add(out, "\n");
        line += length + (line[length] == '\n');
    }
}

static void add_options(const struct ll_command *command, struct ll_str *out)
{
    const struct ll_option *option;
    ll_str_add(out, ".SH OPTIONS\n");
    for (size_t i = 0; (option = ll_option_at(command, i)); i++) {
        ll_str_add(out, ".TP\n");
        if (option->letter)
            ll_str_addf(out, "\\fB\\-%c\\fR, ", option->letter);
        ll_str_add(out, "\\fB\\-\\-");
        add_roff(option->name, strlen(option->name), false, out);
        ll_str_add(out, "\\fR");
        if (option->value) {
            ll_str_add(out, " \\fI");
            add_roff(option->value, strlen(option->value), false, out);
            ll_str_add(out, "\\fR");
        }
        ll_str_add(out, "\n");
        add_text(option->help, out);
        ll_str_add(out, "\n");
    }
}

/* A paragraph a line; one that is indented is an item. */
static void add_details(const char *details, struct ll_str *out)
{
    ll_str_add(out, ".SH DESCRIPTION\n");
    while (*details) {
        size_t length = strcspn(details, "\n"), leading = strspn(details, " ");
        if (length > leading) {
            ll_str_add(out, leading ? ".IP \\(bu 2\n" : ".PP\n");
            add_roff(details + leading, length - leading, true, out);
            ll_str_add(out, "\n");
        }
        details += length + (details[length] == '\n');
    }
}

static void add_command(const struct ll_command *command, struct ll_str *out)
{
    char name[64];
    const struct ll_command *other;
    snprintf(name, sizeof name, "leadline-%s", command->name);
    add_head(name, command->summary, out);
    add_synopsis(command, out);
    if (command->details)
        add_details(command->details, out);
    add_options(command, out);
    ll_str_add(out, ".SH EXAMPLES\n.nf\n");
    add_text(command->examples, out);
    ll_str_add(out, ".fi\n.SH EXIT STATUS\n0 done, 1 failed, 2 wrong usage or input, 130 interrupted.\n");
    ll_str_add(out, ".SH SEE ALSO\n.BR leadline (1)");
    for (size_t i = 0; (other = ll_command_at(i)); i++)
        if (other != command)
            ll_str_addf(out, ",\n.BR leadline\\-%s (1)", other->name);
    ll_str_add(out, "\n");
}

static const char *const variables[][2] = {
    {"LEADLINE_PATH", "folders, separated by colons, in which machines are looked for before all others"},
    {"COLUMNS", "how wide the screen is"},
    {"NO_COLOR, CLICOLOR_FORCE, TERM", "whether there are colours"},
    {"OPENBLAS_CORETYPE, OPENBLAS_NUM_THREADS", "as OpenBLAS takes them, where a workload is computed"},
    {"TMPDIR", "where files that do not last go"},
};

static void add_program(struct ll_str *out)
{
    const struct ll_command *command;
    add_head("leadline", "trace-driven architectural simulation of deep learning", out);
    ll_str_add(
        out, ".SH SYNOPSIS\n.B leadline\n.I COMMAND\n[\\fIOPTION\\fR]... [\\fIARGUMENT\\fR]...\n"
             ".SH DESCRIPTION\nRecords a deep\\-learning workload once, where it really runs; then asks any "
             "machine that can be described, built or imagined, how long it would take, what would hold it "
             "back, and what to change.\n.PP\nEach command has a page of its own, as\n"
             ".BR leadline\\-sim (1).\n.SH COMMANDS\n");
    for (size_t i = 0; (command = ll_command_at(i)); i++) {
        ll_str_addf(out, ".TP\n.B %s\n", command->name);
        add_text(command->summary, out);
        ll_str_add(out, "\n");
    }
    ll_str_add(out, ".SH ENVIRONMENT\n");
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++) {
        ll_str_addf(out, ".TP\n.B %s\n", variables[i][0]);
        add_text(variables[i][1], out);
        ll_str_add(out, "\n");
    }
    ll_str_add(out, ".SH EXAMPLES\n.nf\n");
    add_text("  leadline record alexnet --train --batch 8 -o alexnet.llt\n"
             "  leadline sim -c v100_sxm_16gb -c custom_example alexnet.llt\n",
             out);
    ll_str_add(out, ".fi\n.SH EXIT STATUS\n0 done, 1 failed, 2 wrong usage or input, 130 interrupted.\n");
}

static bool write_page(const char *folder, const char *name, struct ll_str *page, struct ll_arena *arena)
{
    const char *path = ll_format(arena, "%s/%s.1", folder, name);
    if (path)
        return ll_write_file(path, page);
    ll_str_release(page);
    ll_cli_fail("memory ran out");
    return false;
}

static int write_all(const char *folder, struct ll_arena *arena)
{
    const struct ll_command *command;
    struct ll_str page = {0};
    add_program(&page);
    bool written = ll_make_folder(folder) && write_page(folder, "leadline", &page, arena);
    for (size_t i = 0; written && (command = ll_command_at(i)); i++) {
        const char *name = ll_format(arena, "leadline-%s", command->name);
        add_command(command, &page);
        written = name && write_page(folder, name, &page, arena);
    }
    ll_str_release(&page);
    return written ? LL_DONE : LL_FAILED;
}

static int run(const struct ll_args *args)
{
    struct ll_str page = {0};
    const char *folder = ll_value(args, "output", NULL);
    if (folder)
        return args->word_count == 0 ? write_all(folder, args->arena)
                                     : ll_cli_reject("--output writes the pages of all commands");
    const struct ll_command *command = args->word_count > 0 ? ll_command_find(args->words[0]) : NULL;
    if (args->word_count > 0 && !command)
        return LL_WRONG;
    if (command)
        add_command(command, &page);
    else
        add_program(&page);
    return ll_print_data(&page);
}

static const struct ll_option options[] = {
    {"output", 'o', "FOLDER", "write the pages of the program and of all commands into this folder"},
    {0},
};

const struct ll_command ll_command_manual = {
    .name = "manual",
    .synopsis = "[COMMAND]",
    .summary = "print a manual page, for man",
    .examples = "  leadline manual sim | man -l -\n  leadline manual -o man1\n",
    .options = options,
    .writes = (const char *const[]){"output", NULL},
    .most_words = 1,
    .run = run,
};
