/* SPDX-License-Identifier: Apache-2.0 */
/* Measured servers, predicted: settings that were served under closed loops, with their median TTFT and
 * TPOT, as ai-dynamo/aiconfigurator collects them; runs whose requests were logged one by one; results of
 * benchmarks (sim/validate/bench_results.h). Each becomes a command line of `leadline serve`; what a row
 * leaves open is a reason not to score it. */
#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sim/cli/load.h"
#include "sim/cli/served_settings.h"
#include "sim/cli/serving.h"
#include "sim/report/table.h"
#include "sim/serve/quantiles.h"
#include "sim/serve/request_file.h"
#include "sim/validate/bench_results.h"
#include "sim/validate/validate.h"
#include "tracer/base/file.h"
#include "tracer/base/num.h"

enum { MOST_BYTES = 1 << 28, MOST_FIELDS = 64 };

/* The first line of a file, without its end; NULL when it cannot be read. */
static const char *first_line(const char *path, char line[static 4096])
{
    FILE *file = fopen(path, "r");
    const char *read = file ? fgets(line, 4096, file) : NULL;
    if (file)
        fclose(file);
    return read;
}

/* All of a file. False after saying what keeps it from being read. */
static bool read_file(const char *path, struct ll_arena *arena, struct ll_contents *text)
{
    enum ll_status status = ll_read_whole(path, MOST_BYTES, arena, text);
    return status == LL_OK || ll_cli_reject("%s: %s", path, ll_status_text(status)) == LL_DONE;
}

static bool has_column(const char *line, const char *name)
{
    size_t length = strlen(name);
    for (const char *at = line; at && *at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL)
        if (strncmp(at, name, length) == 0 && strchr(",\r\n", at[length]))
            return true;
    return false;
}

static bool is_settings(const char *line)
{
    return has_column(line, "silicon_ttft_ms") && has_column(line, "silicon_tpot_ms");
}

static bool is_log(const char *line)
{
    return has_column(line, "arrival_s") && has_column(line, "first_token_s") &&
           has_column(line, "last_token_s");
}

/* Whether a file begins like the results of a benchmark. */
static bool is_bench(const char *path)
{
    char begin[1 << 16];
    FILE *file = fopen(path, "rb");
    size_t length = file ? fread(begin, 1, sizeof begin, file) : 0;
    if (file)
        fclose(file);
    return ll_bench_is(begin, length);
}

bool ll_is_served_file(const char *path)
{
    char line[4096];
    return (first_line(path, line) && (is_settings(line) || is_log(line))) || is_bench(path);
}

struct scoring {
    const struct ll_args *args;
    const struct ll_request *listed; /* the load of what is served next, in place of one that is made up */
    uint64_t listed_count;
    struct ll_prediction *predictions;
    size_t count, capacity;
    struct ll_serving_shared shared;     /* machines that predictions refer to */
    struct ll_aliases *aliases;          /* NULL: not read yet; to be freed */
    const struct ll_served_rules *rules; /* how servers of settings were started; NULL: not read yet */
    struct ll_ticker ticker;
    bool failed;
};

/* One more prediction of a row; machine NULL: it is not scored, for that reason. */
static void add_row(struct scoring *s, const struct ll_measured *row, const char *workload, double predicted,
                    double roofline, const struct ll_machine *machine, const char *reason)
{
    struct ll_arena *arena = s->args->arena;
    if (s->count == s->capacity) {
        size_t capacity = s->capacity > 0 ? 2 * s->capacity : 1024;
        struct ll_prediction *more = ll_alloc(arena, capacity, sizeof *more);
        s->failed |= !more;
        if (!more)
            return;
        if (s->count > 0)
            memcpy(more, s->predictions, s->count * sizeof *more);
        s->predictions = more;
        s->capacity = capacity;
    }
    struct ll_measured *kept = ll_alloc(arena, 1, sizeof *kept);
    if (!kept) {
        s->failed = true;
        return;
    }
    *kept = *row;
    s->predictions[s->count++] = (struct ll_prediction){.row = kept,
                                                        .machine = machine,
                                                        .unscored = reason,
                                                        .family = row->op,
                                                        .workload = workload,
                                                        .time_s = predicted,
                                                        .roofline_s = roofline};
}

/* The same of a row that is put together. */
static void add(struct scoring *s, const char *source, const char *hardware, const char *family,
                const char *dims, double measured, double predicted, double roofline,
                const struct ll_machine *machine, const char *reason)
{
    const struct ll_measured row = {.source = source,
                                    .hardware = hardware,
                                    .op = family,
                                    .dtype = "",
                                    .dims = dims,
                                    .notes = "",
                                    .time_s = measured};
    add_row(s, &row, NULL, predicted, roofline, machine, reason);
}

/* Serves with the options, in their arena; *machine is one of those that are shared. NULL: *why says why not,
 * in the arena of the command's arguments. */
static const struct ll_serving *serve(struct ll_serving_options *o, bool roofline, struct scoring *s,
                                      const struct ll_machine **machine, const char **why)
{
    static const struct ll_serve_watch watch = {0};
    struct ll_serving_setup setup = {.args = &o->args, .roofline = roofline, .shared = &s->shared};
    const struct ll_serving *r = NULL;
    ll_cli_hush(true);
    if (ll_serving_read(&setup)) {
        if (s->listed) {
            setup.load.listed = s->listed;
            setup.load.count = s->listed_count;
        }
        r = ll_serving_run(&setup, &watch, o->args.arena);
    }
    int first = setup.groups[LL_POOL_WHOLE].pool ? LL_POOL_WHOLE : LL_POOL_PREFILL;
    ll_print_diags(&setup.diags);
    ll_cli_hush(false);
    const char *said = ll_cli_hushed();
    if (!r)
        *why =
            *said ? ll_copy_text(s->args->arena, said, strlen(said)) : "the deployment cannot be served here";
    else
        *machine = ll_serving_shared_machine(&s->shared, setup.groups[first].machine->stem);
    ll_serving_release(&setup);
    return r;
}

/* --- served settings --- */

struct table {
    const struct ll_csv_field *names;
    size_t name_count;
    const char *fields[MOST_FIELDS];
};

static const char *field(const struct table *t, const char *name)
{
    for (size_t i = 0; i < t->name_count; i++)
        if (strcmp(t->names[i].text, name) == 0)
            return t->fields[i] ? t->fields[i] : "";
    return "";
}

/* A whole number that may be written 8.0000; otherwise where the field is empty or 0. */
static uint64_t number(const struct table *t, const char *name, uint64_t otherwise)
{
    double value = ll_strtod(field(t, name), NULL);
    return value >= 1 && value < 1e9 ? (uint64_t)value : otherwise;
}

/* How the weights are stored; of models whose linear layers have one format and experts another, that of the
 * experts. */
static const char *format_of(const struct table *t)
{
    const char *gemm = field(t, "gemm_quant_mode"), *moe = field(t, "moe_quant_mode");
    if (strstr(field(t, "model_path"), "gpt-oss"))
        return "mxfp4_experts";
    if (strcmp(moe, "fp8_block") == 0 || strcmp(gemm, "fp8_block") == 0)
        return "fp8_block";
    return *gemm ? gemm : "none";
}

/* "2 x tp=4,pp=1,dp=1,ep=1" of the columns that begin so. */
static const char *workers_of(const struct table *t, const char *which, struct ll_arena *arena,
                              uint64_t *devices)
{
    const char *keys[] = {"num_workers", "tp_size", "pp_size", "attention_dp_size", "moe_ep_size"};
    uint64_t values[5];
    for (int i = 0; i < 5; i++)
        values[i] = number(t, ll_format(arena, "%s_%s", which, keys[i]), 1);
    *devices += values[0] * values[1] * values[2] * values[3];
    return ll_format(arena, "%" PRIu64 " x tp=%" PRIu64 ",pp=%" PRIu64 ",dp=%" PRIu64 ",ep=%" PRIu64,
                     values[0], values[1], values[2], values[3], values[4]);
}

/* A closed loop of ten prompts a client, of the lengths that the row has, or that its benchmark draws. */
static void give_load(struct ll_serving_options *o, const struct ll_served_rules *rules,
                      const struct ll_served_setting *s)
{
    enum { PROMPTS_A_CLIENT = 10 };
    const uint64_t parts = ll_served_is_drawn(rules, s) ? 4 : 5;
    ll_serving_give(
        o, "input-tokens",
        ll_format(o->args.arena, "%" PRIu64 "-%" PRIu64, ll_max(1, s->input * parts / 5), s->input));
    ll_serving_give(
        o, "output-tokens",
        ll_format(o->args.arena, "%" PRIu64 "-%" PRIu64, ll_max(1, s->output * parts / 5), s->output));
    ll_serving_give_count(o, "concurrency", s->clients);
    ll_serving_give_count(o, "num-prompts", PROMPTS_A_CLIENT * s->clients);
}

/* What a row leaves open; NULL: nothing. */
static const char *open_of(const struct table *t, bool apart)
{
    static const char *const needed[] = {"system", "backend", "model_path", "isl", "osl"};
    static const char *const workers[] = {"prefill_num_workers", "decode_num_workers"};
    for (size_t i = 0; i < sizeof needed / sizeof *needed; i++)
        if (*field(t, needed[i]) == '\0')
            return "the row does not say its system, backend, model or lengths";
    if (number(t, "concurrency", 0) == 0)
        return "the row does not say how many clients there were";
    for (size_t i = 0; apart && i < sizeof workers / sizeof *workers; i++)
        if (number(t, workers[i], 0) == 0)
            return "the row does not say how many workers prefilled or decoded";
    if (!ll_served_config(field(t, "model_path")))
        return "no configuration of its model comes along";
    return NULL;
}

static struct ll_served_setting setting_of(const struct table *t)
{
    return (struct ll_served_setting){.system = field(t, "system"),
                                      .backend = field(t, "backend"),
                                      .version = field(t, "backend_version"),
                                      .model = field(t, "model_path"),
                                      .precision = field(t, "precision"),
                                      .apart = strcmp(field(t, "mode"), "disagg") == 0,
                                      .input = number(t, "isl", 1),
                                      .output = number(t, "osl", 1),
                                      .clients = number(t, "concurrency", 1),
                                      .tensor = number(t, "tp_size", 1),
                                      .pipeline = number(t, "pp_size", 1),
                                      .data = number(t, "attention_dp_size", 1),
                                      .expert = number(t, "moe_ep_size", 1)};
}

/* The row's server as options; *devices is how many it has. NULL, or what nobody knows of it. */
static const char *give_server(struct ll_serving_options *o, const struct ll_served_rules *rules,
                               const struct table *t, const struct ll_served_setting *s, uint64_t *devices)
{
    *devices = 0;
    ll_serving_give(o, "machine", ll_format(o->args.arena, "%s+%s", s->system, s->backend));
    ll_serving_give(o, "model", s->model);
    ll_serving_give(o, "quantization", format_of(t));
    if (s->apart) {
        ll_serving_give(o, "prefill", workers_of(t, "prefill", o->args.arena, devices));
        ll_serving_give(o, "decode", workers_of(t, "decode", o->args.arena, devices));
    } else {
        *devices = s->tensor * s->pipeline * s->data;
        ll_serving_give_count(o, "tp", s->tensor);
        ll_serving_give_count(o, "pp", s->pipeline);
        ll_serving_give_count(o, "dp", s->data);
        ll_serving_give_count(o, "ep", s->expert);
    }
    return ll_served_settings(rules, s, o);
}

/* Tokens a second and a device where so many clients each wait for all of their tokens: rows have none of
 * their own. */
static double throughput(const struct ll_served_setting *s, double ttft_s, double tpot_s, uint64_t devices)
{
    const double output = (double)s->output;
    return (double)s->clients * output / (ttft_s + (output - 1) * tpot_s) / (double)devices;
}

static void score_setting(struct scoring *s, const struct table *t)
{
    struct ll_arena own = {0}, *arena = s->args->arena;
    struct ll_serving_options o;
    const struct ll_served_setting setting = setting_of(t);
    const double ttft = ll_strtod(field(t, "silicon_ttft_ms"), NULL) / 1e3,
                 tpot = ll_strtod(field(t, "silicon_tpot_ms"), NULL) / 1e3;
    const char *config = ll_served_config(setting.model), *open = open_of(t, setting.apart), *unknown;
    const char *dims =
        ll_format(arena,
                  "model=%s;mode=%s;version=%s;precision=%s;isl=%s;osl=%s;concurrency=%s;tp=%" PRIu64
                  ";dp=%" PRIu64 ";ep=%" PRIu64,
                  setting.model, field(t, "mode"), setting.version, setting.precision, field(t, "isl"),
                  field(t, "osl"), field(t, "concurrency"), setting.tensor, setting.data, setting.expert);
    uint64_t devices;
    const struct ll_machine *machine = NULL;
    const struct ll_serving *r[2] = {NULL, NULL}; /* ours, a roofline's */
    ll_serving_begin(&o, &own);
    unknown = give_server(&o, s->rules, t, &setting, &devices);
    open = open ? open : unknown;
    give_load(&o, s->rules, &setting);
    for (int i = 0; i < 2 && !open; i++)
        r[i] = serve(&o, i == 1, s, &machine, &open);
    struct ll_measured row = {.source = "served_points",
                              .hardware = ll_format(arena, "%s+%s", setting.system, setting.backend),
                              .dtype = "",
                              .dims = dims,
                              .notes = ""};
    static const char *const families[] = {"serving_tpot", "serving_ttft", "serving_throughput"};
    const double measured[] = {tpot, ttft, throughput(&setting, ttft, tpot, devices)};
    double ours[2][3] = {{NAN, NAN, NAN}, {NAN, NAN, NAN}};
    for (int i = 0; i < 2 && !open; i++) {
        ours[i][0] = ll_quantiles_mean(r[i]->tpot);
        ours[i][1] = ll_quantiles_mean(r[i]->ttft);
        ours[i][2] = throughput(&setting, ours[i][1], ours[i][0], devices);
    }
    for (int i = 0; i < 3; i++) {
        row.op = families[i];
        row.time_s = measured[i];
        add_row(s, &row, config, ours[0][i], ours[1][i], open ? NULL : machine, open);
    }
    ll_arena_release(&own);
}

static bool score_settings(struct scoring *s, const char *path)
{
    struct ll_arena *arena = s->args->arena;
    struct ll_contents text;
    struct ll_diags diags = {0};
    if (!read_file(path, arena, &text))
        return false;
    const char *const *folders = ll_machine_folders(arena);
    s->rules = s->rules || !folders ? s->rules : ll_served_rules_read(folders, arena, &diags);
    struct ll_csv csv = {
        .file = path, .at = text.bytes, .end = text.bytes + text.length, .arena = arena, .diags = &diags};
    struct table t = {0};
    size_t count, done = 0;
    t.names = ll_csv_next(&csv, &t.name_count);
    t.name_count = t.names ? ll_min(t.name_count, MOST_FIELDS) : 0;
    const struct ll_csv_field *row;
    while (s->rules && t.names && (row = ll_csv_next(&csv, &count)) && !s->failed) {
        for (size_t i = 0; i < t.name_count; i++)
            t.fields[i] = i < count ? row[i].text : NULL;
        score_setting(s, &t);
        ll_ticker_tell(&s->ticker, "validate", (double)(csv.at - text.bytes) / (double)text.length, NAN,
                       "%zu setting%s", done + 1, ll_plural(done + 1));
        done++;
    }
    bool good = s->rules && !csv.failed;
    ll_print_diags(&diags);
    ll_diags_release(&diags);
    return good;
}

/* --- logs of requests --- */

/* What of the command line counts for every server that files describe. */
static void give_options(struct ll_serving_options *o, const struct ll_args *args)
{
    for (size_t i = 0; i < args->given_count; i++)
        ll_serving_give(o, args->given[i].option->name, args->given[i].value ? args->given[i].value : "");
}

/* The measured times of a log's requests, in the order of the file. */
static bool read_times(const char *path, struct ll_arena *arena, struct ll_quantiles *const times[3],
                       uint64_t wanted)
{
    struct ll_contents text;
    struct ll_diags diags = {0};
    if (!read_file(path, arena, &text))
        return false;
    struct ll_csv csv = {
        .file = path, .at = text.bytes, .end = text.bytes + text.length, .arena = arena, .diags = &diags};
    struct table t = {0};
    size_t count, i = 0;
    t.names = ll_csv_next(&csv, &t.name_count);
    t.name_count = t.names ? ll_min(t.name_count, MOST_FIELDS) : 0;
    const struct ll_csv_field *row;
    for (; t.names && i < wanted && (row = ll_csv_next(&csv, &count)); i++) {
        for (size_t f = 0; f < t.name_count; f++)
            t.fields[f] = f < count ? row[f].text : NULL;
        double arrival = ll_strtod(field(&t, "arrival_s"), NULL),
               first = ll_strtod(field(&t, "first_token_s"), NULL),
               last = ll_strtod(field(&t, "last_token_s"), NULL),
               made = ll_strtod(field(&t, "output_tokens"), NULL);
        if (!(arrival <= first && first <= last))
            return ll_cli_reject("%s: request %zu has no times that follow each other", path, i + 1) ==
                   LL_DONE;
        ll_quantiles_add(times[0], first - arrival, 1);
        ll_quantiles_add(times[1], made > 1 ? (last - first) / (made - 1) : 0, made > 1);
        ll_quantiles_add(times[2], last - arrival, 1);
    }
    bool good = !csv.failed && i == wanted;
    ll_diags_release(&diags);
    return good;
}

static bool score_log(struct scoring *s, const char *path)
{
    static const char *const families[] = {"serving_ttft", "serving_tpot", "serving_latency",
                                           "serving_latency_p50", "serving_latency_p99"};
    struct ll_arena *arena = s->args->arena;
    struct ll_diags diags = {0};
    struct ll_serving_options o;
    struct ll_quantiles *times[3][3]; /* TTFT, TPOT, latency; measured, ours, a roofline's */
    uint64_t count;
    const struct ll_request *requests = ll_read_requests(path, arena, &count, &diags);
    ll_print_diags(&diags);
    ll_diags_release(&diags);
    const char *which = ll_value(s->args, "machine", NULL);
    if (!requests)
        return false;
    if (!which || !ll_value(s->args, "model", NULL)) {
        ll_cli_reject("%s: a log says nothing of the server; expected -c MACHINE and --model, as leadline "
                      "serve takes them",
                      path);
        return false;
    }
    for (int i = 0; i < 3; i++)
        if (!(times[0][i] = ll_quantiles_make(arena)))
            return false;
    if (!read_times(path, arena, times[0], count))
        return false;
    ll_serving_begin(&o, arena);
    give_options(&o, s->args);
    ll_serving_give(&o, "requests", path);
    ll_serving_give(&o, "request-overhead", "0s"); /* the log's arrivals are the queue's */
    const struct ll_machine *machine = NULL;
    for (int i = 1; i < 3; i++) {
        const char *why;
        const struct ll_serving *r = serve(&o, i == 2, s, &machine, &why);
        if (!r) {
            ll_cli_reject("%s", why);
            return false;
        }
        times[i][0] = r->ttft;
        times[i][1] = r->tpot;
        times[i][2] = r->e2e;
    }
    double values[3][5];
    for (int i = 0; i < 3; i++) {
        values[i][0] = ll_quantiles_mean(times[i][0]);
        values[i][1] = ll_quantiles_mean(times[i][1]);
        values[i][2] = ll_quantiles_mean(times[i][2]);
        values[i][3] = ll_quantiles_at(times[i][2], 0.5);
        values[i][4] = ll_quantiles_at(times[i][2], 0.99);
    }
    for (int f = 0; f < 5; f++)
        add(s, path, which, families[f], ll_format(arena, "requests=%" PRIu64, count), values[0][f],
            values[1][f], values[2][f], machine, NULL);
    return true;
}

/* --- results of benchmarks --- */

/* The name of a model of which llama.cpp says its type ("qwen3 8B Q4_K - Medium") and file
 * ("Qwen3-8B-Q4_K_M.gguf"); NULL: none comes along. */
static const char *model_of_type(const struct ll_bench_result *r, struct ll_arena *arena)
{
    const char *type = r->text[LL_BENCH_MODEL_TYPE], *file = r->text[LL_BENCH_MODEL_FILE];
    const char *slash = file ? strrchr(file, '/') : NULL, *name = slash ? slash + 1 : file;
    /* The file's name up to the format of its weights, which is its last part or last two. */
    for (size_t length = name ? strlen(name) : 0; length > 0; length--)
        if (name[length] == '-' || name[length] == '.' || name[length] == '_') {
            const char *part = ll_copy_text(arena, name, length);
            const char *config = part && access(part, R_OK) != 0 ? ll_served_config(part) : NULL;
            if (config)
                return config;
        }
    const char *blank = type ? strchr(type, ' ') : NULL;
    size_t size = blank ? strcspn(blank + 1, " ") : 0;
    return blank ? ll_served_config(
                       ll_format(arena, "%.*s-%.*s", (int)(blank - type), type, (int)size, blank + 1))
                 : NULL;
}

/* The format of weights that llama.cpp's types name: those with as many bits that servers have; NULL:
 * none. */
static const char *format_of_type(const char *type)
{
    static const char *const formats[][2] = {{"MXFP4", "mxfp4_experts"},
                                             {"Q4_", "int4"},
                                             {"IQ4_", "int4"},
                                             {"Q8_", "int8"},
                                             {"F16", "none"},
                                             {"BF16", "none"}};
    for (size_t i = 0; type && i < sizeof formats / sizeof *formats; i++)
        if (strstr(type, formats[i][0]))
            return formats[i][1];
    return NULL;
}

/* Times that were measured, and where a serving has them: means, or quantiles at p. */
static const struct {
    enum ll_bench_number number;
    const char *family;
    size_t quantiles;
    double p; /* NaN: the mean */
} bench_times[] = {
    {LL_BENCH_TTFT, "serving_ttft", offsetof(struct ll_serving, ttft), NAN},
    {LL_BENCH_TTFT_P50, "serving_ttft_p50", offsetof(struct ll_serving, ttft), 0.5},
    {LL_BENCH_TTFT_P99, "serving_ttft_p99", offsetof(struct ll_serving, ttft), 0.99},
    {LL_BENCH_TPOT, "serving_tpot", offsetof(struct ll_serving, tpot), NAN},
    {LL_BENCH_TPOT_P50, "serving_tpot_p50", offsetof(struct ll_serving, tpot), 0.5},
    {LL_BENCH_TPOT_P99, "serving_tpot_p99", offsetof(struct ll_serving, tpot), 0.99},
    {LL_BENCH_LATENCY, "serving_latency", offsetof(struct ll_serving, e2e), NAN},
    {LL_BENCH_LATENCY_P50, "serving_latency_p50", offsetof(struct ll_serving, e2e), 0.5},
    {LL_BENCH_LATENCY_P99, "serving_latency_p99", offsetof(struct ll_serving, e2e), 0.99},
};

static double bench_time(size_t i, const struct ll_serving *r)
{
    struct ll_quantiles *const *q = (const void *)((const char *)r + bench_times[i].quantiles);
    return isnan(bench_times[i].p) ? ll_quantiles_mean(*q) : ll_quantiles_at(*q, bench_times[i].p);
}

static bool says_bench(const struct ll_bench_result *r, enum ll_bench_number number)
{
    return !isnan(r->number[number]);
}

/* A count of a result, rounded to whole ones, at least 1. */
static uint64_t bench_count(double value)
{
    return (uint64_t)fmin(1 << 30, fmax(1, round(value)));
}

/* The load of a server; else why the run cannot be repeated. */
static const char *load_of_server(struct ll_serving_options *o, const struct ll_bench_result *r)
{
    const double *n = r->number, requests = n[LL_BENCH_REQUESTS];
    const double rate = n[LL_BENCH_RATE];
    const bool capped = n[LL_BENCH_CONCURRENCY] > 0, paced = says_bench(r, LL_BENCH_RATE) && isfinite(rate);
    if (n[LL_BENCH_ACCEPTED] > 1)
        return "tokens were guessed ahead, and the file does not say how";
    if (paced && capped)
        return "requests came at a rate and waited for others at once";
    if (!paced && !capped && !says_bench(r, LL_BENCH_RATE))
        return "the file says neither a rate nor a concurrency";
    if (n[LL_BENCH_OUTPUT_TOTAL] < requests)
        return "there are requests without a token";
    if (capped)
        ll_serving_give_count(o, "concurrency", bench_count(n[LL_BENCH_CONCURRENCY]));
    else
        ll_serving_give(o, "rate", paced ? ll_format(o->args.arena, "%.9g", rate) : "inf");
    if (paced && says_bench(r, LL_BENCH_BURSTINESS))
        ll_serving_give(o, "burstiness", ll_format(o->args.arena, "%.9g", n[LL_BENCH_BURSTINESS]));
    ll_serving_give_count(o, "num-prompts", bench_count(requests));
    ll_serving_give_count(o, "input-tokens", bench_count(n[LL_BENCH_INPUT_TOTAL] / requests));
    ll_serving_give_count(o, "output-tokens", bench_count(n[LL_BENCH_OUTPUT_TOTAL] / requests));
    return NULL;
}

/* More requests of one length say no more of a server in its steady state. */
enum { MOST_REQUESTS = 16384 };

/* LoadGen's scenarios (MLPerf Inference Rules, section 3): all samples at once, queries of a Poisson process,
 * one query after the other. Its logs do not say how long prompts are. */
static const char *load_of_loadgen(struct ll_serving_options *o, const struct ll_bench_result *r,
                                   const struct ll_args *args)
{
    const char *scenario = r->text[LL_BENCH_SCENARIO], *mode = r->text[LL_BENCH_MODE];
    const double *n = r->number;
    const bool offline = strcmp(scenario, "Offline") == 0, single = strcmp(scenario, "SingleStream") == 0,
               several = strcmp(scenario, "MultiStream") == 0,
               server = strcmp(scenario, "Server") == 0 || strcmp(scenario, "Interactive") == 0;
    double together = fmax(1, n[LL_BENCH_SAMPLES_PER_QUERY]);
    /* Queries come until there were enough, for long enough; how many that were only one of the logs says. */
    const double each_s = server ? 1 / n[LL_BENCH_TARGET_RATE] : n[LL_BENCH_LATENCY];
    const double least = fmax(n[LL_BENCH_QUERIES], n[LL_BENCH_LEAST_TIME] / each_s);
    const double requests =
        offline ? together
                : together * (says_bench(r, LL_BENCH_REQUESTS) ? n[LL_BENCH_REQUESTS] : ceil(least));
    if (!(n[LL_BENCH_TOKENS_PER_S] > 0 && n[LL_BENCH_SAMPLES_PER_S] > 0))
        return "the log counts no tokens; only servers of language models are predicted";
    if (mode && strcmp(mode, "PerformanceOnly") != 0)
        return "the run did not measure performance";
    if (r->text[LL_BENCH_VALIDITY] && strcmp(r->text[LL_BENCH_VALIDITY], "VALID") != 0)
        return "the run was not valid";
    if (!ll_value(args, "input-tokens", NULL))
        return "the log does not say how long prompts are; --input-tokens does";
    if (server && !(n[LL_BENCH_TARGET_RATE] > 0))
        return "the log does not say at which rate queries came";
    if (!offline && !single && !several && !server)
        return "its scenario is not known";
    if (single || several)
        ll_serving_give_count(o, "concurrency", bench_count(together));
    else
        ll_serving_give(o, "rate",
                        offline ? "inf" : ll_format(o->args.arena, "%.9g", n[LL_BENCH_TARGET_RATE]));
    ll_serving_give_count(o, "num-prompts", bench_count(fmin(requests, MOST_REQUESTS)));
    ll_serving_give_count(o, "output-tokens",
                          bench_count(n[LL_BENCH_TOKENS_PER_S] / n[LL_BENCH_SAMPLES_PER_S]));
    return NULL;
}

/* One process: prompts are read in chunks, all sequences of a batch begin together. */
static const char *load_of_process(struct ll_serving_options *o, const struct ll_bench_result *r)
{
    const double *n = r->number;
    const bool reads = n[LL_BENCH_PROMPT_TOKENS] > 0, behind = n[LL_BENCH_DEPTH] > 0;
    const double batch = fmax(1, n[LL_BENCH_BATCH]),
                 prompt = reads ? n[LL_BENCH_PROMPT_TOKENS] : fmax(1, n[LL_BENCH_DEPTH]);
    enum { USUAL_CHUNK = 512 }; /* of llama.cpp (n_ubatch) */
    if (reads && behind)
        return "a prompt behind others cannot be served alone";
    ll_serving_give_count(o, "concurrency", bench_count(batch));
    ll_serving_give_count(o, "num-prompts", bench_count(batch));
    ll_serving_give_count(o, "max-num-seqs", bench_count(fmin(1 << 20, batch)));
    ll_serving_give_count(o, "max-num-batched-tokens",
                          bench_count(fmin(1 << 24, r->kind == LL_BENCH_BATCHED     ? batch * prompt
                                                    : says_bench(r, LL_BENCH_CHUNK) ? n[LL_BENCH_CHUNK]
                                                                                    : USUAL_CHUNK)));
    ll_serving_give_count(o, "input-tokens", bench_count(prompt));
    ll_serving_give_count(o, "output-tokens", bench_count(n[LL_BENCH_NEW_TOKENS] + 1));
    ll_serving_give(o, "request-overhead", "0s");
    return NULL;
}

/* The requests that a file lists one by one; false: it does not. */
static bool list_requests(struct scoring *s, const struct ll_bench_result *r)
{
    const uint64_t count = r->input_count;
    const bool timed = r->start_count == count && !(r->number[LL_BENCH_CONCURRENCY] > 0);
    if (count == 0 || r->output_count != count)
        return false;
    struct ll_request *list = ll_alloc(s->args->arena, count, sizeof *list);
    double first = INFINITY, last = 0;
    s->failed |= !list;
    for (uint64_t i = 0; timed && i < count; i++)
        first = fmin(first, r->starts[i]);
    for (uint64_t i = 0; list && i < count; i++) {
        last = timed ? fmax(last, r->starts[i] - first) : 0;
        list[i] = (struct ll_request){
            .arrival_s = last, .input = bench_count(r->inputs[i]), .output = bench_count(r->outputs[i])};
    }
    s->listed = list;
    s->listed_count = count;
    return list != NULL;
}

/* Seconds of a test of one process: reading, making tokens. */
static double process_time(const struct ll_bench_result *r, const struct ll_serving *served, bool reads)
{
    return reads ? ll_quantiles_at(served->ttft, 1)
                 : ll_quantiles_mean(served->tpot) * r->number[LL_BENCH_NEW_TOKENS];
}

static void add_process(struct scoring *s, const struct ll_bench_result *r, const char *hardware,
                        const char *dims, const struct ll_serving *served, const struct ll_serving *roofline,
                        const struct ll_machine *machine, const char *open)
{
    const double *n = r->number;
    const bool reads = n[LL_BENCH_PROMPT_TOKENS] > 0, makes = n[LL_BENCH_NEW_TOKENS] > 0;
    double parts[2][2] = {{0}};
    for (int p = 0; p < 2; p++)
        for (int i = 0; i < 2 && machine; i++)
            parts[i][p] = (p == 0 ? reads : makes) ? process_time(r, i == 0 ? served : roofline, p == 0) : 0;
    if (r->kind == LL_BENCH_BATCHED) {
        if (n[LL_BENCH_PROMPT_TIME] > 0)
            add(s, "batched-bench", hardware, "llm_prefill", dims, n[LL_BENCH_PROMPT_TIME], parts[0][0],
                parts[1][0], machine, open);
        if (n[LL_BENCH_NEW_TIME] > 0)
            add(s, "batched-bench", hardware, "llm_decode", dims, n[LL_BENCH_NEW_TIME], parts[0][1],
                parts[1][1], machine, open);
        return;
    }
    const double measured =
        says_bench(r, LL_BENCH_TEST_TIME)
            ? n[LL_BENCH_TEST_TIME]
            : (n[LL_BENCH_PROMPT_TOKENS] + n[LL_BENCH_NEW_TOKENS]) / n[LL_BENCH_TEST_RATE];
    add(s, "llama-bench", hardware,
        reads && makes ? "llm_generation"
        : reads        ? "llm_prefill"
                       : "llm_decode",
        dims, measured, parts[0][0] + parts[0][1], parts[1][0] + parts[1][1], machine, open);
}

static void add_server(struct scoring *s, const struct ll_bench_result *r, const char *hardware,
                       const char *dims, const struct ll_serving *served, const struct ll_serving *roofline,
                       const struct ll_machine *machine, const char *open)
{
    const char *source = r->kind == LL_BENCH_LOADGEN ? "mlperf"
                         : r->text[LL_BENCH_BACKEND] ? r->text[LL_BENCH_BACKEND]
                                                     : "serving";
    const double *n = r->number;
    /* Where all is sent at once, latencies say how much that was. */
    const bool offline = r->kind == LL_BENCH_LOADGEN && strcmp(r->text[LL_BENCH_SCENARIO], "Offline") == 0;
    const bool wordless = open && !(n[LL_BENCH_TOKENS_PER_S] > 0);
    if (n[LL_BENCH_TOKENS_PER_S] > 0)
        add(s, source, hardware, "serving_throughput", dims, n[LL_BENCH_TOKENS_PER_S],
            machine ? (double)served->output_tokens / served->duration_s : NAN,
            machine ? (double)roofline->output_tokens / roofline->duration_s : NAN, machine, open);
    else if (wordless) /* one row for all that it says */
        add(s, source, hardware, "serving_latency", dims, n[LL_BENCH_LATENCY], NAN, NAN, NULL, open);
    for (size_t i = 0; i < sizeof bench_times / sizeof *bench_times && !offline && !wordless; i++)
        if (n[bench_times[i].number] > 0)
            add(s, source, hardware, bench_times[i].family, dims, n[bench_times[i].number],
                machine ? bench_time(i, served) : NAN, machine ? bench_time(i, roofline) : NAN, machine,
                open);
}

/* Whether a part of the model's layers ran elsewhere. */
static bool is_split(const struct ll_bench_result *r, const char *config, struct scoring *s)
{
    const double layers = r->number[LL_BENCH_GPU_LAYERS];
    struct ll_diags diags = {0};
    struct ll_served_model model = {.config = config, .diags = &diags};
    bool known = config && layers > 0 && ll_served_look(&model, s->args->arena);
    ll_diags_release(&diags);
    return known && layers < (double)model.layers;
}

static void score_bench(struct scoring *s, const struct ll_bench_result *r)
{
    struct ll_arena *arena = s->args->arena;
    const bool process = r->kind == LL_BENCH_LLAMA || r->kind == LL_BENCH_BATCHED;
    const bool on_cpu = !r->text[LL_BENCH_GPU] || r->number[LL_BENCH_GPU_LAYERS] == 0;
    const char *device = on_cpu ? r->text[LL_BENCH_CPU] : r->text[LL_BENCH_GPU];
    const char *asked = ll_value(s->args, "machine", NULL), *name = ll_value(s->args, "model", NULL);
    const char *const *folders = asked || !device ? NULL : ll_machine_folders(arena);
    if (folders && !s->aliases)
        s->aliases = ll_load_aliases(folders, arena);
    const char *which = asked;
    if (folders && s->aliases)
        which = ll_machine_of_device(device, s->aliases, folders, arena);
    const char *hardware = asked ? asked : device ? device : "unknown";
    const char *said = r->text[LL_BENCH_MODEL]        ? r->text[LL_BENCH_MODEL]
                       : r->text[LL_BENCH_MODEL_TYPE] ? r->text[LL_BENCH_MODEL_TYPE]
                                                      : name;
    const char *config = name                      ? ll_served_config(name)
                         : r->text[LL_BENCH_MODEL] ? ll_served_config(r->text[LL_BENCH_MODEL])
                                                   : model_of_type(r, arena);
    const char *format = process ? format_of_type(r->text[LL_BENCH_MODEL_TYPE]) : NULL, *open = NULL;
    struct ll_serving_options o;
    ll_serving_begin(&o, arena);
    ll_serving_give(&o, "machine", which);
    ll_serving_give(&o, "model", config);
    ll_serving_give(&o, "quantization", format);
    if (!which)
        open = device ? "no machine answers to its device; -c MACHINE says which one does"
                      : "the file does not say on what it ran; -c MACHINE does";
    else if (!config)
        open = "no configuration of its model comes along; --model says one";
    else if (process && r->text[LL_BENCH_MODEL_TYPE] && !format && !ll_value(s->args, "quantization", NULL))
        open = "no format of weights here is like its model's; --quantization says one";
    else if (process && is_split(r, config, s))
        open = "a part of the layers ran on the host";
    else
        open = r->kind == LL_BENCH_SERVER    ? load_of_server(&o, r)
               : r->kind == LL_BENCH_LOADGEN ? load_of_loadgen(&o, r, s->args)
                                             : load_of_process(&o, r);
    give_options(&o, s->args);
    const char *dims = ll_format(arena, "model=%s;line=%" PRIu64, said ? said : "unknown", r->line);
    const struct ll_machine *machine = NULL;
    const struct ll_serving *served = NULL, *roofline = NULL;
    if (!open) {
        if (r->kind == LL_BENCH_SERVER)
            list_requests(s, r);
        served = serve(&o, false, s, &machine, &open);
        roofline = served ? serve(&o, true, s, &machine, &open) : NULL;
        s->listed = NULL;
    }
    machine = open ? NULL : machine;
    (process ? add_process : add_server)(s, r, hardware, dims, served, roofline, machine, open);
}

static bool score_results(struct scoring *s, const char *path)
{
    struct ll_contents text;
    struct ll_diags diags = {0};
    struct ll_bench_results results;
    if (!read_file(path, s->args->arena, &text))
        return false;
    bool good = ll_bench_read(text.bytes, text.length, path, s->args->arena, &diags, &results);
    ll_print_diags(&diags);
    ll_diags_release(&diags);
    for (uint64_t i = 0; good && i < results.count && !s->failed; i++) {
        score_bench(s, &results.at[i]);
        ll_ticker_tell(&s->ticker, "validate", (double)(i + 1) / (double)results.count, NAN,
                       "%" PRIu64 " result%s", i + 1, ll_plural(i + 1));
    }
    return good;
}

int ll_validate_served(const struct ll_args *args)
{
    struct scoring s = {.args = args, .ticker = ll_ticker_new(true)};
    bool good = true;
    for (size_t i = 0; i < args->word_count && good; i++) {
        char line[4096];
        const char *path = args->words[i], *begin = first_line(path, line);
        if (begin && is_settings(line))
            good = score_settings(&s, path);
        else if (begin && is_log(line))
            good = score_log(&s, path);
        else if (is_bench(path))
            good = score_results(&s, path);
        else if (access(path, R_OK) != 0)
            good = ll_cli_reject("%s: there is no such file, or it cannot be read", path) == LL_DONE;
        else
            good =
                ll_cli_reject("%s: expected served settings, a log of requests or results of a benchmark, as "
                              "the first file is",
                              path) == LL_DONE;
    }
    ll_ticker_clear(&s.ticker);
    const struct ll_validation *v =
        good && !s.failed ? ll_validation_of(s.predictions, s.count, args->arena) : NULL;
    int status = v ? ll_show_validation(args, v, NULL) : s.failed ? ll_cli_fail("memory ran out") : LL_WRONG;
    ll_serving_shared_release(&s.shared);
    ll_aliases_free(s.aliases);
    return status;
}
