/* SPDX-License-Identifier: Apache-2.0 */
/* Workloads: finding one by its name, reading the parameters that users set, measuring its size, and the life
 * of a run (settings, network, trace, steps, scores). */
#include "models/model.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "models/llm/config.h"
#include "models/nn/blas.h"
#include "models/nn/nn.h"
#include "models/nn/runner.h"
#include "tracer/base/diag.h"
#include "tracer/base/map.h"
#include "tracer/base/pool.h"
#include "tracer/base/str.h"
#include "tracer/record/elf.h"
#include "tracer/record/host.h"
#include "tracer/transform/dtype.h"

#define LL_MODEL(name) extern const struct ll_model ll_model_##name;
#include "models/models.def"
#undef LL_MODEL

static const struct ll_model *const models[] = {
#define LL_MODEL(name) &ll_model_##name,
#include "models/models.def"
#undef LL_MODEL
};

/* Common names of models that keep the name of the suite they are from. */
static const char *const aliases[][2] = {
    {"resnet34", "residual"}, {"vae", "autoenc"},     {"dqn", "deepq"},   {"vgg19", "vgg"},
    {"memn2n", "memnet"},     {"resnet50", "resnet"}, {"mixtral", "moe"},
};

/* Names of version 0.1, read until 0.3: what they are called now. */
static const char *const renamed_models[][2] = {{"mixture", "moe"}};
static const char *const renamed_params[][2] = {
    {"inner", "ffn_hidden"},
    {"filter", "ffn_hidden"},
    {"key_heads", "kv_heads"},
    {"choices", "top_k"},
    {"words", "tokens"},
    {"letters", "task_vocabulary"},
    {"vocab", "vocabulary"},
    {"source_words", "source_vocabulary"},
    {"target_words", "target_vocabulary"},
};

/* What the name stands for in a table of pairs, NULL when it is not there. */
static const char *look_up(const char *const (*pairs)[2], size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(pairs[i][0], name) == 0)
            return pairs[i][1];
    return NULL;
}
#define LOOK_UP(pairs, name) look_up(pairs, sizeof(pairs) / sizeof *(pairs), name)

size_t ll_model_count(void)
{
    return sizeof models / sizeof *models;
}

const struct ll_model *ll_model_at(size_t i)
{
    assert(i < ll_model_count());
    return models[i];
}

const char *ll_model_renamed(const char *name)
{
    return LOOK_UP(renamed_models, name);
}

const struct ll_model *ll_model_find(const char *name)
{
    const char *now = ll_model_renamed(name), *common = LOOK_UP(aliases, name);
    name = now ? now : common ? common : name;
    for (size_t i = 0; i < ll_model_count(); i++)
        if (strcmp(models[i]->name, name) == 0)
            return models[i];
    return NULL;
}

static const char *const presets[][3] = {{"gpt2", "gpt", "gpt2"},
                                         {"gpt2-medium", "gpt", "gpt2-medium"},
                                         {"gpt2-large", "gpt", "gpt2-large"},
                                         {"gpt2-xl", "gpt", "gpt2-xl"},
                                         {"mixtral-8x22b", "moe", "mixtral-8x22b"},
                                         {"llama2-70b", "llama", "llama2-70b"}};

const struct ll_model *ll_model_named(const char *name, struct ll_setting *setting)
{
    const struct ll_model *model = ll_model_find(name);
    if (model)
        return model;
    for (size_t i = 0; i < sizeof presets / sizeof *presets; i++)
        if (strcmp(presets[i][0], name) == 0) {
            *setting = (struct ll_setting){"preset", presets[i][2]};
            return ll_model_find(presets[i][1]);
        }
    if (!ll_llm_known(name))
        return NULL;
    *setting = (struct ll_setting){"config", name};
    return ll_model_find("llm");
}

const char *ll_model_nearest(const char *name)
{
    const char *names[sizeof models / sizeof *models];
    for (size_t i = 0; i < ll_model_count(); i++)
        names[i] = models[i]->name;
    return ll_nearest(name, names, ll_model_count());
}

void ll_scores_add(struct ll_scores *scores, struct ll_score score)
{
    assert(scores->count < LL_MOST_SCORES);
    scores->at[scores->count++] = score;
}

static size_t find_param(const struct ll_model *model, const char *key)
{
    size_t i = 0;
    while (i < model->param_count && strcmp(model->params[i].name, key) != 0)
        i++;
    return i;
}

/* Complains about a key that the model does not have, with the nearest one that it has. */
static bool unknown_key(const struct ll_model *model, const char *key, struct ll_diags *diags)
{
    struct ll_arena arena = {0};
    const char **keys = ll_alloc(&arena, model->param_count, sizeof(const char *));
    const char *near = NULL;
    for (size_t i = 0; keys && i < model->param_count; i++)
        keys[i] = model->params[i].name;
    if (keys)
        near = ll_nearest(key, keys, model->param_count);
    if (near)
        ll_complain(diags, (struct ll_place){0}, "%s has no parameter `%s`; did you mean `%s`?", model->name,
                    key, near);
    else
        ll_complain(diags, (struct ll_place){0}, "%s has no parameter `%s`; `leadline models %s` lists them",
                    model->name, key, model->name);
    ll_arena_release(&arena);
    return false;
}

const char *const ll_any_text[] = {"", NULL};

const char *ll_build_text(const struct ll_build *build, size_t param)
{
    int64_t number = build->params[param];
    return number > 0 && build->settings ? build->settings[number - 1].value : NULL;
}

static bool is_text(const struct ll_model *model, size_t param)
{
    return model->words && model->words[param] == ll_any_text;
}

const char *ll_model_word(const struct ll_model *model, size_t param, int64_t value)
{
    assert(param < model->param_count);
    if (is_text(model, param))
        return "";
    return model->words && model->words[param] ? model->words[param][value] : NULL;
}

/* Whether two words are one: also types of elements that are spelled otherwise elsewhere (float16 is f16). */
static bool is_word(const char *word, const char *value)
{
    enum ll_dtype dtype = ll_dtype_find(word);
    return strcmp(word, value) == 0 || (dtype != LL_DTYPE_COUNT && dtype == ll_dtype_find(value));
}

/* A parameter whose values are words; the complaint lists them all. */
static bool read_word(const struct ll_setting *setting, const char *const *words, int64_t *value,
                      struct ll_diags *diags)
{
    struct ll_str all = {0};
    size_t i = 0;
    for (; words[i] && !is_word(words[i], setting->value); i++)
        ll_str_addf(&all, "%s`%s`", i == 0 ? "" : words[i + 1] ? ", " : " or ", words[i]);
    if (words[i])
        *value = (int64_t)i;
    else
        ll_complain(diags, (struct ll_place){0}, "-p %s=%s: expected %s", setting->key, setting->value,
                    all.failed ? "another word" : all.text);
    ll_str_release(&all);
    return words[i] != NULL;
}

/* The parameter that a setting is about: by its name, or by its name of before, with a remark. */
static size_t param_of(const struct ll_model *model, const char *key, struct ll_diags *diags)
{
    size_t i = find_param(model, key);
    const char *now = i == model->param_count ? LOOK_UP(renamed_params, key) : NULL;
    size_t renamed = now ? find_param(model, now) : i;
    if (renamed < model->param_count && renamed != i)
        ll_remark(diags, (struct ll_place){0}, "-p %s=: the parameter is called `%s` now", key, now);
    return renamed;
}

/* `number` is that of the setting. */
static bool read_setting(const struct ll_model *model, const struct ll_setting *setting, size_t number,
                         int64_t *values, struct ll_diags *diags)
{
    size_t i = param_of(model, setting->key, diags);
    if (i == model->param_count)
        return unknown_key(model, setting->key, diags);
    if (is_text(model, i)) {
        values[i] = 1 + (int64_t)number;
        return true;
    }
    if (model->words && model->words[i])
        return read_word(setting, model->words[i], &values[i], diags);
    const struct ll_model_param *param = &model->params[i];
    char *end;
    errno = 0;
    long long value = strtoll(setting->value, &end, 10);
    if (end == setting->value || *end || errno || value < param->min || value > param->max)
        return ll_complain(diags, (struct ll_place){0},
                           "-p %s=%s: expected a whole number from %" PRId64 " to %" PRId64, setting->key,
                           setting->value, param->min, param->max);
    values[i] = value;
    return true;
}

bool ll_model_settings(const struct ll_model *model, const struct ll_setting *settings, size_t setting_count,
                       int64_t *values, struct ll_diags *diags)
{
    bool good = true;
    for (size_t i = 0; i < model->param_count; i++)
        values[i] = model->params[i].standard;
    for (size_t i = 0; i < setting_count; i++)
        good &= read_setting(model, &settings[i], i, values, diags);
    return good;
}

/* Builds one forward pass of a single sample, of which nothing will run, and counts it. */
bool ll_model_measure(const struct ll_model *model, const struct ll_setting *settings, size_t setting_count,
                      struct ll_model_size *size, struct ll_diags *diags)
{
    struct ll_nn *nn = ll_nn_new(LL_F32);
    int64_t *values = calloc(model->param_count + 1, sizeof *values);
    bool good = nn && values;
    if (!good)
        ll_complain(diags, (struct ll_place){0}, "%s: memory ran out", model->name);
    else if ((good = ll_model_settings(model, settings, setting_count, values, diags))) {
        model->build(
            nn, &(struct ll_build){
                    .measure = true, .batch = 1, .params = values, .settings = settings, .diags = diags});
        *size =
            (struct ll_model_size){ll_nn_parameters(nn), model->counts_every_op ? ll_nn_all_forward_flops(nn)
                                                                                : ll_nn_forward_flops(nn)};
        good = !ll_nn_trouble(nn) ||
               ll_complain(diags, (struct ll_place){0}, "%s: %s", model->name, ll_nn_trouble(nn));
    }
    ll_nn_free(nn);
    free(values);
    return good;
}

/* The header of a workload's trace: what ran, how, where. */

struct ll_workload {
    const struct ll_model *model;
    const struct ll_run_options *options;
    const int64_t *params;      /* values, in the order of the model's params */
    uint64_t batch, parameters; /* samples of a step; trainable numbers of the network */
};

/* Facts that name the workload: enough to record the same trace again. */
static void add_workload(const struct ll_workload *workload, struct ll_facts *facts)
{
    const struct ll_model *model = workload->model;
    ll_facts_add(facts, "model", "%s", model->name);
    ll_facts_add(facts, "mode", "%s", workload->options->train ? "train" : "infer");
    ll_facts_add(facts, "batch", "%" PRIu64, workload->batch);
    ll_facts_add(facts, "native", "%s", workload->options->dry_run ? "no" : "yes");
    if (model->amount.unit) {
        ll_facts_add(facts, "sample.unit", "%s", model->amount.unit);
        ll_facts_add(facts, "sample.amount", "%.10g",
                     model->amount.each * (double)workload->params[model->amount.param]);
    }
    for (size_t i = 0; i < model->param_count; i++) {
        const char *key = ll_format(facts->arena, "param.%s", model->params[i].name);
        const char *word = ll_model_word(model, i, workload->params[i]);
        if (is_text(model, i) && workload->params[i] > 0)
            word = workload->options->settings[workload->params[i] - 1].value;
        if (word)
            ll_facts_add(facts, key ? key : "", "%s", word);
        else
            ll_facts_add(facts, key ? key : "", "%" PRId64, workload->params[i]);
        facts->failed |= !key;
    }
    ll_facts_add(facts, "parameters", "%" PRIu64, workload->parameters);
    ll_facts_add(facts, "seed", "%" PRIu64, workload->options->seed);
}

/* Facts of a native run: this machine, OpenBLAS and its threads, and the libraries by build id. */
static void add_machine(const struct ll_workload *workload, struct ll_facts *facts)
{
    struct ll_blas_facts blas = ll_blas_facts();
    ll_host_facts("", facts);
    ll_facts_add(facts, "blas.core", "%s", blas.core);
    if (blas.better_core)
        ll_facts_add(facts, "blas.better_core", "%s", blas.better_core);
    ll_facts_add(facts, "blas.config", "%s", blas.config);
    ll_facts_add(facts, "blas.threads", "%u", blas.threads);
    unsigned threads = workload->options->threads;
    ll_facts_add(facts, "threads", "%u", threads ? threads : ll_pool_usable_cpus());
    ll_library_facts(facts);
}

/* Adds the facts of a workload; of a native run also those of this machine and of its libraries, for which
 * OpenBLAS is loaded. A dry run knows no machine: the same wherever it is made. LL_NO_MEMORY or LL_NO_LIBRARY
 * else. */
static enum ll_status workload_facts(const struct ll_workload *workload, struct ll_facts *facts)
{
    add_workload(workload, facts);
    if (workload->options->dry_run) {
        ll_facts_add(facts, "leadline", "%s", LL_VERSION);
    } else {
        enum ll_status status = ll_blas_open();
        if (status != LL_OK)
            return status;
        add_machine(workload, facts);
    }
    return facts->failed ? LL_NO_MEMORY : LL_OK;
}

/* Running a workload: read what the user set, build the network, take memory, open the trace (a run that
 * cannot start leaves an older trace alone), step, evaluate, report. */

struct run {
    const struct ll_model *model;
    const struct ll_run_options *options;
    struct ll_diags *diags;
    int64_t *params; /* values, in the order of the model's params; on the heap */
    uint64_t batch;
    struct ll_nn *nn;
    struct ll_pool *pool;
    struct ll_recorder *recorder; /* NULL: nothing is recorded */
    struct ll_runner *runner;
    double *step_s; /* how long each step took, for the median */
};

static bool fail(struct run *run, enum ll_status status, const char *about)
{
    if (status == LL_NO_LIBRARY)
        about = "libopenblas.so.0 (OpenBLAS)";
    return ll_complain(run->diags, (struct ll_place){0}, "%s: %s", about, ll_status_text(status));
}

static uint64_t batch_of(const struct ll_model *model, const struct ll_run_options *options)
{
    if (options->batch)
        return options->batch;
    return !options->train && model->inference_batch ? model->inference_batch : model->default_batch;
}

static bool is_set(const struct ll_run_options *options, const char *key)
{
    for (size_t i = 0; i < options->setting_count; i++)
        if (strcmp(options->settings[i].key, key) == 0)
            return true;
    return false;
}

/* Where a parameter is the batch it has the last word, unless --batch says something, too. */
static bool settle_batch(struct run *run)
{
    const struct ll_model *model = run->model;
    const struct ll_run_options *options = run->options;
    run->batch = ll_max(1, batch_of(model, options));
    if (options->batch && model->default_batch == 0)
        return ll_complain(run->diags, (struct ll_place){0}, "%s has no batch", model->name);
    if (!model->batch_param)
        return true;
    if (options->batch && is_set(options, model->batch_param))
        return ll_complain(run->diags, (struct ll_place){0},
                           "--batch and -p %s set the same: give one of them", model->batch_param);
    size_t i = 0;
    while (strcmp(model->params[i].name, model->batch_param) != 0)
        i++;
    if (options->batch)
        run->params[i] = (int64_t)options->batch;
    run->batch = (uint64_t)run->params[i];
    return true;
}

/* Numbers of fewer bits are computed where a kernel rounds to them, which another one reads. */
static bool computed_here(const struct ll_value *value)
{
    const enum ll_dtype dtype = (enum ll_dtype)value->shape.dtype;
    return dtype == LL_F32 || dtype == LL_I32 || dtype == LL_BOOL || dtype == LL_U8 ||
           (value->producer && value->producer->view.kind == LL_OP_QUANTIZE);
}

static uint64_t longest(const struct ll_shape *shape)
{
    uint64_t most = 0;
    for (unsigned i = 0; i < shape->rank; i++)
        most = ll_max(most, shape->dim[i]);
    return most;
}

/* Whether what the op multiplies is small enough for BLAS. A convolution sees its filter as a matrix, one
 * side of which is several dimensions: all of them will do. */
static bool is_small_enough(const struct ll_op_view *op)
{
    bool conv = ll_op_class(op->kind) == LL_CLASS_CONV && op->input_count > 1;
    uint64_t most = conv && op->kind != LL_OP_CONV2D_FILTER ? ll_elements(&op->in[1]) : 0;
    for (uint32_t i = 0; i < op->input_count; i++)
        most = ll_max(most, longest(&op->in[i]));
    for (uint32_t i = 0; i < op->output_count; i++)
        most = ll_max(most, longest(&op->out[i]));
    return most <= LL_PRODUCT_MOST || !ll_class_is_gemm(ll_op_class(op->kind));
}

/* Whether there is a kernel for every op, for its sizes, and for this type of number. */
static bool runs_here(const struct run *run)
{
    const struct ll_nn *nn = run->nn;
    for (uint64_t i = 0; i < nn->value_count; i++)
        if (!computed_here(nn->values[i]))
            return ll_complain(run->diags, (struct ll_place){0},
                               "%s: %s is not computed here, only f32; --dry-run records it",
                               run->model->name, ll_dtype_name(nn->values[i]->shape.dtype));
    for (uint64_t i = 0; i < nn->op_count; i++)
        if (!ll_op_runs_natively(nn->ops[i]->view.kind))
            return ll_complain(run->diags, (struct ll_place){0},
                               "%s: the op %s is not computed here; --dry-run records it", run->model->name,
                               ll_op_name(nn->ops[i]->view.kind));
    for (uint64_t i = 0; i < nn->op_count; i++)
        if (!is_small_enough(&nn->ops[i]->view))
            return ll_complain(run->diags, (struct ll_place){0},
                               "%s: the op %s has more than %d rows or columns, which is not computed here; "
                               "--dry-run records it",
                               run->model->name, ll_op_name(nn->ops[i]->view.kind), LL_PRODUCT_MOST);
    return true;
}

/* Settings first, then the batch, then the network; trouble of the network is reported once, by whoever
 * found it. */
static bool build(struct run *run)
{
    const struct ll_model *model = run->model;
    run->nn = ll_nn_new(LL_F32);
    run->params = calloc(model->param_count + 1, sizeof *run->params);
    if (!run->nn || !run->params)
        return fail(run, LL_NO_MEMORY, model->name);
    if (!ll_model_settings(model, run->options->settings, run->options->setting_count, run->params,
                           run->diags) ||
        !settle_batch(run))
        return false;
    const struct ll_build build = {
        .train = run->options->train,
        .evaluate = run->options->evaluate,
        .batch = run->batch,
        .seed = run->options->seed,
        .params = run->params,
        .settings = run->options->settings,
        .data = run->options->data,
        .diags = run->diags,
    };
    struct ll_value *result = model->build(run->nn, &build);
    ll_nn_keep(result);
    if (run->options->train && !run->nn->programs[0].result)
        run->nn->programs[0].result = result;
    if (ll_nn_trouble(run->nn) && run->diags->count > 0)
        return false; /* it was said where it was found */
    if (ll_nn_trouble(run->nn))
        return ll_complain(run->diags, (struct ll_place){0}, "%s: %s", model->name, ll_nn_trouble(run->nn));
    return run->options->dry_run || runs_here(run);
}

/* Memory and threads are taken before the trace is opened, so that a run that cannot start leaves an older
 * trace alone. */
static bool prepare(struct run *run)
{
    enum ll_status status = LL_NO_MEMORY;
    bool timed = !run->options->dry_run && (run->options->path || run->options->trace);
    run->step_s = calloc(run->options->steps + 1, sizeof *run->step_s);
    if (!run->options->dry_run)
        run->pool = ll_pool_new(run->options->threads);
    if (!run->step_s || (!run->options->dry_run && !run->pool))
        return fail(run, status, run->model->name);
    run->runner = ll_runner_new(run->nn,
                                &(struct ll_runner_options){.pool = run->pool,
                                                            .seed = run->options->seed,
                                                            .dry_run = run->options->dry_run,
                                                            .rehearse = timed},
                                &status);
    if (!run->runner && status == LL_NO_MEMORY && !run->options->dry_run)
        return ll_complain(run->diags, (struct ll_place){0},
                           "%s: this machine has not the memory to compute a step; --dry-run records it",
                           run->model->name);
    return run->runner || fail(run, status, run->model->name);
}

/* What is written, for complaints. */
static const char *goal(const struct run *run)
{
    return run->options->path ? run->options->path : run->model->name;
}

static enum ll_status close_trace(struct run *run)
{
    enum ll_status status = LL_OK;
    if (run->options->path)
        return ll_recorder_close(run->recorder);
    *run->options->trace = ll_recorder_take(run->recorder, &status);
    return status;
}

/* The header says what runs and where; the trace goes into a file or stays in memory. */
static bool open_trace(struct run *run)
{
    if (!run->options->path && !run->options->trace)
        return true;
    struct ll_arena arena = {0};
    struct ll_facts facts = {.arena = &arena};
    struct ll_workload workload = {run->model, run->options, run->params, run->batch,
                                   ll_nn_parameters(run->nn)};
    enum ll_status status = workload_facts(&workload, &facts);
    if (status == LL_OK)
        run->recorder = run->options->path
                            ? ll_recorder_open(run->options->path, facts.items, facts.count, &status)
                            : ll_recorder_open_memory(facts.items, facts.count, &status);
    ll_arena_release(&arena);
    if (run->recorder)
        status = ll_runner_record(run->runner, run->recorder);
    return status == LL_OK || fail(run, status, goal(run));
}

/* Nobody waits for steps that are not recorded any more, ll_recorder_close then says why; nor for those of a
 * model that cannot read its data. */
static bool goes_on(const struct run *run)
{
    return ll_runner_status(run->runner) == LL_OK &&
           (!run->recorder || ll_recorder_status(run->recorder) == LL_OK);
}

/* Where the threads were, and that the first step was rehearsed, if it was. */
static enum ll_status record_circumstances(const struct run *run)
{
    struct ll_arena arena = {0};
    struct ll_facts facts = {.arena = &arena};
    ll_pool_facts(run->pool, &facts);
    if (ll_runner_rehearsed(run->runner))
        ll_facts_add(&facts, "rehearsed", "yes");
    enum ll_status status = facts.failed ? LL_NO_MEMORY : LL_OK;
    if (status == LL_OK)
        ll_recorder_facts(run->recorder, facts.items, facts.count);
    ll_arena_release(&arena);
    return status;
}

static bool is_stopped(const struct ll_run_options *options)
{
    return options->stop && *options->stop;
}

/* The steps one after the other, each told to the listener with its loss and time. */
static void step_all(struct run *run, struct ll_run_report *report)
{
    const struct ll_run_options *options = run->options;
    report->first_loss = report->last_loss = NAN;
    if (run->recorder)
        ll_pool_spread(run->pool); /* who keeps no times waits for no quiet moments */
    uint64_t steps = 0;
    for (uint64_t step = 0; step < options->steps && goes_on(run) && (step == 0 || !is_stopped(options));
         step++) {
        steps = step + 1;
        run->step_s[step] = ll_runner_step(run->runner, step);
        double loss = ll_runner_result(run->runner);
        report->first_loss = step == 0 ? loss : report->first_loss;
        report->last_loss = loss;
        if (options->progress)
            options->progress(options->context, step + 1, options->steps, loss, run->step_s[step]);
    }
    report->parameters = ll_nn_parameters(run->nn);
    report->steps = steps;
    report->ops = ll_runner_ops(run->runner);
    report->median_step_s = steps > 0 ? ll_median(run->step_s, steps) : 0;
    report->waited_s = (double)ll_pool_waited_ns(run->pool) * 1e-9;
}

static bool evaluate(struct run *run, struct ll_scores *scores)
{
    const struct ll_run_options *options = run->options;
    scores->diags = run->diags;
    return !options->evaluate || options->dry_run ||
           run->model->evaluate(run->nn->driver.context, run->runner, scores);
}

/* Closes the trace, then frees what the run took, in the reverse order of taking it. */
static bool close_all(struct run *run, bool good)
{
    if (run->recorder) {
        enum ll_status noted = record_circumstances(run), status = close_trace(run);
        status = status == LL_OK ? noted : status;
        if (good && status != LL_OK)
            good = fail(run, status, goal(run));
        if (!good && run->options->trace) {
            ll_trace_free(*run->options->trace);
            *run->options->trace = NULL;
        }
    }
    ll_runner_free(run->runner);
    ll_pool_free(run->pool);
    ll_nn_free(run->nn);
    free(run->params);
    free(run->step_s);
    return good;
}

/* Each part of a run says whether it went well; the next one begins only then, and what was taken is freed
 * in any case. */
bool ll_model_run(const struct ll_model *model, const struct ll_run_options *options,
                  struct ll_run_report *report, struct ll_diags *diags)
{
    struct run run = {.model = model, .options = options, .diags = diags};
    *report = (struct ll_run_report){0};
    report->refused = !build(&run);
    bool good = !report->refused && prepare(&run) && open_trace(&run) && evaluate(&run, &report->before);
    if (good)
        step_all(&run, report);
    report->after.folder = options->samples;
    good = good && evaluate(&run, &report->after);
    if (good && ll_runner_status(run.runner) != LL_OK)
        good = fail(&run, ll_runner_status(run.runner), model->name);
    if (good && !options->dry_run) {
        report->blas_core = ll_blas_facts().core;
        report->better_core = ll_blas_facts().better_core;
    }
    return close_all(&run, good);
}
