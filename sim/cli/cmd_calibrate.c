/* SPDX-License-Identifier: Apache-2.0 */
/* leadline calibrate: measures this machine and writes its description. */
#define _GNU_SOURCE
#include "models/micro/micro.h"
#include "sim/calibrate/calibrate.h"
#include "sim/cli/calibrate_from.h"
#include "sim/cli/command.h"
#include "sim/cli/load.h"
#include "sim/cli/outputs.h"
#include "sim/report/table.h"
#include "tracer/base/json.h"
#include "tracer/base/map.h"

#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Where the trace is while it is measured that nobody asked to keep; empty otherwise. */
static char temporary[256];

/* A large product or a first touch of memory takes longer than somebody waits who wants an end. Nothing is to
 * be saved: a trace that is to be kept can be read as far as it is written. */
static void interrupt(int number)
{
    static const char message[] = "\nleadline: interrupted: no machine is written\n";
    if (temporary[0])
        unlink(temporary);
    ssize_t written = write(STDERR_FILENO, message, sizeof message - 1);
    (void)written;
    raise(number); /* nobody catches it a second time */
}

/* A bar for people; a log gets a line for each tenth. */
struct shown {
    bool terminal;
    int tenths;
};

static struct shown shown_here(void)
{
    return (struct shown){.terminal = isatty(STDERR_FILENO) == 1, .tenths = -1};
}

static bool show(void *context, const char *what, double done)
{
    struct shown *shown = context;
    int tenths = (int)(done * 10);
    if (shown->terminal)
        fprintf(stderr, "\r\033[K%s  %.0f %%%s", what, done * 100, done >= 1 ? "\n" : "");
    else if (tenths != shown->tenths)
        fprintf(stderr, "%s  %d %%\n", what, tenths * 10);
    shown->tenths = tenths;
    fflush(stderr);
    return true;
}

/* The trace of a run now, at `path`. */
static int measure(const struct ll_args *args, const char *path)
{
    uint64_t threads, seconds;
    if (!ll_value_count(args, "threads", 1, 4096, 0, &threads) ||
        !ll_value_count(args, "seconds", 1, 100000, 60, &seconds))
        return LL_WRONG;
    struct shown shown = shown_here();
    struct sigaction action = {.sa_handler = interrupt, .sa_flags = SA_RESETHAND}, before;
    sigaction(SIGINT, &action, &before);
    enum ll_status status = ll_micro_record(&(struct ll_micro_options){
        .threads = (unsigned)threads, .seconds = (double)seconds, .path = path, .listener = {show, &shown}});
    sigaction(SIGINT, &before, NULL);
    return status == LL_OK ? LL_DONE : ll_failed("%s: %s", path, ll_status_text(status));
}

static struct ll_trace *measured(const struct ll_args *args, int *status)
{
    const char *kept = ll_value(args, "keep", NULL);
    const char *folder = getenv("TMPDIR");
    if (args->word_count > 0)
        return ll_load_trace(args->words[0], status);
    if (!kept)
        snprintf(temporary, sizeof temporary, "%s/leadline-calibrate-XXXXXX",
                 folder && *folder ? folder : P_tmpdir);
    int file = kept ? -1 : mkstemp(temporary);
    if (!kept && file < 0) {
        *status = ll_failed("%s: no such file can be made", temporary);
        return NULL;
    }
    *status = measure(args, kept ? kept : temporary);
    struct ll_trace *trace = *status == LL_DONE ? ll_load_trace(kept ? kept : temporary, status) : NULL;
    if (file >= 0) {
        close(file);
        unlink(temporary);
    }
    return trace;
}

/* Where the processors of a virtual machine are hyperthreads of the same cores, none is ever alone. */
static void say_crowded(double share)
{
    static const double often = 0.2, mostly = 0.5;
    struct ll_human text;
    if (share > mostly)
        fprintf(
            stderr,
            "at %s of the looks somebody was on the other hyperthread of a core: others never left, or this "
            "machine's processors are hyperthreads of the same cores; it is described as it is then\n",
            ll_percent(&text, share));
    else if (share > often)
        fprintf(
            stderr,
            "at %s of the looks somebody was on the other hyperthread of a core, however long was waited; as "
            "many of an op's times, the slowest, are left out, but the memory was measured beside them\n",
            ll_percent(&text, share));
}

static void say_apart(double share)
{
    static const double often = 0.1;
    struct ll_human text;
    if (share > often)
        fprintf(
            stderr,
            "at %s of the looks threads were behind different last caches, however long was waited: what "
            "they share is described as larger and slower than where they are together; calibrate again\n",
            ll_percent(&text, share));
}

/* What passes between nodes is not measured. */
static void say_nodes(double nodes)
{
    if (nodes > 1)
        fprintf(
            stderr,
            "this machine's memory lies in %.0f nodes; it is described as one piece, as near as the measured "
            "threads had it: `numa` of the level `dram` adds what passes between them\n",
            nodes);
}

/* Who describes a machine should know that it was not left alone. Of a virtual machine whose neighbours were
 * quiet, times of an op differed by 9 % in the median over the kernels, and by 22 % when they were not; then
 * products of few rows were found 20 % slower than a few minutes before. */
static void say_disturbed(const struct ll_trace *trace, const struct ll_calibration *c)
{
    static const double much = 0.15;
    double spreads[LL_MAX_KERNELS];
    struct ll_human text;
    for (uint64_t i = 0; i < c->fit_count; i++)
        spreads[i] = c->fits[i].spread;
    double middle = ll_median(spreads, c->fit_count);
    if (middle > much)
        fprintf(stderr,
                "the times of an op differ by %s (half of them, in the median over the kernels): others were "
                "at work on this machine; calibrate again when it is quieter\n",
                ll_percent(&text, middle));
    say_apart(ll_trace_number(trace, "host.apart", 0));
    say_crowded(ll_trace_number(trace, "host.crowded", 0));
}

static int report(const struct ll_calibration *c)
{
    struct ll_str out = {0};
    struct ll_table *table =
        ll_table_new("kernel|>measurements|>error|>their spread|>overhead|>?compute|>?work|>?memory");
    for (uint64_t i = 0; i < c->fit_count; i++) {
        const struct ll_fit *fit = &c->fits[i];
        const struct ll_kernel *kernel = &c->machine->software.kernels[i];
        struct ll_human text[3];
        ll_table_row(table, "%s|%" PRIu64 "|%s|%s|%s|%.3g|%.3g|%.3g", kernel->name, fit->samples,
                     ll_percent(&text[0], fit->error), ll_percent(&text[1], fit->spread),
                     ll_si(&text[2], kernel->overhead_s, "s"), kernel->compute, kernel->work, kernel->memory);
    }
    ll_table_print(table, ll_screen_width(), &out);
    ll_table_free(table);
    return ll_print(&out);
}

static int report_json(const struct ll_calibration *c)
{
    struct ll_str out = {0};
    struct ll_json json = {.out = &out, .indent = true};
    ll_json_open_object(&json);
    ll_json_key(&json, "fits");
    ll_json_open_list(&json);
    for (uint64_t i = 0; i < c->fit_count; i++) {
        ll_json_open_object(&json);
        ll_json_put_text(&json, "kernel", c->machine->software.kernels[i].name);
        ll_json_put_count(&json, "measurements", c->fits[i].samples);
        ll_json_put_number(&json, "error", c->fits[i].error);
        ll_json_put_number(&json, "spread", c->fits[i].spread);
        ll_json_close_object(&json);
    }
    ll_json_close_list(&json);
    ll_json_key(&json, "machine");
    ll_machine_json(c->machine, &json);
    ll_json_close_object(&json);
    return ll_print(&out);
}

static const char *output_of(const struct ll_args *args)
{
    return ll_value(args, "output", "host.yaml");
}

static int write_machine(const struct ll_args *args, const struct ll_trace *trace, struct ll_diags *diags)
{
    const char *model = ll_trace_fact(trace, "model");
    if (!model || strcmp(model, "micro") != 0)
        return ll_wrong("%s: a trace of %s; expected one that leadline calibrate --keep has measured",
                        args->word_count ? args->words[0] : "the trace", model ? model : "something else");
    struct ll_calibration calibration;
    struct shown shown = shown_here();
    if (!ll_calibrate(trace, &(struct ll_listener){show, &shown}, args->arena, diags, &calibration))
        return LL_WRONG;
    struct ll_str yaml = {0};
    ll_calibration_yaml(&calibration, &yaml);
    int status = ll_write_file(output_of(args), &yaml) ? LL_DONE : LL_FAILED;
    if (status == LL_DONE)
        status = (ll_flag(args, "json") ? report_json : report)(&calibration);
    say_disturbed(trace, &calibration);
    say_nodes(ll_trace_number(trace, "host.memory_nodes", 0));
    ll_machine_free(calibration.machine);
    return status;
}

/* A machine is described as the workloads will find it: with the kernels that OpenBLAS chooses for them. */
static void say_core(const struct ll_trace *trace)
{
    const char *core = ll_trace_fact(trace, "blas.core"), *better = ll_trace_fact(trace, "blas.better_core");
    if (core)
        fprintf(stderr, "products by the %s kernels of OpenBLAS\n", core);
    if (better)
        fprintf(stderr, "because OPENBLAS_CORETYPE asks for them; this CPU can run %s\n", better);
}

static int run(const struct ll_args *args)
{
    static const char *const of_measuring[] = {"threads", "seconds", "keep", NULL};
    int status = LL_DONE;
    if (ll_value(args, "from", NULL))
        return ll_run_tuning(args);
    if (ll_value(args, "machine", NULL) || ll_value(args, "fit", NULL) || ll_value(args, "folds", NULL))
        return ll_wrong("--machine, --fit and --folds belong to --from");
    if (args->word_count > 0 &&
        !ll_without(args, of_measuring, "is for measuring; a trace was measured before"))
        return LL_WRONG;
    const char *kept = ll_value(args, "keep", NULL);
    if (!ll_spares_inputs(args, "the machine", output_of(args)))
        return LL_WRONG;
    if (!ll_can_write(output_of(args)) || (kept && !ll_can_write(kept)))
        return LL_FAILED;
    struct ll_trace *trace = measured(args, &status);
    if (trace)
        say_core(trace);
    struct ll_diags *diags = calloc(1, sizeof *diags);
    if (trace)
        status = diags ? write_machine(args, trace, diags) : ll_failed("memory ran out");
    if (diags) {
        ll_print_diags(diags);
        ll_diags_release(diags);
    }
    free(diags);
    ll_trace_free(trace);
    return status;
}

static const struct ll_option options[] = {
    {"output", 'o', "FILE", "the machine file to write (default: host.yaml; with --from fitted.yaml)"},
    {"threads", 0, "N", "threads to compute with (default: one per CPU)"},
    {"seconds", 0, "N",
     "how long to measure ops, in seconds (default: 60); cores, memory and the fit take two minutes or so "
     "besides, however few"},
    {"keep", 0, "TRACE", "keep the measurements, as a trace"},
    {"from", 0, "DATA.csv", "fit a machine to these measured times instead; may be repeated"},
    {"machine", 0, "MACHINE", "with --from: the machine to start from; the new file inherits from it"},
    {"fit", 0, "PATH,...",
     "with --from: the numbers to fit, as paths that --set takes, * for any part (default: overheads and "
     "efficiencies of units, memory and kernels)"},
    {"folds", 0, "N",
     "with --from: parts of a cross-validation, each predicted by a fit to the others (default: 5)"},
    {0},
};

const struct ll_command ll_command_calibrate = {
    .name = "calibrate",
    .synopsis = "[TRACE]",
    .summary = "measure this machine and write its description",
    .examples = "  leadline calibrate -o host.yaml && leadline sim -c host.yaml alexnet.llt\n"
                "  leadline calibrate --keep host.llt\n"
                "  leadline calibrate -o again.yaml host.llt\n"
                "  leadline calibrate --from deepbench.csv --machine t4_library --fit 'units.*.efficiency' "
                "-o mine.yaml\n",
    .details =
        "Streams through each level of memory, multiplies and adds in registers, multiplies large matrices; "
        "then runs every kind of op at several sizes, over and over, and fits the machine's numbers to the "
        "times. No other workload is used. With TRACE, uses what an earlier run kept (--keep) instead of "
        "measuring. Run it on an idle machine: other load makes this one look slower.\n"
        "\n"
        "With --from nothing is measured here. The rows of DATA.csv (in the format of leadline validate) "
        "that were measured on MACHINE are fitted, and the error is reported for rows that the fit has not "
        "seen; a machine that predicts those no better is not written, with status 1. Rows that leadline "
        "validate gives to a more special machine (t4_library rather than t4) are "
        "left "
        "out. What is made small is the mean of |log(predicted / measured)|, for which twice as slow is as "
        "wrong "
        "as twice as fast; the mean error in percent need not fall with it. The range of a number is that of "
        "the "
        "fits without one part of the rows each: how much hangs on single rows, not a confidence interval. "
        "The new file answers to the names of the one it inherits, so that leadline validate --machines "
        "FOLDER scores it where it stands without that one.\n",
    .options = options,
    .repeated = (const char *const[]){"from", NULL},
    .writes = (const char *const[]){"output", "keep", NULL},
    .reads = (const char *const[]){"from", "machine", NULL},
    .least_words = 0,
    .most_words = 1,
    .run = run,
};
