/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/cli/load.h"

#include "sim/cli/command.h"
#include "tracer/reader.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct ll_trace *ll_load_trace(const char *path, int *status)
{
    struct ll_diags *diags = calloc(1, sizeof *diags);
    if (!diags) {
        *status = ll_failed("memory ran out");
        return NULL;
    }
    enum ll_status trouble = LL_OK;
    struct ll_trace *trace = ll_trace_read(path, diags, &trouble);
    ll_print_diags(diags);
    ll_diags_release(diags);
    free(diags);
    *status = LL_DONE;
    if (!trace)
        *status = trouble == LL_NO_MEMORY
                      ? ll_failed("%s: memory ran out", path)
                      : ll_wrong("%s: %s; nothing of it can be used", path, ll_status_text(trouble));
    return trace;
}

const char *ll_trace_condition(const struct ll_trace *trace, struct ll_arena *arena)
{
    bool whole = trace->lost_frames == 0 && trace->lost_bytes == 0;
    if (whole)
        return trace->closed ? "complete"
                             : "cut off: the recorder was stopped, what it had not yet written is missing";
    return ll_format(arena,
                     "damaged: %" PRIu64 " of %" PRIu64 " bytes unreadable, %" PRIu64
                     " frames and at least %" PRIu64 " ops lost%s",
                     trace->lost_bytes, trace->file_bytes, trace->lost_frames, trace->lost_ops,
                     trace->closed ? "" : "; the end is missing");
}

const struct ll_model *ll_find_model(const char *name)
{
    const struct ll_model *model = ll_model_find(name);
    if (model)
        return model;
    enum { MOST = 256 };
    const char *names[MOST];
    size_t count = 0;
    for (; count < ll_model_count() && count < MOST; count++)
        names[count] = ll_model_at(count)->name;
    ll_unknown("model", name, names, count, "leadline models");
    return NULL;
}

struct ll_machine *ll_load_machine(const char *which, const char *const *folders,
                                   const struct ll_override *overrides, size_t override_count)
{
    struct ll_diags *diags = calloc(1, sizeof *diags);
    if (!diags) {
        ll_failed("memory ran out");
        return NULL;
    }
    struct ll_machine *machine = ll_machine_read(which, folders, overrides, override_count, diags);
    ll_print_diags(diags);
    if (!machine)
        fprintf(stderr, "%zu %s in %s\n", diags->count, diags->count == 1 ? "mistake" : "mistakes", which);
    ll_diags_release(diags);
    free(diags);
    return machine;
}

const struct ll_override *ll_read_overrides(const struct ll_args *args, size_t *count)
{
    struct ll_override *overrides = ll_alloc(args->arena, args->given_count + 1, sizeof *overrides);
    const char *given;
    for (*count = 0; overrides && (given = ll_value_at(args, "set", *count)); ++*count) {
        const char *equals = strchr(given, '=');
        if (!equals || equals == given) {
            ll_wrong("--set %s: expected path=value, as in --set memory.hbm.bandwidth=1TB/s", given);
            return NULL;
        }
        overrides[*count].path = ll_copy_text(args->arena, given, (size_t)(equals - given));
        overrides[*count].value = equals + 1;
    }
    return overrides;
}
