/* SPDX-License-Identifier: Apache-2.0 */
/* Products whose right operand has rows a page apart, which random ops do not have: by columns and by rows of
 * the result, in both types, alone and by several threads. Whole numbers, so that sums are exact. */
#include "check.h"

#include "models/nn/blas.h"
#include "models/nn/kernel.h"

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

static void check_product(enum ll_dtype dtype, uint64_t m, uint64_t n, uint64_t k, unsigned threads)
{
    struct ll_attr turned = {.key = LL_ATTR_TRANSPOSE_B, .count = 1};
    struct ll_shape in[] = {{.rank = 2, .dtype = (uint8_t)dtype, .dim = {m, k}},
                            {.rank = 2, .dtype = (uint8_t)dtype, .dim = {n, k}}},
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
                sum += element(a, dtype, i * k + l) * element(b, dtype, j * k + l);
            assert_true(element(c, dtype, i * n + j) == sum);
        }
    ll_pool_free(pool);
    free(workspace);
    free(c);
    free(b);
    free(a);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_a_page_apart_are_multiplied_as_any),
        cmocka_unit_test(few_rows_meet_one_row_of_weights_after_the_other),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
