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
#include "sim/cli/html.h"
#include "sim/cli/load.h"
#include "sim/cli/serving.h"
#include "sim/cli/serving_file.h"
#include "sim/cli/serving_output.h"
#include "sim/cli/serving_timeline.h"
#include "sim/cli/timeline.h"
#include "sim/machine/quantity.h"
#include "sim/report/table.h"
#include "sim/serve/history.h"
#include "sim/serve/request_file.h"
#include "tracer/base/file.h"
#include "tracer/base/num.h"

enum { WHOLE = LL_POOL_WHOLE, PREFILL = LL_POOL_PREFILL, DECODE = LL_POOL_DECODE, POOLS = LL_SERVING_POOLS };
static const char *const pool_names[POOLS] = {"instance", "prefill", "decode"};

/* A run of the command. */
struct serving {
    struct ll_serving_setup *setup;
    double percentile, carbon, pue;
    FILE *per_request; /* NULL: nobody asks for one; so with these */
    const char *per_request_part;
    struct ll_serve_history *history; /* for the page */
    const char *timeline;             /* its file */
    struct ll_serving_log log;        /* for the timeline */
    struct ll_ticker ticker;
};

/* --- options --- */

const char *ll_serving_weights(const char *name)
{
    static const char *const words[][2] = {{"fp8", "fp8"},       {"fp8_block", "fp8_block"},
                                           {"nvfp4", "nvfp4"},   {"modelopt_fp4", "nvfp4"},
                                           {"mxfp4", "mxfp4"},   {"fp4", "nvfp4"},
                                           {"awq", "int4"},      {"gptq", "int4"},
                                           {"int4", "int4"},     {"int4_g128", "int4"},
                                           {"w4a16", "int4"},    {"mxfp4_experts", "mxfp4_experts"},
                                           {"int8", "int8"},     {"w8a8", "int8"},
                                           {"none", "16bit"},    {"bf16", "16bit"},
                                           {"float16", "16bit"}, {"bfloat16", "16bit"},
                                           {"auto", "auto"}};
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
    model->weights = weights ? ll_serving_weights(weights) : NULL;
    if (weights && !model->weights) {
        ll_cli_reject(
            "--quantization %s: not known here; expected fp8, fp8_block, nvfp4, mxfp4, int8, int4 or none",
            weights);
        return false;
    }
    return true;
}

/* In which order requests are scheduled, and whether what was computed for others is found again. */
static bool read_policy(const struct ll_args *args, struct ll_engine *e)
{
    const char *policy = ll_value(args, "scheduling-policy", "fcfs");
    e->by_priority = strcmp(policy, "priority") == 0;
    if (!e->by_priority && strcmp(policy, "fcfs") != 0) {
        ll_cli_reject("--scheduling-policy %s: expected fcfs or priority", policy);
        return false;
    }
    if (e->by_priority && (e->prompts_first || e->admission != LL_ADMISSION_KNOWN)) {
        ll_cli_reject("--scheduling-policy priority: it is vLLM's; expected a machine with its scheduler, as "
                      "h100_sxm+vllm");
        return false;
    }
    if (ll_flag(args, "enable-prefix-caching") || ll_flag(args, "no-prefix-caching"))
        e->prefix_caching = ll_flag(args, "enable-prefix-caching");
    if (ll_flag(args, "enable-prefix-caching") && ll_flag(args, "no-prefix-caching")) {
        ll_cli_reject("--enable-prefix-caching and --no-prefix-caching: expected one of them");
        return false;
    }
    return true;
}

/* How often each of the tokens that are guessed is taken. */
static bool read_acceptance(const struct ll_args *args, struct ll_engine *e)
{
    const char *rates = ll_value(args, "acceptance", NULL);
    if (rates && e->speculated == 0) {
        ll_cli_reject("--acceptance: it is of tokens that are guessed; expected --speculative-tokens K");
        return false;
    }
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

struct ll_server_batch ll_serving_batch(const struct ll_machine *machine)
{
    struct ll_server_batch batch = {.tokens = 2048, .sequences = 256, .captured = 512};
    const uint64_t memory = machine->levels[machine->level_count - 1].size_bytes;
    for (uint64_t i = 0; machine->server_given && i < machine->server.batch_count; i++)
        if (memory >= machine->server.batches[i].memory_bytes)
            batch = machine->server.batches[i];
    return batch;
}

/* The scheduler, by the machine's stack, then by options, then by what --prefill or --decode say of it. */
static bool read_engine(const struct ll_args *args, const struct ll_serving_group *group, struct ll_engine *e,
                        uint64_t *captured)
{
    const struct ll_machine *machine = group->machine;
    static const struct ll_server plain = {.admission = LL_ADMISSION_KNOWN,
                                           .chunks = true,
                                           .prefix_caching = true,
                                           .overlaps = true,
                                           .captures_prompts = true,
                                           .block = 16,
                                           .memory_share = 0.9};
    const struct ll_server *server = machine->server_given ? &machine->server : &plain;
    const struct ll_server_batch batch = ll_serving_batch(machine);
    *e = (struct ll_engine){.admission = server->admission,
                            .prompts_first = server->prompts_first,
                            .chunks = server->chunks,
                            .prefix_caching = server->prefix_caching,
                            .reserved_blocks = server->reserved_blocks,
                            .step_s = server->step_s,
                            .sequence_s = server->sequence_s,
                            .eager_s = server->eager_op_s,
                            .request_s = server->request_s,
                            .overlaps = server->overlaps,
                            .captures_prompts = server->captures_prompts,
                            .receive_steps = server->receive_steps,
                            .wait_steps = server->wait_steps,
                            .wait_share = server->wait_share,
                            .balance_steps = server->balance_steps};
    uint64_t speculated;
    double request_s;
    if (!ll_value_count(args, "max-cudagraph-capture-size", 0, 1 << 20, batch.captured, captured))
        return false;
    e->captured = *captured;
    if (!ll_serving_time(args, "request-overhead", &request_s))
        return false;
    e->request_s = isfinite(request_s) ? request_s : e->request_s;
    if (!ll_value_count(args, "max-num-seqs", 1, 1 << 20, batch.sequences, &e->most_sequences) ||
        !ll_value_count(args, "max-num-batched-tokens", 1, 1 << 24, batch.tokens, &e->most_tokens) ||
        !ll_value_count(args, "long-prefill-token-threshold", 1, 1 << 24, 0, &e->longest_chunk) ||
        !ll_value_count(args, "block-size", 1, 1 << 16, server->block, &e->block) ||
        !ll_value_count(args, "speculative-tokens", 1, 16, 0, &speculated))
        return false;
    e->speculated = (unsigned)speculated;
    e->most_sequences = group->sequences > 0 ? group->sequences : e->most_sequences;
    e->most_tokens = group->tokens > 0 ? group->tokens : e->most_tokens;
    return read_policy(args, e) && read_acceptance(args, e);
}

/* "N x tp=2,pp=1,dp=1,ep=1,seqs=64,tokens=8192,machine=NAME": how the instances of a pool look. */
static bool read_group(struct ll_serving_setup *s, int which, const char *text, const char **machine)
{
    struct ll_serving_group *g = &s->groups[which];
    const char *at = text;
    char *end;
    g->instances = strtoull(at, &end, 10);
    at = end + strspn(end, " x");
    bool good = end != text && g->instances > 0 && g->instances <= 1 << 16;
    while (good && *at) {
        const struct {
            const char *name;
            uint64_t *value, most;
        } keys[] = {{"tp=", &g->tensor, 1 << 16},      {"pp=", &g->pipeline, 1 << 16},
                    {"dp=", &g->data, 1 << 16},        {"ep=", &g->expert, 1 << 16},
                    {"seqs=", &g->sequences, 1 << 20}, {"tokens=", &g->tokens, 1 << 24}};
        size_t length = strcspn(at, ",");
        bool known = strncmp(at, "machine=", 8) == 0;
        if (known)
            *machine = ll_copy_text(s->args->arena, at + 8, length - 8);
        for (size_t i = 0; i < sizeof keys / sizeof *keys && !known; i++)
            if (strncmp(at, keys[i].name, strlen(keys[i].name)) == 0) {
                *keys[i].value = strtoull(at + strlen(keys[i].name), &end, 10);
                known = end == at + length && *keys[i].value > 0 && *keys[i].value <= keys[i].most;
            }
        good = known;
        at += length + (at[length] == ',');
    }
    if (!good)
        ll_cli_reject("--%s '%s': expected as '2 x tp=2,dp=1,ep=1'", pool_names[which], text);
    return good;
}

/* A machine with a model's plan that servings share. */
struct ll_shared_group {
    const char *key;
    struct ll_machine *machine;
    struct ll_served_model model;
    struct ll_shared_group *next;
};

void ll_serving_shared_release(struct ll_serving_shared *shared)
{
    for (struct ll_shared_group *g = shared->first; g; g = g->next) {
        ll_served_release(&g->model);
        ll_machine_free(g->machine);
    }
    ll_served_traces_release(&shared->traces);
    ll_arena_release(&shared->arena);
    shared->first = NULL;
}

const struct ll_machine *ll_serving_shared_machine(const struct ll_serving_shared *shared, const char *stem)
{
    const struct ll_machine *machine = NULL;
    for (const struct ll_shared_group *g = shared->first; g; g = g->next)
        if (strcmp(g->machine->stem, stem) == 0)
            machine = g->machine; /* the last is the first that was read */
    return machine;
}

/* All that a group's machine and model follow from; NULL when memory ran out. */
static const char *key_of(const struct ll_serving_setup *s, const struct ll_serving_group *g,
                          const char *which)
{
    static const char *const options[] = {"dtype", "quantization", "kv-cache-dtype", "expert-load"};
    struct ll_arena *arena = s->args->arena;
    const char *key =
        ll_format(arena, "%s|%s|%" PRIu64 "|%" PRIu64 "|%" PRIu64 "|%" PRIu64 "|%d", which, s->config,
                  g->tensor, g->pipeline, g->data, g->expert, ll_value(s->args, "prefill", NULL) != NULL);
    for (size_t i = 0; key && i < sizeof options / sizeof *options; i++)
        key = ll_format(arena, "%s|%s", key, ll_value(s->args, options[i], ""));
    const char *set;
    for (size_t i = 0; key && (set = ll_value_at(s->args, "set", i)); i++)
        key = ll_format(arena, "%s|%s", key, set);
    return key;
}

static bool find_shared(struct ll_serving_setup *s, struct ll_serving_group *g, const char *key)
{
    for (struct ll_shared_group *at = s->shared->first; at; at = at->next)
        if (strcmp(at->key, key) == 0) {
            g->machine = at->machine;
            g->model = &at->model;
            g->model->diags = &s->diags;
            return true;
        }
    return false;
}

/* Keeps the group's machine and model for other servings; the model moves. */
static bool share(struct ll_serving_setup *s, struct ll_serving_group *g, const char *key)
{
    struct ll_shared_group *kept = ll_alloc(&s->shared->arena, 1, sizeof *kept);
    const char *copy = ll_copy_text(&s->shared->arena, key, strlen(key));
    if (!kept || !copy)
        return false;
    *kept = (struct ll_shared_group){
        .key = copy, .machine = g->machine, .model = *g->model, .next = s->shared->first};
    s->shared->first = kept;
    g->model = &kept->model;
    return true;
}

/* The machine, or the system that several of it make. */
static struct ll_machine *machine_of(const struct ll_serving_setup *s, const char *which, uint64_t devices)
{
    size_t override_count;
    const char *const *folders = ll_machine_folders(s->args->arena);
    const struct ll_override *overrides = ll_read_overrides(s->args, &override_count);
    struct ll_machine *machine =
        folders && overrides ? ll_load_machine(which, folders, overrides, override_count) : NULL;
    if (machine && (devices > 1 || ll_value(s->args, "prefill", NULL))) /* keys and values go over links */
        machine = ll_load_system(machine, folders, overrides, override_count);
    return machine;
}

/* The devices of an instance as a plan; its machine, or the system that several of it make. */
static bool set_plan(struct ll_serving_setup *s, struct ll_serving_group *g, const char *which)
{
    const uint64_t shared = g->tensor * g->data;
    struct ll_arena *arena = s->shared ? &s->shared->arena : s->args->arena;
    const char *key = s->shared ? key_of(s, g, which) : NULL;
    if (g->expert > 1 && shared % g->expert != 0) {
        ll_cli_reject("--ep %" PRIu64
                      ": experts are spread over devices that share a layer; expected a divisor of tp x dp, "
                      "%" PRIu64,
                      g->expert, shared);
        return false;
    }
    if (key && find_shared(s, g, key))
        return true;
    g->model = ll_alloc(arena, 1, sizeof *g->model);
    if (!g->model || !(g->machine = s->machine ? s->machine : machine_of(s, which, shared * g->pipeline)))
        return false;
    g->machine->software.serves = true;
    *g->model = (struct ll_served_model){.machine = g->machine,
                                         .plan = ll_plan_of_one(),
                                         .config = s->config,
                                         .diags = &s->diags,
                                         .traces = s->shared ? &s->shared->traces : s->traces};
    g->model->plan.tensor = g->tensor;
    g->model->plan.pipeline = g->pipeline;
    g->model->plan.data = g->data;
    g->model->plan.expert = ll_max(1, ll_min(g->expert, g->data));
    g->model->plan.whole_experts =
        g->expert > g->data; /* experts lie whole on devices that share GEMMs, too */
    if (!read_types(s->args, g->model))
        return false;
    bool known = ll_served_look(g->model, arena) &&
                 ll_expert_load_read(ll_value(s->args, "expert-load", "balanced"), g->model->experts, arena,
                                     &g->model->load) &&
                 (!s->shared || (key && share(s, g, key)));
    ll_print_diags(&s->diags);
    return known;
}

/* "NAME:SIZE:BANDWIDTH" or "NAME:SIZE:BANDWIDTH:shared": where keys and values are kept behind the caches. */
static bool read_tier(const char *text, double kv_all, struct ll_arena *arena, struct ll_kv_tier *tier)
{
    enum { NAME, SIZE, BANDWIDTH, SHARED, PARTS };
    const char *parts[PARTS] = {NULL}, *unit;
    struct ll_quantity size, bandwidth;
    int count = 0;
    char *copy = ll_copy_text(arena, text, strlen(text));
    for (char *at = copy; at && count < PARTS;) {
        char *colon = strchr(at, ':');
        parts[count++] = at;
        at = colon ? colon + 1 : NULL;
        if (colon)
            *colon = '\0';
        if (colon && count == PARTS)
            parts[SHARED] = "";
    }
    if (count < SHARED || !*parts[NAME] || (parts[SHARED] && strcmp(parts[SHARED], "shared") != 0) ||
        ll_quantity_parse(parts[SIZE], &size, &unit) != LL_QUANTITY_FINE ||
        size.dimension != LL_DIMENSION_SIZE ||
        ll_quantity_parse(parts[BANDWIDTH], &bandwidth, &unit) != LL_QUANTITY_FINE ||
        bandwidth.dimension != LL_DIMENSION_BANDWIDTH || !(size.value > 0) || !(bandwidth.value > 0)) {
        ll_cli_reject(
            "--kv-tier %s: expected NAME:SIZE:BANDWIDTH, as host:200GiB:50GB/s, with :shared behind it "
            "where all instances have it together",
            text);
        return false;
    }
    *tier = (struct ll_kv_tier){.name = parts[NAME],
                                .tokens = (uint64_t)fmin(1e9, size.value / kv_all),
                                .token_s = kv_all / bandwidth.value,
                                .shared = parts[SHARED]};
    return true;
}

/* Tiers of a pool that computes prompts. */
static bool read_tiers(const struct ll_serving_setup *s, int which, struct ll_server_pool *pool)
{
    const char *text;
    struct ll_kv_tier *tiers = ll_alloc(s->args->arena, LL_MOST_KV_TIERS, sizeof *tiers);
    if (!tiers || which == DECODE)
        return tiers;
    pool->tiers = tiers;
    for (size_t i = 0; (text = ll_value_at(s->args, "kv-tier", i)); i++) {
        if (i == LL_MOST_KV_TIERS) {
            ll_cli_reject("--kv-tier %s: expected at most %d tiers", text, LL_MOST_KV_TIERS);
            return false;
        }
        if (!pool->engine.prefix_caching) {
            ll_cli_reject("--kv-tier %s: what it keeps is found by prefix caching; expected "
                          "--enable-prefix-caching",
                          text);
            return false;
        }
        if (!read_tier(text, s->groups[which].memory.kv_all, s->args->arena, &tiers[pool->tier_count++]))
            return false;
    }
    return true;
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
    if (!read_engine(s->args, g, &pool->engine, &captured) ||
        !ll_value_count(s->args, "kv-blocks", 1, 1 << 28, 0, &blocks) ||
        !ll_serving_number(s->args, "gpu-memory-utilization", 0.01, 1, server.memory_share,
                           &server.memory_share))
        return false;
    uint64_t ops = 0;
    if (pool->engine.eager_s > 0 && !ll_served_ops(g->model, &ops)) {
        ll_print_diags(&s->diags);
        return false;
    }
    pool->engine.eager_s *= (double)ops / (double)g->pipeline;
    if (!ll_served_memory(g->model, &server, pool->engine.most_tokens, ll_serving_usual_length(&s->load),
                          &g->memory)) {
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
    if (!read_tiers(s, which, pool))
        return false;
    g->costs = ll_step_costs_make(captured, s->roofline ? ll_served_roofline : ll_served_form, g->model,
                                  s->args->arena);
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
    if (!ll_serving_time(args, "ttft", &s->limits.ttft_s) ||
        !ll_serving_time(args, "tpot", &s->limits.tpot_s) ||
        !ll_serving_time(args, "e2e", &s->limits.e2e_s) || !ll_serving_load(s))
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
        if (s->shared)
            continue;
        if (s->groups[i].model)
            ll_served_release(s->groups[i].model);
        if (s->groups[i].machine && !s->machine)
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
                          double *rate_Hz)
{
    double good = 0, bad = 0, rate = s->load.rate_Hz > 0 ? s->load.rate_Hz : 1;
    const double all_at_once = 1e3 * (double)s->load.count; /* within a millisecond */
    while ((bad == 0 ? good < all_at_once : good == 0 || bad > 1.01 * good) && rate > 1e-4) {
        struct ll_arena arena = {0};
        s->load.rate_Hz = rate;
        const struct ll_serving *r = ll_serving_run(s, watch, &arena);
        const bool served = r && !(watch->stop && *watch->stop), good_now = served && holds(s, r, percentile);
        ll_arena_release(&arena);
        if (!served)
            return false;
        *(good_now ? &good : &bad) = rate;
        rate = bad == 0 ? 2 * good : good == 0 ? bad / 2 : sqrt(good * bad);
    }
    s->load.rate_Hz = good;
    *rate_Hz = bad == 0 ? INFINITY : good;
    return true;
}

double ll_serving_usd_per_hour(const struct ll_serving_group *group)
{
    if (!group->pool)
        return 0;
    return ll_machine_usd_per_hour(group->machine) * (double)(group->instances * group->pool->devices);
}

/* --- while it runs --- */

static void served(void *context, const struct ll_served *q)
{
    struct serving *s = context;
    if (s->per_request)
        fprintf(s->per_request, "%" PRIu64 ",%.9g,%" PRIu64 ",%" PRIu64 ",%.9g,%.9g,%.9g,%" PRIu64 "\n",
                q->number, q->request.arrival_s, q->request.input, q->request.output, q->scheduled_s,
                q->first_token_s, q->last_token_s, q->preemptions);
    if (s->history)
        ll_serve_history_served(s->history, q);
    if (s->timeline)
        ll_serving_log_request(&s->log, q);
}

static void stepped(void *context, const struct ll_step_seen *step)
{
    struct serving *s = context;
    if (s->history)
        ll_serve_history_step(s->history, step);
    if (s->timeline)
        ll_serving_log_step(&s->log, step);
}

static void progressed(void *context, uint64_t ended, uint64_t count)
{
    struct serving *s = context;
    const bool known = s->setup->load.duration_s == 0;
    ll_ticker_tell(&s->ticker, "serving", known ? (double)ended / (double)count : NAN, NAN,
                   "%" PRIu64 " request%s", ended, ll_plural(ended));
}

/* One run, of which all is kept that files ask for; NULL after complaints. */
static const struct ll_serving *run(struct serving *s, const volatile sig_atomic_t *stop)
{
    const struct ll_serve_watch watch = {.served =
                                             s->per_request || s->history || s->timeline ? served : NULL,
                                         .step = s->history || s->timeline ? stepped : NULL,
                                         .progress = progressed,
                                         .context = s,
                                         .stop = stop};
    const struct ll_serving *result = ll_serving_run(s->setup, &watch, s->setup->args->arena);
    ll_ticker_clear(&s->ticker);
    ll_print_diags(&s->setup->diags);
    if (s->history)
        ll_serve_history_end(s->history);
    return result;
}

/* The run at the largest rate that holds the limits. NULL after complaints. */
static const struct ll_serving *find_rate(struct serving *s, const volatile sig_atomic_t *stop, double *found)
{
    const struct ll_serve_watch watch = {.progress = progressed, .context = s, .stop = stop};
    bool done = ll_serving_find_rate(s->setup, s->percentile, &watch, found);
    ll_ticker_clear(&s->ticker);
    ll_print_diags(&s->setup->diags);
    if (done && *found == 0)
        ll_cli_reject("no rate holds these limits: they are missed by single requests");
    if (done && isinf(*found))
        ll_cli_reject("the limits hold even where all %" PRIu64
                      " requests come at once; expected more of them (--num-prompts)",
                      s->setup->load.count);
    return done && *found > 0 && isfinite(*found) ? run(s, stop) : NULL;
}

/* --- the command --- */

/* Files that are to be written can be: said before anything takes long. */
static bool open_files(struct serving *s)
{
    const struct ll_args *args = s->setup->args;
    const char *path = ll_value(args, "per-request", NULL), *html = ll_value(args, "html", NULL);
    s->timeline = ll_value(args, "timeline", NULL);
    if ((html && !(ll_may_replace(html) && ll_can_write(html))) ||
        (s->timeline && !(ll_may_replace(s->timeline) && ll_can_write(s->timeline))))
        return false;
    const char *ending = s->timeline ? strrchr(s->timeline, '.') : NULL;
    if (s->timeline && (!ending || (strcmp(ending, ".pftrace") != 0 && strcmp(ending, ".json") != 0))) {
        ll_cli_reject("--timeline %s: expected a name that ends in .pftrace (Perfetto) or .json (Chrome)",
                      s->timeline);
        return false;
    }
    if (html && !(s->history = ll_serve_history_make(args->arena))) {
        ll_cli_fail("memory ran out");
        return false;
    }
    if (!path)
        return true;
    s->per_request_part = ll_may_replace(path) ? ll_path_beside(args->arena, path) : NULL;
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

/* Prints it, and writes the page and the timeline; an exit status. */
static int show(struct serving *s, const struct ll_serving *r, double found_rate_Hz)
{
    const struct ll_args *args = s->setup->args;
    struct ll_serving_shown shown = {.setup = s->setup,
                                     .serving = r,
                                     .history = s->history,
                                     .found_rate_Hz = found_rate_Hz,
                                     .percentile = s->percentile,
                                     .carbon = s->carbon,
                                     .pue = s->pue};
    struct ll_serving_export request = {.log = &s->log};
    struct ll_str out = {0};
    if (!ll_serving_sum_up(&shown))
        return LL_WRONG;
    int status = s->history ? ll_serving_page(&shown) : LL_DONE;
    if (status == LL_DONE && s->timeline)
        status = ll_export_to(ll_export_serving, &request.export, s->timeline, args->arena);
    if (status != LL_DONE)
        return status;
    (ll_flag(args, "json") ? ll_serving_json : ll_serving_text)(&shown, &out);
    return ll_print(&out);
}

static int serve(struct serving *s)
{
    const struct ll_args *args = s->setup->args;
    const volatile sig_atomic_t *stop = ll_catch_interrupts();
    const bool finds = ll_flag(args, "find-rate");
    double found = 0;
    if (!ll_serving_number(args, "percentile", 0, 100, 99, &s->percentile) ||
        !ll_serving_number(args, "carbon", 0, 1e6, 473, &s->carbon) ||
        !ll_serving_number(args, "pue", 1, 10, 1.2, &s->pue) || !ll_serving_read(s->setup))
        return LL_WRONG;
    if (finds && (s->setup->load.listed || s->setup->load.concurrency > 0))
        return ll_cli_reject(
            "--find-rate looks for a rate; expected lengths and no --requests or --concurrency with it");
    const struct ll_serve_limits *limits = &s->setup->limits;
    if (finds && s->setup->load.duration_s > 0)
        return ll_cli_reject(
            "--duration: --find-rate serves so many requests at each rate; expected --num-prompts");
    if (finds && isinf(limits->ttft_s) && isinf(limits->tpot_s) && isinf(limits->e2e_s))
        return ll_cli_reject(
            "--find-rate: expected a limit that the rate is to hold: --ttft, --tpot or --e2e");
    if (!open_files(s))
        return LL_WRONG;
    const struct ll_serving *r = finds ? find_rate(s, stop, &found) : run(s, stop);
    bool kept = close_per_request(s, r != NULL);
    if (!r || !kept)
        return r ? LL_FAILED : *stop ? LL_INTERRUPTED : LL_WRONG;
    if (r->requests == 0)
        return *stop ? LL_INTERRUPTED : ll_cli_reject("no request ended that counts");
    int status = show(s, r, found);
    return *stop ? LL_INTERRUPTED : status;
}

static int run_serve(const struct ll_args *args)
{
    struct ll_args all;
    struct ll_serving_setup setup = {.args = &all};
    struct serving s = {.setup = &setup, .ticker = ll_ticker_new(true)};
    int status = ll_serving_settings(args, &all) ? serve(&s) : LL_WRONG;
    ll_serving_release(&setup);
    ll_serving_log_release(&s.log);
    ll_cli_origins(NULL, 0);
    return status;
}

static const struct ll_option options[] = {
    {"settings", 's', "FILE", "these options from a YAML file; options given here come before it"},
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
    {"prefill", 0, "'N x tp=,dp='",
     "instances for prompts alone; of a step: seqs= and tokens=, as --max-num-seqs, "
     "--max-num-batched-tokens"},
    {"decode", 0, "'N x tp=,dp='", "instances for making tokens alone, likewise"},
    {"kv-transfer", 0, "WAY", "between these: layer (hidden behind the prompt), whole"},
    {"requests", 0, "FILE", "requests with their arrivals: CSV, Azure's, Mooncake's, BurstGPT's"},
    {"rate", 0, "R", "requests a second, of a Poisson process; inf: all at once"},
    {"burstiness", 0, "B", "shape of the gamma distribution of gaps (1)"},
    {"concurrency", 0, "N", "so many requests at any time; with --rate at most"},
    {"input-tokens", 0, "TOKENS",
     "of a prompt: a number, 100-900, 1000+-20%, normal:1000:200, lognormal:1000:800, exponential:1000, or a "
     "file "
     "of requests to draw from (1024)"},
    {"output-tokens", 0, "TOKENS", "that a request makes, likewise (128)"},
    {"prefix-tokens", 0, "N", "that all prompts begin with"},
    {"num-prompts", 0, "N", "how many requests (1000, or ten for each of --concurrency)"},
    {"duration", 0, "TIME", "requests come for so long"},
    {"warmup", 0, "TIME", "requests that come earlier are served, but do not count"},
    {"max-num-seqs", 0, "N", "sequences in a step"},
    {"max-num-batched-tokens", 0, "N", "new tokens in a step"},
    {"scheduling-policy", 0, "POLICY",
     "who is let in first, and preempted last: fcfs, or priority (a column of --requests, the lower the "
     "earlier)"},
    {"long-prefill-token-threshold", 0, "N", "new tokens of one prompt in a step"},
    {"max-cudagraph-capture-size", 0, "N", "tokens of the largest batch that a captured graph computes"},
    {"block-size", 0, "N", "tokens of a block of the KV cache"},
    {"kv-blocks", 0, "N", "blocks of the KV cache of a rank"},
    {"gpu-memory-utilization", 0, "SHARE", "of a device's memory"},
    {"enable-prefix-caching", 0, NULL, "find blocks again by their content"},
    {"no-prefix-caching", 0, NULL, "do not"},
    {"kv-tier", 0, "NAME:SIZE:BANDWIDTH",
     "keeps keys and values behind the caches, of an instance: host:200GiB:50GB/s, of all: "
     "store:4TiB:20GB/s:shared"},
    {"request-overhead", 0, "TIME", "before a request is in the queue (of the server)"},
    {"expert-load", 0, "LOAD",
     "of experts: balanced, power_law_A (loads follow x^-A, as 1.2), or a file of the tokens of each"},
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
    {"timeline", 0, "FILE", "batches and requests over time: .pftrace for Perfetto, .json for Chrome"},
    LL_HTML_OPTION("latencies, throughput, queue, KV cache, batches, requests"),
    {"seed", 0, "N", "of what is drawn (1)"},
    {"set", 0, "PATH=VALUE", "change a value of the machine"},
    {0},
};
/* As vLLM's server and its benchmark spell them. */
const char *const ll_serving_aliases[][2] = {{"tensor-parallel-size", "tp"},
                                             {"pipeline-parallel-size", "pp"},
                                             {"data-parallel-size", "dp"},
                                             {"num-gpu-blocks-override", "kv-blocks"},
                                             {"request-rate", "rate"},
                                             {"max-concurrency", "concurrency"},
                                             {"random-input-len", "input-tokens"},
                                             {"random-output-len", "output-tokens"},
                                             {"random-prefix-len", "prefix-tokens"},
                                             {"num-speculative-tokens", "speculative-tokens"},
                                             {"no-enable-prefix-caching", "no-prefix-caching"},
                                             {NULL, NULL}};
static const char *const repeated[] = {"set", "kv-tier", NULL};
static const char *const writes[] = {"per-request", "timeline", "html", NULL};
static const char *const reads[] = {"settings", "requests", "expert-load", NULL};

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
    .aliases = ll_serving_aliases,
    .repeated = repeated,
    .writes = writes,
    .reads = reads,
    .run = run_serve,
};
