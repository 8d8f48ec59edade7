/* SPDX-License-Identifier: Apache-2.0 */
/* Dumb twins of what networks do that write one word after the other; see twins.h. */
#ifndef LL_TESTS_TWINS_DECODER_H
#define LL_TESTS_TWINS_DECODER_H

#include "twins.h"

/* For each score, hidden or not: multiply, compare, subtract, exp, add, divide. */
static inline uint64_t twin_CAUSAL_SOFTMAX(const struct ll_op_view *op, double *const *in, double *const *out)
{
    const struct ll_shape *x = &op->in[0];
    uint64_t keys = x->dim[x->rank - 1], rows = x->dim[x->rank - 2], flops = 0;
    uint64_t groups = (uint64_t)ll_attr_count(op, LL_ATTR_GROUPS, 1);
    double scale = ll_attr_real(op, LL_ATTR_SCALE, 1);
    for (uint64_t i = 0; i < ll_elements(x); i++, flops += 6) {
        uint64_t position = i / keys % rows / groups, last = keys - rows / groups + position;
        last += (uint64_t)ll_attr_count(op, LL_ATTR_AFTER, 0);
        last = last < keys ? last : keys - 1;
        const double *line = in[0] + i / keys * keys;
        double sum = 0;
        for (uint64_t k = 0; k <= last; k++)
            sum += exp(scale * (line[k] - in[0][i]));
        out[0][i] = i % keys <= last ? 1 / sum : 0;
    }
    return flops;
}

/* For each score: a product and a sum, a difference, two products. */
static inline uint64_t twin_CAUSAL_SOFTMAX_GRAD(const struct ll_op_view *op, double *const *in,
                                                double *const *out)
{
    uint64_t keys = op->in[0].dim[op->in[0].rank - 1], flops = 0;
    double scale = ll_attr_real(op, LL_ATTR_SCALE, 1);
    for (uint64_t i = 0; i < ll_elements(&op->in[0]); i++, flops += 5) {
        double sum = 0;
        for (uint64_t k = i / keys * keys; k < (i / keys + 1) * keys; k++)
            sum += in[0][k] * in[1][k];
        out[0][i] = scale * in[1][i] * (in[0][i] - sum);
    }
    return flops;
}

static inline uint64_t twin_KV_CACHE_UPDATE(const struct ll_op_view *op, double *const *in,
                                            double *const *out)
{
    const struct ll_shape *all = &op->in[0], *part = &op->in[1];
    uint64_t axis = (uint64_t)ll_attr_count(op, LL_ATTR_AXIS, 0), inner = 1;
    uint64_t begin = (uint64_t)ll_attr_count(op, LL_ATTR_BEGIN, 0);
    for (uint64_t i = axis + 1; i < all->rank; i++)
        inner *= all->dim[i];
    for (uint64_t i = 0; i < ll_elements(all); i++) {
        uint64_t at = i / inner % all->dim[axis], outer = i / inner / all->dim[axis];
        bool put = at >= begin && at < begin + part->dim[axis];
        out[0][i] = put ? in[1][(outer * part->dim[axis] + at - begin) * inner + i % inner] : in[0][i];
    }
    return 0;
}

/* For each element: four for the logistic function, two products. */
static inline uint64_t twin_SILU_MUL(const struct ll_op_view *op, double *const *in, double *const *out)
{
    uint64_t flops = 0;
    for (uint64_t i = 0; i < ll_elements(&op->in[0]); i++, flops += 6)
        out[0][i] = in[0][i] / (1 + exp(-in[0][i])) * in[1][i];
    return flops;
}

/* For each element: four for s; g s, and with dy; 1 - s, with g, and one; dy x, with s, with the rest. */
static inline uint64_t twin_SILU_MUL_GRAD(const struct ll_op_view *op, double *const *in, double *const *out)
{
    uint64_t flops = 0;
    for (uint64_t i = 0; i < ll_elements(&op->in[0]); i++, flops += 12) {
        double dy = in[0][i], g = in[1][i], s = 1 / (1 + exp(-g));
        out[0][i] = dy * in[2][i] * (s + g * s * (1 - s));
        out[1][i] = dy * g * s;
    }
    return flops;
}

/* For each element: two products and a sum. */
static inline uint64_t twin_ROTARY(const struct ll_op_view *op, double *const *in, double *const *out)
{
    const struct ll_shape *x = &op->in[0];
    uint64_t axis = (uint64_t)ll_attr_count(op, LL_ATTR_AXIS, 0), d = x->dim[x->rank - 1], inner = 1;
    uint64_t flops = 0;
    for (uint64_t i = axis + 1; i < x->rank; i++)
        inner *= x->dim[i];
    for (uint64_t i = 0; i < ll_elements(x); i++, flops += 3) {
        double position = (double)(i / inner % x->dim[axis]);
        position += (double)ll_attr_count(op, LL_ATTR_BEGIN, 0);
        uint64_t feature = i % d, pair = feature % (d / 2);
        double angle = position * pow(ll_attr_real(op, LL_ATTR_BASE, 10000), -2. * (double)pair / (double)d);
        double first = in[0][i - feature + pair], second = in[0][i - feature + pair + d / 2];
        angle *= ll_attr_real(op, LL_ATTR_SCALE, 1);
        out[0][i] = feature < d / 2 ? first * cos(angle) - second * sin(angle)
                                    : second * cos(angle) + first * sin(angle);
    }
    return flops;
}

/* Each choice is looked at once and counted once. */
static inline uint64_t twin_ROUTE(const struct ll_op_view *op, double *const *in, double *const *out)
{
    uint64_t tokens = op->in[0].dim[0], choices = op->in[0].dim[1], places = op->out[0].dim[1], flops = 0;
    for (uint64_t e = 0; e < op->out[0].dim[0]; e++)
        for (uint64_t i = 0, at = 0; at < places; i++) {
            bool there = i < tokens * choices;
            uint64_t number = there ? i % tokens * choices + i / tokens : 0;
            if (there && in[0][number] != (double)e)
                continue;
            out[0][e * places + at] = there ? (double)(i % tokens) : -1;
            out[1][e * places + at] = (double)number;
            out[2][e * places + at++] = there;
        }
    for (uint64_t i = 0; i < tokens * choices; i++)
        flops += 2;
    return flops;
}

/* The last key that row i of the queries sees, behind it; whether it sees key j; how many scores all rows
 * of one matrix see. */
static inline uint64_t own_key(const struct ll_op_view *op, const struct ll_shape *q, uint64_t keys,
                               uint64_t i)
{
    uint64_t groups = (uint64_t)ll_attr_count(op, LL_ATTR_GROUPS, 1), rows = q->dim[q->rank - 2];
    return keys - rows / groups + i % rows / groups;
}

static inline bool sees_key(const struct ll_op_view *op, const struct ll_shape *q, uint64_t keys, uint64_t i,
                            uint64_t j)
{
    uint64_t window = (uint64_t)ll_attr_count(op, LL_ATTR_WINDOW, 0), own = own_key(op, q, keys, i);
    return j <= own && (window == 0 || j + window >= own);
}

static inline uint64_t seen_in_all(const struct ll_op_view *op, const struct ll_shape *q, uint64_t keys)
{
    uint64_t rows = q->dim[q->rank - 2], sum = 0;
    for (uint64_t i = 0; i < rows; i++)
        for (uint64_t j = 0; j < keys; j++)
            sum += sees_key(op, q, keys, i, j);
    return sum;
}

/* The share of key j in what row i of the queries sees. */
static inline double share_of_key(const struct ll_op_view *op, const struct ll_shape *q, const double *rows,
                                  const double *keys, uint64_t count, uint64_t i, uint64_t j)
{
    uint64_t d = q->dim[q->rank - 1], first = i / q->dim[q->rank - 2] * count;
    double scale = ll_attr_real(op, LL_ATTR_SCALE, 1), sum = 0;
    for (uint64_t n = 0; n < count; n++) {
        double difference = 0;
        for (uint64_t c = 0; c < d; c++)
            difference += rows[i * d + c] * (keys[(first + n) * d + c] - keys[(first + j) * d + c]);
        sum += sees_key(op, q, count, i, n) ? exp(scale * difference) : 0;
    }
    return sees_key(op, q, count, i, j) ? 1 / sum : 0;
}

/* A product of d terms and one of e for each score that is seen. */
static inline uint64_t twin_CAUSAL_ATTENTION(const struct ll_op_view *op, double *const *in,
                                             double *const *out)
{
    const struct ll_shape *q = &op->in[0];
    uint64_t d = q->dim[q->rank - 1], keys = op->in[1].dim[q->rank - 2], rows = ll_elements(q) / d;
    uint64_t e = op->in[2].dim[q->rank - 1];
    double scale = ll_attr_real(op, LL_ATTR_SCALE, 1);
    memset(out[0], 0, rows * e * sizeof(double));
    for (uint64_t i = 0; i < rows; i++) {
        uint64_t first = i / q->dim[q->rank - 2] * keys, own = own_key(op, q, keys, i);
        double score = 0;
        for (uint64_t j = 0; j < keys; j++)
            for (uint64_t c = 0; c < e; c++)
                out[0][i * e + c] +=
                    share_of_key(op, q, in[0], in[1], keys, i, j) * in[2][(first + j) * e + c];
        for (uint64_t c = 0; c < d; c++)
            score += scale * in[0][i * d + c] * in[1][(first + own) * d + c];
        out[1][i] = score - log(share_of_key(op, q, in[0], in[1], keys, i, own));
    }
    return rows / q->dim[q->rank - 2] * seen_in_all(op, q, keys) * 2 * (d + e);
}

/* Each head's rows see the vectors of their sequence, whose first part is values. */
static inline uint64_t twin_LATENT_ATTENTION(const struct ll_op_view *op, double *const *in,
                                             double *const *out)
{
    const struct ll_shape *q = &op->in[0];
    uint64_t heads = q->dim[1], positions = q->dim[2], d = q->dim[3], keys = op->in[1].dim[1],
             e = op->out[0].dim[3], flops = 0;
    double scale = ll_attr_real(op, LL_ATTR_SCALE, 1);
    for (uint64_t i = 0; i < q->dim[0] * heads * positions; i++) {
        const double *query = in[0] + i * d, *vectors = in[1] + i / (heads * positions) * keys * d;
        uint64_t seen = keys - positions + i % positions + 1;
        double sum = 0;
        for (uint64_t c = 0; c < e; c++)
            out[0][i * e + c] = 0;
        for (uint64_t j = 0; j < seen; j++, flops += 2 * (d + e)) {
            double score = 0;
            for (uint64_t c = 0; c < d; c++)
                score += scale * query[c] * (vectors[j * d + c] - vectors[(seen - 1) * d + c]);
            sum += exp(score);
            for (uint64_t c = 0; c < e; c++)
                out[0][i * e + c] += exp(score) * vectors[j * d + c];
        }
        for (uint64_t c = 0; c < e; c++)
            out[0][i * e + c] /= sum;
    }
    return flops;
}

/* Three of d and two of e; the result and the sums that come in are those of the forward op. */
static inline uint64_t twin_CAUSAL_ATTENTION_GRAD(const struct ll_op_view *op, double *const *in,
                                                  double *const *out)
{
    const struct ll_shape *q = &op->in[1];
    uint64_t d = q->dim[q->rank - 1], keys = op->in[2].dim[q->rank - 2], rows = ll_elements(q) / d;
    uint64_t e = op->in[3].dim[q->rank - 1];
    double scale = ll_attr_real(op, LL_ATTR_SCALE, 1);
    for (int i = 0; i < 3; i++)
        memset(out[i], 0, ll_elements(&op->out[i]) * sizeof(double));
    for (uint64_t i = 0; i < rows; i++)
        for (uint64_t j = 0; j < keys; j++) {
            uint64_t key = i / q->dim[q->rank - 2] * keys + j;
            double p = share_of_key(op, q, in[1], in[2], keys, i, j), g = 0;
            for (uint64_t c = 0; c < e; c++) {
                g += scale * p * in[0][i * e + c] * (in[3][key * e + c] - in[4][i * e + c]);
                out[2][key * e + c] += p * in[0][i * e + c];
            }
            for (uint64_t c = 0; c < d; c++) {
                out[0][i * d + c] += g * in[2][key * d + c];
                out[1][key * d + c] += g * in[1][i * d + c];
            }
        }
    return rows / q->dim[q->rank - 2] * seen_in_all(op, q, keys) * 2 * (3 * d + 2 * e);
}

#endif
