/* SPDX-License-Identifier: Apache-2.0 */
/* Products as random ops seldom are: of a right operand that has rows a page apart, by columns and by rows of
 * the result; of few rows; of few terms. In both types, alone and by several threads. Whole numbers, so that
 * sums are exact. */
#include "check.h"

#include "models/nn/blas.h"
#include "models/nn/kernel.h"

#include <math.h>
#include <stdlib.h>

static double element(const void *matrix, enum ll_dtype dtype, uint64_t i)
{
    return dtype == LL_F64 ? ((const double *)matrix)[i] : (double)((const float *)matrix)[i];
}

/* From -3 to 3; of some other pattern for each operand. */
static void *operand(const struct ll_shape *shape, uint64_t stride)
{
    uint64_t count = ll_elements(shape);
    void *matrix = malloc(ll_size_bytes(shape));
    for (uint64_t i = 0; i < count; i++) {
        double value = (double)(i * stride % 7) - 3;
        if (shape->dtype == LL_F64)
            ((double *)matrix)[i] = value;
        else
            ((float *)matrix)[i] = (float)value;
    }
    return matrix;
}

/* Of A and B^T, or A^T and B. */
static void check_turned(enum ll_attr_key which, enum ll_dtype dtype, uint64_t m, uint64_t n, uint64_t k,
                         unsigned threads)
{
    bool ta = which == LL_ATTR_TRANSPOSE_A;
    struct ll_attr turned = {.key = which, .count = 1};
    struct ll_shape in[] = {{.rank = 2, .dtype = (uint8_t)dtype, .dim = {ta ? k : m, ta ? m : k}},
                            {.rank = 2, .dtype = (uint8_t)dtype, .dim = {ta ? k : n, ta ? n : k}}},
                    out = {0};
    struct ll_op_view op = {
        .kind = LL_OP_MATMUL, .input_count = 2, .in = in, .out = &out, .attr_count = 1, .attrs = &turned};
    assert_null(ll_op_infer(&op));
    void *a = operand(&in[0], 3), *b = operand(&in[1], 5), *c = malloc(ll_size_bytes(&out));
    uint64_t bytes = ll_kernel_workspace(&op, threads);
    void *workspace = bytes ? aligned_alloc(64, (bytes + 63) / 64 * 64) : NULL;
    struct ll_pool *pool = ll_pool_new(threads);
    ll_kernel_of(LL_OP_MATMUL, dtype)(
        &(struct ll_kernel_call){&op, (const void *[]){a, b}, (void *[]){c}, pool, workspace, NULL});
    for (uint64_t i = 0; i < m; i++)
        for (uint64_t j = 0; j < n; j += 7) {
            double sum = 0;
            for (uint64_t l = 0; l < k; l++)
                sum += element(a, dtype, ta ? l * m + i : i * k + l) *
                       element(b, dtype, ta ? l * n + j : j * k + l);
            assert_true(element(c, dtype, i * n + j) == sum);
        }
    ll_pool_free(pool);
    free(workspace);
    free(c);
    free(b);
    free(a);
}

static void check_product(enum ll_dtype dtype, uint64_t m, uint64_t n, uint64_t k, unsigned threads)
{
    check_turned(LL_ATTR_TRANSPOSE_B, dtype, m, n, k, threads);
}

static void rows_a_page_apart_are_multiplied_as_any(void **state)
{
    (void)state;
    assert_int_equal(ll_blas_open(), LL_OK);
    for (unsigned threads = 1; threads <= 3; threads += 2) {
        check_product(LL_F32, 20, 300, 1024, threads);
        check_product(LL_F32, 210, 130, 1024, threads);
        check_product(LL_F64, 20, 300, 512, threads);
        check_product(LL_F64, 210, 130, 1024, threads);
    }
}

/* One to four rows that stay in the first-level cache, and some that do not. */
static void few_rows_meet_one_row_of_weights_after_the_other(void **state)
{
    (void)state;
    for (uint64_t m = 1; m <= 5; m++) {
        check_product(LL_F32, m, 150, 1024, 2);
        check_product(LL_F64, m, 37, 700, 1);
        check_product(LL_F32, m, 65, 3000, 1);
    }
}

/* Strips of each width, whole and in part, by one thread and by several; one term too many as well. */
static void few_terms_are_summed_row_by_row(void **state)
{
    (void)state;
    for (uint64_t k = 1; k <= 9; k++) {
        check_turned(LL_ATTR_TRANSPOSE_A, LL_F32, 40, 5000, k, 3);
        check_turned(LL_ATTR_TRANSPOSE_A, LL_F64, 301, 1030, k, 2);
        check_turned(LL_ATTR_TRANSPOSE_A, LL_F32, 7, 3, k, 2);
    }
}

/* What the second of three matrices is multiplied by is no number, and is not looked at. */
static void what_nobody_filled_is_not_multiplied(void **state)
{
    (void)state;
    struct ll_attr filled = {.key = LL_ATTR_FILLED, .count = 2};
    struct ll_shape in[] = {{.rank = 3, .dtype = LL_F32, .dim = {3, 1, 2}},
                            {.rank = 3, .dtype = LL_F32, .dim = {3, 2, 1}}},
                    out = {0};
    struct ll_op_view op = {.kind = LL_OP_BATCH_MATMUL,
                            .input_count = 2,
                            .in = in,
                            .out = &out,
                            .attr_count = 1,
                            .attrs = &filled};
    const float a[] = {1, 2, 0, 0, 0, 3}, b[] = {4, 5, NAN, NAN, 6, 7};
    float c[3] = {-1, -1, -1};
    assert_null(ll_op_infer(&op));
    ll_kernel_of(LL_OP_BATCH_MATMUL, LL_F32)(
        &(struct ll_kernel_call){&op, (const void *[]){a, b}, (void *[]){c}, NULL, NULL, NULL});
    assert_memory_equal(c, ((float[]){14, 0, 21}), sizeof c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_a_page_apart_are_multiplied_as_any),
        cmocka_unit_test(few_rows_meet_one_row_of_weights_after_the_other),
        cmocka_unit_test(few_terms_are_summed_row_by_row),
        cmocka_unit_test(what_nobody_filled_is_not_multiplied),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
