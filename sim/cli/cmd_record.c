/* SPDX-License-Identifier: Apache-2.0 */
/* leadline record MODEL: runs a reference workload here, recording every op. */
#include "sim/cli/command.h"
#include "sim/cli/load.h"
#include "sim/report/human.h"
#include "tracer/base/json.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void show_step(void *context, uint64_t step, uint64_t steps, double loss, double step_s)
{
    const bool *terminal = context;
    struct ll_human time, left;
    fprintf(stderr, "%sstep %" PRIu64 " of %" PRIu64, *terminal ? "\r\033[K" : "", step, steps);
    if (step_s > 0)
        fprintf(stderr, "  %s", ll_si(&time, step_s, "s"));
    if (isfinite(loss))
        fprintf(stderr, "  loss %.4g", loss);
    if (*terminal && step < steps && step_s > 0)
        fprintf(stderr, "  %s left", ll_si(&left, step_s * (double)(steps - step), "s"));
    if (!*terminal || step == steps)
        fputc('\n', stderr);
    fflush(stderr);
}

static bool read_settings(const struct ll_args *args, struct ll_run_options *options)
{
    struct ll_setting *settings = ll_alloc(args->arena, args->given_count + 1, sizeof *settings);
    const char *given;
    for (size_t i = 0; settings && (given = ll_value_at(args, "param", i)); i++) {
        const char *equals = strchr(given, '=');
        if (!equals || equals == given) {
            ll_wrong("-p %s: expected key=value", given);
            return false;
        }
        settings[i].key = ll_copy_text(args->arena, given, (size_t)(equals - given));
        settings[i].value = equals + 1;
        options->setting_count = i + 1;
    }
    options->settings = settings;
    return settings != NULL;
}

static bool read_options(const struct ll_args *args, struct ll_run_options *options)
{
    enum { MOST = 1 << 30 };
    uint64_t threads;
    if (ll_flag(args, "train") && ll_flag(args, "infer")) {
        ll_wrong("--train and --infer exclude each other");
        return false;
    }
    options->train = !ll_flag(args, "infer");
    options->dry_run = ll_flag(args, "dry-run");
    if (!ll_value_count(args, "batch", 1, MOST, 0, &options->batch) ||
        !ll_value_count(args, "steps", 1, MOST, options->dry_run ? 1 : 3, &options->steps) ||
        !ll_value_count(args, "seed", 0, UINT64_MAX - 1, 1, &options->seed) ||
        !ll_value_count(args, "threads", 1, 4096, 0, &threads) || !read_settings(args, options))
        return false;
    options->threads = (unsigned)threads;
    return true;
}

static int summarise_json(const struct ll_run_options *options, const struct ll_model *model,
                          const struct ll_run_report *report)
{
    struct ll_str out = {0};
    struct ll_json json = {.out = &out, .indent = true};
    ll_json_open_object(&json);
    ll_json_put_text(&json, "trace", options->path);
    ll_json_put_text(&json, "model", model->name);
    ll_json_put_text(&json, "mode", options->train ? "train" : "infer");
    ll_json_put_bool(&json, "dry_run", options->dry_run);
    ll_json_put_count(&json, "parameters", report->parameters);
    ll_json_put_count(&json, "ops", report->ops);
    ll_json_put_count(&json, "steps", report->steps);
    ll_json_put_number(&json, "median_step_s", options->dry_run ? NAN : report->median_step_s);
    ll_json_put_number(&json, "first_loss", report->first_loss);
    ll_json_put_number(&json, "last_loss", report->last_loss);
    ll_json_close_object(&json);
    return ll_print(&out);
}

static void say_better_core(const struct ll_run_report *report)
{
    if (report->better_core)
        fprintf(stderr,
                "OpenBLAS ran its %s kernels because OPENBLAS_CORETYPE asks for them; this CPU can run %s\n",
                report->blas_core, report->better_core);
}

static int summarise(const struct ll_run_options *options, const struct ll_model *model,
                     const struct ll_run_report *report)
{
    struct ll_human parameters, time;
    struct ll_str out = {0};
    ll_str_addf(&out, "%s  %s, %s parameters, %" PRIu64 " ops in %" PRIu64 " step%s", model->name,
                options->train ? "training" : "inference", ll_grouped(&parameters, report->parameters),
                report->ops, report->steps, report->steps == 1 ? "" : "s");
    if (!options->dry_run)
        ll_str_addf(&out, ", %s a step", ll_si(&time, report->median_step_s, "s"));
    if (!options->dry_run && options->train && report->steps > 1)
        ll_str_addf(&out, ", loss %.4g to %.4g", report->first_loss, report->last_loss);
    ll_str_addf(&out, " -> %s\n", options->path);
    return ll_print(&out);
}

static int run(const struct ll_args *args)
{
    const struct ll_model *model = ll_find_model(args->words[0]);
    struct ll_run_options options = {0};
    if (!model || !read_options(args, &options))
        return LL_WRONG;
    bool terminal = isatty(STDERR_FILENO) == 1;
    options.progress = options.dry_run ? NULL : show_step;
    options.context = &terminal;
    options.path = ll_value(args, "output", ll_format(args->arena, "%s.llt", model->name));
    struct ll_diags *diags = calloc(1, sizeof *diags);
    struct ll_run_report report = {0};
    int64_t *values = ll_alloc(args->arena, model->param_count + 1, sizeof *values);
    if (!diags || !options.path || !values) {
        free(diags);
        return ll_failed("memory ran out");
    }
    bool right = ll_model_settings(model, options.settings, options.setting_count, values, diags);
    bool done = right && ll_model_run(model, &options, &report, diags);
    ll_print_diags(diags);
    ll_diags_release(diags);
    free(diags);
    if (!done)
        return right ? LL_FAILED : LL_WRONG;
    say_better_core(&report);
    return (ll_flag(args, "json") ? summarise_json : summarise)(&options, model, &report);
}

static const struct ll_option options[] = {
    {"output", 'o', "TRACE", "the file to write; MODEL.llt when not given"},
    {"train", 0, NULL, "training steps: forward, backward, update (the default)"},
    {"infer", 0, NULL, "inferences: forward only"},
    {"batch", 0, "N", "samples a step; the model's own when not given"},
    {"steps", 0, "N", "steps to record; 3 when not given, 1 in a dry run"},
    {"dry-run", 0, NULL, "record the same ops without computing them: any size, no times"},
    {"param", 'p', "KEY=VALUE", "a parameter of the model; leadline models NAME lists them"},
    {"threads", 0, "N", "threads to compute with; one for each CPU when not given"},
    {"seed", 0, "N", "of weights and data; 1 when not given"},
    {0},
};

const struct ll_command ll_command_record = {
    .name = "record",
    .synopsis = "MODEL",
    .summary = "run a reference workload here and record every op",
    .examples = "  leadline record alexnet --train --batch 8 --steps 3 -o alexnet.llt\n"
                "  leadline record alexnet --infer --batch 256 --dry-run -o big.llt\n",
    .options = options,
    .least_words = 1,
    .most_words = 1,
    .run = run,
};
