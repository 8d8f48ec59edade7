/* SPDX-License-Identifier: Apache-2.0 */
/* leadline ops [NAME]: the rows of the op table. */
#include "sim/cli/command.h"
#include "sim/report/table.h"
#include "tracer/base/json.h"
#include "tracer/ir/ops.h"

#include <string.h>

static void row_json(struct ll_json *json, enum ll_op_kind kind)
{
    struct ll_op_words words = ll_op_words(kind);
    const char *const fields[][2] = {
        {"name", words.name},         {"class", ll_class_name(ll_op_class(kind))},
        {"shape", words.shape},       {"flops", words.flops},
        {"bytes", words.bytes},       {"work", words.work},
        {"gradient", words.gradient}, {"runs", words.runs}};
    ll_json_open_object(json);
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++) {
        ll_json_put_text(json, fields[i][0], fields[i][1]);
    }
    ll_json_put_count(json, "special_functions", ll_op_specials(kind));
    ll_json_close_object(json);
}

static int list_json(enum ll_op_kind first, enum ll_op_kind last)
{
    struct ll_str out = {0};
    struct ll_json json = {.out = &out, .indent = true};
    ll_json_open_object(&json);
    ll_json_key(&json, "ops");
    ll_json_open_list(&json);
    for (enum ll_op_kind kind = first; kind <= last; kind++)
        row_json(&json, kind);
    ll_json_close_list(&json);
    ll_json_close_object(&json);
    return ll_print(&out);
}

static int list_text(enum ll_op_kind first, enum ll_op_kind last)
{
    struct ll_table *table = ll_table_new("op|class|?shape|flops|?bytes|work|?gradient|runs");
    for (enum ll_op_kind kind = first; kind <= last; kind++) {
        struct ll_op_words words = ll_op_words(kind);
        ll_table_row(table, "%s|%s|%s|%s|%s|%s|%s|%s", words.name, ll_class_name(ll_op_class(kind)),
                     words.shape, words.flops, words.bytes, words.work, words.gradient, words.runs);
    }
    struct ll_str out = {0};
    ll_table_print(table, ll_screen_width(), &out);
    ll_table_free(table);
    return ll_print(&out);
}

static int run(const struct ll_args *args)
{
    enum ll_op_kind first = 0, last = LL_OP_COUNT - 1;
    if (args->word_count) {
        first = last = ll_op_find(args->words[0]);
        const char *names[LL_OP_COUNT];
        for (enum ll_op_kind kind = 0; kind < LL_OP_COUNT; kind++)
            names[kind] = ll_op_name(kind);
        if (first == LL_OP_COUNT)
            return ll_unknown("op", args->words[0], names, LL_OP_COUNT, "leadline ops");
    }
    return ll_flag(args, "json") ? list_json(first, last) : list_text(first, last);
}

const struct ll_command ll_command_ops = {
    .name = "ops",
    .synopsis = "[NAME]",
    .summary = "list the op kinds and the rules of each",
    .examples = "  leadline ops\n  leadline ops conv2d --json\n",
    .details = "Each op kind names its rules: how outputs follow from inputs (shape), what is counted "
               "(flops, bytes), what a machine is asked to do (work), how it is differentiated (gradient), "
               "and whether Leadline itself can compute it (runs).\n",
    .most_words = 1,
    .run = run,
};
