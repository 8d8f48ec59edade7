/* SPDX-License-Identifier: Apache-2.0 */
/* Direct algorithms count as LAPACK Working Note 41 (Blackford and Dongarra, 1999, appendix C) has them,
 * multiplications and additions apart, for a complex multiplication is six operations and a complex addition
 * two. Formulas with thirds are written in sixths, so that all stays in whole numbers. */
#include "tracer/ops_lapack.h"

#include <math.h>

/* n of n (n + 1) / 2 elements; 0 when that is no number of them. */
uint64_t ll_packed_order(const struct ll_shape *triangle)
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
    return shape->rank == 1 ? ll_packed_order(shape) : shape->dim[0];
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
uint64_t ll_sixth(uint64_t more, uint64_t less)
{
    if (!ll_fits(more) || !ll_fits(less))
        return LL_NO_FIT;
    return more > less ? (more - less) / 6 : 0;
}

struct ll_counted ll_counted_getrf(uint64_t m, uint64_t n)
{
    uint64_t k = ll_min(m, n), mnk = ll_mul3(m, n, k), kk = ll_mul(k, ll_add(k, 1));
    /* sums over the columns j: of m - j, and of (m - j) (n - j) */
    uint64_t below = ll_mul(3, ll_sub(ll_mul(2, ll_mul(k, m)), kk));
    uint64_t more = ll_add(ll_mul(6, mnk), ll_mul(kk, ll_add(ll_mul(2, k), 1)));
    uint64_t less = ll_mul3(3, ll_add(m, n), kk);
    return (struct ll_counted){ll_sixth(ll_add(more, ll_add(below, ll_mul(6, k))), less),
                               ll_sixth(more, less)};
}

struct ll_counted ll_counted_potrf(uint64_t n)
{
    uint64_t product = ll_mul(n, ll_add(n, 1));
    return (struct ll_counted){ll_sixth(ll_mul(product, ll_add(n, 2)), 0),
                               ll_sixth(ll_mul(product, n), product)};
}

/* n^3 / 6 + n^2 / 2 + 10 n / 3 and n^3 / 6 - n / 6 */
struct ll_counted ll_counted_sytrf(uint64_t n)
{
    uint64_t nnn = ll_mul3(n, n, n);
    return (struct ll_counted){ll_sixth(ll_add(nnn, ll_add(ll_mul3(3, n, n), ll_mul(20, n))), 0),
                               ll_sixth(nnn, n)};
}

/* n (n + a) r and n (n - a') r */
struct ll_counted ll_counted_substitution(uint64_t n, uint64_t r, uint64_t diagonal)
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
        return (struct ll_counted){ll_sixth(ll_add(lead, ll_add(ll_mul(6, mn), ll_mul(23, n))), less),
                                   ll_sixth(ll_add(lead, ll_mul(5, n)), less)};
    }
    less = ll_add(less, half);
    return (struct ll_counted){ll_sixth(ll_add(lead, ll_add(ll_mul(12, mn), ll_mul(23, m))), less),
                               ll_sixth(ll_add(lead, ll_add(ll_mul(6, mn), ll_mul(5, m))), less)};
}

/* k reflectors of length q applied to p vectors: 2 p q k - p k^2 + 2 p k and 2 p q k - p k^2 + p k */
struct ll_counted ll_counted_ormqr(uint64_t q, uint64_t p, uint64_t k)
{
    uint64_t product = ll_sub(ll_mul(2, ll_mul3(p, q, k)), ll_mul3(p, k, k)), line = ll_mul(p, k);
    return (struct ll_counted){ll_add(product, ll_mul(2, line)), ll_add(product, line)};
}

/* m x n of k reflectors: 2 m n k - (m + n) k^2 + 2 k^3 / 3 + 2 n k - k^2 - 5 k / 3 and 2 m n k - (m + n)
 * k^2 + 2 k^3 / 3 + n k - m k + k / 3 */
struct ll_counted ll_counted_orgqr(uint64_t m, uint64_t n, uint64_t k)
{
    uint64_t mn = ll_mul(m, n), kkk = ll_mul3(k, k, k), kk = ll_mul(k, k);
    uint64_t lead = ll_add(ll_mul(12, ll_mul(mn, k)), ll_mul(4, kkk)), less = ll_mul3(6, ll_add(m, n), kk);
    uint64_t nk = ll_mul(n, k), mk = ll_mul(m, k);
    return (struct ll_counted){
        ll_sixth(ll_add(lead, ll_mul(12, nk)), ll_add(less, ll_add(ll_mul(6, kk), ll_mul(10, k)))),
        ll_sixth(ll_add(lead, ll_add(ll_mul(6, nk), ll_mul(2, k))), ll_add(less, ll_mul(6, mk)))};
}

/* 2 n^3 / 3 + 5 n^2 / 2 - n / 6 - 15 and 2 n^3 / 3 + n^2 - 8 n / 3 - 4 */
struct ll_counted ll_counted_sytrd(uint64_t n)
{
    uint64_t cubic = ll_mul(4, ll_mul3(n, n, n)), nn = ll_mul(n, n);
    return (struct ll_counted){ll_sixth(ll_add(cubic, ll_mul(15, nn)), ll_add(n, 90)),
                               ll_sixth(ll_add(cubic, ll_mul(6, nn)), ll_add(ll_mul(16, n), 24))};
}

/* Tall: 2 m n^2 - 2 n^3 / 3 + 2 n^2 + 20 n / 3 and 2 m n^2 - 2 n^3 / 3 + n^2 - m n + 5 n / 3; wide: the same
 * of the transpose. */
struct ll_counted ll_counted_gebrd(uint64_t m, uint64_t n)
{
    uint64_t k = ll_min(m, n), most = ll_max(m, n), kk = ll_mul(k, k);
    uint64_t lead = ll_mul3(12, most, kk), less = ll_mul(4, ll_mul(kk, k));
    return (struct ll_counted){
        ll_sixth(ll_add(lead, ll_add(ll_mul(12, kk), ll_mul(40, k))), less),
        ll_sixth(ll_add(lead, ll_add(ll_mul(6, kk), ll_mul(10, k))), ll_add(less, ll_mul3(6, most, k)))};
}

/* 5 n^3 / 3 + n^2 / 2 - 7 n / 6 - 13 and 5 n^3 / 3 - n^2 - 2 n / 3 - 8 */
struct ll_counted ll_counted_gehrd(uint64_t n)
{
    uint64_t cubic = ll_mul(10, ll_mul3(n, n, n)), nn = ll_mul(n, n);
    return (struct ll_counted){ll_sixth(ll_add(cubic, ll_mul(3, nn)), ll_add(ll_mul(7, n), 78)),
                               ll_sixth(cubic, ll_add(ll_mul(6, nn), ll_add(ll_mul(4, n), 48)))};
}

/* As many multiplications as additions, sixths / 6 of them together. */
struct ll_counted ll_halves(uint64_t sixths)
{
    uint64_t half = ll_sixth(sixths, 0);
    return (struct ll_counted){ll_fits(half) ? half - half / 2 : LL_NO_FIT,
                               ll_fits(half) ? half / 2 : LL_NO_FIT};
}
