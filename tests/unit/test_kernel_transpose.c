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

static void a_long_matrix_is_turned_piece_by_piece(void **state)
{
    (void)state;
    check_turned(4099, 5);
    check_turned(5, 4099);
    check_turned(2048, 64);
    check_turned(2049, 65);
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
        cmocka_unit_test(a_long_matrix_is_turned_piece_by_piece),
        cmocka_unit_test(a_number_has_nothing_to_turn),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
