/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/cost/transform.h"

#include <inttypes.h>

static bool filter_fits(const struct ll_transform *t, uint64_t kernel)
{
    return kernel >= t->least_filter && kernel <= t->most_filter && kernel < t->size;
}

/* Of stride 1, the image with its padding is as large as the result and what a filter reaches beyond it. */
static bool image_fits(const struct ll_transform *t, uint64_t in, uint64_t out, uint64_t kernel)
{
    return t->most_image == 0 || ll_max(in, out + kernel - 1) <= t->most_image;
}

static bool pass_served(const struct ll_transform *t, enum ll_conv_pass pass)
{
    return pass == LL_CONV_FILTER ? !t->fused && !t->not_filters : !t->only_filters;
}

static bool serves(const struct ll_transform *t, const struct ll_work *convolution)
{
    const struct ll_conv *c = &convolution->conv;
    return !t->absent && t->rate[convolution->dtype] > 0 && pass_served(t, (enum ll_conv_pass)c->pass) &&
           c->groups == 1 && c->stride_h == 1 && c->stride_w == 1 && c->dilation_h <= 1 &&
           c->dilation_w <= 1 && filter_fits(t, c->kernel_h) && filter_fits(t, c->kernel_w) &&
           image_fits(t, c->in_h, c->out_h, c->kernel_h) && image_fits(t, c->in_w, c->out_w, c->kernel_w);
}

static uint64_t whole_blocks(uint64_t tiles, uint64_t block)
{
    return block > 1 ? ll_mul(ll_ceil_div(tiles, block), block) : tiles;
}

/* Tiles of outputs: of y, or of dx when the gradient of the input is asked for. */
static uint64_t tiles_of(const struct ll_transform *t, const struct ll_conv *c)
{
    bool data = c->pass == LL_CONV_DATA;
    uint64_t high = ll_ceil_div(data ? c->in_h : c->out_h, t->size - c->kernel_h + 1);
    uint64_t wide = ll_ceil_div(data ? c->in_w : c->out_w, t->size - c->kernel_w + 1);
    return ll_mul(c->batch, ll_mul(whole_blocks(high, t->block_rows), whole_blocks(wide, t->block_columns)));
}

static struct ll_gemm product_of(const struct ll_transform *t, const struct ll_conv *c, uint64_t tiles,
                                 uint64_t in_c, uint64_t out_c)
{
    uint64_t batch = ll_mul(t->products, ll_mul(t->size, t->size));
    if (t->fused)
        return (struct ll_gemm){t->products, ll_mul(t->size, tiles), ll_mul(t->size, out_c), in_c};
    if (c->pass == LL_CONV_FILTER)
        return (struct ll_gemm){batch, in_c, out_c, tiles};
    return (struct ll_gemm){batch, tiles, out_c, in_c};
}

/* Bytes in memory of one element of the convolution's left operand. Filters may lie there without their
 * zeros, which are back in what they are transformed to. */
static uint64_t element_bytes(const struct ll_work *convolution)
{
    const struct ll_conv *c = &convolution->conv;
    bool data = c->pass == LL_CONV_DATA;
    uint64_t pixels = data ? ll_mul(c->out_h, c->out_w) : ll_mul(c->in_h, c->in_w);
    uint64_t elements = ll_mul(ll_mul(c->batch, pixels), data ? c->out_c : c->in_c);
    return elements > 0 ? convolution->a_bytes / elements : 0;
}

/* Channels that go in and come out; tiles; bytes of the points that they and the filters become. */
struct points {
    uint64_t in_c, out_c, tiles, element;
    uint64_t image, filter, result;
};

static struct points points_of(const struct ll_transform *t, const struct ll_work *convolution)
{
    const struct ll_conv *c = &convolution->conv;
    bool data = c->pass == LL_CONV_DATA;
    struct points p = {.in_c = data ? c->out_c : c->in_c,
                       .out_c = data ? c->in_c : c->out_c,
                       .tiles = tiles_of(t, c),
                       .element = element_bytes(convolution)};
    uint64_t size = ll_mul(p.element, ll_mul(t->size, t->size));
    p.image = ll_mul(size, ll_mul(p.tiles, p.in_c));
    p.filter = ll_mul(size, ll_mul(p.in_c, p.out_c));
    p.result = ll_mul(size, ll_mul(p.tiles, p.out_c));
    return p;
}

bool ll_transform(const struct ll_transform *t, const struct ll_work *convolution, struct ll_transformed *out)
{
    const struct ll_conv *c = &convolution->conv;
    if (!serves(t, convolution))
        return false;
    struct points points = points_of(t, convolution);
    if (ll_mul(points.in_c, points.out_c) == 0 || points.element == 0)
        return false;
    bool filter_out = c->pass == LL_CONV_FILTER;
    struct ll_work *p = &out->product;
    *p = (struct ll_work){.kind = LL_WORK_GEMM, .dtype = convolution->dtype};
    p->gemm = product_of(t, c, points.tiles, points.in_c, points.out_c);
    p->flops = ll_mul(ll_mul(2 * p->gemm.batch, p->gemm.m), ll_mul(p->gemm.n, p->gemm.k));
    p->a_bytes = t->fused ? convolution->a_bytes : points.image;
    p->b_bytes = filter_out ? points.result : points.filter;
    p->c_bytes = t->fused ? convolution->c_bytes : filter_out ? points.filter : points.result;
    uint64_t apart = ll_add(convolution->b_bytes, p->b_bytes);
    if (!t->fused)
        apart = ll_add(apart, ll_add(ll_add(convolution->a_bytes, p->a_bytes),
                                     ll_add(convolution->c_bytes, p->c_bytes)));
    out->apart_bytes = (double)apart;
    return ll_fits(apart) && ll_fits(p->flops);
}

static void tell_tiles(const struct ll_transform *t, const struct ll_conv *c, uint64_t tiles,
                       struct ll_explain *why)
{
    bool data = c->pass == LL_CONV_DATA;
    uint64_t high = data ? c->in_h : c->out_h, wide = data ? c->in_w : c->out_w;
    uint64_t rows = t->size - c->kernel_h + 1, columns = t->size - c->kernel_w + 1;
    uint64_t block_rows = ll_max(1, t->block_rows), block_columns = ll_max(1, t->block_columns);
    ll_say(why,
           "tiles of %" PRIu64 " x %" PRIu64 " results, whole blocks of them: %" PRIu64
           " * (ceil(ceil(%" PRIu64 " / %" PRIu64 ") / %" PRIu64 ") * %" PRIu64 ") * (ceil(ceil(%" PRIu64
           " / %" PRIu64 ") / %" PRIu64 ") * %" PRIu64 ") = %" PRIu64,
           rows, columns, c->batch, high, rows, block_rows, block_rows, wide, columns, block_columns,
           block_columns, tiles);
}

/* `size` x `size` of them for each of so many times so many. */
static void tell_points(const struct ll_transform *t, const char *of, uint64_t many, uint64_t channels,
                        uint64_t element, uint64_t bytes, struct ll_explain *why)
{
    ll_say(why, "points of the %s: %" PRIu64 " * %" PRIu64 " * %" PRIu64 "^2 * %" PRIu64 " = %" PRIu64 " B",
           of, many, channels, t->size, element, bytes);
}

void ll_transform_tell(const struct ll_transform *t, const struct ll_work *convolution,
                       struct ll_explain *why)
{
    const struct ll_work *w = convolution;
    struct points p = points_of(t, w);
    tell_tiles(t, &w->conv, p.tiles, why);
    tell_points(t, "filters", p.in_c, p.out_c, p.element, p.filter, why);
    if (t->fused) {
        ll_say(why,
               "filters and their points, read and written apart: %" PRIu64 " + %" PRIu64 " = %" PRIu64 " B",
               w->b_bytes, p.filter, ll_add(w->b_bytes, p.filter));
        return;
    }
    tell_points(t, "image", p.tiles, p.in_c, p.element, p.image, why);
    tell_points(t, w->conv.pass == LL_CONV_FILTER ? "other operand" : "result", p.tiles, p.out_c, p.element,
                p.result, why);
    ll_say(why,
           "all that and the points of it, read and written apart: %" PRIu64 " + %" PRIu64 " + %" PRIu64
           " + %" PRIu64 " + %" PRIu64 " + %" PRIu64 " = %.10g B",
           w->a_bytes, w->b_bytes, w->c_bytes, p.filter, p.image, p.result,
           (double)w->a_bytes + (double)w->b_bytes + (double)w->c_bytes + (double)p.filter + (double)p.image +
               (double)p.result);
}
