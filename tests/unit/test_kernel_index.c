/* SPDX-License-Identifier: Apache-2.0 */
/* Indices that lie outside of what they index: nothing is read or written there, and it is told. */
#include "check.h"

#include "models/nn/nn.h"
#include "models/nn/kernel.h"
#include "models/nn/runner.h"

#include <math.h>

enum { ROWS = 3, LENGTH = 2, PICKED = 4 };

/* An op of one result, on all its operands: whether an index strayed. */
static bool run(enum ll_op_kind kind, uint32_t count, struct ll_shape *in, const void *const *inputs,
                struct ll_shape *given, void *const *outputs)
{
    struct ll_shape out[LL_MAX_OUTPUTS] = {0};
    struct ll_attr rate = {.key = LL_ATTR_LEARNING_RATE, .real = 1};
    struct ll_op_view op = {.kind = kind,
                            .input_count = count,
                            .in = in,
                            .out = out,
                            .output_count = given ? 1 : 0,
                            .attr_count = kind == LL_OP_SGD_ROWS,
                            .attrs = &rate};
    atomic_bool strayed = false;
    uint64_t workspace[64];
    if (given)
        out[0] = *given;
    assert_null(ll_op_infer(&op));
    assert_true(ll_kernel_workspace(&op, 1) <= sizeof workspace);
    ll_kernel_of(kind, LL_F32)(&(struct ll_kernel_call){&op, inputs, outputs, NULL, workspace, &strayed});
    return strayed;
}

static struct ll_shape reals(uint64_t rows, uint64_t columns)
{
    return (struct ll_shape){.dtype = LL_F32, .rank = 2, .dim = {rows, columns}};
}

static struct ll_shape numbers(uint64_t count)
{
    return (struct ll_shape){.dtype = LL_I32, .rank = 1, .dim = {count}};
}

static const float table[ROWS * LENGTH] = {1, 2, 3, 4, 5, 6};
static const float rows[PICKED * LENGTH] = {10, 20, 30, 40, 50, 60, 70, 80};
static const int32_t stray[PICKED] = {2, -1, 3, 0}, good[PICKED] = {2, 1, 1, 0};

static void a_row_outside_of_the_table_is_zeros(void **state)
{
    (void)state;
    float out[PICKED * LENGTH];
    struct ll_shape in[] = {reals(ROWS, LENGTH), numbers(PICKED)};
    assert_true(run(LL_OP_GATHER, 2, in, (const void *[]){table, stray}, NULL, (void *[]){out}));
    assert_memory_equal(out, ((float[]){5, 6, 0, 0, 0, 0, 1, 2}), sizeof out);
    assert_false(run(LL_OP_GATHER, 2, in, (const void *[]){table, good}, NULL, (void *[]){out}));
}

static void no_row_is_zeros_and_adds_nothing_and_nobody_is_told(void **state)
{
    (void)state;
    static const int32_t none[PICKED] = {2, LL_NO_ROW, LL_NO_ROW, 0};
    float out[PICKED * LENGTH], sums[ROWS * LENGTH];
    struct ll_shape whole = reals(ROWS, LENGTH), in[] = {whole, numbers(PICKED)},
                    into[] = {reals(PICKED, LENGTH), numbers(PICKED)};
    assert_false(run(LL_OP_GATHER, 2, in, (const void *[]){table, none}, NULL, (void *[]){out}));
    assert_memory_equal(out, ((float[]){5, 6, 0, 0, 0, 0, 1, 2}), sizeof out);
    assert_false(run(LL_OP_SEGMENT_SUM, 2, into, (const void *[]){rows, none}, &whole, (void *[]){sums}));
    assert_memory_equal(sums, ((float[]){70, 80, 0, 0, 10, 20}), sizeof sums);
}

static void a_row_for_outside_of_the_table_is_left_out(void **state)
{
    (void)state;
    float sums[ROWS * LENGTH], weights[ROWS * LENGTH];
    struct ll_shape whole = reals(ROWS, LENGTH);
    struct ll_shape in[] = {whole, reals(PICKED, LENGTH), numbers(PICKED)};
    assert_true(run(LL_OP_SEGMENT_SUM, 2, in + 1, (const void *[]){rows, stray}, &whole, (void *[]){sums}));
    assert_memory_equal(sums, ((float[]){70, 80, 0, 0, 10, 20}), sizeof sums);
    assert_false(run(LL_OP_SEGMENT_SUM, 2, in + 1, (const void *[]){rows, good}, &whole, (void *[]){sums}));
    memcpy(weights, table, sizeof table);
    assert_true(
        run(LL_OP_SGD_ROWS, 3, in, (const void *[]){weights, rows, stray}, NULL, (void *[]){weights}));
    assert_memory_equal(weights, ((float[]){-69, -78, 3, 4, -5, -14}), sizeof weights);
}

static void a_label_that_is_no_class_has_no_loss(void **state)
{
    (void)state;
    float loss[ROWS], dx[ROWS * LENGTH];
    struct ll_shape in[] = {reals(ROWS, LENGTH), numbers(ROWS)};
    assert_true(run(LL_OP_SOFTMAX_XENT, 2, in, (const void *[]){table, (int32_t[]){0, 2, -7}}, NULL,
                    (void *[]){loss, dx}));
    assert_true(isfinite(loss[0]) && isnan(loss[1]) && isnan(loss[2]));
    assert_true(dx[2] == 0 && dx[3] == 0 && dx[4] == 0 && dx[5] == 0);
}

/* Two frames of one utterance, two classes and the blank: too many labels, too many frames, the blank itself,
 * and at last what can be. */
static void labels_that_no_path_can_have_have_no_loss(void **state)
{
    static const struct {
        int32_t label, labels, frames;
        bool strays;
    } cases[] = {{0, 2, 2, true}, {0, -1, 2, true}, {0, 1, 3, true}, {0, 1, -1, true},
                 {2, 1, 2, true}, {-1, 1, 2, true}, {0, 1, 2, false}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        float loss, dx[2 * 3];
        struct ll_shape logits = {.dtype = LL_F32, .rank = 3, .dim = {2, 1, 3}};
        struct ll_shape labels = {.dtype = LL_I32, .rank = 2, .dim = {1, 1}};
        struct ll_shape in[] = {logits, labels, numbers(1), numbers(1)};
        const void *inputs[] = {table, &cases[i].label, &cases[i].labels, &cases[i].frames};
        bool strayed = run(LL_OP_CTC_LOSS, 4, in, inputs, NULL, (void *[]){&loss, dx});
        assert_int_equal(strayed, cases[i].strays);
        assert_int_equal(isnan(loss) != 0, cases[i].strays);
        assert_true(!cases[i].strays || (dx[0] == 0 && dx[5] == 0));
    }
}

static void fill_stray(const struct ll_feed *feed, uint64_t step, const struct ll_shape *shape, void *data)
{
    (void)feed;
    (void)shape;
    memcpy(data, step == 0 ? good : stray, sizeof good);
}

static void a_run_with_a_stray_index_says_so(void **state)
{
    (void)state;
    enum ll_status status;
    struct ll_nn *nn = ll_nn_new(LL_F32);
    struct ll_shape shape = reals(ROWS, LENGTH), picks = numbers(PICKED);
    struct ll_value *weights =
        ll_nn_variable(nn, "w", &shape, LL_WEIGHT, (struct ll_init){LL_INIT_CONSTANT, 1, NULL});
    struct ll_value *picked = ll_nn_do(
        nn, &(struct ll_nn_call){
                .kind = LL_OP_HOST_INPUT, .given_count = 1, .given = &picks, .feed = {.fill = fill_stray}});
    ll_nn_keep(ll_nn_do2(nn, LL_OP_GATHER, weights, picked));
    assert_null(ll_nn_trouble(nn));
    struct ll_runner *runner = ll_runner_new(nn, &(struct ll_runner_options){0}, &status);
    ll_runner_step(runner, 0);
    assert_int_equal(ll_runner_status(runner), LL_OK);
    ll_runner_step(runner, 1);
    assert_int_equal(ll_runner_status(runner), LL_STRAY_INDEX);
    ll_runner_free(runner);
    ll_nn_free(nn);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_row_outside_of_the_table_is_zeros),
        cmocka_unit_test(no_row_is_zeros_and_adds_nothing_and_nobody_is_told),
        cmocka_unit_test(a_row_for_outside_of_the_table_is_left_out),
        cmocka_unit_test(a_label_that_is_no_class_has_no_loss),
        cmocka_unit_test(labels_that_no_path_can_have_have_no_loss),
        cmocka_unit_test(a_run_with_a_stray_index_says_so),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
