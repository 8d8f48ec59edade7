/* SPDX-License-Identifier: Apache-2.0 */
/* FLOPs of LAPACK's direct solvers and factorizations.
 *
 * Direct algorithms count as LAPACK Working Note 41 (Blackford and Dongarra, 1999, appendix C) has them,
 * multiplications and additions apart, for a complex multiplication is six operations and a complex addition
 * two. Formulas with thirds are written in sixths, so that all stays in whole numbers. */
#include "tracer/ir/ops_lapack.h"

#include <math.h>

/* n of n (n + 1) / 2 elements; 0 when that is no number of them. */
static uint64_t packed_order(const struct ll_shape *triangle)
{
    uint64_t elements = triangle->dim[0];
    if (elements > UINT32_MAX)
        return 0;
    uint64_t n = (uint64_t)sqrt(2.0 * (double)elements);
    return n * (n + 1) / 2 == elements ? n : 0;
}

uint64_t ll_order(const struct ll_op_view *op, uint32_t input)
{
    const struct ll_shape *shape = &op->in[input];
    return shape->rank == 1 ? packed_order(shape) : shape->dim[0];
}

uint64_t ll_weigh(const struct ll_op_view *op, struct ll_counted counted)
{
    bool real = ll_product_factor(op) == 1;
    return ll_add(ll_mul(real ? 1 : 6, counted.multiplications), ll_mul(real ? 1 : 2, counted.additions));
}

struct ll_counted ll_both(struct ll_counted a, struct ll_counted b)
{
    return (struct ll_counted){ll_add(a.multiplications, b.multiplications),
                               ll_add(a.additions, b.additions)};
}

uint64_t ll_mul3(uint64_t a, uint64_t b, uint64_t c)
{
    return ll_mul(a, ll_mul(b, c));
}

/* (more - less) / 6; nothing where a formula made for large matrices falls below. */
static uint64_t sixth(uint64_t more, uint64_t less)
{
    if (!ll_fits(more) || !ll_fits(less))
        return LL_NO_FIT;
    return more > less ? (more - less) / 6 : 0;
}

/* LAPACK Working Note 41, appendix C. Substitution: by both factors, with or without (0) divisions by the
 * diagonal of the first. ormqr: k reflectors of length q applied to p vectors. */
static struct ll_counted counted_getrf(uint64_t m, uint64_t n)
{
    uint64_t k = ll_min(m, n), mnk = ll_mul3(m, n, k), kk = ll_mul(k, ll_add(k, 1));
    /* sums over the columns j: of m - j, and of (m - j) (n - j) */
    uint64_t below = ll_mul(3, ll_sub(ll_mul(2, ll_mul(k, m)), kk));
    uint64_t more = ll_add(ll_mul(6, mnk), ll_mul(kk, ll_add(ll_mul(2, k), 1)));
    uint64_t less = ll_mul3(3, ll_add(m, n), kk);
    return (struct ll_counted){sixth(ll_add(more, ll_add(below, ll_mul(6, k))), less), sixth(more, less)};
}

struct ll_counted ll_counted_potrf(uint64_t n)
{
    uint64_t product = ll_mul(n, ll_add(n, 1));
    return (struct ll_counted){sixth(ll_mul(product, ll_add(n, 2)), 0), sixth(ll_mul(product, n), product)};
}

/* n^3 / 6 + n^2 / 2 + 10 n / 3 and n^3 / 6 - n / 6 */
static struct ll_counted counted_sytrf(uint64_t n)
{
    uint64_t nnn = ll_mul3(n, n, n);
    return (struct ll_counted){sixth(ll_add(nnn, ll_add(ll_mul3(3, n, n), ll_mul(20, n))), 0), sixth(nnn, n)};
}

/* n (n + a) r and n (n - a') r */
static struct ll_counted counted_substitution(uint64_t n, uint64_t r, uint64_t diagonal)
{
    uint64_t square = ll_mul3(n, n, r), line = ll_mul(n, r);
    return (struct ll_counted){ll_add(square, ll_mul(diagonal, line)), ll_sub(square, line)};
}

/* Tall: m n^2 - n^3 / 3 + m n + n^2 / 2 + 23 n / 6 and m n^2 - n^3 / 3 + n^2 / 2 + 5 n / 6; wide: n m^2 -
 * m^3 / 3 + 2 n m - m^2 / 2 + 23 m / 6 and n m^2 - m^3 / 3 + n m - m^2 / 2 + 5 m / 6. */
struct ll_counted ll_counted_geqrf(uint64_t m, uint64_t n)
{
    uint64_t k = ll_min(m, n), most = ll_max(m, n), mn = ll_mul(m, n), kkk = ll_mul3(k, k, k),
             kk = ll_mul(k, k);
    uint64_t lead = ll_mul(6, ll_mul3(most, k, k)), less = ll_mul(2, kkk), half = ll_mul(3, kk);
    if (m >= n) {
        lead = ll_add(lead, half);
        return (struct ll_counted){sixth(ll_add(lead, ll_add(ll_mul(6, mn), ll_mul(23, n))), less),
                                   sixth(ll_add(lead, ll_mul(5, n)), less)};
    }
    less = ll_add(less, half);
    return (struct ll_counted){sixth(ll_add(lead, ll_add(ll_mul(12, mn), ll_mul(23, m))), less),
                               sixth(ll_add(lead, ll_add(ll_mul(6, mn), ll_mul(5, m))), less)};
}

/* k reflectors of length q applied to p vectors: 2 p q k - p k^2 + 2 p k and 2 p q k - p k^2 + p k */
struct ll_counted ll_counted_ormqr(uint64_t q, uint64_t p, uint64_t k)
{
    uint64_t product = ll_sub(ll_mul(2, ll_mul3(p, q, k)), ll_mul3(p, k, k)), line = ll_mul(p, k);
    return (struct ll_counted){ll_add(product, ll_mul(2, line)), ll_add(product, line)};
}

/* m x n of k reflectors: 2 m n k - (m + n) k^2 + 2 k^3 / 3 + 2 n k - k^2 - 5 k / 3 and 2 m n k - (m + n)
 * k^2 + 2 k^3 / 3 + n k - m k + k / 3 */
static struct ll_counted counted_orgqr(uint64_t m, uint64_t n, uint64_t k)
{
    uint64_t mn = ll_mul(m, n), kkk = ll_mul3(k, k, k), kk = ll_mul(k, k);
    uint64_t lead = ll_add(ll_mul(12, ll_mul(mn, k)), ll_mul(4, kkk)), less = ll_mul3(6, ll_add(m, n), kk);
    uint64_t nk = ll_mul(n, k), mk = ll_mul(m, k);
    return (struct ll_counted){
        sixth(ll_add(lead, ll_mul(12, nk)), ll_add(less, ll_add(ll_mul(6, kk), ll_mul(10, k)))),
        sixth(ll_add(lead, ll_add(ll_mul(6, nk), ll_mul(2, k))), ll_add(less, ll_mul(6, mk)))};
}

/* 2 n^3 / 3 + 5 n^2 / 2 - n / 6 - 15 and 2 n^3 / 3 + n^2 - 8 n / 3 - 4 */
struct ll_counted ll_counted_sytrd(uint64_t n)
{
    uint64_t cubic = ll_mul(4, ll_mul3(n, n, n)), nn = ll_mul(n, n);
    return (struct ll_counted){sixth(ll_add(cubic, ll_mul(15, nn)), ll_add(n, 90)),
                               sixth(ll_add(cubic, ll_mul(6, nn)), ll_add(ll_mul(16, n), 24))};
}

/* Tall: 2 m n^2 - 2 n^3 / 3 + 2 n^2 + 20 n / 3 and 2 m n^2 - 2 n^3 / 3 + n^2 - m n + 5 n / 3; wide: the same
 * of the transpose. */
struct ll_counted ll_counted_gebrd(uint64_t m, uint64_t n)
{
    uint64_t k = ll_min(m, n), most = ll_max(m, n), kk = ll_mul(k, k);
    uint64_t lead = ll_mul3(12, most, kk), less = ll_mul(4, ll_mul(kk, k));
    return (struct ll_counted){
        sixth(ll_add(lead, ll_add(ll_mul(12, kk), ll_mul(40, k))), less),
        sixth(ll_add(lead, ll_add(ll_mul(6, kk), ll_mul(10, k))), ll_add(less, ll_mul3(6, most, k)))};
}

/* 5 n^3 / 3 + n^2 / 2 - 7 n / 6 - 13 and 5 n^3 / 3 - n^2 - 2 n / 3 - 8 */
static struct ll_counted counted_gehrd(uint64_t n)
{
    uint64_t cubic = ll_mul(10, ll_mul3(n, n, n)), nn = ll_mul(n, n);
    return (struct ll_counted){sixth(ll_add(cubic, ll_mul(3, nn)), ll_add(ll_mul(7, n), 78)),
                               sixth(cubic, ll_add(ll_mul(6, nn), ll_add(ll_mul(4, n), 48)))};
}

/* As many multiplications as additions, sixths / 6 of them together. */
struct ll_counted ll_halves(uint64_t sixths)
{
    uint64_t half = sixth(sixths, 0);
    return (struct ll_counted){ll_fits(half) ? half - half / 2 : LL_NO_FIT,
                               ll_fits(half) ? half / 2 : LL_NO_FIT};
}

/* FLOPs of LAPACK's drivers for linear systems of bands, of those that keep the matrix (the expert ones), and
 * of least squares with constraints. What experts do beside, conditions and refinement, are a few n^2 for
 * each right-hand side and do not count. */

/* Sums over t = 0 ... n - 1, the columns behind the one that is worked on: of min(a, t) min(b, t), where a
 * and b are diagonals, a not more than b: t^2 up to a, a t up to b, a b from there on. */
static uint64_t sum_of_products(uint64_t n, uint64_t a, uint64_t b)
{
    uint64_t last = n ? n - 1 : 0;
    a = ll_min(a, last), b = ll_min(b, last);
    uint64_t least = ll_min(a, b), most = ll_max(a, b), squares = ll_mul3(least, least, ll_mul(2, least));
    squares = sixth(ll_add(squares, least), ll_mul3(3, least, least));
    uint64_t lines = ll_sub(ll_mul(most, most), ll_add(most, ll_sub(ll_mul(least, least), least)));
    lines = ll_fits(lines) ? ll_mul(least, lines / 2) : LL_NO_FIT;
    return ll_add(ll_add(squares, lines), ll_mul3(least, most, ll_sub(n, ll_min(n, most))));
}

/* Of min(k, t): the elements of a band of k diagonals beside the main one. */
static uint64_t beside(uint64_t n, uint64_t k)
{
    return ll_sub(ll_band_elements(n, n, k, 0), n);
}

/* A reciprocal, the column below the diagonal scaled, and what it makes of the columns behind. */
static struct ll_counted counted_gbtrf(uint64_t n, uint64_t lower, uint64_t upper)
{
    uint64_t products = sum_of_products(n, lower, upper);
    return (struct ll_counted){ll_add(ll_add(n, beside(n, lower)), products), products};
}

static struct ll_counted counted_gbtrs(uint64_t n, uint64_t lower, uint64_t upper, uint64_t r)
{
    uint64_t elements = ll_add(beside(n, lower), beside(n, upper));
    return (struct ll_counted){ll_mul(r, ll_add(n, elements)), ll_mul(r, elements)};
}

/* A root, the column divided by it, and half of its product with itself: t (t + 1) / 2. */
struct ll_counted ll_counted_pbtrf(uint64_t n, uint64_t k)
{
    uint64_t twice = ll_add(sum_of_products(n, k, k), beside(n, k));
    uint64_t products = ll_fits(twice) ? twice / 2 : LL_NO_FIT;
    return (struct ll_counted){ll_add(ll_add(n, beside(n, k)), products), products};
}

static struct ll_counted counted_pbtrs(uint64_t n, uint64_t k, uint64_t r)
{
    uint64_t elements = ll_mul(2, beside(n, k));
    return (struct ll_counted){ll_mul(r, ll_add(ll_mul(2, n), elements)), ll_mul(r, elements)};
}

static uint64_t lower(const struct ll_op_view *op)
{
    return (uint64_t)ll_attr_count(op, LL_ATTR_LOWER, 0);
}

static uint64_t upper(const struct ll_op_view *op)
{
    return (uint64_t)ll_attr_count(op, LL_ATTR_UPPER, 0);
}

/* What is solved for is input 0: n rows, r columns. */
static uint64_t n_of(const struct ll_op_view *op)
{
    return op->in[0].dim[0];
}

static uint64_t r_of(const struct ll_op_view *op)
{
    return op->in[0].dim[1];
}

/* Diagonals of the symmetric band that is input 1, on one side. */
static uint64_t k_of(const struct ll_op_view *op)
{
    return ll_sub(ll_max(1, op->in[1].dim[0]), 1);
}

/* A solution, and the factors where the call did not bring them as more inputs than it needs. */
static uint64_t solved(const struct ll_op_view *op, uint32_t needed, struct ll_counted factors,
                       struct ll_counted solution)
{
    return ll_weigh(op, op->input_count > needed ? solution : ll_both(factors, solution));
}

uint64_t ll_flops_GBSV(const struct ll_op_view *op)
{
    uint64_t n = n_of(op);
    return solved(op, 2, counted_gbtrf(n, lower(op), upper(op)),
                  counted_gbtrs(n, lower(op), upper(op), r_of(op)));
}

uint64_t ll_flops_PBSV(const struct ll_op_view *op)
{
    uint64_t n = n_of(op);
    return solved(op, 2, ll_counted_pbtrf(n, k_of(op)), counted_pbtrs(n, k_of(op), r_of(op)));
}

/* A band of one diagonal on each side. */
uint64_t ll_flops_GTSV(const struct ll_op_view *op)
{
    uint64_t n = n_of(op);
    return ll_weigh(op, ll_both(counted_gbtrf(n, 1, 1), counted_gbtrs(n, 1, 1, r_of(op))));
}

/* L D L^T of the same: 8 n for a right-hand side (Golub and Van Loan 4.3.6). */
uint64_t ll_flops_PTSV(const struct ll_op_view *op)
{
    uint64_t n = n_of(op), beside_it = beside(n, 1), r = r_of(op);
    struct ll_counted factors = {ll_mul(2, beside_it), beside_it};
    struct ll_counted solution = {ll_mul(r, ll_add(n, ll_mul(2, beside_it))), ll_mul3(2, r, beside_it)};
    return ll_weigh(op, ll_both(factors, solution));
}

uint64_t ll_flops_GESVX(const struct ll_op_view *op)
{
    uint64_t n = n_of(op);
    return solved(op, 2, counted_getrf(n, n), counted_substitution(n, r_of(op), 0));
}

uint64_t ll_flops_POSVX(const struct ll_op_view *op)
{
    uint64_t n = n_of(op);
    return solved(op, 2, ll_counted_potrf(n), counted_substitution(n, r_of(op), 1));
}

uint64_t ll_flops_SYSVX(const struct ll_op_view *op)
{
    uint64_t n = n_of(op);
    return solved(op, 2, counted_sytrf(n), counted_substitution(n, r_of(op), 1));
}

/* Generalized RQ factors of b[p, n] and a[m, n]: b's, its reflectors applied to a, a's (LAPACK Users' Guide,
 * 2.2.5.3 and 2.3.3); what is solved for is one vector. */
uint64_t ll_flops_GGLSE(const struct ll_op_view *op)
{
    uint64_t m = op->in[0].dim[0], n = op->in[0].dim[1], p = op->in[1].dim[0];
    struct ll_counted first = ll_both(ll_counted_geqrf(n, p), ll_counted_ormqr(n, m, ll_min(n, p)));
    return ll_weigh(op, ll_both(first, ll_counted_geqrf(m, n)));
}

/* Generalized QR factors of a[n, m] and b[n, p] (LAPACK Users' Guide, 2.2.5.2 and 2.3.3). */
uint64_t ll_flops_GGGLM(const struct ll_op_view *op)
{
    uint64_t n = op->in[0].dim[0], m = op->in[0].dim[1], p = op->in[1].dim[1];
    struct ll_counted first = ll_both(ll_counted_geqrf(n, m), ll_counted_ormqr(n, p, ll_min(n, m)));
    return ll_weigh(op, ll_both(first, ll_counted_geqrf(p, n)));
}

/* Rules for LAPACK's drivers of linear systems and orthogonal factors: shapes for all of its drivers, and
 * FLOPs of building blocks (ops_lapack.h). */

/* Shapes. */

static const char wants_matrices[] = "this op takes matrices";

/* Whether this is a matrix, or a triangle of one packed into a vector. */
static bool is_matrix(const struct ll_shape *shape)
{
    return shape->rank == 2 || (shape->rank == 1 && packed_order(shape) > 0);
}

/* A matrix becomes its factors; whatever else comes out is given. */
const char *ll_shape_FACTORED(struct ll_op_view *op)
{
    if (op->input_count != 1 || !is_matrix(op->in))
        return wants_matrices;
    if (op->output_count == 0)
        return ll_give(op, 1, op->in);
    return ll_same_dims(&op->out[0], &op->in[0]) ? NULL : "the factors stand where the matrix stood";
}

/* What is solved for, and a matrix that stays as it is. */
const char *ll_shape_SOLVED(struct ll_op_view *op)
{
    if (op->input_count != 2 || op->in[0].rank != 2 || !is_matrix(&op->in[1]))
        return wants_matrices;
    return ll_give(op, 1, op->in);
}

/* The same, and the matrix becomes its factors. */
const char *ll_shape_BOTH_SOLVED(struct ll_op_view *op)
{
    const char *trouble = ll_shape_SOLVED(op);
    return trouble ? trouble : ll_give(op, 2, op->in);
}

/* Whatever a driver takes, a matrix or a diagonal first; what comes out is given. */
const char *ll_shape_DRIVEN(struct ll_op_view *op)
{
    if (op->input_count == 0 || op->in[0].rank == 0 || op->in[0].rank > 2)
        return wants_matrices;
    return op->output_count > 0 ? NULL : "what comes out of this op must be given";
}

/* FLOPs. */

/* What the op's matrices say. */
static uint64_t rows(const struct ll_op_view *op, uint32_t input)
{
    return op->in[input].dim[0];
}

static uint64_t columns(const struct ll_op_view *op, uint32_t input)
{
    return op->in[input].dim[1];
}

uint64_t ll_flops_GETRF(const struct ll_op_view *op)
{
    return ll_weigh(op, counted_getrf(rows(op, 0), columns(op, 0)));
}

/* 2 n^3 / 3 + n^2 / 2 + 5 n / 6 and 2 n^3 / 3 - 3 n^2 / 2 + 5 n / 6 */
uint64_t ll_flops_GETRI(const struct ll_op_view *op)
{
    uint64_t n = rows(op, 0), nn = ll_mul(n, n), cubic = ll_add(ll_mul(4, ll_mul(nn, n)), ll_mul(5, n));
    return ll_weigh(op,
                    (struct ll_counted){sixth(ll_add(cubic, ll_mul(3, nn)), 0), sixth(cubic, ll_mul(9, nn))});
}

uint64_t ll_flops_POTRF(const struct ll_op_view *op)
{
    return ll_weigh(op, ll_counted_potrf(rows(op, 0)));
}

/* n^3 / 3 + n^2 + 2 n / 3 and n^3 / 3 - n^2 / 2 + n / 6 */
uint64_t ll_flops_POTRI(const struct ll_op_view *op)
{
    uint64_t n = rows(op, 0), nn = ll_mul(n, n), cubic = ll_mul(2, ll_mul(nn, n));
    return ll_weigh(op, (struct ll_counted){sixth(ll_add(cubic, ll_add(ll_mul(6, nn), ll_mul(4, n))), 0),
                                            sixth(ll_add(cubic, n), ll_mul(3, nn))});
}

/* n^3 / 6 + n^2 / 2 + n / 3 and n^3 / 6 - n^2 / 2 + n / 3. With a diagonal of ones each column but the first
 * is multiplied by a triangle like that and by -1 (LAPACK's dtrti2): n^3 / 6 - n / 6, and as many sums. */
uint64_t ll_flops_TRTRI(const struct ll_op_view *op)
{
    uint64_t n = rows(op, 0), nn = ll_mul(n, n), cubic = ll_add(ll_mul(nn, n), ll_mul(2, n));
    if (ll_attr_count(op, LL_ATTR_UNIT_DIAGONAL, 0))
        return ll_weigh(op, (struct ll_counted){sixth(ll_mul(nn, n), n), sixth(cubic, ll_mul(3, nn))});
    return ll_weigh(op,
                    (struct ll_counted){sixth(ll_add(cubic, ll_mul(3, nn)), 0), sixth(cubic, ll_mul(3, nn))});
}

uint64_t ll_flops_SYTRF(const struct ll_op_view *op)
{
    return ll_weigh(op, counted_sytrf(rows(op, 0)));
}

uint64_t ll_flops_GEQRF(const struct ll_op_view *op)
{
    return ll_weigh(op, ll_counted_geqrf(rows(op, 0), columns(op, 0)));
}

/* `size` reflectors (default: as many as there can be) */
uint64_t ll_flops_ORGQR(const struct ll_op_view *op)
{
    uint64_t k = ll_min(rows(op, 0), columns(op, 0));
    int64_t size = ll_attr_count(op, LL_ATTR_SIZE, -1);
    return ll_weigh(op, counted_orgqr(rows(op, 0), columns(op, 0), size < 0 ? k : ll_min(k, (uint64_t)size)));
}

uint64_t ll_flops_SYTRD(const struct ll_op_view *op)
{
    return ll_weigh(op, ll_counted_sytrd(rows(op, 0)));
}

uint64_t ll_flops_GEBRD(const struct ll_op_view *op)
{
    return ll_weigh(op, ll_counted_gebrd(rows(op, 0), columns(op, 0)));
}

uint64_t ll_flops_GEHRD(const struct ll_op_view *op)
{
    return ll_weigh(op, counted_gehrd(rows(op, 0)));
}

uint64_t ll_flops_GETRS(const struct ll_op_view *op)
{
    return ll_weigh(op, counted_substitution(rows(op, 1), columns(op, 0), 0));
}

uint64_t ll_flops_POTRS(const struct ll_op_view *op)
{
    return ll_weigh(op, counted_substitution(rows(op, 1), columns(op, 0), 1));
}

uint64_t ll_flops_SYTRS(const struct ll_op_view *op)
{
    return ll_weigh(op, counted_substitution(rows(op, 1), columns(op, 0), 1));
}

/* The reflectors are as long as the side of c that they are applied to. */
uint64_t ll_flops_ORMQR(const struct ll_op_view *op)
{
    uint64_t q = rows(op, 1), k = ll_min(q, columns(op, 1));
    uint64_t p = rows(op, 0) == q ? columns(op, 0) : rows(op, 0);
    return ll_weigh(op, ll_counted_ormqr(q, p, k));
}

uint64_t ll_flops_GESV(const struct ll_op_view *op)
{
    uint64_t n = rows(op, 0);
    return ll_weigh(op, ll_both(counted_getrf(n, n), counted_substitution(n, columns(op, 0), 0)));
}

uint64_t ll_flops_POSV(const struct ll_op_view *op)
{
    uint64_t n = rows(op, 0);
    return ll_weigh(op, ll_both(ll_counted_potrf(n), counted_substitution(n, columns(op, 0), 1)));
}

uint64_t ll_flops_SYSV(const struct ll_op_view *op)
{
    uint64_t n = rows(op, 0);
    return ll_weigh(op, ll_both(counted_sytrf(n), counted_substitution(n, columns(op, 0), 1)));
}

/* The factors of the longer side, applied to what is solved for, and a triangle of the shorter side. */
uint64_t ll_flops_GELS(const struct ll_op_view *op)
{
    uint64_t m = ll_max(rows(op, 1), columns(op, 1)), k = ll_min(rows(op, 1), columns(op, 1));
    uint64_t r = columns(op, 0);
    struct ll_counted triangle = {ll_mul(r, sixth(ll_mul3(3, k, ll_add(k, 1)), 0)),
                                  ll_mul(r, sixth(ll_mul3(3, k, k), ll_mul(3, k)))};
    return ll_weigh(op, ll_both(ll_both(ll_counted_geqrf(m, k), ll_counted_ormqr(m, r, k)), triangle));
}

/* To bidiagonal form, whose reflectors are applied to what is solved for, from both sides; the singular
 * values of two diagonals are cheap beside it. */
uint64_t ll_flops_GELSD(const struct ll_op_view *op)
{
    uint64_t m = ll_max(rows(op, 1), columns(op, 1)), k = ll_min(rows(op, 1), columns(op, 1));
    uint64_t r = columns(op, 0);
    return ll_weigh(
        op, ll_both(ll_counted_gebrd(m, k), ll_both(ll_counted_ormqr(m, r, k), ll_counted_ormqr(k, r, k))));
}
