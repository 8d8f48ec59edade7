/* SPDX-License-Identifier: Apache-2.0 */
#include "check.h"
#include "gradient_check.h"

#include "models/nn/recurrent.h"

enum { BATCH = 3, INPUTS = 2, UNITS = 4, ALL = INPUTS + UNITS };

static struct ll_value *numbers(struct ll_nn *nn, const char *name, uint64_t rows, uint64_t columns)
{
    struct ll_shape shape = ll_nn_shape(nn, 2, (uint64_t[]){rows, columns}, NULL);
    return ll_nn_variable(nn, name, &shape, LL_WEIGHT, (struct ll_init){LL_INIT_NORMAL, 1, NULL});
}

static const struct ll_init normal = {LL_INIT_NORMAL, 1, NULL};

/* One step of a layer from some state. */
struct cell {
    struct ll_nn *nn;
    struct ll_lstm lstm;
    struct ll_value *x;
    struct ll_lstm_state before, after;
};

static struct cell one_step(void)
{
    struct cell cell = {.nn = ll_nn_new(LL_F64)};
    cell.lstm = ll_lstm_begin(cell.nn, "lstm", INPUTS, UNITS, normal);
    cell.x = numbers(cell.nn, "x", BATCH, INPUTS);
    cell.before =
        (struct ll_lstm_state){numbers(cell.nn, "c", BATCH, UNITS), numbers(cell.nn, "h", BATCH, UNITS)};
    cell.after = ll_lstm_step(cell.nn, &cell.lstm, cell.x, cell.before);
    ll_nn_keep(cell.after.c);
    ll_nn_keep(cell.after.h);
    assert_null(ll_nn_trouble(cell.nn));
    return cell;
}

static double sigmoid(double x)
{
    return 1 / (1 + exp(-x));
}

/* What reaches gate `gate` of a unit: x and h side by side, a column of the weights, a bias. */
static double gate_of(const double *x, const double *h, const double *weights, const double *biases, int gate,
                      int unit)
{
    double sum = biases[gate * UNITS + unit];
    for (int i = 0; i < ALL; i++)
        sum += (i < INPUTS ? x[i] : h[i - INPUTS]) * weights[i * 4 * UNITS + gate * UNITS + unit];
    return sum;
}

/* The formula of recurrent.h, unit by unit; gates: input, candidate, forget, output. */
static void a_step_of_lstm_is_its_formula(void **state)
{
    (void)state;
    enum ll_status status;
    struct cell cell = one_step();
    struct ll_runner *runner = ll_runner_new(cell.nn, &(struct ll_runner_options){.seed = 3}, &status);
    double *biases = ll_runner_data(runner, cell.lstm.gates.biases);
    for (int i = 0; i < 4 * UNITS; i++)
        biases[i] = 0.1 * i - 0.7;
    const double *weights = ll_runner_data(runner, cell.lstm.gates.weights);
    const double *x = ll_runner_data(runner, cell.x), *c = ll_runner_data(runner, cell.before.c),
                 *h = ll_runner_data(runner, cell.before.h);
    ll_runner_step(runner, 0);
    const double *new_c = ll_runner_data(runner, cell.after.c), *new_h = ll_runner_data(runner, cell.after.h);
    for (int b = 0; b < BATCH; b++)
        for (int unit = 0; unit < UNITS; unit++) {
            double gates[4];
            for (int gate = 0; gate < 4; gate++)
                gates[gate] = gate_of(x + b * INPUTS, h + b * UNITS, weights, biases, gate, unit);
            double expected =
                c[b * UNITS + unit] * sigmoid(gates[2] + 1) + sigmoid(gates[0]) * tanh(gates[1]);
            assert_near(new_c[b * UNITS + unit], expected, 1e-12);
            assert_near(new_h[b * UNITS + unit], tanh(expected) * sigmoid(gates[3]), 1e-12);
        }
    ll_runner_free(runner);
    ll_nn_free(cell.nn);
}

static void a_step_of_lstm_has_the_gradients_of_its_formula(void **state)
{
    (void)state;
    uint64_t random = ll_seed(41);
    struct cell cell = one_step();
    struct ll_value *variables[] = {cell.x, cell.before.c, cell.before.h, cell.lstm.gates.weights,
                                    cell.lstm.gates.biases};
    struct ll_value *gradients[5];
    struct ll_value *both = ll_nn_do2(cell.nn, LL_OP_MUL, cell.after.h,
                                      ll_nn_do2(cell.nn, LL_OP_ADD, cell.after.c, cell.after.h));
    struct gradient_check check = {cell.nn, ll_nn_do1(cell.nn, LL_OP_MEAN, both), variables, gradients, 5};
    check_gradients(&check, &random, 12);
    ll_nn_free(cell.nn);
}

/* TensorFlow's cell of 2016: concat, matmul, bias_add, split, three sigmoids, two tanhs, three products, two
 * sums. */
static void a_step_of_lstm_is_fourteen_ops(void **state)
{
    (void)state;
    struct cell cell = one_step();
    assert_int_equal(cell.nn->op_count, 14);
    for (uint64_t i = 0; i < cell.nn->op_count; i++)
        assert_string_equal(cell.nn->ops[i]->scope, "lstm");
    assert_int_equal(ll_nn_parameters(cell.nn), (ALL + 1) * 4 * UNITS + BATCH * (INPUTS + 2 * UNITS));
    ll_nn_free(cell.nn);
}

static void one_input_is_not_concatenated(void **state)
{
    (void)state;
    struct ll_nn *nn = ll_nn_new(LL_F64);
    struct ll_linear linear = ll_linear_begin(nn, "linear", INPUTS, UNITS, normal);
    struct ll_value *x = numbers(nn, "x", BATCH, INPUTS);
    ll_linear_apply(nn, &linear, 1, &x);
    assert_int_equal(nn->op_count, 2);
    assert_string_equal(linear.weights->name, "linear/weights");
    ll_nn_free(nn);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_step_of_lstm_is_its_formula),
        cmocka_unit_test(a_step_of_lstm_has_the_gradients_of_its_formula),
        cmocka_unit_test(a_step_of_lstm_is_fourteen_ops),
        cmocka_unit_test(one_input_is_not_concatenated),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
