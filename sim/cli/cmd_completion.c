/* SPDX-License-Identifier: Apache-2.0 */
/* leadline completion: what may stand at a place of a command line, and the few lines that make a shell ask.
 * All follows from the rows of commands and options; what a value may be, from what it is called there. */
#include <stdio.h>
#include <string.h>

#include "models/llm/config.h"
#include "models/model.h"
#include "sim/cli/command.h"
#include "sim/cli/commands.h"
#include "sim/cli/fields.h"
#include "sim/cli/load.h"
#include "sim/report/schemas.h"
#include "sim/study/study.h"
#include "tracer/base/json.h"
#include "tracer/ir/ops.h"

/* A line for each word: the word, a tab, what it is. */

static const char *const shells[][2] = {
    {"bash",
     "_leadline() {\n"
     "    local IFS=$'\\n'\n"
     "    COMPREPLY=($(\"${COMP_WORDS[0]}\" completion --at $((COMP_CWORD - 1)) -- \"${COMP_WORDS[@]:1}\" "
     "2>/dev/null |\n"
     "        cut -f 1))\n"
     "    [[ ${COMPREPLY[0]} != *[=.+] ]] || compopt -o nospace\n"
     "}\n"
     "complete -o default -F _leadline leadline\n"},
    {"zsh",
     "#compdef leadline\n"
     "_leadline() {\n"
     "    local line word tab=$'\\t'\n"
     "    local -a whole whole_shown open open_shown\n"
     "    for line in \"${(@f)$(\"${words[1]}\" completion --at $((CURRENT - 2)) -- \"${(@)words[2,-1]}\" "
     "2>/dev/null)}\"; do\n"
     "        word=${line%%$tab*}\n"
     "        case $word in\n"
     "        '') ;;\n"
     "        *[=.+]) open+=(\"$word\") open_shown+=(\"${line/$tab/  }\") ;;\n"
     "        *) whole+=(\"$word\") whole_shown+=(\"${line/$tab/  }\") ;;\n"
     "        esac\n"
     "    done\n"
     "    compadd -l -d whole_shown -a whole\n"
     "    compadd -l -S '' -d open_shown -a open\n"
     "    (( $#whole + $#open )) || _files\n"
     "}\n"
     "if [ \"$funcstack[1]\" = _leadline ]; then _leadline \"$@\"; else compdef _leadline leadline; fi\n"},
    {"fish", "complete -c leadline -a '(leadline completion --at (math (count (commandline -opc)) - 1) -- "
             "(commandline -opc)[2..-1] (commandline -ct) 2>/dev/null)'\n"},
};
enum { SHELL_COUNT = sizeof shells / sizeof *shells };

/* What is asked for: the words behind the program's name, and which of them is being typed. */
struct place {
    const struct ll_args *args;
    const char *const *words;
    size_t count, at;
    const char *begun; /* of the word, what is there */
    struct ll_str out;
};

static void offer(struct place *place, const char *word, const char *help)
{
    if (strncmp(word, place->begun, strlen(place->begun)) == 0)
        ll_str_addf(&place->out, "%s\t%s\n", word, help);
}

static void offer_commands(struct place *place)
{
    const struct ll_command *command;
    for (size_t i = 0; (command = ll_command_at(i)); i++)
        offer(place, command->name, command->summary);
    if (place->at == 0)
        offer(place, "help", "describe a command");
}

static void offer_models(struct place *place)
{
    for (size_t i = 0; i < ll_model_count(); i++)
        offer(place, ll_model_at(i)->name, ll_model_at(i)->doc);
    for (size_t i = 0; i < ll_llm_known_count(); i++)
        offer(place, ll_llm_known_name(i), "a language model");
}

/* Behind a device and `+` the stacks that are for it. */
static void offer_stacks(struct place *place, const char *const *folders, const char *plus)
{
    struct ll_arena *arena = place->args->arena;
    const char *device = ll_copy_text(arena, place->begun, (size_t)(plus - place->begun));
    struct ll_machine *machine = device ? ll_load_machine(device, folders, NULL, 0) : NULL;
    const char **stacks;
    size_t count;
    if (machine && ll_stack_list(folders, machine->path, machine->family, arena, &stacks, &count))
        for (size_t i = 0; i < count; i++)
            offer(place, ll_format(arena, "%s+%s", device, stacks[i]), "");
    ll_machine_free(machine);
}

static void offer_machines(struct place *place)
{
    const char *const *folders = ll_machine_folders(place->args->arena);
    const char *plus = strrchr(place->begun, '+'), **names;
    size_t count;
    if (folders && plus)
        offer_stacks(place, folders, plus);
    else if (folders && ll_machine_list(folders, NULL, place->args->arena, &names, &count))
        for (size_t i = 0; i < count; i++)
            offer(place, names[i], "");
}

/* The machine that stands on the command line: behind -c, or as the word of `machines`. */
static const char *named_machine(const struct place *place)
{
    for (size_t i = 1; i < place->count; i++) {
        bool behind = strcmp(place->words[i - 1], "-c") == 0 || strcmp(place->words[i - 1], "--machine") == 0;
        if (i != place->at &&
            (behind || (strcmp(place->words[0], "machines") == 0 && place->words[i][0] != '-')))
            return place->words[i];
    }
    return NULL;
}

/* Paths of the machine's values, for --set. */
static void offer_keys(struct place *place)
{
    struct ll_arena *arena = place->args->arena;
    const char *const *folders = ll_machine_folders(arena), *name = named_machine(place);
    struct ll_machine *machine = folders && name ? ll_load_machine(name, folders, NULL, 0) : NULL;
    struct ll_fields fields = {.arena = arena};
    struct ll_diags diags = {.count = 0};
    struct ll_str text = {0};
    struct ll_json json = {.out = &text};
    if (machine)
        ll_machine_json(machine, &json);
    if (text.text && !text.failed && ll_fields_read(&fields, text.text, text.length, NULL, &diags))
        for (uint32_t i = 0; i < fields.names.count; i++)
            offer(place, ll_format(arena, "%s=", fields.texts[i]),
                  ll_format(arena, "now %.6g", fields.values[i]));
    ll_diags_release(&diags);
    ll_fields_release(&fields);
    ll_str_release(&text);
    ll_machine_free(machine);
}

/* Parameters of the model on the command line, for -p. */
static void offer_params(struct place *place)
{
    struct ll_setting setting;
    const struct ll_model *model = NULL;
    for (size_t i = 1; i < place->count && !model; i++)
        model = i == place->at ? NULL : ll_model_named(place->words[i], &setting);
    for (size_t i = 0; model && i < model->param_count; i++)
        offer(place, ll_format(place->args->arena, "%s=", model->params[i].name), model->params[i].doc);
}

static void offer_numerics(struct place *place)
{
    for (unsigned i = 0; i < LL_NUMERIC_COUNT; i++)
        if (i != LL_NUMERIC_NONE)
            offer(place, ll_numeric_name((enum ll_numeric)i), "");
}

static void offer_list(struct place *place, const char *const *words)
{
    for (; *words; words++)
        offer(place, *words, "");
}

static void offer_formats(struct place *place, bool read)
{
    for (const struct ll_format *format = ll_formats; format->name; format++)
        if (read ? format->import != NULL : format->export != NULL)
            offer(place, format->name, format->doc);
}

/* What an option may be given; nothing of files, which the shell knows. */
static void offer_values(struct place *place, const struct ll_option *option)
{
    static const char *const formats[] = {"text", "csv", "json", "markdown", NULL};
    static const char *const times[] = {"auto", "always", "never", NULL};
    const char *name = option->name;
    if (strcmp(name, "machine") == 0)
        offer_machines(place);
    else if (strcmp(option->value, "PATH=VALUE") == 0)
        offer_keys(place);
    else if (strcmp(option->value, "MODEL") == 0)
        offer_models(place);
    else if (strcmp(name, "param") == 0)
        offer_params(place);
    else if (strcmp(option->value, "DTYPE") == 0)
        offer_numerics(place);
    else if (strcmp(name, "format") == 0)
        offer_list(place, formats);
    else if (strcmp(name, "color") == 0)
        offer_list(place, times);
}

/* What stands behind the command where no option does. */
static void offer_words(struct place *place, const char *command)
{
    if (!strcmp(command, "record") || !strcmp(command, "train") || !strcmp(command, "models"))
        offer_models(place);
    else if (!strcmp(command, "machines"))
        offer_machines(place);
    else if (!strcmp(command, "import") || !strcmp(command, "export"))
        offer_formats(place, command[0] == 'i');
    else if (!strcmp(command, "help") || !strcmp(command, "manual"))
        offer_commands(place);
    else if (!strcmp(command, "ops"))
        for (unsigned kind = 0; kind < LL_OP_NONE; kind++)
            offer(place, ll_op_name((enum ll_op_kind)kind), "");
    else if (!strcmp(command, "schema")) {
        for (size_t i = 0; ll_file_schema_name(i); i++)
            offer(place, ll_file_schema_name(i), "files that people write");
        for (const struct ll_schema *schema = ll_schemas(); schema->name; schema++)
            offer(place, schema->name, ll_format(place->args->arena, "leadline %s", schema->command));
    } else if (!strcmp(command, "completion"))
        for (size_t i = 0; i < SHELL_COUNT; i++)
            offer(place, shells[i][0], "");
    else if (!strcmp(command, "study"))
        for (size_t i = 0; i < ll_study_count(); i++)
            offer(place, ll_study_at(i)->id, ll_study_at(i)->title);
}

/* The option whose value is being typed; NULL where that is none. Shells that part words at `=` have it as a
 * word. */
static const struct ll_option *awaiting(const struct place *place, const struct ll_command *command)
{
    size_t at = place->at;
    if (at > 1 && strcmp(place->words[at - 1], "=") == 0)
        at--;
    const char *before = at > 0 ? place->words[at - 1] : "";
    const struct ll_option *option;
    for (size_t i = 0; (option = ll_option_at(command, i)); i++) {
        bool is_letter = before[0] == '-' && before[1] && !before[2] && before[1] == option->letter;
        if (option->value &&
            (is_letter || (strncmp(before, "--", 2) == 0 && strcmp(before + 2, option->name) == 0)))
            return option;
    }
    return NULL;
}

static void complete(struct place *place)
{
    const struct ll_command *command = NULL, *other;
    const struct ll_option *option;
    if (place->at == 0) {
        offer_commands(place);
        return;
    }
    for (size_t i = 0; !command && (other = ll_command_at(i)); i++)
        command = strcmp(other->name, place->words[0]) == 0 ? other : NULL;
    if (command && (option = awaiting(place, command)))
        offer_values(place, option);
    else if (command && place->begun[0] == '-')
        for (size_t i = 0; (option = ll_option_at(command, i)); i++)
            offer(place, ll_format(place->args->arena, "--%s", option->name), option->help);
    else
        offer_words(place, place->words[0]);
}

static int run(const struct ll_args *args)
{
    uint64_t at;
    if (!ll_value_count(args, "at", 0, 1 << 20, 0, &at))
        return LL_WRONG;
    struct place place = {.args = args, .words = args->words, .count = args->word_count, .at = (size_t)at};
    if (ll_value(args, "at", NULL)) {
        if (at > args->word_count)
            return ll_cli_reject("--at %zu: there are %zu words behind --", place.at, place.count);
        place.begun = at < args->word_count ? args->words[at] : "";
        if (strcmp(place.begun, "=") == 0)
            place.begun = "";
        ll_cli_hush(true); /* what is half typed is no mistake */
        complete(&place);
        ll_cli_hush(false);
        return ll_print_data(&place.out);
    }
    const char *names[SHELL_COUNT];
    for (size_t i = 0; i < SHELL_COUNT; i++) {
        names[i] = shells[i][0];
        if (args->word_count == 1 && strcmp(args->words[0], names[i]) == 0) {
            ll_str_add(&place.out, shells[i][1]);
            return ll_print_data(&place.out);
        }
    }
    return args->word_count == 1 ? ll_cli_reject_unknown("shell", args->words[0], names, SHELL_COUNT,
                                                         "leadline completion --help")
                                 : ll_cli_reject("expected one shell: bash, zsh or fish");
}

static const struct ll_option options[] = {
    {"at", 0, "N", "print what may stand as word N (from 0) of the command line behind --, a line each"},
    {0},
};

const struct ll_command ll_command_completion = {
    .name = "completion",
    .synopsis = "bash | zsh | fish",
    .summary = "print what makes a shell complete commands, options, machines, models, keys",
    .examples = "  . <(leadline completion bash)\n"
                "  leadline completion fish > ~/.config/fish/completions/leadline.fish\n",
    .options = options,
    .most_words = SIZE_MAX,
    .run = run,
};
