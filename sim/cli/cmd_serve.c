/* SPDX-License-Identifier: Apache-2.0 */
/* leadline serve: a language-model server under load. What its requests see, how much it serves, what bounds
 * it, what it costs. */
#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/cli/command.h"
#include "sim/cli/load.h"
#include "sim/cli/serving.h"
#include "sim/machine/quantity.h"
#include "sim/report/table.h"
#include "sim/serve/request_file.h"
#include "tracer/base/file.h"
#include "tracer/base/json.h"
#include "tracer/base/num.h"

enum { WHOLE = LL_POOL_WHOLE, PREFILL = LL_POOL_PREFILL, DECODE = LL_POOL_DECODE, POOLS = LL_SERVING_POOLS };
static const char *const pool_names[POOLS] = {"instance", "prefill", "decode"};

/* A run of the command. */
struct serving {
    struct ll_serving_setup *setup;
    double percentile;
    FILE *per_request;
    const char *per_request_part;
    struct ll_ticker ticker;
};

/* --- options --- */

static bool read_time(const struct ll_args *args, const char *name, double *time_s)
{
    const char *text = ll_value(args, name, NULL), *unit;
    struct ll_quantity quantity;
    *time_s = INFINITY;
    if (!text)
        return true;
    if (ll_quantity_parse(text, &quantity, &unit) != LL_QUANTITY_FINE ||
        quantity.dimension != LL_DIMENSION_TIME) {
        ll_cli_reject("--%s %s: expected a time with its unit, as 300ms", name, text);
        return false;
    }
    *time_s = quantity.value;
    return true;
}

static bool read_number(const struct ll_args *args, const char *name, double least, double most,
                        double otherwise, double *value)
{
    const char *text = ll_value(args, name, NULL);
    *value = otherwise;
    if (!text || (strcmp(text, "inf") == 0 && isinf(most)))
        return text ? (*value = INFINITY, true) : true;
    if (ll_number_parse(text, "", value) && *value >= least && *value <= most)
        return true;
    ll_cli_reject("--%s %s: expected a number from %g to %g", name, text, least, most);
    return false;
}

/* "512", "100-900", or a file of requests whose lengths are drawn. */
static bool read_lengths(struct ll_serving_setup *s, const char *name, uint64_t otherwise, uint64_t *least,
                         uint64_t *most)
{
    const char *text = ll_value(s->args, name, NULL);
    char *copy = text ? ll_copy_text(s->args->arena, text, strlen(text)) : NULL,
         *dash = copy ? strchr(copy, '-') : NULL;
    *least = *most = otherwise;
    if (!text)
        return true;
    if (text[strspn(text, "0123456789-")] == '\0' && copy) {
        if (dash)
            *dash = '\0';
        if (ll_count_parse(copy, least) && ll_count_parse(dash ? dash + 1 : copy, most) && *least >= 1 &&
            *least <= *most && *most <= 1u << 30)
            return true;
        ll_cli_reject("--%s %s: expected a number of tokens, or a range as 100-900", name, text);
        return false;
    }
    s->load.lengths = ll_read_requests(text, s->args->arena, &s->load.length_count, &s->diags);
    if (!s->load.lengths)
        ll_print_diags(&s->diags);
    return s->load.lengths != NULL;
}

static bool read_load(struct ll_serving_setup *s)
{
    const struct ll_args *args = s->args;
    struct ll_load *load = &s->load;
    static const char *const not_listed[] = {"rate", "input-tokens", "output-tokens", "prefix-tokens", NULL};
    const char *file = ll_value(args, "requests", NULL);
    uint64_t prompts;
    if (!ll_value_count(args, "seed", 0, UINT64_MAX - 1, 1, &load->seed) ||
        !ll_value_count(args, "concurrency", 1, 1 << 24, 0, &load->concurrency) ||
        !ll_value_count(args, "num-prompts", 1, UINT64_C(1) << 40, 0, &prompts) ||
        !read_number(args, "rate", 1e-9, INFINITY, 0, &load->rate_Hz) ||
        !read_number(args, "burstiness", 1e-3, INFINITY, 1, &load->burstiness) ||
        !ll_value_count(args, "prefix-tokens", 0, 1 << 30, 0, &load->prefix_tokens))
        return false;
    if (file &&
        !ll_without(args, not_listed, "is for requests that are made up; expected no --requests with it"))
        return false;
    if (file) {
        load->listed = ll_read_requests(file, args->arena, &load->count, &s->diags);
        if (!load->listed)
            ll_print_diags(&s->diags);
        load->count = prompts > 0 ? ll_min(load->count, prompts) : load->count;
        return load->listed != NULL;
    }
    if (load->rate_Hz == 0 && load->concurrency == 0) {
        ll_cli_reject("no load: expected --requests FILE, --rate R or --concurrency N");
        return false;
    }
    load->rate_Hz = isinf(load->rate_Hz) ? 0 : load->rate_Hz;
    load->count = prompts > 0 ? prompts : ll_max(load->concurrency * 10, 1000);
    return read_lengths(s, "input-tokens", 1024, &load->least_input, &load->most_input) &&
           read_lengths(s, "output-tokens", 128, &load->least_output, &load->most_output);
}

/* How weights are stored, by the names that servers have for it. */
static const char *weights_word(const char *name)
{
    static const char *const words[][2] = {{"fp8", "fp8"},       {"fp8_block", "fp8_block"},
                                           {"nvfp4", "nvfp4"},   {"modelopt_fp4", "nvfp4"},
                                           {"mxfp4", "mxfp4"},   {"fp4", "nvfp4"},
                                           {"awq", "int4"},      {"gptq", "int4"},
                                           {"int4", "int4"},     {"w4a16", "int4"},
                                           {"int8", "int8"},     {"w8a8", "int8"},
                                           {"none", "16bit"},    {"bf16", "16bit"},
                                           {"float16", "16bit"}, {"bfloat16", "16bit"},
                                           {"auto", "auto"},     {"mxfp4_experts", "mxfp4_experts"}};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcmp(words[i][0], name) == 0)
            return words[i][1];
    return NULL;
}

/* A word of a table, or the option is refused. */
static bool read_word(const struct ll_args *args, const char *option, const char *const (*words)[2],
                      size_t count, const char **word)
{
    const char *text = ll_value(args, option, NULL);
    *word = NULL;
    for (size_t i = 0; text && i < count; i++)
        if (strcmp(words[i][0], text) == 0)
            *word = words[i][1];
    if (text && !*word)
        ll_cli_reject("--%s %s: not a type that is known here; expected one as %s or %s", option, text,
                      words[0][0], words[count - 1][0]);
    return !text || *word;
}

static bool read_types(const struct ll_args *args, struct ll_served_model *model)
{
    static const char *const dtypes[][2] = {{"bf16", "bf16"}, {"bfloat16", "bf16"}, {"fp16", "f16"},
                                            {"half", "f16"},  {"float16", "f16"},   {"f16", "f16"},
                                            {"auto", "bf16"}, {"fp32", "f32"},      {"float32", "f32"}};
    static const char *const caches[][2] = {{"auto", "auto"},    {"fp8", "fp8"},   {"fp8_e4m3", "fp8"},
                                            {"fp8_e5m2", "fp8"}, {"bf16", "bf16"}, {"bfloat16", "bf16"},
                                            {"fp16", "f16"}};
    const char *weights = ll_value(args, "quantization", NULL);
    if (!read_word(args, "dtype", dtypes, sizeof dtypes / sizeof *dtypes, &model->dtype) ||
        !read_word(args, "kv-cache-dtype", caches, sizeof caches / sizeof *caches, &model->kv_dtype))
        return false;
    model->weights = weights ? weights_word(weights) : NULL;
    if (weights && !model->weights) {
        ll_cli_reject(
            "--quantization %s: not known here; expected fp8, fp8_block, nvfp4, mxfp4, int8, int4 or none",
            weights);
        return false;
    }
    return true;
}

/* The scheduler, by the machine's stack and then by options. */
static bool read_engine(const struct ll_args *args, const struct ll_machine *machine, struct ll_engine *e,
                        uint64_t *captured)
{
    static const struct ll_server plain = {.admission = LL_ADMISSION_KNOWN,
                                           .chunks = true,
                                           .prefix_caching = true,
                                           .overlaps = true,
                                           .block = 16,
                                           .memory_share = 0.9};
    const struct ll_server *server = machine->server_given ? &machine->server : &plain;
    struct ll_server_batch batch = {.tokens = 2048, .sequences = 256, .captured = 512};
    const uint64_t memory = machine->levels[machine->level_count - 1].size_bytes;
    for (uint64_t i = 0; i < server->batch_count; i++)
        if (memory >= server->batches[i].memory_bytes)
            batch = server->batches[i];
    *e = (struct ll_engine){.admission = server->admission,
                            .prompts_first = server->prompts_first,
                            .chunks = server->chunks,
                            .prefix_caching = server->prefix_caching,
                            .reserved_blocks = server->reserved_blocks,
                            .step_s = server->step_s,
                            .sequence_s = server->sequence_s,
                            .eager_s = server->eager_layer_s,
                            .captured = batch.captured,
                            .request_s = server->request_s,
                            .overlaps = server->overlaps};
    *captured = batch.captured;
    uint64_t speculated;
    double request_s;
    if (!read_time(args, "request-overhead", &request_s))
        return false;
    e->request_s = isfinite(request_s) ? request_s : e->request_s;
    if (!ll_value_count(args, "max-num-seqs", 1, 1 << 20, batch.sequences, &e->most_sequences) ||
        !ll_value_count(args, "max-num-batched-tokens", 1, 1 << 24, batch.tokens, &e->most_tokens) ||
        !ll_value_count(args, "long-prefill-token-threshold", 1, 1 << 24, 0, &e->longest_chunk) ||
        !ll_value_count(args, "block-size", 1, 1 << 16, server->block, &e->block) ||
        !ll_value_count(args, "speculative-tokens", 1, 16, 0, &speculated))
        return false;
    e->speculated = (unsigned)speculated;
    if (ll_flag(args, "enable-prefix-caching") || ll_flag(args, "no-prefix-caching"))
        e->prefix_caching = ll_flag(args, "enable-prefix-caching");
    const char *rates = ll_value(args, "acceptance", NULL);
    for (unsigned i = 0; i < e->speculated; i++) {
        char *end;
        double rate = rates ? ll_strtod(rates, &end) : NAN;
        if (!rates || end == rates || !(rate >= 0 && rate <= 1) || (*end && *end != ',')) {
            ll_cli_reject("--acceptance: expected how often a guess is taken, 0 to 1, for each of "
                          "--speculative-tokens, "
                          "as 0.8,0.6; the last counts for those behind");
            return false;
        }
        e->acceptance[i] = rate;
        rates = *end == ',' ? end + 1 : rates;
    }
    return true;
}

/* "N x tp=2,pp=1,dp=1,ep=1,machine=NAME": how the instances of a pool look. */
static bool read_group(struct ll_serving_setup *s, int which, const char *text, const char **machine)
{
    struct ll_serving_group *g = &s->groups[which];
    const char *at = text;
    char *end;
    g->instances = strtoull(at, &end, 10);
    at = end + strspn(end, " x");
    bool good = end != text && g->instances > 0 && g->instances <= 1 << 16;
    while (good && *at) {
        static const char *const keys[] = {"tp", "pp", "dp", "ep"};
        uint64_t *const values[] = {&g->tensor, &g->pipeline, &g->data, &g->expert};
        size_t length = strcspn(at, ",");
        bool known = strncmp(at, "machine=", 8) == 0;
        if (known)
            *machine = ll_copy_text(s->args->arena, at + 8, length - 8);
        for (int i = 0; i < 4 && !known; i++)
            if (strncmp(at, keys[i], 2) == 0 && at[2] == '=') {
                *values[i] = strtoull(at + 3, &end, 10);
                known = end == at + length && *values[i] > 0 && *values[i] <= 1 << 16;
            }
        good = known;
        at += length + (at[length] == ',');
    }
    if (!good)
        ll_cli_reject("--%s '%s': expected as '2 x tp=2,dp=1,ep=1'", pool_names[which], text);
    return good;
}

/* The devices of an instance as a plan; its machine, or the system that several of it make. */
static bool set_plan(struct ll_serving_setup *s, struct ll_serving_group *g, const char *which)
{
    size_t override_count;
    const char *const *folders = ll_machine_folders(s->args->arena);
    const struct ll_override *overrides = ll_read_overrides(s->args, &override_count);
    const uint64_t devices = g->tensor * g->pipeline * g->data;
    if (!folders || !overrides || !(g->machine = ll_load_machine(which, folders, overrides, override_count)))
        return false;
    const uint64_t shared = g->tensor * g->data;
    if (g->expert > 1 && shared % g->expert != 0) {
        ll_cli_reject("--ep %" PRIu64
                      ": experts are spread over devices that share a layer; expected a divisor of tp x dp, "
                      "%" PRIu64,
                      g->expert, shared);
        return false;
    }
    if (devices > 1 || ll_value(s->args, "prefill", NULL)) /* keys and values go from one to another */
        g->machine = ll_load_system(g->machine, folders, overrides, override_count);
    if (!g->machine)
        return false;
    g->model.machine = g->machine;
    g->model.plan = ll_plan_of_one();
    g->model.plan.tensor = g->tensor;
    g->model.plan.pipeline = g->pipeline;
    g->model.plan.data = g->data;
    g->model.plan.expert = ll_max(1, ll_min(g->expert, g->data));
    g->model.plan.whole_experts =
        g->expert > g->data; /* experts lie whole on devices that share GEMMs, too */
    g->model.diags = &s->diags;
    g->model.roofline = s->roofline;
    g->model.config = s->config;
    if (!read_types(s->args, &g->model))
        return false;
    bool known = ll_served_look(&g->model, s->args->arena);
    ll_print_diags(&s->diags);
    return known;
}

static uint64_t usual_length(const struct ll_load *load)
{
    double sum = 0;
    const struct ll_request *list = load->listed ? load->listed : load->lengths;
    uint64_t count = load->listed ? load->count : load->length_count;
    for (uint64_t i = 0; list && i < count; i++)
        sum += (double)(list[i].input + list[i].output);
    return list ? ll_max(2, (uint64_t)(sum / (double)count))
                : ll_max(2, load->most_input + load->most_output);
}

/* Memory, scheduler and costs of a pool. */
static bool make_pool(struct ll_serving_setup *s, int which)
{
    struct ll_serving_group *g = &s->groups[which];
    struct ll_server_pool *pool = g->pool;
    struct ll_server server =
        g->machine->server_given ? g->machine->server : (struct ll_server){.memory_share = 0.9};
    uint64_t captured, blocks;
    *pool = (struct ll_server_pool){.instances = g->instances,
                                    .ranks = g->data,
                                    .stages = g->pipeline,
                                    .devices = g->tensor * g->pipeline * g->data};
    if (!read_engine(s->args, g->machine, &pool->engine, &captured) ||
        !ll_value_count(s->args, "kv-blocks", 1, 1 << 28, 0, &blocks) ||
        !read_number(s->args, "gpu-memory-utilization", 0.01, 1, server.memory_share, &server.memory_share))
        return false;
    pool->engine.eager_s *= (double)g->model.layers / (double)g->pipeline;
    if (!ll_served_memory(&g->model, &server, pool->engine.most_tokens, usual_length(&s->load), &g->memory)) {
        ll_print_diags(&s->diags);
        return false;
    }
    pool->kv_tokens = blocks * pool->engine.block;
    if (blocks == 0 && !(g->memory.left > 0)) {
        struct ll_human weights, all;
        ll_cli_reject(
            "the weights, %s a device, leave no room for keys and values in %s; expected more devices (--tp, "
            "--pp), or narrower weights (--quantization)",
            ll_format_binary(&weights, g->memory.weights),
            ll_format_binary(&all, (double)g->machine->levels[g->machine->level_count - 1].size_bytes));
        return false;
    }
    if (blocks == 0)
        pool->kv_tokens =
            (uint64_t)fmin(1e9, g->memory.kv_token > 0 ? g->memory.left / g->memory.kv_token : 1e9);
    if (pool->engine.most_sequences > pool->kv_tokens)
        pool->engine.most_sequences = ll_max(1, pool->kv_tokens);
    g->costs = ll_step_costs_make(captured, ll_served_form, &g->model, s->args->arena);
    pool->cost = ll_step_cost;
    pool->context = g->costs;
    return g->costs != NULL;
}

static bool read_deployment(struct ll_serving_setup *s)
{
    static const char *const routers[LL_ROUTER_COUNT] = {"round-robin", "least-loaded", "prefix-aware"};
    const struct ll_args *args = s->args;
    struct ll_deployment *d = &s->deployment;
    const char *prefill = ll_value(args, "prefill", NULL), *decode = ll_value(args, "decode", NULL),
               *machine = ll_value(args, "machine", NULL), *router = ll_value(args, "router", "least-loaded");
    struct ll_serving_group standard = {.instances = 1};
    if (!machine) {
        ll_cli_reject("no machine: expected -c MACHINE");
        return false;
    }
    if (!prefill != !decode) {
        ll_cli_reject("prefill and decode are apart together: expected --prefill and --decode");
        return false;
    }
    if (!ll_value_count(args, "tp", 1, 1 << 16, 1, &standard.tensor) ||
        !ll_value_count(args, "pp", 1, 64, 1, &standard.pipeline) ||
        !ll_value_count(args, "dp", 1, 1 << 16, 1, &standard.data) ||
        !ll_value_count(args, "ep", 1, 1 << 16, 1, &standard.expert) ||
        !ll_value_count(args, "instances", 1, 1 << 16, 1, &standard.instances))
        return false;
    while (d->router < LL_ROUTER_COUNT && strcmp(routers[d->router], router) != 0)
        d->router++;
    if (d->router == LL_ROUTER_COUNT) {
        ll_cli_reject("--router %s: expected round-robin, least-loaded or prefix-aware", router);
        return false;
    }
    struct ll_server_pool *const pools[POOLS] = {&d->whole, &d->prefill, &d->decode};
    const char *texts[POOLS] = {NULL, prefill, decode};
    for (int i = prefill ? PREFILL : WHOLE; i <= (prefill ? DECODE : WHOLE); i++) {
        const char *which = machine;
        s->groups[i] = standard;
        s->groups[i].pool = pools[i];
        if ((texts[i] && !read_group(s, i, texts[i], &which)) || !set_plan(s, &s->groups[i], which) ||
            !make_pool(s, i))
            return false;
    }
    d->layers = 1;
    const char *transfer = ll_value(args, "kv-transfer", "layer");
    d->by_layer = strcmp(transfer, "layer") == 0;
    if (!d->by_layer && strcmp(transfer, "whole") != 0) {
        ll_cli_reject("--kv-transfer %s: expected layer or whole", transfer);
        return false;
    }
    if (prefill) {
        const struct ll_serving_group *p = &s->groups[PREFILL];
        const struct ll_machine *m = p->machine;
        const struct ll_network *link = m->network_count > 0 ? &m->networks[m->network_count - 1] : NULL;
        if (!link)
            ll_cli_warn("%s has no network: keys and values go from prefill to decode in no time", m->stem);
        d->kv_bytes = p->memory.kv_all;
        d->transfer_Bps = link ? link->bandwidth_Bps * link->efficiency * (double)p->tensor : INFINITY;
        d->transfer_latency_s = link ? link->latency_s : 0;
    }
    return true;
}

void ll_serving_begin(struct ll_serving_options *o, struct ll_arena *arena)
{
    *o = (struct ll_serving_options){.args = {.command = &ll_command_serve, .arena = arena}};
    o->args.given = o->given;
}

void ll_serving_give(struct ll_serving_options *o, const char *name, const char *value)
{
    for (const struct ll_option *row = ll_command_serve.options; row->name; row++)
        if (strcmp(row->name, name) == 0 && value && o->args.given_count < LL_MOST_SERVING_OPTIONS)
            o->given[o->args.given_count++] = (struct ll_given){row, value};
}

void ll_serving_give_count(struct ll_serving_options *o, const char *name, uint64_t value)
{
    ll_serving_give(o, name, ll_format(o->args.arena, "%" PRIu64, value));
}

bool ll_serving_read(struct ll_serving_setup *s)
{
    const struct ll_args *args = s->args;
    if (!read_time(args, "ttft", &s->limits.ttft_s) || !read_time(args, "tpot", &s->limits.tpot_s) ||
        !read_time(args, "e2e", &s->limits.e2e_s) || !read_load(s))
        return false;
    s->name = ll_value(args, "model", NULL);
    s->config = s->name ? ll_served_config(s->name) : NULL;
    if (s->config)
        return read_deployment(s);
    ll_cli_reject(
        "--model %s: no configuration of this name comes along; expected a model's config.json, or one as "
        "llama3.1-8b (leadline models llm lists them)",
        s->name ? s->name : "");
    return false;
}

void ll_serving_release(struct ll_serving_setup *s)
{
    for (int i = 0; i < POOLS; i++) {
        ll_step_costs_release(s->groups[i].costs);
        ll_remembered_release(&s->groups[i].model.remembered);
        if (s->groups[i].machine)
            ll_machine_free(s->groups[i].machine);
    }
    ll_diags_release(&s->diags);
}

const struct ll_serving *ll_serving_run(struct ll_serving_setup *s, const struct ll_serve_watch *watch,
                                        struct ll_arena *arena)
{
    const char *trouble;
    const struct ll_serving *result = ll_serve(&s->deployment, &s->load, &s->limits, watch, arena, &trouble);
    if (!result && trouble)
        ll_cli_reject("%s", trouble);
    return result;
}

/* --- the largest rate that holds the limits --- */

static bool holds(const struct ll_serving_setup *s, const struct ll_serving *r, double percentile)
{
    double share = percentile / 100;
    return !(ll_quantiles_at(r->ttft, share) > s->limits.ttft_s) &&
           !(ll_quantiles_at(r->tpot, share) > s->limits.tpot_s) &&
           !(ll_quantiles_at(r->e2e, share) > s->limits.e2e_s);
}

/* By doubling, then by halving the interval on a logarithmic scale. */
bool ll_serving_find_rate(struct ll_serving_setup *s, double percentile, const struct ll_serve_watch *watch,
                          struct ll_arena *arena, double *rate_Hz, const struct ll_serving **best)
{
    double good = 0, bad = 0, rate = s->load.rate_Hz > 0 ? s->load.rate_Hz : 1;
    enum { MOST_RUNS = 60 };
    *best = NULL;
    for (int i = 0; i < MOST_RUNS && (bad == 0 || good == 0 || bad > 1.01 * good) && rate > 1e-4; i++) {
        s->load.rate_Hz = rate;
        const struct ll_serving *r = ll_serving_run(s, watch, arena);
        if (!r || (watch->stop && *watch->stop))
            return false;
        if (holds(s, r, percentile)) {
            good = rate;
            *best = r;
        } else {
            bad = rate;
        }
        rate = bad == 0 ? 2 * good : good == 0 ? bad / 2 : sqrt(good * bad);
    }
    *rate_Hz = good;
    return true;
}

double ll_serving_usd_per_hour(const struct ll_serving_setup *s)
{
    double sum = 0;
    for (int i = 0; i < POOLS; i++)
        if (s->groups[i].pool) {
            double usd = s->groups[i].machine->usd_per_hour;
            sum += usd > 0 ? usd * (double)(s->groups[i].instances * s->groups[i].pool->devices) : NAN;
        }
    return sum;
}

/* --- while it runs --- */

static void served(void *context, const struct ll_served *q)
{
    struct serving *s = context;
    if (s->per_request)
        fprintf(s->per_request, "%" PRIu64 ",%.9g,%" PRIu64 ",%" PRIu64 ",%.9g,%.9g,%.9g,%" PRIu64 "\n",
                q->number, q->request.arrival_s, q->request.input, q->request.output, q->scheduled_s,
                q->first_token_s, q->last_token_s, q->preemptions);
}

static void progressed(void *context, uint64_t ended, uint64_t count)
{
    struct serving *s = context;
    ll_ticker_tell(&s->ticker, "serving", (double)ended / (double)count, NAN,
                   "%" PRIu64 " of %" PRIu64 " requests", ended, count);
}

/* One run; NULL after complaints. */
static const struct ll_serving *run(struct serving *s, const volatile sig_atomic_t *stop)
{
    const struct ll_serve_watch watch = {
        .served = s->per_request ? served : NULL, .progress = progressed, .context = s, .stop = stop};
    const struct ll_serving *result = ll_serving_run(s->setup, &watch, s->setup->args->arena);
    ll_ticker_clear(&s->ticker);
    ll_print_diags(&s->setup->diags);
    return result;
}

/* --- results --- */

static const struct {
    const char *key, *label;
    size_t offset;
} distributions[] = {{"ttft_s", "TTFT", offsetof(struct ll_serving, ttft)},
                     {"tpot_s", "TPOT", offsetof(struct ll_serving, tpot)},
                     {"itl_s", "ITL", offsetof(struct ll_serving, itl)},
                     {"e2e_s", "end to end", offsetof(struct ll_serving, e2e)},
                     {"queued_s", "queued", offsetof(struct ll_serving, queued)}};
enum { DISTRIBUTIONS = sizeof distributions / sizeof *distributions };

static struct ll_quantiles *distribution(const struct ll_serving *r, size_t i)
{
    struct ll_quantiles *const *at =
        (struct ll_quantiles *const *)(const void *)((const char *)r + distributions[i].offset);
    return *at;
}

struct costs {
    double usd_per_hour, usd_per_m_input, usd_per_m_output, j_per_output, gco2_per_output, tokens_per_s_per_w;
};

/* The price of the devices' time, shared between tokens of prompts and those that are made as the time of
 * steps is; idle time likewise. */
static struct costs costs_of(const struct serving *s, const struct ll_serving *r, double carbon, double pue)
{
    double usd = ll_serving_usd_per_hour(s->setup) * r->duration_s / 3600,
           prompts = r->busy_s > 0 ? r->prompt_busy_s / r->busy_s : 0, power = r->energy_j / r->duration_s;
    double j = r->energy_j / (double)r->output_tokens;
    return (struct costs){.usd_per_hour = ll_serving_usd_per_hour(s->setup),
                          .usd_per_m_input = usd * prompts / (double)r->input_tokens * 1e6,
                          .usd_per_m_output = usd * (1 - prompts) / (double)r->output_tokens * 1e6,
                          .j_per_output = j,
                          .gco2_per_output = j * pue / 3.6e6 * carbon,
                          .tokens_per_s_per_w = (double)r->output_tokens / r->duration_s / power};
}

static double output_rate(const struct ll_serving *r)
{
    return (double)r->output_tokens / r->duration_s;
}

static void add_json(const struct serving *s, const struct ll_serving *r, const struct costs *costs,
                     double found_rate, struct ll_str *out)
{
    static const struct {
        const char *key;
        double share;
    } shares[] = {{"p50", 0.5}, {"p90", 0.9}, {"p95", 0.95}, {"p99", 0.99}};
    struct ll_json json = {.out = out, .indent = true};
    ll_json_open_document(&json, "serve", 1);
    ll_json_put_text(&json, "machine",
                     s->setup->groups[s->setup->groups[WHOLE].pool ? WHOLE : PREFILL].machine->stem);
    ll_json_put_text(&json, "model", s->setup->name);
    ll_json_put_count(&json, "devices", r->devices);
    ll_json_put_count(&json, "requests", r->requests);
    ll_json_put_number(&json, "duration_s", r->duration_s);
    for (size_t i = 0; i < DISTRIBUTIONS; i++) {
        ll_json_key(&json, distributions[i].key);
        ll_json_open_object(&json);
        ll_json_put_number(&json, "mean", ll_quantiles_mean(distribution(r, i)));
        for (size_t j = 0; j < sizeof shares / sizeof *shares; j++)
            ll_json_put_number(&json, shares[j].key, ll_quantiles_at(distribution(r, i), shares[j].share));
        ll_json_close_object(&json);
    }
    ll_json_put_number(&json, "output_tokens_per_s", output_rate(r));
    ll_json_put_number(&json, "total_tokens_per_s",
                       (double)(r->input_tokens + r->output_tokens) / r->duration_s);
    ll_json_put_number(&json, "tokens_per_s_per_device", output_rate(r) / (double)r->devices);
    ll_json_put_number(&json, "slo_attainment", (double)r->within_limits / (double)r->requests);
    ll_json_put_number(&json, "goodput_requests_per_s", (double)r->within_limits / r->duration_s);
    if (found_rate > 0)
        ll_json_put_number(&json, "found_rate", found_rate);
    ll_json_key(&json, "kv");
    ll_json_open_object(&json);
    ll_json_put_count(&json, "capacity_tokens",
                      s->setup->groups[s->setup->groups[WHOLE].pool ? WHOLE : DECODE].pool->kv_tokens);
    ll_json_put_number(&json, "peak_share", r->peak_kv_share);
    ll_json_put_count(&json, "preemptions", r->preemptions);
    ll_json_put_number(&json, "prefix_hit_share",
                       r->prompt_tokens > 0 ? (double)r->hit_tokens / (double)r->prompt_tokens : 0);
    ll_json_close_object(&json);
    ll_json_put_number(&json, "energy_j", r->energy_j);
    ll_json_put_count(&json, "steps", r->steps);
    ll_json_put_number(&json, "utilization", r->busy_s / r->duration_s);
    ll_json_put_number(&json, "prefill_share", r->busy_s > 0 ? r->prompt_busy_s / r->busy_s : 0);
    ll_json_put_number(&json, "mean_running", r->mean_running);
    ll_json_put_number(&json, "mean_waiting", r->mean_waiting);
    ll_json_put_number(&json, "usd_per_hour", costs->usd_per_hour);
    ll_json_put_number(&json, "usd_per_m_input_tokens", costs->usd_per_m_input);
    ll_json_put_number(&json, "usd_per_m_output_tokens", costs->usd_per_m_output);
    ll_json_put_number(&json, "j_per_output_token", costs->j_per_output);
    ll_json_put_number(&json, "gco2_per_output_token", costs->gco2_per_output);
    ll_json_put_number(&json, "tokens_per_s_per_w", costs->tokens_per_s_per_w);
    ll_json_close_object(&json);
}

static void add_deployment(const struct serving *s, struct ll_str *out)
{
    for (int i = 0; i < POOLS; i++) {
        const struct ll_serving_group *g = &s->setup->groups[i];
        struct ll_human weights, kv, tokens;
        struct ll_str line = {0};
        if (!g->pool)
            continue;
        ll_str_addf(&line, "  %" PRIu64 " %s%s of %" PRIu64 " %s", g->instances, pool_names[i],
                    i == WHOLE ? ll_plural(g->instances) : " instances", g->pool->devices, g->machine->stem);
        ll_str_addf(&line, " (tp %" PRIu64 ", pp %" PRIu64 ", dp %" PRIu64 ", ep %" PRIu64 ")", g->tensor,
                    g->pipeline, g->data, g->expert);
        ll_str_addf(&line, ": weights %s a device, KV cache of %s tokens a rank (%s)",
                    ll_format_binary(&weights, g->memory.weights),
                    ll_format_grouped(&tokens, g->pool->kv_tokens),
                    ll_format_binary(&kv, (double)g->pool->kv_tokens * g->memory.kv_token));
        ll_str_addf(&line, ", at most %" PRIu64 " sequences and %" PRIu64 " tokens a step",
                    g->pool->engine.most_sequences, g->pool->engine.most_tokens);
        ll_end_line(&line, ll_screen_width(), out);
    }
}

static void add_text(const struct serving *s, const struct ll_serving *r, const struct costs *costs,
                     double found_rate, struct ll_str *out)
{
    struct ll_human a, b, c, d, e, f;
    struct ll_table *table = ll_table_new("  |>mean|>p50|>p90|>p95|>p99");
    ll_str_addf(out, "%s, %" PRIu64 " request%s in %s\n", s->setup->name, r->requests, ll_plural(r->requests),
                ll_format_si(&a, r->duration_s, "s"));
    add_deployment(s, out);
    ll_str_add(out, "\n");
    for (size_t i = 0; i < DISTRIBUTIONS; i++) {
        struct ll_quantiles *q = distribution(r, i);
        if (ll_quantiles_count(q) > 0)
            ll_table_row(table, "  %s|%s|%s|%s|%s|%s", distributions[i].label,
                         ll_format_si(&a, ll_quantiles_mean(q), "s"),
                         ll_format_si(&b, ll_quantiles_at(q, 0.5), "s"),
                         ll_format_si(&c, ll_quantiles_at(q, 0.9), "s"),
                         ll_format_si(&d, ll_quantiles_at(q, 0.95), "s"),
                         ll_format_si(&e, ll_quantiles_at(q, 0.99), "s"));
    }
    ll_table_print(table, ll_screen_width(), out);
    ll_table_free(table);
    ll_str_addf(out, "\n  output      %s, %s a device\n", ll_format_count(&a, output_rate(r), "tokens/s"),
                ll_format_count(&b, output_rate(r) / (double)r->devices, "tokens/s"));
    ll_str_addf(out, "  devices     busy %s of the time, %s of it with prompts\n",
                ll_format_percent(&a, r->busy_s / r->duration_s /
                                          (double)(s->setup->deployment.whole.instances +
                                                   s->setup->deployment.prefill.instances +
                                                   s->setup->deployment.decode.instances)),
                ll_format_percent(&b, r->busy_s > 0 ? r->prompt_busy_s / r->busy_s : 0));
    ll_str_addf(out, "  sequences   %.1f running, %.1f waiting in the mean of %s steps\n", r->mean_running,
                r->mean_waiting, ll_format_grouped(&a, r->steps));
    ll_str_addf(
        out, "  KV cache    %s full in the mean, %s at most; %s preemption%s; %s of prompts found in it\n",
        ll_format_percent(&a, r->mean_kv_share), ll_format_percent(&b, r->peak_kv_share),
        ll_format_grouped(&c, r->preemptions), ll_plural(r->preemptions),
        ll_format_percent(&d, r->prompt_tokens > 0 ? (double)r->hit_tokens / (double)r->prompt_tokens : 0));
    if (isfinite(costs->j_per_output))
        ll_str_addf(out, "  energy      %s a token made, %.3g tokens/s/W\n",
                    ll_format_si(&a, costs->j_per_output, "J"), costs->tokens_per_s_per_w);
    if (isfinite(costs->usd_per_hour))
        ll_str_addf(out, "  price       $%.2f an hour: $%.3f a million tokens read, $%.3f made\n",
                    costs->usd_per_hour, costs->usd_per_m_input, costs->usd_per_m_output);
    if (isfinite(s->setup->limits.ttft_s) || isfinite(s->setup->limits.tpot_s) ||
        isfinite(s->setup->limits.e2e_s))
        ll_str_addf(out, "  limits      %s of requests within, %s\n",
                    ll_format_percent(&e, (double)r->within_limits / (double)r->requests),
                    ll_format_count(&f, (double)r->within_limits / r->duration_s, "good requests/s"));
    if (found_rate > 0)
        ll_str_addf(out, "  rate        %.4g requests/s is the largest that holds the limits at p%g\n",
                    found_rate, s->percentile);
}

static const struct ll_serving *find_rate(struct serving *s, const volatile sig_atomic_t *stop, double *found)
{
    const struct ll_serve_watch watch = {.progress = progressed, .context = s, .stop = stop};
    const struct ll_serving *best;
    bool done = ll_serving_find_rate(s->setup, s->percentile, &watch, s->setup->args->arena, found, &best);
    ll_ticker_clear(&s->ticker);
    ll_print_diags(&s->setup->diags);
    if (done && !best)
        ll_cli_reject("no rate holds these limits: they are missed by single requests");
    return best;
}

/* --- the command --- */

static bool open_per_request(struct serving *s)
{
    const char *path = ll_value(s->setup->args, "per-request", NULL);
    if (!path)
        return true;
    s->per_request_part = ll_may_replace(path) ? ll_path_beside(s->setup->args->arena, path) : NULL;
    s->per_request = s->per_request_part ? fopen(s->per_request_part, "w") : NULL;
    if (!s->per_request) {
        ll_cli_fail("%s: cannot be written", path);
        return false;
    }
    fprintf(s->per_request,
            "id,arrival_s,input_tokens,output_tokens,scheduled_s,first_token_s,last_token_s,preemptions\n");
    return true;
}

static bool close_per_request(struct serving *s, bool done)
{
    const char *path = ll_value(s->setup->args, "per-request", NULL);
    if (!s->per_request)
        return true;
    bool good = !ferror(s->per_request);
    good &= fclose(s->per_request) == 0;
    if (ll_path_keep(s->per_request_part, path, done && good) != LL_OK || !good) {
        ll_cli_fail("%s: cannot be written", path);
        return false;
    }
    return true;
}

static int serve(struct serving *s)
{
    const struct ll_args *args = s->setup->args;
    const volatile sig_atomic_t *stop = ll_catch_interrupts();
    double carbon, pue, found = 0;
    struct ll_str out = {0};
    if (!read_number(args, "percentile", 0, 100, 99, &s->percentile) ||
        !read_number(args, "carbon", 0, 1e6, 473, &carbon) || !read_number(args, "pue", 1, 10, 1.2, &pue) ||
        !ll_serving_read(s->setup) || !open_per_request(s))
        return LL_WRONG;
    bool finds = ll_flag(args, "find-rate");
    if (finds && (s->setup->load.listed || s->setup->load.concurrency > 0))
        return ll_cli_reject(
            "--find-rate looks for a rate; expected lengths and no --requests or --concurrency with it");
    const struct ll_serving *r = finds ? find_rate(s, stop, &found) : run(s, stop);
    bool kept = close_per_request(s, r != NULL);
    if (!r || !kept)
        return r ? LL_FAILED : LL_WRONG;
    if (r->requests == 0)
        return *stop ? LL_INTERRUPTED : ll_cli_reject("no request ended");
    struct costs costs = costs_of(s, r, carbon, pue);
    if (ll_flag(args, "json"))
        add_json(s, r, &costs, found, &out);
    else
        add_text(s, r, &costs, found, &out);
    int status = ll_print(&out);
    return *stop ? LL_INTERRUPTED : status;
}

static int run_serve(const struct ll_args *args)
{
    struct ll_serving_setup setup = {.args = args};
    struct serving s = {.setup = &setup, .ticker = ll_ticker_new(true)};
    int status = serve(&s);
    ll_serving_release(&setup);
    return status;
}

static const struct ll_option options[] = {
    {"machine", 'c', "MACHINE", "device and server, as h100_sxm+vllm"},
    {"model", 'm', "MODEL", "a config.json, a model that comes along, or its Hugging Face name"},
    {"dtype", 0, "TYPE", "of activations (bf16)"},
    {"quantization", 'q', "FORMAT", "how weights are stored: fp8, fp8_block, nvfp4, mxfp4, int8, int4, none"},
    {"kv-cache-dtype", 0, "TYPE", "of keys and values: auto, fp8, bf16"},
    {"tp", 0, "N", "devices that share each GEMM"},
    {"pp", 0, "N", "stages of the pipeline"},
    {"dp", 0, "N", "ranks whose attention works on requests of their own"},
    {"ep", 0, "N", "of these, ranks that experts are spread over"},
    {"instances", 0, "N", "servers side by side"},
    {"router", 0, "WAY", "between instances: round-robin, least-loaded, prefix-aware"},
    {"prefill", 0, "'N x tp=,dp='", "instances for prompts alone"},
    {"decode", 0, "'N x tp=,dp='", "instances for making tokens alone"},
    {"kv-transfer", 0, "WAY", "between these: layer (hidden behind the prompt), whole"},
    {"requests", 0, "FILE", "requests with their arrivals: CSV, Azure's, Mooncake's, BurstGPT's"},
    {"rate", 0, "R", "requests a second, of a Poisson process; inf: all at once"},
    {"burstiness", 0, "B", "shape of the gamma distribution of gaps (1)"},
    {"concurrency", 0, "N", "so many requests at any time"},
    {"input-tokens", 0, "N", "of a prompt: a number, a range, or a file to draw from (1024)"},
    {"output-tokens", 0, "N", "that a request makes (128)"},
    {"prefix-tokens", 0, "N", "that all prompts begin with"},
    {"num-prompts", 0, "N", "how many requests"},
    {"max-num-seqs", 0, "N", "sequences in a step"},
    {"max-num-batched-tokens", 0, "N", "new tokens in a step"},
    {"long-prefill-token-threshold", 0, "N", "new tokens of one prompt in a step"},
    {"block-size", 0, "N", "tokens of a block of the KV cache"},
    {"kv-blocks", 0, "N", "blocks of the KV cache of a rank"},
    {"gpu-memory-utilization", 0, "SHARE", "of a device's memory"},
    {"enable-prefix-caching", 0, NULL, "find blocks again by their content"},
    {"no-prefix-caching", 0, NULL, "do not"},
    {"request-overhead", 0, "TIME", "before a request is in the queue (of the server)"},
    {"speculative-tokens", 0, "K", "tokens guessed ahead"},
    {"acceptance", 0, "A1,A2", "how often each guess is taken"},
    {"ttft", 0, "TIME", "limit of the time to the first token, as 300ms"},
    {"tpot", 0, "TIME", "limit of the time for a token"},
    {"e2e", 0, "TIME", "limit from arrival to last token"},
    {"percentile", 0, "P", "at which --find-rate holds the limits (99)"},
    {"find-rate", 0, NULL, "the largest rate that holds the limits"},
    {"carbon", 0, "G", "gCO2e a kWh (473)"},
    {"pue", 0, "X", "power of the site over that of the devices (1.2)"},
    {"per-request", 0, "FILE", "times of each request, as CSV"},
    {"seed", 0, "N", "of what is drawn (1)"},
    {"set", 0, "PATH=VALUE", "change a value of the machine"},
    {0},
};
static const char *const repeated[] = {"set", NULL};
static const char *const writes[] = {"per-request", NULL};
static const char *const reads[] = {"requests", NULL};

const struct ll_command ll_command_serve = {
    .name = "serve",
    .synopsis = "-c MACHINE --model MODEL [--requests FILE | --rate R | --concurrency N] [OPTIONS]",
    .summary = "a language-model server under load: TTFT, TPOT, throughput, cost",
    .examples =
        "leadline serve -c h100_sxm+vllm --model qwen3-8b --rate 10 --input-tokens 1000 --output-tokens 200\n"
        "leadline serve -c hgx_h200+sglang --model qwen3-32b --tp 4 --concurrency 64 --json\n",
    .details = "Steps of the server are events; what a step computes is a replay of its batch, put together "
               "from those of "
               "batches whose sequences are alike.",
    .options = options,
    .repeated = repeated,
    .writes = writes,
    .reads = reads,
    .run = run_serve,
};
