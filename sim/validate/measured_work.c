/* SPDX-License-Identifier: Apache-2.0 */
/* From a measured row to work: one function a rule word of measured_ops.def. Counts are algorithmic, as in
 * tracer/op_table.def: what a library does beyond them is the machine model's business. */
#include "sim/validate/measured.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* A row being taken apart. */
struct reading {
    const struct ll_measured *row;
    enum ll_dtype arithmetic;
    uint64_t element_bytes;
    uint64_t flops; /* an element */
    const char *trouble;
    struct ll_measured_works *out;
};

static const char *find_dim(const struct reading *r, const char *key)
{
    size_t length = strlen(key);
    for (const char *at = r->row->dims; at; at = strchr(at, ';')) {
        at += *at == ';';
        if (strncmp(at, key, length) == 0 && at[length] == '=')
            return at + length + 1;
    }
    return NULL;
}

static bool has_dim(const struct reading *r, const char *key)
{
    return find_dim(r, key) != NULL;
}

/* A dimension of at least `least`; below 2^40, so that products of few fit. */
static uint64_t dim_from(struct reading *r, const char *key, uint64_t least)
{
    const uint64_t most = UINT64_C(1) << 40;
    const char *text = find_dim(r, key);
    char *end = NULL;
    uint64_t value = text && *text >= '0' && *text <= '9' ? strtoull(text, &end, 10) : 0;
    if (!end || (*end && *end != ';') || value < least || value > most) {
        r->trouble = "a dimension is missing or impossible";
        return 1;
    }
    return value;
}

static uint64_t dim(struct reading *r, const char *key)
{
    return dim_from(r, key, 1);
}

static uint64_t dim_or(struct reading *r, const char *key, uint64_t otherwise)
{
    return has_dim(r, key) ? dim_from(r, key, 0) : otherwise;
}

static uint64_t bytes(const struct reading *r, uint64_t elements)
{
    return ll_mul(elements, r->element_bytes);
}

static struct ll_work *add_work(struct reading *r, enum ll_work_kind kind, enum ll_op_kind op)
{
    assert(r->out->count < LL_MOST_WORKS);
    r->out->kinds[r->out->count] = op;
    struct ll_work *work = &r->out->works[r->out->count++];
    *work = (struct ll_work){.kind = kind, .dtype = r->arithmetic};
    return work;
}

static void add_product(struct reading *r, struct ll_gemm gemm)
{
    struct ll_work *work = add_work(r, LL_WORK_GEMM, gemm.batch > 1 ? LL_OP_BATCH_MATMUL : LL_OP_MATMUL);
    work->gemm = gemm;
    work->flops = ll_mul(ll_mul(2 * gemm.batch, gemm.m), ll_mul(gemm.n, gemm.k));
    work->a_bytes = bytes(r, ll_mul(gemm.batch, ll_mul(gemm.m, gemm.k)));
    work->b_bytes = bytes(r, ll_mul(gemm.batch, ll_mul(gemm.k, gemm.n)));
    work->c_bytes = bytes(r, ll_mul(gemm.batch, ll_mul(gemm.m, gemm.n)));
}

static void works_GEMM(struct reading *r)
{
    add_product(r, (struct ll_gemm){1, dim(r, "m"), dim(r, "n"), dim(r, "k")});
}

static void works_BMM(struct reading *r)
{
    add_product(r, (struct ll_gemm){dim(r, "b"), dim(r, "m"), dim(r, "n"), dim(r, "k")});
}

/* Of y[m,n] = x[m,k] w[k,n]: dx = dy w^T, dw = x^T dy. */
static void works_DENSE_GRADS(struct reading *r)
{
    uint64_t m = dim(r, "m"), n = dim(r, "n"), k = dim(r, "k");
    add_product(r, (struct ll_gemm){1, m, k, n});
    add_product(r, (struct ll_gemm){1, k, n, m});
}

static uint64_t conv_out(struct reading *r, uint64_t in, uint64_t kernel, uint64_t stride, uint64_t pad)
{
    if (in + 2 * pad < kernel || stride == 0) {
        r->trouble = "the filter is larger than the padded image";
        return 1;
    }
    return (in + 2 * pad - kernel) / stride + 1;
}

static void add_conv(struct reading *r, enum ll_conv_pass pass, enum ll_op_kind op)
{
    struct ll_conv c = {.batch = dim(r, "b"),
                        .in_h = dim(r, "h"),
                        .in_w = dim(r, "w"),
                        .in_c = dim(r, "c"),
                        .out_c = dim(r, "k"),
                        .kernel_h = dim(r, "r"),
                        .kernel_w = dim(r, "s"),
                        .stride_h = dim_or(r, "stride_h", 1),
                        .stride_w = dim_or(r, "stride_w", 1),
                        .groups = dim_or(r, "groups", 1),
                        .pass = pass};
    c.out_h = conv_out(r, c.in_h, c.kernel_h, c.stride_h, dim_or(r, "pad_h", 0));
    c.out_w = conv_out(r, c.in_w, c.kernel_w, c.stride_w, dim_or(r, "pad_w", 0));
    if (c.groups == 0 || c.in_c % c.groups || c.out_c % c.groups) {
        r->trouble = "the channels are no multiple of the groups";
        return;
    }
    struct ll_work *work = add_work(r, LL_WORK_CONV, op);
    uint64_t x = bytes(r, ll_mul(ll_mul(c.batch, c.in_c), ll_mul(c.in_h, c.in_w)));
    uint64_t w = bytes(r, ll_mul(ll_mul(c.kernel_h, c.kernel_w), ll_mul(c.in_c / c.groups, c.out_c)));
    uint64_t y = bytes(r, ll_mul(ll_mul(c.batch, c.out_c), ll_mul(c.out_h, c.out_w)));
    const struct ll_gemm gemm = ll_conv_as_gemm(&c);
    work->conv = c;
    work->flops = ll_mul(ll_mul(2 * gemm.batch, gemm.m), ll_mul(gemm.n, gemm.k));
    work->a_bytes = pass == LL_CONV_DATA ? y : x;
    work->b_bytes = pass == LL_CONV_FILTER ? y : w;
    work->c_bytes = pass == LL_CONV_FORWARD ? y : pass == LL_CONV_DATA ? x : w;
}

static void works_CONV_FORWARD(struct reading *r)
{
    add_conv(r, LL_CONV_FORWARD, LL_OP_CONV2D);
}

static void works_CONV_DATA(struct reading *r)
{
    add_conv(r, LL_CONV_DATA, LL_OP_CONV2D_DATA);
}

static void works_CONV_FILTER(struct reading *r)
{
    add_conv(r, LL_CONV_FILTER, LL_OP_CONV2D_FILTER);
}

static void works_CONV_GRADS(struct reading *r)
{
    works_CONV_DATA(r);
    works_CONV_FILTER(r);
}

static uint64_t gates(struct reading *r)
{
    const char *type = find_dim(r, "type");
    static const struct {
        const char *name;
        uint64_t gates;
    } cells[] = {{"vanilla", 1}, {"lstm", 4}, {"gru", 3}};
    for (size_t i = 0; type && i < sizeof cells / sizeof *cells; i++)
        if (strncmp(type, cells[i].name, strlen(cells[i].name)) == 0)
            return cells[i].gates;
    r->trouble = "the recurrent cell is neither vanilla, lstm nor gru";
    return 1;
}

/* The product of every step with the recurrent weights, and beside it, where there is an input projection,
 * the one product of all steps with the input's weights. */
static void works_RECURRENT(struct reading *r)
{
    uint64_t hidden = dim(r, "hidden"), batch = dim(r, "batch"), steps = dim(r, "steps"),
             all = gates(r) * hidden;
    struct ll_work *work = add_work(r, LL_WORK_SEQUENCE, LL_OP_MATMUL);
    work->sequence.steps = steps;
    work->sequence.step = (struct ll_gemm){1, batch, all, hidden};
    work->flops = ll_mul(ll_mul(2 * steps, batch), ll_mul(all, hidden));
    work->a_bytes = bytes(r, ll_mul(steps, ll_mul(batch, hidden)));
    work->b_bytes = bytes(r, ll_mul(all, hidden));
    work->c_bytes = bytes(r, ll_mul(steps, ll_mul(batch, all)));
    if (!dim_or(r, "skip_input", 0))
        add_product(r, (struct ll_gemm){1, ll_mul(steps, batch), all, hidden});
}

/* One product over all steps. */
static void works_RNN_WEIGHTS(struct reading *r)
{
    uint64_t hidden = dim(r, "hidden"), batch = dim(r, "batch"), steps = dim(r, "steps");
    uint64_t inputs = dim_or(r, "skip_input", 0) ? 1 : 2;
    add_product(r, (struct ll_gemm){1, inputs * hidden, gates(r) * hidden, ll_mul(steps, batch)});
}

static uint64_t elements(struct reading *r)
{
    return has_dim(r, "n") ? dim(r, "n") : ll_mul(dim(r, "b"), dim(r, "h"));
}

static void add_vector(struct reading *r, uint64_t count, uint64_t inputs, enum ll_op_kind op)
{
    struct ll_work *work = add_work(r, LL_WORK_VECTOR, op);
    work->vector.elements = count;
    work->flops = ll_mul(count, r->flops);
    work->a_bytes = bytes(r, ll_mul(count, inputs));
    work->c_bytes = bytes(r, count);
}

static void works_ELEMENTWISE(struct reading *r)
{
    add_vector(r, elements(r), dim_or(r, "nin", 1), LL_OP_ADD);
}

/* Two tensors come in where the row does not say. */
static void works_PAIR(struct reading *r)
{
    add_vector(r, elements(r), dim_or(r, "nin", 2), LL_OP_ADD);
}

/* dy and the result of the forward op come in. */
static void works_GRADIENT(struct reading *r)
{
    add_vector(r, elements(r), 2, LL_OP_RELU_GRAD);
}

/* Two rows of h come in, the gate and what it lets through; one goes out. */
static void works_GATED(struct reading *r)
{
    add_vector(r, elements(r), 2, LL_OP_MUL);
}

static void add_rows(struct reading *r, enum ll_op_kind op)
{
    add_vector(r, elements(r), 1, op);
    r->out->works[r->out->count - 1].vector.row = dim(r, "h");
}

static void works_SOFTMAX(struct reading *r)
{
    add_rows(r, LL_OP_SOFTMAX);
}

static void works_NORM(struct reading *r)
{
    add_rows(r, LL_OP_LAYER_NORM);
}

static void add_pool(struct reading *r, bool gradient)
{
    uint64_t planes = ll_mul(dim(r, "b"), dim(r, "c"));
    uint64_t in = ll_mul(planes, dim(r, "h") * dim(r, "w")),
             out = ll_mul(planes, dim(r, "oh") * dim(r, "ow"));
    struct ll_work *work = add_work(r, LL_WORK_VECTOR, gradient ? LL_OP_MAX_POOL_GRAD : LL_OP_MAX_POOL);
    work->vector.elements = gradient ? in : out;
    work->flops = ll_mul(out, dim(r, "r") * dim(r, "s"));
    work->a_bytes = bytes(r, gradient ? ll_add(in, 2 * out) : in);
    work->c_bytes = bytes(r, gradient ? in : out);
}

static void works_POOL(struct reading *r)
{
    add_pool(r, false);
}

static void works_POOL_GRAD(struct reading *r)
{
    add_pool(r, true);
}

static const struct measured_op {
    const char *name, *family;
    void (*works)(struct reading *r);
    uint64_t flops;
} ops[] = {
#define LL_MEASURED(name, family, rule, flops) {name, family, works_##rule, flops},
#include "sim/validate/measured_ops.def"
#undef LL_MEASURED
};

static const struct measured_op *find_op(const char *name)
{
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) {
        size_t length = strlen(ops[i].name);
        bool prefix = ops[i].name[length - 1] == '_';
        if (prefix ? strncmp(name, ops[i].name, length) == 0 : strcmp(name, ops[i].name) == 0)
            return &ops[i];
    }
    return NULL;
}

/* What data calls an element type: what computes, and what an element takes in memory. */
static const struct {
    const char *name;
    enum ll_dtype arithmetic;
    uint64_t element_bytes;
} dtypes[] = {
    {"fp32", LL_F32, 4},    {"tf32", LL_TF32, 4},       {"fp16", LL_F16, 2},
    {"fp16_tc", LL_F16, 2}, {"fp16_math32", LL_F32, 2}, {"bf16", LL_BF16, 2},
    {"fp8", LL_F8, 1},      {"int8", LL_INT8, 1},       {"fp64", LL_F64, 8},
};

static bool find_dtype(struct reading *r)
{
    for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes; i++)
        if (strcmp(r->row->dtype, dtypes[i].name) == 0) {
            r->arithmetic = dtypes[i].arithmetic;
            r->element_bytes = dtypes[i].element_bytes;
            return true;
        }
    return false;
}

const char *ll_measured_works(const struct ll_measured *row, struct ll_measured_works *works)
{
    struct reading r = {.row = row, .out = works};
    const struct measured_op *op = find_op(row->op);
    *works = (struct ll_measured_works){0};
    if (!op)
        return "no rule turns this op into work";
    if (!find_dtype(&r))
        return "the element type is not known";
    works->family = op->family;
    r.flops = op->flops;
    op->works(&r);
    for (size_t i = 0; !r.trouble && i < works->count; i++)
        if (!ll_fits(works->works[i].flops) || !ll_fits(works->works[i].a_bytes) ||
            !ll_fits(works->works[i].b_bytes) || !ll_fits(works->works[i].c_bytes))
            r.trouble = "a size does not fit in 64 bits";
    return r.trouble;
}
