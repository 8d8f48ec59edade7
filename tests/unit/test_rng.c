/* SPDX-License-Identifier: Apache-2.0 */
#include "check.h"

#include "models/nn/nn.h"
#include "models/nn/runner.h"

#include <string.h>

enum { ELEMENTS = 100000 };

/* Two dropouts of ones. */
struct drop {
    struct ll_nn *nn;
    struct ll_value *y[2];
    struct ll_runner *runner;
};

static struct drop start(unsigned threads, uint64_t seed)
{
    struct drop d = {.nn = ll_nn_new(LL_F32)};
    enum ll_status status;
    struct ll_shape shape = ll_nn_shape(d.nn, 1, (uint64_t[]){ELEMENTS}, NULL);
    struct ll_value *x =
        ll_nn_variable(d.nn, "x", &shape, LL_INPUT, (struct ll_init){LL_INIT_CONSTANT, 1, NULL});
    struct ll_rng rng = ll_rng_begin(d.nn, seed);
    for (int i = 0; i < 2; i++)
        ll_nn_keep(d.y[i] = ll_dropout_layer(d.nn, "drop", x, 0.8, &rng));
    struct ll_pool *pool = ll_pool_new(threads);
    d.runner = ll_runner_new(d.nn, &(struct ll_runner_options){.pool = pool}, &status);
    assert_int_equal(status, LL_OK);
    for (uint64_t step = 0; step < 3; step++)
        ll_runner_step(d.runner, step);
    ll_pool_free(pool);
    return d;
}

static const float *result(const struct drop *d, int i)
{
    return ll_runner_data(d->runner, d->y[i]);
}

static void stop(struct drop *d)
{
    ll_runner_free(d->runner);
    ll_nn_free(d->nn);
}

/* Of n draws n p are expected, with a deviation of sqrt(n p (1 - p)) = 126; five of these are allowed. */
static void a_share_of_keep_is_left_and_the_mean_stays(void **state)
{
    (void)state;
    struct drop d = start(1, 1);
    uint64_t left = 0;
    for (int i = 0; i < ELEMENTS; i++) {
        assert_true(result(&d, 0)[i] == 0 || result(&d, 0)[i] == 1 / 0.8f);
        left += result(&d, 0)[i] != 0;
    }
    assert_near((double)left, 0.8 * ELEMENTS, 5 * 126.5);
    stop(&d);
}

static void every_run_draws_the_same_at_any_number_of_threads(void **state)
{
    (void)state;
    struct drop one = start(1, 7), three = start(3, 7);
    for (int i = 0; i < 2; i++)
        assert_memory_equal(result(&one, i), result(&three, i), ELEMENTS * sizeof(float));
    stop(&one);
    stop(&three);
}

/* Two independent masks agree in 0.8^2 + 0.2^2 = 68 % of the elements, with a deviation of 148. */
static void check_independent(const float *a, const float *b)
{
    uint64_t equal = 0;
    for (int i = 0; i < ELEMENTS; i++)
        equal += a[i] == b[i];
    assert_near((double)equal, 0.68 * ELEMENTS, 5 * 147.5);
}

static void every_step_op_and_seed_draws_anew(void **state)
{
    (void)state;
    struct drop d = start(1, 7), other = start(1, 8);
    float *before = malloc(ELEMENTS * sizeof *before);
    check_independent(result(&d, 0), result(&d, 1));
    check_independent(result(&d, 0), result(&other, 0));
    memcpy(before, result(&d, 0), ELEMENTS * sizeof *before);
    ll_runner_free(d.runner);
    enum ll_status status;
    d.runner = ll_runner_new(d.nn, &(struct ll_runner_options){0}, &status);
    ll_runner_step(d.runner, 0);
    check_independent(before, result(&d, 0)); /* step 3 and step 1 */
    free(before);
    stop(&d);
    stop(&other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_share_of_keep_is_left_and_the_mean_stays),
        cmocka_unit_test(every_run_draws_the_same_at_any_number_of_threads),
        cmocka_unit_test(every_step_op_and_seed_draws_anew),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
