/* SPDX-License-Identifier: Apache-2.0 */
/* leadline sim on a machine with cores: options, the schedule, its file. */
#include <string.h>

#include "sim/cli/load.h"
#include "sim/cli/sim_cores.h"
#include "sim/report/fusion_report.h"
#include "tracer/base/file.h"
#include "tracer/base/json.h"

/* What the ops would take on a machine that is turned. */
struct turned {
    const struct ll_prepared *prepared;
    enum ll_fuse fuse;
};

static double time_turned(const struct ll_machine *machine, void *context)
{
    const struct turned *turned = context;
    return ll_fuse_time(turned->prepared, machine, turned->fuse);
}

static bool write_schedule(const char *path, const struct ll_fused_step *fusion)
{
    struct ll_str out = {0};
    struct ll_json json = {.out = &out};
    ll_fusion_schedule_json(fusion, &json);
    ll_str_add(&out, "\n");
    return ll_write_file(path, &out);
}

bool ll_sim_cores(const struct ll_args *args, const struct ll_prepared *prepared,
                  const struct ll_machine *machine, struct ll_report *report, struct ll_diags *diags)
{
    struct turned turned = {prepared,
                            strcmp(ll_value(args, "fuse", "auto"), "none") ? LL_FUSE_AUTO : LL_FUSE_NONE};
    const char *path = ll_value(args, "tiles", NULL);
    if (ll_trace_ranks(prepared->trace) > 1)
        return ll_complain(diags, (struct ll_place){.file = report->trace_name},
                           "the trace is of several ranks; the cores of `%s` are those of one device",
                           machine->stem);
    report->fusion = ll_fuse(prepared, machine, turned.fuse, args->arena, diags);
    if (!report->fusion)
        return false;
    report->result = report->fusion->result;
    if (path && !write_schedule(path, report->fusion))
        return ll_complain(diags, (struct ll_place){.file = path}, "the schedule could not be written");
    if (!ll_flag(args, "what-if"))
        return true;
    report->gains = ll_turn_knobs(machine, report->result->time_s, time_turned, &turned, args->arena,
                                  &report->gain_count);
    return report->gains;
}

bool ll_sim_cores_options(const struct ll_args *args, struct ll_machine *const *machines, size_t count,
                          bool planned)
{
    static const char *const of_cores[] = {"fuse", "tiles", NULL};
    static const char *const of_others[] = {"explain", "as-recorded", NULL};
    const char *fuse = ll_value(args, "fuse", "auto");
    size_t with = 0;
    for (size_t m = 0; m < count; m++)
        with += machines[m]->core_type_count > 0;
    if (with == 0)
        return ll_without(args, of_cores, "is for machines with `cores`");
    if (strcmp(fuse, "auto") != 0 && strcmp(fuse, "none") != 0) {
        ll_cli_reject("--fuse %s: expected auto or none", fuse);
        return false;
    }
    if (planned) {
        ll_cli_reject("a plan spreads a step over devices; a machine with `cores` is one device");
        return false;
    }
    if (ll_value(args, "tiles", NULL) && (count > 1 || args->word_count > 1)) {
        ll_cli_reject("--tiles writes one schedule: name one machine and one trace");
        return false;
    }
    return ll_without(args, of_others,
                      "is of ops that run one by one; a machine with `cores` runs their tiles");
}
