/* SPDX-License-Identifier: Apache-2.0 */
/* leadline models [NAME]: the reference workloads, their size and parameters. */
#include "sim/cli/accounts.h"
#include "sim/cli/command.h"
#include "sim/cli/load.h"
#include "sim/cli/workload.h"
#include "sim/report/table.h"
#include "tracer/base/json.h"

#include <inttypes.h>
#include <string.h>

static void words_json(const struct ll_model *model, size_t param, struct ll_json *json)
{
    ll_json_put_text(json, "default", ll_model_word(model, param, model->params[param].standard));
    ll_json_key(json, "words");
    ll_json_open_list(json);
    for (const char *const *word = model->words[param]; *word; word++)
        ll_json_text(json, *word);
    ll_json_close_list(json);
}

static void params_json(const struct ll_model *model, struct ll_json *json)
{
    ll_json_key(json, "params");
    ll_json_open_list(json);
    for (size_t i = 0; i < model->param_count; i++) {
        const struct ll_model_param *param = &model->params[i];
        ll_json_open_object(json);
        ll_json_put_text(json, "key", param->name);
        if (ll_model_word(model, i, 0)) {
            words_json(model, i, json);
        } else {
            ll_json_put_integer(json, "default", param->standard);
            ll_json_put_integer(json, "min", param->min);
            ll_json_put_integer(json, "max", param->max);
        }
        ll_json_put_text(json, "meaning", param->doc);
        ll_json_close_object(json);
    }
    ll_json_close_list(json);
}

static void model_json(const struct ll_model *model, const struct ll_model_size *size, struct ll_json *json)
{
    ll_json_open_object(json);
    ll_json_put_text(json, "name", model->name);
    ll_json_put_text(json, "suite", model->suite);
    ll_json_put_text(json, "doc", model->doc);
    ll_json_put_count(json, "parameters", size->parameters);
    ll_json_put_count(json, "forward_flops", size->forward_flops);
    ll_json_put_count(json, "batch", model->default_batch);
    if (model->data)
        ll_json_put_text(json, "data", model->data);
    params_json(model, json);
    ll_json_close_object(json);
}

static void model_row(const struct ll_model *model, const struct ll_model_size *size, struct ll_table *table)
{
    struct ll_human count, flops;
    ll_table_row(table, "%s|%s|%s|%s|%" PRIu64 "|%s", model->name, model->suite,
                 ll_grouped(&count, size->parameters), ll_si(&flops, (double)size->forward_flops, "FLOP"),
                 model->default_batch, model->doc);
}

/* Words have no bounds: they stand behind what the parameter means. */
static void word_row(const struct ll_model *model, size_t i, struct ll_table *table)
{
    const struct ll_model_param *param = &model->params[i];
    struct ll_str words = {0};
    for (const char *const *word = model->words[i]; *word; word++)
        ll_str_addf(&words, "%s%s", word == model->words[i] ? "" : ", ", *word);
    ll_table_row(table, "%s|%s|||%s; one of: %s", param->name, ll_model_word(model, i, param->standard),
                 param->doc, words.failed ? "" : words.text);
    ll_str_release(&words);
}

static void param_rows(const struct ll_model *model, struct ll_str *out)
{
    struct ll_table *table = ll_table_new("-p key|>default|>from|>to|meaning");
    for (size_t i = 0; i < model->param_count; i++) {
        const struct ll_model_param *param = &model->params[i];
        if (ll_model_word(model, i, 0))
            word_row(model, i, table);
        else
            ll_table_row(table, "%s|%" PRId64 "|%" PRId64 "|%" PRId64 "|%s", param->name, param->standard,
                         param->min, param->max, param->doc);
    }
    ll_str_add(out, "\n");
    ll_table_print(table, ll_screen_width(), out);
    ll_table_free(table);
}

static void data_row(const struct ll_model *model, struct ll_str *out)
{
    struct ll_table *table = ll_table_new("option|what it is to name");
    ll_table_row(table, "--data PATH|%s", model->data);
    ll_str_add(out, "\n");
    ll_table_print(table, ll_screen_width(), out);
    ll_table_free(table);
}

static void model_page(const struct ll_model *model, struct ll_str *out)
{
    if (model->param_count > 0)
        param_rows(model, out);
    if (model->data)
        data_row(model, out);
}

static bool wanted(const struct ll_args *args, const struct ll_model *model)
{
    const char *suite = ll_value(args, "suite", NULL);
    return (!suite || strcmp(suite, model->suite) == 0) &&
           (args->word_count == 0 || strcmp(args->words[0], model->name) == 0);
}

static int list(const struct ll_args *args)
{
    struct ll_str out = {0};
    struct ll_diags diags = {0};
    struct ll_json json = {.out = &out, .indent = true};
    struct ll_table *table = ll_table_new("model|suite|>parameters|>forward a sample|>batch|what it is");
    bool as_json = ll_flag(args, "json"), measured = true;
    if (as_json) {
        ll_json_open_object(&json);
        ll_json_key(&json, "models");
        ll_json_open_list(&json);
    }
    for (size_t i = 0; i < ll_model_count(); i++) {
        const struct ll_model *model = ll_model_at(i);
        struct ll_model_size size;
        if (!wanted(args, model) || !(measured &= ll_model_measure(model, NULL, 0, &size, &diags)))
            continue;
        if (as_json)
            model_json(model, &size, &json);
        else
            model_row(model, &size, table);
    }
    if (as_json) {
        ll_json_close_list(&json);
        ll_json_close_object(&json);
    } else {
        ll_table_print(table, ll_screen_width(), &out);
        if (args->word_count)
            model_page(ll_model_find(args->words[0]), &out);
    }
    ll_table_free(table);
    ll_print_diags(&diags);
    ll_diags_release(&diags);
    int status = ll_print(&out);
    return measured ? status : LL_FAILED;
}

static int check_suite(const char *suite)
{
    enum { MOST = 64 };
    const char *suites[MOST];
    size_t count = 0;
    for (; count < ll_model_count() && count < MOST; count++) {
        suites[count] = ll_model_at(count)->suite;
        if (strcmp(suite, suites[count]) == 0)
            return LL_DONE;
    }
    return ll_unknown("suite", suite, suites, count, "leadline models");
}

/* A dry step of a training, counted as others do. */
static int account(const struct ll_args *args)
{
    struct ll_trace *trace = NULL;
    struct ll_run_report report;
    struct ll_run_options options = {.train = true, .dry_run = true, .steps = 1, .trace = &trace};
    if (args->word_count == 0)
        return ll_wrong("--accounting counts one model: name it");
    if (!ll_read_run_options(args, &options))
        return LL_WRONG;
    int status = ll_run_workload(ll_model_find(args->words[0]), &options, &report);
    if (status == LL_DONE)
        status = ll_show_accounts(args, trace);
    ll_trace_free(trace);
    return status;
}

static int run(const struct ll_args *args)
{
    const char *suite = ll_value(args, "suite", NULL);
    bool accounting;
    if (ll_read_accounting(args, &accounting) != LL_DONE)
        return LL_WRONG;
    if (args->word_count && !ll_find_model(args->words[0]))
        return LL_WRONG;
    if (suite && check_suite(suite) != LL_DONE)
        return LL_WRONG;
    if (!accounting && (ll_value(args, "param", NULL) || ll_value(args, "batch", NULL)))
        return ll_wrong("--batch and -p say what --accounting counts");
    if ((accounting || args->word_count) &&
        !ll_without(args, (const char *const[]){"suite", NULL}, "chooses what to list, not one model"))
        return LL_WRONG;
    return accounting ? account(args) : list(args);
}

static const struct ll_option options[] = {
    {"suite", 0, "SUITE", "list only this suite"},
    LL_ACCOUNTING_OPTION,
    {"batch", 0, "N", "with --accounting: samples per step (default: the model's own)"},
    {"param", 'p', "KEY=VALUE", "with --accounting: set a parameter of the model"},
    {0},
};

const struct ll_command ll_command_models = {
    .name = "models",
    .synopsis = "[NAME]",
    .summary = "list the reference workloads and their parameters",
    .examples = "  leadline models\n  leadline models alexnet --json\n"
                "  leadline models word_lm --accounting catamount --batch 64 -p hidden=2004\n",
    .options = options,
    .repeated = (const char *const[]){"param", NULL},
    .most_words = 1,
    .run = run,
};
