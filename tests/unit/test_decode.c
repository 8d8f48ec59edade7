/* SPDX-License-Identifier: Apache-2.0 */
/* The memory that calls touch, against loops that compute as BLAS is defined, element by element. */
#include "check.h"
#include "tracer/interpose/call.h"
#include "tracer/interpose/ring.h"

enum { ELEMENTS = 4096, ROWS = 101, COLUMNS = 102, BASE = 1 << 20 };

/* Which elements of a matrix or vector were touched. */
struct touched {
    bool element[ELEMENTS];
};

/* Where element (i, j) of a stored matrix lies. */
static uint64_t at(int order, uint64_t i, uint64_t j, uint64_t leading)
{
    return order == ROWS ? i * leading + j : i + j * leading;
}

static const struct ll_call_operand *operand_at(const struct ll_call *call, uint64_t address)
{
    for (uint32_t i = 0; i < call->operand_count; i++)
        if (call->operand[i].address == address)
            return &call->operand[i];
    return NULL;
}

/* An operand's runs are those elements and no others, of 8 bytes each. */
static void expect_same(const struct ll_call_operand *operand, const struct touched *touched)
{
    static struct touched runs;
    memset(&runs, 0, sizeof runs);
    assert_non_null(operand);
    for (uint64_t row = 0; row < operand->rows; row++)
        for (uint64_t byte = 0; byte < operand->row_bytes; byte += 8)
            runs.element[(row * operand->stride_bytes + byte) / 8] = true;
    assert_memory_equal(&runs, touched, sizeof runs);
    assert_int_equal(ll_elements(&operand->shape) * 8, operand->rows * operand->row_bytes);
}

static void a_product_touches_what_its_loops_touch(void **state)
{
    (void)state;
    static struct touched a, b, c;
    uint64_t random = ll_seed(7);
    for (int turn = 0; turn < 300; turn++) {
        int order = ll_random_below(&random, 2) ? ROWS : COLUMNS;
        bool ta = ll_random_below(&random, 2), tb = ll_random_below(&random, 2);
        uint64_t m = 1 + ll_random_below(&random, 6), n = 1 + ll_random_below(&random, 6),
                 k = 1 + ll_random_below(&random, 6), extra = ll_random_below(&random, 3);
        uint64_t lda = ((order == ROWS) != ta ? k : m) + extra, ldb = ((order == ROWS) != tb ? n : k) + extra,
                 ldc = (order == ROWS ? n : m) + extra;
        const uint64_t words[] = {(uint64_t)order, 111 + ta, 111 + tb, m,        n,  k, 1, BASE, lda,
                                  2 * BASE,        ldb,      0,        3 * BASE, ldc};
        struct ll_call call;
        memset(&a, 0, sizeof a), memset(&b, 0, sizeof b), memset(&c, 0, sizeof c);
        for (uint64_t i = 0; i < m; i++)
            for (uint64_t j = 0; j < n; j++)
                for (uint64_t l = 0; l < k; l++) {
                    a.element[ta ? at(order, l, i, lda) : at(order, i, l, lda)] = true;
                    b.element[tb ? at(order, j, l, ldb) : at(order, l, j, ldb)] = true;
                    c.element[at(order, i, j, ldc)] = true;
                }
        assert_true(ll_decode_call(LL_SYMBOL_cblas_dgemm, words, sizeof words / sizeof *words, &call));
        expect_same(operand_at(&call, BASE), &a);
        expect_same(operand_at(&call, 2 * BASE), &b);
        expect_same(operand_at(&call, 3 * BASE), &c);
        assert_int_equal(operand_at(&call, 3 * BASE)->access, LL_ACCESS_WRITE); /* beta is zero */
    }
}

/* Row by row: the operands in their roles make C[m, n] of op(A) and op(B). */
/* Its runs are the touched elements; where matrices of a batch overlap, it has more elements than bytes. */
static void expect_runs(const struct ll_call_operand *operand, const struct touched *touched)
{
    struct ll_call_operand runs = *operand;
    runs.shape = (struct ll_shape){.rank = 1, .dim = {operand->rows * operand->row_bytes / 8}};
    expect_same(&runs, touched);
}

/* Matrices of a batch lie one behind the other, apart, over each other, or are one and the same. */
static void a_batch_of_products_touches_what_its_loops_touch(void **state)
{
    (void)state;
    static struct touched a, b, c;
    uint64_t random = ll_seed(13);
    for (int turn = 0; turn < 300; turn++) {
        uint64_t m = 1 + ll_random_below(&random, 4), n = 1 + ll_random_below(&random, 4),
                 k = 1 + ll_random_below(&random, 4), batch = 1 + ll_random_below(&random, 4);
        uint64_t stridea = ll_random_below(&random, 2 * m * k), strideb = ll_random_below(&random, 2 * k * n),
                 stridec = m * n + ll_random_below(&random, 5);
        const uint64_t words[] = {ROWS,    111,      111, m,       n, k,        1, BASE,    k,
                                  stridea, 2 * BASE, n,   strideb, 0, 3 * BASE, n, stridec, batch};
        struct ll_call call;
        memset(&a, 0, sizeof a), memset(&b, 0, sizeof b), memset(&c, 0, sizeof c);
        for (uint64_t p = 0; p < batch; p++)
            for (uint64_t i = 0; i < m; i++)
                for (uint64_t j = 0; j < n; j++)
                    for (uint64_t l = 0; l < k; l++) {
                        a.element[p * stridea + i * k + l] = true;
                        b.element[p * strideb + l * n + j] = true;
                        c.element[p * stridec + i * n + j] = true;
                    }
        assert_true(ll_decode_call(LL_SYMBOL_cblas_dgemm_batch_strided, words, 18, &call));
        assert_int_equal(call.operand_count, 3);
        expect_runs(operand_at(&call, BASE), &a);
        expect_runs(operand_at(&call, 2 * BASE), &b);
        expect_runs(operand_at(&call, 3 * BASE), &c);
    }
}

static void a_product_by_columns_is_told_by_rows(void **state)
{
    (void)state;
    const uint64_t words[] = {COLUMNS, 'T', 'n', 7, 3, 5, 1, BASE, 5, 2 * BASE, 5, 1, 3 * BASE, 7};
    struct ll_call call;
    assert_true(ll_decode_call(LL_SYMBOL_dgemm_, words, sizeof words / sizeof *words, &call));
    assert_int_equal(ll_call_number(&call, LL_NUMBER_m), 3);
    assert_int_equal(ll_call_number(&call, LL_NUMBER_n), 7);
    assert_int_equal(ll_call_number(&call, LL_NUMBER_transa), 0);
    assert_int_equal(ll_call_number(&call, LL_NUMBER_transb), 1);
    const struct ll_call_operand *a = operand_at(&call, 2 * BASE), *b = operand_at(&call, BASE);
    assert_int_equal(a->role, LL_ARGUMENT_A);
    assert_int_equal(b->role, LL_ARGUMENT_B);
    assert_int_equal(a->shape.dim[0], 3);
    assert_int_equal(a->shape.dim[1], 5);
    assert_int_equal(b->shape.dim[0], 7); /* used transposed */
    assert_int_equal(b->shape.dim[1], 5);
}

static void a_product_with_a_vector_touches_what_its_loops_touch(void **state)
{
    (void)state;
    static struct touched x, y;
    uint64_t random = ll_seed(7);
    for (int turn = 0; turn < 200; turn++) {
        int order = ll_random_below(&random, 2) ? ROWS : COLUMNS;
        bool t = ll_random_below(&random, 2);
        uint64_t m = 1 + ll_random_below(&random, 6), n = 1 + ll_random_below(&random, 6);
        uint64_t incx = 1 + ll_random_below(&random, 3), incy = 1 + ll_random_below(&random, 3);
        const uint64_t words[] = {(uint64_t)order,       111 + t,  m,    n, 1,        BASE,
                                  order == ROWS ? n : m, 2 * BASE, incx, 1, 3 * BASE, incy};
        struct ll_call call;
        memset(&x, 0, sizeof x), memset(&y, 0, sizeof y);
        for (uint64_t i = 0; i < (t ? m : n); i++)
            x.element[i * incx] = true;
        for (uint64_t i = 0; i < (t ? n : m); i++)
            y.element[i * incy] = true;
        assert_true(ll_decode_call(LL_SYMBOL_cblas_dgemv, words, sizeof words / sizeof *words, &call));
        expect_same(operand_at(&call, 2 * BASE), &x);
        expect_same(operand_at(&call, 3 * BASE), &y);
        assert_int_equal(operand_at(&call, 3 * BASE)->access, LL_ACCESS_BOTH);
    }
}

static void a_triangle_on_the_left_by_columns_stands_right_by_rows(void **state)
{
    (void)state;
    /* side, uplo, trans, diag: A is 4 x 4, B 4 x 9 by columns. */
    const uint64_t words[] = {COLUMNS, 'L', 'U', 'N', 'U', 4, 9, 1, BASE, 4, 2 * BASE, 6};
    struct ll_call call;
    assert_true(ll_decode_call(LL_SYMBOL_dtrsm_, words, sizeof words / sizeof *words, &call));
    assert_int_equal(ll_call_number(&call, LL_NUMBER_side), 1);
    assert_int_equal(ll_call_number(&call, LL_NUMBER_uplo), 1);
    assert_int_equal(ll_call_number(&call, LL_NUMBER_diag), 1);
    assert_int_equal(ll_call_number(&call, LL_NUMBER_m), 9);
    const struct ll_call_operand *a = operand_at(&call, BASE), *b = operand_at(&call, 2 * BASE);
    assert_int_equal(a->row_bytes, 4 * 4 * 8);
    assert_int_equal(b->rows, 9);
    assert_int_equal(b->row_bytes, 4 * 8);
    assert_int_equal(b->stride_bytes, 6 * 8);
    assert_int_equal(b->access, LL_ACCESS_BOTH);
}

static void a_complex_number_has_two_parts(void **state)
{
    (void)state;
    const uint64_t words[] = {3, BASE, 2, 2 * BASE, 1};
    struct ll_call call;
    assert_true(ll_decode_call(LL_SYMBOL_zcopy_, words, 5, &call));
    assert_int_equal(call.dtype, LL_F64);
    const struct ll_call_operand *x = operand_at(&call, BASE), *y = operand_at(&call, 2 * BASE);
    assert_int_equal(x->rows, 3);
    assert_int_equal(x->row_bytes, 16);
    assert_int_equal(x->stride_bytes, 32);
    assert_int_equal(y->row_bytes, 48);
    assert_int_equal(y->shape.rank, 2);
    assert_int_equal(y->shape.dim[1], 2);
}

static void a_decomposition_gives_the_matrices_that_its_job_asks_for(void **state)
{
    (void)state;
    /* dgesdd_ of 6 x 4: job, m, n, a, lda, s, u, ldu, vt, ldvt */
    uint64_t words[] = {'S', 6, 4, BASE, 6, 2 * BASE, 3 * BASE, 6, 4 * BASE, 4};
    struct ll_call call;
    assert_true(ll_decode_call(LL_SYMBOL_dgesdd_, words, 10, &call));
    assert_int_equal(operand_at(&call, 2 * BASE)->row_bytes, 4 * 8);
    assert_int_equal(operand_at(&call, 3 * BASE)->row_bytes, 6 * 4 * 8);
    assert_int_equal(operand_at(&call, 4 * BASE)->row_bytes, 4 * 4 * 8);
    words[0] = 'N';
    assert_true(ll_decode_call(LL_SYMBOL_dgesdd_, words, 10, &call));
    assert_null(operand_at(&call, 3 * BASE));
    assert_int_equal(call.operand_count, 2);
    words[0] = 'O'; /* U overwrites A */
    assert_true(ll_decode_call(LL_SYMBOL_dgesdd_, words, 10, &call));
    assert_null(operand_at(&call, 3 * BASE));
    assert_int_equal(operand_at(&call, 4 * BASE)->row_bytes, 4 * 4 * 8);
    const uint64_t wide[] = {'O', 4, 6, BASE, 4, 2 * BASE, 3 * BASE, 4, 4 * BASE, 6}; /* V overwrites A */
    assert_true(ll_decode_call(LL_SYMBOL_dgesdd_, wide, 10, &call));
    assert_null(operand_at(&call, 4 * BASE));
    assert_int_equal(operand_at(&call, 3 * BASE)->row_bytes, 4 * 4 * 8);
}

/* dnnl_types.h: relu is 0x1f in version 2.6 and 0x20 in 3.0, gelu_erf 0x30 and 0x31. */
static void functions_of_elements_have_the_same_number_in_both_versions(void **state)
{
    static const uint64_t said[][3] = {{2, 0x1f, 0x1f}, {3, 0x20, 0x1f}, {2, 0x30, 0x30},
                                       {3, 0x31, 0x30}, {3, 0x28, 0},    {3, 0x101, 0x101}};
    (void)state;
    for (size_t i = 0; i < sizeof said / sizeof said[0]; i++) {
        uint64_t entry[LL_PRIMITIVE_WORDS + 1] = {0};
        struct ll_described described;
        entry[LL_PRIMITIVE_VERSION] = said[i][0];
        entry[LL_PRIMITIVE_KIND] = 7;
        entry[LL_PRIMITIVE_PROPAGATION] = 64;
        entry[LL_PRIMITIVE_ALGORITHM] = said[i][1];
        assert_true(ll_describe(entry, LL_PRIMITIVE_WORDS + 1, &described));
        assert_int_equal(described.call.routine, LL_ROUTINE_DNN_ELTWISE);
        assert_int_equal(ll_call_number(&described.call, LL_NUMBER_algorithm), said[i][2]);
    }
}

/* A relu of the channels 32 to 63 of two images [64, 28, 28]: they begin 32 * 784 * 4 B behind the images. */
static void a_part_of_a_memory_lies_behind_the_address_of_the_whole(void **state)
{
    static const uint64_t part[] = {1, 3, 301056, 100352, 4, 2, 32, 28, 28};
    uint64_t entry[LL_PRIMITIVE_WORDS + 1 + sizeof part / sizeof part[0]] = {0};
    const uint64_t pairs[] = {1, 1 << 20};
    struct ll_described described;
    struct ll_call call;
    (void)state;
    entry[LL_PRIMITIVE_VERSION] = 2;
    entry[LL_PRIMITIVE_KIND] = 7;
    entry[LL_PRIMITIVE_WORDS] = 1;
    memcpy(entry + LL_PRIMITIVE_WORDS + 1, part, sizeof part);
    assert_true(ll_describe(entry, sizeof entry / sizeof entry[0], &described));
    ll_decode_execution(&described, pairs, 1, &call);
    assert_int_equal(call.operand_count, 1);
    assert_int_equal(call.operand[0].address, (1 << 20) + 100352);
    assert_int_equal(call.operand[0].row_bytes, 301056);
    assert_int_equal(call.operand[0].shape.rank, 4);
    assert_int_equal(call.operand[0].shape.dim[1], 32);
}

static void nonsense_gives_few_operands_and_no_harm(void **state)
{
    (void)state;
    uint64_t random = ll_seed(11), words[64];
    for (uint32_t symbol = 0; symbol < LL_SYMBOL_COUNT; symbol++) {
        for (unsigned count = 0; count < 24; count++) {
            struct ll_call call;
            for (unsigned i = 0; i < count; i++)
                words[i] = ll_random(&random) >> ll_random_below(&random, 64);
            if (!ll_decode_call(symbol, words, count, &call))
                continue;
            assert_true(call.operand_count <= LL_MAX_OPERANDS && call.number_count <= LL_MAX_CALL_NUMBERS);
            for (uint32_t i = 0; i < call.operand_count; i++)
                assert_true(ll_fits(ll_mul(call.operand[i].rows, call.operand[i].stride_bytes)));
        }
    }
    assert_false(ll_decode_call(LL_SYMBOL_COUNT, words, 3, &(struct ll_call){0}));
}

static const struct ll_symbol_row *find_symbol(const char *name)
{
    const struct ll_symbol_row *row;
    for (uint32_t i = 0; (row = ll_symbol_row(i)); i++)
        if (strcmp(row->name, name) == 0)
            return row;
    return NULL;
}

/* As OpenBLAS spells them when it is built so (INTERFACE64, SYMBOLSUFFIX), and as NumPy and SciPy bring it.
 */
static void each_routine_has_names_for_integers_of_64_bits(void **state)
{
    static const char *const signatures[] = {"%s64_", "scipy_%s64_"};
    const struct ll_symbol_row *row;
    (void)state;
    for (uint32_t i = 0; (row = ll_symbol_row(i)); i++) {
        if (strstr(row->name, "64_") || strncmp(row->name, "dnnl_", 5) == 0)
            continue;
        for (size_t signature = 0; signature < 2; signature++) {
            char name[64];
            snprintf(name, sizeof name, signatures[signature], row->name);
            const struct ll_symbol_row *wide = find_symbol(name);
            if (!wide)
                fail_msg("%s is missing", name);
            assert_int_equal(wide->routine, row->routine);
            assert_int_equal(wide->dtype, row->dtype);
            assert_int_equal(wide->complex, row->complex);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_product_touches_what_its_loops_touch),
        cmocka_unit_test(a_batch_of_products_touches_what_its_loops_touch),
        cmocka_unit_test(each_routine_has_names_for_integers_of_64_bits),
        cmocka_unit_test(a_product_by_columns_is_told_by_rows),
        cmocka_unit_test(a_product_with_a_vector_touches_what_its_loops_touch),
        cmocka_unit_test(a_triangle_on_the_left_by_columns_stands_right_by_rows),
        cmocka_unit_test(a_complex_number_has_two_parts),
        cmocka_unit_test(a_decomposition_gives_the_matrices_that_its_job_asks_for),
        cmocka_unit_test(functions_of_elements_have_the_same_number_in_both_versions),
        cmocka_unit_test(a_part_of_a_memory_lies_behind_the_address_of_the_whole),
        cmocka_unit_test(nonsense_gives_few_operands_and_no_harm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
