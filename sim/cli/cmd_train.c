/* SPDX-License-Identifier: Apache-2.0 */
/* leadline train MODEL: does a reference workload learn? Its scores on unseen samples before and after. */
#include "sim/cli/command.h"
#include "sim/cli/load.h"
#include "sim/cli/workload.h"
#include "sim/report/table.h"
#include "tracer/base/json.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The model's lesson, then what the user set: of two values of a key the last one counts. */
static bool read_lesson(const struct ll_args *args, const struct ll_model *model,
                        struct ll_run_options *options)
{
    static const char *const of_shows[] = {"output", NULL};
    const struct ll_lesson *lesson = &model->lesson;
    size_t known = 0;
    if (lesson->steps == 0) {
        ll_wrong("%s has nothing to learn; leadline record %s runs it", model->name, model->name);
        return false;
    }
    if (!model->shows &&
        !ll_without(args, of_shows, "is for what a network produces; this one has only scores"))
        return false;
    while (known < LL_MOST_LESSON_SETTINGS && lesson->settings[known].key)
        known++;
    struct ll_setting *all = ll_alloc(args->arena, known + options->setting_count + 1, sizeof *all);
    if (!all)
        return false;
    memcpy(all, lesson->settings, known * sizeof *all);
    memcpy(all + known, options->settings, options->setting_count * sizeof *all);
    options->settings = all;
    options->setting_count += known;
    options->train = options->evaluate = true;
    options->batch = options->batch ? options->batch : lesson->batch;
    options->data = ll_value(args, "data", NULL);
    options->samples = ll_value(args, "output", NULL);
    return ll_value_count(args, "steps", 1, 1 << 30, lesson->steps, &options->steps);
}

static void show_step(void *context, uint64_t step, uint64_t steps, double loss, double step_s)
{
    const struct ll_progress *progress = context;
    uint64_t every = progress->terminal ? 1 : (steps + 9) / 10;
    if (step % every == 0 || step == steps)
        ll_show_step(context, step, steps, loss, step_s);
}

static void scores_json(const struct ll_run_report *report, struct ll_json *json)
{
    ll_json_key(json, "scores");
    ll_json_open_list(json);
    for (size_t i = 0; i < report->after.count; i++) {
        ll_json_open_object(json);
        ll_json_put_text(json, "name", report->after.at[i].name);
        ll_json_put_text(json, "meaning", report->after.at[i].doc);
        ll_json_put_number(json, "before", report->before.at[i].value);
        ll_json_put_number(json, "after", report->after.at[i].value);
        ll_json_put_text(json, "better", report->after.at[i].falls ? "lower" : "higher");
        ll_json_close_object(json);
    }
    ll_json_close_list(json);
}

static int summarise_json(const struct ll_run_options *options, const struct ll_model *model,
                          const struct ll_run_report *report)
{
    struct ll_str out = {0};
    struct ll_json json = {.out = &out, .indent = true};
    ll_json_open_object(&json);
    ll_json_put_text(&json, "model", model->name);
    ll_json_put_count(&json, "steps", report->steps);
    ll_json_put_count(&json, "batch", options->batch);
    ll_json_key(&json, "settings");
    ll_json_open_object(&json);
    for (size_t i = 0; i < options->setting_count; i++)
        ll_json_put_text(&json, options->settings[i].key, options->settings[i].value);
    ll_json_close_object(&json);
    ll_json_put_count(&json, "parameters", report->parameters);
    ll_json_put_number(&json, "median_step_s", report->median_step_s);
    ll_json_put_number(&json, "first_loss", report->first_loss);
    ll_json_put_number(&json, "last_loss", report->last_loss);
    scores_json(report, &json);
    ll_json_close_object(&json);
    return ll_print(&out);
}

static int summarise(const struct ll_run_options *options, const struct ll_model *model,
                     const struct ll_run_report *report)
{
    struct ll_human parameters, time;
    struct ll_str out = {0};
    ll_str_addf(&out, "%s  %s parameters, %" PRIu64 " steps of %" PRIu64 ", %s a step", model->name,
                ll_grouped(&parameters, report->parameters), report->steps, options->batch,
                ll_si(&time, report->median_step_s, "s"));
    for (size_t i = 0; i < options->setting_count; i++)
        ll_str_addf(&out, "%s -p %s=%s", i ? "" : ", with", options->settings[i].key,
                    options->settings[i].value);
    ll_str_addf(&out, "\n\n");
    struct ll_table *table = ll_table_new("score|>before|>after|what it is");
    ll_table_row(table, "loss|%.4g|%.4g|of the first and of the last step", report->first_loss,
                 report->last_loss);
    for (size_t i = 0; i < report->after.count; i++)
        ll_table_row(table, "%s|%.4g|%.4g|%s", report->after.at[i].name, report->before.at[i].value,
                     report->after.at[i].value, report->after.at[i].doc);
    ll_table_print(table, ll_screen_width(), &out);
    ll_table_free(table);
    return ll_print(&out);
}

static int run(const struct ll_args *args)
{
    const struct ll_model *model = ll_find_model(args->words[0]);
    struct ll_run_options options = {0};
    if (!model || !ll_read_run_options(args, &options) || !read_lesson(args, model, &options))
        return LL_WRONG;
    struct ll_progress progress = {.terminal = isatty(STDERR_FILENO) == 1};
    struct ll_run_report report;
    options.progress = show_step;
    options.context = &progress;
    int status = ll_run_workload(model, &options, &report);
    if (status != LL_DONE)
        return status;
    return (ll_flag(args, "json") ? summarise_json : summarise)(&options, model, &report);
}

static const struct ll_option options[] = {
    {"output", 'o', "FOLDER", "folder for samples of what the trained network produces; created if missing"},
    {"steps", 0, "N", "training steps (default: as the model's lesson says)"},
    {"batch", 0, "N", "samples per step (default: the lesson's)"},
    {"param", 'p', "KEY=VALUE",
     "set a parameter of the model, in place of the lesson's; leadline models NAME lists them"},
    {"data", 0, "PATH", "real data to learn from; leadline models NAME says which (default: generated)"},
    {"threads", 0, "N", "threads to compute with (default: one per CPU)"},
    {"seed", 0, "N", "seed of weights and data (default: 1)"},
    {0},
};

const struct ll_command ll_command_train = {
    .name = "train",
    .synopsis = "MODEL",
    .summary = "train a small version of a reference workload and score it on unseen samples",
    .examples = "  leadline train memnet\n"
                "  leadline train autoenc -o digits --steps 2000\n",
    .options = options,
    .repeated = (const char *const[]){"param", NULL},
    .writes = (const char *const[]){"output", NULL},
    .reads = (const char *const[]){"data", NULL},
    .least_words = 1,
    .most_words = 1,
    .run = run,
};
