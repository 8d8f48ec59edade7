/* SPDX-License-Identifier: Apache-2.0 */
/* Single ops as workloads.
 *
 * An inference is the op alone on operands that are there already. A training step adds the least that sends
 * gradients back to the operands: half the sum of the result's squares as a loss, whose gradient is the
 * result itself. Nothing is updated, so every step repeats the first. */
#include <assert.h>
#include <float.h>
#include <math.h>

#include "models/model.h"
#include "models/nn/layers.h"
#include "models/nn/nn.h"
#include "models/nn/training.h"

enum { MOST_OPERANDS = 4 };

struct single {
    struct ll_nn *nn;
    const struct ll_build *build;             /* parameters and mode */
    struct ll_value *operands[MOST_OPERANDS]; /* that gradients are wanted of */
    size_t count;                             /* of operands so far */
};

/* A parameter that counts something. */
static inline uint64_t count_of(const struct single *single, size_t param)
{
    return (uint64_t)single->build->params[param];
}

/* The row of `dtype` in a model's table of parameters, and its words in that of words. */
#define DTYPE_PARAM                                                                                          \
    {                                                                                                        \
        "dtype", 0, 0, 5, "type of all operands; all but f32 with --dry-run"                                 \
    }

/* The type of all operands and its word for the parameter `dtype`; the first is the default, and the only one
 * that can be computed and not just recorded. */
static const enum ll_dtype dtypes[] = {LL_F32, LL_TF32, LL_F16, LL_BF16, LL_F8, LL_INT8, LL_F4, LL_INT4};
static const char *const dtype_words[] = {"f32", "tf32", "f16", "bf16", "f8", "int8", "f4", "int4", NULL};

/* Begins a single op whose elements are of the dtype with this number. */
static struct single single_begin(struct ll_nn *nn, const struct ll_build *build, int64_t dtype)
{
    assert(dtype >= 0 && (size_t)dtype < sizeof dtypes / sizeof *dtypes);
    if (dtypes[dtype] != LL_F32)
        nn->real = dtypes[dtype];
    return (struct single){.nn = nn, .build = build};
}

/* An operand of normal numbers, of deviation one; roles may be NULL. */
static struct ll_value *single_operand(struct single *single, const char *name, enum ll_memory_class memory,
                                       unsigned rank, const uint64_t *dims, const enum ll_role *roles)
{
    assert(single->count < MOST_OPERANDS);
    struct ll_shape shape = ll_nn_shape(single->nn, rank, dims, roles);
    struct ll_value *value =
        ll_nn_variable(single->nn, name, &shape, memory, (struct ll_init){LL_INIT_NORMAL, 1, NULL});
    single->operands[single->count++] = value;
    return value;
}

/* What the model's build function returns: the result, or the loss when training. */
static struct ll_value *single_end(struct single *single, struct ll_value *result)
{
    struct ll_value *gradients[MOST_OPERANDS] = {NULL};
    if (!single->build->train)
        return result;
    struct ll_value *loss = ll_nn_do1(single->nn, LL_OP_L2_LOSS, result);
    ll_nn_gradients(single->nn, loss, single->operands, single->count, gradients);
    for (size_t i = 0; i < single->count; i++) {
        single->operands[i]->gradient = gradients[i];
        if (!gradients[i])
            ll_nn_fail(single->nn, "nobody knows its gradient; record it with --infer");
    }
    return loss;
}

/* Products of matrices: C[m,n] = A[m,k] B[k,n], 2 m n k FLOPs; `bmm` is b of them with operands of their own.
 */

static const char *const turned[] = {"N", "T", NULL};

/* A stack of matrices [batch, rows, columns], lying as given or turned; of a batch of 0 a single one, whose
 * rows are the samples unless it is a weight. */
static struct ll_value *matrix(struct single *single, const char *name, enum ll_memory_class memory,
                               const uint64_t dims[3], bool turn)
{
    uint64_t lying[3] = {dims[0], dims[turn ? 2 : 1], dims[turn ? 1 : 2]};
    unsigned alone = dims[0] == 0;
    enum ll_role roles[3] = {LL_ROLE_BATCH, LL_ROLE_PLAIN, LL_ROLE_PLAIN};
    if (alone && memory == LL_INPUT)
        roles[turn ? 2 : 1] = LL_ROLE_BATCH;
    return single_operand(single, name, memory, 3 - alone, lying + alone, roles + alone);
}

/* A GEMM, or a batched one where gemm->batch is not 0, of operands that lie as turn_a and turn_b say. The
 * right operand of a plain GEMM counts as a weight. */
static struct ll_value *product(struct single *single, const struct ll_gemm *gemm, bool turn_a, bool turn_b)
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
    return single_end(single, ll_nn_do(single->nn, &call));
}

enum { GEMM_M, GEMM_N, GEMM_K, GEMM_TA, GEMM_TB, GEMM_DTYPE };

static const struct ll_model_param gemm_params[] = {
    [GEMM_M] = {"m", 1024, 1, 1 << 30, "rows of A and C"},
    [GEMM_N] = {"n", 1024, 1, 1 << 30, "columns of B and C"},
    [GEMM_K] = {"k", 1024, 1, 1 << 30, "columns of A, rows of B"},
    [GEMM_TA] = {"ta", 0, 0, 1, "N: A lies as [m,k]; T: as [k,m]"},
    [GEMM_TB] = {"tb", 0, 0, 1, "N: B lies as [k,n]; T: as [n,k]"},
    [GEMM_DTYPE] = DTYPE_PARAM,
};

static const char *const *const gemm_words[] = {
    [GEMM_TA] = turned, [GEMM_TB] = turned, [GEMM_DTYPE] = dtype_words};

static struct ll_value *build_gemm(struct ll_nn *nn, const struct ll_build *build)
{
    const int64_t *params = build->params;
    struct single single = single_begin(nn, build, params[GEMM_DTYPE]);
    return product(&single,
                   &(struct ll_gemm){0, build->batch, (uint64_t)params[GEMM_N], (uint64_t)params[GEMM_K]},
                   params[GEMM_TA], params[GEMM_TB]);
}

const struct ll_model ll_model_gemm = {
    .name = "gemm",
    .suite = "micro",
    .doc = "one GEMM; a sample is a row of A",
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
    [BMM_B] = {"b", 16, 1, 1 << 30, "GEMMs"},
    [BMM_M] = {"m", 512, 1, 1 << 30, "rows of each A and C"},
    [BMM_N] = {"n", 512, 1, 1 << 30, "columns of each B and C"},
    [BMM_K] = {"k", 64, 1, 1 << 30, "columns of each A, rows of each B"},
    [BMM_TA] = {"ta", 0, 0, 1, "N: each A lies as [m,k]; T: as [k,m]"},
    [BMM_TB] = {"tb", 0, 0, 1, "N: each B lies as [k,n]; T: as [n,k]"},
    [BMM_DTYPE] = DTYPE_PARAM,
};

static const char *const *const bmm_words[] = {
    [BMM_TA] = turned, [BMM_TB] = turned, [BMM_DTYPE] = dtype_words};

static struct ll_value *build_bmm(struct ll_nn *nn, const struct ll_build *build)
{
    const int64_t *params = build->params;
    struct single single = single_begin(nn, build, params[BMM_DTYPE]);
    const struct ll_gemm gemm = {build->batch, (uint64_t)params[BMM_M], (uint64_t)params[BMM_N],
                                 (uint64_t)params[BMM_K]};
    return product(&single, &gemm, params[BMM_TA], params[BMM_TB]);
}

const struct ll_model ll_model_bmm = {
    .name = "bmm",
    .suite = "micro",
    .doc = "one batched GEMM; a sample is one GEMM",
    .default_batch = 16,
    .params = bmm_params,
    .param_count = sizeof bmm_params / sizeof *bmm_params,
    .words = bmm_words,
    .batch_param = "b",
    .infers = true,
    .build = build_bmm,
};

/* What looks at each of b rows of h elements whole: softmax, and layer normalisation (Ba et al., 2016) with a
 * gain and an offset for each column. */

enum { ROWS_B, ROWS_H, ROWS_DTYPE, ROWS_PARAMS };

static const struct ll_model_param rows_params[ROWS_PARAMS] = {
    [ROWS_B] = {"b", 4096, 1, 1 << 30, "rows"},
    [ROWS_H] = {"h", 1024, 1, 1 << 30, "elements of a row"},
    [ROWS_DTYPE] = DTYPE_PARAM,
};

static const char *const *const rows_words[ROWS_PARAMS] = {[ROWS_DTYPE] = dtype_words};

static struct ll_value *rows(struct single *single)
{
    static const enum ll_role roles[] = {LL_ROLE_BATCH, LL_ROLE_HIDDEN};
    return single_operand(single, "x", LL_INPUT, 2,
                          (uint64_t[]){single->build->batch, count_of(single, ROWS_H)}, roles);
}

static struct ll_value *build_softmax(struct ll_nn *nn, const struct ll_build *build)
{
    struct single single = single_begin(nn, build, build->params[ROWS_DTYPE]);
    return single_end(&single, ll_nn_do1(nn, LL_OP_SOFTMAX, rows(&single)));
}

/* gamma and beta are operands too, so a training step has their gradients. */
static struct ll_value *build_layernorm(struct ll_nn *nn, const struct ll_build *build)
{
    struct single single = single_begin(nn, build, build->params[ROWS_DTYPE]);
    uint64_t columns = count_of(&single, ROWS_H);
    struct ll_value *inputs[] = {
        rows(&single),
        single_operand(&single, "gamma", LL_WEIGHT, 1, &columns, NULL),
        single_operand(&single, "beta", LL_WEIGHT, 1, &columns, NULL),
    };
    struct ll_nn_call call = {.kind = LL_OP_LAYER_NORM, .input_count = 3, .inputs = inputs};
    return single_end(&single, ll_nn_do(nn, &call));
}

const struct ll_model ll_model_softmax = {
    .name = "softmax",
    .suite = "micro",
    .doc = "softmax of rows; a sample is a row",
    .default_batch = 4096,
    .params = rows_params,
    .param_count = ROWS_PARAMS,
    .words = rows_words,
    .batch_param = "b",
    .infers = true,
    .counts_every_op = true,
    .build = build_softmax,
};

const struct ll_model ll_model_layernorm = {
    .name = "layernorm",
    .suite = "micro",
    .doc = "layer normalisation of rows; a sample is a row",
    .default_batch = 4096,
    .params = rows_params,
    .param_count = ROWS_PARAMS,
    .words = rows_words,
    .batch_param = "b",
    .infers = true,
    .counts_every_op = true,
    .build = build_layernorm,
};

/* One op on each of b x h elements, or on pairs of them. */

enum { ELEMENTWISE_OP, ELEMENTWISE_B, ELEMENTWISE_H, ELEMENTWISE_DTYPE, ELEMENTWISE_PARAMS };

/* The words of `op`: the kinds they stand for, and how many operands these have. */
#define LL_ELEMENTWISE_LIST(X)                                                                               \
    X(ADD, "add", 2)                                                                                         \
    X(SUB, "sub", 2)                                                                                         \
    X(MUL, "mul", 2)                                                                                         \
    X(DIV, "div", 2)                                                                                         \
    X(MAXIMUM, "maximum", 2)                                                                                 \
    X(POW, "pow", 2)                                                                                         \
    X(RELU, "relu", 1)                                                                                       \
    X(TANH, "tanh", 1)                                                                                       \
    X(EXP, "exp", 1)                                                                                         \
    X(SIGMOID, "sigmoid", 1)                                                                                 \
    X(SQRT, "sqrt", 1)                                                                                       \
    X(SQUARE, "square", 1)                                                                                   \
    X(ABS, "abs", 1)                                                                                         \
    X(GELU, "gelu", 1)                                                                                       \
    X(SILU_MUL, "silu_mul", 2)

#define X(kind, name, operands) name,
static const char *const names[] = {LL_ELEMENTWISE_LIST(X) NULL};
#undef X
static const struct {
    enum ll_op_kind kind;
    uint32_t operands;
} ops[] = {
#define X(kind, name, operands) {LL_OP_##kind, operands},
    LL_ELEMENTWISE_LIST(X)
#undef X
};
enum { OPS = sizeof ops / sizeof *ops };

static const struct ll_model_param elementwise_params[ELEMENTWISE_PARAMS] = {
    [ELEMENTWISE_OP] = {"op", 0, 0, OPS - 1, "what is done to each element, or to two"},
    [ELEMENTWISE_B] = {"b", 1024, 1, 1 << 30, "rows"},
    [ELEMENTWISE_H] = {"h", 1024, 1, 1 << 30, "elements of a row"},
    [ELEMENTWISE_DTYPE] = DTYPE_PARAM,
};

static const char *const *const elementwise_words[ELEMENTWISE_PARAMS] = {
    [ELEMENTWISE_OP] = names, [ELEMENTWISE_DTYPE] = dtype_words};

/* Of bases of powers and what roots are taken of, half of the normal numbers would give none. */
static bool wants_positive(enum ll_op_kind kind)
{
    return kind == LL_OP_POW || kind == LL_OP_SQRT;
}

/* One op on [b, h]; two operands where it takes two. */
static struct ll_value *build_elementwise(struct ll_nn *nn, const struct ll_build *build)
{
    static const enum ll_role roles[] = {LL_ROLE_BATCH, LL_ROLE_HIDDEN};
    struct single single = single_begin(nn, build, build->params[ELEMENTWISE_DTYPE]);
    const uint64_t dims[] = {build->batch, (uint64_t)build->params[ELEMENTWISE_H]};
    uint32_t count = ops[build->params[ELEMENTWISE_OP]].operands;
    struct ll_value *inputs[2] = {single_operand(&single, "x", LL_INPUT, 2, dims, roles)};
    if (wants_positive(ops[build->params[ELEMENTWISE_OP]].kind))
        inputs[0]->init = (struct ll_init){LL_INIT_CONSTANT, 2, NULL};
    if (count == 2)
        inputs[1] = single_operand(&single, "y", LL_INPUT, 2, dims, roles);
    struct ll_nn_call call = {
        .kind = ops[build->params[ELEMENTWISE_OP]].kind, .input_count = count, .inputs = inputs};
    return single_end(&single, ll_nn_do(nn, &call));
}

const struct ll_model ll_model_elementwise = {
    .name = "elementwise",
    .suite = "micro",
    .doc = "one op on every element; a sample is a row",
    .default_batch = 1024,
    .params = elementwise_params,
    .param_count = ELEMENTWISE_PARAMS,
    .words = elementwise_words,
    .batch_param = "b",
    .infers = true,
    .counts_every_op = true,
    .build = build_elementwise,
};

/* The indices are host input; the table is the operand whose gradient a training step computes. */

enum { EMBEDDING_B, EMBEDDING_ROWS, EMBEDDING_H, EMBEDDING_DTYPE, EMBEDDING_PARAMS };

static const struct ll_model_param embedding_params[EMBEDDING_PARAMS] = {
    [EMBEDDING_B] = {"b", 4096, 1, 1 << 30, "rows that are picked"},
    [EMBEDDING_ROWS] = {"rows", 50000, 1, INT32_MAX, "rows of the table"},
    [EMBEDDING_H] = {"h", 1024, 1, 1 << 30, "elements of a row"},
    [EMBEDDING_DTYPE] = DTYPE_PARAM,
};

static const char *const *const embedding_words[EMBEDDING_PARAMS] = {[EMBEDDING_DTYPE] = dtype_words};

/* Neighbours are far apart: the multiplier is a prime near 2^32 over the golden ratio (Knuth, volume 3). */
static void fill_numbers(const struct ll_feed *feed, uint64_t step, const struct ll_shape *shape, void *data)
{
    for (uint64_t i = 0, count = ll_elements(shape); i < count; i++)
        ((int32_t *)data)[i] = (int32_t)((step + i) * UINT64_C(2654435761) % feed->classes);
}

/* Rows of a table [rows, h] looked up by b indices, which a dry run does not need. */
static struct ll_value *build_embedding(struct ll_nn *nn, const struct ll_build *build)
{
    static const enum ll_role roles[] = {LL_ROLE_VOCABULARY, LL_ROLE_HIDDEN};
    struct single single = single_begin(nn, build, build->params[EMBEDDING_DTYPE]);
    uint64_t rows = (uint64_t)build->params[EMBEDDING_ROWS];
    struct ll_shape shape = ll_nn_shape(nn, 1, &build->batch, (enum ll_role[]){LL_ROLE_BATCH});
    shape.dtype = LL_I32;
    enum ll_phase phase = nn->phase;
    nn->phase = LL_PHASE_INPUT;
    struct ll_value *numbers =
        ll_nn_do(nn, &(struct ll_nn_call){.kind = LL_OP_HOST_INPUT,
                                          .given_count = 1,
                                          .given = &shape,
                                          .feed = {.fill = fill_numbers, .classes = rows}});
    nn->phase = phase;
    struct ll_value *table = single_operand(&single, "table", LL_WEIGHT, 2,
                                            (uint64_t[]){rows, (uint64_t)build->params[EMBEDDING_H]}, roles);
    return single_end(&single, ll_nn_gather(nn, table, numbers));
}

const struct ll_model ll_model_embedding = {
    .name = "embedding",
    .suite = "micro",
    .doc = "embedding lookup, rows of a table by index; a sample is a row",
    .default_batch = 4096,
    .params = embedding_params,
    .param_count = EMBEDDING_PARAMS,
    .words = embedding_words,
    .batch_param = "b",
    .infers = true,
    .build = build_embedding,
};

/* Scaled dot-product attention (Vaswani et al., 2017), all heads of all samples as one batch of GEMMs:
 *
 *     softmax(Q K^T / sqrt(d)) V     Q[b heads, seq, d], K and V[b heads, keys, d]
 *
 * 4 b heads seq keys d FLOPs in its two products. */

enum {
    ATTENTION_B,
    ATTENTION_HEADS,
    ATTENTION_SEQ,
    ATTENTION_KEYS,
    ATTENTION_D,
    ATTENTION_DTYPE,
    ATTENTION_PARAMS
};

static const struct ll_model_param attention_params[ATTENTION_PARAMS] = {
    [ATTENTION_B] = {"b", 8, 1, 1 << 30, "samples"},
    [ATTENTION_HEADS] = {"heads", 16, 1, 1 << 20, "heads of attention"},
    [ATTENTION_SEQ] = {"seq", 512, 1, 1 << 24, "positions that ask"},
    [ATTENTION_KEYS] = {"keys", 512, 1, 1 << 24, "positions that are asked"},
    [ATTENTION_D] = {"d", 64, 1, 1 << 20, "features of a head"},
    [ATTENTION_DTYPE] = DTYPE_PARAM,
};

static const char *const *const attention_words[ATTENTION_PARAMS] = {[ATTENTION_DTYPE] = dtype_words};

static struct ll_value *operand(struct single *single, const char *name, uint64_t positions)
{
    static const enum ll_role roles[] = {LL_ROLE_BATCH, LL_ROLE_SEQUENCE, LL_ROLE_HIDDEN};
    uint64_t stacks = ll_mul(single->build->batch, count_of(single, ATTENTION_HEADS));
    return single_operand(single, name, LL_INPUT, 3,
                          (uint64_t[]){stacks, positions, count_of(single, ATTENTION_D)}, roles);
}

static struct ll_value *build_attention(struct ll_nn *nn, const struct ll_build *build)
{
    struct single single = single_begin(nn, build, build->params[ATTENTION_DTYPE]);
    uint64_t keys = count_of(&single, ATTENTION_KEYS);
    struct ll_value *q = operand(&single, "q", count_of(&single, ATTENTION_SEQ));
    struct ll_value *k = operand(&single, "k", keys), *v = operand(&single, "v", keys);
    struct ll_value *scores = ll_nn_mul_scalar(nn, ll_matmul_transposed(nn, q, k), "scale",
                                               1 / sqrt((double)build->params[ATTENTION_D]));
    struct ll_value *shares = ll_nn_do1(nn, LL_OP_SOFTMAX, scores);
    return single_end(&single, ll_nn_do2(nn, LL_OP_BATCH_MATMUL, shares, v));
}

const struct ll_model ll_model_attention = {
    .name = "attention",
    .suite = "micro",
    .doc = "multi-head scaled dot-product attention",
    .default_batch = 8,
    .params = attention_params,
    .param_count = ATTENTION_PARAMS,
    .words = attention_words,
    .batch_param = "b",
    .infers = true,
    .build = build_attention,
};

/* A convolution: b images h x w of c channels, k filters r x s; 2 b oh ow k r s c / groups FLOPs. Of volumes,
 * d images deep, with filters t deep, it is that of od images a volume, each with the channels of all t that
 * a filter reaches. A training step has both its gradients, for the images and for the filters. */

enum {
    CONV_B,
    CONV_C,
    CONV_H,
    CONV_W,
    CONV_K,
    CONV_R,
    CONV_S,
    CONV_STRIDE_H,
    CONV_STRIDE_W,
    CONV_PAD_H,
    CONV_PAD_W,
    CONV_GROUPS,
    CONV_D,
    CONV_T,
    CONV_STRIDE_D,
    CONV_PAD_D,
    CONV_DTYPE,
    CONV_PARAMS
};

static const struct ll_model_param conv_params[CONV_PARAMS] = {
    [CONV_B] = {"b", 16, 1, 1 << 30, "images"},
    [CONV_C] = {"c", 64, 1, 1 << 24, "channels of an image"},
    [CONV_H] = {"h", 56, 1, 1 << 20, "height of an image"},
    [CONV_W] = {"w", 56, 1, 1 << 20, "width of an image"},
    [CONV_K] = {"k", 64, 1, 1 << 24, "filters"},
    [CONV_R] = {"r", 3, 1, 1 << 20, "height of a filter"},
    [CONV_S] = {"s", 3, 1, 1 << 20, "width of a filter"},
    [CONV_STRIDE_H] = {"stride_h", 1, 1, 1 << 20, "rows from one position of a filter to the next"},
    [CONV_STRIDE_W] = {"stride_w", 1, 1, 1 << 20, "columns from one position of a filter to the next"},
    [CONV_PAD_H] = {"pad_h", 1, 0, 1 << 20, "rows of zeros above and below an image"},
    [CONV_PAD_W] = {"pad_w", 1, 0, 1 << 20, "columns of zeros on both sides of an image"},
    [CONV_GROUPS] = {"groups", 1, 1, 1 << 24,
                     "parts that channels and filters fall into; a multiple of each"},
    [CONV_D] = {"d", 1, 1, 1 << 20, "images of a volume"},
    [CONV_T] = {"t", 1, 1, 1 << 10, "depth of a filter"},
    [CONV_STRIDE_D] = {"stride_d", 1, 1, 1 << 20, "images from one position of a filter to the next"},
    [CONV_PAD_D] = {"pad_d", 0, 0, 1 << 20, "images of zeros before and behind a volume"},
    [CONV_DTYPE] = DTYPE_PARAM,
};

static const char *const *const conv_words[CONV_PARAMS] = {[CONV_DTYPE] = dtype_words};

/* Volumes, and the window along their depth; of one image each they are images. */
struct volumes {
    struct ll_depth_window window;
    uint64_t positions;     /* along the depth; 0: they are images */
    struct ll_value *value; /* [batch, d, h, w, c], or [batch, h, w, c] */
};

static struct volumes volumes_of(struct single *single, const uint64_t dim[5], uint64_t size, uint64_t stride,
                                 uint64_t pad)
{
    static const enum ll_role roles[] = {LL_ROLE_BATCH, LL_ROLE_SPATIAL, LL_ROLE_SPATIAL, LL_ROLE_SPATIAL,
                                         LL_ROLE_CHANNEL};
    struct volumes v = {.window = {size, stride, pad, pad}};
    if (dim[1] == 1 && size == 1 && pad == 0) {
        const uint64_t image[] = {dim[0], dim[2], dim[3], dim[4]};
        v.value = single_operand(single, "images", LL_INPUT, 4, image,
                                 (const enum ll_role[]){roles[0], roles[1], roles[2], roles[4]});
        return v;
    }
    v.positions = ll_depth_positions(dim[1], &v.window);
    if (v.positions == 0)
        ll_nn_fail(single->nn, "a window does not fit into the depth of a volume");
    v.value = single_operand(single, "volumes", LL_INPUT, 5, dim, roles);
    return v;
}

static struct ll_value *build_conv(struct ll_nn *nn, const struct ll_build *build)
{
    static const enum ll_role filter_roles[] = {LL_ROLE_SPATIAL, LL_ROLE_SPATIAL, LL_ROLE_CHANNEL,
                                                LL_ROLE_CHANNEL};
    const int64_t *p = build->params;
    struct single single = single_begin(nn, build, p[CONV_DTYPE]);
    if (p[CONV_C] % p[CONV_GROUPS] || p[CONV_K] % p[CONV_GROUPS]) {
        ll_nn_fail(nn, "channels and filters must be multiples of the groups");
        return &nn->nothing;
    }
    const uint64_t volume[] = {build->batch, (uint64_t)p[CONV_D], (uint64_t)p[CONV_H], (uint64_t)p[CONV_W],
                               (uint64_t)p[CONV_C]};
    const uint64_t filter[] = {(uint64_t)p[CONV_R], (uint64_t)p[CONV_S],
                               (uint64_t)(p[CONV_T] * (p[CONV_C] / p[CONV_GROUPS])), (uint64_t)p[CONV_K]};
    struct ll_attr attrs[] = {ll_attr_of_count(LL_ATTR_STRIDE_H, p[CONV_STRIDE_H]),
                              ll_attr_of_count(LL_ATTR_STRIDE_W, p[CONV_STRIDE_W]),
                              ll_attr_of_count(LL_ATTR_PAD_TOP, p[CONV_PAD_H]),
                              ll_attr_of_count(LL_ATTR_PAD_LEFT, p[CONV_PAD_W]),
                              ll_attr_of_count(LL_ATTR_PAD_BOTTOM, p[CONV_PAD_H]),
                              ll_attr_of_count(LL_ATTR_PAD_RIGHT, p[CONV_PAD_W]),
                              ll_attr_of_count(LL_ATTR_GROUPS, p[CONV_GROUPS])};
    const struct volumes v =
        volumes_of(&single, volume, (uint64_t)p[CONV_T], (uint64_t)p[CONV_STRIDE_D], (uint64_t)p[CONV_PAD_D]);
    struct ll_value *inputs[] = {v.value,
                                 single_operand(&single, "filters", LL_WEIGHT, 4, filter, filter_roles)};
    if (v.positions > 0)
        inputs[0] = ll_volume_to_convolve(nn, v.value, &v.window, (uint64_t)p[CONV_GROUPS]);
    struct ll_nn_call call = {
        .kind = LL_OP_CONV2D, .input_count = 2, .inputs = inputs, .attr_count = 7, .attrs = attrs};
    struct ll_value *y = ll_nn_do(nn, &call);
    return single_end(&single, v.positions > 0 ? ll_as_volume(nn, y, v.positions) : y);
}

const struct ll_model ll_model_conv2d = {
    .name = "conv2d",
    .suite = "micro",
    .doc = "one convolution of images, or of volumes",
    .default_batch = 16,
    .params = conv_params,
    .param_count = CONV_PARAMS,
    .words = conv_words,
    .batch_param = "b",
    .infers = true,
    .build = build_conv,
};

/* A pool: of b images h x w of c channels, or volumes d deep, the largest number of each window t x r x s, or
 * their mean, for which zeros lie outside. */

enum {
    POOL_B,
    POOL_C,
    POOL_H,
    POOL_W,
    POOL_R,
    POOL_S,
    POOL_STRIDE_H,
    POOL_STRIDE_W,
    POOL_PAD_H,
    POOL_PAD_W,
    POOL_D,
    POOL_T,
    POOL_STRIDE_D,
    POOL_PAD_D,
    POOL_OF,
    POOL_DTYPE,
    POOL_PARAMS
};

static const struct ll_model_param pool_params[POOL_PARAMS] = {
    [POOL_B] = {"b", 16, 1, 1 << 30, "images or volumes"},
    [POOL_C] = {"c", 64, 1, 1 << 24, "channels"},
    [POOL_H] = {"h", 112, 1, 1 << 20, "height of an image"},
    [POOL_W] = {"w", 112, 1, 1 << 20, "width of an image"},
    [POOL_R] = {"r", 3, 1, 1 << 10, "height of a window"},
    [POOL_S] = {"s", 3, 1, 1 << 10, "width of a window"},
    [POOL_STRIDE_H] = {"stride_h", 2, 1, 1 << 20, "rows from one window to the next"},
    [POOL_STRIDE_W] = {"stride_w", 2, 1, 1 << 20, "columns from one window to the next"},
    [POOL_PAD_H] = {"pad_h", 1, 0, 1 << 9, "rows outside of an image above and below it"},
    [POOL_PAD_W] = {"pad_w", 1, 0, 1 << 9, "columns outside of an image on both sides"},
    [POOL_D] = {"d", 1, 1, 1 << 20, "images of a volume"},
    [POOL_T] = {"t", 1, 1, 1 << 10, "depth of a window"},
    [POOL_STRIDE_D] = {"stride_d", 1, 1, 1 << 20, "images from one window to the next"},
    [POOL_PAD_D] = {"pad_d", 0, 0, 1 << 9, "images outside of a volume before and behind it"},
    [POOL_OF] = {"of", 0, 0, 1, "what a window gives"},
    [POOL_DTYPE] = DTYPE_PARAM,
};

static const char *const pooled[] = {"max", "mean", NULL};
static const char *const *const pool_words[POOL_PARAMS] = {[POOL_OF] = pooled, [POOL_DTYPE] = dtype_words};

static struct ll_value *build_pool(struct ll_nn *nn, const struct ll_build *build)
{
    const int64_t *p = build->params;
    struct single single = single_begin(nn, build, p[POOL_DTYPE]);
    const uint64_t volume[] = {build->batch, (uint64_t)p[POOL_D], (uint64_t)p[POOL_H], (uint64_t)p[POOL_W],
                               (uint64_t)p[POOL_C]};
    if (2 * p[POOL_PAD_H] > p[POOL_R] || 2 * p[POOL_PAD_W] > p[POOL_S] || 2 * p[POOL_PAD_D] > p[POOL_T]) {
        ll_nn_fail(nn, "a window lies outside by more than half of it");
        return &nn->nothing;
    }
    const struct volumes v =
        volumes_of(&single, volume, (uint64_t)p[POOL_T], (uint64_t)p[POOL_STRIDE_D], (uint64_t)p[POOL_PAD_D]);
    const int64_t deep = v.positions > 0 ? p[POOL_T] : 1; /* rows that lie side by side */
    const struct ll_attr attrs[] = {ll_attr_of_count(LL_ATTR_KERNEL_H, deep * p[POOL_R]),
                                    ll_attr_of_count(LL_ATTR_KERNEL_W, p[POOL_S]),
                                    ll_attr_of_count(LL_ATTR_STRIDE_H, deep * p[POOL_STRIDE_H]),
                                    ll_attr_of_count(LL_ATTR_STRIDE_W, p[POOL_STRIDE_W]),
                                    ll_attr_of_count(LL_ATTR_PAD_TOP, deep * p[POOL_PAD_H]),
                                    ll_attr_of_count(LL_ATTR_PAD_LEFT, p[POOL_PAD_W]),
                                    ll_attr_of_count(LL_ATTR_PAD_BOTTOM, deep * p[POOL_PAD_H]),
                                    ll_attr_of_count(LL_ATTR_PAD_RIGHT, p[POOL_PAD_W])};
    struct ll_value *x = v.value;
    if (v.positions > 0)
        x = ll_volume_to_pool(nn, x, &v.window, p[POOL_OF] ? 0 : -FLT_MAX);
    struct ll_value *y =
        ll_nn_do(nn, &(struct ll_nn_call){.kind = p[POOL_OF] ? LL_OP_AVG_POOL : LL_OP_MAX_POOL,
                                          .input_count = 1,
                                          .inputs = &x,
                                          .attr_count = 8,
                                          .attrs = attrs});
    return single_end(&single, v.positions > 0 ? ll_as_volume(nn, y, v.positions) : y);
}

const struct ll_model ll_model_pool = {
    .name = "pool",
    .suite = "micro",
    .doc = "one pool of images, or of volumes",
    .default_batch = 16,
    .params = pool_params,
    .param_count = POOL_PARAMS,
    .words = pool_words,
    .batch_param = "b",
    .counts_every_op = true,
    .infers = true,
    .build = build_pool,
};

/* A recurrent layer, as many features in as out, over a sequence. What the input brings to the gates is one
 * product over all steps; then, step after step, the state's part is added:
 *
 *   rnn    h' = tanh(x W + b + h R)
 *   lstm   i, j, f, o = x W + b + h R     c' = c s(f) + s(i) tanh(j)     h' = tanh(c') s(o)
 *   gru    z, r, n = x W + b              z = s(z + h Rz)    r = s(r + h Rr)    n = tanh(n + r (h Rn))
 *          h' = n + z (h - n)
 *
 * with s the sigmoid (Cho et al., 2014, the reset gate behind the product, as cuDNN has it). FLOPs of the
 * products: 2 steps batch hidden (gates hidden) times two, or once with skip_input, where the input is taken
 * as it comes, the same for each gate. */

enum {
    RECURRENT_HIDDEN,
    RECURRENT_BATCH,
    RECURRENT_STEPS,
    RECURRENT_SKIP_INPUT,
    RECURRENT_DTYPE,
    RECURRENT_PARAMS
};

static const struct ll_model_param recurrent_params[RECURRENT_PARAMS] = {
    [RECURRENT_HIDDEN] = {"hidden", 512, 1, 1 << 24, "features of the input and of the state"},
    [RECURRENT_BATCH] = {"batch", 32, 1, 1 << 30, "sequences"},
    [RECURRENT_STEPS] = {"steps", 25, 1, 1 << 15, "length of a sequence"},
    [RECURRENT_SKIP_INPUT] = {"skip_input", 0, 0, 1, "1: no GEMM of the input; it is added as it comes"},
    [RECURRENT_DTYPE] = DTYPE_PARAM,
};

static const char *const *const recurrent_words[RECURRENT_PARAMS] = {[RECURRENT_DTYPE] = dtype_words};

struct cell {
    struct ll_nn *nn;
    struct ll_value *h, *c, *recurrent;
};

typedef void advance_rule(struct cell *cell, struct ll_value *x);

static struct ll_value *sigmoid(const struct cell *cell, struct ll_value *x)
{
    return ll_nn_do1(cell->nn, LL_OP_SIGMOID, x);
}

static struct ll_value *tanh_of(const struct cell *cell, struct ll_value *x)
{
    return ll_nn_do1(cell->nn, LL_OP_TANH, x);
}

static struct ll_value *from_state(const struct cell *cell)
{
    return ll_nn_do2(cell->nn, LL_OP_MATMUL, cell->h, cell->recurrent);
}

static void advance_rnn(struct cell *cell, struct ll_value *x)
{
    cell->h = tanh_of(cell, ll_add_of(cell->nn, x, from_state(cell)));
}

static void advance_lstm(struct cell *cell, struct ll_value *x)
{
    struct ll_nn *nn = cell->nn;
    struct ll_value *const *gates = ll_nn_split(nn, ll_add_of(nn, x, from_state(cell)), 1, 4);
    struct ll_value *content = tanh_of(cell, gates[1]);
    struct ll_value *new = ll_mul_of(nn, sigmoid(cell, gates[0]), content);
    cell->c = ll_add_of(nn, ll_mul_of(nn, cell->c, sigmoid(cell, gates[2])), new);
    struct ll_value *shown = sigmoid(cell, gates[3]);
    cell->h = ll_mul_of(nn, tanh_of(cell, cell->c), shown);
}

static void advance_gru(struct cell *cell, struct ll_value *x)
{
    struct ll_nn *nn = cell->nn;
    struct ll_value *const *in = ll_nn_split(nn, x, 1, 3);
    struct ll_value *const *of = ll_nn_split(nn, from_state(cell), 1, 3);
    struct ll_value *z = sigmoid(cell, ll_add_of(nn, in[0], of[0]));
    struct ll_value *r = sigmoid(cell, ll_add_of(nn, in[1], of[1]));
    struct ll_value *n = tanh_of(cell, ll_add_of(nn, in[2], ll_mul_of(nn, r, of[2])));
    cell->h = ll_add_of(nn, n, ll_mul_of(nn, z, ll_sub_of(nn, cell->h, n)));
}

/* What the input brings to the gates of each step: [steps, batch, gates hidden]. */
static struct ll_value *from_input(struct single *single, uint64_t gates)
{
    static const enum ll_role roles[] = {LL_ROLE_BATCH, LL_ROLE_HIDDEN};
    struct ll_nn *nn = single->nn;
    uint64_t hidden = count_of(single, RECURRENT_HIDDEN), steps = count_of(single, RECURRENT_STEPS);
    uint64_t batch = single->build->batch, all = ll_mul(gates, hidden);
    bool skip = single->build->params[RECURRENT_SKIP_INPUT] != 0;
    struct ll_value *x =
        single_operand(single, "input", LL_INPUT, 2, (uint64_t[]){ll_mul(steps, batch), hidden}, roles);
    struct ll_value *parts[] = {x, x, x, x};
    if (skip)
        x = gates == 1 ? x : ll_nn_concat(nn, parts, (uint32_t)gates, 1);
    else
        x = ll_nn_do2(nn, LL_OP_MATMUL, x,
                      single_operand(single, "weights", LL_WEIGHT, 2, (uint64_t[]){hidden, all}, NULL));
    struct ll_value *biases = single_operand(single, "biases", LL_WEIGHT, 1, &all, NULL);
    struct ll_shape sequence = ll_nn_shape(nn, 3, (uint64_t[]){steps, batch, all},
                                           (enum ll_role[]){LL_ROLE_SEQUENCE, LL_ROLE_BATCH, LL_ROLE_HIDDEN});
    return ll_nn_reshape(nn, ll_nn_do2(nn, LL_OP_BIAS_ADD, x, biases), &sequence);
}

/* The input's share of the gates is one GEMM over all steps; the loop adds the state's share step by step,
 * as cuDNN's kernels do. */
static struct ll_value *build_recurrent(struct ll_nn *nn, const struct ll_build *build, uint64_t gates,
                                        advance_rule *advance)
{
    struct single single = single_begin(nn, build, build->params[RECURRENT_DTYPE]);
    uint64_t hidden = (uint64_t)build->params[RECURRENT_HIDDEN],
             steps = (uint64_t)build->params[RECURRENT_STEPS];
    struct ll_value **x = ll_nn_unstack(nn, from_input(&single, gates));
    struct ll_shape state = ll_nn_shape(nn, 2, (uint64_t[]){build->batch, hidden},
                                        (enum ll_role[]){LL_ROLE_BATCH, LL_ROLE_HIDDEN});
    struct cell cell = {.nn = nn, .h = ll_zeros(nn, &state), .c = ll_zeros(nn, &state)};
    cell.recurrent =
        single_operand(&single, "recurrent", LL_WEIGHT, 2, (uint64_t[]){hidden, ll_mul(gates, hidden)}, NULL);
    struct ll_value **states = ll_alloc(&nn->arena, steps, sizeof(struct ll_value *));
    if (!x || !states) {
        ll_nn_fail(nn, "memory ran out");
        return &nn->nothing;
    }
    for (uint64_t i = 0; i < steps; i++) {
        advance(&cell, x[i]);
        states[i] = cell.h;
    }
    return single_end(&single, ll_nn_stack(nn, states, (uint32_t)steps));
}

static struct ll_value *build_rnn(struct ll_nn *nn, const struct ll_build *b)
{
    return build_recurrent(nn, b, 1, advance_rnn);
}

static struct ll_value *build_lstm(struct ll_nn *nn, const struct ll_build *b)
{
    return build_recurrent(nn, b, 4, advance_lstm);
}

static struct ll_value *build_gru(struct ll_nn *nn, const struct ll_build *b)
{
    return build_recurrent(nn, b, 3, advance_gru);
}

const struct ll_model ll_model_rnn = {
    .name = "rnn",
    .suite = "micro",
    .doc = "one plain recurrent layer",
    .default_batch = 32,
    .params = recurrent_params,
    .param_count = RECURRENT_PARAMS,
    .words = recurrent_words,
    .batch_param = "batch",
    .infers = true,
    .build = build_rnn,
};

const struct ll_model ll_model_lstm = {
    .name = "lstm",
    .suite = "micro",
    .doc = "one LSTM layer",
    .default_batch = 32,
    .params = recurrent_params,
    .param_count = RECURRENT_PARAMS,
    .words = recurrent_words,
    .batch_param = "batch",
    .infers = true,
    .build = build_lstm,
};

const struct ll_model ll_model_gru = {
    .name = "gru",
    .suite = "micro",
    .doc = "one GRU layer",
    .default_batch = 32,
    .params = recurrent_params,
    .param_count = RECURRENT_PARAMS,
    .words = recurrent_words,
    .batch_param = "batch",
    .infers = true,
    .build = build_gru,
};

/* What devices exchange all together: the sum over devices of as many bytes as each of them holds, which all
 * get, or another such op. One process cannot do it: it is recorded as one device sees it. */

enum {
    COLLECTIVE_BYTES,
    COLLECTIVE_DEVICES,
    COLLECTIVE_NODES,
    COLLECTIVE_KIND,
    COLLECTIVE_DTYPE,
    COLLECTIVE_PARAMS
};

/* The words of `kind`: the ops they stand for, and whether a device has only its part of the bytes before and
 * after. */
#define LL_EXCHANGE_LIST(X)                                                                                  \
    X(ALL_REDUCE, "all_reduce", false, false)                                                                \
    X(REDUCE_SCATTER, "reduce_scatter", false, true)                                                         \
    X(ALL_GATHER, "all_gather", true, false)                                                                 \
    X(ALL_TO_ALL, "all_to_all", false, false)                                                                \
    X(BROADCAST, "broadcast", false, false)                                                                  \
    X(REDUCE, "reduce", false, false)

#define X(kind, name, part_before, part_after) name,
static const char *const collective_names[] = {LL_EXCHANGE_LIST(X) NULL};
#undef X
static const struct {
    enum ll_op_kind kind;
    bool part_before, part_after;
} collective_ops[] = {
#define X(kind, name, part_before, part_after) {LL_OP_##kind, part_before, part_after},
    LL_EXCHANGE_LIST(X)
#undef X
};
enum { ALLREDUCE_OPS = sizeof collective_ops / sizeof *collective_ops };

static const struct ll_model_param collective_params[COLLECTIVE_PARAMS] = {
    [COLLECTIVE_BYTES] = {"bytes", 1 << 28, 8, INT64_C(1) << 40,
                          "on each device, where it has most of them, rounded down to whole elements"},
    [COLLECTIVE_DEVICES] = {"devices", 8, 1, 1 << 20, "that take part"},
    [COLLECTIVE_NODES] = {"nodes", 1, 1, 1 << 20, "that the devices are spread over, at most as many"},
    [COLLECTIVE_KIND] = {"kind", 0, 0, ALLREDUCE_OPS - 1, "what is exchanged"},
    [COLLECTIVE_DTYPE] = DTYPE_PARAM,
};

static const char *const *const collective_words[COLLECTIVE_PARAMS] = {
    [COLLECTIVE_KIND] = collective_names, [COLLECTIVE_DTYPE] = dtype_words};

/* A device's part of them, at least one. */
static uint64_t part_of(uint64_t elements, uint64_t devices)
{
    assert(devices > 0);
    return elements < devices ? 1 : elements / devices;
}

/* The op as one device sees it: an all-gather has only this device's part before, a reduce-scatter only its
 * part after, all others the whole on both sides. */
static struct ll_value *build_collective(struct ll_nn *nn, const struct ll_build *build)
{
    if (build->params[COLLECTIVE_NODES] > build->params[COLLECTIVE_DEVICES])
        ll_nn_fail(nn,
                   "more nodes than devices are spread over; expected -p nodes=N of at most -p devices=N");
    struct single single = single_begin(nn, build, build->params[COLLECTIVE_DTYPE]);
    uint64_t all = ll_dtype_count(nn->real, (uint64_t)build->params[COLLECTIVE_BYTES]);
    uint64_t part = part_of(all, (uint64_t)build->params[COLLECTIVE_DEVICES]);
    int64_t kind = build->params[COLLECTIVE_KIND];
    uint64_t before = collective_ops[kind].part_before ? part : all,
             after = collective_ops[kind].part_after ? part : all;
    struct ll_shape result = ll_nn_shape(nn, 1, &after, NULL);
    struct ll_attr attrs[] = {ll_attr_of_count(LL_ATTR_DEVICES, build->params[COLLECTIVE_DEVICES]),
                              ll_attr_of_count(LL_ATTR_NODES, build->params[COLLECTIVE_NODES])};
    struct ll_value *x = single_operand(&single, "x", LL_INPUT, 1, &before, NULL);
    nn->phase = LL_PHASE_COMM;
    struct ll_nn_call call = {.kind = collective_ops[kind].kind,
                              .input_count = 1,
                              .inputs = &x,
                              .attr_count = 2,
                              .attrs = attrs,
                              .given_count = 1,
                              .given = &result};
    return single_end(&single, ll_nn_do(nn, &call));
}

const struct ll_model ll_model_allreduce = {
    .name = "allreduce",
    .suite = "micro",
    .doc = "one collective, an all-reduce or another; recorded with --dry-run alone",
    .params = collective_params,
    .param_count = COLLECTIVE_PARAMS,
    .words = collective_words,
    .infers = true,
    .build = build_collective,
};
