/* SPDX-License-Identifier: Apache-2.0 */
/* leadline export FORMAT T.llt: a trace becomes a file of others. */
#define _POSIX_C_SOURCE 200809L
#include "sim/cli/choices.h"
#include "sim/cli/load.h"
#include "sim/cli/simulated.h"
#include "tracer/base/file.h"
#include "tracer/base/json.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int export_to(const struct ll_format *format, struct ll_export *request, const char *path,
                     struct ll_arena *arena)
{
    if (strcmp(path, "-") == 0) {
        request->file = STDOUT_FILENO;
        return ll_run_export(format, request, "standard output");
    }
    const char *part = ll_path_beside(arena, path);
    request->file = part ? open(part, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666) : -1;
    if (request->file < 0)
        return ll_failed("%s: %s", path, part ? strerror(errno) : "memory ran out");
    int status = ll_run_export(format, request, path);
    if (close(request->file) != 0 && status == LL_DONE)
        status = ll_failed("%s: %s", path, strerror(errno));
    enum ll_status kept = ll_path_keep(part, path, status == LL_DONE);
    return kept == LL_OK ? status : ll_failed("%s: %s", path, ll_status_text(kept));
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

static int run(const struct ll_args *args)
{
    const struct ll_format *format = ll_find_format(args->words[0], false);
    struct ll_export request = {0};
    const char *machine = ll_value(args, "machine", NULL), *path = ll_value(args, "output", "-");
    bool as_json = ll_flag(args, "json");
    int status = LL_WRONG;
    if (!format || !ll_read_choices(args, &request.choices, &request.choice_count))
        return status;
    if (as_json && strcmp(path, "-") == 0)
        return ll_wrong("--json: the export itself goes to standard output; name a file with -o");
    if (machine && !format->scheduled)
        return ll_wrong("-c %s: %s does not tell when ops run", machine, format->name);
    if (!machine && !ll_without(args, (const char *const[]){"set", NULL}, "changes the machine of -c"))
        return status;
    struct ll_trace *trace = ll_load_trace(args->words[1], &status);
    if (!trace)
        return status;
    request.trace = trace;
    struct ll_simulated simulated = {0};
    status = machine ? ll_simulate(args, machine, trace, &simulated) : LL_DONE;
    request.schedule = simulated.schedule;
    if (status == LL_DONE)
        status = export_to(format, &request, path, args->arena);
    if (status == LL_DONE && as_json)
        status = tell(format, trace, args->words[1], path);
    ll_simulated_release(&simulated);
    ll_trace_free(trace);
    return status;
}

static const struct ll_option options[] = {
    {"output", 'o', "FILE", "the file to write (default: standard output)"},
    {"machine", 'c', "MACHINE", "simulate on this machine and write its times instead of the recorded ones"},
    {"set", 0, "PATH=VALUE", "change a value of the machine, as for leadline sim"},
    {"param", 'p', "KEY=VALUE",
     "set an option of the format; timeline has flows=all, cross or none: dependencies to draw as "
     "arrows, all (default), between tracks alone, or none"},
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
                "  leadline export timeline alexnet.llt -c v100_sxm2_16gb -o v100.json\n",
    .details = "Formats:\n"
#include "tracer/convert/formats.def"
    ,
    .options = options,
    .repeated = (const char *const[]){"set", "param", NULL},
    .writes = (const char *const[]){"output", NULL},
    .reads = (const char *const[]){"machine", NULL},
    .least_words = 2,
    .most_words = 2,
    .run = run,
};
#undef LL_FORMAT

#undef READ_HELP
#undef WRITE_HELP
#undef BOTH_HELP
#undef TIMED_HELP
#undef TIMED_BOTH_HELP
