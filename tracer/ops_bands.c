/* SPDX-License-Identifier: Apache-2.0 */
/* Rules for the parts of matrices that BLAS keeps apart: bands [rows, diagonals], a row's elements side by
 * side, and triangles [n (n + 1) / 2], packed row after row. What counts is the elements that the matrix has:
 * two operations for each, as LAPACK Working Note 41 (Blackford and Dongarra, 1999, appendix C) counts; the
 * corners of a band's storage that lie outside of the matrix count as bytes alone. */
#include "tracer/ops_rules.h"

static const char wants_part[] =
    "this op takes a band or a packed triangle, and vectors as long as its sides";

/* Shapes. */

static bool is_vector(const struct ll_shape *shape, uint64_t length)
{
    return shape->rank == 1 && shape->dim[0] == length;
}

/* Whether this is a band or a packed triangle of a matrix of n rows. */
static bool is_part(const struct ll_shape *part, uint64_t n)
{
    if (part->rank == 2)
        return part->dim[0] == n && part->dim[1] > 0;
    uint64_t twice = ll_mul(n, ll_add(n, 1));
    return part->rank == 1 && ll_fits(twice) && part->dim[0] == twice / 2;
}

/* The band that is input `first`, the vector behind it, and what is given or stands before the band. */
static const char *band_by_vector(struct ll_op_view *op, uint32_t first)
{
    if (op->input_count != first + 2 || (first == 0 && op->output_count != 1))
        return "this op takes a band and a vector, and says how long the result is";
    const struct ll_shape *a = &op->in[first], *x = &op->in[first + 1], *y = first ? op->in : op->out;
    uint64_t lower = (uint64_t)ll_attr_count(op, LL_ATTR_LOWER, 0),
             upper = (uint64_t)ll_attr_count(op, LL_ATTR_UPPER, 0);
    bool transposed = ll_attr_count(op, LL_ATTR_TRANSPOSE_A, 0) != 0;
    if (a->rank != 2 || x->rank != 1 || y->rank != 1 || a->dim[0] != (transposed ? x : y)->dim[0] ||
        a->dim[1] != ll_add(1, ll_add(lower, upper)))
        return wants_part;
    return first ? ll_give(op, 1, op->in) : NULL;
}

const char *ll_shape_GBMV(struct ll_op_view *op)
{
    return band_by_vector(op, 0);
}

const char *ll_shape_GBMV_ADD(struct ll_op_view *op)
{
    return band_by_vector(op, 1);
}

/* a x, or y + a x, of a symmetric matrix. */
const char *ll_shape_PART_MV(struct ll_op_view *op)
{
    bool fits = op->input_count == 2 && op->in[1].rank == 1 && is_part(&op->in[0], op->in[1].dim[0]);
    return fits ? ll_give(op, 1, &op->in[1]) : wants_part;
}

const char *ll_shape_PART_MV_ADD(struct ll_op_view *op)
{
    bool fits = op->input_count == 3 && op->in[0].rank == 1 && is_part(&op->in[1], op->in[0].dim[0]) &&
                is_vector(&op->in[2], op->in[0].dim[0]);
    return fits ? ll_give(op, 1, op->in) : wants_part;
}

/* x, and the triangle that it is multiplied with or divided by. */
const char *ll_shape_PART_TRIANGLE(struct ll_op_view *op)
{
    bool fits = op->input_count == 2 && op->in[0].rank == 1 && is_part(&op->in[1], op->in[0].dim[0]);
    return fits ? ll_give(op, 1, op->in) : wants_part;
}

/* A packed triangle and one or two vectors. */
const char *ll_shape_PART_UPDATE(struct ll_op_view *op)
{
    bool fits = op->input_count >= 2 && op->in[0].rank == 1 && op->in[1].rank == 1 &&
                is_part(&op->in[0], op->in[1].dim[0]) &&
                is_vector(&op->in[op->input_count - 1], op->in[1].dim[0]) && op->input_count <= 3;
    return fits ? ll_give(op, 1, op->in) : wants_part;
}

/* FLOPs. */

/* Elements of a matrix of m rows and n columns that lie `from` or more diagonals below its own: columns j
 * with m - from - j elements each, as long as there are any. */
static uint64_t elements_below(uint64_t m, uint64_t n, uint64_t from)
{
    uint64_t height = ll_sub(m, ll_min(m, from)), columns = ll_min(height, n);
    uint64_t missing = columns ? ll_mul(columns, columns - 1) : 0;
    return ll_fits(missing) ? ll_sub(ll_mul(columns, height), missing / 2) : LL_NO_FIT;
}

uint64_t ll_band_elements(uint64_t m, uint64_t n, uint64_t lower, uint64_t upper)
{
    uint64_t outside = ll_add(elements_below(m, n, ll_add(lower, 1)), elements_below(n, m, ll_add(upper, 1)));
    return ll_sub(ll_mul(m, n), outside);
}

static uint64_t band_flops(const struct ll_op_view *op, const struct ll_shape *a, const struct ll_shape *x,
                           const struct ll_shape *y)
{
    bool transposed = ll_attr_count(op, LL_ATTR_TRANSPOSE_A, 0) != 0;
    uint64_t elements = ll_band_elements(a->dim[0], (transposed ? y : x)->dim[0],
                                         (uint64_t)ll_attr_count(op, LL_ATTR_LOWER, 0),
                                         (uint64_t)ll_attr_count(op, LL_ATTR_UPPER, 0));
    return ll_mul(2 * ll_product_factor(op), elements);
}

uint64_t ll_flops_GBMV(const struct ll_op_view *op)
{
    return band_flops(op, &op->in[0], &op->in[1], &op->out[0]);
}

uint64_t ll_flops_GBMV_ADD(const struct ll_op_view *op)
{
    return band_flops(op, &op->in[1], &op->in[2], &op->in[0]);
}

/* Elements of the part beside the diagonal: of a matrix of n rows, in one of its triangles. */
static uint64_t beside_diagonal(const struct ll_shape *part, uint64_t n)
{
    uint64_t width = part->rank == 2 ? ll_min(part->dim[1], n) : n;
    return ll_sub(ll_band_elements(n, n, width ? width - 1 : 0, 0), n);
}

static uint64_t symmetric_flops(const struct ll_op_view *op, const struct ll_shape *part, uint64_t n)
{
    return ll_mul(2 * ll_product_factor(op), ll_add(n, ll_mul(2, beside_diagonal(part, n))));
}

uint64_t ll_flops_PART_MV(const struct ll_op_view *op)
{
    return symmetric_flops(op, &op->in[0], op->in[1].dim[0]);
}

uint64_t ll_flops_PART_MV_ADD(const struct ll_op_view *op)
{
    return symmetric_flops(op, &op->in[1], op->in[0].dim[0]);
}

/* A product or a division for each element, unless the diagonal is of ones, and a sum for those beside it. */
uint64_t ll_flops_PART_TRIANGLE(const struct ll_op_view *op)
{
    uint64_t n = op->in[0].dim[0], beside = beside_diagonal(&op->in[1], n);
    uint64_t products = ll_attr_count(op, LL_ATTR_UNIT_DIAGONAL, 0) ? beside : ll_add(n, beside);
    bool real = ll_product_factor(op) == 1;
    return ll_add(ll_mul(real ? 1 : 6, products), ll_mul(real ? 1 : 2, beside));
}

/* n (n + 1), twice that with two vectors */
uint64_t ll_flops_PART_UPDATE(const struct ll_op_view *op)
{
    return ll_mul(2 * (op->input_count - 1) * ll_product_factor(op), op->in[0].dim[0]);
}

/* Work. */

/* Each stored element is looked at once, and little is done with it: no unit for products has use for it. */
bool ll_work_PART(const struct ll_op_view *op, struct ll_work *work)
{
    for (uint32_t i = 0; i < op->input_count; i++)
        work->vector.elements = ll_max(work->vector.elements, ll_elements(&op->in[i]));
    work->kind = LL_WORK_VECTOR;
    return ll_fits(work->vector.elements);
}

enum { ROWS_AT_ONCE = 64 };

/* Equations of a band or a packed triangle are solved some rows at a time, and each step waits for what the
 * one before has found. What is solved for is input 0, a column or several. */
bool ll_work_BAND_SOLVE(const struct ll_op_view *op, struct ll_work *work)
{
    uint64_t n = ll_max(1, op->in[0].dim[0]), columns = op->in[0].rank > 1 ? ll_max(1, op->in[0].dim[1]) : 1;
    uint64_t rows = ll_min(n, ROWS_AT_ONCE), steps = ll_ceil_div(n, rows);
    uint64_t products = ll_mul(2, ll_mul(ll_mul(steps, rows), columns));
    work->kind = LL_WORK_SEQUENCE;
    work->b_bytes = work->a_bytes / 2;
    work->a_bytes -= work->b_bytes;
    work->sequence.steps = steps;
    work->sequence.step = (struct ll_gemm){1, rows, columns, ll_max(1, ll_ceil_div(work->flops, products))};
    return ll_fits(products) && ll_fits(work->flops);
}
