/* SPDX-License-Identifier: Apache-2.0 */
/* Every gradient rule of the op table against finite differences, on random ops. */
#include "gradient_check.h"
#include "op_samples.h"

enum { RUNS = 12 / ONE_IN, SECOND_RUNS = 5, ELEMENTS = 12 };

/* Class numbers, or true and false in turn. */
static void fill_labels(const struct ll_feed *feed, uint64_t step, const struct ll_shape *shape, void *data)
{
    (void)step;
    for (uint64_t i = 0; i < ll_elements(shape); i++)
        if (shape->dtype == LL_BOOL || shape->dtype == LL_U8)
            ((uint8_t *)data)[i] = i % 2;
        else
            ((int32_t *)data)[i] = (int32_t)(i * 7 % feed->classes);
}

/* How many labels or frames count: all, or all but one. */
static void fill_lengths(const struct ll_feed *feed, uint64_t step, const struct ll_shape *shape, void *data)
{
    (void)step;
    for (uint64_t i = 0; i < ll_elements(shape); i++)
        ((int32_t *)data)[i] = (int32_t)(feed->classes - i % 2);
}

static struct ll_value *lengths(struct ll_nn *nn, const struct ll_shape *shape, uint64_t most)
{
    return ll_nn_do(nn, &(struct ll_nn_call){.kind = LL_OP_HOST_INPUT,
                                             .given_count = 1,
                                             .given = shape,
                                             .feed = {fill_lengths, 0, most, NULL}});
}

static struct ll_value *labels(struct ll_nn *nn, const struct ll_shape *shape, uint64_t classes)
{
    return ll_nn_do(nn, &(struct ll_nn_call){.kind = LL_OP_HOST_INPUT,
                                             .given_count = 1,
                                             .given = shape,
                                             .feed = {fill_labels, 0, classes, NULL}});
}

/* Logarithms, roots, powers, quotients and variances are asked far from where they end. */
static bool wants_positive(enum ll_op_kind kind)
{
    return kind == LL_OP_SQRT || kind == LL_OP_SQRT_GRAD || kind == LL_OP_LOG || kind == LL_OP_POW ||
           kind == LL_OP_DIV || kind == LL_OP_BATCH_NORM_FIXED;
}

static struct ll_value *positive_variable(struct ll_nn *nn, const struct ll_shape *shape, const char *name,
                                          uint64_t *random)
{
    double *list = ll_alloc(&nn->arena, ll_elements(shape), sizeof *list);
    for (uint64_t i = 0; i < ll_elements(shape); i++)
        list[i] = 0.5 + (double)ll_random_below(random, 2000) / 1000;
    return ll_nn_variable(nn, name, shape, LL_WEIGHT, (struct ll_init){LL_INIT_LIST, 0, list});
}

/* Random and, as far as chance goes, nowhere near a kink. */
static struct ll_value *variable(struct ll_nn *nn, const struct ll_shape *shape, const char *name)
{
    return ll_nn_variable(nn, name, shape, LL_WEIGHT, (struct ll_init){LL_INIT_NORMAL, 1, NULL});
}

/* The mean of the op's first result, each element times a random number, so that none stands for another. */
static struct ll_value *weighed(struct ll_nn *nn, struct ll_value *y)
{
    struct ll_value *product = ll_nn_do2(nn, LL_OP_MUL, y, variable(nn, &y->shape, "factors"));
    return y->shape.rank == 0 ? product : ll_nn_do1(nn, LL_OP_MEAN, product);
}

/* Whether an op's first result is a state for later steps, and its first input that of earlier ones. */
static bool has_state(enum ll_op_kind kind)
{
    return shape_word(kind, "SCAN") || shape_word(kind, "CAUSAL_CONV");
}

/* No gradient flows into the number of a step, which random ops read, nor into targets, nor into the mean and
 * the variance of other steps, nor into boxes, nor into states. */
static bool takes_gradient(enum ll_op_kind kind, uint32_t input, const struct ll_shape *shape)
{
    bool is_step = ll_op_class(kind) == LL_CLASS_RANDOM && shape->rank == 0;
    bool is_target = kind == LL_OP_SOFTMAX_XENT_DENSE && input == 1;
    bool is_moment = kind == LL_OP_BATCH_NORM_FIXED && input >= 3;
    bool is_box = kind == LL_OP_ROI_POOL && input == 1;
    bool is_state = has_state(kind) && input == 0;
    return shape->dtype == LL_F64 && !is_step && !is_target && !is_moment && !is_box && !is_state;
}

/* How many rows indices may name, or classes labels. */
static uint64_t classes_of(const struct op_sample *sample)
{
    return shape_word(sample->view.kind, "SEGMENT_SUM") ? sample->out[0].dim[0]
           : shape_word(sample->view.kind, "GATHER")    ? sample->in[0].dim[0]
           : shape_word(sample->view.kind, "CTC")       ? sample->in[0].dim[2] - 1
                                                        : sample->in[0].dim[1];
}

static uint32_t given_count(const struct op_sample *sample)
{
    static const char *const given[] = {"RESHAPE", "EXPAND",    "UNSTACK",     "SEGMENT_SUM",
                                        "SPREAD",  "CONV_DATA", "CONV_FILTER", "CAST"};
    for (size_t i = 0; i < sizeof given / sizeof *given; i++)
        if (shape_word(sample->view.kind, given[i]))
            return sample->view.output_count;
    return 0;
}

/* An input that is no number to be derived by. */
static struct ll_value *integers(struct ll_nn *nn, const struct op_sample *sample, uint32_t input)
{
    if (shape_word(sample->view.kind, "CTC") && input >= 2)
        return lengths(nn, &sample->in[input], input == 2 ? sample->in[1].dim[1] : sample->in[0].dim[0]);
    return labels(nn, &sample->in[input], classes_of(sample));
}

/* An op of random inputs and the mean of its first result; those of its inputs that take gradients. */
struct subject {
    struct ll_value *variables[SAMPLE_INPUTS], *gradients[SAMPLE_INPUTS];
    struct gradient_check check;
};

/* False when its result is no number that could have a gradient, or none at all. */
static bool begin_subject(struct subject *subject, uint64_t *random, enum ll_op_kind kind)
{
    static const char *const names[] = {"a", "b", "c", "d", "e", "f", "g", "h"};
    struct op_sample sample;
    struct ll_value *inputs[SAMPLE_INPUTS];
    struct gradient_check *check = &subject->check;
    *check = (struct gradient_check){ll_nn_new(LL_F64), NULL, subject->variables, subject->gradients, 0};
    draw_op(random, kind, LL_F64, &sample);
    if (sample.out[0].dtype != LL_F64 || ll_elements(&sample.out[0]) == 0)
        return false;
    for (uint32_t i = 0; i < sample.view.input_count; i++) {
        bool real = sample.in[i].dtype == LL_F64;
        inputs[i] = !real                  ? integers(check->nn, &sample, i)
                    : wants_positive(kind) ? positive_variable(check->nn, &sample.in[i], names[i], random)
                                           : variable(check->nn, &sample.in[i], names[i]);
        if (takes_gradient(kind, i, &sample.in[i]))
            subject->variables[check->count++] = inputs[i];
    }
    struct ll_value *y = ll_nn_do(check->nn, &(struct ll_nn_call){.kind = kind,
                                                                  .input_count = sample.view.input_count,
                                                                  .inputs = inputs,
                                                                  .attr_count = sample.view.attr_count,
                                                                  .attrs = sample.attrs,
                                                                  .given_count = given_count(&sample),
                                                                  .given = sample.out});
    if (has_state(kind) && !ll_nn_trouble(check->nn))
        y = y->producer->outputs[1];
    check->loss = weighed(check->nn, y);
    return true;
}

/* Of ops that are only recorded there are no numbers to differentiate; those that round have no slope between
 * steps (test_nn.c looks across many). */
static bool has_gradient(enum ll_op_kind kind)
{
    const char *word = ll_op_words(kind).gradient;
    return ll_op_runs_natively(kind) && strcmp(word, "NONE") != 0 && strcmp(word, "UNKNOWN") != 0 &&
           strcmp(word, "QUANTIZE") != 0;
}

static void every_gradient_is_what_finite_differences_say(void **state)
{
    (void)state;
    uint64_t random = ll_seed(21);
    for (int kind = 0; kind < ll_op_count(); kind++)
        for (int run = 0; has_gradient((enum ll_op_kind)kind) && run < RUNS; run++) {
            struct subject subject;
            if (begin_subject(&subject, &random, (enum ll_op_kind)kind))
                check_gradients(&subject.check, &random, ELEMENTS);
            ll_nn_free(subject.check.nn);
        }
}

/* The mean square of each gradient, each element with its own factor, all together. */
static struct ll_value *size_of_gradients(struct ll_nn *nn, struct ll_value *const *gradients, size_t count)
{
    struct ll_value *sum = NULL;
    for (size_t i = 0; i < count; i++) {
        if (!gradients[i])
            continue;
        struct ll_value *size = weighed(nn, ll_nn_do1(nn, LL_OP_SQUARE, gradients[i]));
        sum = sum ? ll_nn_do2(nn, LL_OP_ADD, sum, size) : size;
    }
    return sum;
}

/* What a gradient penalty needs: how the squares of an op's gradients change with its inputs. Kinds whose
 * gradients cannot be derived again say so. */
static void gradients_of_gradients_are_what_finite_differences_say(void **state)
{
    (void)state;
    uint64_t random = ll_seed(25), derived = 0;
    for (int kind = 0; kind < ll_op_count(); kind++) {
        bool unknown = false;
        for (int run = 0; has_gradient((enum ll_op_kind)kind) && !unknown && run < SECOND_RUNS; run++) {
            struct subject subject;
            struct gradient_check *check = &subject.check;
            if (begin_subject(&subject, &random, (enum ll_op_kind)kind) && check->count > 0) {
                struct ll_value *penalty[SAMPLE_INPUTS];
                ll_nn_gradients(check->nn, check->loss, check->variables, check->count, check->gradients);
                check->loss = size_of_gradients(check->nn, check->gradients, check->count);
                ll_nn_gradients(check->nn, check->loss, check->variables, check->count, penalty);
                unknown = ll_nn_trouble(check->nn) != NULL;
                if (!unknown)
                    check_gradients(check, &random, ELEMENTS);
            }
            ll_nn_free(check->nn);
        }
        derived += has_gradient((enum ll_op_kind)kind) && !unknown;
        if (unknown)
            print_message("%s: its gradient has none\n", ll_op_name((enum ll_op_kind)kind));
    }
    assert_true(derived >= 50);
}

/* y = x * x + x: x is used three times. */
static void a_value_used_often_has_the_sum_of_its_gradients(void **state)
{
    (void)state;
    uint64_t random = ll_seed(22);
    struct ll_value *x, *gradient;
    struct gradient_check check = {ll_nn_new(LL_F64), NULL, &x, &gradient, 1};
    struct ll_shape shape = ll_nn_shape(check.nn, 1, (uint64_t[]){7}, NULL);
    x = variable(check.nn, &shape, "x");
    struct ll_value *y = ll_nn_do2(check.nn, LL_OP_ADD, ll_nn_do2(check.nn, LL_OP_MUL, x, x), x);
    check.loss = weighed(check.nn, y);
    check_gradients(&check, &random, 7);
    ll_nn_free(check.nn);
}

/* The gradient of |gradient|^2: d/dx mean((2 x r / 7)^2) for the loss mean(x x r). */
static void gradients_have_gradients(void **state)
{
    (void)state;
    uint64_t random = ll_seed(23);
    struct ll_value *x, *first, *second;
    struct gradient_check check = {ll_nn_new(LL_F64), NULL, &x, &second, 1};
    struct ll_shape shape = ll_nn_shape(check.nn, 1, (uint64_t[]){7}, NULL);
    x = variable(check.nn, &shape, "x");
    struct ll_value *loss = weighed(check.nn, ll_nn_do2(check.nn, LL_OP_MUL, x, x));
    ll_nn_gradients(check.nn, loss, &x, 1, &first);
    check.loss = ll_nn_do1(check.nn, LL_OP_MEAN, ll_nn_do2(check.nn, LL_OP_MUL, first, first));
    check_gradients(&check, &random, 7);
    ll_nn_free(check.nn);
}

/* A table picked from twice, once with a row that comes twice, has rows for a gradient; used as a whole
 * beside, it has one as a whole. */
static void rows_that_are_picked_have_gradients(void **state)
{
    (void)state;
    uint64_t random = ll_seed(24);
    for (int whole = 0; whole < 2; whole++) {
        struct ll_value *table, *gradient;
        struct gradient_check check = {ll_nn_new(LL_F64), NULL, &table, &gradient, 1};
        struct ll_shape shape = ll_nn_shape(check.nn, 2, (uint64_t[]){5, 3}, NULL);
        struct ll_shape few = {.rank = 1, .dtype = LL_I32, .dim = {4}},
                        pairs = {.rank = 2, .dtype = LL_I32, .dim = {2, 2}};
        table = variable(check.nn, &shape, "table");
        struct ll_value *a = ll_nn_do2(check.nn, LL_OP_GATHER, table, labels(check.nn, &few, 3));
        struct ll_value *b = ll_nn_do2(check.nn, LL_OP_GATHER, table, labels(check.nn, &pairs, 5));
        struct ll_value *loss = ll_nn_do2(check.nn, LL_OP_ADD, weighed(check.nn, a), weighed(check.nn, b));
        if (whole)
            loss = ll_nn_do2(check.nn, LL_OP_ADD, loss,
                             weighed(check.nn, ll_nn_do2(check.nn, LL_OP_MUL, table, table)));
        struct ll_nn_gradient sparse;
        ll_nn_sparse_gradients(check.nn, loss, &table, 1, &sparse);
        if (whole) {
            assert_null(sparse.indices);
        } else {
            assert_int_equal(sparse.indices->shape.dim[0], 8);
            assert_int_equal(sparse.value->shape.dim[0], 8);
        }
        check.loss = loss;
        check_gradients(&check, &random, 15);
        ll_nn_free(check.nn);
    }
}

/* Nothing is computed for values that nobody asked about, and what the loss does not depend on has no
 * gradient. */
static void only_what_is_asked_for_is_computed(void **state)
{
    (void)state;
    struct ll_nn *nn = ll_nn_new(LL_F64);
    struct ll_shape shape = ll_nn_shape(nn, 2, (uint64_t[]){3, 3}, NULL);
    struct ll_value *x = variable(nn, &shape, "x"), *w = variable(nn, &shape, "w"),
                    *v = variable(nn, &shape, "v");
    struct ll_value *loss = ll_nn_do1(nn, LL_OP_MEAN, ll_nn_do2(nn, LL_OP_MATMUL, x, w)), *gradients[2];
    uint64_t ops = nn->op_count;
    ll_nn_gradients(nn, loss, (struct ll_value *[]){w, v}, 2, gradients);
    assert_non_null(gradients[0]);
    assert_null(gradients[1]);
    assert_int_equal(nn->op_count - ops, 2); /* of the mean, and x^T dy: no dy w^T */
    assert_int_equal(nn->ops[ops + 1]->view.kind, LL_OP_MATMUL);
    assert_ptr_equal(nn->ops[ops + 1]->inputs[0], x);
    ll_nn_free(nn);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_gradient_is_what_finite_differences_say),
        cmocka_unit_test(gradients_of_gradients_are_what_finite_differences_say),
        cmocka_unit_test(a_value_used_often_has_the_sum_of_its_gradients),
        cmocka_unit_test(gradients_have_gradients),
        cmocka_unit_test(rows_that_are_picked_have_gradients),
        cmocka_unit_test(only_what_is_asked_for_is_computed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
