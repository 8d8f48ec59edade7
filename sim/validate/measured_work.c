/* SPDX-License-Identifier: Apache-2.0 */
/* From a measured row to work. The first section reads a row's dims and adds GEMMs, convolutions and vector
 * work; then follows one function per rule of measured_ops.def. */
#include <stdlib.h>
#include <string.h>

#include "sim/validate/row.h"

const char *ll_row_text(const struct ll_row_works *r, const char *key)
{
    return ll_measured_text(r->row, key);
}

bool ll_row_says(const struct ll_row_works *r, const char *key, const char *value)
{
    return ll_measured_says(r->row, key, value);
}

void ll_row_refuse(struct ll_row_works *r, const char *trouble)
{
    if (!r->trouble)
        r->trouble = trouble;
}

/* Whether the row says key=yes rather than key=no, which it says, too, by saying nothing of it. */
static bool row_either(struct ll_row_works *r, const char *key, const char *no, const char *yes)
{
    bool says = ll_row_says(r, key, yes);
    if (ll_row_text(r, key) && !says && !ll_row_says(r, key, no))
        ll_row_refuse(r, "a dimension is neither N nor T (ta, tb), or neither 0 nor 1 (bias and the like)");
    return says;
}

static uint64_t dim_from(struct ll_row_works *r, const char *key, uint64_t least)
{
    uint64_t value;
    if (ll_measured_number(r->row, key, UINT64_C(1) << LL_DIM_BITS, &value) && value >= least)
        return value;
    ll_row_refuse(r, LL_IMPOSSIBLE_DIMENSION);
    return 1;
}

uint64_t ll_row_dim(struct ll_row_works *r, const char *key)
{
    return dim_from(r, key, 1);
}

uint64_t ll_row_dim_or(struct ll_row_works *r, const char *key, uint64_t otherwise)
{
    return ll_row_text(r, key) ? dim_from(r, key, 1) : otherwise;
}

/* What stands around an image: 0 too. */
static uint64_t row_padding(struct ll_row_works *r, const char *key, uint64_t otherwise)
{
    return ll_row_text(r, key) ? dim_from(r, key, 0) : otherwise;
}

uint64_t ll_row_replicas(struct ll_row_works *r)
{
    uint64_t devices = ll_row_dim_or(r, "devices", 1), named = ll_row_dim_or(r, "dp", devices);
    if (ll_row_dim_or(r, "tp", 1) > 1 || ll_row_dim_or(r, "pp", 1) > 1 || ll_row_dim_or(r, "cp", 1) > 1 ||
        (named > 1 && named != devices))
        ll_row_refuse(
            r, "no rule here cuts this model into pieces: tp, pp or cp, or dp beside devices, is above 1");
    return devices;
}

static uint64_t bytes(const struct ll_row_works *r, uint64_t elements)
{
    return ll_mul(elements, r->element_bytes);
}

struct ll_work *ll_row_add(struct ll_row_works *r, enum ll_work_kind kind, enum ll_op_kind op)
{
    struct ll_measured_works *out = r->out;
    static _Thread_local struct ll_measured_part scratch;
    bool room = ll_grow(&out->at, &out->capacity, out->count + 1, sizeof *out->at);
    struct ll_measured_part *part = room ? &out->at[out->count] : &scratch;
    out->failed |= !room;
    out->count += room;
    *part = (struct ll_measured_part){.work = {.kind = kind, .dtype = r->arithmetic},
                                      .kind = op,
                                      .times = r->times,
                                      .apart = r->apart,
                                      .devices = r->devices};
    return &part->work;
}

static struct ll_work *add_products(struct ll_row_works *r, enum ll_op_kind kind, struct ll_gemm gemm)
{
    struct ll_work *work = ll_row_add(r, LL_WORK_GEMM, kind);
    work->gemm = gemm;
    work->flops = ll_mul(ll_mul(2 * gemm.batch, gemm.m), ll_mul(gemm.n, gemm.k));
    work->a_bytes = bytes(r, ll_mul(gemm.batch, ll_mul(gemm.m, gemm.k)));
    work->b_bytes = bytes(r, ll_mul(gemm.batch, ll_mul(gemm.k, gemm.n)));
    work->c_bytes = bytes(r, ll_mul(gemm.batch, ll_mul(gemm.m, gemm.n)));
    return work;
}

struct ll_work *ll_row_gemm(struct ll_row_works *r, uint64_t m, uint64_t n, uint64_t k)
{
    return add_products(r, LL_OP_MATMUL, (struct ll_gemm){1, m, n, k});
}

struct ll_work *ll_row_gemms(struct ll_row_works *r, struct ll_gemm gemm)
{
    return add_products(r, LL_OP_BATCH_MATMUL, gemm);
}

uint64_t ll_row_window(struct ll_row_works *r, uint64_t in, uint64_t kernel, uint64_t stride, uint64_t pad)
{
    if (stride == 0 || in + 2 * pad < kernel) {
        ll_row_refuse(r, stride ? "the filter is larger than the padded image" : LL_IMPOSSIBLE_DIMENSION);
        return 1;
    }
    return (in + 2 * pad - kernel) / stride + 1;
}

void ll_row_conv(struct ll_row_works *r, struct ll_conv c, uint64_t pad_h, uint64_t pad_w)
{
    static const enum ll_op_kind kinds[] = {LL_OP_CONV2D, LL_OP_CONV2D_DATA, LL_OP_CONV2D_FILTER};
    c.out_h =
        ll_row_window(r, c.in_h, ll_window_reach(c.kernel_h, ll_max(1, c.dilation_h)), c.stride_h, pad_h);
    c.out_w =
        ll_row_window(r, c.in_w, ll_window_reach(c.kernel_w, ll_max(1, c.dilation_w)), c.stride_w, pad_w);
    if (c.groups == 0 || c.in_c % c.groups || c.out_c % c.groups) {
        ll_row_refuse(r, "the channels are no multiple of the groups");
        return;
    }
    struct ll_work *work = ll_row_add(r, LL_WORK_CONV, kinds[c.pass]);
    uint64_t x = bytes(r, ll_mul(ll_mul(c.batch, c.in_c), ll_mul(c.in_h, c.in_w)));
    uint64_t w = bytes(r, ll_mul(ll_mul(c.kernel_h, c.kernel_w), ll_mul(c.in_c / c.groups, c.out_c)));
    uint64_t y = bytes(r, ll_mul(ll_mul(c.batch, c.out_c), ll_mul(c.out_h, c.out_w)));
    const struct ll_gemm gemm = ll_conv_as_gemm(&c);
    work->conv = c;
    work->flops = ll_mul(ll_mul(2 * gemm.batch, gemm.m), ll_mul(gemm.n, gemm.k));
    work->a_bytes = c.pass == LL_CONV_DATA ? y : x;
    work->b_bytes = c.pass == LL_CONV_FILTER ? y : w;
    work->c_bytes = c.pass == LL_CONV_FORWARD ? y : c.pass == LL_CONV_DATA ? x : w;
}

struct ll_work *ll_row_vector(struct ll_row_works *r, enum ll_op_kind op, uint64_t count, uint64_t inputs,
                              uint64_t flops_each)
{
    struct ll_work *work = ll_row_add(r, LL_WORK_VECTOR, op);
    work->vector.elements = count;
    work->flops = ll_mul(count, flops_each);
    work->specials = ll_mul(count, ll_op_specials(op));
    work->a_bytes = bytes(r, ll_mul(count, inputs));
    work->c_bytes = bytes(r, count);
    return work;
}

/* From a measured row to work: one function a rule word of measured_ops.def. */

/* Formats of quantized linear layers, by the names that data has for them. */
static const struct linear_format {
    const char *name;
    double weight_bytes, activation_bytes;
    enum ll_dtype dtype;
} linear_formats[] = {
#define X(word, name, weight, activation, dtype, quantized) {name, weight, activation, LL_##dtype},
    LL_LINEAR_FORMAT_LIST(X)
#undef X
};

/* The index of a row's format; LL_LINEAR_FORMAT_COUNT where it is none, as of BLAS, which says how operands
 * lie. */
static unsigned linear_format(const struct ll_measured *row)
{
    unsigned i = 0;
    while (i < LL_LINEAR_FORMAT_COUNT && strcmp(row->dtype, linear_formats[i].name) != 0)
        i++;
    return strcmp(row->op, "gemm") == 0 && !ll_measured_text(row, "ta") ? i : LL_LINEAR_FORMAT_COUNT;
}

/* What servers call the kernels that they choose among. */
static enum ll_linear_backend linear_backend(const struct ll_measured *row)
{
    static const struct {
        const char *part;
        enum ll_linear_backend backend;
    } parts[] = {{"DeepGemm", LL_LINEAR_BY_DEEPGEMM},
                 {"deepgemm", LL_LINEAR_BY_DEEPGEMM},
                 {"FlashInfer", LL_LINEAR_BY_FLASHINFER},
                 {"flashinfer", LL_LINEAR_BY_FLASHINFER},
                 {"Cutlass", LL_LINEAR_BY_CUTLASS}};
    for (size_t i = 0; row->notes && i < sizeof parts / sizeof *parts; i++)
        if (strstr(row->notes, parts[i].part))
            return parts[i].backend;
    return LL_LINEAR_BY_ANY;
}

/* A quantized linear layer: operands with their scales, a result of 16 bits. */
static void add_linear(struct ll_row_works *r, unsigned format, uint64_t m, uint64_t n, uint64_t k)
{
    const struct linear_format *f = &linear_formats[format];
    struct ll_work *work = ll_row_gemm(r, m, n, k);
    work->dtype = f->dtype;
    work->linear = 1 + format;
    work->linear_backend = (uint16_t)linear_backend(r->row);
    work->a_bytes = (uint64_t)((double)ll_mul(m, k) * f->activation_bytes);
    work->b_bytes = (uint64_t)((double)ll_mul(k, n) * f->weight_bytes);
    work->c_bytes = ll_mul(2, ll_mul(m, n));
    work->along_k = LL_LINES_OF_A | LL_LINES_OF_B;
}

/* Rows that tell transpositions are of BLAS, whose matrices lie column by column: row by row they are the
 * transposed ones, C^T = B^T A^T. Others are of dense layers, x[m,k] w[n,k]^T. */
static void works_GEMM(struct ll_row_works *r)
{
    uint64_t m = ll_row_dim(r, "m"), n = ll_row_dim(r, "n"), k = ll_row_dim(r, "k");
    bool ta = row_either(r, "ta", "N", "T"), tb = row_either(r, "tb", "N", "T");
    row_either(r, "bias", "0", "1"); /* it changes no GEMM */
    if (linear_format(r->row) < LL_LINEAR_FORMAT_COUNT) {
        add_linear(r, linear_format(r->row), m, n, k);
        return;
    }
    if (ll_row_text(r, "ta") || ll_row_text(r, "tb"))
        ll_row_gemm(r, n, m, k)->along_k = (tb ? 0 : LL_LINES_OF_A) | (ta ? LL_LINES_OF_B : 0);
    else
        ll_row_gemm(r, m, n, k)->along_k = LL_LINES_OF_A | LL_LINES_OF_B;
}

static void works_BMM(struct ll_row_works *r)
{
    struct ll_gemm dims = {ll_row_dim(r, "b"), ll_row_dim(r, "m"), ll_row_dim(r, "n"), ll_row_dim(r, "k")};
    ll_row_gemms(r, dims)->along_k = LL_LINES_OF_A;
}

/* `inputs` of the queries' size come in beside keys and values, `outputs` go out. */
static void add_attention(struct ll_row_works *r, bool backward, uint64_t inputs, uint64_t outputs)
{
    struct ll_attention a = {.batch = ll_row_dim(r, "b"),
                             .queries = ll_row_dim(r, "seq"),
                             .heads = ll_row_dim(r, "heads"),
                             .head_qk = ll_row_dim(r, "dim"),
                             .causal = row_either(r, "causal", "0", "1"),
                             .pass = backward ? LL_ATTENTION_BACKWARD : LL_ATTENTION_PREFILL,
                             .cache = (uint8_t)r->arithmetic};
    a.keys = a.queries;
    a.kv_heads = a.heads;
    a.head_v = a.head_qk;
    uint64_t tensor = bytes(r, ll_mul(ll_mul(a.batch, a.heads), ll_mul(a.queries, a.head_qk)));
    struct ll_work *work = ll_row_add(r, LL_WORK_ATTENTION, r->kind);
    work->attention = a;
    work->flops = ll_attention_flops(&a);
    work->a_bytes = ll_mul(inputs, tensor);
    work->b_bytes = ll_mul(2, tensor);
    work->c_bytes = ll_mul(outputs, tensor);
}

static void works_ATTENTION(struct ll_row_works *r)
{
    add_attention(r, false, 1, 1);
}

/* dy, queries and results come in, three gradients go out; the scores are computed again. */
static void works_ATTENTION_GRADS(struct ll_row_works *r)
{
    add_attention(r, true, 3, 3);
}

/* Of y[m,n] = x[m,k] w[k,n]: dx = dy w^T, dw = x^T dy. */
static void works_DENSE_GRADS(struct ll_row_works *r)
{
    uint64_t m = ll_row_dim(r, "m"), n = ll_row_dim(r, "n"), k = ll_row_dim(r, "k");
    ll_row_gemm(r, m, k, n);
    ll_row_gemm(r, k, n, m);
}

static void add_conv(struct ll_row_works *r, enum ll_conv_pass pass)
{
    const struct ll_conv conv = {.batch = ll_row_dim(r, "b"),
                                 .in_h = ll_row_dim(r, "h"),
                                 .in_w = ll_row_dim(r, "w"),
                                 .in_c = ll_row_dim(r, "c"),
                                 .out_c = ll_row_dim(r, "k"),
                                 .kernel_h = ll_row_dim(r, "r"),
                                 .kernel_w = ll_row_dim(r, "s"),
                                 .stride_h = ll_row_dim_or(r, "stride_h", 1),
                                 .stride_w = ll_row_dim_or(r, "stride_w", 1),
                                 .groups = ll_row_dim_or(r, "groups", 1),
                                 .pass = pass,
                                 .dilation_h = ll_row_dim_or(r, "dilation_h", 1),
                                 .dilation_w = ll_row_dim_or(r, "dilation_w", 1)};
    ll_row_conv(r, conv, row_padding(r, "pad_h", 0), row_padding(r, "pad_w", 0));
}

/* What becomes of a convolution's result: a second one is added, windows of pool x pool become one. */
static void works_CONV_FORWARD(struct ll_row_works *r)
{
    add_conv(r, LL_CONV_FORWARD);
    if (r->out->count == 0)
        return;
    const struct ll_conv c = r->out->at[r->out->count - 1].work.conv;
    uint64_t images = ll_mul(c.batch, c.out_c), pool = ll_row_dim_or(r, "pool", 1);
    if (row_either(r, "add", "0", "1"))
        ll_row_vector(r, LL_OP_ADD, ll_mul(images, ll_mul(c.out_h, c.out_w)), 2, 1);
    if (pool > 1) {
        uint64_t out = ll_mul(images, ll_mul(ll_ceil_div(c.out_h, pool), ll_ceil_div(c.out_w, pool)));
        struct ll_work *work = ll_row_vector(r, LL_OP_MAX_POOL, out, 0, 0);
        work->flops = ll_mul(out, ll_mul(pool, pool));
        work->a_bytes = bytes(r, ll_mul(images, ll_mul(c.out_h, c.out_w)));
    }
}

static void works_CONV_DATA(struct ll_row_works *r)
{
    add_conv(r, LL_CONV_DATA);
}

static void works_CONV_FILTER(struct ll_row_works *r)
{
    add_conv(r, LL_CONV_FILTER);
}

static void works_CONV_GRADS(struct ll_row_works *r)
{
    works_CONV_DATA(r);
    works_CONV_FILTER(r);
}

static uint64_t gates(struct ll_row_works *r)
{
    static const struct {
        const char *name;
        uint64_t gates;
    } cells[] = {{"vanilla", 1}, {"lstm", 4}, {"gru", 3}};
    for (size_t i = 0; i < sizeof cells / sizeof *cells; i++)
        if (ll_row_says(r, "type", cells[i].name))
            return cells[i].gates;
    ll_row_refuse(r, "the recurrent cell is neither vanilla, lstm nor gru");
    return 1;
}

/* A recurrent layer, as rows tell of one; several, in one direction or both, are one behind the other. */
struct recurrent {
    uint64_t hidden, batch, steps, all, layers, directions, input;
    bool projected; /* the first layer's input is multiplied by weights too */
};

static struct recurrent recurrent_of(struct ll_row_works *r)
{
    struct recurrent d = {.hidden = ll_row_dim(r, "hidden"),
                          .batch = ll_row_dim(r, "batch"),
                          .steps = ll_row_dim(r, "steps"),
                          .layers = ll_row_dim_or(r, "layers", 1),
                          .directions = row_either(r, "bidirectional", "0", "1") ? 2 : 1,
                          .projected = !row_either(r, "skip_input", "0", "1")};
    d.input = ll_row_dim_or(r, "input", d.hidden);
    d.all = gates(r) * d.hidden;
    if (!d.projected && d.input != d.hidden)
        ll_row_refuse(r, "an input that no weights project is as wide as hidden");
    if (d.layers > 1000)
        ll_row_refuse(r, "more than a thousand recurrent layers");
    return d;
}

/* How wide the input is that a layer multiplies by weights of its own; 0: none. */
static uint64_t input_width(const struct recurrent *d, uint64_t layer)
{
    return layer > 0 ? d->directions * d->hidden : d->projected ? d->input : 0;
}

static void add_steps(struct ll_row_works *r, const struct recurrent *d)
{
    struct ll_work *work = ll_row_add(r, LL_WORK_SEQUENCE, LL_OP_MATMUL);
    work->sequence.steps = d->steps;
    work->sequence.step = (struct ll_gemm){1, d->batch, d->all, d->hidden};
    work->flops = ll_mul(ll_mul(2 * d->steps, d->batch), ll_mul(d->all, d->hidden));
    work->a_bytes = ll_mul(r->element_bytes, ll_mul(d->steps, ll_mul(d->batch, d->hidden)));
    work->b_bytes = ll_mul(r->element_bytes, ll_mul(d->all, d->hidden));
    work->c_bytes = ll_mul(r->element_bytes, ll_mul(d->steps, ll_mul(d->batch, d->all)));
}

/* The GEMM of every step with the recurrent weights, and beside it, where there is an input projection,
 * the one GEMM of all steps with the input's weights. */
static void works_RECURRENT(struct ll_row_works *r)
{
    const struct recurrent d = recurrent_of(r);
    for (uint64_t i = 0; !r->trouble && i < d.layers * d.directions; i++) {
        uint64_t width = input_width(&d, i / d.directions);
        add_steps(r, &d);
        if (width > 0)
            ll_row_gemm(r, ll_mul(d.steps, d.batch), d.all, width);
    }
}

/* One GEMM over all steps. */
static void works_RNN_WEIGHTS(struct ll_row_works *r)
{
    const struct recurrent d = recurrent_of(r);
    for (uint64_t i = 0; !r->trouble && i < d.layers * d.directions; i++) {
        uint64_t width = d.hidden + input_width(&d, i / d.directions);
        ll_row_gemm(r, width, d.all, ll_mul(d.steps, d.batch));
    }
}

/* What flows back through the steps, then the gradient of the weights. */
static void works_RNN_GRADS(struct ll_row_works *r)
{
    works_RECURRENT(r);
    works_RNN_WEIGHTS(r);
}

static uint64_t elements(struct ll_row_works *r)
{
    bool count_given = ll_row_text(r, "n"), sides_given = ll_row_text(r, "b") || ll_row_text(r, "h");
    uint64_t count = count_given ? ll_row_dim(r, "n") : 0;
    uint64_t sides = sides_given || !count_given ? ll_mul(ll_row_dim(r, "b"), ll_row_dim(r, "h")) : count;
    if (count_given && count != sides)
        ll_row_refuse(r, "n is not b times h");
    return sides;
}

/* `nin`: tensors that each element is made of. */
static void works_ELEMENTWISE(struct ll_row_works *r)
{
    ll_row_vector(r, r->kind, elements(r), ll_row_dim_or(r, "nin", 1), r->element_flops);
}

static void works_PAIR(struct ll_row_works *r)
{
    ll_row_vector(r, r->kind, elements(r), ll_row_dim_or(r, "nin", 2), r->element_flops);
}

/* dy comes in, and what the forward op read or made. */
static void works_GRADIENT(struct ll_row_works *r)
{
    ll_row_vector(r, r->kind, elements(r), ll_add(1, ll_row_dim_or(r, "nin", 1)), r->element_flops);
}

/* Two rows of h come in, the gate and what it lets through; one goes out. */
static void works_GATED(struct ll_row_works *r)
{
    ll_row_vector(r, r->kind, elements(r), 2, r->element_flops);
}

/* A row, of h, is looked at whole before any of it is done. */
static void add_rows(struct ll_row_works *r, uint64_t inputs)
{
    struct ll_work *work = ll_row_vector(r, r->kind, elements(r), inputs, r->element_flops);
    work->vector.row = ll_row_dim(r, "h");
    work->lines = ll_row_dim(r, "b");
}

static void works_ROWS(struct ll_row_works *r)
{
    add_rows(r, 1);
}

/* dy comes in, and what the forward op read or made. */
static void works_ROWS_GRAD(struct ll_row_works *r)
{
    add_rows(r, 2);
}

/* What of a row tells how windows go over one side of an image. */
struct side {
    const char *in, *window, *out, *stride, *pad;
};

/* The last window begins within the image, with at most all of the first but one element before it where the
 * row names no padding; and windows that fit whole are not left out. How many of those that stick out at the
 * end count is a framework's choice. */
static void check_side(struct ll_row_works *r, struct side side)
{
    uint64_t in = ll_row_dim(r, side.in), window = ll_row_dim(r, side.window), out = ll_row_dim(r, side.out);
    uint64_t stride = ll_row_dim_or(r, side.stride, 1);
    uint64_t pad = row_padding(r, side.pad, window - 1);
    if (ll_mul(out - 1, stride) >= ll_add(in, pad))
        ll_row_refuse(r, "more comes out of the pooling than its windows find places for");
    if (ll_row_text(r, side.stride) && in >= window && out - 1 < (in - window) / stride)
        ll_row_refuse(r, "less comes out of the pooling than its windows find places for");
}

static void check_pool(struct ll_row_works *r)
{
    check_side(r, (struct side){"h", "r", "oh", "stride_h", "pad_h"});
    check_side(r, (struct side){"w", "s", "ow", "stride_w", "pad_w"});
}

static void add_pool(struct ll_row_works *r, bool gradient)
{
    check_pool(r);
    uint64_t planes = ll_mul(ll_row_dim(r, "b"), ll_row_dim(r, "c"));
    uint64_t in = ll_mul(planes, ll_mul(ll_row_dim(r, "h"), ll_row_dim(r, "w"))),
             out = ll_mul(planes, ll_mul(ll_row_dim(r, "oh"), ll_row_dim(r, "ow")));
    struct ll_work *work = ll_row_vector(r, r->kind, gradient ? in : out, 0, 0);
    work->flops = ll_mul(out, ll_mul(ll_row_dim(r, "r"), ll_row_dim(r, "s")));
    work->a_bytes = ll_mul(r->element_bytes, gradient ? ll_add(in, ll_mul(2, out)) : in);
}

static void works_POOL(struct ll_row_works *r)
{
    add_pool(r, false);
}

static void works_POOL_GRAD(struct ll_row_works *r)
{
    add_pool(r, true);
}

static void works_NETWORK(struct ll_row_works *r)
{
    ll_row_network(r);
}

static void works_SERVED_ATTENTION(struct ll_row_works *r)
{
    ll_row_attention(r);
}

static void works_LATENT_CONTEXT(struct ll_row_works *r)
{
    ll_row_latent_context(r);
}

static void works_EXPERTS(struct ll_row_works *r)
{
    ll_row_experts(r);
}

static void works_LATENT_GENERATION(struct ll_row_works *r)
{
    ll_row_latent_generation(r);
}

/* Notes name the kernel that was measured: the library's, or a server's in a graph or outside of one. */
static bool notes_say(const struct ll_measured *row, const char *word)
{
    return row->notes && strstr(row->notes, word);
}

/* Among `devices`, so many of them in a node (`devices_per_node`, or `devices` over `nodes`). */
static void add_exchange(struct ll_row_works *r, enum ll_collective collective)
{
    uint64_t devices = ll_row_dim(r, "devices"), bytes = ll_row_dim(r, "bytes");
    uint64_t nodes = ll_row_dim_or(r, "nodes", 1);
    uint64_t node_devices = ll_row_dim_or(r, "devices_per_node", devices / nodes);
    bool uneven = node_devices == 0 || devices % node_devices != 0;
    if (uneven || (ll_row_text(r, "nodes") && ll_mul(nodes, node_devices) != devices))
        ll_row_refuse(r, "its devices are not evenly spread over nodes");
    r->devices = devices;
    ll_row_add(r, LL_WORK_COLLECTIVE, r->kind)->a_bytes = bytes;
    struct ll_measured_part *part = r->out->count ? &r->out->at[r->out->count - 1] : NULL;
    if (part && !r->out->failed) {
        part->collective = collective;
        part->node_devices = node_devices;
        part->integers = strncmp(r->row->dtype, "int", 3) == 0;
        part->by_library = notes_say(r->row, "NCCL");
        part->eager = notes_say(r->row, "_eager");
    }
}

static void works_ALL_REDUCE(struct ll_row_works *r)
{
    add_exchange(r, LL_COLLECTIVE_ALL_REDUCE);
}

static void works_ALL_GATHER(struct ll_row_works *r)
{
    add_exchange(r, LL_COLLECTIVE_ALL_GATHER);
}

static void works_REDUCE_SCATTER(struct ll_row_works *r)
{
    add_exchange(r, LL_COLLECTIVE_REDUCE_SCATTER);
}

static void works_ALL_TO_ALL(struct ll_row_works *r)
{
    add_exchange(r, LL_COLLECTIVE_ALL_TO_ALL);
}

static void works_BROADCAST(struct ll_row_works *r)
{
    add_exchange(r, LL_COLLECTIVE_BROADCAST);
}

static void works_SEND_RECEIVE(struct ll_row_works *r)
{
    add_exchange(r, LL_COLLECTIVE_SEND_RECEIVE);
}

static void works_SPARSE(struct ll_row_works *r)
{
    ll_row_refuse(r, "sparse GEMMs are not simulated");
}

static void works_SHARE(struct ll_row_works *r)
{
    ll_row_refuse(r, "a share of a step is no work of its own");
}

/* The dimensions that a rule of measured_ops.def may be given, each between spaces: those that it asks for,
 * and those by which data tells what changes no work. What else stands in a row is not what it means. */
#define PRODUCT_KEYS " m n k bias "
#define CONV_KEYS " b c h w k r s stride_h stride_w pad_h pad_w dilation_h dilation_w groups "
#define RECURRENT_KEYS " type hidden batch steps layers input bidirectional skip_input "
#define ATTENTION_KEYS " b heads seq dim causal "
#define SERVED_KEYS " b q kv heads kv_dtype "
#define ROW_KEYS " n b h "
#define ELEMENT_KEYS ROW_KEYS "nin shape inplace "
#define POOL_KEYS " b c h w oh ow r s stride_h stride_w pad_h pad_w "
#define STEP_KEYS                                                                                            \
    " model batch mode image threads powersave fusion devices nodes input output layers hidden heads seq "   \
    "ctx params batch_tokens microbatch grad_accum sharding act_ckpt tp pp dp cp interleave recompute "      \
    "seqpar category "
#define EXCHANGE_KEYS " bytes devices nodes devices_per_node "
static const char keys_GEMM[] = PRODUCT_KEYS "ta tb ", keys_BMM[] = PRODUCT_KEYS "b ",
                  keys_DENSE_GRADS[] = PRODUCT_KEYS, keys_SPARSE[] = PRODUCT_KEYS "sparsity ",
                  keys_CONV_FORWARD[] = CONV_KEYS "add pool ", keys_CONV_DATA[] = CONV_KEYS,
                  keys_CONV_FILTER[] = CONV_KEYS, keys_CONV_GRADS[] = CONV_KEYS,
                  keys_RECURRENT[] = RECURRENT_KEYS, keys_RNN_WEIGHTS[] = RECURRENT_KEYS,
                  keys_RNN_GRADS[] = RECURRENT_KEYS, keys_ATTENTION[] = ATTENTION_KEYS,
                  keys_SERVED_ATTENTION[] = SERVED_KEYS "kv_heads d causal window ",
                  keys_LATENT_CONTEXT[] = SERVED_KEYS "tp ", keys_LATENT_GENERATION[] = SERVED_KEYS "tp ",
                  keys_EXPERTS[] = " tokens hidden inter topk experts tp ep dist ",
                  keys_ATTENTION_GRADS[] = ATTENTION_KEYS, keys_ROWS[] = ROW_KEYS,
                  keys_ROWS_GRAD[] = ROW_KEYS, keys_ELEMENTWISE[] = ELEMENT_KEYS, keys_PAIR[] = ELEMENT_KEYS,
                  keys_GRADIENT[] = ELEMENT_KEYS, keys_GATED[] = ROW_KEYS, keys_POOL[] = POOL_KEYS,
                  keys_POOL_GRAD[] = POOL_KEYS, keys_NETWORK[] = STEP_KEYS, keys_SHARE[] = STEP_KEYS,
                  keys_ALL_REDUCE[] = EXCHANGE_KEYS, keys_ALL_GATHER[] = EXCHANGE_KEYS,
                  keys_REDUCE_SCATTER[] = EXCHANGE_KEYS, keys_ALL_TO_ALL[] = EXCHANGE_KEYS,
                  keys_BROADCAST[] = EXCHANGE_KEYS, keys_SEND_RECEIVE[] = EXCHANGE_KEYS;

static const struct measured_op {
    const char *name, *family, *keys;
    void (*works)(struct ll_row_works *r);
    enum ll_op_kind kind;
    uint64_t flops;
} ops[] = {
#define LL_MEASURED(name, family, rule, kind, flops)                                                         \
    {name, family, keys_##rule, works_##rule, LL_OP_##kind, flops},
#include "sim/validate/measured_ops.def"
#undef LL_MEASURED
};

static const struct measured_op *find_op(const char *name)
{
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) {
        size_t length = strlen(ops[i].name) - 1;
        bool any_end = ops[i].name[length] == '*';
        if (any_end ? strncmp(name, ops[i].name, length) == 0 : strcmp(name, ops[i].name) == 0)
            return &ops[i];
    }
    return NULL;
}

static bool is_known(const char *keys, const char *key, size_t length)
{
    for (const char *at = keys; (at = strchr(at, ' ')); at++)
        if (strncmp(at + 1, key, length) == 0 && at[1 + length] == ' ')
            return true;
    return false;
}

/* Dimensions that are words, of which each chooses something, and those that are known, each between spaces;
 * op NULL: of any op. */
static const struct {
    const char *op, *key, *known;
} words[] = {
    {"e2e_infer", "mode", " forward inf prefill "},
    {"e2e_bwd", "mode", " backward "},
    {"e2e_train", "mode", " forward+backward train "},
    {NULL, "recompute", " none attn_only selective full "},
    {NULL, "seqpar", " 0 1 "},
    {NULL, "sharding", " NO_SHARD SHARD_GRAD_OP FULL_SHARD "},
    {NULL, "act_ckpt", " 0 1 "},
    {NULL, "fusion", " none torch.compile "},
};

static bool words_are_known(const struct ll_measured *row)
{
    bool known = true;
    for (size_t i = 0; i < sizeof words / sizeof *words && known; i++) {
        const char *text = ll_measured_text(row, words[i].key);
        if (text && (!words[i].op || strcmp(words[i].op, row->op) == 0))
            known = is_known(words[i].known, text, strcspn(text, ";"));
    }
    return known;
}

const char *ll_measured_stray(const struct ll_measured *row, const char *keys)
{
    for (const char *at = row->dims; at && *at; at = strchr(at, ';')) {
        at += *at == ';';
        size_t length = strcspn(at, "=;");
        if (length > 0 && !is_known(keys, at, length))
            return "a dimension stands there that its op, or its model, has not: see the row";
    }
    return words_are_known(row)
               ? NULL
               : "mode, recompute, seqpar, sharding, act_ckpt or fusion says what its op has "
                 "not: see the row";
}

static bool all_fit(const struct ll_measured_works *works)
{
    bool fit = true;
    for (uint64_t i = 0; fit && i < works->count; i++) {
        const struct ll_work *work = &works->at[i].work;
        fit = ll_fits(work->flops) && ll_fits(work->a_bytes) && ll_fits(work->b_bytes) &&
              ll_fits(work->c_bytes);
    }
    return fit;
}

/* `fp32|fp16`: weights are given in fp32, and kept and computed in fp16 where the machine can. */
static bool find_dtype(const struct ll_measured *row, const struct ll_machine *machine,
                       struct ll_row_works *r)
{
    struct ll_measured settled = *row;
    if (strcmp(row->op, "moe") == 0 || linear_format(row) < LL_LINEAR_FORMAT_COUNT) /* it is a format */
        settled.dtype = "bf16";
    else if (strcmp(row->dtype, "fp32|fp16") == 0)
        settled.dtype = machine && ll_machine_peak_flops(machine, LL_F16) > 0 ? "fp16" : "fp32";
    return ll_measured_dtype(&settled, &r->arithmetic, &r->element_bytes);
}

enum ll_measured_repeats ll_measured_repeats_of(const struct ll_measured *row)
{
    static const struct {
        const char *source;
        enum ll_measured_repeats repeats;
    } sources[] = {
#define LL_MEASURED_SOURCE(source, repeats) {source, LL_REPEATS_##repeats},
#include "sim/validate/measured_sources.def"
#undef LL_MEASURED_SOURCE
    };
    for (size_t i = 0; i < sizeof sources / sizeof *sources; i++)
        if (row->source && strcmp(sources[i].source, row->source) == 0)
            return sources[i].repeats;
    return LL_REPEATS_SAME;
}

const char *ll_measured_works(const struct ll_measured *row, const struct ll_machine *machine,
                              struct ll_measured_works *works)
{
    struct ll_row_works r = {.row = row, .times = 1, .devices = 1, .out = works};
    const struct measured_op *op = find_op(row->op);
    works->count = works->threads = 0;
    works->repeats = ll_measured_repeats_of(row);
    if (!op)
        return "no rule turns this op into work";
    if (!find_dtype(row, machine, &r))
        return LL_UNKNOWN_ELEMENTS;
    works->family = op->family;
    r.kind = op->kind;
    r.element_flops = op->flops;
    r.trouble = ll_measured_stray(row, op->keys);
    if (!r.trouble)
        op->works(&r);
    return r.trouble || all_fit(works) ? r.trouble : "a size does not fit in 64 bits";
}

void ll_measured_works_release(struct ll_measured_works *works)
{
    free(works->at);
    *works = (struct ll_measured_works){0};
}
