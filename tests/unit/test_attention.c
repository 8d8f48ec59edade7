/* SPDX-License-Identifier: Apache-2.0 */
#include "check.h"
#include "gradient_check.h"

#include "models/nn/layers.h"
#include "models/nn/nn.h"

#include <math.h>

enum { BATCH = 2, QUERIES = 3, KEYS = 5, HEADS = 2, EACH = 4, FEATURES = HEADS * EACH };

static struct ll_value *numbers(struct ll_nn *nn, const char *name, uint64_t steps)
{
    struct ll_shape shape = ll_nn_shape(nn, 3, (uint64_t[]){BATCH, steps, FEATURES}, NULL);
    return ll_nn_variable(nn, name, &shape, LL_WEIGHT, (struct ll_init){LL_INIT_NORMAL, 1, NULL});
}

/* The last key of the first sentence is hidden. */
static double bias_at(int sentence, int key)
{
    return sentence == 0 && key == KEYS - 1 ? ll_hidden_score : 0;
}

struct scene {
    struct ll_nn *nn;
    struct ll_value *q, *k, *v, *y;
};

static struct scene attended(void)
{
    static double list[BATCH * KEYS];
    for (int i = 0; i < BATCH * KEYS; i++)
        list[i] = bias_at(i / KEYS, i % KEYS);
    struct scene s = {.nn = ll_nn_new(LL_F64)};
    struct ll_shape shape = ll_nn_shape(s.nn, 4, (uint64_t[]){BATCH, 1, 1, KEYS}, NULL);
    struct ll_attention_options options = {.heads = HEADS};
    options.bias = ll_nn_variable(s.nn, "bias", &shape, LL_INPUT, (struct ll_init){LL_INIT_LIST, 0, list});
    s.q = numbers(s.nn, "q", QUERIES);
    s.k = numbers(s.nn, "k", KEYS);
    s.v = numbers(s.nn, "v", KEYS);
    s.y = ll_attention(s.nn, s.q, s.k, s.v, &options);
    if (ll_nn_trouble(s.nn))
        fail_msg("%s", ll_nn_trouble(s.nn));
    ll_nn_keep(s.y->root);
    return s;
}

static double score(const double *q, const double *k, int b, int head, int i, int j)
{
    double sum = 0;
    for (int n = head * EACH; n < (head + 1) * EACH; n++)
        sum += q[(b * QUERIES + i) * FEATURES + n] * k[(b * KEYS + j) * FEATURES + n];
    return sum / sqrt(EACH) + bias_at(b, j);
}

/* Vaswani et al., 2017, equation 1, head by head. */
static void attention_is_its_formula(void **state)
{
    (void)state;
    enum ll_status status;
    struct scene s = attended();
    struct ll_runner *runner = ll_runner_new(s.nn, &(struct ll_runner_options){.seed = 2}, &status);
    ll_runner_step(runner, 0);
    const double *q = ll_runner_data(runner, s.q), *k = ll_runner_data(runner, s.k),
                 *v = ll_runner_data(runner, s.v), *y = ll_runner_data(runner, s.y->root);
    for (int i = 0; i < BATCH * QUERIES * FEATURES; i++) {
        int n = i % FEATURES, query = i / FEATURES % QUERIES, b = i / FEATURES / QUERIES;
        double all = 0, sum = 0;
        for (int j = 0; j < KEYS; j++) {
            double share = exp(score(q, k, b, n / EACH, query, j));
            all += share;
            sum += share * v[(b * KEYS + j) * FEATURES + n];
        }
        assert_near(y[i], sum / all, 1e-12);
    }
    ll_runner_free(runner);
    ll_nn_free(s.nn);
}

static void its_gradients_are_those_of_its_formula(void **state)
{
    (void)state;
    uint64_t random = ll_seed(51);
    struct scene s = attended();
    struct ll_value *variables[] = {s.q, s.k, s.v}, *gradients[3];
    struct ll_value *loss = ll_nn_do1(s.nn, LL_OP_MEAN, ll_nn_do1(s.nn, LL_OP_SQUARE, s.y));
    struct gradient_check check = {s.nn, loss, variables, gradients, 3};
    check_gradients(&check, &random, 12);
    ll_nn_free(s.nn);
}

static void heads_that_do_not_share_evenly_are_refused(void **state)
{
    (void)state;
    struct ll_nn *nn = ll_nn_new(LL_F64);
    struct ll_value *x = numbers(nn, "x", KEYS);
    ll_attention(nn, x, x, x, &(struct ll_attention_options){.heads = 3});
    assert_non_null(strstr(ll_nn_trouble(nn), "cannot be shared out evenly"));
    ll_nn_free(nn);
}

/* A position sees itself and those before it. */
static void a_causal_bias_hides_what_comes_later(void **state)
{
    (void)state;
    enum ll_status status;
    struct ll_nn *nn = ll_nn_new(LL_F32);
    struct ll_value *bias = ll_causal_bias(nn, 4);
    ll_nn_keep(ll_nn_do1(nn, LL_OP_NEG, bias));
    struct ll_runner *runner = ll_runner_new(nn, &(struct ll_runner_options){.seed = 2}, &status);
    const float *list = ll_runner_data(runner, bias);
    for (int i = 0; i < 16; i++)
        assert_true(list[i] == (i % 4 > i / 4 ? (float)ll_hidden_score : 0));
    ll_runner_free(runner);
    ll_nn_free(nn);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(attention_is_its_formula),
        cmocka_unit_test(its_gradients_are_those_of_its_formula),
        cmocka_unit_test(heads_that_do_not_share_evenly_are_refused),
        cmocka_unit_test(a_causal_bias_hides_what_comes_later),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
