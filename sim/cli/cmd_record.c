/* SPDX-License-Identifier: Apache-2.0 */
/* leadline record and leadline train: running a reference workload. The first section is what both share; a
 * program that we did not write is recorded by record_program.c. */
#define _POSIX_C_SOURCE 200809L
#include "sim/cli/commands.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sim/cli/command.h"
#include "sim/cli/load.h"
#include "sim/cli/record_program.h"
#include "sim/report/table.h"
#include "tracer/base/diag.h"
#include "tracer/base/json.h"

/* The setting that a model's name stands for, if any, then those that are given. */
static bool read_settings(const struct ll_args *args, struct ll_run_options *options)
{
    struct ll_setting *settings = ll_alloc(args->arena, args->given_count + 2, sizeof *settings);
    struct ll_setting of_name = {NULL, NULL};
    const char *given;
    if (settings && args->word_count > 0 && ll_model_named(args->words[0], &of_name) && of_name.key) {
        settings[0] = of_name;
        options->setting_count = 1;
    }
    for (size_t at = 0, i; settings && (given = ll_value_at(args, "param", at)); at++) {
        i = options->setting_count;
        const char *equals = strchr(given, '=');
        if (!equals || equals == given) {
            ll_cli_reject("-p %s: expected key=value", given);
            return false;
        }
        settings[i].key = ll_copy_text(args->arena, given, (size_t)(equals - given));
        settings[i].value = equals + 1;
        options->setting_count = i + 1;
    }
    options->settings = settings;
    return settings != NULL;
}

bool ll_read_run_options(const struct ll_args *args, struct ll_run_options *options)
{
    uint64_t threads;
    if (!ll_value_count(args, "batch", 1, 1 << 30, 0, &options->batch) ||
        !ll_value_count(args, "seed", 0, UINT64_MAX - 1, 1, &options->seed) ||
        !ll_value_count(args, "threads", 1, 4096, 0, &threads) || !read_settings(args, options))
        return false;
    options->threads = (unsigned)threads;
    return true;
}

/* Where lines stay, as in a file, no more of them than a page, however many steps. */
enum { MOST_LINES = 40 };

/* The context of show_step. */
struct progress {
    bool terminal; /* standard error is one: steps overwrite each other in one line */
};

/* What takes a line away from a terminal, in the buffer: spaces, which every one obeys. */
static const char *clear_line(char *buffer, size_t size)
{
    snprintf(buffer, size, "\r%*s\r", (int)ll_min(ll_terminal_width(), size - 3) - 1, "");
    return buffer;
}

/* Tells a step on standard error, as the progress function of a run. */
static void ll_show_step(void *context, uint64_t step, uint64_t steps, double loss, double step_s)
{
    const struct progress *progress = context;
    struct ll_human time, left;
    char blank[1024];
    if (!progress->terminal && step < steps && step % (steps / MOST_LINES + 1) != 0)
        return;
    ll_cli_tell("%sstep %" PRIu64 " of %" PRIu64, progress->terminal ? clear_line(blank, sizeof blank) : "",
                step, steps);
    if (step_s > 0)
        ll_cli_tell("  %s", ll_format_si(&time, step_s, "s"));
    if (isfinite(loss))
        ll_cli_tell("  loss %.4g", loss);
    if (step < steps && step_s > 0)
        ll_cli_tell("  %s left", ll_format_si(&left, step_s * (double)(steps - step), "s"));
    if (!progress->terminal || step == steps)
        ll_cli_tell("\n");
    fflush(stderr);
}

/* Once: a study runs many workloads. */
static void say_better_core(const struct ll_run_report *report)
{
    static bool said;
    if (report->better_core && !said)
        ll_cli_tell(
            "OpenBLAS ran its %s kernels because OPENBLAS_CORETYPE asks for them; this CPU can run %s\n",
            report->blas_core, report->better_core);
    said = said || report->better_core;
}

int ll_run_workload(const struct ll_model *model, const struct ll_run_options *options,
                    struct ll_run_report *report)
{
    struct ll_diags *diags = calloc(1, sizeof *diags);
    int64_t *values = calloc(model->param_count + 1, sizeof *values);
    *report = (struct ll_run_report){0};
    if (!diags || !values) {
        free(diags);
        free(values);
        return ll_cli_fail("memory ran out");
    }
    bool right = ll_model_settings(model, options->settings, options->setting_count, values, diags);
    if (options->data && !model->data)
        right = ll_complain(diags, (struct ll_place){0}, "%s makes its own data; there is none to read",
                            model->name);
    else if (options->data && access(options->data, F_OK) != 0)
        right = ll_complain(diags, (struct ll_place){.file = options->data}, "%s",
                            ll_status_text(ll_status_of(errno, LL_CANNOT_OPEN)));
    bool done = right && (!options->samples || ll_make_folder(options->samples)) &&
                ll_model_run(model, options, report, diags);
    ll_print_diags(diags);
    ll_diags_release(diags);
    free(diags);
    free(values);
    if (done)
        say_better_core(report);
    return done ? LL_DONE : right && !report->refused ? LL_FAILED : LL_WRONG;
}

/* leadline record MODEL: runs a reference workload here, recording every op. */

static bool read_options(const struct ll_args *args, const struct ll_model *model,
                         struct ll_run_options *options)
{
    if (ll_flag(args, "train") && ll_flag(args, "infer")) {
        ll_cli_reject("--train and --infer exclude each other");
        return false;
    }
    options->train = model->infers ? ll_flag(args, "train") : !ll_flag(args, "infer");
    options->dry_run = ll_flag(args, "dry-run");
    options->data = ll_value(args, "data", NULL);
    static const char *const of_computing[] = {"threads", NULL};
    if (options->dry_run && !ll_without(args, of_computing, "is for computing; --dry-run computes nothing"))
        return false;
    return ll_value_count(args, "steps", 1, 1 << 30, options->dry_run ? 1 : 3, &options->steps) &&
           ll_read_run_options(args, options);
}

static int summarise_json(const struct ll_run_options *options, const struct ll_model *model,
                          const struct ll_run_report *report)
{
    struct ll_str out = {0};
    struct ll_json json = {.out = &out, .indent = true};
    ll_json_open_document(&json, "record", 1);
    ll_json_put_text(&json, "trace", options->path);
    ll_json_put_text(&json, "model", model->name);
    ll_json_put_text(&json, "mode", options->train ? "train" : "infer");
    ll_json_put_bool(&json, "dry_run", options->dry_run);
    ll_json_put_count(&json, "parameters", report->parameters);
    ll_json_put_count(&json, "ops", report->ops);
    ll_json_put_count(&json, "steps", report->steps);
    ll_json_put_number(&json, "median_step_s", options->dry_run ? NAN : report->median_step_s);
    ll_json_put_number(&json, "waited_s", options->dry_run ? NAN : report->waited_s);
    ll_json_put_number(&json, "first_loss", report->first_loss);
    ll_json_put_number(&json, "last_loss", report->last_loss);
    ll_json_close_object(&json);
    return ll_print(&out);
}

static int summarise(const struct ll_run_options *options, const struct ll_model *model,
                     const struct ll_run_report *report)
{
    static const double long_s = 1; /* who waited so long asks why */
    struct ll_human parameters, time;
    struct ll_str out = {0};
    ll_str_addf(&out, "%s  %s, %s parameters, %" PRIu64 " op%s in %" PRIu64 " step%s", model->name,
                options->train ? "training" : "inference", ll_format_grouped(&parameters, report->parameters),
                report->ops, ll_plural(report->ops), report->steps, ll_plural(report->steps));
    ll_str_addf(&out, " -> %s\n", options->path);
    if (!options->dry_run)
        ll_str_addf(&out, "  %s per step (median)", ll_format_si(&time, report->median_step_s, "s"));
    if (!options->dry_run && options->train && report->steps > 1)
        ll_str_addf(&out, ", loss %.4g to %.4g", report->first_loss, report->last_loss);
    ll_str_add(&out, options->dry_run ? "" : "\n");
    if (report->waited_s >= long_s)
        ll_str_addf(&out,
                    "waited %s, between ops and outside of their times, for cores near each other without "
                    "other processes\n",
                    ll_format_si(&time, report->waited_s, "s"));
    return ll_print(&out);
}

/* Options of one way to record, given with another, are refused. */
static bool are_of_a_program(const struct ll_args *args)
{
    static const char *const of_models[] = {"train", "infer", "batch",   "steps", "dry-run",
                                            "param", "data",  "threads", "seed",  NULL};
    static const char *const written[] = {"output", NULL};
    return ll_without(args, of_models, "is for reference workloads; PROGRAM does what it does") &&
           (!ll_flag(args, "coverage") ||
            ll_without(args, written, "names a trace; --coverage records none"));
}

static bool are_of_a_model(const struct ll_args *args)
{
    static const char *const of_programs[] = {"mech", "lossy", "calls", NULL};
    return ll_without(args, of_programs, "is for a PROGRAM, behind --");
}

int ll_record_in_memory(const struct ll_args *args, struct ll_trace **trace)
{
    static const char *const elsewhere[] = {"output", "coverage", NULL};
    *trace = NULL;
    if (!are_of_a_model(args) || !ll_without(args, elsewhere, "is not for a trace that stays in memory"))
        return LL_WRONG;
    const struct ll_model *model = ll_find_model(args->words[0]);
    struct ll_run_options options = {.trace = trace, .stop = ll_catch_interrupts()};
    struct ll_run_report report;
    if (!model || !read_options(args, model, &options))
        return LL_WRONG;
    return ll_run_workload(model, &options, &report);
}

static int run(const struct ll_args *args)
{
    bool coverage = ll_flag(args, "coverage"), program = coverage || args->dashes;
    if (!(program ? are_of_a_program : are_of_a_model)(args))
        return LL_WRONG;
    if (program)
        return (coverage ? ll_show_coverage : ll_record_foreign)(args);
    if (args->word_count > 1)
        return ll_cli_reject(
            "too many arguments; expected leadline record MODEL, or leadline record -- PROGRAM "
            "ARGS, see leadline record --help");
    const struct ll_model *model = ll_find_model(args->words[0]);
    struct ll_run_options options = {0};
    if (!model || !read_options(args, model, &options))
        return LL_WRONG;
    struct progress progress = {.terminal = isatty(STDERR_FILENO) == 1};
    struct ll_run_report report;
    options.stop = ll_catch_interrupts();
    options.progress = options.dry_run ? NULL : ll_show_step;
    options.context = &progress;
    options.path =
        ll_value(args, "output",
                 ll_format(args->arena, "%s.llt",
                           options.setting_count > 0 && ll_model_find(args->words[0]) == NULL ? args->words[0]
                                                                                              : model->name));
    options.path = ll_output_of_rank(options.path, args->arena);
    if (!options.path)
        return ll_cli_fail("memory ran out");
    int status = ll_run_workload(model, &options, &report);
    if (progress.terminal && options.progress && status == LL_DONE && report.steps < options.steps)
        ll_cli_tell("\n"); /* behind the step that was printed last */
    if (status != LL_DONE)
        return status;
    status = (ll_flag(args, "json") ? summarise_json : summarise)(&options, model, &report);
    if (status != LL_DONE || report.steps == options.steps)
        return status;
    ll_cli_warn("interrupted after %" PRIu64 " of %" PRIu64
                " steps, which are whole in %s; the same command records all "
                "from the first one on",
                report.steps, options.steps, options.path);
    return LL_INTERRUPTED;
}

static const struct ll_option options[] = {
    {"output", 'o', "TRACE", "the trace to write (default: MODEL.llt or program.llt)"},
    {"train", 0, NULL, "record training steps: forward, backward, update (default, except for single ops)"},
    {"infer", 0, NULL, "record inference steps: forward only"},
    {"batch", 0, "N", "samples per step (default: the model's own)"},
    {"steps", 0, "N", "steps to record (default: 3; in a dry run 1)"},
    {"dry-run", 0, NULL, "record the same ops without computing them: works for any size, has no times"},
    {"param", 'p', "KEY=VALUE", "set a parameter of the model; leadline models NAME lists them"},
    {"data", 0, "PATH", "real data to run on; leadline models NAME says which (default: generated)"},
    {"threads", 0, "N", "threads to compute with (default: one per CPU)"},
    {"seed", 0, "N", "seed of weights and data (default: 1)"},
    {"coverage", 0, NULL, "report which calls of PROGRAM would be intercepted, and how, without running it"},
    {"mech", 0, "WAY",
     "how to intercept the calls of PROGRAM (default: the least intrusive mechanism that sees the most "
     "calls)"},
    {"lossy", 0, NULL,
     "never stall PROGRAM: calls that come faster than they are written are lost, and counted"},
    {"calls", 0, NULL, "record only the calls of PROGRAM, even where PyTorch's own trace has more"},
    {0},
};

const struct ll_command ll_command_record = {
    .name = "record",
    .synopsis = "MODEL | -- PROGRAM ARGS...",
    .summary = "run a reference workload, or any program that calls BLAS, and record every op",
    .examples = "  leadline record alexnet --train --batch 8 --steps 3 -o alexnet.llt\n"
                "  leadline record alexnet --infer --batch 256 --dry-run -o big.llt\n"
                "  leadline record -o train.llt -- python3 train.py\n"
                "  leadline record --coverage -- ./solver\n",
    .details =
        "PROGRAM runs as it would alone, with its own streams and exit status (1 where that is 0 and a "
        "recording failed or ended early, calls were lost, or nothing was recorded and T.llt is of before), "
        "while its calls of BLAS, LAPACK and oneDNN are recorded. A thread whose calls come faster than they "
        "are written down waits (unless --lossy). Each "
        "further process "
        "of it that makes such calls gets "
        "a trace of its own, T.PID.llt. A PROGRAM takes none of the options but -o, --mech, "
        "--lossy, --calls, --coverage and --json; --json prints its summary after the program's own output. "
        "Steps are "
        "what the program marks "
        "with leadline_step(), or else what it repeats.\n"
        "Where a launcher starts leadline once for each rank (mpirun -n 2 leadline record -o T.llt -- "
        "PROGRAM), "
        "each rank writes a trace of its own, T.0.llt, T.1.llt and so on.\n"
        "A trace that stands where the new one is to be stays until that is whole; what was recorded before "
        "a "
        "full disk ended it is then beside it, in TRACE.part.\n"
        "\n"
        "Where PROGRAM is Python with PyTorch, the trace is PyTorch's own of one step, with all operators, "
        "weights "
        "and gradients: its observer (ExecutionTraceObserver) is switched on from outside, and what it "
        "writes is "
        "imported as pytorch-graph. A step ends with that of an optimizer, or begins with the network. The "
        "calls give "
        "GEMMs their times and the header its summary.\n"
        "\n"
        "Mechanisms that intercept the calls of PROGRAM (--mech); all but probe also see what preload sees:\n"
#define X(word, name, help) "  " name ": " help "\n"
    LL_MECHANISM_LIST(X),
#undef X
    .options = options,
    .repeated = (const char *const[]){"param", NULL},
    .writes = (const char *const[]){"output", NULL},
    .reads = (const char *const[]){"data", NULL},
    .least_words = 1,
    .most_words = SIZE_MAX,
    .run = run,
};

/* leadline train MODEL: does a reference workload learn? Its scores on unseen samples before and after. */

/* The model's training recipe, then what the user set: of two values of a key the last one counts. */
static bool read_recipe(const struct ll_args *args, const struct ll_model *model,
                        struct ll_run_options *train_options)
{
    static const char *const of_shows[] = {"output", NULL};
    const struct ll_training_recipe *recipe = &model->recipe;
    size_t known = 0;
    if (recipe->steps == 0) {
        ll_cli_reject("%s has nothing to learn; leadline record %s runs it", model->name, model->name);
        return false;
    }
    if (!model->shows &&
        !ll_without(args, of_shows, "is for what a network produces; this one has only scores"))
        return false;
    while (known < LL_MOST_RECIPE_SETTINGS && recipe->settings[known].key)
        known++;
    struct ll_setting *all = ll_alloc(args->arena, known + train_options->setting_count + 1, sizeof *all);
    if (!all)
        return false;
    memcpy(all, recipe->settings, known * sizeof *all);
    memcpy(all + known, train_options->settings, train_options->setting_count * sizeof *all);
    train_options->settings = all;
    train_options->setting_count += known;
    train_options->train = train_options->evaluate = true;
    train_options->batch = train_options->batch ? train_options->batch : recipe->batch;
    train_options->data = ll_value(args, "data", NULL);
    train_options->samples = ll_value(args, "output", NULL);
    return ll_value_count(args, "steps", 1, 1 << 30, recipe->steps, &train_options->steps);
}

static void show_step(void *context, uint64_t step, uint64_t steps, double loss, double step_s)
{
    const struct progress *progress = context;
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

static int summarise_training_json(const struct ll_run_options *train_options, const struct ll_model *model,
                                   const struct ll_run_report *report)
{
    struct ll_str out = {0};
    struct ll_json json = {.out = &out, .indent = true};
    ll_json_open_document(&json, "train", 1);
    ll_json_put_text(&json, "model", model->name);
    ll_json_put_count(&json, "steps", report->steps);
    ll_json_put_count(&json, "batch", train_options->batch);
    ll_json_key(&json, "settings");
    ll_json_open_object(&json);
    for (size_t i = 0; i < train_options->setting_count; i++)
        ll_json_put_text(&json, train_options->settings[i].key, train_options->settings[i].value);
    ll_json_close_object(&json);
    ll_json_put_count(&json, "parameters", report->parameters);
    ll_json_put_number(&json, "median_step_s", report->median_step_s);
    ll_json_put_number(&json, "first_loss", report->first_loss);
    ll_json_put_number(&json, "last_loss", report->last_loss);
    scores_json(report, &json);
    ll_json_close_object(&json);
    return ll_print(&out);
}

static int summarise_training(const struct ll_run_options *train_options, const struct ll_model *model,
                              const struct ll_run_report *report)
{
    struct ll_human parameters, time;
    struct ll_str out = {0};
    ll_str_addf(&out, "%s  %s parameters, %" PRIu64 " step%s of %" PRIu64 ", %s per step", model->name,
                ll_format_grouped(&parameters, report->parameters), report->steps, ll_plural(report->steps),
                train_options->batch, ll_format_si(&time, report->median_step_s, "s"));
    for (size_t i = 0; i < train_options->setting_count; i++)
        ll_str_addf(&out, "%s -p %s=%s", i ? "" : ", with", train_options->settings[i].key,
                    train_options->settings[i].value);
    ll_str_addf(&out, "\n\n");
    struct ll_table *table = ll_table_new("score|>before|>after|what it is");
    ll_table_row(table, "loss|%.4g|%.4g|of the first and of the last step", report->first_loss,
                 report->last_loss);
    for (size_t i = 0; i < report->after.count; i++)
        ll_table_row(table, "%s|%.4g|%.4g|%s", report->after.at[i].name, report->before.at[i].value,
                     report->after.at[i].value, report->after.at[i].doc);
    ll_show_table(table, &out);
    return ll_print(&out);
}

static int run_train(const struct ll_args *args)
{
    const struct ll_model *model = ll_find_model(args->words[0]);
    struct ll_run_options train_options = {0};
    if (!model || !ll_read_run_options(args, &train_options) || !read_recipe(args, model, &train_options))
        return LL_WRONG;
    struct progress progress = {.terminal = isatty(STDERR_FILENO) == 1};
    struct ll_run_report report;
    train_options.progress = show_step;
    train_options.context = &progress;
    int status = ll_run_workload(model, &train_options, &report);
    if (status != LL_DONE)
        return status;
    return (ll_flag(args, "json") ? summarise_training_json : summarise_training)(&train_options, model,
                                                                                  &report);
}

static const struct ll_option train_options[] = {
    {"output", 'o', "FOLDER", "folder for samples of what the trained network produces; created if missing"},
    {"steps", 0, "N", "training steps (default: the model's training recipe)"},
    {"batch", 0, "N", "samples per step (default: the recipe's)"},
    {"param", 'p', "KEY=VALUE",
     "set a parameter of the model, in place of the recipe's; leadline models NAME lists them"},
    {"data", 0, "PATH", "real data to learn from; leadline models NAME says which (default: generated)"},
    {"threads", 0, "N", "threads to compute with (default: one per CPU)"},
    {"seed", 0, "N", "seed of weights and data (default: 1)"},
    {0},
};

const struct ll_command ll_command_train = {
    .name = "train",
    .rows = "scores",
    .synopsis = "MODEL",
    .summary = "train a small version of a reference workload and score it on unseen samples",
    .examples = "  leadline train memnet\n"
                "  leadline train autoenc -o digits --steps 2000\n",
    .options = train_options,
    .repeated = (const char *const[]){"param", NULL},
    .writes = (const char *const[]){"output", NULL},
    .reads = (const char *const[]){"data", NULL},
    .least_words = 1,
    .most_words = 1,
    .run = run_train,
};
