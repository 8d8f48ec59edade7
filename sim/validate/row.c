/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/validate/row.h"

#include <stdlib.h>
#include <string.h>

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

bool ll_row_either(struct ll_row_works *r, const char *key, const char *no, const char *yes)
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

uint64_t ll_row_padding(struct ll_row_works *r, const char *key, uint64_t otherwise)
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

struct ll_work *ll_row_product(struct ll_row_works *r, uint64_t m, uint64_t n, uint64_t k)
{
    return add_products(r, LL_OP_MATMUL, (struct ll_gemm){1, m, n, k});
}

struct ll_work *ll_row_products(struct ll_row_works *r, struct ll_gemm gemm)
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
