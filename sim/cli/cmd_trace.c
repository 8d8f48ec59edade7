/* SPDX-License-Identifier: Apache-2.0 */
/* The commands that read traces and other tools' files: verify, import. */
#define _POSIX_C_SOURCE 200809L
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sim/cli/command.h"
#include "sim/cli/commands.h"
#include "sim/cli/load.h"
#include "sim/replay/communication.h"
#include "sim/replay/replay.h"
#include "sim/report/table.h"
#include "sim/report/sim_report.h"
#include "tracer/base/file.h"
#include "tracer/base/json.h"
#include "tracer/ir/profile.h"

/* leadline verify T.llt: whole, or how much is. */

static void verdict_json(const struct ll_trace *trace, bool whole, struct ll_str *out)
{
    const struct {
        const char *key;
        uint64_t count;
    } counts[] = {{"ops", trace->op_count},
                  {"complete_steps", ll_complete_steps(trace)},
                  {"file_bytes", trace->file_bytes},
                  {"lost_bytes", trace->lost_bytes},
                  {"lost_frames", trace->lost_frames},
                  {"lost_ops", trace->lost_ops},
                  {"dropped_events", ll_dropped_events(trace)}};
    struct ll_json json = {.out = out, .indent = true};
    ll_json_open_document(&json, "verify", 1);
    ll_json_put_bool(&json, "whole", whole);
    ll_json_put_bool(&json, "closed", trace->closed);
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        ll_json_put_count(&json, counts[i].key, counts[i].count);
    }
    ll_json_close_object(&json);
}

static int run_verify(const struct ll_args *args)
{
    int status;
    struct ll_trace *trace = ll_read_trace(args->words[0], &status);
    if (!trace)
        return status;
    struct ll_str out = {0};
    ll_str_addf(&out, "%s: ", args->words[0]);
    bool whole = ll_add_condition(trace, &out);
    ll_str_add(&out, "\n");
    if (ll_flag(args, "json")) {
        ll_str_release(&out);
        verdict_json(trace, whole, &out);
    }
    ll_trace_free(trace);
    status = ll_print(&out);
    return status != LL_DONE ? status : whole ? LL_DONE : LL_FAILED;
}

const struct ll_command ll_command_verify = {
    .name = "verify",
    .synopsis = "TRACE",
    .summary = "check whether a trace is whole, or how much of it can be used",
    .examples = "  leadline verify alexnet.llt\n  leadline verify alexnet.llt --json\n",
    .details =
        "Exit status: 0 when the trace is whole; 1 when it is damaged or cut off, or events of the "
        "recorded program found no room, but the rest can be used; 2 when nothing of it can be used.\n",
    .least_words = 1,
    .most_words = 1,
    .reads_input = true,
    .run = run_verify,
};

/* leadline import FORMAT FILE...: a file of others becomes a trace. */

/* FLOPs of GEMMs and of convolutions, which are what most others count. */
static double product_flops(const struct ll_profile *profile)
{
    double flops = 0;
    for (uint64_t i = 0; i < profile->kind_count; i++) {
        const struct ll_kind_total *kind = &profile->kinds[i];
        bool known = kind->op_kind < LL_OP_NONE;
        enum ll_op_class op_class = known ? ll_op_class(kind->op_kind) : LL_CLASS_MOVEMENT;
        if (ll_class_is_gemm(op_class))
            flops += kind->flops;
    }
    return flops;
}

static int summarise_json(const char *path, const struct ll_trace *trace, const struct ll_profile *profile,
                          const struct ll_warnings *warnings)
{
    struct ll_str out = {0};
    struct ll_json json = {.out = &out, .indent = true};
    ll_json_open_document(&json, "import", 1);
    ll_json_put_text(&json, "trace", path);
    ll_json_put_text(&json, "model", ll_trace_fact(trace, "model"));
    ll_json_put_count(&json, "parameters", profile->parameters);
    ll_json_put_number(&json, "ops", profile->ops);
    ll_json_put_count(&json, "steps", profile->steps);
    ll_json_put_number(&json, "flops", profile->flops);
    ll_json_put_number(&json, "gemm_flops", product_flops(profile));
    ll_json_put_number(&json, "bytes", profile->bytes);
    ll_json_put_number(&json, "coverage", ll_coverage_of(trace));
    ll_warnings_json(warnings, &json);
    ll_json_close_object(&json);
    return ll_print(&out);
}

static int summarise_text(const char *path, const struct ll_trace *trace, const struct ll_profile *profile,
                          const struct ll_warnings *warnings)
{
    struct ll_str out = {0};
    struct ll_human parameters, flops, products, bytes;
    const char *model = ll_trace_fact(trace, "model");
    ll_warnings_text(warnings, &out);
    ll_str_addf(&out,
                "%s  %s parameters; %" PRIu64
                " step%s, each %.0f op%s, %s (%s in GEMMs and convolutions), %s -> %s\n",
                model ? model : "trace", ll_format_grouped(&parameters, profile->parameters), profile->steps,
                ll_plural(profile->steps), profile->ops, profile->ops == 1 ? "" : "s",
                ll_format_si(&flops, profile->flops, "FLOP"),
                ll_format_si(&products, product_flops(profile), "FLOP"),
                ll_format_si(&bytes, profile->bytes, "B"), path);
    ll_covered_text(trace, &out);
    ll_str_add(&out, isnan(ll_coverage_of(trace)) ? "" : "\n");
    return ll_print(&out);
}

static int summarise(const struct ll_args *args, const char *path)
{
    int status;
    struct stat file;
    if (stat(path, &file) == 0 && !S_ISREG(file.st_mode)) {
        ll_cli_tell("%s: written; no summary, since it cannot be read again\n", path);
        return LL_DONE;
    }
    struct ll_trace *trace = ll_load_trace(path, &status);
    if (!trace)
        return status;
    const struct ll_profile *profile = ll_profile(trace, args->arena);
    struct ll_warnings warnings = {.arena = args->arena};
    ll_warn_of_trace(&warnings, trace, "");
    if (!profile)
        status = ll_cli_fail("memory ran out");
    else
        status = (ll_flag(args, "json") ? summarise_json : summarise_text)(path, trace, profile, &warnings);
    ll_trace_free(trace);
    return status;
}

/* PREFIX.0.et, PREFIX.1.et and so on, as many as there are. */
static uint64_t count_ranks(const struct ll_args *args, const char *word)
{
    uint64_t count = 0;
    for (const char *path; (path = ll_format(args->arena, "%s.%" PRIu64 ".et", word, count)); count++)
        if (access(path, F_OK) != 0)
            break;
    return count;
}

/* How many files a word stands for: itself, or ranks where there is no such file. */
static uint64_t count_files(const struct ll_args *args, const char *word)
{
    return access(word, F_OK) == 0 ? 1 : ll_max(1, count_ranks(args, word));
}

/* The number N of a file PREFIX.N.et, given its name and that of PREFIX; UINT64_MAX of any other file. */
static uint64_t rank_of(const char *name, const char *prefix)
{
    size_t length = strlen(prefix);
    char *end = NULL;
    if (strncmp(name, prefix, length) != 0 || name[length] != '.' || name[length + 1] < '0' ||
        name[length + 1] > '9')
        return UINT64_MAX;
    uint64_t rank = strtoull(name + length + 1, &end, 10);
    return strcmp(end, ".et") == 0 ? rank : UINT64_MAX;
}

/* Whether ranks follow behind one that is missing; says so. */
static bool misses_one(const struct ll_args *args, const char *word, uint64_t missing)
{
    const char *base = ll_base_name(word), *folder = ll_format(args->arena, "%.*s", (int)(base - word), word);
    DIR *listing = folder ? opendir(*folder ? folder : ".") : NULL;
    uint64_t next = UINT64_MAX;
    for (const struct dirent *entry; listing && (entry = readdir(listing)) != NULL;) {
        uint64_t rank = rank_of(entry->d_name, base);
        next = rank > missing && rank < next ? rank : next;
    }
    if (listing)
        closedir(listing);
    if (next == UINT64_MAX)
        return false;
    ll_cli_reject("%s.%" PRIu64 ".et: there is no such file, but there is %s.%" PRIu64 ".et", word, missing,
                  word, next);
    return true;
}

/* Opens all files that a word stands for; false after saying which cannot be. */
static bool open_files(const struct ll_args *args, const char *word, struct ll_input_file *inputs,
                       uint64_t *opened)
{
    uint64_t files = count_files(args, word);
    bool ranks = access(word, F_OK) != 0;
    if (ranks && misses_one(args, word, count_ranks(args, word)))
        return false;
    for (uint64_t i = 0; i < files; i++) {
        const char *path = ranks ? ll_format(args->arena, "%s.%" PRIu64 ".et", word, i) : word;
        enum ll_status status = path ? ll_input_open(path, args->arena, &inputs[*opened]) : LL_NO_MEMORY;
        if (status != LL_OK) {
            ll_cli_reject("%s: %s", word, ll_status_text(status));
            return false;
        }
        ++*opened;
    }
    return true;
}

/* Opens all that the command line names from word `first` on, behind the format. */
static bool open_inputs(const struct ll_args *args, size_t first, struct ll_input_file **inputs,
                        uint64_t *count)
{
    uint64_t most = 0;
    for (size_t i = first; i < args->word_count; i++)
        most += count_files(args, args->words[i]);
    *count = 0;
    *inputs = ll_alloc(args->arena, most, sizeof **inputs);
    bool opened = *inputs != NULL;
    for (size_t i = first; opened && i < args->word_count; i++)
        opened = open_files(args, args->words[i], *inputs, count);
    return opened;
}

/* A pass over the input, on the clock since it began. */
struct pass {
    const char *name;
    struct ll_ticker ticker;
};

static void show_progress(void *context, const char *name, double done)
{
    struct pass *pass = context;
    if (!pass->name || strcmp(pass->name, name) != 0)
        *pass = (struct pass){name, ll_ticker_new(true)};
    ll_ticker_tell(&pass->ticker, "import", done, NAN, "%s", name);
}

static int import(const struct ll_args *args, const struct ll_format *format, struct ll_import *import)
{
    struct pass pass = {.name = NULL};
    import->progress = show_progress;
    import->context = &pass;
    struct ll_diags *diags = calloc(2, sizeof *diags), *notes = diags + 1;
    if (!diags || !import->output)
        return ll_cli_fail("memory ran out");
    import->diags = diags;
    import->notes = notes;
    bool done = ll_import_run(format->import, import);
    ll_ticker_clear(&pass.ticker);
    ll_print_diags(done ? notes : diags);
    int status = done ? LL_DONE : LL_WRONG;
    if (!done && import->status != LL_OK)
        status = ll_cli_fail("%s: %s", import->output, ll_status_text(import->status));
    ll_diags_release(diags);
    ll_diags_release(notes);
    free(diags);
    return done ? summarise(args, import->output) : status;
}

/* The name of the first file, its ending exchanged, and that of gzip taken off before. */
static const char *default_output(const struct ll_args *args, size_t first)
{
    const char *base = ll_base_name(args->words[first]), *packed = strrchr(base, '.');
    if (packed && strcmp(packed, ".gz") == 0)
        base = ll_copy_text(args->arena, base, (size_t)(packed - base));
    if (!base)
        return NULL;
    return ll_format(args->arena, "%.*s.llt", (int)ll_stem_length(base), base);
}

/* A language model's config.json: what `record llm -p config=FILE --dry-run` records. */
static int import_config(const struct ll_args *args, size_t first)
{
    struct ll_run_report report;
    struct ll_run_options run = {
        .steps = 1, .dry_run = true, .path = ll_value(args, "output", default_output(args, first))};
    if (args->word_count != first + 1)
        return ll_cli_reject("import hf takes one config.json");
    if (!run.path)
        return ll_cli_fail("memory ran out");
    if (!ll_spares_inputs(args, "the trace", run.path) || !ll_read_run_options(args, &run))
        return LL_WRONG;
    struct ll_setting *settings = ll_alloc(args->arena, run.setting_count + 1, sizeof *settings);
    if (!settings)
        return ll_cli_fail("memory ran out");
    memcpy(settings, run.settings, run.setting_count * sizeof *settings);
    settings[run.setting_count++] = (struct ll_setting){"config", args->words[first]};
    run.settings = settings;
    run.train = ll_flag(args, "train");
    int status = ll_run_workload(ll_model_find("llm"), &run, &report);
    return status == LL_DONE ? summarise(args, run.path) : status;
}

/* Which word is the first file: behind a format, or in its place. */
static size_t first_file(const struct ll_args *args)
{
    const char *word = args->words[0];
    if (strcmp(word, "auto") == 0 || strcmp(word, "hf") == 0)
        return 1;
    for (const struct ll_format *format = ll_formats; format->name; format++)
        if (format->import && strcmp(format->name, word) == 0)
            return 1;
    return args->word_count > 1 && access(word, F_OK) != 0 ? 1 : 0;
}

/* The format by what is in the first file; NULL after saying that it is none. */
static const char *detect_format(const struct ll_args *args, const struct ll_input_file *input)
{
    const char *format = ll_format_detect(input->bytes, input->size);
    bool known = format && strcmp(format, "hf") == 0;
    for (const struct ll_format *row = ll_formats; format && row->name; row++)
        known |= row->import && strcmp(row->name, format) == 0;
    if (!format)
        ll_cli_reject("%s: it looks like no format that can be read; leadline import --help lists them",
                      input->path);
    else if (!known)
        ll_cli_reject("%s: it looks like %s, which cannot be read here", input->path, format);
    (void)args;
    return known ? format : NULL;
}

static int run_import(const struct ll_args *args)
{
    size_t first = first_file(args);
    bool by_name = first == 1 && strcmp(args->words[0], "auto") != 0;
    struct ll_input_file *inputs;
    struct ll_import request = {.allow_opaque = ll_flag(args, "allow-opaque")};
    if (first >= args->word_count)
        return ll_cli_reject("import %s takes a file", args->words[0]);
    const char *name = by_name ? args->words[0] : NULL;
    if (!by_name) {
        if (!open_inputs(args, first, &inputs, &request.input_count))
            return LL_WRONG;
        name = detect_format(args, &inputs[0]);
    }
    if (!name)
        return LL_WRONG;
    if (strcmp(name, "hf") == 0)
        return import_config(args, first);
    const struct ll_format *format = ll_find_format(name, true);
    request.output = ll_value(args, "output", default_output(args, first));
    if (!format || !ll_read_choices(args, true, &request.choices, &request.choice_count) ||
        (request.output && !ll_spares_inputs(args, "the trace", request.output)))
        return LL_WRONG;
    const char *part = request.output ? ll_path_beside(args->arena, request.output) : NULL;
    if (part)
        ll_on_interrupt(part == request.output ? NULL : part,
                        "nothing is written to %s; the same command starts again", request.output);
    if (by_name && !open_inputs(args, first, &inputs, &request.input_count))
        return LL_WRONG;
    request.inputs = inputs;
    return import(args, format, &request);
}

static const struct ll_option import_options[] = {
    {"output", 'o', "TRACE", "the trace to write (default: the first file's name, ending in .llt)"},
    {"batch", 0, "N", "samples per step, where the file leaves this open; the same as -p batch=N"},
    {"param", 'p', "KEY=VALUE",
     "set what else the file leaves open: onnx NAME=N, the size of a dimension it only names, inputs=A,B, "
     "which inputs are data (default: those that no initializer backs), or weights=A,B, which are not; "
     "chakra "
     "and scalesim dtype=TYPE, of elements (default: f32, of scalesim int8); onednn and those of pytorch "
     "model=NAME, as the trace calls it; hf what leadline models llm lists"},
    {"train", 0, NULL, "hf: a training step (default: an inference)"},
    {"allow-opaque", 0, NULL, "accept unknown operators: they move their bytes and compute nothing"},
    {0},
};

#define READ_HELP(name, doc) "  " name ": " doc "\n"
#define BOTH_HELP(name, doc) READ_HELP(name, doc)
#define WRITE_HELP(name, doc)
#define TIMED_HELP(name, doc)
#define TIMED_BOTH_HELP(name, doc) READ_HELP(name, doc)
#define LL_FORMAT(word, name, ways, doc) ways##_HELP(name, doc)

const struct ll_command ll_command_import = {
    .name = "import",
    .synopsis = "[FORMAT] FILE...",
    .summary = "turn a file of another tool into a trace",
    .examples = "  leadline import resnet50.onnx --batch 8 -o resnet50.llt\n"
                "  leadline sim -c v100_sxm_16gb resnet50.llt\n",
    .details =
        "Formats:\n"
        "  auto: whatever the first file looks like, which is the default\n"
        "  hf: a language model's config.json, as Hugging Face's hub has it; becomes a dry run of the model\n"
#include "tracer/convert/formats.def"
    ,
    .options = import_options,
    .repeated = (const char *const[]){"param", NULL},
    .writes = (const char *const[]){"output", NULL},
    .least_words = 1,
    .most_words = 4096,
    .run = run_import,
};
#undef LL_FORMAT
