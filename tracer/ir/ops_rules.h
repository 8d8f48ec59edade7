/* SPDX-License-Identifier: Apache-2.0 */
/* The rules behind the words of op_table.def: one function per word. Private to tracer/ir/ops*.c.
 *
 * A new word is one line here and one function ll_COLUMN_WORD: a shape rule in ops_shape.c or ops_move.c,
 * FLOP and byte rules in ops_count.c, lowering in ops_work.c. Linear algebra has all its rules in
 * ops_algebra.c and ops_lapack*.c. */
#ifndef LL_TRACER_IR_OPS_RULES_H
#define LL_TRACER_IR_OPS_RULES_H

#include "tracer/ir/ops.h"

typedef const char *ll_shape_rule(struct ll_op_view *op);
typedef uint64_t ll_count_rule(const struct ll_op_view *op);
typedef bool ll_work_rule(const struct ll_op_view *op, struct ll_work *work);

/* FLOPs of an element, where a row says PER_OUT or PER_IN. */
uint64_t ll_op_flops_each(enum ll_op_kind kind);

/* Whether rank and dimensions are equal. */
bool ll_same_dims(const struct ll_shape *a, const struct ll_shape *b);

/* Sets the op's outputs; NULL, so that a rule can return it. */
const char *ll_give(struct ll_op_view *op, uint32_t count, const struct ll_shape *first);

/* Roles that travel from an input to a result: of one dimension where the extents agree, of all where the
 * ranks do, and through a reshape, where the first of several dimensions that were one gets its role. A role
 * that is there already stays. */
void ll_take_role(struct ll_shape *to, unsigned at, const struct ll_shape *from, unsigned dim);
void ll_take_roles(struct ll_shape *to, const struct ll_shape *from);
void ll_take_roles_reshaped(struct ll_shape *to, const struct ll_shape *from);

/* To all results: the roles of steps and samples [steps, batch, ...] of the first input; the batch where it
 * is the first dimension of an input and of the result. */
void ll_give_roles_of_steps(struct ll_op_view *op);
void ll_give_batch(struct ll_op_view *op);

ll_shape_rule ll_shape_TRANSPOSE, ll_shape_CONCAT, ll_shape_SPLIT, ll_shape_SLICE, ll_shape_PAD,
    ll_shape_STACK, ll_shape_UNSTACK, ll_shape_ONE_HOT, ll_shape_GATHER, ll_shape_SEGMENT_SUM,
    ll_shape_ROWS_IN_PLACE, ll_shape_BATCH_MATMUL, ll_shape_ASSIGN;
ll_shape_rule ll_shape_SAME_1, ll_shape_SAME_2, ll_shape_SAME_N, ll_shape_SELECT, ll_shape_SCALAR,
    ll_shape_DRAWN, ll_shape_XENT_DENSE, ll_shape_CTC;
ll_shape_rule ll_shape_TRUE_INDICES;
ll_shape_rule ll_shape_BROADCAST, ll_shape_BIAS, ll_shape_ROW_SCALE, ll_shape_COMPARE, ll_shape_GIVEN;
ll_shape_rule ll_shape_SEEN_AS, ll_shape_CAST, ll_shape_CAST_BOTH, ll_shape_RESHAPE, ll_shape_EXPAND,
    ll_shape_LRN, ll_shape_LRN_GRAD;
ll_shape_rule ll_shape_LAST_DIM, ll_shape_REDUCED, ll_shape_ARGMAX, ll_shape_MATMUL;
ll_shape_rule ll_shape_CONV2D, ll_shape_CONV_DATA, ll_shape_CONV_FILTER, ll_shape_POOL, ll_shape_POOL_GRAD,
    ll_shape_SPREAD;
ll_shape_rule ll_shape_BATCH_NORM, ll_shape_NORM_GRAD, ll_shape_NORM_FIXED, ll_shape_LAYER_NORM,
    ll_shape_LAYER_NORM_GRAD, ll_shape_RMS_NORM, ll_shape_RMS_NORM_GRAD, ll_shape_DROPOUT,
    ll_shape_DROPOUT_GRAD, ll_shape_SAMPLE, ll_shape_TOP_K, ll_shape_UNRAVEL, ll_shape_XENT_SMOOTH;
ll_shape_rule ll_shape_XENT, ll_shape_IN_PLACE_1, ll_shape_IN_PLACE_2, ll_shape_IN_PLACE_3;

/* Of what language models are made of: ops_llm.c. */
ll_shape_rule ll_shape_ATTENTION, ll_shape_ATTENTION_GRAD;
ll_count_rule ll_flops_ATTENTION, ll_flops_ATTENTION_GRAD;
ll_work_rule ll_work_ATTENTION, ll_work_ATTENTION_GRAD;
ll_shape_rule ll_shape_LATENT, ll_shape_EXPERTS, ll_shape_EXPERTS_GRAD, ll_shape_SCAN, ll_shape_SCAN_GRAD,
    ll_shape_CAUSAL_CONV, ll_shape_CAUSAL_CONV_GRAD, ll_shape_SPARSE_INDEX;
ll_count_rule ll_flops_LATENT, ll_flops_EXPERTS, ll_flops_EXPERTS_GRAD, ll_flops_SCAN, ll_flops_SCAN_GRAD,
    ll_flops_CAUSAL_CONV, ll_flops_CAUSAL_CONV_GRAD, ll_flops_SPARSE_INDEX, ll_read_EXPERTS,
    ll_written_EXPERTS;
ll_work_rule ll_work_LATENT, ll_work_EXPERTS, ll_work_EXPERTS_GRAD, ll_work_SCAN, ll_work_SCAN_GRAD,
    ll_work_SPARSE_INDEX;
ll_shape_rule ll_shape_CAUSAL, ll_shape_CACHE_UPDATE, ll_shape_ADAM_MIXED, ll_shape_ROTARY,
    ll_shape_GATED_GRAD, ll_shape_ROUTE;
ll_shape_rule ll_shape_WHERE, ll_shape_REPEATED, ll_shape_GIVEN_1, ll_shape_SCATTER, ll_shape_STEPS;

ll_count_rule ll_flops_NONE, ll_flops_MATMUL, ll_flops_CONV_FORWARD, ll_flops_CONV_DATA, ll_flops_CONV_FILTER;
ll_count_rule ll_flops_each_out, ll_flops_each_in, ll_flops_TOP_K, ll_flops_ADD_N, ll_flops_REDUCE,
    ll_flops_POOL, ll_flops_POOL_GRAD, ll_flops_SPREAD, ll_flops_MOMENTUM;
ll_count_rule ll_flops_LRN, ll_flops_LRN_GRAD, ll_flops_BATCH_NORM, ll_flops_NORM_GRAD, ll_flops_SAMPLE;

ll_count_rule ll_flops_BATCH_MATMUL, ll_flops_ROWS_2, ll_flops_CTC;
ll_count_rule ll_flops_STEPS, ll_flops_COMPUTATION;
ll_count_rule ll_read_SLICE, ll_written_SLICE, ll_read_PART, ll_written_PART;
ll_count_rule ll_read_GATHER, ll_written_GATHER, ll_read_PLACED, ll_written_PLACED, ll_read_ROWS,
    ll_written_ROWS, ll_read_ASSIGN, ll_written_ASSIGN, ll_read_ADAM_MIXED, ll_written_ADAM_MIXED;
ll_count_rule ll_read_NONE, ll_read_IN_OUT, ll_read_OUT, ll_read_STACK;
ll_count_rule ll_written_NONE, ll_written_IN_OUT, ll_written_OUT, ll_written_STACK;

ll_work_rule ll_work_STEPS, ll_work_COMPUTATION;
ll_work_rule ll_work_GATHER, ll_work_BATCH_GEMM;
ll_work_rule ll_work_NOTHING, ll_work_GEMM, ll_work_CONV_FORWARD, ll_work_CONV_DATA, ll_work_CONV_FILTER;
ll_work_rule ll_work_VECTOR, ll_work_PICKED, ll_work_ROWS, ll_work_CHANNELS, ll_work_REDUCE, ll_work_MOVE,
    ll_work_CAST, ll_work_HOST, ll_work_COLLECTIVE;

ll_shape_rule ll_shape_BENT, ll_shape_UPSAMPLE, ll_shape_SHRUNK, ll_shape_ROI_POOL, ll_shape_ROI_POOL_GRAD,
    ll_shape_BOX_DECODE, ll_shape_NMS, ll_shape_BOX_SAMPLE;
ll_shape_rule ll_shape_GRID_SAMPLE, ll_shape_FFT;
ll_count_rule ll_flops_GRID_SAMPLE, ll_flops_FFT;
ll_count_rule ll_flops_ROI_POOL, ll_flops_BOX_DECODE, ll_flops_NMS, ll_flops_BOX_SAMPLE;
/* Of what devices exchange: ops_shape.c. */
ll_shape_rule ll_shape_ALIKE, ll_shape_GATHERED, ll_shape_SCATTERED, ll_shape_RECEIVED, ll_shape_TOKEN;
ll_work_rule ll_work_SWAP;
/* Of BLAS, LAPACK and oneDNN, and of programs seen from outside: ops_algebra.c, ops_lapack.c. */
ll_shape_rule ll_shape_GEMV, ll_shape_GEMV_ADD, ll_shape_GER, ll_shape_MATMUL_ADD, ll_shape_SYRK,
    ll_shape_SYRK_ADD, ll_shape_SYR2K, ll_shape_SYR2K_ADD, ll_shape_DOT, ll_shape_NORM, ll_shape_EXCHANGED,
    ll_shape_FACTORED, ll_shape_SOLVED, ll_shape_BOTH_SOLVED, ll_shape_RECURRENT, ll_shape_SEEN_AS,
    ll_shape_NOTHING, ll_shape_ANY;
ll_count_rule ll_flops_GEMV, ll_flops_GEMV_ADD, ll_flops_GER, ll_flops_MATMUL_ADD, ll_flops_SYRK,
    ll_flops_SYRK_ADD, ll_flops_SYR2K, ll_flops_SYR2K_ADD, ll_flops_TRIANGLE, ll_flops_DOT, ll_flops_NORM,
    ll_flops_AXPY, ll_flops_AXPBY, ll_flops_SCAL, ll_flops_ROT, ll_flops_RECURRENT, ll_flops_RECURRENT_2;
ll_count_rule ll_flops_GETRF, ll_flops_GETRI, ll_flops_POTRF, ll_flops_POTRI, ll_flops_TRTRI, ll_flops_SYTRF,
    ll_flops_GEQRF, ll_flops_ORGQR, ll_flops_SYTRD, ll_flops_GEBRD, ll_flops_GEHRD, ll_flops_GETRS,
    ll_flops_POTRS, ll_flops_SYTRS, ll_flops_ORMQR, ll_flops_GESV, ll_flops_POSV, ll_flops_SYSV,
    ll_flops_GELS, ll_flops_GELSD, ll_flops_SYEV, ll_flops_SYEVD, ll_flops_SYEVR, ll_flops_GEEV,
    ll_flops_GESVD, ll_flops_GESDD;
ll_shape_rule ll_shape_DRIVEN;
ll_count_rule ll_flops_GBSV, ll_flops_PBSV, ll_flops_GTSV, ll_flops_PTSV, ll_flops_GESVX, ll_flops_POSVX,
    ll_flops_SYSVX, ll_flops_GGLSE, ll_flops_GGGLM;
ll_count_rule ll_flops_SYGV, ll_flops_SYGVD, ll_flops_SYGVX, ll_flops_SBEV, ll_flops_SBEVD, ll_flops_SBEVX,
    ll_flops_SBGV, ll_flops_SBGVD, ll_flops_SBGVX, ll_flops_STEV, ll_flops_STEVD, ll_flops_STEVR,
    ll_flops_GEES, ll_flops_QZ, ll_flops_GESVDX, ll_flops_GESVJ, ll_flops_GEJSV, ll_flops_GESVDQ,
    ll_flops_GGSVD;
/* Of bands and packed triangles: ops_algebra.c. */
ll_shape_rule ll_shape_GEMMT, ll_shape_GEMMT_ADD;
ll_count_rule ll_flops_GEMMT, ll_flops_GEMMT_ADD;
ll_shape_rule ll_shape_GBMV, ll_shape_GBMV_ADD, ll_shape_PART_MV, ll_shape_PART_MV_ADD,
    ll_shape_PART_TRIANGLE, ll_shape_PART_UPDATE;
ll_count_rule ll_flops_GBMV, ll_flops_GBMV_ADD, ll_flops_PART_MV, ll_flops_PART_MV_ADD,
    ll_flops_PART_TRIANGLE, ll_flops_PART_UPDATE;
ll_work_rule ll_work_PART, ll_work_BAND_SOLVE;
ll_work_rule ll_work_GEMM_OF_1, ll_work_GER, ll_work_GEMM_ADD, ll_work_PANELS, ll_work_RECURRENT,
    ll_work_WAIT;

/* Real operations in a complex multiplication and addition, over those in real ones: 4 of a complex type (six
 * and two for one and one), 1 of any other. */
uint64_t ll_product_factor(const struct ll_op_view *op);

/* Elements of a matrix of m rows and n columns on its diagonal, the `lower` ones below and the `upper` ones
 * above it. */
uint64_t ll_band_elements(uint64_t m, uint64_t n, uint64_t lower, uint64_t upper);

/* The extents of a product of matrices, transpositions resolved; inputs have rank 2. */
struct ll_gemm ll_matmul_dims(const struct ll_op_view *op);

/* The same for products of stacks of matrices: the leading dimensions are the batch. */
struct ll_gemm ll_batch_matmul_dims(const struct ll_op_view *op);

/* Bytes of the elements of a shape in the dtype of the op. */
uint64_t ll_stack_bytes(const struct ll_op_view *op, const struct ll_shape *shape);

/* The extents of a convolution: image [batch, h, w, c], filter [kh, kw, c / groups, k], result [batch, oh,
 * ow, k]; which tensors of the op these are depends on the pass. Strides default to 1, groups to 1. */
struct ll_conv ll_conv_dims(const struct ll_op_view *op, enum ll_conv_pass pass);

#endif
