/* SPDX-License-Identifier: Apache-2.0 */
#include "check.h"
#include "gradient_check.h"

#include "models/nn/layers.h"

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

/* The formula of models/nn/layers.h, unit by unit; gates: input, candidate, forget, output. */
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

/* A row of x times a matrix, and a bias. */
static double product_at(const double *x, int inputs, struct ll_runner *runner,
                         const struct ll_linear *linear, int unit)
{
    const double *weights = ll_runner_data(runner, linear->weights),
                 *biases = ll_runner_data(runner, linear->biases);
    uint64_t units = linear->weights->shape.dim[1];
    double sum = biases[unit];
    for (int i = 0; i < inputs; i++)
        sum += x[i] * weights[(uint64_t)i * units + (uint64_t)unit];
    return sum;
}

static void fill_biases(struct ll_runner *runner, const struct ll_linear *linear)
{
    double *biases = ll_runner_data(runner, linear->biases);
    for (uint64_t i = 0; i < linear->biases->shape.dim[0]; i++)
        biases[i] = 0.1 * (double)i - 0.3;
}

/* Gates: input, forget, candidate, output. */
static void a_step_of_split_lstm_is_its_formula(void **state)
{
    (void)state;
    enum ll_status status;
    struct ll_nn *nn = ll_nn_new(LL_F64);
    struct ll_split_lstm lstm = ll_split_lstm_begin(nn, "lstm", INPUTS, UNITS, normal);
    struct ll_value *x = numbers(nn, "x", BATCH, INPUTS);
    struct ll_lstm_state before = {numbers(nn, "c", BATCH, UNITS), numbers(nn, "h", BATCH, UNITS)};
    struct ll_lstm_state after = ll_split_lstm_step(nn, &lstm, x, before);
    ll_nn_keep(after.c);
    ll_nn_keep(after.h);
    assert_int_equal(nn->op_count, 15);
    struct ll_runner *runner = ll_runner_new(nn, &(struct ll_runner_options){.seed = 3}, &status);
    fill_biases(runner, &lstm.input);
    fill_biases(runner, &lstm.state);
    ll_runner_step(runner, 0);
    const double *c = ll_runner_data(runner, after.c), *h = ll_runner_data(runner, after.h);
    for (int i = 0; i < BATCH * UNITS; i++) {
        double gates[4];
        for (int gate = 0; gate < 4; gate++)
            gates[gate] = product_at((double *)ll_runner_data(runner, x) + i / UNITS * INPUTS, INPUTS, runner,
                                     &lstm.input, gate * UNITS + i % UNITS) +
                          product_at((double *)ll_runner_data(runner, before.h) + i / UNITS * UNITS, UNITS,
                                     runner, &lstm.state, gate * UNITS + i % UNITS);
        double expected = ((double *)ll_runner_data(runner, before.c))[i] * sigmoid(gates[1]) +
                          sigmoid(gates[0]) * tanh(gates[2]);
        assert_near(c[i], expected, 1e-12);
        assert_near(h[i], tanh(expected) * sigmoid(gates[3]), 1e-12);
    }
    ll_runner_free(runner);
    ll_nn_free(nn);
}

/* Cho et al., 2014, equations 5 to 8, with the update gate turned around as MXNet has it. */
static void a_step_of_gru_is_its_formula(void **state)
{
    (void)state;
    enum ll_status status;
    struct ll_nn *nn = ll_nn_new(LL_F64);
    struct ll_gru gru = ll_gru_begin(nn, "gru", UNITS, normal);
    struct ll_value *gates = numbers(nn, "gates", BATCH, 2 * UNITS);
    struct ll_value *candidate = numbers(nn, "candidate", BATCH, UNITS);
    struct ll_value *before = numbers(nn, "h", BATCH, UNITS);
    struct ll_value *after = ll_gru_step(nn, &gru, gates, candidate, before);
    ll_nn_keep(after);
    assert_int_equal(nn->op_count, 13);
    struct ll_runner *runner = ll_runner_new(nn, &(struct ll_runner_options){.seed = 3}, &status);
    fill_biases(runner, &gru.gates);
    fill_biases(runner, &gru.candidate);
    ll_runner_step(runner, 0);
    const double *found = ll_runner_data(runner, after);
    for (int b = 0; b < BATCH; b++) {
        const double *h = (const double *)ll_runner_data(runner, before) + b * UNITS;
        const double *in = (const double *)ll_runner_data(runner, gates) + 2 * b * UNITS;
        double reset[UNITS];
        for (int i = 0; i < UNITS; i++)
            reset[i] = h[i] * sigmoid(in[i] + product_at(h, UNITS, runner, &gru.gates, i));
        for (int i = 0; i < UNITS; i++) {
            double update = sigmoid(in[UNITS + i] + product_at(h, UNITS, runner, &gru.gates, UNITS + i));
            double c = tanh(((const double *)ll_runner_data(runner, candidate))[b * UNITS + i] +
                            product_at(reset, UNITS, runner, &gru.candidate, i));
            assert_near(found[b * UNITS + i], (1 - update) * h[i] + update * c, 1e-12);
        }
    }
    ll_runner_free(runner);
    ll_nn_free(nn);
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
        cmocka_unit_test(a_step_of_split_lstm_is_its_formula),
        cmocka_unit_test(a_step_of_gru_is_its_formula),
        cmocka_unit_test(one_input_is_not_concatenated),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
