/* SPDX-License-Identifier: Apache-2.0 */
/* Measured times in CSV files: reading rows (csv.h), and traces from rows and rows from traces. */
#include "tracer/convert/csv/csv.h"

#include <assert.h>
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tracer/base/file.h"
#include "tracer/base/json.h"
#include "tracer/base/map.h"
#include "tracer/base/str.h"
#include "tracer/convert/convert.h"
#include "tracer/ir/ops.h"
#include "tracer/transform/dtype.h"

enum { SOURCE, HARDWARE, OP, DTYPE, DIMS, TIME, NOTES, COLUMNS };
static const char *const header[COLUMNS] = {"source", "hardware", "op", "dtype", "dims", "time_s", "notes"};

static bool is_header(struct ll_csv *csv)
{
    size_t count = 0;
    const struct ll_csv_field *fields = ll_csv_next(csv, &count);
    bool good = fields && count == COLUMNS;
    for (size_t i = 0; good && i < COLUMNS; i++)
        good = strcmp(fields[i].text, header[i]) == 0;
    if (good || csv->failed)
        return good;
    csv->line = 1;
    return ll_complain(csv->diags, ll_csv_place(csv, NULL),
                       "expected the header source,hardware,op,dtype,dims,time_s,notes");
}

/* How long the key of a dimension is, with its `=`; 0 where none stands. */
static size_t key_length(const char *dim)
{
    size_t length = strcspn(dim, "=;");
    return dim[length] == '=' ? length + 1 : 0;
}

/* A dimension that stands a second time, NULL for none. */
static const char *find_again(const char *dims)
{
    for (const char *at = dims; at; at = strchr(at, ';')) {
        at += *at == ';';
        size_t length = key_length(at);
        for (const char *other = strchr(at, ';'); length && other; other = strchr(other, ';'))
            if (strncmp(++other, at, length) == 0)
                return other;
    }
    return NULL;
}

/* A time above zero; 0 where the field says that none was measured, as data of others do in one way or
 * another; below that it is neither, as is one so small that nothing can be compared with it. */
static double time_of(const char *text)
{
    char *end;
    double time_s = ll_strtod(text, &end);
    if (*text == '\0')
        return 0;
    if (end == text || *end || time_s < 0)
        return -1;
    if (time_s > 0 && time_s < DBL_MIN)
        return -1;
    return isfinite(time_s) ? time_s : 0;
}

static bool take_row(struct ll_csv *csv, const struct ll_csv_field *fields, size_t count,
                     struct ll_measured *row)
{
    if (count != COLUMNS)
        return ll_complain(csv->diags, ll_csv_place(csv, NULL), "expected %d fields, not %zu", COLUMNS,
                           count);
    double time_s = time_of(fields[TIME].text);
    if (time_s < 0)
        return ll_complain(csv->diags, ll_csv_place(csv, &fields[TIME]),
                           "`%.40s` is no time in seconds: expected a number above zero", fields[TIME].text);
    const char *again = find_again(fields[DIMS].text);
    if (again)
        return ll_complain(csv->diags, ll_csv_place(csv, &fields[DIMS]), "`%.*s` stands twice in `%.60s`",
                           (int)key_length(again) - 1, again, fields[DIMS].text);
    *row =
        (struct ll_measured){fields[SOURCE].text, fields[HARDWARE].text, fields[OP].text, fields[DTYPE].text,
                             fields[DIMS].text,   fields[NOTES].text,    time_s,          csv->line};
    return true;
}

/* Goes on after a wrong row, so that all mistakes of a file are reported at once; the rows are moved into
 * the arena when the whole file is right. */
const struct ll_measured *ll_measured_read(const char *text, size_t length, const char *file,
                                           struct ll_arena *arena, struct ll_diags *diags, size_t *count)
{
    struct ll_csv csv = {.file = file, .at = text, .end = text + length, .arena = arena, .diags = diags};
    const struct ll_csv_field *fields;
    struct ll_measured *rows = NULL, *copy = NULL;
    uint64_t capacity = 0, row_count = 0;
    size_t field_count;
    bool wrong = false; /* some row is; the others are looked at all the same */
    bool good = is_header(&csv), room = true;
    while (good && room && (fields = ll_csv_next(&csv, &field_count)) && !csv.failed) {
        struct ll_measured row;
        bool taken = take_row(&csv, fields, field_count, &row);
        room = ll_grow(&rows, &capacity, row_count + 1, sizeof *rows);
        if (taken && room)
            rows[row_count++] = row;
        wrong |= !taken;
    }
    if (good && room && !wrong && !csv.failed && row_count == 0)
        ll_complain(diags, (struct ll_place){.file = file}, "no row stands behind the header");
    else if (good && room && !wrong && !csv.failed)
        copy = ll_copy(arena, rows, row_count * sizeof *rows);
    if (!copy && diags->count == 0)
        ll_complain(diags, (struct ll_place){.file = file}, "memory ran out");
    free(rows);
    *count = copy ? row_count : 0;
    return copy;
}

const char *ll_measured_text(const struct ll_measured *row, const char *key)
{
    assert(*key);
    size_t length = strlen(key);
    for (const char *at = row->dims; at; at = strchr(at, ';')) {
        at += *at == ';';
        if (strncmp(at, key, length) == 0 && at[length] == '=')
            return at + length + 1;
    }
    return NULL;
}

bool ll_measured_says(const struct ll_measured *row, const char *key, const char *value)
{
    assert(*key && *value);
    const char *text = ll_measured_text(row, key);
    size_t length = strlen(value);
    return text && strncmp(text, value, length) == 0 && (text[length] == '\0' || text[length] == ';');
}

bool ll_measured_number(const struct ll_measured *row, const char *key, uint64_t most, uint64_t *value)
{
    assert(most > 0);
    const char *text = ll_measured_text(row, key);
    char *end = NULL;
    uint64_t number = text && *text >= '0' && *text <= '9' ? strtoull(text, &end, 10) : 0;
    if (!end || (*end && *end != ';') || number > most)
        return false;
    *value = number;
    return true;
}

static const struct {
    const char *name;
    enum ll_dtype arithmetic;
    uint64_t element_bytes;
} dtypes[] = {
    {"fp32", LL_F32, 4},    {"tf32", LL_TF32, 4},       {"fp16", LL_F16, 2},
    {"fp16_tc", LL_F16, 2}, {"fp16_math32", LL_F32, 2}, {"bf16", LL_BF16, 2},
    {"fp8", LL_F8, 1},      {"int8", LL_INT8, 1},       {"fp64", LL_F64, 8},
};

/* Data says fp16 where we say f16; tf32 computes in a format of its own and is stored in 4 bytes. */
bool ll_measured_dtype(const struct ll_measured *row, enum ll_dtype *arithmetic, uint64_t *element_bytes)
{
    for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes; i++)
        if (strcmp(row->dtype, dtypes[i].name) == 0) {
            *arithmetic = dtypes[i].arithmetic;
            *element_bytes = dtypes[i].element_bytes;
            return true;
        }
    enum ll_dtype ours = ll_dtype_find(row->dtype);
    if (ours == LL_DTYPE_COUNT || ll_dtype_part(ours) != ours || ll_dtype_bits(ours) < 8)
        return false;
    *arithmetic = ours;
    *element_bytes = ll_dtype_bytes(ours);
    return true;
}

/* Shapes as rows of ops without a name have them: `3x5:f32+5x7:bf16`. */
static void measured_add_shapes(struct ll_str *text, const struct ll_shape *shapes, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        ll_str_add(text, i ? "+" : "");
        for (unsigned d = 0; d < shapes[i].rank; d++)
            ll_str_addf(text, "%s%" PRIu64, d ? "x" : "", shapes[i].dim[d]);
        ll_str_addf(text, ":%s", ll_dtype_name((enum ll_dtype)shapes[i].dtype));
    }
}

/* Rows of measured data, exported (first section) and imported.
 *
 * A trace as rows of measured data: source,hardware,op,dtype,dims,time_s,notes, an op a row, its scope as
 * note. Ops are called what such data calls them, where it does (so `leadline validate` and `leadline
 * import csv` read them), and by their kind elsewhere, with their elements as n and all that the op table
 * needs to know of them, which `leadline import csv` reads: in=3x5:f32+5x7:f32;out=3x7:f32;axis=1. What
 * takes no time has no row. */

static const char *dtype_name(enum ll_dtype dtype)
{
    static const struct {
        enum ll_dtype dtype;
        const char *name;
    } column_names[] = {{LL_F32, "fp32"}, {LL_F16, "fp16"}, {LL_F64, "fp64"}};
    for (size_t i = 0; i < sizeof column_names / sizeof *column_names; i++)
        if (column_names[i].dtype == dtype)
            return column_names[i].name;
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
    measured_add_shapes(dims, shapes, count);
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
} column_names[] = {
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
    for (size_t i = 0; i < sizeof column_names / sizeof *column_names; i++)
        if (column_names[i].kind == op->kind && ll_measured_dtype(&typed, &arithmetic, &element_bytes))
            name = &column_names[i];
    if (!name || !ll_op_lower(op, &work)) {
        ll_csv_put(out, op->kind < LL_OP_NONE ? ll_op_name(op->kind) : "unknown");
        ll_str_addf(out, ",%s,", op->output_count ? dtype_name((enum ll_dtype)op->out[0].dtype) : "fp32");
        add_whole(op, out);
        return;
    }
    ll_str_addf(out, "%s,%s,", name->name, typed.dtype);
    name->dims(op, &work, out);
}

/* A row for each op that has a time: kind, dtype and dimensions as public data has them where it knows the
 * op. */
bool ll_export_CSV(struct ll_export *export)
{
    const struct ll_trace *trace = export->trace;
    const struct ll_op_schedule *schedule = ll_export_ready(export) ? ll_export_schedule(export) : NULL;
    const char *model = ll_trace_fact(trace, "model"), *cpu = ll_trace_fact(trace, "host.cpu");
    bool goes_on = schedule != NULL;
    ll_str_add(&export->out, "source,hardware,op,dtype,dims,time_s,notes\n");
    for (uint32_t i = 0; goes_on && i < schedule->op_count; i++) {
        const struct ll_op_signature *signature =
            &trace->signatures[trace->ops[schedule->first_op + i].signature];
        struct ll_scheduled scheduled = {.energy_j = NAN};
        char time[32];
        schedule->at(schedule, schedule->first_op + i, &scheduled);
        if (!(scheduled.time_s > 0))
            continue;
        ll_number_text(scheduled.time_s, time);
        ll_csv_put(&export->out, model ? model : "leadline");
        ll_str_add(&export->out, ",");
        ll_csv_put(&export->out, schedule->name ? schedule->name : cpu ? cpu : "recorded");
        ll_str_add(&export->out, ",");
        add_op(&export->out, &signature->view);
        ll_str_addf(&export->out, ",%s,", time);
        ll_csv_put(&export->out, trace->strings[signature->scope]);
        ll_str_add(&export->out, "\n");
        goes_on = ll_export_spill(export);
    }
    return goes_on;
}

/* Rows of measured data as a trace, and a trace as such rows: an op a row, or the few ops that a
 * row stands for, which share its time. */

static const char no_rule[] = "no op of a trace stands for rows of this name";

struct csv_row;
typedef const char *ll_csv_rule(struct csv_row *r);

/* A row at work. Dims that are missing or impossible are found at the end. */
struct csv_row {
    struct ll_series *series;
    const struct ll_measured *row;
    enum ll_op_kind kind;
    enum ll_dtype dtype; /* of elements in memory */
    bool wrong;
    const char *trouble; /* what else is; NULL: nothing */
    bool counting;       /* only counts the ops that will be recorded */
    uint64_t count;      /* of them */
    uint64_t each_ns;    /* an op's share of the time */
};

static uint64_t dim_or(struct csv_row *r, const char *key, uint64_t otherwise)
{
    uint64_t value = otherwise;
    bool right = ll_measured_number(r->row, key, UINT64_C(1) << LL_DIM_BITS, &value);
    r->wrong = r->wrong || (!right && ll_measured_text(r->row, key));
    return value;
}

/* A dimension that must be there, from 1 on. */
static uint64_t dim(struct csv_row *r, const char *key)
{
    uint64_t value = dim_or(r, key, 0);
    r->wrong = r->wrong || value == 0;
    return ll_max(value, 1);
}

/* Whether an operand is transposed: T, or N or nothing. */
static bool turned(struct csv_row *r, const char *key)
{
    bool turns = ll_measured_says(r->row, key, "T");
    r->wrong = r->wrong || (ll_measured_text(r->row, key) && !turns && !ll_measured_says(r->row, key, "N"));
    return turns;
}

static struct ll_imported tensor(struct csv_row *r, enum ll_memory_class memory, unsigned rank,
                                 const uint64_t *dims)
{
    if (r->counting)
        return (struct ll_imported){LL_NONE, {.rank = 0}};
    return ll_series_tensor(r->series, memory, r->dtype, rank, dims);
}

static struct ll_attr attr(enum ll_attr_key key, uint64_t count)
{
    return (struct ll_attr){.key = key, .count = (int64_t)count};
}

static const char *record(struct csv_row *r, const struct ll_import_op *op)
{
    if (r->wrong)
        return "a dimension is missing or impossible";
    if (r->trouble)
        return r->trouble;
    r->count += r->counting;
    r->series->duration_ns = r->each_ns;
    return r->counting ? NULL : ll_series_record(r->series, op, NULL);
}

/* C[m,n] = A[m,k] B[k,n], operands lying as they are or turned; b of them when there is a b. */
static const char *multiply(struct csv_row *r, uint64_t batch, const uint64_t mnk[3], bool turn_a,
                            bool turn_b)
{
    const uint64_t a[] = {batch, mnk[turn_a ? 2 : 0], mnk[turn_a ? 0 : 2]};
    const uint64_t b[] = {batch, mnk[turn_b ? 1 : 2], mnk[turn_b ? 2 : 1]};
    const struct ll_attr attrs[] = {attr(LL_ATTR_TRANSPOSE_A, turn_a), attr(LL_ATTR_TRANSPOSE_B, turn_b)};
    unsigned single = batch == 0;
    const struct ll_imported in[] = {tensor(r, LL_INPUT, 3 - single, a + single),
                                     tensor(r, single ? LL_WEIGHT : LL_INPUT, 3 - single, b + single)};
    return record(r, &(struct ll_import_op){.kind = single ? LL_OP_MATMUL : LL_OP_BATCH_MATMUL,
                                            .in = in,
                                            .in_count = 2,
                                            .attrs = attrs,
                                            .attr_count = 2});
}

/* Rows that tell transpositions are of BLAS, whose matrices lie column by column: row by row they are the
 * transposed ones, C^T = B^T A^T. Others are of dense layers, x[m,k] w[n,k]^T. */
static const char *ll_csv_GEMM(struct csv_row *r)
{
    const uint64_t m = dim(r, "m"), n = dim(r, "n"), k = dim(r, "k");
    bool turn_a = turned(r, "ta"), turn_b = turned(r, "tb");
    if (r->kind == LL_OP_BATCH_MATMUL)
        return multiply(r, dim(r, "b"), (const uint64_t[]){m, n, k}, turn_a, turn_b);
    if (ll_measured_text(r->row, "ta") || ll_measured_text(r->row, "tb"))
        return multiply(r, 0, (const uint64_t[]){n, m, k}, turn_b, turn_a);
    return multiply(r, 0, (const uint64_t[]){m, n, k}, false, true);
}

/* Of y[m,n] = x[m,k] w[k,n]: dx = dy w^T, dw = x^T dy. */
static const char *ll_csv_DENSE_GRADS(struct csv_row *r)
{
    uint64_t m = dim(r, "m"), n = dim(r, "n"), k = dim(r, "k");
    const char *trouble = multiply(r, 0, (const uint64_t[]){m, k, n}, false, true);
    return trouble ? trouble : multiply(r, 0, (const uint64_t[]){k, n, m}, true, false);
}

static uint64_t slid(uint64_t in, uint64_t kernel, uint64_t stride, uint64_t pad)
{
    return in + 2 * pad < kernel || stride == 0 ? 0 : (in + 2 * pad - kernel) / stride + 1;
}

/* Forward, data gradient or filter gradient of one convolution. The row gives the forward problem (b, c, h,
 * w, k, r, s) in all three cases; the gradients read the result (dy), and what they make is given, because a
 * stride leaves the size of the image open. */
static const char *convolve(struct csv_row *r, enum ll_op_kind kind)
{
    assert(kind < LL_OP_NONE);
    uint64_t b = dim(r, "b"), c = dim(r, "c"), h = dim(r, "h"), w = dim(r, "w"), k = dim(r, "k");
    uint64_t kh = dim(r, "r"), kw = dim(r, "s"), sh = dim_or(r, "stride_h", 1), sw = dim_or(r, "stride_w", 1);
    uint64_t ph = dim_or(r, "pad_h", 0), pw = dim_or(r, "pad_w", 0),
             groups = ll_max(dim_or(r, "groups", 1), 1);
    const uint64_t image[] = {b, h, w, c}, filter[] = {kh, kw, c / groups, k};
    const uint64_t result[] = {b, slid(h, kh, sh, ph), slid(w, kw, sw, pw), k};
    const struct ll_attr attrs[] = {attr(LL_ATTR_STRIDE_H, sh),  attr(LL_ATTR_STRIDE_W, sw),
                                    attr(LL_ATTR_PAD_TOP, ph),   attr(LL_ATTR_PAD_BOTTOM, ph),
                                    attr(LL_ATTR_PAD_LEFT, pw),  attr(LL_ATTR_PAD_RIGHT, pw),
                                    attr(LL_ATTR_GROUPS, groups)};
    bool data = kind == LL_OP_CONV2D_DATA, weights = kind == LL_OP_CONV2D_FILTER;
    const struct ll_imported in[] = {tensor(r, LL_INPUT, 4, data ? result : image),
                                     weights ? tensor(r, LL_INPUT, 4, result)
                                             : tensor(r, LL_WEIGHT, 4, filter)};
    struct ll_shape given = {.rank = 4, .dtype = (uint8_t)r->dtype};
    memcpy(given.dim, data ? image : filter, sizeof image);
    return record(r, &(struct ll_import_op){.kind = kind,
                                            .in = in,
                                            .in_count = 2,
                                            .attrs = attrs,
                                            .attr_count = 7,
                                            .given = &given,
                                            .given_count = data || weights});
}

static const char *ll_csv_CONV(struct csv_row *r)
{
    return convolve(r, r->kind);
}

static const char *ll_csv_CONV_GRADS(struct csv_row *r)
{
    const char *trouble = convolve(r, LL_OP_CONV2D_DATA);
    return trouble ? trouble : convolve(r, LL_OP_CONV2D_FILTER);
}

static uint64_t gates(struct csv_row *r)
{
    uint64_t count = ll_measured_says(r->row, "type", "lstm")      ? 4
                     : ll_measured_says(r->row, "type", "gru")     ? 3
                     : ll_measured_says(r->row, "type", "vanilla") ? 1
                                                                   : 0;
    r->wrong = r->wrong || count == 0;
    return ll_max(count, 1);
}

/* The product of all steps with the input's weights, unless it is skipped, and the steps. */
static const char *ll_csv_RECURRENT(struct csv_row *r)
{
    uint64_t hidden = dim(r, "hidden"), batch = dim(r, "batch"), steps = dim(r, "steps"),
             all = ll_mul(gates(r), hidden);
    const struct ll_imported in[] = {tensor(r, LL_INPUT, 3, (const uint64_t[]){steps, batch, all}),
                                     tensor(r, LL_WEIGHT, 2, (const uint64_t[]){all, hidden})};
    const struct ll_shape states = {.rank = 3, .dtype = (uint8_t)r->dtype, .dim = {steps, batch, hidden}};
    const char *trouble =
        dim_or(r, "skip_input", 0)
            ? NULL
            : multiply(r, 0, (const uint64_t[]){ll_mul(steps, batch), all, hidden}, false, false);
    return trouble ? trouble
                   : record(r, &(struct ll_import_op){.kind = LL_OP_RECURRENT_STEPS,
                                                      .in = in,
                                                      .in_count = 2,
                                                      .given = &states,
                                                      .given_count = 1});
}

/* One product over all steps. */
static const char *ll_csv_RNN_WEIGHTS(struct csv_row *r)
{
    uint64_t hidden = dim(r, "hidden"), rows = ll_mul(dim(r, "steps"), dim(r, "batch"));
    uint64_t inputs = dim_or(r, "skip_input", 0) ? 1 : 2;
    const uint64_t mnk[] = {inputs * hidden, ll_mul(gates(r), hidden), rows};
    return multiply(r, 0, mnk, true, false);
}

static const char *ll_csv_RNN_GRADS(struct csv_row *r)
{
    const char *trouble = ll_csv_RECURRENT(r);
    return trouble ? trouble : ll_csv_RNN_WEIGHTS(r);
}

/* n elements, or b rows of h. */
static struct ll_imported elements(struct csv_row *r)
{
    const uint64_t flat[] = {1, ll_measured_text(r->row, "n") ? dim(r, "n") : 1};
    if (ll_measured_text(r->row, "n"))
        return tensor(r, LL_INPUT, 2, flat);
    return tensor(r, LL_INPUT, 2, (const uint64_t[]){dim(r, "b"), dim(r, "h")});
}

static const char *on_elements(struct csv_row *r, uint32_t inputs, bool scalar)
{
    struct ll_imported in[2] = {elements(r)};
    if (inputs == 2)
        in[1] = scalar ? tensor(r, LL_WORKSPACE, 0, NULL) : elements(r);
    return record(r, &(struct ll_import_op){.kind = r->kind, .in = in, .in_count = inputs});
}

static const char *ll_csv_ONE(struct csv_row *r)
{
    return on_elements(r, 1, false);
}

static const char *ll_csv_TWO(struct csv_row *r)
{
    return on_elements(r, 2, false);
}

/* With a number that is the same for all. */
static const char *ll_csv_SCALED(struct csv_row *r)
{
    return on_elements(r, 2, true);
}

/* As many tensors as the row says: two, or one and a number. */
static const char *ll_csv_COUNTED(struct csv_row *r)
{
    uint64_t count = dim_or(r, "nin", 2);
    r->wrong = r->wrong || count < 1 || count > 2;
    return on_elements(r, 2, count == 1);
}

/* Rows, and for normalisation a gain and, but for the root mean square, an offset for each column. */
static const char *ll_csv_ROWS(struct csv_row *r)
{
    uint64_t columns = dim(r, "h");
    uint32_t count = r->kind == LL_OP_LAYER_NORM ? 3 : r->kind == LL_OP_RMS_NORM ? 2 : 1;
    struct ll_imported in[3] = {elements(r)};
    for (uint32_t i = 1; i < count; i++)
        in[i] = tensor(r, LL_WEIGHT, 1, &columns);
    return record(r, &(struct ll_import_op){.kind = r->kind, .in = in, .in_count = count});
}

/* A pool or its gradient. Rows give the size of the result (oh, ow) and no padding: what the windows reach
 * over the edge of the image becomes padding behind it. */
static const char *ll_csv_POOL(struct csv_row *r)
{
    const uint64_t image[] = {dim(r, "b"), dim(r, "h"), dim(r, "w"), dim(r, "c")};
    const uint64_t result[] = {image[0], dim(r, "oh"), dim(r, "ow"), image[3]};
    uint64_t kernel[] = {dim(r, "r"), dim(r, "s")},
             stride[] = {dim_or(r, "stride_h", 1), dim_or(r, "stride_w", 1)};
    uint64_t behind[2];
    for (int i = 0; i < 2; i++) {
        uint64_t reach = ll_add(ll_mul(result[1 + i] - 1, stride[i]), kernel[i]);
        behind[i] = reach > image[1 + i] ? reach - image[1 + i] : 0;
    }
    const struct ll_attr attrs[] = {attr(LL_ATTR_KERNEL_H, kernel[0]),   attr(LL_ATTR_KERNEL_W, kernel[1]),
                                    attr(LL_ATTR_STRIDE_H, stride[0]),   attr(LL_ATTR_STRIDE_W, stride[1]),
                                    attr(LL_ATTR_PAD_BOTTOM, behind[0]), attr(LL_ATTR_PAD_RIGHT, behind[1])};
    bool forward = r->kind == LL_OP_MAX_POOL || r->kind == LL_OP_AVG_POOL,
         spread = r->kind == LL_OP_AVG_POOL_GRAD;
    struct ll_imported in[3] = {tensor(r, LL_INPUT, 4, forward ? image : result)};
    if (r->kind == LL_OP_MAX_POOL_GRAD) {
        in[1] = tensor(r, LL_INPUT, 4, image);
        in[2] = tensor(r, LL_INPUT, 4, result);
    }
    struct ll_shape given = {.rank = 4, .dtype = (uint8_t)r->dtype};
    memcpy(given.dim, image, sizeof image);
    return record(r, &(struct ll_import_op){.kind = r->kind,
                                            .in = in,
                                            .in_count = r->kind == LL_OP_MAX_POOL_GRAD ? 3 : 1,
                                            .attrs = attrs,
                                            .attr_count = 6,
                                            .given = &given,
                                            .given_count = spread});
}

static const char *ll_csv_ALL_REDUCE(struct csv_row *r)
{
    uint64_t count = ll_max(dim(r, "bytes") / ll_dtype_bytes(r->dtype), 1);
    const struct ll_attr attrs[] = {attr(LL_ATTR_DEVICES, dim(r, "devices")),
                                    attr(LL_ATTR_NODES, dim_or(r, "nodes", 1))};
    const struct ll_imported in = tensor(r, LL_INPUT, 1, &count);
    r->series->phase = LL_PHASE_COMM;
    return record(r, &(struct ll_import_op){
                         .kind = r->kind, .in = &in, .in_count = 1, .attrs = attrs, .attr_count = 2});
}

/* As an exported trace has them: the program did something else. */
static const char *ll_csv_WAIT(struct csv_row *r)
{
    return record(r, &(struct ll_import_op){.kind = r->kind});
}

enum { MOST_SHAPES = 256 };

/* `3x5:f32+5x7:bf16`, as the export below writes it, up to the next `;`; how many they are, or none where the
 * text is no such list. */
static uint32_t read_shapes(const char *text, struct ll_shape *shapes)
{
    uint32_t count = 0;
    for (bool more = text != NULL; more && count < MOST_SHAPES; count++) {
        struct ll_shape shape = {.rank = 0};
        char *end = NULL, dtype[16] = "";
        while (*text >= '0' && *text <= '9' && shape.rank < LL_MAX_RANK) {
            shape.dim[shape.rank++] = strtoull(text, &end, 10);
            text = end + (*end == 'x');
        }
        size_t length = *text == ':' ? strcspn(++text, "+;") : sizeof dtype;
        if (length >= sizeof dtype)
            return 0;
        memcpy(dtype, text, length);
        shape.dtype = (uint8_t)ll_dtype_find(dtype);
        if (shape.dtype == LL_DTYPE_COUNT || !ll_fits(ll_size_bytes(&shape)))
            return 0;
        shapes[count] = shape;
        more = text[length] == '+';
        text += length + 1;
    }
    return count;
}

/* The number behind an attribute's name, which is all of its text. */
static struct ll_attr read_attr(struct csv_row *r, enum ll_attr_key key, const char *text)
{
    const bool real = ll_attr_is_real(key);
    const char *end;
    const struct ll_attr attr = ll_attr_of_text(key, text, &end);
    if (end == text || (*end && *end != ';'))
        r->trouble = ll_format(&r->series->import->arena, "`%s=%.*s`: expected a %snumber", ll_attr_name(key),
                               (int)ll_min(strcspn(text, ";"), 40), text, real ? "" : "whole ");
    return attr;
}

/* Whether the op makes what the row says that comes out, as far as shapes go. */
static void check_results(struct csv_row *r, const struct ll_import_op *op)
{
    struct ll_imported made[MOST_SHAPES] = {{0}};
    if (r->counting || r->trouble || ll_import_look(r->series->import, op, made))
        return;
    for (uint32_t i = 0; i < op->given_count && !r->trouble; i++) {
        const struct ll_shape *told = &op->given[i], *is = &made[i].shape;
        if (told->rank == is->rank && memcmp(told->dim, is->dim, sizeof is->dim) == 0)
            continue;
        struct ll_str text = {0};
        measured_add_shapes(&text, is, 1);
        r->trouble =
            ll_format(&r->series->import->arena,
                      "`out` says another shape than inputs and attributes make: expected %s as number "
                      "%" PRIu32,
                      text.text ? text.text : "", i + 1);
        ll_str_release(&text);
    }
}

/* An op of the op table, with all that it takes. */
static const char *ll_csv_WHOLE(struct csv_row *r)
{
    struct ll_shape shapes[MOST_SHAPES], given[MOST_SHAPES];
    struct ll_imported in[MOST_SHAPES];
    struct ll_attr attrs[LL_MAX_ATTRS];
    uint32_t count = read_shapes(ll_measured_text(r->row, "in"), shapes), attr_count = 0;
    for (uint32_t i = 0; i < count; i++) {
        r->dtype = (enum ll_dtype)shapes[i].dtype;
        in[i] = tensor(r, LL_INPUT, shapes[i].rank, shapes[i].dim);
    }
    for (unsigned key = 0; key < LL_ATTR_COUNT; key++) {
        const char *text = ll_measured_text(r->row, ll_attr_name((enum ll_attr_key)key));
        if (!text || attr_count == LL_MAX_ATTRS)
            continue;
        attrs[attr_count++] = read_attr(r, (enum ll_attr_key)key, text);
    }
    const struct ll_import_op op = {.kind = r->kind,
                                    .in = in,
                                    .in_count = count,
                                    .attrs = attrs,
                                    .attr_count = attr_count,
                                    .given = given,
                                    .given_count = read_shapes(ll_measured_text(r->row, "out"), given)};
    check_results(r, &op);
    return record(r, &op);
}

static const struct {
    const char *name;
    ll_csv_rule *rule;
    enum ll_op_kind kind;
} ops[] = {
#define LL_CSV(name, rule, kind) {name, ll_csv_##rule, LL_OP_##kind},
#include "tracer/convert/csv/ops.def"
#undef LL_CSV
};

static bool is_named(const char *pattern, const char *name)
{
    size_t length = strlen(pattern) - 1;
    return pattern[length] == '*' ? strncmp(pattern, name, length) == 0 : strcmp(pattern, name) == 0;
}

/* What an element is in memory: what computes, or a type of as many bytes where that is another size. */
static bool find_dtype(struct csv_row *r)
{
    uint64_t bytes;
    if (!ll_measured_dtype(r->row, &r->dtype, &bytes))
        return false;
    if (ll_dtype_bytes(r->dtype) != bytes)
        r->dtype = bytes == 2 ? LL_F16 : LL_F32;
    return true;
}

/* The ops of a row share its time. */
static const char *follow(struct csv_row *r, ll_csv_rule *rule, uint64_t time_ns)
{
    r->counting = true;
    const char *trouble = rule(r);
    r->counting = false;
    r->each_ns = ll_fits(time_ns) ? time_ns / ll_max(r->count, 1) : LL_NO_FIT;
    return trouble ? trouble : rule(r);
}

/* What makes ops of a row, and their kind; NULL when nothing does. */
static ll_csv_rule *find_rule(const struct ll_measured *row, enum ll_op_kind *kind)
{
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
        if (is_named(ops[i].name, row->op)) {
            *kind = ops[i].kind;
            return ops[i].rule;
        }
    *kind = ll_op_find(row->op);
    return *kind != LL_OP_NONE && ll_measured_text(row, "out") ? ll_csv_WHOLE : NULL;
}

static const char *record_row(struct ll_series *series, const struct ll_measured *row, uint64_t time_ns)
{
    struct csv_row r = {.series = series, .row = row};
    ll_csv_rule *rule = find_rule(row, &r.kind);
    if (!find_dtype(&r) && rule != ll_csv_WHOLE) /* which tells the type of each tensor */
        return LL_UNKNOWN_ELEMENTS;
    return rule ? follow(&r, rule, time_ns) : no_rule;
}

/* What data of others calls an op can be anything and stand in every row: each name once. */
static void complain_of_names(struct ll_import *import, const struct ll_measured *rows, size_t count)
{
    struct ll_map names = {0};
    for (size_t i = 0; i < count; i++) {
        bool is_new = true;
        uint64_t same = 0;
        enum ll_op_kind kind;
        if (find_rule(&rows[i], &kind) ||
            (ll_map_intern(&names, rows[i].op, strlen(rows[i].op), &is_new) != LL_NO_ID && !is_new))
            continue;
        for (size_t k = i; k < count && import->diags->count < LL_DIAG_LIMIT; k++)
            same += strcmp(rows[k].op, rows[i].op) == 0;
        ll_complain(import->diags, (struct ll_place){.file = import->inputs[0].path, .line = rows[i].line},
                    "%.60s: %s (rows: %" PRIu64 "); --allow-opaque keeps it as the time it took", rows[i].op,
                    no_rule, same);
    }
    ll_map_release(&names);
}

static void record_rows(struct ll_series *series, const struct ll_measured *rows, size_t count)
{
    struct ll_import *import = series->import;
    if (!import->allow_opaque)
        complain_of_names(import, rows, count);
    for (size_t i = 0; i < count; i++) {
        ll_import_progress(import, "recording", i, count);
        series->scope = rows[i].op;
        series->phase = strstr(rows[i].op, "_bwd") ? LL_PHASE_BACKWARD : LL_PHASE_FORWARD;
        uint64_t time_ns = ll_series_ns(rows[i].time_s * 1e9);
        const char *trouble = record_row(series, &rows[i], time_ns);
        series->duration_ns = time_ns;
        if (trouble && import->allow_opaque)
            trouble = ll_series_record(series, &(struct ll_import_op){.kind = LL_OP_OPAQUE}, NULL);
        if (trouble && trouble != no_rule)
            ll_complain(import->diags,
                        (struct ll_place){.file = import->inputs[0].path, .line = rows[i].line}, "%.60s: %s",
                        rows[i].op, trouble);
    }
}

/* A row becomes one op, or the few that it stands for, one row after the other. */
bool ll_import_CSV(struct ll_import *import)
{
    const struct ll_input_file *input = &import->inputs[0];
    struct ll_series series = {.import = import, .clock_ns = 1};
    size_t count = 0, before = import->diags->count;
    if (import->input_count != 1)
        return ll_complain(import->diags, (struct ll_place){0}, "expected one file");
    if (input->size > 0 && memchr(input->bytes, '\0', input->size))
        return ll_complain(import->diags, (struct ll_place){.file = input->path},
                           "this is not text: it holds bytes of value zero");
    const struct ll_measured *rows = ll_measured_read((const char *)input->bytes, input->size, input->path,
                                                      &import->arena, import->diags, &count);
    if (!rows)
        return false;
    ll_facts_add(&import->facts, "model", "%s", ll_import_stem(import, "csv"));
    ll_facts_add(&import->facts, "mode", "infer");
    ll_facts_add(&import->facts, "batch", "1");
    ll_facts_add(&import->facts, "source", "rows of measured data");
    if (!ll_import_begin(import))
        return false;
    record_rows(&series, rows, count);
    return import->diags->count == before;
}
