/* SPDX-License-Identifier: Apache-2.0 */
/* Calls whose factors, diagonals or matrices are such that less is to be done than their sizes say. Words as
 * in a record (ring.h); the addresses are BASE and multiples of it. */
#include "check.h"
#include "tracer/capture/meaning.h"
#include "tracer/interpose/call.h"
#include "tracer/interpose/ring.h"

enum { ROWS = 101, BASE = 1 << 20, UPPER = 121 };

static void mean(uint32_t symbol, const uint64_t *words, unsigned count, struct ll_meant *meant)
{
    static struct ll_meanings meanings;
    struct ll_call call;
    assert_true(ll_decode_call(symbol, words, count, &call));
    ll_meanings(&meanings);
    ll_meaning_of(&meanings, &call, meant);
}

static uint64_t flops_of(uint32_t symbol, const uint64_t *words, unsigned count, enum ll_op_kind kind)
{
    struct ll_meant meant;
    mean(symbol, words, count, &meant);
    assert_string_equal(ll_op_name(meant.view.kind), ll_op_name(kind));
    return ll_op_flops(&meant.view);
}

static uint32_t operands_of(uint32_t symbol, const uint64_t *words, unsigned count)
{
    struct ll_call call;
    assert_true(ll_decode_call(symbol, words, count, &call));
    return call.operand_count;
}

/* sgemm of 3 x 4 whose result is multiplied by one, with an alpha of zero or no depth; dtrsm of 3 x 4 whose
 * alpha is zero. */
static void what_nothing_is_done_to_is_left_alone_or_cleared(void **state)
{
    (void)state;
    const uint64_t zero[] = {ROWS, 111, 111, 3, 4, 5, 0, BASE, 5, 2 * BASE, 4, LL_RING_ONE, 3 * BASE, 4},
                   flat[] = {ROWS, 111, 111, 3, 4, 0, 1, BASE, 5, 2 * BASE, 4, LL_RING_ONE, 3 * BASE, 4},
                   solve[] = {ROWS, 141, UPPER, 111, 131, 3, 4, 0, BASE, 3, 2 * BASE, 4};
    assert_int_equal(operands_of(LL_SYMBOL_cblas_sgemm, zero, 14), 0);
    assert_int_equal(operands_of(LL_SYMBOL_cblas_sgemm, flat, 14), 0);
    assert_int_equal(flops_of(LL_SYMBOL_cblas_dtrsm, solve, 12, LL_OP_CONSTANT), 0);
}

/* daxpby of 100, dgeadd of 3 x 4. */
static void both_factors_count_unless_one_is_one(void **state)
{
    (void)state;
    uint64_t line[] = {100, 1, BASE, 1, 1, 2 * BASE, 1}, plane[] = {ROWS, 3, 4, 1, BASE, 4, 1, 2 * BASE, 4};
    assert_int_equal(flops_of(LL_SYMBOL_cblas_daxpby, line, 7, LL_OP_AXPBY), 3 * 100);
    assert_int_equal(flops_of(LL_SYMBOL_cblas_zaxpby, line, 7, LL_OP_AXPBY), 14 * 100);
    assert_int_equal(flops_of(LL_SYMBOL_cblas_dgeadd, plane, 9, LL_OP_AXPBY), 3 * 12);
    line[4] = plane[6] = LL_RING_ONE;
    assert_int_equal(flops_of(LL_SYMBOL_cblas_daxpby, line, 7, LL_OP_AXPY), 2 * 100);
    assert_int_equal(flops_of(LL_SYMBOL_cblas_dgeadd, plane, 9, LL_OP_AXPY), 2 * 12);
}

/* dtrsm of 3 x 4, the triangle on the left: 4 columns of 3 (3 - 1); ztrmm likewise; dtrtri of 3 x 3: columns
 * of 1 and 2 elements above the diagonal, multiplied by -1, and one product and one sum for the last. */
static void a_diagonal_of_ones_is_not_multiplied_by(void **state)
{
    (void)state;
    const uint64_t side[] = {ROWS, 141, UPPER, 111, 132, 3, 4, 1, BASE, 3, 2 * BASE, 4};
    const uint64_t inverse[] = {'U', 'U', 3, BASE, 3};
    assert_int_equal(flops_of(LL_SYMBOL_cblas_dtrsm, side, 12, LL_OP_TRSM), 4 * 3 * 2);
    assert_int_equal(flops_of(LL_SYMBOL_cblas_ztrmm, side, 12, LL_OP_TRMM), 4 * 3 * (6 + 2));
    assert_int_equal(flops_of(LL_SYMBOL_dtrtri_, inverse, 5, LL_OP_TRTRI), 1 + 2 + 1 + 1);
}

/* dgemm_batch_strided of six of 3 x 4 and depth 5, each stored one way or the other: FLOPs of all, bytes of
 * what there is once. What C held is added by an op behind it, or by the product. */
static void a_batch_that_shares_a_matrix_reads_it_once(void **state)
{
    (void)state;
    enum { M = 3, N = 4, K = 5, SIX = 6 };
    for (unsigned turn = 0; turn < 32; turn++) {
        bool turned_a = turn & 1, turned_b = turn & 2, same_a = turn & 4, same_b = turn & 8, adds = turn & 16;
        const uint64_t words[] = {ROWS,
                                  111 + turned_a,
                                  111 + turned_b,
                                  M,
                                  N,
                                  K,
                                  1,
                                  BASE,
                                  turned_a ? M : K,
                                  same_a ? 0 : M * K,
                                  2 * BASE,
                                  turned_b ? K : N,
                                  same_b ? 0 : K * N,
                                  adds,
                                  3 * BASE,
                                  N,
                                  M * N,
                                  SIX};
        struct ll_meant meant;
        mean(LL_SYMBOL_cblas_dgemm_batch_strided, words, 18, &meant);
        bool product = same_a || same_b, within = product && adds;
        assert_string_equal(ll_op_name(meant.view.kind), within    ? "matmul_add"
                                                         : product ? "matmul"
                                                                   : "batch_matmul");
        assert_int_equal(ll_op_flops(&meant.view), SIX * 2 * M * N * K);
        assert_int_equal(meant.behind_count, adds && !within);
        uint64_t a = same_a && !same_b ? M * K : SIX * M * K, b = same_b ? K * N : SIX * K * N;
        assert_int_equal(ll_op_bytes_read(&meant.view), 8 * (a + b + (within ? SIX * M * N : 0)));
        assert_int_equal(ll_op_bytes_written(&meant.view), 8 * SIX * M * N);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_nothing_is_done_to_is_left_alone_or_cleared),
        cmocka_unit_test(both_factors_count_unless_one_is_one),
        cmocka_unit_test(a_diagonal_of_ones_is_not_multiplied_by),
        cmocka_unit_test(a_batch_that_shares_a_matrix_reads_it_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
