/* SPDX-License-Identifier: Apache-2.0 */
/* Rules of linear algebra beside GEMM. The first section has matrices of which a part is stored (bands,
 * packed triangles), the second the other routines of BLAS and oneDNN's RNN primitives, the third the
 * lowering of ops whose steps wait for each other. */
#include <math.h>

#include "tracer/ir/ops_rules.h"

/* Rules for the parts of matrices that BLAS keeps apart: bands [rows, diagonals], a row's elements side by
 * side, and triangles [n (n + 1) / 2], packed row after row. What counts is the elements that the matrix has:
 * two operations for each, as LAPACK Working Note 41 (Blackford and Dongarra, 1999, appendix C) counts; the
 * corners of a band's storage that lie outside of the matrix count as bytes alone. */

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

/* Rules for what programs ask of BLAS and oneDNN beside what networks are written in: shapes, FLOPs, work.
 * FLOPs are those of LAPACK Working Note 41 (Blackford and Dongarra, 1999, appendix C) for a scale of one: a
 * multiplication counts one, an addition one; of complex numbers six and two. */

uint64_t ll_product_factor(const struct ll_op_view *op)
{
    return op->in[0].dtype == LL_C64 || op->in[0].dtype == LL_C128 ? 4 : 1;
}

/* Shapes. */

static bool are_matrices(const struct ll_op_view *op, uint32_t count)
{
    if (op->input_count != count)
        return false;
    for (uint32_t i = 0; i < count; i++)
        if (op->in[i].rank != 2 || op->in[i].dtype != op->in[0].dtype)
            return false;
    return true;
}

static const char wants_matrices[] = "the number of inputs or their ranks are not what this op takes";

/* c + a b */
const char *ll_shape_MATMUL_ADD(struct ll_op_view *op)
{
    if (!are_matrices(op, 3))
        return wants_matrices;
    struct ll_shape out = {.rank = 2};
    struct ll_op_view product = *op;
    product.in++;
    product.input_count--;
    product.out = &out;
    const char *trouble = ll_shape_MATMUL(&product);
    if (!trouble && !ll_same_dims(&out, &op->in[0]))
        trouble = "what is added to must have the shape of the product";
    return trouble ? trouble : ll_give(op, 1, op->in);
}

/* A product that must be square, of which a triangle is asked for. */
static const char *triangle_of_product(struct ll_op_view *op, ll_shape_rule *product)
{
    const char *trouble = product(op);
    return trouble || op->out[0].dim[0] == op->out[0].dim[1] ? trouble : "the product must be square";
}

const char *ll_shape_GEMMT(struct ll_op_view *op)
{
    return triangle_of_product(op, ll_shape_MATMUL);
}

const char *ll_shape_GEMMT_ADD(struct ll_op_view *op)
{
    return triangle_of_product(op, ll_shape_MATMUL_ADD);
}

/* The matrix that is input `first` and the vector behind it. */
static const char *matrix_by_vector(struct ll_op_view *op, uint32_t first)
{
    if (op->input_count != first + 2 || op->in[first].rank != 2 || op->in[first + 1].rank != 1)
        return "this op takes a matrix and a vector";
    bool transposed = ll_attr_count(op, LL_ATTR_TRANSPOSE_A, 0) != 0;
    const struct ll_shape *a = &op->in[first];
    struct ll_shape out = {.rank = 1, .dtype = a->dtype, .dim = {a->dim[transposed]}};
    if (a->dim[!transposed] != op->in[first + 1].dim[0] || (first && !ll_same_dims(&out, &op->in[0])))
        return "the vectors must be as long as the sides of the matrix";
    return ll_give(op, 1, first ? op->in : &out);
}

const char *ll_shape_GEMV(struct ll_op_view *op)
{
    return matrix_by_vector(op, 0);
}

const char *ll_shape_GEMV_ADD(struct ll_op_view *op)
{
    return matrix_by_vector(op, 1);
}

/* a[m, n] + x[m] y[n] */
const char *ll_shape_GER(struct ll_op_view *op)
{
    bool fits = op->input_count == 3 && op->in[0].rank == 2 && op->in[1].rank == 1 && op->in[2].rank == 1 &&
                op->in[0].dim[0] == op->in[1].dim[0] && op->in[0].dim[1] == op->in[2].dim[0];
    return fits ? ll_give(op, 1, op->in) : "this op takes a matrix and two vectors as long as its sides";
}

/* The matrices from input `first` on, all alike, give a square one: of as many rows as theirs, or with
 * transpose_a as many as their columns. An input before them is what is added to. */
static const char *square(struct ll_op_view *op, uint32_t first, uint32_t factors)
{
    if (!are_matrices(op, first + factors))
        return wants_matrices;
    bool transposed = ll_attr_count(op, LL_ATTR_TRANSPOSE_A, 0) != 0;
    struct ll_shape out = op->in[first];
    out.dim[0] = out.dim[1] = op->in[first].dim[transposed];
    out.role[0] = out.role[1] = op->in[first].role[transposed];
    if (!ll_same_dims(&op->in[first], &op->in[first + factors - 1]) ||
        !(first == 0 || ll_same_dims(&out, op->in)))
        return "the factors must be alike, and what is added to must have the shape of their product";
    return ll_give(op, 1, &out);
}

const char *ll_shape_SYRK(struct ll_op_view *op)
{
    return square(op, 0, 1);
}

const char *ll_shape_SYRK_ADD(struct ll_op_view *op)
{
    return square(op, 1, 1);
}

const char *ll_shape_SYR2K(struct ll_op_view *op)
{
    return square(op, 0, 2);
}

const char *ll_shape_SYR2K_ADD(struct ll_op_view *op)
{
    return square(op, 1, 2);
}

const char *ll_shape_DOT(struct ll_op_view *op)
{
    if (op->input_count != 2 || !ll_same_dims(&op->in[0], &op->in[1]))
        return "an inner product takes two vectors of the same length";
    return ll_give(op, 1, &(struct ll_shape){.dtype = op->in[0].dtype});
}

/* A norm is real, also of a complex vector. */
const char *ll_shape_NORM(struct ll_op_view *op)
{
    if (op->input_count != 1)
        return "a norm takes one vector";
    return ll_give(op, 1,
                   &(struct ll_shape){.dtype = (uint8_t)ll_dtype_part((enum ll_dtype)op->in[0].dtype)});
}

/* Two vectors, both overwritten. */
const char *ll_shape_EXCHANGED(struct ll_op_view *op)
{
    if (op->input_count != 2 || !ll_same_dims(&op->in[0], &op->in[1]))
        return "this op takes two vectors of the same length";
    return ll_give(op, 2, op->in);
}

/* x[steps, batch, width] and weights -> what is given */
const char *ll_shape_RECURRENT(struct ll_op_view *op)
{
    if (op->input_count < 2 || op->output_count == 0)
        return "a recurrent layer takes a sequence and weights, and its outputs must be given";
    if (op->in[0].rank != 3)
        return "a sequence must have the dimensions steps, batch, width";
    ll_give_roles_of_steps(op);
    return NULL;
}

/* Whatever it took and gave. */
/* Operations that are counted by elements have some. */
const char *ll_shape_ANY(struct ll_op_view *op)
{
    const enum ll_op_class class = ll_op_class(op->kind);
    if ((class == LL_CLASS_REDUCTION || class == LL_CLASS_ELEMENTWISE) &&
        (op->input_count == 0 || op->output_count == 0))
        return "this op reads and makes something; what it makes must be given";
    ll_give_batch(op);
    return NULL;
}

const char *ll_shape_NOTHING(struct ll_op_view *op)
{
    if (op->input_count != 0)
        return "this op takes nothing";
    op->output_count = 0;
    return NULL;
}

/* FLOPs. */

/* As MATMUL: as many additions as multiplications now that there is something to add to. */
uint64_t ll_flops_MATMUL_ADD(const struct ll_op_view *op)
{
    struct ll_op_view product = *op;
    product.in++;
    product.input_count--;
    return ll_flops_MATMUL(&product);
}

/* 2 m n */
static uint64_t twice_elements(const struct ll_op_view *op, uint32_t input)
{
    return ll_mul(2 * ll_product_factor(op), ll_elements(&op->in[input]));
}

uint64_t ll_flops_GEMV(const struct ll_op_view *op)
{
    return twice_elements(op, 0);
}

uint64_t ll_flops_GEMV_ADD(const struct ll_op_view *op)
{
    return twice_elements(op, 1);
}

uint64_t ll_flops_GER(const struct ll_op_view *op)
{
    return twice_elements(op, 0);
}

/* k n (n + 1): a triangle with its diagonal, 2 k each. */
static uint64_t rank_update(const struct ll_op_view *op, const struct ll_shape *factor)
{
    uint64_t n = op->out[0].dim[0], k = factor->dim[ll_attr_count(op, LL_ATTR_TRANSPOSE_A, 0) == 0];
    return ll_mul(ll_product_factor(op), ll_mul(k, ll_mul(n, ll_add(n, 1))));
}

uint64_t ll_flops_SYRK(const struct ll_op_view *op)
{
    return rank_update(op, &op->in[0]);
}

uint64_t ll_flops_SYRK_ADD(const struct ll_op_view *op)
{
    return rank_update(op, &op->in[1]);
}

uint64_t ll_flops_SYR2K(const struct ll_op_view *op)
{
    return ll_mul(2, rank_update(op, &op->in[0]));
}

uint64_t ll_flops_SYR2K_ADD(const struct ll_op_view *op)
{
    return ll_mul(2, rank_update(op, &op->in[1]));
}

uint64_t ll_flops_GEMMT(const struct ll_op_view *op)
{
    return rank_update(op, &op->in[0]);
}

uint64_t ll_flops_GEMMT_ADD(const struct ll_op_view *op)
{
    return rank_update(op, &op->in[1]);
}

/* A triangle of q rows times, or its inverse times, p vectors: q (q + 1) / 2 products and q (q - 1) / 2 sums
 * for each, p q^2 together; complex p (4 q^2 + 2 q). Where the diagonal is of ones there are as many products
 * as sums: p q (q - 1), complex four times that. */
uint64_t ll_flops_TRIANGLE(const struct ll_op_view *op)
{
    uint64_t elements = ll_elements(&op->in[0]), q = op->in[1].dim[0];
    if (ll_attr_count(op, LL_ATTR_UNIT_DIAGONAL, 0))
        return ll_mul(ll_product_factor(op) == 1 ? 1 : 4, ll_mul(elements, q ? q - 1 : 0));
    if (ll_product_factor(op) == 1)
        return ll_mul(elements, q);
    return ll_mul(elements, ll_add(ll_mul(4, q), 2));
}

static uint64_t per_element(const struct ll_op_view *op, uint64_t flops)
{
    return ll_mul(flops, ll_elements(&op->in[0]));
}

uint64_t ll_flops_DOT(const struct ll_op_view *op)
{
    return per_element(op, 2 * ll_product_factor(op));
}

/* One operation to make each part of a number positive, one to add it. */
uint64_t ll_flops_NORM(const struct ll_op_view *op)
{
    return per_element(op, ll_product_factor(op) > 1 ? 4 : 2);
}

uint64_t ll_flops_AXPY(const struct ll_op_view *op)
{
    return per_element(op, 2 * ll_product_factor(op));
}

/* Two products and a sum; complex six for each product. */
uint64_t ll_flops_AXPBY(const struct ll_op_view *op)
{
    return per_element(op, ll_product_factor(op) > 1 ? 14 : 3);
}

uint64_t ll_flops_SCAL(const struct ll_op_view *op)
{
    return per_element(op, ll_product_factor(op) > 1 ? 6 : 1);
}

/* Four products and two sums for two numbers; a rotation's sine and cosine are real. */
uint64_t ll_flops_ROT(const struct ll_op_view *op)
{
    return per_element(op, ll_product_factor(op) > 1 ? 12 : 6);
}

/* Elements of the weights: matrices, or all of several layers and directions in one tensor of rank 5. States
 * are of rank 4, sequences of rank 3. */
static uint64_t recurrent_weights(const struct ll_op_view *op)
{
    uint64_t weights = 0;
    for (uint32_t i = 1; i < op->input_count; i++)
        if (op->in[i].rank == 2 || op->in[i].rank == 5)
            weights = ll_add(weights, ll_elements(&op->in[i]));
    return weights;
}

/* Each weight meets each sample at each step: 2 steps batch weights. Vectors are biases, other sequences what
 * flows in. */
uint64_t ll_flops_RECURRENT(const struct ll_op_view *op)
{
    return ll_mul(ll_mul(2, ll_mul(op->in[0].dim[0], op->in[0].dim[1])), recurrent_weights(op));
}

/* Back to the inputs and to the weights: twice that. */
uint64_t ll_flops_RECURRENT_2(const struct ll_op_view *op)
{
    return ll_mul(2, ll_flops_RECURRENT(op));
}

/* Work. */

enum { PANEL = 64 }; /* columns at a time: what LAPACK's ilaenv answers, or near it */

static const struct ll_shape *largest(const struct ll_shape *shapes, uint32_t count)
{
    const struct ll_shape *most = shapes;
    for (uint32_t i = 1; i < count; i++)
        if (ll_elements(&shapes[i]) > ll_elements(most))
            most = &shapes[i];
    return most;
}

/* NULL when there is none: what is packed is a vector. */
static const struct ll_shape *last_matrix(const struct ll_op_view *op)
{
    for (uint32_t i = op->input_count; i-- > 0;)
        if (op->in[i].rank == 2)
            return &op->in[i];
    return NULL;
}

/* At least one: a triangle of one row with a diagonal of ones is no FLOPs, and yet is gone through. */
static uint64_t panel_side(double share, uint64_t size)
{
    return ll_max(1, (uint64_t)ceil(share * (double)size));
}

/* Blocked algorithms of linear algebra go panel by panel, and each panel waits for what the one before has
 * left. Each is a product of depth PANEL on what remains of the largest result, which shrinks: here all have
 * the same size, the fraction f of rows and of columns that keeps the FLOPs,
 *
 *       steps 2 (f m) (f n) PANEL = flops        f <= 1
 *
 * rounded up to whole rows and columns. Where even whole matrices are too few FLOPs, there are more steps. */
bool ll_work_PANELS(const struct ll_op_view *op, struct ll_work *work)
{
    const struct ll_shape *result = largest(op->out, op->output_count), *matrix = last_matrix(op);
    uint64_t m = ll_max(1, result->dim[0]), n = ll_max(1, result->rank > 1 ? result->dim[1] : 1);
    uint64_t columns = matrix ? ll_min(matrix->dim[0], matrix->dim[1]) : m;
    uint64_t panels = ll_ceil_div(ll_max(1, columns), PANEL);
    double whole = 2.0 * PANEL * (double)m * (double)n, flops = (double)work->flops;
    double steps = fmax((double)panels, ceil(flops / whole)), f = sqrt(flops / (steps * whole));
    work->kind = LL_WORK_SEQUENCE;
    work->b_bytes = work->a_bytes / 2;
    work->a_bytes -= work->b_bytes;
    work->sequence.steps = (uint64_t)steps;
    work->sequence.step =
        (struct ll_gemm){.batch = 1, .m = panel_side(f, m), .n = panel_side(f, n), .k = PANEL};
    return true;
}

/* Steps that wait for one another, weights that stay: of all weights one product, as wide as the FLOPs are.
 */
bool ll_work_RECURRENT(const struct ll_op_view *op, struct ll_work *work)
{
    const struct ll_shape *x = &op->in[0];
    uint64_t width = ll_max(1, x->dim[2]), samples = ll_max(1, ll_mul(x->dim[0], x->dim[1]));
    work->kind = LL_WORK_SEQUENCE;
    work->b_bytes = work->a_bytes - ll_size_bytes(x);
    work->a_bytes = ll_size_bytes(x);
    work->sequence.steps = x->dim[0];
    work->sequence.step = (struct ll_gemm){
        .batch = 1, .m = x->dim[1], .n = ll_ceil_div(work->flops / 2, ll_mul(samples, width)), .k = width};
    return ll_fits(samples);
}

bool ll_work_WAIT(const struct ll_op_view *op, struct ll_work *work)
{
    (void)op;
    work->kind = LL_WORK_WAIT;
    return true;
}
