/* SPDX-License-Identifier: Apache-2.0 */
#include "gradient_check.h"

#include "models/nn/layers.h"
#include "models/nn/loss.h"

#include <string.h>

static struct ll_value *image(struct ll_nn *nn, uint64_t batch, uint64_t height, uint64_t width,
                              uint64_t channels)
{
    struct ll_shape shape = ll_nn_shape(nn, 4, (uint64_t[]){batch, height, width, channels}, NULL);
    return ll_nn_variable(nn, "images", &shape, LL_INPUT, (struct ll_init){LL_INIT_NORMAL, 1, NULL});
}

static struct ll_value *convolve(struct ll_nn *nn, struct ll_value *x, uint64_t kernel, uint64_t stride,
                                 enum ll_padding padding)
{
    return ll_conv_layer(nn, "conv", x,
                         &(struct ll_conv_options){.kernel = kernel,
                                                   .stride = stride,
                                                   .filters = 4,
                                                   .padding = padding,
                                                   .init = {LL_INIT_NORMAL, 0.3, NULL}});
}

/* out = ceil(size / stride) for SAME, floor((size - kernel) / stride) + 1 for VALID: tensorflow.org, tf.nn.
 */
static void paddings_give_the_sizes_that_tensorflow_gives(void **state)
{
    (void)state;
    struct ll_nn *nn = ll_nn_new(LL_F64);
    for (uint64_t size = 3; size < 12; size++)
        for (uint64_t kernel = 1; kernel <= 3; kernel++)
            for (uint64_t stride = 1; stride <= 4; stride++) {
                struct ll_value *x = image(nn, 1, size, size + 2, 2);
                const struct ll_value *same = convolve(nn, x, kernel, stride, LL_SAME);
                const struct ll_value *valid = convolve(nn, x, kernel, stride, LL_VALID);
                assert_int_equal(same->shape.dim[1], (size + stride - 1) / stride);
                assert_int_equal(same->shape.dim[2], (size + 2 + stride - 1) / stride);
                assert_int_equal(valid->shape.dim[1], (size - kernel) / stride + 1);
            }
    assert_null(ll_nn_trouble(nn));
    ll_nn_free(nn);
}

/* AlexNet's first layer: (56 - 1) 4 + 11 - 224 = 7 pixels of padding, three before and four after. */
static void odd_padding_comes_after(void **state)
{
    (void)state;
    struct ll_nn *nn = ll_nn_new(LL_F64);
    convolve(nn, image(nn, 1, 224, 224, 3), 11, 4, LL_SAME);
    const struct ll_op_view *conv = &nn->ops[0]->view;
    assert_int_equal(ll_attr_count(conv, LL_ATTR_PAD_TOP, 0), 3);
    assert_int_equal(ll_attr_count(conv, LL_ATTR_PAD_BOTTOM, 0), 4);
    assert_int_equal(ll_attr_count(conv, LL_ATTR_PAD_LEFT, 0), 3);
    assert_int_equal(ll_attr_count(conv, LL_ATTR_PAD_RIGHT, 0), 4);
    ll_nn_free(nn);
}

/* He et al., 2016: 224 pixels become 112 by a filter of 7 with 3 pixels around, 56 by a window of 3 with 1.
 */
static void half_a_kernel_is_padded_on_every_side(void **state)
{
    (void)state;
    struct ll_nn *nn = ll_nn_new(LL_F64);
    struct ll_value *x = convolve(nn, image(nn, 1, 224, 224, 3), 7, 2, LL_HALF);
    assert_int_equal(x->shape.dim[1], 112);
    assert_int_equal(ll_attr_count(&nn->ops[0]->view, LL_ATTR_PAD_TOP, 0), 3);
    assert_int_equal(ll_attr_count(&nn->ops[0]->view, LL_ATTR_PAD_BOTTOM, 0), 3);
    assert_int_equal(ll_max_pool_layer(nn, "pool", x, 3, 2, LL_HALF)->shape.dim[2], 56);
    ll_nn_free(nn);
}

/* Weights of zero let nothing but the bias through. */
static void a_bias_starts_where_it_is_told(void **state)
{
    (void)state;
    enum ll_status status;
    struct ll_nn *nn = ll_nn_new(LL_F64);
    struct ll_value *y =
        ll_dense_layer(nn, "fc", ll_flatten(nn, image(nn, 2, 3, 3, 1)),
                       &(struct ll_dense_options){.units = 2, .bias = LL_BIAS_BY_ADD, .bias_start = 0.25});
    ll_nn_keep(y);
    struct ll_runner *runner = ll_runner_new(nn, &(struct ll_runner_options){0}, &status);
    ll_runner_step(runner, 0);
    for (int i = 0; i < 4; i++)
        assert_true(((double *)ll_runner_data(runner, y))[i] == 0.25);
    ll_runner_free(runner);
    ll_nn_free(nn);
}

/* The mean of 0..n-1 is (n - 1) / 2, their variance (n^2 - 1) / 12. What training has seen long enough is
 * what inference uses. */
static void averages_of_normalisation_follow_the_batch(void **state)
{
    (void)state;
    enum { ROWS = 9 };
    enum ll_status status;
    double list[ROWS];
    for (int i = 0; i < ROWS; i++)
        list[i] = i;
    struct ll_nn *nn = ll_nn_new(LL_F64);
    struct ll_shape shape = ll_nn_shape(nn, 2, (uint64_t[]){ROWS, 1}, NULL);
    struct ll_value *x = ll_nn_variable(nn, "x", &shape, LL_INPUT, (struct ll_init){LL_INIT_LIST, 0, list});
    struct ll_batch_norm_options options = {.train = true, .epsilon = 0, .decay = 0.5};
    struct ll_value *y = ll_batch_norm_layer(nn, "norm", x, &options);
    assert_int_equal(ll_nn_parameters(nn), 2); /* gamma and beta */
    ll_nn_keep(y);
    struct ll_runner *runner = ll_runner_new(nn, &(struct ll_runner_options){0}, &status);
    const double *mean = ll_runner_data(runner, nn->ops[1]->outputs[0]);
    const double *variance = ll_runner_data(runner, nn->ops[2]->outputs[0]);
    ll_runner_step(runner, 0);
    assert_near(*mean, 0.5 * 0 + 0.5 * 4, 1e-12);
    assert_near(*variance, 0.5 * 1 + 0.5 * 80 / 12, 1e-12);
    for (uint64_t step = 1; step < 60; step++)
        ll_runner_step(runner, step);
    assert_near(*mean, 4, 1e-12);
    assert_near(*variance, 80.0 / 12, 1e-12);
    assert_near(((double *)ll_runner_data(runner, y))[0], -4 / sqrt(80.0 / 12), 1e-12);
    ll_runner_free(runner);
    ll_nn_free(nn);
}

static void fill_labels(const struct ll_feed *feed, uint64_t step, const struct ll_shape *shape, void *data)
{
    (void)step;
    for (uint64_t i = 0; i < shape->dim[0]; i++)
        ((int32_t *)data)[i] = (int32_t)(i * 3 % feed->classes);
}

static struct ll_value *labels(struct ll_nn *nn, uint64_t batch, uint64_t classes)
{
    struct ll_shape shape = ll_nn_shape(nn, 1, &batch, NULL);
    shape.dtype = LL_I32;
    return ll_nn_do(nn, &(struct ll_call){.kind = LL_OP_HOST_INPUT,
                                          .given_count = 1,
                                          .given = &shape,
                                          .feed = {fill_labels, 0, classes, NULL}});
}

/* Every kind of layer of AlexNet in a row, smaller. */
static struct ll_value *small_alexnet(struct ll_nn *nn, uint64_t batch)
{
    static const struct ll_init small = {LL_INIT_NORMAL, 0.3, NULL};
    struct ll_value *x = image(nn, batch, 13, 11, 2), *answers = labels(nn, batch, 5);
    x = ll_conv_layer(nn, "conv1", x,
                      &(struct ll_conv_options){
                          .kernel = 5, .stride = 2, .filters = 6, .activation = LL_RELU, .init = small});
    x = ll_max_pool_layer(nn, "pool1", x, 3, 2, LL_VALID);
    x = ll_lrn_layer(nn, "norm1", x,
                     &(struct ll_lrn_options){.radius = 2, .bias = 1, .alpha = 0.1, .beta = 0.75});
    x = ll_conv_layer(nn, "conv2", x,
                      &(struct ll_conv_options){
                          .kernel = 3, .stride = 1, .filters = 7, .activation = LL_RELU, .init = small});
    x = ll_flatten(nn, x);
    x = ll_dense_layer(nn, "fc3", x,
                       &(struct ll_dense_options){.units = 9, .activation = LL_RELU, .init = small});
    x = ll_dense_layer(nn, "fc4", x, &(struct ll_dense_options){.units = 5, .init = small});
    return ll_softmax_loss(nn, x, answers);
}

static void a_whole_network_has_the_gradients_of_finite_differences(void **state)
{
    (void)state;
    uint64_t random = ll_seed(41);
    struct ll_value *weights[16], *gradients[16];
    struct gradient_check check = {ll_nn_new(LL_F64), NULL, weights, gradients, 0};
    check.loss = small_alexnet(check.nn, 3);
    for (uint64_t i = 0; i < check.nn->value_count; i++)
        if (!check.nn->values[i]->producer && check.nn->values[i]->memory == LL_WEIGHT)
            weights[check.count++] = check.nn->values[i];
    assert_int_equal(check.count, 8);
    check_gradients(&check, &random, 25);
    ll_nn_free(check.nn);
}

/* Uniform logits: the loss of n classes is log n. */
static void a_loss_that_knows_nothing_is_the_log_of_the_classes(void **state)
{
    (void)state;
    enum ll_status status;
    struct ll_nn *nn = ll_nn_new(LL_F64);
    struct ll_shape shape = ll_nn_shape(nn, 2, (uint64_t[]){4, 10}, NULL);
    struct ll_value *logits =
        ll_nn_variable(nn, "x", &shape, LL_INPUT, (struct ll_init){LL_INIT_CONSTANT, 2, NULL});
    struct ll_value *answers = labels(nn, 4, 10), *loss = ll_softmax_loss(nn, logits, answers);
    struct ll_value *share = ll_accuracy(nn, logits, answers);
    ll_nn_keep(loss);
    struct ll_runner *runner = ll_runner_new(nn, &(struct ll_runner_options){0}, &status);
    ll_runner_step(runner, 0);
    assert_near(ll_runner_scalar(runner, loss), log(10), 1e-12);
    assert_near(ll_runner_scalar(runner, share), 0.25,
                0); /* the first of equals is class 0: labels 0, 3, 6, 9 */
    ll_runner_free(runner);
    ll_nn_free(nn);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(paddings_give_the_sizes_that_tensorflow_gives),
        cmocka_unit_test(odd_padding_comes_after),
        cmocka_unit_test(half_a_kernel_is_padded_on_every_side),
        cmocka_unit_test(a_bias_starts_where_it_is_told),
        cmocka_unit_test(averages_of_normalisation_follow_the_batch),
        cmocka_unit_test(a_whole_network_has_the_gradients_of_finite_differences),
        cmocka_unit_test(a_loss_that_knows_nothing_is_the_log_of_the_classes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
