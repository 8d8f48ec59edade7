/* SPDX-License-Identifier: Apache-2.0 */
/* Dumb twins of recurrences with a state and of short convolutions; see twins.h. Gradients are not those of
 * the kernel turned round: a change of each single number of an input is followed forward to the results. */
#ifndef LL_TESTS_TWINS_SCAN_H
#define LL_TESTS_TWINS_SCAN_H

#include "twins.h"

/* What scans read, and a change of it: inputs are state, keys, queries, values, gates. */
struct scan_twin {
    const struct ll_shape *shapes; /* of the inputs */
    double *const *in;
    uint32_t input; /* which input has an element that changes by one a unit; beyond the last: none */
    uint64_t element;
    bool delta;
};

/* A number and how it changes. */
struct changing {
    double value, by;
};

static inline struct changing changing_in(const struct scan_twin *t, uint32_t input, uint64_t i)
{
    return (struct changing){t->in[input][i], t->input == input && t->element == i};
}

static inline struct changing product_of(struct changing a, struct changing b)
{
    return (struct changing){a.value * b.value, a.by * b.value + a.value * b.by};
}

/* Head `head` of sequence n: its results, and its state at the end. */
static inline void scan_head(const struct scan_twin *t, uint64_t n, uint64_t head, struct changing *y,
                             struct changing *S)
{
    const uint64_t heads = t->shapes[0].dim[1], d = t->shapes[0].dim[2], e = t->shapes[0].dim[3],
                   rows = t->shapes[1].dim[0] / t->shapes[0].dim[0], keys = t->shapes[1].dim[1] / d,
                   width = t->shapes[4].dim[1], decays = width == heads ? 1 : width / heads - 1;
    for (uint64_t i = 0; i < d * e; i++)
        S[i] = changing_in(t, 0, (n * heads + head) * d * e + i);
    for (uint64_t r = 0; r < rows; r++) {
        const uint64_t row = n * rows + r, key = (row * keys + head * keys / heads) * d;
        const bool steps = width == heads;
        struct changing b = changing_in(t, 4, row * width + (steps ? head : heads * decays + head));
        for (uint64_t i = 0; i < d; i++) {
            struct changing g = changing_in(t, 4, row * width + head * decays + (decays > 1 ? i : 0)), a;
            g = steps ? (struct changing){-g.value, -g.by} : g;
            a = (struct changing){exp(g.value), exp(g.value) * g.by};
            for (uint64_t j = 0; j < e; j++)
                S[i * e + j] = product_of(a, S[i * e + j]);
        }
        for (uint64_t j = 0; j < e; j++) {
            struct changing u = changing_in(t, 3, (row * heads + head) * e + j);
            for (uint64_t i = 0; t->delta && i < d; i++) {
                struct changing seen = product_of(S[i * e + j], changing_in(t, 1, key + i));
                u = (struct changing){u.value - seen.value, u.by - seen.by};
            }
            u = product_of(b, u);
            struct changing sum = {0, 0};
            for (uint64_t i = 0; i < d; i++) {
                struct changing added = product_of(changing_in(t, 1, key + i), u), *s = &S[i * e + j];
                *s = (struct changing){s->value + added.value, s->by + added.by};
                added = product_of(*s, changing_in(t, 2, key + i));
                sum = (struct changing){sum.value + added.value, sum.by + added.by};
            }
            y[(row * heads + head) * e + j] = sum;
        }
    }
}

enum { SCAN_MOST = 4096 };

static inline uint64_t twin_of_scan(const struct ll_op_view *op, double *const *in, double *const *out,
                                    bool delta)
{
    struct changing y[SCAN_MOST], S[SCAN_MOST];
    const struct scan_twin t = {op->in, in, 9, 0, delta};
    const uint64_t heads = op->in[0].dim[1], size = op->in[0].dim[2] * op->in[0].dim[3];
    for (uint64_t n = 0; n < op->in[0].dim[0] * heads; n++) {
        scan_head(&t, n / heads, n % heads, y, S);
        for (uint64_t i = 0; i < size; i++)
            out[0][n * size + i] = S[i].value;
    }
    for (uint64_t i = 0; i < ll_elements(&op->out[1]); i++)
        out[1][i] = y[i].value;
    return 6 * op->in[1].dim[0] * heads * size;
}

static inline uint64_t twin_of_scan_grad(const struct ll_op_view *op, double *const *in, double *const *out,
                                         bool delta)
{
    struct changing y[SCAN_MOST], S[SCAN_MOST];
    const uint64_t heads = op->in[1].dim[1];
    for (uint32_t input = 1; input < 5; input++)
        for (uint64_t i = 0; i < ll_elements(&op->in[1 + input]); i++) {
            const struct scan_twin t = {op->in + 1, in + 1, input, i, delta};
            for (uint64_t n = 0; n < op->in[1].dim[0] * heads; n++)
                scan_head(&t, n / heads, n % heads, y, S);
            out[input - 1][i] = 0;
            for (uint64_t j = 0; j < ll_elements(&op->in[0]); j++)
                out[input - 1][i] += in[0][j] * y[j].by;
        }
    return 12 * op->in[2].dim[0] * heads * op->in[1].dim[2] * op->in[1].dim[3];
}

static inline uint64_t twin_STATE_SPACE_SCAN(const struct ll_op_view *op, double *const *in,
                                             double *const *out)
{
    return twin_of_scan(op, in, out, false);
}

static inline uint64_t twin_GATED_DELTA_RULE(const struct ll_op_view *op, double *const *in,
                                             double *const *out)
{
    return twin_of_scan(op, in, out, true);
}

static inline uint64_t twin_STATE_SPACE_SCAN_GRAD(const struct ll_op_view *op, double *const *in,
                                                  double *const *out)
{
    return twin_of_scan_grad(op, in, out, false);
}

static inline uint64_t twin_GATED_DELTA_RULE_GRAD(const struct ll_op_view *op, double *const *in,
                                                  double *const *out)
{
    return twin_of_scan_grad(op, in, out, true);
}

/* Where place p of channel c of sequence n lies: in the state (true) or in x. */
static inline bool in_state(const struct ll_op_view *op, uint32_t first, uint64_t n, uint64_t p, uint64_t c,
                            uint64_t *at)
{
    const uint64_t before = op->in[first].dim[1], channels = op->in[first].dim[2],
                   rows = op->in[first + 1].dim[0] / op->in[first].dim[0];
    *at = p < before ? (n * before + p) * channels + c : (n * rows + p - before) * channels + c;
    return p < before;
}

static inline uint64_t twin_CAUSAL_CONV(const struct ll_op_view *op, double *const *in, double *const *out)
{
    const uint64_t batch = op->in[0].dim[0], before = op->in[0].dim[1], channels = op->in[0].dim[2],
                   rows = op->in[1].dim[0] / batch;
    uint64_t at, flops = 0;
    for (uint64_t n = 0; n < batch; n++)
        for (uint64_t c = 0; c < channels; c++) {
            for (uint64_t p = 0; p < rows; p++) {
                double *y = &out[1][(n * rows + p) * channels + c];
                *y = op->input_count > 3 ? in[3][c] : 0;
                for (uint64_t k = 0; k <= before; k++, flops += 2)
                    *y +=
                        in[2][k * channels + c] * (in_state(op, 0, n, p + k, c, &at) ? in[0][at] : in[1][at]);
            }
            for (uint64_t k = 0; k < before; k++)
                out[0][(n * before + k) * channels + c] =
                    in_state(op, 0, n, rows + k, c, &at) ? in[0][at] : in[1][at];
        }
    return flops;
}

static inline uint64_t twin_CAUSAL_CONV_GRAD(const struct ll_op_view *op, double *const *in,
                                             double *const *out)
{
    const uint64_t batch = op->in[1].dim[0], before = op->in[1].dim[1], channels = op->in[1].dim[2],
                   rows = op->in[2].dim[0] / batch;
    uint64_t at, flops = 0;
    for (uint32_t k = 0; k < op->output_count; k++)
        memset(out[k], 0, ll_elements(&op->out[k]) * sizeof(double));
    for (uint64_t n = 0; n < batch; n++)
        for (uint64_t p = 0; p < rows; p++)
            for (uint64_t c = 0; c < channels; c++) {
                const double dy = in[0][(n * rows + p) * channels + c];
                if (op->output_count > 2)
                    out[2][c] += dy;
                for (uint64_t k = 0; k <= before; k++, flops += 4) {
                    const bool waits = in_state(op, 1, n, p + k, c, &at);
                    out[1][k * channels + c] += dy * (waits ? in[1][at] : in[2][at]);
                    if (!waits)
                        out[0][at] += dy * in[3][k * channels + c];
                }
            }
    return flops;
}

#endif
