/* SPDX-License-Identifier: Apache-2.0 */
/* From the words of a call to an op: what it touches and how much it computes, against loops over the
 * elements that BLAS' definitions name. */
#include "check.h"
#include "tracer/capture/meaning.h"
#include "tracer/interpose/call.h"

enum { ROWS = 101, COLUMNS = 102, BASE = 1 << 20, ELEMENTS = 4096, UPPER = 121, LOWER = 122 };

/* A matrix stored in parts: its size, its diagonals below and above (n of them where it is packed), and which
 * of its elements were touched. */
struct part {
    int order, uplo;
    uint64_t m, n, lower, upper, leading;
    bool packed, triangle;
    bool touched[ELEMENTS];
};

static bool within(const struct part *p, uint64_t i, uint64_t j)
{
    return i + p->upper >= j && j + p->lower >= i && !(p->triangle && (p->uplo == UPPER ? i > j : i < j));
}

/* Where element (i, j) of a band lies: diagonals stand side by side, in columns or in rows (reference BLAS,
 * dgbmv, dtbmv; its C interface for rows). */
static uint64_t in_band(const struct part *p, uint64_t i, uint64_t j)
{
    uint64_t above = p->triangle && p->uplo == LOWER ? 0 : p->upper;
    uint64_t below = p->triangle && p->uplo == UPPER ? 0 : p->lower;
    return p->order == COLUMNS ? above + i - j + j * p->leading : below + j - i + i * p->leading;
}

/* And of a packed triangle (dspmv, dtpmv). */
static uint64_t in_packed(const struct part *p, uint64_t i, uint64_t j)
{
    uint64_t fast = p->order == COLUMNS ? i : j, slow = p->order == COLUMNS ? j : i;
    bool grows = (p->order == COLUMNS) == (p->uplo == UPPER);
    return grows ? fast + slow * (slow + 1) / 2 : fast + (2 * p->n - slow - 1) * slow / 2;
}

/* Touches all elements that there are; how many, and of these how many on the diagonal. */
static uint64_t touch(struct part *p, uint64_t *on_diagonal)
{
    uint64_t count = 0;
    *on_diagonal = 0;
    for (uint64_t i = 0; i < p->m; i++)
        for (uint64_t j = 0; j < p->n; j++)
            if (within(p, i, j)) {
                p->touched[p->packed ? in_packed(p, i, j) : in_band(p, i, j)] = true;
                *on_diagonal += i == j;
                count++;
            }
    return count;
}

static const struct ll_call_operand *operand_at(const struct ll_call *call, uint64_t address)
{
    for (uint32_t i = 0; i < call->operand_count; i++)
        if (call->operand[i].address == address)
            return &call->operand[i];
    return NULL;
}

/* The operand covers what was touched, and is no longer than the storage. */
static void expect_covered(const struct ll_call *call, const struct part *p, uint64_t bytes)
{
    const struct ll_call_operand *a = operand_at(call, BASE);
    assert_non_null(a);
    for (uint64_t e = 0; e < ELEMENTS; e++)
        if (p->touched[e]) {
            assert_true(e * bytes / a->stride_bytes < a->rows);
            assert_true(e * bytes % a->stride_bytes < a->row_bytes);
        }
    uint64_t lines = p->packed ? 1 : p->order == COLUMNS ? p->n : p->m;
    uint64_t line = p->packed ? p->n * (p->n + 1) / 2 : (p->triangle ? p->upper : p->lower + p->upper) + 1;
    assert_int_equal(a->rows * a->row_bytes, lines * line * bytes);
}

static void expect_op(const uint64_t *words, unsigned count, uint32_t symbol, const struct part *p,
                      enum ll_op_kind kind, uint64_t products, uint64_t sums)
{
    static struct ll_meanings meanings;
    struct ll_call call;
    struct ll_meant meant;
    bool is_complex = ll_symbol_row(symbol)->complex;
    assert_true(ll_decode_call(symbol, words, count, &call));
    expect_covered(&call, p, is_complex ? 16 : 8);
    ll_meanings(&meanings);
    call.symbol = symbol;
    ll_meaning_of(&meanings, &call, &meant);
    assert_string_equal(ll_op_name(meant.view.kind), ll_op_name(kind));
    assert_int_equal(ll_op_flops(&meant.view), is_complex ? 6 * products + 2 * sums : products + sums);
}

static struct part draw_part(uint64_t *random, bool packed)
{
    struct part p = {.order = ll_random_below(random, 2) ? ROWS : COLUMNS, .packed = packed};
    p.n = p.m = 1 + ll_random_below(random, 7);
    p.uplo = ll_random_below(random, 2) ? UPPER : LOWER;
    p.lower = p.upper = packed ? p.n : ll_random_below(random, p.n);
    p.leading = p.upper + 1 + ll_random_below(random, 3);
    return p;
}

enum { TURNS = 200 };

static void a_band_is_as_many_flops_as_its_elements_ask_for(void **state)
{
    (void)state;
    uint64_t random = ll_seed(21), diagonal;
    for (int turn = 0; turn < TURNS; turn++) {
        struct part p = draw_part(&random, false);
        uint64_t t = ll_random_below(&random, 3), beta = ll_random_below(&random, 2);
        p.m = 1 + ll_random_below(&random, 7);
        p.lower = ll_random_below(&random, p.m);
        p.leading += p.lower;
        uint64_t elements = touch(&p, &diagonal);
        const uint64_t words[] = {(uint64_t)p.order, 111 + t,  p.m, p.n,  p.lower,  p.upper, 1, BASE,
                                  p.leading,         2 * BASE, 1,   beta, 3 * BASE, 1};
        expect_op(words, 14, ll_random_below(&random, 2) ? LL_SYMBOL_cblas_dgbmv : LL_SYMBOL_cblas_zgbmv, &p,
                  beta ? LL_OP_GBMV_ADD : LL_OP_GBMV, elements, elements);
    }
}

/* Symmetric: each element beside the diagonal counts for its mirror image as well. */
static void symmetric_parts_count_their_mirror_images(void **state)
{
    (void)state;
    uint64_t random = ll_seed(22), diagonal;
    for (int turn = 0; turn < TURNS; turn++) {
        struct part p = draw_part(&random, turn % 2);
        uint64_t beta = ll_random_below(&random, 2), order = (uint64_t)p.order, uplo = (uint64_t)p.uplo;
        p.triangle = true;
        uint64_t elements = 2 * touch(&p, &diagonal) - diagonal;
        const uint64_t band[] = {order,     uplo,     p.n, p.upper, 1,        BASE,
                                 p.leading, 2 * BASE, 1,   beta,    3 * BASE, 1};
        const uint64_t packed[] = {order, uplo, p.n, 1, BASE, 2 * BASE, 1, beta, 3 * BASE, 1};
        if (p.packed)
            expect_op(packed, 10, turn % 4 == 1 ? LL_SYMBOL_cblas_dspmv : LL_SYMBOL_cblas_zhpmv, &p,
                      beta ? LL_OP_SPMV_ADD : LL_OP_SPMV, elements, elements);
        else
            expect_op(band, 12, turn % 4 == 0 ? LL_SYMBOL_cblas_dsbmv : LL_SYMBOL_cblas_zhbmv, &p,
                      beta ? LL_OP_SBMV_ADD : LL_OP_SBMV, elements, elements);
    }
}

static void triangles_multiply_each_element_and_add_all_but_the_diagonal(void **state)
{
    static const struct {
        uint32_t real, complex;
        enum ll_op_kind kind;
    } routines[] = {{LL_SYMBOL_cblas_dtbmv, LL_SYMBOL_cblas_ztbmv, LL_OP_TBMV},
                    {LL_SYMBOL_cblas_dtbsv, LL_SYMBOL_cblas_ztbsv, LL_OP_TBSV},
                    {LL_SYMBOL_cblas_dtpmv, LL_SYMBOL_cblas_ztpmv, LL_OP_TPMV},
                    {LL_SYMBOL_cblas_dtpsv, LL_SYMBOL_cblas_ztpsv, LL_OP_TPSV}};
    (void)state;
    uint64_t random = ll_seed(23), diagonal;
    for (int turn = 0; turn < 2 * TURNS; turn++) {
        uint64_t which = ll_random_below(&random, 4);
        struct part p = draw_part(&random, which >= 2);
        p.triangle = true;
        uint64_t elements = touch(&p, &diagonal);
        uint64_t words[16], *word = words;
        *word++ = (uint64_t)p.order, *word++ = (uint64_t)p.uplo;
        bool ones = ll_random_below(&random, 2);
        *word++ = 111 + ll_random_below(&random, 3), *word++ = ones ? 132 : 131;
        *word++ = p.n;
        if (!p.packed)
            *word++ = p.upper;
        *word++ = BASE;
        if (!p.packed)
            *word++ = p.leading;
        *word++ = 2 * BASE, *word++ = 1;
        expect_op(words, (unsigned)(word - words), turn % 2 ? routines[which].real : routines[which].complex,
                  &p, routines[which].kind, ones ? elements - diagonal : elements, elements - diagonal);
    }
}

static void updates_of_packed_triangles_touch_each_element_once_a_vector(void **state)
{
    (void)state;
    uint64_t random = ll_seed(24), diagonal;
    for (int turn = 0; turn < TURNS; turn++) {
        struct part p = draw_part(&random, true);
        p.triangle = true;
        uint64_t elements = touch(&p, &diagonal), order = (uint64_t)p.order, uplo = (uint64_t)p.uplo;
        const uint64_t one[] = {order, uplo, p.n, 1, 2 * BASE, 1, BASE},
                       two[] = {order, uplo, p.n, 1, 2 * BASE, 1, 3 * BASE, 1, BASE};
        expect_op(one, 7, turn % 2 ? LL_SYMBOL_cblas_dspr : LL_SYMBOL_cblas_zhpr, &p, LL_OP_SPR, elements,
                  elements);
        expect_op(two, 9, turn % 2 ? LL_SYMBOL_cblas_dspr2 : LL_SYMBOL_cblas_zhpr2, &p, LL_OP_SPR2,
                  2 * elements, 2 * elements);
    }
}

static enum ll_op_kind kind_of(uint32_t symbol, const uint64_t *words, unsigned count)
{
    static struct ll_meanings meanings;
    struct ll_call call;
    struct ll_meant meant;
    assert_true(ll_decode_call(symbol, words, count, &call));
    ll_meanings(&meanings);
    ll_meaning_of(&meanings, &call, &meant);
    return meant.view.kind;
}

/* The elements of x are BASE, those of y 2 BASE. */
static void a_copy_may_be_of_one_element_or_of_the_transpose(void **state)
{
    (void)state;
    const uint64_t all[] = {5, BASE, 1, 2 * BASE, 1}, one[] = {5, BASE, 0, 2 * BASE, 1};
    assert_int_equal(kind_of(LL_SYMBOL_dcopy_, all, 5), LL_OP_COPY);
    assert_int_equal(kind_of(LL_SYMBOL_dcopy_, one, 5), LL_OP_EXPAND);
    const uint64_t plain[] = {ROWS, 111, 3, 4, 1, BASE, 4, 2 * BASE, 4},
                   turned[] = {ROWS, 112, 3, 4, 1, BASE, 4, 2 * BASE, 3},
                   itself[] = {'C', 'T', 3, 4, 1, BASE, 3, 4};
    assert_int_equal(kind_of(LL_SYMBOL_cblas_domatcopy, plain, 9), LL_OP_COPY);
    assert_int_equal(kind_of(LL_SYMBOL_cblas_domatcopy, turned, 9), LL_OP_TRANSPOSE);
    assert_int_equal(kind_of(LL_SYMBOL_dimatcopy_, itself, 8), LL_OP_TRANSPOSE);
}

/* dgemm_ of 3 x 4 and no depth, beta not zero. */
static void a_product_without_depth_scales_what_it_adds_to(void **state)
{
    (void)state;
    const uint64_t words[] = {COLUMNS, 'N', 'T', 3, 4, 0, 1, BASE, 3, 2 * BASE, 4, 1, 3 * BASE, 3};
    assert_int_equal(kind_of(LL_SYMBOL_dgemm_, words, 14), LL_OP_SCAL);
}

static uint64_t flops_of(uint32_t symbol, const uint64_t *words, unsigned count, enum ll_op_kind kind)
{
    static struct ll_meanings meanings;
    struct ll_call call;
    struct ll_meant meant;
    assert_true(ll_decode_call(symbol, words, count, &call));
    ll_meanings(&meanings);
    ll_meaning_of(&meanings, &call, &meant);
    assert_string_equal(ll_op_name(meant.view.kind), ll_op_name(kind));
    return ll_op_flops(&meant.view);
}

/* Reference BLAS, ddot, daxpy, dasum, dgemv: the loops of the first two step by 0, the third returns, the
 * last one calls xerbla. */
static void an_increment_of_zero_takes_one_element_each_time(void **state)
{
    (void)state;
    const uint64_t one[] = {5, BASE, 0, 2 * BASE, 3}, both[] = {5, BASE, 0, 2 * BASE, 0},
                   sum[] = {5, 1, BASE, 1, 2 * BASE, 0}, alone[] = {5, BASE, 0},
                   product[] = {ROWS, 111, 4, 5, 1, BASE, 5, 2 * BASE, 0, 1, 3 * BASE, 1};
    struct ll_call call;
    assert_int_equal(flops_of(LL_SYMBOL_ddot_, one, 5, LL_OP_DOT), 2 * 5);
    assert_int_equal(flops_of(LL_SYMBOL_ddot_, both, 5, LL_OP_DOT), 2 * 5);
    assert_int_equal(flops_of(LL_SYMBOL_daxpy_, sum, 6, LL_OP_AXPY), 2 * 5);
    assert_true(ll_decode_call(LL_SYMBOL_ddot_, one, 5, &call));
    assert_int_equal(operand_at(&call, BASE)->rows, 1);
    assert_int_equal(operand_at(&call, BASE)->row_bytes, sizeof(double));
    assert_int_equal(operand_at(&call, 2 * BASE)->rows, 5);
    assert_true(ll_decode_call(LL_SYMBOL_dasum_, alone, 3, &call));
    assert_int_equal(call.operand_count, 0);
    assert_true(ll_decode_call(LL_SYMBOL_cblas_dgemv, product, 12, &call));
    assert_int_equal(call.operand_count, 0);
}

/* dorgqr_(m, n, k, a, lda, tau): 1000 x 1000 of 10 reflectors, as a complete factorization of 1000 x 10
 * asks for; 4 m n k - 2 (m + n) k^2 + 4 k^3 / 3 and lower terms; of none it is the identity. */
static void the_columns_of_q_cost_what_their_reflectors_do(void **state)
{
    (void)state;
    const uint64_t few[] = {1000, 1000, 10, BASE, 1000, 2 * BASE}, none[] = {8, 8, 0, BASE, 8, 2 * BASE};
    double flops = (double)flops_of(LL_SYMBOL_dorgqr_, few, 6, LL_OP_ORGQR);
    assert_near(flops, 4e7 - 4e5 + 4e3 / 3, 1e-3);
    assert_int_equal(flops_of(LL_SYMBOL_dorgqr_, none, 6, LL_OP_ORGQR), 0);
}

static uint32_t operands_of(uint32_t symbol, const uint64_t *words, unsigned count)
{
    struct ll_call call;
    assert_true(ll_decode_call(symbol, words, count, &call));
    return call.operand_count;
}

/* sgemm of 3 x 4 and depth 5, alpha zero: C is scaled, or set to zero. A sum of nothing is left alone. */
static void what_is_multiplied_by_zero_is_not_read(void **state)
{
    (void)state;
    uint64_t product[] = {ROWS, 111, 111, 3, 4, 5, 0, BASE, 5, 2 * BASE, 4, 1, 3 * BASE, 4};
    const uint64_t sum[] = {100, 0, BASE, 1, 2 * BASE, 1},
                   outer[] = {ROWS, 3, 4, 0, BASE, 1, 2 * BASE, 1, 3 * BASE, 4};
    assert_int_equal(flops_of(LL_SYMBOL_cblas_sgemm, product, 14, LL_OP_SCAL), 3 * 4);
    assert_int_equal(operands_of(LL_SYMBOL_cblas_sgemm, product, 14), 1);
    product[11] = 0;
    assert_int_equal(flops_of(LL_SYMBOL_cblas_sgemm, product, 14, LL_OP_CONSTANT), 0);
    assert_int_equal(operands_of(LL_SYMBOL_cblas_daxpy, sum, 6), 0);
    assert_int_equal(operands_of(LL_SYMBOL_cblas_dger, outer, 10), 0);
}

/* sgemm of 3 x 4 and depth 5, whose rows of A are said to be 4 apart; dpotrf of 6 x 6 likewise. */
static void a_call_that_the_library_refuses_touches_nothing(void **state)
{
    (void)state;
    const uint64_t product[] = {ROWS, 111, 111, 3, 4, 5, 1, BASE, 4, 2 * BASE, 4, 0, 3 * BASE, 4},
                   factors[] = {'L', 6, BASE, 5};
    assert_int_equal(operands_of(LL_SYMBOL_cblas_sgemm, product, 14), 0);
    assert_int_equal(operands_of(LL_SYMBOL_dpotrf_, factors, 4), 0);
}

/* By a real number each part once, by a complex one as a product of two. */
static void numbers_of_two_parts_are_scaled_as_their_factor_is(void **state)
{
    (void)state;
    const uint64_t words[] = {100, 1, BASE, 1};
    assert_int_equal(flops_of(LL_SYMBOL_cblas_zdscal, words, 4, LL_OP_SCAL), 2 * 100);
    assert_int_equal(flops_of(LL_SYMBOL_csscal_, words, 4, LL_OP_SCAL), 2 * 100);
    assert_int_equal(flops_of(LL_SYMBOL_cblas_zscal, words, 4, LL_OP_SCAL), 6 * 100);
    assert_int_equal(flops_of(LL_SYMBOL_cblas_dscal, words, 4, LL_OP_SCAL), 100);
}

static void set_number(struct ll_call *call, enum ll_number number, int64_t value)
{
    call->number[number - LL_NUMBER_algorithm] = value;
}

static void add_volume(struct ll_call *call, enum ll_argument role, unsigned access, const uint64_t dims[5])
{
    struct ll_call_operand *operand = &call->operand[call->operand_count++];
    *operand = (struct ll_call_operand){.role = (uint8_t)role, .access = (uint8_t)access, .address = BASE};
    operand->shape = (struct ll_shape){.rank = 5, .dtype = LL_F32};
    memcpy(operand->shape.dim, dims, 5 * sizeof *dims);
}

/* Forward and both ways back: every element of the volume, the filter and the result counts once, and each
 * tap is a multiplication and an addition for each element of the result. */
static void a_volume_is_convolved_without_copies(void **state)
{
    static const struct {
        uint64_t x[5], w[5], y[5];
        int64_t stride, pad, dilation;
    } convs[] = {{{2, 16, 16, 32, 32}, {32, 16, 3, 3, 3}, {2, 32, 16, 32, 32}, 1, 1, 1},
                 {{2, 4, 9, 11, 12}, {6, 4, 3, 3, 2}, {2, 6, 4, 5, 6}, 2, 0, 1},
                 {{1, 3, 8, 8, 8}, {4, 3, 2, 2, 2}, {1, 4, 6, 6, 6}, 1, 0, 2},
                 {{1, 3, 2, 2, 2}, {4, 3, 1, 1, 1}, {1, 4, 1, 1, 1}, 2, 0, 1},
                 {{1, 3, 2, 2, 2}, {4, 3, 2, 2, 2}, {1, 4, 1, 1, 1}, 1, 0, 1}};
    static const struct {
        enum ll_routine routine;
        enum ll_argument x, w, y;
        unsigned x_access, w_access, y_access;
        enum ll_op_kind kind;
    } ways[] = {{LL_ROUTINE_DNN_CONVOLUTION, LL_ARGUMENT_SRC, LL_ARGUMENT_WEIGHTS, LL_ARGUMENT_DST,
                 LL_ACCESS_READ, LL_ACCESS_READ, LL_ACCESS_WRITE, LL_OP_CONV2D},
                {LL_ROUTINE_DNN_CONVOLUTION_BACKWARD_DATA, LL_ARGUMENT_DIFF_SRC, LL_ARGUMENT_WEIGHTS,
                 LL_ARGUMENT_DIFF_DST, LL_ACCESS_WRITE, LL_ACCESS_READ, LL_ACCESS_READ, LL_OP_CONV2D_DATA},
                {LL_ROUTINE_DNN_CONVOLUTION_BACKWARD_WEIGHTS, LL_ARGUMENT_SRC, LL_ARGUMENT_DIFF_WEIGHTS,
                 LL_ARGUMENT_DIFF_DST, LL_ACCESS_READ, LL_ACCESS_WRITE, LL_ACCESS_READ, LL_OP_CONV2D_FILTER}};
    static struct ll_meanings meanings;
    (void)state;
    ll_meanings(&meanings);
    for (size_t i = 0; i < sizeof convs / sizeof *convs * 3; i++) {
        const uint64_t *x = convs[i / 3].x, *w = convs[i / 3].w, *y = convs[i / 3].y;
        struct ll_call call = {.routine = ways[i % 3].routine, .dtype = LL_F32, .number_count = 19};
        struct ll_meant meant;
        uint64_t elements[3] = {1, 1, 1};
        for (int d = 0; d < 5; d++)
            elements[0] *= x[d], elements[1] *= w[d], elements[2] *= y[d];
        for (enum ll_number d = LL_NUMBER_stride_d; d <= LL_NUMBER_stride_w; d++)
            set_number(&call, d, convs[i / 3].stride);
        for (enum ll_number d = LL_NUMBER_dilation_d; d <= LL_NUMBER_dilation_w; d++)
            set_number(&call, d, convs[i / 3].dilation);
        for (enum ll_number d = LL_NUMBER_before_d; d <= LL_NUMBER_behind_w; d++)
            set_number(&call, d, convs[i / 3].pad);
        for (int d = 0; d < 3; d++)
            set_number(&call, LL_NUMBER_kernel_d + (unsigned)d, (int64_t)w[2 + d]);
        set_number(&call, LL_NUMBER_groups, 1);
        add_volume(&call, ways[i % 3].x, ways[i % 3].x_access, x);
        add_volume(&call, ways[i % 3].w, ways[i % 3].w_access, w);
        add_volume(&call, ways[i % 3].y, ways[i % 3].y_access, y);
        ll_meaning_of(&meanings, &call, &meant);
        assert_string_equal(ll_op_name(meant.view.kind), ll_op_name(ways[i % 3].kind));
        assert_int_equal(ll_op_flops(&meant.view), 2 * elements[2] * w[1] * w[2] * w[3] * w[4]);
        assert_int_equal(ll_op_bytes_read(&meant.view) + ll_op_bytes_written(&meant.view),
                         4 * (elements[0] + elements[1] + elements[2]));
    }
}

/* dgesvx of 4 x 4 with two right-hand sides: fact, trans, n, nrhs, a, lda, af, ldaf, equed, b, ldb, x, ldx.
 */
static void an_expert_driver_finds_factors_unless_it_is_given_them(void **state)
{
    (void)state;
    static struct ll_meanings meanings;
    uint64_t words[] = {'N', 'N', 4, 2, BASE, 4, 2 * BASE, 4, 'N', 3 * BASE, 4, 4 * BASE, 4};
    struct ll_call call;
    struct ll_meant meant;
    ll_meanings(&meanings);
    for (int given = 0; given < 2; given++) {
        words[0] = given ? 'F' : 'N';
        assert_true(ll_decode_call(LL_SYMBOL_dgesvx_, words, 13, &call));
        ll_meaning_of(&meanings, &call, &meant);
        assert_int_equal(meant.view.kind, LL_OP_GESVX);
        assert_int_equal(meant.view.input_count, 2 + given);
        assert_int_equal(meant.view.output_count, 2 - given);
    }
}

/* A stack of products as oneDNN has it: dimensions that are 1 repeat. */
struct stack {
    struct ll_shape a, b, c;
    enum ll_op_kind kind;
    uint64_t flops, bytes_read;
};

static struct ll_call product_of(const struct stack *stack)
{
    const struct ll_shape *const shapes[] = {&stack->b, &stack->a, &stack->c};
    static const uint8_t roles[] = {LL_ARGUMENT_WEIGHTS, LL_ARGUMENT_SRC, LL_ARGUMENT_DST};
    struct ll_call call = {.routine = LL_ROUTINE_DNN_MATMUL, .symbol = LL_SYMBOL_dnnl_primitive_execute};
    for (uint32_t i = 0; i < 3; i++)
        call.operand[call.operand_count++] =
            (struct ll_call_operand){.address = (i + 1) * UINT64_C(0x100000),
                                     .rows = 1,
                                     .row_bytes = ll_size_bytes(shapes[i]),
                                     .shape = *shapes[i],
                                     .access = i < 2 ? LL_ACCESS_READ : LL_ACCESS_WRITE,
                                     .role = roles[i]};
    return call;
}

#define SHAPE(type, ...)                                                                                     \
    {                                                                                                        \
        .dtype = LL_##type, .rank = sizeof((uint64_t[]){__VA_ARGS__}) / sizeof(uint64_t), .dim = {           \
            __VA_ARGS__                                                                                      \
        }                                                                                                    \
    }

/* FLOPs are 2 for each element of the result and of the depth; each operand is read once. */
static void stacks_of_products_count_what_repeats_once(void **state)
{
    (void)state;
    static const struct stack stacks[] = {
        {SHAPE(F32, 4, 32, 64), SHAPE(F32, 1, 64, 48), SHAPE(F32, 4, 32, 48), LL_OP_MATMUL,
         2 * 4 * 32 * 64 * 48, 4 * (4 * 32 * 64 + 64 * 48)},
        {SHAPE(F32, 1, 32, 64), SHAPE(F32, 4, 64, 48), SHAPE(F32, 4, 32, 48), LL_OP_MATMUL,
         2 * 4 * 32 * 64 * 48, 4 * (32 * 64 + 4 * 64 * 48)},
        {SHAPE(F32, 2, 3, 32, 64), SHAPE(F32, 1, 3, 64, 48), SHAPE(F32, 2, 3, 32, 48), LL_OP_BATCH_MATMUL,
         2 * 6 * 32 * 64 * 48, 4 * (6 * 32 * 64 + 3 * 64 * 48)},
        {SHAPE(F32, 2, 1, 32, 64), SHAPE(F32, 1, 3, 64, 48), SHAPE(F32, 2, 3, 32, 48), LL_OP_MATMUL,
         2 * 6 * 32 * 64 * 48, 4 * (2 * 32 * 64 + 3 * 64 * 48)},
        {SHAPE(U8, 4, 32, 64), SHAPE(INT8, 4, 64, 48), SHAPE(I32, 4, 32, 48), LL_OP_BATCH_MATMUL,
         2 * 4 * 32 * 64 * 48, 4 * 32 * 64 + 4 * 64 * 48},
        {SHAPE(U8, 32, 64), SHAPE(INT8, 64, 48), SHAPE(F32, 32, 48), LL_OP_MATMUL, 2 * 32 * 64 * 48,
         32 * 64 + 64 * 48},
    };
    for (size_t i = 0; i < sizeof stacks / sizeof stacks[0]; i++) {
        static struct ll_meanings meanings;
        struct ll_meant meant;
        const struct ll_call call = product_of(&stacks[i]);
        ll_meanings(&meanings);
        ll_meaning_of(&meanings, &call, &meant);
        assert_string_equal(ll_op_name(meant.view.kind), ll_op_name(stacks[i].kind));
        assert_int_equal(ll_op_flops(&meant.view), stacks[i].flops);
        assert_int_equal(ll_op_bytes_read(&meant.view), stacks[i].bytes_read);
        assert_int_equal(ll_op_bytes_written(&meant.view), ll_size_bytes(&stacks[i].c));
        assert_int_equal(meant.out[0].dtype, stacks[i].c.dtype);
    }
}

static void give(struct ll_call *call, enum ll_argument role, unsigned access, struct ll_shape shape)
{
    call->operand[call->operand_count] = (struct ll_call_operand){.address = (role + 1) * UINT64_C(0x100000),
                                                                  .rows = 1,
                                                                  .row_bytes = ll_size_bytes(&shape),
                                                                  .shape = shape,
                                                                  .access = (uint8_t)access,
                                                                  .role = (uint8_t)role};
    call->operand_count++;
}

/* A 3 x 3 convolution of 16 channels with a bias, added to what lies in its result. */
static void what_is_added_to_a_result_is_an_op_behind_it(void **state)
{
    (void)state;
    static struct ll_meanings meanings;
    struct ll_meant meant;
    struct ll_call call = {.routine = LL_ROUTINE_DNN_CONVOLUTION,
                           .symbol = LL_SYMBOL_dnnl_primitive_execute,
                           .number_count = LL_NUMBER_kernel_w - LL_NUMBER_algorithm + 1};
    static const enum ll_number ones[] = {LL_NUMBER_groups,   LL_NUMBER_stride_h,   LL_NUMBER_stride_w,
                                          LL_NUMBER_before_h, LL_NUMBER_before_w,   LL_NUMBER_behind_h,
                                          LL_NUMBER_behind_w, LL_NUMBER_dilation_h, LL_NUMBER_dilation_w};
    for (size_t i = 0; i < sizeof ones / sizeof ones[0]; i++)
        call.number[ones[i] - LL_NUMBER_algorithm] = 1;
    call.number[LL_NUMBER_kernel_h - LL_NUMBER_algorithm] = 3;
    call.number[LL_NUMBER_kernel_w - LL_NUMBER_algorithm] = 3;
    give(&call, LL_ARGUMENT_BIAS, LL_ACCESS_READ, (struct ll_shape)SHAPE(F32, 16));
    give(&call, LL_ARGUMENT_SRC, LL_ACCESS_READ, (struct ll_shape)SHAPE(F32, 2, 16, 14, 14));
    give(&call, LL_ARGUMENT_WEIGHTS, LL_ACCESS_READ, (struct ll_shape)SHAPE(F32, 16, 16, 3, 3));
    give(&call, LL_ARGUMENT_DST, LL_ACCESS_BOTH, (struct ll_shape)SHAPE(F32, 2, 16, 14, 14));
    ll_meanings(&meanings);
    ll_meaning_of(&meanings, &call, &meant);
    assert_string_equal(ll_op_name(meant.view.kind), "conv2d");
    assert_int_equal(meant.behind_count, 2);
    assert_string_equal(ll_op_name(meant.behind[0].kind), "bias_add");
    assert_int_equal(meant.behind[0].operand, 0);
    assert_string_equal(ll_op_name(meant.behind[1].kind), "add");
    assert_int_equal(meant.behind[1].operand, 3);
    assert_int_equal(meant.behind[1].shape.dim[3], 16);
    uint64_t elements = 2 * 14 * 14 * 16;
    assert_int_equal(ll_meant_flops(&meant), 2 * elements * 9 * 16 + 2 * elements);
}

/* c + a b in one op, which reads all three. */
static void what_a_product_is_added_to_is_read_by_it(void **state)
{
    (void)state;
    static const struct stack product = {SHAPE(F32, 32, 64), SHAPE(F32, 64, 48), SHAPE(F32, 32, 48),
                                         LL_OP_MATMUL_ADD,   2 * 32 * 64 * 48,   26624};
    static struct ll_meanings meanings;
    struct ll_meant meant;
    struct ll_call call = product_of(&product);
    call.operand[2].access = LL_ACCESS_BOTH;
    ll_meanings(&meanings);
    ll_meaning_of(&meanings, &call, &meant);
    assert_string_equal(ll_op_name(meant.view.kind), ll_op_name(product.kind));
    assert_int_equal(meant.inputs[0], 2);
    assert_int_equal(ll_meant_flops(&meant), product.flops);
    assert_int_equal(ll_op_bytes_read(&meant.view), product.bytes_read);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_band_is_as_many_flops_as_its_elements_ask_for),
        cmocka_unit_test(symmetric_parts_count_their_mirror_images),
        cmocka_unit_test(triangles_multiply_each_element_and_add_all_but_the_diagonal),
        cmocka_unit_test(updates_of_packed_triangles_touch_each_element_once_a_vector),
        cmocka_unit_test(a_copy_may_be_of_one_element_or_of_the_transpose),
        cmocka_unit_test(an_increment_of_zero_takes_one_element_each_time),
        cmocka_unit_test(a_product_without_depth_scales_what_it_adds_to),
        cmocka_unit_test(the_columns_of_q_cost_what_their_reflectors_do),
        cmocka_unit_test(numbers_of_two_parts_are_scaled_as_their_factor_is),
        cmocka_unit_test(what_is_multiplied_by_zero_is_not_read),
        cmocka_unit_test(a_call_that_the_library_refuses_touches_nothing),
        cmocka_unit_test(a_volume_is_convolved_without_copies),
        cmocka_unit_test(an_expert_driver_finds_factors_unless_it_is_given_them),
        cmocka_unit_test(stacks_of_products_count_what_repeats_once),
        cmocka_unit_test(what_is_added_to_a_result_is_an_op_behind_it),
        cmocka_unit_test(what_a_product_is_added_to_is_read_by_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
