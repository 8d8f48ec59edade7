/* SPDX-License-Identifier: Apache-2.0 */
/* Matrices longer than the pieces into which the kernel cuts them, which random ops are not. */
#include "check.h"

#include "models/nn/kernel.h"

#include <stdlib.h>

static void check_turned(uint64_t rows, uint64_t columns)
{
    struct ll_attr turned = {.key = LL_ATTR_PERMUTATION, .count = 10};
    struct ll_shape in = {.rank = 2, .dtype = LL_F32, .dim = {rows, columns}}, out = {0};
    struct ll_op_view op = {
        .kind = LL_OP_TRANSPOSE, .input_count = 1, .in = &in, .out = &out, .attr_count = 1, .attrs = &turned};
    float *x = malloc(rows * columns * sizeof *x), *y = malloc(rows * columns * sizeof *y);
    const void *inputs[] = {x};
    void *outputs[] = {y};
    assert_null(ll_op_infer(&op));
    for (uint64_t i = 0; i < rows * columns; i++)
        x[i] = (float)i;
    ll_kernel_of(LL_OP_TRANSPOSE, LL_F32)(&(struct ll_kernel_call){&op, inputs, outputs, NULL, NULL, NULL});
    for (uint64_t i = 0; i < rows; i++)
        for (uint64_t j = 0; j < columns; j++)
            assert_true(y[j * rows + i] == x[i * columns + j]);
    free(x);
    free(y);
}

/* What is left of fours goes by fours that overlap others, where there are as many. */
static void a_small_matrix_of_any_shape_is_turned(void **state)
{
    (void)state;
    for (uint64_t rows = 1; rows <= 70; rows++)
        for (uint64_t columns = 1; columns <= 70; columns++)
            check_turned(rows, columns);
}

static void a_long_matrix_is_turned_piece_by_piece(void **state)
{
    (void)state;
    check_turned(4099, 5);
    check_turned(5, 4099);
    check_turned(2048, 64);
    check_turned(2049, 65);
}

/* 16 MiB and more are written past the caches, square by square, where lines are aligned or are not. */
static void a_large_matrix_is_turned_square_by_square(void **state)
{
    (void)state;
    check_turned(4096, 1030);
    check_turned(2061, 2063);
}

/* [3,1,4,5] to [4,3,1,5], where lines of 5 change places, and to [1,5,3,4], where columns become lines. */
static void dimensions_of_length_1_move_nothing(void **state)
{
    static const struct {
        int64_t permutation;
        uint64_t step[3]; /* of the image's 3, 4 and 5 in the result */
    } orders[] = {{2013, {5, 15, 1}}, {1302, {4, 1, 12}}, {1023, {20, 5, 1}}};
    (void)state;
    for (size_t o = 0; o < sizeof orders / sizeof *orders; o++) {
        struct ll_attr turned = {.key = LL_ATTR_PERMUTATION, .count = orders[o].permutation};
        struct ll_shape in = {.rank = 4, .dtype = LL_F32, .dim = {3, 1, 4, 5}}, out = {0};
        struct ll_op_view op = {LL_OP_TRANSPOSE, .input_count = 1, .in = &in,
                                .out = &out,     .attr_count = 1,  .attrs = &turned};
        float x[60], y[60];
        assert_null(ll_op_infer(&op));
        for (int i = 0; i < 60; i++)
            x[i] = (float)i;
        ll_kernel_of(LL_OP_TRANSPOSE, LL_F32)(
            &(struct ll_kernel_call){&op, (const void *[]){x}, (void *[]){y}, NULL, NULL, NULL});
        const uint64_t *step = orders[o].step;
        for (uint64_t i = 0; i < 60; i++)
            assert_true(y[i / 20 * step[0] + i / 5 % 4 * step[1] + i % 5 * step[2]] == x[i]);
    }
}

static void a_number_has_nothing_to_turn(void **state)
{
    (void)state;
    struct ll_attr turned = {.key = LL_ATTR_PERMUTATION, .count = 0};
    struct ll_shape in = {.dtype = LL_F32}, out = {0};
    struct ll_op_view op = {
        .kind = LL_OP_TRANSPOSE, .input_count = 1, .in = &in, .out = &out, .attr_count = 1, .attrs = &turned};
    float x = 7, y = 0;
    assert_null(ll_op_infer(&op));
    ll_kernel_of(LL_OP_TRANSPOSE, LL_F32)(
        &(struct ll_kernel_call){&op, (const void *[]){&x}, (void *[]){&y}, NULL, NULL, NULL});
    assert_true(y == 7);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_small_matrix_of_any_shape_is_turned),
        cmocka_unit_test(a_long_matrix_is_turned_piece_by_piece),
        cmocka_unit_test(a_large_matrix_is_turned_square_by_square),
        cmocka_unit_test(dimensions_of_length_1_move_nothing),
        cmocka_unit_test(a_number_has_nothing_to_turn),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
