/* SPDX-License-Identifier: Apache-2.0 */
/* Rules for LAPACK's drivers of linear systems and orthogonal factors: shapes for all of its drivers, and
 * FLOPs of building blocks (ops_lapack.h). */
#include "tracer/ops_lapack.h"

/* Shapes. */

static const char wants_matrices[] = "this op takes matrices";

/* Whether this is a matrix, or a triangle of one packed into a vector. */
static bool is_matrix(const struct ll_shape *shape)
{
    return shape->rank == 2 || (shape->rank == 1 && ll_packed_order(shape) > 0);
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
    return ll_weigh(op, ll_counted_getrf(rows(op, 0), columns(op, 0)));
}

/* 2 n^3 / 3 + n^2 / 2 + 5 n / 6 and 2 n^3 / 3 - 3 n^2 / 2 + 5 n / 6 */
uint64_t ll_flops_GETRI(const struct ll_op_view *op)
{
    uint64_t n = rows(op, 0), nn = ll_mul(n, n), cubic = ll_add(ll_mul(4, ll_mul(nn, n)), ll_mul(5, n));
    return ll_weigh(
        op, (struct ll_counted){ll_sixth(ll_add(cubic, ll_mul(3, nn)), 0), ll_sixth(cubic, ll_mul(9, nn))});
}

uint64_t ll_flops_POTRF(const struct ll_op_view *op)
{
    return ll_weigh(op, ll_counted_potrf(rows(op, 0)));
}

/* n^3 / 3 + n^2 + 2 n / 3 and n^3 / 3 - n^2 / 2 + n / 6 */
uint64_t ll_flops_POTRI(const struct ll_op_view *op)
{
    uint64_t n = rows(op, 0), nn = ll_mul(n, n), cubic = ll_mul(2, ll_mul(nn, n));
    return ll_weigh(op, (struct ll_counted){ll_sixth(ll_add(cubic, ll_add(ll_mul(6, nn), ll_mul(4, n))), 0),
                                            ll_sixth(ll_add(cubic, n), ll_mul(3, nn))});
}

/* n^3 / 6 + n^2 / 2 + n / 3 and n^3 / 6 - n^2 / 2 + n / 3. With a diagonal of ones each column but the first
 * is multiplied by a triangle like that and by -1 (LAPACK's dtrti2): n^3 / 6 - n / 6, and as many sums. */
uint64_t ll_flops_TRTRI(const struct ll_op_view *op)
{
    uint64_t n = rows(op, 0), nn = ll_mul(n, n), cubic = ll_add(ll_mul(nn, n), ll_mul(2, n));
    if (ll_attr_count(op, LL_ATTR_UNIT_DIAGONAL, 0))
        return ll_weigh(op, (struct ll_counted){ll_sixth(ll_mul(nn, n), n), ll_sixth(cubic, ll_mul(3, nn))});
    return ll_weigh(
        op, (struct ll_counted){ll_sixth(ll_add(cubic, ll_mul(3, nn)), 0), ll_sixth(cubic, ll_mul(3, nn))});
}

uint64_t ll_flops_SYTRF(const struct ll_op_view *op)
{
    return ll_weigh(op, ll_counted_sytrf(rows(op, 0)));
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
    return ll_weigh(op,
                    ll_counted_orgqr(rows(op, 0), columns(op, 0), size < 0 ? k : ll_min(k, (uint64_t)size)));
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
    return ll_weigh(op, ll_counted_gehrd(rows(op, 0)));
}

uint64_t ll_flops_GETRS(const struct ll_op_view *op)
{
    return ll_weigh(op, ll_counted_substitution(rows(op, 1), columns(op, 0), 0));
}

uint64_t ll_flops_POTRS(const struct ll_op_view *op)
{
    return ll_weigh(op, ll_counted_substitution(rows(op, 1), columns(op, 0), 1));
}

uint64_t ll_flops_SYTRS(const struct ll_op_view *op)
{
    return ll_weigh(op, ll_counted_substitution(rows(op, 1), columns(op, 0), 1));
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
    return ll_weigh(op, ll_both(ll_counted_getrf(n, n), ll_counted_substitution(n, columns(op, 0), 0)));
}

uint64_t ll_flops_POSV(const struct ll_op_view *op)
{
    uint64_t n = rows(op, 0);
    return ll_weigh(op, ll_both(ll_counted_potrf(n), ll_counted_substitution(n, columns(op, 0), 1)));
}

uint64_t ll_flops_SYSV(const struct ll_op_view *op)
{
    uint64_t n = rows(op, 0);
    return ll_weigh(op, ll_both(ll_counted_sytrf(n), ll_counted_substitution(n, columns(op, 0), 1)));
}

/* The factors of the longer side, applied to what is solved for, and a triangle of the shorter side. */
uint64_t ll_flops_GELS(const struct ll_op_view *op)
{
    uint64_t m = ll_max(rows(op, 1), columns(op, 1)), k = ll_min(rows(op, 1), columns(op, 1));
    uint64_t r = columns(op, 0);
    struct ll_counted triangle = {ll_mul(r, ll_sixth(ll_mul3(3, k, ll_add(k, 1)), 0)),
                                  ll_mul(r, ll_sixth(ll_mul3(3, k, k), ll_mul(3, k)))};
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
