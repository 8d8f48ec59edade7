/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/calibrate/calibrate.h"

#include "sim/calibrate/base.h"
#include "sim/calibrate/fit.h"
#include "sim/calibrate/samples.h"

#include <inttypes.h>

static bool same_kernel(const struct ll_sample *a, const struct ll_sample *b)
{
    return a->kind == b->kind && a->most_rows == b->most_rows && a->transposed == b->transposed &&
           a->most_terms == b->most_terms && a->folds == b->folds;
}

static bool fit_kinds(const struct ll_samples *samples, const struct ll_listener *listener,
                      struct ll_arena *arena, struct ll_diags *diags, struct ll_machine *machine,
                      struct ll_calibration *calibration)
{
    struct ll_fit *fits = ll_alloc(arena, LL_MAX_KERNELS, sizeof *fits);
    struct ll_software *software = &machine->software;
    bool right = fits && samples->count > 0;
    for (uint64_t i = 0, end; right && i < samples->count; i = end) {
        if (software->kernel_count == LL_MAX_KERNELS)
            return ll_complain(diags, (struct ll_place){0},
                               "the trace has more than %d kinds of kernels, as many as a machine can have",
                               (int)LL_MAX_KERNELS);
        for (end = i + 1; end < samples->count && same_kernel(&samples->at[end], &samples->at[i]);)
            end++;
        right = ll_fit_kernel(machine, samples, i, end - i, &machine->arena,
                              &software->kernels[software->kernel_count], &fits[software->kernel_count]);
        struct ll_kernel *kernel = &software->kernels[software->kernel_count++];
        kernel->overhead_s += samples->gap_s;
        if (right && kernel->rows > 0)
            kernel->name = ll_format(&machine->arena, "%s_of_%" PRIu64 "_rows%s", kernel->name, kernel->rows,
                                     kernel->transposed ? "_transposed" : "");
        if (right && kernel->terms > 0)
            kernel->name = ll_format(&machine->arena, "%s_of_%" PRIu64 "_terms", kernel->name, kernel->terms);
        if (right && kernel->folds)
            kernel->name = ll_format(&machine->arena, "%s_along_lines", kernel->name);
        right = right && kernel->name &&
                ll_tell(listener, "fitting kernels", (double)end / (double)samples->count);
    }
    software->op_overhead_s = samples->gap_s;
    software->view_overhead_s = samples->gap_s + samples->view_s;
    calibration->fits = fits;
    calibration->fit_count = software->kernel_count;
    return right || ll_complain(diags, (struct ll_place){0}, "memory ran out, or the fit was ended early");
}

/* Where the figures of the kernels and of the host come from, behind the sources there are. */
static bool tell_sources(const struct ll_trace *micro, const struct ll_fit *fits, struct ll_machine *machine)
{
    const char *cpu = ll_trace_fact(micro, "host.cpu"), *threads = ll_trace_fact(micro, "threads");
    uint64_t count = machine->software.kernel_count, before = machine->source_count;
    bool host = machine->host.bandwidth_Bps > 0;
    struct ll_source *all = ll_alloc(&machine->arena, before + count + host, sizeof *all);
    if (!all)
        return false;
    for (uint64_t i = 0; i < before; i++)
        all[i] = machine->sources[i];
    for (uint64_t i = 0; i < count; i++) {
        all[before + i].path =
            ll_format(&machine->arena, "software.kernels.%s.overhead", machine->software.kernels[i].name);
        all[before + i].text =
            ll_format(&machine->arena,
                      "this kernel's figures are fitted by leadline calibrate on %s, threads %s: they repeat "
                      "%" PRIu64 " measurements within %.0f %% in the mean; spread of these %.0f %%",
                      cpu ? cpu : "an unknown processor", threads, fits[i].samples, fits[i].error * 100,
                      fits[i].spread * 100);
        if (!all[before + i].path || !all[before + i].text)
            return false;
    }
    if (host) {
        all[before + count].path = "host.bandwidth";
        all[before + count].text =
            ll_format(&machine->arena,
                      "measured by leadline calibrate on %s, threads %s: copies of inputs of all sizes from "
                      "where they were made ready",
                      cpu ? cpu : "an unknown processor", threads);
        if (!all[before + count].text)
            return false;
    }
    machine->sources = all;
    machine->source_count = before + count + host;
    return true;
}

bool ll_calibrate(const struct ll_trace *micro, const struct ll_listener *listener, struct ll_arena *arena,
                  struct ll_diags *diags, struct ll_calibration *calibration)
{
    *calibration = (struct ll_calibration){.machine = ll_calibrate_base(micro, diags)};
    const struct ll_samples *samples =
        calibration->machine ? ll_samples_of(micro, calibration->machine, arena, diags) : NULL;
    if (samples)
        ll_fit_host(samples, &calibration->machine->host);
    if (samples && fit_kinds(samples, listener, arena, diags, calibration->machine, calibration)) {
        if (tell_sources(micro, calibration->fits, calibration->machine))
            return true;
        ll_complain(diags, (struct ll_place){0}, "memory ran out");
    }
    ll_machine_free(calibration->machine);
    calibration->machine = NULL;
    return false;
}

void ll_calibration_yaml(const struct ll_calibration *calibration, struct ll_str *out)
{
    ll_str_add(out, "# Written by leadline calibrate: what it measured of the machine it ran on.\n");
    ll_machine_yaml(calibration->machine, out);
}
