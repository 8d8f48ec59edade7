/* SPDX-License-Identifier: Apache-2.0 */
#define _POSIX_C_SOURCE 200809L
#include "sim/cli/workload.h"

#include "sim/report/table.h"
#include "tracer/base/diag.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

void ll_show_step(void *context, uint64_t step, uint64_t steps, double loss, double step_s)
{
    const struct ll_progress *progress = context;
    struct ll_human time, left;
    if (!progress->terminal && step < steps && step % (steps / MOST_LINES + 1) != 0)
        return;
    fprintf(stderr, "%sstep %" PRIu64 " of %" PRIu64, progress->terminal ? "\r\033[K" : "", step, steps);
    if (step_s > 0)
        fprintf(stderr, "  %s", ll_si(&time, step_s, "s"));
    if (isfinite(loss))
        fprintf(stderr, "  loss %.4g", loss);
    if (progress->terminal && step < steps && step_s > 0)
        fprintf(stderr, "  %s left", ll_si(&left, step_s * (double)(steps - step), "s"));
    if (!progress->terminal || step == steps)
        fputc('\n', stderr);
    fflush(stderr);
}

/* Once: a study runs many workloads. */
static void say_better_core(const struct ll_run_report *report)
{
    static bool said;
    if (report->better_core && !said)
        fprintf(stderr,
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
        return ll_failed("memory ran out");
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
