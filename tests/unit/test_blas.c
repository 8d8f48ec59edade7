/* SPDX-License-Identifier: Apache-2.0 */
#include "check.h"

#include "models/nn/blas.h"

#include <string.h>

static void the_library_says_what_it_is(void **state)
{
    (void)state;
    assert_int_equal(ll_blas_open(), LL_OK);
    struct ll_blas_facts facts = ll_blas_facts();
    assert_true(strlen(facts.core) > 0);
    assert_non_null(strstr(facts.config, "OpenBLAS"));
    assert_int_equal(facts.threads, 1);
    ll_blas_set_threads(2);
    assert_int_equal(ll_blas_facts().threads, 2);
    ll_blas_set_threads(1);
}

enum { M = 3, N = 4, K = 5, LD = 7 };

/* Operands inside of larger matrices, so that leading dimensions matter. */
static void check_product(bool ta, bool tb, double beta)
{
    double a[LD * LD], b[LD * LD], c[LD * LD], expected[LD * LD];
    float a32[LD * LD], b32[LD * LD], c32[LD * LD];
    for (int i = 0; i < LD * LD; i++) {
        a32[i] = (float)(a[i] = i % 5 - 2);
        b32[i] = (float)(b[i] = i % 3 - 1);
        c32[i] = (float)(c[i] = expected[i] = i % 4);
    }
    for (int i = 0; i < M; i++)
        for (int j = 0; j < N; j++) {
            expected[i * LD + j] *= beta;
            for (int p = 0; p < K; p++)
                expected[i * LD + j] += a[ta ? p * LD + i : i * LD + p] * b[tb ? j * LD + p : p * LD + j];
        }
    struct ll_blas_product product = {ta, tb, M, N, K, a, b, LD, LD, c, LD, beta};
    ll_blas_gemm_f64(&product);
    product.a = a32;
    product.b = b32;
    product.c = c32;
    ll_blas_gemm_f32(&product);
    for (int i = 0; i < LD * LD; i++) {
        assert_true(c[i] == expected[i]); /* small whole numbers: exact */
        assert_true((double)c32[i] == expected[i]);
    }
}

static void a_product_is_what_three_loops_say(void **state)
{
    (void)state;
    assert_int_equal(ll_blas_open(), LL_OK);
    for (int i = 0; i < 8; i++)
        check_product(i & 1, i & 2, i & 4 ? 1 : 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_library_says_what_it_is),
        cmocka_unit_test(a_product_is_what_three_loops_say),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
