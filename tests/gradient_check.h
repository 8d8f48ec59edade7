/* SPDX-License-Identifier: Apache-2.0 */
/* Gradients against finite differences, in double precision. */
#ifndef LL_TESTS_GRADIENT_CHECK_H
#define LL_TESTS_GRADIENT_CHECK_H

#include "check.h"
#include "random.h"

#include "models/nn/training.h"
#include "models/nn/runner.h"

/* A network whose loss depends on variables; `gradients` are kept values of the network. */
struct gradient_check {
    struct ll_nn *nn;
    struct ll_value *loss;
    struct ll_value **variables, **gradients;
    size_t count;
};

static inline double loss_at(struct ll_runner *runner, const struct gradient_check *check, double *at,
                             double value)
{
    double was = *at;
    *at = value;
    ll_runner_step(runner, 0);
    *at = was;
    return ll_runner_scalar(runner, check->loss);
}

/* Compares up to `most` elements of each gradient with (f(x + h) - f(x - h)) / 2h. The gradients are added to
 * the network here. */
static inline void check_gradients(struct gradient_check *check, uint64_t *random, uint64_t most)
{
    const double h = 1e-5;
    enum ll_status status;
    ll_nn_keep(check->loss);
    ll_nn_gradients(check->nn, check->loss, check->variables, check->count, check->gradients);
    for (size_t i = 0; i < check->count; i++)
        if (check->gradients[i])
            ll_nn_keep(check->gradients[i]);
    if (ll_nn_trouble(check->nn))
        fail_msg("%s", ll_nn_trouble(check->nn));
    struct ll_runner *runner = ll_runner_new(check->nn, &(struct ll_runner_options){.seed = 3}, &status);
    assert_int_equal(status, LL_OK);
    ll_runner_step(runner, 0);
    for (size_t i = 0; i < check->count; i++) {
        uint64_t elements = ll_elements(&check->variables[i]->shape);
        double *x = ll_runner_data(runner, check->variables[i]);
        const double *gradient = check->gradients[i] ? ll_runner_data(runner, check->gradients[i]) : NULL;
        for (uint64_t n = 0; n < (elements < most ? elements : most); n++) {
            uint64_t j = elements <= most ? n : ll_random_below(random, elements);
            double expected =
                (loss_at(runner, check, &x[j], x[j] + h) - loss_at(runner, check, &x[j], x[j] - h)) / (2 * h);
            ll_runner_step(runner, 0);
            double found = gradient ? gradient[j] : 0; /* nothing flows: the loss does not change */
            double rounding = 1e-14 * fabs(ll_runner_scalar(runner, check->loss)) / h;
            if (!(fabs(found - expected) <= 1e-7 + 1e-5 * fabs(expected) + rounding))
                fail_msg("%s: d loss / d %s[%llu] is %.12g, the difference says %.12g",
                         ll_op_name(check->nn->ops[0]->view.kind), check->variables[i]->name,
                         (unsigned long long)j, found, expected);
        }
    }
    ll_runner_free(runner);
}

#endif
