/* SPDX-License-Identifier: Apache-2.0 */
/* A trace as rows of measured data: source,hardware,op,dtype,dims,time_s,notes, an op a row, its scope as
 * note. Ops are called what such data calls them, where it does (so `leadline validate` and `leadline
 * import csv` read them), and by their kind elsewhere, with their elements as n and all that the op table
 * needs to know of them, which `leadline import csv` reads: in=3x5:f32+5x7:f32;out=3x7:f32;axis=1. What
 * takes no time has no row. */
#include "tracer/base/file.h"
#include "tracer/base/json.h"
#include "tracer/convert/convert.h"
#include "tracer/convert/measured.h"
#include "tracer/ir/ops.h"

#include <inttypes.h>

static const char *dtype_name(enum ll_dtype dtype)
{
    static const struct {
        enum ll_dtype dtype;
        const char *name;
    } names[] = {{LL_F32, "fp32"}, {LL_F16, "fp16"}, {LL_F64, "fp64"}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (names[i].dtype == dtype)
            return names[i].name;
    return ll_dtype_name(dtype);
}

/* Rows of single products tell of matrices stored column by column: C^T = B^T A^T. */
static void add_product(const struct ll_op_view *op, const struct ll_work *work, struct ll_str *dims)
{
    const struct ll_gemm *g = &work->gemm;
    const char *a = ll_attr_count(op, LL_ATTR_TRANSPOSE_A, 0) ? "T" : "N",
               *b = ll_attr_count(op, LL_ATTR_TRANSPOSE_B, 0) ? "T" : "N";
    if (op->kind == LL_OP_BATCH_MATMUL)
        ll_str_addf(dims, "b=%" PRIu64 ";m=%" PRIu64 ";n=%" PRIu64 ";k=%" PRIu64 ";ta=%s;tb=%s", g->batch,
                    g->m, g->n, g->k, a, b);
    else
        ll_str_addf(dims, "m=%" PRIu64 ";n=%" PRIu64 ";k=%" PRIu64 ";ta=%s;tb=%s", g->n, g->m, g->k, b, a);
}

/* Data knows the same padding on both sides alone: where there is another, the image is as large as it takes.
 */
static uint64_t side(uint64_t in, uint64_t out, uint64_t kernel, uint64_t stride, uint64_t pad)
{
    uint64_t padded = in + 2 * pad;
    bool right = padded >= kernel && (padded - kernel) / stride + 1 == out;
    return right ? in : ll_sub(ll_add(ll_mul(out - 1, stride), kernel), 2 * pad);
}

static void add_conv(const struct ll_op_view *op, const struct ll_work *work, struct ll_str *dims)
{
    const struct ll_conv *c = &work->conv;
    uint64_t pad_h = (uint64_t)ll_attr_count(op, LL_ATTR_PAD_TOP, 0),
             pad_w = (uint64_t)ll_attr_count(op, LL_ATTR_PAD_LEFT, 0);
    ll_str_addf(dims, "b=%" PRIu64 ";c=%" PRIu64 ";h=%" PRIu64 ";w=%" PRIu64, c->batch, c->in_c,
                side(c->in_h, c->out_h, c->kernel_h, c->stride_h, pad_h),
                side(c->in_w, c->out_w, c->kernel_w, c->stride_w, pad_w));
    ll_str_addf(dims, ";k=%" PRIu64 ";r=%" PRIu64 ";s=%" PRIu64 ";stride_h=%" PRIu64 ";stride_w=%" PRIu64,
                c->out_c, c->kernel_h, c->kernel_w, c->stride_h, c->stride_w);
    ll_str_addf(dims, ";pad_h=%" PRIu64 ";pad_w=%" PRIu64, pad_h, pad_w);
    if (c->groups > 1)
        ll_str_addf(dims, ";groups=%" PRIu64, c->groups);
}

/* Rows of the last dimension. */
static void add_rows(const struct ll_op_view *op, const struct ll_work *work, struct ll_str *dims)
{
    const struct ll_shape *x = &op->in[0];
    uint64_t columns = x->rank ? x->dim[x->rank - 1u] : 1;
    (void)work;
    ll_str_addf(dims, "b=%" PRIu64 ";h=%" PRIu64, columns ? ll_elements(x) / columns : 0, columns);
}

/* As many as its largest tensor has. */
static void add_elements(const struct ll_op_view *op, const struct ll_work *work, struct ll_str *dims)
{
    uint64_t count = 0;
    (void)work;
    for (uint32_t i = 0; i < op->input_count; i++)
        count = ll_max(count, ll_elements(&op->in[i]));
    for (uint32_t i = 0; i < op->output_count; i++)
        count = ll_max(count, ll_elements(&op->out[i]));
    ll_str_addf(dims, "n=%" PRIu64 ";nin=%" PRIu32, count, op->input_count);
}

static void add_shapes(const char *key, const struct ll_shape *shapes, uint32_t count, struct ll_str *dims)
{
    if (count > 0)
        ll_str_addf(dims, "%s=", key);
    ll_measured_add_shapes(dims, shapes, count);
}

/* All that the op table needs to know of it. */
static void add_whole(const struct ll_op_view *op, struct ll_str *dims)
{
    add_elements(op, NULL, dims);
    add_shapes(";in", op->in, op->input_count, dims);
    add_shapes(";out", op->out, op->output_count, dims);
    for (uint32_t i = 0; i < op->attr_count; i++) {
        enum ll_attr_key key = (enum ll_attr_key)op->attrs[i].key;
        char real[32];
        ll_number_text(op->attrs[i].real, real);
        if (ll_attr_is_real(key))
            ll_str_addf(dims, ";%s=%s", ll_attr_name(key), real);
        else
            ll_str_addf(dims, ";%s=%" PRId64, ll_attr_name(key), op->attrs[i].count);
    }
}

/* What data calls a kind, and how its dims are told. */
static const struct name {
    enum ll_op_kind kind;
    const char *name;
    void (*dims)(const struct ll_op_view *op, const struct ll_work *work, struct ll_str *dims);
} names[] = {
    {LL_OP_MATMUL, "gemm", add_product},
    {LL_OP_BATCH_MATMUL, "bmm", add_product},
    {LL_OP_CONV2D, "conv2d_fwd", add_conv},
    {LL_OP_CONV2D_DATA, "conv2d_bwd_data", add_conv},
    {LL_OP_CONV2D_FILTER, "conv2d_bwd_filter", add_conv},
    {LL_OP_SOFTMAX, "softmax", add_rows},
    {LL_OP_LAYER_NORM, "layernorm", add_rows},
    {LL_OP_RMS_NORM, "rmsnorm", add_rows},
    {LL_OP_RELU, "relu", add_elements},
    {LL_OP_RELU_GRAD, "relu_bwd", add_elements},
    {LL_OP_TANH, "tanh", add_elements},
    {LL_OP_SIGMOID, "sigmoid", add_elements},
    {LL_OP_GELU, "gelu", add_elements},
    {LL_OP_SILU_MUL, "silu_mul", add_elements},
    {LL_OP_ADD, "ew_add", add_elements},
    {LL_OP_SUB, "ew_sub", add_elements},
    {LL_OP_MUL, "ew_mul", add_elements},
    {LL_OP_DIV, "ew_div", add_elements},
};

static void add_op(struct ll_str *out, const struct ll_op_view *op)
{
    const struct name *name = NULL;
    struct ll_work work;
    const struct ll_measured typed = {.dtype =
                                          op->input_count ? dtype_name((enum ll_dtype)op->in[0].dtype) : ""};
    enum ll_dtype arithmetic;
    uint64_t element_bytes;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (names[i].kind == op->kind && ll_measured_dtype(&typed, &arithmetic, &element_bytes))
            name = &names[i];
    if (!name || !ll_op_lower(op, &work)) {
        ll_csv_put(out, op->kind < LL_OP_COUNT ? ll_op_name(op->kind) : "unknown");
        ll_str_addf(out, ",%s,", op->output_count ? dtype_name((enum ll_dtype)op->out[0].dtype) : "fp32");
        add_whole(op, out);
        return;
    }
    ll_str_addf(out, "%s,%s,", name->name, typed.dtype);
    name->dims(op, &work, out);
}

bool ll_export_CSV(struct ll_export *export)
{
    const struct ll_trace *trace = export->trace;
    const struct ll_op_schedule *schedule = ll_export_ready(export) ? ll_export_schedule(export) : NULL;
    const char *model = ll_trace_fact(trace, "model"), *cpu = ll_trace_fact(trace, "host.cpu");
    bool goes_on = schedule != NULL;
    ll_str_add(&export->out, "source,hardware,op,dtype,dims,time_s,notes\n");
    for (uint32_t i = 0; goes_on && i < schedule->op_count; i++) {
        const struct ll_form *form = &trace->forms[trace->ops[schedule->first_op + i].form];
        char time[32];
        if (!(schedule->ops[i].time_s > 0))
            continue;
        ll_number_text(schedule->ops[i].time_s, time);
        ll_csv_put(&export->out, model ? model : "leadline");
        ll_str_add(&export->out, ",");
        ll_csv_put(&export->out, schedule->name ? schedule->name : cpu ? cpu : "recorded");
        ll_str_add(&export->out, ",");
        add_op(&export->out, &form->view);
        ll_str_addf(&export->out, ",%s,", time);
        ll_csv_put(&export->out, trace->strings[form->scope]);
        ll_str_add(&export->out, "\n");
        goes_on = ll_export_spill(export);
    }
    return goes_on;
}
