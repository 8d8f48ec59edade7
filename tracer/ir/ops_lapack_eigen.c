/* SPDX-License-Identifier: Apache-2.0 */
/* FLOPs of LAPACK's drivers for eigenvalues and singular values. What iterates counts as Golub and Van Loan
 * (Matrix Computations, fourth edition, 7.5.6, 7.7, 8.3.3, 8.6.3) and the LAPACK Users' Guide (third edition,
 * table 3.13) say on average. */
#include "tracer/ir/ops_lapack.h"

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

/* How many vectors the op gives: columns of its last output, which stands behind the eigenvalues. */
static uint64_t found(const struct ll_op_view *op)
{
    const struct ll_shape *last = &op->out[op->output_count - 1];
    return op->output_count > 2 && last->rank == 2 ? last->dim[1] : 0;
}

static struct ll_counted nothing(void)
{
    return (struct ll_counted){0, 0};
}

/* Of dense symmetric matrices. */

/* Eigenvalues 4 n^3 / 3, with vectors 9 n^3 (Golub and Van Loan 8.3.3). */
static struct ll_counted syev(uint64_t n, bool with_vectors)
{
    return with_vectors ? ll_halves(ll_mul(54, ll_mul3(n, n, n))) : ll_counted_sytrd(n);
}

/* Vectors of a tridiagonal matrix by divide and conquer: 4 n^3 / 3 without deflation (Tisseur and Dongarra,
 * SIAM J. Sci. Comput. 20, 1999). */
static struct ll_counted stedc(uint64_t n)
{
    return ll_halves(ll_mul(8, ll_mul3(n, n, n)));
}

/* These, and n reflectors applied to n vectors. */
static struct ll_counted syevd(uint64_t n, bool with_vectors)
{
    struct ll_counted signature = ll_counted_sytrd(n);
    return with_vectors ? ll_both(signature, ll_both(stedc(n), ll_counted_ormqr(n, n, n))) : signature;
}

/* Vectors of a tridiagonal matrix in n^2 each (Dhillon and Parlett, Linear Algebra Appl. 387, 2004), so that
 * the reflectors applied to them are what counts. */
static struct ll_counted syevr(uint64_t n, uint64_t wanted)
{
    return ll_both(ll_counted_sytrd(n), wanted ? ll_counted_ormqr(n, wanted, n) : nothing());
}

uint64_t ll_flops_SYEV(const struct ll_op_view *op)
{
    return ll_weigh(op, syev(ll_order(op, 0), vectors(op)));
}

uint64_t ll_flops_SYEVD(const struct ll_op_view *op)
{
    return ll_weigh(op, syevd(ll_order(op, 0), vectors(op)));
}

uint64_t ll_flops_SYEVR(const struct ll_op_view *op)
{
    uint64_t n = ll_order(op, 0);
    return ll_weigh(op, syevr(n, found(op)));
}

/* Of a x = l b x: the factor of b, its inverse on both sides of a in n^3, the eigenvalues of that, and the
 * vectors solved for (LAPACK Users' Guide, 2.3.7 and table 2.14: xPOTRF, xSYGST, xSYEV, xTRSM). */
static struct ll_counted generalized(uint64_t n, uint64_t wanted)
{
    uint64_t lines = ll_mul(n, wanted), triangle = ll_mul(lines, n);
    struct ll_counted back = ll_halves(ll_mul(6, triangle)),
                      signature = ll_halves(ll_mul(6, ll_mul3(n, n, n)));
    return ll_both(ll_counted_potrf(n), ll_both(signature, back));
}

uint64_t ll_flops_SYGV(const struct ll_op_view *op)
{
    uint64_t n = ll_order(op, 0);
    return ll_weigh(op, ll_both(generalized(n, vectors(op) ? n : 0), syev(n, vectors(op))));
}

uint64_t ll_flops_SYGVD(const struct ll_op_view *op)
{
    uint64_t n = ll_order(op, 0);
    return ll_weigh(op, ll_both(generalized(n, vectors(op) ? n : 0), syevd(n, vectors(op))));
}

uint64_t ll_flops_SYGVX(const struct ll_op_view *op)
{
    uint64_t n = ll_order(op, 0), wanted = found(op);
    return ll_weigh(op, ll_both(generalized(n, wanted), syevr(n, wanted)));
}

/* Of bands. A band is [diagonals, n], diagonals on one side and the main one. */

/* To tridiagonal form by rotations: each of the n (k - 1) elements is chased out over n / 2 k steps on
 * average, each a rotation of 2 k pairs, 6 operations each: 6 n^2 (k - 1); the rotations of n pairs each make
 * 3 n^3 (k - 1) / k of the transformation (Schwarz, Numer. Math. 12, 1968; Kaufman, ACM Trans. Math. Softw.
 * 10, 1984). */
static struct ll_counted sbtrd(uint64_t n, uint64_t k, bool with_vectors)
{
    uint64_t chased = k > 1 ? ll_mul3(6, ll_mul(n, n), k - 1) : 0;
    uint64_t turned = k > 1 && with_vectors ? ll_mul3(3, ll_mul3(n, n, n), k - 1) : 0;
    return ll_halves(ll_mul(6, ll_add(chased, ll_fits(turned) ? turned / ll_max(k, 1) : LL_NO_FIT)));
}

/* The QR iterations of a tridiagonal matrix: 30 n^2, with vectors 6 n^3 (Golub and Van Loan 8.3.3). */
static struct ll_counted steqr(uint64_t n, bool with_vectors)
{
    return ll_halves(with_vectors ? ll_mul(36, ll_mul3(n, n, n)) : ll_mul(180, ll_mul(n, n)));
}

static uint64_t diagonals(const struct ll_op_view *op, uint32_t input)
{
    return ll_sub(ll_max(1, rows(op, input)), 1);
}

/* From the band that is at hand to eigenvalues: with vectors by QR iterations, by dividing and conquering and
 * a product (2 n^3), one by one and a product with each (2 n^2). */
static struct ll_counted sbev(const struct ll_op_view *op)
{
    uint64_t n = columns(op, 0);
    return ll_both(sbtrd(n, diagonals(op, 0), vectors(op)), steqr(n, vectors(op)));
}

static struct ll_counted sbevd(const struct ll_op_view *op)
{
    uint64_t n = columns(op, 0);
    struct ll_counted signature = sbtrd(n, diagonals(op, 0), vectors(op));
    if (!vectors(op))
        return ll_both(signature, steqr(n, false));
    return ll_both(signature, ll_both(stedc(n), ll_halves(ll_mul(12, ll_mul3(n, n, n)))));
}

static struct ll_counted sbevx(const struct ll_op_view *op)
{
    uint64_t n = columns(op, 0), wanted = found(op);
    struct ll_counted signature = sbtrd(n, diagonals(op, 0), wanted);
    return ll_both(signature, ll_both(steqr(n, false), ll_halves(ll_mul(12, ll_mul3(n, n, wanted)))));
}

uint64_t ll_flops_SBEV(const struct ll_op_view *op)
{
    return ll_weigh(op, sbev(op));
}

uint64_t ll_flops_SBEVD(const struct ll_op_view *op)
{
    return ll_weigh(op, sbevd(op));
}

uint64_t ll_flops_SBEVX(const struct ll_op_view *op)
{
    return ll_weigh(op, sbevx(op));
}

/* Of two bands: the factor of b, whose n kb elements are each chased out of a's band as above (Crawford,
 * Commun. ACM 16, 1973). */
static struct ll_counted split_band(const struct ll_op_view *op)
{
    uint64_t n = columns(op, 0), ka = ll_max(1, diagonals(op, 0)), kb = diagonals(op, 1);
    uint64_t chased = ll_mul3(6, ll_mul(n, n), kb), turned = ll_mul3(3, ll_mul3(n, n, n), kb);
    turned = vectors(op) && ll_fits(turned) ? turned / ka : 0;
    return ll_both(ll_counted_pbtrf(n, kb), ll_halves(ll_mul(6, ll_add(chased, turned))));
}

uint64_t ll_flops_SBGV(const struct ll_op_view *op)
{
    return ll_weigh(op, ll_both(split_band(op), sbev(op)));
}

uint64_t ll_flops_SBGVD(const struct ll_op_view *op)
{
    return ll_weigh(op, ll_both(split_band(op), sbevd(op)));
}

uint64_t ll_flops_SBGVX(const struct ll_op_view *op)
{
    return ll_weigh(op, ll_both(split_band(op), sbevx(op)));
}

/* Of a tridiagonal matrix, whose diagonal is input 0. */
uint64_t ll_flops_STEV(const struct ll_op_view *op)
{
    return ll_weigh(op, steqr(rows(op, 0), vectors(op)));
}

uint64_t ll_flops_STEVD(const struct ll_op_view *op)
{
    uint64_t n = rows(op, 0);
    return ll_weigh(op, vectors(op) ? stedc(n) : steqr(n, false));
}

/* What vectors cost one by one is little beside the iterations. */
uint64_t ll_flops_STEVR(const struct ll_op_view *op)
{
    return ll_weigh(op, steqr(rows(op, 0), false));
}

/* Of general matrices. */

/* Eigenvalues 10 n^3, with vectors 26 1/3 n^3 (LAPACK Users' Guide, table 3.13). */
uint64_t ll_flops_GEEV(const struct ll_op_view *op)
{
    uint64_t n = rows(op, 0);
    return ll_weigh(op, ll_halves(ll_mul(vectors(op) ? 158 : 60, ll_mul3(n, n, n))));
}

/* The Schur form and its vectors 25 n^3 (Golub and Van Loan 7.5.6), of which the vectors take 4 n^3 / 3 of
 * the Hessenberg form and half of the iterations (algorithm 7.5.1: 10 n^2 for each of the two in a step): 13
 * 1/2 n^3 without them. */
uint64_t ll_flops_GEES(const struct ll_op_view *op)
{
    uint64_t n = rows(op, 0);
    return ll_weigh(op, ll_halves(ll_mul(vectors(op) ? 150 : 81, ll_mul3(n, n, n))));
}

/* The QZ process: 30 n^3, the left transformation 16 n^3 and the right one 20 n^3 more (Golub and Van Loan,
 * algorithm 7.7.3). */
uint64_t ll_flops_QZ(const struct ll_op_view *op)
{
    uint64_t n = rows(op, 0), more = (vectors(op) & LL_VECTORS_LEFT ? 16 : 0);
    more += vectors(op) & LL_VECTORS_RIGHT ? 20 : 0;
    return ll_weigh(op, ll_halves(ll_mul(6 * (30 + more), ll_mul3(n, n, n))));
}

/* Singular values. */

/* Golub and Van Loan, figure 8.6.1: values alone to bidiagonal form, thin vectors 14 m n^2 + 8 n^3, all
 * 4 m^2 n + 8 m n^2 + 9 n^3. */
static struct ll_counted gesvd(uint64_t m, uint64_t n, int64_t wanted)
{
    uint64_t nnn = ll_mul3(n, n, n), mnn = ll_mul3(m, n, n);
    if (wanted == 0)
        return ll_counted_gebrd(m, n);
    uint64_t thin = ll_add(ll_mul(14, mnn), ll_mul(8, nnn));
    uint64_t all = ll_add(ll_mul(4, ll_mul3(m, m, n)), ll_add(ll_mul(8, mnn), ll_mul(9, nnn)));
    return ll_halves(ll_mul(6, wanted == 1 ? thin : all));
}

/* The longer and the shorter side of the matrix. */
static uint64_t longer(const struct ll_op_view *op)
{
    return ll_max(rows(op, 0), columns(op, 0));
}

static uint64_t shorter(const struct ll_op_view *op)
{
    return ll_min(rows(op, 0), columns(op, 0));
}

uint64_t ll_flops_GESVD(const struct ll_op_view *op)
{
    return ll_weigh(op, gesvd(longer(op), shorter(op), vectors(op)));
}

/* To bidiagonal form, and its reflectors applied to the vectors of the bidiagonal matrix, n of them or all m:
 * 6.67 n^3 for a square one (LAPACK Users' Guide, table 3.13). */
uint64_t ll_flops_GESDD(const struct ll_op_view *op)
{
    uint64_t m = longer(op), n = shorter(op);
    struct ll_counted signature = ll_counted_gebrd(m, n);
    if (vectors(op) == 0)
        return ll_weigh(op, signature);
    struct ll_counted left = ll_counted_ormqr(m, vectors(op) == 1 ? n : m, n);
    return ll_weigh(op, ll_both(signature, ll_both(left, ll_counted_ormqr(n, n, n))));
}

/* The same of those vectors that were found, which are outputs from 2 on: the left ones are columns, the
 * right ones rows. */
uint64_t ll_flops_GESVDX(const struct ll_op_view *op)
{
    uint64_t k = shorter(op);
    struct ll_counted counted = ll_counted_gebrd(longer(op), k);
    uint32_t at = 2;
    if (vectors(op) & LL_VECTORS_LEFT && at < op->output_count)
        counted = ll_both(counted, ll_counted_ormqr(rows(op, 0), op->out[at++].dim[1], k));
    if (vectors(op) & LL_VECTORS_RIGHT && at < op->output_count)
        counted = ll_both(counted, ll_counted_ormqr(columns(op, 0), op->out[at].dim[0], k));
    return ll_weigh(op, counted);
}

/* One-sided Jacobi (Golub and Van Loan 8.6.4): in a sweep each of n (n - 1) / 2 pairs of columns is
 * multiplied (2 m) and rotated (6 m), with right vectors also a pair of theirs (6 n). Six sweeps are assumed.
 */
static struct ll_counted sweeps(uint64_t m, uint64_t n, bool right)
{
    enum { SWEEPS = 6 };
    uint64_t pairs = n ? ll_mul(n, n - 1) : 0, pair = ll_add(ll_mul(8, m), right ? ll_mul(6, n) : 0);
    return ll_halves(ll_mul3(3 * SWEEPS, pairs, pair));
}

uint64_t ll_flops_GESVJ(const struct ll_op_view *op)
{
    return ll_weigh(op, sweeps(rows(op, 0), columns(op, 0), vectors(op) & LL_VECTORS_RIGHT));
}

/* Two orthogonal factorizations, one of the other's triangle, before the sweeps, whose left vectors the first
 * one's reflectors turn (Drmac and Veselic, SIAM J. Matrix Anal. Appl. 29, 2008). */
uint64_t ll_flops_GEJSV(const struct ll_op_view *op)
{
    uint64_t m = longer(op), n = shorter(op);
    struct ll_counted factors = ll_both(ll_counted_geqrf(m, n), ll_counted_geqrf(n, n));
    struct ll_counted left = vectors(op) & LL_VECTORS_LEFT ? ll_counted_ormqr(m, n, n) : nothing();
    return ll_weigh(op, ll_both(ll_both(factors, left), sweeps(n, n, vectors(op) & LL_VECTORS_RIGHT)));
}

/* QR factors with pivots, and the singular values of the triangle (LAPACK's dgesvdq). */
uint64_t ll_flops_GESVDQ(const struct ll_op_view *op)
{
    uint64_t m = longer(op), n = shorter(op);
    struct ll_counted triangle = ll_both(ll_counted_geqrf(m, n), gesvd(n, n, vectors(op) != 0));
    struct ll_counted left = vectors(op) & LL_VECTORS_LEFT ? ll_counted_ormqr(m, n, n) : nothing();
    return ll_weigh(op, ll_both(triangle, left));
}

/* Of a[m, n] and b[p, n], taken to be of full rank: QR factors of b with pivots, RQ factors of those l =
 * min(p, n) rows, whose reflectors turn a as well, QR factors of the n - l columns of a beside them, and six
 * sweeps, which are assumed, over two triangles of l rows: each of l (l - 1) / 2 pairs rotates rows and
 * columns of both (24 l) and what the vectors are (Bai and Demmel, SIAM J. Sci. Comput. 14, 1993; LAPACK
 * Users' Guide, 2.3.5.3). */
uint64_t ll_flops_GGSVD(const struct ll_op_view *op)
{
    enum { SWEEPS = 6, VALUES_END = 3 };
    uint64_t m = rows(op, 0), n = columns(op, 0), p = rows(op, 1), l = ll_min(p, n), rest = n - l;
    struct ll_counted of_b = ll_both(ll_counted_geqrf(p, n), ll_counted_geqrf(n, l));
    struct ll_counted of_a = ll_both(ll_counted_ormqr(n, m, l), ll_counted_geqrf(m, rest));
    uint64_t pair = ll_mul(24, l), pairs = l ? ll_mul(l, l - 1) / 2 : 0;
    for (uint32_t i = VALUES_END; i < op->output_count; i++)
        pair = ll_add(pair, ll_mul(6, op->out[i].dim[0]));
    struct ll_counted turned = ll_both(of_a, ll_counted_ormqr(m, l, ll_min(m, rest)));
    return ll_weigh(op, ll_both(ll_both(of_b, turned), ll_halves(ll_mul3(6 * SWEEPS, pairs, pair))));
}
