/* SPDX-License-Identifier: Apache-2.0 */
/* Measured servers, predicted: settings that were served under closed loops, with their median TTFT and TPOT,
 * as ai-dynamo/aiconfigurator collects them; and runs whose requests were logged one by one. Each becomes a
 * command line of `leadline serve`; what a row leaves open is a reason not to score it. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/cli/load.h"
#include "sim/cli/serving.h"
#include "sim/serve/quantiles.h"
#include "sim/serve/request_file.h"
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

bool ll_is_served_file(const char *path)
{
    char line[4096];
    return first_line(path, line) && (is_settings(line) || is_log(line));
}

struct scoring {
    const struct ll_args *args;
    struct ll_prediction *predictions;
    size_t count, capacity;
    struct ll_machine *machines[512]; /* that predictions refer to */
    size_t machine_count;
    struct ll_ticker ticker;
    bool failed;
};

/* One more prediction of a row; machine NULL: it is not scored, for that reason. */
static void add(struct scoring *s, const char *source, const char *hardware, const char *family,
                const char *dims, double measured, double predicted, double roofline,
                const struct ll_machine *machine, const char *reason)
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
    struct ll_measured *row = ll_alloc(arena, 1, sizeof *row);
    if (!row) {
        s->failed = true;
        return;
    }
    *row = (struct ll_measured){.source = source,
                                .hardware = hardware,
                                .op = family,
                                .dtype = "",
                                .dims = dims,
                                .notes = "",
                                .time_s = measured};
    s->predictions[s->count++] = (struct ll_prediction){.row = row,
                                                        .machine = machine,
                                                        .unscored = reason,
                                                        .family = family,
                                                        .time_s = predicted,
                                                        .roofline_s = roofline};
}

/* Serves with the options; the machine is kept where predictions refer to it. NULL after complaints. */
static const struct ll_serving *serve(struct ll_serving_options *o, bool roofline, struct scoring *s,
                                      const struct ll_serve_watch *watch, const struct ll_machine **machine)
{
    struct ll_serving_setup setup = {.args = &o->args, .roofline = roofline};
    const struct ll_serving *r =
        ll_serving_read(&setup) ? ll_serving_run(&setup, watch, s->args->arena) : NULL;
    int first = setup.groups[LL_POOL_WHOLE].pool ? LL_POOL_WHOLE : LL_POOL_PREFILL;
    ll_print_diags(&setup.diags);
    if (machine)
        *machine = NULL;
    if (machine && r) { /* one of each name is enough */
        struct ll_machine *own = setup.groups[first].machine;
        for (size_t i = 0; i < s->machine_count; i++)
            if (strcmp(s->machines[i]->stem, own->stem) == 0)
                *machine = s->machines[i];
        if (!*machine && s->machine_count < sizeof s->machines / sizeof *s->machines) {
            *machine = s->machines[s->machine_count++] = own;
            setup.groups[first].machine = NULL;
        }
    }
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

/* The closed loop of InferenceMAX's client: ten prompts a client, lengths between 0.8 of what is said and
 * that (benchmark_serving.py --random-range-ratio 0.8), no prefix in common. */
static void give_load(struct ll_serving_options *o, const struct table *t)
{
    enum { PROMPTS_A_CLIENT = 10 };
    const uint64_t input = number(t, "isl", 0), output = number(t, "osl", 0),
                   clients = number(t, "concurrency", 0);
    const bool drawn = (input == 1024 && output == 1024) || (input == 1024 && output == 8192) ||
                       (input == 8192 && output == 1024);
    const uint64_t parts = drawn ? 4 : 5;
    ll_serving_give(o, "input-tokens",
                    ll_format(o->args.arena, "%" PRIu64 "-%" PRIu64, ll_max(1, input * parts / 5), input));
    ll_serving_give(o, "output-tokens",
                    ll_format(o->args.arena, "%" PRIu64 "-%" PRIu64, ll_max(1, output * parts / 5), output));
    ll_serving_give_count(o, "concurrency", clients);
    ll_serving_give_count(o, "num-prompts", PROMPTS_A_CLIENT * clients);
    ll_serving_give(o, "no-prefix-caching", "");
}

static const char *open_of(const struct table *t)
{
    static const char *const needed[] = {"system", "backend", "model_path", "isl", "osl", "concurrency"};
    for (size_t i = 0; i < sizeof needed / sizeof *needed; i++)
        if (*field(t, needed[i]) == '\0')
            return "the row does not say its system, backend, model, lengths or concurrency";
    if (!ll_served_config(field(t, "model_path")))
        return "no configuration of its model comes along";
    return NULL;
}

static void score_setting(struct scoring *s, const struct table *t)
{
    struct ll_serving_options o;
    struct ll_arena *arena = s->args->arena;
    const bool apart = strcmp(field(t, "mode"), "disagg") == 0;
    const char *open = open_of(t);
    const char *hardware = ll_format(arena, "%s+%s", field(t, "system"), field(t, "backend"));
    const char *dims = ll_format(arena, "model=%s;mode=%s;isl=%s;osl=%s;concurrency=%s;tp=%s",
                                 field(t, "model_path"), field(t, "mode"), field(t, "isl"), field(t, "osl"),
                                 field(t, "concurrency"), field(t, "tp_size"));
    const double ttft = ll_strtod(field(t, "silicon_ttft_ms"), NULL) / 1e3,
                 tpot = ll_strtod(field(t, "silicon_tpot_ms"), NULL) / 1e3;
    uint64_t devices = 0;
    const struct ll_serve_watch watch = {0};
    const struct ll_machine *machine = NULL;
    const struct ll_serving *r = NULL, *roofline = NULL;
    ll_serving_begin(&o, arena);
    ll_serving_give(&o, "machine", hardware);
    ll_serving_give(&o, "model", field(t, "model_path"));
    ll_serving_give(&o, "quantization", format_of(t));
    if (apart) {
        ll_serving_give(&o, "prefill", workers_of(t, "prefill", arena, &devices));
        ll_serving_give(&o, "decode", workers_of(t, "decode", arena, &devices));
    } else {
        const uint64_t dp = number(t, "attention_dp_size", 1);
        devices = number(t, "tp_size", 1) * number(t, "pp_size", 1) * dp;
        ll_serving_give_count(&o, "tp", number(t, "tp_size", 1));
        ll_serving_give_count(&o, "pp", number(t, "pp_size", 1));
        ll_serving_give_count(&o, "dp", dp);
        ll_serving_give_count(&o, "ep", number(t, "moe_ep_size", 1));
    }
    give_load(&o, t);
    if (!open)
        r = serve(&o, false, s, &watch, &machine);
    if (r && machine)
        roofline = serve(&o, true, s, &watch, NULL);
    if (!open && (!r || !machine || !roofline))
        open = "the deployment cannot be served here";
    machine = open ? NULL : machine;
    const double osl = (double)number(t, "osl", 1), clients = (double)number(t, "concurrency", 1);
    struct {
        const char *family;
        double measured, ours, roofline;
    } values[] = {{"serving_tpot", tpot, NAN, NAN},
                  {"serving_ttft", ttft, NAN, NAN},
                  {"serving_throughput",
                   clients * osl / (ttft + (osl - 1) * tpot) / (double)ll_max(1, devices), NAN, NAN}};
    for (int i = 0; i < 2 && machine; i++) {
        const struct ll_serving *x = i == 0 ? r : roofline;
        double *const at[] = {i == 0 ? &values[0].ours : &values[0].roofline,
                              i == 0 ? &values[1].ours : &values[1].roofline,
                              i == 0 ? &values[2].ours : &values[2].roofline};
        *at[0] = ll_quantiles_mean(x->tpot);
        *at[1] = ll_quantiles_mean(x->ttft);
        *at[2] = clients * osl / (*at[1] + (osl - 1) * *at[0]) / (double)ll_max(1, devices);
    }
    for (int i = 0; i < 3; i++)
        add(s, "served_points", hardware, values[i].family, dims, values[i].measured, values[i].ours,
            values[i].roofline, machine, open);
}

static bool score_settings(struct scoring *s, const char *path)
{
    struct ll_arena *arena = s->args->arena;
    struct ll_contents text;
    struct ll_diags diags = {0};
    if (ll_read_whole(path, MOST_BYTES, arena, &text) != LL_OK)
        return false;
    struct ll_csv csv = {
        .file = path, .at = text.bytes, .end = text.bytes + text.length, .arena = arena, .diags = &diags};
    struct table t = {0};
    size_t count, done = 0;
    t.names = ll_csv_next(&csv, &t.name_count);
    t.name_count = t.names ? ll_min(t.name_count, MOST_FIELDS) : 0;
    const struct ll_csv_field *row;
    while (t.names && (row = ll_csv_next(&csv, &count)) && !s->failed) {
        for (size_t i = 0; i < t.name_count; i++)
            t.fields[i] = i < count ? row[i].text : NULL;
        score_setting(s, &t);
        ll_ticker_tell(&s->ticker, "validate", (double)(csv.at - text.bytes) / (double)text.length, NAN,
                       "%zu settings", ++done);
    }
    bool good = !csv.failed;
    ll_print_diags(&diags);
    ll_diags_release(&diags);
    return good;
}

/* --- logs of requests --- */

/* The measured times of a log's requests, in the order of the file. */
static bool read_times(const char *path, struct ll_arena *arena, struct ll_quantiles *const times[3],
                       uint64_t wanted)
{
    struct ll_contents text;
    struct ll_diags diags = {0};
    if (ll_read_whole(path, MOST_BYTES, arena, &text) != LL_OK)
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
    for (size_t i = 0; i < s->args->given_count; i++)
        ll_serving_give(&o, s->args->given[i].option->name,
                        s->args->given[i].value ? s->args->given[i].value : "");
    ll_serving_give(&o, "requests", path);
    ll_serving_give(&o, "request-overhead", "0s"); /* the log's arrivals are the queue's */
    const struct ll_machine *machine = NULL;
    for (int i = 1; i < 3; i++) {
        const struct ll_serve_watch watch = {0};
        const struct ll_serving *r = serve(&o, i == 2, s, &watch, i == 1 ? &machine : NULL);
        if (!r)
            return false;
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

int ll_validate_served(const struct ll_args *args)
{
    struct scoring s = {.args = args, .ticker = ll_ticker_new(true)};
    bool good = true;
    for (size_t i = 0; i < args->word_count && good; i++) {
        char line[4096];
        if (!first_line(args->words[i], line) || !(is_settings(line) || is_log(line))) {
            ll_cli_reject("%s: expected served settings or a log of requests, as the first file is",
                          args->words[i]);
            good = false;
        } else {
            good = is_settings(line) ? score_settings(&s, args->words[i]) : score_log(&s, args->words[i]);
        }
    }
    ll_ticker_clear(&s.ticker);
    const struct ll_validation *v =
        good && !s.failed ? ll_validation_of(s.predictions, s.count, args->arena) : NULL;
    int status = v ? ll_show_validation(args, v, NULL) : s.failed ? ll_cli_fail("memory ran out") : LL_WRONG;
    for (size_t i = 0; i < s.machine_count; i++)
        ll_machine_free(s.machines[i]);
    return status;
}
