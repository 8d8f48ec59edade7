/* SPDX-License-Identifier: Apache-2.0 */
/* Workloads as a whole. Every model of the table must pass; `small` makes it small enough to run here. */
#define _GNU_SOURCE
#include "check.h"
#include "known_models.h"
#include "random.h"

#include "models/model.h"
#include "models/nn/runner.h"
#include "tracer/ir/profile.h"
#include "tracer/format/reader.h"

#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { TABLE_ROWS = sizeof known_models / sizeof *known_models, MOST_ROWS = 512, MOST_WEIGHTS = 512 };
#define UNCOUNTED UINT64_MAX

/* The table, then a row for each model that publishes its numbers itself: small as its training recipe is,
 * and nobody has counted its ops. */
static struct known known_rows[MOST_ROWS];
static size_t known_count;

static void fill_known_rows(void)
{
    memcpy(known_rows, known_models, sizeof known_models);
    known_count = TABLE_ROWS;
    for (size_t i = 0; i < ll_model_count() && known_count < MOST_ROWS; i++) {
        const struct ll_model *model = ll_model_at(i);
        if (model->published.parameters == 0)
            continue;
        struct known *row = &known_rows[known_count++];
        *row = (struct known){.name = model->name,
                              .parameters = model->published.parameters,
                              .forward_flops = model->published.forward_flops,
                              .train_ops = model->recipe.steps > 0 ? UNCOUNTED : 0,
                              .constants = UNCOUNTED};
        memcpy(row->small, model->recipe.settings, sizeof row->small);
    }
}

static size_t count_of(const struct ll_setting *settings)
{
    size_t count = 0;
    while (count < MOST_SETTINGS && settings[count].key)
        count++;
    return count;
}

/* A row of a model that trains here. */
static bool trains(size_t row)
{
    return known_rows[row].train_ops > 0 && !known_rows[row].dry;
}

static void every_model_is_known(void **state)
{
    (void)state;
    for (size_t i = 0; i < ll_model_count(); i++) {
        bool known = false;
        for (size_t k = 0; k < known_count; k++)
            known |= strcmp(known_rows[k].name, ll_model_at(i)->name) == 0;
        if (!known)
            fail_msg("%s publishes no numbers and has no row in known_models.h", ll_model_at(i)->name);
    }
}

static void expect(const struct known *known, const char *what, uint64_t counted, uint64_t expected)
{
    if (counted != expected && expected != UNCOUNTED)
        fail_msg("%s: %" PRIu64 " %s, expected %" PRIu64, known->name, counted, what, expected);
}

static void models_have_the_size_of_their_papers(void **state)
{
    (void)state;
    struct ll_diags diags = {0};
    for (size_t i = 0; i < known_count; i++) {
        const struct known *known = &known_rows[i];
        struct ll_model_size size;
        assert_true(ll_model_measure(ll_model_find(known->name), known->preset, count_of(known->preset),
                                     &size, &diags));
        expect(known, "parameters", size.parameters, known->parameters);
        expect(known, "FLOPs forward a sample", size.forward_flops, known->forward_flops);
    }
    ll_diags_release(&diags); /* remarks on what is left out */
}

/* Runs a model small and, with a trace, reads it back. */
static struct ll_run_report run_small(const struct known *known, struct ll_run_options options,
                                      struct ll_trace **trace)
{
    static struct ll_diags diags;
    char path[] = "test_model.XXXXXX";
    int file = mkstemp(path);
    enum ll_status status;
    struct ll_run_report report;
    assert_true(file >= 0);
    options.settings = known->small;
    options.setting_count = count_of(known->small);
    options.path = trace ? path : NULL;
    options.seed = 5;
    if (!ll_model_run(ll_model_find(known->name), &options, &report, &diags))
        fail_msg("%s", diags.kept[0].message);
    if (trace) {
        *trace = ll_trace_read(path, &diags, &status);
        assert_non_null(*trace);
        assert_int_equal(diags.count, 0);
    }
    close(file);
    unlink(path);
    return report;
}

static void check_same_signature(const struct ll_op_signature *a, const struct ll_op_signature *b)
{
    assert_int_equal(a->kind_name, b->kind_name);
    assert_int_equal(a->scope, b->scope);
    assert_int_equal(a->phase, b->phase);
    assert_int_equal(a->flops, b->flops);
    assert_int_equal(a->bytes_read, b->bytes_read);
    assert_int_equal(a->view.input_count, b->view.input_count);
    assert_int_equal(a->view.output_count, b->view.output_count);
    assert_int_equal(a->view.attr_count, b->view.attr_count);
    assert_memory_equal(a->view.attrs, b->view.attrs, a->view.attr_count * sizeof *a->view.attrs);
    assert_memory_equal(a->inputs, b->inputs, a->view.input_count * sizeof *a->inputs);
    assert_memory_equal(a->outputs, b->outputs, a->view.output_count * sizeof *a->outputs);
    assert_memory_equal(a->aliases, b->aliases, a->view.output_count * sizeof *a->aliases);
}

/* Same strings, descs, forms, links, ops, tensors, storages: all but times and facts. */
static void check_same_trace(const struct ll_trace *a, const struct ll_trace *b)
{
    assert_int_equal(a->string_count, b->string_count);
    assert_int_equal(a->desc_count, b->desc_count);
    assert_int_equal(a->signature_count, b->signature_count);
    assert_int_equal(a->edges_count, b->edges_count);
    assert_int_equal(a->op_count, b->op_count);
    assert_int_equal(a->tensor_count, b->tensor_count);
    assert_int_equal(a->storage_count, b->storage_count);
    for (uint64_t i = 0; i < a->string_count; i++)
        assert_string_equal(a->strings[i], b->strings[i]);
    assert_memory_equal(a->descs, b->descs, a->desc_count * sizeof *a->descs);
    assert_memory_equal(a->tensors, b->tensors, a->tensor_count * sizeof *a->tensors);
    for (uint64_t i = 0; i < a->signature_count; i++)
        check_same_signature(&a->signatures[i], &b->signatures[i]);
    for (uint32_t i = 0; i < a->op_count; i++) {
        assert_int_equal(a->ops[i].signature, b->ops[i].signature);
        assert_int_equal(a->ops[i].edges, b->ops[i].edges);
        assert_int_equal(a->ops[i].step, b->ops[i].step);
        assert_int_equal(a->ops[i].first_output, b->ops[i].first_output);
        for (uint32_t j = 0; j < a->signatures[a->ops[i].signature].view.input_count; j++)
            assert_int_equal(ll_op_input(a, i, j), ll_op_input(b, i, j));
    }
}

static void a_dry_run_records_what_a_native_run_does(void **state)
{
    (void)state;
    for (size_t i = 0; i < 2 * known_count; i++) {
        const struct known *known = &known_rows[i / 2];
        if (known->dry || (i % 2 && !trains(i / 2)))
            continue;
        struct ll_run_options options = {.train = i % 2, .batch = 3, .steps = 2, .threads = 1};
        struct ll_trace *native, *dry;
        run_small(known, options, &native);
        options.dry_run = true;
        struct ll_run_report report = run_small(known, options, &dry);
        check_same_trace(native, dry);
        assert_int_equal(report.ops, dry->op_count);
        assert_true(report.median_step_s == 0 && isnan(report.last_loss));
        assert_string_equal(ll_trace_fact(native, "native"), "yes");
        assert_string_equal(ll_trace_fact(dry, "native"), "no");
        assert_non_null(ll_trace_fact(native, "blas.core"));
        assert_non_null(ll_trace_fact(native, "host.cpus"));
        assert_null(ll_trace_fact(dry, "host.cpus"));
        assert_string_equal(ll_trace_fact(dry, "mode"), options.train ? "train" : "infer");
        ll_trace_free(native);
        ll_trace_free(dry);
    }
}

/* What a step needs from the one before are its weights and the state of its optimizer: the second step has
 * the forms of the first. */
static void steps_repeat_themselves(void **state)
{
    (void)state;
    for (size_t i = 0; i < known_count; i++) {
        if (!trains(i))
            continue;
        struct ll_run_options options = {.train = true, .batch = 3, .steps = 3, .dry_run = true};
        struct ll_trace *trace;
        run_small(&known_rows[i], options, &trace);
        uint64_t each = trace->op_count / 3;
        expect(&known_rows[i], "ops in a training step", each, known_rows[i].train_ops);
        for (uint64_t j = each; j < trace->op_count; j++) {
            assert_int_equal(trace->ops[j].signature, trace->ops[j - each].signature);
            if (j >= 2 * each)
                assert_int_equal(trace->ops[j].edges, trace->ops[j - each].edges);
        }
        ll_trace_free(trace);
    }
}

/* Counts the tensors that no op made and that the ops of the last step read. */
static uint64_t count_constants(const struct ll_trace *trace)
{
    bool *seen = calloc(trace->tensor_count, sizeof *seen);
    uint64_t count = 0;
    for (uint32_t i = trace->steps[trace->step_count - 1].first_op; i < trace->op_count; i++)
        for (uint32_t j = 0; j < trace->signatures[trace->ops[i].signature].view.input_count; j++) {
            uint32_t tensor = ll_op_input(trace, i, j);
            count += trace->tensors[tensor].producer == LL_NONE && !seen[tensor];
            seen[tensor] = true;
        }
    free(seen);
    return count;
}

/* A later step reads the weights that the step before it wrote: nothing else but constants comes from the
 * model, and nobody reads what is overwritten. */
static void steps_go_on_from_each_other(void **state)
{
    (void)state;
    for (size_t i = 0; i < known_count; i++) {
        if (!trains(i))
            continue;
        struct ll_run_options options = {.train = true, .batch = 3, .steps = 3, .dry_run = true};
        struct ll_trace *trace;
        run_small(&known_rows[i], options, &trace);
        uint32_t *newest = calloc(trace->storage_count, sizeof *newest);
        for (uint32_t op = 0; op < trace->op_count; op++) {
            const struct ll_op_signature *signature = &trace->signatures[trace->ops[op].signature];
            for (uint32_t j = 0; j < signature->view.input_count; j++) {
                uint32_t tensor = ll_op_input(trace, op, j);
                assert_true(tensor >= newest[trace->tensors[tensor].storage]);
            }
            for (uint32_t j = 0; signature->bytes_written > 0 && j < signature->view.output_count; j++)
                newest[trace->tensors[ll_op_output(trace, op, j)].storage] = ll_op_output(trace, op, j);
        }
        expect(&known_rows[i], "constants", count_constants(trace), known_rows[i].constants);
        free(newest);
        ll_trace_free(trace);
    }
}

static void losses_have_the_same_bits_at_any_number_of_threads(void **state)
{
    (void)state;
    for (size_t i = 0; i < known_count; i += ONE_IN) {
        if (!trains(i))
            continue;
        struct ll_run_options options = {.train = true, .batch = 3, .steps = 3, .threads = 1};
        struct ll_run_report one = run_small(&known_rows[i], options, NULL);
        options.threads = 2;
        struct ll_run_report two = run_small(&known_rows[i], options, NULL);
        options.threads = 3;
        struct ll_run_report three = run_small(&known_rows[i], options, NULL);
        assert_true(isfinite(one.last_loss));
        assert_memory_equal(&one.last_loss, &two.last_loss, sizeof one.last_loss);
        assert_memory_equal(&one.last_loss, &three.last_loss, sizeof one.last_loss);
    }
}

/* A small model in double precision, with the gradients that its optimizer reads. */
struct doubled {
    struct ll_nn *nn;
    struct ll_value *loss, *weights[MOST_WEIGHTS];
    uint64_t count;
    struct ll_runner *runner;
    void **first; /* of variables: their first contents, by value index */
};

/* Whether the loss is what this weight is to make small. */
static bool is_judged(const struct known *known, const struct ll_value *weight)
{
    return weight->gradient &&
           (!known->loss_of || strncmp(weight->name, known->loss_of, strlen(known->loss_of)) == 0);
}

static void build_doubled(const struct known *known, struct doubled *d)
{
    const struct ll_model *model = ll_model_find(known->name);
    struct ll_diags diags = {0};
    int64_t values[32];
    enum ll_status status;
    *d = (struct doubled){.nn = ll_nn_new(LL_F64)};
    assert_true(ll_model_settings(model, known->small, count_of(known->small), values, &diags));
    d->loss = model->build(d->nn, &(struct ll_build){.train = true,
                                                     .batch = 3,
                                                     .seed = 5,
                                                     .params = values,
                                                     .settings = known->small,
                                                     .diags = &diags});
    ll_nn_keep(d->loss);
    for (uint64_t i = 0; i < d->nn->value_count; i++)
        if (is_judged(known, d->nn->values[i])) {
            assert_true(d->count < MOST_WEIGHTS);
            d->weights[d->count++] = d->nn->values[i];
            ll_nn_keep(d->nn->values[i]->gradient);
            if (d->nn->values[i]->gradient_rows)
                ll_nn_keep(d->nn->values[i]->gradient_rows);
        }
    d->runner = ll_runner_new(d->nn, &(struct ll_runner_options){.seed = 5}, &status);
    assert_int_equal(status, LL_OK);
    d->first = calloc(d->nn->value_count, sizeof *d->first);
    for (uint64_t i = 0; i < d->nn->value_count; i++) {
        const struct ll_value *value = d->nn->values[i];
        uint64_t bytes = ll_size_bytes(&value->shape);
        if (!value->producer)
            d->first[i] = memcpy(malloc(bytes), ll_runner_data(d->runner, value), bytes);
    }
}

/* Biases start at zero, and so does what a ReLU reads where nothing arrives: right at its kink. */
static void leave_kinks(struct doubled *d, uint64_t *random)
{
    for (uint64_t w = 0; w < d->count; w++)
        for (uint64_t i = 0; i < ll_elements(&d->weights[w]->shape); i++)
            ((double *)d->first[d->weights[w]->index])[i] +=
                (double)ll_random_below(random, 1001) * 1e-4 - 0.05;
}

static void free_doubled(struct doubled *d)
{
    for (uint64_t i = 0; i < d->nn->value_count; i++)
        free(d->first[i]);
    free(d->first);
    ll_runner_free(d->runner);
    ll_nn_free(d->nn);
}

/* The loss of the first step, one element of a weight being moved. */
static double loss_moved(struct doubled *d, const struct ll_value *weight, uint64_t element, double by)
{
    for (uint64_t i = 0; i < d->nn->value_count; i++)
        if (d->first[i])
            memcpy(ll_runner_data(d->runner, d->nn->values[i]), d->first[i],
                   ll_size_bytes(&d->nn->values[i]->shape));
    ((double *)ll_runner_data(d->runner, weight))[element] += by;
    ll_runner_step(d->runner, 0);
    return ll_runner_scalar(d->runner, d->loss);
}

/* The gradient of a weight as a whole, allocated. */
static double *whole_gradient(const struct doubled *d, const struct ll_value *weight)
{
    uint64_t length = ll_elements(&weight->shape) / (weight->shape.rank ? weight->shape.dim[0] : 1);
    double *whole = calloc(ll_elements(&weight->shape), sizeof *whole);
    const double *gradient = ll_runner_data(d->runner, weight->gradient);
    const int32_t *rows = weight->gradient_rows ? ll_runner_data(d->runner, weight->gradient_rows) : NULL;
    for (uint64_t i = 0; i < ll_elements(&weight->gradient->shape); i++)
        whole[rows ? (uint64_t)rows[i / length] * length + i % length : i] += gradient[i];
    return whole;
}

/* A stream of draws of the model's own, whatever other models there are. */
static uint64_t draws_of(const struct known *known, uint64_t seed)
{
    for (const char *c = known->name; *c; c++)
        seed = seed * 31 + (uint64_t)*c;
    return seed;
}

/* What the step says of an element, and the largest that it says of the weight. */
struct claim {
    uint64_t element;
    double gradient, largest;
};

static struct claim claim_of(const struct doubled *d, const struct ll_value *weight, uint64_t element)
{
    double *gradient = whole_gradient(d, weight);
    struct claim claim = {.element = element, .gradient = gradient[element]};
    for (uint64_t k = 0; k < ll_elements(&weight->shape); k++)
        claim.largest = fmax(claim.largest, fabs(gradient[k]));
    free(gradient);
    return claim;
}

/* Where a kink of a ReLU or a change of a pool's largest lies between the two losses, none may lie between
 * two that are nearer. */
static void check_claim(struct doubled *d, const char *model, const struct ll_value *weight, double loss,
                        const struct claim *claim)
{
    double expected = 0, found = claim->gradient, largest = claim->largest;
    uint64_t j = claim->element;
    for (double h = 1e-6; h > 1e-9; h /= 10) {
        expected = (loss_moved(d, weight, j, h) - loss_moved(d, weight, j, -h)) / (2 * h);
        if (fabs(found - expected) <= 1e-5 * largest + 1e-14 * fabs(loss) / h)
            return;
    }
    fail_msg("%s: d loss / d %s[%llu] is %.12g, the difference says %.12g", model, weight->name,
             (unsigned long long)j, found, expected);
}

/* One element of each weight; under a sanitizer of some, since whichever moves, the step is the same. */
static void gradients_are_what_finite_differences_say(void **state)
{
    (void)state;
    uint64_t seed = ll_seed(31);
    for (size_t i = 0; i < known_count; i++) {
        if (!trains(i))
            continue;
        struct doubled d;
        uint64_t random = draws_of(&known_rows[i], seed);
        build_doubled(&known_rows[i], &d);
        leave_kinks(&d, &random);
        struct claim claims[MOST_WEIGHTS];
        double loss = loss_moved(&d, d.weights[0], 0, 0);
        for (uint64_t w = 0; w < d.count; w++)
            claims[w] =
                claim_of(&d, d.weights[w], ll_random_below(&random, ll_elements(&d.weights[w]->shape)));
        for (uint64_t w = i % ONE_IN; w < d.count; w += ONE_IN)
            check_claim(&d, known_rows[i].name, d.weights[w], loss, &claims[w]);
        free_doubled(&d);
    }
}

static void losses_fall(void **state)
{
    (void)state;
    skip_under_sanitizer();
    for (size_t i = 0; i < known_count; i++) {
        struct ll_run_options options = {.train = true, .batch = 8, .steps = known_rows[i].steps};
        if (options.steps == 0)
            continue;
        struct ll_run_report report = run_small(&known_rows[i], options, NULL);
        if (!(report.last_loss < 0.5 * report.first_loss))
            fail_msg("%s: loss from %g to %g", known_rows[i].name, report.first_loss, report.last_loss);
    }
}

/* With the settings that `leadline train` uses, but few steps; under a sanitizer some of the models. */
static void every_model_has_a_training_recipe_and_scores(void **state)
{
    (void)state;
    for (size_t i = 0; i < ll_model_count(); i += ONE_IN) {
        const struct ll_model *model = ll_model_at(i);
        const struct ll_training_recipe *recipe = &model->recipe;
        struct ll_diags diags = {0};
        struct ll_run_report report;
        struct ll_run_options options = {.train = true,
                                         .evaluate = true,
                                         .batch = recipe->batch,
                                         .steps = 2,
                                         .seed = 5,
                                         .settings = recipe->settings};
        while (options.setting_count < LL_MOST_RECIPE_SETTINGS && recipe->settings[options.setting_count].key)
            options.setting_count++;
        if (recipe->steps == 0 && !model->evaluate)
            continue; /* there is nothing to learn in it */
        assert_true(recipe->steps > 2 && recipe->batch > 0);
        if (!ll_model_run(model, &options, &report, &diags))
            fail_msg("%s", diags.kept[0].message);
        assert_true(report.after.count > 0);
        assert_int_equal(report.before.count, report.after.count);
        for (size_t j = 0; j < report.after.count; j++)
            assert_true(isfinite(report.before.at[j].value) && isfinite(report.after.at[j].value));
    }
}

static void expect_refusal(const char *model, const struct ll_run_options *options, const char *expected)
{
    struct ll_diags diags = {0};
    struct ll_run_report report;
    assert_false(ll_model_run(ll_model_find(model), options, &report, &diags));
    assert_true(report.refused);
    assert_int_equal(diags.count, 1);
    assert_string_equal(diags.kept[0].message, expected);
    ll_diags_release(&diags);
}

static void expect_complaint(const char *key, const char *value, const char *expected)
{
    struct ll_setting settings[] = {{key, value}};
    struct ll_run_options options = {.steps = 1, .dry_run = true, .settings = settings, .setting_count = 1};
    expect_refusal("alexnet", &options, expected);
}

static void wrong_settings_are_named(void **state)
{
    (void)state;
    expect_complaint("clases", "3", "alexnet has no parameter `clases`; did you mean `classes`?");
    expect_complaint("x", "3", "alexnet has no parameter `x`; `leadline models alexnet` lists them");
    expect_complaint("image", "big", "-p image=big: expected a whole number from 67 to 4096");
    expect_complaint("image", "12", "-p image=12: expected a whole number from 67 to 4096");
    expect_complaint("image", "100.5", "-p image=100.5: expected a whole number from 67 to 4096");
}

static void what_is_not_computed_here_is_only_recorded(void **state)
{
    (void)state;
    struct ll_setting half = {"dtype", "f16"}, other = {"dtype", "f31"}, rows = {"m", "3"};
    struct ll_run_options options = {.steps = 1};
    expect_refusal("allreduce", &options,
                   "allreduce: the op all_reduce is not computed here; --dry-run records it");
    options.settings = &half, options.setting_count = 1;
    expect_refusal("gemm", &options, "gemm: f16 is not computed here, only f32; --dry-run records it");
    options.settings = &other;
    expect_refusal("gemm", &options,
                   "-p dtype=f31: expected `f32`, `tf32`, `f16`, `bf16`, `f8`, `int8`, `f4` or `int4`");
    options.settings = &rows, options.batch = 4;
    expect_refusal("gemm", &options, "--batch and -p m set the same: give one of them");
    options.setting_count = 0;
    expect_refusal("allreduce", &options, "allreduce has no batch");
    options.batch = 1ull << 31;
    expect_refusal("gemm", &options,
                   "gemm: the op matmul has more than 2147483647 rows or columns, which is not computed "
                   "here; --dry-run records it");
}

/* A product of halves moves half the bytes. */
static void a_dry_run_has_any_type(void **state)
{
    (void)state;
    struct known known = {.name = "gemm", .small = {{"dtype", "f16"}, {"m", "3"}, {"n", "5"}, {"k", "7"}}};
    struct ll_trace *trace;
    run_small(&known, (struct ll_run_options){.steps = 1, .dry_run = true}, &trace);
    assert_int_equal(trace->op_count, 1);
    assert_int_equal(trace->signatures[0].flops, 2 * 3 * 5 * 7);
    assert_int_equal(trace->signatures[0].bytes_read, 2 * (3 * 7 + 7 * 5));
    assert_int_equal(trace->signatures[0].bytes_written, 2 * 3 * 5);
    assert_string_equal(ll_trace_fact(trace, "batch"), "3");
    assert_string_equal(ll_trace_fact(trace, "param.dtype"), "f16");
    assert_string_equal(ll_trace_fact(trace, "param.ta"), "N");
    ll_trace_free(trace);
}

/* 2^30 images of 224 x 224 x 3 alone are 600 TiB: recorded dry, refused natively. */
static void what_is_too_large_for_this_machine_can_still_be_recorded_dry(void **state)
{
    (void)state;
    struct ll_diags diags = {0};
    struct ll_run_report report;
    struct ll_run_options options = {.train = true, .batch = 1 << 30, .steps = 1, .dry_run = true};
    assert_true(ll_model_run(ll_model_find("alexnet"), &options, &report, &diags));
    options.dry_run = false;
    options.path = "test_model_never_written.llt";
    assert_false(ll_model_run(ll_model_find("alexnet"), &options, &report, &diags));
    assert_int_not_equal(access(options.path, F_OK), 0); /* an older trace would still be there */
    assert_int_equal(diags.count, 1);
    assert_string_equal(diags.kept[0].message,
                        "alexnet: this machine has not the memory to compute a step; --dry-run records it");
    ll_diags_release(&diags);
}

static void a_trace_that_cannot_be_written_is_complained_about(void **state)
{
    (void)state;
    struct ll_diags diags = {0};
    struct ll_run_report report;
    struct ll_run_options options = {.steps = 1, .dry_run = true, .path = "no/such/folder/a.llt"};
    assert_false(ll_model_run(ll_model_find("alexnet"), &options, &report, &diags));
    assert_string_equal(diags.kept[0].message, "no/such/folder/a.llt: there is no such file or folder");
    ll_diags_release(&diags);
}

static void count_step(void *context, uint64_t step, uint64_t steps, double loss, double step_s)
{
    (void)steps, (void)loss, (void)step_s;
    *(uint64_t *)context = step;
}

/* The child may write 16 kB, some 1500 steps of a dry run. */
static int run_on_a_full_disk(const char *path)
{
    uint64_t last_step = 0;
    struct ll_diags diags = {0};
    struct ll_run_report report;
    struct ll_run_options options = {
        .steps = 100000, .dry_run = true, .path = path, .progress = count_step, .context = &last_step};
    signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &(struct rlimit){16384, 16384});
    bool done = ll_model_run(ll_model_find("alexnet"), &options, &report, &diags);
    bool told = diags.count == 1 && strstr(diags.kept[0].message, "the disk is full");
    ll_diags_release(&diags);
    return done ? 1 : !told ? 2 : last_step < options.steps ? 0 : 3;
}

static void nobody_waits_for_steps_that_cannot_be_recorded(void **state)
{
    (void)state;
    char path[64];
    int result;
    snprintf(path, sizeof path, "full-%ld.llt", (long)getpid());
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0)
        _exit(run_on_a_full_disk(path));
    waitpid(child, &result, 0);
    assert_true(WIFEXITED(result));
    assert_int_equal(WEXITSTATUS(result), 0);
    assert_int_equal(unlink(path), 0); /* what could be written is there */
}

int main(void)
{
    fill_known_rows();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_model_is_known),
        cmocka_unit_test(models_have_the_size_of_their_papers),
        cmocka_unit_test(a_dry_run_records_what_a_native_run_does),
        cmocka_unit_test(steps_repeat_themselves),
        cmocka_unit_test(steps_go_on_from_each_other),
        cmocka_unit_test(losses_have_the_same_bits_at_any_number_of_threads),
        cmocka_unit_test(gradients_are_what_finite_differences_say),
        cmocka_unit_test(losses_fall),
        cmocka_unit_test(every_model_has_a_training_recipe_and_scores),
        cmocka_unit_test(wrong_settings_are_named),
        cmocka_unit_test(what_is_not_computed_here_is_only_recorded),
        cmocka_unit_test(a_dry_run_has_any_type),
        cmocka_unit_test(what_is_too_large_for_this_machine_can_still_be_recorded_dry),
        cmocka_unit_test(a_trace_that_cannot_be_written_is_complained_about),
        cmocka_unit_test(nobody_waits_for_steps_that_cannot_be_recorded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
