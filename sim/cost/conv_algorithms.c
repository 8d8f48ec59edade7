/* SPDX-License-Identifier: Apache-2.0 */
/* The convolution algorithms of a software stack: implicit GEMM, depthwise, Winograd and FFT transforms,
 * strided data gradients.
 *
 * For each algorithm that applies to a convolution, ll_variants gives the work as that algorithm does it and
 * the traffic of its transforms. The cost model then costs all of them and takes the best. */
#include <inttypes.h>
#include <string.h>

#include "sim/cost/cost_parts.h"

static bool filter_fits(const struct ll_transform *t, uint64_t kernel)
{
    return kernel >= t->least_filter && kernel <= t->most_filter && kernel < t->size;
}

static bool pass_served(const struct ll_transform *t, enum ll_conv_pass pass)
{
    return pass == LL_CONV_FILTER ? !t->fused : !t->only_filter_gradients;
}

static bool serves(const struct ll_transform *t, const struct ll_work *convolution)
{
    const struct ll_conv *c = &convolution->conv;
    return !t->absent && t->rate[convolution->dtype] > 0 && pass_served(t, (enum ll_conv_pass)c->pass) &&
           c->groups == 1 && c->stride_h == 1 && c->stride_w == 1 && c->dilation_h <= 1 &&
           c->dilation_w <= 1 && filter_fits(t, c->kernel_h) && filter_fits(t, c->kernel_w);
}

/* Tiles of outputs: of y, or of dx when the gradient of the input is asked for. */
static uint64_t tiles_of(const struct ll_transform *t, const struct ll_conv *c)
{
    bool data = c->pass == LL_CONV_DATA;
    uint64_t high = ll_ceil_div(data ? c->in_h : c->out_h, t->size - c->kernel_h + 1);
    uint64_t wide = ll_ceil_div(data ? c->in_w : c->out_w, t->size - c->kernel_w + 1);
    return ll_mul(c->batch, ll_mul(high, wide));
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

static void explain_tiles(const struct ll_transform *t, const struct ll_conv *c, uint64_t tiles,
                          struct ll_explain *why)
{
    bool data = c->pass == LL_CONV_DATA;
    uint64_t high = data ? c->in_h : c->out_h, wide = data ? c->in_w : c->out_w;
    uint64_t rows = t->size - c->kernel_h + 1, columns = t->size - c->kernel_w + 1;
    ll_say(why,
           "tiles of %" PRIu64 " x %" PRIu64 " results: %" PRIu64 " * ceil(%" PRIu64 " / %" PRIu64
           ") * ceil(%" PRIu64 " / %" PRIu64 ") = %" PRIu64,
           rows, columns, c->batch, high, rows, wide, columns, tiles);
}

/* `size` x `size` of them for each of so many times so many. */
static void explain_points(const struct ll_transform *t, const char *of, uint64_t many, uint64_t channels,
                           uint64_t element, uint64_t bytes, struct ll_explain *why)
{
    ll_say(why, "points of the %s: %" PRIu64 " * %" PRIu64 " * %" PRIu64 "^2 * %" PRIu64 " = %" PRIu64 " B",
           of, many, channels, t->size, element, bytes);
}

/* How many tiles there are, and what the passes move. */
static void explain_transform(const struct ll_transform *t, const struct ll_work *convolution,
                              struct ll_explain *why)
{
    const struct ll_work *w = convolution;
    struct points p = points_of(t, w);
    explain_tiles(t, &w->conv, p.tiles, why);
    explain_points(t, "filters", p.in_c, p.out_c, p.element, p.filter, why);
    if (t->fused) {
        ll_say(why,
               "filters and their points, read and written apart: %" PRIu64 " + %" PRIu64 " = %" PRIu64 " B",
               w->b_bytes, p.filter, ll_add(w->b_bytes, p.filter));
        return;
    }
    explain_points(t, "image", p.tiles, p.in_c, p.element, p.image, why);
    explain_points(t, w->conv.pass == LL_CONV_FILTER ? "other operand" : "result", p.tiles, p.out_c,
                   p.element, p.result, why);
    ll_say(why,
           "all that and the points of it, read and written apart: %" PRIu64 " + %" PRIu64 " + %" PRIu64
           " + %" PRIu64 " + %" PRIu64 " + %" PRIu64 " = %.10g B",
           w->a_bytes, w->b_bytes, w->c_bytes, p.filter, p.image, p.result,
           (double)w->a_bytes + (double)w->b_bytes + (double)w->c_bytes + (double)p.filter + (double)p.image +
               (double)p.result);
}

/* All operands, read and written. */
static double relaid_bytes(const struct ll_work *work, const struct ll_variant *v)
{
    return v->relaid ? 2 * ((double)work->a_bytes + (double)work->b_bytes + (double)work->c_bytes) : 0;
}

static void explain_pixels(const struct ll_work *work, const struct ll_variant *v, struct ll_explain *why)
{
    const struct ll_conv *c = &work->conv;
    if (v->work.a_bytes < work->a_bytes)
        ll_say(why,
               "of the image, pixels that lie in windows: floor(%" PRIu64 " * min(1, %" PRIu64 " / %" PRIu64
               ") * min(1, %" PRIu64 " / %" PRIu64 ")) = %" PRIu64 " B",
               work->a_bytes, c->kernel_h, c->stride_h, c->kernel_w, c->stride_w, v->work.a_bytes);
}

/* Pixels that lie between windows are not read; by gradients of filters they are, as measured times tell
 * (deepbench.csv). */
static struct ll_variant as_it_is(const struct ll_work *work)
{
    struct ll_variant v = {
        .work = *work, .rate = 1, .windows = work->kind == LL_WORK_CONV, .explain = explain_pixels};
    const struct ll_conv *c = &work->conv;
    if (v.windows && c->pass == LL_CONV_FORWARD)
        v.work.a_bytes = (uint64_t)((double)work->a_bytes * ll_share_in_windows(c));
    return v;
}

static bool strided_gradient(const struct ll_work *work)
{
    const struct ll_conv *c = &work->conv;
    return work->kind == LL_WORK_CONV && c->pass == LL_CONV_DATA && c->groups == 1 &&
           ll_mul(c->stride_h, c->stride_w) > 1;
}

/* Zeros are spread between the elements of dy, and every pixel of dx is the product of all taps: stride_h
 * stride_w times the work. */
static struct ll_variant dilated(const struct ll_work *work)
{
    const struct ll_conv *c = &work->conv;
    struct ll_variant v = {.name = "zeros spread between", .work = *work, .rate = 1, .windows = true};
    v.work.kind = LL_WORK_GEMM;
    v.work.gemm = (struct ll_gemm){1, ll_mul(c->batch, ll_mul(c->in_h, c->in_w)), c->in_c,
                                   ll_mul(ll_mul(c->kernel_h, c->kernel_w), c->out_c)};
    v.work.flops = ll_mul(ll_mul(2, v.work.gemm.m), ll_mul(v.work.gemm.n, v.work.gemm.k));
    return v;
}

/* Each pixel of dx sums the taps of its remainder by the stride: as many windows as there are pixels over
 * the stride, of which those at the border of an image without padding reach past dy. */
static struct ll_variant in_phases(const struct ll_work *work)
{
    struct ll_variant v = as_it_is(work);
    struct ll_conv *c = &v.work.conv;
    double windows = (double)c->out_h * (double)c->out_w;
    c->out_h = ll_max(c->out_h, ll_ceil_div(c->in_h, c->stride_h));
    c->out_w = ll_max(c->out_w, ll_ceil_div(c->in_w, c->stride_w));
    double more = windows > 0 ? (double)c->out_h * (double)c->out_w / windows : 1;
    v.work.flops = (uint64_t)((double)work->flops * more);
    v.name = more > 1 ? "phases, past the borders" : NULL;
    return v;
}

/* Elements of the windows' columns for each pixel; none where no windows overlap. */
static double columns_of_pixel(const struct ll_conv *c)
{
    bool overlap = c->kernel_h > c->stride_h || c->kernel_w > c->stride_w;
    double pixels = (double)c->batch * (double)c->in_h * (double)c->in_w;
    double windows = (double)c->batch * (double)c->out_h * (double)c->out_w;
    double taps = (double)c->kernel_h * (double)c->kernel_w;
    return overlap && pixels > 0 ? windows * taps / pixels : 0;
}

static void explain_scattering(const struct ll_work *work, const struct ll_variant *v, struct ll_explain *why)
{
    const struct ll_conv *c = &work->conv;
    double columns = columns_of_pixel(c);
    if (columns > 0)
        ll_say(why,
               "elements of windows for each pixel: %" PRIu64 " * %" PRIu64 " * %" PRIu64 " * %" PRIu64
               " / (%" PRIu64 " * %" PRIu64 ") = %.10g",
               c->out_h, c->out_w, c->kernel_h, c->kernel_w, c->in_h, c->in_w, columns);
    ll_say(why,
           "result cleared, and its windows written and read, apart: %" PRIu64 " + 2 * %.10g * %" PRIu64
           " = %.10g B",
           work->c_bytes, columns, work->c_bytes, v->apart_bytes - relaid_bytes(work, v));
}

/* dx is cleared; where windows overlap, their columns are written, read and added up. */
static struct ll_variant scattered(const struct ll_work *work)
{
    double dx = (double)work->c_bytes;
    return (struct ll_variant){.name = "scattering",
                               .work = *work,
                               .rate = 1,
                               .windows = true,
                               .apart_bytes = dx + 2 * columns_of_pixel(&work->conv) * dx,
                               .explain = explain_scattering};
}

static void explain_columns(const struct ll_work *work, const struct ll_variant *v, struct ll_explain *why)
{
    const struct ll_conv *c = &work->conv;
    uint64_t image_bytes = c->pass == LL_CONV_DATA ? work->c_bytes : work->a_bytes;
    double columns = v->apart_bytes - (double)image_bytes;
    ll_say(why,
           "windows as columns: %" PRIu64 " / (%" PRIu64 " * %" PRIu64 ") * %" PRIu64 " * %" PRIu64
           " * %" PRIu64 " * %" PRIu64 " = %.10g B",
           image_bytes, c->in_h, c->in_w, c->out_h, c->out_w, c->kernel_h, c->kernel_w, columns);
    ll_say(why, "image and columns, read and written apart: %" PRIu64 " + %.10g = %.10g B", image_bytes,
           columns, v->apart_bytes);
}

/* One GEMM an image over its windows, which are copied to columns before, or added up from them behind. */
static struct ll_variant in_columns(const struct ll_work *work)
{
    const struct ll_conv *c = &work->conv;
    struct ll_variant v = {.name = "columns",
                           .work = {.kind = LL_WORK_SEQUENCE, .dtype = work->dtype},
                           .rate = 1,
                           .explain = explain_columns};
    v.work.kept = work->kept;
    v.work.of = work->of;
    bool data = c->pass == LL_CONV_DATA, filter = c->pass == LL_CONV_FILTER;
    uint64_t pixels = ll_mul(c->out_h, c->out_w),
             k = ll_mul(ll_mul(c->kernel_h, c->kernel_w), c->in_c / c->groups);
    uint64_t n = c->out_c / c->groups, image = ll_mul(ll_mul(c->in_h, c->in_w), c->in_c);
    uint64_t image_bytes = data ? work->c_bytes : work->a_bytes;
    double columns =
        image > 0 ? (double)image_bytes * (double)pixels * (double)k * (double)c->groups / (double)image : 0;
    v.work.flops = work->flops;
    v.work.sequence.steps = c->batch;
    v.work.sequence.step = data     ? (struct ll_gemm){c->groups, pixels, k, n}
                           : filter ? (struct ll_gemm){c->groups, k, n, pixels}
                                    : (struct ll_gemm){c->groups, pixels, n, k};
    /* The filters stay from image to image. Their gradient is summed up in place, over what differs. */
    v.work.sequence.fresh = filter;
    v.work.a_bytes = data ? work->a_bytes : (uint64_t)columns;
    v.work.b_bytes = work->b_bytes;
    v.work.c_bytes = data ? (uint64_t)columns : filter ? ll_mul(work->c_bytes, c->batch) : work->c_bytes;
    v.apart_bytes = columns + (double)image_bytes;
    return v;
}

bool ll_on_lanes(const struct ll_software *software, const struct ll_work *work)
{
    const struct ll_conv *c = &work->conv;
    return software->depthwise_efficiency > 0 && software->convolving == LL_CONVOLVING_DIRECT &&
           work->kind == LL_WORK_CONV && c->groups > 1 && c->groups == c->in_c;
}

static void explain_lanes(const struct ll_work *work, const struct ll_variant *v, struct ll_explain *why)
{
    uint64_t image = v->work.a_bytes - work->b_bytes;
    ll_say(why,
           "image, pixels between windows left out, and filters: %" PRIu64 " + %" PRIu64 " = %" PRIu64 " B",
           image, work->b_bytes, v->work.a_bytes);
}

/* A lane sums up the taps of an element of the result. Those of a filter, of which there are few, are summed
 * up by all lanes. */
static struct ll_variant on_lanes(const struct ll_software *software, const struct ll_work *work)
{
    const struct ll_conv *c = &work->conv;
    struct ll_variant v = as_it_is(work);
    uint64_t taps = ll_mul(c->kernel_h, c->kernel_w),
             x = ll_mul(ll_mul(c->batch, c->in_c), ll_mul(c->in_h, c->in_w)),
             y = ll_mul(ll_mul(c->batch, c->out_c), ll_mul(c->out_h, c->out_w));
    v.name = "lanes, one channel each";
    v.explain = explain_lanes;
    v.rate = software->depthwise_efficiency;
    v.windows = false;
    v.work = (struct ll_work){.dtype = work->dtype,
                              .flops = work->flops,
                              .a_bytes = ll_add(v.work.a_bytes, work->b_bytes),
                              .c_bytes = work->c_bytes};
    if (c->pass == LL_CONV_FILTER) {
        v.work.kind = LL_WORK_REDUCE;
        v.work.reduce.in_elements = ll_mul(y, taps);
        v.work.reduce.out_elements = ll_mul(c->out_c, taps);
    } else {
        v.work.kind = LL_WORK_VECTOR;
        v.work.vector.elements = c->pass == LL_CONV_DATA ? x : y;
    }
    return v;
}

/* How many groups make up a block: the most that divide all of them and whose channels find room in it. */
static uint64_t groups_of_block(const struct ll_software *software, const struct ll_work *work)
{
    const struct ll_conv *c = &work->conv;
    if (work->kind != LL_WORK_CONV || c->groups < 2)
        return 1;
    const uint64_t channels = ll_max(c->in_c, c->out_c) / c->groups;
    uint64_t merged = channels > 0 ? ll_min(c->groups, software->group_block / channels) : 0;
    while (merged > 1 && c->groups % merged != 0)
        merged--;
    return ll_max(1, merged);
}

static void explain_blocks(const struct ll_work *work, const struct ll_variant *v, struct ll_explain *why)
{
    const uint64_t merged = work->conv.groups / v->work.conv.groups;
    explain_pixels(work, v, why);
    ll_say(why,
           "%" PRIu64 " groups at a time, their filters with zeros for the channels of the others: %" PRIu64
           " groups of %" PRIu64 " and %" PRIu64 " channels",
           merged, v->work.conv.groups, work->conv.in_c / v->work.conv.groups,
           work->conv.out_c / v->work.conv.groups);
}

/* Filters of a block hold zeros for the channels of its other groups, so that all of a matrix unit's rows and
 * columns have something to do: as often the work, and the filters, as a block has groups. */
static struct ll_variant in_blocks(const struct ll_work *work, uint64_t merged)
{
    struct ll_variant v = as_it_is(work);
    v.name = "blocks of groups, zeros between them";
    v.explain = explain_blocks;
    v.work.conv.groups /= merged;
    v.work.flops = ll_mul(work->flops, merged);
    if (work->conv.pass == LL_CONV_FILTER)
        v.work.c_bytes = ll_mul(work->c_bytes, merged);
    else
        v.work.b_bytes = ll_mul(work->b_bytes, merged);
    return v;
}

/* The same by kernels that skip zeros, if there are some. */
static size_t add_skipping(struct ll_variant *out, size_t count)
{
    if (out[count - 1].work.of == 0 && out[count - 1].work.a_nonzero == 0)
        return count;
    out[count] = out[count - 1];
    out[count].skips = true;
    return count + 1;
}

/* 1x1 filters that go from pixel to pixel are a plain GEMM, whatever the layout, where the pixels of a
 * channel are whole loads. */
static bool is_plain_gemm(const struct ll_work *work)
{
    const struct ll_conv *c = &work->conv;
    uint64_t taps = ll_mul(c->kernel_h, c->kernel_w), strides = ll_mul(c->stride_h, c->stride_w);
    uint64_t bits = ll_mul(ll_mul(c->in_h, c->in_w), ll_dtype_bits((enum ll_dtype)work->dtype));
    return taps == 1 && strides == 1 && bits % LL_LOAD_BITS == 0;
}

/* Kernels that read windows may want the operands laid out anew, whole, even where windows leave pixels out:
 * a kernel each for image, result and filters, of which those of one tap lie as they should. */
static void lay_out_anew(const struct ll_software *software, const struct ll_work *work, struct ll_variant *v)
{
    const struct ll_conv *c = &work->conv;
    double share = software->layout_transform[work->dtype];
    if (work->kind != LL_WORK_CONV || !v->windows || share == 0 || is_plain_gemm(work))
        return;
    v->relaid = true;
    v->layout_kernels = ll_mul(c->kernel_h, c->kernel_w) == 1 ? 2 : 3;
    v->apart_bytes += relaid_bytes(work, v);
    v->apart_share = share;
}

static size_t all_variants(const struct ll_software *software, const struct ll_work *work,
                           struct ll_variant out[LL_MOST_VARIANTS])
{
    size_t count = 0;
    if (ll_on_lanes(software, work)) {
        out[count++] = on_lanes(software, work);
        return count;
    }
    if (software->convolving == LL_CONVOLVING_COLUMNS && work->kind == LL_WORK_CONV && work->conv.batch > 0) {
        out[count++] = in_columns(work);
        return add_skipping(out, count);
    }
    if (software->strided == LL_STRIDED_LIBRARY && strided_gradient(work)) {
        out[count++] = dilated(work);
        out[count++] = scattered(work);
        return count;
    }
    bool phases = software->strided == LL_STRIDED_PHASES && work->kind == LL_WORK_CONV &&
                  work->conv.pass == LL_CONV_DATA;
    out[count++] = phases ? in_phases(work) : as_it_is(work);
    count = add_skipping(out, count);
    const uint64_t merged = groups_of_block(software, work);
    if (merged > 1)
        out[count++] = in_blocks(work, merged);
    for (uint64_t i = 0; work->kind == LL_WORK_CONV && i < software->transform_count; i++) {
        const struct ll_transform *t = &software->transforms[i];
        struct ll_transformed transformed;
        if (ll_transform(t, work, &transformed))
            out[count++] = (struct ll_variant){.name = t->name,
                                               .work = transformed.product,
                                               .apart_bytes = transformed.apart_bytes,
                                               .rate = t->rate[work->dtype],
                                               .overhead_s = t->overhead_s,
                                               .transform = t};
    }
    return count;
}

size_t ll_variants(const struct ll_software *software, const struct ll_work *work,
                   struct ll_variant out[LL_MOST_VARIANTS])
{
    size_t count = all_variants(software, work, out);
    for (size_t i = 0; i < count; i++)
        lay_out_anew(software, work, &out[i]);
    return count;
}

/* The sum is said where it has several parts. */
static void explain_relaid(const struct ll_work *work, const struct ll_variant *v, struct ll_explain *why)
{
    double all = relaid_bytes(work, v), before = v->apart_bytes - all;
    ll_say(why,
           "operands laid out anew, read and written apart: 2 * (%" PRIu64 " + %" PRIu64 " + %" PRIu64
           ") = %.10g B",
           work->a_bytes, work->b_bytes, work->c_bytes, all);
    if (before > 0)
        ll_say(why, "all that is moved apart: %.10g + %.10g = %.10g B", before, all, v->apart_bytes);
}

void ll_variant_explain(const struct ll_variant *variant, const struct ll_work *work, struct ll_explain *why)
{
    const struct ll_gemm *d = &variant->work.gemm;
    if (variant->transform)
        explain_transform(variant->transform, work, why);
    if (variant->name && variant->work.kind == LL_WORK_GEMM)
        ll_say(why, "convolution by %s: %" PRIu64 " GEMMs of %" PRIu64 " x %" PRIu64 " x %" PRIu64,
               variant->name, d->batch, d->m, d->n, d->k);
    else if (variant->name)
        ll_say(why, "convolution by %s", variant->name);
    if (variant->explain)
        variant->explain(work, variant, why);
    if (variant->relaid)
        explain_relaid(work, variant, why);
}

void ll_variant_binds(const struct ll_variant *variant, struct ll_task *task)
{
    if (variant->transform)
        task->whole_k = variant->transform->fused;
}
