/* SPDX-License-Identifier: Apache-2.0 */
/* Products of matrices: C[m,n] = A[m,k] B[k,n], 2 m n k FLOPs; `bmm` is b of them with operands of their own.
 */
#include "models/single/single.h"

static const char *const turned[] = {"N", "T", NULL};

/* A stack of matrices [batch, rows, columns], lying as given or turned; of a batch of 0 a single one, whose
 * rows are the samples unless it is a weight. */
static struct ll_value *matrix(struct ll_single *single, const char *name, enum ll_memory_class memory,
                               const uint64_t dims[3], bool turn)
{
    uint64_t lying[3] = {dims[0], dims[turn ? 2 : 1], dims[turn ? 1 : 2]};
    unsigned alone = dims[0] == 0;
    enum ll_role roles[3] = {LL_ROLE_BATCH, LL_ROLE_PLAIN, LL_ROLE_PLAIN};
    if (alone && memory == LL_INPUT)
        roles[turn ? 2 : 1] = LL_ROLE_BATCH;
    return ll_single_operand(single, name, memory, 3 - alone, lying + alone, roles + alone);
}

static struct ll_value *product(struct ll_single *single, const struct ll_gemm *gemm, bool turn_a,
                                bool turn_b)
{
    struct ll_attr attrs[] = {ll_attr_of_count(LL_ATTR_TRANSPOSE_A, turn_a),
                              ll_attr_of_count(LL_ATTR_TRANSPOSE_B, turn_b)};
    const uint64_t a[] = {gemm->batch, gemm->m, gemm->k}, b[] = {gemm->batch, gemm->k, gemm->n};
    enum ll_memory_class right = gemm->batch ? LL_INPUT : LL_WEIGHT;
    struct ll_value *inputs[] = {matrix(single, "a", LL_INPUT, a, turn_a),
                                 matrix(single, "b", right, b, turn_b)};
    struct ll_nn_call call = {.kind = gemm->batch ? LL_OP_BATCH_MATMUL : LL_OP_MATMUL,
                              .input_count = 2,
                              .inputs = inputs,
                              .attr_count = 2,
                              .attrs = attrs};
    return ll_single_end(single, ll_nn_do(single->nn, &call));
}

enum { GEMM_M, GEMM_N, GEMM_K, GEMM_TA, GEMM_TB, GEMM_DTYPE };

static const struct ll_model_param gemm_params[] = {
    [GEMM_M] = {"m", 1024, 1, 1 << 30, "rows of A and C"},
    [GEMM_N] = {"n", 1024, 1, 1 << 30, "columns of B and C"},
    [GEMM_K] = {"k", 1024, 1, 1 << 30, "columns of A, rows of B"},
    [GEMM_TA] = {"ta", 0, 0, 1, "N: A lies as [m,k]; T: as [k,m]"},
    [GEMM_TB] = {"tb", 0, 0, 1, "N: B lies as [k,n]; T: as [n,k]"},
    [GEMM_DTYPE] = LL_SINGLE_DTYPE,
};

static const char *const *const gemm_words[] = {
    [GEMM_TA] = turned, [GEMM_TB] = turned, [GEMM_DTYPE] = ll_single_dtypes};

static struct ll_value *build_gemm(struct ll_nn *nn, const struct ll_build *build)
{
    const int64_t *params = build->params;
    struct ll_single single = ll_single_begin(nn, build, params[GEMM_DTYPE]);
    return product(&single,
                   &(struct ll_gemm){0, build->batch, (uint64_t)params[GEMM_N], (uint64_t)params[GEMM_K]},
                   params[GEMM_TA], params[GEMM_TB]);
}

const struct ll_model ll_model_gemm = {
    .name = "gemm",
    .suite = "micro",
    .doc = "one matrix product; a sample is a row of A",
    .default_batch = 1024,
    .params = gemm_params,
    .param_count = sizeof gemm_params / sizeof *gemm_params,
    .words = gemm_words,
    .batch_param = "m",
    .infers = true,
    .build = build_gemm,
};

enum { BMM_B, BMM_M, BMM_N, BMM_K, BMM_TA, BMM_TB, BMM_DTYPE };

static const struct ll_model_param bmm_params[] = {
    [BMM_B] = {"b", 16, 1, 1 << 30, "products"},
    [BMM_M] = {"m", 512, 1, 1 << 30, "rows of each A and C"},
    [BMM_N] = {"n", 512, 1, 1 << 30, "columns of each B and C"},
    [BMM_K] = {"k", 64, 1, 1 << 30, "columns of each A, rows of each B"},
    [BMM_TA] = {"ta", 0, 0, 1, "N: each A lies as [m,k]; T: as [k,m]"},
    [BMM_TB] = {"tb", 0, 0, 1, "N: each B lies as [k,n]; T: as [n,k]"},
    [BMM_DTYPE] = LL_SINGLE_DTYPE,
};

static const char *const *const bmm_words[] = {
    [BMM_TA] = turned, [BMM_TB] = turned, [BMM_DTYPE] = ll_single_dtypes};

static struct ll_value *build_bmm(struct ll_nn *nn, const struct ll_build *build)
{
    const int64_t *params = build->params;
    struct ll_single single = ll_single_begin(nn, build, params[BMM_DTYPE]);
    const struct ll_gemm gemm = {build->batch, (uint64_t)params[BMM_M], (uint64_t)params[BMM_N],
                                 (uint64_t)params[BMM_K]};
    return product(&single, &gemm, params[BMM_TA], params[BMM_TB]);
}

const struct ll_model ll_model_bmm = {
    .name = "bmm",
    .suite = "micro",
    .doc = "one batched matrix product; a sample is one product",
    .default_batch = 16,
    .params = bmm_params,
    .param_count = sizeof bmm_params / sizeof *bmm_params,
    .words = bmm_words,
    .batch_param = "b",
    .infers = true,
    .build = build_bmm,
};
