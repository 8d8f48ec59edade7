/* SPDX-License-Identifier: Apache-2.0 */
/* ParaDnn's generators against their closed forms, at any size and in any type of number. */
#define _GNU_SOURCE
#include "check.h"
#include "random.h"

#include "models/model.h"
#include "models/nn/nn.h"

#include <inttypes.h>
#include <stdio.h>

enum { TRIALS = 60, MOST = 6 };

struct settings {
    char text[MOST][24];
    struct ll_setting at[MOST];
    size_t count;
};

static void set(struct settings *settings, const char *key, uint64_t value)
{
    size_t i = settings->count++;
    snprintf(settings->text[i], sizeof settings->text[i], "%" PRIu64, value);
    settings->at[i] = (struct ll_setting){key, settings->text[i]};
}

static void set_word(struct settings *settings, const char *key, const char *word)
{
    settings->at[settings->count++] = (struct ll_setting){key, word};
}

static struct ll_model_size size_of(const char *model, const struct settings *settings)
{
    struct ll_model_size size = {0};
    struct ll_diags diags = {0};
    if (!ll_model_measure(ll_model_find(model), settings->at, settings->count, &size, &diags))
        fail_msg("%s", diags.kept[0].message);
    return size;
}

/* in n + n + (L - 1)(n n + n) + n out + out; 12,341,448 is a row of the measurements that were published with
 * ParaDnn, there as 12.34m. */
static void dense_networks_have_the_parameters_of_their_closed_form(void **state)
{
    (void)state;
    uint64_t random = ll_seed(11);
    for (int i = 0; i < TRIALS; i++) {
        uint64_t layers = 1 + ll_random_below(&random, 40), n = 1 + ll_random_below(&random, 9000),
                 in = 1 + ll_random_below(&random, 9000), out = 2 + ll_random_below(&random, 2000);
        if (i == 0) {
            layers = 32;
            n = 512;
            in = 8000;
            out = 200;
        }
        struct settings s = {.count = 0};
        set(&s, "layers", layers);
        set(&s, "nodes", n);
        set(&s, "input", in);
        set(&s, "output", out);
        struct ll_model_size size = size_of("paradnn_fc", &s);
        assert_int_equal(size.parameters, in * n + n + (layers - 1) * (n * n + n) + n * out + out);
        assert_int_equal(size.forward_flops, 2 * (in * n + (layers - 1) * n * n + n * out));
        assert_true(i > 0 || size.parameters == 12341448);
    }
}

/* V E + L (2 E g E + g E) + E V + V */
static void recurrent_networks_have_the_parameters_of_their_closed_form(void **state)
{
    (void)state;
    static const char *const cells[] = {"rnn", "lstm", "gru"};
    static const uint64_t products[] = {1, 4, 3};
    uint64_t random = ll_seed(12);
    for (int i = 0; i < TRIALS; i++) {
        uint64_t layers = 1 + ll_random_below(&random, 5), e = 1 + ll_random_below(&random, 300),
                 v = 2 + ll_random_below(&random, 900), t = 1 + ll_random_below(&random, 6),
                 g = products[i % 3];
        struct settings s = {.count = 0};
        set_word(&s, "cell", cells[i % 3]);
        set(&s, "layers", layers);
        set(&s, "embed", e);
        set(&s, "length", t);
        set(&s, "vocabulary", v);
        struct ll_model_size size = size_of("paradnn_rnn", &s);
        assert_int_equal(size.parameters, v * e + layers * (2 * e * g * e + g * e) + e * v + v);
        assert_int_equal(size.forward_flops, t * (layers * 4 * g * e * e + 2 * e * v));
    }
}

/* The layers of cnn.c's first comment, counted one by one. */
struct counted {
    uint64_t size, channels, parameters, flops;
};

static struct counted convolved(struct counted x, uint64_t kernel, uint64_t stride, uint64_t filters)
{
    x.size = (x.size + kernel / 2 * 2 - kernel) / stride + 1;
    uint64_t weights = kernel * kernel * x.channels * filters;
    x.parameters += weights + 2 * filters;
    x.flops += 2 * x.size * x.size * weights;
    x.channels = filters;
    return x;
}

static struct counted blocked(struct counted x, bool residual, uint64_t f, uint64_t stride, bool projects)
{
    struct counted by = x;
    uint64_t out = residual ? f : 4 * f;
    if (!residual)
        x = convolved(x, 1, 1, f);
    x = convolved(x, 3, stride, f);
    x = convolved(x, residual ? 3 : 1, 1, out);
    if (projects) {
        by = convolved((struct counted){by.size, by.channels, 0, 0}, 1, stride, out);
        x.parameters += by.parameters;
        x.flops += by.flops;
    }
    return x;
}

static void convolutional_networks_have_the_parameters_of_their_layers(void **state)
{
    (void)state;
    uint64_t random = ll_seed(13);
    for (int i = 0; i < TRIALS; i++) {
        bool residual = i % 2;
        uint64_t n = 1 + ll_random_below(&random, 5), f = 1 + ll_random_below(&random, 70),
                 image = 193 + ll_random_below(&random, 150), out = 2 + ll_random_below(&random, 1500);
        struct settings s = {.count = 0};
        set_word(&s, "block", residual ? "residual" : "bottleneck");
        set(&s, "blocks", n);
        set(&s, "filters", f);
        set(&s, "image", image);
        set(&s, "output", out);
        struct counted x = convolved((struct counted){image, 3, 0, 0}, 7, 2, f);
        x.size = (x.size + 1) / 2;
        for (unsigned g = 0; g < 4; g++)
            for (uint64_t b = 0; b < n; b++)
                x = blocked(x, residual, f << g, g > 0 && b == 0 ? 2 : 1, b == 0);
        uint64_t features = (x.size - 6) * (x.size - 6) * x.channels;
        struct ll_model_size size = size_of("paradnn_cnn", &s);
        assert_int_equal(size.parameters, x.parameters + features * out + out);
        assert_int_equal(size.forward_flops, x.flops + 2 * features * out);
    }
}

/* Builds one step of training in this type. */
static struct ll_nn *built(const char *name, const struct settings *settings)
{
    const struct ll_model *model = ll_model_find(name);
    struct ll_diags diags = {0};
    int64_t values[32];
    struct ll_nn *nn = ll_nn_new(LL_F32);
    assert_true(ll_model_settings(model, settings->at, settings->count, values, &diags));
    model->build(nn, &(struct ll_build){.train = true, .batch = 2, .seed = 1, .params = values});
    if (ll_nn_trouble(nn))
        fail_msg("%s", ll_nn_trouble(nn));
    return nn;
}

/* Every weight is f32, so are its gradient and state; it is cast once and read by nothing else but its
 * update. */
static void narrow_networks_cast_each_weight_once_and_update_it_in_f32(void **state)
{
    (void)state;
    static const char *const models[] = {"paradnn_fc", "paradnn_cnn", "paradnn_rnn"};
    for (int i = 0; i < 3; i++) {
        struct settings s = {.count = 0};
        set_word(&s, "dtype", "bf16");
        struct ll_nn *nn = built(models[i], &s);
        for (uint64_t v = 0; v < nn->variable_count; v++) {
            const struct ll_value *weight = nn->variables[v];
            uint64_t casts = 0, updates = 0, reads = 0;
            if (weight->memory != LL_WEIGHT)
                continue;
            assert_int_equal(weight->shape.dtype, LL_F32);
            for (uint64_t o = 0; o < nn->op_count; o++)
                for (uint32_t in = 0; in < nn->ops[o]->view.input_count; in++)
                    if (nn->ops[o]->inputs[in] == weight) {
                        reads++;
                        casts += nn->ops[o]->view.kind == LL_OP_CAST;
                        updates += nn->ops[o]->view.kind == LL_OP_RMSPROP;
                    }
            assert_int_equal(casts, 1);
            assert_int_equal(updates, 1);
            assert_int_equal(reads, 2);
        }
        ll_nn_free(nn);
    }
}

/* The products and convolutions of a narrow network are narrow, its loss is not. */
static void narrow_networks_multiply_in_their_type(void **state)
{
    (void)state;
    struct settings s = {.count = 0};
    set_word(&s, "dtype", "f16");
    struct ll_nn *nn = built("paradnn_cnn", &s);
    for (uint64_t o = 0; o < nn->op_count; o++) {
        const struct ll_op_view *op = &nn->ops[o]->view;
        if (ll_op_class(op->kind) == LL_CLASS_MATRIX || ll_op_class(op->kind) == LL_CLASS_CONV)
            assert_true(op->in[0].dtype == LL_F16 && op->in[1].dtype == LL_F16 && op->out[0].dtype == LL_F16);
        if (op->kind == LL_OP_SOFTMAX_XENT_DENSE)
            assert_true(op->in[0].dtype == LL_F32 && op->in[1].dtype == LL_F32);
    }
    ll_nn_free(nn);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dense_networks_have_the_parameters_of_their_closed_form),
        cmocka_unit_test(recurrent_networks_have_the_parameters_of_their_closed_form),
        cmocka_unit_test(convolutional_networks_have_the_parameters_of_their_layers),
        cmocka_unit_test(narrow_networks_cast_each_weight_once_and_update_it_in_f32),
        cmocka_unit_test(narrow_networks_multiply_in_their_type),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
