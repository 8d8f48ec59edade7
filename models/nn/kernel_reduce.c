/* SPDX-License-Identifier: Apache-2.0 */
/* Many become few: sums, maxima, ranks; the last section pools windows of images. A sum is cut into parts by
 * its shape alone, and the parts are added in order:
 *
 *      x[outer, middle, inner] -> partial[part, outer, inner] -> y[outer, inner] */
#include <assert.h>
#include <math.h>
#include <string.h>

#include "models/nn/elementary.h"
#include "models/nn/kernel.h"

enum { FEW = 16, COLUMNS = 256, PART = 4096, GRAIN = 1 << 16 };

struct reduction {
    const real *in;
    real *out;
    double *partial;
    uint64_t middle, inner, results, parts;
    double divisor; /* of the results */
};

/* x without `axes` dimensions from `axis` on. At least 64 rows make a part, of a line at least PART numbers,
 * and there is a bound to what parts take in memory. */
static struct reduction reduction_of(const struct ll_shape *x, uint64_t axis, uint64_t axes)
{
    struct reduction r = {.middle = 1, .inner = 1, .divisor = 1};
    uint64_t outer = 1;
    for (uint64_t i = 0; i < x->rank; i++)
        *(i < axis ? &outer : i < axis + axes ? &r.middle : &r.inner) *= x->dim[i];
    r.results = outer * r.inner;
    uint64_t most = ll_min(64, (1 << 16) / ll_max(1, r.results));
    r.parts = ll_max(1, ll_min(r.middle / (r.inner == 1 ? PART : 64), most));
    return r;
}

static struct reduction by_attributes(const struct ll_op_view *op, const struct ll_shape *wide)
{
    int64_t axis = ll_attr_count(op, LL_ATTR_AXIS, 0);
    return reduction_of(wide, (uint64_t)axis, (uint64_t)ll_attr_count(op, LL_ATTR_AXES, wide->rank - axis));
}

static struct reduction all_but_last(const struct ll_shape *x)
{
    return reduction_of(x, 0, x->rank - 1u);
}

#ifndef LL_DOUBLE
uint64_t ll_reduce_workspace(const struct ll_op_view *op, unsigned threads)
{
    (void)threads;
    struct reduction r = op->kind == LL_OP_BIAS_GRAD ? all_but_last(&op->in[0])
                         : op->kind == LL_OP_L2_LOSS ? reduction_of(&op->in[0], 0, op->in[0].rank)
                                                     : by_attributes(op, &op->in[0]);
    return ll_mul(ll_mul(r.parts, r.results), sizeof(double));
}
#endif

/* The sum of a line: eight sums side by side, which four, two and one more of its numbers join on the way to
 * one, so that a line of a dozen numbers takes a dozen instructions. */
typedef real two_reals __attribute__((vector_size(2 * sizeof(real))));
typedef real four_reals __attribute__((vector_size(4 * sizeof(real))));
typedef real eight_reals __attribute__((vector_size(8 * sizeof(real))));
typedef double two_doubles __attribute__((vector_size(2 * sizeof(double))));
typedef double four_doubles __attribute__((vector_size(4 * sizeof(double))));
typedef double eight_doubles __attribute__((vector_size(8 * sizeof(double))));
static LL_INLINE double sum_line(const real *x, uint64_t count)
{
    eight_doubles eight = {0};
    eight_reals next_eight;
    four_reals next_four;
    two_reals next_two;
    for (; count >= 8; count -= 8, x += 8) {
        memcpy(&next_eight, x, sizeof next_eight);
        eight += __builtin_convertvector(next_eight, eight_doubles);
    }
    four_doubles four =
        __builtin_shufflevector(eight, eight, 0, 1, 2, 3) + __builtin_shufflevector(eight, eight, 4, 5, 6, 7);
    if (count & 4) {
        memcpy(&next_four, x, sizeof next_four);
        four += __builtin_convertvector(next_four, four_doubles);
        x += 4;
    }
    two_doubles two = __builtin_shufflevector(four, four, 0, 1) + __builtin_shufflevector(four, four, 2, 3);
    if (count & 2) {
        memcpy(&next_two, x, sizeof next_two);
        two += __builtin_convertvector(next_two, two_doubles);
        x += 2;
    }
    return two[0] + two[1] + (count & 1 ? (double)*x : 0);
}

/* The results of sums; a division by one, which most are not divided by, would take the longest. */
static LL_INLINE void put_results(real *restrict out, const double *sum, uint64_t count, double divisor)
{
    if (divisor == 1)
        for (uint64_t i = 0; i < count; i++)
            out[i] = (real)sum[i];
    else
        for (uint64_t i = 0; i < count; i++)
            out[i] = (real)(sum[i] / divisor);
}

/* So few columns that their sums stay in registers: `columns` is a constant of the caller. */
static LL_INLINE void sum_few_columns(const real *x, uint64_t rows, uint64_t stride, double *restrict sum,
                                      uint64_t columns)
{
    double few[FEW] = {0};
    for (uint64_t row = 0; row < rows; row++, x += stride)
        for (uint64_t i = 0; i < columns; i++)
            few[i] += (double)x[i];
    memcpy(sum, few, columns * sizeof *sum);
}

/* Neighbouring columns of some rows: many of them row after row, as they lie in memory. */
static LL_INLINE void sum_columns(const real *x, uint64_t rows, uint64_t stride, double *restrict sum,
                                  uint64_t columns)
{
    uint64_t at = 0;
    if (columns <= 4 * FEW) {
        for (; at + FEW <= columns; at += FEW)
            sum_few_columns(x + at, rows, stride, sum + at, FEW);
        for (; at + FEW / 4 <= columns; at += FEW / 4)
            sum_few_columns(x + at, rows, stride, sum + at, FEW / 4);
        for (; at < columns; at++)
            sum_few_columns(x + at, rows, stride, sum + at, 1);
        return;
    }
    memset(sum, 0, columns * sizeof *sum);
    for (uint64_t row = 0; row < rows; row++, x += stride)
        for (uint64_t i = 0; i < columns; i++)
            sum[i] += (double)x[i];
}

/* Chunk: results, each the sum of a line that is one part. */
LL_FAST static void sum_lines(void *context, uint64_t begin, uint64_t end, uint64_t chunk)
{
    (void)chunk;
    const struct reduction *r = context;
    const real *x = r->in + begin * r->middle;
    for (uint64_t line = begin; line < end; line++, x += r->middle) {
        const double sum = sum_line(x, r->middle);
        put_results(r->out + line, &sum, 1, r->divisor);
    }
}

/* Chunk: results of one part each, those that lie side by side at once. */
LL_FAST static void sum_whole_columns(void *context, uint64_t begin, uint64_t end, uint64_t chunk)
{
    (void)chunk;
    const struct reduction *r = context;
    double sum[COLUMNS];
    for (uint64_t at = begin, count; at < end; at += count) {
        uint64_t outer = at / r->inner, column = at % r->inner;
        count = ll_min(ll_min(COLUMNS, end - at), r->inner - column);
        sum_columns(r->in + outer * r->middle * r->inner + column, r->middle, r->inner, sum, count);
        put_results(r->out + at, sum, count, r->divisor);
    }
}

/* Chunk: elements of partial. */
LL_FAST static void sum_parts(void *context, uint64_t begin, uint64_t end, uint64_t chunk)
{
    (void)chunk;
    const struct reduction *r = context;
    for (uint64_t at = begin, count; at < end; at += count) {
        uint64_t part = at / r->results, result = at % r->results, column = result % r->inner;
        uint64_t first = r->middle * part / r->parts, rows = r->middle * (part + 1) / r->parts - first;
        const real *x = r->in + (result / r->inner * r->middle + first) * r->inner + column;
        count = ll_min(ll_min(COLUMNS, end - at), r->inner - column);
        if (r->inner == 1)
            r->partial[at] = sum_line(x, rows);
        else
            sum_columns(x, rows, r->inner, r->partial + at, count);
    }
}

LL_FAST static void add_parts(void *context, uint64_t begin, uint64_t end, uint64_t chunk)
{
    (void)chunk;
    const struct reduction *r = context;
    for (uint64_t i = begin; i < end; i++) {
        double sum = 0;
        for (uint64_t part = 0; part < r->parts; part++)
            sum += r->partial[part * r->results + i];
        r->out[i] = (real)(sum / r->divisor);
    }
}

static void reduce(const struct ll_kernel_call *call, struct reduction r)
{
    r.in = call->in[0];
    r.out = call->out[0];
    r.partial = call->workspace;
    uint64_t each = ll_max(1, r.middle / r.parts);
    if (r.parts == 1) {
        ll_pool_body *body = r.inner == 1 ? sum_lines : sum_whole_columns;
        ll_pool_run(call->pool, r.results, ll_max(1, GRAIN / each), body, &r);
        return;
    }
    ll_pool_run(call->pool, r.parts * r.results, ll_max(1, GRAIN / each), sum_parts, &r);
    ll_pool_run(call->pool, r.results, ll_max(1, GRAIN / r.parts), add_parts, &r);
}

LL_KERNEL(BIAS_GRAD)
{
    reduce(call, all_but_last(&call->op->in[0]));
}

LL_KERNEL(SUM)
{
    reduce(call, by_attributes(call->op, &call->op->in[0]));
}

LL_KERNEL(MEAN)
{
    struct reduction r = by_attributes(call->op, &call->op->in[0]);
    r.divisor = (double)r.middle;
    reduce(call, r);
}

/* Chunk: results, each the largest of its `middle` numbers. */
LL_FAST static void find_largest(void *context, uint64_t begin, uint64_t end, uint64_t chunk)
{
    (void)chunk;
    const struct reduction *r = context;
    for (uint64_t result = begin, count; result < end; result += count) {
        uint64_t column = result % r->inner;
        const real *x = r->in + (result - column) * r->middle + column;
        real *most = r->out + result;
        count = ll_min(ll_min(COLUMNS, end - result), r->inner - column);
        if (r->inner == 1) {
            *most = ll_largest(x, r->middle);
            continue;
        }
        memcpy(most, x, count * sizeof *most);
        for (uint64_t i = 1; i < r->middle; i++)
            ll_take_largest(x + i * r->inner, most, count);
    }
}

LL_KERNEL(MAX)
{
    struct reduction r = by_attributes(call->op, &call->op->in[0]);
    r.in = call->in[0];
    r.out = call->out[0];
    assert(r.middle > 0);
    uint64_t least = r.inner == 1 ? 1 : COLUMNS;
    ll_pool_run(call->pool, r.results, ll_max(least, GRAIN / r.middle), find_largest, &r);
}

/* Chunk: parts of the input. */
LL_FAST static void add_squares(void *context, uint64_t begin, uint64_t end, uint64_t chunk)
{
    (void)chunk;
    const struct reduction *r = context;
    for (uint64_t part = begin; part < end; part++) {
        uint64_t first = r->middle * part / r->parts, last = r->middle * (part + 1) / r->parts;
        const real *x = r->in;
        double sum = 0;
#pragma omp simd reduction(+ : sum)
        for (uint64_t i = first; i < last; i++)
            sum += (double)x[i] * (double)x[i];
        r->partial[part] = sum;
    }
}

LL_KERNEL(L2_LOSS)
{
    struct reduction r = reduction_of(&call->op->in[0], 0, call->op->in[0].rank);
    r.in = call->in[0];
    r.out = call->out[0];
    r.partial = call->workspace;
    r.divisor = 2;
    ll_pool_run(call->pool, r.parts, ll_max(1, GRAIN * r.parts / ll_max(1, r.middle)), add_squares, &r);
    add_parts(&r, 0, 1, 0);
}

static LL_INLINE void fill(real *restrict out, uint64_t count, real value)
{
    LL_ALONG(i, count, out[i] = value);
}

static LL_INLINE void copy_over(real *restrict out, const real *x, uint64_t count, real divisor)
{
    for (uint64_t i = 0; i < count; i++)
        out[i] = x[i] / divisor;
}

/* The first line fills the others, of which some go at a time where there are many: what is there already is
 * copied as long as it is near. */
static LL_INLINE void repeat_first(real *lines, uint64_t length, uint64_t count)
{
    enum { NEAR = 1024, SHORT = 64, SEVERAL = 16 };
    if (length <= SHORT && count <= SEVERAL) {
        for (uint64_t i = 1; i < count; i++)
            LL_ALONG(k, length, lines[i * length + k] = lines[k]);
        return;
    }
    uint64_t most = ll_max(1, NEAR / length);
    for (uint64_t done = 1, more; done < count; done += more) {
        more = ll_min(ll_min(done, most), count - done);
        memcpy(lines + done * length, lines, more * length * sizeof(real));
    }
}

/* Chunk: lines of the wide result, each a line of the input over the divisor. */
LL_FAST static void repeat_lines(void *context, uint64_t begin, uint64_t end, uint64_t chunk)
{
    (void)chunk;
    const struct reduction *r = context;
    const real divisor = (real)r->divisor;
    for (uint64_t line = begin, count; line < end; line += count) {
        const real *x = r->in + line / r->middle * r->inner;
        real *restrict out = r->out + line * r->inner;
        count = ll_min(end - line, r->middle - line % r->middle);
        copy_over(out, x, r->inner, divisor);
        repeat_first(out, r->inner, count);
    }
}

/* The same where lines are one element long: a whole run of them has the same. */
LL_FAST static void repeat_elements(void *context, uint64_t begin, uint64_t end, uint64_t chunk)
{
    (void)chunk;
    const struct reduction *r = context;
    const real divisor = (real)r->divisor;
    const real *x = r->in + begin / r->middle;
    uint64_t count = r->middle - begin % r->middle;
    for (uint64_t at = begin; at < end; at += count, count = r->middle) {
        count = ll_min(count, end - at);
        fill(r->out + at, count, *x++ / divisor);
    }
}

static void expand(const struct ll_kernel_call *call, bool divide)
{
    struct reduction r = by_attributes(call->op, &call->op->out[0]);
    r.in = call->in[0];
    r.out = call->out[0];
    r.divisor = divide ? (double)r.middle : 1;
    uint64_t lines = r.inner ? ll_elements(&call->op->out[0]) / r.inner : 0;
    ll_pool_run(call->pool, lines, ll_max(1, GRAIN / ll_max(1, r.inner)),
                r.inner == 1 ? repeat_elements : repeat_lines, &r);
}

LL_KERNEL(TILE)
{
    expand(call, false);
}

LL_KERNEL(MEAN_GRAD)
{
    expand(call, true);
}

/* Chunk: rows; the first of the largest. A row that begins with no number has it there. */
LL_FAST static void find_place(void *context, uint64_t begin, uint64_t end, uint64_t chunk)
{
    (void)chunk;
    const struct ll_kernel_call *call = context;
    uint64_t columns = call->op->in[0].dim[call->op->in[0].rank - 1];
    for (uint64_t row = begin; row < end; row++) {
        const real *x = (const real *)call->in[0] + row * columns, most = ll_largest(x, columns);
        uint64_t best = 0;
        while (x[best] != most && most == most)
            best++;
        ((int32_t *)call->out[0])[row] = (int32_t)best;
    }
}

LL_KERNEL(ARGMAX)
{
    struct ll_kernel_call job = *call;
    uint64_t columns = call->op->in[0].dim[call->op->in[0].rank - 1];
    ll_pool_run(call->pool, ll_elements(&call->op->out[0]), ll_max(1, GRAIN / ll_max(1, columns)), find_place,
                &job);
}

/* The best of many. A beam search wants few of them, each of which finds its place from below; a detector
 * wants thousands, and all are sorted. */

enum { RANK_GRAIN = 1 << 14, RANK_FEW = 64 };

struct ranked {
    real value;
    int32_t place;
};

struct lines {
    const real *x;
    real *values;
    int32_t *places;
    uint64_t length, kept;
    struct ranked *scratch; /* two lines for each thread */
};

#ifndef LL_DOUBLE
uint64_t ll_rank_workspace(const struct ll_op_view *op, unsigned threads)
{
    const struct ll_shape *x = &op->in[0];
    uint64_t each = x->dtype == LL_F64 ? 16 : sizeof(struct ranked);
    return op->out[0].dim[x->rank - 1] <= RANK_FEW ? 0
                                                   : ll_mul(ll_mul(threads, 2 * each), x->dim[x->rank - 1]);
}
#endif

/* The largest so far in falling order, of equals the first found in front. What is not above the last of
 * them, once there are enough, changes nothing; NaN never is. */
static LL_INLINE void rank_line(const real *x, uint64_t length, uint64_t kept, real *restrict values,
                                int32_t *restrict places)
{
    uint64_t found = 0;
    for (uint64_t i = 0; i < length; i++) {
        if (found == kept && !(x[i] > values[kept - 1]))
            continue;
        uint64_t at = found < kept ? found++ : kept - 1;
        for (; at > 0 && x[i] > values[at - 1]; at--) {
            values[at] = values[at - 1];
            places[at] = places[at - 1];
        }
        values[at] = x[i];
        places[at] = (int32_t)i;
    }
}

static void merge(const struct ranked *from, uint64_t begin, uint64_t middle, uint64_t end, struct ranked *to)
{
    uint64_t a = begin, b = middle;
    for (uint64_t i = begin; i < end; i++) {
        bool second = a == middle || (b < end && from[b].value > from[a].value);
        to[i] = from[second ? b++ : a++];
    }
}

/* By merging ever longer runs, so that of equals the first stays in front; what is no number comes last. */
static void sort_line(const real *x, uint64_t length, uint64_t kept, struct ranked *line, real *values,
                      int32_t *places)
{
    struct ranked *other = line + length;
    for (uint64_t i = 0; i < length; i++)
        line[i] = (struct ranked){x[i] == x[i] ? x[i] : (real)-INFINITY, (int32_t)i};
    for (uint64_t run = 1; run < length; run *= 2) {
        for (uint64_t begin = 0; begin < length; begin += 2 * run)
            merge(line, begin, ll_min(begin + run, length), ll_min(begin + 2 * run, length), other);
        struct ranked *merged = other;
        other = line;
        line = merged;
    }
    for (uint64_t i = 0; i < kept; i++) {
        values[i] = line[i].value;
        places[i] = line[i].place;
    }
}

static void sort_lines(void *context, uint64_t begin, uint64_t end, uint64_t chunk)
{
    (void)chunk;
    const struct lines *l = context;
    for (uint64_t i = begin; i < end; i++)
        sort_line(l->x + i * l->length, l->length, l->kept, l->scratch + ll_pool_worker() * 2 * l->length,
                  l->values + i * l->kept, l->places + i * l->kept);
}

LL_FAST static void rank_lines(void *context, uint64_t begin, uint64_t end, uint64_t chunk)
{
    (void)chunk;
    const struct lines *l = context;
    for (uint64_t i = begin; i < end; i++)
        rank_line(l->x + i * l->length, l->length, l->kept, l->values + i * l->kept, l->places + i * l->kept);
}

LL_KERNEL(TOP_K)
{
    const struct ll_shape *x = &call->op->in[0];
    struct lines l = {.x = call->in[0],
                      .values = call->out[0],
                      .places = call->out[1],
                      .length = x->dim[x->rank - 1],
                      .kept = call->op->out[0].dim[x->rank - 1],
                      .scratch = call->workspace};
    uint64_t lines = l.length ? ll_elements(x) / l.length : 0;
    ll_pool_run(call->pool, lines, ll_max(1, RANK_GRAIN / ll_max(1, l.length)),
                l.kept > RANK_FEW ? sort_lines : rank_lines, &l);
}

/* Index i of line n: of the lines of `range` elements each, cut into pieces of `size`, the piece it lies in
 * and where there. */
LL_KERNEL(UNRAVEL)
{
    const struct ll_shape *in = &call->op->in[0];
    const uint64_t size = (uint64_t)ll_attr_count(call->op, LL_ATTR_SIZE, 1);
    const uint64_t pieces = (uint64_t)ll_attr_count(call->op, LL_ATTR_RANGE, 1) / size;
    const int32_t *indices = call->in[0];
    int32_t *piece = call->out[0], *place = call->out[1];
    for (uint64_t i = 0; i < ll_elements(in); i++) {
        bool fits = ll_index_fits(call, indices[i], pieces * size);
        uint64_t index = fits ? (uint64_t)indices[i] : 0;
        piece[i] = (int32_t)(i / in->dim[in->rank - 1] * pieces + index / size);
        place[i] = (int32_t)(index % size);
    }
}

/* What pools of every kind share: where their windows lie. For kernel files only. */

/* Channels are cut into strips, so that overlapping windows of a gradient meet in one thread only. */
enum { STRIP = 32 };

struct pooling {
    const real *dy, *x, *y;
    real *out;
    uint64_t in_h, in_w, out_h, out_w, channels, strips, kernel_h, kernel_w, stride_h, stride_w;
    int64_t pad_top, pad_left;
};

static LL_INLINE struct pooling pooling_of(const struct ll_op_view *op, const struct ll_shape *in,
                                           const struct ll_shape *out)
{
    return (struct pooling){
        .in_h = in->dim[1],
        .in_w = in->dim[2],
        .out_h = out->dim[1],
        .out_w = out->dim[2],
        .channels = in->dim[3],
        .strips = ll_ceil_div(in->dim[3], STRIP),
        .kernel_h = (uint64_t)ll_attr_count(op, LL_ATTR_KERNEL_H, 1),
        .kernel_w = (uint64_t)ll_attr_count(op, LL_ATTR_KERNEL_W, 1),
        .stride_h = (uint64_t)ll_attr_count(op, LL_ATTR_STRIDE_H, 1),
        .stride_w = (uint64_t)ll_attr_count(op, LL_ATTR_STRIDE_W, 1),
        .pad_top = ll_attr_count(op, LL_ATTR_PAD_TOP, 0),
        .pad_left = ll_attr_count(op, LL_ATTR_PAD_LEFT, 0),
    };
}

/* A window clipped to the image. */
struct taps {
    uint64_t top, bottom, left, right;
};

static LL_INLINE uint64_t clip(int64_t position, uint64_t size)
{
    return position < 0 ? 0 : ll_min((uint64_t)position, size);
}

static LL_INLINE struct taps taps_of(const struct pooling *p, uint64_t y, uint64_t x)
{
    int64_t top = (int64_t)(y * p->stride_h) - p->pad_top, left = (int64_t)(x * p->stride_w) - p->pad_left;
    return (struct taps){clip(top, p->in_h), clip(top + (int64_t)p->kernel_h, p->in_h), clip(left, p->in_w),
                         clip(left + (int64_t)p->kernel_w, p->in_w)};
}

/* Maximum over windows, and its gradient: what flows in goes to the first tap that held the maximum. The
 * channels are cut into strips, so that overlapping windows of the gradient meet in one thread only. */

/* Chunk: lines of the pooled images. */
LL_FAST static void pool_lines(void *context, uint64_t begin, uint64_t end, uint64_t chunk)
{
    (void)chunk;
    const struct pooling *p = context;
    for (uint64_t pixel = begin * p->out_w; pixel < end * p->out_w; pixel++) {
        uint64_t line = pixel / p->out_w, image = line / p->out_h;
        struct taps taps = taps_of(p, line % p->out_h, pixel % p->out_w);
        real *most = p->out + pixel * p->channels;
        for (uint64_t c = 0; c < p->channels; c++)
            most[c] = (real)-INFINITY;
        for (uint64_t y = taps.top; y < taps.bottom; y++)
            for (uint64_t x = taps.left; x < taps.right; x++)
                ll_take_largest(p->x + ((image * p->in_h + y) * p->in_w + x) * p->channels, most,
                                p->channels);
    }
}

LL_KERNEL(MAX_POOL)
{
    struct pooling p = pooling_of(call->op, &call->op->in[0], &call->op->out[0]);
    p.x = call->in[0];
    p.out = call->out[0];
    ll_pool_run(call->pool, call->op->out[0].dim[0] * p.out_h, 1, pool_lines, &p);
}

/* Gives dy to the channels of this tap that hold the maximum and whose dy is not given yet. */
static LL_INLINE void give(const real *restrict x, const real *restrict y, real *restrict left,
                           real *restrict dx, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        real all = left[i], here = x[i] == y[i] ? all : 0;
        dx[i] += here;
        left[i] = all - here;
    }
}

/* Chunk: one strip of channels of one image. */
LL_FAST static void spread_strip(void *context, uint64_t begin, uint64_t end, uint64_t chunk)
{
    (void)end, (void)chunk;
    const struct pooling *p = context;
    assert(end == begin + 1);
    uint64_t image = begin / p->strips, first = begin % p->strips * STRIP;
    uint64_t count = ll_min(STRIP, p->channels - first);
    uint64_t in_pixels = p->in_h * p->in_w, out_pixels = p->out_h * p->out_w;
    const real *in = p->x + image * in_pixels * p->channels + first;
    real *dx = p->out + image * in_pixels * p->channels + first, left[STRIP];
    for (uint64_t pixel = 0; pixel < in_pixels; pixel++)
        memset(dx + pixel * p->channels, 0, count * sizeof(real));
    for (uint64_t pixel = 0; pixel < out_pixels; pixel++) {
        struct taps taps = taps_of(p, pixel / p->out_w, pixel % p->out_w);
        uint64_t result = (image * out_pixels + pixel) * p->channels + first;
        memcpy(left, p->dy + result, count * sizeof(real));
        for (uint64_t y = taps.top; y < taps.bottom; y++)
            for (uint64_t x = taps.left; x < taps.right; x++) {
                uint64_t tap = (y * p->in_w + x) * p->channels;
                give(in + tap, p->y + result, left, dx + tap, count);
            }
    }
}

LL_KERNEL(MAX_POOL_GRAD)
{
    struct pooling p = pooling_of(call->op, &call->op->in[1], &call->op->in[0]);
    p.dy = call->in[0];
    p.x = call->in[1];
    p.y = call->in[2];
    p.out = call->out[0];
    ll_pool_run(call->pool, call->op->in[1].dim[0] * p.strips, 1, spread_strip, &p);
}

/* The mean over windows, and its gradient: every tap of a window gets the same share of dy. What a window
 * holds outside of the image is zero and counts, as MXNet and PyTorch have it. */

static LL_INLINE void add_channels(const real *restrict x, real *restrict sum, uint64_t count)
{
    for (uint64_t c = 0; c < count; c++)
        sum[c] += x[c];
}

static LL_INLINE void scale_channels(real factor, real *restrict x, uint64_t count)
{
    for (uint64_t c = 0; c < count; c++)
        x[c] *= factor;
}

static LL_INLINE real share_of(const struct pooling *p)
{
    return 1 / (real)(p->kernel_h * p->kernel_w);
}

/* Chunk: lines of the pooled images. */
LL_FAST static void average_lines(void *context, uint64_t begin, uint64_t end, uint64_t chunk)
{
    (void)chunk;
    const struct pooling *p = context;
    for (uint64_t pixel = begin * p->out_w; pixel < end * p->out_w; pixel++) {
        uint64_t line = pixel / p->out_w, image = line / p->out_h;
        struct taps taps = taps_of(p, line % p->out_h, pixel % p->out_w);
        real *mean = p->out + pixel * p->channels;
        memset(mean, 0, p->channels * sizeof *mean);
        for (uint64_t y = taps.top; y < taps.bottom; y++)
            for (uint64_t x = taps.left; x < taps.right; x++)
                add_channels(p->x + ((image * p->in_h + y) * p->in_w + x) * p->channels, mean, p->channels);
        scale_channels(share_of(p), mean, p->channels);
    }
}

LL_KERNEL(AVG_POOL)
{
    struct pooling p = pooling_of(call->op, &call->op->in[0], &call->op->out[0]);
    p.x = call->in[0];
    p.out = call->out[0];
    ll_pool_run(call->pool, call->op->out[0].dim[0] * p.out_h, 1, average_lines, &p);
}

/* Chunk: one strip of channels of one image. */
LL_FAST static void share_strip(void *context, uint64_t begin, uint64_t end, uint64_t chunk)
{
    (void)end, (void)chunk;
    const struct pooling *p = context;
    assert(end == begin + 1);
    uint64_t image = begin / p->strips, first = begin % p->strips * STRIP;
    uint64_t count = ll_min(STRIP, p->channels - first);
    uint64_t in_pixels = p->in_h * p->in_w, out_pixels = p->out_h * p->out_w;
    real *dx = p->out + image * in_pixels * p->channels + first, share[STRIP];
    for (uint64_t pixel = 0; pixel < in_pixels; pixel++)
        memset(dx + pixel * p->channels, 0, count * sizeof(real));
    for (uint64_t pixel = 0; pixel < out_pixels; pixel++) {
        struct taps taps = taps_of(p, pixel / p->out_w, pixel % p->out_w);
        memcpy(share, p->dy + (image * out_pixels + pixel) * p->channels + first, count * sizeof(real));
        scale_channels(share_of(p), share, count);
        for (uint64_t y = taps.top; y < taps.bottom; y++)
            for (uint64_t x = taps.left; x < taps.right; x++)
                add_channels(share, dx + (y * p->in_w + x) * p->channels, count);
    }
}

LL_KERNEL(AVG_POOL_GRAD)
{
    struct pooling p = pooling_of(call->op, &call->op->out[0], &call->op->in[0]);
    p.dy = call->in[0];
    p.out = call->out[0];
    ll_pool_run(call->pool, call->op->out[0].dim[0] * p.strips, 1, share_strip, &p);
}

/* Pixels that become blocks of their kind, and blocks that become their sum. */

struct blocks {
    const real *x;
    real *out;
    uint64_t small_w, channels, high, wide;
};

static struct blocks blocks_of(const struct ll_kernel_call *call, const struct ll_shape *small)
{
    return (struct blocks){
        .x = call->in[0],
        .out = call->out[0],
        .small_w = small->dim[2],
        .channels = small->dim[3],
        .high = (uint64_t)ll_attr_count(call->op, LL_ATTR_KERNEL_H, 1),
        .wide = (uint64_t)ll_attr_count(call->op, LL_ATTR_KERNEL_W, 1),
    };
}

/* Chunk: lines of the small images. */
static void enlarge_lines(void *context, uint64_t begin, uint64_t end, uint64_t chunk)
{
    (void)chunk;
    const struct blocks *b = context;
    const size_t pixel = b->channels * sizeof(real), line = b->small_w * b->wide * b->channels;
    for (uint64_t y = begin; y < end; y++) {
        real *first = b->out + y * b->high * line;
        for (uint64_t x = 0; x < b->small_w * b->wide; x++)
            memcpy(first + x * b->channels, b->x + (y * b->small_w + x / b->wide) * b->channels, pixel);
        for (uint64_t more = 1; more < b->high; more++)
            memcpy(first + more * line, first, line * sizeof(real));
    }
}

LL_KERNEL(UPSAMPLE)
{
    struct blocks b = blocks_of(call, &call->op->in[0]);
    ll_pool_run(call->pool, call->op->in[0].dim[0] * call->op->in[0].dim[1], 1, enlarge_lines, &b);
}

static LL_INLINE void add_pixel(const real *restrict x, real *restrict sum, uint64_t channels)
{
    for (uint64_t c = 0; c < channels; c++)
        sum[c] += x[c];
}

/* Chunk: lines of the small images. */
LL_FAST static void pool_sum_lines(void *context, uint64_t begin, uint64_t end, uint64_t chunk)
{
    (void)chunk;
    const struct blocks *b = context;
    const uint64_t large_w = b->small_w * b->wide;
    for (uint64_t y = begin; y < end; y++) {
        real *sums = b->out + y * b->small_w * b->channels;
        memset(sums, 0, b->small_w * b->channels * sizeof *sums);
        for (uint64_t line = y * b->high; line < (y + 1) * b->high; line++)
            for (uint64_t x = 0; x < large_w; x++)
                add_pixel(b->x + (line * large_w + x) * b->channels, sums + x / b->wide * b->channels,
                          b->channels);
    }
}

LL_KERNEL(UPSAMPLE_GRAD)
{
    struct blocks b = blocks_of(call, &call->op->out[0]);
    ll_pool_run(call->pool, call->op->out[0].dim[0] * call->op->out[0].dim[1], 1, pool_sum_lines, &b);
}
