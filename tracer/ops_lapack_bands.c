/* SPDX-License-Identifier: Apache-2.0 */
/* FLOPs of LAPACK's drivers for linear systems of bands, of those that keep the matrix (the expert ones), and
 * of least squares with constraints. What experts do beside, conditions and refinement, are a few n^2 for
 * each right-hand side and do not count. */
#include "tracer/ops_lapack.h"

/* Sums over t = 0 ... n - 1, the columns behind the one that is worked on: of min(a, t) min(b, t), where a
 * and b are diagonals, a not more than b: t^2 up to a, a t up to b, a b from there on. */
static uint64_t sum_of_products(uint64_t n, uint64_t a, uint64_t b)
{
    uint64_t last = n ? n - 1 : 0;
    a = ll_min(a, last), b = ll_min(b, last);
    uint64_t least = ll_min(a, b), most = ll_max(a, b), squares = ll_mul3(least, least, ll_mul(2, least));
    squares = ll_sixth(ll_add(squares, least), ll_mul3(3, least, least));
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
struct ll_counted ll_counted_gbtrf(uint64_t n, uint64_t lower, uint64_t upper)
{
    uint64_t products = sum_of_products(n, lower, upper);
    return (struct ll_counted){ll_add(ll_add(n, beside(n, lower)), products), products};
}

struct ll_counted ll_counted_gbtrs(uint64_t n, uint64_t lower, uint64_t upper, uint64_t r)
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

struct ll_counted ll_counted_pbtrs(uint64_t n, uint64_t k, uint64_t r)
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
    return solved(op, 2, ll_counted_gbtrf(n, lower(op), upper(op)),
                  ll_counted_gbtrs(n, lower(op), upper(op), r_of(op)));
}

uint64_t ll_flops_PBSV(const struct ll_op_view *op)
{
    uint64_t n = n_of(op);
    return solved(op, 2, ll_counted_pbtrf(n, k_of(op)), ll_counted_pbtrs(n, k_of(op), r_of(op)));
}

/* A band of one diagonal on each side. */
uint64_t ll_flops_GTSV(const struct ll_op_view *op)
{
    uint64_t n = n_of(op);
    return ll_weigh(op, ll_both(ll_counted_gbtrf(n, 1, 1), ll_counted_gbtrs(n, 1, 1, r_of(op))));
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
    return solved(op, 2, ll_counted_getrf(n, n), ll_counted_substitution(n, r_of(op), 0));
}

uint64_t ll_flops_POSVX(const struct ll_op_view *op)
{
    uint64_t n = n_of(op);
    return solved(op, 2, ll_counted_potrf(n), ll_counted_substitution(n, r_of(op), 1));
}

uint64_t ll_flops_SYSVX(const struct ll_op_view *op)
{
    uint64_t n = n_of(op);
    return solved(op, 2, ll_counted_sytrf(n), ll_counted_substitution(n, r_of(op), 1));
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
