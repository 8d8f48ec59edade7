/* SPDX-License-Identifier: Apache-2.0 */
#include "check.h"

#include "models/nn/nn.h"

#include <stdlib.h>
#include <string.h>

enum { COUNT = 100001 };

static struct ll_value variable(const char *name, struct ll_init init)
{
    struct ll_value value = {
        .name = name, .init = init, .shape = {.rank = 1, .dtype = LL_F32, .dim = {COUNT}}};
    return value;
}

/* Mean and deviation; both are known to about 1/sqrt(COUNT) = 0.003 of the deviation. */
static void check_moments(struct ll_init init, double deviation, double most)
{
    struct ll_value value = variable("w", init);
    float *x = malloc(COUNT * sizeof *x);
    double sum = 0, squares = 0;
    ll_init_fill(&value, 7, NULL, x);
    for (int i = 0; i < COUNT; i++) {
        assert_true(fabs((double)x[i]) <= most);
        sum += (double)x[i];
        squares += (double)x[i] * (double)x[i];
    }
    assert_true(fabs(sum / COUNT) < 0.015 * deviation);
    assert_near(sqrt(squares / COUNT), deviation, 0.015);
    free(x);
}

static void numbers_have_the_deviation_asked_for(void **state)
{
    (void)state;
    check_moments((struct ll_init){LL_INIT_NORMAL, 3, NULL}, 3, 3 * 6);
    /* A normal variable cut at two deviations keeps sqrt(1 - 4 phi(2) / (2 Phi(2) - 1)) = 0.8796 of its own.
     */
    check_moments((struct ll_init){LL_INIT_TRUNCATED_NORMAL, 0.1, NULL}, 0.08796, 0.2 * 1.0001);
    check_moments((struct ll_init){LL_INIT_UNIFORM, 0.5, NULL}, 0.5 / sqrt(3), 0.5);
}

static void threads_and_types_draw_the_same(void **state)
{
    (void)state;
    struct ll_pool *pool = ll_pool_new(3);
    float *x = malloc(COUNT * sizeof *x), *y = malloc(COUNT * sizeof *y);
    double *z = malloc(COUNT * sizeof *z);
    for (int kind = LL_INIT_NORMAL; kind <= LL_INIT_UNIFORM; kind++) {
        struct ll_value value = variable("w", (struct ll_init){(enum ll_init_kind)kind, 1, NULL});
        ll_init_fill(&value, 7, NULL, x);
        ll_init_fill(&value, 7, pool, y);
        assert_memory_equal(x, y, COUNT * sizeof *x);
        value.shape.dtype = LL_F64;
        ll_init_fill(&value, 7, pool, z);
        for (int i = 0; i < COUNT; i++)
            assert_true((float)z[i] == x[i]);
    }
    free(x);
    free(y);
    free(z);
    ll_pool_free(pool);
}

static void seeds_and_names_draw_apart(void **state)
{
    (void)state;
    struct ll_init init = {LL_INIT_NORMAL, 1, NULL};
    struct ll_value a = variable("a", init), b = variable("b", init);
    float *x = malloc(COUNT * sizeof *x), *y = malloc(COUNT * sizeof *y), *z = malloc(COUNT * sizeof *z);
    ll_init_fill(&a, 7, NULL, x);
    ll_init_fill(&b, 7, NULL, y);
    ll_init_fill(&a, 8, NULL, z);
    int same = 0;
    for (int i = 0; i < COUNT; i++)
        same += (x[i] == y[i]) + (x[i] == z[i]);
    assert_true(same < 10); /* of 2^24 values, a few by chance */
    free(x);
    free(y);
    free(z);
}

static void a_list_is_taken_as_it_is(void **state)
{
    (void)state;
    const double list[] = {0.5, -3, 8};
    double x[3];
    struct ll_value value = variable("l", (struct ll_init){LL_INIT_LIST, 0, list});
    value.shape.dim[0] = 3;
    value.shape.dtype = LL_F64;
    ll_init_fill(&value, 1, NULL, x);
    assert_memory_equal(x, list, sizeof x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_have_the_deviation_asked_for),
        cmocka_unit_test(threads_and_types_draw_the_same),
        cmocka_unit_test(seeds_and_names_draw_apart),
        cmocka_unit_test(a_list_is_taken_as_it_is),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
