/* SPDX-License-Identifier: Apache-2.0 */
/* Dumb twins of what detectors do beside convolving; see twins.h. */
#ifndef LL_TESTS_TWINS_DETECT_H
#define LL_TESTS_TWINS_DETECT_H

#include "tracer/base/random.h"
#include "twins.h"

#include <stdlib.h>

LL_TWIN_OF_ELEMENTS(SMOOTH_L1, 4, fabs(x) < limit ? 0.5 * x * x / limit : fabs(x) - 0.5 * limit)
LL_TWIN_OF_ELEMENTS(SMOOTH_L1_GRAD, 3, x *fmax(-1, fmin(1, y / limit)))

static inline uint64_t twin_UPSAMPLE(const struct ll_op_view *op, double *const *in, double *const *out)
{
    uint64_t kh = (uint64_t)ll_attr_count(op, LL_ATTR_KERNEL_H, 1),
             kw = (uint64_t)ll_attr_count(op, LL_ATTR_KERNEL_W, 1);
    const uint64_t *x = op->in[0].dim, *y = op->out[0].dim;
    for (uint64_t i = 0; i < ll_elements(&op->out[0]); i++) {
        uint64_t c = i % y[3], ox = i / y[3] % y[2], oy = i / y[3] / y[2] % y[1], b = i / y[3] / y[2] / y[1];
        out[0][i] = in[0][((b * x[1] + oy / kh) * x[2] + ox / kw) * x[3] + c];
    }
    return 0;
}

/* The first that comes to a pixel is not added to anything. */
static inline uint64_t twin_UPSAMPLE_GRAD(const struct ll_op_view *op, double *const *in, double *const *out)
{
    uint64_t kh = (uint64_t)ll_attr_count(op, LL_ATTR_KERNEL_H, 1),
             kw = (uint64_t)ll_attr_count(op, LL_ATTR_KERNEL_W, 1);
    const uint64_t *x = op->in[0].dim, *y = op->out[0].dim;
    uint64_t elements = ll_elements(&op->in[0]);
    memset(out[0], 0, ll_elements(&op->out[0]) * sizeof(double));
    for (uint64_t i = 0; i < elements; i++) {
        uint64_t c = i % x[3], ix = i / x[3] % x[2], iy = i / x[3] / x[2] % x[1], b = i / x[3] / x[2] / x[1];
        out[0][((b * y[1] + iy / kh) * y[2] + ix / kw) * y[3] + c] += in[0][i];
    }
    return elements - ll_elements(&op->out[0]);
}

/* Straight from the paper: p is the logistic function of a logit, p_t that of its label's side. */
static inline uint64_t twin_FOCAL_LOSS(const struct ll_op_view *op, double *const *in, double *const *out)
{
    uint64_t classes = op->in[0].dim[1], flops = 0;
    double alpha = ll_attr_real(op, LL_ATTR_ALPHA, 0.25), gamma = ll_attr_real(op, LL_ATTR_GAMMA, 2);
    memset(out[0], 0, op->in[0].dim[0] * sizeof(double));
    for (uint64_t i = 0; i < ll_elements(&op->in[0]); i++, flops += 12) {
        double label = in[1][i / classes], p = 1 / (1 + exp(-in[0][i])), side = 1;
        if (label != (double)(i % classes + 1))
            p = 1 - p, side = -1;
        double weight = side > 0 ? alpha : 1 - alpha;
        out[0][i / classes] += label < 0 ? 0 : -weight * pow(1 - p, gamma) * log(p);
        double by_p = weight * (gamma * pow(1 - p, gamma - 1) * log(p) - pow(1 - p, gamma) / p);
        out[1][i] = label < 0 ? 0 : side * by_p * p * (1 - p);
    }
    return flops;
}

/* Along one axis of a bin: pixels begin to before end of the image, which has so many. */
static inline void twin_bin(double low, double high, double scale, int64_t i, int64_t size, int64_t pixels,
                            int64_t *begin, int64_t *end)
{
    int64_t first = (int64_t)floor(low * scale + 0.5), last = (int64_t)floor(high * scale + 0.5);
    int64_t length = last < first ? 1 : last - first + 1;
    *begin = first + i * length / size;
    *end = first + ((i + 1) * length + size - 1) / size;
    *begin = *begin < 0 ? 0 : *begin > pixels ? pixels : *begin;
    *end = *end < 0 ? 0 : *end > pixels ? pixels : *end;
}

static inline uint64_t twin_ROI_POOL(const struct ll_op_view *op, double *const *in, double *const *out)
{
    const uint64_t *x = op->in[0].dim, *y = op->out[0].dim, regions = op->in[1].dim[1];
    double scale = ll_attr_real(op, LL_ATTR_SCALE, 1);
    for (uint64_t i = 0; i < ll_elements(&op->out[0]); i++) {
        uint64_t c = i % x[3], region = i / x[3] / y[2] / y[1];
        const double *box = in[1] + 4 * region, *image = in[0] + region / regions * x[1] * x[2] * x[3];
        int64_t top, bottom, left, right;
        twin_bin(box[1], box[3], scale, (int64_t)(i / x[3] / y[2] % y[1]), (int64_t)y[1], (int64_t)x[1], &top,
                 &bottom);
        twin_bin(box[0], box[2], scale, (int64_t)(i / x[3] % y[2]), (int64_t)y[2], (int64_t)x[2], &left,
                 &right);
        out[0][i] = 0;
        out[1][i] = -1;
        for (int64_t iy = top; iy < bottom; iy++)
            for (int64_t ix = left; ix < right; ix++) {
                int64_t pixel = iy * (int64_t)x[2] + ix;
                double value = image[(uint64_t)pixel * x[3] + c];
                if (out[1][i] < 0 || value > out[0][i])
                    out[0][i] = value, out[1][i] = (double)pixel;
            }
    }
    return ll_op_flops(op); /* as if each region were the whole image */
}

static inline uint64_t twin_ROI_POOL_GRAD(const struct ll_op_view *op, double *const *in, double *const *out)
{
    const uint64_t *x = op->out[0].dim, bins = ll_elements(&op->in[0]) / x[0];
    uint64_t flops = 0;
    memset(out[0], 0, ll_elements(&op->out[0]) * sizeof(double));
    for (uint64_t i = 0; i < ll_elements(&op->in[0]); i++, flops++)
        if (in[1][i] >= 0 && in[1][i] < (double)(x[1] * x[2]))
            out[0][(i / bins * x[1] * x[2] + (uint64_t)in[1][i]) * x[3] + i % x[3]] += in[0][i];
    return flops;
}

static inline uint64_t twin_BOX_DECODE(const struct ll_op_view *op, double *const *in, double *const *out)
{
    double most[] = {(double)ll_attr_count(op, LL_ATTR_WIDTH, 0),
                     (double)ll_attr_count(op, LL_ATTR_HEIGHT, 0)};
    double least = ll_attr_real(op, LL_ATTR_LEAST, 0);
    uint64_t n = op->in[0].dim[0];
    for (uint64_t i = 0; i < op->in[1].dim[0] * n; i++) {
        const double *anchor = in[0] + 4 * (i % n), *delta = in[1] + 4 * i;
        out[1][i] = 1;
        for (int k = 0; k < 2; k++) {
            double size = anchor[k + 2] - anchor[k],
                   centre = (anchor[k] + anchor[k + 2]) / 2 + delta[k] * size;
            size *= fmin(exp(delta[k + 2]), 62.5);
            double low = floor(centre - size / 2 + 0.5), high = floor(centre + size / 2 + 0.5);
            out[0][4 * i + (uint64_t)k] = fmin(fmax(low, 0), most[k]);
            out[0][4 * i + (uint64_t)k + 2] = fmin(fmax(high, 0), most[k]);
            if (out[0][4 * i + (uint64_t)k + 2] - out[0][4 * i + (uint64_t)k] < least)
                out[1][i] = 0;
        }
    }
    return ll_op_flops(op);
}

static inline double twin_area(double left, double top, double right, double bottom)
{
    return right > left && bottom > top ? (right - left) * (bottom - top) : 0;
}

/* What two boxes have in common, and what either has. */
static inline void twin_common(const double *a, const double *b, double *common, double *either)
{
    *common = twin_area(fmax(a[0], b[0]), fmax(a[1], b[1]), fmin(a[2], b[2]), fmin(a[3], b[3]));
    *either = twin_area(a[0], a[1], a[2], a[3]) + twin_area(b[0], b[1], b[2], b[3]) - *common;
}

/* A box is kept if none that was kept overlaps with it. */
static inline uint64_t twin_NMS(const struct ll_op_view *op, double *const *in, double *const *out)
{
    uint64_t n = op->in[0].dim[1], size = op->out[0].dim[1];
    double share = ll_attr_real(op, LL_ATTR_OVERLAP, 1), common, either;
    for (uint64_t image = 0; image < op->in[0].dim[0]; image++) {
        double *kept = out[0] + image * size;
        uint64_t found = 0;
        for (uint64_t i = 0; i < n && found < size; i++) {
            bool alone = true;
            for (uint64_t k = 0; k < found; k++) {
                twin_common(in[0] + 4 * (uint64_t)kept[k], in[0] + 4 * (image * n + i), &common, &either);
                alone &= common <= share * either;
            }
            if (alone)
                kept[found++] = (double)(image * n + i);
        }
        for (uint64_t i = found; i < size; i++)
            kept[i] = kept[i % found];
    }
    return ll_op_flops(op); /* as if all of them were compared */
}

/* So many of the numbers in the list, drawn as the op's stream says. */
static inline void twin_shuffle(uint64_t *list, uint64_t length, uint64_t key)
{
    for (uint64_t i = 0; i < length; i++) {
        uint64_t other = i + ll_random_bits(key, i) % (length - i), held = list[i];
        list[i] = list[other], list[other] = held;
    }
}

static inline uint64_t twin_BOX_SAMPLE(const struct ll_op_view *op, double *const *in, double *const *out)
{
    uint64_t n = op->in[0].dim[1], g = op->in[1].dim[1], size = op->out[0].dim[1], flops = 0;
    uint64_t classes = op->out[2].dim[2] / 4, *good = calloc(3 * (n + g) + size, sizeof *good);
    uint64_t *bad = good + n + g, *match = bad + n + g, *order = match + n + g;
    uint64_t stream = ll_random_key((uint64_t)ll_attr_count(op, LL_ATTR_SEED, 0),
                                    (uint64_t)ll_attr_count(op, LL_ATTR_STREAM, 0));
    stream = ll_random_key(stream, (uint64_t)(int64_t)in[2][0]);
    memset(out[2], 0, ll_elements(&op->out[2]) * sizeof(double));
    memset(out[3], 0, ll_elements(&op->out[3]) * sizeof(double));
    for (uint64_t image = 0; image < op->in[0].dim[0]; image++) {
        const double *truth = in[1] + image * g * 5;
        uint64_t goods = 0, bads = 0, found = 0, key = ll_random_key(stream, image);
        for (uint64_t i = 0; i < n + g; i++) {
            const double *box = i < n ? in[0] + (image * n + i) * 4 : truth + (i - n) * 5;
            double best = 0, common, either;
            for (uint64_t t = 0; t < g; t++, flops += 14) {
                twin_common(box, truth + 5 * t, &common, &either);
                if (truth[5 * t + 4] < 1 || truth[5 * t + 4] >= (double)classes || either <= 0 ||
                    common / either <= best)
                    continue;
                best = common / either;
                match[i] = t;
            }
            if (i >= n && (truth[(i - n) * 5 + 4] < 1 || truth[(i - n) * 5 + 4] >= (double)classes))
                continue;
            if (best > 0 && best >= ll_attr_real(op, LL_ATTR_OVERLAP, 0.5))
                good[goods++] = i;
            else
                bad[bads++] = i;
        }
        uint64_t share = (uint64_t)(ll_attr_real(op, LL_ATTR_KEEP, 0.25) * (double)size);
        uint64_t wanted = goods < share ? goods : share;
        twin_shuffle(good, goods, ll_random_key(key, 0));
        twin_shuffle(bad, bads, ll_random_key(key, 1));
        for (uint64_t i = 0; i < wanted + bads + goods - wanted && found < size; i++)
            order[found++] = i < wanted ? good[i] : i < wanted + bads ? bad[i - wanted] : good[i - bads];
        for (uint64_t i = 0; i < size; i++) {
            uint64_t c = order[i % found], at = image * size + i, label = 0;
            const double *box = c < n ? in[0] + (image * n + c) * 4 : truth + (c - n) * 5;
            for (uint64_t k = 0; k < goods; k++)
                if (good[k] == c)
                    label = (uint64_t)truth[5 * match[c] + 4];
            memcpy(out[0] + 4 * at, box, 4 * sizeof(double));
            out[1][at] = (double)label;
            for (uint64_t k = 0; label > 0 && k < 2; k++) {
                const double *to = truth + 5 * match[c];
                double from_size = fmax(box[k + 2] - box[k], 1), to_size = fmax(to[k + 2] - to[k], 1);
                double *targets = out[2] + (at * classes + label) * 4;
                targets[k] = ((to[k] + to[k + 2]) / 2 - (box[k] + box[k + 2]) / 2) / from_size / 0.1;
                targets[k + 2] = log(to_size / from_size) / 0.2;
                out[3][(at * classes + label) * 4 + k] = out[3][(at * classes + label) * 4 + k + 2] = 1;
            }
        }
    }
    free(good);
    return flops;
}

#endif
