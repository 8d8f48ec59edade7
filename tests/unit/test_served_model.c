/* SPDX-License-Identifier: Apache-2.0 */
/* What a step of a server costs, put together from forms, beside a replay of the very batch; percentiles
 * beside sorted values; names of models; rules of schedulers, by hand. */
#include "check.h"
#include "shipped_machine.h"

#include "models/model.h"
#include "sim/cli/served_model.h"
#include "sim/serve/quantiles.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The time of a batch that decodes, with these contexts, by a replay of its own trace. */
static double exact_s(const struct ll_machine *machine, const char *config, const char *contexts,
                      const char *count)
{
    const struct ll_setting settings[] = {
        {"config", config}, {"pass", "decode"}, {"batch", count}, {"context", contexts}};
    struct ll_trace *trace = NULL;
    struct ll_run_report report;
    struct ll_diags *diags = calloc(1, sizeof *diags);
    struct ll_arena arena = {0};
    const struct ll_run_options options = {.dry_run = true,
                                           .steps = 1,
                                           .seed = 1,
                                           .settings = settings,
                                           .setting_count = sizeof settings / sizeof *settings,
                                           .trace = &trace};
    assert_non_null(diags);
    assert_true(ll_model_run(ll_model_find("llm"), &options, &report, diags));
    const struct ll_prepared *prepared = ll_prepare(trace, &arena, diags);
    const struct ll_result *result = ll_replay(prepared, machine, &arena, diags);
    assert_non_null(result);
    double time_s = result->time_s;
    ll_arena_release(&arena);
    ll_trace_free(trace);
    ll_diags_release(diags);
    free(diags);
    return time_s;
}

/* Sequences that decode, each as long as any other: only the grid is between the two. */
static void test_steps_are_as_replays_have_them(void **state)
{
    (void)state;
    static const char *const machines[] = {"h100_sxm+vllm", "rtx_4090+vllm"};
    static const struct {
        uint64_t count, context;
    } batches[] = {{8, 777}, {24, 1500}, {64, 333}, {128, 2100}, {200, 901}};
    for (size_t m = 0; m < sizeof machines / sizeof *machines; m++) {
        struct ll_machine *machine = ll_shipped_machine(machines[m]);
        struct ll_diags *diags = calloc(1, sizeof *diags);
        struct ll_arena arena = {0};
        struct ll_served_model model = {.config = "llama3.1-8b", .machine = machine, .diags = diags};
        assert_non_null(diags);
        model.plan = ll_plan_of_one();
        assert_true(ll_served_look(&model, &arena));
        assert_true(model.period == 1 && model.layers == 32);
        struct ll_step_costs *costs = ll_step_costs_make(512, ll_served_form, &model, &arena);
        for (size_t b = 0; b < sizeof batches / sizeof *batches; b++) {
            char count[24], context[24];
            const struct ll_server_step step = {.sequences = batches[b].count,
                                                .each = 1,
                                                .context = batches[b].count * batches[b].context,
                                                .asked = batches[b].count};
            snprintf(count, sizeof count, "%d", (int)batches[b].count);
            snprintf(context, sizeof context, "%d", (int)batches[b].context);
            double exact = exact_s(machine, "llama3.1-8b", context, count),
                   binned = ll_step_cost(costs, &step, 1).time_s;
            if (fabs(binned / exact - 1) > 0.01)
                fail_msg("%s: %s sequences at %s: %.6g s, replayed %.6g s", machines[m], count, context,
                         binned, exact);
        }
        ll_step_costs_release(costs);
        ll_served_release(&model);
        ll_arena_release(&arena);
        ll_diags_release(diags);
        free(diags);
        ll_machine_free(machine);
    }
}

/* ai-dynamo/aiconfigurator's README: Qwen3-32B in FP8 on H200 with TensorRT-LLM. A prompt's last 3,500 of
 * 4,000 tokens take 164 ms on two devices (295.7 ms to the first token over its factor of 1.8), a step of 68
 * sequences 9.97 ms on four. */
static void test_steps_of_a_published_deployment(void **state)
{
    (void)state;
    static const struct {
        struct ll_form form;
        uint64_t tensor;
        double time_s;
    } steps[] = {{{false, 1, 3500, 500}, 2, 0.164}, {{true, 68, 1, 4250}, 4, 9.97e-3}};
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        struct ll_machine *machine = ll_shipped_machine("dgx_h200+trtllm");
        struct ll_diags *diags = calloc(1, sizeof *diags);
        struct ll_arena arena = {0};
        struct ll_form_cost cost;
        machine->software.serves = true;
        struct ll_served_model model = {
            .config = "qwen3-32b", .weights = "fp8", .kv_dtype = "fp8", .machine = machine, .diags = diags};
        assert_non_null(diags);
        model.plan = ll_plan_of_one();
        model.plan.tensor = steps[i].tensor;
        assert_true(ll_served_look(&model, &arena));
        assert_true(ll_served_form(&model, &steps[i].form, &cost));
        double time_s = cost.attention_s + cost.head_s + cost.rest_s;
        if (fabs(time_s / steps[i].time_s - 1) > 0.2)
            fail_msg("step %zu: %.4g s, published %.4g s", i, time_s, steps[i].time_s);
        ll_served_release(&model);
        ll_arena_release(&arena);
        ll_diags_release(diags);
        free(diags);
        ll_machine_free(machine);
    }
}

static int by_size(const void *a, const void *b)
{
    const double *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

/* More values than are kept: within 0.01 % of those of the sorted values, the mean exact. */
static void test_percentiles_of_many_values(void **state)
{
    (void)state;
    enum { COUNT = 200000 };
    double *values = malloc(COUNT * sizeof *values), sum = 0;
    struct ll_arena arena = {0};
    struct ll_quantiles *q = ll_quantiles_make(&arena);
    assert_non_null(values);
    assert_non_null(q);
    for (int i = 0; i < COUNT; i++) {
        values[i] = 1e-3 * exp(6 * sin(i));
        sum += values[i];
        ll_quantiles_add(q, values[i], 1);
        if (i == 999) { /* few: as they are */
            double sorted[1000];
            memcpy(sorted, values, sizeof sorted);
            qsort(sorted, 1000, sizeof *sorted, by_size);
            assert_true(ll_quantiles_at(q, 0.5) == (sorted[499] + sorted[500]) / 2);
            assert_true(ll_quantiles_at(q, 1) == sorted[999]);
        }
    }
    qsort(values, COUNT, sizeof *values, by_size);
    for (double share = 0; share <= 1; share += 0.125) {
        double exact = values[(size_t)(share * (COUNT - 1))];
        assert_true(fabs(ll_quantiles_at(q, share) / exact - 1) < 2e-4);
    }
    assert_true(fabs(ll_quantiles_mean(q) / (sum / COUNT) - 1) < 1e-12);
    ll_arena_release(&arena);
    free(values);
}

static void test_names_of_models(void **state)
{
    (void)state;
    static const char *const names[][2] = {{"meta-llama/Llama-3.1-8B-Instruct", "llama3.1-8b"},
                                           {"meta-llama/Llama-3.1-70B", "llama3.1-70b"},
                                           {"Qwen/Qwen3-32B", "qwen3-32b"},
                                           {"Qwen/Qwen3-235B-A22B-FP8", "qwen3-235b-a22b"},
                                           {"openai/gpt-oss-120b", "gpt-oss-120b"},
                                           {"deepseek-ai/DeepSeek-R1", "deepseek-r1"},
                                           {"nvidia/DeepSeek-R1-NVFP4", "deepseek-r1"},
                                           {"mistralai/Mixtral-8x7B-v0.1", "mixtral-8x7b"},
                                           {"Qwen/Qwen3-3", NULL},
                                           {"nobody/knows-7b", NULL}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *config = ll_served_config(names[i][0]);
        if (!config != !names[i][1] || (config && strcmp(config, names[i][1]) != 0))
            fail_msg("%s: %s", names[i][0], config ? config : "none");
    }
}

static struct ll_step_cost second(void *context, const struct ll_server_step *steps, uint64_t ranks)
{
    (void)context, (void)steps, (void)ranks;
    return (struct ll_step_cost){1, NAN};
}

/* Steps of a second. Two prompts of 10 tokens that make 10, blocks of one token. With 19 the second waits
 * until the first has ended; with 25 both enter and one has to go; with 40 nobody does (section 0 of vLLM's
 * rule: the whole known sequence must fit in free blocks). */
static void test_more_memory_may_preempt(void **state)
{
    (void)state;
    static const struct {
        uint64_t tokens, preemptions;
    } caches[] = {{19, 0}, {25, 1}, {40, 0}};
    for (size_t i = 0; i < sizeof caches / sizeof *caches; i++) {
        const struct ll_request requests[] = {{.input = 10, .output = 10}, {.input = 10, .output = 10}};
        const struct ll_load load = {.listed = requests, .count = 2, .seed = 1};
        const struct ll_serve_limits limits = {INFINITY, INFINITY, INFINITY};
        const struct ll_serve_watch watch = {0};
        struct ll_deployment deployment = {
            .whole = {.instances = 1,
                      .ranks = 1,
                      .stages = 1,
                      .devices = 1,
                      .kv_tokens = caches[i].tokens,
                      .engine = {.chunks = true, .most_sequences = 8, .most_tokens = 100, .block = 1},
                      .cost = second}};
        struct ll_arena arena = {0};
        const char *trouble;
        const struct ll_serving *r = ll_serve(&deployment, &load, &limits, &watch, &arena, &trouble);
        assert_non_null(r);
        if ((r->preemptions > 0) != (caches[i].preemptions > 0))
            fail_msg("%d tokens: %d preemptions", (int)caches[i].tokens, (int)r->preemptions);
        assert_true(r->output_tokens == 20);
        ll_arena_release(&arena);
    }
}

/* What plans refuse without costing: no step with one token is faster than the least that it takes, on one
 * device or shared by several, whatever the format; nor is a prompt. */
static void test_no_step_is_faster_than_the_least(void **state)
{
    (void)state;
    static const struct {
        const char *machine, *config, *weights;
        uint64_t tensor;
    } cases[] = {{"h100_sxm+vllm", "llama3.1-8b", NULL, 1},     {"dgx_h100+vllm", "llama3.1-8b", "fp8", 4},
                 {"rtx_4090+vllm", "qwen3-8b", "int4", 1},      {"dgx_b200+trtllm", "qwen3-32b", "nvfp4", 2},
                 {"h200_sxm+sglang", "qwen3-30b-a3b", NULL, 1}, {"h100_sxm", "gpt-oss-20b", NULL, 1}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct ll_machine *machine = ll_shipped_machine(cases[i].machine);
        struct ll_diags *diags = calloc(1, sizeof *diags);
        struct ll_arena arena = {0};
        struct ll_served_model model = {
            .config = cases[i].config, .weights = cases[i].weights, .machine = machine, .diags = diags};
        struct ll_served_floor least;
        struct ll_form_cost decode, prompt;
        assert_non_null(diags);
        model.plan = ll_plan_of_one();
        assert_true(ll_served_look(&model, &arena) && ll_served_floor(&model, &least));
        ll_served_release(&model);
        model.plan.tensor = cases[i].tensor;
        assert_true(ll_served_look(&model, &arena));
        assert_true(ll_served_form(&model, &(struct ll_form){true, 1, 1, 16}, &decode));
        assert_true(ll_served_form(&model, &(struct ll_form){false, 1, 1000, 0}, &prompt));
        const double devices = (double)cases[i].tensor,
                     read_s =
                         fmax(0, least.read_bytes - devices * least.kept_bytes) / least.read_Bps / devices;
        const double decode_s = decode.attention_s + decode.head_s + decode.rest_s,
                     prompt_s = prompt.attention_s + prompt.head_s + prompt.rest_s;
        assert_true(least.token_s > 0 && least.read_bytes > 1e9);
        if (decode_s < fmax(read_s, least.token_s / devices) ||
            prompt_s < 1000 * least.prompt_token_s / devices)
            fail_msg("%s on %s: a token takes %.3g s, at the least %.3g; a prompt %.3g, at the least %.3g",
                     cases[i].config, cases[i].machine, decode_s, fmax(read_s, least.token_s / devices),
                     prompt_s, 1000 * least.prompt_token_s / devices);
        ll_served_release(&model);
        ll_arena_release(&arena);
        ll_machine_free(machine);
        ll_diags_release(diags);
        free(diags);
    }
}

/* Rows of one device that has all experts are those of all tokens, however they spread; of four devices the
 * hottest has what the shares of its block say, and no less than the mean. */
static void test_rows_of_uneven_experts(void **state)
{
    (void)state;
    enum { TOKENS = 600, CHOSEN = 8, EXPERTS = 128, DEVICES = 4 }; /* of Qwen3-30B-A3B */
    static const struct ll_setting settings[] = {
        {"config", "qwen3-30b-a3b"}, {"layers", "1"}, {"tokens", "600"}};
    const struct ll_run_options options = {.dry_run = true,
                                           .steps = 1,
                                           .seed = 1,
                                           .settings = settings,
                                           .setting_count = sizeof settings / sizeof *settings};
    struct ll_diags *diags = calloc(1, sizeof *diags);
    assert_non_null(diags);
    for (uint64_t hot = 0; hot < EXPERTS; hot += 31) {
        struct ll_trace *trace = NULL;
        struct ll_run_options run = options;
        struct ll_run_report report;
        struct ll_arena arena = {0};
        double shares[EXPERTS], block = 0;
        run.trace = &trace;
        assert_true(ll_model_run(ll_model_find("llm"), &run, &report, diags));
        /* The hot expert has ten times as many as another: 10 / 137 of all rows, below one a token. */
        for (uint64_t i = 0; i < EXPERTS; i++)
            shares[i] = (i == hot ? 10. : 1.) / (EXPERTS + 9);
        for (uint64_t i = 0; i < EXPERTS / DEVICES; i++)
            block += shares[hot / (EXPERTS / DEVICES) * (EXPERTS / DEVICES) + i];
        const struct ll_expert_load load = {.shares = shares, .count = EXPERTS};
        for (uint64_t devices = 1; devices <= DEVICES; devices += DEVICES - 1) {
            struct ll_parallel plan = ll_plan_of_one();
            plan.data = plan.expert = devices;
            plan.batch = devices;
            struct ll_spread *spread = ll_spread_trace(trace, &plan, devices, diags);
            assert_non_null(spread);
            const struct ll_prepared *prepared =
                ll_expert_load_put(spread->programs[0].prepared, &load, EXPERTS, &arena);
            assert_non_null(prepared);
            uint64_t layers = 0;
            for (uint64_t i = 0; i < prepared->trace->signature_count; i++) {
                const struct ll_experts *e = &prepared->works[i].experts;
                if (prepared->works[i].kind != LL_WORK_EXPERTS)
                    continue;
                const double all = (double)TOKENS * CHOSEN * (double)devices;
                layers++;
                if (devices == 1)
                    assert_true(e->rows == TOKENS * CHOSEN && e->touched == EXPERTS);
                else
                    assert_true(fabs((double)e->rows - all * block) <= 1 && (double)e->rows > all / DEVICES);
                assert_true(e->local == EXPERTS / devices);
            }
            assert_true(layers == 1);
            ll_spread_free(spread);
        }
        ll_arena_release(&arena);
        ll_trace_free(trace);
    }
    ll_diags_release(diags);
    free(diags);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_steps_of_a_published_deployment),
        cmocka_unit_test(test_steps_are_as_replays_have_them),
        cmocka_unit_test(test_percentiles_of_many_values),
        cmocka_unit_test(test_names_of_models),
        cmocka_unit_test(test_rows_of_uneven_experts),
        cmocka_unit_test(test_no_step_is_faster_than_the_least),
        cmocka_unit_test(test_more_memory_may_preempt),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
