/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/cli/served_model.h"

#include <assert.h>
#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "models/llm/config.h"
#include "sim/validate/predict.h"
#include "tracer/base/file.h"
#include "tracer/base/map.h"
#include "tracer/base/num.h"
#include "tracer/base/str.h"

static bool read_config(const char *config, struct ll_arena *arena, struct ll_llm *llm,
                        struct ll_diags *diags)
{
    const char *known = ll_llm_known(config);
    struct ll_contents text = {known, known ? strlen(known) : 0};
    enum { MOST_BYTES = 1 << 24 };
    enum ll_status status = known ? LL_OK : ll_read_whole(config, MOST_BYTES, arena, &text);
    if (status != LL_OK)
        return ll_complain(diags, (struct ll_place){.file = config}, "%s; expected a model's config.json",
                           ll_status_text(status));
    return ll_llm_read(config, text.bytes, text.length, arena, llm, diags);
}

bool ll_served_has_experts(const char *config)
{
    struct ll_arena arena = {0};
    struct ll_diags diags = {0};
    struct ll_llm llm;
    bool has = false;
    if (read_config(config, &arena, &llm, &diags))
        for (uint64_t i = 0; i < llm.layer_count; i++)
            has |= llm.layers[i].experts > 0;
    ll_diags_release(&diags);
    ll_arena_release(&arena);
    return has;
}

uint64_t ll_served_layers(const char *config)
{
    struct ll_arena arena = {0};
    struct ll_diags diags = {0};
    struct ll_llm llm;
    const uint64_t count = read_config(config, &arena, &llm, &diags) ? llm.layer_count : 0;
    ll_diags_release(&diags);
    ll_arena_release(&arena);
    return count;
}

/* Of a layer with experts; of another nothing. */
static void add_expert_sizes(const struct ll_llm *llm, const struct ll_llm_layer *l, uint64_t tensor,
                             struct ll_layer_sizes *sizes)
{
    if (l->experts == 0)
        return;
    sizes->experts = l->experts;
    sizes->top_k = l->top_k;
    sizes->expert = l->expert;
    sizes->expert_hidden = l->latent > 0 ? l->latent : llm->hidden;
    sizes->tensor = tensor;
    sizes->shared = l->shared / tensor;
    sizes->shared_gate_up = 2 * sizes->shared;
    sizes->one = l->shared > 0;
}

bool ll_served_layer_sizes(const char *config, uint64_t tensor, struct ll_layer_sizes *sizes,
                           struct ll_diags *diags)
{
    struct ll_arena arena = {0};
    struct ll_llm llm;
    bool known = read_config(config, &arena, &llm, diags), found = false;
    for (uint64_t i = 0; known && i < llm.layer_count && !found; i++) {
        const struct ll_llm_layer *l = &llm.layers[i];
        if (!(found = l->mixer == LL_MIXER_ATTENTION))
            continue;
        const uint64_t heads = l->heads / tensor, kv_heads = ll_max(1, l->kv_heads / tensor),
                       inner = l->dense / tensor;
        *sizes = (struct ll_layer_sizes){.hidden = llm.hidden,
                                         .qkv = (heads + 2 * kv_heads) * l->head,
                                         .attended = heads * l->head_v,
                                         .inner = inner,
                                         .gate_up = 2 * inner,
                                         .vocabulary = ll_ceil_div(llm.vocabulary, tensor),
                                         .heads = heads,
                                         .kv_heads = kv_heads,
                                         .head = l->head};
    }
    for (uint64_t i = 0; found && i < llm.layer_count && sizes->experts == 0; i++)
        add_expert_sizes(&llm, &llm.layers[i], tensor, sizes);
    if (known && !found)
        ll_complain(diags, (struct ll_place){.file = config},
                    "no layer has keys and values of each head; expected a model with such attention");
    ll_arena_release(&arena);
    return found;
}

/* --- what is remembered --- */

/* What a program holds, in bytes: weights, what outlives a step and is none, the most at any time; and what
 * outlives a step on all stages. */
struct held {
    double weights, kept, peak, kept_all;
};

/* A form that was asked for: its costs, those of a roofline, what it holds. */
struct known_form {
    struct ll_form_cost ours, roofline;
    uint64_t ops;
    struct held held;
    enum { NOT_ASKED, GOOD, BAD } costed, held_is;
};

struct ll_served_memo {
    struct ll_arena *arena;
    struct ll_map forms;
    struct known_form *known; /* by id of the form */
    uint64_t capacity;
};

/* What is known of a form, good until another is asked for; NULL when memory ran out. */
static struct known_form *recall(struct ll_served_memo *memo, const struct ll_form *form)
{
    const uint64_t key[] = {form->decoding, form->count, form->tokens, form->past};
    bool is_new;
    uint32_t id = ll_map_intern(&memo->forms, key, sizeof key, &is_new);
    if (id == LL_NO_ID)
        return NULL;
    if (id >= memo->capacity) {
        uint64_t capacity = ll_max(256, 2 * memo->capacity);
        struct known_form *more = ll_alloc(memo->arena, capacity, sizeof *more);
        if (!more)
            return NULL;
        if (memo->capacity > 0)
            memcpy(more, memo->known, memo->capacity * sizeof *more);
        memo->known = more;
        memo->capacity = capacity;
    }
    if (is_new)
        memo->known[id] = (struct known_form){0};
    return &memo->known[id];
}

void ll_served_release(struct ll_served_model *m)
{
    if (m->memo)
        ll_map_release(&m->memo->forms);
    ll_remembered_release(&m->remembered);
}

/* --- the trace of a form --- */

bool ll_served_look(struct ll_served_model *m, struct ll_arena *arena)
{
    struct ll_llm llm;
    if (!read_config(m->config, arena, &llm, m->diags) || !(m->memo = ll_alloc(arena, 1, sizeof *m->memo)))
        return false;
    *m->memo = (struct ll_served_memo){.arena = arena};
    m->layers = llm.layer_count;
    m->period = 0;
    m->copies_heads = false;
    m->experts = 0;
    for (uint64_t i = 0; i < llm.layer_count; i++)
        m->experts = ll_max(m->experts, llm.layers[i].experts);
    for (uint64_t i = 0; i < llm.layer_count; i++)
        m->copies_heads |=
            llm.layers[i].mixer == LL_MIXER_ATTENTION && llm.layers[i].kv_heads < m->plan.tensor;
    /* From the last layer backwards as far as each is the one a period before it; a layer for each stage. */
    for (uint64_t period = 1; period <= llm.layer_count / 3 && m->period == 0; period++) {
        uint64_t first = llm.layer_count - period;
        while (first > 0 &&
               memcmp(&llm.layers[first - 1], &llm.layers[first - 1 + period], sizeof *llm.layers) == 0)
            first--;
        uint64_t base = first + period + (llm.layer_count - first) % period;
        if (base < m->plan.pipeline)
            base += ll_ceil_div(m->plan.pipeline - base, period) * period;
        if (base + 2 * period < llm.layer_count) {
            m->period = period;
            m->base = base;
        }
    }
    return true;
}

void ll_served_traces_release(struct ll_served_traces *t)
{
    for (uint64_t i = 0; i < t->count; i++)
        ll_trace_free(t->traces[i]);
    free(t->traces);
    ll_map_release(&t->keys);
    *t = (struct ll_served_traces){0};
}

/* Keeps the trace where models share traces; false: it is to be freed. */
static bool keep_trace(struct ll_served_traces *t, const struct ll_str *key, struct ll_trace *trace)
{
    enum { MOST_KEPT = 4096 };
    if (!t || key->failed || t->count == MOST_KEPT)
        return false;
    if (t->count == t->capacity) {
        const uint64_t capacity = ll_max(64, 2 * t->capacity);
        struct ll_trace **more = realloc(t->traces, capacity * sizeof *more);
        if (!more)
            return false;
        t->traces = more;
        t->capacity = capacity;
    }
    if (ll_map_intern(&t->keys, key->text, key->length, NULL) != t->count)
        return false;
    t->traces[t->count++] = trace;
    return true;
}

/* The trace of a form, on each rank, with so many layers (0: all); NULL after complaints. Where *kept it is
 * not to be freed. */
static const struct ll_trace *trace_of(struct ll_served_model *m, const struct ll_form *form, uint64_t layers,
                                       bool *kept)
{
    char batch[24], tokens[24], past[24], first[24], heads[24];
    struct ll_setting settings[10];
    struct ll_str key = {0};
    struct ll_trace *trace = NULL;
    struct ll_run_report report;
    struct ll_run_options options = {
        .dry_run = true, .steps = 1, .seed = 1, .settings = settings, .trace = &trace};
    snprintf(batch, sizeof batch, "%" PRIu64, form->count);
    snprintf(tokens, sizeof tokens, "%" PRIu64, form->tokens);
    snprintf(past, sizeof past, "%" PRIu64, form->past);
    snprintf(first, sizeof first, "%" PRIu64, layers);
    snprintf(heads, sizeof heads, "%" PRIu64, m->copies_heads ? m->plan.tensor : 0);
    const struct ll_setting all[] = {{"kv_heads", heads},     {"config", m->config},
                                     {"layers", first},       {"pass", form->decoding ? "decode" : "prefill"},
                                     {"batch", batch},        {"tokens", tokens},
                                     {"context", past},       {"dtype", m->dtype},
                                     {"weights", m->weights}, {"kv_dtype", m->kv_dtype}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (all[i].value) {
            settings[options.setting_count++] = all[i];
            if (m->traces)
                ll_str_addf(&key, "%s=%s\n", all[i].key, all[i].value);
        }
    const uint32_t known =
        m->traces && !key.failed ? ll_map_find(&m->traces->keys, key.text, key.length) : LL_NO_ID;
    *kept = known != LL_NO_ID;
    if (*kept)
        trace = m->traces->traces[known];
    else if (ll_model_run(ll_model_find("llm"), &options, &report, m->diags))
        *kept = keep_trace(m->traces, &key, trace);
    else
        trace = NULL;
    ll_str_release(&key);
    return trace;
}

static void done_with(const struct ll_trace *trace, bool kept)
{
    if (!kept)
        ll_trace_free((struct ll_trace *)(uintptr_t)trace);
}

/* The time of an op by a plain roofline. */
static double roofline_of(const struct ll_result *result, uint32_t op)
{
    const struct ll_prepared *prepared = result->prepared;
    return ll_work_roofline_s(result->machine, &prepared->works[prepared->trace->ops[op].signature]);
}

/* --- costs --- */

/* A form's costs and those of a roofline; its ops. */
struct both {
    struct ll_form_cost ours, roofline;
    uint64_t ops;
};

/* Ops that compute or move something. */
static uint64_t count_ops(const struct ll_trace *trace)
{
    uint64_t count = 0;
    for (uint64_t i = 0; i < trace->op_count; i++)
        count += trace->signatures[trace->ops[i].signature].view.kind != LL_OP_SEEN_AS;
    return count;
}

/* Shares of a replay's time: attention, and what stands in the scope of the head. */
static struct ll_form_cost share_out(const struct ll_result *result, double time_s, bool roofline)
{
    struct ll_form_cost cost = {.energy_j = result->energy_j};
    const struct ll_prepared *prepared = result->prepared;
    const struct ll_trace *trace = prepared->trace;
    double attention = 0, head = 0, all = 0;
    for (uint32_t i = prepared->first_op; i < prepared->end_op; i++) {
        const struct ll_op_signature *form = &trace->signatures[trace->ops[i].signature];
        const char *scope = trace->strings[form->scope];
        double op_s = roofline ? roofline_of(result, i) : result->ops[i - prepared->first_op].time_s;
        enum ll_op_kind kind = (enum ll_op_kind)form->view.kind;
        bool attends =
            kind == LL_OP_CAUSAL_ATTENTION || kind == LL_OP_LATENT_ATTENTION || kind == LL_OP_SPARSE_INDEX;
        all += op_s;
        attention += attends ? op_s : 0;
        head += !attends && strncmp(scope, "head", 4) == 0 ? op_s : 0;
    }
    if (!(all > 0))
        return cost;
    time_s = roofline ? all : time_s;
    cost.attention_s = time_s * attention / all;
    cost.head_s = time_s * head / all;
    cost.rest_s = fmax(0, time_s - cost.attention_s - cost.head_s);
    return cost;
}

static bool is_alone(const struct ll_parallel *plan)
{
    return plan->data * plan->tensor * plan->pipeline == 1;
}

/* The load of experts into all programs. */
static bool put_load(const struct ll_served_model *m, struct ll_spread *spread, struct ll_arena *arena)
{
    bool done = true;
    for (uint32_t i = 0; done && i < spread->program_count; i++) {
        struct ll_device_program *program = &spread->programs[i];
        program->prepared = ll_expert_load_put(program->prepared, &m->load, m->experts, arena);
        done = program->prepared;
    }
    return done;
}

/* With this plan. bound_s: seconds by what bounds the form; NULL: nobody asks. */
static bool cost_with(struct ll_served_model *m, const struct ll_parallel *plan, const struct ll_form *form,
                      uint64_t layers, struct both *cost, double *bound_s)
{
    bool kept, done = false;
    const struct ll_trace *trace = trace_of(m, form, layers, &kept);
    struct ll_arena arena = {0};
    struct ll_spread *spread = NULL;
    if (trace && is_alone(plan)) {
        const struct ll_prepared *even = ll_prepare(trace, &arena, m->diags),
                                 *prepared =
                                     even ? ll_expert_load_put(even, &m->load, m->experts, &arena) : NULL;
        const struct ll_result *result =
            prepared ? ll_replay_remembering(prepared, m->machine, &m->remembered, &arena, m->diags) : NULL;
        if ((done = result != NULL)) {
            cost->ops = count_ops(trace);
            cost->ours = share_out(result, result->time_s, false);
            cost->roofline = share_out(result, result->time_s, true);
            for (int i = 0; bound_s && i < LL_BOUND_COUNT; i++)
                bound_s[i] = result->time_s * result->shares[i];
        }
    } else if (trace) {
        spread = ll_spread_trace(trace, plan, ll_machine_devices(m->machine), m->diags);
        const struct ll_parallel_result *result =
            spread && put_load(m, spread, &arena)
                ? ll_parallel_run(spread, m->machine, &m->remembered, &arena, m->diags)
                : NULL;
        if ((done = result != NULL)) {
            cost->ops = count_ops(trace);
            cost->ours = share_out(result->result, result->step_s, false);
            cost->roofline = share_out(result->result, result->step_s, true);
            cost->ours.energy_j = cost->roofline.energy_j = result->energy_j;
            for (int i = 0; bound_s && i < LL_BOUND_COUNT; i++)
                bound_s[i] = result->step_s * result->result->shares[i];
        }
    }
    ll_spread_free(spread);
    ll_arena_release(&arena);
    done_with(trace, kept);
    return done;
}

/* All layers on the devices of one stage: stages compute one after another what it does. */
static struct ll_parallel plan_of_stage(const struct ll_served_model *m)
{
    struct ll_parallel plan = m->plan;
    plan.pipeline = 1;
    return plan;
}

/* Adds the messages between stages: what a pipeline takes longer than one stage with the same layers, of
 * which `one` is the cost. */
static bool add_messages(struct ll_served_model *m, const struct ll_form *form, const struct both *one,
                         struct both *cost)
{
    struct both all = {0};
    if (m->plan.pipeline == 1)
        return true;
    if (!cost_with(m, &m->plan, form, m->period > 0 ? m->base : 0, &all, NULL))
        return false;
    cost->ours.rest_s += fmax(0, all.ours.attention_s + all.ours.head_s + all.ours.rest_s -
                                     one->ours.attention_s - one->ours.head_s - one->ours.rest_s);
    return true;
}

/* Adds layers of which the model has so many more than `cost`, by what one period of them takes; without
 * periods the trace has all. A guess ahead is made by a layer like the last. */
static void complete(const struct ll_served_model *m, struct ll_form_cost *cost,
                     const struct ll_form_cost *more)
{
    if (m->period == 0) {
        cost->layer_s = (cost->attention_s + cost->rest_s) / (double)m->layers;
        return;
    }
    const double periods = (double)(m->layers - m->base) / (double)m->period;
    const double attention_s = more->attention_s - cost->attention_s, rest_s = more->rest_s - cost->rest_s;
    cost->layer_s = fmax(0, attention_s + rest_s) / (double)m->period;
    cost->attention_s += periods * attention_s;
    cost->rest_s += periods * rest_s;
    cost->head_s += periods * (more->head_s - cost->head_s);
    cost->energy_j += periods * (more->energy_j - cost->energy_j);
}

static const struct known_form *costed(struct ll_served_model *m, const struct ll_form *form)
{
    struct known_form *known = recall(m->memo, form);
    struct both cost, more = {0};
    if (!known || known->costed != NOT_ASKED)
        return known && known->costed == GOOD ? known : NULL;
    known->costed = BAD;
    const struct ll_parallel stage = plan_of_stage(m);
    if (!cost_with(m, &stage, form, m->period > 0 ? m->base : 0, &cost, NULL) ||
        (m->period > 0 && !cost_with(m, &stage, form, m->base + m->period, &more, NULL)))
        return NULL;
    const struct both one = cost;
    complete(m, &cost.ours, &more.ours);
    complete(m, &cost.roofline, &more.roofline);
    if (!add_messages(m, form, &one, &cost))
        return NULL;
    known->ours = cost.ours;
    known->roofline = cost.roofline;
    known->ops =
        m->period == 0 ? cost.ops : cost.ops + (m->layers - m->base) / m->period * (more.ops - cost.ops);
    known->costed = GOOD;
    return known;
}

bool ll_served_form(void *context, const struct ll_form *form, struct ll_form_cost *cost)
{
    const struct known_form *known = costed(context, form);
    if (known)
        *cost = known->ours;
    return known != NULL;
}

bool ll_served_roofline(void *context, const struct ll_form *form, struct ll_form_cost *cost)
{
    const struct known_form *known = costed(context, form);
    if (known)
        *cost = known->roofline;
    return known != NULL;
}

bool ll_served_ops(struct ll_served_model *m, uint64_t *count)
{
    enum { SOME_TOKENS = 64 };
    const struct known_form *known = costed(m, &(struct ll_form){false, 1, SOME_TOKENS, 0});
    *count = known ? known->ops : 0;
    return known != NULL;
}

bool ll_served_bounds(struct ll_served_model *m, const struct ll_form *form,
                      double shares[static LL_BOUND_COUNT])
{
    struct both cost;
    double more[LL_BOUND_COUNT], sum = 0;
    const struct ll_parallel stage = plan_of_stage(m);
    if (!cost_with(m, &stage, form, m->period > 0 ? m->base : 0, &cost, shares) ||
        (m->period > 0 && !cost_with(m, &stage, form, m->base + m->period, &cost, more)))
        return false;
    for (int i = 0; i < LL_BOUND_COUNT; i++) {
        if (m->period > 0)
            shares[i] += (double)(m->layers - m->base) / (double)m->period * fmax(0, more[i] - shares[i]);
        sum += shares[i];
    }
    for (int i = 0; sum > 0 && i < LL_BOUND_COUNT; i++)
        shares[i] /= sum;
    return true;
}

/* --- memory --- */

static struct held held_of(const struct ll_trace *trace, const struct ll_footprint *footprint)
{
    struct held h = {.peak = (double)footprint->peak_bytes};
    for (uint64_t i = 0; i < trace->tensor_count; i++) {
        const struct ll_tensor_desc *desc = &trace->descs[trace->tensors[i].desc];
        if (trace->tensors[i].producer != LL_NONE)
            continue;
        double bytes = (double)ll_size_bytes(&desc->shape);
        if (desc->memory == LL_WEIGHT)
            h.weights += bytes;
        else if (desc->memory == LL_ACTIVATION)
            h.kept += bytes;
    }
    return h;
}

/* Of the fullest program of the plan. */
static bool hold(struct ll_served_model *m, const struct ll_form *form, struct held *held)
{
    bool kept, done = false;
    const struct ll_trace *trace = trace_of(m, form, 0, &kept);
    struct ll_arena arena = {0};
    struct ll_spread *spread = NULL;
    double kept_all = 0;
    *held = (struct held){0};
    if (trace && is_alone(&m->plan)) {
        const struct ll_prepared *prepared = ll_prepare(trace, &arena, m->diags);
        if ((done = prepared != NULL)) {
            *held = held_of(trace, &prepared->footprint);
            kept_all = held->kept;
        }
    } else if (trace &&
               (spread = ll_spread_trace(trace, &m->plan, ll_machine_devices(m->machine), m->diags))) {
        done = true;
        for (uint32_t i = 0; i < spread->vstage_count; i++) {
            const struct ll_device_program *program = &spread->programs[spread->program_of[i]];
            struct held h = held_of(program->trace, &program->prepared->footprint);
            kept_all += h.kept * (double)m->plan.tensor;
            if (h.peak > held->peak)
                *held = h;
        }
    }
    held->kept_all = kept_all;
    ll_spread_free(spread);
    ll_arena_release(&arena);
    done_with(trace, kept);
    return done;
}

static bool held_by(struct ll_served_model *m, const struct ll_form *form, struct held *held)
{
    struct known_form *known = recall(m->memo, form);
    if (!known)
        return false;
    if (known->held_is == NOT_ASKED)
        known->held_is = hold(m, form, &known->held) ? GOOD : BAD;
    *held = known->held;
    return known->held_is == GOOD;
}

bool ll_served_memory(struct ll_served_model *m, const struct ll_server *server, uint64_t tokens,
                      uint64_t length, struct ll_served_memory *memory)
{
    const struct ll_form prompt = {false, 1, tokens, 0}, decode = {true, 1, 1, length - 1};
    const double all = (double)m->machine->levels[m->machine->level_count - 1].size_bytes;
    struct held of_prompt, of_decode;
    assert(length > 1);
    if (!held_by(m, &prompt, &of_prompt) || !held_by(m, &decode, &of_decode))
        return false;
    *memory =
        (struct ll_served_memory){.weights = of_prompt.weights,
                                  .activations = fmax(0, of_prompt.peak - of_prompt.weights - of_prompt.kept),
                                  .context = server->context_bytes,
                                  .kv_token = of_decode.kept / (double)length,
                                  .kv_all = of_decode.kept_all / (double)length};
    double taken = memory->weights + memory->activations + memory->context;
    memory->left =
        server->share_of_rest ? (all - taken) * server->memory_share : all * server->memory_share - taken;
    return true;
}

/* --- the least that a step takes --- */

/* A share of the model: what its first layers ask for. */
struct asked {
    double flops_s, read_bytes;
};

static bool is_weight(const struct ll_trace *trace, uint32_t op, uint32_t input)
{
    return trace->descs[trace->tensors[ll_op_input(trace, op, input)].desc].memory == LL_WEIGHT;
}

/* Of GEMMs alone, whose weights are read from memory at least once: no kernel is faster than its arithmetic
 * at the peak of its type, and none reads less. */
static bool ask_for(struct ll_served_model *m, const struct ll_form *form, uint64_t layers,
                    struct asked *asked)
{
    bool kept;
    const struct ll_trace *trace = trace_of(m, form, layers, &kept);
    *asked = (struct asked){0};
    for (uint32_t i = 0; trace && i < trace->op_count; i++) {
        const struct ll_op_view *view = &trace->signatures[trace->ops[i].signature].view;
        struct ll_work work;
        if (view->kind == LL_OP_NONE || !ll_op_lower(view, &work) ||
            (work.kind != LL_WORK_GEMM && work.kind != LL_WORK_EXPERTS))
            continue;
        const bool reads =
            view->kind == LL_OP_EXPERTS || (view->kind == LL_OP_MATMUL && is_weight(trace, i, 1));
        asked->read_bytes += reads ? (double)work.b_bytes : 0;
        work.a_bytes = work.b_bytes = work.c_bytes = 0;
        asked->flops_s += ll_work_roofline_s(m->machine, &work);
    }
    done_with(trace, kept);
    return trace != NULL;
}

/* Of all layers, by a period of them where the model repeats. */
static bool ask_for_all(struct ll_served_model *m, const struct ll_form *form, struct asked *asked)
{
    struct asked more;
    if (m->period == 0)
        return ask_for(m, form, 0, asked);
    if (!ask_for(m, form, m->base, asked) || !ask_for(m, form, m->base + m->period, &more))
        return false;
    const double periods = (double)(m->layers - m->base) / (double)m->period;
    asked->flops_s += periods * (more.flops_s - asked->flops_s);
    asked->read_bytes += periods * (more.read_bytes - asked->read_bytes);
    return true;
}

bool ll_served_floor(struct ll_served_model *m, struct ll_served_floor *least)
{
    enum { PROMPT = 64 };
    struct asked token, prompt;
    const struct ll_machine *machine = m->machine;
    const uint64_t outermost = machine->level_count - 1;
    if (!ask_for_all(m, &(struct ll_form){true, 1, 1, 1}, &token) ||
        !ask_for_all(m, &(struct ll_form){false, 1, PROMPT, 0}, &prompt))
        return false;
    const struct ll_work a_GB = {.kind = LL_WORK_MOVE, .b_bytes = 1000000000};
    *least = (struct ll_served_floor){.token_s = token.flops_s,
                                      .prompt_token_s = fmin(token.flops_s, prompt.flops_s / PROMPT),
                                      .read_bytes = token.read_bytes,
                                      .read_Bps = (double)a_GB.b_bytes / ll_work_roofline_s(machine, &a_GB)};
    for (uint64_t l = 0; l < outermost; l++)
        least->kept_bytes += (double)machine->levels[l].size_bytes * (double)ll_machine_instances(machine, l);
    return true;
}

/* --- formats --- */

/* A format of weights by the name that --quantization has for it, and the type of its arithmetic. */
struct format {
    const char *name;
    unsigned linear; /* as struct ll_llm_formats */
    enum ll_expert_format expert;
    enum ll_dtype dtype;
    unsigned bits;
};

/* The first four are also what weights of 16 bits are quantized into: fp8 by vLLM and SGLang while they load
 * (docs/features/quantization/fp8.md), nvfp4 and int4 in published checkpoints (ModelOpt; AWQ, GPTQ). */
static const struct format formats[] = {
    {"bf16", 0, LL_EXPERTS_BF16, LL_BF16, 16},
    {"fp8", 1 + LL_LINEAR_FP8, LL_EXPERTS_FP8, LL_F8, 8},
    {"nvfp4", 1 + LL_LINEAR_NVFP4, LL_EXPERTS_NVFP4, LL_F4, 4},
    {"int4", 1 + LL_LINEAR_INT4_WO, LL_EXPERTS_INT4_WO, LL_BF16, 4},
    {"fp8_block", 1 + LL_LINEAR_FP8_BLOCK, LL_EXPERTS_FP8_BLOCK, LL_F8, 8},
    {"int8", 1 + LL_LINEAR_INT8, LL_EXPERTS_FP8, LL_INT8, 8},
    {"mxfp4_experts", 0, LL_EXPERTS_W4A16_MXFP4, LL_BF16, 4}};
enum { QUANTIZED_INTO = 4 };

size_t ll_served_formats(const char *config, const struct ll_machine *machine,
                         const char *names[static LL_MOST_SERVED_FORMATS], struct ll_diags *diags)
{
    struct ll_arena arena = {0};
    struct ll_llm llm;
    const struct format *own = NULL;
    size_t count = 0;
    const bool known = read_config(config, &arena, &llm, diags);
    for (size_t i = 0; known && i < sizeof formats / sizeof *formats && !own; i++)
        if (formats[i].linear == llm.formats.linear && formats[i].expert == llm.formats.expert)
            own = &formats[i];
    ll_arena_release(&arena);
    if (!known)
        return 0;
    names[count++] = own ? own->name : "auto";
    /* A checkpoint of 8 bits is not quantized to integers once more. */
    for (size_t i = 0; own && i < QUANTIZED_INTO; i++)
        if (formats[i].bits < own->bits && (own->bits == 16 || formats[i].dtype != LL_BF16) &&
            ll_machine_peak_flops(machine, formats[i].dtype) > 0)
            names[count++] = formats[i].name;
    return count;
}

/* --- names --- */

/* Letters and digits of a name behind its last slash, in lower case. */
static void bare(const char *name, char text[static 128])
{
    const char *slash = strrchr(name, '/');
    size_t length = 0;
    for (const char *c = slash ? slash + 1 : name; *c && length < 127; c++)
        if (isalnum((unsigned char)*c))
            text[length++] = (char)tolower((unsigned char)*c);
    text[length] = '\0';
}

const char *ll_served_config(const char *name)
{
    static const char *const endings[] = {"",     "instruct", "it",    "chat", "base", "hf",  "fp8",
                                          "fp4",  "nvfp4",    "mxfp4", "bf16", "v01",  "16e", "2507",
                                          "0324", "0528",     "awq",   "8k",   "v2",   "gptq"};
    char wanted[128], known[128];
    const char *best = NULL;
    size_t best_length = 0;
    if (ll_llm_known(name) || access(name, R_OK) == 0)
        return name;
    bare(name, wanted);
    const char *begin = strncmp(wanted, "meta", 4) == 0 ? wanted + 4 : wanted;
    for (size_t i = 0; i < ll_llm_known_count(); i++) {
        bare(ll_llm_known_name(i), known);
        size_t length = strlen(known);
        if (strncmp(begin, known, length) != 0 || length <= best_length)
            continue;
        const char *rest = begin + length;
        for (bool found = true; *rest && found;) {
            found = false;
            for (size_t e = 1; e < sizeof endings / sizeof *endings && !found; e++)
                if ((found = strncmp(rest, endings[e], strlen(endings[e])) == 0))
                    rest += strlen(endings[e]);
        }
        if (*rest == '\0') {
            best = ll_llm_known_name(i);
            best_length = length;
        }
    }
    return best;
}
