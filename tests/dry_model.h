/* SPDX-License-Identifier: Apache-2.0 */
/* A reference workload as a trace, recorded without computing. */
#ifndef LL_TESTS_DRY_MODEL_H
#define LL_TESTS_DRY_MODEL_H

#include "check.h"

#include "models/model.h"
#include "tracer/ir/trace.h"

#include <stdlib.h>

/* The model recorded as the options say, which need not say that nothing is computed. Free with
 * ll_trace_free. */
static inline struct ll_trace *dry_run(const char *name, struct ll_run_options options)
{
    struct ll_diags *diags = calloc(1, sizeof *diags);
    struct ll_run_report report;
    struct ll_trace *trace = NULL;
    assert_non_null(diags);
    options.dry_run = true;
    options.trace = &trace;
    if (!ll_model_run(ll_model_find(name), &options, &report, diags))
        fail_msg("%s: %s", name, diags->kept[0].message);
    assert_non_null(trace);
    ll_diags_release(diags);
    free(diags);
    return trace;
}

/* How many settings there are before the first without key. */
static inline size_t settings_in(const struct ll_setting *settings, size_t most)
{
    size_t count = 0;
    while (count < most && settings[count].key)
        count++;
    return count;
}

/* Steps of the model's training, or inference; batch 0 is its own. */
static inline struct ll_trace *dry_steps(const char *name, bool train, uint64_t batch, uint64_t steps,
                                         const struct ll_setting *settings, size_t setting_count)
{
    return dry_run(name, (struct ll_run_options){.train = train,
                                                 .batch = batch,
                                                 .steps = steps,
                                                 .seed = 1,
                                                 .settings = settings,
                                                 .setting_count = setting_count});
}

/* One step. */
static inline struct ll_trace *dry_model(const char *name, bool train, uint64_t batch,
                                         const struct ll_setting *settings, size_t setting_count)
{
    return dry_steps(name, train, batch, 1, settings, setting_count);
}

#endif
