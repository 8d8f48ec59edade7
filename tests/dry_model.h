/* SPDX-License-Identifier: Apache-2.0 */
/* A reference workload as a trace, recorded without computing. */
#ifndef LL_TESTS_DRY_MODEL_H
#define LL_TESTS_DRY_MODEL_H

#include "check.h"

#include "models/model.h"
#include "tracer/reader.h"

#include <stdlib.h>
#include <unistd.h>

/* Steps of the model's training, or inference; batch 0 is its own. Free with ll_trace_free. */
static inline struct ll_trace *dry_steps(const char *name, bool train, uint64_t batch, uint64_t steps,
                                         const struct ll_setting *settings, size_t setting_count)
{
    struct ll_diags *diags = calloc(1, sizeof *diags);
    char path[] = "/tmp/ll_dry_XXXXXX";
    int file = mkstemp(path);
    assert_true(file >= 0 && diags);
    close(file);
    const struct ll_run_options options = {.train = train,
                                           .batch = batch,
                                           .steps = steps,
                                           .seed = 1,
                                           .dry_run = true,
                                           .settings = settings,
                                           .setting_count = setting_count,
                                           .path = path};
    struct ll_run_report report;
    enum ll_status status;
    if (!ll_model_run(ll_model_find(name), &options, &report, diags))
        fail_msg("%s: %s", name, diags->kept[0].message);
    struct ll_trace *trace = ll_trace_read(path, diags, &status);
    assert_non_null(trace);
    ll_diags_release(diags);
    free(diags);
    unlink(path);
    return trace;
}

/* One step. */
static inline struct ll_trace *dry_model(const char *name, bool train, uint64_t batch,
                                         const struct ll_setting *settings, size_t setting_count)
{
    return dry_steps(name, train, batch, 1, settings, setting_count);
}

#endif
