/* SPDX-License-Identifier: Apache-2.0 */
/* Rules for LAPACK's drivers. Direct algorithms count as LAPACK Working Note 41 (Blackford and Dongarra,
 * 1999, appendix C) has them, multiplications and additions apart, for a complex multiplication is six
 * operations and a complex addition two. What iterates counts as Golub and Van Loan (Matrix Computations,
 * fourth edition, 7.5.6, 8.3.3, 8.6.3) and the LAPACK Users' Guide (third edition, table 3.13) say on
 * average.
 *
 * m are rows, n columns, r right-hand sides. Formulas with thirds are written in sixths, so that all stays in
 * whole numbers. */
#include "tracer/ops_rules.h"

/* Shapes. */

static const char wants_matrices[] = "this op takes matrices";

/* A matrix becomes its factors; whatever else comes out is given. */
const char *ll_shape_FACTORED(struct ll_op_view *op)
{
    if (op->input_count != 1 || op->in[0].rank != 2)
        return wants_matrices;
    if (op->output_count == 0)
        return ll_give(op, 1, op->in);
    return ll_same_dims(&op->out[0], &op->in[0]) ? NULL : "the factors stand where the matrix stood";
}

/* What is solved for, and a matrix that stays as it is. */
const char *ll_shape_SOLVED(struct ll_op_view *op)
{
    if (op->input_count != 2 || op->in[0].rank != 2 || op->in[1].rank != 2)
        return wants_matrices;
    return ll_give(op, 1, op->in);
}

/* The same, and the matrix becomes its factors. */
const char *ll_shape_BOTH_SOLVED(struct ll_op_view *op)
{
    const char *trouble = ll_shape_SOLVED(op);
    return trouble ? trouble : ll_give(op, 2, op->in);
}

/* FLOPs. */

struct counted {
    uint64_t multiplications, additions;
};

static uint64_t weigh(const struct ll_op_view *op, struct counted counted)
{
    bool real = ll_product_factor(op) == 1;
    return ll_add(ll_mul(real ? 1 : 6, counted.multiplications), ll_mul(real ? 1 : 2, counted.additions));
}

static struct counted both(struct counted a, struct counted b)
{
    return (struct counted){ll_add(a.multiplications, b.multiplications), ll_add(a.additions, b.additions)};
}

static uint64_t mul3(uint64_t a, uint64_t b, uint64_t c)
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

static struct counted getrf(uint64_t m, uint64_t n)
{
    uint64_t k = ll_min(m, n), mnk = mul3(m, n, k), kk = ll_mul(k, ll_add(k, 1));
    /* sums over the columns j: of m - j, and of (m - j) (n - j) */
    uint64_t below = ll_mul(3, ll_sub(ll_mul(2, ll_mul(k, m)), kk));
    uint64_t more = ll_add(ll_mul(6, mnk), ll_mul(kk, ll_add(ll_mul(2, k), 1)));
    uint64_t less = mul3(3, ll_add(m, n), kk);
    return (struct counted){sixth(ll_add(more, ll_add(below, ll_mul(6, k))), less), sixth(more, less)};
}

static struct counted potrf(uint64_t n)
{
    uint64_t product = ll_mul(n, ll_add(n, 1));
    return (struct counted){sixth(ll_mul(product, ll_add(n, 2)), 0), sixth(ll_mul(product, n), product)};
}

/* n^3 / 6 + n^2 / 2 + 10 n / 3 and n^3 / 6 - n / 6 */
static struct counted sytrf(uint64_t n)
{
    uint64_t nnn = mul3(n, n, n);
    return (struct counted){sixth(ll_add(nnn, ll_add(mul3(3, n, n), ll_mul(20, n))), 0), sixth(nnn, n)};
}

/* n (n + a) r and n (n - a') r */
static struct counted substitute(uint64_t n, uint64_t r, uint64_t diagonal)
{
    uint64_t square = mul3(n, n, r), line = ll_mul(n, r);
    return (struct counted){ll_add(square, ll_mul(diagonal, line)), ll_sub(square, line)};
}

/* Tall: m n^2 - n^3 / 3 + m n + n^2 / 2 + 23 n / 6 and m n^2 - n^3 / 3 + n^2 / 2 + 5 n / 6; wide: n m^2 -
 * m^3 / 3 + 2 n m - m^2 / 2 + 23 m / 6 and n m^2 - m^3 / 3 + n m - m^2 / 2 + 5 m / 6. */
static struct counted geqrf(uint64_t m, uint64_t n)
{
    uint64_t k = ll_min(m, n), most = ll_max(m, n), mn = ll_mul(m, n), kkk = mul3(k, k, k), kk = ll_mul(k, k);
    uint64_t lead = ll_mul(6, mul3(most, k, k)), less = ll_mul(2, kkk), half = ll_mul(3, kk);
    if (m >= n) {
        lead = ll_add(lead, half);
        return (struct counted){sixth(ll_add(lead, ll_add(ll_mul(6, mn), ll_mul(23, n))), less),
                                sixth(ll_add(lead, ll_mul(5, n)), less)};
    }
    less = ll_add(less, half);
    return (struct counted){sixth(ll_add(lead, ll_add(ll_mul(12, mn), ll_mul(23, m))), less),
                            sixth(ll_add(lead, ll_add(ll_mul(6, mn), ll_mul(5, m))), less)};
}

/* k reflectors of length q applied to p vectors: 2 p q k - p k^2 + 2 p k and 2 p q k - p k^2 + p k */
static struct counted ormqr(uint64_t q, uint64_t p, uint64_t k)
{
    uint64_t product = ll_sub(ll_mul(2, mul3(p, q, k)), mul3(p, k, k)), line = ll_mul(p, k);
    return (struct counted){ll_add(product, ll_mul(2, line)), ll_add(product, line)};
}

/* m x n of k = n reflectors: 2 m n^2 - 2 n^3 / 3 in all, to the leading terms of the note */
static struct counted orgqr(uint64_t m, uint64_t n)
{
    uint64_t k = ll_min(m, n), mn = ll_mul(m, n), kkk = mul3(k, k, k), kk = ll_mul(k, k);
    uint64_t lead = ll_add(ll_mul(12, ll_mul(mn, k)), ll_mul(4, kkk)), less = mul3(6, ll_add(m, n), kk);
    uint64_t nk = ll_mul(n, k), mk = ll_mul(m, k);
    return (struct counted){
        sixth(ll_add(lead, ll_mul(12, nk)), ll_add(less, ll_add(ll_mul(6, kk), ll_mul(10, k)))),
        sixth(ll_add(lead, ll_add(ll_mul(6, nk), ll_mul(2, k))), ll_add(less, ll_mul(6, mk)))};
}

/* 2 n^3 / 3 + 5 n^2 / 2 - n / 6 - 15 and 2 n^3 / 3 + n^2 - 8 n / 3 - 4 */
static struct counted sytrd(uint64_t n)
{
    uint64_t cubic = ll_mul(4, mul3(n, n, n)), nn = ll_mul(n, n);
    return (struct counted){sixth(ll_add(cubic, ll_mul(15, nn)), ll_add(n, 90)),
                            sixth(ll_add(cubic, ll_mul(6, nn)), ll_add(ll_mul(16, n), 24))};
}

/* Tall: 2 m n^2 - 2 n^3 / 3 + 2 n^2 + 20 n / 3 and 2 m n^2 - 2 n^3 / 3 + n^2 - m n + 5 n / 3; wide: the same
 * of the transpose. */
static struct counted gebrd(uint64_t m, uint64_t n)
{
    uint64_t k = ll_min(m, n), most = ll_max(m, n), kk = ll_mul(k, k);
    uint64_t lead = mul3(12, most, kk), less = ll_mul(4, ll_mul(kk, k));
    return (struct counted){
        sixth(ll_add(lead, ll_add(ll_mul(12, kk), ll_mul(40, k))), less),
        sixth(ll_add(lead, ll_add(ll_mul(6, kk), ll_mul(10, k))), ll_add(less, mul3(6, most, k)))};
}

/* 5 n^3 / 3 + n^2 / 2 - 7 n / 6 - 13 and 5 n^3 / 3 - n^2 - 2 n / 3 - 8 */
static struct counted gehrd(uint64_t n)
{
    uint64_t cubic = ll_mul(10, mul3(n, n, n)), nn = ll_mul(n, n);
    return (struct counted){sixth(ll_add(cubic, ll_mul(3, nn)), ll_add(ll_mul(7, n), 78)),
                            sixth(cubic, ll_add(ll_mul(6, nn), ll_add(ll_mul(4, n), 48)))};
}

/* As many multiplications as additions, sixths / 6 of them together. */
static struct counted halves(uint64_t sixths)
{
    uint64_t half = sixth(sixths, 0);
    return (struct counted){ll_fits(half) ? half - half / 2 : LL_NO_FIT,
                            ll_fits(half) ? half / 2 : LL_NO_FIT};
}

/* What the op's matrices say. */
static uint64_t rows(const struct ll_op_view *op, uint32_t input)
{
    return op->in[input].dim[0];
}

static uint64_t columns(const struct ll_op_view *op, uint32_t input)
{
    return op->in[input].dim[1];
}

static int64_t vectors(const struct ll_op_view *op)
{
    return ll_attr_count(op, LL_ATTR_VECTORS, 0);
}

uint64_t ll_flops_GETRF(const struct ll_op_view *op)
{
    return weigh(op, getrf(rows(op, 0), columns(op, 0)));
}

/* 2 n^3 / 3 + n^2 / 2 + 5 n / 6 and 2 n^3 / 3 - 3 n^2 / 2 + 5 n / 6 */
uint64_t ll_flops_GETRI(const struct ll_op_view *op)
{
    uint64_t n = rows(op, 0), nn = ll_mul(n, n), cubic = ll_add(ll_mul(4, ll_mul(nn, n)), ll_mul(5, n));
    return weigh(op, (struct counted){sixth(ll_add(cubic, ll_mul(3, nn)), 0), sixth(cubic, ll_mul(9, nn))});
}

uint64_t ll_flops_POTRF(const struct ll_op_view *op)
{
    return weigh(op, potrf(rows(op, 0)));
}

/* n^3 / 3 + n^2 + 2 n / 3 and n^3 / 3 - n^2 / 2 + n / 6 */
uint64_t ll_flops_POTRI(const struct ll_op_view *op)
{
    uint64_t n = rows(op, 0), nn = ll_mul(n, n), cubic = ll_mul(2, ll_mul(nn, n));
    return weigh(op, (struct counted){sixth(ll_add(cubic, ll_add(ll_mul(6, nn), ll_mul(4, n))), 0),
                                      sixth(ll_add(cubic, n), ll_mul(3, nn))});
}

/* n^3 / 6 + n^2 / 2 + n / 3 and n^3 / 6 - n^2 / 2 + n / 3 */
uint64_t ll_flops_TRTRI(const struct ll_op_view *op)
{
    uint64_t n = rows(op, 0), nn = ll_mul(n, n), cubic = ll_add(ll_mul(nn, n), ll_mul(2, n));
    return weigh(op, (struct counted){sixth(ll_add(cubic, ll_mul(3, nn)), 0), sixth(cubic, ll_mul(3, nn))});
}

uint64_t ll_flops_SYTRF(const struct ll_op_view *op)
{
    return weigh(op, sytrf(rows(op, 0)));
}

uint64_t ll_flops_GEQRF(const struct ll_op_view *op)
{
    return weigh(op, geqrf(rows(op, 0), columns(op, 0)));
}

uint64_t ll_flops_ORGQR(const struct ll_op_view *op)
{
    return weigh(op, orgqr(rows(op, 0), columns(op, 0)));
}

uint64_t ll_flops_SYTRD(const struct ll_op_view *op)
{
    return weigh(op, sytrd(rows(op, 0)));
}

uint64_t ll_flops_GEBRD(const struct ll_op_view *op)
{
    return weigh(op, gebrd(rows(op, 0), columns(op, 0)));
}

uint64_t ll_flops_GEHRD(const struct ll_op_view *op)
{
    return weigh(op, gehrd(rows(op, 0)));
}

uint64_t ll_flops_GETRS(const struct ll_op_view *op)
{
    return weigh(op, substitute(rows(op, 1), columns(op, 0), 0));
}

uint64_t ll_flops_POTRS(const struct ll_op_view *op)
{
    return weigh(op, substitute(rows(op, 1), columns(op, 0), 1));
}

uint64_t ll_flops_SYTRS(const struct ll_op_view *op)
{
    return weigh(op, substitute(rows(op, 1), columns(op, 0), 1));
}

/* The reflectors are as long as the side of c that they are applied to. */
uint64_t ll_flops_ORMQR(const struct ll_op_view *op)
{
    uint64_t q = rows(op, 1), k = ll_min(q, columns(op, 1));
    uint64_t p = rows(op, 0) == q ? columns(op, 0) : rows(op, 0);
    return weigh(op, ormqr(q, p, k));
}

uint64_t ll_flops_GESV(const struct ll_op_view *op)
{
    uint64_t n = rows(op, 1);
    return weigh(op, both(getrf(n, n), substitute(n, columns(op, 0), 0)));
}

uint64_t ll_flops_POSV(const struct ll_op_view *op)
{
    uint64_t n = rows(op, 1);
    return weigh(op, both(potrf(n), substitute(n, columns(op, 0), 1)));
}

uint64_t ll_flops_SYSV(const struct ll_op_view *op)
{
    uint64_t n = rows(op, 1);
    return weigh(op, both(sytrf(n), substitute(n, columns(op, 0), 1)));
}

/* The factors of the longer side, applied to what is solved for, and a triangle of the shorter side. */
uint64_t ll_flops_GELS(const struct ll_op_view *op)
{
    uint64_t m = ll_max(rows(op, 1), columns(op, 1)), k = ll_min(rows(op, 1), columns(op, 1));
    uint64_t r = columns(op, 0);
    struct counted triangle = {ll_mul(r, sixth(mul3(3, k, ll_add(k, 1)), 0)),
                               ll_mul(r, sixth(mul3(3, k, k), ll_mul(3, k)))};
    return weigh(op, both(both(geqrf(m, k), ormqr(m, r, k)), triangle));
}

/* To bidiagonal form, whose reflectors are applied to what is solved for, from both sides; the singular
 * values of two diagonals are cheap beside it. */
uint64_t ll_flops_GELSD(const struct ll_op_view *op)
{
    uint64_t m = ll_max(rows(op, 1), columns(op, 1)), k = ll_min(rows(op, 1), columns(op, 1));
    uint64_t r = columns(op, 0);
    return weigh(op, both(gebrd(m, k), both(ormqr(m, r, k), ormqr(k, r, k))));
}

/* Eigenvalues 4 n^3 / 3, with vectors 9 n^3 (Golub and Van Loan 8.3.3). */
uint64_t ll_flops_SYEV(const struct ll_op_view *op)
{
    uint64_t n = rows(op, 0);
    return weigh(op, vectors(op) ? halves(ll_mul(54, mul3(n, n, n))) : sytrd(n));
}

/* Vectors by divide and conquer: 4 n^3 / 3 without deflation (Tisseur and Dongarra, SIAM J. Sci. Comput. 20,
 * 1999), then n reflectors applied to n vectors. */
uint64_t ll_flops_SYEVD(const struct ll_op_view *op)
{
    uint64_t n = rows(op, 0);
    if (!vectors(op))
        return weigh(op, sytrd(n));
    return weigh(op, both(sytrd(n), both(halves(ll_mul(8, mul3(n, n, n))), ormqr(n, n, n))));
}

/* Vectors of a tridiagonal matrix in n^2 each (Dhillon and Parlett, Linear Algebra Appl. 387, 2004), so that
 * the reflectors applied to them are what counts: output 2 has a vector in each column. */
uint64_t ll_flops_SYEVR(const struct ll_op_view *op)
{
    uint64_t n = rows(op, 0);
    if (op->output_count < 3)
        return weigh(op, sytrd(n));
    return weigh(op, both(sytrd(n), ormqr(n, op->out[2].rank == 2 ? op->out[2].dim[1] : 1, n)));
}

/* Eigenvalues 10 n^3, with vectors 26 1/3 n^3 (LAPACK Users' Guide, table 3.13). */
uint64_t ll_flops_GEEV(const struct ll_op_view *op)
{
    uint64_t n = rows(op, 0);
    return weigh(op, halves(ll_mul(vectors(op) ? 158 : 60, mul3(n, n, n))));
}

/* Golub and Van Loan, figure 8.6.1: values alone to bidiagonal form, thin vectors 14 m n^2 + 8 n^3, all
 * 4 m^2 n + 8 m n^2 + 9 n^3. */
uint64_t ll_flops_GESVD(const struct ll_op_view *op)
{
    uint64_t m = ll_max(rows(op, 0), columns(op, 0)), n = ll_min(rows(op, 0), columns(op, 0));
    uint64_t nnn = mul3(n, n, n), mnn = mul3(m, n, n);
    if (vectors(op) == 0)
        return weigh(op, gebrd(m, n));
    uint64_t thin = ll_add(ll_mul(14, mnn), ll_mul(8, nnn));
    uint64_t all = ll_add(ll_mul(4, mul3(m, m, n)), ll_add(ll_mul(8, mnn), ll_mul(9, nnn)));
    return weigh(op, halves(ll_mul(6, vectors(op) == 1 ? thin : all)));
}

/* To bidiagonal form, and its reflectors applied to the vectors of the bidiagonal matrix, n of them or all m:
 * 6.67 n^3 for a square one (LAPACK Users' Guide, table 3.13). */
uint64_t ll_flops_GESDD(const struct ll_op_view *op)
{
    uint64_t m = ll_max(rows(op, 0), columns(op, 0)), n = ll_min(rows(op, 0), columns(op, 0));
    struct counted form = gebrd(m, n);
    if (vectors(op) == 0)
        return weigh(op, form);
    return weigh(op, both(form, both(ormqr(m, vectors(op) == 1 ? n : m, n), ormqr(n, n, n))));
}
