/* SPDX-License-Identifier: Apache-2.0 */
#include "check.h"

#include "models/nn/training.h"
#include "models/nn/nn.h"
#include "models/nn/runner.h"

#include <string.h>

static const struct ll_init ones = {LL_INIT_CONSTANT, 1, NULL};

static struct ll_value *matrix(struct ll_nn *nn, const char *name, uint64_t rows, uint64_t columns)
{
    struct ll_shape shape = ll_nn_shape(nn, 2, (uint64_t[]){rows, columns}, NULL);
    return ll_nn_variable(nn, name, &shape, LL_WEIGHT, ones);
}

static void values_are_named_after_their_scope(void **state)
{
    (void)state;
    struct ll_nn *nn = ll_nn_new(LL_F32);
    ll_nn_push(nn, "encoder");
    ll_nn_push(nn, "lstm0");
    struct ll_value *w = matrix(nn, "weights", 2, 2), *y = ll_nn_do1(nn, LL_OP_RELU, w);
    ll_nn_pop(nn);
    struct ll_value *z = ll_nn_do1(nn, LL_OP_RELU, y);
    ll_nn_pop(nn);
    assert_string_equal(w->name, "encoder/lstm0/weights");
    assert_string_equal(y->name, "encoder/lstm0/relu");
    assert_string_equal(y->producer->scope, "encoder/lstm0");
    assert_string_equal(z->producer->scope, "encoder");
    assert_string_equal(ll_nn_do1(nn, LL_OP_RELU, z)->producer->scope, "");
    ll_nn_free(nn);
}

static void the_first_trouble_is_kept_and_building_goes_on(void **state)
{
    (void)state;
    struct ll_nn *nn = ll_nn_new(LL_F32);
    ll_nn_push(nn, "fc1");
    struct ll_value *y = ll_nn_do2(nn, LL_OP_MATMUL, matrix(nn, "a", 2, 3), matrix(nn, "b", 4, 5));
    ll_nn_pop(nn);
    y = ll_nn_do1(nn, LL_OP_RELU, y);
    assert_int_equal(y->shape.rank, 0);
    ll_nn_fail(nn, "later");
    assert_string_equal(ll_nn_trouble(nn),
                        "matmul in fc1: the columns of the left matrix must be as many as the "
                        "rows of the right one");
    assert_int_equal(nn->op_count, 0);
    ll_nn_free(nn);
}

static void a_size_past_64_bits_is_trouble(void **state)
{
    (void)state;
    struct ll_nn *nn = ll_nn_new(LL_F32);
    struct ll_value *a = matrix(nn, "a", UINT64_C(1) << 40, 1), *b = matrix(nn, "b", 1, UINT64_C(1) << 40);
    assert_null(ll_nn_trouble(nn));
    ll_nn_do2(nn, LL_OP_MATMUL, a, b);
    assert_non_null(strstr(ll_nn_trouble(nn), "does not fit in 64 bits"));
    ll_nn_free(nn);
}

static void parameters_are_weights_and_flops_are_products(void **state)
{
    (void)state;
    struct ll_nn *nn = ll_nn_new(LL_F32);
    struct ll_value *w = matrix(nn, "w", 3, 5);
    struct ll_shape shape = w->shape;
    ll_nn_variable(nn, "state", &shape, LL_OPTIMIZER, ones);
    ll_nn_do1(nn, LL_OP_RELU, ll_nn_do2(nn, LL_OP_MATMUL, matrix(nn, "x", 2, 3), w));
    nn->phase = LL_PHASE_BACKWARD;
    ll_nn_do2(nn, LL_OP_MATMUL, w, w->producer ? w : matrix(nn, "z", 5, 1));
    assert_int_equal(ll_nn_parameters(nn), 3 * 5 + 2 * 3 + 5 * 1);
    assert_int_equal(ll_nn_forward_flops(nn), 2 * 2 * 3 * 5);
    ll_nn_free(nn);
}

/* A view and an in-place result live in the memory of their input; only the latter replaces it. */
static void memory_is_shared_by_what_looks_at_it(void **state)
{
    (void)state;
    struct ll_nn *nn = ll_nn_new(LL_F32);
    struct ll_value *w = matrix(nn, "w", 3, 5), *g = matrix(nn, "g", 3, 5);
    struct ll_shape flat = ll_nn_shape(nn, 1, (uint64_t[]){15}, NULL);
    struct ll_value *view = ll_nn_do(
        nn, &(struct ll_nn_call){
                .kind = LL_OP_RESHAPE, .input_count = 1, .inputs = &w, .given_count = 1, .given = &flat});
    assert_ptr_equal(view->root, w);
    assert_ptr_equal(w->next, w);
    struct ll_value *updated = ll_nn_do2(nn, LL_OP_SGD, w, g);
    assert_ptr_equal(updated->root, w);
    assert_ptr_equal(w->next, updated);
    assert_int_equal(updated->memory, LL_WEIGHT);
    assert_string_equal(updated->name, "w");
    ll_nn_free(nn);
}

/* Half the sum of (4 w)^2, w being read four times. */
static struct ll_value *read_often(struct ll_nn *nn, struct ll_value *w)
{
    struct ll_value *sum = ll_nn_do1(nn, LL_OP_RELU, w);
    for (int i = 0; i < 3; i++)
        sum = ll_nn_do2(nn, LL_OP_ADD, sum, ll_nn_do1(nn, LL_OP_RELU, w));
    return ll_nn_do1(nn, LL_OP_L2_LOSS, sum);
}

/* The first sum has memory of its own: what has arrived before it may be somebody else's, too. */
static void gradients_are_added_over_their_sum(void **state)
{
    (void)state;
    enum ll_status status;
    struct ll_nn *nn = ll_nn_new(LL_F64);
    struct ll_value *w = matrix(nn, "w", 3, 5), *dw, *sums[3];
    ll_nn_gradients(nn, read_often(nn, w), &w, 1, &dw);
    ll_nn_keep(dw);
    sums[2] = dw;
    for (int i = 2; i > 0; i--)
        sums[i - 1] = sums[i]->producer->inputs[0];
    for (int i = 0; i < 3; i++)
        assert_int_equal(sums[i]->producer->view.kind, LL_OP_ADD);
    assert_ptr_equal(sums[2]->root, sums[0]);
    assert_ptr_equal(sums[1]->root, sums[0]);
    assert_ptr_not_equal(sums[0]->producer->inputs[0]->root, sums[0]);
    struct ll_runner *runner = ll_runner_new(nn, &(struct ll_runner_options){0}, &status);
    ll_runner_step(runner, 0);
    assert_true(ll_runner_element(runner, dw, 14) == 16);
    ll_runner_free(runner);
    ll_nn_free(nn);
}

/* TensorFlow's graphs have an op that adds all pieces at once. */
static void tensorflow_adds_gradients_elsewhere(void **state)
{
    (void)state;
    struct ll_nn *nn = ll_nn_new(LL_F64);
    struct ll_value *w = matrix(nn, "w", 3, 5), *dw;
    nn->as_tensorflow = true;
    ll_nn_gradients(nn, read_often(nn, w), &w, 1, &dw);
    for (uint64_t i = 0; i < nn->op_count; i++)
        assert_ptr_equal(nn->ops[i]->outputs[0]->root, nn->ops[i]->outputs[0]);
    ll_nn_free(nn);
}

/* s is doubled each step: 1, 2, 4, ... */
static void a_variable_becomes_what_is_carried(void **state)
{
    (void)state;
    enum ll_status status;
    struct ll_nn *nn = ll_nn_new(LL_F64);
    struct ll_value *s = matrix(nn, "s", 1, 2), *sum = ll_nn_do2(nn, LL_OP_ADD, s, s);
    ll_nn_carry(nn, s, sum);
    struct ll_runner *runner = ll_runner_new(nn, &(struct ll_runner_options){0}, &status);
    for (uint64_t step = 0; step < 5; step++)
        ll_runner_step(runner, step);
    assert_true(((double *)ll_runner_data(runner, s))[1] == 32);
    ll_runner_free(runner);
    ll_nn_free(nn);
}

/* Optimizer state outlives the step and counts in every footprint; a gradient that was clipped does not. */
static void what_an_update_does_not_leave_behind_is_no_state(void **state)
{
    (void)state;
    struct ll_nn *nn = ll_nn_new(LL_F32);
    struct ll_shape shape = ll_nn_shape(nn, 1, (uint64_t[]){2}, NULL);
    struct ll_value *powers = ll_nn_variable(nn, "powers", &shape, LL_OPTIMIZER, ones);
    nn->phase = LL_PHASE_UPDATE;
    struct ll_value *clipped = ll_nn_do2(nn, LL_OP_MUL, matrix(nn, "g", 3, 5), matrix(nn, "scale", 3, 5));
    struct ll_value *advanced = ll_nn_do2(nn, LL_OP_MUL, powers, powers);
    ll_nn_carry(nn, powers, advanced);
    assert_int_equal(clipped->memory, LL_GRADIENT);
    assert_int_equal(advanced->memory, LL_OPTIMIZER);
    ll_nn_free(nn);
}

/* Chooses program 1 in every third step. */
static uint32_t every_third(void *context, struct ll_runner *runner, uint64_t step)
{
    (void)runner;
    ++*(uint64_t *)context;
    return step % 3 == 2;
}

static void count_release(void *context)
{
    *(uint64_t *)context += 100;
}

/* Program 0 doubles s, program 1 adds ten to it. Six steps: ((1 2 2 + 10) 2 2 + 10) = 66.
 * Running program 0 once outside of the steps makes it 132. */
static void programs_share_variables_and_take_turns(void **state)
{
    (void)state;
    enum ll_status status;
    uint64_t calls = 0;
    struct ll_nn *nn = ll_nn_new(LL_F64);
    struct ll_value *s = matrix(nn, "s", 1, 2);
    ll_nn_carry(nn, s, ll_nn_do2(nn, LL_OP_ADD, s, s));
    assert_int_equal(ll_nn_begin_program(nn), 1);
    assert_ptr_equal(matrix(nn, "s", 1, 2), s);
    struct ll_shape shape = s->shape;
    struct ll_value *t =
        ll_nn_variable(nn, "t", &shape, LL_WEIGHT, (struct ll_init){LL_INIT_CONSTANT, 10, NULL});
    ll_nn_carry(nn, s, ll_nn_do2(nn, LL_OP_ADD, ll_nn_do1(nn, LL_OP_RELU, s), t));
    ll_nn_drive(nn, &(struct ll_driver){&calls, every_third, count_release, NULL});
    assert_int_equal(ll_nn_program_ops(nn, 0), 1);
    assert_int_equal(ll_nn_program_ops(nn, 1), 2);
    assert_int_equal(ll_nn_parameters(nn), 2); /* what other programs have besides is not the model's */

    struct ll_runner *runner = ll_runner_new(nn, &(struct ll_runner_options){0}, &status);
    for (uint64_t step = 0; step < 6; step++)
        ll_runner_step(runner, step);
    assert_true(((double *)ll_runner_data(runner, s))[1] == 66);
    assert_int_equal(ll_runner_ops(runner), 4 * 1 + 2 * 2);
    assert_int_equal(calls, 6);
    ll_runner_run(runner, 0, 0);
    assert_true(((double *)ll_runner_data(runner, s))[0] == 132);
    assert_int_equal(ll_runner_ops(runner), 8);
    ll_runner_free(runner);
    ll_nn_free(nn);
    assert_int_equal(calls, 106);
}

static enum ll_status count_prepare(void *context)
{
    return ++*(uint64_t *)context == 1 ? LL_OK : LL_TOO_LARGE;
}

static void a_driver_prepares_where_something_is_computed(void **state)
{
    (void)state;
    enum ll_status status;
    uint64_t calls = 0;
    struct ll_nn *nn = ll_nn_new(LL_F64);
    matrix(nn, "s", 1, 2);
    ll_nn_drive(nn, &(struct ll_driver){.context = &calls, .prepare = count_prepare});
    ll_runner_free(ll_runner_new(nn, &(struct ll_runner_options){.dry_run = true}, &status));
    assert_int_equal(calls, 0);
    struct ll_runner *runner = ll_runner_new(nn, &(struct ll_runner_options){0}, &status);
    assert_non_null(runner);
    ll_runner_free(runner);
    assert_int_equal(calls, 1);
    assert_null(ll_runner_new(nn, &(struct ll_runner_options){0}, &status));
    assert_int_equal(status, LL_TOO_LARGE);
    ll_nn_free(nn);
}

/* Overwrites a weight of [1, 2] with itself less a quarter of ones. */
static void descend(struct ll_nn *nn, struct ll_value *w)
{
    struct ll_attr rate = ll_attr_of_real(LL_ATTR_LEARNING_RATE, 0.25);
    struct ll_value *inputs[] = {w, matrix(nn, "g", 1, 2)};
    ll_nn_do(nn, &(struct ll_nn_call){
                     .kind = LL_OP_SGD, .input_count = 2, .inputs = inputs, .attr_count = 1, .attrs = &rate});
}

/* The weight that one program's optimizer overwrites can be read by the next one. */
static void a_program_reads_what_another_overwrites(void **state)
{
    (void)state;
    enum ll_status status;
    struct ll_nn *nn = ll_nn_new(LL_F64);
    struct ll_value *w = matrix(nn, "w", 1, 2);
    descend(nn, w);
    ll_nn_begin_program(nn);
    struct ll_value *twice = ll_nn_do2(nn, LL_OP_ADD, w, w);
    ll_nn_keep(twice);
    struct ll_runner *runner = ll_runner_new(nn, &(struct ll_runner_options){0}, &status);
    ll_runner_step(runner, 0);
    ll_runner_run(runner, 1, 0);
    assert_true(((double *)ll_runner_data(runner, twice))[0] == 2 * (1 - 0.25));
    ll_runner_free(runner);
    ll_nn_free(nn);
}

/* Neither what is overwritten in place nor what is carried over has moved when the first step begins. */
static void a_rehearsal_changes_nothing(void **state)
{
    (void)state;
    enum ll_status status;
    struct ll_nn *nn = ll_nn_new(LL_F64);
    struct ll_value *w = matrix(nn, "w", 1, 2), *s = matrix(nn, "s", 1, 2);
    descend(nn, w);
    ll_nn_carry(nn, s, ll_nn_do2(nn, LL_OP_ADD, s, s));
    struct ll_runner *runner = ll_runner_new(nn, &(struct ll_runner_options){.rehearse = true}, &status);
    assert_false(ll_runner_rehearsed(runner));
    ll_runner_step(runner, 0);
    assert_true(ll_runner_rehearsed(runner));
    ll_runner_step(runner, 1);
    assert_true(((double *)ll_runner_data(runner, w))[0] == 0.5);
    assert_true(((double *)ll_runner_data(runner, s))[1] == 4);
    assert_int_equal(ll_runner_ops(runner), 4);
    ll_runner_free(runner);
    ll_nn_free(nn);
}

/* The first of 33 numbers share a scale of one, since the largest is that of the type: what is left of some,
 * by hand, of two numbers as near the even one. The last has a scale of its own where blocks are of 32 or 16.
 */
static void neighbours_share_scales(void **state)
{
    (void)state;
    static const struct {
        enum ll_dtype dtype;
        enum ll_scales scales;
        double given[6], left[6], last, last_left;
    } formats[] = {
        {LL_F4, LL_SCALES_E8M0, {6, 0.4, 2.4, 2.5, 5, -0.7}, {6, 0.5, 2, 2, 4, -0.5}, 0.75, 0.75},
        {LL_F8, LL_SCALES_E8M0, {448, 17, 19, -300, 447, 0.1}, {448, 16, 20, -288, 448, 0.1015625}, 3, 3},
        {LL_F4, LL_SCALES_E4M3, {6, 1.2, 3.6, 4.9, -5.1, 0}, {6, 1, 4, 4, -6, 0}, 0.375, 0.375},
        {LL_INT4, LL_SCALES_F16, {7, 2.5, 3.5, -6.6, -0.4, 0.6}, {7, 2, 4, -7, 0, 1}, 0.5, 0},
        {LL_INT8, LL_SCALES_F32_ROW, {127, 2.5, -3.5, 99.9, 0.4, -126.6}, {127, 2, -4, 100, 0, -127}, 5, 5},
    };
    for (size_t f = 0; f < sizeof formats / sizeof *formats; f++) {
        enum ll_status status;
        double list[33] = {0};
        memcpy(list, formats[f].given, sizeof formats[f].given);
        list[32] = formats[f].last;
        struct ll_nn *nn = ll_nn_new(LL_F32);
        struct ll_shape shape = ll_nn_shape(nn, 1, (uint64_t[]){33}, NULL);
        struct ll_value *x =
            ll_nn_variable(nn, "x", &shape, LL_WEIGHT, (struct ll_init){LL_INIT_LIST, 0, list});
        struct ll_value *y = ll_nn_quantized(nn, x, formats[f].dtype, formats[f].scales);
        ll_nn_keep(y);
        struct ll_runner *runner = ll_runner_new(nn, &(struct ll_runner_options){.seed = 3}, &status);
        assert_int_equal(status, LL_OK);
        ll_runner_step(runner, 0);
        const float *left = ll_runner_data(runner, y);
        for (int i = 0; i < 6; i++)
            if ((double)left[i] != formats[f].left[i])
                fail_msg("format %zu: of %g %g is left, expected %g", f, formats[f].given[i], (double)left[i],
                         formats[f].left[i]);
        assert_true((double)left[32] == formats[f].last_left);
        ll_runner_free(runner);
        ll_nn_free(nn);
    }
}

/* The gradient through rounding against the slope across six steps of a scale of one, which rounding changes
 * by a step at most. */
static void rounding_has_the_slope_of_a_line_across_many_steps(void **state)
{
    (void)state;
    enum { COUNT = 5 };
    const double h = 3;
    double list[COUNT] = {7, 0.3, -2.2, 3.4, -3.9}, factors[COUNT] = {1, 2, -1, 0.5, 3};
    enum ll_status status;
    struct ll_nn *nn = ll_nn_new(LL_F64);
    struct ll_shape shape = ll_nn_shape(nn, 1, (uint64_t[]){COUNT}, NULL);
    struct ll_value *x = ll_nn_variable(nn, "x", &shape, LL_WEIGHT, (struct ll_init){LL_INIT_LIST, 0, list});
    struct ll_value *r =
        ll_nn_variable(nn, "r", &shape, LL_WEIGHT, (struct ll_init){LL_INIT_LIST, 0, factors});
    struct ll_value *y = ll_nn_quantized(nn, x, LL_INT4, LL_SCALES_F16), *gradient;
    struct ll_value *loss = ll_nn_do1(nn, LL_OP_MEAN, ll_nn_do2(nn, LL_OP_MUL, y, r));
    ll_nn_keep(loss);
    ll_nn_gradients(nn, loss, &x, 1, &gradient);
    ll_nn_keep(gradient);
    struct ll_runner *runner = ll_runner_new(nn, &(struct ll_runner_options){.seed = 3}, &status);
    assert_int_equal(status, LL_OK);
    double *at = ll_runner_data(runner, x);
    for (int i = 1; i < COUNT; i++) { /* the first makes the scale */
        double ends[2];
        for (int side = 0; side < 2; side++) {
            at[i] = list[i] + (side ? h : -h);
            ll_runner_step(runner, 0);
            ends[side] = ll_runner_scalar(runner, loss);
        }
        at[i] = list[i];
        ll_runner_step(runner, 0);
        const double found = ((const double *)ll_runner_data(runner, gradient))[i];
        assert_true(fabs(found - factors[i] / COUNT) <= 1e-15);
        assert_true(fabs((ends[1] - ends[0]) / (2 * h) - found) <=
                    fabs(factors[i] / COUNT) / (2 * h) + 1e-12);
    }
    ll_runner_free(runner);
    ll_nn_free(nn);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_rehearsal_changes_nothing),
        cmocka_unit_test(values_are_named_after_their_scope),
        cmocka_unit_test(the_first_trouble_is_kept_and_building_goes_on),
        cmocka_unit_test(a_size_past_64_bits_is_trouble),
        cmocka_unit_test(parameters_are_weights_and_flops_are_products),
        cmocka_unit_test(memory_is_shared_by_what_looks_at_it),
        cmocka_unit_test(gradients_are_added_over_their_sum),
        cmocka_unit_test(tensorflow_adds_gradients_elsewhere),
        cmocka_unit_test(a_variable_becomes_what_is_carried),
        cmocka_unit_test(what_an_update_does_not_leave_behind_is_no_state),
        cmocka_unit_test(programs_share_variables_and_take_turns),
        cmocka_unit_test(a_driver_prepares_where_something_is_computed),
        cmocka_unit_test(a_program_reads_what_another_overwrites),
        cmocka_unit_test(neighbours_share_scales),
        cmocka_unit_test(rounding_has_the_slope_of_a_line_across_many_steps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
