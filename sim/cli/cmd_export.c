/* SPDX-License-Identifier: Apache-2.0 */
/* The commands that write traces as other tools' files: dump, export. */
#define _POSIX_C_SOURCE 200809L
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sim/cli/command.h"
#include "sim/cli/load.h"
#include "sim/cli/timeline.h"
#include "sim/replay/communication.h"
#include "sim/replay/replay.h"
#include "tracer/base/file.h"
#include "tracer/base/json.h"

/* Exports, prints complaints, and reports a trouble of the world about what `path` names; an exit status. */
static int write_export(ll_exporter *exporter, struct ll_export *export, const char *path)
{
    struct ll_diags *diags = calloc(1, sizeof *diags);
    export->diags = diags;
    if (!diags)
        return ll_cli_fail("memory ran out");
    bool done = ll_export_run(exporter, export);
    ll_print_diags(diags);
    int status = done ? LL_DONE : LL_WRONG;
    if (!done && export->status != LL_OK)
        status = ll_cli_fail("%s: %s", path, ll_status_text(export->status));
    ll_diags_release(diags);
    free(diags);
    return status;
}

/* A trace on a machine, or on the devices of a plan, as the exporters want it. Starts zeroed; what it holds
 * lives until it is released, and needs the trace. */
struct simulated {
    struct ll_machine *machine;
    const struct ll_op_schedule *schedule; /* NULL with a plan */
    struct ll_spread *spread;
    const struct ll_parallel_result *step; /* NULL without a plan */
    const struct ll_fused_step *fusion;    /* NULL without cores */
    struct ll_remembered remembered;
    struct ll_arena arena;
};

/* A trace of several ranks is of devices that wait for one another. */
static const struct ll_result *play(const struct ll_prepared *prepared, struct simulated *simulated,
                                    struct ll_diags *diags)
{
    if (ll_trace_ranks(prepared->trace) == 1)
        return ll_replay(prepared, simulated->machine, &simulated->arena, diags);
    const struct ll_multi_rank_result *together =
        ll_multi_rank_replay(prepared, simulated->machine, &simulated->remembered, &simulated->arena, diags);
    return together ? together->result : NULL;
}

/* False after complaints, or without any when memory ran out. */
static bool replay(const struct ll_trace *trace, struct simulated *simulated, struct ll_diags *diags)
{
    struct ll_arena *arena = &simulated->arena;
    const struct ll_prepared *prepared = ll_prepare(trace, arena, diags);
    if (prepared && simulated->machine->core_type_count > 0) {
        simulated->fusion = ll_fuse(prepared, simulated->machine, LL_FUSE_AUTO, arena, diags);
        return simulated->fusion;
    }
    const struct ll_result *result = prepared ? play(prepared, simulated, diags) : NULL;
    simulated->schedule = result ? ll_schedule_of(result, arena) : NULL;
    return simulated->schedule;
}

static bool spread(const struct ll_trace *trace, const struct ll_parallel *plan, struct simulated *simulated,
                   struct ll_diags *diags)
{
    struct ll_parallel assigned = *plan;
    if (!ll_assign_layers(trace, simulated->machine, &simulated->remembered, &assigned, diags))
        return false;
    simulated->spread = ll_spread_trace(trace, &assigned, ll_machine_devices(simulated->machine), diags);
    simulated->step = simulated->spread ? ll_parallel_run(simulated->spread, simulated->machine,
                                                          &simulated->remembered, &simulated->arena, diags)
                                        : NULL;
    return simulated->step;
}

/* Simulates the trace on the machine of this name, changed as --set says, with a plan unless that is NULL. An
 * exit status, after printing what is wrong. */
static int simulate(const struct ll_args *args, const char *machine, const struct ll_parallel *plan,
                    const struct ll_trace *trace, struct simulated *simulated)
{
    size_t count;
    const char *const *folders = ll_machine_folders(args->arena);
    const struct ll_override *overrides = ll_read_overrides(args, &count);
    struct ll_diags *diags = calloc(1, sizeof *diags);
    int status = LL_WRONG;
    if (!folders || !diags)
        status = ll_cli_fail("memory ran out");
    else if (overrides && (simulated->machine = plan ? ll_load_pools(machine, folders, overrides, count)
                                                     : ll_load_machine(machine, folders, overrides, count))) {
        if (plan && plan->tensor * ll_replicas(plan) * plan->pipeline > 1)
            simulated->machine = ll_load_system(simulated->machine, folders, overrides, count);
        bool done = plan ? spread(trace, plan, simulated, diags) : replay(trace, simulated, diags);
        ll_print_diags(diags);
        status = done ? LL_DONE : diags->count > 0 ? LL_WRONG : ll_cli_fail("memory ran out");
    }
    if (diags)
        ll_diags_release(diags);
    free(diags);
    return status;
}

static void simulated_release(struct simulated *simulated)
{
    ll_spread_free(simulated->spread);
    ll_remembered_release(&simulated->remembered);
    ll_arena_release(&simulated->arena);
    ll_machine_free(simulated->machine);
    *simulated = (struct simulated){0};
}

static int run(const struct ll_args *args)
{
    int status;
    struct ll_trace *trace = ll_load_trace(args->words[0], &status);
    if (!trace)
        return status;
    struct ll_export request = {.trace = trace, .file = STDOUT_FILENO};
    status = write_export(ll_find_format("jsonl", false)->export, &request, "standard output");
    ll_trace_free(trace);
    return status;
}

static const struct ll_option options[] = {
    {"json", 0, NULL, "the same: a dump is JSON, an object a line"},
    {0},
};

const struct ll_command ll_command_dump = {
    .name = "dump",
    .synopsis = "TRACE",
    .summary = "print every op of a trace as a line of JSON",
    .examples =
        "  leadline dump alexnet.llt | head -3\n  leadline dump alexnet.llt | grep '\"kind\":\"conv2d\"'\n",
    .details = "The dump is always JSON, one object per line.\n",
    .options = options,
    .least_words = 1,
    .most_words = 1,
    .reads_input = true,
    .run = run,
};

/* leadline export FORMAT T.llt: a trace becomes a file of others. */

int ll_export_to(ll_exporter *exporter, struct ll_export *request, const char *path, struct ll_arena *arena)
{
    if (strcmp(path, "-") == 0) {
        request->file = STDOUT_FILENO;
        return write_export(exporter, request, "standard output");
    }
    const char *part = ll_path_beside(arena, path);
    request->path = path;
    request->file = part ? open(part, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666) : -1;
    if (request->file < 0)
        return ll_cli_fail("%s: %s", path,
                           ll_status_text(part ? ll_status_of(errno, LL_CANNOT_OPEN) : LL_NO_MEMORY));
    int status = write_export(exporter, request, path);
    if (close(request->file) != 0 && status == LL_DONE)
        status = ll_cli_fail("%s: %s", path, strerror(errno));
    enum ll_status kept = ll_path_keep(part, path, status == LL_DONE);
    return kept == LL_OK ? status : ll_cli_fail("%s: %s", path, ll_status_text(kept));
}

/* What --json prints of a file that was written. */
static int print_written(const struct ll_format *format, const struct ll_trace *trace, const char *name,
                         const char *path)
{
    struct ll_str out = {0};
    struct ll_json json = {.out = &out, .indent = true};
    ll_json_open_document(&json, "export", 1);
    ll_json_put_text(&json, "format", format->name);
    ll_json_put_text(&json, "trace", name);
    ll_json_put_text(&json, "file", path);
    ll_json_put_count(&json, "ops", trace->op_count);
    ll_json_put_count(&json, "steps", trace->step_count);
    ll_json_close_object(&json);
    return ll_print(&out);
}

/* Whether the options go together; says what does not. */
static bool fit_together(const struct ll_args *args, const struct ll_format *format, bool planned)
{
    const char *machine = ll_value(args, "machine", NULL);
    if (ll_flag(args, "json") && strcmp(ll_value(args, "output", "-"), "-") == 0) {
        ll_cli_reject("--json: the export itself goes to standard output; name a file with -o");
        return false;
    }
    if (machine && !format->scheduled) {
        ll_cli_reject("-c %s: %s does not say when ops run", machine, format->name);
        return false;
    }
    if (planned && (!machine || format->export != ll_export_TIMELINE)) {
        ll_cli_reject(machine ? "a plan spreads a step over devices: timeline alone shows several"
                              : "a plan spreads a step over the devices of a machine: name one with -c");
        return false;
    }
    return machine || ll_without(args, (const char *const[]){"set", NULL}, "changes the machine of -c");
}

/* The trace that the arguments name, changed as they say. NULL after saying what is wrong; *status is then
 * the exit status. */
static struct ll_trace *load_changed(const struct ll_args *args, int *status)
{
    const char *path = args->words[1];
    struct ll_changes changes;
    *status = LL_WRONG;
    if (!ll_read_changes(args, &changes))
        return NULL;
    struct ll_trace *trace = ll_load_trace(path, status);
    trace = trace ? ll_rebatch(args, trace, path, status) : NULL;
    if (trace && (*status = ll_change(&trace, &changes, path)) != LL_DONE) {
        ll_trace_free(trace);
        trace = NULL;
    }
    return trace;
}

static int run_export(const struct ll_args *args)
{
    const struct ll_format *format = ll_find_format(args->words[0], false);
    union {
        struct ll_export export;
        struct ll_step_export spread;
        struct ll_cores_export cores;
    } request = {0};
    struct ll_export *export = &request.export;
    struct ll_parallel plan;
    const char *machine = ll_value(args, "machine", NULL), *path = ll_value(args, "output", "-");
    int status = LL_WRONG;
    bool planned;
    if (!format || !ll_read_choices(args, false, &export->choices, &export->choice_count) ||
        !ll_read_plan(args, &plan, &planned) || !fit_together(args, format, planned))
        return status;
    struct ll_trace *trace = load_changed(args, &status);
    if (!trace)
        return status;
    export->trace = trace;
    struct simulated simulated = {0};
    status = machine ? simulate(args, machine, planned ? &plan : NULL, trace, &simulated) : LL_DONE;
    export->schedule = simulated.schedule;
    if (planned)
        request.spread.step = simulated.step;
    if (simulated.fusion) {
        request.cores.fusion = simulated.fusion;
        if (format->export != ll_export_TIMELINE)
            status = ll_cli_reject("-c %s: it has cores; timeline alone shows them", machine);
    }
    ll_exporter *exporter = planned ? ll_export_step : simulated.fusion ? ll_export_cores : format->export;
    if (status == LL_DONE)
        status = ll_export_to(exporter, export, path, args->arena);
    if (status == LL_DONE && ll_flag(args, "json"))
        status = print_written(format, trace, args->words[1], path);
    simulated_release(&simulated);
    ll_trace_free(trace);
    return status;
}

static const struct ll_option export_options[] = {
    {"output", 'o', "FILE", "the file to write (default: standard output)"},
    {"machine", 'c', "MACHINE", "simulate on this machine and write its times instead of the recorded ones"},
    {"set", 0, "PATH=VALUE", "change a value of the machine, as for leadline sim"},
    LL_CHANGE_OPTIONS,
    LL_REBATCH_OPTIONS,
#define LL_PLAN_WITHOUT_BATCH
#define LL_PLAN_KEY(key, option, value, type, member, least, most, help) {option, 0, value, help},
#include "sim/parallel/plan_keys.def"
#undef LL_PLAN_KEY
    {"plan", 0, "PLAN.yaml",
     "read these options from a file, as keys (micro_batch: 4); options given here override it"},
    {"param", 'p', "KEY=VALUE",
     "set an option of the format; timeline has flows=all (default), cross or none: dependencies to draw as "
     "arrows, all, between tracks alone, or none; format=pftrace or json, whatever the file's ending; and "
     "with a plan devices=distinct (default) or all: one device of each stage, or every one"},
    {0},
};

#define READ_HELP(name, doc)
#define WRITE_HELP(name, doc) "  " name ": " doc "\n"
#define BOTH_HELP(name, doc) WRITE_HELP(name, doc)
#define TIMED_HELP(name, doc) WRITE_HELP(name, doc)
#define TIMED_BOTH_HELP(name, doc) WRITE_HELP(name, doc)
#define LL_FORMAT(word, name, ways, doc) ways##_HELP(name, doc)

const struct ll_command ll_command_export = {
    .name = "export",
    .synopsis = "FORMAT TRACE",
    .summary = "write a trace in another tool's format",
    .examples = "  leadline export chakra alexnet.llt -o alexnet.0.et\n"
                "  leadline export timeline alexnet.llt -c v100_sxm_16gb -o v100.pftrace\n",
    .details =
        "A timeline of a plan shows the step on all its devices: passes of the pipeline schedule, ops, sends "
        "and receives, gradient exchange, memory and bandwidth.\n"
        "\n"
        "Formats:\n"
#include "tracer/convert/formats.def"
    ,
    .options = export_options,
    .repeated = (const char *const[]){"set", "param", NULL},
    .writes = (const char *const[]){"output", NULL},
    .reads = (const char *const[]){"machine", "plan", NULL},
    .least_words = 2,
    .most_words = 2,
    .reads_input = true,
    .run = run_export,
};
#undef LL_FORMAT

#undef READ_HELP
#undef WRITE_HELP
#undef BOTH_HELP
#undef TIMED_HELP
#undef TIMED_BOTH_HELP
