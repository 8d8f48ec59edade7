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
#include "sim/replay/communication.h"
#include "sim/replay/replay.h"
#include "tracer/base/file.h"
#include "tracer/base/json.h"

/* Exports, prints complaints, and tells a trouble of the world about what `path` names; an exit status. */
static int write_export(const struct ll_format *format, struct ll_export *export, const char *path)
{
    struct ll_diags *diags = calloc(1, sizeof *diags);
    export->diags = diags;
    if (!diags)
        return ll_cli_fail("memory ran out");
    bool done = ll_export_run(format->export, export);
    ll_print_diags(diags);
    int status = done ? LL_DONE : LL_WRONG;
    if (!done && export->status != LL_OK)
        status = ll_cli_fail("%s: %s", path, ll_status_text(export->status));
    ll_diags_release(diags);
    free(diags);
    return status;
}

/* What ops of a device run on: its units, the levels of the network between devices, the host; the links to
 * the host and back; and what a recorded program did beside its ops. */
enum host_track { TRACK_HOST, TRACK_TO_HOST, TRACK_FROM_HOST, TRACK_PROGRAM, HOST_TRACKS };
static const char *const host_tracks[HOST_TRACKS] = {
    [TRACK_HOST] = "host",
    [TRACK_TO_HOST] = "memory copies to the host",
    [TRACK_FROM_HOST] = "memory copies from the host",
    [TRACK_PROGRAM] = "program",
};

static uint32_t track_count(const struct ll_machine *machine)
{
    return (uint32_t)(machine->unit_count + machine->network_count + HOST_TRACKS);
}

/* Views, which take no time, are beside all that is busy: they are on the track of the host. */
static uint32_t track_of(const struct ll_result *result, uint32_t seq, const struct ll_price *price)
{
    const struct ll_machine *machine = result->machine;
    const struct ll_work *work = &result->prepared->works[result->prepared->trace->ops[seq].signature];
    uint32_t unit = result->ops[seq - result->prepared->first_op].unit;
    uint32_t units = (uint32_t)machine->unit_count, hosts = units + (uint32_t)machine->network_count;
    if (price && price->levels)
        return units + price->outermost;
    if (work->kind == LL_WORK_SWAP)
        return hosts + (work->a_bytes > work->c_bytes ? TRACK_TO_HOST : TRACK_FROM_HOST);
    if (work->kind == LL_WORK_WAIT)
        return hosts + TRACK_PROGRAM;
    return unit == LL_NO_UNIT ? hosts + TRACK_HOST : unit;
}

/* An op of a replay, as the exporters want it. */
static void scheduled_at(const struct ll_op_schedule *schedule, uint32_t seq, struct ll_scheduled *scheduled)
{
    const struct ll_result *result = schedule->context;
    const struct ll_prepared *prepared = result->prepared;
    const struct ll_op_result *op = &result->ops[seq - prepared->first_op];
    struct ll_op_detail detail = ll_replay_detail(result, seq);
    bool alone = schedule->process_count == 1;
    scheduled->start_s = op->start_s;
    scheduled->time_s = op->time_s;
    scheduled->active_s = fmin(op->active_s, op->time_s);
    /* Several ranks are replayed without the queues of their software. */
    scheduled->launch_s = alone ? op->launch_s : 0;
    scheduled->launch_start_s =
        result->machine->software.queue > 0 ? fmax(0, op->start_s - op->lead_s) : op->start_s;
    scheduled->process = alone ? 0 : prepared->trace->ops[seq].thread;
    scheduled->track = track_of(result, seq, detail.price);
    scheduled->bound = ll_bound_name(result->machine, op->bound);
    scheduled->energy_j = ll_replay_energy_j(result, seq);
    for (uint64_t l = 0; l < result->machine->level_count; l++)
        scheduled->level_bytes[l] = detail.traffic_bytes[l];
}

/* False when memory ran out. */
static bool name_tracks(const struct ll_machine *machine, uint32_t ranks, struct ll_arena *arena,
                        struct ll_op_schedule *schedule)
{
    uint32_t units = (uint32_t)machine->unit_count, networks = (uint32_t)machine->network_count;
    const char **tracks = ll_alloc(arena, track_count(machine), sizeof *tracks);
    const char **processes = ll_alloc(arena, ranks, sizeof *processes);
    if (!tracks || !processes)
        return false;
    for (uint32_t i = 0; i < track_count(machine); i++)
        tracks[i] = i < units              ? machine->units[i].name
                    : i < units + networks ? machine->networks[i - units].name
                                           : host_tracks[i - units - networks];
    for (uint32_t i = 0; i < ranks; i++)
        if (!(processes[i] = ll_format(arena, "rank %" PRIu32, i)))
            return false;
    schedule->tracks = tracks;
    schedule->processes = ranks > 1 ? processes : NULL;
    return true;
}

/* When ops run and on which track, and what they move out of each level. NULL when memory ran out. */
static const struct ll_op_schedule *schedule_of(const struct ll_result *result, struct ll_arena *arena)
{
    _Static_assert((int)LL_SCHEDULE_LEVELS >= (int)LL_MAX_LEVELS, "each level has its traffic");
    const struct ll_machine *machine = result->machine;
    uint32_t count = result->prepared->end_op - result->prepared->first_op,
             ranks = ll_trace_ranks(result->prepared->trace);
    struct ll_op_schedule *schedule = ll_alloc(arena, 1, sizeof *schedule);
    const char **levels = ll_alloc(arena, machine->level_count, sizeof *levels);
    double *peaks_Bps = ll_alloc(arena, machine->level_count, sizeof *peaks_Bps);
    if (!schedule || !levels || !peaks_Bps)
        return NULL;
    for (uint64_t l = 0; l < machine->level_count; l++) {
        levels[l] = machine->levels[l].name;
        peaks_Bps[l] = ll_machine_level_Bps(machine, l);
    }
    *schedule =
        (struct ll_op_schedule){.name = machine->stem,
                                .process_count = ranks,
                                .track_count = track_count(machine),
                                .first_op = result->prepared->first_op,
                                .op_count = count,
                                .level_count = (uint32_t)machine->level_count,
                                .levels = levels,
                                .level_peaks_Bps = peaks_Bps,
                                .static_w = machine->energy_given ? ll_machine_static_w(machine) : NAN,
                                .at = scheduled_at,
                                .context = result};
    return name_tracks(machine, ranks, arena, schedule) ? schedule : NULL;
}

/* A trace of several ranks is of devices that wait for one another. */
static const struct ll_result *play(const struct ll_prepared *prepared, const struct ll_machine *machine,
                                    struct ll_arena *arena, struct ll_diags *diags)
{
    if (ll_trace_ranks(prepared->trace) == 1)
        return ll_replay(prepared, machine, arena, diags);
    struct ll_remembered remembered = {0};
    const struct ll_multi_rank_result *together =
        ll_multi_rank_replay(prepared, machine, &remembered, arena, diags);
    ll_remembered_release(&remembered);
    return together ? together->result : NULL;
}

/* A trace on a machine, as the exporters want it. Starts zeroed; what it holds lives until it is released,
 * and needs the trace. */
struct simulated {
    struct ll_machine *machine;
    const struct ll_op_schedule *schedule;
    struct ll_arena arena;
};

static int replay(const struct ll_trace *trace, struct simulated *simulated, struct ll_diags *diags)
{
    struct ll_arena *arena = &simulated->arena;
    const struct ll_prepared *prepared = ll_prepare(trace, arena, diags);
    const struct ll_result *result = prepared ? play(prepared, simulated->machine, arena, diags) : NULL;
    simulated->schedule = result ? schedule_of(result, arena) : NULL;
    ll_print_diags(diags);
    if (!simulated->schedule && diags->count == 0)
        return ll_cli_fail("memory ran out");
    return simulated->schedule ? LL_DONE : LL_WRONG;
}

/* Replays the trace on the machine of this name, changed as --set says. An exit status, after printing what
 * is wrong. */
static int simulate(const struct ll_args *args, const char *machine, const struct ll_trace *trace,
                    struct simulated *simulated)
{
    size_t count;
    const char *const *folders = ll_machine_folders(args->arena);
    const struct ll_override *overrides = ll_read_overrides(args, &count);
    struct ll_diags *diags = calloc(1, sizeof *diags);
    int status = LL_WRONG;
    if (!folders || !diags)
        status = ll_cli_fail("memory ran out");
    else if (overrides && (simulated->machine = ll_load_machine(machine, folders, overrides, count)))
        status = replay(trace, simulated, diags);
    if (diags)
        ll_diags_release(diags);
    free(diags);
    return status;
}

/* Replays the trace on the machine of this name, changed as --set says. An exit status, after printing what
 * is wrong. */
static void simulated_release(struct simulated *simulated)
{
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
    status = write_export(ll_find_format("jsonl", false), &request, "standard output");
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

static int export_to(const struct ll_format *format, struct ll_export *request, const char *path,
                     struct ll_arena *arena)
{
    if (strcmp(path, "-") == 0) {
        request->file = STDOUT_FILENO;
        return write_export(format, request, "standard output");
    }
    const char *part = ll_path_beside(arena, path);
    request->path = path;
    request->file = part ? open(part, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666) : -1;
    if (request->file < 0)
        return ll_cli_fail("%s: %s", path,
                           ll_status_text(part ? ll_status_of(errno, LL_CANNOT_OPEN) : LL_NO_MEMORY));
    int status = write_export(format, request, path);
    if (close(request->file) != 0 && status == LL_DONE)
        status = ll_cli_fail("%s: %s", path, strerror(errno));
    enum ll_status kept = ll_path_keep(part, path, status == LL_DONE);
    return kept == LL_OK ? status : ll_cli_fail("%s: %s", path, ll_status_text(kept));
}

/* What --json tells of a file that was written. */
static int tell(const struct ll_format *format, const struct ll_trace *trace, const char *name,
                const char *path)
{
    struct ll_str out = {0};
    struct ll_json json = {.out = &out, .indent = true};
    ll_json_open_object(&json);
    ll_json_put_text(&json, "format", format->name);
    ll_json_put_text(&json, "trace", name);
    ll_json_put_text(&json, "file", path);
    ll_json_put_count(&json, "ops", trace->op_count);
    ll_json_put_count(&json, "steps", trace->step_count);
    ll_json_close_object(&json);
    return ll_print(&out);
}

static int run_export(const struct ll_args *args)
{
    const struct ll_format *format = ll_find_format(args->words[0], false);
    struct ll_export request = {0};
    const char *machine = ll_value(args, "machine", NULL), *path = ll_value(args, "output", "-");
    bool as_json = ll_flag(args, "json");
    int status = LL_WRONG;
    if (!format || !ll_read_choices(args, false, &request.choices, &request.choice_count))
        return status;
    if (as_json && strcmp(path, "-") == 0)
        return ll_cli_reject("--json: the export itself goes to standard output; name a file with -o");
    if (machine && !format->scheduled)
        return ll_cli_reject("-c %s: %s does not tell when ops run", machine, format->name);
    if (!machine && !ll_without(args, (const char *const[]){"set", NULL}, "changes the machine of -c"))
        return status;
    struct ll_trace *trace = ll_load_trace(args->words[1], &status);
    if (!trace)
        return status;
    request.trace = trace;
    struct simulated simulated = {0};
    status = machine ? simulate(args, machine, trace, &simulated) : LL_DONE;
    request.schedule = simulated.schedule;
    if (status == LL_DONE)
        status = export_to(format, &request, path, args->arena);
    if (status == LL_DONE && as_json)
        status = tell(format, trace, args->words[1], path);
    simulated_release(&simulated);
    ll_trace_free(trace);
    return status;
}

static const struct ll_option export_options[] = {
    {"output", 'o', "FILE", "the file to write (default: standard output)"},
    {"machine", 'c', "MACHINE", "simulate on this machine and write its times instead of the recorded ones"},
    {"set", 0, "PATH=VALUE", "change a value of the machine, as for leadline sim"},
    {"param", 'p', "KEY=VALUE",
     "set an option of the format; timeline has flows=all (default), cross or none: dependencies to draw as "
     "arrows, all, between tracks alone, or none; format=pftrace or json, whatever the file's ending"},
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
    .details = "Formats:\n"
#include "tracer/convert/formats.def"
    ,
    .options = export_options,
    .repeated = (const char *const[]){"set", "param", NULL},
    .writes = (const char *const[]){"output", NULL},
    .reads = (const char *const[]){"machine", NULL},
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
